"""EventDriven: smooth phases of high order between located events, index sets, accumulations (Acary, lecture 2010).

One step integrates the motion under its index set (free flight, or contacts and joints held as an index-1 system) and
ends at its end or at the first event: an impact, a release, a change between sticking and slipping, an event of the
user. There the laws decide: the impact law over all closed contacts, then the law on acceleration level, which gives
the next index set. For a single contact these are the cases 1.1 to 2.2.3 of the lecture.
"""

from __future__ import annotations

import dataclasses
import functools
import numbers

import numpy as np

from saltus.compile.seam import ivec, larger, smaller, unit, vec, whole
from saltus.compile.types import MODEL, PLAIN, RECORD, A, F, I, J, step_type
from saltus.control.adaptive import Adaptive
from saltus.errors import SettingError
from saltus.events.index_set import IMPULSIVE, OPEN, SLIP, STICK
from saltus.events.polynomial import NONE
from saltus.events.scan import SAMPLES, first_closing, first_switch, scan_work
from saltus.events.transition import BROKE, RELEASED, STOPPED, stops, transition
from saltus.events.zeno import CLOSED as ENDED
from saltus.events.zeno import COUNT, DURATION, accumulate, zeno_work
from saltus.laws import coulomb_spatial
from saltus.layout import (
    CONTACT_ROW,
    EVENT_TABLE,
    F_FREE,
    FLAGS,
    KIND,
    LAW_FLOATS,
    M_CONSTANT,
    NC,
    NE,
    NJ,
    NQ,
    NR,
    NV,
    NW,
    NX,
    RATE_IDENTITY,
    SIZE,
)
from saltus.profile import factor, quadratic
from saltus.reaction import row_dot
from saltus.record import (
    ACCUMULATION,
    DEGREE,
    DENSE_USED,
    DRIVE_WORK,
    ERROR,
    EVENT,
    EVENT_COLUMNS,
    EVENT_COUNT,
    EVENTS_USED,
    FORCE_WORK,
    H_USED,
    REACTED,
    RESIDUAL,
    REVERSAL,
    TERMINAL,
    VIOLATION,
)
from saltus.reporting import new_event
from saltus.schemes.plan import SchemePlan, chosen_solver, reaction_plan
from saltus.stages.border import BY_LEFT, NORMAL, WHOLE, border, project
from saltus.stages.dense import HEADER, interpolate, reaction
from saltus.stages.galerkin import break_direction, inertia_work, strike_events
from saltus.stages.hold import CONTRADICT, POWERS, REDUNDANT, accelerate
from saltus.stages.interval import (
    CLOSED,
    HOLD_AT,
    LARGEST,
    MOST,
    NEWTON,
    PROJECTED,
    RENEW,
    REST,
    SETTINGS,
    STAGE_AT,
    TOLERANCE,
    evaluate_work,
    interval_iwork,
    interval_work,
    room_iwork,
    room_work,
    solve_interval,
    stage_size,
)
from saltus.stages.settle import BREAKING, LET_GO, RELEASING, changed_events, settle
from saltus.stages.smooth_step import (
    ERROR_ORDER,
    NODES,
    STAGES,
    STEP_STAGES,
    dense_nodes,
    packed_pair,
    packed_radau,
    radau_error,
    radau_step,
    smooth_size,
    stages_of_step,
    step_error,
)
from saltus.stages.tableau import NODE, VECTORS, packed, tableau
from saltus.status import Status

DRIFTED, JAMMED = int(Status.DRIFT_TOO_LARGE), int(Status.JAMMED)
STALLED = int(Status.NEWTON_STALLED)
NOTHING, STRIKES, CROSSES = 0, 10, 11  # beside RELEASED, STOPPED, BROKE
# behind the settings that all schemes with stages share
RTOL, ATOL, ZENO, DRIFT, IMPLICIT, NODE_AT, SAMPLES_AT, RADAU_AT, PAIR_AT = range(SETTINGS, SETTINGS + 9)
OWN = SETTINGS + 9
METHODS = ("dop853", "dopri5", "radau5")
PIECES = 2  # the smooth part of a step, and an accumulation behind it
EVENTS = 5  # most events of a contact at one end of a step
VALID, REMEMBERED = 0, 1


