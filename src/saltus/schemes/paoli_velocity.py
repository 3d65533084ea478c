"""Paoli's velocity-based scheme (Paoli, Lyon 2008, after Moreau 1986): the position leads, the velocity follows.

q_new = q_k + h B v_k,  M (v_new - v_k) = h f(t_new, q_new, v_new) + W P,  0 <= u_new + e u_k ⟂ P_N >= 0 where
g(q_new) <= 0; M, W at q_new. With one e this is v_new = -e v_k + (1 + e) proj(V(q_new), v_k + h M^-1 f / (1 + e)).
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from saltus.compile.seam import handle, unit, whole
from saltus.compile.types import MODEL, PLAIN, A, Directions, I, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.errors import SettingError
from saltus.memory.layout import F_FREE, F_LINEAR, HAS_RETRACT, M_CONSTANT, RATE_IDENTITY, Layout
from saltus.reaction.react import ASKED, REACTING, row_dot
from saltus.reaction.report import REPORTING, inertia_gain, released, report
from saltus.schemes.plan import SchemePlan, check_stepping, stepping_plan
from saltus.schemes.theta_newton import (
    NEWTON,
    factors_known,
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

SETTINGS = Numbers("closed_tolerance newton_tolerance max_iterations")
# marks: see `report`; impulses: warm start of the contact solver; acceleration: guess for the next step
MEMORY = Workspace("PaoliVelocityMemory", marks="2 * nc", impulses="nr", acceleration="nv")
# W, w, g: at the end of the step; target: see `react`; told.u_minus: of the rows before the step; active: 1 per
# contact that takes part
WORK = Workspace(
    "PaoliVelocity", newton=NEWTON, W="nw", w="nr", g="nc + nj", target="nr", q_dot="nq",
    active=integers("nc"), react=REACTING, told=REPORTING,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class PaoliVelocity:
    """The velocity-based scheme of Paoli: explicit in the position, implicit in the velocity.

    Parameters
    ----------
    closed_tolerance
        Gap [m] up to which a contact counts as closed at q_new; 0 in the papers. Bodies that touch differ from 0 by
        rounding.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    newton_tolerance
        Relative change of the velocity at which the implicit equations count as solved; nominal 1e-13 ... 1e-8.
    max_iterations
        Most Newton iterations per step; a step that needs more fails.
    between
        What v is between the grid points: "linear" up to its left limit, or "constant" as in the source, v_k until the
        next one; q is linear in both.
    """

    closed_tolerance: float = dataclasses.field(default=1e-12, kw_only=True)
    solver: object | None = dataclasses.field(default=None, kw_only=True)
    newton_tolerance: float = dataclasses.field(default=1e-12, kw_only=True)
    max_iterations: int = dataclasses.field(default=50, kw_only=True)
    between: Literal["linear", "constant"] = dataclasses.field(default="linear", kw_only=True)

    name = "Paoli velocity"
    order = 1

    def __post_init__(self):
        check_stepping(self)
        if self.between not in ("linear", "constant"):
            raise SettingError(f"between of PaoliVelocity is {self.between!r}: it must be 'linear' or 'constant'")

    @property
    def traits(self) -> Traits:
        """In what it differs from an ordinary one-step method."""
        return Traits(own_limits=self.between == "constant", velocity_level=True)

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        return stepping_plan(self, layout, paoli_velocity, SETTINGS, MEMORY, WORK)

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside a step at s in [0, 1]: q linear with slope v_k, v see `between`."""
        if self.between == "constant":
            return start.q + s * (end.q - start.q), start.v + 0.0 * s
        return start.q + s * (end.q - start.q), start.v + s * (end.v_minus - start.v)


