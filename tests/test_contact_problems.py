"""Problems with curved walls, releases, accumulations and drives: their exact solutions, each from two sides."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import saltus as sl
from counts import counted
from saltus import problems
from saltus.errors import ModelError
from saltus.system import arity

TIGHT = {"method": "DOP853", "rtol": 2.3e-14, "atol": 1e-15, "max_step": 0.02}


def table_releases(intensity, t_end=2.0, omega=20.0):
    return (np.arcsin(1.0 / intensity) + 2.0 * np.pi * np.arange(50)) / omega if intensity > 1.0 else ()


def stop_releases(wall, omega):
    return (np.arccos(wall) + 2.0 * np.pi * np.arange(50)) / omega


def time_of_release(theta0, w0=0.0):
    """Quadrature of dtheta / theta' on the unit circle; theta = theta0 + s^2 takes the root out of the start."""
    release = np.arccos((w0**2 + 2.0 * np.cos(theta0)) / 3.0)

    def slowness(s):
        theta = theta0 + s**2
        return 2.0 * s / np.sqrt(w0**2 + 4.0 * np.sin((theta + theta0) / 2.0) * np.sin(s**2 / 2.0))

    return quad(slowness, 1e-300, np.sqrt(release - theta0), epsabs=0.0, epsrel=4e-14)[0], release


# problem, parameters, times where the acceleration or its rate jumps but the velocity does not
CASES = [
    ("damped_pendulum", {}, ()),
    ("damped_pendulum", {"omega": 3.0, "damping": 0.1, "q0": -2.0}, ()),
    ("forced_double_pendulum", {}, ()),
    ("forced_double_pendulum", {"l1": 0.7, "m2": 2.0, "gravity": 9.81, "frequency": 4.0}, ()),
    ("circle_slide", {}, ()),
    ("circle_slide", {"mass": 2.0, "radius": 0.5, "gravity": 9.81, "phi0": -1.0, "w0": -12.0, "t_end": 1.0}, ()),
    ("circle_slide", {"mu": 0.2}, ()),
    ("circle_slide", {"mu": 0.3, "mass": 2.0, "radius": 1.5, "phi0": 0.8, "w0": -2.0, "t_end": 0.6}, ()),
    ("slide_off", {}, (time_of_release(0.3)[0],)),
    ("slide_off", {"theta0": 0.1, "w0": 0.4, "mass": 3.0}, (time_of_release(0.1, 0.4)[0],)),
    ("slide_off", {"t_end": 1.0}, ()),
    ("bowl", {}, ()),
    ("bowl", {"e": 0.0}, ()),
    ("bowl", {"mass": 2.0, "radius": 0.5, "gravity": 9.81, "e": 0.9, "q0": (-0.3, -0.1), "v0": (0.4, -0.2)}, ()),
    ("bowl", {"e": 1.0, "t_end": 5.0}, ()),
    ("bowl", {"q0": (0.6, -0.8), "t_end": 2.0}, ()),
    ("clattering_rod", {}, ()),
    ("clattering_rod", {"e": 0.0}, ()),
    ("clattering_rod", {"mass": 2.0, "half_length": 0.5, "gravity": 9.81, "e": 0.8, "y0": 0.6, "theta0": -0.3}, ()),
    ("clattering_rod", {"e": 0.2, "theta0": 0.4, "t_end": 6.0}, ()),
    ("clattering_rod", {"theta0": 0.0}, ()),
    ("two_walls", {}, ()),
    ("two_walls", {"mass": 3.0, "width": 0.5, "e1": 0.0, "v0": -0.7}, ()),
    ("two_walls", {"e1": 1.0, "e2": 1.0, "q0": 0.0, "v0": -1.3}, ()),
    ("vibrating_table", {}, table_releases(1.3)),
    ("vibrating_table", {"intensity": 0.8, "mass": 2.0, "v0": 0.3}, ()),
    ("vibrating_table", {"intensity": 3.0, "e": 0.1, "phase": 2.0}, table_releases(3.0) - 0.1),
    ("vibrating_table", {"q0": 0.0, "intensity": 1.3, "phase": 0.0}, table_releases(1.3)),
    ("forced_impact_oscillator", {}, stop_releases(0.0, 2.6)),
    ("forced_impact_oscillator", {"omega": 0.4, "e": 0.3, "wall": -0.2}, stop_releases(-0.2, 0.4)),
    ("forced_impact_oscillator", {"wall": 0.5, "e": 0.6, "q0": 0.1, "omega": 1.4}, stop_releases(0.5, 1.4)),
    ("rocking_block", {}, ()),
    ("rocking_block", {"linear": True, "mass": 3.0}, ()),
    ("rocking_block", {"half_width": 0.3, "theta0": 0.6, "t_end": 4.0}, ()),
    ("rocking_block", {"half_width": 0.3, "theta0": 0.6, "t_end": 4.0, "linear": True}, ()),
]
NAMES = [f"{name}({', '.join(f'{key}={value}' for key, value in given.items())})" for name, given, _ in CASES]


