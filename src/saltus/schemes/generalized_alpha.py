"""The nonsmooth generalized-alpha scheme (Chen, Acary, Virlez, Bruls 2013): numerical damping without loss of order.

v_dot dt is what forces do, the jump what contacts and joints do in a step, lasting or struck:
M v_dot_new = f(t_new, q_new, v_new),  M jump = W P,  (1 - am) a_new + am a_k = (1 - af) v_dot_new + af v_dot_k,
v_new = v_k + h (1 - ga) a_k + h ga a_new + jump,  q_new = q_k + h v_k + h^2 (1/2 - be) a_k + h^2 be a_new + h/2 jump,
0 <= u_new + e u_k ⟂ P_N >= 0 where a contact closes. rho, the spectral radius of fast modes, gives
ga = (3 - rho) / (2 (1 + rho)), be = 1 / (1 + rho)^2, v_dot_new = (2 - rho) a_new + (2 rho - 1) a_k - rho v_dot_k.
"""

from __future__ import annotations

import dataclasses
import numbers

import numpy as np

from saltus.compile.seam import head, larger, unit, whole
from saltus.compile.types import MODEL, PLAIN, RECORD, STATE, A, F, I, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.errors import SettingError
from saltus.layout import (
    CONTACT_ROW, F_FREE, F_LINEAR, FLAGS, HAS_RETRACT, J_CONSTANT, LAW_FLOATS, M_CONSTANT, NC, NJ, NQ, NR, NV, NX,
    RATE_IDENTITY, SIZE, W_COL, W_CONSTANT, W_PTR, X_COL, X_PTR,
)  # fmt: skip
from saltus.profile import factor, multiply, solve, solve_row
from saltus.reaction import WHOLE, row_add, row_dot
from saltus.reporting import inertia_gain, released, report
from saltus.schemes.plan import SchemePlan, check_stepping, stepping_plan
from saltus.stages.theta_newton import NEWTON, iteration_matrix, left_to_move, open_accounts, take_over, violation_at
from saltus.status import Status

