"""Bodies of a planar mechanism: mass and inertia given or from a shape, named points, the ground.

A planar body has q = (x, y) of its centre of mass [m] and its angle [rad], v their rates. Points are written in the
frame of its shape (that of a bar, a box or a disc lies in its middle) and kept in the frame of its centre of mass.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from saltus.errors import ModelError
from saltus.family import GROUND
from saltus.mechanics.scene import Outline, Point, SceneBody
from saltus.parameters import Parameter

# ---- kernels: what every joint, force and contact computes of a body; q = (x, y, angle), ground = (0, 0, 0)


def place(q: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return where the point (x, y) of a body is."""
    c, s = np.cos(q[2]), np.sin(q[2])
    return q[0] + (c * x - s * y), q[1] + (s * x + c * y)


def turned(q: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the direction (x, y) of a body in the fixed frame."""
    c, s = np.cos(q[2]), np.sin(q[2])
    return c * x - s * y, s * x + c * y


def velocity(q: Any, v: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the velocity of the point (x, y) of a body."""
    c, s = np.cos(q[2]), np.sin(q[2])
    return v[0] - (s * x + c * y) * v[2], v[1] + (c * x - s * y) * v[2]


def free_mass(q: Any, p: Any) -> list[Any]:
    """Mass of a planar body, p = (mass, inertia, gravity x, gravity y)."""
    return [p[0], p[0], p[1]]


def weight(t: Any, q: Any, v: Any, p: Any) -> list[Any]:
    """Weight of a planar body."""
    return [p[0] * p[2], p[0] * p[3], 0.0]


def line_mass(q: Any, p: Any) -> list[Any]:
    """Mass on a line, p = (mass, gravity along the line)."""
    return [p[0]]


def line_weight(t: Any, q: Any, v: Any, p: Any) -> list[Any]:
    """Weight of a mass on a line."""
    return [p[0] * p[1]]


# ---- what the user holds


@dataclasses.dataclass(frozen=True, eq=False)
class Anchor:
    """A point of a body, (x, y) [m] from its centre of mass, with a direction `angle` [rad] in its frame."""

    body: Body
    x: float
    y: float
    angle: float = 0.0
    name: str | None = None

    @property
    def local(self) -> Point:
        return (self.x, self.y)

    def __repr__(self) -> str:
        said = f".{self.name}" if self.name else f" at ({self.x:g}, {self.y:g})"
        return f"<point {self.body.name}{said}>"


@dataclasses.dataclass(frozen=True, eq=False)
class ShapeOf:
    """One shape of a body: its number among them and itself."""

    body: Body
    number: int
    shape: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Line:
    """A line on the ground through `origin` [m] with a unit `direction`, and the points where what runs on it ends."""

    start: Anchor
    end: Anchor
    origin: Point
    direction: Point


class Body:
    """A rigid body of a planar mechanism; made by `Planar.body`, `.bar`, `.disc`.

    Attributes
    ----------
    name, mass [kg], inertia [kg m^2] about the centre of mass, shapes, material, colour.
    anchors
        Points by name; `body.start` is short for `body.anchors["start"]`.
    guess
        (x, y, angle) of the frame of its shape as far as they were given, None elsewhere: a start, or a rough one.
    """

    def __init__(
        self, name: str, mass: Any, inertia: Any, *, centre: Point = (0.0, 0.0), shapes: Sequence[Any] = (),
        material: str | None = None, colour: str | None = None, ground: bool = False,
    ):  # fmt: skip
        self.name, self.mass, self.inertia = name, mass, inertia
        self.centre_of_mass = centre
        self.shapes, self.material, self.colour, self.ground = list(shapes), material, colour, ground
        self.drawn: list[Outline] = []  # beside the shapes, in the frame of its centre of mass
        self.size = 3
        self.anchors: dict[str, Anchor] = {}
        self.guess: list[float | None] = [None, None, None]
        self.line: Line | None = None  # of a mass on a line
        self.share = 0.0
        self.point("centre", 0.0, 0.0) if ground else self._named("centre", 0.0, 0.0)
        for shape in shapes:
            for key, (x, y) in shape.points().items():
                if key not in self.anchors:
                    self.point(key, x, y)

    def at(self, x: float, y: float, angle: float = 0.0) -> Anchor:
        """Return a point (x, y) [m], written in the frame of the shape, with a direction `angle` [rad]."""
        x, y, angle = (number_of(value, f"a point of {self.name!r}") for value in (x, y, angle))
        return Anchor(self, x - self.centre_of_mass[0], y - self.centre_of_mass[1], angle)

    def point(self, name: str, x: float, y: float, angle: float = 0.0) -> Anchor:
        """Name a point (x, y) [m]: afterwards it is `body.name`."""
        if not isinstance(name, str) or not name.isidentifier():
            raise ModelError(f"{name!r} cannot name a point of {self.name!r}: take a word like 'tip'")
        if name in self.anchors and name != "centre":
            raise ModelError(f"body {self.name!r} has two points {name!r}: names must differ")
        made = self.at(x, y, angle)
        return self._named(name, made.x, made.y, made.angle)

    def shape(self, number: int) -> ShapeOf:
        """Return one of its shapes, from 0 on, as a contact takes it."""
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self.shapes):
            raise ModelError(f"body {self.name!r} has no shape {number!r}: it has {len(self.shapes)}, from 0 on")
        return ShapeOf(self, number, self.shapes[number])

    def _named(self, name: str, x: float, y: float, angle: float = 0.0) -> Anchor:
        self.anchors[name] = Anchor(self, x, y, angle, name)
        return self.anchors[name]

    def __getattr__(self, name: str) -> Anchor:
        anchors = self.__dict__.get("anchors", {})
        if name in anchors:
            return anchors[name]
        known = ", ".join(anchors)
        raise AttributeError(
            f"body {self.__dict__.get('name')!r} has no point {name!r}: it has {known}; name one by "
            f".point({name!r}, x, y)"
        )

    def __repr__(self) -> str:
        return f"<body {self.name}>"

    def scene(self, number: int, first: int, line: tuple[int, Point, Point] | None = None) -> SceneBody:
        """Return its record."""
        outlines: tuple[Outline, ...] = tuple(shape.outline(self.centre_of_mass) for shape in self.shapes)
        outlines += tuple(self.drawn)
        return SceneBody(
            number=number, name=self.name, first=first, size=0 if number == GROUND else self.size,
            mass=float(self.mass), inertia=float(self.inertia), outlines=outlines, colour=self.colour, line=line,
            points={name: anchor.local for name, anchor in self.anchors.items()},
        )  # fmt: skip


