"""The march: the one loop over steps. It knows no scheme; it calls step, asks the control, keeps what is wanted.

A node is a row: t | q | v | v_minus | impulse since the last kept node | dissipation likewise | stored header |
dense offset | whether the step just before it was kept too. The march returns when the span is done, a table is
full, its budget of steps is spent (progress, interruption) or a step failed; it can be entered again at the same step.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.compile.seam import handle, larger, unit, vec, whole
from saltus.compile.types import (
    CONTROL,
    MODEL_RECORD,
    NODES,
    RECORD_RECORD,
    STATE_RECORD,
    A,
    I,
    J,
    Nodes,
    scheme_record,
)
from saltus.layout import NC, NQ, NR, NV
from saltus.record import DENSE_USED, ERROR, EVENT_COLUMNS, EVENTS_USED, FORCE_WORK, H_USED, STORED, VIOLATION
from saltus.status import Status

OK, FULL, CHUNK = int(Status.OK), int(Status.FULL), int(Status.CHUNK)
NONFINITE, STEP_TOO_SMALL = int(Status.NONFINITE), int(Status.STEP_TOO_SMALL)

# clock: begin, end and step size of the segment, time now, exact times to report at its ends
BEGIN, END, H, NOW, NAME_BEGIN, NAME_END = range(6)
CLOCK = 6
# tally: integers that survive from one entry to the next
STEP, STEPS, COUNT, EVENTS, DENSE, KEEP, NEXT_TIME, SINCE, ACCEPTED, REJECTED, LAST = range(11)
TALLY = 11
KEEP_TIMES, KEEP_EVENTS = -1, -2  # KEEP > 0: every KEEP-th step


@dataclasses.dataclass(frozen=True)
class NodeColumns:
    """Where the parts of a node lie in its row."""

    nq: int
    nv: int
    nr: int
    nc: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many numbers each part of a node has, in the order of `Nodes`."""
        return 1, self.nq, self.nv, self.nv, self.nr, self.nc, STORED, 1, 1

    @property
    def width(self) -> int:
        return sum(self.sizes)

    def split(self, row: np.ndarray) -> Nodes:
        """Return the parts of one row."""
        return Nodes(*np.split(row, np.cumsum(self.sizes)[:-1]))


def march_signature(depth: int):
    """Return the signature of the march for schemes of a depth."""
    return I(MODEL_RECORD, scheme_record(depth), CONTROL, A, J, STATE_RECORD, STATE_RECORD, RECORD_RECORD, NODES, A, A, A, A, A, J, I)


