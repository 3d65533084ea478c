"""How joints are made: revolute, prismatic, guide, slot, fixed, distance, coupling, drive, with stops and clearance.

What a joint cannot have is refused in a sentence:

| joint | clearance | stops | friction |
|---|---|---|---|
| revolute | journal in a bearing | of the angle | with clearance |
| prismatic, guide | four corners | of the way | with clearance |
| slot | two walls | of the way | with clearance |
| distance | a rod with play | - | - |
| fixed, coupling, drive | - | - | - |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from saltus.errors import ModelError
from saltus.mechanics import clearance as play
from saltus.mechanics import joints as rows
from saltus.mechanics.body import Anchor, Body, anchor_of, number_of
from saltus.mechanics.drives import angle_row, way_row
from saltus.mechanics.materials import Law
from saltus.mechanics.mechanism import Mechanism, PlanarJoint, unit
from saltus.mechanics.rows import ContactRow, JointRow
from saltus.parameters import Parameter

LEAST_CLEARANCE = 1e-7  # m: schemes take gaps below 1e-8 m for closed
GUIDE_CORNERS = (("upper rear", -1, 1), ("upper front", 1, 1), ("lower rear", -1, -1), ("lower front", 1, -1))


class Joining(Mechanism):
    """The joints of a mechanism."""

    def revolute(
        self,
        a: Body | Anchor,
        b: Body | Anchor,
        *,
        clearance: Any = 0.0,
        radius: float | None = None,
        e: Any = None,
        mu: Any = None,
        e_t: Any = None,
        stops: Sequence[float | None] | None = None,
        stop_e: Any = 0.0,
        name: str | None = None,
    ) -> PlanarJoint:
        """Let b turn about a point of a.

        Parameters
        ----------
        a, b
            Points of two bodies, like crank.end; a body stands for its centre, the ground for its origin.
        clearance
            Radial play [m]: 0 gives an ideal joint of two constraint rows, more gives one contact of the same name
            between the journal of b and the bearing of a, whose radii differ by it.
        radius
            Of the journal [m]; with friction it decides the moment.
        e, mu, e_t
            Numbers of the contact [-]; where they are left out, those of the materials of the bodies, else 0.
        stops, stop_e
            Least and largest angle of b in a [rad], None for an open side, and the restitution there.
        name
            Of the joint; "crank-rod" if left out.
        """
        joint = self._joint("revolute", a, b, name, clearance=clearance, radius=radius)
        self._ideal(joint, rows.revolute, 2, joint.anchors)
        law = self._law(joint, e, mu, e_t)
        if _plays(clearance):
            if radius is None:
                if _rubs(law.mu):
                    raise ModelError(
                        f"joint {joint.name!r} has friction and clearance: give the radius= of its pin [m]"
                    )
                joint.radius = 0.0
            p = (*joint.anchors, clearance, joint.radius)
            self._contact(joint, joint.name, "journal", play.journal, p, play.journal_slip, law)
        self._turn_stops(joint, stops, stop_e)
        return joint

    def prismatic(
        self,
        a: Body | Anchor,
        b: Body | Anchor,
        *,
        axis: Any = "x",
        angle: float = 0.0,
        clearance: Any = 0.0,
        length: float | None = None,
        height: float | None = None,
        e: Any = None,
        mu: Any = None,
        e_t: Any = None,
        stops: Sequence[float | None] | None = None,
        stop_e: Any = 0.0,
        name: str | None = None,
    ) -> PlanarJoint:
        """Let b slide along an axis of a without turning.

        Parameters
        ----------
        a, b
            Points of two bodies: that of b slides on the axis through that of a.
        axis
            Direction in the frame of a: "x", "y", an angle [rad] or a vector.
        angle
            Angle of b in a [rad].
        clearance
            Play to each side [m]: 0 gives two constraint rows, more the contacts of four corners with the two walls of
            the guide, "name.upper rear", "name.upper front", "name.lower rear", "name.lower front".
        length, height
            Size of the block along and across the axis [m], for clearance; those of the box that is its shape if left
            out.
        e, mu, e_t
            Numbers of the contacts, as for `revolute`.
        stops, stop_e
            Least and largest way [m], None for an open side, and the restitution there.
        """
        joint = self._joint("prismatic", a, b, name, clearance=clearance, axis=axis)
        turned = number_of(angle, f"angle of joint {joint.name!r}")
        self._ideal(joint, rows.prismatic, 2, (*joint.anchors, *joint.axis, turned))
        law = self._law(joint, e, mu, e_t)
        if _plays(clearance):
            self._corners(joint, turned, self._block_size(joint, length, height), law)
        self._slide_stops(joint, stops, stop_e)
        return joint

    def guide(
        self,
        block: Body | Anchor,
        *,
        axis: Any = "x",
        on: Body | Anchor | None = None,
        **options: Any,
    ) -> PlanarJoint:
        """Guide a block along an axis of the ground, or of the body `on`: prismatic(on, block, ...), same options."""
        return self.prismatic(self.ground if on is None else on, block, axis=axis, **options)

    def slot(
        self,
        a: Body | Anchor,
        b: Body | Anchor,
        *,
        axis: Any = "x",
        clearance: Any = 0.0,
        radius: float | None = None,
        e: Any = None,
        mu: Any = None,
        e_t: Any = None,
        stops: Sequence[float | None] | None = None,
        stop_e: Any = 0.0,
        name: str | None = None,
    ) -> PlanarJoint:
        """Let a pin of b run in a straight slot of a; it may turn there.

        Parameters
        ----------
        a, b
            A point on the middle line of the slot, and the pin.
        axis
            Direction of the slot in the frame of a: "x", "y", an angle [rad] or a vector.
        clearance
            Play to each side [m]: 0 gives one constraint row, more two contacts "name.left" and "name.right".
        radius
            Of the pin [m]; with friction it decides the moment.
        e, mu, e_t, stops, stop_e
            As for `prismatic`; the stops are those of the middle of the pin.
        """
        joint = self._joint("slot", a, b, name, clearance=clearance, radius=radius, axis=axis)
        self._ideal(joint, rows.slot, 1, (*joint.anchors, *joint.axis))
        law = self._law(joint, e, mu, e_t)
        if _plays(clearance):
            if radius is None and _rubs(law.mu):
                raise ModelError(f"joint {joint.name!r} has friction and clearance: give the radius= of its pin [m]")
            for side, sign in (("left", 1.0), ("right", -1.0)):
                p = (*joint.anchors, *joint.axis, clearance, joint.radius, sign)
                self._contact(joint, f"{joint.name}.{side}", "slot", play.wall, p, play.wall_slip, law)
        self._slide_stops(joint, stops, stop_e)
        return joint

    def fixed(
        self, a: Body | Anchor, b: Body | Anchor, *, angle: float = 0.0, name: str | None = None, **no: Any
    ) -> PlanarJoint:
        """Weld b to a at two points that coincide; `angle` of b in a [rad]. Three constraint rows."""
        joint = self._joint("fixed", a, b, name)
        _refuse(joint, no, "make one body of both, or a revolute joint with stops")
        self._ideal(joint, rows.fixed, 3, (*joint.anchors, number_of(angle, f"angle of joint {joint.name!r}")))
        return joint

    def distance(
        self,
        a: Body | Anchor,
        b: Body | Anchor,
        *,
        length: Any,
        clearance: Any = 0.0,
        e: Any = None,
        name: str | None = None,
        **no: Any,
    ) -> PlanarJoint:
        """Keep two points `length` [m] apart, as a rod without mass does.

        clearance [m]: 0 gives one constraint row, more a rod that may be longer and shorter by it: two contacts
        "name.long" and "name.short" with restitution e.
        """
        joint = self._joint("distance", a, b, name, clearance=clearance)
        _refuse(
            joint, no, "a rod has no surface and no way of its own: put stops and friction into the joints of a bar"
        )
        if not number_of(length, f"length of joint {joint.name!r}") > 0.0:
            raise ModelError(f"length of joint {joint.name!r} is {length}: it must be positive; else take revolute")
        self._ideal(joint, rows.distance, 1, (*joint.anchors, length))
        if _plays(clearance):
            law = self._law(joint, e, None, None)
            for side, sign in (("long", 1.0), ("short", -1.0)):
                p = (*joint.anchors, length, clearance, sign)
                self._contact(joint, f"{joint.name}.{side}", "end", play.rod_end, p, None, Law(e=law.e))
        return joint

    def coupling(
        self, a: Body, b: Body, *, ratio: Any, name: str | None = None, **no: Any
    ) -> PlanarJoint:  # fmt: skip
        """Couple the angles of two bodies as gears without play do: ratio times the angle of a plus that of b stays.

        ratio = teeth of a / teeth of b for wheels that turn against each other, negative for a belt or an inner gear.
        The phase is that of the start. One constraint row; with backlash take `gear`.
        """
        joint = self._joint("coupling", a, b, name)
        _refuse(joint, no, "take gear(..., backlash=...) for play, and stops in the joints of the wheels")
        number_of(ratio, f"ratio of joint {joint.name!r}")

        def phase(t: float, q: Any) -> float:
            return float(ratio) * q[0][2] + q[1][2]

        self._ideal(joint, rows.coupling, 1, (ratio, 0.0), late=(1, phase))
        return joint

    def drive(
        self,
        what: Body | PlanarJoint,
        *,
        speed: Any = None,
        angle: Callable | None = None,
        way: Callable | None = None,
        name: str | None = None,
        **no: Any,
    ) -> PlanarJoint:
        """Prescribe the motion of a body against the ground, or of a joint: one constraint row.

        Parameters
        ----------
        what
            A body (its angle), a revolute joint (the angle of b in a) or a prismatic joint or slot (the way of b).
        speed
            A steady speed [rad/s, or m/s], which goes on from the place of the start, or a `ramp`.
        angle, way
            The angle [rad] or way [m] as a function of time, instead of the speed.
        """
        target = self._driven(what)
        sliding = target.kind in ("prismatic", "slot")
        joint = self._joint("drive", target.a, target.b, name, default=f"drive of {target.name}")
        joint.angle = target.angle
        _refuse(joint, no, "what is prescribed has no play: take motor(...) and a joint with stops")
        given = [value for value in (speed, way if sliding else angle) if value is not None]
        if len(given) != 1 or (angle if sliding else way) is not None:
            kind = "way= (a function of time [m])" if sliding else "angle= (a function of time [rad])"
            raise ModelError(f"{joint.name!r} needs either speed= or {kind}")
        row = way_row if sliding else angle_row
        self._add_joint_row(joint, row(joint, speed, way if sliding else angle))
        return joint

    def stop(
        self,
        plane: Anchor | Body,
        point: Anchor | Body,
        *,
        normal: Any = None,
        radius: float = 0.0,
        e: Any = None,
        mu: Any = None,
        e_t: Any = None,
        name: str | None = None,
    ) -> str:
        """Stop a point, or a round nose of `radius` [m], at an endless plane of another body: one contact.

        Parameters
        ----------
        plane
            A point of the plane on the ground or on a body.
        point
            The point that is stopped.
        normal
            Direction out of the material, into the free side, in the frame of the body of the plane: "x", "y", an
            angle [rad] or a vector.
        e, mu, e_t
            Numbers of the contact [-]; where they are left out, those of the materials of the bodies, else 0.

        Returns
        -------
        str
            The name of the contact.
        """
        a, b = self._two(plane, point, f"stop {name!r}" if name else "a stop")
        name = self._name(name, f"stop {a.body.name}-{b.body.name}", "stop")
        up = math.pi / 2.0 if normal is None else direction_of(normal, f"normal of stop {name!r}")
        angle = a.angle + up - math.pi / 2.0
        axis = unit(angle)
        law = self.law(a.body, b.body, f"stop {name!r}", e=e, mu=mu, e_t=e_t)
        if not number_of(radius, f"radius of stop {name!r}") >= 0.0:
            raise ModelError(f"radius of stop {name!r} is {radius} m: it must not be negative")
        row = ContactRow(
            name=name, gap=rows.plane_stop, slip=rows.plane_slip, bodies=(a.body, b.body),
            p=(*a.local, *b.local, *axis, radius), e=law.e, mu=law.mu, e_t=law.e_t,
        )  # fmt: skip
        self.contact_rows.append(row)
        self.record_pair(name, "point-plane", a.body, b.body, (name,), (-1, -1))
        return name

    # ---- shared by the joints

    def _driven(self, what: Any) -> PlanarJoint:
        """Return the joint that a drive or a motor acts on; a body stands for its turn against the ground."""
        what = self[what] if isinstance(what, str) else what
        if isinstance(what, PlanarJoint):
            if what.kind not in ("revolute", "prismatic", "slot"):
                raise ModelError(f"joint {what.name!r} is {what.kind}: what moves must be revolute, prismatic or slot")
            return what
        if isinstance(what, Body) and not what.ground:
            return PlanarJoint(what.name, "revolute", self.ground.anchors["centre"], anchor_of(what, "drive"))
        raise ModelError(f"a drive moves a body or a joint, not {what!r}")

    def _joint(
        self, kind: str, a: Any, b: Any, name: str | None, *, clearance: Any = 0.0, radius: Any = None,
        axis: Any = None, default: str | None = None,
    ) -> PlanarJoint:  # fmt: skip
        """Return a new joint under its name, its numbers checked."""
        who = f"joint {name!r}" if name else f"a {kind} joint"
        one, other = self._two(a, b, who)
        name = self._name(name, default or f"{one.body.name}-{other.body.name}", "joint")
        number = number_of(clearance, f"clearance of joint {name!r}")
        if number < 0.0:
            raise ModelError(f"clearance of joint {name!r} is {number:g} m: it must be 0 (ideal) or positive")
        if 0.0 < number < LEAST_CLEARANCE:
            raise ModelError(
                f"clearance of joint {name!r} is {number:g} m, which no scheme can tell from 0: take 0 for an ideal "
                f"joint, or at least {LEAST_CLEARANCE:g} m"
            )
        if isinstance(clearance, Parameter) and number == 0.0:
            raise ModelError(
                f"clearance of joint {name!r} is parameter {clearance.label} = 0: whether a joint is ideal decides the "
                "model, so give the number 0, or a positive first value"
            )
        if radius is not None and not number_of(radius, f"radius of joint {name!r}") >= 0.0:
            raise ModelError(f"radius of joint {name!r} is {radius} m: it must not be negative")
        joint = PlanarJoint(name, kind, one, other, clearance=clearance, radius=0.0 if radius is None else radius)
        if axis is not None:
            joint.angle = one.angle + direction_of(axis, f"axis of joint {name!r}")
        self.joints[name] = joint
        return joint

    def _ideal(
        self, joint: PlanarJoint, kernel: Callable, size: int, p: tuple, late: tuple[int, Callable] | None = None
    ) -> None:
        """Add the rows of an ideal joint; one with clearance has them only while it is assembled."""
        row = JointRow(name=joint.name, constraint=kernel, size=size, bodies=joint.bodies, p=p, late=late)
        if _plays(joint.clearance):
            self.ideal_rows.append(row)
        else:
            self._add_joint_row(joint, row)

    def _add_joint_row(self, joint: PlanarJoint, row: JointRow) -> None:
        self.joint_rows.append(row)
        self.ideal_rows.append(row)
        joint.rows.append((row.name, row.size))

    def _law(self, joint: PlanarJoint, e: Any, mu: Any, e_t: Any) -> Law:
        """Return the numbers of the contacts of a joint; an ideal one has none, and no friction."""
        if _plays(joint.clearance):
            return self.law(*joint.bodies, f"joint {joint.name!r}", e=e, mu=mu, e_t=e_t)
        if mu is not None and (isinstance(mu, Parameter) or number_of(mu, f"mu of joint {joint.name!r}") != 0.0):
            raise ModelError(
                f"joint {joint.name!r} is ideal, so mu = {mu} has no contact to rub in: give clearance= [m] and "
                "radius=, or leave mu out and take a damper or motor(torque=...)"
            )
        return Law()

    def _contact(
        self, joint: PlanarJoint, name: str, part: str, gap: Callable, p: tuple, slip: Callable | None, law: Law,
        face: str | None = None,
    ) -> None:  # fmt: skip
        """Add a contact of a joint."""
        if name != joint.name:
            self._name(name, name, "contact")
        row = ContactRow(
            name=name, gap=gap, bodies=joint.bodies, p=p, slip=slip, e=law.e, mu=law.mu, e_t=law.e_t, face=face
        )
        self.contact_rows.append(row)
        joint.contacts.append(name)
        joint.parts.append(part)

    def _corners(self, joint: PlanarJoint, turn: float, size: tuple[float, float], law: Law) -> None:
        """Add the four corners of a block in its guide; those of one side are a face."""
        half_length, half_height = size
        inside = joint.angle - turn  # of the axis, in the frame of b
        x, y = unit(inside)
        for part, along, side in GUIDE_CORNERS:
            u, w = along * half_length, side * half_height
            corner = (joint.b.x + x * u - y * w, joint.b.y + y * u + x * w)
            p = (joint.a.x, joint.a.y, *corner, *joint.axis, half_height, joint.clearance, float(side))
            face = f"{joint.name}.{part.split()[0]}"
            self._contact(joint, f"{joint.name}.{part}", "corner", play.corner, p, play.corner_slip, law, face)

    def _block_size(self, joint: PlanarJoint, length: float | None, height: float | None) -> tuple[float, float]:
        """Return half length and half height of a block, from what is given or from the box that is its shape."""
        box = next(
            (shape for shape in joint.b.body.shapes if hasattr(shape, "width") and hasattr(shape, "height")), None
        )
        size = []
        for given, name in ((length, "width"), (height, "height")):
            if given is None and box is None:
                raise ModelError(
                    f"joint {joint.name!r} has clearance: give the length= and height= of its block [m], or give "
                    f"{joint.b.body.name!r} a Box as its shape"
                )
            value = number_of(getattr(box, name) if given is None else given, f"size of the block of {joint.name!r}")
            if not value > 0.0:
                raise ModelError(f"the block of joint {joint.name!r} has a size of {value} m: it must be positive")
            size.append(value / 2.0)
        return size[0], size[1]

    def _turn_stops(self, joint: PlanarJoint, stops: Any, e: Any) -> None:
        for side, bound, sign in self._stops(joint, stops):
            self._contact(joint, f"{joint.name}.{side}", "stop", rows.turn_stop, (bound, sign), None, Law(e=e))

    def _slide_stops(self, joint: PlanarJoint, stops: Any, e: Any) -> None:
        for side, bound, sign in self._stops(joint, stops):
            p = (*joint.anchors, *joint.axis, bound, sign)
            self._contact(joint, f"{joint.name}.{side}", "stop", rows.slide_stop, p, None, Law(e=e))

    def _stops(self, joint: PlanarJoint, stops: Any) -> list[tuple[str, Any, float]]:
        """Return name, bound and side of the stops of a joint."""
        if stops is None:
            return []
        if not isinstance(stops, Sequence) or len(stops) != 2 or all(bound is None for bound in stops):
            raise ModelError(
                f"stops of joint {joint.name!r} are {stops!r}: give (least, largest), None for an open side"
            )
        numbers = [None if bound is None else number_of(bound, f"a stop of joint {joint.name!r}") for bound in stops]
        if numbers[0] is not None and numbers[1] is not None and not numbers[0] < numbers[1]:
            raise ModelError(f"stops of joint {joint.name!r} are {stops!r}: the least must lie below the largest")
        made = [("lower", stops[0], 1.0), ("upper", stops[1], -1.0)]
        return [stop for stop in made if stop[1] is not None]


def direction_of(axis: Any, who: str) -> float:
    """Return an axis as its angle [rad]."""
    if axis == "x" if isinstance(axis, str) else False:
        return 0.0
    if isinstance(axis, str) and axis == "y":
        return math.pi / 2.0
    if isinstance(axis, Sequence | np.ndarray) and not isinstance(axis, str) and len(axis) == 2:
        x, y = (number_of(value, who) for value in axis)
        if x == y == 0.0:
            raise ModelError(f"{who} is (0, 0): it must have a direction")
        return math.atan2(y, x)
    if isinstance(axis, str):
        raise ModelError(f"{who} is {axis!r}: give 'x', 'y', an angle [rad] or a vector")
    return number_of(axis, who)


def _plays(clearance: Any) -> bool:
    return isinstance(clearance, Parameter) or clearance > 0.0


def _rubs(mu: Any) -> bool:
    return isinstance(mu, Parameter) or mu > 0.0


def _refuse(joint: PlanarJoint, given: dict[str, Any], remedy: str) -> None:
    """Refuse clearance, stops and friction of a joint that has none."""
    for option, value in given.items():
        if option in ("clearance", "stops", "mu", "e", "e_t", "radius", "stop_e"):
            if value is None or (option != "stops" and not isinstance(value, Parameter) and value == 0.0):
                continue
            raise ModelError(f"a {joint.kind} joint has no {option} ({joint.name!r}: {option} = {value!r}): {remedy}")
        raise TypeError(f"a {joint.kind} joint has no option {option!r}")
