"""From one impact to the next: a quantity of each impact of a contact against that of the one before, with cobweb."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.axes import Axes

from saltus.errors import SettingError
from saltus.plot.page import COLOURS, Width, figure_of, grid, looks, place, saved, title_of

if TYPE_CHECKING:
    from saltus.solution import Solution

Impact = Literal["speed", "impulse", "interval", "phase"]
QUANTITY_WORDS = {
    "speed": "speed of approach [m/s]",
    "impulse": "normal impulse [N s]",
    "interval": "time since the impact before [s]",
    "phase": "phase of the impact [s]",
}


def impact_map(
    solution: Solution,
    contact: str | None = None,
    quantity: Impact = "speed",
    *,
    period: float | None = None,
    span: tuple[float, float] | None = None,
    cobweb: bool = True,
    axes: Axes | None = None,
    width: Width = None,
    path: str | os.PathLike | None = None,
) -> Axes:
    """Draw a quantity of each impact over that of the impact before.

    Points on the diagonal repeat themselves; the cobweb leads from point to point in the order of time.

    Parameters
    ----------
    solution
        What `solve` returned.
    contact
        Name of a contact; may be left out where one alone has impacts.
    quantity
        "speed" of approach [m/s], normal "impulse" [N s], "interval" since the impact before [s], or "phase", the time
        of the impact within a period [s].
    period
        Period of the excitation [s], for "phase".
    span
        Begin and end [s]; leave the first part out to see what lasts.
    cobweb
        Whether to draw the way from impact to impact.
    axes, width, path
        Where to draw; width of a new figure; file to write.

    Returns
    -------
    matplotlib.axes.Axes
        Lines: the diagonal, the cobweb where it is drawn, the points.
    """
    x = impacts_of(solution, contact, quantity, period, span)
    with looks(width):
        axes = place(axes, width, 5.0, title_of(solution))
        low, high = float(x.min()), float(x.max())
        room = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
        ends = [low - room, high + room]
        axes.plot(ends, ends, color="#999999", linewidth=0.8, label="diagonal")
        if cobweb:
            way = np.repeat(x, 2)
            axes.plot(way[:-1], way[1:], color=COLOURS[5], linewidth=0.7, alpha=0.8, label="cobweb")
        axes.plot(x[:-1], x[1:], ".", color=COLOURS[0], markersize=4.0, label="impacts")
        axes.set(xlim=ends, ylim=ends, aspect="equal")
        axes.set_xlabel(f"{QUANTITY_WORDS[quantity]}, impact n")
        axes.set_ylabel("impact n + 1")
        grid(axes)
        saved(figure_of(axes), path)
    return axes


def impacts_of(
    solution: Solution, contact: str | None, quantity: Impact, period: float | None, span: tuple[float, float] | None
) -> np.ndarray:
    """Return a quantity of the impacts of one contact in the order of time."""
    if quantity not in QUANTITY_WORDS:
        raise SettingError(f"quantity is {quantity!r}: it must be one of {', '.join(map(repr, QUANTITY_WORDS))}")
    if (quantity == "phase") != (period is not None):
        raise SettingError("give period [s] with quantity='phase', and only there")
    if period is not None and not period > 0.0:
        raise SettingError(f"period is {period!r}: it must be a positive time [s]")
    struck = solution.events[solution.events["kind"] == "impact"]
    if contact is None:
        names = np.unique(struck["contact"])
        if len(names) > 1:
            raise SettingError(f"contact is missing: impacts are at {', '.join(repr(str(one)) for one in names)}")
    else:
        solution.contact(contact)  # says which there are
        struck = struck[struck["contact"] == contact]
    struck = struck[np.argsort(struck["t"], kind="stable")]
    if span is not None:
        from saltus.results.sample import span_of

        begin, end = span_of(solution, span)
        struck = struck[(struck["t"] >= begin) & (struck["t"] <= end)]
    made = {
        "speed": lambda: -struck["u_minus"][:, 0],
        "impulse": lambda: struck["impulse"][:, 0],
        "interval": lambda: np.diff(struck["t"]),
        "phase": lambda: np.mod(struck["t"], period or 1.0),
    }[quantity]()
    if len(made) < 2:
        raise SettingError(f"there are {len(struck)} impacts: a map leads from one to the next and needs more")
    return made
