"""Mechanism: bodies, names and rows of a planar mechanism, before it becomes a system."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal

from saltus.errors import ModelError
from saltus.mechanics.body import Anchor, Body, Rod, anchor_of, mass_of, number_of
from saltus.mechanics.materials import Law, Materials
from saltus.mechanics.rows import ContactRow, ForceRow, JointRow
from saltus.mechanics.scene import Point, SceneForce, ScenePair


@dataclasses.dataclass(eq=False)
class PlanarJoint:
    """A joint of a mechanism, as `Planar.revolute` and its siblings return it.

    Attributes
    ----------
    name, kind
        What it is called and what it is: "revolute", "prismatic", "slot", "fixed", "distance", "coupling", "drive".
    a, b
        Its points on both bodies: forces are those on b, coordinates those of b seen from a.
    angle
        Direction of its axis in the frame of a [rad].
    clearance, radius
        Play and radius of the pin [m], 0 where it is ideal.
    rows, contacts, parts
        Names of its constraints and contacts, and what each contact is.
    """

    name: str
    kind: str
    a: Anchor
    b: Anchor
    angle: float = 0.0
    clearance: Any = 0.0
    radius: float = 0.0
    rows: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    contacts: list[str] = dataclasses.field(default_factory=list)
    parts: list[str] = dataclasses.field(default_factory=list)

    @property
    def anchors(self) -> tuple[float, float, float, float]:
        """Both points as kernels take them."""
        return (self.a.x, self.a.y, self.b.x, self.b.y)

    @property
    def axis(self) -> tuple[float, float]:
        """Direction of the axis in the frame of a."""
        return unit(self.angle)

    @property
    def bodies(self) -> tuple[Body, Body]:
        return (self.a.body, self.b.body)


@dataclasses.dataclass(frozen=True, eq=False)
class StartRow:
    """One number of the start: coordinate `axis` (0 x, 1 y of a point, 2 angle of its body), its value and its rate."""

    where: Anchor
    axis: int
    value: float | None
    rate: float | None


class Mechanism:
    """Bodies, joints, forces and contacts by name; `Planar` is what users make."""

    def __init__(
        self,
        gravity: Any = 9.81,
        *,
        name: str = "planar",
        impact: Literal["newton", "poisson"] = "newton",
    ):
        if isinstance(gravity, Sequence):
            if len(gravity) != 2:
                raise ModelError(f"gravity is {gravity!r}: give one number, downwards, or (x, y) [m/s^2]")
            self.gravity: tuple[Any, Any] = (gravity[0], gravity[1])
            for number in gravity:
                number_of(number, "gravity")
        elif number_of(gravity, "gravity") == 0.0:
            self.gravity = (0.0, 0.0)
        else:
            self.gravity = (0.0, -float(gravity))
        self.name, self.impact = name, impact
        self.ground = Body("ground", 1.0, 1.0, ground=True)
        self.bodies: list[Body] = []
        self.masses: list[Body] = []  # on lines
        self.joints: dict[str, PlanarJoint] = {}
        self.pair_records: list[tuple[str, str, tuple[Body, Body], tuple[int, int], tuple[str, ...]]] = []
        self.force_records: list[tuple[str, str, tuple[Anchor, ...]]] = []
        self.force_rows: list[ForceRow] = []
        self.joint_rows: list[JointRow] = []  # of the system
        self.ideal_rows: list[JointRow] = []  # of the assembly: as if no joint had clearance
        self.contact_rows: list[ContactRow] = []
        self.start_rows: list[StartRow] = []
        self.materials = Materials()
        self._names: set[str] = {"ground"}

    # ---- bodies

    def body(
        self,
        shape: Any = None,
        *,
        mass: Any = None,
        inertia: Any = None,
        density: float | None = None,
        at: Sequence[float] | None = None,
        angle: float | None = None,
        name: str | None = None,
        material: str | None = None,
        colour: str | None = None,
    ) -> Body:
        """Add a rigid body.

        Parameters
        ----------
        shape
            A shape such as Box(0.1, 0.05), or a list of shapes; None for a body that is only mass and points.
        mass, inertia
            [kg], [kg m^2] about the centre of mass. Without them they follow from the shape and its mass or density.
        density
            Mass per area [kg/m^2] of shapes that have none of their own.
        at, angle
            Rough place of the frame of its shape, (x, y) [m], and rough angle [rad], from which it is assembled.
        name
            What results and messages call it.
        material
            Name of its material, for the laws of `material`.
        colour
            Of its drawing, any colour of matplotlib.
        """
        shapes = [] if shape is None else list(shape) if isinstance(shape, list | tuple) else [shape]
        name = self._name(name, f"body {len(self.bodies) + 1}", "body")
        mass, inertia, centre = mass_of(name, shapes, mass, inertia, density)
        made = Body(name, mass, inertia, centre=centre, shapes=shapes, material=material, colour=colour)
        if at is not None:
            made.guess[:2] = _pair(at, f"at of body {name!r}")
        if angle is not None:
            made.guess[2] = number_of(angle, f"angle of body {name!r}")
        self.bodies.append(made)
        return made

    def bar(
        self,
        length: float,
        *,
        mass: Any = None,
        inertia: Any = None,
        density: float | None = None,
        width: float = 0.0,
        at: Sequence[float] | None = None,
        angle: float | None = None,
        name: str | None = None,
        material: str | None = None,
        colour: str | None = None,
    ) -> Body:
        """Add a straight homogeneous bar of `length` [m] with points `start`, `centre` and `end` along its x axis.

        `width` [m] is that of its drawing and counts for its inertia; density [kg/m^2], or [kg/m] without width. The
        rest is that of `body`.
        """
        return self.body(
            Rod(length, width), mass=mass, inertia=inertia, density=density, at=at, angle=angle, name=name,
            material=material, colour=colour,
        )  # fmt: skip

    def __getitem__(self, name: str) -> Body | PlanarJoint:
        for body in (self.ground, *self.bodies, *self.masses):
            if body.name == name:
                return body
        if name in self.joints:
            return self.joints[name]
        known = ", ".join(repr(known) for known in (*(body.name for body in self.bodies), *self.joints))
        raise ModelError(f"there is no body or joint {name!r}: there are {known or 'none'}")

    def material(self, one: str, other: str, *, e: Any = 0.0, mu: Any = 0.0, e_t: Any = 0.0) -> None:
        """Give contacts between two materials their numbers: restitution e, e_t and friction mu [-]."""
        self.materials.pair(one, other, Law(e=e, mu=mu, e_t=e_t))

    # ---- start

    def start(
        self,
        what: Body | Anchor,
        *,
        angle: float | None = None,
        speed: float | None = None,
        at: Sequence[float | None] | None = None,
        velocity: Sequence[float | None] | None = None,
    ) -> None:
        """Say how the motion starts; what is not said follows from the joints, or stays where it is, at rest.

        Parameters
        ----------
        what
            A body or a point of one.
        angle, speed
            Angle of the body [rad] and its rate [rad/s].
        at, velocity
            Place (x, y) [m] of the point (of a body: of its centre of mass) and its velocity [m/s]; None for a
            coordinate that is left open, as in at=(0.1, None).
        """
        where = anchor_of(what, "start")
        if where.body.ground:
            raise ModelError("the ground does not move: start needs a body or a point of one")
        self._own(where, "start")
        who = f"the start of {where.body.name!r}"
        given = [angle, speed, at, velocity]
        if all(value is None for value in given):
            raise ModelError(f"{who} says nothing: give angle= [rad], speed= [rad/s], at= [m] or velocity= [m/s]")
        places = (None, None) if at is None else _pair(at, f"at of {who}", open_=True)
        rates = (None, None) if velocity is None else _pair(velocity, f"velocity of {who}", open_=True)
        made = [(0, places[0], rates[0]), (1, places[1], rates[1])]
        made.append((2, _some(angle, f"angle of {who}"), _some(speed, f"speed of {who}")))
        for axis, value, rate in made:
            if value is None and rate is None:
                continue
            for old in self.start_rows:
                same = old.where.body is where.body and old.axis == axis and old.where.local == where.local
                if same and (
                    (value is not None and old.value is not None) or (rate is not None and old.rate is not None)
                ):
                    raise ModelError(f"{who} is given twice: once is enough")
            self.start_rows.append(StartRow(where, axis, value, rate))

    # ---- what joints, forces and contacts are made with

    def _name(self, given: str | None, default: str, what: str) -> str:
        """Return the name of something new, a default one with a number where it is taken."""
        if given is not None:
            if not isinstance(given, str) or not given:
                raise ModelError(f"the name of a {what} must be text, not {given!r}")
            if given in self._names:
                raise ModelError(f"two things are called {given!r}: names must differ")
            self._names.add(given)
            return given
        name, number = default, 2
        while name in self._names:
            name, number = f"{default} {number}", number + 1
        self._names.add(name)
        return name

    def _own(self, anchor: Anchor, who: str) -> Anchor:
        """Refuse a body of another mechanism."""
        if anchor.body is not self.ground and all(anchor.body is not body for body in self.bodies):
            raise ModelError(f"{who}: {anchor.body.name!r} is no body of this mechanism {self.name!r}")
        return anchor

    def _two(self, a: Any, b: Any, who: str) -> tuple[Anchor, Anchor]:
        """Return the points of two different bodies."""
        one, other = self._own(anchor_of(a, who), who), self._own(anchor_of(b, who), who)
        if one.body is other.body:
            raise ModelError(f"{who} is between {one.body.name!r} and itself: give it two bodies")
        return one, other

    def law(self, a: Body, b: Body, who: str, *, e: Any = None, mu: Any = None, e_t: Any = None) -> Law:
        """Return the numbers of a contact between two bodies: those given, else those of their materials."""
        return self.materials.law(a.material, b.material, who, e=e, mu=mu, e_t=e_t)

    def record_pair(
        self, name: str, kind: str, a: Body, b: Body, contacts: Sequence[str], outlines: tuple[int, int] = (0, 0)
    ) -> None:
        """Keep what results and drawings need of two shapes that may touch; outlines: which of each body."""
        self.pair_records.append((name, kind, (a, b), outlines, tuple(contacts)))

    def scene_pairs(self, numbers: Any) -> tuple[ScenePair, ...]:
        """Return the records of the pairs of shapes."""
        return tuple(
            ScenePair(name=name, kind=kind, bodies=(numbers[a], numbers[b]), outlines=outlines, contacts=contacts)
            for name, kind, (a, b), outlines, contacts in self.pair_records
        )

    def record_force(self, name: str, kind: str, *anchors: Anchor) -> None:
        """Keep what a drawing needs of a force."""
        self.force_records.append((name, kind, anchors))

    def scene_forces(self, numbers: Any) -> tuple[SceneForce, ...]:
        """Return the records of the forces."""
        return tuple(
            SceneForce(
                name=name, kind=kind, bodies=tuple(numbers[anchor.body] for anchor in anchors),
                anchors=tuple(anchor.local for anchor in anchors),
            )
            for name, kind, anchors in self.force_records
        )  # fmt: skip


def _pair(value: Any, who: str, *, open_: bool = False) -> tuple[Any, Any]:
    """Return two numbers, or None for those left open."""
    if not isinstance(value, Sequence) and not hasattr(value, "__len__"):
        raise ModelError(f"{who} is {value!r}: give two numbers (x, y)")
    if len(value) != 2:
        raise ModelError(f"{who} is {value!r}: give two numbers (x, y)")
    x, y = (None if open_ and entry is None else number_of(entry, who) for entry in value)
    return x, y


def unit(angle: float) -> tuple[float, float]:
    """Return a direction; along the axes without the rounding of pi."""
    quarters = angle / (math.pi / 2.0)
    if quarters == round(quarters):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round(quarters) % 4]
    return (math.cos(angle), math.sin(angle))


def _some(value: Any, who: str) -> float | None:
    return None if value is None else number_of(value, who)


def point_of(value: Any, who: str) -> Point:
    """Return a pair of numbers."""
    return _pair(value, who)
