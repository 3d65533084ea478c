"""Profile (skyline) matrices: one storage and one factorisation for three and for thirty thousand degrees of freedom.

Rows are renumbered by reverse Cuthill-McKee and every row keeps the columns from its first nonzero to the diagonal;
the pattern is symmetric, the values need not be. A full, a banded, a diagonal and a block-diagonal mass matrix are
all profiles, so kernels know nothing else. Storage of one matrix: diagonal (nv), lower part by rows, upper part by
columns, each contiguous. LU without pivoting: the matrices are a positive definite M plus O(h) terms, and a
pivot that is not positive says that M is not positive definite.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.compile.seam import unit
from saltus.compile.types import LAYOUT, A, F, I
from saltus.memory.ordering import components_of, neighbours_of, reverse_cuthill_mckee
from saltus.status import Status


@dataclasses.dataclass(frozen=True)
class Profile:
    """The pattern of a profile matrix.

    Attributes
    ----------
    perm
        perm[p] is the degree of freedom at position p.
    first
        First position stored in row p.
    start
        Offset of row p in the lower (and column p in the upper) part; length nv + 1.
    component
        Number of the connected component of each position; components are contiguous.
    """

    perm: np.ndarray
    first: np.ndarray
    start: np.ndarray
    component: np.ndarray

    @classmethod
    def of(cls, pattern: np.ndarray) -> Profile:
        """Build the profile of a boolean (nv, nv) pattern or of its list of nonzero pairs."""
        nv = pattern.shape[0]
        if isinstance(pattern, np.ndarray) and nv < 200:  # few enough: diagonal and full patterns need no graph
            joined = pattern | pattern.T
            np.fill_diagonal(joined, False)
            if not joined.any():
                every = np.arange(nv)
                return cls(every, every, np.zeros(nv + 1, dtype=np.int64), every)
            if joined.sum() == nv * (nv - 1):
                start = np.concatenate([[0], np.cumsum(np.arange(nv))])
                return cls(np.arange(nv), np.zeros(nv, dtype=np.int64), start, np.zeros(nv, dtype=np.int64))
        if isinstance(pattern, np.ndarray):
            joined = pattern | pattern.T
            np.fill_diagonal(joined, True)
            rows, columns = np.nonzero(joined)
            neighbours = neighbours_of(joined)
        else:
            from scipy import sparse  # slow to import, and most systems are dense

            graph = sparse.csr_matrix(pattern, dtype=np.int8)
            graph = sparse.csr_matrix(graph + graph.T + sparse.identity(nv, format="csr"))
            rows, columns = graph.nonzero()
            neighbours = [np.sort(part) for part in np.split(graph.indices, graph.indptr[1:-1])]
        full = len(rows) in (nv, nv * nv)  # diagonal or full: nothing to gain
        perm = np.arange(nv) if full else reverse_cuthill_mckee(neighbours)
        label = components_of(neighbours)
        perm = perm[np.argsort(label[perm], kind="stable")]  # keep components contiguous
        position = np.empty(nv, dtype=np.int64)
        position[perm] = np.arange(nv)
        first = np.arange(nv)
        np.minimum.at(first, position[rows], position[columns])
        start = np.concatenate([[0], np.cumsum(np.arange(nv) - first)])
        return cls(perm.astype(np.int64), first.astype(np.int64), start.astype(np.int64), label[perm])

    @classmethod
    def of_pairs(cls, nv: int, pairs: np.ndarray) -> Profile:
        """Build the profile of the nonzero entries (i, j), one per line, in a time linear in their number."""
        i, j = pairs[:, 0], pairs[:, 1]
        off = i != j
        every = np.arange(nv)
        if not off.any():
            return cls(every, every, np.zeros(nv + 1, dtype=np.int64), every)
        codes = np.unique(np.concatenate([i * nv + j, j * nv + i, every * (nv + 1)]))
        rows, columns = codes // nv, codes % nv
        neighbours = np.split(columns, np.flatnonzero(np.diff(rows)) + 1)
        label = components_of(neighbours)
        perm = reverse_cuthill_mckee(neighbours)
        perm = perm[np.argsort(label[perm], kind="stable")]  # keep components contiguous
        position = np.empty(nv, dtype=np.int64)
        position[perm] = every
        first = np.arange(nv)
        np.minimum.at(first, position[rows], position[columns])
        start = np.concatenate([[0], np.cumsum(every - first)])
        return cls(perm.astype(np.int64), first.astype(np.int64), start.astype(np.int64), label[perm])

    @property
    def nv(self) -> int:
        return len(self.perm)

    @property
    def size(self) -> int:
        """Number of floats of one stored matrix."""
        return self.nv + 2 * int(self.start[-1])

    def position(self) -> np.ndarray:
        """Return the position of every degree of freedom."""
        inverse = np.empty(self.nv, dtype=np.int64)
        inverse[self.perm] = np.arange(self.nv)
        return inverse

    def offset(self, i: int, j: int) -> int:
        """Return where entry (i, j), numbered by degrees of freedom, is stored."""
        position = self._position_cache
        p, s = int(position[i]), int(position[j])
        if p == s:
            return p
        high, low = max(p, s), min(p, s)
        if low < self.first[high]:
            raise KeyError((i, j))
        place = self.nv + int(self.start[high]) + low - int(self.first[high])
        return place if p > s else place + int(self.start[-1])

    def offsets(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return where many entries are stored, all of which are in the pattern."""
        position = self._position_cache
        p, s = position[i], position[j]
        high, low = np.maximum(p, s), np.minimum(p, s)
        place = self.nv + self.start[high] + low - self.first[high]
        return np.where(p == s, p, np.where(p > s, place, place + int(self.start[-1])))

    def block(self, packed: np.ndarray, own: slice) -> np.ndarray:
        """Return the block of some degrees of freedom of a stored matrix."""
        numbers = range(own.start, own.stop)
        made = np.zeros((len(numbers), len(numbers)))
        for a, i in enumerate(numbers):
            for b, j in enumerate(numbers):
                try:
                    made[a, b] = packed[self.offset(i, j)]
                except KeyError:
                    continue  # not in the pattern
        return made

    @property
    def _position_cache(self) -> np.ndarray:
        cached = self.__dict__.get("_position")
        if cached is None:
            cached = self.position()
            object.__setattr__(self, "_position", cached)
        return cached

    def pack(self, matrix: np.ndarray) -> np.ndarray:
        """Return a dense or sparse matrix in profile storage."""
        packed = np.zeros(self.size)
        if isinstance(matrix, np.ndarray):
            rows, columns = np.nonzero(matrix)
            values = matrix[rows, columns]
        else:
            from scipy import sparse  # slow to import, and most systems are dense

            coo = sparse.coo_matrix(matrix)
            rows, columns, values = coo.row, coo.col, coo.data
        for i, j, value in zip(rows, columns, values, strict=True):
            packed[self.offset(int(i), int(j))] += value
        return packed

    def unpack(self, packed: np.ndarray) -> np.ndarray:
        """Return the dense matrix of a stored one."""
        nv, lower = self.nv, int(self.start[-1])
        dense = np.zeros((nv, nv))
        for p in range(nv):
            i = self.perm[p]
            dense[i, i] = packed[p]
            for s in range(self.first[p], p):
                place = nv + self.start[p] + s - self.first[p]
                dense[i, self.perm[s]] = packed[place]
                dense[self.perm[s], i] = packed[place + lower]
        return dense


