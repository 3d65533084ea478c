"""The stage equations of an interval of HpTDG, solved by simplified Newton iterations that learn."""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.columns import combine_scaled
from saltus.compile.seam import head, larger, row_of, smaller, tail, unit, whole
from saltus.compile.types import MODEL, RECORD, A, F, I
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, SCALE, promised
from saltus.lasting.hold import REPORTED, accelerate, anything_acts
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import assemble
from saltus.memory.full_matrix import factor_dense, solve_dense
from saltus.memory.layout import F_FREE, F_LINEAR, J_CONSTANT, M_CONSTANT, RATE_IDENTITY
from saltus.memory.profile import multiply
from saltus.memory.vectors import copy
from saltus.reaction.react import row_dot
from saltus.schemes.hp_tdg.matrix import factor_stages, renew
from saltus.schemes.hp_tdg.motion import move, propagate
from saltus.schemes.hp_tdg.numbers import GALERKIN, SYSTEMS, columns_of, table_of
from saltus.schemes.hp_tdg.secant import carry, learn
from saltus.status import Status
from saltus.tables.tableau import STAGE_VECTOR, TAB


class _SolveStages(NamedTuple):
    """Tuned numbers of this file."""

    # iterations of positions with a rate of their own, share of the tolerance they leave
    most_placings: int = 60
    placed: float = 1e-3
    solved_forces: float = 1.0  # last correction, in units of the tolerance, that the forces of held contacts may lack
    lacked: float = 0.2  # the same between the accelerations of these forces and those of the interval: impulses add up
    solved: float = 0.02  # of the tolerance: what the iteration may leave
    # in units of the tolerance: error of a guess by linearised forces beyond which it foresees no impact well enough
    # to save an interval
    astray: float = 1000.0


SOLVE_STAGES = _SolveStages()


@unit(I(MODEL, A, F, A, F, A, A, A, A, I, A))
def place_stages(model, settings, share, columns, h, q_0, Q, V, Q_dot, n, before):
    """Write the stage positions of stage velocities; where q_dot = B(q) v they are found by iteration."""
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nq, position = layout.nq, promised(layout, settings, SCALE.position)
    if (layout.features & RATE_IDENTITY) != 0:
        return move(model, columns, h, q_0, Q, V, Q_dot, n)
    for _ in range(SOLVE_STAGES.most_placings):
        for i in range(n * nq):
            before[i] = Q[i]
        move(model, columns, h, q_0, Q, V, Q_dot, n)
        size, placed, total = 0.0, True, 0.0
        for i in range(n * nq):
            size = larger(size, abs(Q[i]))
        for i in range(n * nq):
            moved = abs(Q[i] - before[i])
            allowed = (
                SOLVE_STAGES.placed * share * (settings.atol * position[i % nq] + settings.rtol * size) + 1e-16 * size
            )
            placed, total = placed and moved <= allowed, total + moved
        if not total < 1e300:
            return Status.NEWTON_STALLED
        if placed:
            return 0
    return Status.NEWTON_STALLED


@unit(I(MODEL, A, I, F, F, F, FRAME.kind, RECORD))
def solve_stages(model, settings, degree, t, h, rough, frame, record):
    """Solve the stages of the interval from their guesses; write its end state.

    rough: error that may be left, in units of the tolerance, for a first look at the motion; 0 for the interval itself
    """
    settings = FLIGHT_SETTINGS(settings)
    phase = GALERKIN(frame.phase)
    layout, stages, ends, acting, numbers = model.layout, phase.stage, frame.ends, frame.memory.acting, phase.numbers
    nq, nv, nr, n, solving = layout.nq, layout.nv, layout.nr, degree + 1, phase.solving
    tab = table_of(settings, degree, whole(numbers.stiff))
    kind_of_equations(model, tab, frame)
    for k in range(n):
        copy(ends.q_0, row_of(stages.Q, k, nq))
        copy(acting.r, row_of(stages.R, k, nr))
    copy(acting.u, head(stages.U, nr))
    copy(acting.powers, head(stages.powers, REPORTED.first_contact + layout.nc))
    status = 0
    if solving.end > solving.first and solving.newton == 1:
        status = first_matrix(model, settings, degree, t, h, rough, frame, record)
    if status == 0:
        status = iterate(model, settings, degree, t, h, rough, frame, record)
    if status == 0:
        status = last_stages(model, settings, degree, t, h, frame, record)
    if status != 0:
        return status
    keep_learnt(model, degree, h, rough, frame)
    if rough > 0.0:
        return 0
    b = head(tail(tab, TAB.vectors + STAGE_VECTOR.weight * n), n)
    for i in range(nq):
        ends.q[i] = ends.q_0[i] + h * summed(b, stages.Q_dot, i, nq)
    for i in range(nv):
        ends.v[i] = ends.v_0[i] + h * summed(b, stages.a, i, nv)
        if not abs(ends.v[i]) < 1e300:
            return Status.NEWTON_STALLED
    return 0