def value(function, t, q, v):
    """Evaluate a model entry: a number, an array, or a function of (q), (t, q), (t, q, v)."""
    if callable(function):
        function = function(*{1: (q,), 2: (t, q), 3: (t, q, v)}[arity(function, "entry")])
    return np.asarray(function, float)


def mass_matrix(system, t, q, nv):
    M = value(system.M, t, q, None)
    return M if M.ndim == 2 else np.diag(np.broadcast_to(M, nv))


def rows(system, t, q, v):
    """W^T and u = W^T v + w of all contact rows, by central differences of the gaps."""
    step, directions, rates = 1e-6, [], []
    for contact in system.contacts:

        def gap(time, place, contact=contact):
            return value(contact.gap, time, place, None)

        normal = [(gap(t, q + move) - gap(t, q - move)) / (2 * step) for move in step * np.eye(q.size)]
        directions.append(normal)
        rates.append(normal @ v + (gap(t + step, q) - gap(t - step, q)) / (2 * step))
        if contact.slip is not None:
            still = contact.slip(t, q, np.zeros(q.size))
            directions.append([contact.slip(t, q, unit) - still for unit in np.eye(q.size)])
            rates.append(contact.slip(t, q, v))
    return np.array(directions, float).reshape(-1, q.size), np.array(rates, float)


def derivative(function, t, step):
    far, near = function(t + 2 * step) - function(t - 2 * step), function(t + step) - function(t - step)
    return (8 * near - far) / (12 * step)


@pytest.fixture(params=range(len(CASES)), ids=NAMES)
def case(request):
    name, given, kinks = CASES[request.param]
    problem = getattr(problems, name)(**given)
    return problem, np.concatenate([np.asarray(problem.exact.jumps, float), kinks])


def test_exact_solution_satisfies_the_equations_of_motion_and_the_contact_laws(case):
    problem, kinks = case
    system, exact = problem.system, problem.exact
    step = 5e-5 * problem.t_span[1]
    t = np.random.default_rng(11).uniform(2 * step, problem.t_span[1] - 2 * step, 80)
    t = t[np.all(np.abs(t[:, None] - kinks) > 2.5 * step, axis=1)]
    assert t.size > 20
    q, v, a = exact.q(t), exact.v(t), derivative(exact.v, t, step)
    np.testing.assert_allclose(derivative(exact.q, t, step), v, rtol=1e-7, atol=1e-8)
    force = derivative(exact.impulse, t, step) if system.contacts else np.zeros((t.size, 0))
    for k in range(t.size):
        WT, u = rows(system, t[k], q[k], v[k])
        f = value(system.f, t[k], q[k], v[k])
        reaction = WT.T @ force[k] if len(WT) else 0.0
        scale = max(1.0, np.abs(f).max(), np.abs(force[k]).max(initial=0.0))
        M = mass_matrix(system, t[k], q[k], v.shape[1])
        np.testing.assert_allclose(M @ a[k], f + reaction, atol=2e-7 * scale)
        row = 0
        for contact in system.contacts:
            gap, r = value(contact.gap, t[k], q[k], None), force[k, row]
            assert gap >= -1e-14
            assert r >= -1e-6
            assert abs(r * gap) <= 1e-6 * scale
            if contact.slip is not None:
                # slip: full friction against it
                assert abs(u[row + 1]) > 1e-3
                assert force[k, row + 1] == pytest.approx(-contact.mu * r * np.sign(u[row + 1]), abs=1e-6)
            row += 1 + (contact.slip is not None)


