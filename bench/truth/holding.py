"""What rough contacts hold at rest: the range of a load for which admissible forces exist, by linear programming."""

from __future__ import annotations

import numpy as np
from reference import Unfit
from scipy.optimize import linprog


def held_range(N: np.ndarray, T: np.ndarray, mus, load: np.ndarray, direction: np.ndarray) -> tuple[float, float]:
    """Least and largest s with N n + T r + load + s direction = 0, n >= 0, |r_k| <= mu_k n_k (columns per contact)."""
    n = N.shape[1]
    rows = []
    for k, mu in enumerate(mus):
        for sign in (-1.0, 1.0):
            row = np.zeros(2 * n + 1)
            row[k], row[n + k] = -mu, sign
            rows.append(row)
    equal = np.column_stack([N, T, direction])
    bounds = [(0.0, None)] * n + [(None, None)] * (n + 1)
    ends = []
    for sign in (1.0, -1.0):
        goal = np.zeros(2 * n + 1)
        goal[-1] = sign
        found = linprog(goal, A_ub=np.array(rows), b_ub=np.zeros(2 * n), A_eq=equal, b_eq=-load, bounds=bounds)
        if found.status != 0:
            raise Unfit("nothing is held, or everything")
        ends.append(float(found.x[-1]))
    return ends[0], ends[1]