@unit(step_type(0))
def paoli_velocity(model, reaction, settings, t, h, state, state_new, record, room):
    """Make a step: the position first, then Newton's method for the velocity with the contacts that are closed there.

    q = q_k + h B v_k, M (v - v_k) = h f(t + h, q, v) + W P and 0 <= u + e u_k ⟂ P_N >= 0 (Paoli 2008).

    in      reaction: solver, react; state: q, v and its MEMORY
    out     state_new, record; events at t + h
    kept    room: WORK with the factors of S, where they do not change, for steps of the same h
    """
    # ---- model / settings / in / out / work
    layout, par, flags = model.layout, model.par, model.layout.features
    nq, nv, nc, nj, nr = layout.nq, layout.nv, layout.nc, layout.nj, layout.nr
    settings, work = SETTINGS(settings), WORK(room)
    q_k, v_k, memory = state.q, state.v, MEMORY(state.own)
    q, v, memory_new, P, header = state_new.q, state_new.v, MEMORY(state_new.own), record.impulse, record.header
    newton, W, w, u_minus, g, active = work.newton, work.W, work.w, work.told.u_minus, work.g, work.active
    q_dot = v_k if (flags & RATE_IDENTITY) != 0 else work.q_dot
    for i in range(state.memory.shape[0]):
        state_new.memory[i] = state.memory[i]

    # ---- predict: positions are explicit, so that gaps, M and W of the end are known at once
    if (flags & RATE_IDENTITY) == 0:
        model.rate(q_k, v_k, par, q_dot)
    for i in range(nq):
        q[i] = q_k[i] + h * q_dot[i]
    if (flags & HAS_RETRACT) != 0:
        model.retract(q, par)
    reacting, violation = nj > 0, violation_at(model, t + h, q, g)
    for c in range(nc):
        active[c] = 1 if g[c] <= settings.closed_tolerance else 0
        reacting = reacting or active[c] == 1
    for r in range(nr):
        P[r] = memory.impulses[r] if reacting else 0.0
    if reacting:
        model.kinematics(t + h, q, par, W, w)
        for r in range(nr):
            u_minus[r] = row_dot(layout, W, r, v_k) + w[r]

    # ---- free motion with f at the end of the step and contact, repeated while f is nonlinear in v
    single = (flags & (F_FREE | F_LINEAR)) != 0
    v_new = v if single else newton.iterate
    first_guess(h, single, v_k, memory.acceleration, v, newton)
    moved_before = 0.0
    for iteration in range(whole(settings.max_iterations)):
        record.counters.iterations += 1
        model.force(t + h, q, v, par, newton.f)
        record.counters.force_calls += 1
        if iteration == 0 and factors_known(model, h, newton) == 0:
            model.mass(t + h, q, par, newton.M)
            status = iteration_matrix(model, h, h, 1.0, 0.0, t + h, q, v, newton, record)
            if status != 0:
                return status
        scale = free_motion(model, h, single, v_k, v, v_new, newton)
        if reacting:
            status = contact(model, reaction, v_new, P, work)
            if status != 0:
                return status
            record.counters.sweeps += whole(newton.info.sweeps)
        if single:
            break
        moved = take_over(v_new, v)
        if left_to_move(moved, moved_before) <= settings.newton_tolerance * scale:
            break
        moved_before = moved
    else:
        return Status.NEWTON_STALLED

    # ---- record
    open_accounts(model, h, reacting, v_k, v, newton, record)
    if reacting:
        report(model, t + h, v_k, v, W, w, work.target, active, work.react.X, memory_new.marks, work.told, record)
    elif nc > 0:
        released(t + h, nc, memory_new.marks, record)
    if (flags & M_CONSTANT) == 0:
        header.drive_work += inertia_gain(model, t, h, q_k, q, v_k, newton.M)
    header.violation = violation
    if not single:
        for i in range(nv):
            memory_new.acceleration[i] = (record.v_minus[i] - v_k[i]) / h
    for r in range(nr):
        memory_new.impulses[r] = P[r]
    return 0


@unit(I(MODEL, PLAIN, A, A, WORK.kind), small=True)
def contact(model, reaction, v_new, P, work):
    """Let contacts and joints react on the free velocity, and return the status.

    in      work: W, w, told.u_minus, active, factors of S
    in/out  v_new: free velocity -> velocity; P: warm start -> impulses
    out     work: target as `react` leaves it, info
    """
    layout, newton, W, w, target = model.layout, work.newton, work.W, work.w, work.target
    for r in range(layout.nr):
        target[r] = w[r]
    for c in range(layout.nc):
        row = layout[layout.contact_row + c]
        target[row] += model.e[c] * work.told.u_minus[row]
    return reaction.react(
        model, reaction.solver, newton.S, handle(Directions(W, W, W)), target, work.active, ASKED.whole, v_new, P,
        newton.info, work.react,
    )  # fmt: skip
