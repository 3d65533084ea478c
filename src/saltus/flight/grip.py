"""Grips: contacts that press against each other by themselves, and so hold by friction as firmly as one likes.

A bead in a tube that is written as two contacts, a wedge in its groove, a box between two walls: to the forces that
hold them others may be added that balance each other. What sticks there sticks as long as there are forces for it
(docs/lasting.md), whatever pulls; the laws may let it go as well, which a row of the events says as soon as they would.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import head, larger, row_of, tail, unit, whole
from saltus.compile.types import MODEL, RECORD, STAGED, A, F, I, J
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME
from saltus.lasting.hold import HOLDING, REPORTED, row_size
from saltus.lasting.index_set import INDEX, ROLE, decide
from saltus.lasting.split import admit
from saltus.lasting.workspace import LASTING
from saltus.memory.record import EVENT
from saltus.memory.vectors import clear, copy
from saltus.reaction.react import row_add, row_dot
from saltus.reaction.report import new_event
from saltus.tables.tableau import STAGE_VECTOR, TAB


class _Grip(NamedTuple):
    """Tuned numbers of this file."""

    strong: float = 1e-6  # of a pull in every contact: by how much a grip must overcome it


GRIP = _Grip()


@unit(I(MODEL, STAGED, A, F, F, FRAME.kind, RECORD))
def grip_event(model, staged, settings, t, h, frame, record):
    """Write an event where what sticks in a grip would move without it: at the end of a flight, or at its nodes.

    h: length of the flight that ends at t, 0 where a run begins. One event does for an index set.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, marks, memory, nodes = model.layout, frame.ends, frame.marks, frame.memory, frame.nodes
    room = frame.interval.lasting
    same = h > 0.0
    for k in range(layout.nc):
        same = same and ends.before[k] == ends.index[k]
    if not same:  # a new one, of which settle.ambiguous_event has told what it can see
        memory.numbers.told = 1.0 if room.held.ambiguous == 1 else 0.0
    if memory.numbers.told == 1.0:
        return 0
    which = gripped(model, ends.index, room)
    if which < 0:
        return 0
    if h == 0.0:
        moves = lets_go(model, staged, settings, t, ends.q_0, ends.v_0, memory.acting.a, frame, record)
    else:
        moves = lets_go(model, staged, settings, t, ends.q, ends.v, memory.acting.a, frame, record)
    n = whole(marks.nodes) if same and marks.pieces_used == 1.0 and marks.struck == 0.0 else 0
    c = head(tail(settings, whole(marks.table_at) + TAB.vectors + STAGE_VECTOR.node * n), n)
    for k in range(n):
        if moves == 0:
            q, v, a = row_of(nodes.Q, k, layout.nq), row_of(nodes.V, k, layout.nv), row_of(nodes.a, k, layout.nv)
            moves = lets_go(model, staged, settings, t - (1.0 - c[k]) * h, q, v, a, frame, record)
    if moves == 1:
        r = memory.acting.r
        new_event(t, which, EVENT.not_unique, 0, 0, r, r, r, record)
        memory.numbers.told = 1.0
    return 0


@unit(I(MODEL, J, LASTING.kind))
def gripped(model, index, room):
    """Return a contact that sticks because held ones can press against each other by themselves, or -1.

    room: what the last `accelerate` left; its forces x are written anew
    """
    layout, held, scale, x, shared = model.layout, room.held, room.scale, head(room.x, room.held.count), room.shared
    which, at, widest = -1, 0, 0.0
    if held.redundant == 0 or held.along == 1:
        return -1
    if parts(model, index, room) == 1:
        return -1
    clear(x)
    for k in range(layout.nc):
        if index[k] != INDEX.slip and index[k] != INDEX.stick:
            continue
        if shared[k] == 1:
            x[at], widest = -scale[at], larger(widest, scale[at])  # all of them pull
            which = k if which < 0 and index[k] == INDEX.stick else which
        at += layout[layout.contact_row + k + 1] - layout[layout.contact_row + k] if index[k] == INDEX.stick else 1
    if which < 0:
        return -1
    margin = admit(model, index, held.count, held.redundant, room.directions, scale, x, 0.0, shared, room.split)
    return which if margin > GRIP.strong * widest else -1


@unit(I(MODEL, J, LASTING.kind))
def parts(model, index, room):
    """Return 1 where a push at all contacts with shared forces parts them all, outside of their cones: none can grip.

    It is what most bodies do that stand on something, and much cheaper to ask than forces that balance each other.
    """
    layout, push, W = model.layout, room.column, room.W
    clear(push)
    for k in range(layout.nc):
        if room.shared[k] == 1 and (index[k] == INDEX.slip or index[k] == INDEX.stick):
            row_add(layout, room.X, layout[layout.contact_row + k], 1.0, push)
    for k in range(layout.nc):
        row, end, along = layout[layout.contact_row + k], layout[layout.contact_row + k + 1], 0.0
        if room.shared[k] != 1 or (index[k] != INDEX.slip and index[k] != INDEX.stick):
            continue
        for i in range(row + 1, end):
            along += row_dot(layout, W, i, push) ** 2
        part = row_dot(layout, W, row, push)
        if not part > (1.0 + GRIP.strong) * model.mu[k] * sqrt(along) or not part > GRIP.strong * row_size(
            layout, W, row, push
        ):
            return 0
    return 1


@unit(I(MODEL, STAGED, A, F, A, A, A, FRAME.kind, RECORD))
def lets_go(model, staged, settings, t, q, v, a, frame, record):
    """Return 1 where the law, asked without any forces beforehand, accelerates what is held otherwise than by a."""
    settings = FLIGHT_SETTINGS(settings)
    layout, probe, candidate, apart = model.layout, frame.probe, frame.ahead, 0.0
    size = frame.memory.acting.powers[REPORTED.unheld]
    for k in range(layout.nc):
        held = frame.ends.index[k] == INDEX.slip or frame.ends.index[k] == INDEX.stick
        candidate[k] = ROLE.candidate if held else 0
    clear(probe.r)
    copy(frame.memory.acting.direction, probe.direction)
    status = decide(
        model, staged.reaction, t, q, v, candidate, settings.rest, frame.trial, probe, frame.ends.info,
        frame.interval.lasting, record,
    )  # fmt: skip
    for i in range(layout.nv):
        size = larger(size, larger(abs(a[i]), abs(probe.a[i])))
        apart = larger(apart, abs(a[i] - probe.a[i]))
    return 1 if status == 0 and apart > HOLDING.moves * size else 0
