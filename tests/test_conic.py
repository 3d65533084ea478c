"""The fixed point over cone programs: a second opinion on solutions and on problems that have none."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from saltus.contact import NSGS, ContactProblem, Lemke, Portfolio
from saltus.contact.conic import ConicFixedPoint, feasible
from saltus.errors import MissingExtraError, ModelError, SettingError
from saltus.status import Status

try:
    import clarabel  # noqa: F401
except ImportError:
    HERE = False
else:
    HERE = True
needed = pytest.mark.skipif(not HERE, reason="clarabel is not installed: pip install saltus[conic]")


def mixed(seed, *, mu=0.4, mass=1.0):
    rng = np.random.default_rng(seed)
    W, v_free = rng.standard_normal((12, 9)), rng.standard_normal(12)
    kinds = ["bilateral", "coulomb_spatial", "unilateral", "coulomb_planar", "bilateral", "unilateral"]
    return ContactProblem.from_global(mass * np.eye(12), W, mass * v_free, mu=mu, kinds=kinds)


@needed
@pytest.mark.parametrize("mass", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_all_laws_are_solved_as_by_sweeps(seed, mass):
    problem = mixed(seed, mass=mass)
    result = ConicFixedPoint().solve(problem)
    assert result.converged, result.message
    assert result.residual == pytest.approx(problem.residual(result.P))
    assert result.residual <= 1e-8
    swept = NSGS().solve(problem)
    assert np.allclose(result.P, swept.P, rtol=0.0, atol=1e-5 * np.abs(swept.P).max())


@needed
@pytest.mark.parametrize("seed", range(6))
def test_without_friction_one_program_is_enough(seed):
    rng = np.random.default_rng(seed)
    W, f = rng.standard_normal((8, 6)), rng.standard_normal(8)
    problem = ContactProblem.from_global(np.eye(8), W, f, kinds=[0, 1, 1, 1, 1, 0])
    result = ConicFixedPoint().solve(problem)
    assert result.converged, result.message
    assert result.iterations == 1
    assert np.allclose(result.P, Lemke().solve(problem).P, atol=1e-6)


@needed
def test_reduced_form_and_cones_without_friction_are_no_exception():
    problem = mixed(1, mu=[0.0, 0.0, 0.0, 0.4, 0.0, 0.0])
    reduced = ContactProblem(problem.D(), problem.b, mu=problem.mu, kinds=list(problem.kinds))
    for form in (problem, reduced):
        result = ConicFixedPoint().solve(form)
        assert result.converged, result.message
        assert np.all(result.P[2:4] == 0.0)


@needed
def test_a_matrix_that_is_not_symmetric_is_solved_by_the_fixed_point():
    problem = mixed(2)
    skew = np.triu(1e-2 * np.ones((9, 9)), 1)
    unsymmetric = ContactProblem(problem.D() + skew - skew.T, problem.b, mu=0.2, kinds=list(problem.kinds))
    result = ConicFixedPoint().solve(unsymmetric)
    assert result.converged, result.message
    assert np.allclose(result.P, NSGS().solve(unsymmetric).P, atol=1e-5)


@needed
def test_a_warm_start_at_the_solution_needs_no_program():
    problem = mixed(3)
    assert ConicFixedPoint().solve(problem, Portfolio().solve(problem).P).iterations == 0


# ---- problems without solution


@needed
@pytest.mark.parametrize("kinds", [["unilateral"] * 2, ["bilateral"] * 2, ["bilateral", "unilateral"]])
def test_walls_that_close_on_a_body_are_named(kinds):
    # a third contact, elsewhere, has nothing to do with it
    W = [[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]
    names = ["left", "right", "floor"]
    problem = ContactProblem.from_global(
        np.eye(2), W, [0.0, -1.0], [-1.0, -1.0, 0.0], kinds=[*kinds, "unilateral"], names=names
    )
    assert feasible(problem) == (False, ("left", "right"))
    result = ConicFixedPoint().solve(problem)
    assert not result.converged
    assert result.status == Status.CONTACT_UNSOLVABLE
    assert result.contacts == ("left", "right")
    assert "left, right contradict each other" in result.message


@needed
@pytest.mark.parametrize("seed", range(10))
def test_problems_with_admissible_velocities_are_feasible(seed):
    assert feasible(mixed(seed)) == (True, ())


@needed
def test_a_feasible_problem_that_is_not_solved_is_stalled():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(12, 30))
    problem = ContactProblem(W.T @ W, rng.normal(size=30), mu=rng.uniform(0.0, 1.5, 10), dim=3)
    result = ConicFixedPoint().solve(problem)
    assert not result.converged
    assert result.status in (Status.CONTACT_STALLED, Status.CONTACT_UNSOLVABLE)
    assert result.residual == pytest.approx(problem.residual(result.P))
    assert result.residual > 1e-8


# ---- the door


def test_an_absent_clarabel_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(MissingExtraError, match=r"pip install saltus\[conic\]"):
        ConicFixedPoint().solve(mixed(0))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ConicFixedPoint(tol=1.0), "tol = 1.0"),
        (lambda: ConicFixedPoint(max_programs=0), "max_programs = 0"),
        (lambda: ConicFixedPoint().kernel, "take Portfolio()"),
    ],
)
def test_wrong_settings_are_named_with_their_value(build, words):
    with pytest.raises(SettingError) as caught:
        build()
    assert words in str(caught.value)


def test_a_wrong_start_is_refused_and_an_empty_problem_is_solved():
    with pytest.raises(ModelError, match="P0 has shape"):
        ConicFixedPoint().solve(mixed(0), [1.0])
    assert ConicFixedPoint().solve(ContactProblem(np.zeros((0, 0)), np.zeros(0))).converged
