"""The end of a flight: what happens there, what stays closed, which index set is next.

An impact acts at the end itself, or, with a window, in a step of Moreau over it: the impact law at the velocity that
the window ends with, positions by the mean velocity. Bounces that return within the window come to rest.
"""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import head, larger, row_of, smaller, tail, unit, whole
from saltus.compile.types import MODEL, PART, RECORD, STAGED, A, F, I
from saltus.flight.arrange import arrange
from saltus.flight.find import deepest_start
from saltus.flight.follow import FOLLOW, follow
from saltus.flight.frame import (
    FLIGHT_END,
    FLIGHT_SETTINGS,
    FRAME,
    SCALE,
    allowed_drift,
    left_of_slip,
    promised,
    see_slips,
    visible_slip,
)
from saltus.flight.graze import graze
from saltus.flight.grip import grip_event
from saltus.flight.in_turn import strike_in_turn
from saltus.flight.loss import look_ahead
from saltus.flight.modes import joints_jolt, leap_of_gaps, unhold, update_modes
from saltus.flight.tie import find_ties, tie_events
from saltus.flight.together import comes_back_unseen, cross_together, leap_over_zero
from saltus.lasting.border import BY
from saltus.lasting.end_of_step import close_books, enter_forces, enter_impulse, index_events, strike
from saltus.lasting.hold import rest_speed, row_size
from saltus.lasting.index_set import INDEX, WAY
from saltus.lasting.inertia import inertia_work
from saltus.lasting.interval import STAGE_SETTINGS, closed_gap
from saltus.lasting.settle import CHANGE, ambiguous_event
from saltus.lasting.transition import TRANSITION, break_direction
from saltus.memory.layout import M_CONSTANT
from saltus.memory.profile import multiply, solve_row
from saltus.memory.record import EVENT
from saltus.memory.vectors import clear, clear_marks, copy, copy_marks
from saltus.reaction.dense_block import DENSE_HEADER, open_block, put_piece
from saltus.reaction.react import row_add, row_dot
from saltus.reaction.report import KNOWN_ROWS, new_event
from saltus.status import Status


class _Arrive(NamedTuple):
    """Tuned numbers of this file."""

    solved: float = 1e-11  # of the way behind impacts: what contact solvers leave open, ten times their tolerance
    unsure: float = 0.1  # of the tolerance: the most that a gap counts as unknown for this reason
    clock: float = 1e-12  # of the time: what an impact may be located by at the worst
    looks: int = 3  # parts of a flight between which gradients of gaps are asked for
    near: float = 1e-2  # of a flight: how far beside its end a jump of a gap may lie that was located there
    leaps: float = 0.5  # of a gap: what it jumps by at least where it jumps closed
    same: float = 1.5  # times a jump: what it is at most over twice the time
    pieces: int = 2  # the smooth part of a step, and a window, an accumulation or the beginning of a jump behind it
    events: int = 8  # most events of a contact at one end of a step


ARRIVE = _Arrive()


