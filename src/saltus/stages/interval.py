"""The stages of one interval: their accelerations by simplified Newton, for any tableau and any index set.

The unknowns are the stage accelerations. One matrix, I - h Av (x) df/dv - h^2 Aq Av (x) df/dq projected onto what the
held rows leave free, serves many intervals; it is renewed when the contraction of the iteration says so.
"""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import ivec, larger, smaller, unit, vec, whole
from saltus.compile.types import INTERVAL, MODEL, REACTION, RECORD, A, F, I, J
from saltus.events.index_set import CANDIDATE, OPEN, SLIP, STICK, decide, decide_iwork, decide_work
from saltus.layout import (
    CONTACT_ROW,
    F_FREE,
    F_LINEAR,
    FLAGS,
    J_CONSTANT,
    LAW_FLOATS,
    M_CONSTANT,
    NC,
    NJ,
    NQ,
    NR,
    NV,
    NW,
    NX,
    RATE_IDENTITY,
    SIZE,
    W_COL,
    W_PTR,
)
from saltus.profile import factor, multiply, solve
from saltus.reaction import row_add, row_dot
from saltus.stages.begin import begin_iwork, begin_work
from saltus.stages.full_matrix import factor_dense, solve_dense
from saltus.stages.hold import (
    COUNT,
    HOLD_INTEGERS,
    POWERS,
    REDUNDANT,
    UNHELD,
    accelerate,
    hold_iwork,
    hold_work,
    solve_rows,
)
from saltus.stages.tableau import (
    DEGREE,
    END,
    FIRST,
    NODE,
    POSITION,
    PRODUCT,
    SHARE,
    STAGES,
    UPDATE,
    VECTORS,
    VELOCITY,
    WEIGHT,
)
from saltus.status import Status

NEWTON_STALLED = int(Status.NEWTON_STALLED)

# settings of every scheme of stages; REACH_AT: where it says how far gaps reach into the coordinates, 0 for nowhere
(
    CLOSED, REST, BY_STAGE, PROJECT, LAW, TOLERANCE, MOST, PROJECTED, SPLIT, LEVEL, NEWTON, LARGEST, STAGE_AT, HOLD_AT,
    REACH_AT, SETTINGS,
) = range(16)  # fmt: skip

# what the iteration keeps from one interval to the next: step size of its matrix (0: none), whether to renew it
MATRIX_H, RENEW, KEPT = range(3)
GAP_ROUNDING = 1e-15  # of the coordinates that a gap is made of: nobody knows it better
FREEZE = 4  # sweeps after which stages that decide for themselves keep their index sets


def stage_size(layout, n: int) -> int:
    """Return the floats of all stages: q, v, q_dot, a, r, u and powers of each."""
    return n * (2 * int(layout[NQ]) + 2 * int(layout[NV]) + 2 * int(layout[NR]) + POWERS + int(layout[NC]))


def interval_work(layout, n: int, newton: bool) -> int:
    """Return the floats that `solve_interval` needs before those of its stages (STAGE_AT)."""
    nv, nc, nr = (int(layout[k]) for k in (NV, NC, NR))
    unknown = n * nv if newton else 0
    return (
        KEPT + unknown * unknown + n * nv + 2 * nv * nv + 2 * int(layout[SIZE]) + 2 * nr + POWERS + nc + 3 * nc + nr + 2
    )


def evaluate_work(layout, n: int) -> int:
    """Return the floats that `evaluate` needs before those of the held rows (HOLD_AT)."""
    nc, nr = int(layout[NC]), int(layout[NR])
    return nc + nr + 3 * nc * n + 2


def interval_iwork(layout, n: int) -> int:
    """Return the integers that `solve_interval` needs before those of the held rows."""
    return n * (int(layout[NV]) + int(layout[NC])) + int(layout[NC])


def room_work(layout, contact_solver) -> int:
    """Return the floats for held rows, decisions, borders and projections, which share their place."""
    held = hold_work(layout) + max(int(layout[NQ]), begin_work(layout))
    return max(held, decide_work(layout, contact_solver))


def room_iwork(layout, contact_solver) -> int:
    """Return the integers of the same."""
    return max(hold_iwork(layout) + begin_iwork(layout), decide_iwork(layout, contact_solver))


