"""Orders of convergence on fixed grids, averaged because errors scatter with the place of impacts in their steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from math import floor
from typing import Any, Literal

import numpy as np

from saltus.errors import SettingError
from saltus.problem import Exact, Problem
from saltus.progress import Progress
from saltus.solution import Solution
from saltus.solve import solve

from .curve import QUANTITIES
from .hausdorff import hausdorff
from .norms import NORMS, errors
from .table import Convergence

GOLDEN = (5.0**0.5 - 1.0) / 2.0  # its multiples modulo 1 fill the unit interval as evenly as can be
SPREAD = 0.35  # of log(h) within a level: wide enough that the place of an impact in its step is any


def convergence(
    problem: Problem,
    schemes,
    *,
    h: float | Sequence[float],
    levels: int = 5,
    grids: int = 6,
    quantities: Sequence[str] = QUANTITIES,
    norms: Sequence[str] = ("L1",),
    where: Literal["dense", "grid"] = "dense",
    reference: Solution | Exact | None = None,
    columns: Mapping[str, Sequence[int]] | None = None,
    progress: bool | None = None,
) -> Convergence:
    """Run schemes over halved step sizes and fit the orders of their errors.

    On each level `grids` runs are made with step sizes around h whose ratios are irrational, so that impacts fall
    anywhere in a step; their errors are averaged, and the order is the least-squares slope over all levels. Every run
    takes whole steps and ends less than one step before the end of the span.

    Parameters
    ----------
    problem
        With an exact solution, unless there is a reference.
    schemes
        A scheme, a list of schemes, or {label: scheme}.
    h
        Largest step size [s], halved from level to level, or the step sizes of all levels.
    levels, grids
        How many; at least 4 and 6 give orders one can trust.
    quantities
        Any of "q", "v", "impulse".
    norms
        Any of "L1", "L2", "Linf", "hausdorff".
    where
        Where L1, L2 and Linf are taken, see `errors`.
    reference
        What to compare with instead of the exact solution.
    columns
        {quantity: columns} to compare, all by default.
    progress
        Show a progress bar; None shows one on a terminal when it takes more than a second.
    """
    named = _named(schemes)
    sizes = _sizes(h, levels, grids)
    for norm in norms:
        if norm not in (*NORMS, "hausdorff"):
            raise SettingError(f"norm is {norm!r}: it must be one of {', '.join((*NORMS, 'hausdorff'))}")
    if problem.exact is None and reference is None:
        raise SettingError(f"{problem.name or 'the problem'} has no exact solution: give a reference")
    found = {(label, x, norm): np.empty(sizes.shape) for label in named for x in quantities for norm in norms}
    done, total = 0.0, len(named) * float(np.sum(1.0 / sizes))
    with Progress((0.0, total), progress) as bar:
        for label, scheme in named.items():
            for place in np.ndindex(sizes.shape):
                run = _run(problem, scheme, float(sizes[place]))
                for quantity in quantities:
                    made = _measure(run, reference, quantity, norms, where, (columns or {}).get(quantity))
                    for norm, value in made.items():
                        found[label, quantity, norm][place] = value
                done += 1.0 / sizes[place]
                bar.show(float(done))
    return Convergence(problem.name or problem.system.name or "problem", named, sizes, found)


def _measure(run, reference, quantity, norms, where, columns) -> dict[str, float]:
    made = errors(run, reference, quantity, [n for n in norms if n in NORMS], where=where, columns=columns)
    if "hausdorff" in norms:
        made["hausdorff"] = hausdorff(run, reference, quantity, columns=columns)
    return made


def _run(problem: Problem, scheme, h: float) -> Solution:
    start, end = problem.t_span
    steps = floor((end - start) / h)
    if steps < 1:
        raise SettingError(f"h = {h} is larger than the span {problem.t_span}: take a smaller h")
    return solve(problem, (start, start + steps * h), scheme=scheme, h=h, progress=False)


def _sizes(h, levels: int, grids: int) -> np.ndarray:
    """Return step sizes (levels, grids) with irrational ratios around those of the levels."""
    means = np.asarray(h, float) if np.ndim(h) else float(h) * 2.0 ** -np.arange(levels)
    if len(means) < 2 or grids < 1 or np.any(means <= 0.0):
        raise SettingError(f"h = {h} with {levels} levels and {grids} grids: an order needs two positive sizes")
    share = (GOLDEN * (1 + np.arange(len(means) * grids))) % 1.0
    return means[:, None] * np.exp(SPREAD * (share.reshape(len(means), grids) - 0.5))


def _named(schemes) -> dict[str, Any]:
    if isinstance(schemes, Mapping):
        return dict(schemes)
    made = list(schemes) if isinstance(schemes, Sequence) else [schemes]
    labels = [_label(scheme) for scheme in made]
    if len(set(labels)) < len(labels):
        raise SettingError(f"two schemes are called the same among {labels}: give {{label: scheme}}")
    return dict(zip(labels, made, strict=True))


def _label(scheme) -> str:
    """Return the class with the settings that differ from their defaults."""
    if not dataclasses.is_dataclass(scheme):
        return str(getattr(scheme, "name", scheme))
    shown = [
        f"{field.name}={getattr(scheme, field.name)!r}"
        for field in dataclasses.fields(scheme)
        if getattr(scheme, field.name) != field.default
    ]
    return f"{type(scheme).__name__}({', '.join(shown)})"
