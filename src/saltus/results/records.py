"""Records of a run: a state, the energy ledger, what was asked, and what a loaded run has in place of its model."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from saltus.errors import SettingError

if TYPE_CHECKING:
    from saltus.event import Event
    from saltus.results.table import Table
    from saltus.solution import Solution

Side = Literal["+", "-"]


@dataclasses.dataclass(frozen=True)
class StateAt:
    """The state at a time: t [s], q, v (one-sided limit)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


@dataclasses.dataclass(frozen=True)
class Energy:
    """The energy ledger at the kept times [J].

    kinetic(t) = kinetic(0) + work - dissipation + defect, with work of the forces f, K, C and of moving
    constraints, dissipation in the contacts (impact and friction), and the defect of the discretisation.
    """

    kinetic: np.ndarray
    work: np.ndarray
    dissipation: np.ndarray

    def __repr__(self) -> str:
        taken, defect = float(self.dissipation[-1].sum()), float(np.max(np.abs(self.defect)))
        return (
            f"Energy({len(self.kinetic)} times, kinetic {self.kinetic[0]:.4g} to {self.kinetic[-1]:.4g} J, work "
            f"{self.work[-1]:.4g} J, dissipation {taken:.4g} J in contacts ({self.dissipation.shape[1]}), defect up "
            f"to {defect:.1e} J)"
        )

    @property
    def defect(self) -> np.ndarray:
        """What the scheme itself gained or lost [J]."""
        return self.kinetic - self.kinetic[0] - self.work + self.dissipation.sum(axis=1)


@dataclasses.dataclass(frozen=True, eq=False)
class NodeValues:
    """What a loaded solution has in place of its model: values at the kept times, and q_dot wherever it was needed.

    Attributes
    ----------
    t, kinetic, gaps
        Kept times [s], kinetic energy [J], gaps [m] (None when a gap could not be evaluated).
    states, rates
        Rows (q, v) and their q_dot, for coordinates with their own q_dot.
    table
        Gaps and kinetic energy between the times; None in older files and where it would be too large.
    frames
        Where contacts of a mechanism act (view/frames.py), for drawings; None where there are none.
    """

    t: np.ndarray
    kinetic: np.ndarray
    gaps: np.ndarray | None
    states: np.ndarray
    rates: np.ndarray
    table: Table | None = None
    frames: np.ndarray | None = None

    def rows(self, t: np.ndarray) -> np.ndarray:
        """Return the numbers of the nodes at times t."""
        places = np.searchsorted(self.t, t).clip(max=len(self.t) - 1)
        if not np.array_equal(self.t[places], t):
            raise SettingError(f"a loaded solution has no model to evaluate between its times: solve with t_eval={t}")
        return places

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the stored q_dot of states that dense output needs, one per row."""
        made = np.empty(q.shape)
        for i, state in enumerate(np.concatenate([q, v], axis=1)):
            known = self._known.get(state.tobytes())
            if known is None:
                raise SettingError(f"a loaded solution has no q_dot at q = {q[i]}, v = {v[i]}: solve again")
            made[i] = known
        return made

    @functools.cached_property
    def _known(self) -> dict[bytes, np.ndarray]:
        return {state.tobytes(): q_dot for state, q_dot in zip(self.states, self.rates, strict=True)}


@dataclasses.dataclass(frozen=True, eq=False)
class Asked:
    """What `solve` was asked, beside system and scheme: enough to run the problem once more.

    Attributes
    ----------
    t_span, q0, v0
        Span [s] and start.
    h
        Step size, or the first one to try [s].
    control
        What decided about steps.
    breaks
        Times at which steps end [s].
    start_tolerance
        What the start may violate [m, m/s].
    events
        Events of the user; None where there were some that a file or a pickle has not kept.
    parameters
        Values of all parameters of the model by name.
    """

    t_span: tuple[float, float]
    q0: np.ndarray
    v0: np.ndarray
    h: float
    control: Any
    breaks: tuple[float, ...]
    start_tolerance: float
    events: tuple[Event, ...] | None
    parameters: dict[str, float | np.ndarray] = dataclasses.field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: no functions of events, which pickle may not know."""
        kept = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**kept, "events": None if self.events else self.events}


class Places(NamedTuple):
    """Times in a run: the node that each of them is (-1 between nodes), and the node that ends its step.

    A node ends its step from the left; from the right it belongs to the step that follows, the last one to its own.
    """

    t: np.ndarray
    node: np.ndarray
    end: np.ndarray
    side: Side


class Impacts(NamedTuple):
    """Impacts in order of time: time, node that ends the step, impulse per row since the start of that step."""

    t: np.ndarray
    end: np.ndarray
    impulse: np.ndarray


def frozen(array: np.ndarray) -> np.ndarray:
    """Protect an array and return it."""
    array.setflags(write=False)
    return array


def read_only(solution: Solution) -> Solution:
    """Protect the arrays of a new solution and return it."""
    for value in vars(solution).values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return solution
