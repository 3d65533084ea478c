"""Ties: contacts that strike together, or closer than the run can resolve, where their order decides what comes of it.

The motion is discontinuous in its data there: whatever is taken, a little more or less rotation would lead elsewhere.
What strikes at the same time is one impact of all its contacts. A contact that is still open by less than the run can
resolve is compared too, and strikes on its own afterwards. It takes part in the impact where it is open by rounding of
its coordinates and of the clock alone, or where it is open by far less than the run can resolve and approaches as fast
as the one that strikes: then both are corners of a face that lands flat.
"""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import larger, smaller, unit
from saltus.compile.types import MODEL, REACTION, RECORD, A, F, I
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, SCALE, promised
from saltus.lasting.border import BY, border
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import STAGE_SETTINGS
from saltus.memory.record import EVENT
from saltus.memory.vectors import copy, largest
from saltus.reaction.react import row_dot
from saltus.reaction.report import new_event


class _Ties(NamedTuple):
    """Tuned numbers of this file."""

    resolved: float = 0.1  # of the tolerance of positions: gaps below are not known to be open or closed
    face: float = 1e-3  # of the same: corners of a face that are parted by less land together
    flat: float = 1e-3  # of the speed of the contact that strikes: corners of a face that lands flat differ by less
    rounded: float = 64 * 2.2e-16  # of the coordinates, and of the way that a contact makes in the time on the clock
    same: float = 1e-9  # of the jump of the velocity: outcomes that differ by less are the same but for rounding
    most_compared: int = 8  # contacts that are tried as the first one; each takes several contact problems
    most_turns: int = 8  # impacts in turn until nothing approaches any more


TIES = _Ties()


class _TieMark(NamedTuple):
    """Of a contact that may take part in an impact."""

    # of a contact: takes part in the impact, is open by less than the run resolves, tied
    struck: int = 1
    near: int = 2
    tied: int = 3


TIE_MARK = _TieMark()


@unit(I(MODEL, REACTION, A, F, F, FRAME.kind, RECORD))
def find_ties(model, reaction, settings, t, h, frame, record):
    """Mark the contacts whose order decides the outcome of an impact; return how many there are.

    in/out  closed (frame.ends): contacts that take part; corners of a face that lands flat are added
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, mark = model.layout, frame.ends, frame.tied
    nq, position = layout.nq, promised(layout, settings, SCALE.position)
    least = position[0]
    for i in range(nq):
        least = smaller(least, position[i])
    length = largest(ends.q)
    resolution = settings.atol * least + settings.rtol * length
    fastest = mark_members(model, settings, t, TIES.resolved * resolution, frame)
    if fastest < 0.0:
        return 0
    ties = compare_orders(model, reaction, settings, t, h, frame, record)
    if ties == 0:
        return 0
    if ties == 1:  # whichever it is that must not come first, the others are those that it must not precede
        for k in range(layout.nc):
            if mark[k] == TIE_MARK.struck or mark[k] == TIE_MARK.near:
                mark[k] += TIE_MARK.tied
                ties += 1
    # ---- corners that the errors of the run have parted
    W, u = frame.interval.lasting.W, frame.tie.u_minus
    model.kinematics(t, ends.q, model.par, W, u)
    for k in range(layout.nc):
        row = layout[layout.contact_row + k]
        u[row] += row_dot(layout, W, row, ends.v)
        flat = abs(u[row] + fastest) <= TIES.flat * fastest and ends.g[k] <= TIES.face * resolution
        rounded = ends.g[k] <= TIES.rounded * (length + abs(u[row]) * (abs(t) + h))
        if mark[k] == TIE_MARK.near + TIE_MARK.tied and (flat or rounded):
            ends.closed[k] = 1
    return ties


@unit(F(MODEL, A, F, F, FRAME.kind))
def mark_members(model, settings, t, near, frame):
    """Mark the contacts that approach and are closed, or open by less than `near` [m].

    Return the largest speed of those that are closed, or -1 where there are not two of them all.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, mark, W, u = model.layout, frame.ends, frame.tied, frame.interval.lasting.W, frame.tie.u_minus
    nc, index, closed, members, fastest = layout.nc, ends.index, ends.closed, 0, 0.0
    for k in range(nc):
        mark[k] = 0
        if index[k] == INDEX.slip or index[k] == INDEX.stick:
            continue
        if closed[k] == 0 and (index[k] != INDEX.open or ends.g[k] > near):
            continue
        members += 1
        mark[k] = TIE_MARK.struck if closed[k] == 1 else TIE_MARK.near
    if members < 2:
        return -1.0
    model.kinematics(t, ends.q, model.par, W, u)
    members = 0
    for k in range(nc):
        row = layout[layout.contact_row + k]
        u[row] += row_dot(layout, W, row, ends.v)
        if mark[k] != 0 and not u[row] < -settings.rest:
            mark[k] = 0
        if mark[k] == TIE_MARK.struck:
            fastest = larger(fastest, -u[row])
        members += 1 if mark[k] != 0 else 0
    return fastest if members > 1 else -1.0


