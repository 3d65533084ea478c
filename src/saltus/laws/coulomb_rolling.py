"""Coulomb friction and rolling resistance in the plane, rows (N, T, R). Set: |P_T| <= mu P_N, |P_R| <= mu_r P_N.

Law: Signorini's between u_N and P_N, P_T = -mu P_N sign(u_T) and P_R = -mu_r P_N sign(u_R): two frictions of one normal
force. u_R is the relative angular velocity [rad/s], P_R the impulse of the resisting moment [N m s], and mu_r [m] a
length, the lever arm by which the normal force is shifted ahead of a rolling body.

In the units of the law the rolling row is measured by the length mu_r / mu (`units`): u_R mu_r / mu is a velocity,
P_R mu / mu_r an impulse, their product the same power, and both bounds are mu P_N. The kernels below see these units.
"""

from __future__ import annotations

import math

from saltus.compile.seam import unit
from saltus.compile.types import A, F, I
from saltus.status import Status

KIND, ROWS, NAME = 5, 3, "coulomb_rolling"
KERNEL, AXES, FRICTIONS, NUMBERS = KIND, ("N", "T", "R"), (1, 1), ("mu", "mu_r")
UNSOLVABLE = int(Status.CONTACT_UNSOLVABLE)
SINGULAR = 1e-13  # pivot over its row up to which rows count as dependent: the impulse in question stays zero
EXACT = 1e-14  # violation of the law, over the terms of u, at which no other state is tried
ACCEPTED = 1e-9  # violation, over b, that the best of all states may have
CLEARLY = 0.1  # share of a violation that is clearly less: rounding alone prefers nothing
STATES = 9  # stick, slip forwards, slip backwards of both frictions


def units(mu: float, mu_r: float) -> tuple[float, ...]:
    """Return what a unit of each row of impulses is [N s, N s, N m s]; mu_r [m]."""
    return 1.0, 1.0, mu_r / mu


@unit(F(F, F, F, F), inline="always")
def _height(mu, x_N, x_T, x_R):
    """Return P_N of the projection of x: root of a function that grows with P_N, steeper where frictions bind."""
    large, small = max(abs(x_T), abs(x_R)), min(abs(x_T), abs(x_R))
    P_N = x_N
    if mu * P_N < large:
        P_N = (x_N + mu * large) / (1.0 + mu * mu)
        if mu * P_N < small:
            P_N = (x_N + mu * (large + small)) / (1.0 + 2.0 * mu * mu)
    return max(P_N, 0.0)


@unit(F(F, F), inline="always")
def _clip(x, bound):
    """Return x shortened to the bound."""
    return min(max(x, -bound), bound)


@unit(I(F, A))
def project(mu, P):
    """Project P onto the set |P_T| <= mu P_N, |P_R| <= mu P_N (Euclidean)."""
    P_N = _height(mu, P[0], P[1], P[2])
    P[0], P[1], P[2] = P_N, _clip(P[1], mu * P_N), _clip(P[2], mu * P_N)
    return 0


@unit(F(F, A, A, F, F, F))
def violation(mu, D, b, P_N, P_T, P_R):
    """Return how far P is from the law: the natural map of contact/residual.py for one block, a velocity."""
    u_T = D[3] * P_N + D[4] * P_T + D[5] * P_R + b[1]
    u_R = D[6] * P_N + D[7] * P_T + D[8] * P_R + b[2]
    u_N = D[0] * P_N + D[1] * P_T + D[2] * P_R + b[0] + mu * (abs(u_T) + abs(u_R))
    rho = 3.0 / (D[0] + D[4] + D[8])
    x_N, x_T, x_R = P_N - rho * u_N, P_T - rho * u_T, P_R - rho * u_R
    y_N = _height(mu, x_N, x_T, x_R)
    y_T, y_R = _clip(x_T, mu * y_N), _clip(x_R, mu * y_N)
    return math.sqrt((P_N - y_N) ** 2 + (P_T - y_T) ** 2 + (P_R - y_R) ** 2) / rho


