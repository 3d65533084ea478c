"""Drives: functions of time of size one that are quiet, jump, kink or peak, as users write them and as curves.

A function and its curve are written apart from each other; the curve belongs to the reference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from curves import ZERO, Curve, between, cosine, lines, marked_bell, of_spline, polynomial, stairs
from drawing import log_uniform, places, signed, uniform
from scipy.interpolate import CubicSpline, PchipInterpolator

NARROWEST = 1.2e-3  # of the span: width of the narrowest pulse


@dataclasses.dataclass(frozen=True)
class Drive:
    """What the user writes, and the same for the reference."""

    function: Callable
    curve: Curve
    text: str


def window(rng: np.random.Generator, span: float, writing: str) -> Drive:
    """One to three levels of force, zero between them."""
    count = {"where": 1, "nested": 1, "if": 1, "product": 2, "twice": 2, "elif": 3, "piecewise": 1}[writing]
    if writing == "elif":
        (a, b, c), (low, high) = places(rng, 3, 0.0, span, 0.02 * span), (signed(rng, 0.2, 1.0), signed(rng, 0.2, 1.0))

        def chosen(t):
            if t < a:
                return 0.0
            elif t < b:
                return low
            elif t < c:
                return high
            return 0.0

        return Drive(chosen, stairs([a, b, c], [0.0, low, high, 0.0]), "if, elif, else")
    edges = places(rng, 2 * count, 0.0, span, NARROWEST * span)
    if count == 1 and rng.random() < 0.5:  # from narrow to wide, every size as likely
        width = span * log_uniform(rng, NARROWEST, 0.5)
        begin = uniform(rng, 0.01 * span, 0.98 * span - width)
        edges = [begin, begin + width]
    heights = [signed(rng, 0.3, 1.0) for _ in range(count)]
    a, b, height = edges[0], edges[1], heights[0]
    curve = between(a, b, polynomial(0.0, height))
    if count == 2:
        c, d, other = edges[2], edges[3], heights[1]
        curve = curve + between(c, d, polynomial(0.0, other))
        if writing == "product":
            return Drive(lambda t: height * (t > a) * (t < b) + other * (t >= c) * (t <= d), curve, "2 products")
        return Drive(
            lambda t: np.where((t > a) & (t < b), height, 0.0) + np.where((t < c) | (t > d), 0.0, other), curve,
            "2 where",
        )  # fmt: skip

    def within(t):
        if t > a and t < b:
            return height
        return 0.0

    function = {
        "where": lambda t: np.where((t > a) & (t < b), height, 0.0),
        "nested": lambda t: np.where(t < a, 0.0, np.where(t < b, height, 0.0)),
        "piecewise": lambda t: np.piecewise(t, [t < a, (t >= a) & (t < b), t >= b], [0.0, height, 0.0]),
        "if": within,
    }[writing]
    return Drive(function, curve, f"window by {writing}")


def trapezoid(rng: np.random.Generator, span: float, writing: str) -> Drive:
    """Up, hold, down; sometimes with a second level."""
    a, b, c, d = places(rng, 4, 0.0, span, NARROWEST * span)
    height, other = signed(rng, 0.4, 1.0), signed(rng, 0.2, 1.0)
    if writing in ("if", "interp"):
        curve = lines([a, b, c, d], [0.0, height, other, 0.0])

        def ramps(t):
            if t <= a or t >= d:
                return 0.0
            if t < b:
                return height * (t - a) / (b - a)
            if t < c:
                return height + (other - height) * (t - b) / (c - b)
            return other * (d - t) / (d - c)

        x, y = [a, b, c, d], [0.0, height, other, 0.0]
        return Drive(ramps if writing == "if" else lambda t: np.interp(t, x, y), curve, f"ramps by {writing}")
    rise = min(b - a, (d - a) / 3.0)
    curve = lines([a, a + rise, d - rise, d], [0.0, height, height, 0.0])
    function = {
        "clip": lambda t: height * (np.clip((t - a) / rise, 0.0, 1.0) - np.clip((t - d + rise) / rise, 0.0, 1.0)),
        "minimum": lambda t: height * np.maximum(np.minimum(np.minimum((t - a) / rise, (d - t) / rise), 1.0), 0.0),
    }[writing]
    return Drive(function, curve, f"trapezoid by {writing}")


def pulse(rng: np.random.Generator, span: float, writing: str) -> Drive:
    """Hann, half-sine and gaussian pulses, narrow and wide."""
    kind, way = writing.split()
    height = signed(rng, 0.5, 1.0)
    width = span * log_uniform(rng, NARROWEST, 0.3)
    a = uniform(rng, 0.02 * span, 0.95 * span - width)
    b = a + width
    if kind == "gauss":
        narrow, middle = width / 2.0, (a + b) / 2.0
        curve = marked_bell(height, middle, narrow)
        return Drive(lambda t: height * np.exp(-(((t - middle) / narrow) ** 2)), curve, "gaussian")
    if kind == "hann":
        omega = 2.0 * np.pi / width
        curve = between(a, b, cosine(-0.5 * height, omega, -omega * a, 0.5 * height))

        def shape(t):
            return height * np.sin(np.pi * (t - a) / width) ** 2
    else:
        omega = np.pi / width
        curve = between(a, b, cosine(height, omega, -omega * a - np.pi / 2.0))

        def shape(t):
            return height * np.sin(np.pi * (t - a) / width)

    def within(t):
        if a < t < b:
            return shape(t)
        return 0.0

    return Drive(within if way == "if" else lambda t: np.where((t > a) & (t < b), shape(t), 0.0), curve, writing)


def waved(span: float, omega: float, phase: float, level: float, up, down) -> Curve:
    """`up` where cos(omega t + phase) > level, `down` elsewhere."""
    half = np.arccos(level)
    turns = np.arange(-1, int(omega * span / (2.0 * np.pi)) + 3) * 2.0 * np.pi
    zeros = np.sort(np.concatenate([(turns - half - phase) / omega, (turns + half - phase) / omega]))
    knots = zeros[(zeros > 0.0) & (zeros < span)]
    ends = np.concatenate([[0.0], knots, [span]])
    middles = (ends[:-1] + ends[1:]) / 2.0
    return Curve(
        tuple(knots.tolist()), tuple(up if np.cos(omega * x + phase) > level else down for x in middles.tolist())
    )


def wave(rng: np.random.Generator, span: float, writing: str) -> Drive:
    """Rectified and square waves."""
    omega = 2.0 * np.pi * uniform(rng, 1.2, 9.0) / span
    phase = uniform(rng, -3.0, 3.0)
    if writing in ("maximum", "if"):  # quiet for more than half of the time
        level = uniform(rng, 0.0, 0.8)
        size = 1.0 / (1.0 - level)
        curve = waved(span, omega, phase, level, cosine(size, omega, phase, -level * size), ZERO)

        def half(t):
            c = np.cos(omega * t + phase)
            if c > level:
                return size * (c - level)
            return 0.0

        function = half if writing == "if" else lambda t: size * np.maximum(np.cos(omega * t + phase) - level, 0.0)
        return Drive(function, curve, f"half wave by {writing}")
    if writing == "abs":
        curve = waved(span, omega, phase, 0.0, cosine(1.0, omega, phase), cosine(-1.0, omega, phase))
        return Drive(lambda t: np.abs(np.cos(omega * t + phase)), curve, "full wave by abs")
    if writing == "sign":
        curve = waved(span, omega, phase, 0.0, polynomial(0.0, 1.0), polynomial(0.0, -1.0))
        return Drive(lambda t: np.sign(np.cos(omega * t + phase)), curve, "square by sign")
    period, duty, shift = 2.0 * np.pi / omega, uniform(rng, 0.1, 0.6), uniform(rng, 0.05, 0.9)
    starts = (np.arange(-1, int(span / period) + 2) + shift) * period
    edges = np.sort(np.concatenate([starts, starts + duty * period]))
    edges = edges[(edges > 0.0) & (edges < span)].tolist()
    middles = [(x + y) / 2.0 for x, y in zip([0.0, *edges], [*edges, span], strict=True)]
    on = [1.0 if (x / period - shift) % 1.0 < duty else 0.0 for x in middles]
    curve = stairs(edges, on)
    begin, width = shift * period, duty * period
    if writing == "mod":
        return Drive(lambda t: np.where(np.mod(t - begin, period) < width, 1.0, 0.0), curve, "square by mod")

    def saw(t):
        return np.floor((t - begin) / period) - np.floor((t - begin - width) / period)

    return Drive(saw, curve, "square by floor")


def table(rng: np.random.Generator, span: float, writing: str) -> Drive:
    """Tables of time: lines, cubic splines, monotone splines; quiet at first in half of them."""
    n = int(rng.choice((5, 10)))
    inner = places(rng, n, 0.0, span, 0.3 * span / n)
    x = [-0.1 * span, *inner, 1.1 * span]
    y = [signed(rng, 0.1, 1.0) for _ in x]
    if rng.random() < 0.5:
        y[: len(y) // 2] = [0.0] * (len(y) // 2)
    if writing == "interp":
        return Drive(lambda t: np.interp(t, x, y), lines(x, y), f"np.interp, {len(x)} knots")
    spline = CubicSpline(x, y) if writing == "cubic" else PchipInterpolator(x, y)
    return Drive(lambda t: spline(t), of_spline(spline), f"{writing}, {len(x)} knots")


def gusts(rng: np.random.Generator, span: float, writing: str) -> Drive:
    """Two or three drives of different kinds added."""
    kinds = {
        "gusts": ((wave, "maximum"), (wave, "maximum"), (pulse, "hann where")),
        "mixed": ((trapezoid, "interp"), (wave, "maximum")),
        "kicks": ((window, "where"), (pulse, "half where"), (pulse, "gauss -")),
        "plain": ((window, "if"), (wave, "if")),
        "pushes": ((table, "interp"), (window, "nested")),
    }[writing]
    drives = [make(rng, span, way) for make, way in kinds]
    functions = [drive.function for drive in drives]
    curve = drives[0].curve
    for drive in drives[1:]:
        curve = curve + drive.curve

    def summed(t):
        made = functions[0](t)
        for function in functions[1:]:
            made = made + function(t)
        return made

    return Drive(summed, curve, writing)
