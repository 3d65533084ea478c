"""What the impulse at a border did: energy, events, and which contacts rest behind it."""

from __future__ import annotations

from saltus.compile.seam import larger, unit
from saltus.compile.types import MODEL, RECORD, A, F, I
from saltus.lasting.border import BY
from saltus.lasting.interval import STAGE_SETTINGS
from saltus.lasting.workspace import ENDS, LASTING
from saltus.memory.profile import solve_row
from saltus.memory.record import EVENT
from saltus.reaction.react import row_add, row_dot
from saltus.reaction.report import gain_event, new_event


@unit(I(MODEL, A, F, F, I, I, A, ENDS.kind, LASTING.kind, RECORD))
def strike_events(model, settings, t, h, degree, known, r, ends, room, record):
    """Write energy and events of the impulse at a border, and which contacts rest after it; return the impacts.

    Where all closed contacts hop by less than an interval (a box that rocks) the law "rest" lets all of them rest.
    known: NORMALS where restitution looks at u_start, else NOTHING (see `gain_event`); r: forces before the impulse;
    ends: as `border` left them
    """
    settings = STAGE_SETTINGS(settings)
    layout, w, P = model.layout, room.w, ends.P
    nc, nj, nr = layout.nc, layout.nj, layout.nr
    closed, u_minus, u_plus, u_start = ends.closed, ends.u_minus, ends.u_plus, ends.u_start
    impacts, most = 0, 0.0
    for c in range(nc):
        most = larger(most, P[layout[layout.contact_row + c]])
    hops = settings.law == BY.rest and settings.project == 1.0 and degree > 0
    hops = hops and all_hop(model, settings.rest, h, r, ends, room) == 1
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if closed[c] == 0:
            continue
        for i in range(row, end):
            record.dissipation[c] -= 0.5 * P[i] * (u_minus[i] + u_plus[i])
            record.header.drive_work -= P[i] * w[i]
        ends.resting[c] = 1 if hops or (u_plus[row] <= settings.rest and P[row] > 0.0) else 0
        # a constant velocity knows no lasting forces: there an impulse is an impact only when it stops an approach
        # that the forces of one interval do not explain
        impact = degree > 0 or -u_start[row] > abs(u_minus[row] - u_start[row]) * (1.0 + 1e-9)
        if P[row] > 1e-12 * most and impact:
            new_event(t, c, EVENT.impact, row, end, u_minus, u_plus, P, record)
            impacts += 1
    if impacts > 0:
        gain_event(model, t, closed, 1, known, u_start, u_minus, u_plus, P, record)
    for i in range(nr - nj, nr):
        record.header.drive_work += P[i] * (0.5 * (u_minus[i] + u_plus[i]) - w[i])
    return impacts


@unit(I(MODEL, F, F, A, ENDS.kind, LASTING.kind))
def all_hop(model, rest, h, r, ends, room):
    """Return 1 where all closed contacts come back within an interval: what presses them is stronger than the bounce.

    r: forces before the impulse, whose own share does not count
    """
    layout, W, X, column = model.layout, room.W, room.X, room.column
    u_minus, u_plus = ends.u_minus, ends.u_plus
    for c in range(layout.nc):
        row, e = layout[layout.contact_row + c], model.e[c]
        if ends.closed[c] == 0:
            continue
        pressed = -h * (row_dot(layout, W, row, ends.a) + room.zeta[row])
        if r[row] != 0.0:  # what would press without its own force
            solve_row(layout, room.lu, W, row, X, column)
            for i in range(layout.nv):
                column[i] = 0.0
            row_add(layout, X, row, 1.0, column)
            pressed += h * r[row] * row_dot(layout, W, row, column)
        back = larger(2.0 * u_plus[row], -2.0 * e * u_minus[row]) <= pressed or u_plus[row] <= rest
        if not back or not -2.0 * e * u_minus[row] <= larger(pressed, rest):
            return 0
    return 1
