"""Pairs of shapes that may touch: which kernels and which rows of data their contact is made of.

Every row is one gap [m] of one pair of features: a circle or corner against a plane, a circle, a segment or the face
of a polygon. The gap of two shapes is the smallest of their rows; each row is smooth where it can become zero, and no
row is a largest distance over faces, whose normal would jump. Kernels see two slots: slot 0 carries the circle (a
corner is a circle without radius), slot 1 what it touches. Slips are those of slot 0 along the surface, to the right of
its normal.

A row is not smaller than the distance of its own two features, so that rows never close beyond their ends: over a face
it is the distance to its line, beside it that to the corner. Two rows that end in one corner agree there: engines know
contacts that are the same twice.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from saltus.errors import ModelError
from saltus.mechanics.body import place, turned
from saltus.mechanics.scene import Outline, Point

GUARD = 1e-6  # of the play of a circle in a circle: rounds the tip of the distance at their common centre

# ---- kernels


def _slide(q: Any, v: Any, p: Any, nx: Any, ny: Any) -> Any:
    """Return how fast the circle p[:3] = (x, y, radius) of slot 0 slides on slot 1; (nx, ny) leads from 1 to 0."""
    x, y = place(q[0], p[0], p[1])
    c, s = np.cos(q[0][2]), np.sin(q[0][2])
    ux, uy = v[0][0] - (s * p[0] + c * p[1]) * v[0][2], v[0][1] + (c * p[0] - s * p[1]) * v[0][2]
    # where they touch, as slot 1 carries it along
    rx, ry = x - p[2] * nx - q[1][0], y - p[2] * ny - q[1][1]
    wx, wy = v[1][0] - ry * v[1][2], v[1][1] + rx * v[1][2]
    return ny * (ux - wx) - nx * (uy - wy) + p[2] * v[0][2]


def _local(q: Any, p: Any) -> tuple[Any, Any]:
    """Return the centre of the circle p[:2] of slot 0 in the frame of slot 1."""
    x, y = place(q[0], p[0], p[1])
    dx, dy = x - q[1][0], y - q[1][1]
    c, s = np.cos(q[1][2]), np.sin(q[1][2])
    return c * dx + s * dy, c * dy - s * dx


def circle_plane(t: Any, q: Any, p: Any) -> Any:
    """Gap of a circle over a plane, p = (x, y, radius, plane x, y, normal x, y)."""
    x, y = _local(q, p)
    return p[5] * (x - p[3]) + p[6] * (y - p[4]) - p[2]


def circle_plane_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    nx, ny = turned(q[1], p[5], p[6])
    return _slide(q, v, p, nx, ny)


def _apart(q: Any, p: Any, guard: Any) -> tuple[Any, Any, Any]:
    """Return the way from the centre p[3:5] of slot 1 to the centre p[:2] of slot 0 and its length."""
    (x, y), (bx, by) = place(q[0], p[0], p[1]), place(q[1], p[3], p[4])
    dx, dy = x - bx, y - by
    return dx, dy, np.sqrt(dx * dx + dy * dy + guard)


def circle_circle(t: Any, q: Any, p: Any) -> Any:
    """Gap of two circles, p = (x, y, radius, x, y, radius of the other)."""
    return _apart(q, p, 0.0)[2] - (p[2] + p[5])


def circle_circle_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    dx, dy, distance = _apart(q, p, 0.0)
    return _slide(q, v, p, dx / distance, dy / distance)


def circle_in_circle(t: Any, q: Any, p: Any) -> Any:
    """Gap of a circle inside of another one, p = (x, y, radius, x, y, radius of the outer one)."""
    return (p[5] - p[2]) - _apart(q, p, (GUARD * (p[5] - p[2])) ** 2)[2]


def circle_in_circle_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    dx, dy, distance = _apart(q, p, (GUARD * (p[5] - p[2])) ** 2)
    return _slide(q, v, p, -dx / distance, -dy / distance)


def _beside(q: Any, p: Any) -> tuple[Any, Any]:
    """Return the way to the centre of slot 0 from the nearest place of the segment p[3:8], in the frame of slot 1.

    p[3:8] = (start x, y, direction x, y, length).
    """
    x, y = _local(q, p)
    dx, dy = x - p[3], y - p[4]
    along = p[5] * dx + p[6] * dy
    reach = np.where(along < 0.0, 0.0, np.where(along > p[7], p[7], along))
    return dx - reach * p[5], dy - reach * p[6]


def circle_bar(t: Any, q: Any, p: Any) -> Any:
    """Gap of a circle and a bar, p = (x, y, radius, start x, y, direction x, y, length, radius of the bar)."""
    dx, dy = _beside(q, p)
    return np.sqrt(dx * dx + dy * dy) - (p[2] + p[8])


def circle_bar_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    dx, dy = _beside(q, p)
    distance = np.sqrt(dx * dx + dy * dy)
    nx, ny = turned(q[1], dx / distance, dy / distance)
    return _slide(q, v, p, nx, ny)


def _over(q: Any, p: Any) -> tuple[Any, Any, Any, Any]:
    """Return where the centre of slot 0 is along the face p[3:8], over its line, and over its far end; whether over it.

    The face is material below its line, as far as it is nearer than the faces beside it: p[8], p[9] are the tangents of
    half the angles of its corners.
    """
    x, y = _local(q, p)
    dx, dy = x - p[3], y - p[4]
    along, up = p[5] * dx + p[6] * dy, p[6] * dx - p[5] * dy
    return along, up, along - p[7], (up >= -p[8] * along) & (up >= -p[9] * (p[7] - along))


def circle_face(t: Any, q: Any, p: Any) -> Any:
    """Gap of a circle or corner and a face of a polygon.

    p = (x, y, radius, start x, y, direction x, y, length, tangents of half the angles at its start and end).
    """
    along, up, behind, own = _over(q, p)
    over = np.where(own, up, -up)  # from far below, another face is nearer: no contact with this one
    start, end = np.sqrt(along * along + up * up), np.sqrt(behind * behind + up * up)
    return np.where(along < 0.0, start, np.where(behind > 0.0, end, over)) - p[2]


def circle_face_slip(t: Any, q: Any, v: Any, p: Any) -> Any:
    along, up, behind, _ = _over(q, p)
    start, end = np.sqrt(along * along + up * up), np.sqrt(behind * behind + up * up)
    # of the normal: along the face, and over it
    tx = np.where(along < 0.0, along / start, np.where(behind > 0.0, behind / end, 0.0))
    ty = np.where(along < 0.0, up / start, np.where(behind > 0.0, up / end, 1.0))
    nx, ny = turned(q[1], p[5] * tx + p[6] * ty, p[6] * tx - p[5] * ty)
    return _slide(q, v, p, nx, ny)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One kind of contact: its name, gap(t, q, p) and slip(t, q, v, p)."""

    name: str
    gap: Callable
    slip: Callable


