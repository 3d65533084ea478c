"""Scanning the dense output of a step for the first time at which something happens.

Dense output is positions and velocities at the nodes of a step, polynomials between them. Gaps are sampled together
with their rates; the cubic through two samples tells where a gap may dip below zero between them, and there it is
looked at closely. A gap that begins at zero (a contact that was just left) is followed towards the beginning by
halving. Event functions have no rates: differences of their samples serve instead.

A gap may be a fast function of a slow motion, too fast for the samples. Two signs show it: change and rates of a piece
contradict each other, or a value off the samples is not on the cubic. The scan then asks every sample for its rate, and
halves every piece in which the function could reach zero at twice the largest rate until cubics describe it, up to
DEPTH times. What is still unresolved then is judged by the samples of the finest pieces.
"""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import head, interpreted, larger, row_of, smaller, tail, unit
from saltus.compile.types import MODEL, A, F, I, J
from saltus.lasting.index_set import SLIP, STICK
from saltus.memory.layout import CONTACT_ROW, EVENT_TABLE, FLAGS, NC, NE, NJ, NQ, NR, NS, NV, NW, W_CONSTANT
from saltus.reaction.react import row_dot
from saltus.tables.polynomial import NONE, combine, node_factors, spread

SAMPLES = 16  # per step; its polynomials have degree 7 or so
DEPTH = 12  # halvings of a piece between two samples
NARROWEST = 0.75 / (SAMPLES * 2.0 ** (DEPTH - 1))  # pieces below this width are not split
HALVINGS = 50  # towards the beginning of a flight
NARROW = 5e-16  # width of a bracket at the end
REFINEMENTS = 160  # of a bracket, Illinois with bisection: far more than it takes
OFF = 0.3819660112501051  # where a piece between samples is probed and first split: no period fits both parts
LITTLE = 1e-6 / SAMPLES  # distance for the rate of an event function, and behind an event that has just happened
# shares of the change over a piece, by its rates: of the contradiction between change and rates, of the distance of a
# further value and of a further rate from the cubic; what is larger is not resolved
CONTRADICTION, DISTANCE, DEVIATION = 0.2, 0.02, 0.1
NEAR = 8.0  # contradictions by which a gap may be wrong
FASTER = 2.0  # the largest rate over the largest of the samples
RATE, EVENT, EVENT_RATE = 1, 2, 3  # kinds of watched functions, beside the gap
CLEAR, DIP, SPLIT = 0, 1, 2  # what a piece may hide: nothing, one lowest place below zero, more
# five-point differences, for a rate at each of the five
DIFFERENCES = (
    -25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -0.25,
    -0.25, -5.0 / 6.0, 1.5, -0.5, 1.0 / 12.0,
    1.0 / 12.0, -2.0 / 3.0, 0.0, 2.0 / 3.0, -1.0 / 12.0,
    -1.0 / 12.0, 0.5, -1.5, 5.0 / 6.0, 0.25,
    0.25, -4.0 / 3.0, 3.0, -4.0, 25.0 / 12.0,
)  # fmt: skip


def scan_work(layout, n: int) -> int:
    """Return the floats that the scanners need for n nodes."""
    nq, nv, nc, nj, nr, ne = (int(layout[k]) for k in (NQ, NV, NC, NJ, NR, NE))
    # evaluation; then per watched function its largest rate, and value and rate at the left end, samples and stack
    return 2 * n + nq + nv + nc + nj + int(layout[NW]) + nr + 2 * ne + interpreted(stack_at)(max(nc, ne), DEPTH + 2)


@unit(I(I, I), small=True)
def stack_at(m, top):
    """Return where an entry of the stack begins: place, whether its piece is resolved, m values, m rates."""
    return m * (2 * SAMPLES + 5) + top * (2 + 2 * m)


@unit(I(A, F, A))
def weigh(c, s, work):
    """Write the Lagrange polynomials at s behind the factors of the nodes, which are made once per scan."""
    n = c.shape[0]
    factors, weights = head(work, n), head(tail(work, n), n)
    if factors[0] == 0.0:
        node_factors(c, factors)
    for k in range(n):
        weights[k] = factors[k]
    return spread(c, s, weights)


