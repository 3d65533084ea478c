"""The history of the steps of a run: sizes with rejected attempts and events, error estimates, degrees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.errors import SettingError
from saltus.plot.page import PLOT, looks, new_figure, saved, title_of

if TYPE_CHECKING:
    from saltus.solution import Solution


def plot_steps(solution: Solution, *, path: str | os.PathLike | None = None) -> Figure:
    """Draw the history of the steps: sizes with rejected attempts and events, error estimates, degrees.

    Panels that would be empty are left out: a scheme with a fixed step shows its sizes alone. path writes .png, .pdf
    or .svg.
    """
    if len(solution.t) < 2:
        raise SettingError("the run has no steps to draw")
    panels = [_draw_sizes]
    panels += [_draw_estimates] if np.any(solution.step_error > 0.0) else []
    panels += [_draw_degrees] if np.any(solution.step_degree > 0.0) else []
    with looks():
        figure = new_figure(None, 0.7 + 1.75 * len(panels))
        places = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        places[0].set_title(title_of(solution), loc="left", fontsize=10.0)
        places[0].set_xlim(solution.t[0], solution.t[-1])
        places[-1].set_xlabel("time t [s]")
        figure.align_ylabels(places)
        for panel, axes in zip(panels, places, strict=True):
            panel(axes, solution)
        saved(figure, path)
    return figure


def _draw_sizes(axes: Axes, solution: Solution) -> None:
    h, rejected = np.diff(solution.t), solution.step_rejections
    axes.stairs(h, solution.t, color="C0", baseline=None, label=f"{len(h):,} steps")
    if np.any(rejected > 0):
        again = rejected > 0
        axes.plot(solution.t[:-1][again], h[again], "x", color="C3", label=f"{rejected.sum():,} rejected before")
    hits = solution.events["t"][solution.events["kind"] == "impact"]
    if 0 < len(hits) <= PLOT.most_points // 8:
        axes.vlines(hits, 0.0, 0.04, transform=axes.get_xaxis_transform(), color="0.5", lw=0.8, label="impacts")
    axes.set_yscale("log")
    axes.set_ylabel("step size h [s]")
    axes.legend(loc="upper right", frameon=False, fontsize=8.0)


def _draw_estimates(axes: Axes, solution: Solution) -> None:
    error = np.where(solution.step_error > 0.0, solution.step_error, np.nan)
    axes.plot(solution.t[1:], error, ".", ms=3.0, color="C1")
    axes.axhline(1.0, color="0.5", lw=0.8)
    axes.set_yscale("log")
    axes.set_ylabel("error / tolerance")


def _draw_degrees(axes: Axes, solution: Solution) -> None:
    axes.stairs(solution.step_degree, solution.t, color="C2", baseline=None)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("degree, order")
