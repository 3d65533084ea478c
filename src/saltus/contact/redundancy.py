"""Redundant contacts: the velocities are given, the impulses are one choice of many. Which one is the shortest?

With the velocities u the laws leave a convex set of impulses: P = 0 where a contact opens, a ray where it slips, the
cone where it sticks, anything in a joint; and X P = y, which is the momentum. On this set

    minimise |P|^2   by Newton's method on the dual,   P = proj(A^T lambda),   A P = A P_found,

where the rows of A are an orthonormal basis of those of X; impulses that X does not see are free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from saltus.contact.problem import ContactProblem, ContactResult, refuse_beyond_coulomb
from saltus.laws import BILATERAL, UNILATERAL

# singular values, relative to the largest, that count as zero: slip is known to the residual only, so that copies of a
# contact differ a little; the largest one that keeps the velocities is taken
RANKS = (1e-10, 1e-11, 1e-12, 1e-13)


class _Redundant(NamedTuple):
    """Tuned numbers of this file."""

    aligned: float = 1e-6  # angle up to which friction counts as opposite to the slip
    moved: float = 1e-7  # part of a direction, relative to the largest possible, that counts as a way out
    kept: float = 1e-12  # relative change of velocities that counts as none
    max_rows: int = 2000  # more rows are not taken apart: the time grows with their third power
    patience: int = 20  # iterations without progress: the dual has no maximum, or rounding has the word


REDUNDANT = _Redundant()

NOT_UNIQUE = "The impulses are not unique, the velocities are"


@dataclass(frozen=True)
class _Choice:
    """The impulses with the same velocities, P = basis p: p free, >= 0, or in cones, with A p = c."""

    basis: Any  # (n, m), orthonormal columns
    A: np.ndarray  # (rank, m), orthonormal rows
    p: np.ndarray  # the impulses found
    positive: np.ndarray  # columns >= 0
    cones: list[tuple[np.ndarray, np.ndarray]]  # (columns, mu) of planar and of spatial cones

    @property
    def c(self) -> np.ndarray:
        return self.A @ self.p


def _choice(problem: ContactProblem, result: ContactResult, rank: float) -> _Choice:
    """Return the impulses that the laws leave for the velocities of the result; rank: relative zero of X."""
    from scipy.sparse import csc_array, csr_array

    k = problem.kernel
    small = 10.0 * max(result.residual, 1e-15) * np.linalg.norm(problem.b)
    largest = np.abs(result.P).max(initial=0.0)
    begin, end = k.rows[2::4], k.rows[3::4]
    X = csr_array((k.X, k.X_col, np.append(begin, end[-1:])), shape=(problem.n, k.nv)).T.tocsc()
    entries: list[tuple[int, int, float]] = []
    p, positive, cones, m = [], [], {2: ([], []), 3: ([], [])}, 0
    for j, (kind, first, rows) in enumerate(k.blocks.reshape(-1, 3)):
        P, u, mu = result.P[first : first + rows], result.u[first : first + rows], problem.mu[j]
        slip, size = np.linalg.norm(u[1:]), P[0]
        if kind == BILATERAL:
            entries.append((first, m, 1.0))
            p.append(P[0])
            m += 1
            continue
        if u[0] > small and size <= REDUNDANT.aligned * largest:
            continue  # open
        ray, slips = np.eye(rows)[0], slip > small
        if slips:
            ray = np.concatenate([[1.0], -mu * u[1:] / slip])
            slips = (
                np.linalg.norm(P - size * ray) <= min(REDUNDANT.aligned + small / slip, 1e-3) * size + 1e-9 * largest
            )
            if size > 1e-3 * largest:  # the direction found: that of a slow slip is known badly, X P must not change
                ray = P / size
        if kind == UNILATERAL or mu == 0.0 or slips:
            ray = ray / np.linalg.norm(ray)
            entries += [(first + r, m, ray[r]) for r in range(rows)]
            p.append(float(ray @ P))
            positive.append(m)
            m += 1
        else:
            entries += [(first + r, m + r, 1.0) for r in range(rows)]
            p += list(P)
            cones[rows][0].append(range(m, m + rows))
            cones[rows][1].append(mu)
            m += rows
    at, column, value = zip(*entries, strict=True) if entries else ((), (), ())
    basis = csc_array((value, (at, column)), shape=(problem.n, m))
    # rows of one size: heavy bodies count as much as light ones
    length = np.sqrt(np.asarray((X * X).sum(axis=1)).ravel())
    seen = (X @ basis).toarray() / np.where(length > 0.0, length, 1.0)[:, None]
    _, sigma, V = np.linalg.svd(seen, full_matrices=False)  # numpy's takes what is empty, scipy's does not everywhere
    A = V[sigma > rank * sigma.max(initial=0.0)]
    sets = [(np.array(c, dtype=np.int64), np.array(mu)) for c, mu in cones.values() if mu]
    return _Choice(basis, A, np.array(p), np.array(positive, dtype=np.int64), sets)


def _project(choice: _Choice, x: np.ndarray) -> np.ndarray:
    p = x.copy()
    p[choice.positive] = np.maximum(p[choice.positive], 0.0)
    for columns, mu in choice.cones:
        N, T = x[columns[:, 0]], x[columns[:, 1:]]
        length = np.linalg.norm(T, axis=1)
        outside = length > mu * N
        onto = np.maximum((N + mu * length) / (1.0 + mu**2), 0.0)
        shrink = np.divide(mu * onto, length, out=np.zeros_like(length), where=length > 0.0)
        p[columns[:, 0]] = np.where(outside, onto, N)
        p[columns[:, 1:]] = np.where(outside[:, None], shrink[:, None] * T, T)
    return p


def _derivative(choice: _Choice, x: np.ndarray) -> np.ndarray:
    """Return A times the derivative of the projection at x."""
    AJ = choice.A.copy()
    AJ[:, choice.positive[x[choice.positive] <= 0.0]] = 0.0
    for columns, mu in choice.cones:
        N, T = x[columns[:, 0]], x[columns[:, 1:]]
        length = np.linalg.norm(T, axis=1)
        outside, onto = length > mu * N, (N + mu * length) / (1.0 + mu**2)
        d = columns.shape[1]
        t = T / np.where(length > 0.0, length, 1.0)[:, None]
        edge = np.concatenate([np.ones((len(mu), 1)), mu[:, None] * t], axis=1)
        J = edge[:, :, None] * edge[:, None, :] / (1.0 + mu**2)[:, None, None]
        turn = np.where(length > 0.0, mu * onto / np.where(length > 0.0, length, 1.0), 0.0)
        J[:, 1:, 1:] += turn[:, None, None] * (np.eye(d - 1) - t[:, :, None] * t[:, None, :])
        J[onto <= 0.0] = 0.0
        J[~outside] = np.eye(d)
        AJ[:, columns] = np.einsum("rkd,kde->rke", choice.A[:, columns], J)
    return AJ


def _shortest(choice: _Choice) -> np.ndarray:
    """Return the shortest p: Newton's method on the dual, damped by its own residual, with line search."""
    A, c = choice.A, choice.c
    size = np.linalg.norm(c)
    lam = c.copy()  # the shortest p of all with A p = c is A^T c
    x = A.T @ lam
    p = _project(choice, x)
    gradient = A @ p - c
    best, least, idle = p, np.inf, 0
    while idle < REDUNDANT.patience:
        length = np.linalg.norm(gradient)
        idle = 0 if length < 0.9 * least else idle + 1
        if length < least:
            best, least = p, length
        if length <= 1e-15 * size:
            break
        H = _derivative(choice, x) @ A.T
        H[np.diag_indices_from(H)] += min(1e-2, max(1e-3 * length / size, 1e-13))
        step = -np.linalg.solve(H, gradient)
        slope, value, part = gradient @ step, 0.5 * (p @ p) - c @ lam, 1.0
        for _ in range(30):
            x_new = A.T @ (lam + part * step)
            p_new = _project(choice, x_new)
            gradient_new = A @ p_new - c
            # near the end the values are rounded, the gradients are not
            if 0.5 * (p_new @ p_new) - c @ (lam + part * step) <= value + 1e-4 * part * slope or (
                np.linalg.norm(gradient_new) <= 0.5 * length
            ):
                break
            part *= 0.5
        else:
            break
        lam, x, p, gradient = lam + part * step, x_new, p_new, gradient_new
    return best


