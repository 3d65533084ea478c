"""The march: the one loop over steps. It knows no scheme; it calls step, asks the control, keeps what is wanted.

A kept node is t, q, v, its ledger (largest violation, work) and, only where a contact or joint reacted since the node
before, a row of reactions: number of the node, residual, v_minus, impulse, dissipation. `extra` (error, degree, offset
of the dense block, whether the step before was kept, rejections so far, what was found inside of the steps) is stored
only for schemes and runs that need it. The march returns when the span is done, a terminal event ended the run, a table
is full, its budget of steps is spent (progress, interruption) or a step failed; it can be entered again at the same
step.

A segment with a number of steps has a counted grid. Without one (steps < 0) the march runs freely: the control says how
long the next step is, a step may end before its h (the next one begins there), the last one ends at the end exactly.
"""

from __future__ import annotations

import functools
import mmap

import numpy as np

from saltus.compile.seam import handle, head, larger, row_of, tail, unit, whole
from saltus.compile.types import (
    CONTROL,
    LAYOUT,
    MODEL,
    NODES,
    NODES_RECORD,
    RECORD,
    ROOM,
    STATE,
    A,
    F,
    I,
    J,
    Nodes,
    scheme_handle,
)
from saltus.memory.record import EVENT_COLUMNS, EXTRA_INSIDE, SMALLEST
from saltus.memory.vectors import copy
from saltus.reaction.look import FOUND_COUNT
from saltus.status import Status

# clock: begin, end and step size of the segment, time now, exact times to report at its ends, time of the last node,
# and what the time now lacks: the durations of steps are summed without rounding (Kahan, Neumaier), so that a hundred
# thousand of them shift nothing
BEGIN, END, H, NOW, NAME_BEGIN, NAME_END, LAST_TIME, NOW_LOW = range(8)
CLOCK = 8
# tally: integers that survive from one entry to the next
STEP, STEPS, COUNT, EVENTS, DENSE, REACTIONS, KEEP, NEXT_TIME, SINCE, ACCEPTED, REJECTED, LAST, EXTRA = range(13)
ENDED, SHORT = 13, 14  # 1 once a terminal event ended the run; how many steps without duration came last
TALLY = 15
KEEP_TIMES, KEEP_EVENTS = -1, -2  # KEEP > 0: every KEEP-th step
# sums since the last kept node; then impulse and dissipation, then v_minus of the last step
SUM_REACTED, SUM_VIOLATION, SUM_WORK, SUM_RESIDUAL, SUM_ERROR, SUM_DEGREE, SUM_INSIDE = range(7)
SUM_IMPULSE = SUM_INSIDE + FOUND_COUNT
LEDGER, EXTRAS = 2, 5 + FOUND_COUNT
NEXT = 3e-16  # of a time: the smallest difference that leads to another one
MOST_SHORT = 1000  # steps without duration, one after the other: events that never end
FIRST_STEPS, FIRST_FLOATS = 256, 1 << 17  # steps, and floats of dense output, that have room before tables grow
POPULATED = (1 << 20, 1 << 30)  # bytes of a table whose pages are fetched at once


def sums_size(nv: int, nr: int, nc: int) -> int:
    """Return the floats that the march keeps between two nodes."""
    return SUM_IMPULSE + nr + nc + nv


def reaction_width(nv: int, nr: int, nc: int) -> int:
    """Return the columns of the reaction table."""
    return 2 + nv + nr + nc


@functools.cache
def march_signature(depth: int):
    """Return the signature of the march for schemes of a depth."""
    states = STATE, STATE, RECORD
    return I(MODEL, scheme_handle(depth), CONTROL, A, J, *states, NODES_RECORD, A, A, A, A, A, ROOM, I)


