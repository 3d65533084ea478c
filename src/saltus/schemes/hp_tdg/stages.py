"""The stage equations of an interval of HpTDG, solved by simplified Newton iterations that learn."""

from __future__ import annotations

from saltus.compile.seam import head, larger, row_of, smaller, tail, unit, whole
from saltus.compile.types import MODEL, RECORD, A, F, I
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, POSITION_SCALE, SPEED_SCALE, promised
from saltus.lasting.hold import POWERS, accelerate
from saltus.lasting.index_set import SLIP, STICK
from saltus.lasting.interval import (
    assemble,
    move,
    propagate,
)
from saltus.memory.full_matrix import factor_dense, solve_dense
from saltus.memory.layout import (
    F_FREE,
    F_LINEAR,
    FLAGS,
    J_CONSTANT,
    M_CONSTANT,
    NC,
    NJ,
    NQ,
    NR,
    NV,
    RATE_IDENTITY,
)
from saltus.memory.profile import multiply
from saltus.schemes.hp_tdg.matrix import (
    factor_stages,
    renew,
)
from saltus.schemes.hp_tdg.numbers import (
    GALERKIN,
    LARGEST_SYSTEM,
    LEARNING_SYSTEM,
    table_of,
)
from saltus.schemes.hp_tdg.secant import carry, learn
from saltus.status import Status
from saltus.tables.tableau import END, FIRST, NODE, POSITION, VECTORS, WEIGHT

STALLED = int(Status.NEWTON_STALLED)
MOST_PLACINGS, PLACED = 60, 1e-3  # iterations of positions with a rate of their own, share of the tolerance they leave
SOLVED_FORCES = 1.0  # last correction, in units of the tolerance, that the forces of held contacts may lack
LACKED = 0.2  # the same between the accelerations of these forces and those of the interval: impulses add up
SOLVED = 0.02  # of the tolerance: what the iteration may leave


@unit(I(MODEL, A, F, A, F, A, A, A, A, I, A))
def place_stages(model, settings, share, tab, h, q_0, Q, V, Q_dot, n, before):
    """Write the stage positions of stage velocities; where q_dot = B(q) v they are found by iteration."""
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nq, position = layout[NQ], promised(layout, settings, POSITION_SCALE)
    if (layout[FLAGS] & RATE_IDENTITY) != 0:
        return move(model, tab, h, q_0, Q, V, Q_dot, n)
    for _ in range(MOST_PLACINGS):
        for i in range(n * nq):
            before[i] = Q[i]
        move(model, tab, h, q_0, Q, V, Q_dot, n)
        size, placed, total = 0.0, True, 0.0
        for i in range(n * nq):
            size = larger(size, abs(Q[i]))
        for i in range(n * nq):
            moved = abs(Q[i] - before[i])
            allowed = PLACED * share * (settings.atol * position[i % nq] + settings.rtol * size) + 1e-16 * size
            placed, total = placed and moved <= allowed, total + moved
        if not total < 1e300:
            return STALLED
        if placed:
            return 0
    return STALLED


