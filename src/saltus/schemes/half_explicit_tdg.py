"""Half-explicit D-: degree 1, contact on velocity level at both stages (after Schindler, Acary 2014, Algorithm 3.4).

The force of the first stage closes the velocities of the forecast, the force of the second those of the end:

    M_0 (v_1 - v_k) = h f_0 + W_0 P_0             0 <= u_1 = W_1^T v_1 + w_1,  P_0 >= 0,  one of them zero
    M_1 (v_new - v_f) = W_1 P,                    v_f = v_k + h/2 (M_0^-1 (f_0 + W_0 P_0 / h) + M_1^-1 f_1)
    q_new = q_k + h/2 (v_k + v_1)                 subscripts 0, 1: at the start and at q_new, v_1
"""

from __future__ import annotations

import dataclasses
from math import sqrt
from typing import Literal

import numpy as np

from saltus.compile.seam import larger, unit, whole
from saltus.compile.types import step_type
from saltus.compile.workspace import Workspace, integers
from saltus.errors import SettingError
from saltus.flight.dense import HEADER, interpolate, reaction
from saltus.lasting.border import NORMAL, project
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import (
    CONTACT_ROW,
    FLAGS,
    LAW_FLOATS,
    M_CONSTANT,
    NC,
    NJ,
    NQ,
    NR,
    NV,
    RATE_IDENTITY,
    W_CONSTANT,
)
from saltus.memory.profile import factor, quadratic, solve
from saltus.memory.record import (
    CLOSING,
    IMPACT,
    RELEASE,
    SLIP,
    STICK,
)
from saltus.reaction.impacts import reacting_sizes, restitute
from saltus.reaction.react import IMPACT as STRUCK
from saltus.reaction.react import row_dot
from saltus.reaction.report import NOTHING, STICKING, gain_event, new_event
from saltus.schemes.plan import SchemePlan, check_numbers, chosen_solver, reaction_plan
from saltus.status import Status
from saltus.tables.tableau import tableau

STALLED = int(Status.NEWTON_STALLED)
CLOSED_TOLERANCE, REST, LAW, TOLERANCE, MOST, PROJECT, PROJECTED = range(7)
BY_REST, BY_LEFT = 0.0, 1.0
OPEN, HELD, SLIPS, STICKS = 0.0, 1.0, 2.0, 3.0  # marks of the contacts


