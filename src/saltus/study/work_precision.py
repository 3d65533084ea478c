"""Work and precision: errors against force evaluations and seconds, over tolerances or step sizes."""

from __future__ import annotations

import difflib
import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from saltus.control.interface import steps_of
from saltus.errors import RunError, SettingError
from saltus.problem import Exact, Problem
from saltus.run.progress import StudyProgress
from saltus.schemes import EventDriven
from saltus.schemes.traits import traits_of
from saltus.solution import Solution
from saltus.solve import solve
from saltus.status import Status

from .convergence import GOLDEN, SPREAD
from .curve import QUANTITIES
from .labels import label_of
from .measure import check_norms, measure
from .work_table import WorkPoint, WorkPrecision

TOLS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
REFERENCE_SHARE = 0.01  # tolerance of the reference run relative to the smallest one of the study
OWN_ARGUMENTS = (
    "system",
    "t_span",
    "q0",
    "v0",
    "progress",
    "checkpoint",
    "checkpoint_every",
)  # of the study, not of a run
TOLERANCE_NAMES = ("tol", "rtol", "atol")


class Sweep(NamedTuple):
    """One run with its settings: the arguments of solve, the name of the one that changes, and its values."""

    arguments: dict[str, Any]
    setting: str
    values: tuple[float, ...]

    def at(self, value: float) -> dict[str, Any]:
        """Return the arguments of solve for one value."""
        return {**self.arguments, self.setting: value, "progress": False}


class Yardstick(NamedTuple):
    """How errors are measured."""

    reference: Solution | Exact | None
    quantities: tuple[str, ...]
    norms: tuple[str, ...]
    where: Literal["dense", "grid"]
    columns: Mapping[str, Sequence[int]]

    def errors(self, run: Solution) -> dict[tuple[str, str], float]:
        """Return {(quantity, norm): error} of a run."""
        return {
            (quantity, norm): error
            for quantity in self.quantities
            for norm, error in measure(
                run, self.reference, quantity, self.norms, self.where, self.columns.get(quantity)
            ).items()
        }


def work_precision(
    problem: Problem,
    runs,
    *,
    tols: Sequence[float] = TOLS,
    h: float | Sequence[float] | None = None,
    levels: int = 5,
    quantities: Sequence[str] | None = None,
    norms: Sequence[str] = ("L1",),
    where: Literal["dense", "grid"] = "dense",
    reference: Solution | Exact | None = None,
    columns: Mapping[str, Sequence[int]] | None = None,
    repeat: int = 1,
    progress: bool | None = None,
) -> WorkPrecision:
    """Run schemes over tolerances or step sizes and note their errors, force evaluations and seconds.

    Runs that choose their steps (an adaptive scheme, a control, or a tolerance of their own) go through `tols`, all
    others through `h`. Every run is made once before the measurements, at its coarsest setting, so that compiling
    counts nowhere. A run that fails stays in the result with its message. Ctrl-C ends the study and returns what there
    is.

    Parameters
    ----------
    problem
        What to integrate, over its whole span.
    runs
        A scheme, a list of schemes, {label: scheme}, or {label: arguments of solve}, e.g. {"fine": {"scheme":
        EventDriven(), "rtol": 1e-10}}. A `tol` (or the `h` of a fixed step) among them, one number or several, counts
        before that of the study.
    tols
        Tolerances of the runs that choose their steps.
    h
        Step sizes of the others [s]; a single number is the largest, and the others halve it time after time, all a
        little shorter so that impacts fall anywhere in a step. Schemes that cannot change their step take the nearest
        size that divides the span.
    levels
        How many sizes a single h makes.
    quantities
        Any of "q", "v", "impulse"; None takes all that the reference knows.
    norms
        Any of "L1", "L2", "Linf", "hausdorff".
    where
        Where L1, L2 and Linf are taken, see `errors`.
    reference
        Solution or Exact to compare with. None takes the exact solution of the problem, or, where there is none, a run
        of EventDriven with a hundredth of the smallest tolerance.
    columns
        {quantity: columns} to compare, all by default.
    repeat
        Runs of which the fastest gives the seconds, those of a whole call of solve.
    progress
        Show a progress bar; None shows one on a terminal when it takes more than a second.
    """
    if not isinstance(problem, Problem):
        raise SettingError(f"work_precision takes a Problem first, not {problem!r}")
    check_norms(norms)
    if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 1:
        raise SettingError(f"repeat is {repeat!r}: it must be a whole number of at least 1")
    tolerances = _positive(tols, "tols")
    sweeps = {
        label: _sweep(label, arguments, problem, tolerances, h, levels) for label, arguments in _named(runs).items()
    }
    finest = min([*tolerances, *(value for s in sweeps.values() if s.setting == "tol" for value in s.values)])
    points: list[WorkPoint] = []
    about, interrupted = "", False
    yardstick = None
    try:
        with StudyProgress([1.0] * (len(sweeps) + sum(len(s.values) for s in sweeps.values())), progress) as bar:
            for sweep in sweeps.values():  # all of them first: a wrong argument shows before hours of runs
                bar.next_run()
                _warm_up(problem, sweep)
            reference, about = _reference(problem, reference, finest)
            chosen = _quantities(problem, reference, quantities)
            yardstick = Yardstick(reference, chosen, tuple(norms), where, columns or {})
            for point in _points(problem, sweeps, yardstick, repeat, bar):
                points.append(point)
    except KeyboardInterrupt:
        interrupted = True
    return WorkPrecision(
        problem=problem.name or problem.system.name or "problem",
        runs={label: sweep.arguments for label, sweep in sweeps.items()},
        points=tuple(points),
        measured=tuple((x, norm) for x in (yardstick.quantities if yardstick else ()) for norm in norms),
        reference=about,
        where=where,
        repeat=repeat,
        nv=len(problem.v0),
        interrupted=interrupted,
    )


