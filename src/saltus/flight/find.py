"""The first event of a flight: a closing, a transition of a held contact, an event of the user, by its polynomials."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import head, larger, row_of, tail, unit, whole
from saltus.compile.types import MODEL, PART, RECORD, A, F, I, J
from saltus.flight.frame import FLIGHT_END, FLIGHT_MARKS, FLIGHT_SETTINGS, FRAME, left_of_slip, slip_tolerance
from saltus.flight.loss import first_loss, unloaded
from saltus.flight.prove import first_hidden
from saltus.flight.scan import SCAN, first_closing, first_return, first_switch
from saltus.lasting.hold import REPORTED
from saltus.lasting.index_set import INDEX, WAY
from saltus.lasting.interval import closed_gap
from saltus.lasting.transition import TRANSITION, stops, transition
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import W_CONSTANT
from saltus.memory.vectors import largest
from saltus.reaction.react import row_dot
from saltus.tables.polynomial import NONE, combine, lagrange_weights
from saltus.tables.tableau import STAGE_VECTOR, TAB


class _Find(NamedTuple):
    """Tuned numbers of this file."""

    places: int = 5  # off the nodes, at which slips are looked at
    golden: float = 0.6180339887498949  # multiples of it lie on no nodes
    shortest: float = 1e-15  # of a flight: an event cannot lie at its very beginning


FIND = _Find()


@unit(PART)
def find(model, staged, settings, task, t, h, frame_room, record):
    """Write kind, contact or event, and place of the first event into the marks."""
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    layout, marks, index = model.layout, frame.marks, frame.ends.index
    nc, jammed = layout.nc, frame.marks.jammed_set == 1.0
    marks.unresolved, marks.stopping = 0.0, 0.0
    marks.event_kind, marks.which, marks.place = FLIGHT_END.nothing, -1.0, 1.0
    if nc > 0 and not jammed:
        find_closing(model, settings, t, h, frame)
    if marks.holding == 1.0 and nc > 0:
        find_transition(model, settings, t, h, frame, record)
    if marks.event_kind == FLIGHT_END.nothing and marks.foreseen >= 0.0 and marks.place == 1.0:
        # a closing that was foreseen for the end may come a little later
        late = lateness(model, settings, t + h, whole(marks.foreseen), frame)
        if late >= 0.0 and late < 0.1 * h and h + late <= marks.allowed:
            happens(FLIGHT_END.strikes, whole(marks.foreseen), 1.0 + late / h, marks)
    if layout.ne > 0:
        find_switch(model, settings, t, h, frame)
    if jammed and marks.event_kind == FLIGHT_END.nothing:
        for k in range(nc):
            if index[k] == INDEX.impulsive:
                marks.event_kind, marks.which = FLIGHT_END.strikes, k
    # whatever the time of day is: a flight that is made longer ends inside of what it strikes
    marks.place = larger(marks.place, FIND.shortest)
    if marks.event_kind == TRANSITION.stopped:
        approach_stop(model, settings, h, frame)
    return 0


@unit(I(I, I, F, FLIGHT_MARKS.kind), small=True)
def happens(kind, which, place, marks):
    """Write that this is the first event so far."""
    marks.event_kind, marks.which, marks.place = kind, which, place
    return 0


@unit(I(MODEL, A, F, F, FRAME.kind))
def find_closing(model, settings, t, h, frame):
    """Find the first contact that closes on the polynomials, and between their samples."""
    layout, marks, nodes, index, found, n = (
        model.layout, frame.marks, frame.nodes, frame.ends.index, frame.found, whole(frame.marks.nodes)
    )  # fmt: skip
    Q, V = head(nodes.Q, n * layout.nq), head(nodes.V, n * layout.nv)
    c = head(tail(settings, whole(marks.table_at) + TAB.vectors + STAGE_VECTOR.node * n), n)
    samples = head(tail(settings, whole(marks.samples_at)), (SCAN.samples + 2) * n)
    slack = closed_gap(settings, head(nodes.Q, layout.nq)) + deepest_start(model, t, index, frame)
    place = first_closing(model, c, samples, t, h, Q, V, index, slack, found, frame.scan)
    if place < NONE:
        happens(FLIGHT_END.strikes, found[0], place, marks)
    place = first_hidden(model, settings, t, h, marks.place, index, slack, found, frame)
    if place < marks.place:
        happens(FLIGHT_END.strikes, found[0], place, marks)
    return 0


@unit(I(MODEL, A, F, F, FRAME.kind, RECORD))
def find_transition(model, settings, t, h, frame, record):
    """Find the first release, stop or break of a held contact, or the loss of forces that are not unique."""
    layout, marks, nodes, found, room = model.layout, frame.marks, frame.nodes, frame.found, frame.interval.lasting
    n, acting, R, U, shared = whole(marks.nodes), frame.memory.acting, frame.node_forces, frame.node_slips, room.shared
    Q, V = head(nodes.Q, n * layout.nq), head(nodes.V, n * layout.nv)
    c = head(tail(settings, whole(marks.table_at) + TAB.vectors + STAGE_VECTOR.node * n), n)
    slips(model, c, t, h, Q, V, U, room)
    if (layout.features & W_CONSTANT) == 0 and marks.window == 0.0:
        marks.unresolved = strayed(model, settings, c, t, h, frame)
    place = transition(
        model, c, frame.ends.index, acting.direction, R, U, largest(V), acting.powers[REPORTED.load], shared, found,
        frame.weights,
    )  # fmt: skip
    if place < marks.place:
        happens(found[1], found[0], place, marks)
    anyone = False
    for k in range(layout.nc):
        anyone = anyone or shared[k] == 1
    if anyone:
        place = first_loss(model, settings, c, t, h, marks.place, frame, record)
        if place < marks.place:
            happens(TRANSITION.lost, found[0], place, marks)
        elif marks.unresolved == 1.0:
            place = unloaded(model, settings, c, t, h, marks.place, frame, record)
            if place < marks.place:
                happens(FLIGHT_END.nothing, -1, place, marks)  # the flight ends there; what is held stays so
                marks.unresolved = 0.0
    return 0


@unit(I(MODEL, A, F, F, FRAME.kind))
def find_switch(model, settings, t, h, frame):
    """Find the first event of the user, or switching function, that crosses zero up to the first event so far."""
    layout, marks, nodes, n = model.layout, frame.marks, frame.nodes, whole(frame.marks.nodes)
    Q, V, fired = head(nodes.Q, n * layout.nq), head(nodes.V, n * layout.nv), frame.memory.fired
    c = head(tail(settings, whole(marks.table_at) + TAB.vectors + STAGE_VECTOR.node * n), n)
    samples = head(tail(settings, whole(marks.samples_at)), (SCAN.samples + 2) * n)
    back = first_return(model, c, t, h, Q, V, fired, frame.scan)
    if back >= 0:
        happens(FLIGHT_END.crosses, back, 0.0, marks)
    place = first_switch(model, c, samples, t, h, Q, V, fired, marks.place, frame.found, frame.scan)
    if place <= marks.place and back < 0:
        happens(FLIGHT_END.crosses, frame.found[0], place, marks)
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def approach_stop(model, settings, h, frame):
    """Say whether a slip that stops does so; one in space is approached before that, where it turns ever faster."""
    settings = FLIGHT_SETTINGS(settings)
    layout, marks, U, n = model.layout, frame.marks, frame.node_slips, whole(frame.marks.nodes)
    c, which, s = (
        head(tail(settings, whole(marks.table_at) + TAB.vectors + STAGE_VECTOR.node * n), n),
        whole(marks.which),
        marks.place,
    )
    rest = settings.rest
    if frame.memory.acting.direction[2 * layout.nc + which] == WAY.braking:
        rest = larger(rest, left_of_slip(layout, settings))  # it was led to its end: what is left aside counts as none
    stopping = stops(layout, c, s, rest, 0.05, which, U, frame.weights)
    marks.stopping = stopping
    row = layout[layout.contact_row + which]
    if stopping == 1 and layout[layout.contact_row + which + 1] - row == 3:
        square = U[row + 1] * U[row + 1] + U[row + 2] * U[row + 2]
        far = sqrt(square) * s * h > 2.0 * settings.straight
        if marks.window > 0.0:
            far = square > settings.rest
        if far:
            marks.event_kind, marks.place = FLIGHT_END.nothing, 0.75 * s
    return 0


@unit(F(MODEL, F, J, FRAME.kind))
def deepest_start(model, t, index, frame):
    """Return how deep the open contacts of a flight lie where it begins: no event is needed for being there already.

    A projection leaves gaps a little deeper than what counts as closed where coordinates are large.
    """
    g, depth = frame.ends.g, 0.0
    model.gap(t, frame.ends.q_0, model.par, g)
    for k in range(model.layout.nc):
        if index[k] != INDEX.slip and index[k] != INDEX.stick:
            depth = larger(depth, -g[k])
    return depth


@unit(F(MODEL, A, F, I, FRAME.kind))
def lateness(model, settings, t, contact, frame):
    """Return the time in which a contact that approaches will close, with the velocity of now; -1 if it does not."""
    layout = model.layout
    W, w, g = frame.interval.lasting.W, frame.ends.u_minus, frame.ends.g
    q, row = frame.ends.q, layout[layout.contact_row + contact]
    model.gap(t, q, model.par, g)
    model.kinematics(t, q, model.par, W, w)
    fall = row_dot(layout, W, row, frame.ends.v) + w[row]
    return larger(g[contact], 0.0) / -fall if fall < 0.0 else -1.0


@unit(I(MODEL, A, F, F, A, A, A, LASTING.kind))
def slips(model, c, t, h, Q, V, U, room):
    """Write the row velocities of the contacts at the nodes."""
    layout = model.layout
    nq, nv, nc, nr = layout.nq, layout.nv, layout.nc, layout.nr
    W, w = room.W, room.b  # w itself belongs to another state
    for j in range(c.shape[0]):
        model.kinematics(t + c[j] * h, row_of(Q, j, nq), model.par, W, w)
        for k in range(nc):
            for i in range(layout[layout.contact_row + k], layout[layout.contact_row + k + 1]):
                U[j * nr + i] = row_dot(layout, W, i, row_of(V, j, nv)) + w[i]
    return 0


@unit(F(MODEL, A, A, F, F, FRAME.kind))
def strayed(model, settings, c, t, h, frame):
    """Return 1 where the polynomials of the slips are not the slips themselves at places off the nodes.

    A belt may change its speed as it likes while the motion is as smooth as it can be; stops found on polynomials that
    know nothing of it would be none.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nq, nv, nc, nr, n = layout.nq, layout.nv, layout.nc, layout.nr, c.shape[0]
    nodes, U = frame.nodes, frame.node_slips
    q, v, w, weights = frame.q_shifted, frame.v_try, frame.ends.u_plus, head(frame.weights, n)
    W = frame.interval.lasting.W
    allowed = slip_tolerance(layout, settings, frame.marks.sharper)
    for place in range(FIND.places):
        s = (place + 1) * FIND.golden - whole((place + 1) * FIND.golden)
        lagrange_weights(c, s, weights)
        combine(weights, head(nodes.Q, n * nq), q)
        combine(weights, head(nodes.V, n * nv), v)
        model.kinematics(t + s * h, q, model.par, W, w)
        for k in range(nc):
            if frame.ends.index[k] != INDEX.slip:
                continue
            for i in range(layout[layout.contact_row + k] + 1, layout[layout.contact_row + k + 1]):
                slip, size = -row_dot(layout, W, i, v) - w[i], 0.0
                for j in range(n):
                    slip += weights[j] * U[j * nr + i]
                    size = larger(size, abs(U[j * nr + i]))
                if not abs(slip) <= allowed + settings.rtol * size:
                    return 1.0
    return 0.0
