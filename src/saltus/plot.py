"""Pictures of a Solution by matplotlib: positions, velocities with their jumps, gaps, accumulated impulses.

Figures are made without pyplot: no display, no global state, nothing to close.
"""

from __future__ import annotations

import dataclasses
import io
import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from saltus.errors import MissingExtraError, SettingError
from saltus.results.names import coordinate_names, coordinate_units, velocity_names, velocity_units

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
except ImportError as missing:
    raise MissingExtraError("plots need matplotlib: pip install saltus[plot]") from missing

if TYPE_CHECKING:
    from saltus.problem import Exact
    from saltus.results.spectrum import Spectrum
    from saltus.solution import Solution
    from saltus.verification import Verification

# the colour-blind safe palette of Okabe and Ito, without its yellow, which is too faint for lines
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444", "#8C6D31")


class _Plot(NamedTuple):
    """Tuned numbers of this file."""

    most_points: int = 4000  # drawn per curve: about two per pixel column of a wide figure
    most_jumps: int = 1000  # drawn per curve as lines of their own: the largest ones
    most_entries: int = 10  # of a legend
    few_points: int = 400  # up to here single points can be told apart


PLOT = _Plot()

ROW_STYLES = {"N": "-", "T": (0, (4, 1.2)), "T1": (0, (4, 1.2)), "T2": (0, (1, 1))}


