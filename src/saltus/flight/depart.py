"""The beginning of a flight: the index set of its start, what strikes or crosses there at once, how far it may go."""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import head, larger, smaller, unit
from saltus.compile.types import MODEL, PART, RECORD, A, F, I, J
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, left_of_slip, slip_tolerance, span_of
from saltus.flight.modes import FREE, update_modes
from saltus.lasting.begin import begin_slips, may_begin, start_of
from saltus.lasting.hold import accelerate, rest_speed
from saltus.lasting.index_set import IMPULSIVE, OPEN, SLIP, STICK
from saltus.lasting.interval import closed_gap
from saltus.lasting.settle import ambiguous_event, changed_events, lawful
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import CONTACT_ROW, EVENT_TABLE, NC, NE, NJ, NQ, NS, NV
from saltus.reaction.react import row_dot

SOONEST = 1e-13  # of time and span: how near the end of a slip may be at the least to be flown to
LEFT_AT_REST = 100.0  # times what may be left of one slip: of all of them where nothing goes on slipping
PAST_STOP = 1.5  # times the time until a slip stops: so far it is followed, so that its end is found
SHARE_OF_STOP = 1e-3  # of what a slip in space may go straight: what its end may cost that is not followed
MOST_HALVINGS = 60  # of the time in which slips from rest go straight on
MOST_SHORTENED = 12  # halvings of the same until the force turns little enough meanwhile


@unit(PART)
def depart(model, staged, settings, task, t, h, frame_room, record):
    """Begin a flight: settle the index set where nothing is known of it, find what strikes or crosses at once.

    in      t, h; frame: q_start, v_start, memory
    out     frame: index, memory with what acts on the start; marks: still, limit, holding, crossing, pending, ending
    """
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    layout, par = model.layout, model.par
    nv, nc, nj, ne = layout[NV], layout[NC], layout[NJ], layout[NE]
    kept, marks, memory = frame.kept, frame.marks, frame.memory
    q_0, v_0, g = frame.q_start, frame.v_start, frame.gaps
    u_minus = frame.u_minus
    direction, fired, let_go, last_values = (
        frame.memory.direction,
        frame.memory.fired,
        frame.memory.let_go,
        frame.memory.last_values,
    )
    modes = frame.memory.modes
    a_0, r_0, u_0, powers_0 = (
        frame.memory.a_begin,
        frame.memory.r_begin,
        frame.memory.u_begin,
        frame.memory.powers_begin,
    )
    index, before, resting, stopped, candidate = (
        frame.index,
        frame.before,
        frame.resting,
        frame.stopped,
        frame.candidate,
    )
    room = frame.interval.lasting

    # ---- the start of a run, or of a segment behind a jump of the force
    model.gap(t, q_0, par, g)
    marks.crossing, marks.pending = -1.0, -1.0
    for k in range(nc):
        before[k] = index[k]
    known = memory.numbers.valid == 1.0
    if not known or kept[0] == 0.0 or kept[1] == t:  # also when its first step is tried once more
        for k in range(nc):
            if not known:
                index[k], let_go[k] = OPEN, -1e300
        for k in range(ne):
            fired[k] = fired[k] if known else 0.0
        if not known:
            for i in range(nv):
                a_0[i] = 0.0
        for k in range(layout[NS]):
            modes[k] = FREE  # on a surface the motion decides anew
        if update_modes(model, settings, t, h, q_0, v_0, a_0, frame, 0) > 0:
            model.gap(t, q_0, par, g)
        status = staged.settle(
            model, staged.reaction, settings, t, q_0, v_0, g, 1, 0.0, index, direction, resting, stopped, candidate,
            a_0, r_0, u_0, powers_0, frame.info, frame.interval, record,
        )  # fmt: skip
        if status == 0 and layout[NS] > 0 and update_modes(model, settings, t, h, q_0, v_0, a_0, frame, 0) > 0:
            status = staged.settle(
                model, staged.reaction, settings, t, q_0, v_0, g, 1, 0.0, index, direction, resting, stopped, candidate,
                a_0, r_0, u_0, powers_0, frame.info, frame.interval, record,
            )  # fmt: skip
        if status != 0:
            return status
        for k in range(nc):
            if before[k] != index[k] and (known or index[k] == IMPULSIVE):
                changed_events(model, t, k, before[k], index[k], 0, u_0, r_0, record)
        ambiguous_event(model, t, before, index, frame.interval.lasting, r_0, record)
        if ne > 0 and known:
            # an event function may change its sign between the two sides of a break
            values = head(frame.scan, ne)
            model.switch(t, q_0, v_0, par, values)
            for k in range(ne):
                way = layout[layout[EVENT_TABLE] + 3 * k]
                rises, falls = last_values[k] < 0.0 and values[k] >= 0.0, last_values[k] > 0.0 and values[k] <= 0.0
                if fired[k] == 0.0 and ((rises and way >= 0) or (falls and way <= 0)):
                    marks.crossing = k
        memory.numbers.valid, kept[0], kept[1] = 1.0, 1.0, t

    # ---- a branch that does not hold where the flight begins ends at once
    ns = layout[NS]
    if ns > 0:
        values = head(frame.scan, ne)
        model.switch(t, q_0, v_0, par, values)
        for k in range(ne - ns, ne):
            if values[k] < 0.0 and fired[k] == 0.0:
                marks.crossing = k

    # ---- an approach that begins closed (the start of a run, a reset) strikes at once
    near, holding, jammed, slack = False, nj > 0, False, closed_gap(settings, q_0)
    for k in range(nc):
        holds = index[k] == SLIP or index[k] == STICK
        holding, jammed = holding or holds, jammed or index[k] == IMPULSIVE
        near = near or (not holds and g[k] <= slack)
    marks.limit = h
    if near or settings.anticipates == 1.0:
        W, zeta = room.W, room.zeta
        model.kinematics(t, q_0, par, W, u_minus)
        if settings.anticipates == 1.0:
            model.curvature(t, q_0, v_0, par, zeta)
        for k in range(nc):
            row = layout[layout[CONTACT_ROW] + k]
            if index[k] == SLIP or index[k] == STICK:
                continue
            speed = row_dot(layout, W, row, v_0) + u_minus[row]
            if g[k] <= slack:
                if speed < -rest_speed(settings.rest, layout, W, row, v_0):
                    marks.pending = k
                continue
            if settings.anticipates == 1.0:
                # when would it close with the acceleration of now? the step ends there, and the next one looks again
                slope = row_dot(layout, W, row, a_0) + zeta[row]
                under = speed * speed - 2.0 * slope * g[k]
                if under > 0.0 and (speed < 0.0 or slope < 0.0):
                    time = 2.0 * g[k] / (sqrt(under) - speed) if sqrt(under) > speed else 1e300
                    if time <= 0.5 * marks.window and speed < -settings.rest:
                        marks.pending = k
                    marks.limit = smaller(marks.limit, time)
    still = marks.pending >= 0.0 or marks.crossing >= 0.0
    marks.ending = -1.0
    if holding and not still:
        limit = slip_begins(
            model, t, q_0, v_0, a_0, u_0, index, settings.rest, settings.straight, marks.window, direction,
            room,
        )  # fmt: skip
        marks.limit = straight_on(model, settings, t, smaller(marks.limit, limit), frame, record)
        marks.limit = ending_slip(model, settings, t, marks.limit, frame, record)
        still = marks.ending >= 0.0
    if jammed and not still:
        marks.limit = 1e-4 * h  # a contact without a finite force: the impulse law acts as soon as it nears
    marks.still, marks.holding = 1.0 if still else 0.0, 1.0 if holding else 0.0
    marks.near, marks.jammed_set = 1.0 if near else 0.0, 1.0 if jammed else 0.0
    return 0


