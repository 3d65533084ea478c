"""Lemke: complementary pivoting for contacts without friction (Lemke 1965; Cottle, Pang and Stone 1992).

Bilateral rows are eliminated by principal pivots, then the artificial variable z0 leads along complementary
bases to a solution or to a ray. The lexicographic rule excludes cycles, so that redundant contacts (a table
on four legs) do no harm; for symmetric positive semidefinite D a ray proves that there is no solution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from saltus.compile.seam import mat, row_of, unit, whole
from saltus.compile.types import CONE, CONTACTS, SOLVE, A, B, F, I, J
from saltus.compile.workspace import Numbers, RoomPlan, Workspace, integers
from saltus.contact.problem import ContactProblem, ContactResult, run
from saltus.contact.residual import JUDGING, residual
from saltus.errors import SettingError
from saltus.laws import BILATERAL, UNILATERAL
from saltus.status import Status

UNCERTAIN = 1e-6  # residual below which enumeration does not exclude that rounding hides a solution
ENUMERATED = 10  # rows up to which all complementary bases are tried when pivoting fails

SETTINGS = Numbers("max_pivots tol redundancy contradiction")
# scaling: of the rows, size of b behind them; T: see `_tableau`; basis: variable of each row; free: 1 per bilateral
# row; tied: rows that may leave, at the start those that push
WORK = Workspace(
    "Lemke", judging=JUDGING, scaling="n + 1", T="n * (2 * n + 2)", basis=integers("n"), free=integers("n"),
    tied=integers("n"),
)  # fmt: skip


@unit(I(B, J, I, I))
def _pivot(T, basis, row, col):
    """Let variable `col` enter the basis in `row`."""
    rows, cols = T.shape
    factor = 1.0 / T[row, col]
    for j in range(cols):
        T[row, j] *= factor
    T[row, col] = 1.0
    for i in range(rows):
        factor = T[i, col]
        if i != row and factor != 0.0:
            for j in range(cols):
                T[i, j] -= factor * T[row, j]
            T[i, col] = 0.0
    basis[row] = col
    return 0


@unit(I(B, J, J, J, I, F))
def _leaving(T, basis, free, tied, col, smallest):
    """Return the row that leaves when `col` enters, by the lexicographic ratio test; -1 on a ray."""
    n = T.shape[0]
    tie = 1e-13  # relative difference of ratios that counts as none
    count = 0
    for i in range(n):
        if free[i] == 0 and T[i, col] > smallest:
            tied[count] = i
            count += 1
    if count == 0:
        return -1
    for key in range(-1, n):  # the constants first, then the columns of the inverse basis
        if count == 1 or (key >= 0 and free[key] == 1):
            continue
        j = key if key >= 0 else 2 * n + 1
        least = math.inf
        for m in range(count):
            least = min(least, T[tied[m], j] / T[tied[m], col])
        kept = 0
        for m in range(count):
            if T[tied[m], j] / T[tied[m], col] <= least + tie * max(1.0, abs(least)):
                tied[kept] = tied[m]
                kept += 1
        count = kept
        if key == -1:
            for m in range(count):
                if basis[tied[m]] == 2 * n:
                    return tied[m]  # z0 may leave: done
    return tied[0]


@unit(I(CONTACTS, B, A, J, J, A))
def _tableau(contacts, T, scaling, basis, free, X_j):
    """Write u - D P - z0 = b as a tableau [u | P | z0 | b], scaled to a diagonal of 1 and max |b| = 1."""
    blocks, rows, W_col, W = contacts.blocks, contacts.rows, contacts.W_col, contacts.W
    X_col, X, b = contacts.X_col, contacts.X, contacts.b
    n = b.shape[0]
    for i in range(contacts.nv):
        X_j[i] = 0.0
    for j in range(n):
        for k in range(rows[4 * j + 2], rows[4 * j + 3]):
            X_j[X_col[k]] += X[k]
        length = 0.0
        for i in range(n):
            T[i, j] = 1.0 if i == j else 0.0
            T[i, n + j] = 0.0
            for k in range(rows[4 * i], rows[4 * i + 1]):
                T[i, n + j] -= W[k] * X_j[W_col[k]]
            length = max(length, abs(T[i, n + j]))
        for k in range(rows[4 * j + 2], rows[4 * j + 3]):
            X_j[X_col[k]] = 0.0
        size = -T[j, n + j] if T[j, n + j] < 0.0 else length
        scaling[j] = 1.0 / math.sqrt(size) if size > 0.0 else 1.0
        free[j] = 1 if blocks[3 * j] == BILATERAL else 0  # blocks of one row: row and block have one number
        basis[j] = j
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(scaling[i] * b[i]))
    for i in range(n):
        for j in range(n):
            T[i, n + j] *= scaling[i] * scaling[j]
        T[i, 2 * n] = 0.0 if free[i] == 1 else -1.0
        T[i, 2 * n + 1] = scaling[i] * b[i] / largest if largest > 0.0 else 0.0
    scaling[n] = largest
    return 0


@unit(I(B, J, J, F, F))
def _eliminate(T, basis, free, smallest, contradiction):
    """Bring bilateral rows into the basis, largest pivot first; drop redundant ones."""
    n, least = T.shape[0], 1.0
    for _ in range(n):
        row, size = -1, smallest
        for i in range(n):
            if free[i] == 1 and basis[i] == i and -T[i, n + i] > size:
                row, size = i, -T[i, n + i]
        if row < 0:
            break
        least = min(least, size)
        _pivot(T, basis, row, n + row)
        for i in range(n):
            T[i, 2 * n] = 0.0 if free[i] == 1 else -1.0  # z0 covers what is left
    for i in range(n):
        # small pivots amplify rounding errors
        if free[i] == 1 and basis[i] == i and abs(T[i, 2 * n + 1]) > contradiction * max(1.0, 1e-5 / least):
            return Status.CONTACT_UNSOLVABLE
    return 0


@unit(I(B, J, J, J, F, F))
def _enter(T, basis, free, chosen, smallest, noise):
    """Let the impulses of the chosen rows enter; return 1 if the basis is a solution."""
    n = T.shape[0]
    for i in range(n):
        if chosen[i] == 1 and free[i] == 0:
            if not -T[i, n + i] > smallest:
                return 0  # redundant
            _pivot(T, basis, i, n + i)
    for i in range(n):
        if free[i] == 0 and T[i, 2 * n + 1] < -noise:
            return 0
    return 1


@unit(SOLVE)
def pivot(contacts, local, cone, settings, P, u, info, room):
    """Take the contacts that push at the start; pivot from the artificial start if that is no complementary basis.

    contacts / laws: local, cone / SETTINGS / room: WORK
    in/out  P: start, of which the signs count -> impulses
    out     u: velocities; info: residual, pivots
    """
    n, settings, work = contacts.b.shape[0], SETTINGS(settings), WORK(room)
    scaling, T, basis, free, tied = work.scaling, mat(work.T, 0, n, 2 * n + 2), work.basis, work.free, work.tied
    redundancy, contradiction, X_j = settings.redundancy, settings.contradiction, work.judging.X_i
    info[0], info[1], warm = math.inf, 0.0, False
    for i in range(n):
        tied[i] = 1 if P[i] > 0.0 else 0
        warm = warm or P[i] > 0.0
        P[i] = 0.0
    _tableau(contacts, T, scaling, basis, free, X_j)
    status = _eliminate(T, basis, free, redundancy, contradiction)
    if status != 0:
        return status

    noise = 1e-13  # what elimination leaves of a zero, max |b| being 1
    z0, row = 2 * n, -1
    if warm and _enter(T, basis, free, tied, redundancy, noise) == 0:
        _tableau(contacts, T, scaling, basis, free, X_j)
        _eliminate(T, basis, free, redundancy, contradiction)
    for i in range(n):
        if free[i] == 0 and T[i, z0 + 1] < -noise and (row < 0 or T[i, z0 + 1] <= T[row, z0 + 1]):
            row = i
    status = _follow_path(row, noise, settings, info, T, work)
    if status != 0:
        return status
    _take_impulses(contacts, cone, P, u, info, T, work)
    return 0 if info[0] <= settings.tol else Status.CONTACT_STALLED


@unit(I(I, F, SETTINGS.kind, A, B, WORK.kind))
def _follow_path(row, noise, settings, info, T, work):
    """Pivot until the artificial variable leaves, which enters in a row, or -1 for none; noise: what counts as zero."""
    basis, free, tied = work.basis, work.free, work.tied
    n, redundancy, contradiction = T.shape[0], settings.redundancy, settings.contradiction
    z0 = 2 * n
    start, col, count = row, z0, 0  # z0 stays in the row in which it enters
    while row >= 0:
        if count >= whole(settings.max_pivots):
            return Status.CONTACT_STALLED
        leaving = basis[row]
        _pivot(T, basis, row, col)
        count += 1
        info[1] = float(count)
        if leaving == z0:
            break
        pair = leaving % n
        col = leaving + n if leaving < n else pair  # the complement enters
        row = _leaving(T, basis, free, tied, col, redundancy)
        if T[start, z0 + 1] <= (contradiction if row < 0 else noise):
            # z0 is zero but for rounding: it leaves for one of the pair that is outside, the residual decides
            col = pair if abs(T[start, pair]) > abs(T[start, n + pair]) else n + pair
            _pivot(T, basis, start, col)
            break
        if row < 0:
            return Status.CONTACT_UNSOLVABLE
    return 0


@unit(I(CONTACTS, CONE, A, A, A, B, WORK.kind))
def _take_impulses(contacts, cone, P, u, info, T, work):
    """Write the impulses of the basis, refined once, their velocities and the residual."""
    n, basis, scaling = T.shape[0], work.basis, work.scaling
    for i in range(n):
        if basis[i] >= n:
            j = basis[i] - n
            P[j] = scaling[j] * scaling[n] * T[i, 2 * n + 1]
    for again in range(2):  # u must vanish on the basis: one refinement, by the inverse basis in the tableau
        for i in range(n):
            cone(contacts.blocks[3 * i], 0.0, row_of(P, i, 1))
        info[0] = residual(contacts, cone, P, u, work.judging)
        for i in range(n):
            if again == 0 and basis[i] >= n:
                total = 0.0
                for m in range(n):
                    if basis[m] >= n:
                        total += T[i, basis[m] - n] * scaling[basis[m] - n] * u[basis[m] - n]
                P[basis[i] - n] += scaling[basis[i] - n] * total
    return 0


def nearest_basis(problem: ContactProblem, tol: float) -> np.ndarray:
    """Return the impulses of the first complementary cone that fits to the tolerance, else of the best one.

    A solution exists exactly when b lies in one of the 2^n cones spanned by columns of [I, -D]; each is one
    nonnegative least-squares problem, so that a residual above the tolerance proves that there is no solution.
    """
    from scipy.optimize import nnls

    D, b = problem.D(), problem.b
    n, size = b.size, max(np.abs(b).max(), np.finfo(float).tiny)
    unilateral = np.flatnonzero(problem.kinds == UNILATERAL)
    bilateral = np.flatnonzero(problem.kinds == BILATERAL)
    best, least = np.zeros(n), math.inf
    for code in range(2**unilateral.size):
        closed = (code >> np.arange(unilateral.size)) & 1
        cone = np.zeros((n, n))
        cone[:, unilateral] = np.where(closed, -D[:, unilateral], np.eye(n)[:, unilateral])
        cone[:, bilateral] = -D[:, bilateral]
        z, _ = nnls(np.hstack([cone, D[:, bilateral]]), b / size)
        P = np.zeros(n)
        P[unilateral] = np.where(closed, z[unilateral], 0.0) * size
        P[bilateral] = (z[bilateral] - z[n:]) * size
        error = problem.residual(P)
        if error < least:
            best, least = P, error
        if error <= tol:
            break
    return best


def _impossible(problem: ContactProblem) -> bool:
    """Return whether it is certain that there is no solution: for symmetric semidefinite D exactly if no P, of any
    sign, makes u >= 0 (bilateral rows: u = 0).
    """
    from scipy.optimize import nnls

    D, b, n = problem.D(), problem.b, problem.n
    size = np.abs(D).max()
    if np.abs(D - D.T).max() > 1e-10 * size or np.linalg.eigvalsh(D)[0] < -1e-10 * n * size:
        return False
    units = 1.0 / np.sqrt(np.where(np.diag(D) > 0.0, np.diag(D), max(size, np.finfo(float).tiny)))
    D, b = D * units[:, None] * units, b * units
    try:
        _, missing = nnls(np.hstack([np.eye(n)[:, problem.kinds == UNILATERAL], D, -D]), b / np.abs(b).max())
    except RuntimeError:  # out of iterations
        return False
    return bool(missing > UNCERTAIN)


@dataclass(frozen=True, kw_only=True)
class Lemke:
    """Lemke's method for bilateral and unilateral rows: exact, for small problems (up to a few hundred rows).

    Parameters
    ----------
    max_pivots : pivots after which the problem counts as stalled; there are matrices that need 2^n.
    tol : scaled residual that confirms a solution [-]; reached values lie near 1e-16.
    redundancy : pivot, relative to a diagonal of 1, below which a row counts as redundant [-].
    contradiction : velocity, relative to b, that rounding cannot explain where it should be zero [-].
    """

    max_pivots: int = 10_000
    tol: float = 1e-9
    redundancy: float = 1e-11
    contradiction: float = 1e-8

    def __post_init__(self):
        if not 1 <= self.max_pivots < 2**53:
            raise SettingError(f"Lemke: max_pivots = {self.max_pivots} must be at least 1")
        for name in ("tol", "redundancy", "contradiction"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise SettingError(f"Lemke: {name} = {getattr(self, name)} is relative: between 0 and 1")

    @property
    def name(self) -> str:
        return "Lemke"

    @property
    def kernel(self):
        return pivot

    def settings(self) -> np.ndarray:
        return SETTINGS.filled(
            max_pivots=float(self.max_pivots), tol=self.tol, redundancy=self.redundancy,
            contradiction=self.contradiction,
        )  # fmt: skip

    def room(self, n: int, nb: int, nv: int) -> RoomPlan:
        """Return the plan of what the kernel works with."""
        return WORK.plan({"n": n, "nv": nv})

    def supports(self, kind: int) -> bool:
        return kind in (BILATERAL, UNILATERAL)

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem; where the contacts that push in P0 are those of the solution nothing is pivoted.

        Where pivoting fails and there are no more than 10 rows, all complementary bases are tried before the
        problem is called unsolvable. With more rows a ray proves that for symmetric semidefinite D only. `contacts`
        names those that exclude a solution.
        """
        result = self._solved(problem, P0)
        if result.status != Status.CONTACT_UNSOLVABLE:
            return result
        from saltus.contact.diagnosis import diagnose

        found = diagnose(problem, result.P, search=False)
        message = f"{result.message} {found.message}" if found.proven else result.message
        return replace(result, contacts=found.contacts, message=message)

    def _solved(self, problem: ContactProblem, P0) -> ContactResult:
        result = run(self, problem, P0)
        if result.converged or problem.n == 0:
            return result
        if problem.n > ENUMERATED:
            if result.status != Status.CONTACT_UNSOLVABLE or _impossible(problem):
                return result
            message = f"Pivoting ended on a ray, which proves nothing here (residual {result.residual:.1e})."
            return replace(result, status=Status.CONTACT_STALLED, message=message)
        try:
            P = nearest_basis(problem, self.tol)
        except RuntimeError:  # least squares ran out of iterations
            return replace(result, status=Status.CONTACT_STALLED)
        certificate, u = problem.residual(P), problem.u(P)
        found = replace(result, P=P, u=u, residual=certificate, solver=f"{self.name} (enumeration)")
        if certificate <= self.tol:
            message = f"Pivoting ended without a solution; enumeration found one (residual {certificate:.1e})."
            return replace(found, converged=True, status=Status.OK, message=message)
        if certificate > UNCERTAIN:
            message = f"No complementary basis fits: there is no solution (residual {certificate:.1e} at best)."
            return replace(found, status=Status.CONTACT_UNSOLVABLE, message=message)
        message = f"No complementary basis fits better than to a residual of {certificate:.1e}."
        return replace(found, status=Status.CONTACT_STALLED, message=message)
