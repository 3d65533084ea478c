"""The picture of a convergence study: errors over step sizes with their slopes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from saltus.plot import COLOURS, SolutionFigure

if TYPE_CHECKING:
    from .table import Convergence

QUANTITY_NAMES = {"q": "position q", "v": "velocity v", "impulse": "impulse i"}
PLOT_MARKS = "osD^vPX*"
LEAST_RANGE = 100.0  # of the errors in a panel
NORM_NAMES = {"L1": "$L_1$", "L2": "$L_2$", "Linf": "$L_\\infty$", "hausdorff": "Hausdorff"}


def plot_convergence(table: Convergence, *, path: str | os.PathLike | None = None) -> Figure:
    """Draw one panel per quantity (columns) and norm (rows)."""
    quantities, norms = (list(dict.fromkeys(key[k] for key in table.errors)) for k in (1, 2))
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9.0}):
        size = 1.0 + 3.2 * len(quantities), 0.9 + 2.5 * len(norms)
        figure = SolutionFigure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        places = figure.subplots(len(norms), len(quantities), sharex=True, squeeze=False)
        for norm, row in zip(norms, places, strict=True):
            for quantity, place in zip(quantities, row, strict=True):
                _panel(place, table, quantity, norm)
        for place in places[-1]:
            place.set_xlabel("step size h [s]")
        figure.suptitle(f"{table.problem.replace('_', ' ')}: errors, mean of {table.h.shape[1]} grids", fontsize=10.0)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _panel(axes: Axes, table: Convergence, quantity: str, norm: str) -> None:
    h = table.h.mean(axis=1)
    for k, label in enumerate(table.schemes):
        colour, mark = COLOURS[k % len(COLOURS)], PLOT_MARKS[k % len(PLOT_MARKS)]
        mean, order = table.mean(label, quantity, norm), table.order(label, quantity, norm)
        axes.plot(table.h.ravel(), table.errors[label, quantity, norm].ravel(), ".", color=colour, ms=2.5, alpha=0.45)
        axes.plot(h, mean, mark, color=colour, ms=5.0, label=f"{label}: {order:.2f}")
        if np.isfinite(order):
            axes.plot(h, table.constant(label, quantity, norm) * h**order, color=colour, linewidth=1.0)
    log_panel(axes)
    axes.set_title(f"{QUANTITY_NAMES[quantity]}, {NORM_NAMES[norm]}", fontsize=9.0, loc="left")
    axes.legend(frameon=False, fontsize=7.5, handlelength=1.0, title="scheme: order", title_fontsize=7.5)


def log_panel(axes: Axes) -> None:
    """Make both axes logarithmic, with a grid behind the curves."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < LEAST_RANGE * low:  # rounding around a constant must not fill the panel
        middle = (low * high) ** 0.5
        axes.set_ylim(middle / LEAST_RANGE**0.5, middle * LEAST_RANGE**0.5)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color="#E4E4E4", linewidth=0.6)
    axes.set_axisbelow(True)
