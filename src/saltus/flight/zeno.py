"""Accumulations of impacts: infinitely many of them in a finite time, followed with frozen coefficients.

Once all bounces of some contacts are slow and low, M, W and the laws hardly change until they end: the bounces are
followed in gap space, the acceleration linear in time, every impact by the contact law of all that is closed, so that
coupled contacts and friction keep their own ratios. No force is evaluated but one at the predicted end. The error is
of second order in the speed at which this begins.
"""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import larger, unit, whole
from saltus.compile.types import MODEL, REACTION, RECORD, A, F, I, J
from saltus.compile.workspace import Workspace
from saltus.lasting.index_set import SLIP, STICK
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import CONTACT_ROW, NC, NR, NV
from saltus.reaction.impacts import restitute, returned, strike
from saltus.reaction.react import IMPACT, row_dot

MOST_IMPACTS = 20_000
LOOK = 200.0  # impacts in which the speeds must at least halve: e up to 0.996 for one contact
DROWNED = 1e-6  # of the same: bounces whose impacts may drown in rounding
HELD = 1e-9  # of the speed that bounds the bounces: what is slower stays held
NOT_CLOSED, CLOSED = 0, 1
DURATION, COUNT, MEAN, SUMMARY = range(4)  # MEAN: time at which the impulses act in the mean


# of the contacts that bounce: gap, u, rate and jerk of it; of all rows: impulses and velocities of one impact
BOUNCING = Workspace(
    "Bouncing", gap="nc", u="nc", rate="nc", jerk="nc", v_before="nv", P_now="nr", before="nr"
)  # fmt: skip


