"""Moreau-Jean: (41) of the lecture ("theta"), Algorithm 1.4 ("both"), and the same with M of the end alone ("end").

"theta"  M_theta (v_new - v_k) = h f(theta) + W_theta P          u_k = W_theta v_k
"both"   v_new = v_k + h ((1 - theta) M_k^-1 f_k + theta M_new^-1 f_new) + M_new^-1 W_new P    u_k = W_new v_k
"end"    M_new (v_new - v_k) = h ((1 - theta) f_k + theta f_new) + W_new P     u_k = W(q_k) v_k
q_new = q_k + h ((1 - theta) v_k + theta v_new)
0 <= u_new + e u_k,  P_N >= 0,  one of them zero, where g_k + gamma h u_k <= 0
"""

from __future__ import annotations

import numpy as np

from plain.law import normal, solve


def run(model, t, q, v, h, n, *, theta=0.5, gamma=0.5, at="theta"):
    """Return the states of n steps."""
    rows = [(t, *q, *v)]
    for k in range(n):
        q, v = step(model, t + k * h, h, q, v, theta, gamma, at)
        rows.append((t + (k + 1) * h, *q, *v))
    return np.array(rows)


def step(model, t, h, q_k, v_k, theta, gamma, at):
    """Return q and v at the end of a step."""
    closed = model.g(q_k) + gamma * h * (model.W(q_k) @ v_k)[::2] <= 1e-12
    f_k, M_k, v = model.f(t, q_k, v_k), model.M(q_k), v_k
    for _ in range(200):
        v_theta = (1.0 - theta) * v_k + theta * v
        q = q_k + h * v_theta
        q_at = q_k + theta * h * v_theta if at == "theta" else q
        M, W = model.M(q_at), model.W(q_at)
        if at == "theta":
            free = v_k + h * np.linalg.solve(M, model.f(t + theta * h, q_at, v_theta))
        else:
            a_k = np.linalg.solve(M_k if at == "both" else M, f_k)
            free = v_k + h * ((1.0 - theta) * a_k + theta * np.linalg.solve(M, model.f(t + h, q, v)))
        u_k = (model.W(q_k) if at == "end" else W) @ v_k
        answer = np.linalg.solve(M, W.T)
        P = solve(W @ answer, W @ free + normal(model.e, u_k), model.mu, closed)
        last, v = v, free + answer @ P
        if np.abs(v - last).max() <= 1e-15 * (1.0 + np.abs(v).max()):
            break
    return q_k + h * ((1.0 - theta) * v_k + theta * v), v