PAIR_KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("circle-plane", circle_plane, circle_plane_slip),
        Kernel("circle-circle", circle_circle, circle_circle_slip),
        Kernel("circle in circle", circle_in_circle, circle_in_circle_slip),
        Kernel("circle-bar", circle_bar, circle_bar_slip),
        Kernel("circle-face", circle_face, circle_face_slip),
    )
}


# ---- rows


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of a pair: kernel, whether b comes first (in slot 0), data, what is added to the name of the pair."""

    kernel: Kernel
    swapped: bool
    p: tuple[float, ...]
    part: str = ""


def pair_rows(a: Outline, b: Outline, *, inside: bool = False, who: str = "a contact") -> list[Row]:
    """Return the rows of two outlines, each in the frame of its body; inside: a lies inside of b.

    Raises ModelError where nothing of them can touch.
    """
    table = INSIDE_PAIRS if inside else OUTSIDE_PAIRS
    if (a.kind, b.kind) in table:
        return table[a.kind, b.kind](a, b, who)
    if not inside and (b.kind, a.kind) in table:
        return [dataclasses.replace(row, swapped=not row.swapped) for row in table[b.kind, a.kind](b, a, who)]
    how = (
        f"a {SHAPE_WORDS[a.kind]} inside of a {SHAPE_WORDS[b.kind]}"
        if inside
        else f"a {SHAPE_WORDS[a.kind]} and a {SHAPE_WORDS[b.kind]}"
    )
    raise ModelError(f"{who} is between {how}: there is no such pair of shapes")


SHAPE_WORDS = {"circle": "circle", "polygon": "polygon", "capsule": "bar", "line": "plane"}


def _circles(shape: Outline, who: str) -> list[tuple[float, float, float]]:
    """Return what a shape touches others with: its circle, its corners as circles without radius, its rounded ends."""
    if shape.kind == "capsule" and shape.radius == 0.0:
        raise ModelError(f"{who}: a bar without radius is a line that nothing can touch; give it a radius (or width)")
    radius = 0.0 if shape.kind == "polygon" else shape.radius
    return [(x, y, radius) for x, y in shape.points]


def _parts(shape: Outline) -> list[str]:
    """Return what these circles are called."""
    if shape.kind == "circle":
        return [""]
    return [f"{'corner' if shape.kind == 'polygon' else 'end'}{k}" for k in range(1, len(shape.points) + 1)]


def _edges(shape: Outline) -> list[tuple[Point, Point, float]]:
    """Return start, unit direction and length of the sides of a polygon, or of the one segment of a bar or plane."""
    points = [*shape.points, shape.points[0]] if shape.kind == "polygon" else list(shape.points)
    made = []
    for (x, y), (u, w) in itertools.pairwise(points):
        length = math.hypot(u - x, w - y)
        made.append(((x, y), ((u - x) / length, (w - y) / length), length))
    return made


def _faces(shape: Outline) -> list[tuple[float, ...]]:
    """Return the data of the faces of a polygon, as `circle_face` takes them."""
    edges = _edges(shape)
    half = []  # tangents of half the inner angles, at the start of each edge
    for k, (_, (ex, ey), _) in enumerate(edges):
        bx, by = edges[k - 1][1]
        outer = math.atan2(bx * ey - by * ex, bx * ex + by * ey)
        half.append(math.tan((math.pi - outer) / 2.0))
    return [
        (x, y, ex, ey, length, half[k], half[(k + 1) % len(edges)])
        for k, ((x, y), (ex, ey), length) in enumerate(edges)
    ]


def _on_plane(a: Outline, b: Outline, who: str) -> list[Row]:
    ((x, y), (ex, ey), _), kernel = _edges(b)[0], PAIR_KERNELS["circle-plane"]
    plane = (x, y, -ey, ex)
    return [
        Row(kernel, False, (*circle, *plane), part) for circle, part in zip(_circles(a, who), _parts(a), strict=True)
    ]


def _on_circle(a: Outline, b: Outline, who: str) -> list[Row]:
    kernel = PAIR_KERNELS["circle-circle"]
    return [Row(kernel, False, (*_circles(a, who)[0], *_circles(b, who)[0]))]


def _on_bar(a: Outline, b: Outline, who: str, swapped: bool = False) -> list[Row]:
    """Return the circles, corners or ends of a against the bar b."""
    ((x, y), direction, length), kernel = _edges(b)[0], PAIR_KERNELS["circle-bar"]
    bar = (x, y, *direction, length, _circles(b, who)[0][2])
    return [
        Row(kernel, swapped, (*circle, *bar), part) for circle, part in zip(_circles(a, who), _parts(a), strict=True)
    ]


def _bars(a: Outline, b: Outline, who: str) -> list[Row]:
    first = [dataclasses.replace(row, part=f"{row.part}-side") for row in _on_bar(a, b, who)]
    return first + [dataclasses.replace(row, part=f"side-{row.part}") for row in _on_bar(b, a, who, swapped=True)]


def _on_polygon(a: Outline, b: Outline, who: str, swapped: bool = False) -> list[Row]:
    """Return the circles, corners or ends of a against the faces of the polygon b."""
    made = []
    for circle, part in zip(_circles(a, who), _parts(a), strict=True):
        for k, face in enumerate(_faces(b), start=1):
            named = [f"face{k}", part] if swapped else [part, f"face{k}"]
            made.append(Row(PAIR_KERNELS["circle-face"], swapped, (*circle, *face), "-".join(filter(None, named))))
    return made


def _polygons(a: Outline, b: Outline, who: str) -> list[Row]:
    return _on_polygon(a, b, who) + _on_polygon(b, a, who, swapped=True)


def _bar_polygon(a: Outline, b: Outline, who: str) -> list[Row]:
    corners = [dataclasses.replace(row, part=f"side-{row.part}") for row in _on_bar(b, a, who, swapped=True)]
    return _on_polygon(a, b, who) + corners


def _in_circle(a: Outline, b: Outline, who: str) -> list[Row]:
    outer = (*b.points[0], b.radius)
    for *_, radius in _circles(a, who):
        if a.kind == "circle" and not radius < b.radius:
            raise ModelError(f"{who}: a circle of {radius} m does not fit into one of {b.radius} m")
    kernel = PAIR_KERNELS["circle in circle"]
    return [
        Row(kernel, False, (*circle, *outer), part) for circle, part in zip(_circles(a, who), _parts(a), strict=True)
    ]


def _in_polygon(a: Outline, b: Outline, who: str) -> list[Row]:
    made = []
    for circle, part in zip(_circles(a, who), _parts(a), strict=True):
        for k, ((x, y), (ex, ey), _) in enumerate(_edges(b), start=1):
            named = "-".join(filter(None, [part, f"face{k}"]))
            made.append(Row(PAIR_KERNELS["circle-plane"], False, (*circle, x, y, -ey, ex), named))
    return made


OUTSIDE_PAIRS: dict[tuple[str, str], Callable[[Outline, Outline, str], list[Row]]] = {
    ("circle", "line"): _on_plane,
    ("polygon", "line"): _on_plane,
    ("capsule", "line"): _on_plane,
    ("circle", "circle"): _on_circle,
    ("circle", "capsule"): _on_bar,
    ("circle", "polygon"): _on_polygon,
    ("capsule", "capsule"): _bars,
    ("capsule", "polygon"): _bar_polygon,
    ("polygon", "polygon"): _polygons,
}
INSIDE_PAIRS: dict[tuple[str, str], Callable[[Outline, Outline, str], list[Row]]] = {
    (inner, outer): rows
    for inner in ("circle", "polygon", "capsule")
    for outer, rows in (("circle", _in_circle), ("polygon", _in_polygon))
}
