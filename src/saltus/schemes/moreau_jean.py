"""Moreau-Jean: the theta time-stepping scheme (Moreau 1988, Jean 1999; Acary & Brogliato 2008, ch. 10).

M (v_new - v_k) = h f_theta + W P,  q_new = q_k + h B v_theta,  0 <= u_new + e u_k ⟂ P_N >= 0 where the forecast
g_k + gamma h u_k is closed. Tangential restitution acts only where an impact strikes, Poisson's law on the impulse that
the velocities at the start of the step ask for, so that neither touches a body at rest. Subscript theta: the state
(1 - theta) k + theta new. Algorithm 1.4 of Schindler and Acary (2014) is at="both".
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from saltus.compile.seam import handle, larger, unit, whole
from saltus.compile.types import MODEL, PLAIN, RECORD, STATE, A, Directions, F, I, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.errors import SettingError
from saltus.memory.layout import F_FREE, HAS_RETRACT, M_CONSTANT, RATE_IDENTITY, W_CONSTANT, Layout
from saltus.memory.profile import multiply, solve
from saltus.memory.record import RECORDED
from saltus.memory.vectors import clear, copy
from saltus.reaction.books import open_books
from saltus.reaction.impacts import asks_who_is_struck, reacting_sizes, restitute, without_tangential
from saltus.reaction.react import ASKED, DRIFTING, PROJECTION, REACTING, row_dot
from saltus.reaction.report import REPORTING, answer, released, report
from saltus.schemes.plan import SchemePlan, check_stepping, chosen_solver, parabola, reaction_plan
from saltus.schemes.theta_newton import (
    NEWTON,
    changed_inertia,
    exact_at_once,
    factored_mass,
    factors_known,
    first_guess,
    free_motion,
    given_by_momentum,
    iteration_matrix,
    left_to_move,
    open_accounts,
    take_over,
    violation_at,
)
from saltus.schemes.traits import Traits
from saltus.status import Status

LOADED = 1e-6  # of the way that its load would move it in a step: a gap that a loaded contact has not opened

# at_end: 1 where W and f_new are taken at the end of the step; own_mass: 1 where f_k has its own M there, not that of
# the end; projects: 1 where every step is projected
SETTINGS = Numbers(
    "theta gamma closed_tolerance at_end own_mass newton_tolerance max_iterations projection_tolerance "
    "projection_iterations projects"
)
# known.gaps: 1 where the gaps are those of q, 0 before the first step and where somebody moved q since; marks: see
# `report`; impulses: warm start of the contact solver; acceleration: guess for the next step; loads: normal velocity
# that a contact took in the last step [m/s]
MEMORY = Workspace(
    "MoreauJeanMemory", known=Numbers("gaps"), gaps="nc + nj", marks="2 * nc", impulses="nr", acceleration="nv",
    loads="nc",
)  # fmt: skip
# W, w: at theta or at the end, constant ones kept from step to step; W_end, w_end: rows of joints at the end; target:
# see `react` and `restitute`; u_start: of the rows at the start, told.u_minus: of W; f_k: force
# at the start, a_k: its share of the acceleration, inertia: factors of M_k, f_mean: mean of both forces; projection:
# settings of `drift`; active, struck: 1 per contact that takes part, that an impact strikes
WORK = Workspace(
    "MoreauJean", newton=NEWTON, W="nw", W_end="nw", w="nr", w_end="nr", target="2 * nr", u_start="nr",
    f_k="nv", a_k="nv", f_mean="nv", inertia="size", v_theta="nv", q_at="nq", q_dot="nq",
    active=integers("nc"), struck=integers("nc"), react=REACTING, told=REPORTING, projection=PROJECTION, drift=DRIFTING,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class MoreauJean:
    """The theta scheme of Moreau and Jean.

    Parameters
    ----------
    theta
        Implicitness of the smooth terms, 0 (explicit) to 1; 1/2 is of second order and conserves energy.
    gamma
        Forecast: a contact is active when g_k + gamma h u_k <= closed_tolerance; 0 to 1.
    at
        Where M, W and f are evaluated: "theta" at the state theta of the step (f_theta = f(t, q, v at theta)),
        "end" at its end, with f_theta = (1 - theta) f_k + theta f_new and u_k from the start of the step, "both" the
        same with M_k before f_k and u_k = W_new^T v_k: Algorithm 1.4 of Schindler and Acary. Where M depends on q,
        theta = 1/2 is of order 2 with "theta" and "both" and of order 1 with "end".
    projection
        True projects positions onto the joints and out of penetration after each step; "active" does so only after
        steps in which a contact or joint reacts, as some reference codes do. It is meant for joints and for drift:
        bodies that come to rest with e > 0 keep a hop of about gravity times h, because each projection lifts them.
    closed_tolerance
        Gap [m] up to which the forecast counts as closed; bodies that touch differ from 0 by rounding.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    projection_tolerance
        Largest |constraint| and penetration [m] left by the projection; nominal 1e-14 ... 1e-6.
    newton_tolerance
        Relative change of the velocity at which the implicit equations count as solved; nominal 1e-13 ... 1e-8.
    max_iterations
        Most Newton iterations per step; a step that needs more fails.
    """

    theta: float = 0.5
    gamma: float = 0.5
    at: Literal["theta", "end", "both"] = "theta"
    projection: bool | Literal["active"] = False
    closed_tolerance: float = 1e-12
    solver: object | None = None
    projection_tolerance: float = 1e-12
    newton_tolerance: float = 1e-12
    max_iterations: int = 50

    name = "Moreau-Jean"
    order = 1  # through impacts; 2 in smooth motion with theta = 1/2
    interpolate = parabola

    def __post_init__(self):
        if self.projection not in (True, False, "active"):
            raise SettingError(f"projection of MoreauJean is {self.projection!r}: it must be True, False or 'active'")
        if self.at not in ("theta", "end", "both"):
            raise SettingError(f"at of MoreauJean is {self.at!r}: it must be 'theta', 'end' or 'both'")
        if not self.projection_tolerance > 0:
            raise SettingError(
                f"projection_tolerance of MoreauJean is {self.projection_tolerance}: it must be positive"
            )
        check_stepping(self, "theta", "gamma")

    @property
    def traits(self) -> Traits:
        inside = self.at == "theta"
        # the midpoint rule, joints included, has errors in h^2
        symmetric = inside and self.theta == 0.5 and self.projection is False
        return Traits(symmetric=symmetric, contact_inside=inside and self.theta < 1.0, velocity_level=True)

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        contact_solver = chosen_solver(self.solver, layout)
        sizes = reacting_sizes(layout, contact_solver)
        return SchemePlan(
            scheme=self,
            step=moreau_jean,
            settings=SETTINGS.filled(
                theta=self.theta,
                gamma=self.gamma,
                closed_tolerance=self.closed_tolerance,
                at_end=float(self.at != "theta"),
                own_mass=float(self.at == "both"),
                newton_tolerance=self.newton_tolerance,
                max_iterations=float(self.max_iterations),
                projection_tolerance=self.projection_tolerance,
                projection_iterations=20.0,  # it converges quadratically: 20 means never
                projects=float(self.projection is True),
            ),
            inner=reaction_plan(layout, contact_solver, drift=bool(self.projection), any_law=True),
            memory=MEMORY.plan(sizes),
            work=WORK.plan(sizes),
            dense=0,
            events=RECORDED.events_per_contact * int(layout.nc),
            forget="known",
        )


@unit(step_type(0))
def moreau_jean(model, reaction, settings, t, h, state, state_new, record, room):
    """Make a step: index set from the forecast, then one exact iteration in free flight, else Newton's method.

    in      reaction: solver, react, drift; state: q, v and its MEMORY
    out     state_new, record; events at t + h
    kept    room: WORK with the factors of S and rows W that do not change, for steps of the same h
    """
    settings, work = SETTINGS(settings), WORK(room)
    memory, g = MEMORY(state.own), MEMORY(state_new.own).gaps
    copy(state.memory, state_new.memory)
    if memory.known.gaps == 0.0:
        model.gap(t, state.q, model.par, g)
    reacting = model.layout.nj > 0
    if model.layout.nc > 0:
        reacting = forecast(model, settings, t, h, state, memory, g, work) == 1 or reacting
    # most steps of most runs fly: their own function keeps them free of what contacts need
    if not reacting and settings.at_end == 0.0 and settings.projects == 0.0 and exact_at_once(model, 0) == 1:
        if factors_known(model, h, work.newton) == 1:
            return fly(model, settings.theta, t, h, state, state_new, record, work)
    return iterate(model, reaction, settings, t, h, 1 if reacting else 0, state, state_new, record, work)


@unit(I(MODEL, F, F, F, STATE, STATE, RECORD, WORK.kind), small=True)
def fly(model, theta, t, h, state, state_new, record, work):
    """Make a step without reactions in which one iteration is exact, its factors are known and q_dot is v.

    It has the bits of `iterate`, which begins with the velocity v_k as well.
    """
    layout, nv, par = model.layout, model.layout.nv, model.par
    q_k, v_k, q, v = state.q, state.v, state_new.q, state_new.v
    memory_new, newton, q_at, v_theta = MEMORY(state_new.own), work.newton, work.q_at, work.v_theta
    f, rhs, change, header, v_minus = newton.f, newton.rhs, newton.change, record.header, record.v_minus
    for i in range(nv):
        v_theta[i] = (1.0 - theta) * v_k[i] + theta * v_k[i]
        q_at[i] = q_k[i] + theta * h * v_theta[i]
    model.force(t + theta * h, q_at, v_theta, par, f)
    record.counters.iterations += 1
    record.counters.force_calls += 1
    for i in range(nv):
        rhs[i] = h * f[i]
    solve(layout, newton.S, rhs, change, newton.scratch)
    open_books(model, h, 0.0, record)
    for i in range(nv):
        v[i] = v_k[i] + change[i]
        v_minus[i] = v[i]
        q[i] = q_k[i] + h * ((1.0 - theta) * v_k[i] + theta * v[i])
    if (layout.features & HAS_RETRACT) != 0:
        model.retract(q, par)
    if (layout.features & F_FREE) == 0:
        given_by_momentum(layout, v_k, v, newton)
    force_work = 0.0
    for i in range(nv):
        force_work += 0.5 * rhs[i] * (v_k[i] + v[i])
    header.force_work = force_work
    released(t + h, layout.nc, memory_new.marks, record)
    clear(memory_new.loads)
    header.violation = violation_at(model, t + h, q, memory_new.gaps)
    memory_new.known.gaps = 1.0
    return 0


@unit(I(MODEL, PLAIN, SETTINGS.kind, F, F, I, STATE, STATE, RECORD, WORK.kind))
def iterate(model, reaction, settings, t, h, reacting, state, state_new, record, work):
    """Make a step by Newton's method for the velocity with its contacts.

    M (v - v_k) = h f_theta + W P and 0 <= u + e u_k ⟂ P_N >= 0 (Acary & Brogliato 2008, ch. 10).

    in      reacting: 1 where a contact takes part or there are joints; work: as `forecast` leaves it
    """
    # ---- model / settings / in / out / work
    layout, par, flags = model.layout, model.par, model.layout.features
    nq, nv, nc, nj, nr = layout.nq, layout.nv, layout.nc, layout.nj, layout.nr
    theta, at_end, tolerance = settings.theta, settings.at_end == 1.0, settings.newton_tolerance
    q_k, v_k, memory = state.q, state.v, MEMORY(state.own)
    q, v, memory_new, P, header = state_new.q, state_new.v, MEMORY(state_new.own), record.impulse, record.header
    newton, f, g, v_theta, q_at = work.newton, work.newton.f, memory_new.gaps, work.v_theta, work.q_at
    identity = (flags & RATE_IDENTITY) != 0
    q_dot = v_theta if identity else work.q_dot  # without kinematics of its own, q_dot is v itself
    if reacting:  # else nobody reads the impulses
        for r in range(nr):
            P[r] = memory.impulses[r]

    # ---- free motion and contact, repeated while the equations are nonlinear
    single = theta == 0.0 or exact_at_once(model, reacting) == 1
    v_new = v if single else newton.iterate  # the guess is compared with the result only in iterations
    t_at, share = (t + h, 1.0) if at_end else (t + theta * h, theta)
    first_guess(h, single, v_k, memory.acceleration, v, newton)
    for i in range(nq):
        q_at[i] = q_k[i]
    # where M is constant both forces have the same one anyway
    own_mass = settings.own_mass == 1.0 and (flags & M_CONSTANT) == 0
    if at_end:
        status = first_force(model, own_mass, theta, t, state, work, record)
        if status != 0:
            return status
    moved_before = 0.0
    for iteration in range(whole(settings.max_iterations)):
        record.counters.iterations += 1
        mean_motion(model, theta, v_k, v, work)
        q_moved, q_scale = 0.0, 0.0
        for i in range(nq):
            q_next = q_k[i] + share * h * q_dot[i]
            if not identity:
                q_moved = larger(q_moved, abs(q_next - q_at[i]))
                q_scale = larger(q_scale, abs(q_next))
            q_at[i] = q_next
        v_at = v if at_end else v_theta
        model.force(t_at, q_at, v_at, par, f)
        record.counters.force_calls += 1
        known = factors_known(model, h, newton) == 1
        if iteration > 0 or not known:
            model.mass(t_at, q_at, par, newton.M)
        if iteration == 0 and not known:  # the matrix of the first iteration serves the others too
            status = iteration_matrix(model, h, theta * h, 1.0, theta * h, t_at, q_at, v_at, newton, record)
            if status != 0:
                return status
        if at_end:
            mean_force(model, own_mass, theta, work)
        scale = free_motion(model, h, single, v_k, v, v_new, newton)
        if reacting:
            status = contact(model, reaction, settings, t, t_at, h, iteration, state, state_new, v_new, record, work)
            if status != 0:
                return status
            record.counters.sweeps += whole(newton.info.sweeps)
        if single:
            break
        moved = take_over(v_new, v)
        settled = identity or q_moved <= tolerance * (q_scale + h * scale)
        if settled and left_to_move(moved, moved_before) <= tolerance * scale:
            break
        moved_before = moved
    else:
        return Status.NEWTON_STALLED

    # ---- update
    mean_motion(model, theta, v_k, v, work)
    for i in range(nq):
        q[i] = q_k[i] + h * q_dot[i]
    if (flags & HAS_RETRACT) != 0:
        model.retract(q, par)

    # ---- record
    open_accounts(model, h, reacting, v_k, v, newton, record)
    if nc + nj > 0:
        report_contacts(model, t + h, v_k, v, memory_new.marks, work, record)
    if not single or own_mass:
        # iterations end with f at the solution itself: then its work does not lean on the momentum balance
        header.force_work, given = 0.0, work.f_mean if own_mass else f
        for i in range(nv):
            header.force_work += 0.5 * h * given[i] * (v_k[i] + v[i])
    if not single:
        for i in range(nv):
            memory_new.acceleration[i] = (record.v_minus[i] - v_k[i]) / h
    header.drive_work += changed_inertia(model, t, h, q_k, q, v_k, v, newton)
    if reacting or settings.projects == 1.0:
        projection = work.projection
        projection.tolerance, projection.iterations = settings.projection_tolerance, settings.projection_iterations
        status = reaction.drift(model, reaction.solver, projection, t + h, q, v, P, work.drift, work.react)
        if status != 0:
            return status
    if reacting:
        for r in range(nr):
            memory_new.impulses[r] = P[r]
    for c in range(nc):
        row, memory_new.loads[c] = layout[layout.contact_row + c], 0.0
        if reacting and work.active[c] != 0:
            memory_new.loads[c] = P[row] * answer(layout, work.W, work.react.X, row)
    header.violation = violation_at(model, t + h, q, g)
    memory_new.known.gaps = 1.0
    return 0


@unit(I(MODEL, SETTINGS.kind, F, F, STATE, MEMORY.kind, A, WORK.kind), small=True)
def forecast(model, settings, t, h, state, memory, g, work):
    """Write the contacts that take part, g_k + gamma h u_k <= closed_tolerance, and return 1 where there are some.

    in      g: gaps at the start; memory: loads of the step before
    out     work: active, u_start; W, w at the start unless constant ones are kept
    """
    layout = model.layout
    W, w, u_start, active = work.W, work.w, work.u_start, work.active
    found = 0
    if not ((layout.features & W_CONSTANT) != 0 and work.newton.kept.h == h):
        model.kinematics(t, state.q, model.par, W, w)
    for c in range(layout.nc):
        row = layout[layout.contact_row + c]
        for r in range(row, layout[layout.contact_row + c + 1]):
            u_start[r] = row_dot(layout, W, r, state.v) + w[r]
        ahead = g[c] + settings.gamma * h * u_start[row]
        active[c] = 1 if ahead <= settings.closed_tolerance else 0
        if active[c] == 0:
            # a contact that carried a load has not opened where the gap is rounding, summed up over many steps
            active[c] = 1 if ahead <= LOADED * h * memory.loads[c] else 0
        found = 1 if active[c] == 1 else found
    return found


@unit(I(MODEL, I, F, F, STATE, WORK.kind, RECORD), small=True)
def first_force(model, own_mass, theta, t, state, work, record):
    """Write the force at the start, and with a mass of its own its share of the acceleration; return the status."""
    model.force(t, state.q, state.v, model.par, work.f_k)
    record.counters.force_calls += 1
    if own_mass == 0:
        return 0
    status = factored_mass(model, t, state.q, work.inertia)
    if status == 0:
        solve(model.layout, work.inertia, work.f_k, work.a_k, work.newton.scratch)
        for i in range(model.layout.nv):
            work.a_k[i] *= 1.0 - theta
    return status


@unit(I(MODEL, I, F, WORK.kind), small=True)
def mean_force(model, own_mass, theta, work):
    """Make newton.f, the force at the end, that of the step: (1 - theta) f_k + theta f, f_k through its own mass."""
    f, mean = work.newton.f, work.f_mean
    for i in range(model.layout.nv):
        mean[i] = (1.0 - theta) * work.f_k[i] + theta * f[i]
        f[i] = theta * f[i] if own_mass == 1 else mean[i]
    if own_mass == 1:
        multiply(model.layout, work.newton.M, work.a_k, f)  # adds M_new M_k^-1 f_k
    return 0


@unit(I(MODEL, F, A, A, WORK.kind), small=True)
def mean_motion(model, theta, v_k, v, work):
    """Write the velocity at theta and, where it is not the same, q_dot = B(q) v at the q of the last guess."""
    v_theta = work.v_theta
    for i in range(model.layout.nv):
        v_theta[i] = (1.0 - theta) * v_k[i] + theta * v[i]
    if (model.layout.features & RATE_IDENTITY) == 0:
        model.rate(work.q_at, v_theta, model.par, work.q_dot)
    return 0


@unit(I(MODEL, PLAIN, SETTINGS.kind, F, F, F, I, STATE, STATE, A, RECORD, WORK.kind), small=True)
def contact(model, reaction, settings, t, t_at, h, iteration, state, state_new, v_new, record, work):
    """Let contacts and joints react on the free velocity, and return the status.

    in      t_at: time of M, W and f; gaps at the start in the memory of state_new;
            work: v_theta, q_at, q_dot, active, u_start, factors of S
    in/out  v_new: free velocity -> velocity; record.impulse: warm start -> impulses;
            work.struck: found by the first iteration
    out     state_new.q: end of the step as the guess has it, where there are joints;
            work: W, w, told.u_minus, target as `react` leaves it, info
    """
    layout, par, flags = model.layout, model.par, model.layout.features
    g, q_end, P = MEMORY(state_new.own).gaps, state_new.q, record.impulse
    nc, nj, nr, newton = layout.nc, layout.nj, layout.nr, work.newton
    W, w, W_end, target, u_minus, u_start = work.W, work.w, work.W_end, work.target, work.told.u_minus, work.u_start
    active, struck = work.active, work.struck
    if (flags & W_CONSTANT) == 0 or nj > 0:
        model.kinematics(t_at, work.q_at, par, W, w)
    from_start = settings.at_end == 1.0 and settings.own_mass == 0.0
    kept = from_start or (flags & W_CONSTANT) != 0
    for c in range(nc):
        row = layout[layout.contact_row + c]
        for r in range(row, layout[layout.contact_row + c + 1]):
            u_minus[r] = u_start[r] if kept else row_dot(layout, W, r, state.v) + w[r]
            target[r] = w[r]
        if iteration == 0 and asks_who_is_struck(model) == 1:
            # an impact approaches faster than the forces of one step explain
            fall = abs(row_dot(layout, W, row, v_new) + w[row] - u_minus[row])
            struck[c] = 1 if -u_minus[row] > fall * (1.0 + 1e-9) else 0
        restitute(model, c, u_minus[row], struck[c], u_minus, target)
        if active[c] == 1 and g[c] + settings.gamma * h * u_start[row] > settings.closed_tolerance:
            target[row] += g[c] / h  # a loaded contact, which closes again
    if nj > 0:
        # joint velocities vanish at the end of the step and forces act at theta: symmetric, of second order
        q_dot = work.v_theta if (flags & RATE_IDENTITY) != 0 else work.q_dot
        for i in range(layout.nq):
            q_end[i] = state.q[i] + h * q_dot[i]
        model.kinematics(t + h, q_end, par, W_end, work.w_end)
        for r in range(nr - nj, nr):
            target[r] = work.w_end[r]
    return reaction.react(
        model, reaction.solver, newton.S, handle(Directions(W, W, W_end)), target, active, ASKED.impact, v_new, P,
        newton.info, work.react,
    )  # fmt: skip


@unit(I(MODEL, F, A, A, A, WORK.kind, RECORD), small=True)
def report_contacts(model, t, v_k, v, marks, work, record):
    """Report energy, left limit and events of a step; work: as `contact` leaves it."""
    layout, target, u_minus = model.layout, work.target, work.told.u_minus
    if record.header.reacted == 0.0:
        return released(t, layout.nc, marks, record)
    for c in range(layout.nc):
        without_tangential(model, c, work.struck[c], u_minus, target)
    return report(
        model, t, v_k, v, work.W, work.w, target, work.active, work.react.X, marks, work.told, record
    )  # fmt: skip
