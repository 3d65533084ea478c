"""Lyapunov exponents of a motion with impacts, sticking and accumulations.

Variations of the state are followed along the run and made orthonormal again at every event and piece (Benettin et al.
1980); events act on them by saltation (Mueller 1995). A direction that sticking, an accumulation or a plastic impact
takes is lost: its exponent is -inf, and it is said which event took it.

The result checks itself: the exponents must add up to the mean divergence of the motion and the logarithms of the
volumes that events keep, which are found by other formulas.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from saltus.ensemble.saltation import Jump
from saltus.ensemble.tangent import Corner, Tangent, along
from saltus.ensemble.tangent_flow import FLOWS
from saltus.errors import SettingError
from saltus.event import Event
from saltus.problem import Problem, vector
from saltus.solve import solve
from saltus.status import Status
from saltus.sweep.measures import positive_whole
from saltus.sweep.tabled import Tabled, xarray_module
from saltus.system import System

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from saltus.schemes.plan import SchemeLike
    from saltus.solution import Solution


class _Exponents(NamedTuple):
    """Tuned numbers of this file."""

    lost: float = 1e-10  # of the largest column behind an event: what is left of a lost direction is rounding
    agrees: float = 1e-8  # [1/s] relative to the largest exponent or 1: what the sum of the exponents may be off
    steps: int = 400  # of a run between two returns to Python: memory stays flat
    rows: int = 400  # of the history
    quiet: int = 10_000  # steps without an impact behind which none is waited for any more
    shrinks: float = 4.0  # e-folds of a direction behind which it is put back among those that are allowed
    partial: float = 0.8  # of h |A| in one piece where the divergence of some directions has to be integrated


EXPONENTS = _Exponents()


class Lost(NamedTuple):
    """Directions that an event took: when [s], what it was, where, and how many."""

    t: float
    kind: str
    names: tuple[str, ...]
    directions: int


@dataclasses.dataclass(frozen=True, eq=False)
class Lyapunov(Tabled):
    """Lyapunov exponents of a motion.

    Attributes
    ----------
    exponents
        Largest first [1/s]; -inf where the direction is lost.
    per_impact
        The same per impact; nan where there was none.
    duration, impacts
        What they are means over [s].
    lost
        Events that took directions.
    corners
        Events at which the motion has no derivative; there the exponents are those of one side.
    sum_error
        What the exponents add up to, minus mean divergence and logarithms of volumes of the events [1/s].
    history_t, history
        The exponents until times [s] (rows, exponents): whether they have converged.
    state
        Time [s], q and v at the end.
    """

    exponents: np.ndarray
    per_impact: np.ndarray
    duration: float
    impacts: int
    lost: tuple[Lost, ...]
    corners: tuple[Corner, ...]
    sum_error: float
    history_t: np.ndarray
    history: np.ndarray
    state: tuple[float, np.ndarray, np.ndarray]

    @property
    def consistent(self) -> bool:
        """Whether the exponents add up to the divergence and the volumes."""
        finite = np.abs(self.exponents[np.isfinite(self.exponents)])
        return abs(self.sum_error) <= EXPONENTS.agrees * max(1.0, np.max(finite, initial=0.0))

    @property
    def sum_per_impact(self) -> float:
        """Sum of the exponents per impact; 2 ln e for one contact without friction and without damping."""
        return float(np.sum(self.per_impact))

    def __repr__(self) -> str:
        listed = ", ".join(f"{x:.6g}" for x in self.exponents)
        return (
            f"Lyapunov({listed} 1/s over {self.duration:g} s, {self.impacts} impacts, sum off by {self.sum_error:.1e})"
        )

    def to_xarray(self) -> xarray.Dataset:
        """Return a Dataset: exponents, per_impact and the history over time."""
        numbers = np.arange(len(self.exponents))
        data = {
            "exponents": ("number", self.exponents), "per_impact": ("number", self.per_impact),
            "history": (("t", "number"), self.history),
        }  # fmt: skip
        said = {"duration": self.duration, "impacts": self.impacts, "sum_error": self.sum_error}
        return xarray_module().Dataset(data, {"number": numbers, "t": self.history_t}, said)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the exponents over the time that they are means of; return the axes."""
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots()[1]
        for k, values in enumerate(self.history.T):
            axes.plot(self.history_t, values, label=f"exponent {k + 1}: {self.exponents[k]:.5g} 1/s")
        axes.axhline(0.0, color="0.6", linewidth=0.8)
        axes.set(xlabel="mean until t [s]", ylabel="exponent [1/s]")
        axes.legend()
        return axes


