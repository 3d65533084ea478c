"""Making a prepared sweep: chunks, store, progress."""

from __future__ import annotations

import os
from typing import Any

from saltus.ensemble.engine import Reduced
from saltus.errors import SettingError
from saltus.run.progress import Bar
from saltus.status import Status
from saltus.sweep.asked import Prepared
from saltus.sweep.executors import Serial
from saltus.sweep.job import Chunk, Done, Tick
from saltus.sweep.store import Store, chunks_of

CHUNKS, MOST_RUNS = 64, 20_000  # so many chunks at least, of so many runs at most, where no size is given


def made_sweep(
    prepared: Prepared, executor: Any, store: str | os.PathLike | None, chunk: int | None, progress: bool | None
) -> Reduced:
    """Make all runs that a store does not hold, and return what is left of all."""
    executor = Serial() if executor is None else executor
    if not hasattr(executor, "make") or isinstance(executor, type):
        raise SettingError(f"executor is {executor!r}: give Serial(), Threads(2), Processes(2) or Dask(client)")
    runs, chain = prepared.job.runs, prepared.job.engine.plan.chain
    whole = isinstance(executor, Serial) and store is None
    size = _size(runs, chain, chunk, whole)
    held = None if store is None else Store(store, prepared.identity, size)
    chunks = chunks_of(runs, size if held is None else held.chunk)
    made: dict[Chunk, Reduced] = {}
    for one in chunks if held is not None else ():
        known = held.get(one) if held is not None else None
        if known is not None:
            made[one] = known
    todo = [one for one in chunks if one not in made]
    before = sum(one[1] - one[0] for one in made)

    def done(one: Chunk, reduced: Reduced) -> None:
        if held is not None:
            held.put(one, reduced)
        made[one] = reduced

    with Bar(progress) as bar:
        count = before

        def tick(more: int) -> None:
            nonlocal count
            count += more
            bar.move(min(1.0, count / runs), f"{count} of {runs} runs")

        if todo and prepared.chain_by_hand:
            _follow(prepared, todo, done, tick)
        elif todo:
            executor.make(prepared.job, todo, done, tick if bar.wanted or not isinstance(executor, Serial) else None)
    reduced = Reduced.joined([made[one] for one in chunks])
    prepared.look(reduced)
    return reduced


def _follow(prepared: Prepared, chains: list[Chunk], done: Done, tick: Tick) -> None:
    """Make runs that follow each other one by one, because their settings hang on where the run before ended."""
    job, lane = prepared.job, prepared.job.engine.lane()
    for first, last in chains:
        parts: list[Reduced] = []
        for k in range(first, last):
            start = None
            if parts and parts[-1].status[0] == Status.OK:
                start = parts[-1].ends[:, 1:]
            parts.append(job.engine.make_runs(lane, prepared.rows_of(slice(k, k + 1), start)))
            tick(1)
        done((first, last), Reduced.joined(parts))


def _size(runs: int, chain: int, chunk: int | None, whole: bool) -> int:
    """Return the runs of a chunk; a chain is never cut."""
    if chain:
        return chain
    if chunk is not None:
        if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
            raise SettingError(f"chunk is {chunk!r}: it must be a number of runs, at least 1")
        return chunk
    return max(1, runs) if whole else max(1, min(MOST_RUNS, -(-runs // CHUNKS)))
