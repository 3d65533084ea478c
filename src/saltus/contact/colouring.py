"""Colours of contacts: those of one colour share no velocity, so that they can be solved at the same time.

A contact reads the velocities in its columns of W and writes those in its columns of X. Two contacts may have the
same colour if neither writes what the other reads or writes. The greedy choice of the lowest free colour, in the order
of the velocities, takes time in proportion to the entries of W and X and needs about as many colours as a body has
contacts. Contacts of a body with very many of them, and colours with few contacts, are kept for the end: they are
solved one after another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from saltus.compile.seam import ready, unit
from saltus.compile.types import I, J

MOST_COLOURS = 62  # bits of a word that are used as colours


class Schedule(NamedTuple):
    """In which order contacts are solved.

    Attributes
    ----------
    order : contacts, colour by colour, those of a colour in the order of their velocities
    starts : where in `order` each colour begins; the last entry is where the rest begins, solved one by one
    """

    order: np.ndarray
    starts: np.ndarray


@unit(I(J, J, J, J, J, J, J, J), entry=True)
def paint(reads_start, reads, writes_start, writes, order, colour, masks, counts):
    """Give every contact the lowest colour that none of its neighbours has; COLOURS for the rest.

    in      columns that each contact reads and writes, contacts in the order of painting
    out     colour; counts: contacts of each colour
    work    masks: colours that read (even) and write (odd) each velocity, zero
    """
    for k in range(MOST_COLOURS + 1):
        counts[k] = 0
    for place in range(order.shape[0]):
        k = order[place]
        taken = 0
        for i in range(reads_start[k], reads_start[k + 1]):
            taken |= masks[2 * reads[i] + 1]
        for i in range(writes_start[k], writes_start[k + 1]):
            taken |= masks[2 * writes[i]] | masks[2 * writes[i] + 1]
        chosen = 0
        while chosen < MOST_COLOURS and (taken >> chosen) & 1 == 1:
            chosen += 1
        colour[k] = chosen
        counts[chosen] += 1
        if chosen < MOST_COLOURS:
            for i in range(reads_start[k], reads_start[k + 1]):
                masks[2 * reads[i]] |= 1 << chosen
            for i in range(writes_start[k], writes_start[k + 1]):
                masks[2 * writes[i] + 1] |= 1 << chosen
    return 0


@unit(I(J, J, J, J, J, J, J), entry=True)
def walk(start, columns, back_start, back, rank, queue, seen):
    """Number velocities so that those of neighbouring contacts are near each other: by distance from an end.

    in      columns of each contact
    out     rank of each velocity
    work    back_start, back: contacts of each velocity; queue: velocities; seen: contacts
    """
    nv, n = rank.shape[0], start.shape[0] - 1
    for j in range(nv + 1):
        back_start[j] = 0
    for i in range(start[n]):
        back_start[columns[i] + 1] += 1
    for j in range(nv):
        back_start[j + 1] += back_start[j]
        queue[j] = back_start[j]
        rank[j] = -1
    for k in range(n):
        seen[k] = 0
        for i in range(start[k], start[k + 1]):
            back[queue[columns[i]]] = k
            queue[columns[i]] += 1
    done = 0
    for root in range(nv):
        if rank[root] >= 0:
            continue
        begin = root
        for turn in range(1, 3):  # the velocity that is reached last is an end: start again from there
            queue[done], rank[begin] = begin, done
            head, tail = done, done + 1
            while head < tail:
                j = queue[head]
                head += 1
                for m in range(back_start[j], back_start[j + 1]):
                    k = back[m]
                    if seen[k] < turn:
                        seen[k] = turn
                        for i in range(start[k], start[k + 1]):
                            if rank[columns[i]] < 0:
                                queue[tail], rank[columns[i]] = columns[i], tail
                                tail += 1
            if turn == 1:
                begin = queue[tail - 1]
                for i in range(done, tail):
                    rank[queue[i]] = -1
        done = tail
    return 0


def neighbourly(touched: tuple[np.ndarray, np.ndarray], nv: int) -> np.ndarray:
    """Return new numbers of velocities (or bodies) from those that each contact touches (starts and columns).

    Threads that take the first and the last contacts of every colour then work on different velocities.
    """
    starts, columns = touched
    sizes = (nv + 1, columns.size, nv, nv, starts.size)
    back_start, back, rank, queue, seen = (np.empty(size, dtype=np.int64) for size in sizes)
    ready(walk)(starts, columns, back_start, back, rank, queue, seen)
    return rank


def schedule(reads: tuple[np.ndarray, np.ndarray], writes: tuple[np.ndarray, np.ndarray], nv: int) -> Schedule:
    """Return the order of contacts from the velocities that each reads and writes (starts and columns).

    Nothing here depends on the number of threads.
    """
    starts, columns = reads
    n = starts.size - 1
    filled = starts[1:] > starts[:-1]
    first = np.full(n, nv, dtype=np.int64)
    first[filled] = np.minimum.reduceat(columns, starts[:-1][filled]) if columns.size else nv
    order = np.argsort(first, kind="stable")
    colour, counts = np.zeros(n, dtype=np.int64), np.zeros(MOST_COLOURS + 1, dtype=np.int64)
    masks = np.zeros(2 * nv, dtype=np.int64)
    ready(paint)(starts, columns, *writes, order, colour, masks, counts)
    together = np.flatnonzero(counts[:MOST_COLOURS] >= 16)  # smaller ones are not worth a meeting of threads
    rank = np.full(MOST_COLOURS + 1, together.size, dtype=np.int64)
    rank[together] = np.arange(together.size)
    rank = rank[colour]
    order = order[np.argsort(rank[order], kind="stable")]
    return Schedule(order, np.concatenate([[0], np.cumsum(counts[together])]))
