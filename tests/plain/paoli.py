"""Paoli's velocity scheme (Lyon 2008), with an e for every contact, and in the form of the source with one e.

q_new = q_k + h v_k
M (v_new - v_k) = h f(t_new, q_new, v_new) + W P        M, W at q_new
0 <= u_new + e u_k,  P_N >= 0,  one of them zero, where g(q_new) <= 0
"""

from __future__ import annotations

import numpy as np

from plain.law import normal, solve


def run(model, t, q, v, h, n):
    """Return the states of n steps."""
    rows = [(t, *q, *v)]
    for k in range(n):
        q = q + h * v
        v = velocity(model, t + (k + 1) * h, h, q, v)
        rows.append((t + (k + 1) * h, *q, *v))
    return np.array(rows)


def velocity(model, t, h, q, v_k):
    """Return v_new, which is implicit in the force only."""
    closed, M, W, v = model.g(q) <= 1e-12, model.M(q), model.W(q), v_k
    answer = np.linalg.solve(M, W.T)
    for _ in range(200):
        free = v_k + h * np.linalg.solve(M, model.f(t, q, v))
        P = solve(W @ answer, W @ free + normal(model.e, W @ v_k), model.mu, closed)
        last, v = v, free + answer @ P
        if np.abs(v - last).max() <= 1e-15 * (1.0 + np.abs(v).max()):
            break
    return v


def run_of_the_source(model, t, q, v, h, n):
    """Return the same by v_new = -e v_k + (1 + e) proj(V(q_new), v_k + h M^-1 f / (1 + e)), one e, no friction."""
    rows, e = [(t, *q, *v)], model.e[0]
    for k in range(n):
        q, v_k, time = q + h * v, v, t + (k + 1) * h
        closed, M, W = model.g(q) <= 1e-12, model.M(q), model.W(q)
        for _ in range(200):
            inside = project(M, W[::2][closed], v_k + h * np.linalg.solve(M, model.f(time, q, v)) / (1.0 + e))
            last, v = v, -e * v_k + (1.0 + e) * inside
            if np.abs(v - last).max() <= 1e-15 * (1.0 + np.abs(v).max()):
                break
        rows.append((time, *q, *v))
    return np.array(rows)


def project(M, W, v):
    """Return the point of the cone {w: W w >= 0} that is nearest to v in the metric of M, by trying every face."""
    best, least = None, np.inf
    for mask in range(2 ** len(W)):
        face = W[[c for c in range(len(W)) if mask >> c & 1]]
        answer = np.linalg.solve(M, face.T)
        w = v - answer @ np.linalg.solve(face @ answer, face @ v) if len(face) else v
        far = (w - v) @ M @ (w - v)
        if np.all(W @ w >= -1e-12) and far < least:
            best, least = w, far
    return best
