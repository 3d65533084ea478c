"""Pairs of shapes in random poses, their distances by search alone, and collisions that a fine scan has seen.

Nothing of saltus.mechanics.pairs is used for the distances: two boundaries are made of segments with a radius, and the
smallest distance of two segments is found by golden sections along one of them, since it is convex, with the foot of
the perpendicular on the other.
"""

from __future__ import annotations

import itertools

import numpy as np

import saltus as sl
from saltus import mechanics as me
from saltus.compile.seam import ready
from saltus.results.instants import gaps_of, row_velocities

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
HALVINGS = 44
A_POINT = [(0.0, 0.0)]

SHAPES = {
    "circle": me.Circle(0.3, at=(0.05, -0.1)),
    "small circle": me.Circle(0.12, at=(0.05, -0.1)),
    "ring": me.Circle(1.1),
    "box": me.Box(0.6, 0.4, at=(0.1, 0.0), angle=0.3),
    "small box": me.Box(0.3, 0.2, angle=0.2),
    "triangle": me.Polygon([(-0.3, -0.2), (0.5, -0.1), (-0.1, 0.4)]),
    "room": me.Polygon([(-1.0, -0.9), (1.1, -1.0), (1.2, 0.9), (0.0, 1.3), (-1.1, 0.8)]),
    "bar": me.Bar(0.7, 0.08, at=(0.1, 0.05), angle=-0.4),
    "short bar": me.Bar(0.3, 0.05),
    "plane": me.Plane(at=(0.0, -0.2), angle=0.35),
}
PAIRS = [
    ("circle", "plane", False), ("box", "plane", False), ("bar", "plane", False), ("circle", "circle", False),
    ("circle", "bar", False), ("circle", "triangle", False), ("bar", "short bar", False), ("bar", "box", False),
    ("box", "triangle", False), ("small circle", "ring", True), ("small box", "ring", True),
    ("short bar", "ring", True),
    ("small circle", "room", True), ("small box", "room", True), ("short bar", "room", True),
]  # fmt: skip


def pair_id(pair) -> str:
    return f"{pair[0]} {'in' if pair[2] else '-'} {pair[1]}"


# ---- distances by search


def segments(shape) -> tuple[np.ndarray, np.ndarray, float]:
    """Return starts, ends and radius of the segments that a boundary is made of, in the frame of the shape."""
    if isinstance(shape, me.Circle):
        return np.array([shape.at]), np.array([shape.at]), shape.radius
    if isinstance(shape, me.Bar):
        ends = shape.points()
        return np.array([ends["start"]]), np.array([ends["end"]]), shape.radius
    if isinstance(shape, me.Plane):
        way = 1e3 * np.array([np.cos(shape.angle), np.sin(shape.angle)])
        return np.array([shape.at - way]), np.array([shape.at + way]), 0.0
    corners = np.array(shape.corners)
    return corners, np.roll(corners, -1, axis=0), 0.0


def moved(points: np.ndarray, pose: np.ndarray, centre) -> np.ndarray:
    """Return points (n, 2) of the frame of a shape in poses (m, 3) of its body as (m, n, 2)."""
    local, c, s = points - np.array(centre), np.cos(pose[:, 2])[:, None], np.sin(pose[:, 2])[:, None]
    x, y = local[:, 0], local[:, 1]
    return np.stack([pose[:, :1] + c * x - s * y, pose[:, 1:2] + s * x + c * y], axis=-1)


def least(function, n):
    """Return the least value of convex functions of one number from 0 to 1, by golden sections."""
    a, b = np.zeros(n), np.ones(n)
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    f_c, f_d = function(c), function(d)
    for _ in range(HALVINGS):
        left = f_c < f_d
        a, b = np.where(left, a, c), np.where(left, d, b)
        c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
        f_c, f_d = function(c), function(d)
    ends = np.minimum(function(np.zeros(n)), function(np.ones(n)))
    return np.minimum(np.minimum(f_c, f_d), ends)


def apart(p, u, q, w):
    """Return the distances of segments p u and q w, arrays (n, 2)."""

    def from_place(s):
        place = p + s[:, None] * (u - p)
        length = np.maximum(np.sum((w - q) ** 2, axis=1), 1e-300)

        def to_place(r):
            return np.hypot(*(place - q - r[:, None] * (w - q)).T)

        foot = np.clip(np.sum((place - q) * (w - q), axis=1) / length, 0.0, 1.0)
        return to_place(foot)

    return least(from_place, len(p))


