"""The beginning of a flight: the index set of its start, what strikes or crosses there at once, how far it may go."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import head, larger, smaller, unit, whole
from saltus.compile.types import MODEL, PART, RECORD, STAGED, A, F, I
from saltus.flight.frame import (
    FLIGHT_SETTINGS,
    FRAME,
    SCALE,
    left_of_slip,
    promised,
    see_slips,
    slip_tolerance,
    span_of,
    visible_slip,
)
from saltus.flight.grip import grip_event
from saltus.flight.modes import MODES, unhold, update_modes
from saltus.lasting.begin import begin_slips, end_slips, goes, start_of
from saltus.lasting.end_of_step import begin_events
from saltus.lasting.hold import accelerate, rest_speed, row_size
from saltus.lasting.index_set import INDEX, WAY
from saltus.lasting.interval import closed_gap
from saltus.lasting.settle import act_on_start, ambiguous_event, lawful
from saltus.memory.vectors import clear, clear_marks, copy, copy_marks
from saltus.reaction.react import row_dot


class _Depart(NamedTuple):
    """Tuned numbers of this file."""

    soonest: float = 1e-13  # of time and span: how near the end of a slip may be at the least to be flown to
    left_at_rest: float = 100.0  # times what may be left of one slip: of all of them where nothing goes on slipping
    past_stop: float = 1.5  # times the time until a slip stops: so far it is followed, so that its end is found
    share_of_stop: float = 1e-3  # of what a slip in space may go straight: what its end may cost that is not followed
    full_friction: float = (
        0.5  # of what friction could be: from there on that of a contact which sticks says how a slip ends
    )
    # of the longest step, and of the promise: how long what jams is left alone, see `left_alone`
    jammed: float = 1e-4
    late: float = 1e-2
    approach: float = 2e-11  # of its velocities: what contact problems can tell from none
    most_halvings: int = 60  # of the time in which slips from rest go straight on
    most_shortened: int = 12  # halvings of the same until the force turns little enough meanwhile


DEPART = _Depart()


@unit(PART)
def depart(model, staged, settings, task, t, h, frame_room, record):
    """Begin a flight: settle the index set where nothing is known of it, find what strikes or crosses at once.

    in      t, h; frame: q_0, v_0 of its ends, memory
    out     frame: index, memory with what acts on the start; marks: still, limit, holding, crossing, pending, ending
    """
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    layout, ends, kept, marks, memory = model.layout, frame.ends, frame.kept, frame.marks, frame.memory
    model.gap(t, ends.q_0, model.par, ends.g)
    marks.crossing, marks.pending = -1.0, -1.0
    copy_marks(ends.index, ends.before)
    if memory.numbers.valid == 0.0 or kept[0] == 0.0 or kept[1] == t:  # also when its first step is tried once more
        status = begin_flight(model, staged, settings, t, h, frame, record)
        if status != 0:
            return status
        memory.numbers.valid, kept[0], kept[1] = 1.0, 1.0, t
    ne, ns = layout.ne, layout.ns
    if ns > 0:  # a branch that does not hold where the flight begins ends at once
        values = head(frame.scan, ne)
        model.switch(t, ends.q_0, ends.v_0, model.par, values)
        for k in range(ne - ns, ne):
            if values[k] < 0.0 and memory.fired[k] == 0.0:
                marks.crossing = k
        for k in range(ne - ns):  # nor does an event wait that other branches have led over zero
            if memory.leapt[k] == 1.0:
                marks.crossing = k
    near, holding, jammed, slack = False, layout.nj > 0, False, closed_gap(settings, ends.q_0)
    for k in range(layout.nc):
        holds = ends.index[k] == INDEX.slip or ends.index[k] == INDEX.stick
        holding, jammed = holding or holds, jammed or ends.index[k] == INDEX.impulsive
        near = near or (not holds and ends.g[k] <= slack)
    marks.limit = h
    if near or settings.anticipates == 1.0:
        closing_at_once(model, settings, t, slack, frame)
    still = marks.pending >= 0.0 or marks.crossing >= 0.0
    marks.ending = -1.0
    if holding and not still:
        limit = slip_begins(model, settings, t, frame)
        marks.limit = straight_on(model, settings, t, smaller(marks.limit, limit), frame, record)
        marks.limit = ending_slip(model, settings, t, marks.limit, frame, record)
        still = marks.ending >= 0.0
    if jammed and not still:
        marks.limit = left_alone(model, settings, t, h, frame)
    marks.still, marks.holding = 1.0 if still else 0.0, 1.0 if holding else 0.0
    marks.near, marks.jammed_set = 1.0 if near else 0.0, 1.0 if jammed else 0.0
    return 0


@unit(I(MODEL, STAGED, A, F, F, FRAME.kind, RECORD))
def begin_flight(model, staged, settings, t, h, frame, record):
    """Decide modes and index set at the start of a run, or of a segment behind a jump of the force."""
    layout, ends, memory, acting = model.layout, frame.ends, frame.memory, frame.memory.acting
    known, reaction, interval = whole(memory.numbers.valid), staged.reaction, frame.interval
    if known == 0:
        clear(acting.a)
        clear(memory.fired)
        clear(memory.leapt)
        for k in range(layout.nc):
            ends.index[k], memory.let_go[k] = INDEX.open, -1e300
    for k in range(layout.ns):
        memory.modes[k] = MODES.free  # on a surface the motion decides anew
    if update_modes(model, settings, t, h, ends.q_0, ends.v_0, acting.a, frame, 0) > 0:
        model.gap(t, ends.q_0, model.par, ends.g)
    if known == 1:  # functions may jump at a break; what is held was put in place
        clear(frame.gaps)
        clear(frame.leaps)
        status = unhold(model, settings, t, ends.q_0, ends.v_0, ends.g, ends.index, frame)
        if status != 0:
            return status
    status = staged.settle(model, reaction, settings, t, 1, 0, ends, acting, interval, record)
    if status == 0 and update_modes(model, settings, t, h, ends.q_0, ends.v_0, acting.a, frame, 0) > 0:
        status = staged.settle(model, reaction, settings, t, 1, 0, ends, acting, interval, record)
    if status != 0:
        return status
    see_slips(model, settings, 1 - known, frame)
    begin_events(model, t, known, ends, acting, record)
    ambiguous_event(model, t, ends.before, ends.index, interval.lasting, acting.r, record)
    grip_event(model, staged, settings, t, 0.0, frame, record)
    if layout.ne > 0 and known == 1:
        # an event function may change its sign between the two sides of a break
        values, last = head(frame.scan, layout.ne), memory.last_values
        model.switch(t, ends.q_0, ends.v_0, model.par, values)
        for k in range(layout.ne):
            way = layout[layout.event_table + 3 * k]
            rises, falls = last[k] < 0.0 and values[k] >= 0.0, last[k] > 0.0 and values[k] <= 0.0
            if memory.fired[k] == 0.0 and ((rises and way >= 0) or (falls and way <= 0)):
                frame.marks.crossing = k
    return 0


@unit(F(MODEL, A, F, F, FRAME.kind))
def left_alone(model, settings, t, h, frame):
    """Return how long a contact is left alone that no finite force keeps closed [s].

    The impulse law acts as soon as it nears: that is late by the time that nears it, so what moves meanwhile must be a
    small share of the promise.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, room, a_0 = model.layout, frame.ends, frame.interval.lasting, frame.memory.acting.a
    v_0, longest, nears = ends.v_0, DEPART.jammed * h, 0.0
    if settings.misses == 0.0:
        return longest  # steps that are given follow no tolerance
    velocity, place = promised(layout, settings, SCALE.velocity), promised(layout, settings, SCALE.place)
    soon = longest
    for i in range(layout.nv):
        known = settings.atol * velocity[i] + settings.rtol * abs(v_0[i])
        soon = smaller(soon, DEPART.late * known / larger(abs(a_0[i]), 1e-300))
        soon = smaller(soon, DEPART.late * settings.atol * place[i] / larger(abs(v_0[i]), 1e-300))
    model.kinematics(t, ends.q_0, model.par, room.W, room.w)
    model.curvature(t, ends.q_0, v_0, model.par, room.zeta)
    for k in range(layout.nc):
        row, end, size = layout[layout.contact_row + k], layout[layout.contact_row + k + 1], 0.0
        if ends.index[k] == INDEX.impulsive:
            pressed = -(row_dot(layout, room.W, row, a_0) + room.zeta[row])
            for i in range(row, end):
                size = larger(size, row_size(layout, room.W, i, v_0))
            nears = larger(nears, DEPART.approach * size / larger(pressed, 1e-300))
    return smaller(longest, larger(soon, nears))


