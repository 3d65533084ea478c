"""One step of the time-discontinuous Galerkin families: stages, border, projection, next index set.

A step is one interval, or several pieces where it is split at a release, the stop of a slip or the break of a stick;
all of them are treated alike. What the next interval begins with (index set, acceleration and forces of the state) is
decided at the end of this one and kept in the memory of the state.
"""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import head, larger, row_of, tail, unit, whole
from saltus.compile.types import MODEL, PLAIN, RECORD, A, F, I, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.lasting.border import BY, PROJECTED, border, held_set
from saltus.lasting.end_of_step import begin, close_books, enter_impulse, index_events, put_back, set_changed
from saltus.lasting.hold import REPORTED
from saltus.lasting.index_set import INDEX
from saltus.lasting.inertia import inertia_work
from saltus.lasting.interval import INTERVALS, STAGE_SETTINGS, STAGES_ROOM
from saltus.lasting.settle import CHANGE, act_on_start, changed_events
from saltus.lasting.transition import TRANSITION, break_direction, stops, transition, watched
from saltus.lasting.workspace import ACTING, ENDS
from saltus.memory.layout import M_CONSTANT
from saltus.memory.record import EVENT
from saltus.memory.vectors import clear, clear_marks, copy, copy_marks, largest
from saltus.reaction.books import open_books
from saltus.reaction.dense_block import open_block, put_piece
from saltus.reaction.react import row_dot
from saltus.reaction.report import KNOWN_ROWS, new_event
from saltus.status import Status
from saltus.tables.polynomial import NONE, lagrange_weights
from saltus.tables.tableau import STAGE_MATRIX, STAGE_VECTOR, TAB


class _TdgStep(NamedTuple):
    """Tuned numbers of this file."""

    repeat: int = -1  # instead of a status: the piece is to be solved once more, with what has been learnt
    most_pieces: int = 16  # pieces of one interval; what happens after the last split waits for the border
    finest_share: float = 1.0 / 64.0  # of an interval that is shortened because a slip turns too quickly
    at_once: float = 1e-9  # of an interval: shorter pieces are none
    events: int = 4  # most events of a contact in one piece: jam, impact, closing or release, stick or slip
    most_passes: int = 50  # of the impulse that the stages of D+ feel
    most_located: int = 12  # corrections of the time of a transition


TDG_STEP = _TdgStep()

DEGREES_AT = STAGE_SETTINGS.size  # number of degrees, then where the table of each begins in the settings
# What the state remembers. valid: 0 before the first interval; intervals: how many are done; ahead: stages of the last
# polynomial (0: none to go by). Then index set, what acts on the state, and the last stage accelerations.
MEMORY = Workspace(
    "GalerkinMemory", numbers=Numbers("valid intervals ahead"), index="nc", acting=ACTING, a_last="largest * nv"
)
# begun: 1 once the start of the segment is settled. piece: number of pieces that are done and the time that they took;
# length of this one, share: of what is left of the interval it may take; straight: 1 where slips go straight on; jams:
# contacts that jammed; used: where its dense output begins;
# following: degree of the next interval, for which the index set at the end is decided. found: contact and kind of a
# transition
WORK = Workspace(
    "Galerkin", begun=Numbers("begun"), piece=Numbers("count done length share straight jams used following"),
    ends=ENDS, shifted="nq", weights="largest", M="size", stages=STAGES_ROOM, found=integers("2"), interval=INTERVALS,
)  # fmt: skip


