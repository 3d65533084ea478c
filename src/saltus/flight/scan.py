"""Scanning the dense output of a step for the first time at which something happens.

Dense output is positions and velocities at the nodes of a step, polynomials between them. Gaps are sampled together
with their rates; the cubic through two samples tells where a gap may dip below zero between them, and there it is
looked at closely. A gap that begins at zero (a contact that was just left) is followed towards the beginning by
halving. Event functions have no rates: differences of their samples serve instead.

A gap may be a fast function of a slow motion, too fast for the samples. Two signs show it: change and rates of a piece
contradict each other, or a value off the samples is not on the cubic. The scan then asks every sample for its rate, and
halves every piece in which the function could reach zero at twice the largest rate until cubics describe it, up to
SCAN.depth times. What is still unresolved then is judged by the samples of the finest pieces.
"""

from __future__ import annotations

from collections import namedtuple
from math import sqrt
from typing import NamedTuple

import numpy as np

from saltus.compile.columns import combine_columns
from saltus.compile.kinds import Record
from saltus.compile.seam import head, interpreted, larger, row_of, smaller, tail, unit
from saltus.compile.types import MODEL, A, F, I, J
from saltus.lasting.index_set import INDEX
from saltus.memory.layout import W_CONSTANT
from saltus.memory.vectors import copy
from saltus.reaction.react import row_dot
from saltus.tables.polynomial import NONE, combine, node_factors, spread


class _Scan(NamedTuple):
    """Tuned numbers of this file."""

    samples: int = 16  # per step; its polynomials have degree 7 or so
    depth: int = 12  # halvings of a piece between two samples
    narrowest: float = 0.75 / (samples * 2.0 ** (depth - 1))  # pieces below this width are not split
    halvings: int = 50  # towards the beginning of a flight
    narrow: float = 5e-16  # width of a bracket at the end
    refinements: int = 160  # of a bracket, Illinois with bisection: far more than it takes
    # where a piece between samples is probed and first split: no period fits both parts
    off: float = 0.3819660112501051
    # distance for the rate of an event function, and behind an event that has just happened
    little: float = 1e-06 / samples
    # shares of the change over a piece, by its rates: of the contradiction between change and rates, of the distance
    # of a further value and of a further rate from the cubic; what is larger is not resolved
    contradiction: float = 0.2
    distance: float = 0.02
    deviation: float = 0.1
    near: float = 8.0  # contradictions by which a gap may be wrong
    # of a flight: how well the place of a closing is known. The flight that ends there closes the gap (`snap`), and the
    # polynomial that was searched errs by more
    located: float = 1e-11
    ahead: int = 4  # samples that are made together
    guesses: int = 3  # by cubic and secants, before a closing is enclosed
    turns: int = 12  # of Newton's method on the cubic of a piece
    faster: float = 2.0  # the largest rate over the largest of the samples


SCAN = _Scan()

# a piece of a flight: the places of its ends, a gap there and its rates times the length of the piece
Piece = namedtuple("Piece", "low high g_low d_low g_high d_high")
PIECE = Record([F, F, F, F, F, F], Piece)


class _Watched(NamedTuple):
    """Kinds of watched functions, beside the gap."""

    rate: int = 1
    event: int = 2
    event_rate: int = 3


WATCHED = _Watched()


class _Shown(NamedTuple):
    """What a piece between two samples shows at once."""

    quiet: int = 0
    loud: int = 1
    rough: int = 2


SHOWN = _Shown()


class _Hidden(NamedTuple):
    """What a piece may hide."""

    # what a piece may hide: nothing, one lowest place below zero, more
    clear: int = 0
    dip: int = 1
    split: int = 2


HIDDEN = _Hidden()

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
    nq, nv, nc, nj = int(layout.nq), int(layout.nv), int(layout.nc), int(layout.nj)
    nr, ne = int(layout.nr), int(layout.ne)
    # evaluation, states of the samples; then per watched function its largest rate, and value and rate at the left
    # end, samples and stack
    states = (SCAN.samples + 2) * (nq + nv)
    return 2 * n + states + nc + nj + int(layout.nw) + nr + 2 * ne + interpreted(stack_at)(max(nc, ne), SCAN.depth + 2)


