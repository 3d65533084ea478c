"""Column of beads dropped on a floor (Siconos tutorials, ColumnOfBeads): ten bodies, ten coupled contacts."""

from __future__ import annotations

import numpy as np

from saltus.problem import Problem
from saltus.system import Contact, System

from ._sketches import beads


def bead_column(
    *,
    n: int = 10,
    mass: float = 1.0,
    gravity: float = 9.81,
    radius: float = 0.1,
    height: float = 1.0,
    spacing: float = 0.25,
    e: float = 0.9,
    t_end: float = 2.0,
) -> Problem:
    """Beads at height + i spacing dropped from rest; gaps q_0 - radius and q_i - q_(i-1) - 2 radius.

    n beads, mass [kg], gravity [m/s^2], radius [m], height of the lowest centre [m], spacing of the centres
    [m], e [-], t_end [s]. No exact solution: the impacts of neighbours interact.
    """
    floor = Contact(lambda q: q[0] - radius, e=e, name="floor")
    pairs = [
        Contact(lambda q, i=i: q[i] - q[i - 1] - 2.0 * radius, e=e, name=f"beads {i - 1}-{i}") for i in range(1, n)
    ]
    system = System(
        M=mass,
        f=np.full(n, -mass * gravity),
        contacts=[floor, *pairs],
        name="bead_column",
        scene=beads(n, radius, upright=True),
    )
    q0 = height + spacing * np.arange(n)
    return Problem(system, (0.0, t_end), q0, np.zeros(n), name="bead_column")
