"""Event-driven integration with index sets, the lecture's algorithm for several contacts, to rounding.

Between events the index set stays: OPEN contacts have no force, slipping ones are held in their normal direction with
r_T = -mu r_N sign(u_T), sticking ones in both (29). Steps are Gauss collocation of order 10. An event is the zero of a
gap (1.5), of a normal force (2.2.2), of a slip or of the distance to the cone; it is located on the length of the step.
Impacts obey (27), and among what is closed and does not move apart the law on accelerations chooses (28).
"""

from __future__ import annotations

import numpy as np

from plain.law import normal, solve

OPEN, STICK = 0, 2  # -1 and 1 are slips in that direction
CLOSED, REST = 1e-11, 1e-9
STAGES = 5
C = 0.5 * (1.0 + np.polynomial.legendre.leggauss(STAGES)[0])
POWERS = np.arange(1, STAGES + 1)
A = np.linalg.solve(np.vander(C, increasing=True).T, (C[:, None] ** POWERS / POWERS).T).T
B = 0.5 * np.polynomial.legendre.leggauss(STAGES)[1]


def run(model, q, v, times):
    """Return the states at some times, the right limits, from the first of them on."""
    t, index = times[0], decide(model, times[0], q, v, (model.g(q) <= CLOSED) & ((model.W(q) @ v)[::2] <= REST))
    rows = [(t, *q, *v)]
    for stop in times[1:]:
        while t < stop:
            t, q, v, index = flight(model, t, stop, q, v, index)
        rows.append((t, *q, *v))
    return np.array(rows)


def flight(model, t, stop, q, v, index):
    """Return the state and its index set at the next event, or at the end."""
    length = stop - t
    ahead = collocate(model, t, length, q, v, index)
    crossed = [k for k, value in enumerate(watched(model, stop, *ahead, index)) if value < 0.0]
    if not crossed:
        return stop, *ahead, index
    roots = [root(lambda s, k=k: watched(model, t + s, *collocate(model, t, s, q, v, index), index)[k], length)
             for k in crossed]  # fmt: skip
    length, first = min(roots), crossed[int(np.argmin(roots))]
    t, (q, v) = t + length, collocate(model, t, length, q, v, index)
    held, u = np.array(index) != OPEN, model.W(q) @ v
    closed = held | (model.g(q) <= CLOSED)
    if first < 2 and not held[first]:  # an impact, over all that is closed
        answer = np.linalg.solve(model.M(q), model.W(q).T)
        strikes = np.where(np.repeat(held, 2), 0.0, np.minimum(u, 0.0))
        v = v + answer @ solve(model.W(q) @ answer, u + normal(model.e, strikes), model.mu, closed)
    return t, q, v, decide(model, t, q, v, closed & ((model.W(q) @ v)[::2] <= REST))


def root(value, end):
    """Return where a function vanishes between 0 and the end, by bisection and at last by secants."""
    begin, low, high = 0.0, value(0.0), value(end)
    for _ in range(60):
        middle = 0.5 * (begin + end)
        if high < 0.0 < low and end - begin < 1e-5:
            middle = begin + (end - begin) * low / (low - high)
        here = value(middle)
        if abs(here) < 1e-16 or not begin < middle < end:
            return middle
        if here < 0.0:
            end, high = middle, here
        else:
            begin, low = middle, here
    return 0.5 * (begin + end)


def watched(model, t, q, v, index):
    """Return what must stay positive: gap or normal force of each contact, then its slip or distance to the cone."""
    g, u, r = model.g(q), model.W(q) @ v, accelerate(model, t, q, v, index)[1]
    first, second = np.empty(2), np.ones(2)
    for c in range(2):
        N, T = 2 * c, 2 * c + 1
        first[c] = g[c] + (CLOSED if g[c] < CLOSED and u[N] > 0.0 else 0.0) if index[c] == OPEN else r[N]
        if model.mu[c] > 0.0 and index[c] != OPEN:
            second[c] = model.mu[c] * r[N] - abs(r[T]) if index[c] == STICK else index[c] * u[T]
    return np.concatenate([first, second])


def accelerate(model, t, q, v, index):
    """Return the acceleration and the forces of all rows under an index set."""
    M, W = model.M(q), model.W(q)
    free, forces, rows = np.linalg.solve(M, model.f(t, q, v)), np.zeros((4, 0)), []
    for c, kind in enumerate(index):
        if kind == OPEN:
            continue
        unit = np.eye(4)[2 * c]
        forces = np.column_stack([forces, unit if kind == STICK else unit - kind * model.mu[c] * np.eye(4)[2 * c + 1]])
        rows.append(2 * c)
        if kind == STICK:
            forces = np.column_stack([forces, np.eye(4)[2 * c + 1]])
            rows.append(2 * c + 1)
    if not rows:
        return free, np.zeros(4)
    answer = np.linalg.solve(M, W.T @ forces)
    r = forces @ np.linalg.solve(W[rows] @ answer, -(W @ free + model.zeta(q, v))[rows])
    return free + np.linalg.solve(M, W.T @ r), r


def decide(model, t, q, v, closed):
    """Return the index set of a state by the law on accelerations; what slips keeps its direction."""
    index, W, M, mu = [OPEN, OPEN], model.W(q), model.M(q), model.mu.copy()
    if not np.any(closed):
        return index
    free, u, answer = np.linalg.solve(M, model.f(t, q, v)), W @ v, np.linalg.solve(M, W.T)
    for c in range(2):
        if abs(u[2 * c + 1]) > REST:
            answer[:, 2 * c] -= mu[c] * np.sign(u[2 * c + 1]) * answer[:, 2 * c + 1]
            mu[c] = 0.0
    r = solve(W @ answer, W @ free + model.zeta(q, v), mu, closed)
    a = W @ (free + answer @ r) + model.zeta(q, v)
    for c in range(2):
        if r[2 * c] > 0.0:
            slips = abs(u[2 * c + 1]) > REST
            sticks = mu[c] > 0.0 and abs(r[2 * c + 1]) < mu[c] * r[2 * c] * (1.0 - 1e-9)
            index[c] = int(np.sign(u[2 * c + 1])) if slips else STICK if sticks else int(np.sign(a[2 * c + 1])) or 1
    return index


def collocate(model, t, h, q, v, index):
    """Return q and v after a step of Gauss collocation."""
    a = np.tile(accelerate(model, t, q, v, index)[0], (STAGES, 1))
    for _ in range(40):
        v_l = v + h * A @ a
        q_l = q + h * A @ v_l
        last = a
        a = np.array([accelerate(model, t + C[k] * h, q_l[k], v_l[k], index)[0] for k in range(STAGES)])
        if np.abs(a - last).max() <= 1e-13 * (1.0 + np.abs(a).max()):
            break
    return q + h * B @ v_l, v + h * B @ a
