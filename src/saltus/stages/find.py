"""The first event of a flight: a closing, a transition of a held contact, an event of the user, by its polynomials."""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import ivec, larger, unit, vec, whole
from saltus.compile.types import MODEL, PART, A, F, I, J
from saltus.events.index_set import IMPULSIVE, SLIP
from saltus.events.polynomial import NONE, combine, lagrange_weights
from saltus.events.scan import SAMPLES, first_closing, first_return, first_switch
from saltus.events.transition import LOST, STOPPED, stops, transition
from saltus.layout import CONTACT_ROW, FLAGS, NC, NE, NQ, NR, NV, NW, SIZE, W_CONSTANT
from saltus.reaction import row_dot
from saltus.stages import frame as frames
from saltus.stages.frame import CROSSES, FOUND, NOTHING, RTOL, STRAIGHT, STRIKES, part, remembered, slip_tolerance
from saltus.stages.hold import LOAD, not_unique
from saltus.stages.interval import HOLD_AT, LARGEST, REST, closed_gap
from saltus.stages.loss import first_loss
from saltus.stages.prove import first_hidden
from saltus.stages.tableau import NODE, VECTORS

PLACES = 5  # off the nodes, at which slips are looked at
GOLDEN = 0.6180339887498949  # multiples of it lie on no nodes
SHORTEST = 1e-15  # of a flight: an event cannot lie at its very beginning


@unit(PART)
def find(model, staged, settings, task, t, h, frame, iwork, record):
    """Write kind, contact or event, and place of the first event into the marks."""
    layout = model.layout
    nq, nv, nc, ne = layout[NQ], layout[NV], layout[NC], layout[NE]
    marks, nodes, inner = (
        part(settings, frame, frames.MARKS),
        part(settings, frame, frames.NODE_STATES),
        part(settings, frame, frames.INNER),
    )
    n = whole(marks[frames.NODES])
    Q, V = vec(nodes, 0, n * nq), vec(nodes, n * nq, n * nv)
    R, U, scan, weights = (
        part(settings, frame, frames.NODE_FORCES),
        part(settings, frame, frames.NODE_SLIPS),
        part(settings, frame, frames.SCAN),
        part(settings, frame, frames.WEIGHTS),
    )
    c = vec(settings, whole(marks[frames.TABLE_AT]) + VECTORS + NODE * n, n)
    samples = vec(settings, whole(marks[frames.SAMPLES_AT]), (SAMPLES + 1) * n)
    index, found = ivec(iwork, 0, nc), ivec(iwork, frames.I_VECTORS * nc, FOUND)
    at = frames.I_VECTORS * nc + FOUND + whole(settings[LARGEST]) * (nv + nc) + nc
    iroom = ivec(iwork, at, iwork.shape[0] - at)
    at = whole(settings[HOLD_AT])
    room = vec(inner, at, inner.shape[0] - at)
    jammed = marks[frames.JAMMED_SET] == 1.0
    marks[frames.UNRESOLVED] = 0.0
    kind, which, s, stopping = NOTHING, -1, 1.0, 0
    slack = closed_gap(settings, vec(nodes, 0, nq))
    if nc > 0 and not jammed:
        place = first_closing(model, c, samples, t, h, Q, V, index, slack, found, scan)
        if place < NONE:
            kind, which, s = STRIKES, found[0], place
        place = first_hidden(model, settings, t, h, s, index, slack, found, frame)
        if place < s:
            kind, which, s = STRIKES, found[0], place
    if marks[frames.HOLDING] == 1.0 and nc > 0:
        slips(model, c, t, h, Q, V, U, room)
        if (layout[FLAGS] & W_CONSTANT) == 0 and marks[frames.WINDOW] == 0.0:
            marks[frames.UNRESOLVED] = strayed(model, settings, c, t, h, frame, iwork)
        speed = 0.0
        for i in range(n * nv):
            speed = larger(speed, abs(V[i]))
        load = remembered(settings, frame, frames.POWERS_BEGIN)[LOAD]
        shared = not_unique(layout, iroom)
        place = transition(
            model, c, index, remembered(settings, frame, frames.DIRECTION), R, U, speed, load, shared, found, weights
        )
        if place < s:
            kind, which, s = found[1], found[0], place
        anyone = False
        for k in range(nc):
            anyone = anyone or shared[k] == 1
        if anyone:
            place = first_loss(model, settings, c, t, h, s, frame, iwork, record)
            if place < s:
                kind, which, s = LOST, found[0], place
    if kind == NOTHING and marks[frames.FORESEEN] >= 0.0:
        # a closing that was foreseen for the end may come a little later
        k = whole(marks[frames.FORESEEN])
        late = lateness(model, settings, t + h, k, frame)
        if late >= 0.0 and late < 0.1 * h and h + late <= marks[frames.ALLOWED]:
            kind, which, s = STRIKES, k, 1.0 + late / h
    if ne > 0:
        fired = remembered(settings, frame, frames.FIRED)
        back = first_return(model, c, t, h, Q, V, fired, scan)
        if back >= 0:
            kind, which, s = CROSSES, back, 0.0
        place = first_switch(model, c, samples, t, h, Q, V, fired, s, found, scan)
        if place <= s and back < 0:
            kind, which, s = CROSSES, found[0], place
    if jammed and kind == NOTHING:
        for k in range(nc):
            if index[k] == IMPULSIVE:
                kind, which = STRIKES, k
    s = larger(s, SHORTEST)  # whatever the time of day is: a flight that is made longer ends inside of what it strikes
    if kind == STOPPED:
        stopping = stops(layout, c, s, settings[REST], 0.05, which, U, weights)
        row = layout[layout[CONTACT_ROW] + which]
        if stopping == 1 and layout[layout[CONTACT_ROW] + which + 1] - row == 3:
            # a slip in space turns the faster the nearer its stop: approach it before it is reached
            square = U[row + 1] * U[row + 1] + U[row + 2] * U[row + 2]
            far = sqrt(square) * s * h > 2.0 * settings[STRAIGHT]
            if marks[frames.WINDOW] > 0.0:
                far = square > settings[REST]
            if far:
                kind, s = NOTHING, 0.75 * s
    marks[frames.EVENT_KIND], marks[frames.WHICH], marks[frames.PLACE] = kind, which, s
    marks[frames.STOPPING] = stopping
    return 0