def quickly_apart(p, u, q, w):
    """Return the distances of segments that do not cross: that of an end to the other segment."""

    def to_segment(x, a, b):
        length = np.maximum(np.sum((b - a) ** 2, axis=1), 1e-300)
        foot = np.clip(np.sum((x - a) * (b - a), axis=1) / length, 0.0, 1.0)
        return np.hypot(*(x - a - foot[:, None] * (b - a)).T)

    return np.min([to_segment(p, q, w), to_segment(u, q, w), to_segment(q, p, u), to_segment(w, p, u)], axis=0)


def brute_gap(first, second, inside, poses_a, poses_b, centres, apart=apart) -> np.ndarray:
    """Return distances of two shapes in poses (n, 3) each, positive where they are apart."""
    (p, u, radius), (q, w, other) = segments(first), segments(second)
    p, u = (moved(points, poses_a, centres[0]) for points in (p, u))
    q, w = (moved(points, poses_b, centres[1]) for points in (q, w))
    found = [
        apart(p[:, i], u[:, i], q[:, j], w[:, j]) for i, j in itertools.product(range(p.shape[1]), range(q.shape[1]))
    ]
    if inside and isinstance(second, me.Circle):
        reach = np.maximum(np.hypot(*(p - q).transpose(2, 0, 1)), np.hypot(*(u - q).transpose(2, 0, 1))).max(axis=1)
        return other - radius - reach
    made = np.min(found, axis=0) - radius - (0.0 if inside else other)
    if not inside:
        return made
    e, d = (w - q)[:, None], np.concatenate([p, u], axis=1)[:, :, None] - q[:, None]
    left = e[..., 0] * d[..., 1] - e[..., 1] * d[..., 0] > 0.0
    return np.where(left.all(axis=(1, 2)), made, -1.0)  # a distance does not tell on which side it is


# ---- the mechanism of two free bodies


def two_bodies(pair, **law) -> tuple[me.Planar, list]:
    """Return a mechanism of both shapes of a pair in free flight, and the centres of mass in their frames."""
    w = me.Planar(gravity=0.0)
    made = []
    for name in pair[:2]:
        shape = SHAPES[name]
        weight = (
            {"mass": 1.3, "inertia": 0.2} if isinstance(shape, me.Plane) or name in ("ring", "room") else {"mass": 1.0}
        )
        made.append(w.body(shape, at=(0.0, 0.0), angle=0.0, name=f"{name} {len(made)}", **weight))
    w.contact(made[0], made[1], inside=pair[2], name="pair", **law)
    return w, [body.centre_of_mass for body in made]


def smallest(w, poses: np.ndarray) -> np.ndarray:
    """Return the smallest of all rows in poses (n, 6), by the kernels as plain Python."""
    both = poses[:, :3].T, poses[:, 3:].T
    order = [both if row.bodies[0] is w.bodies[0] else both[::-1] for row in w.contact_rows]
    values = [row.gap(0.0, slots, row.p) for row, slots in zip(w.contact_rows, order, strict=True)]
    return np.min(values, axis=0)


