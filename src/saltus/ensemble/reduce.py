"""Reducers: what is kept of a run while it is made, in place of its tables.

A reducer watches impacts of a contact, events of the user, sections of the strobe or the ends of steps (REDUCED), and
does one thing with them (ACTION). Its numbers stand in the row of the run; how many they are is known beforehand, so
that a run takes the same memory however many impacts it has:

    section      count, then a ring of rows: of the last `room` of them
    statistics   see STATISTICS
    passage      time of the first one, NaN for none, then q and v there
    extremes     smallest and largest value of a coordinate, and their times
    own          memory of a function of the user
"""

from __future__ import annotations

import math
from typing import NamedTuple

from saltus.compile.seam import head, larger, row_of, tail, unit
from saltus.compile.types import MODEL, REDUCE, STATE, A, F, I
from saltus.compile.workspace import Numbers
from saltus.ensemble.records import RUNS_HANDLE, SPAN, WATCH
from saltus.memory.record import COLUMN, EVENT
from saltus.memory.vectors import clear, copy
from saltus.run.march import TALLY


class _Watched(NamedTuple):
    """What a reducer looks at."""

    strobe: int = 0
    impacts: int = 1
    events: int = 2
    steps: int = 3


class _Action(NamedTuple):
    """What a reducer does."""

    section: int = 0
    statistics: int = 1
    passage: int = 2
    extremes: int = 3
    own: int = 4


REDUCED, ACTION = _Watched(), _Action()
# of the impacts of a contact: their number, accumulations counted by what they stand for; rows of events; sum and
# largest of the normal impulses [N s] and of the approach speeds [m/s]; energy that was lost is not in the rows
STATISTICS = Numbers("impacts rows impulse_sum impulse_max speed_sum speed_max t_first t_last")
EXTREMES = Numbers("low high t_low t_high")
WATCH_SIZE, SPAN_SIZE, STATISTICS_SIZE, EXTREMES_SIZE = WATCH.size, SPAN.size, STATISTICS.size, EXTREMES.size


@unit(I(MODEL, RUNS_HANDLE, I))
def begin_watches(model, runs, k):
    """Clear the row of a run."""
    watches, count = runs.watches, runs.watches.shape[0] // WATCH_SIZE
    width = runs.out.shape[0] // runs.status.shape[0]
    out = row_of(runs.out, k, width)
    clear(out)
    nq, nv = model.layout.nq, model.layout.nv
    for n in range(count):
        watch = WATCH(row_of(watches, n, WATCH_SIZE))
        mine = tail(out, watch.at)
        if watch.action == ACTION.statistics:
            found = STATISTICS(head(mine, STATISTICS_SIZE))
            found.t_first, found.t_last = math.nan, math.nan
        elif watch.action == ACTION.passage:
            for i in range(1 + nq + nv):
                mine[i] = math.nan
        elif watch.action == ACTION.extremes:
            found = EXTREMES(head(mine, EXTREMES_SIZE))
            found.low, found.high, found.t_low, found.t_high = math.inf, -math.inf, math.nan, math.nan
        elif watch.action == ACTION.section:
            for i in range(watch.room * section_width(nq, nv)):
                mine[1 + i] = math.nan
        elif watch.action == ACTION.own:
            for i in range(watch.room):
                mine[i] = runs.base[runs.rules.own_at + watch.argument + i]
    return 0


@unit(I(I, I), small=True)
def section_width(nq, nv):
    """Return the numbers of a row of a section: those of the event, q and v."""
    return COLUMN.all + nq + nv


@unit(I(MODEL, RUNS_HANDLE, A, I, TALLY.kind, A, F, STATE))
def watch_events(model, runs, numbers, k, tally, events, t, state):
    """Show the events of some steps to all reducers; t, state: where the last of these steps ended."""
    if tally.events == 0:
        return 0
    count, nc = runs.watches.shape[0] // WATCH_SIZE, model.layout.nc
    span = SPAN(row_of(runs.spans, k, SPAN_SIZE))
    for j in range(tally.events):
        row = row_of(events, j, COLUMN.all)
        if row[COLUMN.t] < span.after:
            continue
        kind, which = row[COLUMN.kind], int(row[COLUMN.contact])
        struck = kind == EVENT.impact or kind == EVENT.accumulation
        for n in range(count):
            watch = WATCH(row_of(runs.watches, n, WATCH_SIZE))
            seen = watch.kind == REDUCED.impacts and struck and (watch.which < 0 or watch.which == which)
            seen = seen or (watch.kind == REDUCED.events and kind == EVENT.user and which - nc == watch.which)
            if seen:
                act(model, runs, numbers, k, n, row, t, state)
    return 0


