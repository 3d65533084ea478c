"""ADMM: every law, every size, redundant contacts and external problems, judged by a residual written anew."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse

from external import fclib, lcp
from saltus.compile.seam import interpreted
from saltus.contact import NSGS, ContactProblem, Lemke, SemismoothNewton
from saltus.contact.admm import ADMM
from saltus.errors import ModelError, SettingError
from saltus.status import Status

PATHS = [ADMM(), ADMM(max_rows=1)]  # the dense kernel, and factors of scipy for everything
NAMED = ["dense", "sparse"]


def natural_map(problem, P):
    """Return the scaled residual, written anew: nothing of the package but the data is used."""
    D, mu = problem.D(), problem.mu
    u, rho, total, at = D @ P + problem.b, 1.0 / np.mean(np.diag(D)), 0.0, 0
    for kind, mu_k in zip(problem.kinds, mu, strict=True):
        rows = slice(at, at + max(int(kind), 1))
        at = rows.stop
        x = P[rows] - rho * u[rows]
        if kind == 0:
            total += (rho * u[rows][0]) ** 2
            continue
        mu_k = mu_k if kind > 1 else 0.0
        x[0] -= rho * mu_k * np.linalg.norm(u[rows][1:])
        x_T = np.linalg.norm(x[1:])
        if x[0] < 0.0 or x_T > mu_k * x[0]:
            x_N = max((x[0] + mu_k * x_T) / (1.0 + mu_k**2), 0.0)
            x = np.array([x_N, *(mu_k * x_N * x[1:] / x_T if x_T > 0.0 else 0.0 * x[1:])])
        total += np.sum((P[rows] - x) ** 2)
    return math.sqrt(total) / (rho * np.linalg.norm(problem.b))


def bodies(seed, *, kinds=None, mass=1.0, speed=1.0, sparse=False):
    """Return 1 to 30 contacts between few bodies: b = W^T v_free has velocities, D seldom has full rank."""
    rng = np.random.default_rng(seed)
    nc = int(rng.integers(1, 31))
    if kinds is None:
        kinds = [int(k) for k in rng.integers(0, 4, nc)] if seed % 3 == 0 else [1 + seed % 3] * nc
    rows, count = [max(k, 1) for k in kinds], max(1, int(nc * rng.uniform(0.2, 1.0)))
    W, at = np.zeros((6 * count, sum(rows))), 0
    for nr in rows:
        for body in {0, *rng.integers(0, count, 2)} if count < 3 else set(rng.integers(0, count, 2)):
            W[6 * body : 6 * body + 6, at : at + nr] = rng.standard_normal((6, nr))
        at += nr
    M = mass * np.diag(np.exp(rng.uniform(-1.0, 1.0, 6 * count)))
    f = M @ rng.standard_normal(6 * count) * speed
    form = scipy.sparse.csc_array if sparse else np.asarray
    return ContactProblem.from_global(form(M), form(W), f, mu=rng.uniform(0.0, 1.5, len(kinds)), kinds=kinds)


def redundant(seed):
    """Return D, b, mu of ten contacts on twelve degrees of freedom: D has rank 12 of 30, b is off its range."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(12, 30))
    return ContactProblem(W.T @ W, rng.normal(size=30), mu=rng.uniform(0.0, 1.5, 10), dim=3)


# ---- solutions


@pytest.mark.parametrize("solver", PATHS, ids=NAMED)
@pytest.mark.parametrize("seed", range(40))
def test_random_problems_of_all_laws_are_solved(solver, seed):
    problem = bodies(seed)
    result = solver.solve(problem)
    assert result.converged, result.message
    assert result.status == Status.OK
    assert natural_map(problem, result.P) <= 2e-10


@pytest.mark.parametrize("seed", range(10))
def test_without_friction_the_impulses_are_those_of_pivoting(seed):
    problem = bodies(seed, kinds=[0, 1, 1, 0, 1, 1])
    pivoted, result = Lemke().solve(problem), ADMM(tol=1e-13).solve(problem)
    assert pivoted.converged
    assert result.converged, result.message
    assert np.allclose(result.u, pivoted.u, atol=1e-10)


