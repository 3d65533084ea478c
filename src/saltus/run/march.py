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
from collections import namedtuple
from typing import NamedTuple

import numpy as np

from saltus.compile.kinds import Record as Members
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
    Nodes,
    scheme_handle,
)
from saltus.compile.workspace import Numbers, Workspace
from saltus.memory.record import COLUMN, RECORDED
from saltus.memory.vectors import clear, copy
from saltus.reaction.look import FOUND
from saltus.status import Status

# begin, end, h: of the segment, h of the next step; now: time; name_begin, name_end: exact times to report at its ends;
# last_time: of the last node; now_low: what the time now lacks: the durations of steps are summed without rounding
# (Kahan, Neumaier), so that a hundred thousand of them shift nothing
CLOCK = Numbers("begin end h now name_begin name_end last_time now_low")
# Integers that survive from one entry to the next. step, steps: of the segment, made and in all (-1: not counted);
# count, events, dense, reactions: rows and numbers in the tables; keep: every so many steps, or a rule of MARCH;
# next_time: to keep; since: steps since the last node; accepted, rejected: attempts; last: 1 where the last step was
# kept; extra: 1 where nodes have extra columns; ended: 1 once a terminal event ended the run; short: steps without
# duration that came last
TALLY = Numbers(
    "step steps count events dense reactions keep next_time since accepted rejected last extra ended short",
    integer=True,
)
# sums since the last kept node: numbers, what was found inside of steps, impulse and dissipation; v_minus: last step
SUMS = Workspace(
    "Sums", total=Numbers("reacted violation work residual error degree"), inside="inside", impulse="nr",
    dissipation="nc", v_minus="nv",
)  # fmt: skip
# What the march works on. state: where the run stands; state_new, record: of the step that is tried; nodes, events,
# dense: tables that grow; times: to keep; decision: of the control; room: of the scheme
Marching = namedtuple("Marching", "state state_new record nodes events dense times sums decision room")
MARCHING_RECORD = Members([STATE, STATE, RECORD, NODES_RECORD, A, A, A, SUMS.kind, A, ROOM], Marching)


class _March(NamedTuple):
    """Tuned numbers of this file."""

    keep_times: int = -1  # tally.keep: at given times
    keep_events: int = -2  # tally.keep: at events
    next: float = 3e-16  # of a time: the smallest difference that leads to another one
    most_short: int = 1000  # steps without duration, one after the other: events that never end
    first_steps: int = 256  # that have room before tables grow
    first_floats: int = 1 << 17  # of dense output that have room before tables grow
    ledger: int = 2  # columns of the ledger of a node: violation, work
    extras: int = 5 + FOUND.all  # extra columns of a node


MARCH = _March()
POPULATED = (1 << 20, 1 << 30)  # bytes of a table whose pages are fetched at once


def reaction_width(nv: int, nr: int, nc: int) -> int:
    """Return the columns of the reaction table."""
    return 2 + nv + nr + nc


@functools.cache
def march_signature(depth: int):
    """Return the signature of the march for schemes of a depth."""
    return I(MODEL, scheme_handle(depth), CONTROL, CLOCK.kind, TALLY.kind, MARCHING_RECORD, I)


