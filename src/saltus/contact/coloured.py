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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus.compile.lanes import dot_bodies, foresee, fused, push_body
from saltus.compile.seam import head, larger, ready, row_of, smaller, tail, unit, whole
from saltus.compile.team import SHARED, STOP, meet
from saltus.compile.types import CONE, LOCAL, TREAT, A, F, I, J
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
    growth: float = 1.05  # squared movement of a sweep over the least since the last restart that makes another one
    memory: float = 0.8  # part of the momentum that is left after a restart
    ahead: int = 4  # contacts between the one that is treated and the one whose velocities are fetched
    # turn of the direction of slip after which the next one, its square, is left to the next sweep
    aligned: float = 1e-5
    breath: int = 1_000_000  # contacts treated between two looks for an interrupt, about 50 ms
    share: int = 1500  # contacts for which another thread pays


COLOURED = _Coloured()


@unit(I(LOCAL, A, I, F, A, I, F, F, F, A), small=True)
def step_spatial(local, stream, at, mu, P, i, u_N, u_1, u_2, buffer):
    """Solve one spatial contact exactly: take-off, stick, or slip from the last direction of slip.

    The equations are those of laws/coulomb_spatial.py. A slip turns s by Newton's method until the slip
    drive - C s is parallel to it; where that is not quick and safe the law's own solution is taken.
    """
    P_N, P_1, P_2 = P[i], P[i + 1], P[i + 2]
    b_N = u_N - stream[at] * P_N - stream[at + 1] * P_1 - stream[at + 2] * P_2
    if b_N >= 0.0:
        P[i], P[i + 1], P[i + 2] = 0.0, 0.0, 0.0
        return 0
    regular = stream[at + 9] > 0.0
    if regular:
        stick_N = P_N - (stream[at + 9] * u_N + stream[at + 10] * u_1 + stream[at + 11] * u_2)
        stick_1 = P_1 - (stream[at + 12] * u_N + stream[at + 13] * u_1 + stream[at + 14] * u_2)
        stick_2 = P_2 - (stream[at + 15] * u_N + stream[at + 16] * u_1 + stream[at + 17] * u_2)
        length = stick_1 * stick_1 + stick_2 * stick_2
        if stick_N > 0.0 and length <= mu * mu * stick_N * stick_N:
            P[i], P[i + 1], P[i + 2] = stick_N, stick_1, stick_2
            return 0
    b_1 = u_1 - stream[at + 3] * P_N - stream[at + 4] * P_1 - stream[at + 5] * P_2
    b_2 = u_2 - stream[at + 6] * P_N - stream[at + 7] * P_1 - stream[at + 8] * P_2
    if regular:
        before = P_1 * P_1 + P_2 * P_2
        slipping = before >= 0.9 * mu * mu * P_N * P_N and before > 0.0
        s_1, s_2, scale = stick_1, stick_2, length
        if slipping:
            s_1, s_2, scale = P_1, P_2, before
        scale = -1.0 / math.sqrt(scale)
        s_1, s_2 = scale * s_1, scale * s_2
        drive_1 = b_1 * stream[at] - b_N * stream[at + 3]
        drive_2 = b_2 * stream[at] - b_N * stream[at + 6]
        C_11 = mu * (b_1 * stream[at + 1] - b_N * stream[at + 4])
        C_12 = mu * (b_1 * stream[at + 2] - b_N * stream[at + 5])
        C_21 = mu * (b_2 * stream[at + 1] - b_N * stream[at + 7])
        C_22 = mu * (b_2 * stream[at + 2] - b_N * stream[at + 8])
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
                normal = stream[at] - mu * (stream[at + 1] * s_1 + stream[at + 2] * s_2)
                P_N = -b_N / normal
                P[i], P[i + 1], P[i + 2] = P_N, -mu * P_N * s_1, -mu * P_N * s_2
                return 0
    buffer[0], buffer[1], buffer[2] = b_N, b_1, b_2
    return local(COULOMB_SPATIAL, mu, head(tail(stream, at), 9), head(buffer, 3), head(tail(P, i), 3))


