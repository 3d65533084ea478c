"""Phase portrait: one quantity against another, usually a coordinate against its velocity, with jumps."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from saltus.errors import SettingError
from saltus.plot.curve import Curve, between, has_dense_output, off_the_chord, with_points
from saltus.plot.page import COLOURS, Width, figure_of, grid, looks, place, saved, title_of
from saltus.results.names import Quantity, column_of, columns_of
from saltus.results.sample import span_of

if TYPE_CHECKING:
    from saltus.solution import Solution


def phase(
    solution: Solution,
    x: str | int = 0,
    y: str | int | None = None,
    *,
    span: tuple[float, float] | None = None,
    axes: Axes | None = None,
    width: Width = None,
    path: str | os.PathLike | None = None,
) -> Axes:
    """Draw one quantity of a run against another; jumps are dotted lines from the left limit to the right one.

    Parameters
    ----------
    solution
        What `solve` returned.
    x, y
        Coordinates or velocities by name or number ("x", "x_dot", "v[0]"); y is the velocity of x by default.
    span
        Begin and end [s]; leave the first part out to see what lasts.
    axes, width, path
        Where to draw; width of a new figure; file to write.

    Returns
    -------
    matplotlib.axes.Axes
        With the curve, and a collection of dotted lines where there are jumps. A circle is the start, a dot the end.
    """
    across, up = quantities(solution, x, y)
    curve = _curve(solution, across, up, span)
    with looks(width):
        axes = place(axes, width, 5.0, title_of(solution))
        size = np.ptp(np.concatenate([curve.left, curve.right]), axis=0)
        rounding = 1e-9 * np.where(size > 0.0, size, 1.0)
        jump = np.any(np.abs(curve.right - curve.left) > rounding, axis=1)
        jump[0] = jump[0] and span is None  # what was before a part of the run is not drawn
        points, breaks = _path(curve, jump)
        axes.plot(*np.insert(points, breaks, np.nan, axis=0).T, color=COLOURS[0], linewidth=1.0)
        if jump.any():
            ends = np.stack([curve.left[jump], curve.right[jump]], axis=1)
            axes.add_collection(LineCollection(list(ends), colors=COLOURS[1], linewidths=0.9, linestyles=(0, (1, 1.5))))
        axes.plot(*curve.left[0], "o", color=COLOURS[0], markerfacecolor="white", markersize=5.0, label="start")
        axes.plot(*curve.right[-1], "o", color=COLOURS[0], markersize=4.0, label="end")
        axes.set_xlabel(named(across))
        axes.set_ylabel(named(up))
        grid(axes)
        saved(figure_of(axes), path)
    return axes


def quantities(solution: Solution, x: str | int, y: str | int | None) -> tuple[Quantity, Quantity]:
    """Return the columns that x and y mean, of positions and velocities; y is the rate of x where it is left out."""
    across = column_of(solution, x)
    if y is None and across.kind != "r":
        if not solution.system.rate_is_velocity or across.kind != "q":
            raise SettingError(f"y is missing: {across.name} has no column that is its rate; name one, like 'v[0]'")
        return across, columns_of(solution)[solution.q.shape[1] + across.column]
    up = across if y is None else column_of(solution, y)
    for one in (across, up):
        if one.kind == "r":
            raise SettingError(f"{one.name} is a contact force: give coordinates or velocities (see friction_cone)")
    return across, up


def named(one: Quantity) -> str:
    """Return the label of an axis."""
    return f"{one.name} [{one.units}]" if one.units else one.name


def values_of(solution: Solution, *chosen: Quantity):
    """Return columns of states as a function of time and side."""

    def values(t: np.ndarray, side) -> np.ndarray:
        state = solution(t, side)
        return np.column_stack([getattr(state, one.kind)[:, one.column] for one in chosen])

    return values


def nodes_of(solution: Solution, *chosen: Quantity) -> Curve:
    """Return columns of states at the nodes of a run, from both sides."""
    sides = {"q": (solution.q, solution.q), "v": (solution.v_minus, solution.v)}
    left, right = (np.column_stack([sides[one.kind][k][:, one.column] for one in chosen]) for k in (0, 1))
    return Curve(solution.t, left, right)


def _curve(solution: Solution, across: Quantity, up: Quantity, span: tuple[float, float] | None) -> Curve:
    values, nodes = values_of(solution, across, up), nodes_of(solution, across, up)
    if span is not None:
        begin, end = span_of(solution, span)
        inside = (solution.t > begin) & (solution.t < end)
        outer, sides = np.array([begin, end]), (nodes.left[inside], nodes.right[inside])
        first, last = values(outer[:1], "+"), values(outer[1:], "-")
        left, right = (np.concatenate([first, side, last]) for side in sides)
        nodes = Curve(np.concatenate([outer[:1], solution.t[inside], outer[1:]]), left, right)
    if not has_dense_output(solution) or len(nodes.t) < 2:
        return nodes
    return with_points(nodes, between(solution, nodes, values, off_the_chord), values)


def _path(curve: Curve, jump: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a curve, those with a jump twice, and where it is interrupted."""
    twice = 1 + jump.astype(int)
    points = np.repeat(curve.left, twice, axis=0)
    last = np.cumsum(twice) - 1
    points[last] = curve.right
    return points, last[jump]
