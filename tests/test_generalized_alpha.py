"""The nonsmooth generalized-alpha scheme: spectral radius, orders, contact that lasts, joints, friction, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems

RHO = (0.0, 0.5, 0.8, 1.0)
GRAVITY = 9.81


def run(problem: sl.Problem, rho: float, steps: int) -> sl.Solution:
    return sl.solve(problem, scheme=sl.GeneralizedAlpha(rho), h=(problem.t_span[1] - problem.t_span[0]) / steps)


def orders(problem: sl.Problem, rho: float, q, v, levels=(97, 193, 389, 787)) -> np.ndarray:
    """Fit the orders of q and v in the maximum norm, each level averaged over six incommensurate grids."""
    errors = []
    for size in levels:
        runs = [run(problem, rho, size + k * (size // 29 + 1)) for k in range(6)]
        errors.append(np.mean([[np.max(np.abs(s.q - q(s.t))), np.max(np.abs(s.v - v(s.t)))] for s in runs], axis=0))
    return -np.polyfit(np.log(levels), np.log(errors), 1)[0]


# ---- the test equation q'' = -w^2 q


def amplification(rho: float, hw: float) -> np.ndarray:
    """Return the matrix of a step for (q, h v, h^2 v_dot, h^2 a), from the equations of Chung and Hulbert 1993."""
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    ga = 0.5 + af - am
    be = 0.25 * (ga + 0.5) ** 2
    new = [[1, 0, 0, -be], [0, 1, 0, -ga], [hw**2, 0, 1, 0], [0, 0, -(1 - af), 1 - am]]
    old = [[1, 1, 0, 0.5 - be], [0, 1, 0, 1 - ga], [0, 0, 0, 0], [0, 0, af, -am]]
    return np.linalg.solve(np.array(new, dtype=float), np.array(old, dtype=float))


def oscillation(rho: float, hw: float, q0: float, v0: float, steps: int) -> sl.Solution:
    system = sl.System(M=1.0, f=lambda t, q, v: [-(hw**2) * q[0]])
    return sl.solve(system, (0.0, float(steps)), q0, v0, scheme=sl.GeneralizedAlpha(rho), h=1.0)


@pytest.mark.parametrize("rho", RHO)
@pytest.mark.parametrize("hw", [0.1, 1.0, 10.0, 1e3])
def test_steps_of_an_oscillator_are_those_of_the_closed_form(rho, hw):
    sol, A = oscillation(rho, hw, 1.0, 0.3, 12), amplification(rho, hw)
    x, scale = np.array([1.0, 0.3, -(hw**2), -(hw**2)]), max(1.0, hw)
    for k in range(12):
        x = A @ x
        np.testing.assert_allclose(
            [sol.q[k + 1, 0], sol.v[k + 1, 0] / scale], [x[0], x[1] / scale], atol=1e-12 + 1e-15 * hw**2
        )


def measured_radius(rho: float, hw: float) -> float:
    """Return the spectral radius of the matrix that takes (q, h v, h^2 a) one step further, found from steps alone."""
    gamma, before, after = (3.0 - rho) / (2.0 + 2.0 * rho), [], []
    for q0, v0 in ((1.0, 0.0), (0.0, hw), (1.0, -hw)):
        sol = oscillation(rho, hw, q0, v0, 6)
        a = [-(hw**2) * q0]
        for k in range(6):
            a.append((sol.v[k + 1, 0] - sol.v[k, 0] - (1.0 - gamma) * a[-1]) / gamma)
        x = np.stack([sol.q[:, 0], sol.v[:, 0] / hw, np.array(a) / hw**2])
        before.append(x[:, :-1])
        after.append(x[:, 1:])
    A = np.linalg.lstsq(np.hstack(before).T, np.hstack(after).T, rcond=None)[0]
    return float(np.max(np.abs(np.linalg.eigvals(A))))


@pytest.mark.parametrize("rho", RHO)
@pytest.mark.parametrize("hw", [0.5, 2.0, 10.0])
def test_the_spectral_radius_of_moderate_modes_is_that_of_the_closed_form(rho, hw):
    assert measured_radius(rho, hw) == pytest.approx(
        np.max(np.abs(np.linalg.eigvals(amplification(rho, hw)))), abs=1e-8
    )


@pytest.mark.parametrize("rho", RHO)
def test_the_spectral_radius_of_fast_modes_is_the_one_chosen(rho):
    hw = 1e4
    assert measured_radius(rho, hw) == pytest.approx(rho, abs=1.05 * hw ** (-2.0 / 3.0))  # so it is approached


# ---- orders


@pytest.mark.parametrize("rho", RHO)
@pytest.mark.parametrize("name", ["forced_double_pendulum", "damped_pendulum", "free_flight"])
def test_smooth_motion_is_of_order_two(name, rho):
    problem = getattr(problems, name)()
    assert np.all(np.abs(orders(problem, rho, problem.exact.q, problem.exact.v) - 2.0) <= 0.1)


@pytest.mark.parametrize("rho", RHO)
@pytest.mark.parametrize("name", ["circle_slide", "slide_off", "rod_pendulum"])
def test_lasting_contact_on_curves_and_joints_are_of_order_two(name, rho):
    problem = getattr(problems, name)()
    assert np.all(np.abs(orders(problem, rho, problem.exact.q, problem.exact.v) - 2.0) <= 0.1)


def polar() -> sl.Problem:
    """Return a body that slides with friction inside of an ellipse, in polar coordinates: M, W and f change with q."""

    def force(t, q, v):
        gravity = GRAVITY * np.sin(q[1]), GRAVITY * q[0] * np.cos(q[1])
        return [q[0] * v[1] ** 2 - gravity[0], -2.0 * q[0] * v[0] * v[1] - gravity[1]]

    wall = sl.Contact(
        lambda q: 1.0 - q[0] * (1.0 + 0.2 * np.cos(q[1])), mu=0.1, slip=lambda t, q, v: q[0] * v[1], name="ellipse"
    )
    system = sl.System(M=lambda q: [[1.0, 0.0], [0.0, q[0] ** 2]], f=force, contacts=[wall])
    phi, turning = -1.9, 4.0
    r = 1.0 / (1.0 + 0.2 * np.cos(phi))
    return sl.Problem(system, (0.0, 0.3), [r, phi], [0.2 * np.sin(phi) * turning * r**2, turning])


@pytest.mark.parametrize("rho", RHO)
def test_sliding_with_friction_is_of_order_two_where_mass_and_directions_change(rho):
    problem = polar()
    exact = sl.solve(problem, tol=1e-11)
    assert np.all(exact.events["kind"] != "impact") and np.all(exact.v[:, 1] > 0.1)
    found = orders(problem, rho, lambda t: exact(t).q, lambda t: exact(t).v)
    assert np.all(np.abs(found - 2.0) <= 0.15)


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_steps_that_change_their_length_keep_the_order(rho):
    problem, sizes, errors = problems.forced_double_pendulum(), (60, 120, 240, 480), []
    t_end = problem.t_span[1]
    for size in sizes:
        breaks = np.sort(np.concatenate([np.arange(1, size), np.arange(size) + 2.0 / 3.0])) * t_end / size
        sol = sl.solve(problem, scheme=sl.GeneralizedAlpha(rho), h=t_end / size, breaks=breaks)
        assert len(sol.t) == 2 * size + 1
        errors.append(np.max(np.abs(sol.q - problem.exact.q(sol.t))))
    assert abs(-np.polyfit(np.log(sizes), np.log(errors), 1)[0] - 2.0) <= 0.1


@pytest.mark.parametrize("rho", RHO)
@pytest.mark.parametrize("sliver", [1e-6, 1e-9, 1e-12, 1e-14])
def test_a_very_short_step_does_not_spoil_those_behind_it(rho, sliver):
    problem, h = problems.forced_double_pendulum(), problems.forced_double_pendulum().t_span[1] / 200
    grid = h * np.arange(10, 200, 20)
    breaks = np.sort(np.concatenate([grid, grid + sliver]))
    plain, cut = run(problem, rho, 200), sl.solve(problem, scheme=sl.GeneralizedAlpha(rho), h=h, breaks=breaks)
    errors = [np.max(np.abs(sol.q - problem.exact.q(sol.t))) for sol in (plain, cut)]
    # accelerations begin anew ten times, which costs h^2 each, whatever the length of the short steps
    assert len(cut.t) >= len(plain.t) + len(grid) and errors[1] <= 2.0 * errors[0]


def test_a_radius_of_one_is_the_trapezoidal_rule_of_moreau_and_jean():
    system = sl.System(M=2.0, f=lambda t, q, v: [-(v[0] ** 3) - t * np.sin(q[0])])
    schemes = sl.GeneralizedAlpha(1.0), sl.MoreauJean(at="end")
    one, two = (sl.solve(system, (0.0, 5.0), 1.0, 2.0, scheme=scheme, h=0.05) for scheme in schemes)
    np.testing.assert_allclose(one.q, two.q, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(one.v, two.v, rtol=0.0, atol=1e-10)


# ---- joints


def pendulum() -> sl.Problem:
    rod = sl.Joint(lambda q: 0.5 * (q[0] ** 2 + q[1] ** 2 - 1.0))
    return sl.Problem(sl.System(M=1.0, f=[0.0, -GRAVITY], joints=[rod]), (0.0, 2.0), [1.0, 0.0], [0.0, 0.0])


@pytest.mark.parametrize("rho", RHO)
def test_joints_hold_on_velocity_level_and_drift_and_energy_are_of_order_two(rho):
    sizes, drift, gained = (101, 203, 401, 809), [], []
    for size in sizes:
        sol = run(pendulum(), rho, size)
        speed = np.max(np.abs(sol.v))
        assert np.max(np.abs(np.sum(sol.q * sol.v, axis=1))) <= 30.0 * 1e-12 * speed  # some tens of newton_tolerance
        drift.append(np.max(sol.violation))
        gained.append(np.max(np.abs(0.5 * np.sum(sol.v**2, axis=1) + GRAVITY * sol.q[:, 1])))
    for values in (drift, gained):
        assert abs(-np.polyfit(np.log(sizes), np.log(values), 1)[0] - 2.0) <= 0.1


def test_the_force_in_a_joint_is_that_of_the_exact_motion():
    sol = run(pendulum(), 0.8, 2000)
    tension = 3.0 * GRAVITY * -sol.q[:, 1]  # |v|^2 = -2 g y, and as much again of the weight
    middle = 0.5 * (tension[1:] + tension[:-1])
    np.testing.assert_allclose(-sol.joint_impulse[:, 0] / 1e-3, middle, rtol=0.0, atol=1e-4 * 3.0 * GRAVITY)


# ---- contacts


@pytest.mark.parametrize("rho", RHO)
def test_a_ball_comes_to_rest_and_stays(rho):
    floor = sl.Contact(lambda q: q[0], e=0.5)
    sol = sl.solve(
        sl.System(M=1.0, f=-GRAVITY, contacts=[floor]), (0.0, 4.0), 1.0, 0.0, scheme=sl.GeneralizedAlpha(rho), h=0.01
    )
    late = sol.t >= 2.0
    assert np.ptp(sol.q[late, 0]) <= 1e-12 and np.max(np.abs(sol.v[late])) <= 1e-12
    assert abs(sol.q[-1, 0]) <= 0.5 * GRAVITY * 0.01**2  # a contact closes up to this early
    np.testing.assert_allclose(sol.impulse[late[:-1], 0], GRAVITY * 0.01, rtol=1e-9)


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-6])
def test_a_stack_keeps_its_gaps_because_contacts_that_close_later_in_a_step_join_in(gap):
    pairs = [sl.Contact(lambda q: q[0]), sl.Contact(lambda q: q[1] - q[0]), sl.Contact(lambda q: q[2] - q[1])]
    system = sl.System(M=1.0, f=[-GRAVITY] * 3, contacts=pairs)
    start = gap * np.arange(1.0, 4.0)
    sol = sl.solve(system, (0.0, 1.0), start, [0.0] * 3, scheme=sl.GeneralizedAlpha(), h=0.01)
    gaps = np.diff(sol.q, axis=1, prepend=0.0)
    assert np.min(gaps) >= -1e-11
    assert np.max(np.abs(gaps - gap)) <= 1e-11


@pytest.mark.parametrize("rho", RHO)
def test_a_block_slides_its_distance_and_stops(rho):
    problem = problems.sliding_block()
    sol = run(problem, rho, 1000)
    assert np.max(np.abs(sol.q - problem.exact.q(sol.t))) <= 1e-5
    assert np.all(sol.v[-1] == sol.v[-2]) and np.max(np.abs(sol.v[-1])) <= 1e-12


def test_damped_contacts_whose_equations_are_not_symmetric_are_solved():
    random = np.random.default_rng(3)
    C = random.normal(size=(4, 4))
    C = 20.0 * (
        C @ C.T
        + np.array([[0.0, 1.0, 2.0, 0.0], [-1.0, 0.0, 1.0, 3.0], [-2.0, -1.0, 0.0, 1.0], [0.0, -3.0, -1.0, 0.0]])
    )
    walls = [sl.Contact(lambda q, i=i: q[i], e=0.3, mu=0.4, slip=lambda t, q, v, i=i: v[i + 1]) for i in (0, 2)]
    system = sl.System(M=1.0, f=[-5.0, 1.0, -7.0, 2.0], K=50.0 * np.eye(4), C=C, contacts=walls)
    sol = sl.solve(
        system, (0.0, 1.0), [0.1, 0.0, 0.2, 0.0], [-1.0, 2.0, -2.0, 1.0], scheme=sl.GeneralizedAlpha(0.0), h=0.01
    )
    assert np.max(sol.residual) <= 1e-10
    pushing = sol.impulse[:, [0, 2]]
    assert np.all(pushing >= 0.0) and np.any(pushing > 0.0)
    assert np.all(np.abs(sol.impulse[:, [1, 3]]) <= 0.4 * pushing + 1e-12)


@pytest.mark.parametrize("rho", RHO)
def test_a_hardening_spring_behind_a_light_foot_is_solved_though_its_accelerations_are_huge(rho):
    def force(t, q, v):
        spring = 1e6 * (q[0] - q[1]) + 1e6 * (q[0] - q[1]) ** 3
        return [-spring - GRAVITY, spring]

    foot = sl.Contact(lambda q: q[1], e=0.3)
    system = sl.System(M=np.array([1.0, 1e-3]), f=force, contacts=[foot])
    sol = sl.solve(system, (0.0, 0.2), [0.1, 0.1], [-3.0, -3.0], scheme=sl.GeneralizedAlpha(rho), h=1e-3)
    assert sol.success and np.max(np.abs(sol.energy.defect)) <= 1e-12


def bar(elements: int = 20) -> sl.Problem:
    """Return the bar of Doyen, Ern and Piperno 2011, consistent mass: it meets a wall and leaves it, force 300 N."""
    size, stiffness = 10.0 / elements, 900.0 / (10.0 / elements)
    M, K = np.zeros((elements + 1, elements + 1)), np.zeros((elements + 1, elements + 1))
    for k in range(elements):
        M[k : k + 2, k : k + 2] += size / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]])
        K[k : k + 2, k : k + 2] += stiffness * np.array([[1.0, -1.0], [-1.0, 1.0]])
    start = np.full(elements + 1, 5.0)
    wall = sl.Contact(lambda q: q[0], name="wall")
    return sl.Problem(
        sl.System(M=M, f=np.zeros(elements + 1), K=K, contacts=[wall]), (0.0, 1.5), start, np.full(elements + 1, -10.0)
    )


def test_damping_of_fast_modes_takes_the_ringing_out_of_a_contact_force():
    ringing = {}
    for rho in (0.0, 1.0):
        sol = sl.solve(bar(), scheme=sl.GeneralizedAlpha(rho), h=0.005)
        inside = (sol.t[1:] > 0.55) & (sol.t[1:] < 1.1)
        ringing[rho] = np.sqrt(np.mean((sol.impulse[inside, 0] / 0.005 / 300.0 - 1.0) ** 2))
        np.testing.assert_allclose(np.sum(sol.impulse), np.sum(bar().system.M @ (sol.v[-1] - sol.v[0])), rtol=1e-12)
    assert ringing[0.0] <= 0.006 and ringing[1.0] >= 0.08


# ---- accounts, files, control


def test_the_ledger_of_energy_closes_for_a_linear_system_with_impacts():
    sol = sl.solve(bar(), scheme=sl.GeneralizedAlpha(1.0), h=0.005)
    assert np.max(np.abs(sol.energy.defect)) <= 1e-9
    assert np.all(np.diff(sol.energy.dissipation.sum(axis=1)) >= -1e-12)


def test_the_defect_of_energy_on_a_curve_is_of_order_two():
    sizes, defects = (101, 203, 401, 809), []
    for size in sizes:
        sol = run(problems.circle_slide(), 0.8, size)
        defects.append(np.max(np.abs(sol.energy.defect)))
        assert np.max(np.abs(sol.energy.dissipation)) <= 1e-12 + 1e-3 * np.max(defects)  # nothing rubs
    assert -np.polyfit(np.log(sizes), np.log(defects), 1)[0] >= 1.9


def test_a_belt_does_its_work():
    problem = problems.belt()
    sol, reference = run(problem, 0.8, 2000), sl.solve(problem, tol=1e-9)
    np.testing.assert_allclose(sol.energy.work[-1], reference.energy.work[-1], rtol=1e-3)


def test_step_doubling_and_control_know_what_a_step_remembers():
    problem = problems.impact_oscillator(t_end=4.0)
    doubled = sl.solve(problem, scheme=sl.StepDoubling(sl.GeneralizedAlpha()), h=2.0**-6)
    halves = sl.solve(problem, scheme=sl.GeneralizedAlpha(), h=2.0**-7)
    np.testing.assert_array_equal(doubled.q, halves.q[::2])
    controlled = sl.solve(problem, scheme=sl.GeneralizedAlpha(), tol=1e-4)
    assert np.max(np.abs(controlled.q - problem.exact.q(controlled.t))) <= 5e-3


# ---- refusals


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({"e_t": 0.5}, "GeneralizedAlpha cannot do tangential"),
        ({"impact": "poisson"}, "GeneralizedAlpha cannot do Poi"),
    ],
)
def test_laws_of_impact_that_it_does_not_know_are_refused_by_name(law, message):
    floor = sl.Contact(lambda q: q[1], e=0.5, mu=0.3, slip=lambda t, q, v: v[0], **law)
    system = sl.System(M=1.0, f=[0.0, -1.0], contacts=[floor])
    with pytest.raises(sl.SettingError, match=message):
        sl.solve(system, (0.0, 1.0), [0.0, 1.0], [0.0, 0.0], scheme=sl.GeneralizedAlpha(), h=0.1)


@pytest.mark.parametrize(
    "settings",
    [
        {"rho_inf": -0.1},
        {"rho_inf": 1.1},
        {"rho_inf": "0.8"},
        {"rho_inf": np.nan},
        {"closed_tolerance": np.inf},
        {"newton_tolerance": 0.0},
        {"max_iterations": 2.5},
        {"solver": sl.Lemke},
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings):
    with pytest.raises(sl.SettingError, match=f"{next(iter(settings))} of GeneralizedAlpha is"):
        sl.GeneralizedAlpha(**settings)


def test_extrapolation_is_refused_because_errors_of_a_filter_are_no_series_in_the_step():
    with pytest.raises(sl.SettingError, match="those of GeneralizedAlpha are none: wrap MoreauJean"):
        sl.Extrapolated(sl.GeneralizedAlpha())
