"""Classes of forces that repeat: torques over a turn, sampled drives, steps of steps whose branches end together.

A table over q % turn ends where the remainder falls back; floors, remainders and conditions of one another end in the
same instant. What a run makes of such a moment lasts for a whole turn.
"""

from __future__ import annotations

import itertools

import numpy as np
from carriers import Model
from curves import Curve, lines, polynomial, stairs
from drawing import places, scale, signed, uniform
from hybrid import Body, Term
from judge import Case
from reference import Unfit

import saltus as sl

TURNS = ("remainder", "period", "floor", "twice", "clip")
MOST_TURNS = 150  # that the curve of a reference covers, in both directions
REACH = 20  # periods that the curve of STEPS covers, in both directions
LOOKS = 2001  # at a motion, for where it leaves that
CELLS = 48  # of a period: branches of STEPS end on this grid
INSIDE = np.array([0.1, 0.35, 0.6, 0.9])  # of a cell, where its line is read
STRAIGHT = 1e-9  # of a cell's line: what is more is not straight


def turns(rng: np.random.Generator, form: int) -> Case:
    """A shaft with a torque by a table over one turn, and a load that sets in with its speed."""
    writing = TURNS[form % len(TURNS)]
    s = scale(rng)
    turn = s.length * uniform(rng, 0.3, 1.0)
    x = np.array([0.0, *places(rng, 3, 0.0, turn, 0.05 * turn), turn])
    y = s.mass * s.acceleration * rng.uniform(-1.0, 3.0, 5)
    y[-1] = y[0]
    onset, c = s.speed * uniform(rng, 0.5, 2.0), s.mass / s.time * uniform(rng, 0.5, 2.0)
    torque = {
        "remainder": lambda q: np.interp(q % turn, x, y),
        "period": lambda q: np.interp(q, x, y, period=turn),
        "floor": lambda q: np.interp(q - turn * np.floor(q / turn), x, y),
        "twice": lambda q: np.interp((q % turn + turn) % turn, x, y),
        "clip": lambda q: np.interp(np.clip(q % turn, 0.0, turn), x, y),
    }[writing]
    knots = [float(n * turn + place) for n in range(-MOST_TURNS, MOST_TURNS) for place in x[:-1]]
    curve = lines(knots, [float(value) for _ in range(2 * MOST_TURNS) for value in y[:-1]])
    load = lines([0.0, onset, 2.0 * onset], [0.0, 0.0, c * onset], ends=False)

    def force(t, q, v):
        if v[0] < onset:
            return [torque(q[0])]
        return [torque(q[0]) - c * (v[0] - onset)]

    system = sl.System(M=s.mass, f=force)
    terms = [Term(curve, lambda t, q, v: q[0]), Term(load, lambda t, q, v: v[0])]
    body = Body([s.mass], lambda t, q, v, values: [values[0] - values[1]], terms)
    start = [turn * uniform(rng, 0.02, 0.98)], [s.speed * uniform(rng, 0.5, 3.0)]
    return Model(system, body, *start, s.span, f"turns by {writing}").case("turns")


turns.forms = len(TURNS)
SAMPLED = ("floor", "//", "remainder", "width", "fmod")


