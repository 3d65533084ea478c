"""The problem library: exact solutions satisfy the equations of motion and the impact law."""

from __future__ import annotations

import importlib
import inspect
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

from saltus import problems
from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import arity

CASES = Path(os.environ.get("SALTUS_CASES", Path(__file__).parents[2] / "shared" / "cases"))


def stop_of_block(beta, mu, v0, gravity=9.81):
    return abs(v0) / (gravity * (mu * math.cos(beta) - np.sign(v0) * math.sin(beta)))


# (problem, parameters, times where the acceleration jumps although the velocity does not)
EXACT = [
    ("free_flight", {}, ()),
    ("free_flight", {"mass": 2.0, "strength": 3.0, "q0": 0.4, "v0": 1.5, "t_end": 1.3}, ()),
    ("rest_phase", {}, ()),
    ("rest_phase", {"mass": 2.0, "load": "exponential", "strength": 1.0}, ()),
    ("zeno_ball", {}, ()),
    ("zeno_ball", {"mass": 3.0, "gravity": 9.81, "e": 0.9, "v0": 0.7, "t_end": 3.0}, ()),
    ("zeno_ball", {"e": 1.0, "t_end": 9.0}, ()),
    ("zeno_ball", {"e": 0.0}, ()),
    ("zeno_ball", {"q0": 0.0, "v0": -1.0}, ()),
    ("zeno_ball", {"q0": 0.0, "v0": 0.0}, ()),
    ("impact_oscillator", {}, ()),
    ("impact_oscillator", {"mass": 2.0, "stiffness": 5.0, "wall": -0.2, "e": 0.6, "v0": -0.9}, ()),
    ("impact_oscillator", {"wall": 0.3, "e": 0.7, "v0": 1.0}, ()),
    ("impact_oscillator", {"wall": 0.0, "e": 0.5}, ()),
    ("impact_oscillator", {"e": 0.0}, ()),
    ("impact_oscillator", {"wall": -1.5}, ()),
    ("zeno_oscillator", {}, ()),
    ("zeno_oscillator", {"mass": 0.5, "stiffness": 7.0, "preload": 0.1, "e": 0.8, "q0": 0.0, "v0": 2.0}, ()),
    ("driven_pendulum", {}, ()),
    # rests on the wall and is lifted off again by the drive, twice
    (
        "driven_pendulum",
        {"wall": 0.2, "e": 0.4, "t_end": 12.0},
        (2 * math.pi - math.acos(math.sin(0.2) / 0.3)) / 1.3 + 2 * math.pi / 1.3 * np.arange(3),
    ),
    ("sliding_block", {}, (stop_of_block(0.3, 0.5, 1.0),)),
    ("sliding_block", {"v0": -2.0, "mass": 3.0}, (stop_of_block(0.3, 0.5, -2.0),)),
    ("sliding_block", {"v0": -2.0, "mu": 0.1}, (stop_of_block(0.3, 0.1, -2.0),)),
    ("sliding_block", {"v0": 1.0, "mu": 0.1, "beta": -0.3}, (stop_of_block(-0.3, 0.1, 1.0),)),
    ("sliding_block", {"v0": 0.0}, ()),
    ("sliding_block", {"v0": 0.0, "mu": 0.0}, ()),
    ("newtons_cradle", {}, ()),
    ("newtons_cradle", {"n": 5, "e": 0.7, "mass": 2.0, "v0": 1.5}, ()),
    ("newtons_cradle", {"n": 4, "gap": 0.03}, ()),
    ("newtons_cradle", {"n": 5, "gap": 0.03, "e": 0.6, "t_end": 3.0}, ()),
    ("newtons_cradle", {"n": 4, "gap": 0.05, "e": 0.0, "t_end": 3.0}, ()),
    ("newtons_cradle", {"n": 3, "gap": 0.05, "e": 0.05, "t_end": 3.0}, ()),
    ("rolling_sphere", {}, (2.0 / 7.0 / (0.2 * 9.81),)),
    ("rolling_sphere", {"shape": "disc", "v0": 0.3, "spin": -20.0}, (1.7 / 3.0 / (0.2 * 9.81),)),
    ("rolling_sphere", {"shape": "hoop", "mu": 0.0}, ()),
    ("double_pendulum", {}, ()),
    ("spinning_top", {"nutation": 2.0, "t_end": 0.3}, ()),
]
NAMES = [f"{name}({', '.join(f'{key}={value}' for key, value in given.items())})" for name, given, _ in EXACT]