@unit(I(A, F, A, A, A, A, I, I))
def propagate(tab, h, v_0, push, V, a, n, nv):
    """Write the stage velocities of stage accelerations."""
    Av, P = vec(tab, VECTORS + 3 * n + VELOCITY * n * n, n * n), vec(tab, VECTORS + SHARE * n, n)
    for stage in range(n):
        for i in range(nv):
            total = 0.0
            for k in range(n):
                total += Av[stage * n + k] * a[k * nv + i]
            V[stage * nv + i] = v_0[i] + h * total + P[stage] * push[i]
    return 0


@unit(I(MODEL, A, F, A, A, A, A, I))
def move(model, tab, h, q_0, Q, V, Q_dot, n):
    """Write the stage positions of stage velocities; return nothing but their rates beside them."""
    layout = model.layout
    nq, nv = layout[NQ], layout[NV]
    Aq = vec(tab, VECTORS + 3 * n + POSITION * n * n, n * n)
    for stage in range(n):
        if (layout[FLAGS] & RATE_IDENTITY) != 0:
            for i in range(nq):
                Q_dot[stage * nq + i] = V[stage * nv + i]
        else:
            model.rate(vec(Q, stage * nq, nq), vec(V, stage * nv, nv), model.par, vec(Q_dot, stage * nq, nq))
    for stage in range(n):
        for i in range(nq):
            total = 0.0
            for k in range(n):
                total += Aq[stage * n + k] * Q_dot[k * nq + i]
            Q[stage * nq + i] = q_0[i] + h * total
    return 0


@unit(I(MODEL, REACTION, A, F, A, A, J, A, A, I, I, I, A, A, A, A, A, J, RECORD))
def evaluate(
    model, reaction, settings, t, q, v, index, direction, gap_0, stage, frozen, given, a, r, u, powers, work, iwork,
    record,
):  # fmt: skip
    """Write the acceleration and the forces of one stage, by the index set of the interval or by one of its own.

    frozen: 1 when a stage that decides for itself keeps what it decided, so that an iteration can settle.
    """
    layout = model.layout
    nc, nr = layout[NC], layout[NR]
    at, i_at = whole(settings[HOLD_AT] - settings[STAGE_AT]), nc + whole(settings[LARGEST]) * nc
    rest, irest = vec(work, at, work.shape[0] - at), ivec(iwork, i_at, iwork.shape[0] - i_at)
    if settings[BY_STAGE] == 0.0 or nc == 0:
        return accelerate(model, t, q, v, index, direction, given, a, r, u, powers, rest, irest, record)
    g, info = vec(work, 0, nc + layout[NJ]), vec(work, at - 2, 2)
    own_direction = vec(work, nc + nr + 3 * nc * stage, 3 * nc)
    candidate, own_index = ivec(iwork, 0, nc), ivec(iwork, nc + nc * stage, nc)
    if frozen == 1:
        return accelerate(model, t, q, v, own_index, own_direction, given, a, r, u, powers, rest, irest, record)
    model.gap(t, q, model.par, g)
    W, w = vec(rest, 1 + layout[SIZE], layout[NW]), u
    anyone = False
    model.kinematics(t, q, model.par, W, w)
    for c in range(nc):
        row = layout[layout[CONTACT_ROW] + c]
        closed = g[c] <= settings[CLOSED] and (stage == 0 or gap_0[c] <= settings[CLOSED])
        # what closes within the interval gets no force at its end, only the impulse there
        candidate[c] = CANDIDATE if closed and row_dot(layout, W, row, v) + w[row] <= settings[REST] else 0
        own_index[c] = OPEN
        anyone = anyone or candidate[c] != 0
    if anyone:
        status = decide(
            model, reaction, t, q, v, candidate, settings[REST], own_index, own_direction, a, r, info, rest, irest,
            record,
        )  # fmt: skip
        if status != 0:
            return status
    return accelerate(model, t, q, v, own_index, own_direction, given, a, r, u, powers, rest, irest, record)