@dataclasses.dataclass(frozen=True)
class EventDriven:
    """Event-driven integration with error control, for any number of contacts, joints, friction and user events.

    Parameters
    ----------
    rtol, atol
        Tolerance of a step, relative to the coordinates and velocities and absolute (in their units).
    method
        Runge-Kutta method of the smooth phases: "dop853" (order 8) or "dopri5" (order 5), explicit, or "radau5" (order
        5), implicit, for stiff forces.
    closed_tolerance
        Gap [m] up to which contacts are closed together; None takes a thousandth of atol, 1e-13 at least.
    rest_tolerance
        Speed [m/s] below which an approach is no impact; None takes 10 atol, 1e-12 at least.
    zeno_speed
        Bounces slower than this [m/s] are followed to their accumulation with frozen coefficients; None takes
        sqrt(atol), so that the error of doing so is of the size of atol. 0 never does.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    projection_tolerance
        Largest gap [m] of held contacts and joints, relative to 1 m plus the largest coordinate.
    """

    rtol: float = 1e-8
    atol: float = 1e-8
    method: str = "dop853"
    closed_tolerance: float | None = None
    rest_tolerance: float | None = None
    zeno_speed: float | None = None
    solver: object | None = None
    projection_tolerance: float = 1e-14

    name = "event-driven"
    adaptive = True
    locates_events = True

    def __post_init__(self):
        for field in ("rtol", "atol"):
            value = getattr(self, field)
            if not isinstance(value, numbers.Real) or not 0.0 < float(value) < np.inf:
                raise SettingError(f"{field} of EventDriven is {value!r}: it must be a positive number")
        if self.rtol < 1e-15:
            raise SettingError(f"rtol of EventDriven is {self.rtol}: below rounding, take 1e-14 or more")
        if self.method not in METHODS:
            one = ", ".join(map(repr, METHODS))
            raise SettingError(f"method of EventDriven is {self.method!r}: it must be one of {one}")
        for field in ("closed_tolerance", "rest_tolerance", "zeno_speed"):
            value = getattr(self, field)
            if value is not None and (not isinstance(value, numbers.Real) or not 0.0 <= float(value) < np.inf):
                raise SettingError(f"{field} of EventDriven is {value!r}: it must be None, zero or more")
        if not isinstance(self.projection_tolerance, numbers.Real) or not self.projection_tolerance > 0.0:
            raise SettingError(
                f"projection_tolerance of EventDriven is {self.projection_tolerance!r}: it must be positive"
            )
        if self.solver is not None and (isinstance(self.solver, type) or not hasattr(self.solver, "work_size")):
            raise SettingError(
                f"solver of EventDriven is {self.solver!r}, not a contact solver: give one such as NSGS()"
            )

    def with_tolerance(self, rtol, atol) -> EventDriven:
        """Return the same scheme with other tolerances; None keeps one."""
        given = {"rtol": rtol, "atol": atol}
        return dataclasses.replace(self, **{name: value for name, value in given.items() if value is not None})

    def control(self) -> Adaptive:
        """Return the control that goes with the scheme."""
        return Adaptive()

    def plan(self, layout: np.ndarray) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        contact_solver = chosen_solver(self.solver, layout)
        pair, (polynomial, samples) = packed_pair(self.method), packed_polynomial()
        closed = max(1e-3 * self.atol, 1e-13) if self.closed_tolerance is None else self.closed_tolerance
        rest = max(10.0 * self.atol, 1e-12) if self.rest_tolerance is None else self.rest_tolerance
        zeno = float(np.sqrt(self.atol)) if self.zeno_speed is None else self.zeno_speed
        shared = np.zeros(SETTINGS)
        shared[CLOSED], shared[REST], shared[PROJECTED] = closed, rest, self.projection_tolerance
        implicit, radau = self.method == "radau5", packed_radau() if self.method == "radau5" else np.zeros(0)
        at = OWN + len(polynomial)
        places = [OWN, at, at + len(samples), at + len(samples) + len(radau)]
        own = [self.rtol, self.atol, zeno, 1e3, implicit, *places]
        stiff_work, stiff_iwork = self._implicit(layout, shared) if implicit else (0, 0)
        nq, nv, nc, nj, nr, ne = (int(layout[k]) for k in (NQ, NV, NC, NJ, NR, NE))
        total, width = int(pair[0]), POWERS + nc
        nodes = NODES * (2 * nq + 2 * nv + 3 * nr + width)
        work = 1 + 3 * nq + 8 * nv + nc + nj + 7 * nr + 2 * width + 5 + NODES + nodes
        work += smooth_size(layout, total)
        work += int(layout[SIZE]) + scan_work(layout, NODES) + zeno_work(layout) + room_work(layout, contact_solver)
        work += stiff_work + nv + nc
        own_rate = 0 if int(layout[FLAGS]) & RATE_IDENTITY else NODES * nq
        piece = 2 + nq + nv + NODES * (nv + nr) + own_rate
        return SchemePlan(
            scheme=self,
            step=event_driven,
            settings=np.concatenate([shared, own, polynomial, samples, radau, pair]),
            inner=reaction_plan(
                layout, contact_solver, drift=False, interval=solve_interval if implicit else None, settle=settle
            ),
            memory=REMEMBERED + 5 * nc + nv + 2 * nr + width + 2 * ne,
            work=work,
            iwork=9 * nc + 4 + stiff_iwork + room_iwork(layout, contact_solver),
            dense=HEADER + 2 * nr + PIECES * piece,
            events=EVENTS * nc + ne,
        )

    def _implicit(self, layout: np.ndarray, shared: np.ndarray) -> tuple[int, int]:
        """Fill in what the stage equations of an implicit method want; return its floats and integers."""
        stages = 3
        spatial = any(int(layout[layout[KIND] + c]) == coulomb_spatial.KIND for c in range(int(layout[NC])))
        newton = spatial or not int(layout[FLAGS]) & F_FREE
        shared[TOLERANCE], shared[MOST], shared[NEWTON], shared[LARGEST] = 1e-3 * self.rtol, 30, newton, stages
        shared[TOLERANCE] = max(shared[TOLERANCE], 1e-14)
        shared[STAGE_AT] = interval_work(layout, stages, newton) + int(layout[NV]) ** 2
        shared[HOLD_AT] = shared[STAGE_AT] + evaluate_work(layout, stages)
        return int(shared[HOLD_AT]) + stage_size(layout, stages), interval_iwork(layout, stages)

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside of steps by the dense output of the pair."""
        return interpolate([tableau(NODES - 1, "-", "lobatto")], s, h, start, end, block, side)

    def reaction(self, s, h, block, rows, side):
        """Return the contact forces and their integral inside of steps."""
        return reaction([tableau(NODES - 1, "-", "lobatto")], s, h, block, rows, side)


@functools.cache
def packed_polynomial() -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes of the dense output as kernels see them, and their weights at the samples of the scanners."""
    made = tableau(NODES - 1, "-", "lobatto")
    return packed(made), made.interpolation(np.arange(SAMPLES + 1) / SAMPLES).ravel()


