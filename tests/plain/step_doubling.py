"""Step doubling, (54) and (55) of the lecture: two halves are the step, their difference to the whole its error."""

from __future__ import annotations

import numpy as np

from plain import moreau_jean


def run(model, t, q, v, h, n, *, order=1, rtol=1e-4, atol=1e-4):
    """Return the states of n steps of Moreau-Jean with theta = 1/2, and the errors in units of the tolerance."""
    rows, errors = [(t, *q, *v)], []
    for k in range(n):
        time, how = t + k * h, (0.5, 0.5, "theta")
        whole, _ = moreau_jean.step(model, time, h, q, v, *how)
        half = moreau_jean.step(model, time, 0.5 * h, q, v, *how)
        q_new, v = moreau_jean.step(model, time + 0.5 * h, 0.5 * h, *half, *how)
        weight = atol + rtol * np.maximum(np.abs(q), np.abs(q_new))
        errors.append(np.max(np.abs(q_new - whole) / weight) / (2.0**order - 1.0))
        q = q_new
        rows.append((t + (k + 1) * h, *q, *v))
    return np.array(rows), np.array(errors)