def test_exact_solution_obeys_newtons_law_at_its_jumps(case):
    problem, _ = case
    system, exact = problem.system, problem.exact
    jumps = np.asarray(exact.jumps, float)
    assert np.all(np.diff(jumps) > 0.0)
    e = np.array([contact.e for contact in system.contacts])
    for t in jumps[jumps > 0.0]:
        before = np.nextafter(t, 0.0)
        q, v_minus, v_plus = exact.q(t), exact.v(before), exact.v(t)
        np.testing.assert_allclose(exact.q(before), q, atol=1e-14)
        P = exact.impulse(t) - exact.impulse(before)
        (WT, u_plus), (_, u_minus) = rows(system, t, q, v_plus), rows(system, t, q, v_minus)
        M = mass_matrix(system, t, q, v_plus.size)
        np.testing.assert_allclose(M @ (v_plus - v_minus), WT.T @ P, atol=2e-9)
        gaps = np.array([value(contact.gap, t, q, None) for contact in system.contacts])
        pushed = P > 1e-13
        assert np.all(P >= -1e-15)
        assert np.all(np.abs(gaps[pushed]) < 1e-14)
        # differences of the gaps are good to 1e-9; the impact that ends an accumulation is plastic
        assert np.all(np.abs((u_plus + e * u_minus)[pushed]) <= 5e-9)
        if np.abs(u_minus).max() > 1e-5:  # else an end that has not landed yet may be as near
            assert np.all((u_plus + e * u_minus)[gaps < 1e-14] >= -5e-9)


def test_exact_solution_starts_at_the_initial_data_and_is_vectorised(case):
    problem, kinks = case
    exact = problem.exact
    np.testing.assert_allclose(exact.q(0.0), problem.q0, rtol=1e-15, atol=1e-16)
    if not np.any(kinks == 0.0):
        np.testing.assert_allclose(exact.v(0.0), problem.v0, rtol=1e-15, atol=1e-16)
        if problem.system.contacts:
            np.testing.assert_allclose(exact.impulse(0.0), 0.0, atol=1e-15)
    t = np.linspace(*problem.t_span, 8)
    for function in (exact.q, exact.v, exact.impulse):
        if function is not None:
            one_by_one = np.array([function(float(time)) for time in t])
            np.testing.assert_allclose(function(t), one_by_one, rtol=1e-14, atol=1e-15)


SHORT = {"forced_impact_oscillator": {"t_end": 8.0}, "circle_slide": {"mu": 0.2}}


@pytest.mark.parametrize("name", sorted({name for name, _, _ in CASES}))
def test_moreau_jean_converges_to_the_exact_solution(name):
    problem = getattr(problems, name)(**SHORT.get(name, {}))
    quantities = ("q", "v", "impulse") if problem.system.contacts else ("q", "v")

    def mean_errors(steps):
        # errors scatter with the place of an impact in its step; smooth ones do not
        grids = problem.t_span[1] / (steps * np.geomspace(1.0, 1.93, 6 if len(problem.exact.jumps) else 2))
        runs = [sl.solve(problem, scheme=sl.MoreauJean(), h=h) for h in grids]
        return [np.mean([sl.study.error(run, quantity=x) for run in runs]) for x in quantities]

    levels = counted(1, 0.5) * np.array([250, 500, 1000, 2000])
    errors = np.array([mean_errors(steps) for steps in levels])
    order = -np.polyfit(np.log(levels), np.log(errors), 1)[0]
    assert np.all(order > 0.75)
    assert np.all(order < 1.25) or not len(problem.exact.jumps)


# ---- smooth


