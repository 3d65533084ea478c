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
from typing import Literal, NamedTuple

import numpy as np

from saltus.compile.seam import head, larger, row_of, tail, unit, whole
from saltus.compile.types import MODEL, REACTION, RECORD, STAGED, STATE, A, F, I, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.control.adaptive import Adaptive
from saltus.control.fixed import Fixed
from saltus.errors import SettingError
from saltus.flight.dense import acceleration, interpolate, reaction, window_start
from saltus.flight.frame import NODES_ROOM
from saltus.flight.packed_methods import ALL_METHODS, packed_implicit, packed_method
from saltus.flight.packed_methods import IMPLICIT_METHODS as IMPLICIT_METHODS
from saltus.flight.smooth_step import (
    PACKED_TABLE,
    SMOOTH_STEP,
    STEP_ROOM,
    dense_nodes,
    implicit_step,
    stages_of_step,
    step_error,
)
from saltus.lasting.border import BY, PROJECTED, project
from saltus.lasting.end_of_step import begin, close_books, enter_forces, strike
from saltus.lasting.hold import REPORTED, anything_acts
from saltus.lasting.index_set import INDEX
from saltus.lasting.inertia import inertia_work
from saltus.lasting.interval import (
    INTERVAL_TUNED,
    INTERVALS,
    STAGE_SETTINGS,
    STAGES_ROOM,
    interval_sizes,
    solve_interval,
)
from saltus.lasting.settle import act_on_end, act_on_start, changed_events, settle
from saltus.lasting.workspace import ACTING, ENDS
from saltus.laws import friction_rows
from saltus.memory.layout import F_FREE, M_CONSTANT, Layout
from saltus.memory.profile import solve_row
from saltus.memory.record import EVENT
from saltus.memory.vectors import add, clear, clear_marks, copy, copy_marks, largest
from saltus.reaction.books import open_books
from saltus.reaction.dense_block import block_size, open_block, put_piece
from saltus.reaction.react import row_add, row_dot
from saltus.reaction.report import KNOWN_ROWS, REPORTS, gain_event, new_event
from saltus.schemes.plan import SchemePlan, check_numbers, chosen_solver, reaction_plan, runge_kutta_plan
from saltus.schemes.traits import Traits
from saltus.status import Status
from saltus.tables.tableau import packed, tableau

ESTIMATED = ("rkf45", "dopri5", "dop853")  # bases with an embedded error estimate


class _SplittingTuned(NamedTuple):
    """Tuned numbers of this file."""

    share: float = 0.1  # of the tolerance, for each step between located impacts: the errors of many steps add up
    unit: float = 1e-6  # what the estimates of constant steps are told in
    halves: float = 1.8  # to the power of the order: the error for which the control halves a step
    events: int = 6  # most events of a contact in one step
    valid: int = 0
    remembered: int = 1
    # of an approach: a contact that approached more slowly than this share when the step began did not
    noise: float = 1e-9


SPLITTING_TUNED = _SplittingTuned()

