"""Schatzman-Paoli: two-step scheme on position level (Paoli, Schatzman 2002; Acary, Aussois 2010, eqs. 42-43).

M(q_new) (q_new - 2 q_k + q_last) = h^2 f_theta + h W P,  0 <= g(z) ⟂ P >= 0,  z = (q_new + e q_last)/(1 + e), W at z.
Below x = (q_new - q_k)/h is the unknown: M (x - x_k) = h f_theta + W P, so P is an impulse [N s].
"""

from __future__ import annotations

import dataclasses
import numbers
from typing import NamedTuple

from saltus.compile.seam import handle, larger, unit, whole
from saltus.compile.types import MODEL, A, Directions, F, I, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.errors import SettingError
from saltus.laws import friction_rows
from saltus.memory.layout import F_LINEAR, HAS_RETRACT, J_CONSTANT, M_CONSTANT, RATE_IDENTITY, W_CONSTANT, Layout
from saltus.memory.record import RECORDED
from saltus.reaction.impacts import reacting_sizes
from saltus.reaction.react import ASKED, REACTING, row_dot
from saltus.reaction.report import CONTACT_MARK, REPORTING, inertia_gain, released, report
from saltus.schemes.plan import SchemePlan, chosen_solver, newton_only, reaction_plan
from saltus.schemes.theta_newton import (
    NEWTON,
    first_guess,
    free_motion,
    iteration_matrix,
    left_to_move,
    open_accounts,
    take_over,
    violation_at,
)
from saltus.schemes.traits import Traits
from saltus.status import Status


class _Schatzman(NamedTuple):
    """Tuned numbers of this file."""

    same_step: float = 1e-6  # relative change of h that the rounding of t explains
    rounding: float = 4e-16  # relative rounding error of q: gaps are not known better
    spread: float = 3.0  # mark of a contact in the second step of an impact, which is neither a hit nor lasting contact


SCHATZMAN = _Schatzman()


