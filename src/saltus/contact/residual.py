"""The residual of a contact problem: a kernel that judges any P, independently of the solver that found it.

The natural map of De Saxce's form of the laws (De Saxce and Feng 1998), free of units:

    || P - proj(P - rho (u + mu |u_T| e_N)) || / (rho ||b||),   rho = 1 / mean(diag D)

with u = W^T y + b, y = X P computed afresh, and |u_T| summed over the frictions of a law. For b = 0 the numerator alone
is returned.
"""

from __future__ import annotations

import math

from saltus.compile.seam import unit
from saltus.compile.types import RESIDUAL
from saltus.compile.workspace import Workspace
from saltus.laws import MOST_ROWS, sliding

# y = X P; X_i: one row of X; P_k, step: of one block
JUDGING = Workspace("Judging", y="nv", X_i="nv", P_k=f"{MOST_ROWS}", step=f"{MOST_ROWS}")


@unit(RESIDUAL)
def residual(contacts, cone, P, u, room):
    """Return the scaled residual of P and write u.

    in      contacts, cone, P
    out     u; room: JUDGING with y = X P
    """
    blocks, rows, W_col, W = contacts.blocks, contacts.rows, contacts.W_col, contacts.W
    X_col, X, b, mu = contacts.X_col, contacts.X, contacts.b, contacts.mu
    nv, n = contacts.nv, b.shape[0]
    work = JUDGING(room)
    y, X_i, P_k, step = work.y, work.X_i, work.P_k, work.step
    for i in range(nv):
        y[i], X_i[i] = 0.0, 0.0
    diagonal, length, size = 0.0, 0.0, 0.0
    for i in range(n):
        for k in range(rows[4 * i + 2], rows[4 * i + 3]):
            X_i[X_col[k]] += X[k]
            y[X_col[k]] += P[i] * X[k]
            length += abs(X[k])
        for k in range(rows[4 * i], rows[4 * i + 1]):
            diagonal += W[k] * X_i[W_col[k]]
        for k in range(rows[4 * i + 2], rows[4 * i + 3]):
            X_i[X_col[k]] = 0.0
        size += b[i] * b[i]
    # an empty diagonal (a complementarity problem that is no contact problem) is replaced by the size of X
    rho = n / (diagonal if diagonal > 0.0 else (length if length > 0.0 else 1.0))
    total = 0.0
    for k in range(mu.shape[0]):
        first, nr = blocks[3 * k + 1], blocks[3 * k + 2]
        for r in range(nr):
            i = first + r
            u[i] = b[i]
            for m in range(rows[4 * i], rows[4 * i + 1]):
                u[i] += W[m] * y[W_col[m]]
        slip = sliding(blocks[3 * k], first, nr, u)
        for r in range(nr):
            step[r] = rho * (u[first + r] + (mu[k] * slip if r == 0 else 0.0))
            P_k[r] = P[first + r] - step[r]
        cone(blocks[3 * k], mu[k], P_k)
        for r in range(nr):
            # P - P_k, written so that a huge P does not round the step away where the cone is not left
            total += (step[r] - (P_k[r] - (P[first + r] - step[r]))) ** 2
    return math.sqrt(total) / (rho * math.sqrt(size)) if size > 0.0 else math.sqrt(total)
