"""Picture: what there is to draw of a run and how it moves, the same for mechanisms and for sketches."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError
from saltus.family import GROUND
from saltus.mechanics.scene import Outline, Scene, SceneBody
from saltus.results.body import places_of, poses_of, rates_of
from saltus.view.frames import contact_bodies
from saltus.view.sketch import FIXED, Follow, Place, Sketch, Solid

if TYPE_CHECKING:
    from saltus.solution import Solution

PLANAR_POSE, SPATIAL_POSE = 3, 7  # numbers of a pose: x, y, angle; x, y, z and a quaternion


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A body as it is drawn: outlines in the plane or solids in space; a dot where it has neither."""

    name: str
    outlines: tuple[Any, ...] = ()  # of a mechanism or of a sketch, which look alike
    solids: tuple[Solid, ...] = ()
    colour: str | None = None


@dataclasses.dataclass(frozen=True)
class Spot:
    """A point of a body [m], in its frame; body -1: of the ground."""

    body: int
    at: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Touching:
    """Where a contact is drawn: constant in the frame of its body, or (`frames`) as a table over time."""

    name: str
    body: int = -1
    at: tuple[float, ...] = ()
    normal: tuple[float, ...] = ()
    tangents: tuple[tuple[float, ...], ...] = ()
    turning: bool = False
    frames: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Picture:
    """Everything that is drawn, and `motion`, which knows where it is."""

    dimension: int
    bodies: tuple[Drawn, ...]
    motion: Any
    fixed: tuple[Any, ...] = ()
    floors: tuple[float, ...] = ()
    springs: tuple[tuple[Spot, Spot], ...] = ()
    pins: tuple[tuple[Spot, bool], ...] = ()  # and whether it is on the ground
    contacts: tuple[Touching, ...] = ()

    @property
    def columns(self) -> int:
        """Numbers of a pose."""
        return PLANAR_POSE if self.dimension == 2 else SPATIAL_POSE


def picture_of(solution: Solution, scene: Any = None, frames: np.ndarray | None = None) -> Picture:
    """Return what there is to draw; frames: those of the contacts of a mechanism at many times (frames.py)."""
    scene = solution.system.scene if scene is None else scene
    if isinstance(scene, Sketch):
        check_sketch(scene, solution.q.shape[1], solution.system.contact_names)
        return _sketched(scene, solution.system.contact_names)
    if not isinstance(scene, Scene):
        raise SettingError(
            "the run has nothing to draw: its system was not made by saltus.mechanics and carries no sketch; give "
            "view(scene=Sketch(...)), see docs/view.md"
        )
    return _mechanism(scene, solution, frames)


def check_sketch(sketch: Sketch, nq: int, contacts: tuple[str, ...]) -> None:
    """Refuse a sketch that follows coordinates or names contacts that are not there."""
    for part in sketch.parts:
        columns = [column for one in (*part.at, part.angle) for column, _ in one.terms]
        columns += [] if part.turn is None else [part.turn + 3]
        if any(column >= nq for column in columns):
            raise SettingError(
                f"part {part.name!r} of the sketch follows q[{max(columns)}], but the run has {nq} coordinates"
            )
    for touch in sketch.touches:
        if touch.contact not in contacts:
            known = ", ".join(map(repr, contacts)) or "none"
            raise SettingError(f"the sketch draws a contact {touch.contact!r}, but the run has {known}")


# ---- mechanisms


