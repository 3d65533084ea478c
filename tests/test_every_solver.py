"""Invariants that every contact solver keeps: order of contacts, units, axes, warm starts, copies of contacts."""

from __future__ import annotations

import numpy as np
import pytest

from saltus.contact import (
    ADMM,
    NSGS,
    ColouredNSGS,
    ContactProblem,
    Direct,
    Homotopy,
    Lemke,
    Portfolio,
    SemismoothNewton,
)
from saltus.laws import LAW_NAMES, LAWS, ROWS_OF
from saltus.status import Status

SOLVERS = [
    NSGS(),
    ColouredNSGS(tol=1e-12, threads=2),
    SemismoothNewton(),
    Homotopy(),
    ADMM(tol=1e-12),
    Portfolio(),
    Lemke(tol=1e-12),
    Direct(),
]
KINDS = {
    "unilateral": [1] * 6,
    "joints": [0, 1, 1, 0, 1, 1],
    "planar": [2] * 5,
    "spatial": [3] * 4,
    "mixed": [3, 0, 2, 1, 3, 1],
    "elliptic": [4] * 4,
    "rolling": [5] * 4,
    "rolling in space": [6] * 3,
    "all laws": [6, 0, 4, 1, 5, 3, 2],
    "one planar": [2],
    "one spatial": [3],
    "one elliptic": [4],
    "one rolling": [5],
    "one rolling in space": [6],
}
EXACT = 1e-11  # scaled residual of what counts as solved


def capable(solver, kinds):
    """Whether the solver takes this many contacts of these laws."""
    return len(kinds) <= getattr(solver, "most_contacts", len(kinds)) and all(solver.supports(kind) for kind in kinds)


CASES = [
    pytest.param(solver, kinds, id=f"{solver.name}, {name}")
    for solver in SOLVERS
    for name, kinds in KINDS.items()
    if capable(solver, kinds)
]


def drawn(kinds, seed=3):
    """Return M, W, f, mu of a problem with one solution: more degrees of freedom than rows, little friction."""
    rng = np.random.default_rng(seed)
    n = sum(ROWS_OF[kind] for kind in kinds)
    root = rng.standard_normal((2 * n, 2 * n))
    M = root @ root.T / (2 * n) + np.eye(2 * n)
    W = rng.standard_normal((2 * n, n))
    first = np.cumsum([0, *(ROWS_OF[kind] for kind in kinds)])[:-1]
    v_free = rng.standard_normal(2 * n)
    W[:, first] *= -np.sign(W[:, first].T @ v_free)  # all contacts are hit
    return M, W, M @ v_free, rng.uniform(0.1, 0.3, len(kinds))


def built(data, kinds):
    """Return the problem; laws with a second friction number have half of the first."""
    M, W, f, mu = data
    if any(len(LAWS[kind].NUMBERS) > 1 for kind in kinds):
        mu = [(m, 0.5 * m)[: max(len(LAWS[kind].NUMBERS), 1)] for kind, m in zip(kinds, mu, strict=True)]
    return ContactProblem.from_global(M, W, f, mu=mu, kinds=kinds)


def solved(solver, problem, P0=None):
    result = solver.solve(problem, P0)
    assert result.converged, result.message
    assert result.status == Status.OK
    assert result.residual <= EXACT
    assert result.residual == pytest.approx(problem.residual(result.P))
    assert np.allclose(result.u, problem.D() @ result.P + problem.b, rtol=0.0, atol=1e-10 * np.abs(problem.b).max())
    return result


def same(a, b):
    return np.allclose(a, b, rtol=0.0, atol=1e-8 * max(np.abs(a).max(), np.abs(b).max()))


def rows_of(kinds, order):
    """Return the rows of the blocks in a new order."""
    first = np.cumsum([0, *(ROWS_OF[kind] for kind in kinds)])
    return np.concatenate([np.arange(first[k], first[k + 1]) for k in order])


