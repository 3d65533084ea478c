"""Gaps and kinetic energy of a run between its times, as cubic pieces: what a file keeps in place of the model.

The pieces lie between times that contain the nodes of the run and its events. In each of them a cubic goes through four
values: at its begin (from the right), at a third, at two thirds and at its end (from the left). Pieces are halved until
the cubics are as near to the model as `ACCURACY` asks; how near they are is measured and kept.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import FunctionError
from saltus.results.instants import gaps_of, loaded

if TYPE_CHECKING:
    from saltus.results.records import Side
    from saltus.solution import Solution

CUBIC_PLACES = np.array([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0])
BETWEEN = np.array([1.0 / 6.0, 0.5, 5.0 / 6.0])  # places at which cubics are compared
ACCURACY = 1e-8  # of the largest gap and of the largest energy
LEAST_PIECES = 600  # so that curves look like curves
MOST_VALUES = 2_000_000  # of all gaps: a run with more is kept at its nodes alone
ROUNDS = 8


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Cubic pieces of a run.

    Attributes
    ----------
    t
        Ends of the pieces (n + 1,) [s].
    gap
        Gaps at the four places of every piece (n, 4, contacts) [m].
    kinetic
        Kinetic energy there (n, 4) [J].
    error
        Largest difference from the model that was seen between the places, of gaps [m] and energies [J].
    """

    t: np.ndarray
    gap: np.ndarray
    kinetic: np.ndarray
    error: tuple[float, float]

    def gap_at(self, t: np.ndarray, side: Side) -> np.ndarray:
        """Return the gaps at times (times, contacts) [m]."""
        return self._at(self.gap, t, side)

    def kinetic_at(self, t: np.ndarray, side: Side) -> np.ndarray:
        """Return the kinetic energy at times (times,) [J]."""
        return self._at(self.kinetic[:, :, None], t, side)[:, 0]

    def _at(self, values: np.ndarray, t: np.ndarray, side: Side) -> np.ndarray:
        above = np.searchsorted(self.t, t, side="right" if side == "+" else "left")
        k = np.clip(above - 1, 0, len(self.t) - 2)
        s = (t - self.t[k]) / (self.t[k + 1] - self.t[k])
        return np.einsum("kp,kpc->kc", _weights(s), values[k])


def table_of(solution: Solution) -> Table | None:
    """Return the table of a run: of its file, or made by its model; None where it has none or would be too large."""
    if loaded(solution):
        model: Any = solution._model
        return model.table
    if len(solution.t) < 2 or not solution.every_step or solution._forces is not None:
        return None
    contacts = len(solution.system.contacts)
    events = solution.events["t"]
    inside = events[(events > solution.t[0]) & (events < solution.t[-1])]
    t = np.unique(np.concatenate([solution.t, inside, np.linspace(solution.t[0], solution.t[-1], LEAST_PIECES + 1)]))
    most = MOST_VALUES // (len(CUBIC_PLACES) * max(1, contacts))
    if len(t) > most:
        return None
    try:
        return _refined(solution, t, most)
    except FunctionError:
        return None  # a function of the model fails between the nodes: nothing is known there


def _refined(solution: Solution, t: np.ndarray, most: int) -> Table:
    gap, kinetic = _values(solution, t[:-1], t[1:], CUBIC_PLACES)
    off = np.full((2, len(t) - 1), np.inf)  # not looked at yet
    for last in range(ROUNDS):
        new = np.flatnonzero(np.isinf(off[0]))
        off[:, new] = _off(solution, t, gap, kinetic, new)
        scales = np.array([np.max(np.abs(one), initial=0.0) for one in (gap, kinetic)])
        halve = np.flatnonzero(np.any(off > ACCURACY * scales[:, None], axis=0) & (np.diff(t) > 1e-9 * (t[-1] - t[0])))
        if len(halve) == 0 or last == ROUNDS - 1 or len(t) + len(halve) > most:
            break
        middle = 0.5 * (t[halve] + t[halve + 1])
        at = halve + np.arange(len(halve))  # the first half of each piece among all
        t = np.sort(np.concatenate([t, middle]))
        gap, kinetic = (np.insert(one, halve, 0.0, axis=0) for one in (gap, kinetic))
        off = np.insert(off, halve, np.inf, axis=1)
        both = np.unique(np.concatenate([at, at + 1]))
        gap[both], kinetic[both] = _values(solution, t[both], t[both + 1], CUBIC_PLACES)
        off[:, both] = np.inf
    error = [float(np.max(one, initial=0.0)) for one in off]
    return Table(t, gap, kinetic, (error[0], error[1]))


def _off(solution, t: np.ndarray, gap: np.ndarray, kinetic: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return how far the cubics of pieces are from the model (2, pieces)."""
    true_gap, true_kinetic = _values(solution, t[which], t[which + 1], BETWEEN)
    weights = _weights(BETWEEN)
    made = np.einsum("bp,kpc->kbc", weights, gap[which]), np.einsum("bp,kp->kb", weights, kinetic[which])
    return np.array(
        [
            np.max(np.abs(one - true).reshape(len(which), -1), axis=1, initial=0.0)
            for one, true in zip(made, (true_gap, true_kinetic), strict=True)
        ]
    )


def _values(solution: Solution, start: np.ndarray, end: np.ndarray, places: np.ndarray):
    """Return gaps (pieces, places, contacts) and kinetic energies (pieces, places) by the model."""
    contacts = len(solution.system.contacts)
    gap, kinetic = np.empty((len(start), len(places), contacts)), np.empty((len(start), len(places)))
    for k, s in enumerate(places):
        t = end if s == 1.0 else start + s * (end - start)
        state = solution(t, "-" if s == 1.0 else "+")
        q, v = state.q, state.v
        unknown = ~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))  # in pieces of a few roundings
        if unknown.any():
            q[unknown], v[unknown] = solution(start[unknown]).q, solution(start[unknown]).v
        gap[:, k], kinetic[:, k] = gaps_of(solution, t, q), solution._kinetic(t, q, v)
    return gap, kinetic


def _weights(s: np.ndarray) -> np.ndarray:
    """Return the weights of the four places at shares s of a piece (len(s), 4)."""
    made = np.ones((len(s), len(CUBIC_PLACES)))
    for k, at in enumerate(CUBIC_PLACES):
        for other in np.delete(CUBIC_PLACES, k):
            made[:, k] *= (s - other) / (at - other)
    return made
