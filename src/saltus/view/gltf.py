"""glTF: the run as one .glb file, whose keys are ours: CUBICSPLINE has an in- and an out-tangent per key.

glTF has times as 32 bit floats. Where keys would fall onto each other the clip is stretched: a short interval lasts
longer in the clip than in the run, everything between two keys evenly. `extras` of the animation say the bound of the
drawing error [m], whether it is stretched, and then the times of run and clip.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.view.drawing import BODY_COLOURS
from saltus.view.keys import Keys

if TYPE_CHECKING:
    from saltus.view.content import Seen
    from saltus.view.picture import Picture

MESH_CORNERS = 32  # corners of a circle
THICK = 0.01  # of the scene: how thick outlines of the plane are
APART = 4e-7  # of a clip: the shortest interval that 32 bit floats tell apart, with room


class Turned:
    """Poses as glTF has them: place (x, y, z) and quaternion (x, y, z, w)."""

    def __init__(self, picture: Picture):
        self.picture = picture

    def poses(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return place and quaternion of all bodies (times, bodies, 7)."""
        given = self.picture.motion.poses(t, q)
        if self.picture.dimension == 3:
            return given[:, :, [0, 1, 2, 4, 5, 6, 3]]
        made = np.zeros((*given.shape[:2], 7))
        made[..., :2] = given[..., :2]
        made[..., 5], made[..., 6] = np.sin(0.5 * given[..., 2]), np.cos(0.5 * given[..., 2])
        return made

    def rates(self, t: np.ndarray, q: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
        """Return their rates."""
        given = self.picture.motion.rates(t, q, q_dot)
        if self.picture.dimension == 3:
            return given[:, :, [0, 1, 2, 4, 5, 6, 3]]
        angle, spin = self.picture.motion.poses(t, q)[..., 2], given[..., 2]
        made = np.zeros((*given.shape[:2], 7))
        made[..., :2] = given[..., :2]
        made[..., 5], made[..., 6] = 0.5 * spin * np.cos(0.5 * angle), -0.5 * spin * np.sin(0.5 * angle)
        return made

    def allowed(self, bound: float, reach: np.ndarray) -> np.ndarray:
        """Return how much each number may differ, so that no point is off by more than the bound."""
        made = np.full((len(reach), 7), 0.3 * bound)
        made[:, 3:] = 0.1 * bound / np.maximum(reach, 1e-300)[:, None]
        return made


class _Binary:
    """Accessors and buffer views over one binary chunk."""

    def __init__(self) -> None:
        self.data, self.views, self.accessors = bytearray(), [], []

    def add(self, values: np.ndarray, kind: str, *, limits: bool = False, target: int | None = None) -> int:
        whole = values.dtype.kind in "iu"
        array = np.ascontiguousarray(values, dtype="<u4" if whole else "<f4")
        self.data += b"\0" * (-len(self.data) % 4)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": array.nbytes}
        self.views.append(view | ({} if target is None else {"target": target}))
        self.data += array.tobytes()
        made: dict[str, Any] = {"bufferView": len(self.views) - 1, "componentType": 5125 if whole else 5126}
        made |= {"count": array.size if kind == "SCALAR" else len(array), "type": kind}
        if limits:
            table = array.reshape(len(array), -1)
            made |= {"min": table.min(axis=0).tolist(), "max": table.max(axis=0).tolist()}
        self.accessors.append(made)
        return len(self.accessors) - 1


def glb(seen: Seen) -> bytes:
    """Return the run as a binary glTF file."""
    picture, binary = seen.picture, _Binary()
    motion = seen.motion(Turned(picture))
    times = np.unique(np.concatenate([keys.t for keys in motion.keys]))
    clip, stretched = clip_times(times)
    materials, meshes, nodes, samplers, channels = [], [], [], [], []
    for b, (body, keys) in enumerate(zip(picture.bodies, motion.keys, strict=True)):
        materials.append(_material(body.colour or BODY_COLOURS[b % len(BODY_COLOURS)]))
        node: dict[str, Any] = {"name": body.name, "translation": keys.before[0, :3].tolist()}
        node["rotation"] = (keys.before[0, 3:] / np.linalg.norm(keys.before[0, 3:])).tolist()
        mesh = _mesh(binary, body, b, THICK * seen.size)
        if mesh is not None:
            node["mesh"] = len(meshes)
            meshes.append(mesh)
        nodes.append(node)
        s, parts = _resets_apart(keys, clip[np.searchsorted(times, keys.t)])
        at = binary.add(s, "SCALAR", limits=True)
        for path, columns in (("translation", slice(0, 3)), ("rotation", slice(3, 7))):
            made = np.stack([one[:, columns] for one in parts], axis=1).reshape(3 * len(s), -1)
            samplers.append(
                {"input": at, "output": binary.add(made, f"VEC{made.shape[1]}"), "interpolation": "CUBICSPLINE"}
            )
            channels.append({"sampler": len(samplers) - 1, "target": {"node": b, "path": path}})
    extras: dict[str, Any] = {"bound": seen.bound, "stretched": stretched}
    if stretched:
        extras |= {"run": times.tolist(), "clip": clip.tolist()}
    head = {
        "asset": {"version": "2.0", "generator": "saltus"},
        "scene": 0,
        "scenes": [{"nodes": [len(nodes)]}],
        # glTF looks along -z with y up, as the plane does; space has z up
        "nodes": [*nodes, {"children": list(range(len(nodes)))} | _upright(picture)],
        "meshes": meshes,
        "materials": materials,
        "animations": [{"name": "run", "samplers": samplers, "channels": channels, "extras": extras}],
        "accessors": binary.accessors,
        "bufferViews": binary.views,
        "buffers": [{"byteLength": len(binary.data)}],
    }
    if not meshes:
        del head["meshes"]
    text = json.dumps(head, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    data = bytes(binary.data) + b"\0" * (-len(binary.data) % 4)
    size = 12 + 8 + len(text) + 8 + len(data)
    return b"".join(
        [struct.pack("<4sII", b"glTF", 2, size), struct.pack("<I4s", len(text), b"JSON"), text,
         struct.pack("<I4s", len(data), b"BIN\0"), data]
    )  # fmt: skip


def clip_times(t: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the times of the clip, from 0 on, and whether it had to be stretched."""
    clip = t - t[0]
    least = APART * max(clip[-1], 1e-30)
    if np.all(np.diff(clip) >= least):
        return clip, False
    for _ in range(30):  # the clip grows by what is stretched, and with it the shortest interval
        made = np.concatenate([[0.0], np.cumsum(np.maximum(np.diff(clip), least))])
        if APART * made[-1] <= least:
            break
        least = 1.01 * APART * made[-1]
    return made, True


def _resets_apart(keys: Keys, clip: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return times and (in-tangent, value, out-tangent) of keys; a pose that is reset gets two keys side by side."""
    h, s = np.diff(keys.t), np.diff(clip)
    ratio = h / s  # a stretched interval is slower
    before = keys.rate_before * np.append(ratio[:1], ratio)[:, None]
    behind = keys.rate_behind * np.append(ratio, ratio[-1:])[:, None]
    reset = np.flatnonzero(np.any(keys.before != keys.behind, axis=1))
    if len(reset) == 0:
        return clip, [before, keys.before, behind]
    room = 0.25 * np.append(s, s[-1])[reset]
    at = reset + 1
    zero = np.zeros((len(reset), keys.before.shape[1]))
    in_tangent = np.insert(before, at, zero, axis=0)
    value = np.insert(keys.before, at, keys.behind[reset], axis=0)
    out_tangent = np.insert(behind, at, behind[reset], axis=0)
    places = reset + np.arange(len(reset))
    out_tangent[places] = 0.0
    return np.insert(clip, at, clip[reset] + np.minimum(room, APART * clip[-1])), [in_tangent, value, out_tangent]


def _upright(picture: Picture) -> dict[str, Any]:
    half = np.sqrt(0.5)
    return {"name": "run"} if picture.dimension == 2 else {"name": "run", "rotation": [-half, 0.0, 0.0, half]}


def _material(colour: str) -> dict[str, Any]:
    number = colour.lstrip("#")
    try:
        rgb = [(int(number[k : k + 2], 16) / 255.0) ** 2.2 for k in (0, 2, 4)]
    except ValueError:
        rgb = [0.3, 0.4, 0.6]  # a colour by name
    return {"pbrMetallicRoughness": {"baseColorFactor": [*rgb, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.7},
            "doubleSided": True}  # fmt: skip


def _mesh(binary: _Binary, body: Any, material: int, thick: float) -> dict[str, Any] | None:
    primitives = []
    shapes = [*(_outline_mesh(one, thick) for one in body.outlines if one.kind != "line"),
              *(solid_mesh(one) for one in body.solids)]  # fmt: skip
    for points, triangles in shapes:
        attributes = {"POSITION": binary.add(points, "VEC3", limits=True, target=34962)}
        indices = binary.add(triangles.reshape(-1).astype(np.uint32), "SCALAR", target=34963)
        primitives.append({"attributes": attributes, "indices": indices, "material": material})
    return {"name": body.name, "primitives": primitives} if primitives else None


def _outline_mesh(outline: Any, thick: float) -> tuple[np.ndarray, np.ndarray]:
    """Return an outline of the plane as a thin plate: corners and triangles; a fan, so that it should be convex."""
    points = np.array(outline.points, dtype=float)
    if outline.kind == "circle":
        turn = 2.0 * np.pi * np.arange(MESH_CORNERS) / MESH_CORNERS
        points = points[0] + outline.radius * np.column_stack([np.cos(turn), np.sin(turn)])
    elif outline.kind == "capsule":
        way = points[1] - points[0]
        angle = np.arctan2(way[1], way[0])
        half = np.linspace(-0.5 * np.pi, 0.5 * np.pi, MESH_CORNERS // 2)
        radius = max(outline.radius, 0.5 * thick)
        ends = ((points[1], angle + half), (points[0], angle + np.pi + half))
        points = np.concatenate([at + radius * np.column_stack([np.cos(a), np.sin(a)]) for at, a in ends])
    n = len(points)
    corners = np.concatenate([np.column_stack([points, np.full(n, z)]) for z in (-0.5 * thick, 0.5 * thick)])
    fan = np.array([[0, k, k + 1] for k in range(1, n - 1)])
    k = np.arange(n)
    after = (k + 1) % n
    sides = np.concatenate([np.column_stack([k, after, n + after]), np.column_stack([k, n + after, n + k])])
    return corners, np.concatenate([fan[:, ::-1], n + fan, sides])


def solid_mesh(solid: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return corners and triangles of a solid."""
    if solid.kind == "mesh":
        return np.array(solid.points) + np.array(solid.centre), np.array(solid.triangles)
    if solid.kind == "box":
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        triangles = np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])
        return corners * np.array(solid.size) + np.array(solid.centre), triangles
    rows = MESH_CORNERS // 2 if solid.kind == "sphere" else 1
    turn = 2.0 * np.pi * np.arange(MESH_CORNERS) / MESH_CORNERS
    rings = []
    for k in range(rows + 1):
        lat = np.pi * (k / rows - 0.5)
        radius, z = (0.5 * np.cos(lat), 0.5 * np.sin(lat)) if solid.kind == "sphere" else (0.5, k - 0.5)
        rings.append(np.column_stack([radius * np.cos(turn), radius * np.sin(turn), np.full(MESH_CORNERS, z)]))
    corners = np.concatenate([*rings, [[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]])
    triangles = []
    for k in range(rows):
        for j in range(MESH_CORNERS):
            a, b = k * MESH_CORNERS + j, k * MESH_CORNERS + (j + 1) % MESH_CORNERS
            triangles += [(a, b, b + MESH_CORNERS), (a, b + MESH_CORNERS, a + MESH_CORNERS)]
    low, high = len(corners) - 2, len(corners) - 1
    for j in range(MESH_CORNERS):
        after = (j + 1) % MESH_CORNERS
        triangles += [(low, after, j), (high, rows * MESH_CORNERS + j, rows * MESH_CORNERS + after)]
    return corners * np.array(solid.size) + np.array(solid.centre), np.array(triangles)