@unit(F(MODEL, A, F, F, F, A, A, I, I, A))
def watched_at(model, c, t, h, s, Q, V, which, kind, work):
    """Return a gap (kind 0), its rate [1/s] (RATE), an event function (EVENT) or its rate (EVENT_RATE) at a place s."""
    layout = model.layout
    nq, nv, nc, nj, nr, n = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR], c.shape[0]
    weights, q, v = head(tail(work, n), n), head(tail(work, 2 * n), nq), head(tail(work, 2 * n + nq), nv)
    at = 2 * n + nq + nv
    if kind == EVENT_RATE:
        ahead = LITTLE if s < 0.5 else -LITTLE
        value = watched_at_plain(model, c, t, h, s + ahead, Q, V, which, work)
        return (value - watched_at_plain(model, c, t, h, s, Q, V, which, work)) / (ahead * h)
    if kind == EVENT:
        return watched_at_plain(model, c, t, h, s, Q, V, which, work)
    weigh(c, s, work)
    combine(weights, Q, q)
    if kind == 0:
        g = head(tail(work, at), nc + nj)
        model.gap(t + s * h, q, model.par, g)
        return g[which]
    combine(weights, V, v)
    W, w = head(tail(work, at + nc + nj), layout[NW]), head(tail(work, at + nc + nj + layout[NW]), nr)
    model.kinematics(t + s * h, q, model.par, W, w)
    row = layout[layout[CONTACT_ROW] + which]
    return row_dot(layout, W, row, v) + w[row]


@unit(F(MODEL, A, F, F, F, A, A, I, A))
def watched_at_plain(model, c, t, h, s, Q, V, which, work):
    """Return a user's event function at the place s."""
    values = event_values(model, work, c.shape[0])
    weigh(c, s, work)
    switch_values(model, head(tail(work, c.shape[0]), c.shape[0]), t + s * h, Q, V, values, work)
    return values[which]


@unit(A(MODEL, A, I), small=True)
def event_values(model, work, n):
    """Return where event functions are evaluated."""
    layout = model.layout
    at = 2 * n + layout[NQ] + layout[NV] + layout[NC] + layout[NJ] + layout[NW] + layout[NR]
    return head(tail(work, at), layout[NE])


@unit(I(MODEL, A, F, A, A, A, A))
def switch_values(model, weights, t, Q, V, values, work):
    """Write all event functions at the place of the weights."""
    layout, n = model.layout, weights.shape[0]
    q, v = head(tail(work, 2 * n), layout[NQ]), head(tail(work, 2 * n + layout[NQ]), layout[NV])
    combine(weights, Q, q)
    combine(weights, V, v)
    return model.switch(t, q, v, model.par, values)


@unit(I(MODEL, A, F, A, A, I, A, A))
def gaps_and_rates(model, weights, t, Q, V, known, entry, work):
    """Write all gaps, then their rates, at the place of the weights; known: 1 where W is the one of the last call."""
    layout, n = model.layout, weights.shape[0]
    nq, nv, nc, nj = layout[NQ], layout[NV], layout[NC], layout[NJ]
    q, v = head(tail(work, 2 * n), nq), head(tail(work, 2 * n + nq), nv)
    at = 2 * n + nq + nv
    g, W = head(tail(work, at), nc + nj), head(tail(work, at + nc + nj), layout[NW])
    w = head(tail(work, at + nc + nj + layout[NW]), layout[NR])
    combine(weights, Q, q)
    combine(weights, V, v)
    model.gap(t, q, model.par, g)
    if known == 0:
        model.kinematics(t, q, model.par, W, w)
    for k in range(nc):
        row = layout[layout[CONTACT_ROW] + k]
        entry[k] = g[k]
        entry[nc + k] = row_dot(layout, W, row, v) + w[row]
    return 0