@unit(I(LOCAL, A, I, I, I, F, F, A, I, F, F, F, A), small=True)
def step_block(local, stream, at, kind, nr, mu, relaxation, P, i, u_N, u_1, u_2, buffer):
    """Solve one contact of any law; returns a status, and the change of P in buffer[3:6]."""
    P_N, P_1, P_2 = P[i], P[i + 1], P[i + 2]
    if kind == COULOMB_SPATIAL:
        status = step_spatial(local, stream, at, mu, P, i, u_N, u_1, u_2, buffer)
    else:
        buffer[0] = u_N - stream[at] * P_N - stream[at + 1] * P_1
        buffer[1] = u_1 - stream[at + 3] * P_N - stream[at + 4] * P_1
        status = local(kind, mu, head(tail(stream, at), 9), head(buffer, 3), head(tail(P, i), 3))
        for r in range(nr, 3):
            P[i + r] = 0.0
    if status != 0:
        P[i], P[i + 1], P[i + 2] = P_N, P_1, P_2
    if relaxation != 1.0:
        P[i] = P_N + relaxation * (P[i] - P_N)
        P[i + 1] = P_1 + relaxation * (P[i + 1] - P_1)
        P[i + 2] = P_2 + relaxation * (P[i + 2] - P_2)
    buffer[3], buffer[4], buffer[5] = P[i] - P_N, P[i + 1] - P_1, P[i + 2] - P_2
    return status


@unit(F(CONE, I, I, F, F, A, I, F, F, F, A))
def miss(cone, kind, nr, mu, rho, P, i, u_N, u_1, u_2, buffer):
    """Return the square of the natural map of one contact, as in residual.py."""
    trial, step = row_of(buffer, 0, 3), row_of(buffer, 1, 3)
    step[0] = rho * (u_N + (mu * math.sqrt(u_1 * u_1 + u_2 * u_2) if nr > 1 else 0.0))
    step[1], step[2] = rho * u_1, rho * u_2
    for r in range(3):
        trial[r] = P[i + r] - step[r]
    cone(kind, mu, trial)
    total = 0.0
    for r in range(nr):
        total += (step[r] - (trial[r] - (P[i + r] - step[r]))) ** 2
    return total


@unit(TREAT)
def treat_bodies(
    mode, begin, end, chunk, local, cone, header, columns, stream, factor, ahead, P, P_old, y, sums, buffer
):
    """Work on contacts begin .. end - 1 of one colour, each of which touches one or two rigid bodies.

    mode    PASS.sweep: solve each, factor = relaxation, from P + ahead (P - P_old); PASS.add: P into its cone, y += X
            P;
            PASS.judge: natural map, factor = rho
    in      header: velocities of its bodies begin at a and b, the same where one is fixed; stream
    in/out  P, P_old: P of the sweep before, y
    out     sums: two numbers per chunk
    """
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
        kind, nr, mu = header[h] & 7, header[h] >> 3, stream[at + 21]
        if mode == PASS.add:
            cone(kind, mu, head(tail(P, i), 3))
            d_N, d_1, d_2 = P[i], P[i + 1], P[i + 2]
        else:
            u_N, u_1, u_2 = stream[at + 18], stream[at + 19], stream[at + 20]
            u_N += dot_bodies(stream, W, y, a, b)
            u_1 += dot_bodies(stream, W + 12, y, a, b)
            u_2 += dot_bodies(stream, W + 24, y, a, b)
            if mode == PASS.judge:
                first += miss(cone, kind, nr, mu, factor, P, i, u_N, u_1, u_2, buffer)
            else:
                for j in range(i, i + 3):
                    P_j = P[j]
                    P[j] = fused(ahead, P_j - P_old[j], P_j)
                    P_old[j] = P_j
                status = step_block(local, stream, at, kind, nr, mu, factor, P, i, u_N, u_1, u_2, buffer)
                failed = failed if failed > status else status
                d_N, d_1, d_2 = buffer[3], buffer[4], buffer[5]
                first += d_N * d_N + d_1 * d_1 + d_2 * d_2
                second += P[i] * P[i] + P[i + 1] * P[i + 1] + P[i + 2] * P[i + 2]
        if mode != PASS.judge and (d_N != 0.0 or d_1 != 0.0 or d_2 != 0.0):
            push_body(stream, X, d_N, d_1, d_2, y, a)
            push_body(stream, X + 6, d_N, d_1, d_2, y, b)
        if (k - begin) & (PACKING.chunk - 1) == PACKING.chunk - 1 or k == end - 1:
            sums[2 * chunk], sums[2 * chunk + 1] = first, second
            first, second = 0.0, 0.0
            chunk += 1
    return failed