@pytest.mark.parametrize(("solver", "kinds"), CASES)
def test_the_order_of_contacts_does_not_matter(solver, kinds):
    M, W, f, mu = data = drawn(kinds)
    order = np.random.default_rng(0).permutation(len(kinds))
    rows = rows_of(kinds, order)
    once = solved(solver, built(data, kinds))
    again = solved(solver, built((M, W[:, rows], f, mu[order]), [kinds[k] for k in order]))
    assert same(again.P, once.P[rows])
    assert same(again.u, once.u[rows])


@pytest.mark.parametrize(("solver", "kinds"), CASES)
@pytest.mark.parametrize(("mass", "speed"), [(1e-8, 1e8), (1e8, 1e-8), (1e-8, 1e-8), (1e8, 1e8)])
def test_units_of_mass_and_velocity_do_not_matter(solver, kinds, mass, speed):
    M, W, f, mu = data = drawn(kinds)
    once = solved(solver, built(data, kinds))
    scaled = solved(solver, built((mass * M, W, mass * speed * f, mu), kinds))
    assert same(scaled.P / (mass * speed), once.P)
    assert same(scaled.u / speed, once.u)


@pytest.mark.parametrize(("solver", "kinds"), [case for case in CASES if 2 in case.values[1] or 3 in case.values[1]])
def test_the_axes_of_the_tangential_plane_do_not_matter(solver, kinds):
    M, W, f, mu = data = drawn(kinds)
    turn, first = np.eye(W.shape[1]), 0
    for k, kind in enumerate(kinds):
        if LAW_NAMES[kind] == "coulomb_planar":
            turn[first + 1, first + 1] = -1.0
        elif LAW_NAMES[kind] == "coulomb_spatial":
            c, s = np.cos(1.0 + k), np.sin(1.0 + k)
            turn[first + 1 : first + 3, first + 1 : first + 3] = [[c, -s], [s, c]]
        first += ROWS_OF[kind]
    once, turned = solved(solver, built(data, kinds)), solved(solver, built((M, W @ turn, f, mu), kinds))
    assert same(turn @ turned.P, once.P)
    assert same(turn @ turned.u, once.u)


@pytest.mark.parametrize(("solver", "kinds"), CASES)
def test_a_start_at_the_solution_stays_there(solver, kinds):
    problem = built(drawn(kinds), kinds)
    once = solved(solver, problem)
    again = solved(solver, problem, once.P)
    assert same(again.P, once.P)
    assert again.residual <= max(once.residual, 1e-12)


@pytest.mark.parametrize(("solver", "kinds"), [case for case in CASES if "Direct" not in case.id])
def test_a_copy_of_a_contact_changes_no_velocity(solver, kinds):
    M, W, f, mu = data = drawn(kinds)
    rows = rows_of(kinds, [*range(len(kinds)), 0, len(kinds) - 1])
    doubled = built((M, W[:, rows], f, mu[[*range(len(kinds)), 0, -1]]), [*kinds, kinds[0], kinds[-1]])
    once, twice = solved(solver, built(data, kinds)), solved(solver, doubled)
    assert same(twice.u, once.u[rows])
    assert same(W[:, rows] @ twice.P, W @ once.P)


@pytest.mark.parametrize(("solver", "kinds"), [case for case in CASES if 0 not in case.values[1]])
def test_contacts_that_open_without_help_get_no_impulse(solver, kinds):
    M, W, f, mu = drawn(kinds)
    result = solved(solver, built((M, W, -f, mu), kinds))
    assert np.abs(result.P).max() <= 1e-13 * np.abs(f).max()


@pytest.mark.parametrize("solver", [s for s in SOLVERS if capable(s, [1, 1])], ids=lambda s: s.name)
def test_walls_that_close_on_a_body_are_no_success(solver):
    problem = ContactProblem.from_global(np.eye(1), [[1.0, -1.0]], [0.0], [-1.0, -1.0])
    result = solver.solve(problem)
    assert not result.converged
    assert result.status in (Status.CONTACT_STALLED, Status.CONTACT_UNSOLVABLE)
    assert result.residual == pytest.approx(problem.residual(result.P))
    assert result.residual >= 0.5
