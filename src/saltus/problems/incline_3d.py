"""Block sliding across an incline with Coulomb friction: curved path by its hodograph, exact time of the stop."""

from __future__ import annotations

from math import cos, pi, sin, tan

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import block_on_plane

MOST_ITERATIONS = 200  # of a monotone Newton iteration that ends at the last digit


def incline_3d(
    *,
    mass: float = 1.0,
    gravity: float = 9.81,
    alpha: float = 0.3,
    k: float = 1.5,
    e: float = 0.0,
    speed: float = 1.0,
    phi: float = 1.2,
    t_end: float = 1.5,
) -> Problem:
    """q = (x downhill, y across, z normal), mu = k tan(alpha): slows down and turns downhill until it stops.

    It stops at t = speed (k + cos(phi)) / (gravity sin(alpha) (k^2 - 1)).

    mass [kg], gravity [m/s^2] > 0, alpha [rad] in (0, pi/2), k [-] > 1 so that it stops and stays, e [-] (unused: no
    impact), speed [m/s] > 0 at the angle phi [rad] in (0, pi) from downhill, t_end [s]. No velocity jumps.
    """
    if not (0.0 < alpha < pi / 2 and k > 1.0 and speed > 0.0 and 0.0 < phi < pi and gravity > 0.0):
        raise ModelError(
            f"incline_3d needs 0 < alpha < pi/2, k > 1, speed > 0, 0 < phi < pi, gravity > 0: alpha = {alpha}, "
            f"k = {k}, speed = {speed}, phi = {phi}, gravity = {gravity}; for straight slides take sliding_block"
        )
    pull, mu, start = gravity * sin(alpha), k * tan(alpha), tan(phi / 2.0)
    # hodograph: |v| = scale tan(phi/2)^k / sin(phi); all below in powers of z = tan(phi/2)
    scale = 2.0 * speed / (start ** (k - 1.0) * (1.0 + start**2))

    def until_stop(z):
        return scale / (2.0 * pull) * (z ** (k - 1.0) / (k - 1.0) + z ** (k + 1.0) / (k + 1.0))

    t_stop = until_stop(start)

    def direction(t):
        """Solve until_stop(z) = t_stop - t for z: convex in z^(k-1), so Newton from above falls onto the root."""
        left = np.maximum(t_stop - np.asarray(t, float), 0.0) * 2.0 * pull / scale
        power, root = (k + 1.0) / (k - 1.0), (k - 1.0) * left
        for _ in range(MOST_ITERATIONS):
            value = root / (k - 1.0) + root**power / (k + 1.0) - left
            slope = (1.0 + root ** (power - 1.0)) / (k - 1.0)
            closer = np.maximum(root - value / slope, 0.0)
            if np.all(np.abs(closer - root) <= 2e-16 * root):
                break
            root = closer
        return root ** (1.0 / (k - 1.0))

    def travelled(z):
        x = z ** (2 * k - 2) / (2 * k - 2) - z ** (2 * k + 2) / (2 * k + 2)
        y = 2.0 * (z ** (2 * k - 1) / (2 * k - 1) + z ** (2 * k + 1) / (2 * k + 1))
        return scale**2 / (4.0 * pull) * np.stack([x, y, np.zeros_like(x)], axis=-1)

    def position(t):
        return travelled(np.asarray(start)) - travelled(direction(t))

    def velocity(t):
        z = direction(t)
        parts = [1.0 - z**2, 2.0 * z, np.zeros_like(z)]
        return scale / 2.0 * z[..., None] ** (k - 1.0) * np.stack(parts, axis=-1)

    v0 = np.array([speed * cos(phi), speed * sin(phi), 0.0])

    def impulse(t):
        t = np.asarray(t, float)
        gained = mass * (velocity(t) - v0)
        return np.stack([mass * gravity * cos(alpha) * t, gained[..., 0] - mass * pull * t, gained[..., 1]], axis=-1)

    plane = Contact(lambda q: q[2], e=e, mu=mu, slip=lambda t, q, v: [v[0], v[1]], name="incline")
    system = System(
        M=mass,
        f=[mass * pull, 0.0, -mass * gravity * cos(alpha)],
        contacts=[plane],
        name="incline_3d",
        scene=block_on_plane(),
    )
    exact = Exact(position, velocity, impulse)
    return Problem(system, (0.0, t_end), np.zeros(3), v0, exact=exact, name="incline_3d")
