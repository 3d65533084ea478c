"""Coulomb friction and rolling resistance in space, rows (N, T1, T2, R1, R2). Set: |P_T| <= mu P_N, |P_R| <= mu_r P_N.

Law: Signorini's between u_N and P_N, and for both frictions either rest or a force at its bound against the motion, as
in laws/coulomb_rolling.py; u_R are the two components of the relative angular velocity in the plane of contact. In the
units of the law both bounds are mu P_N.

A block is solved by Newton's method on the equations of Alart and Curnier, P = p(P - rho u), where p raises the normal
impulse to zero and shortens each friction to mu times it, as contact/semismooth_newton.py does with all blocks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from saltus.compile.seam import head, larger, mat, tail, unit
from saltus.compile.types import A, B, F, I
from saltus.status import Status

KIND, ROWS, NAME = 6, 5, "rolling_spatial"
KERNEL, AXES, FRICTIONS, NUMBERS = KIND, ("N", "T1", "T2", "R1", "R2"), (2, 2), ("mu", "mu_r")
SCRATCH = 3 * ROWS + ROWS * ROWS  # floats behind the rows of P that `solve` works with


class _SpatialRolling(NamedTuple):
    """Tuned numbers of this file."""

    singular: float = 1e-11  # of the mean diagonal of D: what keeps the derivative regular
    # error of the equations, over P and b, that iterations aim for, and may end with
    exact: float = 1e-14
    accepted: float = 1e-10
    # of Newton's method, and of one of its steps
    newton_steps: int = 40
    halvings: int = 12
    # decrease that a step must bring, weight of former errors in their mean
    enough: float = 1e-4
    former: float = 0.85
    # of the mean diagonal of D: where a path of shifted problems begins and ends
    first_shift: float = 10.0
    last_shift: float = 1e-7
    attempts: int = 4  # from nothing, then along paths with ever shorter steps


SPATIAL_ROLLING = _SpatialRolling()


def units(mu: float, mu_r: float) -> tuple[float, ...]:
    """Return what a unit of each row of impulses is [N s, N s, N s, N m s, N m s]; mu_r [m]."""
    return 1.0, 1.0, 1.0, mu_r / mu, mu_r / mu


@unit(I(F, A))
def project(mu, P):
    """Project P onto the set |P_T| <= mu P_N, |P_R| <= mu P_N (Euclidean)."""
    P_T, P_R = math.sqrt(P[1] * P[1] + P[2] * P[2]), math.sqrt(P[3] * P[3] + P[4] * P[4])
    large, small, P_N = max(P_T, P_R), min(P_T, P_R), P[0]
    if mu * P_N < large:
        P_N = (P[0] + mu * large) / (1.0 + mu * mu)
        if mu * P_N < small:
            P_N = (P[0] + mu * (large + small)) / (1.0 + 2.0 * mu * mu)
    P[0] = max(P_N, 0.0)
    for r in range(1, ROWS):
        length = P_T if r < 3 else P_R
        P[r] *= mu * P[0] / length if length > mu * P[0] else 1.0
    return 0


@unit(F(F, F, F, A, A, A, A, B))
def _error(mu, rho, shift, D, b, P, error, J):
    """Write P - p(P - rho u), u = D P + b + shift P, and, unless J is empty, its derivative; return the norm."""
    for r in range(ROWS):
        u = b[r] + shift * P[r]
        for c in range(ROWS):
            u += D[ROWS * r + c] * P[c]
        error[r] = P[r] - rho * u  # x
    x_N, wanted = error[0], J.shape[0] > 0
    bound, norm = mu * max(x_N, 0.0), 0.0
    for r in range(ROWS):
        begin = 0 if r == 0 else (1 if r < 3 else 3)
        length = abs(x_N) if r == 0 else math.sqrt(error[begin] ** 2 + error[begin + 1] ** 2)
        slips = r > 0 and length >= bound
        for c in range(ROWS if wanted else 0):
            # derivative of p by x, then of the equation by P
            total = 0.0
            for k in range(ROWS):
                one = 1.0 if k == r else 0.0
                if r == 0:
                    G = one if x_N > 0.0 else 0.0
                elif not slips:
                    G = one
                elif k == 0:
                    G = mu * error[r] / larger(length, 1e-300) if x_N > 0.0 else 0.0
                elif k == begin or k == begin + 1:
                    G = bound * (one - error[r] * error[k] / larger(length * length, 1e-300)) / larger(length, 1e-300)
                else:
                    G = 0.0
                total += G * ((1.0 - SPATIAL_ROLLING.singular - rho * shift if k == c else 0.0) - rho * D[ROWS * k + c])
            J[r, c] = (1.0 if r == c else 0.0) - total
    # error holds x up to here: the frictions need all of their rows
    for begin in range(1, ROWS, 2):
        length = math.sqrt(error[begin] ** 2 + error[begin + 1] ** 2)
        share = bound / length if length >= bound and length > 0.0 else 1.0
        for r in range(begin, begin + 2):
            error[r] = P[r] - share * error[r]
    error[0] = P[0] - max(x_N, 0.0)
    for r in range(ROWS):
        norm += error[r] * error[r]
    return math.sqrt(norm)


@unit(I(B, A))
def _eliminate(J, x):
    """Replace x by J^-1 x, in J itself, with row pivoting."""
    for k in range(ROWS):
        best = k
        for i in range(k + 1, ROWS):
            best = i if abs(J[i, k]) > abs(J[best, k]) else best
        x[k], x[best] = x[best], x[k]
        for j in range(ROWS):
            J[k, j], J[best, j] = J[best, j], J[k, j]
        for i in range(k + 1, ROWS):
            factor = J[i, k] / J[k, k] if J[k, k] != 0.0 else 0.0
            x[i] -= factor * x[k]
            for j in range(k, ROWS):
                J[i, j] -= factor * J[k, j]
    for k in range(ROWS - 1, -1, -1):
        for j in range(k + 1, ROWS):
            x[k] -= J[k, j] * x[j]
        x[k] = x[k] / J[k, k] if J[k, k] != 0.0 else 0.0
    return 0


@unit(F(F, F, F, A, A, A))
def _iterate(mu, rho, shift, D, b, P):
    """Iterate from P for u = D P + b + shift P; return the error of the equations, over P and b.

    A step is halved until the error is below an average of the former ones (Zhang and Hager 2004); one that never does
    is taken in full, because it leads out of a corner.
    """
    step, error, trial = head(tail(P, ROWS), ROWS), head(tail(P, 2 * ROWS), ROWS), head(tail(P, 3 * ROWS), ROWS)
    J, none = mat(tail(P, 4 * ROWS), 0, ROWS, ROWS), mat(P, 0, 0, 0)
    average, weight, best = 0.0, 0.0, math.inf
    for _ in range(SPATIAL_ROLLING.newton_steps):
        norm, size = _error(mu, rho, shift, D, b, P, step, J), 0.0
        for r in range(ROWS):
            size = larger(size, larger(rho * abs(b[r]), abs(P[r])))
        best = norm / size
        if best <= SPATIAL_ROLLING.exact or not best < math.inf:
            break
        weight = SPATIAL_ROLLING.former * weight + 1.0
        average += (norm - average) / weight
        _eliminate(J, step)
        part = 1.0
        for halving in range(SPATIAL_ROLLING.halvings):
            for r in range(ROWS):
                trial[r] = P[r] - part * step[r]
            if _error(mu, rho, shift, D, b, trial, error, none) <= (1.0 - SPATIAL_ROLLING.enough * part) * average:
                break
            part = 0.5 * part if halving < SPATIAL_ROLLING.halvings - 2 else 1.0
        for r in range(ROWS):
            P[r] = trial[r]
    return best


@unit(I(F, A, A, A))
def solve(mu, D, b, P):
    """Find P with u = D P + b by the law; behind the rows of P are SCRATCH floats to work with.

    Where the start leads nowhere, the solution is followed from that of D + shift I with a large shift, each time
    with shorter steps than before.
    """
    trace = 0.0
    for r in range(ROWS):
        P[r] = 0.0
        trace += D[(ROWS + 1) * r]
    if b[0] >= 0.0:
        return 0
    if not D[0] > 0.0:
        return Status.CONTACT_UNSOLVABLE
    mean, found = trace / ROWS, math.inf
    for attempt in range(SPATIAL_ROLLING.attempts):
        for r in range(ROWS):
            P[r] = 0.0
        shift = SPATIAL_ROLLING.first_shift * mean
        while attempt > 0 and shift > SPATIAL_ROLLING.last_shift * mean:
            _iterate(mu, 1.0 / (mean + shift), shift, D, b, P)
            shift *= (0.1, 0.5, 0.9)[attempt - 1]
        found = _iterate(mu, 1.0 / mean, 0.0, D, b, P)
        if found <= SPATIAL_ROLLING.accepted:
            break
    project(mu, P)
    return 0 if found <= SPATIAL_ROLLING.accepted else Status.CONTACT_STALLED
