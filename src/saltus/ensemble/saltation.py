"""Saltation: what an event does to variations of the state.

An event is where a guard h(t, q, v, p) vanishes. A variation z moves its time by dt = -(h_z z) / (h_z F- + h_t), so
that behind it

    z+ = DR (z + F- dt) + R_t dt - F+ dt

with the reset R of the event and the motions F-, F+ before and behind it (Leine and Nijmeijer 2004, chapter 7).

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

from saltus.build.tangent import TANGENT_STEP, WEIGHTS
from saltus.compile.native import runnable
from saltus.compile.switches import BY_SIGN
from saltus.ensemble.tangent_motion import Motion, Phase, solved
from saltus.errors import SettingError

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel


CANCELLED = 8.0 * np.finfo(float).eps  # of terms that cancel: some roundings of them


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
        Whether it may lose directions: something is closed behind it that was open, or a contact that does not stay
        closed sticks in it or stops.
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


def closed(motion: Motion, at: Moment, kind: str, names: tuple[str, ...], launched: int | None = None) -> Jump:
    """Return the projection onto what the phase behind an event allows, along the impulses of its closed contacts.

    Before an accumulation v_plus is the last launch, `launched` its contact. However many bounces follow, beside the
    held motion they leave one impulse at the launch, which takes its velocity away, up to the third power of that: its
    first moment is the integral of the velocity of the gap, which is zero. Variations are followed to their own launch.
    """
    size, held, place = motion.place.size, list(at.after.held), motion.place
    t, q, v = np.array([at.t]), at.q_plus[None], at.v_plus[None]
    balance = motion.balance(t, q, v, at.after)
    s, G = balance.states, balance.G[0]
    M, W = s.M[0], s.W[0]
    X = np.linalg.solve(M, W.T @ G)
    schur = (W[held] @ X)[None]
    zero = np.zeros((1, motion.sizes.nv)), np.zeros((1, motion.sizes.nr))
    ways = np.concatenate([motion.unit_ways, motion.ways(np.zeros((size, 1)), 1.0)])
    gradients = motion.derivatives.tangents(t, q, v, *zero, ways).g[0]  # by variations, then by time
    timing, matrix = np.zeros(size), np.eye(size)
    if launched is not None:
        flying = motion.balance(t, q, v, at.before).rate(motion.ni, len(motion.chosen))[0]
        slope = float(gradients[:-1, launched] @ flying + gradients[-1, launched])
        if slope > 0.0:
            timing = -gradients[:-1, launched] / slope
            matrix += np.outer(flying, timing)
    gaps = [motion.gap_of(row) for row in held]
    moving = gradients[:-1].T @ matrix + np.outer(gradients[-1], timing)
    dg = np.array([np.zeros(size) if gap is None else moving[gap] for gap in gaps]).reshape(len(held), size)
    moved = X @ solved(schur, dg[None])[0]
    # a shift of velocities as large as that of the coordinates, turned into one of coordinates by B
    shift = np.zeros((motion.place.size, size))
    shift[motion.place.v] = moved
    rate = motion.derivatives.tangents(t, q, v, *zero, motion.ways(shift)).q_dot[0].T
    matrix[place.q] -= rate
    u = W[held] @ v[0] + s.w[0][held]
    P = G @ solved(schur, -u[None, :, None])[0, :, 0]
    taken = np.linalg.solve(M, W.T @ P)
    still = motion.ways(matrix, timing)
    still[:, 1 + place.v.start : 1 + place.v.stop] = 0.0
    plus = motion.derivatives.tangents(t, q, v + taken, taken[None], P[None], still)
    right, turned = M @ matrix[place.v] - plus.inertia[0].T, np.zeros((motion.sizes.nr, size))
    for one, way in zip(at.after.sliding, balance.way, strict=True):
        turned[list(one.rows)] -= np.outer(
            way[0], P[one.normal] * (motion.law_ways["mu"][one.contact] @ matrix[place.p])
        )
    free = np.linalg.solve(M, right + W.T @ turned)
    x = solved(schur, -(plus.u[0][:, held].T + W[held] @ free)[None])[0]
    matrix[place.v] = free + X @ x
    if motion.ni:
        matrix[place.i] += (turned + G @ x)[: motion.ni]
    if launched is not None:
        resting = motion.balance(t, q, v + taken, at.after).rate(motion.ni, len(motion.chosen))[0]
        matrix -= np.outer(resting, timing)
        # launches are slow, so that both motions up to them are large; what is left of their difference is rounding
        matrix[np.abs(matrix) <= CANCELLED * np.outer(np.abs(flying) + np.abs(resting), np.abs(timing))] = 0.0
    return Jump(at.t, kind, names, matrix, np.zeros(size), loses=True)


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


def crossing(motion: Motion, at: Moment, number: int) -> np.ndarray:
    """Return what variations are where an event of the user, which resets nothing, is crossed (size, size)."""
    rate = motion.balance(np.array([at.t]), at.q[None], at.v[None], at.before).rate(motion.ni, len(motion.chosen))[0]
    time = motion.ways(np.zeros((motion.place.size, 1)), 1.0)
    values = _along(motion, at, np.concatenate([motion.unit_ways, time]), _switch(motion.model, number))[:, 0]
    slope = float(values[:-1] @ rate + values[-1])
    return through(motion, values[:-1], slope, Rates(rate, rate))[1]


def switched(motion: Motion, at: Moment, rates: Rates, name: str) -> Jump:
    """Return the saltation where a branch of a function ends and the force jumps.

    Long switching functions share a name, as the two ends of a cell do: of those the one that vanishes is taken.
    """
    time = motion.ways(np.zeros((motion.place.size, 1)), 1.0)
    ways, nearest, found = np.concatenate([motion.unit_ways, time]), np.inf, None
    for number in np.flatnonzero(np.array(motion.model.switch_names) == name):
        surface = _surface(motion.model, int(number), at)
        values = _along(motion, at, ways, surface)[:, 0]
        slope = float(values[:-1] @ rates.before + values[-1])
        away = abs(surface(at.t, at.q, at.v, motion.model.units.par)[0] / slope) if slope else np.nan
        if away < nearest:
            nearest, found = away, (values[:-1], slope)
    if found is None:
        raise SettingError(
            f"the force jumps at t = {at.t:.9g} s, where {name!r} vanishes without a slope: the run has no derivative"
        )
    return rebranched(motion, at, rates, "switch", (name,), *found)


def _switch(model: CompiledModel, number: int):
    unit, width = runnable(model.units.switch), int(model.layout.ne)

    def value(t, q, v, par):
        out = np.zeros(width)
        unit(t, q, v, par, out)
        return out[number : number + 1]

    return value


def _surface(model: CompiledModel, number: int, at: Moment):
    """Return a switching function; that of a cell holds the cell of the moment, or it would be no number."""
    unit, ns = runnable(model.units.surface), int(model.layout.ns)
    table = int(model.layout.switch_table) + 2 * number
    slot, kind = (int(model.units.layout[table + k]) for k in (0, 1))
    out = np.zeros(3 * ns + 1)
    unit(at.t, at.q.copy(), at.v.copy(), model.units.par, out)
    cell = out[2 * ns + number]

    def value(t, q, v, par):
        out = np.zeros(3 * ns + 1)
        if kind != BY_SIGN:
            par = par.copy()
            par[slot] = cell
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
            step = TANGENT_STEP / size
            dq, dv, dp = np.split(way[1:], [sizes.nq, sizes.nq + sizes.nv])
            for shift, weight in WEIGHTS:
                s = shift * step
                with model.moved(s * dp) as par:
                    total += weight / step * function(at.t + s * way[0], at.q + s * dq, at.v + s * dv, par)
        made.append(total)
    return np.array(made)
