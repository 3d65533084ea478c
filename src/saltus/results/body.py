"""One body of a mechanism in a run: where it is, how fast, its points, its energies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError

if TYPE_CHECKING:
    from saltus.mechanics.scene import Scene, SceneBody
    from saltus.results.records import Side
    from saltus.solution import Solution


def scene_of(solution: Solution) -> Scene:
    """Return the scene of a run, or say that there is none."""
    scene: Any = solution.system.scene
    if not hasattr(scene, "joints"):  # nothing, or a sketch
        raise SettingError(
            "the run knows no bodies and joints: its system was not made by saltus.mechanics (or its file is older)"
        )
    return scene


def poses_of(record: SceneBody, q: np.ndarray) -> np.ndarray:
    """Return (x, y) [m] and angle [rad] of a body in states q (n, nq); the ground stays at 0."""
    if record.size == 3:
        return q[:, record.first : record.first + 3]
    made = np.zeros((len(q), 3))
    if record.size == 1 and record.line is not None:
        _, origin, direction = record.line
        made[:, :2] = np.array(origin) + q[:, record.first : record.first + 1] * np.array(direction)
    return made


def rates_of(record: SceneBody, v: np.ndarray) -> np.ndarray:
    """Return the rates of a pose in velocities v (n, nv)."""
    if record.size == 3:
        return v[:, record.first : record.first + 3]
    made = np.zeros((len(v), 3))
    if record.size == 1 and record.line is not None:
        made[:, :2] = v[:, record.first : record.first + 1] * np.array(record.line[2])
    return made


def places_of(pose: np.ndarray, point: Any) -> np.ndarray:
    """Return where a point of a body is in poses (n, 3): (n, 2) [m]."""
    c, s = np.cos(pose[:, 2]), np.sin(pose[:, 2])
    return np.column_stack([pose[:, 0] + c * point[0] - s * point[1], pose[:, 1] + s * point[0] + c * point[1]])


class BodyResult:
    """What a body did in a run.

    Attributes
    ----------
    name, mass [kg], inertia [kg m^2] about its centre of mass.
    t
        The kept times [s].
    pose
        (x, y) of its centre of mass [m] and its angle [rad] at the kept times (n + 1, 3).
    velocity
        Their rates [m/s, rad/s], right limits.
    """

    def __init__(self, solution: Solution, which: str | int):
        self._solution, self._scene = solution, scene_of(solution)
        self._record = self._scene.body(which)
        self.name, self.mass, self.inertia = self._record.name, self._record.mass, self._record.inertia
        self.t = solution.t
        self.pose = poses_of(self._record, solution.q)
        self.velocity = rates_of(self._record, solution.v)

    def __repr__(self) -> str:
        return f"BodyResult({self.name!r}: mass {self.mass:g} kg, points {', '.join(self._record.points) or 'none'})"

    @property
    def position(self) -> np.ndarray:
        """(x, y) of its centre of mass at the kept times (n + 1, 2) [m]."""
        return self.pose[:, :2]

    @property
    def angle(self) -> np.ndarray:
        """Its angle at the kept times (n + 1,) [rad]."""
        return self.pose[:, 2]

    @property
    def kinetic(self) -> np.ndarray:
        """Its kinetic energy at the kept times (n + 1,) [J]."""
        return self._kinetic(self.velocity)

    @property
    def potential(self) -> np.ndarray:
        """Its energy in the field of gravity at the kept times (n + 1,) [J], 0 in the origin."""
        return -self.mass * (self.position @ np.array(self._scene.gravity))

    def pose_at(self, t, side: Side = "+") -> np.ndarray:
        """Return its pose at any time, or at many (times, 3) [m, rad]."""
        return self._at(t, side, "q")

    def velocity_at(self, t, side: Side = "+") -> np.ndarray:
        """Return the rates of its pose at any time, or at many (times, 3) [m/s, rad/s]."""
        return self._at(t, side, "v")

    def kinetic_at(self, t, side: Side = "+"):
        """Return its kinetic energy at any time, or at many [J]."""
        return self._kinetic(self.velocity_at(t, side))

    def point(self, name: str) -> np.ndarray:
        """Return where one of its points is at the kept times (n + 1, 2) [m]."""
        return places_of(self.pose, self._point(name))

    def point_at(self, name: str, t, side: Side = "+") -> np.ndarray:
        """Return where one of its points is at any time, or at many (times, 2) [m]."""
        made = places_of(np.atleast_2d(self.pose_at(t, side)), self._point(name))
        return made[0] if np.ndim(t) == 0 else made

    def _point(self, name: str):
        if name not in self._record.points:
            known = ", ".join(map(repr, self._record.points))
            raise SettingError(f"body {self.name!r} has no point {name!r}: it has {known or 'none'}")
        return self._record.points[name]

    def _kinetic(self, velocity: np.ndarray):
        spin = self.inertia if self._record.size == 3 else 0.0
        return 0.5 * (self.mass * (velocity[..., :2] ** 2).sum(axis=-1) + spin * velocity[..., 2] ** 2)

    def _at(self, t, side: Side, letter: str) -> np.ndarray:
        state = self._solution(np.atleast_1d(np.asarray(t, dtype=float)), side)
        made = (poses_of if letter == "q" else rates_of)(self._record, getattr(state, letter))
        return made[0] if np.ndim(t) == 0 else made