@unit(step_type(0))
def event_driven(model, reaction, settings, t, h, state, state_new, record, work, iwork):
    # ---- model / settings / in / out / work
    layout, par, core = model.layout, model.par, reaction.reaction
    nq, nv, nc, nj, nr, ne = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR], layout[NE]
    flags, width, n = layout[FLAGS], POWERS + nc, NODES
    memory, header = state_new.memory, record.header
    at = whole(settings[PAIR_AT])
    tab = vec(settings, whole(settings[NODE_AT]), whole(settings[SAMPLES_AT] - settings[NODE_AT]))
    samples = vec(settings, whole(settings[SAMPLES_AT]), (SAMPLES + 1) * n)
    pair, c = vec(settings, at, settings.shape[0] - at), vec(tab, VECTORS + NODE * n, n)
    total, step = whole(pair[STAGES]), whole(pair[STEP_STAGES])
    for i in range(memory.shape[0]):
        memory[i] = state.memory[i]
    direction = vec(memory, REMEMBERED + nc, 3 * nc)
    at = REMEMBERED + 4 * nc
    a_0, r_0, u_0, powers_0 = (
        vec(memory, at, nv),
        vec(memory, at + nv, nr),
        vec(memory, at + nv + nr, nr),
        vec(memory, at + nv + 2 * nr, width),
    )
    fired = vec(memory, at + nv + 2 * nr + width, ne)
    let_go = vec(memory, at + nv + 2 * nr + width + ne, nc)  # when a contact was last released
    last_values = vec(memory, at + nv + 2 * nr + width + ne + nc, ne)  # of the event functions, at the end of a step
    q_0, q, shifted = vec(work, 1, nq), vec(work, 1 + nq, nq), vec(work, 1 + 2 * nq, nq)
    at = 1 + 3 * nq
    v_0, v, v_new, slope = (
        vec(work, at, nv),
        vec(work, at + nv, nv),
        vec(work, at + 2 * nv, nv),
        vec(work, at + 3 * nv, nv),
    )
    moved, a_end, v_try, f = (
        vec(work, at + 4 * nv, nv),
        vec(work, at + 5 * nv, nv),
        vec(work, at + 6 * nv, nv),
        vec(work, at + 7 * nv, nv),
    )
    at += 8 * nv
    g = vec(work, at, nc + nj)
    at += nc + nj
    P, u_minus, u_plus, u_start = (
        vec(work, at, nr),
        vec(work, at + nr, nr),
        vec(work, at + 2 * nr, nr),
        vec(work, at + 3 * nr, nr),
    )
    corrected, r_end, P_zeno = vec(work, at + 4 * nr, nr), vec(work, at + 5 * nr, nr), vec(work, at + 6 * nr, nr)
    at += 7 * nr
    powers, spare = vec(work, at, width), vec(work, at + width, width)
    at += 2 * width
    info, summary, weights = vec(work, at, 3), vec(work, at + 3, 2), vec(work, at + 5, n)
    at += 5 + n
    span = n * (2 * nq + 2 * nv + 3 * nr + width)
    nodes = vec(work, at, span)
    at += span
    Q, V, Q_dot, a = (
        vec(nodes, 0, n * nq),
        vec(nodes, n * nq, n * nv),
        vec(nodes, n * (nq + nv), n * nq),
        vec(nodes, n * (2 * nq + nv), n * nv),
    )
    span = n * (2 * nq + 2 * nv)
    R, sums_r, U, sums_p = (
        vec(nodes, span, n * nr),
        vec(nodes, span + n * nr, n * nr),
        vec(nodes, span + 2 * n * nr, n * nr),
        vec(nodes, span + 3 * n * nr, n * width),
    )
    span = total * (nq + nv + nr + width) + nq + nv + nr
    stages = vec(work, at, span)
    at += span
    M = vec(work, at, layout[SIZE])
    at += layout[SIZE]
    span = n + nq + nv + 3 * (nc + nj) + nr + layout[NW] + 2 * nc + 3 * ne
    scan = vec(work, at, span)
    at += span
    span = nv + 5 * nc + 3 * nr
    micro = vec(work, at, span)
    at += span
    idle = vec(work, at, nv + nc)  # stays zero: no impulse is felt by the stages
    at += nv + nc
    implicit, radau = settings[IMPLICIT] == 1.0, vec(settings, whole(settings[RADAU_AT]), 0)
    own = vec(work, at, 0)
    if implicit:
        radau = vec(settings, whole(settings[RADAU_AT]), whole(settings[PAIR_AT] - settings[RADAU_AT]))
        span = 3 * (2 * nq + 2 * nv + 2 * nr + width)
        own = vec(work, at, span)
        at += span
    inner = vec(work, at, work.shape[0] - at)
    room = vec(inner, whole(settings[HOLD_AT]), inner.shape[0] - whole(settings[HOLD_AT]))
    index, before, closed, resting, stopped, held, candidate, member = (
        ivec(iwork, 0, nc),
        ivec(iwork, nc, nc),
        ivec(iwork, 2 * nc, nc),
        ivec(iwork, 3 * nc, nc),
        ivec(iwork, 4 * nc, nc),
        ivec(iwork, 5 * nc, nc),
        ivec(iwork, 6 * nc, nc),
        ivec(iwork, 7 * nc, nc),
    )
    found = ivec(iwork, 8 * nc, 4)
    iinner = ivec(iwork, 8 * nc + 4, iwork.shape[0] - 8 * nc - 4)
    at = whole(settings[LARGEST]) * (nv + nc) + nc
    iroom = ivec(iinner, at, iinner.shape[0] - at)
    header[H_USED], header[ERROR], header[RESIDUAL], header[DEGREE] = h, 0.0, 0.0, pair[ERROR_ORDER]
    header[EVENTS_USED], header[FORCE_WORK], header[DRIVE_WORK], header[VIOLATION] = 0.0, 0.0, 0.0, 0.0
    header[DENSE_USED], header[REACTED] = 0.0, 1.0 if nj > 0 else 0.0
    for i in range(nq):
        q_0[i], q[i], state_new.q[i] = state.q[i], state.q[i], state.q[i]
    for i in range(nv):
        v_0[i], v[i], state_new.v[i] = state.v[i], state.v[i], state.v[i]
    for i in range(nr):
        record.impulse[i], P[i], u_start[i] = 0.0, 0.0, 0.0
    for k in range(nc):
        index[k] = whole(memory[REMEMBERED + k])
        record.dissipation[k], resting[k], stopped[k], candidate[k] = 0.0, 0, 0, 0

    # ---- the start of a run, or of a segment behind a jump of the force
    model.gap(t, q_0, par, g)
    crossing = -1
    for k in range(nc):
        before[k] = index[k]
    if memory[VALID] == 0.0 or work[0] == 0.0:
        for k in range(nc):
            if memory[VALID] == 0.0:
                index[k], let_go[k] = OPEN, -1e300
        for k in range(ne):
            fired[k] = fired[k] if memory[VALID] == 1.0 else 0.0
        status = reaction.settle(
            model, core, settings, t, q_0, v_0, g, 1, 0.0, index, direction, resting, stopped, candidate, a_0, r_0,
            u_0, powers_0, info, inner, iinner, record,
        )  # fmt: skip
        if status != 0:
            return status
        for k in range(nc):
            if before[k] != index[k] and (memory[VALID] == 1.0 or index[k] == IMPULSIVE):
                changed_events(model, t, k, before[k], index[k], 0, u_0, r_0, record)
        if ne > 0 and memory[VALID] == 1.0:
            # an event function may change its sign between the two sides of a break
            values = vec(scan, 0, ne)
            model.switch(t, q_0, v_0, par, values)
            for k in range(ne):
                way = layout[layout[EVENT_TABLE] + 3 * k]
                rises, falls = last_values[k] < 0.0 and values[k] >= 0.0, last_values[k] > 0.0 and values[k] <= 0.0
                if fired[k] == 0.0 and ((rises and way >= 0) or (falls and way <= 0)):
                    crossing = k
        memory[VALID], work[0] = 1.0, 1.0
    near, holding, jammed = False, nj > 0, False
    for k in range(nc):
        holds = index[k] == SLIP or index[k] == STICK
        holding, jammed = holding or holds, jammed or index[k] == IMPULSIVE
        near = near or (not holds and g[k] <= settings[CLOSED])
    # an approach that begins closed (the start of a run, a reset) strikes at once
    pending = -1
    if near:
        W = vec(room, 1 + layout[SIZE], layout[NW])
        model.kinematics(t, q_0, par, W, u_minus)
        for k in range(nc):
            row = layout[layout[CONTACT_ROW] + k]
            if index[k] != SLIP and index[k] != STICK and g[k] <= settings[CLOSED]:
                if row_dot(layout, W, row, v_0) + u_minus[row] < -settings[REST]:
                    pending = k
    still = pending >= 0 or crossing >= 0
    if holding and not still:
        limit = slip_begins(model, t, q_0, v_0, a_0, u_0, index, settings[REST], settings[ZENO], direction, room)
        if h > limit:
            h = limit
            header[H_USED] = h
    if jammed and not still:
        h *= 1e-4  # a contact without a finite force: the impulse law acts as soon as it approaches
        header[H_USED] = h

    # ---- smooth motion up to the first event
    kind, which, s = NOTHING, -1, 1.0
    if still:
        s = smaller(1.0, larger(4e-16 * abs(t) / h, 1e-15))
        kind, which = (CROSSES, crossing) if crossing >= 0 else (STRIKES, pending)
        for j in range(n):
            for i in range(nq):
                Q[j * nq + i], Q_dot[j * nq + i] = q_0[i], 0.0
            for i in range(nv):
                V[j * nv + i], a[j * nv + i] = v_0[i], 0.0
            for i in range(nr):
                R[j * nr + i], sums_r[j * nr + i] = r_0[i], 0.0
            for i in range(width):
                sums_p[j * width + i] = 0.0
    else:
        if implicit:
            status = radau_step(
                model, reaction, settings, radau, t, h, q_0, v_0, index, direction, a_0, stages, own, idle, inner,
                iinner, record,
            )  # fmt: skip
        else:
            status = stages_of_step(
                model, pair, t, h, q_0, v_0, index, direction, a_0, r_0, powers_0, 0, step, stages, room, iroom, record
            )
        if status == JAMMED or status == CONTRADICT or status == STALLED:
            header[ERROR] = 1e10
            return 0
        if status != 0:
            return status
        if implicit:
            header[ERROR] = radau_error(
                model, settings, h, q_0, v_0, a_0, settings[RTOL], settings[ATOL], own, inner, iinner
            )
        else:
            header[ERROR] = step_error(model, pair, h, q_0, v_0, settings[RTOL], settings[ATOL], stages)
        if not header[ERROR] <= 1.0:
            header[ERROR] = header[ERROR] if header[ERROR] < 1e10 else 1e10
            if not header[ERROR] > 1.0:
                header[ERROR] = 1e10  # not a number
            return 0
        at = total * (nq + nv + nr + width)
        for i in range(nq):
            q[i] = stages[at + i]
        for i in range(nv):
            v[i] = stages[at + nq + i]
        status = stages_of_step(
            model, pair, t, h, q_0, v_0, index, direction, a_0, r_0, powers_0, step, total, stages, room, iroom, record
        )
        if status != 0:
            header[ERROR] = 1e10
            return 0
        dense_nodes(model, pair, h, q_0, v_0, stages, Q, V, Q_dot, a, R, sums_r, sums_p)
        if nc > 0 and not jammed:
            place = first_closing(model, c, samples, t, h, Q, V, index, settings[CLOSED], found, scan)
            if place < NONE:
                kind, which, s = STRIKES, found[0], place
        if holding and nc > 0:
            slips(model, c, t, h, Q, V, index, U, room)
            speed = vec(summary, 0, 1)
            speed[0] = 0.0
            for i in range(n * nv):
                speed[0] = larger(speed[0], abs(V[i]))
            place = transition(model, c, index, direction, R, U, speed, iroom[REDUNDANT], found, weights)
            if place < s:
                kind, which, s = found[1], found[0], place
        if ne > 0:
            place = first_switch(model, c, samples, t, h, Q, V, fired, s, found, scan)
            if place <= s:
                kind, which, s = CROSSES, found[0], place
        if jammed and kind == NOTHING:
            for k in range(nc):
                if index[k] == IMPULSIVE:
                    kind, which = STRIKES, k
        s = larger(s, larger(4e-16 * abs(t) / h, 1e-15))
    stopping = 0
    if kind == STOPPED:
        stopping = stops(layout, c, s, settings[REST], 0.05, which, U, weights)
        row = layout[layout[CONTACT_ROW] + which]
        if stopping == 1 and layout[layout[CONTACT_ROW] + which + 1] - row == 3:
            # a slip in space turns the faster the nearer its stop: approach it before it is reached
            if U[row + 1] * U[row + 1] + U[row + 2] * U[row + 2] > settings[ZENO] * settings[ZENO]:
                kind, s = NOTHING, 0.75 * s
    size = h * s
    if s < 1.0 and not still:
        # the step up to the event once more: its end is more accurate than the polynomial that located it
        for attempt in range(4):
            if implicit:
                status = radau_step(
                    model, reaction, settings, radau, t, size, q_0, v_0, index, direction, a_0, stages, own, idle,
                    inner, iinner, record,
                )  # fmt: skip
            else:
                status = stages_of_step(
                    model, pair, t, size, q_0, v_0, index, direction, a_0, r_0, powers_0, 0, step, stages, room, iroom,
                    record,
                )  # fmt: skip
            if status == STALLED:
                header[ERROR] = 1e10  # a slip that stops in space: come nearer first
                return 0
            if status != 0:
                return status
            at = total * (nq + nv + nr + width)
            for i in range(nq):
                q[i] = stages[at + i]
            for i in range(nv):
                v[i] = stages[at + nq + i]
            if kind != STRIKES or attempt == 3:
                break
            W, row = vec(room, 1 + layout[SIZE], layout[NW]), layout[layout[CONTACT_ROW] + which]
            model.gap(t + size, q, par, g)
            model.kinematics(t + size, q, par, W, u_minus)
            fall = row_dot(layout, W, row, v) + u_minus[row]
            if not fall < 0.0 or abs(g[which]) <= 4e-16 * (abs(t) + size) * -fall:
                break
            if not abs(g[which]) < -0.1 * size * fall:
                break  # a grazing that one step of Newton would leave
            size -= g[which] / fall
        status = stages_of_step(
            model, pair, t, size, q_0, v_0, index, direction, a_0, r_0, powers_0, step, total, stages, room, iroom,
            record,
        )  # fmt: skip
        if status != 0:
            return status
        dense_nodes(model, pair, size, q_0, v_0, stages, Q, V, Q_dot, a, R, sums_r, sums_p)
    if s < 1.0:
        header[H_USED] = size
    t_end = t + size

    # ---- the state there, impulses and work up to there
    for i in range(nr):
        r_end[i] = sums_r[(n - 1) * nr + i]
    for i in range(width):
        powers[i] = sums_p[(n - 1) * width + i]
    model.retract(q, par)
    for i in range(nr):
        record.impulse[i] += r_end[i]
        if r_end[i] != 0.0:
            header[REACTED] = 1.0
    header[FORCE_WORK] += powers[0]
    header[DRIVE_WORK] += powers[1]
    for k in range(nc):
        record.dissipation[k] += powers[POWERS + k]
    if (flags & M_CONSTANT) == 0:
        header[DRIVE_WORK] += inertia_work(model, tab, t, size, nodes, shifted, M)
    model.gap(t_end, q, par, g)
    length = 0.0
    for i in range(nq):
        length = larger(length, abs(q[i]))
    for j in range(nc + nj):
        if j >= nc or index[j if j < nc else 0] == SLIP or index[j if j < nc else 0] == STICK:
            # the lecture's case 2.1: what is held has left its place
            if abs(g[j]) > settings[DRIFT] * (settings[ATOL] + settings[RTOL] * length) + 1e-12:
                return DRIFTED
    used = HEADER + nr
    for i in range(nr):
        record.dense[HEADER + i] = r_0[i]
    used = put_piece(model, 0.0, 1.0, q_0, v_0, a, R, Q_dot, used, record.dense)
    for i in range(nv):
        record.v_minus[i] = v[i]

    # ---- what happens there
    for k in range(nc):
        before[k] = index[k]
        closed[k] = 0
    struck = 0
    if kind == STRIKES:
        for k in range(nc):
            holds = index[k] == SLIP or index[k] == STICK
            closed[k] = 1 if g[k] <= settings[CLOSED] or holds or k == which else 0
        W = vec(room, 1 + layout[SIZE], layout[NW])
        model.kinematics(t_end, q, par, W, u_minus)
        for k in range(nc):
            row = layout[layout[CONTACT_ROW] + k]
            if closed[k] == 1 and index[k] != SLIP and index[k] != STICK:
                floor = 0.0 if index[k] == IMPULSIVE else -settings[REST]
                if row_dot(layout, W, row, v) + u_minus[row] < floor:
                    struck = 1
        if struck == 0:
            resting[which] = 1  # it closes without an impact
    if struck == 1:
        status = border(
            model, core, t_end, h, settings[REST], BY_LEFT, q, v, a_0, u_start, index, closed, v_new, P, u_minus,
            u_plus, info, room, iroom, record,
        )  # fmt: skip
        if status != 0:
            return status
        header[RESIDUAL], header[REACTED] = larger(header[RESIDUAL], info[0]), 1.0
        strike_events(
            model, settings, t_end, h, 1, closed, resting, P, a_0, r_end, u_minus, u_plus, u_start, room, record
        )
        for i in range(nr):
            record.impulse[i] += P[i]
        for i in range(nv):
            v[i] = v_new[i]
    for k in range(nc):
        if t_end - let_go[k] <= 1e-12 * (abs(t) + h):
            candidate[k] = LET_GO
    if kind == RELEASED:
        candidate[which], let_go[which] = RELEASING, t_end
    if kind == STOPPED and stopping == 1:
        stopped[which] = 1
    if kind == BROKE:
        candidate[which] = BREAKING
        break_direction(layout, which, vec(R, (n - 1) * nr, nr), direction)
    for k in range(ne):
        fired[k] = 0.0
    if kind == CROSSES:
        fired[which] = 1.0
        new_event(t_end, nc + which, EVENT, 0, 0, P, P, P, record)
        if layout[layout[EVENT_TABLE] + 3 * which + 1] == 1:
            header[TERMINAL] = 1.0
        if layout[layout[EVENT_TABLE] + 3 * which + 2] == 1:
            model.reset(which, t_end, q, v, par)
            model.gap(t_end, q, par, g)
            header[REACTED] = 1.0  # the velocity jumps: its left limit must be kept
            for k in range(nc):
                index[k] = OPEN

    # ---- what stays closed is put in place, then the law decides what is held next
    status = arrange(
        model, reaction, settings, t_end, q, v, g, struck, index, direction, resting, stopped, candidate, held, u_plus,
        corrected, a_0, r_0, u_0, powers_0, info, 1 if kind != NOTHING or holding or near else 0, stages, pair, inner,
        iinner, record,
    )  # fmt: skip
    if status != 0:
        return status
    header[RESIDUAL] = larger(header[RESIDUAL], info[0])
    if kind == NOTHING or kind == RELEASED or kind == BROKE:
        for i in range(nv):
            record.v_minus[i] = v[i]
    if kind == STOPPED:
        for i in range(nv):
            record.v_minus[i] = v[i]

    # ---- an accumulation of impacts is followed to its end
    ends = 0.0
    if struck == 1 and settings[ZENO] > 0.0 and s * h < h:
        members = 0
        for k in range(nc):
            row, e = layout[layout[CONTACT_ROW] + k], model.constants[LAW_FLOATS * k]
            member[k] = 0
            if index[k] == OPEN and e < 1.0:
                bounce = u_plus[row] if closed[k] == 1 else 0.0
                if closed[k] == 0 and g[k] < 1e3 * settings[ZENO] * settings[ZENO]:
                    model.kinematics(t_end, q, par, vec(room, 1 + layout[SIZE], layout[NW]), u_start)
                    bounce = row_dot(layout, vec(room, 1 + layout[SIZE], layout[NW]), row, v) + u_start[row]
                    member[k] = 1 if abs(bounce) < settings[ZENO] else 0
                elif closed[k] == 1 and bounce > 0.0:
                    member[k] = 1 if bounce < settings[ZENO] else 0
                members += member[k]
                if closed[k] == 1 and bounce >= settings[ZENO]:
                    members = -nc  # one of the closed contacts still bounces high
        if members > 0:
            for i in range(nv):
                slope[i] = 0.0
            for attempt in range(2):
                for i in range(nv):
                    v_try[i] = v[i]
                frozen(model, t_end, q, v, room)
                status = accumulate(
                    model, core, index, member, a_0, slope, g, settings[ZENO], 1e-15, h - size, v_try, moved,
                    P_zeno, summary, info, micro, room, iroom, record,
                )  # fmt: skip
                if status < 0:
                    return -status
                if status != ENDED:
                    break
                ends = 1.0
                model.rate(q, moved, par, shifted)
                for i in range(nq):
                    shifted[i] += q[i]
                model.retract(shifted, par)
                if attempt == 0:
                    status = accelerate(
                        model, t_end + summary[DURATION], shifted, v_try, index, direction, 0, a_end, corrected,
                        u_start, spare, room, iroom, record,
                    )  # fmt: skip
                    if status != 0:
                        break
                    for i in range(nv):
                        slope[i] = (a_end[i] - a_0[i]) / larger(summary[DURATION], 1e-300)
            if ends == 1.0 and status == ENDED:
                duration = summary[DURATION]
                begin = t_end
                model.force(t_end, q, v, par, f)
                model.mass(t_end, q, par, M)
                lost = 0.5 * (quadratic(layout, M, v) - quadratic(layout, M, v_try))
                pushed = 0.0
                for i in range(nv):
                    header[FORCE_WORK] += f[i] * moved[i]
                    lost += f[i] * moved[i]
                gained = -0.5 * quadratic(layout, M, v_try)
                model.mass(t_end + duration, shifted, par, M)
                header[DRIVE_WORK] += gained + 0.5 * quadratic(layout, M, v_try)
                for k in range(nc):
                    pushed += P_zeno[layout[layout[CONTACT_ROW] + k]] if member[k] == 1 else 0.0
                size += duration
                header[H_USED] = size
                t_end = t + size
                for j in range(n):
                    for i in range(nv):
                        a[j * nv + i] = (v_try[i] - v[i]) / duration
                    for i in range(nr):
                        R[j * nr + i] = r_0[i]
                    for i in range(nq):
                        Q_dot[j * nq + i] = (shifted[i] - q[i]) / duration
                record.dense[HEADER + nr + 1] = (begin - t) / size
                used = put_piece(model, (begin - t) / size, 1.0, q, v, a, R, Q_dot, used, record.dense)
                for k in range(nc):
                    row, end = layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]
                    before[k] = index[k]
                    resting[k] = member[k]
                    if member[k] == 1:
                        record.dissipation[k] += lost * P_zeno[row] / larger(pushed, 1e-300)
                        new_event(t_end, k, ACCUMULATION, row, end, u_plus, u_start, P_zeno, record)
                        place = (whole(header[EVENTS_USED]) - 1) * EVENT_COLUMNS + EVENT_COUNT
                        record.events[place] = summary[COUNT] / members
                for i in range(nr):
                    record.impulse[i] += P_zeno[i] + duration * r_0[i]
                for i in range(nq):
                    q[i] = shifted[i]
                for i in range(nv):
                    v[i], record.v_minus[i] = v_try[i], v_try[i]
                for i in range(nr):
                    u_plus[i] = 0.0
                model.gap(t_end, q, par, g)
                for k in range(nc):
                    candidate[k], stopped[k] = 0, 0
                status = arrange(
                    model, reaction, settings, t_end, q, v, g, 0, index, direction, resting, stopped, candidate, held,
                    u_plus, corrected, a_0, r_0, u_0, powers_0, info, 1, stages, pair, inner, iinner, record,
                )  # fmt: skip
                if status != 0:
                    return status

    # ---- events of the index set, update
    for k in range(nc):
        direction[2 * nc + k] = 0.0
    for k in range(nc):
        if before[k] != index[k]:
            if implicit:
                inner[RENEW] = 1.0
            changed_events(model, t_end, k, before[k], index[k], resting[k] * struck, u_0, r_0, record)
        elif stopped[k] == 1 and index[k] == SLIP and kind == STOPPED and k == which:
            new_event(t_end, k, REVERSAL, 0, 0, u_0, u_0, r_0, record)
        memory[REMEMBERED + k] = index[k]
    if ne > 0:
        model.switch(t_end, q, v, par, last_values)
    for i in range(nq):
        state_new.q[i] = q[i]
    for i in range(nv):
        state_new.v[i] = v[i]
    record.dense[0], record.dense[1], record.dense[2], record.dense[3] = 1.0 + ends, n, nq, nv
    record.dense[4], record.dense[5] = nr, 0.0 if (flags & RATE_IDENTITY) != 0 else 1.0
    record.dense[6] = t
    for i in range(nr):
        record.dense[used + i] = r_0[i]
    header[DENSE_USED] = used + nr
    for j in range(nc + nj):
        depth = -g[j] if j < nc else abs(g[j])
        if not depth <= header[VIOLATION]:  # a gap that is not a number must not pass
            header[VIOLATION] = depth
    return 0