@unit(F(MODEL, A, F, F, FRAME.kind, RECORD))
def ending_slip(model, settings, t, h, frame, record):
    """Let slips in space that are near enough to their end go straight on to it; return the time for that, at most h.

    Friction turns a slip the faster the slower it is, so that its end can be approached but not reached. What is left
    of it, its speed for the time that it takes to stop, and the way meanwhile, is compared with the promise. That is
    all that the turn costs where it sticks behind its end; a slip that goes on the other way is followed to the last.
    What else moves goes on meanwhile: to stop the slip at once would push a body that turns aside, for as long as it
    moves. An end too near for the clock, or for the promise, is one at once, ENDING. Steps that estimate no error have
    windows for this.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nc = layout[NC]
    u, a = frame.memory.u_begin, frame.memory.a_begin
    q, v = frame.q_start, frame.v_start
    index, tried, direction = frame.index, frame.trial, frame.memory.direction
    room = frame.interval.lasting
    W, w, zeta = room.W, room.w, room.zeta
    if frame.marks.window > 0.0:
        return h
    allowed = SHARE_OF_STOP * smaller(slip_tolerance(layout, settings, 1.0) * span_of(settings), settings.straight)
    first, known, shortest, fastest, slowing_all = -1, False, 1e300, 0.0, 0.0
    for c in range(nc):
        for i in range(layout[layout[CONTACT_ROW] + c] + 1, layout[layout[CONTACT_ROW] + c + 1]):
            fastest = larger(fastest, abs(u[i]) if index[c] == SLIP else 0.0)
    # where all slips stop what is cut of them ends with them
    whole_body = fastest <= LEFT_AT_REST * left_of_slip(layout, settings)
    left = (LEFT_AT_REST if whole_body else 1.0) * left_of_slip(layout, settings)
    for c in range(nc):
        row, end, square = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1], 0.0
        tried[c] = index[c]
        for i in range(row + 1, end):
            square += u[i] * u[i]
        if index[c] != SLIP or end - row != 3:
            continue
        if not sqrt(square) > settings.rest:
            tried[c] = STICK if whole_body else SLIP  # it counts where others stop
            continue
        if not known:
            model.kinematics(t, q, model.par, W, w)
            model.curvature(t, q, v, model.par, zeta)
            known = True
        slowing = 0.0
        for i in range(row + 1, end):
            slowing -= (row_dot(layout, W, i, a) + zeta[i]) * u[i]
        # what the promise does not show has no direction, and may grow while others stop
        slow = square <= left * left
        # it lasts |u| / (slowing / |u|) and goes half of |u| times that
        if slow or (slowing > 0.0 and square * sqrt(square) <= allowed * slowing):
            tried[c] = STICK
            slowing_all += slowing
            first = c if first < 0 else first
            if not slow:
                shortest = smaller(shortest, square / slowing)
    # slips that have just begun are as slow: where forces are not unique they could stick as well, but need not
    if first < 0 or not slowing_all > 0.0:
        return h
    powers, r = frame.spare, frame.corrected
    status = accelerate(
        model, t, q, v, tried, frame.memory.direction, 0, frame.a_try,
        r, frame.u_plus, powers, room, record,
    )  # fmt: skip
    if status != 0 or lawful(model, tried, r, powers, room) == 0:
        return h
    for c in range(nc):
        if tried[c] == STICK and index[c] == SLIP:
            row = layout[layout[CONTACT_ROW] + c]
            speed = sqrt(u[row + 1] * u[row + 1] + u[row + 2] * u[row + 2])
            direction[2 * nc + c] = 1.0
            if speed > settings.rest:
                direction[2 * c], direction[2 * c + 1] = u[row + 1] / speed, u[row + 2] / speed
    if shortest == 1e300 or shortest <= SOONEST * (abs(t) + span_of(settings)):
        frame.marks.ending = first
        return h
    return smaller(h, PAST_STOP * shortest)


@unit(F(MODEL, A, F, F, FRAME.kind, RECORD))
def straight_on(model, settings, t, h, frame, record):
    """Return the time, at most h, in which slips from rest may go straight on without missing the tolerance.

    A slip begins where its friction no longer holds it, so without acceleration: only what acts a little later tells
    how fast it will be. While it goes straight on its direction is wrong by as much as the force turns, so that the way
    that it makes meanwhile must be far below the tolerance. Steps without error estimate look at its speed instead.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nv, nc = layout[NV], layout[NC]
    direction, index = frame.memory.direction, frame.index
    straight = 0
    for c in range(nc):
        straight += 1 if index[c] == SLIP and direction[2 * nc + c] == 1.0 else 0
    if straight == 0:
        return h
    v_0, a_0 = frame.v_start, frame.memory.a_begin
    q, v, a, r, u = frame.q_shifted, frame.v_try, frame.a_try, frame.corrected, frame.u_plus
    windows = frame.marks.window > 0.0
    slow = sqrt(settings.rest)
    room = frame.interval.lasting
    W = room.W
    for _ in range(MOST_HALVINGS):
        shift_start(model, h, frame)
        status = accelerate(model, t + h, q, v, index, direction, 0, a, r, u, frame.spare, room, record)
        fastest = 0.0 if status == 0 else 1e300
        for i in range(nv):  # the mean of both accelerations moves it
            v[i] = v_0[i] + 0.5 * h * (a_0[i] + a[i])
        model.kinematics(t + h, q, model.par, W, u)
        for c in range(nc):
            row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
            if index[c] == SLIP and direction[2 * nc + c] == 1.0:
                speed = 0.0
                for i in range(row + 1, end):
                    speed += (row_dot(layout, W, i, v) + u[i]) ** 2
                fastest = larger(fastest, sqrt(speed))
        if (fastest <= slow) if windows else (fastest * h <= 2.0 * settings.straight):
            break
        h *= 0.5
    if not windows:
        share = 1.0
        for _ in range(MOST_SHORTENED):
            if straight_direction(model, t, share * h, frame, record) == 1:
                return share * h
            share *= 0.5
    return h


