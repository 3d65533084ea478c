"""Pendulum with viscous damping: smooth, nonlinear, one degree of freedom."""

from __future__ import annotations

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import System

from ._reference import SmoothReference
from ._sketches import pendulum

REFERENCE_STEP = 0.02  # [rad] at the natural frequency or at v0 in one step of the reference


def damped_pendulum(
    *, omega: float = 1.0, damping: float = 0.3, q0: float = 1.2, v0: float = 0.5, t_end: float = 2.0
) -> Problem:
    """q'' = -omega^2 sin(q) - damping q', q from the downward vertical; the reference is DOP853, computed at first use.

    omega [rad/s] > 0 of small swings, damping [1/s], q0 [rad], v0 [rad/s], t_end [s].
    """
    if omega <= 0.0:
        raise ModelError(f"damped_pendulum swings with omega = {omega}; choose omega > 0")

    def f(t, q, v):
        return [-(omega**2) * np.sin(q[0]) - damping * v[0]]

    reference = SmoothReference(lambda q: np.eye(1), f, q0, v0, t_end, REFERENCE_STEP / (omega + abs(v0)))
    system = System(M=1.0, f=f, name="damped_pendulum", scene=pendulum((1.0,)))
    exact = Exact(reference.q, reference.v)
    return Problem(system, (0.0, t_end), [q0], [v0], exact=exact, name="damped_pendulum")
