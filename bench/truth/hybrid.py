"""References of motions with kinks: scipy's DOP853, begun anew wherever a switch, a contact or a release is met.

A `Body` says M(q) v' = f(t, q, v, c) + W r with c the values of curves at arguments u(t, q, v), and contacts whose
gaps are n . q - curve(t or a coordinate). Within a piece every curve holds its smooth piece; guards are looked at on
the dense output, far denser than the steps. Motions that nearly graze a guard, that slide along a switch, or that
magnify a small change of their data are no measure of accuracy: `Unfit`.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable

import numpy as np
from curves import Curve
from reference import Reference, Unfit
from scipy.integrate import DOP853
from scipy.optimize import brentq

RTOL, ATOL = 1e-13, 1e-15
STEPS = 60  # least number of steps of a span
PLACES = 16  # of a step at which guards are looked at, at least
LOOKS = 6.0  # at guards between two neighbouring knots of a wall, at least
MOST_PLACES = 4096  # of a step
MARGIN = 3e-3  # of the largest value of a guard: nearer to zero without crossing it is a graze
APART = 1e-6  # of the span: events nearer to each other are a tie
SHORT = 1e-7  # of the span: flights shorter than this end an accumulation of impacts
SOON = 1e-6  # of the span: when it is looked where a motion goes that starts on a knot
PIECES = 500
HALVINGS = 60
JUMP = 1e-10  # of the speeds: what a gap closes with is no rounding
COARSE = 1e-10  # relative tolerance of the motion with changed data
CHANGE, REACH = 1e-7, 100.0  # data changed by this share may move the result by so many times as much


@dataclasses.dataclass(frozen=True)
class Term:
    """A curve in the forces, and its argument u(t, q, v); None: the time itself."""

    curve: Curve
    argument: Callable | None = None

    def at(self, t, q, v):
        return t if self.argument is None else self.argument(t, q, v)


@dataclasses.dataclass(frozen=True)
class Wall:
    """A contact without friction: gap = normal . q + offset - curve(t, or q[over])."""

    normal: tuple[float, ...]
    e: float = 0.0
    curve: Curve | None = None
    over: int | None = None
    offset: float = 0.0

    @functools.cached_property
    def speed(self) -> float:
        """How fast a wall of time moves, at most."""
        if self.curve is None or self.over is not None:
            return 0.0
        return max(abs(float(self.curve.pieces[self.curve.cell(x)](x)[1])) for x in _inside(self.curve.knots))

    @functools.cached_property
    def finest(self) -> float:
        """The least distance of two knots of a wall that stands: how narrow its features are."""
        if self.curve is None or self.over is None or len(self.curve.knots) < 2:
            return np.inf
        return float(np.diff(self.curve.knots).min())

    def argument(self, t, q):
        return t if self.over is None else q[self.over]

    def gap(self, cell: int, t, q):
        made = sum(n * x for n, x in zip(self.normal, q, strict=True) if n != 0.0) + self.offset
        return made if self.curve is None else made - self.curve.pieces[cell](self.argument(t, q))[0]

    def kinematics(self, cell: int, t: float, q, v) -> tuple[np.ndarray, float, float]:
        """W = dg/dq, g' and the part of g'' that is free of v'."""
        W = np.array(self.normal)
        if self.curve is None:
            return W, float(W @ v), 0.0
        _, slope, curvature = self.curve.pieces[cell](self.argument(t, q))
        if self.over is None:
            return W, float(W @ v) - slope, -curvature
        W[self.over] -= slope
        return W, float(W @ v), -curvature * v[self.over] ** 2


def _inside(knots: tuple[float, ...]) -> list[float]:
    """Places between knots, off the middles."""
    shares = (0.15, 0.37, 0.71)
    return [a + share * (b - a) for a, b in itertools.pairwise(knots) for share in shares] or [0.0]


@dataclasses.dataclass(frozen=True)
class Hinged:
    """A contact without friction whose gap is any smooth function of q, met in impacts only."""

    function: Callable  # q -> gap
    gradient: Callable  # q -> dg/dq
    e: float

    curve = None
    over = None
    speed = 0.0
    finest = np.inf

    def gap(self, cell: int, t, q):
        return self.function(q)

    def kinematics(self, cell: int, t: float, q, v) -> tuple[np.ndarray, float, float]:
        W = np.asarray(self.gradient(q), dtype=float)
        return W, float(W @ v), np.nan


@dataclasses.dataclass(frozen=True)
class Mode:
    """The pieces that the curves of forces and of walls hold, and the wall that is closed (-1: none)."""

    cells: tuple[int, ...]
    walls: tuple[int, ...]
    closed: int = -1


@dataclasses.dataclass(frozen=True)
class Kink:
    """A switching surface that was crossed: when, which derivative jumps, how fast, and whose ("force" or "gap").

    surface(t, q, v) vanishes there; None: it is a time. `rate` is how fast it changes.
    """

    t: float
    order: int
    rate: float
    where: str
    surface: Callable | None = None


@dataclasses.dataclass
class Body:
    """M v' = (1 + change) force(t, q, v, c) + W r; mass: numbers, or a function of q that gives a matrix."""

    mass: np.ndarray | list[float] | Callable
    force: Callable
    terms: list[Term] = dataclasses.field(default_factory=list)
    walls: list = dataclasses.field(default_factory=list)
    change: float = 0.0

    def __post_init__(self):
        if not callable(self.mass):
            self.mass = np.asarray(self.mass)

    @property
    def rows(self) -> int:
        """Numbers of which the impulse consists."""
        return len(self.walls)

    # ---- dynamics

    def solved(self, q, right: np.ndarray) -> np.ndarray:
        """M^-1 right."""
        return np.linalg.solve(self.mass(q), right) if callable(self.mass) else right / self.mass

    def free(self, mode: Mode, t: float, q, v) -> np.ndarray:
        """Accelerations without contacts."""
        values = [
            term.curve.pieces[cell](term.at(t, q, v))[0] for term, cell in zip(self.terms, mode.cells, strict=True)
        ]
        force = np.array(self.force(t, q, v, values), dtype=float)
        return self.solved(q, force * (1.0 + self.change))

    def normal_force(self, mode: Mode, t: float, q, v) -> tuple[float, np.ndarray]:
        """Force of the closed wall, and the accelerations with it."""
        a = self.free(mode, t, q, v)
        W, _, rest = self.walls[mode.closed].kinematics(mode.walls[mode.closed], t, q, v)
        lifted = self.solved(q, W)
        r = -(W @ a + rest) / (W @ lifted)
        return float(r), a + lifted * r

    def rates(self, mode: Mode, n: int) -> Callable:
        count = len(self.walls)

        def made(t, y):
            q, v = y[:n], y[n : 2 * n]
            grown = np.zeros(count)
            if mode.closed < 0:
                return np.concatenate([v, self.free(mode, t, q, v), grown])
            grown[mode.closed], a = self.normal_force(mode, t, q, v)
            return np.concatenate([v, a, grown])

        return made

    # ---- modes

    def start(self, t: float, y: np.ndarray, n: int) -> tuple[Mode, np.ndarray]:
        q, v = y[:n], y[n : 2 * n]
        cells = tuple(term.curve.cell(float(term.at(t, q, v))) for term in self.terms)
        for k, term in enumerate(self.terms):  # a start on a knot: the piece into which the motion goes
            if term.argument is not None and float(term.at(t, q, v)) in term.curve.knots:
                soon, a = SOON * self.span, self.free(Mode(cells, ()), t, q, v)
                there = float(term.at(t + soon, q + soon * v + 0.5 * soon**2 * a, v + soon * a))
                cells = (*cells[:k], term.curve.cell(there), *cells[k + 1 :])
        walls = tuple(0 if w.curve is None else w.curve.cell(float(w.argument(t, q))) for w in self.walls)
        mode = Mode(cells, walls)
        size = 1.0 + float(np.abs(q).max())
        for k, wall in enumerate(self.walls):
            g = float(wall.gap(walls[k], t, q))
            if g < -1e-12 * size:
                raise Unfit("it starts inside of a wall")
            if g < 1e-12 * size:
                if abs(wall.kinematics(walls[k], t, q, v)[1]) > 1e-12 * (1.0 + float(np.abs(v).max())):
                    raise Unfit("it starts with an impact")
                mode = dataclasses.replace(mode, closed=k)
        return self.settled(mode, t, y, n)

    def settled(self, mode: Mode, t: float, y: np.ndarray, n: int) -> tuple[Mode, np.ndarray]:
        """What a closed wall does behind a kink: it strikes, opens, or goes on pressing."""
        if mode.closed < 0:
            return mode, y
        wall, q, v = self.walls[mode.closed], y[:n], y[n : 2 * n]
        speed = wall.kinematics(mode.walls[mode.closed], t, q, v)[1]
        gained = self.span * float(np.abs(self.free(mode, t, q, v)).max())
        size = JUMP * (wall.speed + self.fastest + gained)
        if speed < -size:
            return self.struck(dataclasses.replace(mode, closed=-1), mode.closed, t, y, n)
        r, _ = self.normal_force(mode, t, q, v)
        return self.opened(mode, t, y, n) if speed > size or r < 0.0 else (mode, y)

    def opened(self, mode: Mode, t: float, y: np.ndarray, n: int) -> tuple[Mode, np.ndarray]:
        """The closed wall opens; what the place drifted from it by rounding is taken back."""
        wall, cell, q = self.walls[mode.closed], mode.walls[mode.closed], y[:n]
        W = wall.kinematics(cell, t, q, y[n : 2 * n])[0]
        lifted = self.solved(q, W)
        y = y.copy()
        y[:n] -= lifted * wall.gap(cell, t, q) / (W @ lifted)
        return dataclasses.replace(mode, closed=-1), y

    def struck(self, mode: Mode, k: int, t: float, y: np.ndarray, n: int) -> tuple[Mode, np.ndarray]:
        """An impact at wall k; accumulations end with it closed."""
        if mode.closed >= 0:
            raise Unfit("two walls at once")
        wall, q, v = self.walls[k], y[:n], y[n : 2 * n]
        W, speed, rest = wall.kinematics(mode.walls[k], t, q, v)
        lifted = self.solved(q, W)
        effective = W @ lifted
        pressing = float(W @ self.free(mode, t, q, v) + rest)
        e = wall.e
        if e > 0.0:
            flight = -2.0 * e * speed / max(-pressing, 1e-300) if np.isfinite(pressing) else np.inf
            if pressing < 0.0 and flight < SHORT * self.span:
                e = 0.0
        elif not np.isfinite(pressing):
            raise Unfit("a hinged wall needs restitution")
        impulse = -(1.0 + e) * speed / effective
        y = y.copy()
        y[n : 2 * n] = v + lifted * impulse
        y[2 * n + k] += impulse
        if e > 0.0 or pressing >= 0.0:
            return mode, y
        return dataclasses.replace(mode, closed=k), y

    span = 1.0
    fastest = 0.0  # speed so far

    def knots_ahead(self, mode: Mode) -> float:
        """The next knot of a curve of time."""
        ahead = [np.inf]
        for term, cell in zip(self.terms, mode.cells, strict=True):
            if term.argument is None and cell < len(term.curve.knots):
                ahead.append(term.curve.knots[cell])
        for wall, cell in zip(self.walls, mode.walls, strict=True):
            if wall.curve is not None and wall.over is None and cell < len(wall.curve.knots):
                ahead.append(wall.curve.knots[cell])
        return min(ahead)

    def at_knot(self, mode: Mode, t: float, kinks: list[Kink]) -> Mode:
        """Step into the pieces of time that begin at t."""
        cells, walls = list(mode.cells), list(mode.walls)
        for k, term in enumerate(self.terms):
            if term.argument is None and cells[k] < len(term.curve.knots) and term.curve.knots[cells[k]] == t:
                kinks.append(Kink(t, term.curve.order(cells[k]), 1.0, "force"))
                cells[k] += 1
        for k, wall in enumerate(self.walls):
            curve = wall.curve if wall.over is None else None
            if curve is not None and walls[k] < len(curve.knots) and curve.knots[walls[k]] == t:
                kinks.append(Kink(t, curve.order(walls[k]), 1.0, "gap"))
                walls[k] += 1
        return Mode(tuple(cells), tuple(walls), mode.closed)

    def guards(self, mode: Mode, n: int) -> dict:
        """Functions of (t, y columns), positive while the mode lasts, by (kind, number, side)."""
        made = {}

        def edge(argument, knot, side):
            return lambda t, Y: side * (argument(t, Y[:n], Y[n : 2 * n]) - knot)

        for k, (term, cell) in enumerate(zip(self.terms, mode.cells, strict=True)):
            if term.argument is not None:
                if cell > 0:
                    made["term", k, -1] = edge(term.argument, term.curve.knots[cell - 1], 1.0)
                if cell < len(term.curve.knots):
                    made["term", k, 1] = edge(term.argument, term.curve.knots[cell], -1.0)
        for k, (wall, cell) in enumerate(zip(self.walls, mode.walls, strict=True)):
            if wall.curve is not None and wall.over is not None:
                along = functools.partial(_coordinate, wall.over)
                if cell > 0:
                    made["wall", k, -1] = edge(along, wall.curve.knots[cell - 1], 1.0)
                if cell < len(wall.curve.knots):
                    made["wall", k, 1] = edge(along, wall.curve.knots[cell], -1.0)
            if k != mode.closed:
                made["gap", k, 0] = functools.partial(_gap, wall, cell, n)
        if mode.closed >= 0:

            def pressing(t, Y):
                columns = zip(np.atleast_1d(t), np.atleast_2d(Y.T), strict=True)
                return np.array([self.normal_force(mode, s, y[:n], y[n : 2 * n])[0] for s, y in columns])

            made["release", mode.closed, 0] = pressing
        return made

    def fell(self, key, mode: Mode, t: float, y, n: int, rate: float, kinks: list[Kink]) -> tuple[Mode, np.ndarray]:
        """The mode behind the zero of a guard."""
        kind, k, side = key
        if kind == "gap":
            return self.struck(mode, k, t, y, n)
        if kind == "release":
            return self.opened(mode, t, y, n)
        curve = (self.terms if kind == "term" else self.walls)[k].curve
        cells = list(mode.cells if kind == "term" else mode.walls)
        knot = cells[k] - 1 if side < 0 else cells[k]
        argument = self.terms[k].argument if kind == "term" else functools.partial(_coordinate, self.walls[k].over)
        surface = functools.partial(_beyond, argument, curve.knots[knot])
        kinks.append(Kink(t, curve.order(knot), abs(rate), "force" if kind == "term" else "gap", surface))
        cells[k] += side
        if kind == "term":
            return dataclasses.replace(mode, cells=tuple(cells)), y
        return dataclasses.replace(mode, walls=tuple(cells)), y