@unit(PART)
def arrive(model, staged, settings, task, t, h, frame_room, record):
    """Treat the end of a flight: the impact law, events and resets, the next index set, accumulations.

    in      t, h: begin and longest length of the step; frame: the end of the smooth motion, marks of its event
    out     frame: q, v of its ends, memory with the start of the next flight; record: impulses, work, events, dense
    """
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    ends, marks, header = frame.ends, frame.marks, record.header
    kind, which = whole(marks.event_kind), whole(marks.which)
    t_end = t + marks.length
    clear(ends.P)
    status = land(model, settings, t, frame, record)
    if status != 0:
        return status
    if model.layout.ne > model.layout.ns and comes_back_unseen(model, settings, t, frame) == 1:
        return Status.EVENTS_CROWDED
    copy_marks(ends.index, ends.before)
    clear_marks(ends.closed)
    struck = 0
    if kind == FLIGHT_END.strikes:
        if marks.window == 0.0 and is_far(model, settings, t, t_end, which, frame) == 1:
            return Status.GAP_JUMPED
        struck = is_struck(model, settings, t, t_end, frame)
    if struck == 1:
        status = strike_at_end(model, staged, settings, t, h, frame, record)
        if status != 0:
            return status
        t_end = t + marks.length
    status = let_change(model, staged, settings, t, t_end, h, struck, frame, record)
    if status != 0:
        return status
    if kind == FLIGHT_END.crosses:
        cross_together(model, settings, t, marks.length, which, frame)
    user_events(model, t_end, frame, record)
    status = switch_modes(model, settings, t_end, h, frame)
    if status != 0:
        return status
    jolted = 0
    if marks.switched == 1.0 and struck == 0 and marks.window == 0.0:
        jolted = joints_jolt(model, settings, t_end, frame)
    if jolted == 1:
        status = strike_at_end(model, staged, settings, t, h, frame, record)
        if status != 0:
            return status
        struck = 1

    # ---- what stays closed is put in place, then the law decides what is held next
    deciding = kind != FLIGHT_END.nothing or marks.holding == 1.0 or marks.near == 1.0 or marks.switched == 1.0
    status = arrange(model, staged, settings, t_end, struck, 1 if deciding else 0, frame, record)
    if status != 0:
        return status
    header.residual = larger(header.residual, ends.info[0])
    if kind == FLIGHT_END.strikes:
        graze(model, settings, t_end, struck, frame, record)
    if (
        kind == FLIGHT_END.nothing
        or kind == TRANSITION.released
        or kind == TRANSITION.broke
        or kind == TRANSITION.stopped
        or kind == TRANSITION.lost
    ):
        copy(ends.v, record.v_minus)
    marks.struck = struck

    # ---- impacts in turn at this instant, and an accumulation of impacts, are followed to their end
    if struck == 1 and marks.window == 0.0 and jolted == 0:
        status = strike_in_turn(model, staged, settings, t_end, frame, record)
        if status != 0:
            return status
    else:
        frame.memory.numbers.in_turn = 0.0
    if struck == 1 and settings.zeno != 0.0 and marks.length < h and jolted == 0:
        status = follow(model, staged, settings, t, h, frame, record)
        if status != 0:
            return status
        t_end = t + marks.length
        if update_modes(model, settings, t_end, h, ends.q, ends.v, frame.a_last, frame, 0) > 0:
            frame.kept[0] = 0.0  # the law is asked again where the next flight begins

    return hand_over(model, staged, settings, t, t_end, struck, frame, record)


@unit(I(MODEL, A, F, F, I, FRAME.kind))
def is_far(model, settings, begin, t, which, frame):
    """Return 1 where a contact is far from closed when it closes: its gap jumps, and to put it in place moves the body.

    begin, t: of the flight and of its end
    """
    layout, ends, between, room = model.layout, frame.ends, frame.q_shifted, frame.interval.lasting
    depth, row, speed = -ends.g[which], layout[layout.contact_row + which], 0.0
    if abs(depth) <= closed_gap(settings, ends.q):
        return 0
    clear(frame.leaps)
    # where an opaque gap jumps its gradient is a difference over the jump: those between the ends tell how it changes
    for place in range(1, ARRIVE.looks):
        share = place / ARRIVE.looks
        for i in range(layout.nq):
            between[i] = ends.q_0[i] + share * (ends.q[i] - ends.q_0[i])
        model.retract(between, model.par)
        model.kinematics(begin + share * (t - begin), between, model.par, room.W, room.w)
        leap_of_gaps(model, settings, t, ends.q, ends.v, frame)
        speed = larger(speed, row_size(layout, room.W, row, ends.v) + abs(room.w[row]))
    allowed = frame.leaps[which] + ARRIVE.clock * abs(t) * speed
    if abs(depth) <= allowed:
        return 0
    return jumps_here(model, begin, t, which, frame)


