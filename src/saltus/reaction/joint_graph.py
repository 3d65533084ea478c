"""Joints along their graph: D = W_joint^T lu^-1 W factored where it has entries, in an order that keeps them few.

Two joint rows meet in D only where they move a common part of the system, so a chain of n links has O(n) entries and
costs O(n). The order of elimination (minimum degree, ties by number) and the pattern of the factors belong to the
layout: joint_order, and joint_ptr, joint_col, the entries in front of the diagonal, row by row in that order, fill
included. LU without pivoting: D is the mass seen by the joints, positive definite where they are independent. Where a
pivot vanishes, its row says nothing new: it carries no force, and the elimination goes on without it. Where a pivot is
small and does not vanish, nothing is said here, and the dense elimination with pivots decides (react.py).
"""

from __future__ import annotations

import heapq

import numpy as np

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, A, F, I
from saltus.compile.workspace import Workspace

PIVOT_UNCERTAIN = -1

# lower, upper: entries of the factors beside the diagonal, as joint_col lists them; diagonal: 0 where a row is
# redundant; low, high: one row and one column of them by position; row, column: a row of W and one of X by degrees of
# freedom; solved: a right-hand side
GRAPH = Workspace(
    "JointGraph", lower="nl", upper="nl", diagonal="nj", low="nj", high="nj", solved="nj", row="nv", column="nv",
)  # fmt: skip


@unit(I(MODEL, A, A, GRAPH.kind))
def factor_graph(model, W_joint, X, work):
    """Write the factors of D; return how many rows are redundant, or PIVOT_UNCERTAIN where a pivot tells nothing."""
    layout, redundant = model.layout, 0
    nj, pointers, columns = layout.nj, layout.joint_ptr, layout.joint_col
    lower, upper, diagonal, low, high = work.lower, work.upper, work.diagonal, work.low, work.high
    for k in range(nj):
        low[k], high[k] = 0.0, 0.0
    for i in range(work.row.shape[0]):
        work.row[i], work.column[i] = 0.0, 0.0
    for k in range(nj):
        begin, end = layout[pointers + k], layout[pointers + k + 1]
        pivot = assemble_row(model, W_joint, X, k, work)
        most = abs(pivot)
        for e in range(begin, end):
            c = layout[columns + e]
            a, b = low[c], high[c]
            for m in range(layout[pointers + c], layout[pointers + c + 1]):
                j = layout[columns + m]
                a -= low[j] * upper[m]
                b -= lower[m] * high[j]
            if diagonal[c] == 0.0:
                a, b = 0.0, 0.0
            else:
                a /= diagonal[c]
            low[c], high[c] = a, b
            pivot -= a * b
        for e in range(begin, end):
            c = layout[columns + e]
            lower[e], upper[e] = low[c], high[c]
            low[c], high[c] = 0.0, 0.0
        if abs(pivot) <= 1e-12 * most:  # it keeps no more than rounding of the diagonal: the row is redundant
            pivot = 0.0
            redundant += 1
        elif not pivot > 1e-7 * most:  # it keeps so little that rows may be redundant
            return PIVOT_UNCERTAIN
        diagonal[k] = pivot
    return redundant


@unit(I(MODEL, A, A, I, GRAPH.kind))
def spread(model, W_joint, X, r, work):
    """Write one row of W and one of X by degrees of freedom."""
    layout = model.layout
    for e in range(layout[layout.W_ptr + r], layout[layout.W_ptr + r + 1]):
        work.row[layout[layout.W_col + e]] = W_joint[e]
    for e in range(layout[layout.X_ptr + r], layout[layout.X_ptr + r + 1]):
        work.column[layout[layout.X_col + e]] = X[e]
    return 0


@unit(I(MODEL, I, GRAPH.kind))
def wipe(model, r, work):
    """Make them zero again."""
    layout = model.layout
    for e in range(layout[layout.W_ptr + r], layout[layout.W_ptr + r + 1]):
        work.row[layout[layout.W_col + e]] = 0.0
    for e in range(layout[layout.X_ptr + r], layout[layout.X_ptr + r + 1]):
        work.column[layout[layout.X_col + e]] = 0.0
    return 0


