"""Step sizes by Richardson's estimate, (54) to (59) and (73) to (75) of the lecture, on the ball with Moreau-Jean.

error = |q_1/2 - q_1| / (2^p - 1) / etol,  2 |q_1/2 - q_1| / etol for p = 0     etol = tol (1 + max(|q_k|, |q_new|))
with violation the larger of it and of what the depth of the step adds, in units of etol      (74), (75)
h_new = h min(6, max(1/5, 0.9 (1 / error)^(1 / (p + 1))))                                      (59)
"""

from __future__ import annotations

import numpy as np

GRAVITY, E = 2.0, 0.5  # the ball of (68), from q = 1 at rest


def run(order, violation, tol, h, t_end):
    """Return times and positions of the accepted steps, and how many were rejected; theta = 1, gamma = 1/2."""
    t, q, v, rejected = 0.0, 1.0, 0.0, 0
    times, positions = [t], [q]
    while t < t_end * (1.0 - 1e-12):
        h = min(h, t_end - t)
        whole, _ = step(h, q, v)
        q_new, v_new = step(0.5 * h, *step(0.5 * h, q, v))
        etol = tol + tol * max(abs(q), abs(q_new))
        error = abs(q_new - whole) / etol * (2.0 if order == 0 else 1.0 / (2.0**order - 1.0))
        if violation:
            error = max(error, (max(-q_new, 0.0) - max(-q, 0.0)) / etol)
        growth = 0.9 * (1.0 / error) ** (1.0 / (order + 1)) if error > 0.0 else np.inf
        if error <= 1.0:
            t, q, v = t + h, q_new, v_new
            times.append(t)
            positions.append(q)
        else:
            rejected += 1
        h *= min(6.0, max(0.2, growth))
    return np.array(times), np.array(positions), rejected


def step(h, q, v):
    """Return the ball after a step of Moreau-Jean with theta = 1."""
    v_new = v - h * GRAVITY
    if q + 0.5 * h * v <= 1e-12:
        v_new = max(v_new, -E * v)
    return q + h * v_new, v_new
