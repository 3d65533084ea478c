"""D- and D+ of any degree as printed: Problems 3.1 and 3.2 of Schindler and Acary (2014), degree 0: 2.2, 2.3.

a_l = M(q_l)^-1 (f(t_l, q_l, v_l) + W(q_l) r_l)          contact law on acceleration level at every stage
q_l = q_k + h sum beta_k(t_l) v_k                        (67), (72)
D-   v_l = v_k + h sum beta~_k(t_l) a_k                  (74)
     v_new = v_M + h beta_M (a_M - sum l~_k(1) a_k) + M^-1 W P                      (75)
D+   v_0 = v_k + h beta_0 (a_0 - sum l~_k(0) a_k) - l~_M(0) beta_0/beta_M M^-1 W P  (69)
     v_l = v_0 + h sum beta~_k(t_l) a_k + beta~_M(t_l)/beta_M M^-1 W P              (70), (71)
0 <= u_plus + e u,  P_N >= 0,  one of them zero          at the end of the interval, where g(q_new) <= 0
"""

from __future__ import annotations

import functools

import numpy as np

from plain.law import normal, solve

CLOSED, REST = 1e-10, 1e-9  # gap [m] and velocity [m/s] up to which a contact is closed and rests


def run(model, t, q, v, h, n, degrees, family, impact="left"):
    """Return the states of n intervals; degrees: one for all, or one for each."""
    rows, degrees = [(t, *q, *v)], [degrees] * n if np.ndim(degrees) == 0 else degrees
    for k in range(n):
        make = constant if degrees[k] == 0 else minus if family == "-" else plus
        q, v = make(model, t + k * h, h, q, v, degrees[k] or family, impact)
        rows.append((t + (k + 1) * h, *q, *v))
    return np.array(rows)


@functools.cache
def weights(degree, family):
    """Return nodes, beta, beta(t_l), beta~(t_l), and l~ at the border where the velocity jumps, rows by node l."""
    c = 0.5 * (1.0 - np.cos(np.pi * np.arange(degree + 1) / degree))
    inner = c[:-1] if family == "-" else c[1:]
    beta_at, inner_at = integrals(c, c), integrals(inner, c)
    border = np.array([lagrange(inner, k, 1.0 if family == "-" else 0.0) for k in range(degree)])
    return c, beta_at[-1], beta_at, inner_at, border


def lagrange(nodes, k, s):
    """Return the Lagrange polynomial k of some nodes at s."""
    return np.prod([(s - x) / (nodes[k] - x) for j, x in enumerate(nodes) if j != k])


def integrals(nodes, ends):
    """Return the integrals of the Lagrange polynomials from 0 to the ends, by Gauss' quadrature."""
    x, w = np.polynomial.legendre.leggauss(len(nodes))
    return np.array(
        [
            [sum(0.5 * end * w[i] * lagrange(nodes, k, 0.5 * end * (1.0 + x[i])) for i in range(len(x)))
             for k in range(len(nodes))]
            for end in ends
        ]
    )  # fmt: skip


def acceleration(model, t, q, v, open_before):
    """Return the acceleration of a stage: contacts push that are closed there, and at the left border, and do not open.

    Those that slip do so in the direction they have; others stick or begin to slip as the law on accelerations says.
    """
    M, W = model.M(q), model.W(q)
    free, u, mu = np.linalg.solve(M, model.f(t, q, v)), W @ v, model.mu.copy()
    closed = (model.g(q) <= CLOSED) & ~open_before & (u[::2] <= REST)
    if not np.any(closed):
        return free
    answer, rows = np.linalg.solve(M, W.T), np.arange(len(u))
    for c in range(2):
        if mu[c] > 0.0 and abs(u[2 * c + 1]) > REST:
            # friction of a slip goes with the normal force: r_N acts along W_N - mu sign(u_T) W_T
            answer[:, 2 * c] -= mu[c] * np.sign(u[2 * c + 1]) * answer[:, 2 * c + 1]
            mu[c] = 0.0
    r = solve(W @ answer, W @ free + model.zeta(q, v), mu, closed)
    assert np.all(r[rows % 2 == 0] >= 0.0)
    return free + answer @ r


