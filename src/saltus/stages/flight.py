"""A flight: smooth motion under one index set up to the first event, and what happens there.

The step of all schemes that end their steps at events. Four parts do the work, linked by pointers: `depart` (index set
of the start), a phase (the smooth motion, the only part that schemes bring along), `find` (the first event on its
polynomials), `arrive` (impact law, next index set, accumulations). They share a frame (stages/frame.py).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.compile.seam import ivec, larger, smaller, unit, vec, whole
from saltus.compile.types import FLAT, MODEL, PLAIN, RECORD, A, F, I, J, step_type
from saltus.events.polynomial import node_factors, spread
from saltus.events.transition import STOPPED
from saltus.layout import (
    CONTACT_ROW,
    F_WILD,
    FLAGS,
    NC,
    NE,
    NJ,
    NQ,
    NR,
    NS,
    NV,
    NW,
    SIZE,
    TRUSTED,
    WAVES,
    WILD,
    WILD_SWITCHES,
)
from saltus.reaction import row_dot
from saltus.stages import frame as frames
from saltus.stages.arrive import EVENTS, arrive, dense_size
from saltus.stages.depart import depart
from saltus.stages.find import find
from saltus.stages.frame import (
    AGAIN,
    BEGIN,
    CROSSES,
    FILL,
    FLIGHT_SETTINGS,
    FOUND,
    MANY,
    MISSES,
    NOTHING,
    PROMISE_AT,
    SPAN,
    STRIKES,
    TRY,
    WINDOW_FACTOR,
    WINDOW_POWER,
    frame_sizes,
    part,
    places,
    promise_size,
    remembered,
    span_of,
)
from saltus.stages.hold import CONTRADICT, POWERS
from saltus.stages.inspect import CURABLE, inspect
from saltus.stages.interval import HOLD_AT, REACH_AT, room_iwork, room_work
from saltus.stages.modes import FREE, free_modes, hold_modes
from saltus.stages.prove import prove_work
from saltus.stages.tableau import NODE, STAGES, VECTORS
from saltus.status import Status

JAMMED, STALLED = int(Status.JAMMED), int(Status.NEWTON_STALLED)
LOOK_CLOSER = 0.4  # of a flight whose slips were not resolved: the next one to try
REFUSED = 1e10  # an error estimate that no control accepts
TAYLOR = 1e-4  # of the relative tolerance: (shift of the end / length)^2 up to which it is moved by its acceleration
MOST_EXPECTED = 2e5  # flights: a start with short ones, as at a jump of the force, says little about their number
FIRST_FLIGHTS = 3.0  # after which their mean length says how many there will be, before it the one that is tried
SHARPEST = 5e-11  # relative tolerance: below, the rounding of more and shorter flights costs more than it gains
PRECISE = 4e-16  # of the duration of a flight: rounding of the time at which it ends
# flights of a span at least: where forces or switching functions may do anything between two places, where only gaps
# and rows may (which inspect.py looks at in many places), and where all are polynomials of time, state and sines
WILDEST_FLIGHTS, WILD_FLIGHTS, TAME_FLIGHTS = 128.0, 16.0, 2.0
RADIANS = 8.0  # of the fastest phase in one flight, so that samples resolve it
CORRECTIONS = 4  # of the time of an impact; Newton's method, each of them doubles the digits


@dataclasses.dataclass(frozen=True)
class Flight:
    """What a scheme of flights is made of: settings, sizes and parts, for `flight_plan` of schemes/plan.py."""

    settings: np.ndarray
    memory: int
    work: int
    iwork: int
    dense: int
    events: int
    parts: tuple


def make_flight(
    layout: np.ndarray, contact_solver, shared: np.ndarray, own: list[float], numbers, phase, *, most_nodes: int,
    phase_work: int, phase_memory: int = 0, inner_work: int = 0, inner_iwork: int = 0,
) -> Flight:  # fmt: skip
    """Return a flight.

    Parameters
    ----------
    shared, own
        The settings of all schemes with stages, and those of flights up to STRAIGHT.
    numbers
        Function that returns the numbers of the phase, given where they begin.
    phase
        Its unit; `most_nodes` of its polynomials, floats of its work and of its memory.
    inner_work, inner_iwork
        Floats and integers of `solve_interval` for implicit phases.
    """
    nc, ne = int(layout[NC]), int(layout[NE])
    inner = inner_work + room_work(layout, contact_solver)
    sizes = frame_sizes(layout, most_nodes, phase_memory, prove_work(layout), phase_work, inner)
    where = places(layout, sizes, phase_memory)
    promise_at = FLIGHT_SETTINGS + len(where)
    at = promise_at + promise_size(layout)
    shared[REACH_AT] = at - int(layout[NQ])  # at the end of the promise
    unfilled = np.ones(promise_size(layout))  # a run fills in its span and scales (promise.py)
    return Flight(
        settings=np.concatenate([shared, own, [at, FLIGHT_SETTINGS, promise_at], where, unfilled, numbers(at)]),
        memory=sizes[frames.MEMORY],
        work=sum(sizes),
        iwork=frames.I_VECTORS * nc + FOUND + inner_iwork + room_iwork(layout, contact_solver),
        dense=dense_size(layout, most_nodes),
        events=EVENTS * nc + ne + 1,
        parts=(phase, depart, find, arrive),
    )


@unit(step_type(0))
def flight(model, plain, settings, t, h, state, state_new, record, room):
    """Make a flight with the branches of all functions held."""
    status = fly(model, plain, settings, t, h, state, state_new, record, room)
    free_modes(model)
    return status


@unit(step_type(0).signature)
def fly(model, plain, settings, t, h, state, state_new, record, room):
    flat = FLAT(room)
    work, iwork = flat.floats, flat.integers
    # ---- model / settings / in / out / work
    layout, staged = model.layout, plain.staged
    nq, nv, nc, nj, nr = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR]
    header, frame = record.header, work
    marks, memory = part(settings, frame, frames.MARKS), part(settings, frame, frames.MEMORY)
    q_0, v_0, q, v = (
        part(settings, frame, frames.Q_START),
        part(settings, frame, frames.V_START),
        part(settings, frame, frames.Q_END),
        part(settings, frame, frames.V_END),
    )
    u_first = part(settings, frame, frames.U_FIRST)
    index = ivec(iwork, 0, nc)
    for i in range(memory.shape[0]):
        memory[i] = state.memory[i]
    header.h_used, header.error, header.residual, header.degree = h, 0.0, 0.0, 0.0
    header.events_used, header.force_work, header.drive_work, header.violation = 0.0, 0.0, 0.0, 0.0
    header.dense_used, header.reacted = 0.0, 1.0 if nj > 0 else 0.0
    for i in range(nq):
        q_0[i], q[i], state_new.q[i] = state.q[i], state.q[i], state.q[i]
    for i in range(nv):
        v_0[i], v[i], state_new.v[i] = state.v[i], state.v[i], state.v[i]
    for i in range(nr):
        record.impulse[i], u_first[i] = 0.0, 0.0
    kept = remembered(settings, frame, frames.INDEX)
    for k in range(nc):
        index[k] = whole(kept[k])
        record.dissipation[k] = 0.0
        iwork[frames.I_RESTING * nc + k] = iwork[frames.I_STOPPED * nc + k] = iwork[frames.I_CANDIDATE * nc + k] = 0
    if settings[MISSES] > 0.0:  # steps that are given stay as they are
        h = smaller(h, span_of(settings) / resolution(layout))
    if settings[MISSES] > 0.0 and (layout[FLAGS] & WAVES) != 0:
        scan = part(settings, frame, frames.SCAN)
        model.surface(t, q_0, v_0, model.par, scan)
        h = smaller(h, RADIANS / larger(scan[3 * layout[NS]], 1e-300))
    memory[frames.LONGEST] = larger(h, memory[frames.LONGEST])
    marks[frames.WINDOW] = 0.0
    if settings[WINDOW_FACTOR] > 0.0:
        window = settings[WINDOW_FACTOR] * memory[frames.LONGEST] ** settings[WINDOW_POWER]
        marks[frames.WINDOW] = larger(window, 8e-16 * (abs(t) + h))
    marks[frames.FORESEEN], marks[frames.LATE], marks[frames.ALLOWED] = -1.0, 0.0, h
    marks[frames.SHARPER] = sharper(settings, t, h, memory)

    # ---- smooth motion up to the first event
    if memory[frames.VALID] == 0.0:
        for k in range(layout[NS]):
            remembered(settings, frame, frames.MODES)[k] = FREE
    hold_modes(model, settings, t, h, q_0, remembered(settings, frame, frames.MODES))
    status = plain.depart(model, staged, settings, 0, t, h, frame, iwork, record)
    if status != 0:
        return status
    longest = h
    h = smaller(h, marks[frames.LIMIT])
    size = h
    if marks[frames.STILL] == 1.0:
        size = stand(model, settings, t, h, frame)
        header.degree, header.next_h = 1.0, longest  # no phase is asked for a proposal
    else:
        status = plain.phase(model, staged, settings, TRY, t, h, frame, iwork, record)
        if status == JAMMED or status == CONTRADICT or status == STALLED:
            header.error = REFUSED
            return 0
        if status != 0:
            return status
        h = size = smaller(h, marks[frames.LIMIT])  # a phase may foresee an event
        if not header.error <= 1.0:
            header.error = smaller(header.error, REFUSED)
            if not header.error > 1.0:
                header.error = REFUSED  # not a number
            return 0
        status = plain.phase(model, staged, settings, FILL, t, h, frame, iwork, record)
        if status != 0:
            header.error = REFUSED
            return 0
        plain.find(model, staged, settings, 0, t, h, frame, iwork, record)
        if marks[frames.UNRESOLVED] == 1.0:
            header.error, header.next_h = REFUSED, LOOK_CLOSER * h
            return 0
        if marks[frames.PLACE] > 1.0 + 1e-6:
            # what was foreseen comes later: the flight goes on until then, and something else may happen on the way
            h *= marks[frames.PLACE]
            status = plain.phase(model, staged, settings, AGAIN, t, h, frame, iwork, record)
            if status == 0:
                status = plain.phase(model, staged, settings, FILL, t, h, frame, iwork, record)
            if status != 0:
                header.error = REFUSED
                return 0
            size = h
            plain.find(model, staged, settings, 0, t, h, frame, iwork, record)
        if marks[frames.PLACE] != 1.0 or (marks[frames.EVENT_KIND] == STRIKES and marks[frames.WINDOW] > 0.0):
            size = h * marks[frames.PLACE]
            status = snap(model, plain, settings, t, h, size, frame, iwork, record)
            if status == STALLED:
                header.error = REFUSED  # a slip that stops in space: come nearer first
                return 0
            if status != 0:
                return status
            size = marks[frames.LENGTH]
        status = inspect(model, settings, t, size, frame, record)
        if status != 0:
            if size <= CURABLE * (abs(t) + span_of(settings)):
                return status
            header.error, header.next_h = REFUSED, LOOK_CLOSER * size
            return 0
    marks[frames.LENGTH] = size
    header.h_used = size
    if marks[frames.WINDOW] > 0.0:  # the window of an impact does not reach beyond the step
        marks[frames.WINDOW] = larger(smaller(marks[frames.WINDOW], longest - size), 8e-16 * (abs(t) + h))

    # ---- what happens there
    memory[frames.CHANGED] = 1.0 if marks[frames.EVENT_KIND] != NOTHING else 0.0
    status = plain.arrive(model, staged, settings, 0, t, longest, frame, iwork, record)
    if status != 0:
        return status
    memory[frames.FLIGHTS] += 1.0
    most_speed, pushed, most_pushed = (
        remembered(settings, frame, frames.MOST_SPEED),
        remembered(settings, frame, frames.PUSHED),
        remembered(settings, frame, frames.MOST_PUSHED),
    )
    for i in range(nv):
        most_speed[i] = larger(most_speed[i], larger(abs(record.v_minus[i]), abs(v[i])))
    for i in range(nr):
        pushed[i] += record.impulse[i]
        most_pushed[i] = larger(most_pushed[i], abs(pushed[i]))
    for i in range(nq):
        state_new.q[i] = q[i]
    for i in range(nv):
        state_new.v[i] = v[i]
    for i in range(memory.shape[0]):
        state_new.memory[i] = memory[i]
    return 0


@unit(F(J), small=True)
def resolution(layout):
    """Return the least number of flights of a span: what a function may hide between places must not be missed."""
    if (layout[FLAGS] & (WILD_SWITCHES | F_WILD)) != 0:
        return WILDEST_FLIGHTS
    if (layout[FLAGS] & WILD) != 0:
        return WILD_FLIGHTS
    return 1.0 if (layout[FLAGS] & TRUSTED) != 0 else TAME_FLIGHTS


@unit(F(A, F, F, A))
def sharper(settings, t, h, memory):
    """Return the share of the tolerance that one of very many flights may have, 1 unless they are more than MANY.

    Errors of the energy add up over a run, and those of the phase with them: in conservative motion they grow with the
    square of the number of flights.
    """
    at, known = whole(settings[PROMISE_AT]), memory[frames.FLIGHTS]
    expected = settings[at + SPAN] / h
    if known >= FIRST_FLIGHTS:
        expected = known * settings[at + SPAN] / larger(t - settings[at + BEGIN], 1e-300)
    expected = smaller(expected, MOST_EXPECTED)
    if not expected > settings[MANY]:
        return 1.0
    share = (settings[MANY] / expected) * (settings[MANY] / expected)
    return smaller(1.0, larger(share, SHARPEST / settings[frames.RTOL]))


@unit(F(MODEL, A, F, F, A))
def stand(model, settings, t, h, frame):
    """Write the nodes of a flight that ends where it begins; return its duration, a rounding of the time."""
    layout = model.layout
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    marks, nodes, R = (
        part(settings, frame, frames.MARKS),
        part(settings, frame, frames.NODE_STATES),
        part(settings, frame, frames.NODE_FORCES),
    )
    q_0, v_0, r_0 = (
        part(settings, frame, frames.Q_START),
        part(settings, frame, frames.V_START),
        remembered(settings, frame, frames.R_BEGIN),
    )
    sum_r, sum_p, r_last, a_0 = (
        part(settings, frame, frames.SUM_R),
        part(settings, frame, frames.SUM_POWERS),
        part(settings, frame, frames.R_LAST),
        remembered(settings, frame, frames.A_BEGIN),
    )
    width, at = POWERS + nc, whole(settings[whole(settings[frames.PHASE_AT])])
    marks[frames.TABLE_AT] = at
    n = whole(settings[at + STAGES])
    ending = marks[frames.ENDING] >= 0.0
    marks[frames.NODES], marks[frames.END_KNOWN], marks[frames.STOPPING] = n, 0.0, 1.0 if ending else 0.0
    Q, V, Q_dot, a = (
        vec(nodes, 0, n * nq),
        vec(nodes, n * nq, n * nv),
        vec(nodes, n * (nq + nv), n * nq),
        vec(nodes, n * (2 * nq + nv), n * nv),
    )
    for j in range(n):
        for i in range(nq):
            Q[j * nq + i], Q_dot[j * nq + i] = q_0[i], 0.0
        for i in range(nv):
            V[j * nv + i], a[j * nv + i] = v_0[i], a_0[i]
        for i in range(nr):
            R[j * nr + i] = r_0[i]
    for i in range(nr):
        sum_r[i], r_last[i] = 0.0, r_0[i]
    for i in range(width):
        sum_p[i] = 0.0
    crossing = marks[frames.CROSSING] >= 0.0
    if crossing:
        marks[frames.EVENT_KIND], marks[frames.WHICH] = CROSSES, marks[frames.CROSSING]
    elif ending:
        marks[frames.EVENT_KIND], marks[frames.WHICH] = STOPPED, marks[frames.ENDING]
    else:
        marks[frames.EVENT_KIND], marks[frames.WHICH] = STRIKES, marks[frames.PENDING]
    return smaller(h, larger(4e-16 * abs(t), 1e-15 * h))


@unit(I(MODEL, PLAIN, A, F, F, F, A, J, RECORD))
def snap(model, plain, settings, t, h, size, frame, iwork, record):
    """Make the flight of length h once more up to its event, an impact so that its gap closes there; write its LENGTH.

    The end of a step is more accurate than the polynomial that located the event. With a window the flight ends half
    a window before the impact.
    """
    layout, staged = model.layout, plain.staged
    marks, inner = part(settings, frame, frames.MARKS), part(settings, frame, frames.INNER)
    q, v, g, w = (
        part(settings, frame, frames.Q_END),
        part(settings, frame, frames.V_END),
        part(settings, frame, frames.GAPS),
        part(settings, frame, frames.U_MINUS),
    )
    at = whole(settings[HOLD_AT])
    room = vec(inner, at, inner.shape[0] - at)
    W, strikes = vec(room, 1 + layout[SIZE], layout[NW]), marks[frames.EVENT_KIND] == STRIKES
    window, which = marks[frames.WINDOW], whole(marks[frames.WHICH])
    # the duration of the flight, not the time of day, says how well an impact can be located
    precise = larger(0.05 * window, PRECISE * size)
    near = TAYLOR * settings[frames.RTOL] * marks[frames.SHARPER] * size * size
    made = strikes and window == 0.0 and (size - h) * (size - h) <= near
    if made:
        size = h  # the flight that is there ends so near to the impact that its end can be moved
    for attempt in range(CORRECTIONS):
        if not made:
            status = plain.phase(model, staged, settings, AGAIN, t, size, frame, iwork, record)
            if status != 0:
                return status
        if not strikes or attempt == CORRECTIONS - 1:
            break
        row = layout[layout[CONTACT_ROW] + which]
        model.gap(t + size, q, model.par, g)
        model.kinematics(t + size, q, model.par, W, w)
        fall = row_dot(layout, W, row, v) + w[row]
        if not fall < 0.0 or (abs(g[which]) <= precise * -fall and not made):
            break
        late = -g[which] / fall
        if not abs(late) < 0.1 * size:
            break  # a grazing that one step of Newton would leave
        if late * late <= near and window == 0.0:
            # the forces do not change in so short a time: the end is moved without making the flight again
            if not made:
                status = plain.phase(model, staged, settings, FILL, t, size, frame, iwork, record)
                if status != 0:
                    return status
            move_end(model, settings, late, frame)
            stretch(model, settings, 1.0 + late / size, frame)
            marks[frames.LENGTH], marks[frames.LATE] = size + late, late
            return 0
        size += late
        made = False
    if strikes and window > 0.0:
        size = larger(size - 0.5 * window, 1e-3 * size)
        status = plain.phase(model, staged, settings, AGAIN, t, size, frame, iwork, record)
        if status != 0:
            return status
    marks[frames.LENGTH] = size
    return plain.phase(model, staged, settings, FILL, t, size, frame, iwork, record)


@unit(I(MODEL, A, F, A))
def move_end(model, settings, time, frame):
    """Move the end of a flight by a very short time, with its velocity and acceleration, impulses and work included."""
    layout = model.layout
    nq, nv = layout[NQ], layout[NV]
    r, powers, sum_r, sum_powers = (
        part(settings, frame, frames.R_LAST),
        part(settings, frame, frames.POWERS_LAST),
        part(settings, frame, frames.SUM_R),
        part(settings, frame, frames.SUM_POWERS),
    )
    for i in range(layout[NR]):
        sum_r[i] += time * r[i]
    for i in range(POWERS + layout[NC]):
        sum_powers[i] += time * powers[i]
    q, v, q_dot, mean, a = (
        part(settings, frame, frames.Q_END),
        part(settings, frame, frames.V_END),
        part(settings, frame, frames.Q_SHIFTED),
        part(settings, frame, frames.MOVED),
        part(settings, frame, frames.A_LAST),
    )
    for i in range(nv):
        mean[i] = v[i] + 0.5 * time * a[i]
        v[i] += time * a[i]
    model.rate(q, mean, model.par, q_dot)
    for i in range(nq):
        q[i] += time * q_dot[i]
    return 0


@unit(I(MODEL, A, F, A))
def stretch(model, settings, ratio, frame):
    """Write the nodes of the same polynomials for a flight that is longer by a ratio."""
    layout, marks = model.layout, part(settings, frame, frames.MARKS)
    nq, nv, nr, n = layout[NQ], layout[NV], layout[NR], whole(marks[frames.NODES])
    c = vec(settings, whole(marks[frames.TABLE_AT]) + VECTORS + NODE * n, n)
    work, nodes, R = (
        part(settings, frame, frames.STRETCH),
        part(settings, frame, frames.NODE_STATES),
        part(settings, frame, frames.NODE_FORCES),
    )
    column, at = vec(work, n * n, n), 0
    node_factors(c, column)
    for k in range(n):
        for j in range(n):
            work[k * n + j] = column[j]
        spread(c, ratio * c[k], vec(work, k * n, n))
    for block in range(5):
        size = nq if block == 0 or block == 2 else nv
        values = vec(nodes, at, n * size)
        if block == 4:
            size, values = nr, R
        at += n * size
        for i in range(size):
            for k in range(n):
                column[k] = 0.0
                for j in range(n):
                    column[k] += work[k * n + j] * values[j * size + i]
            for k in range(n):
                values[k * size + i] = column[k]
    return 0
