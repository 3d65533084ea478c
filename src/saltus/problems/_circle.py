"""Particle that slides on a circle: its angle is a pendulum (angle from the downward vertical)."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, cos, sin, sqrt

import numpy as np

from ._reference import integrate

REFERENCE_STEP = 0.02  # [rad] turned or swung in one step of the reference


def on_circle(radius: float, phi, w) -> tuple[np.ndarray, np.ndarray]:
    """Return q and v for angles [rad] and angular velocities [rad/s]."""
    phi, w = np.asarray(phi, float), np.asarray(w, float)
    q = radius * np.stack([np.sin(phi), -np.cos(phi)], axis=-1)
    return q, (radius * w)[..., None] * np.stack([np.cos(phi), np.sin(phi)], axis=-1)


def admissible(q: np.ndarray, radius: float, side: float) -> np.ndarray:
    """Move a point on the circle by as few roundings as put it on the right side (1 inside, -1 outside)."""
    q = np.array(q, float)
    while side * (radius - np.hypot(q[0], q[1])) < 0.0:
        q *= 1.0 - side * 2.0**-52
    return q


def pressing(radius: float, gravity: float, phi: float, w: float) -> float:
    """Normal force per mass [N/kg] of a circle around the particle; of one below it with the other sign."""
    return radius * w**2 + gravity * cos(phi)


def slide(
    radius: float,
    gravity: float,
    phi: float,
    w: float,
    duration: float,
    *,
    mu: float = 0.0,
    side: float = 1.0,
    event: Callable | None = None,
):
    """Integrate angle, angular velocity and normal impulse per mass; side: 1 inside, -1 outside of the circle.

    phi'' = -gravity/radius sin(phi) - mu sgn(w) r/radius with the normal force per mass r; w must keep its sign
    where mu > 0.
    """
    grip = mu * copysign(1.0, w) / radius

    def rhs(t, y):
        r = side * pressing(radius, gravity, y[0], y[1])
        return [y[1], -gravity / radius * sin(y[0]) - grip * r, r]

    rate = sqrt(gravity / radius) + abs(w)
    return integrate(rhs, [phi, w, 0.0], duration, REFERENCE_STEP / rate, event)
