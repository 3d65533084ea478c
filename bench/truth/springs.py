"""Classes of forces that kink with the state: backlash, one-sided springs, drag, actuators at their limit, switches.

Magnets do not kink: they are narrow and smooth, and a particle that coasts must not pass over them.
"""

from __future__ import annotations

import numpy as np
from carriers import Model
from curves import Curve, lines, marked_bell, polynomial, resonance, stairs
from drawing import Scale, log_uniform, places, scale, signed, uniform
from hybrid import Body, Term, Wall
from judge import Case

import saltus as sl


def pushed(rng: np.random.Generator, s: Scale) -> tuple[float, float, float]:
    """Size, angular frequency and phase of a force that goes back and forth."""
    size = s.mass * s.acceleration * uniform(rng, 1.0, 5.0)
    return size, uniform(rng, 1.0, 6.0) / s.time, uniform(rng, -3.0, 3.0)


BACKLASH = ("maximum", "where", "if", "clip", "pair")


def backlash(rng: np.random.Generator, form: int) -> Case:
    """A spring with a dead zone, between a mass and the ground or between two masses."""
    writing = BACKLASH[form % len(BACKLASH)]
    s = scale(rng)
    m, (size, omega, phase) = s.mass, pushed(rng, s)
    k, c = m * (uniform(rng, 2.0, 9.0) / s.time) ** 2, m * uniform(rng, 0.0, 0.3) / s.time
    a, b = s.length * uniform(rng, 0.02, 0.4), s.length * uniform(rng, 0.02, 0.4)
    low, high = polynomial(-b, 0.0, -k), polynomial(a, 0.0, -k)
    curve = Curve((-b, a), (low, polynomial(0.0, 0.0), high))

    def chosen(x):
        if x > a:
            return -k * (x - a)
        if x < -b:
            return -k * (x + b)
        return 0.0

    pull = {
        "maximum": lambda x: -k * (np.maximum(x - a, 0.0) + np.minimum(x + b, 0.0)),
        "where": lambda x: np.where(x > a, -k * (x - a), np.where(x < -b, -k * (x + b), 0.0)),
        "clip": lambda x: -k * (x - np.clip(x, -b, a)),
        "pair": lambda x: -k * (x - np.clip(x, -b, a)),
        "if": chosen,
    }[writing]
    if writing == "pair":
        other = m * uniform(rng, 0.3, 2.0)

        def force(t, q, v):
            r = pull(q[0] - q[1])
            return [r + size * np.cos(omega * t + phase) - c * v[0], -r]

        def known(t, q, v, x):
            return [x[0] + size * np.cos(omega * t + phase) - c * v[0], -x[0]]

        body = Body([m, other], known, [Term(curve, lambda t, q, v: q[0] - q[1])])
        model = Model(sl.System(M=[m, other], f=force), body, [0.0, 0.0], [0.0, 0.0], s.span, "backlash of two masses")
        return model.case("backlash")
    system = sl.System(M=m, f=lambda t, q, v: [pull(q[0]) + size * np.cos(omega * t + phase) - c * v[0]])
    body = Body(
        [m], lambda t, q, v, x: [x[0] + size * np.cos(omega * t + phase) - c * v[0]],
        [Term(curve, lambda t, q, v: q[0])],
    )  # fmt: skip
    return Model(system, body, [0.0], [0.0], s.span, f"backlash by {writing}").case("backlash")


backlash.forms = len(BACKLASH)
ONE_SIDED = ("maximum", "if", "damper where", "damper if", "floor")


