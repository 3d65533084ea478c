"""Cams: a lift over the angle around a base circle, against a flat or a roller follower.

A cam is described by its support function: over the angle phi in its own frame it reaches to base + lift(phi) [m]. That
is the law of motion of a flat follower. A roller, or any circle, touches where the distance of its centre,

    S(psi) = d . (cos psi, sin psi) - base - lift(psi - angle of the cam),

is largest over the direction psi; d leads from the cam to the circle. A few steps of Newton's method find it to some
1e-7, which the distance at a maximum feels in its fourteenth digit.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from saltus.errors import ModelError
from saltus.mechanics.body import number_of, place, turned
from saltus.mechanics.pairs import Kernel, Row, _slide
from saltus.mechanics.scene import Outline, Point

DRAWN = 360  # corners of the outline of a cam
LOOKED = 3600  # angles at which its curvature is looked at
SEARCH_STEP = 1e-3  # rad, of the difference quotients of the search
SEARCH = 5  # steps of Newton's method
PITCHED = 720  # places of a cam that is drawn for a roller
PITCH_STEP = 1e-4  # rad, of the differences that find them
MOST_TURNS = 200  # of that search
CLOSES = 1e-9  # of the lift: a table must come back to where it began


@dataclasses.dataclass(frozen=True, eq=False)
class Cam:
    """A cam: `base` circle [m] and the lift [m] of a flat follower over the angle [rad] in its frame.

    Parameters
    ----------
    lift
        A function lift(angle) with the period 2 pi, such as `DwellLift`, in plain Python with numpy; or a table
        (angles, lifts) over one turn, its last value the first again, through which a periodic spline is drawn.
    base
        Radius of the base circle [m].
    at
        Where the axis of the cam is in the frame of its body [m].
    """

    lift: Any
    base: float
    at: Point = dataclasses.field(default=(0.0, 0.0), kw_only=True)
    mass: float | None = dataclasses.field(default=None, kw_only=True)
    density: float | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        if not number_of(self.base, "base of a cam") > 0.0:
            raise ModelError(f"base of a cam is {self.base!r}: it must be positive [m]")
        if not callable(self.lift):
            object.__setattr__(self, "lift", _spline(self.lift))
        try:
            law: Any = self.lift
            values = np.array([float(law(angle)) for angle in np.linspace(0.0, 2.0 * math.pi, 9)])
        except Exception as error:
            raise ModelError(
                f"lift of a cam fails: {type(error).__name__}: {error}; it takes one angle [rad]"
            ) from error
        if not np.all(np.isfinite(values)):
            raise ModelError("lift of a cam is not finite everywhere: give a lift [m] for every angle")
        if abs(values[-1] - values[0]) > CLOSES * max(np.abs(values).max(), self.base):
            raise ModelError(
                f"lift of a cam is {values[0]:.6g} m at 0 and {values[-1]:.6g} m after a turn: its period must be 2 pi"
            )
        self._check_round()

    @classmethod
    def for_roller(cls, lift: Any, base: float, roller: float, **options: Any) -> Cam:
        """Return the cam that moves the centre of a roller by lift(angle) along a line through its axis.

        The centre runs on the pitch curve, base + roller + lift(phi) away from the axis [m]; the cam lies a radius
        inside of it. Its support function, that of the pitch curve less the radius, is drawn as a spline through
        PITCHED places, which such a roller feels in some 1e-10 of the base.

        Parameters
        ----------
        lift
            As for a cam, but of the centre of the roller: a function with the period 2 pi, or a table.
        base, roller
            Radii of the base circle and of the roller [m].
        """
        if not number_of(roller, "roller of a cam") > 0.0 or not number_of(base, "base of a cam") > 0.0:
            raise ModelError(f"base and roller of a cam are {base!r} and {roller!r}: radii must be positive [m]")
        law: Any = lift if callable(lift) else _spline(lift)

        def far(phi: np.ndarray) -> np.ndarray:
            return base + roller + np.array([float(law(angle)) for angle in phi])

        def slope(phi: np.ndarray) -> np.ndarray:
            h = PITCH_STEP
            return (8.0 * (far(phi + h) - far(phi - h)) - (far(phi + 2.0 * h) - far(phi - 2.0 * h))) / (12.0 * h)

        psi = 2.0 * math.pi * np.arange(PITCHED + 1) / PITCHED
        phi = psi.copy()  # where the pitch curve looks in the direction psi: psi = phi - atan(slope / far)
        for _ in range(MOST_TURNS):
            turned_by = psi + np.arctan2(slope(phi), far(phi)) - phi
            phi = phi + turned_by
            if np.max(np.abs(turned_by)) < 1e-13:
                break
        else:
            raise ModelError("the pitch curve of a cam is too steep for a roller: take a larger base or a gentler lift")
        table = far(phi) * np.cos(phi - psi) - roller - base
        table[-1] = table[0]
        return cls((psi, table), base, **options)

    def _check_round(self) -> None:
        """Refuse a cam that is hollow somewhere: neither a flat nor the search for a roller would touch it there."""
        angles = 2.0 * math.pi * np.arange(LOOKED) / LOOKED
        p, h = self.reach(angles), 2.0 * math.pi / LOOKED
        bent = (np.roll(p, -1) - 2.0 * p + np.roll(p, 1)) / h**2
        worst = int(np.argmin(p + bent))
        if not p[worst] + bent[worst] > 0.0:
            raise ModelError(
                f"a cam is hollow at the angle {angles[worst]:.4g} rad: base + lift + lift'' = "
                f"{p[worst] + bent[worst]:.4g} m must stay positive; take a larger base or a gentler lift"
            )

    def reach(self, angles: np.ndarray) -> np.ndarray:
        """Return how far it reaches in directions of its frame [m]."""
        return self.base + np.array([float(self.lift(angle)) for angle in angles])

    @functools.cached_property
    def _corners(self) -> np.ndarray:
        """Places around it: p u + p' u_across of its support function p."""
        angles = 2.0 * math.pi * np.arange(DRAWN) / DRAWN
        p = self.reach(angles)
        slope = (self.reach(angles + 1e-5) - self.reach(angles - 1e-5)) / 2e-5
        c, s = np.cos(angles), np.sin(angles)
        return np.column_stack([p * c - slope * s, p * s + slope * c]) + self.at

    @functools.cached_property
    def _polygon(self) -> Any:
        from saltus.mechanics.shapes import moments_of

        return moments_of(self._corners)

    def area(self) -> float:
        return self._polygon[0]

    def centroid(self) -> Point:
        return self._polygon[1]

    def polar(self) -> float:
        return self._polygon[2]

    def points(self) -> dict[str, Point]:
        return {"axis": self.at}

    def outline(self, centre: Point) -> Outline:
        places = self._corners - centre
        return Outline(kind="polygon", points=tuple((float(x), float(y)) for x, y in places))

    @functools.cached_property
    def flat(self) -> Kernel:
        """Against a flat: slot 0 the cam, slot 1 the flat; p = (x, y, base, flat x, y, normal x, y, its angle)."""
        lift = self.lift

        def reach(q: Any, p: Any) -> Any:
            # the flat looks against its normal at the cam
            return p[2] + lift(q[1][2] + p[7] + math.pi - q[0][2])

        def cam_flat(t: Any, q: Any, p: Any) -> Any:
            (x, y), (u, w), (nx, ny) = place(q[0], p[0], p[1]), place(q[1], p[3], p[4]), turned(q[1], p[5], p[6])
            return nx * (x - u) + ny * (y - w) - reach(q, p)

        def cam_flat_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
            nx, ny = turned(q[1], p[5], p[6])
            return _slide(q, v, (p[0], p[1], reach(q, p)), nx, ny)

        return Kernel("cam-flat", cam_flat, cam_flat_slip)

    @functools.cached_property
    def roller(self) -> Kernel:
        """Against a circle: slot 0 the circle, slot 1 the cam; p = (x, y, radius, cam x, y, base, towards)."""
        lift = self.lift

        def search(q: Any, p: Any) -> tuple[Any, Any]:
            """Return the direction in which the distance is largest, and that distance."""
            (x, y), (u, w) = place(q[0], p[0], p[1]), place(q[1], p[3], p[4])
            dx, dy = x - u, y - w
            c, s = np.cos(p[6]), np.sin(p[6])

            def far(psi: Any) -> Any:
                return dx * np.cos(psi) + dy * np.sin(psi) - p[5] - lift(psi - q[1][2])

            psi = p[6] + np.arctan2(c * dy - s * dx, c * dx + s * dy)
            for _ in range(SEARCH):
                less, here, more = far(psi - SEARCH_STEP), far(psi), far(psi + SEARCH_STEP)
                psi = psi - 0.5 * SEARCH_STEP * (more - less) / (more - 2.0 * here + less)
            return psi, far(psi)

        def cam_roller(t: Any, q: Any, p: Any) -> Any:
            return search(q, p)[1] - p[2]

        def cam_roller_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
            psi = search(q, p)[0]
            return _slide(q, v, p, np.cos(psi), np.sin(psi))

        return Kernel("cam-roller", cam_roller, cam_roller_slip)

    def rows(self, centre: Point, other: Outline, towards: float, who: str) -> list[Row]:
        """Return the row of the cam, whose body has this centre of mass, and a shape; swapped: the cam is first."""
        x, y = self.at[0] - centre[0], self.at[1] - centre[1]
        if other.kind == "line":
            (u, w), (far, high) = other.points
            angle = math.atan2(high - w, far - u) + math.pi / 2.0
            return [Row(self.flat, True, (x, y, self.base, u, w, math.cos(angle), math.sin(angle), angle))]
        if other.kind == "circle":
            (place_,), radius = other.points, other.radius
            return [Row(self.roller, False, (*place_, radius, x, y, self.base, towards))]
        raise ModelError(f"{who} is between a cam and a {other.kind}: a cam meets a Plane (flat follower) or a Circle")


