"""A run in progress: its buffers, the loop around the march, what a checkpoint holds, and the solution at its end."""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from saltus.compile import seam
from saltus.compile.failure import failures_raised
from saltus.compile.types import COUNTERS, Control, State
from saltus.control.interface import steps_of
from saltus.errors import (
    ChatteringError,
    CheckpointWarning,
    FileError,
    FileFormatError,
    FunctionError,
    LimitError,
    RunError,
    SettingError,
)
from saltus.event import EVENT_INTEGERS
from saltus.io.checkpoint import PROBE, Checkpoint, probe
from saltus.io.snapshot import check_snapshot
from saltus.memory.layout import Layout
from saltus.memory.record import COLUMN, EVENT, KIND_NAMES
from saltus.problem import Problem
from saltus.reaction.look import FOUND
from saltus.results.from_march import build_solution
from saltus.results.names import velocity_names
from saltus.results.records import Asked
from saltus.run import march as marching
from saltus.run.chatter import cornered, described, restless
from saltus.run.march import Marching, Tables, march, march_signature, reaction_width
from saltus.run.progress import Progress
from saltus.schemes.traits import traits_of
from saltus.solution import Solution
from saltus.status import Status

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel
    from saltus.schemes.plan import SchemePlan


class _Run(NamedTuple):
    """Tuned numbers of this file."""

    shortest_chunk: float = 0.01  # with checkpoints in quick succession
    chunk_seconds: float = 0.2  # how long the march may run before Python looks for Ctrl-C and shows progress
    first_rows: int = 1024
    most_rows: int = 20_000_000  # reserved at once; more is reserved by doubling
    growth: int = 4  # of the number of steps from one chunk to the next, so that a run is looked at early
    # attempts before the first look at the pace of a run, twice as many before the next one, and so on
    look_after: int = 200
    # attempts that a run would still need at its present pace, for a sliding mode to be looked for
    suspicious: int = 2000
    most_suspects: int = 16  # velocities that are looked at, because each of them takes some evaluations of the force
    certain: int = 2  # looks in a row that find a sliding mode
    # attempts within which a run must advance by this share of its span
    stuck_after: int = 100_000
    stuck_share: float = 1e-9
    rounding: float = 1e-17  # mean error that the rounding of an impact leaves behind, for each impact that follows
    on_grid: float = 1e-9  # relative distance up to which a span counts as a whole number of steps
    most_plans: int = 256


RUN = _Run()

ERRORS = {
    Status.STEPS_SPENT: LimitError,
    Status.MEMORY_SPENT: LimitError,
    Status.EVENTS_CROWDED: ChatteringError,
    Status.CHATTERING: ChatteringError,
    Status.SLIDING_MODE: ChatteringError,
    Status.CORNERED: ChatteringError,
}
TELLING = (*ERRORS, Status.STEP_TOO_SMALL)  # ends that the last steps explain
SLIDING_SHARES = (1e-10, 1e-8, 1e-6)  # of the span: steps for which a sliding mode is looked for


