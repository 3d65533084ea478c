"""Scanning the dense output of a step for the first time at which something happens.

Dense output is positions and velocities at the nodes of a step, polynomials between them. Gaps are sampled together
with their rates: between two samples a gap can only dip below zero where both tangents do, and there it is looked at
closely. A gap that begins at zero (a contact that was just left) is followed towards the beginning by halving.
"""

from __future__ import annotations

from saltus.compile.seam import larger, smaller, unit, vec
from saltus.compile.types import MODEL, A, F, I, J
from saltus.events.index_set import SLIP, STICK
from saltus.events.polynomial import NONE, combine, lagrange_weights
from saltus.layout import CONTACT_ROW, EVENT_TABLE, NC, NE, NJ, NQ, NR, NV, NW
from saltus.reaction import row_dot

SAMPLES = 16  # per step; its polynomials have degree 7 or so
HALVINGS = 50  # towards the beginning of a flight
NARROW = 5e-16  # width of a bracket at the end
REFINEMENTS = 80  # of a bracket, Illinois with bisection: far more than it takes


def scan_work(layout, n: int) -> int:
    """Return the floats that the scanners need for n nodes."""
    nq, nv, nc, nj, nr, ne = (int(layout[k]) for k in (NQ, NV, NC, NJ, NR, NE))
    return n + nq + nv + 3 * (nc + nj) + nr + int(layout[NW]) + 2 * nc + 3 * ne


@unit(F(MODEL, A, F, F, F, A, A, I, I, A))
def watched_at(model, c, t, h, s, Q, V, which, kind, work):
    """Return a gap (kind 0), the rate of a gap (1) or a user's event function (2) at the place s."""
    layout = model.layout
    nq, nv, nc, nj, nr, n = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR], c.shape[0]
    weights, q, v = vec(work, 0, n), vec(work, n, nq), vec(work, n + nq, nv)
    at = n + nq + nv
    lagrange_weights(c, s, weights)
    combine(weights, Q, q)
    if kind == 0:
        g = vec(work, at, nc + nj)
        model.gap(t + s * h, q, model.par, g)
        return g[which]
    combine(weights, V, v)
    if kind == 2:
        values = vec(work, work.shape[0] - layout[NE], layout[NE])
        model.switch(t + s * h, q, v, model.par, values)
        return values[which]
    W, w = vec(work, at + nc + nj, layout[NW]), vec(work, at + nc + nj + layout[NW], nr)
    model.kinematics(t + s * h, q, model.par, W, w)
    row = layout[layout[CONTACT_ROW] + which]
    return row_dot(layout, W, row, v) + w[row]


@unit(F(MODEL, A, F, F, F, F, A, A, I, I, A))
def root(model, c, t, h, low, high, Q, V, which, kind, work):
    """Return the place between low and high, where the watched value has two signs, at which it vanishes.

    Of two neighbouring places the one behind the root, so that the value has its new sign.
    """
    below = watched_at(model, c, t, h, low, Q, V, which, kind, work)
    above = watched_at(model, c, t, h, high, Q, V, which, kind, work)
    a, b = below, above
    for k in range(REFINEMENTS):
        if high - low <= 2.0 * NARROW:
            break
        middle = 0.5 * (low + high)
        if k % 3 != 2 and a != b:
            middle = high - b * (high - low) / (b - a)
            # a step beyond the root closes the bracket from its other side
            middle = larger(low + NARROW, smaller(high - NARROW, middle))
        if not low < middle < high:
            break
        value = watched_at(model, c, t, h, middle, Q, V, which, kind, work)
        if value == 0.0:
            return middle
        if (value > 0.0) == (above > 0.0):
            high, b, a = middle, value, 0.5 * a
        else:
            low, a, b = middle, value, 0.5 * b
    return high


