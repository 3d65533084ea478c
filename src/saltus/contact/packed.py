"""A contact problem packed for sweeps: contacts colour by colour, the numbers of each one after another in one stream.

Contacts between rigid bodies read and write two groups of six velocities (one, if the other body is fixed). Where the
mass of each velocity is one number, W and X = M^-1 W are one matrix in velocities scaled by the roots of the masses.
Other contacts list their columns. A problem that was given by D is turned into u = W^T y + b with y = P.
"""

from __future__ import annotations

import math
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus.compile.kinds import Handle
from saltus.compile.kinds import Record as Members
from saltus.compile.seam import head, ready, row_of, tail, unit
from saltus.compile.types import CONTACTS, CONTACTS_RECORD, A, Contacts, F, I, J
from saltus.contact.colouring import Schedule, neighbourly, schedule
from saltus.contact.problem import ContactProblem, ReducedForm


class _Packing(NamedTuple):
    """Tuned numbers of this file."""

    side: int = 6  # velocities of a rigid body
    line: int = 8  # floats of a cache line: bodies begin on lines of their own, so that threads do not share them
    chunk: int = 8  # contacts whose sums are added up before those of others
    header: int = 4  # integers of a contact: kind + 8 rows, place of D in the stream, places of its velocities
    tail: int = 22  # floats of a contact behind its W and X: D (9), then as follows
    inverse: int = 9  # where the inverse of D begins in the tail, zero where the law itself must look at D
    b: int = 18  # where b begins in the tail
    mu: int = 21  # where mu stands in the tail
    regular: float = 1e-9  # determinant of a block of D, relative to its diagonal, from which on its inverse is used
    same: float = 1e-15  # relative difference of X and W times inverse mass that counts as rounding error


PACKING = _Packing()


# The velocities that contacts touch, in the numbers of y. reads, writes: columns of W and of X, contact by contact;
# number, scale: new number of each velocity of the problem, and what its W is multiplied by
Touched = namedtuple("Touched", "reads_start reads writes_start writes number scale")
TOUCHED = Handle(Members([J, J, J, J, J, A], Touched))


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


@unit(F(CONTACTS, TOUCHED, J, I, I, J, J, J, A), entry=True)
def pack(contacts, touched, order, bodies, shared_W, slot, header, columns, stream):
    """Write headers and stream in the order of the schedule; returns the sum of the diagonal of D.

    in      bodies: 1 where 12 places per row stand for two bodies; shared_W: 1 where X is W in place
    out     columns: of each contact, behind their numbers; only where contacts are not between bodies
    work    slot: one per velocity, -1
    """
    blocks = contacts.blocks
    place, listed, diagonal = 0, 0, 0.0
    for k in range(order.shape[0]):
        c = order[k]
        begin, X_begin, nr = touched.reads_start[c], touched.writes_start[c], blocks[3 * c + 2]
        wide = 2 * PACKING.side if bodies == 1 else touched.reads_start[c + 1] - begin
        X_wide = 2 * PACKING.side if bodies == 1 else touched.writes_start[c + 1] - X_begin
        at_X = place if shared_W == 1 else place + 3 * wide
        at = at_X + 3 * X_wide
        own_header = row_of(header, k, PACKING.header)
        own_header[0], own_header[1] = blocks[3 * c] + 8 * nr, at
        if bodies == 1:
            second = begin + PACKING.side if touched.reads_start[c + 1] - begin > PACKING.side else begin
            own_header[2], own_header[3] = touched.reads[begin], touched.reads[second]
        else:
            own_header[2], own_header[3] = listed + 1, listed + wide + 2
            columns[listed], columns[listed + wide + 1] = wide, X_wide
            for m in range(wide):
                columns[listed + 1 + m] = touched.reads[begin + m]
            for m in range(X_wide):
                columns[listed + wide + 2 + m] = touched.writes[X_begin + m]
            listed += wide + X_wide + 2
        for i in range(place, at + PACKING.tail):
            stream[i] = 0.0
        # where an entry is: rows one after another for bodies, the rows of a column together else
        by_row, by_column = (wide, 1) if bodies == 1 else (1, 3)
        own_W, own_X = tail(stream, place), tail(stream, at_X)
        own = head(tail(stream, at), PACKING.tail)
        fill(contacts, touched, c, shared_W, by_row, by_column, slot, own_W, own_X, own)
        for r in range(nr):
            diagonal += own[4 * r]
        if nr == 3:
            invert(own)
        place = at + PACKING.tail
    return diagonal


@unit(I(CONTACTS, TOUCHED, I, I, I, I, J, A, A, A), small=True)
def fill(contacts, touched, c, shared_W, by_row, by_column, slot, own_W, own_X, own):
    """Write the numbers of one contact: its rows of W and of X, and D = W^T X, b and mu; all places are zero before.

    in      c: its number; by_row, by_column: distances of the entries of own_W and own_X
    work    slot: one per velocity, -1: where an entry of the velocity is among those of the contact
    """
    rows, first, nr = contacts.rows, contacts.blocks[3 * c + 1], contacts.blocks[3 * c + 2]
    reads, writes, number = touched.reads, touched.writes, touched.number
    begin, end, X_begin, X_end = (
        touched.reads_start[c], touched.reads_start[c + 1], touched.writes_start[c], touched.writes_start[c + 1]
    )  # fmt: skip
    if shared_W == 0:
        for m in range(X_begin, X_end):
            slot[writes[m]] = m - X_begin
        for r in range(nr):
            for m in range(rows[4 * (first + r) + 2], rows[4 * (first + r) + 3]):
                own_X[r * by_row + by_column * slot[number[contacts.X_col[m]]]] += contacts.X[m]
        for m in range(X_begin, X_end):
            slot[writes[m]] = -1
    for m in range(begin, end):
        slot[reads[m]] = m - begin
    for r in range(nr):
        own[PACKING.b + r] = contacts.b[first + r]
        for m in range(rows[4 * (first + r)], rows[4 * (first + r) + 1]):
            column = contacts.W_col[m]
            own_W[r * by_row + by_column * slot[number[column]]] += contacts.W[m] * touched.scale[column]
    for m in range(X_begin, X_end):
        j = slot[writes[m]]
        for r in range(nr if j >= 0 else 0):
            for q in range(nr):
                w = own_W[r * by_row + by_column * j]
                own[3 * r + q] += w * own_X[q * by_row + by_column * (m - X_begin)]
    for m in range(begin, end):
        slot[reads[m]] = -1
    own[PACKING.mu] = contacts.mu[c] if nr > 1 else 0.0
    return 0


@unit(I(A))
def invert(own):
    """Write the inverse of a block of D behind it; zero where the law itself must look at it."""
    D, out, mu = head(own, 9), head(tail(own, PACKING.inverse), 9), own[PACKING.mu]
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
    touched = Touched(*reads, *writes, number, scale)
    diagonal = ready(pack)(contacts, touched, plan.order, int(bodies), int(symmetric), slot, header, columns, stream)
    first = np.append(plan.starts, nb)
    chunks = np.concatenate([[0], np.cumsum(-(-np.diff(first) // PACKING.chunk))])
    colours = np.stack([first, chunks], axis=1).ravel()
    rho = contacts.b.size / diagonal if diagonal > 0.0 else 1.0
    b_size = math.sqrt(np.sum(contacts.b**2))  # not by BLAS, whose threads change the last bit
    return Packed(plan, bodies, colours, header, columns, stream, nv, rho, b_size if b_size > 0.0 else 1.0 / rho)
