"""End of an interval: solve the impact law for closed contacts (`border`), then project q and v onto what is held."""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import handle, larger, smaller, unit, whole
from saltus.compile.types import MODEL, REACTION, RECORD, Directions, F, I
from saltus.lasting.held_rows import factor_held, solve_held
from saltus.lasting.hold import rest_speed
from saltus.lasting.index_set import INDEX
from saltus.lasting.masses import factored_masses
from saltus.lasting.workspace import ENDS, LASTING
from saltus.memory.profile import solve_row
from saltus.memory.vectors import clear, copy, largest
from saltus.reaction.impacts import restitute, returned
from saltus.reaction.react import ASKED, row_add, row_dot
from saltus.status import Status


class _By(NamedTuple):
    """Which velocity restitution looks at."""

    # impact laws: which velocity restitution looks at
    rest: int = 0
    previous: int = 1
    left: int = 2


BY = _By()


class _Projected(NamedTuple):
    """How far a contact is held by `project`."""

    normal: int = 1
    whole: int = 2


PROJECTED = _Projected()

UNSEEN = 100.0  # of the tolerance: larger gaps are put back once at least
MOST_PROJECTIONS = 20  # they converge quadratically


@unit(I(MODEL, REACTION, F, F, F, I, ENDS.kind, LASTING.kind, RECORD))
def border(model, reaction, t, h, rest_tolerance, law, ends, work, record):
    """Solve the law on velocity level for the contacts that are closed at the end of an interval, and the joints.

    model / reaction
    in      h: length of the whole interval, by which the law "rest" tells a hop from a bounce; ends: q; v: velocity
            without impulse; a: acceleration there; u_start: row velocities at the beginning (law "previous"); closed: 1
            per contact that takes part
    out     ends: v_new; P; u_minus, u_plus: row velocities before and after; info
    """
    layout, par = model.layout, model.par
    nc, nr = layout.nc, layout.nr
    q, v, v_new, P, u_minus = ends.q, ends.v, ends.v_new, ends.P, ends.u_minus
    lu, W, w, zeta, target = work.lu, work.W, work.w, work.zeta, work.target
    status = factored_masses(model, t, q, work)
    if status != 0:
        return status
    model.kinematics(t, q, par, W, w)
    if law == BY.rest:
        model.curvature(t, q, v, par, zeta)
    for i in range(nr):
        u_minus[i] = row_dot(layout, W, i, v) + w[i]
        target[i] = w[i]
        P[i] = 0.0
    for c in range(nc):
        row, e = layout[layout.contact_row + c], model.e[c]
        if ends.closed[c] == 0:
            continue
        # what separates already has nothing to restitute
        speed = ends.u_start[row] if law == BY.previous else smaller(u_minus[row], 0.0)
        if law == BY.rest:
            pressed = row_dot(layout, W, row, ends.a) + zeta[row]
            if pressed < 0.0 and -2.0 * e * u_minus[row] <= -h * pressed:
                speed = 0.0  # it would be back within the interval: it comes to rest
        still = rest_speed(rest_tolerance, layout, W, row, v)
        restitute(model, c, speed, 1 if speed < -still else 0, u_minus, target)
        if ends.index[c] == INDEX.impulsive:  # it jams without a collision: the approach was only waited for
            target[row] -= returned(model, c) * speed
    copy(v, v_new)
    status = reaction.react(
        model, reaction.solver, lu, handle(Directions(W, W, W)), target, ends.closed, ASKED.impact, v_new, P, ends.info,
        work.react,
    )  # fmt: skip
    record.counters.sweeps += whole(ends.info[1])
    for i in range(nr):
        ends.u_plus[i] = row_dot(layout, W, i, v_new) + w[i]
    return status


