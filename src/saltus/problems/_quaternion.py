"""Unit quaternions q = (w, x, y, z) that turn body into world coordinates; for traced and plain numbers."""

from __future__ import annotations

import numpy as np


def rate(q, omega):
    """q' = q * (0, omega)/2 with the angular velocity omega in body coordinates [rad/s]."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    ox, oy, oz = omega[0], omega[1], omega[2]
    return [
        -0.5 * (x * ox + y * oy + z * oz),
        0.5 * (w * ox + y * oz - z * oy),
        0.5 * (w * oy + z * ox - x * oz),
        0.5 * (w * oz + x * oy - y * ox),
    ]


def rotate(q, arm):
    """World coordinates of a body vector."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    ax, ay, az = arm[0], arm[1], arm[2]
    return [
        (1.0 - 2.0 * (y * y + z * z)) * ax + 2.0 * (x * y - w * z) * ay + 2.0 * (x * z + w * y) * az,
        2.0 * (x * y + w * z) * ax + (1.0 - 2.0 * (x * x + z * z)) * ay + 2.0 * (y * z - w * x) * az,
        2.0 * (x * z - w * y) * ax + 2.0 * (y * z + w * x) * ay + (1.0 - 2.0 * (x * x + y * y)) * az,
    ]


def normalised(q):
    """The unit quaternion nearest to q."""
    norm = np.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return [q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm]


def cross(left, right):
    """Vector product of two triples."""
    return [
        left[1] * right[2] - left[2] * right[1],
        left[2] * right[0] - left[0] * right[2],
        left[0] * right[1] - left[1] * right[0],
    ]
