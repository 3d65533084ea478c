"""Errors of a run in L1, L2 and Linf, over the dense output or over the grid (Acary, Lecture 2, eqs. 48-49)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from saltus.errors import SettingError
from saltus.problem import Exact
from saltus.solution import Solution

from .curve import Curve, curve, reference_of

NORMS = ("L1", "L2", "Linf")
GAUSS_POINTS = 4  # per smooth piece: exact to degree 7, more than any dense output of two or three points needs
PIECES_AT_ONCE = 50_000  # pieces evaluated at once, so that memory stays flat


def error(
    solution: Solution,
    reference: Solution | Exact | None = None,
    quantity: str = "v",
    norm: str = "L1",
    *,
    where: Literal["dense", "grid"] = "dense",
    columns: Sequence[int] | None = None,
) -> float:
    """Return the error of one quantity in one norm; see `errors`."""
    return errors(solution, reference, quantity, (norm,), where=where, columns=columns)[norm]


def errors(
    solution: Solution,
    reference: Solution | Exact | None = None,
    quantity: str = "v",
    norms: Sequence[str] = NORMS,
    *,
    where: Literal["dense", "grid"] = "dense",
    columns: Sequence[int] | None = None,
) -> dict[str, float]:
    """Return the errors of a quantity in several norms over the span of the run.

    L1 = int |x - x_ref| dt, L2 = (int |x - x_ref|^2 dt)^(1/2), Linf = sup |x - x_ref|, |.| Euclidean over the columns.

    Parameters
    ----------
    solution
        What `solve` returned.
    reference
        Exact solution or another run that covers the span; None takes the exact solution of the problem.
    quantity
        "q", "v" or "impulse" (the accumulated measure i(t)).
    norms
        Any of "L1", "L2", "Linf".
    where
        "dense" integrates over time, split at the jumps of both sides; "grid" sums h |x_k - x_ref(t_k)| over the kept
        times with right limits, as the lecture does.
    columns
        Columns of the quantity, e.g. those of one unit; all by default.
    """
    for norm in norms:
        if norm not in NORMS:
            raise SettingError(f"norm is {norm!r}: it must be one of {', '.join(map(repr, NORMS))}")
    if where not in ("dense", "grid"):
        raise SettingError(f"where is {where!r}: it must be 'dense' or 'grid'")
    columns = None if columns is None else list(columns)
    found, wanted = (curve(x, quantity, columns) for x in (solution, reference_of(solution, reference)))
    measure = _dense if where == "dense" else _grid
    first, second, largest = measure(solution.t, found, wanted)
    values = {"L1": first, "L2": float(np.sqrt(second)), "Linf": largest}
    return {norm: values[norm] for norm in norms}


def _grid(t: np.ndarray, found: Curve, wanted: Curve) -> tuple[float, float, float]:
    distance = np.linalg.norm(found.right(t) - wanted.right(t), axis=1)
    h = np.diff(t)
    weights = np.concatenate([h[:1], h])
    return float(weights @ distance), float(weights @ distance**2), float(distance.max())


def _dense(t: np.ndarray, found: Curve, wanted: Curve) -> tuple[float, float, float]:
    marks = partition(t, found, wanted)
    points, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
    points, weights = (points + 1.0) / 2.0, weights / 2.0
    first = second = largest = 0.0
    for begin in range(0, len(marks) - 1, PIECES_AT_ONCE):
        piece = marks[begin : begin + PIECES_AT_ONCE + 1]
        length = np.diff(piece)
        times = (piece[:-1, None] + length[:, None] * points).ravel()
        distance = np.linalg.norm(found.right(times) - wanted.right(times), axis=1)
        weight = (length[:, None] * weights).ravel()
        first, second = first + weight @ distance, second + weight @ distance**2
        limits = [
            np.linalg.norm(found.right(piece[:-1]) - wanted.right(piece[:-1]), axis=1),
            np.linalg.norm(found.left(piece[1:]) - wanted.left(piece[1:]), axis=1),
        ]
        largest = max(largest, distance.max(), *(limit.max() for limit in limits))
    return float(first), float(second), float(largest)


def partition(t: np.ndarray, *curves: Curve) -> np.ndarray:
    """Return the increasing times that part the span of a grid into pieces on which all curves are smooth."""
    marks = np.unique(np.concatenate([t, *(side.marks for side in curves)]))
    return marks[(marks >= t[0]) & (marks <= t[-1])]