@dataclasses.dataclass(frozen=True)
class HalfExplicitTDG:
    """D- of degree 1 with contacts and joints on velocity level: no index sets, explicit forces, order 2.

    Contacts, friction and joints obey their laws in the velocities of the forecast and of the end of the step, so that
    sticking and release need no decision. Position, velocity and impulse are of order 2 in lasting contact, the
    contact force at a single time of order 1; where a slip turns or reverses all are of order 1.

    Parameters
    ----------
    impact
        Newton's law for contacts that close in the step: "left" with the velocity before the impulse, "rest" the same
        but plastic where a body would be back within the step.
    projection
        Whether positions and velocities are put back onto joints and lasting contacts at the end of a step.
    closed_tolerance
        Gap [m] up to which a contact is closed.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    rest_tolerance
        Normal velocity [m/s] up to which a contact counts as resting.
    projection_tolerance
        Largest gap [m] left by the projection, relative to 1 m plus the largest coordinate.
    newton_tolerance
        Relative change of the forecast position at which the iteration on W(q_new) ends.
    max_iterations
        Most iterations per step; a step that needs more fails.
    """

    impact: Literal["rest", "left"] = "rest"
    projection: bool = True
    closed_tolerance: float = 1e-10
    solver: object | None = None
    rest_tolerance: float = 1e-9
    projection_tolerance: float = 1e-14
    newton_tolerance: float = 1e-14
    max_iterations: int = 50

    name = "half-explicit D1-"

    def __post_init__(self):
        if self.impact not in ("rest", "left"):
            raise SettingError(f"impact of HalfExplicitTDG is {self.impact!r}: it must be 'rest' or 'left'")
        check_numbers(self)

    def plan(self, layout: np.ndarray) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        contact_solver = chosen_solver(self.solver, layout)
        nq, nv, nc, nr = (int(layout[k]) for k in (NQ, NV, NC, NR))
        sizes = reacting_sizes(layout, contact_solver)
        own_rate = 0 if int(layout[FLAGS]) & RATE_IDENTITY else 2 * nq
        return SchemePlan(
            scheme=self,
            step=half_explicit,
            settings=np.array(
                [
                    self.closed_tolerance,
                    self.rest_tolerance,
                    BY_REST if self.impact == "rest" else BY_LEFT,
                    self.newton_tolerance,
                    self.max_iterations,
                    self.projection,
                    self.projection_tolerance,
                ],
                dtype=float,
            ),
            inner=reaction_plan(layout, contact_solver, drift=False, name="HalfExplicitTDG"),
            memory=MEMORY.plan(sizes),
            work=WORK.plan(sizes),
            dense=HEADER + 2 + nq + nv + 2 * (nv + nr) + own_rate + 2 * nr,
            events=3 * nc + 1,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside of steps: v integrates the two accelerations, q integrates v."""
        return interpolate([tableau(1, "-")], s, h, start, end, block, side)

    def reaction(self, s, h, block, rows, side):
        """Return the linear force between the two stages and its integral inside of steps."""
        return reaction([tableau(1, "-")], s, h, block, rows, side)


# what the state remembers: marks of the contacts, impulses of the last forecast
MEMORY = Workspace("HalfExplicitMemory", marks="nc", warm="nr")
# _0, _1: at the beginning and at the end of the forecast. M_0, M_1: factors; M, column, v_last: scratch; a_0, a_1: the
# two accelerations of the step; P_0, P_1: impulses of the forecast and of the end; corrected: of the projection
WORK = Workspace(
    "HalfExplicit", M_0="size", M_1="size", M="size", W_0="nw", W_1="nw", f_0="nv", f_1="nv", a_0="nv", a_1="nv",
    v_1="nv", v_free="nv", column="nv", v_last="nv", q_dot="nq", q_dot_1="nq", q_1="nq", w_0="nr", w_1="nr",
    target="2 * nr", zeta="nr", P_0="nr", P_1="nr", u_minus="nr", u_plus="nr", corrected="nr", g_0="nc + nj",
    g="nc + nj", info="2", closed=integers("nc"), lasting=integers("nc"), held=integers("nc"), hit=integers("nc"),
    room=LASTING,
)  # fmt: skip


@unit(step_type(0))
def half_explicit(model, reaction, settings, t, h, state, state_new, record, work_room):
    """Make a forecast with contacts and joints on velocity level, then the end of the step with the impact law.

    in      state
    out     state_new, record with two accelerations and two forces as dense output
    kept    marks of the contacts and impulses of the forecast, in the state
    """
    layout, par, work, memory = model.layout, model.par, WORK(work_room), MEMORY(state_new.own)
    nq, nv, nc, nj, nr, flags = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR], layout[FLAGS]
    q_0, v_0, q, v, header = state.q, state.v, state_new.q, state_new.v, record.header
    M_0, M_1, M, W_0, W_1 = work.M_0, work.M_1, work.M, work.W_0, work.W_1
    f_0, f_1, a_0, a_1, v_1, v_free = work.f_0, work.f_1, work.a_0, work.a_1, work.v_1, work.v_free
    column, v_last, q_dot, q_dot_1, q_1 = work.column, work.v_last, work.q_dot, work.q_dot_1, work.q_1
    w_0, w_1, target, zeta, P_0, P_1 = work.w_0, work.w_1, work.target, work.zeta, work.P_0, work.P_1
    u_minus, u_plus, corrected, g_0, g, info = work.u_minus, work.u_plus, work.corrected, work.g_0, work.g, work.info
    closed, lasting, held, hit, room = work.closed, work.lasting, work.held, work.hit, work.room
    identity = (flags & RATE_IDENTITY) != 0
    for i in range(state.memory.shape[0]):
        state_new.memory[i] = state.memory[i]
    marks, warm = memory.marks, memory.warm
    header.h_used, header.error, header.residual, header.degree = h, 0.0, 0.0, 1.0
    header.events_used, header.force_work, header.drive_work, header.violation = 0.0, 0.0, 0.0, 0.0
    for c in range(nc):
        record.dissipation[c] = 0.0

    # ---- forecast: explicit forces, velocities of closed contacts and joints closed at its end
    model.gap(t, q_0, par, g_0)
    reacting = nj > 0
    for c in range(nc):
        # what was held stays closed whatever the drift of its gap
        closed[c] = 1 if g_0[c] <= settings[CLOSED_TOLERANCE] or marks[c] != OPEN else 0
        reacting = reacting or closed[c] == 1
    model.mass(t, q_0, par, M_0)
    status = factor(layout, M_0)
    if status != 0:
        return status
    model.force(t, q_0, v_0, par, f_0)
    record.counters.force_calls += 1
    solve(layout, M_0, f_0, a_0, column)
    for i in range(nv):
        v_1[i] = v_0[i] + h * a_0[i]
    for i in range(nr):
        P_0[i] = warm[i]
    if reacting:
        model.kinematics(t, q_0, par, W_0, w_0)
    if identity:
        for i in range(nq):
            q_dot[i] = v_0[i]
    else:
        model.rate(q_0, v_0, par, q_dot)
    for i in range(nq):
        q_1[i] = q_0[i] + h * q_dot[i]
    moved, scale = 0.0, 0.0
    for sweep in range(whole(settings[MOST]) + 1):
        record.counters.iterations += 1
        for i in range(nv):
            v_last[i] = v_1[i]
            v_1[i] = v_0[i] + h * a_0[i]
        if reacting:
            model.kinematics(t + h, q_1, par, W_1, w_1)
            for i in range(nr):
                target[i] = w_1[i]
            status = reaction.react(
                model, reaction.solver, M_0, W_0, W_1, W_1, target, closed, 0, v_1, P_0, info, room.react
            )
            record.counters.sweeps += whole(info[1])
            if status != 0:
                return status
        if identity:
            for i in range(nq):
                q_dot_1[i] = v_1[i]
        else:
            model.rate(q_1, v_1, par, q_dot_1)
        moved, scale = 0.0, 0.0
        for i in range(nq):
            last = q_1[i]
            q_1[i] = q_0[i] + 0.5 * h * (q_dot[i] + q_dot_1[i])
            moved, scale = larger(moved, abs(q_1[i] - last)), larger(scale, larger(abs(q_1[i]), h * abs(q_dot_1[i])))
        if sweep > 0 and moved <= settings[TOLERANCE] * scale:
            break
        if identity and (not reacting or (flags & W_CONSTANT) != 0):
            break
        if sweep == whole(settings[MOST]):
            return STALLED
    if reacting:
        header.residual = info[0]
    for i in range(nv):
        a_0[i] = (v_1[i] - v_0[i]) / h
    for i in range(nq):
        q[i] = q_1[i]
    model.retract(q, par)

    # ---- end: the other half of the forces, then the law for everything that is closed there
    model.mass(t + h, q, par, M_1)
    status = factor(layout, M_1)
    if status != 0:
        return status
    model.force(t + h, q, v_1, par, f_1)
    record.counters.force_calls += 1
    solve(layout, M_1, f_1, a_1, column)
    model.gap(t + h, q, par, g)
    for i in range(nv):
        v_free[i] = v_0[i] + 0.5 * h * (a_0[i] + a_1[i])
        v[i] = v_free[i]
    ending = nj > 0
    for c in range(nc):
        row = layout[layout[CONTACT_ROW] + c]
        lasting[c] = 1 if closed[c] == 1 and P_0[row] > 0.0 else 0
        # a contact that carried a force goes on by the law whatever the drift of its gap
        held[c] = 1 if g[c] <= settings[CLOSED_TOLERANCE] or lasting[c] == 1 else 0
        ending = ending or held[c] == 1
    for i in range(nr):
        P_1[i], u_minus[i] = 0.0, 0.0
    if ending:
        model.kinematics(t + h, q, par, W_1, w_1)
        model.curvature(t + h, q, v_free, par, zeta)
        for i in range(nr):
            u_minus[i] = row_dot(layout, W_1, i, v_free) + w_1[i]
            target[i] = w_1[i]
        for c in range(nc):
            row, e = layout[layout[CONTACT_ROW] + c], model.constants[LAW_FLOATS * c]
            if held[c] == 0:
                continue
            pressed = -h * (row_dot(layout, W_1, row, a_1) + zeta[row])
            hops = lasting[c] == 1 or (settings[LAW] == BY_REST and -2.0 * e * u_minus[row] <= pressed)
            strikes = not hops and u_minus[row] < -settings[REST]
            restitute(model, c, 0.0 if hops else u_minus[row], 1 if strikes else 0, u_minus, target)
        status = reaction.react(
            model, reaction.solver, M_1, W_1, W_1, W_1, target, held, STRUCK, v, P_1, info, room.react
        )
        record.counters.sweeps += whole(info[1])
        if status != 0:
            return status
        header.residual = larger(header.residual, info[0])
        for i in range(nr):
            u_plus[i] = row_dot(layout, W_1, i, v) + w_1[i]

    # ---- record: a lasting contact takes its share of P as the force at the end, an impact as an impulse
    struck = False
    for c in range(nc):
        hit[c] = 0
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        if held[c] == 1 and lasting[c] == 0 and P_1[row] > 0.0 and u_minus[row] < -settings[REST]:
            struck = True
            new_event(t + h, c, IMPACT, row, end, u_minus, u_plus, P_1, record)
            hit[c] = 1
    if struck:
        gain_event(model, t + h, hit, 1, NOTHING, u_minus, u_minus, u_plus, P_1, record)
    header.reacted = 1.0 if reacting or ending else 0.0
    for i in range(nv):
        header.force_work += 0.5 * h * (f_0[i] * v_0[i] + f_1[i] * v_1[i])
        record.v_minus[i] = v_free[i] if struck else v[i]
        if not struck:
            a_1[i] = 2.0 * (v[i] - v_0[i]) / h - a_0[i]
    for c in range(nc):
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        for i in range(row, end):
            if closed[c] == 1:
                record.dissipation[c] -= 0.5 * P_0[i] * (row_dot(layout, W_0, i, v_0) + w_0[i])
                header.drive_work -= 0.5 * P_0[i] * w_0[i]
            if held[c] == 1:
                before = u_plus[i] if lasting[c] == 1 else u_minus[i]
                record.dissipation[c] -= 0.5 * P_1[i] * (before + u_plus[i])
                header.drive_work -= P_1[i] * w_1[i]
    for i in range(nr):
        record.impulse[i] = 0.5 * P_0[i] + P_1[i] if reacting or ending else 0.0
    for i in range(nr - nj, nr):
        header.drive_work -= 0.5 * P_0[i] * w_0[i] + P_1[i] * w_1[i]
    if (flags & M_CONSTANT) == 0:
        for end in range(2):  # 1/2 v^T (M_new - M_k) v, the mean of both ends
            if end == 1:
                model.mass(t + h, q, par, M)
            else:
                model.mass(t, q_0, par, M)
            gain = 0.25 * (quadratic(layout, M, v_0) + quadratic(layout, M, v))
            header.drive_work += gain if end == 1 else -gain
    for c in range(nc):
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        pushes = (closed[c] == 1 and P_0[row] > 0.0) or (held[c] == 1 and P_1[row] > 0.0)
        rests = pushes and u_plus[row] <= settings[REST]
        mark = OPEN
        if rests:
            mark = HELD
            if end - row > 1:
                friction = 0.0
                for i in range(row + 1, end):
                    friction += record.impulse[i] * record.impulse[i]
                cone = model.constants[LAW_FLOATS * c + 1] * record.impulse[row]
                mark = STICKS if sqrt(friction) < STICKING * cone else SLIPS
        if marks[c] != OPEN and mark == OPEN:
            new_event(t + h, c, RELEASE, row, row, u_minus, u_plus, P_1, record)
        if marks[c] == OPEN and mark != OPEN and not struck:
            new_event(t + h, c, CLOSING, row, row, u_minus, u_plus, P_1, record)
        if mark != marks[c] and (mark == STICKS or mark == SLIPS):
            new_event(t + h, c, STICK if mark == STICKS else SLIP, row, row, u_minus, u_plus, P_1, record)
        marks[c] = mark
        held[c] = NORMAL if rests else 0
    for i in range(nr):
        warm[i] = P_0[i] if reacting else 0.0

    # ---- projection, dense output
    dense = record.dense
    dense[0], dense[1], dense[2], dense[3], dense[4], dense[5] = 1.0, 2.0, nq, nv, nr, 0.0 if identity else 1.0
    dense[6] = t
    used = HEADER + nr
    dense[used], dense[used + 1] = 0.0, 1.0
    used += 2
    for i in range(nq):
        dense[used + i] = q_0[i]
    used += nq
    for i in range(nv):
        dense[used + i], dense[used + nv + i], dense[used + 2 * nv + i] = v_0[i], a_0[i], a_1[i]
    used += 3 * nv
    for i in range(nr):
        dense[used + i] = P_0[i] / h if reacting else 0.0
        dense[HEADER + i] = dense[used + i]
        dense[used + nr + i] = 2.0 * P_1[i] / h
    for c in range(nc):
        if lasting[c] == 0:
            for i in range(layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]):
                if struck:
                    dense[used + nr + i] = 0.0
    used += 2 * nr
    if not identity:
        for i in range(nq):
            dense[used + i], dense[used + nq + i] = q_dot[i], q_dot_1[i]
        used += 2 * nq
    for i in range(nr):
        dense[used + i] = dense[used - nr - (0 if identity else 2 * nq) + i]
    header.dense_used = used + nr
    anything = nj > 0
    for c in range(nc):
        anything = anything or held[c] != 0
    if settings[PROJECT] == 1.0 and anything:
        for i in range(nr):
            corrected[i] = 0.0
        room.known.factored = 0.0
        status = project(model, settings[PROJECTED], t + h, q, v, held, corrected, g, room)
        if status != 0:
            return status
        for i in range(nr):
            record.impulse[i] += corrected[i]
        if not struck:
            for i in range(nv):
                record.v_minus[i] = v[i]
    for j in range(nc + nj):
        depth = -g[j] if j < nc else abs(g[j])
        if not depth <= header.violation:  # a gap that is not a number must not pass
            header.violation = depth
    return 0
