"""How forces are made: springs, dampers, bushings, torsion springs, coil springs, motors, loads, functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from saltus.errors import ModelError
from saltus.mechanics import forces
from saltus.mechanics.body import Anchor, Body, Line, anchor_of, number_of
from saltus.mechanics.joining import Joining, direction_of
from saltus.mechanics.mechanism import PlanarJoint
from saltus.mechanics.rows import ContactRow, ForceRow


class Loading(Joining):
    """The forces of a mechanism."""

    def spring(
        self,
        a: Body | Anchor,
        b: Body | Anchor,
        *,
        k: Any,
        length: Any,
        c: Any = 0.0,
        name: str | None = None,
    ) -> str:
        """Stretch a spring of stiffness k [N/m] and free `length` [m] between two points, with a damper c [N s/m].

        Returns its name. A length of 0 gives a force k times the way between the points.
        """
        one, other, name = self._ends(a, b, name, "spring")
        self._positive(k, f"k of spring {name!r}", "N/m")
        self._positive(c, f"c of spring {name!r}", "N s/m", zero=True)
        if self._positive(length, f"length of spring {name!r}", "m", zero=True) == 0.0:
            p = (*one.local, *other.local, k, k, 0.0, c, c, 0.0, 0.0)
            return self._force(name, "spring", forces.bushing, (one, other), p)
        return self._force(name, "spring", forces.spring, (one, other), (*one.local, *other.local, k, length, c))

    def damper(self, a: Body | Anchor, b: Body | Anchor, *, c: Any, name: str | None = None) -> str:
        """Put a damper c [N s/m] along the line of two points, which must stay apart."""
        one, other, name = self._ends(a, b, name, "damper")
        self._positive(c, f"c of damper {name!r}", "N s/m")
        return self._force(name, "damper", forces.spring, (one, other), (*one.local, *other.local, 0.0, 0.0, c))

    def bushing(
        self,
        a: Body | Anchor,
        b: Body | Anchor,
        *,
        k: Any,
        k_turn: Any = 0.0,
        c: Any = 0.0,
        c_turn: Any = 0.0,
        angle: float = 0.0,
        name: str | None = None,
    ) -> str:
        """Hold a point of b at one of a by springs in the frame of a: a soft joint.

        k and c are one number or (along x, along y) [N/m], [N s/m]; k_turn [N m/rad], c_turn [N m s/rad] act against
        the turn from `angle` [rad].
        """
        one, other, name = self._ends(a, b, name, "bushing")
        stiffness, damping = (value if isinstance(value, list | tuple) else (value, value) for value in (k, c))
        for value in (*stiffness, *damping, k_turn, c_turn):
            self._positive(value, f"a number of bushing {name!r}", "N/m", zero=True)
        p = (*one.local, *other.local, *stiffness, k_turn, *damping, c_turn, angle)
        return self._force(name, "bushing", forces.bushing, (one, other), p)

    def torsion_spring(
        self, a: Body | Anchor, b: Body | Anchor, *, k: Any, angle: Any = 0.0, c: Any = 0.0, name: str | None = None
    ) -> str:
        """Turn b against a back to `angle` [rad] with k [N m/rad] and a damper c [N m s/rad]."""
        one, other, name = self._ends(a, b, name, "torsion spring")
        self._positive(k, f"k of torsion spring {name!r}", "N m/rad", zero=True)
        self._positive(c, f"c of torsion spring {name!r}", "N m s/rad", zero=True)
        return self._force(name, "torsion", forces.torsion, (one, other), (k, angle, c))

    def motor(
        self,
        what: Body | PlanarJoint,
        *,
        torque: Any = None,
        speed: Any = None,
        gain: Any = None,
        limit: Any = None,
        name: str | None = None,
    ) -> str:
        """Drive a body against the ground, or a revolute joint, by a torque.

        Parameters
        ----------
        torque
            [N m], a number or a function (t, angle, speed) of time, angle [rad] and speed [rad/s] of b in a.
        speed, gain, limit
            Instead of it: the torque gain (speed - present speed) [N m s/rad], at most `limit` [N m].
        """
        joint = self._driven(what)
        if joint.kind != "revolute":
            raise ModelError(
                f"motor needs a body or a revolute joint, and {joint.name!r} is {joint.kind}: take force()"
            )
        name = self._name(name, f"motor of {joint.name}", "force")
        ends = (joint.a, joint.b)
        if (torque is None) == (speed is None):
            raise ModelError(f"{name!r} needs either torque= [N m] or speed= [rad/s] with gain= and limit=")
        if speed is not None:
            if gain is None or limit is None:
                raise ModelError(f"{name!r} has speed = {speed}: give gain= [N m s/rad] and limit= [N m] too")
            self._positive(gain, f"gain of {name!r}", "N m s/rad")
            self._positive(limit, f"limit of {name!r}", "N m")
            return self._force(name, "motor", forces.speed_motor, ends, (speed, gain, limit))
        if callable(torque):
            return self._force(name, "motor", forces.given_torque(torque), ends, ())
        number_of(torque, f"torque of {name!r}")
        return self._force(name, "motor", forces.steady_torque, ends, (torque,))

    def load(self, where: Body | Anchor, force: Any, *, name: str | None = None) -> str:
        """Push a point by (fx, fy) [N] in fixed directions: two numbers, or a function of time that returns them."""
        anchor = self._own(anchor_of(where, "load"), "load")
        name = self._name(name, f"load on {anchor.body.name}", "force")
        if callable(force):
            return self._force(name, "load", forces.given_load(force), (anchor,), anchor.local)
        fx, fy = force
        for value in (fx, fy):
            number_of(value, f"force of {name!r}")
        return self._force(name, "load", forces.steady_load, (anchor,), (*anchor.local, fx, fy, 0.0))

    def force(self, function: Callable, *bodies: Body, name: str | None = None) -> str:
        """Add a force that is a function of the states of some bodies.

        function(t, q, v) sees tuples: q[0] = (x, y, angle) of the first body, v[0] its rates; it returns for every
        body (fx, fy, torque about its centre of mass) [N, N, N m].
        """
        if not callable(function) or not bodies:
            raise ModelError("force needs a function (t, q, v) and the bodies it acts on: force(function, crank, rod)")
        anchors = tuple(self._own(anchor_of(body, "force"), "force") for body in bodies)
        name = self._name(name, "force", "force")
        return self._force(name, "user", forces.given_force(function), anchors, ())

    def coil_spring(
        self,
        a: Body | Anchor,
        b: Body | Anchor,
        *,
        k: Any,
        length: float,
        mass: float,
        masses: int,
        axis: Any = None,
        c: Any = 0.0,
        solid: float | None = None,
        e: Any = 0.0,
        name: str | None = None,
    ) -> list[Body]:
        """Add a coil spring with mass along a line of the ground: `masses` bodies of one coordinate, returned in order.

        Parameters
        ----------
        a, b
            Where it begins (on the ground or on a body) and the point of a body where it ends.
        k, length
            Stiffness [N/m] and free length [m] of the whole.
        mass, masses
            Its mass [kg], and in how many bodies it is lumped.
        axis
            Direction of the line on the ground from a to b; None: that of the first places of both points.
        c
            Damping of the whole [N s/m].
        solid
            Length at which the windings touch [m]; with it, neighbours clash with restitution e. None: no clash.
        """
        one, other, name = self._ends(a, b, name, "coil spring")
        if other.body.ground:
            raise ModelError(f"coil spring {name!r} ends on the ground: let it begin there and end on a body")
        if isinstance(masses, bool) or not isinstance(masses, int) or masses < 1:
            raise ModelError(f"masses of coil spring {name!r} is {masses!r}: give a whole number of at least 1")
        for value, what, unit in ((k, "k", "N/m"), (length, "length", "m"), (mass, "mass", "kg")):
            self._positive(value, f"{what} of coil spring {name!r}", unit)
        if solid is not None and not 0.0 < number_of(solid, f"solid length of {name!r}") < length:
            raise ModelError(
                f"solid of coil spring {name!r} is {solid} m: it must lie between 0 and its length {length}"
            )
        angle = self._line_of(one, other, axis, name)
        line = Line(one, other, one.local if one.body.ground else (0.0, 0.0), (math.cos(angle), math.sin(angle)))
        made = [self._line_body(f"{name} {i + 1}", mass / masses, line, (i + 1) / (masses + 1)) for i in range(masses)]
        self._coil_parts(name, line, made, (k, length, c), solid, e)
        self.record_force(name, "coil", one, other)
        return made

    # ---- shared by the forces

    def _ends(self, a: Any, b: Any, name: str | None, kind: str) -> tuple[Anchor, Anchor, str]:
        one, other = self._two(a, b, f"{kind} {name!r}" if name else f"a {kind}")
        return one, other, self._name(name, f"{kind} {one.body.name}-{other.body.name}", kind)

    def _force(self, name: str, kind: str, kernel: Callable, anchors: tuple[Anchor, ...], p: tuple) -> str:
        bodies = tuple(anchor.body for anchor in anchors)
        self.force_rows.append(ForceRow(name=name, force=kernel, bodies=bodies, p=p))
        self.record_force(name, kind, *anchors)
        return name

    def _positive(self, value: Any, who: str, unit: str, *, zero: bool = False) -> float:
        number = number_of(value, who)
        if number < 0.0 or (number == 0.0 and not zero):
            raise ModelError(f"{who} is {number:g} {unit}: it must {'not be negative' if zero else 'be positive'}")
        return number

    def _line_of(self, one: Anchor, other: Anchor, axis: Any, name: str) -> float:
        """Return the direction of the line of a coil spring on the ground [rad]."""
        if axis is not None:
            return direction_of(axis, f"axis of coil spring {name!r}")
        ends = []
        for anchor in (one, other):
            x, y, angle = (0.0 if value is None else value for value in anchor.body.guess)
            c, s = math.cos(angle), math.sin(angle)
            ends.append((x + c * anchor.x - s * anchor.y, y + s * anchor.x + c * anchor.y))
        (xa, ya), (xb, yb) = ends
        if math.hypot(xb - xa, yb - ya) == 0.0:
            raise ModelError(f"coil spring {name!r} begins where it ends: give its axis=, or at= of its bodies")
        return math.atan2(yb - ya, xb - xa)

    def _line_body(self, name: str, mass: float, line: Line, share: float) -> Body:
        """Add a mass on a line, at first at a share of the way between its ends."""
        made = Body(self._name(name, name, "body"), mass, mass)
        made.size, made.line, made.share = 1, line, share
        self.masses.append(made)
        return made

    def _coil_parts(
        self, name: str, line: Line, masses: Sequence[Body], whole: tuple[Any, float, Any], solid: float | None, e: Any
    ) -> None:
        """Add springs and clashes between neighbours: n masses, n + 1 parts of n + 1 times the stiffness."""
        parts = len(masses) + 1
        k, length, c = whole
        part = (float(k) * parts, length / parts, float(c) * parts)
        for i in range(parts):
            if i == 0 and line.start.body.ground:
                bodies, kernels, more = (masses[0],), (forces.coil_root, forces.clash_root), (0.0,)
            elif i == 0:
                bodies, kernels = (line.start.body, masses[0]), (forces.coil_start, forces.clash_start)
                more = (*line.start.local, *line.origin, *line.direction)
            elif i == parts - 1:
                bodies, kernels = (masses[-1], line.end.body), (forces.coil_end, forces.clash_end)
                more = (*line.end.local, *line.origin, *line.direction)
            else:
                bodies, kernels, more = (masses[i - 1], masses[i]), (forces.coil, forces.clash), ()
            row = f"{name}.{i + 1}"
            self.force_rows.append(ForceRow(name=row, force=kernels[0], bodies=bodies, p=(*part, *more)))
            if solid is not None:
                self._name(row, row, "contact")
                p = (solid / parts, 0.0, 0.0, *more)
                self.contact_rows.append(ContactRow(name=row, gap=kernels[1], bodies=bodies, p=p, e=e))
