"""ColouredNSGS: nonsmooth Gauss-Seidel for large worlds, by several threads with the same bits as by one.

y = X P is kept up to date and D is never formed but for its diagonal blocks, which are inverted once. Contacts of one
colour share no velocity, so that threads may treat them at the same time in any order; sums run over chunks of fixed
size in fixed order. Sweeps are accelerated by the extrapolation of Nesterov (1983) with restarts where the sweeps move
more than before (O'Donoghue and Candes 2015).
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus.compile.lanes import dot_bodies, foresee, fused, push_body
from saltus.compile.seam import head, larger, ready, row_of, smaller, tail, unit, whole
from saltus.compile.team import SHARED, STOP, meet
from saltus.compile.types import CONE, LOCAL, SWEPT, TEAM, TREAT, A, F, I, Swept
from saltus.compile.workspace import Numbers
from saltus.contact.packed import PACKING, Packed, packed
from saltus.contact.problem import ContactProblem, ContactResult, check_support
from saltus.errors import ModelError, SettingError
from saltus.laws import COULOMB_SPATIAL
from saltus.status import Status


class _Pass(NamedTuple):
    """What a pass over the contacts does."""

    sweep: int = 0
    add: int = 1
    judge: int = 2


PASS = _Pass()


class _Coloured(NamedTuple):
    """Tuned numbers of this file."""

    check: int = 50  # sweeps between two looks at the residual when the estimate does not call for one
    window: int = 500  # sweeps in which the residual should be halved, else another part of the momentum is tried
    patience: int = 1000  # sweeps without progress after which they are averaged
    growth: float = 1.05  # a sweep that moves more, squared, than this times the least since the last restart restarts
    memory: float = 0.8  # part of the momentum that is left after a restart
    ahead: int = 4  # contacts between the one that is treated and the one whose velocities are fetched
    aligned: float = 1e-5  # turn of the slip direction [rad] that ends Newton's method: the next one is its square
    breath: int = 1_000_000  # contacts treated between two looks for an interrupt, about 50 ms
    share: int = 1500  # contacts per thread: with fewer, another thread does not pay


COLOURED = _Coloured()


# scale: 1 / (rho |b|), which makes a movement of P a residual
SETTINGS = Numbers("tol max_sweeps relaxation rounding rho scale momentum")
# sweeps: made so far; target: movement of a sweep at which the residual is looked at; least: of the squared movements
# since the last restart; theta, ahead: of Nesterov's extrapolation; best, mark, recent: least residual, and what it was
# when relaxation and trust were last chosen; judged: sweep of the last look; trust: part of the momentum that is taken
MEMORY = Numbers("sweeps target least theta relaxation best mark judged ahead trust recent")


@unit(I(LOCAL, A, F, A, F, F, F, A), small=True)
def step_spatial(local, own, mu, P, u_N, u_1, u_2, buffer):
    """Solve one spatial contact exactly: take-off, stick, or slip from the last direction of slip.

    The equations are those of laws/coulomb_spatial.py. A slip turns s by Newton's method until the slip
    drive - C s is parallel to it; where that is not quick and safe the law's own solution is taken.

    in      own: the numbers of this contact in the stream, see PACKING; u_N, u_1, u_2: its velocities
    in/out  P: its three impulses
    work    buffer: three numbers
    """
    P_N, P_1, P_2 = P[0], P[1], P[2]
    b_N = u_N - own[0] * P_N - own[1] * P_1 - own[2] * P_2
    if b_N >= 0.0:
        P[0], P[1], P[2] = 0.0, 0.0, 0.0
        return 0
    regular = own[9] > 0.0
    if regular:
        stick_N = P_N - (own[9] * u_N + own[10] * u_1 + own[11] * u_2)
        stick_1 = P_1 - (own[12] * u_N + own[13] * u_1 + own[14] * u_2)
        stick_2 = P_2 - (own[15] * u_N + own[16] * u_1 + own[17] * u_2)
        length = stick_1 * stick_1 + stick_2 * stick_2
        if stick_N > 0.0 and length <= mu * mu * stick_N * stick_N:
            P[0], P[1], P[2] = stick_N, stick_1, stick_2
            return 0
    b_1 = u_1 - own[3] * P_N - own[4] * P_1 - own[5] * P_2
    b_2 = u_2 - own[6] * P_N - own[7] * P_1 - own[8] * P_2
    if regular:
        before = P_1 * P_1 + P_2 * P_2
        slipping = before >= 0.9 * mu * mu * P_N * P_N and before > 0.0
        s_1, s_2, scale = stick_1, stick_2, length
        if slipping:
            s_1, s_2, scale = P_1, P_2, before
        scale = -1.0 / math.sqrt(scale)
        s_1, s_2 = scale * s_1, scale * s_2
        drive_1 = b_1 * own[0] - b_N * own[3]
        drive_2 = b_2 * own[0] - b_N * own[6]
        C_11 = mu * (b_1 * own[1] - b_N * own[4])
        C_12 = mu * (b_1 * own[2] - b_N * own[5])
        C_21 = mu * (b_2 * own[1] - b_N * own[7])
        C_22 = mu * (b_2 * own[2] - b_N * own[8])
        for _ in range(8):
            left_1, left_2 = drive_1 - C_11 * s_1 - C_12 * s_2, drive_2 - C_21 * s_1 - C_22 * s_2
            along = s_1 * left_1 + s_2 * left_2
            slope = C_11 * s_2 * s_2 - (C_12 + C_21) * s_1 * s_2 + C_22 * s_1 * s_1 + along
            turn = (s_1 * left_2 - s_2 * left_1) / slope
            if not (slope > 0.0 and along > 0.0 and abs(turn) < 0.5):
                break
            half = 0.5 * turn
            cosine = 1.0 / (1.0 + half * half)
            sine = turn * cosine
            cosine = 2.0 * cosine - 1.0
            s_1, s_2 = cosine * s_1 - sine * s_2, cosine * s_2 + sine * s_1
            if abs(turn) < COLOURED.aligned:
                normal = own[0] - mu * (own[1] * s_1 + own[2] * s_2)
                P_N = -b_N / normal
                P[0], P[1], P[2] = P_N, -mu * P_N * s_1, -mu * P_N * s_2
                return 0
    buffer[0], buffer[1], buffer[2] = b_N, b_1, b_2
    return local(COULOMB_SPATIAL, mu, head(own, 9), head(buffer, 3), P)


@unit(I(LOCAL, A, I, I, F, F, A, F, F, F, A), small=True)
def step_block(local, own, kind, nr, mu, relaxation, P, u_N, u_1, u_2, buffer):
    """Solve one contact of any law; returns a status, and the change of P in buffer[3:6].

    The arguments are those of `step_spatial`; nr: its rows. A contact that cannot be solved keeps its impulses.
    """
    P_N, P_1, P_2 = P[0], P[1], P[2]
    if kind == COULOMB_SPATIAL:
        status = step_spatial(local, own, mu, P, u_N, u_1, u_2, buffer)
    else:
        buffer[0] = u_N - own[0] * P_N - own[1] * P_1
        buffer[1] = u_1 - own[3] * P_N - own[4] * P_1
        status = local(kind, mu, head(own, 9), head(buffer, 3), P)
        for r in range(nr, 3):
            P[r] = 0.0
    if status != 0:
        P[0], P[1], P[2] = P_N, P_1, P_2
    if relaxation != 1.0:
        P[0] = P_N + relaxation * (P[0] - P_N)
        P[1] = P_1 + relaxation * (P[1] - P_1)
        P[2] = P_2 + relaxation * (P[2] - P_2)
    buffer[3], buffer[4], buffer[5] = P[0] - P_N, P[1] - P_1, P[2] - P_2
    return status


@unit(F(CONE, I, I, F, F, A, F, F, F, A))
def miss(cone, kind, nr, mu, rho, P, u_N, u_1, u_2, buffer):
    """Return the square of the natural map of one contact, as in residual.py."""
    trial, step = row_of(buffer, 0, 3), row_of(buffer, 1, 3)
    step[0] = rho * (u_N + (mu * math.sqrt(u_1 * u_1 + u_2 * u_2) if nr > 1 else 0.0))
    step[1], step[2] = rho * u_1, rho * u_2
    for r in range(3):
        trial[r] = P[r] - step[r]
    cone(kind, mu, trial)
    total = 0.0
    for r in range(nr):
        total += (step[r] - (trial[r] - (P[r] - step[r]))) ** 2
    return total


@unit(TREAT)
def treat_bodies(swept, mode, begin, end, chunk, factor, ahead, sums, buffer):
    """Work on contacts begin .. end - 1 of one colour, each of which touches one or two rigid bodies.

    mode    PASS.sweep: solve each from P + ahead (P - P_old), factor = relaxation; PASS.add: project P onto its set and
            add X P to y; PASS.judge: sum the squares of the natural map, factor = rho
    in      swept.header: where the velocities of both bodies begin in y, twice the same where one body is fixed
    in/out  swept: P, P_old, y
    out     sums: two numbers per chunk, the first of which is number `chunk`; returns the worst status
    """
    local, cone, header, columns, stream = swept.local, swept.cone, swept.header, swept.columns, swept.stream
    P, P_old, y = swept.P, swept.P_old, swept.y
    failed, first, second, d_N, d_1, d_2 = 0, 0.0, 0.0, 0.0, 0.0, 0.0
    apart = 0 if columns[0] == 1 else 36
    for k in range(begin, end):
        h, i = PACKING.header * k, 3 * k
        at, a, b = header[h + 1], header[h + 2], header[h + 3]
        X = at - 36
        W = X - apart
        if k + COLOURED.ahead < end:
            foresee(y, header[h + PACKING.header * COLOURED.ahead + 2])
            foresee(y, header[h + PACKING.header * COLOURED.ahead + 3])
            soon = header[h + PACKING.header * COLOURED.ahead + 1]
            for j in range(-36, 22, 8):
                foresee(stream, soon + j)
        own, P_k = head(tail(stream, at), PACKING.tail), head(tail(P, i), 3)
        kind, nr, mu = header[h] & 7, header[h] >> 3, own[PACKING.mu]
        if mode == PASS.add:
            cone(kind, mu, P_k)
            d_N, d_1, d_2 = P_k[0], P_k[1], P_k[2]
        else:
            u_N, u_1, u_2 = own[PACKING.b], own[PACKING.b + 1], own[PACKING.b + 2]
            u_N += dot_bodies(stream, W, y, a, b)
            u_1 += dot_bodies(stream, W + 12, y, a, b)
            u_2 += dot_bodies(stream, W + 24, y, a, b)
            if mode == PASS.judge:
                first += miss(cone, kind, nr, mu, factor, P_k, u_N, u_1, u_2, buffer)
            else:
                for j in range(i, i + 3):
                    P_j = P[j]
                    P[j] = fused(ahead, P_j - P_old[j], P_j)
                    P_old[j] = P_j
                status = step_block(local, own, kind, nr, mu, factor, P_k, u_N, u_1, u_2, buffer)
                failed = failed if failed > status else status
                d_N, d_1, d_2 = buffer[3], buffer[4], buffer[5]
                first += d_N * d_N + d_1 * d_1 + d_2 * d_2
                second += P_k[0] * P_k[0] + P_k[1] * P_k[1] + P_k[2] * P_k[2]
        if mode != PASS.judge and (d_N != 0.0 or d_1 != 0.0 or d_2 != 0.0):
            push_body(stream, X, d_N, d_1, d_2, y, a)
            push_body(stream, X + 6, d_N, d_1, d_2, y, b)
        if (k - begin) & (PACKING.chunk - 1) == PACKING.chunk - 1 or k == end - 1:
            sums[2 * chunk], sums[2 * chunk + 1] = first, second
            first, second = 0.0, 0.0
            chunk += 1
    return failed


@unit(TREAT)
def treat_columns(swept, mode, begin, end, chunk, factor, ahead, sums, buffer):
    """Do the same for contacts with any columns.

    in      swept.header: where in swept.columns those of W begin, and those of X; their number stands in front of them
    """
    local, cone, header, columns, stream = swept.local, swept.cone, swept.header, swept.columns, swept.stream
    P, P_old, y = swept.P, swept.P_old, swept.y
    failed, first, second, d_N, d_1, d_2 = 0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(begin, end):
        h, i = PACKING.header * k, 3 * k
        at, a, b = header[h + 1], header[h + 2], header[h + 3]
        wide, X_wide = columns[a - 1], columns[b - 1]
        X = at - 3 * X_wide
        W = X - 3 * wide
        own, P_k = head(tail(stream, at), PACKING.tail), head(tail(P, i), 3)
        kind, nr, mu = header[h] & 7, header[h] >> 3, own[PACKING.mu]
        if mode == PASS.add:
            cone(kind, mu, P_k)
            d_N, d_1, d_2 = P_k[0], P_k[1], P_k[2]
        else:
            u_N, u_1, u_2 = own[PACKING.b], own[PACKING.b + 1], own[PACKING.b + 2]
            for j in range(wide):
                y_j = y[columns[a + j]]
                u_N = fused(stream[W + 3 * j], y_j, u_N)
                u_1 = fused(stream[W + 3 * j + 1], y_j, u_1)
                u_2 = fused(stream[W + 3 * j + 2], y_j, u_2)
            if mode == PASS.judge:
                first += miss(cone, kind, nr, mu, factor, P_k, u_N, u_1, u_2, buffer)
            else:
                for j in range(i, i + 3):
                    P_j = P[j]
                    P[j] = fused(ahead, P_j - P_old[j], P_j)
                    P_old[j] = P_j
                status = step_block(local, own, kind, nr, mu, factor, P_k, u_N, u_1, u_2, buffer)
                failed = failed if failed > status else status
                d_N, d_1, d_2 = buffer[3], buffer[4], buffer[5]
                first += d_N * d_N + d_1 * d_1 + d_2 * d_2
                second += P_k[0] * P_k[0] + P_k[1] * P_k[1] + P_k[2] * P_k[2]
        if mode != PASS.judge and (d_N != 0.0 or d_1 != 0.0 or d_2 != 0.0):
            for j in range(X_wide):
                low = fused(d_2, stream[X + 3 * j + 2], y[columns[b + j]])
                y[columns[b + j]] = fused(d_N, stream[X + 3 * j], fused(d_1, stream[X + 3 * j + 1], low))
        if (k - begin) & (PACKING.chunk - 1) == PACKING.chunk - 1 or k == end - 1:
            sums[2 * chunk], sums[2 * chunk + 1] = first, second
            first, second = 0.0, 0.0
            chunk += 1
    return failed


@unit(I(TREAT, SWEPT, TEAM.kind, I, F, F, A, A))
def pass_over(treat, swept, team, mode, factor, ahead, sums, buffer):
    """Go over all contacts, colour by colour; those without a colour come last and are left to member 0."""
    member, members, colours, failed = team.member, team.members, swept.colours, 0
    count = colours.shape[0] // 2 - 1
    for c in range(count):
        begin, end, chunk = colours[2 * c], colours[2 * c + 2], colours[2 * c + 1]
        low, high = 0, colours[2 * c + 3] - chunk
        if c < count - 1:
            low, high = high * member // members, high * (member + 1) // members
        elif member > 0:
            high = 0
        stop = begin + PACKING.chunk * high
        stop = stop if stop < end else end
        begin, chunk = begin + PACKING.chunk * low, chunk + low
        status = treat(swept, mode, begin, stop, chunk, factor, ahead, sums, buffer)
        failed = failed if failed > status else status
        if meet(swept.shared, members) != 0:
            return Status.INTERRUPTED
    return failed


@unit(I(TREAT, SWEPT, TEAM.kind, SETTINGS.kind, MEMORY.kind, A, A, I), entry=True)
def relax(treat, swept, team, settings, memory, buffer, info, until):
    """Sweep until the residual is below the tolerance; returns CHUNK where `until` sweeps were done before.

    in/out  swept: P, its warm start; y = X P, zero at first; P_old, y_old; memory: of this member
    out     info: residual, sweeps
    work    swept.sums; buffer: 16 numbers of this member

    All members hold the same numbers and decide alike.
    """
    last, chunks, nv = whole(settings.max_sweeps), swept.sums.shape[0] // 4, swept.y.shape[0]
    y_begin, y_end = nv * team.member // team.members, nv * (team.member + 1) // team.members
    if memory.sweeps == 0.0:
        memory.target, memory.least, memory.theta, memory.relaxation = settings.tol, math.inf, 1.0, settings.relaxation
        memory.best, memory.mark, memory.trust, memory.recent = math.inf, math.inf, 1.0, math.inf
        status = pass_over(treat, swept, team, PASS.add, settings.rho, memory.ahead, swept.sums, buffer)
        if status == Status.INTERRUPTED:
            return status
    while memory.sweeps < until:
        memory.sweeps += 1.0
        count = whole(memory.sweeps)
        part = row_of(swept.sums, count % 2, 2 * chunks)  # another member may still read the other half
        failed = pass_over(treat, swept, team, PASS.sweep, memory.relaxation, memory.ahead, part, buffer)
        if failed == Status.INTERRUPTED:
            return failed
        now, size = 0.0, 0.0
        for c in range(chunks):
            now += part[2 * c]
            size += part[2 * c + 1]
        if not now < math.inf:
            return Status.NONFINITE
        moved, size = settings.scale * math.sqrt(now), settings.scale * math.sqrt(size)
        still, due = moved <= settings.rounding * size, count % COLOURED.check == 0 or count == last
        if moved <= memory.target or still or due:
            found = residual(treat, swept, team, settings, memory.ahead, part, buffer)
            if found < 0.0:
                return Status.INTERRUPTED
            if team.member == 0:
                info[0], info[1] = found, memory.sweeps
            if found <= larger(settings.tol, smaller(settings.rounding * size, 1e4 * settings.tol)):
                return 0
            # a contact may fail by rounding while others move, and y may have been off by rounding: judged at the end
            if (still and memory.judged == memory.sweeps - 1.0) or count == last:
                return failed if failed != 0 else Status.CONTACT_STALLED
            learn(settings, memory, moved, found)
        ahead = momentum(settings, memory, now)
        y, y_old = swept.y, swept.y_old
        for i in range(y_begin, y_end):
            y_i = y[i]
            y[i] = fused(ahead, y_i - y_old[i], y_i)
            y_old[i] = y_i
        if meet(swept.shared, team.members) != 0:
            return Status.INTERRUPTED
    return Status.CHUNK


@unit(F(TREAT, SWEPT, TEAM.kind, SETTINGS.kind, F, A, A))
def residual(treat, swept, team, settings, ahead, sums, buffer):
    """Make y = X P anew, without the rounding errors of the sweeps, and return the residual; -1: interrupted."""
    y, y_old, nv = swept.y, swept.y_old, swept.y.shape[0]
    y_begin, y_end = nv * team.member // team.members, nv * (team.member + 1) // team.members
    for i in range(y_begin, y_end):  # y_old is shifted by as much as y, else the jump would be extrapolated
        y_old[i] -= y[i]
        y[i] = 0.0
    if meet(swept.shared, team.members) != 0:
        return -1.0
    for mode in (PASS.add, PASS.judge):
        status = pass_over(treat, swept, team, mode, settings.rho, ahead, sums, buffer)
        if status == Status.INTERRUPTED:
            return -1.0
    for i in range(y_begin, y_end):
        y_old[i] += y[i]
    total = 0.0
    for c in range(sums.shape[0] // 2):
        total += sums[2 * c]
    return settings.scale * math.sqrt(total)


@unit(I(SETTINGS.kind, MEMORY.kind, F, F), small=True)
def learn(settings, memory, moved, found):
    """Change target, trust and relaxation after a look at the residual; moved: by the last sweep, found: residual."""
    count = whole(memory.sweeps)
    memory.judged = memory.sweeps
    # where the residual should be reached, from its ratio to the movement
    memory.target = moved * larger(smaller(settings.tol / found, 0.95), 0.3)
    memory.best = smaller(memory.best, found)
    # stacks need all of the momentum, rough contacts less: 1, 0.8, 0.6, 0.4 in turn
    if count % COLOURED.window == 0:
        if memory.best > 0.5 * memory.recent:
            memory.trust = memory.trust - 0.2 if memory.trust > 0.5 else 1.0
        memory.recent = memory.best
    if count % COLOURED.patience == 0:  # no progress, sweeps run in circles: average them
        stuck = memory.best > 0.9 * memory.mark
        memory.relaxation = larger(0.5 * memory.relaxation, 0.25) if stuck else settings.relaxation
        memory.mark = memory.best
    return 0


@unit(F(SETTINGS.kind, MEMORY.kind, F), small=True)
def momentum(settings, memory, now):
    """Return the part of the last movement that the next sweep begins with, 0 at a restart; now: its square."""
    theta, memory.ahead = memory.theta, 0.0
    if now > COLOURED.growth * memory.least:
        memory.theta, memory.least = larger(COLOURED.memory * theta, 1.0), now
    else:
        new = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * theta * theta))
        memory.ahead = memory.trust * settings.momentum * (theta - 1.0) / new
        memory.theta, memory.least = new, smaller(memory.least, now)
    return memory.ahead


# ---- the solver


@dataclass(frozen=True, kw_only=True)
class ColouredNSGS:
    """Nonsmooth Gauss-Seidel for thousands of contacts of all laws, on several threads.

    The result has the same bits for every number of threads. It solves problems one by one; the contacts of a
    scheme are solved inside its step, by Portfolio() or NSGS().

    Parameters
    ----------
    tol : scaled residual at which to stop [-]; 1e-12 to 1e-4.
    max_sweeps : sweeps after which the problem counts as stalled.
    threads : threads that share a sweep; all cores by default. Small problems take fewer.
    relaxation : part of each local correction that is applied, 0 < relaxation <= 1.
    momentum : part of the extrapolation that is applied, 0 (plain sweeps) to 1. Plain sweeps take two to ten times
        as many.
    rounding : relative size of changes and residuals, measured against P, that counts as rounding error; as in NSGS.
    """

    tol: float = 1e-8
    max_sweeps: int = 20_000
    threads: int | None = None
    relaxation: float = 1.0
    momentum: float = 1.0
    rounding: float = 1e-14

    def __post_init__(self):
        if not 0.0 < self.tol < 1.0:
            raise SettingError(f"ColouredNSGS: tol = {self.tol} must lie between 0 and 1; it is a relative residual")
        if not 1 <= self.max_sweeps < 2**53:
            raise SettingError(f"ColouredNSGS: max_sweeps = {self.max_sweeps} must be at least 1")
        if self.threads is not None and not 1 <= self.threads <= 1024:
            raise SettingError(f"ColouredNSGS: threads = {self.threads} must be 1 to 1024, or None for all cores")
        if not 0.0 < self.relaxation <= 1.0:
            raise SettingError(f"ColouredNSGS: relaxation = {self.relaxation} must lie in (0, 1] to stay in the cones")
        if not 0.0 <= self.momentum <= 1.0:
            raise SettingError(f"ColouredNSGS: momentum = {self.momentum} must lie in [0, 1]")
        if not 0.0 <= self.rounding < 1e-6:
            raise SettingError(f"ColouredNSGS: rounding = {self.rounding} must lie in [0, 1e-6)")

    @property
    def name(self) -> str:
        return "ColouredNSGS"

    @property
    def kernel(self):
        raise SettingError("ColouredNSGS solves single problems; in a scheme take solver=Portfolio() or NSGS()")

    room = kernel  # what schemes ask for first

    def supports(self, kind: int) -> bool:
        return kind <= COULOMB_SPATIAL

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem, from the impulses P0 [N s] (zero by default)."""
        n = problem.n
        check_support(self, problem.kinds)
        start = np.zeros(n) if P0 is None else np.array(P0, dtype=np.float64, ndmin=1)
        if start.shape != (n,):
            raise ModelError(f"P0 has shape {start.shape}, but the problem has {n} rows")
        if not np.all(np.isfinite(start)):
            raise ModelError("P0 has entries that are not finite numbers")
        if n == 0:
            return ContactResult(start, np.zeros(0), 0.0, 0, True, self.name, "There is no contact row.")
        made = packed(problem)
        place = made.places()
        P = np.zeros(3 * problem.mu.size)
        P[place] = start
        status, info = self._sweep(problem, made, P)
        P = P[place]
        u, certificate = problem._judge(np.where(np.isfinite(P), P, 0.0))
        allowed = min(self.rounding * math.sqrt(np.sum(P * P)) / (made.rho * made.b_size), 1e4 * self.tol)
        if status == Status.OK and not certificate <= max(self.tol, allowed):
            status = Status.CONTACT_STALLED
        converged = status == Status.OK
        verdict = "The contact problem is solved" if converged else status.sentence.rstrip(".")
        message = f"{verdict} (residual {certificate:.1e} after {int(info[1])} iterations)."
        return ContactResult(P, u, certificate, int(info[1]), converged, self.name, message, status)

    def _sweep(self, problem: ContactProblem, made: Packed, P: np.ndarray) -> tuple[Status, np.ndarray]:
        nb = problem.mu.size
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        members = max(1, min(self.threads or cores, nb // COLOURED.share if self.threads is None else self.threads))
        settings = SETTINGS.filled(
            tol=(1.0 - 1e-3) * self.tol,  # so that rounding errors of the certificate do not decide
            max_sweeps=float(self.max_sweeps),
            relaxation=self.relaxation,
            rounding=self.rounding,
            rho=made.rho,
            scale=1.0 / (made.rho * made.b_size),
            momentum=self.momentum,
        )
        shared, info = np.zeros(SHARED, dtype=np.int64), np.zeros(2)
        swept = Swept(
            ready(problem.local), ready(problem.cone), made.colours, made.header, made.columns, made.stream, P,
            np.zeros(3 * nb), made.velocities(), made.velocities(), np.zeros(4 * int(made.colours[-1])), shared,
        )  # fmt: skip
        kernel, treat = ready(relax), ready(treat_bodies if made.bodies else treat_columns)
        statuses = [Status.CHUNK] * members

        def take_part(member: int) -> None:
            team = TEAM.filled(member=member, members=members)
            memory, buffer, until = np.zeros(MEMORY.size), np.zeros(16), 0
            team, memory = TEAM(team), MEMORY(memory)
            while statuses[member] == Status.CHUNK:
                until += 1 + COLOURED.breath // nb
                statuses[member] = kernel(treat, swept, team, SETTINGS(settings), memory, buffer, info, until)

        _in_threads(take_part, members, shared)
        return Status(statuses[0]), info


def _in_threads(take_part: Callable[[int], None], members: int, shared: np.ndarray) -> None:
    """Call take_part(member) for all members, 0 in this thread; what one of the others raises is raised here."""
    errors: list[BaseException] = []

    def assist(member: int) -> None:
        try:
            take_part(member)
        except BaseException as error:  # handed to the caller below
            errors.append(error)
            shared[STOP] = 1

    threads = [threading.Thread(target=assist, args=(member,), daemon=True) for member in range(1, members)]
    begun = []
    try:
        for thread in threads:
            thread.start()
            begun.append(thread)
        take_part(0)
    finally:
        shared[STOP] = 1  # releases the others where this thread was interrupted
        for thread in begun:
            thread.join()
    if errors:
        raise errors[0]
