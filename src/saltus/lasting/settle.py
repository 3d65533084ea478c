"""The decision at a border: which contacts are held in the next interval, and what acts on the state there."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import larger, row_of, smaller, unit
from saltus.compile.types import LAYOUT, MODEL, REACTION, RECORD, SETTLE, A, F, I, J
from saltus.lasting.begin import begin_slips, begin_together
from saltus.lasting.hold import REPORTED, accelerate, rest_speed
from saltus.lasting.index_set import DECISION, INDEX, ROLE, WAY, carries, decide
from saltus.lasting.interval import INTERVALS, STAGE_SETTINGS, closed_gap, stage_set
from saltus.lasting.workspace import ACTING, ENDS, LASTING
from saltus.memory.record import EVENT
from saltus.reaction.react import row_dot
from saltus.reaction.report import new_event
from saltus.status import Status


class _Change(NamedTuple):
    """What happens to a contact where a step ends."""

    # a contact that this border lets go of, that begins to slip, that was let go of at this very time; whose place in
    # the index set is decided already
    releasing: int = -1
    breaking: int = -2
    let_go: int = -3
    decided: int = -4


CHANGE = _Change()


@unit(I(MODEL, F, I, I, I, I, A, A, RECORD))
def changed_events(model, t, contact, before, after, struck, u, r, record):
    """Write the events of one contact whose place in the index set changes."""
    layout = model.layout
    row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
    was, holds = before == INDEX.slip or before == INDEX.stick, after == INDEX.slip or after == INDEX.stick
    if was and not holds:
        new_event(t, contact, EVENT.release, row, row, u, u, r, record)
    if after == INDEX.impulsive:
        new_event(t, contact, EVENT.painleve, row, row, u, u, r, record)
    if holds and not was and struck == 0:
        new_event(t, contact, EVENT.closing, row, row, u, u, r, record)
    if holds and end - row > 1:
        new_event(t, contact, EVENT.stick if after == INDEX.stick else EVENT.slip, row, row, u, u, r, record)
    return 0


@unit(I(MODEL, F, J, J, LASTING.kind, A, RECORD))
def ambiguous_event(model, t, before, index, room, r, record):
    """Write an event where a new index set leaves the accelerations open: another motion would keep the laws as well.

    room: what the last `accelerate` left.
    """
    layout, changed, which = model.layout, False, -1
    shared = room.shared
    for c in range(layout.nc - 1, -1, -1):
        changed = changed or before[c] != index[c]
        which = c if shared[c] == 1 else which
    if changed and which >= 0 and room.held.ambiguous == 1:
        new_event(t, which, EVENT.not_unique, 0, 0, r, r, r, record)
    return 0


@unit(SETTLE)
def settle(model, reaction, settings, t, degree, struck, ends_room, acting_room, interval_room, record):
    """Decide the index set at a border and write acceleration, forces and powers of the state there.

    in      struck: 1 where an impulse acted; ends: q, v, g; stopped, candidate: transitions that end the interval
    in/out  ends: index; acting: direction
    out     acting; ends: info
    The set of the last interval stays when its forces push and stay in their cones: that is a solution of the law, and
    so is the set in which nothing begins to slip. Otherwise the law is solved over all contacts that are closed and
    neither approach nor separate.
    """
    settings = STAGE_SETTINGS(settings)
    layout, ends, acting, interval = model.layout, ENDS(ends_room), ACTING(acting_room), INTERVALS(interval_room)
    room = interval.lasting
    ends.info[0], ends.info[1] = 0.0, 0.0
    if settings.by_stage == 1.0:
        return settle_stage(model, reaction, settings, t, degree, ends, acting, interval, record)
    found = interval.found
    find_candidates(model, settings, t, degree, struck, ends, acting, interval)
    if found.decided == 1.0:
        return take(model, t, found.slowest, 1, ends, acting, room, record)
    if found.anyone == 0.0:
        for c in range(layout.nc):
            ends.index[c] = INDEX.open
        status = act_on_end(model, t, ends, acting, room, record)
        return Status.JOINTS_CONTRADICT if status == 0 and room.held.disagree == 1 else status
    if found.same == 1.0:
        status = act_on_end(model, t, ends, acting, room, record)
        if status != 0 and status != Status.JAMMED:
            return status
        goes_on = found.slow == 0.0 or (status == 0 and slow_ones_grow(model, found.slowest, ends, acting, room) == 1)
        if status == 0 and goes_on and lawful(model, ends.index, acting.r, acting.powers, room) == 1:
            turn_on(layout, ends.index, acting.u, acting.direction)
            return 0
    if found.rest_first == 1.0:
        # rest is a state: what does not slip sticks, and what is closed stays so, as long as there are forces for it,
        # whatever else the law allows
        hold_all(model, found.slowest, ends.candidate, acting.u, ends.index, acting.direction)
        status = act_on_end(model, t, ends, acting, room, record)
        if status == 0 and lawful(model, ends.index, acting.r, acting.powers, room) == 1:
            start_smooth(model, found.slowest, ends.index, acting, room)
            return 0
    status = decide(
        model, reaction, t, ends.q, ends.v, ends.candidate, found.slowest, ends.index, acting, ends.info, room, record
    )
    if status != 0:
        return status
    return take(model, t, found.slowest, 0, ends, acting, room, record)


@unit(I(MODEL, REACTION, A, F, I, ENDS.kind, ACTING.kind, INTERVALS.kind, RECORD))
def settle_stage(model, reaction, settings, t, degree, ends, acting, interval, record):
    """Let the state decide for itself what acts on it, as a first stage does; at degree 0 no contact does."""
    nc, room = model.layout.nc, interval.lasting
    if nc == 0 or degree == 0:
        return act_on_end(model, t, ends, acting, room, record)
    status = stage_set(model, reaction, settings, t, ends.q, ends.v, 0, acting.r, acting.u, interval, record)
    if status != 0:
        return status
    return accelerate(
        model, t, ends.q, ends.v, row_of(interval.own_index, 0, nc), row_of(interval.own_direction, 0, 3 * nc),
        acting.a, acting.r, acting.u, acting.powers, room, record,
    )  # fmt: skip


@unit(I(MODEL, F, ENDS.kind, ACTING.kind, LASTING.kind, RECORD))
def act_on_end(model, t, ends, acting, room, record):
    """Write what acts on the end of a step under its index set, see `accelerate`."""
    return accelerate(
        model,
        t,
        ends.q,
        ends.v,
        ends.index,
        acting.direction,
        acting.a,
        acting.r,
        acting.u,
        acting.powers,
        room,
        record,
    )


@unit(I(MODEL, F, ENDS.kind, ACTING.kind, LASTING.kind, RECORD))
def act_on_start(model, t, ends, acting, room, record):
    """Write what acts on the start of a step under its index set, see `accelerate`."""
    return accelerate(
        model, t, ends.q_0, ends.v_0, ends.index, acting.direction, acting.a, acting.r, acting.u, acting.powers, room,
        record,
    )  # fmt: skip


@unit(I(MODEL, A, F, I, I, ENDS.kind, ACTING.kind, INTERVALS.kind))
def find_candidates(model, settings, t, degree, struck, ends, acting, interval):
    """Write who takes part in the decision to ends.candidate, and what is known of it to interval.found."""
    settings = STAGE_SETTINGS(settings)
    layout, W, found = model.layout, interval.lasting.W, interval.found
    nc, q, v, g, u = layout.nc, ends.q, ends.v, ends.g, acting.u
    index, candidate, direction = ends.index, ends.candidate, acting.direction
    near, anyone, same, decided, rushed, unmoved, closed_ones, slow = False, False, True, False, False, 0, 0, 0.0
    slowest, slack = settings.rest, closed_gap(settings, q)
    off = 0.0
    for c in range(nc):
        if index[c] == INDEX.slip or index[c] == INDEX.stick or ends.resting[c] == 1:
            off = larger(off, abs(g[c]))
    # a body stands where its closed contacts are: the gap of its other feet is not known better than theirs
    slack += smaller(off, slack)
    for c in range(nc):
        near = near or ((g[c] <= slack or index[c] == INDEX.slip or index[c] == INDEX.stick) and degree > 0)
    if near:
        model.kinematics(t, q, model.par, W, u)
        for i in range(layout.nr):
            u[i] += row_dot(layout, W, i, v)
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        holds = index[c] == INDEX.slip or index[c] == INDEX.stick
        transition_here = candidate[c]
        candidate[c] = 0
        decided = decided or transition_here == CHANGE.decided
        if not near:
            index[c] = INDEX.open
            continue
        still = rest_speed(settings.rest, layout, W, row, v)
        if transition_here == CHANGE.breaking:
            candidate[c] = ROLE.must_slip
        elif transition_here != CHANGE.releasing and holds:
            candidate[c] = ROLE.candidate if u[row] <= still or struck == 0 else 0
        elif transition_here != CHANGE.releasing and g[c] <= slack:
            candidate[c] = ROLE.candidate if abs(u[row]) <= still else 0
            if candidate[c] != 0 and transition_here == CHANGE.let_go:
                candidate[c] = ROLE.untied
        forward, speed, still, rounded = 0.0, 0.0, settings.rest, 0.0
        for i in range(row + 1, end):
            forward += u[i] * direction[2 * c + i - row - 1]
            speed += u[i] * u[i]
            still, rounded = rest_speed(still, layout, W, i, v), rest_speed(rounded, layout, W, i, v)
        slowest = larger(slowest, still)
        if candidate[c] == ROLE.candidate:
            closed_ones += 1
            unmoved += 1 if end - row > 1 and speed <= still * still else 0
        rushed = rushed or candidate[c] == ROLE.must_slip or candidate[c] == ROLE.untied
        slows = index[c] == INDEX.slip and end - row > 1 and forward <= still
        same = same and (candidate[c] == ROLE.candidate) == holds and candidate[c] != ROLE.untied
        slow += 1.0 if slows else 0.0
        same = same and not (slows and forward <= rounded)
        same = same and not (holds and (struck == 1 or ends.stopped[c] == 1 or transition_here != 0))
        anyone = anyone or candidate[c] != 0
    found.decided, found.anyone, found.same = 1.0 if decided else 0.0, 1.0 if anyone else 0.0, 1.0 if same else 0.0
    found.slow = slow
    found.rest_first, found.slowest = 1.0 if (unmoved > 0 or closed_ones > 1) and not rushed else 0.0, slowest
    return 0


@unit(I(MODEL, J, A, A, LASTING.kind))
def lawful(model, index, r, powers, room):
    """Return 1 where the forces of all held contacts push and stay in their cones; those that are not unique can.

    room: what `accelerate` left. Redundant rows that ask for different accelerations, as those of a slip that
    stops at a dead centre, are not held at all.
    """
    layout, shared = model.layout, room.shared
    if room.held.disagree == 1:
        return 0
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if index[c] != INDEX.slip and index[c] != INDEX.stick:
            continue
        if shared[c] == 1:
            if powers[REPORTED.margin] < 0.0:
                return 0
            continue
        friction = 0.0
        for i in range(row + 1, end):
            friction += r[i] * r[i]
        cone = model.mu[c] * r[row]
        if not r[row] > 0.0 or (index[c] == INDEX.stick and friction > cone * cone):
            return 0
    return 1


@unit(I(MODEL, F, ENDS.kind, ACTING.kind, LASTING.kind))
def slow_ones_grow(model, rest, ends, acting, room):
    """Return 1 where all slips that are slower than rest become faster: they have just begun.

    They could stick as well where forces are not unique, but what slips already and goes on by its own laws does.
    room: what `accelerate` left.
    """
    layout, W, zeta, u = model.layout, room.W, room.zeta, acting.u
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        forward, grows = 0.0, 0.0
        for i in range(row + 1, end):
            forward += u[i] * acting.direction[2 * c + i - row - 1]
            grows += u[i] * (row_dot(layout, W, i, acting.a) + zeta[i])
        if ends.index[c] == INDEX.slip and end - row > 1 and forward <= rest and not grows > 0.0:
            return 0
    return 1


@unit(I(LAYOUT, J, A, A))
def turn_on(layout, index, u, direction):
    """Let slips in space go on in the direction that they have now, unless they are too slow to have one."""
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if index[c] == INDEX.slip and end - row == 3 and direction[2 * layout.nc + c] != WAY.unseen:
            speed = sqrt(u[row + 1] * u[row + 1] + u[row + 2] * u[row + 2])
            for i in range(row + 1, end):
                direction[2 * c + i - row - 1] = u[i] / speed
    return 0


@unit(I(MODEL, F, J, A, J, A))
def hold_all(model, rest, candidate, u, index, direction):
    """Write the index set that holds all candidates and lets only those slip that do so already."""
    layout = model.layout
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        index[c] = INDEX.open
        if candidate[c] == 0:
            continue
        speed = 0.0
        for i in range(row + 1, end):
            speed += u[i] * u[i]
        speed = sqrt(speed)
        rough = end - row > 1 and model.mu[c] > 0.0
        index[c] = INDEX.stick if rough and speed <= rest else INDEX.slip
        if speed > rest and direction[2 * layout.nc + c] != WAY.unseen:
            for i in range(row + 1, end):
                direction[2 * c + i - row - 1] = u[i] / speed
    return 0


@unit(I(MODEL, F, J, ACTING.kind, LASTING.kind))
def start_smooth(model, rest, index, acting, room):
    """Aim slow slips without friction along their acceleration: nothing else says where they go on to.

    Aimed where they came from, they would end again at once.
    """
    layout, u = model.layout, acting.u
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if index[c] != INDEX.slip or end - row == 1 or model.mu[c] > 0.0:
            continue
        speed, starts = 0.0, 0.0
        for i in range(row + 1, end):
            speed += u[i] * u[i]
            starts += (row_dot(layout, room.W, i, acting.a) + room.zeta[i]) ** 2
        if speed > rest * rest or not sqrt(starts) > DECISION.at_rest * acting.powers[REPORTED.unheld]:
            continue  # what stands moves nowhere, but by rounding
        for i in range(row + 1, end):
            change = row_dot(layout, room.W, i, acting.a) + room.zeta[i]
            acting.direction[2 * c + i - row - 1] = change / sqrt(starts)
    return 0


@unit(I(MODEL, F, F, I, ENDS.kind, ACTING.kind, LASTING.kind, RECORD))
def take(model, t, rest, lost, ends, acting, room, record):
    """Write what acts under a decided index set; what it calls sticking but cannot hold slips after all.

    lost: 1 where forces that are not unique were lost, so that slips begin without any acceleration to speak of;
    ends.candidate: ROLE.on_cone where the law is undecided between both, see `decide`. Contacts that jam become
    INDEX.impulsive.
    acting.u: row velocities; slips in space that are not faster than `rest`, or WAY.unseen so far, have the direction
    that was decided, not their own.
    """
    layout, status, begun = model.layout, 0, 0
    index, candidate, direction, u = ends.index, ends.candidate, acting.direction, acting.u
    for c in range(layout.nc):
        row, end, square = layout[layout.contact_row + c], layout[layout.contact_row + c + 1], 0.0
        for i in range(row + 1, end):
            square += u[i] * u[i]
        slow = square <= rest * rest or direction[2 * layout.nc + c] == WAY.unseen
        direction[2 * layout.nc + c] = WAY.straight if slow else WAY.turning
    for _ in range(2 * layout.nc + 1):
        status = act_on_end(model, t, ends, acting, room, record)
        if status == Status.JAMMED:
            index[room.held.jam] = INDEX.impulsive
            continue
        if status != 0:
            break
        several = lost == 1 and begin_together(model, index, direction, candidate) == 1
        if begun == 0 and (room.held.ambiguous == 1 or several):
            # directions of slips that begin together belong to the split; what a body turns around sticks if it can
            begun, found = 1, 0
            for turning in range(1, -1, -1):
                found = begin_slips(model, t, ends.q, ends.v, turning, index, candidate, acting, room, record)
                if found == 0 or lawful(model, index, acting.r, acting.powers, room) == 1:
                    break
            if found == 1:
                break
            continue
        if lawful(model, index, acting.r, acting.powers, room) == 1:
            break
        changed = False
        for c in range(layout.nc):
            # what carries nothing yet sticks until its forces say otherwise: as a slip it would have no friction
            loaded = carries(model, c, acting.powers[REPORTED.unheld], acting, room) == 1
            if candidate[c] == ROLE.on_cone and index[c] == INDEX.stick and loaded:
                index[c], changed = INDEX.slip, True
        if not changed:
            break
    for c in range(layout.nc):
        row, end, square = layout[layout.contact_row + c], layout[layout.contact_row + c + 1], 0.0
        for i in range(row + 1, end):
            square += u[i] * u[i]
        unseen = direction[2 * layout.nc + c] == WAY.straight and square > rest * rest
        direction[2 * layout.nc + c] = WAY.unseen if unseen else WAY.turning
    return status