def value(function, t, q, v):
    """Evaluate a model entry, number, array or function of (q), (t, q), (t, q, v)."""
    if callable(function):
        function = function(*(t, q, v)[slice(*{1: (1, 2), 2: (0, 2), 3: (0, 3)}[arity(function, "entry")])])
    return np.asarray(function, float)


def mass_matrix(system, t, q, nv):
    M = value(system.M, t, q, None)
    return M * np.eye(nv) if M.ndim == 0 else M


def normals(system, t, q):
    """Gradients of the gaps as rows, by central differences (nq = nv)."""
    step = 1e-6
    columns = [
        [(value(c.gap, t, q + move, None) - value(c.gap, t, q - move, None)) / (2 * step) for c in system.contacts]
        for move in step * np.eye(q.size)
    ]
    return np.array(columns).T.reshape(-1, q.size)


def rows(system, t, q):
    """W^T: normal and tangential rows in the order of the impulses."""
    found = []
    for contact, normal in zip(system.contacts, normals(system, t, q), strict=True):
        found.append(normal)
        if contact.mu > 0.0 or contact.slip is not None:
            zero = np.atleast_1d(contact.slip(t, q, np.zeros(q.size)))
            columns = [np.atleast_1d(contact.slip(t, q, unit)) - zero for unit in np.eye(q.size)]
            found.extend(np.array(columns, float).T)
    return np.array(found).reshape(-1, q.size)


def derivative(function, t, step):
    """Fourth-order central difference."""
    far, near = function(t + 2 * step) - function(t - 2 * step), function(t + step) - function(t - step)
    return (8 * near - far) / (12 * step)


@pytest.fixture(params=range(len(EXACT)), ids=NAMES)
def case(request) -> tuple[Problem, np.ndarray]:
    name, parameters, kinks = EXACT[request.param]
    problem = getattr(problems, name)(**parameters)
    return problem, np.concatenate([np.asarray(problem.exact.jumps, float), kinks])


def test_exact_solution_satisfies_the_equations_of_motion_between_its_jumps(case):
    problem, kinks = case
    system, exact = problem.system, problem.exact
    step = 1e-4 * problem.t_span[1]
    if problem.name == "spinning_top":
        step /= 5.0  # sixty radians per second
    t = np.random.default_rng(7).uniform(2 * step, problem.t_span[1] - 2 * step, 60)
    t = t[np.all(np.abs(t[:, None] - kinks) > 2.5 * step, axis=1)]
    assert t.size > 20
    q, v = exact.q(t), exact.v(t)
    q_dot, a = derivative(exact.q, t, step), derivative(exact.v, t, step)
    force = derivative(exact.impulse, t, step) if system.contacts else np.zeros((t.size, 0))
    for k in range(t.size):
        expected = system.q_dot(q[k], v[k]) if system.q_dot else v[k]
        np.testing.assert_allclose(q_dot[k], expected, rtol=1e-7, atol=1e-8)
        M, f = mass_matrix(system, t[k], q[k], v.shape[1]), value(system.f, t[k], q[k], v[k])
        W = rows(system, t[k], q[k]).T if system.contacts else np.zeros((v.shape[1], 0))
        scale = max(1.0, np.abs(f).max())
        np.testing.assert_allclose(M @ a[k], f + W @ force[k], atol=1e-7 * scale)


def test_exact_solution_respects_the_contacts(case):
    problem, kinks = case
    system, exact = problem.system, problem.exact
    if not system.contacts:
        pytest.skip("smooth problem")
    t = np.random.default_rng(8).uniform(*problem.t_span, 200)
    t = t[np.all(np.abs(t[:, None] - kinks) > 1e-6, axis=1)]
    q, force = exact.q(t), derivative(exact.impulse, t, 1e-7)
    gaps = np.array([[value(c.gap, t[k], q[k], None) for c in system.contacts] for k in range(t.size)])
    assert gaps.min() >= -1e-14
    normal = np.array([1 + (c.slip is not None) for c in system.contacts]).cumsum() - 1
    normal -= np.array([c.slip is not None for c in system.contacts])
    assert force[:, normal].min() >= -1e-6
    assert np.abs(force[:, normal] * gaps).max() <= 1e-6


