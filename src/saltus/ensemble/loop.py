"""The loop over runs: copy the numbers of a run, reset, march, reduce; one crossing from Python for many runs.

A run is the same, bit by bit, as `solve` with these parameters and this start makes it: the same segments, the same
settings, the same march. What a failure is in `solve` is a status here. The loop returns when all runs are done or its
budget of attempted steps is spent, and goes on where it was when it is entered again.

A strobe ends a segment at every period, as `breaks` does in `solve`: a run with sections at begin + k period is
`solve(..., breaks=these times)`. Without a strobe, breaks of all runs may be given themselves.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from saltus.compile.seam import handle, head, larger, row_of, smaller, tail, unit
from saltus.compile.types import CONTROL, MODEL, NODES, RECORD, STATE, A, F, I, scheme_handle
from saltus.ensemble.records import (
    COUNTS,
    LANE,
    LANE_HANDLE,
    RUNS,
    RUNS_HANDLE,
    SPAN,
    WORST,
)
from saltus.ensemble.reduce import begin_watches, watch_events, watch_step, watch_strobe
from saltus.memory.profile import quadratic
from saltus.memory.record import RECORDED
from saltus.memory.vectors import clear, clear_marks, copy
from saltus.reaction.look import FOUND
from saltus.reaction.react import row_dot
from saltus.run.march import CLOCK, MARCH, MARCHING_RECORD, SUMS, TALLY, march
from saltus.status import Status

LARGEST_SLOPE = 1e150  # of a gap: kernels divide by squares (build/start.py)
SPAN_SIZE, WORST_SIZE, COUNTS_SIZE = SPAN.size, WORST.size, COUNTS.size


class _Loop(NamedTuple):
    """Tuned numbers of this file."""

    never: int = 1 << 60  # tally.keep: nothing is kept
    stuck_after: int = 100_000  # attempts within which a run must advance by this share of its span
    stuck_share: float = 1e-9
    on_grid: float = 1e-9  # relative distance up to which a span counts as a whole number of steps
    # half an ulp: what leads from a number to the next one in one addition (Rump, Zimmermann, Boldo, Melquiond 2009)
    half: float = 2.0**-53 * (1.0 + 2.0**-52)
    tiny: float = 5e-324


LOOP_TUNED = _Loop()


@functools.cache
def run_many_signature(depth: int):
    """Return the signature of the loop for schemes of a depth."""
    return I(MODEL, scheme_handle(depth), CONTROL, CLOCK.kind, TALLY.kind, MARCHING_RECORD, LANE, RUNS, I, I)


@unit(*(run_many_signature(depth) for depth in range(4)), entry=True)
def run_many(model, scheme, control, clock, tally, buffers, lane, runs, last, budget):
    """Make runs, from the one that the cursor of the lane names up to `last`, this one excluded.

    model / scheme / control / buffers of the march: those of the lane
    in      last: the run at which to stop; budget: attempted steps after which to return
    in/out  lane: where the loop stands; runs: how each run ended and what was reduced
    """
    lane, runs, kept = handle(lane), handle(runs), handle(buffers.nodes)
    state, record, sums, events = buffers.state, buffers.record, buffers.sums, buffers.events
    cursor, rules, left = lane.cursor, runs.rules, budget
    while cursor.run < last and left > 0:
        k = cursor.run
        status = 0
        if cursor.begun == 0:
            status = begin_run(model, control.memory, clock, tally, state, buffers.state_new, record, kept, lane, runs)
            left -= 1  # a run that ends at its start is work as well
        if status == 0:
            if cursor.entered == 0:
                enter_segment(clock, tally, lane, runs)
            before = tally.accepted + tally.rejected
            allowed = cursor.looked + LOOP_TUNED.stuck_after - before
            allowed = left if left < allowed else allowed
            if rules.max_steps >= 0 and rules.max_steps - before < allowed:
                allowed = rules.max_steps - before
            if rules.single == 1:
                allowed = 1
            accepted = tally.accepted
            status = march(model, scheme, control, clock, tally, buffers, allowed)
            left -= 1 + tally.accepted + tally.rejected - before
            watch_events(model, runs, lane.numbers, k, tally, events, clock.last_time, state)
            if rules.single == 1 and tally.accepted > accepted:
                watch_step(model, runs, lane.numbers, k, clock.last_time, state)
            drain_nodes(model, tally, kept, runs, k)
            if status == Status.OK:
                watch_strobe(model, runs, lane.numbers, k, clock.last_time, state)
                cursor.segment += 1
                cursor.entered = 0
                status = Status.OK if cursor.segment == cursor.segments else Status.CHUNK
            elif status == Status.CHUNK or status == Status.FULL:
                status = judge_pace(clock, tally, lane, runs)
        if status != Status.CHUNK:
            end_run(model, clock, tally, state, record, sums, lane, runs, status)
    return Status.OK if cursor.run >= last else Status.CHUNK


@unit(I(MODEL, A, CLOCK.kind, TALLY.kind, STATE, STATE, RECORD, NODES, LANE_HANDLE, RUNS_HANDLE))
def begin_run(model, remembered, clock, tally, state, state_new, record, nodes, lane, runs):
    """Write the numbers and the start of the run at hand, and clear what the run before left; returns a Status."""
    cursor, rules, k = lane.cursor, runs.rules, lane.cursor.run
    nq, nv, count = model.layout.nq, model.layout.nv, runs.places.shape[0]
    for i in range(rules.reset):
        lane.numbers[i] = runs.base[i]
    for i in range(count):
        lane.numbers[runs.places[i]] = runs.values[k * count + i]
    start = row_of(runs.starts, k, nq + nv)
    # a chain goes on where the run before ended, if it ended well
    if rules.chain > 0 and k % rules.chain > 0 and runs.status[k - 1] == 0:
        copy(lane.reached, start)
    clear(lane.state)
    clear(lane.state_new)
    clear(lane.sums)
    clear(remembered)
    clear_marks(tally)
    clear(clock)
    clear(record.header)
    clear_marks(record.counters)
    clear(record.v_minus)
    clear(record.impulse)
    clear(record.dissipation)
    clear(record.inside)
    copy(head(start, nq), state.q)
    copy(tail(start, nq), state.v)
    span, worst = SPAN(row_of(runs.spans, k, SPAN_SIZE)), WORST(row_of(runs.worst, k, WORST_SIZE))
    clear(worst)
    begin_watches(model, runs, k)
    nodes.t[0] = span.begin
    clock.last_time = span.begin
    tally.keep, tally.extra, tally.count, tally.last = LOOP_TUNED.never, 1, 1, 1
    cursor.segment, cursor.entered, cursor.begun, cursor.looked = 0, 0, 1, 0
    cursor.segments = rules.keep if rules.keep > 1 else 1 + runs.breaks.shape[0]
    lane.paced[0] = span.begin
    if rules.energy == 1:
        worst.kinetic_0 = kinetic(model, span.begin, state, lane)
    return check_start(model, span.begin, state, lane, runs.allowed)


@unit(I(CLOCK.kind, TALLY.kind, LANE_HANDLE, RUNS_HANDLE))
def enter_segment(clock, tally, lane, runs):
    """Put the clock at the start of the next segment, as `solve` does at a break."""
    cursor, rules = lane.cursor, runs.rules
    span, j, count = SPAN(row_of(runs.spans, cursor.run, SPAN_SIZE)), cursor.segment, cursor.segments
    left, right, given = span.begin, span.end, runs.breaks.shape[0] > 0
    if j > 0:
        left = runs.breaks[j - 1] if given else span.begin + span.period * (rules.skip + j)
    if j + 1 < count:
        right = runs.breaks[j] if given else span.begin + span.period * (rules.skip + j + 1)
    begin = left if j == 0 else left + (LOOP_TUNED.half * abs(left) + LOOP_TUNED.tiny)
    end = right if j + 1 == count else right - (LOOP_TUNED.half * abs(right) + LOOP_TUNED.tiny)
    ratio = (right - left) / span.h
    entire = math.floor(ratio + 0.5)
    steps, size = math.ceil(ratio), span.h
    if entire >= 1 and abs(ratio - entire) <= LOOP_TUNED.on_grid * entire:
        steps, size = entire, (right - left) / entire
    clock.begin, clock.end, clock.h, clock.now = begin, end, smaller(size, right - left), begin
    clock.name_begin, clock.name_end, clock.now_low = left, right, 0.0
    tally.step, tally.steps = 0, steps if rules.counted == 1 else -1
    clear(lane.work)
    clear_marks(lane.whole_work)
    cursor.entered = 1
    return 0


@unit(I(CLOCK.kind, TALLY.kind, LANE_HANDLE, RUNS_HANDLE))
def judge_pace(clock, tally, lane, runs):
    """Return how a run ends that is not done; CHUNK where it goes on."""
    cursor, rules = lane.cursor, runs.rules
    attempts = tally.accepted + tally.rejected
    if rules.max_steps >= 0 and attempts >= rules.max_steps:
        return Status.STEPS_SPENT
    if attempts - cursor.looked >= LOOP_TUNED.stuck_after:
        cursor.looked = attempts
        advance = clock.now - lane.paced[0]
        lane.paced[0] = clock.now
        if tally.steps < 0 and advance < LOOP_TUNED.stuck_share * (clock.end - clock.begin):
            return Status.CHATTERING
    return Status.CHUNK


@unit(I(MODEL, F, STATE, LANE_HANDLE, F))
def check_start(model, t, state, lane, allowed):
    """Return START_REFUSED where the start violates a contact or a joint by more than is allowed, else OK."""
    layout = model.layout
    nc, nj, nr = layout.nc, layout.nj, layout.nr
    if nc + nj == 0:
        return Status.OK
    model.gap(t, state.q, model.par, lane.g)
    for c in range(nc):
        if lane.g[c] < -allowed:
            return Status.START_REFUSED
    model.kinematics(t, state.q, model.par, lane.W, lane.w)
    for c in range(nc):
        row, slope = layout[layout.contact_row + c], 0.0
        for i in range(layout[layout.W_ptr + row], layout[layout.W_ptr + row + 1]):
            slope = larger(slope, abs(lane.W[i]))
        if (slope > LARGEST_SLOPE and slope < math.inf) or (slope > 0.0 and slope < 1.0 / LARGEST_SLOPE):
            return Status.START_REFUSED
    speed = 1.0
    for i in range(layout.nv):
        speed = larger(speed, abs(state.v[i]))
    for j in range(nj):
        row = nr - nj + j
        if abs(lane.g[nc + j]) > allowed or abs(row_dot(layout, lane.W, row, state.v) + lane.w[row]) > allowed * speed:
            return Status.START_REFUSED
    return Status.OK


@unit(F(MODEL, F, STATE, LANE_HANDLE))
def kinetic(model, t, state, lane):
    """Return the kinetic energy of a state [J]."""
    model.mass(t, state.q, model.par, lane.mass)
    return 0.5 * quadratic(model.layout, lane.mass, state.v)


@unit(I(MODEL, TALLY.kind, NODES, RUNS_HANDLE, I))
def drain_nodes(model, tally, nodes, runs, k):
    """Enter what the march kept at a few nodes (strikes at the start, a terminal event), and empty the tables."""
    layout, worst = model.layout, WORST(row_of(runs.worst, k, WORST_SIZE))
    nv, nr, nc = layout.nv, layout.nr, layout.nc
    for n in range(1, tally.count):
        ledger, extra = row_of(nodes.ledger, n, MARCH.ledger), row_of(nodes.extra, n, MARCH.extras)
        worst.end_violation, worst.work = larger(worst.end_violation, ledger[0]), worst.work + ledger[1]
        worst.error = larger(worst.error, extra[0])
        enter_found(worst, tail(extra, RECORDED.extra_inside))
    for n in range(tally.reactions):
        reaction = row_of(nodes.reactions, n, 2 + nv + nr + nc)
        worst.residual = larger(worst.residual, reaction[1])
        for c in range(nc):
            worst.dissipation += reaction[2 + nv + nr + c]
    tally.count, tally.reactions, tally.dense, tally.events = 1, 0, 0, 0
    return 0


@unit(I(WORST.kind, A), small=True)
def enter_found(worst, found):
    """Enter what was found inside of steps."""
    worst.defect = larger(worst.defect, found[FOUND.defect])
    worst.violation = larger(worst.violation, found[FOUND.violation])
    worst.excess = larger(worst.excess, found[FOUND.excess])
    worst.load = larger(worst.load, found[FOUND.load])
    return 0


@unit(I(MODEL, CLOCK.kind, TALLY.kind, STATE, RECORD, SUMS.kind, LANE_HANDLE, RUNS_HANDLE, I))
def end_run(model, clock, tally, state, record, sums, lane, runs, status):
    """Write how a run ended, and go to the next one."""
    k, layout, total = lane.cursor.run, model.layout, sums.total
    nq, nv = layout.nq, layout.nv
    worst, counts = WORST(row_of(runs.worst, k, WORST_SIZE)), COUNTS(row_of(runs.counts, k, COUNTS_SIZE))
    worst.end_violation, worst.work = larger(worst.end_violation, total.violation), worst.work + total.work
    worst.error = larger(worst.error, total.error)
    enter_found(worst, sums.inside)
    if total.reacted == 1.0:
        worst.residual = larger(worst.residual, total.residual)
        for c in range(layout.nc):
            worst.dissipation += sums.dissipation[c]
    counts.steps, counts.rejected = tally.accepted, tally.rejected
    counts.force_calls, counts.jacobian_calls = record.counters.force_calls, record.counters.jacobian_calls
    counts.iterations, counts.sweeps = record.counters.iterations, record.counters.sweeps
    end = row_of(runs.ends, k, 1 + nq + nv)
    end[0] = clock.last_time
    copy(state.q, head(tail(end, 1), nq))
    copy(state.v, tail(end, 1 + nq))
    copy(tail(end, 1), lane.reached)
    if runs.rules.energy == 1:
        worst.kinetic = kinetic(model, clock.last_time, state, lane)
    runs.status[k] = status
    lane.cursor.run += 1
    lane.cursor.begun = 0
    return 0
