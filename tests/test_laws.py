"""Laws as sets: projections are projections, local solutions obey the law, the two bundles agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus.compile.seam import exposed
from saltus.contact import NSGS, ContactProblem, Portfolio
from saltus.errors import ModelError
from saltus.laws import (
    BILATERAL,
    COULOMB_ELLIPTIC,
    COULOMB_PLANAR,
    COULOMB_ROLLING,
    COULOMB_SPATIAL,
    LAWS,
    LOCAL_ROOM,
    MOST_ROWS,
    ROLLING_SPATIAL,
    ROWS_OF,
    UNILATERAL,
    frictional_cone,
    frictional_local,
    frictionless_cone,
    frictionless_local,
)
from saltus.status import Status

KINDS = (BILATERAL, UNILATERAL, COULOMB_PLANAR, COULOMB_SPATIAL, COULOMB_ROLLING)  # with exact local solutions
FRICTIONAL = (COULOMB_PLANAR, COULOMB_SPATIAL, COULOMB_ROLLING)
ROUNDING = 1e-12  # of numbers of size 1
SMALLEST = 1e-150  # np.linalg.norm squares: smaller components lose their digits

numbers = st.floats(-10.0, 10.0, allow_subnormal=False).map(lambda x: x if abs(x) > 1e-6 else 0.0)
vectors = st.lists(numbers, min_size=5, max_size=5).map(np.array)
coefficients = st.floats(0.0, 3.0, allow_subnormal=False)
matrices = st.lists(numbers, min_size=9, max_size=9).map(lambda x: np.array(x).reshape(3, 3))
no_deadline = settings(deadline=None, max_examples=200)


def project(kind, mu, P):
    out = np.array(P, dtype=float)
    assert exposed(frictional_cone)(kind, mu, out) == Status.OK
    return out


def solve(kind, mu, D, b):
    """Return P of the block problem, from D of its own size."""
    n, width = ROWS_OF[kind], max(3, ROWS_OF[kind])
    flat, free, P = np.zeros((width, width)), np.zeros(width), np.full(LOCAL_ROOM, np.nan)
    flat[:n, :n], free[:n] = D, b
    status = exposed(frictional_local)(kind, mu, flat.ravel(), free, P)
    return Status(status), P[:n]


def law_error(kind, mu, D, b, P):
    """Return how far P is from the law, relative to the terms that cancel in it."""
    u = D @ P + b
    u_size = max(np.abs(D).max() * np.abs(P).max() + np.abs(b).max(), 1e-300)
    P_size = max(np.abs(P).max(), 1e-300)
    if kind == BILATERAL:
        return abs(u[0]) / u_size
    errors = [max(-P[0], 0.0) / P_size, max(-u[0], 0.0) / u_size, abs(u[0] / u_size * P[0] / P_size)]
    for mine in frictions(kind):
        u_T, P_T = u[mine], P[mine]
        errors.append(max(np.linalg.norm(P_T) - mu * P[0], 0.0) / P_size)
        # P_T = -mu P_N u_T / |u_T|, multiplied by |u_T|
        errors.append(np.linalg.norm(np.linalg.norm(u_T) / u_size * P_T + mu * P[0] * u_T / u_size) / P_size)
    return max(errors)


def frictions(kind):
    """Return the rows of each friction of a law."""
    ends = 1 + np.cumsum([0, *LAWS[kind].FRICTIONS])
    return [slice(begin, end) for begin, end in itertools.pairwise(ends)]


def test_each_law_says_its_kind_and_rows():
    assert [law.KIND for law in LAWS] == [0, 1, 2, 3, 4, 5, 6]
    assert [law.ROWS for law in LAWS] == [1, 1, 2, 3, 3, 3, 5]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.NAME)
def test_each_law_fills_in_the_form(law):
    assert law.ROWS == 1 + sum(law.FRICTIONS) == len(law.AXES) <= MOST_ROWS
    assert LAWS[law.KERNEL].FRICTIONS == law.FRICTIONS  # another law only in other units
    assert len(law.NUMBERS) == 0 if not law.FRICTIONS else len(law.NUMBERS) >= 1
    assert hasattr(law, "units") == (len(law.NUMBERS) > 1)
    if hasattr(law, "units"):
        equal = law.units(*[0.3] * len(law.NUMBERS))
        assert equal == (1.0,) * law.ROWS  # where all numbers are the same, the units are those of the rows


@pytest.mark.parametrize("kind", (*KINDS, ROLLING_SPATIAL))
@given(mu=coefficients, P=vectors, other=vectors)
@no_deadline
def test_projection_is_idempotent_nonexpansive_and_nearest(kind, mu, P, other):
    n = ROWS_OF[kind]
    P, other = P[:n], other[:n]
    projected, of_other = project(kind, mu, P), project(kind, mu, other)
    size = 1.0 + np.abs(P).max() + np.abs(other).max()
    assert np.allclose(project(kind, mu, projected), projected, rtol=0.0, atol=ROUNDING * size)
    assert np.linalg.norm(projected - of_other) <= np.linalg.norm(P - other) + ROUNDING * size
    # variational inequality: the error makes an obtuse angle with every way into the set
    assert (P - projected) @ (of_other - projected) <= ROUNDING * size * size


@pytest.mark.parametrize("kind", (*FRICTIONAL, ROLLING_SPATIAL))
@given(mu=coefficients, P=vectors)
@no_deadline
def test_projection_lands_in_the_friction_cone(kind, mu, P):
    projected = project(kind, mu, P[: ROWS_OF[kind]])
    assert projected[0] >= 0.0
    for mine in frictions(kind):
        assert np.linalg.norm(projected[mine]) <= mu * projected[0] * (1.0 + ROUNDING) + SMALLEST


@pytest.mark.parametrize("kind", KINDS)
@given(mu=coefficients, root=matrices, b=vectors)
@no_deadline
def test_local_solution_obeys_the_law_for_positive_definite_D(kind, mu, root, b):
    n = ROWS_OF[kind]
    D = root[:n, :n] @ root[:n, :n].T + 0.1 * np.eye(n)
    status, P = solve(kind, mu, D, b[:n])
    assert status == Status.OK
    assert law_error(kind, mu, D, b[:n], P) <= ROUNDING


@pytest.mark.parametrize("kind", FRICTIONAL)
@pytest.mark.parametrize("rank", [1, 2])
def test_local_solution_obeys_the_law_for_singular_D(kind, rank):
    rng = np.random.default_rng(7)
    n = ROWS_OF[kind]
    for _ in range(300):
        root = rng.standard_normal((n, rank))
        D = root @ root.T
        b = D @ rng.standard_normal(n)  # within reach, so that a solution exists
        mu = rng.uniform(0.0, 3.0)
        status, P = solve(kind, mu, D, b)
        assert status == Status.OK
        assert law_error(kind, mu, D, b, P) <= ROUNDING


@pytest.mark.parametrize("kind", FRICTIONAL)
def test_local_solution_obeys_the_law_for_unsymmetric_D(kind):
    rng = np.random.default_rng(11)
    n = ROWS_OF[kind]
    for _ in range(300):
        root = rng.standard_normal((n, n))
        D = root @ root.T + 0.2 * np.eye(n)
        D += 1e-3 * rng.standard_normal((n, n))
        b, mu = rng.standard_normal(n), rng.uniform(0.0, 1.0)
        status, P = solve(kind, mu, D, b)
        assert status == Status.OK
        assert law_error(kind, mu, D, b, P) <= ROUNDING


@pytest.mark.parametrize("kind", FRICTIONAL)
@pytest.mark.parametrize("size", [1e-150, 1e-12, 1e12, 1e150])
def test_local_solution_scales_with_b(kind, size):
    n = ROWS_OF[kind]
    D = np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.1], [-0.2, 0.1, 1.0]])[:n, :n]
    for b in (np.array([-1.0, 0.3, 0.2])[:n], np.array([-1.0, 3.0, -2.0])[:n]):
        reference = solve(kind, 0.4, D, b)[1]
        assert np.allclose(solve(kind, 0.4, D, size * b)[1] / size, reference, rtol=1e-13)


@pytest.mark.parametrize("kind", FRICTIONAL)
def test_a_direction_that_cannot_move_slips_with_its_own_velocity(kind):
    # the tangential rows have no mass to push: u_T = b_T whatever P is, as on a belt under a guided block
    n = ROWS_OF[kind]
    D, b = np.zeros((n, n)), np.array([-1.0, 0.3, 0.4])[:n]
    D[0, 0] = 2.0
    status, P = solve(kind, 0.5, D, b)
    assert status == Status.OK
    assert P[0] == pytest.approx(0.5)
    for mine in frictions(kind):
        assert P[mine] == pytest.approx(-0.25 * b[mine] / np.linalg.norm(b[mine]))


@pytest.mark.parametrize("kind", FRICTIONAL)
def test_without_friction_the_coulomb_law_is_the_unilateral_law(kind):
    n = ROWS_OF[kind]
    D = np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.1], [-0.2, 0.1, 1.0]])[:n, :n]
    status, P = solve(kind, 0.0, D, np.array([-1.0, 3.0, -2.0])[:n])
    assert status == Status.OK
    assert P == pytest.approx([0.5, 0.0, 0.0][:n], abs=1e-15)


def test_spatial_law_along_one_direction_is_the_planar_law():
    D = np.array([[2.0, 0.4], [0.4, 1.5]])
    D_space = np.zeros((3, 3))
    D_space[:2, :2], D_space[2, 2] = D, 1.0
    for b in ([-1.0, 0.1], [-1.0, 2.0], [-1.0, -2.0], [1.0, 2.0]):
        plane = solve(COULOMB_PLANAR, 0.3, D, np.array(b))[1]
        space = solve(COULOMB_SPATIAL, 0.3, D_space, np.array([*b, 0.0]))[1]
        assert space == pytest.approx([*plane, 0.0], abs=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_without_mass_that_must_stop_is_unsolvable(kind):
    n = ROWS_OF[kind]
    status, _ = solve(kind, 0.5, np.zeros((n, n)), -np.ones(n))
    assert status == Status.CONTACT_UNSOLVABLE


@pytest.mark.parametrize("kind", (BILATERAL, UNILATERAL))
@given(D=st.floats(0.1, 10.0), b=numbers)
@no_deadline
def test_the_two_bundles_agree_without_friction(kind, D, b):
    matrix, free = np.zeros(9), np.array([b, 0.0, 0.0])
    matrix[0] = D
    small, large = np.full(3, np.nan), np.full(3, np.nan)
    assert exposed(frictionless_local)(kind, 0.0, matrix, free, small) == 0
    assert exposed(frictional_local)(kind, 0.0, matrix, free, large) == 0
    assert small[0] == large[0]
    small, large = np.array([b]), np.array([b])
    exposed(frictionless_cone)(kind, 0.0, small)
    exposed(frictional_cone)(kind, 0.0, large)
    assert small[0] == large[0]


# ---- blocks of contacts on mechanisms: singular but for rounding


def mechanism_block(rng, n, rank, noise):
    """Return D and b of a contact that a mechanism lets move in `rank` directions only, with rounding of that size."""
    X = rng.standard_normal((n, rank)) * 10.0 ** rng.uniform(-1.0, 1.0, rank)
    D, b = X @ X.T, X @ rng.standard_normal(rank)
    b *= -np.sign(b[0])
    D += noise * np.trace(D) * rng.standard_normal((n, n))
    return D, b + noise * np.linalg.norm(b) * rng.standard_normal(n)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-15, 1e-14, 1e-13])
@pytest.mark.parametrize(("kind", "rank"), [(2, 1), (3, 1), (3, 2), (5, 1), (5, 2)])
def test_a_contact_on_a_mechanism_is_solved_as_well_as_its_block_is_known(kind, rank, noise):
    rng = np.random.default_rng(31)
    for _ in range(300):
        D, b = mechanism_block(rng, ROWS_OF[kind], rank, noise)
        mu = rng.choice([0.05, 0.1, 0.3, 0.8, 1.5])
        if not (D[0, 0] > 0.0 > b[0]):
            continue
        problem = ContactProblem(D, b, mu=[mu] * len(LAWS[kind].NUMBERS), kinds=[kind])
        status, P = solve(kind, mu, D, b)
        assert status == Status.OK
        assert problem.residual(P) <= 3e3 * noise + 1e-13


@pytest.mark.parametrize("solver", [NSGS(), Portfolio()], ids=["NSGS", "Portfolio"])
def test_contacts_on_mechanisms_that_push_each_other_are_solved(solver):
    rng = np.random.default_rng(37)
    for _ in range(50):
        # three contacts of a mechanism with four degrees of freedom
        X = rng.standard_normal((9, 4))
        for k in range(3):
            X[3 * k : 3 * k + 3] = rng.standard_normal((3, 1)) @ X[3 * k : 3 * k + 1]  # each moves in one direction
        D, b = X @ X.T, X @ rng.standard_normal(4)
        problem = ContactProblem(D, b, mu=[0.1, 0.3, 0.8], kinds=[COULOMB_SPATIAL] * 3)
        result = solver.solve(problem)
        assert result.converged
        assert problem.residual(result.P) <= 1e-10


# ---- laws with several friction numbers, in the units of the user


@pytest.mark.parametrize("coupled", [False, True])
def test_elliptic_friction_takes_most_power_of_all_that_is_admissible(coupled):
    """Against the definition: P in the ellipse, no other P with the same P_N takes more power, rest inside of it."""
    rng = np.random.default_rng(5)
    slips = 0
    for _ in range(200):
        root = rng.standard_normal((3, 3))
        D = root @ root.T + 0.2 * np.eye(3) if coupled else np.diag(rng.uniform(0.3, 3.0, 3))
        b, mu = rng.standard_normal(3) - [1.0, 0.0, 0.0], 10.0 ** rng.uniform(-1.5, 0.0, 2)
        problem = ContactProblem(D, b, mu=mu, kinds=[COULOMB_ELLIPTIC])
        result = Portfolio().solve(problem)
        assert result.converged
        P, u = result.P, D @ result.P + b
        assert u == pytest.approx(result.u, abs=1e-12)
        assert u[0] >= -1e-12 and P[0] >= 0.0 and abs(u[0] * P[0]) <= 1e-12 * (1.0 + P[0])
        assert (P[1] / mu[0]) ** 2 + (P[2] / mu[1]) ** 2 <= P[0] ** 2 * (1.0 + 1e-9) + 1e-24
        angle = np.linspace(0.0, 2.0 * np.pi, 2001)
        least = P[0] * np.min(mu[0] * np.cos(angle) * u[1] + mu[1] * np.sin(angle) * u[2])
        assert P[1:] @ u[1:] <= least + 1e-6 * abs(least) + 1e-12
        slips += np.linalg.norm(u[1:]) > 1e-6 and P[0] > 0.0
    assert slips > 50


def test_blocks_of_spatial_rolling_are_solved_or_said_not_to_be():
    rng = np.random.default_rng(6)
    said, states = 0, set()
    for _ in range(1000):
        root = rng.standard_normal((5, 5))
        D, mu, b = root @ root.T + 0.1 * np.eye(5), rng.uniform(0.05, 1.0), rng.standard_normal(5)
        b[0] = -abs(b[0])
        status, P = solve(ROLLING_SPATIAL, mu, D, b)
        if status != Status.OK:
            said += status == Status.CONTACT_STALLED
            continue
        assert law_error(ROLLING_SPATIAL, mu, D, b, P) <= 1e-9
        u = D @ P + b
        states.add((np.linalg.norm(u[1:3]) > 1e-6, np.linalg.norm(u[3:]) > 1e-6))
    assert said <= 3
    assert len(states) == 4  # both frictions stick and slip


@pytest.mark.parametrize(
    ("kinds", "mu", "words"),
    [
        (["coulomb_elliptic"], 0.3, "one entry per block"),
        (["coulomb_elliptic"], (0.3, 0.0), "positive friction numbers"),
        (["coulomb_rolling"], (0.3, 0.1, 0.2), r"wants 2: \(mu, mu_r\)"),
        (["coulomb_rolling", "unilateral"], [(0.3, 0.1)], "one entry per block"),
        (["rolling_spatial"], (0.3, -0.1), "positive friction numbers"),
    ],
)
def test_friction_numbers_that_make_no_law_are_refused(kinds, mu, words):
    n = sum(LAWS[[law.NAME for law in LAWS].index(kind)].ROWS for kind in kinds)
    with pytest.raises(ModelError, match=words):
        ContactProblem(np.eye(n), -np.ones(n), mu=mu, kinds=kinds)