def test_exact_solution_obeys_newtons_law_at_its_jumps(case):
    problem, _ = case
    system, exact = problem.system, problem.exact
    jumps = np.asarray(exact.jumps, float)
    assert np.all(np.diff(jumps) >= 0.0)
    for t in jumps[jumps > 0.0]:
        before = np.nextafter(t, 0.0)
        q, v_minus, v_plus = exact.q(t), exact.v(before), exact.v(t)
        P = exact.impulse(t) - exact.impulse(before)
        WT = normals(system, t, q)
        M = mass_matrix(system, t, q, v_plus.size)
        np.testing.assert_allclose(M @ (v_plus - v_minus), WT.T @ P, atol=1e-8)
        gaps = np.array([value(c.gap, t, q, None) for c in system.contacts])
        law = WT @ v_plus + np.array([c.e for c in system.contacts]) * (WT @ v_minus)
        # 2e-8: the impact that ends an accumulation is plastic
        assert P.min() >= 0.0
        assert P.max() > 0.0 or np.abs(WT @ v_minus).max() < 1e-14
        assert np.all(gaps[P > 0.0] < 1e-14)
        assert np.all(np.abs(law[P > 0.0]) <= 2e-8)
        assert np.all(law[gaps < 1e-15] >= -2e-8)


def test_exact_solution_starts_at_the_initial_data(case):
    problem, kinks = case
    np.testing.assert_allclose(problem.exact.q(0.0), problem.q0, rtol=1e-15)
    if not np.any(kinks == 0.0):
        np.testing.assert_allclose(problem.exact.v(0.0), problem.v0, rtol=1e-15)
        if problem.system.contacts:
            assert np.all(problem.exact.impulse(0.0) == 0.0)


def test_exact_solution_is_vectorised(case):
    problem, _ = case
    t = np.linspace(*problem.t_span, 7)
    for function in (problem.exact.q, problem.exact.v, problem.exact.impulse):
        if function is not None:
            one_by_one = np.array([function(float(time)) for time in t])
            np.testing.assert_allclose(function(t), one_by_one, rtol=1e-14, atol=1e-300)


# The numbers of the four standard test problems, to all their digits.


def test_ball_has_the_paper_values():
    exact = problems.zeno_ball().exact
    n = np.arange(40)
    np.testing.assert_allclose(exact.jumps[:40], 3 - 0.5 ** (n - 1.0), rtol=4e-16)
    for k in (0, 1, 5, 20):
        start, end = 3 - 0.5 ** (k - 1.0), 3 - 0.5**k
        t = np.linspace(start, end, 9)[:-1]
        q = -((t - 3) ** 2) - 3 * 0.5**k * (t - 1) + 0.5 ** (k - 1.0) * (3 - 0.5**k)
        np.testing.assert_allclose(exact.q(t)[:, 0], q, atol=4e-15)
        np.testing.assert_allclose(exact.v(t)[:, 0], -2 * (t - 3) - 3 * 0.5**k, atol=4e-15)
        np.testing.assert_allclose(exact.impulse(t)[:, 0], sum(3 * 0.5**j for j in range(k + 1)), atol=4e-15)
    assert exact.impulse(3.5)[0] == 7.0
    assert (exact.q(3.5)[0], exact.v(3.5)[0]) == (0.0, 0.0)


def test_oscillator_has_the_quoted_values():
    exact = problems.impact_oscillator().exact
    quoted = [2.0943951023932, 6.4862552608091, 11.0958069396882, 15.9280325701232]
    np.testing.assert_allclose(exact.jumps, quoted, rtol=0, atol=6e-14)
    np.testing.assert_allclose(exact.v(exact.jumps)[:, 0], 0.8 ** np.arange(1, 5) * math.sqrt(3) / 2, rtol=1e-14)
    assert exact.q(20.0)[0] == pytest.approx(0.0143334624905, abs=6e-14)
    assert exact.v(20.0)[0] == pytest.approx(-0.6128814500807, abs=6e-14)
    assert exact.impulse(20.0)[0] == pytest.approx(4.601712585549, abs=6e-13)


