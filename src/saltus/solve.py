"""solve(): check -> compile -> march -> Solution; resume() goes on from a checkpoint."""

from __future__ import annotations

import dataclasses
import functools
import numbers
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard

import numpy as np

from saltus.build.start import check_start
from saltus.control import default_control
from saltus.control.interface import compares, steps_of
from saltus.errors import FileFormatError, SaltusError, SettingError
from saltus.event import Event, checked_events
from saltus.io.checkpoint import TIMES, Checkpoint, check_same, fingerprint, read_checkpoint
from saltus.io.format import clear_parts
from saltus.io.settings import describe, rebuild
from saltus.parameters import as_changes
from saltus.problem import Problem, vector
from saltus.results.records import Asked
from saltus.run import march as marching
from saltus.run.progress import Progress
from saltus.run.run import RUN, Limits, Run, Settings, segments_of
from saltus.schemes import default_scheme
from saltus.schemes.traits import Traits, brings_control, estimates_error, has_scale, traits_of
from saltus.solution import Solution
from saltus.status import Status
from saltus.system import System

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from saltus.mechanics.planar import Planar
    from saltus.schemes.plan import SchemeLike


class _SolvingRules(NamedTuple):
    """Tuned numbers of this file."""

    most_steps: int = 10_000_000  # of a run that chooses its steps, where no limit is given
    memory_share: float = 0.5  # of the machine's memory, for the results of a run
    unknown_memory: float = 4.0 * 2**30  # bytes, where the system does not say how many it has
    finest: float = 1e-14  # smallest step relative to the times it leads through
    resumed_rows: int = 1 << 16  # reserved at once: how many a run will need is not believed of a file
    start_tolerance: float = 1e-8  # penetration and joint error that a start may have [m, m/s]


SOLVING_RULES = _SolvingRules()


def solve(
    system: System | Problem | Planar,
    t_span: tuple[float, float] | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    scheme: SchemeLike | None = None,
    h: float | None = None,
    rtol: float | Sequence[float] | None = None,
    atol: float | Sequence[float] | None = None,
    tol: float | None = None,
    scale: float | Sequence[float] | None = None,
    control: Any = None,
    events: Event | Sequence[Event] = (),
    parameters: Mapping[str, Any] | None = None,
    breaks: Sequence[float] | None = None,
    t_eval: Sequence[float] | None = None,
    save: Literal["steps", "events"] | int | Sequence[float] = "steps",
    start_tolerance: float = SOLVING_RULES.start_tolerance,
    progress: bool | None = None,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_every: float = 60.0,
    max_steps: int | None = None,
    max_memory: float | None = None,
    max_step: float | None = None,
    verify: bool = False,
) -> Solution:
    """Integrate a system with contacts over a time span.

    Parameters
    ----------
    system
        A `System`, a `Problem`, which brings t_span, q0 and v0 along, or a mechanism (`mechanics.Planar`), which is
        assembled; for a mechanism, `MoreauJean` projects (projection=True).
    t_span
        Start and end [s].
    q0, v0
        Initial positions and velocities; a number for one degree of freedom.
    scheme
        Time-stepping scheme, e.g. MoreauJean(theta=0.5); None takes HpTDG(), which keeps errors below `tol`.
    h
        Step size [s]. Required for schemes with a fixed step; the last step is shorter when h does not divide the span.
        Schemes and controls that choose their steps take it as the first one to try; None: a small share of the span.
    rtol, atol
        Tolerances of schemes that estimate their error, scalars or one per coordinate: an estimate of 1 means an error
        of atol + rtol |q| (atol in units of q). None leaves those of the scheme.
    tol
        Short for rtol = atol = tol; where rtol or atol is given too, that one counts.
    scale
        What the absolute part of the tolerance is a share of, in units of q: a number, or one per coordinate. None
        takes 1 for coordinates, velocities and impulses, whatever their units. With a scale, errors of a coordinate
        are below tol (scale + its size); the scale of its velocity is the scale over the span, that of an impulse the
        one that changes some velocity by as much. So the same model in other units gives the same run.
    control
        What decides about steps, e.g. Richardson(order=1). None keeps h; without h it takes the control of a scheme
        that chooses its steps, and VariableOrder() for others where a tolerance is given.
    events
        `Event`s to find; only for schemes that locate events, such as EventDriven().
    parameters
        Values of the model's `Parameters` by name, for this run; those that are not named keep their first value.
    breaks
        Times at which the force jumps [s]: steps end there, and f is evaluated on both sides. None: there are none.
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
    max_steps
        Steps that the run may make, rejected ones included. None: ten million where the scheme or the control chooses
        the steps, any number where h is kept.
    max_memory
        Bytes that the tables of the results may take; None: half of the memory of the machine. Tables grow by doubling,
        so that a run may end with somewhat more than half of it used.
    max_step
        Longest step of a scheme that chooses its steps [s], for functions that cannot be traced: what such a function
        does between two places where it is evaluated, nobody sees. None sets no limit.
    verify
        Run the problem once more with other steps and a smaller tolerance; `Solution.verification` then holds the mean
        errors and the time up to which both runs agree, `message` a sentence about it. See `Solution.verify`.

    Returns
    -------
    Solution
        With `status`, `success` and `message`; a terminal event is a success, and Ctrl-C returns what is there.

    Raises
    ------
    ModelError, SettingError
        When the model or an argument is wrong.
    RunError
        When a step fails; its `.solution` holds the run up to there.
    LimitError
        A RunError, when max_steps or max_memory is spent.
    ChatteringError
        A RunError, when the run makes steps or events without end while its time does not advance.
    FileError
        When the checkpoint cannot be written at the start; later that is a CheckpointWarning and the run goes on.
    """
    asked = arranged(
        system, t_span, q0, v0, scheme=scheme, h=h, rtol=rtol, atol=atol, tol=tol, scale=scale, control=control,
        events=events, parameters=parameters, breaks=breaks, t_eval=t_eval, save=save, start_tolerance=start_tolerance,
        max_steps=max_steps, max_memory=max_memory, max_step=max_step,
    )  # fmt: skip
    file = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_every)
    run = _prepare(
        asked.problem, asked.events, asked.settings, file, start_tolerance, asked.limits, parameters=parameters
    )
    run.march(Progress(asked.problem.t_span, progress), fresh=True)
    made = run.finish()
    return _verified(made, progress) if verify else made


