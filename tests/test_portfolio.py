"""Newton's method, the homotopy and the portfolio where sweeps stall: redundant contacts, external problems."""

from __future__ import annotations

import math

import numpy as np
import pytest

from external import fclib
from saltus.compile.seam import interpreted
from saltus.contact import NSGS, ContactProblem, Homotopy, Portfolio, SemismoothNewton
from saltus.contact.problem import run
from saltus.errors import SettingError

SOLVERS = [SemismoothNewton(), Homotopy(), Portfolio()]
PROVING = [SemismoothNewton(), Portfolio()]  # these can tell that there is no solution
STALLING = (43, 76, 121, 123, 226, 248)  # redundant problems that 20 000 sweeps alone do not solve


def natural_map(D, b, mu, P):
    """Return the scaled residual of spatial contacts, written anew: nothing of the package is used."""
    u, rho, total = D @ P + b, 1.0 / np.mean(np.diag(D)), 0.0
    for k, mu_k in enumerate(mu):
        rows = slice(3 * k, 3 * k + 3)
        z = u[rows] + np.array([mu_k * math.hypot(*u[rows][1:]), 0.0, 0.0])
        x = P[rows] - rho * z
        x_T = math.hypot(x[1], x[2])
        if x[0] < 0.0 or x_T > mu_k * x[0]:
            x_N = max((x[0] + mu_k * x_T) / (1.0 + mu_k**2), 0.0)
            x = np.array([x_N, *(mu_k * x_N * x[1:] / x_T)]) if x_T > 0.0 else np.zeros(3)
        total += np.sum((P[rows] - x) ** 2)
    return math.sqrt(total) / (rho * np.linalg.norm(b))


def rigid_body(points, *, mass=2.0, inertia=(0.1, 0.2, 0.3), turn=None):
    """Return M and W (N, T1, T2 per point) of a body that touches a floor at points given from its center."""
    rotation = np.eye(3) if turn is None else turn
    W = np.zeros((6, 3 * len(points)))
    for k, point in enumerate(points):
        arm = rotation @ point
        for c, direction in enumerate(np.eye(3)[[2, 0, 1]]):
            W[:3, 3 * k + c] = direction
            W[3:, 3 * k + c] = np.cross(arm, direction)
    M = np.zeros((6, 6))
    M[:3, :3], M[3:, 3:] = mass * np.eye(3), rotation @ np.diag(inertia) @ rotation.T
    return M, W


def on_an_edge(seed):
    """Return D, b, mu of a box that tumbles on two corners: b is off the range of D by restitution.

    The impulses along the edge are determined by their sum alone; the two rows of b along it differ, which
    sticking on both corners cannot answer, so that one of them must slip.
    """
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    points = [turn.T @ np.array([x, 0.05, -0.3]) for x in (-0.25, 0.25)]
    M, W = rigid_body(points, turn=turn)
    D = W.T @ np.linalg.solve(M, W)
    v = np.array([*rng.uniform(-0.003, 0.003, 2), -0.02, *rng.uniform(-0.01, 0.01, 3)])
    return D, W.T @ v + 1e-6 * rng.standard_normal(6), np.full(2, 0.3)


