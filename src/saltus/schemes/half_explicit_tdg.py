"""Half-explicit D-: degree 1, contact on velocity level at both stages (after Schindler, Acary 2014, Algorithm 3.4).

The force of the first stage closes the velocities of the forecast, the force of the second those of the end:

    M_0 (v_1 - v_k) = h f_0 + W_0 P_0             0 <= u_1 = W_1^T v_1 + w_1,  P_0 >= 0,  one of them zero
    M_1 (v_new - v_f) = W_1 P,                    v_f = v_k + h/2 (M_0^-1 (f_0 + W_0 P_0 / h) + M_1^-1 f_1)
    q_new = q_k + h/2 (v_k + v_1)                 subscripts 0, 1: at the start and at q_new, v_1
"""

from __future__ import annotations

import dataclasses
from math import sqrt
from typing import Literal, NamedTuple

from saltus.compile.seam import handle, head, larger, row_of, unit, whole
from saltus.compile.types import MODEL, PLAIN, RECORD, A, Directions, F, I, step_type
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.errors import SettingError
from saltus.flight.dense import interpolate, reaction
from saltus.lasting.border import PROJECTED
from saltus.lasting.end_of_step import close_books, put_back
from saltus.lasting.workspace import ENDS, LASTING
from saltus.memory.layout import M_CONSTANT, RATE_IDENTITY, W_CONSTANT, Layout
from saltus.memory.profile import factor, quadratic, solve
from saltus.memory.record import EVENT
from saltus.memory.vectors import clear, copy
from saltus.reaction.books import open_books
from saltus.reaction.dense_block import block_size, open_block, put_piece
from saltus.reaction.impacts import reacting_sizes, restitute
from saltus.reaction.react import ASKED, row_dot
from saltus.reaction.report import KNOWN_ROWS, REPORTS, gain_event, new_event
from saltus.schemes.plan import SchemePlan, check_numbers, chosen_solver, reaction_plan
from saltus.status import Status
from saltus.tables.tableau import tableau

# closed: gap up to which a contact is closed [m]; rest: speed up to which it rests [m/s]; law: RESTITUTES.by_rest or
# RESTITUTES.by_left;
# tolerance, most: of the iteration for the forecast; project, projected: whether q and v are put back, to which gap
SETTINGS = Numbers("closed rest law tolerance most project projected")


class _Restitutes(NamedTuple):
    """Which velocity restitution looks at."""

    by_rest: float = 0.0
    by_left: float = 1.0


RESTITUTES = _Restitutes()


class _HalfMark(NamedTuple):
    """Marks of the contacts."""

    open: float = 0.0
    held: float = 1.0
    slips: float = 2.0
    sticks: float = 3.0