@dataclasses.dataclass(frozen=True)
class Settings:
    """The checked arguments of a run; `keep` and `times` say what is kept, see `solve`."""

    scheme: Any
    h: float
    control: Any
    breaks: list[float]
    keep: int
    times: np.ndarray


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a run may spend: attempted steps (None: any number) and bytes of its tables."""

    steps: int | None
    memory: float


@dataclasses.dataclass(frozen=True)
class Segment:
    """A piece of the span without breaks inside; begin and end lie on its own side of them; steps < 0: free."""

    left: float
    right: float
    begin: float
    end: float
    h: float
    steps: int


def segments_of(t_span, settings: Settings) -> list[Segment]:
    h = settings.h
    marks = [t_span[0], *settings.breaks, t_span[1]]
    segments = []
    for k, (left, right) in enumerate(itertools.pairwise(marks)):
        begin = left if k == 0 else np.nextafter(left, np.inf)
        end = right if k == len(marks) - 2 else np.nextafter(right, -np.inf)
        ratio = (right - left) / h
        whole = round(ratio)
        if whole >= 1 and abs(ratio - whole) <= RUN.on_grid * max(1.0, whole):
            steps, size = whole, (right - left) / whole
        else:
            steps, size = int(np.ceil(ratio)), float(h)
        counted = steps_of(settings.control) == "counted" and not traits_of(settings.scheme).adaptive
        steps = steps if counted else -1
        segments.append(Segment(left, right, begin, end, min(size, right - left), steps))
    return segments


_PLANS: dict[tuple, SchemePlan] = {}  # plans that are ready, by scheme, layout and control


def ready_plan(scheme, layout: Layout, decide) -> SchemePlan:
    """Return the plan of a scheme for a system, with all units compiled; the same one for the same scheme again."""
    try:
        key = scheme, layout.tobytes(), decide
        known = _PLANS.get(key)
    except TypeError:  # a setting that cannot be compared
        key = known = None
    if known is not None:
        return known
    plan = scheme.plan(layout)
    seam.ready_all([*plan.units(), (march, march_signature(plan.depth)), (decide, decide.unit_signatures[0])])
    if key is not None:
        if len(_PLANS) >= RUN.most_plans:
            _PLANS.clear()
        _PLANS[key] = plan
    return plan


class _Pace:
    """How fast a run advances, looked at between two entries of the march."""

    def __init__(self, run: Run):
        self.run, self.found, self.wait = run, 0, RUN.look_after
        self.last = self.mark = self._now()

    def _now(self) -> tuple[int, int, float]:
        run = self.run
        return run.attempts, int(run.tally.accepted), float(run.clock.now)

    def look(self) -> Status:
        """Return how a run ends that will not reach its end; OK where it goes on. Counted grids always do."""
        run, now = self.run, self._now()
        if run.tally.steps >= 0:
            return Status.OK
        if now[0] - self.mark[0] >= RUN.stuck_after:
            span = float(run.clock.end - run.clock.begin)
            if now[2] - self.mark[2] < RUN.stuck_share * span:
                return Status.CHATTERING
            self.mark = now
        made, accepted, advance = (new - old for new, old in zip(now, self.last, strict=True))
        if made < self.wait:
            return Status.OK
        self.last = now
        if made * (float(run.clock.end) - now[2]) > RUN.suspicious * advance:
            from saltus.run.explain import slides  # here, because most runs advance

            h = advance / accepted if accepted and advance > 0.0 else float(run.clock.h)
            seen = restless(run.tables.kept(run.tally).v, RUN.most_suspects) or range(
                min(len(run.state.v), RUN.most_suspects)
            )
            corner = run.in_a_corner()
            found = corner or slides(run.model, now[2], h, run.state, seen) is not None
            self.found, self.wait = (self.found + 1, RUN.look_after) if found else (0, 2 * self.wait)
            if self.found == RUN.certain and corner:
                return Status.CORNERED
            if self.found == RUN.certain:
                run.sliding_h = h
                return Status.SLIDING_MODE
        else:
            self.found = 0
        return Status.OK


class Run:
    """The buffers of one run and the loop around the march."""

    def __init__(
        self, problem: Problem, model: CompiledModel, settings: Settings, segments: list[Segment],
        file: Checkpoint | None, limits: Limits, rows: int = RUN.most_rows,
    ):  # fmt: skip
        """Make the buffers; rows: most rows of a table that are reserved at once."""
        control, keep = settings.control, settings.keep
        self.limits = limits
        self.asked: Asked | None = None  # how to make the run once more
        self.sliding_h: float | None = None  # size of the steps along a sliding mode, once one was seen
        plan = ready_plan(settings.scheme, model.layout, control.kernel)
        self.tol = None if plan.promise is None else plan.promise.tol
        self.units = model.pinned_for(self.tol)
        self.located = plan.promise is not None
        plan = plan.over(model, problem.t_span, problem.q0)
        self.problem, self.model, self.plan, self.segments, self.file = problem, model, plan, segments, file
        self.given = settings.scheme  # the plan may have been made for an equal one
        self.stage = 0  # twice the number of the segment, plus one when it is under way: one number, so never half set
        self.python = file is not None and model.calls_python
        nq, nv, nc = len(problem.q0), len(problem.v0), len(problem.system.contacts)
        nr = int(model.layout.nr)
        self.scheme = plan.pinned
        self.decider = Control(control.kernel, control.settings(), np.zeros(max(1, control.kernel_memory)))
        self.state_room, self.state_new_room = plan.state(model.layout), plan.state(model.layout)
        self.state_room.part("q")[:], self.state_room.part("v")[:] = problem.q0, problem.v0
        self.record_room, self.work = plan.record(model.layout), plan.work.allocate()
        self.decision = np.zeros(1)
        if keep > 0:
            rows = min(sum(max(0, s.steps) for s in segments) // keep + 4, rows)
        else:
            rows = RUN.first_rows
        extra = keep != 1 or plan.dense > 0 or steps_of(control) != "counted"
        # a table that is reserved at once must not pass the limit either
        rows = min(rows, int(limits.memory // (8 * (nq + nv + 16 + reaction_width(nv, nr, nc)))))
        self.tables = Tables((nq, nv, nr, nc), max(rows, RUN.first_rows), plan.events, plan.dense, extra=extra)
        self.clock = marching.CLOCK(np.zeros(marching.CLOCK.size))
        self.tally = marching.TALLY(np.zeros(marching.TALLY.size, dtype=np.int64))
        self.sums = marching.SUMS.plan({"inside": FOUND.all, "nr": nr, "nc": nc, "nv": nv}).allocate()
        self.times = settings.times
        self.tally.keep, self.tally.extra = keep, int(extra)
        self.status, self.error = Status.OK, None
        self._keep_start()

    def in_a_corner(self) -> bool:
        """Tell whether a contact strikes and is released in turn where its gap has a corner."""
        if self.tol is None:
            return False
        rows = self.tables.events[: int(self.tally.events) * COLUMN.all].reshape(-1, COLUMN.all)
        fastest = float(np.abs(self.tables.kept(self.tally).v).max(initial=0.0))
        return cornered(rows, fastest, self.tol)

    @property
    def state(self) -> State:
        """Where the run stands."""
        return self.state_room.record

    def _keep_start(self) -> None:
        """The start is the first node, whatever is kept later; its left limit is v0 itself."""
        nodes = self.tables.nodes
        nodes.t[0] = self.clock.last_time = self.problem.t_span[0]
        nodes.q[: len(self.problem.q0)], nodes.v[: len(self.problem.v0)] = self.problem.q0, self.problem.v0
        nodes.ledger[: marching.MARCH.ledger] = 0.0
        nodes.extra[: marching.MARCH.extras] = 0.0
        self.tally.count = self.tally.last = 1
        while self.tally.next_time < len(self.times) and self.times[self.tally.next_time] <= self.problem.t_span[0]:
            self.tally.next_time += 1

    def march(self, progress: Progress, *, fresh: bool = False) -> None:
        """March through the segments that are left; a failure leaves `status` and `error` behind.

        fresh: a first checkpoint says where the run begins; FileError where it cannot be written. Ctrl-C ends the run
        from there on, wherever it comes.
        """
        unwritable = None
        try:
            if fresh and self.file is not None:
                unwritable = self._begin_file(self.file)
            if unwritable is None:
                self._march_segments(progress)
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
        except Exception as error:
            self.status, self.error = Status.MODEL_FAILED, error
        if unwritable is not None:
            raise unwritable
        if self.file is not None:
            try:
                self._write_checkpoint(self.file)
            except KeyboardInterrupt:  # the run has ended already: what is there is worth the time of a second one
                self._write_checkpoint(self.file)

    def _begin_file(self, file: Checkpoint) -> FileError | None:
        """Write where the run begins; returns why it cannot be written."""
        try:
            file.write(self.snapshot())
        except FileError as error:
            return error
        return None

    def _march_segments(self, progress: Progress) -> None:
        with progress:
            while self.stage < 2 * len(self.segments) and self.status is Status.OK:
                if self.stage % 2 == 0:
                    self._enter(self.segments[self.stage // 2])
                    self.stage += 1
                self.status = self._march_segment(progress)
                if self.status is Status.OK:
                    self.stage += 1

    def _enter(self, segment: Segment) -> None:
        times = segment.begin, segment.end, segment.h, segment.begin, segment.left, segment.right
        self.clock[: len(times)] = times
        self.clock.now_low = 0.0
        self.tally.step, self.tally.steps = 0, segment.steps
        self.work.clear()  # nothing that a scheme kept for one segment is valid in the next

    def _buffers(self) -> Marching:
        return Marching(
            state=self.state_room,
            state_new=self.state_new_room,
            record=self.record_room,
            nodes=self.tables.nodes,
            events=self.tables.events,
            dense=self.tables.dense,
            times=self.times,
            sums=self.sums,
            decision=self.decision,
            room=self.work,
        )

    def _march_segment(self, progress: Progress) -> Status:
        if self.tally.ended:
            return Status.TERMINATED  # the checkpoint of a run that a terminal event ended
        budget, chunk, pace = 256, RUN.chunk_seconds, _Pace(self)
        if self.file is not None:
            chunk = min(chunk, max(self.file.every, RUN.shortest_chunk))
        # an interruption may have come between the last step of a segment and the note that it is done
        while self.clock.last_time != self.clock.name_end:
            began, accepted = time.perf_counter(), self.tally.accepted
            if self.limits.steps is not None:
                left = self.limits.steps - self.attempts
                if left <= 0:
                    return Status.STEPS_SPENT
                budget = min(budget, left)
            try:
                with failures_raised(called=self.model.calls_python):
                    status = march(
                        self.units, self.scheme, self.decider, self.clock, self.tally, self._buffers(), budget
                    )
                status = Status(status)
            except BaseException:
                # the march changes places of the two states with every step and had no chance to put them back
                if (self.tally.accepted - accepted) % 2 == 1:
                    self.state_room.floats[:] = self.state_new_room.floats
                if self.python:
                    self.work.clear()  # the step was left in its middle: what a scheme keeps may be half made
                raise
            spent = time.perf_counter() - began
            if status is Status.FULL:
                if self.tables.bytes_when_grown(self.tally) > self.limits.memory:
                    return Status.MEMORY_SPENT
                self.tables.grow(self.tally)
            elif status is Status.CHUNK:
                budget = int(np.clip(budget * chunk / max(spent, 1e-6), 1, RUN.growth * budget))
                ended = pace.look()
                if ended is not Status.OK:
                    return ended
                progress.show(float(self.clock.now))
                if self.file is not None and self.file.due:
                    self._write_checkpoint(self.file)
            else:
                return status
        return Status.OK

    @property
    def attempts(self) -> int:
        """Steps that were made so far, rejected ones included."""
        return int(self.tally.accepted + self.tally.rejected)

    # ---- checkpoints

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return everything that the run needs to go on, by name."""
        tables = {f"tables/{name}": part for name, part in self.tables.kept(self.tally)._asdict().items()}
        tables["tables/events"] = self.tables.events[: self.tally.events * COLUMN.all]
        tables["tables/dense"] = self.tables.dense[: self.tally.dense]
        made = {**self._evolving(), **tables, "march/times": self.times, "march/stage": np.array(self.stage)}
        if self.python:
            made[PROBE] = self._probe()
        return made

    def restore(self, path: str | os.PathLike, arrays: dict[str, np.ndarray]) -> None:
        """Put the run where a snapshot was taken; what is in it is checked first."""
        evolving = self._evolving()
        try:
            check_snapshot(self, arrays, evolving)
        except ValueError as error:
            raise FileFormatError(f"{path} does not hold such a run: {error}; start anew") from error
        for name, array in evolving.items():
            array[:] = arrays[name]
        self.stage = int(arrays["march/stage"])
        if self.python and (PROBE not in arrays or self._probe().tobytes() != arrays[PROBE].tobytes()):
            raise SettingError(
                f"{path} belongs to another problem: a function of the system has other values at "
                f"t = {self.clock.last_time:g}; resume with what was given to solve"
            )
        room = -1
        while room != (room := sum(len(table) for table in self._tables().values())):
            self.tables.grow(self.tally)
        for name, table in self._tables().items():
            stored = arrays[f"tables/{name}"].ravel()
            table[: len(stored)] = stored

    def _evolving(self) -> dict[str, np.ndarray]:
        state = {f"state/{name}": getattr(self.state, name) for name in ("q", "v", "memory")}
        return {
            **state, "march/clock": self.clock, "march/tally": self.tally, "march/sums": self.sums.floats,
            "march/counters": self.record_room.part("counters"), "march/control": self.decider.memory,
            "march/work": self.work.floats, "march/iwork": self.work.integers,
        }  # fmt: skip

    def _tables(self) -> dict[str, np.ndarray]:
        return {**self.tables.nodes._asdict(), "events": self.tables.events, "dense": self.tables.dense}

    def _probe(self) -> np.ndarray:
        return probe(self.model, float(self.clock.last_time), self.state.q, self.state.v)

    def _write_checkpoint(self, file: Checkpoint) -> None:
        """Write a checkpoint; a full disk must not end a run that can go on without."""
        try:
            file.write(self.snapshot())
        except FileError as error:
            t = self.clock.last_time
            warnings.warn(f"no checkpoint at t = {t:g}: {error}", CheckpointWarning, stacklevel=2)

    # ---- the end

    def finish(self) -> Solution:
        """Return the solution, or raise the error that ended the run with the solution inside."""
        difference = self._difference()
        if self.status in (Status.OK, Status.TERMINATED, Status.INTERRUPTED):
            said = (
                (self._terminal_sentence() or self.status.sentence) + self._grown_sentence() + self._unseen_sentence()
            )
            if difference is not None:
                raise difference
            return self._solution(self.status, said)
        from saltus.run.explain import explain, slides  # here, because most runs end well

        t, h = self._step_now()
        if self.status is Status.STEP_TOO_SMALL and slides(self.model, t, h, self.state) is not None:
            self.status = Status.SLIDING_MODE
        if self.status is Status.EVENTS_CROWDED and self._switched():
            # a branch that is left as soon as it is entered; how far the motion is from it follows no step
            for share in SLIDING_SHARES:
                short = share * (self.problem.t_span[1] - self.problem.t_span[0])
                if slides(self.model, t, short, self.state) is not None:
                    self.status, self.sliding_h = Status.SLIDING_MODE, short
                    break
        status, h = self.status, self.sliding_h or h
        message, cause = explain(self.model, self.plan, status, self.error, t, h, self.state)
        if difference is not None and not isinstance(cause, FunctionError):
            message, cause = f"{difference}\n{message}", difference
        if status in TELLING and status is not Status.SLIDING_MODE:
            message = f"{message}. {self._last_steps()}".strip()
        raise ERRORS.get(status, RunError)(message, self._solution(status, message)) from cause

    def _difference(self) -> FunctionError | None:
        """Return where the run's own states show that a function is not what was compiled of it (build/compare.py)."""
        if self.model.comparison.looked_along(self.model) or self.status is Status.INTERRUPTED:
            return None
        nodes = self.tables.kept(self.tally)
        try:
            self.model.comparison.along(self.model, nodes.t[:, 0], nodes.q, nodes.v)
        except FunctionError as error:
            return error
        return None

    def _switched(self) -> bool:
        """Return whether the last event was the end of a branch."""
        last = self.tally.events - 1
        return last >= 0 and self.tables.events[last * COLUMN.all + COLUMN.kind] == EVENT.switch

    def _last_steps(self) -> str:
        """Return what the last steps did."""
        nodes, names = self.tables.kept(self.tally), self.model.name_array
        rows = self.tables.events[: self.tally.events * COLUMN.all].reshape(-1, COLUMN.all)
        events = [
            (row[COLUMN.t], str(names[int(row[COLUMN.contact])]), KIND_NAMES[int(row[COLUMN.kind])]) for row in rows
        ]
        speeds = velocity_names(self.model.system, nodes.q.shape[1], nodes.v.shape[1])
        return described(nodes.t[:, 0], nodes.v, events, speeds)

    def _unseen_sentence(self) -> str:
        """Return which functions a scheme that locates events could not look into."""
        names = self.model.opaque_names
        if not names or not self.located:
            return ""
        return f" Kinks not seen: {', '.join(names)} cannot be traced; a small max_step= is the remedy."

    def _terminal_sentence(self) -> str:
        """Return how a terminal event ended the run, with its name; nothing when none did."""
        if self.status is not Status.TERMINATED:
            return ""
        events = self.tables.events[: self.tally.events * COLUMN.all].reshape(-1, COLUMN.all)
        layout, names = self.model.layout, self.model.event_names
        for row in events[::-1]:
            k = int(row[COLUMN.contact]) - int(layout.nc)
            if row[COLUMN.kind] == EVENT.user and k >= 0 and layout[layout.event_table + EVENT_INTEGERS * k + 1]:
                return f"{Status.TERMINATED.sentence[:-1]}: {names[k]!r} at t = {row[COLUMN.t]:.9g} s."
        return ""

    def _grown_sentence(self) -> str:
        """Return by how much rounding may exceed what the scheme promises; nothing while it does not.

        Every impact rounds the energy. Where restitution forgets it, that is all; where nothing does, the times of all
        impacts that follow are wrong, and the error grows with the square of their number.
        """
        tol, most = getattr(self.given, "promised", None), float(self.tally.events)
        if tol is None or RUN.rounding * most * most <= tol:
            return ""
        events = self.tables.events[: self.tally.events * COLUMN.all].reshape(-1, COLUMN.all)
        struck = events[events[:, COLUMN.kind] == EVENT.impact, COLUMN.contact].astype(int)
        error = 0.0
        for contact, count in zip(*np.unique(struck, return_counts=True), strict=True):
            forgets = 1.0 - float(self.model.units.e[contact])
            error += RUN.rounding * count * (count if forgets * count <= 1.0 else 1.0 / forgets)
        if not error > tol:
            return ""
        return (
            f" Rounding over {len(struck)} impacts may have added up to {error / tol:.1g} times the error that tol = "
            f"{tol:g} promises."
        )

    def _step_now(self) -> tuple[float, float]:
        """Return time and size of the step that was being made."""
        t, h = float(self.clock.now), float(self.clock.h)
        if self.tally.steps >= 0:
            t = float(self.clock.begin + self.tally.step * h)
        return t, min(h, float(self.clock.end) - t)

    def _keep_end(self) -> None:
        """Keep the last finished step, with what was summed since the node before."""
        self.tables.grow(self.tally)
        keep = seam.interpreted(marching.keep_node)
        keep(self.model.layout, self.tally, self.tables.nodes, self.clock.last_time, self.state, self.sums.record)
        self.tally.last = 1

    def _solution(self, status: Status, message: str) -> Solution:
        tally, tables = self.tally, self.tables
        counters = COUNTERS(self.record_room.part("counters"))
        counts = {
            "f": int(counters.force_calls),
            "jac": int(counters.jacobian_calls),
            "steps": int(tally.accepted),
            "rejected": int(tally.rejected),
            "iterations": int(counters.iterations),
            "contact_sweeps": int(counters.sweeps),
        }
        if status is not Status.OK and tally.last == 0:
            self._keep_end()  # what the thinning left out at the end of a broken run
        nodes = tables.kept(tally)
        events = tables.events[: tally.events * COLUMN.all].reshape(-1, COLUMN.all)
        made = build_solution(
            self.model, self.given, nodes, events, tables.dense[: tally.dense].copy(), counts, status,
            message, self.problem, self.asked,
        )  # fmt: skip
        if tally.keep == marching.MARCH.keep_times:
            made = made.at_times(self.times)
        return made
