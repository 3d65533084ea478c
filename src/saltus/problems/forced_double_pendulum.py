"""Double pendulum with a torque at its first joint and damping in both: smooth, M(q), forces of t, q and v."""

from __future__ import annotations

import numpy as np

from saltus.problem import Exact, Problem
from saltus.system import System

from ._reference import SmoothReference
from ._sketches import pendulum

REFERENCE_STEP = 0.02  # [rad] at the fastest of the frequencies and speeds in one step of the reference


def forced_double_pendulum(
    *,
    l1: float = 1.0,
    l2: float = 1.0,
    m1: float = 1.0,
    m2: float = 1.0,
    gravity: float = 1.0,
    damping: float = 0.1,
    amplitude: float = 1.0,
    frequency: float = 1.0,
    q0: tuple[float, float] = (0.7, 0.3),
    v0: tuple[float, float] = (0.3, 1.2),
    t_end: float = 1.5,
) -> Problem:
    """q = angles of the rods from the downward vertical, torque amplitude cos(frequency t) on the first rod.

    l1, l2 [m], m1, m2 [kg], gravity [m/s^2], damping of both joints [N m s], amplitude [N m], frequency [rad/s], q0
    [rad], v0 [rad/s], t_end [s]. The reference is DOP853, computed at first use.
    """
    coupling = m2 * l1 * l2

    def M(q):
        M12 = coupling * np.cos(q[0] - q[1])
        return [[(m1 + m2) * l1**2, M12], [M12, m2 * l2**2]]

    def f(t, q, v):
        gyroscopic = coupling * np.sin(q[0] - q[1])
        elbow = damping * (v[1] - v[0])
        torque = amplitude * np.cos(frequency * t) - damping * v[0]
        return [
            -gyroscopic * v[1] ** 2 - (m1 + m2) * gravity * l1 * np.sin(q[0]) + torque + elbow,
            gyroscopic * v[0] ** 2 - m2 * gravity * l2 * np.sin(q[1]) - elbow,
        ]

    rate = np.sqrt(abs(gravity) / min(l1, l2)) + abs(frequency) + np.abs(v0).max()
    reference = SmoothReference(M, f, q0, v0, t_end, REFERENCE_STEP / rate)
    system = System(M=M, f=f, name="forced_double_pendulum", scene=pendulum((l1, l2)))
    exact = Exact(reference.q, reference.v)
    return Problem(system, (0.0, t_end), q0, v0, exact=exact, name="forced_double_pendulum")
