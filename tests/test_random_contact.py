"""Random contact problems with b = W^T v_free: solved or honestly given up, never a false success.

Such problems always have a solution (Klarbring and Pang 1998, Acary, Cadoux, Lemarechal and Malick 2011), whatever the
rank of D. bench/contact_random.py counts the failures of 10 000 of them.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saltus.contact import NSGS, ContactProblem, Portfolio, SemismoothNewton
from saltus.contact.homotopy import Homotopy
from saltus.status import Status

ROWS = (1, 1, 2, 3)  # of a law, by kind
TOL = 1e-8


def natural_map(D, b, kinds, mu, P):
    """Return the scaled residual, written anew: nothing of the package is used."""
    u, rho, moved, first = D @ P + b, 1.0 / np.mean(np.diag(D)), [], 0
    for kind, mu_k in zip(kinds, mu, strict=True):
        P_k, z = P[first : first + ROWS[kind]], rho * u[first : first + ROWS[kind]]
        first += ROWS[kind]
        if kind == 0:
            moved.append(z)
        elif kind == 1:
            moved.append(np.minimum(P_k, z))
        else:
            z = z + np.array([mu_k * np.linalg.norm(z[1:]), *np.zeros(len(z) - 1)])
            x = P_k - z
            x_T = np.linalg.norm(x[1:])
            along = (x[0] + mu_k * x_T) / (1.0 + mu_k**2)  # on the nearest edge of the cone
            if x[0] >= 0.0 and x_T <= mu_k * x[0]:
                moved.append(z)
            elif along <= 0.0:
                moved.append(P_k)
            else:
                moved.append(P_k - along * np.array([1.0, *(mu_k * x[1:] / x_T)]))
    return np.linalg.norm(np.concatenate(moved)) / (rho * np.linalg.norm(b))


@st.composite
def problems(draw, most=50):
    """Draw M, W, v_free, kinds and mu."""
    contacts = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    laws = draw(st.sampled_from(["mixed", "planar", "spatial", "unilateral", "joints"]))
    kinds = {
        "mixed": rng.integers(0, 4, contacts),
        "planar": np.full(contacts, 2),
        "spatial": np.full(contacts, 3),
        "unilateral": np.full(contacts, 1),
        "joints": rng.integers(0, 2, contacts),
    }[laws]
    n, nv = sum(ROWS[kind] for kind in kinds), draw(st.integers(1, 60))
    spread = 10.0 ** rng.uniform(-0.5, 0.5, nv) ** draw(st.sampled_from([0.0, 1.0, 6.0]))
    root = rng.standard_normal((nv, nv))
    M = (root @ root.T / nv + 0.1 * np.eye(nv)) * np.sqrt(spread[:, None] * spread)
    form = draw(st.sampled_from(["dense", "integers", "sparse", "twins"]))
    W = rng.integers(-2, 3, (nv, n)).astype(float) if form == "integers" else rng.standard_normal((nv, n))
    if form == "sparse":
        W *= rng.random((nv, n)) < 0.3
    if form == "twins" and contacts > 1:
        first = np.cumsum([0, *(ROWS[kind] for kind in kinds)])
        for k in range(1, contacts):
            if kinds[k] == kinds[k - 1] and rng.random() < 0.5:
                W[:, first[k] : first[k + 1]] = W[:, first[k - 1] : first[k]]
    mu = draw(
        st.one_of(
            st.floats(0.0, 2.0).map(lambda value: np.full(contacts, value)),
            st.just(rng.uniform(0.0, 2.0, contacts)),
            st.just(rng.choice([0.0, 1.0, 2.0], contacts)),
        )
    )
    mass, speed = 10.0 ** draw(st.floats(-8.0, 8.0)), 10.0 ** draw(st.floats(-8.0, 8.0))
    return mass * M, W, speed * rng.standard_normal(nv), kinds, mu


def check(data, solver, tol):
    M, W, v_free, kinds, mu = data
    D, b = W.T @ np.linalg.solve(M, W), W.T @ v_free
    problem = ContactProblem(0.5 * (D + D.T), b, mu=mu, kinds=list(kinds))
    result = solver.solve(problem)
    assert result.residual == pytest.approx(problem.residual(result.P))
    if not b.any():
        assert result.converged
        return result
    if result.converged:
        # what the rounding of D alone makes of u where impulses are large
        noise = 1e-14 * np.max(np.abs(D) @ np.abs(result.P)) / np.linalg.norm(b)
        assert natural_map(D, b, kinds, mu, result.P) <= 1.01 * tol + noise
        assert result.status == Status.OK
    else:
        # there is a solution: a proof of the opposite would be wrong
        assert result.status == Status.CONTACT_STALLED
        assert result.residual > tol
    return result


@given(problems())
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_portfolio_solves_a_random_problem_or_says_that_it_cannot(data):
    check(data, Portfolio(tol=TOL, max_sweeps=2000), TOL)


@pytest.mark.parametrize("solver", [NSGS, SemismoothNewton, Homotopy], ids=lambda s: s.__name__)
@given(data=problems(most=8))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_member_claims_what_its_residual_denies(solver, data):
    check(data, solver(tol=TOL, **({"max_sweeps": 1000} if solver is NSGS else {})), TOL)


@pytest.mark.parametrize("seed", range(60))
def test_redundant_problems_with_strong_friction_are_all_solved(seed):
    # ten contacts in space on six degrees of freedom
    rng = np.random.default_rng(seed)
    W, v_free, mu = rng.standard_normal((6, 30)), rng.standard_normal(6), rng.uniform(0.0, 2.0, 10)
    data = np.diag(10.0 ** rng.uniform(-2.0, 2.0, 6)), W, v_free, np.full(10, 3), mu
    assert check(data, Portfolio(tol=1e-10), 1e-10).converged


@pytest.mark.parametrize("seed", range(20))
def test_the_curve_from_a_shifted_matrix_ends_at_a_solution(seed):
    rng = np.random.default_rng(seed)
    W, v_free, mu = rng.standard_normal((8, 45)), rng.standard_normal(8), rng.uniform(0.0, 2.0, 15)
    assert check((np.eye(8), W, v_free, np.full(15, 3), mu), Homotopy(tol=1e-10), 1e-10).converged