@unit(F(MODEL, A, A, F, F, A, A, J, F, J, A))
def first_closing(model, c, samples, t, h, Q, V, index, slack, found, work):
    """Return the first place at which the gap of a contact that is not held falls through zero, or NONE.

    samples: weights of the nodes at SAMPLES + 1 places from 0 to 1; slack: depth [m] up to which a gap is not yet an
    event; found[0]: the contact. 0.0 is returned for a contact that never opens: it closes again where the step begins.
    """
    layout = model.layout
    nq, nv, nc, nj, nr, n = layout[NQ], layout[NV], layout[NC], layout[NJ], layout[NR], c.shape[0]
    q, v = vec(work, n, nq), vec(work, n + nq, nv)
    at = n + nq + nv
    g, W, w = (
        vec(work, at, nc + nj),
        vec(work, at + nc + nj, layout[NW]),
        vec(work, at + nc + nj + layout[NW], nr),
    )
    at += nc + nj + layout[NW] + nr
    g_last, u_last, u = vec(work, at, nc + nj), vec(work, at + nc + nj, nc), vec(work, at + nc + nj + nc, nc)
    best = NONE
    for sample in range(SAMPLES + 1):
        s = sample / SAMPLES
        weights = vec(samples, sample * n, n)
        combine(weights, Q, q)
        combine(weights, V, v)
        model.gap(t + s * h, q, model.par, g)
        model.kinematics(t + s * h, q, model.par, W, w)
        for k in range(nc):
            row = layout[layout[CONTACT_ROW] + k]
            u[k] = row_dot(layout, W, row, v) + w[row]
        if sample > 0:
            before, step = (sample - 1) / SAMPLES, h / SAMPLES
            for k in range(nc):
                if index[k] == SLIP or index[k] == STICK:
                    continue
                low, high, value = before, s, g[k]
                if value >= -slack and u_last[k] < 0.0 and u[k] > 0.0:
                    # tangents that meet below zero: look at the lowest place
                    meet = (g_last[k] - value + u[k] * step) / (u[k] - u_last[k])
                    if g_last[k] + u_last[k] * meet < 0.0:
                        high = root(model, c, t, h, before, s, Q, V, k, 1, work)
                        value = watched_at(model, c, t, h, high, Q, V, k, 0, work)
                        combine(weights, Q, q)
                        combine(weights, V, v)
                        model.gap(t + s * h, q, model.par, g)
                if value >= -slack:
                    continue
                place = 0.0
                if before > 0.0 or g_last[k] > slack:
                    place = before
                    if g_last[k] > 0.0:
                        place = root(model, c, t, h, low, high, Q, V, k, 0, work)
                else:  # it begins at zero, up to rounding
                    low = high
                    for _ in range(HALVINGS):
                        low *= 0.5
                        if watched_at(model, c, t, h, low, Q, V, k, 0, work) > 0.0:
                            place = root(model, c, t, h, low, 2.0 * low, Q, V, k, 0, work)
                            break
                combine(weights, Q, q)  # the sample again: work is shared
                combine(weights, V, v)
                model.gap(t + s * h, q, model.par, g)
                if place < best:
                    best = place
                    found[0] = k
            if best < NONE:
                return best
        for k in range(nc):
            g_last[k], u_last[k] = g[k], u[k]
    return best


@unit(F(MODEL, A, A, F, F, A, A, A, F, J, A))
def first_switch(model, c, samples, t, h, Q, V, fired, limit, found, work):
    """Return the first place up to `limit` at which a user's event function crosses zero in its direction, or NONE.

    fired: 1 per event that happened where the step begins; its sign is read a little later.
    """
    layout = model.layout
    nq, nv, ne, n = layout[NQ], layout[NV], layout[NE], c.shape[0]
    q, v = vec(work, n, nq), vec(work, n + nq, nv)
    at = work.shape[0] - 3 * ne
    last, places, values = vec(work, at, ne), vec(work, at + ne, ne), vec(work, at + 2 * ne, ne)
    best = NONE
    for sample in range(SAMPLES + 1):
        s = sample / SAMPLES
        if sample == 0:
            for k in range(ne):
                places[k] = 1e-6 / SAMPLES if fired[k] == 1.0 else 0.0
                last[k] = watched_at(model, c, t, h, places[k], Q, V, k, 2, work)
            continue
        weights = vec(samples, sample * n, n)
        combine(weights, Q, q)
        combine(weights, V, v)
        model.switch(t + s * h, q, v, model.par, values)
        for k in range(ne):
            direction = layout[layout[EVENT_TABLE] + 3 * k]
            value = values[k]
            crosses = (last[k] < 0.0 and value >= 0.0 and direction >= 0) or (
                last[k] > 0.0 and value <= 0.0 and direction <= 0
            )
            if crosses:
                place = s if value == 0.0 else root(model, c, t, h, places[k], s, Q, V, k, 2, work)
                combine(weights, Q, q)
                combine(weights, V, v)
                model.switch(t + s * h, q, v, model.par, values)
                if place < best:
                    best = place
                    found[0] = k
            last[k], places[k] = value, s
        if best < NONE:
            return best if best <= limit else NONE
        if s >= limit:
            return NONE
    return best
