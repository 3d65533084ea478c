"""Time-discontinuous Galerkin in smooth motion: orders, stability, degree 0, lists of degrees, dense output."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems

FAMILIES = [sl.TDGMinus, sl.TDGPlus]
PENDULUM = problems.damped_pendulum()
# faster ones keep the errors of high orders away from rounding
QUICK_PENDULUM, FAST_PENDULUM = problems.damped_pendulum(omega=2.0), problems.damped_pendulum(omega=3.0)
DOUBLE_PENDULUM = problems.forced_double_pendulum()
ROUNDING = 2e-14


def end_errors(problem: sl.Problem, scheme, sizes) -> np.ndarray:
    """Return the largest errors of q and v at the end of the span, one row per number of steps."""
    begin, end = problem.t_span
    made = []
    for n in sizes:
        sol = sl.solve(problem, scheme=scheme, h=(end - begin) / n)
        q, v = sol.q[-1] - problem.exact.q(end), sol.v[-1] - problem.exact.v(end)
        made.append((np.max(np.abs(q)), np.max(np.abs(v))))
    return np.array(made)


def slopes(errors: np.ndarray, sizes) -> np.ndarray:
    """Return the orders between neighbouring grids."""
    ratio = np.log(np.array(sizes[1:]) / np.array(sizes[:-1]))
    return np.log(errors[:-1] / errors[1:]) / ratio.reshape(-1, *[1] * (errors.ndim - 1))


def worst_slope(errors: np.ndarray, sizes) -> float:
    """Return the smaller order of the two finest pairs."""
    return float(np.min(slopes(errors, sizes)[-2:]))


# ---- orders: (degree, order asked for, numbers of steps)

CLENSHAW_CURTIS = [
    (1, 1.9, (32, 64, 128)),
    (2, 3.85, (16, 32, 64)),
    (3, 3.85, (16, 32, 64)),
    (4, 5.7, (8, 16, 32)),
    (5, 5.7, (8, 16, 32)),
]
LOBATTO = [(1, 1.9, (32, 64, 128)), (2, 3.85, (32, 64, 128)), (3, 5.7, (16, 32, 64)), (4, 7.6, (6, 12, 24))]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("problem", [FAST_PENDULUM, DOUBLE_PENDULUM], ids=lambda p: p.name)
@pytest.mark.parametrize(("degree", "order", "sizes"), CLENSHAW_CURTIS)
def test_smooth_motion_has_order_2_4_4_6_6(family, problem, degree, order, sizes):
    errors = end_errors(problem, family(degree), sizes)
    assert worst_slope(errors[:, 1], sizes) >= order
    assert worst_slope(errors.max(axis=1), sizes) >= order


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("degree", "order", "sizes"), LOBATTO)
def test_lobatto_nodes_give_twice_the_degree(family, degree, order, sizes):
    errors = end_errors(FAST_PENDULUM if degree < 3 else QUICK_PENDULUM, family(degree, "lobatto"), sizes)
    assert worst_slope(errors[:, 1], sizes) >= order
    assert worst_slope(errors.max(axis=1), sizes) >= order


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("degree", "nodes", "order"), [(1, "clenshaw-curtis", 3), (2, "clenshaw-curtis", 5),
                                                        (3, "clenshaw-curtis", 5), (3, "lobatto", 7)])  # fmt: skip
def test_one_step_from_the_exact_state_errs_by_one_order_more(family, degree, nodes, order):
    sizes = {3: (0.02, 0.01, 0.005), 5: (0.04, 0.02, 0.01), 7: (0.12, 0.06, 0.03)}[order]
    local = [sl.study.local_error(FAST_PENDULUM, family(degree, nodes), t=0.7, h=h) for h in sizes]
    errors = np.array([max(np.abs(one.e_q).max(), np.abs(one.e_v).max()) for one in local])
    assert np.all(np.abs(-slopes(errors, sizes) - order) <= 0.2)


WEIGHTED = {("exact", 3): 3.0, ("exact", 4): 5.0, ("galerkin", 3): 4.0, ("galerkin", 4): 6.0}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("weighting", "degree"), WEIGHTED)
@pytest.mark.parametrize("problem", [QUICK_PENDULUM, DOUBLE_PENDULUM], ids=lambda p: p.name)
def test_exact_integrals_of_the_velocities_alone_cost_an_order_and_of_the_forces_too_restore_it(
    family, weighting, degree, problem
):
    sizes = (32, 64, 128) if degree == 3 else (16, 32, 64)
    errors = end_errors(problem, family(degree, weighting=weighting), sizes)
    order = WEIGHTED[weighting, degree]
    assert order - 0.3 <= worst_slope(errors.max(axis=1), sizes) <= order + 0.6


@pytest.mark.parametrize("family", FAMILIES)
def test_the_stiff_variant_and_the_step_estimate_follow_the_motion(family):
    settings = {"stiff": True} if family is sl.TDGPlus else {}
    sizes = (16, 32, 64)
    errors = end_errors(DOUBLE_PENDULUM, family(2, **settings), sizes)
    assert worst_slope(errors.max(axis=1), sizes) >= 3.85
    estimates = [sl.solve(DOUBLE_PENDULUM, scheme=family(2, **settings), h=1.5 / n).step_error.max() for n in sizes]
    if family is sl.TDGMinus:  # the left limit of the stage velocities is one order worse than the end
        assert np.all(np.abs(slopes(np.array(estimates), sizes) - 3.0) <= 0.3)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("degree", [2, 3, 12])
def test_a_polynomial_load_is_integrated_exactly(family, degree):
    flight = problems.free_flight()
    sol = sl.solve(flight, scheme=family(degree), h=0.25)
    times = np.linspace(0.0, 1.0, 23)
    np.testing.assert_allclose(sol.q, flight.exact.q(sol.t), rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(sol.v, flight.exact.v(sol.t), rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(sol(times).v, flight.exact.v(times), rtol=0.0, atol=ROUNDING)


def test_a_load_that_grows_with_the_square_of_time_costs_degree_one_what_a_prototype_lost():
    errors = end_errors(problems.free_flight(), sl.TDGMinus(1), (64, 128))
    np.testing.assert_allclose(errors[0], [2.0e-4, 4.1e-4], rtol=0.03)
    np.testing.assert_allclose(slopes(errors, (64, 128)), 2.0, atol=0.02)


# ---- stability


def oscillator(omega: float) -> sl.System:
    return sl.System(M=1.0, f=lambda q: [-(omega**2) * q[0]])


def test_degree_one_is_stable_up_to_two_steps_per_radian():
    steps = 4000
    inside, outside = (
        sl.solve(oscillator(1.0), (0.0, steps * h), 1.0, 0.0, scheme=sl.TDGMinus(1), h=h) for h in (1.999, 2.001)
    )
    assert np.max(np.abs(inside.q)) <= 1.0 + 1e-9  # q = cos(k phi): bounded by its start
    assert np.abs(outside.q[-1, 0]) >= 1e50


@pytest.mark.parametrize("stiffness", [1.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_the_stiff_variant_never_gains_energy(degree, stiffness):
    sol = sl.solve(oscillator(stiffness), (0.0, 300.0), 1.0, 0.0, scheme=sl.TDGPlus(degree, stiff=True), h=1.0)
    energy = 0.5 * sol.v[:, 0] ** 2 + 0.5 * stiffness**2 * sol.q[:, 0] ** 2
    assert np.all(np.diff(energy) <= 1e-14 * energy[0])
    if stiffness >= 10.0:
        assert energy[-1] <= 1e-12 * energy[0]


@pytest.mark.parametrize("nodes", ["clenshaw-curtis", "lobatto"])
@pytest.mark.parametrize("degree", range(7))
def test_D_plus_damps_whatever_the_step(degree, nodes):
    damped = sl.System(M=1.0, f=lambda t, q, v: [-1000.0 * v[0]])
    sol = sl.solve(damped, (0.0, 4.0), 0.0, 1.0, scheme=sl.TDGPlus(degree, nodes), h=1.0)
    assert np.all(np.abs(sol.v[1:]) <= 2e-3 * np.abs(sol.v[:-1]))


# ---- degree 0


@pytest.mark.parametrize("closed_tolerance", [0.0, 1e-10])
@pytest.mark.parametrize("problem", [problems.zeno_ball(), problems.impact_oscillator()], ids=lambda p: p.name)
def test_degree_zero_is_explicit_moreau_jean(problem, closed_tolerance):
    ours = sl.TDGMinus(0, impact="previous", closed_tolerance=closed_tolerance)
    theirs = sl.MoreauJean(theta=0.0, gamma=1.0, closed_tolerance=closed_tolerance)
    made, wanted = (sl.solve(problem, scheme=scheme, h=0.0117) for scheme in (ours, theirs))
    for quantity in ("q", "v", "impulse"):
        np.testing.assert_allclose(getattr(made, quantity), getattr(wanted, quantity), rtol=0.0, atol=1e-13)
    assert np.sum(made.events["kind"] == "impact") >= 4


@pytest.mark.parametrize("problem", [PENDULUM, DOUBLE_PENDULUM], ids=lambda p: p.name)
def test_degree_zero_of_D_plus_is_implicit_moreau_jean_in_smooth_motion(problem):
    theirs = sl.MoreauJean(theta=1.0, at="end", newton_tolerance=1e-14)
    made, wanted = (sl.solve(problem, scheme=scheme, h=0.01) for scheme in (sl.TDGPlus(0), theirs))
    np.testing.assert_allclose(made.q, wanted.q, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(made.v, wanted.v, rtol=0.0, atol=1e-12)


# ---- lists of degrees


@pytest.mark.parametrize("family", FAMILIES)
def test_a_list_of_equal_degrees_is_that_degree(family):
    one, listed = (sl.solve(PENDULUM, scheme=family(degree), h=0.125) for degree in (3, [3] * 16))
    np.testing.assert_array_equal(listed.q, one.q)
    np.testing.assert_array_equal(listed.v, one.v)
    np.testing.assert_array_equal(listed([0.3, 1.7]).q, one([0.3, 1.7]).q)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_interval_has_its_own_degree(family):
    h, degrees = 0.25, [8, 3, 12, 4, 5, 6, 7, 2]
    sol = sl.solve(PENDULUM, scheme=family(degrees), h=h)
    # degree 8 and 12 lose nothing, degree 2 loses most: the error is that of single steps from the exact state
    alone = [sl.study.local_error(PENDULUM, family(d), t=k * h, h=h) for k, d in enumerate(degrees)]
    most = sum(max(np.abs(one.e_q).max(), np.abs(one.e_v).max()) for one in alone)
    assert np.max(np.abs(sol.q[1] - PENDULUM.exact.q(h))) <= 1e-10
    assert np.max(np.abs(sol.v[-1] - PENDULUM.exact.v(2.0))) <= 2.0 * most
    times = np.linspace(0.0, 2.0, 41)
    assert np.max(np.abs(sol(times).q - PENDULUM.exact.q(times))) <= 1e-5


@pytest.mark.parametrize("family", FAMILIES)
def test_a_list_may_mix_constant_and_higher_degrees_through_impacts(family):
    ball = problems.zeno_ball(t_end=2.0)
    degrees = [k % 4 for k in range(200)]
    sol = sl.solve(ball, scheme=family(degrees), h=0.01)
    np.testing.assert_allclose(sol.impulse[:, 0], np.diff(sol.v[:, 0]) + 0.02, rtol=0.0, atol=1e-13)
    assert sl.study.error(sol, quantity="q") <= 0.05


def test_a_list_that_is_too_short_ends_the_run_with_a_sentence():
    with pytest.raises(sl.RunError, match="list of degrees is shorter than the run") as caught:
        sl.solve(PENDULUM, scheme=sl.TDGMinus([2] * 15), h=0.125)
    done = caught.value.solution
    assert done.status.name == "DEGREES_SPENT"
    assert done.t[-1] == 15 * 0.125 and not done.success


# ---- dense output

INSIDE = np.linspace(0.0, 1.0, 213)[1:-1] * (1.0 - 1e-3)  # shares of the span, off the grids


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("degree", "sizes"), [(1, (32, 64, 128)), (2, (16, 32, 64)), (3, (16, 32, 64)),
                                               (4, (8, 16, 32))])  # fmt: skip
@pytest.mark.parametrize("nodes", ["clenshaw-curtis", "lobatto"])
def test_positions_and_velocities_between_the_nodes_have_one_order_more_than_the_degree(family, degree, sizes, nodes):
    times = 2.0 * INSIDE
    made = [sl.solve(FAST_PENDULUM, scheme=family(degree, nodes), h=2.0 / n)(times) for n in sizes]
    q = np.array([np.max(np.abs(s.q - FAST_PENDULUM.exact.q(times))) for s in made])
    v = np.array([np.max(np.abs(s.v - FAST_PENDULUM.exact.v(times))) for s in made])
    # M + 2 where the nodes themselves are that good
    odd = degree == 1 or (nodes == "clenshaw-curtis" and degree % 2 == 1)
    order = degree + 1 if odd else degree + 2
    assert worst_slope(q, sizes) >= order - 0.15
    assert worst_slope(v, sizes) >= order - 0.15


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("degree", [0, 1, 4])
def test_dense_output_meets_the_nodes(family, degree):
    sol = sl.solve(DOUBLE_PENDULUM, scheme=family(degree), h=0.05)
    inner, small = sol.t[1:-1], 1e-9
    for side in (-small, small):
        near = sol(inner + side)
        np.testing.assert_allclose(near.q, sol.q[1:-1], rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(near.v, sol.v[1:-1], rtol=0.0, atol=1e-8 if degree > 0 else 1.0)
