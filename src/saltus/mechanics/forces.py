"""Forces of planar bodies: springs, dampers, bushings, torsion springs, loads, coil springs of several masses.

Two-slot kernels see bodies a and b and return (fx, fy, torque about the centre of mass) [N, N, N m] of both. Anchors
(ax, ay, bx, by) [m] come first in the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from saltus.mechanics.body import place, turned, velocity


def _between(q: Any, p: Any, fx: Any, fy: Any) -> list[list[Any]]:
    """Return the force (fx, fy) on the anchor of b and its opposite on that of a, each with its moment."""
    (xa, ya), (xb, yb) = turned(q[0], p[0], p[1]), turned(q[1], p[2], p[3])
    return [[-fx, -fy, ya * fx - xa * fy], [fx, fy, xb * fy - yb * fx]]


def _stretch(q: Any, v: Any, p: Any) -> tuple[Any, Any, Any, Any]:
    """Return direction, length and rate of length of the way from the anchor of a to that of b."""
    (xa, ya), (xb, yb) = place(q[0], p[0], p[1]), place(q[1], p[2], p[3])
    (ua, va), (ub, vb) = velocity(q[0], v[0], p[0], p[1]), velocity(q[1], v[1], p[2], p[3])
    dx, dy = xb - xa, yb - ya
    length = np.sqrt(dx * dx + dy * dy)
    x, y = dx / length, dy / length
    return x, y, length, x * (ub - ua) + y * (vb - va)


def spring(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Spring and damper along the line of the anchors; p = (anchors, k [N/m], free length [m], c [N s/m])."""
    x, y, length, rate = _stretch(q, v, p)
    pull = p[4] * (length - p[5]) + p[6] * rate
    return _between(q, p, -pull * x, -pull * y)


