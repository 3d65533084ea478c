"""An accumulation of impacts behind a flight: followed to its end with frozen coefficients (flight/zeno.py)."""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import head, larger, smaller, unit, whole
from saltus.compile.types import MODEL, RECORD, STAGED, A, F, I
from saltus.flight.arrange import arrange
from saltus.flight.dense import HEADER
from saltus.flight.frame import (
    FLIGHT_SETTINGS,
    FRAME,
    FROM_PROMISE,
    PLACE_SCALE,
    PUSH_SCALE,
    SPEED_SCALE,
    VELOCITY_SCALE,
    promised,
    span_of,
)
from saltus.flight.passed import passes_surface
from saltus.flight.piece import put_piece
from saltus.flight.zeno import CLOSED as ENDED
from saltus.flight.zeno import COUNT, DURATION, MEAN, accumulate
from saltus.lasting.hold import accelerate, row_size
from saltus.lasting.index_set import OPEN
from saltus.lasting.interval import closed_gap
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import CONTACT_ROW, F_FREE, FLAGS, LAW_FLOATS, NC, NQ, NR, NV, NW, W_COL, W_PTR
from saltus.memory.profile import factor, multiply, quadratic, solve, solve_row
from saltus.memory.record import ACCUMULATION, EVENT_COLUMNS, EVENT_COUNT
from saltus.reaction.react import row_add, row_dot
from saltus.reaction.report import new_event

VISIBLE = 20.0  # bounces lower than ten times the gap that counts as closed
FROZEN = 0.1  # of the tolerance: what the turning of frozen rows, and accelerations that are not linear, may cost
LEFT_OUT = 0.2  # of the tolerance: velocities, positions and impulses that the bounces themselves have
ENDED_SHARE = 1e-12  # of the speed of the bounces: they are over, nobody sees what is left
NEAR = 100.0  # over the square of the speed: weight times gap of contacts in flight that take part
NOISE = 4e-15  # of the parts of a row velocity: what bounces more slowly is rounding


@unit(F(MODEL, A, I, F, FRAME.kind, LASTING.kind))
def slow_bounce(model, settings, contact, pressed, frame, room):
    """Return the speed below which the bounces of a contact are slow: the setting, or what the promise allows.

    Bounces that begin with u and are pressed together with p last 2 u / (p (1 - e)) and rise to u^2 / (2 p); meanwhile
    velocities are wrong by u, positions by the height, and the impulse m (u + p t) acts only at their end.
    room: masses and rows of the state; its last column is left with what u = 1 does to the velocities
    """
    settings = FLIGHT_SETTINGS(settings)
    if not settings.zeno == FROM_PROMISE:
        return settings.zeno
    layout = model.layout
    nv, row, e = layout[NV], layout[layout[CONTACT_ROW] + contact], model.constants[LAW_FLOATS * contact]
    lu, W, X = room.lu, room.W, room.X
    column, velocity, place, most = (
        room.column,
        promised(layout, settings, VELOCITY_SCALE),
        promised(layout, settings, PLACE_SCALE),
        frame.memory.most_speed,
    )
    solve_row(layout, lu, W, row, X, column)
    for i in range(nv):
        column[i] = 0.0
    row_add(layout, X, row, 1.0, column)
    inverse = row_dot(layout, W, row, column)
    if not pressed > 0.0 or not inverse > 0.0 or not e < 1.0:
        return 0.0
    fast, far = 0.0, 0.0
    for i in range(nv):
        column[i] /= inverse
        fast = larger(fast, abs(column[i]) / (velocity[i] + most[i]))
        far = larger(far, abs(column[i]) / place[i])
    allowed, span = LEFT_OUT * settings.atol * pressed, span_of(settings)
    square = smaller(span * (1.0 - e) / fast, 2.0 / far)
    push = promised(layout, settings, PUSH_SCALE)[row] + frame.memory.most_pushed[row]
    square = smaller(square, push * inverse * span * (1.0 - e) * (1.0 - e) / (3.0 - e))
    return sqrt(allowed * square)


