"""Random packings of spheres on a floor: the one-step contact problems on which contact solvers are timed."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.spatial import cKDTree

from saltus.contact import ContactProblem

GRAVITY, STEP = 9.81, 1e-3  # [m/s2], [s]
TOUCHING = 3.0  # contacts per sphere: random packings at rest have about three


def centers(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the centers of n spheres of radius 1 in dense layers, shaken; the floor is the plane z = 0."""
    side = int(np.ceil((1.2 * n) ** (1 / 3)))
    k, j, i = np.meshgrid(np.arange(n), np.arange(side), np.arange(side), indexing="ij", sparse=True)
    k = k[: n // side**2 + 1]
    x = 2.0 * i + (j + k) % 2 + 0.0 * k
    y = np.sqrt(3.0) * (j + (k % 2) / 3.0) + 0.0 * x
    z = 1.0 + np.sqrt(8.0 / 3.0) * k + 0.0 * x
    return np.stack([x, y, z], axis=-1).reshape(-1, 3)[:n] + 0.06 * rng.standard_normal((n, 3))


def frame(normal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the rows N, T1, T2 of random right-handed frames with given normals."""
    first = np.cross(normal, rng.standard_normal(normal.shape))
    first /= np.linalg.norm(first, axis=1)[:, None]
    return np.stack([normal, first, np.cross(normal, first)], axis=1)


def packing(contacts: int, *, mu: float = 0.3, seed: int = 1) -> ContactProblem:
    """Return a packing with this many spatial contacts, in random order; six velocities per sphere.

    v_free is that of a step of free fall under an inclined gravity, with a little agitation, so that some
    contacts stick, some slip and some open.
    """
    rng = np.random.default_rng(seed)
    n = int(contacts / TOUCHING)
    x, radius = centers(n, rng), rng.uniform(0.95, 1.05, n)
    floor = np.flatnonzero(x[:, 2] < 1.5)
    pairs = cKDTree(x).query_pairs(2.6, output_type="ndarray")
    gap = np.linalg.norm(x[pairs[:, 1]] - x[pairs[:, 0]], axis=1) - radius[pairs].sum(axis=1)
    pairs = pairs[np.argsort(gap)[: contacts - floor.size]]
    pairs = np.concatenate([pairs, np.stack([np.full(floor.size, -1), floor], axis=1)])  # -1: the floor
    assert len(pairs) == contacts
    pairs, body = pairs[rng.permutation(contacts)], rng.permutation(n)
    a, b = pairs[:, 0], pairs[:, 1]
    normal = np.where((a < 0)[:, None], [0.0, 0.0, 1.0], x[b] - x[a])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    rows = frame(normal, rng)
    i, j, value = [], [], []
    for side, sign in ((a, -1.0), (b, 1.0)):
        there = np.flatnonzero(side >= 0)
        arm = -sign * radius[side[there], None] * normal[there]
        for c in range(3):
            direction = sign * rows[there, c]
            entries = np.concatenate([direction, np.cross(arm, direction)], axis=1)
            i.append((6 * body[side[there], None] + np.arange(6)).ravel())
            j.append(np.repeat(3 * there + c, 6))
            value.append(entries.ravel())
    nv = 6 * n
    W = scipy.sparse.csc_array(
        (np.concatenate(value), (np.concatenate(i), np.concatenate(j))), shape=(nv, 3 * contacts)
    )
    mass = np.empty(n)
    mass[body] = radius**3
    inertia = 0.4 * mass
    inertia[body] *= radius**2
    diagonal = np.repeat(np.stack([mass, inertia], axis=1), 3, axis=1).ravel()
    weight = GRAVITY * STEP
    v_free = np.zeros((n, 6))
    v_free[:, :3] = weight * np.array([np.sin(0.35), 0.0, -np.cos(0.35)])
    v_free += 0.3 * weight * rng.standard_normal(v_free.shape)
    M = scipy.sparse.diags_array(diagonal).tocsc()
    return ContactProblem.from_global(M, W, diagonal * v_free.ravel(), mu=mu, dim=3)