@unit(I(MODEL, F, F, ENDS.kind, LASTING.kind))
def project(model, tolerance, t, ends, work):
    """Move q onto the joints and held contacts by the shortest way in the metric of M, then v.

    in/out  ends: q, v; held: PROJECTED.normal or PROJECTED.whole (with friction rows) per contact that is held
    out     ends: corrected: impulses of the velocity correction are added; g: gaps and constraints at the new q
    """
    layout, par = model.layout, model.par
    q, v, P, move, q_dot = ends.q, ends.v, ends.corrected, work.f, work.q_dot
    X, x, rows, redundant = work.X, work.x, work.rows, 0
    for attempt in range(MOST_PROJECTIONS + 2):
        model.gap(t, q, par, ends.g)
        allowed = tolerance * (1.0 + largest(q))
        if attempt == 0:  # coordinates may be large that no gap is made of, as angles of many turns
            allowed = smaller(allowed, UNSEEN * tolerance)
        velocities = farthest_held(model, ends, layout.nc) <= allowed or attempt > MOST_PROJECTIONS
        if velocities and farthest_held(model, ends, 0) > allowed:
            return Status.JOINTS_CONTRADICT if redundant > 0 else Status.DRIFT_STALLED
        status = factored_masses(model, t, q, work)
        if status != 0:
            return status
        model.kinematics(t, q, par, work.W, work.w)
        n = put_rows(model, 1 if velocities else 0, ends, work)
        for i in range(n):
            solve_row(layout, work.lu, work.W, rows[i], X, work.column)
        redundant = factor_held(model, n, work)
        work.held.redundant = redundant
        # redundant contacts of a tilted body may disagree while they penetrate: then this is the best compromise
        solve_held(model, n, work)
        if velocities:
            for i in range(n):
                row_add(layout, X, rows[i], x[i], v)
                P[rows[i]] += x[i]
            return 0
        clear(move)
        for i in range(n):
            row_add(layout, X, rows[i], x[i], move)
        model.rate(q, move, par, q_dot)
        for i in range(layout.nq):
            q[i] += q_dot[i]
        model.retract(q, par)
    return 0


@unit(F(MODEL, ENDS.kind, I))
def farthest_held(model, ends, contacts):
    """Return how far the joints, and so many contacts as far as they are held, are from their place [m]."""
    nc, worst = model.layout.nc, 0.0
    for c in range(contacts):
        if ends.held[c] != 0:
            worst = larger(worst, abs(ends.g[c]))
    for j in range(model.layout.nj):
        worst = larger(worst, abs(ends.g[nc + j]))
    return worst


@unit(I(MODEL, I, ENDS.kind, LASTING.kind))
def put_rows(model, velocities, ends, work):
    """List the rows that are put back, with what they lack of velocity or of position in work.b; return how many."""
    layout, W, w, b, rows, n = model.layout, work.W, work.w, work.b, work.rows, 0
    nc, nj, nr = layout.nc, layout.nj, layout.nr
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if ends.held[c] == 0:
            continue
        for i in range(row, end if velocities == 1 and ends.held[c] == PROJECTED.whole else row + 1):
            rows[n] = i
            b[n] = -(row_dot(layout, W, i, ends.v) + w[i]) if velocities == 1 else -ends.g[c]
            n += 1
    for j in range(nj):
        i = nr - nj + j
        rows[n] = i
        b[n] = -(row_dot(layout, W, i, ends.v) + w[i]) if velocities == 1 else -ends.g[nc + j]
        n += 1
    return n


@unit(I(MODEL, ENDS.kind))
def held_set(model, ends):
    """Write how far every contact is held at a border; return whether anything is, joints included."""
    nc, anything = model.layout.nc, model.layout.nj > 0
    index, resting, held = ends.index, ends.resting, ends.held
    for c in range(nc):
        held[c] = 0
        if index[c] == INDEX.slip or index[c] == INDEX.stick or resting[c] == 1:
            held[c] = PROJECTED.whole if index[c] == INDEX.stick or ends.stopped[c] == 1 else PROJECTED.normal
            anything = True
    return 1 if anything else 0
