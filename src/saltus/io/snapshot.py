"""What a checkpoint holds, checked against the run that it belongs to, before compiled code sees it.

Compiled code believes its counters, and a checkpoint may come from anywhere. So every number that says how much, how
far or which one must fit the tables beside it; ValueError names the one that does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.compile.workspace import Room, RoomPlan
from saltus.event import EVENT_INTEGERS
from saltus.io.words import LARGEST_WHOLE
from saltus.lasting.index_set import INDEX
from saltus.memory.record import COLUMN, EVENT, KIND_NAMES, RECORDED
from saltus.run import march as marching
from saltus.schemes.plan import SchemePlan

if TYPE_CHECKING:
    from saltus.run.run import Run, Segment

NEAR_GRID = 1e-6  # of a step: how far the times of a counted grid are from their places


def check_snapshot(run: Run, arrays: dict[str, np.ndarray], evolving: dict[str, np.ndarray]) -> None:
    """Refuse a snapshot that was not taken from such a run."""
    for name, array in evolving.items():
        _check_array(arrays, name, array.dtype.kind, array.shape)
    _check_array(arrays, "march/stage", "i", ())
    _check_array(arrays, "march/times", "f", run.times.shape)
    _check_tables(run, arrays)
    _check_tally(run, arrays)
    _check_clock(run, arrays)
    _check_nodes(run, arrays)
    _check_state(run, arrays)


def _check_array(arrays: dict[str, np.ndarray], name: str, kind: str, shape: tuple[int, ...]) -> None:
    if name not in arrays:
        raise ValueError(f"{name!r} is missing")
    found = arrays[name]
    if found.dtype.kind != kind or found.shape != shape:
        raise ValueError(f"{name!r} has {found.size} numbers ({found.dtype}), but the run needs {shape} of them")


def _check_tables(run: Run, arrays: dict[str, np.ndarray]) -> None:
    """Every table has the rows that the tally counts."""
    tally = marching.TALLY(arrays["march/tally"])
    counts = [tally.count, tally.reactions, tally.events, tally.dense]
    if min(counts) < 0 or max(counts) > LARGEST_WHOLE or counts[0] < 1:
        raise ValueError(f"a table cannot have {min(counts)} or {max(counts)} rows")
    rows, reactions, events, dense = (int(count) for count in counts)
    names = run.tables.nodes._fields
    for name, columns in zip(names, run.tables.columns, strict=False):
        _check_array(arrays, f"tables/{name}", "f", (rows, columns))
    _check_array(arrays, f"tables/{names[-1]}", "f", (reactions, run.tables.width))
    _check_array(arrays, "tables/events", "f", (events * COLUMN.all,))
    _check_array(arrays, "tables/dense", "f", (dense,))


def _check_tally(run: Run, arrays: dict[str, np.ndarray]) -> None:
    """The counters are those that so many steps leave behind."""
    tally, stage = marching.TALLY(arrays["march/tally"]), int(arrays["march/stage"])
    if not 0 <= stage <= 2 * len(run.segments):
        raise ValueError(f"the run has {len(run.segments)} segments, but is in number {stage // 2}")
    step, count, keep = int(tally.step), int(tally.count), int(tally.keep)
    accepted, rejected, since = int(tally.accepted), int(tally.rejected), int(tally.since)
    counted = run.segments[0].steps >= 0
    for found, wanted, name in (
        (tally.keep, run.tally.keep, "what is kept"),
        (tally.extra, run.tally.extra, "what is kept beside"),
    ):
        if found != wanted:
            raise ValueError(f"{name} is {found}, but must be {wanted}")
    if (
        not 0 <= accepted <= LARGEST_WHOLE
        or not 0 <= rejected <= (0 if counted else LARGEST_WHOLE)
        or not 0 <= since <= accepted
    ):
        raise ValueError(f"{accepted} steps, {rejected} rejected ones and {since} since the last node are no counts")
    before = sum(max(segment.steps, 0) for segment in run.segments[: stage // 2])
    if stage % 2 == 1:
        steps = run.segments[stage // 2].steps
        if tally.steps != steps or not 0 <= step <= (steps if counted else accepted):
            raise ValueError(f"step {step} of {tally.steps} is none of this segment, which has {steps}")
        if stage == 1 and step != accepted:
            raise ValueError(f"step {step} of the first segment cannot be number {accepted} of the run")
        before += step
    if counted and accepted != before:
        raise ValueError(f"{accepted} steps are counted where {before} were made")
    if keep > 0 and not (count - 1 <= accepted <= (count - 1) * keep + since and since < keep):
        raise ValueError(f"{count} nodes do not fit {accepted} steps of which every {keep}. is kept")
    if keep < 0 and count - 1 > 2 * accepted:
        raise ValueError(f"{count} nodes do not fit {accepted} steps")
    for name, most in (("last", 1), ("ended", 1), ("short", 0 if counted else marching.MARCH.most_short + 1)):
        if not 0 <= getattr(tally, name) <= most:
            found = getattr(tally, name)
            raise ValueError(f"counter {name!r} of the march is {found}, but must lie between 0 and {most}")
    if (tally.last == 1) != (since == 0):
        raise ValueError(f"the last node cannot be kept {since} steps ago")


def _check_clock(run: Run, arrays: dict[str, np.ndarray]) -> None:
    """The clock stands in the segment that is under way, at the time that the steps have reached."""
    clock, tally = marching.CLOCK(arrays["march/clock"]), marching.TALLY(arrays["march/tally"])
    stage = int(arrays["march/stage"])
    if not np.all(np.isfinite(clock)):
        raise ValueError("the clock holds something that is not a finite number")
    last, times, t_span = float(clock.last_time), run.times, run.problem.t_span
    looked_for = np.searchsorted(times, last, side="right") if run.tally.keep == marching.MARCH.keep_times else 0
    if tally.next_time != looked_for:
        raise ValueError(f"the next time to keep is number {tally.next_time}, but must be {looked_for}")
    if stage % 2 == 0:
        reached = run.segments[stage // 2 - 1].right if stage else t_span[0]
        if last != reached:
            raise ValueError(f"the run stands at t = {last}, but its segment ends at t = {reached}")
        return
    segment = run.segments[stage // 2]
    for found, wanted in zip(
        (clock.begin, clock.end, clock.name_begin, clock.name_end),
        (segment.begin, segment.end, segment.left, segment.right),
        strict=True,
    ):
        if found != wanted:
            raise ValueError(f"the segment goes from t = {segment.left} to {segment.right}, not to {found}")
    _check_now(clock, tally, segment)


def _check_now(clock: Any, tally: Any, segment: Segment) -> None:
    now, last, h = float(clock.now), float(clock.last_time), float(clock.h)
    counted = segment.steps >= 0
    slack = 4.0 * RECORDED.smallest * (abs(segment.left) + abs(segment.right)) + (NEAR_GRID * h if counted else 0.0)
    if h < 0.0 or (counted and h != segment.h):
        raise ValueError(f"the step is {h}, but must be {segment.h}")
    if not segment.left - slack <= now <= segment.right + slack or abs(now - last) > slack:
        raise ValueError(f"the run stands at t = {now} and at t = {last} at once")
    if abs(clock.now_low) > slack:
        raise ValueError(f"the time lacks {clock.now_low}, more than rounding")
    if counted:
        step = int(tally.step)
        reached = segment.right if step == segment.steps else segment.left + step * h
        if abs(last - reached) > slack:
            raise ValueError(f"step {step} ends at t = {reached}, not at {last}")


def _check_nodes(run: Run, arrays: dict[str, np.ndarray]) -> None:
    """Nodes follow each other in time and refer to what is there; the last one is the state, where it was kept."""
    tally, clock = marching.TALLY(arrays["march/tally"]), marching.CLOCK(arrays["march/clock"])
    t, q, v = (arrays[f"tables/{name}"] for name in ("t", "q", "v"))
    last = clock.last_time
    if not all(np.all(np.isfinite(table)) for table in (t, q, v)):
        raise ValueError("a node holds something that is not a finite number")
    if np.any(np.diff(t[:, 0]) < 0.0) or t[0, 0] != run.problem.t_span[0] or t[-1, 0] > last:
        raise ValueError("the times of the nodes do not increase from the start to now")
    if tally.last == 1:
        same = (
            t[-1, 0] == last and np.array_equal(q[-1], arrays["state/q"]) and np.array_equal(v[-1], arrays["state/v"])
        )
        if not same:
            raise ValueError("the last node is not the state of the run")
    reacted = arrays["tables/reactions"][:, 0]
    if not _are_whole(reacted, len(t) - 1) or np.any(np.diff(reacted) <= 0.0):
        raise ValueError("reactions belong to nodes that are not there")
    extra = arrays["tables/extra"]
    if extra.shape[1]:
        offsets, rejections = extra[:, 2], extra[:, 4]
        if not _are_whole(offsets, tally.dense) or np.any(np.diff(offsets) < 0.0):
            raise ValueError("nodes refer to dense output that is not there")
        if not _are_whole(rejections, tally.rejected) or np.any(np.diff(rejections) < 0.0):
            raise ValueError("rejected steps are counted backwards")
        if not np.all(np.isfinite(extra[:, 1])) or not _are_whole(extra[:, 3], 1):
            raise ValueError("a node has a degree that is none")
    _check_events(run, arrays["tables/events"].reshape(-1, COLUMN.all), bool(tally.ended))


def _check_events(run: Run, events: np.ndarray, ended: bool) -> None:
    names, layout = run.model.name_array, run.model.layout
    contacts, kinds, counts = (events[:, k] for k in (COLUMN.contact, COLUMN.kind, COLUMN.impacts))
    if not _are_whole(contacts, len(names) - 1) or not _are_whole(kinds, len(KIND_NAMES) - 1):
        raise ValueError("an event has a contact or a kind that is not there")
    if not np.all(np.isfinite(events[:, 0])) or not _are_whole(counts, LARGEST_WHOLE):
        raise ValueError("an event has a time or a count that is none")
    own = contacts[kinds == EVENT.user].astype(int) - int(layout.nc)
    terminal = [k for k in own if k >= 0 and layout[layout.event_table + EVENT_INTEGERS * k + 1]]
    if ended and not terminal:
        raise ValueError("no terminal event has ended the run")


def _check_state(run: Run, arrays: dict[str, np.ndarray]) -> None:
    """The state is finite, and what it remembers of the contacts is something that a contact can do."""
    for name in ("state/q", "state/v", "state/memory", "march/sums"):
        if not np.all(np.isfinite(arrays[name])):
            raise ValueError(f"{name!r} holds something that is not a finite number")
    if np.any(np.isnan(arrays["march/control"])):
        raise ValueError("'march/control' holds something that is not a number")
    sums = Room(run.sums.plan, arrays["march/sums"], run.sums.integers).record
    if np.any(arrays["march/counters"] < 0) or sums.total.reacted not in (0.0, 1.0):
        raise ValueError("'march/counters' or 'march/sums' holds a count that is none")
    plan: Any = run.plan
    while isinstance(plan.inner, SchemePlan):
        plan = plan.inner
    step = getattr(plan.step, "py_func", plan.step).__module__
    if step == "saltus.flight.flight":
        _check_flight(run, plan, arrays)
    elif step == "saltus.schemes.tdg.step":
        _check_galerkin(plan, arrays["state/memory"])


def _check_galerkin(plan: SchemePlan, memory: np.ndarray) -> None:
    remembered = _room(plan.memory, memory)
    numbers = remembered.numbers
    if numbers.valid not in (0.0, 1.0) or not _are_whole(np.array(numbers.intervals), LARGEST_WHOLE):
        raise ValueError("'state/memory' counts intervals that were not made")
    _check_index(remembered.index)


def _room(plan: RoomPlan, floats: np.ndarray, integers: np.ndarray | None = None) -> Any:
    """Return numbers of a file by the names of a workspace."""
    return Room(plan, floats, np.zeros(0, dtype=np.int64) if integers is None else integers).record


def _check_flight(run: Run, plan: SchemePlan, arrays: dict[str, np.ndarray]) -> None:
    work, memory = (
        _room(plan.work, arrays["march/work"], arrays["march/iwork"]),
        _room(plan.memory, arrays["state/memory"]),
    )
    numbers = memory.numbers
    flags = numbers.valid, numbers.changed, numbers.unknown, numbers.struck, numbers.told
    if any(flag not in (0.0, 1.0) for flag in flags):
        raise ValueError("'state/memory' is neither valid nor not")
    counted = np.array([numbers.flights, numbers.in_turn])
    if numbers.longest < 0.0 or numbers.spent < 0.0 or not _are_whole(counted, LARGEST_WHOLE):
        raise ValueError("'state/memory' counts flights that were not made")
    _check_index(memory.index)
    phase = plan.inner.phase
    if getattr(phase, "py_func", phase).__module__ != "saltus.schemes.hp_tdg.phase":
        return
    from saltus.flight.frame import FLIGHT_SETTINGS
    from saltus.schemes.hp_tdg import numbers as own

    # degrees and terms are places in tables
    known, top = (
        work.phase.record.numbers,
        plan.settings[int(FLIGHT_SETTINGS(plan.settings).phase_at) + own.SETTING.top],
    )
    for name, largest in (
        ("next_degree", top), ("degree_now", top), ("looked_degree", top), ("series_n", top + 1), ("stiff", 1),
    ):  # fmt: skip
        value = getattr(known, name)
        if not _are_whole(np.array(value), largest):
            raise ValueError(f"{name} of the intervals is {value}, but must lie between 0 and {largest:g}")


def _check_index(index: np.ndarray) -> None:
    if not _are_whole(index - INDEX.open, INDEX.impulsive - INDEX.open):
        raise ValueError("'state/memory' says of a contact what none can do")


def _are_whole(values: np.ndarray, last: float) -> bool:
    """Whether all values are whole numbers from 0 to the last one."""
    return bool(np.all((values >= 0.0) & (values <= last) & (values == np.floor(values))))
