"""A run with its grid replaced by times inside of its steps, what `t_eval` gives."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import numpy as np

from saltus.certificate import FOUND
from saltus.results.reactions import impulses_at, reacted, with_right_limits
from saltus.results.records import read_only
from saltus.schemes.traits import Forced

if TYPE_CHECKING:
    from saltus.solution import Solution


def at_times(solution: Solution, times: np.ndarray) -> Solution:
    """Return the solution with its grid replaced by times inside of kept steps (what `t_eval` gives)."""
    times = times[times <= solution.t[-1]]
    if len(times) == 0:
        return solution
    right, left = solution(times), solution(times, side="-")
    total = impulses_at(solution, solution._places(times, "+"))
    energy, kinetic = solution.energy, solution._kinetic(times, right.q, right.v)
    reached = np.where(times == solution.t[0], solution._begins, times)  # with impacts that strike at the start
    defect = _shared(solution, reached, energy.defect[:, None])[:, 0]
    # what an impact takes is taken at its time, at the end of its step
    lost = _shared(solution, reached, energy.dissipation, np.any(solution._atoms != 0.0, axis=1))
    work = kinetic - energy.kinetic[0] + lost.sum(axis=1) - defect
    ends = np.searchsorted(solution.t, times, side="left")
    worst = [
        np.array([np.max(column[max(a - 1, 0) : b], initial=0.0) for a, b in itertools.pairwise(ends)])
        for column in (solution.contact_residual, solution.end_violation, solution.step_error, *solution._inside.T)
    ]
    n = len(times)
    grown = np.diff(np.concatenate([total, lost], axis=1), axis=0)
    reactions = np.concatenate([np.arange(n)[:, None], np.zeros((n, 1)), left.v, np.zeros((n, grown.shape[1]))], axis=1)
    reactions[1:, 1], reactions[1:, 2 + left.v.shape[1] :] = worst[0], grown
    ledger, extra = np.zeros((n, 2)), np.zeros((n, 5))
    ledger[1:, 0], ledger[1:, 1], extra[1:, 0] = worst[1], np.diff(work), worst[2]
    certificate = np.zeros((n, FOUND.all))
    certificate[1:] = np.transpose(worst[3:])
    made = dataclasses.replace(
        solution,
        t=times,
        q=right.q,
        v=right.v,
        _before=total[0, : len(solution.rows)],
        _ledger=ledger,
        _extra=extra,
        _reactions=reactions if n > 1 else reactions[:0],
        _dense=np.zeros(0),
        _certificate=certificate,
        _forces=_forces_of(solution, times) if isinstance(solution.scheme, Forced) else None,
    )
    return read_only(made)


def _forces_of(solution: Solution, times: np.ndarray) -> np.ndarray:
    """Return the forces at times from both sides, nan where no step was kept."""
    made = np.full((2, len(times), solution._all_rows), np.nan)
    for values, side in zip(made, ("+", "-"), strict=True):
        places = with_right_limits(solution, solution._places(times, side))
        known = np.flatnonzero(solution._whole(places.end))
        values[known] = reacted(solution, places, known)[0]
    return made


def _shared(solution: Solution, times: np.ndarray, sums: np.ndarray, late: np.ndarray | None = None) -> np.ndarray:
    """Return sums at the nodes, shared within a step in proportion to time; in `late` steps all at the end."""
    ends = np.clip(np.searchsorted(solution.t, times, side="left"), 1, len(solution.t) - 1)
    share = (times - solution.t[ends - 1]) / (solution.t[ends] - solution.t[ends - 1])
    if late is not None:
        share = np.where(late[ends - 1] & (share < 1.0), 0.0, share)
    return sums[ends - 1] + share[:, None] * (sums[ends] - sums[ends - 1])
