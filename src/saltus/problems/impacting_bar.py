"""Elastic bar that hits a rigid wall (Siconos tutorials, FEM/ImpactingBar): linear finite elements, waves."""

from __future__ import annotations

import numpy as np

from saltus.problem import Problem
from saltus.system import Contact, System


def impacting_bar(
    *,
    n: int = 100,
    length: float = 1.0,
    area: float = 3.14e-4,
    density: float = 7800.0,
    modulus: float = 210e9,
    e: float = 0.0,
    q0: float = 5e-5,
    v0: float = -0.1,
    t_end: float = 1.5e-3,
) -> Problem:
    """M q'' + K q = 0 with the first node above a wall; the continuous bar stays in contact for 2 length/c.

    c = sqrt(modulus/density) is the wave speed: contact from -q0/v0 = 5e-4 s for 3.855e-4 s with the
    defaults, then the bar leaves with -v0. No exact solution of the discrete bar.
    n nodes, length [m] (elements of length/n), area [m^2], density [kg/m^3], modulus [Pa], e [-], q0 [m],
    v0 [m/s], t_end [s].
    """
    element = length / n
    ends = np.zeros(n)
    ends[[0, -1]] = 1.0
    neighbours = np.eye(n, k=1) + np.eye(n, k=-1)
    M = density * area * element * (np.diag(2.0 / 3.0 - ends / 3.0) + neighbours / 6.0)
    K = modulus * area / element * (np.diag(2.0 - ends) - neighbours)
    wall = Contact(lambda q: q[0], e=e, name="wall")
    system = System(M=M, f=np.zeros(n), contacts=[wall], K=K, name="impacting_bar")
    return Problem(system, (0.0, t_end), np.full(n, q0), np.full(n, v0), name="impacting_bar")
