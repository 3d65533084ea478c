"""Which contact carries a force when, as bars, and its impacts as stems whose height is their impulse."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from saltus.errors import SettingError
from saltus.plot.event_time import Clock, Time
from saltus.plot.page import COLOURS, Width, figure_of, legend_above, looks, place, saved, title_of
from saltus.results.contact import CARRIES
from saltus.results.reactions import ATOMS

if TYPE_CHECKING:
    from saltus.solution import Solution

STATE_COLOURS = {"closed": COLOURS[6], "sticks": COLOURS[0], "slides": COLOURS[4]}
IMPULSE = COLOURS[1]
BAR = 0.3  # height of a bar, where the contacts are 1 apart
STEM = 0.62  # height of the largest stem above the bar
ON_THE_CONE = 1e-6  # of the bound mu r_N: friction nearer to it slides


def gantt(
    solution: Solution,
    *,
    contacts: Sequence[str] | None = None,
    time: Time = "time",
    axes: Axes | None = None,
    width: Width = None,
    path: str | os.PathLike | None = None,
) -> Axes:
    """Draw when each contact carries a lasting force, and its impacts as stems.

    Bars are coloured by what friction does: sticks or slides, told by the force itself (mean of a step on its cone);
    contacts without friction are closed. The height of a stem is the square root of its impulse over the largest of the
    picture, which the legend names; an accumulation of impacts is a stem with its sum.

    Parameters
    ----------
    solution
        What `solve` returned.
    contacts
        Names, from top to bottom; all of them by default.
    time
        "time", or "event" for equal room between impacts.
    axes, width, path
        Where to draw; width of a new figure; file to write.

    Returns
    -------
    matplotlib.axes.Axes
        Bars are collections labelled by contact and state, stems one collection per contact.
    """
    names = _names(solution, contacts)
    clock = Clock(solution, time)
    strikes = {name: _strikes(solution, name) for name in names}
    largest = max((float(size.max(initial=0.0)) for _, size in strikes.values()), default=0.0)
    seen: dict[str, str] = {}
    with looks(width):
        axes = place(axes, width, 1.2 + 0.5 * max(len(names), 2), title_of(solution))
        for row, name in enumerate(names):
            floor = len(names) - 1.0 - row
            axes.axhline(floor, color="#E4E4E4", linewidth=0.6, zorder=0)
            for state, begin, end in _bars(solution, name):
                x = clock(np.column_stack([begin, end]))
                spans = [(a, b - a) for a, b in x]
                axes.broken_barh(
                    spans, (floor, BAR), facecolor=STATE_COLOURS[state], linewidth=0.0, label=f"_{name} {state}"
                )
                seen[state] = STATE_COLOURS[state]
            t, impulse = strikes[name]
            if len(t):
                height = STEM * np.sqrt(impulse / largest) if largest > 0.0 else np.zeros(len(t))
                axes.vlines(clock(t), floor, floor + height, color=IMPULSE, linewidth=0.8, label=f"_{name} impacts")
        axes.set_yticks([len(names) - 1.0 - row for row in range(len(names))], labels=names)
        axes.set_ylim(-0.15, len(names) - 1.0 + max(STEM, BAR) + 0.12)
        axes.set_xlim(*clock(solution.t[[0, -1]]))
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0.0)
        clock.label(axes)
        _legend(axes, seen, largest)
        saved(figure_of(axes), path)
    return axes


def _names(solution: Solution, contacts: Sequence[str] | None) -> tuple[str, ...]:
    known = solution.system.contact_names
    if not known:
        raise SettingError("the system has no contacts: there is nothing to draw")
    if len(solution.t) < 2:
        raise SettingError("the run has no steps to draw")
    if contacts is None:
        return known
    chosen = (contacts,) if isinstance(contacts, str) else tuple(contacts)
    for name in chosen:
        solution.contact(name)  # says which there are
    return chosen


def _strikes(solution: Solution, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times and sizes of the impulses of a contact [N s]."""
    mine = solution.events[(solution.events["contact"] == name) & np.isin(solution.events["kind"], ATOMS)]
    return mine["t"], np.linalg.norm(mine["impulse"], axis=1)


def _bars(solution: Solution, name: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return for every state the begins and ends of the stretches of time in which a contact is in it [s]."""
    columns = [j for j, (contact, _) in enumerate(solution.rows) if contact == name]
    lasting = solution._lasting[:, columns]
    largest = np.abs(solution.impulse[:, columns[0]]).max(initial=0.0)
    closed = (lasting[:, 0] > CARRIES * largest) & ~_accumulates(solution)
    if len(columns) == 1:
        return _stretches(solution, {"closed": closed})
    k = solution.system.contact_names.index(name)
    mu = float(solution.system.laws(solution.parameters or None)[k][1])
    units = np.ones(len(columns)) if solution._units is None else solution._units[columns]
    axes = [solution.rows[j][1] for j in columns]
    sliding = [i for i, axis in enumerate(axes) if axis.startswith("T")]
    size = np.linalg.norm(lasting[:, sliding] / units[sliding], axis=1)
    slides = closed & (size >= (1.0 - ON_THE_CONE) * mu * lasting[:, 0] / units[0])
    return _stretches(solution, {"sticks": closed & ~slides, "slides": slides})


def _accumulates(solution: Solution) -> np.ndarray:
    """Tell which steps stand for an accumulation of impacts: what they carry is the sum of these, and no bar."""
    ends = np.searchsorted(solution.t, solution.events["t"][solution.events["kind"] == "zeno"])
    made = np.zeros(len(solution.t), dtype=bool)
    made[ends[ends < len(made)]] = True
    return made[1:]


def _stretches(solution: Solution, states: dict[str, np.ndarray]) -> list[tuple[str, np.ndarray, np.ndarray]]:
    made = []
    for state, holds in states.items():
        edges = np.diff(np.concatenate([[0], holds.astype(int), [0]]))
        begin, end = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        if len(begin):
            made.append((state, solution.t[begin], solution.t[end]))
    return made


def _legend(axes: Axes, seen: dict[str, str], largest: float) -> None:
    entries: list = [Patch(color=colour, label=state) for state, colour in seen.items()]
    if largest > 0.0:
        entries.append(Line2D([], [], color=IMPULSE, linewidth=1.0, label=f"impact, up to {largest:.3g} N s"))
    if entries:
        legend_above(axes, entries, columns=len(entries))
