"""Shapes of planar bodies: circle, polygon, box, bar with rounded ends, plane.

Each is written in a frame of its own, in which it has an area [m^2], a centroid [m] and a polar second moment of area
[m^4]; a body puts them into the frame of its centre of mass. `support` is the farthest place in a direction [m].
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from saltus.errors import ModelError
from saltus.mechanics.body import number_of
from saltus.mechanics.scene import Outline, Point

FLAT = 1e-9  # of the size of a polygon: three corners that lie closer to a line are on it
DRAWN_HALF = 10.0  # m: half of what is drawn of a plane


def _positive(value: Any, who: str) -> float:
    if not number_of(value, who) > 0.0:
        raise ModelError(f"{who} is {value!r}: it must be positive [m]")
    return float(value)


def _point(value: Any, who: str) -> Point:
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != 2:
        raise ModelError(f"{who} is {value!r}: give two numbers (x, y) [m]")
    return float(number_of(value[0], who)), float(number_of(value[1], who))


def _moved(points: Sequence[Point], centre: Point) -> tuple[Point, ...]:
    return tuple((x - centre[0], y - centre[1]) for x, y in points)


def moments_of(corners: np.ndarray) -> tuple[float, Point, float]:
    """Return area, centroid and polar moment about it of a polygon, by the triangles that meet in its first corner."""
    first = corners[0]
    x, y = (corners - first).T
    u, w = np.roll(x, -1), np.roll(y, -1)
    cross = x * w - u * y
    area = cross.sum() / 2.0
    cx, cy = ((x + u) * cross).sum() / (6.0 * area), ((y + w) * cross).sum() / (6.0 * area)
    polar = (cross * (x * x + x * u + u * u + y * y + y * w + w * w)).sum() / 12.0
    centre = (float(first[0] + cx), float(first[1] + cy))
    return float(area), centre, float(polar - area * (cx * cx + cy * cy))


@dataclasses.dataclass(frozen=True)
class Circle:
    """A disc of `radius` [m] around `at` [m]; mass [kg] or density [kg/m^2] as a body may need it."""

    radius: float
    at: Point = dataclasses.field(default=(0.0, 0.0), kw_only=True)
    mass: float | None = dataclasses.field(default=None, kw_only=True)
    density: float | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        _positive(self.radius, "radius of a circle")
        object.__setattr__(self, "at", _point(self.at, "at of a circle"))

    def area(self) -> float:
        return math.pi * self.radius**2

    def centroid(self) -> Point:
        return self.at

    def polar(self) -> float:
        return math.pi / 2.0 * self.radius**4

    def points(self) -> dict[str, Point]:
        return {"centre": self.at} if self.at != (0.0, 0.0) else {}

    def support(self, direction: Point) -> float:
        """Return how far it reaches in a direction (a unit vector) [m]."""
        return self.at[0] * direction[0] + self.at[1] * direction[1] + self.radius

    def outline(self, centre: Point) -> Outline:
        return Outline(kind="circle", points=_moved([self.at], centre), radius=float(self.radius))


@dataclasses.dataclass(frozen=True)
class Polygon:
    """A convex polygon: `corners` (x, y) [m] counterclockwise, at least three; points corner1, corner2, ..."""

    corners: tuple[Point, ...]
    mass: float | None = dataclasses.field(default=None, kw_only=True)
    density: float | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        if not isinstance(self.corners, Sequence | np.ndarray) or len(self.corners) < 3:
            raise ModelError(f"a polygon has corners {self.corners!r}: give at least three, [(x, y), ...] [m]")
        corners = tuple(_point(corner, f"corner {k} of a polygon") for k, corner in enumerate(self.corners, start=1))
        object.__setattr__(self, "corners", corners)
        self._check_turns()

    def _check_turns(self) -> None:
        """Refuse corners that are not passed counterclockwise around a convex inside."""
        x = np.array(self.corners)
        edges = np.roll(x, -1, axis=0) - x
        lengths, size = np.hypot(*edges.T), float(np.ptp(x, axis=0).max())
        short = np.flatnonzero(lengths <= FLAT * size)
        if len(short):
            raise ModelError(f"corner {short[0] + 1} of a polygon is given twice: give each once")
        before = np.roll(edges, 1, axis=0)
        turns = before[:, 0] * edges[:, 1] - before[:, 1] * edges[:, 0]  # at each corner
        if turns.sum() <= 0.0 and np.all(turns <= FLAT * size**2):
            raise ModelError(
                "a polygon is inside out: its corners run clockwise; list them counterclockwise, like corners[::-1]"
            )
        bad = np.flatnonzero(turns <= FLAT * size**2)
        if len(bad):
            how = "is a straight line" if abs(turns[bad[0]]) <= FLAT * size**2 else "points inwards"
            raise ModelError(
                f"corner {bad[0] + 1} of a polygon {how}: it must be convex; leave it out, or give the body a list "
                "of convex polygons"
            )
        angles = np.arctan2(turns, np.sum(before * edges, axis=1))
        if angles.sum() > 2.5 * math.pi:  # each corner turns left, but more than once around
            raise ModelError("a polygon crosses itself: give its corners in the order in which they are met around it")

    def area(self) -> float:
        return self._moments()[0]

    def centroid(self) -> Point:
        return self._moments()[1]

    def polar(self) -> float:
        return self._moments()[2]

    def _moments(self) -> tuple[float, Point, float]:
        return moments_of(np.array(self.corners))

    def points(self) -> dict[str, Point]:
        return {f"corner{k}": corner for k, corner in enumerate(self.corners, start=1)}

    def support(self, direction: Point) -> float:
        """Return how far it reaches in a direction (a unit vector) [m]."""
        return max(x * direction[0] + y * direction[1] for x, y in self.corners)

    def outline(self, centre: Point) -> Outline:
        return Outline(kind="polygon", points=_moved(self.corners, centre))


@dataclasses.dataclass(frozen=True)
class Box(Polygon):
    """A rectangle of `width` and `height` [m] around `at` [m], turned by `angle` [rad].

    corner1 is the lower left one, then counterclockwise; left, right, bottom and top are the middles of its sides.
    """

    corners: tuple[Point, ...] = dataclasses.field(init=False, repr=False)
    width: float
    height: float
    at: Point = dataclasses.field(default=(0.0, 0.0), kw_only=True)
    angle: float = dataclasses.field(default=0.0, kw_only=True)

    def __post_init__(self):
        _positive(self.width, "width of a box")
        _positive(self.height, "height of a box")
        object.__setattr__(self, "at", _point(self.at, "at of a box"))
        number_of(self.angle, "angle of a box")
        places = [self._place(x, y) for x, y in ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))]
        object.__setattr__(self, "corners", tuple(places))

    def _place(self, x: float, y: float) -> Point:
        """Return a place by its shares of half the width and half the height."""
        c, s = math.cos(self.angle), math.sin(self.angle)
        x, y = x * self.width / 2.0, y * self.height / 2.0
        return self.at[0] + c * x - s * y, self.at[1] + s * x + c * y

    def points(self) -> dict[str, Point]:
        sides = {"left": (-1.0, 0.0), "right": (1.0, 0.0), "bottom": (0.0, -1.0), "top": (0.0, 1.0)}
        return super().points() | {name: self._place(x, y) for name, (x, y) in sides.items()}


@dataclasses.dataclass(frozen=True)
class Bar:
    """A bar of `length` between the middles of its rounded ends, `radius` [m] thick to each side, along x around `at`.

    Without radius it is a line: it has mass, but nothing can touch it. Points start and end are the middles of its
    ends.
    """

    length: float
    radius: float = 0.0
    at: Point = dataclasses.field(default=(0.0, 0.0), kw_only=True)
    angle: float = dataclasses.field(default=0.0, kw_only=True)
    mass: float | None = dataclasses.field(default=None, kw_only=True)
    density: float | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        _positive(self.length, "length of a bar")
        if not number_of(self.radius, "radius of a bar") >= 0.0:
            raise ModelError(f"radius of a bar is {self.radius!r}: it must not be negative [m]")
        object.__setattr__(self, "at", _point(self.at, "at of a bar"))
        number_of(self.angle, "angle of a bar")

    def area(self) -> float:
        """Area [m^2], the length where it has no radius."""
        r = self.radius
        return self.length * 2.0 * r + math.pi * r * r if r > 0.0 else self.length

    def centroid(self) -> Point:
        return self.at

    def polar(self) -> float:
        r, length = self.radius, self.length
        if r == 0.0:
            return length**3 / 12.0
        # a rectangle, and two halves of a disc whose centroids lie 4 r / 3 pi behind the ends
        rectangle = 2.0 * r * length * (length**2 + 4.0 * r * r) / 12.0
        reach = 4.0 * r / (3.0 * math.pi)
        caps = math.pi * r * r * (r * r / 2.0 - reach**2 + (length / 2.0 + reach) ** 2)
        return rectangle + caps

    def points(self) -> dict[str, Point]:
        c, s, half = math.cos(self.angle), math.sin(self.angle), self.length / 2.0
        (x, y) = self.at
        return {"start": (x - half * c, y - half * s), "end": (x + half * c, y + half * s)}

    def support(self, direction: Point) -> float:
        """Return how far it reaches in a direction (a unit vector) [m]."""
        return max(x * direction[0] + y * direction[1] for x, y in self.points().values()) + self.radius

    def outline(self, centre: Point) -> Outline:
        ends = self.points()
        return Outline(kind="capsule", points=_moved([ends["start"], ends["end"]], centre), radius=float(self.radius))


@dataclasses.dataclass(frozen=True)
class Plane:
    """A half plane: the surface goes through `at` [m] in the direction `angle` [rad], free to the left of it.

    Plane() is a floor, free above; Plane(angle=pi/2) a wall that is free on its left.
    """

    at: Point = dataclasses.field(default=(0.0, 0.0), kw_only=True)
    angle: float = dataclasses.field(default=0.0, kw_only=True)
    mass: float | None = dataclasses.field(default=0.0, init=False, repr=False)
    density: float | None = dataclasses.field(default=None, init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "at", _point(self.at, "at of a plane"))
        number_of(self.angle, "angle of a plane")

    def area(self) -> float:
        return 0.0

    def centroid(self) -> Point:
        return self.at

    def polar(self) -> float:
        return 0.0

    def points(self) -> dict[str, Point]:
        return {}

    def support(self, direction: Point) -> float:
        """Return how far it reaches in a direction (a unit vector) [m]: without end but against its free side."""
        c, s = math.cos(self.angle), math.sin(self.angle)
        up = direction[1] * c - direction[0] * s
        if abs(direction[0] * c + direction[1] * s) > 1e-12 or up < 0.0:
            return math.inf
        return self.at[0] * direction[0] + self.at[1] * direction[1]

    def outline(self, centre: Point) -> Outline:
        (x, y), c, s = _moved([self.at], centre)[0], math.cos(self.angle), math.sin(self.angle)
        return Outline(
            kind="line", points=((x - DRAWN_HALF * c, y - DRAWN_HALF * s), (x + DRAWN_HALF * c, y + DRAWN_HALF * s))
        )