@unit(I(MODEL, A, F, F, F, A, A, A, A))
def events_and_rates(model, c, t, h, s, Q, V, entry, work):
    """Write all event functions and their rates at a place s."""
    ne, n = model.layout[NE], c.shape[0]
    values, ahead = event_values(model, work, n), LITTLE if s < 0.5 else -LITTLE
    weights = head(tail(work, n), n)
    weigh(c, s + ahead, work)
    switch_values(model, weights, t + (s + ahead) * h, Q, V, values, work)
    for k in range(ne):
        entry[ne + k] = values[k]
    weigh(c, s, work)
    switch_values(model, weights, t + s * h, Q, V, values, work)
    for k in range(ne):
        entry[ne + k] = (entry[ne + k] - values[k]) / (ahead * h)
        entry[k] = values[k]
    return 0


@unit(F(MODEL, A, F, F, F, F, A, A, I, I, A))
def root(model, c, t, h, low, high, Q, V, which, kind, work):
    """Return the place between low and high, where the watched value has two signs, at which it vanishes.

    Of two neighbouring places the one behind the root, so that the value has its new sign.
    """
    below = watched_at(model, c, t, h, low, Q, V, which, kind, work)
    above = watched_at(model, c, t, h, high, Q, V, which, kind, work)
    a, b, side = below, above, 0
    for k in range(REFINEMENTS):
        if high - low <= 2.0 * NARROW:
            break
        middle = 0.5 * (low + high)
        if k % 4 != 3 and a != b:
            middle = high - b * (high - low) / (b - a)
            # a step beyond the root closes the bracket from its other side
            middle = larger(low + NARROW, smaller(high - NARROW, middle))
        if not low < middle < high:
            break
        value = watched_at(model, c, t, h, middle, Q, V, which, kind, work)
        if value == 0.0:
            return middle
        # Illinois: the end that stays twice counts half, so that the next step goes beyond the root
        if (value > 0.0) == (above > 0.0):
            a = 0.5 * a if side == 1 else a
            high, b, side = middle, value, 1
        else:
            b = 0.5 * b if side == -1 else b
            low, a, side = middle, value, -1
    return high


@unit(F(F, F, F, F, F), small=True)
def contradicts(g_0, d_0, g_1, d_1, slack):
    """Return how much change and rates (times the length) of a piece contradict each other, 0.0 where they fit."""
    wrong = abs(g_1 - g_0 - 0.5 * (d_0 + d_1))
    return wrong if wrong > CONTRADICTION * (abs(d_0) + abs(d_1)) and wrong > slack else 0.0


@unit(I(F, F, F, F, F), small=True)
def is_rough(g_0, d_0, g_1, d_1, slack):
    """Return 1 where a piece contradicts itself and the function may be near zero in it."""
    return 1 if NEAR * contradicts(g_0, d_0, g_1, d_1, slack) > larger(0.0, smaller(g_0, g_1)) else 0


@unit(I(F, F, F, F, F, F, F))
def may_vanish(g_0, u_0, g_1, u_1, step, fastest, slack):
    """Return 1 where a function reaches zero within a piece at its fastest rate, or may be faster and reach it then."""
    return 1 if g_0 + g_1 <= fastest * step + slack else is_rough(g_0, u_0 * step, g_1, u_1 * step, slack)


@unit(F(F, F, F, F, F), small=True)
def cubic(g_0, d_0, g_1, d_1, s):
    """Return the cubic of a piece at its place s."""
    r = 1.0 - s
    return r * r * ((1.0 + 2.0 * s) * g_0 + s * d_0) + s * s * ((3.0 - 2.0 * s) * g_1 - r * d_1)


@unit(I(F, F, F, F, F, F, F, F))
def strays(g_0, d_0, g_1, d_1, s, g, d, slack):
    """Return 1 where value and rate (times the length) at the place s of a piece are not on its cubic."""
    r = 1.0 - s
    value = cubic(g_0, d_0, g_1, d_1, s)
    slope = 6.0 * s * r * (g_1 - g_0) + r * (1.0 - 3.0 * s) * d_0 + s * (3.0 * s - 2.0) * d_1
    change = abs(d_0) + abs(d_1) + abs(d)
    return 1 if abs(g - value) > DISTANCE * change + slack or abs(d - slope) > DEVIATION * change + slack else 0