@unit(I(MODEL, A, F, F, FRAME.kind))
def closing_at_once(model, settings, t, slack, frame):
    """Mark an approach that begins closed (the start of a run, a reset), which strikes at once: pending.

    Schemes that anticipate closings end the step where the next one would be with the acceleration of now.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, marks, room = model.layout, frame.ends, frame.marks, frame.interval.lasting
    W, zeta, w, g = room.W, room.zeta, ends.u_minus, ends.g
    model.kinematics(t, ends.q_0, model.par, W, w)
    if settings.anticipates == 1.0:
        model.curvature(t, ends.q_0, ends.v_0, model.par, zeta)
    for k in range(layout.nc):
        row = layout[layout.contact_row + k]
        if ends.index[k] == INDEX.slip or ends.index[k] == INDEX.stick:
            continue
        speed = row_dot(layout, W, row, ends.v_0) + w[row]
        if g[k] <= slack:
            if speed < -rest_speed(settings.rest, layout, W, row, ends.v_0):
                marks.pending = k
            continue
        if settings.anticipates == 1.0:
            # when would it close with the acceleration of now? the step ends there, and the next one looks again
            slope = row_dot(layout, W, row, frame.memory.acting.a) + zeta[row]
            under = speed * speed - 2.0 * slope * g[k]
            if under > 0.0 and (speed < 0.0 or slope < 0.0):
                time = 2.0 * g[k] / (sqrt(under) - speed) if sqrt(under) > speed else 1e300
                if time <= 0.5 * marks.window and speed < -settings.rest:
                    marks.pending = k
                marks.limit = smaller(marks.limit, time)
    return 0


@unit(F(MODEL, A, F, F, FRAME.kind, RECORD))
def ending_slip(model, settings, t, h, frame, record):
    """Let slips in space that are near enough to their end go straight on to it; return the time for that, at most h.

    Friction turns a slip the faster the slower it is, so that its end can be approached but not reached. What is left
    of it, its speed for the time that it takes to stop, and the way meanwhile, is compared with the promise. That is
    all that the turn costs where it sticks behind its end; a slip that goes on another way is followed until nobody
    could see it, see `turning_back`.
    What else moves goes on meanwhile: to stop the slip at once would push a body that turns aside, for as long as it
    moves. An end too near for the clock, or for the promise, is one at once, ENDING. Steps that estimate no error have
    windows for this.
    """
    settings = FLIGHT_SETTINGS(settings)
    ends, probe, room = frame.ends, frame.probe, frame.interval.lasting
    direction = frame.memory.acting.direction
    if frame.marks.window > 0.0:
        return h
    shortest = slips_near_end(model, settings, t, frame)
    first = whole(frame.marks.ending)
    frame.marks.ending = -1.0
    if first < 0:
        return h
    status = accelerate(
        model, t, ends.q_0, ends.v_0, frame.trial, direction, probe.a, probe.r, probe.u, probe.powers, room, record
    )
    if status != 0 or lawful(model, frame.trial, probe.r, probe.powers, room) == 0:
        if status == 0:
            cut_unseen(model, settings, frame)
        return h
    copy(direction, frame.kept_way)
    brake(model, settings, frame)
    if shortest == 1e300 or shortest <= DEPART.soonest * (abs(t) + span_of(settings)):
        frame.marks.ending = first
        return h
    if leads_to_end(model, settings, t, shortest, frame, record) == 0:
        turn_to_end(model, settings, t, shortest, frame, record)
        if leads_to_end(model, settings, t, shortest, frame, record) == 0:
            copy(frame.kept_way, direction)  # friction turns it into the direction of its end before
            act_at_start(model, t, frame, record)
            cut_unseen(model, settings, frame)  # those that stop do not wait for others that cannot yet
            return h
    return smaller(h, DEPART.past_stop * shortest)


@unit(I(MODEL, A, FRAME.kind))
def cut_unseen(model, settings, frame):
    """Let slips end at once that brake and of which the promise shows nothing any more; the law decides anew."""
    frame.marks.ending = turning_back(model, settings, frame)
    if frame.marks.ending >= 0.0:
        brake(model, settings, frame)
    return 0


@unit(I(MODEL, A, FRAME.kind))
def turning_back(model, settings, frame):
    """Write to frame.trial the slips that end at once although not all near their end stop; return the first, or -1.

    A slip that brakes and goes on another way passes near zero, where friction turns it in no time. What is left of it
    when the promise no longer shows it is cut: then it begins anew.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, index, tried, room = model.layout, frame.ends.index, frame.trial, frame.interval.lasting
    nc, W, zeta, first, left = layout.nc, room.W, room.zeta, -1, left_of_slip(layout, settings)
    u, a, direction = frame.memory.acting.u, frame.memory.acting.a, frame.memory.acting.direction
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        square, slowing, tried[c] = 0.0, 0.0, index[c]
        if index[c] != INDEX.slip or end - row != 3 or direction[2 * nc + c] != WAY.turning:
            continue
        for i in range(row + 1, end):
            square += u[i] * u[i]
            slowing -= (row_dot(layout, W, i, a) + zeta[i]) * u[i]
        if square > settings.rest * settings.rest and square <= left * left and slowing > 0.0:
            tried[c] = INDEX.stick
            first = c if first < 0 else first
    return first


