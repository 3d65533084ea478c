"""A job: an engine and rows, whoever makes the runs; and what becomes of a run that kills its process."""

from __future__ import annotations

import collections
import dataclasses
import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from saltus.ensemble.blueprint import blueprint
from saltus.ensemble.engine import Engine, Reduced, Rows
from saltus.ensemble.lane_engine import LaneEngine
from saltus.errors import SettingError
from saltus.status import Status

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel

Chunk = tuple[int, int]  # runs first to last, this one excluded
Done = Callable[[Chunk, Reduced], None]
Tick = Callable[[int], None]  # told how many more runs were made; raises to end the job


@dataclasses.dataclass(frozen=True, eq=False)
class Job:
    """Runs to make.

    Attributes
    ----------
    model
        That of the engine, for executors that send it elsewhere.
    runs
        How many there are.
    part
        Rows of runs first to last, this one excluded; where a function of the user makes the models, it is called here.
    """

    engine: Engine
    model: CompiledModel
    runs: int
    part: Callable[[int, int], Rows]

    @functools.cached_property
    def blueprint(self) -> bytes:
        """The engine as bytes, for other processes."""
        if isinstance(self.engine, LaneEngine):
            raise SettingError("runs in lanes stay in this process: take Serial() or Threads(), or MoreauJean()")
        return blueprint(self.engine, self.model)

    @property
    def identity(self) -> tuple[bytes, ...]:
        """What the results of the engine hang on."""
        if isinstance(self.engine, LaneEngine):
            return blueprint(self.engine, self.model), repr(self.engine.lanes).encode()
        return (self.blueprint,)

    def lost(self, run: int, status: Status) -> Reduced:
        """Return what is known of a run that took its process with it, or never ended."""
        made = Reduced.room(1, self.engine.state, self.engine.plan.width)
        made.starts[0] = self.part(run, run + 1).starts[0]
        made.out[0], made.worst[0] = np.nan, np.nan
        made.status[0] = status
        return made


class Executor(Protocol):
    """Whoever makes runs: chunks in any order, each handed to `done` once."""

    def make(self, job: Job, chunks: Sequence[Chunk], done: Done, tick: Tick) -> None:
        """Make all chunks."""
        ...


class Pieces:
    """Chunks that may have to be cut: pieces to do, and results that wait for the rest of their chunk."""

    def __init__(self, chunks: Sequence[Chunk], done: Done):
        self._todo = collections.deque((chunk, chunk) for chunk in chunks)
        self._parts: dict[Chunk, list[tuple[int, Reduced]]] = {chunk: [] for chunk in chunks}
        self._done, self._lock = done, threading.Lock()

    def take(self) -> tuple[Chunk, Chunk] | None:
        """Return the next piece and the chunk that it belongs to."""
        with self._lock:
            return self._todo.popleft() if self._todo else None

    def give(self, piece: Chunk, chunk: Chunk, made: Reduced) -> None:
        """Hand in the result of a piece."""
        with self._lock:
            parts = self._parts[chunk]
            parts.append((piece[0], made))
            whole = sum(len(part) for _, part in parts) == chunk[1] - chunk[0]
            if whole:
                del self._parts[chunk]
                parts.sort(key=lambda part: part[0])
                self._done(chunk, Reduced.joined([part for _, part in parts]))

    def cut(self, job: Job, piece: Chunk, chunk: Chunk, status: Status, suspect: int | None = None) -> None:
        """Halve a piece that killed its process, or name the run where it is one; suspect: a run known to be it."""
        first, last = piece
        if last - first == 1 or suspect is not None:
            run = first if suspect is None else suspect
            self.give((run, run + 1), chunk, job.lost(run, status))
            rest = [(first, run), (run + 1, last)]
        else:
            rest = [(first, (first + last) // 2), ((first + last) // 2, last)]
        with self._lock:
            self._todo.extendleft((one, chunk) for one in reversed(rest) if one[0] < one[1])

    @property
    def left(self) -> bool:
        """Whether some chunk is not done."""
        with self._lock:
            return bool(self._parts)
