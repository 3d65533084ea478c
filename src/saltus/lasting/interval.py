"""The stages of one interval: their accelerations by simplified Newton, for any tableau and any index set.

The unknowns are the stage accelerations. One matrix, I - h Av (x) df/dv - h^2 Aq Av (x) df/dq projected onto what the
held rows leave free, serves many intervals; it is renewed when the contraction of the iteration says so.
"""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import head, larger, row_of, smaller, tail, unit, whole
from saltus.compile.types import INTERVAL, MODEL, REACTION, RECORD, A, F, I, J
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.lasting.hold import (
    POWERS,
    UNHELD,
    accelerate,
    solve_rows,
)
from saltus.lasting.index_set import CANDIDATE, OPEN, SLIP, STICK, decide
from saltus.lasting.workspace import LASTING
from saltus.memory.full_matrix import factor_dense, solve_dense
from saltus.memory.layout import (
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
    RATE_IDENTITY,
    W_COL,
    W_PTR,
)
from saltus.memory.profile import factor, multiply, solve
from saltus.reaction.impacts import reacting_sizes
from saltus.reaction.react import row_add, row_dot
from saltus.status import Status
from saltus.tables.tableau import (
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

NEWTON_STALLED = int(Status.NEWTON_STALLED)

# Settings of every scheme of stages. closed: gap up to which a contact is closed [m]; rest: speed up to which it rests
# [m/s]; by_stage: 1 where stages decide for themselves what is closed; project, projected: whether q and v are put back
# at the end of an interval, and to which gap; law: which velocity restitution looks at (border.py); tolerance, most: of
# the iteration for the stages, and its sweeps; split: 1 where intervals are cut at transitions; level: 1 for velocity
# level; newton: 1 for Newton's method; reach_at: where the settings say how far gaps reach into the coordinates, 0 for
# nowhere.
LARGEST_NEWTON = 1024  # unknown stage accelerations up to which a full matrix pays; beyond, plain iteration
STAGE_SETTINGS = Numbers("closed rest by_stage project law tolerance most projected split level newton reach_at")

GAP_ROUNDING = 1e-15  # of the coordinates that a gap is made of: nobody knows it better
DECIDES, KEEPS, NO_FORCES = range(3)  # what a stage that decides for itself does about its contacts
FREEZE = 4  # sweeps after which stages that decide for themselves keep their index sets


# the stages of an interval: positions, velocities, rates of the positions, accelerations, forces, row velocities and
# powers
STAGES_ROOM = Workspace(
    "Stages", Q="largest * nq", V="largest * nv", Q_dot="largest * nq", a="largest * nv", R="largest * nr",
    U="largest * nr", powers="largest * width",
)  # fmt: skip
# of the held rows at the start of an interval: Jacobians of the forces; forces, row velocities and powers
JACOBIANS = Workspace("Jacobians", f_q="size", f_v="size", r="nr", u="nr", powers="width")
# matrix_h: length of the interval whose matrix is factored (0: none); renew: 1 where it is to be made again. matrix:
# I - h Av (x) J_v - h^2 Aq Av (x) J_q, with its pivots; new: stage accelerations; J_q, J_v: Jacobians of the
# accelerations; G: matrix of an error estimate. Stages that decide for themselves: gaps, directions, index sets,
# candidates.
INTERVALS = Workspace(
    "Interval", kept=Numbers("matrix_h renew"), matrix="unknowns * unknowns", new="largest * nv", J_q="square",
    J_v="square", G="square", jacobians=JACOBIANS, g="nc + nj", own_direction="3 * nc * largest", info="2",
    pivots=integers("largest * nv"), candidate=integers("nc"), own_index=integers("nc * largest"), lasting=LASTING,
)  # fmt: skip


def interval_sizes(layout, contact_solver, largest: int = 0, newton: bool = False) -> dict:
    """Return the sizes of `INTERVALS` for up to `largest` stages; without any it holds lasting contacts only."""
    nv = int(layout[NV])
    own = {"largest": largest, "unknowns": largest * nv if newton else 0, "square": nv * nv if largest > 0 else 0}
    return {**reacting_sizes(layout, contact_solver), **own, "width": POWERS + int(layout[NC])}


@unit(I(A, F, A, A, A, A, I, I))
def propagate(tab, h, v_0, push, V, a, n, nv):
    """Write the stage velocities of stage accelerations."""
    Av, P = head(tail(tab, VECTORS + 3 * n + VELOCITY * n * n), n * n), head(tail(tab, VECTORS + SHARE * n), n)
    for stage in range(n):
        for i in range(nv):
            total = 0.0
            for k in range(n):
                total += Av[stage * n + k] * a[k * nv + i]
            V[stage * nv + i] = v_0[i] + h * total + P[stage] * push[i]
    return 0


@unit(I(MODEL, A, F, A, A, A, A, I))
def move(model, tab, h, q_0, Q, V, Q_dot, n):
    """Write stage positions Q and rates Q_dot from stage velocities V."""
    layout = model.layout
    nq, nv = layout[NQ], layout[NV]
    Aq = head(tail(tab, VECTORS + 3 * n + POSITION * n * n), n * n)
    for stage in range(n):
        if (layout[FLAGS] & RATE_IDENTITY) != 0:
            for i in range(nq):
                Q_dot[stage * nq + i] = V[stage * nv + i]
        else:
            model.rate(row_of(Q, stage, nq), row_of(V, stage, nv), model.par, row_of(Q_dot, stage, nq))
    for stage in range(n):
        for i in range(nq):
            total = 0.0
            for k in range(n):
                total += Aq[stage * n + k] * Q_dot[k * nq + i]
            Q[stage * nq + i] = q_0[i] + h * total
    return 0


@unit(I(MODEL, REACTION, A, F, A, A, J, A, A, I, I, I, A, A, A, A, INTERVALS.kind, RECORD))
def evaluate(
    model, reaction, settings, t, q, v, index, direction, gap_0, stage, frozen, given, a, r, u, powers, work, record
):  # fmt: skip
    """Write the acceleration and the forces of one stage, by the index set of the interval or by one of its own.

    frozen: KEEPS when a stage that decides for itself keeps what it decided, so that an iteration can settle; NO_FORCES
    when none act, because at degree 0 the impulse is all that contacts do.
    """
    settings = STAGE_SETTINGS(settings)
    layout = model.layout
    nc, room = layout[NC], work.lasting
    if settings.by_stage == 0.0 or nc == 0 or frozen == NO_FORCES:
        return accelerate(model, t, q, v, index, direction, given, a, r, u, powers, room, record)
    g, candidate = work.g, work.candidate
    own_direction, own_index = row_of(work.own_direction, stage, 3 * nc), row_of(work.own_index, stage, nc)
    if frozen == KEEPS:
        return accelerate(model, t, q, v, own_index, own_direction, given, a, r, u, powers, room, record)
    model.gap(t, q, model.par, g)
    W, w = room.W, u
    anyone = False
    model.kinematics(t, q, model.par, W, w)
    for c in range(nc):
        row = layout[layout[CONTACT_ROW] + c]
        closed = g[c] <= settings.closed and (stage == 0 or gap_0[c] <= settings.closed)
        # what closes within the interval gets no force at its end, only the impulse there
        candidate[c] = CANDIDATE if closed and row_dot(layout, W, row, v) + w[row] <= settings.rest else 0
        own_index[c] = OPEN
        anyone = anyone or candidate[c] != 0
    if anyone:
        status = decide(
            model, reaction, t, q, v, candidate, settings.rest, own_index, own_direction, a, r, work.info, room, record
        )
        if status != 0:
            return status
    return accelerate(model, t, q, v, own_index, own_direction, given, a, r, u, powers, room, record)


@unit(INTERVAL)
def solve_interval(
    model, reaction, settings, tab, t, h, q_0, v_0, index, direction, gap_0, known, push, stages_room, record, room
):
    """Solve the stages of the interval (t, t + h) from q_0, v_0.

    model / reaction / settings / tab
    in      index, direction: the index set; gap_0: gaps at t (activation by stage only); known: 1 when stage 0 holds a
            and r of the state itself; push: M^-1 W p, felt by the stages of D+
    in/out  stages: guesses of the accelerations -> everything
    kept    the factored matrix, for the length that it was made for
    """
    settings = STAGE_SETTINGS(settings)
    layout, stages, work = model.layout, STAGES_ROOM(stages_room), INTERVALS(room)
    nq, nv, nc, nj, nr, flags = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR], layout[FLAGS]
    degree, n, first, end = whole(tab[DEGREE]), whole(tab[STAGES]), whole(tab[FIRST]), whole(tab[END])
    c = head(tail(tab, VECTORS + NODE * n), n)
    width = POWERS + nc
    Q, V, Q_dot, a, R, U, powers = stages.Q, stages.V, stages.Q_dot, stages.a, stages.R, stages.U, stages.powers
    new, kept = work.new, work.kept

    # ---- what kind of equations these are
    acting, turning = nj > 0, False
    for k in range(nc):
        rows = layout[layout[CONTACT_ROW] + k + 1] - layout[layout[CONTACT_ROW] + k]
        turning = turning or (index[k] == SLIP and rows == 3)
        acting = acting or index[k] == SLIP or index[k] == STICK
    given = 1 if settings.level == 1.0 and acting and degree > 0 else 0
    if given == 1:
        first, end = 0, n
    newton = settings.newton == 1.0 and end > first and (turning or (flags & F_FREE) == 0)
    linear = (flags & M_CONSTANT) != 0 and (flags & RATE_IDENTITY) != 0
    # with forces of contacts or joints one more sweep gives them at the solution
    linear = linear and not acting and (settings.by_stage == 0.0 or nc == 0)
    linear = linear and ((flags & F_FREE) != 0 or (newton and (flags & F_LINEAR) != 0 and (flags & J_CONSTANT) != 0))

    deciding = DECIDES if degree > 0 else NO_FORCES

    # ---- the start: an explicit stage, the factors of a velocity-level correction, the matrix
    renewed = False
    if newton and (kept.matrix_h != h * (end - first) or kept.renew == 1.0):
        status = stage_matrix(model, tab, t, h, q_0, v_0, index, direction, first, end, work, record)
        if status != 0:
            return status
        kept.matrix_h, kept.renew, renewed = h * (end - first), 0.0, True
    for i in range(nq):
        Q[i] = q_0[i]
    for i in range(nv):
        V[i] = v_0[i]
    if (known == 0 and first > 0) or given == 1:
        status = evaluate(
            model, reaction, settings, t, q_0, v_0, index, direction, gap_0, 0, deciding, 0, row_of(new, 0, nv),
            row_of(R, 0, nr), row_of(U, 0, nr), row_of(powers, 0, width), work, record,
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
    moved_before, sweep, most = 0.0, 0, whole(settings.most)
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
                model, reaction, settings, t + c[k] * h, row_of(Q, k, nq), row_of(V, k, nv), index, direction, gap_0, k,
                KEEPS if sweep > FREEZE and degree > 0 else deciding, given, row_of(new, k, nv), row_of(R, k, nr),
                row_of(U, k, nr), row_of(powers, k, width), work, record,
            )  # fmt: skip
            if status != 0:
                return status
            scale = larger(scale, h * powers[k * width + UNHELD])
            for i in range(nv):
                scale = larger(scale, larger(abs(V[k * nv + i]), h * abs(a[k * nv + i])))
                new[k * nv + i] -= a[k * nv + i]
        # stages that decide for themselves hold a contact exactly: a matrix that does not know it would lift the body
        pushed = False
        if settings.by_stage == 1.0:
            for i in range(first * nr, end * nr):
                pushed = pushed or R[i] != 0.0
        if newton and not pushed:
            solve_dense(work.matrix, head(tail(new, first * nv), (end - first) * nv), work.pivots)
        if given == 1:
            close_velocities(model, tab, h, v_0, a, new, R, U, work.lasting)
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
            kept.renew = 1.0 if moved_before > 0.0 else kept.renew
        if not moved < 1e300:
            break
        if smaller(moved, ahead) <= settings.tolerance * scale:
            settled = True
            if (flags & RATE_IDENTITY) == 0:
                # coordinates with a rate of their own lag one sweep behind the velocities
                largest_q = 0.0
                for i in range(nq):
                    q_moved += abs(Q[(n - 1) * nq + i])
                    largest_q = larger(largest_q, abs(Q[(n - 1) * nq + i]))
                settled = abs(q_moved) <= settings.tolerance * (largest_q + h * scale)
            if settled:
                converged = True
                break
        if newton and not renewed and sweep > 4 and ratio > 0.7:
            status = stage_matrix(model, tab, t, h, q_0, v_0, index, direction, first, end, work, record)
            if status != 0:
                return status
            renewed, moved = True, 0.0
        moved_before = moved
    if not converged:
        kept.matrix_h = 0.0
        return NEWTON_STALLED

    # ---- the stages of the solution, and those that nothing waits for
    propagate(tab, h, v_0, push, V, a, n, nv)
    move(model, tab, h, q_0, Q, V, Q_dot, n)
    if linear and end > first:
        # the only sweep saw the forces of the guess: their power at the solution is v . M a
        M = work.jacobians.f_q  # which nobody needs any more
        model.mass(t, q_0, model.par, M)
        for k in range(first, end):
            for i in range(nv):
                new[i] = 0.0
            multiply(layout, M, row_of(a, k, nv), row_of(new, 0, nv))
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
            model, reaction, settings, t + c[k] * h, row_of(Q, k, nq), row_of(V, k, nv), index, direction, gap_0, k, 0,
            0, row_of(a, k, nv), row_of(R, k, nr), row_of(U, k, nr), row_of(powers, k, width), work, record,
        )  # fmt: skip
        if status != 0:
            return status
    return 0


