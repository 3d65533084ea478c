"""Writing the dense output of schemes that fly from event to event, in the form that flight/dense.py reads."""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, A, F, I
from saltus.memory.layout import FLAGS, NQ, NR, NV, RATE_IDENTITY


@unit(I(MODEL, F, F, A, A, I, A, A, A, I, A))
def put_piece(model, begin, end, q, v, n, a, r, q_dot, at, dense):
    """Write one piece of dense output with n nodes (see flight/dense.py); return where the next one begins."""
    layout = model.layout
    nq, nv, nr = layout[NQ], layout[NV], layout[NR]
    dense[at], dense[at + 1] = begin, end
    at += 2
    for i in range(nq):
        dense[at + i] = q[i]
    for i in range(nv):
        dense[at + nq + i] = v[i]
    at += nq + nv
    for i in range(n * nv):
        dense[at + i] = a[i]
    for i in range(n * nr):
        dense[at + n * nv + i] = r[i]
    at += n * (nv + nr)
    if (layout[FLAGS] & RATE_IDENTITY) == 0:
        for i in range(n * nq):
            dense[at + i] = q_dot[i]
        at += n * nq
    return at
