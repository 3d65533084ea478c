"""Figures and their looks: widths of journals, colours, saving; without pyplot, so that nothing is global."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure

from saltus.errors import SettingError

# the colour-blind safe palette of Okabe and Ito, without its yellow, which is too faint for lines
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444", "#8C6D31")

MILLIMETRE = 1.0 / 25.4  # [inch]
NARROW = 5.0  # figures below this width [inch] have their legends above the panels
Width = Literal["one column", "two columns"] | float | None
WIDTHS = {"one column": 85.0, "two columns": 174.0}  # of a journal's page [mm]


class _Plot(NamedTuple):
    """Tuned numbers of these files."""

    most_points: int = 4000  # drawn per curve over time: about two per pixel column of a wide figure
    most_jumps: int = 1000  # drawn per curve as lines of their own: the largest ones
    legend_rows: int = 12  # entries of a legend above each other; further ones stand in columns beside them
    most_entries: int = 96  # of a legend; more curves than that are named by a bar of colours
    few_points: int = 400  # up to here single points can be told apart
    screen: float = 9.0  # width of a figure for which none is given [inch]


PLOT = _Plot()


class SolutionFigure(Figure):
    """A matplotlib Figure that notebooks show, whichever backend is set."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def looks(width: Width = None) -> AbstractContextManager[Any]:
    """Return a context in which what is drawn has our looks, with small letters where a width is given."""
    size = 9.0 if width is None else 8.0
    return mpl.rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "font.size": size,
            "axes.labelsize": size,
            "legend.fontsize": size - 1.0,
            "xtick.labelsize": size - 1.0 if width is not None else size,
            "ytick.labelsize": size - 1.0 if width is not None else size,
            "axes.axisbelow": True,
        }
    )


def inches(width: Width) -> float:
    """Return the width of a figure [inch]; a number is in millimetres."""
    if width is None:
        return PLOT.screen
    if isinstance(width, str) and width in WIDTHS:
        return WIDTHS[width] * MILLIMETRE
    if isinstance(width, str | bool) or not isinstance(width, int | float | np.number) or not 20.0 <= width <= 2000.0:
        raise SettingError(
            f"width is {width!r}: it must be 'one column' (85 mm), 'two columns' (174 mm) or millimetres"
        )
    return float(width) * MILLIMETRE


def new_figure(width: Width, height: float) -> SolutionFigure:
    """Return an empty figure; height [inch] is that of a figure without given width, narrower ones are lower."""
    wide = inches(width)
    figure = SolutionFigure(figsize=(wide, height if width is None else height * max(wide / PLOT.screen, 0.75)))
    figure.set_layout_engine("constrained")
    FigureCanvasAgg(figure)
    return figure


def place(axes: Axes | None, width: Width, height: float, title: str = "") -> Axes:
    """Return the axes to draw into: the given ones, or those of a new figure, with a title where there is room."""
    if axes is not None:
        if not isinstance(axes, Axes):
            raise SettingError(f"axes is {type(axes).__name__}: give one matplotlib Axes")
        return axes
    made = new_figure(width, height).subplots()
    if title and width is None:
        made.set_title(title, loc="left", fontsize=10.0)
    return made


def figure_of(axes: Axes) -> Any:
    """Return the figure of axes; twice, because they may stand in a part of a figure."""
    return axes.figure.figure


def saved(figure: Figure, path: str | os.PathLike | None) -> None:
    """Write a figure where a path is given; letters in a PDF stay letters."""
    if path is not None:
        with mpl.rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
            figure.savefig(path, dpi=150)


def palette(count: int) -> list:
    """Return distinct colours for a few curves, a ramp for many."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    return list(mpl.colormaps["viridis"](np.linspace(0.0, 0.92, count)))


def grid(axes: Axes) -> None:
    """Draw a faint grid below everything."""
    axes.grid(True, color="#E4E4E4", linewidth=0.6)
    axes.set_axisbelow(True)


def legend_beside(axes: Axes, entries: Sequence[Any]) -> None:
    """Name every curve beside the panel, in as many columns as it takes; very many by a bar of colours.

    Narrow figures have no room beside their panels: names stand above them.
    """
    if figure_of(axes).get_figwidth() < NARROW and len(entries) <= PLOT.legend_rows:
        longest = max(len(str(entry.get_label())) for entry in entries)
        legend_above(axes, entries, columns=3 if longest < 14 else 2)
        return
    if len(entries) > PLOT.most_entries:
        colours = ListedColormap([entry.get_color() for entry in entries])
        shades = ScalarMappable(Normalize(-0.5, len(entries) - 0.5), colours)
        bar = axes.figure.colorbar(shades, ax=axes, pad=0.01, aspect=12)
        shown = np.linspace(0, len(entries) - 1, 5).astype(int)
        bar.set_ticks(list(shown), labels=[str(entries[k].get_label()) for k in shown])
        return
    columns = -(-len(entries) // PLOT.legend_rows)
    axes.legend(
        handles=list(entries), loc="upper left", bbox_to_anchor=(1.005, 1.02), frameon=False, ncols=columns,
        fontsize=mpl.rcParams["legend.fontsize"] if columns == 1 else 6.5, handlelength=1.8 if columns == 1 else 1.2,
        labelspacing=0.25, columnspacing=0.8, borderaxespad=0.0,
    )  # fmt: skip


def legend_above(axes: Axes, entries: Sequence[Any], columns: int = 3) -> None:
    """Name curves in rows above the panel, and above the seconds of event time where these stand there."""
    raised = 1.0 + 0.16 / max(axes.get_position().height * figure_of(axes).get_figheight(), 0.5) * bool(axes.child_axes)
    axes.legend(
        handles=list(entries), loc="lower right", bbox_to_anchor=(1.0, raised), ncols=columns, frameon=False,
        fontsize=7.0, handlelength=1.2, columnspacing=1.0, labelspacing=0.2, borderaxespad=0.1,
    )  # fmt: skip


def title_of(solution: Any) -> str:
    """Return the name of a run with its scheme, steps and impacts, and where it stopped."""
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
