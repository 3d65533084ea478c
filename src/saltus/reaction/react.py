"""From a model to its reactions: assemble the one-step contact problem, solve it, apply it.

Every scheme meets the same linear algebra: a factored matrix (M, or M plus O(h) terms), rows W of contacts and
joints, a free velocity. Joints are eliminated exactly first, so that contact solvers see only what moves; what is
left is a `Contacts` record in the sparse rows form u = W^T y + b, y = X P.
The same kernels correct positions: then v is a displacement and the target of a row is its gap.
"""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import handle, head, larger, tail, unit, whole
from saltus.compile.types import (
    DRIFT,
    INTERVAL,
    JOINTS,
    LAYOUT,
    MODEL,
    PART,
    REACT,
    ROOM,
    SETTLE,
    SOLVER,
    A,
    Contacts,
    Directions,
    F,
    I,
    J,
)
from saltus.compile.workspace import Numbers, Workspace, integers, room
from saltus.contact.residual import JUDGING
from saltus.laws import UNILATERAL
from saltus.memory.profile import factor, solve_row
from saltus.memory.vectors import add, clear, clear_marks, largest
from saltus.reaction.joint_graph import GRAPH, PIVOT_UNCERTAIN, factor_graph, solve_graph
from saltus.status import Status


class _Asked(NamedTuple):
    """What `react` solves."""

    whole: int = 0  # the laws
    normal_only: int = 1  # the laws without friction, for positions
    impact: int = 2  # an impact, by the law of impacts


ASKED = _Asked()

ALONG_GRAPH = -1  # instead of the rank of the joints, less one for every redundant row
SLIDING = 3  # mark of an active contact whose slip direction is known: its friction is -mu P_N times that direction

# joints: D = W_joint^T lu^-1 W and its factors; order: of the pivots; rhs: of one solution; column: one of lu^-1 W
# graph: the same where they are eliminated along their graph
JOINING = Workspace("Joining", D="nj * nj", order=integers("nj"), rhs="nj", column="nv", graph=GRAPH)
# X: rows of lu^-1 W; b, P_active, u, mu, blocks, rows: of the contact problem, see `Contacts`; origin: row of the
# system that each row of the problem is; Z: how joints answer a unit impulse of each of these rows, one joint after the
# other; impact: what the law of impacts works with (reaction/impacts)
REACTING = Workspace(
    "Reacting", X="nx", b="nr", P_active="nr", u="nr", mu="nc", Z="nj * nr", blocks=integers("3 * nc"),
    rows=integers("4 * nr"), origin=integers("nr"), joining=JOINING, judging=JUDGING, solver=room("solver"),
    impact=room("impact"),
)  # fmt: skip
PROJECTION = Numbers("tolerance iterations")  # largest constraint and penetration left [m]; most iterations
# lu, W, w, g: at the last q; target: gaps, then velocities; move: of q, with the impulses P_move; q_dot: what it makes
DRIFTING = Workspace(
    "Drifting", lu="size", W="nw", w="nr", g="nc + nj", target="nr", P_move="nr", move="nv", q_dot="nq", info="2",
    active=integers("nc"),
)  # fmt: skip


@unit(F(LAYOUT, A, I, A), small=True)
def row_dot(layout, W, row, v):
    """Return (row of W) . v."""
    total = 0.0
    columns = layout.W_col
    for k in range(layout[layout.W_ptr + row], layout[layout.W_ptr + row + 1]):
        total += W[k] * v[layout[columns + k]]
    return total


@unit(I(LAYOUT, A, I, F, A), small=True)
def row_add(layout, X, row, P, v):
    """Add (row of X) P to v."""
    columns = layout.X_col
    for k in range(layout[layout.X_ptr + row], layout[layout.X_ptr + row + 1]):
        v[layout[columns + k]] += X[k] * P
    return 0


@unit(I(LAYOUT, A, I, A), small=True)
def write_row(layout, x, row, X):
    """Write a vector as (row of X)."""
    for k in range(layout[layout.X_ptr + row], layout[layout.X_ptr + row + 1]):
        X[k] = x[layout[layout.X_col + k]]
    return 0


@unit(I(LAYOUT, A, A, I, A, A), small=True)
def answer_row(layout, lu, W, row, X, work):
    """Write one row of X = lu^-1 W; where lu is empty, the caller has written it already."""
    return solve_row(layout, lu, W, row, X, work) if lu.shape[0] > 0 else 0


@unit(JOINTS)
def no_joints(model, lu, W, W_joint, target, n, v, P, room):
    """Stand in for `eliminate_joints` in systems without joints."""
    return 0