def _is_unique(choice: _Choice) -> bool | None:
    """Return whether p is the only one: no direction that A does not see leads from p into the set."""
    from scipy.linalg import null_space
    from scipy.optimize import linprog

    A, p, m = choice.A, choice.p, choice.p.size
    if A.shape[0] == m:
        return True
    scale = np.abs(p).max(initial=0.0)
    # the sets near p, without curvature: normals . step >= 0
    normals, inside = [], np.ones(m, dtype=bool)
    at_zero = choice.positive[p[choice.positive] <= 1e-10 * scale]
    normals += list(np.eye(m)[at_zero])
    inside[at_zero] = False
    for columns, mu in choice.cones:
        for column, mu_k in zip(columns, mu, strict=True):
            N, T = p[column[0]], p[column[1:]]
            length = np.linalg.norm(T)
            if N <= 1e-10 * scale:  # at the tip: the cone lies between planes
                for sign in (1.0, -1.0):
                    for j in column[1:]:
                        normal = np.zeros(m)
                        normal[column[0]], normal[j] = mu_k, sign
                        normals.append(normal)
                inside[column] = False
            elif length >= mu_k * N * (1.0 - 1e-9):
                normal = np.zeros(m)
                normal[column[0]], normal[column[1:]] = mu_k, -T / length
                normals.append(normal)
                inside[column] = False
    if null_space(A[:, inside], rcond=1e-10).shape[1] > 0 if inside.any() else False:
        return False
    G = np.array(normals)
    r = np.random.default_rng(0).standard_normal(m)
    unique: bool | None = True
    for sign in (1.0, -1.0):
        weights = sign * r @ (np.eye(m) - A.T @ A) + G.sum(axis=0)
        found = linprog(-weights, A_ub=-G, b_ub=np.zeros(len(G)), A_eq=A, b_eq=np.zeros(A.shape[0]), bounds=(-1, 1))
        if found.status != 0:
            return None
        step = found.x
        if np.abs(step).max() <= REDUNDANT.moved:
            continue
        for part in (1.0, 1e-2, 1e-4):
            q = p + part * (scale or 1.0) * step
            if np.abs(_project(choice, q) - q).max() <= 1e-9 * part * (scale or 1.0):
                return False
        unique = None  # a way out along the tangent of a cone, which is curved
    if unique is None:
        q = _shortest(choice)
        known = np.linalg.norm(A @ (q - p)) <= REDUNDANT.kept * np.linalg.norm(p)
        if known and np.linalg.norm(q - p) > REDUNDANT.moved * np.linalg.norm(p):
            return False  # there is another one
    return unique


