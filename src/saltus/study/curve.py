"""Curve: one quantity of a run or of an exact solution over time, evaluated at many times at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from saltus.errors import SettingError
from saltus.problem import Exact
from saltus.solution import Solution

QUANTITIES = ("q", "v", "impulse")


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """A function of time with jumps.

    Parameters
    ----------
    marks
        Increasing times between which the function is smooth [s].
    right, left
        One-sided limits: times of shape (n,) give values (n, columns).
    """

    marks: np.ndarray
    right: Callable
    left: Callable


def curve(source: Solution | Exact, quantity: str, columns: Sequence[int] | None = None) -> Curve:
    """Return a quantity ("q", "v" or "impulse") of a run or of an exact solution."""
    if quantity not in QUANTITIES:
        raise SettingError(f"quantity is {quantity!r}: it must be one of {', '.join(map(repr, QUANTITIES))}")
    if isinstance(source, Solution):
        made = _of_solution(source, quantity)
    elif isinstance(source, Exact):
        made = _of_exact(source, quantity)
    else:
        raise SettingError(f"a curve is taken from a Solution or an Exact, not from {source!r}")
    if columns is None:
        return made
    return Curve(made.marks, lambda t: made.right(t)[:, columns], lambda t: made.left(t)[:, columns])


def reference_of(solution: Solution, reference: Solution | Exact | None) -> Solution | Exact:
    """Return what a run is compared with: the argument, or the exact solution that the run carries."""
    reference = solution.exact if reference is None else reference
    if reference is None:
        name = solution.name or "this system"
        raise SettingError(f"{name} has no exact solution: give a reference, e.g. a run with a smaller h")
    if isinstance(reference, Solution) and not (reference.t[0] <= solution.t[0] and solution.t[-1] <= reference.t[-1]):
        raise SettingError(
            f"the reference runs from {reference.t[0]} to {reference.t[-1]} s, the run from {solution.t[0]} to "
            f"{solution.t[-1]} s: the reference must cover it"
        )
    return reference


def _of_exact(exact: Exact, quantity: str) -> Curve:
    function = getattr(exact, quantity)
    if function is None:
        raise SettingError(f"the exact solution has no {quantity}: compare other quantities, or with a fine run")
    jumps = np.asarray(exact.jumps, dtype=float)
    return Curve(jumps, lambda t: np.asarray(function(t)), lambda t: np.asarray(function(np.nextafter(t, -np.inf))))


def _of_solution(solution: Solution, quantity: str) -> Curve:
    if quantity == "impulse":
        marks = np.union1d(solution.t, solution.events["t"])
        return Curve(
            marks[marks <= solution.t[-1]],
            lambda t: solution.impulse_at(t, "+"),
            lambda t: solution.impulse_at(t, "-"),
        )
    return Curve(
        solution.t,
        lambda t: getattr(solution(t, "+"), quantity),
        lambda t: getattr(solution(t, "-"), quantity),
    )