@unit(I(MODEL, F, F, I, FRAME.kind))
def jumps_here(model, begin, t, which, frame):
    """Return 1 where a gap jumps at the end of a flight by what its motion does not explain.

    A flight that is made again up to an impact may turn round before it, or end behind it: that is no jump. Neither is
    the gap of what began inside. Over twice the time a gap that bends changes by four times as much, one with a corner
    by twice as much, and one that jumps by no more than before.
    """
    near = larger(ARRIVE.near * (t - begin), 2.0 * ARRIVE.clock * abs(t))
    change = bend_of_gap(model, t, near, which, frame)
    if not abs(change) > ARRIVE.leaps * abs(frame.ends.g[which]):
        return 0
    return 1 if abs(bend_of_gap(model, t, 2.0 * near, which, frame)) < ARRIVE.same * abs(change) else 0


@unit(F(MODEL, F, F, I, FRAME.kind))
def bend_of_gap(model, t, near, which, frame):
    """Return how far the gap of a contact leaves its tangent within some time before and behind the end of a flight."""
    ends, q, shifted, g = frame.ends, frame.ends.q, frame.q_shifted, frame.ends.g
    change = -2.0 * g[which]
    for side in range(2):
        way = near if side == 1 else -near
        model.rate(q, ends.v, model.par, shifted)
        for i in range(model.layout.nq):
            shifted[i] = q[i] + way * shifted[i]
        model.gap(t + way, shifted, model.par, g)
        change += g[which]
    model.gap(t, q, model.par, g)
    return change


@unit(I(MODEL, STAGED, A, F, F, I, FRAME.kind, RECORD))
def hand_over(model, staged, settings, t, t_end, struck, frame, record):
    """Write the events of the index set, keep what the next flight begins with, and close the books."""
    layout, ends, marks, memory = model.layout, frame.ends, frame.marks, frame.memory
    acting, stopped = memory.acting, whole(marks.which) if whole(marks.event_kind) == TRANSITION.stopped else -1
    ambiguous_event(model, t_end, ends.before, ends.index, frame.interval.lasting, acting.r, record)
    grip_event(model, staged, settings, t_end, t_end - t, frame, record)
    see_slips(model, settings, struck, frame)
    clear(head(tail(acting.direction, 2 * layout.nc), layout.nc))
    if index_events(model, t_end, struck, stopped, ends, acting, record) == 1:
        frame.interval.kept.renew = 1.0  # the matrix of implicit stages belongs to another index set
    for k in range(layout.nc):
        memory.index[k] = ends.index[k]
    if layout.ne > 0:
        model.switch(t_end, ends.q, ends.v, model.par, memory.last_values)
    pieces, n, used = whole(marks.pieces_used), whole(marks.nodes), whole(marks.used)
    return close_books(model, t, pieces, n, used, acting.r, ends, record)


@unit(I(MODEL, A, F, F, FRAME.kind))
def switch_modes(model, settings, t, h, frame):
    """Take the branches of the functions behind the end of a flight; what a kink moves is no longer held."""
    settings = FLIGHT_SETTINGS(settings)
    ends, marks, crossed = frame.ends, frame.marks, 1 if whole(frame.marks.event_kind) == FLIGHT_END.crosses else 0
    marks.switched = 0.0
    if model.layout.ns > 0 and model.layout.nc + model.layout.nj > 0:
        clear(frame.leaps)
        model.gap(t, ends.q, model.par, frame.gaps)
        model.kinematics(t, ends.q, model.par, frame.interval.lasting.W, frame.interval.lasting.w)
        leap_of_gaps(model, settings, t, ends.q, ends.v, frame)
    if model.layout.ns > 0 and model.layout.ne > model.layout.ns:
        model.switch(t, ends.q, ends.v, model.par, frame.signs)
    if update_modes(model, settings, t, h, ends.q, ends.v, frame.a_last, frame, crossed) > 0:
        marks.switched = frame.memory.numbers.changed = 1.0
        if model.layout.ne > model.layout.ns:
            leap_over_zero(model, settings, t, frame)
        model.gap(t, ends.q, model.par, ends.g)
        return unhold(model, settings, t, ends.q, ends.v, ends.g, ends.index, frame)
    return 0


