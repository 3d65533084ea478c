"""solve(): check -> compile -> march -> Solution; resume() goes on from a checkpoint."""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from saltus import march as marching
from saltus.compile import seam
from saltus.compile.types import Control, Record, State
from saltus.compile.worker import ready_all
from saltus.control import Fixed
from saltus.errors import CheckpointWarning, FileError, FileFormatError, RunError, SettingError
from saltus.io.checkpoint import PROBE, Checkpoint, calls_python, check_same, fingerprint, probe, read_checkpoint
from saltus.io.format import clear_parts
from saltus.io.settings import describe, rebuild
from saltus.march import Tables, march, march_signature
from saltus.problem import Problem, check_span, vector
from saltus.progress import Progress
from saltus.record import (
    COUNTERS,
    EVENT_COLUMNS,
    FORCE_CALLS,
    HEADER_SIZE,
    ITERATIONS,
    JACOBIAN_CALLS,
    SWEEPS,
)
from saltus.replay import explain
from saltus.solution import Solution, build_solution
from saltus.start import check_start
from saltus.status import Status
from saltus.system import System

if TYPE_CHECKING:
    from saltus.model import CompiledModel

SHORTEST_CHUNK = 0.01  # with checkpoints in quick succession
CHUNK_SECONDS = 0.2  # how long the march may run before Python looks for Ctrl-C and shows progress
FIRST_ROWS = 1024
MOST_ROWS = 20_000_000  # reserved at once; more is reserved by doubling
FINEST = 1e-14  # smallest step relative to the times it leads through
ON_GRID = 1e-9  # relative distance up to which a span counts as a whole number of steps


def solve(
    system: System | Problem,
    t_span: tuple[float, float] | None = None,
    q0=None,
    v0=None,
    *,
    scheme: Any = None,
    h: float | None = None,
    rtol: float | Sequence[float] | None = None,
    atol: float | Sequence[float] | None = None,
    control=None,
    breaks: Sequence[float] = (),
    t_eval: Sequence[float] | None = None,
    save: Literal["steps", "events"] | int | Sequence[float] = "steps",
    start_tolerance: float = 1e-8,
    progress: bool | None = None,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_every: float = 60.0,
) -> Solution:
    """Integrate a system with contacts over a time span.

    Parameters
    ----------
    system
        A `System`, or a `Problem`, which brings t_span, q0 and v0 along.
    t_span
        Start and end [s].
    q0, v0
        Initial positions and velocities; a number for one degree of freedom.
    scheme
        Time-stepping scheme, e.g. MoreauJean(theta=0.5). Required.
    h
        Step size [s]. Required for schemes with a fixed step; the last step is shorter when h does not divide the span.
    rtol, atol
        Tolerances of schemes that estimate their error, scalars or one per coordinate: an estimate of 1 means an error
        of atol + rtol |q| (atol in units of q). None leaves those of the scheme.
    control
        What decides about steps; None keeps h.
    breaks
        Times at which the force jumps [s]: steps end there, and f is evaluated on both sides.
    t_eval
        Times to return [s]; short for save=times.
    save
        "steps" keeps every step, a number k every k-th, a list of times the states at these times, "events" only
        steps with events (memory stays flat).
    start_tolerance
        Penetration and joint error [m, m/s] that q0 and v0 may have.
    progress
        Show a progress bar; None shows one on a terminal when the run takes more than a second.
    checkpoint
        File that `resume` can go on from; written at the start, from time to time, and at the end, also when the run
        fails or is interrupted.
    checkpoint_every
        Wall time between two checkpoints [s]; longer where writing would take more than a tenth of it.

    Returns
    -------
    Solution
        With `status`, `success` and `message`; Ctrl-C returns what is there.

    Raises
    ------
    ModelError, SettingError
        When the model or an argument is wrong.
    RunError
        When a step fails; its `.solution` holds the run up to there.
    FileError
        When the checkpoint cannot be written at the start; later that is a CheckpointWarning and the run goes on.
    """
    problem = _problem(system, t_span, q0, v0)
    size = _check_settings(scheme, h, problem, control, breaks)
    if rtol is not None or atol is not None:
        if not hasattr(scheme, "with_tolerance"):
            raise SettingError(
                f"{scheme.name} estimates no error, so rtol and atol mean nothing to it: wrap it in StepDoubling(...)"
            )
        scheme = scheme.with_tolerance(rtol, atol)
    if control is not None and (isinstance(control, type) or not hasattr(control, "kernel_memory")):
        raise SettingError(f"control is {control!r}: it must be a control such as Fixed()")
    if not start_tolerance >= 0.0:
        raise SettingError(f"start_tolerance is {start_tolerance}: it must be a length of zero or more [m]")
    keep, times = _keeping(save, t_eval, problem.t_span)
    marks = _breaks(breaks, problem.t_span).tolist()
    settings = _Settings(scheme, size, control or Fixed(), marks, keep, times)
    file = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_every)
    run = _prepare(problem, settings, file, start_tolerance)
    if file is not None:
        file.write(run.snapshot())
    run.march(Progress(problem.t_span, progress))
    return run.finish()