@unit(*(march_signature(depth) for depth in range(4)), entry=True)
def march(
    model, scheme, control, clock, tally, state, state_new, record, nodes, events, dense, times, sums, decision, room,
    budget,
):  # fmt: skip
    """Make steps from the state on until something wants Python: the end, a full table, a spent budget, a failure.

    model / scheme / control
    in      times: to keep; budget: most attempts
    in/out  clock, tally, sums: see the head of the file; state: where the run stands
    out     nodes, events, dense: tables that grow; returns a Status
    work    state_new, record: of the step that is tried; decision: of the control; room: of the scheme
    """
    now, new, nodes = state, state_new, handle(nodes)
    layout, header, counted = model.layout, record.header, tally[STEPS] >= 0
    result = Status.CHUNK
    for _ in range(budget):
        if counted and tally[STEP] >= tally[STEPS]:
            result = Status.OK
            break
        if no_room(layout, tally, record, nodes, events, dense) == 1:
            result = Status.FULL
            break
        # ---- step; the time grid is counted, not summed
        t, h = clock[NOW], clock[H]
        if counted:
            t = clock[BEGIN] + tally[STEP] * h
        floor, final = 0.0, tally[STEP] + 1 == tally[STEPS]
        if not counted:
            floor = SMALLEST * (abs(t) + abs(clock[END] - clock[BEGIN]))
            final = t + h * (1.0 + 1e-9) + floor >= clock[END]
        if final:
            h = clock[END] - t - (0.0 if counted else clock[NOW_LOW])
        header.error, header.terminal = 0.0, 0.0
        for i in range(FOUND_COUNT):  # their number is known to the compiler
            record.inside[i] = 0.0
        status = scheme.step(model, scheme.inner, scheme.settings, t, h, now, new, record, room)
        finite = is_finite(header.violation, new)
        if status != 0 or finite == 0:
            result = status if status != 0 else Status.NONFINITE
            break
        # ---- control; a counted grid leaves nothing to decide
        if not counted and control.decide(control.settings, header, t, h, control.memory, decision) != 0:
            tally[REJECTED] += 1
            clock[H] = decision[0]
            if not decision[0] > floor:
                result = Status.STEP_TOO_SMALL
                break
            continue
        reached = t + header.h_used
        # a free step that ended early is not the last one
        final = final and (counted or clock[END] - reached <= floor)
        t_new = tell_time(clock, tally, t, header.h_used, 1 if final else 0, 1 if header.h_used == h else 0)
        if not counted:
            clock[H] = decision[0]

        # ---- keep
        keep = is_kept(layout, clock, tally, t_new, whole(header.events_used), now, nodes, times, sums) == 1
        terminal = header.terminal == 1.0
        # what strikes where the run begins is the right limit of its start
        keep = keep or (not counted and t_new - nodes.t[0] <= floor)
        keep = keep or terminal or (final and clock[NAME_END] == times[times.shape[0] - 1])
        tally[SINCE] += 1
        add_up(layout, record, new, sums)
        if keep:
            keep_node(layout, tally, nodes, t_new, new, sums)
            used = whole(header.dense_used)
            copy(record.dense, head(tail(dense, tally[DENSE]), used))
            tally[DENSE] += used
        tally[LAST] = 1 if keep else 0
        clock[LAST_TIME] = t_new
        put_events(tally, reached, t_new, record, events)
        now, new = new, now
        tally[STEP] += 1
        tally[ACCEPTED] += 1
        if terminal:
            tally[ENDED] = 1
            result = Status.TERMINATED
            break
        if final and not counted:
            result = Status.OK
            break
        if not counted:
            tally[SHORT] = tally[SHORT] + 1 if header.h_used <= floor else 0
            if tally[SHORT] > MOST_SHORT:
                result = Status.EVENTS_CROWDED
                break
    if counted and tally[STEP] == tally[STEPS] and result == Status.CHUNK:
        result = Status.OK
    # the caller finds the state where it gave it, whichever of the two it is in
    copy(now.q, state.q)
    copy(now.v, state.v)
    copy(now.memory, state.memory)
    return result


@unit(I(LAYOUT, J, RECORD, NODES, A, A), small=True)
def no_room(layout, tally, record, nodes, events, dense):
    """Return 1 where a table has no room for one more step."""
    width = 2 + layout.nv + layout.nr + layout.nc
    full = tally[COUNT] + 2 > nodes.t.shape[0] or (tally[REACTIONS] + 2) * width > nodes.reactions.shape[0]
    full = full or tally[EVENTS] * EVENT_COLUMNS + record.events.shape[0] > events.shape[0]
    return 1 if full or tally[DENSE] + record.dense.shape[0] > dense.shape[0] else 0


@unit(I(F, STATE), small=True)
def is_finite(violation, state):
    """Return 1 where all numbers of a state are finite; the smallest velocities become zero."""
    finite = violation < 1e300
    for i in range(state.v.shape[0]):
        finite = finite and abs(state.v[i]) < 1e300
        if abs(state.v[i]) < 1e-200:
            state.v[i] = 0.0  # a velocity that decays into subnormals would slow every step twentyfold
    for i in range(state.q.shape[0]):
        finite = finite and abs(state.q[i]) < 1e300
    return 1 if finite else 0


