"""The end of a flight: what happens there, what stays closed, which index set is next.

An impact acts at the end itself, or, with a window, in a step of Moreau over it: the impact law at the velocity that
the window ends with, positions by the mean velocity. Bounces that return within the window come to rest.
"""

from __future__ import annotations

from saltus.compile.seam import head, larger, row_of, smaller, tail, unit, whole
from saltus.compile.types import MODEL, PART, RECORD, A, F, I, J
from saltus.flight.arrange import arrange
from saltus.flight.dense import HEADER
from saltus.flight.follow import VISIBLE, follow
from saltus.flight.frame import (
    CROSSES,
    FLIGHT_SETTINGS,
    FRAME,
    NOTHING,
    POSITION_SCALE,
    STRIKES,
    left_of_slip,
    promised,
)
from saltus.flight.graze import graze
from saltus.flight.loss import look_ahead
from saltus.flight.modes import unhold, update_modes
from saltus.flight.piece import put_piece
from saltus.flight.tie import find_ties, tie_events
from saltus.flight.together import cross_together
from saltus.lasting.border import BY_LEFT, BY_PREVIOUS, border
from saltus.lasting.hold import POWERS, rest_speed
from saltus.lasting.index_set import IMPULSIVE, OPEN, SLIP, STICK
from saltus.lasting.inertia import inertia_work
from saltus.lasting.interval import STAGE_SETTINGS, closed_gap
from saltus.lasting.settle import BREAKING, LET_GO, RELEASING, ambiguous_event, changed_events
from saltus.lasting.strike_events import strike_events
from saltus.lasting.transition import BROKE, LOST, RELEASED, STOPPED, break_direction
from saltus.memory.layout import (
    CONTACT_ROW,
    EVENT_TABLE,
    FLAGS,
    LAW_FLOATS,
    M_CONSTANT,
    NC,
    NE,
    NJ,
    NQ,
    NR,
    NS,
    NV,
    RATE_IDENTITY,
)
from saltus.memory.profile import multiply, solve_row
from saltus.memory.record import (
    EVENT,
    REVERSAL,
    SWITCH,
)
from saltus.reaction.react import row_add, row_dot
from saltus.reaction.report import NORMALS, new_event
from saltus.reaction.report import NOTHING as NO_ROWS
from saltus.status import Status

DRIFTED = int(Status.DRIFT_TOO_LARGE)
DIGITS = 1e-12  # of the coordinates: digits of a gap that a drift may always have
PIECES = 2  # the smooth part of a step, and a window, an accumulation or the beginning of a jump behind it
EVENTS = 8  # most events of a contact at one end of a step


def dense_size(layout, most_nodes: int) -> int:
    """Return the most floats of the dense block of one flight."""
    nq, nv, nr = (int(layout[k]) for k in (NQ, NV, NR))
    own_rate = 0 if int(layout[FLAGS]) & RATE_IDENTITY else most_nodes * nq
    return HEADER + 2 * nr + PIECES * (2 + nq + nv + most_nodes * (nv + nr) + own_rate)