SETTINGS = Numbers("theta newton_tolerance max_iterations lagging_velocity")
# last.h: size of the step before, 0 for none; q_last, x_k: its start and its (q - q_last)/h; marks: see `report`;
# impulses: warm start of the contact solver; acceleration: guess for the next step
MEMORY = Workspace(
    "SchatzmanPaoliMemory", last=Numbers("h"), q_last="nq", x_k="nv", marks="2 * nc", impulses="nr", acceleration="nv"
)
# gaps and rows at one z
ROWS_AT_MEAN = Workspace("RowsAtMean", z="nq", g="nc + nj", W="nw", w="nr")
# W, w, g: of every row at its z, constant ones kept from step to step; target: see `react`; told.u_minus: of W and
# x_k; u_free: for `report`; x: guess; q_at: q at theta; active: 1 per contact, all of them
WORK = Workspace(
    "SchatzmanPaoli", newton=NEWTON, W="nw", w="nr", g="nc + nj", target="nr", u_free="nr", x="nv", q_at="nq",
    rows=ROWS_AT_MEAN, active=integers("nc"), react=REACTING, told=REPORTING,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class SchatzmanPaoli:
    """The position-level scheme of Schatzman and Paoli, without friction and with one step size for the whole run.

    Parameters
    ----------
    theta
        Where the force is evaluated: 0 (start of the step, explicit in q) to 1 (its end). The second difference belongs
        to the start: 0 is centred, and several times more accurate than 1/2.
    lagging_velocity
        False stores v_new = (q_new - q_k)/h, the velocity that P changes. True stores (q_new - q_last)/(2 h) as the
        source does (42b): it belongs to t_k, one step earlier.
    solver
        Contact solver; None takes Direct for a single contact, Lemke otherwise.
    newton_tolerance
        Relative change of the velocity at which the implicit equations count as solved; nominal 1e-13 ... 1e-8.
    max_iterations
        Most Newton iterations per step; a step that needs more fails.
    """

    theta: float = 0.0
    lagging_velocity: bool = dataclasses.field(default=False, kw_only=True)
    solver: object | None = dataclasses.field(default=None, kw_only=True)
    newton_tolerance: float = dataclasses.field(default=1e-12, kw_only=True)
    max_iterations: int = dataclasses.field(default=50, kw_only=True)

    name = "Schatzman-Paoli"
    order = 1
    traits = Traits(fixed_step=True, velocity_level=True)  # the memory holds the position one step ago

    def __post_init__(self):
        if not isinstance(self.theta, numbers.Real) or not 0.0 <= float(self.theta) <= 1.0:
            raise SettingError(f"theta of SchatzmanPaoli is {self.theta!r}: it must lie between 0 and 1")
        for field in ("newton_tolerance", "max_iterations"):
            if not getattr(self, field) > 0:
                raise SettingError(f"{field} of SchatzmanPaoli is {getattr(self, field)}: it must be positive")
        if self.max_iterations != int(self.max_iterations):
            raise SettingError(f"max_iterations of SchatzmanPaoli is {self.max_iterations}: it must be a whole number")
        if self.solver is not None and (isinstance(self.solver, type) or not hasattr(self.solver, "room")):
            raise SettingError(f"solver of SchatzmanPaoli is {self.solver!r}: give a contact solver such as Lemke()")

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        nc = int(layout.nc)
        if friction_rows(layout) > 0:
            raise SettingError(
                "SchatzmanPaoli cannot do friction (a contact has slip): use MoreauJean() or PaoliVelocity()"
            )
        if not layout.features & RATE_IDENTITY or layout.features & HAS_RETRACT:
            raise SettingError(
                "SchatzmanPaoli cannot do coordinates with q_dot or retract, because it averages positions: "
                "use MoreauJean() or PaoliVelocity()"
            )
        newton_only(layout, "SchatzmanPaoli")
        contact_solver = chosen_solver(self.solver, layout)
        sizes = reacting_sizes(layout, contact_solver)
        return SchemePlan(
            scheme=self,
            step=schatzman_paoli,
            settings=SETTINGS.filled(
                theta=self.theta,
                newton_tolerance=self.newton_tolerance,
                max_iterations=float(self.max_iterations),
                lagging_velocity=float(self.lagging_velocity),
            ),
            inner=reaction_plan(layout, contact_solver, drift=False),
            memory=MEMORY.plan(sizes),
            work=WORK.plan(sizes),
            dense=0,
            events=RECORDED.events_per_contact * nc,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside a step at s in [0, 1]: both linear, v up to the left limit."""
        return start.q + s * (end.q - start.q), start.v + s * (end.v_minus - start.v)


@unit(step_type(0))
def schatzman_paoli(model, reaction, settings, t, h, state, state_new, record, room):
    """Make a step: Newton's method for x = (q_new - q_k)/h with the contacts that close at z.

    M (x - x_k) = h f_theta + W P and 0 <= g(z) ⟂ P >= 0 (Acary, Aussois 2010, eqs. 42-43).

    in      reaction: solver, react; state: q, v and its MEMORY
    out     state_new, record; events at t + h
    kept    room: WORK with the factors of S and rows W that do not change
    """
    # ---- model / settings / in / out / work
    layout, par, flags = model.layout, model.par, model.layout.features
    nv, nc, nj, nr = layout.nv, layout.nc, layout.nj, layout.nr
    settings, work = SETTINGS(settings), WORK(room)
    theta, share = settings.theta, 0.5 if settings.lagging_velocity == 1.0 else 1.0  # of x in the stored velocity
    q_k, v_k, memory = state.q, state.v, MEMORY(state.own)
    q, v, memory_new, P, header = state_new.q, state_new.v, MEMORY(state_new.own), record.impulse, record.header
    newton, W, w, g, target, active = work.newton, work.W, work.w, work.g, work.target, work.active
    x, x_new, q_at, marks = work.x, newton.iterate, work.q_at, memory_new.marks
    q_last, x_k = memory_new.q_last, memory_new.x_k  # overwritten at the end of the step

    # ---- predict: the step before
    for i in range(state.memory.shape[0]):
        state_new.memory[i] = state.memory[i]
    if memory.last.h == 0.0:
        for i in range(nv):
            q_last[i], x_k[i] = q_k[i] - h * v_k[i], v_k[i]
    elif abs(h - memory.last.h) > SCHATZMAN.same_step * h:
        return Status.STEP_CHANGED

    # ---- free motion and contact, repeated while the equations are nonlinear
    constant = (flags & M_CONSTANT) != 0 and (flags & J_CONSTANT) != 0
    rigid = (flags & W_CONSTANT) != 0 or nr == 0
    single = (flags & M_CONSTANT) != 0 and (flags & F_LINEAR) != 0 and rigid
    first_guess(h, single, x_k, memory.acceleration, x, newton)
    for c in range(nc):
        active[c] = 1
    for r in range(nr):
        P[r] = memory.impulses[r]
    reacting, moved_before = nj > 0, 0.0
    for iteration in range(whole(settings.max_iterations)):
        record.counters.iterations += 1
        q_scale = 0.0
        for i in range(nv):
            q[i] = q_k[i] + h * x[i]
            q_at[i] = q_k[i] + theta * h * x[i]
            v[i] = (1.0 - theta) * v_k[i] + theta * (share * x[i] + (1.0 - share) * x_k[i])
            q_scale = larger(q_scale, abs(q[i]))
        model.force(t + theta * h, q_at, v, par, newton.f)
        record.counters.force_calls += 1
        known = constant and newton.kept.h == h
        if nr > 0:
            constraint_rows(model, t, h, q_last, q, rigid and known, work)
        if iteration > 0 or not known:
            model.mass(t + h, q, par, newton.M)
        if iteration == 0 and not known:  # the matrix of the first iteration serves the others too
            status = iteration_matrix(model, h, theta * h, share, h, t + theta * h, q_at, v, newton, record)
            if status != 0:
                return status
        scale = free_motion(model, h, single, x_k, x, x_new, newton)
        reacting = conditions(model, h, x_k, x_new, work) == 1 or nj > 0
        if reacting:
            status = reaction.react(
                model, reaction.solver, newton.S, handle(Directions(W, W, W)), target, active, ASKED.whole, x_new, P,
                newton.info, work.react,
            )  # fmt: skip
            if status != 0:
                return status
            record.counters.sweeps += whole(newton.info.sweeps)
        moved = take_over(x_new, x)
        allowed = settings.newton_tolerance * scale
        if reacting:  # gaps are divided by h: so is the rounding of q
            allowed += SCHATZMAN.rounding * q_scale / h
        if single or left_to_move(moved, moved_before) <= allowed:
            break
        moved_before = moved
    else:
        return Status.NEWTON_STALLED

    # ---- update
    for i in range(nv):
        q[i] = q_k[i] + h * x[i]
        v[i] = share * x[i] + (1.0 - share) * x_k[i]
    for r in range(nr):
        P[r] = P[r] if reacting else 0.0

    # ---- record
    open_accounts(model, h, reacting, x_k, x, newton, record)
    if reacting:
        report(model, t + h, x_k, x, W, w, work.u_free, active, work.react.X, marks, work.told, record)
        for c in range(nc):
            if memory.marks[c] == CONTACT_MARK.struck and marks[c] == CONTACT_MARK.closed:
                marks[c] = SCHATZMAN.spread
    elif nc > 0:
        released(t + h, nc, marks, record)
    if (flags & M_CONSTANT) == 0:
        header.drive_work += inertia_gain(model, t, h, q_k, q, x_k, newton.M)
    for i in range(nv):
        if share < 1.0:
            record.v_minus[i] = v[i]
        elif not single:
            memory_new.acceleration[i] = (record.v_minus[i] - x_k[i]) / h
        q_last[i], x_k[i] = q_k[i], x[i]
    for r in range(nr):
        memory_new.impulses[r] = P[r]
    memory_new.last.h = h
    header.violation = violation_at(model, t + h, q, g)
    return 0


@unit(I(MODEL, F, F, A, A, I, WORK.kind))
def constraint_rows(model, t, h, q_last, q, keep, work):
    """Write gap, W and w of every contact at z = (q + e q_last)/(1 + e) and of the joints at q.

    in      keep: 1 where W and w are kept, and only the gaps are written
    out     work: g, W, w
    """
    layout, rows = model.layout, work.rows
    g, W, w, z = work.g, work.W, work.w, rows.z
    nc, e_done = layout.nc, -1.0
    for r in range(layout.nr):
        e = model.e[r] if r < nc else 0.0
        if e != e_done:
            for i in range(layout.nq):
                z[i] = (q[i] + e * q_last[i]) / (1.0 + e)
            # the mean of the times too: contacts may move
            t_z = (t + h + e * (t - h)) / (1.0 + e)
            model.gap(t_z, z, model.par, rows.g)
            if keep == 0:
                model.kinematics(t_z, z, model.par, rows.W, rows.w)
            e_done = e
        g[r] = rows.g[r]
        if keep == 0:
            w[r] = rows.w[r]
            for k in range(layout[layout.W_ptr + r], layout[layout.W_ptr + r + 1]):
                W[k] = rows.W[k]
    return 0


@unit(I(MODEL, F, A, A, WORK.kind), small=True)
def conditions(model, h, x_k, x_new, work):
    """Write the condition of every row, g(z) linearised times (1 + e)/h, and return 1 where the free x_new breaks one.

    It is a condition on x_new like those on velocities.

    in      work: g, W, w, x: the guess at which g was taken
    out     work: target, told.u_minus, u_free
    """
    layout, W, w, target, u_minus = model.layout, work.W, work.w, work.target, work.told.u_minus
    broken = 0
    for r in range(layout.nr):
        e = model.e[r] if r < layout.nc else 0.0
        u = row_dot(layout, W, r, x_new)
        target[r] = (1.0 + e) * work.g[r] / h - row_dot(layout, W, r, work.x)
        u_minus[r] = row_dot(layout, W, r, x_k) + w[r]
        work.u_free[r] = u + w[r] + e * u_minus[r]
        if not u + target[r] >= 0.0:
            broken = 1
    return broken