def resume(
    path: str | os.PathLike,
    system: System | Problem,
    t_span: tuple[float, float] | None = None,
    q0=None,
    v0=None,
    *,
    scheme: Any = None,
    control=None,
    progress: bool | None = None,
    checkpoint_every: float = 60.0,
) -> Solution:
    """Go on with a run from its checkpoint, to the same result bit by bit as if it had never stopped.

    Parameters
    ----------
    path
        The checkpoint that `solve(..., checkpoint=path)` wrote; it goes on being written.
    system, t_span, q0, v0
        The same as for `solve`: functions are not in the file. With a `System`, the rest may be left out.
    scheme, control
        Only needed when their classes are not part of saltus.
    progress, checkpoint_every
        As for `solve`.

    Raises
    ------
    SettingError
        When the file belongs to another problem.
    FileError
        When the file cannot be read; FileFormatError when it is not a checkpoint of this version of saltus,
        DamagedFileError when it was changed or cut off.
    """
    stored = read_checkpoint(path)
    known, given = stored.about["problem"], stored.about["settings"]
    if isinstance(system, System):
        t_span, q0, v0 = (
            known[key] if value is None else value for key, value in (("t_span", t_span), ("q0", q0), ("v0", v0))
        )
    problem = _problem(system, t_span, q0, v0)
    settings = _Settings(
        _stored_setting(path, given, "scheme", scheme),
        given["h"],
        _stored_setting(path, given, "control", control),
        given["breaks"],
        given["keep"],
        stored.arrays["march/times"],
    )
    file = Checkpoint(path, checkpoint_every)
    run = _prepare(problem, settings, file, None)
    check_same(path, file.problem, known)
    run.restore(path, stored.arrays)
    clear_parts(path)
    run.march(Progress(problem.t_span, progress))
    return run.finish()


def _stored_setting(path, given: dict[str, Any], name: str, value) -> Any:
    """Return the scheme or control of a checkpoint, or the given one when it is the same."""
    if value is None:
        try:
            return rebuild(given[name])
        except SettingError as error:
            raise SettingError(f"{name} of {path} cannot be made again: {error} as {name}=...") from error
    if describe(value) != given[name]:
        raise SettingError(f"{name} is {value!r}, but {path} was made with {given[name]}: leave {name} out")
    return value


@dataclasses.dataclass(frozen=True)
class _Settings:
    """The checked arguments of a run; `keep` and `times` say what is kept, see `_keeping`."""

    scheme: Any
    h: float
    control: Any
    breaks: list[float]
    keep: int
    times: np.ndarray


def _prepare(problem: Problem, settings: _Settings, file: Checkpoint | None, start_tolerance: float | None) -> _Run:
    """Compile a problem and make its buffers; without a start_tolerance the start was checked before."""
    from saltus.model import compile_model  # here, because tracing is needed only now

    segments = _segments(problem.t_span, settings)
    model = compile_model(problem.system, problem.t_span[0], problem.q0, problem.v0)
    if file is not None:
        file.problem = fingerprint(problem, model)
        file.settings = {
            "scheme": describe(settings.scheme), "control": describe(settings.control), "h": settings.h,
            "breaks": settings.breaks, "keep": settings.keep,
        }  # fmt: skip
    if start_tolerance is not None:
        check_start(problem, model, start_tolerance)
    return _Run(problem, model, settings, segments, file)


