"""Bifurcation diagrams: sections of the motion over a parameter, each run from the end of the one before."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from saltus.errors import SettingError
from saltus.sweep.asked import Asked, prepare
from saltus.sweep.measures import Events, Impacts, Measure, Strobe, listed, positive_whole
from saltus.sweep.result import Sweep
from saltus.sweep.running import made_sweep
from saltus.sweep.swept import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from saltus.ensemble.lane_engine import MoreauJeanLanes
    from saltus.schemes.plan import SchemeLike

# what must repeat itself of a section: its kind, the front of the names, and their ends
REPEATED = ((Strobe, "", "q", "v"), (Impacts, "impact_", "u_minus", "v"), (Events, "event_", "q", "v"))
DIRECTIONS = {"up": ("up",), "down": ("down",), "both": ("up", "down")}


class Bifurcation(Sweep):
    """A bifurcation diagram: runs over one parameter, with sections.

    The dataset has the dimensions direction, the parameter, and point: `q` and `v` of a Strobe, `impact_u_minus` and
    others of Impacts, `event_q` and others of Events; NaN where a run had fewer points.
    """

    kind = "bifurcation"

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        """Return values by direction and parameter, which rises: runs down were made the other way."""
        made = super()._shaped(values).copy()
        for row, way in zip(made, self._coords["direction"][1], strict=True):
            if way == "down":
                row[:] = row[::-1].copy()
        return made

    def periods(self, most: int = 32, tolerance: float = 1e-6) -> np.ndarray:
        """Return after how many sections the motion repeats itself, 0 for none, by direction and parameter.

        Compared are q and v of a Strobe and of Events, of which a section may hold either, and of Impacts the approach
        speed and v: coordinates may drift from impact to impact.
        """
        section, data = self._prepared.asked.section, self.dataset
        prefix, *names = next(found for kind, *found in REPEATED if isinstance(section, kind))
        points = data.sizes["point"]
        seen = np.isfinite(data[f"{prefix}t"].values.reshape(len(self), points))  # rising parameters
        rows = np.concatenate([data[prefix + name].values.reshape(len(self), points, -1) for name in names], axis=2)
        made = np.zeros(len(self), dtype=int)
        for k in range(len(self)):
            here = rows[k, seen[k]]
            unknown, scale = np.isnan(here), 1.0 + np.nanmax(np.abs(here), initial=0.0)
            for p in range(1, min(most, len(here) // 2) + 1):
                apart = np.where(unknown[p:] & unknown[:-p], 0.0, np.abs(here[p:] - here[:-p]))
                if np.max(apart) <= tolerance * scale:  # what is known of one section only repeats nothing
                    made[k] = p
                    break
        return made.reshape(self._shape)

    def plot(self, y: str | None = None, *, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the points of the sections over the parameter.

        y: a coordinate or velocity of the section, such as "q0" or "v0", or a variable of the dataset; None takes q0 of
        a Strobe, the approach speed of Impacts. options go to matplotlib's `plot`.
        """
        from saltus.sweep.pictures import draw_points

        return draw_points(self, y, ax, options)


def bifurcation(
    model: Any,
    q0: Any = None,
    v0: Any = None,
    *,
    section: Any,
    transient: int = 150,
    keep: int = 50,
    direction: Literal["up", "down", "both"] = "up",
    follow: bool = True,
    measures: Measure | Sequence[Measure] = (),
    parameters: dict[str, Any] | None = None,
    t_begin: float = 0.0,
    executor: Any = None,
    store: str | os.PathLike | None = None,
    progress: bool | None = None,
    scheme: SchemeLike | MoreauJeanLanes | None = None,
    h: float | None = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    **swept: Any,
) -> Bifurcation:
    """Follow the motion along a parameter and keep sections of it.

    Parameters
    ----------
    model
        A `System` or `Problem` with `Parameters`, a mechanism, or a function of the swept value that returns a Problem.
    q0, v0
        Where the first run begins, and those behind one that failed; None takes those of a Problem.
    section
        `Strobe(period)`, `Impacts(contact, period=...)` or `Events(event, period=...)`; the period [s] is that of the
        forcing, for a motion without forcing any time.
    transient, keep
        Periods that are left out, and periods behind them in which sections are kept.
    direction
        "up", "down" or "both": from the smallest value to the largest, the other way, or each.
    follow
        Whether a run begins where the one before it ended; otherwise all begin at q0, v0.
    measures
        What else is kept of every run, such as `Period()` or `ImpactStatistics("stop")`.
    parameters
        Values of other parameters, for all runs.
    t_begin
        Where all runs begin [s].
    executor, store, progress
        Who makes the runs, a folder to keep them in, and whether a bar is shown (see `monte_carlo`).
    scheme, h, tol, options
        As for `solve`; options takes the others, like {"max_steps": 10_000}.
    swept
        One parameter by name and its values.
    """
    if direction not in tuple(DIRECTIONS):
        raise SettingError(f"direction is {direction!r}: it must be 'up', 'down' or 'both'")
    if getattr(section, "period", None) is None:
        raise SettingError(f"section is {section!r}: give Strobe(period), or Impacts or Events with a period")
    if len(swept) != 1:
        said = ", ".join(swept) or "none"
        raise SettingError(f"a bifurcation diagram has one parameter, not {said}: give it by name, like w=values")
    (name, given), ways = *swept.items(), DIRECTIONS[direction]
    values = np.unique(values_of(name, given))
    keep, transient = positive_whole(keep, "keep"), positive_whole(transient, "transient", 0)
    column = np.concatenate([values if way == "up" else values[::-1] for way in ways])
    settings = {"scheme": scheme, "h": h, "tol": tol, **(options or {})}
    asked = Asked(
        model, len(column), {name: column}, q0, v0, (t_begin, None), listed(measures),
        {key: one for key, one in settings.items() if one is not None}, dict(parameters or {}), section, transient,
        keep, len(values) if follow else 0,
    )  # fmt: skip
    prepared = prepare(asked)
    reduced = made_sweep(prepared, executor, store, None, progress)
    coords = {"direction": (("direction",), np.array(ways)), name: ((name,), values)}
    return Bifurcation(prepared, reduced, ("direction", name), (len(ways), len(values)), coords)
