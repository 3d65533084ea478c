"""Slider-crank with a translational clearance joint (Flores, Leine, Glocker 2010): four corner contacts."""

from __future__ import annotations

import numpy as np

from saltus.problem import Problem
from saltus.system import Contact, System

from ._sketches import slider_crank as sketch


def slider_crank(
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
    q0: tuple[float, float, float] = (0.0, 0.0, 0.0),
    v0: tuple[float, float, float] = (150.0, -75.0, 0.0),
    t_end: float = 0.2,
) -> Problem:
    """q = (crank, rod, slider) angles [rad]; the slider (half sizes a, b) rattles between guides.

    l1, l2 lengths of crank and rod [m], a, b half length and half height of the slider [m], c clearance [m],
    m1, m2, m3 masses [kg], J1, J2, J3 inertias about the centres [kg m^2], gravity [m/s^2], e, mu of all
    corners [-], q0 [rad], v0 [rad/s], t_end [s]. The motion is sensitive: compare the first crank
    revolutions only.
    """
    coupling = (m2 / 2.0 + m3) * l1 * l2
    M11, M22 = J1 + (m1 / 4.0 + m2 + m3) * l1**2, J2 + (m2 / 4.0 + m3) * l2**2
    weight1, weight2 = (m1 / 2.0 + m2 + m3) * gravity * l1, (m2 / 2.0 + m3) * gravity * l2

    def M(q):
        M12 = coupling * np.cos(q[1] - q[0])
        return [[M11, M12, 0.0], [M12, M22, 0.0], [0.0, 0.0, J3]]

    def f(t, q, v):
        gyroscopic = coupling * np.sin(q[0] - q[1])
        return [
            -gyroscopic * v[1] ** 2 - weight1 * np.cos(q[0]),
            gyroscopic * v[0] ** 2 - weight2 * np.cos(q[1]),
            0.0,
        ]

    def corner(along: float, across: float, name: str) -> Contact:
        """Corner (along a, across b) of the slider; across = 1 meets the upper guide, -1 the lower."""

        def gap(q):
            y = l1 * np.sin(q[0]) + l2 * np.sin(q[1]) + along * a * np.sin(q[2]) + across * b * np.cos(q[2])
            return (b + c) - across * y

        def slip(t, q, v):
            arm = along * a * np.sin(q[2]) + across * b * np.cos(q[2])
            return -l1 * np.sin(q[0]) * v[0] - l2 * np.sin(q[1]) * v[1] - arm * v[2]

        return Contact(gap, e=e, mu=mu, slip=slip, name=name)

    corners = [
        corner(-1.0, 1.0, "upper rear"),
        corner(1.0, 1.0, "upper front"),
        corner(-1.0, -1.0, "lower rear"),
        corner(1.0, -1.0, "lower front"),
    ]
    system = System(M=M, f=f, contacts=corners, name="slider_crank", scene=sketch(l1, l2, a, b, c))
    return Problem(system, (0.0, t_end), q0, v0, name="slider_crank")