class SolutionFigure(Figure):
    """A matplotlib Figure that notebooks show, whichever backend is set."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def plot_solution(
    solution: Solution,
    *,
    axes: Sequence[Axes | None] | None = None,
    coordinates: Sequence[int] | Mapping[int, str] | None = None,
    path: str | os.PathLike | None = None,
) -> Figure:
    """Draw positions, velocities with their jumps, gaps and accumulated impulses over time.

    Velocities are right limits; a thin vertical line leads from the left limit to the right one. Where the
    exact solution is known it is drawn dashed. Long runs are thinned so that peaks stay.

    Parameters
    ----------
    solution
        What `solve` returned.
    axes
        Matplotlib axes to draw into, in the order positions, velocities, gaps, impulses; None skips one.
        Without it a new figure is made; gaps and impulses are left out when there is no contact.
    coordinates
        Columns of q and v to draw, or {column: label}; all of them by default.
    path
        Where to write the figure; the ending chooses the format (.png, .pdf, .svg).

    Returns
    -------
    matplotlib.figure.Figure
        The figure of the (first) axes.
    """
    columns = _columns(solution, coordinates)
    solution = _between_nodes(solution)
    panels = [_draw_positions, _draw_velocities]
    panels += [_draw_gaps, _draw_impulses] if solution.system.contacts else []
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9.0}):
        if axes is None:
            figure = _new_figure(solution, len(panels))
            axes = figure.axes
        for panel, place in zip(panels, _checked(axes, len(panels)), strict=False):
            if place is not None:
                panel(place, solution, columns)
    # twice: axes may stand in a part of a figure (get_figure(root=True) needs matplotlib 3.10)
    figure = next(place for place in axes if place is not None).figure.figure
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


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
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9.0}):
        figure = _new_figure(solution, len(panels))
        for panel, place in zip(panels, figure.axes, strict=True):
            panel(place, solution)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def plot_verification(verification: Verification, *, path: str | os.PathLike | None = None) -> Figure:
    """Draw the mean errors of q, v and i over what is promised, for runs that end at t; a line where the runs part.

    Errors of zero are left out. path writes .png, .pdf or .svg.
    """
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9.0}):
        figure = SolutionFigure(figsize=(9.0, 3.2), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        for name, ratios, colour in zip(verification.ratios, verification.growth.T, COLOURS, strict=False):
            axes.plot(verification.t, np.where(ratios > 0.0, ratios, np.nan), color=colour, label=name)
        axes.axhline(1.0, color="0.5", lw=0.8)
        parting = verification.parting
        if parting is not None:
            axes.axvline(parting.t, color="0.5", lw=0.8, ls="--", label=f"{parting.kind} {parting.contact}".strip())
        axes.set_title("\n".join(textwrap.wrap(verification.sentence, 110)), loc="left", fontsize=9.0)
        axes.set_yscale("log")
        axes.set_xlabel("time t at which the run ends [s]")
        axes.set_ylabel("mean error / promise" if verification.promised else "mean error / 0.01 of the motion")
        axes.legend(loc="lower right", frameon=False, fontsize=8.0)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def plot_spectrum(spectrum: Spectrum, *, axes: Axes | None = None, path: str | os.PathLike | None = None) -> Figure:
    """Draw amplitudes over frequency with a logarithmic axis, the three largest peaks named; path writes a file."""
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9.0}):
        if axes is None:
            figure = SolutionFigure(figsize=(9.0, 3.4), layout="constrained")
            FigureCanvasAgg(figure)
            axes = figure.subplots()
            axes.set_title(
                f"spectrum of {spectrum.name}  \u00b7  t = {spectrum.span[0]:g} to {spectrum.span[1]:g} s, window "
                f"{spectrum.window}, {spectrum.jumps:,} jumps",
                loc="left", fontsize=10.0,
            )  # fmt: skip
        largest = float(np.max(spectrum.amplitude[1:], initial=0.0)) or 1.0
        axes.semilogy(spectrum.f[1:], np.maximum(spectrum.amplitude[1:], 1e-16 * largest), color=COLOURS[0], lw=1.0)
        axes.set_ylim(max(np.median(spectrum.amplitude[1:]), 1e-8 * largest) / 30.0, 3.0 * largest)
        for f, amplitude in spectrum.peaks(3):
            axes.annotate(f"{f:.4g} Hz", (f, amplitude), xytext=(3, 3), textcoords="offset points", fontsize=8.0)
        axes.set_xlim(0.0, spectrum.f[-1])
        axes.set_xlabel("frequency f [Hz]")
        axes.set_ylabel(f"amplitude of {spectrum.name}" + (f" [{spectrum.units}]" if spectrum.units else ""))
        axes.grid(True, color="#E4E4E4", linewidth=0.6)
    figure = axes.figure.figure  # twice: axes may stand in a part of a figure
    if path is not None:
        figure.savefig(path, dpi=150)
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


def _between_nodes(solution: Solution) -> Solution:
    """Return a run of few long steps with the dense output between them; straight lines would not show the motion."""
    steps = len(solution.t) - 1
    if steps < 1 or not solution.can_refine or steps >= PLOT.most_points // 8:
        return solution
    parts = max(2, min(64, PLOT.most_points // (2 * steps)))
    between = solution.t[:-1, None] + np.arange(1, parts) / parts * np.diff(solution.t)[:, None]
    times = np.concatenate([solution.t, between.ravel()])
    return solution.at_times(np.unique(times[times <= solution.t[-1]]))


def _new_figure(solution: Solution, panels: int) -> SolutionFigure:
    figure = SolutionFigure(figsize=(9.0, 0.7 + 1.75 * panels), layout="constrained")
    FigureCanvasAgg(figure)
    places = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    places[0].set_title(_title(solution), loc="left", fontsize=10.0)
    places[-1].set_xlabel("time t [s]")
    if len(solution.t) > 1:
        places[0].set_xlim(solution.t[0], solution.t[-1])
    figure.align_ylabels(places)
    return figure


def _title(solution: Solution) -> str:
    impacts = int(np.count_nonzero(solution.events["kind"] == "impact"))
    parts = [
        (solution.name or solution.system.name or "system").replace("_", " "),
        solution.scheme.name,
        f"{solution.work['steps']:,} steps",
        f"{impacts:,} impact{'' if impacts == 1 else 's'}",
    ]
    if not solution.success:
        parts.append(f"stopped at t = {solution.t[-1]:.4g} s")
    return "  ·  ".join(parts)


def _checked(axes: Sequence[Axes | None], panels: int) -> Sequence[Axes | None]:
    if isinstance(axes, Axes):
        raise SettingError("axes is a single one: give a list, positions first, e.g. axes=[axes]")
    if len(axes) == 0 or len(axes) > 4 or all(place is None for place in axes):
        raise SettingError("axes is empty or too long: give one to four (positions, velocities, gaps, impulses)")
    if any(place is not None for place in axes[panels:]):
        raise SettingError("axes has places for gaps and impulses, but the system has no contacts: give two")
    return axes


def _columns(solution: Solution, coordinates) -> dict[int, str | None]:
    """Return {column: label} of what to draw; no label means the letter with its index."""
    most = max(solution.q.shape[1], solution.v.shape[1])
    if coordinates is None:
        coordinates = range(most)
    chosen = dict(coordinates) if isinstance(coordinates, Mapping) else dict.fromkeys(coordinates)
    if not chosen:
        raise SettingError("coordinates is empty: name at least one column of q")
    for column in chosen:
        if not isinstance(column, int | np.integer) or not 0 <= column < most:
            raise SettingError(f"coordinates contains {column!r}: the columns of q run from 0 to {most - 1}")
    return chosen


# ---- panels


def _draw_positions(axes: Axes, solution: Solution, columns: dict[int, str | None]) -> None:
    system, nq = solution.system, solution.q.shape[1]
    shown = _named(columns, "q", nq, coordinate_names(system, nq) if system.coordinates else None)
    for colour, (j, label) in zip(_palette(len(shown)), shown.items(), strict=True):
        pick = _thin(solution.q[:, j])
        _line(axes, solution, solution.t[pick], solution.q[pick, j], colour, label)
    if solution.exact is not None:
        times = _exact_times(solution, solution.exact)
        _exact_lines(axes, times, solution.exact.q(times)[:, list(shown)])
    _finish(
        axes, f"position q {_units(coordinate_units(system, nq), shown, 'm, rad')}", single=bool(system.coordinates)
    )


def _draw_velocities(axes: Axes, solution: Solution, columns: dict[int, str | None]) -> None:
    system, nq, nv = solution.system, solution.q.shape[1], solution.v.shape[1]
    names = velocity_names(system, nq, nv)
    shown = _named(columns, "v", nv, None if names[0] == "v[0]" else names)
    for colour, (j, label) in zip(_palette(len(shown)), shown.items(), strict=True):
        left, right = solution.v_minus[:, j], solution.v[:, j]
        jumps = _largest_jumps(right - left)
        t, y = _broken(solution.t, left, right, jumps)
        _line(axes, solution, t, y, colour, label)
        ends = np.stack([np.column_stack([solution.t[jumps], side[jumps]]) for side in (left, right)], axis=1)
        axes.add_collection(LineCollection(list(ends), colors=colour, linewidths=0.8, alpha=0.65))
    if solution.exact is not None:
        times = _exact_times(solution, solution.exact)
        v = np.array(solution.exact.v(times)[:, list(shown)])
        v[np.searchsorted(times, solution.exact.jumps)[: len(times)].clip(max=len(times) - 1)] = np.nan
        _exact_lines(axes, times, v)
    units = _units(velocity_units(system, nq, nv), shown, "m/s, rad/s")
    _finish(axes, f"velocity v {units}", single=bool(system.coordinates))


def _draw_gaps(axes: Axes, solution: Solution, columns: dict[int, str | None]) -> None:
    # gaps follow the positions, so the extreme positions and the impacts say where to evaluate them
    touched = np.searchsorted(solution.t, solution.events["t"][: PLOT.most_jumps]).clip(max=len(solution.t) - 1)
    most = max(PLOT.most_points // solution.q.shape[1], 100)
    pick = np.unique(np.concatenate([*(_thin(column, most) for column in solution.q.T), touched]))
    gaps = dataclasses.replace(solution, t=solution.t[pick], q=solution.q[pick], v=solution.v[pick]).gaps()
    axes.axhline(0.0, color="#888888", linewidth=0.7, zorder=1)
    names = solution.system.contact_names
    for colour, name, gap in zip(_palette(len(names)), names, gaps.T, strict=True):
        _line(axes, solution, solution.t[pick], gap, colour, name)
    _finish(axes, "gap g [m]", single=True)


def _draw_impulses(axes: Axes, solution: Solution, columns: dict[int, str | None]) -> None:
    names = solution.system.contact_names
    colours = dict(zip(names, _palette(len(names)), strict=True))
    total = np.concatenate([np.zeros((1, len(solution.rows))), np.cumsum(solution.impulse, axis=0)])
    for (name, row), column in zip(solution.rows, total.T, strict=True):
        pick = _thin(column)
        style = ROW_STYLES.get(row, "-.")
        _line(axes, solution, solution.t[pick], column[pick], colours[name], f"{name} {row}", style)
    if solution.exact is not None and solution.exact.impulse is not None:
        times = _exact_times(solution, solution.exact)
        _exact_lines(axes, times, solution.exact.impulse(times))
    kinds = [kind for kind in ROW_STYLES if any(row == kind for _, row in solution.rows)]
    if len(solution.rows) > PLOT.most_entries:
        # the gaps name the contacts; here only the kinds of line need words
        words = {"N": "normal", "T": "tangential", "T1": "tangential 1", "T2": "tangential 2"}
        lines = [Line2D([], [], color="#444444", linestyle=ROW_STYLES[k], label=words[k]) for k in kinds]
        _finish(axes, "impulse i [N s]", entries=lines)
    else:
        _finish(axes, "impulse i [N s]", single=True)


# ---- pieces of a panel


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
    grid = np.linspace(solution.t[0], solution.t[-1], PLOT.most_points // 2)
    return np.unique(np.concatenate([grid, np.nextafter(jumps, -np.inf), jumps, np.nextafter(jumps, np.inf)]))


def _exact_lines(axes: Axes, times: np.ndarray, values: np.ndarray) -> None:
    for k, column in enumerate(np.asarray(values).T):
        label = "exact" if k == 0 else "_exact"
        axes.plot(times, column, color="black", linewidth=0.7, linestyle=(0, (5, 4)), label=label)


def _finish(axes: Axes, ylabel: str, *, single: bool = False, entries: list[Line2D] | None = None) -> None:
    """Label, grid and a legend beside the panel; one nameless curve needs no legend."""
    axes.set_ylabel(ylabel)
    axes.grid(True, color="#E4E4E4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(y=0.08)
    axes.ticklabel_format(axis="y", scilimits=(-3, 5), useMathText=True)
    if entries is None:
        entries = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    if len(entries) > PLOT.most_entries:
        entries = [entries[i] for i in np.linspace(0, len(entries) - 1, PLOT.most_entries).astype(int)]
    if len(entries) > 1 or single:
        axes.legend(
            handles=entries, loc="upper left", bbox_to_anchor=(1.005, 1.02), frameon=False, fontsize=8.0,
            handlelength=1.8, labelspacing=0.25, borderaxespad=0.0,
        )  # fmt: skip


def _named(
    columns: dict[int, str | None], letter: str, count: int, names: Sequence[str] | None = None
) -> dict[int, str]:
    """Return {column: label} of the columns that an array with `count` of them has."""
    plain = {j: f"${letter}$" if count == 1 else f"${letter}_{{{j}}}$" for j in range(count)}
    if names is not None:
        plain = dict(enumerate(names))
    return {j: label or plain[j] for j, label in columns.items() if j < count}


def _units(units: Sequence[str], shown: Mapping[int, str], otherwise: str) -> str:
    """Return the units of the columns that are drawn, each once; what they usually are where nobody said it."""
    known = dict.fromkeys(units[j] for j in shown if units[j])
    return f"[{', '.join(known) or otherwise}]"


def _palette(count: int) -> list:
    """Return distinct colours for a few curves, a ramp for many."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    return list(mpl.colormaps["viridis"](np.linspace(0.0, 0.92, count)))