@unit(I(MODEL, A, FRAME.kind))
def kind_of_equations(model, tab, frame):
    """Write to phase.solving which stages are unknown and how they are found."""
    numbers, solving, flags = GALERKIN(frame.phase).numbers, GALERKIN(frame.phase).solving, model.layout.features
    solving.first, solving.end = whole(tab[TAB.first]), whole(tab[TAB.end])
    m, acting = (solving.end - solving.first) * model.layout.nv, anything_acts(model, frame.ends.index) == 1
    free = (flags & F_FREE) != 0 and not acting
    linear = (flags & M_CONSTANT) != 0 and (flags & RATE_IDENTITY) != 0
    linear = linear and (not acting or (numbers.j_known == 1.0 and numbers.unmoved == 1.0))
    linear = linear and ((flags & F_FREE) != 0 or ((flags & F_LINEAR) != 0 and (flags & J_CONSTANT) != 0))
    newton = not free and m <= SYSTEMS.largest_system
    linear = linear and (newton or free)
    learns = newton and not linear and (flags & RATE_IDENTITY) != 0 and m <= SYSTEMS.learning_system
    solving.acting, solving.free, solving.linear = 1 if acting else 0, 1 if free else 0, 1 if linear else 0
    solving.newton, solving.learns, solving.learnt = 1 if newton else 0, 1 if learns else 0, 0
    return 0


@unit(I(MODEL, A, I, F, F, F, FRAME.kind, RECORD))
def first_matrix(model, settings, degree, t, h, rough, frame, record):
    """Factor the matrix of the first sweep, from Jacobians in the middle of the predicted motion or of a first look."""
    phase = GALERKIN(frame.phase)
    solving, numbers, stages, ends = phase.solving, phase.numbers, phase.stage, frame.ends
    nq, nv, n = model.layout.nq, model.layout.nv, degree + 1
    tab = table_of(settings, degree, whole(numbers.stiff))
    m, pivots = (solving.end - solving.first) * nv, head(phase.pivots, (solving.end - solving.first) * nv)
    # a Jacobian costs nv evaluations, a sweep one per stage: it pays soon
    stale = numbers.contraction * (degree - 1) > 0.1 * nv
    stale = stale or (2 * nv < degree and numbers.contraction > 1e-5)
    if solving.linear == 1:
        stale = numbers.j_known == 0.0
    stale = stale and numbers.series_n > 0.0 and rough == 0.0
    stale = stale and (numbers.series_t != t or numbers.series_rough == 1.0)  # else the guess is as good as solved
    if solving.learns == 1 and numbers.looked_h > 0.0 and rough == 0.0:
        solving.learnt = 1
        carry_learnt(model, settings, tab, h, frame)
        assemble(tab, h, solving.first, solving.end, nv, phase.stage_j_q, phase.stage_j_v, nv * nv, phase.matrix)
        return Status.NEWTON_STALLED if factor_dense(head(phase.matrix, m * m), m, pivots) != 0 else 0
    if stale or numbers.j_known == 0.0:
        middle, c = n // 2, head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n)
        columns = columns_of(settings, degree, whole(numbers.stiff))
        propagate(tab, columns, h, ends.v_0, frame.interval.push, stages.V, stages.a, n, nv)
        move(model, columns, h, ends.q_0, stages.Q, stages.V, stages.Q_dot, n)
        status = renew(
            model, settings, t + c[middle] * h, row_of(stages.Q, middle, nq), row_of(stages.V, middle, nv),
            row_of(stages.a, middle, nv), frame, record,
        )  # fmt: skip
        if status != 0:
            return status
        kind_of_equations(model, tab, frame)  # what is held may turn out to leave them linear
    if factor_stages(model, settings, degree, h, 0 if numbers.series_t == t else 1, frame, pivots) != 0:
        return Status.NEWTON_STALLED
    for i in range(nv * nv * solving.end if solving.learns == 1 else 0):
        phase.stage_j_q[i], phase.stage_j_v[i] = phase.j_q[i % (nv * nv)], phase.j_v[i % (nv * nv)]
    return 0


