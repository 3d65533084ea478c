"""The scene of a mechanism in a file: plain records as JSON, believed only where they fit each other and the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from saltus.io import words
from saltus.io.words import taken
from saltus.mechanics.scene import Outline, Scene, SceneBody, SceneForce, SceneJoint, ScenePair

LEAST_POINTS = {"circle": 1, "polygon": 3, "line": 2, "capsule": 2}
POINT = words.row(words.finite, words.finite)
POINTS = words.many(POINT)


def described(scene: Scene | None) -> dict[str, Any] | None:
    """Return a scene as JSON values."""
    return None if scene is None else dataclasses.asdict(scene)


def scene_of(given: dict[str, Any] | None, nq: int, contacts: Sequence[str], joints: Sequence[str]) -> Scene | None:
    """Return the scene of a file; ValueError where its records do not fit the coordinates, contacts and joints."""
    if given is None:
        return None
    bodies = tuple(_body(one, k - 1, nq) for k, one in enumerate(taken(given, "bodies", words.many(words.obj))))
    if not bodies:
        raise ValueError("the scene has no ground")
    count, known = len(bodies) - 1, frozenset(contacts)
    made = Scene(
        name=taken(given, "name", words.shown),
        bodies=bodies,
        joints=tuple(_joint(one, count, known, frozenset(joints)) for one in _records(given, "joints")),
        pairs=tuple(_pair(one, bodies, known) for one in _records(given, "pairs")),
        forces=tuple(_force(one, count) for one in _records(given, "forces")),
        gravity=taken(given, "gravity", POINT, (0.0, 0.0)),
        dimension=taken(given, "dimension", words.count, 2),
    )
    _once("bodies", [one.name for one in made.bodies])
    _once("joints", [one.name for one in made.joints])
    taken_by = [place for one in made.bodies for place in range(one.first, one.first + one.size)]
    if len(set(taken_by)) < len(taken_by):
        raise ValueError("two bodies of the scene have the same coordinates")
    if made.dimension != 2:
        raise ValueError(f"the scene has {made.dimension} dimensions, of which this version knows 2")
    return made


def _once(what: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two {what} of the scene are called {twice!r:.60}")


def _records(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return taken(given, name, words.many(words.obj), [])


def _body(given: dict[str, Any], number: int, nq: int) -> SceneBody:
    first, size = taken(given, "first", words.whole), taken(given, "size", words.count)
    if taken(given, "number", words.whole) != number:
        raise ValueError("the bodies of the scene are not in their order")
    if number >= 0 and (size not in (1, 3) or first < 0 or first + size > nq):
        raise ValueError(f"body {number} of the scene has coordinates that are not there")
    line = taken(given, "line", words.maybe(words.row(words.whole, POINT, POINT)), None)
    if (number >= 0 and (size == 1) != (line is not None)) or (line is not None and line[0] != -1):
        raise ValueError(f"body {number} of the scene runs on no line of the ground")
    return SceneBody(
        number=number,
        name=taken(given, "name", words.shown),
        first=first,
        size=size if number >= 0 else 0,
        mass=taken(given, "mass", words.finite),
        inertia=taken(given, "inertia", words.finite),
        points=taken(given, "points", words.table(POINT), {}),
        outlines=tuple(outline_of(one) for one in _records(given, "outlines")),
        colour=taken(given, "colour", words.maybe(words.shown), None),
        line=line,
    )


def outline_of(given: dict[str, Any]) -> Outline:
    kind, points = taken(given, "kind", words.text), taken(given, "points", POINTS)
    if kind not in LEAST_POINTS or len(points) < LEAST_POINTS[kind]:
        raise ValueError(f"an outline of the scene is a {kind!r:.40} of {len(points)} points")
    radius = words.not_negative(taken(given, "radius", words.finite, 0.0))
    solid = taken(given, "solid", words.truth, True)
    return Outline(kind=kind, points=tuple(points), radius=radius, solid=solid)  # pyright: ignore[reportArgumentType]


def _numbers(given: dict[str, Any], count: int, size: int | None) -> tuple[int, ...]:
    made = tuple(taken(given, "bodies", words.many(words.whole)))
    if (size is not None and len(made) != size) or any(not -1 <= one < count for one in made):
        raise ValueError(f"the scene joins bodies {made} that are not there")
    return made


def _named(given: dict[str, Any], name: str, known: frozenset[str]) -> tuple[str, ...]:
    made = tuple(taken(given, name, words.many(words.text), []))
    if not known.issuperset(made):
        raise ValueError(f"the scene names {name} that are not there")
    return made


def _joint(given: dict[str, Any], count: int, contacts: frozenset[str], joints: frozenset[str]) -> SceneJoint:
    rows = taken(given, "rows", words.many(words.row(words.text, words.count)), [])
    if not joints.issuperset(name for name, _ in rows):
        raise ValueError("the scene names joints that are not there")
    return SceneJoint(
        name=taken(given, "name", words.shown),
        kind=taken(given, "kind", words.shown),
        bodies=_numbers(given, count, 2),  # pyright: ignore[reportArgumentType]
        anchors=taken(given, "anchors", words.row(POINT, POINT)),  # pyright: ignore[reportArgumentType]
        angle=taken(given, "angle", words.finite, 0.0),
        rows=tuple(rows),  # pyright: ignore[reportArgumentType]
        contacts=_named(given, "contacts", contacts),
        parts=tuple(taken(given, "parts", words.many(words.shown), [])),
        clearance=taken(given, "clearance", words.finite, 0.0),
        radius=taken(given, "radius", words.finite, 0.0),
    )


def _pair(given: dict[str, Any], bodies: Sequence[SceneBody], contacts: frozenset[str]) -> ScenePair:
    numbers = _numbers(given, len(bodies) - 1, 2)
    outlines = taken(given, "outlines", words.row(words.whole, words.whole), (0, 0))
    for number, outline in zip(numbers, outlines, strict=True):
        # -1: a point has no outline; 0 stands for a body without any as well
        if outline < -1 or (outline > 0 and outline >= len(bodies[number + 1].outlines)):
            raise ValueError(f"the scene names outline {outline} of body {number}, which is not there")
    return ScenePair(
        name=taken(given, "name", words.shown),
        kind=taken(given, "kind", words.shown),
        bodies=numbers,  # pyright: ignore[reportArgumentType]
        outlines=outlines,  # pyright: ignore[reportArgumentType]
        contacts=_named(given, "contacts", contacts),
    )


def _force(given: dict[str, Any], count: int) -> SceneForce:
    numbers, anchors = _numbers(given, count, None), taken(given, "anchors", POINTS, [])
    if len(anchors) not in (0, len(numbers)):
        raise ValueError(f"a force of the scene has {len(anchors)} points on {len(numbers)} bodies")
    return SceneForce(
        name=taken(given, "name", words.shown),
        kind=taken(given, "kind", words.shown),
        bodies=numbers,
        anchors=tuple(anchors),  # pyright: ignore[reportArgumentType]
    )
