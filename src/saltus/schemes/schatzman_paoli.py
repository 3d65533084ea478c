"""Schatzman-Paoli: two-step scheme on position level (Paoli, Schatzman 2002; Acary, Aussois 2010, eqs. 42-43).

M(q_new) (q_new - 2 q_k + q_last) = h^2 f_theta + h W P,  0 <= g(z) ⟂ P >= 0,  z = (q_new + e q_last)/(1 + e), W at z.
Below x = (q_new - q_k)/h is the unknown: M (x - x_k) = h f_theta + W P, so P is an impulse [N s].
"""

from __future__ import annotations

import dataclasses
import numbers

import numpy as np

from saltus.compile.seam import ivec, larger, smaller, unit, vec, whole
from saltus.compile.types import FLAT, MODEL, RECORD, A, F, I, step_type
from saltus.errors import SettingError
from saltus.layout import (
    F_FREE,
    F_LINEAR,
    FLAGS,
    HAS_RETRACT,
    J_CONSTANT,
    KIND,
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
    W_CONSTANT,
    W_PTR,
)
from saltus.profile import factor, multiply, solve
from saltus.reaction import react_iwork, react_work, row_dot
from saltus.record import (
    EVENTS_PER_CONTACT,
)
from saltus.reporting import CLOSED, STRUCK, inertia_gain, released, report
from saltus.schemes.plan import SchemePlan, chosen_solver, flat, newton_only, reaction_plan
from saltus.status import Status

STALLED, STEP_CHANGED = int(Status.NEWTON_STALLED), int(Status.STEP_CHANGED)
SAME_STEP = 1e-6  # relative change of h that the rounding of t explains
ROUNDING = 4e-16  # what rounding q relative to its size leaves undecided
SPREAD = 3.0  # mark of a contact in the second step of an impact, which is neither a hit nor lasting contact


@dataclasses.dataclass(frozen=True)
class SchatzmanPaoli:
    """The position-level scheme of Schatzman and Paoli, without friction and with one step size for the whole run.

    Parameters
    ----------
    theta
        Where the force is evaluated: 0 (start of the step, explicit in q) to 1 (its end).
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

    theta: float = 0.5
    lagging_velocity: bool = dataclasses.field(default=False, kw_only=True)
    solver: object | None = dataclasses.field(default=None, kw_only=True)
    newton_tolerance: float = dataclasses.field(default=1e-12, kw_only=True)
    max_iterations: int = dataclasses.field(default=50, kw_only=True)

    name = "Schatzman-Paoli"
    order = 1
    fixed_step = True  # the memory holds the position one step ago

    def __post_init__(self):
        if not isinstance(self.theta, numbers.Real) or not 0.0 <= float(self.theta) <= 1.0:
            raise SettingError(f"theta of SchatzmanPaoli is {self.theta!r}: it must lie between 0 and 1")
        for field in ("newton_tolerance", "max_iterations"):
            if not getattr(self, field) > 0:
                raise SettingError(f"{field} of SchatzmanPaoli is {getattr(self, field)}: it must be positive")
        if self.max_iterations != int(self.max_iterations):
            raise SettingError(f"max_iterations of SchatzmanPaoli is {self.max_iterations}: it must be a whole number")
        if self.solver is not None and (isinstance(self.solver, type) or not hasattr(self.solver, "work_size")):
            raise SettingError(f"solver of SchatzmanPaoli is {self.solver!r}: give a contact solver such as Lemke()")

    def plan(self, layout: np.ndarray) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        nq, nv, nc, nj, nr, nw, size = (int(layout[k]) for k in (NQ, NV, NC, NJ, NR, NW, SIZE))
        if any(layout[layout[KIND] + c] > 1 for c in range(nc)):
            raise SettingError(
                "SchatzmanPaoli cannot do friction (a contact has slip): use MoreauJean() or PaoliVelocity()"
            )
        if not layout[FLAGS] & RATE_IDENTITY or layout[FLAGS] & HAS_RETRACT:
            raise SettingError(
                "SchatzmanPaoli cannot do coordinates with q_dot or retract, because it averages positions: "
                "use MoreauJean() or PaoliVelocity()"
            )
        newton_only(layout, "SchatzmanPaoli")
        contact_solver = chosen_solver(self.solver, layout)
        settings = [self.theta, self.newton_tolerance, float(self.max_iterations), float(self.lagging_velocity)]
        own = 1 + 4 * size + nw + 6 * nr + 5 * nv + nq + nc + nj + 2 + _rows_work(layout)
        return SchemePlan(
            scheme=self,
            step=schatzman_paoli,
            settings=np.array(settings),
            inner=reaction_plan(layout, contact_solver, drift=False),
            **flat(
                1 + nq + nv + 2 * nc + nr + nv,
                own + react_work(layout, contact_solver),
                nc + react_iwork(layout, contact_solver),
            ),
            dense=0,
            events=EVENTS_PER_CONTACT * nc,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside a step at s in [0, 1]: both linear, v up to the left limit."""
        return start.q + s * (end.q - start.q), start.v + s * (end.v_minus - start.v)


