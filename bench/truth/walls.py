"""Classes of walls that move, bend or kink: cams with dwell, bumps, hills in flight, kinked and repeated roads."""

from __future__ import annotations

import numpy as np
from carriers import Model
from curves import (
    ZERO,
    Curve,
    added,
    between,
    cosine,
    cubed,
    lines,
    marked_bell,
    polynomial,
)  # fmt: skip
from drawing import Scale, log_uniform, places, scale, signed, uniform
from drives import waved
from hybrid import Body, Wall
from judge import Case

import saltus as sl


def cycloid(at: float, length: float, low: float, high: float):
    """The cam's cycloid from low to high."""
    rise, omega = high - low, 2.0 * np.pi / length
    line = polynomial(at, low, rise / length)
    return added(line, cosine(-rise / (2.0 * np.pi), omega, -omega * at - np.pi / 2.0))


def quintic(at: float, length: float, low: float, high: float):
    """The 3-4-5 polynomial from low to high."""
    rise = high - low
    return polynomial(at, low, 0.0, 0.0, 10.0 * rise / length**3, -15.0 * rise / length**4, 6.0 * rise / length**5)


def harmonic(at: float, length: float, low: float, high: float):
    """Half a cosine from low to high."""
    omega = np.pi / length
    return cosine(-(high - low) / 2.0, omega, -omega * at, (high + low) / 2.0)


# what users write for the three, z from 0 to 1
WRITTEN = {
    cycloid: lambda z: z - np.sin(2.0 * np.pi * z) / (2.0 * np.pi),
    quintic: lambda z: z**3 * (10.0 - 15.0 * z + 6.0 * z * z),
    harmonic: lambda z: 0.5 - 0.5 * np.cos(np.pi * z),
}


def rise_and_fall(a: float, b: float, c: float, d: float, height: float, law, writing: str):
    """Zero, a rise from a to b, dwell, a fall from c to d, zero: curve and function."""
    up, down = law(a, b - a, 0.0, height), law(c, d - c, height, 0.0)
    curve = Curve((a, b, c, d), (ZERO, up, polynomial(0.0, height), down, ZERO))
    shape = WRITTEN[law]

    def chosen(x):
        if x <= a or x >= d:
            return 0.0
        if x < b:
            return height * shape((x - a) / (b - a))
        if x <= c:
            return height
        return height * (1.0 - shape((x - c) / (d - c)))

    def where(x):
        falling = np.where(x < d, height * (1.0 - shape((x - c) / (d - c))), 0.0)
        risen = np.where(x < c, height, falling)
        return np.where(x < a, 0.0, np.where(x < b, height * shape((x - a) / (b - a)), risen))

    return curve, chosen if writing == "if" else where


# ---- cams


def follower(rng, s: Scale, curve: Curve, wall, e: float, gravity: float, text: str) -> Model:
    """A mass that a spring and its weight press onto a moving wall."""
    m, weight = s.mass, s.mass * gravity
    k, c = m * (uniform(rng, 0.0, 3.0) / s.time) ** 2, m * uniform(rng, 0.0, 0.3) / s.time
    system = sl.System(
        M=m, f=lambda t, q, v: [-weight - k * q[0] - c * v[0]], contacts=[sl.Contact(lambda t, q: q[0] - wall(t), e=e)]
    )
    body = Body([m], lambda t, q, v, x: [-weight - k * q[0] - c * v[0]], [], [Wall((1.0,), e, curve)])
    cell = curve.cell(0.0)
    height, slope, _ = (float(x) for x in curve.pieces[cell](0.0))
    return Model(system, body, [height], [slope], s.span, text)


CAMS = (
    ("cycloid where", 0.0, True), ("quintic if", 0.0, False), ("interp", 0.0, False), ("maximum", 0.2, True),
    ("harmonic where", 0.4, False), ("interp", 0.5, True), ("cycloid if", 0.5, True),
)  # fmt: skip


