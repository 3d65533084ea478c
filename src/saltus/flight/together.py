"""Events of the user that happen together: the flight ends with one of them, and the next one would miss the others."""

from __future__ import annotations

from saltus.compile.seam import head, larger, tail, unit, whole
from saltus.compile.types import MODEL, A, F, I
from saltus.flight.frame import FLIGHT_END, FRAME
from saltus.flight.passed import event_signs

SAME_TIME = 1e-12  # of a flight: events that lie nearer to each other happen together
TOGETHER_ROUNDING = 4e-16  # of a time
TANGENT = 1e-3  # of a flight: how far along its tangent the beginning of an event function is looked at
QUARTERS = 30  # of that at the most


@unit(I(MODEL, A, F, F, I, FRAME.kind))
def cross_together(model, settings, t, size, which, frame):
    """Mark as FIRED the events that cross zero together with the one that ends the flight.

    Nothing happened before in this flight, so that another sign a little behind its end means a crossing there; at the
    beginning of the next flight there is no sign left to change. The sign of an event that fired where the flight began
    is not known there; a branch that holds is positive from its beginning on. What has leapt over zero where other
    branches begin has crossed it, too.
    """
    layout, par = model.layout, model.par
    nq, nv, ne = layout.nq, layout.nv, layout.ne
    scan, fired, leapt = frame.scan, frame.memory.fired, frame.memory.leapt
    began, values = head(scan, ne), head(tail(scan, ne), ne)
    q, v, a = frame.ends.q, frame.ends.v, frame.a_last
    q_later, v_later = frame.q_shifted, frame.v_try
    ahead = SAME_TIME * size + TOGETHER_ROUNDING * abs(t + size)
    model.switch(t, frame.ends.q_0, frame.ends.v_0, par, began)
    model.rate(q, v, par, q_later)
    for i in range(nq):
        q_later[i] = q[i] + ahead * q_later[i]
    for i in range(nv):
        v_later[i] = v[i] + ahead * a[i]
    model.switch(t + size + ahead, q_later, v_later, par, values)
    for k in range(ne):
        way = layout[layout.event_table + 3 * k]
        rises, falls = began[k] < 0.0 and values[k] >= 0.0, began[k] > 0.0 and values[k] <= 0.0
        crosses = (rises and way >= 0) or (falls and way <= 0)
        known = fired[k] == 0.0 or k >= ne - layout.ns
        fired[k] = 1.0 if k == which or (crosses and known) or leapt[k] == 1.0 else 0.0
        leapt[k] = 0.0
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def leap_over_zero(model, settings, t, frame):
    """Mark the events of the user that a change of branches leads over zero, or away from it; they fire at once.

    in      frame.signs: event functions before the change
    """
    layout, scan, leapt, before = model.layout, frame.scan, frame.memory.leapt, frame.signs
    ne = layout.ne
    after, blur = head(scan, ne), head(tail(scan, ne), ne)
    event_signs(model, settings, t, frame.ends.q, frame.ends.v, after, blur, frame.q_shifted, frame.v_try)
    for k in range(ne - layout.ns):
        way, change = layout[layout.event_table + 3 * k], after[k] - before[k]
        over = before[k] * after[k] <= 0.0 and abs(change) > blur[k] and larger(abs(before[k]), abs(after[k])) > blur[k]
        leapt[k] = 1.0 if over and way * change >= 0.0 and frame.memory.fired[k] == 0.0 else 0.0
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def comes_back_unseen(model, settings, t, frame):
    """Return 1 where a reset at the beginning of a flight sent an event function back, which crossed zero again unseen.

    So the bounces of a reset that takes a part of the speed end: the next one is too short or too low to be seen, and
    the motion would go on behind it.
    """
    layout, scan, ends, marks = model.layout, frame.scan, frame.ends, frame.marks
    ne, known = layout.ne, False
    began, blur = head(scan, ne), head(tail(scan, ne), ne)
    last, values = head(tail(scan, 2 * ne), ne), head(tail(scan, 3 * ne), ne)
    for k in range(ne - layout.ns):
        row = layout.event_table + 3 * k
        resets = layout[row + 2] == 1 and frame.memory.fired[k] == 1.0
        if not resets or (whole(marks.event_kind) == FLIGHT_END.crosses and whole(marks.which) == k):
            continue
        if not known:
            event_signs(model, settings, t, ends.q_0, ends.v_0, began, blur, frame.q_shifted, frame.v_try)
            model.switch(t + marks.length, ends.q, ends.v, model.par, last)
            known = True
        way, behind = layout[row], abs(last[k]) > blur[k] and abs(began[k]) <= blur[k]
        if behind and way * last[k] >= 0.0 and tangent_of(model, t, k, began, values, frame) * last[k] < 0.0:
            return 1
    return 0


@unit(F(MODEL, F, I, A, A, FRAME.kind))
def tangent_of(model, t, which, began, values, frame):
    """Return a change of an event function along the tangent of the motion where a flight begins, 0 if none is sure.

    It is in proportion to the time along the tangent, which rounding is not at several places.
    """
    layout, ends, q, v, s = model.layout, frame.ends, frame.q_shifted, frame.v_try, TANGENT * frame.marks.length
    later, alike = 0.0, 0
    for _ in range(QUARTERS):
        model.rate(ends.q_0, ends.v_0, model.par, q)
        for i in range(layout.nq):
            q[i] = ends.q_0[i] + s * q[i]
        for i in range(layout.nv):
            v[i] = ends.v_0[i] + s * frame.nodes.a[i]
        model.switch(t + s, q, v, model.par, values)
        change = values[which] - began[which]
        alike = alike + 1 if later * change > 0.0 and 2.0 * abs(change) < abs(later) < 8.0 * abs(change) else 0
        if alike == 2:
            return change
        later = change
        s *= 0.25
    return 0.0
