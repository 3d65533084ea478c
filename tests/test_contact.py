"""Contact solvers, judged by the residual that no solver computes for itself."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

from external import lcp
from saltus.compile import unit
from saltus.compile.seam import interpreted, ready
from saltus.compile.workspace import Room
from saltus.contact import ADMM, NSGS, ContactProblem, ContactResult, Homotopy, Lemke, Portfolio, SemismoothNewton
from saltus.contact.lemke import nearest_basis
from saltus.contact.problem import run
from saltus.contact.residual import JUDGING, residual
from saltus.errors import ModelError, SettingError
from saltus.laws import frictional_cone, frictional_local, frictionless_cone
from saltus.status import Status

EXACT = 1e-12  # scaled residual of a problem solved to rounding

# complementarity problems that have solutions and that pivoting or enumeration must find
SOLVABLE = [
    *("CPS_1", "CPS_2", "CPS_3", "CPS_4", "CPS_4bis", "CPS_5", "Pang_isolated_sol", "deudeu", "enum_fails"),
    *("exp_murty", "exp_murty2", "inf_sol_perturbed", "mmc", "ortiz", "trivial"),
]


def bodies(seed, *, contacts, count, dim, ndof=6):
    """Return M, W, f of random contacts between random pairs of bodies (or a body and the world)."""
    rng = np.random.default_rng(seed)
    nv = ndof * count
    root = rng.standard_normal((count, ndof, ndof))
    M = scipy.linalg.block_diag(*[r @ r.T + ndof * np.eye(ndof) for r in root])
    W = np.zeros((nv, dim * contacts))
    for k in range(contacts):
        pair = rng.choice(count + 1, 2, replace=False)
        for body in pair[pair < count]:
            W[ndof * body : ndof * (body + 1), dim * k : dim * (k + 1)] = rng.standard_normal((ndof, dim))
    return M, W, rng.standard_normal(nv)


def box_on_floor(*, points, speed=-1.0):
    """Return a rigid box (6 dof) that falls flat on a floor with its corners, and some of them twice."""
    corners = np.array([[x, y] for x in (-0.5, 0.5) for y in (-0.3, 0.3)])
    corners = np.vstack([corners] * (points // 4))
    M = np.diag([2.0, 2.0, 2.0, 0.1, 0.2, 0.3])
    W = np.zeros((6, points))
    W[2] = 1.0
    W[3], W[4] = corners[:, 1], -corners[:, 0]
    v_free = np.array([0.3, 0.0, speed, 0.4, -0.2, 0.1])
    return M, W, M @ v_free


def velocity(problem_data, P):
    M, W, f = problem_data
    return np.linalg.solve(M, W @ P + f)


# ---- the problem


def test_reduced_and_global_form_are_the_same_problem():
    M, W, f = bodies(0, contacts=5, count=3, dim=3)
    w, mu = np.linspace(-1.0, 1.0, 15), np.linspace(0.0, 1.0, 5)
    rows = ContactProblem.from_global(scipy.sparse.csr_array(M), scipy.sparse.csr_array(W), f, w, mu=mu, dim=3)
    D, b = W.T @ np.linalg.solve(M, W), W.T @ np.linalg.solve(M, f) + w
    dense, sparse = (
        ContactProblem(D, b, mu=mu, dim=3),
        ContactProblem(scipy.sparse.coo_array(D), b, mu=mu, dim=3),
    )
    P = np.random.default_rng(0).standard_normal(15)
    assert np.allclose(rows.D(), D, rtol=1e-12, atol=1e-12)
    for problem in (rows, dense, sparse):
        assert np.allclose(problem.u(P), D @ P + b, rtol=1e-12, atol=1e-12)
        assert problem.residual(P) == pytest.approx(dense.residual(P), rel=1e-12)


def test_residual_is_the_natural_map_free_of_units():
    D, b, mu = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([-1.0, 0.4]), 0.5
    P = np.array([0.4, 0.1])
    u, rho = D @ P + b, 1.0 / 1.5
    argument = P - rho * (u + np.array([mu * abs(u[1]), 0.0]))
    across = (argument[0] + mu * abs(argument[1])) / (1.0 + mu**2)
    assert abs(argument[1]) > mu * argument[0] > 0.0  # the point was chosen outside the cone
    projected = across * np.array([1.0, mu * np.sign(argument[1])])
    expected = np.linalg.norm(P - projected) / (rho * np.linalg.norm(b))
    assert ContactProblem(D, b, mu=mu, dim=2).residual(P) == pytest.approx(expected, rel=1e-14)
    # other units of mass and velocity: D in 1/g, b in mm/s
    scaled = ContactProblem(1e-3 * D, 1e3 * b, mu=mu, dim=2)
    assert scaled.residual(1e6 * P) == pytest.approx(expected, rel=1e-13)


def test_residual_without_driving_velocity_is_not_divided():
    problem = ContactProblem(np.eye(2), np.zeros(2))
    assert problem.residual(np.zeros(2)) == 0.0
    assert problem.residual([1.0, 0.0]) == pytest.approx(1.0)


def test_residual_kernel_runs_interpreted_with_the_same_result():
    M, W, f = bodies(2, contacts=4, count=2, dim=3)
    problem = ContactProblem.from_global(M, W, f, mu=0.4, dim=3)
    P, u = np.random.default_rng(1).standard_normal(12), np.zeros(12)
    room = JUDGING.plan({"nv": problem.kernel.nv}).allocate()
    plain = interpreted(residual)(problem.kernel, interpreted(frictional_cone), P, u, room)
    assert plain == pytest.approx(problem.residual(P), rel=1e-13)
    assert np.allclose(u, problem.u(P), rtol=1e-13, atol=1e-13)


def test_frictionless_and_frictional_bundle_judge_alike():
    M, W, f = bodies(3, contacts=6, count=3, dim=1)
    problem = ContactProblem.from_global(M, W, f)
    P, u = np.random.default_rng(4).standard_normal(6), np.zeros(6)
    room = JUDGING.plan({"nv": problem.kernel.nv}).allocate()
    judge = ready(residual)
    small = judge(problem.pinned, ready(frictionless_cone), P, u, room)
    large = judge(problem.pinned, ready(frictional_cone), P, u, room)
    assert small == large


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])  # noqa: S301
def test_a_copy_of_a_problem_is_solved_from_its_own_memory(copied):
    M, W, f = bodies(3, contacts=6, count=3, dim=3)
    problem = ContactProblem.from_global(M, W, f, mu=0.4, dim=3)
    expected = NSGS().solve(problem)
    made = copied(problem)
    assert made.pinned.address != problem.pinned.address
    del problem
    gc.collect()
    disturbed = [np.full(18, 7.0) for _ in range(1000)]  # in memory that was given back
    assert np.array_equal(NSGS().solve(made).P, expected.P)
    assert made.residual(expected.P) == expected.residual
    del disturbed


def test_solving_a_problem_again_asks_for_no_address_of_it_again(monkeypatch):
    problem = ContactProblem(np.eye(3), [-1.0, 0.1, 0.2], mu=0.3, dim=3)
    NSGS().solve(problem)
    own = {id(array) for array in problem.kernel[1:]}
    asked = []
    place = unit._place
    monkeypatch.setattr(unit, "_place", lambda kind, value: asked.append(id(value)) or place(kind, value))
    assert NSGS().solve(problem).converged
    assert asked and not own & set(asked)


def test_the_small_bundle_is_taken_without_friction():
    assert ContactProblem(np.eye(2), [1.0, 1.0]).cone is frictionless_cone
    assert ContactProblem(np.eye(2), [1.0, 1.0], dim=2, mu=0.0).local is frictional_local


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ContactProblem(np.eye(3), np.zeros(2)), "D has shape (3, 3), but b has 2 entries"),
        (lambda: ContactProblem(np.eye(2), [0.0, np.nan]), "b[1] = nan is not a finite number"),
        (lambda: ContactProblem([[1.0, np.inf], [0.0, 1.0]], [0.0, 0.0]), "D[0, 1] = inf"),
        (lambda: ContactProblem(np.eye(2), np.zeros((2, 1))), "b has shape (2, 1)"),
        (lambda: ContactProblem(np.eye(2), np.zeros(2), dim=2, mu=-0.1), "mu = -0.1 is negative"),
        (
            lambda: ContactProblem(np.eye(4), np.zeros(4), dim=2, mu=[0.1, 0.2, 0.3]),
            "mu has 3 entries for 2 blocks",
        ),
        (lambda: ContactProblem(np.eye(4), np.zeros(4), dim=3, mu=0.1), "4 rows do not make blocks of 3"),
        (lambda: ContactProblem(np.eye(2), np.zeros(2), dim=2), "no mu"),
        (lambda: ContactProblem(np.eye(2), np.zeros(2), mu=0.3), "add dim=2, dim=3 or kinds="),
        (lambda: ContactProblem(np.eye(2), np.zeros(2), dim=4, mu=0.3), "dim = 4"),
        (lambda: ContactProblem(np.eye(2), np.zeros(2), kinds=[1, 1], dim=1), "give one of them"),
        (lambda: ContactProblem(np.eye(2), np.zeros(2), kinds=["glued", 1]), "kinds[0] = 'glued' is no law"),
        (lambda: ContactProblem(np.eye(3), np.zeros(3), kinds=[1, 1]), "the 2 blocks have 2 rows together"),
        (
            lambda: ContactProblem.from_global(np.eye(2), np.eye(3), [0.0, 0.0]),
            "W has shape (3, 3), but f has 2",
        ),
        (lambda: ContactProblem.from_global(np.eye(2), [1.0, 0.0], [0.0, 0.0]), "one column per contact row"),
        (lambda: ContactProblem.from_global(np.eye(2), np.eye(2), [0.0, 0.0], [0.0]), "w has 1 entries"),
        (lambda: ContactProblem.from_global(np.zeros((2, 2)), np.eye(2), [0.0, 0.0]), "M cannot be factored"),
        (lambda: ContactProblem(np.eye(2), np.zeros(2)).residual([1.0]), "P has 1 entries"),
        (lambda: NSGS().solve(ContactProblem(np.eye(2), np.zeros(2)), [1.0]), "P0 has 1 entries"),
    ],
)
def test_wrong_input_is_named_with_its_value(build, words):
    with pytest.raises(ModelError) as caught:
        build()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: NSGS(tol=0.0), "tol = 0.0"),
        (lambda: NSGS(max_sweeps=0), "max_sweeps = 0"),
        (lambda: NSGS(relaxation=1.5), "relaxation = 1.5"),
        (lambda: NSGS(rounding=-1.0), "rounding = -1.0"),
        (lambda: Lemke(max_pivots=0), "max_pivots = 0"),
        (lambda: Lemke(redundancy=0.0), "redundancy = 0.0"),
        (
            lambda: Lemke().solve(ContactProblem(np.eye(3), np.zeros(3), kinds=[1, 2], mu=0.3)),
            "Lemke solves bilateral, unilateral contacts, but contact 1 is coulomb_planar: take NSGS()",
        ),
    ],
)
def test_wrong_settings_are_named_with_their_value(build, words):
    with pytest.raises(SettingError) as caught:
        build()
    assert words in str(caught.value)


# ---- without friction


@pytest.mark.parametrize("seed", range(20))
def test_nsgs_and_lemke_agree_without_friction(seed):
    M, W, f = bodies(seed, contacts=8, count=4, dim=1)
    problem = ContactProblem.from_global(M, W, f, np.random.default_rng(seed).standard_normal(8))
    pivoted, swept = Lemke().solve(problem), NSGS().solve(problem)
    assert pivoted.converged
    assert swept.converged
    assert pivoted.residual <= 1e-14
    assert swept.residual <= EXACT
    assert np.allclose(pivoted.P, swept.P, rtol=0.0, atol=1e-10 * (1.0 + np.abs(pivoted.P).max()))
    assert np.all(pivoted.P >= 0.0)


@pytest.mark.parametrize("solver", [NSGS(), Lemke()], ids=lambda s: s.name)
@pytest.mark.parametrize("points", [4, 8])
def test_redundant_contacts_of_a_box_give_the_unique_velocity(solver, points):
    data = box_on_floor(points=points)
    result = solver.solve(ContactProblem.from_global(*data))
    assert result.converged
    assert result.residual <= EXACT
    # all corners close: what touches the floor rests on it, the rest of the motion is free
    assert np.allclose(velocity(data, result.P), [0.3, 0.0, 0.0, 0.0, 0.0, 0.1], atol=1e-11)


@pytest.mark.parametrize("seed", range(5))
def test_duplicated_contacts_do_not_change_the_velocity(seed):
    M, W, f = bodies(seed, contacts=6, count=3, dim=1)
    once = velocity((M, W, f), Lemke().solve(ContactProblem.from_global(M, W, f)).P)
    twice = np.hstack([W, W])
    for solver in (Lemke(), NSGS()):
        result = solver.solve(ContactProblem.from_global(M, twice, f))
        assert result.converged, result.message
        assert np.allclose(velocity((M, twice, f), result.P), once, atol=1e-10)


@pytest.mark.parametrize("solver", [NSGS(), Lemke()], ids=lambda s: s.name)
def test_a_degenerate_contact_that_just_touches_is_no_obstacle(solver):
    # four-legged table put down at rest: all free velocities are zero or alike
    data = box_on_floor(points=8, speed=0.0)
    data = (*data[:2], np.zeros(6))
    result = solver.solve(ContactProblem.from_global(*data))
    assert result.converged
    assert np.all(result.P == 0.0)


@pytest.mark.parametrize("seed", range(10))
def test_bilateral_rows_are_held_and_agree_with_elimination(seed):
    M, W, f = bodies(seed, contacts=8, count=4, dim=1)
    kinds = np.array([0, 1, 0, 1, 1, 0, 1, 1])
    problem = ContactProblem.from_global(M, W, f, kinds=kinds)
    held, free = kinds == 0, kinds == 1
    D, b = problem.D(), problem.b
    answer = np.linalg.solve(D[np.ix_(held, held)], np.column_stack([D[np.ix_(held, free)], b[held]]))
    reduced = D[np.ix_(free, free)] - D[np.ix_(free, held)] @ answer[:, :-1]
    expected = Lemke().solve(ContactProblem(reduced, b[free] - D[np.ix_(free, held)] @ answer[:, -1])).P
    for solver in (Lemke(), NSGS()):
        result = solver.solve(problem)
        assert result.converged
        assert np.abs(result.u[held]).max() <= 1e-10
        assert np.allclose(result.P[free], expected, atol=1e-9)


def test_redundant_bilateral_rows_are_dropped_if_they_agree():
    M, W, f = bodies(1, contacts=3, count=2, dim=1)
    W = np.hstack([W, W[:, :2]])
    kinds = ["bilateral", "bilateral", "unilateral", "bilateral", "bilateral"]
    for solver in (Lemke(), NSGS()):
        result = solver.solve(ContactProblem.from_global(M, W, f, kinds=kinds))
        assert result.converged, result.message
        assert result.residual <= EXACT


def test_contradicting_bilateral_rows_are_reported():
    M, W, f = bodies(1, contacts=1, count=2, dim=1)
    W = np.hstack([W, W])
    problem = ContactProblem.from_global(M, W, f, [0.0, 1.0], kinds=[0, 0])
    pivoted, swept = Lemke().solve(problem), NSGS(max_sweeps=500).solve(problem)
    assert not pivoted.converged
    assert "no solution" in pivoted.message
    assert not swept.converged
    assert swept.residual > 0.1


def test_a_wedge_that_closes_is_reported_as_unsolvable():
    # two walls approach one body from both sides: no impulse helps
    problem = ContactProblem.from_global(np.eye(1), [[1.0, -1.0]], [0.0], [-1.0, -1.0])
    assert not Lemke().solve(problem).converged
    assert not NSGS(max_sweeps=1000).solve(problem).converged


@pytest.mark.parametrize("solver", [NSGS(), Lemke()], ids=lambda s: s.name)
def test_a_contact_without_mass_that_must_stop_is_unsolvable(solver):
    result = solver.solve(ContactProblem([[0.0]], [-1.0]))
    assert not result.converged
    assert "no solution" in result.message


@pytest.mark.parametrize("solver", [NSGS(), Lemke()], ids=lambda s: s.name)
def test_an_empty_problem_is_solved(solver):
    result = solver.solve(ContactProblem(np.zeros((0, 0)), np.zeros(0)))
    assert result.converged
    assert result.P.size == 0


@pytest.mark.parametrize("solver", [NSGS(), Lemke()], ids=lambda s: s.name)
def test_a_wild_start_makes_no_false_success(solver):
    # rounding errors of a huge P hide what is wrong with it; the residual is measured against b
    problem = ContactProblem.from_global(np.eye(1), [[1.0, -1.0]], [0.0], [-1.0, -1.0])
    assert not solver.solve(problem, [1e20, 1e20]).converged


# ---- with friction


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_nsgs_solves_random_frictional_problems(dim, seed):
    M, W, f = bodies(seed, contacts=10, count=4, dim=dim)
    mu = np.random.default_rng(seed).uniform(0.0, 1.0, 10)
    problem = ContactProblem.from_global(M, W, f, mu=mu, dim=dim)
    result = NSGS().solve(problem)
    assert result.converged, result.message
    assert result.residual <= 1e-10
    P, u = result.P.reshape(-1, dim), result.u.reshape(-1, dim)
    assert np.all(np.linalg.norm(P[:, 1:], axis=1) <= mu * P[:, 0] * (1.0 + 1e-12))
    assert np.all(np.sum(P[:, 1:] * u[:, 1:], axis=1) <= 1e-10)  # friction dissipates
    assert np.abs(P[:, 0] * u[:, 0]).max() <= 1e-9


def test_nsgs_solves_mixed_laws():
    M, W, f = bodies(5, contacts=9, count=4, dim=1)
    kinds = ["bilateral", "coulomb_spatial", "unilateral", "coulomb_planar", "bilateral", "unilateral"]
    problem = ContactProblem.from_global(M, W, f, mu=0.3, kinds=kinds)
    result = NSGS().solve(problem)
    assert result.converged
    assert result.residual <= EXACT
    assert np.abs(result.u[[0, 7]]).max() <= 1e-11


def test_a_box_pushed_along_redundant_corners_slides_by_the_friction_of_its_weight():
    # four corners with friction stop the fall and brake the sliding by mu times the same impulse
    M, W_N, _ = box_on_floor(points=4)
    W = np.zeros((6, 12))
    W[:, 0::3] = W_N
    W[0, 1::3], W[1, 2::3] = 1.0, 1.0
    W[5, 1::3], W[5, 2::3] = -W_N[3], -W_N[4]  # corners lie in the plane of the center of mass
    v_free = np.array([1.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    result = NSGS().solve(ContactProblem.from_global(M, W, M @ v_free, mu=0.2, dim=3))
    assert result.converged
    v = velocity((M, W, M @ v_free), result.P)
    assert v == pytest.approx([1.0 - 0.2, 0.0, 0.0, 0.0, 0.0, 0.0], abs=1e-11)


def test_warm_start_from_the_solution_needs_one_sweep():
    M, W, f = bodies(6, contacts=10, count=4, dim=3)
    problem = ContactProblem.from_global(M, W, f, mu=0.4, dim=3)
    first = NSGS().solve(problem)
    again = NSGS(tol=1e-10).solve(problem, first.P)
    assert first.iterations > 5
    assert again.iterations == 1


def test_start_values_are_not_overwritten():
    start = np.array([3.0, -2.0])
    NSGS().solve(ContactProblem(np.eye(2), [-1.0, -1.0]), start)
    assert np.array_equal(start, [3.0, -2.0])


def test_relaxation_changes_the_road_but_not_the_answer():
    M, W, f = bodies(7, contacts=8, count=4, dim=1)
    problem = ContactProblem.from_global(M, W, f)
    full, half = NSGS().solve(problem), NSGS(relaxation=0.5).solve(problem)
    assert half.converged
    assert half.iterations > full.iterations
    assert np.allclose(full.P, half.P, atol=1e-10)


@pytest.mark.parametrize("seed", [1038, 1648, 2456])
def test_sweeps_that_run_in_circles_are_averaged(seed):
    rng = np.random.default_rng(seed)
    W, f, mu = rng.standard_normal((9, 9)), rng.standard_normal(9), rng.uniform(0.0, 1.5, 3)
    problem = ContactProblem.from_global(np.eye(9), W, f, mu=mu, dim=3)
    circling = NSGS(max_sweeps=1000).solve(problem)
    assert not circling.converged
    assert circling.residual > 1e-3
    assert NSGS().solve(problem).converged


def test_a_block_that_fails_by_rounding_errors_alone_does_not_fail_the_problem():
    # three rows on two degrees of freedom: near rest, what is left of b lies outside the reach of the block
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(4, 13))
        W, f = rng.standard_normal((2, 3 * n)), rng.standard_normal(2)
        problem = ContactProblem.from_global(np.eye(2), W, f, mu=rng.uniform(0.0, 1.5, n), dim=3)
        assert NSGS().solve(problem).converged


def test_too_few_sweeps_are_reported_with_the_true_residual():
    M, W, f = bodies(8, contacts=10, count=2, dim=3)
    problem = ContactProblem.from_global(M, W, f, mu=0.5, dim=3)
    result = NSGS(max_sweeps=2).solve(problem)
    assert isinstance(result, ContactResult)
    assert not result.converged
    assert result.iterations == 2
    assert result.residual == pytest.approx(problem.residual(result.P))
    assert result.message.startswith("The contact solver did not reach its tolerance (residual")


def test_solvers_run_interpreted_with_the_same_result():
    M, W, f = bodies(9, contacts=5, count=3, dim=1)
    problem = ContactProblem.from_global(M, W, f)
    for solver in (NSGS(), Lemke()):
        P, u, info, room = np.zeros(5), np.zeros(5), np.zeros(2), solver.room(5, 5, problem.kernel.nv).allocate()
        laws = interpreted(problem.local), interpreted(problem.cone)
        status = interpreted(solver.kernel)(problem.kernel, *laws, solver.settings(), P, u, info, room)
        assert status == 0
        assert np.allclose(P, solver.solve(problem).P, rtol=1e-12, atol=1e-12)


def test_workspace_sizes_are_enough_whatever_it_contained():
    # kernels get work that others have used: NaN inside, and guards behind it that must stay
    M, W, f = bodies(10, contacts=6, count=3, dim=1)
    problem = ContactProblem.from_global(M, W, f, kinds=[0, 1, 1, 1, 1, 1])
    for solver in (NSGS(), Lemke(), SemismoothNewton(), Homotopy(), Portfolio(), ADMM()):
        plan = solver.room(6, 6, problem.kernel.nv)
        work, iwork = np.full(plan.floats + 8, np.nan), np.full(plan.integers + 8, -7, dtype=np.int64)
        P, u, info, room = np.zeros(6), np.zeros(6), np.zeros(2), Room(plan, work, iwork)
        laws = ready(problem.local), ready(problem.cone)
        assert ready(solver.kernel)(problem.pinned, *laws, solver.settings(), P, u, info, room) == 0
        assert np.all(np.isnan(work[-8:]))
        assert np.all(iwork[-8:] == -7)
        assert np.array_equal(P, run(solver, problem).P)


@pytest.mark.parametrize("solver", [Lemke(), NSGS(), SemismoothNewton(), Homotopy(), Portfolio(), ADMM()])
def test_a_room_for_many_rows_serves_few_of_them_with_the_same_result(solver):
    # runs plan for all rows of a system, of which some are active; more than max_rows too
    M, W, f = bodies(10, contacts=6, count=3, dim=1)
    problem = ContactProblem.from_global(M, W, f)
    small = dataclasses.replace(solver, max_rows=8) if hasattr(solver, "max_rows") else solver
    for rows in (6, 7, 40):
        P, u, info = np.zeros(6), np.zeros(6), np.zeros(2)
        room = small.room(rows, rows, problem.kernel.nv).allocate()
        laws = interpreted(problem.local), interpreted(problem.cone)
        assert interpreted(small.kernel)(problem.kernel, *laws, small.settings(), P, u, info, room) == 0
        assert np.allclose(P, solver.solve(problem).P, rtol=0.0, atol=1e-9 * np.abs(P).max())


# ---- external problems


@pytest.mark.parametrize("name", SOLVABLE)
def test_lemke_solves_the_complementarity_problems_that_have_solutions(name):
    problem = lcp(name)
    result = Lemke().solve(problem)
    P, u = result.P, problem.D() @ result.P + problem.b
    assert result.converged, result.message
    assert result.residual <= 1e-14
    scale = np.abs(problem.b).max()
    assert np.all(P >= 0.0)
    assert u.min() >= -1e-11 * scale
    assert np.abs(P * u).max() <= 1e-11 * scale * max(1.0, np.abs(P).max())


@pytest.mark.parametrize("name", SOLVABLE)
def test_the_portfolio_solves_complementarity_problems_too(name):
    problem = lcp(name)
    result = Portfolio().solve(problem)
    assert result.converged, result.message
    assert result.residual <= EXACT
    assert result.solver.startswith("Portfolio (Lemke")


def test_the_problem_on_which_pivoting_ends_on_a_ray_is_solved_by_enumeration():
    result = Lemke().solve(lcp("CPS_3"))
    assert result.solver == "Lemke (enumeration)"
    assert result.converged


def test_the_problem_without_solution_is_reported_as_such():
    problem = lcp("Pang_isolated_sol_perturbed")
    assert problem.residual(nearest_basis(problem, 1e-9)) > 1e-9
    for solver in (Lemke(), Portfolio()):
        result = solver.solve(problem)
        assert not result.converged
        assert result.status == Status.CONTACT_UNSOLVABLE
        assert "there is no solution" in result.message
        assert result.residual == pytest.approx(problem.residual(result.P))


def test_murtys_problem_takes_exponentially_many_pivots():
    assert Lemke().solve(lcp("exp_murty2")).iterations == 2**6


def test_a_problem_that_pivots_for_ever_ends_at_the_limit():
    for solver in (Lemke(max_pivots=2000), Portfolio(max_sweeps=500, max_steps=100)):
        result = solver.solve(lcp("tobenna"))
        assert not result.converged
        assert result.status == Status.CONTACT_STALLED
        assert result.iterations <= 2000


def test_a_ray_proves_nothing_for_a_matrix_that_is_not_semidefinite():
    # the problem of CPS_3, on which pivoting ends on a ray though it has solutions, four times beside itself
    small = lcp("CPS_3")
    D, b = np.kron(np.eye(4), small.D()), np.tile(small.b, 4)
    result = Lemke().solve(ContactProblem(D, b))
    assert not result.converged
    assert result.status == Status.CONTACT_STALLED


def test_nearly_dependent_joints_that_agree_are_not_called_contradictory():
    # rounding errors, amplified by the small pivots, must not look like a contradiction
    rng = np.random.default_rng(905)
    for _ in range(50):
        W = np.outer(rng.standard_normal(3), np.ones(6)) + 10.0 ** rng.uniform(-6.0, -3.0) * rng.standard_normal((3, 6))
        D, b = W.T @ W, W.T @ rng.standard_normal(3)
        result = Lemke().solve(ContactProblem(np.kron(np.eye(2), D), np.tile(b, 2), kinds=[0] * 12))
        assert result.status != Status.CONTACT_UNSOLVABLE