@unit(*(march_signature(depth) for depth in range(4)), entry=True)
def march(
    model, scheme, control, clock, tally, state, state_new, record, nodes, events, dense, times, row, work, iwork, budget
):  # fmt: skip
    model, now, new, record = handle(model), handle(state), handle(state_new), handle(record)
    layout = model.layout
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    v_at, minus_at = 1 + nq, 1 + nq + nv
    impulse_at = minus_at + nv
    dissipation_at = impulse_at + nr
    header_at = dissipation_at + nc
    width = row.shape[0] // 2
    last, decision = vec(row, width, width), vec(work, 0, 1)
    step_work = vec(work, 1, work.shape[0] - 1)
    inner, settings = handle(scheme.inner), scheme.settings
    header = record.header

    for _ in range(budget):
        if tally[STEPS] >= 0 and tally[STEP] >= tally[STEPS]:
            return OK
        if (
            tally[COUNT] + 2 > nodes.t.shape[0]
            or tally[EVENTS] * EVENT_COLUMNS + record.events.shape[0] > events.shape[0]
            or tally[DENSE] + record.dense.shape[0] > dense.shape[0]
        ):
            return FULL
        # ---- step; the time grid is counted, not summed
        t, h = clock[NOW], clock[H]
        if tally[STEPS] >= 0:
            t = clock[BEGIN] + tally[STEP] * h
        final = t + h * (1.0 + 1e-9) >= clock[END] if tally[STEPS] < 0 else tally[STEP] + 1 == tally[STEPS]
        if final:
            h = clock[END] - t
        header[ERROR] = 0.0
        status = scheme.step(model, inner, settings, t, h, now, new, record, step_work, iwork)
        if status != 0:
            return status
        if not header[VIOLATION] < 1e300:
            return NONFINITE
        for i in range(nv):
            if not abs(new.v[i]) < 1e300:
                return NONFINITE
            if abs(new.v[i]) < 1e-200:
                new.v[i] = 0.0  # a velocity that decays into subnormals would slow every step twentyfold
        for i in range(nq):
            if not abs(new.q[i]) < 1e300:
                return NONFINITE

        # ---- control
        if control.decide(control.settings, header, t, h, control.memory, decision) != 0:
            tally[REJECTED] += 1
            clock[H] = decision[0]
            if not decision[0] > 1e-14 * (abs(t) + abs(clock[END] - clock[BEGIN])):
                return STEP_TOO_SMALL
            continue
        clock[NOW] = t + header[H_USED]
        t_new = clock[NOW]
        if header[H_USED] == h and final:
            t_new = clock[NAME_END]
        elif header[H_USED] == h and tally[STEPS] >= 0:
            t_new = clock[NAME_BEGIN] + (tally[STEP] + 1) * clock[H]
        if tally[STEPS] < 0:
            clock[H] = decision[0]

        # ---- keep: the row sums impulses and work since the last kept node
        happened = whole(header[EVENTS_USED])
        before = tally[LAST]
        keep = tally[KEEP] > 0 and ((tally[ACCEPTED] + 1) % tally[KEEP] == 0)
        if tally[KEEP] == KEEP_EVENTS:
            keep = happened > 0
        if tally[KEEP] == KEEP_TIMES and tally[NEXT_TIME] < times.shape[0] and times[tally[NEXT_TIME]] <= t_new:
            keep = True
            while tally[NEXT_TIME] < times.shape[0] and times[tally[NEXT_TIME]] <= t_new:
                tally[NEXT_TIME] += 1
            if before == 0:  # the start of this interval was not kept: its end alone cannot be interpolated
                last[width - 1] = 0.0  # the interval before it has no dense block
                keep_row(layout, nodes, tally[COUNT], last)
                for i in range(width):
                    row[i] = 0.0
                tally[COUNT] += 1
                tally[SINCE] = 0
        keep = keep or (final and clock[NAME_END] == times[times.shape[0] - 1])
        row[0] = t_new
        for i in range(nq):
            row[1 + i] = new.q[i]
        for i in range(nv):
            row[v_at + i], row[minus_at + i] = new.v[i], record.v_minus[i]
        for r in range(nr):
            row[impulse_at + r] += record.impulse[r]
        for c in range(nc):
            row[dissipation_at + c] += record.dissipation[c]
        row[header_at] = header[0]
        row[header_at + 1] = header[1]
        for i in range(VIOLATION, FORCE_WORK):
            row[header_at + i] = larger(row[header_at + i], header[i])
        for i in range(FORCE_WORK, STORED):
            row[header_at + i] += header[i]
        row[width - 2] = tally[DENSE]
        row[width - 1] = 1.0 if tally[SINCE] == 0 and tally[COUNT] > 0 else 0.0
        tally[SINCE] += 1
        if keep:
            keep_row(layout, nodes, tally[COUNT], row)
            for i in range(width):
                row[i] = 0.0
            tally[COUNT] += 1
            tally[SINCE] = 0
            used = whole(header[DENSE_USED])
            for i in range(used):
                dense[tally[DENSE] + i] = record.dense[i]
            tally[DENSE] += used
        else:
            for i in range(width):
                last[i] = row[i]
        tally[LAST] = 1 if keep else 0
        first = tally[EVENTS] * EVENT_COLUMNS
        for i in range(happened * EVENT_COLUMNS):
            events[first + i] = record.events[i]
        for j in range(happened):
            if events[first + j * EVENT_COLUMNS] == clock[NOW]:
                events[first + j * EVENT_COLUMNS] = t_new
        tally[EVENTS] += happened
        for i in range(nq):
            now.q[i] = new.q[i]
        for i in range(nv):
            now.v[i] = new.v[i]
        for i in range(now.memory.shape[0]):
            now.memory[i] = new.memory[i]
        tally[STEP] += 1
        tally[ACCEPTED] += 1
        if final and tally[STEPS] < 0 and header[H_USED] == h:
            return OK
    return CHUNK if tally[STEPS] < 0 or tally[STEP] < tally[STEPS] else OK


@unit(I(J, NODES, I, A))
def keep_row(layout, nodes, k, row):
    """Copy a row into the tables as node k."""
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    nodes.t[k] = row[0]
    at = 1
    for i in range(nq):
        nodes.q[k * nq + i] = row[at + i]
    at += nq
    for i in range(nv):
        nodes.v[k * nv + i] = row[at + i]
        nodes.v_minus[k * nv + i] = row[at + nv + i]
    at += 2 * nv
    for r in range(nr):
        nodes.impulse[k * nr + r] = row[at + r]
    at += nr
    for c in range(nc):
        nodes.dissipation[k * nc + c] = row[at + c]
    at += nc
    for i in range(STORED):
        nodes.header[k * STORED + i] = row[at + i]
    nodes.offset[k] = row[at + STORED]
    nodes.follows[k] = row[at + STORED + 1]
    return 0


class Tables:
    """The growing tables of a run."""

    def __init__(self, columns: NodeColumns, rows: int, events: int, dense: int):
        self.columns = columns
        self.per_step = (events * EVENT_COLUMNS, dense)
        # pages of a large table cost nothing before they are written
        self.nodes = Nodes(*(np.empty(rows * size) for size in columns.sizes))
        self.events, self.dense = np.empty(64 * EVENT_COLUMNS + self.per_step[0]), np.empty(64 + dense)

    def grow(self, tally: np.ndarray) -> None:
        """Double every table that has no room for one more step."""
        if tally[COUNT] + 2 > len(self.nodes.t):
            rows = 2 * len(self.nodes.t)
            sizes = self.columns.sizes
            self.nodes = Nodes(*(_grown(old, rows * size) for old, size in zip(self.nodes, sizes, strict=True)))
        if tally[EVENTS] * EVENT_COLUMNS + self.per_step[0] > len(self.events):
            self.events = _grown(self.events, 2 * len(self.events))
        if tally[DENSE] + self.per_step[1] > len(self.dense):
            self.dense = _grown(self.dense, 2 * len(self.dense))

    def kept(self, tally: np.ndarray) -> Nodes:
        """Return the nodes as (count, size) arrays; no copy."""
        n, sizes = int(tally[COUNT]), self.columns.sizes
        return Nodes(*(a[: n * size].reshape(n, size) for a, size in zip(self.nodes, sizes, strict=True)))


def _grown(table: np.ndarray, size: int) -> np.ndarray:
    grown = np.empty(size)
    grown[: len(table)] = table
    return grown