def test_a_damped_pendulum_loses_what_the_damper_takes():
    problem = problems.damped_pendulum(omega=3.0, damping=0.4)
    exact = problem.exact

    def energy(t):
        return exact.v(t)[0] ** 2 / 2 - 9.0 * np.cos(exact.q(t)[0])

    lost = quad(lambda t: 0.4 * exact.v(t)[0] ** 2, 0.0, 2.0, epsabs=1e-14, epsrel=1e-13)[0]
    assert energy(2.0) - energy(0.0) == pytest.approx(-lost, abs=1e-12)


def test_the_forced_double_pendulum_agrees_with_its_equations_in_relative_angles():
    def rhs(t, y):
        a, b, va, vb = y
        c, s = np.cos(b), np.sin(b)
        M = [[3 + 2 * c, 1 + c], [1 + c, 1.0]]
        weight = np.sin(a + b)
        first = s * (2 * va * vb + vb**2) - 2 * np.sin(a) - weight - 0.1 * va + np.cos(t)
        return [va, vb, *np.linalg.solve(M, [first, -s * va**2 - weight - 0.1 * vb])]

    problem = problems.forced_double_pendulum()
    (a0, b0), (va0, vb0) = problem.q0, problem.v0
    a, b, va, vb = solve_ivp(rhs, (0.0, 1.5), [a0, b0 - a0, va0, vb0 - va0], **TIGHT).y[:, -1]
    np.testing.assert_allclose(problem.exact.q(1.5), [a, a + b], atol=1e-13)
    np.testing.assert_allclose(problem.exact.v(1.5), [va, va + vb], atol=1e-13)


# ---- circles


@pytest.mark.parametrize("mu", [0.0, 0.2])
def test_sliding_in_a_circle_agrees_with_cartesian_equations(mu):
    problem = problems.circle_slide(mu=mu)

    def rhs(t, y):
        q, v = y[:2], y[2:4]
        radius = np.hypot(*q)
        inward, along = -q / radius, np.array([-q[1], q[0]]) / radius
        # gap'' = 0: -inward . a = (along . v)^2 / radius
        r = (along @ v) ** 2 / radius + inward[1]
        return [*v, *(r * inward - mu * np.sign(along @ v) * r * along + [0.0, -1.0]), r]

    end = problem.t_span[1]
    run = solve_ivp(rhs, (0.0, end), [*problem.q0, *problem.v0, 0.0], **TIGHT).y[:, -1]
    np.testing.assert_allclose(problem.exact.q(end), run[:2], atol=1e-12)
    np.testing.assert_allclose(problem.exact.v(end), run[2:4], atol=1e-12)
    impulse = problem.exact.impulse(end)
    assert impulse[0] == pytest.approx(run[4], abs=1e-12)
    assert impulse[1:] == pytest.approx([-mu * run[4]] if mu else [], abs=1e-12)


def test_a_circle_carries_weight_and_centrifugal_force():
    exact = problems.circle_slide(mass=2.0, radius=0.5, gravity=9.81, t_end=2.0).exact
    t = np.linspace(0.1, 1.9, 20)
    q, v = exact.q(t), exact.v(t)
    force = 2.0 * (np.sum(v**2, axis=1) / 0.5 - 9.81 * q[:, 1] / 0.5)
    np.testing.assert_allclose(derivative(exact.impulse, t, 1e-4)[:, 0], force, rtol=1e-9)
    assert np.ptp(np.sum(v**2, axis=1) / 2 + 9.81 * q[:, 1]) < 1e-13


def test_a_particle_leaves_the_circle_at_two_thirds_of_the_height():
    t_release, release = time_of_release(0.3)
    assert t_release == pytest.approx(1.7646318866960504, abs=2e-14)
    problem = problems.slide_off()
    assert problem.t_span[1] == pytest.approx(t_release + 0.4, abs=1e-14)
    assert np.cos(release) == pytest.approx(2.0 * np.cos(0.3) / 3.0, rel=1e-15)
    place, direction = [np.sin(release), np.cos(release)], [np.cos(release), -np.sin(release)]
    v = np.sqrt(np.cos(release)) * np.array(direction)
    np.testing.assert_allclose(problem.exact.q(t_release), place, atol=1e-13)
    end = t_release + 0.4
    np.testing.assert_allclose(problem.exact.q(end), place + 0.4 * v - [0.0, 0.08], atol=1e-13)
    np.testing.assert_allclose(problem.exact.v(end), v - [0.0, 0.4], atol=1e-13)
    # what the circle gave: the vertical momentum alone would miss its tilt
    normal = quad(lambda t: -np.array([0.0, -1.0]) @ problem.exact.q(t) - np.sum(problem.exact.v(t) ** 2), 0, t_release)
    assert problem.exact.impulse(end)[0] == pytest.approx(normal[0], abs=1e-10)


