"""Event time: an axis on which every interval between two impacts has the same room.

A geometric accumulation of impacts is a wall on an ordinary axis; here it unrolls, without knowing where it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from saltus.errors import SettingError
from saltus.results.reactions import ATOMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from saltus.solution import Solution

Time = Literal["time", "event"]
MOST_LABELS = 6  # times that are written above an axis of event time
INCHES_PER_LABEL = 0.95


class Clock:
    """Where times stand on an axis: at their seconds, or at the number of impacts so far."""

    def __init__(self, solution: Solution, time: Time):
        if time not in ("time", "event"):
            raise SettingError(f"time is {time!r}: it must be 'time' or 'event'")
        self.event = time == "event"
        self.knots = knots(solution) if self.event else np.zeros(0)

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """Return places on the axis."""
        return np.interp(t, self.knots, np.arange(len(self.knots))) if self.event else np.asarray(t, dtype=float)

    def label(self, axes: Axes, top: Axes | None = None) -> None:
        """Write what the axis means, and in event time some of the seconds above the top panel."""
        if not self.event:
            axes.set_xlabel("time t [s]")
            return
        axes.set_xlabel("event time: impacts so far")
        top = axes if top is None else top
        room = top.figure.figure.get_figwidth() * top.get_position().width / INCHES_PER_LABEL
        count = int(np.clip(room, 2, MOST_LABELS))
        numbers = np.unique(np.linspace(0, len(self.knots) - 1, count).round().astype(int))
        above = top.secondary_xaxis("top")
        above.set_xticks(list(numbers), labels=[f"{self.knots[k]:.6g} s" for k in numbers])
        above.tick_params(labelsize=7.0)
        above.spines["top"].set_visible(False)


def knots(solution: Solution) -> np.ndarray:
    """Return the times that stand at whole numbers of event time: the start, every time with an impact, the end [s]."""
    struck = solution.events["t"][np.isin(solution.events["kind"], ATOMS)]
    struck = struck[(struck > solution.t[0]) & (struck < solution.t[-1])]
    made = np.unique(np.concatenate([solution.t[:1], struck, solution.t[-1:]]))
    if len(made) < 2:
        raise SettingError("the run has no steps to draw")
    return made
