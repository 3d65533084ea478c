"""Sensitivity: how what a run ends with depends on its parameters and its start, by the derivative of the run.

    s = sensitivity(system, (0, 20), -0.5, 0.0, of=[ImpactTime("stop", 3), Impulse("stop")], by=["w", "e"])
    s["time of impact 3 of stop"].by["w"]

One run gives all derivatives. They hold as long as the run keeps its events in their order: `corners` says where not.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from saltus.ensemble.saltation import Jump
from saltus.ensemble.tangent import Corner, Tangent, along
from saltus.errors import SettingError
from saltus.event import Event
from saltus.problem import Problem
from saltus.solution import Solution
from saltus.solve import solve
from saltus.sweep.tabled import Tabled, xarray_module
from saltus.system import System

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from saltus.schemes.plan import SchemeLike


class Quantity(Protocol):
    """A number that a run ends with."""

    def times(self, solution: Solution) -> list[float]:
        """Return the times inside of steps at which it needs variations [s]."""
        ...

    def measured(self, tangent: Tangent) -> list[tuple[str, float, np.ndarray]]:
        """Return what it is called, its value, and its derivative by all parts of a variation at the start (size,)."""
        ...


@dataclasses.dataclass(frozen=True)
class EndState:
    """All coordinates and velocities at the end of the span."""

    def times(self, solution: Solution) -> list[float]:
        return []

    def measured(self, tangent: Tangent) -> list[tuple[str, float, np.ndarray]]:
        solution, matrix = tangent.solution, tangent.matrix()
        nq = len(solution.q[-1])
        values = np.concatenate([solution.q[-1], solution.v[-1]])
        names = [f"q{i} at the end" for i in range(nq)] + [f"v{i} at the end" for i in range(len(solution.v[-1]))]
        return [(name, float(value), matrix[k]) for k, (name, value) in enumerate(zip(names, values, strict=True))]


@dataclasses.dataclass(frozen=True)
class Impulse:
    """Impulse of a contact over the whole span [N s], impacts and lasting forces together; axis: N, T, T1, T2."""

    contact: str
    axis: str = "N"

    def times(self, solution: Solution) -> list[float]:
        return []

    def measured(self, tangent: Tangent) -> list[tuple[str, float, np.ndarray]]:
        solution = tangent.solution
        if (self.contact, self.axis) not in solution.rows:
            known = ", ".join(f"{name} {axis}" for name, axis in solution.rows)
            raise SettingError(f"there is no row {self.axis} of contact {self.contact!r}: there are {known}")
        row = solution.rows.index((self.contact, self.axis))
        place, unit = tangent.motion.place.i.start + row, 1.0 if solution._units is None else solution._units[row]
        value = solution.impulse_at(float(solution.t[-1]))[row]
        return [(f"impulse {self.axis} of {self.contact}", float(value), unit * tangent.matrix()[place])]


@dataclasses.dataclass(frozen=True)
class ImpactTime:
    """Time of an impact of a contact [s], the first one is number 1; accumulations count with none."""

    contact: str
    number: int = 1

    def times(self, solution: Solution) -> list[float]:
        return []

    def measured(self, tangent: Tangent) -> list[tuple[str, float, np.ndarray]]:
        seen = 0
        for jump, before in tangent.jumps():
            if jump.kind == "impact" and self.contact in jump.names:
                seen += 1
                if seen == self.number:
                    return [(f"time of impact {self.number} of {self.contact}", jump.t, jump.timing @ before)]
        raise SettingError(f"contact {self.contact!r} has {seen} impacts in the run: there is no number {self.number}")


class _Place(NamedTuple):
    """Where an extreme is reached."""

    t: float
    rests: bool
    side: Literal["+", "-"]


@dataclasses.dataclass(frozen=True)
class Extreme:
    """Largest or smallest value of a coordinate during the run [units of q]."""

    coordinate: int = 0
    which: Literal["largest", "smallest"] = "largest"

    def times(self, solution: Solution) -> list[float]:
        return [self.place(solution).t]

    def place(self, solution: Solution) -> _Place:
        """Return when it is reached [s], on which side of a jump, and whether the coordinate is at rest there."""
        i, sign = self.coordinate, 1.0 if self.which == "largest" else -1.0
        whole = isinstance(i, numbers.Integral) and not isinstance(i, bool)
        if self.which not in ("largest", "smallest") or not whole or not 0 <= i < solution.q.shape[1]:
            raise SettingError(f"{self!r} needs a coordinate of the system, and 'largest' or 'smallest'")
        share = np.linspace(0.0, 1.0, 12, endpoint=False)  # places of a step that are looked at
        t = (solution.t[:-1, None] + np.diff(solution.t)[:, None] * share).ravel()
        t = np.unique(np.concatenate([t, solution.t[-1:], solution.events["t"]]))
        values = sign * solution(t).q[:, i]
        k = int(np.argmax(values))
        resets = solution.events["t"][solution.events["kind"] == "event"]
        if len(resets):  # one may move the coordinate: what was reached before it counts as well
            left = sign * solution(resets, side="-").q[:, i]
            if np.max(left) > values[k]:
                return _Place(float(resets[np.argmax(left)]), False, "-")

        def speed(time: float, side: Literal["+", "-"]) -> float:
            state = solution(time, side=side)
            return float(sign * solution._rate(state.q[None], state.v[None])[0, i])

        for a, b in ((k - 1, k), (k, k + 1)):
            if 0 <= a and b < len(t) and speed(t[a], "+") > 0.0 > speed(t[b], "-"):
                from scipy.optimize import brentq

                found: Any = brentq(lambda time: speed(time, "+"), t[a], t[b], xtol=1e-15, rtol=np.float64(1e-14))
                return _Place(float(found), True, "+")
        return _Place(float(t[k]), False, "+")

    def measured(self, tangent: Tangent) -> list[tuple[str, float, np.ndarray]]:
        solution, i, name = tangent.solution, self.coordinate, f"{self.which} q{self.coordinate}"
        t, rests, side = self.place(solution)
        value = float(solution(t, side=side).q[i])
        if rests or (t in (solution.t[0], solution.t[-1]) and side == "+"):
            return [(name, value, tangent.matrix(t)[i])]
        for jump, before in tangent.jumps():
            if jump.t == t and np.any(jump.timing):  # it is turned round there: the value moves with the event
                if side == "+" and jump.kind == "event":
                    return [(name, value, jump.landed[i] @ before)]
                left = solution(t, side="-")
                rate = float(solution._rate(left.q[None], left.v[None])[0, i])
                return [(name, value, (_unit(i, jump) + rate * jump.timing) @ before)]
        return [(name, value, tangent.matrix(t)[i])]


def _unit(i: int, jump: Jump) -> np.ndarray:
    return np.eye(len(jump.timing))[i]


@dataclasses.dataclass(frozen=True)
class Derivative:
    """One quantity: its value, its derivatives by parameters (by name), and by the start (nq + nv)."""

    name: str
    value: float
    by: dict[str, float]
    by_start: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Sensitivity(Tabled):
    """Derivatives of what a run ends with.

    Attributes
    ----------
    quantities
        One by one; `result["name"]` picks one.
    corners
        Events at which the run has no derivative.
    basis
        Directions that closed contacts and joints allow at the start: only along these `by_start` means anything.
    solution
        The run.
    """

    quantities: tuple[Derivative, ...]
    corners: tuple[Corner, ...]
    basis: np.ndarray
    solution: Solution

    def __getitem__(self, name: str) -> Derivative:
        for one in self.quantities:
            if one.name == name:
                return one
        raise SettingError(f"there is no quantity {name!r}: {', '.join(one.name for one in self.quantities)}")

    def __repr__(self) -> str:
        lines = [
            f"  {one.name} = {one.value:.9g}" + "".join(f", d/d{name} = {slope:.6g}" for name, slope in one.by.items())
            for one in self.quantities
        ]
        return "Sensitivity(\n" + "\n".join(lines) + ")"

    def to_xarray(self) -> xarray.Dataset:
        """Return a Dataset: value, by_parameter (quantity, parameter), by_start (quantity, state)."""
        labels = list(self.quantities[0].by)
        nq = self.solution.q.shape[1]
        states = [f"q{i}" for i in range(nq)] + [f"v{i}" for i in range(self.solution.v.shape[1])]
        slopes = np.array([[one.by[label] for label in labels] for one in self.quantities])
        data = {
            "value": ("quantity", [one.value for one in self.quantities]),
            "by_parameter": (("quantity", "parameter"), slopes.reshape(len(self.quantities), len(labels))),
            "by_start": (("quantity", "state"), np.array([one.by_start for one in self.quantities])),
        }
        return xarray_module().Dataset(
            data, {"quantity": [one.name for one in self.quantities], "parameter": labels, "state": states}
        )

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw by how much every quantity changes, relative to its value, per relative change of a parameter."""
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots()[1]
        names, labels = [one.name for one in self.quantities], list(self.quantities[0].by)
        values = self.solution.parameters
        for k, label in enumerate(labels):
            number = np.ravel(values[label.split("[")[0]])[int(label.split("[")[1][:-1]) if "[" in label else 0]
            shares = [one.by[label] * number / one.value if one.value else 0.0 for one in self.quantities]
            axes.barh(np.arange(len(names)) + 0.8 * k / len(labels), shares, 0.8 / len(labels), label=label)
        axes.set_yticks(np.arange(len(names)) + 0.4 * (len(labels) - 1) / max(len(labels), 1), names)
        axes.set_xlabel("relative change per relative change of the parameter")
        axes.legend()
        return axes


