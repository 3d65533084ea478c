"""Accumulations of impacts: infinitely many of them in a finite time, followed with frozen coefficients.

Once all bounces of some contacts are slow and low, M, W and the laws hardly change until they end: the bounces are
followed in gap space, the acceleration linear in time, every impact by the contact law of all that is closed, so that
coupled contacts and friction keep their own ratios. No force is evaluated but one at the predicted end. The error is
of second order in the speed at which this begins.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import handle, larger, unit, whole
from saltus.compile.types import MODEL, REACTION, RECORD, A, Directions, F, I, J
from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.lasting.index_set import INDEX
from saltus.lasting.workspace import LASTING
from saltus.memory.vectors import add, clear, copy
from saltus.reaction.impacts import restitute, returned, strike
from saltus.reaction.react import ASKED, row_dot


class _Zeno(NamedTuple):
    """Tuned numbers of this file."""

    most_impacts: int = 20_000
    look: float = 200.0  # impacts in which the speeds must at least halve: e up to 0.996 for one contact
    drowned: float = 1e-6  # of the same: bounces whose impacts may drown in rounding
    held: float = 1e-9  # of the speed that bounds the bounces: what is slower stays held


ZENO = _Zeno()


class _Bounce(NamedTuple):
    """How an accumulation of bounces ends."""

    not_closed: int = 0
    closed: int = 1
    goes_on: int = 2


BOUNCE = _Bounce()


# in: member: 1 per contact that bounces; a, slope: acceleration and its rate; u_0, rate_0, jerk_0: row velocities,
# their rates and the rates of these; limits: eps: speed that bounds the bounces; end_speed: speed at which they are
# over [m/s]; longest: duration allowed [s]; known: what velocities behind impacts are not known better than [m/s].
# in/out: v. out: moved: integral of v; P: sum of the impulses of all rows; summary: duration [s], number of impacts,
# mean: time at which the impulses act in the mean [s]. On the way: of the contacts that bounce gap, u, rate and jerk of
# it; v_before, P_now, before: of one impact; now: time [s], number of impacts at which the speeds are looked at next,
# the largest one of the last look, impulses so far and their moment
BOUNCING = Workspace(
    "Bouncing", limits=Numbers("eps end_speed longest known"), a="nv", slope="nv", u_0="nr", rate_0="nr", jerk_0="nr",
    v="nv", moved="nv", P="nr", summary=Numbers("duration count middle"), gap="nc", u="nc", rate="nc", jerk="nc",
    v_before="nv", P_now="nr", before="nr", info="2", now=Numbers("time next_look fastest pushed weighted"),
    member=integers("nc"),
)  # fmt: skip


@unit(I(MODEL, REACTION, J, A, BOUNCING.kind, LASTING.kind, RECORD))
def accumulate(model, reaction, index, g, work, room, record):
    """Follow the bounces of the member contacts to their end; return BOUNCE.closed or BOUNCE.not_closed.

    in      index: held contacts take part in every impact; g: gaps they begin with; work: see BOUNCING
    room    lu, W, w, zeta that stand for the whole time, as `border` leaves them: of the state, better of the mean time
    """
    now, summary = work.now, work.summary
    clear(work.moved)
    clear(work.P)
    for c in range(model.layout.nc):
        row = model.layout[model.layout.contact_row + c]
        if work.member[c] == 1:
            work.gap[c], work.u[c] = larger(g[c], 0.0), work.u_0[row]
            work.rate[c], work.jerk[c] = work.rate_0[row], work.jerk_0[row]
            if not work.rate[c] < 0.0:
                return BOUNCE.not_closed
    now.time, now.next_look, now.fastest, now.pushed, now.weighted = 0.0, ZENO.look, work.limits.eps, 0.0, 0.0
    summary.count = 0.0
    for _ in range(ZENO.most_impacts):
        lands = fly_on(model, work)
        if lands < 0 or now.time > work.limits.longest:
            return BOUNCE.not_closed
        ask_impact(model, lands, index, work, room)
        copy(work.v, work.v_before)
        status = reaction.react(
            model, reaction.solver, room.lu, handle(Directions(room.W, room.W, room.W)), room.target, room.active,
            ASKED.impact, work.v, work.P_now, work.info, room.react,
        )  # fmt: skip
        record.counters.sweeps += whole(work.info[1])
        ended = drowned(model, work) if status != 0 else bounce(model, work, room)
        if ended == BOUNCE.closed:
            summary.duration, summary.middle = now.time, now.weighted / larger(now.pushed, 1e-300)
        if ended != BOUNCE.goes_on:
            return ended
    return BOUNCE.not_closed


@unit(I(MODEL, BOUNCING.kind))
def fly_on(model, work):
    """Move to the next landing; return the contact that lands, -1 where one is pulled off or rises too high."""
    layout, now, v, a, slope = model.layout, work.now, work.v, work.a, work.slope
    gap, u, rate, jerk, time, eps = work.gap, work.u, work.rate, work.jerk, now.time, work.limits.eps
    step, lands = 1e300, -1
    for c in range(layout.nc):
        if work.member[c] == 1:
            pull = rate[c] + jerk[c] * time
            if not pull < 0.0:
                return -1
            x = landing(gap[c], u[c], pull, jerk[c])
            if x < step:
                step, lands = x, c
    step = larger(step, 0.0)
    for i in range(layout.nv):
        pull = a[i] + slope[i] * time
        work.moved[i] += step * (v[i] + step * (0.5 * pull + step * slope[i] / 6.0))
        v[i] += step * (pull + 0.5 * step * slope[i])
    for c in range(layout.nc):
        if work.member[c] == 1:
            pull = rate[c] + jerk[c] * time
            gap[c] = larger(gap[c] + step * (u[c] + step * (0.5 * pull + step * jerk[c] / 6.0)), 0.0)
            u[c] += step * (pull + 0.5 * step * jerk[c])
            if gap[c] > 100.0 * eps * eps / -rate[c]:
                return -1
            if c == lands:
                gap[c] = 0.0  # whatever rounding says
    now.time += step
    return lands


@unit(F(F, F, F, F))
def landing(gap, u, rate, jerk):
    """Return the time until a gap closes whose acceleration is rate + jerk t, by Newton's method."""
    x = (u + sqrt(larger(u * u - 2.0 * rate * gap, 0.0))) / -rate
    for _ in range(20):
        value = gap + x * (u + x * (0.5 * rate + x * jerk / 6.0))
        fall = u + x * (rate + 0.5 * x * jerk)
        if fall == 0.0:
            break
        change = value / fall
        x -= change
        if abs(change) <= 2e-16 * abs(x):
            break
    return x


