"""One step of the time-discontinuous Galerkin families: stages, border, projection, next index set.

A step is one interval, or several where it is split at a release, the stop of a slip or the break of a stick; all of
them are treated alike. What the next interval begins with (index set, acceleration and forces of the state) is
decided at the end of this one and kept in the memory of the state.
"""

from __future__ import annotations

from saltus.compile.seam import head, larger, row_of, tail, unit, whole
from saltus.compile.types import MODEL, PLAIN, RECORD, A, F, I, J, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.lasting.border import BY_PREVIOUS, BY_REST, NORMAL, WHOLE, border, held_set, project
from saltus.lasting.hold import JAMMED, LOAD, POWERS, accelerate
from saltus.lasting.index_set import IMPULSIVE, OPEN, SLIP, STICK
from saltus.lasting.inertia import inertia_work
from saltus.lasting.interval import (
    INTERVALS,
    STAGE_SETTINGS,
    STAGES_ROOM,
)
from saltus.lasting.settle import BREAKING, RELEASING, changed_events
from saltus.lasting.strike_events import strike_events
from saltus.lasting.transition import BROKE, RELEASED, STOPPED, break_direction, stops, transition, watched
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import (
    CONTACT_ROW,
    FLAGS,
    M_CONSTANT,
    NC,
    NJ,
    NQ,
    NR,
    NV,
    RATE_IDENTITY,
)
from saltus.memory.record import (
    PAINLEVE,
)
from saltus.reaction.react import row_dot
from saltus.reaction.report import NORMALS, NOTHING, new_event
from saltus.status import Status
from saltus.tables.polynomial import NONE, lagrange_weights
from saltus.tables.tableau import DEGREE, NODE, PREDICTOR, SHARE, STAGES, VECTORS, WEIGHT

DEGREES_SPENT, STALLED = int(Status.DEGREES_SPENT), int(Status.NEWTON_STALLED)
DEGREES_AT = STAGE_SETTINGS.size  # number of degrees, then where the table of each begins in the settings
MOST_PIECES = 16  # pieces of one interval; what happens after the last split waits for the border
FINEST_SHARE = 1.0 / 64.0  # of an interval that is shortened because a slip turns too quickly
EVENTS = 4  # most events of a contact in one piece: jam, impact, closing or release, stick or slip
MOST_PASSES = 50  # of the impulse that the stages of D+ feel
# What the state remembers. valid: 0 before the first interval; intervals: how many are done; ahead: stages of the last
# polynomial (0: none to go by). Then index set and slip directions, a, r, u and powers of the state, and the last stage
# accelerations.
MEMORY = Workspace(
    "GalerkinMemory", numbers=Numbers("valid intervals ahead"), index="nc", direction="3 * nc", a_0="nv", r_0="nr",
    u_0="nr", powers_0="width", a_last="largest * nv",
)  # fmt: skip
# begun: 1 once the start of the segment is settled. State at both ends of a piece (q_0, v_0; q, v, v_end with its
# impulse), push: what the stages feel of the impulse; gaps at both ends; row velocities and impulses of the impact;
# found: contact and kind of a transition
WORK = Workspace(
    "Galerkin", begun=Numbers("begun"), q_0="nq", v_0="nv", v="nv", v_end="nv", push="nv", q="nq", shifted="nq",
    g="nc + nj", g_0="nc + nj", P="nr", u_minus="nr", u_plus="nr", u_start="nr", corrected="nr", info="2",
    weights="largest", M="size", stages=STAGES_ROOM, index=integers("nc"), closed=integers("nc"),
    resting=integers("nc"), stopped=integers("nc"), held=integers("nc"), candidate=integers("nc"),
    found=integers("2"), interval=INTERVALS,
)  # fmt: skip
DENSE_HEADER, PIECE_HEADER = 7, 2  # see dense.py


def piece_size(layout, n: int) -> int:
    """Return the floats of the dense output of one piece."""
    nq, nv, nr = (int(layout[k]) for k in (NQ, NV, NR))
    own_rate = 0 if int(layout[FLAGS]) & RATE_IDENTITY else n * nq
    return PIECE_HEADER + nq + nv + n * (nv + nr) + own_rate