@unit(I(MODEL, REACTION, J, J, A, A, A, A, A, A, F, F, F, A, A, A, A, A, BOUNCING.kind, LASTING.kind, RECORD))
def accumulate(
    model, reaction, index, member, a, slope, g, u_0, rate_0, jerk_0, eps, end_speed, longest, v, moved, P, summary,
    info, work, room, record,
):  # fmt: skip
    """Follow the bounces of the member contacts to their end; return CLOSED or NOT_CLOSED.

    in      index: held contacts take part in every impact; a, slope: acceleration and its rate; g: gaps now;
            u_0, rate_0, jerk_0: row velocities now, their rates and the rates of these; eps: speed that bounds the
            bounces; end_speed: speed at which they are over; longest: duration allowed
    in/out  v
    out     moved: integral of v; P: sum of the impulses of all rows; summary: DURATION, COUNT, MEAN
    room    lu, W, w, zeta that stand for the whole time, as `border` leaves them: of the state, better of MEAN
    """
    layout = model.layout
    nv, nc, nr = layout[NV], layout[NC], layout[NR]
    lu, W, w, target, active = room.lu, room.W, room.w, room.target, room.active
    gap, u, rate, jerk = work.gap, work.u, work.rate, work.jerk
    v_before, P_now, before = work.v_before, work.P_now, work.before
    for i in range(nv):
        moved[i] = 0.0
    for i in range(nr):
        P[i] = 0.0
    for c in range(nc):
        row = layout[layout[CONTACT_ROW] + c]
        if member[c] == 1:
            gap[c] = larger(g[c], 0.0)
            u[c] = u_0[row]
            rate[c], jerk[c] = rate_0[row], jerk_0[row]
            if not rate[c] < 0.0:
                return NOT_CLOSED
    time, count, next_look, fastest, pushed, weighted = 0.0, 0.0, LOOK, eps, 0.0, 0.0
    for _ in range(MOST_IMPACTS):
        # ---- the next landing
        step, lands = 1e300, -1
        for c in range(nc):
            if member[c] == 1:
                now = rate[c] + jerk[c] * time
                if not now < 0.0:
                    return NOT_CLOSED
                x = (u[c] + sqrt(larger(u[c] * u[c] - 2.0 * now * gap[c], 0.0))) / -now
                for _newton in range(20):
                    value = gap[c] + x * (u[c] + x * (0.5 * now + x * jerk[c] / 6.0))
                    fall = u[c] + x * (now + 0.5 * x * jerk[c])
                    if fall == 0.0:
                        break
                    change = value / fall
                    x -= change
                    if abs(change) <= 2e-16 * abs(x):
                        break
                if x < step:
                    step, lands = x, c
        step = larger(step, 0.0)
        for i in range(nv):
            now = a[i] + slope[i] * time
            moved[i] += step * (v[i] + step * (0.5 * now + step * slope[i] / 6.0))
            v[i] += step * (now + 0.5 * step * slope[i])
        for c in range(nc):
            if member[c] == 1:
                now = rate[c] + jerk[c] * time
                gap[c] = larger(gap[c] + step * (u[c] + step * (0.5 * now + step * jerk[c] / 6.0)), 0.0)
                u[c] += step * (now + 0.5 * step * jerk[c])
                if gap[c] > 100.0 * eps * eps / -rate[c]:
                    return NOT_CLOSED
                if c == lands:
                    gap[c] = 0.0  # whatever rounding says
        time += step
        if time > longest:
            return NOT_CLOSED
        # ---- impacts of what is closed, restitution where it approaches
        scale = 0.0
        for c in range(nc):
            row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
            active[c] = 0
            for i in range(row, end):
                target[i] = w[i]
                before[i] = row_dot(layout, W, i, v) + w[i]
            if index[c] == SLIP or index[c] == STICK:
                active[c] = 1
                target[row], before[row] = -row_dot(layout, W, row, v), 0.0
                restitute(model, c, 0.0, 0, before, target)
            elif member[c] == 1 and (c == lands or (gap[c] <= 1e-12 * eps * eps / -rate[c] and u[c] <= 0.0)):
                active[c] = 1
                target[row], before[row] = (1.0 + returned(model, c)) * u[c] - row_dot(layout, W, row, v), u[c]
                strike(model, c, u[c], 1, before, target)
                gap[c] = 0.0
                count += 1.0
        for i in range(nr):
            P_now[i] = 0.0
            if i >= layout[layout[CONTACT_ROW] + nc]:
                target[i] = -row_dot(layout, W, i, v)
        for i in range(nv):
            v_before[i] = v[i]
        status = reaction.react(model, reaction.solver, lu, W, W, W, target, active, IMPACT, v, P_now, info, room.react)
        record.counters.sweeps += whole(info[1])
        if status != 0:
            # impacts that are too slow to be solved for end the accumulation; of faster ones nothing is known
            fastest_now = 0.0
            for c in range(nc):
                fastest_now = larger(fastest_now, abs(u[c])) if member[c] == 1 else fastest_now
            if fastest_now > DROWNED * eps:
                return NOT_CLOSED
            for i in range(nv):
                v[i] = v_before[i]
            summary[DURATION], summary[COUNT], summary[MEAN] = time, count, weighted / larger(pushed, 1e-300)
            return CLOSED
        for i in range(nv):
            v_before[i] = v[i] - v_before[i]
        for i in range(nr):
            P[i] += P_now[i]
        for c in range(nc):
            if member[c] == 1:
                pushed += P_now[layout[layout[CONTACT_ROW] + c]]
                weighted += P_now[layout[layout[CONTACT_ROW] + c]] * time
            elif active[c] == 1:
                row = layout[layout[CONTACT_ROW] + c]
                if row_dot(layout, W, row, v_before) > HELD * eps:
                    return NOT_CLOSED  # what was held is lifted: it is no longer the same accumulation
        over = True
        for c in range(nc):
            if member[c] == 1:
                u[c] += row_dot(layout, W, layout[layout[CONTACT_ROW] + c], v_before)
                scale = larger(scale, abs(u[c]))
                over = over and abs(u[c]) <= end_speed and gap[c] <= end_speed * end_speed / -rate[c]
        if scale > 10.0 * eps or (count > next_look and not scale < 0.5 * fastest):
            return NOT_CLOSED  # nothing dies away
        if count > next_look:
            next_look, fastest = count + LOOK, scale
        if over:
            summary[DURATION], summary[COUNT], summary[MEAN] = time, count, weighted / larger(pushed, 1e-300)
            return CLOSED
    return NOT_CLOSED