def sampled(rng: np.random.Generator, form: int) -> Case:
    """A mass that follows a reference read once per period, or is driven for a part of every period."""
    writing = SAMPLED[form % len(SAMPLED)]
    s = scale(rng)
    period, omega = s.span / uniform(rng, 5.0, 20.0), uniform(rng, 1.0, 6.0) / s.time
    k, c = s.mass * omega**2, s.mass * omega * uniform(rng, 0.1, 1.0)
    size, wave, part = s.length * uniform(rng, 0.2, 1.0), uniform(rng, 1.0, 4.0) / s.time, uniform(rng, 0.2, 0.8)
    edges = [float(n * period) for n in range(1, 22)]
    curve = stairs(edges, [size * float(np.sin(wave * n * period)) for n in range(22)])
    goal = {
        "floor": lambda t: size * np.sin(wave * period * np.floor(t / period)),
        "//": lambda t: size * np.sin(wave * (t // period) * period),
        "remainder": lambda t: size * np.sin(wave * (t - t % period)),
        "width": lambda t: size if t % period < part * period else -size,
        "fmod": lambda t: np.where(np.fmod(t, period) < part * period, size, -size),
    }[writing]
    if writing in ("width", "fmod"):
        edges = [float((n + share) * period) for n in range(21) for share in (0.0, part)][1:]
        curve = stairs(edges, list(itertools.islice(itertools.cycle((size, -size)), len(edges) + 1)))
    system = sl.System(M=s.mass, f=lambda t, q, v: [k * (goal(t) - q[0]) - c * v[0]])
    body = Body([s.mass], lambda t, q, v, values: [k * (values[0] - q[0]) - c * v[0]], [Term(curve)])
    start = [s.length * signed(rng, 0.0, 0.5)], [0.0]
    return Model(system, body, *start, s.span, f"sampled by {writing}").case("sampled")


sampled.forms = len(SAMPLED)

STEPS = (
    lambda x: np.trunc(np.fmod(x, 2.0)),
    lambda x: min(x, 2.0) % 1.0,
    lambda x: np.floor(np.maximum(x, np.interp(x, [-1.75, -0.75, 0.25], [1.0, 3.0, 2.0]))),
    lambda x: np.where(np.minimum(np.floor(x), 1.0) >= 1.0, x % 1.5, 0.0),
    lambda x: np.floor(2.0 * np.fmod(x, 2.0)) / 2.0 - np.floor(x) % 2.0,
    lambda x: abs(x % 1.0 - 0.5) if np.floor(x) % 2.0 < 1.0 else np.ceil(max(x, np.floor(x))) - x,
    lambda x: np.select([x % 2.0 < 0.5, x % 1.0 < 0.5], [np.floor(x), x - np.floor(x)], -1.0),
)


def straight(shape, low: int, high: int) -> Curve:
    """The curve of a function that is straight in every cell between two whole numbers, by its values there."""
    knots: list[float] = []
    pieces: list[tuple[float, float, float]] = []
    for cell in range(low * CELLS, high * CELLS):
        at = cell / CELLS
        values = np.array([float(shape(at + part / CELLS)) for part in INSIDE])
        slope = (values[-1] - values[0]) / (INSIDE[-1] - INSIDE[0]) * CELLS
        value = values[0] - slope * INSIDE[0] / CELLS
        assert np.abs(value + slope * INSIDE / CELLS - values).max() < STRAIGHT
        if pieces:
            before = pieces[-1]
            same = abs(before[1] + before[2] * (at - before[0]) - value) + abs(before[2] - slope) < STRAIGHT
            if same:
                continue
            knots.append(at)
        pieces.append((at, value, slope))
    return Curve(tuple(knots), tuple(polynomial(*piece) for piece in pieces))


def together(rng: np.random.Generator, form: int) -> Case:
    """A mass on a spring over steps of steps: floors, remainders, tables and conditions of one another."""
    shape = STEPS[form % len(STEPS)]
    s = scale(rng)
    length, size = s.length * uniform(rng, 0.2, 0.6), s.mass * s.acceleration * uniform(rng, 0.2, 1.0)
    k = s.mass * (uniform(rng, 0.5, 2.0) / s.time) ** 2
    rest, speed = length * signed(rng, 0.1, 3.0), s.speed * signed(rng, 0.5, 2.0)
    curve = straight(shape, -REACH, REACH)
    system = sl.System(M=s.mass, f=lambda t, q, v: [size * shape(q[0] / length) + k * (rest - q[0])])
    terms = [Term(curve, lambda t, q, v: q[0] / length)]
    body = Body([s.mass], lambda t, q, v, values: [size * values[0] + k * (rest - q[0])], terms)
    text = f"steps {form % len(STEPS)}"
    case = Model(system, body, [length * uniform(rng, -2.9, 2.9)], [speed], s.span, text).case("together")
    if np.abs(case.reference(np.linspace(*case.span, LOOKS))[0]).max() > (REACH - 1) * length:
        raise Unfit("the motion leaves the curve of its reference")
    return case


together.forms = len(STEPS)
CLASSES = {"turns": turns, "sampled": sampled, "together": together}
