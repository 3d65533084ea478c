"""An accumulation of impacts behind a flight: followed to its end with frozen coefficients (flight/zeno.py)."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import head, larger, row_of, smaller, unit, whole
from saltus.compile.types import MODEL, RECORD, STAGED, A, F, I
from saltus.flight.arrange import arrange, hold_at_end
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, FROM_PROMISE, SCALE, promised, span_of
from saltus.flight.passed import passes_surface
from saltus.flight.zeno import BOUNCE, accumulate
from saltus.lasting.border import PROJECTED
from saltus.lasting.held_rows import factor_held, solve_held
from saltus.lasting.hold import accelerate, hold_rows, row_size
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import closed_gap
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import F_FREE
from saltus.memory.profile import factor, multiply, quadratic, solve, solve_row
from saltus.memory.record import COLUMN, EVENT
from saltus.memory.vectors import add, clear, clear_marks, copy, copy_marks, largest
from saltus.reaction.dense_block import DENSE_HEADER, put_piece
from saltus.reaction.react import row_add, row_dot
from saltus.reaction.report import new_event


class _Follow(NamedTuple):
    """Tuned numbers of this file."""

    visible: float = 20.0  # bounces lower than ten times the gap that counts as closed
    # of the tolerance: what the turning of frozen rows, and accelerations that are not linear, may cost
    frozen: float = 0.1
    left_out: float = 0.2  # of the tolerance: velocities, positions and impulses that the bounces themselves have
    ended_share: float = 1e-12  # of the speed of the bounces: they are over, nobody sees what is left
    near: float = 100.0  # over the square of the speed: weight times gap of contacts in flight that take part
    noise: float = 4e-15  # of the parts of a row velocity: what bounces more slowly is rounding
    solved: float = 1e-12  # of the velocities of the rows: tolerance of contact solvers


FOLLOW = _Follow()


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
    nv, row, e = layout.nv, layout[layout.contact_row + contact], model.e[contact]
    lu, W, X = room.lu, room.W, room.X
    column, velocity = room.column, promised(layout, settings, SCALE.velocity)
    place, most = promised(layout, settings, SCALE.place), frame.memory.most_speed
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
    allowed, span = FOLLOW.left_out * settings.atol * pressed, span_of(settings)
    square = smaller(span * (1.0 - e) / fast, 2.0 / far)
    push = promised(layout, settings, SCALE.push)[row] + frame.memory.most_pushed[row]
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
    nv, nc = layout.nv, layout.nc
    room = frame.interval.lasting
    q, v, g, u_plus, jumps = frame.ends.q, frame.ends.v, frame.ends.g, frame.ends.u_plus, frame.bounces
    index, closed, member = frame.ends.index, frame.ends.closed, frame.micro.member
    a_0, members = frame.memory.acting.a, 0
    W, column, w, zeta = room.W, room.column, room.w, room.zeta
    frozen(model, t, q, v, room)
    low, slack = 0.0, closed_gap(settings, q)
    for k in range(nc):
        if closed[k] == 1 and index[k] == INDEX.open:
            row = layout[layout.contact_row + k]
            pressed = -(row_dot(layout, W, row, a_0) + zeta[row])
            low = larger(low, sqrt(FOLLOW.visible * slack * larger(pressed, 0.0)))
    fastest[0], fastest[1] = 0.0, low
    for i in range(nv):
        jumps[i] = 0.0
    for k in range(nc):
        row = layout[layout.contact_row + k]
        member[k] = 0
        if index[k] != INDEX.open or not model.e[k] < 1.0:
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
            if not pressed > 0.0 or not pressed * g[k] < FOLLOW.near * fastest[0] * fastest[0]:
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
    jumps, P = frame.bounces, frame.micro.P
    velocity, push = promised(layout, settings, SCALE.velocity), promised(layout, settings, SCALE.push)
    most_speed, most_pushed = frame.memory.most_speed, frame.memory.most_pushed
    allowed, share = FOLLOW.left_out * settings.atol, 0.5 * duration / span_of(settings)
    for i in range(layout.nv):
        if share * jumps[i] > allowed * (velocity[i] + most_speed[i]):
            return 0
    for i in range(layout.nr):
        if share * abs(P[i]) > allowed * (push[i] + most_pushed[i]):
            return 0
    return 1


@unit(I(MODEL, STAGED, A, F, FRAME.kind, RECORD))
def end_at_once(model, staged, settings, t, frame, record):
    """Let bounces that nobody could tell from lasting contact be over, where there is no following them.

    They are lower than gaps are known: left alone they would be kept up by rounding without end.
    """
    nc, near = model.layout.nc, FOLLOW.visible * closed_gap(settings, frame.ends.q)
    resting, g = frame.ends.resting, frame.ends.g
    for k in range(nc):
        if frame.micro.member[k] == 1 and (frame.ends.closed[k] == 1 or g[k] <= near):
            resting[k] = 1
    status = rub_less(model, settings, t, frame, record)
    if status != 0:
        return status
    return arrange(model, staged, settings, t, 1, 1, frame, record)


@unit(I(MODEL, A, F, FRAME.kind, RECORD))
def rub_less(model, settings, t, frame, record):
    """Stop what comes to rest at once, with the friction that goes with the impulses of that.

    While a body bounces, its contacts press less than those of a body at rest, by its momentum: to stop it at once
    takes impulses that pull. Where it slides it is rubbed less as well, by mu times as much.
    """
    layout, ends, room = model.layout, frame.ends, frame.interval.lasting
    index, held, direction, u = ends.index, ends.held, frame.memory.acting.direction, ends.u_start
    v, x, rows, slip = ends.v, room.x, room.rows, room.slip
    if hold_at_end(model, settings, t, 1, frame) == 0:
        return 0
    for k in range(layout.nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        before, sliding = index[k], 0.0
        index[k] = INDEX.open if held[k] == 0 else INDEX.stick
        for i in range(row + 1, end):
            sliding += frame.slips[i] * frame.slips[i]
        if held[k] == PROJECTED.normal and sliding > 0.0:
            index[k] = INDEX.slip
            if before != INDEX.slip:
                for i in range(row + 1, end):
                    direction[2 * k + i - row - 1] = frame.slips[i] / sqrt(sliding)
        held[k] = before
    status = hold_rows(model, t, ends.q, v, index, direction, frame.probe.r, u, room)
    n = room.held.count if status == 0 else 0  # what jams in its slip is left to the law
    room.held.redundant = factor_held(model, n, room) if n > 0 else 0
    for i in range(n):
        room.b[i] = -u[rows[i]]
    if n > 0:
        solve_held(model, n, room)
    for i in range(n):
        row_add(layout, room.X, rows[i], x[i], v)
        record.impulse[rows[i]] += x[i]
        for k in range(layout.nc):
            if layout[layout.contact_row + k] == rows[i] and index[k] == INDEX.slip:
                for j in range(rows[i] + 1, layout[layout.contact_row + k + 1]):
                    P = -model.mu[k] * slip[j] * x[i]
                    record.impulse[j] += P
                    record.dissipation[k] -= P * u[j]
                    record.header.drive_work -= P * room.w[j]
    copy_marks(held, index)
    return 0


@unit(I(MODEL, STAGED, A, F, F, FRAME.kind, RECORD))
def follow(model, staged, settings, t, h, frame, record):
    """Follow an accumulation that begins at the end of the flight, if there is one; nothing changes if it fails."""
    layout, ends, marks, micro, room = model.layout, frame.ends, frame.marks, frame.micro, frame.interval.lasting
    begin, fastest = t + marks.length, head(frame.weights, 2)
    members = bouncing(model, settings, begin, frame, fastest)
    if members == 0:
        return 0
    visible = fastest[0] > fastest[1]
    begin_bounces(model, begin, fastest[0], h - marks.length, frame)
    for attempt in range(2):
        copy(ends.v, micro.v)
        ended = accumulate(model, staged.reaction, ends.index, frame.micro_gaps, micro, room, record) == BOUNCE.closed
        if not ended and not visible:
            return end_at_once(model, staged, settings, begin, frame, record)
        if not ended or (visible and negligible(model, settings, micro.summary.duration, frame) == 0):
            return 0
        displace(model, 1.0, frame)
        # the acceleration at the end makes that of the second attempt linear in time
        if attempt == 0 and bend_bounces(model, begin, frame, record) != 0:
            return 0

    # an open contact that would close meanwhile must not be passed
    ahead, slack, t_end = frame.scan, closed_gap(settings, frame.q_shifted), begin + micro.summary.duration
    model.gap(t_end, frame.q_shifted, model.par, ahead)
    for k in range(layout.nc):
        if micro.member[k] == 0 and ends.index[k] == INDEX.open and ahead[k] < -slack:
            return 0
    if passes_surface(model, settings, begin, frame) == 1:
        return 0 if visible else end_at_once(model, staged, settings, begin, frame, record)
    frozen(model, begin, ends.q, ends.v, room)
    if visible:
        if turned(model, settings, t_end, frame) > FOLLOW.frozen:
            return 0
        status = bent(model, settings, begin, frame, record)
        if status < 0:
            return -status
        if status == 1:
            return 0
    enter_bounces(model, t, members, frame, record)
    return arrange(model, staged, settings, t + marks.length, 0, 1, frame, record)


@unit(I(MODEL, F, F, F, FRAME.kind))
def begin_bounces(model, t, fastest, longest, frame):
    """Write what bounces begin with: gaps, velocities and accelerations of the rows, speeds and time that bound them.

    What has struck together is closed. What rounding says of its gap would be seen once bounces are as low: corners
    that land together would land in turn, and turn a body that does not turn.
    """
    layout, ends, micro, room = model.layout, frame.ends, frame.micro, frame.interval.lasting
    W, a_0, end_speed, known = room.W, frame.memory.acting.a, FOLLOW.ended_share * fastest, 0.0
    frozen(model, t, ends.q, ends.v, room)
    copy(a_0, micro.a)
    clear(micro.slope)
    clear(micro.jerk_0)
    for i in range(layout.nr):
        micro.u_0[i] = row_dot(layout, W, i, ends.v) + room.w[i]
        micro.rate_0[i] = row_dot(layout, W, i, a_0) + room.zeta[i]
    for k in range(layout.nc):
        for i in range(layout[layout.contact_row + k], layout[layout.contact_row + k + 1]):
            known = larger(known, FOLLOW.solved * abs(micro.u_0[i])) if micro.member[k] == 1 else known
        frame.micro_gaps[k] = 0.0 if ends.closed[k] == 1 else larger(ends.g[k], 0.0)
        if micro.member[k] == 1:
            end_speed = larger(end_speed, FOLLOW.noise * row_size(layout, W, layout[layout.contact_row + k], ends.v))
    # what is slower than impacts are solved for is over: their errors would keep it up without end
    micro.limits.eps, micro.limits.end_speed, micro.limits.longest = fastest, larger(end_speed, known), longest
    micro.limits.known = known
    return 0


@unit(I(MODEL, F, FRAME.kind))
def displace(model, share, frame):
    """Write to q_shifted where a share of the way of the bounces leads; frame.force: that share."""
    q, way, q_dot = frame.ends.q, frame.force, frame.q_shifted
    for i in range(model.layout.nv):
        way[i] = share * frame.micro.moved[i]
    model.rate(q, way, model.par, q_dot)
    add(q, q_dot)
    model.retract(q_dot, model.par)
    return 0


@unit(I(MODEL, F, FRAME.kind, RECORD))
def bend_bounces(model, begin, frame, record):
    """Make all accelerations of the bounces linear in time, masses and rows those of when the impulses act."""
    layout, ends, micro, room, probe = model.layout, frame.ends, frame.micro, frame.interval.lasting, frame.probe
    summary, a_end, t_end = micro.summary, frame.probe.a, begin + micro.summary.duration
    status = accelerate(
        model, t_end, frame.q_shifted, micro.v, ends.index, frame.memory.acting.direction, a_end, probe.r, ends.u_start,
        probe.powers, room, record,
    )  # fmt: skip
    if status != 0:
        return status
    duration = larger(summary.duration, 1e-300)
    share = summary.middle / duration
    frozen(model, t_end, frame.q_shifted, micro.v, room)
    for i in range(layout.nr):
        micro.jerk_0[i] = (row_dot(layout, room.W, i, a_end) + room.zeta[i] - micro.rate_0[i]) / duration
    for i in range(layout.nv):
        micro.slope[i] = (a_end[i] - micro.a[i]) / duration
        a_end[i] = ends.v[i] + share * (micro.v[i] - ends.v[i])
    displace(model, share, frame)
    frozen(model, begin + summary.middle, frame.q_shifted, a_end, room)
    return 0


@unit(I(MODEL, F, I, FRAME.kind, RECORD))
def enter_bounces(model, t, members, frame, record):
    """Enter energy, impulses, events and dense output of the bounces into the books; take their end over."""
    layout, ends, marks, micro, header = model.layout, frame.ends, frame.marks, frame.micro, record.header
    nq, nv, nr, duration, begin = layout.nq, layout.nv, layout.nr, micro.summary.duration, t + marks.length
    nodes, shifted, r_0, P = frame.nodes, frame.q_shifted, frame.memory.acting.r, micro.P
    lost, pushed, first = energy_of_bounces(model, begin, frame, record), 0.0, marks.length
    for k in range(layout.nc):
        pushed += P[layout[layout.contact_row + k]] if micro.member[k] == 1 else 0.0
    size = first + duration
    # bodies that lie on each other collapse in no time, or in less than a rounding: their piece has no length
    place = first / size
    lasting = (1.0 - place) * size
    rate = 1.0 / lasting if lasting > 0.0 else 0.0
    for j in range(whole(marks.nodes)):
        for i in range(nv):
            nodes.a[j * nv + i] = rate * (micro.v[i] - ends.v[i])
        copy(r_0, row_of(frame.node_forces, j, nr))
        for i in range(nq):
            nodes.Q_dot[j * nq + i] = rate * (shifted[i] - ends.q[i])
    header.h_used, marks.length = size, size
    record.dense[DENSE_HEADER + nr + 1] = place
    marks.used = put_piece(
        model, place, 1.0, ends.q, ends.v, whole(marks.nodes), nodes.a, frame.node_forces, nodes.Q_dot,
        whole(marks.used), record.dense,
    )  # fmt: skip
    marks.pieces_used = 2.0
    copy_marks(ends.index, ends.before)
    copy_marks(micro.member, ends.resting)
    for k in range(layout.nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        if micro.member[k] == 1:
            record.dissipation[k] += lost * P[row] / larger(pushed, 1e-300)
            new_event(t + size, k, EVENT.accumulation, row, end, ends.u_plus, ends.u_start, P, record)
            place = (whole(header.events_used) - 1) * COLUMN.all + COLUMN.impacts
            record.events[place] = micro.summary.count / members
    for i in range(nr):
        record.impulse[i] += P[i] + duration * r_0[i]
    clear(ends.u_plus)
    copy(shifted, ends.q)
    copy(micro.v, ends.v)
    copy(micro.v, record.v_minus)
    model.gap(t + size, ends.q, model.par, ends.g)
    clear_marks(ends.candidate)
    clear_marks(ends.stopped)
    return 0


@unit(F(MODEL, F, FRAME.kind, RECORD))
def energy_of_bounces(model, begin, frame, record):
    """Enter the work of the forces over the bounces; return the energy that their impacts lost [J]."""
    layout, ends, micro, M, f, W = (
        model.layout, frame.ends, frame.micro, frame.mass, frame.force, frame.interval.lasting.W
    )  # fmt: skip
    clear(f)
    model.mass(begin, ends.q, model.par, M)
    multiply(layout, M, frame.memory.acting.a, f)
    lost, given = 0.5 * (quadratic(layout, M, ends.v) - quadratic(layout, M, micro.v)), 0.0
    for i in range(layout.nv):
        given += f[i] * micro.moved[i]
    frozen(model, begin, ends.q, ends.v, frame.interval.lasting)
    for i in range(layout.nr):  # M a is force and reaction: only the force does work here
        given -= frame.memory.acting.r[i] * row_dot(layout, W, i, micro.moved)
    record.header.force_work += given
    gained = -0.5 * quadratic(layout, M, micro.v)
    model.mass(begin + micro.summary.duration, frame.q_shifted, model.par, M)
    record.header.drive_work += gained + 0.5 * quadratic(layout, M, micro.v)
    return lost + given


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
    nv, nc, nw = layout.nv, layout.nc, layout.nw
    room = frame.interval.lasting
    lu, W, column = room.lu, room.W, frame.ends.v_new
    W_end, w_end = head(frame.scan, nw), frame.ends.corrected
    P, push, v = frame.micro.P, frame.force, frame.ends.v
    model.kinematics(t, frame.q_shifted, model.par, W_end, w_end)
    for i in range(nv):
        push[i] = 0.0
    columns = layout.W_col
    for c in range(nc):
        if frame.micro.member[c] == 0:
            continue
        for row in range(layout[layout.contact_row + c], layout[layout.contact_row + c + 1]):
            for k in range(layout[layout.W_ptr + row], layout[layout.W_ptr + row + 1]):
                push[layout[columns + k]] += 0.1 * (W_end[k] - W[k]) * P[row]
    solve(layout, lu, push, push, column)
    worst, size, speed = 0.0, 0.0, promised(layout, settings, SCALE.speed)
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
    nv, ends, micro, probe, half = layout.nv, frame.ends, frame.micro, frame.probe, frame.force
    slope, v_middle, q_middle, duration = micro.slope, frame.v_middle, frame.q_middle, micro.summary.duration
    known = (layout.features & F_FREE) != 0
    for i in range(nv):
        v_middle[i], half[i] = 0.5 * (ends.v[i] + micro.v[i]), 0.5 * micro.moved[i]
        known = known and slope[i] == 0.0
    if known:
        return 0
    model.rate(ends.q, half, model.par, q_middle)
    add(ends.q, q_middle)
    model.retract(q_middle, model.par)
    status = accelerate(
        model, begin + 0.5 * duration, q_middle, v_middle, ends.index, frame.memory.acting.direction, probe.a, probe.r,
        ends.u_start, probe.powers, frame.interval.lasting, record,
    )  # fmt: skip
    if status != 0:
        return -status
    speed, size = promised(layout, settings, SCALE.speed), largest(ends.v)
    for i in range(nv):
        off = 2.0 / 3.0 * duration * abs(probe.a[i] - micro.a[i] - 0.5 * duration * slope[i])
        if off > FOLLOW.frozen * (settings.atol * speed[i] + settings.rtol * size):
            return 1
    return 0
