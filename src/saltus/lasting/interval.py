"""The stages of one interval: their accelerations by simplified Newton, for any tableau and any index set.

The unknowns are the stage accelerations. One matrix, I - h Av (x) df/dv - h^2 Aq Av (x) df/dq projected onto what the
held rows leave free, serves many intervals; it is renewed when the contraction of the iteration says so.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.columns import matrix_entries
from saltus.compile.seam import head, larger, row_of, smaller, tail, unit, whole
from saltus.compile.types import INTERVAL, MODEL, REACTION, RECORD, A, F, I, J
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.lasting.held_rows import solve_held
from saltus.lasting.hold import REPORTED, accelerate, accelerate_given, row_size
from saltus.lasting.index_set import INDEX, ROLE, WAY, decide
from saltus.lasting.masses import factored_masses
from saltus.lasting.workspace import ACTING, ENDS, LASTING
from saltus.memory.full_matrix import factor_dense, solve_dense
from saltus.memory.layout import F_FREE, F_LINEAR, J_CONSTANT, M_CONSTANT, RATE_IDENTITY
from saltus.memory.profile import multiply, solve
from saltus.memory.vectors import clear, copy, largest
from saltus.reaction.impacts import reacting_sizes
from saltus.reaction.react import row_add, row_dot
from saltus.status import Status
from saltus.tables.tableau import STAGE_MATRIX, STAGE_VECTOR, TAB


class _IntervalTuned(NamedTuple):
    """Tuned numbers of this file."""

    # Settings of every scheme of stages. closed: gap up to which a contact is closed [m]; rest: speed up to which it
    # rests [m/s]; by_stage: 1 where stages decide for themselves what is closed; project, projected: whether q and v
    # are put back at the end of an interval, and to which gap; law: which velocity restitution looks at (border.py);
    # tolerance, most: of the iteration for the stages, and its sweeps; split: 1 where intervals are cut at
    # transitions; level: 1 for velocity level; newton: 1 for Newton's method; reach_at: where the settings say how
    # far gaps reach into the coordinates, 0 for nowhere.
    largest_newton: int = 1024  # unknown stage accelerations up to which a full matrix pays; beyond, plain iteration
    gap_rounding: float = 1e-15  # of the coordinates that a gap is made of: nobody knows it better
    freeze: int = 4  # sweeps after which stages that decide for themselves keep their index sets


INTERVAL_TUNED = _IntervalTuned()

STAGE_SETTINGS = Numbers("closed rest by_stage project law tolerance most projected split level newton reach_at")


class _Stage(NamedTuple):
    """What a stage that decides for itself does about its contacts."""

    decides: int = 0
    keeps: int = 1
    no_forces: int = 2


STAGE = _Stage()


# the stages of an interval: positions, velocities, rates of the positions, accelerations, forces, row velocities and
# powers
STAGES_ROOM = Workspace(
    "Stages", Q="largest * nq", V="largest * nv", Q_dot="largest * nq", a="largest * nv", R="largest * nr",
    U="largest * nr", powers="largest * width",
)  # fmt: skip
# of the held rows at the start of an interval: Jacobians of the forces; forces, row velocities and powers
# answer.pushes: the largest change of a held row's free acceleration over the size of its parts, with any coordinate or
# velocity: 0 where the forces that hold the rows do not depend on the state
JACOBIANS = Workspace(
    "Jacobians", f_q="size", f_v="size", r="nr", u="nr", powers="width", answer=Numbers("pushes")
)  # fmt: skip
# matrix_h: length of the interval whose matrix is factored (0: none); renew: 1 where it is to be made again; moved,
# scale: change and size of the velocities in the last sweep. matrix:
# I - h Av (x) J_v - h^2 Aq Av (x) J_q, with its pivots; new: stage accelerations; J_q, J_v: Jacobians of the
# accelerations; G: matrix of an error estimate. push: what the stages feel of an impulse at the end of the interval
# (D+), gap_0: gaps at its start (stages that decide for themselves). Of these stages: gaps, directions, index sets,
# candidates. sweeping: stages first ... end - 1 are unknown; given: 1 where their forces are unknowns as well; newton:
# 1 for Newton's method; linear: 1 where one sweep is exact; frozen: what stages that decide for themselves do,
# STAGE.decides, STAGE.keeps what they decided so that an iteration can settle, or STAGE.no_forces at degree 0, where
# the impulse is all
# that contacts do. found: what `find_candidates` (lasting/settle.py) knows of a decision.
INTERVALS = Workspace(
    "Interval", kept=Numbers("matrix_h renew moved scale"),
    sweeping=Numbers("first end given newton linear frozen", integer=True),
    found=Numbers("decided anyone same slow rest_first slowest"), push="nv", gap_0="nc + nj",
    matrix="unknowns * unknowns", new="largest * nv", J_q="square", J_v="square", G="square", jacobians=JACOBIANS,
    g="nc + nj", own_direction="3 * nc * largest", own=ACTING, info="2", pivots=integers("largest * nv"),
    candidate=integers("nc"), own_index=integers("nc * largest"), lasting=LASTING,
)  # fmt: skip


def interval_sizes(layout, contact_solver, largest: int = 0, newton: bool = False) -> dict:
    """Return the sizes of `INTERVALS` for up to `largest` stages; without any it holds lasting contacts only."""
    nv = int(layout.nv)
    own = {"largest": largest, "unknowns": largest * nv if newton else 0, "square": nv * nv if largest > 0 else 0}
    return {**reacting_sizes(layout, contact_solver), **own, "width": REPORTED.first_contact + int(layout.nc)}


@unit(I(A, F, A, A, A, A, I, I))
def propagate(tab, h, v_0, push, V, a, n, nv):
    """Write the stage velocities of stage accelerations."""
    Av, P = (
        head(tail(tab, TAB.vectors + 3 * n + STAGE_MATRIX.velocity * n * n), n * n),
        head(tail(tab, TAB.vectors + STAGE_VECTOR.share * n), n),
    )
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
    nq, nv = layout.nq, layout.nv
    Aq = head(tail(tab, TAB.vectors + 3 * n + STAGE_MATRIX.position * n * n), n * n)
    for stage in range(n):
        if (layout.features & RATE_IDENTITY) != 0:
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


@unit(I(MODEL, REACTION, A, F, A, A, I, A, A, INTERVALS.kind, RECORD))
def stage_set(model, reaction, settings, t, q, v, stage, r, w, work, record):
    """Let a stage decide for itself which of its closed contacts are held: its rows of own_index, own_direction.

    in/out  r: forces as a warm start -> those of the decision; w: scratch
    """
    settings = STAGE_SETTINGS(settings)
    layout = model.layout
    nc, room, g, candidate, own = layout.nc, work.lasting, work.g, work.candidate, work.own
    own_direction, own_index = row_of(work.own_direction, stage, 3 * nc), row_of(work.own_index, stage, nc)
    model.gap(t, q, model.par, g)
    W, anyone = room.W, False
    model.kinematics(t, q, model.par, W, w)
    for c in range(nc):
        row = layout[layout.contact_row + c]
        closed = g[c] <= settings.closed and (stage == 0 or work.gap_0[c] <= settings.closed)
        # what closes within the interval gets no force at its end, only the impulse there
        candidate[c] = ROLE.candidate if closed and row_dot(layout, W, row, v) + w[row] <= settings.rest else 0
        own_index[c] = INDEX.open
        anyone = anyone or candidate[c] != 0
    if not anyone:
        return 0
    copy(own_direction, own.direction)
    copy(r, own.r)
    status = decide(model, reaction, t, q, v, candidate, settings.rest, own_index, own, work.info, room, record)
    copy(own.direction, own_direction)
    copy(own.r, r)
    return status


@unit(I(MODEL, REACTION, A, F, I, A, ENDS.kind, ACTING.kind, STAGES_ROOM.kind, INTERVALS.kind, RECORD))
def evaluate(model, reaction, settings, t, stage, a, ends, acting, stages, work, record):
    """Write the acceleration a and the forces of one stage, by the index set of the interval or by one of its own."""
    settings = STAGE_SETTINGS(settings)
    layout = model.layout
    nc, room, width = layout.nc, work.lasting, REPORTED.first_contact + layout.nc
    q, v = row_of(stages.Q, stage, layout.nq), row_of(stages.V, stage, layout.nv)
    r = row_of(stages.R, stage, layout.nr)
    u, powers = row_of(stages.U, stage, layout.nr), row_of(stages.powers, stage, width)
    index, direction = ends.index, acting.direction
    if settings.by_stage == 1.0 and nc > 0 and work.sweeping.frozen != STAGE.no_forces:
        if work.sweeping.frozen == STAGE.decides:
            status = stage_set(model, reaction, settings, t, q, v, stage, r, u, work, record)
            if status != 0:
                return status
        index, direction = row_of(work.own_index, stage, nc), row_of(work.own_direction, stage, 3 * nc)
    if work.sweeping.given == 1:
        return accelerate_given(model, t, q, v, index, direction, a, r, u, powers, room, record)
    return accelerate(model, t, q, v, index, direction, a, r, u, powers, room, record)


@unit(INTERVAL)
def solve_interval(model, reaction, settings, tab, t, h, ends_room, acting_room, stages_room, interval_room, record):
    """Solve the stages of the interval (t, t + h).

    model / reaction / settings / tab
    in      ends: q_0, v_0, index; acting: direction; interval: gap_0 (activation by stage only), push; stage 0 holds a
            and r of the state itself
    in/out  stages: guesses of the accelerations -> everything
    kept    the factored matrix, for the length that it was made for
    """
    settings = STAGE_SETTINGS(settings)
    ends, acting, stages = ENDS(ends_room), ACTING(acting_room), STAGES_ROOM(stages_room)
    work = INTERVALS(interval_room)
    layout, sweeping, kept = model.layout, work.sweeping, work.kept
    nq, nv, nr, n = layout.nq, layout.nv, layout.nr, whole(tab[TAB.stages])
    kind_of_equations(model, settings, tab, ends, work)
    given, renewed = sweeping.given, 0
    if sweeping.newton == 1 and (kept.matrix_h != h * (sweeping.end - sweeping.first) or kept.renew == 1.0):
        status = stage_matrix(model, tab, t, h, ends, acting, work, record)
        if status != 0:
            return status
        kept.matrix_h, kept.renew, renewed = h * (sweeping.end - sweeping.first), 0.0, 1
    copy(ends.q_0, row_of(stages.Q, 0, nq))
    copy(ends.v_0, row_of(stages.V, 0, nv))
    if given == 1:  # the factors of a velocity-level correction
        sweeping.given = 0
        status = evaluate(model, reaction, settings, t, 0, row_of(work.new, 0, nv), ends, acting, stages, work, record)
        if status != 0:
            return status
        sweeping.given = 1
    for k in range(1, n):
        copy(row_of(stages.R, 0, nr), row_of(stages.R, k, nr))
        copy(ends.q_0, row_of(stages.Q, k, nq))
    if sweeping.end > sweeping.first:
        status = iterate(model, reaction, settings, tab, t, h, renewed, ends, acting, stages, work, record)
        if status != 0:
            return status
    return last_stages(model, reaction, settings, tab, t, h, ends, acting, stages, work, record)


@unit(I(MODEL, A, A, ENDS.kind, INTERVALS.kind))
def kind_of_equations(model, settings, tab, ends, work):
    """Write to work.sweeping which stages are unknown and how they are found."""
    settings = STAGE_SETTINGS(settings)
    layout, sweeping, index = model.layout, work.sweeping, ends.index
    nc, flags, degree = layout.nc, layout.features, whole(tab[TAB.degree])
    acting, turning = layout.nj > 0, False
    for k in range(nc):
        rows = layout[layout.contact_row + k + 1] - layout[layout.contact_row + k]
        turning = turning or (index[k] == INDEX.slip and rows == 3)
        acting = acting or index[k] == INDEX.slip or index[k] == INDEX.stick
    sweeping.first, sweeping.end = whole(tab[TAB.first]), whole(tab[TAB.end])
    sweeping.frozen = STAGE.decides if degree > 0 else STAGE.no_forces
    sweeping.given = 1 if settings.level == 1.0 and acting and degree > 0 else 0
    if sweeping.given == 1:
        sweeping.first, sweeping.end = 0, whole(tab[TAB.stages])
    newton = settings.newton == 1.0 and sweeping.end > sweeping.first and (turning or (flags & F_FREE) == 0)
    linear = (flags & M_CONSTANT) != 0 and (flags & RATE_IDENTITY) != 0
    # with forces of contacts or joints one more sweep gives them at the solution
    linear = linear and not acting and (settings.by_stage == 0.0 or nc == 0)
    linear = linear and ((flags & F_FREE) != 0 or (newton and (flags & F_LINEAR) != 0 and (flags & J_CONSTANT) != 0))
    sweeping.newton, sweeping.linear = 1 if newton else 0, 1 if linear else 0
    return 0


@unit(I(MODEL, REACTION, A, A, F, F, I, ENDS.kind, ACTING.kind, STAGES_ROOM.kind, INTERVALS.kind, RECORD))
def iterate(model, reaction, settings, tab, t, h, renewed, ends, acting, stages, work, record):
    """Iterate on the stage accelerations until they no longer change; renewed: 1 where their matrix is new."""
    settings = STAGE_SETTINGS(settings)
    layout, sweeping, kept, Q = model.layout, work.sweeping, work.kept, stages.Q
    nq, flags, n, most = layout.nq, layout.features, whole(tab[TAB.stages]), whole(settings.most)
    last, moved_before = row_of(Q, n - 1, nq), 0.0
    for sweep in range(1, most + 1):
        record.counters.iterations += 1
        propagate(tab, h, ends.v_0, work.push, stages.V, stages.a, n, layout.nv)
        q_moved = 0.0
        if (flags & RATE_IDENTITY) == 0:
            for i in range(nq):
                q_moved -= abs(last[i])
        move(model, tab, h, ends.q_0, Q, stages.V, stages.Q_dot, n)
        if sweep > INTERVAL_TUNED.freeze and tab[TAB.degree] > 0.0:
            sweeping.frozen = STAGE.keeps
        status = sweep_stages(model, reaction, settings, tab, t, h, ends, acting, stages, work, record)
        if status != 0:
            return status
        moved, scale = kept.moved, kept.scale
        if sweeping.linear == 1:
            return 0
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
                for i in range(nq):
                    q_moved += abs(last[i])
                settled = abs(q_moved) <= settings.tolerance * (largest(last) + h * scale)
            if settled:
                return 0
        if sweeping.newton == 1 and renewed == 0 and sweep > 4 and ratio > 0.7:
            status = stage_matrix(model, tab, t, h, ends, acting, work, record)
            if status != 0:
                return status
            renewed, moved = 1, 0.0
        moved_before = moved
    kept.matrix_h = 0.0
    return Status.NEWTON_STALLED


@unit(I(MODEL, REACTION, A, A, F, F, ENDS.kind, ACTING.kind, STAGES_ROOM.kind, INTERVALS.kind, RECORD))
def sweep_stages(model, reaction, settings, tab, t, h, ends, acting, stages, work, record):
    """Correct the accelerations of the unknown stages once.

    out     kept: moved: largest change of a velocity; scale: largest velocity, against which it is judged
    """
    layout, new, a, V, powers = model.layout, work.new, stages.a, stages.V, stages.powers
    nv, nr, n, width = layout.nv, layout.nr, whole(tab[TAB.stages]), REPORTED.first_contact + layout.nc
    by_stage = STAGE_SETTINGS(settings).by_stage == 1.0
    first, end, c = work.sweeping.first, work.sweeping.end, head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n)
    scale, moved = 0.0, 0.0
    for k in range(first, end):
        status = evaluate(
            model, reaction, settings, t + c[k] * h, k, row_of(new, k, nv), ends, acting, stages, work, record
        )
        if status != 0:
            return status
        scale = larger(scale, h * powers[k * width + REPORTED.unheld])
        for i in range(nv):
            scale = larger(scale, larger(abs(V[k * nv + i]), h * abs(a[k * nv + i])))
            new[k * nv + i] -= a[k * nv + i]
    # stages that decide for themselves hold a contact exactly: a matrix that does not know it would lift the body
    pushed = False
    for i in range(first * nr, end * nr if by_stage else first * nr):
        pushed = pushed or stages.R[i] != 0.0
    if work.sweeping.newton == 1 and not pushed:
        solve_dense(work.matrix, head(tail(new, first * nv), (end - first) * nv), work.pivots)
    if work.sweeping.given == 1:
        close_velocities(model, tab, h, ends.v_0, a, new, stages.R, stages.U, work.lasting)
    for i in range(first * nv, end * nv):
        moved = larger(moved, h * abs(new[i]))
        a[i] += new[i]
    work.kept.moved, work.kept.scale = moved, scale
    return 0


@unit(I(MODEL, REACTION, A, A, F, F, ENDS.kind, ACTING.kind, STAGES_ROOM.kind, INTERVALS.kind, RECORD))
def last_stages(model, reaction, settings, tab, t, h, ends, acting, stages, work, record):
    """Write the stages of the solution, and those that nothing waits for."""
    layout, sweeping, new = model.layout, work.sweeping, work.new
    nv, nr, n, width = layout.nv, layout.nr, whole(tab[TAB.stages]), REPORTED.first_contact + layout.nc
    c, V, a, R, powers = (
        head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n),
        stages.V,
        stages.a,
        stages.R,
        stages.powers,
    )
    propagate(tab, h, ends.v_0, work.push, V, a, n, nv)
    move(model, tab, h, ends.q_0, stages.Q, V, stages.Q_dot, n)
    if sweeping.linear == 1 and sweeping.end > sweeping.first:
        # the only sweep saw the forces of the guess: their power at the solution is v . M a
        M = work.jacobians.f_q  # which nobody needs any more
        model.mass(t, ends.q_0, model.par, M)
        for k in range(sweeping.first, sweeping.end):
            clear(row_of(new, 0, nv))
            multiply(layout, M, row_of(a, k, nv), row_of(new, 0, nv))
            powers[k * width] = 0.0
            for i in range(nv):
                powers[k * width] += new[i] * V[k * nv + i]
    sweeping.given, sweeping.frozen = 0, STAGE.decides
    for k in range(sweeping.end, n):
        if whole(tab[TAB.degree]) == 0:
            copy(a, row_of(a, k, nv))
            copy(R, row_of(R, k, nr))
            clear(row_of(powers, k, width))
            continue
        status = evaluate(
            model, reaction, settings, t + c[k] * h, k, row_of(a, k, nv), ends, acting, stages, work, record
        )
        if status != 0:
            return status
    return 0


@unit(I(MODEL, A, F, F, ENDS.kind, ACTING.kind, INTERVALS.kind, RECORD))
def stage_matrix(model, tab, t, h, ends, acting, work, record):
    """Write the LU factors of the iteration matrix of the unknown stages."""
    nv, first, end = model.layout.nv, work.sweeping.first, work.sweeping.end
    J_q, J_v, scratch = work.J_q, work.J_v, row_of(work.new, 0, nv)
    status = jacobians(
        model, t, ends.q_0, ends.v_0, ends.index, acting.direction, J_q, J_v, scratch, work.jacobians, work.lasting,
        record,
    )  # fmt: skip
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
    nv, nc = layout.nv, layout.nc
    # the held rows at the start of the interval; forces and powers of this call are of no interest
    f_q, f_v, r, u = work.f_q, work.f_v, work.r, work.u
    acting = layout.nj > 0
    for c in range(nc):
        acting = acting or index[c] == INDEX.slip or index[c] == INDEX.stick
    held = room.held
    if acting:
        status = accelerate(model, t, q, v, index, direction, scratch, r, u, work.powers, room, record)
        if status != 0:
            return status
    else:
        held.count, held.redundant = 0, 0
        status = factored_masses(model, t, q, room)
        if status != 0:
            return status
    model.jacobian(t, q, v, model.par, f_q, f_v)
    record.counters.jacobian_calls += 1
    W, unit_vector = room.W, room.f
    work.answer.pushes = 0.0
    for j in range(nv):
        for part in range(2):
            for i in range(nv):
                unit_vector[i], scratch[i] = 0.0, 0.0
            unit_vector[j] = 1.0
            multiply(layout, f_q if part == 0 else f_v, unit_vector, scratch)
            if part == 1 and acting:
                turn_friction(model, index, direction, W, r, u, unit_vector, room.zeta, 0.0, scratch)
            work.answer.pushes = larger(work.answer.pushes, accelerate_held(model, scratch, room))
            for i in range(nv):
                if part == 0:
                    J_q[i * nv + j] = scratch[i]
                else:
                    J_v[i * nv + j] = scratch[i]
    return 0


@unit(F(MODEL, A, LASTING.kind))
def accelerate_held(model, f, room):
    """Turn forces f into the accelerations that they cause while the held rows stay held, in the same place.

    Returns how much they push the held rows, over the size of the parts of which these accelerations consist.
    """
    layout, held, b, x, rows, pushes = model.layout, room.held, room.b, room.x, room.rows, 0.0
    solve(layout, room.lu, f, f, room.column)
    if held.count > 0:
        for i in range(held.count):
            b[i] = -row_dot(layout, room.W, rows[i], f)
            pushes = larger(pushes, abs(b[i]) / larger(row_size(layout, room.W, rows[i], f), 1e-300))
        solve_held(model, held.count, room)
        for i in range(held.count):
            row_add(layout, room.X, rows[i], x[i], f)
    return pushes


@unit(I(MODEL, J, A, A, JACOBIANS.kind, LASTING.kind))
def drift(model, index, direction, out, work, room):
    """Write how accelerations change with time while the velocities stay: partners that move on turn the friction.

    A turntable or a belt does so. work, room: as `jacobians` left them, where something acts.
    """
    standing = room.f
    clear(standing)
    clear(out)
    turn_friction(model, index, direction, room.W, work.r, work.u, standing, room.zeta, 1.0, out)
    accelerate_held(model, out, room)
    return 0


@unit(I(A, F, I, I, I, A, A, I, A))
def assemble(tab, h, first, end, nv, J_q, J_v, stride, G):
    """Write the iteration matrix I - h Av (x) J_v - h^2 Aq Av (x) J_q of the stages first ... end - 1.

    stride: from the Jacobians of one stage to those of the next, 0 when all have the same.
    """
    n, m = whole(tab[TAB.stages]), (end - first) * nv
    Av = head(tail(tab, TAB.vectors + 3 * n + STAGE_MATRIX.velocity * n * n), n * n)
    AA = head(tail(tab, TAB.vectors + 3 * n + STAGE_MATRIX.product * n * n), n * n)
    for k in range(first, end):
        velocity, product = head(tail(Av, k * n + first), end - first), head(tail(AA, k * n + first), end - first)
        for i in range(nv):
            row = tail(G, ((k - first) * nv + i) * m)
            for j in range(nv):
                at = stride * k + i * nv + j
                matrix_entries(velocity, product, h, J_v[at], J_q[at], tail(row, j), nv)
            row[(k - first) * nv + i] += 1.0
    return 0


@unit(I(MODEL, J, A, A, A, A, A, A, F, A))
def turn_friction(model, index, direction, W, r, u, v, zeta, time, f):
    """Add to f what a change v of the velocity does to friction forces that slip in space: they turn with the slip.

    time: how long slips go on to change by zeta meanwhile, which partners that move bring about
    """
    layout = model.layout
    for c in range(layout.nc):
        row = layout[layout.contact_row + c]
        straight = direction[2 * layout.nc + c] != WAY.turning
        if index[c] != INDEX.slip or layout[layout.contact_row + c + 1] - row != 3 or straight:
            continue
        speed = sqrt(u[row + 1] * u[row + 1] + u[row + 2] * u[row + 2])
        if not u[row + 1] * direction[2 * c] + u[row + 2] * direction[2 * c + 1] > 1e-300:
            continue
        s_1, s_2 = u[row + 1] / speed, u[row + 2] / speed
        across = s_1 * (row_dot(layout, W, row + 2, v) + time * zeta[row + 2])
        across -= s_2 * (row_dot(layout, W, row + 1, v) + time * zeta[row + 1])
        stiffness = model.mu[c] * r[row] / speed * across
        for i in range(1, 3):
            force = stiffness * s_2 if i == 1 else -stiffness * s_1
            columns = layout.W_col
            for k in range(layout[layout.W_ptr + row + i], layout[layout.W_ptr + row + i + 1]):
                f[layout[columns + k]] += W[k] * force
    return 0


@unit(I(MODEL, A, F, A, A, A, A, A, LASTING.kind))
def close_velocities(model, tab, h, v_0, a, change, R, U, room):
    """Correct the stage forces so that the held rows have no velocity at the stages and at the end of the interval.

    W and X are those of the last stage, the factors of D those of the start: both enter the correction only.
    """
    layout = model.layout
    nv, nr, n = layout.nv, layout.nr, whole(tab[TAB.stages])
    b_n = head(tail(tab, TAB.vectors + STAGE_VECTOR.weight * n), n)
    update = head(tail(tab, TAB.vectors + 3 * n + STAGE_MATRIX.update * n * n), n * n)
    Av = head(tail(tab, TAB.vectors + 3 * n + STAGE_MATRIX.velocity * n * n), n * n)
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
        solve_held(model, held, room)
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
    return larger(settings.closed, INTERVAL_TUNED.gap_rounding * length)
