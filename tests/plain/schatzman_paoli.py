"""Schatzman-Paoli, (42) and (43) of the lecture: two steps on position level, without friction.

    M(q_new) (q_new - 2 q_k + q_last) = h^2 f_theta + h W P       z = (q_new + e q_last)/(1 + e), W at z
    0 <= g(z),  P >= 0,  one of them zero
    v_new = (q_new - q_k)/h, or (q_new - q_last)/(2 h) as (42b) has it

Written with x = (q_new - q_k)/h, so that rounding is not divided by h^2: M (x - x_k) = h f_theta + W P.
"""

from __future__ import annotations

import numpy as np


def run(model, t, q, v, h, n, *, theta=0.0, lagging=False):
    """Return the states of n steps; the first one begins with q_last = q - h v."""
    rows, q_last, x = [(t, *q, *v)], q - h * v, v
    for k in range(n):
        x_new = step(model, t + k * h, h, q_last, q, x, v, theta, 0.5 if lagging else 1.0)
        v = 0.5 * (x_new + x) if lagging else x_new
        q_last, q, x = q, q + h * x_new, x_new
        rows.append((t + (k + 1) * h, *q, *v))
    return np.array(rows)


def step(model, t, h, q_last, q_k, x_k, v_k, theta, share):
    """Return x; g(z) = 0 is solved for every set of contacts until one obeys all inequalities."""
    for held in ([], [0], [1], [0, 1]):
        x, P = x_k, np.zeros(2)
        for _ in range(300):
            q, v = q_k + h * x, share * x + (1.0 - share) * x_k
            v_at, M = (1.0 - theta) * v_k + theta * v, model.M(q)
            free = x_k + h * np.linalg.solve(M, model.f(t + theta * h, q_k + theta * h * x, v_at))
            z = [(q + e * q_last) / (1.0 + e) for e in model.e]
            W = np.array([model.W(z[c])[2 * c] for c in range(2)])
            answer, P = np.linalg.solve(M, W.T), np.zeros(2)
            # (1 + e) g(z) / h of the free x, linearised at the guess
            b = (1.0 + model.e) / h * np.array([model.g(z[c])[c] for c in range(2)]) + W @ (free - x)
            if held:
                P[held] = np.linalg.solve((W @ answer)[np.ix_(held, held)], -b[held])
            last, x = x, free + answer @ P
            if np.abs(x - last).max() <= 1e-14 * (1.0 + np.abs(x).max()):  # rounding of q / h
                break
        g = [model.g((q_k + h * x + e * q_last) / (1.0 + e))[c] for c, e in enumerate(model.e)]
        if np.all(P >= 0.0) and all(g[c] >= -1e-15 for c in range(2) if c not in held):
            return x
    raise AssertionError("no set of contacts obeys the law")
