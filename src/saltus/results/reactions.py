"""Impulses and forces of all rows of a run at any time, contacts first, joints after them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal

import numpy as np

from saltus.errors import SettingError
from saltus.results.records import Impacts, Places
from saltus.schemes.traits import Forced

if TYPE_CHECKING:
    from saltus.solution import Solution

ATOMS = ("impact", "zeno")  # kinds of events whose impulse belongs to their time


def impulses_at(solution: Solution, places: Places) -> np.ndarray:
    """Return what all rows accumulated from the start (times, rows) [N s]."""
    made = np.empty((len(places.t), solution._all_rows))
    known, between = np.flatnonzero(places.node >= 0), np.flatnonzero(places.node < 0)
    made[known] = solution._total[places.node[known]]
    if places.side == "-":
        made[known] -= struck(solution, places, known, "right") - struck(solution, places, known, "left")
    grown = reacted(solution, places, between)[1]
    made[between] = solution._total[places.end[between] - 1] + grown
    made[between] += struck(solution, places, between, "right" if places.side == "+" else "left")
    return made


def forces_at(solution: Solution, places: Places) -> np.ndarray:
    """Return the lasting forces of all rows as the scheme describes them (times, rows) [N]."""
    if solution._forces is not None:
        known = solution._forces["+-".index(places.side)][places.node]
        missing = places.t[(places.node < 0) | np.isnan(known).any(axis=1)]
        if len(missing):
            raise SettingError(f"the run kept no force at t = {missing[0]}: run with save='steps'")
        return known
    return reacted(solution, with_right_limits(solution, places), np.arange(len(places.t)))[0]


def with_right_limits(solution: Solution, places: Places) -> Places:
    """Where the step that follows a node was not kept, the end of the step before has to know the right limit."""
    if places.side == "-" or solution._extra is None or not isinstance(solution.scheme, Forced):
        return places
    alone = (places.node > 0) & ~solution._whole(places.end)
    return places._replace(end=np.where(alone, places.node, places.end))


def reacted(solution: Solution, places: Places, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the force at the chosen times and its impulse since the start of the step, both without impacts."""
    if isinstance(solution.scheme, Forced):
        force, impulse = np.empty((2, len(places.t), solution._all_rows))
        for i, s, h, block in solution._steps(places, chosen):
            force[i], impulse[i] = solution.scheme.reaction(s, h, block, solution._all_rows, places.side)
        if solution._units is not None:
            force, impulse = force * solution._units, impulse * solution._units
        return force[chosen], impulse[chosen]
    if len(chosen) and len(solution.t) == 1:
        raise SettingError(f"the run has no step, so that no force is known at t = {places.t[chosen[0]]}")
    end = places.end[chosen]
    h, lasting = (solution.t[end] - solution.t[end - 1])[:, None], solution._lasting[end - 1]
    return lasting / h, (places.t[chosen] - solution.t[end - 1])[:, None] / h * lasting


def total_of(solution: Solution) -> np.ndarray:
    """Return what all rows accumulated from the start, at the nodes (n + 1, rows)."""
    before = np.zeros((1, solution._all_rows))
    before[0, : len(solution.rows)] = solution._before
    return np.concatenate([before, before + np.cumsum(solution._filled(0, solution._all_rows), axis=0)])


def lasting_of(solution: Solution) -> np.ndarray:
    """Return the reaction of each step without its impacts (n, rows)."""
    return solution._filled(0, solution._all_rows) - solution._atoms


def atoms_of(solution: Solution) -> np.ndarray:
    """Return the part of each step's reaction that impacts make up (n, rows)."""
    atoms = np.zeros((len(solution.t) + 1, solution._all_rows))
    end = solution._impacts.end
    holds_sum = np.append(end[1:] != end[:-1], np.ones(min(len(end), 1), dtype=bool))  # the last one of its step
    atoms[end[holds_sum]] = solution._impacts.impulse[holds_sum]
    return atoms[1:-1]  # impacts before the first and after the last kept time belong to no step


def struck(solution: Solution, places: Places, chosen: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """Return the impacts since the start of the step, those exactly at a time only with "right"."""
    last = np.searchsorted(solution._impacts.t, places.t[chosen], side=side) - 1
    made = np.zeros((len(chosen), solution._all_rows))
    if len(solution._impacts.t):
        found = (last >= 0) & (solution._impacts.end[last] == places.end[chosen])
        made[found] = solution._impacts.impulse[last[found]]
    return made


def impacts_of(solution: Solution) -> Impacts:
    """Return the impacts in order of time, with what each step has taken by then."""
    impacts = solution.events[np.isin(solution.events["kind"], ATOMS)]
    impacts = impacts[np.argsort(impacts["t"], kind="stable")]
    impulse = np.zeros((len(impacts), solution._all_rows))
    names = [name for name, _ in solution.rows]
    for contact in set(names):
        mine, first, count = impacts["contact"] == contact, names.index(contact), names.count(contact)
        impulse[mine, first : first + count] = impacts["impulse"][mine, :count]
    end = np.searchsorted(solution.t, impacts["t"], side="left")
    together = np.flatnonzero(np.append(False, end[1:] == end[:-1]))  # with the one before in the same step
    place = together - np.searchsorted(end, end[together])  # in its step, from 1
    in_turn = together[np.argsort(place, kind="stable")]
    for now in np.split(in_turn, np.cumsum(np.bincount(place)[1:-1]) if len(place) else []):
        impulse[now] += impulse[now - 1]
    return Impacts(impacts["t"], end, impulse)


def put_on_cones(solution: Solution, r: np.ndarray) -> None:
    """Raise normal forces to zero, then shorten friction to mu r_N.

    True forces lie in these sets, which are convex: no step of this leads away from them.
    """
    units = None if solution._units is None else solution._units[: len(solution.rows)]
    r /= 1.0 if units is None else units
    first, groups = 0, itertools.groupby(solution.rows, lambda row: row[0])
    for (_, mu, _), (_, group) in zip(solution.system.laws(solution.parameters or None), groups, strict=True):
        axes, normal = [axis for _, axis in group], r[:, first]
        np.maximum(normal, 0.0, out=normal)
        begin = first + 1
        for _, rows in itertools.groupby(axes[1:], lambda axis: axis[0]):  # T1, T2 are one friction, R another
            end = begin + len(list(rows))
            friction, begin = r[:, begin:end], end
            size, cone = np.linalg.norm(friction, axis=1), mu * normal
            outside = size > cone
            friction[outside] *= (cone[outside] / size[outside])[:, None]
        first += len(axes)
    r *= 1.0 if units is None else units