@unit(step_type(0))
def galerkin(model, reaction, settings, t, h, state, state_new, record, work_room):
    """Make one interval of D- or D+: stages, pieces up to the transitions of held contacts, the impulse at its end.

    in      state
    out     state_new, record with the polynomials of all pieces
    kept    MEMORY in the state; the factored matrix of the stages in the workspace
    """
    work, own = WORK(work_room), MEMORY(state_new.own)
    ends, piece, memory = work.ends, work.piece, own.numbers
    copy(state.memory, state_new.memory)
    # one degree for all intervals, or one for each
    listed = whole(settings[DEGREES_AT])
    interval = whole(memory.intervals) if listed > 1 else 0
    if interval >= listed:
        return Status.DEGREES_SPENT
    tab = tail(settings, whole(settings[DEGREES_AT + 1 + interval]))
    degree = whole(tab[TAB.degree])
    piece.following = degree
    if interval + 1 < listed:
        piece.following = settings[whole(settings[DEGREES_AT + 2 + interval]) + TAB.degree]
    copy(state.q, ends.q_0)
    copy(state.v, ends.v_0)
    for k in range(model.layout.nc):
        ends.index[k] = whole(own.index[k])
    open_books(model, h, degree, record)
    clear(record.impulse)
    if memory.valid == 0.0 or work.begun.begun == 0.0:
        copy(ends.q_0, ends.q)
        copy(ends.v_0, ends.v)
        status = begin(
            model, reaction.staged, settings, t, degree, whole(memory.valid), ends, own.acting, work.interval, record
        )
        if status != 0:
            return status
        memory.ahead, memory.valid, work.begun.begun = 0.0, 1.0, 1.0
    piece.count, piece.done, piece.jams, piece.share, piece.straight = 0.0, 0.0, 0.0, 1.0, 0.0
    piece.used = open_block(model, own.acting.r, record.dense)
    last = False
    while not last:
        status = solve_piece(model, reaction, settings, tab, t, h, own, work, record)
        if status == 0:
            status = split_piece(model, reaction, settings, tab, t, h, own, work, record)
        if status == TDG_STEP.repeat:
            continue
        if status != 0:
            return status
        last = piece.done + piece.length >= h * (1.0 - 1e-12)
        status = end_piece(model, reaction, settings, tab, t, h, own, work, record)
        if status != 0:
            return status
    copy(ends.q_0, state_new.q)
    copy(ends.v_0, state_new.v)
    for k in range(model.layout.nc):
        own.index[k] = ends.index[k]
    memory.intervals += 1.0
    return close_books(
        model, t, whole(piece.count), whole(tab[TAB.stages]), whole(piece.used), own.acting.r, ends, record
    )  # fmt: skip


@unit(I(MODEL, PLAIN, A, A, F, F, MEMORY.kind, WORK.kind, RECORD))
def solve_piece(model, reaction, settings, tab, t, h, own, work, record):
    """Solve the stages of a piece; where a contact jams or a slip turns too quickly it is to be solved once more."""
    settings = STAGE_SETTINGS(settings)
    nc, ends, acting, piece, interval = model.layout.nc, work.ends, own.acting, work.piece, work.interval
    begun = t + piece.done
    piece.length = (h - piece.done) * piece.share
    clear(interval.push)
    guess_stages(model, tab, 1 if own.numbers.ahead == tab[TAB.stages] and piece.count == 0.0 else 0, own, work.stages)
    if settings.by_stage == 1.0 or settings.law == BY.previous:
        model.gap(begun, ends.q_0, model.par, interval.gap_0)
    status = reaction.staged.interval(
        model, reaction.reaction, settings, tab, begun, piece.length, ends, acting, work.stages, interval, record
    )
    if status == Status.JAMMED and piece.jams < nc:
        piece.jams += 1.0
        jam = interval.lasting.held.jam
        ends.index[jam] = INDEX.impulsive
        new_event(begun, jam, EVENT.painleve, 0, 0, acting.u, acting.u, ends.P, record)
        own.numbers.ahead = 0.0
        return solve_again(model, begun, own, work, record)
    stalled = status == Status.NEWTON_STALLED and nc > 0 and piece.straight == 0.0
    if stalled and settings.split == 1.0 and piece.count < TDG_STEP.most_pieces - 1:
        piece.share *= 0.5
        if piece.share <= TDG_STEP.finest_share:
            # a slip that stops turns quickly before it does: from here straight on
            for k in range(nc):
                acting.direction[2 * nc + k] = 1.0
            piece.share, piece.straight = 1.0, 1.0
        return TDG_STEP.repeat
    return status


@unit(I(MODEL, F, MEMORY.kind, WORK.kind, RECORD))
def solve_again(model, t, own, work, record):
    """Let another index set act on the start of a piece, which is to be solved once more under it."""
    work.interval.kept.renew = 1.0
    status = act_on_start(model, t, work.ends, own.acting, work.interval.lasting, record)
    return TDG_STEP.repeat if status == 0 else status


