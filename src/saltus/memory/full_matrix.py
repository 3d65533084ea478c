"""LU factors of small full matrices, stored row by row."""

from __future__ import annotations

from saltus.compile.columns import subtract_multiple
from saltus.compile.seam import head, tail, unit
from saltus.compile.types import A, I, J
from saltus.status import Status


@unit(I(A, I, J))
def factor_dense(G, m, pivots):
    """Replace a full matrix by its LU factors with row exchanges."""
    for k in range(m):
        best = k
        for i in range(k + 1, m):
            if abs(G[i * m + k]) > abs(G[best * m + k]):
                best = i
        pivots[k] = best
        if best != k:
            for j in range(m):
                G[k * m + j], G[best * m + j] = G[best * m + j], G[k * m + j]
        pivot, row = G[k * m + k], head(tail(G, k * m + k + 1), m - k - 1)
        if not abs(pivot) > 1e-300:
            return Status.NEWTON_STALLED
        for i in range(k + 1, m):
            factor = G[i * m + k] / pivot
            G[i * m + k] = factor
            if factor != 0.0:
                subtract_multiple(row, factor, head(tail(G, i * m + k + 1), m - k - 1))
    return 0


@unit(I(A, A, J))
def solve_dense(G, x, pivots):
    """Solve with the factors of `factor_dense`, in place."""
    m = x.shape[0]
    for k in range(m):
        p = pivots[k]
        if p > k and p < m:  # factors may come from a checkpoint of somebody: nothing beyond x is touched
            x[k], x[p] = x[p], x[k]
    for j in range(m):  # column by column: the rows below do not wait for each other
        known = x[j]
        for i in range(j + 1, m):
            x[i] -= G[i * m + j] * known
    for i in range(m - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, m):
            total -= G[i * m + j] * x[j]
        x[i] = total / G[i * m + i]
    return 0