def test_zeno_oscillator_has_the_quoted_values():
    exact = problems.zeno_oscillator().exact
    quoted = [1.2309594173408, 3.1415926535898, 4.3725520709306]
    np.testing.assert_allclose(exact.jumps[:3], quoted, rtol=0, atol=6e-14)
    flights = [2 * math.atan(2 * math.sqrt(2) * 0.5**n) for n in range(1, 70)]
    accumulation = math.fsum([math.acos(1 / 3), *flights])
    assert exact.jumps[-1] == pytest.approx(accumulation, abs=2e-15)
    assert exact.impulse(accumulation)[0] == pytest.approx(3 * math.sqrt(2), abs=4e-15)
    assert exact.impulse(8.0)[0] == pytest.approx(3 * math.sqrt(2) + 0.5 * (8 - accumulation), abs=4e-15)


def test_driven_pendulum_has_the_quoted_values():
    exact = problems.driven_pendulum().exact
    quoted = [2.3448732602847, 7.4817294992422, 12.5400725879878, 17.3050194586729]
    np.testing.assert_allclose(exact.jumps, quoted, rtol=0, atol=2e-13)
    assert exact.q(20.0)[0] == pytest.approx(0.8205580697562, abs=2e-13)
    assert exact.v(20.0)[0] == pytest.approx(-0.0124900955154, abs=2e-13)
    assert exact.impulse(20.0)[0] == pytest.approx(5.8289173694114, abs=2e-13)


def test_driven_pendulum_waits_with_its_reference_until_it_is_asked(monkeypatch):
    module = importlib.import_module("saltus.problems.driven_pendulum")
    asked = []
    integrate = module.integrate
    monkeypatch.setattr(module, "integrate", lambda *given: asked.append(given) or integrate(*given))
    exact = problems.driven_pendulum(t_end=3.0).exact
    assert not asked
    assert len(exact.jumps) == 1
    runs = len(asked)
    exact.q(np.linspace(0.0, 3.0, 5))
    assert len(asked) == runs


def test_paper_solutions_of_flight_and_rest():
    t = np.linspace(0.0, 1.0, 11)
    flight, rest = problems.free_flight().exact, problems.rest_phase().exact
    np.testing.assert_allclose(flight.q(t)[:, 0], 1 - 5 / 6 * t**4, rtol=1e-15)
    np.testing.assert_allclose(flight.v(t)[:, 0], -10 / 3 * t**3, rtol=1e-15)
    np.testing.assert_allclose(rest.impulse(t)[:, 0], 10 / 3 * t**3, rtol=1e-15)
    assert not flight.impulse(t).any() and not rest.q(t).any() and not rest.v(t).any()


@pytest.mark.parametrize(
    ("n", "e", "expected"),
    [
        (3, 1.0, [-1 / 3, 2 / 3, 2 / 3]),
        (5, 1.0, [-0.6, 0.4, 0.4, 0.4, 0.4]),
        (3, 0.5, [0.0, 0.5, 0.5]),
        (4, 0.0, [0.25, 0.25, 0.25, 0.25]),
    ],
)
def test_touching_cradle_shares_the_impulse_at_once(n, e, expected):
    np.testing.assert_allclose(problems.newtons_cradle(n=n, e=e).exact.v(1.0), expected, atol=1e-15)


def test_cradle_with_gaps_hands_the_speed_to_the_last_bead():
    exact = problems.newtons_cradle(n=5, gap=1e-3).exact
    np.testing.assert_allclose(exact.v(1.0), [0.0, 0.0, 0.0, 0.0, 1.0], atol=1e-14)
    np.testing.assert_allclose(exact.jumps, 0.137 + 1e-3 * np.arange(4), rtol=1e-13)


