"""The promise of a run as numbers: the sizes that a tolerance is relative to, and the thresholds that follow from it.

A tolerance means an error of tol (S + size of the motion) with a scale S for every coordinate, velocity and impulse. S
is 1 in the units of the model, unless `scale` says what it is for the coordinates: then the velocity scale is the one
that moves a coordinate by its scale during the span, and the impulse scale is the impulse that changes a velocity by
that much. Nothing else in a flight has a unit: what counts as closed, as rest or as an accumulation of impacts follows
from these scales, the span and the motion.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from saltus.compile.native import runnable
from saltus.errors import SettingError
from saltus.flight.frame import FLIGHT_SETTINGS
from saltus.memory import layout as lay

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel


class _PromiseTuned(NamedTuple):
    """Tuned numbers of this file."""

    rest_share: float = 0.1  # of the promise: what an approach that counts as no impact may leave out
    # of the promise: how far a slip in space may go before its direction is asked for again
    straight_share: float = 0.1
    # An error of the velocity moves the position for the rest of the run. Those at the ends of intervals are far
    # below their estimates (they converge twice as fast), so that only long spans ask for more than the promise of v
    # itself. The longer the span, the more intervals: their errors add up like the root of their number where signs
    # are random, so that positions err with the power 3/2 of the span.
    # how well forces are known at a change of contacts, relative: splits and friction in space lose digits
    known: float = 1e-10
    lasting: float = 50.0
    adding_up: float = 1.5
    # largest entry of the row of a gap below which it may have no direction where a run begins; how far coordinates are
    # moved to ask again (of their scale, and of their size, of which rounding leaves so much at least where a scale is
    # given), and times the row must be larger there
    no_direction: float = 0.3
    aside: float = 1e-3
    aside_rounding: float = 1e-8
    larger_aside: float = 10.0
    # of the largest entry of a row: entries below are rounding, and what a contact does to their velocities is no scale
    felt: float = 1e-16


PROMISE_TUNED = _PromiseTuned()


@dataclasses.dataclass(frozen=True)
class Promise:
    """What a scheme of flights asks for; its thresholds are filled in when span and start of a run are known.

    Attributes
    ----------
    tol
        Tolerance.
    closed, rest
        Gap [m] and speed [m/s] that were given; None takes what the promise allows.
    together
        Gaps up to which contacts are closed together where none was given: share of the promise, and of the scale what
        rounding leaves at least.
    lasting
        Whether intervals see to it that errors of the velocity do not move the position too far.
    scale
        Scale of the coordinates, a number or one for each; None: 1 for coordinates, velocities and impulses.
    """

    tol: float
    closed: float | None
    rest: float | None
    together: tuple[float, float]
    lasting: bool
    scale: float | tuple[float, ...] | None

    def key(self, model: CompiledModel, t_span, q: np.ndarray) -> tuple:
        """Return what the settings of a run depend on, beside the plan."""
        start = start_of(model, t_span[0], q, self.scale)
        rate = b"" if start.rate is None else start.rate.tobytes()
        return *t_span, start.mass.tobytes(), start.entry.tobytes(), rate

    def fill(self, settings: np.ndarray, model: CompiledModel, t_span, q: np.ndarray) -> np.ndarray:
        """Return the settings of a run over a span that begins at q."""
        begin, end = t_span
        start = start_of(model, begin, q, self.scale)
        places, values = self.numbers(settings, model.layout, np.array([begin]), np.array([end]), start)
        made = settings.copy()
        made[places] = values[0]
        return made

    def numbers(
        self, settings: np.ndarray, layout, begin: np.ndarray, end: np.ndarray, start: Start
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return places in the settings and what stands there for spans that begin alike, one row per span."""
        n, nq, nv, nr = len(begin), int(layout.nq), int(layout.nv), int(layout.nr)
        span = (end - begin)[:, None]
        position, velocity, place, push = np.ones((n, nq)), np.ones((n, nv)), np.ones((n, nv)), np.ones((n, nr))
        if self.scale is not None:
            if self._fits(nq):
                position = np.broadcast_to(np.asarray(self.scale, dtype=float), (n, nq))
            place = np.broadcast_to(start.moved_by(position[0]), (n, nv))
            velocity = place / span
            push = start.pushes(velocity)
        struck = start.struck(push)
        # a force decides when a contact opens or slips, so that light bodies ask for more than the promise of impulses,
        # and long spans, over which the velocity that it gives moves positions; but not for more than forces of
        # several contacts are known to
        slow = np.maximum(
            np.minimum(velocity, place / span), np.minimum(1.0, PROMISE_TUNED.known / self.tol) * velocity
        )
        push = np.minimum(push, start.pushes(slow if self.lasting else velocity))
        speed = velocity
        if self.lasting:
            speed = velocity * np.minimum(
                1.0, (PROMISE_TUNED.lasting * place / (span * velocity)) ** PROMISE_TUNED.adding_up
            )
        # and heavy ones for more than the promise of velocities: an impact makes impulses of them, at a time that
        # follows from positions
        speed, near = np.minimum(speed, struck), np.minimum(place, struck * span)
        placed = np.minimum(position, near) if start.rate is None else position
        reach = np.broadcast_to(start.reach(nq), (n, nq))
        closed, rest = np.full(n, self.closed or 0.0), np.full(n, self.rest or 0.0)
        if self.closed is None:
            share, rounding = self.together
            longest = np.minimum(place, velocity * span)
            least = np.min(np.minimum(longest, near), axis=1)
            closed = np.maximum(share * self.tol * least, rounding * np.min(longest, axis=1))
        if self.rest is None:
            rest = PROMISE_TUNED.rest_share * self.tol * start.slowest(np.minimum(velocity, place / span), push)
        lasts = np.minimum(np.min(place, axis=1), np.min(velocity, axis=1) * span[:, 0])
        straight = PROMISE_TUNED.straight_share * self.tol * lasts
        promise = [begin[:, None], span, position, placed, speed, velocity, place, push, reach]
        values = np.concatenate([*promise, np.stack([closed, rest, straight], axis=1)], axis=1)
        at = int(FLIGHT_SETTINGS(settings).promise_at) + np.arange(values.shape[1] - 3)
        named = [FLIGHT_SETTINGS.names.index(name) for name in ("closed", "rest", "straight")]
        return np.concatenate([at, named]), values

    def _fits(self, nq: int) -> bool:
        given = len(self.scale) if isinstance(self.scale, tuple) else 1
        if given not in (1, nq):
            fits = "one coordinate: give one number" if nq == 1 else f"{nq} coordinates: give one number or {nq}"
            raise SettingError(f"scale has {given} numbers, but the system has {fits}")
        return True


