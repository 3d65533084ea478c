"""Periodic orbits by shooting, their Floquet multipliers, and parameters at which they lose stability.

    orbit = periodic_orbit(system, period=lambda: 2 * np.pi / p.w, start=solution)
    orbit.multipliers, orbit.stable, orbit.signature
    orbit.find("period doubling", w=(2.6, 2.7))

Newton's method on the state after one period, with the derivative of the run (saltus/ensemble/tangent.py). A period is
a time, for systems that are driven, or leads from a crossing of a section to the next one.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from saltus.ensemble.saltation import Jump, Moment, crossing
from saltus.ensemble.tangent import Corner, Tangent, along
from saltus.ensemble.tangent_motion import Phase
from saltus.errors import RunError, SaltusError, SettingError
from saltus.event import Event, event_names
from saltus.parameters import given as with_values
from saltus.problem import Problem, vector
from saltus.schemes.traits import traits_of
from saltus.solution import Solution
from saltus.solve import solve
from saltus.status import Status
from saltus.sweep.measures import positive_whole
from saltus.sweep.tabled import Tabled, xarray_module
from saltus.system import System

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from saltus.schemes.plan import SchemeLike


class _Shooting(NamedTuple):
    """Tuned numbers of this file."""

    halvings: int = 6  # of a Newton step that leads further away
    smallest: float = 1e-4  # of a step of a parameter, relative to the way: smaller ones are given up
    instant: float = 1e-12  # of the longest time: a crossing that comes sooner is the start itself
    leave: float = 1e-7  # of the same: how far a start on the section is left before crossings count
    repeats: float = 1e-6  # residual of another period, beside that of one, up to which an orbit is one
    difference: float = 1e-3  # relative step of the parameters in the period, for its derivative


SHOOTING = _Shooting()
LOSSES = ("period doubling", "fold", "neimark-sacker")


class OrbitError(RunError):
    """No periodic orbit was found; the message says how far the last try was off."""


@dataclasses.dataclass(frozen=True, eq=False)
class Shooting:
    """What a search for orbits keeps from one to the next.

    Attributes
    ----------
    system, period, section, crossings
        What moves; its period [s], or the event that ends it and how many of its crossings belong to a period.
    longest
        Time in which all crossings of a section must come [s].
    settings
        Of `solve`.
    accuracy
        Largest change of q and v over a period of what counts as an orbit, relative to their sizes and 1.
    """

    system: System
    period: Callable[[Mapping[str, Any]], float] | None
    section: Event | None
    crossings: int
    longest: float
    settings: dict[str, Any]
    accuracy: float
    max_iterations: int

    def run(self, t: float, q: np.ndarray, v: np.ndarray, values: Mapping[str, Any]) -> list[Solution]:
        """Return the runs of one period."""
        settings: dict[str, Any] = {**self.settings, "parameters": values or None}
        if self.period is not None:
            return [solve(self.system, (t, t + self.period(values)), q, v, **settings)]
        made: list[Solution] = []
        others = settings.pop("events")
        for _ in range(self.crossings):
            one = self._to_section(t, q, v, others, settings)
            if float(one.t[-1]) - t <= SHOOTING.instant * self.longest:
                # it starts on the section: that is no crossing
                off = solve(self.system, (t, t + SHOOTING.leave * self.longest), q, v, events=others, **settings)
                made.append(off)
                one = self._to_section(float(off.t[-1]), off.q[-1], off.v[-1], others, settings)
            made.append(one)
            t, q, v = float(one.t[-1]), one.q[-1], one.v[-1]
        return made

    def _to_section(self, t: float, q: np.ndarray, v: np.ndarray, others: tuple, settings: dict[str, Any]) -> Solution:
        events: Any = (*others, self.section)
        one = solve(self.system, (t, t + self.longest), q, v, events=events, **settings)
        if one.status is not Status.TERMINATED:
            raise OrbitError(
                f"the section was not crossed within {self.longest:g} s from t = {t:.6g}: give a better start, or "
                "longest=",
                one,
            )
        return one


def _derivative(runs: Sequence[Solution], names: Sequence[str] = ()) -> tuple[list[Tangent], np.ndarray]:
    """Return the tangents of the runs of a period, and d(z at its end)/d(z at its start, p)."""
    tangents = [along(one, names) for one in runs]
    total = np.eye(tangents[0].motion.place.size)
    for tangent in tangents:
        matrix = tangent.matrix()
        if tangent.solution.status is Status.TERMINATED:
            matrix = _to_section(tangent, matrix)
        total = matrix @ total
    return tangents, total


def _to_section(tangent: Tangent, matrix: np.ndarray) -> np.ndarray:
    """Return variations at the crossing of the section, each at its own time, from those at the end of the run."""
    last = tangent.pieces[-1]
    if isinstance(last, Jump) and last.kind == "event":
        # the end lies behind the reset: shift it back in time along the motion there
        before = np.eye(len(matrix))
        for piece in tangent.pieces[:-1]:
            before = piece.matrix @ before
        return last.landed @ before
    t = float(tangent.solution.t[-1])
    state, phase = tangent.solution(t, side="-"), _last_phase(tangent)
    at = Moment(t, state.q, state.v, state.q, state.v, phase, phase)
    return crossing(tangent.motion, at, len(tangent.motion.model.events) - 1) @ matrix


def _last_phase(tangent: Tangent) -> Phase:
    return next((piece.phase for piece in reversed(tangent.pieces) if not isinstance(piece, Jump)), tangent.first)


@dataclasses.dataclass(frozen=True, eq=False)
class PeriodicOrbit(Tabled):
    """A periodic orbit.

    Attributes
    ----------
    t, q, v
        Where it was started [s], and its state there.
    period
        Its period [s].
    parameters
        Values of the model's parameters.
    residual
        Change of q and v over a period, relative to their sizes and 1.
    monodromy
        d(state after a period)/d(state), of coordinates and velocities.
    basis
        Directions that closed contacts and joints allow at the start (nq + nv, dimension).
    multipliers
        Floquet multipliers, the largest first; zero where the orbit loses a direction. With a section, one of them is
        zero for the direction of the motion itself.
    solutions
        The run over a period; one per crossing of a section.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    period: float
    parameters: dict[str, Any]
    residual: float
    monodromy: np.ndarray
    basis: np.ndarray
    multipliers: np.ndarray
    corners: tuple[Corner, ...]
    solutions: tuple[Solution, ...]
    shooting: Shooting = dataclasses.field(repr=False)

    @property
    def stable(self) -> bool:
        """Whether all multipliers lie inside of the unit circle."""
        return bool(np.all(np.abs(self.multipliers) < 1.0))

    @functools.cached_property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """What happens in a period: (kind, contact) of all events in order of time."""
        kinds = ("gain", "tie", "not unique")
        return tuple(
            (str(row["kind"]), str(row["contact"]))
            for one in self.solutions for row in one.events if row["kind"] not in kinds
        )  # fmt: skip

    @property
    def impacts(self) -> int:
        """Impacts in a period, without those of accumulations."""
        return sum(kind == "impact" for kind, _ in self.signature)

    @property
    def rests(self) -> int:
        """Accumulations and other ways into lasting contact in a period."""
        return sum(kind in ("zeno", "closing") for kind, _ in self.signature)

    def __repr__(self) -> str:
        said = ", ".join(f"{x.real:.6g}" if x.imag == 0.0 else f"{x:.6g}" for x in self.multipliers)
        kind = "stable" if self.stable else "unstable"
        return (
            f"PeriodicOrbit(period {self.period:.9g} s, {self.impacts} impacts, {kind}, multipliers {said}, residual "
            f"{self.residual:.1e})"
        )

    def derivative(self, *names: str) -> np.ndarray:
        """Return d(q, v)/d(parameter) of the orbit at its start, a column per number in the parameters."""
        tangents, total = _derivative(self.solutions, names)
        motion, n = tangents[0].motion, tangents[0].motion.place.moving
        pushed = total[:n, motion.place.p].copy()
        if self.shooting.period is not None:
            rate = _end_rate(tangents[-1])
            for k, label in enumerate(motion.labels):
                pushed[:, k] += rate * _slope(self.shooting.period, self.parameters, label)
        # what is closed at the start goes with the parameter by itself; the rest returns
        held = motion.constraints(self.t, self.q, self.v, tangents[0].first)
        moved = -np.linalg.pinv(held[:, :n]) @ held[:, motion.place.p]
        E = self.basis
        inside = np.linalg.solve(np.eye(E.shape[1]) - E.T @ self.monodromy @ E, E.T @ (pushed + total[:n, :n] @ moved))
        return moved + E @ inside

    def at(self, **values: float) -> PeriodicOrbit:
        """Return the orbit for other values of parameters, followed in steps as large as Newton's method allows.

        Where the period depends on them, its start stays at the same share of the period.
        """
        names = tuple(values)
        first = np.array([float(self.parameters[_known(self, name)]) for name in names])
        last = np.array([float(values[name]) for name in names])
        orbit, reached, step = self, 0.0, 1.0
        while reached < 1.0:
            new = min(reached + step, 1.0)
            target = dict(zip(names, first + new * (last - first), strict=True))
            slope = orbit.derivative(*names) @ (last - first) * (new - reached)
            nq, values, t = len(self.q), {**self.parameters, **target}, orbit.t
            if self.shooting.period is not None:
                # the start keeps its place in the period: at a fixed time, impacts would move across it
                t = orbit.t / orbit.period * self.shooting.period(values)
                slope = slope + _end_rate(along(orbit.solutions[-1])) * (t - orbit.t)
            try:
                orbit = _shoot(self.shooting, t, orbit.q + slope[:nq], orbit.v + slope[nq:], values)
                reached, step = new, 2.0 * step
            except (SaltusError, np.linalg.LinAlgError) as error:
                step = 0.5 * (new - reached)
                if step < SHOOTING.smallest:
                    where = ", ".join(f"{name} = {value:.9g}" for name, value in target.items())
                    raise OrbitError(f"the orbit could not be followed to {where}: {error}") from error
        return orbit

    def find(self, loss: str, **bounds: tuple[float, float]) -> PeriodicOrbit:
        """Return the orbit of this branch that loses its stability, between two values of a parameter.

        Parameters
        ----------
        loss
            "period doubling": a multiplier is -1, "fold": +1 (where branches cross; a fold itself ends the branch),
            "neimark-sacker": a pair on the unit circle.
        bounds
            The parameter and two values of it, like w=(2.6, 2.7).
        """
        if loss not in LOSSES:
            raise SettingError(f"loss is {loss!r}: it must be one of {', '.join(LOSSES)}")
        if len(bounds) != 1:
            raise SettingError("give one parameter and two values of it, like w=(2.6, 2.7)")
        (name, (low, high)), test = next(iter(bounds.items())), functools.partial(_test, loss)
        orbits = [self.at(**{name: value}) for value in (low, high)]
        tests = [test(orbit) for orbit in orbits]
        if not tests[0] * tests[1] < 0.0:
            near = [np.array2string(orbit.multipliers, precision=4) for orbit in orbits]
            raise SettingError(
                f"no {loss} between {name} = {low} and {high}: the multipliers are {near[0]} and {near[1]} there"
            )
        from scipy.optimize import brentq

        known = {low: orbits[0], high: orbits[1]}

        def off(value: float) -> float:
            nearest = min(known, key=lambda other: abs(other - value))
            if nearest != value:
                known[value] = known[nearest].at(**{name: value})
            return test(known[value])

        root: Any = brentq(off, low, high, xtol=1e-14, rtol=np.float64(4e-15))
        off(root)
        return known[root]

    def to_xarray(self) -> xarray.Dataset:
        """Return a Dataset: start (q, v), multipliers, monodromy, parameters and what happens in a period."""
        states = [*(f"q{i}" for i in range(len(self.q))), *(f"v{i}" for i in range(len(self.v)))]
        moving = np.arange(len(self.monodromy))
        data = {
            "start": ("state", np.concatenate([self.q, self.v]), {"long_name": "where the orbit is started"}),
            "multipliers": ("number", self.multipliers, {"long_name": "Floquet multipliers"}),
            "monodromy": (("row", "column"), self.monodromy),
        }
        said = {"t": self.t, "period": self.period, "residual": self.residual, "stable": int(self.stable)}
        said |= {"impacts": self.impacts, "rests": self.rests}
        said |= {name: float(value) for name, value in self.parameters.items() if np.ndim(value) == 0}
        coords = {"state": states, "number": np.arange(len(self.multipliers)), "row": moving, "column": moving}
        return xarray_module().Dataset(data, coords, said)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the orbit in the plane of the first coordinate and its velocity; return the axes."""
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots()[1]
        for one in self.solutions:
            breaks = np.unique(np.concatenate([one.t[[0, -1]], one.events["t"]]))
            for begin, end in itertools.pairwise(breaks):
                t = np.linspace(begin, end, 200)
                state = one(t[:-1])
                last = one(end, side="-")
                q, v = np.append(state.q[:, 0], last.q[0]), np.append(state.v[:, 0], last.v[0])
                axes.plot(q, v, color="C0")
        axes.set(xlabel="q0", ylabel="v0")
        return axes

    def plot_multipliers(self, axes: Axes | None = None) -> Axes:
        """Draw the multipliers and the unit circle; return the axes."""
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots()[1]
        angle = np.linspace(0.0, 2.0 * np.pi, 200)
        axes.plot(np.cos(angle), np.sin(angle), color="0.6", linewidth=0.8)
        axes.plot(np.real(self.multipliers), np.imag(self.multipliers), "o")
        axes.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
        return axes


def _test(loss: str, orbit: PeriodicOrbit) -> float:
    """Return a number that changes its sign where an orbit loses its stability."""
    inside = orbit.basis.T @ orbit.monodromy @ orbit.basis
    if loss == "neimark-sacker":
        pairs = np.abs(orbit.multipliers[np.abs(np.imag(orbit.multipliers)) > 0.0])
        return float(np.max(pairs, initial=0.0)) - 1.0
    sign = 1.0 if loss == "period doubling" else -1.0
    return float(np.linalg.det(inside + sign * np.eye(len(inside))))


def _known(orbit: PeriodicOrbit, name: str) -> str:
    if name not in orbit.parameters:
        raise SettingError(f"there is no parameter {name!r}: the system has {', '.join(orbit.parameters) or 'none'}")
    return name


def periodic_orbit(
    system: System | Problem,
    *,
    period: float | Callable[..., float] | None = None,
    section: Event | None = None,
    start: Solution | None = None,
    q0: Any = None,
    v0: Any = None,
    t0: float = 0.0,
    crossings: int = 1,
    parameters: Mapping[str, Any] | None = None,
    events: Event | Sequence[Event] = (),
    tol: float = 1e-12,
    scheme: SchemeLike | None = None,
    accuracy: float = 1e-10,
    longest: float = 100.0,
    max_iterations: int = 20,
) -> PeriodicOrbit:
    """Return the periodic orbit near a start.

    Parameters
    ----------
    system
        What moves.
    period
        Its period [s]: a number, or a function that reads parameters (lambda: 2 * np.pi / p.w). What drives the system
        must repeat itself with it; the start is moved back to the first period.
    section
        In place of a period: an event whose crossings end it; with a reset, the orbit is started behind it.
    crossings
        How many crossings of the section belong to a period.
    start
        A run whose end is close to the orbit; or q0, v0 and t0 [s].
    parameters, events, tol, scheme
        As for `solve`; None takes the parameters of `start`.
    accuracy
        Largest change over a period, relative to the sizes of q and v and 1.
    longest
        Time in which a section must be crossed [s].
    max_iterations
        Steps of Newton's method.

    Raises
    ------
    OrbitError
        When Newton's method finds none.
    SettingError
        When an argument is wrong.
    """
    model = system.system if isinstance(system, Problem) else system
    if (period is None) == (section is None):
        raise SettingError("give either period= or section=: a periodic orbit needs one of them")
    t, values = float(t0), dict(parameters or {})
    if start is not None and not isinstance(start, Solution):
        raise SettingError(f"start is {start!r:.60}: give a run that ends close to the orbit, or q0 and v0")
    if start is not None:
        t, q0, v0 = float(start.t[-1]), start.q[-1], start.v[-1]
        values = {**start.parameters, **values}
    elif isinstance(system, Problem) and q0 is None:
        t, q0, v0 = float(system.t_span[0]), system.q0, system.v0
    if q0 is None or v0 is None:
        raise SettingError("the start is missing: give start=, a run that ends close to the orbit, or q0 and v0")
    positive_whole(crossings, "crossings")
    if section is not None and not isinstance(section, Event):
        raise SettingError(f"section is {section!r:.60}: give an Event, whose crossings end a period")
    given = (events,) if isinstance(events, Event) else tuple(events)
    if any(event.terminal for event in given):
        raise SettingError("an event ends the motion: leave terminal out, or give it as section=")
    if scheme is not None and not traits_of(scheme).locates_events:
        raise SettingError(f"{scheme!r:.60} does not locate events, so that its runs have no derivative: take HpTDG()")
    ending = None if section is None else dataclasses.replace(section, terminal=True, name=event_names([section])[0])
    settings = {"tol": tol, "scheme": scheme, "events": given}
    shooting = Shooting(
        model,
        None if period is None else _period(period),
        ending,
        crossings,
        longest,
        settings,
        accuracy,
        max_iterations,
    )
    if shooting.period is not None:
        t = t % shooting.period(values)  # what drives the system repeats itself
    orbit = _shoot(shooting, t, vector(q0, "q0"), vector(v0, "v0"), values)
    if shooting.period is not None:
        _check_repeats(shooting, orbit)
    return orbit


def _check_repeats(shooting: Shooting, orbit: PeriodicOrbit) -> None:
    """Raise OrbitError where the state returns, but what drives the system does not."""
    try:
        again = shooting.run(orbit.t + orbit.period, orbit.q, orbit.v, orbit.parameters)
        off = _residual(again, orbit.q, orbit.v)
    except SaltusError:  # walls are elsewhere
        off = np.inf
    if not off <= SHOOTING.repeats * (1.0 + np.max(np.abs(orbit.multipliers), initial=0.0)):
        raise OrbitError(
            f"the state returns after {orbit.period:g} s, but not after another period: what drives the system, or "
            "moves its contacts, has another period"
        )


def _period(given: float | Callable[..., float]) -> Callable[[Mapping[str, Any]], float]:
    """Return a period as a function of all parameters."""
    if not callable(given):
        if not isinstance(given, numbers.Real) or not 0.0 < given < math.inf:
            raise SettingError(f"period is {given!r}: it must be a positive time [s]")
        return lambda values: float(given)  # type: ignore[arg-type]
    if inspect.signature(given).parameters:
        raise SettingError("period takes arguments: write it as lambda: 2 * np.pi / p.w, with the parameters inside")

    def period(values: Mapping[str, Any]) -> float:
        with with_values(values):
            return float(given())

    return period


def _slope(period: Callable[[Mapping[str, Any]], float], values: dict[str, Any], label: str) -> float:
    """Return d(period)/d(parameter) by differences of fourth order."""
    name = label.split("[")[0]
    step = SHOOTING.difference * max(abs(float(np.max(np.abs(values[name])))), 1e-3)

    def moved(shift: float) -> float:
        if name == label:
            return period({**values, name: values[name] + shift})
        array = np.array(values[name], dtype=float)
        array.reshape(-1)[int(label.split("[")[1][:-1])] += shift
        return period({**values, name: array})

    return (8.0 * (moved(step) - moved(-step)) - moved(2.0 * step) + moved(-2.0 * step)) / (12.0 * step)


def _end_rate(tangent: Tangent) -> np.ndarray:
    """Return (q_dot, a) at the end of a run."""
    t = float(tangent.solution.t[-1])
    state = tangent.solution(t)
    balance = tangent.motion.balance(np.array([t]), state.q[None], state.v[None], _last_phase(tangent))
    return np.concatenate([balance.states.q_dot[0], balance.a[0]])


def _shoot(shooting: Shooting, t: float, q: np.ndarray, v: np.ndarray, values: Mapping[str, Any]) -> PeriodicOrbit:
    """Return the orbit that Newton's method finds."""
    nq = len(q)
    runs = shooting.run(t, q, v, values)
    values = {**values, **runs[0].parameters}
    off = _residual(runs, q, v)
    for _ in range(shooting.max_iterations):
        tangents, total = _derivative(runs)
        E, z = tangents[0].basis, np.concatenate([q, v])
        gap = np.concatenate([runs[-1].q[-1], runs[-1].v[-1]]) - z
        n = tangents[0].motion.place.moving
        inside = E.T @ total[:n, :n] @ E
        if off <= shooting.accuracy:
            return _orbit(shooting, t, q, v, values, runs, tangents, total[:n, :n], off)
        try:
            change = E @ np.linalg.solve(np.eye(len(inside)) - inside, E.T @ gap)
        except np.linalg.LinAlgError as error:
            raise OrbitError("a multiplier of the orbit is 1: Newton's method does not know where to go") from error
        for halving in range(SHOOTING.halvings + 1):
            new = z + change * 0.5**halving
            try:
                q_new, v_new = _allowed(tangents[0], t, new[:nq], new[nq:])
                tried = shooting.run(t, q_new, v_new, values)
            except SaltusError:
                if halving == SHOOTING.halvings:
                    raise
                continue
            reached = _residual(tried, q_new, v_new)
            if reached < off or halving == SHOOTING.halvings:
                break
        if not reached < off:  # pyright: ignore[reportPossiblyUnboundVariable]
            break
        q, v, runs, off = q_new, v_new, tried, reached  # pyright: ignore[reportPossiblyUnboundVariable]
    raise OrbitError(
        f"no periodic orbit was found from t = {t:.6g}: after Newton's method q and v still change by {off:.2e} of "
        "their sizes over a period; give a better start",
        runs[-1],
    )