STALLED = int(Status.NEWTON_STALLED)
SETTINGS = Numbers("rho_inf closed_tolerance newton_tolerance max_iterations")
# known.h: size of the step before, which a belongs to, 0 where v_dot and a are not known; v_dot: what forces alone do;
# a: its filtered values; marks: see `report`; impulses: warm start of the contact solver
MEMORY = Workspace("AlphaMemory", known=Numbers("h"), v_dot="nv", a="nv", marks="2 * nc", impulses="nr")
# newton.M, S: at the end; inertia: factors of M in the middle; carry: see `contact`; W: in the middle, W_end, w_end: at
# the end; u_minus: of the rows at the start; target: see `react`; before, after: for `report`; jump: what contacts and
# joints do to v; q_middle: between q_k and q_new; active: 1 per contact that takes part
WORK = Workspace(
    "Alpha", newton=NEWTON, inertia="size", carry="size", W="nw", w="nr", W_end="nw", w_end="nr", g="nc + nj",
    u_minus="nr", target="nr", before="nr", after="nr", a_k="nv", jump="nv", jump_new="nv", move="nv", q_dot="nq",
    q_middle="nq", inner="inner", active=integers("nc"), inner_integers=integers("inner_integers"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class GeneralizedAlpha:
    """The nonsmooth generalized-alpha scheme: second order between impacts, fast modes damped as chosen.

    Parameters
    ----------
    rho_inf
        Spectral radius of infinitely fast modes, 0 to 1: 0 forgets them in a step, 1 keeps all energy.
    closed_tolerance
        Gap [m] up to which a contact counts as closed at the end of the step; bodies that touch differ by rounding.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    newton_tolerance
        Relative change of the velocity at which the implicit equations count as solved; nominal 1e-13 ... 1e-8.
    max_iterations
        Most Newton iterations for one set of contacts; a step that needs more fails.
    """

    rho_inf: float = 0.8
    closed_tolerance: float = dataclasses.field(default=1e-12, kw_only=True)
    solver: object | None = dataclasses.field(default=None, kw_only=True)
    newton_tolerance: float = dataclasses.field(default=1e-12, kw_only=True)
    max_iterations: int = dataclasses.field(default=50, kw_only=True)

    name = "generalized-alpha"
    order = 1  # through impacts; 2 in smooth motion and lasting contact

    def __post_init__(self):
        if not isinstance(self.rho_inf, numbers.Real) or not 0.0 <= float(self.rho_inf) <= 1.0:
            raise SettingError(f"rho_inf of GeneralizedAlpha is {self.rho_inf!r}: it must lie between 0 and 1")
        check_stepping(self)

    def plan(self, layout: np.ndarray) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        return stepping_plan(self, layout, generalized_alpha, SETTINGS, MEMORY, WORK, forget="known")

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside a step at s in [0, 1]: q quadratic with slope v_k, v linear up to the left limit."""
        q = start.q + s * h * start.q_dot + s * s * (end.q - start.q - h * start.q_dot)
        return q, start.v + s * (end.v_minus - start.v)


@unit(step_type(0))
def generalized_alpha(model, reaction, settings, t, h, state, state_new, record, room):
    """Make a step with joints alone, then again with all contacts that are closed at its end, until no other one is.

    in      reaction: solver, react; state: q, v and its MEMORY
    out     state_new, record; events at t + h
    kept    room: WORK with the factors, where they do not change, for steps of the same h
    """
    layout, flags, settings, work = model.layout, model.layout[FLAGS], SETTINGS(settings), WORK(room)
    nv, nc, nr, rho, newton = layout[NV], layout[NC], layout[NR], settings.rho_inf, work.newton
    memory, memory_new, header, P = MEMORY(state.own), MEMORY(state_new.own), record.header, record.impulse
    v_k, q, v, a, jump, active = state.v, state_new.q, state_new.v, memory_new.a, work.jump, work.active
    for i in range(state.memory.shape[0]):
        state_new.memory[i] = state.memory[i]

    # ---- predict: accelerations at the start for this h, velocities of the rows
    if memory.known.h == 0.0:
        model.force(t, state.q, v_k, model.par, newton.f)
        model.mass(t, state.q, model.par, work.inertia)
        status = factor(layout, work.inertia)
        if status != 0:
            return status
        solve(layout, work.inertia, newton.f, memory_new.v_dot, newton.scratch)
    for i in range(nv):
        kept = 0.0 if memory.known.h == 0.0 else (memory.a[i] - memory.v_dot[i]) * (h / memory.known.h)
        work.a_k[i] = memory_new.v_dot[i] + kept
        a[i], jump[i], v[i] = work.a_k[i], 0.0, v_k[i] + h * work.a_k[i]
    if nr > 0:
        model.kinematics(t, state.q, model.par, work.W_end, work.w_end)
        for r in range(nr):
            work.u_minus[r] = row_dot(layout, work.W_end, r, v_k) + work.w_end[r]
    for c in range(nc):
        active[c] = 0

    # ---- free motion and contact, with more and more contacts
    newton.info.residual, newton.info.sweeps = 0.0, 0.0
    reacting, growing, violation = layout[NJ] > 0, True, 0.0
    while growing:
        status = iterate(model, reaction, settings, t, h, reacting, state, state_new, work, record)
        if status != 0:
            return status
        growing, violation = False, violation_at(model, t + h, q, work.g)
        for c in range(nc):
            if active[c] == 0 and work.g[c] <= settings.closed_tolerance:
                active[c], growing, reacting = 1, True, True
                for r in range(layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]):
                    P[r] = memory.impulses[r]

    # ---- record
    open_accounts(model, h, reacting, v_k, v, newton, record)
    if reacting:
        report(
            model, t + h, v_k, v, work.W_end, work.w_end, work.u_minus, work.target, work.before, work.after, active,
            head(work.inner, layout[NX]), memory_new.marks, record,
        )  # fmt: skip
        for r in range(nr):
            memory_new.impulses[r] = P[r]
    else:
        released(t + h, nc, memory_new.marks, record)
    if (flags & M_CONSTANT) == 0:  # momentum was balanced with M in the middle
        model.mass(t + 0.5 * h, work.q_middle, model.par, newton.M)
    for i in range(nv):
        work.move[i] = v[i] - v_k[i] - jump[i]
    header.force_work = work_of(model, work.move, v_k, v, newton)
    header.drive_work = work_of(model, jump, v_k, v, newton)
    for c in range(nc):
        header.drive_work += record.dissipation[c]
    if (flags & M_CONSTANT) == 0:
        for i in range(nv):
            work.move[i] = 0.5 * (v_k[i] + v[i])
        header.drive_work += inertia_gain(model, t, h, state.q, q, work.move, newton.M)
        newton.kept.h = 0.0  # M is no longer that of S
    for i in range(nv):
        memory_new.v_dot[i] = (2.0 - rho) * a[i] + (2.0 * rho - 1.0) * work.a_k[i] - rho * memory_new.v_dot[i]
    header.violation, memory_new.known.h = violation, h
    return 0


@unit(I(MODEL, PLAIN, SETTINGS.kind, F, F, I, STATE, STATE, WORK.kind, RECORD))
def iterate(model, reaction, settings, t, h, reacting, state, state_new, work, record):
    """Solve a step by Newton's method with the contacts that take part, and return the status.

    in/out  state_new: q, v, a in its memory; work.jump; record.impulse: warm start -> impulses
    out     work: W, W_end, w_end, q_middle, target and X as `react` leaves them
    """
    layout, par, flags, newton = model.layout, model.par, model.layout[FLAGS], work.newton
    rho, tolerance, nv, fixed = settings.rho_inf, settings.newton_tolerance, layout[NV], (flags & M_CONSTANT) != 0
    memory, q, v, v_new = MEMORY(state_new.own), state_new.q, state_new.v, newton.iterate
    a, a_k, jump, jump_new, rhs, change = memory.a, work.a_k, work.jump, work.jump_new, newton.rhs, newton.change
    gamma, beta, share = (3.0 - rho) / (2.0 + 2.0 * rho), 1.0 / (1.0 + rho) ** 2, (1.0 - rho) / (1.0 + rho)
    weight, constant = h * gamma / (2.0 - rho), fixed and (flags & J_CONSTANT) != 0
    single = fixed and (flags & (F_FREE | F_LINEAR)) != 0 and (flags & RATE_IDENTITY) != 0
    single = single and (reacting == 0 or (flags & W_CONSTANT) != 0)
    for i in range(layout[NQ]):
        work.q_middle[i] = state.q[i]
    place(model, h, beta, 0.0, 0.0, state, a, q, work)
    moved_before = 0.0
    for iteration in range(whole(settings.max_iterations)):
        record.counters.iterations += 1
        record.counters.force_calls += 1
        model.force(t + h, q, v, par, newton.f)
        known = constant and newton.kept.h == h
        if not known and (iteration == 0 or not fixed):
            model.mass(t + h, q, par, newton.M)
            model.mass(t + 0.5 * h, work.q_middle, par, work.inertia)
            status = factor(layout, work.inertia)
            if status != 0:
                return status
        if iteration == 0 and not known:
            status = iteration_matrix(model, h, weight, 1.0, h * beta / gamma, t + h, q, v, newton, record)
            if status != 0:
                return status
            bent = 0.0 if (flags & F_FREE) != 0 else (0.5 * h * share) ** 2 / (2.0 - rho)
            for i in range(layout[SIZE]):
                work.carry[i] = newton.M[i] - (bent * newton.f_q[i] if bent > 0.0 else 0.0)
        # the guess of v without reactions: v - S^-1 (weight (M v_dot - f) + carry jump)
        for i in range(nv):
            change[i] = rho * memory.v_dot[i] - (2.0 - rho) * a[i] - (2.0 * rho - 1.0) * a_k[i]
            rhs[i] = newton.f[i]
        multiply(layout, newton.M, change, rhs)
        for i in range(nv):
            rhs[i] *= weight
            change[i], jump_new[i] = -jump[i], 0.0
        multiply(layout, work.carry, change, rhs)
        solve(layout, newton.S, rhs, change, newton.scratch)
        for i in range(nv):
            v_new[i] = v[i] + change[i]
        if reacting != 0:
            status = contact(model, reaction, t, h, q, v_new, record.impulse, work)
            if status != 0:
                return status
            record.counters.sweeps += whole(newton.info.sweeps)
        moved, scale = larger(take_over(v_new, v), take_over(jump_new, jump)), 0.0
        for i in range(nv):
            a[i] = ((v[i] - state.v[i] - jump[i]) / h - (1.0 - gamma) * a_k[i]) / gamma
            scale = larger(larger(scale, abs(state.v[i])), abs(v[i]))
        settled = place(model, h, beta, tolerance, scale, state, a, q, work)
        if single or (settled == 1 and left_to_move(moved, moved_before) <= tolerance * scale):
            return 0
        moved_before = moved
    return STALLED


@unit(I(MODEL, F, F, F, F, STATE, A, A, WORK.kind), small=True)
def place(model, h, beta, tolerance, scale, state, a, q, work):
    """Write q_middle and q_new for a and the jump; return 1 unless kinematics of its own still move q_middle."""
    layout, flags, move, q_middle = model.layout, model.layout[FLAGS], work.move, work.q_middle
    for i in range(layout[NV]):
        move[i] = h * state.v[i] + h * h * ((0.5 - beta) * work.a_k[i] + beta * a[i]) + 0.5 * h * work.jump[i]
    identity = (flags & RATE_IDENTITY) != 0
    if not identity:
        model.rate(q_middle, move, model.par, work.q_dot)
    q_move, moved, size = move if identity else work.q_dot, 0.0, h * scale
    for i in range(layout[NQ]):
        middle = state.q[i] + 0.5 * q_move[i]
        moved, size = larger(moved, abs(middle - q_middle[i])), larger(size, abs(middle))
        q_middle[i], q[i] = middle, state.q[i] + q_move[i]
    if (flags & HAS_RETRACT) != 0:
        model.retract(q, model.par)
    return 1 if identity or moved <= tolerance * size else 0


@unit(I(MODEL, PLAIN, F, F, A, A, A, WORK.kind))
def contact(model, reaction, t, h, q, v_new, P, work):
    """Let contacts and joints react on the free velocity, and return the status.

    Forces act along W in the middle of the step and velocities obey the laws at its end: symmetric, of second order.
    X = S^-1 carry M^-1 W: the jump moves q by h/2 of itself and so changes the forces, carry = M - bent df/dq.

    in/out  v_new: free velocity -> velocity; P: warm start -> impulses
    out     work: W, W_end, w_end, target, X, jump_new
    """
    layout, newton, W, X, active = model.layout, work.newton, work.W, head(work.inner, model.layout[NX]), work.active
    nr, x, rhs, target = layout[NR], newton.change, newton.rhs, work.target
    model.kinematics(t + 0.5 * h, work.q_middle, model.par, W, work.w)
    model.kinematics(t + h, q, model.par, work.W_end, work.w_end)
    for r in range(nr):
        target[r] = work.w_end[r]
        for i in range(layout[NV]):
            x[i], rhs[i] = 0.0, 0.0
        solve_row(layout, work.inertia, W, r, X, newton.scratch)
        row_add(layout, X, r, 1.0, x)
        multiply(layout, work.carry, x, rhs)
        solve(layout, newton.S, rhs, x, newton.scratch)
        for k in range(layout[layout[X_PTR] + r], layout[layout[X_PTR] + r + 1]):
            X[k] = x[layout[layout[X_COL] + k]]
    for c in range(layout[NC]):
        row = layout[layout[CONTACT_ROW] + c]
        target[row] += model.constants[LAW_FLOATS * c] * work.u_minus[row]
    status = reaction.react(
        model, reaction.solver, head(newton.S, 0), W, work.W_end, work.W_end, target, active, WHOLE, v_new, P,
        newton.info, work.inner, work.inner_integers,
    )  # fmt: skip
    for i in range(layout[NV]):
        rhs[i] = 0.0
    for r in range(nr):
        for k in range(layout[layout[W_PTR] + r], layout[layout[W_PTR] + r + 1]):
            rhs[layout[layout[W_COL] + k]] += W[k] * P[r]
    solve(layout, work.inertia, rhs, work.jump_new, newton.scratch)
    return status


@unit(F(MODEL, A, A, A, NEWTON.kind), small=True)
def work_of(model, gained, v_k, v, newton):
    """Return the work of what changes v by `gained`: 1/2 (v_k + v)^T M gained."""
    total, rhs = 0.0, newton.rhs
    for i in range(model.layout[NV]):
        rhs[i] = 0.0
    multiply(model.layout, newton.M, gained, rhs)
    for i in range(model.layout[NV]):
        total += 0.5 * (v_k[i] + v[i]) * rhs[i]
    return total