@dataclasses.dataclass(frozen=True)
class Start:
    """Masses and rows of the start of a run, as far as scales need them: entries of W by row, masses by velocity.

    Scales come and go as tables, one row per span.
    """

    mass: np.ndarray  # diagonal of M
    row: np.ndarray
    column: np.ndarray
    entry: np.ndarray
    rows: int  # of contacts and joints
    contact_rows: int
    rate: np.ndarray | None  # q_dot per velocity (nq, nv); None where q_dot = v
    aside: bool = False  # whether some row was asked for aside of the start, which depends on
    scale: float | tuple[float, ...] | None = None  # the scale of the coordinates that was given

    def moved_by(self, position: np.ndarray) -> np.ndarray:
        """Return for every velocity how far it may move before some coordinate has moved by its scale."""
        if self.rate is None:
            return position.copy()
        with np.errstate(divide="ignore"):
            far = np.min(position[:, None] / np.abs(self.rate), axis=0)
        return np.where(np.isfinite(far), far, np.max(position))

    def reach(self, nq: int) -> np.ndarray:
        """Return how much of every coordinate is in a gap at most; 1 where it is not known."""
        if self.rate is not None:
            return np.ones(nq)
        far = np.zeros(nq)
        one = self.row < self.contact_rows
        entry = np.abs(self.entry[one])
        np.maximum.at(far, self.column[one], np.where(entry > 0.0, entry, 1.0))
        return far

    def pushes(self, velocity: np.ndarray) -> np.ndarray:
        """Return for every row the impulse that changes some velocity by its scale."""
        changes = np.zeros((self.rows, len(velocity)))
        np.maximum.at(changes, self.row, (np.abs(self.entry) / (self.mass * velocity)[:, self.column]).T)
        least = np.min(self.mass * velocity, axis=1)
        return np.where(changes > 0.0, 1.0 / np.where(changes > 0.0, changes, 1.0), least).T

    def struck(self, push: np.ndarray) -> np.ndarray:
        """Return for every velocity the change that some contact makes of an impulse of its scale; inf for none.

        The velocity of a row r and its impulse belong together by the mass 1 / (W_r . M^-1 W_r).
        """
        one = self.row < self.contact_rows
        row, column, entry = self.row[one], self.column[one], np.abs(self.entry[one])
        inverse = np.bincount(row, entry**2 / self.mass[column], minlength=self.contact_rows)
        change = np.full((len(self.mass), len(push)), np.inf)
        size = np.zeros(self.contact_rows)
        np.maximum.at(size, row, entry)
        felt = (entry > PROMISE_TUNED.felt * size[row]) & (inverse[row] > 0.0)
        np.minimum.at(change, column[felt], ((push[:, : self.contact_rows] * inverse)[:, row[felt]] / entry[felt]).T)
        return change.T

    def slowest(self, velocity: np.ndarray, push: np.ndarray) -> np.ndarray:
        """Return the speed of a row that changes no velocity and no impulse by more than its scale."""
        one = self.row < self.contact_rows
        row, column, entry = self.row[one], self.column[one], self.entry[one]
        inverse = np.bincount(row, entry**2 / self.mass[column], minlength=self.contact_rows)
        moves = inverse > 0.0
        if not np.any(moves):
            return np.min(velocity, axis=1)
        inverse = np.where(moves, inverse, np.inf)
        changes = np.abs(entry) / (self.mass * velocity)[:, column] / inverse[row]
        pushed = 1.0 / inverse / push[:, : self.contact_rows]
        return 1.0 / np.maximum(np.max(changes, axis=1), np.max(pushed, axis=1))


