"""Valve train turned too fast (parameters our own): the follower leaves the cam, the valve bounces on its seat."""

from __future__ import annotations

from math import pi

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System


def valve_train(
    *,
    engine_speed: float = 6000.0,
    lift: float = 0.009,
    sharpness: int = 12,
    follower_mass: float = 0.08,
    valve_mass: float = 0.09,
    coil_mass: float = 0.03,
    link_stiffness: float = 2.5e6,
    link_damping: float = 60.0,
    spring_stiffness: float = 3.0e4,
    spring_damping: float = 3.0,
    spring_preload: float = 300.0,
    return_stiffness: float = 2.0e3,
    return_preload: float = 60.0,
    e_cam: float = 0.3,
    e_seat: float = 0.4,
    t_end: float = 0.04,
) -> Problem:
    """q = (follower, valve, middle of the valve spring): lifts [m] from the closed valve on the base circle.

    The cam turns at half the engine speed and lifts by lift cos(angle/2)^(2 sharpness), smooth everywhere; the nose
    comes half a turn after the start. Follower (tappet, push rod and rocker, reduced to the valve) and valve are
    joined by a linear spring-damper, the elastic train without lash. The valve spring is two halves with a mass
    between them, so that it surges; a light spring keeps the follower on the cam while the valve is closed.

    engine_speed of the crankshaft [rev/min], lift of the cam [m], sharpness [-]; follower_mass and valve_mass [kg],
    coil_mass of the first surge of the spring [kg]; link_stiffness [N/m] and link_damping [N s/m] of the train;
    spring_stiffness [N/m], spring_damping of each half [N s/m], spring_preload at the seat [N]; return_stiffness
    [N/m], return_preload [N] of the follower's spring; e_cam, e_seat [-]; t_end [s]. Without exact solution.

    With the defaults, two turns of the cam, the follower leaves the cam near every nose and lands hard, and the valve
    bounces on its seat: 24 impacts faster than 0.1 m/s, six releases, six accumulations. Each contact acts on a mass of
    its own, so the motion depends continuously on the data also where two impacts fall together. Up to 4500 rev/min
    the follower stays on the cam.
    """
    masses = [follower_mass, valve_mass, coil_mass]
    if min(masses) <= 0.0 or sharpness < 1 or int(sharpness) != sharpness:
        raise ModelError(
            f"valve_train needs masses > 0 and a whole sharpness >= 1: follower_mass = {follower_mass}, valve_mass = "
            f"{valve_mass}, coil_mass = {coil_mass}, sharpness = {sharpness}; change them"
        )
    omega = engine_speed * pi / 60.0
    power = 2 * int(sharpness)

    def cam(t):
        return lift * np.sin(0.5 * omega * t) ** power  # the base circle's middle is where the run starts

    def f(t, q, v):
        link = link_stiffness * (q[0] - q[1]) + link_damping * (v[0] - v[1])
        upper = 2.0 * spring_stiffness * (q[1] - q[2]) + spring_damping * (v[1] - v[2]) + spring_preload
        lower = 2.0 * spring_stiffness * q[2] + spring_damping * v[2] + spring_preload
        return [-return_preload - return_stiffness * q[0] - link, link - upper, upper - lower]

    contacts = [
        Contact(lambda t, q: q[0] - cam(t), e=e_cam, name="cam"),
        Contact(lambda q: q[1], e=e_seat, name="seat"),
    ]
    system = System(M=masses, f=f, contacts=contacts, name="valve_train")
    return Problem(system, (0.0, t_end), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], name="valve_train")
