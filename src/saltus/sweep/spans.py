"""When runs begin and end, where their sections lie, how long their first steps are, and where they start."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.ensemble.engine import span_rows
from saltus.errors import ModelError, SettingError
from saltus.problem import Problem, check_span
from saltus.schemes.traits import traits_of
from saltus.solve import Arranged, arranged
from saltus.sweep.measures import Strobe, times_of
from saltus.sweep.swept import real
from saltus.system import System

if TYPE_CHECKING:
    from saltus.sweep.asked import Asked


def spans_of(asked: Asked, first: Mapping[str, Any], problem: Problem) -> tuple[np.ndarray, int, int]:
    """Return the spans of all runs, the periods before the first section, and sections."""
    runs, period = asked.runs, getattr(asked.section, "period", None)
    if asked.t_span is not None and (isinstance(asked.t_span, str) or np.ndim(asked.t_span) != 1):
        raise SettingError(f"t_span is {asked.t_span!r}: give (start, end) in seconds")
    if asked.t_span is not None and len(asked.t_span) != 2:
        raise SettingError(f"t_span has {len(asked.t_span)} entries: give (start, end) in seconds")
    begin = problem.t_span[0] if asked.t_span is None else asked.t_span[0]
    begin = times_of(begin, "the start of t_span", asked.table, first, runs)
    if period is not None:
        length = times_of(period, "period", asked.table, first, runs)
        if not np.all(length > 0.0):
            raise SettingError(f"period is {length[~(length > 0.0)][0]}: it must be a positive time [s]")
        if asked.t_span is not None and asked.t_span[1] is not None:
            raise SettingError(
                f"t_span ends at {asked.t_span[1]!r:.60}, but runs with a section take transient + keep periods: leave "
                "the end out, as in t_span=(0, None)"
            )
        skip = int(asked.transient)
        end = begin + length * (skip + asked.keep)
        after = begin + length * skip
        strobe = isinstance(asked.section, Strobe)
        return span_rows(begin, end, 1.0, after, length, runs), skip, asked.keep if strobe else 0
    if asked.t_span is None and isinstance(asked.model, System):
        raise SettingError("t_span is missing: give (start, end) in seconds")
    last = problem.t_span[1] if asked.t_span is None else asked.t_span[1]
    end = times_of(last, "the end of t_span", asked.table, first, runs)
    worst = int(np.argmin(end - begin))
    check_span((begin[worst], end[worst]))
    shortest = int(np.argmin(end - begin))
    transient = real(asked.transient)
    if transient is None or transient.shape or not 0.0 <= transient < end[shortest] - begin[shortest]:
        raise SettingError(
            f"transient is {asked.transient!r}: it must be a time of zero or more, shorter than the "
            f"{end[shortest] - begin[shortest]:g} s of run {shortest}, or nothing is measured"
        )
    after = begin + float(transient) if transient > 0.0 else np.full(runs, -np.inf)
    return span_rows(begin, end, 1.0, after, 0.0, runs), 0, 0


def strobe_times(span: np.ndarray, skip: int, keep: int) -> list[float]:
    """Return where the segments of a run end, without its end."""
    begin, period = float(span[0]), float(span[4])
    return [begin + period * (skip + j) for j in range(1, keep)]


def first_steps(arrangement: Arranged, options: Mapping[str, Any], spans: np.ndarray) -> np.ndarray:
    """Return the first step of every run, as `solve` chooses it."""
    settings, length = arrangement.settings, spans[:, 1] - spans[:, 0]
    if options.get("h") is not None:
        _check_grids(arrangement, options, length)
        return np.full(len(spans), settings.h)
    traits = traits_of(settings.scheme)
    share = traits.first_share if traits.adaptive else getattr(settings.control, "first_share", traits.first_share)
    made = share * length
    if options.get("max_step") is not None:
        made = np.minimum(made, settings.control.h_max)
    return made


def _check_grids(arrangement: Arranged, options: Mapping[str, Any], length: np.ndarray) -> None:
    """Let `solve` refuse a step that does not fit some span."""
    problem = arrangement.problem
    for one in {float(length.min()), float(length.max())} | (
        set(length.tolist()) if traits_of(arrangement.settings.scheme).fixed_step else set()
    ):
        arranged(
            dataclasses.replace(problem, t_span=(problem.t_span[0], problem.t_span[0] + one)),
            **{name: value for name, value in options.items() if name not in ("events", "breaks")},
        )


def starts_of(asked: Asked, problem: Problem, runs: int) -> np.ndarray:
    """Return q and v of every run, one row each."""
    parts = []
    for name, given, usual in (("q0", asked.q0, problem.q0), ("v0", asked.v0, problem.v0)):
        numbers = real(usual if given is None else given)
        if numbers is None:
            raise SettingError(f"{name} is {given!r:.60}: give numbers, or one row of them for each of the {runs} runs")
        value = np.atleast_1d(numbers)
        if value.ndim == 1:
            value = value[None, :]
        if value.ndim != 2 or value.shape[1] != len(usual) or value.shape[0] not in (1, runs):
            raise SettingError(
                f"{name} has shape {value.shape}: give {len(usual)} numbers, or one row of them for each of the "
                f"{runs} runs"
            )
        if not np.all(np.isfinite(value)):
            raise ModelError(f"{name} of run {int(np.argwhere(~np.isfinite(value))[0][0])} is not finite")
        parts.append(np.broadcast_to(value, (runs, len(usual))))
    return np.ascontiguousarray(np.concatenate(parts, axis=1))
