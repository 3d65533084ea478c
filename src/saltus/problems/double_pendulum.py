"""Double pendulum of two point masses (Daniel Bernoulli 1733): smooth motion with a mass matrix M(q)."""

from __future__ import annotations

import numpy as np

from saltus.problem import Exact, Problem
from saltus.system import System

from ._reference import SmoothReference
from ._sketches import pendulum

REFERENCE_STEP = 0.02  # [rad] at the natural frequency sqrt(gravity/shorter rod) in one step of the reference


def double_pendulum(
    *,
    l1: float = 1.0,
    l2: float = 1.0,
    m1: float = 1.0,
    m2: float = 1.0,
    gravity: float = 9.81,
    q0: tuple[float, float] = (1.0, 0.5),
    v0: tuple[float, float] = (0.0, 0.0),
    t_end: float = 3.0,
) -> Problem:
    """q = angles of the rods from the downward vertical; the reference is DOP853, computed at first use.

    l1, l2 [m], m1, m2 [kg], gravity [m/s^2], q0 [rad], v0 [rad/s], t_end [s]. Large swings over long times
    are chaotic: no reference can be exact there.
    """
    coupling = m2 * l1 * l2

    def M(q):
        M12 = coupling * np.cos(q[0] - q[1])
        return [[(m1 + m2) * l1**2, M12], [M12, m2 * l2**2]]

    def f(t, q, v):
        gyroscopic = coupling * np.sin(q[0] - q[1])
        return [
            -gyroscopic * v[1] ** 2 - (m1 + m2) * gravity * l1 * np.sin(q[0]),
            gyroscopic * v[0] ** 2 - m2 * gravity * l2 * np.sin(q[1]),
        ]

    reference = SmoothReference(
        M, lambda q, v: f(0.0, q, v), q0, v0, t_end, REFERENCE_STEP * np.sqrt(min(l1, l2) / gravity)
    )
    system = System(M=M, f=f, name="double_pendulum", scene=pendulum((l1, l2)))
    exact = Exact(reference.q, reference.v)
    return Problem(system, (0.0, t_end), q0, v0, exact=exact, name="double_pendulum")