@unit(I(MODEL, F, FRAME.kind), small=True)
def shift_start(model, h, frame):
    """Write the state a time h behind the start, with its acceleration, to q_shifted and v_try; a_try is scratch."""
    layout = model.layout
    q_0, v_0, a_0 = frame.q_start, frame.v_start, frame.memory.a_begin
    q, v, a = frame.q_shifted, frame.v_try, frame.a_try
    for i in range(layout[NV]):
        v[i] = v_0[i] + h * a_0[i]
        a[i] = 0.5 * (v_0[i] + v[i])
    model.rate(q_0, a, model.par, q)
    for i in range(layout[NQ]):
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
    nc, room = layout[NC], frame.interval.lasting
    direction, index, nobody = frame.memory.direction, frame.index, frame.trial
    q, v, a, r, u, powers = frame.q_shifted, frame.v_try, frame.a_try, frame.corrected, frame.u_plus, frame.spare
    sums, before, s = frame.leads, frame.way_before, room.begin.s
    for k in range(nc):
        nobody[k] = 0
    for i in range(2 * nc):
        before[i] = direction[i]
    shift_start(model, 0.5 * h, frame)
    if begin_slips(model, t + 0.5 * h, q, v, 0, index, direction, nobody, a, r, u, powers, room, record) == 0:
        return 1
    for c in range(nc):
        row = layout[layout[CONTACT_ROW] + c]
        if may_begin(model, index, direction, nobody, c) == 1:
            sums[row], sums[row + 1], sums[row + 2] = start_of(model, c, 0.0, a, s, room), 0.0, 0.0
    shift_start(model, h, frame)
    status = accelerate(model, t + h, q, v, index, direction, 0, a, r, u, powers, room, record)
    fits = status == 0
    for end in range(2):
        if end == 1:
            fits = act_at_start(model, t, frame, record) == 0 and fits
        for c in range(nc):
            row = layout[layout[CONTACT_ROW] + c]
            if fits and may_begin(model, index, direction, nobody, c) == 1:
                start_of(model, c, 0.0, frame.memory.a_begin if end == 1 else a, s, room)
                sums[row + 1], sums[row + 2] = sums[row + 1] + s[0], sums[row + 2] + s[1]
    for c in range(nc):
        row, s_1, s_2 = layout[layout[CONTACT_ROW] + c], direction[2 * c], direction[2 * c + 1]
        if may_begin(model, index, direction, nobody, c) == 1:
            # of an even motion 2 and 0 times what it is halfway
            forward, aside = sums[row + 1] * s_1 + sums[row + 2] * s_2, sums[row + 2] * s_1 - sums[row + 1] * s_2
            fits = fits and forward >= sums[row] and abs(aside) <= sums[row]
    if fits:
        return 1
    for i in range(2 * nc):
        direction[i] = before[i]
    act_at_start(model, t, frame, record)
    return 0