def impulse(model, q, v, closed, u_before):
    """Return M^-1 W P of the impact law; u_before: velocities that restitution looks at."""
    M, W = model.M(q), model.W(q)
    answer = np.linalg.solve(M, W.T)
    return answer @ solve(W @ answer, W @ v + normal(model.e, u_before), model.mu, closed)


def before(model, q, v_k, v, impact):
    """Return the velocities that restitution looks at: what separates already has nothing to restitute."""
    return np.minimum(model.W(q) @ (v_k if impact == "previous" else v), 0.0)


def minus(model, t, h, q_k, v_k, degree, impact):
    """Return q and v at the end of an interval of D-."""
    c, beta, beta_at, inner_at, border = weights(degree, "-")
    opened = model.g(q_k) > CLOSED
    a = np.tile(acceleration(model, t, q_k, v_k, np.zeros(2, bool)), (degree + 1, 1))
    for _ in range(60):
        v_l = v_k + h * inner_at @ a[:-1]
        q_l = q_k + h * beta_at @ v_l
        last = a.copy()
        for k in range(1, degree + 1):
            a[k] = acceleration(model, t + c[k] * h, q_l[k], v_l[k], opened)
        if np.abs(a[:-1] - last[:-1]).max() <= 1e-12 * (1.0 + np.abs(a).max()):
            break
    q, v = q_l[-1], v_l[-1] + h * beta[-1] * (a[-1] - border @ a[:-1])
    closed = model.g(q) <= CLOSED
    if np.any(closed & ((model.W(q) @ v)[::2] < 0.0)):
        v = v + impulse(model, q, v, closed, before(model, q, v_k, v, impact))
    return q, v


def plus(model, t, h, q_k, v_k, degree, impact):
    """Return q and v at the end of an interval of D+; its closed contacts are those of the motion without impulse."""
    c, beta, beta_at, inner_at, border = weights(degree, "+")
    opened, closed, jump = model.g(q_k) > CLOSED, None, np.zeros(2)
    a = np.tile(acceleration(model, t, q_k, v_k, np.zeros(2, bool)), (degree + 1, 1))
    for _ in range(60):
        for _ in range(60):
            v_0 = v_k + h * beta[0] * (a[0] - border @ a[1:]) - border[-1] * beta[0] / beta[-1] * jump
            v_l = v_0 + h * inner_at @ a[1:] + np.outer(inner_at[:, -1] / beta[-1], jump)
            q_l = q_k + h * beta_at @ v_l
            last = a.copy()
            for k in range(degree + 1):
                a[k] = acceleration(model, t + c[k] * h, q_l[k], v_l[k], opened if k > 0 else np.zeros(2, bool))
            if np.abs(a - last).max() <= 1e-12 * (1.0 + np.abs(a).max()):
                break
        q, v = q_l[-1], v_l[-1] - jump
        if closed is None:
            closed = model.g(q) <= CLOSED
            if not np.any(closed & ((model.W(q) @ v)[::2] < 0.0)):
                return q, v
        last, jump = jump, impulse(model, q, v, closed, before(model, q, v_k, v, impact))
        if np.abs(jump - last).max() <= 1e-14 * (1.0 + np.abs(v).max()):
            return q, v + jump
    raise AssertionError("stages and impulse do not settle")


def constant(model, t, h, q_k, v_k, family, impact):
    """Return q and v of degree 0: Problems 2.2 (D+, implicit) and 2.3 (D-, explicit), all velocities by W(q_new)."""
    v, closed = v_k, None
    for _ in range(200):
        q = q_k + h * (v if family == "+" else v_k)
        if family == "+":
            free = v_k + h * np.linalg.solve(model.M(q), model.f(t + h, q, v))
        else:
            free = v_k + h * np.linalg.solve(model.M(q_k), model.f(t, q_k, v_k))
        last, v = v, free
        if closed is not None:
            u = model.W(q) @ v_k if impact == "previous" else np.minimum(model.W(q) @ free, 0.0)
            v = free + impulse(model, q, free, closed, u)
        if np.abs(v - last).max() <= 1e-15 * (1.0 + np.abs(v).max()):
            if closed is not None:
                return q, v
            closed = model.g(q) <= CLOSED  # by the end position without impulse
    raise AssertionError("the implicit step does not settle")