# behind the settings that all schemes with stages share
# forces: 1 where lasting contacts have forces; implicit: 1 where the base is; depth: 1 where penetration is an error;
# node_at, tab_at, pair_at: where the nodes of the dense output, the table of implicit stages and the method stand
SPLITTING_SETTINGS = Numbers(f"{' '.join(STAGE_SETTINGS.names)} rtol atol forces implicit depth node_at tab_at pair_at")


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
        if self.base not in ALL_METHODS:
            one = ", ".join(map(repr, ALL_METHODS))
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

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        if self.rtol is not None and self.atol is not None and self._in_time:
            return runge_kutta_plan(
                self, layout, self.base, estimates=True, zeno=0.0, rtol=SPLITTING_TUNED.share * self.rtol,
                atol=SPLITTING_TUNED.share * self.atol, newton_tolerance=self.newton_tolerance,
                window=(float(self.atol), 0.0),
            )  # fmt: skip
        contact_solver = chosen_solver(self.solver, layout)
        implicit = self.base in IMPLICIT_METHODS
        pair, polynomial = packed_method(self.base), packed_polynomial()
        tab = packed_implicit(self.base) if implicit else np.zeros(0)
        given = {
            "closed": self.closed_tolerance, "rest": self.rest_tolerance, "projected": self.projection_tolerance,
            "project": self.projection, "law": BY.rest if self.impact == "rest" else BY.left,
        }  # fmt: skip
        nv, nc = int(layout.nv), int(layout.nc)
        total = int(pair[PACKED_TABLE.stages])
        sizes = interval_sizes(layout, contact_solver)
        if implicit:
            spatial = friction_rows(layout) > 1
            newton = (spatial or not int(layout.features) & F_FREE) and total * nv <= INTERVAL_TUNED.largest_newton
            given |= {"tolerance": self.newton_tolerance, "most": self.max_iterations, "newton": newton}
            sizes = interval_sizes(layout, contact_solver, total, bool(newton))
        node_at = SPLITTING_SETTINGS.size
        tab_at = node_at + len(polynomial)
        rtol, atol = (
            (SPLITTING_TUNED.unit, SPLITTING_TUNED.unit)
            if self.rtol is None or self.atol is None
            else (self.rtol, self.atol)
        )
        given |= {
            "rtol": rtol, "atol": atol, "forces": self.contact_forces, "implicit": implicit,
            "depth": self.traits.adaptive, "node_at": node_at, "tab_at": tab_at, "pair_at": tab_at + len(tab),
        }  # fmt: skip
        settings = SPLITTING_SETTINGS.filled(**{name: given.get(name, 0.0) for name in SPLITTING_SETTINGS.names})
        sizes |= {"total": total, "nodes": SMOOTH_STEP.nodes}
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
            dense=block_size(layout, 1, SMOOTH_STEP.nodes),
            events=SPLITTING_TUNED.events * nc + 1,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside of steps by the dense output of the base."""
        return interpolate([tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")], s, h, start, end, block, side)

    def window_start(self, block, t_end, h):
        """Return where the intervals of impacts begin that steps end with, see Solution.windows."""
        return window_start(block, t_end, h)

    def reaction(self, s, h, block, rows, side):
        """Return the contact forces and their integral inside of steps."""
        return reaction([tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")], s, h, block, rows, side)

    def acceleration(self, s, h, block, side):
        """Return v_dot inside of steps, the piece of the step that it belongs to, and the duration of the piece."""
        return acceleration([tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")], s, h, block, side)


@functools.cache
def packed_polynomial() -> np.ndarray:
    """Return the nodes of the dense output as kernels see them."""
    return packed(tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto"))


# What the state remembers: index set, what acts on the state.
MEMORY = Workspace("SplittingMemory", numbers=Numbers("valid"), index="nc", acting=ACTING)
# begun: 1 once the start of the segment is settled, at_time: when that was. v_last: velocity before a projection;
# spread: impulses that are forces of the whole step; late: share of the step behind a stop; speed: gap velocities at
# the beginning of the step; r_end: forces at the end with spread ones; hit: 1 per contact that an impact strikes
WORK = Workspace(
    "Splitting", begun=Numbers("begun at_time"), ends=ENDS, q_last="nq", v_last="nv", v_1="nv", speed="nr", spread="nr",
    r_end="nr", w_end="nr", zeta="nr", late="nc", nodes=NODES_ROOM, R="nodes * nr", sum_r="nr", sum_p="width",
    stages=STEP_ROOM, M="size", solved=STAGES_ROOM, hit=integers("nc"), interval=INTERVALS,
)  # fmt: skip


@unit(step_type(0))
def splitting(model, reaction, settings, t, h, state, state_new, record, work_room):
    """Make one step: smooth motion of the base under a frozen index set, then the impact law at frozen positions.

    in      state
    out     state_new, record with the dense output of the base
    kept    MEMORY in the state; the factored matrix of implicit stages in the workspace
    """
    settings = SPLITTING_SETTINGS(settings)
    layout, staged, work, own = model.layout, reaction.staged, WORK(work_room), MEMORY(state_new.own)
    ends, acting, header, t_end, forces = work.ends, own.acting, record.header, t + h, settings.forces == 1.0
    status = open_step(model, staged, settings, t, h, state, state_new, work, record)
    if status != 0:
        return status
    status = move_smoothly(model, staged, settings, t, h, own, work, record)
    if status != 0:
        return status
    near = close_contacts(model, settings, t_end, work, record)
    holding = anything_acts(model, ends.index)
    struck = 0
    if layout.nc > 0 and (near == 1 or holding == 1):
        struck = is_struck(model, settings, t_end, acting, work)
    if struck == 1:
        status = strike_at_end(model, reaction.reaction, settings, t, h, work, record)
        if status != 0:
            return status
    for i in range(layout.nr):
        work.r_end[i] = acting.r[i] + work.spread[i] / h
    used = put_piece(
        model, 0.0, 1.0, ends.q_0, ends.v_0, SMOOTH_STEP.nodes, work.nodes.a, work.R, work.nodes.Q_dot,
        open_block(model, work.r_end, record.dense), record.dense,
    )  # fmt: skip
    if hold_at_end(model, settings, struck, ends) == 1 and settings.project == 1.0:
        status = put_step_back(model, settings, t_end, struck, work, record)
        if status != 0:
            return status
    if near == 1 or holding == 1 or struck == 1:
        status = decided(model, staged, settings, t_end, struck, own, work, record)
        if status != 0:
            return status
        header.residual = larger(header.residual, ends.info[0] if forces else 0.0)
    else:
        last = whole(tail(settings, whole(settings.pair_at))[PACKED_TABLE.step_stages]) - 1
        copy(row_of(work.stages.K_v, last, layout.nv), acting.a)
        clear(acting.r)
        copy(row_of(work.stages.K_p, last, REPORTED.first_contact + layout.nc), acting.powers)
        clear_marks(ends.index)  # INDEX.open
    mark_contacts(model, settings, t_end, own, work, record)
    for i in range(layout.nr):
        work.r_end[i] = acting.r[i] + work.spread[i] / h
    copy(ends.q, state_new.q)
    copy(ends.v, state_new.v)
    return close_books(model, t, 1, SMOOTH_STEP.nodes, used, work.r_end, ends, record)


@unit(I(MODEL, STAGED, A, F, F, STATE, STATE, WORK.kind, RECORD))
def open_step(model, staged, settings, t, h, state, state_new, work, record):
    """Take the state over, open the books; decide what is held where a run or a segment behind a jump begins."""
    settings = SPLITTING_SETTINGS(settings)
    ends, own, begun, forces = work.ends, MEMORY(state_new.own), work.begun, settings.forces == 1.0
    copy(state.memory, state_new.memory)
    open_books(model, h, tail(settings, whole(settings.pair_at))[PACKED_TABLE.error_order], record)
    clear(record.impulse)
    copy(state.q, ends.q_0)
    copy(state.v, ends.v_0)
    for k in range(model.layout.nc):
        ends.before[k] = whole(own.index[k])
        ends.index[k] = ends.before[k] if forces else INDEX.open
    clear_marks(ends.resting)
    clear_marks(ends.stopped)
    clear_marks(ends.candidate)
    clear_marks(work.hit)
    clear(ends.P)
    clear(work.spread)
    clear(ends.u_minus)
    clear(ends.u_plus)
    known, numbers = whole(own.numbers.valid), own.numbers
    if known == 1 and begun.begun != 0.0 and begun.at_time != t:  # also when its first step is tried once more
        return 0
    copy(ends.q_0, ends.q)
    copy(ends.v_0, ends.v)
    if known == 0:
        clear_marks(ends.before)
    if forces:
        status = begin(model, staged, settings, t, 1, known, ends, own.acting, work.interval, record)
        copy_marks(ends.index, ends.before)
    else:
        status = act_on_end(model, t, ends, own.acting, work.interval.lasting, record)
    if status == 0:
        numbers.valid, begun.begun, begun.at_time = 1.0, 1.0, t
    return status


@unit(I(MODEL, STAGED, A, F, F, MEMORY.kind, WORK.kind, RECORD))
def move_smoothly(model, staged, settings, t, h, own, work, record):
    """Make the smooth motion under the frozen index set, with its nodes, and enter it into the books."""
    settings = SPLITTING_SETTINGS(settings)
    nc, ends, acting, room, kept = model.layout.nc, work.ends, own.acting, work.interval.lasting, work.interval.kept
    status = 0
    for attempt in range(nc + 2):
        status = stages_of_base(model, staged, settings, t, h, own, work, record)
        if status == Status.JAMMED and attempt < nc:
            # no finite force holds this contact (Painleve): it is left to the impulse at the end of the step
            jam = room.held.jam
            ends.index[jam], ends.before[jam] = INDEX.impulsive, INDEX.impulsive
            new_event(t, jam, EVENT.painleve, 0, 0, ends.P, ends.P, ends.P, record)
            kept.renew = 1.0
            status = act_on_start(model, t, ends, acting, room, record)
            if status != 0:
                return status
            continue
        if status == Status.NEWTON_STALLED and attempt <= nc and nc > 0:
            # a slip that stops in space turns too quickly for the iteration: straight on from here
            for k in range(nc):
                acting.direction[2 * nc + k] = 1.0
            kept.renew = 1.0
            continue
        if status != 0:
            return status
        break
    nodes, pair = work.nodes, tail(settings, whole(settings.pair_at))
    dense_nodes(model, pair, h, ends, work.stages, nodes, work.R, work.sum_r, work.sum_p)
    model.retract(ends.q, model.par)
    enter_forces(model, work.sum_r, work.sum_p, record)
    if (model.layout.features & M_CONSTANT) == 0:
        nodes_tab = tail(settings, whole(settings.node_at))
        record.header.drive_work += inertia_work(
            model, nodes_tab, t, h, nodes.Q, nodes.V, nodes.Q_dot, work.q_last, work.M
        )
    copy(work.v_1, ends.v)
    copy(work.v_1, record.v_minus)
    return status


@unit(I(MODEL, STAGED, A, F, F, MEMORY.kind, WORK.kind, RECORD))
def stages_of_base(model, staged, settings, t, h, own, work, record):
    """Solve the stages of the base, write the state at the end of the step and the error of explicit bases."""
    settings = SPLITTING_SETTINGS(settings)
    ends, acting, stages, interval = work.ends, own.acting, work.stages, work.interval
    pair, tab = tail(settings, whole(settings.pair_at)), tail(settings, whole(settings.tab_at))
    total, step, room, implicit = (
        whole(pair[PACKED_TABLE.stages]),
        whole(pair[PACKED_TABLE.step_stages]),
        interval.lasting,
        settings.implicit,
    )
    if implicit == 1.0:
        status = implicit_step(model, staged, settings, tab, t, h, ends, acting, stages, work.solved, interval, record)
    else:
        status = stages_of_step(model, pair, t, h, ends, acting, 0, step, stages, room, record)
    if status != 0:
        return status
    copy(stages.q, ends.q)
    copy(stages.v, work.v_1)
    if implicit == 0.0:
        scales = head(settings, 0)
        record.header.error = step_error(model, pair, h, settings.rtol, settings.atol, scales, ends, stages, room)
    return stages_of_step(model, pair, t, h, ends, acting, step, total, stages, room, record)


@unit(I(MODEL, A, F, WORK.kind, RECORD))
def close_contacts(model, settings, t, work, record):
    """Mark what is closed at the end; return 1 where that is more than what was held. Depth may count as an error."""
    settings = SPLITTING_SETTINGS(settings)
    ends, near, deep, header = work.ends, 0, 0.0, record.header
    model.gap(t, ends.q, model.par, ends.g)
    for k in range(model.layout.nc):
        holds = ends.index[k] == INDEX.slip or ends.index[k] == INDEX.stick
        ends.closed[k] = 1 if holds or ends.g[k] <= settings.closed else 0
        near = 1 if ends.closed[k] == 1 and not holds else near
        deep = larger(deep, -ends.g[k])
    if settings.depth == 1.0:
        deep /= settings.atol + settings.rtol * largest(ends.q)
        header.error = larger(header.error, deep if deep <= 1.0 else SPLITTING_TUNED.halves**header.degree)
    return near


@unit(I(MODEL, A, F, ACTING.kind, WORK.kind))
def is_struck(model, settings, t, acting, work):
    """Write the row velocities before the impact law and which slips stopped; return 1 where something approaches."""
    settings = SPLITTING_SETTINGS(settings)
    layout, ends, W, direction, struck = model.layout, work.ends, work.interval.lasting.W, acting.direction, 0
    u_minus, index = ends.u_minus, ends.index
    model.kinematics(t, ends.q, model.par, W, u_minus)
    for i in range(layout.nr):
        u_minus[i] += row_dot(layout, W, i, ends.v)
    for k in range(layout.nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        if index[k] == INDEX.slip and end - row > 1:
            forward, began = 0.0, 0.0
            for i in range(row + 1, end):
                forward += u_minus[i] * direction[2 * k + i - row - 1]
                began += acting.u[i] * direction[2 * k + i - row - 1]
            # a slip that reversed has stopped in between: friction would not have pushed it back
            ends.stopped[k] = 1 if forward <= settings.rest else 0
            work.late[k] = abs(forward) / larger(larger(began, 0.0) + abs(forward), 1e-300)
        if ends.closed[k] == 1 and index[k] != INDEX.slip and index[k] != INDEX.stick:
            floor = 0.0 if index[k] == INDEX.impulsive or settings.forces == 0.0 else -settings.rest
            struck = 1 if u_minus[row] < floor else struck
    return struck


@unit(I(MODEL, REACTION, A, F, F, WORK.kind, RECORD))
def strike_at_end(model, reaction, settings, t, h, work, record):
    """Solve the impact law at frozen positions, enter it; impulses of lasting contacts are forces of the whole step."""
    settings = SPLITTING_SETTINGS(settings)
    layout, ends, room = model.layout, work.ends, work.interval.lasting
    nv, nr = layout.nv, layout.nr
    step = whole(tail(settings, whole(settings.pair_at))[PACKED_TABLE.step_stages])
    copy(row_of(work.stages.K_v, step - 1, nv), ends.a)
    approaches(model, settings, t, h, work)
    status = strike(model, reaction, settings, t + h, h, BY.previous, ends, room, record)
    if status != 0:
        return status
    copy(work.speed, ends.u_start)
    struck_by(model, settings, t + h, h, work, record)
    add(ends.P, record.impulse)
    copy(ends.v_new, ends.v)
    for i in range(nv):
        share = (record.v_minus[i] - work.v_1[i]) / h
        for j in range(SMOOTH_STEP.nodes):
            work.nodes.a[j * nv + i] += share
    for i in range(nr):
        for j in range(SMOOTH_STEP.nodes):
            work.R[j * nr + i] += work.spread[i] / h
    return 0


@unit(I(MODEL, A, F, F, WORK.kind))
def approaches(model, settings, t, h, work):
    """Write the approach that restitution looks at to ends.u_start: none where a body comes to rest within the step.

    out     work: zeta at the end; speed: gap velocities at the beginning of the step
    """
    settings = SPLITTING_SETTINGS(settings)
    layout, ends, W, zeta, index = model.layout, work.ends, work.interval.lasting.W, work.zeta, work.ends.index
    u_minus, approach, u_first, by_rest = ends.u_minus, ends.u_start, work.speed, settings.law == BY.rest
    model.curvature(t + h, ends.q, ends.v, model.par, zeta)
    for k in range(layout.nc):
        row, e = layout[layout.contact_row + k], model.e[k]
        approach[row] = 0.0
        if ends.closed[k] == 1 and index[k] != INDEX.slip and index[k] != INDEX.stick and u_minus[row] < 0.0:
            approach[row] = u_minus[row]
            pressed = -h * (row_dot(layout, W, row, ends.a) + zeta[row])
            if by_rest and pressed > 0.0 and -2.0 * e * u_minus[row] <= pressed:
                approach[row] = 0.0  # it would be back within the step: it comes to rest
    model.kinematics(t, ends.q_0, model.par, W, u_first)
    for k in range(layout.nc):
        row = layout[layout.contact_row + k]
        u_first[row] += row_dot(layout, W, row, ends.v_0)
        if by_rest and u_first[row] >= SPLITTING_TUNED.noise * u_minus[row] - settings.rest:
            approach[row] = 0.0  # it did not approach when the step began: what the forces of one step bring
    return 0


@unit(I(MODEL, A, I, ENDS.kind))
def hold_at_end(model, settings, struck, ends):
    """Write how far every contact is put back at the end; return 1 where anything is, joints included."""
    settings = SPLITTING_SETTINGS(settings)
    layout, index, held, anything = model.layout, ends.index, ends.held, model.layout.nj > 0
    for k in range(layout.nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        held[k] = 0
        if index[k] == INDEX.slip or index[k] == INDEX.stick or ends.resting[k] == 1:
            slides = False
            for i in range(row + 1, end):
                slides = slides or abs(ends.u_plus[i] if struck == 1 else ends.u_minus[i]) > settings.rest
            free = struck == 1 or (index[k] != INDEX.stick and ends.stopped[k] == 0)
            held[k] = PROJECTED.normal if slides and free else PROJECTED.whole
            if struck == 1 and ends.u_plus[row] > settings.rest and ends.resting[k] == 0:
                held[k] = 0  # the impact lifts it
        anything = anything or held[k] != 0
    return 1 if anything else 0


@unit(I(MODEL, A, F, I, WORK.kind, RECORD))
def put_step_back(model, settings, t, struck, work, record):
    """Put the end of a step back onto joints and held contacts, and enter impulses and energy of that."""
    settings = SPLITTING_SETTINGS(settings)
    layout, ends, room, header = model.layout, work.ends, work.interval.lasting, record.header
    nc, nj, nr, v, v_last, w_end = layout.nc, layout.nj, layout.nr, ends.v, work.v_last, work.w_end
    W, corrected = room.W, ends.corrected
    copy(v, v_last)
    status = stop_slips(model, settings, t, 0 if struck == 1 else 1, work, record)
    if status != 0:
        return status
    model.kinematics(t, ends.q, model.par, W, w_end)
    for i in range(layout.nv):
        record.v_minus[i] += v[i] - v_last[i]
    for k in range(nc):
        for i in range(layout[layout.contact_row + k], layout[layout.contact_row + k + 1]):
            through = 0.5 * (row_dot(layout, W, i, v_last) + row_dot(layout, W, i, v)) + w_end[i]
            record.dissipation[k] -= corrected[i] * through
            header.drive_work -= corrected[i] * w_end[i]
    for i in range(nr - nj, nr):
        header.drive_work += 0.5 * corrected[i] * (row_dot(layout, W, i, v_last) + row_dot(layout, W, i, v))
    add(corrected, record.impulse)
    return 0


@unit(I(MODEL, A, F, I, WORK.kind, RECORD))
def stop_slips(model, settings, t, stopping, work, record):
    """Move q and v onto the joints and held contacts, and stop the slips that reversed, as far as friction can.

    in      work: v_last: v as it comes; late: share of the step behind the stop; stopping: whether slips are stopped
    in/out  ends: q, v; held: a slip that friction cannot stop becomes PROJECTED.normal
    out     ends: corrected: impulses; g: gaps and constraints at the new q
    Behind the stop friction acts the other way: its impulse is that of the frozen direction plus 2 mu P_N late at most.
    """
    settings = STAGE_SETTINGS(settings)
    layout, ends, room = model.layout, work.ends, work.interval.lasting
    nc, P, held = layout.nc, ends.corrected, ends.held
    copy(ends.q, work.q_last)
    clear(P)
    for _ in range(nc + 1):
        status = project(model, settings.projected, t, ends, room)
        if status != 0:
            return status
        again = False
        for k in range(nc):
            row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
            if stopping == 0 or ends.stopped[k] == 0 or held[k] != PROJECTED.whole:
                continue
            needed, most = 0.0, 2.0 * work.late[k] * model.mu[k] * record.impulse[row]
            for i in range(row + 1, end):
                needed += P[i] * P[i]
            if sqrt(needed) > larger(most, 0.0) * (1.0 + SPLITTING_TUNED.noise):
                held[k], again = PROJECTED.normal, True
        if not again:
            return 0
        slow_slips(model, t, work, record)
    return 0


@unit(I(MODEL, F, WORK.kind, RECORD))
def slow_slips(model, t, work, record):
    """Begin the projection once more, with all the friction that slips can have which it cannot stop."""
    layout, ends, room = model.layout, work.ends, work.interval.lasting
    W, X, u, P = room.W, room.X, ends.u_minus, ends.corrected
    copy(work.q_last, ends.q)
    copy(work.v_last, ends.v)
    clear(P)
    model.kinematics(t, ends.q, model.par, W, room.w)
    for k in range(layout.nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        if ends.stopped[k] == 0 or ends.held[k] != PROJECTED.normal:
            continue
        mu, normal, speed = model.mu[k], larger(record.impulse[row], 0.0), 0.0
        most = 2.0 * work.late[k] * mu * normal
        for i in range(row + 1, end):
            speed += u[i] * u[i]
        for i in range(row + 1, end):
            P[i] = -most * u[i] / larger(sqrt(speed), 1e-300)
            solve_row(layout, room.lu, W, i, X, room.column)
            row_add(layout, X, i, P[i], ends.v)
    return 0


@unit(I(MODEL, STAGED, A, F, I, MEMORY.kind, WORK.kind, RECORD))
def decided(model, staged, settings, t, struck, own, work, record):
    """Decide the index set and write acceleration, forces and powers of the state; impulses alone hold nothing."""
    settings = SPLITTING_SETTINGS(settings)
    ends, acting, interval = work.ends, own.acting, work.interval
    if settings.forces == 1.0:
        return staged.settle(model, staged.reaction, settings, t, 1, struck, ends, acting, interval, record)
    return act_on_end(model, t, ends, acting, interval.lasting, record)


@unit(I(MODEL, A, F, MEMORY.kind, WORK.kind, RECORD))
def mark_contacts(model, settings, t, own, work, record):
    """Keep what every contact does, with its events; without forces the impulses tell it."""
    settings = SPLITTING_SETTINGS(settings)
    nc, ends, acting = model.layout.nc, work.ends, own.acting
    for k in range(nc):
        acting.direction[2 * nc + k] = 0.0
        mark = ends.index[k]
        if settings.forces == 0.0:
            mark = lasting_mark(model, k, ends.resting[k], ends.P)
        if ends.before[k] != mark:
            work.interval.kept.renew = larger(work.interval.kept.renew, settings.forces)
            changed_events(model, t, k, ends.before[k], mark, work.hit[k], acting.u, acting.r, record)
        elif ends.stopped[k] == 1 and mark == INDEX.slip:
            new_event(t, k, EVENT.reversal, 0, 0, acting.u, acting.u, acting.r, record)
        own.index[k] = mark
    return 0


@unit(I(MODEL, A, F, F, WORK.kind, RECORD))
def struck_by(model, settings, t, h, work, record):
    """Write energy, events and left limit of the impulse at the end of a step, and which contacts rest after it.

    in      ends: as `strike` left them; u_start: gap velocities at the beginning of the step; work: zeta
    out     hit: 1 per contact that an impact strikes; spread: impulses of the others, which are lasting
    """
    settings = SPLITTING_SETTINGS(settings)
    layout, ends, room, header = model.layout, work.ends, work.interval.lasting, record.header
    nc, nj, nr, P, w = layout.nc, layout.nj, layout.nr, ends.P, room.w
    hit, spread, u_minus, u_plus = work.hit, work.spread, ends.u_minus, ends.u_plus
    for i in range(nr):
        solve_row(layout, room.lu, room.W, i, room.X, room.column)
    hops = all_hop_back(model, settings, h, work) == 1
    anyone = find_struck(model, settings, work, record.v_minus) == 1
    for k in range(nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        if ends.closed[k] == 0:
            continue
        for i in range(row, end):
            record.dissipation[k] -= 0.5 * P[i] * (u_minus[i] + u_plus[i])
            header.drive_work -= P[i] * w[i]
            spread[i] = 0.0 if hit[k] == 1 else P[i]
        ends.resting[k] = 1 if hops or (u_plus[row] <= settings.rest and P[row] > 0.0) else 0
        if hit[k] == 1:
            new_event(t, k, EVENT.impact, row, end, u_minus, u_plus, P, record)
    if anyone:
        gain_event(model, t, hit, 1, KNOWN_ROWS.normals, ends.u_start, u_minus, u_plus, P, record)
    for i in range(nr - nj, nr):
        header.drive_work += P[i] * (0.5 * (u_minus[i] + u_plus[i]) - w[i])
        if anyone:
            row_add(layout, room.X, i, -P[i], record.v_minus)
        else:
            spread[i] = P[i]
    return 0


@unit(I(MODEL, A, F, WORK.kind))
def all_hop_back(model, settings, h, work):
    """Return 1 where all closed contacts hop by less than a step (a box that rocks), so that all of them rest.

    work.hit: contacts whose impulse stops an approach. Without contact forces a contact that did not approach when the
    step began is a lasting one
    """
    settings = SPLITTING_SETTINGS(settings)
    layout, ends, room, hit = model.layout, work.ends, work.interval.lasting, work.hit
    W, X, column, hops = room.W, room.X, room.column, settings.law == BY.rest and settings.project == 1.0
    r = row_of(work.stages.K_r, whole(tail(settings, whole(settings.pair_at))[PACKED_TABLE.step_stages]) - 1, layout.nr)
    for k in range(layout.nc):
        row = layout[layout.contact_row + k]
        if ends.closed[k] == 0:
            continue
        clear(column)
        row_add(layout, X, row, 1.0, column)
        # what would press without its own force
        pressed = h * (r[row] * row_dot(layout, W, row, column) - row_dot(layout, W, row, ends.a) - work.zeta[row])
        hops = hops and (2.0 * ends.u_plus[row] <= pressed or ends.u_plus[row] <= settings.rest)
        explained = ends.u_start[row] >= SPLITTING_TUNED.noise * ends.u_minus[row] - settings.rest
        if ends.P[row] > 0.0 and (settings.forces == 1.0 or not explained):
            hit[k] = 1
    return 1 if hops else 0


@unit(I(MODEL, A, WORK.kind, A))
def find_struck(model, settings, work, v_minus):
    """Write which contacts an impact strikes, and the velocity before all their impulses; return 1 where there is one.

    An impact elsewhere may reach contacts that would be lasting.
    """
    settings = SPLITTING_SETTINGS(settings)
    layout, ends, room, hit, P = model.layout, work.ends, work.interval.lasting, work.hit, work.ends.P
    W, X, most, anyone = room.W, room.X, 0.0, 0
    for k in range(layout.nc):
        most = larger(most, P[layout[layout.contact_row + k]])
    copy(ends.v_new, v_minus)
    for k in range(layout.nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        if hit[k] == 1 and P[row] > 1e-12 * most:
            anyone = 1
            for i in range(row, end):
                row_add(layout, X, i, -P[i], v_minus)
        else:
            hit[k] = 0
    found = anyone == 1 and settings.forces == 0.0
    while found:
        # an impact reaches the contacts behind it at the same instant: what is struck grows until nothing changes
        found = False
        for k in range(layout.nc):
            row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
            if ends.closed[k] == 0 or hit[k] == 1 or not P[row] > 1e-12 * most:
                continue
            brought = ends.u_plus[row] - room.w[row] - row_dot(layout, W, row, v_minus)
            if ends.u_start[row] + brought < SPLITTING_TUNED.noise * ends.u_minus[row] - settings.rest:
                hit[k], found = 1, True
                for i in range(row, end):
                    row_add(layout, X, i, -P[i], v_minus)
    return anyone


@unit(I(MODEL, I, I, A))
def lasting_mark(model, contact, resting, P):
    """Return what a contact that impulses hold does: nothing, slip or stick."""
    layout = model.layout
    row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
    if resting == 0:
        return INDEX.open
    friction = 0.0
    for i in range(row + 1, end):
        friction += P[i] * P[i]
    cone = model.mu[contact] * P[row]
    return INDEX.stick if end - row > 1 and sqrt(friction) < REPORTS.sticking * cone else INDEX.slip
