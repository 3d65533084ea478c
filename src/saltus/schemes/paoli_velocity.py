"""Paoli's velocity-based scheme (Paoli, Lyon 2008, after Moreau 1986): the position leads, the velocity follows.

q_new = q_k + h B v_k,  M (v_new - v_k) = h f(t_new, q_new, v_new) + W P,  0 <= u_new + e u_k ⟂ P_N >= 0 where
g(q_new) <= 0; M, W at q_new. With one e this is v_new = -e v_k + (1 + e) proj(V(q_new), v_k + h M^-1 f / (1 + e)).
"""

from __future__ import annotations

import dataclasses
import numbers

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
)
from saltus.profile import factor, multiply, solve
from saltus.reaction import react_iwork, react_work, row_dot
from saltus.record import (
    EVENTS_PER_CONTACT,
)
from saltus.reporting import inertia_gain, released, report
from saltus.schemes.plan import SchemePlan, chosen_solver, flat, newton_only, reaction_plan
from saltus.status import Status

STALLED = int(Status.NEWTON_STALLED)


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
    """

    closed_tolerance: float = dataclasses.field(default=1e-12, kw_only=True)
    solver: object | None = dataclasses.field(default=None, kw_only=True)
    newton_tolerance: float = dataclasses.field(default=1e-12, kw_only=True)
    max_iterations: int = dataclasses.field(default=50, kw_only=True)

    name = "Paoli velocity"
    order = 1

    def __post_init__(self):
        if not isinstance(self.closed_tolerance, numbers.Real) or not np.isfinite(self.closed_tolerance):
            raise SettingError(f"closed_tolerance of PaoliVelocity is {self.closed_tolerance!r}: it must be finite")
        for field in ("newton_tolerance", "max_iterations"):
            if not getattr(self, field) > 0:
                raise SettingError(f"{field} of PaoliVelocity is {getattr(self, field)}: it must be positive")
        if self.max_iterations != int(self.max_iterations):
            raise SettingError(f"max_iterations of PaoliVelocity is {self.max_iterations}: it must be a whole number")
        if self.solver is not None and (isinstance(self.solver, type) or not hasattr(self.solver, "work_size")):
            raise SettingError(f"solver of PaoliVelocity is {self.solver!r}: give a contact solver such as NSGS()")

    def plan(self, layout: np.ndarray) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        nq, nv, nc, nr, size = (int(layout[k]) for k in (NQ, NV, NC, NR, SIZE))
        newton_only(layout, "PaoliVelocity")
        contact_solver = chosen_solver(self.solver, layout)
        own = 1 + 4 * size + int(layout[NW]) + 5 * nr + 4 * nv + nq + nc + int(layout[NJ]) + 2
        return SchemePlan(
            scheme=self,
            step=paoli_velocity,
            settings=np.array([self.closed_tolerance, self.newton_tolerance, float(self.max_iterations)]),
            inner=reaction_plan(layout, contact_solver, drift=False),
            **flat(
                2 * nc + nr + nv, own + react_work(layout, contact_solver), nc + react_iwork(layout, contact_solver)
            ),
            dense=0,
            events=EVENTS_PER_CONTACT * nc,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside a step at s in [0, 1]: q linear with slope v_k, v linear up to the left limit."""
        return start.q + s * (end.q - start.q), start.v + s * (end.v_minus - start.v)