@pytest.mark.parametrize(("shape", "fraction"), [("sphere", 5 / 7), ("disc", 2 / 3), ("hoop", 1 / 2)])
def test_rolling_body_keeps_its_known_fraction_of_the_speed(shape, fraction):
    exact = problems.rolling_sphere(shape=shape, radius=0.3, mass=2.0).exact
    vx, _, omega = exact.v(0.5)
    assert vx == pytest.approx(fraction, rel=1e-14)
    assert vx + 0.3 * omega == pytest.approx(0.0, abs=1e-15)


def test_block_sticks_iff_friction_carries_its_weight():
    steep = math.tan(0.3)
    assert problems.sliding_block(mu=1.001 * steep, v0=-1.0).exact.v(1.0)[0] == 0.0
    assert problems.sliding_block(mu=0.999 * steep, v0=-1.0).exact.v(1.0)[0] > 0.0


def test_rod_pendulum_agrees_with_its_angle_equation():
    exact = problems.rod_pendulum(angle=2.5, length=0.7, t_end=3.0).exact
    t = np.linspace(0.0, 3.0, 31)
    run = solve_ivp(
        lambda t, y: [y[1], -9.81 / 0.7 * np.sin(y[0])],
        (0.0, 3.0),
        [2.5, 0.0],
        method="DOP853",
        rtol=2.3e-14,
        atol=1e-15,
        t_eval=t,
    )
    phi, omega = run.y
    np.testing.assert_allclose(exact.q(t), 0.7 * np.stack([np.sin(phi), -np.cos(phi)], axis=-1), atol=1e-12)
    velocity = 0.7 * omega[:, None] * np.stack([np.cos(phi), np.sin(phi)], axis=-1)
    np.testing.assert_allclose(exact.v(t), velocity, atol=5e-12)


def test_rod_pendulum_satisfies_its_joint():
    problem = problems.rod_pendulum(angle=2.5, length=0.7)
    (rod,) = problem.system.joints
    t = np.linspace(0.0, 2.0, 50)
    q, v = problem.exact.q(t), problem.exact.v(t)
    assert max(abs(rod.constraint(point)) for point in q) < 1e-15
    assert np.abs(np.sum(q * v, axis=1)).max() < 1e-14


def test_double_pendulum_conserves_energy():
    problem = problems.double_pendulum()
    t = np.linspace(0.0, 3.0, 40)
    q, v = problem.exact.q(t), problem.exact.v(t)
    kinetic = [v[k] @ np.asarray(problem.system.M(q[k])) @ v[k] / 2 for k in range(t.size)]
    energy = kinetic - 9.81 * (2 * np.cos(q[:, 0]) + np.cos(q[:, 1]))
    assert np.ptp(energy) < 1e-12


def test_spinning_top_conserves_energy_and_two_momenta():
    problem = problems.spinning_top(nutation=2.0)
    t = np.linspace(0.0, 1.0, 40)
    q, v = problem.exact.q(t), problem.exact.v(t)
    turns = Rotation.from_quat(q, scalar_first=True)
    axis = turns.apply([0.0, 0.0, 1.0])
    momentum = v * np.diag(problem.system.M)
    energy = np.sum(v * momentum, axis=1) / 2 + 0.5 * 9.81 * 0.08 * axis[:, 2]
    assert np.ptp(energy) < 1e-12
    assert np.ptp(turns.apply(momentum)[:, 2]) < 1e-13
    assert np.ptp(v[:, 2]) == 0.0
    assert np.abs(np.linalg.norm(q, axis=1) - 1).max() < 1e-12
    assert np.ptp(axis[:, 2]) > 0.01  # it does nutate


@pytest.mark.parametrize("name", ["slider_crank", "double_pendulum"])
def test_gyroscopic_forces_do_the_work_of_the_changing_mass(name):
    system = getattr(problems, name)(gravity=1e-30).system
    rng = np.random.default_rng(3)
    for _ in range(10):
        q, v = rng.normal(size=(2, len(system.f(0.0, np.zeros(3), np.zeros(3)))))
        change = derivative(lambda s, q=q, v=v: v @ np.asarray(system.M(q + s * v)) @ v / 2, 0.0, 1e-3)
        assert v @ np.asarray(system.f(0.0, q, v)) == pytest.approx(-change, rel=1e-8, abs=1e-12)


