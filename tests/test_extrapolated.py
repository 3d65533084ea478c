"""Extrapolated: orders in smooth motion and on closed contacts, impacts, rest, admissible impulses, dense output."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import saltus as sl
from saltus import Extrapolated, problems

MIDPOINT, EULER, PAOLI = sl.MoreauJean(), sl.MoreauJean(theta=1.0), sl.PaoliVelocity()
BASES = [MIDPOINT, EULER, PAOLI]


def named(value) -> str | None:
    if hasattr(value, "plan"):
        return f"{value.name} {getattr(value, 'theta', '')}"
    return value.name if isinstance(value, sl.Problem) else None


def run(problem: sl.Problem, scheme, steps: int) -> sl.Solution:
    return sl.solve(problem, scheme=scheme, h=problem.t_span[1] / steps)


def end_errors(solution: sl.Solution) -> np.ndarray:
    """Largest errors of position, velocity and, where it is known, total impulse at the end."""
    t, exact = solution.t[-1], solution.exact
    errors = [solution.q[-1] - exact.q(t), solution.v[-1] - exact.v(t)]
    if exact.impulse is not None:
        errors.append(solution.impulse.sum(axis=0) - exact.impulse(t))
    return np.array([np.max(np.abs(error)) for error in errors])


def orders(problem: sl.Problem, scheme, steps: tuple[int, int, int]) -> np.ndarray:
    errors = [end_errors(run(problem, scheme, n)) for n in steps]
    return -np.polyfit(np.log(steps), np.log(errors), 1)[0]


# ---- smooth motion

TOP = problems.spinning_top(t_end=0.2)
DOUBLE, DAMPED = problems.forced_double_pendulum(), problems.damped_pendulum()
SMOOTH = [
    (DAMPED, EULER, 2, 2, (20, 40, 80)),
    (DAMPED, EULER, 3, 3, (20, 40, 80)),
    (DAMPED, EULER, 4, 4, (10, 20, 40)),
    (DAMPED, MIDPOINT, 2, 4, (10, 20, 40)),
    (DAMPED, MIDPOINT, 3, 6, (8, 12, 18)),
    (DOUBLE, EULER, 2, 2, (40, 80, 160)),
    (DOUBLE, EULER, 3, 3, (40, 80, 160)),
    (DOUBLE, MIDPOINT, 2, 4, (20, 40, 80)),
    (DOUBLE, PAOLI, 2, 2, (40, 80, 160)),
    (DOUBLE, PAOLI, 3, 3, (20, 40, 80)),
    (TOP, EULER, 3, 3, (80, 160, 320)),
    (TOP, MIDPOINT, 2, 4, (40, 80, 160)),
]


@pytest.mark.parametrize(("problem", "scheme", "order", "reached", "steps"), SMOOTH, ids=named)
def test_smooth_motion_has_the_order_and_symmetric_schemes_twice_the_order(problem, scheme, order, reached, steps):
    assert np.all(orders(problem, Extrapolated(scheme, order), steps) >= reached - 0.25)


def test_the_pendulum_on_a_joint_has_order_four_and_keeps_its_rod():
    problem, scheme = problems.rod_pendulum(), Extrapolated(MIDPOINT)
    np.testing.assert_allclose(orders(problem, scheme, (40, 80, 160)), 4.0, atol=0.2)
    assert run(problem, scheme, 80).end_violation.max() < 1e-13
    assert run(problem, MIDPOINT, 80).end_violation.max() > 1e-5


def test_quaternions_stay_of_unit_length():
    solution = run(TOP, Extrapolated(EULER, 3), 80)
    np.testing.assert_allclose(np.linalg.norm(solution.q, axis=1), 1.0, rtol=1e-14)


def test_without_the_even_series_two_columns_of_the_midpoint_rule_leave_its_order():
    found = orders(DAMPED, Extrapolated(MIDPOINT, symmetric=False), (10, 20, 40))
    np.testing.assert_allclose(found, 2.0, atol=0.2)


def test_any_increasing_sequence_of_columns_has_the_order():
    assert np.all(orders(DAMPED, Extrapolated(EULER, 3, sequence=(1, 2, 4)), (20, 40, 80)) >= 2.75)


# ---- closed contact

HELD = sl.MoreauJean(
    theta=1.0, closed_tolerance=1e-2
)  # its gap opens by (|v| h)^2/2R in each substep inside of a circle
BOWL, ROUGH_BOWL = problems.circle_slide(), problems.circle_slide(mu=0.2)
CLOSED = [
    (BOWL, MIDPOINT, 2),
    (BOWL, MIDPOINT, 3),
    (ROUGH_BOWL, PAOLI, 2),
    (ROUGH_BOWL, PAOLI, 3),
    (ROUGH_BOWL, HELD, 2),
    (ROUGH_BOWL, HELD, 3),
]


@pytest.mark.parametrize(("problem", "scheme", "order"), CLOSED, ids=named)
def test_a_bead_on_a_curved_wall_has_the_order_in_position_velocity_and_impulse(problem, scheme, order):
    assert np.all(orders(problem, Extrapolated(scheme, order), (20, 40, 80)) >= order - 0.25)


@pytest.mark.parametrize(("problem", "scheme", "order"), CLOSED, ids=named)
def test_a_closed_contact_on_a_curved_wall_neither_drifts_nor_chatters(problem, scheme, order):
    solution = run(problem, Extrapolated(scheme, order), 40)
    assert np.max(np.abs(1.0 - np.hypot(*solution.q.T))) < 1e-14
    assert np.max(np.abs(np.sum(solution.q * solution.v, axis=1))) < 1e-14
    assert not set(solution.events["kind"]) & {"impact", "release"}


@pytest.mark.parametrize(("scheme", "order", "reached"), [(EULER, 2, 2), (MIDPOINT, 2, 4), (PAOLI, 3, 3)], ids=named)
def test_the_impulse_of_a_ball_at_rest_has_the_order(scheme, order, reached):
    problem, steps = problems.rest_phase(load="exponential"), (10, 20, 40)
    solutions = [run(problem, Extrapolated(scheme, order), n) for n in steps]
    errors = [abs(s.impulse.sum() - problem.exact.impulse(1.0)[0]) for s in solutions]
    assert -np.polyfit(np.log(steps), np.log(errors), 1)[0] >= reached - 0.1
    assert all(np.all(s.q == 0.0) and np.all(s.v == 0.0) for s in solutions)


def test_a_bead_that_slides_off_a_circle_leaves_it_with_small_error():
    problem = problems.slide_off()
    errors = [end_errors(run(problem, scheme, 400)) for scheme in (EULER, Extrapolated(EULER, 3))]
    assert np.all(errors[1] < 1e-3 * errors[0])


# ---- impacts


@functools.cache
def reference(t_end: float) -> sl.Solution:
    return sl.solve(problems.slider_crank(), t_span=(0.0, t_end), scheme=MIDPOINT, h=t_end / 40_000)


def mean_errors(problem: sl.Problem, scheme, size: int) -> np.ndarray:
    """L1 errors of q and v on the grid, averaged over six incommensurate grids."""
    made = []
    for n in (size + 17 * k for k in range(6)):
        solution = run(problem, scheme, n)
        exact = solution.exact
        known = reference(problem.t_span[1])(solution.t) if exact is None else None
        q, v = (known.q, known.v) if known else (exact.q(solution.t), exact.v(solution.t))
        made.append([np.mean(np.abs(solution.q - q)), np.mean(np.abs(solution.v - v))])
    return np.mean(made, axis=0)


SLIDER = problems.slider_crank()
STRUCK = [
    problems.zeno_ball(),
    problems.impact_oscillator(t_end=8.0),
    sl.Problem(SLIDER.system, (0.0, 0.012), SLIDER.q0, SLIDER.v0, name="slider_crank"),
]


@pytest.mark.parametrize("scheme", BASES, ids=named)
@pytest.mark.parametrize("problem", STRUCK, ids=named)
def test_through_impacts_the_error_is_smaller_than_that_of_the_scheme_alone(problem, scheme):
    base = mean_errors(problem, scheme, 401)
    for order in (2, 3):
        assert np.all(mean_errors(problem, Extrapolated(scheme, order), 401) <= base)


@pytest.mark.parametrize("scheme", BASES, ids=named)
def test_a_ball_comes_to_rest_and_its_impulses_carry_it(scheme):
    problem = problems.zeno_ball()
    solution = run(problem, Extrapolated(scheme), 1601)
    late = solution.t > 3.2  # the last of infinitely many impacts is at 3 s
    assert np.all(solution.v[late] == 0.0)
    assert np.all(solution.impulse >= 0.0)
    np.testing.assert_allclose(solution.impulse[late[1:]][1:-1, 0], 2.0 * 4.0 / 1601, rtol=1e-12)


@pytest.mark.parametrize("scheme", BASES, ids=named)
def test_ten_thousand_steps_at_rest_do_not_move_a_ball(scheme):
    ball = problems.zeno_ball()
    solution = sl.solve(ball.system, (0.0, 100.0), [0.0], [0.0], scheme=Extrapolated(scheme), h=1e-2)
    assert np.all(solution.v == 0.0)
    assert np.all(solution.q == 0.0)


@pytest.mark.parametrize("scheme", [MIDPOINT, PAOLI], ids=named)
def test_a_bead_that_swings_in_a_bowl_for_ten_thousand_steps_stays_on_it(scheme):
    problem = problems.bowl(e=0.0, t_end=50.0)
    alone, solution = (run(problem, s, 10_000) for s in (scheme, Extrapolated(scheme)))
    after = solution.t > 2.0  # the only impact is before
    gap = 1.0 - np.hypot(*solution.q[after].T)
    assert np.ptp(gap) < 1e-12
    assert np.all(-gap <= alone.violation.max())
    rate = np.sum(solution.q * solution.v, axis=1)[after]
    assert np.max(np.abs(rate)) < 1e-13
    energy = [np.sum(s.v**2, axis=1)[after] / 2.0 + s.q[after, 1] for s in (alone, solution)]
    drift = [np.max(np.abs(e - e[0])) for e in energy]
    assert drift[1] < 0.02 * drift[0]


# ---- what is recorded


def test_impulses_of_a_tumbling_box_are_admissible():
    problem = problems.tumbling_box(t_end=0.6)
    solution = sl.solve(problem, scheme=Extrapolated(MIDPOINT), h=2e-3)
    N, T1, T2 = np.moveaxis(solution.impulse.reshape(-1, 8, 3), 2, 0)
    assert np.any(N > 0.0)
    assert np.all(N >= 0.0)
    assert np.all(np.hypot(T1, T2) <= 0.3 * N + 1e-15)
    np.testing.assert_allclose(np.linalg.norm(solution.q[:, 3:], axis=1), 1.0, rtol=1e-14)


def test_momentum_and_energy_of_a_slide_across_an_incline_are_balanced_to_the_order():
    problem, steps = problems.incline_3d(), (50, 100, 200)
    solutions = [run(problem, Extrapolated(EULER, 2), n) for n in steps]
    assert all(
        np.all(np.hypot(*s.impulse[:, 1:].T) <= s.impulse[:, 0] * problem.system.contacts[0].mu) for s in solutions
    )
    defects = [np.max(np.abs(s.energy.defect)) for s in solutions]
    assert -np.polyfit(np.log(steps), np.log(defects), 1)[0] >= 1.8


@pytest.mark.parametrize(("problem", "scheme"), [(ROUGH_BOWL, PAOLI), (TOP, MIDPOINT)], ids=named)
def test_dense_output_between_the_nodes_is_of_third_order(problem, scheme):
    t = np.linspace(0.0, problem.t_span[1], 997)
    errors = []
    for n in (40, 80, 160):
        state = run(problem, Extrapolated(scheme, 3), n)(t)
        errors.append([np.max(np.abs(state.q - problem.exact.q(t))), np.max(np.abs(state.v - problem.exact.v(t)))])
    found = -np.polyfit(np.log([40, 80, 160]), np.log(errors), 1)[0]
    assert np.all(found >= 2.75)


def test_dense_output_meets_its_nodes_and_the_substeps_of_impacts():
    problem = problems.zeno_ball()
    solution = run(problem, Extrapolated(MIDPOINT), 101)
    inside, h = solution.t[1:-1], 4.0 / 101
    before, after = solution(inside - 1e-9), solution(inside + 1e-9)
    assert np.max(np.abs(before.q - after.q)) < 1e-8
    strikes = solution.events["t"][solution.events["kind"] == "impact"]
    places = strikes / (h / 8.0)
    np.testing.assert_allclose(places, np.round(places), atol=1e-9)
    offgrid = strikes[np.abs(strikes / h - np.round(strikes / h)) > 1e-6]
    jump = solution(offgrid).v - solution(offgrid, side="-").v
    assert len(offgrid)
    assert np.all(jump > 0.0)


def test_step_doubling_of_it_makes_its_half_steps_and_estimates_their_error():
    problem = problems.zeno_ball()
    doubled = run(problem, sl.StepDoubling(Extrapolated(MIDPOINT), rtol=0.0, atol=1.0), 101)
    halves = run(problem, Extrapolated(MIDPOINT), 202)
    np.testing.assert_allclose(doubled.v, halves.v[::2], rtol=0.0, atol=1e-12)
    assert np.max(doubled.step_error) > 1e-4
    t = np.linspace(0.0, 4.0, 333)
    np.testing.assert_allclose(doubled(t).q, halves(t).q, rtol=0.0, atol=1e-12)


# ---- settings

REFUSED = {
    "a class": (lambda: Extrapolated(sl.MoreauJean), r"needs a scheme such as MoreauJean\(\)"),
    "a wrapper": (lambda: Extrapolated(sl.StepDoubling(MIDPOINT)), r"wraps no other: give StepDoubling"),
    "one step size": (lambda: Extrapolated(sl.SchatzmanPaoli()), r"SchatzmanPaoli cannot change its step"),
    "own steps": (lambda: Extrapolated(sl.EventDriven()), r"EventDriven chooses where they end"),
    "order": (lambda: Extrapolated(MIDPOINT, 1), r"order of Extrapolated is 1: it must be 2 to 6"),
    "order of text": (lambda: Extrapolated(MIDPOINT, "2"), r"order of Extrapolated is '2'"),
    "falling": (lambda: Extrapolated(MIDPOINT, sequence=(2, 1)), r"sequence.*\(2, 1\).*increasing, like \(1, 2, 4\)"),
    "fractions": (lambda: Extrapolated(MIDPOINT, sequence=(1, 2.5)), r"sequence.*increasing"),
    "a number": (lambda: Extrapolated(MIDPOINT, sequence=3), r"has 1 columns: order 2 needs 2 to 8"),
    "too short": (lambda: Extrapolated(MIDPOINT, 3, sequence=(1, 2)), r"has 2 columns: order 3 needs 3 to 8"),
    "symmetric": (lambda: Extrapolated(MIDPOINT, symmetric="yes"), r"symmetric.*'yes'.*True, False or None"),
    "substeps": (lambda: Extrapolated(MIDPOINT, impact_substeps=1), r"impact_substeps.*1.*2 or more"),
    "a tolerance": (lambda: sl.solve(DAMPED, scheme=Extrapolated(MIDPOINT), h=0.1, tol=1e-3), r"estimates no error"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_it_cannot_do_is_refused_with_the_reason(case):
    make, message = REFUSED[case]
    with pytest.raises(sl.SettingError, match=message):
        make()