@unit(I(F, F, F, F, F, F, F, F))
def unresolved(g_0, d_0, g_1, d_1, s, g, d, slack):
    """Return 1 where a piece or its parts contradict themselves, or the cubic of the whole misses the middle."""
    r = 1.0 - s
    wrong = contradicts(g_0, d_0, g_1, d_1, slack) + contradicts(g_0, s * d_0, g, s * d, slack)
    wrong += contradicts(g, r * d, g_1, r * d_1, slack)
    return 1 if wrong > 0.0 else strays(g_0, d_0, g_1, d_1, s, g, d, slack)


@unit(I(F, F, F, F, F), small=True)
def is_loud(g_0, d_0, g_1, d_1, slack):
    """Return 1 where the control points of a piece (see `shape`) do not show at once that it stays above zero."""
    wrong = abs(g_1 - g_0 - 0.5 * (d_0 + d_1))
    return 1 if smaller(g_1, smaller(g_0 + d_0 / 3.0, g_1 - d_1 / 3.0) - wrong) < -slack else 0


@unit(I(F, F, F, F, F))
def shape(g_0, d_0, g_1, d_1, slack):
    """Return what the cubic of a piece may hide: CLEAR, DIP or SPLIT.

    d: rates times the length. The cubic lies above its control points, and has no more extrema than the coefficients
    of its rate change their sign.
    """
    wrong = abs(g_1 - g_0 - 0.5 * (d_0 + d_1))
    lowest = smaller(g_0 + d_0 / 3.0, g_1 - d_1 / 3.0) - wrong
    if lowest >= -slack or (d_0 >= 0.0 and d_1 <= 0.0):
        return CLEAR
    if d_0 < 0.0 and d_1 > 0.0:
        return DIP
    turn = 3.0 * (g_1 - g_0) - d_0 - d_1
    if d_0 < 0.0 or d_1 < 0.0:
        turn = -turn
    return CLEAR if turn >= -larger(0.5 * sqrt(abs(d_0 * d_1)), 0.01 * (abs(d_0) + abs(d_1))) else SPLIT


@unit(F(MODEL, A, F, F, F, F, F, A, A, I, F, A))
def closing_place(model, c, t, h, low, high, g_low, Q, V, which, slack, work):
    """Return where a gap that is open at `low` and closed at `high` closes."""
    if low > 0.0 or g_low > slack:
        return root(model, c, t, h, low, high, Q, V, which, 0, work) if g_low > 0.0 else low
    low = high  # it begins at zero, up to rounding
    for _ in range(HALVINGS):
        low *= 0.5
        if watched_at(model, c, t, h, low, Q, V, which, 0, work) > 0.0:
            return root(model, c, t, h, low, 2.0 * low, Q, V, which, 0, work)
    return 0.0


