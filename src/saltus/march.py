"""The march: the one loop over steps. It knows no scheme; it calls step, asks the control, keeps what is wanted.

A node is a row: t | q | v | v_minus | impulse since the last kept node | dissipation likewise | stored header |
dense offset | whether the step just before it was kept too. The march returns when the span is done, a table is
full, its budget of steps is spent (progress, interruption) or a step failed; it can be entered again at the same step.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.compile.seam import bare, mat, unit, vec
from saltus.compile.types import CONTROL, MODEL, RECORD, STATE, A, B, Control, I, J, Model, Record, State, scheme_type
from saltus.layout import NC, NQ, NR, NV
from saltus.record import DENSE_USED, ERROR, EVENTS_USED, FORCE_WORK, H_USED, STORED, VIOLATION
from saltus.status import Status

OK, FULL, CHUNK = int(Status.OK), int(Status.FULL), int(Status.CHUNK)
NONFINITE, STEP_TOO_SMALL = int(Status.NONFINITE), int(Status.STEP_TOO_SMALL)

# clock: begin, end and step size of the segment, time now, exact times to report at its ends
BEGIN, END, H, NOW, NAME_END = range(5)
CLOCK = 5
# tally: integers that survive from one entry to the next
STEP, STEPS, NODES, EVENTS, DENSE, KEEP, NEXT_TIME, SINCE, ACCEPTED, REJECTED, LAST = range(11)
TALLY = 11
KEEP_TIMES, KEEP_EVENTS = -1, -2  # KEEP > 0: every KEEP-th step


@dataclasses.dataclass(frozen=True)
class NodeColumns:
    """Where the parts of a node lie in its row."""

    nq: int
    nv: int
    nr: int
    nc: int

    def slices(self) -> dict[str, slice]:
        sizes = dict(
            t=1, q=self.nq, v=self.nv, v_minus=self.nv, impulse=self.nr, dissipation=self.nc, header=STORED, offset=1,
            follows=1,
        )  # fmt: skip
        at, places = 0, {}
        for name, size in sizes.items():
            places[name] = slice(at, at + size)
            at += size
        return places

    @property
    def width(self) -> int:
        return self.slices()["follows"].stop


def march_signature(depth: int):
    """Return the signature of the march for schemes of a depth."""
    return I(MODEL, scheme_type(depth), CONTROL, A, J, STATE, STATE, RECORD, B, B, A, A, A, A, J, I)


@unit(*(march_signature(depth) for depth in range(4)))
def march(
    model, scheme, control, clock, tally, state, state_new, record, nodes, events, dense, times, row, work, iwork, budget
):  # fmt: skip
    # ---- views without reference count, once at the entry
    model = Model(
        model.mass, model.force, model.jacobian, model.gap, model.kinematics, model.curvature, model.rate,
        model.retract, bare(model.par), bare(model.constants), bare(model.layout),
    )  # fmt: skip
    control = Control(control.decide, bare(control.settings), bare(control.memory))
    clock, tally, nodes, events = bare(clock), bare(tally), bare(nodes), bare(events)
    dense, times, row, work, iwork = bare(dense), bare(times), bare(row), bare(work), bare(iwork)
    now = State(bare(state.q), bare(state.v), bare(state.memory))
    new = State(bare(state_new.q), bare(state_new.v), bare(state_new.memory))
    record = Record(
        bare(record.header), bare(record.v_minus), bare(record.impulse), bare(record.dissipation),
        bare(record.events), bare(record.dense), bare(record.counters),
    )  # fmt: skip
    layout = model.layout
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    v_at, minus_at = 1 + nq, 1 + nq + nv
    impulse_at = minus_at + nv
    dissipation_at = impulse_at + nr
    header_at = dissipation_at + nc
    width = row.shape[0] // 2
    last, decision = vec(row, width, width), vec(work, 0, 1)
    step_work = vec(work, 1, work.shape[0] - 1)
    inner, settings = scheme.inner, bare(scheme.settings)
    header = record.header

    for _ in range(budget):
        if tally[STEPS] >= 0 and tally[STEP] >= tally[STEPS]:
            return OK
        if (
            tally[NODES] + 2 > nodes.shape[0]
            or tally[EVENTS] + record.events.shape[0] > events.shape[0]
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
        t_new = t + header[H_USED]
        if final and header[H_USED] == h:
            t_new = clock[NAME_END]
        clock[NOW] = t + header[H_USED]
        if tally[STEPS] < 0:
            clock[H] = decision[0]

        # ---- keep: the row sums impulses and work since the last kept node
        happened = int(header[EVENTS_USED])
        before = tally[LAST]
        keep = tally[KEEP] > 0 and ((tally[ACCEPTED] + 1) % tally[KEEP] == 0)
        if tally[KEEP] == KEEP_EVENTS:
            keep = happened > 0
        if tally[KEEP] == KEEP_TIMES and tally[NEXT_TIME] < times.shape[0] and times[tally[NEXT_TIME]] <= t_new:
            keep = True
            while tally[NEXT_TIME] < times.shape[0] and times[tally[NEXT_TIME]] <= t_new:
                tally[NEXT_TIME] += 1
            if before == 0:  # the start of this interval was not kept: its end alone cannot be interpolated
                for i in range(width):
                    nodes[tally[NODES], i] = last[i]
                    row[i] = 0.0
                nodes[tally[NODES], width - 1] = 0.0  # the interval before it has no dense block
                tally[NODES] += 1
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
            row[header_at + i] = max(row[header_at + i], header[i])
        for i in range(FORCE_WORK, STORED):
            row[header_at + i] += header[i]
        row[width - 2] = tally[DENSE]
        row[width - 1] = 1.0 if tally[SINCE] == 0 and tally[NODES] > 0 else 0.0
        tally[SINCE] += 1
        if keep:
            for i in range(width):
                nodes[tally[NODES], i] = row[i]
                row[i] = 0.0
            tally[NODES] += 1
            tally[SINCE] = 0
            used = int(header[DENSE_USED])
            for i in range(used):
                dense[tally[DENSE] + i] = record.dense[i]
            tally[DENSE] += used
        else:
            for i in range(width):
                last[i] = row[i]
        tally[LAST] = 1 if keep else 0
        for j in range(happened):
            for i in range(events.shape[1]):
                events[tally[EVENTS] + j, i] = record.events[j, i]
            if final and events[tally[EVENTS] + j, 0] == clock[NOW]:
                events[tally[EVENTS] + j, 0] = t_new
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


@dataclasses.dataclass
class Tables:
    """The growing tables of a run."""

    nodes: np.ndarray
    events: np.ndarray
    dense: np.ndarray

    def grow(self, tally: np.ndarray, need: tuple[int, int, int]) -> None:
        """Double every table that has no room for one more step."""
        if tally[NODES] + need[0] > len(self.nodes):
            self.nodes = _doubled(self.nodes, need[0])
        if tally[EVENTS] + need[1] > len(self.events):
            self.events = _doubled(self.events, need[1])
        if tally[DENSE] + need[2] > len(self.dense):
            self.dense = _doubled(self.dense, need[2])


def _doubled(table: np.ndarray, need: int) -> np.ndarray:
    grown = np.empty((2 * len(table) + need, *table.shape[1:]))
    grown[: len(table)] = table
    return grown
