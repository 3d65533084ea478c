"""ADMM: alternating directions of multipliers on De Saxce's form of the laws (Acary, Bremond and Huber 2018).

    (D + penalty I) x = penalty (z - w) - b - s,   v <- v + relaxation (x - z),   z = proj(v),   w = v - z

solves, for given s = mu |u_T| e_N, a convex problem with u + s = -penalty w; s follows at each iteration. Blocks are
scaled to a mean diagonal of 1 and b to length 1, which leaves the cones as they are. Plain iterations creep where
contacts are redundant: the map v -> v is accelerated (Anderson 1965) as long as its steps do not grow. Without
progress the penalty changes, first by the balance of the two residuals, then by turns, because contacts that creep
look balanced. The matrix is factored once per penalty: dense inside the kernel, by scipy where there are more rows;
the global form needs D nowhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import handle, head, larger, mat, ready, smaller, tail, unit, whole
from saltus.compile.types import CONE, CONTACTS, CONTACTS_RECORD, SOLVE, A, B, F, I, J
from saltus.compile.workspace import Numbers, RoomPlan, Workspace, integers
from saltus.contact.problem import ContactProblem, ContactResult, GlobalForm, check_support, run
from saltus.contact.residual import JUDGING, residual
from saltus.errors import ModelError, SettingError
from saltus.laws import BILATERAL, COULOMB_SPATIAL
from saltus.status import Status


class _Wanted(NamedTuple):
    """What the iteration asks for before it goes on; a status, 0 or more, ends it."""

    factor: int = -2  # linear equations with a new penalty
    substitute: int = -1  # linear equations with the same penalty


WANTED = _Wanted()


class _AdmmTuned(NamedTuple):
    """Tuned numbers of this file."""

    memory: int = 15  # former steps that the acceleration combines
    check: int = 10  # iterations between two looks at the residual
    patience: int = 100  # iterations in which the residual must fall to a tenth, else the penalty changes
    bold: float = 2.0  # growth of a step at which the acceleration starts anew, every third turn; else 1
    blur: float = 1e-8  # relative shift in the least squares of the acceleration: steps are nearly parallel
    usual: float = 0.03  # penalty, for a mean diagonal of 1
    dense: float = 0.2  # part of nonzeros above which a sparse D is factored as a dense one
    huge: float = 1e8  # scaled size of impulses beyond which no solution is looked for


ADMM_TUNED = _AdmmTuned()

TURNS = (0.1, 1.0, 0.01, 10.0, 0.1, 1.0, 0.1, 100.0)  # penalties by turns, relative to the first

SETTINGS = Numbers("tol max_iterations penalty relaxation max_rows")
# kept: former steps, -1 where the acceleration starts anew; newest: place of the next one; smallest: step since then;
# best, mark: residual, of all iterations and at the last change of the penalty; since: iterations after it; turn:
# changes of the penalty; b_size: length of the scaled b
ADMM_NUMBERS = Numbers("penalty count kept newest smallest best mark since turn b_size")
# v_old, g_old: of the iteration before; dv, dg: former changes of both; H = dg dg^T, L: its factor, y: weights
ACCELERATING = Workspace(
    "Accelerating", v_old="few", g_old="few", y=f"{ADMM_TUNED.memory}", H=f"{ADMM_TUNED.memory * ADMM_TUNED.memory}",
    L=f"{ADMM_TUNED.memory * ADMM_TUNED.memory}",
    dv=f"{ADMM_TUNED.memory} * few", dg=f"{ADMM_TUNED.memory} * few",
)  # fmt: skip
# few: rows, at most max_rows; x: solution of the linear equations, or their right side; scaling: of
# the rows; v, z = proj(v), g: change of v; p: scratch; best: impulses
ITERATION = Workspace(
    "Alternating", numbers=ADMM_NUMBERS, x="few", scaling="few", v="few", z="few", g="few", p="few", best="few",
    judging=JUDGING, history=ACCELERATING,
)  # fmt: skip
WORK = Workspace("ADMM", iteration=ITERATION, D="few * few", LU="few * few", order=integers("few"))


# ---- one iteration without its linear equations


@unit(I(CONTACTS, ADMM_NUMBERS.kind, A, A))
def _scale(contacts, numbers, scaling, X_i):
    """Write the scaling of the rows, one number per block, and the size of the scaled b."""
    rows, n, mean, total = contacts.rows, contacts.b.shape[0], 0.0, 0.0
    for i in range(contacts.nv):
        X_i[i] = 0.0
    for i in range(n):
        scaling[i] = 0.0
        for k in range(rows[4 * i + 2], rows[4 * i + 3]):
            X_i[contacts.X_col[k]] += contacts.X[k]
        for k in range(rows[4 * i], rows[4 * i + 1]):
            scaling[i] += contacts.W[k] * X_i[contacts.W_col[k]]
        for k in range(rows[4 * i + 2], rows[4 * i + 3]):
            X_i[contacts.X_col[k]] = 0.0
        mean += larger(scaling[i], 0.0) / n
    mean = mean if mean > 0.0 else 1.0
    for k in range(contacts.mu.shape[0]):
        first, nr, size = contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2], 0.0
        for i in range(first, first + nr):
            size += scaling[i] / nr
        for i in range(first, first + nr):
            scaling[i] = 1.0 / math.sqrt(size if size > 1e-14 * mean else mean)
            total += (scaling[i] * contacts.b[i]) ** 2
    numbers.b_size = math.sqrt(total) if total > 0.0 else 1.0
    return 0


@unit(I(CONTACTS, CONE, ADMM_NUMBERS.kind, A, A, A, A))
def _prepare(contacts, cone, numbers, scaling, v, z, x):
    """Write z = proj(v) and the right side x of the linear equations."""
    rho = numbers.penalty
    for k in range(contacts.mu.shape[0]):
        first, nr, slip = contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2], 0.0
        for i in range(first, first + nr):
            z[i] = v[i]
        cone(contacts.blocks[3 * k], contacts.mu[k], head(tail(z, first), nr))
        for i in range(first, first + nr):
            w = v[i] - z[i]
            x[i] = rho * (z[i] - w) - scaling[i] * contacts.b[i] / numbers.b_size
            slip += w * w if i > first else 0.0
        x[first] -= contacts.mu[k] * rho * math.sqrt(slip)
    return 0


@unit(I(ADMM_NUMBERS.kind, A, A, ACCELERATING.kind))
def _accelerate(numbers, v, g, work):
    """Replace v by v + g, less the part of g that the kept steps explain; start anew where g has grown."""
    n, kept, newest, length = v.shape[0], whole(numbers.kept), whole(numbers.newest), 0.0
    v_old, g_old, y = work.v_old, work.g_old, work.y
    H, L = mat(work.H, 0, ADMM_TUNED.memory, ADMM_TUNED.memory), mat(work.L, 0, ADMM_TUNED.memory, ADMM_TUNED.memory)
    dv, dg = mat(work.dv, 0, ADMM_TUNED.memory, n), mat(work.dg, 0, ADMM_TUNED.memory, n)
    for i in range(n):
        length += g[i] * g[i]
    length = math.sqrt(length)
    if length > numbers.smallest * (ADMM_TUNED.bold if numbers.turn % 3.0 == 2.0 else 1.0):
        kept, numbers.smallest = -1, math.inf
    if kept < 0:
        kept, newest = 0, 0
    else:
        for i in range(n):
            dv[newest, i], dg[newest, i] = v[i] - v_old[i], g[i] - g_old[i]
        kept = kept + 1 if kept < ADMM_TUNED.memory else ADMM_TUNED.memory
        for j in range(kept):
            total = 0.0
            for i in range(n):
                total += dg[newest, i] * dg[j, i]
            H[newest, j], H[j, newest] = total, total
        newest = (newest + 1) % ADMM_TUNED.memory
    for i in range(n):
        v_old[i], g_old[i] = v[i], g[i]
        v[i] += g[i]
    # least squares by L L^T = H, scaled to a diagonal of 1 + ADMM_TUNED.blur
    for j in range(kept):
        size_j, total = math.sqrt(H[j, j]), 0.0
        for i in range(n):
            total += dg[j, i] * g[i]
        y[j] = total / size_j if size_j > 0.0 else 0.0
        for k in range(j + 1):
            size = size_j * math.sqrt(H[k, k])
            total = 1.0 + ADMM_TUNED.blur if k == j else (H[j, k] / size if size > 0.0 else 0.0)
            for m in range(k):
                total -= L[j, m] * L[k, m]
            L[j, k] = math.sqrt(larger(total, ADMM_TUNED.blur)) if k == j else total / L[k, k]
        for k in range(j):
            y[j] -= L[j, k] * y[k]
        y[j] /= L[j, j]
    for j in range(kept - 1, -1, -1):
        for k in range(j + 1, kept):
            y[j] -= L[k, j] * y[k]
        y[j] /= L[j, j]
    for j in range(kept):
        weight = y[j] / math.sqrt(H[j, j]) if H[j, j] > 0.0 else 0.0
        for i in range(n):
            v[i] -= weight * (dv[j, i] + dg[j, i])
    numbers.kept, numbers.newest, numbers.smallest = kept, newest, smaller(numbers.smallest, length)
    return 0


@unit(I(CONTACTS, ADMM_NUMBERS.kind, A, A, A, A))
def _contradicts(contacts, numbers, scaling, g, ray, y):
    """Return 1 if the normal part of the step g proves that no P makes u_N >= 0 (bilateral rows: u = 0), else 0.

    Where there is no solution the steps tend to a ray: ray . u = (D^T ray) . P + ray . b, negative unless P is huge.
    """
    rows, drive, size = contacts.rows, 0.0, 0.0
    for i in range(contacts.nv):
        y[i] = 0.0
    for k in range(contacts.mu.shape[0]):
        first = contacts.blocks[3 * k + 1]
        for i in range(first, first + contacts.blocks[3 * k + 2]):
            ray[i] = 0.0 if i > first or (g[i] < 0.0 and contacts.blocks[3 * k] != BILATERAL) else g[i]
            drive -= ray[i] * scaling[i] * contacts.b[i] / numbers.b_size
            for m in range(rows[4 * i], rows[4 * i + 1]):
                y[contacts.W_col[m]] += contacts.W[m] * scaling[i] * ray[i]
    for i in range(g.shape[0]):
        total = 0.0
        for m in range(rows[4 * i + 2], rows[4 * i + 3]):
            total += contacts.X[m] * y[contacts.X_col[m]]
        size = larger(size, abs(scaling[i] * total))
    return 1 if drive > 0.0 and drive > ADMM_TUNED.huge * size else 0


@unit(I(CONTACTS, CONE, F, ADMM_NUMBERS.kind, A, A, A, A))
def _change_penalty(contacts, cone, start, numbers, v, z, x, p):
    """Take another penalty and the v that belongs to it; before the last step, v was projected to z, answered by x."""
    rho, primal, dual = numbers.penalty, 0.0, 0.0
    size_x, size_w = 1e-30, 1.0
    for k in range(contacts.mu.shape[0]):
        first, nr = contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2]
        for i in range(first, first + nr):
            p[i] = v[i]
        cone(contacts.blocks[3 * k], contacts.mu[k], head(tail(p, first), nr))
        for i in range(first, first + nr):
            primal, dual = primal + (x[i] - p[i]) ** 2, dual + (rho * (p[i] - z[i])) ** 2
            size_x, size_w = size_x + p[i] ** 2, size_w + (rho * (v[i] - p[i])) ** 2
    balance, turn = math.sqrt(math.sqrt((primal / size_x) / larger(dual / size_w, 1e-300))), whole(numbers.turn)
    if turn == 0 and (balance > 3.0 or balance < 1.0 / 3.0):
        new = rho * larger(smaller(balance, 10.0), 0.1)
    else:
        new = start * TURNS[turn % len(TURNS)]
    for i in range(v.shape[0]):
        v[i] = p[i] + (v[i] - p[i]) * rho / new
    numbers.penalty, numbers.turn, numbers.kept, numbers.smallest = new, turn + 1.0, -1.0, math.inf
    return 0


@unit(I(CONTACTS, F, A, A, ITERATION.kind), small=True)
def _begin(contacts, penalty, P, u, work):
    """Write the scaling and the variable v of the first iteration, from the impulses P and their velocities u."""
    n, numbers, scaling, v, wild = P.shape[0], work.numbers, work.scaling, work.v, False
    _scale(contacts, numbers, scaling, work.judging.X_i)
    numbers.penalty, numbers.count, numbers.kept, numbers.newest = penalty, 1.0, -1.0, 0.0
    numbers.smallest, numbers.mark, numbers.since, numbers.turn = math.inf, math.inf, 0.0, 0.0
    for k in range(contacts.mu.shape[0]):
        first, nr, slip = contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2], 0.0
        for i in range(first, first + nr):
            slip += u[i] * u[i] if i > first else 0.0
        for i in range(first, first + nr):
            dual = u[i] + (contacts.mu[k] * math.sqrt(slip) if i == first else 0.0)
            v[i] = (P[i] / scaling[i] - scaling[i] * dual / penalty) / numbers.b_size
            work.best[i] = P[i]
            wild = wild or not abs(v[i]) < ADMM_TUNED.huge
    for i in range(n if wild else 0):
        v[i] = 0.0  # rounding errors of such a start would hide b
    return 0


@unit(I(CONTACTS, CONE, SETTINGS.kind, A, A, A, ITERATION.kind))
def advance(contacts, cone, settings, P, u, info, work):
    """Take the solution x of the linear equations to the right side, again in x, of the next iteration.

    in/out  P: start -> impulses, the best of all; work: numbers.count = 0 at the start
    out     u: velocities; info: residual, iterations
    return  WANTED.factor: solve equations with a new penalty next; WANTED.substitute: with the same one; else the
            status with which all ends
    """
    n, numbers, x, scaling, v, z = P.shape[0], work.numbers, work.x, work.scaling, head(work.v, P.shape[0]), work.z
    g, p, best, judging = head(work.g, n), work.p, work.best, work.judging
    if numbers.count == 0.0:
        info[0], info[1] = residual(contacts, cone, P, u, judging), 0.0
        if not info[0] < math.inf:
            return Status.NONFINITE
        if info[0] <= settings.tol:
            return 0
        numbers.best = info[0]
        _begin(contacts, settings.penalty, P, u, work)
        _prepare(contacts, cone, numbers, scaling, v, z, x)
        return WANTED.factor
    length, count = 0.0, whole(numbers.count)
    for i in range(n):
        g[i] = settings.relaxation * (x[i] - z[i])
        length += g[i] * g[i]
    status, last = WANTED.substitute, count >= whole(settings.max_iterations)
    if not length < math.inf:
        # D is no Delassus matrix, or the penalty met one of its eigenvalues: from the best P with another penalty
        status = Status.CONTACT_STALLED if last else WANTED.factor
        for i in range(n):
            v[i] = best[i] / (scaling[i] * numbers.b_size)
            g[i], x[i], z[i] = 0.0, v[i], v[i]
    elif count % ADMM_TUNED.check == 0 or last or math.sqrt(length) * (1.0 + numbers.penalty) <= settings.tol:
        for i in range(n):
            P[i] = scaling[i] * numbers.b_size * z[i]
        info[0], info[1] = residual(contacts, cone, P, u, judging), float(count)
        if info[0] <= settings.tol:
            return 0
        for i in range(n if info[0] < numbers.best else 0):
            best[i] = P[i]
        numbers.best = smaller(numbers.best, info[0])
        status = Status.CONTACT_STALLED if last else WANTED.substitute
    numbers.count, numbers.since = count + 1.0, numbers.since + 1.0
    if status == WANTED.substitute and numbers.since >= ADMM_TUNED.patience:
        if numbers.best > 0.1 * numbers.mark:
            status = (
                Status.CONTACT_UNSOLVABLE
                if _contradicts(contacts, numbers, scaling, g, p, judging.y)
                else WANTED.factor
            )
        numbers.mark, numbers.since = numbers.best, 0.0
    if status >= 0:
        for i in range(n):
            P[i] = best[i]
        info[0], info[1] = residual(contacts, cone, P, u, judging), float(count)
        return status
    if status == WANTED.factor:
        for i in range(n):
            v[i] += g[i]
        _change_penalty(contacts, cone, settings.penalty, numbers, v, z, x, p)
    else:
        _accelerate(numbers, v, g, work.history)
    _prepare(contacts, cone, numbers, scaling, v, z, x)
    return status


# ---- few rows: dense, compiled


@unit(I(CONTACTS, A, B, A))
def _delassus(contacts, scaling, D, X_j):
    """Write the scaled D."""
    rows, n = contacts.rows, contacts.b.shape[0]
    for i in range(contacts.nv):
        X_j[i] = 0.0
    for j in range(n):
        for k in range(rows[4 * j + 2], rows[4 * j + 3]):
            X_j[contacts.X_col[k]] += contacts.X[k]
        for i in range(n):
            total = 0.0
            for k in range(rows[4 * i], rows[4 * i + 1]):
                total += contacts.W[k] * X_j[contacts.W_col[k]]
            D[i, j] = scaling[i] * total * scaling[j]
        for k in range(rows[4 * j + 2], rows[4 * j + 3]):
            X_j[contacts.X_col[k]] = 0.0
    return 0


@unit(I(B, F, B, J))
def _factor(D, penalty, LU, order):
    """Factor D + penalty I with row pivoting (D need not be symmetric)."""
    n = order.shape[0]
    for i in range(n):
        for j in range(n):
            LU[i, j] = D[i, j] + (penalty if i == j else 0.0)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(LU[i, k]) > abs(LU[best, k]):
                best = i
        order[k] = best
        for j in range(n if best != k else 0):
            LU[k, j], LU[best, j] = LU[best, j], LU[k, j]
        for i in range(k + 1, n):
            if LU[i, k] != 0.0:
                LU[i, k] /= LU[k, k]
                for j in range(k + 1, n):
                    LU[i, j] -= LU[i, k] * LU[k, j]
    return 0


@unit(I(B, J, A))
def _substitute(LU, order, x):
    """Replace x by the solution of the factored equations."""
    n = order.shape[0]
    for k in range(n):
        x[k], x[order[k]] = x[order[k]], x[k]
    for i in range(n):
        for j in range(i):
            x[i] -= LU[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= LU[i, j] * x[j]
        x[i] /= LU[i, i]
    return 0


@unit(SOLVE)
def alternate_directions(contacts, local, cone, settings, P, u, info, room):
    """Iterate from P with dense factors; more rows than settings allow are given back as stalled.

    contacts / laws: local, cone / SETTINGS / room: WORK
    in/out  P: start -> impulses
    out     u: velocities; info: residual, iterations
    """
    n, settings, work = P.shape[0], SETTINGS(settings), WORK(room)
    iteration = work.iteration
    if n > whole(settings.max_rows):
        info[0], info[1] = residual(contacts, cone, P, u, iteration.judging), 0.0
        return 0 if info[0] <= settings.tol else Status.CONTACT_STALLED
    D, LU, order = mat(work.D, 0, n, n), mat(work.LU, 0, n, n), head(work.order, n)
    iteration.numbers.count = 0.0
    task = advance(contacts, cone, settings, P, u, info, iteration)
    if task < 0:
        _delassus(contacts, iteration.scaling, D, iteration.judging.X_i)
    while task < 0:
        if task == WANTED.factor:
            _factor(D, iteration.numbers.penalty, LU, order)
        _substitute(LU, order, iteration.x)
        task = advance(contacts, cone, settings, P, u, info, iteration)
    return task


# ---- many rows: factors of scipy


@unit(I(CONTACTS_RECORD, CONE, SETTINGS.kind, A, A, A, ITERATION.kind), entry=True)
def enter_advance(contacts, cone, settings, P, u, info, work):
    """Advance from Python, which has the record itself and no handle of it."""
    return advance(handle(contacts), cone, settings, P, u, info, work)


def _factored(problem: ContactProblem, scaling: np.ndarray, penalty: float):
    """Return the function that solves (D + penalty I) x = c for the scaled D.

    In global form D stays a product: M y - W x = 0, W^T y + penalty x = c.
    """
    from scipy.linalg import lu_factor, lu_solve
    from scipy.sparse import block_array, csc_array, diags_array, issparse
    from scipy.sparse.linalg import splu

    n, S = problem.n, diags_array(scaling)
    # a symmetric pattern with a strong diagonal: little fill-in, pivots from the diagonal wherever possible
    options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.01, "options": {"SymmetricMode": True}}
    if isinstance(problem.given, GlobalForm):
        nv = problem.kernel.nv
        M, W = csc_array(problem.given.M, dtype=float), csc_array(problem.given.W, dtype=float) @ S
        system = csc_array(block_array([[M, -W], [W.T, penalty * diags_array(np.ones(n))]]))
        factors = splu(system, **options)
        return lambda c: factors.solve(np.concatenate([np.zeros(nv), c]))[nv:]
    D = problem.given.D
    if issparse(D) and D.nnz < ADMM_TUNED.dense * n * n:
        factors = splu(csc_array(S @ csc_array(D) @ S + penalty * diags_array(np.ones(n))), **options)
        return factors.solve
    D = D.toarray() if issparse(D) else np.asarray(D, dtype=float)
    pair = lu_factor(scaling[:, None] * D * scaling + penalty * np.eye(n), overwrite_a=True, check_finite=False)
    return lambda c: lu_solve(pair, c, check_finite=False)


@dataclass(frozen=True, kw_only=True)
class ADMM:
    """Alternating directions of multipliers for all laws and any size; redundant contacts do no harm.

    Parameters
    ----------
    tol : scaled residual that confirms a solution [-]; 1e-13 to 1e-4.
    max_iterations : iterations after which the problem counts as stalled.
    penalty : penalty of the first iterations, relative to the mean diagonal of D [-], 1e-4 to 1e2; None: 0.03. Small
        penalties reach slipping contacts in fewer steps, large ones suit problems without redundancy.
    relaxation : part of each step that is taken, 0 < relaxation < 2 [-].
    max_rows : most rows of the dense compiled iteration, whose time per penalty grows with their third power. `solve`
        takes factors of scipy above; inside a march larger problems are given back as stalled.
    """

    tol: float = 1e-10
    max_iterations: int = 5000
    penalty: float | None = None
    relaxation: float = 1.0
    max_rows: int = 300

    def __post_init__(self):
        if not 0.0 < self.tol < 1.0:
            raise SettingError(f"ADMM: tol = {self.tol} must lie between 0 and 1; it is a relative residual")
        if self.penalty is not None and not 0.0 < self.penalty < math.inf:
            raise SettingError(f"ADMM: penalty = {self.penalty} must be positive; None takes the usual one")
        if not 0.0 < self.relaxation < 2.0:
            raise SettingError(f"ADMM: relaxation = {self.relaxation} must lie between 0 and 2 for convergence")
        for name in ("max_iterations", "max_rows"):
            if not 1 <= getattr(self, name) < 2**31:
                raise SettingError(f"ADMM: {name} = {getattr(self, name)} must be at least 1")

    @property
    def name(self) -> str:
        return "ADMM"

    @property
    def kernel(self):
        return alternate_directions

    def settings(self) -> np.ndarray:
        penalty = ADMM_TUNED.usual if self.penalty is None else self.penalty
        return SETTINGS.filled(
            tol=self.tol, max_iterations=float(self.max_iterations), penalty=penalty, relaxation=self.relaxation,
            max_rows=float(self.max_rows),
        )  # fmt: skip

    def room(self, n: int, nb: int, nv: int) -> RoomPlan:
        """Return the plan of what the kernel works with."""
        return WORK.plan({"few": min(n, self.max_rows), "nv": nv})

    def supports(self, kind: int) -> bool:
        return kind <= COULOMB_SPATIAL

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem, from the impulses P0 [N s] (zero by default)."""
        if problem.n <= self.max_rows:
            return run(self, problem, P0)
        check_support(self, problem.kinds)
        return self._solve_sparse(problem, P0)

    def _solve_sparse(self, problem: ContactProblem, P0) -> ContactResult:
        n = problem.n
        P = np.zeros(n) if P0 is None else np.array(P0, dtype=np.float64, ndmin=1)
        if P.shape != (n,) or not np.all(np.isfinite(P)):
            raise ModelError(f"P0 has shape {P.shape}; it must hold {n} finite numbers, one per row")
        u, info, room = np.zeros(n), np.zeros(2), ITERATION.plan({"few": n, "nv": problem.kernel.nv}).allocate()
        work, step, cone, settings = room.record, ready(enter_advance), ready(problem.cone), SETTINGS(self.settings())
        task, answer = step(problem.kernel, cone, settings, P, u, info, room), None
        while task < 0:
            if task == WANTED.factor or answer is None:
                try:
                    answer = _factored(problem, work.scaling, float(work.numbers.penalty))
                except RuntimeError:  # singular to the last bit, for D that is no Delassus matrix
                    task = Status.CONTACT_STALLED
                    break
            work.x[:] = answer(work.x)
            task = step(problem.kernel, cone, settings, P, u, info, room)
        status = Status(task)
        certificate = problem.residual(P)
        converged = status == Status.OK
        verdict = "The contact problem is solved" if converged else status.sentence.rstrip(".")
        message = f"{verdict} (residual {certificate:.1e} after {int(info[1])} iterations)."
        return ContactResult(P, problem.u(P), certificate, int(info[1]), converged, self.name, message, status)
