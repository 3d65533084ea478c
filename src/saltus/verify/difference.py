"""Difference: how far two runs of one problem are apart, integrated over the union of their grids."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from saltus.solution import Solution

GAUSS_PLACES, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(4)


class _Difference(NamedTuple):
    """Tuned numbers of this file."""

    parts: int = 4  # of a piece, each with the points of Gauss: differences of high degree wind inside of a step
    many: int = 100_000  # pieces from which on they are taken whole: steps that many are short
    chunk: int = 1 << 20  # numbers that are compared at once, so that memory stays flat


DIFFERENCE = _Difference()


@dataclasses.dataclass(frozen=True)
class Scales:
    """What the columns of q, v and i are divided by before their norms are taken."""

    q: np.ndarray
    v: np.ndarray
    i: np.ndarray


@dataclasses.dataclass(frozen=True)
class Difference:
    """Two runs compared piece by piece, for the columns q, v and i.

    Attributes
    ----------
    marks
        Borders of the pieces [s], (n + 1,): nodes and events of both runs.
    plain
        Integrals of the norm of the difference over the pieces (n, 3) [s times the unit].
    scaled
        The same in units of the scales (n, 3) [s].
    size
        Largest norm of the second run in units of the scales since the start (n, 3).
    typical
        Median of the norm of the difference inside of the piece (n, 3), in units of the scales.
    largest
        Largest norm of the second run (3,).
    """

    marks: np.ndarray
    plain: np.ndarray
    scaled: np.ndarray
    size: np.ndarray
    typical: np.ndarray
    largest: np.ndarray

    @property
    def span(self) -> float:
        """Length of what was compared [s]."""
        return float(self.marks[-1] - self.marks[0])

    def growth(self, tol: float) -> np.ndarray:
        """Return for every border but the first (n, 3): mean over what lies before it / (tol (1 + largest norm))."""
        passed = (self.marks[1:] - self.marks[0])[:, None]
        return np.cumsum(self.scaled, axis=0) / passed / (tol * (1.0 + self.size))


def difference(run: Solution, other: Solution, scales: Scales) -> Difference:
    """Compare two runs up to the end of the one that ends first; both must have kept every step."""
    begin, end = run.t[0], min(run.t[-1], other.t[-1])
    marks = np.unique(np.concatenate([run.t, other.t, run.events["t"], other.events["t"]]))
    marks = marks[(marks >= begin) & (marks <= end)]
    pieces, parts = len(marks) - 1, DIFFERENCE.parts if len(marks) <= DIFFERENCE.many else 1
    points = ((np.arange(parts)[:, None] + (GAUSS_PLACES + 1.0) / 2.0) / parts).ravel()
    weights = np.tile(GAUSS_WEIGHTS / (2.0 * parts), parts)
    plain, scaled, size, typical = np.empty((4, pieces, 3))
    largest = np.zeros(3)
    width = run.q.shape[1] + run.v.shape[1] + len(run.rows)
    most = max(DIFFERENCE.chunk // (width * len(points)), 1)
    for first in range(0, pieces, most):
        chosen = slice(first, min(first + most, pieces))
        start, h = marks[:-1][chosen], np.diff(marks)[chosen]
        times = np.clip((start[:, None] + h[:, None] * points).ravel(), begin, end)
        here, there = run(times), other(times)
        pairs = (
            (here.q, there.q, scales.q),
            (here.v, there.v, scales.v),
            (run.impulse_at(times), other.impulse_at(times), scales.i),
        )
        for column, (found, wanted, scale) in enumerate(pairs):
            shape = len(h), len(points)
            apart = found - wanted
            plain[chosen, column] = h * (np.linalg.norm(apart, axis=1).reshape(shape) @ weights)
            norm = np.linalg.norm(apart / scale, axis=1).reshape(shape)
            scaled[chosen, column], typical[chosen, column] = h * (norm @ weights), np.median(norm, axis=1)
            largest[column] = max(largest[column], float(np.linalg.norm(wanted, axis=1).max()))
            size[chosen, column] = np.linalg.norm(wanted / scale, axis=1).reshape(shape).max(axis=1)
    return Difference(marks, plain, scaled, np.maximum.accumulate(size, axis=0), typical, largest)
