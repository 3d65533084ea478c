"""NSGS: nonsmooth Gauss-Seidel with exact local solutions (Jean and Moreau 1987; Jourdan, Alart, Jean 1998).

Matrix-free: y = X P is kept up to date, D is never formed, a sweep costs as much as the entries of W and X.
All sweeps run forwards: on stacks and packings, alternating directions needed two to three times as many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import head, tail, unit, whole
from saltus.compile.types import CONE, CONTACTS, SOLVE, A, F, I
from saltus.compile.workspace import Numbers, RoomPlan, Workspace
from saltus.contact.problem import ContactProblem, ContactResult, run
from saltus.contact.residual import JUDGING, residual
from saltus.errors import SettingError
from saltus.laws import LOCAL_ROOM, MOST_ROWS, ends
from saltus.status import Status


class _Nsgs(NamedTuple):
    """Tuned numbers of this file."""

    check: int = 50  # sweeps between two looks at the residual when the estimate does not call for one
    patience: int = 1000  # sweeps without progress after which they are averaged


NSGS_TUNED = _Nsgs()


SETTINGS = Numbers("tol max_sweeps relaxation rounding")
# y = X P is that of the residual, which renews it; D: blocks one behind the other, see `width_of`; b_k, P_k: of one
# block; older, old: P after the last two sweeps before a look
WORK = Workspace(
    "NSGS", judging=JUDGING, D=f"9 * nb + {MOST_ROWS} * n", b_k=f"{MOST_ROWS}", P_k=f"{LOCAL_ROOM}", older="n", old="n"
)


@unit(I(I), inline="always")
def width_of(rows):
    """Return the width of D of a block as laws take it: 3, or as many as there are rows."""
    return rows if rows > 3 else 3


@unit(F(CONTACTS, A, F, F, F, A))
def confirmed(contacts, P, found, tol, rounding, y):
    """Return 0.0 if the residual `found` of P confirms a solution, else the residual itself.

    Above tol, but never above 1e4 tol, it does where rounding errors of u alone explain it: `rounding` times the sum
    of the sizes of all terms in u, measured against b.

    work    y: nv floats
    """
    if found <= tol:
        return 0.0
    if not found <= 1e4 * tol:
        return found
    rows, terms, size = contacts.rows, 0.0, 0.0
    for i in range(contacts.nv):
        y[i] = 0.0
    for i in range(P.shape[0]):
        for k in range(rows[4 * i + 2], rows[4 * i + 3]):
            y[contacts.X_col[k]] += abs(P[i] * contacts.X[k])
    for i in range(P.shape[0]):
        total = abs(contacts.b[i])
        for k in range(rows[4 * i], rows[4 * i + 1]):
            total += abs(contacts.W[k]) * y[contacts.W_col[k]]
        terms += total * total
        size += contacts.b[i] * contacts.b[i]
    return 0.0 if found * math.sqrt(size) <= rounding * math.sqrt(terms) else found


@unit(F(CONTACTS, A, A, A, A), small=True)
def diagonal_blocks(contacts, P, D, y, X_i):
    """Write the diagonal blocks of D = W^T X one after another, and y = X P; return the sum of the diagonal.

    work    X_i: one row of X, zero at the end
    """
    blocks, rows, X_col, X = contacts.blocks, contacts.rows, contacts.X_col, contacts.X
    for i in range(contacts.nv):
        y[i], X_i[i] = 0.0, 0.0
    diagonal, at = 0.0, 0
    for k in range(contacts.mu.shape[0]):
        first, nr, width = blocks[3 * k + 1], blocks[3 * k + 2], width_of(blocks[3 * k + 2])
        for c in range(nr):
            i = first + c
            for m in range(rows[4 * i + 2], rows[4 * i + 3]):
                X_i[X_col[m]] += X[m]
                y[X_col[m]] += P[i] * X[m]
            for r in range(nr):
                total = 0.0
                for m in range(rows[4 * (first + r)], rows[4 * (first + r) + 1]):
                    total += contacts.W[m] * X_i[contacts.W_col[m]]
                D[at + width * r + c] = total
            for m in range(rows[4 * i + 2], rows[4 * i + 3]):
                X_i[X_col[m]] = 0.0
            diagonal += D[at + (width + 1) * c]
        at += width * width
    return diagonal


@unit(SOLVE)
def sweep(contacts, local, cone, settings, P, u, info, room):
    """Sweep over the blocks until the residual is below the tolerance.

    contacts / laws: local, cone / SETTINGS / room: WORK
    in/out  P: start -> impulses
    out     u: velocities; info: residual, sweeps
    """
    blocks, rows, W_col, W = contacts.blocks, contacts.rows, contacts.W_col, contacts.W
    X_col, X, b, mu = contacts.X_col, contacts.X, contacts.b, contacts.mu
    nb, n, settings, work = mu.shape[0], b.shape[0], SETTINGS(settings), WORK(room)
    y, X_i, D, b_k, P_k, older, old = work.judging.y, work.judging.X_i, work.D, work.b_k, work.P_k, work.older, work.old
    tol, last, relaxation, rounding = settings.tol, whole(settings.max_sweeps), settings.relaxation, settings.rounding

    diagonal, b_size = diagonal_blocks(contacts, P, D, y, X_i), 0.0
    for i in range(n):
        b_size += b[i] * b[i]
    scale = diagonal / (n * math.sqrt(b_size)) if b_size > 0.0 else 1.0  # makes ||P|| free of units
    target = tol if nb > 1 else math.inf  # one block is solved by one sweep
    best, mark = math.inf, math.inf
    for count in range(1, last + 1):
        if (count + 1) % NSGS_TUNED.check <= 1:  # the last two sweeps before a look
            for i in range(n):
                older[i], old[i] = old[i], P[i]
        change, size, failed, at = 0.0, 0.0, 0, 0
        for k in range(nb):
            first, nr, width = blocks[3 * k + 1], blocks[3 * k + 2], width_of(blocks[3 * k + 2])
            for r in range(nr):
                total = b[first + r]
                for i in range(rows[4 * (first + r)], rows[4 * (first + r) + 1]):
                    total += W[i] * y[W_col[i]]
                for c in range(nr):
                    total -= D[at + width * r + c] * P[first + c]
                b_k[r] = total
            status = local(blocks[3 * k], mu[k], head(tail(D, at), width * width), b_k, P_k)
            at += width * width
            failed = max(failed, status)
            for r in range(nr if status == 0 else 0):
                step = relaxation * (P_k[r] - P[first + r])
                P[first + r] += step
                for i in range(rows[4 * (first + r) + 2], rows[4 * (first + r) + 3]):
                    y[X_col[i]] += step * X[i]
                change += step * step
                size += P[first + r] * P[first + r]
        change, size, info[1] = math.sqrt(change), math.sqrt(size), float(count)
        if not change < math.inf:
            return Status.NONFINITE
        still, due = change <= rounding * size, count % NSGS_TUNED.check == 0 or count == last
        if scale * change <= target or still or due:
            for k in range(nb):
                cone(blocks[3 * k], mu[k], head(tail(P, blocks[3 * k + 1]), blocks[3 * k + 2]))
            info[0] = residual(contacts, cone, P, u, work.judging)  # renews y as well
            if confirmed(contacts, P, info[0], tol, rounding, X_i) == 0.0:
                return 0
            if still or count == last:  # a block may fail by rounding while others move: judged at the end
                return failed if failed != 0 else Status.CONTACT_STALLED
            target = min(target, 0.5 * scale * change)  # the estimate was too kind
            best = min(best, info[0])
            if due and nb > 1:
                extrapolate(contacts, cone, older, old, P)
                info[0] = residual(contacts, cone, P, u, work.judging)
            if count % NSGS_TUNED.patience == 0:
                # no progress, sweeps run in circles: average them
                relaxation = max(0.5 * relaxation, 0.25) if best > 0.9 * mark else settings.relaxation
                mark = best
    return Status.CONTACT_STALLED


@unit(I(CONTACTS, CONE, A, A, A))
def extrapolate(contacts, cone, older, old, P):
    """Move P to where a steady crawl of the sweeps leads (Aitken), at most until a sticking contact slips.

    Redundant contacts leave impulses undetermined in some direction; where b does not allow all of them to
    stick, sweeps creep in that direction by equal steps until one slips, which takes up to millions of them.
    On packings of capsules and grains the same jump saves two thirds to nine tenths of the sweeps.
    """
    blocks, mu = contacts.blocks, contacts.mu
    before, both, now = 0.0, 0.0, 0.0
    for i in range(P.shape[0]):
        before += (old[i] - older[i]) ** 2
        both += (old[i] - older[i]) * (P[i] - old[i])
        now += (P[i] - old[i]) ** 2
    # parallel steps only: the angle between two of them is below 0.1
    if before == 0.0 or both <= 0.0 or both * both < 0.99 * before * now:
        return 0
    ratio = both / before
    reach = ratio / (1.0 - ratio) if ratio < 1.0 - 1e-6 else 1e6
    if ratio >= 1.0 - 1e-3:
        for k in range(mu.shape[0]):
            first, nr = blocks[3 * k + 1], blocks[3 * k + 2]
            if nr == 1 or P[first] <= 0.0:
                continue
            # |P_T + reach d_T| = mu (P_N + reach d_N), for each friction
            d_N, c_0, c_1, c_2 = P[first] - old[first], 0.0, 0.0, 0.0
            for i in range(first + 1, first + nr):
                if i == first + 1 or ends(blocks[3 * k], i - first - 1, nr):
                    c_0, c_1 = -((mu[k] * P[first]) ** 2), -(mu[k] ** 2) * P[first] * d_N
                    c_2 = -((mu[k] * d_N) ** 2)
                d = P[i] - old[i]
                c_0, c_1, c_2 = c_0 + P[i] * P[i], c_1 + P[i] * d, c_2 + d * d
                if ends(blocks[3 * k], i - first, nr) and c_0 < -1e-9 * (mu[k] * P[first]) ** 2 and c_2 > 0.0:
                    reach = min(reach, (math.sqrt(c_1 * c_1 - c_0 * c_2) - c_1) / c_2 * (1.0 + 1e-9))
    for i in range(P.shape[0]):
        P[i] += reach * (P[i] - old[i])
    for k in range(mu.shape[0]):
        cone(blocks[3 * k], mu[k], head(tail(P, blocks[3 * k + 1]), blocks[3 * k + 2]))
    return 0


@dataclass(frozen=True, kw_only=True)
class NSGS:
    """Nonsmooth Gauss-Seidel for all laws and any size; converges linearly, slowly for tall stacks.

    Parameters
    ----------
    tol : scaled residual at which to stop [-]; 1e-14 to 1e-4. Below about 1e-14 rounding errors decide.
    max_sweeps : sweeps after which the problem counts as stalled.
    relaxation : part of each local correction that is applied, 0 < relaxation <= 1. Smaller values average
        sweeps that run in circles and are slower otherwise; without progress the solver turns to them itself.
    rounding : relative size of changes of P, and of errors of u measured against the terms that it is the sum of,
        that counts as rounding error. A residual this small is accepted above `tol` too, but never above 1e4 tol:
        where impulses are that large, nothing better exists.
    """

    tol: float = 1e-12
    max_sweeps: int = 20_000
    relaxation: float = 1.0
    rounding: float = 1e-14

    def __post_init__(self):
        if not 0.0 < self.tol < 1.0:
            raise SettingError(f"NSGS: tol = {self.tol} must lie between 0 and 1; it is a relative residual")
        if not 1 <= self.max_sweeps < 2**53:
            raise SettingError(f"NSGS: max_sweeps = {self.max_sweeps} must be at least 1")
        if not 0.0 < self.relaxation <= 1.0:
            raise SettingError(f"NSGS: relaxation = {self.relaxation} must lie in (0, 1] to stay in the cones")
        if not 0.0 <= self.rounding < 1e-6:
            raise SettingError(f"NSGS: rounding = {self.rounding} must lie in [0, 1e-6)")

    @property
    def name(self) -> str:
        return "NSGS"

    @property
    def kernel(self):
        return sweep

    def settings(self) -> np.ndarray:
        return SETTINGS.filled(
            tol=self.tol, max_sweeps=float(self.max_sweeps), relaxation=self.relaxation, rounding=self.rounding
        )

    def room(self, n: int, nb: int, nv: int) -> RoomPlan:
        """Return the plan of what the kernel works with."""
        return WORK.plan({"n": n, "nb": nb, "nv": nv})

    def supports(self, kind: int) -> bool:
        return True

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem, from the impulses P0 [N s] (zero by default)."""
        return run(self, problem, P0)
