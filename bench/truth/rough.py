"""A class of rough contacts: a block that sticks on a floor until a push wakes it, and sticks again behind it.

m x'' = push(t) - friction, |friction| <= mu N(t), with N(t) = weight (1 - depth cos(omega t)) always pressing.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from carriers import Model
from curves import Curve
from drawing import scale, signed, uniform
from drives import gusts, pulse, table, trapezoid, wave, window
from hybrid import JUMP, Kink, Term
from judge import Case
from reference import Unfit

import saltus as sl


@dataclasses.dataclass(frozen=True)
class Rubbing:
    """The piece of the push, and the direction of the slip: 0 while the block sticks."""

    cell: int
    slip: int


@dataclasses.dataclass
class Block:
    """The reference of the block, q = (x, z); its rows are the normal impulse and that of friction."""

    mass: float
    weight: float
    mu: float
    depth: float
    omega: float
    strength: float
    curve: Curve
    change: float = 0.0

    rows = 2
    span = 1.0
    fastest = 0.0

    @property
    def walls(self) -> list:
        return []

    @property
    def terms(self) -> list[Term]:
        return [Term(self.curve)]

    def normal(self, t):
        return self.weight * (1.0 - self.depth * np.cos(self.omega * t))

    def push(self, mode: Rubbing, t):
        return (1.0 + self.change) * self.strength * self.curve.pieces[mode.cell](t)[0]

    def rates(self, mode: Rubbing, n: int):
        def made(t, y):
            N, P = self.normal(t), self.push(mode, t)
            friction = -P if mode.slip == 0 else -mode.slip * self.mu * N
            return np.array([y[2], 0.0, (P + friction) / self.mass, 0.0, N, friction])

        return made

    def start(self, t: float, y: np.ndarray, n: int) -> tuple[Rubbing, np.ndarray]:
        return self.settled(Rubbing(self.curve.cell(t), int(np.sign(y[2]))), t, y, n)

    def settled(self, mode: Rubbing, t: float, y: np.ndarray, n: int) -> tuple[Rubbing, np.ndarray]:
        """A block without slip begins to slide where the push is more than friction holds."""
        if mode.slip:
            return mode, y
        P, grip = float(self.push(mode, t)), self.mu * float(self.normal(t))
        if abs(abs(P) - grip) < JUMP * grip:
            raise Unfit("a push of just what friction holds")
        return (mode, y) if abs(P) < grip else (dataclasses.replace(mode, slip=int(np.sign(P))), y)

    def knots_ahead(self, mode: Rubbing) -> float:
        return self.curve.knots[mode.cell] if mode.cell < len(self.curve.knots) else np.inf

    def at_knot(self, mode: Rubbing, t: float, kinks: list[Kink]) -> Rubbing:
        kinks.append(Kink(t, self.curve.order(mode.cell), 1.0, "force"))
        return dataclasses.replace(mode, cell=mode.cell + 1)

    def guards(self, mode: Rubbing, n: int) -> dict:
        if mode.slip:
            return {("slip", 0, mode.slip): lambda t, Y: mode.slip * Y[2]}
        return {
            ("stick", 0, 1): lambda t, Y: self.mu * self.normal(t) - self.push(mode, t),
            ("stick", 0, -1): lambda t, Y: self.mu * self.normal(t) + self.push(mode, t),
        }

    def fell(self, key, mode: Rubbing, t: float, y, n: int, rate: float, kinks: list[Kink]):
        if key[0] == "stick":
            return dataclasses.replace(mode, slip=key[2]), y
        y = y.copy()
        y[2] = 0.0
        return dataclasses.replace(mode, slip=0), y


FORMS = (
    (window, "where"), (trapezoid, "interp"), (pulse, "hann where"), (window, "if"), (wave, "maximum"),
    (table, "pchip"), (gusts, "plain"),
)  # fmt: skip


def rough(rng: np.random.Generator, form: int) -> Case:
    """A block at rest (some slide at first) under a push that is quiet for a time."""
    draw, writing = FORMS[form % len(FORMS)]
    s = scale(rng)
    drive = draw(rng, s.span, writing)
    m, weight, mu = s.mass, s.mass * s.acceleration * uniform(rng, 2.0, 8.0), uniform(rng, 0.1, 0.8)
    depth, omega = uniform(rng, 0.0, 0.6), uniform(rng, 1.0, 5.0) / s.time
    strength = mu * weight * uniform(rng, 1.3, 4.0)
    v0 = s.speed * signed(rng, 0.2, 1.0) if rng.random() < 0.3 else 0.0
    w = drive.function
    system = sl.System(
        M=[m, m],
        f=lambda t, q, v: [strength * w(t), -weight * (1.0 - depth * np.cos(omega * t))],
        contacts=[sl.Contact(lambda q: q[1], mu=mu, slip=lambda t, q, v: v[0])],
    )
    block = Block(m, weight, mu, depth, omega, strength, drive.curve)
    case = Model(system, block, [0.0, 0.0], [v0, 0.0], s.span, f"rough block, {drive.text}").case("rough")
    return case


rough.forms = len(FORMS)
CLASSES = {"rough": rough}