def with_factors(samples: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return the weights of nodes at the samples as scanners take them: by columns, the factors of the nodes behind."""
    factors = np.empty(len(nodes))
    interpreted(node_factors)(nodes, factors)
    return np.concatenate([samples.T.ravel(), factors])


@unit(A(A, I), small=True)
def factors_of(samples, n):
    """Return the factors of the nodes, which stand behind their weights at the samples."""
    return head(tail(samples, (SCAN.samples + 1) * n), n)


@unit(I(I, I), small=True)
def stack_at(m, top):
    """Return where an entry of the stack begins: place, whether its piece is resolved, m values, m rates."""
    return m * (2 * SCAN.samples + 5) + top * (2 + 2 * m)


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
    """Return a watched function at a place s: a gap (kind 0), its rate [1/s], an event function or its rate."""
    layout = model.layout
    nq, nv, nc, nj, nr, n = layout.nq, layout.nv, layout.nc, layout.nj, layout.nr, c.shape[0]
    weights, q, v = head(tail(work, n), n), head(tail(work, 2 * n), nq), head(tail(work, 2 * n + nq), nv)
    at = 2 * n + nq + nv
    if kind == WATCHED.event_rate:
        ahead = SCAN.little if s < 0.5 else -SCAN.little
        value = watched_at_plain(model, c, t, h, s + ahead, Q, V, which, work)
        return (value - watched_at_plain(model, c, t, h, s, Q, V, which, work)) / (ahead * h)
    if kind == WATCHED.event:
        return watched_at_plain(model, c, t, h, s, Q, V, which, work)
    weigh(c, s, work)
    combine(weights, Q, q)
    if kind == 0:
        g = head(tail(work, at), nc + nj)
        model.gap(t + s * h, q, model.par, g)
        return g[which]
    combine(weights, V, v)
    W, w = head(tail(work, at + nc + nj), layout.nw), head(tail(work, at + nc + nj + layout.nw), nr)
    model.kinematics(t + s * h, q, model.par, W, w)
    row = layout[layout.contact_row + which]
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
    at = 2 * n + layout.nq + layout.nv + layout.nc + layout.nj + layout.nw + layout.nr
    return head(tail(work, at), layout.ne)


@unit(I(MODEL, A, F, A, A, A, A))
def switch_values(model, weights, t, Q, V, values, work):
    """Write all event functions at the place of the weights."""
    layout, n = model.layout, weights.shape[0]
    q, v = head(tail(work, 2 * n), layout.nq), head(tail(work, 2 * n + layout.nq), layout.nv)
    combine(weights, Q, q)
    combine(weights, V, v)
    return model.switch(t, q, v, model.par, values)


@unit(A(MODEL, I, A), small=True)
def states_of(model, n, work):
    """Return where the states at the samples stand: all positions, then all velocities."""
    layout = model.layout
    at = 2 * n + layout.nq + layout.nv + layout.nc + layout.nj + layout.nw + layout.nr + 2 * layout.ne
    return head(tail(work, at), (SCAN.samples + 1) * (layout.nq + layout.nv))


@unit(I(MODEL, A, A, A, A))
def sample_states(model, samples, Q, V, work):
    """Write the states at all samples, and the factors of the nodes, with which `weigh` begins."""
    layout, rows = model.layout, SCAN.samples + 1
    nq, nv, n = layout.nq, layout.nv, samples.shape[0] // (rows + 1)
    states, weights = states_of(model, n, work), head(samples, rows * n)
    copy(factors_of(samples, n), head(work, n))
    for i in range(nq):
        combine_columns(weights, rows, 0.0, tail(Q, i), nq, tail(states, i), nq)
    for i in range(nv):
        combine_columns(weights, rows, 0.0, tail(V, i), nv, tail(states, rows * nq + i), nv)
    return 0


@unit(I(MODEL, A, F, A, A, I, A, A))
def gaps_and_rates(model, weights, t, Q, V, known, entry, work):
    """Write all gaps, then their rates, at the place of the weights; known: 1 where W is the one of the last call."""
    layout, n = model.layout, weights.shape[0]
    q, v = head(tail(work, 2 * n), layout.nq), head(tail(work, 2 * n + layout.nq), layout.nv)
    combine(weights, Q, q)
    combine(weights, V, v)
    return gaps_of_state(model, n, t, q, v, known, entry, work)


@unit(I(MODEL, I, F, A, A, I, A, A), small=True)
def gaps_of_state(model, n, t, q, v, known, entry, work):
    """Write all gaps, then their rates; known: 1 where W is the one of the last call."""
    layout = model.layout
    nc, nj, at = layout.nc, layout.nj, 2 * n + layout.nq + layout.nv
    g, W = head(tail(work, at), nc + nj), head(tail(work, at + nc + nj), layout.nw)
    w = head(tail(work, at + nc + nj + layout.nw), layout.nr)
    model.gap(t, q, model.par, g)
    if known == 0:
        model.kinematics(t, q, model.par, W, w)
    for k in range(nc):
        row = layout[layout.contact_row + k]
        entry[k] = g[k]
        entry[nc + k] = row_dot(layout, W, row, v) + w[row]
    return 0


@unit(I(MODEL, A, F, F, F, A, A, A, A))
def events_and_rates(model, c, t, h, s, Q, V, entry, work):
    """Write all event functions and their rates at a place s."""
    ne, n = model.layout.ne, c.shape[0]
    values, ahead = event_values(model, work, n), SCAN.little if s < 0.5 else -SCAN.little
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
    for k in range(SCAN.refinements):
        if high - low <= 2.0 * SCAN.narrow:
            break
        middle = 0.5 * (low + high)
        if k % 4 != 3 and a != b:
            middle = high - b * (high - low) / (b - a)
            # a step beyond the root closes the bracket from its other side
            middle = larger(low + SCAN.narrow, smaller(high - SCAN.narrow, middle))
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
    return wrong if wrong > SCAN.contradiction * (abs(d_0) + abs(d_1)) and wrong > slack else 0.0


@unit(I(F, F, F, F, F), small=True)
def is_rough(g_0, d_0, g_1, d_1, slack):
    """Return 1 where a piece contradicts itself and the function may be near zero in it."""
    return 1 if SCAN.near * contradicts(g_0, d_0, g_1, d_1, slack) > larger(0.0, smaller(g_0, g_1)) else 0


@unit(I(F, F, F, F, F, F, F))
def may_vanish(g_0, u_0, g_1, u_1, step, fastest, slack):
    """Return 1 where a function reaches zero within a piece at its fastest rate, or may be faster and reach it then."""
    return 1 if g_0 + g_1 <= fastest * step + slack else is_rough(g_0, u_0 * step, g_1, u_1 * step, slack)


@unit(F(F, F, F, F, F), small=True)
def cubic(g_0, d_0, g_1, d_1, s):
    """Return the cubic of a piece at its place s."""
    r = 1.0 - s
    return r * r * ((1.0 + 2.0 * s) * g_0 + s * d_0) + s * s * ((3.0 - 2.0 * s) * g_1 - r * d_1)


@unit(F(F, F, F, F, F), small=True)
def cubic_slope(g_0, d_0, g_1, d_1, s):
    """Return the rate (times the length) of the cubic of a piece at its place s."""
    r = 1.0 - s
    return 6.0 * s * r * (g_1 - g_0) + r * (1.0 - 3.0 * s) * d_0 + s * (3.0 * s - 2.0) * d_1


@unit(I(F, F, F, F, F, F, F, F))
def strays(g_0, d_0, g_1, d_1, s, g, d, slack):
    """Return 1 where value and rate (times the length) at the place s of a piece are not on its cubic."""
    value, slope = cubic(g_0, d_0, g_1, d_1, s), cubic_slope(g_0, d_0, g_1, d_1, s)
    change = abs(d_0) + abs(d_1) + abs(d)
    return (
        1 if abs(g - value) > SCAN.distance * change + slack or abs(d - slope) > SCAN.deviation * change + slack else 0
    )


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
    """Return what the cubic of a piece may hide: HIDDEN.clear, HIDDEN.dip or HIDDEN.split.

    d: rates times the length. The cubic lies above its control points, and has no more extrema than the coefficients
    of its rate change their sign.
    """
    wrong = abs(g_1 - g_0 - 0.5 * (d_0 + d_1))
    lowest = smaller(g_0 + d_0 / 3.0, g_1 - d_1 / 3.0) - wrong
    if lowest >= -slack or (d_0 >= 0.0 and d_1 <= 0.0):
        return HIDDEN.clear
    if d_0 < 0.0 and d_1 > 0.0:
        return HIDDEN.dip
    turn = 3.0 * (g_1 - g_0) - d_0 - d_1
    if d_0 < 0.0 or d_1 < 0.0:
        turn = -turn
    return HIDDEN.clear if turn >= -larger(0.5 * sqrt(abs(d_0 * d_1)), 0.01 * (abs(d_0) + abs(d_1))) else HIDDEN.split


@unit(F(F, F, F, F))
def cubic_root(g_0, d_0, g_1, d_1):
    """Return a place at which the cubic of a piece with g_0 > 0 > g_1 vanishes, to a few digits."""
    low, high, s = 0.0, 1.0, g_0 / (g_0 - g_1)
    for _ in range(SCAN.turns):
        value = cubic(g_0, d_0, g_1, d_1, s)
        if value > 0.0:
            low = s
        else:
            high = s
        slope, before = cubic_slope(g_0, d_0, g_1, d_1, s), s
        s = s - value / slope if slope < 0.0 else 0.5 * (low + high)
        if not low < s < high:
            s = 0.5 * (low + high)
        if abs(s - before) < SCAN.narrow / SCAN.located:
            break
    return s


@unit(F(MODEL, A, F, F, PIECE, A, A, I, A))
def closing_in_piece(model, c, t, h, piece, Q, V, which, work):
    """Return where a gap with g_low > 0 > g_high closes, to SCAN.located.

    The cubic of the piece says where to look first, secants go on from there; what they do not find is enclosed.
    """
    low, high, g_low, d_low, g_high, d_high = piece
    size, share, rise = high - low, cubic_root(g_low, d_low, g_high, d_high), g_high - g_low
    # second derivative of the cubic at its ends: where it is large against the slope, near a graze, secants err by more
    bend = larger(abs(6.0 * rise - 4.0 * d_low - 2.0 * d_high), abs(6.0 * rise - 2.0 * d_low - 4.0 * d_high)) / size**2
    s, slope = low + share * size, cubic_slope(g_low, d_low, g_high, d_high, share) / size
    reach, value = size, 0.0  # what a slope was taken over: it is as good as that is small
    for guess in range(SCAN.guesses):
        value, before = watched_at(model, c, t, h, s, Q, V, which, 0, work), value
        if guess > 0:
            slope = (value - before) / reach
        if not slope < 0.0:
            break
        step = -value / slope
        if not low < s + step < high:
            break
        s += step
        if abs(step * reach) * larger(bend, abs(slope)) <= SCAN.located * abs(slope):
            return s
        reach = step
    return root(model, c, t, h, low, high, Q, V, which, 0, work)


@unit(F(MODEL, A, F, F, PIECE, A, A, I, F, A))
def closing_place(model, c, t, h, piece, Q, V, which, slack, work):
    """Return where a gap that is open at the begin of a piece and closed at its end closes."""
    if piece.low > 0.0 or piece.g_low > slack:
        if not piece.g_low > 0.0:
            return piece.low
        return closing_in_piece(model, c, t, h, piece, Q, V, which, work)
    low = piece.high  # it begins at zero, up to rounding
    for _ in range(SCAN.halvings):
        low *= 0.5
        if watched_at(model, c, t, h, low, Q, V, which, 0, work) > 0.0:
            return root(model, c, t, h, low, 2.0 * low, Q, V, which, 0, work)
    return 0.0


@unit(F(MODEL, A, A, F, F, A, A, J, F, J, A))
def first_closing(model, c, samples, t, h, Q, V, index, slack, found, work):
    """Return the first place at which the gap of a contact that is not held falls through zero, or NONE.

    samples: weights of the nodes at SCAN.samples + 1 places from 0 to 1, see `with_factors`; slack: depth [m] up to
    which a gap is not yet an event; found[0]: the contact. 0.0 is returned for a contact that never opens: it closes
    again where the step begins.
    A gap that is not resolved by SCAN.samples * 2^SCAN.depth pieces may close unseen between them.
    """
    watched = 0
    for k in range(model.layout.nc):
        watched += 0 if index[k] == INDEX.slip or index[k] == INDEX.stick else 1
    if watched == 0:
        return NONE
    known, rough, n = 0, 0, c.shape[0]
    sample_states(model, samples, Q, V, work)
    for piece in range(SCAN.samples):
        # one sample ahead: a piece around an extremum does not contradict itself, the next one does
        if known <= piece + 2:
            known = sample_gaps(model, n, t, h, known, piece + 1 + SCAN.ahead, work)
        if rough == 0:
            seen = judge_gaps(model, c, t, h, Q, V, piece, index, slack, work)
            if seen == SHOWN.quiet:
                continue
            if seen == SHOWN.rough:
                rough, known = 1, sample_gaps(model, n, t, h, known, SCAN.samples, work)
                probed = piece == 0 and (model.layout.features & W_CONSTANT) == 0
                bound_rates(model, c.shape[0], model.layout.nc, 1 if probed else 0, work)
        place = close_gaps(model, c, t, h, Q, V, piece, rough, index, slack, found, work)
        if place < NONE:
            return place
    return NONE


@unit(A(MODEL, I, A), small=True)
def own_of(model, n, work):
    """Return where the tables of the scanners begin: fastest rates of watched functions, left end, samples, stack."""
    layout, states = model.layout, (SCAN.samples + 2) * (model.layout.nq + model.layout.nv)
    at = 2 * n + states + layout.nc + layout.nj + layout.nw + layout.nr + 2 * layout.ne
    return tail(work, at)


@unit(A(A, I, I), small=True)
def sample_of(own, m, sample):
    """Return the values and rates of m watched functions at a sample."""
    return head(tail(own, 3 * m + sample * 2 * m), 2 * m)


@unit(A(A, I, I), small=True)
def entry_of(own, m, top):
    """Return an entry of the stack: place of its right end, 1.0 where its piece is resolved, values and rates there."""
    return head(tail(own, stack_at(m, top)), 2 + 2 * m)


@unit(I(MODEL, I, F, F, I, I, A))
def sample_gaps(model, n, t, h, known, needed, work):
    """Write gaps and their rates at all samples up to the one that is needed; return how many are known."""
    layout, states = model.layout, states_of(model, n, work)
    nq, nv, velocities = layout.nq, layout.nv, tail(states, (SCAN.samples + 1) * layout.nq)
    constant, own = 1 if (layout.features & W_CONSTANT) != 0 else 0, own_of(model, n, work)
    while known <= SCAN.samples and known <= needed:
        gaps_of_state(
            model, n, t + known / SCAN.samples * h, row_of(states, known, nq), row_of(velocities, known, nv),
            constant if known > 0 else 0, sample_of(own, layout.nc, known), work,
        )  # fmt: skip
        known += 1
    return known


@unit(I(MODEL, A, F, F, A, A, I, J, F, A), small=True)
def judge_gaps(model, c, t, h, Q, V, piece, index, slack, work):
    """Return what a piece between samples shows: SHOWN.loud: perhaps a closing, SHOWN.rough: gaps too fast for it."""
    layout, n = model.layout, c.shape[0]
    nc, own, step, loud, rough = layout.nc, own_of(model, n, work), h / SCAN.samples, 0, 0
    constant = (layout.features & W_CONSTANT) != 0
    before, after, probe = sample_of(own, nc, piece), sample_of(own, nc, piece + 1), tail(entry_of(own, nc, 0), 2)
    if piece == 0 and not constant:
        weigh(c, SCAN.off / SCAN.samples, work)
        gaps_and_rates(model, head(tail(work, n), n), t + SCAN.off * step, Q, V, 0, probe, work)
    for k in range(nc):
        if index[k] == INDEX.slip or index[k] == INDEX.stick:
            continue
        g_0, g_1, d_0, d_1 = before[k], after[k], before[nc + k] * step, after[nc + k] * step
        loud |= is_loud(g_0, d_0, g_1, d_1, slack)
        if piece == 0:
            if not constant and smaller(g_0, g_1) < SCAN.near * (abs(g_0 - probe[k]) + abs(g_1 - probe[k])):
                rough |= strays(g_0, d_0, g_1, d_1, SCAN.off, probe[k], probe[nc + k] * step, slack)
            # powers of time, as gaps are that begin at zero, contradict their rates
            if g_0 > slack:
                rough |= is_rough(g_0, d_0, g_1, d_1, slack)
        if piece < SCAN.samples - 1:
            further = sample_of(own, nc, piece + 2)
            rough |= is_rough(g_1, d_1, further[k], further[nc + k] * step, slack)
    if rough == 1:
        return SHOWN.rough
    return SHOWN.loud if loud == 1 else SHOWN.quiet


@unit(I(MODEL, I, I, I, A))
def bound_rates(model, n, m, probed, work):
    """Write a bound of the rates of m watched functions: twice the largest of all samples, and of the probe."""
    own = own_of(model, n, work)
    fastest, probe = head(own, m), tail(entry_of(own, m, 0), 2)
    for k in range(m):
        fastest[k] = SCAN.faster * abs(probe[m + k]) if probed == 1 else 0.0
        for sample in range(SCAN.samples + 1):
            fastest[k] = larger(fastest[k], SCAN.faster * abs(sample_of(own, m, sample)[m + k]))
    return 0


@unit(I(A, I, I, A, I), small=True)
def begin_piece(own, m, piece, began, replaced):
    """Put a piece between two samples on the stack; with replaced = 1 the values began stand at its left end."""
    left, first, after = head(tail(own, m), 2 * m), entry_of(own, m, 0), sample_of(own, m, piece + 1)
    copy(sample_of(own, m, piece), left)
    if replaced == 1:
        copy(began, head(left, m))
    first[0], first[1] = (piece + 1) / SCAN.samples, 0.0
    copy(after, head(tail(first, 2), 2 * m))
    return 0


@unit(F(MODEL, A, F, F, A, A, I, I, J, F, J, A))
def close_gaps(model, c, t, h, Q, V, piece, rough, index, slack, found, work):
    """Return the first place of a piece at which a gap closes, or NONE: it is halved until cubics describe the gaps."""
    nc, n = model.layout.nc, c.shape[0]
    own = own_of(model, n, work)
    fastest, left, s_0, top = head(own, nc), head(tail(own, nc), 2 * nc), piece / SCAN.samples, 0
    begin_piece(own, nc, piece, left, 0)
    while top >= 0:
        entry = entry_of(own, nc, top)
        s_1, right = entry[0], tail(entry, 2)
        step, divide = (s_1 - s_0) * h, 0
        for k in range(nc):
            if index[k] == INDEX.slip or index[k] == INDEX.stick:
                continue
            if rough == 1 and entry[1] == 0.0:
                divide |= may_vanish(left[k], left[nc + k], right[k], right[nc + k], step, fastest[k], slack)
            elif shape(left[k], left[nc + k] * step, right[k], right[nc + k] * step, slack) == HIDDEN.split:
                divide = 1
        if divide == 1 and s_1 - s_0 > SCAN.narrowest:
            top += 1
            halve_gaps(model, c, t, h, Q, V, s_0, top, rough, index, slack, work)
            continue
        place = closing_in(model, c, t, h, Q, V, s_0, index, slack, found, entry, work)
        if place < NONE:
            return place
        copy(right, left)
        s_0 = s_1
        top -= 1
    return NONE


@unit(I(MODEL, A, F, F, A, A, F, I, I, J, F, A))
def halve_gaps(model, c, t, h, Q, V, s_0, top, rough, index, slack, work):
    """Put the left part of the piece below the top of the stack on it, and say whether cubics describe both."""
    layout, nc, n = model.layout, model.layout.nc, c.shape[0]
    own = own_of(model, n, work)
    fastest, left, entry, new = own, head(tail(own, nc), 2 * nc), entry_of(own, nc, top - 1), entry_of(own, nc, top)
    s_1, right, middle = entry[0], tail(entry, 2), tail(new, 2)
    step, share, settled = (s_1 - s_0) * h, SCAN.off if s_1 - s_0 > 0.9 / SCAN.samples else 0.5, 1.0
    s = s_0 + share * (s_1 - s_0)
    weigh(c, s, work)
    constant = 1 if (layout.features & W_CONSTANT) != 0 else 0
    gaps_and_rates(model, head(tail(work, n), n), t + s * h, Q, V, constant, middle, work)
    if rough == 1:
        for k in range(nc):
            if index[k] == INDEX.slip or index[k] == INDEX.stick:
                continue
            fastest[k] = larger(fastest[k], SCAN.faster * abs(middle[nc + k]))
            near = may_vanish(left[k], left[nc + k], right[k], right[nc + k], step, fastest[k], slack)
            if near == 1 and unresolved(
                left[k], left[nc + k] * step, right[k], right[nc + k] * step, share, middle[k], middle[nc + k] * step,
                slack,
            ) == 1:  # fmt: skip
                settled = 0.0
    new[0], new[1] = s, settled
    entry[1] = settled
    return 0


@unit(F(MODEL, A, F, F, A, A, F, J, F, J, A, A))
def closing_in(model, c, t, h, Q, V, s_0, index, slack, found, entry, work):
    """Return the first place at which a gap closes in a piece that cubics describe, or NONE; found[0]: the contact."""
    nc, best = model.layout.nc, NONE
    left, s_1, right = head(tail(own_of(model, c.shape[0], work), nc), 2 * nc), entry[0], tail(entry, 2)
    step = (s_1 - s_0) * h
    for k in range(nc):
        if index[k] == INDEX.slip or index[k] == INDEX.stick:
            continue
        high, value, rate = s_1, right[k], right[nc + k]
        if value >= -slack and HIDDEN.dip == shape(left[k], left[nc + k] * step, value, right[nc + k] * step, slack):
            high = root(model, c, t, h, s_0, s_1, Q, V, k, WATCHED.rate, work)
            value, rate = watched_at(model, c, t, h, high, Q, V, k, 0, work), 0.0
        if value < -slack:
            length = (high - s_0) * h
            piece = Piece(s_0, high, left[k], left[nc + k] * length, value, rate * length)
            place = closing_place(model, c, t, h, piece, Q, V, k, slack, work)
            if place < best:
                best = place
                found[0] = k
    return best


@unit(I(MODEL, A, F, F, A, A, A, A))
def first_return(model, c, t, h, Q, V, fired, work):
    """Return the first switching function that has just crossed zero and turns back at once, -1 for none.

    A flight ends where a crossing was located, not exactly at zero: a little later the function must have its new sign.
    One that goes the other way touched zero only, or forces on both sides of it push the motion back.
    """
    layout = model.layout
    ne, n = layout.ne, c.shape[0]
    values = event_values(model, work, n)
    began = head(tail(work, 2 * n + layout.nq + layout.nv + layout.nc + layout.nj + layout.nw + layout.nr + ne), ne)
    just = False
    for k in range(ne - layout.ns, ne):
        just = just or fired[k] == 1.0
    if not just:
        return -1
    work[0] = 0.0  # the factors of the nodes are not known yet
    weigh(c, 0.0, work)
    switch_values(model, head(tail(work, n), n), t, Q, V, began, work)
    s = SCAN.little
    while s < 1.0:
        weigh(c, s, work)
        switch_values(model, head(tail(work, n), n), t + s * h, Q, V, values, work)
        sure = True
        for k in range(ne - layout.ns, ne):
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
    if first >= 0 and first <= SCAN.samples - 4:
        at, block = first * 2 * ne + k, 2 * ne
        far, near = table[at] - table[at + 4 * block], table[at + 3 * block] - table[at + block]
        return far / 12.0 + near * (2.0 / 3.0)
    first, total = 0 if first < 0 else SCAN.samples - 4, 0.0
    for j in range(5):
        total += DIFFERENCES[5 * (sample - first) + j] * table[(first + j) * 2 * ne + k]
    return total


@unit(F(MODEL, A, F, F, F, F, F, F, A, A, I, A))
def crossing_place(model, c, t, h, low, high, f_low, f_high, Q, V, which, work):
    """Return where an event function with values of two signs crosses zero in its direction, or NONE."""
    direction = model.layout[model.layout.event_table + 3 * which]
    crosses = (f_low < 0.0 and f_high >= 0.0 and direction >= 0) or (f_low > 0.0 and f_high <= 0.0 and direction <= 0)
    if not crosses:
        return NONE
    return high if f_high == 0.0 else root(model, c, t, h, low, high, Q, V, which, WATCHED.event, work)


@unit(F(MODEL, A, A, F, F, A, A, A, F, J, A))
def first_switch(model, c, samples, t, h, Q, V, fired, limit, found, work):
    """Return the first place up to `limit` at which a user's event function crosses zero in its direction, or NONE.

    fired: 1 per event that happened where the step begins; its sign is read a little later. A function that is not
    resolved by SCAN.samples * 2^SCAN.depth pieces may cross zero twice unseen between them.
    """
    ne, n = model.layout.ne, c.shape[0]
    own, states = own_of(model, n, work), states_of(model, n, work)
    nq, nv, velocities = model.layout.nq, model.layout.nv, tail(states, (SCAN.samples + 1) * model.layout.nq)
    known, rough = 0, 0
    sample_states(model, samples, Q, V, work)
    for piece in range(SCAN.samples):
        if piece / SCAN.samples >= limit:
            return NONE
        while known <= SCAN.samples and (known <= piece + 3 or known < 5) and rough == 0:
            values = head(sample_of(own, ne, known), ne)
            model.switch(
                t + known / SCAN.samples * h,
                row_of(states, known, nq),
                row_of(velocities, known, nv),
                model.par,
                values,
            )
            known += 1
        if rough == 0:
            seen = judge_events(model, c, t, h, Q, V, piece, fired, work)
            if seen == SHOWN.quiet:
                continue
            if seen == SHOWN.rough:
                rough = 1
                for sample in range(SCAN.samples + 1):
                    events_and_rates(model, c, t, h, sample / SCAN.samples, Q, V, sample_of(own, ne, sample), work)
                began, first = began_of(model, n, work), sample_of(own, ne, 0)
                for k in range(ne):
                    if piece == 0 and fired[k] != 1.0:
                        first[k] = began[k]  # the same value with other rounding is no value of a little later
                    for sample in range(SCAN.samples + 1):
                        own[k] = larger(own[k], SCAN.faster * abs(sample_of(own, ne, sample)[ne + k]))
        place = cross_zero(model, c, t, h, Q, V, piece, rough, found, work)
        if place < NONE:
            return place if place <= limit else NONE
    return NONE


@unit(A(MODEL, I, A), small=True)
def began_of(model, n, work):
    """Return where the values of event functions at the beginning of a step stand."""
    layout = model.layout
    at = 2 * n + layout.nq + layout.nv + layout.nc + layout.nj + layout.nw + layout.nr + layout.ne
    return head(tail(work, at), layout.ne)


@unit(I(MODEL, A, F, F, A, A, I, A, A))
def judge_events(model, c, t, h, Q, V, piece, fired, work):
    """Return what a piece between two samples may hide: SHOWN.quiet, SHOWN.loud (a crossing), or SHOWN.rough functions.

    out     rates at both ends of the piece by differences, a bound of the rates; began: values where the step begins
    """
    ne, n, step, loud, rough = model.layout.ne, c.shape[0], h / SCAN.samples, 0, 0
    own, values, began = own_of(model, n, work), event_values(model, work, n), began_of(model, n, work)
    before, after, probe = sample_of(own, ne, piece), sample_of(own, ne, piece + 1), tail(entry_of(own, ne, 0), 2)
    table, fastest, ends = tail(own, 3 * ne), own, piece == 0 or piece == SCAN.samples - 1
    if ends:  # polynomials are fastest there
        s = piece / SCAN.samples + SCAN.off / SCAN.samples
        weigh(c, s, work)
        switch_values(model, head(tail(work, n), n), t + s * h, Q, V, head(probe, ne), work)
    if piece == 0:
        weigh(c, SCAN.little, work)
        switch_values(model, head(tail(work, n), n), t + SCAN.little * h, Q, V, values, work)
    for k in range(ne):
        d_0 = before[ne + k] * step if piece > 0 else difference(table, ne, 0, k)
        d_1 = difference(table, ne, piece + 1, k)
        before[ne + k], after[ne + k] = d_0 / step, d_1 / step
        f_0, f_1, rate, change = before[k], after[k], 0.0, abs(d_0) + abs(d_1)
        if piece == 0:
            began[k] = values[k] if fired[k] == 1.0 or f_0 == 0.0 else f_0
            rate = (values[k] - f_0) / (SCAN.little * SCAN.samples)
            if abs(rate - d_0) > SCAN.deviation * (change + abs(rate)):
                rough = 1
        if ends:
            if abs(probe[k] - cubic(f_0, d_0, f_1, d_1, SCAN.off)) > SCAN.distance * change:
                rough = 1
            rate = larger(abs(rate), abs(probe[k] - f_0) / SCAN.off)
        fastest[k] = SCAN.faster * abs(rate) / step
        sign = 1.0 if f_0 + f_1 > 0.0 else -1.0
        rough |= is_rough(sign * f_0, sign * d_0, sign * f_1, sign * d_1, 0.0)
        if (fired[k] == 1.0 and piece == 0) or not f_0 * f_1 > 0.0:
            loud = 1
        loud |= is_loud(sign * f_0, sign * d_0, sign * f_1, sign * d_1, 0.0)
    if rough == 1:
        return SHOWN.rough
    return SHOWN.loud if loud == 1 else SHOWN.quiet


@unit(F(MODEL, A, F, F, A, A, I, I, J, A))
def cross_zero(model, c, t, h, Q, V, piece, rough, found, work):
    """Return the first place of a piece at which an event function crosses zero, or NONE; see `close_gaps`."""
    ne, n = model.layout.ne, c.shape[0]
    own = own_of(model, n, work)
    fastest, left, s_0, top = head(own, ne), head(tail(own, ne), 2 * ne), piece / SCAN.samples, 0
    begin_piece(own, ne, piece, began_of(model, n, work), 1 if piece == 0 else 0)
    while top >= 0:
        entry = entry_of(own, ne, top)
        s_1, right = entry[0], tail(entry, 2)
        # rates of few places may be too slow for a bound: it serves for short pieces only
        step, divide, wide = (s_1 - s_0) * h, 0, s_1 - s_0 > 0.3 / SCAN.samples
        for k in range(ne):
            sign = 1.0 if left[k] > 0.0 else -1.0
            f_0, f_1, u_0, u_1 = sign * left[k], sign * right[k], sign * left[ne + k], sign * right[ne + k]
            if rough == 1 and entry[1] == 0.0:
                divide |= 1 if wide else may_vanish(f_0, u_0, f_1, u_1, step, fastest[k], 0.0)
            elif left[k] != 0.0 and HIDDEN.split == shape(f_0, u_0 * step, f_1, u_1 * step, 0.0):
                divide = 1
        if divide == 1 and s_1 - s_0 > SCAN.narrowest:
            top += 1
            halve_events(model, c, t, h, Q, V, s_0, top, rough, work)
            continue
        place = crossing_in(model, c, t, h, Q, V, s_0, found, entry, work)
        if place < NONE:
            return place
        copy(right, left)
        s_0 = s_1
        top -= 1
    return NONE


@unit(I(MODEL, A, F, F, A, A, F, I, I, A))
def halve_events(model, c, t, h, Q, V, s_0, top, rough, work):
    """Put the left part of the piece below the top of the stack on it, and say whether cubics describe both."""
    ne, own = model.layout.ne, own_of(model, c.shape[0], work)
    fastest, left, entry, new = own, head(tail(own, ne), 2 * ne), entry_of(own, ne, top - 1), entry_of(own, ne, top)
    s_1, right, middle = entry[0], tail(entry, 2), tail(new, 2)
    step, share, settled = (s_1 - s_0) * h, SCAN.off if s_1 - s_0 > 0.9 / SCAN.samples else 0.5, 1.0
    s, wide = s_0 + share * (s_1 - s_0), s_1 - s_0 > 0.3 / SCAN.samples
    events_and_rates(model, c, t, h, s, Q, V, middle, work)
    if rough == 1:
        for k in range(ne):
            sign = 1.0 if left[k] > 0.0 else -1.0
            fastest[k] = larger(fastest[k], SCAN.faster * abs(middle[ne + k]))
            near = may_vanish(
                sign * left[k], sign * left[ne + k], sign * right[k], sign * right[ne + k], step, fastest[k], 0.0
            )
            if (wide or near == 1) and unresolved(
                left[k], left[ne + k] * step, right[k], right[ne + k] * step, share, middle[k], middle[ne + k] * step,
                0.0,
            ) == 1:  # fmt: skip
                settled = 0.0
    new[0], new[1] = s, settled
    entry[1] = settled
    return 0


@unit(F(MODEL, A, F, F, A, A, F, J, A, A))
def crossing_in(model, c, t, h, Q, V, s_0, found, entry, work):
    """Return the first place at which an event function crosses zero in a piece that cubics describe, or NONE."""
    ne, own, best = model.layout.ne, own_of(model, c.shape[0], work), NONE
    left, first, s_1, right = head(tail(own, ne), 2 * ne), sample_of(own, ne, 0), entry[0], tail(entry, 2)
    step = (s_1 - s_0) * h
    for k in range(ne):
        low = SCAN.little if s_0 == 0.0 and left[k] != first[k] else s_0
        sign = 1.0 if left[k] > 0.0 else -1.0
        place = NONE
        if sign * right[k] <= 0.0:
            place = crossing_place(model, c, t, h, low, s_1, left[k], right[k], Q, V, k, work)
        elif left[k] != 0.0 and HIDDEN.dip == shape(
            sign * left[k], sign * left[ne + k] * step, sign * right[k], sign * right[ne + k] * step, 0.0
        ):
            lowest = root(model, c, t, h, low, s_1, Q, V, k, WATCHED.event_rate, work)
            value = watched_at(model, c, t, h, lowest, Q, V, k, WATCHED.event, work)
            if sign * value < 0.0:
                place = crossing_place(model, c, t, h, low, lowest, left[k], value, Q, V, k, work)
                if place == NONE:
                    place = crossing_place(model, c, t, h, lowest, s_1, value, right[k], Q, V, k, work)
        if place < best:
            best = place
            found[0] = k
    return best