@unit(I(MODEL, A, F, FRAME.kind, RECORD))
def land(model, settings, t, frame, record):
    """Enter the smooth motion of a flight into the books, write its dense output; what is held must not have drifted.

    out     frame: q retracted, g; marks: used, pieces_used
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, marks, nodes, size = model.layout, frame.ends, frame.marks, frame.nodes, frame.marks.length
    nc, index = layout.nc, ends.index
    model.retract(ends.q, model.par)
    enter_forces(model, frame.sum_r, frame.sum_powers, record)
    for k in range(nc):
        if index[k] == INDEX.stick:
            # it neither takes nor gives: the work of its force on errors of velocities is a defect of the energy
            record.dissipation[k] = 0.0
    if (layout.features & M_CONSTANT) == 0:
        tab = tail(settings, whole(marks.table_at))
        record.header.drive_work += inertia_work(
            model, tab, t, size, nodes.Q, nodes.V, nodes.Q_dot, frame.q_shifted, frame.mass
        )
    model.gap(t + size, ends.q, model.par, ends.g)
    allowed = allowed_drift(layout, settings, ends.q)  # the lecture's case 2.1: what is held has left its place
    for j in range(nc + layout.nj):
        holds = j >= nc or index[j if j < nc else 0] == INDEX.slip or index[j if j < nc else 0] == INDEX.stick
        if holds and abs(ends.g[j]) > allowed:
            return Status.DRIFT_TOO_LARGE
    at = open_block(model, frame.memory.acting.r, record.dense)
    marks.used, marks.pieces_used = put_nodes(model, 0.0, 1.0, at, ends.q_0, ends.v_0, frame, record), 1.0
    copy(ends.v, record.v_minus)
    return 0


@unit(I(MODEL, F, F, I, A, A, FRAME.kind, RECORD))
def put_nodes(model, begin, end, at, q, v, frame, record):
    """Write the nodes of a flight as a piece of dense output from q, v on; return where the next one begins."""
    n, nodes = whole(frame.marks.nodes), frame.nodes
    return put_piece(
        model, begin, end, q, v, n, nodes.a, frame.node_forces, nodes.Q_dot, at, record.dense
    )  # fmt: skip


@unit(I(MODEL, A, F, F, FRAME.kind))
def is_struck(model, settings, begin, t, frame):
    """Mark what is closed where a contact closes; return 1 where something approaches, so that there is an impact.

    begin, t: of the flight and of its end
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, room, which, ahead = (
        model.layout, frame.ends, frame.interval.lasting, whole(frame.marks.which), frame.marks.window
    )  # fmt: skip
    index, closed, v, w, W, nv = ends.index, ends.closed, ends.v, ends.u_minus, room.W, layout.nv
    marks, memory = frame.marks, frame.memory
    slack, parts, leaves, hop, struck = closed_gap(settings, ends.q), False, False, 0.0, 0
    # impacts leave velocities that are known as well as their contact problems were solved, and gaps where these have
    # led since: what lands flat again and again would land in turn. The promise bounds what that may move
    places, most = promised(layout, settings, SCALE.position), 1e300
    for i in range(layout.nq):
        most = smaller(most, ARRIVE.unsure * settings.atol * places[i])
    model.kinematics(t, ends.q, model.par, W, w)
    model.curvature(t, ends.q, v, model.par, room.zeta)
    last = row_of(frame.nodes.a, whole(frame.marks.nodes) - 1, nv)
    for k in range(layout.nc):
        row = layout[layout.contact_row + k]
        holds = index[k] == INDEX.slip or index[k] == INDEX.stick
        speed = row_dot(layout, W, row, v) + w[row]
        pressed = -row_dot(layout, W, row, last) - room.zeta[row]
        # what has just bounced off is not touched again by the same impact, however near it still is: in a corner
        # the contacts strike in turn, with velocities that die away, and not together
        still = rest_speed(settings.rest, layout, W, row, v)
        far = row_size(layout, W, row, memory.led) + memory.numbers.struck * marks.length * row_size(layout, W, row, v)
        known = slack + smaller(ARRIVE.solved * far, most)
        near = ends.g[k] + ahead * speed <= known and speed <= still
        # nor is what has been let go, however short a time ago: a block that leaves its plank is struck afterwards
        unsure = rest_speed(0.0, layout, W, row, last) + ARRIVE.solved * abs(room.zeta[row])
        if ahead == 0.0 and pressed < -unsure and speed > -rest_speed(0.0, layout, W, row, v):
            near = False
        closed[k] = 1 if near or holds or k == which else 0
        if closed[k] == 1 and not holds:
            floor = 0.0 if index[k] == INDEX.impulsive else -still
            if speed < floor:
                struck = 1
        # a gap that is closed by rounding alone, while the bounce is high enough to be seen, is no contact; with
        # windows nobody sees what is that near
        if k == which and ahead == 0.0:
            hop = speed * speed / larger(abs(pressed), 1e-300)
            parts = speed > still and hop > FOLLOW.visible * slack
            # neither is what has just been let go and leaves ever faster, however slow it still is: to put it in
            # place would pull at it
            leaves = speed > 0.0 and pressed < 0.0
    if struck == 0 and parts and not leaves:
        # it began deeper than what counts as closed, and `find` looked for a hop above that depth
        parts = hop > FOLLOW.visible * (slack + deepest_start(model, begin, index, frame))
        model.gap(t, ends.q, model.par, ends.g)
    if struck == 0 and not parts and not leaves:
        ends.resting[which] = 1  # it closes without an impact
    return struck


