"""Saltation of impacts: the impact law of all closed contacts, differentiated as they push, stick and slide in it.

M (v+ - v-) = W^T P,   u_N+ = -e u_N- where a contact pushes,   u_T+ = -e_t u_T- where it sticks,
P_T = -mu P_N s / |s|, s = u_T+ + e_t u_T-, where it slides,   u+ = 0 in joints and contacts that were closed before

Impacts of one kind, with the same contacts, are treated together: long runs have hundreds of thousands of them.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from saltus.ensemble.saltation import Jump
from saltus.ensemble.tangent_motion import Motion, Phase, solved
from saltus.errors import SettingError
from saltus.reaction.impacts import IMPACT_LAW


class _Impacts(NamedTuple):
    """Tuned numbers of this file."""

    same: float = 1e-7  # of the velocities: what an impact law found anew may differ from that of the run
    still: float = 1e-9  # of the largest velocity of an impact: a slip below sticks, a return below is as the law says
    apart: float = 1e-9  # of the largest D: contacts that move each other less do not feel each other


IMPACTS = _Impacts()


@dataclasses.dataclass(frozen=True, eq=False)
class Impacts:
    """N impacts of the same contacts.

    Attributes
    ----------
    t, q, v, v_plus
        When [s], where, velocities before and behind (N, ...).
    before, after
        What is closed before and behind them.
    struck
        Contacts whose gaps close.
    touching
        Contacts that were closed without a force and take part: beside this run they are open.
    rate_before, rate_after
        The motions before and behind them (N, size).
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    v_plus: np.ndarray
    before: Phase
    after: Phase
    struck: tuple[int, ...]
    touching: tuple[int, ...]
    rate_before: np.ndarray
    rate_after: np.ndarray

    def part(self, chosen: np.ndarray) -> Impacts:
        """Return some of them."""
        arrays = ("t", "q", "v", "v_plus", "rate_before", "rate_after")
        return dataclasses.replace(self, **{name: getattr(self, name)[chosen] for name in arrays})


class _Law(NamedTuple):
    """Who pushes, sticks and slides.

    Attributes
    ----------
    rows, returns
        Rows whose velocity the law gives: u+ = -returns u-.
    by
        e or e_t of a contact that these are, None for a number that is zero.
    sliding
        Contact, normal row and rows of friction that slides.
    """

    rows: tuple[int, ...]
    returns: tuple[float, ...]
    by: tuple[tuple[str, int] | None, ...]
    sliding: tuple[tuple[int, int, tuple[int, ...]], ...]


def jumps(motion: Motion, impacts: Impacts, names: tuple[str, ...]) -> list[Jump]:
    """Return the saltation of impacts, in their order."""
    s = motion.derivatives.states(impacts.t, impacts.q, impacts.v)
    u_minus = np.einsum("nij,nj->ni", s.W, impacts.v) + s.w
    u_plus = np.einsum("nij,nj->ni", s.W, impacts.v_plus) + s.w
    laws: dict[_Law, list[int]] = {}
    for k in range(len(impacts.t)):
        laws.setdefault(_law(motion, impacts, k, u_minus[k], u_plus[k]), []).append(k)
    held = {*impacts.before.held, *motion.joints}
    lands = bool(set(impacts.after.held) - held)
    made: dict[int, Jump] = {}
    for law, chosen in laws.items():
        part = impacts.part(np.array(chosen))
        timing, matrix = _saltation(motion, part, law, impacts.struck[0])
        # behind it these velocities are zero, whatever they were
        stopped = any(not given and row not in held for row, given in zip(law.rows, law.returns, strict=True))
        for at, k in enumerate(chosen):
            t, after = float(impacts.t[k]), impacts.rate_after[k]
            made[k] = Jump(t, "impact", names, matrix[at], timing[at], loses=lands or stopped, after=after)
    if impacts.touching:
        reason = "a contact that was closed without a force takes part: beside this run it is open"
        made = {k: dataclasses.replace(jump, corner=reason) for k, jump in made.items()}
    elif len(impacts.struck) > 1:
        for k, jump in made.items():
            made[k] = _together(motion, impacts.part(np.array([k])), jump)
    return [made[k] for k in range(len(impacts.t))]