def lyapunov(
    system: System | Problem,
    q0: Any = None,
    v0: Any = None,
    *,
    span: float | None = None,
    impacts: int | None = None,
    transient: float = 0.0,
    t0: float = 0.0,
    exponents: int | None = None,
    tol: float = 1e-9,
    scheme: SchemeLike | None = None,
    events: Event | Sequence[Event] = (),
    parameters: Mapping[str, Any] | None = None,
) -> Lyapunov:
    """Return the Lyapunov exponents of the motion from a start.

    Parameters
    ----------
    system, q0, v0, t0
        What moves, and where it starts; a `Problem` brings its start along.
    span, impacts
        Over how much of the motion the means are taken: a time [s], or a number of impacts. One of them.
    transient
        Time before that [s], of which nothing is taken.
    exponents
        How many, the largest ones; None: all that the start allows, two per degree of freedom without joints.
    tol, scheme, events, parameters
        As for `solve`.

    Raises
    ------
    SettingError
        When an argument is wrong, or the scheme does not locate events.
    """
    t, q, v = _start(system, q0, v0, t0)
    model = system.system if isinstance(system, Problem) else system
    if (span is None) == (impacts is None):
        raise SettingError("give either span=, a time [s], or impacts=, a number: the exponents are means over it")
    if span is not None and not (_is_time(span) and span > 0.0):
        raise SettingError(f"span is {span!r}: it must be a positive time [s]")
    if impacts is not None:
        positive_whole(impacts, "impacts")
        if not model.contact_names:
            raise SettingError("the system has no contact, so that no impact ever comes: give span=")
    if exponents is not None:
        positive_whole(exponents, "exponents", 0)  # how many there can be is known with the motion
    if not _is_time(transient) or not transient >= 0.0:
        raise SettingError(f"transient is {transient!r}: it must be a time of zero or more [s]")
    given: dict[str, Any] = {"tol": tol, "scheme": scheme, "events": events, "parameters": parameters}
    if transient > 0.0:
        before = solve(model, (t, t + transient), q, v, save="events", **given)
        _check_goes_on(before)
        t, q, v = float(before.t[-1]), before.q[-1], before.v[-1]
    follower: _Follower | None = None
    for solution in _chunks(model, t, q, v, span, given):
        partial = exponents is not None if follower is None else follower.is_partial
        tangent = along(solution, longest=EXPONENTS.partial if partial else FLOWS.longest)
        if follower is None:
            follower = _Follower(tangent.basis, exponents, t, impacts)
        if follower.follow(tangent):
            break
        if impacts is not None and follower.quiet > EXPONENTS.quiet:
            raise SettingError(
                f"impacts is {impacts}, but only {follower.impacts} came until t = {follower.now:.6g} s, and none in "
                f"the last {follower.quiet} steps: give span="
            )
    if follower is None:
        raise SettingError(f"span is {span!r}: nothing moves in it")
    result = follower.result()
    if not result.consistent:
        warnings.warn(
            f"the exponents add up to {result.sum_error:.2e} 1/s more than divergence and impacts say: "
            "take a smaller tol",
            stacklevel=2,
        )
    return result


def _start(system: System | Problem, q0: Any, v0: Any, t0: float) -> tuple[float, np.ndarray, np.ndarray]:
    if isinstance(system, Problem):
        q0, v0 = system.q0 if q0 is None else q0, system.v0 if v0 is None else v0
        t0 = system.t_span[0] if t0 == 0.0 else t0
    if q0 is None or v0 is None:
        raise SettingError("q0 and v0 are missing: give the start of the motion")
    return float(t0), vector(q0, "q0"), vector(v0, "v0")


