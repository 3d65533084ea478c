"""Where the energy of a run is: kinetic, taken by each contact, against what the forces brought; and the defect."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from saltus.errors import SettingError
from saltus.plot.curve import Curve, dense_curve
from saltus.plot.event_time import Clock, Time
from saltus.plot.page import (
    COLOURS,
    PLOT,
    Width,
    figure_of,
    grid,
    legend_beside,
    looks,
    new_figure,
    palette,
    saved,
    title_of,
)

if TYPE_CHECKING:
    from saltus.solution import Solution

ENLARGED_BELOW, KEPT_SHOWN = 0.3, 0.5  # a change below this share of the energy is enlarged, this share of it below
MOST_NAMED = 12  # contacts with an area of their own: the largest; the rest share one, which says how many they are


def energy(
    solution: Solution,
    *,
    time: Time = "time",
    axes: Axes | Sequence[Axes] | None = None,
    width: Width = None,
    path: str | os.PathLike | None = None,
) -> tuple[Axes, ...]:
    """Draw the energy budget: kinetic energy and what each contact took as areas, what the forces brought as a line.

    kinetic + dissipation = kinetic at the start + work + defect: the areas reach up to the line but for the defect of
    the scheme, whose size is drawn in a second panel with a logarithmic axis.

    Parameters
    ----------
    solution
        What `solve` returned.
    time
        "time", or "event" for equal room between impacts.
    axes
        One matplotlib Axes for the budget alone, or two, the second one for the defect; None makes a new figure.
    width, path
        Width of a new figure; file to write.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        Budget, and defect where it is drawn.
    """
    if len(solution.t) < 2:
        raise SettingError("the run has no steps to draw")
    clock = Clock(solution, time)
    with looks(width):
        places = _places(axes, width, solution)
        clock.label(places[-1], places[0])
        _draw_budget(places[0], solution, clock)
        if len(places) > 1:
            _draw_defect(places[1], solution, clock)
        places[0].set_xlim(*clock(solution.t[[0, -1]]))
        saved(figure_of(places[0]), path)
    return tuple(places)


def _places(axes: Axes | Sequence[Axes] | None, width: Width, solution: Solution) -> list[Axes]:
    if axes is None:
        figure = new_figure(width, 5.0)
        pair = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1.0))
        if width is None:
            pair[0].set_title(title_of(solution), loc="left", fontsize=10.0)
        figure.align_ylabels(pair)
        return list(pair)
    made = [axes] if isinstance(axes, Axes) else list(axes)
    if len(made) not in (1, 2) or not all(isinstance(one, Axes) for one in made):
        raise SettingError("axes must be one matplotlib Axes for the budget, or two: budget and defect")
    return made


def _draw_budget(axes: Axes, solution: Solution, clock: Clock) -> None:
    curve = _ledger(solution)
    # both sides of every time, so that losses of impacts are vertical
    x = np.repeat(clock(curve.t), 2)
    both = np.stack([curve.left, curve.right], axis=1).reshape(len(x), -1)
    kinetic, brought, lost = both[:, 0], both[:, 1], both[:, 2:]
    order = np.argsort(-lost[-1], kind="stable")
    names = [solution.system.contact_names[c] for c in order]
    if len(order) > MOST_NAMED:
        rest = lost[:, order[MOST_NAMED:]].sum(axis=1, keepdims=True)
        lost, names = np.hstack([lost[:, order[:MOST_NAMED]], rest]), [
            *names[:MOST_NAMED], f"{len(order) - MOST_NAMED} other contacts"
        ]  # fmt: skip
    else:
        lost = lost[:, order]
    colours = ["#BBBBBB", *palette(max(lost.shape[1], 1))]
    areas = axes.stackplot(x, kinetic, *lost.T, colors=colours, labels=["kinetic", *names], linewidth=0.0, alpha=0.85)
    (line,) = axes.plot(x, brought, color="black", linewidth=0.9, label="at the start + work")
    axes.set_ylabel("energy [J]")
    axes.ticklabel_format(axis="y", scilimits=(-3, 5), useMathText=True)
    grid(axes)
    axes.set_ylim(bottom=_bottom(kinetic, brought))
    legend_beside(axes, [line, *reversed(areas)])


def _bottom(kinetic: np.ndarray, brought: np.ndarray) -> float:
    """Return where the axis begins: not at zero where a wheel keeps so much that nobody could see what impacts take."""
    low, high = float(np.min(kinetic)), float(np.max(brought))
    return low - KEPT_SHOWN * (high - low) if high - low < ENLARGED_BELOW * high else 0.0


def _ledger(solution: Solution) -> Curve:
    """Return kinetic energy, energy at the start + work, and what each contact took, over time and from both sides."""

    def values(t: np.ndarray, side) -> np.ndarray:
        at = solution.energy_at(t, side)
        return np.column_stack([at.kinetic, solution.energy.kinetic[0] + at.work, at.dissipation])

    kept = solution.energy
    right = np.column_stack([kept.kinetic, kept.kinetic[0] + kept.work, kept.dissipation])
    if not solution.every_step or len(solution.t) > PLOT.most_points:
        return Curve(solution.t, right, right)
    try:
        left = values(solution.t, "-")
    except SettingError:
        return Curve(solution.t, right, right)  # a file without a model knows the side behind an impact alone
    left[0] = right[0]
    return dense_curve(solution, values, Curve(solution.t, left, right))


def _draw_defect(axes: Axes, solution: Solution, clock: Clock) -> None:
    defect = np.abs(solution.energy.defect)
    smallest = np.finfo(float).eps * max(float(np.max(solution.energy.kinetic)), 1e-300)
    x = clock(solution.t)
    axes.plot(x, np.where(defect > 0.0, np.maximum(defect, smallest), np.nan), color=COLOURS[3], linewidth=1.1)
    axes.set_yscale("log")
    if not np.any(defect > 0.0):
        axes.text(0.5, 0.5, "no defect at all", transform=axes.transAxes, ha="center", va="center", color="0.4")
        axes.set_yticks([])
    axes.set_ylabel("|defect| [J]")
    grid(axes)