@unit(F(A, J, F, F, I, I), small=True)
def tell_time(clock, tally, t, h_used, final, entire):
    """Move the clock to the end of a step and return the time that is shown there.

    in      final: 1 for the last step; entire: 1 where the step is as long as was asked for
    """
    reached = t + h_used
    clock[NOW] = t_new = reached
    if tally[STEPS] < 0:
        advance = reached - t
        lost = (t - (reached - advance)) + (h_used - advance) + clock[NOW_LOW]
        t_new = reached + lost
        if t_new <= t and h_used > 0.0:
            t_new = t + NEXT * abs(t)  # a step that is too short to be seen: times that are shown never repeat
        clock[NOW], clock[NOW_LOW] = t_new, lost - (t_new - reached)
    if final == 1:
        clock[NOW], clock[NOW_LOW], t_new = clock[END], 0.0, clock[NAME_END]
    elif entire == 1 and tally[STEPS] >= 0:
        t_new = clock[NAME_BEGIN] + (tally[STEP] + 1) * clock[H]
    return t_new


@unit(I(LAYOUT, A, J, F, I, STATE, NODES, A, A), small=True)
def is_kept(layout, clock, tally, t_new, happened, now, nodes, times, sums):
    """Return 1 where the end of a step is to be kept; for its dense output its start is kept as well."""
    keep = tally[SINCE] + 1 == tally[KEEP]
    if tally[KEEP] == KEEP_EVENTS:
        keep = happened > 0
    if tally[KEEP] == KEEP_TIMES and tally[NEXT_TIME] < times.shape[0] and times[tally[NEXT_TIME]] <= t_new:
        keep = True
        while tally[NEXT_TIME] < times.shape[0] and times[tally[NEXT_TIME]] <= t_new:
            tally[NEXT_TIME] += 1
        if tally[LAST] == 0:  # the start of this interval was not kept: its end alone cannot be interpolated
            tally[SINCE] = 2  # the interval before it has no dense block
            keep_node(layout, tally, nodes, clock[LAST_TIME], now, sums)
    return 1 if keep else 0


@unit(I(LAYOUT, RECORD, STATE, A), small=True)
def add_up(layout, record, new, sums):
    """Add the books of a step to the sums since the last node."""
    nv, nc, nr, header = layout.nv, layout.nc, layout.nr, record.header
    minus = head(tail(sums, SUM_IMPULSE + nr + nc), nv)
    sums[SUM_VIOLATION] = larger(sums[SUM_VIOLATION], header.violation)
    sums[SUM_WORK] += header.force_work + header.drive_work
    sums[SUM_ERROR], sums[SUM_DEGREE] = larger(sums[SUM_ERROR], header.error), header.degree
    for i in range(FOUND_COUNT):
        sums[SUM_INSIDE + i] = larger(sums[SUM_INSIDE + i], record.inside[i])
    if header.reacted == 1.0:
        sums[SUM_REACTED] = 1.0
        sums[SUM_RESIDUAL] = larger(sums[SUM_RESIDUAL], header.residual)
        for r in range(nr):
            sums[SUM_IMPULSE + r] += record.impulse[r]
        for c in range(nc):
            sums[SUM_IMPULSE + nr + c] += record.dissipation[c]
        copy(record.v_minus, minus)
    elif sums[SUM_REACTED] == 1.0:
        copy(new.v, minus)
    return 0


@unit(I(J, F, F, RECORD, A), small=True)
def put_events(tally, reached, t_new, record, events):
    """Append the events of a step; those at its end get the time that is shown there."""
    happened, first = whole(record.header.events_used), tally[EVENTS] * EVENT_COLUMNS
    for i in range(happened * EVENT_COLUMNS):
        events[first + i] = record.events[i]
    for j in range(happened):
        if events[first + j * EVENT_COLUMNS] == reached:
            events[first + j * EVENT_COLUMNS] = t_new
    tally[EVENTS] += happened
    return 0