@unit(I(MODEL, STAGED, A, F, F, FRAME.kind, RECORD))
def strike_at_end(model, staged, settings, t, h, frame, record):
    """Solve the impact law where a flight ends, or over the window behind it, and enter what it did."""
    ends, marks, room = frame.ends, frame.marks, frame.interval.lasting
    t_end, ahead, reaction = t + marks.length, frame.marks.window, staged.reaction
    copy(row_of(frame.nodes.a, whole(marks.nodes) - 1, model.layout.nv), ends.a)
    law, span, known, ties = BY.left, h, KNOWN_ROWS.nothing, 0
    if ahead > 0.0:
        # Moreau's step over the window: the velocity with the forces of its beginning, then the law
        law, span, known = BY.previous, ahead, KNOWN_ROWS.normals
        begin_window(model, settings, t_end, ahead, frame, record)
        t_end = t + (marks.length + ahead)  # rounded as the end of the step is
    elif model.layout.nc > 1:
        ties = find_ties(model, reaction, settings, t_end, span, frame, record)
    status = strike(model, reaction, settings, t_end, span, law, ends, room, record)
    if status != 0:
        return status
    enter_impulse(model, settings, t_end, span, 1, known, frame.sum_r, ends, room, record)
    if ties > 0:
        tie_events(model, settings, t_end, frame, record)
    if ahead > 0.0:
        hops_end(model, settings, ahead, frame)
        end_window(model, settings, t_end, ahead, frame, record)
    copy(ends.v_new, ends.v)
    return 0


