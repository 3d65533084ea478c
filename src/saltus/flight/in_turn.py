"""Impacts in turn at one instant: a face that lands nearly flat, whose corners throw each other back onto the ground.

A light face on a heavy body takes thousands of them before its corners have stopped it, all while nothing moves. The
first ones end a flight each; then the others are solved here, one after the other at the state of the instant, and the
event table shows their sum.
"""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import handle, larger, unit, whole
from saltus.compile.types import MODEL, RECORD, STAGED, A, Directions, F, I
from saltus.flight.arrange import arrange
from saltus.flight.follow import frozen
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME
from saltus.flight.zeno import ask_impact
from saltus.lasting.hold import rest_speed
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import closed_gap
from saltus.memory.record import COLUMN, EVENT
from saltus.memory.vectors import add, clear, copy
from saltus.reaction.react import ASKED, row_dot
from saltus.reaction.report import new_event


class _InTurn(NamedTuple):
    """Tuned numbers of this file."""

    first: float = 32.0  # impacts without duration, one after the other, that end a flight each
    most: int = 500_000  # corners with 1e-5 of the mass need some 1e5 impacts
    look: int = 50_000  # impacts in which the speed must at least halve
    seen: float = 1e-12  # of the largest impulse: one that is written into the event table


IN_TURN = _InTurn()


@unit(I(MODEL, STAGED, A, F, FRAME.kind, RECORD))
def strike_in_turn(model, staged, settings, t, frame, record):
    """Solve the impacts that follow each other at the end of a flight; nothing changes where they do not die away.

    in/out  frame: v of its ends, index set
    """
    layout, ends, micro, room, numbers = (
        model.layout, frame.ends, frame.micro, frame.interval.lasting, frame.memory.numbers
    )  # fmt: skip
    numbers.in_turn = numbers.in_turn + 1.0 if frame.marks.still == 1.0 else 0.0
    if numbers.in_turn < IN_TURN.first:
        return 0
    if frozen(model, t, ends.q, ends.v, room) != 0 or close_all(model, settings, frame) == 0:
        return 0
    for i in range(layout.nr):
        ends.u_minus[i] = row_dot(layout, room.W, i, ends.v) + room.w[i]
    last = 1e300
    for k in range(IN_TURN.most):
        lands = fastest(model, settings, frame)
        if lands >= 0 and k % IN_TURN.look == 0:
            if not -micro.u[lands] < 0.5 * last:
                return 0  # nothing dies away
            last = -micro.u[lands]
        if lands < 0:
            enter_impacts(model, t, frame, record)
            return arrange(model, staged, settings, t, 1, 1, frame, record)
        ask_impact(model, lands, ends.index, micro, room)
        status = staged.reaction.react(
            model, staged.reaction.solver, room.lu, handle(Directions(room.W, room.W, room.W)), room.target,
            room.active, ASKED.impact, micro.v, micro.P_now, micro.info, room.react,
        )  # fmt: skip
        record.counters.sweeps += whole(micro.info[1])
        if status != 0:
            return 0
        add(micro.P_now, micro.P)
    return 0


@unit(I(MODEL, A, FRAME.kind))
def close_all(model, settings, frame):
    """Mark the open contacts without a gap as those that strike in turn; return how many."""
    layout, ends, micro, members = model.layout, frame.ends, frame.micro, 0
    slack = closed_gap(settings, ends.q)
    micro.limits.eps = 1.0
    for k in range(layout.nc):
        one = ends.index[k] == INDEX.open and ends.g[k] <= slack
        micro.member[k], micro.gap[k], micro.rate[k] = 1 if one else 0, 0.0, -1.0
        members += micro.member[k]
    copy(ends.v, micro.v)
    clear(micro.P)
    micro.summary.count = 0.0
    return members


@unit(I(MODEL, A, FRAME.kind))
def fastest(model, settings, frame):
    """Write the velocities of the members; return the one that approaches fastest, -1 where none does.

    What does not approach is parted, by less than can be said: it is struck afterwards, and no corner of a face.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, micro, room, lands, most = model.layout, frame.micro, frame.interval.lasting, -1, 0.0
    for k in range(layout.nc):
        if micro.member[k] == 1:
            row = layout[layout.contact_row + k]
            micro.u[k] = row_dot(layout, room.W, row, micro.v) + room.w[row]
            approaches = micro.u[k] < -rest_speed(settings.rest, layout, room.W, row, micro.v)
            micro.gap[k] = 0.0 if approaches else 1.0
            if approaches and micro.u[k] < most:
                lands, most = k, micro.u[k]
    return lands


@unit(I(MODEL, F, FRAME.kind, RECORD))
def enter_impacts(model, t, frame, record):
    """Enter energy, impulses and events of the impacts into the books, and take their velocities over.

    Impulses of many impacts do the work of their sum at the mean velocity: rows and masses stayed what they were.
    """
    layout, ends, micro, W, w = (
        model.layout,
        frame.ends,
        frame.micro,
        frame.interval.lasting.W,
        frame.interval.lasting.w,
    )
    P, most, members = micro.P, 0.0, 0.0
    for i in range(layout.nr):
        ends.u_plus[i] = row_dot(layout, W, i, micro.v) + w[i]
    for k in range(layout.nc):
        most = larger(most, P[layout[layout.contact_row + k]])
    for k in range(layout.nc):
        members += 1.0 if P[layout[layout.contact_row + k]] > IN_TURN.seen * most else 0.0
    for k in range(layout.nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        for i in range(row, end):
            record.dissipation[k] -= 0.5 * P[i] * (ends.u_minus[i] + ends.u_plus[i])
            record.header.drive_work -= P[i] * w[i]
        if P[row] > IN_TURN.seen * most:
            ends.closed[k] = 1
            ends.resting[k] = 1 if ends.u_plus[row] <= 0.0 and micro.member[k] == 1 else ends.resting[k]
            new_event(t, k, EVENT.accumulation, row, end, ends.u_minus, ends.u_plus, P, record)
            place = (whole(record.header.events_used) - 1) * COLUMN.all + COLUMN.impacts
            record.events[place] = micro.summary.count / members
    for i in range(layout.nr - layout.nj, layout.nr):
        record.header.drive_work += P[i] * (0.5 * (ends.u_minus[i] + ends.u_plus[i]) - w[i])
    add(P, record.impulse)
    add(P, ends.P)
    copy(micro.v, ends.v)
    return 0
