"""SemismoothNewton: Newton's method on the equations of Alart and Curnier (1991), dense, for small problems.

The laws are P = p(P - rho u), where p clips the normal part at zero and the tangential part at mu times the
clipped normal part. They hold for each block in units of its own, so that D is scaled to a mean diagonal of 1 in
every block: heavy and light bodies weigh the same. Redundant contacts make D singular: D + damping I replaces it in
the derivative, so that impulses which D leaves undetermined run at once to where a contact slips. From a start that
is too far away, Newton's method is led along the solutions for D + shift I, from a large shift, where P = 0 is
close, to none; along this path the impulses of a problem without solution grow like 1 / shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import head, larger, mat, tail, unit, whole
from saltus.compile.types import CONE, CONTACTS, ROOM, SOLVE, A, B, F, I
from saltus.compile.workspace import Numbers, RoomPlan, Workspace
from saltus.contact.nsgs import confirmed
from saltus.contact.problem import ContactProblem, ContactResult, run
from saltus.contact.residual import JUDGING, residual
from saltus.errors import SettingError
from saltus.laws import BILATERAL, MOST_ROWS, ends
from saltus.status import Status


class _Semismooth(NamedTuple):
    """Tuned numbers of this file."""

    singular: float = 1e-10  # shift of the scaled D in the derivative: far above rounding errors
    # factors between two shifts of the first and of further paths
    shifts: float = 0.1
    shorter: float = 0.5
    last_shift: float = 1e-7  # where the path ends and the equations themselves take over
    rounding: float = 1e-15  # relative error of the equations, measured against P, that iterations cannot mend
    huge: float = 1e8  # scaled size of impulses beyond which no solution is looked for


SEMISMOOTH = _Semismooth()


SETTINGS = Numbers("tol max_iterations max_rows rounding paths")
# one block of the equations: x = P - rho u, p(x) and its derivative G, MOST_ROWS wide
BLOCK = Workspace("Block", x=f"{MOST_ROWS}", p=f"{MOST_ROWS}", G=f"{MOST_ROWS * MOST_ROWS}")
# few: rows, as long as they are not too many; error: of P_new; step: of Newton's method; J: its matrix
ITERATING = Workspace("Iterating", error="few", step="few", P_new="few", block=BLOCK, J="few * few")
# best: impulses, of all attempts; ray: their growth along the path; unit_of, b, D: see `scaled`; P_s: scaled impulses
WORK = Workspace(
    "SemismoothNewton", judging=JUDGING, best="few", ray="few", unit_of="few", b="few", P_s="few", D="few * few",
    iterating=ITERATING,
)  # fmt: skip


@unit(F(CONTACTS, A, A, B, A))
def scaled(contacts, unit_of, b, D, X_j):
    """Write D and b with P = unit_of P_scaled: mean diagonals of 1 in each block, ||b|| = 1; return ||b|| before.

    in      contacts
    out     unit_of: impulse [N s] that is 1 after scaling; b, D: scaled
    work    X_j: nv floats
    """
    rows, blocks, n = contacts.rows, contacts.blocks, contacts.b.shape[0]
    for i in range(contacts.nv):
        X_j[i] = 0.0
    diagonal, size = 0.0, 0.0
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
    # by ratios throughout, so that other units change no bit where they are powers of two
    diagonal = diagonal if diagonal > 0.0 else 1.0
    for k in range(contacts.mu.shape[0]):
        first, nr, mean = blocks[3 * k + 1], blocks[3 * k + 2], 0.0
        for i in range(first, first + nr):
            mean += D[i, i] / diagonal / nr
        for i in range(first, first + nr):
            unit_of[i] = 1.0 / math.sqrt(mean) if mean > 0.0 else 1.0
            b[i] = unit_of[i] * contacts.b[i]
            size += b[i] * b[i]
    size = math.sqrt(size) if size > 0.0 else 1.0
    for i in range(n):
        for j in range(n):
            D[i, j] = D[i, j] / diagonal * (unit_of[i] * unit_of[j])
        b[i] /= size
    for i in range(n):
        unit_of[i] *= size / diagonal
    return size


@unit(I(I, I, F, BLOCK.kind), small=True)
def clip(kind, nr, mu, block):
    """Shorten each friction of a block to mu p_N; in/out p: p_N -> p; G: identity, with that of p_N -> derivative."""
    x, p, G, begin, length = block.x, block.p, block.G, 1, 0.0
    radius = mu * p[0]
    for last in range(1, nr):
        length += x[last] * x[last]
        if not ends(kind, last, nr):
            continue
        length = math.sqrt(length)
        slips = length >= radius
        for r in range(begin, last + 1):
            s = x[r] / length if length > 0.0 else 0.0
            p[r] = radius * s if slips else x[r]
            for c in range(begin, last + 1 if slips else 0):
                one = G[MOST_ROWS * r + c]
                G[MOST_ROWS * r + c] = radius * (one - s * x[c] / length) / length if length > 0.0 else 0.0
            G[MOST_ROWS * r] = mu * s * G[0] if slips else 0.0
        begin, length = last + 1, 0.0
    return 0


@unit(F(CONTACTS, A, B, A, F, F, A, A, B, BLOCK.kind))
def equations(contacts, b, D, push, shift, damping, P, error, J, block):
    """Write P - p(P - rho u) for u = D P + b + shift (P + push) and return its norm.

    in      contacts; b, D: scaled; push: without entries where it is zero; P
    out     error; J: the derivative, that of D + damping I, unless empty; a column behind it, where there is one,
            becomes the derivative by log(shift)
    """
    n, norm, pushed, x, p, G = P.shape[0], 0.0, push.shape[0] > 0, block.x, block.p, block.G
    wide = J.shape[1] > n
    for k in range(contacts.mu.shape[0]):
        kind, first, nr = contacts.blocks[3 * k], contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2]
        trace = 0.0
        for r in range(nr):
            trace += D[first + r, first + r] + shift
        rho = nr / trace if trace > 0.0 else 1.0
        for r in range(nr):
            u = b[first + r] + shift * (P[first + r] + (push[first + r] if pushed else 0.0))
            for j in range(n):
                u += D[first + r, j] * P[j]
            error[first + r] = rho * u
            x[r] = P[first + r] - rho * u
            for c in range(nr):
                G[MOST_ROWS * r + c] = 1.0 if r == c else 0.0
        p[0] = x[0] if kind == BILATERAL else larger(x[0], 0.0)
        G[0] = 1.0 if p[0] == x[0] else 0.0
        clip(kind, nr, contacts.mu[k], block)
        for r in range(nr):
            # P - p, written so that a huge P does not round u away
            error[first + r] -= p[r] - x[r]
            norm += error[first + r] * error[first + r]
            for j in range(n if J.shape[0] > 0 else 0):
                total = 0.0
                for c in range(nr):
                    total += G[MOST_ROWS * r + c] * D[first + c, j]
                J[first + r, j] = rho * total
            if wide:
                J[first + r, n] = 0.0
                for c in range(nr):
                    i = first + c
                    J[first + r, n] += G[MOST_ROWS * r + c] * rho * shift * (P[i] + (push[i] if pushed else 0.0))
            for c in range(nr if J.shape[0] > 0 else 0):
                one = 1.0 if r == c else 0.0
                J[first + r, first + c] += one - (1.0 - rho * (shift + damping)) * G[MOST_ROWS * r + c]
    return math.sqrt(norm)


@unit(I(B, A))
def eliminate(J, x):
    """Replace x by J^-1 x: elimination with row pivoting, in J itself; return the sign of the determinant.

    A vanishing pivot gives 0 for its entry of x.
    """
    n, sign = x.shape[0], 1
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(J[i, k]) > abs(J[best, k]):
                best = i
        if best != k:
            sign = -sign
            x[k], x[best] = x[best], x[k]
            for j in range(k, n):
                J[k, j], J[best, j] = J[best, j], J[k, j]
        sign = -sign if J[k, k] < 0.0 else sign
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
    return sign


@unit(I(CONTACTS, A, B, A, F, F, F, I, A, ITERATING.kind))
def iterate(contacts, b, D, push, shift, damping, target, last, P, work):
    """Iterate from P for u = D P + b + shift (P + push) until the error is below the target or rounding.

    Return the number of iterations. A step is halved until the error is below an average of the former ones (Zhang
    and Hager 2004); one that never does is taken in full, because it leads out of a corner.
    """
    n = P.shape[0]
    error, step, P_new, block = work.error, head(work.step, n), head(work.P_new, n), work.block
    J, none = mat(work.J, 0, n, n), mat(work.J, 0, 0, 0)
    average, weight = 0.0, 0.0
    for count in range(last):
        norm, size = equations(contacts, b, D, push, shift, damping, P, step, J, block), 0.0
        for i in range(n):
            size += P[i] * P[i]
        if norm <= larger(target, SEMISMOOTH.rounding * math.sqrt(size)) or not norm < math.inf:
            return count
        weight = 0.85 * weight + 1.0
        average += (norm - average) / weight
        eliminate(J, step)
        part = 1.0
        for halving in range(12):
            for i in range(n):
                P_new[i] = P[i] - part * step[i]
            norm = equations(contacts, b, D, push, shift, 0.0, P_new, error, none, block)
            if norm <= (1.0 - 1e-4 * part) * average:
                break
            part = 0.5 * part if halving < 10 else 1.0
        for i in range(n):
            P[i] = P_new[i]
    return last


@unit(F(CONTACTS, CONE, A, A, A, A, ROOM))
def judged(contacts, cone, unit_of, P, P_given, u, judging):
    """Write P, scaled, in its own units into P_given, put into its cones; write u and return the residual."""
    for i in range(P.shape[0]):
        P_given[i] = unit_of[i] * P[i]
    for k in range(contacts.mu.shape[0]):
        first, nr = contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2]
        cone(contacts.blocks[3 * k], contacts.mu[k], head(tail(P_given, first), nr))
    return residual(contacts, cone, P_given, u, judging)


@unit(I(CONTACTS, A, B, A))
def _contradicts(contacts, b, D, ray):
    """Return 1 if the normal part of the ray proves that no P makes u_N >= 0 (bilateral rows: u = 0), else 0.

    Every u = D P + b has ray . u = (D^T ray) . P + ray . b, which is negative for all P that are not huge.
    """
    drive, size = 0.0, 0.0
    for k in range(contacts.mu.shape[0]):
        first = contacts.blocks[3 * k + 1]
        for i in range(first, first + contacts.blocks[3 * k + 2]):
            if i > first or (ray[i] < 0.0 and contacts.blocks[3 * k] != BILATERAL):
                ray[i] = 0.0
            drive -= ray[i] * b[i]
    for j in range(ray.shape[0]):
        total = 0.0
        for i in range(ray.shape[0]):
            total += D[i, j] * ray[i]
        size = larger(size, abs(total))
    return 1 if drive > 0.0 and drive > SEMISMOOTH.huge * size else 0


@unit(SOLVE)
def newton(contacts, local, cone, settings, P, u, info, room):
    """Iterate from P; without success along the path of shifts, the second time with shorter steps.

    contacts / laws: local, cone / SETTINGS / room: WORK
    in/out  P: start -> impulses, the best of all attempts
    out     u: velocities; info: residual, iterations
    """
    n, settings, work = P.shape[0], SETTINGS(settings), WORK(room)
    judging, tol, last, rounding = work.judging, settings.tol, whole(settings.max_iterations), settings.rounding
    info[0], info[1] = residual(contacts, cone, P, u, judging), 0.0
    if n > whole(settings.max_rows):
        return Status.CONTACT_STALLED
    best, ray, unit_of, b, P_s = work.best, head(work.ray, n), work.unit_of, head(work.b, n), head(work.P_s, n)
    D, none, iterating = mat(work.D, 0, n, n), head(work.ray, 0), work.iterating
    scaled(contacts, unit_of, b, D, judging.X_i)
    for i in range(n):
        best[i] = P[i]
        P_s[i] = P[i] / unit_of[i]
    if confirmed(contacts, P, info[0], tol, rounding, judging.X_i) == 0.0:
        return 0
    status = Status.CONTACT_STALLED
    for attempt in range(whole(settings.paths) + 1):
        if attempt > 0:
            for i in range(n):
                P_s[i] = 0.0
            shift = 1.0
            while shift > SEMISMOOTH.last_shift:
                info[1] += iterate(contacts, b, D, none, shift, 0.0, 1e-9, last // 4, P_s, iterating)
                shift *= SEMISMOOTH.shorter if attempt > 1 else SEMISMOOTH.shifts
                for i in range(n if shift > SEMISMOOTH.last_shift else 0):
                    ray[i] = P_s[i]
            for i in range(n):
                ray[i] = P_s[i] - ray[i]
            if _contradicts(contacts, b, D, ray):
                status = Status.CONTACT_UNSOLVABLE
                break
        info[1] += iterate(contacts, b, D, none, 0.0, SEMISMOOTH.singular, 0.1 * tol, last, P_s, iterating)
        found = judged(contacts, cone, unit_of, P_s, P, u, judging)
        if found < info[0]:
            info[0] = found
            for i in range(n):
                best[i] = P[i]
        if confirmed(contacts, P, found, tol, rounding, judging.X_i) == 0.0:
            return 0
    for i in range(n):
        P[i] = best[i]
    info[0] = residual(contacts, cone, P, u, judging)
    return status


@dataclass(frozen=True, kw_only=True)
class SemismoothNewton:
    """Newton's method for all laws and few rows; redundant contacts do no harm.

    Parameters
    ----------
    tol : scaled residual that confirms a solution [-]; 1e-14 to 1e-4.
    max_iterations : iterations from one start; a point on a path gets a quarter of them.
    max_rows : most rows; larger problems are given back as stalled. Time grows with their third power.
    rounding : relative size of residuals, measured against the terms of u, that counts as rounding error; as in NSGS.
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
        return SETTINGS.filled(
            tol=self.tol, max_iterations=float(self.max_iterations), max_rows=float(self.max_rows),
            rounding=self.rounding, paths=float(self.paths),
        )  # fmt: skip

    def room(self, n: int, nb: int, nv: int) -> RoomPlan:
        """Return the plan of what the kernel works with."""
        return WORK.plan({"few": min(n, self.max_rows), "nv": nv})

    def supports(self, kind: int) -> bool:
        return True

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem, from the impulses P0 [N s] (zero by default)."""
        return run(self, problem, P0)
