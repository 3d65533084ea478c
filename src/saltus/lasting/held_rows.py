"""Factors of D = W^T M^-1 W over the rows that are held, contacts first and then all joints, and solving with them.

Joints of families are eliminated along their graph (reaction/joint_graph.py), so that a chain costs as much as it has
links; the contacts that are left make a small full matrix, S = D_cc - D_cj D_jj^-1 D_jc. Where the graph is uncertain
or a contact says nothing that the joints do not say already, one full matrix with complete pivoting holds all rows.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import head, larger, row_of, tail, unit
from saltus.compile.types import LAYOUT, MODEL, A, F, I, J
from saltus.lasting.workspace import LASTING
from saltus.memory.vectors import clear
from saltus.reaction.joint_graph import PIVOT_UNCERTAIN, factor_graph, solve_graph
from saltus.reaction.react import row_add, row_dot
from saltus.status import Status


class _FactorTuned(NamedTuple):
    """Tuned numbers of this file."""

    redundance: float = 1e-10  # pivot relative to the largest at which rows count as redundant
    tied: float = 1e-6  # relative difference of pivots up to which they count as equal


FACTOR_TUNED = _FactorTuned()


@unit(I(MODEL, I, LASTING.kind))
def factor_held(model, n, work):
    """Write the factors of D over the n rows of work.rows, with X known; return how many of them are redundant.

    out     held.along: 1 where joints are eliminated along their graph; scale: of all rows
    """
    layout = model.layout
    work.held.along = 0
    if layout.joint_ptr > 0:
        redundant = factor_along(model, n, work)
        if redundant != PIVOT_UNCERTAIN:
            work.held.along = 1
            return redundant
    return factor_rows(layout, work.W, work.X, work.rows, n, work.lu_D, work.scale, work.column, work.pivots)


@unit(I(MODEL, I, LASTING.kind))
def solve_held(model, n, work):
    """Write to work.x the forces D^-1 b of the n rows; of many the shortest, in scaled forces.

    JOINTS_CONTRADICT where one full matrix holds all rows and redundant ones ask for different things.
    """
    if work.held.along == 1:
        return solve_along(model, n, work)
    for i in range(n):
        work.x[i] = 0.0
    return solve_rows(n, work.lu_D, work.scale, work.pivots, work.held.redundant, work.b, work.x, work.left)


@unit(I(MODEL, I, LASTING.kind))
def factor_along(model, n, work):
    """Write the factors of the joints along their graph, and behind them those of the contacts; see `factor_held`.

    out     lu_D: factors of S, then D_jj^-1 D_jc, one contact row after the other; directions: null vectors of D_jj
    PIVOT_UNCERTAIN where a full matrix must decide.
    """
    layout, W, X, rows, column, pivots = model.layout, work.W, work.X, work.rows, work.column, work.pivots
    nj, first, contacts = layout.nj, layout.nr - layout.nj, n - layout.nj
    S, Z, scale = head(work.lu_D, contacts * contacts), tail(work.lu_D, contacts * contacts), work.scale
    redundant = factor_graph(model, W, X, work.graph)
    if redundant == PIVOT_UNCERTAIN:
        return PIVOT_UNCERTAIN
    for i in range(n):
        size = own_answer(layout, W, X, rows[i], work.graph.column)
        scale[i] = 1.0 / sqrt(abs(size)) if size != 0.0 else 1.0
    for k in range(contacts):
        clear(column)
        row_add(layout, X, rows[k], 1.0, column)
        answer = row_of(Z, k, nj)
        for j in range(nj):
            answer[j] = row_dot(layout, W, first + j, column)
        solve_graph(model, answer, work.graph)
        for j in range(nj):
            row_add(layout, X, first + j, -answer[j], column)
        for i in range(contacts):
            S[i * contacts + k] = scale[i] * scale[k] * row_dot(layout, W, rows[i], column)
        pivots[k], pivots[contacts + k] = k, k
    if eliminate(contacts, S, 1.0, pivots) > 0:
        return PIVOT_UNCERTAIN
    if redundant > 0:
        free_forces(model, tail(scale, contacts), work)
    return redundant


@unit(F(LAYOUT, A, A, I, A), small=True)
def own_answer(layout, W, X, row, column):
    """Return the acceleration of a row under a unit force of its own; column: zeros, and zeros again behind it."""
    for k in range(layout[layout.X_ptr + row], layout[layout.X_ptr + row + 1]):
        column[layout[layout.X_col + k]] = X[k]
    size = row_dot(layout, W, row, column)
    for k in range(layout[layout.X_ptr + row], layout[layout.X_ptr + row + 1]):
        column[layout[layout.X_col + k]] = 0.0
    return size


@unit(I(MODEL, A, LASTING.kind))
def free_forces(model, scale, work):
    """Write to work.directions the scaled forces of redundant joints that move nothing, orthonormal."""
    layout, graph, N, column, found = model.layout, work.graph, work.directions, work.column, 0
    nj, first = layout.nj, layout.nr - layout.nj
    for k in range(nj):
        if graph.diagonal[k] != 0.0:
            continue
        own, vector = layout[layout.joint_order + k], row_of(N, found, nj)
        clear(column)
        row_add(layout, work.X, first + own, -1.0, column)
        for j in range(nj):
            vector[j] = row_dot(layout, work.W, first + j, column)
        solve_graph(model, vector, graph)
        vector[own] = 1.0
        for j in range(nj):
            vector[j] /= scale[j]
        for other in range(found + 1):  # the last one is its own
            dot = 0.0
            for j in range(nj):
                dot += vector[j] * N[other * nj + j]
            for j in range(nj):
                if other == found:
                    vector[j] /= sqrt(dot)
                else:
                    vector[j] -= dot * N[other * nj + j]
        found += 1
    return found


@unit(I(MODEL, I, LASTING.kind))
def solve_along(model, n, work):
    """Solve D x = b with the factors of `factor_along`."""
    layout, b, x, column, scale, N = model.layout, work.b, work.x, work.column, work.scale, work.directions
    nj, first, contacts = layout.nj, layout.nr - layout.nj, n - layout.nj
    forces, asked, room = head(work.left, nj), head(tail(work.left, nj), contacts), tail(work.left, n)
    S, Z = head(work.lu_D, contacts * contacts), tail(work.lu_D, contacts * contacts)
    for j in range(nj):
        forces[j] = b[contacts + j]
    solve_graph(model, forces, work.graph)
    if contacts > 0:
        clear(column)
        for j in range(nj):
            row_add(layout, work.X, first + j, forces[j], column)
        for i in range(contacts):
            asked[i], x[i] = b[i] - row_dot(layout, work.W, work.rows[i], column), 0.0
        solve_rows(contacts, S, scale, work.pivots, 0, asked, x, room)
        for k in range(contacts):
            for j in range(nj):
                forces[j] -= Z[k * nj + j] * x[k]
    for m in range(work.held.redundant):
        dot = 0.0
        for j in range(nj):
            dot += N[m * nj + j] * forces[j] / scale[contacts + j]
        for j in range(nj):
            forces[j] -= dot * N[m * nj + j] * scale[contacts + j]
    for j in range(nj):
        x[contacts + j] = forces[j]
    return 0


@unit(I(LAYOUT, A, A, J, I, A, A, A, J))
def factor_rows(layout, W, X, rows, n, lu, scale, column, pivots):
    """Write the LU factors of D = W^T X over the held rows, scaled, both pivots complete; return what rank is missing.

    pivots: order of the rows, then of the columns; see `solve_rows`.
    """
    nv = column.shape[0]
    for j in range(n):
        for i in range(nv):
            column[i] = 0.0
        row_add(layout, X, rows[j], 1.0, column)
        for i in range(n):
            lu[i * n + j] = row_dot(layout, W, rows[i], column)
    for i in range(n):
        pivots[i], pivots[n + i] = i, i
        scale[i] = 1.0 / sqrt(abs(lu[i * n + i])) if lu[i * n + i] != 0.0 else 1.0
    for i in range(n):
        for j in range(n):
            lu[i * n + j] *= scale[i] * scale[j]
    return eliminate(n, lu, 0.0, pivots)


@unit(I(I, A, F, J))
def eliminate(n, lu, first, pivots):
    """Replace a scaled matrix by its LU factors; return how many of its rows are redundant.

    first: what a pivot is judged by, 0 for the first one; pivots: 0 ... n - 1 twice -> order of rows and columns
    """
    for k in range(n):
        best, row, column_of = 0.0, k, k
        for i in range(k, n):
            for j in range(k, n):
                # the diagonal is preferred unless it is clearly smaller: it keeps what is symmetric symmetric
                size = abs(lu[i * n + j]) * (1.0 if i == j else 0.1)
                # of equal ones the first: rounding must not choose which of two redundant rows is kept
                if size > best * (1.0 + FACTOR_TUNED.tied):
                    best, row, column_of = size, i, j
        first = best if first == 0.0 else first
        if not best > FACTOR_TUNED.redundance * first:
            return n - k
        if row != k:
            pivots[k], pivots[row] = pivots[row], pivots[k]
            for j in range(n):
                lu[k * n + j], lu[row * n + j] = lu[row * n + j], lu[k * n + j]
        if column_of != k:
            pivots[n + k], pivots[n + column_of] = pivots[n + column_of], pivots[n + k]
            for i in range(n):
                lu[i * n + k], lu[i * n + column_of] = lu[i * n + column_of], lu[i * n + k]
        for i in range(k + 1, n):
            lu[i * n + k] /= lu[k * n + k]
            for j in range(k + 1, n):
                lu[i * n + j] -= lu[i * n + k] * lu[k * n + j]
    return 0


@unit(I(I, A, A, J, I, A, A, A))
def solve_rows(n, lu, scale, pivots, missing, b, x, work):
    """Solve D x = b with the factors of `factor_rows`; of many solutions take the one nearest to the x that comes in.

    Near in scaled forces; so redundant contacts keep the forces that the contact law gave them. CONTRADICT when
    redundant rows ask for different things. work: n (1 + missing) floats.
    """
    rank = n - missing
    y = head(work, n)
    size, worst = 0.0, 0.0
    for i in range(n):
        y[i] = scale[pivots[i]] * b[pivots[i]]
        size = larger(size, abs(y[i]))
    for k in range(rank):
        for i in range(k + 1, n):
            y[i] -= lu[i * n + k] * y[k]
    for k in range(rank, n):
        worst = larger(worst, abs(y[k]))
        y[k] = 0.0
    for k in range(rank - 1, -1, -1):
        for j in range(k + 1, rank):
            y[k] -= lu[k * n + j] * y[j]
        y[k] /= lu[k * n + k]
    if missing > 0:
        for k in range(n):
            y[k] -= x[pivots[n + k]] / scale[pivots[n + k]]
        shorten(n, rank, lu, y, head(tail(work, n), missing * n))
        for k in range(n):
            y[k] += x[pivots[n + k]] / scale[pivots[n + k]]
    for k in range(n):
        x[pivots[n + k]] = scale[pivots[n + k]] * y[k]
    return Status.JOINTS_CONTRADICT if worst > 1e-8 * size else 0


@unit(I(I, I, A, A))
def null_vectors(n, rank, lu, N):
    """Write orthonormal vectors of the null space of the factored matrix, in the order of its pivots."""
    missing = n - rank
    for m in range(missing):
        for k in range(n):
            N[m * n + k] = 0.0
        N[m * n + rank + m] = 1.0
        for k in range(rank - 1, -1, -1):
            total = -lu[k * n + rank + m]
            for j in range(k + 1, rank):
                total -= lu[k * n + j] * N[m * n + j]
            N[m * n + k] = total / lu[k * n + k]
    # modified Gram-Schmidt
    for m in range(missing):
        for other in range(m):
            dot = 0.0
            for k in range(n):
                dot += N[m * n + k] * N[other * n + k]
            for k in range(n):
                N[m * n + k] -= dot * N[other * n + k]
        length = 0.0
        for k in range(n):
            length += N[m * n + k] * N[m * n + k]
        for k in range(n):
            N[m * n + k] /= sqrt(length)
    return 0


@unit(I(I, I, A, A, A))
def shorten(n, rank, lu, y, N):
    """Take the part of y away that lies in the null space of the factored matrix, whose vectors are left in N."""
    null_vectors(n, rank, lu, N)
    for m in range(n - rank):
        dot = 0.0
        for k in range(n):
            dot += N[m * n + k] * y[k]
        for k in range(n):
            y[k] -= dot * N[m * n + k]
    return 0