@unit(I(MODEL, A, I, MEMORY.kind, STAGES_ROOM.kind))
def guess_stages(model, tab, ahead, own, stages):
    """Write what is known of stage 0 and guesses of the accelerations: constant, or the last interval continued."""
    nv, nr, n, acting = model.layout.nv, model.layout.nr, whole(tab[TAB.stages]), own.acting
    E, a = head(tail(tab, TAB.vectors + 3 * n + STAGE_MATRIX.predictor * n * n), n * n), stages.a
    copy(acting.r, head(stages.R, nr))
    copy(acting.u, head(stages.U, nr))
    copy(acting.powers, head(stages.powers, REPORTED.first_contact + model.layout.nc))
    for k in range(n):
        for i in range(nv):
            a[k * nv + i] = acting.a[i]
            if ahead != 0:
                for j in range(n):
                    a[k * nv + i] += E[k * n + j] * own.a_last[j * nv + i]
    return 0


@unit(I(MODEL, PLAIN, A, A, F, F, MEMORY.kind, WORK.kind, RECORD))
def split_piece(model, reaction, settings, tab, t, h, own, work, record):
    """End a piece at the first transition of a held contact, if there is one."""
    settings = STAGE_SETTINGS(settings)
    layout, ends, piece, stages, found = model.layout, work.ends, work.piece, work.stages, work.found
    nc, nv, n, width = layout.nc, layout.nv, whole(tab[TAB.stages]), REPORTED.first_contact + layout.nc
    c, weights, direction = (
        head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n),
        head(work.weights, n),
        own.acting.direction,
    )
    clear_marks(ends.stopped)
    clear_marks(ends.candidate)
    if (
        settings.split == 0.0
        or settings.by_stage == 1.0
        or piece.count >= TDG_STEP.most_pieces - 1
        or tab[TAB.degree] == 0.0
    ):
        return 0
    load = 0.0
    for k in range(n):
        load = larger(load, stages.powers[k * width + REPORTED.load])
    s = transition(
        model, c, ends.index, direction, stages.R, stages.U, largest(head(stages.V, n * nv)), load,
        work.interval.lasting.shared, found, weights,
    )  # fmt: skip
    size, changing, kind = piece.length, found[0], found[1]
    if s < NONE and size * s <= TDG_STEP.at_once * h and kind == TRANSITION.released:
        # the next derivative of a force that begins with zero decides: it pulls, so the contact lets go at once
        ends.index[changing] = INDEX.open
        changed_events(model, t + piece.done, changing, INDEX.slip, INDEX.open, 0, own.acting.u, own.acting.r, record)
        return solve_again(model, t + piece.done, own, work, record)
    if not (s < NONE and size * s > TDG_STEP.at_once * h and size * (1.0 - s) > TDG_STEP.at_once * h):
        return 0
    row = layout[layout.contact_row + changing]
    turns = kind == TRANSITION.stopped and layout[layout.contact_row + changing + 1] - row == 3
    if turns and stops(layout, c, s, settings.rest, 0.9, changing, stages.U, weights) == 0:
        # no stop: the piece ends here, the next one goes on in the new direction
        piece.share *= 0.9 * s
        return TDG_STEP.repeat
    if turns and piece.count < TDG_STEP.most_pieces - 3 and piece.straight == 0.0:
        # a slip in space turns the faster the nearer its stop: approach it by shorter and shorter pieces
        piece.share *= 0.75 * s
        return TDG_STEP.repeat
    if turns:
        direction[2 * nc + changing], piece.straight = 1.0, 1.0
    if kind == TRANSITION.stopped:
        ends.stopped[changing] = 1
    else:
        ends.candidate[changing] = CHANGE.releasing if kind == TRANSITION.released else CHANGE.breaking
    return locate(model, reaction, settings, tab, t, h, s, own, work, record)