@unit(I(MODEL, A, A, F, FRAME.kind))
def carry_learnt(model, settings, tab, h, frame):
    """Take the Jacobians over that a first look has learnt, from its nodes to those of the interval."""
    phase, nv = GALERKIN(frame.phase), model.layout.nv
    numbers, J_q, J_v, end, n = (
        phase.numbers,
        phase.stage_j_q,
        phase.stage_j_v,
        phase.solving.end,
        whole(tab[TAB.stages]),
    )
    c, low = head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n), whole(numbers.looked_degree)
    low_tab, half, stretch = table_of(settings, low, 0), J_q.shape[0] // 2, h / numbers.looked_h
    low_nodes = head(tail(low_tab, TAB.vectors + STAGE_VECTOR.node * (low + 1)), low + 1)
    first, last = whole(low_tab[TAB.first]), whole(low_tab[TAB.end])
    carry(nv, low_nodes, first, last, head(c, end), stretch, head(tail(J_q, half), half), J_q)
    carry(nv, low_nodes, first, last, head(c, end), stretch, head(tail(J_v, half), half), J_v)
    numbers.looked_h, numbers.factored_h = 0.0, 0.0
    return 0


@unit(I(MODEL, A, I, F, F, F, FRAME.kind, RECORD))
def iterate(model, settings, degree, t, h, rough, frame, record):
    """Iterate on the stage accelerations until what is left is below the tolerance; STALLED where it grows."""
    settings = FLIGHT_SETTINGS(settings)
    phase = GALERKIN(frame.phase)
    numbers, solving, share = phase.numbers, phase.solving, frame.marks.sharper
    unknown = solving.end > solving.first
    moved_before, rate, contraction, guess, converged, sweep = 0.0, numbers.contraction, 0.0, 1.0, not unknown, 0
    while not converged and sweep < whole(settings.most):
        sweep += 1
        status = sweep_stages(model, settings, degree, t, h, sweep, frame, record)
        if status != 0:
            return status
        if solving.linear == 1 or solving.free == 1:
            converged = True
            if numbers.linearised == 1.0 and phase.sweep.moved > SOLVE_STAGES.astray:
                numbers.driven = 1.0
            break
        moved, lacks = phase.sweep.moved, phase.sweep.lacks
        if moved_before > 0.0:
            rate = moved / moved_before
            contraction = rate if sweep == 2 else contraction
            if rate > 0.9 and sweep > 2:
                return Status.NEWTON_STALLED
        # the rate of the interval before is trusted for the first sweep, with room; what Newton's method leaves of an
        # error grows with the error, so that a larger correction than the one of then leaves a larger share
        wider = larger(1.0, moved / larger(numbers.contracted, 1e-300)) if solving.newton == 1 else 1.0
        trusted = smaller(rate, 0.9) if moved_before > 0.0 else smaller(4.0 * rate * wider, 0.9)
        left = moved * trusted / (1.0 - trusted)
        if smaller(moved, left) <= larger(SOLVE_STAGES.solved, rough) or moved <= 1e-15 / (share * settings.rtol):
            # contact forces are those of the states before the last correction: where friction is stiff they may be
            # far from those of the accelerations that a small correction leads to
            near = moved <= larger(SOLVE_STAGES.solved_forces, rough) and lacks <= larger(SOLVE_STAGES.lacked, rough)
            converged = solving.acting == 0 or near
        if sweep == 1:
            guess = moved
        moved_before = moved
    if not converged:
        return Status.NEWTON_STALLED
    if numbers.series_t != t:  # from outside of the interval
        numbers.guess = guess
    if sweep > 1:  # that of the first Jacobian
        numbers.contraction, numbers.contracted = larger(contraction, 1e-6), guess
    elif solving.newton == 0:  # one sweep shows no contraction, but plain iteration may take a longer interval again
        numbers.contraction *= 0.5
    numbers.sweeps_now = sweep
    if unknown and rough == 0.0:
        numbers.sweeps_mean = 0.7 * numbers.sweeps_mean + 0.3 * sweep
    return 0