@unit(I(MODEL, A, F, F, A, A, J, A, I, I, INTERVALS.kind, RECORD))
def stage_matrix(model, tab, t, h, q_0, v_0, index, direction, first, end, work, record):
    """Write the LU factors of the iteration matrix of the stages first ... end - 1."""
    nv = model.layout[NV]
    J_q, J_v, scratch = work.J_q, work.J_v, row_of(work.new, 0, nv)
    status = jacobians(model, t, q_0, v_0, index, direction, J_q, J_v, scratch, work.jacobians, work.lasting, record)
    if status != 0:
        return status
    m = (end - first) * nv
    G = head(work.matrix, m * m)
    assemble(tab, h, first, end, nv, J_q, J_v, 0, G)
    return factor_dense(G, m, work.pivots)


@unit(I(MODEL, F, A, A, J, A, A, A, A, JACOBIANS.kind, LASTING.kind, RECORD))
def jacobians(model, t, q, v, index, direction, J_q, J_v, scratch, work, room, record):
    """Write how accelerations under the index set change with positions and velocities, each nv x nv."""
    layout = model.layout
    nv, nc = layout[NV], layout[NC]
    # the held rows at the start of the interval; forces and powers of this call are of no interest
    f_q, f_v, r, u = work.f_q, work.f_v, work.r, work.u
    acting = layout[NJ] > 0
    for c in range(nc):
        acting = acting or index[c] == SLIP or index[c] == STICK
    lu, held = room.lu, room.held
    if acting:
        status = accelerate(model, t, q, v, index, direction, 0, scratch, r, u, work.powers, room, record)
        if status != 0:
            return status
    else:
        held.count, held.redundant = 0, 0
        if room.known.factored == 0.0 or (layout[FLAGS] & M_CONSTANT) == 0:
            model.mass(t, q, model.par, lu)
            status = factor(layout, lu)
            if status != 0:
                return status
            room.known.factored = 1.0
    model.jacobian(t, q, v, model.par, f_q, f_v)
    record.counters.jacobian_calls += 1
    W, X, unit_vector, column, b, x, rows = room.W, room.X, room.f, room.column, room.b, room.x, room.rows
    for j in range(nv):
        for part in range(2):
            for i in range(nv):
                unit_vector[i], scratch[i] = 0.0, 0.0
            unit_vector[j] = 1.0
            multiply(layout, f_q if part == 0 else f_v, unit_vector, scratch)
            if part == 1 and acting:
                turn_friction(model, index, direction, W, r, u, unit_vector, scratch)
            solve(layout, lu, scratch, scratch, column)
            if held.count > 0:
                for i in range(held.count):
                    b[i], x[i] = -row_dot(layout, W, rows[i], scratch), 0.0
                solve_rows(held.count, room.lu_D, room.scale, room.pivots, held.redundant, b, x, room.left)
                for i in range(held.count):
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
    Av, AA = (
        head(tail(tab, VECTORS + 3 * n + VELOCITY * n * n), n * n),
        head(tail(tab, VECTORS + 3 * n + PRODUCT * n * n), n * n),
    )
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