@unit(I(F, F, F, A, A, A))
def _closed(mu, way_T, way_R, D, b, P):
    """Write P of a closed contact with u_N = 0, each friction at its bound against its way, or at rest where that is 0.

    Elimination of the normal row first, with one refinement; a dependent row of rest keeps what it has.
    """
    s_T, s_R = -mu * way_T, -mu * way_R
    d_N = D[0] + s_T * D[1] + s_R * D[2]
    d_T, d_R = D[3] + s_T * D[4] + s_R * D[5], D[6] + s_T * D[7] + s_R * D[8]
    if not d_N > 0.0:
        return UNSOLVABLE
    # what is left of the rows T and R, as far as they rest, behind the normal one
    S_TT, S_TR = D[4] - d_T * D[1] / d_N, D[5] - d_T * D[2] / d_N
    S_RT, S_RR = D[7] - d_R * D[1] / d_N, D[8] - d_R * D[2] / d_N
    rests_T, rests_R = way_T == 0.0 and S_TT > SINGULAR * D[4], way_R == 0.0 and S_RR > SINGULAR * D[8]
    if rests_T and rests_R:
        left = S_RR - S_RT * S_TR / S_TT
        rests_R = left > SINGULAR * S_RR
    P_N, P_T, P_R = 0.0, 0.0, 0.0
    for _ in range(2):
        T, R = P_T + s_T * P_N, P_R + s_R * P_N
        u_N = D[0] * P_N + D[1] * T + D[2] * R + b[0]
        u_T = D[3] * P_N + D[4] * T + D[5] * R + b[1] - d_T * u_N / d_N
        u_R = D[6] * P_N + D[7] * T + D[8] * R + b[2] - d_R * u_N / d_N
        step_T, step_R = 0.0, 0.0
        if rests_T and rests_R:
            step_R = (u_R - S_RT * u_T / S_TT) / (S_RR - S_RT * S_TR / S_TT)
            step_T = (u_T - S_TR * step_R) / S_TT
        elif rests_T:
            step_T = u_T / S_TT
        elif rests_R:
            step_R = u_R / S_RR
        P_N -= (u_N - D[1] * step_T - D[2] * step_R) / d_N
        P_T -= step_T
        P_R -= step_R
    P[0], P[1], P[2] = P_N, P_T + s_T * P_N, P_R + s_R * P_N
    return 0


@unit(I(F, A, A, A))
def solve(mu, D, b, P):
    """Find P with u = D P + b by the law: take-off, or the one of nine closed states that violates it least.

    Rest of both frictions is tried first, slip of both last. A singular block (on a mechanism) may have many solutions,
    and rounding in it: there the first of the clearly best ones is taken.
    """
    P[0], P[1], P[2] = 0.0, 0.0, 0.0
    if b[0] >= 0.0:
        return 0
    worst, P_N, P_T, P_R = math.inf, 0.0, 0.0, 0.0
    size = math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
    for state in range(STATES):
        way_T, way_R = (0.0, -1.0, 1.0)[state % 3], (0.0, -1.0, 1.0)[state // 3]
        if _closed(mu, way_T, way_R, D, b, P) != 0 or not P[0] >= 0.0:
            continue
        bound = mu * P[0]
        P[1], P[2] = _clip(P[1], bound), _clip(P[2], bound)
        found = violation(mu, D, b, P[0], P[1], P[2])
        if found < CLEARLY * worst:
            worst, P_N, P_T, P_R = found, P[0], P[1], P[2]
        terms = size + (D[0] + D[4] + D[8]) * (P[0] + abs(P[1]) + abs(P[2]))
        if found <= EXACT * terms:
            break
    P[0], P[1], P[2] = P_N, P_T, P_R
    return 0 if worst <= ACCEPTED * size else UNSOLVABLE
