"""Carriers: small mechanisms that a drive of time acts on, as systems of saltus and as bodies of the reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from drawing import scale, signed, uniform
from drives import Drive
from hybrid import Body, Hinged, Term, Wall, motion
from judge import Case

import saltus as sl


@dataclasses.dataclass
class Model:
    """A system, its body and where it starts."""

    system: sl.System
    body: Body
    q0: list[float]
    v0: list[float]
    span: float
    text: str

    def case(self, name: str, reference=None) -> Case:
        """The case of the model; raises Unfit where its motion is no measure of accuracy."""
        made = motion(self.body, self.q0, self.v0, self.span) if reference is None else reference
        total = np.eye(self.body.rows) if self.body.rows else None
        start = np.array(self.q0), np.array(self.v0)
        return Case(name, self.text, self.system, (0.0, self.span), *start, made, total)


Draw = Callable[[np.random.Generator, float], Drive]


def free(rng: np.random.Generator, draw: Draw) -> Model:
    """A free mass, half of them at rest."""
    s = scale(rng)
    drive = draw(rng, s.span)
    w, strength = drive.function, s.mass * s.acceleration * uniform(rng, 0.5, 4.0)
    v0 = 0.0 if rng.random() < 0.5 else s.speed * signed(rng, 0.1, 1.0)
    system = sl.System(M=s.mass, f=lambda t, q, v: [strength * w(t)])
    body = Body([s.mass], lambda t, q, v, c: [strength * c[0]], [Term(drive.curve)])
    return Model(system, body, [0.0], [v0], s.span, f"mass, {drive.text}")


def oscillator(rng: np.random.Generator, draw: Draw) -> Model:
    """A mass on a spring with a damper, half of them at rest."""
    s = scale(rng)
    drive = draw(rng, s.span)
    omega = uniform(rng, 0.5, 5.0) / s.time
    k, c = s.mass * omega**2, s.mass * omega * uniform(rng, 0.0, 0.4)
    w, strength = drive.function, s.mass * s.acceleration * uniform(rng, 1.0, 6.0)
    q0 = 0.0 if rng.random() < 0.5 else s.length * signed(rng, 0.1, 1.0)
    system = sl.System(M=s.mass, f=lambda t, q, v: [strength * w(t) - k * q[0] - c * v[0]])
    body = Body([s.mass], lambda t, q, v, x: [strength * x[0] - k * q[0] - c * v[0]], [Term(drive.curve)])
    return Model(system, body, [q0], [0.0], s.span, f"oscillator, {drive.text}")


def chain(rng: np.random.Generator, draw: Draw) -> Model:
    """Two masses on springs, each with a drive of its own."""
    s = scale(rng)
    one, two = draw(rng, s.span), draw(rng, s.span)
    m1, m2 = s.mass * uniform(rng, 0.5, 2.0), s.mass * uniform(rng, 0.5, 2.0)
    k1, k2 = (s.mass * (uniform(rng, 0.5, 4.0) / s.time) ** 2 for _ in range(2))
    w1, w2 = one.function, two.function
    f1, f2 = (s.mass * s.acceleration * uniform(rng, 1.0, 5.0) for _ in range(2))
    system = sl.System(
        M=[m1, m2],
        f=lambda t, q, v: [f1 * w1(t) - k1 * q[0] - k2 * (q[0] - q[1]), f2 * w2(t) - k2 * (q[1] - q[0])],
    )
    body = Body(
        [m1, m2],
        lambda t, q, v, c: [f1 * c[0] - k1 * q[0] - k2 * (q[0] - q[1]), f2 * c[1] - k2 * (q[1] - q[0])],
        [Term(one.curve), Term(two.curve)],
    )
    return Model(system, body, [0.0, 0.0], [0.0, 0.0], s.span, f"chain, {one.text}")


def ball(rng: np.random.Generator, draw: Draw) -> Model:
    """A ball that bounces on a floor."""
    s = scale(rng)
    drive = draw(rng, s.span)
    gravity = s.acceleration * uniform(rng, 1.0, 6.0)
    weight, e = s.mass * gravity, uniform(rng, 0.4, 0.9)
    w, strength = drive.function, weight * uniform(rng, 0.3, 1.5)
    system = sl.System(
        M=s.mass, f=lambda t, q, v: [strength * w(t) - weight], contacts=[sl.Contact(lambda q: q[0], e=e)]
    )
    body = Body([s.mass], lambda t, q, v, c: [strength * c[0] - weight], [Term(drive.curve)], [Wall((1.0,), e)])
    return Model(system, body, [s.length * uniform(rng, 0.3, 1.5)], [0.0], s.span, f"ball, {drive.text}")


def resting(rng: np.random.Generator, draw: Draw) -> Model:
    """A weight that rests on a floor until it is lifted; what falls back stays down."""
    s = scale(rng)
    drive = draw(rng, s.span)
    weight = s.mass * s.acceleration * uniform(rng, 2.0, 8.0)
    w, strength = drive.function, weight * uniform(rng, 1.2, 4.0)
    e = 0.0 if rng.random() < 0.6 else uniform(rng, 0.2, 0.6)
    system = sl.System(
        M=s.mass, f=lambda t, q, v: [strength * w(t) - weight], contacts=[sl.Contact(lambda q: q[0], e=e)]
    )
    body = Body([s.mass], lambda t, q, v, c: [strength * c[0] - weight], [Term(drive.curve)], [Wall((1.0,), e)])
    return Model(system, body, [0.0], [0.0], s.span, f"weight on a floor, {drive.text}")


def slider(rng: np.random.Generator, draw: Draw) -> Model:
    """A mass on a spring between two walls."""
    s = scale(rng)
    drive = draw(rng, s.span)
    omega = uniform(rng, 0.5, 4.0) / s.time
    k = s.mass * omega**2
    w, strength = drive.function, s.mass * s.acceleration * uniform(rng, 2.0, 8.0)
    left, right = s.length * uniform(rng, 0.1, 0.6), s.length * uniform(rng, 0.1, 0.6)
    e1, e2 = uniform(rng, 0.3, 0.9), uniform(rng, 0.3, 0.9)
    system = sl.System(
        M=s.mass, f=lambda t, q, v: [strength * w(t) - k * q[0]],
        contacts=[sl.Contact(lambda q: q[0] + left, e=e1), sl.Contact(lambda q: right - q[0], e=e2)],
    )  # fmt: skip
    body = Body(
        [s.mass], lambda t, q, v, c: [strength * c[0] - k * q[0]], [Term(drive.curve)],
        [Wall((1.0,), e1, offset=left), Wall((-1.0,), e2, offset=right)],
    )  # fmt: skip
    return Model(system, body, [0.0], [0.0], s.span, f"slider between walls, {drive.text}")


def pendulum(rng: np.random.Generator, draw: Draw) -> Model:
    """A pendulum that hangs or swings, with a wall beside it."""
    s = scale(rng)
    drive = draw(rng, s.span)
    inertia, rise = s.mass * s.length**2, s.mass * s.length**2 * (uniform(rng, 1.0, 4.0) / s.time) ** 2
    c = inertia / s.time * uniform(rng, 0.0, 0.3)
    w, strength = drive.function, rise * uniform(rng, 0.3, 1.2)
    reach, side = s.length, s.length * uniform(rng, 0.2, 0.9)
    e, start = uniform(rng, 0.3, 0.9), 0.0 if rng.random() < 0.5 else signed(rng, 0.02, 0.15)
    system = sl.System(
        M=inertia, f=lambda t, q, v: [strength * w(t) - rise * np.sin(q[0]) - c * v[0]],
        contacts=[sl.Contact(lambda q: side - reach * np.sin(q[0]), e=e)],
    )  # fmt: skip
    body = Body(
        [inertia], lambda t, q, v, x: [strength * x[0] - rise * np.sin(q[0]) - c * v[0]], [Term(drive.curve)],
        [Hinged(lambda q: side - reach * np.sin(q[0]), lambda q: [-reach * np.cos(q[0])], e)],
    )  # fmt: skip
    return Model(system, body, [start], [0.0], s.span, f"pendulum with wall, {drive.text}")


def double_pendulum(rng: np.random.Generator, draw: Draw) -> Model:
    """A double pendulum that hangs, with a drive at its lower joint."""
    s = scale(rng)
    drive = draw(rng, s.span)
    m1, m2 = s.mass * uniform(rng, 0.5, 2.0), s.mass * uniform(rng, 0.5, 2.0)
    a, b = s.length * uniform(rng, 0.5, 1.5), s.length * uniform(rng, 0.5, 1.5)
    gravity = s.length * (uniform(rng, 1.0, 3.0) / s.time) ** 2
    w, strength = drive.function, m2 * gravity * b * uniform(rng, 0.1, 0.5)

    def mass(q):
        mixed = m2 * a * b * np.cos(q[0] - q[1])
        return [[(m1 + m2) * a * a, mixed], [mixed, m2 * b * b]]

    def force(t, q, v):
        turn = m2 * a * b * np.sin(q[0] - q[1])
        return [
            -turn * v[1] ** 2 - (m1 + m2) * gravity * a * np.sin(q[0]),
            turn * v[0] ** 2 - m2 * gravity * b * np.sin(q[1]) + strength * w(t),
        ]

    def known(t, q, v, c):
        turn = m2 * a * b * np.sin(q[0] - q[1])
        first = -turn * v[1] * v[1] - (m1 + m2) * gravity * a * np.sin(q[0])
        return [first, turn * v[0] * v[0] - m2 * gravity * b * np.sin(q[1]) + strength * c[0]]

    body = Body(lambda q: np.array(mass(q)), known, [Term(drive.curve)])
    start = [0.0, 0.0] if rng.random() < 0.5 else [signed(rng, 0.0, 0.4), signed(rng, 0.0, 0.4)]
    return Model(sl.System(M=mass, f=force), body, start, [0.0, 0.0], s.span, f"double pendulum, {drive.text}")


def cart_pole(rng: np.random.Generator, draw: Draw) -> Model:
    """A cart on a spring with a hanging pole, pushed, with a wall for the cart."""
    s = scale(rng)
    drive = draw(rng, s.span)
    m1, m2, a = s.mass * uniform(rng, 0.5, 2.0), s.mass * uniform(rng, 0.2, 1.0), s.length * uniform(rng, 0.5, 1.5)
    gravity = s.length * (uniform(rng, 1.0, 3.0) / s.time) ** 2
    k = s.mass * (uniform(rng, 0.5, 2.0) / s.time) ** 2
    w, strength = drive.function, s.mass * s.acceleration * uniform(rng, 1.0, 4.0)
    side, e = s.length * uniform(rng, 0.1, 0.6), uniform(rng, 0.3, 0.9)

    def mass(q):
        mixed = m2 * a * np.cos(q[1])
        return [[m1 + m2, mixed], [mixed, m2 * a * a]]

    def force(t, q, v):
        push = strength * w(t) - k * q[0] + m2 * a * np.sin(q[1]) * v[1] ** 2
        return [push, -m2 * gravity * a * np.sin(q[1])]

    def known(t, q, v, c):
        push = strength * c[0] - k * q[0] + m2 * a * np.sin(q[1]) * v[1] * v[1]
        return [push, -m2 * gravity * a * np.sin(q[1])]

    body = Body(
        lambda q: np.array(mass(q)), known, [Term(drive.curve)],
        [Hinged(lambda q: side - q[0], lambda q: [-1.0, 0.0], e)],
    )  # fmt: skip
    system = sl.System(M=mass, f=force, contacts=[sl.Contact(lambda q: side - q[0], e=e)])
    return Model(system, body, [0.0, 0.0], [0.0, 0.0], s.span, f"cart and pole, {drive.text}")