def _together(motion: Motion, impacts: Impacts, jump: Jump) -> Jump:
    """Return one impact of several gaps that close at once: one after the other, or a corner."""
    s = motion.derivatives.states(impacts.t, impacts.q, impacts.v)
    X = np.linalg.solve(s.M[0], s.W[0].T)
    D = np.abs(s.W[0] @ X)
    frictions = {c: [row for one in motion.frictions if one.contact == c for row in one.rows] for c in impacts.struck}
    rows = {c: [motion.normals[c], *frictions[c]] for c in impacts.struck}
    felt = [np.max(D[np.ix_(rows[c], rows[o])]) for k, c in enumerate(impacts.struck) for o in impacts.struck[k + 1 :]]
    if impacts.before.held or max(felt) > IMPACTS.apart * D.max():
        reason = f"{len(impacts.struck)} gaps close at once: what follows depends on which of them is the first"
        return dataclasses.replace(jump, corner=reason)
    total, v = np.eye(motion.place.size), impacts.v
    for contact in impacts.struck:
        mine = rows[contact]
        own = (s.W[0] @ X)[np.ix_(mine, mine)]
        gained = X[:, mine] @ np.linalg.solve(own, s.W[0][mine] @ (impacts.v_plus - impacts.v)[0])
        v_plus = v + gained
        rates = [
            motion.balance(impacts.t, impacts.q, x, impacts.before).rate(motion.ni, len(motion.chosen))
            for x in (v, v_plus)
        ]
        part = dataclasses.replace(
            impacts, v=v, v_plus=v_plus, struck=(contact,), rate_before=rates[0], rate_after=rates[1]
        )
        total = jumps(motion, part, jump.names)[0].matrix @ total
        v = v_plus
    return dataclasses.replace(jump, matrix=total)


def _tangential(motion: Motion, contact: int) -> float:
    tangential = int(motion.model.layout.impact_law) == IMPACT_LAW.tangential
    return float(motion.e_t[contact]) if tangential else 0.0


def _law(motion: Motion, impacts: Impacts, k: int, u_minus: np.ndarray, u_plus: np.ndarray) -> _Law:
    """Return who pushes, sticks and slides in one impact, read off the velocities behind it."""
    scale = IMPACTS.still * max(np.max(np.abs(u_minus)), np.max(np.abs(impacts.v[k])))
    rows, n = list(motion.joints), len(motion.joints)
    returns: list[float] = [0.0] * n
    by: list[tuple[str, int] | None] = [None] * n
    sliding = []
    for contact, normal in enumerate(motion.normals):
        hit = contact in impacts.struck
        if not hit and normal not in impacts.before.held and contact not in impacts.touching:
            continue
        e = float(motion.e[contact]) if hit else 0.0
        if abs(u_plus[normal] + e * u_minus[normal]) > scale:
            continue  # it is lifted off
        rows.append(normal)
        returns.append(e)
        by.append(("e", contact) if hit else None)
        e_t = _tangential(motion, contact) if hit else 0.0
        for friction in motion.frictions:
            if friction.contact != contact:
                continue
            index = list(friction.rows)
            slip = u_plus[index] + e_t * u_minus[index]
            if motion.mu[contact] == 0.0 or np.linalg.norm(slip) > scale:
                sliding.append((contact, normal, friction.rows))
            else:
                rows += index
                returns += [e_t] * len(index)
                by += [("e_t", contact) if e_t else None] * len(index)
    return _Law(tuple(rows), tuple(returns), tuple(by), tuple(sliding))


