"""The decision at a border: which contacts are held in the next interval, and what acts on the state there."""

from __future__ import annotations

from saltus.compile.seam import ivec, larger, unit, vec, whole
from saltus.compile.types import MODEL, RECORD, SETTLE, A, F, I
from saltus.events.index_set import CANDIDATE, IMPULSIVE, MUST_SLIP, OPEN, SLIP, STICK, UNTIED, decide
from saltus.layout import CONTACT_ROW, LAW_FLOATS, NC, NR, NV, NW, SIZE
from saltus.reaction import row_dot
from saltus.record import CLOSING, PAINLEVE, RELEASE
from saltus.record import SLIP as SLIP_EVENT
from saltus.record import STICK as STICK_EVENT
from saltus.reporting import new_event
from saltus.stages.hold import JAM, JAMMED, accelerate, rest_speed
from saltus.stages.interval import BY_STAGE, HOLD_AT, LARGEST, REST, STAGE_AT, closed_gap, evaluate

# a contact that this border lets go of, that begins to slip, that was let go of at this very time
RELEASING, BREAKING, LET_GO = -1, -2, -3


@unit(I(MODEL, F, I, I, I, I, A, A, RECORD))
def changed_events(model, t, contact, before, after, struck, u, r, record):
    """Write the events of one contact whose place in the index set changes."""
    layout = model.layout
    row, end = layout[layout[CONTACT_ROW] + contact], layout[layout[CONTACT_ROW] + contact + 1]
    was, holds = before == SLIP or before == STICK, after == SLIP or after == STICK
    if was and not holds:
        new_event(t, contact, RELEASE, row, row, u, u, r, record)
    if after == IMPULSIVE:
        new_event(t, contact, PAINLEVE, row, row, u, u, r, record)
    if holds and not was and struck == 0:
        new_event(t, contact, CLOSING, row, row, u, u, r, record)
    if holds and end - row > 1:
        new_event(t, contact, STICK_EVENT if after == STICK else SLIP_EVENT, row, row, u, u, r, record)
    return 0


@unit(SETTLE)
def settle(
    model, reaction, settings, t, q, v, g, degree, struck, index, direction, resting, stopped, candidate, a, r, u,
    powers, info, inner, iinner, record,
):  # fmt: skip
    """Decide the index set at a border and write acceleration, forces and powers of the state there.

    in      g: gaps; struck: whether an impulse acted; stopped, candidate: transitions that end the interval
    in/out  index, direction
    The set of the last interval stays when its forces push and stay in their cones: that is a solution of the law.
    Otherwise the law is solved over all contacts that are closed and neither approach nor separate.
    """
    layout, par = model.layout, model.par
    nv, nc, nr = layout[NV], layout[NC], layout[NR]
    at = whole(settings[HOLD_AT])
    room = vec(inner, at, inner.shape[0] - at)
    first = whole(settings[LARGEST]) * (nv + nc) + nc
    iroom = ivec(iinner, first, iinner.shape[0] - first)
    info[0], info[1] = 0.0, 0.0
    if settings[BY_STAGE] == 1.0:
        return evaluate(
            model, reaction, settings, t, q, v, index, direction, g, 0, 0, 0, a, r, u, powers,
            vec(inner, whole(settings[STAGE_AT]), inner.shape[0] - whole(settings[STAGE_AT])),
            ivec(iinner, whole(settings[LARGEST]) * nv, iinner.shape[0] - whole(settings[LARGEST]) * nv), record,
        )  # fmt: skip
    near, anyone, same, slowest = False, False, True, settings[REST]
    slack = closed_gap(settings, q)
    for c in range(nc):
        near = near or ((g[c] <= slack or index[c] == SLIP or index[c] == STICK) and degree > 0)
    W = vec(room, 1 + layout[SIZE], layout[NW])
    if near:
        model.kinematics(t, q, par, W, u)
        for i in range(nr):
            u[i] += row_dot(layout, W, i, v)
    for c in range(nc):
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        holds = index[c] == SLIP or index[c] == STICK
        transition_here = candidate[c]
        candidate[c] = 0
        if not near:
            index[c] = OPEN
            continue
        still = rest_speed(settings[REST], layout, W, row, v)
        if transition_here == BREAKING:
            candidate[c] = MUST_SLIP
        elif transition_here != RELEASING and holds:
            candidate[c] = CANDIDATE if u[row] <= still or struck == 0.0 else 0
        elif transition_here != RELEASING and g[c] <= slack:
            candidate[c] = CANDIDATE if abs(u[row]) <= still else 0
            if candidate[c] != 0 and transition_here == LET_GO:
                candidate[c] = UNTIED
        forward, still = 0.0, settings[REST]
        for i in range(row + 1, end):
            forward += u[i] * direction[2 * c + i - row - 1]
            still = rest_speed(still, layout, W, i, v)
        slowest = larger(slowest, still)
        slows = index[c] == SLIP and end - row > 1 and forward <= still
        same = same and (candidate[c] == CANDIDATE) == holds and candidate[c] != UNTIED
        same = same and not (holds and (struck == 1.0 or stopped[c] == 1 or slows or transition_here != 0))
        anyone = anyone or candidate[c] != 0
    if not anyone:
        for c in range(nc):
            index[c] = OPEN
        return accelerate(model, t, q, v, index, direction, 0, a, r, u, powers, room, iroom, record)
    if same:
        status = accelerate(model, t, q, v, index, direction, 0, a, r, u, powers, room, iroom, record)
        if status != 0 and status != JAMMED:
            return status
        lawful = status == 0
        for c in range(nc):
            row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
            if not lawful or (index[c] != SLIP and index[c] != STICK):
                continue
            friction, speed = 0.0, 0.0
            for i in range(row + 1, end):
                friction += r[i] * r[i]
                speed += u[i] * u[i]
            cone = model.constants[LAW_FLOATS * c + 1] * r[row]
            lawful = r[row] > 0.0 and (index[c] == SLIP or friction <= cone * cone)
            if index[c] == SLIP and end - row == 3:
                for i in range(row + 1, end):
                    direction[2 * c + i - row - 1] = u[i] / speed**0.5
        if lawful:
            return 0
    status = decide(model, reaction, t, q, v, candidate, slowest, index, direction, a, r, info, room, iroom, record)
    if status != 0:
        return status
    for _ in range(nc + 1):
        status = accelerate(model, t, q, v, index, direction, 0, a, r, u, powers, room, iroom, record)
        if status != JAMMED:
            return status
        index[iroom[JAM]] = IMPULSIVE
    return status