@unit(I(MODEL, F, F, A, A, A, A, A, I, A))
def put_piece(model, begin, end, q, v, a, r, q_dot, at, dense):
    """Write one piece of dense output (see stages/dense.py); return where the next one begins."""
    layout = model.layout
    nq, nv, nr, n = layout[NQ], layout[NV], layout[NR], NODES
    dense[at], dense[at + 1] = begin, end
    at += 2
    for i in range(nq):
        dense[at + i] = q[i]
    for i in range(nv):
        dense[at + nq + i] = v[i]
    at += nq + nv
    for i in range(n * nv):
        dense[at + i] = a[i]
    for i in range(n * nr):
        dense[at + n * nv + i] = r[i]
    at += n * (nv + nr)
    if (layout[FLAGS] & RATE_IDENTITY) == 0:
        for i in range(n * nq):
            dense[at + i] = q_dot[i]
        at += n * nq
    return at


@unit(I(MODEL, A, F, F, A, A, J, A, A))
def slips(model, c, t, h, Q, V, index, U, work):
    """Write the row velocities of held contacts at the nodes."""
    layout = model.layout
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    W, w = vec(work, 1 + layout[SIZE], layout[NW]), vec(work, work.shape[0] - nr, nr)
    for j in range(c.shape[0]):
        model.kinematics(t + c[j] * h, vec(Q, j * nq, nq), model.par, W, w)
        for k in range(nc):
            for i in range(layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]):
                U[j * nr + i] = row_dot(layout, W, i, vec(V, j * nv, nv)) + w[i]
    return 0


