"""Diagnosis: why a contact problem has no solution, proven by linear programming, and which contacts are to blame.

A proof is a combination of the conditions that reads 0 >= c with c > 0 (Farkas 1902). It is found by an elastic
program, which allows all velocities the same violation s and makes s small, and checked afterwards: a combination that
rounding leaves inexact counts only if no impulse up to DIAGNOSED.huge times the size of the problem could repair it.
Conditions
in turn, each harder than the one before:

    bilateral rows alone, u = 0                                  contradictory joints
    u_N >= 0 at the contacts too, by any velocity                closing walls
    impulses inside of their cones                               jammed
    one case of the law per contact (open, stick, slip)          jammed

The last one branches over the cases of one contact after the other. Friction in space is taken by an outer cone with
flat sides, which can only add solutions: where it has none there are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from saltus.compile.seam import interpreted
from saltus.contact.lemke import Lemke
from saltus.contact.portfolio import Portfolio
from saltus.contact.problem import ContactProblem
from saltus.errors import SettingError
from saltus.laws import BILATERAL, COULOMB_PLANAR, COULOMB_SPATIAL, UNILATERAL, sliding

Verdict = Literal["solvable", "contradictory joints", "closing walls", "jammed", "unknown"]


class _Diagnosed(NamedTuple):
    """Tuned numbers of this file."""

    huge: float = 1e8  # impulses, relative to the size of the problem, up to which a proof must exclude solutions
    violation: float = 1e-7  # of the velocities: a smaller one may be the rounding errors of the program
    named: float = 1e-6  # weight in a proof, relative to the largest, from which a row is part of it
    sides: int = 16  # flat sides of the outer friction cone in space
    most_programs: int = 400  # linear programs before branching gives up
    most_filtered: int = 60  # blocks up to which a proof is reduced until none can be left out
    leading: float = 0.1  # part of the largest error of a block from which another one is named beside it


DIAGNOSED = _Diagnosed()


@dataclass(frozen=True)
class Diagnosis:
    """What is known about a contact problem.

    Attributes
    ----------
    verdict : solvable (a P with a residual below the tolerance was found), contradictory joints (no velocity keeps the
        bilateral rows), closing walls (none keeps u_N >= 0 as well), jammed (such velocities exist, but no impulse
        inside of the cones that obeys the laws), unknown (neither found nor excluded)
    contacts : names of the blocks in the proof; none of them can be left out where `irreducible`. For unknown: the
        blocks with the largest errors
    certificate : for solvable P [N s]; for contradictory joints, closing walls and, where one combination is enough,
        jammed the weights of the rows: nonnegative at contacts, and every combination of velocities that impulses can
        make is below zero. Empty if branching was needed, and for unknown
    message : what is wrong and what to do about it
    irreducible : whether the laws of the named blocks exclude a solution, but not those of fewer
    """

    verdict: Verdict
    contacts: tuple[str, ...]
    certificate: np.ndarray = field(repr=False)
    message: str
    irreducible: bool = False

    @property
    def proven(self) -> bool:
        """Whether it is proven that there is no solution."""
        return self.verdict in ("contradictory joints", "closing walls", "jammed")

    def __str__(self) -> str:
        return self.message


def diagnose(problem: ContactProblem, P=None, *, tol: float = 1e-9, search: bool = True) -> Diagnosis:
    """Say whether a contact problem has a solution, or prove that it has none and name the contacts.

    Parameters
    ----------
    problem : the contact problem
    P : a guess, or with what a solver ended [N s]
    tol : scaled residual that confirms a solution [-]
    search : whether solvers look for a solution first; without, only P and the cases of the laws are tried
    """
    if not 0.0 < tol < 1.0:
        raise SettingError(f"diagnose: tol = {tol} must lie between 0 and 1; it is a relative residual")
    P, error = _solution(problem, P, tol, search)
    if error <= tol:
        message = f"The contact problem is solvable: impulses with a residual of {error:.1e} were found."
        return Diagnosis("solvable", (), P, message)
    if np.any(problem.kinds > COULOMB_SPATIAL):  # the proofs below know no other laws
        return _unknown(problem, P)
    scaled = _scaled(problem)
    everything = tuple(range(len(problem.names)))
    proofs: tuple[tuple[Verdict, Callable], ...] = (
        ("contradictory joints", _joints),
        ("closing walls", _walls),
        ("jammed", _jam),
    )
    for verdict, proof in proofs:
        found = proof(scaled, everything)
        if found is not None:
            return _proven(problem, scaled, verdict, proof, found)
    if np.any(scaled.kinds != BILATERAL):
        fits, fitting = _branch(scaled, everything)
        if fits is False:
            blocks, irreducible = _filtered(lambda some: _branch(scaled, some)[0] is False, everything, everything)
            return _named("jammed", problem, blocks, np.zeros(0), irreducible)
        if fitting is not None and (error := problem.residual(fitting * scaled.unit)) <= tol:
            message = f"The contact problem is solvable: branching found impulses with a residual of {error:.1e}."
            return Diagnosis("solvable", (), fitting * scaled.unit, message)
    return _unknown(problem, P)


# ---- solutions


def _solution(problem: ContactProblem, P, tol: float, search: bool) -> tuple[np.ndarray, float]:
    """Return the best impulses at hand and their residual: those given, else what a solver finds."""
    best, error = np.zeros(problem.n), problem.residual(np.zeros(problem.n))
    if P is not None:
        P = np.asarray(P, dtype=np.float64)
        P = np.where(np.isfinite(P), P, 0.0)
        best, error = (P, problem.residual(P)) if problem.residual(P) <= error else (best, error)
    if error <= tol or not search:
        return best, error
    plain = all(kind in (BILATERAL, UNILATERAL) for kind in problem.kinds)
    for solver in (*((Lemke(),) if plain else ()), Portfolio(tol=min(1e-12, tol), max_sweeps=5000)):
        result = solver.solve(problem)
        if result.residual < error:
            best, error = result.P, result.residual
        if error <= tol:
            break
    return best, error


def errors(problem: ContactProblem, P) -> np.ndarray:
    """Return the part of each block in the natural-map residual of P, scaled as the residual itself."""
    u, P = problem.u(P) * problem.units, np.asarray(P, dtype=np.float64) / problem.units
    cone, rows, diagonal = interpreted(problem.cone), _rows(problem), np.diag(problem.D()) * problem.units**2
    rho = problem.n / diagonal.sum() if diagonal.sum() > 0.0 else 1.0
    size = rho * float(np.linalg.norm(problem.kernel.b)) or 1.0
    made, speed = np.zeros(len(rows)), interpreted(sliding)
    for k, mine in enumerate(rows):
        step, kind = rho * u[mine], int(problem.kernel.blocks[3 * k])
        step[0] += rho * problem.mu[k] * speed(kind, 0, len(mine), u[mine])
        moved = P[mine] - step
        cone(kind, float(problem.mu[k]), moved)
        made[k] = np.linalg.norm(P[mine] - moved) / size
    return made


# ---- the problem free of units


class _Scaled(NamedTuple):
    """D with a diagonal of about 1, b of at most 1, the laws, the rows of each block, the unit of impulses [N s]."""

    D: np.ndarray
    b: np.ndarray
    kinds: np.ndarray
    mu: np.ndarray
    rows: list[np.ndarray]
    unit: np.ndarray


def _rows(problem: ContactProblem) -> list[np.ndarray]:
    blocks = problem.kernel.blocks.reshape(-1, 3)
    return [np.arange(first, first + count) for _, first, count in blocks]


def _scaled(problem: ContactProblem) -> _Scaled:
    """Scale impulses and velocities block by block, so that friction cones keep their shape."""
    D, rows = problem.D(), _rows(problem)
    largest = float(np.abs(D).max(initial=0.0)) or 1.0
    part = np.empty(problem.n)
    for mine in rows:
        size = float(np.trace(D[np.ix_(mine, mine)])) / len(mine)
        part[mine] = 1.0 / math.sqrt(size if size > 1e-12 * largest else largest)
    D = part[:, None] * D * part
    b = part * problem.b
    size = float(np.abs(b).max(initial=0.0)) or 1.0
    return _Scaled(D, b / size, problem.kinds, problem.mu, rows, part * size)


# ---- linear programs


class _Conditions(NamedTuple):
    """Conditions on P, one per row: A P + c = 0 (equal) or >= 0; `soft` ones may be violated by s, the others not."""

    A: np.ndarray
    c: np.ndarray
    equal: np.ndarray
    soft: np.ndarray
    row: np.ndarray  # the row of the problem that a condition on velocities belongs to, -1 for those on impulses


def _violation(conditions: _Conditions) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the smallest violation s, weights that prove it (empty if they do not) and the P it needs."""
    from scipy.optimize import linprog

    A, c, equal, soft, _ = conditions
    n = A.shape[1]
    s = soft.astype(float)[:, None]
    # equations as two inequalities where they may be violated, as such where they may not
    above = ~equal | soft
    below = equal & soft
    hard = equal & ~soft
    inequalities = np.vstack([np.hstack([-A[above], -s[above]]), np.hstack([A[below], -s[below]])])
    bounds = [(None, None)] * n + [(0.0, None)]
    made = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=inequalities,
        b_ub=np.concatenate([c[above], -c[below]]),
        A_eq=np.hstack([A[hard], s[hard]]) if hard.any() else None,
        b_eq=-c[hard] if hard.any() else None,
        bounds=bounds,
        method="highs",
    )
    if made.status != 0:
        return 0.0, np.zeros(0), np.zeros(n)
    weights = np.zeros(len(c))
    weights[above] -= made.ineqlin.marginals[: above.sum()]
    weights[below] += made.ineqlin.marginals[above.sum() :]
    if hard.any():
        weights[hard] += made.eqlin.marginals
    weights[~equal] = np.maximum(weights[~equal], 0.0)
    return float(made.x[-1]), weights if _proves(conditions, weights) else np.zeros(0), made.x[:-1]


