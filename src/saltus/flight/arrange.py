"""What stays closed at the end of a flight is put in place; then the law decides which index set is next."""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, RECORD, STAGED, A, F, I
from saltus.flight.frame import FLIGHT_END, FRAME
from saltus.lasting.border import PROJECTED
from saltus.lasting.end_of_step import put_back
from saltus.lasting.hold import REPORTED, rest_speed
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import STAGE_SETTINGS, closed_gap
from saltus.lasting.settle import CHANGE
from saltus.memory.layout import F_FREE, M_CONSTANT
from saltus.memory.profile import multiply
from saltus.memory.vectors import clear, copy, largest
from saltus.reaction.react import row_dot


@unit(I(MODEL, STAGED, A, F, I, I, FRAME.kind, RECORD))
def arrange(model, staged, settings, t, struck, deciding, frame, record):
    """Project held contacts and joints, decide the next index set; without need take over the end of the phase."""
    settings = STAGE_SETTINGS(settings)
    ends, acting, marks = frame.ends, frame.memory.acting, frame.marks
    ends.info[0] = 0.0
    clear(ends.corrected)  # nothing is projected yet
    if deciding == 0 and marks.end_known == 1.0:
        copy(frame.a_last, acting.a)
        copy(frame.r_last, acting.r)
        copy(frame.powers_last, acting.powers)
        return 0
    anything = hold_at_end(model, settings, t, struck, frame)
    clear(ends.corrected)
    if anything == 1:
        status = put_back(model, settings.projected, t, ends, frame.interval.lasting, record)
        if status != 0:
            return status
        if largest(ends.corrected) > 0.0:
            record.header.reacted = 1.0
        if struck == 0:
            rub_away(model, frame, record)
    if struck == 1 and anything == 0 and marks.switched == 0.0 and unchanged(model, settings, t, frame) == 1:
        return 0
    status = staged.settle(model, staged.reaction, settings, t, 1, struck, ends, acting, frame.interval, record)
    if status == 0 and struck == 0 and anything == 1 and left_behind(model, settings, t, frame) == 1:
        hold_at_end(model, settings, t, struck, frame)
        status = put_back(model, settings.projected, t, ends, frame.interval.lasting, record)
        if status == 0:
            status = staged.settle(model, staged.reaction, settings, t, 1, struck, ends, acting, frame.interval, record)
    return status


