"""Orders of convergence on fixed grids, averaged because errors scatter with the place of impacts in their steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any, Literal

import numpy as np

from saltus.errors import SettingError
from saltus.problem import Exact, Problem
from saltus.run.progress import StudyProgress
from saltus.solution import Solution
from saltus.solve import solve
from saltus.status import Status

from .curve import QUANTITIES
from .labels import label_of
from .measure import check_norms, measure
from .table import Convergence

GOLDEN = (5.0**0.5 - 1.0) / 2.0  # its multiples modulo 1 fill the unit interval as evenly as can be
SPREAD = 0.35  # of log(h) within a level: wide enough that the place of an impact in its step is any


def convergence(
    problem: Problem,
    schemes,
    *,
    h: float | Sequence[float] | np.ndarray,
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
        Largest step size [s], halved from level to level, or the step sizes of all levels, or those of all runs
        (levels, grids), which are then taken as they are.
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
    sizes = step_sizes(h, levels, grids)
    check_norms(norms)
    if problem.exact is None and reference is None:
        raise SettingError(f"{problem.name or 'the problem'} has no exact solution: give a reference")
    found = {(label, x, norm): np.empty(sizes.shape) for label in named for x in quantities for norm in norms}
    with StudyProgress([*(1.0 / sizes.ravel())] * len(named), progress) as bar:
        for label, scheme in named.items():
            for place in np.ndindex(sizes.shape):
                bar.next_run()
                run = _run(problem, scheme, float(sizes[place]))
                for quantity in quantities:
                    made = measure(run, reference, quantity, norms, where, (columns or {}).get(quantity))
                    for norm, value in made.items():
                        found[label, quantity, norm][place] = value
    return Convergence(problem.name or problem.system.name or "problem", named, sizes, found)


def _run(problem: Problem, scheme, h: float) -> Solution:
    start, end = problem.t_span
    steps = floor((end - start) / h)
    if steps < 1:
        raise SettingError(f"h = {h} is larger than the span {problem.t_span}: take a smaller h")
    run = solve(problem, (start, start + steps * h), scheme=scheme, h=h, progress=False)
    if run.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # a part of a run has no error to compare with those of others
    return run


def step_sizes(h, levels: int, grids: int) -> np.ndarray:
    """Return step sizes (levels, grids) with irrational ratios around those of the levels, or those that are given."""
    means = np.asarray(h, float) if np.ndim(h) else float(h) * 2.0 ** -np.arange(levels)
    if means.ndim == 2 and len(means) >= 2 and means.shape[1] >= 1 and np.all(means > 0.0):
        return means
    if means.ndim > 1 or len(means) < 2 or grids < 1 or np.any(means <= 0.0):
        raise SettingError(f"h = {h} with {levels} levels and {grids} grids: an order needs two positive sizes")
    share = (GOLDEN * (1 + np.arange(len(means) * grids))) % 1.0
    return means[:, None] * np.exp(SPREAD * (share.reshape(len(means), grids) - 0.5))


def _named(schemes) -> dict[str, Any]:
    if isinstance(schemes, Mapping):
        return dict(schemes)
    made = list(schemes) if isinstance(schemes, Sequence) else [schemes]
    labels = [label_of(scheme) for scheme in made]
    if len(set(labels)) < len(labels):
        raise SettingError(f"two schemes are called the same among {labels}: give {{label: scheme}}")
    return dict(zip(labels, made, strict=True))