@unit(TREAT)
def treat_columns(
    mode, begin, end, chunk, local, cone, header, columns, stream, factor, ahead, P, P_old, y, sums, buffer
):
    """Do the same for contacts with any columns: listed, after their number, from place a for W and b for X."""
    failed, first, second, d_N, d_1, d_2 = 0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(begin, end):
        h, i = PACKING.header * k, 3 * k
        at, a, b = header[h + 1], header[h + 2], header[h + 3]
        wide, X_wide = columns[a - 1], columns[b - 1]
        X = at - 3 * X_wide
        W = X - 3 * wide
        kind, nr, mu = header[h] & 7, header[h] >> 3, stream[at + 21]
        if mode == PASS.add:
            cone(kind, mu, head(tail(P, i), 3))
            d_N, d_1, d_2 = P[i], P[i + 1], P[i + 2]
        else:
            u_N, u_1, u_2 = stream[at + 18], stream[at + 19], stream[at + 20]
            for j in range(wide):
                y_j = y[columns[a + j]]
                u_N = fused(stream[W + 3 * j], y_j, u_N)
                u_1 = fused(stream[W + 3 * j + 1], y_j, u_1)
                u_2 = fused(stream[W + 3 * j + 2], y_j, u_2)
            if mode == PASS.judge:
                first += miss(cone, kind, nr, mu, factor, P, i, u_N, u_1, u_2, buffer)
            else:
                for j in range(i, i + 3):
                    P_j = P[j]
                    P[j] = fused(ahead, P_j - P_old[j], P_j)
                    P_old[j] = P_j
                status = step_block(local, stream, at, kind, nr, mu, factor, P, i, u_N, u_1, u_2, buffer)
                failed = failed if failed > status else status
                d_N, d_1, d_2 = buffer[3], buffer[4], buffer[5]
                first += d_N * d_N + d_1 * d_1 + d_2 * d_2
                second += P[i] * P[i] + P[i + 1] * P[i + 1] + P[i + 2] * P[i + 2]
        if mode != PASS.judge and (d_N != 0.0 or d_1 != 0.0 or d_2 != 0.0):
            for j in range(X_wide):
                low = fused(d_2, stream[X + 3 * j + 2], y[columns[b + j]])
                y[columns[b + j]] = fused(d_N, stream[X + 3 * j], fused(d_1, stream[X + 3 * j + 1], low))
        if (k - begin) & (PACKING.chunk - 1) == PACKING.chunk - 1 or k == end - 1:
            sums[2 * chunk], sums[2 * chunk + 1] = first, second
            first, second = 0.0, 0.0
            chunk += 1
    return failed


@unit(I(TREAT, I, I, I, J, J, LOCAL, CONE, J, J, A, F, F, A, A, A, A, A))
def pass_over(
    treat, mode, member, members, shared, colours, local, cone, header, columns, stream, factor, ahead, P, P_old, y,
    sums, buffer,
):  # fmt: skip
    """Go over all contacts, colour by colour; what follows the last colour is left to member 0.

    colours: first contact and first chunk of each, of the rest, and the ends
    """
    failed, count = 0, colours.shape[0] // 2 - 1
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
        status = treat(
            mode, begin, stop, chunk, local, cone, header, columns, stream, factor, ahead, P, P_old, y, sums, buffer
        )
        failed = failed if failed > status else status
        if meet(shared, members) != 0:
            return Status.INTERRUPTED
    return failed