@dataclasses.dataclass(frozen=True)
class Arranged:
    """The checked arguments of `solve`."""

    problem: Problem
    events: tuple[Event, ...]
    settings: Settings
    limits: Limits


@dataclasses.dataclass(frozen=True)
class Wishes:
    """How to solve a problem: the arguments of `solve` that have these names, not checked yet."""

    scheme: Any = None
    h: float | None = None
    rtol: Any = None
    atol: Any = None
    tol: Any = None
    scale: Any = None
    control: Any = None
    events: Event | Sequence[Event] = ()
    breaks: Sequence[float] | None = None
    t_eval: Any = None
    save: Any = "steps"
    start_tolerance: float = SOLVING_RULES.start_tolerance
    max_steps: int | None = None
    max_memory: float | None = None
    max_step: float | None = None


def arranged(
    system: System | Problem | Planar,
    t_span=None,
    q0=None,
    v0=None,
    *,
    parameters: Mapping[str, Any] | None = None,
    **wishes: Any,
) -> Arranged:
    """Check the arguments of `solve`, of which `Wishes` names all but the problem, and say what they mean.

    Nothing is compiled.
    """
    asked = Wishes(**wishes)
    problem = _problem(system, t_span, q0, v0, parameters)
    h, control = asked.h, asked.control
    breaks = () if asked.breaks is None else asked.breaks
    scheme = default_scheme() if asked.scheme is None else asked.scheme
    scheme = system.prepared(scheme) if _is_mechanism(system) else scheme
    _check_scheme(scheme)
    if control is not None and (isinstance(control, type) or not hasattr(control, "kernel_memory")):
        raise SettingError(f"control is {control!r}: it must be a control such as Fixed()")
    if control is None and not brings_control(scheme):
        tolerant = any(given is not None for given in (asked.rtol, asked.atol, asked.tol))
        chooses = h is None and tolerant and not traits_of(scheme).fixed_step
        control = default_control(tolerant=chooses)
    given, comparing = scheme, control if compares(control) else None
    scheme = comparing.doubled(scheme) if comparing else scheme
    scheme = _with_scale(_with_tolerance(scheme, asked.rtol, asked.atol, asked.tol), asked.scale)
    size = _check_settings(given if comparing else scheme, h, problem, control, breaks)
    events = _locatable(asked.events, scheme, problem.system)
    if not asked.start_tolerance >= 0.0:
        raise SettingError(f"start_tolerance is {asked.start_tolerance}: it must be a length of zero or more [m]")
    keep, times = _keeping(asked.save, asked.t_eval, problem.t_span)
    marks = _breaks(breaks, problem.t_span)
    if control is None:
        control = scheme.control()  # it may depend on the tolerances
    elif steps_of(control) == "counted" and traits_of(scheme).repeats_steps:
        who = type(control).__name__
        raise SettingError(f"{scheme.name} may have to repeat a step, which {who}() does not do: leave control out")
    if comparing:
        control = comparing.over(problem.t_span[1] - problem.t_span[0])
    if asked.max_step is not None:
        size, control = _shortened(asked.max_step, size, scheme, control)
    settings = Settings(scheme, size, control, marks, keep, times)
    return Arranged(problem, events, settings, _limits(asked.max_steps, asked.max_memory, settings))


