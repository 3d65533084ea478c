"""Four-bar linkage with one clearance joint written in bodies and joints (joint model: Ravn 1998)."""

from __future__ import annotations

from saltus.mechanics import Planar
from saltus.problem import Problem


def four_bar_bodies(
    *,
    crank: float = 0.05,
    coupler: float = 0.12,
    rocker: float = 0.10,
    ground: float = 0.14,
    masses: tuple[float, float, float] = (0.1, 0.25, 0.2),
    clearance: float = 2e-4,
    journal: float = 5e-3,
    gravity: float = 9.81,
    torque: float = 0.05,
    angle: float = 0.6,
    speed: float = 20.0,
    e: float = 0.5,
    mu: float = 0.1,
    t_end: float = 0.5,
) -> Problem:
    """q = (x, y, angle) of three bars; the same model as `four_bar`, its start assembled.

    crank, coupler, rocker, ground lengths [m]; masses of the bars [kg]; clearance of the pin between coupler and rocker
    [m], 0 for an ideal one; journal radius [m]; gravity [m/s^2]; torque on the crank [N m]; angle [rad] and speed
    [rad/s] of the crank at the start; e and mu [-]; t_end [s].
    """
    w = Planar(gravity, name="four_bar_bodies")
    lengths, names, angles = (crank, coupler, rocker), ("crank", "coupler", "rocker"), (angle, 0.5, 1.5)
    first, second, third = (
        w.bar(length, mass=mass, inertia=mass * length**2 / 12.0, angle=turn, name=name)
        for length, mass, name, turn in zip(lengths, masses, names, angles, strict=True)
    )
    w.revolute(w.ground, first.start, name="crank pin")
    w.revolute(first.end, second.start, name="coupler pin")
    w.revolute(w.ground.at(ground, 0.0), third.start, name="rocker pin")
    friction = mu if clearance > 0.0 else None
    w.revolute(third.end, second.end, clearance=clearance, radius=journal, e=e, mu=friction, name="journal")
    w.motor(first, torque=torque, name="torque")
    w.start(first, angle=angle, speed=speed)
    return w.problem((0.0, t_end))
