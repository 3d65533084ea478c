"""Drives: motions that are prescribed, as rows of joints, and ramps of speed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import ModelError
from saltus.mechanics import joints
from saltus.mechanics.body import number_of
from saltus.mechanics.rows import JointRow

if TYPE_CHECKING:
    from saltus.mechanics.mechanism import PlanarJoint


@dataclasses.dataclass(frozen=True)
class Ramp:
    """A speed that goes from `first` to `last` [rad/s or m/s] during `duration` [s] from `begin` [s] on, and stays."""

    first: float
    last: float
    duration: float
    begin: float = 0.0

    def __post_init__(self):
        if not number_of(self.duration, "duration of a ramp") > 0.0:
            raise ModelError(f"duration of a ramp is {self.duration}: it must be positive [s]")

    def __call__(self, t: Any) -> Any:
        """Return the way [rad or m] since `begin`."""
        since = t - self.begin
        during, after = np.clip(since, 0.0, self.duration), np.maximum(since - self.duration, 0.0)
        gain = (self.last - self.first) / self.duration
        return self.first * (since - after) + 0.5 * gain * during**2 + self.last * after


def ramp(first: float, last: float, duration: float, begin: float = 0.0) -> Ramp:
    """Return a speed for `drive`, from `first` to `last` [rad/s or m/s] during `duration` [s] from `begin` on."""
    return Ramp(first, last, duration, begin)


def angle_row(joint: PlanarJoint, speed: Any, angle: Callable | None) -> JointRow:
    """Return the row that prescribes the angle of b in a [rad]."""
    return _row(joint, speed, angle, joints.turning, (), lambda q: q[1][2] - q[0][2], joints_turn)


def way_row(joint: PlanarJoint, speed: Any, way: Callable | None) -> JointRow:
    """Return the row that prescribes the way of b along the axis of a [m]."""
    p = (*joint.anchors, *joint.axis)
    return _row(joint, speed, way, joints.sliding, p, lambda q: joints.along(q, p), joints.along)


def joints_turn(q: Any, p: Any) -> Any:
    """Return the angle of b in a."""
    return q[1][2] - q[0][2]


def _row(
    joint: PlanarJoint, speed: Any, function: Callable | None, steady: Callable, p: tuple, here: Callable,
    coordinate: Callable,
) -> JointRow:  # fmt: skip
    """Return the row of a steady speed, of a ramp, or of a function of time."""
    if function is None and not callable(speed):
        number_of(speed, f"speed of {joint.name!r}")
        late = (len(p), lambda t, q: here(q))
        # the start of the run, where the place of the start holds, is 0 until the problem knows it
        return JointRow(
            name=joint.name, constraint=steady, size=1, bodies=joint.bodies, p=(*p, 0.0, speed, 0.0), late=late,
            since=len(p) + 2,
        )  # fmt: skip
    given: Callable = speed if function is None else function  # pyright: ignore[reportAssignmentType]
    if not callable(given):
        raise ModelError(f"the motion of {joint.name!r} is {given!r}: give a function of time, like lambda t: 0.1 * t")

    def prescribed(t: Any, q: Any, p: Any) -> list[Any]:
        return [coordinate(q, p) - p[-1] - given(t)]

    if function is None:  # a ramp goes on from the place of the start
        late = (len(p), lambda t, q: here(q) - float(given(t)))
        return JointRow(
            name=joint.name, constraint=prescribed, size=1, bodies=joint.bodies, p=(*p, 0.0), late=late, moving=given
        )
    return JointRow(name=joint.name, constraint=prescribed, size=1, bodies=joint.bodies, p=(*p, 0.0), moving=given)
