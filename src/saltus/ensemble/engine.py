"""The engine of an ensemble: a model, a scheme and reducers, ready for runs; and how a chunk of runs is made.

An engine belongs to a process and to one structure of a model; whatever differs from run to run is in `Rows`. Threads
share the engine and have a lane each.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from saltus.compile import seam
from saltus.compile.failure import failures_raised
from saltus.compile.pin import pin
from saltus.compile.types import Model
from saltus.control.interface import steps_of
from saltus.ensemble.lane import Block, Lane
from saltus.ensemble.loop import run_many, run_many_signature
from saltus.ensemble.records import COUNTS, RULES, SPAN, WATCH, WORST, Runs
from saltus.ensemble.reduce import no_reducer
from saltus.memory.record import COLUMN
from saltus.run.run import ready_plan
from saltus.schemes.plan import SchemePlan
from saltus.schemes.traits import traits_of
from saltus.status import Status


class _Engines(NamedTuple):
    """Tuned numbers of this file."""

    chunk_seconds: float = 0.4  # of a processor, before Python looks for Ctrl-C and shows progress
    first_budget: int = 1024  # attempted steps before the first look
    growth: int = 8  # of the budget from one look to the next


ENGINES = _Engines()
Tick = Callable[[int], None]  # told how many runs of a chunk are done; may raise to end it


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is reduced of every run, and what all runs of an ensemble have in common.

    Attributes
    ----------
    watches
        One row of WATCH per reducer.
    width
        Numbers that the reducers of a run fill.
    own, own_numbers
        Unit of the user's reducers, and the numbers that it reads.
    skip, keep
        Periods before the first section of the strobe, and sections.
    chain
        Runs that follow each other; 0: none do.
    max_steps
        Attempts of a run; None: any number.
    energy
        Whether the energy ledger is asked for.
    breaks
        Times at which steps of every run end [s]; none with a strobe.
    """

    watches: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros((0, WATCH.size), dtype=np.int64))
    width: int = 0
    own: Any = no_reducer
    own_numbers: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))
    single: bool = False
    skip: int = 0
    keep: int = 0
    chain: int = 0
    max_steps: int | None = None
    energy: bool = False
    start_tolerance: float = 1e-8
    breaks: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))


@dataclasses.dataclass(frozen=True)
class Rows:
    """Runs of one engine: places of the block and what stands there, starts (q, v) and spans, one row per run."""

    places: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    spans: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)

    def part(self, first: int, last: int) -> Rows:
        """Return some of the runs."""
        return Rows(self.places, self.values[first:last], self.starts[first:last], self.spans[first:last])


@dataclasses.dataclass(frozen=True)
class Reduced:
    """What is left of runs, one row each.

    Attributes
    ----------
    status
        How they ended: numbers of `Status`.
    counts, worst
        COUNTS and WORST (records.py).
    starts, ends
        q and v where they began; t, q and v where they ended.
    out
        Numbers of the reducers.
    """

    status: np.ndarray
    counts: np.ndarray
    worst: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    out: np.ndarray

    @classmethod
    def room(cls, count: int, state: int, width: int) -> Reduced:
        """Return room for some runs."""
        return cls(
            np.full(count, int(Status.NOT_RUN), dtype=np.int64), np.zeros((count, COUNTS.size), dtype=np.int64),
            np.zeros((count, WORST.size)), np.zeros((count, state)), np.full((count, 1 + state), np.nan),
            np.zeros((count, width)),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: list[Reduced]) -> Reduced:
        """Return the runs of several chunks behind each other."""
        if len(parts) == 1:
            return parts[0]
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def __len__(self) -> int:
        return len(self.status)


