"""Writing the dense output of a step of one or several pieces, in the form that flight/dense.py reads."""

from __future__ import annotations

from saltus.compile.seam import head, tail, unit
from saltus.compile.types import MODEL, RECORD, A, F, I
from saltus.memory.layout import RATE_IDENTITY
from saltus.memory.vectors import copy

DENSE_HEADER, PIECE_HEADER = 7, 2  # numbers before the forces of the start, and before the vectors of a piece


def piece_size(layout, n: int) -> int:
    """Return the floats of one piece with n nodes."""
    nq, nv, nr = int(layout.nq), int(layout.nv), int(layout.nr)
    own_rate = 0 if int(layout.features) & RATE_IDENTITY else n * nq
    return PIECE_HEADER + nq + nv + n * (nv + nr) + own_rate


def block_size(layout, pieces: int, n: int) -> int:
    """Return the most floats of a block of so many pieces."""
    return DENSE_HEADER + 2 * int(layout.nr) + pieces * piece_size(layout, n)


@unit(I(MODEL, A, A), small=True)
def open_block(model, r, dense):
    """Write the forces of the start; return where the first piece begins."""
    copy(r, head(tail(dense, DENSE_HEADER), model.layout.nr))
    return DENSE_HEADER + model.layout.nr


@unit(I(MODEL, F, F, A, A, I, A, A, A, I, A))
def put_piece(model, begin, end, q, v, n, a, r, q_dot, at, dense):
    """Write one piece of dense output with n nodes (see flight/dense.py); return where the next one begins."""
    layout = model.layout
    nq, nv, nr = layout.nq, layout.nv, layout.nr
    dense[at], dense[at + 1] = begin, end
    at += PIECE_HEADER
    copy(q, head(tail(dense, at), nq))
    copy(v, head(tail(dense, at + nq), nv))
    at += nq + nv
    copy(a, head(tail(dense, at), n * nv))
    copy(r, head(tail(dense, at + n * nv), n * nr))
    at += n * (nv + nr)
    if (layout.features & RATE_IDENTITY) == 0:
        copy(q_dot, head(tail(dense, at), n * nq))
        at += n * nq
    return at


@unit(I(MODEL, F, I, I, I, A, RECORD))
def close_block(model, t, pieces, n, at, r, record):
    """Write the numbers in front of the pieces, and the forces r of the end at the place behind the last one."""
    layout, dense = model.layout, record.dense
    dense[0], dense[1], dense[2], dense[3], dense[4] = pieces, n, layout.nq, layout.nv, layout.nr
    dense[5], dense[6] = 0.0 if (layout.features & RATE_IDENTITY) != 0 else 1.0, t
    copy(r, head(tail(dense, at), layout.nr))
    record.header.dense_used = at + layout.nr
    return 0