def anchor_of(where: Any, who: str) -> Anchor:
    """Return the point that a body (its centre, the origin of the ground) or a point stands for."""
    if isinstance(where, Anchor):
        return where
    if isinstance(where, Body):
        return where.anchors["centre"]
    raise ModelError(f"{who} needs a body or a point of one, like crank.end, not {where!r}")


@dataclasses.dataclass(frozen=True)
class Rod:
    """The shape of a bar: `length` along x and `width` [m], a line where that is 0; points start, end."""

    length: float
    width: float = 0.0
    mass: float | None = None
    density: float | None = None

    def __post_init__(self):
        if not number_of(self.length, "length of a bar") > 0.0:
            raise ModelError(f"length of a bar is {self.length}: it must be positive [m]")
        if not number_of(self.width, "width of a bar") >= 0.0:
            raise ModelError(f"width of a bar is {self.width}: it must not be negative [m]")

    def area(self) -> float:
        """Area [m^2], the length where it has no width."""
        return self.length * self.width if self.width > 0.0 else self.length

    def centroid(self) -> Point:
        return (0.0, 0.0)

    def polar(self) -> float:
        return self.area() * (self.length**2 + self.width**2) / 12.0

    def points(self) -> dict[str, Point]:
        return {"start": (-self.length / 2.0, 0.0), "end": (self.length / 2.0, 0.0)}

    def outline(self, centre: Point) -> Outline:
        half, x, y = self.length / 2.0, centre[0], centre[1]
        return Outline(kind="capsule", points=((-half - x, -y), (half - x, -y)), radius=self.width / 2.0)


# ---- mass


def mass_of(name: str, shapes: Sequence[Any], mass: Any, inertia: Any, density: float | None) -> tuple[Any, Any, Point]:
    """Return mass [kg], inertia [kg m^2] and centre of mass [m] of a body from what is given of it and its shapes."""
    masses = [_shape_mass(name, shape, density, mass is not None) for shape in shapes]
    own, centre, polar = _together(shapes, masses)
    if mass is None:
        if not shapes or own <= 0.0:
            raise ModelError(f"body {name!r} has no mass: give mass= [kg], or density= [kg/m^2] with a shape")
        mass = own
    scale = 1.0 if own <= 0.0 else float(mass) / own
    if inertia is None:
        if polar <= 0.0:
            raise ModelError(f"body {name!r} has no inertia: give inertia= [kg m^2], or a shape")
        if isinstance(mass, Parameter):
            raise ModelError(f"mass of body {name!r} is parameter {mass.label}: give its inertia= too [kg m^2]")
        inertia = polar * scale
    for value, what, unit in ((mass, "mass", "kg"), (inertia, "inertia", "kg m^2")):
        number = number_of(value, f"{what} of body {name!r}")
        if not number > 0.0:
            raise ModelError(f"{what} of body {name!r} is {number:g} {unit}: it must be positive")
    return mass, inertia, centre


def _shape_mass(name: str, shape: Any, density: float | None, whole: bool) -> float:
    """Return the mass of one shape [kg], its area where only the mass of the whole body is known."""
    if shape.mass is not None:
        return float(shape.mass)
    given = shape.density if shape.density is not None else density
    if given is None:
        return shape.area() if whole else 0.0
    if not float(given) > 0.0:
        raise ModelError(f"density of body {name!r} is {given}: it must be positive [kg/m^2]")
    return float(given) * shape.area()


def _together(shapes: Sequence[Any], masses: Sequence[float]) -> tuple[float, Point, float]:
    """Return mass, centre and polar moment about it of shapes together."""
    whole = sum(masses)
    if whole <= 0.0:
        return 0.0, (0.0, 0.0), 0.0
    places = [shape.centroid() for shape in shapes]
    x, y = (sum(m * place[k] for m, place in zip(masses, places, strict=True)) / whole for k in (0, 1))
    polar = 0.0
    for m, shape, (px, py) in zip(masses, shapes, places, strict=True):
        area = shape.area()
        polar += (m / area * shape.polar() if area > 0.0 else 0.0) + m * ((px - x) ** 2 + (py - y) ** 2)
    return whole, (x, y), polar


def number_of(value: Any, who: str) -> float:
    """Return a finite number, the present one of a parameter."""
    wrong = isinstance(value, bool) or not isinstance(value, numbers.Real | Parameter)
    if wrong or not math.isfinite(float(value)):
        raise ModelError(f"{who} is {value!r}: it must be a finite number")
    return float(value)