@unit(JOINTS)
def eliminate_joints(model, lu, W, W_joint, target, n, v, P, room):
    """Make v satisfy W_joint^T v + target = 0 and each of the n active rows of X keep it.

    P receives the joint impulses, Z (nj x n) how they answer a unit contact impulse. Redundant joints are
    recognised by a vanishing pivot of D = W_joint^T lu^-1 W (diagonal pivoting) and carry no impulse; when they
    contradict each other the residual does not vanish and the status says so.
    """
    layout, work = model.layout, REACTING(room)
    nj, first = layout.nj, layout.nr - layout.nj
    X, Z, origin, rhs, column = work.X, work.Z, work.origin, work.joining.rhs, work.joining.column
    rank = factor_joints(model, lu, W, W_joint, work)
    for j in range(nj):
        rhs[j] = row_dot(layout, W_joint, first + j, v) + target[first + j]
    solve_joints(model, rank, work.joining)
    for j in range(nj):
        P[first + j] = -rhs[j]
        row_add(layout, X, first + j, -rhs[j], v)
    for c in range(n):
        clear(column)
        row_add(layout, X, origin[c], 1.0, column)
        for j in range(nj):
            rhs[j] = row_dot(layout, W_joint, first + j, column)
        solve_joints(model, rank, work.joining)
        for j in range(nj):
            Z[j * n + c] = rhs[j]
            row_add(layout, X, first + j, -rhs[j], column)
        for k in range(layout[layout.X_ptr + origin[c]], layout[layout.X_ptr + origin[c] + 1]):
            X[k] = column[layout[layout.X_col + k]]
    for j in range(nj if rank < nj and rank != ALONG_GRAPH else 0):
        left = abs(row_dot(layout, W_joint, first + j, v) + target[first + j])
        if left > 1e-8 * larger(abs(target[first + j]), largest(v)):
            return Status.JOINTS_CONTRADICT
    return 0


@unit(I(MODEL, A, A, A, REACTING.kind))
def factor_joints(model, lu, W, W_joint, work):
    """Write the factors of D = W_joint^T lu^-1 W, with X of the joints; return their rank.

    LU with diagonal pivoting; `order` has the pivots in sequence, those behind the rank vanish. ALONG_GRAPH or less
    instead of the rank where the factors are those of the graph of the joints.
    """
    layout, joining = model.layout, work.joining
    nj, first, scale, column = layout.nj, layout.nr - layout.nj, 0.0, work.joining.column
    D, order = joining.D, joining.order
    for j in range(nj):
        answer_row(layout, lu, W, first + j, work.X, column)
    if layout.joint_ptr > 0:
        redundant = factor_graph(model, W_joint, work.X, joining.graph)
        if redundant != PIVOT_UNCERTAIN:
            return ALONG_GRAPH - redundant
    for j in range(nj):
        clear(column)
        row_add(layout, work.X, first + j, 1.0, column)
        for i in range(nj):
            D[i * nj + j] = row_dot(layout, W_joint, first + i, column)
        scale = larger(scale, abs(D[j * nj + j]))
        order[j] = j
    for k in range(nj):
        best = k
        for i in range(k + 1, nj):
            if abs(D[order[i] * nj + order[i]]) > abs(D[order[best] * nj + order[best]]):
                best = i
        order[k], order[best] = order[best], order[k]
        p = order[k]
        if abs(D[p * nj + p]) <= 1e-11 * scale:
            return k
        for i in range(k + 1, nj):
            s = order[i]
            D[s * nj + p] /= D[p * nj + p]
            for c in range(k + 1, nj):
                D[s * nj + order[c]] -= D[s * nj + p] * D[p * nj + order[c]]
    return nj


@unit(I(MODEL, I, JOINING.kind))
def solve_joints(model, rank, joining):
    """Replace joining.rhs by D^-1 rhs, zero where joints are redundant."""
    if rank <= ALONG_GRAPH:
        return solve_graph(model, joining.rhs, joining.graph)
    nj, D, order, rhs = model.layout.nj, joining.D, joining.order, joining.rhs
    for k in range(nj):
        p = order[k]
        for i in range(k if k < rank else rank):
            rhs[p] -= D[p * nj + order[i]] * rhs[order[i]]
    for k in range(rank, nj):
        rhs[order[k]] = 0.0
    for k in range(rank - 1, -1, -1):
        p = order[k]
        for i in range(k + 1, rank):
            rhs[p] -= D[p * nj + order[i]] * rhs[order[i]]
        rhs[p] /= D[p * nj + p]
    return 0