@dataclasses.dataclass(frozen=True)
class MechanismMotion:
    """Poses of the bodies of a mechanism."""

    bodies: tuple[SceneBody, ...]

    def poses(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return x, y, angle of every body (times, bodies, 3)."""
        return np.stack([poses_of(body, q) for body in self.bodies], axis=1)

    def rates(self, t: np.ndarray, q: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
        """Return their rates."""
        return np.stack([rates_of(body, q_dot) for body in self.bodies], axis=1)


def _mechanism(scene: Scene, solution: Solution, frames: np.ndarray | None) -> Picture:
    moving = tuple(body for body in scene.bodies if body.number != GROUND)
    motion = MechanismMotion(moving)
    contacts = _mechanism_contacts(scene, solution, frames)
    drawn = [_drawn(scene, body, contacts) for body in moving]
    pins = tuple(
        (Spot(joint.bodies[1], joint.anchors[1]), GROUND in joint.bodies)
        for joint in scene.joints
        if joint.kind in ("revolute", "distance")
    )
    springs = tuple(
        tuple(Spot(body, at) for body, at in zip(force.bodies[:2], force.anchors[:2], strict=True))
        for force in scene.forces
        if len(force.anchors) >= 2 and force.kind != "motor"
    )
    fixed = list(scene.body(GROUND).outlines)
    poses = motion.poses(solution.t, solution.q)
    for joint in scene.joints:
        if joint.clearance > 0.0:
            for body, outlines in _play(scene, joint, contacts, poses, solution):
                if body == GROUND:
                    fixed += outlines
                else:
                    drawn[body] = dataclasses.replace(drawn[body], outlines=(*drawn[body].outlines, *outlines))
    return Picture(2, tuple(drawn), motion, tuple(fixed), (), springs, pins, contacts)  # pyright: ignore[reportArgumentType]


def _mechanism_contacts(scene: Scene, solution: Solution, frames: np.ndarray | None) -> tuple[Touching, ...]:
    names, bodies = solution.system.contact_names, contact_bodies(scene)
    made = []
    for c, name in enumerate(names):
        body = bodies.get(name, (-1, None))[0]
        if frames is None or body < 0 or not np.any(frames[:, c]):
            made.append(Touching(name))
            continue
        own = frames[:, c]
        spread = np.ptp(own, axis=0)
        if spread[:2].max() <= 1e-9 * max(1e-9, np.abs(own[:, :2]).max()) and spread[2:].max() <= 1e-9:
            at, normal, tangent = (tuple(float(x) for x in own[0, k : k + 2]) for k in (0, 2, 4))
            made.append(Touching(name, body, at, normal, (tangent,)))
        else:
            made.append(Touching(name, body, frames=own))
    return tuple(made)


def _drawn(scene: Scene, body: SceneBody, contacts: tuple[Touching, ...]) -> Drawn:
    """Return a body with its outlines; one without any is drawn through the points where something acts on it."""
    if body.size != 3:
        return Drawn(body.name, colour=body.colour)
    if any(outline.kind != "line" for outline in body.outlines):
        return Drawn(body.name, body.outlines, colour=body.colour)
    records = (*scene.joints, *scene.forces)
    arms = [at for one in records for who, at in zip(one.bodies, one.anchors, strict=False) if who == body.number]
    arms += [one.at for one in contacts if one.body == body.number and one.at]
    points = hull(np.array(list(dict.fromkeys((round(x, 12), round(y, 12)) for x, y in arms))).reshape(-1, 2))
    listed = tuple((float(x), float(y)) for x, y in points)
    if len(listed) >= 3:
        outline = (Outline(kind="polygon", points=listed),)
    elif len(listed) == 2:
        outline = (Outline(kind="capsule", points=listed),)
    else:
        outline = ()
    return Drawn(body.name, (*outline, *body.outlines), colour=body.colour)


def hull(points: np.ndarray) -> np.ndarray:
    """Return the convex hull of points in the plane, counterclockwise (Andrew 1979)."""
    if len(points) < 3:
        return points
    order = points[np.lexsort((points[:, 1], points[:, 0]))]

    def half(listed):
        made: list[np.ndarray] = []
        for p in listed:
            while len(made) > 1 and np.linalg.det(np.array([made[-1] - made[-2], p - made[-2]])) <= 0.0:
                made.pop()
            made.append(p)
        return made[:-1]

    return np.array(half(order) + half(order[::-1]))


def _play(scene: Scene, joint: Any, contacts: tuple[Touching, ...], poses: np.ndarray, solution: Solution):
    """Yield what shows the clearance of a joint: a bearing and its pin, or the two sides of a guide."""
    a, b = joint.bodies
    if joint.kind == "revolute" and joint.radius > 0.0:
        bearing = Outline(kind="circle", points=(joint.anchors[0],), radius=joint.radius + joint.clearance, solid=False)
        yield a, (bearing,)
        yield b, (Outline(kind="circle", points=(joint.anchors[1],), radius=joint.radius),)
        return
    corners = [one for one in contacts if one.name in joint.contacts and one.body == b and one.at]
    if joint.kind != "prismatic" or a != GROUND or not corners:
        return
    c, s = np.cos(joint.angle), np.sin(joint.angle)
    axis, across, origin = np.array([c, s]), np.array([-s, c]), np.array(joint.anchors[0])
    gaps = dict(zip(solution.system.contact_names, solution.gaps()[0], strict=True))
    ways = np.concatenate([(places_of(poses[:, b], one.at) - origin) @ axis for one in corners])
    low, high = float(ways.min()), float(ways.max())
    room = 0.1 * (high - low)
    for side in (1.0, -1.0):
        near = [one for one in corners if side * float(np.dot(one.normal, across)) < -0.5]
        if near:
            place = places_of(poses[:1, b], near[0].at)[0] - np.array(near[0].normal) * gaps[near[0].name]
            off = float((place - origin) @ across)
            ends = [origin + off * across + way * axis for way in (low - room, high + room)]
            ends = ends[::-1] if side > 0.0 else ends  # what is solid lies to the right
            yield GROUND, (Outline(kind="line", points=tuple((float(x), float(y)) for x, y in ends)),)


# ---- sketches


@dataclasses.dataclass(frozen=True)
class SketchMotion:
    """Poses of the parts of a sketch, each in the frame of its carrier."""

    sketch: Sketch

    def poses(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the pose of every part (times, parts, 3 or 7)."""
        if self.sketch.dimension == 3:
            made = np.zeros((len(t), len(self.sketch.parts), SPATIAL_POSE))
            made[:, :, 3] = 1.0
            for k, part in enumerate(self.sketch.parts):
                for axis, one in enumerate(part.at):
                    made[:, k, axis] = _value(one, t, q)
                if part.turn is not None:
                    made[:, k, 3:] = q[:, part.turn : part.turn + 4]
            return made
        made = np.zeros((len(t), len(self.sketch.parts), PLANAR_POSE))
        for k, part in enumerate(self.sketch.parts):
            x, y = (_value(one, t, q) for one in part.at)
            made[:, k, 2] = _value(part.angle, t, q)
            if part.carrier != FIXED:
                cx, cy, turn = made[:, part.carrier].T
                c, s = np.cos(turn), np.sin(turn)
                x, y = cx + c * x - s * y, cy + s * x + c * y
            made[:, k, 0], made[:, k, 1] = x, y
        return made

    def rates(self, t: np.ndarray, q: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
        """Return their rates."""
        if self.sketch.dimension == 3:
            made = np.zeros((len(t), len(self.sketch.parts), SPATIAL_POSE))
            for k, part in enumerate(self.sketch.parts):
                for axis, one in enumerate(part.at):
                    made[:, k, axis] = _slope(one, t, q_dot)
                if part.turn is not None:
                    made[:, k, 3:] = q_dot[:, part.turn : part.turn + 4]
            return made
        poses, made = self.poses(t, q), np.zeros((len(t), len(self.sketch.parts), PLANAR_POSE))
        for k, part in enumerate(self.sketch.parts):
            x_dot, y_dot = (_slope(one, t, q_dot) for one in part.at)
            made[:, k, 2] = _slope(part.angle, t, q_dot)
            if part.carrier != FIXED:
                cx_dot, cy_dot, spin = made[:, part.carrier].T
                c, s = np.cos(poses[:, part.carrier, 2]), np.sin(poses[:, part.carrier, 2])
                arm = poses[:, k, :2] - poses[:, part.carrier, :2]
                x_dot, y_dot = c * x_dot - s * y_dot, s * x_dot + c * y_dot
                x_dot, y_dot = x_dot + cx_dot - spin * arm[:, 1], y_dot + cy_dot + spin * arm[:, 0]
            made[:, k, 0], made[:, k, 1] = x_dot, y_dot
        return made


def _value(one: Follow, t: np.ndarray, q: np.ndarray) -> np.ndarray:
    made = np.full(len(t), one.constant)
    for column, factor in one.terms:
        made = made + factor * q[:, column]
    for amplitude, omega, phase in one.waves:
        made = made + amplitude * np.sin(omega * t + phase)
    return made


def _slope(one: Follow, t: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
    made = np.zeros(len(t))
    for column, factor in one.terms:
        made = made + factor * q_dot[:, column]
    for amplitude, omega, phase in one.waves:
        made = made + amplitude * omega * np.cos(omega * t + phase)
    return made


def _sketched(sketch: Sketch, names: tuple[str, ...]) -> Picture:
    touches = {touch.contact: touch for touch in sketch.touches}
    contacts = tuple(
        Touching(name, touch.place.part, touch.place.at, touch.normal, touch.tangents, touch.turning)
        if (touch := touches.get(name)) is not None
        else Touching(name)
        for name in names
    )
    pins = tuple(
        (Spot(part.carrier, tuple(one.constant for one in part.at)), part.carrier == FIXED)
        for part in sketch.parts
        if sketch.dimension == 2
        and any(outline.kind == "capsule" and outline.points[0] == (0.0, 0.0) for outline in part.outlines)
        and not any(one.terms or one.waves for one in part.at)
    )
    return Picture(
        sketch.dimension,
        tuple(Drawn(part.name, part.outlines, part.solids, part.colour) for part in sketch.parts),
        SketchMotion(sketch),
        tuple(sketch.fixed),
        tuple(sketch.floors),
        tuple((_spot(first), _spot(second)) for first, second in sketch.springs),
        pins,
        contacts,
    )


def _spot(place: Place) -> Spot:
    return Spot(place.part, place.at)
