"""D+: time-discontinuous Galerkin, the velocity jumps where an interval begins (Schindler, Acary 2014, Problem 3.1).

As D-, but all stages are implicit and feel the impulse of the right border. The positions do not feel it (degree >= 1).
"""

from __future__ import annotations

import dataclasses
from inspect import cleandoc

from saltus.errors import SettingError
from saltus.memory.layout import Layout
from saltus.schemes.plan import SchemePlan
from saltus.schemes.tdg.settings import GalerkinSettings


@dataclasses.dataclass(frozen=True)
class TDGPlus(GalerkinSettings):
    """D+, "contemplating": implicit, with unlimited stability for damping; for settings see below.

    Degree 0 is the implicit Moreau-Jean scheme (theta = 1); its contacts are activated by the free end position.
    """

    stiff: bool = False

    family = "+"

    def __post_init__(self):
        super().__post_init__()
        if self.stiff not in (True, False):
            raise SettingError(f"stiff of TDGPlus is {self.stiff!r}: it must be True or False")

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        from saltus.schemes.tdg.plan import galerkin_plan  # here, because most programs name schemes they never run

        return galerkin_plan(self, layout)


STIFF = """
    stiff
        True uses the velocity matrix for the positions too: then stiff springs are damped as well as stiff dampers
        (degree <= 4 with Clenshaw-Curtis, <= 6 with Lobatto nodes).
    """
# cleaned before they are joined: from Python 3.13 on the compiler takes away the indentation of docstrings
TDGPlus.__doc__ = f"{cleandoc(TDGPlus.__doc__ or '')}\n\n{cleandoc(GalerkinSettings.PARAMETERS.rstrip() + STIFF)}"
