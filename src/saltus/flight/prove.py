"""Proofs that nothing closes between the places at which gaps were sampled, by interval arithmetic.

Samples see what is as wide as their distance. Where a gap may be anything (layout.WILD), bounds of it over boxes that
the motion stays in (compile/interval.py) show that it stays open; a box that shows nothing is halved, until what is
left is too short to matter, and there the gap itself is looked at. So a needle on a road is met, however thin it is.
"""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.interval import enclose
from saltus.compile.seam import head, larger, tail, unit, whole
from saltus.compile.types import MODEL, A, F, I, J
from saltus.flight.frame import FRAME
from saltus.flight.scan import Piece, closing_place, weigh
from saltus.lasting.index_set import INDEX
from saltus.memory.vectors import largest
from saltus.tables.polynomial import NONE, combine
from saltus.tables.tableau import STAGE_VECTOR, TAB


class _Prove(NamedTuple):
    """Tuned numbers of this file."""

    # of a flight: boxes below this length are not halved; with it a peg of a micron is met in a flight of many metres
    finest: float = 2.0**-40
    most_boxes: int = 1500  # of a flight, where much is nearly closed
    levels: int = 42  # of halves that wait for their turn
    # of the depth up to which a gap counts as closed: what has just opened is closed by its own rounding
    deep: float = 1e3
    digits: float = 1e-12  # of the coordinates: digits of a gap that say nothing
    faster: float = 1.5  # how much faster than at its nodes a polynomial may be


PROVE = _Prove()


def prove_work(layout) -> int:
    """Return the floats of a proof."""
    nq, nc, nj = int(layout.nq), int(layout.nc), int(layout.nj)
    return int(layout.tape_work) + 3 * (1 + nq) + 2 * nc + nc + nj + PROVE.levels if int(layout.tape_work) else 0


@unit(F(MODEL, A, F, F, F, J, F, J, FRAME.kind))
def first_hidden(model, settings, t, h, limit, index, slack, found, frame):
    """Return the first place up to `limit` at which a gap closes that samples have not seen, or NONE."""
    layout = model.layout
    nq, nv, nc, nj = layout.nq, layout.nv, layout.nc, layout.nj
    if layout.tape_work == 0:
        return NONE
    watched = False
    for k in range(nc):
        watched = watched or not (index[k] == INDEX.slip or index[k] == INDEX.stick)
    if not watched:
        return NONE
    marks, nodes, scan, proof = frame.marks, frame.nodes, frame.scan, frame.proof
    n = whole(marks.nodes)
    c = head(tail(settings, whole(marks.table_at) + TAB.vectors + STAGE_VECTOR.node * n), n)
    Q, V, Q_dot, speed = (
        head(nodes.Q, n * nq), head(nodes.V, n * nv), head(nodes.Q_dot, n * nq), head(tail(proof, 2 + 2 * nq), 1 + nq)
    )  # fmt: skip
    at, q = 3 * (1 + nq), head(tail(proof, 1), nq)
    g, ends = head(tail(proof, at + 2 * nc), nc + nj), head(tail(proof, at + 3 * nc + nj), PROVE.levels)
    for i in range(nq):
        speed[i] = 0.0
        for j in range(n):
            speed[i] = larger(speed[i], PROVE.faster * abs(Q_dot[j * nq + i]))
    deep = larger(PROVE.deep * slack, PROVE.digits * largest(head(Q, nq)))
    scan[0] = 0.0  # the factors of the nodes are not known yet
    s_0, top, boxes = 0.0, 0, 0
    ends[0] = limit
    while top >= 0:
        s_1 = ends[top]
        boxes += 1
        proven = stays_open(model, c, t, h, s_0, s_1, deep, index, frame) == 1
        if not proven and s_1 - s_0 > PROVE.finest and boxes < PROVE.most_boxes and top + 1 < PROVE.levels:
            top += 1
            ends[top] = 0.5 * (s_0 + s_1)
            continue
        if not proven:
            weigh(c, s_1, scan)
            combine(head(tail(scan, n), n), Q, q)
            model.gap(t + s_1 * h, q, model.par, g)
            for k in range(nc):
                if index[k] != INDEX.slip and index[k] != INDEX.stick and g[k] < -deep and s_1 < limit:
                    found[0], closed = k, g[k]
                    weigh(c, s_0, scan)
                    combine(head(tail(scan, n), n), Q, q)
                    model.gap(t + s_0 * h, q, model.par, g)
                    fall = closed - g[k]  # no rates are known: the search begins where a straight line closes
                    piece = Piece(s_0, s_1, g[k], fall, closed, fall)
                    return closing_place(model, c, t, h, piece, Q, V, k, slack, scan)
        s_0 = s_1
        top -= 1
    return NONE


@unit(I(MODEL, A, F, F, F, F, F, J, FRAME.kind))
def stays_open(model, c, t, h, s_0, s_1, deep, index, frame):
    """Return 1 where gaps that are not held are proven to stay above -deep [m] between two places of a flight."""
    layout, proof, scan, n = model.layout, frame.proof, frame.scan, c.shape[0]
    nq, nc, at = layout.nq, layout.nc, 3 * (1 + layout.nq)
    low, high, speed = head(proof, 1 + nq), head(tail(proof, 1 + nq), 1 + nq), head(tail(proof, 2 + 2 * nq), 1 + nq)
    bounds, work = head(tail(proof, at), 2 * nc), tail(proof, at + 3 * nc + layout.nj + PROVE.levels)
    code, numbers = head(tail(layout, layout.tape), layout.tape_size), tail(model.par, layout.tape_numbers)
    reach = 0.5 * (s_1 - s_0) * h
    weigh(c, 0.5 * (s_0 + s_1), scan)
    combine(head(tail(scan, n), n), head(frame.nodes.Q, n * nq), head(tail(low, 1), nq))
    low[0], high[0] = t + s_0 * h, t + s_1 * h
    for i in range(nq):
        place = low[1 + i]
        low[1 + i], high[1 + i] = place - reach * speed[i], place + reach * speed[i]
    enclose(code, numbers, model.par, low, high, head(work, layout.tape_work), bounds)
    for k in range(nc):
        if index[k] != INDEX.slip and index[k] != INDEX.stick and not bounds[2 * k] > -deep:
            return 0
    return 1
