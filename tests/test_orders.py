"""Orders of convergence: two in smooth motion with theta = 1/2, one with theta = 1, one through impacts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipj

import saltus as sl
from saltus import problems

LEVELS = 6  # five halvings of the step


def pendulum(omega: float = 3.0, angle: float = 1.0) -> sl.Problem:
    """q'' = -omega^2 sin q released at rest (Jacobi 1829): sin(q/2) = sin(angle/2) cd(omega t)."""
    k, k_prime = np.sin(angle / 2.0), np.cos(angle / 2.0)

    def swing(t):
        sn, cn, dn, _ = ellipj(omega * np.asarray(t, float), k**2)
        return 2.0 * np.arcsin(k * cn / dn), -2.0 * omega * k * k_prime * sn / dn

    exact = sl.Exact(lambda t: swing(t)[0][..., None], lambda t: swing(t)[1][..., None])
    system = sl.System(M=1.0, f=lambda q: [-(omega**2) * np.sin(q[0])])
    return sl.Problem(system, (0.0, 2.0), [angle], [0.0], exact=exact, name="pendulum")


PENDULUM = pendulum()
DOUBLE_PENDULUM = problems.double_pendulum()
TOP = problems.spinning_top()
ROD = problems.rod_pendulum()

# problem, settings, largest step [s]
SMOOTH = {
    "pendulum": (PENDULUM, {}, 0.02),
    "pendulum, at end": (PENDULUM, {"at": "end"}, 0.02),
    "mass depending on q": (DOUBLE_PENDULUM, {}, 0.01),
    "quaternion": (TOP, {}, 2e-3),
    "joint": (ROD, {}, 0.02),
    "joint, projected": (ROD, {"projection": True}, 0.02),
}


def steps(largest: float, levels: int = LEVELS) -> np.ndarray:
    return largest * 2.0 ** -np.arange(levels)


def fitted_order(h: np.ndarray, errors: list[float]) -> float:
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])


def end_errors(problem: sl.Problem, scheme, h: np.ndarray) -> tuple[list[float], list[float]]:
    """Return the errors of q and v at the end of the span."""
    runs = [sl.solve(problem, scheme=scheme, h=size) for size in h]
    q, v = problem.exact.q(problem.t_span[1]), problem.exact.v(problem.t_span[1])
    return [np.max(np.abs(s.q[-1] - q)) for s in runs], [np.max(np.abs(s.v[-1] - v)) for s in runs]


# ---- smooth motion


@pytest.mark.parametrize("case", SMOOTH)
def test_theta_one_half_is_of_order_two_in_smooth_motion(case):
    problem, settings, largest = SMOOTH[case]
    h = steps(largest)
    for errors in end_errors(problem, sl.MoreauJean(theta=0.5, **settings), h):
        assert abs(fitted_order(h, errors) - 2.0) <= 0.1
        assert abs(np.log2(errors[-2] / errors[-1]) - 2.0) <= 0.1


@pytest.mark.parametrize("case", [case for case in SMOOTH if case != "pendulum, at end"])
def test_theta_one_is_of_order_one(case):
    problem, settings, largest = SMOOTH[case]
    h = steps(largest / 10.0)
    for errors in end_errors(problem, sl.MoreauJean(theta=1.0, **settings), h):
        assert abs(fitted_order(h, errors) - 1.0) <= 0.1


@pytest.mark.parametrize(("problem", "largest"), [(DOUBLE_PENDULUM, 1e-3), (ROD, 5e-3)])
def test_taking_mass_and_joints_at_the_end_of_the_step_costs_an_order(problem, largest):
    h = steps(largest)
    for errors in end_errors(problem, sl.MoreauJean(theta=0.5, at="end"), h):
        assert abs(fitted_order(h, errors) - 1.0) <= 0.1


def test_explicit_steps_are_of_order_one():
    h = steps(2e-3)
    for errors in end_errors(PENDULUM, sl.MoreauJean(theta=0.0), h):
        assert abs(fitted_order(h, errors) - 1.0) <= 0.1


# ---- dense output

INSIDE = np.linspace(0.0, 1.0, 61)[1:-1] * (1.0 - 1e-3)  # shares of the span, off the grids


@pytest.mark.parametrize("scheme", [sl.MoreauJean(), sl.StepDoubling(sl.MoreauJean())], ids=lambda s: s.name)
@pytest.mark.parametrize("case", ["pendulum", "mass depending on q", "quaternion", "joint, projected"])
def test_dense_output_is_of_order_two_between_the_nodes(case, scheme):
    problem, _, largest = SMOOTH[case]
    h, times = steps(largest), INSIDE * problem.t_span[1]
    made = [sl.solve(problem, scheme=scheme, h=size)(times) for size in h]
    q, v = problem.exact.q(times), problem.exact.v(times)
    for errors in ([np.max(np.abs(s.q - q)) for s in made], [np.max(np.abs(s.v - v)) for s in made]):
        assert abs(fitted_order(h, errors) - 2.0) <= 0.1


def test_dense_output_of_free_fall_is_exact():
    fall = problems.zeno_ball(gravity=9.81, q0=1e3, v0=3.0, t_end=2.0)
    sol = sl.solve(fall, scheme=sl.MoreauJean(), h=0.37)
    made = sol(INSIDE * 2.0)
    np.testing.assert_allclose(made.q, fall.exact.q(made.t), rtol=1e-14)
    np.testing.assert_allclose(made.v, fall.exact.v(made.t), rtol=0.0, atol=1e-13)


# ---- through impacts


GRIDS = 8  # per level, incommensurate with the impacts: errors scatter with the place of an impact in its step


def impact_errors(problem: sl.Problem, scheme, sizes) -> list[tuple[float, float]]:
    """Return the L1 errors of q and v per level, means over the grids of a level."""
    made, random = [], np.random.default_rng(1)
    for size in sizes:
        errors = []
        for n in np.unique(random.integers(size, 2 * size, GRIDS)):
            sol = sl.solve(problem, scheme=scheme, h=problem.t_span[1] / n)
            q, v = problem.exact.q(sol.t), problem.exact.v(sol.t)
            errors.append((np.mean(np.abs(sol.q - q)), np.mean(np.abs(sol.v - v))))
        made.append(tuple(problem.t_span[1] * np.mean(errors, axis=0)))
    return made


SIZES = [250 * 4**level for level in range(4)]  # steps, up to twice as many


HITTING = [problems.impact_oscillator(), problems.zeno_ball(), problems.driven_pendulum()]


@pytest.mark.parametrize("problem", HITTING, ids=lambda p: p.name)
def test_impacts_are_passed_with_order_one(problem):
    errors = impact_errors(problem, sl.MoreauJean(), SIZES)
    for quantity in zip(*errors, strict=True):
        assert 0.75 <= -fitted_order(np.array(SIZES, float), quantity) <= 1.25


def test_velocities_through_impacts_converge_in_the_mean_but_not_uniformly():
    problem = problems.impact_oscillator()
    worst = []
    for n in (1511, 6043, 24113):
        sol = sl.solve(problem, scheme=sl.MoreauJean(), h=problem.t_span[1] / n)
        worst.append(np.max(np.abs(sol.v - problem.exact.v(sol.t))))
    assert min(worst) > 0.5  # some node lies between the exact impact and the computed one


# ---- step doubling


# problem, step: binary numbers, so that the grid itself is exact
DOUBLED = {
    "mass depending on q": (problems.double_pendulum(t_end=3.0), 2.0**-7),
    "quaternion": (problems.spinning_top(t_end=1.0), 2.0**-9),
    "joint": (problems.rod_pendulum(t_end=2.0), 2.0**-6),
    "impacts": (problems.impact_oscillator(t_end=20.0), 2.0**-6),
    "accumulation": (problems.zeno_ball(t_end=4.0), 2.0**-6),
    "friction": (problems.rolling_sphere(t_end=0.5), 2.0**-7),
    "coupled impacts": (problems.bead_column(n=3, t_end=1.0), 2.0**-8),
}


@pytest.mark.parametrize("case", DOUBLED)
def test_step_doubling_returns_the_half_steps_bit_by_bit(case):
    problem, h = DOUBLED[case]
    doubled = sl.solve(problem, scheme=sl.StepDoubling(sl.MoreauJean()), h=h)
    halves = sl.solve(problem, scheme=sl.MoreauJean(), h=h / 2.0)
    assert len(halves.t) == 2 * len(doubled.t) - 1
    np.testing.assert_array_equal(doubled.q, halves.q[::2])
    np.testing.assert_array_equal(doubled.v, halves.v[::2])
    np.testing.assert_array_equal(doubled.impulse, halves.impulse[::2] + halves.impulse[1::2])
    np.testing.assert_array_equal(doubled.events, halves.events)
    pairs = halves.residual.reshape(-1, 2)
    np.testing.assert_array_equal(doubled.residual, pairs.max(axis=1))


@pytest.mark.parametrize(("theta", "local"), [(0.5, 3.0), (1.0, 2.0)])
@pytest.mark.parametrize("problem", [DOUBLE_PENDULUM, ROD], ids=lambda p: p.name)
def test_the_estimate_of_step_doubling_falls_as_the_local_error(problem, theta, local):
    h = steps(0.01)
    scheme = sl.StepDoubling(sl.MoreauJean(theta=theta), rtol=0.0, atol=1.0)
    estimates = [sl.solve(problem, scheme=scheme, h=size).step_error.max() for size in h]
    assert abs(fitted_order(h, estimates) - local) <= 0.1


def test_the_estimate_of_step_doubling_is_the_error_of_one_step():
    t_end = 1e-2
    scheme = sl.StepDoubling(sl.MoreauJean(theta=0.5), order=2, rtol=0.0, atol=1.0)
    sol = sl.solve(PENDULUM, (0.0, t_end), scheme=scheme, h=t_end)
    error = np.max(np.abs(sol.q[-1] - PENDULUM.exact.q(t_end)))
    # a step from rest errs by C h^4, two halves by a quarter of it: a third of the difference is the error
    assert sol.step_error[0] == pytest.approx(error, rel=0.01)


def test_the_estimate_of_step_doubling_is_of_order_one_at_an_impact():
    problem, h = problems.zeno_ball(t_end=1.5), steps(0.02131)
    scheme = sl.StepDoubling(sl.MoreauJean(), rtol=0.0, atol=1.0)
    estimates = [sl.solve(problem, scheme=scheme, h=size).step_error.max() for size in h]
    assert abs(fitted_order(h, estimates) - 1.0) <= 0.25


def test_tolerances_of_solve_weigh_the_error_estimate_of_each_coordinate():
    problem = problems.double_pendulum()
    scheme = sl.StepDoubling(sl.MoreauJean(), 2)
    runs = [
        sl.solve(problem, (0.0, 1.0), scheme=scheme, h=0.01, rtol=0.0, atol=atol).step_error
        for atol in (1e-3, [1e-3, 1e-3], [1e-3, 1e9], [1e9, 1e-3])
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_allclose(np.maximum(runs[2], runs[3]), runs[0], rtol=1e-12)
    with pytest.raises(sl.SettingError, match=r"rtol of StepDoubling has 3 entries, but q has 2"):
        sl.solve(problem, scheme=scheme, h=0.01, rtol=[1e-3, 1e-3, 1e-3])
    with pytest.raises(sl.SettingError, match=r"Moreau-Jean estimates no error.*StepDoubling"):
        sl.solve(problem, scheme=sl.MoreauJean(), h=0.01, rtol=1e-3)
