"""Curve: one quantity of a run or of an exact solution over time, evaluated at many times at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Literal

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
            lambda t: _impulse(solution, t, "right"),
            lambda t: _impulse(solution, t, "left"),
        )
    return Curve(
        solution.t,
        lambda t: getattr(_state(solution, t, "+"), quantity),
        lambda t: getattr(_state(solution, t, "-"), quantity),
    )


def _state(solution: Solution, t: np.ndarray, side: Literal["+", "-"]):
    """Return q and v at many times; without dense blocks the scheme interpolates all steps in one call."""
    if solution._extra is not None:
        return solution(t, side=side)
    end = np.searchsorted(solution.t, t, side="right" if side == "+" else "left")
    end = np.clip(end, 1, len(solution.t) - 1)
    t_k, h = solution.t[end - 1], np.diff(solution.t)[end - 1]
    start, stop = _nodes(solution, end - 1), _nodes(solution, end)
    s = ((t - t_k) / h)[:, None]
    q, v = solution.scheme.interpolate(s, h[:, None], start, stop, solution._dense, side)
    # no step follows the last node, none leads to the first
    if side == "+":
        last = (t >= solution.t[-1])[:, None]
        return SimpleNamespace(q=np.where(last, solution.q[-1], q), v=np.where(last, solution.v[-1], v))
    first = (t <= solution.t[0])[:, None]
    return SimpleNamespace(q=q, v=np.where(first, solution.v_minus[0], v))


def _nodes(solution: Solution, k: np.ndarray) -> SimpleNamespace:
    q, v = solution.q[k], solution.v[k]

    def rate(q, v):
        if solution.system.q_dot is None:
            return v
        return np.array([solution._rate(*both) for both in zip(q, v, strict=True)])

    return SimpleNamespace(q=q, v=v, v_minus=solution.v_minus[k], q_dot=rate(q, v), rate=rate)


def _impulse(solution: Solution, t: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """Return i(t): impacts count from their own time on, the rest of a step grows linearly."""
    times, sums = _impacts(solution)
    at_nodes = sums[np.searchsorted(times, solution.t, side="right")]
    smooth = np.concatenate([solution._before[None], solution._before + np.cumsum(solution.impulse, axis=0)])
    smooth = smooth - (at_nodes - at_nodes[0])
    end = np.clip(np.searchsorted(solution.t, t, side="left"), 1, len(solution.t) - 1)
    share = ((t - solution.t[end - 1]) / (solution.t[end] - solution.t[end - 1]))[:, None]
    grown = smooth[end - 1] + share * (smooth[end] - smooth[end - 1])
    return grown + sums[np.searchsorted(times, t, side=side)] - at_nodes[0]


def _impacts(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of the impacts and the impulse accumulated before and after each of them."""
    impacts = solution.events[solution.events["kind"] == "impact"]
    impacts = impacts[np.argsort(impacts["t"], kind="stable")]
    atoms = np.zeros((len(impacts), len(solution.rows)))
    names = [name for name, _ in solution.rows]
    for contact in set(names):
        mine = impacts["contact"] == contact
        first, count = names.index(contact), names.count(contact)
        atoms[mine, first : first + count] = impacts["impulse"][mine, :count]
    return impacts["t"], np.concatenate([np.zeros((1, len(names))), np.cumsum(atoms, axis=0)])
