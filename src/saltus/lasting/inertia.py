"""Work of a mass matrix that changes along the motion, which the energy ledger must know."""

from __future__ import annotations

from saltus.compile.seam import head, row_of, tail, unit, whole
from saltus.compile.types import MODEL, A, F
from saltus.memory.profile import quadratic
from saltus.tables.tableau import STAGE_VECTOR, TAB


@unit(F(MODEL, A, F, F, A, A, A, A, A))
def inertia_work(model, tab, t, h, Q, V, Q_dot, q, M):
    """Return the integral of 1/2 v^T (dM/dt) v: what a changing M adds to the kinetic energy; q, M: scratch."""
    layout = model.layout
    nq, nv, n = layout.nq, layout.nv, whole(tab[TAB.stages])
    c, b = (
        head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n),
        head(tail(tab, TAB.vectors + STAGE_VECTOR.weight * n), n),
    )
    # differences of fourth order along the motion: 1e-12 of what they are, in truncation and in rounding
    total, step = 0.0, 1e-3 * h
    for k in range(n):
        v = row_of(V, k, nv)
        for far in range(1, 3):
            share = (8.0 if far == 1 else -1.0) * b[k]
            for sign in range(-1, 2, 2):
                for i in range(nq):
                    q[i] = Q[k * nq + i] + sign * far * step * Q_dot[k * nq + i]
                model.mass(t + c[k] * h + sign * far * step, q, model.par, M)
                total += sign * share * quadratic(layout, M, v)
    return total * h / (24.0 * step)
