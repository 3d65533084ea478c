"""Coulomb friction in the plane, rows (N, T). Set: |P_T| <= mu P_N.

Law (Signorini-Coulomb; De Saxce and Feng 1998): 0 <= u_N, P_N >= 0, u_N P_N = 0, and P_T = -mu P_N sign(u_T).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from saltus.compile.seam import unit
from saltus.compile.types import A, F, I
from saltus.status import Status

KIND, ROWS, NAME = 2, 2, "coulomb_planar"
KERNEL, AXES, FRICTIONS, NUMBERS = KIND, ("N", "T"), (1,), ("mu",)


class _Planar(NamedTuple):
    """Tuned numbers of this file."""

    # what is left of the tangential row behind the normal one, over that row, up to which rounding may decide what the
    # block does; a mobility over both that counts as none; violation of the law, over b, that its solution may have
    suspect: float = 1e-6
    immobile: float = 1e-9
    accepted: float = 1e-9
    clearly: float = 0.1  # share of a violation that is clearly less: rounding alone prefers nothing
    tiny: float = 1e-300  # keeps a division by nothing finite


PLANAR = _Planar()


@unit(I(F, A))
def project(mu, P):
    """Project P onto the cone |P_T| <= mu P_N (Euclidean)."""
    P_T = abs(P[1])
    if P[0] < 0.0 or P_T > mu * P[0]:
        P_N = max((P[0] + mu * P_T) / (1.0 + mu * mu), 0.0)
        P[1] = mu * P_N if P[1] > 0.0 else -mu * P_N
        P[0] = P_N
    return 0


@unit(I(F, A, A, A))
def _branch(mu, D, b, P):
    """Find P with u = D P + b by the law: take-off, else slip in one direction, else stick.

    A closed contact has P_T = -mu P_N s with |s| <= 1 and u_N = 0, so that P_N = -b_N / (D_NN - mu s D_NT).
    The slip u_T, multiplied by that (positive) denominator, is linear in s: its signs at s = 1 and s = -1
    decide.
    """
    P[0], P[1] = 0.0, 0.0
    if b[0] >= 0.0:
        return 0
    size = max(-b[0], abs(b[1]))  # only the direction of b matters for s: products cannot underflow
    b_N, b_T = -b[0] / size, b[1] / size
    center = b_T * D[0] + b_N * D[3]
    slope = mu * (b_N * D[4] + b_T * D[1])
    right, left = D[0] - mu * D[1], D[0] + mu * D[1]
    if right > 0.0 and center - slope >= 0.0:
        P[0] = -b[0] / right
        P[1] = -mu * P[0]
        return 0
    if left > 0.0 and center + slope <= 0.0:
        P[0] = -b[0] / left
        P[1] = mu * P[0]
        return 0
    if not D[0] > 0.0:
        return Status.CONTACT_UNSOLVABLE
    # stick: elimination with one refinement; where D is singular P_T is free between the edges, 0 is shortest
    schur = D[4] - D[3] * D[1] / D[0]
    u_N, u_T = b[0], b[1]
    for _ in range(2):
        step = (u_T - D[3] * u_N / D[0]) / schur if schur > 1e-14 * D[4] else 0.0
        P[0] -= (u_N - D[1] * step) / D[0]
        P[1] -= step
        u_N, u_T = D[0] * P[0] + D[1] * P[1] + b[0], D[3] * P[0] + D[4] * P[1] + b[1]
    return 0


@unit(F(F, A, A, F, F))
def violation(mu, D, b, P_N, P_T):
    """Return how far P is from the law: the natural map of contact/residual.py for one block, a velocity."""
    u_T = D[3] * P_N + D[4] * P_T + b[1]
    u_N = D[0] * P_N + D[1] * P_T + b[0] + mu * abs(u_T)
    rho = 2.0 / (D[0] + D[4])
    x_N, x_T = P_N - rho * u_N, P_T - rho * u_T
    if x_N < 0.0 or abs(x_T) > mu * x_N:
        x_N = max((x_N + mu * abs(x_T)) / (1.0 + mu * mu), 0.0)
        x_T = mu * x_N if x_T > 0.0 else -mu * x_N
    return math.sqrt((P_N - x_N) ** 2 + (P_T - x_T) ** 2) / rho


@unit(I(F, A, A, A))
def solve(mu, D, b, P):
    """Find P with u = D P + b by the law; a singular block (on a mechanism) may have many, and rounding in it.

    A contact on a mechanism with one degree of freedom moves in one direction. Rounding of D and b must not choose
    between stick and slip: of what the rows ask for, and of rest by friction one way, the other way or by none, each
    with the P_N that is best for both rows, the one is taken that violates the law least.
    """
    status = _branch(mu, D, b, P)
    if b[0] >= 0.0 or not D[0] > 0.0:
        return status
    if D[4] > PLANAR.immobile * (D[0] + abs(D[4])) and D[4] - D[3] * D[1] / D[0] > PLANAR.suspect * D[4]:
        return status
    worst = violation(mu, D, b, P[0], P[1]) if status == 0 else math.inf
    for attempt in range(3):
        way = (0.0, -1.0, 1.0)[attempt]
        d_N, d_T = D[0] + way * mu * D[1], D[3] + way * mu * D[4]
        P_N = -(d_N * b[0] + d_T * b[1]) / (d_N * d_N + d_T * d_T + PLANAR.tiny)
        found = violation(mu, D, b, P_N, way * mu * P_N)
        if P_N > 0.0 and found < PLANAR.clearly * worst:
            P[0], P[1], worst = P_N, way * mu * P_N, found
    return 0 if worst <= PLANAR.accepted * math.sqrt(b[0] * b[0] + b[1] * b[1]) else status
