"""End of an interval: solve the impact law for closed contacts (`border`), then project q and v onto what is held."""

from __future__ import annotations

from saltus.compile.seam import larger, smaller, unit, whole
from saltus.compile.types import MODEL, REACTION, RECORD, A, F, I, J
from saltus.lasting.hold import CONTRADICT, factor_rows, rest_speed, solve_rows
from saltus.lasting.index_set import SLIP, STICK
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import CONTACT_ROW, FLAGS, LAW_FLOATS, M_CONSTANT, NC, NJ, NQ, NR, NV
from saltus.memory.profile import factor, solve_row
from saltus.reaction.impacts import restitute
from saltus.reaction.react import IMPACT, row_add, row_dot
from saltus.status import Status

DRIFT_STALLED = int(Status.DRIFT_STALLED)
BY_REST, BY_PREVIOUS, BY_LEFT = range(3)  # impact laws: which velocity restitution looks at
NORMAL, WHOLE = 1, 2  # how far a contact is held by `project`
MOST_PROJECTIONS = 20  # they converge quadratically


@unit(I(MODEL, REACTION, F, F, F, I, A, A, A, A, J, J, A, A, A, A, A, LASTING.kind, RECORD))
def border(
    model, reaction, t, h, rest_tolerance, law, q, v, a, u_start, index, closed, v_new, P, u_minus, u_plus, info, work,
    record,
):  # fmt: skip
    """Solve the law on velocity level for the contacts that are closed at the end of an interval, and the joints.

    model / reaction
    in      h: length of the whole interval, by which the law "rest" tells a hop from a bounce; v: velocity without
            impulse; a: acceleration there; u_start: row velocities at the beginning (law "previous"); closed: 1 per
            contact that takes part
    out     v_new; P; u_minus, u_plus: row velocities before and after
    """
    layout, par = model.layout, model.par
    nv, nc, nr = layout[NV], layout[NC], layout[NR]
    lu, W, w, zeta, target = work.lu, work.W, work.w, work.zeta, work.target
    if work.known.factored == 0.0 or (layout[FLAGS] & M_CONSTANT) == 0:
        model.mass(t, q, par, lu)
        status = factor(layout, lu)
        if status != 0:
            return status
        work.known.factored = 1.0
    model.kinematics(t, q, par, W, w)
    if law == BY_REST:
        model.curvature(t, q, v, par, zeta)
    for i in range(nr):
        u_minus[i] = row_dot(layout, W, i, v) + w[i]
        target[i] = w[i]
        P[i] = 0.0
    for c in range(nc):
        row, e = layout[layout[CONTACT_ROW] + c], model.constants[LAW_FLOATS * c]
        if closed[c] == 0:
            continue
        # what separates already has nothing to restitute
        speed = u_start[row] if law == BY_PREVIOUS else smaller(u_minus[row], 0.0)
        if law == BY_REST:
            pressed = row_dot(layout, W, row, a) + zeta[row]
            if pressed < 0.0 and -2.0 * e * u_minus[row] <= -h * pressed:
                speed = 0.0  # it would be back within the interval: it comes to rest
        still = rest_speed(rest_tolerance, layout, W, row, v)
        restitute(model, c, speed, 1 if speed < -still else 0, u_minus, target)
    for i in range(nv):
        v_new[i] = v[i]
    status = reaction.react(model, reaction.solver, lu, W, W, W, target, closed, IMPACT, v_new, P, info, work.react)
    record.counters.sweeps += whole(info[1])
    for i in range(nr):
        u_plus[i] = row_dot(layout, W, i, v_new) + w[i]
    return status


@unit(I(MODEL, F, F, A, A, J, A, A, LASTING.kind))
def project(model, tolerance, t, q, v, held, P, g, work):
    """Move q onto the joints and held contacts by the shortest way in the metric of M, then v.

    in/out  q, v; held: NORMAL or WHOLE (with friction rows) per contact that is held
    out     P: impulses of the velocity correction are added; g: gaps and constraints at the new q
    """
    layout, par = model.layout, model.par
    nq, nv, nc, nj, nr = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR]
    lu, W, X, move, column, w, b, x = work.lu, work.W, work.X, work.f, work.column, work.w, work.b, work.x
    scale, lu_D, left, q_dot, rows, pivots = work.scale, work.lu_D, work.left, work.q_dot, work.rows, work.pivots
    redundant = 0
    for attempt in range(MOST_PROJECTIONS + 2):
        velocities = False
        model.gap(t, q, par, g)
        length, worst, joint = 0.0, 0.0, 0.0
        for i in range(nq):
            length = larger(length, abs(q[i]))
        for c in range(nc):
            if held[c] != 0:
                worst = larger(worst, abs(g[c]))
        for j in range(nj):
            joint = larger(joint, abs(g[nc + j]))
        worst = larger(worst, joint)
        if worst <= tolerance * (1.0 + length) or attempt > MOST_PROJECTIONS:
            if joint > tolerance * (1.0 + length):
                return CONTRADICT if redundant > 0 else DRIFT_STALLED
            velocities = True
        if work.known.factored == 0.0 or (layout[FLAGS] & M_CONSTANT) == 0:
            model.mass(t, q, par, lu)
            status = factor(layout, lu)
            if status != 0:
                return status
            work.known.factored = 1.0
        model.kinematics(t, q, par, W, w)
        n = 0
        for c in range(nc):
            row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
            if held[c] == 0:
                continue
            last = end if velocities and held[c] == WHOLE else row + 1
            for i in range(row, last):
                rows[n] = i
                b[n] = -(row_dot(layout, W, i, v) + w[i]) if velocities else -g[c]
                n += 1
        for j in range(nj):
            i = nr - nj + j
            rows[n] = i
            b[n] = -(row_dot(layout, W, i, v) + w[i]) if velocities else -g[nc + j]
            n += 1
        for i in range(n):
            solve_row(layout, lu, W, rows[i], X, column)
        redundant = factor_rows(layout, W, X, rows, n, lu_D, scale, column, pivots)
        for i in range(n):
            x[i] = 0.0
        # redundant contacts of a tilted body may disagree while they penetrate: then this is the best compromise
        solve_rows(n, lu_D, scale, pivots, redundant, b, x, left)
        if velocities:
            for i in range(n):
                row_add(layout, X, rows[i], x[i], v)
                P[rows[i]] += x[i]
            return 0
        for i in range(nv):
            move[i] = 0.0
        for i in range(n):
            row_add(layout, X, rows[i], x[i], move)
        model.rate(q, move, par, q_dot)
        for i in range(nq):
            q[i] += q_dot[i]
        model.retract(q, par)
    return 0


@unit(I(MODEL, J, J, J, J))
def held_set(model, index, resting, stopped, held):
    """Write how far every contact is held at a border; return whether anything is, joints included."""
    nc, anything = model.layout[NC], model.layout[NJ] > 0
    for c in range(nc):
        held[c] = 0
        if index[c] == SLIP or index[c] == STICK or resting[c] == 1:
            held[c] = WHOLE if index[c] == STICK or stopped[c] == 1 else NORMAL
            anything = True
    return 1 if anything else 0