@unit(step_type(0))
def galerkin(model, reaction, settings, t, h, state, state_new, record, work_room):
    """Make one interval of D- or D+: stages, pieces up to the transitions of held contacts, the impulse at its end.

    in      state
    out     state_new, record with the polynomials of all pieces
    kept    MEMORY in the state; the factored matrix of the stages in the workspace
    """
    settings = STAGE_SETTINGS(settings)
    work, own = WORK(work_room), MEMORY(state_new.own)
    layout, par, core = model.layout, model.par, reaction.reaction
    nq, nv, nc, nj, nr, flags = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR], layout[FLAGS]
    memory, header, width = own.numbers, record.header, POWERS + nc
    by_stage = settings.by_stage == 1.0
    for i in range(state.memory.shape[0]):
        state_new.memory[i] = state.memory[i]
    # one degree for all intervals, or one for each
    listed = whole(settings[DEGREES_AT])
    interval = whole(memory.intervals) if listed > 1 else 0
    if interval >= listed:
        return DEGREES_SPENT
    start = whole(settings[DEGREES_AT + 1 + interval])
    tab = tail(settings, start)
    degree, n = whole(tab[DEGREE]), whole(tab[STAGES])
    following = degree  # of the next interval, for which the index set at the end is decided
    if interval + 1 < listed:
        following = whole(settings[whole(settings[DEGREES_AT + 2 + interval]) + DEGREE])
    c, b, P_share = (
        head(tail(tab, VECTORS + NODE * n), n),
        head(tail(tab, VECTORS + WEIGHT * n), n),
        head(tail(tab, VECTORS + SHARE * n), n),
    )
    direction, a_0, r_0, u_0, powers_0, a_last = own.direction, own.a_0, own.r_0, own.u_0, own.powers_0, own.a_last
    q_0, v_0, v, v_end, push, q, shifted = work.q_0, work.v_0, work.v, work.v_end, work.push, work.q, work.shifted
    g, g_0, P, u_minus, u_plus, u_start = work.g, work.g_0, work.P, work.u_minus, work.u_plus, work.u_start
    corrected, info, weights, M = work.corrected, work.info, head(work.weights, n), work.M
    index, closed, resting, stopped, held = work.index, work.closed, work.resting, work.stopped, work.held
    candidate, found, interval, stages = work.candidate, work.found, work.interval, work.stages
    room, kept = interval.lasting, interval.kept
    Q, V, a, R, U, powers = stages.Q, stages.V, stages.a, stages.R, stages.U, stages.powers
    for i in range(nq):
        q_0[i] = state.q[i]
    for i in range(nv):
        v_0[i] = state.v[i]
    for k in range(nc):
        index[k] = whole(own.index[k])
    header.h_used, header.error, header.residual, header.degree = h, 0.0, 0.0, degree
    header.events_used, header.force_work, header.drive_work, header.violation = 0.0, 0.0, 0.0, 0.0
    header.reacted = 1.0 if nj > 0 else 0.0
    for i in range(nr):
        record.impulse[i] = 0.0
    for k in range(nc):
        record.dissipation[k] = 0.0

    # ---- the start of a run, or of a segment behind a jump of the force
    if memory.valid == 0.0 or work.begun.begun == 0.0:
        for k in range(nc):
            resting[k], stopped[k], candidate[k], closed[k] = 0, 0, 0, index[k]
            if memory.valid == 0.0:
                index[k] = OPEN
        model.gap(t, q_0, par, g)
        status = reaction.staged.settle(
            model, core, settings, t, q_0, v_0, g, degree, 0.0, index, direction, resting, stopped, candidate,
            a_0, r_0, u_0, powers_0, info, interval, record,
        )  # fmt: skip
        if status != 0:
            return status
        for k in range(nc):
            if closed[k] != index[k] and (memory.valid == 1.0 or index[k] == IMPULSIVE):
                changed_events(model, t, k, closed[k], index[k], 0, u_0, r_0, record)
        memory.ahead = 0.0
        memory.valid, work.begun.begun = 1.0, 1.0

    done, pieces, jams, share, straight = 0.0, 0, 0, 1.0, False
    for i in range(nr):
        record.dense[DENSE_HEADER + i] = r_0[i]
    used = DENSE_HEADER + nr
    while True:
        # ---- stages
        size = (h - done) * share
        for i in range(nv):
            push[i] = 0.0
        fill(tab, memory.ahead == n and pieces == 0, a_0, r_0, u_0, powers_0, a_last, a, R, U, powers, n, nv, nr, width)
        if by_stage or settings.law == BY_PREVIOUS:
            model.gap(t + done, q_0, par, g_0)
        status = reaction.staged.interval(
            model, core, settings, tab, t + done, size, q_0, v_0, index, direction, g_0, 1, push, stages, record,
            interval,
        )  # fmt: skip
        if status == JAMMED and jams < nc:
            jams += 1
            jam = room.held.jam
            index[jam] = IMPULSIVE
            new_event(t + done, jam, PAINLEVE, 0, 0, u_0, u_0, P, record)
            kept.renew = 1.0
            status = accelerate(model, t + done, q_0, v_0, index, direction, 0, a_0, r_0, u_0, powers_0, room, record)
            memory.ahead = 0.0
            if status != 0:
                return status
            continue
        if status == STALLED and settings.split == 1.0 and pieces < MOST_PIECES - 1 and nc > 0 and not straight:
            share *= 0.5
            if share <= FINEST_SHARE:
                # a slip that stops turns quickly before it does: from here straight on
                for k in range(nc):
                    direction[2 * nc + k] = 1.0
                share, straight = 1.0, True
            continue
        if status != 0:
            return status

        # ---- split at the first transition of a held contact
        for k in range(nc):
            stopped[k], candidate[k] = 0, 0
        if settings.split == 1.0 and pieces < MOST_PIECES - 1 and degree > 0 and not by_stage:
            fastest, load = 0.0, 0.0
            for i in range(n * nv):
                fastest = larger(fastest, abs(V[i]))
            for k in range(n):
                load = larger(load, powers[k * width + LOAD])
            s = transition(
                model, c, index, direction, R, U, fastest, load, room.shared, found, weights
            )  # fmt: skip
            if s < NONE and size * s <= 1e-9 * h and found[1] == RELEASED:
                # the next derivative of a force that begins with zero decides: it pulls, so the contact lets go at once
                index[found[0]] = OPEN
                changed_events(model, t + done, found[0], SLIP, OPEN, 0, u_0, r_0, record)
                kept.renew = 1.0
                status = accelerate(
                    model, t + done, q_0, v_0, index, direction, 0, a_0, r_0, u_0, powers_0, room, record
                )
                if status != 0:
                    return status
                continue
            if s < NONE and size * s > 1e-9 * h and size * (1.0 - s) > 1e-9 * h:
                kind, changing = found[1], found[0]
                row = layout[layout[CONTACT_ROW] + changing]
                turns = kind == STOPPED and layout[layout[CONTACT_ROW] + changing + 1] - row == 3
                if turns and stops(layout, c, s, settings.rest, 0.9, changing, U, weights) == 0:
                    # no stop: the piece ends here, the next one goes on in the new direction
                    share *= 0.9 * s
                    continue
                if turns and pieces < MOST_PIECES - 3 and not straight:
                    # a slip in space turns the faster the nearer its stop: approach it by shorter and shorter pieces
                    share *= 0.75 * s
                    continue
                if turns:
                    direction[2 * nc + changing], straight = 1.0, True
                if kind == STOPPED:
                    stopped[changing] = 1
                else:
                    candidate[changing] = RELEASING if kind == RELEASED else BREAKING
                lagrange_weights(c, s + 1e-4, weights)
                slope = watched(model, changing, kind, weights, direction, R, U, n)
                lagrange_weights(c, s - 1e-4, weights)
                slope = (slope - watched(model, changing, kind, weights, direction, R, U, n)) / (2e-4 * size)
                size *= s
                for _ in range(12):
                    fill(tab, 0, a_0, r_0, u_0, powers_0, a_last, a, R, U, powers, n, nv, nr, width)
                    status = reaction.staged.interval(
                        model, core, settings, tab, t + done, size, q_0, v_0, index, direction, g_0, 1, push,
                        stages, record, interval,
                    )  # fmt: skip
                    if status != 0:
                        return status
                    if kind == STOPPED:
                        value = end_slip(
                            model, t + done + size, size, v_0, changing, direction, row_of(Q, n - 1, nq), a, b, v,
                            room,
                        )  # fmt: skip
                    else:
                        for k in range(n):
                            weights[k] = 1.0 if k == n - 1 else 0.0
                        value = watched(model, changing, kind, weights, direction, R, U, n)
                    shift = -value / slope
                    if not abs(shift) > 2e-16 * (abs(t) + h) or not (0.0 < size + shift < h - done):
                        break
                    size += shift

                if kind == BROKE:
                    break_direction(layout, changing, row_of(R, n - 1, nr), direction)

        # ---- end of the piece: position, velocity, what is closed there
        last = done + size >= h * (1.0 - 1e-12)
        t_end = t + h if last else t + done + size
        for i in range(nq):
            q[i] = Q[(n - 1) * nq + i]
        model.retract(q, par)
        for i in range(nv):
            v[i] = v_0[i]
            for k in range(n):
                v[i] += size * b[k] * a[k * nv + i]
        model.gap(t_end, q, par, g)
        status = strike(
            model, reaction, settings, tab, t_end, t + done, h, size, q_0, v_0, q, v, g, g_0, index, direction, closed,
            v_end, push, P, u_minus, u_plus, u_start, info, a_0, stages, interval, record,
        )  # fmt: skip
        if status < 0:
            return -status
        struck = status == 1
        header.residual = larger(header.residual, info[0] if struck else 0.0)

        # ---- record of the piece
        if degree > 0:
            difference = 0.0
            for i in range(nv):
                difference = larger(difference, abs(v[i] - V[(n - 1) * nv + i] + P_share[n - 1] * push[i]))
            header.error = larger(header.error, difference)
        for k in range(n):
            header.force_work += size * b[k] * powers[k * width]
            header.drive_work += size * b[k] * powers[k * width + 1]
            for j in range(nc):
                record.dissipation[j] += size * b[k] * powers[k * width + POWERS + j]
            for i in range(nr):
                record.impulse[i] += size * b[k] * R[k * nr + i]
                if R[k * nr + i] != 0.0:
                    header.reacted = 1.0
        if (flags & M_CONSTANT) == 0:
            header.drive_work += inertia_work(model, tab, t + done, size, Q, V, stages.Q_dot, shifted, M)
        if struck:
            header.reacted = 1.0
        for i in range(nv):
            record.v_minus[i] = v[i]
        for k in range(nc):
            resting[k] = 0
        if struck:
            known = NORMALS if settings.law == BY_PREVIOUS or degree == 0 else NOTHING
            impacts = strike_events(
                model, settings, t_end, h, degree, known, closed, resting, P, row_of(a, n - 1, nv),
                row_of(R, n - 1, nr), u_minus, u_plus, u_start, room, record,
            )  # fmt: skip
            for i in range(nr):
                record.impulse[i] += P[i]
            for i in range(nv):
                v[i] = v_end[i]
                if impacts == 0:  # a lasting force at degree 0: nothing jumps
                    record.v_minus[i] = v[i]
        record.dense[used], record.dense[used + 1] = done / h, 1.0 if last else (done + size) / h
        used += PIECE_HEADER
        for i in range(nq):
            record.dense[used + i] = q_0[i]
        for i in range(nv):
            record.dense[used + nq + i] = v_0[i]
        used += nq + nv
        for i in range(n * nv):
            record.dense[used + i] = a[i]
        for i in range(n * nr):
            record.dense[used + n * nv + i] = R[i]
        used += n * (nv + nr)
        if (flags & RATE_IDENTITY) == 0:
            for i in range(n * nq):
                record.dense[used + i] = stages.Q_dot[i]
            used += n * nq
        memory.ahead = 0.0 if struck or not last else n
        for i in range(n * nv):
            a_last[i] = a[i]

        # ---- projection
        if settings.project == 1.0 and degree > 0 and held_set(model, index, resting, stopped, held) == 1:
            for k in range(nc):
                if candidate[k] == RELEASING:
                    held[k] = 0
                if struck and held[k] != 0:  # an impact elsewhere may have lifted it, or made it slip
                    row, slips = layout[layout[CONTACT_ROW] + k], False
                    for i in range(row + 1, layout[layout[CONTACT_ROW] + k + 1]):
                        slips = slips or abs(u_plus[i]) > settings.rest
                    held[k] = NORMAL if slips else WHOLE
                    if u_plus[row] > settings.rest and resting[k] == 0:
                        held[k] = 0
            for i in range(nr):
                corrected[i] = 0.0
            status = project(model, settings.projected, t_end, q, v, held, corrected, g, room)
            if status != 0:
                return status
            for i in range(nr):
                record.impulse[i] += corrected[i]
            if not struck:
                for i in range(nv):
                    record.v_minus[i] = v[i]
        # ---- what the next interval begins with
        for k in range(nc):
            closed[k] = index[k]
        status = reaction.staged.settle(
            model, core, settings, t_end, q, v, g, following if last else degree, 1.0 if struck else 0.0, index,
            direction, resting, stopped, candidate, a_0, r_0, u_0, powers_0, info, interval, record,
        )  # fmt: skip
        if status != 0:
            return status
        header.residual = larger(header.residual, info[0])
        for k in range(nc):
            if closed[k] != index[k]:
                memory.ahead, kept.renew = 0.0, 1.0
            if closed[k] != index[k] and following > 0:  # degree 0 has no index set: nothing happens where it begins
                changed_events(model, t_end, k, closed[k], index[k], resting[k], u_0, r_0, record)
        for i in range(nq):
            q_0[i] = q[i]
        for i in range(nv):
            v_0[i] = v[i]
        done += size
        pieces += 1
        share, straight = 1.0, False
        for k in range(nc):
            direction[2 * nc + k] = 0.0
        if last:
            break

    # ---- update
    for i in range(nq):
        state_new.q[i] = q_0[i]
    for i in range(nv):
        state_new.v[i] = v_0[i]
    for k in range(nc):
        own.index[k] = index[k]
    memory.intervals += 1.0
    record.dense[0], record.dense[1], record.dense[2], record.dense[3], record.dense[4] = pieces, n, nq, nv, nr
    record.dense[5], record.dense[6] = 0.0 if (flags & RATE_IDENTITY) != 0 else 1.0, t
    for i in range(nr):
        record.dense[used + i] = r_0[i]
    header.dense_used = used + nr
    for j in range(nc + nj):
        depth = -g[j] if j < nc else abs(g[j])
        if not depth <= header.violation:  # a gap that is not a number must not pass
            header.violation = depth
    return 0


