"""The force of a state, remembered until it is asked for at another one.

An impact, the index set behind it and the forecast of the next flight ask for the force of the same state.
"""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, RECORD, A, F, I
from saltus.lasting.workspace import LASTING
from saltus.memory.vectors import copy


@unit(I(MODEL, F, A, A, LASTING.kind, RECORD))
def find_force(model, t, q, v, work, record):
    """Write the force of a state to work.f.

    Where functions have branches (ns), these may change at a place, and the force with them.
    """
    layout, last, f = model.layout, work.asked, work.f
    same = last.when.known == 1.0 and last.when.t == t and layout.ns == 0
    for i in range(layout.nq):
        same = same and last.q[i] == q[i]
    for i in range(layout.nv):
        same = same and last.v[i] == v[i]
    if same:
        copy(last.f, f)
        return 0
    model.force(t, q, v, model.par, f)
    record.counters.force_calls += 1
    last.when.known, last.when.t = 1.0, t
    copy(q, last.q)
    copy(v, last.v)
    copy(f, last.f)
    return 0
