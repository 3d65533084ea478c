"""The schemes of Paoli and of Schatzman and Paoli: closed forms, an external run, orders, refusals, diagnosis."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import saltus as sl
from saltus import problems
from saltus.build.model import compile_model
from saltus.control import Fixed
from saltus.problems.paoli_ball import discrete
from saltus.status import Status

SCHEMES = [sl.PaoliVelocity(), sl.SchatzmanPaoli()]
STEADY = 1e-12  # what rounding explains over thousands of steps
NEWTON = 1e-11  # residual [N s] that the tolerance 1e-12 of the Newton iterations leaves
LAGGING = "bouncing_ball/BouncingBallTS-SchatzmanPaoliOSI.ref"


def named(value) -> str:
    return value.name


def run(problem: sl.Problem, scheme, h: float) -> sl.Solution:
    """Solve with the step nearest to h that divides the span."""
    span = problem.t_span[1] - problem.t_span[0]
    return sl.solve(problem, scheme=scheme, h=span / round(span / h))


# ---- workspaces


@pytest.mark.parametrize("scheme", [sl.MoreauJean(), sl.PaoliVelocity()], ids=named)
def test_a_step_after_one_that_failed_is_that_of_a_fresh_workspace(scheme):
    # f = 100 q + 100 v: a constant matrix, M - theta h f_v - (theta h)^2 f_q, that is indefinite for a long step
    model = compile_model(sl.System(M=1.0, f=lambda t, q, v: [100.0 * (q[0] + v[0])]), 0.0, np.ones(1), np.ones(1))
    plan, units = scheme.plan(model.layout), model.interpreted()
    plain, state, record = plan.interpreted(), plan.state(model.layout).record, plan.record(model.layout).record
    state.q[:], state.v[:] = 1.0, 1.0

    def step(h: float, work) -> tuple[int, float]:
        new = plan.state(model.layout).record
        return plain.step(units, plain.inner, plain.settings, 0.0, h, state, new, record, work), float(new.v[0])

    work = plan.work.allocate()
    first = step(1e-3, work)
    assert first[0] == 0
    assert step(1.0, work)[0] == Status.MASS_INDEFINITE
    assert step(1e-3, work) == first


# ---- closed form


@pytest.mark.parametrize("e", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("h", [np.sqrt(2.0) / 100.0, 0.0137, 1.0 / (700.0 * np.pi), 1.0 / 6172.3])
def test_the_paoli_ball_follows_its_closed_form(e, h):
    n = int(2.0 / h)
    problem = problems.paoli_ball(e=e, t_end=n * h)
    sol, closed = sl.solve(problem, scheme=sl.PaoliVelocity(), h=h), discrete(h, n, e=e)
    assert len(sol.t) == n + 1
    assert np.max(np.abs(sol.q[:, 0] - closed.q)) <= STEADY
    assert np.max(np.abs(sol.v[:, 0] - closed.v)) <= STEADY
    assert np.max(np.abs(sol.q - problem.exact.q(sol.t))) <= (1.0 + e) * h


def test_the_discrete_ball_keeps_its_constraint_in_the_weighted_velocity():
    sol = sl.solve(problems.zeno_ball(), scheme=sl.PaoliVelocity(), h=4.0 / 1013)
    closed = sol.q[1:, 0] <= 0.0
    assert np.any(closed)
    assert np.all((sol.v[1:, 0] + 0.5 * sol.v[:-1, 0])[closed] >= -STEADY)


# ---- external run


@pytest.fixture(scope="module")
def lagging_ball() -> sl.Solution:
    problem = problems.zeno_ball(gravity=9.81, e=0.9, q0=1.0, t_end=10.0)
    return sl.solve(problem, scheme=sl.SchatzmanPaoli(lagging_velocity=True), h=0.005)


def test_the_reference_ball_agrees_until_rounding_grows(reference_run, lagging_ball):
    theirs = reference_run(LAGGING)
    assert lagging_ball.q.shape == (2001, 1)
    early = theirs[:, 0] <= 7.9  # the flights shorten: rounding decides between two nodes ever sooner
    assert np.max(np.abs(lagging_ball.q[early, 0] - theirs[early, 1])) <= 1e-8
    assert np.max(np.abs(lagging_ball.v[early, 0] - theirs[early, 2])) <= 1e-6
    assert np.max(np.abs(lagging_ball.q[:, 0] - theirs[:, 1])) <= 1e-5
    assert np.max(np.abs(lagging_ball.v[:, 0] - theirs[:, 2])) <= 1e-3


def test_the_impulse_is_the_position_multiplier_over_h(reference_run, lagging_ball):
    theirs = reference_run(LAGGING)
    early = theirs[1:, 0] <= 7.9
    assert np.max(np.abs(0.005 * lagging_ball.impulse[early, 0] - theirs[1:][early, 3])) <= 1e-8


def test_the_stored_velocity_does_not_lag_unless_asked_for():
    problem = problems.zeno_ball(gravity=9.81, q0=1e3, t_end=2.0)
    prompt, lagging = (run(problem, sl.SchatzmanPaoli(lagging_velocity=lag), 0.01) for lag in (False, True))
    np.testing.assert_allclose(prompt.v, problem.exact.v(prompt.t), rtol=0.0, atol=1e-10)
    np.testing.assert_array_equal(prompt.q, lagging.q)
    np.testing.assert_allclose(lagging.v[2:, 0], (prompt.q[2:, 0] - prompt.q[:-2, 0]) / 0.02, rtol=0.0, atol=1e-9)
    # half a step behind the step velocity, which itself belongs to the end of its step here
    np.testing.assert_allclose(lagging.v[1:] - prompt.v[1:], 9.81 * 0.005, rtol=1e-6)


# ---- orders


GRIDS = 6  # per level, incommensurate with the impacts: errors scatter with the place of an impact in its step
SIZES = [250 * 4**level for level in range(4)]  # steps, up to twice as many


def fitted_order(h, errors) -> float:
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
@pytest.mark.parametrize("problem", [problems.zeno_ball(), problems.impact_oscillator()], ids=named)
def test_impacts_are_passed_with_order_one_in_the_mean(problem, scheme):
    t_end, random, levels = problem.t_span[1], np.random.default_rng(7), []
    for size in SIZES:
        errors = []
        for n in random.choice(np.arange(size, 2 * size), GRIDS, replace=False):
            sol = sl.solve(problem, scheme=scheme, h=t_end / n)
            difference = sol.q - problem.exact.q(sol.t), sol.v - problem.exact.v(sol.t)
            errors.append([t_end * np.mean(np.abs(d)) for d in difference])
        levels.append(np.mean(errors, axis=0))
    for quantity in np.transpose(levels):
        assert 0.75 <= -fitted_order(SIZES, quantity) <= 1.25


SMOOTH = {
    "mass depending on q": (problems.double_pendulum(), 2e-3),
    "joint": (problems.rod_pendulum(), 5e-3),
}


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
@pytest.mark.parametrize("case", SMOOTH)
def test_smooth_motion_is_of_order_one(case, scheme):
    problem, largest = SMOOTH[case]
    t_end, h = problem.t_span[1], largest * 2.0 ** -np.arange(5)
    runs = [run(problem, scheme, size) for size in h]
    for exact, states in ((problem.exact.q(t_end), [s.q for s in runs]), (problem.exact.v(t_end), [s.v for s in runs])):
        assert abs(fitted_order(h, [np.max(np.abs(state[-1] - exact)) for state in states]) - 1.0) <= 0.1


# ---- what holds for every run


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
@pytest.mark.parametrize("problem", [problems.zeno_ball(mass=3.0), problems.paoli_ball(mass=2.0)], ids=named)
def test_momentum_is_balanced_by_the_impulses(problem, scheme):
    sol = run(problem, scheme, 1.37e-3)
    mass, gravity = (3.0, 2.0) if problem.name == "zeno_ball" else (2.0, 0.0)
    given = mass * (sol.v[1:, 0] - problem.v0[0] + gravity * sol.t[1:])
    np.testing.assert_allclose(np.cumsum(sol.impulse[:, 0]), given, rtol=0.0, atol=1e-10)
    assert np.all(sol.impulse >= 0.0)


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
@pytest.mark.parametrize(
    "problem",
    [problems.impact_oscillator(), problems.double_pendulum(t_end=1.0), problems.rod_pendulum(t_end=1.0)],
    ids=named,
)
def test_the_energy_ledger_closes(problem, scheme):
    sol = run(problem, scheme, 2.3e-3)
    assert np.max(np.abs(sol.energy.defect)) <= 1e-9 * np.max(sol.energy.kinetic)


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
def test_touching_beads_share_an_impact_as_newtons_law_says(scheme):
    problem = problems.newtons_cradle()
    sol = run(problem, scheme, 1e-3)
    np.testing.assert_allclose(sol.v[-1], problem.exact.v(problem.t_span[1]), atol=1e-10)
    assert np.max(sol.residual) <= STEADY


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
def test_each_contact_keeps_its_own_restitution(scheme):
    walls = [sl.Contact(lambda q: q[0], e=1.0), sl.Contact(lambda q: q[1], e=0.25)]
    problem = sl.Problem(sl.System(M=1.0, f=[0.0, 0.0], contacts=walls), (0.0, 2.0), [1.0, 1.0], [-1.1, -1.1])
    np.testing.assert_allclose(run(problem, scheme, 1.7e-3).v[-1], [1.1, 0.275], rtol=1e-10)


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
def test_a_curved_wall_is_met_with_order_one(scheme):
    inside = sl.Contact(lambda q: 1.0 - np.sqrt(q[0] ** 2 + q[1] ** 2), e=1.0)
    problem = sl.Problem(sl.System(M=1.0, f=[0.0, 0.0], contacts=[inside]), (0.0, 3.0), [0.6, 0.0], [0.0, 1.0])
    # a billiard in the circle: from (0.6, 0) upwards to (0.6, 0.8), then along a chord of the same length 1.6
    outwards = np.array([0.6, 0.8])
    reflected = np.array([0.0, 1.0]) - 2.0 * 0.8 * outwards
    exact, errors = outwards + 1.4 * reflected, []
    sizes = np.array([300, 1200, 4800, 19200])
    for size in sizes:
        made = [
            sl.solve(problem, (0.0, 2.2), scheme=scheme, h=2.2 / n) for n in size + np.array([1, 7, 13, 31, 53, 71])
        ]
        errors.append(np.mean([np.linalg.norm(sol.q[-1] - exact) for sol in made]))
    assert 0.75 <= -fitted_order(sizes, errors) <= 1.25


def test_joints_hold_on_position_level_with_schatzman_paoli():
    assert np.max(run(problems.rod_pendulum(), sl.SchatzmanPaoli(), 5e-3).end_violation) <= 1e-12


def test_joints_drift_with_order_one_in_the_velocity_scheme():
    h = 5e-3 * 2.0 ** -np.arange(4)
    drift = [np.max(run(problems.rod_pendulum(), sl.PaoliVelocity(), size).violation) for size in h]
    assert abs(fitted_order(h, drift) - 1.0) <= 0.1


def test_the_velocity_scheme_does_friction():
    problem = problems.rolling_sphere()
    sol = run(problem, sl.PaoliVelocity(), 1e-3)
    np.testing.assert_allclose(sol.v[-1], problem.exact.v(problem.t_span[1]), rtol=0.0, atol=1e-10)


def test_a_force_nonlinear_in_the_velocity_is_taken_at_the_end_of_the_step():
    h, system = 0.1, sl.System(M=2.0, f=lambda t, q, v: [-(v[0] ** 3) - t * q[0]])
    sol = sl.solve(system, (0.0, 1.0), 1.0, 2.0, scheme=sl.PaoliVelocity(), h=h)
    np.testing.assert_allclose(sol.q[1:], sol.q[:-1] + h * sol.v[:-1], rtol=0.0, atol=1e-15)
    force = -(sol.v[1:] ** 3) - sol.t[1:, None] * sol.q[1:]
    np.testing.assert_allclose(2.0 * (sol.v[1:] - sol.v[:-1]), h * force, rtol=0.0, atol=NEWTON)


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0])
def test_the_force_of_schatzman_paoli_is_taken_at_theta(theta):
    h, system = 0.1, sl.System(M=2.0, f=lambda t, q, v: [-(v[0] ** 3) - t * q[0]])
    sol = sl.solve(system, (0.0, 1.0), 1.0, 2.0, scheme=sl.SchatzmanPaoli(theta), h=h)
    q, v = ((1.0 - theta) * x[:-1] + theta * x[1:] for x in (sol.q, sol.v))
    force = -(v**3) - (sol.t[:-1, None] + theta * h) * q
    last = np.vstack([sol.q[:1] - h * sol.v[:1], sol.q[:-2]])
    np.testing.assert_allclose(2.0 * (sol.q[1:] - 2.0 * sol.q[:-1] + last), h**2 * force, rtol=0.0, atol=h * NEWTON)


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
def test_a_moving_wall_carries_its_own_velocity(scheme):
    wall = sl.Contact(lambda t, q: q[0] - 0.5 * t, e=1.0)
    problem = sl.Problem(sl.System(M=1.0, f=[0.0], contacts=[wall]), (0.0, 2.0), [1.0], [-1.0])
    np.testing.assert_allclose(run(problem, scheme, 1.7e-3).v[-1], [2.0], rtol=1e-9)  # -1 - 0.5 turns into 1.5 + 0.5


def test_step_doubling_wraps_the_velocity_scheme():
    problem, h = problems.impact_oscillator(t_end=4.0), 2.0**-6
    doubled = sl.solve(problem, scheme=sl.StepDoubling(sl.PaoliVelocity()), h=h)
    halves = sl.solve(problem, scheme=sl.PaoliVelocity(), h=h / 2.0)
    np.testing.assert_array_equal(doubled.q, halves.q[::2])


@pytest.mark.parametrize("scheme", SCHEMES, ids=named)
def test_impacts_become_events_and_rest_is_no_event(scheme):
    sol = run(problems.zeno_ball(e=0.0), scheme, 1.3e-3)
    assert [str(event["kind"]) for event in sol.events][:1] == ["impact"]
    assert all(event["kind"] != "release" for event in sol.events)
    assert abs(sol.events[0]["t"] - 1.0) <= 3e-3
    assert np.max(np.abs(sol.v[-1])) <= 1e-9


# ---- refusals


BALL = problems.zeno_ball()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"h": 0.3}, "take h = 0.307692307692"),
        ({"h": 0.25, "breaks": [1.0]}, "takes no breaks"),
        ({"h": 0.25, "control": SimpleNamespace(kernel_memory=0)}, "leave control out"),
    ],
)
def test_schatzman_paoli_refuses_what_would_change_its_step(settings, words):
    with pytest.raises(sl.SettingError, match=words):
        sl.solve(BALL, scheme=sl.SchatzmanPaoli(), **settings)


def test_the_step_that_a_refusal_names_is_accepted():
    for h in (0.3, 0.0137, 3.9, 1.234e-3):
        with pytest.raises(sl.SettingError, match="take h = ") as refusal:
            sl.solve(BALL, scheme=sl.SchatzmanPaoli(), h=h)
        named_step = float(str(refusal.value).rsplit("= ", 1)[1])
        assert sl.solve(BALL, scheme=sl.SchatzmanPaoli(), h=named_step, control=Fixed()).success


def test_step_doubling_refuses_a_scheme_with_a_fixed_step():
    with pytest.raises(sl.SettingError, match="SchatzmanPaoli cannot change its step: wrap MoreauJean"):
        sl.StepDoubling(sl.SchatzmanPaoli())


def test_schatzman_paoli_refuses_friction_and_quaternions_and_names_who_can():
    with pytest.raises(sl.SettingError, match=r"SchatzmanPaoli cannot do friction .* use MoreauJean\(\)"):
        run(problems.rolling_sphere(), sl.SchatzmanPaoli(), 1e-3)
    with pytest.raises(sl.SettingError, match=r"cannot do coordinates with q_dot .* use MoreauJean\(\)"):
        run(problems.spinning_top(), sl.SchatzmanPaoli(), 1e-3)


@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        (sl.SchatzmanPaoli, {"theta": 1.1}),
        (sl.SchatzmanPaoli, {"newton_tolerance": 0.0}),
        (sl.SchatzmanPaoli, {"max_iterations": 2.5}),
        (sl.SchatzmanPaoli, {"solver": sl.Lemke}),
        (sl.PaoliVelocity, {"closed_tolerance": np.nan}),
        (sl.PaoliVelocity, {"newton_tolerance": -1.0}),
        (sl.PaoliVelocity, {"max_iterations": 0}),
        (sl.PaoliVelocity, {"solver": "nsgs"}),
    ],
)
def test_settings_out_of_range_are_named(scheme, settings):
    (field,) = settings
    with pytest.raises(sl.SettingError, match=f"{field} of {scheme.__name__}"):
        scheme(**settings)


# ---- diagnosis


def corner(angle: float, e: float, mass=(1.0, 1.0)) -> sl.Problem:
    """A point between a floor and a wall that includes an angle [rad] with it."""
    floor = sl.Contact(lambda q: q[1], e=e, name="floor")
    wall = sl.Contact(lambda q: np.sin(angle) * q[0] - np.cos(angle) * q[1], e=e, name="wall")
    system = sl.System(M=list(mass), f=[0.0, -1.0], contacts=[floor, wall])
    return sl.Problem(system, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0])


@pytest.mark.parametrize(
    ("angle", "e", "continuous"),
    [
        (np.pi / 2, 0.5, True),
        (np.pi / 3, 0.5, False),
        (np.pi / 3, 0.0, True),
        (2.0, 0.0, False),
        (np.pi / 2, 0.0, True),
    ],
)
def test_corners_are_continuous_at_right_angles_and_acute_ones_if_plastic(angle, e, continuous):
    made = corner(angle, e).diagnose([0.0, 0.0])
    assert (made.closed, made.independent, made.continuous) == (("floor", "wall"), True, continuous)
    assert made.pairs[0].angle == pytest.approx(np.pi - angle, abs=1e-12)
    assert ("may not depend continuously" in str(made)) is not continuous
    assert ("'floor' and 'wall'" in str(made)) is not continuous


def test_the_kinetic_angle_is_that_of_the_mass_matrix():
    made = corner(np.pi / 3, 0.5, mass=(1.0, 4.0)).diagnose()
    # gradients (0, 1) and (sin, -cos) in the metric of M^-1 = diag(1, 1/4)
    cosine = -np.cos(np.pi / 3) / 2.0 / np.sqrt(np.sin(np.pi / 3) ** 2 + np.cos(np.pi / 3) ** 2 / 4.0)
    assert np.cos(made.pairs[0].angle) == pytest.approx(cosine, abs=1e-12)


def test_one_closed_contact_is_always_continuous():
    made = corner(np.pi / 3, 0.5).diagnose([3.0, 0.0])
    assert (made.closed, made.pairs, made.continuous) == (("floor",), (), True)


def test_dependent_gradients_are_found_among_contacts_and_behind_joints():
    twice = [sl.Contact(lambda q: q[0], name="one"), sl.Contact(lambda q: 2.0 * q[0], name="two")]
    made = sl.Problem(sl.System(M=1.0, f=[0.0, 0.0], contacts=twice), (0.0, 1.0), [0.0, 0.0], [0.0, 0.0]).diagnose()
    assert not made.independent and not made.continuous and "are not linearly independent" in str(made)
    held = sl.System(M=1.0, f=[0.0, 0.0], contacts=twice[:1], joints=[sl.Joint(lambda q: q[0])])
    assert not sl.Problem(held, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0]).diagnose().independent


def test_the_diagnosis_is_frozen_and_checks_its_arguments():
    problem = corner(1.0, 0.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.diagnose().t = 1.0
    with pytest.raises(sl.ModelError, match="q has 1 entries"):
        problem.diagnose([0.0])
    with pytest.raises(sl.SettingError, match="closed_tolerance is -1"):
        problem.diagnose(closed_tolerance=-1.0)