def _problem(system, t_span, q0, v0) -> Problem:
    if isinstance(system, Problem):
        changes = {"t_span": t_span, "q0": q0, "v0": v0}
        return dataclasses.replace(system, **{k: v for k, v in changes.items() if v is not None})
    if not isinstance(system, System):
        raise SettingError(f"solve takes a System or a Problem first, not {system!r}")
    if t_span is None:
        raise SettingError("t_span is missing: give (start, end) in seconds")
    return Problem(system, check_span(t_span), vector(q0, "q0"), vector(v0, "v0"), name=system.name)


def _check_settings(scheme, h, problem: Problem, control, breaks) -> float:
    """Refuse a scheme or step size that cannot work; return the step size [s]."""
    if scheme is None or isinstance(scheme, type):
        if scheme is None:
            raise SettingError("scheme is missing: give scheme=MoreauJean() or another one")
        raise SettingError(f"scheme is the class {scheme.__name__}: give {scheme.__name__}() with brackets")
    if not hasattr(scheme, "plan"):
        raise SettingError(f"scheme is {scheme!r}: it must be a scheme such as MoreauJean()")
    if h is None:
        raise SettingError(f"h is missing: {scheme.name} needs a step size in seconds")
    span = problem.t_span[1] - problem.t_span[0]
    try:
        valid = not isinstance(h, bool) and float(h) > 0.0 and np.isfinite(float(h))
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise SettingError(f"h is {h!r}: a step size must be a positive number of seconds")
    if h > span * (1.0 + ON_GRID):
        raise SettingError(f"h is {h}, larger than the span of {span} s: take a smaller h")
    if h < FINEST * max(abs(t) for t in problem.t_span):
        raise SettingError(
            f"h is {h}: steps that small cannot be told apart at t = {problem.t_span[1]}; take a larger h"
        )
    if getattr(scheme, "fixed_step", False):
        _check_fixed_step(scheme, float(h), span, control, breaks)
    return float(h)


def _check_fixed_step(scheme, h: float, span: float, control, breaks) -> None:
    """Refuse what would change the step of a scheme that remembers the step before."""
    who = type(scheme).__name__
    if np.size(breaks):
        raise SettingError(f"{who} cannot change its step, so it takes no breaks: leave them out or use MoreauJean()")
    if control is not None and not isinstance(control, Fixed):
        raise SettingError(f"{who} cannot change its step: leave control out or use Fixed(), not {control!r}")
    ratio = span / h
    steps = max(1, round(ratio))
    if abs(ratio - steps) > ON_GRID * steps:
        raise SettingError(
            f"h = {h} does not divide the span of {span} s, and {who} cannot change its step: "
            f"take h = {span / steps:.12g}"
        )


def _keeping(save, t_eval, t_span) -> tuple[int, np.ndarray]:
    """Return the keep mode of the march and the times it looks for."""
    if t_eval is not None:
        if not isinstance(save, str) or save != "steps":
            raise SettingError("give t_eval or save, not both: t_eval is short for save=times")
        save = t_eval
    end = np.array([t_span[1]])
    if isinstance(save, str):
        if save not in ("steps", "events"):
            raise SettingError(f"save is {save!r}: it must be 'steps', 'events', a number or a list of times")
        return (1 if save == "steps" else marching.KEEP_EVENTS), end
    if isinstance(save, int | np.integer) and not isinstance(save, bool):
        if save < 1:
            raise SettingError(f"save is {save}: keeping every k-th step needs k >= 1")
        return int(save), end
    if save is None or np.ndim(save) == 0:
        raise SettingError(f"save is {save!r}: it must be 'steps', 'events', a number of steps or a list of times")
    times = vector(save, "t_eval").copy()
    if np.any(np.diff(times) <= 0.0):
        k = int(np.argmax(np.diff(times) <= 0.0))
        raise SettingError(
            f"t_eval[{k + 1}] = {times[k + 1]} is not larger than t_eval[{k}] = {times[k]}: sort the times"
        )
    if times[0] < t_span[0] or times[-1] > t_span[1]:
        raise SettingError(f"t_eval runs from {times[0]} to {times[-1]}, outside of t_span {t_span}")
    return marching.KEEP_TIMES, times