@unit(I(MODEL, A, I, F, F, F, FRAME.kind, RECORD))
def solve_stages(model, settings, degree, t, h, rough, frame, record):
    """Solve the stages of the interval from their guesses; write its end state.

    rough: error that may be left, in units of the tolerance, for a first look at the motion; 0 for the interval itself
    """
    settings = FLIGHT_SETTINGS(settings)
    phase = GALERKIN(frame.phase)
    layout = model.layout
    nq, nv, nc, nr, flags = layout[NQ], layout[NV], layout[NC], layout[NR], layout[FLAGS]
    numbers = phase.numbers
    share, speed = frame.marks.sharper, promised(layout, settings, SPEED_SCALE)
    tab, n, width = table_of(settings, degree, whole(numbers.stiff)), degree + 1, POWERS + nc
    first, end = whole(tab[FIRST]), whole(tab[END])
    c, b = head(tail(tab, VECTORS + NODE * n), n), head(tail(tab, VECTORS + WEIGHT * n), n)
    stages, idle = phase.stage, frame.idle
    Q, V, Q_dot, a = stages.Q, stages.V, stages.Q_dot, stages.a
    R, U, powers = stages.R, stages.U, stages.powers
    change, G, nodes = phase.change, phase.matrix, frame.nodes
    seen = nodes.V  # what a sweep misses, before the matrix makes a correction of it; nodes are written later
    q_0, v_0 = frame.q_start, frame.v_start
    q, v = frame.q_end, frame.v_end
    r_0, powers_0 = frame.memory.r_begin, frame.memory.powers_begin
    u_0 = frame.memory.u_begin
    direction = frame.memory.direction
    room = frame.interval.lasting
    index = frame.index
    m = (end - first) * nv
    pivots = head(phase.pivots, m)
    acting = layout[NJ] > 0
    for k in range(nc):
        acting = acting or index[k] == SLIP or index[k] == STICK
    free = (flags & F_FREE) != 0 and not acting
    linear = (flags & M_CONSTANT) != 0 and (flags & RATE_IDENTITY) != 0 and not acting
    linear = linear and ((flags & F_FREE) != 0 or ((flags & F_LINEAR) != 0 and (flags & J_CONSTANT) != 0))
    newton = not free and m <= LARGEST_SYSTEM
    linear = linear and (newton or free)
    learns = newton and not linear and (flags & RATE_IDENTITY) != 0 and m <= LEARNING_SYSTEM
    J_q, J_v = phase.stage_j_q, phase.stage_j_v
    for k in range(n):
        for i in range(nq):
            Q[k * nq + i] = q_0[i]
        for i in range(nr):
            R[k * nr + i] = r_0[i]
    for i in range(nr):
        U[i] = u_0[i]
    for i in range(width):
        powers[i] = powers_0[i]

    # ---- the matrix, from Jacobians in the middle of the predicted motion
    if end > first and newton:
        # a Jacobian costs nv evaluations, a sweep one per stage: it pays soon
        stale = numbers.contraction * (degree - 1) > 0.1 * nv
        stale = stale or (2 * nv < degree and numbers.contraction > 1e-5)
        if linear:
            stale = numbers.j_known == 0.0
        stale = stale and numbers.series_n > 0.0 and rough == 0.0
        stale = stale and (numbers.series_t != t or numbers.series_rough == 1.0)  # else the guess is as good as solved
        learnt = learns and numbers.looked_h > 0.0 and rough == 0.0
        if learnt:
            low = whole(numbers.looked_degree)
            low_tab, room_J = table_of(settings, low, 0), J_q.shape[0] // 2
            nodes_low, stretch = head(tail(low_tab, VECTORS + NODE * (low + 1)), low + 1), h / numbers.looked_h
            low_first, low_end = whole(low_tab[FIRST]), whole(low_tab[END])
            carry(nv, nodes_low, low_first, low_end, head(c, end), stretch, head(tail(J_q, room_J), room_J), J_q)
            carry(nv, nodes_low, low_first, low_end, head(c, end), stretch, head(tail(J_v, room_J), room_J), J_v)
            numbers.looked_h, numbers.factored_h = 0.0, 0.0
            assemble(tab, h, first, end, nv, J_q, J_v, nv * nv, G)
            if factor_dense(head(G, m * m), m, pivots) != 0:
                return STALLED
        elif stale or numbers.j_known == 0.0:
            middle = n // 2
            propagate(tab, h, v_0, idle, V, a, n, nv)
            move(model, tab, h, q_0, Q, V, Q_dot, n)
            status = renew(
                model, settings, t + c[middle] * h, row_of(Q, middle, nq), row_of(V, middle, nv),
                row_of(a, middle, nv), frame, record,
            )  # fmt: skip
            if status != 0:
                return status
        if not learnt and factor_stages(settings, degree, nv, h, frame, pivots) != 0:
            return STALLED
        for i in range(nv * nv * end if learns and not learnt else 0):
            J_q[i], J_v[i] = phase.j_q[i % (nv * nv)], phase.j_v[i % (nv * nv)]

    # ---- iteration
    converged, sweep, moved_before, rate, contraction = end <= first, 0, 0.0, numbers.contraction, 0.0
    guess = 1.0
    while not converged and sweep < whole(settings.most):
        sweep += 1
        record.counters.iterations += 1
        propagate(tab, h, v_0, idle, V, a, n, nv)
        status = place_stages(model, settings, share, tab, h, q_0, Q, V, Q_dot, n, nodes.Q)
        if status != 0:
            return status
        for k in range(first, end):
            status = accelerate(
                model, t + c[k] * h, row_of(Q, k, nq), row_of(V, k, nv), index, direction, 0,
                row_of(change, k, nv), row_of(R, k, nr), row_of(U, k, nr), row_of(powers, k, width), room, record,
            )  # fmt: skip
            if status != 0:
                return status
        if learns:
            learn(first, end, nv, 1 if sweep > 1 else 0, J_q, J_v, Q, V, change, phase.before)
            if sweep > 1:
                assemble(tab, h, first, end, nv, J_q, J_v, nv * nv, G)
                numbers.factored_h = 0.0
                if factor_dense(head(G, m * m), m, pivots) != 0:
                    return STALLED
        for i in range(first * nv, end * nv):
            change[i] -= a[i]
            seen[i] = change[i]
        if newton:
            solve_dense(head(G, m * m), head(tail(change, first * nv), m), pivots)
        moved, total, lacks = 0.0, 0.0, 0.0
        for k in range(first, end):
            for i in range(nv):
                total += abs(change[k * nv + i])
                a[k * nv + i] += change[k * nv + i]
                scale = settings.atol * speed[i] + settings.rtol * larger(abs(v_0[i]), abs(V[k * nv + i]))
                lacks = larger(lacks, h * abs(seen[k * nv + i] - change[k * nv + i]) / (share * scale))
                moved = larger(moved, h * abs(change[k * nv + i]) / (share * scale))
        if not total < 1e300:  # `larger` passes over what is not a number
            return STALLED
        if linear or free:
            converged = True
            break
        if moved_before > 0.0:
            rate = moved / moved_before
            contraction = rate if sweep == 2 else contraction
            if rate > 0.9 and sweep > 2:
                return STALLED
        # the rate of the interval before is trusted for the first sweep, with room; what Newton's method leaves of an
        # error grows with the error, so that a larger correction than the one of then leaves a larger share
        wider = larger(1.0, moved / larger(numbers.contracted, 1e-300)) if newton else 1.0
        trusted = smaller(rate, 0.9) if moved_before > 0.0 else smaller(4.0 * rate * wider, 0.9)
        left = moved * trusted / (1.0 - trusted)
        if smaller(moved, left) <= larger(SOLVED, rough) or moved <= 1e-15 / (share * settings.rtol):
            # contact forces are those of the states before the last correction: where friction is stiff they may be
            # far from those of the accelerations that a small correction leads to
            converged = not acting or (moved <= larger(SOLVED_FORCES, rough) and lacks <= larger(LACKED, rough))
        if sweep == 1:
            guess = moved
        moved_before = moved
    if not converged:
        return STALLED
    if numbers.series_t != t:  # from outside of the interval
        numbers.guess = guess
    if sweep > 1:  # that of the first Jacobian
        numbers.contraction, numbers.contracted = larger(contraction, 1e-6), guess
    elif not newton:  # a single sweep shows no contraction, but plain iteration may take a longer interval again
        numbers.contraction *= 0.5
    numbers.sweeps_now = sweep
    if end > first and rough == 0.0:
        numbers.sweeps_mean = 0.7 * numbers.sweeps_mean + 0.3 * sweep

    # ---- the stages of the solution, the one at the end, and the end itself
    propagate(tab, h, v_0, idle, V, a, n, nv)
    status = place_stages(model, settings, share, tab, h, q_0, Q, V, Q_dot, n, nodes.Q)
    if status != 0:
        return status
    for k in range(end, n):
        status = accelerate(
            model, t + c[k] * h, row_of(Q, k, nq), row_of(V, k, nv), index, direction, 0, row_of(a, k, nv),
            row_of(R, k, nr), row_of(U, k, nr), row_of(powers, k, width), room, record,
        )  # fmt: skip
        if status != 0:
            return status
    if rough > 0.0:
        for i in range(nv * nv * end if learns and sweep > 1 else 0):
            J_q[J_q.shape[0] // 2 + i], J_v[J_v.shape[0] // 2 + i] = J_q[i], J_v[i]
        numbers.looked_h, numbers.looked_degree = h if learns and sweep > 1 and nv == 1 else 0.0, degree
        return 0
    for i in range(nv * nv if learns and sweep > 1 else 0):  # what was learnt last is the best that is known
        phase.j_q[i] = J_q[(end - 1) * nv * nv + i]
        phase.j_v[i] = J_v[(end - 1) * nv * nv + i]
        numbers.factored_h = 0.0
    settle_powers(model, settings, degree, t, h, frame)
    for i in range(nq):
        q[i] = q_0[i] + h * summed(b, Q_dot, i, nq)
    for i in range(nv):
        v[i] = v_0[i] + h * summed(b, a, i, nv)
        if not abs(v[i]) < 1e300:
            return STALLED
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
    nq, nv, nc, n = layout[NQ], layout[NV], layout[NC], degree + 1
    width, tab = POWERS + nc, table_of(settings, degree, 0)
    c, S = head(tail(tab, VECTORS + NODE * n), n), head(tail(tab, VECTORS + 3 * n + POSITION * n * n), n * n)
    stages, v_0 = phase.stage, frame.v_start
    f, M = frame.force, frame.mass
    a = stages.a
    powers = stages.powers
    constant = (layout[FLAGS] & M_CONSTANT) != 0
    for k in range(n):
        if k == 0 or not constant:
            model.mass(t + c[k] * h, row_of(stages.Q, k, nq), model.par, M)
        for i in range(nv):
            f[i] = 0.0
        multiply(layout, M, row_of(a, k, nv), f)
        powers[k * width] = -powers[k * width + 1]
        for i in range(POWERS, width):
            powers[k * width] += powers[k * width + i]
        for i in range(nv):
            true = v_0[i]
            for j in range(n):
                true += h * S[k * n + j] * a[j * nv + i]
            powers[k * width] += f[i] * true
    return 0
