"""Particle between two walls without force: at every impact its speed shrinks by the wall's e."""

from __future__ import annotations

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import ball_between_walls


def two_walls(
    *,
    mass: float = 1.0,
    width: float = 1.0,
    e1: float = 0.8,
    e2: float = 0.6,
    q0: float = 0.37,
    v0: float = 1.0,
    t_end: float = 8.0,
) -> Problem:
    """Walls at q = 0 (e1) and q = width (e2): the speed falls by e1 e2 from round to round, the time grows as much.

    mass [kg], width [m] > 0, e1, e2 [-], q0 [m] between the walls, v0 [m/s], t_end [s]. With e = 0 it stays at the
    wall.
    """
    if mass <= 0.0 or width <= 0.0 or not 0.0 <= q0 <= width:
        raise ModelError(
            f"two_walls needs mass, width > 0 and q0 between the walls: mass = {mass}, width = {width}, q0 = {q0}; "
            "choose 0 <= q0 <= width"
        )
    e, places = (e1, e2), (0.0, width)
    rows = [(0.0, q0, v0, 0.0, 0.0)]  # start, q, v, impulses of the two walls
    t, q, v = 0.0, q0, v0
    passed = [0.0, 0.0]
    while v != 0.0:
        wall = int(v > 0.0)
        t, q = t + (places[wall] - q) / v, places[wall]
        if t > t_end:
            break
        passed[wall] += mass * (1.0 + e[wall]) * abs(v)
        v = -e[wall] * v if e[wall] > 0.0 else 0.0
        rows.append((t, q, v, passed[0], passed[1]))
    starts, places_k, speeds, *impulses = np.array(rows, float).T
    impulses = np.stack(impulses, axis=-1)

    def piece(t):
        return np.maximum(np.searchsorted(starts, t, side="right") - 1, 0)

    def position(t):
        k = piece(t)
        return (places_k[k] + speeds[k] * (np.asarray(t, float) - starts[k]))[..., None]

    system = System(
        M=mass,
        f=0.0,
        contacts=[
            Contact(lambda q: q[0], e=e1, name="lower wall"),
            Contact(lambda q: width - q[0], e=e2, name="upper wall"),
        ],
        name="two_walls",
        scene=ball_between_walls(width),
    )
    exact = Exact(position, lambda t: speeds[piece(t)][..., None], lambda t: impulses[piece(t)], jumps=starts[1:])
    return Problem(system, (0.0, t_end), [q0], [v0], exact=exact, name="two_walls")
