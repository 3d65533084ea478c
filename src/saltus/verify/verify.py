"""verify: a second run of the same problem with other steps and a smaller tolerance, and what both say together.

A scheme that keeps a tolerance is run with a hundredth of it, so that the error of the second run hardly counts and the
difference is the error of the first one. The second run begins with another step, takes other degrees and never a
step longer than a thousandth of the span: what lies between the nodes of the first one does not lie between its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from saltus.control.interface import steps_of
from saltus.errors import RunError, SettingError
from saltus.event import Event
from saltus.flight.promise import start_of
from saltus.problem import Problem
from saltus.results.records import Asked
from saltus.schemes.hp_tdg.scheme import HIGHEST_DEGREE
from saltus.schemes.traits import Tolerant, traits_of
from saltus.solution import Solution
from saltus.solve import solve
from saltus.status import Status
from saltus.system import System
from saltus.verification import VERIFIED_QUANTITIES, Parting, Verification
from saltus.verify.difference import Scales, difference
from saltus.verify.parting import parting, undecided


class _Verify(NamedTuple):
    """Tuned numbers of this file."""

    share: float = 100.0  # tolerance of the first run over that of the second one
    doubled_share: float = 10.0  # the same for doubled steps, whose number grows with the tolerance itself
    # steps of the second run over a span at least; not whole, as the periods of a drive in a span are
    short: float = 1009.3
    threshold_share: float = 10.0  # thresholds that were given by hand, over those of the second run
    least: float = 1e-14  # smallest tolerance that schemes take
    no_promise: float = 1e-2  # mean difference over the size of the motion up to which runs without a tolerance agree
    most_points: int = 2000  # of the curves that are kept


VERIFY = _Verify()

FINER_RATIO = (
    3.0 + np.sqrt(5.0)
) / 2.0  # steps of a fixed size over those of the second run: no grid point is met again
OTHER = 2.0 / (1.0 + np.sqrt(5.0))  # of the first and of the longest step of the first run, for the second one


def verify(
    solution: Solution,
    system: System | Problem | None = None,
    *,
    scheme: Any = None,
    max_step: float | None = None,
    events: Event | Sequence[Event] | None = None,
    progress: bool | None = None,
) -> Verification:
    """Run the problem of a solution once more and compare; see `Solution.verify`."""
    asked, problem = _asked(solution, system, events)
    if not solution.every_step:
        solution = _whole(solution, asked, problem, progress)
    if len(solution.t) < 2:
        raise SettingError("the run has no step, so that there is nothing to verify")
    arguments = _second(solution, asked, scheme, max_step)
    note = ""
    try:
        other = solve(problem, **_common(asked), **arguments, progress=progress)
    except RunError as error:
        if error.solution is None or len(error.solution.t) < 2:
            raise
        other, note = error.solution, f"The second run failed: {str(error).splitlines()[0]}"
    if other.status is Status.INTERRUPTED:
        note = f"The second run was interrupted at t = {other.t[-1]:.9g} s."
    if np.array_equal(solution.t, other.t) and len(solution.t) > 2:
        raise SettingError(
            f"the second run makes the same {len(other.t) - 1} steps as the first one, which proves nothing: give "
            "another scheme=... to verify"
        )
    return compared(solution, other, note)


# ---- what was asked, and what the second run is asked


def _asked(solution: Solution, system, events) -> tuple[Asked, Problem]:
    """Return what `solve` was asked and the problem, or say what is missing."""
    asked = solution._asked
    if asked is None:
        raise SettingError("this solution does not say how it was made, as older files: solve again and verify that")
    given = system.system if isinstance(system, Problem) else solution.system if system is None else system
    if system is not None and not isinstance(given, System):
        raise SettingError(f"system is {system!r}: it must be the System or Problem of the run")
    if not isinstance(given, System):
        raise SettingError(
            "verify runs the system once more, but a loaded solution has no functions: give verify(system=...), the "
            "System or Problem of the run"
        )
    if events is None:
        events = asked.events
    if events is None:
        names = ", ".join(map(repr, solution.event_names))
        raise SettingError(f"the run had the events {names}, which are functions and are not stored: give events=...")
    if isinstance(events, Event):
        events = (events,)
    end = asked.t_span[1] if solution.success else float(solution.t[-1])
    if not end > asked.t_span[0]:
        raise SettingError("the run has no step, so that there is nothing to verify")
    problem = Problem(given, (asked.t_span[0], end), asked.q0, asked.v0, name=solution.name)
    return dataclasses.replace(asked, events=tuple(events)), problem


def _common(asked: Asked) -> dict[str, Any]:
    return {
        "events": asked.events,
        "breaks": asked.breaks,
        "start_tolerance": asked.start_tolerance,
        "parameters": asked.parameters or None,
    }


def _whole(solution: Solution, asked: Asked, problem: Problem, progress) -> Solution:
    """Return the run again with every step, where few were kept."""
    return solve(problem, scheme=solution.scheme, h=asked.h, control=asked.control, progress=progress, **_common(asked))


def _second(solution: Solution, asked: Asked, given: Any, max_step: float | None) -> dict[str, Any]:
    """Return scheme, first step and control of the second run."""
    scheme, control = solution.scheme, asked.control
    span = float(asked.t_span[1] - asked.t_span[0])
    if max_step is not None and not max_step > 0.0:
        raise SettingError(f"max_step is {max_step!r}: it must be a positive time [s]")
    longest = min(
        span / VERIFY.short if max_step is None else float(max_step), OTHER * float(np.max(np.diff(solution.t)))
    )
    if given is not None:
        tolerance = tolerance_of(scheme, control)
        if tolerance is None or not isinstance(given, Tolerant):
            return {"scheme": given, "h": min(asked.h / FINER_RATIO, longest)}
        scheme = given.with_tolerance(*[max(tolerance / VERIFY.share, VERIFY.least)] * 2)
        control = scheme.control() if traits_of(scheme).adaptive else None
    elif steps_of(control) != "chosen":
        return _finer_steps(scheme, control, asked.h, span)
    elif tolerance_of(scheme, control) is not None:
        share = VERIFY.share if traits_of(scheme).adaptive else VERIFY.doubled_share
        scheme = _with_thresholds(_with_share(scheme, share))
    if control is not None and isinstance(getattr(control, "h_max", None), float):
        control = dataclasses.replace(control, h_max=min(control.h_max, longest))
    return {"scheme": scheme, "h": min(OTHER * asked.h, longest), "control": control}


def _finer_steps(scheme, control, h: float, span: float) -> dict[str, Any]:
    """Return settings with smaller equal steps that share no point with the first ones, where that can be."""
    if isinstance(getattr(scheme, "degree", None), tuple) and traits_of(scheme).fixed_step:
        # degrees belong to the intervals of a grid: three of each in place of one
        scheme = dataclasses.replace(scheme, degree=tuple(int(p) for p in np.repeat(scheme.degree, 3)))
        return {"scheme": scheme, "h": h / 3.0, "control": control}
    if traits_of(scheme).fixed_step:
        return {"scheme": scheme, "h": span / np.ceil(FINER_RATIO * round(span / h)), "control": control}
    return {"scheme": scheme, "h": h / FINER_RATIO, "control": control}


def _with_share(scheme, share: float):
    """Return a scheme with a share of its tolerance, and with another highest degree where it chooses degrees."""
    if hasattr(scheme, "promised"):
        degree = scheme.max_degree + 1 if scheme.max_degree < HIGHEST_DEGREE else scheme.max_degree - 1
        return dataclasses.replace(scheme, tol=_smaller(scheme.tol, share), max_degree=degree)
    return scheme.with_tolerance(_smaller(scheme.rtol, share), _smaller(scheme.atol, share))


def _smaller(tolerance, share: float):
    """Return a share of a tolerance, or of one per coordinate, but none that schemes refuse."""
    made = np.minimum(tolerance, np.maximum(np.divide(tolerance, share), VERIFY.least))
    return float(made) if np.ndim(made) == 0 else tuple(made.tolist())


def _with_thresholds(scheme):
    """Return a scheme whose thresholds, if they were given by hand, are smaller: what they leave out must be seen."""
    fields = {field.name: field.default for field in dataclasses.fields(scheme)}
    given = {
        name: getattr(scheme, name) / VERIFY.threshold_share
        for name in ("rest_tolerance", "zeno_speed")
        if fields.get(name, 0.0) is None and getattr(scheme, name) is not None
    }
    return dataclasses.replace(scheme, **given) if given else scheme


def tolerance_of(scheme, control) -> float | None:
    """Return the tolerance that the steps of a run follow; None where h is kept."""
    if steps_of(control) != "chosen":
        return None
    promised = getattr(scheme, "promised", None)
    if promised is not None:
        return float(promised)
    if getattr(scheme, "rtol", None) is None or getattr(scheme, "atol", None) is None:
        return None
    return float(max(np.max(scheme.rtol), np.max(scheme.atol)))


# ---- the comparison


def compared(run: Solution, other: Solution, note: str = "") -> Verification:
    """Return what a second run of the same problem says about the first one; note: what went wrong with it."""
    tolerance = tolerance_of(run.scheme, run._asked.control if run._asked else None)
    tol = VERIFY.no_promise if tolerance is None else tolerance
    apart = difference(run, other, _scales(run.scheme, other))
    growth = apart.growth(tol)
    within = np.flatnonzero(np.all(growth <= 1.0, axis=1))
    end = float(apart.marks[-1])
    until = float(apart.marks[within[-1] + 1]) if len(within) else float(apart.marks[0])
    found = None if until >= end else parting(run, other, apart, tol, until)
    errors, ratios = apart.plain.sum(axis=0) / apart.span, growth[-1]
    late = abs(float(run.t[-1] - other.t[-1]))
    if late > 0.0 and not note:
        # what one run has no state for counts with all of its motion
        errors = errors + late / apart.span * apart.largest
        ratios = ratios + late / apart.span * apart.size[-1] / (tol * (1.0 + apart.size[-1]))
        if found is None and np.max(ratios) > 1.0:
            found = Parting(end, *_last_event(run, other, end), "ends")
    chosen = np.unique(np.linspace(0, len(growth) - 1, VERIFY.most_points).astype(int))
    return Verification(
        by=_described(run, other),
        tolerance=tol,
        promised=tolerance is not None,
        errors=dict(zip(VERIFIED_QUANTITIES, map(float, errors), strict=True)),
        ratios=dict(zip(VERIFIED_QUANTITIES, map(float, ratios), strict=True)),
        begin=float(apart.marks[0]),
        until=until,
        end=end,
        parting=found,
        undecided=undecided(run, other),
        note=note,
        t=apart.marks[1:][chosen].copy(),
        growth=growth[chosen].copy(),
    )


def _scales(scheme, run: Solution) -> Scales:
    """Return what a tolerance is relative to: 1, or what the scale of the scheme means for q, v and i."""
    nq, nv, rows = run.q.shape[1], run.v.shape[1], len(run.rows)
    scale = getattr(scheme, "scale", None)
    if scale is None or run._asked is None:
        return Scales(np.ones(nq), np.ones(nv), np.ones(rows))
    span = run._asked.t_span[1] - run._asked.t_span[0]
    position = np.broadcast_to(np.asarray(scale, dtype=float), (nq,)).copy()
    model: Any = run._model
    start = start_of(model, float(run.t[0]), run.q[0].copy(), scale)
    velocity = start.moved_by(position) / span
    return Scales(position, velocity, start.pushes(velocity[None])[0, :rows])


def _described(run: Solution, other: Solution) -> str:
    """Return what the second run was, in a few words."""
    tolerance = tolerance_of(other.scheme, other._asked.control if other._asked else None)
    if tolerance is None and other._asked is not None:
        how = f"h = {other._asked.h:.6g} s"
    else:
        how = f"tol = {tolerance:.3g}"
    return f"{other.scheme.name} with {how}, {other.work['steps']:,} steps after {run.work['steps']:,}"


def _last_event(run: Solution, other: Solution, end: float) -> tuple[str, str]:
    """Return contact and kind of the event that ended a run."""
    events = (run if run.t[-1] == end else other).events
    return (str(events["contact"][-1]), str(events["kind"][-1])) if len(events) else ("", "")