@unit(step_type(0))
def paoli_velocity(model, reaction, settings, t, h, state, state_new, record, room):
    flat_work = FLAT(room)
    work, iwork = flat_work.floats, flat_work.integers
    # ---- model / settings / in / out / work
    layout, par = model.layout, model.par
    nq, nv, nc, nj, nr = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR]
    flags, size, nw = layout[FLAGS], layout[SIZE], layout[NW]
    q_k, v_k, memory = state.q, state.v, state.memory
    q, v, memory_new, P = state_new.q, state_new.v, state_new.memory, record.impulse
    M, S = vec(work, 1, size), vec(work, 1 + size, size)
    at = 1 + 4 * size
    W, w, target = vec(work, at, nw), vec(work, at + nw, nr), vec(work, at + nw + nr, nr)
    at += nw + 2 * nr
    u_minus, before, after = vec(work, at, nr), vec(work, at + nr, nr), vec(work, at + 2 * nr, nr)
    at += 3 * nr
    f, rhs = vec(work, at, nv), vec(work, at + nv, nv)
    iterate, change = vec(work, at + 2 * nv, nv), vec(work, at + 3 * nv, nv)
    at += 4 * nv
    q_dot = v_k if (flags & RATE_IDENTITY) != 0 else vec(work, at, nq)
    g, info = vec(work, at + nq, nc + nj), vec(work, at + nq + nc + nj, 2)
    at += nq + nc + nj + 2
    rest, active = vec(work, at, work.shape[0] - at), ivec(iwork, 0, nc)
    irest = ivec(iwork, nc, iwork.shape[0] - nc)
    marks, warm, acceleration = vec(memory_new, 0, 2 * nc), 2 * nc, 2 * nc + nr

    # ---- positions: explicit, so that gaps, M and W of the end are known at once
    for i in range(memory.shape[0]):
        memory_new[i] = memory[i]
    if (flags & RATE_IDENTITY) == 0:
        model.rate(q_k, v_k, par, q_dot)
    for i in range(nq):
        q[i] = q_k[i] + h * q_dot[i]
    if (flags & HAS_RETRACT) != 0:
        model.retract(q, par)
    reacting, violation = nj > 0, 0.0
    if nc + nj > 0:
        model.gap(t + h, q, par, g)
    for j in range(nc + nj):
        depth = -g[j] if j < nc else abs(g[j])
        if not depth <= violation:  # a gap that is not a number must not pass
            violation = depth
        if j < nc:
            active[j] = 1 if g[j] <= settings[0] else 0
            reacting = reacting or active[j] == 1
    for r in range(nr):
        P[r] = memory[warm + r] if reacting else 0.0
    if reacting:
        model.kinematics(t + h, q, par, W, w)
        for r in range(nr):
            u_minus[r] = row_dot(layout, W, r, v_k) + w[r]

    # ---- velocities: f at the end of the step and contact, repeated while f is nonlinear in v
    single = (flags & (F_FREE | F_LINEAR)) != 0
    v_new = v if single else iterate
    info[0], info[1] = 0.0, 0.0
    for i in range(nv):
        v[i] = v_k[i] if single else v_k[i] + h * memory[acceleration + i]
    moved_before, converged = 0.0, False
    for iteration in range(whole(settings[2])):
        record.counters.iterations += 1
        model.force(t + h, q, v, par, f)
        record.counters.force_calls += 1
        if iteration == 0 and not ((flags & M_CONSTANT) != 0 and (flags & J_CONSTANT) != 0 and work[0] == h):
            status = velocity_matrix(model, h, t + h, q, v, vec(work, 1, 4 * size), record)
            if status != 0:
                return status
            work[0] = h
        scale, moved = 0.0, 0.0
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
            for r in range(nr):
                target[r] = w[r]
            for c in range(nc):
                target[layout[layout[CONTACT_ROW] + c]] += (
                    model.constants[LAW_FLOATS * c] * u_minus[layout[layout[CONTACT_ROW] + c]]
                )
            status = reaction.react(model, reaction.solver, S, W, W, W, target, active, 0, v_new, P, info, rest, irest)
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
        if smaller(moved, ahead) <= settings[1] * scale:
            converged = True
            break
        moved_before = moved
    if not converged:
        return STALLED

    # ---- record
    header = record.header
    header.h_used, header.error, header.residual, header.degree, header.dense_used = h, 0.0, info[0], 0.0, 0.0
    header.events_used, header.drive_work, header.violation = 0.0, 0.0, violation
    header.reacted, header.force_work = 1.0 if reacting else 0.0, 0.0
    if (flags & F_FREE) == 0:
        # M (v - v_k) - W P is what the forces really gave, where f above belongs to the last guess; -W P see `report`
        for i in range(nv):
            rhs[i], change[i] = 0.0, v[i] - v_k[i]
        multiply(layout, M, change, rhs)
    for i in range(nv):
        given = rhs[i] if (flags & F_FREE) == 0 else h * f[i]
        header.force_work += 0.5 * given * (v_k[i] + v[i])
        record.v_minus[i] = v[i]
    for c in range(nc):
        record.dissipation[c] = 0.0
    if reacting:
        report(
            model, t + h, v_k, v, W, w, u_minus, target, before, after, active, vec(rest, 0, layout[NX]), marks, record,
        )  # fmt: skip
    elif nc > 0:
        released(t + h, nc, marks, record)
    if (flags & M_CONSTANT) == 0:
        header.drive_work += inertia_gain(model, t, h, q_k, q, v_k, M)
    if not single:
        for i in range(nv):
            memory_new[acceleration + i] = (record.v_minus[i] - v_k[i]) / h
    for r in range(nr):
        memory_new[warm + r] = P[r]
    return 0


@unit(I(MODEL, F, F, A, A, A, RECORD))
def velocity_matrix(model, h, t, q, v, work, record):
    """Write M and the factors of S = M - h f_v to the front of work."""
    layout = model.layout
    size = layout[SIZE]
    M, S = vec(work, 0, size), vec(work, size, size)
    f_q, f_v = vec(work, 2 * size, size), vec(work, 3 * size, size)
    model.mass(t, q, model.par, M)
    for i in range(size):
        S[i] = M[i]
    if (layout[FLAGS] & F_FREE) == 0:
        model.jacobian(t, q, v, model.par, f_q, f_v)
        record.counters.jacobian_calls += 1
        for i in range(size):
            S[i] -= h * f_v[i]
    return factor(layout, S)