@unit(PART)
def arrive(model, staged, settings, task, t, h, frame_room, record):
    """Treat the end of a flight: the impact law, events and resets, the next index set, accumulations.

    in      t, h: begin and longest length of the step; frame: the end of the smooth motion, marks of its event
    out     frame: q_end, v_end, memory with the start of the next flight; record: impulses, work, events, dense block
    """
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    layout, par = model.layout, model.par
    nq, nv, nc, nj, nr, ne = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR], layout[NE]
    header, marks = record.header, frame.marks
    kind, which, size = whole(marks.event_kind), whole(marks.which), marks.length
    n, stopping = whole(marks.nodes), whole(marks.stopping)
    q_0, v_0, q, v, g = frame.q_start, frame.v_start, frame.q_end, frame.v_end, frame.gaps
    sum_r, powers, r_0 = frame.sum_r, frame.sum_powers, frame.memory.r_begin
    nodes, R = frame.nodes, frame.node_forces
    Q_dot, a = head(nodes.Q_dot, n * nq), head(nodes.a, n * nv)
    P, u_minus, u_plus, u_first = frame.impulse, frame.u_minus, frame.u_plus, frame.u_first
    v_new, shifted, info = frame.v_new, frame.q_shifted, frame.info
    direction, let_go, fired = frame.memory.direction, frame.memory.let_go, frame.memory.fired
    u_0 = frame.memory.u_begin
    index, before, closed, resting, stopped, candidate = (
        frame.index,
        frame.before,
        frame.closed,
        frame.resting,
        frame.stopped,
        frame.candidate,
    )
    room = frame.interval.lasting
    t_end = t + size

    # ---- impulses and work of the smooth part
    model.retract(q, par)
    for i in range(nr):
        record.impulse[i] += sum_r[i]
        P[i] = 0.0
        if sum_r[i] != 0.0:
            header.reacted = 1.0
    header.force_work += powers[0]
    header.drive_work += powers[1]
    for k in range(nc):
        record.dissipation[k] += powers[POWERS + k]
    if (layout[FLAGS] & M_CONSTANT) == 0:
        at = whole(marks.table_at)
        tab = tail(settings, at)
        header.drive_work += inertia_work(model, tab, t, size, nodes.Q, nodes.V, nodes.Q_dot, shifted, frame.mass)
    model.gap(t_end, q, par, g)
    length, scale = 0.0, 0.0
    for i in range(nq):
        length = larger(length, abs(q[i]))
        scale = larger(scale, promised(layout, settings, POSITION_SCALE)[i])
    for j in range(nc + nj):
        if j >= nc or index[j if j < nc else 0] == SLIP or index[j if j < nc else 0] == STICK:
            # the lecture's case 2.1: what is held has left its place
            allowed = settings.drift * (settings.atol * scale + settings.rtol * length)
            if abs(g[j]) > allowed + DIGITS * length:
                return DRIFTED
    used = HEADER + nr
    for i in range(nr):
        record.dense[HEADER + i] = r_0[i]
    used = put_piece(model, 0.0, 1.0, q_0, v_0, n, a, R, Q_dot, used, record.dense)
    marks.pieces_used = 1.0
    for i in range(nv):
        record.v_minus[i] = v[i]

    # ---- what happens there
    for k in range(nc):
        before[k] = index[k]
        closed[k] = 0
    struck, ahead = 0, marks.window
    if kind == STRIKES:
        W, slack, parts = room.W, closed_gap(settings, q), False
        model.kinematics(t_end, q, par, W, u_minus)
        for k in range(nc):
            row = layout[layout[CONTACT_ROW] + k]
            holds = index[k] == SLIP or index[k] == STICK
            speed = row_dot(layout, W, row, v) + u_minus[row]
            # what has just bounced off is not touched again by the same impact, however near it still is: in a corner
            # the contacts strike in turn, with velocities that die away, and not together
            still = rest_speed(settings.rest, layout, W, row, v)
            near = g[k] + ahead * speed <= slack and speed <= still
            closed[k] = 1 if near or holds or k == which else 0
            if closed[k] == 1 and not holds:
                floor = 0.0 if index[k] == IMPULSIVE else -still
                if speed < floor:
                    struck = 1
            # a gap that is closed by rounding alone, while the bounce is high enough to be seen, is no contact; with
            # windows nobody sees what is that near
            if k == which and ahead == 0.0:
                model.curvature(t_end, q, v, par, room.zeta)
                pressed = -row_dot(layout, W, row, row_of(a, n - 1, nv)) - room.zeta[row]
                parts = speed > still and speed * speed > VISIBLE * slack * abs(pressed)
                # neither is what has just been let go and leaves ever faster, however slow it still is: to put it in
                # place would pull at it
                parts = parts or (speed > 0.0 and pressed < 0.0)
        if struck == 0 and not parts:
            resting[which] = 1  # it closes without an impact
    if struck == 1:
        slope = frame.slope
        for i in range(nv):
            slope[i] = a[(n - 1) * nv + i]
            v_new[i] = v[i]
        law, span, known, ties = BY_LEFT, h, NO_ROWS, 0
        if ahead > 0.0:
            # Moreau's step over the window: the velocity with the forces of its beginning, then the law
            law, span, known = BY_PREVIOUS, ahead, NORMALS
            begin_window(model, settings, t_end, ahead, frame, record)
            t_end = t + (size + ahead)  # rounded as the end of the step is
        elif nc > 1:
            ties = find_ties(model, staged.reaction, settings, t_end, span, frame, record)
        status = border(
            model, staged.reaction, t_end, span, settings.rest, law, q, v, slope, u_first, index, closed, v_new, P,
            u_minus, u_plus, info, room, record,
        )  # fmt: skip
        if status != 0:
            return status
        header.residual, header.reacted = larger(header.residual, info[0]), 1.0
        strike_events(
            model, settings, t_end, span, 1, known, closed, resting, P, slope, sum_r, u_minus, u_plus, u_first, room,
            record,
        )  # fmt: skip
        if ties > 0:
            tie_events(model, settings, t_end, frame, record)
        for i in range(nr):
            record.impulse[i] += P[i]
        if ahead > 0.0:
            hops_end(model, settings, ahead, closed, resting, frame)
            used = end_window(model, settings, t_end, ahead, used, frame, record)
        for i in range(nv):
            v[i] = v_new[i]
    for k in range(nc):
        if t_end - let_go[k] <= 1e-12 * (abs(t) + h):
            candidate[k] = LET_GO
    if kind == RELEASED:
        candidate[which], let_go[which] = RELEASING, t_end
    if kind == STOPPED and stopping == 1:
        stopped[which] = 1
        stop_together(model, settings, t_end, frame)
    if kind == BROKE:
        candidate[which] = BREAKING
        break_direction(layout, which, row_of(R, n - 1, nr), direction)
    if kind == LOST:
        status = look_ahead(model, staged, settings, t_end, frame, record)
        if status != 0:
            return status
    if kind == CROSSES:
        cross_together(model, settings, t, size, which, frame)
    for k in range(ne):
        if kind != CROSSES and marks.still == 0.0:  # an impact at the same time takes nothing from them
            fired[k] = 0.0
        if kind != CROSSES or fired[k] == 0.0:
            continue
        if k >= ne - layout[NS]:
            new_event(t_end, nc + k, SWITCH, 0, 0, P, P, P, record)
            continue
        new_event(t_end, nc + k, EVENT, 0, 0, P, P, P, record)
        if layout[layout[EVENT_TABLE] + 3 * k + 1] == 1:
            header.terminal = 1.0
        if layout[layout[EVENT_TABLE] + 3 * k + 2] == 1:
            if marks.pieces_used == 1.0:
                # positions may jump, but the flight ends where the jump begins: a piece behind it says where
                used = put_piece(model, 1.0, 2.0, q, v, n, a, R, Q_dot, used, record.dense)
                marks.pieces_used = 2.0
            model.reset(k, t_end, q, v, par)
            model.gap(t_end, q, par, g)
            header.reacted = 1.0  # the velocity jumps: its left limit must be kept
            for c in range(nc):
                index[c] = OPEN

    # ---- branches of the functions behind the event
    marks.switched = 0.0
    if layout[NS] > 0:
        crossed = 1 if kind == CROSSES else 0
        if update_modes(model, settings, t_end, h, q, v, frame.a_last, frame, crossed) > 0:
            marks.switched = frame.memory.numbers.changed = 1.0
            model.gap(t_end, q, par, g)
            unhold(model, settings, t_end, q, v, settings.rest, index, frame)

    # ---- what stays closed is put in place, then the law decides what is held next
    deciding = kind != NOTHING or marks.holding == 1.0 or marks.near == 1.0
    deciding = deciding or marks.switched == 1.0
    status = arrange(model, staged, settings, t_end, struck, 1 if deciding else 0, frame, record)
    if status != 0:
        return status
    header.residual = larger(header.residual, info[0])
    if kind == STRIKES:
        graze(model, settings, t_end, struck, frame, record)
    if kind == NOTHING or kind == RELEASED or kind == BROKE or kind == STOPPED or kind == LOST:
        for i in range(nv):
            record.v_minus[i] = v[i]
    marks.struck, marks.used = struck, used

    # ---- an accumulation of impacts is followed to its end
    if struck == 1 and settings.zeno != 0.0 and marks.length < h:
        status = follow(model, staged, settings, t, h, frame, record)
        if status != 0:
            return status
        t_end = t + marks.length
        if update_modes(model, settings, t_end, h, q, v, frame.a_last, frame, 0) > 0:
            frame.kept[0] = 0.0  # the law is asked again where the next flight begins

    # ---- events of the index set, update
    memory = frame.memory.index
    ambiguous_event(model, t_end, before, index, room, r_0, record)
    for k in range(nc):
        direction[2 * nc + k] = 0.0
    for k in range(nc):
        if before[k] != index[k]:
            frame.interval.kept.renew = 1.0  # the matrix of implicit stages belongs to another index set
            changed_events(model, t_end, k, before[k], index[k], resting[k] * struck, u_0, r_0, record)
        elif stopped[k] == 1 and index[k] == SLIP and kind == STOPPED and k == which:
            new_event(t_end, k, REVERSAL, 0, 0, u_0, u_0, r_0, record)
        memory[k] = index[k]
    if ne > 0:
        model.switch(t_end, q, v, par, frame.memory.last_values)
    at = whole(marks.used)
    record.dense[0], record.dense[1], record.dense[2], record.dense[3] = marks.pieces_used, n, nq, nv
    record.dense[4], record.dense[5] = nr, 0.0 if (layout[FLAGS] & RATE_IDENTITY) != 0 else 1.0
    record.dense[6] = t
    for i in range(nr):
        record.dense[at + i] = r_0[i]
    header.dense_used = at + nr
    for j in range(nc + nj):
        depth = -g[j] if j < nc else abs(g[j])
        if not depth <= header.violation:  # a gap that is not a number must not pass
            header.violation = depth
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def stop_together(model, settings, t, frame):
    """Stop all slips in space that went straight on to their end and have nothing left that the promise could show.

    They can stick together, see `ending_slip`. One by one, what is left of the others would move the first again.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nc, W, w, v = layout[NC], frame.interval.lasting.W, frame.u_minus, frame.v_end
    u_0, direction = frame.memory.u_begin, frame.memory.direction
    model.kinematics(t, frame.q_end, model.par, W, w)
    allowed = left_of_slip(layout, settings)
    for c in range(nc):
        if frame.index[c] != SLIP or direction[2 * nc + c] == 0.0:
            continue
        first, last = 0.0, 0.0
        for i in range(layout[layout[CONTACT_ROW] + c] + 1, layout[layout[CONTACT_ROW] + c + 1]):
            first += u_0[i] * u_0[i]
            last += (row_dot(layout, W, i, v) + w[i]) ** 2
        ends = first > settings.rest * settings.rest and last <= allowed * allowed
        if ends or frame.marks.ending >= 0.0:
            frame.stopped[c] = 1
    return 0


@unit(I(MODEL, A, F, F, FRAME.kind, RECORD))
def begin_window(model, settings, t, window, frame, record):
    """Move the velocity over the window by the forces at its beginning, and count their work and impulses.

    Restitution looks at the velocity at the beginning, as Moreau's law does; a bounce that would be back within the
    window, or would not open the contact, is none. The law acts where the body would be at the end: the rows turn over
    the window, which counts as much as the forces do, and with rows of the beginning bodies would not come to rest on
    what is curved.
    """
    settings = STAGE_SETTINGS(settings)
    layout, room = model.layout, frame.interval.lasting
    nv, nc, nr = layout[NV], layout[NC], layout[NR]
    W, zeta = room.W, room.zeta
    u_first, q = frame.u_first, frame.q_end
    v, v_start, f = frame.v_end, frame.v_try, frame.force
    slope, r_last, M = frame.slope, frame.r_last, frame.mass
    model.kinematics(t, q, model.par, W, u_first)
    model.curvature(t, q, v, model.par, zeta)
    for c in range(nc):
        row = layout[layout[CONTACT_ROW] + c]
        u_first[row] = smaller(u_first[row] + row_dot(layout, W, row, v), 0.0)
        pressed = row_dot(layout, W, row, slope) + zeta[row]
        rise = -model.constants[LAW_FLOATS * c] * u_first[row]
        if 2.0 * rise <= -window * pressed or rise * rise <= -2.0 * pressed * settings.closed:
            u_first[row] = 0.0
    for i in range(nv):
        v_start[i] = v[i]
        v[i] += window * slope[i]
        record.v_minus[i], f[i] = v[i], 0.0
    model.mass(t, q, model.par, M)
    multiply(layout, M, slope, f)
    for i in range(nv):
        record.header.force_work += 0.5 * window * f[i] * (v_start[i] + v[i])
    for i in range(nr):
        record.impulse[i] += window * r_last[i]
    # the nodes of the smooth part are written: there is room for the position
    first, shifted = frame.nodes.Q, frame.q_shifted
    model.rate(q, v_start, model.par, shifted)
    for i in range(layout[NQ]):
        first[i] = q[i]
        q[i] += window * shifted[i]
    model.retract(q, model.par)
    return 0


@unit(I(MODEL, A, F, J, J, FRAME.kind))
def hops_end(model, settings, window, closed, resting, frame):
    """Let all closed contacts rest where none of them opens, or hops for longer than a window: a box that rocks."""
    settings = STAGE_SETTINGS(settings)
    layout, room = model.layout, frame.interval.lasting
    nv, nc = layout[NV], layout[NC]
    slope, r_last, u_plus = frame.slope, frame.r_last, frame.u_plus
    lu, W, X, column, zeta = room.lu, room.W, room.X, room.column, room.zeta
    for c in range(nc):
        if closed[c] == 0:
            continue
        row = layout[layout[CONTACT_ROW] + c]
        solve_row(layout, lu, W, row, X, column)
        for i in range(nv):
            column[i] = 0.0
        row_add(layout, X, row, 1.0, column)
        # what would press without its own force
        pressed = r_last[row] * row_dot(layout, W, row, column) - row_dot(layout, W, row, slope) - zeta[row]
        low = u_plus[row] * u_plus[row] <= 2.0 * pressed * settings.closed
        if 2.0 * u_plus[row] > window * pressed and u_plus[row] > settings.rest and not low:
            return 0
    for c in range(nc):
        if closed[c] == 1:
            resting[c] = 1
    return 0


@unit(I(MODEL, A, F, F, I, FRAME.kind, RECORD))
def end_window(model, settings, t_end, window, used, frame, record):
    """Move the position over the window by the mean velocity and write its piece; return where the next one begins."""
    layout = model.layout
    nq, nv, nr = layout[NQ], layout[NV], layout[NR]
    marks, nodes, R = frame.marks, frame.nodes, frame.node_forces
    n = whole(marks.nodes)
    Q_dot, a = head(nodes.Q_dot, n * nq), head(nodes.a, n * nv)
    q, v_start, v_new, mean, shifted = frame.q_end, frame.v_try, frame.v_new, frame.moved, frame.q_shifted
    slope, r_last = frame.slope, frame.r_last
    for i in range(nv):
        mean[i] = 0.5 * (v_start[i] + v_new[i])
    for i in range(nq):
        q[i] = nodes.Q[i]  # the one of its beginning
    model.rate(q, mean, model.par, shifted)
    for j in range(n):
        for i in range(nv):
            a[j * nv + i] = slope[i]
        for i in range(nr):
            R[j * nr + i] = r_last[i]
        for i in range(nq):
            Q_dot[j * nq + i] = shifted[i]
    first = marks.length
    size = first + window
    record.dense[HEADER + nr + 1] = first / size
    used = put_piece(model, first / size, 1.0, q, v_start, n, a, R, Q_dot, used, record.dense)
    for i in range(nq):
        q[i] += window * shifted[i]
    model.retract(q, model.par)
    model.gap(t_end, q, model.par, frame.gaps)
    marks.length, marks.pieces_used, record.header.h_used = size, 2.0, size
    return used
