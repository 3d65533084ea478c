"""What a scheme hands to the march: its step unit, settings and the sizes of its buffers."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np

from saltus.compile import seam
from saltus.compile.types import Reaction, Scheme, Solver, step_type
from saltus.contact import Direct, Lemke, Portfolio
from saltus.contact.problem import check_support
from saltus.contact.residual import residual
from saltus.errors import SettingError
from saltus.laws import frictional_cone, frictional_local, frictionless_cone, frictionless_local
from saltus.layout import KIND, NC, NJ
from saltus.reaction import correct_drift, eliminate_joints, no_drift, no_joints, react


class SchemeLike(Protocol):
    """A scheme: frozen settings, a plan for a system, an interpolation inside a step."""

    @property
    def name(self) -> str: ...

    def plan(self, layout: np.ndarray) -> SchemePlan: ...

    def interpolate(self, s: float, h: float, start: Any, end: Any, block: np.ndarray, side: str) -> tuple: ...


@dataclasses.dataclass(frozen=True)
class SchemePlan:
    """The pieces of a scheme for one system.

    Attributes
    ----------
    step, settings
        The unit and its numbers.
    inner
        The plan of a wrapped scheme, or the `Reaction` of a plain one.
    memory, work, iwork
        Sizes of the state's memory and of the workspace.
    dense, events
        Most floats of a dense block and most event rows that one step writes.
    """

    scheme: SchemeLike
    step: Any
    settings: np.ndarray
    inner: Any
    memory: int
    work: int
    iwork: int
    dense: int
    events: int

    @property
    def depth(self) -> int:
        """How many schemes this one wraps."""
        return 1 + self.inner.depth if isinstance(self.inner, SchemePlan) else 0

    def units(self) -> list[tuple]:
        """Return the units to compile, with their versions."""
        if isinstance(self.inner, SchemePlan):
            inner = self.inner.units()
        else:
            linked = (*self.inner.solver[:5], self.inner.react, self.inner.drift)
            inner = [(unit, unit.unit_signatures[0]) for unit in linked]
        return [(self.step, step_type(self.depth).signature), *inner]

    def link(self) -> Scheme:
        """Return the units as the march wants them; they must be ready."""
        inner = self.inner.link() if isinstance(self.inner, SchemePlan) else self.inner
        return Scheme(self.step, inner, self.settings)

    def interpreted(self) -> Scheme:
        """Return the same pieces as plain Python, for the replay of a step."""
        if isinstance(self.inner, SchemePlan):
            inner = self.inner.interpreted()
        else:
            solver = self.inner.solver
            plain = Solver(*(seam.interpreted(unit) for unit in solver[:5]), solver.settings)
            inner = Reaction(plain, seam.interpreted(self.inner.react), seam.interpreted(self.inner.drift))
        return Scheme(seam.interpreted(self.step), inner, self.settings)


def chosen_solver(given, layout: np.ndarray):
    """Return the contact solver of a scheme: the given one, or the one that suits the system."""
    if given is not None:
        return given
    if layout[NC] < 2:
        return Direct()
    frictional = any(layout[layout[KIND] + c] > 1 for c in range(layout[NC]))
    return Portfolio() if frictional else Lemke()


def reaction_plan(layout: np.ndarray, contact_solver, *, drift: bool) -> Reaction:
    """Choose the units that a system needs, so that a ball compiles little."""
    kinds = [int(layout[layout[KIND] + c]) for c in range(layout[NC])]
    check_support(contact_solver, kinds)
    most = getattr(contact_solver, "most_contacts", None)
    if most is not None and len(kinds) > most:
        raise SettingError(
            f"{contact_solver.name} solves one contact, but the system has {len(kinds)}: take NSGS() or Lemke()"
        )
    frictional = any(kind > 1 for kind in kinds)
    solver = Solver(
        contact_solver.kernel,
        frictional_local if frictional else frictionless_local,
        frictional_cone if frictional else frictionless_cone,
        residual,
        eliminate_joints if layout[NJ] else no_joints,
        contact_solver.settings(),
    )
    return Reaction(solver, react, correct_drift if drift else no_drift)
