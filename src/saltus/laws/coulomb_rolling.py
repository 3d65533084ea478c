"""Coulomb friction and rolling resistance in the plane, rows (N, T, R). Set: |P_T| <= mu P_N, |P_R| <= mu_r P_N.

Law: Signorini's between u_N and P_N, P_T = -mu P_N sign(u_T) and P_R = -mu_r P_N sign(u_R): two frictions of one normal
force. u_R is the relative angular velocity [rad/s], P_R the impulse of the resisting moment [N m s], and mu_r [m] a
length, the lever arm by which the normal force is shifted ahead of a rolling body.

In the units of the law the rolling row is measured by the length mu_r / mu (`units`): u_R mu_r / mu is a velocity,
P_R mu / mu_r an impulse, their product the same power, and both bounds are mu P_N. The kernels below see these units.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from saltus.compile.seam import unit
from saltus.compile.types import A, F, I
from saltus.status import Status

KIND, ROWS, NAME = 5, 3, "coulomb_rolling"
KERNEL, AXES, FRICTIONS, NUMBERS = KIND, ("N", "T", "R"), (1, 1), ("mu", "mu_r")


class _Rolling(NamedTuple):
    """Tuned numbers of this file."""

    # determinant over the product of the diagonal up to which the rows of a state depend on each other
    singular: float = 1e-13
    exact: float = 1e-14  # violation of the law, over b, at which no other state is tried
    accepted: float = 1e-9  # violation, over b, that the best of all states may have
    clearly: float = 0.5  # share of a violation that is clearly less: rounding alone prefers nothing
    tiny: float = 1e-300  # keeps a division by nothing finite


ROLLING = _Rolling()


class _Way(NamedTuple):
    """Ways in which rows move."""

    # what one friction may do: rest, slip backwards or forwards, or rest without any force because another row holds it
    rest: int = 0
    backwards: int = 1
    forwards: int = 2
    idle: int = 3
    all: int = 4


FRICTION_WAY = _Way()


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


@unit(F(I), inline="always")
def _way(way):
    """Return the direction of a slip, 0 without one."""
    return 1.0 if way == FRICTION_WAY.forwards else (-1.0 if way == FRICTION_WAY.backwards else 0.0)


@unit(I(F, F, F, A, A, A))
def _pressed(mu, way_T, way_R, D, b, P):
    """Write P with each friction at its bound against its way, or zero, and the P_N that is best for all rows.

    A contact on a mechanism with one degree of freedom moves in one direction, and rounding must not choose its rows.
    """
    d_N, d_T = D[0] - mu * (way_T * D[1] + way_R * D[2]), D[3] - mu * (way_T * D[4] + way_R * D[5])
    d_R = D[6] - mu * (way_T * D[7] + way_R * D[8])
    P[0] = -(d_N * b[0] + d_T * b[1] + d_R * b[2]) / (d_N * d_N + d_T * d_T + d_R * d_R + ROLLING.tiny)
    P[1], P[2] = -mu * way_T * P[0], -mu * way_R * P[0]
    return 0


@unit(I(F, I, I, A, A, A))
def _closed(mu, does_T, does_R, D, b, P):
    """Write P of a closed contact, u_N = 0, whose frictions rest or are at their bounds against a slip.

    P_T = s_T P_N + y_T, and y_T is 0 unless the row rests: three equations for P_N, y_T, y_R, by Cramer's rule with one
    refinement. UNSOLVABLE where they depend on each other.
    """
    s_T, s_R = -mu * _way(does_T), -mu * _way(does_R)
    T, R = 1.0 if does_T == FRICTION_WAY.rest else 0.0, 1.0 if does_R == FRICTION_WAY.rest else 0.0
    a_NN, a_NT, a_NR = D[0] + s_T * D[1] + s_R * D[2], T * D[1], R * D[2]
    a_TN, a_TT, a_TR = T * (D[3] + s_R * D[5]), T * D[4] + (1.0 - T), T * R * D[5]
    a_RN, a_RT, a_RR = R * (D[6] + s_T * D[7]), R * T * D[7], R * D[8] + (1.0 - R)
    m_N, m_T, m_R = a_TT * a_RR - a_TR * a_RT, a_TR * a_RN - a_TN * a_RR, a_TN * a_RT - a_TT * a_RN
    det = a_NN * m_N + a_NT * m_T + a_NR * m_R
    if not abs(det) > ROLLING.singular * D[0] * a_TT * a_RR:
        return Status.CONTACT_UNSOLVABLE
    P_N, y_T, y_R = 0.0, 0.0, 0.0
    for _ in range(2):
        P_T, P_R = s_T * P_N + y_T, s_R * P_N + y_R
        u_N = D[0] * P_N + D[1] * P_T + D[2] * P_R + b[0]
        u_T = T * (D[3] * P_N + D[4] * P_T + D[5] * P_R + b[1])
        u_R = R * (D[6] * P_N + D[7] * P_T + D[8] * P_R + b[2])
        P_N -= (m_N * u_N + (a_NR * a_RT - a_NT * a_RR) * u_T + (a_NT * a_TR - a_NR * a_TT) * u_R) / det
        y_T -= (m_T * u_N + (a_NN * a_RR - a_NR * a_RN) * u_T + (a_NR * a_TN - a_NN * a_TR) * u_R) / det
        y_R -= (m_R * u_N + (a_NT * a_RN - a_NN * a_RT) * u_T + (a_NN * a_TT - a_NT * a_TN) * u_R) / det
    P[0], P[1], P[2] = P_N, s_T * P_N + y_T, s_R * P_N + y_R
    return 0


@unit(I(F, A, A, A))
def solve(mu, D, b, P):
    """Find P with u = D P + b by the law: take-off, or of all closed states the one that violates it least.

    Rest of both frictions is tried first. A singular block (on a mechanism) may have many solutions, and rounding in
    it: there a friction may rest without force, P_N may serve all rows at once, and the first of the clearly best
    states is taken.
    """
    P[0], P[1], P[2] = 0.0, 0.0, 0.0
    if b[0] >= 0.0:
        return 0
    worst, P_N, P_T, P_R = math.inf, 0.0, 0.0, 0.0
    size = math.sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2])
    for state in range(2 * FRICTION_WAY.all * FRICTION_WAY.all):
        # all states by their own rows, then all of them by P_N alone
        does_T, does_R, status = state % FRICTION_WAY.all, state // FRICTION_WAY.all % FRICTION_WAY.all, 0
        if state < FRICTION_WAY.all * FRICTION_WAY.all:
            status = _closed(mu, does_T, does_R, D, b, P)
        else:
            _pressed(mu, _way(does_T), _way(does_R), D, b, P)
        if status != 0 or not P[0] >= 0.0:
            continue
        P[1], P[2] = _clip(P[1], mu * P[0]), _clip(P[2], mu * P[0])
        found = violation(mu, D, b, P[0], P[1], P[2])
        if found < ROLLING.clearly * worst:
            worst, P_N, P_T, P_R = found, P[0], P[1], P[2]
        if found <= ROLLING.exact * size:
            break
    P[0], P[1], P[2] = P_N, P_T, P_R
    return 0 if worst <= ROLLING.accepted * size else Status.CONTACT_UNSOLVABLE