def cams(rng: np.random.Generator, form: int) -> Case:
    """A follower that rests on a cam with dwell; it is lifted, may fly and fall back, and bounces where e > 0."""
    writing, restitution, periodic = CAMS[form % len(CAMS)]
    s = scale(rng)
    e = restitution * uniform(rng, 0.7, 1.3)
    turns = uniform(rng, 1.5, 4.0) if periodic else 1.0
    period = s.span / turns
    height = s.length * uniform(rng, 0.1, 1.0)
    if writing == "maximum":
        level, omega, phase = uniform(rng, 0.0, 0.7), 2.0 * np.pi / period, -uniform(rng, 1.8, 3.4)
        one = 1.0 - level
        root = np.cbrt(height) / one
        curve = waved(s.span, omega, phase, level, cubed(cosine(root, omega, phase, -level * root)), ZERO)

        def wall(t):
            return height * np.maximum((np.cos(omega * t + phase) - level) / one, 0.0) ** 3

        quick = 6.0 * height * (omega / one) ** 2
    else:
        a, b, c, d = places(rng, 4, 0.0, period, 0.05 * period)
        quick = 6.0 * height / min(b - a, d - c) ** 2
        if writing == "interp":
            x, y = [a, b, c, d], [0.0, height, height, 0.0]
            curve = lines(x, y)

            def shape(x_now):
                return np.interp(x_now, x, y)
        else:
            law = {"cycloid": cycloid, "quintic": quintic, "harmonic": harmonic}[writing.split()[0]]
            curve, shape = rise_and_fall(a, b, c, d, height, law, writing.split()[1])
        if periodic:
            curve = curve.repeated(period, 0, int(turns) + 1)

            def wall(t):
                return shape(np.mod(t, period))
        else:
            wall = shape
    gravity = quick * uniform(rng, 0.2, 1.5)
    text = f"cam by {writing}, e {'> 0' if e else '= 0'}{', turning' if periodic else ''}"
    return follower(rng, s, curve, wall, e, gravity, text).case("cams")


cams.forms = len(CAMS)


NARROWEST = 1.5e-3  # of the way: half a bump; a bell of that has a thousandth of the way at half of its height

# ---- profiles over a length, for bumps and hills


def profile(rng, writing: str, middle: float, half: float, height: float):
    """A bump around `middle`, zero (or nearly so) beyond `half`: curve and function."""
    a, b = middle - half, middle + half
    if writing == "gauss":
        width = half / 2.5
        return marked_bell(height, middle, width), lambda x: height * np.exp(-(((x - middle) / width) ** 2))
    if writing in ("cosine where", "cosine if"):
        omega = np.pi / half
        curve = between(a, b, cosine(height / 2.0, omega, -omega * middle, height / 2.0))

        def shape(x):
            return height * np.cos(0.5 * np.pi * (x - middle) / half) ** 2

        def chosen(x):
            if a < x < b:
                return shape(x)
            return 0.0

        return curve, chosen if writing.endswith("if") else lambda x: np.where((x > a) & (x < b), shape(x), 0.0)
    if writing == "clip":  # height (1 - z^2)^2 with z = (x - middle) / half
        bend = polynomial(middle, height, 0.0, -2.0 * height / half**2, 0.0, height / half**4)
        return between(a, b, bend), lambda x: height * (1.0 - np.clip((x - middle) / half, -1.0, 1.0) ** 2) ** 2
    if writing == "plateau":
        flat = half * uniform(rng, 0.1, 0.6)
        x, y = [a, middle - flat, middle + flat, b], [0.0, height, height, 0.0]
        return lines(x, y), lambda place: np.interp(place, x, y)
    x, y = [a, middle, b], [0.0, height, 0.0]
    slope = height / half
    function = {
        "tent interp": lambda place: np.interp(place, x, y),
        "tent maximum": lambda place: np.maximum(height - slope * np.abs(place - middle), 0.0),
    }[writing]
    return lines(x, y), function


def bead(s: Scale, curve: Curve, road, e: float, gravity: float, q0, v0, text: str) -> Model:
    """A particle over a road z = road(x)."""
    m, weight = s.mass, s.mass * gravity
    system = sl.System(M=[m, m], f=[0.0, -weight], contacts=[sl.Contact(lambda q: q[1] - road(q[0]), e=e)])
    body = Body([m, m], lambda t, q, v, c: [0.0, -weight], [], [Wall((0.0, 1.0), e, curve, over=0)])
    return Model(system, body, list(q0), list(v0), s.span, text)


BUMPS = (
    ("bead", "gauss"), ("bead", "cosine where"), ("wheel", "gauss"), ("bead", "plateau"), ("wheel", "cosine if"),
    ("bead", "clip"), ("wheel", "clip"),
)  # fmt: skip


