"""Profile matrices and sparse rows of many runs: the loops of memory/profile.py and reaction/react.py, unrolled."""

from __future__ import annotations

from typing import Any

from saltus.ensemble.lanes_text import Code, Lane


def stored_size(layout: Any) -> int:
    """Return how many numbers a stored matrix has."""
    nv = int(layout.nv)
    return nv + 2 * int(layout[layout.start + nv])


def factored(code: Code, layout: Any, m: list[Lane]) -> tuple[list[Lane], Lane]:
    """Return LU factors, and where a pivot is not positive; see `factor` of memory/profile.py."""
    nv, m = int(layout.nv), list(m)
    lower, upper = nv, nv + int(layout[layout.start + nv])
    wrong = code.lane(1.0) < 0.0
    for p in range(nv):
        f_p, s_p = int(layout[layout.first + p]), int(layout[layout.start + p])
        pivot = m[p]
        for j in range(f_p, p):
            f_j, s_j = int(layout[layout.first + j]), int(layout[layout.start + j])
            low, high = m[lower + s_p + j - f_p], m[upper + s_p + j - f_p]
            for k in range(max(f_p, f_j), j):
                low = low - m[lower + s_p + k - f_p] * m[upper + s_j + k - f_j]
                high = high - m[lower + s_j + k - f_j] * m[upper + s_p + k - f_p]
            low = low / m[j]
            m[lower + s_p + j - f_p], m[upper + s_p + j - f_p] = low, high
            pivot = pivot - low * high
        wrong = wrong | ~(pivot > 1e-14 * code.fabs(m[p]))
        m[p] = pivot
    return m, wrong


def solved(code: Code, layout: Any, lu: list[Lane], b: list[Lane]) -> list[Lane]:
    """Return lu^-1 b by degrees of freedom; see `solve` of memory/profile.py."""
    nv = int(layout.nv)
    lower, upper = nv, nv + int(layout[layout.start + nv])
    work, x = [code.lane(0.0)] * nv, [code.lane(0.0)] * nv
    for p in range(nv):
        total = b[int(layout[layout.perm + p])]
        f_p, s_p = int(layout[layout.first + p]), int(layout[layout.start + p])
        for k in range(f_p, p):
            total = total - lu[lower + s_p + k - f_p] * work[k]
        work[p] = total
    for p in range(nv - 1, -1, -1):
        value = work[p] / lu[p]
        x[int(layout[layout.perm + p])] = value
        f_p, s_p = int(layout[layout.first + p]), int(layout[layout.start + p])
        for k in range(f_p, p):
            work[k] = work[k] - lu[upper + s_p + k - f_p] * value
    return x


def solved_row(layout: Any, lu: list[Lane], W: list[Lane], row: int) -> list[Lane]:
    """Return a row of X = lu^-1 W by its pattern; see `solve_row` of memory/profile.py."""
    nv = int(layout.nv)
    lower, upper = nv, nv + int(layout[layout.start + nv])
    begin, end = int(layout[layout.X_ptr + row]), int(layout[layout.X_ptr + row + 1])
    code, X, work = lu[0].code, {}, {}
    for c in range(begin, end):
        X[c] = code.lane(0.0)
        for k in range(int(layout[layout.W_ptr + row]), int(layout[layout.W_ptr + row + 1])):
            if int(layout[layout.X_col + c]) == int(layout[layout.W_col + k]):
                X[c] = W[k]
    for c in range(begin, end):
        p = int(layout[layout.X_pos + c])
        total = X[c]
        f_p, s_p = int(layout[layout.first + p]), int(layout[layout.start + p])
        for k in range(f_p, p):
            total = total - lu[lower + s_p + k - f_p] * work[k]
        work[p] = total
    for c in range(end - 1, begin - 1, -1):
        p = int(layout[layout.X_pos + c])
        value = work[p] / lu[p]
        X[c] = value
        f_p, s_p = int(layout[layout.first + p]), int(layout[layout.start + p])
        for k in range(f_p, p):
            work[k] = work[k] - lu[upper + s_p + k - f_p] * value
    return [X[c] for c in range(begin, end)]


def dot(code: Code, layout: Any, W: list[Lane], row: int, v: list[Lane]) -> Lane:
    """Return (row of W) . v; see `row_dot` of reaction/react.py."""
    total = code.lane(0.0)
    for k in range(int(layout[layout.W_ptr + row]), int(layout[layout.W_ptr + row + 1])):
        total = total + W[k] * v[int(layout[layout.W_col + k])]
    return total


def answer(code: Code, layout: Any, W: list[Lane], X: list[list[Lane]], row: int) -> Lane:
    """Return (row of W) . (row of X); see `answer` of reaction/report.py."""
    total, begin = code.lane(0.0), int(layout[layout.X_ptr + row])
    for k in range(int(layout[layout.W_ptr + row]), int(layout[layout.W_ptr + row + 1])):
        for m in range(begin, int(layout[layout.X_ptr + row + 1])):
            if int(layout[layout.W_col + k]) == int(layout[layout.X_col + m]):
                total = total + W[k] * X[row][m - begin]
    return total