@unit(step_type(0))
def schatzman_paoli(model, reaction, settings, t, h, state, state_new, record, room):
    flat_work = FLAT(room)
    work, iwork = flat_work.floats, flat_work.integers
    # ---- model / settings / in / out / work
    layout, par = model.layout, model.par
    nq, nv, nc, nj, nr = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR]
    flags, size, nw = layout[FLAGS], layout[SIZE], layout[NW]
    theta, share = settings[0], 0.5 if settings[3] == 1.0 else 1.0  # share of x in the stored velocity
    q_k, v_k, memory = state.q, state.v, state.memory
    q, v, memory_new, P = state_new.q, state_new.v, state_new.memory, record.impulse
    M, S = vec(work, 1, size), vec(work, 1 + size, size)
    at = 1 + 4 * size
    W, w, target = vec(work, at, nw), vec(work, at + nw, nr), vec(work, at + nw + nr, nr)
    at += nw + 2 * nr
    u_minus, u_free = vec(work, at, nr), vec(work, at + nr, nr)
    before, after = vec(work, at + 2 * nr, nr), vec(work, at + 3 * nr, nr)
    at += 4 * nr
    f, rhs = vec(work, at, nv), vec(work, at + nv, nv)
    x, x_new = vec(work, at + 2 * nv, nv), vec(work, at + 3 * nv, nv)
    change, q_at = vec(work, at + 4 * nv, nv), vec(work, at + 5 * nv, nq)
    at += 5 * nv + nq
    g, info = vec(work, at, nc + nj), vec(work, at + nc + nj, 2)
    at += nc + nj + 2
    rows = nq + nc + nj + nw + nr
    row_work, at = vec(work, at, rows), at + rows
    rest, active = vec(work, at, work.shape[0] - at), ivec(iwork, 0, nc)
    irest = ivec(iwork, nc, iwork.shape[0] - nc)
    q_last, x_k = vec(memory_new, 1, nq), vec(memory_new, 1 + nq, nv)  # overwritten at the end of the step
    at = 1 + nq + nv
    marks, warm, acceleration = vec(memory_new, at, 2 * nc), at + 2 * nc, at + 2 * nc + nr

    # ---- the step before
    for i in range(memory.shape[0]):
        memory_new[i] = memory[i]
    if memory[0] == 0.0:
        for i in range(nv):
            q_last[i], x_k[i] = q_k[i] - h * v_k[i], v_k[i]
    elif abs(h - memory[0]) > SAME_STEP * h:
        return STEP_CHANGED

    # ---- free motion and contact, repeated while the equations are nonlinear
    constant = (flags & M_CONSTANT) != 0 and (flags & J_CONSTANT) != 0
    rigid = (flags & W_CONSTANT) != 0 or nr == 0
    single = (flags & M_CONSTANT) != 0 and (flags & F_LINEAR) != 0 and rigid
    info[0], info[1] = 0.0, 0.0
    for i in range(nv):
        x[i] = x_k[i] if single else x_k[i] + h * memory[acceleration + i]
    for c in range(nc):
        active[c] = 1
    for r in range(nr):
        P[r] = memory[warm + r]
    reacting, converged, moved_before = nj > 0, False, 0.0
    for iteration in range(whole(settings[2])):
        record.counters.iterations += 1
        q_scale, scale, moved = 0.0, 0.0, 0.0
        for i in range(nv):
            q[i] = q_k[i] + h * x[i]
            q_at[i] = q_k[i] + theta * h * x[i]
            v[i] = (1.0 - theta) * v_k[i] + theta * (share * x[i] + (1.0 - share) * x_k[i])
            q_scale = larger(q_scale, abs(q[i]))
        model.force(t + theta * h, q_at, v, par, f)
        record.counters.force_calls += 1
        known = constant and work[0] == h
        if nr > 0:
            constraint_rows(model, t, h, q_last, q, 1 if rigid and known else 0, g, W, w, row_work)
        if iteration > 0:
            model.mass(t + h, q, par, M)  # the matrix of the first iteration serves the others too
        elif not known:
            status = position_matrix(model, t, h, theta, share, q, q_at, v, vec(work, 1, 4 * size), record)
            if status != 0:
                return status
            work[0] = h
        for i in range(nv):
            change[i] = x_k[i] - x[i]
            rhs[i] = h * f[i]
        if not single:  # else x is still x_k
            multiply(layout, M, change, rhs)
        solve(layout, S, rhs, change, rest)
        for i in range(nv):
            x_new[i] = x[i] + change[i]
            scale = larger(larger(scale, abs(x_k[i])), abs(x_new[i]))
        # g(z) linearised, times (1 + e)/h: a condition on x_new like those on velocities
        reacting = nj > 0
        for r in range(nr):
            e = model.constants[LAW_FLOATS * r] if r < nc else 0.0
            u = row_dot(layout, W, r, x_new)
            target[r] = (1.0 + e) * g[r] / h - row_dot(layout, W, r, x)
            u_minus[r] = row_dot(layout, W, r, x_k) + w[r]
            u_free[r] = u + w[r] + e * u_minus[r]
            reacting = reacting or not u + target[r] >= 0.0
        if reacting:
            status = reaction.react(model, reaction.solver, S, W, W, W, target, active, 0, x_new, P, info, rest, irest)
            if status != 0:
                return status
            record.counters.sweeps += whole(info[1])
        for i in range(nv):
            moved = larger(moved, abs(x_new[i] - x[i]))
            x[i] = x_new[i]
        if single:
            converged = True
            break
        # a contraction known from two iterations tells what the next one would still change
        ratio = moved / moved_before if moved_before > 0.0 else 1.0
        ahead = moved * ratio / (1.0 - ratio) if ratio < 0.5 else moved
        if smaller(moved, ahead) <= settings[1] * scale + ROUNDING * q_scale / h:
            converged = True
            break
        moved_before = moved
    if not converged:
        return STALLED

    # ---- update
    for i in range(nv):
        q[i] = q_k[i] + h * x[i]
        v[i] = share * x[i] + (1.0 - share) * x_k[i]
    for r in range(nr):
        P[r] = P[r] if reacting else 0.0

    # ---- record
    header = record.header
    header.h_used, header.error, header.residual, header.degree, header.dense_used = h, 0.0, info[0], 0.0, 0.0
    header.events_used, header.drive_work, header.violation, header.force_work = 0.0, 0.0, 0.0, 0.0
    header.reacted = 1.0 if reacting else 0.0
    if (flags & F_FREE) == 0:
        # M (x - x_k) - W P is what the forces really gave, where f above belongs to the last guess; -W P see `report`
        for i in range(nv):
            rhs[i], change[i] = 0.0, x[i] - x_k[i]
        multiply(layout, M, change, rhs)
    for i in range(nv):
        given = rhs[i] if (flags & F_FREE) == 0 else h * f[i]
        header.force_work += 0.5 * given * (x_k[i] + x[i])
        record.v_minus[i] = x[i]
    for c in range(nc):
        record.dissipation[c] = 0.0
    if reacting:
        report(
            model, t + h, x_k, x, W, w, u_minus, u_free, before, after, active, vec(rest, 0, layout[NX]), marks, record,
        )  # fmt: skip
        for c in range(nc):
            if memory[1 + nq + nv + c] == STRUCK and marks[c] == CLOSED:
                marks[c] = SPREAD
    elif nc > 0:
        released(t + h, nc, marks, record)
    if (flags & M_CONSTANT) == 0:
        header.drive_work += inertia_gain(model, t, h, q_k, q, x_k, M)
    if share < 1.0:
        for i in range(nv):
            record.v_minus[i] = v[i]
    elif not single:
        for i in range(nv):
            memory_new[acceleration + i] = (record.v_minus[i] - x_k[i]) / h
    memory_new[0] = h
    for i in range(nv):
        q_last[i], x_k[i] = q_k[i], x[i]
    for r in range(nr):
        memory_new[warm + r] = P[r]
    if nc + nj > 0:
        model.gap(t + h, q, par, g)
    for j in range(nc + nj):
        depth = -g[j] if j < nc else abs(g[j])
        if not depth <= header.violation:  # a gap that is not a number must not pass
            header.violation = depth
    return 0


