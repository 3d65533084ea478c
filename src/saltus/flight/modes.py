"""Modes of the switching functions during a flight: which branch of every comparison, kink and table is held.

A state remembers its modes; while a flight is made they stand in the parameters of the model, where its functions read
them (compile/switches.py), and outside of it they are MODES.free. A switching function that crosses zero ends the
flight, and
its mode changes there; an impact or a reset may change others.
"""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import head, larger, tail, unit
from saltus.compile.types import LAYOUT, MODEL, A, F, I, J
from saltus.flight.frame import DRIFT_DIGITS, FLIGHT_SETTINGS, FRAME, SCALE, allowed_drift, promised
from saltus.lasting.hold import rest_speed, row_size
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import STAGE_SETTINGS, closed_gap
from saltus.memory.vectors import largest
from saltus.reaction.react import row_dot
from saltus.status import Status


class _Modes(NamedTuple):
    """Tuned numbers of this file."""

    free: float = 1e301  # kept in place of infinity: everything above 1e300 is free
    time_noise: float = 4e-16  # of a time: some digits of it, because so much later a branch ends
    state_noise: float = 1e-15  # of a coordinate or velocity: what is made of it is rounded a few times
    look: float = 1e-6  # of a step: how far ahead the branch is looked for into which a motion goes
    jump: float = 1e3  # noises: what a function moves by more where other branches change, it jumps
    rounds: int = 6  # nested choices: an inner one is known when the outer ones are
    clock: float = 1e-15  # of the time: a few roundings, in which what moves goes on


MODES = _Modes()


class _Mode(NamedTuple):
    """Kinds of switching functions, as in compile/switches.py."""

    # kinds, as in compile/switches.py
    sign: int = 0
    below: int = 1
    above: int = 2


MODE = _Mode()


@unit(I(MODEL, A, F, F, A, A, A))
def hold_modes(model, settings, t, h, q, v, modes):
    """Put modes and noise into the parameters of the model."""
    layout, par = model.layout, model.par
    if layout.ns == 0:
        return 0
    for k in range(layout.ns):
        par[layout[layout.switch_table + 2 * k]] = modes[k]
    if layout.holding >= 0:
        par[layout.holding] = 0.0
    return note_noise(model, settings, t, h, q, v)


@unit(I(MODEL, A, F, F, A, A))
def note_noise(model, settings, t, h, q, v):
    """Write how far time and state are uncertain: what counts as closed and at rest, and never less than rounding.

    A branch that is crossed at q = 5000 m must not be found anew on its old side because q cannot be written better.
    """
    settings = STAGE_SETTINGS(settings)
    nq, nv = model.layout.nq, model.layout.nv
    noise = head(tail(model.par, model.layout.noise), 1 + nq + nv)
    noise[0] = MODES.time_noise * (abs(t) + h)
    for i in range(nq):
        noise[1 + i] = larger(closed_gap(settings, q), MODES.state_noise * abs(q[i]))
    for i in range(nv):
        noise[1 + nq + i] = larger(settings.rest, MODES.state_noise * abs(v[i]))
    return 0


@unit(I(MODEL))
def free_modes(model):
    """Leave all branches to the state again."""
    layout, par = model.layout, model.par
    for k in range(layout.ns):
        par[layout[layout.switch_table + 2 * k]] = MODES.free
    if layout.holding >= 0:
        par[layout.holding] = MODES.free
    return 0


