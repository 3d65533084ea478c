"""What the time steppings share: Newton's method for M (v - v_k) = h f(v) + W P, and the accounts of a step.

Each iteration solves S (v_new - v) = h f(v) + M (v_k - v) with S = M - h df/dv, then lets contacts and joints react;
the schemes say where M and f are evaluated.
"""

from __future__ import annotations

from saltus.compile.seam import larger, smaller, unit
from saltus.compile.types import LAYOUT, MODEL, RECORD, STATE, A, F, I
from saltus.compile.workspace import Numbers, Workspace
from saltus.memory.layout import (
    F_FREE,
    F_LINEAR,
    HAS_RETRACT,
    J_CONSTANT,
    M_CONSTANT,
    RATE_IDENTITY,
    W_CONSTANT,
)
from saltus.memory.profile import factor, multiply, solve
from saltus.reaction.books import open_books, violation_of
from saltus.reaction.report import inertia_gain

# kept.h: step size for which S is factored, kept from step to step, 0 for none; M, f: at the last guess; rhs, change,
# scratch: of one linear solve; iterate: the velocity that an iteration makes; info: of the last reaction
NEWTON = Workspace(
    "ThetaNewton", kept=Numbers("h"), M="size", S="size", f_q="size", f_v="size", f="nv", rhs="nv", change="nv",
    scratch="nv", iterate="nv", info=Numbers("residual sweeps"),
)  # fmt: skip


@unit(I(F, I, A, A, A, NEWTON.kind), small=True)
def first_guess(h, single, v_k, acceleration, v, newton):
    """Write the guess that iterations start with: v_k where one of them is exact (single), else v_k + h acceleration.

    acceleration: mean of the step before
    """
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
    for i in range(layout.profile_size):
        S[i] = M[i]
    if weight > 0.0 and (layout.features & F_FREE) == 0:
        model.jacobian(t, q, v, model.par, f_q, f_v)
        record.counters.jacobian_calls += 1
        for i in range(layout.profile_size):
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
    layout, nv = model.layout, model.layout.nv
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
    layout, nv = model.layout, model.layout.nv
    header, f, rhs = record.header, newton.f, newton.rhs
    open_books(model, h, 0.0, record)
    header.residual, header.reacted = newton.info.residual, 1.0 if reacting != 0 else 0.0
    free = (layout.features & F_FREE) != 0
    if not free:
        given_by_momentum(layout, v_k, v, newton)
    force_work = 0.0
    for i in range(nv):
        given = h * f[i] if free else rhs[i]
        force_work += 0.5 * given * (v_k[i] + v[i])
        record.v_minus[i] = v[i]
    header.force_work = force_work
    return 0


@unit(I(LAYOUT, A, A, NEWTON.kind), small=True)
def given_by_momentum(layout, v_k, v, newton):
    """Write newton.rhs = M (v - v_k): what forces and reactions gave, where f belongs to the last guess.

    Without reactions it is the impulse of the forces; -W P see `report`.
    """
    rhs, change = newton.rhs, newton.change
    for i in range(v.shape[0]):
        rhs[i], change[i] = 0.0, v[i] - v_k[i]
    return multiply(layout, newton.M, change, rhs)


@unit(I(MODEL, F, F, STATE, STATE, A, A, A, A, NEWTON.kind, RECORD), small=True)
def share_accounts(model, t, h, state, state_new, q_middle, jump, w, w_end, newton, record):
    """Write the work of a step anew where contacts and joints act along other rows than those of their conditions.

    in      jump: their share of what v changes, the forces did the rest; q_middle: where momentum was balanced; w,
            w_end: own velocities of the rows at the start and at the end
    """
    v_k, v, rhs, change, header = state.v, state_new.v, newton.rhs, newton.change, record.header
    for i in range(v.shape[0]):
        rhs[i], change[i] = 0.0, v[i] - v_k[i] - jump[i]
    model.mass(t + 0.5 * h, q_middle, model.par, newton.M)
    multiply(model.layout, newton.M, change, rhs)
    header.force_work, header.drive_work = 0.0, changed_inertia(model, t, h, state.q, state_new.q, v_k, v, newton)
    for i in range(v.shape[0]):
        header.force_work += 0.5 * rhs[i] * (v_k[i] + v[i])
    if header.reacted == 1.0:
        for r in range(w.shape[0]):
            header.drive_work -= 0.5 * record.impulse[r] * (w[r] + w_end[r])
    return 0


@unit(F(MODEL, F, F, A, A, A, A, NEWTON.kind), small=True)
def changed_inertia(model, t, h, q_k, q, v_k, v, newton):
    """Return what a changing M adds to the kinetic energy of a step made with M in its middle; S is forgotten then."""
    if (model.layout.features & M_CONSTANT) != 0:
        return 0.0
    for i in range(v.shape[0]):
        newton.change[i] = 0.5 * (v_k[i] + v[i])
    newton.kept.h = 0.0  # M is no longer that of S
    return inertia_gain(model, t, h, q_k, q, newton.change, newton.M)


@unit(I(MODEL, I), small=True)
def exact_at_once(model, reacting):
    """Return 1 where one iteration is exact: M constant, f linear, q_dot = v, and constant rows of what reacts."""
    flags = model.layout.features
    linear = (flags & M_CONSTANT) != 0 and (flags & F_LINEAR) != 0 and (flags & RATE_IDENTITY) != 0
    return 1 if linear and (reacting == 0 or (flags & W_CONSTANT) != 0) else 0


@unit(I(MODEL, F, NEWTON.kind), small=True)
def factors_known(model, h, newton):
    """Return 1 where M and the factors of S never change and are those of h."""
    flags = model.layout.features
    return 1 if (flags & M_CONSTANT) != 0 and (flags & J_CONSTANT) != 0 and newton.kept.h == h else 0


@unit(I(MODEL, F, A, A), small=True)
def factored_mass(model, t, q, lu):
    """Write the factors of M and return their status."""
    model.mass(t, q, model.par, lu)
    return factor(model.layout, lu)


@unit(I(MODEL, I, F, A, A, A, A, A), small=True)
def displace(model, first, tolerance, q_k, move, q_middle, q_dot, q):
    """Write q = q_k + B(q_middle) move, q_middle half way; return 1 unless q_middle, of the last guess, still moves.

    in      first: 1 where there is no guess yet
    """
    layout, identity = model.layout, (model.layout.features & RATE_IDENTITY) != 0
    if first != 0:
        for i in range(layout.nq):
            q_middle[i] = q_k[i]
    if not identity:
        model.rate(q_middle, move, model.par, q_dot)
    way, moved, size = move if identity else q_dot, 0.0, 0.0
    for i in range(layout.nq):
        middle = q_k[i] + 0.5 * way[i]
        moved, size = larger(moved, abs(middle - q_middle[i])), larger(size, larger(abs(middle), abs(way[i])))
        q_middle[i], q[i] = middle, q_k[i] + way[i]
    if (layout.features & HAS_RETRACT) != 0:
        model.retract(q, model.par)
    return 1 if identity or moved <= tolerance * size else 0


@unit(F(MODEL, F, A, A), small=True)
def violation_at(model, t, q, g):
    """Write the gaps at q and return the deepest penetration or the largest error of a joint [m]."""
    if model.layout.nc + model.layout.nj > 0:
        model.gap(t, q, model.par, g)
    return violation_of(model, g)
