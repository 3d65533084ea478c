"""Coulomb friction in the plane, rows (N, T). Set: |P_T| <= mu P_N.

Law (Signorini-Coulomb; De Saxce and Feng 1998): 0 <= u_N, P_N >= 0, u_N P_N = 0, and P_T = -mu P_N sign(u_T).
"""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import A, F, I
from saltus.status import Status

KIND, ROWS, NAME = 2, 2, "coulomb_planar"
UNSOLVABLE = int(Status.CONTACT_UNSOLVABLE)


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
def solve(mu, D, b, P):
    """Find P with u = D P + b by the law: take-off, else slip in one direction, else stick.

    A closed contact has P_T = -mu P_N s with |s| <= 1 and u_N = 0, so that P_N = -b_N / (D_NN - mu s D_NT). The
    slip u_T, multiplied by that (positive) denominator, is linear in s: its signs at s = 1 and s = -1 decide, and
    no determinant of D is needed.
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
        s, normal = 1.0, right
    elif left > 0.0 and center + slope <= 0.0:
        s, normal = -1.0, left
    else:
        # slope 0 here means center 0 too: D is singular, every s sticks, and s = 0 is the shortest impulse
        rounding = 1e-14 * mu * (abs(b_N * D[4]) + abs(b_T * D[1]))
        s = center / slope if abs(slope) > rounding else 0.0
        normal = D[0] - mu * s * D[1]
    if not normal > 0.0:
        return UNSOLVABLE
    P[0] = -b[0] / normal
    P[1] = -mu * s * P[0]
    return 0