@unit(I(MODEL, F, A, A, A, F, A, A, A, A, A))
def find_modes(model, t, q, v, a, ahead, modes, fired, work, q_later, v_later):
    """Write the modes of a state, except those that have just changed; return how many are others than before.

    On a surface the mode stays as it is; one that is not known is that of the side to which the motion goes.
    """
    layout, par = model.layout, model.par
    ns, first, table = layout.ns, layout.ne - layout.ns, layout.switch_table
    now, later, new = head(work, 3 * ns + 1), head(tail(work, 3 * ns + 1), 3 * ns + 1), head(tail(work, 6 * ns + 2), ns)
    model.rate(q, v, par, q_later)
    for i in range(layout.nq):
        q_later[i] = q[i] + ahead * q_later[i]
    for i in range(layout.nv):
        v_later[i] = v[i] + ahead * a[i]
    for k in range(ns):
        new[k] = 0.0
    changed = 0
    for _ in range(MODES.rounds):
        again = 0
        model.surface(t, q, v, par, now)
        model.surface(t + ahead, q_later, v_later, par, later)
        for k in range(ns):
            slot, kind = layout[table + 2 * k], layout[table + 2 * k + 1]
            if fired[first + k] == 1.0 or kind == MODE.above:
                continue  # the upper end of a cell has the mode of its lower one
            mode, value, blur = modes[k], now[k], now[ns + k]
            if not (value > 0.0 or value <= 0.0) or (kind != MODE.sign and par[slot + 1] == 1.0):
                mode = MODES.free  # nothing depends on it, or the knots of a table are passed
            elif blur <= 0.0:  # exact: it depends on other modes alone, or on what is constant in this branch
                mode = now[2 * ns + k]
                if kind == MODE.sign:
                    side = later[k] if value == 0.0 and blur == 0.0 and (later[k] > 0.0 or later[k] < 0.0) else value
                    mode = 1.0 if side > 0.0 else (-1.0 if side < 0.0 else 0.0)
            elif kind == MODE.sign:
                if abs(value) >= blur:  # at the very end of a branch there is no sign left to lose later
                    mode = 1.0 if value > 0.0 else -1.0
                elif mode > 1e300 or mode == 0.0:  # not known, or it may have left the surface
                    side = later[k] if later[k] > 0.0 or later[k] < 0.0 else value
                    mode = 1.0 if side > 0.0 else (-1.0 if side < 0.0 else 0.0)
            elif mode > 1e300 or value <= -blur or now[k + 1] <= -blur:
                mode, new[k], again = now[2 * ns + k], 1.0, 1
            elif new[k] == 1.0:  # on a knot
                new[k] = 0.0
                below = value <= blur and later[2 * ns + k] == mode - 1.0
                above = now[k + 1] <= blur and later[2 * ns + k] == mode + 1.0
                if below or above:
                    mode = later[2 * ns + k]
            if mode != modes[k]:
                again, changed = 1, changed + 1
            modes[k] = par[slot] = mode
            if kind == MODE.below:
                modes[k + 1] = mode
        if again == 0:
            break
    return changed


@unit(I(MODEL, A, A))
def cross_modes(model, modes, fired):
    """Change the modes of all switching functions that have crossed zero; return how many did."""
    layout, par = model.layout, model.par
    ns, first, table = layout.ns, layout.ne - layout.ns, layout.switch_table
    changed = 0
    for k in range(ns):
        if fired[first + k] != 1.0 or modes[k] > 1e300:
            continue
        slot, kind, other = layout[table + 2 * k], layout[table + 2 * k + 1], k
        if kind == MODE.sign and modes[k] == 0.0:
            fired[first + k] = 0.0  # it has left the surface: its value says to which side
        elif kind == MODE.below:
            modes[k], other = modes[k] - 1.0, k + 1
        elif kind == MODE.above:
            modes[k], other = modes[k] + 1.0, k - 1
        else:
            modes[k] = -modes[k]
        if other != k:
            if fired[first + other] == 1.0 and other > k:
                fired[first + other] = 0.0  # both ends at once: the first one counts
            modes[other] = modes[k]
        par[slot] = modes[k]
        changed += 1
    for k in range(ns):  # where a cell begins its other end has just been crossed, too
        kind = layout[table + 2 * k + 1]
        if kind == MODE.below and fired[first + k] + fired[first + k + 1] > 0.0:
            fired[first + k] = fired[first + k + 1] = 1.0
    return changed