@unit(INTERVAL)
def solve_interval(
    model, reaction, settings, tab, t, h, q_0, v_0, index, direction, gap_0, known, push, stages, record, work, iwork
):
    """Solve the stages of the interval (t, t + h) from q_0, v_0.

    model / reaction / settings / tab
    in      index, direction: the index set; gap_0: gaps at t (activation by stage only); known: 1 when stage 0 holds a
            and r of the state itself; push: M^-1 W p, felt by the stages of D+
    in/out  stages: guesses of the accelerations -> everything
    work    what it keeps from call to call at the front: see KEPT
    """
    layout = model.layout
    nq, nv, nc, nj, nr, flags = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR], layout[FLAGS]
    degree, n, first, end = whole(tab[DEGREE]), whole(tab[STAGES]), whole(tab[FIRST]), whole(tab[END])
    c = vec(tab, VECTORS + NODE * n, n)
    width = POWERS + nc
    Q, V, Q_dot, a = (
        vec(stages, 0, n * nq),
        vec(stages, n * nq, n * nv),
        vec(stages, n * (nq + nv), n * nq),
        vec(stages, n * (2 * nq + nv), n * nv),
    )
    at = n * (2 * nq + 2 * nv)
    R, U, powers = vec(stages, at, n * nr), vec(stages, at + n * nr, n * nr), vec(stages, at + 2 * n * nr, n * width)
    largest = whole(settings[LARGEST])
    room = largest * nv if settings[NEWTON] == 1.0 else 0
    new = vec(work, KEPT + room * room, largest * nv)
    at = whole(settings[HOLD_AT])
    i_at = largest * (nv + nc) + nc
    hold, ihold = vec(work, at, work.shape[0] - at), ivec(iwork, i_at, iwork.shape[0] - i_at)
    at = whole(settings[STAGE_AT])
    rest = vec(work, at, work.shape[0] - at)
    pivots, irest = ivec(iwork, 0, largest * nv), ivec(iwork, largest * nv, iwork.shape[0] - largest * nv)

    # ---- what kind of equations these are
    acting, turning = nj > 0, False
    for k in range(nc):
        rows = layout[layout[CONTACT_ROW] + k + 1] - layout[layout[CONTACT_ROW] + k]
        turning = turning or (index[k] == SLIP and rows == 3)
        acting = acting or index[k] == SLIP or index[k] == STICK
    given = 1 if settings[LEVEL] == 1.0 and acting and degree > 0 else 0
    if given == 1:
        first, end = 0, n
    newton = settings[NEWTON] == 1.0 and end > first and (turning or (flags & F_FREE) == 0)
    linear = (flags & M_CONSTANT) != 0 and (flags & RATE_IDENTITY) != 0
    # with forces of contacts or joints one more sweep gives them at the solution
    linear = linear and not acting and (settings[BY_STAGE] == 0.0 or nc == 0)
    linear = linear and ((flags & F_FREE) != 0 or (newton and (flags & F_LINEAR) != 0 and (flags & J_CONSTANT) != 0))

    # ---- the start: an explicit stage, the factors of a velocity-level correction, the matrix
    renewed = False
    if newton and (work[MATRIX_H] != h * (end - first) or (work[RENEW] == 1.0)):
        status = stage_matrix(
            model, tab, t, h, q_0, v_0, index, direction, first, end, vec(work, KEPT, at - KEPT), room, hold, pivots,
            ihold, record,
        )  # fmt: skip
        if status != 0:
            return status
        work[MATRIX_H], work[RENEW], renewed = h * (end - first), 0.0, True
    for i in range(nq):
        Q[i] = q_0[i]
    for i in range(nv):
        V[i] = v_0[i]
    if (known == 0 and first > 0) or given == 1:
        status = evaluate(
            model, reaction, settings, t, q_0, v_0, index, direction, gap_0, 0, 0, 0, vec(new, 0, nv), vec(R, 0, nr),
            vec(U, 0, nr), vec(powers, 0, width), rest, irest, record,
        )  # fmt: skip
        if status != 0:
            return status
        if given == 0:
            for i in range(nv):
                a[i] = new[i]
    for k in range(1, n):
        for i in range(nr):
            R[k * nr + i] = R[i]
    for k in range(1, n):
        for i in range(nq):
            Q[k * nq + i] = q_0[i]

    # ---- iteration
    converged = end <= first
    moved_before, sweep, most = 0.0, 0, whole(settings[MOST])
    while not converged and sweep < most:
        sweep += 1
        record.counters.iterations += 1
        propagate(tab, h, v_0, push, V, a, n, nv)
        q_moved = 0.0
        if (flags & RATE_IDENTITY) == 0:
            for i in range(nq):
                q_moved -= abs(Q[(n - 1) * nq + i])
        move(model, tab, h, q_0, Q, V, Q_dot, n)
        scale = 0.0
        for k in range(first, end):
            status = evaluate(
                model, reaction, settings, t + c[k] * h, vec(Q, k * nq, nq), vec(V, k * nv, nv), index, direction,
                gap_0, k, 1 if sweep > FREEZE else 0, given, vec(new, k * nv, nv), vec(R, k * nr, nr),
                vec(U, k * nr, nr), vec(powers, k * width, width), rest, irest, record,
            )  # fmt: skip
            if status != 0:
                return status
            scale = larger(scale, h * powers[k * width + UNHELD])
            for i in range(nv):
                scale = larger(scale, larger(abs(V[k * nv + i]), h * abs(a[k * nv + i])))
                new[k * nv + i] -= a[k * nv + i]
        if newton:
            solve_dense(vec(work, KEPT, room * room), vec(new, first * nv, (end - first) * nv), pivots)
        if given == 1:
            close_velocities(model, tab, h, v_0, a, new, R, U, hold, ihold)
        moved = 0.0
        for i in range(first * nv, end * nv):
            moved = larger(moved, h * abs(new[i]))
            a[i] += new[i]
        if linear:
            converged = True
            break
        ratio = moved / moved_before if moved_before > 0.0 else 1.0
        ahead = moved * ratio / (1.0 - ratio) if ratio < 0.5 else moved
        if ratio > 0.2 and moved > 1e-13 * scale:
            work[RENEW] = 1.0 if moved_before > 0.0 else work[RENEW]
        if not moved < 1e300:
            break
        if smaller(moved, ahead) <= settings[TOLERANCE] * scale:
            settled = True
            if (flags & RATE_IDENTITY) == 0:
                # coordinates with a rate of their own lag one sweep behind the velocities
                largest_q = 0.0
                for i in range(nq):
                    q_moved += abs(Q[(n - 1) * nq + i])
                    largest_q = larger(largest_q, abs(Q[(n - 1) * nq + i]))
                settled = abs(q_moved) <= settings[TOLERANCE] * (largest_q + h * scale)
            if settled:
                converged = True
                break
        if newton and not renewed and sweep > 4 and ratio > 0.7:
            status = stage_matrix(
                model, tab, t, h, q_0, v_0, index, direction, first, end, vec(work, KEPT, at - KEPT), room, hold,
                pivots, ihold, record,
            )  # fmt: skip
            if status != 0:
                return status
            renewed, moved = True, 0.0
        moved_before = moved
    if not converged:
        work[MATRIX_H] = 0.0
        return NEWTON_STALLED

    # ---- the stages of the solution, and those that nothing waits for
    propagate(tab, h, v_0, push, V, a, n, nv)
    move(model, tab, h, q_0, Q, V, Q_dot, n)
    if linear and end > first:
        # the only sweep saw the forces of the guess: their power at the solution is v . M a
        at = KEPT + room * room + largest * nv + 2 * nv * nv
        M = vec(work, at, layout[SIZE])
        model.mass(t, q_0, model.par, M)
        for k in range(first, end):
            for i in range(nv):
                new[i] = 0.0
            multiply(layout, M, vec(a, k * nv, nv), vec(new, 0, nv))
            powers[k * width] = 0.0
            for i in range(nv):
                powers[k * width] += new[i] * V[k * nv + i]
    for k in range(end, n):
        if degree == 0:
            for i in range(nv):
                a[k * nv + i] = a[i]
            for i in range(nr):
                R[k * nr + i] = R[i]
            for i in range(width):
                powers[k * width + i] = 0.0
            continue
        status = evaluate(
            model, reaction, settings, t + c[k] * h, vec(Q, k * nq, nq), vec(V, k * nv, nv), index, direction, gap_0, k,
            0, 0, vec(a, k * nv, nv), vec(R, k * nr, nr), vec(U, k * nr, nr), vec(powers, k * width, width), rest,
            irest, record,
        )  # fmt: skip
        if status != 0:
            return status
    return 0


