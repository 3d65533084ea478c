"""The nonsmooth generalized-alpha scheme, with the directions of the jump in the middle of the step.

M v_dot_new = f(t_new, q_new, v_new)                                  M_mid jump = W_mid P
(1 - am) a_new + am a_k = (1 - af) v_dot_new + af v_dot_k
v_new = v_k + h (1 - ga) a_k + h ga a_new + jump
q_new = q_k + h v_k + h^2 (1/2 - be) a_k + h^2 be a_new + h/2 jump
0 <= u_new + e u_k,  P_N >= 0,  one of them zero                      u_k = W(q_k) v_k, u_new = W(q_new) v_new
"""

from __future__ import annotations

import numpy as np

from plain.law import normal, solve


def run(model, t, q, v, h, n, *, rho=0.8):
    """Return the states of n steps."""
    rows = [(t, *q, *v)]
    v_dot = np.linalg.solve(model.M(q), model.f(t, q, v))
    a = v_dot
    for k in range(n):
        closed = np.zeros(2, bool)
        while True:  # contacts join until no other one is closed at the end
            made = step(model, t + k * h, h, q, v, a, v_dot, closed, rho)
            joining = (model.g(made[0]) <= 1e-12) & ~closed
            if not np.any(joining):
                break
            closed = closed | joining
        q, v, a, v_dot = made
        rows.append((t + (k + 1) * h, *q, *v))
    return np.array(rows)


def step(model, t, h, q_k, v_k, a_k, v_dot_k, closed, rho):
    """Return q, v, a and v_dot at the end of a step, with the constants of Chung and Hulbert."""
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    ga = 0.5 + af - am
    be = 0.25 * (0.5 + ga) ** 2
    u_k, v, jump, a = model.W(q_k) @ v_k, v_k, np.zeros(2), a_k
    for _ in range(300):
        q = q_k + h * v_k + h * h * ((0.5 - be) * a_k + be * a) + 0.5 * h * jump
        v_dot = np.linalg.solve(model.M(q), model.f(t + h, q, v))
        a = ((1.0 - af) * v_dot + af * v_dot_k - am * a_k) / (1.0 - am)
        free, middle, W = v_k + h * ((1.0 - ga) * a_k + ga * a), 0.5 * (q_k + q), model.W(q)
        answer = np.linalg.solve(model.M(middle), model.W(middle).T)
        last = np.append(v, jump)
        jump = answer @ solve(W @ answer, W @ free + normal(model.e, u_k), model.mu, closed)
        v = free + jump
        if np.abs(np.append(v, jump) - last).max() <= 1e-15 * (1.0 + np.abs(v).max()):
            break
    return q, v, a, v_dot