@unit(I(MODEL, A, F, FRAME.kind, A))
def bouncing(model, settings, t, frame, fastest):
    """Mark the contacts whose bounces are slow and low; return how many, 0 while one still bounces high.

    fastest: two numbers, the largest speed of their bounces, and the one of bounces that are so low that they could
    hardly be told from lasting contact. BOUNCES of the frame: by how much velocities jump.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nv, nc = layout[NV], layout[NC]
    room = frame.interval.lasting
    q, v, g, u_plus, jumps = frame.q_end, frame.v_end, frame.gaps, frame.u_plus, frame.bounces
    index, closed, member = frame.index, frame.closed, frame.member
    a_0, members = frame.memory.a_begin, 0
    W, column, w, zeta = room.W, room.column, room.w, room.zeta
    frozen(model, t, q, v, room)
    low, slack = 0.0, closed_gap(settings, q)
    for k in range(nc):
        if closed[k] == 1 and index[k] == OPEN:
            row = layout[layout[CONTACT_ROW] + k]
            pressed = -(row_dot(layout, W, row, a_0) + zeta[row])
            low = larger(low, sqrt(VISIBLE * slack * larger(pressed, 0.0)))
    fastest[0], fastest[1] = 0.0, low
    for i in range(nv):
        jumps[i] = 0.0
    for k in range(nc):
        row = layout[layout[CONTACT_ROW] + k]
        member[k] = 0
        if index[k] != OPEN or not model.constants[LAW_FLOATS * k] < 1.0:
            continue
        pressed = -(row_dot(layout, W, row, a_0) + zeta[row])
        if closed[k] == 1:
            bounce = u_plus[row]
            if not bounce > 0.0:
                continue
        else:
            # in flight: as fast as it will be when it lands
            bounce = row_dot(layout, W, row, v) + w[row]
            bounce = sqrt(bounce * bounce + 2.0 * larger(pressed * g[k], 0.0))
            if not pressed > 0.0 or not pressed * g[k] < NEAR * fastest[0] * fastest[0]:
                continue
        slow = larger(slow_bounce(model, settings, k, pressed, frame, room), low)
        if bounce < slow:
            member[k] = 1
            members += 1
            fastest[0] = larger(fastest[0], bounce)
            if settings.zeno == FROM_PROMISE:
                for i in range(nv):
                    jumps[i] = larger(jumps[i], bounce * abs(column[i]))
        elif closed[k] == 1:
            return 0  # one of the closed contacts still bounces high
    return members


@unit(I(MODEL, A, F, FRAME.kind))
def negligible(model, settings, duration, frame):
    """Return whether what the end of an accumulation leaves out of it is a small share of the promise."""
    settings = FLIGHT_SETTINGS(settings)
    if settings.zeno != FROM_PROMISE:
        return 1
    layout = model.layout
    jumps, P = frame.bounces, frame.p_zeno
    velocity, push = promised(layout, settings, VELOCITY_SCALE), promised(layout, settings, PUSH_SCALE)
    most_speed, most_pushed = frame.memory.most_speed, frame.memory.most_pushed
    allowed, share = LEFT_OUT * settings.atol, 0.5 * duration / span_of(settings)
    for i in range(layout[NV]):
        if share * jumps[i] > allowed * (velocity[i] + most_speed[i]):
            return 0
    for i in range(layout[NR]):
        if share * abs(P[i]) > allowed * (push[i] + most_pushed[i]):
            return 0
    return 1


@unit(I(MODEL, STAGED, A, F, FRAME.kind, RECORD))
def end_at_once(model, staged, settings, t, frame, record):
    """Let bounces that nobody could tell from lasting contact be over, where there is no following them.

    They are lower than gaps are known: left alone they would be kept up by rounding without end.
    """
    nc, near = model.layout[NC], VISIBLE * closed_gap(settings, frame.q_end)
    resting, g = frame.resting, frame.gaps
    for k in range(nc):
        if frame.member[k] == 1 and (frame.closed[k] == 1 or g[k] <= near):
            resting[k] = 1
    return arrange(model, staged, settings, t, 1, 1, frame, record)


@unit(I(MODEL, STAGED, A, F, F, FRAME.kind, RECORD))
def follow(model, staged, settings, t, h, frame, record):
    """Follow an accumulation that begins at the end of the flight, if there is one; nothing changes if it fails."""
    layout, par, header = model.layout, model.par, record.header
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    marks, nodes, R = frame.marks, frame.nodes, frame.node_forces
    n = whole(marks.nodes)
    Q_dot, a = head(nodes.Q_dot, n * nq), head(nodes.a, n * nv)
    q, v, g, shifted, v_try = frame.q_end, frame.v_end, frame.gaps, frame.q_shifted, frame.v_try
    a_try, slope, moved, f = frame.a_try, frame.slope, frame.moved, frame.force
    P, summary, info, u_plus = frame.p_zeno, frame.summary, frame.info, frame.u_plus
    u_first, M = frame.u_first, frame.mass
    a_0, r_0 = frame.memory.a_begin, frame.memory.r_begin
    index, before, resting, stopped, candidate, member = (
        frame.index,
        frame.before,
        frame.resting,
        frame.stopped,
        frame.candidate,
        frame.member,
    )
    room = frame.interval.lasting
    W, size = room.W, marks.length
    begin = t + size
    fastest = head(frame.weights, 2)
    members = bouncing(model, settings, begin, frame, fastest)
    if members == 0:
        return 0
    visible = fastest[0] > fastest[1]
    for i in range(nv):
        slope[i] = 0.0
    status, u_now = 0, frame.u_minus
    rate, jerk = frame.r_last, frame.impulse
    w, zeta = room.w, room.zeta
    frozen(model, begin, q, v, room)
    end_speed = ENDED_SHARE * fastest[0]
    for i in range(nr):
        u_now[i] = row_dot(layout, W, i, v) + w[i]
        rate[i], jerk[i] = row_dot(layout, W, i, a_0) + zeta[i], 0.0
    for k in range(nc):
        if member[k] == 1:
            end_speed = larger(end_speed, NOISE * row_size(layout, W, layout[layout[CONTACT_ROW] + k], v))
    for attempt in range(2):
        for i in range(nv):
            v_try[i] = v[i]
        status = accumulate(
            model, staged.reaction, index, member, a_0, slope, g, u_now, rate, jerk, fastest[0], end_speed, h - size,
            v_try, moved, P, summary, info, frame.micro, room, record,
        )  # fmt: skip
        if status != ENDED and not visible:
            return end_at_once(model, staged, settings, begin, frame, record)
        if status != ENDED or (visible and negligible(model, settings, summary[DURATION], frame) == 0):
            return 0
        model.rate(q, moved, par, shifted)
        for i in range(nq):
            shifted[i] += q[i]
        model.retract(shifted, par)
        if attempt == 0:
            # the acceleration at the end makes that of the second attempt linear in time
            status = accelerate(
                model, begin + summary[DURATION], shifted, v_try, index, frame.memory.direction,
                0, a_try, frame.corrected, u_first, frame.spare, room, record,
            )  # fmt: skip
            if status != 0:
                return 0
            # the second attempt: all accelerations linear in time, masses and rows of when the impulses act
            share = summary[MEAN] / larger(summary[DURATION], 1e-300)
            frozen(model, begin + summary[DURATION], shifted, v_try, room)
            for i in range(nr):
                jerk[i] = (row_dot(layout, W, i, a_try) + zeta[i] - rate[i]) / larger(summary[DURATION], 1e-300)
            for i in range(nv):
                slope[i] = (a_try[i] - a_0[i]) / larger(summary[DURATION], 1e-300)
                a_try[i] = v[i] + share * (v_try[i] - v[i])
                f[i] = share * moved[i]
            model.rate(q, f, par, shifted)
            for i in range(nq):
                shifted[i] += q[i]
            model.retract(shifted, par)
            frozen(model, begin + summary[MEAN], shifted, a_try, room)

    # an open contact that would close meanwhile must not be passed
    ahead, slack = frame.scan, closed_gap(settings, shifted)
    model.gap(begin + summary[DURATION], shifted, par, ahead)
    for k in range(nc):
        if member[k] == 0 and index[k] == OPEN and ahead[k] < -slack:
            return 0
    if passes_surface(model, settings, begin, frame) == 1:
        return 0 if visible else end_at_once(model, staged, settings, begin, frame, record)
    frozen(model, begin, q, v, room)
    if visible:
        if turned(model, settings, begin + summary[DURATION], frame) > FROZEN:
            return 0
        status = bent(model, settings, begin, frame, record)
        if status < 0:
            return -status
        if status == 1:
            return 0

    # ---- energy, impulse, dense output
    duration, pushed = summary[DURATION], 0.0
    for i in range(nv):
        f[i] = 0.0
    model.mass(begin, q, par, M)
    multiply(layout, M, a_0, f)
    lost, given = 0.5 * (quadratic(layout, M, v) - quadratic(layout, M, v_try)), 0.0
    for i in range(nv):
        given += f[i] * moved[i]
    frozen(model, begin, q, v, room)
    for i in range(nr):
        given -= r_0[i] * row_dot(layout, W, i, moved)  # M a is force and reaction: only the force does work here
    header.force_work += given
    lost += given
    gained = -0.5 * quadratic(layout, M, v_try)
    model.mass(begin + duration, shifted, par, M)
    header.drive_work += gained + 0.5 * quadratic(layout, M, v_try)
    for k in range(nc):
        pushed += P[layout[layout[CONTACT_ROW] + k]] if member[k] == 1 else 0.0
    for j in range(n):
        for i in range(nv):
            a[j * nv + i] = (v_try[i] - v[i]) / duration
        for i in range(nr):
            R[j * nr + i] = r_0[i]
        for i in range(nq):
            Q_dot[j * nq + i] = (shifted[i] - q[i]) / duration
    size += duration
    header.h_used, marks.length = size, size
    record.dense[HEADER + nr + 1] = (begin - t) / size
    used = put_piece(
        model, (begin - t) / size, 1.0, q, v, n, a, R, Q_dot, whole(marks.used), record.dense
    )  # fmt: skip
    marks.used, marks.pieces_used = used, 2.0
    for k in range(nc):
        row, end = layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]
        before[k] = index[k]
        resting[k] = member[k]
        if member[k] == 1:
            record.dissipation[k] += lost * P[row] / larger(pushed, 1e-300)
            new_event(t + size, k, ACCUMULATION, row, end, u_plus, u_first, P, record)
            place = (whole(header.events_used) - 1) * EVENT_COLUMNS + EVENT_COUNT
            record.events[place] = summary[COUNT] / members
    for i in range(nr):
        record.impulse[i] += P[i] + duration * r_0[i]
        u_plus[i] = 0.0
    for i in range(nq):
        q[i] = shifted[i]
    for i in range(nv):
        v[i], record.v_minus[i] = v_try[i], v_try[i]
    model.gap(t + size, q, par, g)
    for k in range(nc):
        candidate[k], stopped[k] = 0, 0
    return arrange(model, staged, settings, t + size, 0, 1, frame, record)


@unit(I(MODEL, F, A, A, LASTING.kind))
def frozen(model, t, q, v, room):
    """Write the factors of M, W, w and zeta of a state where `border` and `accumulate` expect them."""
    model.mass(t, q, model.par, room.lu)
    status = factor(model.layout, room.lu)
    room.known.factored = 1.0
    model.kinematics(t, q, model.par, room.W, room.w)
    model.curvature(t, q, v, model.par, room.zeta)
    return status


@unit(F(MODEL, A, F, FRAME.kind))
def turned(model, settings, t, frame):
    """Return what it means for the velocity, over the tolerance, that the rows were frozen while they turned."""
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nv, nc, nw = layout[NV], layout[NC], layout[NW]
    room = frame.interval.lasting
    lu, W, column = room.lu, room.W, frame.v_new
    W_end, w_end = head(frame.scan, nw), frame.corrected
    P, push, v = frame.p_zeno, frame.force, frame.v_end
    model.kinematics(t, frame.q_shifted, model.par, W_end, w_end)
    for i in range(nv):
        push[i] = 0.0
    columns = layout[W_COL]
    for c in range(nc):
        if frame.member[c] == 0:
            continue
        for row in range(layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]):
            for k in range(layout[layout[W_PTR] + row], layout[layout[W_PTR] + row + 1]):
                push[layout[columns + k]] += 0.1 * (W_end[k] - W[k]) * P[row]
    solve(layout, lu, push, push, column)
    worst, size, speed = 0.0, 0.0, promised(layout, settings, SPEED_SCALE)
    for i in range(nv):
        size = larger(size, abs(v[i]))
    for i in range(nv):
        worst = larger(worst, abs(push[i]) / (settings.atol * speed[i] + settings.rtol * size))
    return worst


@unit(I(MODEL, A, F, FRAME.kind, RECORD))
def bent(model, settings, begin, frame, record):
    """Return 1 if accelerations that were linear over the bounces are not so in their middle, or a negative status.

    A drive may be faster than the bounces, and at their two ends one does not see it. Accelerations that are the same
    at both ends, by forces that do not know the motion, are constant.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nq, nv = layout[NQ], layout[NV]
    index = frame.index
    room = frame.interval.lasting
    a_0, slope, a_middle, v_middle, half = frame.memory.a_begin, frame.slope, frame.a_try, frame.v_middle, frame.force
    v, v_end, moved, q, q_middle = frame.v_end, frame.v_try, frame.moved, frame.q_end, frame.q_middle
    duration, known = frame.summary[DURATION], (layout[FLAGS] & F_FREE) != 0
    for i in range(nv):
        v_middle[i], half[i] = 0.5 * (v[i] + v_end[i]), 0.5 * moved[i]
        known = known and slope[i] == 0.0
    if known:
        return 0
    model.rate(q, half, model.par, q_middle)
    for i in range(nq):
        q_middle[i] += q[i]
    model.retract(q_middle, model.par)
    status = accelerate(
        model, begin + 0.5 * duration, q_middle, v_middle, index, frame.memory.direction, 0,
        a_middle, frame.corrected, frame.u_first,
        frame.spare, room, record,
    )  # fmt: skip
    if status != 0:
        return -status
    speed, size = promised(layout, settings, SPEED_SCALE), 0.0
    for i in range(nv):
        size = larger(size, abs(v[i]))
    for i in range(nv):
        off = 2.0 / 3.0 * duration * abs(a_middle[i] - a_0[i] - 0.5 * duration * slope[i])
        if off > FROZEN * (settings.atol * speed[i] + settings.rtol * size):
            return 1
    return 0