@unit(I(LAYOUT, A))
def factor(layout, m):
    """Replace a stored matrix by its LU factors; INDEFINITE when a pivot is not positive."""
    nv = layout.nv
    first, start = layout.first, layout.start
    lower = nv
    upper = nv + layout[start + nv]
    for p in range(nv):
        f_p, s_p = layout[first + p], layout[start + p]
        pivot = m[p]
        for j in range(f_p, p):
            f_j, s_j = layout[first + j], layout[start + j]
            low, high = m[lower + s_p + j - f_p], m[upper + s_p + j - f_p]
            for k in range(f_p if f_p > f_j else f_j, j):
                low -= m[lower + s_p + k - f_p] * m[upper + s_j + k - f_j]
                high -= m[lower + s_j + k - f_j] * m[upper + s_p + k - f_p]
            low /= m[j]
            m[lower + s_p + j - f_p] = low
            m[upper + s_p + j - f_p] = high
            pivot -= low * high
        if not pivot > 1e-14 * abs(m[p]):
            return Status.MASS_INDEFINITE
        m[p] = pivot
    return 0


@unit(I(LAYOUT, A, A, A, A), small=True)
def solve(layout, lu, b, x, work):
    """Solve with the factors: b, x by degrees of freedom (may be the same array), work of nv floats."""
    nv = layout.nv
    if nv == 1:
        x[0] = b[0] / lu[0]
        return 0
    perm, first, start = layout.perm, layout.first, layout.start
    lower = nv
    upper = nv + layout[start + nv]
    for p in range(nv):
        total = b[layout[perm + p]]
        f_p, s_p = layout[first + p], layout[start + p]
        for k in range(f_p, p):
            total -= lu[lower + s_p + k - f_p] * work[k]
        work[p] = total
    for p in range(nv - 1, -1, -1):
        value = work[p] / lu[p]
        x[layout[perm + p]] = value
        f_p, s_p = layout[first + p], layout[start + p]
        for k in range(f_p, p):
            work[k] -= lu[upper + s_p + k - f_p] * value
    return 0


