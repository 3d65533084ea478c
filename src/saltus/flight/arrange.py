"""What stays closed at the end of a flight is put in place; then the law decides which index set is next."""

from __future__ import annotations

from saltus.compile.seam import larger, unit
from saltus.compile.types import MODEL, RECORD, STAGED, A, F, I
from saltus.flight.frame import FRAME, NOTHING
from saltus.lasting.border import NORMAL, WHOLE, project
from saltus.lasting.hold import POWERS, rest_speed
from saltus.lasting.index_set import OPEN, SLIP, STICK
from saltus.lasting.interval import STAGE_SETTINGS, closed_gap
from saltus.lasting.settle import RELEASING
from saltus.memory.layout import CONTACT_ROW, F_FREE, FLAGS, M_CONSTANT, NC, NJ, NR, NV
from saltus.memory.profile import multiply
from saltus.reaction.react import row_dot


@unit(I(MODEL, STAGED, A, F, I, I, FRAME.kind, RECORD))
def arrange(model, staged, settings, t, struck, deciding, frame, record):
    """Project held contacts and joints, decide the next index set; without need take over the end of the phase."""
    settings = STAGE_SETTINGS(settings)
    layout = model.layout
    nv, nc, nj, nr = layout[NV], layout[NC], layout[NJ], layout[NR]
    marks, info = frame.marks, frame.info
    q, v, g, u_plus, corrected = frame.q_end, frame.v_end, frame.gaps, frame.u_plus, frame.corrected
    a_0, r_0, u_0, powers_0 = (
        frame.memory.a_begin,
        frame.memory.r_begin,
        frame.memory.u_begin,
        frame.memory.powers_begin,
    )
    slips, belts = frame.slips, frame.belts
    index, resting, stopped, held, candidate = frame.index, frame.resting, frame.stopped, frame.held, frame.candidate
    info[0] = 0.0
    for i in range(nr):
        corrected[i] = 0.0  # nothing is projected yet
    if deciding == 0 and marks.end_known == 1.0:
        a_last, r_last, powers_last = (
            frame.a_last,
            frame.r_last,
            frame.powers_last,
        )
        for i in range(nv):
            a_0[i] = a_last[i]
        for i in range(nr):
            r_0[i] = r_last[i]
        for i in range(POWERS + nc):
            powers_0[i] = powers_last[i]
        return 0
    room = frame.interval.lasting
    anything = nj > 0
    W = room.W
    model.kinematics(t, q, model.par, W, corrected)
    for k in range(nc):
        row = layout[layout[CONTACT_ROW] + k]
        held[k] = 0
        if index[k] == SLIP or index[k] == STICK or resting[k] == 1:
            # a slip slower than the tolerance is none: all of them end together, or they would end one by one forever;
            # one that became faster in a flight without an event has just begun
            slow, faster = True, 0.0
            for i in range(row + 1, layout[layout[CONTACT_ROW] + k + 1]):
                still, slip = rest_speed(settings.rest, layout, W, i, v), row_dot(layout, W, i, v) + corrected[i]
                slow, faster = slow and abs(slip) <= still, faster + slip * slip - u_0[i] * u_0[i]
                slips[i], belts[i] = slip, corrected[i]
            slow = slow and (marks.event_kind != NOTHING or not faster > 0.0)
            held[k] = WHOLE if index[k] == STICK or stopped[k] == 1 or slow else NORMAL
            if struck == 1:  # an impact may have lifted it, or made it slip or stick
                slides = False
                for i in range(row + 1, layout[layout[CONTACT_ROW] + k + 1]):
                    slides = slides or abs(u_plus[i]) > rest_speed(settings.rest, layout, W, i, v)
                held[k] = NORMAL if slides else WHOLE
                if u_plus[row] > rest_speed(settings.rest, layout, W, row, v) and resting[k] == 0:
                    held[k] = 0
        if candidate[k] == RELEASING:
            held[k] = 0
        anything = anything or held[k] != 0
    for i in range(nr):
        corrected[i] = 0.0
    if anything:
        status = project(model, settings.projected, t, q, v, held, corrected, g, room)
        if status != 0:
            return status
        for i in range(nr):
            record.impulse[i] += corrected[i]
            if corrected[i] != 0.0:
                record.header.reacted = 1.0
        for k in range(nc):
            # what is cut of a slip that stops would have been rubbed away
            row, end = layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]
            for i in range(row + 1, end if index[k] == SLIP and held[k] == WHOLE and struck == 0 else row + 1):
                record.dissipation[k] -= 0.5 * corrected[i] * slips[i]
                record.header.drive_work -= corrected[i] * belts[i]
    if struck == 1 and not anything and marks.switched == 0.0 and unchanged(model, settings, t, frame) == 1:
        return 0
    return staged.settle(
        model, staged.reaction, settings, t, q, v, g, 1, 1.0 if struck == 1 else 0.0, index,
        frame.memory.direction, resting, stopped, candidate, a_0, r_0, u_0, powers_0, info,
        frame.interval, record,
    )  # fmt: skip


@unit(I(MODEL, A, F, FRAME.kind))
def unchanged(model, settings, t, frame):
    """Return whether the forces behind an impact are those before it: they know no position and no velocity.

    Then the acceleration is known as well, and no force has to be evaluated.
    """
    settings = STAGE_SETTINGS(settings)
    layout = model.layout
    nv, nc, nr = layout[NV], layout[NC], layout[NR]
    marks, g, u_plus = frame.marks, frame.gaps, frame.u_plus
    given = (layout[FLAGS] & F_FREE) != 0 and (layout[FLAGS] & M_CONSTANT) != 0 and layout[NJ] == 0
    if not given or marks.end_known == 0.0 or abs(marks.late) > 1e-14 * (abs(t) + marks.length):
        return 0
    slack = closed_gap(settings, frame.q_end)
    for k in range(nc):
        row = layout[layout[CONTACT_ROW] + k]
        closed = g[k] <= slack or frame.closed[k] == 1
        if frame.index[k] != OPEN or frame.candidate[k] != 0 or (closed and not u_plus[row] > settings.rest):
            return 0
    a_0, r_0, powers_0, a_last, v, M, f = (
        frame.memory.a_begin,
        frame.memory.r_begin,
        frame.memory.powers_begin,
        frame.a_last,
        frame.v_end,
        frame.mass,
        frame.force,
    )
    for i in range(nv):
        a_0[i], f[i] = a_last[i], 0.0
    model.mass(t, frame.q_end, model.par, M)
    multiply(layout, M, a_0, f)
    for i in range(nr):
        r_0[i] = 0.0
    for i in range(POWERS + nc):
        powers_0[i] = 0.0
    for i in range(nv):
        powers_0[0] += f[i] * v[i]
        powers_0[2] = larger(powers_0[2], abs(a_0[i]))
    return 1