@unit(F(MODEL, F, A, A, A, A, J, F, F, A, A))
def slip_begins(model, t, q, v, a, u, index, rest, zeno, direction, work):
    """Return the step allowed while a slip in space begins; until it is fast enough to turn it goes straight on.

    The friction of a slip from rest turns infinitely fast with rounding; in the time that it takes to reach the speed
    `zeno` the direction in which it begins is good enough.
    """
    layout = model.layout
    nv, nc, nr = layout[NV], layout[NC], layout[NR]
    size, nw, nx = layout[SIZE], layout[NW], layout[NX]
    W, at, longest = vec(work, 1 + size, nw), 1 + size + nw + nx + 2 * nv, 1e300
    for c in range(nc):
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        direction[2 * nc + c] = 0.0
        if index[c] != SLIP or end - row != 3:
            continue
        if u[row + 1] * u[row + 1] + u[row + 2] * u[row + 2] > rest * rest:
            continue
        model.kinematics(t, q, model.par, W, vec(work, at, nr))
        model.curvature(t, q, v, model.par, vec(work, at + nr, nr))
        fast = 0.0
        for i in range(row + 1, end):
            fast = larger(fast, abs(row_dot(layout, W, i, a) + work[at + nr + i]))
        direction[2 * nc + c] = 1.0
        longest = smaller(longest, zeno / larger(fast, 1e-300))
    return longest