@unit(I(MODEL, A, I, F, F, I, FRAME.kind, RECORD))
def sweep_stages(model, settings, degree, t, h, sweep, frame, record):
    """Correct the unknown accelerations once, with a better matrix where sweeps learn; write phase.sweep."""
    settings = FLIGHT_SETTINGS(settings)
    phase = GALERKIN(frame.phase)
    layout, solving, stages, change, ends = model.layout, phase.solving, phase.stage, phase.change, frame.ends
    nv, n, first, end, V, a = layout.nv, degree + 1, solving.first, solving.end, stages.V, stages.a
    tab, G = table_of(settings, degree, whole(phase.numbers.stiff)), phase.matrix
    J_q, J_v = phase.stage_j_q, phase.stage_j_v
    share, speed, m = frame.marks.sharper, promised(layout, settings, SCALE.speed), (end - first) * nv
    c, pivots = head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n), head(phase.pivots, m)
    seen = frame.nodes.V  # what a sweep misses, before the matrix makes a correction of it; nodes are written later
    record.counters.iterations += 1
    columns = columns_of(settings, degree, whole(phase.numbers.stiff))
    propagate(tab, columns, h, ends.v_0, frame.interval.push, V, a, n, nv)
    status = place_stages(model, settings, share, columns, h, ends.q_0, stages.Q, V, stages.Q_dot, n, frame.nodes.Q)
    if status != 0:
        return status
    for k in range(first, end):
        status = stage_motion(model, t + c[k] * h, k, row_of(change, k, nv), frame, record)
        if status != 0:
            return status
    if solving.learns == 1:
        learn(first, end, nv, 1 if sweep > 1 else 0, J_q, J_v, stages.Q, V, change, phase.before)
        if sweep > 1:
            assemble(tab, h, first, end, nv, J_q, J_v, nv * nv, G)
            phase.numbers.factored_h = 0.0
            if factor_dense(head(G, m * m), m, pivots) != 0:
                return Status.NEWTON_STALLED
    for i in range(first * nv, end * nv):
        change[i] -= a[i]
        seen[i] = change[i]
    if solving.newton == 1:
        solve_dense(head(G, m * m), head(tail(change, first * nv), m), pivots)
    moved, total, lacks = 0.0, 0.0, 0.0
    for k in range(first, end):
        for i in range(nv):
            total += abs(change[k * nv + i])
            a[k * nv + i] += change[k * nv + i]
            scale = settings.atol * speed[i] + settings.rtol * larger(abs(ends.v_0[i]), abs(V[k * nv + i]))
            lacks = larger(lacks, h * abs(seen[k * nv + i] - change[k * nv + i]) / (share * scale))
            moved = larger(moved, h * abs(change[k * nv + i]) / (share * scale))
    phase.sweep.moved, phase.sweep.lacks = moved, lacks
    return 0 if total < 1e300 else Status.NEWTON_STALLED  # `larger` passes over what is not a number


@unit(I(MODEL, F, I, A, FRAME.kind, RECORD), small=True)
def stage_motion(model, t, stage, a, frame, record):
    """Write what acts on a stage, with its acceleration to a."""
    layout, stages, width = model.layout, GALERKIN(frame.phase).stage, REPORTED.first_contact + model.layout.nc
    nr = layout.nr
    return accelerate(
        model, t, row_of(stages.Q, stage, layout.nq), row_of(stages.V, stage, layout.nv), frame.ends.index,
        frame.memory.acting.direction, a, row_of(stages.R, stage, nr), row_of(stages.U, stage, nr),
        row_of(stages.powers, stage, width), frame.interval.lasting, record,
    )  # fmt: skip


@unit(I(MODEL, I, FRAME.kind))
def move_rows(model, stage, frame):
    """Write row velocities and powers of contacts for the velocity that a single sweep has given to a stage.

    Its forces depend on no velocity and its rows are constant, so that the sweep left everything else as it is.
    """
    layout, room, stages = model.layout, frame.interval.lasting, GALERKIN(frame.phase).stage
    nc, nj, nr, index = layout.nc, layout.nj, layout.nr, frame.ends.index
    v, r, u = row_of(stages.V, stage, layout.nv), row_of(stages.R, stage, nr), row_of(stages.U, stage, nr)
    powers = row_of(stages.powers, stage, REPORTED.first_contact + nc)
    for c in range(nc):
        if index[c] != INDEX.slip and index[c] != INDEX.stick:
            continue
        power = 0.0
        for i in range(layout[layout.contact_row + c], layout[layout.contact_row + c + 1]):
            u[i] = row_dot(layout, room.W, i, v) + room.w[i]
            power -= r[i] * u[i]
        powers[REPORTED.first_contact + c] = power
    for i in range(nr - nj, nr):
        u[i] = row_dot(layout, room.W, i, v) + room.w[i]
    return 0


