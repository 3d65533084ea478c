"""Surfaces that an accumulation of impacts would pass: a corner of its wall, the end of a force, an event of the user.

An accumulation stands for bounces that nobody sees, under laws that do not change meanwhile. Behind a surface other
laws hold: bounces that reach it are made one by one, until the next accumulation ends before it or lies behind it.
"""

from __future__ import annotations

from saltus.compile.seam import head, tail, unit
from saltus.compile.types import LAYOUT, MODEL, A, F, I
from saltus.flight.frame import FRAME
from saltus.flight.modes import MODE
from saltus.lasting.interval import STAGE_SETTINGS, closed_gap

PLACES = 8  # of an accumulation at which surfaces are looked at, its end included: waves of time cross them twice
BLUR = 4.0  # over what rest and closed gaps make of an event function: within it has no sign


@unit(I(MODEL, A, F, FRAME.kind))
def passes_surface(model, settings, begin, frame):
    """Return 1 where a switching function or an event function has another sign inside of an accumulation.

    in      frame: q, v of its ends where it begins; micro: v, moved, summary: its end, by `accumulate`
    """
    layout, par = model.layout, model.par
    nq, nv, ns, ne = layout.nq, layout.nv, layout.ns, layout.ne
    if ne == 0:
        return 0
    q, v, v_last, moved = frame.ends.q, frame.ends.v, frame.micro.v, frame.micro.moved
    q_now, v_now, way = frame.q_middle, frame.v_middle, frame.force
    scan = frame.scan
    first, blur, now = head(scan, ne), head(tail(scan, ne), ne), head(tail(scan, 2 * ne), ne)
    surfaces = head(tail(scan, 2 * ne), 3 * ns + 1)
    event_signs(model, settings, begin, q, v, first, blur, q_now, v_now)
    for place in range(1, PLACES + 1):
        s = place / PLACES
        for i in range(nv):
            v_now[i], way[i] = v[i] + s * (v_last[i] - v[i]), s * moved[i]
        model.rate(q, way, par, q_now)
        for i in range(nq):
            q_now[i] += q[i]
        model.retract(q_now, par)
        t = begin + s * frame.micro.summary.duration
        if ne > ns:
            model.switch(t, q_now, v_now, par, now)
            for k in range(ne - ns):
                if abs(first[k]) > blur[k] and abs(now[k]) > blur[k] and first[k] * now[k] < 0.0:
                    return 1
        if ns > 0:
            model.surface(t, q_now, v_now, par, surfaces)
            if leaves_branch(layout, par, frame.memory.modes, -1, surfaces) == 1:
                return 1
    return 0


@unit(I(MODEL, A, F, A, A, A, A, A, A))
def event_signs(model, settings, t, q, v, values, blur, q_near, v_near):
    """Write all event functions, and by how much what counts as closed and as rest changes them."""
    settings = STAGE_SETTINGS(settings)
    layout = model.layout
    near = closed_gap(settings, q)
    for i in range(layout.nq):
        q_near[i] = q[i] + near
    for i in range(layout.nv):
        v_near[i] = v[i] + settings.rest
    model.switch(t, q, v, model.par, values)
    model.switch(t, q_near, v_near, model.par, blur)
    for k in range(layout.ne):
        blur[k] = BLUR * abs(blur[k] - values[k])
    return 0


@unit(I(LAYOUT, A, A, I, A))
def leaves_branch(layout, par, modes, skipped, surfaces):
    """Return 1 where a switching function has left the branch that is held: its sign, or the cell of its table.

    skipped: one that is known to do so, or -1; surfaces: values, blurs and cells, as `surface` of a model writes them
    """
    ns, table = layout.ns, layout.switch_table
    for k in range(ns):
        slot, kind, mode = layout[table + 2 * k], layout[table + 2 * k + 1], modes[k]
        value, blur = surfaces[k], surfaces[ns + k]
        if k == skipped or not abs(mode) < 1e300 or blur < 0.0 or (kind != MODE.sign and par[slot + 1] == 1.0):
            continue  # nothing depends on it, it jumps with others, or the knots of a table are passed
        side = mode * value if kind == MODE.sign else value
        if side < -blur:
            return 1
    return 0
