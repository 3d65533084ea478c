"""ConicFixedPoint: a fixed point over second-order cone programs (Cadoux 2009; Acary, Cadoux, Lemarechal, Malick 2011).

For given s = mu |u_T| e_N the laws are the optimality conditions of

    minimise 1/2 P . D P + (b + s) . P   with P in its cones,

which clarabel solves by an interior-point method; s is renewed until it stays. In global form y = M^-1 W P is a
variable too and D is never formed. For comparison with the compiled solvers, and, by `feasible`, for a second opinion
on problems without solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from saltus.contact.problem import ContactProblem, ContactResult, GlobalForm, check_support, refuse_beyond_coulomb
from saltus.errors import MissingExtraError, ModelError, SettingError
from saltus.laws import BILATERAL, COULOMB_SPATIAL, UNILATERAL
from saltus.status import Status


class _Conic(NamedTuple):
    """Tuned numbers of this file."""

    accuracy: float = 1e-15  # asked from clarabel: it stops where it makes no progress, the residual judges
    weakest: float = 1.0 / 64.0  # least part of a new s that is taken
    patience: int = 30  # programs in which the residual must be halved
    named: float = 1e-6  # part of a certificate, relative to its largest, that names a contact


CONIC = _Conic()


# ---- programs


class _Program(NamedTuple):
    """The scaled problem: x = (y, P) or P, minimise x.Hx/2 with E x = 0, u = U x + b, P in cones -G P + cone = 0."""

    H: Any
    E: Any
    U: Any
    b: np.ndarray
    G: Any
    cones: list
    scaling: np.ndarray
    size: float


def _clarabel() -> Any:
    try:
        import clarabel
    except ImportError as missing:
        raise MissingExtraError("cone programs need clarabel: pip install saltus[conic]") from missing
    return clarabel


def _program(problem: ContactProblem) -> _Program:
    clarabel, n, form = _clarabel(), problem.n, problem.given
    kinds, first, rows = problem.kernel.blocks.reshape(-1, 3).T
    scaling = np.repeat(1.0 / np.sqrt(_mean_diagonal(problem)), rows)
    S = sparse.diags_array(scaling)
    if isinstance(form, GlobalForm):
        M, W = sparse.csc_array(form.M, dtype=float), sparse.csc_array(form.W, dtype=float)
        T = sparse.diags_array(1.0 / np.sqrt(np.abs(M.diagonal())))
        M, W = T @ M @ T, T @ W @ S
        H = sparse.block_diag([0.5 * (M + M.T), sparse.csc_array((n, n))])
        E, U = sparse.hstack([M, -W]), sparse.hstack([W.T, sparse.csc_array((n, n))])
    else:
        D = S @ sparse.csc_array(form.D, dtype=float) @ S
        H, E, U = 0.5 * (D + D.T), sparse.csc_array((0, n)), D
    width = n + (problem.kernel.nv if isinstance(form, GlobalForm) else 0)
    # a cone without friction has no interior: P_T = 0 is an equation
    sticks = (kinds > UNILATERAL) & (problem.mu == 0.0)
    zero = [i for k in np.flatnonzero(sticks) for i in range(first[k] + 1, first[k] + rows[k])]
    positive = first[(kinds == UNILATERAL) | sticks]
    order, weight = [*zero, *positive], [1.0] * (len(zero) + len(positive))
    cones = [clarabel.ZeroConeT(len(zero)), clarabel.NonnegativeConeT(positive.size)]
    for k in np.flatnonzero((kinds > UNILATERAL) & ~sticks):
        order += range(first[k], first[k] + rows[k])
        weight += [problem.mu[k]] + [1.0] * (rows[k] - 1)
        cones.append(clarabel.SecondOrderConeT(int(rows[k])))
    columns = np.array(order, dtype=np.int64) + width - n
    G = sparse.csc_array((weight, (np.arange(len(order)), columns)), shape=(len(order), width))
    b = scaling * problem.b
    size = float(np.linalg.norm(b)) or 1.0
    return _Program(H, E, U, b / size, G, cones, scaling, size)


def _mean_diagonal(problem: ContactProblem) -> np.ndarray:
    """Return the mean diagonal of D per block, that of all blocks where it vanishes."""
    k, n = problem.kernel, problem.n
    W_begin, W_end, X_begin, X_end = k.rows.reshape(n, 4).T
    W = sparse.csr_array((k.W, k.W_col, np.append(W_begin, W_end[-1:])), shape=(n, k.nv))
    X = sparse.csr_array((k.X, k.X_col, np.append(X_begin, X_end[-1:])), shape=(n, k.nv))
    first, rows = k.blocks[1::3], k.blocks[2::3]
    mean = np.add.reduceat(np.asarray((W * X).sum(axis=1)).ravel(), first) / rows
    overall = float(np.mean(np.maximum(mean, 0.0))) or 1.0
    return np.where(mean > 1e-14 * overall, mean, overall)


def _minimise(program: _Program, H, linear, rows, limits, cones):
    """Return clarabel's answer for x.Hx/2 + linear.x with limits - rows x in the cones, E x = 0, P in its cones."""
    clarabel = _clarabel()
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1  # the same result on every machine
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = CONIC.accuracy
    A = sparse.csc_matrix(sparse.vstack([rows, program.E, -program.G]))
    right = np.concatenate([limits, np.zeros(program.E.shape[0] + program.G.shape[0])])
    cones = [*cones, clarabel.ZeroConeT(program.E.shape[0]), *program.cones]
    H = sparse.csc_matrix(sparse.triu(H))
    return clarabel.DefaultSolver(H, linear, A, right, cones, settings).solve()


