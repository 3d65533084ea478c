"""Moreau-Jean: the theta time-stepping scheme (Moreau 1988, Jean 1999; Acary & Brogliato 2008, ch. 10).

M (v_new - v_k) = h f_theta + W P,  q_new = q_k + h B v_theta,  0 <= u_new + e u_k ⟂ P_N >= 0 where the forecast
g_k + gamma h u_k is closed. Tangential restitution acts only where an impact strikes, Poisson's law on the impulse that
the velocities at the start of the step ask for, so that neither touches a body at rest. Subscript theta: the state
(1 - theta) k + theta new.
"""

from __future__ import annotations

import dataclasses
import numbers
from typing import Literal

import numpy as np

from saltus.compile.seam import ivec, larger, smaller, unit, vec, whole
from saltus.compile.types import FLAT, MODEL, RECORD, A, F, I, step_type
from saltus.errors import SettingError
from saltus.layout import (
    CONTACT_ROW,
    F_FREE,
    F_LINEAR,
    FLAGS,
    HAS_RETRACT,
    J_CONSTANT,
    LAW_FLOATS,
    M_CONSTANT,
    NC,
    NJ,
    NQ,
    NR,
    NV,
    NW,
    NX,
    RATE_IDENTITY,
    SIZE,
    TANGENTIAL,
    W_COL,
    W_CONSTANT,
    W_PTR,
)
from saltus.profile import factor, multiply, quadratic, solve
from saltus.reaction import IMPACT, drift_iwork, drift_work, react_iwork, react_work, restitute, row_dot
from saltus.record import (
    EVENTS_PER_CONTACT,
)
from saltus.reporting import released, report
from saltus.schemes.plan import SchemePlan, chosen_solver, flat, reaction_plan
from saltus.status import Status

