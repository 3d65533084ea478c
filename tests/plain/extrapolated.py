"""Extrapolation of the midpoint rule in steps without contact, small substeps in the others (Studer 2008).

y = sum c_j y_j,  c_j = product over i != j of x_i/(x_i - x_j),  x_j = (h/n_j)^2,  n_j = 1, 2, ...
"""

from __future__ import annotations

import numpy as np

from plain import moreau_jean


def run(model, t, q, v, h, n, *, order=2, impact_substeps=8):
    """Return the states of n steps, for motions without lasting contact, and how many steps were extrapolated."""
    rows, counts, free = [(t, *q, *v)], range(1, order + 1), 0
    x = [1.0 / count**2 for count in counts]
    c = [np.prod([x[i] / (x[i] - x[j]) for i in range(order) if i != j]) for j in range(order)]
    for k in range(n):
        columns = [substeps(model, t + k * h, h, q, v, count) for count in counts]
        y, deepest = np.dot(c, [column[0] for column in columns]), max(column[2] for column in columns)
        touched = any(column[1] for column in columns)
        if touched or np.any(-model.g(y[:2]) > deepest + 1e-12):
            y = substeps(model, t + k * h, h, q, v, impact_substeps)[0]
        else:
            free += 1
        q, v = y[:2], y[2:]
        rows.append((t + (k + 1) * h, *q, *v))
    return np.array(rows), free


def substeps(model, t, h, q, v, count):
    """Return the state after so many substeps, whether a contact pushed in one, and the deepest penetration."""
    touched, deepest = False, 0.0
    for k in range(count):
        q, v, P = moreau_jean.step(model, t + k * h / count, h / count, q, v, 0.5, 0.5, "theta")
        touched, deepest = touched or bool(np.any(P[::2] > 0.0)), max(deepest, *(-model.g(q)))
    return np.append(q, v), touched, deepest
