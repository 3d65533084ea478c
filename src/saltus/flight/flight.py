"""A flight: smooth motion under one index set up to the first event, and what happens there.

The step of all schemes that end their steps at events. Four parts do the work, linked by pointers: `depart` (index set
of the start), a phase (the smooth motion, the only part that schemes bring along), `find` (the first event on its
polynomials), `arrive` (impact law, next index set, accumulations). They share a frame (flight/frame.py).
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from saltus.compile.columns import combine_columns, lagrange_columns
from saltus.compile.seam import head, larger, row_of, smaller, tail, unit, whole
from saltus.compile.types import HEADER, LAYOUT, MODEL, PLAIN, RECORD, ROOM, STATE, A, F, I, step_type
from saltus.compile.workspace import RoomPlan
from saltus.flight.arrive import ARRIVE, arrive
from saltus.flight.depart import depart
from saltus.flight.find import deepest_start, find
from saltus.flight.frame import (
    FLIGHT_END,
    FLIGHT_MEMORY,
    FLIGHT_SETTINGS,
    FRAME,
    PROMISE,
    TASK,
    frame_plan,
    left_of_slip,
    promise_size,
    span_of,
)
from saltus.flight.inspect import INSPECT, inspect, wrong_rows
from saltus.flight.ledger import ledger_error
from saltus.flight.loss import unloaded
from saltus.flight.modes import MODES, free_modes, hold_modes
from saltus.flight.passed import leaves_branch
from saltus.flight.prove import prove_work
from saltus.flight.scan import factors_of
from saltus.lasting.hold import REPORTED
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import closed_gap
from saltus.lasting.transition import TRANSITION
from saltus.memory.layout import F_WILD, TRUSTED, WAVES, WILD, WILD_SWITCHES, Layout
from saltus.memory.vectors import clear, clear_marks, copy
from saltus.reaction.books import open_books
from saltus.reaction.dense_block import block_size
from saltus.reaction.react import row_dot
from saltus.status import Status
from saltus.tables.polynomial import NONE
from saltus.tables.tableau import STAGE_VECTOR, TAB


class _Flying(NamedTuple):
    """Tuned numbers of this file."""

    look_closer: float = 0.4  # of a flight whose slips were not resolved: the next one to try
    refused: float = 1e10  # an error estimate that no control accepts
    # of the relative tolerance: (shift of the end / length)^2 up to which it is moved by its acceleration
    taylor: float = 1e-4
    # flights: a start with short ones, as at a jump of the force, says little about their number
    most_expected: float = 2e5
    # after which their mean length says how many there will be, before it the one that is tried
    first_flights: float = 3.0
    # relative tolerance: below, the rounding of more and shorter flights costs more than it gains
    sharpest: float = 5e-11
    quiet: float = 1e-6  # of the tolerance: an error estimate below says nothing about the motion behind a jump
    precise: float = 4e-16  # of the duration of a flight: rounding of the time at which it ends
    # flights of a span at least: where forces or switching functions may do anything between two places, where only
    # gaps and rows may (which inspect.py looks at in many places), and where all are polynomials of time, state and
    # sines
    wildest_flights: float = 128.0
    wild_flights: float = 16.0
    tame_flights: float = 2.0
    radians: float = 8.0  # of the fastest phase in one flight, so that samples resolve it
    probe: float = 1e-6  # of a flight: time over which the rate of the function of an event is taken
    never: float = 1e300  # a time [s]
    corrections: int = 4  # of the time of an impact; Newton's method, each of them doubles the digits
    # from one correction to the next: a slip in space whose stop does not come nearer turns too fast for this flight
    nearer: float = 0.5
    short_of_stop: float = 0.75  # of the flight that would lead to it: the next one to try then
    beginning: float = 0.1  # of a flight: what happens so early is not located by its polynomials alone
    shortest_again: float = 1e-6  # of the span: what alternates faster chatters, however near one comes


FLIGHT_TUNED = _Flying()


@dataclasses.dataclass(frozen=True)
class Flight:
    """What a scheme of flights is made of: settings, sizes and parts, for `flight_plan` of schemes/plan.py."""

    settings: np.ndarray
    memory: RoomPlan
    work: RoomPlan
    dense: int
    events: int
    parts: tuple


def make_flight(
    layout: Layout, given: dict[str, float], numbers, phase, phase_room: RoomPlan, *,
    most_nodes: int, interval: dict[str, int],
) -> Flight:  # fmt: skip
    """Return a flight.

    Parameters
    ----------
    given
        The settings by name (`FLIGHT_SETTINGS`); those that are missing are 0.
    numbers
        Function that returns the numbers of the phase, given where they begin.
    phase, phase_room
        Its unit and its workspace; `most_nodes` of its polynomials.
    interval
        Sizes of the workspace of lasting contacts and of implicit stages (`interval_sizes`).
    """
    nc, ne = int(layout.nc), int(layout.ne)
    memory, work = frame_plan(layout, most_nodes, phase_room, interval, prove_work(layout))
    promise_at = FLIGHT_SETTINGS.size
    phase_at = promise_at + promise_size(layout)
    given = {**given, "promise_at": promise_at, "phase_at": phase_at, "reach_at": phase_at - int(layout.nq)}
    unfilled = np.ones(promise_size(layout))  # a run fills in its span and scales (promise.py)
    settings = FLIGHT_SETTINGS.filled(**{name: given.pop(name, 0.0) for name in FLIGHT_SETTINGS.names}, **given)
    return Flight(
        settings=np.concatenate([settings, unfilled, numbers(phase_at)]),
        memory=memory,
        work=work,
        dense=block_size(layout, ARRIVE.pieces, most_nodes),
        events=ARRIVE.events * nc + ne + 1,
        parts=(phase, depart, find, arrive),
    )


@unit(step_type(0))
def flight(model, plain, settings, t, h, state, state_new, record, frame_room):
    """Make a flight with the branches of all functions held."""
    status = fly(model, plain, settings, t, h, state, state_new, record, frame_room)
    free_modes(model)
    return status


@unit(step_type(0).signature)
def fly(model, plain, settings, t, h, state, state_new, record, frame_room):
    """Depart, move smoothly up to the first event, find it, arrive there.

    in      state
    out     state_new, record with its dense block, events, what was found inside; error > 1 where nothing is accepted
    kept    what FLIGHT_MEMORY lists, in the state; numbers and Jacobians of the phase, in the frame
    """
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    marks, memory, ends, header = frame.marks, frame.memory, frame.ends, record.header
    h = open_flight(model, settings, t, h, state, frame, record)
    copy(state.q, state_new.q)
    copy(state.v, state_new.v)
    hold_modes(model, settings, t, h, ends.q_0, ends.v_0, memory.modes)
    status = plain.depart(model, plain.staged, settings, 0, t, h, frame_room, record)
    if status != 0:
        return status
    longest = h
    if marks.still == 1.0:
        marks.tried = smaller(h, marks.limit)
        marks.length = stand(model, settings, t, marks.tried, frame)
        header.degree, header.next_h = 1.0, longest  # no phase is asked for a proposal
    else:
        status = move_smoothly(model, plain, settings, t, smaller(h, marks.limit), frame_room, record)
        if status != 0 or header.error > 1.0:
            return status
    header.h_used = marks.length
    if marks.window > 0.0:  # the window of an impact does not reach beyond the step
        marks.window = larger(smaller(marks.window, longest - marks.length), 8e-16 * (abs(t) + marks.tried))
    memory.numbers.changed = 1.0 if marks.event_kind != FLIGHT_END.nothing else 0.0
    status = plain.arrive(model, plain.staged, settings, 0, t, longest, frame_room, record)
    if status != 0:
        return status
    memory.numbers.flights += 1.0
    memory.numbers.unknown = 1.0 if marks.switched == 1.0 and header.error < FLIGHT_TUNED.quiet else 0.0
    for k in range(model.layout.nc):
        memory.numbers.spent = larger(memory.numbers.spent + record.dissipation[k], 0.0)
    most_speed, pushed, most_pushed = memory.most_speed, memory.pushed, memory.most_pushed
    for i in range(model.layout.nv):
        most_speed[i] = larger(most_speed[i], larger(abs(record.v_minus[i]), abs(ends.v[i])))
        if memory.numbers.struck == 1.0:
            memory.led[i] += header.h_used * larger(abs(ends.v_0[i]), abs(record.v_minus[i]))
    memory.numbers.struck = larger(memory.numbers.struck, marks.struck)
    for i in range(model.layout.nr):
        pushed[i] += record.impulse[i]
        most_pushed[i] = larger(most_pushed[i], abs(pushed[i]))
    copy(ends.q, state_new.q)
    copy(ends.v, state_new.v)
    copy(frame.memory_numbers, state_new.memory)
    return 0


@unit(F(MODEL, A, F, F, STATE, FRAME.kind, RECORD))
def open_flight(model, settings, t, h, state, frame, record):
    """Take the state over into the frame, open the books; return how long the flight may be, at most h."""
    settings = FLIGHT_SETTINGS(settings)
    layout, marks, memory, ends = model.layout, frame.marks, frame.memory, frame.ends
    copy(state.memory, frame.memory_numbers)
    open_books(model, h, 0.0, record)
    clear(record.impulse)
    copy(state.q, ends.q_0)
    copy(state.q, ends.q)
    copy(state.v, ends.v_0)
    copy(state.v, ends.v)
    clear(ends.u_start)
    for k in range(layout.nc):
        ends.index[k] = whole(memory.index[k])
    clear_marks(ends.resting)
    clear_marks(ends.stopped)
    clear_marks(ends.candidate)
    if settings.misses > 0.0:  # steps that are given stay as they are
        h = smaller(h, span_of(settings) / resolution(layout))
    if settings.misses > 0.0 and (layout.features & WAVES) != 0:
        scan = frame.scan
        model.surface(t, ends.q_0, ends.v_0, model.par, scan)
        h = smaller(h, FLIGHT_TUNED.radians / larger(scan[3 * layout.ns], 1e-300))
    memory.numbers.longest = larger(h, memory.numbers.longest)
    marks.window = 0.0
    if settings.window_factor > 0.0:
        window = settings.window_factor * memory.numbers.longest**settings.window_power
        marks.window = larger(window, 8e-16 * (abs(t) + h))
    marks.foreseen, marks.late, marks.allowed, marks.unsummed = -1.0, 0.0, h, 0.0
    marks.sharper = sharper(settings, t, h, memory)
    if memory.numbers.valid == 0.0:
        for k in range(layout.ns):
            memory.modes[k] = MODES.free
    return h


@unit(I(MODEL, PLAIN, A, F, F, ROOM, RECORD))
def move_smoothly(model, plain, settings, t, h, frame_room, record):
    """Make the smooth motion of a flight and find the event that ends it; an error above 1 refuses it.

    out     frame: the end of the motion, its nodes; marks: event_kind, which, length; tried: the last length of a phase
    """
    settings = FLIGHT_SETTINGS(settings)
    frame, header, staged = FRAME(frame_room), record.header, plain.staged
    marks = frame.marks
    status = plain.phase(model, staged, settings, TASK.attempt, t, h, frame_room, record)
    if status == Status.JAMMED or status == Status.JOINTS_CONTRADICT or status == Status.NEWTON_STALLED:
        return refuse(header)
    if status != 0:
        return status
    h = smaller(h, marks.limit)  # a phase may foresee an event
    if header.error > 1.0 and forces_are_shared(model, frame) == 1:
        if plain.phase(model, staged, settings, TASK.fill, t, h, frame_room, record) != 0:
            return refuse(header)
        place = unloaded_place(model, settings, t, h, frame, record)
        if place < NONE:  # no flight through it is resolved, however short: this one ends there
            h *= place
            status = plain.phase(model, staged, settings, TASK.attempt, t, h, frame_room, record)
            if status != 0:
                return refuse(header)
            h = smaller(h, marks.limit)
    if not header.error <= 1.0:
        header.error = smaller(header.error, FLIGHT_TUNED.refused)
        return refuse(header) if not header.error > 1.0 else 0  # not a number
    # what rubs is judged by its work at once
    task = TASK.fill if model.layout.nj > 0 or marks.holding == 1.0 else TASK.nodes
    if plain.phase(model, staged, settings, task, t, h, frame_room, record) != 0:
        return refuse(header)
    header.error = larger(header.error, ledger_error(model, settings, t, h, header.degree, frame))
    if not header.error <= 1.0:
        header.error = smaller(header.error, FLIGHT_TUNED.refused)
        return 0
    plain.find(model, staged, settings, 0, t, h, frame_room, record)
    if marks.unresolved == 1.0 and marks.event_kind == TRANSITION.lost and marks.place < 1.0:
        # behind a loss forces obey no law, and polynomials through them bend before it too, in every flight that
        # reaches beyond it, however short: the one that ends there tells whether its own forces are resolved
        h *= marks.place
        if look_again(model, plain, settings, t, h, frame_room, record) != 0:
            return refuse(header)
    if marks.unresolved == 1.0:
        header.next_h = FLIGHT_TUNED.look_closer * h
        return refuse(header)
    if marks.place > 1.0 + 1e-6:
        # what was foreseen comes later: the flight goes on until then, and something else may happen on the way
        h *= marks.place
        if look_again(model, plain, settings, t, h, frame_room, record) != 0:
            return refuse(header)
    marks.length, marks.tried = h, h
    if marks.place != 1.0 or (marks.event_kind == FLIGHT_END.strikes and marks.window > 0.0):
        status = snap(model, plain, settings, t, h, h * marks.place, frame_room, record)
        if status == 0 and marks.window == 0.0 and overtaken(model, settings, t, marks.length, frame) == 1:
            status = snap_earlier(model, plain, settings, t, marks.length, frame_room, record)
        if status == Status.NEWTON_STALLED:
            return refuse(header)  # a slip that stops in space: come nearer first
        if status != 0:
            return status
    if marks.unsummed == 1.0:
        plain.phase(model, staged, settings, TASK.sums, t, marks.tried, frame_room, record)
    status = inspect(model, settings, t, marks.length, frame, record)
    if status == Status.GAP_MISSED and wrong_rows(model, t, marks.length, frame) == 1:
        return status
    if status != 0 and marks.length > INSPECT.curable * (abs(t) + span_of(settings)):
        header.next_h = FLIGHT_TUNED.look_closer * marks.length
        return refuse(header)
    return status


@unit(I(MODEL, FRAME.kind), small=True)
def forces_are_shared(model, frame):
    """Return 1 where forces of held contacts are not unique."""
    shared, index, anyone = frame.interval.lasting.shared, frame.ends.index, 0
    for k in range(model.layout.nc):
        held = index[k] == INDEX.slip or index[k] == INDEX.stick
        anyone = 1 if held and shared[k] == 1 else anyone
    return anyone


@unit(F(MODEL, A, F, F, FRAME.kind, RECORD))
def unloaded_place(model, settings, t, h, frame, record):
    """Return the place of a flight at which nothing is left to be carried, or NONE; see loss.unloaded."""
    n = whole(frame.marks.nodes)
    c = head(tail(settings, whole(frame.marks.table_at) + TAB.vectors + STAGE_VECTOR.node * n), n)
    return unloaded(model, settings, c, t, h, 1.0, frame, record)


@unit(I(HEADER.kind), small=True)
def refuse(header):
    """Write an error estimate that no control accepts."""
    header.error = FLIGHT_TUNED.refused
    return 0


@unit(I(MODEL, PLAIN, A, F, F, ROOM, RECORD))
def look_again(model, plain, settings, t, h, frame_room, record):
    """Make the flight once more with another length and look for its first event."""
    status = plain.phase(model, plain.staged, settings, TASK.again, t, h, frame_room, record)
    if status == 0:
        status = plain.phase(model, plain.staged, settings, TASK.fill, t, h, frame_room, record)
    if status == 0:
        plain.find(model, plain.staged, settings, 0, t, h, frame_room, record)
    return status


@unit(I(MODEL, A, F, F, FRAME.kind))
def overtaken(model, settings, t, size, frame):
    """Return 1 where something else has happened before the event at which a flight ends.

    Polynomials of the longer flight said which event comes first. They err: an impact that lies just before a corner
    seems to lie behind it, and the shorter flight ends inside of the wall.
    """
    layout, marks = model.layout, frame.marks
    nc, ns, ne = layout.nc, layout.ns, layout.ne
    q, g, which, index = frame.ends.q, frame.ends.g, whole(marks.which), frame.ends.index
    slack = closed_gap(settings, q)
    if nc > 0 and marks.jammed_set == 0.0:
        slack += deepest_start(model, t, index, frame)
        model.gap(t + size, q, model.par, g)
    for k in range(nc if marks.jammed_set == 0.0 else 0):
        held = index[k] == INDEX.slip or index[k] == INDEX.stick
        if not held and g[k] < -slack and not (marks.event_kind == FLIGHT_END.strikes and k == which):
            return 1
    if ns > 0:
        skipped = which - (ne - ns) if marks.event_kind == FLIGHT_END.crosses else -1
        model.surface(t + size, q, frame.ends.v, model.par, frame.scan)
        return leaves_branch(layout, model.par, frame.memory.modes, skipped, frame.scan)
    return 0


@unit(I(MODEL, PLAIN, A, F, F, ROOM, RECORD))
def snap_earlier(model, plain, settings, t, h, frame_room, record):
    """Look for the first event of a flight that ends at another one, and let it end there."""
    frame = FRAME(frame_room)
    marks = frame.marks
    kind, which = marks.event_kind, marks.which
    plain.find(model, plain.staged, settings, 0, t, h, frame_room, record)
    if marks.event_kind == FLIGHT_END.nothing or not marks.place < 1.0:
        marks.event_kind, marks.which, marks.place = kind, which, 1.0
        return 0
    return snap(model, plain, settings, t, h, h * marks.place, frame_room, record)


@unit(F(LAYOUT), small=True)
def resolution(layout):
    """Return the least number of flights of a span: what a function may hide between places must not be missed."""
    if (layout.features & (WILD_SWITCHES | F_WILD)) != 0:
        return FLIGHT_TUNED.wildest_flights
    if (layout.features & WILD) != 0:
        return FLIGHT_TUNED.wild_flights
    return 1.0 if (layout.features & TRUSTED) != 0 else FLIGHT_TUNED.tame_flights


@unit(F(A, F, F, FLIGHT_MEMORY.kind))
def sharper(settings, t, h, memory):
    """Return the share of the tolerance that one of very many flights may have, 1 unless they are more than MANY.

    Errors of the energy add up over a run, and those of the phase with them: in conservative motion they grow with the
    square of the number of flights.
    """
    settings = FLIGHT_SETTINGS(settings)
    at, known = whole(settings.promise_at), memory.numbers.flights
    expected = settings[at + PROMISE.span] / h
    if known >= FLIGHT_TUNED.first_flights:
        expected = known * settings[at + PROMISE.span] / larger(t - settings[at + PROMISE.begin], 1e-300)
    expected = smaller(expected, FLIGHT_TUNED.most_expected)
    if not expected > settings.many:
        return 1.0
    share = (settings.many / expected) * (settings.many / expected)
    return smaller(1.0, larger(share, FLIGHT_TUNED.sharpest / settings.rtol))


@unit(F(MODEL, A, F, F, FRAME.kind))
def stand(model, settings, t, h, frame):
    """Write the nodes of a flight that ends where it begins; return its duration, a rounding of the time."""
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nq, nv, nc, nr = layout.nq, layout.nv, layout.nc, layout.nr
    marks, nodes, R = frame.marks, frame.nodes, frame.node_forces
    q_0, v_0, r_0 = frame.ends.q_0, frame.ends.v_0, frame.memory.acting.r
    sum_r, sum_p, r_last, a_0 = frame.sum_r, frame.sum_powers, frame.r_last, frame.memory.acting.a
    width, at = REPORTED.first_contact + nc, whole(settings[whole(settings.phase_at)])
    marks.table_at = at
    n = whole(settings[at + TAB.stages])
    ending = marks.ending >= 0.0
    marks.nodes, marks.end_known, marks.stopping = n, 0.0, 1.0 if ending else 0.0
    Q, V, Q_dot, a = head(nodes.Q, n * nq), head(nodes.V, n * nv), head(nodes.Q_dot, n * nq), head(nodes.a, n * nv)
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
    crossing = marks.crossing >= 0.0
    if crossing:
        marks.event_kind, marks.which = FLIGHT_END.crosses, marks.crossing
    elif ending:
        marks.event_kind, marks.which = TRANSITION.stopped, marks.ending
    else:
        marks.event_kind, marks.which = FLIGHT_END.strikes, marks.pending
    return smaller(h, larger(4e-16 * abs(t), 1e-15 * h))


@unit(I(MODEL, PLAIN, A, F, F, F, ROOM, RECORD))
def snap(model, plain, settings, t, h, size, frame_room, record):
    """Make the flight of length h once more up to its event, an impact so that its gap closes there; write its length.

    The end of a step is more accurate than the polynomial that located the event. With a window the flight ends half
    a window before the impact.
    """
    settings = FLIGHT_SETTINGS(settings)
    staged, frame = plain.staged, FRAME(frame_room)
    marks, strikes, window = frame.marks, frame.marks.event_kind == FLIGHT_END.strikes, frame.marks.window
    which = frame.marks.which
    fires = marks.event_kind == FLIGHT_END.crosses and window == 0.0
    halts = marks.event_kind == TRANSITION.stopped and marks.stopping == 1.0 and window == 0.0
    if halts:  # in the plane its sign is frozen, and polynomials pass smoothly through its stop
        at = model.layout.contact_row + whole(which)
        halts = model.layout[at + 1] - model.layout[at] == 3
    # the duration of the flight, not the time of day, says how well an impact can be located
    precise = larger(0.05 * window, FLIGHT_TUNED.precise * size)
    near = FLIGHT_TUNED.taylor * settings.rtol * marks.sharper * size * size
    made = strikes and window == 0.0 and (size - h) * (size - h) <= near
    if made:
        size = h  # the flight that is there ends so near to the impact that its end can be moved
    last = FLIGHT_TUNED.never
    for attempt in range(FLIGHT_TUNED.corrections):
        if not made:
            status = plain.phase(model, staged, settings, TASK.again, t, size, frame_room, record)
            if status != 0:
                return status
        if attempt == FLIGHT_TUNED.corrections - 1 or not (strikes or fires or halts):
            break
        filled = made
        if fires or halts:  # an event that ends short of its zero would happen once more, with its reset
            status = plain.phase(model, staged, settings, TASK.fill, t, size, frame_room, record)
            if status != 0:
                return status
            filled = True
            if halts:
                late = stop_late(model, settings, t + size, whole(which), frame)
                if late < FLIGHT_TUNED.never and not abs(late) <= FLIGHT_TUNED.nearer * last:
                    record.header.next_h = FLIGHT_TUNED.short_of_stop * size
                    return Status.NEWTON_STALLED
                last = abs(late)
            else:
                late = event_late(model, t + size, FLIGHT_TUNED.probe * size, whole(which), frame)
                late = late if abs(late) > precise else FLIGHT_TUNED.never
        else:
            late = closing_late(model, t + size, -1.0 if made else precise, frame)
        if not abs(late) < 0.1 * size:
            early = size < FLIGHT_TUNED.beginning * h and size > FLIGHT_TUNED.shortest_again * span_of(settings)
            if late < FLIGHT_TUNED.never and window == 0.0 and early:
                # a polynomial that is as accurate as its far end asks for says little of its beginning: come nearer
                record.header.next_h = 2.0 * size
                return Status.NEWTON_STALLED
            break  # it ends there, or a grazing that one step of Newton would leave
        if late * late <= near and window == 0.0:
            # the forces do not change in so short a time: the end is moved without making the flight again
            if not filled:
                status = plain.phase(model, staged, settings, TASK.fill, t, size, frame_room, record)
                if status != 0:
                    return status
            if marks.unsummed == 1.0:
                plain.phase(model, staged, settings, TASK.sums, t, size, frame_room, record)
            move_end(model, settings, late, frame)
            stretch(model, settings, 1.0 + late / size, frame)
            marks.length, marks.late = size + late, late
            return 0
        size += late
        made = False
    if strikes and window > 0.0:
        size = larger(size - 0.5 * window, 1e-3 * size)
        status = plain.phase(model, staged, settings, TASK.again, t, size, frame_room, record)
        if status != 0:
            return status
    marks.length = size
    return plain.phase(model, staged, settings, TASK.fill, t, size, frame_room, record)


@unit(F(MODEL, F, F, FRAME.kind))
def closing_late(model, t, precise, frame):
    """Return when the contact that strikes closes, counted from the end of the flight [s].

    FLIGHT_TUNED.never where it does not approach, or is closed to within the time `precise`.
    """
    layout, ends, which, W = model.layout, frame.ends, whole(frame.marks.which), frame.interval.lasting.W
    row, g, w = layout[layout.contact_row + which], ends.g, ends.u_minus
    model.gap(t, ends.q, model.par, g)
    model.kinematics(t, ends.q, model.par, W, w)
    fall = row_dot(layout, W, row, ends.v) + w[row]
    if not fall < 0.0 or abs(g[which]) <= precise * -fall:
        return FLIGHT_TUNED.never
    return -g[which] / fall


@unit(F(MODEL, A, F, I, FRAME.kind))
def stop_late(model, settings, t, which, frame):
    """Return when a slip in space stops, counted from the end of the flight [s]; never where nothing is left of it.

    Friction turns it the faster the slower it is, so that polynomials which reach beyond its stop find it too early or
    too late; what would be cut of it moves the body aside.
    """
    layout, ends, room, direction = model.layout, frame.ends, frame.interval.lasting, frame.memory.acting.direction
    row, W, w, zeta, forward, brakes = (
        layout[layout.contact_row + which], room.W, ends.u_minus, room.zeta, 0.0, 0.0
    )  # fmt: skip
    model.kinematics(t, ends.q, model.par, W, w)
    model.curvature(t, ends.q, ends.v, model.par, zeta)
    for i in range(2):
        way, at = direction[2 * which + i], row + 1 + i
        forward += (row_dot(layout, W, at, ends.v) + w[at]) * way
        brakes -= (row_dot(layout, W, at, frame.a_last) + zeta[at]) * way
    if abs(forward) <= left_of_slip(layout, settings) or not brakes > 0.0:
        return FLIGHT_TUNED.never
    return forward / brakes


@unit(F(MODEL, F, F, I, FRAME.kind))
def event_late(model, t, ahead, which, frame):
    """Return when the function of an event vanishes, counted from the end of the flight [s]; 0 where it stays.

    ahead: time over which its rate is taken.
    """
    layout, scan = model.layout, frame.scan
    now, later = row_of(scan, 0, layout.ne), row_of(scan, 1, layout.ne)
    q, v, a, q_later, v_later = frame.ends.q, frame.ends.v, frame.a_last, frame.q_shifted, frame.v_try
    model.rate(q, v, model.par, q_later)
    for i in range(layout.nq):
        q_later[i] = q[i] + ahead * q_later[i]
    for i in range(layout.nv):
        v_later[i] = v[i] + ahead * a[i]
    model.switch(t, q, v, model.par, now)
    model.switch(t + ahead, q_later, v_later, model.par, later)
    change = later[which] - now[which]
    return -now[which] * ahead / change if change > 0.0 or change < 0.0 else 0.0


@unit(I(MODEL, A, F, FRAME.kind))
def move_end(model, settings, time, frame):
    """Move the end of a flight by a very short time, with its velocity and acceleration, impulses and work included."""
    layout = model.layout
    nq, nv = layout.nq, layout.nv
    r, powers, sum_r, sum_powers = frame.r_last, frame.powers_last, frame.sum_r, frame.sum_powers
    for i in range(layout.nr):
        sum_r[i] += time * r[i]
    for i in range(REPORTED.first_contact + layout.nc):
        sum_powers[i] += time * powers[i]
    q, v, q_dot, mean, a = frame.ends.q, frame.ends.v, frame.q_shifted, frame.moved, frame.a_last
    for i in range(nv):
        mean[i] = v[i] + 0.5 * time * a[i]
        v[i] += time * a[i]
    model.rate(q, mean, model.par, q_dot)
    for i in range(nq):
        q[i] += time * q_dot[i]
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def stretch(model, settings, ratio, frame):
    """Write the nodes of the same polynomials for a flight that is longer by a ratio."""
    layout, marks = model.layout, frame.marks
    nq, nv, nr, n = layout.nq, layout.nv, layout.nr, whole(marks.nodes)
    c = head(tail(settings, whole(marks.table_at) + TAB.vectors + STAGE_VECTOR.node * n), n)
    work, nodes, R = head(frame.stretch, n * n), frame.nodes, frame.node_forces
    column, places = head(tail(frame.stretch, n * n), n), head(frame.weights, n)
    for k in range(n):
        places[k] = ratio * c[k]
    lagrange_columns(c, factors_of(tail(settings, whole(marks.samples_at)), n), places, work)
    # forces of contacts that are not held are zero
    for block in range(5 if layout.nj > 0 or marks.holding == 1.0 else 4):
        size, values = nr, R
        if block == 0 or block == 2:
            size, values = nq, nodes.Q if block == 0 else nodes.Q_dot
        elif block < 4:
            size, values = nv, nodes.V if block == 1 else nodes.a
        for i in range(size):
            combine_columns(work, n, 0.0, tail(values, i), size, column, 1)
            for k in range(n):
                values[k * size + i] = column[k]
    return 0