@unit(F(MODEL, A, A, F, F, A, A, J, F, J, A))
def first_closing(model, c, samples, t, h, Q, V, index, slack, found, work):
    """Return the first place at which the gap of a contact that is not held falls through zero, or NONE.

    samples: weights of the nodes at SAMPLES + 1 places from 0 to 1; slack: depth [m] up to which a gap is not yet an
    event; found[0]: the contact. 0.0 is returned for a contact that never opens: it closes again where the step begins.
    A gap that is not resolved by SAMPLES * 2^DEPTH pieces may close unseen between them.
    """
    layout = model.layout
    nc, n = layout[NC], c.shape[0]
    watched = 0
    for k in range(nc):
        watched += 0 if index[k] == SLIP or index[k] == STICK else 1
    if watched == 0:
        return NONE
    at = 2 * n + layout[NQ] + layout[NV] + nc + layout[NJ] + layout[NW] + layout[NR] + 2 * layout[NE]
    own = tail(work, at)
    fastest, left, table = head(own, nc), head(tail(own, nc), 2 * nc), head(tail(own, 3 * nc), (SAMPLES + 1) * 2 * nc)
    constant = 1 if (layout[FLAGS] & W_CONSTANT) != 0 else 0
    work[0] = 0.0  # the factors of the nodes are not known yet
    known, rough, best = 0, 0, NONE
    for piece in range(SAMPLES):
        # one sample ahead: a piece around an extremum does not contradict itself, the next one does
        while known <= SAMPLES and (known <= piece + 2 or rough == 1):
            gaps_and_rates(
                model, row_of(samples, known, n), t + known / SAMPLES * h, Q, V, constant if known > 0 else 0,
                head(tail(table, known * 2 * nc), 2 * nc), work,
            )  # fmt: skip
            known += 1
        s_0, step = piece / SAMPLES, h / SAMPLES
        before, after = head(tail(table, piece * 2 * nc), 2 * nc), head(tail(table, (piece + 1) * 2 * nc), 2 * nc)
        if rough == 0:
            loud = 0
            right = head(tail(own, stack_at(nc, 0) + 2), 2 * nc)
            if piece == 0 and constant == 0:
                weigh(c, OFF / SAMPLES, work)
                gaps_and_rates(model, head(tail(work, n), n), t + OFF * step, Q, V, 0, right, work)
            for k in range(nc):
                if index[k] == SLIP or index[k] == STICK:
                    continue
                g_0, g_1, d_0, d_1 = before[k], after[k], before[nc + k] * step, after[nc + k] * step
                loud |= is_loud(g_0, d_0, g_1, d_1, slack)
                if piece == 0:
                    if constant == 0 and smaller(g_0, g_1) < NEAR * (abs(g_0 - right[k]) + abs(g_1 - right[k])):
                        rough |= strays(g_0, d_0, g_1, d_1, OFF, right[k], right[nc + k] * step, slack)
                    # powers of time, as gaps are that begin at zero, contradict their rates
                    if g_0 > slack:
                        rough |= is_rough(g_0, d_0, g_1, d_1, slack)
                if piece < SAMPLES - 1:
                    further = head(tail(table, (piece + 2) * 2 * nc), 2 * nc)
                    rough |= is_rough(g_1, d_1, further[k], further[nc + k] * step, slack)
            if rough == 0 and loud == 0:
                continue
            if rough == 1:
                while known <= SAMPLES:
                    gaps_and_rates(
                        model, row_of(samples, known, n), t + known / SAMPLES * h, Q, V, constant,
                        head(tail(table, known * 2 * nc), 2 * nc), work,
                    )  # fmt: skip
                    known += 1
                for k in range(nc):
                    fastest[k] = FASTER * abs(right[nc + k]) if piece == 0 and constant == 0 else 0.0
                    for sample in range(SAMPLES + 1):
                        fastest[k] = larger(fastest[k], FASTER * abs(table[sample * 2 * nc + nc + k]))
        for i in range(2 * nc):
            left[i] = before[i]
        top = 0
        first = head(tail(own, stack_at(nc, 0)), 2 + 2 * nc)
        first[0], first[1] = (piece + 1) / SAMPLES, 0.0
        for i in range(2 * nc):
            first[2 + i] = after[i]
        while top >= 0:
            entry = head(tail(own, stack_at(nc, top)), 2 + 2 * nc)
            s_1, right = entry[0], head(tail(own, stack_at(nc, top) + 2), 2 * nc)
            step = (s_1 - s_0) * h
            divide = 0
            for k in range(nc):
                if index[k] == SLIP or index[k] == STICK:
                    continue
                if rough == 1 and entry[1] == 0.0:
                    divide |= may_vanish(left[k], left[nc + k], right[k], right[nc + k], step, fastest[k], slack)
                elif shape(left[k], left[nc + k] * step, right[k], right[nc + k] * step, slack) == SPLIT:
                    divide = 1
            if divide == 1 and s_1 - s_0 > NARROWEST:
                share = OFF if s_1 - s_0 > 0.9 / SAMPLES else 0.5
                s = s_0 + share * (s_1 - s_0)
                top += 1
                new = head(tail(own, stack_at(nc, top)), 2 + 2 * nc)
                middle = head(tail(own, stack_at(nc, top) + 2), 2 * nc)
                weigh(c, s, work)
                gaps_and_rates(model, head(tail(work, n), n), t + s * h, Q, V, constant, middle, work)
                settled = 1.0
                if rough == 1:
                    for k in range(nc):
                        if index[k] == SLIP or index[k] == STICK:
                            continue
                        fastest[k] = larger(fastest[k], FASTER * abs(middle[nc + k]))
                        near = may_vanish(left[k], left[nc + k], right[k], right[nc + k], step, fastest[k], slack)
                        if near == 1 and unresolved(
                            left[k], left[nc + k] * step, right[k], right[nc + k] * step, share, middle[k],
                            middle[nc + k] * step, slack,
                        ) == 1:  # fmt: skip
                            settled = 0.0
                new[0], new[1] = s, settled
                entry[1] = settled
                continue
            for k in range(nc):
                if index[k] == SLIP or index[k] == STICK:
                    continue
                high, value = s_1, right[k]
                if value >= -slack and DIP == shape(left[k], left[nc + k] * step, value, right[nc + k] * step, slack):
                    high = root(model, c, t, h, s_0, s_1, Q, V, k, RATE, work)
                    value = watched_at(model, c, t, h, high, Q, V, k, 0, work)
                if value < -slack:
                    place = closing_place(model, c, t, h, s_0, high, left[k], Q, V, k, slack, work)
                    if place < best:
                        best = place
                        found[0] = k
            if best < NONE:
                return best
            for i in range(2 * nc):
                left[i] = right[i]
            s_0 = s_1
            top -= 1
    return best