def _residual(runs: list[Solution], q: np.ndarray, v: np.ndarray) -> float:
    before, after = np.concatenate([q, v]), np.concatenate([runs[-1].q[-1], runs[-1].v[-1]])
    return float(np.max(np.abs(after - before) / (1.0 + np.abs(before))))


def _allowed(tangent: Tangent, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the state that joints and closed contacts of the start allow, close to a given one."""
    motion, phase, nq = tangent.motion, tangent.first, tangent.motion.sizes.nq
    if not phase.held:
        return q, v
    held = list(phase.held)
    gaps = [gap for gap in map(motion.gap_of, held) if gap is not None]
    for _ in range(5):
        s = motion.derivatives.states(np.array([t]), q[None], v[None])
        off = np.concatenate([s.g[0][gaps], s.W[0][held] @ v + s.w[0][held]])
        if np.max(np.abs(off)) < 1e-13:
            break
        rows = motion.constraints(t, q, v, phase)[:, : motion.place.moving]
        change = -np.linalg.pinv(rows) @ off
        q, v = q + change[:nq], v + change[nq:]
    return q, v


def _orbit(shooting, t, q, v, values, runs, tangents, total, off) -> PeriodicOrbit:
    E = tangents[0].basis
    found = np.linalg.eigvals(E.T @ total @ E).astype(complex)
    found = found[np.argsort(-np.abs(found), kind="stable")]
    corners = tuple(corner for one in tangents for corner in one.corners)
    period = float(runs[-1].t[-1]) - t
    return PeriodicOrbit(t, q, v, period, dict(values), off, total, E, found, corners, tuple(runs), shooting)