HALF_MARK = _HalfMark()


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

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        contact_solver = chosen_solver(self.solver, layout)
        sizes = reacting_sizes(layout, contact_solver)
        return SchemePlan(
            scheme=self,
            step=half_explicit,
            settings=SETTINGS.filled(
                closed=self.closed_tolerance,
                rest=self.rest_tolerance,
                law=RESTITUTES.by_rest if self.impact == "rest" else RESTITUTES.by_left,
                tolerance=self.newton_tolerance,
                most=self.max_iterations,
                project=self.projection,
                projected=self.projection_tolerance,
            ),
            inner=reaction_plan(layout, contact_solver, drift=False, name="HalfExplicitTDG"),
            memory=MEMORY.plan(sizes),
            work=WORK.plan(sizes),
            dense=block_size(layout, 1, 2),
            events=3 * int(layout.nc) + 1,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside of steps: v integrates the two accelerations, q integrates v."""
        return interpolate([tableau(1, "-")], s, h, start, end, block, side)

    def reaction(self, s, h, block, rows, side):
        """Return the linear force between the two stages and its integral inside of steps."""
        return reaction([tableau(1, "-")], s, h, block, rows, side)


# what the state remembers: marks of the contacts, impulses of the last forecast
MEMORY = Workspace("HalfExplicitMemory", marks="nc", warm="nr")
# _0, _1: at the beginning and at the end of the forecast. M_0, M_1: factors; M, column: scratch; f_0, f_1, v_1:
# forces of both stages, velocity of the second; a: the two accelerations of the step, q_dot: the two rates of its
# positions; P_0, ends.P: impulses of the forecast and of the end; r: the two forces. reacting, ending: 1 where contacts
# or joints act in the forecast and at the end. closed: contacts of the forecast; lasting: those that carried a force in
# it; hit: those that an impact strikes; ends.closed: those of the end
WORK = Workspace(
    "HalfExplicit", now=Numbers("reacting ending struck", integer=True), ends=ENDS, M_0="size", M_1="size", M="size",
    W_0="nw", W_1="nw", f_0="nv", f_1="nv", a="2 * nv", v_1="nv", column="nv", q_dot="2 * nq", w_0="nr",
    w_1="nr", target="2 * nr", zeta="nr", P_0="nr", r="2 * nr", closed=integers("nc"), lasting=integers("nc"),
    hit=integers("nc"), room=LASTING,
)  # fmt: skip


@unit(step_type(0))
def half_explicit(model, reaction, settings, t, h, state, state_new, record, work_room):
    """Make a forecast with contacts and joints on velocity level, then the end of the step with the impact law.

    in      state
    out     state_new, record with two accelerations and two forces as dense output
    kept    marks of the contacts and impulses of the forecast, in the state
    """
    settings = SETTINGS(settings)
    work, memory = WORK(work_room), MEMORY(state_new.own)
    ends, now, room = work.ends, work.now, work.room
    copy(state.memory, state_new.memory)
    copy(state.q, ends.q_0)
    copy(state.v, ends.v_0)
    open_books(model, h, 1.0, record)
    status = forecast(model, reaction, settings, t, h, memory, work, record)
    if status == 0:
        status = end_step(model, reaction, settings, t, h, work, record)
    if status != 0:
        return status
    enter_impacts(model, settings, t + h, work, record)
    enter_work(model, t, h, work, record)
    used = put_dense(model, h, work, record)
    if mark_contacts(model, settings, t + h, memory, work, record) == 1 and settings.project == 1.0:
        room.known.factored = 0.0
        status = put_back(model, settings.projected, t + h, ends, room, record)
        if status != 0:
            return status
        if now.struck == 0:
            copy(ends.v, record.v_minus)
    copy(ends.q, state_new.q)
    copy(ends.v, state_new.v)
    return close_books(model, t, 1, 2, used, row_of(work.r, 1, model.layout.nr), ends, record)


@unit(I(MODEL, PLAIN, A, F, F, MEMORY.kind, WORK.kind, RECORD))
def forecast(model, reaction, settings, t, h, memory, work, record):
    """Move by explicit forces, velocities of closed contacts and joints closed at the end; write q and v_1 there."""
    settings = SETTINGS(settings)
    layout, par, ends, now = model.layout, model.par, work.ends, work.now
    nv, q_0, v_0, v_1, a_0 = layout.nv, ends.q_0, ends.v_0, work.v_1, row_of(work.a, 0, layout.nv)
    model.gap(t, q_0, par, ends.g)
    now.reacting = 1 if layout.nj > 0 else 0
    for c in range(layout.nc):
        # what was held stays closed whatever the drift of its gap
        work.closed[c] = 1 if ends.g[c] <= settings.closed or memory.marks[c] != HALF_MARK.open else 0
        now.reacting = 1 if work.closed[c] == 1 else now.reacting
    model.mass(t, q_0, par, work.M_0)
    status = factor(layout, work.M_0)
    if status != 0:
        return status
    model.force(t, q_0, v_0, par, work.f_0)
    record.counters.force_calls += 1
    solve(layout, work.M_0, work.f_0, a_0, work.column)
    for i in range(nv):
        v_1[i] = v_0[i] + h * a_0[i]
    copy(memory.warm, work.P_0)
    if now.reacting == 1:
        model.kinematics(t, q_0, par, work.W_0, work.w_0)
    status = settle_forecast(model, reaction, settings, t, h, work, record)
    if status != 0:
        return status
    if now.reacting == 1:
        record.header.residual = ends.info[0]
    for i in range(layout.nr):
        memory.warm[i] = work.P_0[i] if now.reacting == 1 else 0.0
    for i in range(nv):
        a_0[i] = (v_1[i] - v_0[i]) / h
    model.retract(ends.q, par)
    return 0


@unit(I(MODEL, PLAIN, A, F, F, WORK.kind, RECORD))
def settle_forecast(model, reaction, settings, t, h, work, record):
    """Iterate on the rows of the end of the forecast until its position no longer moves."""
    settings = SETTINGS(settings)
    layout, par, ends, now = model.layout, model.par, work.ends, work.now
    nq, flags, q_0, v_0, q, v_1 = layout.nq, layout.features, ends.q_0, ends.v_0, ends.q, work.v_1
    q_dot, q_dot_1, a_0 = row_of(work.q_dot, 0, nq), row_of(work.q_dot, 1, nq), row_of(work.a, 0, layout.nv)
    rate_of(model, q_0, v_0, q_dot)
    for i in range(nq):
        q[i] = q_0[i] + h * q_dot[i]
    at_once = (flags & RATE_IDENTITY) != 0 and (now.reacting == 0 or (flags & W_CONSTANT) != 0)
    for sweep in range(whole(settings.most) + 1):
        record.counters.iterations += 1
        for i in range(layout.nv):
            v_1[i] = v_0[i] + h * a_0[i]
        if now.reacting == 1:
            model.kinematics(t + h, q, par, work.W_1, work.w_1)
            copy(work.w_1, head(work.target, layout.nr))
            status = reaction.react(
                model, reaction.solver, work.M_0, handle(Directions(work.W_0, work.W_1, work.W_1)), work.target,
                work.closed, ASKED.whole, v_1, work.P_0, ends.info, work.room.react,
            )  # fmt: skip
            record.counters.sweeps += whole(ends.info[1])
            if status != 0:
                return status
        rate_of(model, q, v_1, q_dot_1)
        moved, scale = 0.0, 0.0
        for i in range(nq):
            last = q[i]
            q[i] = q_0[i] + 0.5 * h * (q_dot[i] + q_dot_1[i])
            moved, scale = larger(moved, abs(q[i] - last)), larger(scale, larger(abs(q[i]), h * abs(q_dot_1[i])))
        if at_once or (sweep > 0 and moved <= settings.tolerance * scale):
            return 0
    return Status.NEWTON_STALLED


@unit(I(MODEL, A, A, A), small=True)
def rate_of(model, q, v, q_dot):
    """Write the rates of the positions."""
    if (model.layout.features & RATE_IDENTITY) != 0:
        copy(v, q_dot)
    else:
        model.rate(q, v, model.par, q_dot)
    return 0


@unit(I(MODEL, PLAIN, A, F, F, WORK.kind, RECORD))
def end_step(model, reaction, settings, t, h, work, record):
    """Add the other half of the forces, then solve the law for everything that is closed there."""
    settings = SETTINGS(settings)
    layout, par, ends, now, t_end = model.layout, model.par, work.ends, work.now, t + h
    nv, q, a_0, a_1 = layout.nv, ends.q, row_of(work.a, 0, layout.nv), row_of(work.a, 1, layout.nv)
    model.mass(t_end, q, par, work.M_1)
    status = factor(layout, work.M_1)
    if status != 0:
        return status
    model.force(t_end, q, work.v_1, par, work.f_1)
    record.counters.force_calls += 1
    solve(layout, work.M_1, work.f_1, a_1, work.column)
    model.gap(t_end, q, par, ends.g)
    for i in range(nv):
        ends.v[i] = ends.v_0[i] + 0.5 * h * (a_0[i] + a_1[i])
    copy(ends.v, ends.v_new)
    now.ending = 1 if layout.nj > 0 else 0
    for c in range(layout.nc):
        row = layout[layout.contact_row + c]
        work.lasting[c] = 1 if work.closed[c] == 1 and work.P_0[row] > 0.0 else 0
        # a contact that carried a force goes on by the law whatever the drift of its gap
        ends.closed[c] = 1 if ends.g[c] <= settings.closed or work.lasting[c] == 1 else 0
        now.ending = 1 if ends.closed[c] == 1 else now.ending
    clear(ends.P)
    clear(ends.u_minus)
    if now.ending == 0:
        return 0
    W, w, target = work.W_1, work.w_1, work.target
    targets(model, settings, t_end, h, work)
    status = reaction.react(
        model, reaction.solver, work.M_1, handle(Directions(W, W, W)), target, ends.closed, ASKED.impact, ends.v_new,
        ends.P, ends.info, work.room.react,
    )  # fmt: skip
    record.counters.sweeps += whole(ends.info[1])
    record.header.residual = larger(record.header.residual, ends.info[0])
    for i in range(layout.nr):
        ends.u_plus[i] = row_dot(layout, W, i, ends.v_new) + w[i]
    return status


@unit(I(MODEL, A, F, F, WORK.kind))
def targets(model, settings, t, h, work):
    """Write the row velocities before the law, and what the law asks for: restitution of what closes in the step."""
    settings = SETTINGS(settings)
    layout, ends, W, w, zeta, target = model.layout, work.ends, work.W_1, work.w_1, work.zeta, work.target
    u_minus, a_1 = ends.u_minus, row_of(work.a, 1, layout.nv)
    model.kinematics(t, ends.q, model.par, W, w)
    model.curvature(t, ends.q, ends.v, model.par, zeta)
    for i in range(layout.nr):
        u_minus[i] = row_dot(layout, W, i, ends.v) + w[i]
        target[i] = w[i]
    for c in range(layout.nc):
        row, e = layout[layout.contact_row + c], model.e[c]
        if ends.closed[c] == 0:
            continue
        pressed = -h * (row_dot(layout, W, row, a_1) + zeta[row])
        hops = work.lasting[c] == 1 or (settings.law == RESTITUTES.by_rest and -2.0 * e * u_minus[row] <= pressed)
        strikes = not hops and u_minus[row] < -settings.rest
        restitute(model, c, 0.0 if hops else u_minus[row], 1 if strikes else 0, u_minus, target)
    return 0


@unit(I(MODEL, A, F, WORK.kind, RECORD))
def enter_impacts(model, settings, t, work, record):
    """Enter impacts and left limit: a lasting contact takes its share of P as the force at the end, an impact does not.

    out     now.struck: 1 where there is an impact; hit: contacts that it strikes; ends.v: the velocity behind it
    """
    settings = SETTINGS(settings)
    layout, ends, hit, now, P = model.layout, work.ends, work.hit, work.now, work.ends.P
    now.struck = 0
    for c in range(layout.nc):
        hit[c] = 0
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        new = ends.closed[c] == 1 and work.lasting[c] == 0
        if new and P[row] > 0.0 and ends.u_minus[row] < -settings.rest:
            now.struck = 1
            new_event(t, c, EVENT.impact, row, end, ends.u_minus, ends.u_plus, P, record)
            hit[c] = 1
    if now.struck == 1:
        gain_event(model, t, hit, 1, KNOWN_ROWS.nothing, ends.u_minus, ends.u_minus, ends.u_plus, P, record)
    copy(ends.v if now.struck == 1 else ends.v_new, record.v_minus)
    copy(ends.v_new, ends.v)
    return 0


@unit(I(MODEL, F, F, WORK.kind, RECORD))
def enter_work(model, t, h, work, record):
    """Enter impulses and works of the step; without impact the second acceleration is the one that leads to its end."""
    layout, ends, now, header = model.layout, work.ends, work.now, record.header
    nv, nj, nr, P_0, P = layout.nv, layout.nj, layout.nr, work.P_0, ends.P
    header.reacted = 1.0 if now.reacting == 1 or now.ending == 1 else 0.0
    for i in range(nv):
        header.force_work += 0.5 * h * (work.f_0[i] * ends.v_0[i] + work.f_1[i] * work.v_1[i])
        if now.struck == 0:
            work.a[nv + i] = 2.0 * (ends.v[i] - ends.v_0[i]) / h - work.a[i]
    for c in range(layout.nc):
        for i in range(layout[layout.contact_row + c], layout[layout.contact_row + c + 1]):
            if work.closed[c] == 1:
                record.dissipation[c] -= 0.5 * P_0[i] * (row_dot(layout, work.W_0, i, ends.v_0) + work.w_0[i])
                header.drive_work -= 0.5 * P_0[i] * work.w_0[i]
            if ends.closed[c] == 1:
                before = ends.u_plus[i] if work.lasting[c] == 1 else ends.u_minus[i]
                record.dissipation[c] -= 0.5 * P[i] * (before + ends.u_plus[i])
                header.drive_work -= P[i] * work.w_1[i]
    for i in range(nr):
        record.impulse[i] = 0.5 * P_0[i] + P[i] if header.reacted == 1.0 else 0.0
    for i in range(nr - nj, nr):
        header.drive_work -= 0.5 * P_0[i] * work.w_0[i] + P[i] * work.w_1[i]
    if (layout.features & M_CONSTANT) == 0:
        for end in range(2):  # 1/2 v^T (M_new - M_k) v, the mean of both ends
            if end == 1:
                model.mass(t + h, ends.q, model.par, work.M)
            else:
                model.mass(t, ends.q_0, model.par, work.M)
            gain = 0.25 * (quadratic(layout, work.M, ends.v_0) + quadratic(layout, work.M, ends.v))
            header.drive_work += gain if end == 1 else -gain
    return 0


@unit(I(MODEL, A, F, MEMORY.kind, WORK.kind, RECORD))
def mark_contacts(model, settings, t, memory, work, record):
    """Keep what every contact does, with its events; write what is put back, return 1 where anything is."""
    settings = SETTINGS(settings)
    layout, ends, marks, P_0, P = model.layout, work.ends, memory.marks, work.P_0, work.ends.P
    u_minus, u_plus, anything = ends.u_minus, ends.u_plus, 1 if layout.nj > 0 else 0
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        pushes = (work.closed[c] == 1 and P_0[row] > 0.0) or (ends.closed[c] == 1 and P[row] > 0.0)
        rests = pushes and u_plus[row] <= settings.rest
        mark = HALF_MARK.open
        if rests:
            mark = HALF_MARK.held
            if end - row > 1:
                friction = 0.0
                for i in range(row + 1, end):
                    friction += record.impulse[i] * record.impulse[i]
                cone = model.mu[c] * record.impulse[row]
                mark = HALF_MARK.sticks if sqrt(friction) < REPORTS.sticking * cone else HALF_MARK.slips
        if marks[c] != HALF_MARK.open and mark == HALF_MARK.open:
            new_event(t, c, EVENT.release, row, row, u_minus, u_plus, P, record)
        if marks[c] == HALF_MARK.open and mark != HALF_MARK.open and work.now.struck == 0:
            new_event(t, c, EVENT.closing, row, row, u_minus, u_plus, P, record)
        if mark != marks[c] and (mark == HALF_MARK.sticks or mark == HALF_MARK.slips):
            new_event(
                t, c, EVENT.stick if mark == HALF_MARK.sticks else EVENT.slip, row, row, u_minus, u_plus, P, record
            )
        marks[c] = mark
        ends.held[c] = PROJECTED.normal if rests else 0
        anything = 1 if rests else anything
    return anything


@unit(I(MODEL, F, WORK.kind, RECORD))
def put_dense(model, h, work, record):
    """Write the dense output: two accelerations, two forces; an impact is none. Return where the piece ends."""
    layout, ends, r, now = model.layout, work.ends, work.r, work.now
    nr = layout.nr
    for i in range(nr):
        r[i] = work.P_0[i] / h if now.reacting == 1 else 0.0
        r[nr + i] = 2.0 * ends.P[i] / h
    for c in range(layout.nc):
        if work.lasting[c] == 0 and now.struck == 1:
            for i in range(layout[layout.contact_row + c], layout[layout.contact_row + c + 1]):
                r[nr + i] = 0.0
    at = open_block(model, row_of(r, 0, nr), record.dense)
    return put_piece(model, 0.0, 1.0, ends.q_0, ends.v_0, 2, work.a, r, work.q_dot, at, record.dense)
