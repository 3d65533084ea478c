"""Splitting without contact forces, (86) and (87) of the lecture: a step of Fehlberg's pair, then the impact law.

M v' = f(t, q, v),  q' = v                   by the method of order 5 in Fehlberg's pair, from q_k, v_k to q_1, v_1
M (v_new - v_1) = W P,  q_new = q_1          0 <= u_new + e u_1,  P_N >= 0,  one of them zero, where g(q_1) <= 0
"""

from __future__ import annotations

import numpy as np

from plain.law import normal, solve

C = [0.0, 1 / 4, 3 / 8, 12 / 13, 1.0, 1 / 2]
A = [
    [],
    [1 / 4],
    [3 / 32, 9 / 32],
    [1932 / 2197, -7200 / 2197, 7296 / 2197],
    [439 / 216, -8.0, 3680 / 513, -845 / 4104],
    [-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40],
]
B = [16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55]


def run(model, t, q, v, h, n):
    """Return the states of n steps."""
    rows = [(t, *q, *v)]
    for k in range(n):
        q, v = smooth(model, t + k * h, h, q, v)
        closed, W, M = model.g(q) <= 1e-10, model.W(q), model.M(q)
        if np.any(closed & ((W @ v)[::2] < 0.0)):
            answer = np.linalg.solve(M, W.T)
            u = np.minimum(W @ v, 0.0)  # what separates already has nothing to restitute
            v = v + answer @ solve(W @ answer, W @ v + normal(model.e, u), model.mu, closed)
        rows.append((t + (k + 1) * h, *q, *v))
    return np.array(rows)


def smooth(model, t, h, q, v):
    """Return q and v after a step of free motion."""
    q_dot, v_dot = [], []
    for c, a in zip(C, A, strict=True):
        q_l = q + h * sum((w * k for w, k in zip(a, q_dot, strict=True)), np.zeros(2))
        v_l = v + h * sum((w * k for w, k in zip(a, v_dot, strict=True)), np.zeros(2))
        q_dot.append(v_l)
        v_dot.append(np.linalg.solve(model.M(q_l), model.f(t + c * h, q_l, v_l)))
    return q + h * np.dot(B, q_dot), v + h * np.dot(B, v_dot)