def _is_time(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def _check_goes_on(solution: Solution) -> None:
    """Raise SettingError where an event ended the motion."""
    if solution.status is Status.TERMINATED:
        raise SettingError(
            f"event {str(solution.events['contact'][-1])!r} ends the motion at t = {float(solution.t[-1]):.9g} s: "
            "exponents are means over long motions, so leave terminal out"
        )


def _chunks(
    system: System, t: float, q: np.ndarray, v: np.ndarray, span: float | None, given: dict[str, Any]
) -> Iterator[Solution]:
    """Yield the motion, part by part."""
    end = np.inf if span is None else t + span
    length = 1.0 if span is None else span / 16.0
    while t < end:
        length = min(length, end - t)
        # what is left would be shorter than the rounding of the times
        stop = end if end - t - length <= 1e-9 * length else t + length
        solution = solve(system, (t, stop), q, v, **given)
        _check_goes_on(solution)
        yield solution
        t, q, v = float(solution.t[-1]), solution.q[-1], solution.v[-1]
        length *= float(np.clip(EXPONENTS.steps / len(solution.t), 0.2, 4.0))


class _Follower:
    """Orthonormal variations on their way, and the logarithms of what they grew by."""

    def __init__(self, basis: np.ndarray, wanted: int | None, t: float, impacts: int | None):
        dimension = basis.shape[1]
        if wanted is not None and not 1 <= wanted <= dimension:
            raise SettingError(f"exponents is {wanted}: this motion has 1 to {dimension} of them")
        # columns of a coordinate basis may stay apart from each other in systems that do: any turn of it will do
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=(dimension, dimension)))[0]
        self.Q = (basis @ turn)[:, : dimension if wanted is None else wanted]
        self.count = self.Q.shape[1]
        self.grown = np.zeros(self.count)  # of those that are left, in order
        self.begin, self.now = t, t
        self.impacts, self.last = 0, impacts
        self.quiet = 0  # steps since the last impact
        self.off, self.shrunk = 0.0, 0.0
        self.lost: list[Lost] = []
        self.corners: list[Corner] = []
        self.rows: list[tuple[float, np.ndarray]] = []
        self.state = t, np.zeros(0), np.zeros(0)

    @property
    def is_partial(self) -> bool:
        """Whether fewer directions are followed than the state has."""
        return self.Q.shape[0] > self.Q.shape[1]

    def follow(self, tangent: Tangent) -> bool:
        """Follow a part of the motion; return whether all impacts that were asked for have been seen."""
        n, before = tangent.motion.place.moving, self.impacts
        self.corners += tangent.corners
        reached = float(tangent.solution.t[-1])
        done = False
        for piece in tangent.pieces:
            if isinstance(piece, Jump):
                self.jump(piece, piece.matrix[:n, :n])
                if piece.kind == "impact":
                    self.impacts += 1
                    done = self.last is not None and self.impacts >= self.last
                self.now = piece.t
            else:
                if self.shrunk > EXPONENTS.shrinks:
                    self.put_back(tangent.motion.basis(piece.t, piece.q, piece.v, piece.phase))
                expected = piece.growth(self.Q) if self.Q.shape[1] else 0.0
                self.Q, R = np.linalg.qr(piece.matrix[:n, :n] @ self.Q)
                grown = np.log(np.abs(np.diag(R)))
                self.shrunk += -np.min(grown, initial=0.0)
                self.grown += grown
                self.off += float(np.sum(grown)) - expected
                self.now = piece.end
            if done:
                reached = self.now
                break
        self.quiet = self.quiet + len(tangent.solution.t) if self.impacts == before else 0
        self.note()
        state = tangent.solution(reached)
        self.state = reached, state.q, state.v
        return done

    def put_back(self, basis: np.ndarray) -> None:
        """Put the variations back among those that joints and closed contacts allow, which rounding leads out of.

        What is not allowed never shrinks: beside a direction that does, its rounding would be all that is left.
        """
        if self.Q.shape[1] <= basis.shape[1]:
            self.Q = np.linalg.qr(basis @ (basis.T @ self.Q))[0]
        self.shrunk = 0.0

    def jump(self, piece: Jump, matrix: np.ndarray) -> None:
        """Let an event act on the variations; what it takes is lost."""
        moved = matrix @ self.Q
        if not piece.loses:
            Q, R = np.linalg.qr(moved)
            left = np.ones(len(self.grown), dtype=bool)
        else:
            left = _independent(moved)
            Q, R = np.linalg.qr(moved[:, left])
            if not left.all():
                self.lost.append(Lost(piece.t, piece.kind, piece.names, int(np.sum(~left))))
        grown = np.log(np.abs(np.diag(R)))
        if Q.shape[0] == Q.shape[1]:
            expected = float(np.linalg.slogdet(matrix)[1])
        else:
            kept = moved[:, left]
            expected = 0.5 * float(np.linalg.slogdet(kept.T @ kept)[1]) if kept.shape[1] else 0.0
        self.Q, self.grown = Q, self.grown[left] + grown
        self.shrunk += -np.min(grown, initial=0.0)
        self.off += float(np.sum(grown)) - expected

    def note(self) -> None:
        """Keep a row of the history; every second one is dropped where there are too many."""
        if self.now > self.begin:
            self.rows.append((self.now, self.all() / (self.now - self.begin)))
        if len(self.rows) > EXPONENTS.rows:
            del self.rows[1:-1:2]

    def all(self) -> np.ndarray:
        return np.concatenate([self.grown, np.full(self.count - len(self.grown), -np.inf)])

    def result(self) -> Lyapunov:
        duration, whole = self.now - self.begin, self.all()
        order = np.argsort(-whole, kind="stable")
        per_impact = whole[order] / self.impacts if self.impacts else np.full(self.count, np.nan)
        return Lyapunov(
            whole[order] / duration, per_impact, duration, self.impacts, tuple(self.lost), tuple(self.corners),
            self.off / duration, np.array([t for t, _ in self.rows]),
            np.array([row for _, row in self.rows]).reshape(len(self.rows), self.count)[:, order], self.state,
        )  # fmt: skip


def _independent(columns: np.ndarray) -> np.ndarray:
    """Return which columns are independent of those before them."""
    size = np.max(np.linalg.norm(columns, axis=0), initial=0.0)
    kept, left = np.zeros((columns.shape[0], 0)), []
    for column in columns.T:
        rest = column - kept @ (kept.T @ column)
        rest = rest - kept @ (kept.T @ rest)
        length = float(np.linalg.norm(rest))
        # behind a total loss only rounding is left of all columns
        is_left = length > EXPONENTS.lost * max(size, EXPONENTS.lost)
        left.append(is_left)
        if is_left:
            kept = np.column_stack([kept, rest / length])
    return np.array(left, dtype=bool)