@unit(I(MODEL, A, F, A, A, A, A, A, LASTING.kind))
def close_velocities(model, tab, h, v_0, a, change, R, U, room):
    """Correct the stage forces so that the held rows have no velocity at the stages and at the end of the interval.

    W and X are those of the last stage, the factors of D those of the start: both enter the correction only.
    """
    layout = model.layout
    nv, nr, n = layout[NV], layout[NR], whole(tab[STAGES])
    b_n = head(tail(tab, VECTORS + WEIGHT * n), n)
    update, Av = (
        head(tail(tab, VECTORS + 3 * n + UPDATE * n * n), n * n),
        head(tail(tab, VECTORS + 3 * n + VELOCITY * n * n), n * n),
    )
    W, X, column, w, b, x, rows = room.W, room.X, room.column, room.w, room.b, room.x, room.rows
    held = room.held.count
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
        solve_rows(held, room.lu_D, room.scale, room.pivots, room.held.redundant, b, x, room.left)
        for i in range(held):
            R[k * nr + rows[i]] += x[i]
            row_add(layout, X, rows[i], x[i], row_of(change, k, nv))
    return 0


@unit(F(A, A))
def closed_gap(settings, q):
    """Return the gap up to which contacts are closed: what was asked for, or rounding of the coordinates."""
    settings = STAGE_SETTINGS(settings)
    at, length = whole(settings.reach_at), 0.0
    if at > 0:
        for i in range(q.shape[0]):
            length = larger(length, settings[at + i] * abs(q[i]))
    return larger(settings.closed, GAP_ROUNDING * length)
