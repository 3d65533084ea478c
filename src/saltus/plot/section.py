"""Poincare section: a run looked at once per period, at events, or where a quantity crosses a value."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes

from saltus.errors import SettingError
from saltus.plot.curve import dense_curve
from saltus.plot.page import COLOURS, Width, figure_of, grid, looks, place, saved, title_of
from saltus.plot.phase import named, nodes_of, quantities, values_of
from saltus.results.names import column_of
from saltus.results.sample import span_of

if TYPE_CHECKING:
    from saltus.results.records import Side
    from saltus.solution import Solution

HALVINGS = 60  # of an interval with a crossing: down to rounding
ROUNDING = 1e-9  # of the largest value in the run: points closer than this are the same


def section(
    solution: Solution,
    x: str | int = 0,
    y: str | int | None = None,
    *,
    period: float | None = None,
    phase: float = 0.0,
    event: str | None = None,
    crossing: tuple[str | int, float] | None = None,
    direction: Literal["up", "down", "both"] = "up",
    side: Side = "+",
    span: tuple[float, float] | None = None,
    axes: Axes | None = None,
    width: Width = None,
    path: str | os.PathLike | None = None,
) -> Axes:
    """Draw a Poincare section: x against y at chosen times of a run. Give one of period, event and crossing.

    Parameters
    ----------
    solution
        What `solve` returned.
    x, y
        Coordinates or velocities by name or number; y is the velocity of x by default.
    period, phase
        Look once per period, at phase, phase + period, ... [s].
    event
        Look at the events of a contact, of an `Event` or of a kind ("impact").
    crossing, direction
        Look where a coordinate or velocity crosses a value, ("x", 0.0): upwards, downwards or both. A jump across the
        value counts.
    side
        Limit that is drawn where velocities jump: "+" behind an impact, "-" before it.
    span
        Begin and end [s]; leave the first part out to see what lasts.
    axes, width, path
        Where to draw; width of a new figure; file to write.

    Returns
    -------
    matplotlib.axes.Axes
        One line of points, later ones on top.
    """
    across, up = quantities(solution, x, y)
    times = section_times(solution, period, phase, event, crossing, direction, span)
    points = values_of(solution, across, up)(times, side)
    with looks(width):
        axes = place(axes, width, 5.0, title_of(solution))
        axes.plot(*points.T, ".", color=COLOURS[0], markersize=4.0 if len(points) < 2000 else 2.0, alpha=0.8)
        axes.set_xlabel(named(across))
        axes.set_ylabel(named(up))
        axes.margins(0.08)
        for column, one, limits in ((0, across, axes.set_xlim), (1, up, axes.set_ylim)):
            _no_rounding(points[:, column], values_of(solution, one)(solution.t, "+")[:, 0], limits)
        grid(axes)
        saved(figure_of(axes), path)
    return axes


def _no_rounding(points: np.ndarray, run: np.ndarray, limits: Any) -> None:
    """Give the axis of a quantity that is the same in all points a width: that of roundings shows nothing."""
    size = float(np.max(np.abs(run)))
    if np.ptp(points) <= ROUNDING * size and size > 0.0:
        middle = float(np.mean(points))
        middle = 0.0 if abs(middle) <= ROUNDING * size else middle
        limits(middle - 0.05 * size, middle + 0.05 * size)


def section_times(
    solution: Solution,
    period: float | None,
    phase: float,
    event: str | None,
    crossing: tuple[str | int, float] | None,
    direction: str,
    span: tuple[float, float] | None,
) -> np.ndarray:
    """Return the times of a section [s]."""
    if sum(given is not None for given in (period, event, crossing)) != 1:
        raise SettingError("a section needs one of period=, event= and crossing=")
    begin, end = span_of(solution, span)
    if period is not None:
        if not 0.0 < period < np.inf:
            raise SettingError(f"period is {period!r}: it must be a positive time [s]")
        first = np.ceil((begin - phase) / period - 1e-12)
        times = phase + period * np.arange(first, np.floor((end - phase) / period + 1e-12) + 1.0)
        times = np.clip(times, begin, end)
    elif event is not None:
        times = np.unique(solution.events.of(event)["t"])
    else:
        times = _crossings(solution, crossing, direction)
    times = times[(times >= begin) & (times <= end)]
    if len(times) == 0:
        raise SettingError("the section is empty: nothing happens there in this run")
    return times


def _crossings(solution: Solution, crossing: Any, direction: str) -> np.ndarray:
    """Return the times at which a quantity crosses a value, found in the dense output."""
    if direction not in ("up", "down", "both"):
        raise SettingError(f"direction is {direction!r}: it must be 'up', 'down' or 'both'")
    try:
        name, level = crossing
        level = float(level)
    except (TypeError, ValueError) as error:
        raise SettingError(f"crossing is {crossing!r}: it must be a name and a value, like ('x', 0.0)") from error
    one = column_of(solution, name)
    if one.kind == "r":
        raise SettingError(f"{one.name} is a contact force: a crossing needs a coordinate or velocity")
    values = values_of(solution, one)
    nodes = nodes_of(solution, one)
    curve = dense_curve(solution, values, nodes)
    left, right = curve.left[:, 0] - level, curve.right[:, 0] - level
    found = []
    for sign in {"up": (1.0,), "down": (-1.0,), "both": (1.0, -1.0)}[direction]:
        found.append(curve.t[(sign * left < 0.0) & (sign * right >= 0.0)])
        k = np.flatnonzero((sign * right[:-1] < 0.0) & (sign * left[1:] >= 0.0))
        found.append(_roots(values, curve.t[k], curve.t[k + 1], level, sign))
    return np.unique(np.concatenate(found))


def _roots(values: Any, begin: np.ndarray, end: np.ndarray, level: float, sign: float) -> np.ndarray:
    """Return where a quantity passes the level in intervals at whose ends it lies on both sides of it."""
    begin, end = begin.copy(), end.copy()
    for _ in range(HALVINGS if len(begin) else 0):
        middle = 0.5 * (begin + end)
        below = sign * (values(middle, "+")[:, 0] - level) < 0.0
        begin, end = np.where(below, middle, begin), np.where(below, end, middle)
    return end
