"""Forces and walls that sleep: models on which quiet intervals, dwell and narrow hills were first seen to be missed.

force  2.3 N within a window, ramps, a Hann pulse, a rectified cosine: each with numpy and with a plain `if`
cam    a follower that rests on a cam with dwell, one turn per second, ten turns
bump   a bead that rides over a bump of 1, 0.3 or 0.1 m
hill   a free flight against a hill of 0.1 or 0.01 m
gust   a bouncing ball in gusts that blow a third of the time
"""

from __future__ import annotations

import functools

import numpy as np
from carriers import Model
from curves import ZERO, Curve, between, cosine, cubed, lines, marked_bell, polynomial
from drives import waved
from hybrid import Body, Term, Wall, march
from judge import Case

import saltus as sl

FAR = 6.0  # widths: beyond them a bell is below rounding


def known(model: Model, name: str) -> Case:
    """The case with the motion of its body, whatever that is like."""
    return model.case(name, march(model.body, model.q0, model.v0, model.span))


def pushed(drive, curve: Curve, span: float, text: str) -> Case:
    """A mass of 1 kg at rest under a drive."""
    system = sl.System(M=1.0, f=lambda t, q, v: [drive(t)])
    body = Body([1.0], lambda t, q, v, c: c, [Term(curve)])
    return known(Model(system, body, [0.0], [0.0], span, text), "force")


def within(a: float, b: float, shape):
    """The shape between a and b, as a plain branch."""

    def made(t):
        if t > a and t < b:
            return shape(t)
        return 0.0

    return made


def window(*, branches: bool) -> Case:
    span = 10.1
    a, b = 0.06 * span, 0.99 * span
    curve = between(a, b, polynomial(0.0, 2.3))
    drive = within(a, b, lambda t: 2.3) if branches else lambda t: np.where((t > a) & (t < b), 2.3, 0.0)
    return pushed(drive, curve, span, f"window by {_way(branches)}")


def ramps(*, branches: bool) -> Case:
    x, y = [0.0, 0.2, 0.4, 0.8, 1.0], [0.0, 0.0, 2.3, 2.3, 0.0]

    def drive(t):
        if t < 0.2 or t > 1.0:
            return 0.0
        if t < 0.4:
            return 2.3 * (t - 0.2) / 0.2
        if t < 0.8:
            return 2.3
        return 2.3 * (1.0 - t) / 0.2

    chosen = drive if branches else lambda t: np.interp(t, x, y)
    return pushed(chosen, lines(x[1:], y[1:]), 1.3, f"ramps by {'if' if branches else 'np.interp'}")


def hann(*, branches: bool) -> Case:
    omega = 2.0 * np.pi / 0.6
    curve = between(0.3, 0.9, cosine(-1.15, omega, -omega * 0.3, 1.15))

    def shape(t):
        return 2.3 * np.sin(np.pi * (t - 0.3) / 0.6) ** 2

    drive = within(0.3, 0.9, shape) if branches else lambda t: np.where((t > 0.3) & (t < 0.9), shape(t), 0.0)
    return pushed(drive, curve, 1.3, f"Hann pulse by {_way(branches)}")


def rectified(*, branches: bool) -> Case:
    curve = waved(3.0, 6.3, -2.2, 0.31, cosine(10.1, 6.3, -2.2, -3.131), ZERO)

    def drive(t):
        c = np.cos(6.3 * t - 2.2) - 0.31
        if c > 0.0:
            return 10.1 * c
        return 0.0

    chosen = drive if branches else lambda t: 10.1 * np.maximum(np.cos(6.3 * t - 2.2) - 0.31, 0.0)
    return pushed(chosen, curve, 3.0, f"rectified by {_way(branches, 'maximum')}")


def cam(*, branches: bool) -> Case:
    omega, level, height, k = 2.0 * np.pi, 0.31, 0.02, 200.3
    root = np.cbrt(height) / (1.0 - level)
    curve = waved(10.0, omega, -2.2, level, cubed(cosine(root, omega, -2.2, -level * root)), ZERO)

    def lifted(t):
        c = (np.cos(omega * t - 2.2) - level) / (1.0 - level)
        if c > 0.0:
            return height * c**3
        return 0.0

    def risen(t):
        return height * np.maximum((np.cos(omega * t - 2.2) - level) / (1.0 - level), 0.0) ** 3

    wall = lifted if branches else risen
    system = sl.System(
        M=1.0, f=lambda t, q, v: [-9.81 - k * (q[0] + 0.1)], contacts=[sl.Contact(lambda t, q: q[0] - wall(t), e=0.2)]
    )
    body = Body([1.0], lambda t, q, v, c: [-9.81 - k * (q[0] + 0.1)], [], [Wall((1.0,), 0.2, curve)])
    return known(Model(system, body, [0.0], [0.0], 10.0, f"cam by {_way(branches, 'maximum')}"), "cam")