@unit(I(MODEL, F, FRAME.kind, RECORD))
def act_at_start(model, t, frame, record):
    """Write what acts on the start under the index set and the directions of now."""
    memory = frame.memory
    return accelerate(
        model, t, frame.q_start, frame.v_start, frame.index, memory.direction, 0, memory.a_begin, memory.r_begin,
        memory.u_begin, memory.powers_begin, frame.interval.lasting, record,
    )  # fmt: skip


@unit(F(MODEL, F, A, A, A, A, J, F, F, F, A, LASTING.kind))
def slip_begins(model, t, q, v, a, u, index, rest, straight, window, direction, room):
    """Return the step allowed while a slip in space begins or, with windows, comes to its end.

    The friction of a slip from rest turns infinitely fast with rounding: until it is fast enough to turn it goes
    straight on; as far as the way `straight` the direction in which it begins is good enough. It
    turns as fast before it stops; steps that estimate no error would pass the stop, so they halve the way to it.
    """
    layout = model.layout
    nc, W, zeta, longest, slow = layout[NC], room.W, room.zeta, 1e300, sqrt(rest)
    for c in range(nc):
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        direction[2 * nc + c] = 0.0
        if index[c] != SLIP or end - row != 3:
            continue
        speed = sqrt(u[row + 1] * u[row + 1] + u[row + 2] * u[row + 2])
        if speed > rest and (window == 0.0 or speed <= slow):
            continue
        model.kinematics(t, q, model.par, W, room.w)
        model.curvature(t, q, v, model.par, zeta)
        fast, slowing = 0.0, 0.0
        for i in range(row + 1, end):
            change = row_dot(layout, W, i, a) + zeta[i]
            fast, slowing = larger(fast, abs(change)), slowing - change * u[i]
        if speed <= rest:
            direction[2 * nc + c] = 1.0
            fast = larger(fast, 1e-300)
            longest = smaller(longest, slow / fast if window > 0.0 else sqrt(2.0 * straight / fast))
        elif slowing > 0.0:
            longest = smaller(longest, 0.5 * speed * speed / slowing)
    return longest