@pytest.mark.parametrize("solver", PATHS, ids=NAMED)
@pytest.mark.parametrize(("mass", "speed"), [(1e-8, 1e8), (1e8, 1e-8), (1e-8, 1e-8), (1e8, 1e8)])
def test_units_change_nothing(solver, mass, speed):
    plain, scaled = solver.solve(bodies(7)), solver.solve(bodies(7, mass=mass, speed=speed))
    assert plain.converged
    assert scaled.converged
    assert scaled.P / (mass * speed) == pytest.approx(plain.P, rel=1e-7, abs=1e-8 * np.abs(plain.P).max())


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 76, 121, 248])
def test_redundant_contacts_that_sweeps_creep_on_are_solved(seed):
    problem = redundant(seed)
    result = ADMM().solve(problem)
    assert result.converged, result.message
    assert natural_map(problem, result.P) <= 1e-9


def test_both_paths_do_the_same_iterations_in_both_forms():
    problem = bodies(4, kinds=[3] * 12)
    reduced = ContactProblem(problem.D(), problem.b, mu=problem.mu, dim=3)
    sparse = ContactProblem(scipy.sparse.csr_array(problem.D()), problem.b, mu=problem.mu, dim=3)
    results = [
        solver.solve(p) for solver in PATHS for p in (problem, reduced, sparse, bodies(4, kinds=[3] * 12, sparse=True))
    ]
    for result in results:
        assert result.converged
        assert abs(result.iterations - results[0].iterations) <= 2
        assert np.allclose(result.u, results[0].u, atol=1e-8)


def test_a_warm_start_at_the_solution_needs_no_iteration_and_one_beside_it_few():
    problem = bodies(10, kinds=[3] * 15)
    cold = ADMM(tol=1e-11).solve(problem)
    assert ADMM().solve(problem, cold.P).iterations == 0
    beside = cold.P * (1.0 + 1e-6 * np.random.default_rng(0).standard_normal(cold.P.size))
    warm = ADMM(tol=1e-11).solve(problem, beside)
    assert warm.converged
    assert warm.iterations < 0.7 * cold.iterations


def test_a_thousand_contacts_in_global_form_are_solved_without_the_delassus_matrix():
    rng = np.random.default_rng(0)
    count, rows, cols = 500, [], []
    for k in range(700):
        first = int(rng.integers(0, count))
        for body in {first, min(first + 1 + int(rng.integers(0, 4)), count - 1)}:
            rows.append(np.repeat(np.arange(6 * body, 6 * body + 6), 3))
            cols.append(np.tile(np.arange(3 * k, 3 * k + 3), 6))
    rows, cols = np.concatenate(rows), np.concatenate(cols)
    W = scipy.sparse.csc_array((rng.standard_normal(rows.size), (rows, cols)), shape=(6 * count, 2100))
    M = scipy.sparse.diags_array(np.exp(rng.uniform(-2.0, 2.0, 6 * count))).tocsc()
    problem = ContactProblem.from_global(M, W, M @ rng.standard_normal(6 * count), mu=0.4, dim=3)
    result = ADMM(tol=1e-8).solve(problem)
    assert result.converged, result.message
    assert np.allclose(result.u, NSGS(tol=1e-10).solve(problem).u, atol=1e-5)


# ---- failure


@pytest.mark.parametrize("solver", PATHS, ids=NAMED)
@pytest.mark.parametrize("kinds", [["unilateral"] * 2, ["bilateral"] * 2, ["bilateral", "unilateral"]])
@pytest.mark.parametrize("start", [None, [1e20, 1e20]])
def test_walls_that_close_on_a_body_are_proven_unsolvable(solver, kinds, start):
    problem = ContactProblem.from_global(np.eye(1), [[1.0, -1.0]], [0.0], [-1.0, -1.0], kinds=kinds)
    result = solver.solve(problem, start)
    assert not result.converged
    assert result.status == Status.CONTACT_UNSOLVABLE
    assert result.residual >= 0.5


@pytest.mark.parametrize("seed", [0, 6, 25])
def test_impulses_that_grow_without_bound_are_stalled_and_the_residual_is_true(seed):
    problem = redundant(seed)
    result = ADMM(max_iterations=1000).solve(problem)
    assert not result.converged
    assert result.status == Status.CONTACT_STALLED
    assert result.residual == pytest.approx(natural_map(problem, result.P), rel=1e-6)


