"""Joints with clearance: a journal in its bearing, a pin in a slot, a block in its guide, a rod with play.

The kernels see two slots, a and b, as those of the ideal joints do; bearing, slot and guide belong to a, journal, pin
and block to b. Every contact of a joint is one gap [m], zero where the play to that side is used up, and the slip of b
along the surface of a [m/s].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus.mechanics.body import place, velocity
from saltus.mechanics.joints import across, apart, slide_rate

GUARD = 1e-6  # of the clearance: rounds the tip of |d| at d = 0, moves a closed gap by GUARD^2/2 clearances

# ---- journal; p = (ax, ay, bx, by, clearance, radius of the journal)


def _eccentricity(q: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return the way from the bearing to the journal and its guarded length."""
    (xa, ya), (xb, yb) = place(q[0], p[0], p[1]), place(q[1], p[2], p[3])
    dx, dy = xb - xa, yb - ya
    return dx, dy, np.sqrt(dx * dx + dy * dy + (GUARD * p[4]) ** 2)


def journal(t: Any, q: Any, p: Any) -> Any:
    """Gap between a journal and its bearing."""
    return p[4] - _eccentricity(q, p)[2]


def journal_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    """Slip of the journal in its bearing."""
    dx, dy, reach = _eccentricity(q, p)
    (ua, va), (ub, vb) = velocity(q[0], v[0], p[0], p[1]), velocity(q[1], v[1], p[2], p[3])
    sideways = (dx * (vb - va) - dy * (ub - ua)) / reach
    return sideways + p[5] * v[1][2] - (p[5] + p[4]) * v[0][2]


# ---- pin in a slot; p = (ax, ay, bx, by, direction x, y, clearance, radius of the pin, side): side 1 left, -1 right


def wall(t: Any, q: Any, p: Any) -> Any:
    """Gap between a pin and one wall of its slot."""
    return p[6] - p[8] * across(q, p)


def wall_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    """Slip of the pin along the wall: that of its surface, which turns with it, on the wall, which turns with a."""
    return slide_rate(q, v, p) + p[8] * p[7] * (v[0][2] - v[1][2])


# ---- block in a guide: corner (bx, by) of b; p = (ax, ay, bx, by, direction x, y, half height, clearance, side)


def corner(t: Any, q: Any, p: Any) -> Any:
    """Gap between a corner of a block and one wall of its guide."""
    return (p[6] + p[7]) - p[8] * across(q, p)


def corner_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    """Slip of the corner along the wall."""
    return slide_rate(q, v, p)


# ---- rod with play; p = (ax, ay, bx, by, length, clearance, side): side 1 too long, -1 too short


def rod_end(t: Any, q: Any, p: Any) -> Any:
    """Gap of a rod that may be longer or shorter by its clearance."""
    return p[5] - p[6] * (apart(q, p) - p[4])
