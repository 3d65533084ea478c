"""Redundant contacts: impulses that are not unique, and the shortest of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize

from saltus.contact import NSGS, ContactProblem, Lemke, Portfolio, SemismoothNewton
from saltus.contact.admm import ADMM
from saltus.contact.redundancy import minimum_norm, uniqueness
from saltus.status import Status

SENTENCE = "The impulses are not unique, the velocities are"
SOLVERS = [NSGS(), SemismoothNewton(), Portfolio(), ADMM(tol=1e-12)]


def body_on_points(points, *, v_free, mass=2.0, dim=1, **laws):
    """Return a rigid body that touches a floor at points (x, y) on the height of its centre."""
    W = np.zeros((6, dim * len(points)))
    for k, (x, y) in enumerate(points):
        for r, direction in enumerate(np.eye(3)[[2, 0, 1]][:dim]):
            W[:3, dim * k + r], W[3:, dim * k + r] = direction, np.cross([x, y, 0.0], direction)
    M = np.diag([mass, mass, mass, 0.1, 0.2, 0.3])
    return ContactProblem.from_global(M, W, M @ v_free, dim=dim, **laws)


LEGS = [(x, y) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]


def repeated(seed, dim):
    """Return contacts on few bodies of which some are there twice or three times, with their copies' numbers."""
    rng = np.random.default_rng(seed)
    count, nc = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    W = rng.standard_normal((6 * count, nc, dim))
    copies = np.repeat(np.arange(nc), rng.integers(1, 4, nc))
    mu, v_free = rng.uniform(0.0, 1.5, nc)[copies], rng.standard_normal(6 * count)
    M = np.diag(np.exp(rng.uniform(-1.0, 1.0, 6 * count)))
    return ContactProblem.from_global(M, W[:, copies].reshape(6 * count, -1), M @ v_free, mu=mu, dim=dim)


def same_but_shorter(problem, result, shortest):
    assert shortest.converged
    assert shortest.status == Status.OK
    size = np.abs(problem.b).max()
    assert np.abs(shortest.u - result.u).max() <= max(1e-12, result.residual) * size
    assert np.allclose(problem.u(shortest.P), shortest.u, atol=1e-14 * size)
    assert problem.residual(shortest.P) <= max(2.0 * result.residual, 1e-12)
    assert np.linalg.norm(shortest.P) <= (1.0 + 1e-12) * np.linalg.norm(result.P)


def test_each_of_four_legs_carries_a_quarter():
    mass, step = 2.0, 9.81e-3  # the weight of one step of 1 ms is stopped
    problem = body_on_points(LEGS, v_free=np.array([0.0, 0.0, -step, 0.0, 0.0, 0.0]), mass=mass)
    for solver in (Lemke(), *SOLVERS):
        shortest = minimum_norm(problem, solver.solve(problem))
        assert shortest.P == pytest.approx(np.full(4, mass * step / 4.0), rel=1e-12)
        assert shortest.unique is False
        assert SENTENCE in shortest.message
    # one diagonal alone would do as well
    one = np.array([0.0, 1.0, 1.0, 0.0]) * mass * step / 2.0
    assert problem.residual(one) <= 1e-14


def test_three_legs_have_one_answer():
    problem = body_on_points(LEGS[:3], v_free=np.array([0.0, 0.0, -1.0, 0.1, 0.0, 0.0]))
    result = Lemke().solve(problem)
    shortest = minimum_norm(problem, result)
    assert shortest.unique is True
    assert uniqueness(problem, result) is True
    assert np.array_equal(shortest.P, result.P)
    assert "not unique" not in shortest.message


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_a_box_on_eight_points_shares_its_impulse_when_it_sticks_and_when_it_slides(solver, speed):
    problem = body_on_points(LEGS * 2, v_free=np.array([speed, 0.0, -1.0, 0.0, 0.0, 0.0]), dim=3, mu=0.2)
    result = solver.solve(problem)
    shortest = minimum_norm(problem, result)
    same_but_shorter(problem, result, shortest)
    assert shortest.unique is False
    expected = np.array([2.0, -0.2 * 2.0 if speed else 0.0, 0.0]) / 8.0
    assert shortest.P.reshape(8, 3) == pytest.approx(np.tile(expected, (8, 1)), abs=1e-10)


def test_joints_given_twice_carry_half_each():
    rng = np.random.default_rng(0)
    W, f = rng.standard_normal((9, 3)), rng.standard_normal(9)
    once = NSGS().solve(ContactProblem.from_global(np.eye(9), W, f, kinds=[0, 0, 0]))
    problem = ContactProblem.from_global(np.eye(9), np.hstack([W, W]), f, kinds=[0] * 6)
    result = NSGS().solve(problem)
    shortest = minimum_norm(problem, result)
    same_but_shorter(problem, result, shortest)
    assert shortest.unique is False
    assert shortest.P == pytest.approx(np.tile(once.P / 2.0, 2), abs=1e-11)


