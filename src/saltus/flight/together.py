"""Events of the user that happen together: the flight ends with one of them, and the next one would miss the others."""

from __future__ import annotations

from saltus.compile.seam import head, larger, tail, unit
from saltus.compile.types import MODEL, A, F, I
from saltus.flight.frame import FRAME
from saltus.flight.passed import event_signs

SAME_TIME = 1e-12  # of a flight: events that lie nearer to each other happen together
TOGETHER_ROUNDING = 4e-16  # of a time


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