def _verified(solution: Solution, progress: bool | None) -> Solution:
    """Return a solution with what a second run says; one that was interrupted is returned as it is."""
    if solution.status is Status.INTERRUPTED:
        return solution
    try:
        verification = solution.verify(progress=progress)
    except SaltusError as error:  # the run itself must not be lost
        said = f"{solution.message} It could not be verified: {str(error).splitlines()[0]}"
        return dataclasses.replace(solution, message=said)
    said = f"{solution.message} {verification.sentence}"
    return dataclasses.replace(solution, verification=verification, message=said)


def resume(
    path: str | os.PathLike,
    system: System | Problem | Planar,
    t_span: tuple[float, float] | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    *,
    scheme: SchemeLike | None = None,
    control: Any = None,
    events: Event | Sequence[Event] = (),
    parameters: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    checkpoint_every: float = 60.0,
    max_steps: int | None = None,
    max_memory: float | None = None,
    max_bytes: float | None = None,
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
    events
        The same as for `solve`.
    parameters
        None takes those of the checkpoint.
    progress, checkpoint_every, max_steps, max_memory
        As for `solve`; steps before the checkpoint count.
    max_bytes
        Size of the largest checkpoint that is read [bytes]. None: 4 GB.

    Raises
    ------
    SettingError
        When the file belongs to another problem.
    FileError
        When the file cannot be read; FileFormatError when it is not a checkpoint of this version of saltus,
        DamagedFileError when it was changed or cut off.
    """
    stored = read_checkpoint(path, max_bytes)
    known, given = stored.about["problem"], stored.about["settings"]
    if isinstance(system, System) or _is_mechanism(system):
        t_span = known["t_span"] if t_span is None else t_span
        q0, v0 = (known[key] if value is None else value for key, value in (("q0", q0), ("v0", v0)))
    problem = _problem(system, t_span, q0, v0, known["values"] if parameters is None else parameters)
    settings = Settings(
        _stored_setting(path, given, "scheme", scheme),
        given["h"],
        _stored_setting(path, given, "control", control),
        given["breaks"],
        given["keep"],
        stored.arrays[TIMES],
    )
    try:
        own = dataclasses.replace(problem, t_span=tuple(known["t_span"]))
        _check_settings(settings.scheme, settings.h, own, settings.control, settings.breaks)
    except SettingError as error:
        raise FileFormatError(f"{path} was not written by such a run: {error}") from error
    file = Checkpoint(path, checkpoint_every)
    limits = _limits(max_steps, max_memory, settings)
    allowed = given["start_tolerance"]  # the start was checked when the run began
    located = _locatable(events, settings.scheme, problem.system)
    run = _prepare(
        problem, located, settings, file, SOLVING_RULES.start_tolerance if allowed is None else allowed, limits,
        check=False,
        rows=SOLVING_RULES.resumed_rows, parameters=known["values"] if parameters is None else parameters,
    )  # fmt: skip
    check_same(path, file.problem, known)
    run.restore(path, stored.arrays)
    clear_parts(path)
    run.march(Progress(problem.t_span, progress))
    return run.finish()


def _stored_setting(path, given: dict[str, Any], name: str, value) -> Any:
    """Return the scheme or control of a checkpoint, or the given one when it is the same."""
    if value is None:
        try:
            return rebuild(given[name], name)
        except SettingError as error:
            raise SettingError(f"{name} of {path} cannot be made again: {error} as {name}=...") from error
    if describe(value) != given[name]:
        raise SettingError(f"{name} is {value!r}, but {path} was made with {given[name]}: leave {name} out")
    return value


def _prepare(
    problem: Problem, events: tuple[Event, ...], settings: Settings, file: Checkpoint | None,
    start_tolerance: float, limits: Limits, check: bool = True, rows: int = RUN.most_rows, parameters: Any = None,
) -> Run:  # fmt: skip
    """Compile a problem and make its buffers, and check the start."""
    from saltus.build.model import compile_model  # here, because tracing is needed only now

    segments = segments_of(problem.t_span, settings)
    model = compile_model(
        problem.system,
        problem.t_span[0],
        problem.q0,
        problem.v0,
        events,
        parameters,
        curved=not traits_of(settings.scheme).velocity_level,
    )
    if file is not None:
        file.problem = fingerprint(problem, model)
        file.settings = {
            "scheme": describe(settings.scheme), "control": describe(settings.control), "h": settings.h,
            "breaks": settings.breaks, "keep": settings.keep, "start_tolerance": start_tolerance,
        }  # fmt: skip
    if check:
        check_start(problem, model, start_tolerance)
    run = Run(problem, model, settings, segments, file, limits, rows)
    breaks, allowed = tuple(settings.breaks), float(start_tolerance)
    run.asked = Asked(
        problem.t_span, problem.q0, problem.v0, settings.h, settings.control, breaks, allowed, events, model.values
    )
    return run


def _shortened(max_step, h: float, scheme, control) -> tuple[float, Any]:
    """Return the first step and the control of a run whose steps are at most max_step [s]."""
    if isinstance(max_step, bool) or not isinstance(max_step, numbers.Real) or not 0.0 < float(max_step) < np.inf:
        raise SettingError(f"max_step is {max_step!r}: it must be a positive time [s], like 0.01")
    if not hasattr(control, "h_max"):
        raise SettingError(f"max_step is {max_step!r}, but the steps of {scheme.name} are given here: choose h instead")
    longest = min(float(max_step), control.h_max)
    return min(h, longest), dataclasses.replace(control, h_max=longest)


def _limits(max_steps, max_memory, settings: Settings) -> Limits:
    """Return what a run may spend, with the values of those that are not given."""
    if max_steps is None:
        chosen = traits_of(settings.scheme).adaptive or steps_of(settings.control) != "counted"
        max_steps = SOLVING_RULES.most_steps if chosen else None
    elif isinstance(max_steps, bool) or not isinstance(max_steps, numbers.Integral) or max_steps < 1:
        raise SettingError(f"max_steps is {max_steps!r}: it must be a whole number of steps, at least 1")
    if max_memory is None:
        max_memory = SOLVING_RULES.memory_share * _machine_memory()
    elif isinstance(max_memory, bool) or not isinstance(max_memory, numbers.Real) or not float(max_memory) > 0.0:
        raise SettingError(f"max_memory is {max_memory!r}: it must be a positive number of bytes, like 2e9")
    return Limits(None if max_steps is None else int(max_steps), float(max_memory))


@functools.cache
def _machine_memory() -> float:
    """Return the memory of the machine [bytes], a modest one where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return SOLVING_RULES.unknown_memory


def _with_tolerance(scheme, rtol, atol, tol):
    """Return the scheme with the tolerances that were given."""
    if tol is not None:
        if isinstance(tol, bool) or not isinstance(tol, numbers.Real) or not 0.0 < float(tol) < np.inf:
            raise SettingError(f"tol is {tol!r}: a tolerance must be a positive number, like 1e-8")
        rtol, atol = (float(tol) if given is None else given for given in (rtol, atol))
    if rtol is None and atol is None:
        return scheme
    if not estimates_error(scheme):
        names = "tol means" if tol is not None else "rtol and atol mean"
        remedy = "leave h out to let the steps follow the tolerance, or wrap it in StepDoubling(...) to see estimates"
        if traits_of(scheme).fixed_step:
            remedy = "it cannot change its step; take MoreauJean() or StepDoubling(MoreauJean())"
        raise SettingError(f"{scheme.name} estimates no error, so {names} nothing to it: {remedy}")
    return scheme.with_tolerance(rtol, atol)


def _with_scale(scheme, scale):
    """Return the scheme with the scale that was given."""
    if scale is None:
        return scheme
    if not has_scale(scheme):
        raise SettingError(
            f"{scheme.name} promises no error, so scale means nothing to it: take HpTDG() or EventDriven(), or give "
            f"atol where the scheme has one"
        )
    return scheme.with_scale(scale)


def _locatable(events, scheme, system: System) -> tuple[Event, ...]:
    """Return the events of a run, and refuse those that the scheme would step over."""
    made = checked_events(events, system)
    if made and not traits_of(scheme).locates_events:
        raise SettingError(f"{scheme.name} does not locate events: leave events out or take scheme=EventDriven()")
    return made


def _is_mechanism(system: Any) -> TypeGuard[Planar]:
    """Return whether something makes its problem itself; asked so, mechanisms are imported by those who write one."""
    return not isinstance(system, type) and hasattr(system, "problem") and hasattr(system, "prepared")


def _problem(system, t_span, q0, v0, parameters=None) -> Problem:
    if _is_mechanism(system):
        if t_span is None:
            raise SettingError("t_span is missing: give (start, end) in seconds")
        system = system.problem(t_span, parameters=as_changes(parameters))
    if isinstance(system, Problem):
        changes = {k: v for k, v in (("t_span", t_span), ("q0", q0), ("v0", v0)) if v is not None}
        return dataclasses.replace(system, **changes) if changes else system
    if not isinstance(system, System):
        raise SettingError(f"solve takes a System, a Problem or a Planar first, not {system!r}")
    if t_span is None:
        raise SettingError("t_span is missing: give (start, end) in seconds")
    return Problem(system, t_span, q0, v0, name=system.name)


def _check_scheme(scheme) -> None:
    if isinstance(scheme, type):
        raise SettingError(f"scheme is the class {scheme.__name__}: give {scheme.__name__}() with brackets")
    if not hasattr(scheme, "plan"):
        raise SettingError(f"scheme is {scheme!r}: it must be a scheme such as MoreauJean()")
    who, traits = type(scheme).__name__, getattr(scheme, "traits", None)
    if traits is not None and not isinstance(traits, Traits):
        raise SettingError(f"traits of {who} is {traits!r:.60}: it must be Traits(...) of saltus.schemes.traits")
    if traits is not None:
        return
    for field in dataclasses.fields(Traits):
        if field.default is False and getattr(scheme, field.name, None) is True:
            raise SettingError(f"{field.name} of {who} is not read: give it traits = Traits({field.name}=True)")


def _check_settings(scheme, h, problem: Problem, control, breaks) -> float:
    """Refuse a step size or control that cannot work; return the step size [s]."""
    span = problem.t_span[1] - problem.t_span[0]
    if h is None and traits_of(scheme).adaptive:
        return traits_of(scheme).first_share * span
    if h is None and compares(control) and not traits_of(scheme).fixed_step:
        return control.first_share * span
    if h is None:
        raise SettingError(f"h is missing: {scheme.name} needs a step size in seconds")
    try:
        valid = not isinstance(h, bool) and float(h) > 0.0 and np.isfinite(float(h))
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise SettingError(f"h is {h!r}: a step size must be a positive number of seconds")
    if h > span * (1.0 + RUN.on_grid):
        raise SettingError(f"h is {h}, larger than the span of {span} s: take a smaller h")
    if h < SOLVING_RULES.finest * max(abs(t) for t in problem.t_span):
        raise SettingError(
            f"h is {h}: steps that small cannot be told apart at t = {problem.t_span[1]}; take a larger h"
        )
    if traits_of(scheme).fixed_step:
        _check_fixed_step(scheme, float(h), span, control, breaks)
    return float(h)


def _check_fixed_step(scheme, h: float, span: float, control, breaks) -> None:
    """Refuse what would change the step of a scheme that remembers the step before."""
    who = type(scheme).__name__
    if np.size(breaks):
        raise SettingError(f"{who} cannot change its step, so it takes no breaks: leave them out or use MoreauJean()")
    if control is not None and steps_of(control) != "counted":
        raise SettingError(f"{who} cannot change its step: leave control out or use Fixed(), not {control!r}")
    ratio = span / h
    steps = max(1, round(ratio))
    if abs(ratio - steps) > RUN.on_grid * steps:
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
        return (1 if save == "steps" else marching.MARCH.keep_events), end
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
    return marching.MARCH.keep_times, times


def _breaks(breaks, t_span) -> list[float]:
    if (isinstance(breaks, tuple | list) and not breaks) or np.size(breaks) == 0:
        return []
    inside = vector(breaks, "breaks")
    if np.any(np.diff(inside) <= 0.0) or np.any(inside <= t_span[0]) or np.any(inside >= t_span[1]):
        raise SettingError(f"breaks must increase and lie inside of t_span {t_span}, not {breaks}")
    return inside.tolist()
