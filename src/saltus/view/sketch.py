"""Sketch: how a system written by hand looks, in a few lines of plain records that a file can hold.

Parts are placed by numbers that follow the coordinates, `q[0]`, `0.5 + 2.0 * q[1]`, or the time, `wave(...)`:

    s = Sketch()
    crank = s.bar(0.15, angle=s.q[0], name="crank")            # from the origin, along its angle
    rod = s.bar(0.30, at=crank.end, angle=s.q[1], name="rod")  # its start rides on the end of the crank
    s.contact("stop", rod.end, normal=(0.0, 1.0))              # where the force of a contact acts
    System(M=..., f=..., contacts=[...], scene=s)

A sketch holds no functions: it is stored with the results, so that a loaded run can be seen as well.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import numbers
from collections.abc import Sequence
from typing import Any

from saltus.errors import ModelError

FIXED = -1  # number of the ground among the parts
SOLIDS = ("box", "sphere", "cylinder", "mesh")


@dataclasses.dataclass(frozen=True)
class Follow:
    """A number that follows a run: constant + sum of factor * q[column] + sum of amplitude * sin(omega t + phase)."""

    constant: float = 0.0
    terms: tuple[tuple[int, float], ...] = ()
    waves: tuple[tuple[float, float, float], ...] = ()

    def __add__(self, other: Any) -> Follow:
        other = follow(other, "a number of a sketch")
        return Follow(self.constant + other.constant, self.terms + other.terms, self.waves + other.waves)

    def __mul__(self, factor: Any) -> Follow:
        if isinstance(factor, bool) or not isinstance(factor, numbers.Real):
            raise ModelError(f"a number of a sketch times {factor!r}: only plain numbers can multiply it")
        k = float(factor)
        return Follow(
            k * self.constant,
            tuple((column, k * one) for column, one in self.terms),
            tuple((k * amplitude, omega, phase) for amplitude, omega, phase in self.waves),
        )

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Follow:
        return -1.0 * self

    def __sub__(self, other: Any) -> Follow:
        return self + -1.0 * follow(other, "a number of a sketch")

    def __rsub__(self, other: Any) -> Follow:
        return -1.0 * self + other


def wave(amplitude: float, omega: float, phase: float = 0.0) -> Follow:
    """Return a number that swings with time: amplitude * sin(omega t + phase), omega in rad/s."""
    return Follow(0.0, (), ((float(amplitude), float(omega), float(phase)),))


class Coordinates:
    """The coordinates q by number: q[0] follows the first one."""

    def __getitem__(self, column: int) -> Follow:
        if isinstance(column, bool) or not isinstance(column, numbers.Integral) or column < 0:
            raise ModelError(f"q[{column!r}] of a sketch: a coordinate is a whole number from 0 on")
        return Follow(0.0, ((int(column), 1.0),))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outline:
    """A shape of the plane in the frame of its part, as `saltus.mechanics.scene.Outline`, which sketches do not need.

    kind: "circle", "polygon", "line" or "capsule"; points and radius [m]; solid: False for what encloses.
    """

    kind: str
    points: tuple[tuple[float, float], ...]
    radius: float = 0.0
    solid: bool = True


@dataclasses.dataclass(frozen=True)
class Solid:
    """A body in space, in the frame of its part.

    kind: "box" with edges `size` along x, y, z; "sphere" of diameter size[0]; "cylinder" along z of diameter size[0]
    and length size[2]; "mesh" of `points` [m] and `triangles`, their numbers counterclockwise from outside. centre [m].
    """

    kind: str
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    points: tuple[tuple[float, float, float], ...] = ()
    triangles: tuple[tuple[int, int, int], ...] = ()


@dataclasses.dataclass(frozen=True)
class Part:
    """One moving part: its origin in the frame of its carrier (an earlier part, or -1 the ground), its angle or turn.

    at: x, y [m], in space z as well; angle [rad] in the fixed frame, in the plane; turn: first of the four coordinates
    of a unit quaternion (w, x, y, z), in space.
    """

    number: int
    name: str
    at: tuple[Follow, ...]
    angle: Follow = Follow()
    turn: int | None = None
    carrier: int = FIXED
    outlines: tuple[Outline, ...] = ()
    solids: tuple[Solid, ...] = ()
    colour: str | None = None


@dataclasses.dataclass(frozen=True)
class Place:
    """A point of a part, in its frame [m]; part -1: of the ground."""

    part: int
    at: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Touch:
    """Where the force of a contact acts: a point, and the directions of its rows on the part that has the point.

    turning: the directions turn with the part; else they stay in the fixed frame.
    """

    contact: str
    place: Place
    normal: tuple[float, ...]
    tangents: tuple[tuple[float, ...], ...] = ()
    turning: bool = False


class Handle:
    """A part that was drawn, to attach others to it: `.start`, `.end` of a bar, `.at(x, y)` anywhere."""

    def __init__(self, number: int, dimension: int, ends: tuple[float, float] = (0.0, 0.0)):
        self.number, self._dimension, self._ends = number, dimension, ends

    def at(self, *place: float) -> Place:
        """Return a point of the part, in its frame [m]."""
        return Place(self.number, _numbers(place, self._dimension, "a point of a part"))

    @property
    def start(self) -> Place:
        """Where a bar begins."""
        return Place(self.number, (self._ends[0], 0.0))

    @property
    def end(self) -> Place:
        """Where a bar ends."""
        return Place(self.number, (self._ends[1], 0.0))


class Sketch:
    """How a system written by hand looks: `System(..., scene=sketch)` or `sol.view(scene=sketch)`.

    dimension: 2 for bars, boxes, circles, polygons in the plane; 3 for solids in space. `q[k]` follows coordinate k.
    """

    q = Coordinates()

    def __init__(self, dimension: int = 2):
        if dimension not in (2, 3):
            raise ModelError(f"a sketch has dimension={dimension!r}: it must be 2 or 3")
        self.dimension = int(dimension)
        self.parts: list[Part] = []
        self.fixed: list[Outline] = []
        self.floors: list[float] = []
        self.springs: list[tuple[Place, Place]] = []
        self.touches: list[Touch] = []

    def __repr__(self) -> str:
        return f"Sketch({', '.join(part.name for part in self.parts) or 'empty'})"

    # ---- the plane

    def bar(
        self, length: float, *, at: Any = (0.0, 0.0), angle: Any = 0.0, radius: float = 0.0, middle: bool = False,
        name: str | None = None, colour: str | None = None,
    ) -> Handle:  # fmt: skip
        """Draw a bar along its angle [rad], from `at`, or with its middle there; length, radius of its ends [m]."""
        length = _size(length, "length")
        first = -0.5 * length if middle else 0.0
        outline = Outline(kind="capsule", points=((first, 0.0), (first + length, 0.0)), radius=float(radius))
        return self._planar((outline,), at, angle, name or "bar", colour, (first, first + length))

    def box(
        self, width: float, height: float, *, at: Any = (0.0, 0.0), angle: Any = 0.0, name: str | None = None,
        colour: str | None = None,
    ) -> Handle:  # fmt: skip
        """Draw a rectangle with its middle in `at` [m]."""
        x, y = 0.5 * _size(width, "width"), 0.5 * _size(height, "height")
        outline = Outline(kind="polygon", points=((-x, -y), (x, -y), (x, y), (-x, y)))
        return self._planar((outline,), at, angle, name or "box", colour, (-x, x))

    def circle(
        self, radius: float, *, at: Any = (0.0, 0.0), angle: Any = 0.0, name: str | None = None,
        colour: str | None = None,
    ) -> Handle:  # fmt: skip
        """Draw a disc with its middle in `at` [m]."""
        outline = Outline(kind="circle", points=((0.0, 0.0),), radius=_size(radius, "radius"))
        return self._planar((outline,), at, angle, name or "circle", colour, (-radius, radius))

    def polygon(
        self, points: Sequence[Sequence[float]], *, at: Any = (0.0, 0.0), angle: Any = 0.0, name: str | None = None,
        colour: str | None = None,
    ) -> Handle:  # fmt: skip
        """Draw a polygon, its corners [m] in the frame of the part."""
        corners: Any = tuple(_numbers(point, 2, "a corner") for point in points)
        if len(corners) < 3:
            raise ModelError(f"a polygon of a sketch has {len(corners)} corners: it needs three")
        return self._planar((Outline(kind="polygon", points=corners),), at, angle, name or "polygon", colour)

    def point(
        self, *, at: Any = (0.0, 0.0), angle: Any = 0.0, name: str | None = None, colour: str | None = None
    ) -> Handle:
        """Draw a point: where a part without a shape is, or to attach what moves with it and does not turn."""
        return self._planar((), at, angle, name or "point", colour)

    def ground(self, *points: Sequence[float]) -> None:
        """Draw a fixed line through points (x, y) [m]; what is solid lies to the right of its direction."""
        self._in(2, "ground")
        listed: Any = tuple(_numbers(point, 2, "a point of the ground") for point in points)
        if len(listed) < 2:
            raise ModelError("a line of the ground needs two points")
        self.fixed += [Outline(kind="line", points=ends) for ends in itertools.pairwise(listed)]

    def ring(self, radius: float, *, at: Sequence[float] = (0.0, 0.0), hollow: bool = True) -> None:
        """Draw a fixed circle about a point (x, y) [m]: what is solid lies outside of it, or inside (hollow=False)."""
        self._in(2, "ring")
        centre: Any = _numbers(at, 2, "at")
        self.fixed.append(Outline(kind="circle", points=(centre,), radius=_size(radius, "radius"), solid=not hollow))

    def spring(self, first: Any, second: Any) -> None:
        """Draw a spring between two places: points of parts, or (x, y) [m] fixed."""
        self.springs.append((self._place(first), self._place(second)))

    # ---- space

    def solid(
        self, kind: str, size: Any = 0.0, *, at: Any = (0.0, 0.0, 0.0), turn: int | None = None,
        centre: Sequence[float] = (0.0, 0.0, 0.0), points: Sequence[Sequence[float]] = (),
        triangles: Sequence[Sequence[int]] = (), name: str | None = None, colour: str | None = None,
    ) -> Handle:  # fmt: skip
        """Draw a solid in space: "box" of three edges, "sphere" of a diameter, "cylinder" (diameter, length), "mesh".

        at: x, y, z [m] of its origin; centre: middle of the solid in its own frame [m]; turn: number of the first of
        four coordinates of a unit quaternion (w, x, y, z).
        """
        self._in(3, "solid")
        if kind not in SOLIDS:
            raise ModelError(f"a sketch knows no solid {kind!r}: there are {', '.join(SOLIDS)}")
        edges = tuple(size) if isinstance(size, Sequence) else (size, size, size)
        edges = (edges[0], edges[0], edges[1]) if len(edges) == 2 else edges
        if kind != "mesh":
            edges = tuple(_size(edge, "size") for edge in edges)
        corners: Any = tuple(_numbers(point, 3, "a point of a mesh") for point in points)
        faces: Any = tuple(tuple(int(one) for one in triangle) for triangle in triangles)
        if kind == "mesh" and (
            not faces or any(len(face) != 3 or not all(0 <= one < len(corners) for one in face) for face in faces)
        ):
            raise ModelError("a mesh needs points (x, y, z) and triangles of three numbers of them")
        size3: Any = _numbers(edges, 3, "size")
        centre3: Any = _numbers(centre, 3, "centre")
        made = Solid(kind, size3, centre3, points=corners, triangles=faces)
        if turn is not None and (isinstance(turn, bool) or not isinstance(turn, numbers.Integral) or turn < 0):
            raise ModelError(f"turn of a solid is {turn!r}: give the number of the first of four coordinates")
        part = Part(
            len(self.parts), self._named(name or kind), self._at(at)[1], turn=turn, solids=(made,), colour=colour
        )
        self.parts.append(part)
        return Handle(part.number, 3)

    def floor(self, height: float = 0.0) -> None:
        """Draw a level floor at a height z [m], in space."""
        self._in(3, "floor")
        self.floors.append(float(height))

    # ---- contacts

    def contact(
        self, name: str, place: Any, *, normal: Sequence[float], tangent: Sequence[Any] = (), turning: bool = False
    ) -> None:
        """Say where the force of a contact acts and along which directions its rows push the part.

        name: that of the `Contact`. normal, tangent (in space two of them): directions in the fixed frame, or with
        `turning` in the frame of the part; they are made unit vectors. Without a tangent, in the plane, it is the
        normal turned clockwise.
        """
        n = self.dimension
        rows: Any = [tangent] if n == 2 and len(tangent) else tangent
        tangents = tuple(_unit(_numbers(row, n, "tangent"), "tangent") for row in rows)
        across = _unit(_numbers(normal, n, "normal"), "normal")
        if n == 2 and not tangents:
            tangents = ((across[1], -across[0]),)
        self.touches.append(Touch(str(name), self._place(place), across, tangents, bool(turning)))

    # ---- checking

    def _planar(self, outlines, at, angle, name: str, colour: str | None, ends=(0.0, 0.0)) -> Handle:
        self._in(2, name)
        carrier, where = self._at(at)
        turn = follow(angle, f"angle of {name!r}")
        part = Part(
            len(self.parts), self._named(name), where, turn, carrier=carrier, outlines=outlines, colour=colour
        )  # fmt: skip
        self.parts.append(part)
        return Handle(part.number, 2, ends)

    def _in(self, dimension: int, what: str) -> None:
        if self.dimension != dimension:
            raise ModelError(f"{what} belongs to Sketch({dimension}), not to Sketch({self.dimension})")

    def _named(self, name: str) -> str:
        taken = {part.name for part in self.parts}
        return next(one for one in (name, *(f"{name} {k}" for k in range(2, len(taken) + 3))) if one not in taken)

    def _at(self, at: Any) -> tuple[int, tuple[Follow, ...]]:
        if isinstance(at, Place):
            return at.part, tuple(Follow(value) for value in at.at)
        if not isinstance(at, Sequence) or len(at) != self.dimension:
            raise ModelError(f"at is {at!r}: give a point of a part, or {self.dimension} numbers that may follow q")
        return FIXED, tuple(follow(value, "at") for value in at)

    def _place(self, given: Any) -> Place:
        return given if isinstance(given, Place) else Place(FIXED, _numbers(given, self.dimension, "a place"))


def follow(value: Any, what: str) -> Follow:
    """Return a number as one that may follow a run."""
    if isinstance(value, Follow):
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(float(value)):
        raise ModelError(f"{what} is {value!r}: give a finite number, or one that follows q or the time")
    return Follow(float(value))


def _numbers(given: Any, count: int, what: str) -> tuple[float, ...]:
    listed = tuple(given) if isinstance(given, Sequence) else ()
    if len(listed) != count or not all(isinstance(one, numbers.Real) and math.isfinite(one) for one in listed):
        raise ModelError(f"{what} is {given!r}: it must be {count} finite numbers")
    return tuple(float(one) for one in listed)


def _size(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0.0 < float(value) < math.inf:
        raise ModelError(f"{what} of a sketch is {value!r}: it must be a positive number [m]")
    return float(value)


def _unit(vector: tuple[float, ...], what: str) -> tuple[float, ...]:
    length = math.hypot(*vector)
    if length == 0.0:
        raise ModelError(f"{what} of a contact in a sketch is zero: it must be a direction")
    return tuple(one / length for one in vector)
