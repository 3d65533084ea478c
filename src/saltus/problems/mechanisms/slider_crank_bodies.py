"""Slider-crank of Flores, Leine, Glocker (2010) written in bodies and joints: nine coordinates, six joint rows."""

from __future__ import annotations

from saltus.mechanics import Planar
from saltus.problem import Problem


def slider_crank_bodies(
    *,
    l1: float = 0.153,
    l2: float = 0.306,
    a: float = 0.05,
    b: float = 0.025,
    c: float = 0.001,
    m1: float = 0.038,
    m2: float = 0.038,
    m3: float = 0.076,
    J1: float = 7.4e-5,
    J2: float = 5.9e-4,
    J3: float = 2.7e-6,
    gravity: float = 9.81,
    e: float = 0.4,
    mu: float = 0.01,
    pin_clearance: float = 0.0,
    pin_radius: float = 5e-3,
    angle: float = 0.0,
    speed: float = 150.0,
    t_end: float = 0.2,
) -> Problem:
    """q = (x, y, angle) of crank, rod and slider; the same model as `slider_crank`, its start assembled.

    l1, l2 lengths of crank and rod; a, b half length and half height of the slider; c clearance to each side of the
    guide [m]; m1, m2, m3 masses [kg]; J1, J2, J3 inertias about the centres [kg m^2]; gravity [m/s^2]; e, mu [-] of the
    slider in its guide; pin_clearance [m] of the pin between rod and slider, 0 for an ideal one; pin_radius [m]; angle
    [rad] and speed [rad/s] of the crank at the start; t_end [s].
    """
    w = Planar(gravity, name="slider_crank_bodies")
    crank = w.bar(l1, mass=m1, inertia=J1, name="crank")
    rod = w.bar(l2, mass=m2, inertia=J2, name="rod")
    slider = w.body(mass=m3, inertia=J3, name="slider")
    w.revolute(w.ground, crank.start, name="main bearing")
    w.revolute(crank.end, rod.start, name="crank pin")
    friction = mu if pin_clearance > 0.0 else None
    w.revolute(rod.end, slider, clearance=pin_clearance, radius=pin_radius, e=e, mu=friction, name="slider pin")
    w.guide(slider, clearance=c, length=2.0 * a, height=2.0 * b, e=e, mu=mu, name="guide")
    w.start(crank, angle=angle, speed=speed)
    w.start(slider, angle=0.0, speed=0.0)
    return w.problem((0.0, t_end))
