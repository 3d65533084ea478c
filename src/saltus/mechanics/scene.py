"""Scene: what a mechanism is made of, in plain records: for results by name, for drawings, for files.

`Planar.scene` (and `System.scene` of the system it makes) is a `Scene`. The numbers of bodies are those of the families
of the system: 0, 1, ... in order, -1 the ground. A body owns `size` coordinates from `first` on: three for a planar
body, (x, y) of its centre of mass [m] and its angle [rad]; one for a mass on a line, its way along the line [m].

Points and outlines are given in the frame of their body: origin in its centre of mass, turned with it; those of the
ground in the fixed frame. A joint lists the names of its constraint rows (`rows`: a name in `System.joints`) and of its
contacts (names in `System.contacts`): one joint without clearance has rows, one with clearance contacts, a stop or a
friction may add contacts to either.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal, Protocol, runtime_checkable

from saltus.errors import ModelError

Point = tuple[float, float]  # (x, y) [m]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outline:
    """How a shape looks, in the frame of its body.

    Parameters
    ----------
    kind
        "circle": centre points[0] and radius; "polygon": closed, corners counterclockwise; "line": open, a plane or a
        slot; "capsule": a segment of two points with rounded ends of `radius`.
    points
        Places [m].
    radius
        [m], 0 where it means nothing.
    solid
        False for what encloses (a bearing, a slot, a housing): material is outside.
    """

    kind: Literal["circle", "polygon", "line", "capsule"]
    points: tuple[Point, ...]
    radius: float = 0.0
    solid: bool = True


@runtime_checkable
class Shape(Protocol):
    """What a body asks of its shape (shapes.py has them): geometry in the frame that the shape was written in.

    `mass` [kg] or `density` [kg/m^2, of area] may be None; one of them, or the mass of the body, must be given.
    """

    @property
    def mass(self) -> float | None: ...

    @property
    def density(self) -> float | None: ...

    def area(self) -> float:
        """Area [m^2]; 0 where it has no mass of its own (a plane)."""
        ...

    def centroid(self) -> Point:
        """Centre of the area [m]."""
        ...

    def polar(self) -> float:
        """Polar second moment of the area about its centroid [m^4]; a bar of no width: length^2 / 12 times its area."""
        ...

    def points(self) -> dict[str, Point]:
        """Named places [m], like {"centre": (0, 0), "start": ...}: they become points of the body."""
        ...

    def outline(self, centre: Point) -> Outline:
        """How it looks in a frame whose origin is `centre` [m], the centre of mass of its body."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class SceneBody:
    """One body: number, name, coordinates from `first` on, mass [kg], inertia about its centre [kg m^2].

    `line` belongs to a mass on a line (size 1): body number that carries the line, origin and direction in its frame.
    """

    number: int
    name: str
    first: int
    size: int
    mass: float
    inertia: float
    points: dict[str, Point] = dataclasses.field(default_factory=dict)
    outlines: tuple[Outline, ...] = ()
    colour: str | None = None
    line: tuple[int, Point, Point] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SceneJoint:
    """One joint between bodies a and b: its forces are those on b, in the frame of a turned by `angle` [rad].

    Parameters
    ----------
    kind
        "revolute", "prismatic", "fixed", "distance", "gear", "drive".
    bodies
        Numbers (a, b), -1 the ground.
    anchors
        The point of the joint in the frames of a and of b [m].
    angle
        Direction of the axis of the joint in the frame of a [rad]: the way of a prismatic joint, 0 of a revolute.
    rows
        Names in `System.joints`, each with its number of rows in order: (("pin", 2),).
    contacts
        Names in `System.contacts`: those of the clearance first, then those of the stops.
    clearance, radius
        Radial play or play to each side, and radius of the pin [m]; 0 for an ideal joint.
    parts
        What each contact is, in order: "journal", "corner", "slot", "end", "stop", "friction".
    """

    name: str
    kind: str
    bodies: tuple[int, int]
    anchors: tuple[Point, Point]
    angle: float = 0.0
    rows: tuple[tuple[str, int], ...] = ()
    contacts: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    clearance: float = 0.0
    radius: float = 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScenePair:
    """Two shapes that may touch: bodies, outlines (numbers among those of their bodies) and contacts by name."""

    name: str
    kind: str
    bodies: tuple[int, int]
    outlines: tuple[int, int] = (0, 0)
    contacts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class SceneForce:
    """A force element between points of two bodies: "spring", "bushing", "torsion", "coil", "motor", "user"."""

    name: str
    kind: str
    bodies: tuple[int, ...]
    anchors: tuple[Point, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scene:
    """A mechanism in records: bodies in the order of their numbers, the ground first among `bodies` as number -1."""

    name: str
    bodies: tuple[SceneBody, ...]
    joints: tuple[SceneJoint, ...] = ()
    pairs: tuple[ScenePair, ...] = ()
    forces: tuple[SceneForce, ...] = ()
    gravity: Point = (0.0, 0.0)  # acceleration [m/s^2]
    dimension: int = 2

    def body(self, which: str | int) -> SceneBody:
        """Return a body by name or number."""
        return _found(self.bodies, which, "body", (b.number for b in self.bodies))

    def joint(self, which: str) -> SceneJoint:
        """Return a joint by name."""
        return _found(self.joints, which, "joint")

    def pair(self, which: str) -> ScenePair:
        """Return a pair of shapes by name."""
        return _found(self.pairs, which, "pair")


def _found(records, which, kind: str, numbers: Iterator[int] | None = None):
    """Return the record of a name (or of a number), or say which there are."""
    for record in records:
        if record.name == which:
            return record
    if numbers is not None and isinstance(which, int):
        for record, number in zip(records, numbers, strict=True):
            if number == which:
                return record
    known = ", ".join(repr(record.name) for record in records) or "none"
    raise ModelError(f"there is no {kind} {which!r}: there are {known}")
