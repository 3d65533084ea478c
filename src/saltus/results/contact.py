"""One contact of a run: its gap, force, impulse, velocities, share of time and energy."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from saltus.errors import SettingError
from saltus.results.events import EventTable
from saltus.results.instants import gap_at, row_velocities_at

if TYPE_CHECKING:
    from saltus.results.records import Side
    from saltus.solution import Solution

CARRIES = 1e-12  # of the largest impulse of a step: a smaller lasting one is rounding


class ContactResult:
    """What a contact did in a run; columns of forces and velocities are its rows `axes`: N | N, T | N, T1, T2.

    Attributes
    ----------
    name, axes
        Its name and the names of its rows.
    t
        The kept times of the run [s].
    """

    def __init__(self, solution: Solution, name: str):
        self._solution, self.name = solution, name
        self._columns = [j for j, (contact, _) in enumerate(solution.rows) if contact == name]
        self._place = solution.system.contact_names.index(name)
        self.axes = tuple(solution.rows[j][1] for j in self._columns)
        self.t = solution.t

    def __repr__(self) -> str:
        seen = self.events.summary()[self.name]
        return f"ContactResult({self.name!r}: rows {', '.join(self.axes)}, {seen.impacts} impacts)"

    @property
    def events(self) -> EventTable:
        """Its rows in the table of events."""
        return self._solution.events.of(self.name)

    @functools.cached_property
    def gap(self) -> np.ndarray:
        """Gap at the kept times (n + 1,) [m]."""
        return self._solution.gaps()[:, self._place]

    @functools.cached_property
    def force(self) -> np.ndarray:
        """Force of the lasting contact at the kept times (n + 1, rows) [N], right limits; impacts are no part of it."""
        return self.force_at(self.t)

    @property
    def impulse(self) -> np.ndarray:
        """Impulse over each (t_k, t_k+1] (n, rows) [N s], impacts included."""
        return self._solution.impulse[:, self._columns]

    @functools.cached_property
    def velocity(self) -> np.ndarray:
        """Relative velocities at the kept times (n + 1, rows) [m/s], right limits: normal first, then slip."""
        return self.velocity_at(self.t)

    @property
    def slip(self) -> np.ndarray:
        """Tangential relative velocities at the kept times (n + 1, rows - 1) [m/s], right limits."""
        return self.velocity[:, 1:]

    @property
    def dissipation(self) -> np.ndarray:
        """Energy that it has taken since the start, by impacts and friction, at the kept times (n + 1,) [J]."""
        return self._solution.energy.dissipation[:, self._place]

    @functools.cached_property
    def share(self) -> float:
        """Share of the time in which it carries a lasting force, from 0 to 1; impacts take no time."""
        return share_of_time(self._solution, (self.name,))

    def gap_at(self, t, side: Side = "+"):
        """Return its gap at any time, or at many [m]."""
        return gap_at(self._solution, t, side)[..., self._place]

    def force_at(self, t, side: Side = "+") -> np.ndarray:
        """Return the force of the lasting contact at any time, or at many [N]; see `Solution.force_at`."""
        return self._solution.force_at(t, side)[..., self._columns]

    def impulse_at(self, t, side: Side = "+") -> np.ndarray:
        """Return the impulse since the start at any time, or at many [N s]; see `Solution.impulse_at`."""
        return self._solution.impulse_at(t, side)[..., self._columns]

    def velocity_at(self, t, side: Side = "+") -> np.ndarray:
        """Return the relative velocities of its rows at any time, or at many [m/s]."""
        made = row_velocities_at(self._solution, t, side)[:, self._columns]
        return made[0] if np.ndim(t) == 0 else made


def contact(solution: Solution, x: str) -> ContactResult:
    """Return one contact of a run, see `Solution.contact`."""
    known = solution.system.contact_names
    if x not in known:
        named = ", ".join(repr(name) for name in known[:20]) + (", ..." if len(known) > 20 else "")
        raise SettingError(f"there is no contact {x!r}: there are {named or 'none'}")
    return ContactResult(solution, x)


def share_of_time(solution: Solution, names: tuple[str, ...]) -> float:
    """Return the share of time in which at least one of some contacts carries a lasting force."""
    if len(solution.t) < 2:
        return 0.0
    mine = solution.events.of(*names) if names else solution.events[:0]
    changes = mine["t"][np.isin(mine["kind"], ("closing", "release"))]
    if not solution.every_step and not np.isin(changes, solution.t).all():
        raise SettingError(
            f"the run kept too few times to tell when {', '.join(names)} was closed: run with save='steps' or 'events'"
        )
    columns = [j for j, (name, axis) in enumerate(solution.rows) if name in names and axis == "N"]
    lasting = solution._lasting[:, columns]
    carries = lasting > CARRIES * np.abs(solution.impulse[:, columns]).max(initial=0.0)
    return float(np.diff(solution.t)[carries.any(axis=1)].sum() / (solution.t[-1] - solution.t[0]))