# ---- thinning


def _thin(y: np.ndarray, most: int = PLOT.most_points) -> np.ndarray:
    """Return increasing indices that keep the least and the largest value of every stretch of a curve."""
    n = len(y)
    if n <= most:
        return np.arange(n)
    size = -(-n // (most // 2))
    whole = n // size
    stretches = y[: whole * size].reshape(whole, size)
    first = np.arange(whole) * size
    tail = np.arange(whole * size, n)
    extremes = [tail[[np.argmin(y[tail]), np.argmax(y[tail])]]] if len(tail) else []
    extremes += [first + stretches.argmin(axis=1), first + stretches.argmax(axis=1)]
    return np.unique(np.concatenate([[0, n - 1], *extremes]))


def _largest_jumps(jump: np.ndarray) -> np.ndarray:
    """Return the nodes of the largest jumps, increasing."""
    nodes = np.flatnonzero(jump)
    return np.sort(nodes[np.argsort(-np.abs(jump[nodes]))[: PLOT.most_jumps]])


def _broken(t: np.ndarray, left: np.ndarray, right: np.ndarray, jumps: np.ndarray):
    """Return a thinned curve through left and right limits that is interrupted at the given nodes."""
    both = np.column_stack([left, right]).ravel()
    pick = np.unique(np.concatenate([_thin(both), 2 * jumps, 2 * jumps + 1]))
    times, values = t[pick // 2], both[pick]
    gaps = np.searchsorted(pick, 2 * jumps + 1)
    return np.insert(times, gaps, np.nan), np.insert(values, gaps, np.nan)