def test_bowl_agrees_with_an_event_driven_run():
    def lands(t, y):
        return 1.0 - np.hypot(y[0], y[1]) if t > 1e-9 else 1.0

    lands.terminal, lands.direction = True, -1.0
    t, y, total, times = 0.0, np.array([0.3, 0.0, 0.0, 0.0]), 0.0, []
    while True:
        run = solve_ivp(lambda t, y: [y[2], y[3], 0.0, -1.0], (0.0, 9.0), y, **TIGHT, events=lands)
        t, y = t + run.t[-1], run.y[:, -1]
        times.append(t)
        inward = -y[:2] / np.hypot(*y[:2])
        u = inward @ y[2:]
        rebound = 0.5 * -u if 0.5 * -u > 1e-6 else 0.0
        total += rebound - u
        y[2:] += (rebound - u) * inward
        if rebound == 0.0:
            break
    phi, w = np.arctan2(y[0], -y[1]), np.hypot(*y[2:]) * np.sign(-y[1] * y[2] + y[0] * y[3])
    rest = solve_ivp(
        lambda t, y: [y[1], -np.sin(y[0]), y[1] ** 2 + np.cos(y[0])], (t, 8.0), [phi, w, total], **TIGHT
    ).y[:, -1]
    exact = problems.bowl().exact
    np.testing.assert_allclose(exact.jumps[: len(times) - 1], times[:-1], atol=1e-12)
    np.testing.assert_allclose(exact.q(8.0), [np.sin(rest[0]), -np.cos(rest[0])], atol=5e-12)
    np.testing.assert_allclose(exact.v(8.0), rest[1] * np.array([np.cos(rest[0]), np.sin(rest[0])]), atol=5e-12)
    assert exact.impulse(8.0)[0] == pytest.approx(rest[2], abs=5e-12)


@pytest.mark.parametrize("name", ["bowl", "clattering_rod", "vibrating_table"])
def test_where_an_accumulation_is_cut_matters_only_by_its_square(name, monkeypatch):
    problem = getattr(problems, name)()
    end = problem.t_span[1]
    fine = [problem.exact.q(end), problem.exact.v(end), problem.exact.impulse(end)]
    for cut in (1e-4, 1e-6):
        monkeypatch.setattr(importlib.import_module(f"saltus.problems.{name}"), "STILL", cut)
        coarse = getattr(problems, name)().exact
        assert len(coarse.jumps) < len(problem.exact.jumps)
        for x, y in zip(fine, (coarse.q(end), coarse.v(end), coarse.impulse(end)), strict=True):
            np.testing.assert_allclose(y, x, atol=30.0 * cut**2 + 3e-14)


# ---- clattering rod


def test_both_ends_of_the_rod_together_carry_its_momentum():
    exact = problems.clattering_rod().exact
    assert exact.impulse(4.0).sum() == pytest.approx(4.0, abs=4e-15)
    t = np.linspace(0.0, 4.0, 101)
    np.testing.assert_allclose(exact.impulse(t).sum(axis=1), exact.v(t)[:, 0] + t, atol=1e-14)
    np.testing.assert_array_equal(exact.q(3.9), 0.0)