def bushing(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Springs in the frame of a; p = (anchors, kx, ky [N/m], k_turn [N m/rad], cx, cy, c_turn, angle of b in a)."""
    (xa, ya), (xb, yb) = place(q[0], p[0], p[1]), place(q[1], p[2], p[3])
    (ua, va), (ub, vb) = velocity(q[0], v[0], p[0], p[1]), velocity(q[1], v[1], p[2], p[3])
    dx, dy, spin = xb - xa, yb - ya, v[0][2]
    du, dv = ub - ua + spin * dy, vb - va - spin * dx  # as a sees it
    (ex, ey), (nx, ny) = turned(q[0], 1.0, 0.0), turned(q[0], 0.0, 1.0)
    first = -p[4] * (ex * dx + ey * dy) - p[7] * (ex * du + ey * dv)
    second = -p[5] * (nx * dx + ny * dy) - p[8] * (nx * du + ny * dv)
    fx, fy = first * ex + second * nx, first * ey + second * ny
    turn = -p[6] * (q[1][2] - q[0][2] - p[10]) - p[9] * (v[1][2] - v[0][2])
    made = _between(q, p, fx, fy)
    # the force acts at the anchor of b: on a its moment is that about there
    made[0][2] = made[0][2] - (dx * fy - dy * fx) - turn
    made[1][2] = made[1][2] + turn
    return made


def torsion(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Torsion spring and damper; p = (k [N m/rad], free angle of b in a [rad], c [N m s/rad])."""
    turn = -p[0] * (q[1][2] - q[0][2] - p[1]) - p[2] * (v[1][2] - v[0][2])
    return [[0.0, 0.0, -turn], [0.0, 0.0, turn]]


def steady_load(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Force (p[2], p[3]) [N] of fixed direction at the anchor (p[0], p[1]) and torque p[4] [N m]."""
    x, y = turned(q[0], p[0], p[1])
    return [[p[2], p[3], x * p[3] - y * p[2] + p[4]]]


def steady_torque(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Torque p[0] [N m] on b, its opposite on a."""
    return [[0.0, 0.0, -p[0]], [0.0, 0.0, p[0]]]


def speed_motor(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Torque p[1] (p[0] - speed of b in a), at most p[2] [N m]; p = (speed [rad/s], gain [N m s/rad], limit)."""
    torque = np.clip(p[1] * (p[0] - (v[1][2] - v[0][2])), -p[2], p[2])
    return [[0.0, 0.0, -torque], [0.0, 0.0, torque]]


# ---- functions of the user: a kernel for every function


def given_load(function: Callable) -> Callable:
    """Return the kernel of a load function(t) -> (fx, fy) [N] at the anchor (p[0], p[1])."""

    def load(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
        fx, fy = function(t)
        x, y = turned(q[0], p[0], p[1])
        return [[fx, fy, x * fy - y * fx]]

    return load


def given_torque(function: Callable) -> Callable:
    """Return the kernel of a torque function(t, angle, speed) [N m] on b against a; both are those of b in a."""

    def torque(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
        made = function(t, q[1][2] - q[0][2], v[1][2] - v[0][2])
        return [[0.0, 0.0, -made], [0.0, 0.0, made]]

    return torque


def given_force(function: Callable) -> Callable:
    """Return the kernel of function(t, q, v) -> one (fx, fy, torque) per body, with tuples of states of the bodies."""

    def force(t: Any, q: Any, v: Any, p: Any) -> Any:
        return function(t, q, v)

    return force


# ---- coil spring: masses on a line of the ground, p = (..., stiffness of a part, free length of a part, damping)


def coil(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Part of a coil between two masses on one line."""
    pull = p[0] * (q[1][0] - q[0][0] - p[1]) + p[2] * (v[1][0] - v[0][0])
    return [[pull], [-pull]]


def coil_start(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Part of a coil from the anchor of a body to the first mass.

    p = (part, anchor (x, y), origin and direction of the line on the ground).
    """
    way, rate = _on_line(q[0], v[0], p)
    pull = p[0] * (q[1][0] - way - p[1]) + p[2] * (v[1][0] - rate)
    return [_at_anchor(q[0], p, pull), [-pull]]


def coil_end(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Part of a coil from the last mass to the anchor of a body; p as that of coil_start."""
    way, rate = _on_line(q[1], v[1], p)
    pull = p[0] * (way - q[0][0] - p[1]) + p[2] * (rate - v[0][0])
    return [[pull], _at_anchor(q[1], p, -pull)]


def coil_root(t: Any, q: Any, v: Any, p: Any) -> list[list[Any]]:
    """Part of a coil from a place p[3] of the line [m], held by the ground, to the first mass."""
    return [[-p[0] * (q[0][0] - p[3] - p[1]) - p[2] * v[0][0]]]


def clash_root(t: Any, q: Any, p: Any) -> Any:
    """Gap between the first mass and the place p[3] of the line; p = (length, 0, 0, place)."""
    return q[0][0] - p[3] - p[0]


def clash(t: Any, q: Any, p: Any) -> Any:
    """Gap between two masses of a coil; p = (length at which the windings meet,)."""
    return q[1][0] - q[0][0] - p[0]


def clash_start(t: Any, q: Any, p: Any) -> Any:
    """Gap between the first mass and the anchor; p = (length, 0, 0, anchor, origin, direction)."""
    return q[1][0] - _on_line(q[0], (0.0, 0.0, 0.0), p)[0] - p[0]


def clash_end(t: Any, q: Any, p: Any) -> Any:
    """Gap between the last mass and the anchor."""
    return _on_line(q[1], (0.0, 0.0, 0.0), p)[0] - q[0][0] - p[0]


def _on_line(q: Any, v: Any, p: Any) -> tuple[Any, Any]:
    """Return how far the anchor (p[3], p[4]) is along the line from (p[5], p[6]) to (p[7], p[8]), and its rate."""
    x, y = place(q, p[3], p[4])
    u, w = velocity(q, v, p[3], p[4])
    return p[7] * (x - p[5]) + p[8] * (y - p[6]), p[7] * u + p[8] * w


def _at_anchor(q: Any, p: Any, pull: Any) -> list[Any]:
    """Return the force `pull` along the line on the anchor of a body."""
    x, y = turned(q, p[3], p[4])
    fx, fy = pull * p[7], pull * p[8]
    return [fx, fy, x * fy - y * fx]
