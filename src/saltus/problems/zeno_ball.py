"""Bouncing ball with accumulation of impacts (Schindler, Acary 2014, Problem 4.4), at rest after t = 3 s."""

from __future__ import annotations

from math import sqrt

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._bounces import bounces
from ._sketches import ball


def zeno_ball(
    *,
    mass: float = 1.0,
    gravity: float = 2.0,
    e: float = 0.5,
    q0: float = 1.0,
    v0: float = 0.0,
    t_end: float = 4.0,
) -> Problem:
    """Ball on a floor: parabolas whose launch speeds shrink by e, then rest; i = mass (v - v0 + gravity t).

    mass [kg], gravity [m/s^2] > 0, e [-] in [0, 1], q0 [m] >= 0, v0 [m/s], t_end [s].
    """
    if gravity <= 0.0 or q0 < 0.0:
        raise ModelError(f"zeno_ball needs gravity > 0 and q0 >= 0: gravity = {gravity}, q0 = {q0}; change the sign")
    speed = sqrt(v0**2 + 2.0 * gravity * q0)
    impacts = bounces((v0 + speed) / gravity, speed, e, lambda launch: 2.0 * launch / gravity, t_end)
    starts = impacts.starts()
    launch_q = np.concatenate(([q0], np.zeros(impacts.times.size)))
    launch_v = np.concatenate(([v0], e * impacts.speeds))

    def position(t):
        k = impacts.flight(t)
        tau = t - starts[k]
        arc = launch_q[k] + launch_v[k] * tau - gravity * tau**2 / 2.0
        return np.where(t >= impacts.rest, 0.0, arc)[..., None]

    def velocity(t):
        k = impacts.flight(t)
        arc = launch_v[k] - gravity * (t - starts[k])
        return np.where(t >= impacts.rest, 0.0, arc)[..., None]

    def impulse(t):
        return mass * (velocity(t) - v0 + gravity * np.asarray(t)[..., None])

    system = System(
        M=mass,
        f=-mass * gravity,
        contacts=[Contact(lambda q: q[0], e=e, name="floor")],
        name="zeno_ball",
        scene=ball(way=q0 or 1.0),
    )
    exact = Exact(position, velocity, impulse, jumps=impacts.times)
    return Problem(system, (0.0, t_end), [q0], [v0], exact=exact, name="zeno_ball")
