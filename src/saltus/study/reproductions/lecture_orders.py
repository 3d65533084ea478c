"""Empirical orders of Moreau-Jean, Schatzman-Paoli and splitting (Acary, Lecture 2, Aussois 2010, first half).

Ball and linear oscillator, errors of the velocity over the grid in L1, L2 and Linf (48), (49) and as the distance of
the filled-in graphs (44) to (47). The lecture draws its figures without numbers: the oscillator is `impact_oscillator`.
"""

from __future__ import annotations

import functools

import numpy as np

from saltus import problems
from saltus.errors import SettingError
from saltus.problem import Problem
from saltus.schemes import MoreauJean, SchatzmanPaoli, Splitting
from saltus.study.convergence import convergence, step_sizes
from saltus.study.measure import ALL_NORMS
from saltus.study.norms import NORMS
from saltus.study.table import Convergence

from .tabled import Tabled

TITLE = "Empirical orders of time-stepping schemes (Acary, Lecture 2, 2010): v over the grid, mean of several grids"
PROBLEMS = {"ball": problems.zeno_ball, "oscillator": problems.impact_oscillator}
SCHEMES = {
    "Moreau-Jean, θ = 1/2": MoreauJean(),
    "Moreau-Jean, θ = 1": MoreauJean(theta=1.0),
    "Schatzman-Paoli": SchatzmanPaoli(),
    "splitting, RKF45": Splitting("rkf45", contact_forces=False),
}
# largest h [s], levels halved from it, grids on each of them for the norms and for the graphs, which cost more
ORDER_SIZES = {
    "full": {"ball": (0.0025, 6, 12, 8), "oscillator": (0.04, 6, 12, 8)},
    "quick": {"ball": (0.02, 4, 4, 4), "oscillator": (0.04, 4, 4, 4)},
}
GRAPHS = "hausdorff"
PROMISED = {"L1": "1", "L2": "1/2", "Linf": "0", GRAPHS: "1"}
SLOW = "splitting, RKF45"  # whose errors on the ball are shown level by level: their orders settle late


def lecture_orders(*, quick: bool = False, progress: bool | None = None) -> Tabled:
    """Fit the orders of v in four norms, and those of q in L1 and Linf, through impacts on many grids.

    results: {(problem, norm): Convergence}.

    Parameters
    ----------
    quick
        Fewer and larger step sizes: some seconds instead of a minute.
    progress
        Show a progress bar; None shows one on a terminal when it takes more than a second.
    """
    sizes, tables, found = ORDER_SIZES["quick" if quick else "full"], {}, {}
    for name, make in PROBLEMS.items():
        h, levels, grids, graphs = sizes[name]
        problem = make()
        runs = functools.partial(convergence, problem, SCHEMES, where="grid", progress=progress)
        norms = runs(h=_even(problem, h, levels, grids), quantities=("q", "v"), norms=NORMS)
        found |= {(name, norm): norms for norm in NORMS}
        found[name, GRAPHS] = runs(h=_even(problem, h, levels, graphs), quantities=("v",), norms=(GRAPHS,))
        tables[f"{name}, h = {h:g} to {h / 2 ** (levels - 1):.2g} s"] = _orders(name, found)
    tables[f"{SLOW} on the ball, level by level"] = _levels("ball", found)
    return Tabled(TITLE, tables, found, _draw)


def _even(problem: Problem, h: float, levels: int, grids: int) -> np.ndarray:
    """Return step sizes (levels, grids) by which the first impact falls evenly into all parts of its step.

    Errors through impacts are proportional to where in its step an impact falls, the first one above all. Places left
    to chance scatter by 40 %, which in the mean of a dozen grids is more than a level changes the order.
    """
    exact = problem.exact
    if exact is None:
        raise SettingError(f"{problem.name} has no exact solution to compare with")
    first = float(exact.jumps[0]) - problem.t_span[0]
    return first / (np.floor(first / step_sizes(h, levels, grids)) + (np.arange(grids) + 0.5) / grids)


def _orders(name: str, found: dict[tuple[str, str], Convergence]) -> list[list[str]]:
    """Return the fitted orders of all schemes on a problem."""
    cells = [["scheme", *(f"v, {norm}" for norm in ALL_NORMS), "q, L1", "q, Linf", "finest v, L1 [m]"]]
    cells.append(["promised", *(PROMISED[norm] for norm in ALL_NORMS), "1", "1", ""])
    for label in SCHEMES:
        orders = [found[name, norm].order(label, "v", norm) for norm in ALL_NORMS]
        orders += [found[name, norm].order(label, "q", norm) for norm in ("L1", "Linf")]
        cells.append([label, *(f"{order:.2f}" for order in orders), f"{found[name, 'L1'].mean(label, 'v')[-1]:.1e}"])
    return cells


def _levels(name: str, found: dict[tuple[str, str], Convergence]) -> list[list[str]]:
    """Return errors over h, which settle where the order is one, and those of the graphs over h log2(1/h) too."""
    norms, graphs = found[name, "L1"], found[name, GRAPHS]
    h, wide = norms.h.mean(axis=1), graphs.h.mean(axis=1)
    distance = graphs.mean(SLOW, "v", GRAPHS)
    columns = {
        "h [s]": h,
        "v, L1, over h": norms.mean(SLOW, "v", "L1") / h,
        "v, L2, over h^(1/2)": norms.mean(SLOW, "v", "L2") / h**0.5,
        "v, Linf": norms.mean(SLOW, "v", "Linf"),
        "v, hausdorff, over h": distance / wide,
        "over h log2(1/h)": distance / (wide * np.log2(1.0 / wide)),
    }
    rows = np.column_stack(list(columns.values()))
    return [list(columns), *([f"{row[0]:.1e}", *(f"{value:.2f}" for value in row[1:])] for row in rows)]


def _draw(made: Tabled):
    from .lecture_orders_picture import draw  # here, because it brings matplotlib

    return draw(made)
