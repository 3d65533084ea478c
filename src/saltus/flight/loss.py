"""Where forces that are not unique reach the end of what the laws admit, and what happens to their contacts there.

As long as there is one split of the forces that the laws admit, redundant contacts stay as they are, whatever a single
split says. The margin of lasting/split.py tells: it is followed along a flight, and where it becomes negative the
flight ends. There the law is solved a little later, when it is clear which contacts have let go and which slip.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import head, larger, smaller, unit
from saltus.compile.types import MODEL, RECORD, STAGED, A, F, I, J
from saltus.flight.frame import FRAME, span_of
from saltus.lasting.hold import REPORTED, accelerate
from saltus.lasting.index_set import INDEX, ROLE, decide
from saltus.lasting.interval import STAGE_SETTINGS
from saltus.lasting.settle import CHANGE
from saltus.lasting.split import SPLIT_TUNED
from saltus.memory.vectors import copy
from saltus.status import Status
from saltus.tables.polynomial import NONE, combine, lagrange_weights


class _Loss(NamedTuple):
    """Tuned numbers of this file."""

    clear: float = 1e-2  # of the forces before reactions: polynomials of forces with more to spare need no closer look
    admitted: float = 1e-9  # of the same: what polynomials may lack before they count as unresolved
    beyond: float = 1e-6  # of the forces before reactions: how far beyond the last admitted ones the law is asked
    most_ahead: float = 0.5  # of the way to the place where the loss was seen
    far: float = 1e-6  # of the span: so far ahead the law may always be asked, however short the flight is
    farther: float = 10.0  # from one time at which the law is asked to the next, while it still holds what is lost
    refinements: int = 60  # of its place
    # towards the lowest place between two samples
    golden_sections: int = 30
    golden: float = 0.6180339887498949
    narrow: float = 1e-14  # of the flight: width of the place at the end
    # of the forces before reactions: a margin so small, and falling, is none. What is admitted is so thin then that
    # rounding chooses the split, and no flight resolves it however short it is
    spent: float = 1e-7
    nothing: float = 1e-9  # of the largest load of a flight: what is none
    beside: float = 1e-3  # of the rest of a flight: where it is asked whether anything holds behind such a corner
    samples: int = 5  # places at which the load is asked for first
    near_nothing: float = 0.3  # of the largest of these: what the least one is below where the load vanishes somewhere
    behind: float = 1e-9  # of a flight: a corner so near its beginning is the one that it begins at


LOSS = _Loss()


@unit(F(MODEL, J, A, A, I))
def spare(model, index, R, weights, contact):
    """Return by how much the normal force of a contact may fall, by polynomials of the forces [N].

    Friction of a contact that slips lies on its cone and follows the normal force.
    """
    layout = model.layout
    row, end, nr = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1], layout.nr
    mu = model.mu[contact]
    normal, square = 0.0, 0.0
    for i in range(row, end):
        force = 0.0
        for k in range(weights.shape[0]):
            force += weights[k] * R[k * nr + i]
        normal = force if i == row else normal
        square += force * force if i > row else 0.0
    return normal - sqrt(square) / mu if index[contact] == INDEX.stick and mu > 0.0 else normal


@unit(F(MODEL, A, A, F, F, F, FRAME.kind, RECORD))
def margin_at(model, settings, c, t, h, s, frame, record):
    """Return the margin of the forces at a place of a flight, over the forces before reactions."""
    layout = model.layout
    nq, nv, n = layout.nq, layout.nv, c.shape[0]
    nodes, weights = frame.nodes, head(frame.weights, n)
    q, v, probe, powers = frame.q_shifted, frame.v_try, frame.probe, frame.probe.powers
    lagrange_weights(c, s, weights)
    combine(weights, head(nodes.Q, n * nq), q)
    combine(weights, head(nodes.V, n * nv), v)
    status = accelerate(
        model, t + s * h, q, v, frame.ends.index, frame.memory.acting.direction, probe.a, probe.r, probe.u, powers,
        frame.interval.lasting, record,
    )  # fmt: skip
    return powers[REPORTED.margin] / larger(powers[REPORTED.load], 1e-300) if status == 0 else -1.0


@unit(F(MODEL, J, A, A, F, A, J, J))
def least_spare(model, index, c, R, s, weights, shared, found):
    """Return the least of what contacts with shared forces can spare at a place, by polynomials; found[0]: which."""
    lagrange_weights(c, s, weights)
    least = 1e300
    for k in range(model.layout.nc):
        if shared[k] == 1:
            room = spare(model, index, R, weights, k)
            if room < least:
                least, found[0] = room, k
    return least


@unit(F(MODEL, A, A, F, F, F, FRAME.kind, RECORD))
def first_loss(model, settings, c, t, h, before, frame, record):
    """Return the place up to `before` at which the last admitted split is lost, or NONE; write found[0] and AHEAD.

    Polynomials of the forces tell where to look: at places with little to spare, and between samples where they have
    less than at both. There the margin itself is asked for; polynomials that have left the laws although forces that
    keep them exist are UNRESOLVED.
    """
    layout = model.layout
    nc, n = layout.nc, c.shape[0]
    R, weights = frame.node_forces, head(frame.weights, n)
    marks, index = frame.marks, frame.ends.index
    shared, found = frame.ahead, frame.found
    now = frame.interval.lasting.shared
    load = frame.memory.acting.powers[REPORTED.load]
    clear, unresolved = LOSS.clear * load, (LOSS.admitted + SPLIT_TUNED.relaxed) * load
    for k in range(nc):
        shared[k] = now[k]  # `margin_at` writes anew
    earlier, early_room, low, low_room, worst, strayed = 0.0, 0.0, 0.0, 0.0, 0.0, marks.unresolved
    for sample in range(2 * (n - 1) + 1):
        # the beginning, then halfway between two nodes and the nodes themselves
        node = (sample + 1) // 2
        s = smaller(c[node] if sample % 2 == 0 else 0.5 * (c[node - 1] + c[node]), before)
        room = least_spare(model, index, c, R, s, weights, shared, found)
        if room <= clear and margin_at(model, settings, c, t, h, s, frame, record) < 0.0:
            return place_of_loss(model, settings, c, t, h, low, s, frame, record)
        if room < -unresolved:
            marks.unresolved, worst = 1.0, smaller(worst, room)
        bend = larger(early_room, room) - low_room
        if sample > 1 and low_room < early_room and low_room <= room and low_room - bend <= clear:
            left, right = earlier, s
            for _ in range(LOSS.golden_sections):
                first, second = right - LOSS.golden * (right - left), left + LOSS.golden * (right - left)
                ahead = least_spare(model, index, c, R, first, weights, shared, found)
                if ahead < least_spare(model, index, c, R, second, weights, shared, found):
                    right = second
                else:
                    left = first
            middle = 0.5 * (left + right)
            if least_spare(model, index, c, R, middle, weights, shared, found) <= clear:
                if margin_at(model, settings, c, t, h, middle, frame, record) < 0.0:
                    return place_of_loss(model, settings, c, t, h, earlier, middle, frame, record)
            ahead = least_spare(model, index, c, R, middle, weights, shared, found)
            if ahead < -unresolved:
                marks.unresolved, worst = 1.0, smaller(worst, ahead)
        if s >= before:
            break
        earlier, early_room, low, low_room = low, low_room, s, room
    if marks.unresolved == 1.0 and strayed == 0.0:
        # forces that begin or end at nothing, and those of friction alone, are measured by what they are elsewhere
        most = larger(
            load_at(model, settings, c, t, h, 0.0, frame, record), load_at(model, settings, c, t, h, 1.0, frame, record)
        )
        marks.unresolved = 1.0 if worst < -(LOSS.admitted + SPLIT_TUNED.relaxed) * most else 0.0
    if marks.unresolved == 1.0 and spent(model, settings, c, t, h, frame, record) == 1:
        marks.unresolved = 0.0
        return 0.0
    return NONE


@unit(F(MODEL, A, A, F, F, F, FRAME.kind, RECORD))
def unloaded(model, settings, c, t, h, before, frame, record):
    """Return the place inside of a flight at which nothing is left to be carried, or NONE.

    What holds by grip is pulled where it was pressed: all forces vanish there, and go on in another split. No
    polynomial goes through such a corner, however short the flight is.
    """
    left, right, most, least = 0.0, before, 0.0, 1e300
    for sample in range(LOSS.samples):
        load = load_at(model, settings, c, t, h, before * sample / (LOSS.samples - 1.0), frame, record)
        most, least = larger(most, load), smaller(least, load)
    if least > LOSS.near_nothing * most:
        return NONE  # a corner shows from afar
    inner, outer = right - LOSS.golden * (right - left), left + LOSS.golden * (right - left)
    at_inner = load_at(model, settings, c, t, h, inner, frame, record)
    at_outer = load_at(model, settings, c, t, h, outer, frame, record)
    while right - left > LOSS.narrow:
        if at_inner < at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - LOSS.golden * (right - left)
            at_inner = load_at(model, settings, c, t, h, inner, frame, record)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + LOSS.golden * (right - left)
            at_outer = load_at(model, settings, c, t, h, outer, frame, record)
    if not smaller(at_inner, at_outer) <= LOSS.nothing * most or not LOSS.behind < left or not right < before:
        return NONE
    if margin_at(model, settings, c, t, h, right + LOSS.beside * (before - right), frame, record) < 0.0:
        return NONE  # a body that is lifted off: nothing holds it any more
    return 0.5 * (left + right)


@unit(F(MODEL, A, A, F, F, F, FRAME.kind, RECORD), small=True)
def load_at(model, settings, c, t, h, s, frame, record):
    """Return the size of the forces that are asked for at a place of a flight, friction included [N]."""
    margin_at(model, settings, c, t, h, s, frame, record)
    return larger(frame.probe.powers[REPORTED.load], frame.interval.lasting.split.sizes.load)


@unit(I(MODEL, A, A, F, F, FRAME.kind, RECORD))
def spent(model, settings, c, t, h, frame, record):
    """Return 1 where next to nothing is left of the margin and it falls; write how far AHEAD the law is clear."""
    marks = frame.marks
    now = margin_at(model, settings, c, t, h, 0.0, frame, record)
    later = margin_at(model, settings, c, t, h, 1.0, frame, record)
    if not (now < LOSS.spent and later < now):
        return 0
    marks.ahead = (now + LOSS.beyond) / (now - later) * h
    marks.farthest_ahead = LOSS.far * span_of(settings)
    return 1 if marks.ahead <= marks.farthest_ahead else 0


@unit(F(MODEL, A, A, F, F, F, F, FRAME.kind, RECORD))
def place_of_loss(model, settings, c, t, h, low, high, frame, record):
    """Return the place between low and high at which the margin vanishes; write how far AHEAD the law is clear."""
    marks = frame.marks
    below = margin_at(model, settings, c, t, h, low, frame, record)
    above = margin_at(model, settings, c, t, h, high, frame, record)
    if not below >= 0.0:  # it is lost where the flight begins
        marks.ahead = LOSS.most_ahead * larger(high - low, c[1] - c[0]) * h
        marks.farthest_ahead = larger(marks.ahead, LOSS.far * span_of(settings))
        return low
    seen, depth, side = high, -above, 0
    for k in range(LOSS.refinements):
        if high - low <= LOSS.narrow:
            break
        s = 0.5 * (low + high)
        if k % 3 != 2 and below > above:
            s = high - above * (high - low) / (above - below)
            s = larger(low + 0.1 * LOSS.narrow, smaller(high - 0.1 * LOSS.narrow, s))
        if not low < s < high:
            break
        margin = margin_at(model, settings, c, t, h, s, frame, record)
        # Illinois: the end that stays twice counts half
        if margin >= 0.0:
            above = 0.5 * above if side == 1 else above
            low, below, side = s, margin, 1
        else:
            below = 0.5 * below if side == -1 else below
            high, above, side = s, margin, -1
    way = larger(seen - high, LOSS.narrow)
    marks.ahead = smaller(LOSS.beyond / larger(depth, 1e-300), LOSS.most_ahead) * way * h
    marks.farthest_ahead = larger(LOSS.most_ahead * way * h, LOSS.far * span_of(settings))
    return high


@unit(I(MODEL, STAGED, A, F, FRAME.kind, RECORD))
def look_ahead(model, staged, settings, t, frame, record):
    """Decide the index set of the held contacts as it is a short time later, when it is clear what has let go.

    At the very end of what the laws admit their solution is a border case of several index sets. Where a body is lifted
    off, the forces before reactions vanish there too, and what is clear later is rounding for some time: as long as
    nothing has changed the law is asked again farther ahead.
    """
    settings = STAGE_SETTINGS(settings)
    layout, marks = model.layout, frame.marks
    nc = layout.nc
    q, v, probe = frame.q_shifted, frame.v_try, frame.probe
    index, before, held, candidate = frame.ends.index, frame.ends.before, frame.ahead, frame.ends.candidate
    time, status, same = marks.ahead, 0, True
    while same:
        go_ahead(model, settings, time, frame)
        for k in range(nc):
            held[k] = ROLE.candidate if before[k] == INDEX.slip or before[k] == INDEX.stick else 0
        copy(frame.memory.acting.direction, probe.direction)
        status = decide(
            model, staged.reaction, t + time, q, v, held, settings.rest, index, probe, frame.ends.info,
            frame.interval.lasting, record,
        )  # fmt: skip
        copy(probe.direction, frame.memory.acting.direction)
        same = status == 0 and time < marks.farthest_ahead
        for k in range(nc):
            same = same and index[k] == before[k]
        time = smaller(LOSS.farther * time, marks.farthest_ahead)
    if status == Status.CONTACT_STALLED or status == Status.CONTACT_UNSOLVABLE:
        for k in range(nc):
            index[k] = before[k]
        return 0
    for k in range(nc):
        candidate[k] = CHANGE.decided if held[k] != 0 else candidate[k]
    return status


@unit(I(MODEL, A, F, FRAME.kind))
def go_ahead(model, settings, time, frame):
    """Write the state a short time behind the end of a flight, with its acceleration."""
    layout = model.layout
    q, v, q_ahead, v_ahead = frame.ends.q, frame.ends.v, frame.q_shifted, frame.v_try
    a, mean = frame.a_last, frame.moved
    for i in range(layout.nv):
        mean[i], v_ahead[i] = v[i] + 0.5 * time * a[i], v[i] + time * a[i]
    model.rate(q, mean, model.par, q_ahead)
    for i in range(layout.nq):
        q_ahead[i] = q[i] + time * q_ahead[i]
    model.retract(q_ahead, model.par)
    return 0
