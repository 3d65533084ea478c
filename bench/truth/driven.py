"""Classes of forces that change with time: windows, trapezoids, pulses, waves, tables, and gusts on mechanisms.

A form is a carrier and a way to write the drive; numbers change, forms repeat, so that few models are compiled.
"""

from __future__ import annotations

import numpy as np
from carriers import (
    Model,
    ball,
    cart_pole,
    chain,
    double_pendulum,
    free,
    oscillator,
    pendulum,
    resting,
    slider,
)  # fmt: skip
from curves import lines, of_spline
from drawing import places, scale, signed, uniform
from drives import gusts, pulse, table, trapezoid, wave, window
from hybrid import Body, Term
from judge import Case
from reference import Reference
from scipy.interpolate import CubicSpline, PchipInterpolator

import saltus as sl

FORMS = {
    "windows": (window, (
        (free, "where"), (oscillator, "product"), (free, "if"), (ball, "nested"), (resting, "where"), (chain, "elif"),
        (oscillator, "piecewise"),
    )),
    "trapezoids": (trapezoid, (
        (free, "interp"), (oscillator, "if"), (ball, "interp"), (resting, "clip"), (chain, "minimum"), (slider, "if"),
    )),
    "pulses": (pulse, (
        (free, "hann where"), (oscillator, "gauss -"), (ball, "half where"), (resting, "hann if"), (free, "half if"),
        (slider, "gauss -"),
    )),
    "waves": (wave, (
        (free, "maximum"), (oscillator, "sign"), (ball, "maximum"), (resting, "if"), (free, "mod"), (chain, "abs"),
        (oscillator, "floor"),
    )),
    "gusts": (gusts, (
        (pendulum, "gusts"), (double_pendulum, "mixed"), (cart_pole, "kicks"), (slider, "plain"),
        (pendulum, "plain"), (double_pendulum, "kicks"), (cart_pole, "pushes"),
    )),
}  # fmt: skip


def driven(name: str):
    """The generator of a class: (rng, number of the form) -> Case."""
    draw, forms = FORMS[name]

    def drawn(rng: np.random.Generator, form: int) -> Case:
        carrier, writing = forms[form % len(forms)]
        return carrier(rng, lambda rng, span: draw(rng, span, writing)).case(name)

    drawn.forms = len(forms)
    return drawn


# ---- tables


def spring_table(rng: np.random.Generator, writing: str) -> Model:
    """A mass on a spring whose force is a table of its place."""
    s = scale(rng)
    n = int(rng.choice((4, 7)))
    x = [s.length * place for place in places(rng, n, -1.5, 1.5, 0.2)]
    k = s.mass * (uniform(rng, 1.0, 4.0) / s.time) ** 2
    stiffer = [uniform(rng, 0.2, 2.0) for _ in x]
    y = np.concatenate([[0.0], np.cumsum(np.diff(x) * np.array(stiffer[1:]))])
    y = (k * (y - np.interp(0.0, x, y))).tolist()
    q0 = s.length * signed(rng, 0.3, 1.2)
    if writing == "interp":
        curve = lines(x, y)

        def pull(q):
            return np.interp(q, x, y)
    else:
        spline = CubicSpline(x, y) if writing == "cubic" else PchipInterpolator(x, y)
        curve = of_spline(spline)
        q0 = float(np.clip(q0, 0.8 * x[0], 0.8 * x[-1]))

        def pull(q):
            return spline(q)

    soft, weak = k * 0.2, s.mass * uniform(rng, 0.05, 0.3) / s.time
    system = sl.System(M=s.mass, f=lambda t, q, v: [-pull(q[0]) - soft * q[0] - weak * v[0]])
    body = Body([s.mass], lambda t, q, v, c: [-c[0] - soft * q[0] - weak * v[0]], [Term(curve, lambda t, q, v: q[0])])
    return Model(system, body, [q0], [0.0], s.span, f"spring table of {len(x)} knots by {writing}")


KNOTS = 3600


def fine_spline(rng: np.random.Generator) -> Case:
    """A force recorded at 3600 times, smooth between them: its integrals are known exactly."""
    s = scale(rng)
    t = np.linspace(-0.01 * s.span, 1.01 * s.span, KNOTS)
    y = sum(signed(rng, 0.2, 1.0) * np.sin(uniform(rng, 2.0, 30.0) / s.span * t + uniform(rng, 0, 6)) for _ in range(4))
    spline = CubicSpline(t, y)
    strength = s.mass * s.acceleration * uniform(rng, 0.5, 3.0)
    system = sl.System(M=s.mass, f=lambda t, q, v: [strength * spline(t)])
    first, second = spline.antiderivative(1), spline.antiderivative(2)
    a = strength / s.mass

    def motion(t):
        v = a * (first(t) - first(0.0))
        return (a * (second(t) - second(0.0) - first(0.0) * t))[:, None], v[:, None], np.zeros((len(t), 0))

    reference = Reference()
    reference.add(0.0, s.span, motion)
    text = f"mass, cubic spline of {KNOTS} knots"
    return Case("tables", text, system, (0.0, s.span), np.zeros(1), np.zeros(1), reference)


TABLES = (
    lambda rng: free(rng, lambda rng, span: table(rng, span, "interp")).case("tables"),
    lambda rng: oscillator(rng, lambda rng, span: table(rng, span, "cubic")).case("tables"),
    lambda rng: ball(rng, lambda rng, span: table(rng, span, "pchip")).case("tables"),
    lambda rng: spring_table(rng, "interp").case("tables"),
    lambda rng: spring_table(rng, "cubic").case("tables"),
    fine_spline,
    lambda rng: spring_table(rng, "pchip").case("tables"),
    lambda rng: resting(rng, lambda rng, span: table(rng, span, "interp")).case("tables"),
)


def tables(rng: np.random.Generator, form: int) -> Case:
    """Tables of time and of place."""
    return TABLES[form % len(TABLES)](rng)


tables.forms = len(TABLES)
CLASSES = {**{name: driven(name) for name in FORMS}, "tables": tables}