@unit(I(MODEL, I, J, BOUNCING.kind, LASTING.kind))
def ask_impact(model, lands, index, work, room):
    """Write the impact of what is closed to the rows of the law: restitution where it approaches."""
    layout, W, w, target, active, v = model.layout, room.W, room.w, room.target, room.active, work.v
    gap, u, before, eps, nc = work.gap, work.u, work.before, work.limits.eps, layout.nc
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        active[c] = 0
        for i in range(row, end):
            target[i] = w[i]
            before[i] = row_dot(layout, W, i, v) + w[i]
        if index[c] == INDEX.slip or index[c] == INDEX.stick:
            active[c] = 1
            target[row], before[row] = -row_dot(layout, W, row, v), 0.0
            restitute(model, c, 0.0, 0, before, target)
            continue
        # corners that landed together do so again, unless they are farther apart than impacts are solved for
        apart = larger(1e-12 * eps * eps / -work.rate[c], work.limits.known * work.now.time)
        near = work.member[c] == 1 and gap[c] <= apart and u[c] <= 0.0
        if c == lands or near:
            active[c] = 1
            target[row], before[row] = (1.0 + returned(model, c)) * u[c] - row_dot(layout, W, row, v), u[c]
            strike(model, c, u[c], 1, before, target)
            gap[c] = 0.0
            work.summary.count += 1.0
    clear(work.P_now)
    for i in range(layout[layout.contact_row + nc], layout.nr):
        target[i] = -row_dot(layout, W, i, v)
    return 0


@unit(I(MODEL, BOUNCING.kind))
def drowned(model, work):
    """Return BOUNCE.closed where impacts that cannot be solved for are so slow that they are over."""
    fastest = 0.0
    for c in range(model.layout.nc):
        fastest = larger(fastest, abs(work.u[c])) if work.member[c] == 1 else fastest
    if fastest > ZENO.drowned * work.limits.eps:
        return BOUNCE.not_closed
    copy(work.v_before, work.v)
    return BOUNCE.closed


@unit(I(MODEL, BOUNCING.kind, LASTING.kind))
def bounce(model, work, room):
    """Add an impact to the sums, take its velocities over; return whether the bounces are over, or GO ON."""
    layout, now, W, jump, P_now = model.layout, work.now, room.W, work.v_before, work.P_now
    eps, end_speed, scale, over = work.limits.eps, work.limits.end_speed, 0.0, True
    for i in range(layout.nv):
        jump[i] = work.v[i] - jump[i]
    add(P_now, work.P)
    for c in range(layout.nc):
        row = layout[layout.contact_row + c]
        if work.member[c] == 1:
            now.pushed += P_now[row]
            now.weighted += P_now[row] * now.time
        elif room.active[c] == 1 and row_dot(layout, W, row, jump) > ZENO.held * eps:
            return BOUNCE.not_closed  # what was held is lifted: it is no longer the same accumulation
    for c in range(layout.nc):
        if work.member[c] == 1:
            work.u[c] += row_dot(layout, W, layout[layout.contact_row + c], jump)
            scale = larger(scale, abs(work.u[c]))
            over = over and abs(work.u[c]) <= end_speed and work.gap[c] <= end_speed * end_speed / -work.rate[c]
    count = work.summary.count
    if scale > 10.0 * eps or (count > now.next_look and not scale < 0.5 * now.fastest):
        return BOUNCE.not_closed  # nothing dies away
    if count > now.next_look:
        now.next_look, now.fastest = count + ZENO.look, scale
    return BOUNCE.closed if over else BOUNCE.goes_on