@unit(I(MODEL, PLAIN, A, A, F, F, F, MEMORY.kind, WORK.kind, RECORD))
def locate(model, reaction, settings, tab, t, h, s, own, work, record):
    """Find the size of a piece that ends at the transition near its place s, by Newton's method; solve it."""
    layout, ends, acting, piece, stages = model.layout, work.ends, own.acting, work.piece, work.stages
    n, changing, kind, begun = whole(tab[TAB.stages]), work.found[0], work.found[1], t + piece.done
    c, weights = head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n), head(work.weights, n)
    direction, R, U = acting.direction, stages.R, stages.U
    lagrange_weights(c, s + 1e-4, weights)
    slope = watched(model, changing, kind, weights, direction, R, U, n)
    lagrange_weights(c, s - 1e-4, weights)
    slope = (slope - watched(model, changing, kind, weights, direction, R, U, n)) / (2e-4 * piece.length)
    piece.length *= s
    for _ in range(TDG_STEP.most_located):
        guess_stages(model, tab, 0, own, stages)
        status = reaction.staged.interval(
            model, reaction.reaction, settings, tab, begun, piece.length, ends, acting, stages, work.interval, record
        )
        if status != 0:
            return status
        if kind == TRANSITION.stopped:
            value = end_slip(model, tab, begun + piece.length, changing, direction, work)
        else:
            clear(weights)
            weights[n - 1] = 1.0
            value = watched(model, changing, kind, weights, direction, R, U, n)
        shift = -value / slope
        if not abs(shift) > 2e-16 * (abs(t) + h) or not (0.0 < piece.length + shift < h - piece.done):
            break
        piece.length += shift
    if kind == TRANSITION.broke:
        break_direction(layout, changing, row_of(R, n - 1, layout.nr), direction)
    return 0


@unit(F(MODEL, A, F, I, A, WORK.kind))
def end_slip(model, tab, t, contact, direction, work):
    """Return the slip of a contact in its first direction at the end of a piece."""
    layout, room, n = model.layout, work.interval.lasting, whole(tab[TAB.stages])
    W, w, v = room.W, room.b, work.ends.v
    end_velocity(model, tab, work)
    model.kinematics(t, row_of(work.stages.Q, n - 1, layout.nq), model.par, W, w)
    row, slip = layout[layout.contact_row + contact], 0.0
    for i in range(row + 1, layout[layout.contact_row + contact + 1]):
        slip += (row_dot(layout, W, i, v) + w[i]) * direction[2 * contact + i - row - 1]
    return slip


@unit(I(MODEL, A, WORK.kind))
def end_velocity(model, tab, work):
    """Write the velocity at the end of a piece, before impulses."""
    nv, n, ends, a = model.layout.nv, whole(tab[TAB.stages]), work.ends, work.stages.a
    b = head(tail(tab, TAB.vectors + STAGE_VECTOR.weight * n), n)
    for i in range(nv):
        ends.v[i] = ends.v_0[i]
        for k in range(n):
            ends.v[i] += work.piece.length * b[k] * a[k * nv + i]
    return 0


@unit(I(MODEL, A, WORK.kind))
def reach_end(model, tab, work):
    """Write position and velocity at the end of a piece, before impulses."""
    nq, n = model.layout.nq, whole(tab[TAB.stages])
    copy(row_of(work.stages.Q, n - 1, nq), work.ends.q)
    model.retract(work.ends.q, model.par)
    return end_velocity(model, tab, work)


@unit(I(MODEL, PLAIN, A, A, F, F, MEMORY.kind, WORK.kind, RECORD))
def end_piece(model, reaction, settings, tab, t, h, own, work, record):
    """Treat the end of a piece: impulse, books, projection, what the next one begins with."""
    settings = STAGE_SETTINGS(settings)
    layout, ends, piece, acting, stages = model.layout, work.ends, work.piece, own.acting, work.stages
    degree, n, room, header = whole(tab[TAB.degree]), whole(tab[TAB.stages]), work.interval.lasting, record.header
    nv, nr, begun = layout.nv, layout.nr, t + piece.done
    last = piece.done + piece.length >= h * (1.0 - 1e-12)
    t_end = t + h if last else begun + piece.length
    reach_end(model, tab, work)
    model.gap(t_end, ends.q, model.par, ends.g)
    struck = strike_piece(model, reaction, settings, tab, t_end, begun, h, own, work, record)
    if struck < 0:
        return -struck
    header.residual = larger(header.residual, ends.info[0] if struck == 1 else 0.0)
    enter_stages(model, tab, begun, work, record)
    copy(ends.v, record.v_minus)
    clear_marks(ends.resting)
    if struck == 1:
        header.reacted = 1.0
        known = KNOWN_ROWS.normals if settings.law == BY.previous or degree == 0 else KNOWN_ROWS.nothing
        r = row_of(stages.R, n - 1, nr)
        impacts = enter_impulse(model, settings, t_end, h, degree, known, r, ends, room, record)
        copy(ends.v_new, ends.v)
        if impacts == 0:  # a lasting force at degree 0: nothing jumps
            copy(ends.v, record.v_minus)
    piece.used = put_piece(
        model, piece.done / h, 1.0 if last else (piece.done + piece.length) / h, ends.q_0, ends.v_0, n, stages.a,
        stages.R, stages.Q_dot, whole(piece.used), record.dense,
    )  # fmt: skip
    own.numbers.ahead = 0.0 if struck == 1 or not last else n
    copy(stages.a, head(own.a_last, n * nv))
    status = put_piece_back(model, settings, t_end, degree, struck, work, record)
    if status != 0:
        return status
    copy_marks(ends.index, ends.before)
    next_degree = whole(piece.following) if last else degree
    status = reaction.staged.settle(
        model, reaction.reaction, settings, t_end, next_degree, struck, ends, acting, work.interval, record
    )
    if status != 0:
        return status
    header.residual = larger(header.residual, ends.info[0])
    if set_changed(model, ends) == 1:
        own.numbers.ahead, work.interval.kept.renew = 0.0, 1.0
        if piece.following > 0.0:  # degree 0 has no index set: nothing happens where it begins
            index_events(model, t_end, 1, -1, ends, acting, record)
    copy(ends.q, ends.q_0)
    copy(ends.v, ends.v_0)
    clear(head(tail(acting.direction, 2 * layout.nc), layout.nc))
    piece.done, piece.count, piece.share, piece.straight = piece.done + piece.length, piece.count + 1.0, 1.0, 0.0
    return 0


