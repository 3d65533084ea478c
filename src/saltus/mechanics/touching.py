"""What may touch in a mechanism: pairs of shapes, cams and their followers, gears with backlash."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from saltus.errors import ModelError
from saltus.mechanics import gear as gears
from saltus.mechanics.body import Anchor, Body, ShapeOf, number_of
from saltus.mechanics.cam import Cam
from saltus.mechanics.loading import Loading
from saltus.mechanics.pairs import Row, pair_rows
from saltus.mechanics.rows import ContactRow
from saltus.mechanics.scene import Outline, Shape


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """One side of a contact: its body and its shapes with their numbers among those of the body (-1: a point)."""

    body: Body
    shapes: tuple[tuple[int, Any], ...]


class Touching(Loading):
    """Contacts of a mechanism; `Planar` is what users make."""

    def contact(
        self,
        a: Body | ShapeOf | Anchor,
        b: Body | ShapeOf | Anchor | Shape,
        *,
        e: Any = None,
        mu: Any = None,
        e_t: Any = None,
        inside: bool = False,
        towards: float = math.pi / 2.0,
        name: str | None = None,
    ) -> tuple[str, ...]:
        """Let two bodies touch each other with their shapes; returns the names of the contacts.

        Parameters
        ----------
        a, b
            Bodies with all their shapes, one of them (body.shape(0)), points (a sharp tip), or for b a shape that is
            fixed to the ground, such as Plane().
        e, mu, e_t
            Restitution, friction, tangential restitution; those of the materials where they are left out.
        inside
            a lies inside of b, a circle or polygon that encloses it.
        towards
            Of a cam and a roller: direction in the fixed frame from the cam to the roller [rad], roughly.
        name
            Of the pair; a pair of several rows has contacts `name.corner1`, `name.face2`, ...
        """
        default = f"{_called(a)}-{_called(b)}"
        name = self._name(name, default, "contact")
        who = f"contact {name!r}"
        one, other = self._side(a, who), self._side(b, who)
        if one.body is other.body:
            raise ModelError(f"{who} is between {one.body.name!r} and itself: give it two bodies")
        law = self.law(one.body, other.body, who, e=e, mu=mu, e_t=e_t)
        several = len(one.shapes) * len(other.shapes) > 1
        made: list[str] = []
        for i, first in one.shapes:
            for j, second in other.shapes:
                own = f"{name}.{i + 1}-{j + 1}" if several else name
                rows = self._rows(one.body, first, other.body, second, inside, towards, who)
                names = [f"{own}.{row.part}" if row.part else own for row in rows]
                for row, called in zip(rows, names, strict=True):
                    bodies = (other.body, one.body) if row.swapped else (one.body, other.body)
                    self.contact_rows.append(
                        ContactRow(
                            name=called, gap=row.kernel.gap, slip=row.kernel.slip, bodies=bodies, p=row.p, e=law.e,
                            mu=law.mu, e_t=law.e_t, face=own if len(rows) > 1 else None,
                        )
                    )  # fmt: skip
                self._names.update(names)
                kind = rows[0].kernel.name
                self.record_pair(own, kind, one.body, other.body, names, (max(i, 0), max(j, 0)))
                made += names
        return tuple(made)

    def gear(
        self,
        a: Body | Anchor,
        b: Body | Anchor,
        *,
        teeth: tuple[int, int],
        module: float,
        backlash: float,
        pressure_angle: float = math.radians(20.0),
        internal: bool = False,
        e: Any = None,
        mu: Any = None,
        name: str | None = None,
    ) -> tuple[str, str]:
        """Let two gears mesh with play; returns the names of the contacts of both flanks.

        Parameters
        ----------
        a, b
            Bodies that turn about their centres, or points of bodies about which they turn.
        teeth, module
            Numbers of teeth of a and b; diameter of the pitch circle over the teeth [m].
        backlash
            Play between the flanks along the line of action [m], at the distance module (teeth a + teeth b) / 2 of
            their axes. The teeth start in the middle of it.
        pressure_angle
            Of the teeth [rad].
        internal
            Whether a is a ring with its teeth inside, in which b runs; the distance of their axes is then
            module (teeth a - teeth b) / 2.
        e, mu
            Restitution and friction of the flanks.
        name
            Of the pair: its flanks are `name.drive`, which keeps a from falling behind b, and `name.coast`.
        """
        name = self._name(name, f"{_called(a)}-{_called(b)}", "gear")
        who = f"gear {name!r}"
        one, other = self._two(a, b, who)
        made = gears.gear_data(teeth, module, backlash, pressure_angle, who, internal)
        law = self.law(one.body, other.body, who, e=e, mu=mu)
        phase = gears.mesh_phase(one.local, other.local, made.radii)
        names = (f"{name}.drive", f"{name}.coast")
        for called, side in zip(names, (1.0, -1.0), strict=True):
            self.contact_rows.append(
                ContactRow(
                    name=called, gap=gears.flank, slip=gears.flank_slip, bodies=(one.body, other.body),
                    p=made.p(one.local, other.local, side), e=law.e, mu=law.mu, late=(gears.PHASE, phase),
                )
            )  # fmt: skip
        self._names.update(names)
        # drawn as they mesh at the angles 0 with b to the right of a: a tooth against a gap
        facing = (0.0, 0.0 if internal else math.pi + math.pi / teeth[1])
        for anchor, z, first in zip((one, other), teeth, facing, strict=True):
            ring = internal and anchor is one
            anchor.body.drawn.append(gears.wheel(anchor.local, z, module, first, ring=ring))
        outlines = tuple(len(anchor.body.shapes) + len(anchor.body.drawn) - 1 for anchor in (one, other))
        self.record_pair(name, "gear", one.body, other.body, names, (outlines[0], outlines[1]))
        return names

    # ---- how

    def _side(self, what: Any, who: str) -> Side:
        """Return the body and shapes of what may touch."""
        if isinstance(what, Anchor):
            return Side(self._own(what, who).body, ((-1, what),))
        if isinstance(what, ShapeOf):
            return Side(self._own(what.body.anchors["centre"], who).body, ((what.number, what.shape),))
        if isinstance(what, Body):
            self._own(what.anchors["centre"], who)
            if not what.shapes:
                raise ModelError(
                    f"{who}: body {what.name!r} has no shape that could touch; give it one, like Circle(0.05)"
                )
            return Side(what, tuple(enumerate(what.shapes)))
        if isinstance(what, Shape):
            self.ground.shapes.append(what)
            return Side(self.ground, ((len(self.ground.shapes) - 1, what),))
        raise ModelError(f"{who} needs bodies with shapes, points, or a shape on the ground, not {what!r}")

    def _rows(self, a: Body, one: Any, b: Body, other: Any, inside: bool, towards: float, who: str) -> list[Row]:
        """Return the rows of two shapes; swapped: b is in slot 0."""
        if isinstance(one, Cam) and isinstance(other, Cam):
            raise ModelError(f"{who} is between two cams: a cam meets a Plane or a Circle")
        if isinstance(other, Cam):
            number_of(towards, f"towards of {who}")
            return other.rows(b.centre_of_mass, _outline(one, a), towards, who)
        if isinstance(one, Cam):
            made = one.rows(a.centre_of_mass, _outline(other, b), towards, who)
            return [dataclasses.replace(row, swapped=not row.swapped) for row in made]
        return pair_rows(_outline(one, a), _outline(other, b), inside=inside, who=who)


def _outline(shape: Any, body: Body) -> Outline:
    if isinstance(shape, Anchor):
        return Outline(kind="circle", points=(shape.local,))
    return shape.outline(body.centre_of_mass)


def _called(what: Any) -> str:
    if isinstance(what, Anchor):
        return what.body.name if what.name in (None, "centre") else f"{what.body.name}.{what.name}"
    if isinstance(what, ShapeOf):
        return what.body.name
    return what.name if isinstance(what, Body) else type(what).__name__.lower()