@unit(I(MODEL, A, FRAME.kind))
def brake(model, settings, frame):
    """Let the slips that are tried to stick (`slips_near_end`) go straight on from here, in the direction they have.

    out     way_before: the direction against which friction acts where they stick, 0 where it is far below its bound
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, index, tried, sticks = model.layout, frame.ends.index, frame.trial, frame.way_before
    nc, u, direction, r = layout.nc, frame.memory.acting.u, frame.memory.acting.direction, frame.probe.r
    for c in range(nc):
        if tried[c] != INDEX.stick or index[c] != INDEX.slip:
            continue
        row = layout[layout.contact_row + c]
        speed = sqrt(u[row + 1] * u[row + 1] + u[row + 2] * u[row + 2])
        if speed > settings.rest and direction[2 * nc + c] == WAY.turning:
            direction[2 * c], direction[2 * c + 1] = u[row + 1] / speed, u[row + 2] / speed
        direction[2 * nc + c] = WAY.braking
        friction, sticks[2 * c], sticks[2 * c + 1] = sqrt(r[row + 1] ** 2 + r[row + 2] ** 2), 0.0, 0.0
        if friction > DEPART.full_friction * model.mu[c] * r[row]:
            sticks[2 * c], sticks[2 * c + 1] = -r[row + 1] / friction, -r[row + 2] / friction
    return 0


@unit(I(MODEL, A, F, F, FRAME.kind, RECORD))
def leads_to_end(model, settings, t, time, frame, record):
    """Return 1 where slips that are WAY.braking for a time have nothing left aside then that the promise could show.

    Pushes aside are integrated by Simpson's rule.
    """
    layout, room, ends, probe = model.layout, frame.interval.lasting, frame.ends, frame.probe
    nc, W, zeta, u, sums = layout.nc, room.W, room.zeta, frame.memory.acting.u, frame.leads
    direction, allowed = frame.memory.acting.direction, left_of_slip(layout, settings)
    for place in range(3):
        weight = time * (2.0 / 3.0 if place == 1 else 1.0 / 6.0)
        shift_start(model, 0.5 * place * time, frame)
        status = accelerate(
            model, t + 0.5 * place * time, frame.q_shifted, frame.v_try, ends.index, direction, probe.a, probe.r,
            probe.u, probe.powers, room, record,
        )  # fmt: skip
        if status != 0:
            return 0
        for c in range(nc):
            row, d_1, d_2 = layout[layout.contact_row + c], direction[2 * c], direction[2 * c + 1]
            if direction[2 * nc + c] != WAY.braking or sqrt(u[row + 1] ** 2 + u[row + 2] ** 2) <= allowed:
                continue
            s_1 = row_dot(layout, W, row + 1, probe.a) + zeta[row + 1]
            s_2 = row_dot(layout, W, row + 2, probe.a) + zeta[row + 2]
            if place == 0:
                sums[row] = u[row + 2] * d_1 - u[row + 1] * d_2
            sums[row] += weight * (s_2 * d_1 - s_1 * d_2)
            brakes, forward = -s_1 * d_1 - s_2 * d_2, u[row + 1] * d_1 + u[row + 2] * d_2
            if not (brakes > 0.0 and forward > 0.0) or (place == 2 and abs(sums[row]) > allowed):
                return 0
    return 1


@unit(I(MODEL, A, F, F, FRAME.kind, RECORD))
def turn_to_end(model, settings, t, time, frame, record):
    """Turn slips that are WAY.braking into the directions in which friction leads them to their end, halfway there.

    Where friction is much larger than what it brakes with, it is nearly that of the contact which sticks
    (frame.way_before): its direction is a better guess than that of the velocity. What is too slow to be seen stops
    with the others, and has no direction.
    """
    layout, ends, room, probe, nobody = model.layout, frame.ends, frame.interval.lasting, frame.probe, frame.ahead
    nc, u, direction, sticks = layout.nc, frame.memory.acting.u, frame.memory.acting.direction, frame.way_before
    copy(direction, probe.direction)
    for c in range(nc):
        row = layout[layout.contact_row + c]
        if direction[2 * nc + c] != WAY.braking:
            continue
        if sqrt(u[row + 1] ** 2 + u[row + 2] ** 2) <= left_of_slip(layout, settings):
            probe.direction[2 * nc + c] = WAY.straight
        elif sticks[2 * c] != 0.0 or sticks[2 * c + 1] != 0.0:
            probe.direction[2 * c], probe.direction[2 * c + 1] = sticks[2 * c], sticks[2 * c + 1]
    clear_marks(nobody)
    shift_start(model, 0.5 * time, frame)
    if end_slips(
        model, t + 0.5 * time, frame.q_shifted, frame.v_try, ends.index, nobody, probe, room, record
    ) == 1:  # fmt: skip
        copy(head(probe.direction, 2 * nc), head(direction, 2 * nc))
        act_at_start(model, t, frame, record)
    return 0


@unit(F(MODEL, A, F, FRAME.kind))
def slips_near_end(model, settings, t, frame):
    """Write to frame.trial the index set in which slips in space that are near their end stick.

    Return the time until the first of them stops, 1e300 where all are too slow to be seen; marks.ending: the first one
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, room = model.layout, frame.ends, frame.interval.lasting
    W, zeta, index, tried = room.W, room.zeta, ends.index, frame.trial
    nc, u, a, direction = layout.nc, frame.memory.acting.u, frame.memory.acting.a, frame.memory.acting.direction
    allowed = DEPART.share_of_stop * smaller(
        slip_tolerance(layout, settings, 1.0) * span_of(settings), settings.straight
    )
    fast, first, shortest, fastest = frame.memory.fast, -1, 1e300, 0.0
    slowing_all, grows, anyone, passes = 0.0, False, False, False
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        tried[c], anyone = index[c], anyone or (index[c] == INDEX.slip and end - row == 3)
        for i in range(row + 1, end):
            fastest = larger(fastest, abs(u[i]) if index[c] == INDEX.slip else 0.0)
    frame.marks.ending = -1.0
    if not anyone or fastest <= settings.rest:
        return shortest
    model.kinematics(t, ends.q_0, model.par, W, room.w)
    model.curvature(t, ends.q_0, ends.v_0, model.par, zeta)
    for c in range(nc):
        row, end, growth, square = layout[layout.contact_row + c], layout[layout.contact_row + c + 1], 0.0, 0.0
        straight = direction[2 * nc + c] == WAY.straight
        for i in range(row + 1, end):
            growth += (row_dot(layout, W, i, a) + zeta[i]) * (direction[2 * c + i - row - 1] if straight else u[i])
            square += u[i] * u[i]
        # what the promise does not show may grow while others stop, what it shows may not: then the body goes on
        visible = straight or square > visible_slip(layout, settings) ** 2
        grows = grows or (index[c] == INDEX.slip and visible and growth > 0.0)
    # where all slips stop what is cut of them ends with them
    whole_body = fastest <= DEPART.left_at_rest * left_of_slip(layout, settings) and not grows
    left = (DEPART.left_at_rest if whole_body else 1.0) * left_of_slip(layout, settings)
    for c in range(nc):
        row, end, square = layout[layout.contact_row + c], layout[layout.contact_row + c + 1], 0.0
        for i in range(row + 1, end):
            square += u[i] * u[i]
        if index[c] != INDEX.slip or end - row != 3:
            continue
        if not sqrt(square) > settings.rest:
            tried[c] = INDEX.stick if whole_body else INDEX.slip  # it counts where others stop
            continue
        slowing, straight = 0.0, direction[2 * nc + c] == WAY.straight
        for i in range(row + 1, end):
            # one that has just begun goes by its forces: its velocity knows no direction
            way = sqrt(square) * direction[2 * c + i - row - 1] if straight else u[i]
            slowing -= (row_dot(layout, W, i, a) + zeta[i]) * way
        # what the promise does not show has no direction, and may grow while others stop
        slow = square <= left * left and (slowing > 0.0 or not straight)
        # it lasts |u| / (slowing / |u|) and goes half of |u| times that
        # one that was faster than the promise shows, and grows unseen, has been led past its end by a step
        past = fast[c] == 1.0 and direction[2 * nc + c] == WAY.turning and slowing <= 0.0
        past = past and square <= visible_slip(layout, settings) ** 2
        slow, passes = slow or past, passes or past
        if slow or (slowing > 0.0 and square * sqrt(square) <= allowed * slowing):
            tried[c] = INDEX.stick
            slowing_all += slowing
            first = c if first < 0 else first
            if not slow:
                shortest = smaller(shortest, square / slowing)
    # slips that have just begun are as slow: where forces are not unique they could stick as well, but need not
    frame.marks.ending = first if slowing_all > 0.0 or passes else -1.0
    return shortest