def start_of(model: CompiledModel, t: float, q: np.ndarray, scale: float | tuple[float, ...] | None) -> Start:
    """Return masses and rows of the state for which a model was compiled; worked out once, for a scale if it matters.

    scale: that of the coordinates, as it was given to the scheme.
    """
    known = model.inertia
    if known is not None and (not known.aside or known.scale == scale):
        return known
    layout, units = model.layout, model.units
    nq, nv, nr, nw = int(layout.nq), int(layout.nv), int(layout.nr), int(layout.nw)
    M, W, w = np.zeros(int(layout.profile_size)), np.zeros(nw), np.zeros(nr)
    runnable(units.mass)(t, q, units.par, M)
    runnable(units.kinematics)(t, q, units.par, W, w)
    mass = np.empty(nv)
    mass[layout[layout.perm : layout.perm + nv]] = M[:nv]
    pointers = np.asarray(layout[layout.W_ptr : layout.W_ptr + nr + 1])
    rate = None
    if not int(layout.features) & lay.RATE_IDENTITY:
        rate = np.zeros((nq, nv))
        for i in range(nv):
            moved, unit = np.zeros(nq), np.zeros(nv)
            unit[i] = 1.0
            runnable(units.rate)(q, unit, units.par, moved)
            rate[:, i] = moved
    used = int(pointers[-1])
    row = np.repeat(np.arange(nr), np.diff(pointers))
    at_start = W[:used]
    entry = rows_with_direction(model, t, q, row, at_start, scale)
    column = np.asarray(layout[layout.W_col : layout.W_col + used])
    made = Start(mass, row, column, entry, nr, nr - int(layout.nj), rate, entry is not at_start, scale)
    object.__setattr__(model, "inertia", made)
    return made


def rows_with_direction(
    model: CompiledModel, t: float, q: np.ndarray, row: np.ndarray, entry: np.ndarray,
    scale: float | tuple[float, ...] | None,
) -> np.ndarray:  # fmt: skip
    """Return the entries of the rows at q; of contacts whose gap has no direction there, the entries a little aside.

    A pin in the middle of its worn bush is equally far from all of it: the gradient of the gap vanishes, and masses
    seen through it would make thresholds of rounding. How far aside follows from the scale of the coordinates; where
    none is given it is 1 and the place itself, whatever the units are.
    """
    layout, units = model.layout, model.units
    nc, nr, used = int(layout.nc), int(layout.nr), len(entry)
    first = np.asarray(layout[layout.contact_row : layout.contact_row + nc])
    size = np.zeros(nr)
    np.maximum.at(size, row, np.abs(entry))
    small = size[first] < PROMISE_TUNED.no_direction
    if not np.any(small):
        return entry
    golden = 0.5 + np.arange(1, len(q) + 1) * 0.6180339887498949 % 1.0  # no two coordinates move by the same
    if scale is None:
        far = PROMISE_TUNED.aside * (1.0 + np.abs(q))
    else:
        far = PROMISE_TUNED.aside * np.asarray(scale, dtype=float) + PROMISE_TUNED.aside_rounding * np.abs(q)
    moved = q + far * golden
    runnable(units.retract)(moved, units.par)
    W, w, size_aside = np.zeros(int(layout.nw)), np.zeros(nr), np.zeros(nr)
    runnable(units.kinematics)(t, moved, units.par, W, w)
    np.maximum.at(size_aside, row, np.abs(W[:used]))
    wrong = small & np.isfinite(size_aside[first]) & (size_aside[first] > PROMISE_TUNED.larger_aside * size[first])
    rows = np.repeat(wrong, np.diff([*first, nr - int(layout.nj)]))
    chosen = np.concatenate([rows, np.zeros(int(layout.nj), dtype=bool)])[row]
    return np.where(chosen & np.isfinite(W[:used]), W[:used], entry)