@unit(I(MODEL, STAGED, A, F, F, F, I, FRAME.kind, RECORD))
def let_change(model, staged, settings, t, t_end, h, struck, frame, record):
    """Tell the decision what the transition that ends a flight means for its contact."""
    layout, ends, marks, let_go = model.layout, frame.ends, frame.marks, frame.memory.let_go
    kind, which, last = whole(marks.event_kind), whole(marks.which), whole(marks.nodes) - 1
    for k in range(layout.nc):
        if t_end - let_go[k] <= 1e-12 * (abs(t) + h):
            ends.candidate[k] = CHANGE.let_go
    if kind == TRANSITION.released:
        ends.candidate[which], let_go[which] = CHANGE.releasing, t_end
    if kind == TRANSITION.stopped and marks.stopping == 1.0:
        ends.stopped[which] = 1
        stop_together(model, settings, t_end, frame)
    if kind == TRANSITION.broke:
        friction, direction = row_of(frame.node_forces, last, layout.nr), frame.memory.acting.direction
        if break_direction(layout, which, friction, direction) == 1:  # without friction nothing says where to: it waits
            ends.candidate[which] = CHANGE.breaking
    mark_unseen(model, settings, t_end, struck, frame)
    if kind == TRANSITION.lost:
        return look_ahead(model, staged, settings, t_end, frame, record)
    return 0


@unit(I(MODEL, A, F, I, FRAME.kind))
def mark_unseen(model, settings, t, struck, frame):
    """Mark slips that have been too slow since they began for their velocity to tell a direction; see WAY.unseen."""
    layout, ends, direction = model.layout, frame.ends, frame.memory.acting.direction
    nc, W, w, known = layout.nc, frame.interval.lasting.W, ends.u_minus, False
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        direction[2 * nc + c] = WAY.turning  # forces behind the end are those of the velocity there
        if ends.index[c] != INDEX.slip or end - row != 3:
            continue
        if struck == 1 or frame.marks.window > 0.0 or frame.memory.seen[c] == 1.0:
            continue
        if not known:
            model.kinematics(t, ends.q, model.par, W, w)
            known = True
        square = 0.0
        for i in range(row + 1, end):
            square += (row_dot(layout, W, i, ends.v) + w[i]) ** 2
        if square <= visible_slip(layout, settings) ** 2:
            direction[2 * nc + c] = WAY.unseen
    return 0


