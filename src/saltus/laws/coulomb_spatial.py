"""Coulomb friction in space, rows (N, T1, T2). Set: |P_T| <= mu P_N.

Law (Signorini-Coulomb; De Saxce and Feng 1998): 0 <= u_N, P_N >= 0, u_N P_N = 0, and either u_T = 0 with
|P_T| <= mu P_N, or P_T = -mu P_N u_T / |u_T|.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from saltus.compile.seam import unit
from saltus.compile.types import A, F, I
from saltus.status import Status

KIND, ROWS, NAME = 3, 3, "coulomb_spatial"
KERNEL, AXES, FRICTIONS, NUMBERS = KIND, ("N", "T1", "T2"), (2,), ("mu",)


class _Spatial(NamedTuple):
    """Tuned numbers of this file."""

    # determinant of the tangential rows behind the normal one, over that of independent rows, up to which rounding may
    # decide what the block does; a mobility over all of them that counts as none; violation of the law, over b, that a
    # solution of such a block may have
    suspect: float = 1e-6
    immobile: float = 1e-9
    accepted: float = 1e-9
    clearly: float = 0.1  # share of a violation that is clearly less: rounding alone prefers nothing
    tiny: float = 1e-300  # keeps a division by nothing finite


SPATIAL = _Spatial()


@unit(I(F, A))
def project(mu, P):
    """Project P onto the cone |P_T| <= mu P_N (Euclidean)."""
    P_T = math.hypot(P[1], P[2])
    if P[0] < 0.0 or P_T > mu * P[0]:
        P_N = max((P[0] + mu * P_T) / (1.0 + mu * mu), 0.0)
        shrink = mu * P_N / P_T if P_T > 0.0 else 0.0
        P[0], P[1], P[2] = P_N, shrink * P[1], shrink * P[2]
    return 0


@unit(F(F, F, F, F, F, F, F))
def _excess(rate, trace, det, turn_1, turn_2, drive_1, drive_2):
    """Return |adj(C + rate I) drive| - det(C + rate I): positive where |s(rate)| > 1."""
    s_1, s_2 = turn_1 + rate * drive_1, turn_2 + rate * drive_2
    return math.sqrt(s_1 * s_1 + s_2 * s_2) - (rate + trace) * rate - det


@unit(I(F, A, A, A))
def _branch(mu, D, b, P):
    """Find P with u = D P + b by the law: take-off, stick, or slip.

    A closed contact has P_T = -mu P_N s with |s| <= 1 and u_N = 0, so that P_N = -b_N / (D_NN - mu D_NT s).
    The slip, multiplied by that (positive) denominator, is drive - C s and must equal rate s with rate >= 0,
    and rate = 0 unless |s| = 1. So s = (C + rate I)^-1 drive, and slip is one equation |s(rate)| = 1 on
    [0, 1] (all quantities scaled), solved by Newton steps kept inside a bracket. Where rate is large |s| < 1,
    so a stick or a root exists; a singular D (a direction in which the contact cannot move) is no exception.
    """
    P[0], P[1], P[2] = 0.0, 0.0, 0.0
    if b[0] >= 0.0:
        return 0
    if not D[0] > 0.0:
        return Status.CONTACT_UNSOLVABLE
    singular = 1e-13  # relative size below which a difference, or a determinant, counts as zero
    epsilon = 2.5e-16  # relative size of a last bit
    scan = 1.0 / 64.0  # distance of the points at which a branch is followed

    # stick: eliminate the normal row, solve for P_T, refine once; of a singular matrix take the shortest P_T
    S_11, S_12 = D[4] - D[3] * D[1] / D[0], D[5] - D[3] * D[2] / D[0]
    S_21, S_22 = D[7] - D[6] * D[1] / D[0], D[8] - D[6] * D[2] / D[0]
    det, size = S_11 * S_22 - S_12 * S_21, S_11 * S_11 + S_12 * S_12 + S_21 * S_21 + S_22 * S_22
    regular, flat = det > singular * D[4] * D[8], size <= (singular * (D[4] + D[8])) ** 2
    u_N, u_1, u_2 = b[0], b[1], b[2]
    for _ in range(2):
        left_1, left_2 = u_1 - D[3] * u_N / D[0], u_2 - D[6] * u_N / D[0]
        step_1, step_2 = 0.0, 0.0
        if regular:
            step_1, step_2 = (S_22 * left_1 - S_12 * left_2) / det, (S_11 * left_2 - S_21 * left_1) / det
        elif not flat:
            step_1, step_2 = (S_11 * left_1 + S_21 * left_2) / size, (S_12 * left_1 + S_22 * left_2) / size
        P[0] -= (u_N - D[1] * step_1 - D[2] * step_2) / D[0]
        P[1] -= step_1
        P[2] -= step_2
        u_N = D[0] * P[0] + D[1] * P[1] + D[2] * P[2] + b[0]
        u_1 = D[3] * P[0] + D[4] * P[1] + D[5] * P[2] + b[1]
        u_2 = D[6] * P[0] + D[7] * P[1] + D[8] * P[2] + b[2]
    rest = abs(u_1) + abs(u_2) <= singular * (abs(b[1]) + abs(b[2]) + (D[4] + D[8] + D[0]) * abs(P[0]))
    if P[0] > 0.0 and math.hypot(P[1], P[2]) <= mu * P[0] and (regular or rest):
        return 0

    # slip: only the direction of b matters for s; scaled, so that products neither underflow nor overflow
    size = max(-b[0], abs(b[1]), abs(b[2]))
    b_N, b_1, b_2 = -b[0] / size, b[1] / size, b[2] / size
    drive_1, drive_2 = b_1 * D[0] + b_N * D[3], b_2 * D[0] + b_N * D[6]
    C_11, C_12 = mu * (b_N * D[4] + b_1 * D[1]), mu * (b_N * D[5] + b_1 * D[2])
    C_21, C_22 = mu * (b_N * D[7] + b_2 * D[1]), mu * (b_N * D[8] + b_2 * D[2])
    top = math.sqrt(drive_1 * drive_1 + drive_2 * drive_2)
    top += math.sqrt(C_11 * C_11 + C_12 * C_12 + C_21 * C_21 + C_22 * C_22)
    drive_1, drive_2 = drive_1 / top, drive_2 / top
    C_11, C_12, C_21, C_22 = C_11 / top, C_12 / top, C_21 / top, C_22 / top
    trace, det = C_11 + C_22, C_11 * C_22 - C_12 * C_21
    turn_1, turn_2 = C_22 * drive_1 - C_12 * drive_2, C_11 * drive_2 - C_21 * drive_1
    low, high = 0.0, 1.0
    if mu * mu * (D[1] * D[1] + D[2] * D[2]) >= D[0] * D[0]:
        # the denominator can vanish (jamming): it is positive on the branch that comes down from rate = 1
        low = 1.0
        while low > 0.0 and _excess(low, trace, det, turn_1, turn_2, drive_1, drive_2) <= 0.0:
            high = low
            low -= scan
    rate, s_1, s_2, length = high, drive_1, drive_2, 1.0
    for _ in range(100):
        s_1, s_2 = turn_1 + rate * drive_1, turn_2 + rate * drive_2
        length = math.sqrt(s_1 * s_1 + s_2 * s_2)
        value = (rate + trace) * rate + det - length
        if value < 0.0:
            low = rate
        else:
            high = rate
        new = rate - value / (2.0 * rate + trace - (s_1 * drive_1 + s_2 * drive_2) / length)
        if not low < new < high:
            new = 0.5 * (low + high)
        if value == 0.0 or abs(new - rate) <= epsilon * high:
            break
        rate = new
    s_1, s_2 = s_1 / length, s_2 / length
    for _ in range(2):  # turn s until it is parallel to the slip: repairs cancellation where C is nearly singular
        left_1, left_2 = drive_1 - C_11 * s_1 - C_12 * s_2, drive_2 - C_21 * s_1 - C_22 * s_2
        stiffness = C_11 * s_2 * s_2 - (C_12 + C_21) * s_1 * s_2 + C_22 * s_1 * s_1
        turn = (s_1 * left_2 - s_2 * left_1) / (stiffness + s_1 * left_1 + s_2 * left_2)
        if abs(turn) < scan:
            s_1, s_2 = s_1 - turn * s_2, s_2 + turn * s_1
            length = math.sqrt(s_1 * s_1 + s_2 * s_2)
            s_1, s_2 = s_1 / length, s_2 / length
    normal = D[0] - mu * (D[1] * s_1 + D[2] * s_2)
    if not normal > 0.0:
        return Status.CONTACT_UNSOLVABLE
    P[0] = -b[0] / normal
    P[1], P[2] = -mu * P[0] * s_1, -mu * P[0] * s_2
    return 0


@unit(F(F, A, A, F, F, F))
def violation(mu, D, b, P_N, P_1, P_2):
    """Return how far P is from the law: the natural map of contact/residual.py for one block, a velocity."""
    u_1 = D[3] * P_N + D[4] * P_1 + D[5] * P_2 + b[1]
    u_2 = D[6] * P_N + D[7] * P_1 + D[8] * P_2 + b[2]
    u_N = D[0] * P_N + D[1] * P_1 + D[2] * P_2 + b[0] + mu * math.sqrt(u_1 * u_1 + u_2 * u_2)
    rho = 3.0 / (D[0] + D[4] + D[8])
    x_N, x_1, x_2 = P_N - rho * u_N, P_1 - rho * u_1, P_2 - rho * u_2
    x_T = math.sqrt(x_1 * x_1 + x_2 * x_2)
    if x_N < 0.0 or x_T > mu * x_N:
        near = max((x_N + mu * x_T) / (1.0 + mu * mu), 0.0)
        shrink = mu * near / x_T if x_T > 0.0 else 0.0
        x_N, x_1, x_2 = near, shrink * x_1, shrink * x_2
    return math.sqrt((P_N - x_N) ** 2 + (P_1 - x_1) ** 2 + (P_2 - x_2) ** 2) / rho


@unit(I(F, A, A, A))
def solve(mu, D, b, P):
    """Find P with u = D P + b by the law; a singular block (on a mechanism) may have many, and rounding in it.

    A contact on a mechanism moves in fewer directions than it has rows. What is left of the others is rounding of D
    and b, which must not choose between stick and slip: of the candidates the one that violates the law least is
    taken. Beside what the rows as they are ask for, these are the ones that move in one direction less, or in two.
    """
    status = _branch(mu, D, b, P)
    if b[0] >= 0.0 or not D[0] > 0.0:
        return status
    S_11, S_12 = D[4] - D[3] * D[1] / D[0], D[5] - D[3] * D[2] / D[0]
    S_21, S_22 = D[7] - D[6] * D[1] / D[0], D[8] - D[6] * D[2] / D[0]
    few = SPATIAL.immobile * (D[0] + abs(D[4]) + abs(D[8]))
    if D[4] > few and D[8] > few and S_11 * S_22 - S_12 * S_21 > SPATIAL.suspect * D[4] * D[8]:
        return status
    worst = violation(mu, D, b, P[0], P[1], P[2]) if status == 0 else math.inf
    # one direction of motion: rest by friction along it, one way or the other, or by none; the best P_N for all rows
    slip = math.sqrt(b[1] * b[1] + b[2] * b[2])
    for attempt in range(3):
        way = (0.0, -1.0, 1.0)[attempt]
        s_1, s_2 = (way * mu * b[1] / slip, way * mu * b[2] / slip) if slip > 0.0 else (0.0, 0.0)
        d_N = D[0] + D[1] * s_1 + D[2] * s_2
        d_1, d_2 = D[3] + D[4] * s_1 + D[5] * s_2, D[6] + D[7] * s_1 + D[8] * s_2
        P_N = -(d_N * b[0] + d_1 * b[1] + d_2 * b[2]) / (d_N * d_N + d_1 * d_1 + d_2 * d_2 + SPATIAL.tiny)
        found = violation(mu, D, b, P_N, s_1 * P_N, s_2 * P_N)
        if P_N > 0.0 and found < SPATIAL.clearly * worst:
            P[0], P[1], P[2], worst = P_N, s_1 * P_N, s_2 * P_N, found
    # stick by the shortest friction, in the one direction that moves
    size = S_11 * S_11 + S_12 * S_12 + S_21 * S_21 + S_22 * S_22
    P_N = -b[0] / D[0]
    left_1, left_2 = b[1] + D[3] * P_N, b[2] + D[6] * P_N
    if size > 0.0:
        P_1, P_2 = -(S_11 * left_1 + S_21 * left_2) / size, -(S_12 * left_1 + S_22 * left_2) / size
        P_N -= (D[1] * P_1 + D[2] * P_2) / D[0]
        found = violation(mu, D, b, P_N, P_1, P_2)
        if P_N > 0.0 and P_1 * P_1 + P_2 * P_2 <= mu * mu * P_N * P_N and found < SPATIAL.clearly * worst:
            P[0], P[1], P[2], worst = P_N, P_1, P_2, found
    return 0 if worst <= SPATIAL.accepted * math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]) else status
