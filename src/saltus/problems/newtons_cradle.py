"""Newton's cradle as a chain of beads (simultaneous impacts: Moreau 1988): one bead hits a row at rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import beads

TOUCHING = 1e-14  # of the chain's length and of v0: smaller gaps and approach speeds are rounding


def newtons_cradle(
    *,
    n: int = 3,
    e: float = 1.0,
    mass: float = 1.0,
    radius: float = 0.1,
    approach: float = 0.137,
    gap: float = 0.0,
    v0: float = 1.0,
    t_end: float = 1.0,
) -> Problem:
    """Bead 0 runs into beads 1..n-1. gap = 0: one simultaneous impact; gap > 0: pairwise impacts in turn.

    Simultaneous (Newton's law in every contact): v_0 = (1+e) v0/n - e v0 and all others (1+e) v0/n, not the
    sequential exchange that gap > 0 with e = 1 gives.
    n beads, e [-], mass [kg], radius [m], approach: free way of bead 0 [m], gap between the others [m], v0
    [m/s] >= 0, t_end [s].
    """
    if n < 2 or v0 < 0.0 or approach < 0.0 or gap < 0.0:
        raise ModelError(
            f"newtons_cradle needs n >= 2 and v0, approach, gap >= 0: n = {n}, v0 = {v0}, "
            f"approach = {approach}, gap = {gap}; change them"
        )
    spaces = np.array([approach] + [gap] * (n - 2))
    q0 = np.concatenate(([0.0], np.cumsum(spaces + 2.0 * radius)))
    start_v = np.zeros(n)
    start_v[0] = v0
    times, positions, velocities, impulses = _chain(q0, start_v, radius, e, mass, t_end)

    def piece(t):
        return np.maximum(np.searchsorted(times, t, side="right") - 1, 0)

    def position(t):
        k = piece(t)
        return positions[k] + velocities[k] * (np.asarray(t, float) - times[k])[..., None]

    contacts = [
        Contact(lambda q, i=i: q[i + 1] - q[i] - 2.0 * radius, e=e, name=f"beads {i}-{i + 1}") for i in range(n - 1)
    ]
    system = System(
        M=mass, f=np.zeros(n), contacts=contacts, name="newtons_cradle", scene=beads(n, radius, upright=False)
    )
    exact = Exact(position, lambda t: velocities[piece(t)], lambda t: impulses[piece(t)], jumps=times[1:])
    return Problem(system, (0.0, t_end), q0, start_v, exact=exact, name="newtons_cradle")


def _chain(q: NDArray, v: NDArray, radius: float, e: float, mass: float, t_end: float):
    """Start times, positions, velocities, accumulated impulses of the uniform motions between impacts."""
    WT = np.diff(np.eye(q.size), axis=0)
    tiny_gap, tiny_speed = TOUCHING * (q[-1] - q[0]), TOUCHING * np.abs(v).max()
    gaps = WT @ q - 2.0 * radius
    pieces = [(0.0, q, v, np.zeros(len(WT)))]
    while True:
        t, q, v, i = pieces[-1]
        u = WT @ v
        closing = u < -tiny_speed
        if not closing.any():
            break
        wait = np.maximum(gaps[closing] / -u[closing], 0.0).min()
        if t + wait > t_end:
            break
        t, q, gaps = t + wait, q + wait * v, gaps + wait * u
        gaps[gaps <= tiny_gap] = 0.0
        closed = np.flatnonzero(gaps == 0.0)
        impulse = np.zeros(len(WT))
        impulse[closed] = mass * _newton_impact(WT[closed], v, e)
        pieces.append((t, q, v + WT.T @ impulse / mass, i + impulse))
    return tuple(np.array(column) for column in zip(*pieces, strict=True))


def _newton_impact(WT: NDArray, v: NDArray, e: float) -> NDArray[np.float64]:
    """Impulses per mass of 0 <= u_plus + e u_minus, complementary to P >= 0: least squares with P >= 0."""
    u = WT @ v
    factor = np.linalg.cholesky(WT @ WT.T)
    from scipy.optimize import nnls  # here, because scipy takes as long to import as all of saltus

    P, _ = nnls(factor.T, np.linalg.solve(factor, -(1.0 + e) * u))
    return P