@unit(*(march_signature(depth) for depth in range(4)), entry=True)
def march(model, scheme, control, clock, tally, buffers, budget):
    """Make steps from the state on until something wants Python: the end, a full table, a spent budget, a failure.

    in      budget: most attempts
    in/out  clock, tally, buffers: see the head of the file; returns a Status
    """
    state, record, sums, times, decision = (
        buffers.state, buffers.record, buffers.sums, buffers.times, buffers.decision
    )  # fmt: skip
    nodes, events, dense = handle(buffers.nodes), buffers.events, buffers.dense
    now, new, room = state, buffers.state_new, buffers.room
    layout, header, counted = model.layout, record.header, tally.steps >= 0
    result, fit = Status.CHUNK, 0
    for _ in range(budget):
        if counted and tally.step >= tally.steps:
            result = Status.OK
            break
        if fit <= 0:
            fit = steps_that_fit(layout, tally, record, nodes, events, dense)
            if fit <= 0:
                result = Status.FULL
                break
        # ---- step; the time grid is counted, not summed
        t, h = clock.now, clock.h
        if counted:
            t = clock.begin + tally.step * h
        floor, final = 0.0, tally.step + 1 == tally.steps
        if not counted:
            floor = RECORDED.smallest * (abs(t) + abs(clock.end - clock.begin))
            final = t + h * (1.0 + 1e-9) + floor >= clock.end
        if final:
            h = clock.end - t - (0.0 if counted else clock.now_low)
        header.error, header.terminal = 0.0, 0.0
        for i in range(record.inside.shape[0]):
            record.inside[i] = 0.0
        status = scheme.step(model, scheme.inner, scheme.settings, t, h, now, new, record, room)
        finite = is_finite(header.violation, new)
        if status != 0 or finite == 0:
            result = status if status != 0 else Status.NONFINITE
            break
        # ---- control; a counted grid leaves nothing to decide
        if not counted and control.decide(control.settings, header, t, h, control.memory, decision) != 0:
            tally.rejected += 1
            clock.h = decision[0]
            if not decision[0] > floor:
                result = Status.STEP_TOO_SMALL
                break
            continue
        reached = t + header.h_used
        # a free step that ended early is not the last one
        final = final and (counted or clock.end - reached <= floor)
        t_new = tell_time(clock, tally, t, header.h_used, 1 if final else 0, 1 if header.h_used == h else 0)
        if not counted:
            clock.h = decision[0]

        # ---- keep
        keep = is_kept(layout, clock, tally, t_new, whole(header.events_used), now, nodes, times, sums) == 1
        terminal = header.terminal == 1.0
        # what strikes where the run begins is the right limit of its start
        keep = keep or (not counted and t_new - nodes.t[0] <= floor)
        keep = keep or terminal or (final and clock.name_end == times[times.shape[0] - 1])
        tally.since += 1
        add_up(layout, record, new, sums)
        if keep:
            keep_node(layout, tally, nodes, t_new, new, sums)
            used = whole(header.dense_used)
            copy(record.dense, head(tail(dense, tally.dense), used))
            tally.dense += used
        tally.last = 1 if keep else 0
        clock.last_time = t_new
        put_events(tally, reached, t_new, record, events)
        now, new = new, now
        tally.step += 1
        tally.accepted += 1
        fit -= 1
        if terminal:
            tally.ended = 1
            result = Status.TERMINATED
            break
        if final and not counted:
            result = Status.OK
            break
        if not counted:
            tally.short = tally.short + 1 if header.h_used <= floor else 0
            if tally.short > MARCH.most_short:
                result = Status.EVENTS_CROWDED
                break
    if counted and tally.step == tally.steps and result == Status.CHUNK:
        result = Status.OK
    # the caller finds the state where it gave it, whichever of the two it is in
    copy(now.q, state.q)
    copy(now.v, state.v)
    copy(now.memory, state.memory)
    return result