@dataclasses.dataclass(frozen=True)
class _Segment:
    """A piece of the span without breaks inside; begin and end lie on its own side of them; steps < 0: free."""

    left: float
    right: float
    begin: float
    end: float
    h: float
    steps: int


def _breaks(breaks, t_span) -> np.ndarray:
    inside = vector(breaks, "breaks") if np.size(breaks) else np.zeros(0)
    if np.any(np.diff(inside) <= 0.0) or np.any(inside <= t_span[0]) or np.any(inside >= t_span[1]):
        raise SettingError(f"breaks must increase and lie inside of t_span {t_span}, not {breaks}")
    return inside


def _segments(t_span, settings: _Settings) -> list[_Segment]:
    h = settings.h
    marks = [t_span[0], *settings.breaks, t_span[1]]
    segments = []
    for k, (left, right) in enumerate(itertools.pairwise(marks)):
        begin = left if k == 0 else np.nextafter(left, np.inf)
        end = right if k == len(marks) - 2 else np.nextafter(right, -np.inf)
        ratio = (right - left) / h
        whole = round(ratio)
        if whole >= 1 and abs(ratio - whole) <= ON_GRID * max(1.0, whole):
            steps, size = whole, (right - left) / whole
        else:
            steps, size = int(np.ceil(ratio)), float(h)
        steps = steps if isinstance(settings.control, Fixed) else -1
        segments.append(_Segment(left, right, begin, end, min(size, right - left), steps))
    return segments