def test_slider_crank_slips_with_its_tangential_coordinates():
    problem = problems.slider_crank()
    rng = np.random.default_rng(4)
    for contact, (a, b) in zip(
        problem.system.contacts, [(-0.05, -0.025), (0.05, -0.025), (-0.05, 0.025), (0.05, 0.025)], strict=True
    ):
        q, v = rng.normal(size=(2, 3))

        def tangential(s, q=q, v=v, a=a, b=b):
            th1, th2, th3 = q + s * v
            return 0.153 * np.cos(th1) + 0.306 * np.cos(th2) + a * np.cos(th3) + b * np.sin(th3)

        assert contact.slip(0.0, q, v) == pytest.approx(derivative(tangential, 0.0, 1e-3), rel=1e-9)


def test_slider_crank_has_the_gaps_of_the_reference_run():
    path = CASES / "slider_crank" / "SliderCrankMoreauJeanDirectProjectionOSI.ref"
    if not path.exists():
        pytest.skip(f"no reference run at {path}; set SALTUS_CASES")
    table = np.loadtxt(path, skiprows=1)[::50]
    q = table[:, 1:4] * [2 * np.pi, 1.0, 1.0]
    gaps = np.array([[contact.gap(point) for contact in problems.slider_crank().system.contacts] for point in q])
    np.testing.assert_allclose(gaps, table[:, 13:17], atol=2e-15)


def test_impacting_bar_is_a_free_bar():
    system = problems.impacting_bar().system
    ones = np.ones(100)
    assert np.abs(system.K @ ones).max() < 1e-14 * np.abs(system.K).max()
    assert ones @ system.M @ ones == pytest.approx(7800 * 3.14e-4 * 0.99, rel=1e-14)
    omega = np.sqrt(eigh(system.K, system.M, eigvals_only=True)[1:4])
    speed = math.sqrt(210e9 / 7800)
    np.testing.assert_allclose(omega, np.pi * speed / 0.99 * np.arange(1, 4), rtol=1e-3)


def test_bead_column_starts_with_the_gaps_of_the_reference_run():
    problem = problems.bead_column()
    gaps = [contact.gap(problem.q0) for contact in problem.system.contacts]
    np.testing.assert_allclose(gaps, [0.9] + [0.05] * 9, rtol=1e-13)


def test_tumbling_box_corners_move_as_a_rigid_body():
    problem = problems.tumbling_box()
    system, q, v = problem.system, problem.q0, problem.v0
    assert len(system.contacts) == 8
    turn = Rotation.from_quat(q[3:], scalar_first=True)
    world = turn.apply(v[3:].copy())
    for contact in system.contacts:
        signs = [1 if sign == "+" else -1 for sign in contact.name.split()[1]]
        arm = turn.apply(np.array(signs) * [0.10, 0.06, 0.03])
        assert contact.gap(q) == pytest.approx(0.5 + arm[2], abs=1e-15)
        velocity = v[:3] + np.cross(world, arm)
        np.testing.assert_allclose(contact.slip(0.0, q, v), velocity[:2], atol=1e-14)
        step = 1e-6
        later = [contact.gap(q + s * np.array(system.q_dot(q, v))) for s in (-step, step)]
        assert (later[1] - later[0]) / (2 * step) == pytest.approx(velocity[2], abs=1e-8)


def test_tumbling_box_keeps_its_angular_momentum_in_flight():
    problem = problems.tumbling_box()
    system, q, v = problem.system, problem.q0, problem.v0
    inertia = np.diag(system.M)[3:]
    np.testing.assert_allclose(inertia, [0.0015, 0.0109 / 3, 0.0136 / 3], rtol=1e-14)
    a = np.array(system.f(0.0, q, v))[3:] / inertia
    # d/dt (R I omega) = R (I omega' + omega x I omega)
    np.testing.assert_allclose(inertia * a + np.cross(v[3:], inertia * v[3:]), 0.0, atol=1e-17)