@unit(I(LAYOUT, A, A, I, A, A))
def solve_row(layout, lu, W, row, X, work):
    """Write one row of X = lu^-1 W by its sparse pattern; touches only the components that the row touches."""
    nv = layout.nv
    first, start = layout.first, layout.start
    lower = nv
    upper = nv + layout[start + nv]
    x_begin, x_end = layout[layout.X_ptr + row], layout[layout.X_ptr + row + 1]
    position, columns = layout.X_pos, layout.X_col
    for k in range(x_begin, x_end):
        X[k] = 0.0
    for k in range(layout[layout.W_ptr + row], layout[layout.W_ptr + row + 1]):
        column = layout[layout.W_col + k]
        for c in range(x_begin, x_end):
            if layout[columns + c] == column:
                X[c] = W[k]
    for c in range(x_begin, x_end):
        p = layout[position + c]
        total = X[c]
        f_p, s_p = layout[first + p], layout[start + p]
        for k in range(f_p, p):
            total -= lu[lower + s_p + k - f_p] * work[k]
        work[p] = total
    for c in range(x_end - 1, x_begin - 1, -1):
        p = layout[position + c]
        value = work[p] / lu[p]
        X[c] = value
        f_p, s_p = layout[first + p], layout[start + p]
        for k in range(f_p, p):
            work[k] -= lu[upper + s_p + k - f_p] * value
    return 0


@unit(I(LAYOUT, A, A, A), small=True)
def multiply(layout, m, x, y):
    """Add the product of an unfactored stored matrix with x to y (both by degrees of freedom)."""
    nv = layout.nv
    perm, first, start = layout.perm, layout.first, layout.start
    lower = nv
    upper = nv + layout[start + nv]
    for p in range(nv):
        i = layout[perm + p]
        total = m[p] * x[i]
        f_p, s_p = layout[first + p], layout[start + p]
        for k in range(f_p, p):
            j = layout[perm + k]
            total += m[lower + s_p + k - f_p] * x[j]
            y[j] += m[upper + s_p + k - f_p] * x[i]
        y[i] += total
    return 0


@unit(F(LAYOUT, A, A))
def quadratic(layout, m, x):
    """Return x^T m x of an unfactored stored matrix."""
    nv = layout.nv
    perm, first, start = layout.perm, layout.first, layout.start
    lower = nv
    upper = nv + layout[start + nv]
    total = 0.0
    for p in range(nv):
        x_p = x[layout[perm + p]]
        row = m[p] * x_p
        f_p, s_p = layout[first + p], layout[start + p]
        for k in range(f_p, p):
            place = s_p + k - f_p
            row += (m[lower + place] + m[upper + place]) * x[layout[perm + k]]
        total += row * x_p
    return total