def one_sided(rng: np.random.Generator, form: int) -> Case:
    """Springs and dampers that act to one side more than to the other; a ball between spring and floor."""
    writing = ONE_SIDED[form % len(ONE_SIDED)]
    s = scale(rng)
    m, (size, omega, phase) = s.mass, pushed(rng, s)
    k, more = (m * (uniform(rng, 1.0, 5.0) / s.time) ** 2 for _ in range(2))
    x0 = s.length * signed(rng, 0.0, 0.3)
    c1, c2 = (m * log_uniform(rng, 0.05, 2.0) / s.time for _ in range(2))
    q0 = s.length * signed(rng, 0.3, 1.0)
    if writing.startswith("damper"):
        curve = lines([-s.speed, 0.0, s.speed], [c1 * s.speed, 0.0, -c2 * s.speed], ends=False)

        def chosen(v):
            if v > 0.0:
                return -c2 * v
            return -c1 * v

        damp = chosen if writing.endswith("if") else lambda v: np.where(v > 0.0, -c2 * v, -c1 * v)
        system = sl.System(M=m, f=lambda t, q, v: [damp(v[0]) - k * q[0] + size * np.cos(omega * t + phase)])
        body = Body(
            [m], lambda t, q, v, x: [x[0] - k * q[0] + size * np.cos(omega * t + phase)],
            [Term(curve, lambda t, q, v: v[0])],
        )  # fmt: skip
        return Model(system, body, [q0], [0.0], s.span, f"one-sided {writing}").case("one_sided")
    curve = lines([x0 - s.length, x0, x0 + s.length], [0.0, 0.0, -more * s.length], ends=False)

    def stiffer(x):
        if x > x0:
            return -more * (x - x0)
        return 0.0

    pull = stiffer if writing == "if" else lambda x: -more * np.maximum(x - x0, 0.0)
    contacts, walls = [], []
    if writing == "floor":
        depth, e = s.length * uniform(rng, 0.3, 1.0), uniform(rng, 0.3, 0.9)
        contacts, walls = [sl.Contact(lambda q: q[0] + depth, e=e)], [Wall((1.0,), e, offset=depth)]
        q0 = abs(q0)
    system = sl.System(
        M=m, f=lambda t, q, v: [pull(q[0]) - k * q[0] - c1 * v[0] + size * np.cos(omega * t + phase)], contacts=contacts
    )
    body = Body(
        [m], lambda t, q, v, x: [x[0] - k * q[0] - c1 * v[0] + size * np.cos(omega * t + phase)],
        [Term(curve, lambda t, q, v: q[0])], walls,
    )  # fmt: skip
    return Model(system, body, [q0], [0.0], s.span, f"one-sided spring, {writing}").case("one_sided")


one_sided.forms = len(ONE_SIDED)
DRAG = ("abs", "if", "where", "plane")


def drag(rng: np.random.Generator, form: int) -> Case:
    """Quadratic drag in a flow that reverses: c |w - v| (w - v)."""
    writing = DRAG[form % len(DRAG)]
    s = scale(rng)
    m, flow = s.mass, s.speed * uniform(rng, 0.5, 3.0)
    omega, phase = uniform(rng, 1.0, 6.0) / s.time, uniform(rng, -3.0, 3.0)
    c = m / s.length * log_uniform(rng, 0.3, 5.0)
    curve = Curve((0.0,), (polynomial(0.0, 0.0, 0.0, -c), polynomial(0.0, 0.0, 0.0, c)))

    def chosen(u):
        if u > 0.0:
            return c * u * u
        return -c * u * u

    push = {
        "abs": lambda u: c * np.abs(u) * u,
        "plane": lambda u: c * np.abs(u) * u,
        "where": lambda u: np.where(u < 0.0, -c * u**2, c * u**2),
        "if": chosen,
    }[writing]

    def slip(t, q, v):
        return flow * np.cos(omega * t + phase) - v[0]

    v0 = s.speed * signed(rng, 0.0, 1.0)
    if writing == "plane":  # and falls onto a floor
        weight, e = m * s.acceleration * uniform(rng, 1.0, 4.0), uniform(rng, 0.3, 0.8)
        system = sl.System(
            M=[m, m], f=lambda t, q, v: [push(flow * np.cos(omega * t + phase) - v[0]), -weight],
            contacts=[sl.Contact(lambda q: q[1], e=e)],
        )  # fmt: skip
        body = Body([m, m], lambda t, q, v, x: [x[0], -weight], [Term(curve, slip)], [Wall((0.0, 1.0), e)])
        start = [0.0, s.length * uniform(rng, 0.3, 1.5)]
        return Model(system, body, start, [v0, 0.0], s.span, "drag, ball on a floor").case("drag")
    k = m * (uniform(rng, 0.5, 3.0) / s.time) ** 2
    system = sl.System(M=m, f=lambda t, q, v: [push(flow * np.cos(omega * t + phase) - v[0]) - k * q[0]])
    body = Body([m], lambda t, q, v, x: [x[0] - k * q[0]], [Term(curve, slip)])
    return Model(system, body, [0.0], [v0], s.span, f"drag by {writing}").case("drag")


drag.forms = len(DRAG)
ACTUATORS = ("clip", "minimum", "if", "pendulum clip")


