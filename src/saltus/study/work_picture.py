"""The picture of a work-precision study: errors over force evaluations and over seconds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from saltus.plot import COLOURS, SolutionFigure

from .picture import NORM_NAMES, PLOT_MARKS, QUANTITY_NAMES, log_panel

if TYPE_CHECKING:
    from .work_table import WorkPrecision

QUANTITY_UNITS = {"q": "unit of q", "v": "unit of v", "impulse": "N s"}
PER_NORM = {"L1": " · s", "L2": " · √s", "Linf": "", "hausdorff": ""}
WORK_NAMES = {"evaluations": "force evaluations f + nv · Jacobians [-]", "seconds": "computing time [s]"}


class _Panel(NamedTuple):
    """Tuned numbers of this file."""

    # of a panel: where marks without an error or without work stand
    top: float = 0.96
    bottom: float = 0.04
    left: float = 0.03
    legend_characters: int = 12  # per inch of width
    least_work: float = 10.0  # ratio of the largest to the least work in a panel, so that timing noise does not fill it
    short_range: float = 100.0  # up to here ticks stand at 1, 2 and 5 of a decade


PANEL = _Panel()


def plot_work(study: WorkPrecision, against: tuple[str, ...], *, path: str | os.PathLike | None = None) -> Figure:
    """Draw one panel per quantity (columns), norm and kind of work (rows)."""
    quantities, norms = (list(dict.fromkeys(pair[k] for pair in study.measured)) for k in (0, 1))
    rows = [(norm, work) for norm in norms for work in against]
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9.0}):
        entries = _legend(study)
        width = max(1.0 + 3.2 * len(quantities), 5.0)
        columns = max(
            1, int(width * PANEL.legend_characters // (6 + max(len(str(entry.get_label())) for entry in entries)))
        )
        height = 0.9 + 2.5 * len(rows) + 0.2 * -(-len(entries) // columns)
        figure = SolutionFigure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        if study.measured:
            places = figure.subplots(len(rows), len(quantities), sharex="row", squeeze=False)
            for (norm, work), row in zip(rows, places, strict=True):
                for quantity, place in zip(quantities, row, strict=True):
                    _panel(place, study, quantity, norm, work)
        figure.legend(handles=entries, loc="outside lower center", ncols=columns, frameon=False, fontsize=8.0)
        part = ", interrupted" if study.interrupted else ""
        figure.suptitle(f"{study.problem.replace('_', ' ')}: error against work{part}", fontsize=10.0)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _style(k: int) -> dict:
    return {
        "color": COLOURS[k % len(COLOURS)],
        "marker": PLOT_MARKS[k % len(PLOT_MARKS)],
        "markersize": 4.5,
        "linewidth": 1.0,
    }


def _legend(study: WorkPrecision) -> list[Line2D]:
    entries = [Line2D([], [], label=label, **_style(k)) for k, label in enumerate(study.runs)]
    found = [point.error(*pair) for point in study.points for pair in study.measured]
    if not np.all(np.isfinite(found)):
        text = "failed or infinite (upper edge)"
        entries.append(Line2D([], [], color="#444444", linestyle="none", marker="x", label=text))
    if 0.0 in found:
        entries.append(
            Line2D([], [], color="#444444", linestyle="none", marker="v", mfc="none", label="no error (lower edge)")
        )
    return entries


def _panel(axes: Axes, study: WorkPrecision, quantity: str, norm: str, work: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    curves: list[Line2D] = []
    for k, label in enumerate(study.runs):
        error, x = study.error(label, quantity, norm), getattr(study, work)(label)
        order = np.argsort(study.setting(label))  # along the sweep, wherever the work lies
        seen = np.where(np.isfinite(error) & (error > 0.0), error, np.nan)
        curves += axes.plot(x[order], seen[order], **_style(k))
        colour = COLOURS[k % len(COLOURS)]
        _at_edge(axes, x[~np.isfinite(error)], PANEL.top, color=colour, marker="x", markersize=6.0)
        _at_edge(axes, x[error == 0.0], PANEL.bottom, color=colour, marker="v", markersize=5.0, mfc="none")
    log_panel(axes)
    if all(np.isnan(line.get_ydata()).all() for line in curves):
        axes.yaxis.set_ticks([])  # the numbers of an axis without errors would mean nothing
        axes.yaxis.set_ticks([], minor=True)
    unit = "s" if norm == "hausdorff" else QUANTITY_UNITS[quantity] + PER_NORM[norm]
    axes.set_title(QUANTITY_NAMES[quantity], fontsize=9.0, loc="left")
    axes.set_ylabel(f"{NORM_NAMES[norm]} error [{unit}]")
    axes.set_xlabel(WORK_NAMES[work])
    _ticks(axes)


def _ticks(axes: Axes) -> None:
    """Give the axis of work a sensible range and labels that do not overlap."""
    low, high = axes.get_xlim()
    if high < PANEL.least_work * low:
        middle = (low * high) ** 0.5
        low, high = axes.set_xlim(middle / PANEL.least_work**0.5, middle * PANEL.least_work**0.5)
    if high < PANEL.short_range * low:
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1.0)
        places = np.outer(decades, (1.0, 2.0, 5.0)).ravel()
        axes.xaxis.set_major_locator(FixedLocator(places[(low <= places) & (places <= high)].tolist()))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, place: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _at_edge(axes: Axes, x: np.ndarray, height: float, **style) -> None:
    """Mark runs that have no place on the logarithmic axis of errors; those without known work stand at the left."""
    known = x[np.isfinite(x) & (x > 0.0)]
    axes.plot(known, np.full(len(known), height), linestyle="none", transform=axes.get_xaxis_transform(), **style)
    missing = len(x) - len(known)
    axes.plot([PANEL.left] * missing, [height] * missing, linestyle="none", transform=axes.transAxes, **style)