def _spline(table: Any) -> Callable:
    """Return the periodic spline through a table (angles, lifts)."""
    from scipy.interpolate import CubicSpline

    if not isinstance(table, Sequence | np.ndarray) or len(table) != 2:
        raise ModelError(f"lift of a cam is {type(table).__name__}: give a function of the angle, or (angles, lifts)")
    try:
        angles, lifts = (np.array(column, dtype=float) for column in table)
    except (TypeError, ValueError) as error:
        raise ModelError("the table of a cam must be two lists of numbers, angles [rad] and lifts [m]") from error
    if angles.ndim != 1 or angles.shape != lifts.shape or len(angles) < 4:
        raise ModelError(f"the table of a cam has {angles.shape} angles and {lifts.shape} lifts: as many, at least 4")
    if not (np.all(np.isfinite(angles)) and np.all(np.isfinite(lifts)) and np.all(np.diff(angles) > 0.0)):
        raise ModelError("the angles of a cam must be finite and increase")
    if abs(angles[-1] - angles[0] - 2.0 * math.pi) > 1e-9:
        raise ModelError(f"the angles of a cam span {angles[-1] - angles[0]:.9g} rad: give one turn, its end included")
    if abs(lifts[-1] - lifts[0]) > CLOSES * max(np.abs(lifts).max(), 1e-300):
        raise ModelError(f"the lift of a cam ends at {lifts[-1]} m, but begins at {lifts[0]} m: it must come back")
    lifts[-1] = lifts[0]
    return CubicSpline(angles, lifts, bc_type="periodic")