def _coordinate(j: int, t, q, v):
    return q[j]


def _beyond(argument, knot: float, t, q, v):
    return argument(t, q, v) - knot


def _gap(wall, cell: int, n: int, t, Y):
    return wall.gap(cell, t, Y[:n]) + 0.0 * t


class Pieces:
    """The dense output of one piece."""

    def __init__(self, n: int):
        self.n, self.starts, self.parts = n, [], []

    def add(self, t: float, dense) -> None:
        self.starts.append(t)
        self.parts.append(dense)

    def __call__(self, t):
        which = np.clip(np.searchsorted(self.starts, t, side="right") - 1, 0, len(self.parts) - 1)
        Y = np.empty((len(t), len(self.parts[0](self.starts[0]))))
        for k in np.unique(which):
            Y[which == k] = self.parts[k](t[which == k]).T
        return Y[:, : self.n], Y[:, self.n : 2 * self.n], Y[:, 2 * self.n :]


def march(body: Body, q0, v0, span: float, *, rtol: float = RTOL, steps: float = STEPS) -> Reference:
    """The motion over (0, span), with `kinks`, the switching surfaces that it crossed."""
    n = len(q0)
    body.span, body.fastest = span, float(np.abs(v0).max())
    made = Reference()
    sizes: dict = {}
    lows: list = []
    t, y = 0.0, np.concatenate([q0, v0, np.zeros(body.rows)])
    mode, y = body.start(t, y, n)
    last = -np.inf
    while t < span:
        if len(made.pieces) > PIECES:
            raise Unfit(f"more than {PIECES} pieces")
        bound = min(span, body.knots_ahead(mode))
        guards = body.guards(mode, n)
        piece, found = _piece(body, mode, guards, t, y, bound, n, rtol, span / steps, sizes, lows)
        end = found[0] if found else bound
        strikes = found is not None and found[1][0] == "gap"
        if end - last < APART * span and end < span and not (strikes and len(made.modes) and "gap" in made.modes[-1]):
            raise Unfit(f"two events at t = {end}")
        if end > t:
            made.add(t, end, piece, f"{mode} {found[1] if found else 'knot'}")
        last = t = end
        if end >= span:
            break
        if found:
            y = piece.parts[-1](end)
            slack = 1e-7 * (end - piece.starts[0])
            guard = guards[found[1]]
            rate = float(_one(guard, piece, end) - _one(guard, piece, end - slack)) / slack if slack else np.inf
            mode, y = body.fell(found[1], mode, end, y, n, rate, made.kinks)
        else:
            y = piece.parts[-1](end)
            mode = body.at_knot(mode, end, made.kinks)
        mode, y = body.settled(mode, end, y, n)
    for key, low in lows:
        if low < MARGIN * sizes[key[:2]]:
            raise Unfit(f"{key} is nearly grazed")
    return made


