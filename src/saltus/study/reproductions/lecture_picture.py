"""The picture of lecture: a row per family, ball and oscillator side by side, errors of q and v over the work."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from saltus.plot import COLOURS, SolutionFigure
from saltus.study.picture import PLOT_MARKS

from .lecture import LECTURE_QUANTITIES, PROBLEMS, Lecture, floor

LECTURE_NAMES = {"q": "q, error [m s]", "v": "v, error [m]"}  # in L1, hence times seconds
LECTURE_TITLES = {"ball": "bouncing ball", "oscillator": "linear oscillator"}
PANEL_WIDTHS = [1.0, 1.0, 1.3] * len(PROBLEMS)  # panels of q and v, then their legend


class _LecturePicture(NamedTuple):
    """Tuned numbers of this file."""

    row_height: float = 2.55  # [in]
    head: float = 1.15  # above the rows [in]
    foot: float = 0.5  # below them [in]
    least_range: float = 100.0  # of the errors in a panel
    # [pt]: of equal curves, larger marks lie below smaller ones
    smallest_mark: float = 3.0
    larger: float = 0.6
    largest_mark: float = 4.2
    short_range: float = 100.0  # of the work: up to here ticks stand at 1 and 3 of a decade


LECTURE_PICTURE = _LecturePicture()

MONO = {"family": "DejaVu Sans Mono", "size": 7.0}


def draw(made: Lecture) -> Figure:
    """Draw all panels."""
    rows = len(made.families)
    height = LECTURE_PICTURE.head + LECTURE_PICTURE.foot + LECTURE_PICTURE.row_height * rows
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 8.5}):
        figure = SolutionFigure(figsize=(17.0, height))
        FigureCanvasAgg(figure)
        # a fixed layout: panels of a column stay aligned whatever their legends say
        places = figure.subplots(
            rows, len(PANEL_WIDTHS), squeeze=False,
            gridspec_kw={"width_ratios": PANEL_WIDTHS, "left": 0.035, "right": 1.0,
            "top": 1.0 - LECTURE_PICTURE.head / height,
                         "bottom": LECTURE_PICTURE.foot / height, "wspace": 0.22, "hspace": 0.6},
        )  # fmt: skip
        for row, family in zip(places, made.families, strict=True):
            for k, problem in enumerate(PROBLEMS):
                *panels, side = row[3 * k : 3 * k + 3]
                side.axis("off")
                if (family, problem) not in made.tables:  # interrupted before
                    for axes in panels:
                        axes.axis("off")
                    continue
                for axes, quantity in zip(panels, LECTURE_QUANTITIES, strict=True):
                    _panel(axes, made, family, problem, quantity)
                _legend(side, made, family, problem)
                panels[0].annotate(
                    LECTURE_TITLES[problem], (0.0, 1.0), (-28.0, 20.0), "axes fraction", "offset points", fontsize=8.5,
                    fontweight="bold", color="#555555",
                )  # fmt: skip
            row[0].annotate(
                made.families[family].title, (0.0, 1.0), (-28.0, 33.0), "axes fraction", "offset points",
                fontsize=10.0, fontweight="bold",
            )  # fmt: skip
        part = ", interrupted" if made.interrupted else ""
        figure.suptitle(
            f"$L_1$ errors over the dense output against work: force evaluations and Jacobians{part}",
            fontsize=11.5, y=1.0 - 0.2 / height,
        )  # fmt: skip
    return figure


def _panel(axes: Axes, made: Lecture, family: str, problem: str, quantity: str) -> None:
    table = made.tables[family, problem]
    for label in table.runs:
        if not table.of(label):
            continue
        order = np.argsort(-table.setting(label), kind="stable")
        work, error = table.evaluations(label)[order], table.error(label, quantity)[order]
        shown = np.where(np.isfinite(error) & (error > 0.0), error, np.nan)
        style = _style(label, list(table.runs))
        axes.plot(work, shown, color=style["color"], linestyle=style["linestyle"], linewidth=0.9, alpha=0.5)
        marks: dict[str, Any] = style | {"linestyle": "none"}
        axes.plot(work, shown, **marks)
        failed = work[~np.isfinite(error) & np.isfinite(work)]
        axes.plot(
            failed, np.full(len(failed), 0.97), "x", transform=axes.get_xaxis_transform(),
            color=style["color"],
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < LECTURE_PICTURE.least_range * low:
        middle = math.sqrt(low * high)
        low, high = axes.set_ylim(middle / LECTURE_PICTURE.least_range**0.5, middle * LECTURE_PICTURE.least_range**0.5)
    level = floor(problem, quantity)
    if low < 0.5 * level:
        axes.axhspan(low, level, color="#F0F0F0", linewidth=0.0, zorder=0)
        axes.text(0.02, 0.02, "rounding", transform=axes.transAxes, fontsize=7.0, color="#777777")
        axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(LogLocator(numticks=7))
    axes.yaxis.set_minor_formatter(NullFormatter())
    left, right = axes.get_xlim()
    if right < LECTURE_PICTURE.short_range * left:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color="#E4E4E4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(LECTURE_NAMES[quantity], fontsize=8.5, loc="left", pad=4.0)
    axes.set_xlabel("work [evaluations]", fontsize=8.0, labelpad=1.0)


def _style(label: str, labels: list[str]) -> dict[str, Any]:
    """Return colour and mark; runs that differ only in theta share the colour, and theta = 1 is hollow and dashed."""
    kind, _, theta = label.partition(", θ")
    kinds = list(dict.fromkeys(name.partition(", θ")[0] for name in labels))
    index = kinds.index(kind)
    colour = COLOURS[index % len(COLOURS)]
    return {
        "color": colour,
        "marker": PLOT_MARKS[index % len(PLOT_MARKS)],
        "markersize": min(LECTURE_PICTURE.smallest_mark + LECTURE_PICTURE.larger * index, LECTURE_PICTURE.largest_mark),
        "zorder": 3.0 - 0.01 * index,
        "mec": colour,
        "mfc": "white" if theta.endswith("= 1") else colour,
        "linestyle": (0, (4.0, 1.5)) if theta.endswith("= 1") else "-",
        "linewidth": 0.9,
    }


def _legend(axes: Axes, made: Lecture, family: str, problem: str) -> None:
    """Write slopes over tol or h and over the work beside the names."""
    table = made.tables[family, problem]
    labels = list(table.runs)
    width = max(map(len, labels))
    entries = []
    settings = {point.setting for point in table.points}
    for label in labels:
        fits = [
            made.slope(family, problem, label, quantity, against=against)
            for against in ("setting", "evaluations")
            for quantity in LECTURE_QUANTITIES
        ] if table.of(label) else [math.nan] * 4  # fmt: skip
        text = f"{label:<{width}}" + "".join(f"{_number(fit):>6}" for fit in fits)
        entries.append(Line2D([], [], label=text, **_style(label, labels)))
    over = " or ".join(sorted(settings)) or "-"
    title = f"{'slope over':<{width}}{over:>9}{'work':>11}\n{'':<{width}}" + "".join(
        f"{x:>6}" for x in LECTURE_QUANTITIES * 2
    )
    made_legend = axes.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(-0.16, 1.06), frameon=False, prop=MONO, handlelength=2.0,
        labelspacing=0.45, borderaxespad=0.0, handletextpad=0.5, title=title, title_fontproperties=MONO,
        alignment="right",
    )  # fmt: skip
    made_legend.get_title().set_color("#555555")


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1f}" if abs(value) >= 10.0 else f"{value:.2f}"