STALLED = int(Status.NEWTON_STALLED)
LOADED = 1e-6  # of the way that bodies fall in a step: a gap that a loaded contact has not opened


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
        "end" at its end, with f_theta = (1 - theta) f_k + theta f_new and u_k from the start of the step.
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
    at: Literal["theta", "end"] = "theta"
    projection: bool | Literal["active"] = False
    closed_tolerance: float = 1e-12
    solver: object | None = None
    projection_tolerance: float = 1e-12
    newton_tolerance: float = 1e-12
    max_iterations: int = 50

    name = "Moreau-Jean"
    order = 1  # through impacts; 2 in smooth motion with theta = 1/2
    known_gaps = 0  # place in the memory that says whether its gaps are those of q

    def __post_init__(self):
        for field in ("theta", "gamma"):
            value = getattr(self, field)
            if not isinstance(value, numbers.Real) or not 0.0 <= float(value) <= 1.0:
                raise SettingError(f"{field} of MoreauJean is {value!r}: it must lie between 0 and 1")
        if self.projection not in (True, False, "active"):
            raise SettingError(f"projection of MoreauJean is {self.projection!r}: it must be True, False or 'active'")
        if self.at not in ("theta", "end"):
            raise SettingError(f"at of MoreauJean is {self.at!r}: it must be 'theta' or 'end'")
        for field in ("projection_tolerance", "newton_tolerance", "max_iterations"):
            if not getattr(self, field) > 0:
                raise SettingError(f"{field} of MoreauJean is {getattr(self, field)}: it must be positive")
        if self.max_iterations != int(self.max_iterations):
            raise SettingError(f"max_iterations of MoreauJean is {self.max_iterations}: it must be a whole number")
        if not np.isfinite(self.closed_tolerance):
            raise SettingError(f"closed_tolerance of MoreauJean is {self.closed_tolerance}: it must be finite")
        if self.solver is not None and (isinstance(self.solver, type) or not hasattr(self.solver, "work_size")):
            remedy = (
                f"{self.solver.__name__}() with brackets" if isinstance(self.solver, type) else "one such as NSGS()"
            )
            raise SettingError(f"solver of MoreauJean is {self.solver!r}, not a contact solver: give {remedy}")

    @property
    def symmetric(self) -> bool:
        """Whether the smooth error is a series in h^2: the midpoint rule, joints included."""
        return self.theta == 0.5 and self.at == "theta" and self.projection is False

    @property
    def contact_inside(self) -> bool:
        """Whether contact velocities are those of directions inside of the step, not at its end."""
        return self.theta < 1.0 and self.at == "theta"

    def plan(self, layout: np.ndarray) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        contact_solver = chosen_solver(self.solver, layout)
        settings = [
            self.theta,
            self.gamma,
            self.closed_tolerance,
            float(self.at == "end"),
            self.newton_tolerance,
            float(self.max_iterations),
            self.projection_tolerance,
            20.0,  # projection iterations: it converges quadratically, 20 means never
            float(self.projection is True),
        ]
        nq, nv, nc, nj, nr, size = (int(layout[k]) for k in (NQ, NV, NC, NJ, NR, SIZE))
        own = 1 + 4 * size + 2 * int(layout[NW]) + 6 * nr + 6 * nv + 2 * nq + 2
        inner = max(react_work(layout, contact_solver), drift_work(layout, contact_solver))
        inner_int = max(react_iwork(layout, contact_solver), drift_iwork(layout, contact_solver))
        return SchemePlan(
            scheme=self,
            step=moreau_jean,
            settings=np.array(settings),
            inner=reaction_plan(layout, contact_solver, drift=bool(self.projection)),
            **flat(1 + 3 * nc + nj + nr + nv, own + inner, 2 * nc + inner_int),
            dense=0,
            events=EVENTS_PER_CONTACT * nc,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside a step at s in [0, 1]: q quadratic with slope v_k, v linear up to the left limit."""
        q = start.q + s * h * start.q_dot + s * s * (end.q - start.q - h * start.q_dot)
        return q, start.v + s * (end.v_minus - start.v)


@unit(step_type(0))
def moreau_jean(model, reaction, settings, t, h, state, state_new, record, room):
    flat_work = FLAT(room)
    work, iwork = flat_work.floats, flat_work.integers
    # ---- model / settings / in / out / work
    layout, par = model.layout, model.par
    nq, nv, nc, nj, nr = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR]
    flags, size, nw = layout[FLAGS], layout[SIZE], layout[NW]
    theta, gamma, closed, at_end, tolerance = settings[0], settings[1], settings[2], settings[3] == 1.0, settings[4]
    q_k, v_k, memory = state.q, state.v, state.memory
    q, v, memory_new, P = state_new.q, state_new.v, state_new.memory, record.impulse
    M, S = vec(work, 1, size), vec(work, 1 + size, size)
    at = 1 + 4 * size
    W, W_end = vec(work, at, nw), vec(work, at + nw, nw)
    at += 2 * nw
    w, w_end, target = vec(work, at, nr), vec(work, at + nr, nr), vec(work, at + 2 * nr, 2 * nr)
    u_minus, u_start = vec(work, at + 4 * nr, nr), vec(work, at + 5 * nr, nr)
    at += 6 * nr
    f, f_k, rhs, v_theta = (
        vec(work, at, nv),
        vec(work, at + nv, nv),
        vec(work, at + 2 * nv, nv),
        vec(work, at + 3 * nv, nv),
    )
    iterate, change = vec(work, at + 4 * nv, nv), vec(work, at + 5 * nv, nv)
    at += 6 * nv
    identity = (flags & RATE_IDENTITY) != 0
    q_dot = v_theta if identity else vec(work, at + nq, nq)  # without kinematics of its own, q_dot is v itself
    q_at, info = vec(work, at, nq), vec(work, at + 2 * nq, 2)
    at += 2 * nq + 2
    rest, active, struck = vec(work, at, work.shape[0] - at), ivec(iwork, 0, nc), ivec(iwork, nc, nc)
    irest = ivec(iwork, 2 * nc, iwork.shape[0] - 2 * nc)
    acceleration = 1 + 3 * nc + nj + nr

    # ---- predict: gaps and index set at the start
    for i in range(memory.shape[0]):
        memory_new[i] = memory[i]
    g, marks = vec(memory_new, 1, nc + nj), vec(memory_new, 1 + nc + nj, 2 * nc)
    if memory[0] == 0.0:
        model.gap(t, q_k, par, g)
    reacting = nj > 0
    if nc > 0:
        if not ((flags & W_CONSTANT) != 0 and work[0] == h):
            model.kinematics(t, q_k, par, W, w)
        for c in range(nc):
            row = layout[layout[CONTACT_ROW] + c]
            for r in range(row, layout[layout[CONTACT_ROW] + c + 1]):
                u_start[r] = row_dot(layout, W, r, v_k) + w[r]
            active[c] = 1 if g[c] + gamma * h * u_start[row] <= closed else 0
            if active[c] == 0 and memory[acceleration - nr + row] > 0.0:
                # a contact that carried a load has not opened where the gap is rounding, summed up over many steps
                fall = 0.0
                for k in range(layout[layout[W_PTR] + row], layout[layout[W_PTR] + row + 1]):
                    fall += abs(W[k] * memory[acceleration + layout[layout[W_COL] + k]])
                active[c] = 1 if g[c] + gamma * h * u_start[row] <= LOADED * h * h * fall else 0
            reacting = reacting or active[c] == 1
    if reacting:  # else nobody reads the impulses
        for r in range(nr):
            P[r] = memory[acceleration - nr + r]
    # ---- free motion and contact, repeated while the equations are nonlinear
    constant = (flags & M_CONSTANT) != 0 and (flags & J_CONSTANT) != 0
    linear = (flags & M_CONSTANT) != 0 and (flags & F_LINEAR) != 0 and identity
    single = theta == 0.0 or (linear and ((flags & W_CONSTANT) != 0 or not reacting))
    v_new = v if single else iterate  # the guess is compared with the result only in iterations
    t_at, share = (t + h, 1.0) if at_end else (t + theta * h, theta)
    info[0], info[1] = 0.0, 0.0
    for i in range(nv):
        v[i] = v_k[i] if single else v_k[i] + h * memory[acceleration + i]
    for i in range(nq):
        q_at[i] = q_k[i]
    if at_end:
        model.force(t, q_k, v_k, par, f_k)
        record.counters.force_calls += 1
    moved_before, converged = 0.0, False
    for iteration in range(whole(settings[5])):
        record.counters.iterations += 1
        for i in range(nv):
            v_theta[i] = (1.0 - theta) * v_k[i] + theta * v[i]
        if not identity:
            model.rate(q_at, v_theta, par, q_dot)
        q_moved, q_scale, scale, moved = 0.0, 0.0, 0.0, 0.0
        for i in range(nq):
            q_next = q_k[i] + share * h * q_dot[i]
            if not identity:
                q_moved = larger(q_moved, abs(q_next - q_at[i]))
                q_scale = larger(q_scale, abs(q_next))
            q_at[i] = q_next
        v_at = v if at_end else v_theta
        model.force(t_at, q_at, v_at, par, f)
        record.counters.force_calls += 1
        if at_end:
            for i in range(nv):
                f[i] = (1.0 - theta) * f_k[i] + theta * f[i]
        if iteration > 0:
            model.mass(t_at, q_at, par, M)  # the matrix of the first iteration serves the others too
        elif not (constant and work[0] == h):
            status = iteration_matrix(model, theta * h, t_at, q_at, v_at, vec(work, 1, 4 * size), record)
            if status != 0:
                return status
            work[0] = h
        for i in range(nv):
            change[i] = v_k[i] - v[i]
            rhs[i] = h * f[i]
        if not single:  # else v is still v_k
            multiply(layout, M, change, rhs)
        solve(layout, S, rhs, change, rest)
        for i in range(nv):
            v_new[i] = v[i] + change[i]
            scale = larger(larger(scale, abs(v_k[i])), abs(v_new[i]))
        if reacting:
            if (flags & W_CONSTANT) == 0 or nj > 0:
                model.kinematics(t_at, q_at, par, W, w)
            for c in range(nc):
                row = layout[layout[CONTACT_ROW] + c]
                for r in range(row, layout[layout[CONTACT_ROW] + c + 1]):
                    kept = at_end or (flags & W_CONSTANT) != 0
                    u_minus[r] = u_start[r] if kept else row_dot(layout, W, r, v_k) + w[r]
                    target[r] = w[r]
                if (flags & TANGENTIAL) != 0 and iteration == 0:
                    # an impact approaches faster than the forces of one step explain
                    fall = abs(row_dot(layout, W, row, v_new) + w[row] - u_minus[row])
                    struck[c] = 1 if -u_minus[row] > fall * (1.0 + 1e-9) else 0
                restitute(model, c, u_minus[row], struck[c], u_minus, target)
                if active[c] == 1 and g[c] + gamma * h * u_start[row] > closed:
                    target[row] += g[c] / h  # a loaded contact, which closes again
            if nj > 0:
                # joint velocities vanish at the end of the step and forces act at theta: symmetric, of second order
                for i in range(nq):
                    q[i] = q_k[i] + h * q_dot[i]
                model.kinematics(t + h, q, par, W_end, w_end)
                for r in range(nr - nj, nr):
                    target[r] = w_end[r]
            status = reaction.react(
                model, reaction.solver, S, W, W, W_end, target, active, IMPACT, v_new, P, info, rest, irest
            )
            if status != 0:
                return status
            record.counters.sweeps += whole(info[1])
        if single:
            converged = True
            break
        for i in range(nv):
            moved = larger(moved, abs(v_new[i] - v[i]))
            v[i] = v_new[i]
        # a contraction known from two iterations tells what the next one would still change
        ratio = moved / moved_before if moved_before > 0.0 else 1.0
        ahead = moved * ratio / (1.0 - ratio) if ratio < 0.5 else moved
        settled = identity or q_moved <= tolerance * (q_scale + h * scale)
        if settled and smaller(moved, ahead) <= tolerance * scale:
            converged = True
            break
        moved_before = moved
    if not converged:
        return STALLED

    # ---- update
    for i in range(nv):
        v_theta[i] = (1.0 - theta) * v_k[i] + theta * v[i]
    if not identity:
        model.rate(q_at, v_theta, par, q_dot)
    for i in range(nq):
        q[i] = q_k[i] + h * q_dot[i]
    if (flags & HAS_RETRACT) != 0:
        model.retract(q, par)

    # ---- record
    header = record.header
    header.h_used, header.error, header.residual, header.degree, header.dense_used = h, 0.0, info[0], 0.0, 0.0
    header.events_used, header.drive_work, header.violation = 0.0, 0.0, 0.0
    header.reacted = 1.0 if reacting else 0.0
    if (flags & F_FREE) == 0:
        # M (v - v_k) - W P is what the forces really gave, where f above belongs to the last guess; -W P see `report`
        for i in range(nv):
            rhs[i], change[i] = 0.0, v[i] - v_k[i]
        multiply(layout, M, change, rhs)
    force_work = 0.0
    for i in range(nv):
        given = rhs[i] if (flags & F_FREE) == 0 else h * f[i]
        force_work += 0.5 * given * (v_k[i] + v[i])
        record.v_minus[i] = v[i]
    header.force_work = force_work
    if reacting:
        for c in range(nc):
            record.dissipation[c] = 0.0
            if (flags & TANGENTIAL) != 0 and struck[c] == 1:  # the report wants velocities without it
                for r in range(layout[layout[CONTACT_ROW] + c] + 1, layout[layout[CONTACT_ROW] + c + 1]):
                    target[r] -= model.constants[LAW_FLOATS * c + 2] * u_minus[r]
        report(
            model, t + h, v_k, v, W, w, u_minus, target, u_start, w_end, active, vec(rest, 0, layout[NX]), marks,
            record,
        )  # fmt: skip
    elif nc > 0:
        released(t + h, nc, marks, record)
    if not single:
        # iterations end with f at the solution itself: then its work does not lean on the momentum balance
        header.force_work = 0.0
        for i in range(nv):
            header.force_work += 0.5 * h * f[i] * (v_k[i] + v[i])
    if (flags & M_CONSTANT) == 0:
        header.drive_work += inertia_work(model, t, h, q_k, q, v_k, v, vec(work, 1, size), change)
        work[0] = 0.0
    if reacting or settings[8] == 1.0:
        status = reaction.drift(model, reaction.solver, vec(settings, 6, 2), t + h, q, v, P, rest, irest)
        if status != 0:
            return status
    if not single:
        for i in range(nv):
            memory_new[acceleration + i] = (record.v_minus[i] - v_k[i]) / h
    if reacting:
        for r in range(nr):
            memory_new[acceleration - nr + r] = P[r]
    memory_new[0] = 1.0
    if nc + nj > 0:
        model.gap(t + h, q, par, g)
    for j in range(nc + nj):
        depth = -g[j] if j < nc else abs(g[j])
        if not depth <= header.violation:  # a gap that is not a number must not pass
            header.violation = depth
    return 0


@unit(I(MODEL, F, F, A, A, A, RECORD))
def iteration_matrix(model, theta_h, t, q, v, work, record):
    """Write M and the factors of S = M - theta h f_v - (theta h)^2 f_q B to the front of work."""
    layout = model.layout
    size = layout[SIZE]
    M, S = vec(work, 0, size), vec(work, size, size)
    f_q, f_v = vec(work, 2 * size, size), vec(work, 3 * size, size)
    model.mass(t, q, model.par, M)
    for i in range(size):
        S[i] = M[i]
    if theta_h > 0.0 and (layout[FLAGS] & F_FREE) == 0:
        model.jacobian(t, q, v, model.par, f_q, f_v)
        record.counters.jacobian_calls += 1
        for i in range(size):
            S[i] -= theta_h * (f_v[i] + theta_h * f_q[i])
    return factor(layout, S)


@unit(F(MODEL, F, F, A, A, A, A, A, A))
def inertia_work(model, t, h, q_k, q, v_k, v, M, v_mean):
    """Return 1/2 v^T (M_new - M_k) v at the mean velocity: what a changing M adds to the kinetic energy."""
    for i in range(v.shape[0]):
        v_mean[i] = 0.5 * (v_k[i] + v[i])
    model.mass(t + h, q, model.par, M)
    after = quadratic(model.layout, M, v_mean)
    model.mass(t, q_k, model.par, M)
    return 0.5 * (after - quadratic(model.layout, M, v_mean))