def _one(guard, piece: Pieces, t: float) -> float:
    at = piece.parts[min(np.searchsorted(piece.starts, t, side="right"), len(piece.parts)) - 1]
    return float(np.ravel(guard(np.array([t]), at(t)[:, None]))[0])


def _piece(body, mode, guards, t, y, bound, n, rtol, longest, sizes, lows):
    """Integrate until a guard falls or the bound is reached; returns the dense output and (time, guard) or None."""
    solver = DOP853(body.rates(mode, n), t, y, bound, rtol=rtol, atol=ATOL, max_step=min(longest, (bound - t) / 3.0))
    piece = Pieces(n)
    before = dict.fromkeys(guards)
    while solver.status == "running":
        message = solver.step()
        if solver.status == "failed":
            raise Unfit(f"the reference failed: {message}")
        dense, start = solver.dense_output(), solver.t_old
        piece.add(start, dense)
        places = _places(body, dense, start, solver.t, n)
        Y = dense(places)
        body.fastest = max(body.fastest, float(np.abs(Y[n : 2 * n]).max()))
        found = None
        for key, guard in guards.items():
            values = np.asarray(guard(places, Y), dtype=float)
            sizes[key[:2]] = max(sizes.get(key[:2], 0.0), float(np.abs(values).max()))
            crossing = _crossing(guard, dense, start, places, values, before[key], key)
            if crossing is None:
                _note_lows(key, values, before[key], lows)
            elif found is None or crossing < found[0]:
                found = crossing, key
            before[key] = values
        if found:
            return piece, found
    return piece, None