def sensitivity(
    system: System | Problem,
    t_span: tuple[float, float] | None = None,
    q0: Any = None,
    v0: Any = None,
    *,
    of: Quantity | Sequence[Quantity],
    by: Sequence[str] = (),
    parameters: Mapping[str, Any] | None = None,
    events: Event | Sequence[Event] = (),
    tol: float = 1e-10,
    scheme: SchemeLike | None = None,
) -> Sensitivity:
    """Return derivatives of quantities of a run by parameters and by its start.

    Parameters
    ----------
    system, t_span, q0, v0, parameters, events, tol, scheme
        As for `solve`.
    of
        Quantities: `EndState()`, `Impulse("stop")`, `ImpactTime("stop", 3)`, `Extreme(0, "largest")`.
    by
        Names of parameters; an array counts with all its numbers.
    """
    wanted: list[Any] = list(of) if isinstance(of, list | tuple) else [of]
    if not wanted:
        raise SettingError("of is empty: name a quantity, like EndState()")
    for one in wanted:
        if isinstance(one, type) or not hasattr(one, "measured") or not hasattr(one, "times"):
            raise SettingError(f"of has {one!r}: give quantities, like EndState() or ImpactTime('stop', 3)")
    if isinstance(by, str):
        by = (by,)
    if not isinstance(by, Sequence):
        raise SettingError(f"by is {by!r}: give names of parameters, like ['w', 'e']")
    solution = solve(system, t_span, q0, v0, tol=tol, scheme=scheme, events=events, parameters=parameters)
    at = [t for one in wanted for t in one.times(solution)]
    tangent = along(solution, tuple(by), impulses=any(isinstance(one, Impulse) for one in wanted), at=at)
    place, labels = tangent.motion.place, tangent.motion.labels
    made = [
        Derivative(
            name,
            value,
            {label: float(x) for label, x in zip(labels, slope[place.p], strict=True)},
            slope[: place.moving],
        )
        for one in wanted
        for name, value, slope in one.measured(tangent)
    ]
    return Sensitivity(tuple(made), tangent.corners, tangent.basis, solution)