@unit(I(LAYOUT, TALLY.kind, RECORD, NODES, A, A), small=True)
def steps_that_fit(layout, tally, record, nodes, events, dense):
    """Return how many steps fit into the tables, whatever they report."""
    width = 2 + layout.nv + layout.nr + layout.nc
    rows, floats = record.events.shape[0], record.dense.shape[0]
    fit = fewer((nodes.t.shape[0] - tally.count) // 2, (nodes.reactions.shape[0] // width - tally.reactions) // 2)
    if rows > 0:
        fit = fewer(fit, (events.shape[0] - tally.events * COLUMN.all) // rows)
    if floats > 0:
        fit = fewer(fit, (dense.shape[0] - tally.dense) // floats)
    return fit


@unit(I(I, I), small=True)
def fewer(a, b):
    """Return the smaller of two counts."""
    return a if a < b else b


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


@unit(F(CLOCK.kind, TALLY.kind, F, F, I, I), small=True)
def tell_time(clock, tally, t, h_used, final, entire):
    """Move the clock to the end of a step and return the time that is shown there.

    in      final: 1 for the last step; entire: 1 where the step is as long as was asked for
    """
    reached = t + h_used
    clock.now = t_new = reached
    if tally.steps < 0:
        advance = reached - t
        lost = (t - (reached - advance)) + (h_used - advance) + clock.now_low
        t_new = reached + lost
        if t_new <= t and h_used > 0.0:
            t_new = t + MARCH.next * abs(t)  # a step that is too short to be seen: times that are shown never repeat
        clock.now, clock.now_low = t_new, lost - (t_new - reached)
    if final == 1:
        clock.now, clock.now_low, t_new = clock.end, 0.0, clock.name_end
    elif entire == 1 and tally.steps >= 0:
        t_new = clock.name_begin + (tally.step + 1) * clock.h
    return t_new


@unit(I(LAYOUT, CLOCK.kind, TALLY.kind, F, I, STATE, NODES, A, SUMS.kind), small=True)
def is_kept(layout, clock, tally, t_new, happened, now, nodes, times, sums):
    """Return 1 where the end of a step is to be kept; for its dense output its start is kept as well."""
    keep = tally.since + 1 == tally.keep
    if tally.keep == MARCH.keep_events:
        keep = happened > 0
    if tally.keep == MARCH.keep_times and tally.next_time < times.shape[0] and times[tally.next_time] <= t_new:
        keep = True
        while tally.next_time < times.shape[0] and times[tally.next_time] <= t_new:
            tally.next_time += 1
        if tally.last == 0:  # the start of this interval was not kept: its end alone cannot be interpolated
            tally.since = 2  # the interval before it has no dense block
            keep_node(layout, tally, nodes, clock.last_time, now, sums)
    return 1 if keep else 0


@unit(I(LAYOUT, RECORD, STATE, SUMS.kind), small=True)
def add_up(layout, record, new, sums):
    """Add the books of a step to the sums since the last node."""
    header, total = record.header, sums.total
    total.violation = larger(total.violation, header.violation)
    total.work += header.force_work + header.drive_work
    total.error, total.degree = larger(total.error, header.error), header.degree
    for i in range(record.inside.shape[0]):
        sums.inside[i] = larger(sums.inside[i], record.inside[i])
    if header.reacted == 1.0:
        total.reacted = 1.0
        total.residual = larger(total.residual, header.residual)
        for r in range(layout.nr):
            sums.impulse[r] += record.impulse[r]
        for c in range(layout.nc):
            sums.dissipation[c] += record.dissipation[c]
        copy(record.v_minus, sums.v_minus)
    elif total.reacted == 1.0:
        copy(new.v, sums.v_minus)
    return 0


@unit(I(TALLY.kind, F, F, RECORD, A), small=True)
def put_events(tally, reached, t_new, record, events):
    """Append the events of a step; those at its end get the time that is shown there."""
    happened, first = whole(record.header.events_used), tally.events * COLUMN.all
    for i in range(happened * COLUMN.all):
        events[first + i] = record.events[i]
    for j in range(happened):
        if events[first + j * COLUMN.all] == reached:
            events[first + j * COLUMN.all] = t_new
    tally.events += happened
    return 0


@unit(I(LAYOUT, TALLY.kind, NODES, F, STATE, SUMS.kind))
def keep_node(layout, tally, nodes, t, state, sums):
    """Append a node with what was summed since the last one, and start new sums."""
    nq, nv, nr, nc, total = layout.nq, layout.nv, layout.nr, layout.nc, sums.total
    k = tally.count
    nodes.t[k] = t
    for i in range(nq):
        nodes.q[k * nq + i] = state.q[i]
    for i in range(nv):
        nodes.v[k * nv + i] = state.v[i]
    nodes.ledger[MARCH.ledger * k], nodes.ledger[MARCH.ledger * k + 1] = total.violation, total.work
    if tally.extra == 1:
        extra = row_of(nodes.extra, k, MARCH.extras)
        extra[0], extra[1], extra[2] = total.error, total.degree, tally.dense
        extra[3], extra[4] = 1.0 if tally.since == 1 else 0.0, tally.rejected
        for i in range(FOUND.all):
            extra[RECORDED.extra_inside + i] = sums.inside[i]
    if total.reacted == 1.0:
        reaction = row_of(nodes.reactions, tally.reactions, 2 + nv + nr + nc)
        reaction[0], reaction[1] = k, total.residual
        for i in range(nv):
            reaction[2 + i] = sums.v_minus[i]
        for i in range(nr):
            reaction[2 + nv + i] = sums.impulse[i]
        for i in range(nc):
            reaction[2 + nv + nr + i] = sums.dissipation[i]
        tally.reactions += 1
        total.reacted, total.residual, total.degree = 0.0, 0.0, 0.0
        clear(sums.impulse)
        clear(sums.dissipation)
    total.violation, total.work, total.error = 0.0, 0.0, 0.0
    for i in range(FOUND.all):
        sums.inside[i] = 0.0
    tally.count += 1
    tally.since = 0
    return 0


class Tables:
    """The growing tables of a run."""

    def __init__(self, sizes: tuple[int, int, int, int], rows: int, events: int, dense: int, *, extra: bool):
        nq, nv, nr, nc = sizes
        self.width = reaction_width(nv, nr, nc)
        self.columns = (1, nq, nv, MARCH.ledger, MARCH.extras if extra else 0)
        self.per_step = (events * COLUMN.all, dense)
        parts = (_reserved(rows * size) for size in self.columns)
        self.nodes = Nodes(*parts, _reserved((64 + rows // 4) * self.width))
        # room for some hundred steps at once, because every return from the march costs as much as some of them
        first = min(MARCH.first_steps, MARCH.first_floats // max(1, dense))
        self.events = np.empty(64 * COLUMN.all + self.per_step[0] * max(1, min(first, 16)))
        self.dense = np.empty(64 + dense * max(1, first))

    def grow(self, tally) -> None:
        """Double every table that has no room for one more step."""
        nodes = self.nodes
        if tally.count + 2 > len(nodes.t):
            rows = 2 * len(nodes.t)
            parts = (_grown(old, rows * size) for old, size in zip(nodes, self.columns, strict=False))
            nodes = Nodes(*parts, nodes.reactions)
        if (tally.reactions + 2) * self.width > len(nodes.reactions):
            nodes = nodes._replace(reactions=_grown(nodes.reactions, 2 * len(nodes.reactions)))
        self.nodes = nodes
        if tally.events * COLUMN.all + self.per_step[0] > len(self.events):
            self.events = _grown(self.events, 2 * len(self.events))
        if tally.dense + self.per_step[1] > len(self.dense):
            self.dense = _grown(self.dense, 2 * len(self.dense))

    def bytes_when_grown(self, tally) -> int:
        """Return the memory that the tables take once there is room for one more step [bytes]."""
        nodes, total = self.nodes, 8 * sum(len(part) for part in (*self.nodes, self.events, self.dense))
        if tally.count + 2 > len(nodes.t):
            total += 8 * sum(len(part) for part in nodes[:-1])
        if (tally.reactions + 2) * self.width > len(nodes.reactions):
            total += 8 * len(nodes.reactions)
        if tally.events * COLUMN.all + self.per_step[0] > len(self.events):
            total += 8 * len(self.events)
        if tally.dense + self.per_step[1] > len(self.dense):
            total += 8 * len(self.dense)
        return total

    def kept(self, tally) -> Nodes:
        """Return the tables as two-dimensional arrays without copying."""
        n, rows = int(tally.count), int(tally.reactions)
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