@unit(I(MODEL, REACTION, A, F, F, FRAME.kind, RECORD))
def compare_orders(model, reaction, settings, t, h, frame, record):
    """Strike all marked contacts together, then each of them first; mark as TIE_MARK.tied those that lead elsewhere."""
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, mark = model.layout, frame.ends, frame.tied
    nv, nc, velocity = layout.nv, layout.nc, promised(layout, settings, SCALE.velocity)
    closed, trial, together, after, v = ends.closed, frame.tie.closed, frame.tie_together, frame.tie.v_new, ends.v
    copy(ends.q, frame.tie.q)
    for k in range(nc):
        trial[k] = 1 if closed[k] == 1 or mark[k] != 0 else 0
    if strike_in_turn(model, reaction, settings, t, h, 1, frame, record) != 0:
        return 0  # the impact itself will say what is wrong
    jump = 0.0
    for i in range(nv):
        together[i] = after[i]
        jump = larger(jump, abs(after[i] - v[i]))
    compared, ties = 0, 0
    for first in range(nc):
        if mark[first] == 0 or compared == TIES.most_compared:
            continue
        compared += 1
        for k in range(nc):
            trial[k] = 1 if k == first or (closed[k] == 1 and mark[k] == 0) else 0
        # an order that has no solution is another outcome, too
        differs = strike_in_turn(model, reaction, settings, t, h, TIES.most_turns, frame, record) != 0
        for i in range(nv):
            scale = settings.atol * velocity[i] + settings.rtol * larger(abs(together[i]), abs(v[i]))
            differs = differs or abs(after[i] - together[i]) > larger(scale, TIES.same * jump)
        if differs:
            ties += 1
            mark[first] += TIE_MARK.tied
    return ties


@unit(I(MODEL, REACTION, A, F, F, I, FRAME.kind, RECORD))
def strike_in_turn(model, reaction, settings, t, h, turns, frame, record):
    """Strike the contacts marked for trial, then those that approach behind it, and so on; write the velocity.

    in/out  frame.tie: closed: contacts of the first impact -> of the last one; q
    out     frame.tie: v_new
    """
    settings = STAGE_SETTINGS(settings)
    layout, tie, mark = model.layout, frame.tie, frame.tied
    copy(frame.ends.v, tie.v_new)
    for _ in range(turns):
        copy(tie.v_new, tie.v)
        status = border(model, reaction, t, h, settings.rest, BY.left, tie, frame.interval.lasting, record)
        if status != 0:
            return status
        again = False
        for k in range(layout.nc):
            row = layout[layout.contact_row + k]
            if mark[k] != 0:
                tie.closed[k] = 1 if tie.u_plus[row] <= settings.rest else 0
                again = again or tie.u_plus[row] < -settings.rest
        if not again:
            break
    return 0


@unit(I(MODEL, A, F, FRAME.kind, RECORD))
def tie_events(model, settings, t, frame, record):
    """Write a row for every tied contact: when, and how fast it approached."""
    layout = model.layout
    nc, u_minus = layout.nc, frame.ends.u_minus
    nothing = frame.tie.P
    for i in range(layout.nr):
        nothing[i] = 0.0
    for k in range(nc):
        if frame.tied[k] > TIE_MARK.tied:
            row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
            new_event(t, k, EVENT.tie, row, end, u_minus, nothing, nothing, record)
    return 0