@dataclasses.dataclass(frozen=True)
class DwellLift:
    """The lift of a dwell cam: rest, rise to `height` [m], rest there, return, by polynomials of degree 7.

    Velocity, acceleration and jerk are continuous. rise and fall are angles (begin, end) [rad] of one turn, in order.
    """

    height: float
    rise: tuple[float, float]
    fall: tuple[float, float]

    def __post_init__(self):
        angles = (*self.rise, *self.fall)
        for angle in angles:
            number_of(angle, "rise and fall of a cam")
        if not number_of(self.height, "height of a lift") > 0.0:
            raise ModelError(f"height of a lift is {self.height!r}: it must be positive [m]")
        if not 0.0 <= angles[0] < angles[1] <= angles[2] < angles[3] <= 2.0 * math.pi:
            raise ModelError(f"rise {self.rise} and fall {self.fall} must follow each other between 0 and 2 pi")

    def __call__(self, angle: Any) -> Any:
        turn = np.mod(angle, 2.0 * math.pi)
        (a, b), (c, d) = self.rise, self.fall
        up, down = (turn - a) / (b - a), (d - turn) / (d - c)
        middle = np.where(turn < b, _smooth(up), np.where(turn < c, 1.0, _smooth(down)))
        return self.height * np.where((turn > a) & (turn < d), middle, 0.0)


def _smooth(s: Any) -> Any:
    """Return the polynomial 4-5-6-7 that leads from 0 to 1 with three derivatives zero at both ends."""
    return s * s * s * s * (35.0 + s * (-84.0 + s * (70.0 - 20.0 * s)))