@unit(I(MODEL, A, F, FRAME.kind))
def left_behind(model, settings, t, frame):
    """Return 1 where the index set has changed, and what it holds now moves as if it were not held.

    Redundant rows that have come to ask for different velocities, as those of a mechanism that sticks twice when the
    dwell of its cam ends, cannot all be put back. Once the law has let one of them go the others can.
    """
    settings = STAGE_SETTINGS(settings)
    layout, ends, W, w = model.layout, frame.ends, frame.interval.lasting.W, frame.interval.lasting.w
    changed = False
    for k in range(layout.nc):
        changed = changed or ends.before[k] != ends.index[k]
    if not changed:
        return 0
    model.kinematics(t, ends.q, model.par, W, w)
    for k in range(layout.nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        if ends.index[k] != INDEX.slip and ends.index[k] != INDEX.stick:
            continue
        for i in range(row, end if ends.index[k] == INDEX.stick else row + 1):
            if abs(row_dot(layout, W, i, ends.v) + w[i]) > rest_speed(settings.rest, layout, W, i, ends.v):
                return 1
    return 0


@unit(I(MODEL, A, F, I, FRAME.kind))
def hold_at_end(model, settings, t, struck, frame):
    """Write how far every contact is put back at the end of a flight; return 1 where anything is, joints included."""
    settings = STAGE_SETTINGS(settings)
    layout, ends, W, w = model.layout, frame.ends, frame.interval.lasting.W, frame.ends.corrected
    index, resting, held, v, u_plus = ends.index, ends.resting, ends.held, ends.v, ends.u_plus
    anything, u_0 = layout.nj > 0, frame.memory.acting.u
    model.kinematics(t, ends.q, model.par, W, w)
    for k in range(layout.nc):
        row, end = layout[layout.contact_row + k], layout[layout.contact_row + k + 1]
        held[k] = 0
        if index[k] == INDEX.slip or index[k] == INDEX.stick or resting[k] == 1:
            # a slip slower than the tolerance is none: all of them end together, or they would end one by one forever;
            # one that became faster in a flight without an event has just begun
            slow, faster = True, 0.0
            for i in range(row + 1, end):
                still, slip = rest_speed(settings.rest, layout, W, i, v), row_dot(layout, W, i, v) + w[i]
                slow, faster = slow and abs(slip) <= still, faster + slip * slip - u_0[i] * u_0[i]
                frame.slips[i], frame.belts[i] = slip, w[i]
            slow = slow and (frame.marks.event_kind != FLIGHT_END.nothing or not faster > 0.0)
            # neither does one end that was lost here: what else is held may move it from now on, a cam behind its dwell
            slow = slow and not (ends.before[k] == INDEX.stick and index[k] == INDEX.slip)
            held[k] = PROJECTED.whole if index[k] == INDEX.stick or ends.stopped[k] == 1 or slow else PROJECTED.normal
            if struck == 1:  # an impact may have lifted it, or made it slip or stick
                slides = False
                for i in range(row + 1, end):
                    slides = slides or abs(u_plus[i]) > rest_speed(settings.rest, layout, W, i, v)
                held[k] = PROJECTED.normal if slides else PROJECTED.whole
                if u_plus[row] > rest_speed(settings.rest, layout, W, row, v) and resting[k] == 0:
                    held[k] = 0
        if ends.candidate[k] == CHANGE.releasing:
            held[k] = 0
        anything = anything or held[k] != 0
    return 1 if anything else 0


@unit(I(MODEL, FRAME.kind, RECORD))
def rub_away(model, frame, record):
    """Enter the energy that is cut of slips that stop: it would have been rubbed away."""
    layout, ends = model.layout, frame.ends
    for k in range(layout.nc):
        if ends.index[k] == INDEX.slip and ends.held[k] == PROJECTED.whole:
            for i in range(layout[layout.contact_row + k] + 1, layout[layout.contact_row + k + 1]):
                record.dissipation[k] -= 0.5 * ends.corrected[i] * frame.slips[i]
                record.header.drive_work -= ends.corrected[i] * frame.belts[i]
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def unchanged(model, settings, t, frame):
    """Return whether the forces behind an impact are those before it: they know no position and no velocity.

    Then the acceleration is known as well, and no force has to be evaluated.
    """
    settings = STAGE_SETTINGS(settings)
    layout = model.layout
    nc = layout.nc
    marks, g, u_plus = frame.marks, frame.ends.g, frame.ends.u_plus
    given = (layout.features & F_FREE) != 0 and (layout.features & M_CONSTANT) != 0 and layout.nj == 0
    if not given or marks.end_known == 0.0 or abs(marks.late) > 1e-14 * (abs(t) + marks.length):
        return 0
    slack = closed_gap(settings, frame.ends.q)
    for k in range(nc):
        row = layout[layout.contact_row + k]
        closed = g[k] <= slack or frame.ends.closed[k] == 1
        if (
            frame.ends.index[k] != INDEX.open
            or frame.ends.candidate[k] != 0
            or (closed and not u_plus[row] > settings.rest)
        ):
            return 0
    acting, M, f = frame.memory.acting, frame.mass, frame.force
    copy(frame.a_last, acting.a)
    clear(f)
    model.mass(t, frame.ends.q, model.par, M)
    multiply(layout, M, acting.a, f)
    clear(acting.r)
    clear(acting.powers)
    for i in range(layout.nv):
        acting.powers[REPORTED.power] += f[i] * frame.ends.v[i]
    acting.powers[REPORTED.unheld] = largest(acting.a)
    return 1