@unit(I(A, I, A, A, A, A, A, A, A, A, A, I, I, I, I))
def fill(tab, ahead, a_0, r_0, u_0, powers_0, a_last, a, R, U, powers, n, nv, nr, width):
    """Write what is known of stage 0 and guesses of the accelerations: constant, or the last interval continued."""
    E = head(tail(tab, VECTORS + 3 * n + PREDICTOR * n * n), n * n)
    for i in range(nr):
        R[i], U[i] = r_0[i], u_0[i]
    for i in range(width):
        powers[i] = powers_0[i]
    for k in range(n):
        for i in range(nv):
            a[k * nv + i] = a_0[i]
            if ahead != 0:
                for j in range(n):
                    a[k * nv + i] += E[k * n + j] * a_last[j * nv + i]
    return 0


@unit(F(MODEL, F, F, A, I, A, A, A, A, A, LASTING.kind))
def end_slip(model, t, h, v_0, contact, direction, q, a, b, v, room):
    """Return the slip of a contact in its first direction at the end of an interval."""
    layout = model.layout
    nv, W, w = layout[NV], room.W, room.b
    for i in range(nv):
        v[i] = v_0[i]
        for k in range(b.shape[0]):
            v[i] += h * b[k] * a[k * nv + i]
    model.kinematics(t, q, model.par, W, w)
    row, slip = layout[layout[CONTACT_ROW] + contact], 0.0
    for i in range(row + 1, layout[layout[CONTACT_ROW] + contact + 1]):
        slip += (row_dot(layout, W, i, v) + w[i]) * direction[2 * contact + i - row - 1]
    return slip