@unit(REACT)
def react(model, solver, lu, directions, target, active, task, v, P, info, room):
    """Solve joints and active contacts for the impulses and apply them.

    in      lu: factors, empty where the caller has written X itself; directions: rows of forces and conditions; target:
            constant of each row, unit slip in the tangential places of SLIDING contacts; active: 1 (the whole law) or
            SLIDING per contact that takes part; task: ASKED.whole, ASKED.normal_only or ASKED.impact, for which
            `restitute` has prepared the target, whose second half belongs to `react_poisson` (reaction/expansion.py)
    in/out  v: free velocity -> velocity; P: warm start -> impulses, rows of inactive contacts 0;
            target: constant -> free value of each active row, target included
    out     info: residual, sweeps; room: REACTING with X and the contact problem
    """
    layout, work, W, W_contact = model.layout, REACTING(room), directions.forces, directions.contacts
    b, P_active, u, origin = work.b, work.P_active, work.u, work.origin
    n = list_rows(model, lu, W, target, active, task, P, work)
    if layout.nj > 0:
        status = solver.joints(model, lu, W, directions.joints, target, n, v, P, work)
        if status != 0:
            return status
    info[0], info[1] = 0.0, 0.0
    if n == 0:
        return 0
    for i in range(n):
        r = origin[i]
        target[r] += row_dot(layout, W_contact, r, v)
        b[i] = target[r]
        P_active[i] = P[r]
    nb = count_blocks(layout.nc, active)
    contacts = handle(
        Contacts(
            layout.nv, head(work.blocks, 3 * nb), head(work.rows, 4 * n),
            head(tail(layout, layout.W_col), layout.nw), W_contact, head(tail(layout, layout.X_col), layout.nx),
            work.X, head(b, n), head(work.mu, nb),
        )
    )  # fmt: skip
    P_solved, u_solved = head(P_active, n), head(u, n)
    status = solver.solve(contacts, solver.local, solver.cone, solver.settings, P_solved, u_solved, info, work.solver)
    # the certificate: computed here, whatever the solver claims
    info[0] = solver.residual(contacts, solver.cone, P_solved, u_solved, work.judging)
    push(model, n, P_active, v, P, work)
    for c in range(layout.nc):
        if active[c] == SLIDING:
            row = layout[layout.contact_row + c]
            for r in range(row + 1, layout[layout.contact_row + c + 1]):
                P[r] = -model.mu[c] * target[r] * P[row]
    return status


@unit(I(I, J), small=True)
def count_blocks(nc, active):
    """Return how many contacts take part."""
    count = 0
    for c in range(nc):
        count += 1 if active[c] == 1 or active[c] == SLIDING else 0
    return count


@unit(I(MODEL, A, A, A, J, I, A, REACTING.kind), small=True)
def list_rows(model, lu, W, target, active, task, P, work):
    """Write blocks, rows and X of the contacts that take part; P of the others becomes zero. Return their rows."""
    layout, n, nb = model.layout, 0, 0
    X, mu, blocks, rows, origin, column = work.X, work.mu, work.blocks, work.rows, work.origin, work.joining.column
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if active[c] == 1 or active[c] == SLIDING:
            blocks[3 * nb], blocks[3 * nb + 1] = layout[layout.kind + c], n
            mu[nb] = model.mu[c]
            if active[c] == SLIDING:
                slide(layout, lu, W, c, mu[nb], target, X, column)
            if task == ASKED.normal_only or active[c] == SLIDING:
                blocks[3 * nb] = UNILATERAL
                for r in range(row + 1, end):
                    P[r] = 0.0
                end = row + 1
            for r in range(row, end):
                if active[c] != SLIDING:
                    answer_row(layout, lu, W, r, X, column)
                rows[4 * n], rows[4 * n + 1] = layout[layout.W_ptr + r], layout[layout.W_ptr + r + 1]
                rows[4 * n + 2], rows[4 * n + 3] = layout[layout.X_ptr + r], layout[layout.X_ptr + r + 1]
                origin[n] = r
                n += 1
            blocks[3 * nb + 2] = end - row
            nb += 1
        else:
            for r in range(row, end):
                P[r] = 0.0
    return n


@unit(I(MODEL, I, A, A, A, REACTING.kind), small=True)
def push(model, n, P_active, v, P, work):
    """Write the impulses of the n active rows to P, add what joints answer to them, and to v what they do."""
    layout, X, Z, origin = model.layout, work.X, work.Z, work.origin
    nj, nr = layout.nj, layout.nr
    for i in range(n):
        P[origin[i]] = P_active[i]
        row_add(layout, X, origin[i], P_active[i], v)
        for j in range(nj):
            P[nr - nj + j] -= Z[j * n + i] * P_active[i]
    return 0