def _places(body, dense, start: float, end: float, n: int) -> np.ndarray:
    """Where guards are looked at in a step: so densely that no hill of a wall lies between two places."""
    count = PLACES
    moved = np.abs(np.diff(dense(np.linspace(start, end, PLACES + 1))[:n])).sum(axis=1)
    for wall in body.walls:
        if wall.finest < np.inf:
            count = max(count, int(min(np.ceil(LOOKS * moved[wall.over] / wall.finest), MOST_PLACES)))
    return start + (end - start) * np.arange(1, count + 1) / count


def _note_lows(key, values: np.ndarray, before, lows: list) -> None:
    """Note how near a guard came to zero without crossing it."""
    row = values if before is None else np.concatenate([before[-2:], values])
    middle = row[1:-1]
    low = (middle < row[:-2]) & (middle <= row[2:])
    for k in np.flatnonzero(low):
        a, b, c = row[k : k + 3]
        bend = a - 2.0 * b + c
        lows.append((key, b - (c - a) ** 2 / (8.0 * bend) if bend > 0.0 else b))


def _crossing(guard, dense, start, places, values, before, key) -> float | None:
    """When a guard falls below zero within a step."""
    low = np.flatnonzero(values < 0.0)
    if len(low) == 0:
        return None
    j = low[0]
    high = places[j]

    def at(t):
        return float(np.ravel(guard(np.array([t]), dense(t)[:, None]))[0])

    if j > 0 or before is not None:
        left = places[j - 1] if j > 0 else start
        if at(left) <= 0.0:  # the end of the step before, seen through this polynomial
            return float(left)
    else:  # just begun: a short flight, or a guard that was never left
        left = start + (high - start) / 2.0
        for _ in range(HALVINGS):
            if left <= start or at(left) > 0.0:
                break
            high, left = left, start + (left - start) / 2.0
        if left <= start or at(left) <= 0.0:
            raise Unfit(f"it does not leave {key}")
    return float(brentq(at, left, high, xtol=1e-300, rtol=4.0 * np.finfo(float).eps))