@unit(F(MODEL, A, A, I, GRAPH.kind))
def assemble_row(model, W_joint, X, k, work):
    """Write what stands in front of the diagonal in row and column k of D; return the diagonal."""
    layout = model.layout
    first, order, columns = layout.nr - layout.nj, layout.joint_order, layout.joint_col
    r = first + layout[order + k]
    spread(model, W_joint, X, r, work)
    total = 0.0
    for e in range(layout[layout.W_ptr + r], layout[layout.W_ptr + r + 1]):
        total += W_joint[e] * work.column[layout[layout.W_col + e]]
    for m in range(layout[layout.joint_ptr + k], layout[layout.joint_ptr + k + 1]):
        c = layout[columns + m]
        s, left, right = first + layout[order + c], 0.0, 0.0
        for e in range(layout[layout.X_ptr + s], layout[layout.X_ptr + s + 1]):
            left += X[e] * work.row[layout[layout.X_col + e]]
        for e in range(layout[layout.W_ptr + s], layout[layout.W_ptr + s + 1]):
            right += W_joint[e] * work.column[layout[layout.W_col + e]]
        work.low[c], work.high[c] = left, right
    wipe(model, r, work)
    return total


@unit(I(MODEL, A, GRAPH.kind))
def solve_graph(model, rhs, work):
    """Replace rhs by D^-1 rhs, zero where rows are redundant."""
    layout, nj, y = model.layout, model.layout.nj, work.solved
    pointers, columns, order = layout.joint_ptr, layout.joint_col, layout.joint_order
    for k in range(nj):
        total = rhs[layout[order + k]]
        for e in range(layout[pointers + k], layout[pointers + k + 1]):
            total -= work.lower[e] * y[layout[columns + e]]
        y[k] = total
    for i in range(nj):
        k = nj - 1 - i
        value = y[k] / work.diagonal[k] if work.diagonal[k] != 0.0 else 0.0
        rhs[layout[order + k]] = value
        for e in range(layout[pointers + k], layout[pointers + k + 1]):
            y[layout[columns + e]] -= work.upper[e] * value
    return 0


def joint_pattern(touched: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return order, pointers and columns of the factors of D; touched: the parts of the system that each row meets."""
    meeting: dict[int, list[int]] = {}
    for r, parts in enumerate(touched):
        for part in parts:
            meeting.setdefault(part, []).append(r)
    joined: list[set[int]] = [set() for _ in touched]
    for rows in meeting.values():
        for r in rows:
            joined[r].update(rows)
    for r, others in enumerate(joined):
        others.discard(r)
    order, eliminated = _least_degree(joined)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    before: list[list[int]] = [[] for _ in order]
    for k, others in enumerate(eliminated):
        for r in others:
            before[position[r]].append(k)  # in the order of elimination, so sorted
    pointers = np.concatenate([[0], np.cumsum([len(part) for part in before], dtype=np.int64)])
    columns = np.array([c for part in before for c in part], dtype=np.int64)
    return np.array(order, dtype=np.int64), pointers, columns


def _least_degree(joined: list[set[int]]) -> tuple[list[int], list[set[int]]]:
    """Return rows in the order of least degree, and for each those that follow it and have an entry with it."""
    waiting = [(len(others), r) for r, others in enumerate(joined)]
    heapq.heapify(waiting)
    done = [False] * len(joined)
    order: list[int] = []
    eliminated: list[set[int]] = []
    while waiting:
        degree, r = heapq.heappop(waiting)
        if done[r] or degree != len(joined[r]):
            continue  # an old entry
        done[r] = True
        others = joined[r]
        order.append(r)
        eliminated.append(others)
        for s in others:
            mine = joined[s]
            before = len(mine)
            mine |= others
            mine.discard(s)
            mine.discard(r)
            if len(mine) != before:
                heapq.heappush(waiting, (len(mine), s))
    return order, eliminated
