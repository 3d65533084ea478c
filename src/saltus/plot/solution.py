"""A run over time: positions, velocities with jumps, gaps, impulses, in panels by quantity, unit or body."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saltus.errors import SettingError
from saltus.plot.event_time import Clock, Time
from saltus.plot.page import PLOT, Width, looks, new_figure, saved, title_of
from saltus.plot.panels import draw_gaps, draw_impulses, draw_positions, draw_velocities
from saltus.results.names import coordinate_units, velocity_units

if TYPE_CHECKING:
    from saltus.solution import Solution

Panels = Literal["quantity", "unit", "body"] | None
Columns = dict[int, str | None]


class _Panel(NamedTuple):
    """One panel: what draws it, the columns that it shows, its body and its place in the row of that body."""

    draw: Callable[..., None]
    columns: Columns
    body: str = ""
    place: int = 0


def plot_solution(
    solution: Solution,
    *,
    axes: Sequence[Axes | None] | None = None,
    coordinates: Sequence[int] | Mapping[int, str] | None = None,
    panels: Panels = None,
    time: Time = "time",
    width: Width = None,
    path: str | os.PathLike | None = None,
) -> Figure:
    """Draw positions, velocities with their jumps, gaps and accumulated impulses over time.

    Velocities are right limits; a thin vertical line leads from the left limit to the right one. Where the
    exact solution is known it is drawn dashed. Curves follow the dense output to a five-thousandth of the height of
    their panel, however long the steps are; long runs are thinned so that peaks stay.

    Parameters
    ----------
    solution
        What `solve` returned.
    axes
        Matplotlib axes to draw into, in the order positions, velocities, gaps, impulses; None skips one.
        Without it a new figure is made; gaps and impulses are left out when there is no contact.
    coordinates
        Columns of q and v to draw, or {column: label}; all of them by default.
    panels
        "quantity": one panel for all positions, one for all velocities. "unit": one for each of their units. "body": a
        row for each body of a mechanism. None: by unit where coordinates have different units, else by quantity.
    time
        "time", or "event" for equal room between impacts.
    width
        "one column" (85 mm), "two columns" (174 mm) or millimetres; None is for screens.
    path
        Where to write the figure; the ending chooses the format (.png, .pdf, .svg).

    Returns
    -------
    matplotlib.figure.Figure
        The figure of the (first) axes.
    """
    columns = _columns(solution, coordinates)
    clock = Clock(solution, time)
    with looks(width):
        if axes is None:
            shown = _panels(solution, columns, panels)
            figure, places = _laid_out(solution, shown, clock, width)
        else:
            if panels not in (None, "quantity"):
                raise SettingError("give axes or panels, not both: axes are for positions, velocities, gaps, impulses")
            shown = _by_quantity(solution, columns)
            places = _checked(axes, len(shown))
            # twice: axes may stand in a part of a figure (get_figure(root=True) needs matplotlib 3.10)
            figure = next(place for place in places if place is not None).figure.figure
        for panel, place in zip(shown, places, strict=False):
            if place is not None:
                panel.draw(place, solution, panel.columns, clock, panel.body)
        saved(figure, path)
    return figure


def _checked(axes: Sequence[Axes | None], panels: int) -> Sequence[Axes | None]:
    if isinstance(axes, Axes):
        raise SettingError("axes is a single one: give a list, positions first, e.g. axes=[axes]")
    if len(axes) == 0 or len(axes) > 4 or all(place is None for place in axes):
        raise SettingError("axes is empty or too long: give one to four (positions, velocities, gaps, impulses)")
    if any(place is not None for place in axes[panels:]):
        raise SettingError("axes has places for gaps and impulses, but the system has no contacts: give two")
    return axes


def _columns(solution: Solution, coordinates) -> Columns:
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


# ---- which panels there are


def _panels(solution: Solution, columns: Columns, panels: Panels) -> list[_Panel]:
    if panels not in (None, "quantity", "unit", "body"):
        raise SettingError(f"panels is {panels!r}: it must be 'quantity', 'unit' or 'body'")
    if panels == "body":
        return _by_body(solution, columns)
    return _by_quantity(solution, columns) if panels == "quantity" else _by_unit(solution, columns)


def _contact_panels(solution: Solution, columns: Columns) -> list[_Panel]:
    return [_Panel(draw, columns) for draw in (draw_gaps, draw_impulses)] if solution.system.contacts else []


def _by_quantity(solution: Solution, columns: Columns) -> list[_Panel]:
    moving = [_Panel(draw_positions, columns), _Panel(draw_velocities, columns)]
    return moving + _contact_panels(solution, columns)


def _by_unit(solution: Solution, columns: Columns) -> list[_Panel]:
    made = [
        _Panel(draw, part)
        for draw, parts in zip((draw_positions, draw_velocities), _units(solution, columns), strict=True)
        for part in parts.values()
    ]
    return made + _contact_panels(solution, columns)


def _units(solution: Solution, columns: Columns) -> tuple[dict[str, Columns], dict[str, Columns]]:
    """Return the columns of positions and of velocities by their units."""
    nq, nv = solution.q.shape[1], solution.v.shape[1]
    found: tuple[dict[str, Columns], dict[str, Columns]] = ({}, {})
    units = coordinate_units(solution.system, nq), velocity_units(solution.system, nq, nv)
    for parts, known in zip(found, units, strict=True):
        for j, label in columns.items():
            if j < len(known):
                parts.setdefault(known[j], {})[j] = label
    return found


def _by_body(solution: Solution, columns: Columns) -> list[_Panel]:
    from saltus.results.body import scene_of

    bodies = [body for body in scene_of(solution).bodies if body.size]
    positions, velocities = _units(solution, columns)
    kinds = [(draw_positions, part) for part in positions.values()]
    kinds += [(draw_velocities, part) for part in velocities.values()]
    made = []
    for body in bodies:
        mine = range(body.first, body.first + body.size)
        for place, (draw, part) in enumerate(kinds):
            own = {j: label for j, label in part.items() if j in mine}
            if own:
                made.append(_Panel(draw, own, body.name, place))
    return made + _contact_panels(solution, columns)


# ---- where they stand


def _laid_out(solution: Solution, shown: list[_Panel], clock: Clock, width: Width) -> tuple[Figure, list[Axes]]:
    """Return a new figure and its axes, one for each panel: below each other, those of one body in a row."""
    bodies = list(dict.fromkeys(panel.body for panel in shown if panel.body))
    across = max((panel.place for panel in shown), default=0) + 1
    rest = sum(not panel.body for panel in shown)
    rows = len(bodies) + rest
    entries = max((len(panel.columns) for panel in shown if not panel.body), default=1)
    entries = max(entries, len(solution.system.contacts)) if rest else 1
    figure = new_figure(width, 0.7 + 1.75 * rows)
    if width is None and across == 1:  # room for the legends, so that panels keep their size
        columns = -(-min(entries, PLOT.most_entries) // PLOT.legend_rows)
        figure.set_size_inches(PLOT.screen + 0.75 * (columns - 1), figure.get_figheight())
    elif width is None:
        figure.set_size_inches(PLOT.screen * 1.3, figure.get_figheight())
    grid = figure.add_gridspec(rows, across)
    places: list[Axes] = []
    below = len(bodies)
    for panel in shown:
        if panel.body:
            spot = grid[bodies.index(panel.body), panel.place]
        else:
            spot, below = grid[below, :], below + 1
        places.append(figure.add_subplot(spot, sharex=places[0] if places else None))
    for place in places:
        place.label_outer() if across == 1 else None
    if width is None and across > 1:
        figure.suptitle(title_of(solution), fontsize=10.0)
    elif width is None:
        places[0].set_title(title_of(solution), loc="left", fontsize=10.0)
    clock.label(places[-1], places[0])
    if len(solution.t) > 1:
        places[0].set_xlim(*clock(solution.t[[0, -1]]))
    figure.align_ylabels([place for place, panel in zip(places, shown, strict=True) if panel.place == 0])
    return figure, places