def test_a_plastic_rod_falls_on_one_end_and_then_slaps_flat():
    exact = problems.clattering_rod(e=0.0).exact
    first, second = exact.jumps
    assert first == pytest.approx(np.sqrt(2.0 * (1.2 - np.sin(0.2))), rel=1e-14)
    # the end stops: its impulse is u/D with D = 1 + 3 cos^2
    P = first / (1.0 + 3.0 * np.cos(0.2) ** 2)
    omega = -3.0 * np.cos(0.2) * P
    assert exact.v(first)[1] == pytest.approx(omega, rel=1e-13)
    # energy about the fixed end turns into speed until it is flat
    speed = np.sqrt((omega**2 * (np.cos(0.2) ** 2 + 1 / 3) / 2 + np.sin(0.2)) * 2 / (4 / 3))
    assert exact.v(np.nextafter(second, 0.0))[1] == pytest.approx(-speed, rel=1e-12)
    np.testing.assert_array_equal(exact.v(second), 0.0)


# ---- walls, tables and stops


def test_a_round_between_two_walls_costs_e1_e2():
    problem = problems.two_walls(width=2.0, e1=0.9, e2=0.7, q0=0.5, v0=3.0, t_end=20.0)
    jumps, exact = np.asarray(problem.exact.jumps), problem.exact
    upper = 0.5 + 2.0 / 3.0 * (1 / 0.7 + 1 / 0.63) * (1 - 0.63 ** -np.arange(5.0)) / (1 - 1 / 0.63)
    np.testing.assert_allclose(jumps[::2][:5], upper[: len(jumps[::2])], rtol=1e-14)
    np.testing.assert_allclose(exact.v(jumps[1::2])[:, 0], 3.0 * 0.63 ** np.arange(1, len(jumps[1::2]) + 1), rtol=1e-14)
    t = np.linspace(0.0, 20.0, 50)
    lower, top = exact.impulse(t).T
    np.testing.assert_allclose(lower - top, exact.v(t)[:, 0] - 3.0, atol=1e-14)


def bouncing_orbit(intensity, e=0.5, gravity=9.81, omega=20.0):
    """Phase of the table and launch speed of the orbit with one bounce per period."""
    return np.arccos(np.pi * (1 - e) / ((1 + e) * intensity)), np.pi * gravity / omega


def test_a_ball_bounces_once_per_period_of_the_table():
    phase, launch = bouncing_orbit(1.2)
    q0 = 1.2 * 9.81 / 400 * np.sin(phase)
    exact = problems.vibrating_table(intensity=1.2, phase=phase, q0=q0, v0=launch).exact
    period = 2 * np.pi / 20
    np.testing.assert_allclose(exact.jumps, period * np.arange(1, 7), atol=1e-12)
    np.testing.assert_allclose(exact.v(exact.jumps)[:, 0], launch, atol=1e-12)


def multipliers(bounce, phase, launch):
    """Trace and determinant of the map (phase, launch speed) -> the same at the next impact."""
    step = 1e-5
    columns = [
        (np.array(bounce(phase + dx, launch + dy)) - bounce(phase - dx, launch - dy)) / (2 * step)
        for dx, dy in ((step, 0.0), (0.0, step))
    ]
    J = np.array(columns).T
    return np.trace(J), np.linalg.det(J)


@pytest.mark.parametrize(
    ("intensity", "sign"), [(1.5268237005 - 0.05, 1), (1.5268237005, 0), (1.5268237005 + 0.05, -1)]
)
def test_the_bouncing_orbit_doubles_its_period_at_the_known_intensity(intensity, sign):
    amplitude = intensity * 9.81 / 400

    def bounce(phase, launch):
        q0 = amplitude * np.sin(phase)
        speed = launch + amplitude * 20 * np.cos(phase)
        exact = problems.vibrating_table(intensity=intensity, phase=phase, q0=q0, v0=speed, t_end=0.5).exact
        t = exact.jumps[0]
        return phase + 20 * t, exact.v(t)[0] - amplitude * 20 * np.cos(phase + 20 * t)

    phase, speed = bouncing_orbit(intensity)
    trace, determinant = multipliers(bounce, phase, speed - amplitude * 20 * np.cos(phase))
    assert determinant == pytest.approx(0.25, abs=1e-7)
    # a multiplier -1 where 1 + trace + determinant = 0
    crossing = 1 + trace + determinant
    assert abs(crossing) < 1e-7 if sign == 0 else np.sign(crossing) == sign and abs(crossing) > 1e-2