# ---- is there any solution


class Feasibility(NamedTuple):
    """Whether some P in the cones makes u_N >= 0 and bilateral rows zero (None: undecided); who contradicts if not."""

    feasible: bool | None
    contacts: tuple[str, ...] = ()


def feasible(problem: ContactProblem) -> Feasibility:
    """Decide whether some P in the cones gives admissible velocities: without one there is no solution.

    Where there is none, there are weights of the normal rows (>= 0 if unilateral) whose sum over u is negative for
    every P in the cones; the contacts that carry them are named. That some P is feasible does not yet solve the laws.
    """
    refuse_beyond_coulomb(problem, "feasible")
    if problem.n == 0:
        return Feasibility(True)
    clarabel, program = _clarabel(), _program(problem)
    held = problem.kinds == BILATERAL
    blocks = np.concatenate([np.flatnonzero(held), np.flatnonzero(~held)])
    rows = problem.kernel.blocks[1::3][blocks]
    cones = [clarabel.ZeroConeT(int(held.sum())), clarabel.NonnegativeConeT(int((~held).sum()))]
    U = sparse.csr_array(program.U)[rows]
    outcome = _minimise(program, 0.0 * program.H, np.zeros(U.shape[1]), -U, program.b[rows], cones)
    if "PrimalInfeasible" in str(outcome.status):
        weight = np.abs(np.array(outcome.z)[: rows.size])
        guilty = np.sort(blocks[weight > CONIC.named * weight.max()])
        return Feasibility(False, tuple(problem.names[k] for k in guilty))
    return Feasibility(True if str(outcome.status) in ("Solved", "AlmostSolved") else None)


# ---- the solver