@unit(I(MODEL, RUNS_HANDLE, A, I, F, STATE))
def watch_step(model, runs, numbers, k, t, state):
    """Show the end of a step to the reducers that watch steps."""
    count = runs.watches.shape[0] // WATCH_SIZE
    if t < SPAN(row_of(runs.spans, k, SPAN_SIZE)).after:
        return 0
    for n in range(count):
        if WATCH(row_of(runs.watches, n, WATCH_SIZE)).kind == REDUCED.steps:
            act(model, runs, numbers, k, n, head(runs.nothing, COLUMN.all), t, state)
    return 0


@unit(I(MODEL, RUNS_HANDLE, A, I, F, STATE))
def watch_strobe(model, runs, numbers, k, t, state):
    """Show the end of a period to the reducers that watch the strobe."""
    count = runs.watches.shape[0] // WATCH_SIZE
    if runs.rules.keep == 0:
        return 0
    for n in range(count):
        if WATCH(row_of(runs.watches, n, WATCH_SIZE)).kind == REDUCED.strobe:
            act(model, runs, numbers, k, n, head(runs.nothing, COLUMN.all), t, state)
    return 0


@unit(I(MODEL, RUNS_HANDLE, A, I, I, A, F, STATE))
def act(model, runs, numbers, k, n, row, t, state):
    """Let one reducer do what it does; row: of the event, zeros where there is none; t, state: end of the step."""
    watch = WATCH(row_of(runs.watches, n, WATCH_SIZE))
    nq, nv = model.layout.nq, model.layout.nv
    width = runs.out.shape[0] // runs.status.shape[0]
    mine = tail(row_of(runs.out, k, width), watch.at)
    happened = watch.kind == REDUCED.impacts or watch.kind == REDUCED.events
    when = row[COLUMN.t] if happened else t
    here = when == t  # an event inside of a step has no state of its own
    if watch.action == ACTION.section:
        size = section_width(nq, nv)
        place = row_of(tail(mine, 1), int(mine[0]) % watch.room, size)
        mine[0] += 1.0
        copy(row, head(place, COLUMN.all))
        place[COLUMN.t] = when
        put_state(1 if here else 0, state, tail(place, COLUMN.all), nq, nv)
    elif watch.action == ACTION.statistics:
        found = STATISTICS(head(mine, STATISTICS_SIZE))
        impulse, speed = abs(row[COLUMN.impulse]), abs(row[COLUMN.before])
        if found.rows == 0.0:
            found.t_first = when
        found.impacts += math.floor(row[COLUMN.impacts])  # whole ones, as the table of events has them
        found.rows += 1.0
        found.impulse_sum += impulse
        found.speed_sum += speed
        found.impulse_max, found.speed_max = larger(found.impulse_max, impulse), larger(found.speed_max, speed)
        found.t_last = when
    elif watch.action == ACTION.passage:
        if not mine[0] == mine[0]:  # none before: not a number
            mine[0] = when
            put_state(1 if here else 0, state, tail(mine, 1), nq, nv)
    elif watch.action == ACTION.extremes:
        found, x = EXTREMES(head(mine, EXTREMES_SIZE)), state.q[watch.argument]
        if x < found.low:
            found.low, found.t_low = x, t
        if x > found.high:
            found.high, found.t_high = x, t
    elif watch.action == ACTION.own:
        own = tail(numbers, runs.rules.own_at)
        return runs.own(n, when, state.q, state.v, own, row, head(mine, watch.room))
    return 0


@unit(I(I, STATE, A, I, I), small=True)
def put_state(here, state, out, nq, nv):
    """Write q and v, or that they are not known."""
    for i in range(nq):
        out[i] = state.q[i] if here == 1 else math.nan
    for i in range(nv):
        out[nq + i] = state.v[i] if here == 1 else math.nan
    return 0


@unit(REDUCE)
def no_reducer(number, t, q, v, par, row, memory):
    """Stand where the user has no reducer."""
    return 0