class _Run:
    """The buffers of one run and the loop around the march."""

    def __init__(
        self, problem: Problem, model: CompiledModel, settings: _Settings, segments: list[_Segment],
        file: Checkpoint | None,
    ):  # fmt: skip
        plan, control, keep = settings.scheme.plan(model.layout), settings.control, settings.keep
        self.problem, self.model, self.plan, self.segments, self.file = problem, model, plan, segments, file
        self.stage = 0  # twice the number of the segment, plus one when it is under way: one number, so never half set
        self.python = file is not None and calls_python(model)
        nq, nv, nc = len(problem.q0), len(problem.v0), len(problem.system.contacts)
        nr = int(model.layout[4])
        decide = control.kernel
        ready_all([*plan.units(), (march, march_signature(plan.depth)), (decide, decide.unit_signatures[0])])
        self.scheme = plan.link()
        self.decider = Control(decide, control.settings(), np.zeros(max(1, control.kernel_memory)))
        self.state = State(problem.q0.copy(), problem.v0.copy(), np.zeros(plan.memory))
        self.state_new = State(np.zeros(nq), np.zeros(nv), np.zeros(plan.memory))
        self.record = Record(
            np.zeros(HEADER_SIZE), np.zeros(nv), np.zeros(nr), np.zeros(nc), np.zeros(plan.events * EVENT_COLUMNS),
            np.zeros(plan.dense), np.zeros(COUNTERS, dtype=np.int64),
        )  # fmt: skip
        rows = FIRST_ROWS
        if keep > 0:
            rows = min(sum(max(0, s.steps) for s in segments) // keep + 4, MOST_ROWS)
        extra = keep != 1 or plan.dense > 0 or not isinstance(control, Fixed)
        self.tables = Tables((nq, nv, nr, nc), max(rows, FIRST_ROWS), plan.events, plan.dense, extra=extra)
        self.clock, self.tally = np.zeros(marching.CLOCK), np.zeros(marching.TALLY, dtype=np.int64)
        self.sums = np.zeros(marching.sums_size(nv, nr, nc))
        self.work, self.iwork = np.zeros(1 + plan.work), np.zeros(max(1, plan.iwork), dtype=np.int64)
        self.times = settings.times
        self.tally[marching.KEEP], self.tally[marching.EXTRA] = keep, int(extra)
        self.status, self.error = Status.OK, None
        self._keep_start()

    def _keep_start(self) -> None:
        """The start is the first node, whatever is kept later; its left limit is v0 itself."""
        nodes = self.tables.nodes
        nodes.t[0] = self.clock[marching.LAST_TIME] = self.problem.t_span[0]
        nodes.q[: len(self.problem.q0)], nodes.v[: len(self.problem.v0)] = self.problem.q0, self.problem.v0
        nodes.ledger[: marching.LEDGER] = 0.0
        nodes.extra[: marching.EXTRAS] = 0.0
        self.tally[marching.COUNT] = self.tally[marching.LAST] = 1
        while (
            self.tally[marching.NEXT_TIME] < len(self.times)
            and self.times[self.tally[marching.NEXT_TIME]] <= self.problem.t_span[0]
        ):
            self.tally[marching.NEXT_TIME] += 1

    def march(self, progress: Progress) -> None:
        """March through the segments that are left; a failure leaves `status` and `error` behind."""
        try:
            with progress:
                while self.stage < 2 * len(self.segments) and self.status is Status.OK:
                    if self.stage % 2 == 0:
                        self._enter(self.segments[self.stage // 2])
                        self.stage += 1
                    self.status = self._march_segment(progress)
                    if self.status is Status.OK:
                        self.stage += 1
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
        except Exception as error:
            self.status, self.error = Status.MODEL_FAILED, error
        if self.file is not None:
            self._write_checkpoint(self.file)

    def _enter(self, segment: _Segment) -> None:
        times = segment.begin, segment.end, segment.h, segment.begin, segment.left, segment.right
        self.clock[: len(times)] = times
        self.tally[marching.STEP], self.tally[marching.STEPS] = 0, segment.steps
        self.work[1:] = 0.0  # nothing that a scheme kept for one segment is valid in the next

    def _march_segment(self, progress: Progress) -> Status:
        budget, chunk = 256, CHUNK_SECONDS
        if self.file is not None:
            chunk = min(chunk, max(self.file.every, SHORTEST_CHUNK))
        # an interruption may have come between the last step of a segment and the note that it is done
        while self.clock[marching.LAST_TIME] != self.clock[marching.NAME_END]:
            began, accepted = time.perf_counter(), self.tally[marching.ACCEPTED]
            try:
                status = Status(
                    march(
                        self.model.units, self.scheme, self.decider, self.clock, self.tally, self.state,
                        self.state_new, self.record, self.tables.nodes, self.tables.events, self.tables.dense,
                        self.times, self.sums, self.work, self.iwork, budget,
                    )
                )  # fmt: skip
            except BaseException:
                # the march changes places of the two states with every step and had no chance to put them back
                if (self.tally[marching.ACCEPTED] - accepted) % 2 == 1:
                    for kept, current in zip(self.state, self.state_new, strict=True):
                        kept[:] = current
                if self.python:
                    self.work[1:] = 0.0  # the step was left in its middle: what a scheme keeps may be half made
                raise
            spent = time.perf_counter() - began
            if status is Status.FULL:
                self.tables.grow(self.tally)
            elif status is Status.CHUNK:
                budget = int(np.clip(budget * chunk / max(spent, 1e-6), 1, 256 * budget))
                progress.show(float(self.clock[marching.NOW]))
                if self.file is not None and self.file.due:
                    self._write_checkpoint(self.file)
            else:
                return status
        return Status.OK

    # ---- checkpoints

    def snapshot(self) -> dict[str, np.ndarray]:
        """Return everything that the run needs to go on, by name."""
        tables = {f"tables/{name}": part for name, part in self.tables.kept(self.tally)._asdict().items()}
        tables["tables/events"] = self.tables.events[: self.tally[marching.EVENTS] * EVENT_COLUMNS]
        tables["tables/dense"] = self.tables.dense[: self.tally[marching.DENSE]]
        made = {**self._evolving(), **tables, "march/times": self.times, "march/stage": np.array(self.stage)}
        if self.python:
            made[PROBE] = self._probe()
        return made

    def restore(self, path: str | os.PathLike, arrays: dict[str, np.ndarray]) -> None:
        """Put the run where a snapshot was taken."""
        for name, array in self._evolving().items():
            if arrays[name].shape != array.shape:
                raise FileFormatError(
                    f"{path} has {arrays[name].size} numbers in {name!r}, but the run needs {array.size}: start anew"
                )
            array[:] = arrays[name]
        self.stage = int(arrays["march/stage"])
        if self.python and self._probe().tobytes() != arrays[PROBE].tobytes():
            raise SettingError(
                f"{path} belongs to another problem: a function of the system has other values at "
                f"t = {self.clock[marching.LAST_TIME]:g}; resume with what was given to solve"
            )
        room = -1
        while room != (room := sum(len(table) for table in self._tables().values())):
            self.tables.grow(self.tally)
        for name, table in self._tables().items():
            stored = arrays[f"tables/{name}"].ravel()
            table[: len(stored)] = stored

    def _evolving(self) -> dict[str, np.ndarray]:
        state = {f"state/{name}": part for name, part in self.state._asdict().items()}
        return {
            **state, "march/clock": self.clock, "march/tally": self.tally, "march/sums": self.sums,
            "march/counters": self.record.counters, "march/control": self.decider.memory, "march/work": self.work,
            "march/iwork": self.iwork,
        }  # fmt: skip

    def _tables(self) -> dict[str, np.ndarray]:
        return {**self.tables.nodes._asdict(), "events": self.tables.events, "dense": self.tables.dense}

    def _probe(self) -> np.ndarray:
        return probe(self.model, float(self.clock[marching.LAST_TIME]), self.state.q, self.state.v)

    def _write_checkpoint(self, file: Checkpoint) -> None:
        """Write a checkpoint; a full disk must not end a run that can go on without."""
        try:
            file.write(self.snapshot())
        except FileError as error:
            t = self.clock[marching.LAST_TIME]
            warnings.warn(f"no checkpoint at t = {t:g}: {error}", CheckpointWarning, stacklevel=2)

    # ---- the end

    def finish(self) -> Solution:
        """Return the solution, or raise the error that ended the run with the solution inside."""
        status = self.status
        solution = self._solution(status, status.sentence)
        if status in (Status.OK, Status.INTERRUPTED):
            return solution
        t, h = self._step_now()
        message, cause = explain(self.model, self.plan, status, self.error, t, h, self.state)
        raise RunError(message, self._solution(status, message)) from cause

    def _step_now(self) -> tuple[float, float]:
        """Return time and size of the step that was being made."""
        t, h = float(self.clock[marching.NOW]), float(self.clock[marching.H])
        if self.tally[marching.STEPS] >= 0:
            t = float(self.clock[marching.BEGIN] + self.tally[marching.STEP] * h)
        return t, min(h, float(self.clock[marching.END]) - t)

    def _keep_end(self) -> None:
        """Keep the last finished step, with what was summed since the node before."""
        self.tables.grow(self.tally)
        keep = seam.interpreted(marching.keep_node)
        keep(self.model.layout, self.tally, self.tables.nodes, self.clock[marching.LAST_TIME], self.state, self.sums)
        self.tally[marching.LAST] = 1

    def _solution(self, status: Status, message: str) -> Solution:
        tally, tables = self.tally, self.tables
        counters = self.record.counters
        counts = {
            "f": int(counters[FORCE_CALLS]),
            "jac": int(counters[JACOBIAN_CALLS]),
            "steps": int(tally[marching.ACCEPTED]),
            "rejected": int(tally[marching.REJECTED]),
            "iterations": int(counters[ITERATIONS]),
            "contact_sweeps": int(counters[SWEEPS]),
        }
        if status is not Status.OK and tally[marching.LAST] == 0:
            self._keep_end()  # what the thinning left out at the end of a broken run
        nodes = tables.kept(tally)
        events = tables.events[: tally[marching.EVENTS] * EVENT_COLUMNS].reshape(-1, EVENT_COLUMNS)
        made = build_solution(
            self.model, self.plan.scheme, nodes, events, tables.dense[: tally[marching.DENSE]].copy(), counts, status,
            message, self.problem,
        )  # fmt: skip
        if tally[marching.KEEP] == marching.KEEP_TIMES:
            made = made.at_times(self.times)
        return made