@unit(I(MODEL, F, A, A, A))
def frozen(model, t, q, v, work):
    """Write the factors of M, W, w and zeta of a state where `border` and `accumulate` expect them."""
    layout = model.layout
    nv, nr = layout[NV], layout[NR]
    size, nw, nx = layout[SIZE], layout[NW], layout[NX]
    at = 1 + size + nw + nx + 2 * nv
    model.mass(t, q, model.par, vec(work, 1, size))
    status = factor(layout, vec(work, 1, size))
    work[0] = 1.0
    model.kinematics(t, q, model.par, vec(work, 1 + size, nw), vec(work, at, nr))
    model.curvature(t, q, v, model.par, vec(work, at + nr, nr))
    return status


@unit(
    I(MODEL, PLAIN, A, F, A, A, A, I, J, A, J, J, J, J, A, A, A, A, A, A, A, I, A, A, A, J, RECORD)
)  # fmt: skip
def arrange(
    model, reaction, settings, t, q, v, g, struck, index, direction, resting, stopped, candidate, held, u_plus,
    corrected, a_0, r_0, u_0, powers_0, info, deciding, stages, pair, inner, iinner, record,
):  # fmt: skip
    """Put held contacts and joints in place and decide the next index set; without need take over the last stage."""
    layout, core = model.layout, reaction.reaction
    nv, nc, nj, nr, nq = layout[NV], layout[NC], layout[NJ], layout[NR], layout[NQ]
    info[0] = 0.0
    if deciding == 0:
        total, last, width = whole(pair[STAGES]), whole(pair[STEP_STAGES]) - 1, POWERS + nc
        at = total * (nq + nv)
        for i in range(nv):
            a_0[i] = stages[total * nq + last * nv + i]
        for i in range(nr):
            r_0[i] = stages[at + last * nr + i]
        for i in range(width):
            powers_0[i] = stages[at + total * nr + last * width + i]
        return 0
    at = whole(settings[LARGEST]) * (nv + nc) + nc
    iroom = ivec(iinner, at, iinner.shape[0] - at)
    at = whole(settings[HOLD_AT])
    room = vec(inner, at, inner.shape[0] - at)
    anything = nj > 0
    W = vec(room, 1 + layout[SIZE], layout[NW])
    model.kinematics(t, q, model.par, W, corrected)
    for k in range(nc):
        row = layout[layout[CONTACT_ROW] + k]
        held[k] = 0
        if index[k] == SLIP or index[k] == STICK or resting[k] == 1:
            # a slip slower than the tolerance is none: all of them end together, or they would end one by one forever
            slow = True
            for i in range(row + 1, layout[layout[CONTACT_ROW] + k + 1]):
                slow = slow and abs(row_dot(layout, W, i, v) + corrected[i]) <= settings[REST]
            held[k] = WHOLE if index[k] == STICK or stopped[k] == 1 or slow else NORMAL
            if struck == 1:  # an impact may have lifted it, or made it slip or stick
                slides = False
                for i in range(row + 1, layout[layout[CONTACT_ROW] + k + 1]):
                    slides = slides or abs(u_plus[i]) > settings[REST]
                held[k] = NORMAL if slides else WHOLE
                if u_plus[row] > settings[REST]:
                    held[k] = 0
        if candidate[k] == RELEASING:
            held[k] = 0
        anything = anything or held[k] != 0
    if anything:
        for i in range(nr):
            corrected[i] = 0.0
        status = project(model, settings[PROJECTED], t, q, v, held, corrected, g, room, iroom)
        if status != 0:
            return status
        for i in range(nr):
            record.impulse[i] += corrected[i]
    return reaction.settle(
        model, core, settings, t, q, v, g, 1, 1.0 if struck == 1 else 0.0, index, direction, resting, stopped,
        candidate, a_0, r_0, u_0, powers_0, info, inner, iinner, record,
    )  # fmt: skip