@unit(I(MODEL, A, F, F, A, A, J, A, I, I, A, I, A, J, J, RECORD))
def stage_matrix(model, tab, t, h, q_0, v_0, index, direction, first, end, work, room, hold, pivots, iwork, record):
    """Write the LU factors of the iteration matrix of the stages first ... end - 1 to the front of work."""
    layout = model.layout
    nv, nc, nr = layout[NV], layout[NC], layout[NR]
    at = work.shape[0] - (2 * nr + POWERS + nc) - 2 * layout[SIZE] - 2 * nv * nv
    J_q, J_v = vec(work, at, nv * nv), vec(work, at + nv * nv, nv * nv)
    at += 2 * nv * nv
    scratch = vec(work, room * room, nv)
    status = jacobians(
        model, t, q_0, v_0, index, direction, J_q, J_v, scratch, vec(work, at, work.shape[0] - at), hold, iwork, record
    )
    if status != 0:
        return status
    m = (end - first) * nv
    G = vec(work, 0, m * m)
    assemble(tab, h, first, end, nv, J_q, J_v, 0, G)
    return factor_dense(G, m, pivots)


def jacobians_work(layout) -> int:
    """Return the floats of the last workspace of `jacobians`."""
    return 2 * int(layout[SIZE]) + 2 * int(layout[NR]) + POWERS + int(layout[NC])


