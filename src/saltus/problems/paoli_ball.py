"""Ball without gravity that meets a wall once (Paoli 2008, Lyon), with its discrete motion in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import ball


def paoli_ball(*, mass: float = 1.0, e: float = 0.5, q0: float = 1.0, v0: float = -1.0, t_end: float = 2.0) -> Problem:
    """Ball that flies at v0 to the wall q = 0 and returns at -e v0.

    mass [kg], e [-] in [0, 1], q0 [m] > 0, v0 [m/s] < 0, t_end [s].
    """
    if not q0 > 0.0 or not v0 < 0.0:
        raise ModelError(f"paoli_ball flies to the wall: q0 = {q0} must be positive and v0 = {v0} negative")
    impact = -q0 / v0

    def position(t):
        t = np.asarray(t, float)
        return np.where(t < impact, q0 + v0 * t, -e * v0 * (t - impact))[..., None]

    def velocity(t):
        return np.where(np.asarray(t, float) < impact, v0, -e * v0)[..., None]

    def impulse(t):
        return mass * (velocity(t) - v0)

    floor = Contact(lambda q: q[0], e=e, name="wall")
    system = System(M=mass, f=0.0, contacts=[floor], name="paoli_ball", scene=ball("wall"))
    exact = Exact(position, velocity, impulse, jumps=[impact] if impact <= t_end else [])
    return Problem(system, (0.0, t_end), [q0], [v0], exact=exact, name="paoli_ball")


class Discrete(NamedTuple):
    """Positions [m] and velocities [m/s] at the nodes 0 ... n of a grid."""

    q: NDArray[np.float64]
    v: NDArray[np.float64]


def discrete(h: float, n: int, *, e: float = 0.5, q0: float = 1.0, v0: float = -1.0) -> Discrete:
    """Return what Paoli's velocity scheme gives for `paoli_ball` after 0 ... n steps h [s], in closed form.

    The impact falls on the first node with q <= 0; when h divides the time of impact rounding decides which one it is.
    """
    i = np.arange(n + 1)
    first = int(np.ceil(-q0 / (v0 * h)))  # p + 1 of the source
    q = np.where(i <= first, q0 + i * h * v0, q0 + first * h * v0 - e * v0 * (i - first) * h)
    return Discrete(q, np.where(i < first, v0, -e * v0))