def test_a_ball_rests_on_a_slow_table():
    problem = problems.vibrating_table(intensity=0.8)
    t = np.linspace(1.7, 2.0, 50)
    np.testing.assert_allclose(problem.exact.q(t)[:, 0], 0.8 * 9.81 / 400 * np.sin(20 * t), atol=1e-16)


def stop_orbit(omega, n, e=0.8):
    """Launch speed and drive phase at the impact of the orbit with one impact per n forcing periods."""
    response = 1.0 / (1.0 - omega**2)
    cot = 1.0 / np.tan(np.pi * n / omega)
    launch = -2 * e * abs(response) / np.sqrt((1 - e) ** 2 / omega**2 + (1 + e) ** 2 * cot**2)
    # q = 0 at both ends of a flight and the law of impact between them, the forced part being periodic
    sine = (1 - e) * launch / (2 * e * omega * response)
    cosine = -(1 + e) * launch * cot / (2 * e * response)
    return launch, np.arctan2(sine, cosine)


@pytest.mark.parametrize(("omega", "n", "quoted"), [(2.6, 1, -0.404351976715), (4.0, 2, -32 / 15)])
def test_a_forced_oscillator_repeats_its_impacts(omega, n, quoted):
    launch, phase = stop_orbit(omega, n)
    assert launch == pytest.approx(quoted, abs=1e-12)
    period = 2 * np.pi * n / omega
    problem = problems.forced_impact_oscillator(omega=omega, phase=phase, q0=0.0, v0=launch, t_end=3.5 * period)
    np.testing.assert_allclose(problem.exact.jumps, period * np.arange(1, 4), atol=1e-11)
    np.testing.assert_allclose(problem.exact.v(problem.exact.jumps)[:, 0], quoted, atol=1e-11)


@pytest.mark.parametrize(
    ("omega", "n", "crossing"), [(2.6, 1, 1 - 1.1490793 + 0.64), (2.65334772786, 1, 0.0), (4.64183675437, 2, 0.0)]
)
def test_a_forced_oscillator_doubles_its_period_at_the_known_frequencies(omega, n, crossing):
    def bounce(phase, launch):
        exact = problems.forced_impact_oscillator(omega=omega, phase=phase, q0=0.0, v0=launch, t_end=6.0).exact
        t = exact.jumps[0]
        return phase + omega * t, exact.v(t)[0]

    launch, phase = stop_orbit(omega, n)
    trace, determinant = multipliers(bounce, phase, launch)
    assert determinant == pytest.approx(0.64, abs=1e-6)
    assert 1 + trace + determinant == pytest.approx(crossing, abs=1e-6)


# ---- rocking block


def test_a_rocking_block_has_housners_numbers():
    half_height = 0.4
    problem = problems.rocking_block(half_width=half_height * np.tan(0.25), theta0=0.125, linear=True)
    exact = problem.exact
    p = np.sqrt(3 * 9.81 / (4 * half_height / np.cos(0.25)))
    assert problem.system.contacts[0].e == pytest.approx(0.908186921418, abs=1e-12)
    assert p * exact.jumps[0] == pytest.approx(1.316957896925, abs=1e-12)
    # tilt after n impacts, as in Housner's paper: 1 - sqrt(1 - r^n (1 - (1 - tilt0)^2)), tilts over alpha
    r = 0.908186921418**2
    tops = (exact.jumps[:5] + exact.jumps[1:6]) / 2
    expected = 1 - np.sqrt(1 - r ** np.arange(1, 6) * (1 - 0.5**2))
    np.testing.assert_allclose(exact.q(tops)[:, 0] / 0.25, expected, rtol=1e-10)


