"""Splitting: smooth motion by a Runge-Kutta method, then impacts at frozen positions (Acary, lecture 2010, 83 to 89).

    M v' = f(t, q, v) + W r,   q' = v            over the step from q_k, v_k to q_1, v_1
    M (v_new - v_1) = W P,     q_new = q_1       0 <= u_plus + e u_minus,  P >= 0,  one of them zero, where g(q_1) <= 0

Joints are held at the stages. With continuous contact forces r closed contacts are held as well, by an index set that
is decided at the start of the step and frozen in it; without, P carries what lasting contacts need. With tolerances
steps end where contacts close, or are halved until they penetrate by the tolerance at most.
"""

from __future__ import annotations

import dataclasses
import functools
import numbers
from math import sqrt
from typing import Literal

import numpy as np

from saltus.compile.seam import head, larger, row_of, tail, unit, whole
from saltus.compile.types import MODEL, RECORD, STAGED, A, F, I, J, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.control.adaptive import Adaptive
from saltus.control.fixed import Fixed
from saltus.errors import SettingError
from saltus.flight.dense import HEADER, acceleration, interpolate, reaction, window_start
from saltus.flight.frame import NODES_ROOM
from saltus.flight.packed_methods import IMPLICIT as IMPLICIT_METHODS
from saltus.flight.packed_methods import METHODS, packed_implicit, packed_method
from saltus.flight.piece import put_piece
from saltus.flight.smooth_step import (
    ERROR_ORDER,
    NODES,
    STAGES,
    STEP_ROOM,
    STEP_STAGES,
    dense_nodes,
    implicit_step,
    stages_of_step,
    step_error,
)
from saltus.lasting.border import BY_LEFT, BY_PREVIOUS, BY_REST, NORMAL, WHOLE, border, project
from saltus.lasting.hold import JAMMED, POWERS, accelerate
from saltus.lasting.index_set import IMPULSIVE, OPEN, SLIP, STICK
from saltus.lasting.inertia import inertia_work
from saltus.lasting.interval import (
    INTERVALS,
    LARGEST_NEWTON,
    STAGE_SETTINGS,
    STAGES_ROOM,
    interval_sizes,
    solve_interval,
)
from saltus.lasting.settle import changed_events, settle
from saltus.lasting.workspace import LASTING
from saltus.laws import friction_rows
from saltus.memory.layout import (
    CONTACT_ROW,
    F_FREE,
    FLAGS,
    LAW_FLOATS,
    M_CONSTANT,
    NC,
    NJ,
    NQ,
    NR,
    NV,
    RATE_IDENTITY,
)
from saltus.memory.profile import solve_row
from saltus.memory.record import (
    IMPACT,
    PAINLEVE,
    REVERSAL,
)
from saltus.reaction.react import row_add, row_dot
from saltus.reaction.report import NORMALS, STICKING, gain_event, new_event
from saltus.schemes.plan import SchemePlan, check_numbers, chosen_solver, reaction_plan, runge_kutta_plan
from saltus.schemes.traits import Traits
from saltus.status import Status
from saltus.tables.tableau import packed, tableau

STALLED = int(Status.NEWTON_STALLED)
ESTIMATED = ("rkf45", "dopri5", "dop853")  # bases with an embedded error estimate
SHARE = 0.1  # of the tolerance, for each step between located impacts: the errors of many steps add up
UNIT = 1e-6  # what the estimates of constant steps are told in
HALVES = 1.8  # to the power of the order: the error for which the control halves a step
# behind the settings that all schemes with stages share
# forces: 1 where lasting contacts have forces; implicit: 1 where the base is; depth: 1 where penetration is an error;
# node_at, tab_at, pair_at: where the nodes of the dense output, the table of implicit stages and the method stand
SPLITTING_SETTINGS = Numbers(f"{' '.join(STAGE_SETTINGS.names)} rtol atol forces implicit depth node_at tab_at pair_at")
EVENTS = 6  # most events of a contact in one step
VALID, REMEMBERED = 0, 1
NOISE = 1e-9  # of an approach: a contact that approached more slowly than this share when the step began did not