def _points(
    problem: Problem, sweeps: dict[str, Sweep], yardstick: Yardstick, repeat: int, bar: StudyProgress
) -> Iterator[WorkPoint]:
    for label, sweep in sweeps.items():
        for value in sweep.values:
            bar.next_run()
            yield _point(problem, label, sweep, value, yardstick, repeat)


def _point(problem: Problem, label: str, sweep: Sweep, value: float, yardstick: Yardstick, repeat: int) -> WorkPoint:
    """Run once, or several times for the seconds, and measure."""
    seconds, run, message = np.inf, None, ""
    for _ in range(repeat):
        began = time.perf_counter()
        try:
            run = _whole_run(problem, sweep.at(value))
        except RunError as error:
            run, message = error.solution, " ".join(str(error).split()) or "failed"
        seconds = min(seconds, time.perf_counter() - began)
        if message:
            break
    return WorkPoint(
        label=label,
        setting=sweep.setting,
        value=value,
        errors={} if message or run is None else yardstick.errors(run),
        work={} if run is None else dict(run.work),
        nv=len(problem.v0),
        seconds=seconds,
        t_end=problem.t_span[0] if run is None else float(run.t[-1]),
        message=message,
    )


def _warm_up(problem: Problem, sweep: Sweep) -> None:
    """Compile, and find out whether solve accepts the arguments."""
    try:
        _whole_run(problem, sweep.at(max(sweep.values)))
    except RunError:
        pass  # it fails again where failures are noted


def _whole_run(problem: Problem, arguments: dict[str, Any]) -> Solution:
    """Return a run that was not interrupted: the errors of a part compare with nothing."""
    run = solve(problem, **arguments)
    if run.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return run


# ---- what to run


def _named(runs) -> dict[str, dict[str, Any]]:
    """Return {label: arguments of solve}."""
    if isinstance(runs, Mapping) and "scheme" not in runs:
        found = {str(label): _arguments(made) for label, made in runs.items()}
    else:
        several = isinstance(runs, Sequence) and not isinstance(runs, str)
        made = [_arguments(one) for one in (runs if several else [runs])]
        labels = [_label(arguments) for arguments in made]
        if len(set(labels)) < len(labels):
            raise SettingError(f"two runs are called the same among {labels}: give {{label: run}}")
        found = dict(zip(labels, made, strict=True))
    if not found:
        raise SettingError("runs is empty: give a scheme, a list of schemes or {label: arguments of solve}")
    for label, arguments in found.items():
        _check_arguments(label, arguments)
    return found


def _arguments(made) -> dict[str, Any]:
    return dict(made) if isinstance(made, Mapping) else {"scheme": made}


def _label(arguments: dict[str, Any]) -> str:
    """Return the scheme with the other arguments, but for the swept ones."""
    rest = [f"{k}={label_of(v)}" for k, v in arguments.items() if k not in ("scheme", "tol", "h")]
    return ", ".join([label_of(arguments.get("scheme")), *rest])