def uniqueness(problem: ContactProblem, result: ContactResult) -> bool | None:
    """Return whether no other impulses give the same velocities by the laws; None where that is not decided.

    Undecided: more than 2000 rows; or the only way out runs along the surface of a friction cone.
    """
    refuse_beyond_coulomb(problem, "uniqueness")
    if problem.n == 0:
        return True
    if problem.n > REDUNDANT.max_rows:
        return None
    return _is_unique(_choice(problem, result, RANKS[0]))


def minimum_norm(problem: ContactProblem, result: ContactResult) -> ContactResult:
    """Return the result with the shortest of all impulses that have its velocities and keep the laws.

    Parameters
    ----------
    problem : the contact problem
    result : a converged result of any solver

    Returns
    -------
    The result with P of least |P| [N s] and `unique`. Velocities and residual are those of the given result, else the
    given impulses are kept and the message says so; results that did not converge are returned as they are.
    """
    refuse_beyond_coulomb(problem, "minimum_norm")
    if not result.converged or problem.n == 0:
        return result
    if problem.n > REDUNDANT.max_rows:
        return replace(result, message=f"{result.message} More than {REDUNDANT.max_rows} rows: the impulses were kept.")
    unique = _is_unique(_choice(problem, result, RANKS[0]))
    if unique:
        return replace(result, unique=True)
    sentence = f"{NOT_UNIQUE}. " if unique is False else ""
    scale = np.abs(problem.b).max() + np.abs(result.u).max()
    for rank in RANKS:
        choice = _choice(problem, result, rank)
        P = choice.basis @ _shortest(choice)
        u, certificate = problem._judge(P)
        same = np.abs(u - result.u).max() <= max(REDUNDANT.kept, result.residual) * scale
        shorter = np.linalg.norm(P) <= (1.0 + REDUNDANT.kept) * np.linalg.norm(result.P)
        if same and shorter and certificate <= max(2.0 * result.residual, REDUNDANT.kept):
            break
    else:
        kept = f"{result.message} {sentence}The impulses found were kept: shorter ones were not reached."
        return replace(result, unique=unique, message=kept)
    message = f"{result.message} {sentence}These are the shortest ones (residual {certificate:.1e})."
    return replace(result, P=P, u=u, residual=certificate, unique=unique, message=message)