def test_tumbling_box_retracts_to_a_unit_quaternion():
    problem = problems.tumbling_box()
    stretched = np.concatenate([problem.q0[:3], 1.7 * problem.q0[3:]])
    np.testing.assert_allclose(problem.system.retract(stretched), problem.q0, rtol=1e-15)


def test_four_bar_starts_closed_in_position_and_velocity():
    for angle in (0.6, 2.0, -1.0):
        problem = problems.four_bar(angle=angle)
        q, v = problem.q0, problem.v0
        for joint in problem.system.joints:
            assert np.abs(joint.constraint(q)).max() < 1e-16
            speed = derivative(lambda s, j=joint, q=q, v=v: np.array(j.constraint(q + s * v)), 0.0, 1e-5)
            assert np.abs(speed).max() < 1e-9
        (journal,) = problem.system.contacts
        assert journal.gap(q) == pytest.approx(2e-4, rel=2e-6)
        # the centred journal stays centred at first: the start is that of the ideal linkage
        assert journal.gap(q + 1e-6 * v) == pytest.approx(2e-4, rel=1e-3)


def test_four_bar_journal_does_not_slip_when_everything_turns_together():
    (journal,) = problems.four_bar().system.contacts
    rng = np.random.default_rng(5)
    q = problems.four_bar().q0 + 0.0
    q[6:8] += 2e-4 * np.array([0.6, 0.8])  # moves the bearing until it touches
    assert journal.gap(q) == pytest.approx(0.0, abs=1e-14)
    omega, centre = 3.0, rng.normal(size=2)
    v = np.zeros(9)
    for bar in range(3):
        x, y = q[3 * bar : 3 * bar + 2] - centre
        v[3 * bar : 3 * bar + 3] = [-omega * y, omega * x, omega]
    assert journal.slip(0.0, q, v) == pytest.approx(0.0, abs=1e-13)
    v[:] = 0.0
    v[5] = 1.0  # only the coupler turns, about its centre
    tangent = np.array([0.8, -0.6])
    phi = q[5]
    expected = tangent @ [-0.06 * math.sin(phi), 0.06 * math.cos(phi)] + 5e-3
    assert journal.slip(0.0, q, v) == pytest.approx(expected, rel=1e-10)


# Every problem of the library.


@pytest.mark.parametrize("name", problems.__all__)
def test_every_parameter_is_keyword_only_with_a_default(name):
    for parameter in inspect.signature(getattr(problems, name)).parameters.values():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default is not inspect.Parameter.empty


@pytest.mark.parametrize("name", problems.__all__)
def test_every_start_is_admissible(name):
    problem = getattr(problems, name)()
    assert problem.name == problem.system.name == name
    for contact in problem.system.contacts:
        assert value(contact.gap, 0.0, problem.q0, problem.v0) >= -1e-15  # rounding of what touches
    for joint in problem.system.joints:
        np.testing.assert_allclose(value(joint.constraint, 0.0, problem.q0, problem.v0), 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("free_flight", {"t_end": 2.0}, "smaller t_end"),
        ("rest_phase", {"load": "cubic"}, "'quadratic' or 'exponential'"),
        ("rest_phase", {"strength": -1.0}, "strength >= 0"),
        ("zeno_ball", {"q0": -1.0}, "q0 >= 0"),
        ("impact_oscillator", {"q0": -1.0}, "q0 >= wall"),
        ("zeno_oscillator", {"q0": -1.0}, "q0 >= 0"),
        ("driven_pendulum", {"q0": -1.0}, "q0 >= wall"),
        ("sliding_block", {"beta": 2.0}, "pi/2"),
        ("rolling_sphere", {"shape": "cube"}, "disc"),
        ("newtons_cradle", {"n": 1}, "n >= 2"),
        ("four_bar", {"ground": 1.0}, "change the lengths"),
        ("tumbling_box", {"position": (0.0, 0.0, 0.01)}, "raise position"),
        ("rod_pendulum", {"angle": 4.0}, "< pi"),
    ],
)
def test_parameters_outside_the_model_are_refused_with_a_remedy(name, parameters, words):
    with pytest.raises(ModelError, match=words):
        getattr(problems, name)(**parameters)
