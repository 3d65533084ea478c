"""A sketch in a file: plain records as JSON, believed only where they fit the coordinates and contacts of the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from saltus.io import words
from saltus.io.scene import outline_of
from saltus.io.words import taken
from saltus.view.sketch import FIXED, SOLIDS, Follow, Outline, Part, Place, Sketch, Solid, Touch

MOST_PARTS = 100_000
POINT3 = words.row(words.finite, words.finite, words.finite)
FINITE_NUMBERS = words.many(words.finite)
TERM = words.row(words.count, words.finite)


def described(sketch: Sketch) -> dict[str, Any]:
    """Return a sketch as JSON values."""
    return {
        "dimension": sketch.dimension,
        "parts": [dataclasses.asdict(part) for part in sketch.parts],
        "fixed": [dataclasses.asdict(outline) for outline in sketch.fixed],
        "floors": list(sketch.floors),
        "springs": [[dataclasses.asdict(end) for end in spring] for spring in sketch.springs],
        "touches": [dataclasses.asdict(touch) for touch in sketch.touches],
    }


def sketch_of(given: dict[str, Any], nq: int, contacts: Sequence[str], joints: Sequence[str]) -> Sketch:
    """Return the sketch of a file; ValueError where its records do not fit the run."""
    dimension = taken(given, "dimension", words.count)
    if dimension not in (2, 3):
        raise ValueError(f"the sketch has {dimension} dimensions")
    made, parts = Sketch(dimension), _records(given, "parts")
    if len(parts) > MOST_PARTS:
        raise ValueError(f"the sketch has {len(parts)} parts")
    made.parts += [_part(one, k, dimension, nq) for k, one in enumerate(parts)]
    made.fixed += [_outline(one) for one in _records(given, "fixed")]
    made.floors += taken(given, "floors", FINITE_NUMBERS, [])
    for first, second in taken(given, "springs", words.many(words.row(words.obj, words.obj)), []):
        made.springs.append((_place(first, len(parts), dimension), _place(second, len(parts), dimension)))
    made.touches += [_touch(one, len(parts), dimension, frozenset(contacts)) for one in _records(given, "touches")]
    if dimension == 3 and made.fixed:
        raise ValueError("the sketch has lines of the ground in space")
    return made


def _records(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return taken(given, name, words.many(words.obj), [])


def _part(given: dict[str, Any], number: int, dimension: int, nq: int) -> Part:
    if taken(given, "number", words.whole) != number:
        raise ValueError("the parts of the sketch are not in their order")
    carrier = taken(given, "carrier", words.whole, FIXED)
    if not FIXED <= carrier < number:
        raise ValueError(f"part {number} of the sketch rides on part {carrier}, which does not come before it")
    at = tuple(_follow(one, nq) for one in taken(given, "at", words.many(words.obj)))
    turn = taken(given, "turn", words.maybe(words.count), None)
    if len(at) != dimension or (turn is not None and (dimension == 2 or turn + 4 > nq)):
        raise ValueError(f"part {number} of the sketch has coordinates that are not there")
    outlines = tuple(_outline(one) for one in _records(given, "outlines"))
    solids = tuple(_solid(one) for one in _records(given, "solids"))
    if (outlines if dimension == 3 else solids) or (dimension == 3 and carrier != FIXED):
        raise ValueError(f"part {number} of the sketch does not belong to {dimension} dimensions")
    return Part(
        number,
        taken(given, "name", words.shown),
        at,
        _follow(taken(given, "angle", words.obj, {}), nq),
        turn,
        carrier,
        outlines,
        solids,
        taken(given, "colour", words.maybe(words.shown), None),
    )


def _outline(given: dict[str, Any]) -> Outline:
    made = outline_of(given)
    return Outline(kind=made.kind, points=made.points, radius=made.radius, solid=made.solid)


def _follow(given: dict[str, Any], nq: int) -> Follow:
    terms = taken(given, "terms", words.many(TERM), [])
    if any(column >= nq for column, _ in terms):
        raise ValueError("the sketch follows coordinates that are not there")
    waves = taken(given, "waves", words.many(POINT3), [])
    return Follow(taken(given, "constant", words.finite, 0.0), tuple(terms), tuple(waves))  # pyright: ignore[reportArgumentType]


def _solid(given: dict[str, Any]) -> Solid:
    kind, points = taken(given, "kind", words.text), taken(given, "points", words.many(POINT3), [])
    faces = taken(given, "triangles", words.many(words.row(words.count, words.count, words.count)), [])
    size = taken(given, "size", POINT3)
    if kind not in SOLIDS or any(corner >= len(points) for face in faces for corner in face) or min(size) < 0.0:
        raise ValueError(f"a solid of the sketch is a {kind!r:.40} that cannot be drawn")
    return Solid(kind, size, taken(given, "centre", POINT3, (0.0, 0.0, 0.0)), tuple(points), tuple(faces))  # pyright: ignore[reportArgumentType]


def _place(given: dict[str, Any], count: int, dimension: int) -> Place:
    part, at = taken(given, "part", words.whole), taken(given, "at", FINITE_NUMBERS)
    if not FIXED <= part < count or len(at) != dimension:
        raise ValueError(f"the sketch has a place on part {part} that is not there")
    return Place(part, tuple(at))


def _touch(given: dict[str, Any], count: int, dimension: int, contacts: frozenset[str]) -> Touch:
    name = taken(given, "contact", words.text)
    if name not in contacts:
        raise ValueError("the sketch names contacts that are not there")
    normal, tangents = taken(given, "normal", FINITE_NUMBERS), taken(given, "tangents", words.many(FINITE_NUMBERS), [])
    if any(len(one) != dimension for one in (normal, *tangents)) or len(tangents) >= dimension:
        raise ValueError("the sketch has a direction of a contact that is none")
    place = _place(taken(given, "place", words.obj), count, dimension)
    turning = taken(given, "turning", words.truth, False)
    return Touch(name, place, tuple(normal), tuple(tuple(one) for one in tangents), turning)