@unit(I(MODEL, F, A, A, J, A, A, A, A, A, A, J, RECORD))
def jacobians(model, t, q, v, index, direction, J_q, J_v, scratch, work, hold, iwork, record):
    """Write how accelerations under the index set change with positions and velocities, each nv x nv."""
    layout = model.layout
    nv, nc, nr, size = layout[NV], layout[NC], layout[NR], layout[SIZE]
    f_q, f_v = vec(work, 0, size), vec(work, size, size)
    # the held rows at the start of the interval; forces and powers of this call are of no interest
    r, u = vec(work, 2 * size, nr), vec(work, 2 * size + nr, nr)
    acting = layout[NJ] > 0
    for c in range(nc):
        acting = acting or index[c] == SLIP or index[c] == STICK
    lu = vec(hold, 1, size)
    if acting:
        status = accelerate(
            model, t, q, v, index, direction, 0, scratch, r, u, vec(work, 2 * size + 2 * nr, POWERS + nc), hold, iwork,
            record,
        )  # fmt: skip
        if status != 0:
            return status
    else:
        iwork[COUNT], iwork[REDUNDANT] = 0, 0
        if hold[0] == 0.0 or (layout[FLAGS] & M_CONSTANT) == 0:
            model.mass(t, q, model.par, lu)
            status = factor(layout, lu)
            if status != 0:
                return status
            hold[0] = 1.0
    model.jacobian(t, q, v, model.par, f_q, f_v)
    record.counters.jacobian_calls += 1
    W = vec(hold, 1 + size, layout[NW])
    X = vec(hold, 1 + size + layout[NW], layout[NX])
    at = 1 + size + layout[NW] + layout[NX]
    unit_vector, column = vec(hold, at, nv), vec(hold, at + nv, nv)
    at += 2 * nv
    b, x, scale = vec(hold, at + 2 * nr, nr), vec(hold, at + 3 * nr, nr), vec(hold, at + 4 * nr, nr)
    at += 6 * nr
    lu_D, left = vec(hold, at, nr * nr), vec(hold, at + nr * nr, nr * nr + nr)
    held, rows = iwork[COUNT], ivec(iwork, HOLD_INTEGERS, nr)
    for j in range(nv):
        for part in range(2):
            for i in range(nv):
                unit_vector[i], scratch[i] = 0.0, 0.0
            unit_vector[j] = 1.0
            multiply(layout, f_q if part == 0 else f_v, unit_vector, scratch)
            if part == 1 and acting:
                turn_friction(model, index, direction, W, r, u, unit_vector, scratch)
            solve(layout, lu, scratch, scratch, column)
            if held > 0:
                for i in range(held):
                    b[i], x[i] = -row_dot(layout, W, rows[i], scratch), 0.0
                solve_rows(held, lu_D, scale, ivec(iwork, HOLD_INTEGERS + nr, 2 * nr), iwork[REDUNDANT], b, x, left)
                for i in range(held):
                    row_add(layout, X, rows[i], x[i], scratch)
            for i in range(nv):
                if part == 0:
                    J_q[i * nv + j] = scratch[i]
                else:
                    J_v[i * nv + j] = scratch[i]
    return 0


@unit(I(A, F, I, I, I, A, A, I, A))
def assemble(tab, h, first, end, nv, J_q, J_v, stride, G):
    """Write the iteration matrix I - h Av (x) J_v - h^2 Aq Av (x) J_q of the stages first ... end - 1.

    stride: from the Jacobians of one stage to those of the next, 0 when all have the same.
    """
    n, m = whole(tab[STAGES]), (end - first) * nv
    Av, AA = vec(tab, VECTORS + 3 * n + VELOCITY * n * n, n * n), vec(tab, VECTORS + 3 * n + PRODUCT * n * n, n * n)
    for k in range(first, end):
        for other in range(first, end):
            for i in range(nv):
                for j in range(nv):
                    at = stride * k + i * nv + j
                    value = -h * (Av[k * n + other] * J_v[at] + h * AA[k * n + other] * J_q[at])
                    value += 1.0 if k == other and i == j else 0.0
                    G[((k - first) * nv + i) * m + (other - first) * nv + j] = value
    return 0