def motion(body: Body, q0, v0, span: float) -> Reference:
    """The motion, where it is a fit measure of accuracy; its `again` makes it anew with other tolerances and steps."""
    made = march(body, q0, v0, span)
    # what is closed to a moving wall has the velocity of the wall
    free = not any(wall.curve is not None and wall.over is None for wall in body.walls)
    start = np.asarray(v0) * (1.0 + CHANGE) if free else v0
    other = march(dataclasses.replace(body, change=CHANGE), q0, start, span, rtol=COARSE, steps=STEPS)
    if made.modes != other.modes:
        raise Unfit("a small change of the data changes the phases")
    times = made.breaks
    moved = float(np.abs(times - other.breaks).max()) / span
    middles = np.concatenate([(times[:-1] + times[1:]) / 2.0, times[-1:]])
    others = np.concatenate([(other.breaks[:-1] + other.breaks[1:]) / 2.0, times[-1:]])
    for a, b in zip(made(middles), other(others), strict=True):
        size = 1.0 + float(np.abs(a).max(initial=0.0))
        moved = max(moved, float(np.abs(a - b).max(initial=0.0)) / size)
    if moved > REACH * CHANGE:
        raise Unfit(f"a change of the data by {CHANGE:g} moves the result by {moved:g}")
    made.magnified = moved / CHANGE
    made.again = functools.partial(march, body, q0, v0, span, rtol=10.0 * RTOL, steps=1.7 * STEPS)
    return made