@unit(I(MODEL, A, A, A, A, A))
def forget_jumps(model, before, behind, old, modes, fired):
    """Free the modes of what crossed zero together with another function whose new branch moves it elsewhere.

    A table over q % period ends where q % period falls back to its start: it has not gone on into the next cell. What
    is continuous through the branches of the others is moved by no more than the noise. Return how many were freed.

    before, behind      surfaces of the same state with the old modes and with the new ones
    """
    layout, par = model.layout, model.par
    ns, first, table = layout.ns, layout.ne - layout.ns, layout.switch_table
    freed = 0
    for k in range(ns):
        kind = layout[table + 2 * k + 1]
        if fired[first + k] != 1.0 or kind == MODE.above or modes[k] > 1e300 or old[k] > 1e300:
            continue
        moved = behind[k] - before[k]
        if kind == MODE.below and modes[k] > old[k]:  # the end through which a cell is left is one of the next cell
            moved = behind[k] + before[k + 1]
        elif kind == MODE.below:
            moved = behind[k + 1] + before[k]
        # constant behind its zero, it is exact: floor(maximum(2 - x, 2)) is 2; unused there, it is not a number
        if not abs(moved) <= MODES.jump * larger(before[ns + k], 0.0) or behind[ns + k] == 0.0:
            freed, fired[first + k] = freed + 1, 0.0
            free_mode(layout, k, modes, par)
            if kind == MODE.below:
                fired[first + k + 1] = 0.0
    for k in range(ns if freed > 0 else 0):
        # what others were found to be was found under branches that did not last
        if fired[first + k] != 1.0 and layout[table + 2 * k + 1] != MODE.above and modes[k] != old[k]:
            free_mode(layout, k, modes, par)
    return freed


@unit(I(LAYOUT, I, A, A), small=True)
def free_mode(layout, k, modes, par):
    """Let a branch be found from the state; a cell has one mode for both of its ends."""
    modes[k] = par[layout[layout.switch_table + 2 * k]] = MODES.free
    if layout[layout.switch_table + 2 * k + 1] == MODE.below:
        modes[k + 1] = MODES.free
    return 0


@unit(I(MODEL, A, F, F, A, A, A, FRAME.kind, I))
def update_modes(model, settings, t, h, q, v, a, frame, crossed):
    """Find the modes of a state, first those of switching functions that crossed zero; return how many changed."""
    layout, work = model.layout, frame.scan
    ns = layout.ns
    if ns == 0:
        return 0
    modes, fired = frame.memory.modes, frame.memory.fired
    room = tail(work, 7 * ns + 2)  # behind that of `find_modes`
    before, old, behind = head(room, 3 * ns + 1), head(tail(room, 3 * ns + 1), ns), head(work, 3 * ns + 1)
    changed = 0
    note_noise(model, settings, t, h, q, v)  # that of this state: a flight may have led far
    if crossed == 1 and ns > 1:
        model.surface(t, q, v, model.par, before)
        for k in range(ns):
            old[k] = modes[k]
    if crossed == 1:
        changed = cross_modes(model, modes, fired)
    changed += find_modes(
        model, t, q, v, a, MODES.look * h, modes, fired, work,
        frame.q_shifted, frame.v_try,
    )  # fmt: skip
    if crossed == 1 and changed > 1:
        for _ in range(MODES.rounds):  # a remainder of a remainder: what the first one moves moves others
            model.surface(t, q, v, model.par, behind)
            if forget_jumps(model, before, behind, old, modes, fired) == 0:
                break
            changed += find_modes(
                model, t, q, v, a, MODES.look * h, modes, fired, work,
                frame.q_shifted, frame.v_try,
            )  # fmt: skip
    return changed