def bumps(rng: np.random.Generator, form: int) -> Case:
    """A bead or a sprung wheel rides on a road (contact closed) and meets a bump, from narrow to wide."""
    kind, writing = BUMPS[form % len(BUMPS)]
    s = scale(rng)
    speed = s.speed * uniform(rng, 0.5, 2.0)
    way = speed * s.span
    half = way * log_uniform(rng, NARROWEST, 0.15)
    middle = uniform(rng, 0.1 * way + 4.0 * half, 0.9 * way - half)
    height = half * log_uniform(rng, 0.02, 0.3)
    gravity = speed**2 * height / half**2 * log_uniform(rng, 0.5, 20.0)
    curve, road = profile(rng, writing, middle, half, height)
    text = f"{kind} over a bump, {writing}"
    if kind == "bead":
        h, slope, _ = (float(x) for x in curve.pieces[curve.cell(0.0)](0.0))
        return bead(s, curve, road, 0.0, gravity, (0.0, h), (speed, slope * speed), text).case("bumps")
    # the wheel is driven at constant speed: the road is a function of time
    moved = profile(np.random.default_rng(0), writing, middle / speed, half / speed, height)[0]
    e = 0.0 if rng.random() < 0.6 else uniform(rng, 0.2, 0.6)
    return follower(rng, s, moved, lambda t: road(speed * t), e, gravity, text).case("bumps")


bumps.forms = len(BUMPS)
HILLS = (
    ("gauss", False), ("tent interp", False), ("cosine where", True), ("gauss", True), ("tent maximum", True),
    ("cosine if", False), ("plateau", False),
)  # fmt: skip


def hills(rng: np.random.Generator, form: int) -> Case:
    """A particle in free flight, with or without gravity, against a narrow hill or just over it."""
    writing, falls = HILLS[form % len(HILLS)]
    s = scale(rng)
    speed = s.speed * uniform(rng, 0.5, 2.0)
    way = speed * s.span
    half = way * log_uniform(rng, NARROWEST, 0.1)
    middle = uniform(rng, 0.1 * way + 3.0 * half, 0.9 * way)
    height = half * log_uniform(rng, 0.5, 30.0)
    e = uniform(rng, 0.3, 0.9)
    level = height * (uniform(rng, 0.3, 0.9) if rng.random() < 0.8 else uniform(rng, 1.1, 1.5))
    gravity = 0.0
    arrival = middle / speed
    up = level / s.span * uniform(rng, -0.2, 0.2)
    if falls:  # thrown so that it would pass the hill at that level
        gravity = 2.0 * level / arrival**2 * uniform(rng, 0.3, 3.0)
        up = gravity * arrival / 2.0
    curve, road = profile(rng, writing, middle, half, height)
    text = f"flight against a hill, {writing}{', with weight' if falls else ''}"
    return bead(s, curve, road, e, gravity, (0.0, level), (speed, up), text).case("hills")


hills.forms = len(HILLS)

# ---- kinked gaps

KINKED = ("valley abs", "two maximum", "road interp", "road if", "table abs", "roof minimum", "slide interp")