def test_a_rocking_block_agrees_with_an_event_driven_run():
    problem = problems.rocking_block()
    alpha, p2, e = np.arctan(0.25), 0.75 * 9.81 / np.hypot(0.1, 0.4), 1 - 1.5 / 17

    def falls(t, y):
        return y[0] if t > 1e-6 else 1.0

    falls.terminal, falls.direction = True, -1.0
    t, y = 0.0, [0.1, 0.0]
    for jump in problem.exact.jumps[:6]:
        run = solve_ivp(lambda t, y: [y[1], -p2 * np.sin(alpha - y[0])], (0.0, 3.0), y, **TIGHT, events=falls)
        t, y = t + run.t[-1], [0.0, -e * run.y[1, -1]]
        assert jump == pytest.approx(t, abs=1e-12)
        assert problem.exact.v(jump)[0] == pytest.approx(y[1], abs=1e-11)


# ---- Painleve's rod


@pytest.mark.parametrize(("mu", "paradox"), [(1.33, False), (1.34, True), (2.0, True)])
def test_a_rod_is_paradoxical_beyond_four_thirds(mu, paradox):
    angles = np.linspace(0.01, 1.56, 400)
    least = []
    for theta in angles:
        system = problems.painleve_rod(mu=mu, theta0=theta, mass=2.0, length=0.6).system
        WT, _ = rows(system, 0.0, np.array([0.0, 0.3 * np.sin(theta), theta]), np.zeros(3))
        least.append(WT[0] @ ((WT[0] - mu * WT[1]) / system.M))
    expected = (1 + 3 * np.cos(angles) ** 2 - 3 * mu * np.sin(angles) * np.cos(angles)) / 2.0
    np.testing.assert_allclose(least, expected, atol=1e-8)
    assert (min(least) < 0.0) == paradox


def test_a_paradoxical_rod_stops_slipping_without_a_collision():
    s, c = np.sin(1.1), np.cos(1.1)
    stop = [3 * s * c / 4, -(1 + 3 * c**2) / 4]  # the impulse that stops the end: D P = -(0, 1), det D = 4
    errors = []
    for h in (1e-3, 1e-4, 1e-5):
        sol = sl.solve(problems.painleve_rod(t_end=20.2 * h), scheme=sl.MoreauJean(), h=h)
        errors.append(np.abs(sol.impulse[0] - stop).max())
        assert abs(stop[1]) < 2.0 * stop[0]
    assert errors[0] < 0.01
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 10.0, rtol=0.1)


# ---- wrong parameters


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("damped_pendulum", {"omega": 0.0}, "omega > 0"),
        ("circle_slide", {"phi0": 3.0}, "larger w0"),
        ("circle_slide", {"mu": 0.2, "w0": 0.0}, "w0 != 0"),
        ("slide_off", {"theta0": 0.0}, "one > 0"),
        ("slide_off", {"theta0": 1.7}, "smaller theta0"),
        ("bowl", {"q0": (1.0, 0.5)}, "inside"),
        ("bowl", {"q0": (0.0, 0.5)}, "lower or slower"),
        ("clattering_rod", {"y0": 0.1}, "larger y0"),
        ("clattering_rod", {"theta0": 2.0}, "pi/2"),
        ("two_walls", {"q0": 2.0}, "<= width"),
        ("vibrating_table", {"q0": -0.1}, "larger q0"),
        ("vibrating_table", {"intensity": -1.0}, "intensity >= 0"),
        ("forced_impact_oscillator", {"omega": 1.0}, "omega != 1"),
        ("forced_impact_oscillator", {"q0": 0.1}, "q0 <= wall"),
        ("rocking_block", {"theta0": 0.5}, "theta0"),
        ("rocking_block", {"half_width": 1.0}, "too flat"),
        ("painleve_rod", {"theta0": -0.1}, "theta0 < pi"),
    ],
)
def test_parameters_outside_the_model_are_refused_with_a_remedy(name, given, words):
    with pytest.raises(ModelError, match=words):
        getattr(problems, name)(**given)


@pytest.mark.parametrize("given", [{"phi0": 1.5, "w0": 1.0, "t_end": 9.0}, {"mu": 0.5, "t_end": 5.0}])
def test_a_slide_that_leaves_or_turns_round_has_no_reference(given):
    problem = problems.circle_slide(**given)
    with pytest.raises(ModelError, match="smaller t_end"):
        problem.exact.q(0.1)