@unit(I(MODEL, F, FRAME.kind, RECORD))
def user_events(model, t, frame, record):
    """Write the events of the user and of switching functions that end a flight, and do their resets."""
    layout, ends, marks, fired = model.layout, frame.ends, frame.marks, frame.memory.fired
    ne, nc, table, crosses = (
        layout.ne,
        layout.nc,
        layout.event_table,
        whole(frame.marks.event_kind) == FLIGHT_END.crosses,
    )
    for k in range(ne):
        if not crosses and marks.still == 0.0:  # an impact at the same time takes nothing from them
            fired[k] = 0.0
        if not crosses or fired[k] == 0.0:
            continue
        if k >= ne - layout.ns:
            new_event(t, nc + k, EVENT.switch, 0, 0, ends.P, ends.P, ends.P, record)
            continue
        new_event(t, nc + k, EVENT.user, 0, 0, ends.P, ends.P, ends.P, record)
        if layout[table + 3 * k + 1] == 1:
            record.header.terminal = 1.0
        if layout[table + 3 * k + 2] == 1:
            if marks.pieces_used == 1.0:
                # positions may jump, but the flight ends where the jump begins: a piece behind it says where
                marks.used = put_nodes(model, 1.0, 2.0, whole(marks.used), ends.q, ends.v, frame, record)
                marks.pieces_used = 2.0
            model.reset(k, t, ends.q, ends.v, model.par)
            model.gap(t, ends.q, model.par, ends.g)
            record.header.reacted = 1.0  # the velocity jumps: its left limit must be kept
            for c in range(nc):
                ends.index[c] = INDEX.open
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def stop_together(model, settings, t, frame):
    """Stop all slips in space that went straight on to their end and have nothing left that the promise could show.

    They can stick together, see `ending_slip`. One by one, what is left of the others would move the first again.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nc, W, w, v = layout.nc, frame.interval.lasting.W, frame.ends.u_minus, frame.ends.v
    u_0, direction = frame.memory.acting.u, frame.memory.acting.direction
    model.kinematics(t, frame.ends.q, model.par, W, w)
    allowed = left_of_slip(layout, settings)
    for c in range(nc):
        if frame.ends.index[c] != INDEX.slip or direction[2 * nc + c] != WAY.braking:
            continue
        first, last = 0.0, 0.0
        for i in range(layout[layout.contact_row + c] + 1, layout[layout.contact_row + c + 1]):
            first += u_0[i] * u_0[i]
            last += (row_dot(layout, W, i, v) + w[i]) ** 2
        ends = first > settings.rest * settings.rest and last <= allowed * allowed
        if ends or frame.marks.ending >= 0.0:
            frame.ends.stopped[c] = 1
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
    nv, nc, nr = layout.nv, layout.nc, layout.nr
    W, zeta = room.W, room.zeta
    u_first, q = frame.ends.u_start, frame.ends.q
    v, v_start, f = frame.ends.v, frame.v_try, frame.force
    slope, r_last, M = frame.ends.a, frame.r_last, frame.mass
    model.kinematics(t, q, model.par, W, u_first)
    model.curvature(t, q, v, model.par, zeta)
    for c in range(nc):
        row = layout[layout.contact_row + c]
        u_first[row] = smaller(u_first[row] + row_dot(layout, W, row, v), 0.0)
        pressed = row_dot(layout, W, row, slope) + zeta[row]
        rise = -model.e[c] * u_first[row]
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
    for i in range(layout.nq):
        first[i] = q[i]
        q[i] += window * shifted[i]
    model.retract(q, model.par)
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def hops_end(model, settings, window, frame):
    """Let all closed contacts rest where none of them opens, or hops for longer than a window: a box that rocks."""
    settings = STAGE_SETTINGS(settings)
    layout, room = model.layout, frame.interval.lasting
    nv, nc = layout.nv, layout.nc
    closed, resting, slope, u_plus = frame.ends.closed, frame.ends.resting, frame.ends.a, frame.ends.u_plus
    r_last = frame.r_last
    lu, W, X, column, zeta = room.lu, room.W, room.X, room.column, room.zeta
    for c in range(nc):
        if closed[c] == 0:
            continue
        row = layout[layout.contact_row + c]
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


@unit(I(MODEL, A, F, F, FRAME.kind, RECORD))
def end_window(model, settings, t_end, window, frame, record):
    """Move the position over the window by the mean velocity and write its piece."""
    layout, ends, marks, nodes = model.layout, frame.ends, frame.marks, frame.nodes
    nq, nv, nr = layout.nq, layout.nv, layout.nr
    q, v_start, mean, shifted = ends.q, frame.v_try, frame.moved, frame.q_shifted
    for i in range(nv):
        mean[i] = 0.5 * (v_start[i] + ends.v_new[i])
    copy(nodes.Q, q)  # the one of its beginning
    model.rate(q, mean, model.par, shifted)
    for j in range(whole(marks.nodes)):
        copy(ends.a, row_of(nodes.a, j, nv))
        copy(frame.r_last, row_of(frame.node_forces, j, nr))
        copy(shifted, row_of(nodes.Q_dot, j, nq))
    first = marks.length
    size = first + window
    record.dense[DENSE_HEADER + nr + 1] = first / size
    marks.used = put_nodes(model, first / size, 1.0, whole(marks.used), q, v_start, frame, record)
    for i in range(nq):
        q[i] += window * shifted[i]
    model.retract(q, model.par)
    model.gap(t_end, q, model.par, ends.g)
    marks.length, marks.pieces_used, record.header.h_used = size, 2.0, size
    return 0
