"""Velocities and positions of the stages of HpTDG, four stages at a time."""

from __future__ import annotations

from saltus.compile.columns import combine_columns
from saltus.compile.seam import head, row_of, tail, unit
from saltus.compile.types import MODEL, A, F, I
from saltus.memory.layout import RATE_IDENTITY
from saltus.tables.tableau import STAGE_VECTOR, TAB


@unit(I(A, A, F, A, A, A, A, I, I))
def propagate(tab, columns, h, v_0, push, V, a, n, nv):
    """Write the stage velocities V of stage accelerations a; columns: see `columns_of`."""
    Av, P = head(tail(columns, n * n), n * n), head(tail(tab, TAB.vectors + STAGE_VECTOR.share * n), n)
    for i in range(nv):
        combine_columns(Av, n, 0.0, tail(a, i), nv, tail(V, i), nv)
        v_start, pushed = v_0[i], push[i]
        for stage in range(n):
            V[stage * nv + i] = v_start + h * V[stage * nv + i] + P[stage] * pushed
    return 0


@unit(I(MODEL, A, F, A, A, A, A, I))
def move(model, columns, h, q_0, Q, V, Q_dot, n):
    """Write stage positions Q and rates Q_dot from stage velocities V."""
    layout = model.layout
    nq, nv, Aq = layout.nq, layout.nv, head(columns, n * n)
    if (layout.features & RATE_IDENTITY) != 0:
        for i in range(n * nq):
            Q_dot[i] = V[i]
    else:
        for stage in range(n):
            model.rate(row_of(Q, stage, nq), row_of(V, stage, nv), model.par, row_of(Q_dot, stage, nq))
    for i in range(nq):
        combine_columns(Aq, n, 0.0, tail(Q_dot, i), nq, tail(Q, i), nq)
        start = q_0[i]
        for stage in range(n):
            Q[stage * nq + i] = start + h * Q[stage * nq + i]
    return 0