@unit(I(MODEL, A, F, WORK.kind, RECORD))
def enter_stages(model, tab, t, work, record):
    """Enter error, impulses and works of the stages of a piece into the books."""
    layout, stages, header, size = model.layout, work.stages, record.header, work.piece.length
    nv, nc, nr, n, width = layout.nv, layout.nc, layout.nr, whole(tab[TAB.stages]), REPORTED.first_contact + layout.nc
    b, P_share = (
        head(tail(tab, TAB.vectors + STAGE_VECTOR.weight * n), n),
        head(tail(tab, TAB.vectors + STAGE_VECTOR.share * n), n),
    )
    R, powers, v, push = stages.R, stages.powers, work.ends.v, work.interval.push
    if tab[TAB.degree] > 0.0:
        for i in range(nv):
            jump = v[i] - stages.V[(n - 1) * nv + i] + P_share[n - 1] * push[i]
            header.error = larger(header.error, abs(jump))
    for k in range(n):
        header.force_work += size * b[k] * powers[k * width]
        header.drive_work += size * b[k] * powers[k * width + 1]
        for j in range(nc):
            record.dissipation[j] += size * b[k] * powers[k * width + REPORTED.first_contact + j]
        for i in range(nr):
            record.impulse[i] += size * b[k] * R[k * nr + i]
            if R[k * nr + i] != 0.0:
                header.reacted = 1.0
    if (layout.features & M_CONSTANT) == 0:
        header.drive_work += inertia_work(model, tab, t, size, stages.Q, stages.V, stages.Q_dot, work.shifted, work.M)
    return 0


@unit(I(MODEL, A, F, I, I, WORK.kind, RECORD))
def put_piece_back(model, settings, t, degree, struck, work, record):
    """Put the end of a piece back onto joints and held contacts."""
    settings = STAGE_SETTINGS(settings)
    layout, ends = model.layout, work.ends
    held, u_plus = ends.held, ends.u_plus
    if settings.project == 0.0 or degree == 0 or held_set(model, ends) == 0:
        return 0
    for k in range(layout.nc):
        if ends.candidate[k] == CHANGE.releasing:
            held[k] = 0
        if struck == 1 and held[k] != 0:  # an impact elsewhere may have lifted it, or made it slip
            row, slips = layout[layout.contact_row + k], False
            for i in range(row + 1, layout[layout.contact_row + k + 1]):
                slips = slips or abs(u_plus[i]) > settings.rest
            held[k] = PROJECTED.normal if slips else PROJECTED.whole
            if u_plus[row] > settings.rest and ends.resting[k] == 0:
                held[k] = 0
    status = put_back(model, settings.projected, t, ends, work.interval.lasting, record)
    if status == 0 and struck == 0:
        copy(ends.v, record.v_minus)
    return status


