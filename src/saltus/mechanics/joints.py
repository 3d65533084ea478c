"""Ideal joints of planar bodies: their rows, and the stops and coordinates of joints that still move.

All kernels see two slots, a and b. Joint rows are written "b minus a", so that their multipliers are the force on b.
Data begin with the anchors (ax, ay, bx, by) [m] in the frames of both bodies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus.mechanics.body import place, turned, velocity

# ---- rows


def revolute(t: Any, q: Any, p: Any) -> list[Any]:
    """The anchors coincide: two rows [m]."""
    (xa, ya), (xb, yb) = place(q[0], p[0], p[1]), place(q[1], p[2], p[3])
    return [xb - xa, yb - ya]


def prismatic(t: Any, q: Any, p: Any) -> list[Any]:
    """No way across the axis [m] and no turn [rad]; p = (anchors, direction of the axis in a, angle of b in a)."""
    return [across(q, p), q[1][2] - q[0][2] - p[6]]


def slot(t: Any, q: Any, p: Any) -> list[Any]:
    """The anchor of b stays on a line of a: no way across it [m]; p = (anchors, direction of the line in a)."""
    return [across(q, p)]


def fixed(t: Any, q: Any, p: Any) -> list[Any]:
    """The anchors coincide [m] and b does not turn in a [rad]; p = (anchors, angle of b in a)."""
    (xa, ya), (xb, yb) = place(q[0], p[0], p[1]), place(q[1], p[2], p[3])
    return [xb - xa, yb - ya, q[1][2] - q[0][2] - p[4]]


def distance(t: Any, q: Any, p: Any) -> list[Any]:
    """The anchors are p[4] apart [m]."""
    return [apart(q, p) - p[4]]


def coupling(t: Any, q: Any, p: Any) -> list[Any]:
    """Angles roll on each other: p[0] angle_a + angle_b = p[1] [rad]."""
    return [p[0] * q[0][2] + q[1][2] - p[1]]


def turning(t: Any, q: Any, p: Any) -> list[Any]:
    """b turns in a at a steady speed: angle_b - angle_a = p[0] + p[1] (t - p[2]) [rad]."""
    return [q[1][2] - q[0][2] - (p[0] + p[1] * (t - p[2]))]


def sliding(t: Any, q: Any, p: Any) -> list[Any]:
    """b slides along an axis of a at a steady speed; p = (anchors, direction, way at the start, speed, start)."""
    return [along(q, p) - (p[6] + p[7] * (t - p[8]))]


# ---- coordinates of joints


def along(q: Any, p: Any) -> Any:
    """Return the way of b along the axis of a, whose direction in a is (p[4], p[5])."""
    (xa, ya), (xb, yb) = place(q[0], p[0], p[1]), place(q[1], p[2], p[3])
    x, y = turned(q[0], p[4], p[5])
    return x * (xb - xa) + y * (yb - ya)


def across(q: Any, p: Any) -> Any:
    """Return the way of b across the axis of a, to its left."""
    (xa, ya), (xb, yb) = place(q[0], p[0], p[1]), place(q[1], p[2], p[3])
    x, y = turned(q[0], p[4], p[5])
    return x * (yb - ya) - y * (xb - xa)


def apart(q: Any, p: Any) -> Any:
    """Return the distance of the anchors."""
    (xa, ya), (xb, yb) = place(q[0], p[0], p[1]), place(q[1], p[2], p[3])
    return np.sqrt((xb - xa) ** 2 + (yb - ya) ** 2)


def slide_rate(q: Any, v: Any, p: Any) -> Any:
    """Return the velocity of b along the axis of a, as a sees it."""
    (xa, ya), (xb, yb) = place(q[0], p[0], p[1]), place(q[1], p[2], p[3])
    (ua, va), (ub, vb) = velocity(q[0], v[0], p[0], p[1]), velocity(q[1], v[1], p[2], p[3])
    x, y = turned(q[0], p[4], p[5])
    return x * (ub - ua) + y * (vb - va) + v[0][2] * (x * (yb - ya) - y * (xb - xa))


# ---- stops: gaps of one coordinate, p[-2] the bound, p[-1] +1 for a lower and -1 for an upper one


def turn_stop(t: Any, q: Any, p: Any) -> Any:
    """Gap of a stop of the angle of b in a [rad]; p = (bound, side)."""
    return p[1] * (q[1][2] - q[0][2] - p[0])


def plane_stop(t: Any, q: Any, p: Any) -> Any:
    """Gap of a point of b over a plane of a [m]; p = (anchors, direction of the plane in a, radius of the point).

    Free is the side to the left of the direction.
    """
    return across(q, p) - p[6]


def plane_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    """Slip of the point, round with its radius, along the plane [m/s]."""
    return slide_rate(q, v, p) + p[6] * (v[1][2] - v[0][2])


def slide_stop(t: Any, q: Any, p: Any) -> Any:
    """Gap of a stop of the way along the axis [m]; p = (anchors, direction, bound, side)."""
    return p[7] * (along(q, p) - p[6])