def bell_road(height: float, middle: float, width: float, branches: bool):
    """z = height exp(-((x - middle) / width)^2), plain or cut off where it is nothing."""

    def cut(x):
        if abs(x - middle) < FAR * width:
            return height * np.exp(-(((x - middle) / width) ** 2))
        return 0.0

    return cut if branches else lambda x: height * np.exp(-(((x - middle) / width) ** 2))


def bump(width: float, height: float, middle: float, *, branches: bool) -> Case:
    curve, road = marked_bell(height, middle, width), bell_road(height, middle, width, branches)
    system = sl.System(M=1.0, f=[0.0, -9.81], contacts=[sl.Contact(lambda q: q[1] - road(q[0]))])
    body = Body([1.0, 1.0], lambda t, q, v, c: [0.0, -9.81], [], [Wall((0.0, 1.0), 0.0, curve, over=0)])
    z, slope, _ = (float(x) for x in curve.pieces[0](0.0))
    text = f"bump {width:g} m wide{', if' if branches else ''}"
    return known(Model(system, body, [0.0, z], [1.03, 1.03 * slope], 10.0, text), "bump")


def hill(width: float, middle: float, *, branches: bool) -> Case:
    curve, road = marked_bell(1.01, middle, width), bell_road(1.01, middle, width, branches)
    system = sl.System(M=1.0, f=[0.0, 0.0], contacts=[sl.Contact(lambda q: q[1] - road(q[0]), e=0.5)])
    body = Body([1.0, 1.0], lambda t, q, v, c: [0.0, 0.0], [], [Wall((0.0, 1.0), 0.5, curve, over=0)])
    text = f"hill {width:g} m wide{', if' if branches else ''}"
    return known(Model(system, body, [0.0, 0.5], [1.03, 0.0], 10.0, text), "hill")


def gust(period: float, phase: float, *, branches: bool) -> Case:
    omega = float(2.0 * np.pi / period)
    curve = waved(4.0, omega, -omega * phase, 0.5, cosine(6.1, omega, -omega * phase, -3.05), ZERO)

    def blown(t):
        c = np.cos(omega * (t - phase))
        if c > 0.5:
            return 6.1 * (c - 0.5)
        return 0.0

    wind = blown if branches else lambda t: 6.1 * np.maximum(np.cos(omega * (t - phase)) - 0.5, 0.0)
    system = sl.System(M=1.0, f=lambda t, q, v: [-9.81 + wind(t)], contacts=[sl.Contact(lambda q: q[0], e=0.9)])
    body = Body([1.0], lambda t, q, v, c: [-9.81 + c[0]], [Term(curve)], [Wall((1.0,), 0.9)])
    text = f"gusts every {period:g} s by {_way(branches, 'maximum')}"
    return known(Model(system, body, [1.5], [0.0], 4.0, text), "gust")


def _way(branches: bool, otherwise: str = "where") -> str:
    return "if" if branches else otherwise


PLAIN = {
    "force": [window, ramps, hann, rectified],
    "cam": [cam],
    "bump": [
        functools.partial(bump, 1.0, 0.05, 6.123), functools.partial(bump, 0.3, 0.02, 4.0),
        functools.partial(bump, 0.1, 0.005, 4.0),
    ],
    "hill": [functools.partial(hill, 0.1, 3.3333), functools.partial(hill, 0.01, 6.123)],
    "gust": [
        functools.partial(gust, 1.01, 0.35), functools.partial(gust, 0.77, 0.6), functools.partial(gust, 2.3, 1.1),
    ],
}  # fmt: skip
COUNTS = {name: 2 * len(made) for name, made in PLAIN.items()}  # each with numpy and with `if`


def case(name: str, seed: int) -> Case:
    """Model `seed` of a class: even ones with numpy, odd ones with `if`."""
    models = PLAIN[name]
    return models[seed // 2 % len(models)](branches=bool(seed % 2))


CLASSES = {name: functools.partial(case, name) for name in PLAIN}
