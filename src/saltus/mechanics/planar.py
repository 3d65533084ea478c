"""Planar: a mechanism in the plane, written in bodies, joints, forces and contacts, that makes an ordinary Problem.

    w = Planar(gravity=9.81)
    crank, rod = w.bar(0.153, mass=0.038), w.bar(0.306, mass=0.038)
    w.revolute(w.ground, crank.start)
    w.revolute(crank.end, rod.start)
    w.start(crank, angle=0.0, speed=150.0)
    sol = solve(w, (0.0, 0.05), tol=1e-6)

There is no second solver: `w.system()` is a System of families, `w.problem(t_span)` the same with its start, and
`solve(w, t_span)` is short for solving that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from saltus.errors import ModelError
from saltus.family import GROUND, BodyFamily
from saltus.mechanics import assemble, statics
from saltus.mechanics.assemble import Assembly, Frame
from saltus.mechanics.body import Anchor, Body, Line, free_mass, line_mass, line_weight, weight
from saltus.mechanics.place import rough_places
from saltus.mechanics.rows import contact_families, force_families, joint_families
from saltus.mechanics.scene import Point, Scene, SceneJoint
from saltus.mechanics.statics import Equilibrium, Modes
from saltus.mechanics.touching import Touching
from saltus.parameters import given
from saltus.problem import Problem, check_span
from saltus.system import System

CONTACT_TOLERANCE = 1e-10  # scaled residual of contact problems in time stepping


class Planar(Touching):
    """A mechanism in the plane.

    Parameters
    ----------
    gravity
        [m/s^2], downwards (against y), or a vector (x, y).
    name
        Of the system that it makes.
    impact
        Law of impacts of all contacts, "newton" or "poisson".
    """

    # ---- what it makes

    def problem(
        self,
        t_span: tuple[float, float],
        *,
        start: Assembly | Equilibrium | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Problem:
        """Return the system with its assembled start, or that of `start`, over a time span [s].

        `parameters` are values by name for which it is assembled: a start that depends on parameters is that of one
        run, and `solve(w, ..., parameters=...)` assembles it for its own.
        """
        begin = check_span(t_span)[0]
        with given(parameters):
            made = self.assemble(begin)
        system = self._system(begin, made.q)
        first = made if start is None else start
        return Problem(system, t_span, first.q, first.v, name=self.name)

    def system(self, t: float = 0.0) -> System:
        """Return the system of families; t [s] is the time of the start, which drives at a steady speed count from."""
        late = any(row.late is not None for row in (*self.joint_rows, *self.contact_rows))
        return self._system(t, self.assemble(t).q if late else None)

    def prepared(self, scheme: Any) -> Any:
        """Return a scheme as `solve` takes it for a mechanism; any other scheme as it is.

        MoreauJean() becomes MoreauJean(projection=True), which keeps joints closed and journals in their bearings, and
        with several contacts that rub its solver Portfolio(tol=1e-10): chains of pins are too badly conditioned for
        residuals of 1e-12. A scheme that names its own solver keeps it; solve(w.problem(...)) changes nothing.
        """
        from saltus.schemes import MoreauJean  # here, because a mechanism alone needs no scheme

        if not isinstance(scheme, MoreauJean) or scheme.projection is not False:
            return scheme
        from saltus.contact import Portfolio

        many = scheme.solver is None and len(self.contact_rows) > 1 and any(row.rubs for row in self.contact_rows)
        solver = Portfolio(tol=CONTACT_TOLERANCE) if many else scheme.solver
        return dataclasses.replace(scheme, projection=True, solver=solver)

    def equilibrium(self, t: float = 0.0, **options: Any) -> Equilibrium:
        """Return the rest under all loads that the assembled start creeps to (`statics.equilibrium`), at time t [s].

        `w.problem(t_span, start=w.equilibrium())` starts from there.
        """
        return statics.equilibrium(self.problem((t, t + 1.0)), **options)

    def modes(self, at: Any = None, t: float = 0.0, **options: Any) -> Modes:
        """Return the eigenmodes about a rest (None: its equilibrium), closed contacts held (`statics.modes`)."""
        problem = self.problem((t, t + 1.0))
        return statics.modes(problem, statics.equilibrium(problem) if at is None else at, **options)

    def assemble(self, t: float = 0.0) -> Assembly:
        """Return the start: places in which all joints close, velocities that agree, and what is to be said of them.

        Raises ModelError where joints cannot close, speeds contradict each other, or a part has no start.
        """
        self._check()
        frame, count = self._frame(), len(self.bodies)
        rough, moving = rough_places(self, frame)
        lengths = self._size()
        fixed_rows = [row for row in self.ideal_rows if row.late is None]
        q = assemble.close(fixed_rows, self.start_rows, frame, t, rough, lengths)
        rows = assemble.resolved(self.ideal_rows, frame, t, q)
        v = assemble.agree(rows, self.start_rows, frame, t, q, moving)
        held = assemble.resolved(self.joint_rows, frame, t, q)
        made = assemble.look(held, frame, t, q, v, lengths)
        self._check_started(made, frame)
        if not self.masses:
            return made
        places, speeds = zip(*(self._on_line(mass, frame, q, v) for mass in self.masses), strict=True)
        q, v = np.concatenate([q, places]), np.concatenate([v, speeds])
        return Assembly(q, v, made.freedom + len(q) - 3 * count, made.redundant, made.singular)

    @property
    def scene(self) -> Scene:
        """What it is made of, in records."""
        numbers, first = self._numbers(), 0
        bodies = [self.ground.scene(GROUND, -1)]
        for body in (*self.bodies, *self.masses):
            line = None if body.line is None else (GROUND, body.line.origin, body.line.direction)
            bodies.append(body.scene(numbers[body], first, line))
            first += body.size
        joints = tuple(
            SceneJoint(
                name=joint.name, kind=joint.kind, bodies=(numbers[joint.a.body], numbers[joint.b.body]),
                anchors=(joint.a.local, joint.b.local), angle=joint.angle, rows=tuple(joint.rows),
                contacts=tuple(joint.contacts), parts=tuple(joint.parts), clearance=float(joint.clearance),
                radius=float(joint.radius),
            )
            for joint in self.joints.values()
        )  # fmt: skip
        gravity: Point = (float(self.gravity[0]), float(self.gravity[1]))
        return Scene(
            name=self.name, bodies=tuple(bodies), joints=joints, pairs=self.scene_pairs(numbers),
            forces=self.scene_forces(numbers), gravity=gravity,
        )  # fmt: skip

    # ---- how

    def _system(self, t: float, q: np.ndarray | None) -> System:
        """Return the system of families; q: the start, where rows have numbers that it decides."""
        if not self.bodies:
            raise ModelError(f"mechanism {self.name!r} has no body: add one, like w.bar(0.1, mass=0.2)")
        numbers = self._numbers()
        heavy = any(float(value) != 0.0 for value in self.gravity)
        families = [
            BodyFamily(
                "body", 3, 3, free_mass, weight if heavy else None,
                p=[(body.mass, body.inertia, *self.gravity) for body in self.bodies],
                names=[body.name for body in self.bodies],
            )
        ]  # fmt: skip
        if self.masses:
            families.append(
                BodyFamily(
                    "mass", 1, 1, line_mass, line_weight if heavy else None,
                    p=[(mass.mass, self._along_gravity(mass)) for mass in self.masses],
                    names=[mass.name for mass in self.masses],
                )
            )  # fmt: skip
        return System(
            bodies=families,
            forces=force_families(self.force_rows, numbers),
            joints=joint_families(self._resolved(self.joint_rows, t, q), numbers),
            contacts=contact_families(self._resolved(self.contact_rows, t, q), numbers, self.impact),
            coordinates=[f"{body.name}.{axis}" for body, axis, _ in self._axes()],
            units=[unit for _, _, unit in self._axes()],
            name=self.name,
            scene=self.scene,
        )

    def _numbers(self) -> dict[Body, int]:
        return {self.ground: GROUND} | {body: k for k, body in enumerate((*self.bodies, *self.masses))}

    def _frame(self) -> Frame:
        """Return where the planar bodies lie among the coordinates."""
        first = {self.ground: -1} | {body: 3 * k for k, body in enumerate(self.bodies)}
        masses = [(float(body.mass), float(body.mass), float(body.inertia)) for body in self.bodies]
        return Frame(first, dict.fromkeys(self.bodies, 3), 3 * len(self.bodies), 1.0 / np.sqrt(np.ravel(masses)))

    def _resolved(self, rows: Sequence[Any], t: float, q: np.ndarray | None) -> Sequence[Any]:
        """Return rows with the numbers that the start decides."""
        return rows if q is None else assemble.resolved(rows, self._frame(), t, q)

    def _axes(self) -> list[tuple[Body, str, str]]:
        """Return the coordinates in order: body, name and unit."""
        planar = [
            (body, axis, unit) for body in self.bodies for axis, unit in (("x", "m"), ("y", "m"), ("angle", "rad"))
        ]
        return planar + [(mass, "way", "m") for mass in self.masses]

    def _size(self) -> float:
        """Return the size of the mechanism [m]: its largest distance from a centre of mass to a point."""
        reach = [float(np.hypot(*anchor.local)) for body in self.bodies for anchor in body.anchors.values()]
        reach += [float(np.hypot(*anchor.local)) for joint in self.joints.values() for anchor in (joint.a, joint.b)]
        return max([*reach, 1e-6])

    def _along_gravity(self, mass: Body) -> float:
        line = _line(mass)
        return float(self.gravity[0]) * line.direction[0] + float(self.gravity[1]) * line.direction[1]

    def _on_line(self, mass: Body, frame: Frame, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Return place and speed of a mass at its share of the way between the ends of its line."""
        line = _line(mass)
        (x, u), (y, w) = (_along(line, anchor, frame, q, v) for anchor in (line.start, line.end))
        return x + mass.share * (y - x), u + mass.share * (w - u)

    # ---- what is refused

    def _check(self) -> None:
        """Refuse bodies that hang on nothing."""
        if not self.bodies:
            raise ModelError(f"mechanism {self.name!r} has no body: add one, like w.bar(0.1, mass=0.2)")
        held = {
            body
            for rows in (self.ideal_rows, self.force_rows, self.contact_rows)
            for row in rows
            for body in row.bodies
        }
        for body in self.bodies:
            if body not in held and not self._has_start(body):
                raise ModelError(
                    f"body {body.name!r} hangs on nothing: no joint, force or contact names it; join it, or give its "
                    "start if it is to fly freely: at=(x, y)"
                )

    def _has_start(self, body: Body) -> bool:
        return any(value is not None for value in body.guess) or any(row.where.body is body for row in self.start_rows)

    def _check_started(self, made: Assembly, frame: Frame) -> None:
        """Refuse a part of the mechanism that can move and has no start at all."""
        if made.freedom == 0:
            return
        group = {body: {body} for body in self.bodies}
        for row in self.ideal_rows:
            bodies = [body for body in row.bodies if not body.ground]
            joined = set().union(*(group[body] for body in bodies)) if bodies else set()
            for body in joined:
                group[body] = joined
        driven = {body for row in self.ideal_rows if row.moving or row.since is not None for body in row.bodies}
        for body in self.bodies:
            together = group[body]
            if not any(self._has_start(one) or one in driven for one in together):
                names = ", ".join(repr(one.name) for one in self.bodies if one in together)
                raise ModelError(
                    f"nothing says where {names} start{'s' if len(together) == 1 else ''}: give "
                    f"w.start(body, angle=..., speed=...), or at= or angle= of a body"
                )


def _line(mass: Body) -> Line:
    if mass.line is None:
        raise ModelError(f"{mass.name!r} runs on no line")
    return mass.line


def _along(line: Line, anchor: Anchor, frame: Frame, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Return how far an anchor is along a line, and its rate."""
    first = frame.first[anchor.body]
    x, y, angle = q[first : first + 3] if first >= 0 else (0.0, 0.0, 0.0)
    u, w, spin = v[first : first + 3] if first >= 0 else (0.0, 0.0, 0.0)
    c, s = np.cos(angle), np.sin(angle)
    rx, ry = c * anchor.x - s * anchor.y, s * anchor.x + c * anchor.y
    way = line.direction[0] * (x + rx - line.origin[0]) + line.direction[1] * (y + ry - line.origin[1])
    return float(way), float(line.direction[0] * (u - spin * ry) + line.direction[1] * (w + spin * rx))