@unit(I(MODEL, A, I, F, F, FRAME.kind, RECORD))
def last_stages(model, settings, degree, t, h, frame, record):
    """Write the stages of the solution, and what acts on those that nothing waits for."""
    phase = GALERKIN(frame.phase)
    stages, ends, nv, n = phase.stage, frame.ends, model.layout.nv, degree + 1
    tab = table_of(settings, degree, whole(phase.numbers.stiff))
    c = head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n)
    columns = columns_of(settings, degree, whole(phase.numbers.stiff))
    propagate(tab, columns, h, ends.v_0, frame.interval.push, stages.V, stages.a, n, nv)
    status = place_stages(
        model, settings, frame.marks.sharper, columns, h, ends.q_0, stages.Q, stages.V, stages.Q_dot, n, frame.nodes.Q
    )
    if phase.solving.linear == 1 and phase.solving.acting == 1:
        for k in range(phase.solving.first, phase.solving.end):
            move_rows(model, k, frame)
    for k in range(phase.solving.end, n):
        if status == 0:
            status = stage_motion(model, t + c[k] * h, k, row_of(stages.a, k, nv), frame, record)
    return status


@unit(I(MODEL, I, F, F, FRAME.kind))
def keep_learnt(model, degree, h, rough, frame):
    """Keep the Jacobians that the sweeps have learnt: those of a first look for its interval, else for the next one."""
    phase, nv = GALERKIN(frame.phase), model.layout.nv
    numbers, J_q, J_v, end = phase.numbers, phase.stage_j_q, phase.stage_j_v, phase.solving.end
    learnt = phase.solving.learns == 1 and numbers.sweeps_now > 1.0
    if rough > 0.0:
        for i in range(nv * nv * end if learnt else 0):
            J_q[J_q.shape[0] // 2 + i], J_v[J_v.shape[0] // 2 + i] = J_q[i], J_v[i]
        numbers.looked_h, numbers.looked_degree = h if learnt and nv == 1 else 0.0, degree
        return 0
    for i in range(nv * nv if learnt else 0):  # what was learnt last is the best that is known
        phase.j_q[i] = J_q[(end - 1) * nv * nv + i]
        phase.j_v[i] = J_v[(end - 1) * nv * nv + i]
        numbers.factored_h, numbers.tried_h = 0.0, 0.0
    return 0


@unit(F(A, A, I, I))
def summed(b, values, i, size):
    """Return sum_k b_k values_k of component i, summed without rounding (Neumaier 1974).

    Flights of a long run are alike, and so would be the signs of their errors.
    """
    total, lost = 0.0, 0.0
    for k in range(b.shape[0]):
        term = b[k] * values[k * size + i]
        grown = total + term
        added = grown - total
        lost += (total - (grown - added)) + (term - added)
        total = grown
    return total + lost


@unit(I(MODEL, A, I, F, F, FRAME.kind))
def settle_powers(model, settings, degree, t, h, frame):
    """Write the powers of the forces that belong to the velocity that is integrated, not to that of the stages.

    Power of the forces = v . (M a) + dissipation of the contacts - power of moving constraints, with the integrated
    velocity v: the forces of the last sweep belong to other states, and with them the energy ledger would not close.
    """
    phase = GALERKIN(frame.phase)
    layout = model.layout
    nq, nv, nc, n = layout.nq, layout.nv, layout.nc, degree + 1
    width, tab = REPORTED.first_contact + nc, table_of(settings, degree, 0)
    c, S = head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n), head(columns_of(settings, degree, 0), n * n)
    stages, v_0, true = phase.stage, frame.ends.v_0, phase.change
    f, M = frame.force, frame.mass
    a = stages.a
    powers = stages.powers
    constant = (layout.features & M_CONSTANT) != 0
    for i in range(nv):
        combine_scaled(S, n, h, v_0[i], tail(a, i), nv, tail(true, i), nv)
    for k in range(n):
        if k == 0 or not constant:
            model.mass(t + c[k] * h, row_of(stages.Q, k, nq), model.par, M)
        for i in range(nv):
            f[i] = 0.0
        multiply(layout, M, row_of(a, k, nv), f)
        powers[k * width] = -powers[k * width + 1]
        for i in range(REPORTED.first_contact, width):
            powers[k * width] += powers[k * width + i]
        for i in range(nv):
            powers[k * width] += f[i] * true[k * nv + i]
    return 0
