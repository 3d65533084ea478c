"""What the time steppings share: Newton's method for M (v - v_k) = h f(v) + W P, and the accounts of a step.

Each iteration solves S (v_new - v) = h f(v) + M (v_k - v) with S = M - h df/dv, then lets contacts and joints react;
the schemes say where M and f are evaluated.
"""

from __future__ import annotations

from saltus.compile.seam import larger, smaller, unit
from saltus.compile.types import MODEL, RECORD, A, F, I
from saltus.compile.workspace import Numbers, Workspace
from saltus.layout import F_FREE, FLAGS, NC, NJ, NV, SIZE
from saltus.profile import factor, multiply, solve

# kept.h: step size for which S is factored, kept from step to step, 0 for none; M, f: at the last guess; rhs, change,
# scratch: of one linear solve; iterate: the velocity that an iteration makes; info: of the last reaction
NEWTON = Workspace(
    "ThetaNewton", kept=Numbers("h"), M="size", S="size", f_q="size", f_v="size", f="nv", rhs="nv", change="nv",
    scratch="nv", iterate="nv", info=Numbers("residual sweeps"),
)  # fmt: skip


@unit(I(F, I, A, A, A, NEWTON.kind), small=True)
def first_guess(h, single, v_k, acceleration, v, newton):
    """Start the iterations with v_k, single: where one of them is exact, or else with what the step before did."""
    newton.info.residual, newton.info.sweeps = 0.0, 0.0
    for i in range(v.shape[0]):
        v[i] = v_k[i] if single != 0 else v_k[i] + h * acceleration[i]
    return 0


@unit(I(MODEL, F, F, F, F, F, A, A, NEWTON.kind, RECORD))
def iteration_matrix(model, h, weight, of_v, of_q, t, q, v, newton, record):
    """Write the factors of S = M - weight (of_v f_v + of_q f_q B) and return their status.

    in      newton.M; t, q, v: where the Jacobians of f are taken; a vanishing weight leaves them out
    out     newton: S, kept
    """
    layout = model.layout
    M, S, f_q, f_v = newton.M, newton.S, newton.f_q, newton.f_v
    newton.kept.h = 0.0  # factors that fail are of no use to any h
    for i in range(layout[SIZE]):
        S[i] = M[i]
    if weight > 0.0 and (layout[FLAGS] & F_FREE) == 0:
        model.jacobian(t, q, v, model.par, f_q, f_v)
        record.counters.jacobian_calls += 1
        for i in range(layout[SIZE]):
            slope = of_v * f_v[i]
            if of_q > 0.0:  # else f_q may be infinite
                slope += of_q * f_q[i]
            S[i] -= weight * slope
    status = factor(layout, S)
    if status == 0:
        newton.kept.h = h
    return status


@unit(F(MODEL, F, I, A, A, A, NEWTON.kind), small=True)
def free_motion(model, h, single, v_k, v, v_new, newton):
    """Write v_new = v + S^-1 (h f + M (v_k - v)), the next guess without reactions, and return the largest speed.

    in      single: 1 where v is still v_k; newton: M, S, f
    """
    layout, nv = model.layout, model.layout[NV]
    f, rhs, change = newton.f, newton.rhs, newton.change
    for i in range(nv):
        change[i] = v_k[i] - v[i]
        rhs[i] = h * f[i]
    if single == 0:
        multiply(layout, newton.M, change, rhs)
    solve(layout, newton.S, rhs, change, newton.scratch)
    scale = 0.0
    for i in range(nv):
        v_new[i] = v[i] + change[i]
        scale = larger(larger(scale, abs(v_k[i])), abs(v_new[i]))
    return scale


@unit(F(A, A), small=True)
def take_over(v_new, v):
    """Make v the new guess and return by how much it moves."""
    moved = 0.0
    for i in range(v.shape[0]):
        moved = larger(moved, abs(v_new[i] - v[i]))
        v[i] = v_new[i]
    return moved


@unit(F(F, F), small=True)
def left_to_move(moved, moved_before):
    """Return what the next iteration would still change: a contraction known from two iterations tells it."""
    ratio = moved / moved_before if moved_before > 0.0 else 1.0
    ahead = moved * ratio / (1.0 - ratio) if ratio < 0.5 else moved
    return smaller(moved, ahead)


@unit(I(MODEL, F, I, A, A, NEWTON.kind, RECORD), small=True)
def open_accounts(model, h, reacting, v_k, v, newton, record):
    """Write the header of a step, the work of its forces, and v as its left limit; `report` takes impacts off.

    in      v_k, v: start and end of the step; newton: M, f and info of the last iteration
    """
    layout, nv = model.layout, model.layout[NV]
    header, f, rhs, change = record.header, newton.f, newton.rhs, newton.change
    header.h_used, header.error, header.residual = h, 0.0, newton.info.residual
    header.degree, header.dense_used, header.events_used = 0.0, 0.0, 0.0
    header.drive_work, header.violation, header.reacted = 0.0, 0.0, 1.0 if reacting != 0 else 0.0
    free = (layout[FLAGS] & F_FREE) != 0
    if not free:
        # M (v - v_k) - W P is what the forces really gave, where f belongs to the last guess; -W P see `report`
        for i in range(nv):
            rhs[i], change[i] = 0.0, v[i] - v_k[i]
        multiply(layout, newton.M, change, rhs)
    force_work = 0.0
    for i in range(nv):
        given = h * f[i] if free else rhs[i]
        force_work += 0.5 * given * (v_k[i] + v[i])
        record.v_minus[i] = v[i]
    header.force_work = force_work
    for c in range(layout[NC]):
        record.dissipation[c] = 0.0
    return 0


@unit(F(MODEL, F, A, A), small=True)
def violation_at(model, t, q, g):
    """Write the gaps at q and return the deepest penetration or the largest error of a joint [m]."""
    nc, n, violation = model.layout[NC], model.layout[NC] + model.layout[NJ], 0.0
    if n > 0:
        model.gap(t, q, model.par, g)
    for j in range(n):
        depth = -g[j] if j < nc else abs(g[j])
        if not depth <= violation:  # a gap that is not a number must not pass
            violation = depth
    return violation
