"""The picture of lecture_orders: errors of v over h in four norms, and filled-in graphs of coarse runs."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from saltus.plot import COLOURS, SolutionFigure
from saltus.problem import Problem
from saltus.schemes import MoreauJean
from saltus.solve import solve
from saltus.study.measure import ALL_NORMS
from saltus.study.picture import PLOT_MARKS

from .lecture_orders import PROBLEMS, SCHEMES
from .tabled import Tabled

ORDER_TITLES = {
    "L1": "v in L1 [m]",
    "L2": "v in L2 [m/s$^{1/2}$]",
    "Linf": "v, largest error [m/s]",
    "hausdorff": "v, distance of filled-in graphs [s]",
}
COARSE_STEPS = {"ball": 0.07, "oscillator": 0.31}  # steps [s] of the graphs: jumps at wrong times can be seen


def draw(made: Tabled) -> Figure:
    """Draw all panels: a row per problem."""
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 8.5}):
        figure = SolutionFigure(figsize=(16.0, 6.6))
        FigureCanvasAgg(figure)
        places = figure.subplots(
            len(PROBLEMS), 5, squeeze=False,
            gridspec_kw={"width_ratios": [1.0, 1.0, 1.0, 1.0, 1.7], "left": 0.05, "right": 0.99, "top": 0.86,
                         "bottom": 0.09, "wspace": 0.28, "hspace": 0.36},
        )  # fmt: skip
        for row, (name, make) in zip(places, PROBLEMS.items(), strict=True):
            for axes, norm in zip(row, ALL_NORMS, strict=False):
                _errors(axes, made.results[name, norm], norm)
            row[0].set_ylabel(f"{name}: mean error")
            _graphs(row[-1], make(), COARSE_STEPS[name])
        for axes in places[-1, :4]:
            axes.set_xlabel("h [s]")
        for axes, norm in zip(places[0], ALL_NORMS, strict=False):
            axes.set_title(ORDER_TITLES[norm], fontsize=9.0)
        places[0, -1].set_title("filled-in graphs of v, steps coarse enough to be seen", fontsize=9.0)
        handles = [
            Line2D([], [], color=COLOURS[k], marker=PLOT_MARKS[k], markersize=4.0, linewidth=1.0, label=label)
            for k, label in enumerate(SCHEMES)
        ]
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.045, 0.995), ncols=4, frameon=False)
    return figure


def _errors(axes: Axes, table, norm: str) -> None:
    """Draw the mean errors of all schemes, and a line of the promised slope."""
    h = table.h.mean(axis=1)
    for k, label in enumerate(SCHEMES):
        mean = table.mean(label, "v", norm)
        axes.loglog(h, mean, color=COLOURS[k], marker=PLOT_MARKS[k], markersize=4.0, linewidth=1.0)
    top = max(table.mean(label, "v", norm).max() for label in SCHEMES)
    slope = {"L1": 1.0, "L2": 0.5, "Linf": 0.0, "hausdorff": 1.0}[norm]
    axes.loglog(h, 2.0 * top * (h / h[0]) ** slope, color="#999999", linewidth=0.9, linestyle="--")
    # above and left of the line, where nothing is drawn
    axes.annotate(
        f"slope {slope:g}", (h[1], 2.0 * top * (h[1] / h[0]) ** slope), (-3.0, 3.0), textcoords="offset points",
        color="#777777", fontsize=7.5, ha="right", va="bottom",
    )  # fmt: skip
    axes.xaxis.set_minor_formatter(NullFormatter())
    if norm == "Linf":  # flat lines need room to be seen as such
        axes.set_ylim(top / 30.0, 10.0 * top)


def _graphs(axes: Axes, problem: Problem, h: float) -> None:
    """Draw exact and computed velocity with their vertical segments."""
    run, exact = solve(problem, scheme=MoreauJean(), h=h), problem.exact
    if exact is None:
        return
    times = np.unique(np.concatenate([np.linspace(*problem.t_span, 2001), exact.jumps]))
    both = np.stack([exact.v(np.nextafter(times, -np.inf))[:, 0], exact.v(times)[:, 0]], axis=1)
    both[0, 0] = both[0, 1]
    axes.plot(np.repeat(times, 2), both.ravel(), color="#bbbbbb", linewidth=3.0, label="exact")
    both = np.stack([run.v_minus[:, 0], run.v[:, 0]], axis=1)
    axes.plot(
        np.repeat(run.t, 2), both.ravel(), color=COLOURS[0], linewidth=1.0, label=f"Moreau-Jean, θ = 1/2, h = {h:g} s"
    )
    axes.set_xlabel("t [s]")
    axes.set_ylabel("v [m/s]")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.3 * (high - low))  # room for the legend above the curves
    axes.legend(frameon=False, fontsize=7.5, loc="upper right", ncols=2)
