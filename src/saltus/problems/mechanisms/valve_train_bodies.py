"""Valve train in bodies: dwell cam, worn rocker, valve, coil spring of eight masses that clash."""

from __future__ import annotations

from math import pi

from saltus.mechanics import Cam, Circle, DwellLift, Planar, Plane
from saltus.problem import Problem


def valve_train_bodies(
    *,
    speed: float = 300.0,
    lift: float = 0.005,
    lash: float = 1e-4,
    clearance: float = 3e-5,
    stiffness: float = 4.0e4,
    spring_mass: float = 0.05,
    masses: int = 8,
    e: float = 0.3,
    mu: float = 0.05,
    t_end: float = 0.03,
) -> Problem:
    """q = (x, y, angle) of cam, rocker and valve, then the ways of the masses of the spring; parameters our own.

    Twelve degrees of freedom with eight masses: the cam turns at a given speed, the rocker has play in its bearing, the
    valve slides. Fourteen contacts: flat of the rocker on the cam, its tip on the valve, its journal, seat and stop of
    the valve, and nine pairs of windings. speed of the cam [rad/s], lift of the cam [m], lash between the closed valve
    and its rocker [m], clearance of its bearing, radial [m], stiffness [N/m] and spring_mass [kg] of the spring, masses
    that it is made of [-], e, mu [-] of cam and tip, t_end [s]. The nose of the cam comes half a turn after the start.
    """
    w = Planar(9.81, name="valve_train_bodies")
    law = DwellLift(lift, rise=(pi - 1.3, pi - 0.05), fall=(pi + 0.05, pi + 1.3))
    cam = w.body(Cam(lambda angle: law(angle - pi / 2.0), base=0.02), mass=0.4, name="cam")
    flat = Plane(at=(-0.035, -0.002), angle=pi)  # it looks down at the cam
    tip = Circle(0.006, at=(0.035, 0.0))
    rocker = w.body([flat, tip], mass=0.06, inertia=3e-5, at=(0.035, 0.022 + lash / 2.0), angle=0.0, name="rocker")
    valve = w.body(Plane(), mass=0.07, inertia=1e-5, at=(0.07, 0.016), name="valve")
    w.revolute(w.ground, cam.axis, name="camshaft")
    w.drive(cam, speed=speed, name="drive")
    w.start(cam, angle=0.0)
    w.revolute(
        w.ground.at(0.035, 0.022 + lash / 2.0), rocker.at(0.0, 0.0), clearance=clearance, radius=0.006, e=e, mu=mu,
        name="bearing",
    )  # fmt: skip
    w.start(rocker, angle=0.0)
    w.prismatic(w.ground.at(0.07, 0.016), valve.at(0.0, 0.0), axis="y", stops=(-0.012, 0.0), stop_e=e, name="guide")
    w.start(valve, at=(None, 0.016))
    w.contact(cam, rocker.shape(0), e=e, mu=mu, name="cam contact")
    w.contact(rocker.shape(1), valve, e=e, mu=mu, name="tip contact")
    w.coil_spring(
        w.ground.at(0.07, -0.034), valve.at(0.0, -0.01), k=stiffness, length=0.05, mass=spring_mass, masses=masses,
        axis="y", c=1.0, solid=0.034, e=e, name="spring",
    )  # fmt: skip
    return w.problem((0.0, t_end))