@unit(I(MODEL, PLAIN, A, A, F, F, F, MEMORY.kind, WORK.kind, RECORD))
def strike_piece(model, reaction, settings, tab, t_end, t, h, own, work, record):
    """Treat the border of a piece; return 1 when there is an impulse, 0 when not, a negative status on failure.

    In D+ the stages feel the impulse: then stages and impulse are solved in turn, with the closed contacts fixed.
    """
    settings = STAGE_SETTINGS(settings)
    nv, n, degree, law = model.layout.nv, whole(tab[TAB.stages]), whole(tab[TAB.degree]), whole(settings.law)
    ends, interval, a, P_share = (
        work.ends,
        work.interval,
        work.stages.a,
        head(tail(tab, TAB.vectors + STAGE_VECTOR.share * n), n),
    )
    if is_struck(model, settings, t_end, degree, ends, interval) == 0:
        return 0
    if degree == 0:
        law = BY.previous if law == BY.rest else law  # a constant velocity: the law of Moreau and Jean
    feels = False
    for k in range(n):
        feels = feels or P_share[k] != 0.0
    for attempt in range(TDG_STEP.most_passes + 2):
        if law == BY.previous or degree == 0:
            speeds_before(model, t_end, degree, ends, interval.lasting.W)
        copy(row_of(a, n - 1, nv), ends.a)
        status = border(model, reaction.reaction, t_end, h, settings.rest, law, ends, interval.lasting, record)
        if status != 0:
            return -status
        change, scale, push = 0.0, larger(largest(ends.v_new), largest(ends.v)), interval.push
        for i in range(nv):
            change = larger(change, abs(ends.v_new[i] - ends.v[i] - push[i]))
            push[i] = ends.v_new[i] - ends.v[i]
        if not feels or change <= 1e-13 * scale or attempt > TDG_STEP.most_passes:
            model.gap(t_end, ends.q, model.par, ends.g)
            return 1
        status = Status.NEWTON_STALLED
        if attempt < TDG_STEP.most_passes:
            status = reaction.staged.interval(
                model, reaction.reaction, settings, tab, t, work.piece.length, ends, own.acting, work.stages, interval,
                record,
            )  # fmt: skip
        if status == Status.NEWTON_STALLED:
            # friction that turns with the jump of the stages may have no answer: then they move without the impulse
            feels = False
            clear(push)
            for k in range(n):
                copy(own.acting.a, row_of(a, k, nv))
            status = reaction.staged.interval(
                model, reaction.reaction, settings, tab, t, work.piece.length, ends, own.acting, work.stages, interval,
                record,
            )  # fmt: skip
        if status != 0:
            return -status
        reach_end(model, tab, work)
    return -Status.NEWTON_STALLED


@unit(I(MODEL, A, F, I, ENDS.kind, INTERVALS.kind))
def is_struck(model, settings, t, degree, ends, interval):
    """Mark the contacts that are closed at the end of a piece; return 1 where the law on velocity level has to act."""
    settings = STAGE_SETTINGS(settings)
    layout, W, w, index, closed = model.layout, interval.lasting.W, ends.u_minus, ends.index, ends.closed
    by_stage = settings.by_stage == 1.0
    doubtful = degree == 0 and layout.nj > 0
    for c in range(layout.nc):
        holding = (index[c] == INDEX.slip or index[c] == INDEX.stick) and not by_stage
        closed[c] = 1 if ends.g[c] <= settings.closed or holding else 0
        doubtful = doubtful or (closed[c] == 1 and not holding)
    if not doubtful or degree == 0:
        return 1 if doubtful else 0
    struck = False
    model.kinematics(t, ends.q, model.par, W, w)
    for c in range(layout.nc):
        row = layout[layout.contact_row + c]
        if closed[c] == 1 and (by_stage or (index[c] != INDEX.slip and index[c] != INDEX.stick)):
            floor = 0.0 if by_stage or index[c] == INDEX.impulsive else -settings.rest
            struck = struck or row_dot(layout, W, row, ends.v) + w[row] < floor
    return 1 if struck else 0


@unit(I(MODEL, F, I, ENDS.kind, A))
def speeds_before(model, t, degree, ends, W):
    """Write the row velocities at the beginning of a piece, by the rows at its end: one W for before and after."""
    layout, u_start = model.layout, ends.u_start
    model.kinematics(t, ends.q, model.par, W, u_start)
    for i in range(layout.nr):
        u_start[i] += row_dot(layout, W, i, ends.v_0)
        if degree > 0 and u_start[i] > 0.0:
            u_start[i] = 0.0  # it still rose when the interval began: nothing to restitute
    return 0