@dataclass(frozen=True, kw_only=True)
class ConicFixedPoint:
    """Cone programs of clarabel with the slip renewed in between: for single problems of all laws, for comparison.

    Needs `pip install saltus[conic]`. Accurate without friction and for small mu; for large mu the fixed point may
    creep or run in circles, and the problem is given back as stalled.

    Parameters
    ----------
    tol : scaled residual that confirms a solution [-]; 1e-9 to 1e-4. Interior-point methods seldom get below 1e-9.
    max_programs : programs after which the problem counts as stalled.
    """

    tol: float = 1e-8
    max_programs: int = 200

    def __post_init__(self):
        if not 0.0 < self.tol < 1.0:
            raise SettingError(f"ConicFixedPoint: tol = {self.tol} must lie between 0 and 1; it is a relative residual")
        if not 1 <= self.max_programs < 2**31:
            raise SettingError(f"ConicFixedPoint: max_programs = {self.max_programs} must be at least 1")

    @property
    def name(self) -> str:
        return "ConicFixedPoint"

    @property
    def kernel(self):
        raise SettingError("ConicFixedPoint solves single problems, it has no kernel for a run: take Portfolio()")

    def supports(self, kind: int) -> bool:
        return kind <= COULOMB_SPATIAL

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem; the impulses P0 [N s] give the first slip (zero by default)."""
        n = problem.n
        check_support(self, problem.kinds)
        P = np.zeros(n) if P0 is None else np.array(P0, dtype=np.float64, ndmin=1)
        if P.shape != (n,) or not np.all(np.isfinite(P)):
            raise ModelError(f"P0 has shape {P.shape}; it must hold {n} finite numbers, one per row")
        if n == 0:
            return ContactResult(P, P, 0.0, 0, True, self.name, "There is no contact row.")
        program, count = _program(problem), 0
        best, least, mark = P, problem.residual(P), np.inf
        slip, part = _slip(problem, program.scaling * problem.u(P) / program.size), 1.0
        before = np.inf
        while least > self.tol and count < self.max_programs:
            count += 1
            linear = np.zeros(program.U.shape[1])
            # what is unsymmetric in D follows like the slip
            x = np.concatenate([np.zeros(linear.size - n), best / (program.scaling * program.size)])
            linear[-n:] = program.b + slip
            if program.E.shape[0] == 0:
                linear[-n:] += program.U @ x - program.H @ x
            outcome = _minimise(program, program.H, linear, sparse.csc_array((0, linear.size)), np.zeros(0), [])
            if "DualInfeasible" in str(outcome.status):  # no minimum: either no solution, or too little slip
                if feasible(problem).feasible is False:
                    break
                slip = 2.0 * slip + _slip(problem, np.ones(n))
                continue
            P = _into_cones(problem, program.scaling * program.size * np.array(outcome.x)[-n:])
            if not np.all(np.isfinite(P)):
                break
            found = problem.residual(P)
            if found < least:
                best, least = P, found
            part = max(0.5 * part, CONIC.weakest) if found > before else min(1.25 * part, 1.0)
            before = found
            slip += part * (_slip(problem, program.scaling * problem.u(P) / program.size) - slip)
            if count % CONIC.patience == 0:
                if least > 0.5 * mark:
                    break
                mark = least
        return self._result(problem, best, least, count)

    def _result(self, problem: ContactProblem, P, certificate: float, count: int) -> ContactResult:
        status, names = Status.OK, ()
        verdict = "The contact problem is solved"
        if not certificate <= self.tol:
            names = feasible(problem).contacts
            status = Status.CONTACT_UNSOLVABLE if names else Status.CONTACT_STALLED
            verdict = status.sentence.rstrip(".")
            verdict += f": contacts {', '.join(names)} contradict each other" if names else ""
        message = f"{verdict} (residual {certificate:.1e} after {count} programs)."
        converged = status == Status.OK
        return ContactResult(P, problem.u(P), certificate, count, converged, self.name, message, status, names)


def _slip(problem: ContactProblem, u: np.ndarray) -> np.ndarray:
    """Return mu |u_T| e_N, u being scaled."""
    slip = np.zeros(problem.n)
    for k, (_, first, rows) in enumerate(problem.kernel.blocks.reshape(-1, 3)):
        slip[first] = problem.mu[k] * np.linalg.norm(u[first + 1 : first + rows])
    return slip


def _into_cones(problem: ContactProblem, P: np.ndarray) -> np.ndarray:
    from saltus.compile.seam import interpreted

    project = interpreted(problem.cone)
    for k, (kind, first, rows) in enumerate(problem.kernel.blocks.reshape(-1, 3)):
        project(kind, problem.mu[k], P[first : first + rows])
    return P
