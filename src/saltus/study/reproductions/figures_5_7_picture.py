"""The picture of figures_5_7: a row per figure of the source, a column per quantity, orders beside the panels."""

from __future__ import annotations

import math
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from saltus.plot import COLOURS, SolutionFigure
from saltus.study.curve import QUANTITIES

from .experiment import EXACT, Reproduction
from .figures_5_7 import CLASSIC

# in L1, hence times seconds
PICTURE_UNITS = {"q": "position q: error [m s]", "v": "velocity v: error [m]", "impulse": "impulse i: error [N s$^2$]"}
FLIGHT, REST = "exponential flight", "exponential rest"
PICTURE_ROWS = {  # the experiment of each quantity; the last row joins the panels of two that show an order
    "Fig. 5: free flight, load $t^2$": ("free flight",) * 3,
    "Fig. 6: rest phase, load $t^2$": ("rest phase",) * 3,
    "Fig. 7: impacts that accumulate at t = 3 s, then rest": ("combined",) * 3,
    "Beyond the source: load $e^{2t}$, errors at grid points; q and v of a flight, i of a rest": (FLIGHT, FLIGHT, REST),
}


class _Rings(NamedTuple):
    """Tuned numbers of this file."""

    # size of the ring of degree 1, and how much each further degree adds [pt]
    smallest: float = 3.5
    larger: float = 2.1
    most_rings: int = 6  # beyond that rings grow no more
    least_range: float = 100.0  # of the errors in a panel


RINGS = _Rings()


def draw(made: Reproduction) -> Figure:
    """Draw all panels."""
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9.5}):
        figure = SolutionFigure(figsize=(13.0, 12.5))
        FigureCanvasAgg(figure)
        # a fixed layout: legends stand in the gaps between columns, and panels of a column stay aligned
        places = figure.subplots(
            len(PICTURE_ROWS), len(QUANTITIES),
            gridspec_kw={"left": 0.045, "right": 0.9, "top": 0.9, "bottom": 0.045, "wspace": 0.55, "hspace": 0.62},
        )  # fmt: skip
        for row, (title, names) in zip(places, PICTURE_ROWS.items(), strict=True):
            for axes, name, quantity in zip(row, names, QUANTITIES, strict=True):
                _panel(axes, made, name, quantity)
            row[0].annotate(
                title, (0.0, 1.0), (-36.0, 24.0), "axes fraction", "offset points", fontsize=10.5, fontweight="bold"
            )
        figure.suptitle(
            "Bouncing ball: $L_1$ errors and fitted orders of Moreau-Jean, $\\theta = 1$ (MJ), and of D$M^-$ (rings) "
            "and D$M^+$ (crosses) of degree $M$",
            fontsize=11.5, y=0.985,
        )  # fmt: skip
    return figure


def _panel(axes: Axes, made: Reproduction, name: str, quantity: str) -> None:
    table = made.tables[name]
    h, floor = table.h.mean(axis=1), made.experiments[name].floor(quantity)
    entries, exact = [], []
    for k, labels in enumerate(_together(list(table.schemes))):
        colour, size = COLOURS[k % len(COLOURS)], RINGS.smallest + RINGS.larger * min(max(k - 1, 0), RINGS.most_rings)
        orders = []
        for label in labels:
            order, constant = made.fit(name, label, quantity)
            orders.append(order)
            if order == EXACT:
                continue
            mean = table.mean(label, quantity)
            shown = mean > floor
            axes.plot(h[shown], mean[shown], linestyle="none", **_mark(label, colour, size))
            if math.isfinite(order):
                axes.plot(h[shown], constant * h[shown] ** order, color=colour, linewidth=0.9)
        if all(order == EXACT for order in orders):
            exact.append(labels)
        else:
            entries.append(_entry(labels, orders, colour))
    axes.set_xscale("log")
    axes.set_xlim(h[-1] / 1.2, h[0] * 1.2)
    axes.set_xlabel("step size h [s]")
    axes.set_title(PICTURE_UNITS[quantity], loc="left", fontsize=9.5)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color="#E4E4E4", linewidth=0.6)
    axes.set_axisbelow(True)
    if not entries:
        axes.yaxis.set_major_locator(NullLocator())
        axes.text(0.5, 0.5, "exact for all schemes", transform=axes.transAxes, ha="center", color="#555555")
        return
    _scale(axes)
    if exact:
        entries.append(Line2D([], [], linestyle="none", label=f"{_span(exact)}\nexact"))
    axes.legend(
        handles=entries, loc="upper left", bbox_to_anchor=(1.01, 1.03), frameon=False, fontsize=8.5, handlelength=1.6,
        labelspacing=0.35, borderaxespad=0.0, title="scheme, order", title_fontsize=8.5, alignment="left",
    )  # fmt: skip


def _scale(axes: Axes) -> None:
    """Scale the errors logarithmically, over two decades at least."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < RINGS.least_range * low:
        middle = math.sqrt(low * high)
        axes.set_ylim(middle / RINGS.least_range**0.5, middle * RINGS.least_range**0.5)
    axes.yaxis.set_major_locator(LogLocator(numticks=7))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _together(labels: list[str]) -> list[list[str]]:
    """Return D- and D+ of one degree side by side, Moreau-Jean alone."""
    found: dict[str, list[str]] = {}
    for label in labels:
        found.setdefault(label.rstrip("+-"), []).append(label)
    return list(found.values())


def _mark(label: str, colour: str, size: float) -> dict:
    if label == CLASSIC:
        return {"marker": "s", "color": colour, "markersize": 4.5}
    if label.endswith("-"):
        return {"marker": "o", "mfc": "none", "mec": colour, "mew": 0.7, "markersize": size}
    return {"marker": "x", "color": colour, "mew": 0.7, "markersize": 4.0}


def _entry(labels: list[str], orders: list[float], colour: str) -> Line2D:
    shown = [_shown(order) for order in orders]
    if len(labels) == 2 and shown[0] == shown[1]:
        text = f"{_both(labels)}  {shown[0]}"
    else:
        text = "\n".join(f"{_math(label)}  {order}" for label, order in zip(labels, shown, strict=True))
    mark = _mark(labels[0], colour, 5.0)
    return Line2D([], [], color=colour, linewidth=0.9, label=text, **{key: mark[key] for key in mark if key != "color"})


def _shown(order: float) -> str:
    return "exact" if order == EXACT else "-" if np.isnan(order) else f"{order:.2f}"


def _math(label: str) -> str:
    return label if label == CLASSIC else f"D{label[1:-1]}$^{label[-1]}$"


def _both(labels: list[str]) -> str:
    return _math(labels[0]) if len(labels) == 1 else f"D{labels[0][1:-1]}$^\\pm$"


def _span(groups: list[list[str]]) -> str:
    """Return the names of many schemes, all but the first and the last left out."""
    names = [group[0].rstrip("+-") for group in groups]
    return ", ".join(names) if len(names) < 3 else f"{names[0]} to {names[-1]}"
