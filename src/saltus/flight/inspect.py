"""A flight before it is handed on: places that are no nodes, at which it may still turn out to miss.

Where f is affine in the state, M constant and rows as well, nothing can hide between the nodes: what polynomials miss
is in their last coefficients, which the estimate of the error sees. This does not hold for a dense output of lower
order than the steps (rough), as that of Runge-Kutta methods, on which switches and events are found; a gap that closes
is met by the flight that is made again up to there.
Gaps that are curved or move are looked at in many places, because they cost little and a wall may be narrow; the
equations of motion in few, because every look is an evaluation of the force, and in many only where the force is wild
(layout.F_WILD). Where many nodes resolve tame forces, one flight of some is looked at.
What misses is not handed on: the flight is made again, shorter.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from saltus.compile.seam import head, larger, smaller, tail, unit, whole
from saltus.compile.types import LAYOUT, MODEL, RECORD, A, F, I
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, SCALE, promised, span_of
from saltus.flight.scan import factors_of
from saltus.lasting.hold import row_size
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import INTERVAL_TUNED, closed_gap
from saltus.memory.layout import F_STEADY, F_WILD, G_STRAIGHT, M_CONSTANT
from saltus.memory.vectors import copy, largest
from saltus.reaction.look import FOUND, look_at
from saltus.reaction.react import row_dot
from saltus.status import Status
from saltus.tables.polynomial import combine, spread
from saltus.tables.tableau import STAGE_VECTOR, TAB


class _Inspect(NamedTuple):
    """Tuned numbers of this file."""

    golden: float = 0.6180339887498949  # multiples of it lie on no nodes
    many: float = 2000.0  # places over the whole span: what lasts for a thousandth of it is met
    least_many: float = 3.0  # of them in every interval
    # the same where every look costs an evaluation of a force that is not known to be wild; at least one
    few: float = 8.0
    rough_looks: float = 2.0  # the least, where dense output is rougher than the ends of steps: one may meet a zero
    # of what the equations of motion may miss: gaps are one integration smoother than velocities
    gap_part: float = 0.05
    # of what the equations of motion may miss, where a look may meet the foot of something higher
    wild_part: float = 0.2
    # of what the equations of motion may miss: the speed at which what is held parts or penetrates
    rate_part: float = 0.2
    digits: float = 1e-12  # of the coordinates: digits that a gap always may miss
    a_little: float = 1e-4  # of a flight: time over which the rate of a gap is taken
    wrong: float = 1e-3  # of the parts of a row velocity: what it may differ by from the rate of its gap
    resolving: float = 5.0  # degree of polynomials between whose nodes tame forces hide nothing
    one_in: int = 4  # flights of such degrees that is looked at
    curable: float = 1e-12  # of time and span: a flight that misses and is shorter than this is not made again


INSPECT = _Inspect()


@unit(I(MODEL, A, F, F, FRAME.kind, RECORD))
def inspect(model, settings, t, h, frame, record):
    """Look inside of the flight of length h; write what is found into the header; return what it misses, or 0."""
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nq, nv, nc, nj, nr, flags = layout.nq, layout.nv, layout.nc, layout.nj, layout.nr, layout.features
    marks, nodes, R = frame.marks, frame.nodes, frame.node_forces
    for i in range(FOUND.all):
        record.inside[i] = 0.0
    straight = (flags & G_STRAIGHT) != 0 or nc + nj == 0  # polynomials of gaps are the gaps themselves
    held, turns = nj > 0 or marks.holding == 1.0, False
    for k in range(nc):
        # friction in space turns with its slip, however constant everything else is
        turns = turns or layout[layout.contact_row + k + 1] - layout[layout.contact_row + k] == 3
    plain = (flags & F_STEADY) != 0 and (flags & M_CONSTANT) != 0 and (not held or (straight and not turns))
    if settings.misses == 0.0 or marks.jammed_set == 1.0:
        return 0  # steps that follow no tolerance are judged afterwards; a jammed contact ends its flight at once
    share = h / span_of(settings)
    many = larger(1.0 * ceil(INSPECT.many * share), INSPECT.least_many)
    gaps, forces = 0.0 if straight else many, larger(1.0 * ceil(INSPECT.few * share), 1.0)
    if (flags & F_WILD) != 0:
        forces = many
    free = 0.0  # places at which forces of contacts and joints alone are looked at: they cost no evaluation
    if settings.rough == 1.0 and layout.ne > 0:
        forces = larger(forces, INSPECT.rough_looks)
    elif plain:
        forces = 0.0
    elif resolved(layout, settings, frame, record.header.degree) == 1:
        free, forces = forces if held else 0.0, 0.0
    n = whole(marks.nodes)
    c = head(tail(settings, whole(marks.table_at) + TAB.vectors + STAGE_VECTOR.node * n), n)
    weights, work = head(frame.weights, n), frame.inspected
    q, v, a, r = (
        head(work, nq),
        head(tail(work, nq), nv),
        head(tail(work, nq + nv), nv),
        head(tail(work, nq + 2 * nv), nr),
    )
    scale, found = head(tail(work, nq + 2 * nv + nr), nv), head(tail(work, nq + 3 * nv + nr), FOUND.all)
    at = nq + 3 * nv + nr + FOUND.all
    room = tail(work, at)
    v_0, v_end, fastest = frame.ends.v_0, frame.ends.v, frame.memory.most_speed
    for i in range(nv):
        most = larger(fastest[i], larger(abs(v_0[i]), abs(v_end[i])))
        scale[i] = promised(layout, settings, SCALE.velocity)[i] * settings.atol / settings.rtol + most
    bends, parts = held and not straight, 0.0
    first = frame.memory.numbers.flights  # so that each flight is looked at in other places
    for k in range(whole(larger(larger(gaps, free), forces))):
        s = INSPECT.golden * (first + k + 1.0)
        s -= whole(s)
        copy(factors_of(tail(settings, whole(marks.samples_at)), n), weights)
        spread(c, s, weights)
        combine(weights, head(nodes.Q, n * nq), q)
        combine(weights, head(R, n * nr), r)
        if k < forces or bends:
            combine(weights, head(nodes.V, n * nv), v)
        if bends:
            parts = larger(parts, parting(model, t + s * h, q, v, scale, frame))
        if k < forces:
            combine(weights, head(nodes.a, n * nv), a)
            record.counters.force_calls += 1
        status = look_at(model, t + s * h, q, v, a, r, h if k < forces else 0.0, 1, scale, room, found)
        if status != 0:
            return status
        for i in range(FOUND.all):
            if not found[i] <= record.inside[i]:  # what is not a number must not pass
                record.inside[i] = found[i]
    misses = settings.misses * (INSPECT.wild_part if (flags & F_WILD) != 0 else 1.0)
    if not record.inside[FOUND.defect] <= misses * settings.rtol:
        return Status.MOTION_MISSED
    if not parts <= INSPECT.rate_part * settings.misses * settings.rtol:
        return Status.GAP_MISSED
    if not record.inside[FOUND.violation] <= allowed_gap(model, settings, t, frame):
        return Status.GAP_MISSED
    if not h * record.inside[FOUND.excess] <= allowed_push(layout, settings, frame):
        return Status.LAW_MISSED
    return 0


@unit(I(LAYOUT, A, FRAME.kind, F))
def resolved(layout, settings, frame, degree):
    """Return 1 where a flight has so many nodes that tame forces and masses can hide nothing between them.

    They are polynomials of low degree in time, state and sines, whose phases turn little in one flight: what happens
    between the nodes shows in the coefficients, which the estimate of the error sees. One flight in some is looked at
    all the same.
    """
    settings = FLIGHT_SETTINGS(settings)
    tame = (layout.features & F_WILD) == 0 and settings.rough == 0.0
    looked_at = whole(frame.memory.numbers.flights) % INSPECT.one_in == 0
    return 1 if tame and degree >= INSPECT.resolving and not looked_at else 0


@unit(I(MODEL, F, F, FRAME.kind))
def wrong_rows(model, t, h, frame):
    """Return 1 where what is held moves otherwise than its rows say at the end of a flight: no shorter one cures it.

    The rows of a contact may be given (W): where they are not the gradient of its gap, flights leave it by as much as
    they are long, and would be made shorter without end.
    """
    layout, ends = model.layout, frame.ends
    nq, nc, nr, W, w = layout.nq, layout.nc, layout.nr, frame.interval.lasting.W, frame.ends.u_minus
    size, before, shifted, q = nc + layout.nj, head(frame.scan, nc + layout.nj), frame.q_shifted, ends.q
    little = INSPECT.a_little * h
    # over both sides: where a row velocity passes zero its change counts more than itself
    for side in range(2):
        ahead = (side - 0.5) * little
        model.rate(q, ends.v, model.par, shifted)
        for i in range(nq):
            shifted[i] = q[i] + ahead * shifted[i]
        model.gap(t + h + ahead, shifted, model.par, before if side == 0 else ends.g)
    model.kinematics(t + h, q, model.par, W, w)
    for j in range(size):
        row = nr - size + j
        if j < nc:
            row = layout[layout.contact_row + j]
            if ends.index[j] != INDEX.slip and ends.index[j] != INDEX.stick:
                continue
        rate = row_dot(layout, W, row, ends.v) + w[row]
        parts = row_size(layout, W, row, ends.v) + abs(w[row])
        rounding = INTERVAL_TUNED.gap_rounding * (1.0 + largest(q)) / little
        if abs((ends.g[j] - before[j]) / little - rate) > INSPECT.wrong * parts + rounding:
            return 1
    return 0


@unit(F(MODEL, F, A, A, A, FRAME.kind))
def parting(model, t, q, v, scale, frame):
    """Return the largest rate of a gap that is held closed, relative to the scales of its velocities.

    A bump may be lower than what gaps may miss and steep enough to throw off what rides over it.
    """
    layout = model.layout
    nc, nr = layout.nc, layout.nr
    W, w, worst = frame.interval.lasting.W, frame.ends.u_minus, 0.0
    model.kinematics(t, q, model.par, W, w)
    for j in range(nc + layout.nj):
        row = nr - layout.nj + j - nc
        if j < nc:
            row = layout[layout.contact_row + j]
            if frame.ends.index[j] != INDEX.slip and frame.ends.index[j] != INDEX.stick:
                continue
        rate, size = w[row], 0.0
        for k in range(layout[layout.W_ptr + row], layout[layout.W_ptr + row + 1]):
            i = layout[layout.W_col + k]
            rate += W[k] * v[i]
            size += abs(W[k]) * scale[i]
        if not abs(rate) <= worst * size:  # what is not a number must not pass
            worst = abs(rate) / larger(size, 1e-300)
    return worst


@unit(F(MODEL, A, F, FRAME.kind))
def allowed_gap(model, settings, t, frame):
    """Return the depth that is allowed inside of a flight [m]: a share of the promise, beside that of its beginning."""
    settings = FLIGHT_SETTINGS(settings)
    layout = model.layout
    nq, nc, nj = layout.nq, layout.nc, layout.nj
    q, g = frame.ends.q_0, frame.ends.g
    length, scale, deepest = 0.0, 0.0, 0.0
    for i in range(nq):
        length = larger(length, abs(q[i]))
        scale = larger(scale, promised(layout, settings, SCALE.position)[i])
    model.gap(t, q, model.par, g)
    for j in range(nc + nj):
        # a shorter flight does not undo what has gone wrong before it
        deepest = larger(deepest, -g[j] if j < nc else abs(g[j]))
    allowed = INSPECT.gap_part * settings.misses * (settings.atol * scale + settings.rtol * length)
    return deepest + closed_gap(settings, q) + INSPECT.digits * length + allowed


@unit(F(LAYOUT, A, FRAME.kind))
def allowed_push(layout, settings, frame):
    """Return the impulse [N s] that forces outside of their laws may have: a share of the promise of impulses."""
    settings = FLIGHT_SETTINGS(settings)
    scale, most = promised(layout, settings, SCALE.push), frame.memory.most_pushed
    least, most_pushed = 1e300, 0.0
    for i in range(layout.nr):
        least, most_pushed = smaller(least, scale[i]), larger(most_pushed, most[i])
    return settings.misses * (settings.atol * least + settings.rtol * most_pushed)