@unit(I(MODEL, A, F, F, A, A, A, A))
def first_return(model, c, t, h, Q, V, fired, work):
    """Return the first switching function that has just crossed zero and turns back at once, -1 for none.

    A flight ends where a crossing was located, not exactly at zero: a little later the function must have its new sign.
    One that goes the other way touched zero only, or forces on both sides of it push the motion back.
    """
    layout = model.layout
    ne, n = layout[NE], c.shape[0]
    values = event_values(model, work, n)
    began = head(
        tail(work, 2 * n + layout[NQ] + layout[NV] + layout[NC] + layout[NJ] + layout[NW] + layout[NR] + ne), ne
    )
    just = False
    for k in range(ne - layout[NS], ne):
        just = just or fired[k] == 1.0
    if not just:
        return -1
    work[0] = 0.0  # the factors of the nodes are not known yet
    weigh(c, 0.0, work)
    switch_values(model, head(tail(work, n), n), t, Q, V, began, work)
    s = LITTLE
    while s < 1.0:
        weigh(c, s, work)
        switch_values(model, head(tail(work, n), n), t + s * h, Q, V, values, work)
        sure = True
        for k in range(ne - layout[NS], ne):
            if fired[k] != 1.0:
                continue
            if values[k] < 0.0 and values[k] < 2.0 * began[k]:
                return k
            sure = sure and values[k] > 0.0
        if sure:
            return -1
        s *= 4.0
    return -1


@unit(F(A, I, I, I))
def difference(table, ne, sample, k):
    """Return the change per sample of an event function at a sample, by five of them."""
    first = sample - 2
    if first >= 0 and first <= SAMPLES - 4:
        at, block = first * 2 * ne + k, 2 * ne
        far, near = table[at] - table[at + 4 * block], table[at + 3 * block] - table[at + block]
        return far / 12.0 + near * (2.0 / 3.0)
    first, total = 0 if first < 0 else SAMPLES - 4, 0.0
    for j in range(5):
        total += DIFFERENCES[5 * (sample - first) + j] * table[(first + j) * 2 * ne + k]
    return total


@unit(F(MODEL, A, F, F, F, F, F, F, A, A, I, A))
def crossing_place(model, c, t, h, low, high, f_low, f_high, Q, V, which, work):
    """Return where an event function with values of two signs crosses zero in its direction, or NONE."""
    direction = model.layout[model.layout[EVENT_TABLE] + 3 * which]
    crosses = (f_low < 0.0 and f_high >= 0.0 and direction >= 0) or (f_low > 0.0 and f_high <= 0.0 and direction <= 0)
    if not crosses:
        return NONE
    return high if f_high == 0.0 else root(model, c, t, h, low, high, Q, V, which, EVENT, work)


