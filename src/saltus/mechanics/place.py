"""Rough places: bodies without a place of their own are laid at the joints of those that have one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from saltus.mechanics.body import Body
from saltus.mechanics.mechanism import Mechanism, PlanarJoint

if TYPE_CHECKING:
    from saltus.mechanics.assemble import Frame

Pose = tuple[float, float, float]


def rough_places(mechanism: Mechanism, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return rough coordinates and velocities of all planar bodies: given ones, then along the joints.

    From the ground and the bodies with a place outwards, a body is laid so that the points of a joint coincide, at its
    rough angle; that is the given one, that of the joint where it fixes one, else 0.
    """
    poses: dict[Body, Pose] = {mechanism.ground: (0.0, 0.0, 0.0)}
    for body in mechanism.bodies:
        pose = _given(mechanism, body)
        if pose is not None:
            poses[body] = pose
    waiting = [joint for joint in mechanism.joints.values() if joint.kind not in ("coupling", "drive")]
    while waiting:
        ready = [joint for joint in waiting if (joint.a.body in poses) != (joint.b.body in poses)]
        if not ready:
            break
        for joint in ready:
            if (joint.a.body in poses) != (joint.b.body in poses):
                _lay(mechanism, joint, poses)
        waiting = [joint for joint in waiting if not (joint.a.body in poses and joint.b.body in poses)]
    q, v = np.zeros(frame.nq), np.zeros(frame.nq)
    for body in mechanism.bodies:
        first = frame.first[body]
        q[first : first + 3] = poses.get(body, (0.0, 0.0, _angle(mechanism, body)))
    return q, v


def _angle(mechanism: Mechanism, body: Body, otherwise: float = 0.0) -> float:
    """Return the angle of a body that its start or its maker gave."""
    for row in mechanism.start_rows:
        if row.where.body is body and row.axis == 2 and row.value is not None:
            return row.value
    given = body.guess[2]
    return otherwise if given is None else given


def _given(mechanism: Mechanism, body: Body) -> Pose | None:
    """Return the pose of a body whose place is given, in its start or roughly."""
    angle = _angle(mechanism, body)
    c, s = math.cos(angle), math.sin(angle)
    for row in mechanism.start_rows:
        if row.where.body is body and row.axis < 2 and row.value is not None:
            both = {r.axis: r.value for r in mechanism.start_rows if r.where is row.where and r.value is not None}
            x, y = both.get(0, body.guess[0] or 0.0), both.get(1, body.guess[1] or 0.0)
            return (x - c * row.where.x + s * row.where.y, y - s * row.where.x - c * row.where.y, angle)
    x, y = body.guess[0], body.guess[1]
    if x is None or y is None:
        return None
    cx, cy = body.centre_of_mass  # the frame of the shape is what was placed
    return (x + c * cx - s * cy, y + s * cx + c * cy, angle)


def _lay(mechanism: Mechanism, joint: PlanarJoint, poses: dict[Body, Pose]) -> None:
    """Lay the body of a joint that has no place yet so that its point meets that of the other."""
    forward = joint.a.body in poses
    known, new = (joint.a, joint.b) if forward else (joint.b, joint.a)
    x, y, angle = poses[known.body]
    c, s = math.cos(angle), math.sin(angle)
    px, py = x + c * known.x - s * known.y, y + s * known.x + c * known.y
    steady = angle if joint.kind in ("prismatic", "fixed") else 0.0
    turn = _angle(mechanism, new.body, steady)
    c, s = math.cos(turn), math.sin(turn)
    poses[new.body] = (px - c * new.x + s * new.y, py - s * new.x - c * new.y, turn)