def redundant(seed):
    """Return D, b, mu of ten contacts on twelve degrees of freedom: D has rank 12 of 30."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(12, 30))
    return W.T @ W, rng.normal(size=30), rng.uniform(0.0, 1.5, 10)


def check(data, result):
    D, b, mu = data
    assert result.converged, result.message
    assert natural_map(D, b, mu, result.P) <= 1e-10
    P = result.P.reshape(-1, 3)
    assert np.all(P[:, 0] >= 0.0)
    assert np.all(np.hypot(P[:, 1], P[:, 2]) <= mu * P[:, 0] * (1.0 + 4e-16))


# ---- redundancy


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
def test_a_box_on_eight_points_slides_by_the_friction_of_its_weight(solver):
    # corners on the height of the center, each of them twice: the fall is stopped, the sliding braked by mu
    corners = [np.array([x, y, 0.0]) for x in (-0.5, 0.5) for y in (-0.3, 0.3)] * 2
    M, W = rigid_body(corners)
    v_free = np.array([1.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    result = solver.solve(ContactProblem.from_global(M, W, M @ v_free, mu=0.2, dim=3))
    v = v_free + np.linalg.solve(M, W @ result.P)
    check((W.T @ np.linalg.solve(M, W), W.T @ v_free, np.full(8, 0.2)), result)
    assert v == pytest.approx([0.8, 0.0, 0.0, 0.0, 0.0, 0.0], abs=1e-11)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
@pytest.mark.parametrize("seed", range(20))
def test_a_box_on_an_edge_that_cannot_stick_at_both_corners_is_solved(solver, seed):
    data = on_an_edge(seed)
    D, b, mu = data
    assert np.linalg.matrix_rank(D, tol=1e-10) == 5
    check(data, solver.solve(ContactProblem(D, b, mu=mu, dim=3)))


@pytest.mark.parametrize("seed", [*range(40), *STALLING])
def test_redundant_random_problems_are_solved_or_their_impulses_grow_without_bound(seed):
    D, b, mu = redundant(seed)
    result = Portfolio().solve(ContactProblem(D, b, mu=mu, dim=3))
    if seed not in (0, 6, 25, 32, 38):
        check((D, b, mu), result)
        return
    assert not result.converged
    # no solution in reach: with D + shift I, P grows like 1 / shift and shift P, an error of u, stays
    error = []
    for shift in (1e-5, 1e-6):
        near = Portfolio(tol=1e-9).solve(ContactProblem(D + shift * np.eye(30), b, mu=mu, dim=3))
        error.append(shift * np.linalg.norm(near.P))
    assert error[1] > 0.7 * error[0] > 1e-4


@pytest.mark.parametrize("seed", STALLING[:2])
def test_sweeps_alone_stall_on_redundant_problems_that_have_solutions(seed):
    D, b, mu = redundant(seed)
    assert not NSGS().solve(ContactProblem(D, b, mu=mu, dim=3)).converged


def test_a_body_between_twelve_rough_contacts_is_wedged():
    rng = np.random.default_rng(1)
    W, v_free = rng.standard_normal((6, 36)), rng.standard_normal(6)
    result = Portfolio(tol=1e-10).solve(ContactProblem.from_global(np.eye(6), W, v_free, mu=1.5, dim=3))
    check((W.T @ W, W.T @ v_free, np.full(12, 1.5)), result)
    assert np.linalg.norm(v_free + W @ result.P) <= 1e-9


# ---- any law


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
@pytest.mark.parametrize("seed", range(20))
def test_mixed_laws_are_solved_as_by_sweeps(solver, seed):
    rng = np.random.default_rng(seed)
    W, f = rng.standard_normal((12, 9)), rng.standard_normal(12)
    kinds = ["bilateral", "coulomb_spatial", "unilateral", "coulomb_planar", "bilateral", "unilateral"]
    problem = ContactProblem.from_global(np.eye(12), W, f, mu=rng.uniform(0.0, 0.6, 6), kinds=kinds)
    result = solver.solve(problem)
    assert result.converged, result.message
    assert result.residual <= 1e-12
    assert np.allclose(result.P, NSGS().solve(problem).P, atol=1e-9)


def test_newton_needs_few_iterations_and_none_from_the_solution():
    rng = np.random.default_rng(3)
    W, f = rng.standard_normal((30, 30)), rng.standard_normal(30)
    problem = ContactProblem.from_global(np.eye(30), W, f, mu=0.4, dim=3)
    first = SemismoothNewton().solve(problem)
    assert first.converged
    assert first.iterations <= 20
    assert SemismoothNewton(tol=1e-10).solve(problem, first.P).iterations == 0


def test_the_portfolio_costs_what_the_sweeps_cost_where_they_converge():
    rng = np.random.default_rng(4)
    W, f = rng.standard_normal((60, 30)), rng.standard_normal(60)
    problem = ContactProblem.from_global(np.eye(60), W, f, mu=0.3, dim=3)
    swept, both = NSGS().solve(problem), Portfolio().solve(problem)
    assert swept.converged
    assert both.iterations == swept.iterations
    assert np.array_equal(both.P, swept.P)


def test_a_problem_with_more_rows_than_newton_takes_is_swept():
    rng = np.random.default_rng(5)
    W, f = rng.standard_normal((60, 30)), rng.standard_normal(60)
    problem = ContactProblem.from_global(np.eye(60), W, f, mu=0.3, dim=3)
    assert not SemismoothNewton(max_rows=29).solve(problem).converged
    swept, both = NSGS().solve(problem), Portfolio(sweeps=1, max_rows=29).solve(problem)
    assert both.solver == "Portfolio (ColouredNSGS)"
    assert np.allclose(both.P, swept.P, rtol=0.0, atol=1e-11)


# ---- failure


@pytest.mark.parametrize("solver", PROVING, ids=lambda s: s.name)
@pytest.mark.parametrize("kinds", [["unilateral"] * 2, ["bilateral"] * 2, ["bilateral", "unilateral"]])
def test_walls_that_close_on_a_body_are_proven_unsolvable(solver, kinds):
    problem = ContactProblem.from_global(np.eye(1), [[1.0, -1.0]], [0.0], [-1.0, -1.0], kinds=kinds)
    result = solver.solve(problem)
    assert not result.converged
    assert "no solution" in result.message
    assert result.residual >= 0.5


@pytest.mark.parametrize("solver", PROVING, ids=lambda s: s.name)
def test_a_contact_without_mass_that_must_stop_is_unsolvable(solver):
    result = solver.solve(ContactProblem([[0.0]], [-1.0]))
    assert not result.converged
    assert "no solution" in result.message


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
def test_what_is_not_proven_unsolvable_is_stalled_and_the_residual_is_true(solver):
    D, b, mu = redundant(0)
    result = solver.solve(ContactProblem(D, b, mu=mu, dim=3))
    assert result.message.startswith("The contact solver did not reach its tolerance")
    assert result.residual == pytest.approx(natural_map(D, b, mu, result.P), rel=1e-2)  # P is huge


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: SemismoothNewton(tol=2.0), "tol = 2.0"),
        (lambda: SemismoothNewton(max_iterations=0), "max_iterations = 0 must be at least 4"),
        (lambda: SemismoothNewton(rounding=-1.0), "rounding = -1.0"),
        (lambda: Homotopy(tol=0.0), "Homotopy: tol = 0.0"),
        (lambda: Homotopy(max_steps=0), "max_steps = 0"),
        (lambda: Homotopy(rounding=1.0), "rounding = 1.0"),
        (lambda: Portfolio(sweeps=0), "sweeps = 0 must lie between 1 and max_sweeps = 20000"),
        (lambda: Portfolio(max_rows=0), "max_rows = 0"),
        (lambda: Portfolio(tol=0.0), "tol = 0.0"),
    ],
)
def test_wrong_settings_are_named_with_their_value(build, words):
    with pytest.raises(SettingError) as caught:
        build()
    assert words in str(caught.value)


# ---- kernels


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
def test_kernels_run_interpreted_on_used_workspace_with_the_same_result(solver):
    D, b, mu = on_an_edge(0)
    problem = ContactProblem(D, b, mu=mu, dim=3)
    room = solver.room(6, 2, problem.kernel.nv).allocate()
    room.floats[:], room.integers[:] = np.nan, 99
    P, u, info = np.zeros(6), np.zeros(6), np.zeros(2)
    laws = interpreted(problem.local), interpreted(problem.cone)
    kernel = interpreted(solver.kernel)
    status = kernel(problem.kernel, *laws, solver.settings(), P, u, info, room)
    assert status == 0
    assert np.allclose(P, solver.solve(problem).P, rtol=0.0, atol=1e-9 * np.abs(P).max())


def test_the_members_work_with_the_settings_of_the_portfolio():
    D, b, mu = on_an_edge(0)
    problem = ContactProblem(D, b, mu=mu, dim=3)
    shared = {"tol": 1e-13, "rounding": 0.0}
    solver = Portfolio(sweeps=40, max_sweeps=1000, max_rows=7, max_iterations=5, max_steps=4, **shared)
    room = solver.room(6, 2, problem.kernel.nv).allocate()
    run(solver, problem, None, room)
    work, newton = room.record, SemismoothNewton(max_rows=7, max_iterations=5, **shared)
    assert np.array_equal(work.sweeping, NSGS(max_sweeps=40, **shared).settings())
    assert np.array_equal(work.iterating[:-1], newton.settings()[:-1])  # the last, paths, is spent at once
    assert np.array_equal(work.following, Homotopy(max_rows=7, max_steps=4, **shared).settings())


@pytest.mark.parametrize(
    ("data", "member"),
    [
        ((np.eye(6), -np.ones(6), {"mu": 0.3, "dim": 3}), "NSGS"),
        ((*on_an_edge(0)[:2], {"mu": 0.3, "dim": 3}), "SemismoothNewton"),
        ((np.eye(2), -np.ones(2), {}), "Lemke"),
    ],
)
def test_the_portfolio_names_the_member_that_succeeded(data, member):
    D, b, laws = data
    assert Portfolio(sweeps=5).solve(ContactProblem(D, b, **laws)).solver == f"Portfolio ({member})"


def test_the_portfolio_keeps_its_settings_apart_from_what_it_reports():
    solver = Portfolio()
    before = solver.settings()
    solver.solve(ContactProblem(np.eye(6), -np.ones(6), mu=0.3, dim=3))
    assert np.array_equal(solver.settings(), before)


# ---- external problems


@pytest.mark.parametrize(
    "name",
    ["LMGC_GFC3D-i00001-1-00000", "LMGC_GFC3D-i00501-4-00000", "Box_Stacks-i0122-82-5", "BoxesStack-48"],
)
def test_external_problems_are_solved(name):
    problem = fclib(name)
    result = Portfolio().solve(problem)
    assert result.converged, result.message
    assert natural_map(problem.D(), problem.b, problem.mu, result.P) <= 1e-10