@unit(
    I(
        MODEL, PLAIN, A, A, F, F, F, F, A, A, A, A, A, A, J, A, J, A, A, A, A, A, A, A, A, STAGES_ROOM.kind,
        INTERVALS.kind, RECORD,
    )
)  # fmt: skip
def strike(
    model, reaction, settings, tab, t_end, t, h, size, q_0, v_0, q, v, g, g_0, index, direction, closed, v_end, push, P,
    u_minus, u_plus, u_start, info, a_0, stages, interval, record,
):  # fmt: skip
    """Treat the border of an interval; return 1 when there is an impulse, 0 when not, a negative status on failure.

    In D+ the stages feel the impulse: then stages and impulse are solved in turn, with the closed contacts fixed.
    """
    settings = STAGE_SETTINGS(settings)
    layout, par, core = model.layout, model.par, reaction.reaction
    nq, nv, nc, nj, nr = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR]
    degree, n = whole(tab[DEGREE]), whole(tab[STAGES])
    b, P_share = head(tail(tab, VECTORS + WEIGHT * n), n), head(tail(tab, VECTORS + SHARE * n), n)
    by_stage = settings.by_stage == 1.0
    Q, a, room = stages.Q, stages.a, interval.lasting
    W = room.W
    doubtful = degree == 0 and nj > 0
    for c in range(nc):
        holding = (index[c] == SLIP or index[c] == STICK) and not by_stage
        closed[c] = 1 if g[c] <= settings.closed or holding else 0
        doubtful = doubtful or (closed[c] == 1 and not holding)
    if not doubtful:
        return 0
    struck = degree == 0
    if degree > 0:
        model.kinematics(t_end, q, par, W, u_minus)
        for c in range(nc):
            row = layout[layout[CONTACT_ROW] + c]
            if closed[c] == 1 and (by_stage or (index[c] != SLIP and index[c] != STICK)):
                floor = 0.0 if by_stage or index[c] == IMPULSIVE else -settings.rest
                struck = struck or row_dot(layout, W, row, v) + u_minus[row] < floor
    if not struck:
        return 0
    law = whole(settings.law)
    if degree == 0:
        law = BY_PREVIOUS if law == BY_REST else law  # a constant velocity: the law of Moreau and Jean
    feels = False
    for k in range(n):
        feels = feels or P_share[k] != 0.0
    for attempt in range(MOST_PASSES + 2):
        if law == BY_PREVIOUS or degree == 0:
            # by the rows at the end, with what the impulse does to q: one W for the velocities before and after
            model.kinematics(t_end, q, par, W, u_start)
            for i in range(nr):
                u_start[i] += row_dot(layout, W, i, v_0)
                if degree > 0 and u_start[i] > 0.0:
                    u_start[i] = 0.0  # it still rose when the interval began: nothing to restitute
        status = border(
            model, core, t_end, h, settings.rest, law, q, v, row_of(a, n - 1, nv), u_start, index, closed,
            v_end, P, u_minus, u_plus, info, room, record,
        )  # fmt: skip
        if status != 0:
            return -status
        change, scale = 0.0, 0.0
        for i in range(nv):
            change = larger(change, abs(v_end[i] - v[i] - push[i]))
            scale = larger(scale, larger(abs(v_end[i]), abs(v[i])))
            push[i] = v_end[i] - v[i]
        if not feels or change <= 1e-13 * scale or attempt > MOST_PASSES:
            model.gap(t_end, q, par, g)
            return 1
        status = STALLED
        if attempt < MOST_PASSES:
            status = reaction.staged.interval(
                model, core, settings, tab, t, size, q_0, v_0, index, direction, g_0, 1, push, stages, record,
                interval,
            )  # fmt: skip
        if status == STALLED:
            # friction that turns with the jump of the stages may have no answer: then they move without the impulse
            feels = False
            for i in range(nv):
                push[i] = 0.0
            for k in range(n):
                for i in range(nv):
                    a[k * nv + i] = a_0[i]
            status = reaction.staged.interval(
                model, core, settings, tab, t, size, q_0, v_0, index, direction, g_0, 1, push, stages, record,
                interval,
            )  # fmt: skip
        if status != 0:
            return -status
        for i in range(nq):
            q[i] = Q[(n - 1) * nq + i]
        model.retract(q, par)
        for i in range(nv):
            v[i] = v_0[i]
            for k in range(n):
                v[i] += size * b[k] * a[k * nv + i]
    return -STALLED