@unit(F(MODEL, A, F, F, FRAME.kind, RECORD))
def straight_on(model, settings, t, h, frame, record):
    """Return the time, at most h, in which slips from rest may go straight on without missing the tolerance.

    A slip begins where its friction no longer holds it, so without acceleration: only what acts a little later tells
    how fast it will be. While it goes straight on its direction is wrong by as much as the force turns, so that the way
    that it makes meanwhile must be far below the tolerance. Steps without error estimate look at its speed instead.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nv, nc = layout.nv, layout.nc
    direction, index = frame.memory.acting.direction, frame.ends.index
    straight = 0
    for c in range(nc):
        straight += 1 if index[c] == INDEX.slip and direction[2 * nc + c] == WAY.straight else 0
    if straight == 0:
        return h
    act_at_start(model, t, frame, record)
    v_0, a_0 = frame.ends.v_0, frame.memory.acting.a
    q, v, probe = frame.q_shifted, frame.v_try, frame.probe
    a, u = probe.a, probe.u
    windows = frame.marks.window > 0.0
    slow = sqrt(settings.rest)
    room = frame.interval.lasting
    W = room.W
    for _ in range(DEPART.most_halvings):
        shift_start(model, h, frame)
        status = accelerate(model, t + h, q, v, index, direction, a, probe.r, u, probe.powers, room, record)
        fastest = 0.0 if status == 0 else 1e300
        for i in range(nv):  # the mean of both accelerations moves it
            v[i] = v_0[i] + 0.5 * h * (a_0[i] + a[i])
        model.kinematics(t + h, q, model.par, W, u)
        for c in range(nc):
            row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
            if index[c] == INDEX.slip and direction[2 * nc + c] == WAY.straight:
                speed = 0.0
                for i in range(row + 1, end):
                    speed += (row_dot(layout, W, i, v) + u[i]) ** 2
                fastest = larger(fastest, sqrt(speed))
        if (fastest <= slow) if windows else (fastest * h <= 2.0 * settings.straight):
            break
        h *= 0.5
    if not windows:
        share = 1.0
        for _ in range(DEPART.most_shortened):
            if straight_direction(model, t, share * h, frame, record) == 1:
                return share * h
            share *= 0.5
    return h


@unit(I(MODEL, F, FRAME.kind), small=True)
def shift_start(model, h, frame):
    """Write the state a time h behind the start, with its acceleration, to q_shifted and v_try; a_try is scratch."""
    layout = model.layout
    q_0, v_0, a_0 = frame.ends.q_0, frame.ends.v_0, frame.memory.acting.a
    q, v, a = frame.q_shifted, frame.v_try, frame.probe.a
    for i in range(layout.nv):
        v[i] = v_0[i] + h * a_0[i]
        a[i] = 0.5 * (v_0[i] + v[i])
    model.rate(q_0, a, model.par, q)
    for i in range(layout.nq):
        q[i] = q_0[i] + h * q[i]
    model.retract(q, model.par)
    return 0


@unit(I(MODEL, F, F, FRAME.kind, RECORD))
def straight_direction(model, t, h, frame, record):
    """Let slips from rest go straight on for a time h in the directions in which they will go; 0 where h is too long.

    A slip begins along the friction that no longer holds it, and friction turns it back there from everywhere else. As
    long as it goes straight on nothing does: where the force turns, or masses are not the same in all directions, it
    would drift aside by as much as it moves. So its direction is the one whose own friction accelerates it along
    itself, halfway. It may lead aside or back at first, and as much the other way at the end: the halfway acceleration
    is the mean one as long as the time is short for the turns of the force.
    """
    layout = model.layout
    nc, room = layout.nc, frame.interval.lasting
    direction, index, nobody = frame.memory.acting.direction, frame.ends.index, frame.trial
    q, v, a, probe = frame.q_shifted, frame.v_try, frame.probe.a, frame.probe
    sums, before, s = frame.leads, frame.way_before, room.begin.s
    clear_marks(nobody)
    copy(direction, before)
    shift_start(model, 0.5 * h, frame)
    copy(direction, probe.direction)
    begun = begin_slips(model, t + 0.5 * h, q, v, 0, index, nobody, probe, room, record)
    copy(probe.direction, direction)
    if begun == 0:
        return 1
    for c in range(nc):
        row = layout[layout.contact_row + c]
        if goes(model, index, direction, nobody, WAY.straight, c) == 1:
            sums[row], sums[row + 1], sums[row + 2] = start_of(model, c, 0.0, a, s, room), 0.0, 0.0
    shift_start(model, h, frame)
    status = accelerate(
        model, t + h, q, v, index, direction, a, probe.r, probe.u, probe.powers, room, record
    )  # fmt: skip
    fits = status == 0
    for end in range(2):
        if end == 1:
            fits = act_at_start(model, t, frame, record) == 0 and fits
        for c in range(nc):
            row = layout[layout.contact_row + c]
            if fits and goes(model, index, direction, nobody, WAY.straight, c) == 1:
                start_of(model, c, 0.0, frame.memory.acting.a if end == 1 else a, s, room)
                sums[row + 1], sums[row + 2] = sums[row + 1] + s[0], sums[row + 2] + s[1]
    for c in range(nc):
        row, s_1, s_2 = layout[layout.contact_row + c], direction[2 * c], direction[2 * c + 1]
        if goes(model, index, direction, nobody, WAY.straight, c) == 1:
            # of an even motion 2 and 0 times what it is halfway
            forward, aside = sums[row + 1] * s_1 + sums[row + 2] * s_2, sums[row + 2] * s_1 - sums[row + 1] * s_2
            fits = fits and forward >= sums[row] and abs(aside) <= sums[row]
    if fits:
        return 1
    copy(before, head(direction, 2 * nc))
    act_at_start(model, t, frame, record)
    return 0


@unit(I(MODEL, F, FRAME.kind, RECORD))
def act_at_start(model, t, frame, record):
    """Write what acts on the start under the index set and the directions of now."""
    return act_on_start(model, t, frame.ends, frame.memory.acting, frame.interval.lasting, record)


@unit(F(MODEL, A, F, FRAME.kind))
def slip_begins(model, settings, t, frame):
    """Return the step allowed while a slip in space begins or, with windows, comes to its end.

    The friction of a slip from rest turns infinitely fast with rounding, and with errors of its velocity as long as it
    is slower than the tolerance: until it is fast enough to turn it goes straight on, in a direction that its forces
    tell. Where it could stick as well, an error would decide about it. As far as the way `straight` this direction is
    good enough. It turns as fast before it stops; steps that estimate no error would pass the stop, so they halve the
    way to it.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, room, acting = model.layout, frame.ends, frame.interval.lasting, frame.memory.acting
    a, u, direction, index, window = acting.a, acting.u, acting.direction, ends.index, frame.marks.window
    rest, straight, slow = settings.rest, settings.straight, sqrt(settings.rest)
    nc, W, zeta, longest, seen = layout.nc, room.W, room.zeta, 1e300, frame.memory.seen
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        direction[2 * nc + c] = WAY.turning
        if index[c] != INDEX.slip or end - row != 3:
            continue
        speed = sqrt(u[row + 1] * u[row + 1] + u[row + 2] * u[row + 2])
        unseen = window == 0.0 and seen[c] == 0.0
        if speed > rest and not unseen and (window == 0.0 or speed <= slow):
            continue
        model.kinematics(t, ends.q_0, model.par, W, room.w)
        model.curvature(t, ends.q_0, ends.v_0, model.par, zeta)
        fast, slowing = 0.0, 0.0
        for i in range(row + 1, end):
            change = row_dot(layout, W, i, a) + zeta[i]
            fast, slowing = larger(fast, abs(change)), slowing - change * u[i]
        if speed <= rest or unseen:
            direction[2 * nc + c] = WAY.straight
            fast = larger(fast, 1e-300)
            longest = smaller(longest, slow / fast if window > 0.0 else sqrt(2.0 * straight / fast))
        elif slowing > 0.0:
            longest = smaller(longest, 0.5 * speed * speed / slowing)
    return longest