@unit(F(MODEL, A, F, I, A))
def lateness(model, settings, t, contact, frame):
    """Return the time in which a contact that approaches will close, with the velocity of now; -1 if it does not."""
    layout, inner = model.layout, part(settings, frame, frames.INNER)
    at = whole(settings[HOLD_AT]) + 1 + layout[SIZE]
    W, w, g = vec(inner, at, layout[NW]), part(settings, frame, frames.U_MINUS), part(settings, frame, frames.GAPS)
    q, row = part(settings, frame, frames.Q_END), layout[layout[CONTACT_ROW] + contact]
    model.gap(t, q, model.par, g)
    model.kinematics(t, q, model.par, W, w)
    fall = row_dot(layout, W, row, part(settings, frame, frames.V_END)) + w[row]
    return larger(g[contact], 0.0) / -fall if fall < 0.0 else -1.0


@unit(I(MODEL, A, F, F, A, A, A, A))
def slips(model, c, t, h, Q, V, U, work):
    """Write the row velocities of the contacts at the nodes."""
    layout = model.layout
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    W, w = vec(work, 1 + layout[SIZE], layout[NW]), vec(work, work.shape[0] - nr, nr)
    for j in range(c.shape[0]):
        model.kinematics(t + c[j] * h, vec(Q, j * nq, nq), model.par, W, w)
        for k in range(nc):
            for i in range(layout[layout[CONTACT_ROW] + k], layout[layout[CONTACT_ROW] + k + 1]):
                U[j * nr + i] = row_dot(layout, W, i, vec(V, j * nv, nv)) + w[i]
    return 0


@unit(F(MODEL, A, A, F, F, A, J))
def strayed(model, settings, c, t, h, frame, iwork):
    """Return 1 where the polynomials of the slips are not the slips themselves at places off the nodes.

    A belt may change its speed as it likes while the motion is as smooth as it can be; stops found on polynomials that
    know nothing of it would be none.
    """
    layout = model.layout
    nq, nv, nc, nr, n = layout[NQ], layout[NV], layout[NC], layout[NR], c.shape[0]
    nodes, U, inner = (
        part(settings, frame, frames.NODE_STATES),
        part(settings, frame, frames.NODE_SLIPS),
        part(settings, frame, frames.INNER),
    )
    q, v, w, weights = (
        part(settings, frame, frames.Q_SHIFTED),
        part(settings, frame, frames.V_TRY),
        part(settings, frame, frames.U_PLUS),
        vec(part(settings, frame, frames.WEIGHTS), 0, n),
    )
    W = vec(inner, whole(settings[HOLD_AT]) + 1 + layout[SIZE], layout[NW])
    allowed = slip_tolerance(layout, settings, part(settings, frame, frames.MARKS)[frames.SHARPER])
    for place in range(PLACES):
        s = (place + 1) * GOLDEN - whole((place + 1) * GOLDEN)
        lagrange_weights(c, s, weights)
        combine(weights, vec(nodes, 0, n * nq), q)
        combine(weights, vec(nodes, n * nq, n * nv), v)
        model.kinematics(t + s * h, q, model.par, W, w)
        for k in range(nc):
            if iwork[k] != SLIP:
                continue
            for i in range(layout[layout[CONTACT_ROW] + k] + 1, layout[layout[CONTACT_ROW] + k + 1]):
                slip, size = -row_dot(layout, W, i, v) - w[i], 0.0
                for j in range(n):
                    slip += weights[j] * U[j * nr + i]
                    size = larger(size, abs(U[j * nr + i]))
                if not abs(slip) <= allowed + settings[RTOL] * size:
                    return 1.0
    return 0.0