def _rows_work(layout) -> int:
    """Return the floats that `constraint_rows` needs."""
    return sum(int(layout[k]) for k in (NQ, NC, NJ, NW, NR))


@unit(I(MODEL, F, F, A, A, I, A, A, A, A))
def constraint_rows(model, t, h, q_last, q, keep, g, W, w, work):
    """Write gap, W and w of every contact at z = (q + e q_last)/(1 + e) and of the joints at q; keep: only the gaps."""
    layout = model.layout
    nq, nc, nj, nr, nw = layout[NQ], layout[NC], layout[NJ], layout[NR], layout[NW]
    z, g_z = vec(work, 0, nq), vec(work, nq, nc + nj)
    W_z, w_z = vec(work, nq + nc + nj, nw), vec(work, nq + nc + nj + nw, nr)
    e_done = -1.0
    for r in range(nr):
        e = model.constants[LAW_FLOATS * r] if r < nc else 0.0
        if e != e_done:
            for i in range(nq):
                z[i] = (q[i] + e * q_last[i]) / (1.0 + e)
            # the mean of the times too: contacts may move
            t_z = (t + h + e * (t - h)) / (1.0 + e)
            model.gap(t_z, z, model.par, g_z)
            if keep == 0:
                model.kinematics(t_z, z, model.par, W_z, w_z)
            e_done = e
        g[r] = g_z[r]
        if keep == 0:
            w[r] = w_z[r]
            for k in range(layout[layout[W_PTR] + r], layout[layout[W_PTR] + r + 1]):
                W[k] = W_z[k]
    return 0


@unit(I(MODEL, F, F, F, F, A, A, A, A, RECORD))
def position_matrix(model, t, h, theta, share, q, q_at, v, work, record):
    """Write M at the end of the step and the factors of S = M - theta h (share f_v + h f_q) to the front of work."""
    layout = model.layout
    size = layout[SIZE]
    M, S = vec(work, 0, size), vec(work, size, size)
    f_q, f_v = vec(work, 2 * size, size), vec(work, 3 * size, size)
    model.mass(t + h, q, model.par, M)
    for i in range(size):
        S[i] = M[i]
    if theta > 0.0 and (layout[FLAGS] & F_FREE) == 0:
        model.jacobian(t + theta * h, q_at, v, model.par, f_q, f_v)
        record.counters.jacobian_calls += 1
        for i in range(size):
            S[i] -= theta * h * (share * f_v[i] + h * f_q[i])
    return factor(layout, S)
