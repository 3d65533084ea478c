"""D-: time-discontinuous Galerkin, the velocity jumps at the end of an interval (Schindler, Acary 2014, Problem 3.2).

Stages at the nodes of the interval, contact forces on acceleration level, the impulse at the right border on velocity
level; the end velocity is the quadrature of the stage accelerations.
"""

from __future__ import annotations

import dataclasses
from inspect import cleandoc

from saltus.memory.layout import Layout
from saltus.schemes.plan import SchemePlan
from saltus.schemes.tdg.settings import GalerkinSettings


@dataclasses.dataclass(frozen=True)
class TDGMinus(GalerkinSettings):
    """D-, "forecasting": explicit for degree 1, implicit in its inner stages above; for settings see below.

    Degree 0 is the explicit Moreau-Jean scheme (theta = 0, gamma = 1 with impact="previous").
    """

    family = "-"

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        from saltus.schemes.tdg.plan import galerkin_plan  # here, because most programs name schemes they never run

        return galerkin_plan(self, layout)


# cleaned before they are joined: from Python 3.13 on the compiler takes away the indentation of docstrings
TDGMinus.__doc__ = f"{cleandoc(TDGMinus.__doc__ or '')}\n\n{cleandoc(GalerkinSettings.PARAMETERS)}"