def compiled(w, poses: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gaps and velocities of all rows as the compiled model has them, in states (n, 6)."""
    sol = sl.solve(w.system(), (0.0, 1e-9), poses[0], 1e-9 * v[0], scheme=sl.MoreauJean(), h=1e-9)
    model = sol._model
    u = np.empty((len(poses), len(sol.rows)))
    W, w_t = np.empty(int(model.layout.nw)), np.empty(int(model.layout.nr))
    ready(row_velocities)(
        model.units, len(sol.rows), np.zeros(len(poses)), poses.flatten(), v.flatten(), W, w_t, u.reshape(-1)
    )
    return gaps_of(sol, np.zeros(len(poses)), poses), u


def random_poses(pair, rng, count: int) -> np.ndarray:
    """Return poses (count, 6) in which the shapes are apart, most of them near each other, all of them turned."""
    (_, centres), first, second = two_bodies(pair), SHAPES[pair[0]], SHAPES[pair[1]]
    far = 0.3 if pair[2] else 1.6
    made = np.zeros((0, 6))
    while len(made) < count:
        poses = rng.uniform(-1.0, 1.0, (4 * count, 6)) * [far, far, np.pi, 1.0, 1.0, np.pi]
        if pair[2]:
            poses[:, :2] += poses[:, 3:5]
        if pair[1] == "plane":
            # above it, as its frame says
            up = poses[:, 5] + SHAPES["plane"].angle + np.pi / 2.0
            high = rng.uniform(0.3, 1.5, len(poses))
            poses[:, 0] = poses[:, 3] + high * np.cos(up) + rng.uniform(-1.0, 1.0, len(poses)) * np.sin(up)
            poses[:, 1] = poses[:, 4] + high * np.sin(up) - rng.uniform(-1.0, 1.0, len(poses)) * np.cos(up)
        gap = brute_gap(first, second, pair[2], poses[:, :3], poses[:, 3:], centres, quickly_apart)
        made = np.concatenate([made, poses[(gap > 1e-3) & (pair[2] | ~overlap(first, second, poses, centres))]])
    return made[:count]


def overlap(first, second, poses, centres) -> np.ndarray:
    """Return whether a corner or middle of one shape lies in the other: no distance tells that."""
    inside = np.zeros(len(poses), dtype=bool)
    for one, other, a, b in ((first, second, 0, 1), (second, first, 1, 0)):
        p, u, _ = segments(one)
        points = moved(np.concatenate([p, u, 0.5 * (p + u)]), poses[:, 3 * a : 3 * a + 3], centres[a])
        if isinstance(other, me.Polygon):
            q, w, _ = segments(other)
            q, w = (moved(x, poses[:, 3 * b : 3 * b + 3], centres[b]) for x in (q, w))
            e = w - q
            d = points[:, :, None] - q[:, None]
            inside |= np.all(e[:, None, :, 0] * d[..., 1] - e[:, None, :, 1] * d[..., 0] > 0.0, axis=2).any(axis=1)
        if isinstance(other, me.Plane):
            q, w, _ = segments(other)
            q, w = (moved(x, poses[:, 3 * b : 3 * b + 3], centres[b]) for x in (q, w))
            e = w - q
            d = points - q
            inside |= np.any(e[..., 0] * d[..., 1] - e[..., 1] * d[..., 0] < 0.0, axis=1)
    return inside


# ---- collisions


def flight(pair, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return a start apart from each other and velocities that bring the shapes together, or not quite."""
    start = random_poses(pair, rng, 1)[0]
    v = rng.uniform(-1.0, 1.0, 6) * [0.3, 0.3, 3.0, 0.3, 0.3, 3.0]
    if not pair[2] and pair[1] != "plane":
        v[:2] += start[3:5] - start[:2] + rng.uniform(-0.4, 0.4, 2)
    elif pair[2]:
        v[:2] += rng.uniform(-2.0, 2.0, 2)
    else:
        up = start[5] + SHAPES["plane"].angle + np.pi / 2.0
        v[:2] -= [np.cos(up), np.sin(up)]
        v[5] *= 0.1
    return start, v


def scanned(pair, start, v, centres, span: float, places: int = 4000) -> float:
    """Return the first time at which a fine scan of the free flight sees the shapes touch, inf where it sees none."""
    first, second = SHAPES[pair[0]], SHAPES[pair[1]]

    def gap(t):
        poses = start + np.atleast_1d(t)[:, None] * v
        made = brute_gap(first, second, pair[2], poses[:, :3], poses[:, 3:], centres, quickly_apart)
        return made if pair[2] else np.where(overlap(first, second, poses, centres), -1.0, made)

    t = np.linspace(0.0, span, places)
    found = np.flatnonzero(gap(t) <= 0.0)
    if len(found) == 0:
        return np.inf
    low, high = t[found[0] - 1], t[found[0]]
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if gap(middle)[0] <= 0.0 else (middle, high)
    return high


def struck(system, start, v, span: float, scheme=None, tol: float = 1e-9, failed: list | None = None) -> float:
    """Return the time of the first impact of a run, inf without one; runs that fail behind it are counted."""
    try:
        sol = sl.solve(system, (0.0, span), start, v, scheme=scheme or sl.EventDriven(), tol=tol)
    except sl.RunError as error:
        if failed is None:
            raise
        failed.append(str(error))
        sol = error.solution
    impacts = sol.events.of("impact")["t"]
    return float(impacts[0]) if len(impacts) else np.inf