def test_the_best_impulses_are_returned_when_iterations_run_out():
    problem = bodies(10, kinds=[3] * 15)
    results = [ADMM(max_iterations=count).solve(problem) for count in (1, 10, 20, 40)]
    assert not any(result.converged for result in results)
    assert all(before.residual >= after.residual for before, after in itertools.pairwise(results))


def test_a_start_of_the_wrong_size_is_refused_on_both_paths():
    for solver in PATHS:
        with pytest.raises(ModelError, match="P0 has"):
            solver.solve(ContactProblem(np.eye(2), -np.ones(2)), [1.0])


def test_no_driving_velocity_needs_no_impulse():
    result = ADMM().solve(ContactProblem(np.eye(3), np.zeros(3), dim=3, mu=0.3))
    assert result.converged
    assert np.all(result.P == 0.0)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ADMM(tol=0.0), "tol = 0.0"),
        (lambda: ADMM(penalty=-1.0), "penalty = -1.0 must be positive"),
        (lambda: ADMM(relaxation=2.0), "relaxation = 2.0"),
        (lambda: ADMM(max_iterations=0), "max_iterations = 0"),
        (lambda: ADMM(max_rows=0), "max_rows = 0"),
    ],
)
def test_wrong_settings_are_named_with_their_value(build, words):
    with pytest.raises(SettingError) as caught:
        build()
    assert words in str(caught.value)


# ---- the kernel


def test_the_kernel_runs_interpreted_on_used_workspace_with_the_same_result():
    problem, solver = bodies(1, kinds=[3, 2, 1, 0]), ADMM()
    room = solver.room(problem.n, problem.mu.size, problem.kernel.nv).allocate()
    room.floats[:], room.integers[:] = np.nan, 99
    P, u, info = np.zeros(problem.n), np.zeros(problem.n), np.zeros(2)
    laws = interpreted(problem.local), interpreted(problem.cone)
    kernel = interpreted(solver.kernel)
    assert kernel(problem.kernel, *laws, solver.settings(), P, u, info, room) == 0
    assert np.allclose(P, solver.solve(problem).P, rtol=0.0, atol=1e-9 * np.abs(P).max())


# ---- external problems


@pytest.mark.parametrize(
    "name",
    [
        *("LMGC_GFC3D-i00001-1-00000", "LMGC_GFC3D-i00501-4-00000", "Box_Stacks-i0122-82-5", "BoxesStack-48"),
        *("LMGC_100_PR_PerioBox-i00361-60-03000", "Capsules-i125-1213"),
    ],
)
def test_external_problems_are_solved_in_a_few_hundred_iterations(name):
    problem = fclib(name)
    result = ADMM().solve(problem)
    assert result.converged, result.message
    assert result.iterations <= 1000
    assert natural_map(problem, result.P) <= 1e-9


@pytest.mark.parametrize("name", ["CPS_2", "CPS_5", "deudeu", "trivial", "enum_fails", "mmc", "exp_murty2", "tobenna"])
def test_complementarity_problems_end_in_bounded_time_without_false_success(name):
    problem = lcp(name)
    result = ADMM().solve(problem)
    assert result.converged == (name != "tobenna")
    if result.converged:
        z, w = result.P, problem.D() @ result.P + problem.b
        assert np.all(z >= 0.0)
        assert np.linalg.norm(np.minimum(z, w)) <= 1e-6 * (1.0 + np.linalg.norm(z))


def test_no_unsolvable_problem_is_called_solved():
    for solver in PATHS:
        assert not solver.solve(lcp("Pang_isolated_sol_perturbed")).converged


def test_it_agrees_with_newton_where_the_solution_is_unique():
    rng = np.random.default_rng(3)
    W, f = rng.standard_normal((30, 24)), rng.standard_normal(30)
    problem = ContactProblem.from_global(np.eye(30), W, f, mu=0.3, dim=3)
    assert np.allclose(ADMM(tol=1e-12).solve(problem).P, SemismoothNewton().solve(problem).P, atol=1e-9)
