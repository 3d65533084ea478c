"""A contact problem packed for sweeps: contacts colour by colour, the numbers of each one after another in one stream.

Contacts between rigid bodies read and write two groups of six velocities (one, if the other body is fixed). Where the
mass of each velocity is one number, W and X = M^-1 W are one matrix in velocities scaled by the roots of the masses.
Other contacts list their columns. A problem that was given by D is turned into u = W^T y + b with y = P.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import head, ready, tail, unit
from saltus.compile.types import CONTACTS_RECORD, A, Contacts, F, I, J
from saltus.contact.colouring import Schedule, neighbourly, schedule
from saltus.contact.problem import ContactProblem, ReducedForm


class _Packing(NamedTuple):
    """Tuned numbers of this file."""

    side: int = 6  # velocities of a rigid body
    line: int = 8  # floats of a cache line: bodies begin on lines of their own, so that threads do not share them
    chunk: int = 8  # contacts whose sums are added up before those of others
    header: int = 4  # integers of a contact: kind + 8 rows, place of D in the stream, places of its velocities
    tail: int = 22  # floats of a contact behind its W and X: D (9), the inverse of D (9), b (3), mu
    regular: float = 1e-9  # determinant of a block of D, relative to its diagonal, from which on its inverse is used
    same: float = 1e-15  # relative difference of X and W times inverse mass that counts as rounding error


PACKING = _Packing()


@unit(I(CONTACTS_RECORD, J), entry=True)
def find_bodies(contacts, pairs):
    """Find for each contact the one or two groups of PACKING.side velocities that it touches; 1: more."""
    blocks, rows, W_col, X_col = contacts.blocks, contacts.rows, contacts.W_col, contacts.X_col
    for k in range(contacts.mu.shape[0]):
        a, b = -1, -1
        for i in range(blocks[3 * k + 1], blocks[3 * k + 1] + blocks[3 * k + 2]):
            for m in range(rows[4 * i], rows[4 * i + 1]):
                group = W_col[m] // PACKING.side
                if group != a and group != b:
                    if b >= 0:
                        return 1
                    a, b = (group, b) if a < 0 else (a, group)
            for m in range(rows[4 * i + 2], rows[4 * i + 3]):
                group = X_col[m] // PACKING.side
                if group != a and group != b:
                    if b >= 0:
                        return 1
                    a, b = (group, b) if a < 0 else (a, group)
        a = a if a >= 0 else 0  # a contact that touches nothing moves nothing
        pairs[2 * k], pairs[2 * k + 1] = a, b
    return 0


@unit(I(CONTACTS_RECORD, J, J, J, J, J), entry=True)
def list_columns(contacts, reads_start, reads, writes_start, writes, stamp):
    """List for each contact the columns of its rows of W and of X, each once; needs room for all entries."""
    blocks, rows = contacts.blocks, contacts.rows
    for side in range(2):
        start, found = (reads_start, reads) if side == 0 else (writes_start, writes)
        column = contacts.W_col if side == 0 else contacts.X_col
        for j in range(stamp.shape[0]):
            stamp[j] = -1
        count = 0
        for k in range(contacts.mu.shape[0]):
            start[k] = count
            for i in range(blocks[3 * k + 1], blocks[3 * k + 1] + blocks[3 * k + 2]):
                for m in range(rows[4 * i + 2 * side], rows[4 * i + 2 * side + 1]):
                    j = column[m]
                    if stamp[j] != k:
                        stamp[j] = k
                        found[count] = j
                        count += 1
        start[contacts.mu.shape[0]] = count
    return 0


@unit(I(CONTACTS_RECORD, A, A), entry=True)
def find_masses(contacts, scale, row):
    """Write the roots of inverse masses if X is W times one inverse mass per velocity; returns 1 if so, else 0.

    work    row: one row of W and of X, zero
    """
    rows, W_col, W, X_col, X = contacts.rows, contacts.W_col, contacts.W, contacts.X_col, contacts.X
    for j in range(scale.shape[0]):
        scale[j] = -1.0
    for i in range(contacts.b.shape[0]):
        for m in range(rows[4 * i], rows[4 * i + 1]):
            row[2 * W_col[m]] += W[m]
        for m in range(rows[4 * i + 2], rows[4 * i + 3]):
            row[2 * X_col[m] + 1] += X[m]
        for side in range(2):
            for m in range(rows[4 * i + 2 * side], rows[4 * i + 2 * side + 1]):
                j = W_col[m] if side == 0 else X_col[m]
                w, x = row[2 * j], row[2 * j + 1]
                if w != 0.0 and scale[j] < 0.0:
                    scale[j] = x / w
                if (w == 0.0) != (x == 0.0) or (w != 0.0 and not abs(x - w * scale[j]) <= PACKING.same * abs(x)):
                    return 0
                row[2 * j], row[2 * j + 1] = 0.0, 0.0
    for j in range(scale.shape[0]):
        scale[j] = math.sqrt(scale[j]) if scale[j] > 0.0 else 1.0
    return 1


@unit(F(CONTACTS_RECORD, I, I, J, J, J, J, J, J, A, J, J, J, A), entry=True)
def pack(
    contacts,
    bodies,
    shared_W,
    order,
    reads_start,
    reads,
    writes_start,
    writes,
    number,
    scale,
    slot,
    header,
    columns,
    stream,
):
    """Write headers and stream in the order of the schedule; returns the sum of the diagonal of D.

    in      contacts; bodies: whether 12 places per row stand for two bodies; shared_W: whether X is W in place
            columns of each contact, in new numbers; new number and scale of each velocity
    work    slot: one per velocity, -1
    """
    blocks, rows, W_col, W = contacts.blocks, contacts.rows, contacts.W_col, contacts.W
    X_col, X, b = contacts.X_col, contacts.X, contacts.b
    place, listed, diagonal = 0, 0, 0.0
    for k in range(order.shape[0]):
        c, h = order[k], PACKING.header * k
        first, nr = blocks[3 * c + 1], blocks[3 * c + 2]
        begin, X_begin = reads_start[c], writes_start[c]
        wide = 2 * PACKING.side if bodies == 1 else reads_start[c + 1] - begin
        X_wide = 2 * PACKING.side if bodies == 1 else writes_start[c + 1] - X_begin
        # where an entry is: rows one after another for bodies, the rows of a column together else
        by_row, by_column = (wide, 1) if bodies == 1 else (1, 3)
        at_W = place
        at_X = at_W if shared_W == 1 else at_W + 3 * wide
        at = at_X + 3 * X_wide
        header[h], header[h + 1] = blocks[3 * c] + 8 * nr, at
        if bodies == 1:
            header[h + 2] = reads[begin]
            header[h + 3] = reads[begin + PACKING.side] if reads_start[c + 1] - begin > PACKING.side else reads[begin]
        else:
            header[h + 2], header[h + 3] = listed + 1, listed + wide + 2
            columns[listed], columns[listed + wide + 1] = wide, X_wide
            for m in range(wide):
                columns[listed + 1 + m] = reads[begin + m]
            for m in range(X_wide):
                columns[listed + wide + 2 + m] = writes[X_begin + m]
            listed += wide + X_wide + 2
        place = at + PACKING.tail
        for i in range(at_W, place):
            stream[i] = 0.0
        for m in range(X_begin, writes_start[c + 1]):
            slot[writes[m]] = m - X_begin
        for r in range(nr):
            i = first + r
            for m in range(rows[4 * i + 2], rows[4 * i + 3]):
                if shared_W == 0:
                    stream[at_X + r * by_row + by_column * slot[number[X_col[m]]]] += X[m]
        for m in range(X_begin, writes_start[c + 1]):
            slot[writes[m]] = -1
        for m in range(begin, reads_start[c + 1]):
            slot[reads[m]] = m - begin
        for r in range(nr):
            i = first + r
            stream[at + 18 + r] = b[i]
            for m in range(rows[4 * i], rows[4 * i + 1]):
                stream[at_W + r * by_row + by_column * slot[number[W_col[m]]]] += W[m] * scale[W_col[m]]
        for m in range(X_begin, writes_start[c + 1]):
            j = slot[writes[m]]
            for r in range(nr if j >= 0 else 0):
                for q in range(nr):
                    w = stream[at_W + r * by_row + by_column * j]
                    stream[at + 3 * r + q] += w * stream[at_X + q * by_row + by_column * (m - X_begin)]
        for m in range(begin, reads_start[c + 1]):
            slot[reads[m]] = -1
        mu = contacts.mu[c] if nr > 1 else 0.0
        stream[at + 21] = mu
        for r in range(nr):
            diagonal += stream[at + 4 * r]
        if nr == 3:
            invert(stream, at, mu)
    return diagonal


@unit(I(A, I, F))
def invert(stream, at, mu):
    """Write the inverse of a block of D behind it; zero where the law itself must look at it."""
    D, out = head(tail(stream, at), 9), head(tail(stream, at + 9), 9)
    out[0], out[1], out[2] = D[4] * D[8] - D[5] * D[7], D[2] * D[7] - D[1] * D[8], D[1] * D[5] - D[2] * D[4]
    out[3], out[4], out[5] = D[5] * D[6] - D[3] * D[8], D[0] * D[8] - D[2] * D[6], D[2] * D[3] - D[0] * D[5]
    out[6], out[7], out[8] = D[3] * D[7] - D[4] * D[6], D[1] * D[6] - D[0] * D[7], D[0] * D[4] - D[1] * D[3]
    det = D[0] * out[0] + D[1] * out[3] + D[2] * out[6]
    jams = mu * mu * (D[1] * D[1] + D[2] * D[2]) >= D[0] * D[0]
    good = (
        D[0] > 0.0
        and D[4] > 0.0
        and D[8] > 0.0
        and det > PACKING.regular * D[0] * D[4] * D[8]
        and out[0] > 0.0
        and not jams
    )
    for i in range(9):
        out[i] = out[i] / det if good else 0.0
    return 0


@dataclass(frozen=True, eq=False)
class Packed:
    """A contact problem in the order in which it is solved.

    Attributes
    ----------
    schedule : order and colours of the contacts
    bodies : whether all contacts are between rigid bodies
    colours : first contact and first chunk of each colour, of the rest, and the ends
    header, columns, stream : integers and floats of the contacts, one after another
    nv : velocities y, gaps between bodies included
    rho : 1 / mean(diag D) [kg]
    b_size : |b| [m/s], 1 / rho where b = 0
    """

    schedule: Schedule
    bodies: bool
    colours: np.ndarray
    header: np.ndarray
    columns: np.ndarray
    stream: np.ndarray
    nv: int
    rho: float
    b_size: float

    def velocities(self) -> np.ndarray:
        """Return zeros for y, beginning on a cache line."""
        room = np.zeros(self.nv + PACKING.line)
        skipped = -(room.ctypes.data // 8) % PACKING.line
        return room[skipped : skipped + self.nv]

    def places(self) -> np.ndarray:
        """Return where each row of the problem is among three rows per packed contact."""
        order, nr = self.schedule.order, self.header[:: PACKING.header] // 8
        inside = np.arange(3) < nr[:, None]
        rows = np.empty(inside.sum(), dtype=np.int64)
        sizes = np.zeros(order.size + 1, dtype=np.int64)
        sizes[1 + order] = nr
        first = np.cumsum(sizes)[:-1]
        rows[(first[order, None] + np.arange(3))[inside]] = np.flatnonzero(inside)
        return rows


def gathered(contacts: Contacts) -> Contacts:
    """Return u = D P + b as u = W^T y + b with y = P: a contact reads its neighbours and writes nothing but itself."""
    from scipy.sparse import csc_array

    n = contacts.b.size
    rows = contacts.rows.reshape(n, 4)
    D = csc_array((contacts.X, contacts.X_col, np.append(rows[:, 2], rows[-1, 3])), shape=(n, n)).tocsr()
    own = np.arange(n + 1)
    rows = np.stack([D.indptr[:-1], D.indptr[1:], own[:-1], own[1:]], axis=1).astype(np.int64)
    return contacts._replace(
        rows=rows.ravel(), W_col=D.indices.astype(np.int64), W=D.data, X_col=own[:-1].astype(np.int64), X=np.ones(n)
    )


def packed(problem: ContactProblem) -> Packed:
    """Colour and pack a problem; nothing depends on the number of threads."""
    contacts = gathered(problem.kernel) if isinstance(problem.given, ReducedForm) else problem.kernel
    nb, nv = contacts.mu.size, int(contacts.nv)
    pairs = np.empty(2 * nb, dtype=np.int64)
    bodies = ready(find_bodies)(contacts, pairs) == 0
    scale, symmetric = np.ones(nv), False
    if bodies:
        count = -(-nv // PACKING.side)
        pairs = np.sort(pairs.reshape(nb, 2), axis=1)[:, ::-1]
        kept = pairs >= 0
        start = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        rank = neighbourly((start, pairs[kept]), count)
        nv = PACKING.line * count
        number = (PACKING.line * rank[:, None] + np.arange(PACKING.side)).ravel()
        reads = writes = (
            PACKING.side * start,
            (PACKING.line * rank[pairs[kept]][:, None] + np.arange(PACKING.side)).ravel(),
        )
        symmetric = ready(find_masses)(contacts, scale, np.zeros(2 * scale.size)) == 1
        scale = scale if symmetric else np.ones(scale.size)
    else:
        reads = np.empty(nb + 1, dtype=np.int64), np.empty(contacts.W_col.size, dtype=np.int64)
        writes = np.empty(nb + 1, dtype=np.int64), np.empty(contacts.X_col.size, dtype=np.int64)
        ready(list_columns)(contacts, *reads, *writes, np.empty(nv, dtype=np.int64))
        number = neighbourly((reads[0], reads[1][: reads[0][-1]]), nv)
        reads = reads[0], number[reads[1][: reads[0][-1]]]
        writes = writes[0], number[writes[1][: writes[0][-1]]]
    plan = schedule(reads, writes, nv)
    places = 3 * (2 * PACKING.side) * (1 if symmetric else 2) * nb if bodies else 3 * (reads[0][-1] + writes[0][-1])
    header, stream = np.empty(PACKING.header * nb, dtype=np.int64), np.empty(places + PACKING.tail * nb)
    # for bodies, whether X is W in place; else the columns of each contact in W and in X, after their numbers
    columns = (
        np.array([int(symmetric)]) if bodies else np.empty(reads[1].size + writes[1].size + 2 * nb, dtype=np.int64)
    )
    slot = np.full(nv, -1)
    diagonal = ready(pack)(
        contacts, int(bodies), int(symmetric), plan.order, *reads, *writes, number, scale, slot, header,
        columns, stream,
    )  # fmt: skip
    first = np.append(plan.starts, nb)
    chunks = np.concatenate([[0], np.cumsum(-(-np.diff(first) // PACKING.chunk))])
    colours = np.stack([first, chunks], axis=1).ravel()
    rho = contacts.b.size / diagonal if diagonal > 0.0 else 1.0
    b_size = math.sqrt(np.sum(contacts.b**2))  # not by BLAS, whose threads change the last bit
    return Packed(plan, bodies, colours, header, columns, stream, nv, rho, b_size if b_size > 0.0 else 1.0 / rho)
