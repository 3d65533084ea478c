"""A circuit breaker in the plane: a spring straightens a toggle and closes the contact; a latch holds its base."""

from __future__ import annotations

from math import pi, radians

from saltus.mechanics import Planar
from saltus.problem import Problem


def circuit_breaker(
    *,
    clearance: float = 5e-5,
    radius: float = 1e-3,
    e: float = 0.2,
    mu: float = 0.1,
    stiffness: float = 500.0,
    free: float = 0.015,
    open_angle: float = 115.0,
    gravity: float = 9.81,
    t_end: float = 0.01,
) -> Problem:
    """Six bars, seven pins, a main spring, a latch, the fixed contact and a back stop; q = (x, y, angle) of each.

    The main spring pulls the knee of the toggle (upper and lower link) down, which turns the arm from open_angle
    [degrees] to 90 degrees, onto the fixed contact. The base of the toggle, the cradle, rests on a latch. All pins are
    journals, or ideal for no clearance: clearance [m], radius [m]; e and mu [-] are those of pins and stops. stiffness
    [N/m] and free length [m] of the main spring, gravity [m/s^2], t_end [s]. Geometry and masses are our own.
    """
    w, mm, g = Planar(gravity, name="circuit_breaker"), 1e-3, 1e-3
    ground, up = w.ground, pi / 2.0
    arm = w.bar(30 * mm, mass=3 * g, width=3 * mm, angle=radians(open_angle), name="arm", colour="firebrick")
    lower = w.bar(11.5 * mm, mass=1 * g, width=2 * mm, angle=-0.9, name="lower")
    upper = w.bar(11.5 * mm, mass=1 * g, width=2 * mm, angle=0.5, name="upper")
    cradle = w.bar(22 * mm, mass=3 * g, width=3 * mm, name="cradle")
    latch = w.bar(18.5 * mm, mass=2 * g, width=3 * mm, name="latch")
    handle = w.bar(15 * mm, mass=5 * g, width=4 * mm, name="handle")
    pins = {
        "arm": (ground, arm.start),
        "arm pin": (arm.centre, lower.end),
        "knee": (lower.start, upper.end),
        "base": (cradle.at(7 * mm, -4 * mm), upper.start),
        "cradle": (ground.at(-40 * mm, 22 * mm), cradle.start),
        "latch": (ground.at(-34.5 * mm, 2 * mm), latch.start),
        "handle": (ground.at(-8 * mm, -20 * mm), handle.start),
    }
    friction = mu if clearance > 0.0 else None
    for name, (a, b) in pins.items():
        stops = (up, None) if name == "latch" else None
        w.revolute(a, b, clearance=clearance, radius=radius, e=e, mu=friction, stops=stops, name=f"{name} pivot")
    w.spring(handle.end, upper.end, k=stiffness, length=free, c=0.1, name="main spring")
    w.torsion_spring(*pins["handle"], k=2.0, angle=up, c=1e-4, name="detent")
    w.torsion_spring(*pins["latch"], k=0.01, angle=radians(60.0), c=1e-6, name="latch spring")
    w.stop(ground.at(1.5 * mm, 0.0), arm.at(14 * mm, -1.5 * mm), normal=(-1, 0), e=e, mu=mu, name="contact")
    w.stop(ground.at(-14 * mm, 27 * mm), arm.at(14 * mm, 1.5 * mm), normal="x", e=e, mu=mu, name="back stop")
    w.stop(latch.end, cradle.at(-5 * mm, -1.5 * mm), normal="x", mu=0.15, name="edge of the latch")
    for body, angle in ((cradle, 0.0), (latch, up), (handle, up), (arm, radians(open_angle))):
        w.start(body, angle=angle, speed=0.0)
    return w.problem((0.0, t_end))