@unit(F(MODEL, A, A, F, F, A, A, A, F, J, A))
def first_switch(model, c, samples, t, h, Q, V, fired, limit, found, work):
    """Return the first place up to `limit` at which a user's event function crosses zero in its direction, or NONE.

    fired: 1 per event that happened where the step begins; its sign is read a little later. A function that is not
    resolved by SAMPLES * 2^DEPTH pieces may cross zero twice unseen between them.
    """
    layout = model.layout
    ne, n = layout[NE], c.shape[0]
    at = 2 * n + layout[NQ] + layout[NV] + layout[NC] + layout[NJ] + layout[NW] + layout[NR]
    values, began = head(tail(work, at), ne), head(tail(work, at + ne), ne)
    own = head(tail(work, at + 2 * ne), work.shape[0] - at - 2 * ne)
    fastest, left, table = head(own, ne), head(tail(own, ne), 2 * ne), head(tail(own, 3 * ne), (SAMPLES + 1) * 2 * ne)
    work[0] = 0.0  # the factors of the nodes are not known yet
    known, rough, best = 0, 0, NONE
    for piece in range(SAMPLES):
        s_0 = piece / SAMPLES
        if s_0 >= limit:
            return NONE
        while known <= SAMPLES and (known <= piece + 3 or known < 5) and rough == 0:
            switch_values(
                model, row_of(samples, known, n), t + known / SAMPLES * h, Q, V, row_of(table, known * 2, ne), work
            )
            known += 1
        before, after = head(tail(table, piece * 2 * ne), 2 * ne), head(tail(table, (piece + 1) * 2 * ne), 2 * ne)
        if rough == 0:
            step, loud = h / SAMPLES, 0
            probe, ends = head(tail(own, stack_at(ne, 0) + 2), ne), piece == 0 or piece == SAMPLES - 1
            if ends:  # polynomials are fastest there
                s = s_0 + OFF / SAMPLES
                weigh(c, s, work)
                switch_values(model, head(tail(work, n), n), t + s * h, Q, V, probe, work)
            if piece == 0:
                weigh(c, LITTLE, work)
                switch_values(model, head(tail(work, n), n), t + LITTLE * h, Q, V, values, work)
            for k in range(ne):
                d_0 = before[ne + k] * step if piece > 0 else difference(table, ne, 0, k)
                d_1 = difference(table, ne, piece + 1, k)
                before[ne + k], after[ne + k] = d_0 / step, d_1 / step
                f_0, f_1, rate, change = before[k], after[k], 0.0, abs(d_0) + abs(d_1)
                if piece == 0:
                    began[k] = values[k] if fired[k] == 1.0 or f_0 == 0.0 else f_0
                    rate = (values[k] - f_0) / (LITTLE * SAMPLES)
                    if abs(rate - d_0) > DEVIATION * (change + abs(rate)):
                        rough = 1
                if ends:
                    if abs(probe[k] - cubic(f_0, d_0, f_1, d_1, OFF)) > DISTANCE * change:
                        rough = 1
                    rate = larger(abs(rate), abs(probe[k] - f_0) / OFF)
                fastest[k] = FASTER * abs(rate) / step
                sign = 1.0 if f_0 + f_1 > 0.0 else -1.0
                rough |= is_rough(sign * f_0, sign * d_0, sign * f_1, sign * d_1, 0.0)
                if (fired[k] == 1.0 and piece == 0) or not f_0 * f_1 > 0.0:
                    loud = 1
                loud |= is_loud(sign * f_0, sign * d_0, sign * f_1, sign * d_1, 0.0)
            if rough == 0 and loud == 0:
                continue
            if rough == 1:
                for sample in range(SAMPLES + 1):
                    events_and_rates(
                        model, c, t, h, sample / SAMPLES, Q, V, head(tail(table, sample * 2 * ne), 2 * ne), work
                    )
                for k in range(ne):
                    for sample in range(SAMPLES + 1):
                        fastest[k] = larger(fastest[k], FASTER * abs(table[sample * 2 * ne + ne + k]))
        for i in range(2 * ne):
            left[i] = before[i]
            if piece == 0 and i < ne:
                left[i] = began[i]
        top = 0
        first = head(tail(own, stack_at(ne, 0)), 2 + 2 * ne)
        first[0], first[1] = (piece + 1) / SAMPLES, 0.0
        for i in range(2 * ne):
            first[2 + i] = after[i]
        while top >= 0:
            entry = head(tail(own, stack_at(ne, top)), 2 + 2 * ne)
            s_1, right = entry[0], head(tail(own, stack_at(ne, top) + 2), 2 * ne)
            step = (s_1 - s_0) * h
            # rates of few places may be too slow for a bound: it serves for short pieces only
            divide, wide = 0, s_1 - s_0 > 0.3 / SAMPLES
            for k in range(ne):
                sign = 1.0 if left[k] > 0.0 else -1.0
                if rough == 1 and entry[1] == 0.0:
                    f_0, f_1 = sign * left[k], sign * right[k]
                    u_0, u_1 = sign * left[ne + k], sign * right[ne + k]
                    divide |= 1 if wide else may_vanish(f_0, u_0, f_1, u_1, step, fastest[k], 0.0)
                elif left[k] != 0.0 and SPLIT == shape(
                    sign * left[k], sign * left[ne + k] * step, sign * right[k], sign * right[ne + k] * step, 0.0
                ):
                    divide = 1
            if divide == 1 and s_1 - s_0 > NARROWEST:
                share = OFF if s_1 - s_0 > 0.9 / SAMPLES else 0.5
                s = s_0 + share * (s_1 - s_0)
                top += 1
                new = head(tail(own, stack_at(ne, top)), 2 + 2 * ne)
                middle = head(tail(own, stack_at(ne, top) + 2), 2 * ne)
                events_and_rates(model, c, t, h, s, Q, V, middle, work)
                settled = 1.0
                if rough == 1:
                    for k in range(ne):
                        sign = 1.0 if left[k] > 0.0 else -1.0
                        fastest[k] = larger(fastest[k], FASTER * abs(middle[ne + k]))
                        near = may_vanish(
                            sign * left[k], sign * left[ne + k], sign * right[k], sign * right[ne + k], step,
                            fastest[k], 0.0,
                        )  # fmt: skip
                        if (wide or near == 1) and unresolved(
                            left[k], left[ne + k] * step, right[k], right[ne + k] * step, share, middle[k],
                            middle[ne + k] * step, 0.0,
                        ) == 1:  # fmt: skip
                            settled = 0.0
                new[0], new[1] = s, settled
                entry[1] = settled
                continue
            for k in range(ne):
                low = LITTLE if s_0 == 0.0 and left[k] != table[k] else s_0
                sign = 1.0 if left[k] > 0.0 else -1.0
                place = NONE
                if sign * right[k] <= 0.0:
                    place = crossing_place(model, c, t, h, low, s_1, left[k], right[k], Q, V, k, work)
                elif left[k] != 0.0 and DIP == shape(
                    sign * left[k], sign * left[ne + k] * step, sign * right[k], sign * right[ne + k] * step, 0.0
                ):
                    lowest = root(model, c, t, h, low, s_1, Q, V, k, EVENT_RATE, work)
                    value = watched_at(model, c, t, h, lowest, Q, V, k, EVENT, work)
                    if sign * value < 0.0:
                        place = crossing_place(model, c, t, h, low, lowest, left[k], value, Q, V, k, work)
                        if place == NONE:
                            place = crossing_place(model, c, t, h, lowest, s_1, value, right[k], Q, V, k, work)
                if place < best:
                    best = place
                    found[0] = k
            if best < NONE:
                return best if best <= limit else NONE
            for i in range(2 * ne):
                left[i] = right[i]
            s_0 = s_1
            top -= 1
    return best
