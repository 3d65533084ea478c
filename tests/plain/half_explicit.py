"""Half-explicit D1-: the laws on velocity level in the forecast and at the end of a step, without projection.

M_0 (v_1 - v_k) = h f_0 + W_0 P_0             0 <= u_N_1,  P_0_N >= 0,  one of them zero      u_1 = W(q_new) v_1
q_new = q_k + h/2 (v_k + v_1)                 subscript 0: at q_k, v_k;  1: at q_new, v_1
M_1 (v_new - v_f) = W_1 P                     v_f = v_k + h/2 (M_0^-1 (f_0 + W_0 P_0/h) + M_1^-1 f_1)
0 <= u_new + e u,  P_N >= 0,  one of them zero     u = u_f where a contact closes, 0 where it carried P_0
"""

from __future__ import annotations

import numpy as np

from plain.law import normal, solve

CLOSED, REST = 1e-10, 1e-9


def run(model, t, q, v, h, n):
    """Return the states of n steps; a contact that rests after a step is closed in the next one whatever its gap."""
    rows, resting = [(t, *q, *v)], np.zeros(2, bool)
    for k in range(n):
        q, v, resting = step(model, t + k * h, h, q, v, resting)
        rows.append((t + (k + 1) * h, *q, *v))
    return np.array(rows)


def step(model, t, h, q_k, v_k, resting):
    """Return q and v at the end of a step, and which contacts rest there."""
    closed = (model.g(q_k) <= CLOSED) | resting
    M_0, W_0 = model.M(q_k), model.W(q_k)
    free, answer = v_k + h * np.linalg.solve(M_0, model.f(t, q_k, v_k)), np.linalg.solve(M_0, W_0.T)
    q = q_k + h * v_k
    for _ in range(200):
        W_1 = model.W(q)
        P_0 = solve(W_1 @ answer, W_1 @ free, model.mu, closed)
        v_1 = free + answer @ P_0
        last, q = q, q_k + 0.5 * h * (v_k + v_1)
        if np.abs(q - last).max() <= 1e-16 * (1.0 + np.abs(q).max()):
            break
    M_1, W_1 = model.M(q), model.W(q)
    v_f = v_k + 0.5 * ((v_1 - v_k) + h * np.linalg.solve(M_1, model.f(t + h, q, v_1)))
    lasting = closed & (P_0[::2] > 0.0)
    held, u_f, answer = (model.g(q) <= CLOSED) | lasting, W_1 @ v_f, np.linalg.solve(M_1, W_1.T)
    u = np.where(np.repeat(lasting, 2), 0.0, u_f)
    P = solve(W_1 @ answer, W_1 @ v_f + normal(model.e, u), model.mu, held)
    v = v_f + answer @ P
    pushes = (P_0[::2] > 0.0) | (P[::2] > 0.0)
    return q, v, pushes & ((W_1 @ v)[::2] <= REST)