def _check_arguments(label: str, arguments: dict[str, Any]) -> None:
    known = [name for name in inspect.signature(solve).parameters if name not in OWN_ARGUMENTS]
    for name in arguments:
        if name in OWN_ARGUMENTS:
            raise SettingError(f"{label} has {name!r}, which belongs to the study: every run solves the same problem")
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f": did you mean {near[0]}?" if near else f": arguments of solve are {', '.join(known)}"
            raise SettingError(f"{label} has {name!r}, which is no argument of solve{hint}")


def _sweep(label: str, arguments: dict[str, Any], problem: Problem, tols, h, levels: int) -> Sweep:
    """Return a run with the values of its tolerance or step size."""
    scheme, control = arguments.get("scheme"), arguments.get("control")
    free = traits_of(scheme).adaptive or (control is not None and steps_of(control) == "chosen")
    if free or any(arguments.get(name) is not None for name in TOLERANCE_NAMES):
        if arguments.get("rtol") is not None and arguments.get("atol") is not None:
            raise SettingError(f"{label} has both rtol and atol, so that no tolerance changes anything: leave one out")
        rest = {name: value for name, value in arguments.items() if name != "tol"}
        own = arguments.get("tol")
        return Sweep(rest, "tol", tols if own is None else _positive(own, f"tol of {label}"))
    rest = {name: value for name, value in arguments.items() if name != "h"}
    own = arguments.get("h")
    if own is not None:
        sizes = _positive(own, f"h of {label}")
    elif h is None:
        raise SettingError(f"{label} needs step sizes: give h, the largest or all of them [s]")
    else:
        sizes = _sizes(h, levels)
    if traits_of(scheme).fixed_step:
        sizes = _dividing(sizes, problem.t_span)
    return Sweep(rest, "h", sizes)


def _sizes(h, levels: int) -> tuple[float, ...]:
    """Return the step sizes of a list, or sizes below a single one with irrational ratios."""
    given = _positive(h, "h")
    if np.ndim(h):
        return given
    if isinstance(levels, bool) or not isinstance(levels, int) or levels < 1:
        raise SettingError(f"levels is {levels!r}: it must be a whole number of at least 1")
    share = (GOLDEN * np.arange(1, levels + 1)) % 1.0
    return tuple((given[0] * 2.0 ** -np.arange(levels) * np.exp(SPREAD * (share - 1.0))).tolist())


def _dividing(sizes: tuple[float, ...], t_span: tuple[float, float]) -> tuple[float, ...]:
    span = t_span[1] - t_span[0]
    return tuple(span / max(1, round(span / size)) for size in sizes)


def _positive(values, name: str) -> tuple[float, ...]:
    try:
        made = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError) as error:
        raise SettingError(f"{name} is {values!r}: it must be positive numbers") from error
    if made.ndim != 1 or len(made) == 0 or not np.all((made > 0.0) & np.isfinite(made)):
        raise SettingError(f"{name} is {values!r}: it must be positive numbers")
    return tuple(made.tolist())


# ---- what to compare with


def _reference(problem: Problem, reference, finest: float) -> tuple[Solution | Exact, str]:
    """Return the reference and what the table says about it."""
    if isinstance(reference, Solution):
        if reference.t[0] > problem.t_span[0] or reference.t[-1] < problem.t_span[1]:
            raise SettingError(
                f"the reference runs from {reference.t[0]} to {reference.t[-1]} s, the problem over {problem.t_span}: "
                "the reference must cover it"
            )
        return reference, f"a run of {reference.scheme.name} with {reference.work['steps']:,} steps"
    if isinstance(reference, Exact) or (reference is None and problem.exact is not None):
        return reference or problem.exact, "the exact solution"  # pyright: ignore[reportReturnType]
    if reference is not None:
        raise SettingError(f"reference is {reference!r}: it must be a Solution or an Exact")
    tol = max(REFERENCE_SHARE * finest, 1e-14)  # rounding allows no smaller one
    try:
        made = _whole_run(problem, {"scheme": EventDriven(), "tol": tol, "progress": False})
    except RunError as error:
        raise RunError(
            f"the reference, a run of EventDriven() with tol = {tol:g}, failed: {error} Give a reference.",
            error.solution,
        ) from error
    return made, f"a run of EventDriven() with tol = {tol:g}"


def _quantities(problem: Problem, reference: Solution | Exact, given) -> tuple[str, ...]:
    if given is not None:
        for quantity in given:
            if quantity not in QUANTITIES:
                raise SettingError(f"quantity is {quantity!r}: it must be one of {', '.join(map(repr, QUANTITIES))}")
        return tuple(given)
    known = len(problem.system.contacts) > 0 and getattr(reference, "impulse", None) is not None
    return QUANTITIES if known else tuple(x for x in QUANTITIES if x != "impulse")