def kinked(rng: np.random.Generator, form: int) -> Case:
    """Balls on walls of straight pieces: valleys, roofs, polygons, kicked tables."""
    writing = KINKED[form % len(KINKED)]
    s = scale(rng)
    gravity = s.acceleration * uniform(rng, 1.0, 5.0)
    e = uniform(rng, 0.3, 0.9)
    reach = s.length
    if writing == "table abs":
        height, omega, phase = reach * uniform(rng, 0.05, 0.3), uniform(rng, 1.0, 3.0) / s.time, uniform(rng, 0.2, 2.9)
        up, down = cosine(height, omega, phase), cosine(-height, omega, phase)
        curve = waved(s.span, omega, phase, 0.0, up, down)
        m, weight = s.mass, s.mass * gravity
        system = sl.System(
            M=m, f=[-weight],
            contacts=[sl.Contact(lambda t, q: q[0] - height * np.abs(np.cos(omega * t + phase)), e=e)],
        )  # fmt: skip
        body = Body([m], lambda t, q, v, c: [-weight], [], [Wall((1.0,), e, curve)])
        start = [height + reach * uniform(rng, 0.1, 1.0)]
        return Model(system, body, start, [0.0], s.span, "ball on a kicked table by abs").case("kinked")
    x0 = reach * signed(rng, 0.05, 0.5)
    if writing == "valley abs":
        slope = uniform(rng, 0.1, 0.6)
        curve = lines([x0 - reach, x0, x0 + reach], [slope * reach, 0.0, slope * reach], ends=False)

        def road(x):
            return slope * np.abs(x - x0)
    elif writing in ("two maximum", "roof minimum"):
        one, two = sorted((uniform(rng, -0.5, 0.1), uniform(rng, 0.15, 0.6)), reverse=writing.startswith("roof"))
        curve = lines([x0 - reach, x0, x0 + reach], [-one * reach, 0.0, two * reach], ends=False)
        b1, b2 = -one * x0, -two * x0
        if writing.startswith("two"):

            def road(x):
                return np.maximum(one * x + b1, two * x + b2)
        else:

            def road(x):
                return np.minimum(one * x + b1, two * x + b2)
    else:
        n = int(rng.choice((4, 6)))
        x = [reach * place for place in places(rng, n, -2.0, 4.0, 0.4)]
        y = [reach * uniform(rng, -0.2, 0.2) for _ in x]
        if writing == "road if":
            x, y = x[:3], y[:3]
            a, b, c = x
            ya, yb, yc = y

            def road(place):
                if place < a:
                    return ya
                if place < b:
                    return ya + (yb - ya) * (place - a) / (b - a)
                if place < c:
                    return yb + (yc - yb) * (place - b) / (c - b)
                return yc
        else:

            def road(place):
                return np.interp(place, x, y)

        curve = lines(x, y)
    z0 = float(curve(np.array([0.0]))[0])
    if writing == "slide interp":
        slope = float(curve.pieces[curve.cell(0.0)](0.0)[1])
        v = s.speed * uniform(rng, 0.3, 1.5)
        model = bead(s, curve, road, 0.0, gravity, (0.0, z0), (v, v * slope), "bead slides on a polygon by np.interp")
        return model.case("kinked")
    start = (0.0, z0 + reach * uniform(rng, 0.1, 1.0))
    v = s.speed * signed(rng, 0.05, 1.0), 0.0
    return bead(s, curve, road, e, gravity, start, v, f"ball on {writing}").case("kinked")


kinked.forms = len(KINKED)

# ---- roads that repeat

REPEATED = (("wheel", "cosine where"), ("wheel", "saw"), ("bead", "cosine if"), ("wheel", "clip"), ("bead", "clip"))


def repeated(rng: np.random.Generator, form: int) -> Case:
    """A road that repeats itself by mod: washboards and saw teeth, under a wheel or a bead."""
    kind, writing = REPEATED[form % len(REPEATED)]
    s = scale(rng)
    speed = s.speed * uniform(rng, 0.5, 2.0)
    teeth = uniform(rng, 1.5, 6.0)
    period = speed * s.span / teeth
    shift = uniform(rng, 0.02, 0.1) * period  # the start lies on a flat part
    half = period * uniform(rng, 0.1, 0.35)
    middle = uniform(rng, half + 0.05 * period, 0.88 * period - half)
    height = half * log_uniform(rng, 0.03, 0.3)
    gravity = speed**2 * height / half**2 * log_uniform(rng, 0.5, 10.0)
    if writing == "saw":
        slope = height / half
        curve = Curve((period / 2.0,), (polynomial(0.0, 0.0, slope), polynomial(period, 0.0, -slope)))

        def tooth(x):
            return slope * np.minimum(x, period - x)
    else:
        curve, tooth = profile(rng, writing, middle, half, height)
    text = f"{kind} on a repeated road, {writing}"
    e = 0.0 if rng.random() < 0.6 else uniform(rng, 0.2, 0.5)
    if kind == "bead":
        whole = curve.repeated(period, -1, int(teeth) + 2)

        def road(x):
            return tooth(np.mod(x, period))

        return bead(s, whole, road, 0.0, gravity, (shift, 0.0), (speed, 0.0), text).case("repeated")
    whole = _in_time(curve.repeated(period, 0, int(teeth) + 2), speed, shift)
    return follower(rng, s, whole, lambda t: tooth(np.mod(speed * t + shift, period)), e, gravity, text).case(
        "repeated"
    )


def _in_time(curve: Curve, speed: float, shift: float) -> Curve:
    """curve(speed t + shift) as a curve of t > 0."""

    def piece(old):
        def made(t):
            c, slope, curvature = old(speed * t + shift)
            return c, speed * slope, speed**2 * curvature

        return made

    knots = [(knot - shift) / speed for knot in curve.knots]
    return Curve(tuple(knots), tuple(piece(old) for old in curve.pieces))


repeated.forms = len(REPEATED)
CLASSES = {"cams": cams, "bumps": bumps, "hills": hills, "kinked": kinked, "repeated": repeated}