@unit(I(LAYOUT, A, A, I, F, A, A, A))
def slide(layout, lu, W, contact, mu, direction, X, work):
    """Write what a unit normal force of a sliding contact moves, its friction included: lu^-1 (W_N - mu W_T s).

    direction: s in the tangential places of the contact's rows; the result stands in the normal row of X.
    """
    row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
    for r in range(row, end):
        solve_row(layout, lu, W, r, X, work)
    begin, size = layout[layout.X_ptr + row], layout[layout.X_ptr + row + 1] - layout[layout.X_ptr + row]
    for r in range(row + 1, end):
        tangential = layout[layout.X_ptr + r]
        for k in range(size):
            X[begin + k] -= mu * direction[r] * X[tangential + k]
    return 0


@unit(DRIFT)
def no_drift(model, solver, settings, t, q, v, P, room, react_room):
    """Stand in for `correct_drift` when positions are not projected."""
    return 0


@unit(DRIFT)
def correct_drift(model, solver, settings, t, q, v, P, room, react_room):
    """Project q onto the joints and out of penetrating contacts in the metric of M, then v onto the joints.

    settings: PROJECTION; room: DRIFTING; react_room: REACTING. P receives the joint impulses of the velocity
    projection.
    """
    layout, settings, work = model.layout, PROJECTION(settings), DRIFTING(room)
    nc, nj, nr, tolerance, most = layout.nc, layout.nj, layout.nr, settings.tolerance, whole(settings.iterations)
    lu, W, g, active, target, P_move, move = work.lu, work.W, work.g, work.active, work.target, work.P_move, work.move
    clear_marks(active)
    clear(P_move)
    for iteration in range(most + 1):
        model.gap(t, q, model.par, g)
        worst = farthest(model, tolerance, work)
        if worst <= tolerance:
            break
        if iteration == most or not worst < 1e300:
            return Status.DRIFT_STALLED
        model.mass(t, q, model.par, lu)
        status = factor(layout, lu)
        if status != 0:
            return status
        model.kinematics(t, q, model.par, W, work.w)
        for c in range(nc):
            target[layout[layout.contact_row + c]] = g[c]
        for j in range(nj):
            target[nr - nj + j] = g[nc + j]
        clear(move)
        status = react(
            model, solver, lu, handle(Directions(W, W, W)), target, active, ASKED.normal_only, move, P_move, work.info,
            react_room,
        )  # fmt: skip
        if status != 0:
            return status
        model.rate(q, move, model.par, work.q_dot)
        add(work.q_dot, q)
        model.retract(q, model.par)
    return stop_joints(model, solver, t, q, v, P, work, react_room) if nj > 0 else 0


@unit(F(MODEL, F, DRIFTING.kind))
def farthest(model, tolerance, work):
    """Mark the contacts that penetrate by more than the tolerance; return the deepest one, or the worst joint [m]."""
    nc, g, worst = model.layout.nc, work.g, 0.0
    for c in range(nc):
        if g[c] < -tolerance:
            work.active[c] = 1
            worst = larger(worst, -g[c])
    for j in range(model.layout.nj):
        worst = larger(worst, abs(g[nc + j]))
    return worst


@unit(I(MODEL, SOLVER, F, A, A, A, DRIFTING.kind, ROOM))
def stop_joints(model, solver, t, q, v, P, work, react_room):
    """Project v onto the joints and add their impulses to P."""
    layout, lu, W, target, P_move = model.layout, work.lu, work.W, work.target, work.P_move
    model.mass(t, q, model.par, lu)
    status = factor(layout, lu)
    if status != 0:
        return status
    model.kinematics(t, q, model.par, W, work.w)
    clear_marks(work.active)
    for r in range(layout.nr - layout.nj, layout.nr):
        target[r] = work.w[r]
    status = react(
        model, solver, lu, handle(Directions(W, W, W)), target, work.active, ASKED.normal_only, v, P_move, work.info,
        react_room,
    )  # fmt: skip
    if status != 0:
        return status
    for r in range(layout.nr - layout.nj, layout.nr):
        P[r] += P_move[r]
    return 0


# ---- stand-ins for what only schemes with stages have


@unit(INTERVAL)
def no_interval(model, reaction, settings, tab, t, h, ends_room, acting_room, stages_room, interval_room, record):
    """Stand in for `solve_interval` in schemes without implicit stages."""
    return 0


@unit(SETTLE)
def no_settle(model, reaction, settings, t, degree, struck, ends_room, acting_room, interval_room, record):
    """Stand in for `settle` in schemes without index sets."""
    return 0


@unit(PART)
def no_part(model, staged, settings, task, t, h, frame_room, record):
    """Stand in for the parts of a flight in schemes that do not fly."""
    return 0
