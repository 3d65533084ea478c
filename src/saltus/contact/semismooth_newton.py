"""SemismoothNewton: Newton's method on the equations of Alart and Curnier (1991), dense, for small problems.

The laws are P = p(P - rho u), where p clips the normal part at zero and the tangential part at mu times the
clipped normal part. Redundant contacts make D singular: D + damping I replaces it in the derivative, so that
impulses which D leaves undetermined run at once to where a contact slips. From a start that is too far away,
Newton's method is led along the solutions for D + shift I, from a large shift, where P = 0 is close, to none;
along this path the impulses of a problem without solution grow like 1 / shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from saltus.compile.seam import larger, mat, smaller, unit, vec, whole
from saltus.compile.types import CONTACTS, SOLVE, A, B, F, I
from saltus.contact.problem import ContactProblem, ContactResult, run
from saltus.contact.residual import residual, residual_work
from saltus.errors import SettingError
from saltus.laws import BILATERAL
from saltus.status import Status

STALLED, UNSOLVABLE = int(Status.CONTACT_STALLED), int(Status.CONTACT_UNSOLVABLE)
SINGULAR = 1e-10  # shift of D in the derivative, relative to its mean diagonal: far above rounding errors
SHIFTS, SHORTER = 0.1, 0.5  # factors between two shifts of the first and of further paths
LAST_SHIFT = 1e-7  # where the path ends and the equations themselves take over
HUGE = 1e8  # scaled size of impulses beyond which no solution is looked for


@unit(F(CONTACTS, B, A))
def _delassus(contacts, D, X_j):
    """Write D and return its mean diagonal, 1 if that is empty."""
    rows, n, diagonal = contacts.rows, contacts.b.shape[0], 0.0
    for i in range(contacts.nv):
        X_j[i] = 0.0
    for j in range(n):
        for k in range(rows[4 * j + 2], rows[4 * j + 3]):
            X_j[contacts.X_col[k]] += contacts.X[k]
        for i in range(n):
            D[i, j] = 0.0
            for k in range(rows[4 * i], rows[4 * i + 1]):
                D[i, j] += contacts.W[k] * X_j[contacts.W_col[k]]
        for k in range(rows[4 * j + 2], rows[4 * j + 3]):
            X_j[contacts.X_col[k]] = 0.0
        diagonal += D[j, j] / n
    return diagonal if diagonal > 0.0 else 1.0


@unit(F(CONTACTS, B, F, F, A, A, B, A))
def _equations(contacts, D, shift, damping, P, error, J, block):
    """Write P - p(P - rho u) for D + shift I and return its norm; J: the derivative, damped, unless empty."""
    n, norm = P.shape[0], 0.0
    for k in range(contacts.mu.shape[0]):
        kind, first, nr = contacts.blocks[3 * k], contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2]
        x, p, G, trace = vec(block, 0, 3), vec(block, 3, 3), vec(block, 6, 9), 0.0  # G: derivative of p
        for r in range(nr):
            trace += D[first + r, first + r] + shift
        rho, length = nr / trace if trace > 0.0 else 1.0, 0.0
        for r in range(nr):
            u = contacts.b[first + r] + shift * P[first + r]
            for j in range(n):
                u += D[first + r, j] * P[j]
            error[first + r] = rho * u
            x[r] = P[first + r] - rho * u
            length += x[r] * x[r] if r > 0 else 0.0
            for c in range(3):
                G[3 * r + c] = 1.0 if r == c else 0.0
        p[0] = x[0] if kind == BILATERAL else larger(x[0], 0.0)
        G[0] = 1.0 if p[0] == x[0] else 0.0
        length, radius = math.sqrt(length), contacts.mu[k] * p[0]
        slips = length >= radius
        for r in range(1, nr):
            s = x[r] / length if length > 0.0 else 0.0
            p[r] = radius * s if slips else x[r]
            for c in range(1, nr if slips else 0):
                G[3 * r + c] = radius * (G[3 * r + c] - s * x[c] / length) / length if length > 0.0 else 0.0
            G[3 * r] = contacts.mu[k] * s * G[0] if slips else 0.0
        for r in range(nr):
            # P - p, written so that a huge P does not round u away
            error[first + r] -= p[r] - x[r]
            norm += error[first + r] * error[first + r]
            for j in range(J.shape[0]):
                total = 0.0
                for c in range(nr):
                    total += G[3 * r + c] * D[first + c, j]
                J[first + r, j] = rho * total
            for c in range(nr if J.shape[0] > 0 else 0):
                one = 1.0 if r == c else 0.0
                J[first + r, first + c] += one - (1.0 - rho * (shift + damping)) * G[3 * r + c]
    return math.sqrt(norm)


@unit(I(B, A))
def _solve(J, x):
    """Replace x by J^-1 x: elimination with row pivoting, in J itself; a vanishing pivot gives 0."""
    n = x.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(J[i, k]) > abs(J[best, k]):
                best = i
        if best != k:
            x[k], x[best] = x[best], x[k]
            for j in range(k, n):
                J[k, j], J[best, j] = J[best, j], J[k, j]
        for i in range(k + 1, n):
            if J[i, k] != 0.0:
                factor = J[i, k] / J[k, k]
                x[i] -= factor * x[k]
                for j in range(k + 1, n):
                    J[i, j] -= factor * J[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= J[k, j] * x[j]
        x[k] = x[k] / J[k, k] if J[k, k] != 0.0 else 0.0
    return 0


@unit(I(CONTACTS, B, F, F, F, I, A, A))
def _iterate(contacts, D, shift, damping, target, last, P, work):
    """Iterate from P for D + shift I until the error is below the target; return the number of iterations.

    A step is halved until the error is below an average of the former ones (Zhang and Hager 2004); one that
    never does is taken in full, because it leads out of a corner.
    """
    n = P.shape[0]
    error, step, P_new, block = vec(work, 0, n), vec(work, n, n), vec(work, 2 * n, n), vec(work, 3 * n, 15)
    J, none = mat(work, 3 * n + 15, n, n), mat(work, 0, 0, 0)
    average, weight = 0.0, 0.0
    for count in range(last):
        norm = _equations(contacts, D, shift, damping, P, step, J, block)
        if norm <= target or not norm < math.inf:
            return count
        weight = 0.85 * weight + 1.0
        average += (norm - average) / weight
        _solve(J, step)
        part = 1.0
        for halving in range(12):
            for i in range(n):
                P_new[i] = P[i] - part * step[i]
            norm = _equations(contacts, D, shift, 0.0, P_new, error, none, block)
            if norm <= (1.0 - 1e-4 * part) * average:
                break
            part = 0.5 * part if halving < 10 else 1.0
        for i in range(n):
            P[i] = P_new[i]
    return last


@unit(I(CONTACTS, B, F, A))
def _contradicts(contacts, D, scale, ray):
    """Return 1 if the normal part of the ray proves that no P makes u_N >= 0 (bilateral rows: u = 0), else 0.

    Every u = D P + b has ray . u = (D^T ray) . P + ray . b, which is negative for all P that are not huge.
    """
    drive, size = 0.0, 0.0
    for k in range(contacts.mu.shape[0]):
        first = contacts.blocks[3 * k + 1]
        for i in range(first, first + contacts.blocks[3 * k + 2]):
            if i > first or (ray[i] < 0.0 and contacts.blocks[3 * k] != BILATERAL):
                ray[i] = 0.0
            drive -= ray[i] * contacts.b[i]
    for j in range(ray.shape[0]):
        total = 0.0
        for i in range(ray.shape[0]):
            total += D[i, j] * ray[i]
        size = larger(size, abs(total))
    return 1 if drive > 0.0 and scale * drive > HUGE * size else 0


@unit(SOLVE)
def newton(contacts, local, cone, settings, P, u, info, work, iwork):
    """Iterate from P; without success along the path of shifts, the second time with shorter steps.

    contacts / laws: local, cone / settings: tol, max_iterations, max_rows, rounding, paths
    in/out  P: start -> impulses, the best of all attempts
    out     u: velocities; info: residual, iterations
    """
    n, at = P.shape[0], 2 * contacts.nv + 6  # behind what the residual needs
    tol, last, rounding, paths = settings[0], whole(settings[1]), settings[3], whole(settings[4])
    info[0], info[1] = residual(contacts, cone, P, u, work), 0.0
    if n > whole(settings[2]):
        return STALLED
    best, ray, D = vec(work, at, n), vec(work, at + n, n), mat(work, at + 2 * n, n, n)
    rest = vec(work, at + 2 * n + n * n, n * n + 3 * n + 15)
    diagonal, size = _delassus(contacts, D, work), 0.0
    for i in range(n):
        best[i] = P[i]
        size += contacts.b[i] * contacts.b[i]
    scale = diagonal / math.sqrt(size) if size > 0.0 else 1.0  # makes ||P|| free of units
    status = STALLED
    for attempt in range(paths + 1):
        if attempt > 0:
            for i in range(n):
                P[i] = 0.0
            shift = 1.0
            while shift > LAST_SHIFT:
                info[1] += _iterate(contacts, D, shift * diagonal, 0.0, 1e-9 / scale, last // 4, P, rest)
                shift *= SHORTER if attempt > 1 else SHIFTS
                for i in range(n if shift > LAST_SHIFT else 0):
                    ray[i] = P[i]
            for i in range(n):
                ray[i] = P[i] - ray[i]
            if _contradicts(contacts, D, scale, ray):
                status = UNSOLVABLE
                break
        size = 0.0
        for i in range(n):
            size += P[i] * P[i]
        floor = larger(0.1 * tol, smaller(0.1 * rounding * scale * math.sqrt(size), 1e3 * tol))
        info[1] += _iterate(contacts, D, 0.0, SINGULAR * diagonal, floor / scale, last, P, rest)
        size = 0.0
        for k in range(contacts.mu.shape[0]):
            first, nr = contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2]
            cone(contacts.blocks[3 * k], contacts.mu[k], vec(P, first, nr))
        for i in range(n):
            size += P[i] * P[i]
        found = residual(contacts, cone, P, u, work)
        if found < info[0]:
            info[0] = found
            for i in range(n):
                best[i] = P[i]
        if found <= larger(tol, smaller(rounding * scale * math.sqrt(size), 1e4 * tol)):
            return 0
    for i in range(n):
        P[i] = best[i]
    info[0] = residual(contacts, cone, P, u, work)
    return status


@dataclass(frozen=True, kw_only=True)
class SemismoothNewton:
    """Newton's method for all laws and few rows; redundant contacts do no harm.

    Parameters
    ----------
    tol : scaled residual that confirms a solution [-]; 1e-14 to 1e-4.
    max_iterations : iterations from one start; a point on a path gets a quarter of them.
    max_rows : most rows; larger problems are given back as stalled. Time grows with their third power.
    rounding : relative size of residuals, measured against P, that counts as rounding error; as in NSGS.
    paths : how many times the solution is followed from a shifted D when the start leads nowhere: 0, 1 or 2.
    """

    tol: float = 1e-12
    max_iterations: int = 100
    max_rows: int = 300
    rounding: float = 1e-14
    paths: int = 2

    def __post_init__(self):
        if not 0.0 < self.tol < 1.0:
            raise SettingError(
                f"SemismoothNewton: tol = {self.tol} must lie between 0 and 1; it is a relative residual"
            )
        if not 0.0 <= self.rounding < 1e-6:
            raise SettingError(f"SemismoothNewton: rounding = {self.rounding} must lie in [0, 1e-6)")
        for name, least in (("max_iterations", 4), ("max_rows", 1), ("paths", 0)):
            if not least <= getattr(self, name) < 2**31:
                raise SettingError(f"SemismoothNewton: {name} = {getattr(self, name)} must be at least {least}")

    @property
    def name(self) -> str:
        return "SemismoothNewton"

    @property
    def kernel(self):
        return newton

    def settings(self) -> np.ndarray:
        counts = float(self.max_iterations), float(self.max_rows)
        return np.array([self.tol, *counts, self.rounding, float(self.paths)])

    def work_size(self, n: int, nb: int, nv: int) -> int:
        """Return the floats that the kernel needs: the residual's own, D, J, a few vectors, one block."""
        n = min(n, self.max_rows)
        return residual_work(n, nb, nv) + 2 * n * n + 5 * n + 15

    def iwork_size(self, n: int, nb: int, nv: int) -> int:
        return 0

    def supports(self, kind: int) -> bool:
        return True

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem, from the impulses P0 [N s] (zero by default)."""
        return run(self, problem, P0)
