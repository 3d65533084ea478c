"""The nonsmooth generalized-alpha scheme (Chen, Acary, Virlez, Bruls 2013): numerical damping without loss of order.

v_dot dt is what forces do in a step, the jump what contacts and joints do, whether they last or strike:
M v_dot_new = f(t_new, q_new, v_new),  M jump = W P,  (1 - am) a_new + am a_k = (1 - af) v_dot_new + af v_dot_k,
v_new = v_k + h (1 - ga) a_k + h ga a_new + jump,  q_new = q_k + h v_k + h^2 (1/2 - be) a_k + h^2 be a_new + h/2 jump,
0 <= u_new + e u_k ⟂ P_N >= 0 where a contact closes. rho, the spectral radius of fast modes, gives
ga = (3 - rho) / (2 (1 + rho)), be = 1 / (1 + rho)^2, v_dot_new = (2 - rho) a_new + (2 rho - 1) a_k - rho v_dot_k.
"""

from __future__ import annotations

import dataclasses

from saltus.compile.seam import handle, head, larger, unit, whole
from saltus.compile.types import MODEL, PLAIN, RECORD, STATE, A, Directions, F, I, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.memory.layout import M_CONSTANT, Layout
from saltus.memory.profile import multiply, solve, solve_row
from saltus.reaction.impacts import restitute
from saltus.reaction.look import spread_row
from saltus.reaction.react import ASKED, REACTING, row_add, row_dot, write_row
from saltus.reaction.report import REPORTING, released, report
from saltus.schemes.plan import SchemePlan, check_stepping, parabola, stepping_plan
from saltus.schemes.theta_newton import (
    NEWTON,
    displace,
    exact_at_once,
    factored_mass,
    factors_known,
    first_guess,
    iteration_matrix,
    left_to_move,
    open_accounts,
    share_accounts,
    take_over,
    violation_at,
)
from saltus.schemes.traits import Traits
from saltus.status import Status

