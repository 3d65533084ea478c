"""evaluate: one unit of a model at one state, called from Python, to be held against the user's function."""

from __future__ import annotations

from saltus.compile.seam import unit, vec
from saltus.compile.types import MODEL, A, F, I
from saltus.layout import NC, NE, NJ, NQ, NR, NV, NW, SIZE

MASS, FORCE, GAPS, ROWS, RATE, RETRACTED, SWITCHES, RESET = range(8)  # RESET + k: the reset of event k


@unit(I(MODEL, I, F, A, A, A), entry=True)
def evaluate(model, which, t, q, v, out):
    """Write what a unit gives at a state: ROWS the entries of W and then w, RESET the new q and then the new v."""
    layout, par = model.layout, model.par
    nq, nv, nw = layout[NQ], layout[NV], layout[NW]
    if which == MASS:
        return model.mass(t, q, par, vec(out, 0, layout[SIZE]))
    if which == FORCE:
        return model.force(t, q, v, par, vec(out, 0, nv))
    if which == GAPS:
        return model.gap(t, q, par, vec(out, 0, layout[NC] + layout[NJ]))
    if which == ROWS:
        return model.kinematics(t, q, par, vec(out, 0, nw), vec(out, nw, layout[NR]))
    if which == RATE:
        return model.rate(q, v, par, vec(out, 0, nq))
    if which == SWITCHES:
        return model.switch(t, q, v, par, vec(out, 0, layout[NE]))
    for i in range(nq):
        out[i] = q[i]
    if which == RETRACTED:
        return model.retract(vec(out, 0, nq), par)
    for i in range(nv):
        out[nq + i] = v[i]
    return model.reset(which - RESET, t, vec(out, 0, nq), vec(out, nq, nv), par)