@pytest.mark.parametrize("seed", range(10))
def test_without_friction_the_shortest_impulses_are_those_of_least_squares(seed):
    problem = repeated(seed, 1)
    result = Lemke().solve(problem)
    shortest = minimum_norm(problem, result)
    same_but_shorter(problem, result, shortest)
    # least squares with a small weight on P among the contacts that do not open, solved by another method
    closed = result.u <= 1e-10
    D, weight = problem.D()[:, closed], 1e-6
    stacked = np.vstack([D, weight * np.eye(closed.sum())])
    expected, _ = scipy.optimize.nnls(stacked, np.concatenate([D @ result.P[closed], np.zeros(closed.sum())]))
    assert shortest.P[closed] == pytest.approx(expected, abs=1e-6 * (1.0 + np.abs(expected).max()))
    assert np.all(shortest.P[~closed] == 0.0)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("seed", range(25))
def test_redundant_random_problems_keep_their_velocities(dim, seed):
    problem = repeated(seed, dim)
    for solver in SOLVERS:
        result = solver.solve(problem)
        if not result.converged:
            continue
        shortest = minimum_norm(problem, result)
        same_but_shorter(problem, result, shortest)
        assert shortest.unique == uniqueness(problem, result)
        # a second time nothing is left to gain
        again = minimum_norm(problem, shortest)
        assert np.linalg.norm(again.P) >= (1.0 - 1e-7) * np.linalg.norm(shortest.P)


@pytest.mark.parametrize("seed", range(15))
def test_impulses_of_regular_problems_are_unique(seed):
    rng = np.random.default_rng(seed)
    W, f = rng.standard_normal((15, 12)), rng.standard_normal(15)
    problem = ContactProblem.from_global(np.eye(15), W, f, mu=0.5, dim=3)
    result = Portfolio().solve(problem)
    assert minimum_norm(problem, result).unique is True


def test_redundant_contacts_that_are_open_or_slip_apart_do_not_count():
    # the two copies open: D is singular, the impulses are zero all the same
    W = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    problem = ContactProblem.from_global(np.eye(2), W, [1.0, -1.0])
    result = Lemke().solve(problem)
    assert uniqueness(problem, result) is True
    assert result.P == pytest.approx([0.0, 0.0, 1.0])


def test_opposite_walls_that_just_hold_a_body_may_be_clamped():
    # u = 0 at both walls: any equal impulses on both are allowed, the shortest are none
    problem = ContactProblem.from_global(np.eye(1), [[1.0, -1.0]], [0.0])
    P = np.array([3.0, 3.0])
    clamped = replace(Lemke().solve(problem), P=P, u=problem.u(P), residual=problem.residual(P))
    shortest = minimum_norm(problem, clamped)
    assert shortest.unique is False
    assert np.abs(shortest.P).max() <= 1e-14


def test_results_that_did_not_converge_are_left_alone():
    problem = ContactProblem.from_global(np.eye(1), [[1.0, -1.0]], [0.0], [-1.0, -1.0])
    failed = Lemke().solve(problem)
    assert minimum_norm(problem, failed) is failed


def test_too_many_rows_are_not_taken_apart():
    n = 2001
    problem = ContactProblem.from_global(np.eye(n), np.eye(n), -np.ones(n))
    result = NSGS().solve(problem)
    assert uniqueness(problem, result) is None
    assert "the impulses were kept" in minimum_norm(problem, result).message


def test_the_table_of_the_documentation_stands_on_four_equal_legs():
    mass, speed = 2.0, 9.81e-3
    legs = [(-0.5, -0.3), (-0.5, 0.3), (0.5, -0.3), (0.5, 0.3)]
    W = np.array([[1.0, y, -x] for x, y in legs]).T
    M = np.diag([mass, 0.1, 0.2])
    table = ContactProblem.from_global(M, W, M @ [-speed, 0.0, 0.0])
    shared = minimum_norm(table, Lemke().solve(table))
    assert str(shared.P) == "[0.004905 0.004905 0.004905 0.004905]"
    assert shared.unique is False


@pytest.mark.parametrize(("seed", "dim"), [(75, 2), (97, 3)])
def test_copies_that_carry_next_to_nothing_get_their_share(seed, dim):
    # the friction found on such a copy has no direction of its own
    problem = repeated(seed, dim)
    found = [minimum_norm(problem, solver.solve(problem)) for solver in (Portfolio(), ADMM(tol=1e-12))]
    assert np.allclose(found[0].u, found[1].u, atol=1e-11)
    assert found[0].P == pytest.approx(found[1].P, abs=1e-9)