SETTINGS = Numbers("rho_inf closed_tolerance newton_tolerance max_iterations")
# known.h: size of the step before, to which a belongs, 0 where v_dot and a are not known; v_dot: what forces alone do;
# a: v_dot, filtered; mean: acceleration over that step, a guess; marks: see `report`; impulses: warm start
MEMORY = Workspace("AlphaMemory", known=Numbers("h"), v_dot="nv", a="nv", mean="nv", marks="2 * nc", impulses="nr")
# newton: M, S at the end of the step; inertia: factors of M in the middle; carry: see `contact`; w: at the start; W: in
# the middle; W_end, w_end: at the end; told.u_minus: of the rows at the start; target: see `react`; jump: what
# contacts and joints do to v; active: 1 per contact that takes part
WORK = Workspace(
    "Alpha", newton=NEWTON, inertia="size", carry="size", w="nr", W="nw", W_end="nw", w_end="nr", g="nc + nj",
    target="nr", a_k="nv", jump="nv", jump_new="nv", move="nv", q_dot="nq", q_middle="nq", active=integers("nc"),
    react=REACTING, told=REPORTING,
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
    _: dataclasses.KW_ONLY
    closed_tolerance: float = 1e-12
    solver: object | None = None
    newton_tolerance: float = 1e-12
    max_iterations: int = 50

    name, order = "generalized-alpha", 1  # through impacts; 2 in smooth motion and lasting contact
    interpolate = parabola
    traits = Traits(filters=True, velocity_level=True)  # a is filtered over several steps: errors are no series in h

    def __post_init__(self):
        check_stepping(self, "rho_inf")

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        return stepping_plan(self, layout, generalized_alpha, SETTINGS, MEMORY, WORK, forget="known")


@unit(step_type(0))
def generalized_alpha(model, reaction, settings, t, h, state, state_new, record, room):
    """Make a step with joints alone, then again with all contacts that are closed at its end, until no other one is.

    in      reaction: solver, react; state: q, v and its MEMORY
    out     state_new, record; events at t + h
    kept    room: WORK with the factors, where they do not change, for steps of the same h
    """
    layout, settings, work, P = model.layout, SETTINGS(settings), WORK(room), record.impulse
    nv, nc, nr, rho, newton = layout.nv, layout.nc, layout.nr, settings.rho_inf, work.newton
    memory, memory_new, active, w = MEMORY(state.own), MEMORY(state_new.own), work.active, work.w
    q_k, v_k, q, v, a, v_dot = state.q, state.v, state_new.q, state_new.v, memory_new.a, memory_new.v_dot
    for i in range(state.memory.shape[0]):
        state_new.memory[i] = state.memory[i]

    # ---- predict: accelerations at the start as they are for this h, velocities of the rows
    # a step that is ten times as long as the one before begins anew: accelerations of very short ones are rounding
    ratio = h / memory.known.h if h <= 10.0 * memory.known.h else 0.0
    if ratio == 0.0:
        model.force(t, q_k, v_k, model.par, newton.f)
        record.counters.force_calls += 1
        status = factored_mass(model, t, q_k, work.inertia)
        if status != 0:
            return status
        solve(layout, work.inertia, newton.f, v_dot, newton.scratch)
    for i in range(nv):
        work.a_k[i] = v_dot[i] + (ratio * (memory.a[i] - v_dot[i]) if ratio > 0.0 else 0.0)
        work.jump[i] = 0.0
    if nr > 0:
        model.kinematics(t, q_k, model.par, work.W_end, w)
    for r in range(nr):
        work.told.u_minus[r] = row_dot(layout, work.W_end, r, v_k) + w[r]
    for c in range(nc):
        active[c] = 0

    # ---- free motion and contact, with more and more contacts
    first_guess(h, exact_at_once(model, 1), v_k, memory.mean, v, newton)
    reacting, growing, violation = layout.nj > 0, True, 0.0
    while growing:
        status = iterate(model, reaction, settings, t, h, reacting, state, state_new, work, record)
        if status != 0:
            return status
        growing, violation = False, violation_at(model, t + h, q, work.g)
        for c in range(nc):
            if active[c] == 0 and work.g[c] <= settings.closed_tolerance:
                active[c], growing, reacting = 1, True, True
                for r in range(layout[layout.contact_row + c], layout[layout.contact_row + c + 1]):
                    P[r] = memory.impulses[r]

    # ---- record
    open_accounts(model, h, reacting, v_k, v, newton, record)
    if reacting:
        report(
            model, t + h, v_k, v, work.W_end, work.w_end, work.target, active, work.react.X, memory_new.marks,
            work.told, record,
        )  # fmt: skip
        for r in range(nr):
            memory_new.impulses[r] = P[r]
    else:
        released(t + h, nc, memory_new.marks, record)
    share_accounts(model, t, h, state, state_new, work.q_middle, work.jump, w, work.w_end, newton, record)
    record.header.violation, memory_new.known.h = violation, h
    for i in range(nv):
        memory_new.mean[i] = (record.v_minus[i] - v_k[i]) / h
        v_dot[i] = (2.0 - rho) * a[i] + (2.0 * rho - 1.0) * work.a_k[i] - rho * v_dot[i]
    return 0


@unit(I(MODEL, PLAIN, SETTINGS.kind, F, F, I, STATE, STATE, WORK.kind, RECORD))
def iterate(model, reaction, settings, t, h, reacting, state, state_new, work, record):
    """Solve a step by Newton's method with the contacts that take part, and return the status.

    in/out  state_new.v, work.jump: guess -> solution; record.impulse: warm start -> impulses
    out     state_new: q, a in its memory; work: what `contact` writes, q_middle
    """
    layout, newton, memory, q, v = model.layout, work.newton, MEMORY(state_new.own), state_new.q, state_new.v
    nv, rho, tolerance, single = layout.nv, settings.rho_inf, settings.newton_tolerance, exact_at_once(model, reacting)
    v_new, rhs, change, q_middle, move = newton.iterate, newton.rhs, newton.change, work.q_middle, work.move
    a, a_k, jump, fixed = memory.a, work.a_k, work.jump, (layout.features & M_CONSTANT) != 0
    gamma, beta, lost = (3.0 - rho) / (2.0 + 2.0 * rho), 1.0 / (1.0 + rho) ** 2, (1.0 - rho) / (1.0 + rho)
    weight, bent = h * gamma / (2.0 - rho), (0.5 * h * lost) ** 2 / (2.0 - rho)
    moved, moved_before, scale, settled = 0.0, 0.0, 0.0, 0
    for iteration in range(whole(settings.max_iterations) + 1):
        for i in range(nv):
            a[i] = ((v[i] - state.v[i] - jump[i]) / h - (1.0 - gamma) * a_k[i]) / gamma
            move[i] = h * state.v[i] + h * h * ((0.5 - beta) * a_k[i] + beta * a[i]) + 0.5 * h * jump[i]
        settled = displace(model, iteration == 0, tolerance, state.q, move, q_middle, work.q_dot, q)
        if iteration > 0 and (single == 1 or (settled == 1 and left_to_move(moved, moved_before) <= tolerance * scale)):
            return 0
        moved_before, scale = moved, 0.0
        record.counters.iterations += 1
        record.counters.force_calls += 1
        model.force(t + h, q, v, model.par, newton.f)
        if factors_known(model, h, newton) == 0 and (iteration == 0 or not fixed):
            model.mass(t + h, q, model.par, newton.M)
            status = factored_mass(model, t + 0.5 * h, q_middle, work.inertia)
            if status == 0 and iteration == 0:
                status = iteration_matrix(model, h, weight, 1.0, h * beta / gamma, t + h, q, v, newton, record)
                for i in range(layout.profile_size):
                    work.carry[i] = newton.M[i] - bent * newton.f_q[i]  # f_q stays 0 where f is given
            if status != 0:
                return status
        # the guess of v without reactions: v - S^-1 (weight (M v_dot - f) + carry jump)
        for i in range(nv):
            change[i] = rho * memory.v_dot[i] - (2.0 - rho) * a[i] - (2.0 * rho - 1.0) * a_k[i]
            rhs[i] = newton.f[i]
        multiply(layout, newton.M, change, rhs)
        for i in range(nv):
            rhs[i] *= weight
            change[i], work.jump_new[i] = -jump[i], 0.0
        multiply(layout, work.carry, change, rhs)
        solve(layout, newton.S, rhs, change, newton.scratch)
        for i in range(nv):
            v_new[i] = v[i] + change[i]
            scale = larger(larger(scale, abs(state.v[i])), abs(v_new[i]))
        if reacting != 0:
            status = contact(model, reaction, t, h, q, v_new, record.impulse, work)
            if status != 0:
                return status
            record.counters.sweeps += whole(newton.info.sweeps)
        moved = larger(take_over(v_new, v), take_over(work.jump_new, jump))
    return Status.NEWTON_STALLED


@unit(I(MODEL, PLAIN, F, F, A, A, A, WORK.kind))
def contact(model, reaction, t, h, q, v_new, P, work):
    """Let contacts and joints react on the free velocity, and return the status.

    Forces act along W in the middle of the step and velocities obey the laws at its end: symmetric, of second order.
    X = S^-1 carry M^-1 W: the jump moves q by h/2 of itself and so changes the forces, carry = M - bent df/dq.

    in/out  v_new: free velocity -> velocity; P: warm start -> impulses
    out     work: W, W_end, w_end, target, jump_new, X in `react`
    """
    layout, newton, W, target, X = model.layout, work.newton, work.W, work.target, work.react.X
    x, rhs, nv, nr, u_minus = newton.change, newton.rhs, layout.nv, layout.nr, work.told.u_minus
    model.kinematics(t + 0.5 * h, work.q_middle, model.par, W, work.w_end)
    model.kinematics(t + h, q, model.par, work.W_end, work.w_end)
    for r in range(nr):
        target[r] = work.w_end[r]
        for i in range(nv):
            x[i], rhs[i] = 0.0, 0.0
        solve_row(layout, work.inertia, W, r, X, newton.scratch)
        row_add(layout, X, r, 1.0, x)
        multiply(layout, work.carry, x, rhs)
        solve(layout, newton.S, rhs, x, newton.scratch)
        write_row(layout, x, r, X)
    for c in range(layout.nc):
        restitute(model, c, u_minus[layout[layout.contact_row + c]], 0, u_minus, target)
    status = reaction.react(
        model, reaction.solver, head(newton.S, 0), handle(Directions(W, work.W_end, work.W_end)), target, work.active,
        ASKED.whole, v_new, P, newton.info, work.react,
    )  # fmt: skip
    for i in range(nv):
        rhs[i] = 0.0
    for r in range(nr):
        spread_row(layout, W, r, P[r], rhs)
    solve(layout, work.inertia, rhs, work.jump_new, newton.scratch)
    return status