@unit(I(MODEL, A, F, A, A, A, J, FRAME.kind))
def unhold(model, settings, t, q, v, g, index, frame):
    """Let go what a change of branches moves: contacts whose gap jumps open or whose bodies part or meet; a Status.

    in      g: gaps behind the change; frame.gaps: those before it, which a flight may have led a little astray;
            frame.leaps: by how much they may jump, as the branches before the change tell
    in/out  index: a contact that sticks to what moves on at another speed slips
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, w, W = model.layout, frame.interval.lasting.w, frame.interval.lasting.W
    nc = layout.nc
    if nc + layout.nj == 0:
        return Status.OK
    gaps, leaps, status = frame.gaps, frame.leaps, Status.OK
    model.kinematics(t, q, model.par, W, w)
    leap_of_gaps(model, settings, t, q, v, frame)
    for j in range(nc, nc + layout.nj):
        if abs(g[j]) > leaps[j] + abs(gaps[j]):
            status = Status.GAP_JUMPED
    for c in range(nc):
        allowed = leaps[c] + abs(gaps[c])
        if g[c] < -(leaps[c] + larger(-gaps[c], 0.0)):
            status = Status.GAP_JUMPED  # that of an open one, too: to put it back would move the body
        if index[c] != INDEX.slip and index[c] != INDEX.stick:
            continue
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if g[c] > allowed or moves_apart(layout, settings, W, w, v, row, row + 1) == 1:
            index[c] = INDEX.open
        elif index[c] == INDEX.stick and moves_apart(layout, settings, W, w, v, row + 1, end) == 1:
            index[c] = INDEX.slip
    # of branches that change one after the other at this instant only the last ones are those of the motion
    return status if status == 0 or all_hold(model, t, q, v, frame) == 1 else Status.OK


@unit(I(MODEL, A, F, A, A, FRAME.kind))
def leap_of_gaps(model, settings, t, q, v, frame):
    """Find how far every gap may jump [in its unit] without moving what it holds: the promise does not show it.

    A state is known to a share of the promise, to what branches are found to (`note_noise`), and to a few roundings of
    the clock; on both sides of a change the gap follows it with the gradient there.

    in      frame.interval.lasting.W, w: gradients and rates of the branches that are looked at
    in/out  frame.leaps: what the branches before the change add
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, known, leaps = model.layout, frame.known, frame.leaps
    W, w, nc = frame.interval.lasting.W, frame.interval.lasting.w, model.layout.nc
    share, clock = settings.leap, MODES.clock * abs(t)
    place, length, found = promised(layout, settings, SCALE.place), largest(q), closed_gap(settings, q)
    for i in range(layout.nv):
        size = abs(q[i]) if layout.nq == layout.nv else length
        known[i] = share * (settings.atol * place[i] + settings.rtol * size) + DRIFT_DIGITS * size + found
        known[i] += clock * abs(v[i])
    for j in range(nc + layout.nj):
        row = layout[layout.contact_row + j] if j < nc else layout.nr - layout.nj + (j - nc)
        # what counts as closed has not jumped
        leaps[j] += larger(row_size(layout, W, row, known), found) + clock * abs(w[row])
    return 0


@unit(I(LAYOUT, FLIGHT_SETTINGS.kind, A, A, A, I, I), small=True)
def moves_apart(layout, settings, W, w, v, first, end):
    """Return 1 where one of some rows moves faster than rest."""
    for r in range(first, end):
        if abs(row_dot(layout, W, r, v) + w[r]) > rest_speed(settings.rest, layout, W, r, v):
            return 1
    return 0


@unit(I(MODEL, F, A, A, FRAME.kind), small=True)
def all_hold(model, t, q, v, frame):
    """Return 1 where all branches that are held hold at a state."""
    ne, ns = model.layout.ne, model.layout.ns
    values = head(frame.scan, ne)
    model.switch(t, q, v, model.par, values)
    for k in range(ne - ns, ne):
        if values[k] < 0.0 and frame.memory.fired[k] == 0.0:
            return 0
    return 1


@unit(I(MODEL, A, F, FRAME.kind))
def joints_jolt(model, settings, t, frame):
    """Return 1 where joints ask for another velocity than the one at the end of a flight: an impact leads there.

    out     ends.closed: the contacts that take part in it
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, W, w = model.layout, frame.ends, frame.interval.lasting.W, frame.ends.u_minus
    if layout.nj == 0:
        return 0
    model.kinematics(t, ends.q, model.par, W, w)
    if moves_apart(layout, settings, W, w, ends.v, layout.nr - layout.nj, layout.nr) == 0:
        return 0
    slack = closed_gap(settings, ends.q)
    for k in range(layout.nc):
        holds = ends.before[k] == INDEX.slip or ends.before[k] == INDEX.stick
        ends.closed[k] = (
            1 if ends.g[k] <= slack or (holds and ends.g[k] <= allowed_drift(layout, settings, ends.q)) else 0
        )
    return 1