@unit(I(MODEL, J, A, A, A, A, A, A))
def turn_friction(model, index, direction, W, r, u, v, f):
    """Add to f what a change v of the velocity does to friction forces that slip in space: they turn with the slip."""
    layout = model.layout
    for c in range(layout[NC]):
        row = layout[layout[CONTACT_ROW] + c]
        straight = direction[2 * layout[NC] + c] == 1.0
        if index[c] != SLIP or layout[layout[CONTACT_ROW] + c + 1] - row != 3 or straight:
            continue
        speed = sqrt(u[row + 1] * u[row + 1] + u[row + 2] * u[row + 2])
        if not u[row + 1] * direction[2 * c] + u[row + 2] * direction[2 * c + 1] > 1e-300:
            continue
        s_1, s_2 = u[row + 1] / speed, u[row + 2] / speed
        across = s_1 * row_dot(layout, W, row + 2, v) - s_2 * row_dot(layout, W, row + 1, v)
        stiffness = model.constants[LAW_FLOATS * c + 1] * r[row] / speed * across
        for i in range(1, 3):
            force = stiffness * s_2 if i == 1 else -stiffness * s_1
            columns = layout[W_COL]
            for k in range(layout[layout[W_PTR] + row + i], layout[layout[W_PTR] + row + i + 1]):
                f[layout[columns + k]] += W[k] * force
    return 0


@unit(I(MODEL, A, F, A, A, A, A, A, A, J))
def close_velocities(model, tab, h, v_0, a, change, R, U, hold, iwork):
    """Correct the stage forces so that the held rows have no velocity at the stages and at the end of the interval.

    W and X are those of the last stage, the factors of D those of the start: both enter the correction only.
    """
    layout = model.layout
    nv, nr, n = layout[NV], layout[NR], whole(tab[STAGES])
    size, nw, nx = layout[SIZE], layout[NW], layout[NX]
    b_n = vec(tab, VECTORS + WEIGHT * n, n)
    update, Av = vec(tab, VECTORS + 3 * n + UPDATE * n * n, n * n), vec(tab, VECTORS + 3 * n + VELOCITY * n * n, n * n)
    W, X = vec(hold, 1 + size, nw), vec(hold, 1 + size + nw, nx)
    at = 1 + size + nw + nx
    column = vec(hold, at + nv, nv)
    at += 2 * nv
    w, b, x, scale = (
        vec(hold, at, nr),
        vec(hold, at + 2 * nr, nr),
        vec(hold, at + 3 * nr, nr),
        vec(hold, at + 4 * nr, nr),
    )
    at += 6 * nr
    lu_D, left = vec(hold, at, nr * nr), vec(hold, at + nr * nr, nr * nr + nr)
    rows, pivots, held = ivec(iwork, HOLD_INTEGERS, nr), ivec(iwork, HOLD_INTEGERS + nr, 2 * nr), iwork[COUNT]
    explicit_end = Av[n * n - 1] == 0.0  # D-: the last force moves only the end velocity
    for k in range(n):
        for i in range(held):
            total = 0.0
            for j in range(n):
                total += update[k * n + j] * U[j * nr + rows[i]]
            b[i] = -total / h
        if k == n - 1 and explicit_end:
            for i in range(nv):
                column[i] = v_0[i]
                for j in range(n):
                    column[i] += h * b_n[j] * (a[j * nv + i] + change[j * nv + i])
            for i in range(held):
                b[i] = -(row_dot(layout, W, rows[i], column) + w[rows[i]]) / (h * b_n[n - 1])
        for i in range(held):
            x[i] = 0.0
        solve_rows(held, lu_D, scale, pivots, iwork[REDUNDANT], b, x, left)
        for i in range(held):
            R[k * nr + rows[i]] += x[i]
            row_add(layout, X, rows[i], x[i], vec(change, k * nv, nv))
    return 0


@unit(F(A, A))
def closed_gap(settings, q):
    """Return the gap up to which contacts are closed: what was asked for, or rounding of the coordinates."""
    at, length = whole(settings[REACH_AT]), 0.0
    if at > 0:
        for i in range(q.shape[0]):
            length = larger(length, settings[at + i] * abs(q[i]))
    return larger(settings[CLOSED], GAP_ROUNDING * length)
