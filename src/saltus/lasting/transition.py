"""Transitions of held contacts inside an interval: release, stop of a slip, break of a stick, by stage polynomials."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import larger, smaller, unit
from saltus.compile.types import LAYOUT, MODEL, A, F, I, J
from saltus.lasting.index_set import INDEX, WAY
from saltus.tables.polynomial import NONE, lagrange_weights


class _Transition(NamedTuple):
    """How a lasting contact changes."""

    # what ends an interval: a contact lets go, its slip comes to a stop, its stick breaks; or of forces that are not
    # unique none is left that the laws admit (flight/loss.py)
    released: int = 1
    stopped: int = 2
    broke: int = 3
    lost: int = 4


TRANSITION = _Transition()


class _Transitions(NamedTuple):
    """Tuned numbers of this file."""

    rounding: float = 1e-13  # of the largest forces and speeds: what is smaller has no sign
    bisections: int = 60
    # towards the lowest place between two samples
    golden_sections: int = 30
    golden: float = 0.6180339887498949


TRANSITIONS = _Transitions()


@unit(F(MODEL, I, I, A, A, A, A, I))
def watched(model, contact, kind, weights, direction, R, U, n):
    """Return what must stay positive, from stage values combined with weights.

    The normal force (TRANSITION.released), the slip in its first direction (TRANSITION.stopped), the room left in the
    cone (TRANSITION.broke).
    """
    layout = model.layout
    nr = layout.nr
    row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
    if kind == TRANSITION.stopped:
        slip = 0.0
        for k in range(n):
            for i in range(row + 1, end):
                slip += weights[k] * U[k * nr + i] * direction[2 * contact + i - row - 1]
        return slip
    normal, square = 0.0, 0.0
    for k in range(n):
        normal += weights[k] * R[k * nr + row]
    if kind == TRANSITION.released:
        return normal
    for i in range(row + 1, end):
        total = 0.0
        for k in range(n):
            total += weights[k] * R[k * nr + i]
        square += total * total
    return model.mu[contact] * normal - sqrt(square)


@unit(F(MODEL, I, I, A, A, A, A, F, F, A))
def first_below(model, contact, kind, c, direction, R, U, floor, before, weights):
    """Return the first place up to `before` at which what is watched falls below the floor, or NONE.

    Samples are the nodes and the places halfway between them; where one lies lower than both of its neighbours, the
    lowest place around it is looked for, so that no short excursion is passed.
    """
    n = c.shape[0]
    lagrange_weights(c, 0.0, weights)
    value = watched(model, contact, kind, weights, direction, R, U, n)
    earlier, early_value, low, low_value = 0.0, value, 0.0, value
    for sample in range(2 * (n - 1)):
        node = sample // 2 + 1
        s = smaller(0.5 * (c[node - 1] + c[node]) if sample % 2 == 0 else c[node], before)
        lagrange_weights(c, s, weights)
        value = watched(model, contact, kind, weights, direction, R, U, n)
        begin, high = low, s if value < floor else NONE
        bend = larger(early_value, value) - low_value
        if high == NONE and low_value < early_value and low_value <= value and low_value - bend < floor:
            # golden sections towards the lowest place
            left, right = earlier, s
            for _ in range(TRANSITIONS.golden_sections):
                first, second = right - TRANSITIONS.golden * (right - left), left + TRANSITIONS.golden * (right - left)
                lagrange_weights(c, first, weights)
                value_first = watched(model, contact, kind, weights, direction, R, U, n)
                lagrange_weights(c, second, weights)
                if value_first < watched(model, contact, kind, weights, direction, R, U, n):
                    right = second
                else:
                    left = first
            middle = 0.5 * (left + right)
            lagrange_weights(c, middle, weights)
            if watched(model, contact, kind, weights, direction, R, U, n) < floor:
                begin, high = earlier, middle
        if high < NONE:
            lagrange_weights(c, begin, weights)
            limit = 0.0
            # at the tip of its cone friction has no direction: a stick that begins there breaks where it is seen to
            if kind == TRANSITION.broke and not watched(model, contact, kind, weights, direction, R, U, n) > 0.0:
                limit = floor
            for _ in range(TRANSITIONS.bisections):
                middle = 0.5 * (begin + high)
                lagrange_weights(c, middle, weights)
                if watched(model, contact, kind, weights, direction, R, U, n) >= limit:
                    begin = middle
                else:
                    high = middle
            return high
        if s >= before:
            return NONE
        earlier, early_value, low, low_value = low, low_value, s, value
    return NONE


@unit(F(MODEL, A, J, A, A, A, F, F, J, J, A))
def transition(model, c, index, direction, R, U, speed, load, shared, found, weights):
    """Return the place s in (0, 1] of the first transition, or NONE; found: contact and kind.

    speed, load: of the motion [m/s] and of the forces before reactions [N], whose rounding counts as zero. shared: 1
    per contact whose forces are not unique, so that their signs mean nothing: flight/loss.py looks after them.
    """
    layout = model.layout
    nc, nr, n = layout.nc, layout.nr, c.shape[0]
    best = NONE
    for contact in range(nc):
        row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
        if index[contact] != INDEX.slip and index[contact] != INDEX.stick:
            continue
        force = load
        for k in range(n):
            force = larger(force, abs(R[k * nr + row]))
        for choice in range(2):
            kind = TRANSITION.released
            if shared[contact] == 1 and (choice == 0 or index[contact] == INDEX.stick):
                continue
            if choice == 1:
                if end - row == 1:
                    continue
                kind = TRANSITION.stopped if index[contact] == INDEX.slip else TRANSITION.broke
            floor = -TRANSITIONS.rounding * (speed if kind == TRANSITION.stopped else force)
            if kind == TRANSITION.stopped and direction[2 * nc + contact] == WAY.straight:
                # a slip from rest that goes straight on may lead back a little at first, where the force turns faster
                # than it grows: only where it ends tells whether it has begun
                lagrange_weights(c, smaller(best, 1.0), weights)
                if watched(model, contact, kind, weights, direction, R, U, n) >= floor:
                    continue
            place = first_below(model, contact, kind, c, direction, R, U, floor, smaller(best, 1.0), weights)
            if place < best:
                best = place
                found[0], found[1] = contact, kind
    return best


@unit(I(LAYOUT, A, F, F, F, I, A, A))
def stops(layout, c, s, rest, turns, contact, U, weights):
    """Return whether a slip that has no part left in its first direction at s stops there, or only turns away.

    rest: slip speed [m/s] that counts as none; turns: share of its first speed that a slip which stops may still have
    when it has turned by a right angle (the less, the better the polynomial).
    """
    row, end, nr = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1], layout.nr
    if end - row < 3:
        return 1
    start, now = 0.0, 0.0
    lagrange_weights(c, s, weights)
    for i in range(row + 1, end):
        slip = 0.0
        for k in range(c.shape[0]):
            slip += weights[k] * U[k * nr + i]
        start, now = start + U[i] * U[i], now + slip * slip
    return 1 if now <= larger(turns * turns * start, rest * rest) else 0


@unit(I(LAYOUT, I, A, A))
def break_direction(layout, contact, r, direction):
    """Write the direction in which a contact begins to slip, against its friction force; return 0 where it has none."""
    row, end, size = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1], 0.0
    for i in range(row + 1, end):
        size = larger(size, abs(r[i]))
    if size == 0.0:
        return 0
    length = 0.0
    for i in range(row + 1, end):
        length += (r[i] / size) ** 2
    for i in range(row + 1, end):
        direction[2 * contact + i - row - 1] = -r[i] / (size * sqrt(length))
    return 1