def _proves(conditions: _Conditions, weights: np.ndarray) -> bool:
    """Whether weights . (A P + c) >= 0 is false for every P up to DIAGNOSED.huge."""
    left = float(np.abs(weights @ conditions.A).sum())
    return float(-weights @ conditions.c) > DIAGNOSED.huge * left + DIAGNOSED.violation * float(
        np.abs(weights).max(initial=0.0)
    )


def _infeasible(conditions: _Conditions) -> tuple[bool, np.ndarray, np.ndarray]:
    """Return whether the conditions exclude each other, the weights that prove it, and else a P that fits."""
    if not len(conditions.c):
        return False, np.zeros(0), np.zeros(conditions.A.shape[1])
    violation, weights, P = _violation(conditions)
    return violation > DIAGNOSED.violation and weights.size > 0, weights, P


def _stacked(parts: Sequence[_Conditions], n: int) -> _Conditions:
    if not parts:
        return _Conditions(np.zeros((0, n)), *(np.zeros(0, dtype=kind) for kind in (float, bool, bool, int)))
    return _Conditions(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _velocity(scaled: _Scaled, rows: Sequence[int] | np.ndarray, equal: bool, sign: float = 1.0) -> _Conditions:
    """Return sign u = 0 or >= 0 in some rows; the impulses of all rows move them."""
    rows = np.asarray(rows, dtype=int)
    yes = np.ones(rows.size, dtype=bool)
    return _Conditions(sign * scaled.D[rows], sign * scaled.b[rows], yes if equal else ~yes, yes, rows)


def _impulse(scaled: _Scaled, combinations: list[tuple[np.ndarray, np.ndarray]], equal: bool) -> _Conditions:
    """Return combinations of impulses, as pairs of rows and factors, that are = 0 or >= 0."""
    A = np.zeros((len(combinations), scaled.b.size))
    for k, (rows, factors) in enumerate(combinations):
        A[k, rows] = factors
    no = np.zeros(len(combinations), dtype=bool)
    return _Conditions(A, np.zeros(len(combinations)), ~no if equal else no, no, np.full(len(combinations), -1))


def _normal(scaled: _Scaled, block: int) -> int:
    return int(scaled.rows[block][0])


def _columns(scaled: _Scaled, blocks: Sequence[int]) -> np.ndarray:
    return np.concatenate([scaled.rows[k] for k in blocks]) if len(blocks) else np.zeros(0, dtype=int)


def _cone(scaled: _Scaled, block: int) -> _Conditions:
    """Return the cone of a block: exact in the plane, from outside in space; none for bilateral rows."""
    kind, rows, mu = scaled.kinds[block], scaled.rows[block], float(scaled.mu[block])
    if kind == BILATERAL:
        return _impulse(scaled, [], False)
    sides = [(rows[:1], np.ones(1))]
    if kind == COULOMB_PLANAR:
        sides += [(rows, np.array([mu, 1.0])), (rows, np.array([mu, -1.0]))]
    elif kind == COULOMB_SPATIAL:
        angles = 2.0 * np.pi * np.arange(DIAGNOSED.sides) / DIAGNOSED.sides
        sides += [(rows, np.array([mu, math.cos(angle), math.sin(angle)])) for angle in angles]
    return _impulse(scaled, sides, False)


# ---- the conditions, from weak to strong: a proof gives the weights of the rows, None if there is none


def _joints(scaled: _Scaled, blocks: Sequence[int]) -> np.ndarray | None:
    """Prove that no impulses at all make the bilateral rows vanish: the part of b that D cannot reach."""
    rows = _columns(scaled, [k for k in blocks if scaled.kinds[k] == BILATERAL])
    if not rows.size:
        return None
    basis, values, _ = np.linalg.svd(scaled.D[rows])  # by all impulses: contacts may help
    rank = int(np.sum(values > 1e-10 * max(values.max(initial=0.0), 1.0)))
    missing = basis[:, rank:]
    left = missing @ (missing.T @ scaled.b[rows])
    largest = float(np.abs(left).max(initial=0.0))
    if largest <= DIAGNOSED.violation:
        return None
    weights = np.zeros(scaled.b.size)
    weights[rows] = -left / largest
    return weights if _proves(_velocity(scaled, rows, True), weights[rows]) else None


def _walls(scaled: _Scaled, blocks: Sequence[int]) -> np.ndarray | None:
    """Prove that no velocity keeps u_N >= 0 and the bilateral rows; impulses of all blocks and any sign move."""
    joints = _columns(scaled, [k for k in blocks if scaled.kinds[k] == BILATERAL])
    normals = [_normal(scaled, k) for k in blocks if scaled.kinds[k] != BILATERAL]
    parts = [_velocity(scaled, joints, True), _velocity(scaled, normals, False)]
    return _weights(scaled, _stacked(parts, scaled.b.size))


def _jam(scaled: _Scaled, blocks: Sequence[int]) -> np.ndarray | None:
    """Prove that no impulses inside of their cones keep u_N >= 0 and the bilateral rows; those of all blocks move."""
    joints = _columns(scaled, [k for k in blocks if scaled.kinds[k] == BILATERAL])
    normals = [_normal(scaled, k) for k in blocks if scaled.kinds[k] != BILATERAL]
    parts = [_velocity(scaled, joints, True), _velocity(scaled, normals, False)]
    parts += [_cone(scaled, k) for k in range(len(scaled.rows))]
    return _weights(scaled, _stacked(parts, scaled.b.size))


def _weights(scaled: _Scaled, conditions: _Conditions) -> np.ndarray | None:
    excluded, found, _ = _infeasible(conditions)
    if not excluded:
        return None
    weights = np.zeros(scaled.b.size)
    mine = conditions.row >= 0
    weights[conditions.row[mine]] = found[mine]
    return weights


def _cases(scaled: _Scaled, block: int) -> list[_Conditions]:
    """Return the cases of the law of a block, each linear: closed or open, in the plane stick, slip or open."""
    n, rows, mu, kind = scaled.b.size, scaled.rows[block], float(scaled.mu[block]), scaled.kinds[block]
    each = [(rows[r : r + 1], np.ones(1)) for r in range(len(rows))]
    away = _stacked([_velocity(scaled, rows[:1], False), _impulse(scaled, each, True)], n)
    closed = _velocity(scaled, rows[:1], True)
    if kind != COULOMB_PLANAR:
        return [_stacked([closed, _cone(scaled, block)], n), away]
    cases = [_stacked([closed, _velocity(scaled, rows[1:], True), _cone(scaled, block)], n)]
    for sign in (1.0, -1.0):
        edge = [_impulse(scaled, [(rows, np.array([mu * sign, 1.0]))], True), _impulse(scaled, each[:1], False)]
        cases.append(_stacked([closed, _velocity(scaled, rows[1:], False, sign), *edge], n))
    return [*cases, away]


def _branch(scaled: _Scaled, blocks: Sequence[int]) -> tuple[bool | None, np.ndarray | None]:
    """Return False if every case of the laws of these blocks is excluded, True and P if one fits, None if not known.

    Of the other blocks only the cones count.
    """
    n = scaled.b.size
    todo = [k for k in blocks if scaled.kinds[k] != BILATERAL]
    joints = _columns(scaled, [k for k in blocks if scaled.kinds[k] == BILATERAL])
    fixed = [_velocity(scaled, joints, True)]
    fixed += [_cone(scaled, k) for k in range(len(scaled.rows)) if k not in todo]
    relaxed = {k: _stacked([_velocity(scaled, scaled.rows[k][:1], False), _cone(scaled, k)], n) for k in todo}
    cases = {k: _cases(scaled, k) for k in todo}
    stack: list[tuple[int, ...]] = [()]
    programs, sure = 0, not any(scaled.kinds[k] == COULOMB_SPATIAL for k in todo)
    while stack:
        chosen = stack.pop()
        parts = [cases[k][which] for k, which in zip(todo, chosen, strict=False)]
        parts += [relaxed[k] for k in todo[len(chosen) :]]
        programs += 1
        if programs > DIAGNOSED.most_programs:
            return None, None
        excluded, _, P = _infeasible(_stacked([*fixed, *parts], n))
        if excluded:
            continue
        if len(chosen) == len(todo):
            return (True, P) if sure else (None, None)
        stack += [(*chosen, which) for which in reversed(range(len(cases[todo[len(chosen)]])))]
    return False, None


# ---- names


def _filtered(excluded, blocks: Sequence[int], start: Sequence[int]) -> tuple[tuple[int, ...], bool]:
    """Leave out conditions of blocks one by one as long as the rest still excludes a solution.

    Impulses of blocks without conditions still move, so that what excludes a solution does so for the whole problem.
    """
    kept = tuple(start) if excluded(tuple(start)) else tuple(blocks)
    if len(kept) > DIAGNOSED.most_filtered:
        return kept, False
    for k in kept:
        rest = tuple(other for other in kept if other != k)
        if rest and excluded(rest):
            kept = rest
    return kept, True


def _proven(problem: ContactProblem, scaled: _Scaled, verdict: Verdict, proof, weights: np.ndarray) -> Diagnosis:
    everything = tuple(range(len(problem.names)))
    heavy = np.abs(weights) > DIAGNOSED.named * np.abs(weights).max()
    start = tuple(k for k in everything if heavy[scaled.rows[k]].any())
    blocks, irreducible = _filtered(lambda some: proof(scaled, some) is not None, everything, start)
    weights = proof(scaled, blocks)
    # back to the units of the problem: velocities were multiplied by the same numbers as impulses were divided by
    return _named(verdict, problem, blocks, weights * scaled.unit / np.abs(scaled.unit).max(), irreducible)


def _named(
    verdict: Verdict, problem: ContactProblem, blocks: Sequence[int], certificate: np.ndarray, irreducible: bool
) -> Diagnosis:
    names = tuple(dict.fromkeys(problem.names[k] for k in blocks))
    listed = _listed(names)
    if verdict == "contradictory joints":
        message = (
            f"{listed} contradict each other: no velocity satisfies all of them. Remove one of them, or let the "
            "motions that they prescribe agree."
        )
    elif verdict == "closing walls":
        message = (
            f"{listed} close on each other: every velocity lets one of them penetrate. Stop what moves them before "
            "they meet, or let one give way as a spring."
        )
    else:
        friction = bool(np.any(problem.kinds[list(blocks)] > UNILATERAL))
        one = "jams" if len(names) == 1 else "jam"
        cure = "Take less friction, or replace the contact by a spring" if friction else "Replace a contact by a spring"
        message = (
            f"{listed} {one}: there are velocities without penetration, but no impulses that obey the laws and reach "
            f"one (Painleve). {cure}."
        )
    return Diagnosis(verdict, names, certificate, message, irreducible)


def _unknown(problem: ContactProblem, P: np.ndarray) -> Diagnosis:
    made = errors(problem, P) if problem.n else np.zeros(0)
    order = np.argsort(-made, kind="stable")
    worst = [int(k) for k in order if made[k] > DIAGNOSED.leading * made.max(initial=0.0)]
    names = tuple(dict.fromkeys(problem.names[k] for k in worst))
    error = float(np.linalg.norm(made))
    message = (
        f"No solution was found and none excluded; the best impulses leave a residual of {error:.1e}, most of it at "
        f"{_listed(names)}. Take a smaller h, a solver with more iterations, or a larger tol."
    )
    return Diagnosis("unknown", names, np.zeros(0), message)


def _listed(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    if len(quoted) > 8:
        quoted = [*quoted[:7], f"{len(quoted) - 7} others"]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}" if quoted else "no contact"
