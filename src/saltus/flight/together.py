"""Events of the user that happen together: the flight ends with one of them, and the next one would miss the others."""

from __future__ import annotations

from saltus.compile.seam import head, tail, unit
from saltus.compile.types import MODEL, A, F, I
from saltus.flight.frame import FRAME

SAME_TIME = 1e-12  # of a flight: events that lie nearer to each other happen together
TOGETHER_ROUNDING = 4e-16  # of a time


@unit(I(MODEL, A, F, F, I, FRAME.kind))
def cross_together(model, settings, t, size, which, frame):
    """Mark as FIRED the events that cross zero together with the one that ends the flight.

    Nothing happened before in this flight, so that another sign a little behind its end means a crossing there; at the
    beginning of the next flight there is no sign left to change. The sign of an event that fired where the flight began
    is not known there; a branch that holds is positive from its beginning on.
    """
    layout, par = model.layout, model.par
    nq, nv, ne = layout.nq, layout.nv, layout.ne
    scan, fired = frame.scan, frame.memory.fired
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
        fired[k] = 1.0 if k == which or (crosses and known) else 0.0
    return 0