def actuators(rng: np.random.Generator, form: int) -> Case:
    """A control that is limited: clip(-p q - d v, -most, most), on a mass or an upright pendulum."""
    writing = ACTUATORS[form % len(ACTUATORS)]
    s = scale(rng)
    m = s.mass
    length = 1.0 if writing.startswith("pendulum") else s.length
    stiff = uniform(rng, 2.0, 8.0) / s.time
    p, d = m * stiff**2, m * stiff * uniform(rng, 0.3, 1.5)
    q0 = length * signed(rng, 0.3, 1.0)
    fall = m * (uniform(rng, 0.3, 1.0) / s.time) ** 2 if writing.startswith("pendulum") else 0.0
    most = p * abs(q0) * uniform(rng, 0.2, 0.6) + 1.2 * fall
    size, omega, phase = most * uniform(rng, 0.1, 0.5), uniform(rng, 1.0, 5.0) / s.time, uniform(rng, -3.0, 3.0)
    curve = lines([-most, most], [-most, most])

    def chosen(u):
        if u > most:
            return most
        if u < -most:
            return -most
        return u

    limit = {
        "clip": lambda u: np.clip(u, -most, most),
        "pendulum clip": lambda u: np.clip(u, -most, most),
        "minimum": lambda u: np.maximum(np.minimum(u, most), -most),
        "if": chosen,
    }[writing]

    def wanted(t, q, v):
        return -p * q[0] - d * v[0]

    if fall:
        system = sl.System(M=m, f=lambda t, q, v: [limit(-p * q[0] - d * v[0]) + fall * np.sin(q[0])])
        body = Body([m], lambda t, q, v, x: [x[0] + fall * np.sin(q[0])], [Term(curve, wanted)])
    else:
        system = sl.System(M=m, f=lambda t, q, v: [limit(-p * q[0] - d * v[0]) + size * np.cos(omega * t + phase)])
        body = Body([m], lambda t, q, v, x: [x[0] + size * np.cos(omega * t + phase)], [Term(curve, wanted)])
    return Model(system, body, [q0], [0.0], s.span, f"actuator by {writing}").case("actuators")


actuators.forms = len(ACTUATORS)
SWITCHES = ("where", "sign", "if", "levels", "piecewise")


def switches(rng: np.random.Generator, form: int) -> Case:
    """Forces that jump with the place: relays, fields that begin somewhere."""
    writing = SWITCHES[form % len(SWITCHES)]
    s = scale(rng)
    m = s.mass
    k = m * (uniform(rng, 0.5, 3.0) / s.time) ** 2
    x1, x2 = sorted(s.length * uniform(rng, -0.6, 0.6) for _ in range(2))
    f1, f2, f3 = (m * s.acceleration * signed(rng, 0.2, 2.0) for _ in range(3))
    q0, v0 = s.length * signed(rng, 0.4, 1.2), s.speed * signed(rng, 0.0, 1.0)
    if writing in ("levels", "if", "piecewise"):
        curve = stairs([x1, x2], [f1, f2, f3])

        def chosen(x):
            if x < x1:
                return f1
            elif x < x2:
                return f2
            return f3

        push = {
            "levels": lambda x: np.where(x < x1, f1, np.where(x < x2, f2, f3)),
            "piecewise": lambda x: np.piecewise(x, [x < x1, (x >= x1) & (x < x2), x >= x2], [f1, f2, f3]),
            "if": chosen,
        }[writing]
    elif writing == "sign":
        curve, push = stairs([x1], [-f1, f1]), lambda x: f1 * np.sign(x - x1)
    else:
        curve, push = stairs([x1], [0.0, f1]), lambda x: np.where(x > x1, f1, 0.0)
    system = sl.System(M=m, f=lambda t, q, v: [push(q[0]) - k * q[0]])
    body = Body([m], lambda t, q, v, x: [x[0] - k * q[0]], [Term(curve, lambda t, q, v: q[0])])
    return Model(system, body, [q0], [v0], s.span, f"switch by {writing}").case("switches")


switches.forms = len(SWITCHES)
MAGNETS = (1, 2, 3)


def magnets(rng: np.random.Generator, form: int) -> Case:
    """A particle that coasts past narrow magnets: forces a / (1 + ((x - x_j) / w)^2), smooth and easily missed."""
    count = MAGNETS[form % len(MAGNETS)]
    s = scale(rng)
    m, speed = s.mass, s.speed * uniform(rng, 0.5, 2.0)
    way = speed * s.span
    spots = places(rng, count, 0.1 * way, 0.9 * way, 0.1 * way)
    widths = [way * log_uniform(rng, 1e-3, 0.03) for _ in spots]
    # each changes the kinetic energy by up to a third
    sizes = [signed(rng, 0.05, 0.3) * 0.5 * m * speed**2 / (np.pi * width) for width in widths]
    numbers = list(zip(sizes, spots, widths, strict=True))

    def push(x):
        made = 0.0
        for size, spot, width in numbers:
            made = made + size / (1.0 + ((x - spot) / width) ** 2)
        return made

    curve = marked_bell(*numbers[0], piece=resonance)
    for more in numbers[1:]:
        curve = curve + marked_bell(*more, piece=resonance)
    system = sl.System(M=m, f=lambda t, q, v: [push(q[0])])
    body = Body([m], lambda t, q, v, x: [x[0]], [Term(curve, lambda t, q, v: q[0])])
    return Model(system, body, [0.0], [speed], s.span, f"{count} magnets").case("magnets")


magnets.forms = len(MAGNETS)
CLASSES = {
    "backlash": backlash,
    "one_sided": one_sided,
    "drag": drag,
    "actuators": actuators,
    "switches": switches,
    "magnets": magnets,
}
