"""Poisson's law of impacts with Coulomb friction: compression and expansion (Pfeiffer and Glocker 1996, ch. 8).

An impact is two contact problems. Compression ends with P_c: the Coulomb law with e = 0. In the expansion every contact
receives at least e times what it received in the compression,

    P_N >= e P_cN,  u_N >= 0,  (P_N - e P_cN) u_N = 0,  |P_T| <= mu P_N,  P_T against u_T where it slips

Set of the expansion, for a floor e P_cN: the cone above a height, P_N >= floor, |P_T| <= mu P_N. One contact without
friction rebounds as Newton's law says. Compression only loses energy; expansion may give back more than was lost where
friction turns the slip around, so it is scaled down to what was lost (reaction/expansion.py): the cone, which is
convex, and u_N >= 0 are kept, and no impact gains energy.
"""

from __future__ import annotations

import math
from typing import Any

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, A, F, I
from saltus.laws.coulomb_planar import solve as solve_planar
from saltus.laws.coulomb_spatial import solve as solve_spatial
from saltus.status import Status

NAME, WORDS = "poisson", "Poisson's law of impacts (impact='poisson')"


def reacting() -> Any:
    """Return the unit that solves an impact: compression, then expansion."""
    from saltus.reaction.expansion import react_poisson  # here, because few systems need it

    return react_poisson


def room(sizes: dict[str, int]) -> Any:
    """Return the plan of what the expansion works with."""
    from saltus.reaction.expansion import EXPANDING, EXPANSION

    return EXPANDING.plan({**sizes, "few": min(sizes["nr"], EXPANSION.most_rows)})


@unit(I(MODEL, I, F, A, A), small=True)
def strike(model, contact, speed, u, target):
    """Write the velocities that an impact begins with behind the target, nr further."""
    layout, begin = model.layout, model.layout.nr
    row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
    target[begin + row] = u[row] if u[row] > 0.0 and not speed < 0.0 else speed
    for r in range(row + 1, end):
        target[begin + r] = u[r]
    return 0


@unit(I(I, F, F, A))
def project(rows, mu, floor, P):
    """Project P (N | N, T | N, T1, T2) onto P_N >= floor, |P_T| <= mu P_N (Euclidean)."""
    P_T = 0.0
    if rows > 1:
        P_T = math.hypot(P[1], P[2]) if rows == 3 else abs(P[1])
    P_N = P[0]
    if P_T > mu * P_N:
        P_N = (P_N + mu * P_T) / (1.0 + mu * mu) if rows > 1 else P_N
    P_N = max(P_N, floor, 0.0)
    if P_T > mu * P_N:
        for r in range(1, rows):
            P[r] *= mu * P_N / P_T
    P[0] = P_N
    return 0


@unit(F(I, F, F, A, A, A))
def press(rows, mu, P_N, D, b, P):
    """Write P of a contact whose normal impulse is known: friction of a known bound mu P_N; return u_N."""
    bound = mu * P_N
    P[0] = P_N
    if rows == 2:
        slip = b[1] + D[3] * P_N
        P[1] = -math.copysign(bound, slip)
        if abs(slip) < bound * D[4]:
            P[1] = -slip / D[4]
        return b[0] + D[0] * P_N + D[1] * P[1]
    if rows == 1:
        return b[0] + D[0] * P_N
    # space: |P_T| = bound with (D_TT + rate) P_T = -slip, rate >= 0, or rate = 0 and less
    slip_1, slip_2 = b[1] + D[3] * P_N, b[2] + D[6] * P_N
    cross = 0.5 * (D[5] + D[7])
    P[1], P[2] = 0.0, 0.0
    size = math.hypot(slip_1, slip_2)
    if bound > 0.0 and size > 0.0:
        low, high, rate = 0.0, size / bound, 0.0
        for _ in range(100):
            d_1, d_2 = D[4] + rate, D[8] + rate
            det = d_1 * d_2 - cross * cross
            if not det > 1e-15 * d_1 * d_2:
                low = rate
                rate = 0.5 * (low + high)
                continue
            P[1], P[2] = (cross * slip_2 - d_2 * slip_1) / det, (cross * slip_1 - d_1 * slip_2) / det
            length = math.hypot(P[1], P[2])
            if length <= bound and rate == 0.0:
                break
            if length > bound:
                low = rate
            else:
                high = rate
            # Newton on 1 / length, nearly linear in the rate
            fall = (P[1] * (d_2 * P[1] - cross * P[2]) + P[2] * (d_1 * P[2] - cross * P[1])) / det
            new = rate + (length / bound - 1.0) * length * length / fall if fall > 0.0 else 0.5 * (low + high)
            if not low <= new <= high:
                new = 0.5 * (low + high)
            if abs(new - rate) <= 2e-16 * high or high - low <= 2e-16 * high:
                break
            rate = new
        length = math.hypot(P[1], P[2])
        if length > bound:
            P[1], P[2] = P[1] * bound / length, P[2] * bound / length
    return b[0] + D[0] * P_N + D[1] * P[1] + D[2] * P[2]


@unit(I(I, F, F, A, A, A))
def solve(rows, mu, floor, D, b, P):
    """Find P with u = D P + b by the law of the expansion: the floor is enough, or else the contact closes.

    D, b: the block as laws have it, D 3 x 3 flat. Beyond the floor the law is that of Coulomb; where its solution is
    not the one above the floor (jamming), the normal impulse with u_N = 0 is found by bisection.
    """
    if press(rows, mu, floor, D, b, P) >= 0.0:
        return 0
    if not D[0] > 0.0:
        return Status.CONTACT_UNSOLVABLE
    if rows == 1:
        P[0] = -b[0] / D[0]
        return 0
    status = solve_planar(mu, D, b, P) if rows == 2 else solve_spatial(mu, D, b, P)
    if status == 0 and P[0] >= floor:
        return 0
    low, high = floor, 2.0 * max(floor, -b[0] / D[0])
    for _ in range(200):
        if press(rows, mu, high, D, b, P) >= 0.0:
            break
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if press(rows, mu, middle, D, b, P) >= 0.0:
            high = middle
        else:
            low = middle
    return 0 if press(rows, mu, high, D, b, P) >= 0.0 else Status.CONTACT_UNSOLVABLE
