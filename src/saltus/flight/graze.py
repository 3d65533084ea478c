"""Grazes: approaches that end within the tolerance, whose small impulses the projection of a border takes."""

from __future__ import annotations

from saltus.compile.seam import row_of, unit, whole
from saltus.compile.types import MODEL, RECORD, A, F, I
from saltus.flight.frame import FRAME
from saltus.lasting.index_set import INDEX
from saltus.memory.record import COLUMN, EVENT
from saltus.reaction.react import row_dot
from saltus.reaction.report import new_event

UNDONE = 1e-12  # of an impulse: what a projection takes back of a bounce beyond its rounding


@unit(I(MODEL, A, F, I, FRAME.kind, RECORD))
def graze(model, settings, t, struck, frame, record):
    """Write what the projection did to contacts that it stopped.

    Without an impact: a contact that was open and stays open, but was stopped, has a row of its own. With one: where
    the projection has taken back a bounce that is slower than the tolerance, the row of the impact tells the sum.
    """
    layout = model.layout
    nc, nr = layout.nc, layout.nr
    corrected = frame.ends.corrected
    index, before = frame.ends.index, frame.ends.before
    anything = False
    for i in range(nr):
        anything = anything or corrected[i] != 0.0
    if not anything:
        return 0
    u_minus, u_plus, P = frame.ends.u_minus, frame.ends.u_plus, frame.ends.P
    q, v = frame.ends.q, frame.ends.v
    W, w = frame.interval.lasting.W, frame.interval.lasting.w
    model.kinematics(t, q, model.par, W, w)
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if struck == 0 and corrected[row] > 0.0 and before[c] == INDEX.open and index[c] == INDEX.open:
            for i in range(row, end):
                u_minus[i] = row_dot(layout, W, i, record.v_minus) + w[i]
                u_plus[i] = row_dot(layout, W, i, v) + w[i]
                record.dissipation[c] -= 0.5 * corrected[i] * (u_minus[i] + u_plus[i])
            new_event(t, c, EVENT.impact, row, end, u_minus, u_plus, corrected, record)
        if struck == 1 and -corrected[row] > UNDONE * P[row]:
            for k in range(whole(record.header.events_used)):
                event = row_of(record.events, k, COLUMN.all)
                if whole(event[COLUMN.contact]) != c or whole(event[COLUMN.kind]) != EVENT.impact:
                    continue
                for i in range(row, end):
                    after = row_dot(layout, W, i, v) + w[i]
                    work = 0.5 * corrected[i] * (u_plus[i] + after)
                    event[COLUMN.impulse + i - row] += corrected[i]
                    event[COLUMN.after + i - row] = after
                    event[COLUMN.energy] += work
                    record.dissipation[c] -= work
    return 0