def _saltation(motion: Motion, impacts: Impacts, law: _Law, contact: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how the times of impacts of one law change (N, size), and their matrices (N, size, size)."""
    place, model, n = motion.place, motion.derivatives, len(impacts.t)
    size, rows, returns = place.size, list(law.rows), np.array(law.returns)
    s = model.states(impacts.t, impacts.q, impacts.v)
    W, back = s.W, np.swapaxes(s.W, 1, 2)
    u_minus = np.einsum("nij,nj->ni", W, impacts.v) + s.w
    u_plus = np.einsum("nij,nj->ni", W, impacts.v_plus) + s.w
    G, slides = np.zeros((n, motion.sizes.nr, len(rows))), []
    G[:, rows, np.arange(len(rows))] = 1.0
    for c, normal, index in law.sliding:
        slip = u_plus[:, list(index)] + _tangential(motion, c) * u_minus[:, list(index)]
        speed = np.maximum(np.linalg.norm(slip, axis=1), 1e-300)
        way = slip / speed[:, None]
        G[:, list(index), rows.index(normal)] = -motion.mu[c] * way
        slides.append((c, normal, list(index), way, speed))
    P = _impulses(impacts, law, s.M, W, G, u_minus)
    # derivatives along all variations and along time; behind the impact v+ is still to be found
    unit = np.concatenate([motion.unit_ways, motion.ways(np.zeros((size, 1)), 1.0)])
    still = unit.copy()
    still[:, 1 + place.v.start : 1 + place.v.stop] = 0.0
    zero = np.zeros((n, motion.sizes.nv)), np.zeros((n, motion.sizes.nr))
    minus = model.tangents(impacts.t, impacts.q, impacts.v, *zero, unit)
    plus = model.tangents(impacts.t, impacts.q, impacts.v_plus, impacts.v_plus - impacts.v, P, still)
    guard = minus.g[:, :, contact]
    slope = np.einsum("ni,ni->n", guard[:, :-1], impacts.rate_before) + guard[:, -1]
    timing = -guard[:, :-1] / slope[:, None]
    there = np.eye(size) + impacts.rate_before[:, :, None] * timing[:, None, :]
    ways = np.concatenate([there, timing[:, None, :]], axis=1)  # (N, size + 1, variations)
    du_minus, du_plus = np.swapaxes(minus.u, 1, 2) @ ways, np.swapaxes(plus.u, 1, 2) @ ways
    dp = there[:, place.p]
    right = s.M @ there[:, place.v] - np.swapaxes(plus.inertia, 1, 2) @ ways
    system = s.M.copy()
    for c, normal, index, way, speed in slides:
        dmu = motion.law_ways["mu"][c] @ dp
        right -= (back[:, :, index] @ way[:, :, None]) * (P[:, normal, None] * dmu)[:, None, :]
        if len(index) > 1:
            turn = np.eye(len(index)) - way[:, :, None] * way[:, None, :]
            turn *= (motion.mu[c] * P[:, normal] / speed)[:, None, None]
            system += back[:, :, index] @ turn @ W[:, index]
            right -= back[:, :, index] @ turn @ (du_plus[:, index] + _tangential(motion, c) * du_minus[:, index])
    target = -du_plus[:, rows] - returns[:, None] * du_minus[:, rows]
    for k, (row, given) in enumerate(zip(rows, law.by, strict=True)):
        if given is not None:
            target[:, k] -= u_minus[:, row, None] * (motion.law_ways[given[0]][given[1]] @ dp)
    free, X = np.linalg.solve(system, right), np.linalg.solve(system, back @ G)
    x = solved(W[:, rows] @ X, target - W[:, rows] @ free)
    made = there.copy()
    made[:, place.v] = free + X @ x
    if motion.ni:
        dP = G @ x
        for c, normal, index, way, speed in slides:
            dP[:, index] -= way[:, :, None] * (P[:, normal, None] * (motion.law_ways["mu"][c] @ dp))[:, None, :]
            if len(index) > 1:
                slip = du_plus[:, index] + W[:, index] @ made[:, place.v] + _tangential(motion, c) * du_minus[:, index]
                across = slip - way[:, :, None] * np.einsum("ni,nij->nj", way, slip)[:, None, :]
                dP[:, index] -= (motion.mu[c] * P[:, normal] / speed)[:, None, None] * across
        made[:, place.i] += dP[:, : motion.ni]
    return timing, made - impacts.rate_after[:, :, None] * timing[:, None, :]


def _impulses(impacts: Impacts, law: _Law, M, W, G: np.ndarray, u_minus: np.ndarray) -> np.ndarray:
    """Return the impulses (N, rows); the law, solved anew, must give the velocities of the run."""
    rows = list(law.rows)
    X = np.linalg.solve(M, np.swapaxes(W, 1, 2) @ G)
    wanted = -(1.0 + np.array(law.returns)) * u_minus[:, rows]
    x = solved(W[:, rows] @ X, wanted[:, :, None])[:, :, 0]
    v = impacts.v + np.einsum("nij,nj->ni", X, x)
    scale = np.max(np.abs(impacts.v) + np.abs(impacts.v_plus), axis=1)
    off = np.max(np.abs(v - impacts.v_plus), axis=1) / scale
    k = int(np.argmax(off))
    if not off[k] <= IMPACTS.same:
        raise SettingError(
            f"the impact at t = {impacts.t[k]:.9g} cannot be differentiated: the run has v = {impacts.v_plus[k]} "
            f"behind it, contacts that push, stick and slide as they do there would give {v[k]}; Poisson's law with "
            "friction or with several contacts has no derivative here yet"
        )
    return np.einsum("nij,nj->ni", G, x)
