"""Saltation: what an event does to variations of the state.

An event is where a guard h(t, q, v, p) vanishes. A variation z moves its time by dt = -(h_z z) / (h_z F- + h_t), so that
behind it

    z+ = DR (z + F- dt) + R_t dt - F+ dt

with the reset R of the event and the motions F-, F+ before and behind it (Ivanov 1993, Leine and Nijmeijer 2004, ch. 7).

impact       guard: the gap that closes. R: the impact law of all closed contacts, differentiated with the contacts that
             push, stick and slide as they do
stick        guard: the slip velocity, R = 1; the motion behind it holds it: one direction is lost
reversal     guard: the slip velocity, R = 1
accumulation no guard: what the closed contacts do not allow is lost, along the impulses that do it
release      the motion is continuous: nothing happens
event        guard and R are functions of the user
switch       guard: where a branch of a function ends, R = 1
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from saltus.build.tangent import STEP, WEIGHTS
from saltus.compile.native import runnable
from saltus.ensemble.tangent_motion import Motion, Phase, solved
from saltus.errors import SettingError
from saltus.reaction.impacts import IMPACT_LAW

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel


class _Saltations(NamedTuple):
    """Tuned numbers of this file."""

    same: float = 1e-7  # of the velocities: what an impact law found anew may differ from that of the run
    still: float = 1e-9  # of the largest velocity of an impact: a slip below sticks, a return below is as the law says
    apart: float = 1e-9  # of the matrices: two impacts at once whose order changes no more than this are no corner


SALTATIONS = _Saltations()


class Moment(NamedTuple):
    """The state on both sides of an event, and what is closed before and behind it."""

    t: float
    q: np.ndarray
    v: np.ndarray
    q_plus: np.ndarray
    v_plus: np.ndarray
    before: Phase
    after: Phase


@dataclasses.dataclass(frozen=True, eq=False)
class Jump:
    """What an event does to variations.

    Attributes
    ----------
    t
        When it is [s].
    kind
        "impact", "stick", "reversal", "zeno", "event" or "switch".
    names
        Contacts, or the event of the user.
    matrix
        z+ = matrix z- (size, size).
    timing
        dt = timing @ z-: how its time changes (size,); zero where it has no guard.
    loses
        Whether it may lose directions: something is closed behind it that was open.
    corner
        Why there is no derivative, empty where there is one.
    """

    t: float
    kind: str
    names: tuple[str, ...]
    matrix: np.ndarray
    timing: np.ndarray
    loses: bool = False
    corner: str = ""
    after: np.ndarray | None = None  # the motion behind it (size,)

    @property
    def landed(self) -> np.ndarray:
        """Variations behind it, each at its own time: what a section at the event sees (size, size)."""
        return self.matrix if self.after is None else self.matrix + np.outer(self.after, self.timing)


class Rates(NamedTuple):
    """Motions before and behind an event (size,)."""

    before: np.ndarray
    after: np.ndarray


def through(motion: Motion, guard: np.ndarray, slope: float, rates: Rates) -> tuple[np.ndarray, np.ndarray]:
    """Return how the time of a guard changes (size,), and the variations there (size, size)."""
    timing = -guard / slope
    return timing, np.eye(motion.place.size) + np.outer(rates.before, timing)


def guard_of(motion: Motion, at: Moment, rates: Rates, *, gap: int = -1, slip: tuple[int, ...] = (), way=None):
    """Return the gradient of a gap or of a slip velocity along `way`, and how fast it changes before the event."""
    zero = np.zeros((1, motion.sizes.nv)), np.zeros((1, motion.sizes.nr))
    time = motion.ways(np.zeros((motion.place.size, 1)), 1.0)
    ways = np.concatenate([motion.unit_ways, time])
    along = motion.derivatives.tangents(np.array([at.t]), at.q[None], at.v[None], *zero, ways)
    values = along.g[0][:, gap] if gap >= 0 else along.u[0][:, list(slip)] @ way
    return values[:-1], float(values[:-1] @ rates.before + values[-1])


def rebranched(motion: Motion, at: Moment, rates: Rates, kind: str, names, guard: np.ndarray, slope: float) -> Jump:
    """Return the saltation of an event without reset, behind which the motion is another one."""
    timing, there = through(motion, guard, slope, rates)
    matrix = there - np.outer(rates.after, timing)
    return Jump(at.t, kind, names, matrix, timing, loses=kind == "stick", after=rates.after)


# ---- accumulations, and what is left of a variation where contacts close


def closed(motion: Motion, at: Moment, kind: str, names: tuple[str, ...]) -> Jump:
    """Return the projection onto what the phase behind an event allows, along the impulses of its closed contacts."""
    size, held = motion.place.size, list(at.after.held)
    t, q, v = np.array([at.t]), at.q_plus[None], at.v_plus[None]
    balance = motion.balance(t, q, v, at.after)
    X = np.linalg.solve(balance.states.M[0], balance.states.W[0].T @ balance.G[0])
    schur = (balance.states.W[0][held] @ X)[None]
    zero = np.zeros((1, motion.sizes.nv)), np.zeros((1, motion.sizes.nr))
    along = motion.derivatives.tangents(t, q, v, *zero, motion.unit_ways)
    gaps = [motion.gap_of(row) for row in held]
    dg = np.array([np.zeros(size) if gap is None else along.g[0][:, gap] for gap in gaps]).reshape(len(held), size)
    moved = X @ solved(schur, dg[None])[0]
    matrix = np.eye(size)
    # a shift of velocities as large as that of the coordinates, turned into one of coordinates by B
    shift = np.zeros((motion.place.size, size))
    shift[motion.place.v] = moved
    rate = motion.derivatives.tangents(t, q, v, *zero, motion.ways(shift)).q_dot[0].T
    matrix[motion.place.q] -= rate
    du = motion.derivatives.tangents(t, q, v, *zero, motion.ways(matrix)).u[0][:, held].T
    P = solved(schur, du[None])[0]
    matrix[motion.place.v] -= X @ P
    if motion.ni:
        matrix[motion.place.i] -= (balance.G[0] @ P)[: motion.ni]
    return Jump(at.t, kind, names, matrix, np.zeros(size), loses=True)


# ---- impacts


class _Struck(NamedTuple):
    """One impact with what pushes, sticks and slides in it: rows with an equation, and G with P = G x."""

    rows: tuple[int, ...]  # whose velocity the law gives
    returns: np.ndarray  # u+ = -returns u- in these rows
    returned_by: tuple[tuple[str, int] | None, ...]  # e or e_t of a contact, of the same rows
    sliding: tuple[tuple[int, int, tuple[int, ...], np.ndarray, float], ...]  # contact, normal, rows, way, speed
    G: np.ndarray


def impact(motion: Motion, at: Moment, rates: Rates, struck: tuple[int, ...], names: tuple[str, ...]) -> Jump:
    """Return the saltation of an impact; struck: contacts whose gaps close."""
    jumps = []
    for contact in struck:
        guard, slope = guard_of(motion, at, rates, gap=contact)
        timing, there = through(motion, guard, slope, rates)
        jumps.append((timing, _varied_impact(motion, at, there, timing) - np.outer(rates.after, timing)))
    timing, matrix = jumps[0]
    corner = ""
    if len(struck) > 1:
        if _are_apart(motion, at, struck):
            # each of them is an impact of its own: what both do is done one after the other
            matrix = _one_by_one(motion, at, struck)
        else:
            corner = f"{len(struck)} gaps close at once: what follows depends on which of them is the first"
    return Jump(at.t, "impact", names, matrix, timing, loses=_more_held(at), corner=corner, after=rates.after)


def _more_held(at: Moment) -> bool:
    return bool(set(at.after.held) - set(at.before.held))


def _are_apart(motion: Motion, at: Moment, struck: tuple[int, ...]) -> bool:
    """Tell whether impacts at one instant do not feel each other, because no impulse of one moves the other."""
    if at.before.held:
        return False
    s = motion.derivatives.states(np.array([at.t]), at.q[None], at.v[None])
    rows = [[motion.normals[c], *(r for f in motion.frictions if f.contact == c for r in f.rows)] for c in struck]
    X = np.linalg.solve(s.M[0], s.W[0].T)
    D = np.abs(s.W[0] @ X)
    return all(
        np.all(D[np.ix_(one, other)] <= SALTATIONS.apart * D.max())
        for k, one in enumerate(rows) for other in rows[k + 1 :]
    )  # fmt: skip


def _one_by_one(motion: Motion, at: Moment, struck: tuple[int, ...]) -> np.ndarray:
    """Return the saltation of impacts that do not feel each other."""
    s = motion.derivatives.states(np.array([at.t]), at.q[None], at.v[None])
    total, v = np.eye(motion.place.size), at.v.copy()
    jump = np.linalg.solve(s.M[0], s.W[0].T)
    for contact in struck:
        rows = [motion.normals[contact], *(r for f in motion.frictions if f.contact == contact for r in f.rows)]
        D = s.W[0][rows] @ jump[:, rows]
        gained = jump[:, rows] @ np.linalg.solve(D, s.W[0][rows] @ (at.v_plus - at.v))
        part = at._replace(v=v, v_plus=v + gained)
        before = motion.balance(np.array([at.t]), part.q[None], part.v[None], at.before)
        after = motion.balance(np.array([at.t]), part.q[None], part.v_plus[None], at.before)
        own = Rates(*(x.rate(motion.ni, len(motion.chosen))[0] for x in (before, after)))
        guard, slope = guard_of(motion, part, own, gap=contact)
        timing, there = through(motion, guard, slope, own)
        total = (_varied_impact(motion, part, there, timing) - np.outer(own.after, timing)) @ total
        v = part.v_plus
    return total


def _varied_impact(motion: Motion, at: Moment, there: np.ndarray, timing: np.ndarray) -> np.ndarray:
    """Return what the impact law makes of variations (size, size), each at its own time."""
    place, model = motion.place, motion.derivatives
    t, q = np.array([at.t]), at.q[None]
    s = model.states(t, q, at.v_plus[None])
    M, W = s.M[0], s.W[0]
    u_minus, u_plus = W @ at.v + s.w[0], W @ at.v_plus + s.w[0]
    law = _struck(motion, at, u_minus, u_plus)
    P = _impulses(motion, at, law, M, W, u_minus)
    ways = motion.ways(there, timing)
    still = ways.copy()
    still[:, 1 + place.v.start : 1 + place.v.stop] = 0.0
    zero = np.zeros((1, motion.sizes.nv)), np.zeros((1, motion.sizes.nr))
    jump = (at.v_plus - at.v)[None]
    plus = model.tangents(t, q, at.v_plus[None], jump, P[None], still)
    minus = model.tangents(t, q, at.v[None], *zero, ways)
    du_plus, du_minus = plus.u[0].T, minus.u[0].T  # (rows, directions); of u+ without dv+
    dp = ways[:, 1 + place.moving :][:, motion.chosen].T
    right = M @ there[place.v] - plus.inertia[0].T
    system = M.copy()
    for contact, normal, rows, way, speed in law.sliding:
        index, e_t = list(rows), _tangential(motion, contact)
        right -= np.outer(W[index].T @ way, P[normal] * (motion.law_ways["mu"][contact] @ dp))
        if len(index) > 1:
            turn = motion.mu[contact] * P[normal] / speed * (np.eye(2) - np.outer(way, way))
            system += W[index].T @ turn @ W[index]
            right -= W[index].T @ turn @ (du_plus[index] + e_t * du_minus[index])
    rows = list(law.rows)
    target = -du_plus[rows] - law.returns[:, None] * du_minus[rows]
    for k, (row, given) in enumerate(zip(rows, law.returned_by, strict=True)):
        if given is not None:
            target[k] -= u_minus[row] * (motion.law_ways[given[0]][given[1]] @ dp)
    free = np.linalg.solve(system, right)
    X = np.linalg.solve(system, W.T @ law.G)
    x = solved((W[rows] @ X)[None], (target - W[rows] @ free)[None])[0]
    made = there.copy()
    made[place.v] = free + X @ x
    if motion.ni:
        dP = law.G @ x
        for contact, normal, index, way, speed in law.sliding:
            dP[list(index)] -= np.outer(way, P[normal] * (motion.law_ways["mu"][contact] @ dp))
            if len(index) > 1:
                slip = du_plus[list(index)] + W[list(index)] @ made[place.v]
                slip = slip + _tangential(motion, contact) * du_minus[list(index)]
                dP[list(index)] -= motion.mu[contact] * P[normal] / speed * (slip - np.outer(way, way @ slip))
        made[place.i] += dP[: motion.ni]
    return made


def _tangential(motion: Motion, contact: int) -> float:
    tangential = int(motion.model.layout.impact_law) == IMPACT_LAW.tangential
    return float(motion.e_t[contact]) if tangential else 0.0


def _struck(motion: Motion, at: Moment, u_minus: np.ndarray, u_plus: np.ndarray) -> _Struck:
    """Return which contacts push, stick and slide in an impact, read off the velocities behind it."""
    held_before = set(at.before.held)
    scale = SALTATIONS.still * max(np.max(np.abs(u_minus), initial=0.0), np.max(np.abs(at.v), initial=0.0))
    rows, returns, by, sliding = list(motion.joints), [0.0] * len(motion.joints), [None] * len(motion.joints), []
    for contact, normal in enumerate(motion.normals):
        hit = u_minus[normal] < -scale and _is_closed(motion, at, contact)
        if not hit and normal not in held_before:
            continue
        e = float(motion.e[contact]) if hit else 0.0
        if abs(u_plus[normal] + e * u_minus[normal]) > scale:
            continue  # it is lifted off
        rows.append(normal)
        returns.append(e)
        by.append(("e", contact) if hit else None)
        e_t = _tangential(motion, contact) if hit else 0.0
        for friction in (one for one in motion.frictions if one.contact == contact):
            slip = u_plus[list(friction.rows)] + e_t * u_minus[list(friction.rows)]
            speed = float(np.linalg.norm(slip))
            if speed > scale or motion.mu[contact] == 0.0:
                way = slip / speed if speed > 0.0 else np.eye(len(slip))[0]
                sliding.append((contact, normal, friction.rows, way, max(speed, 1e-300)))
            else:
                rows += friction.rows
                returns += [e_t] * len(friction.rows)
                by += [("e_t", contact) if e_t else None] * len(friction.rows)
    G = np.zeros((motion.sizes.nr, len(rows)))
    G[rows, np.arange(len(rows))] = 1.0
    for contact, normal, index, way, _ in sliding:
        G[list(index), rows.index(normal)] = -motion.mu[contact] * way
    return _Struck(tuple(rows), np.array(returns), tuple(by), tuple(sliding), G)


def _is_closed(motion: Motion, at: Moment, contact: int) -> bool:
    g = motion.derivatives.states(np.array([at.t]), at.q[None], at.v[None]).g[0]
    return abs(g[contact]) <= 1e-6 * (1.0 + np.max(np.abs(at.q), initial=0.0))


def _impulses(motion: Motion, at: Moment, law: _Struck, M, W, u_minus: np.ndarray) -> np.ndarray:
    """Return the impulses of an impact; its law, solved anew, must give the velocities of the run."""
    rows = list(law.rows)
    X = np.linalg.solve(M, W.T @ law.G)
    s = motion.derivatives.states(np.array([at.t]), at.q[None], at.v[None])
    wanted = -law.returns * u_minus[rows] - (W[rows] @ at.v + s.w[0][rows])
    x = solved((W[rows] @ X)[None], wanted[None, :, None])[0, :, 0]
    v = at.v + X @ x
    scale = np.max(np.abs(np.concatenate([at.v, at.v_plus])))
    if not np.all(np.abs(v - at.v_plus) <= SALTATIONS.same * scale):
        raise SettingError(
            f"the impact at t = {at.t:.9g} has no derivative here: its law gives v = {at.v_plus}, contacts that push, "
            f"stick and slide as they do there would give {v}; Poisson's law with friction or several contacts is not "
            "differentiated yet"
        )
    return law.G @ x


# ---- functions of the user, by differences


def user_event(motion: Motion, at: Moment, rates: Rates, number: int, name: str) -> Jump:
    """Return the saltation of an event with a reset."""
    model, size = motion.model, motion.place.size
    time = motion.ways(np.zeros((size, 1)), 1.0)
    values = _along(motion, at, np.concatenate([motion.unit_ways, time]), _switch(model, number))[:, 0]
    slope = float(values[:-1] @ rates.before + values[-1])
    timing, there = through(motion, values[:-1], slope, rates)
    moved = _along(motion, at, motion.ways(there, timing), _reset(model, number))
    made = there.copy()
    made[: motion.place.moving] = moved.T
    return Jump(at.t, "event", (name,), made - np.outer(rates.after, timing), timing, loses=True, after=rates.after)


def switched(motion: Motion, at: Moment, rates: Rates, number: int, name: str) -> Jump:
    """Return the saltation where a branch of a function ends and the force jumps."""
    time = motion.ways(np.zeros((motion.place.size, 1)), 1.0)
    values = _along(motion, at, np.concatenate([motion.unit_ways, time]), _surface(motion.model, number))[:, 0]
    slope = float(values[:-1] @ rates.before + values[-1])
    return rebranched(motion, at, rates, "switch", (name,), values[:-1], slope)


def _switch(model: CompiledModel, number: int):
    unit, width = runnable(model.units.switch), int(model.layout.ne)

    def value(t, q, v, par):
        out = np.zeros(width)
        unit(t, q, v, par, out)
        return out[number : number + 1]

    return value


def _surface(model: CompiledModel, number: int):
    unit, width = runnable(model.units.surface), 3 * int(model.layout.ns) + 1

    def value(t, q, v, par):
        out = np.zeros(width)
        unit(t, q, v, par, out)
        return out[number : number + 1]

    return value


def _reset(model: CompiledModel, number: int):
    unit = runnable(model.units.reset)

    def value(t, q, v, par):
        q, v = q.copy(), v.copy()
        unit(number, t, q, v, par)
        return np.concatenate([q, v])

    return value


def _along(motion: Motion, at: Moment, ways: np.ndarray, function) -> np.ndarray:
    """Return differences of a function of (t, q, v, par) along directions, of fourth order (directions, size)."""
    from saltus.build.tangent import DifferencedModel

    model, sizes = DifferencedModel(motion.model), motion.sizes
    made = []
    for way in ways:
        size = np.max(np.abs(way), initial=0.0)
        total = 0.0 * function(at.t, at.q.copy(), at.v.copy(), motion.model.units.par)
        if size > 0.0:
            step = STEP / size
            dq, dv, dp = np.split(way[1:], [sizes.nq, sizes.nq + sizes.nv])
            for shift, weight in WEIGHTS:
                s = shift * step
                par = model._par(s * dp)
                total += weight / step * function(at.t + s * way[0], at.q + s * dq, at.v + s * dv, par)
        made.append(total)
    return np.array(made)
