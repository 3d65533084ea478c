"""Particle on a massless rod as a joint (swing in elliptic functions: Jacobi 1829)."""

from __future__ import annotations

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Joint, System


def rod_pendulum(
    *,
    mass: float = 1.0,
    length: float = 1.0,
    gravity: float = 9.81,
    angle: float = 1.0,
    t_end: float = 2.0,
) -> Problem:
    """q = (x, y), x^2 + y^2 = length^2, released at rest: sin(phi/2) = k cd(omega t) with k = sin(angle/2).

    mass [kg], length [m], gravity [m/s^2], angle from the downward vertical [rad] in (-pi, pi), t_end [s].
    The joint reads (x^2 + y^2 - length^2)/(2 length), so that its unit is m and its multiplier the rod force.
    """
    if abs(angle) >= np.pi:
        raise ModelError(f"rod_pendulum hangs on a rod turned by angle = {angle}; choose |angle| < pi")
    omega = np.sqrt(gravity / length)
    k, k_prime = np.sin(angle / 2.0), np.cos(angle / 2.0)

    def swing(t):
        """Angle and angular velocity."""
        from scipy.special import ellipj  # here, because scipy takes as long to import as all of saltus

        sn, cn, dn, _ = ellipj(omega * np.asarray(t, float), k**2)
        return 2.0 * np.arcsin(k * cn / dn), -2.0 * omega * k * k_prime * sn / dn

    def position(t):
        phi, _ = swing(t)
        return length * np.stack([np.sin(phi), -np.cos(phi)], axis=-1)

    def velocity(t):
        phi, phi_dot = swing(t)
        return length * np.stack([phi_dot * np.cos(phi), phi_dot * np.sin(phi)], axis=-1)

    rod = Joint(lambda q: (q[0] ** 2 + q[1] ** 2 - length**2) / (2.0 * length), name="rod")
    system = System(M=mass, f=[0.0, -mass * gravity], joints=[rod], name="rod_pendulum")
    exact = Exact(position, velocity)
    return Problem(system, (0.0, t_end), position(0.0), [0.0, 0.0], exact=exact, name="rod_pendulum")
