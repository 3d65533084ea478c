"""Painleve's rod (Painleve 1895): a slender rod slides on one end; with much friction rigid forces fail to exist."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._sketches import rod_on_floor


def painleve_rod(
    *,
    mass: float = 1.0,
    length: float = 1.0,
    gravity: float = 9.81,
    mu: float = 2.0,
    e: float = 0.0,
    theta0: float = 1.1,
    speed: float = 1.0,
    spin: float = 0.0,
    t_end: float = 0.5,
) -> Problem:
    """q = (x, y, theta) of the centre; the end at x + length/2 cos(theta), y - length/2 sin(theta) slides on y = 0.

    mass [kg], length [m] > 0, gravity [m/s^2], mu, e [-], theta0 [rad] in (0, pi) between rod and floor, speed [m/s] of
    the end along x and spin [rad/s] of the rod at the start, where the end stays on the floor; t_end [s].
    A slip along x at a force r moves the end apart with r (1 + 3 cos(theta)^2 - 3 mu sin(theta) cos(theta))/mass. This
    is negative somewhere iff mu > 4/3 (first at tan(theta) = 2), with mu = 2 for tan(theta) in 3 -+ sqrt(5). There a
    force cannot hold the end: where the rod also falls (length/2 sin(theta) spin^2 < gravity) no force solves the
    equations and an impulse stops the slip without a collision; where it rises several solutions exist. No exact
    solution is known.
    """
    if min(mass, length) <= 0.0 or not 0.0 < theta0 < pi:
        raise ModelError(
            f"painleve_rod needs mass, length > 0 and 0 < theta0 < pi: mass = {mass}, length = {length}, theta0 = "
            f"{theta0}; change them"
        )
    half = length / 2.0

    def gap(q):
        return q[1] - half * np.sin(q[2])

    def slip(t, q, v):
        return v[0] - half * np.sin(q[2]) * v[2]

    floor = Contact(gap, e=e, mu=mu, slip=slip if mu > 0.0 else None, name="end")
    system = System(
        M=[mass, mass, mass * length**2 / 12.0],
        f=[0.0, -mass * gravity, 0.0],
        contacts=[floor],
        name="painleve_rod",
        scene=rod_on_floor(length, turning=-1.0, free=True, contacts=("end",)),
    )
    v0 = [speed + half * sin(theta0) * spin, half * cos(theta0) * spin, spin]
    q0 = [0.0, half * np.sin(theta0), theta0]
    return Problem(system, (0.0, t_end), q0, v0, name="painleve_rod")