@unit(I(LAYOUT, J, NODES, F, STATE, A))
def keep_node(layout, tally, nodes, t, state, sums):
    """Append a node with what was summed since the last one, and start new sums."""
    nq, nv, rest = layout.nq, layout.nv, layout.nr + layout.nc
    k = tally[COUNT]
    nodes.t[k] = t
    for i in range(nq):
        nodes.q[k * nq + i] = state.q[i]
    for i in range(nv):
        nodes.v[k * nv + i] = state.v[i]
    nodes.ledger[LEDGER * k], nodes.ledger[LEDGER * k + 1] = sums[SUM_VIOLATION], sums[SUM_WORK]
    if tally[EXTRA] == 1:
        extra = row_of(nodes.extra, k, EXTRAS)
        extra[0], extra[1], extra[2] = sums[SUM_ERROR], sums[SUM_DEGREE], tally[DENSE]
        extra[3], extra[4] = 1.0 if tally[SINCE] == 1 else 0.0, tally[REJECTED]
        for i in range(FOUND_COUNT):
            extra[EXTRA_INSIDE + i] = sums[SUM_INSIDE + i]
    if sums[SUM_REACTED] == 1.0:
        reaction = row_of(nodes.reactions, tally[REACTIONS], 2 + nv + rest)
        reaction[0], reaction[1] = k, sums[SUM_RESIDUAL]
        for i in range(nv):
            reaction[2 + i] = sums[SUM_IMPULSE + rest + i]
        for i in range(rest):
            reaction[2 + nv + i] = sums[SUM_IMPULSE + i]
        tally[REACTIONS] += 1
        for i in range(SUM_IMPULSE + rest):
            sums[i] = 0.0
    sums[SUM_VIOLATION], sums[SUM_WORK], sums[SUM_ERROR] = 0.0, 0.0, 0.0
    for i in range(FOUND_COUNT):
        sums[SUM_INSIDE + i] = 0.0
    tally[COUNT] += 1
    tally[SINCE] = 0
    return 0


class Tables:
    """The growing tables of a run."""

    def __init__(self, sizes: tuple[int, int, int, int], rows: int, events: int, dense: int, *, extra: bool):
        nq, nv, nr, nc = sizes
        self.width = reaction_width(nv, nr, nc)
        self.columns = (1, nq, nv, LEDGER, EXTRAS if extra else 0)
        self.per_step = (events * EVENT_COLUMNS, dense)
        parts = (_reserved(rows * size) for size in self.columns)
        self.nodes = Nodes(*parts, _reserved((64 + rows // 4) * self.width))
        # room for some hundred steps at once, because every return from the march costs as much as some of them
        first = min(FIRST_STEPS, FIRST_FLOATS // max(1, dense))
        self.events = np.empty(64 * EVENT_COLUMNS + self.per_step[0] * max(1, min(first, 16)))
        self.dense = np.empty(64 + dense * max(1, first))

    def grow(self, tally: np.ndarray) -> None:
        """Double every table that has no room for one more step."""
        nodes = self.nodes
        if tally[COUNT] + 2 > len(nodes.t):
            rows = 2 * len(nodes.t)
            parts = (_grown(old, rows * size) for old, size in zip(nodes, self.columns, strict=False))
            nodes = Nodes(*parts, nodes.reactions)
        if (tally[REACTIONS] + 2) * self.width > len(nodes.reactions):
            nodes = nodes._replace(reactions=_grown(nodes.reactions, 2 * len(nodes.reactions)))
        self.nodes = nodes
        if tally[EVENTS] * EVENT_COLUMNS + self.per_step[0] > len(self.events):
            self.events = _grown(self.events, 2 * len(self.events))
        if tally[DENSE] + self.per_step[1] > len(self.dense):
            self.dense = _grown(self.dense, 2 * len(self.dense))

    def bytes_when_grown(self, tally: np.ndarray) -> int:
        """Return the memory that the tables take once there is room for one more step [bytes]."""
        nodes, total = self.nodes, 8 * sum(len(part) for part in (*self.nodes, self.events, self.dense))
        if tally[COUNT] + 2 > len(nodes.t):
            total += 8 * sum(len(part) for part in nodes[:-1])
        if (tally[REACTIONS] + 2) * self.width > len(nodes.reactions):
            total += 8 * len(nodes.reactions)
        if tally[EVENTS] * EVENT_COLUMNS + self.per_step[0] > len(self.events):
            total += 8 * len(self.events)
        if tally[DENSE] + self.per_step[1] > len(self.dense):
            total += 8 * len(self.dense)
        return total

    def kept(self, tally: np.ndarray) -> Nodes:
        """Return the tables as two-dimensional arrays without copying."""
        n, rows = int(tally[COUNT]), int(tally[REACTIONS])
        parts = (a[: n * size].reshape(n, size) for a, size in zip(self.nodes, self.columns, strict=False))
        return Nodes(*parts, self.nodes.reactions[: rows * self.width].reshape(rows, self.width))


def _reserved(size: int) -> np.ndarray:
    """Return room for floats that will be written soon; its pages are fetched in one call, not one by one."""
    populate = getattr(mmap, "MAP_POPULATE", 0)
    if not populate or not POPULATED[0] <= 8 * size <= POPULATED[1]:
        return np.empty(size)
    pages = mmap.mmap(-1, 8 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | populate)
    return np.frombuffer(pages, dtype=np.float64)


def _grown(table: np.ndarray, size: int) -> np.ndarray:
    grown = _reserved(size)
    grown[: len(table)] = table
    return grown