@unit(I(TREAT, I, I, I, J, J, LOCAL, CONE, J, J, A, A, A, A, A, A, A, A, A, A), entry=True)
def relax(
    treat, member, members, until, shared, colours, local, cone, header, columns, stream, settings, P, y, P_old, y_old,
    sums, state, buffer, info,
):  # fmt: skip
    """Sweep until the residual is below the tolerance; returns MORE where `until` sweeps were done before.

    team: member, members, shared / laws: local, cone / packed contacts: colours, header, columns, stream
    settings: tol, max_sweeps, relaxation, rounding, rho, scale = 1 / (rho |b|), momentum
    in/out  P; y = X P, zero at first; P_old, y_old: after the sweep before; state: memory of this member
    out     info: residual, sweeps
    work    sums: two per chunk, twice; buffer: 8 of this member

    All members hold the same numbers and decide alike.
    """
    tol, last, rounding, rho, scale = settings[0], whole(settings[1]), settings[3], settings[4], settings[5]
    nv, chunks = y.shape[0], sums.shape[0] // 4
    y_begin, y_end = nv * member // members, nv * (member + 1) // members
    count, target, least, theta, relaxation = whole(state[0]), state[1], state[2], state[3], state[4]
    best, mark, judged, ahead = state[5], state[6], whole(state[7]), state[8]
    trust, recent = state[9], state[10]
    if count == 0:
        target, least, theta, relaxation, best, mark = tol, math.inf, 1.0, settings[2], math.inf, math.inf
        trust, recent = 1.0, math.inf
        status = pass_over(
            treat, PASS.add, member, members, shared, colours, local, cone, header, columns, stream, rho, ahead, P,
            P_old, y,
            sums, buffer,
        )  # fmt: skip
        if status == Status.INTERRUPTED:
            return status
    while count < until:
        count += 1
        part = row_of(sums, count % 2, 2 * chunks)  # the other half may still be read
        failed = pass_over(
            treat, PASS.sweep, member, members, shared, colours, local, cone, header, columns, stream, relaxation,
            ahead, P, P_old, y, part, buffer,
        )  # fmt: skip
        if failed == Status.INTERRUPTED:
            return failed
        now, size = 0.0, 0.0
        for c in range(chunks):
            now += part[2 * c]
            size += part[2 * c + 1]
        if not now < math.inf:
            return Status.NONFINITE
        moved, size = scale * math.sqrt(now), scale * math.sqrt(size)
        still, due = moved <= rounding * size, count % COLOURED.check == 0 or count == last
        if moved <= target or still or due:
            for i in range(y_begin, y_end):  # y anew; y_old is shifted alike, else the jump would be extrapolated
                y_old[i] -= y[i]
                y[i] = 0.0
            if meet(shared, members) != 0:
                return Status.INTERRUPTED
            for mode in (PASS.add, PASS.judge):
                status = pass_over(
                    treat, mode, member, members, shared, colours, local, cone, header, columns, stream, rho,
                    ahead, P, P_old, y, part, buffer,
                )  # fmt: skip
                if status == Status.INTERRUPTED:
                    return status
            for i in range(y_begin, y_end):
                y_old[i] += y[i]
            total = 0.0
            for c in range(chunks):
                total += part[2 * c]
            found = scale * math.sqrt(total)
            if member == 0:
                info[0], info[1] = found, float(count)
            if found <= larger(tol, smaller(rounding * size, 1e4 * tol)):
                return 0
            # a contact may fail by rounding while others move, and y may have been off by rounding: judged at the end
            if (still and judged == count - 1) or count == last:
                return failed if failed != 0 else Status.CONTACT_STALLED
            judged = count
            # where the residual should be reached, from its ratio to the movement
            target = moved * larger(smaller(tol / found, 0.95), 0.3)
            best = smaller(best, found)
            if (
                count % COLOURED.window == 0
            ):  # stacks need all of the momentum, rough contacts less: 1, 0.8, 0.6, 0.4 in turn
                if best > 0.5 * recent:
                    trust = trust - 0.2 if trust > 0.5 else 1.0
                recent = best
            if count % COLOURED.patience == 0:  # no progress, sweeps run in circles: average them
                relaxation = larger(0.5 * relaxation, 0.25) if best > 0.9 * mark else settings[2]
                mark = best
        ahead = 0.0
        if now > COLOURED.growth * least:
            theta, least = larger(COLOURED.memory * theta, 1.0), now
        else:
            new = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * theta * theta))
            ahead, theta, least = trust * settings[6] * (theta - 1.0) / new, new, smaller(least, now)
        for i in range(y_begin, y_end):
            y_i = y[i]
            y[i] = fused(ahead, y_i - y_old[i], y_i)
            y_old[i] = y_i
        if meet(shared, members) != 0:
            return Status.INTERRUPTED
    state[0], state[1], state[2], state[3], state[4] = float(count), target, least, theta, relaxation
    state[5], state[6], state[7], state[8] = best, mark, float(judged), ahead
    state[9], state[10] = trust, recent
    return Status.CHUNK


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
        settings = np.array(
            [
                (1.0 - 1e-3) * self.tol,  # so that rounding errors of the certificate do not decide
                float(self.max_sweeps),
                self.relaxation,
                self.rounding,
                made.rho,
                1.0 / (made.rho * made.b_size),
                self.momentum,
            ]
        )
        contacts = made.colours, ready(problem.local), ready(problem.cone), made.header, made.columns, made.stream
        y, y_old, P_old, info = made.velocities(), made.velocities(), np.zeros(3 * nb), np.zeros(2)
        sums, shared = np.zeros(4 * int(made.colours[-1])), np.zeros(SHARED, dtype=np.int64)
        kernel, treat = ready(relax), ready(treat_bodies if made.bodies else treat_columns)
        statuses = [Status.CHUNK] * members
        errors: list[BaseException] = []

        def take_part(member: int) -> None:
            state, buffer, until = np.zeros(11), np.zeros(16), 0
            while statuses[member] == Status.CHUNK:
                until += 1 + COLOURED.breath // nb
                statuses[member] = kernel(
                    treat,
                    member,
                    members,
                    until,
                    shared,
                    *contacts,
                    settings,
                    P,
                    y,
                    P_old,
                    y_old,
                    sums,
                    state,
                    buffer,
                    info,
                )

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
        return Status(statuses[0]), info