@dataclasses.dataclass(frozen=True)
class Splitting:
    """Smooth motion by a Runge-Kutta method, then impacts at its end, at frozen positions.

    With a step size h: order one through impacts whatever the base, the order of the base in smooth motion and, with
    contact forces, in lasting contact. With tolerances (or `solve(..., tol=...)`) the scheme chooses its steps.

    Parameters
    ----------
    base
        Runge-Kutta method of the smooth motion: "heun", "kutta3", "rk4", "rkf45" (order 5 of the pair), "dopri5",
        "dop853", or implicit "radau3", "radau5", "lobatto3a", "lobatto3c", "lobatto3c2".
    contact_forces
        Whether contacts that stay closed are held at the stages; without, an impulse at the end of every step does it.
    impact
        Newton's law with the velocity before the impulse: "left" always, "rest" plastic where the forces of one step
        explain the approach or a body would be back within the step, so that it comes to rest.
    rtol, atol
        Tolerance of a step, relative to the coordinates and velocities and absolute (in their units); None keeps equal
        steps.
    location
        How steps with tolerances meet impacts. "time": the closing is located in time to the tolerance and the step
        ends there. "penetration": a step that ends deeper than the tolerance is halved. None takes "time" with
        contact forces, which it needs, and "penetration" without.
    projection
        Whether positions and velocities are put back onto joints and lasting contacts at the end of a step.
    closed_tolerance
        Gap [m] up to which a contact is closed.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    rest_tolerance
        Normal and slip velocities [m/s] up to which a contact counts as resting, or as not slipping.
    projection_tolerance
        Largest gap [m] left by the projection, relative to 1 m plus the largest coordinate.
    newton_tolerance
        Relative change of the stage velocities at which the stage equations of an implicit base count as solved.
    max_iterations
        Most iterations per step of an implicit base; a step that needs more fails.
    """

    base: str = "rkf45"
    contact_forces: bool = True
    impact: Literal["rest", "left"] = "rest"
    rtol: float | None = None
    atol: float | None = None
    location: Literal["time", "penetration"] | None = None
    projection: bool = True
    closed_tolerance: float = 1e-10
    solver: object | None = None
    rest_tolerance: float = 1e-9
    projection_tolerance: float = 1e-14
    newton_tolerance: float = 1e-14
    max_iterations: int = 50

    def __post_init__(self):
        if self.base not in METHODS:
            one = ", ".join(map(repr, METHODS))
            raise SettingError(f"base of Splitting is {self.base!r}: it must be one of {one}")
        if self.impact not in ("rest", "left"):
            raise SettingError(f"impact of Splitting is {self.impact!r}: it must be 'rest' or 'left'")
        if not isinstance(self.contact_forces, bool | np.bool_):
            raise SettingError(f"contact_forces of Splitting is {self.contact_forces!r}: it must be True or False")
        if self.location not in (None, "time", "penetration"):
            raise SettingError(f"location of Splitting is {self.location!r}: it must be 'time' or 'penetration'")
        if self.location == "time" and not self.contact_forces:
            raise SettingError(
                "location of Splitting is 'time', but without contact forces bodies that rest would strike for ever: "
                "take contact_forces=True or location='penetration'"
            )
        for field in ("rtol", "atol"):
            value = getattr(self, field)
            number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if value is not None and not (number and 1e-15 <= float(value) < np.inf):
                raise SettingError(f"{field} of Splitting is {value!r}: it must be a number of 1e-15 or more, or None")
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            raise SettingError(f"{missing} of Splitting is missing: give both rtol and atol, or tol to solve()")
        check_numbers(self)
        if self.traits.adaptive:
            self._check_adaptive()

    def _check_adaptive(self) -> None:
        """Refuse what cannot follow a tolerance."""
        able = (*ESTIMATED, "radau5") if self._in_time else ESTIMATED
        if self.base not in able:
            one = ", ".join(map(repr, able))
            raise SettingError(f"{self.base} estimates no error: take base = {one}, or StepDoubling(Splitting(...))")
        if self._in_time and (self.impact != "rest" or not self.projection):
            field = "impact" if self.impact != "rest" else "projection"
            raise SettingError(
                f"{field} of Splitting is {getattr(self, field)!r}, which impacts that are located in time do not "
                f"know: leave it out, or take location='penetration'"
            )

    @property
    def traits(self) -> Traits:
        adaptive = self.rtol is not None
        return Traits(adaptive=adaptive, locates_events=adaptive and self._in_time, repeats_steps=adaptive)

    @property
    def _in_time(self) -> bool:
        return self.location == "time" or (self.location is None and bool(self.contact_forces))

    @property
    def name(self) -> str:
        return f"splitting {self.base}" + ("" if self.contact_forces else " (impulses only)")

    def with_tolerance(self, rtol, atol) -> Splitting:
        """Return the same scheme with other tolerances; None keeps one, or takes the other."""
        rtol = rtol if rtol is not None else self.rtol if self.rtol is not None else atol
        atol = atol if atol is not None else self.atol if self.atol is not None else rtol
        return dataclasses.replace(self, rtol=rtol, atol=atol)

    def control(self) -> Adaptive | Fixed:
        """Return the control that goes with the scheme."""
        return Adaptive() if self.traits.adaptive else Fixed()

    def plan(self, layout: np.ndarray) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        if self.rtol is not None and self.atol is not None and self._in_time:
            return runge_kutta_plan(
                self, layout, self.base, estimates=True, closed=self.closed_tolerance, rest=self.rest_tolerance,
                zeno=0.0, rtol=SHARE * self.rtol, atol=SHARE * self.atol, newton_tolerance=self.newton_tolerance,
                solver=self.solver, projection_tolerance=self.projection_tolerance, window=(float(self.atol), 0.0),
            )  # fmt: skip
        contact_solver = chosen_solver(self.solver, layout)
        implicit = self.base in IMPLICIT_METHODS
        pair, polynomial = packed_method(self.base), packed_polynomial()
        tab = packed_implicit(self.base) if implicit else np.zeros(0)
        given = {
            "closed": self.closed_tolerance, "rest": self.rest_tolerance, "projected": self.projection_tolerance,
            "project": self.projection, "law": BY_REST if self.impact == "rest" else BY_LEFT,
        }  # fmt: skip
        nq, nv, nc, nr = (int(layout[k]) for k in (NQ, NV, NC, NR))
        total = int(pair[STAGES])
        sizes = interval_sizes(layout, contact_solver)
        if implicit:
            spatial = friction_rows(layout) > 1
            newton = (spatial or not int(layout[FLAGS]) & F_FREE) and total * nv <= LARGEST_NEWTON
            given |= {"tolerance": self.newton_tolerance, "most": self.max_iterations, "newton": newton}
            sizes = interval_sizes(layout, contact_solver, total, bool(newton))
        node_at = SPLITTING_SETTINGS.size
        tab_at = node_at + len(polynomial)
        rtol, atol = (UNIT, UNIT) if self.rtol is None or self.atol is None else (self.rtol, self.atol)
        given |= {
            "rtol": rtol, "atol": atol, "forces": self.contact_forces, "implicit": implicit,
            "depth": self.traits.adaptive, "node_at": node_at, "tab_at": tab_at, "pair_at": tab_at + len(tab),
        }  # fmt: skip
        settings = SPLITTING_SETTINGS.filled(**{name: given.get(name, 0.0) for name in SPLITTING_SETTINGS.names})
        sizes |= {"total": total, "nodes": NODES}
        own_rate = 0 if int(layout[FLAGS]) & RATE_IDENTITY else NODES * nq
        return SchemePlan(
            scheme=self,
            step=splitting,
            settings=np.concatenate([settings, polynomial, tab, pair]),
            inner=reaction_plan(
                layout,
                contact_solver,
                drift=False,
                interval=solve_interval if implicit else None,
                settle=settle,
                name="Splitting",
            ),
            memory=MEMORY.plan(sizes),
            work=WORK.plan(sizes),
            dense=HEADER + 2 * nr + 2 + nq + nv + NODES * (nv + nr) + own_rate,
            events=EVENTS * nc + 1,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside of steps by the dense output of the base."""
        return interpolate([tableau(NODES - 1, "-", "lobatto")], s, h, start, end, block, side)

    def window_start(self, block, t_end, h):
        """Return where the intervals of impacts begin that steps end with, see Solution.windows."""
        return window_start(block, t_end, h)

    def reaction(self, s, h, block, rows, side):
        """Return the contact forces and their integral inside of steps."""
        return reaction([tableau(NODES - 1, "-", "lobatto")], s, h, block, rows, side)

    def acceleration(self, s, h, block, side):
        """Return v_dot inside of steps, the piece of the step that it belongs to, and the duration of the piece."""
        return acceleration([tableau(NODES - 1, "-", "lobatto")], s, h, block, side)


@functools.cache
def packed_polynomial() -> np.ndarray:
    """Return the nodes of the dense output as kernels see them."""
    return packed(tableau(NODES - 1, "-", "lobatto"))


# What the state remembers: index set and slip directions; a, r, u and powers of the state.
MEMORY = Workspace(
    "SplittingMemory", numbers=Numbers("valid"), index="nc", direction="3 * nc", a_0="nv", r_0="nr", u_0="nr",
    powers_0="width",
)  # fmt: skip
# begun: 1 once the start of the segment is settled, at_time: when that was. State at both ends (v_1 without impulse,
# v_new with it), gaps, impulses and row velocities of the impact; spread: impulses that are forces of the whole step;
# late: share of the step behind a stop. idle stays zero: no impulse is felt by the stages
WORK = Workspace(
    "Splitting", begun=Numbers("begun at_time"), q_0="nq", shifted="nq", v_0="nv", v_1="nv", v_new="nv", v_last="nv",
    g="nc + nj", P="nr", u_minus="nr", u_plus="nr", speed="nr", corrected="nr", spread="nr", w_end="nr", zeta="nr",
    u_start="nr", late="nc", info="2", nodes=NODES_ROOM, R="nodes * nr", sum_r="nr", sum_p="width", stages=STEP_ROOM,
    M="size", idle="nv + nc", solved=STAGES_ROOM, index=integers("nc"), before=integers("nc"), closed=integers("nc"),
    resting=integers("nc"), stopped=integers("nc"), held=integers("nc"), candidate=integers("nc"), hit=integers("nc"),
    interval=INTERVALS,
)  # fmt: skip


@unit(step_type(0))
def splitting(model, reaction, settings, t, h, state, state_new, record, work_room):
    """Make one step: smooth motion of the base under a frozen index set, then the impact law at frozen positions.

    in      state
    out     state_new, record with the dense output of the base
    kept    MEMORY in the state; the factored matrix of implicit stages in the workspace
    """
    settings = SPLITTING_SETTINGS(settings)
    layout, par, core, staged = model.layout, model.par, reaction.reaction, reaction.staged
    nq, nv, nc, nj, nr = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR]
    flags, width, n = layout[FLAGS], POWERS + nc, NODES
    work, memory, q, v, header = WORK(work_room), MEMORY(state_new.own), state_new.q, state_new.v, record.header
    forces, implicit = settings.forces == 1.0, settings.implicit == 1.0
    pair = tail(settings, whole(settings.pair_at))
    nodes_tab, tab = tail(settings, whole(settings.node_at)), tail(settings, whole(settings.tab_at))
    total, step = whole(pair[STAGES]), whole(pair[STEP_STAGES])
    for i in range(state.memory.shape[0]):
        state_new.memory[i] = state.memory[i]
    direction, a_0, r_0, u_0, powers_0 = memory.direction, memory.a_0, memory.r_0, memory.u_0, memory.powers_0
    q_0, shifted, v_0, v_1, v_new, v_last = work.q_0, work.shifted, work.v_0, work.v_1, work.v_new, work.v_last
    g, P, u_minus, u_plus, speed, corrected = work.g, work.P, work.u_minus, work.u_plus, work.speed, work.corrected
    spread, w_end, zeta, u_start, late, info = work.spread, work.w_end, work.zeta, work.u_start, work.late, work.info
    Q, V, Q_dot, a, R = work.nodes.Q, work.nodes.V, work.nodes.Q_dot, work.nodes.a, work.R
    sum_r, sum_p, stages, M, idle, own = work.sum_r, work.sum_p, work.stages, work.M, work.idle, work.solved
    interval, begun = work.interval, work.begun
    room, kept = interval.lasting, interval.kept
    W = room.W
    index, before, closed, resting = work.index, work.before, work.closed, work.resting
    stopped, held, candidate, hit = work.stopped, work.held, work.candidate, work.hit
    t_end = t + h
    header.h_used, header.error, header.residual, header.degree = h, 0.0, 0.0, pair[ERROR_ORDER]
    header.events_used, header.force_work, header.drive_work, header.violation = 0.0, 0.0, 0.0, 0.0
    header.reacted = 1.0 if nj > 0 else 0.0
    for i in range(nq):
        q_0[i] = state.q[i]
    for i in range(nv):
        v_0[i] = state.v[i]
    for k in range(nc):
        before[k] = whole(memory.index[k])
        index[k] = before[k] if forces else OPEN
        record.dissipation[k], resting[k], stopped[k], candidate[k], hit[k] = 0.0, 0, 0, 0, 0
    for i in range(nr):
        P[i], spread[i], u_minus[i], u_plus[i] = 0.0, 0.0, 0.0, 0.0

    # ---- the start of a run, or of a segment behind a jump of the force
    if (
        memory.numbers.valid == 0.0 or begun.begun == 0.0 or begun.at_time == t
    ):  # also when its first step is tried once more
        if memory.numbers.valid == 0.0:
            for k in range(nc):
                index[k], before[k] = OPEN, OPEN
        model.gap(t, q_0, par, g)
        status = decided(
            model, staged, settings, t, q_0, v_0, g, 0.0, index, direction, resting, stopped, candidate, a_0, r_0,
            u_0, powers_0, info, interval, record,
        )  # fmt: skip
        if status != 0:
            return status
        for k in range(nc):
            if forces and before[k] != index[k] and (memory.numbers.valid == 1.0 or index[k] == IMPULSIVE):
                changed_events(model, t, k, before[k], index[k], 0, u_0, r_0, record)
            if forces:
                before[k] = index[k]
        memory.numbers.valid, begun.begun, begun.at_time = 1.0, 1.0, t

    # ---- smooth motion under the frozen index set
    for attempt in range(nc + 2):
        if implicit:
            for i in range(width):
                own.powers[i] = powers_0[i]  # of a first stage that is the state itself
            status = implicit_step(
                model, staged, settings, tab, t, h, q_0, v_0, index, direction, a_0, r_0, stages, own, idle, interval,
                record,
            )  # fmt: skip
        else:
            status = stages_of_step(
                model, pair, t, h, q_0, v_0, index, direction, a_0, r_0, powers_0, 0, step, stages, room, record
            )
        if status == 0:
            for i in range(nq):
                q[i] = stages.q[i]
            for i in range(nv):
                v_1[i] = stages.v[i]
            if not implicit:
                header.error = step_error(
                    model, pair, h, q_0, v_0, settings.rtol, settings.atol, head(settings, 0), index, stages, room
                )
            status = stages_of_step(
                model, pair, t, h, q_0, v_0, index, direction, a_0, r_0, powers_0, step, total, stages, room,
                record,
            )  # fmt: skip
        if status == JAMMED and attempt < nc:
            # no finite force holds this contact (Painleve): it is left to the impulse at the end of the step
            jam = room.held.jam
            index[jam] = IMPULSIVE
            new_event(t, jam, PAINLEVE, 0, 0, P, P, P, record)
            before[jam] = IMPULSIVE
            status = accelerate(
                model, t, q_0, v_0, index, direction, 0, a_0, r_0, u_0, powers_0, room, record
            )  # fmt: skip
            if implicit:
                kept.renew = 1.0
            if status != 0:
                return status
            continue
        if status == STALLED and attempt <= nc and nc > 0:
            # a slip that stops in space turns too quickly for the iteration: straight on from here
            for k in range(nc):
                direction[2 * nc + k] = 1.0
            kept.renew = 1.0
            continue
        if status != 0:
            return status
        break
    dense_nodes(model, pair, h, q_0, v_0, stages, Q, V, Q_dot, a, R, sum_r, sum_p)
    model.retract(q, par)
    for i in range(nr):
        record.impulse[i] = sum_r[i]
        if record.impulse[i] != 0.0:
            header.reacted = 1.0
    header.force_work += sum_p[0]
    header.drive_work += sum_p[1]
    for k in range(nc):
        record.dissipation[k] += sum_p[POWERS + k]
    if (flags & M_CONSTANT) == 0:
        header.drive_work += inertia_work(model, nodes_tab, t, h, Q, V, Q_dot, shifted, M)
    for i in range(nv):
        v[i], record.v_minus[i] = v_1[i], v_1[i]

    # ---- what is closed at the end
    model.gap(t_end, q, par, g)
    holding, near, struck = nj > 0, False, False
    for k in range(nc):
        holds = index[k] == SLIP or index[k] == STICK
        closed[k] = 1 if holds or g[k] <= settings.closed else 0
        holding, near = holding or holds, near or (closed[k] == 1 and not holds)
    if settings.depth == 1.0:
        deep, length = 0.0, 0.0
        for k in range(nc):
            deep = larger(deep, -g[k])
        for i in range(nq):
            length = larger(length, abs(q[i]))
        deep /= settings.atol + settings.rtol * length
        header.error = larger(header.error, deep if deep <= 1.0 else HALVES**header.degree)
    if nc > 0 and (near or holding):
        model.kinematics(t_end, q, par, W, u_minus)
        for i in range(nr):
            u_minus[i] += row_dot(layout, W, i, v)
        for k in range(nc):
            row, end = layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]
            if index[k] == SLIP and end - row > 1:
                forward, began = 0.0, 0.0
                for i in range(row + 1, end):
                    forward += u_minus[i] * direction[2 * k + i - row - 1]
                    began += u_0[i] * direction[2 * k + i - row - 1]
                # a slip that reversed has stopped in between: friction would not have pushed it back
                stopped[k] = 1 if forward <= settings.rest else 0
                late[k] = abs(forward) / larger(larger(began, 0.0) + abs(forward), 1e-300)
            if closed[k] == 1 and index[k] != SLIP and index[k] != STICK:
                floor = 0.0 if index[k] == IMPULSIVE or not forces else -settings.rest
                struck = struck or u_minus[row] < floor

    # ---- impact at frozen positions
    if struck:
        a_end, r_end = row_of(stages.K_v, step - 1, nv), row_of(stages.K_r, step - 1, nr)
        model.curvature(t_end, q, v, par, zeta)
        for k in range(nc):
            row, e = layout[layout[CONTACT_ROW] + k], model.constants[LAW_FLOATS * k]
            speed[row] = 0.0
            if closed[k] == 1 and index[k] != SLIP and index[k] != STICK and u_minus[row] < 0.0:
                speed[row] = u_minus[row]
                pressed = -h * (row_dot(layout, W, row, a_end) + zeta[row])
                if settings.law == BY_REST and pressed > 0.0 and -2.0 * e * u_minus[row] <= pressed:
                    speed[row] = 0.0  # it would be back within the step: it comes to rest
        model.kinematics(t, q_0, par, W, u_start)
        for k in range(nc):
            row = layout[layout[CONTACT_ROW] + k]
            u_start[row] += row_dot(layout, W, row, v_0)
            if settings.law == BY_REST and u_start[row] >= NOISE * u_minus[row] - settings.rest:
                speed[row] = 0.0  # it did not approach when the step began: what the forces of one step bring
        status = border(
            model, core, t_end, h, settings.rest, BY_PREVIOUS, q, v, a_end, speed, index, closed, v_new, P, u_minus,
            u_plus, info, room, record,
        )  # fmt: skip
        if status != 0:
            return status
        header.residual, header.reacted = larger(header.residual, info[0]), 1.0
        struck_by(
            model, settings, t_end, h, closed, a_end, r_end, v_new, P, u_start, u_minus, u_plus, zeta, hit, resting,
            spread, room, record,
        )  # fmt: skip
        for i in range(nr):
            record.impulse[i] += P[i]
        for i in range(nv):
            v[i] = v_new[i]
            # impulses of lasting contacts are forces of the whole step
            share = (record.v_minus[i] - v_1[i]) / h
            for j in range(n):
                a[j * nv + i] += share
        for i in range(nr):
            for j in range(n):
                R[j * nr + i] += spread[i] / h
    for i in range(nr):
        record.dense[HEADER + i] = r_0[i] + spread[i] / h

    # ---- what stays closed is put in place
    used = put_piece(model, 0.0, 1.0, q_0, v_0, NODES, a, R, Q_dot, HEADER + nr, record.dense)
    anything = nj > 0
    for k in range(nc):
        row, end = layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]
        held[k] = 0
        if index[k] == SLIP or index[k] == STICK or resting[k] == 1:
            slides = False
            for i in range(row + 1, end):
                slides = slides or abs(u_plus[i] if struck else u_minus[i]) > settings.rest
            held[k] = NORMAL if slides and (struck or (index[k] != STICK and stopped[k] == 0)) else WHOLE
            if struck and u_plus[row] > settings.rest and resting[k] == 0:
                held[k] = 0  # the impact lifts it
        anything = anything or held[k] != 0
    if anything and settings.project == 1.0:
        for i in range(nv):
            v_last[i] = v[i]
        status = put_back(
            model, settings, t_end, q, v, shifted, v_last, held, stopped, 0 if struck else 1, late, u_minus, corrected,
            g, room, record,
        )  # fmt: skip
        if status != 0:
            return status
        model.kinematics(t_end, q, par, W, w_end)
        for i in range(nv):
            record.v_minus[i] += v[i] - v_last[i]
        for k in range(nc):
            for i in range(layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]):
                through = 0.5 * (row_dot(layout, W, i, v_last) + row_dot(layout, W, i, v)) + w_end[i]
                record.dissipation[k] -= corrected[i] * through
                header.drive_work -= corrected[i] * w_end[i]
        for i in range(nr - nj, nr):
            header.drive_work += 0.5 * corrected[i] * (row_dot(layout, W, i, v_last) + row_dot(layout, W, i, v))
        for i in range(nr):
            record.impulse[i] += corrected[i]

    # ---- what the next step begins with
    if near or holding or struck:
        status = decided(
            model, staged, settings, t_end, q, v, g, 1.0 if struck else 0.0, index, direction, resting, stopped,
            candidate, a_0, r_0, u_0, powers_0, info, interval, record,
        )  # fmt: skip
        if status != 0:
            return status
        header.residual = larger(header.residual, info[0] if forces else 0.0)
    else:
        for i in range(nv):
            a_0[i] = stages.K_v[(step - 1) * nv + i]
        for i in range(nr):
            r_0[i] = 0.0
        for i in range(width):
            powers_0[i] = stages.K_p[(step - 1) * width + i]
        for k in range(nc):
            index[k] = OPEN
    for k in range(nc):
        direction[2 * nc + k] = 0.0
        mark = index[k]
        if not forces:
            mark = lasting_mark(model, k, resting[k], P)
        if before[k] != mark:
            if implicit and forces:
                kept.renew = 1.0
            changed_events(model, t_end, k, before[k], mark, hit[k], u_0, r_0, record)
        elif stopped[k] == 1 and mark == SLIP:
            new_event(t_end, k, REVERSAL, 0, 0, u_0, u_0, r_0, record)
        memory.index[k] = mark
    for i in range(nr):
        record.dense[used + i] = r_0[i] + spread[i] / h
    record.dense[0], record.dense[1], record.dense[2], record.dense[3] = 1.0, n, nq, nv
    record.dense[4], record.dense[5] = nr, 0.0 if (flags & RATE_IDENTITY) != 0 else 1.0
    record.dense[6] = t
    header.dense_used = used + nr
    for j in range(nc + nj):
        depth = -g[j] if j < nc else abs(g[j])
        if not depth <= header.violation:  # a gap that is not a number must not pass
            header.violation = depth
    return 0


@unit(I(MODEL, STAGED, A, F, A, A, A, F, J, A, J, J, J, A, A, A, A, A, INTERVALS.kind, RECORD))
def decided(
    model, staged, settings, t, q, v, g, struck, index, direction, resting, stopped, candidate, a, r, u, powers, info,
    interval, record,
):  # fmt: skip
    """Decide the index set and write acceleration, forces and powers of the state; impulses alone hold nothing."""
    settings = SPLITTING_SETTINGS(settings)
    if settings.forces == 1.0:
        return staged.settle(
            model, staged.reaction, settings, t, q, v, g, 1, struck, index, direction, resting, stopped, candidate,
            a, r, u, powers, info, interval, record,
        )  # fmt: skip
    return accelerate(model, t, q, v, index, direction, 0, a, r, u, powers, interval.lasting, record)


@unit(I(MODEL, A, F, F, J, A, A, A, A, A, A, A, A, J, J, A, LASTING.kind, RECORD))
def struck_by(
    model, settings, t, h, closed, a, r, v_new, P, u_start, u_minus, u_plus, zeta, hit, resting, spread, room, record,
):  # fmt: skip
    """Write energy, events and left limit of the impulse at the end of a step, and which contacts rest after it.

    a, r: acceleration and forces at the end of the smooth motion; zeta: curvature there; u_start: gap velocities
    at the beginning of the step
    out     hit: 1 per contact that an impact strikes; spread: impulses of the others, which are lasting
    Without contact forces a contact that did not approach when the step began is a lasting one, unless an impact
    elsewhere reaches it. Where all closed contacts hop by less than a step (a box that rocks) all of them rest.
    """
    settings = SPLITTING_SETTINGS(settings)
    layout, header, v_minus = model.layout, record.header, record.v_minus
    nv, nc, nj, nr = layout[NV], layout[NC], layout[NJ], layout[NR]
    lu, W, X, column, w = room.lu, room.W, room.X, room.column, room.w
    forces, most, hops = settings.forces == 1.0, 0.0, settings.law == BY_REST and settings.project == 1.0
    for i in range(nr):
        solve_row(layout, lu, W, i, X, column)
    for k in range(nc):
        row = layout[layout[CONTACT_ROW] + k]
        most = larger(most, P[row])
        if closed[k] == 0:
            continue
        for i in range(nv):
            column[i] = 0.0
        row_add(layout, X, row, 1.0, column)
        # what would press without its own force
        pressed = h * (r[row] * row_dot(layout, W, row, column) - row_dot(layout, W, row, a) - zeta[row])
        hops = hops and (2.0 * u_plus[row] <= pressed or u_plus[row] <= settings.rest)
        explained = u_start[row] >= NOISE * u_minus[row] - settings.rest
        if P[row] > 0.0 and (forces or not explained):
            hit[k] = 1
    for i in range(nv):
        v_minus[i] = v_new[i]
    found, anyone = True, False
    for k in range(nc):
        if hit[k] == 1 and P[layout[layout[CONTACT_ROW] + k]] > 1e-12 * most:
            anyone = True
            for i in range(layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]):
                row_add(layout, X, i, -P[i], v_minus)
        else:
            hit[k] = 0
    while found and anyone and not forces:
        # an impact reaches the contacts behind it at the same instant: what is struck grows until nothing changes
        found = False
        for k in range(nc):
            row = layout[layout[CONTACT_ROW] + k]
            if closed[k] == 0 or hit[k] == 1 or not P[row] > 1e-12 * most:
                continue
            brought = u_plus[row] - w[row] - row_dot(layout, W, row, v_minus)
            if u_start[row] + brought < NOISE * u_minus[row] - settings.rest:
                hit[k], found = 1, True
                for i in range(row, layout[layout[CONTACT_ROW] + k + 1]):
                    row_add(layout, X, i, -P[i], v_minus)
    for k in range(nc):
        row, end = layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]
        if closed[k] == 0:
            continue
        for i in range(row, end):
            record.dissipation[k] -= 0.5 * P[i] * (u_minus[i] + u_plus[i])
            header.drive_work -= P[i] * w[i]
            spread[i] = 0.0 if hit[k] == 1 else P[i]
        resting[k] = 1 if hops or (u_plus[row] <= settings.rest and P[row] > 0.0) else 0
        if hit[k] == 1:
            new_event(t, k, IMPACT, row, end, u_minus, u_plus, P, record)
    if anyone:
        gain_event(model, t, hit, 1, NORMALS, u_start, u_minus, u_plus, P, record)
    for i in range(nr - nj, nr):
        header.drive_work += P[i] * (0.5 * (u_minus[i] + u_plus[i]) - w[i])
        if anyone:
            row_add(layout, X, i, -P[i], v_minus)
        else:
            spread[i] = P[i]
    return 0


@unit(I(MODEL, A, F, A, A, A, A, J, J, I, A, A, A, A, LASTING.kind, RECORD))
def put_back(
    model, settings, t, q, v, q_last, v_last, held, stopped, stopping, late, u, P, g, room, record
):  # fmt: skip
    """Move q and v onto the joints and held contacts, and stop the slips that reversed, as far as friction can.

    in      v_last: v as it comes; stopping: whether slips are stopped; late: share of the step behind the stop;
            u: row velocities
    in/out  q, v; held: a slip that friction cannot stop becomes NORMAL
    out     P: impulses; g: gaps and constraints at the new q
    Behind the stop friction acts the other way: its impulse is that of the frozen direction plus 2 mu P_N late at most.
    """
    settings = STAGE_SETTINGS(settings)
    layout = model.layout
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    lu, W, X, column, w = room.lu, room.W, room.X, room.column, room.w
    for i in range(nq):
        q_last[i] = q[i]
    for i in range(nr):
        P[i] = 0.0
    for _ in range(nc + 1):
        status = project(model, settings.projected, t, q, v, held, P, g, room)
        if status != 0:
            return status
        again = False
        for k in range(nc):
            row, end = layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]
            if stopping == 0 or stopped[k] == 0 or held[k] != WHOLE:
                continue
            needed, most = 0.0, 2.0 * late[k] * model.constants[LAW_FLOATS * k + 1] * record.impulse[row]
            for i in range(row + 1, end):
                needed += P[i] * P[i]
            if sqrt(needed) > larger(most, 0.0) * (1.0 + NOISE):
                held[k], again = NORMAL, True
        if not again:
            return 0
        for i in range(nq):
            q[i] = q_last[i]
        for i in range(nv):
            v[i] = v_last[i]
        for i in range(nr):
            P[i] = 0.0
        model.kinematics(t, q, model.par, W, w)
        for k in range(nc):
            row, end = layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]
            if stopped[k] == 0 or held[k] != NORMAL:
                continue
            most, speed = 2.0 * late[k] * model.constants[LAW_FLOATS * k + 1] * larger(record.impulse[row], 0.0), 0.0
            for i in range(row + 1, end):
                speed += u[i] * u[i]
            for i in range(row + 1, end):
                P[i] = -most * u[i] / larger(sqrt(speed), 1e-300)
                solve_row(layout, lu, W, i, X, column)
                row_add(layout, X, i, P[i], v)
    return 0


@unit(I(MODEL, I, I, A))
def lasting_mark(model, contact, resting, P):
    """Return what a contact that impulses hold does: nothing, slip or stick."""
    layout = model.layout
    row, end = layout[layout[CONTACT_ROW] + contact], layout[layout[CONTACT_ROW] + contact + 1]
    if resting == 0:
        return OPEN
    friction = 0.0
    for i in range(row + 1, end):
        friction += P[i] * P[i]
    cone = model.constants[LAW_FLOATS * contact + 1] * P[row]
    return STICK if end - row > 1 and sqrt(friction) < STICKING * cone else SLIP
