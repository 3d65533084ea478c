"""The panels of a run over time, one function each: positions, velocities, gaps, impulses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from saltus.plot.curve import Curve, broken, dense_curve, largest_jumps, states, thin
from saltus.plot.event_time import Clock
from saltus.plot.page import PLOT, grid, legend_above, legend_beside, palette
from saltus.results.names import coordinate_names, coordinate_units, velocity_names, velocity_units

if TYPE_CHECKING:
    from saltus.problem import Exact
    from saltus.solution import Solution

ROW_STYLES = {"N": "-", "T": (0, (4, 1.2)), "T1": (0, (4, 1.2)), "T2": (0, (1, 1))}
Columns = dict[int, str | None]


def draw_positions(axes: Axes, solution: Solution, columns: Columns, clock: Clock, body: str = "") -> None:
    """Draw coordinates over time."""
    system, nq = solution.system, solution.q.shape[1]
    shown = _named(columns, "q", nq, coordinate_names(system, nq) if system.coordinates else None)
    picked = list(shown)
    nodes = Curve(solution.t, solution.q[:, picked], solution.q[:, picked])
    curve = dense_curve(solution, _only(states(solution, "q"), picked), nodes)
    x = clock(curve.t)
    for k, (colour, label) in enumerate(zip(palette(len(shown)), shown.values(), strict=True)):
        pick = thin(x, curve.right[:, k])
        _line(axes, solution, x[pick], curve.right[pick, k], colour, _short(label, body))
    if solution.exact is not None:
        times = _exact_times(solution, solution.exact)
        _exact_lines(axes, clock(times), solution.exact.q(times)[:, picked])
    units = _units(coordinate_units(system, nq), shown, "m, rad")
    _finish(axes, f"{body or 'position q'} {units}", single=bool(system.coordinates), inside=bool(body))


def draw_velocities(axes: Axes, solution: Solution, columns: Columns, clock: Clock, body: str = "") -> None:
    """Draw velocities over time: right limits, with a thin line from the left limit at every jump."""
    system, nq, nv = solution.system, solution.q.shape[1], solution.v.shape[1]
    names = velocity_names(system, nq, nv)
    shown = _named(columns, "v", nv, None if names[0] == "v[0]" else names)
    picked = list(shown)
    nodes = Curve(solution.t, solution.v_minus[:, picked], solution.v[:, picked])
    curve = dense_curve(solution, _only(states(solution, "v"), picked), nodes)
    x = clock(curve.t)
    for k, (colour, label) in enumerate(zip(palette(len(shown)), shown.values(), strict=True)):
        left, right = curve.left[:, k], curve.right[:, k]
        jumps = largest_jumps(right - left)
        _line(axes, solution, *broken(x, left, right, jumps), colour, _short(label, body))
        ends = np.stack([np.column_stack([x[jumps], side[jumps]]) for side in (left, right)], axis=1)
        axes.add_collection(LineCollection(list(ends), colors=colour, linewidths=0.8, alpha=0.65))
    if solution.exact is not None:
        times = _exact_times(solution, solution.exact)
        v = np.array(solution.exact.v(times)[:, picked])
        v[np.searchsorted(times, solution.exact.jumps)[: len(times)].clip(max=len(times) - 1)] = np.nan
        _exact_lines(axes, clock(times), v)
    units = _units(velocity_units(system, nq, nv), shown, "m/s, rad/s")
    _finish(axes, f"{body or 'velocity v'} {units}", single=bool(system.coordinates), inside=bool(body))


def draw_gaps(axes: Axes, solution: Solution, columns: Columns, clock: Clock, body: str = "") -> None:
    """Draw the gaps of all contacts over time."""
    curve = _gaps(solution)
    x = clock(curve.t)
    axes.axhline(0.0, color="#888888", linewidth=0.7, zorder=1)
    names = solution.system.contact_names
    for colour, name, gap in zip(palette(len(names)), names, curve.right.T, strict=True):
        pick = thin(x, gap)
        _line(axes, solution, x[pick], gap[pick], colour, name)
    _finish(axes, "gap g [m]", single=True)


def _gaps(solution: Solution) -> Curve:
    """Return the gaps of a run; of a long one where positions are extreme and at events, for gaps may be slow."""
    if len(solution.t) <= PLOT.most_points:
        at_nodes = solution.gaps()
        return dense_curve(solution, solution.gap_at, Curve(solution.t, at_nodes, at_nodes))
    touched = np.searchsorted(solution.t, solution.events["t"][: PLOT.most_jumps]).clip(max=len(solution.t) - 1)
    most = max(PLOT.most_points // solution.q.shape[1], 100)
    pick = np.unique(np.concatenate([*(thin(solution.t, column, most) for column in solution.q.T), touched]))
    gaps = solution.gap_at(solution.t[pick])
    return Curve(solution.t[pick], gaps, gaps)


def draw_impulses(axes: Axes, solution: Solution, columns: Columns, clock: Clock, body: str = "") -> None:
    """Draw what the contact rows have given since the start, impacts included."""
    names = solution.system.contact_names
    colours = dict(zip(names, palette(len(names)), strict=True))
    total = np.concatenate([np.zeros((1, len(solution.rows))), np.cumsum(solution.impulse, axis=0)])
    curve = _impulses(solution, total)
    x = clock(curve.t)
    for k, (name, row) in enumerate(solution.rows):
        # both sides, so that impacts are vertical; node to node where the steps say no more
        both = np.column_stack([curve.left[:, k], curve.right[:, k]])
        y, places = (curve.right[:, k], x) if curve.left is curve.right else (both.ravel(), np.repeat(x, 2))
        pick = thin(places, y)
        _line(axes, solution, places[pick], y[pick], colours[name], f"{name} {row}", ROW_STYLES.get(row, "-."))
    if solution.exact is not None and solution.exact.impulse is not None:
        times = _exact_times(solution, solution.exact)
        _exact_lines(axes, clock(times), solution.exact.impulse(times))
    kinds = [kind for kind in ROW_STYLES if any(row == kind for _, row in solution.rows)]
    if len(solution.rows) > PLOT.legend_rows:
        # the gaps name the contacts by the same colours; here only the kinds of line need words
        words = {"N": "normal", "T": "tangential", "T1": "tangential 1", "T2": "tangential 2"}
        lines = [Line2D([], [], color="#444444", linestyle=ROW_STYLES[k], label=words[k]) for k in kinds]
        _finish(axes, "impulse i [N s]", entries=lines)
    else:
        _finish(axes, "impulse i [N s]", single=True)


def _impulses(solution: Solution, total: np.ndarray) -> Curve:
    """Return the accumulated impulses: of runs with dense output with vertical rises at impacts, else node to node."""
    if not solution.can_refine or len(solution.t) > PLOT.most_points:
        return Curve(solution.t, total, total)
    left = total.copy()
    left[1:] = solution.impulse_at(solution.t[1:], "-") - solution._before
    nodes = Curve(solution.t, left, total)

    def since_the_start(t, side):
        return solution.impulse_at(t, side) - solution._before

    return dense_curve(solution, since_the_start, nodes)


# ---- pieces of a panel


def _only(values, columns: Sequence[int]):
    """Return some columns of a function of time and side."""

    def chosen(t, side):
        return values(t, side)[:, columns]

    return chosen


def _short(label: str, body: str) -> str:
    """Return the name of a coordinate without that of its body where the panel has it."""
    return label.removeprefix(f"{body}.").removeprefix(f"{body} ") if body else label


def _line(axes: Axes, solution: Solution, t, y, colour, label: str, style="-") -> None:
    """Draw a curve; few points whose steps in between were not kept stay points."""
    if len(solution.t) < PLOT.few_points and not solution.every_step:
        axes.plot(t, y, color=colour, linestyle="none", marker=".", markersize=5.0, label=label)
    else:
        axes.plot(t, y, color=colour, linewidth=1.3, linestyle=style, label=label)


def _exact_times(solution: Solution, exact: Exact) -> np.ndarray:
    """Return times for the exact solution, each jump met from both sides."""
    jumps = np.asarray(exact.jumps, dtype=float)
    jumps = jumps[(jumps > solution.t[0]) & (jumps <= solution.t[-1])]
    even = np.linspace(solution.t[0], solution.t[-1], PLOT.most_points // 2)
    return np.unique(np.concatenate([even, np.nextafter(jumps, -np.inf), jumps, np.nextafter(jumps, np.inf)]))


def _exact_lines(axes: Axes, times: np.ndarray, values: np.ndarray) -> None:
    for k, column in enumerate(np.asarray(values).T):
        label = "exact" if k == 0 else "_exact"
        axes.plot(times, column, color="black", linewidth=0.7, linestyle=(0, (5, 4)), label=label)


def _finish(
    axes: Axes, ylabel: str, *, single: bool = False, entries: list[Line2D] | None = None, inside: bool = False
) -> None:
    """Label, grid and a legend beside the panel; one nameless curve needs no legend."""
    axes.set_ylabel(ylabel)
    grid(axes)
    axes.margins(y=0.08)
    axes.ticklabel_format(axis="y", scilimits=(-3, 5), useMathText=True)
    if entries is None:
        entries = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    if inside:
        legend_above(axes, entries)
    elif len(entries) > 1 or (single and entries):
        legend_beside(axes, entries)


def _named(columns: Columns, letter: str, count: int, names: Sequence[str] | None = None) -> dict[int, str]:
    """Return {column: label} of the columns that an array with `count` of them has."""
    plain = {j: f"${letter}$" if count == 1 else f"${letter}_{{{j}}}$" for j in range(count)}
    if names is not None:
        plain = dict(enumerate(names))
    return {j: label or plain[j] for j, label in columns.items() if j < count}


def _units(units: Sequence[str], shown: Mapping[int, str], otherwise: str) -> str:
    """Return the units of the columns that are drawn, each once; what they usually are where nobody said it."""
    known = dict.fromkeys(units[j] for j in shown if units[j])
    return f"[{', '.join(known) or otherwise}]"
