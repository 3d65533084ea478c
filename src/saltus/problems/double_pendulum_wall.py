"""Double pendulum against a vertical wall (parameters our own): M(q), two coupled contacts, elbow and tip."""

from __future__ import annotations

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._sketches import pendulum


def double_pendulum_wall(
    *,
    l1: float = 0.5,
    l2: float = 0.4,
    m1: float = 1.0,
    m2: float = 0.6,
    gravity: float = 9.81,
    damping: float = 0.02,
    wall: float = -0.05,
    e: float = 0.8,
    q0: tuple[float, float] = (-1.2, -0.2),
    v0: tuple[float, float] = (0.0, 0.0),
    t_end: float = 6.0,
) -> Problem:
    """q = angles of the rods from the downward vertical; elbow and tip stay on the left of the wall, x <= wall.

    l1, l2 lengths [m], m1, m2 point masses at elbow and tip [kg], gravity [m/s^2], damping of both pivots (of the
    relative angle in the elbow) [N m s/rad], wall distance from the pivot to the right [m], e of both contacts [-],
    q0 [rad], v0 [rad/s], t_end [s]. Without exact solution. With the defaults 18 impacts of the elbow and 7 of the tip,
    8 ms apart at least, and errors hardly grow. From 6.5 s on the elbow rests on the wall, which lies behind the pivot
    (wall < 0), and the tip goes on bouncing.
    """
    if min(l1, l2, m1, m2) <= 0.0:
        raise ModelError(
            f"double_pendulum_wall needs lengths and masses > 0: l1 = {l1}, l2 = {l2}, m1 = {m1}, m2 = {m2}; "
            "change them"
        )
    elbow, tip = l1 * np.sin(q0[0]), l1 * np.sin(q0[0]) + l2 * np.sin(q0[1])
    if max(elbow, tip) > wall:
        raise ModelError(
            f"double_pendulum_wall starts in the wall: elbow at {elbow:.6g} m, tip at {tip:.6g} m, wall = {wall}; "
            "choose q0 further to the left"
        )
    coupling = m2 * l1 * l2

    def M(q):
        M12 = coupling * np.cos(q[0] - q[1])
        return [[(m1 + m2) * l1**2, M12], [M12, m2 * l2**2]]

    def f(t, q, v):
        gyroscopic = coupling * np.sin(q[0] - q[1])
        inner = damping * (v[0] - v[1])
        return [
            -gyroscopic * v[1] ** 2 - (m1 + m2) * gravity * l1 * np.sin(q[0]) - damping * v[0] - inner,
            gyroscopic * v[0] ** 2 - m2 * gravity * l2 * np.sin(q[1]) + inner,
        ]

    contacts = [
        Contact(lambda q: wall - l1 * np.sin(q[0]), e=e, name="elbow"),
        Contact(lambda q: wall - l1 * np.sin(q[0]) - l2 * np.sin(q[1]), e=e, name="tip"),
    ]
    system = System(
        M=M, f=f, contacts=contacts, name="double_pendulum_wall", scene=pendulum((l1, l2), wall, ("elbow", "tip"))
    )
    return Problem(system, (0.0, t_end), q0, v0, name="double_pendulum_wall")