class Engine:
    """A model with a scheme and reducers.

    Parameters
    ----------
    units
        Compiled units and numbers of the model; the numbers are those of its first run.
    scheme, control
        Settings, complete.
    plan
        What is reduced.
    calls_python
        Whether some function of the model is called as Python.
    keeps
        What must live as long as the engine: owners of machine code.
    pinned
        The units of the model as kernels take them, where that was made before; lanes put their numbers into it.
    """

    def __init__(
        self,
        units: Model,
        scheme: Any,
        control: Any,
        plan: Plan,
        *,
        calls_python: bool = False,
        keeps: list | None = None,
        pinned: Any = None,
    ):
        self.units, self.scheme, self.control, self.plan = units, scheme, control, plan
        self.calls_python, self.keeps = calls_python, keeps or []
        self.pinned = pin(units) if pinned is None else pinned
        self.steps: SchemePlan = ready_plan(scheme, units.layout, control.kernel)
        seam.ready(run_many, run_many_signature(self.steps.depth))
        if plan.own is no_reducer:
            seam.ready(no_reducer)
        settings, deciding = self.steps.settings, control.settings()
        self.block = Block.of(units, settings, deciding, len(plan.own_numbers))
        self.base = np.concatenate([units.par, units.e, units.mu, units.e_t, settings, deciding, plan.own_numbers])
        self.state = int(units.layout.nq + units.layout.nv)
        counted = steps_of(control) == "counted" and not traits_of(scheme).adaptive
        self.rules = RULES(
            RULES.filled(
                reset=self.block.reset, skip=plan.skip, keep=plan.keep, counted=int(counted), chain=plan.chain,
                max_steps=-1 if plan.max_steps is None else plan.max_steps, single=int(plan.single),
                energy=int(plan.energy), own_at=self.block.own.start,
            )
        )  # fmt: skip

    def lane(self) -> Lane:
        """Return buffers for one thread."""
        control = self.control
        return Lane(
            self.units, self.pinned, self.steps, control.kernel, control.kernel_memory, self.block, self.base
        )  # fmt: skip

    def make_runs(self, lane: Lane, rows: Rows, tick: Tick | None = None) -> Reduced:
        """Make all runs of some rows, one after the other."""
        made, count = Reduced.room(len(rows), self.state, self.plan.width), len(rows)
        made.starts[:] = rows.starts
        runs = Runs(
            self.base, rows.places, np.ascontiguousarray(rows.values).reshape(-1), made.starts.reshape(-1),
            np.ascontiguousarray(rows.spans).reshape(-1), self.plan.breaks, self.rules, self.plan.watches.reshape(-1),
            self.plan.own, made.status, made.counts.reshape(-1), made.ends.reshape(-1), made.worst.reshape(-1),
            made.out.reshape(-1), self.plan.start_tolerance, np.zeros(COLUMN.all),
        )  # fmt: skip
        cursor, budget, status = lane.cursor, ENGINES.first_budget, Status.CHUNK
        cursor[:] = 0
        lane.numbers[:] = self.base  # rows name only what differs from it; those before may have named other places
        go_on = run_many.bound(*lane.marching, lane.record, runs, count)
        while status != Status.OK:
            began = time.thread_time()
            try:
                if self.calls_python:
                    with failures_raised(called=True):
                        status = go_on(budget)
                else:
                    status = go_on(budget)
            except Exception:
                # a function of the user failed: this run ends with it, the others go on
                made.status[cursor.run] = Status.MODEL_FAILED
                cursor.run, cursor.begun = cursor.run + 1, 0
                status = Status.CHUNK if cursor.run < count else Status.OK
            spent = time.thread_time() - began
            budget = max(1, min(int(budget * ENGINES.chunk_seconds / max(spent, 1e-6)), ENGINES.growth * budget))
            if tick is not None:
                tick(int(cursor.run))
        return made


def span_rows(begin: Any, end: Any, h: Any, after: Any, period: Any, count: int) -> np.ndarray:
    """Return spans as the loop reads them, one row per run; each argument is a number or one per run."""
    made = np.empty((count, SPAN.size))
    for k, value in enumerate((begin, end, h, after, period)):
        made[:, k] = value
    return made
