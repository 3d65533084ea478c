"""Friction problems with exact solutions: Coulomb oscillator, block across an incline, mass on a belt."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems
from saltus.errors import ModelError

# problem, parameters, times where the acceleration jumps
CASES = [
    ("coulomb_oscillator", {}, np.pi * np.arange(1, 6)),
    ("coulomb_oscillator", {"mass": 2.0, "stiffness": 8.0, "mu": 0.3, "gravity": 9.81, "q0": 0.2, "v0": 5.0}, None),
    ("coulomb_oscillator", {"q0": 0.1}, ()),
    ("incline_3d", {}, None),
    ("incline_3d", {"k": 3.0, "mass": 2.0, "speed": 2.0, "phi": 2.5}, None),
    ("incline_3d", {"k": 1.2, "phi": 0.05, "speed": 0.3}, None),
    ("belt", {}, None),
    ("belt", {"mass": 2.0, "stiffness": 5.0, "mu": 0.3, "speed": 0.2}, None),
    ("belt", {"speed": 3.0}, None),
]
NAMES = [f"{name}{given}" for name, given, _ in CASES]
STEP = 1e-4


def derivative(function, t):
    far, near = function(t + 2 * STEP) - function(t - 2 * STEP), function(t + STEP) - function(t - STEP)
    return (8 * near - far) / (12 * STEP)


@pytest.mark.parametrize(("name", "given", "kinks"), CASES, ids=NAMES)
def test_exact_solution_satisfies_motion_and_coulombs_law(name, given, kinks):
    problem = getattr(problems, name)(**given)
    exact, contact = problem.exact, problem.system.contacts[0]
    t = np.random.default_rng(5).uniform(0.01, problem.t_span[1] - 0.01, 300)
    q, v, a, force = exact.q(t), exact.v(t), derivative(exact.v, t), derivative(exact.impulse, t)
    mass, f = problem.system.M, problem.system.f
    residual, law = np.empty(len(t)), np.empty(len(t))
    for k in range(len(t)):
        given_force = np.asarray(f(q[k]) if callable(f) else f, float)
        normal, tangential = force[k, :1], force[k, 1:]
        residual[k] = np.abs(mass * a[k] - given_force - np.concatenate([tangential, normal])).max()
        slip = np.atleast_1d(contact.slip(t[k], q[k], v[k]))
        bound = contact.mu * normal[0]
        # P_T = -mu P_N u_T / |u_T| in slip, |P_T| <= mu P_N in stick
        law[k] = np.linalg.norm(np.linalg.norm(slip) * tangential + bound * slip)
        law[k] += max(0.0, np.linalg.norm(tangential) - bound * (1 + 1e-6))
    # differences across a kink of the velocity mean nothing: at most a few of the times are that near
    assert np.count_nonzero(residual > 1e-6) <= 3
    assert np.count_nonzero(law > 1e-6) <= 3
    np.testing.assert_allclose(derivative(exact.q, t), v, atol=1e-6)
    if kinks is not None and len(kinks):
        jump = np.abs(derivative(exact.v, kinks + 3 * STEP) - derivative(exact.v, kinks - 3 * STEP))[:, 0]
        assert np.all(jump > 0.01)
    np.testing.assert_allclose(exact.q(0.0), problem.q0, atol=1e-15)
    np.testing.assert_allclose(exact.v(0.0), problem.v0, atol=1e-14)
    np.testing.assert_allclose(exact.impulse(0.0), 0.0, atol=1e-14)
    times = np.linspace(*problem.t_span, 7)
    for function in (exact.q, exact.v, exact.impulse):
        np.testing.assert_allclose(function(times), [function(float(x)) for x in times], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("name", "given", "kinks"), CASES, ids=NAMES)
def test_moreau_jean_converges_to_the_exact_solution(name, given, kinks):
    problem = getattr(problems, name)(**given)
    h = problem.t_span[1] / 3001.7
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=h)
    scale = 1.0 + np.abs(problem.exact.v(sol.t)).max()
    for quantity in ("q", "v", "impulse"):
        assert sl.study.error(sol, quantity=quantity, norm="Linf") <= 10.0 * h * scale


# ---- Coulomb oscillator


def test_the_exact_swing_ends_at_five_pi():
    exact = problems.coulomb_oscillator().exact
    for t, x in zip(np.pi * np.arange(6), [1.37, -1.07, 0.77, -0.47, 0.17, 0.13], strict=True):
        assert exact.q(t)[0] == pytest.approx(x, abs=1e-14)
    assert exact.q(17.0)[0] == pytest.approx(0.13, abs=1e-14)
    assert exact.v(17.0)[0] == 0.0


@pytest.mark.parametrize("h", [0.02, 0.005, 0.00125])
def test_each_period_takes_four_grips_off_the_peak_and_it_stops(h):
    mu, q0 = 0.15, 3.07
    sol = sl.solve(problems.coulomb_oscillator(mu=mu, q0=q0, t_end=40.0), scheme=sl.MoreauJean(), h=h * 1.0173)
    x, v = sol.q[:, 0], sol.v[:, 0]
    turns = np.flatnonzero((v[:-1] > 0.0) & (v[1:] <= 0.0)) + 1
    peaks = np.array([q0, *(x[max(k - 1, 0) : k + 2].max() for k in turns)])
    drop = -np.diff(peaks)
    full = drop[: int((q0 - mu) // (4 * mu))]
    assert len(full) >= 4
    np.testing.assert_allclose(full, 4 * mu, atol=2.0 * h)
    still = sol.t > 34.0
    assert np.all(np.abs(v[still]) <= 1e-13)
    assert np.ptp(x[still]) <= 1e-11
    assert abs(x[-1]) <= mu + h


# ---- incline


@pytest.mark.parametrize(("k", "phi"), [(1.5, 1.2), (2.0, 2.4), (3.0, 0.6)])
def test_a_block_across_an_incline_stops_at_the_exact_time(k, phi):
    alpha, speed, gravity = 0.3, 1.0, 9.81
    t_stop = speed * (k + np.cos(phi)) / (gravity * np.sin(alpha) * (k**2 - 1.0))
    problem = problems.incline_3d(k=k, phi=phi, alpha=alpha, t_end=1.5 * t_stop)
    v = problem.exact.v
    assert np.linalg.norm(v(t_stop * (1 - 1e-6))) > 1e-9 > np.linalg.norm(v(t_stop * (1 + 1e-12)))
    for steps in (300, 3000):
        h = 1.5 * t_stop / (steps + 0.37)
        sol = sl.solve(problem, scheme=sl.MoreauJean(), h=h)
        moving = np.linalg.norm(sol.v, axis=1) > 1e-9
        assert abs(sol.t[moving][-1] - t_stop) <= 3.0 * h
        np.testing.assert_allclose(sol.q[-1], problem.exact.q(t_stop), atol=3.0 * h * speed)


# ---- belt


def test_a_mass_rides_with_the_belt_until_the_spring_wins():
    problem = problems.belt()
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=1.03e-3)
    riding = sol.t[np.abs(sol.v[:, 0] - 0.5) < 1e-9]
    t_stick = np.arcsin(0.5)
    t_slip = t_stick + 2.0 * np.cos(t_stick)
    riding = riding[riding < t_slip + 1.0]
    assert riding[0] == pytest.approx(t_stick, abs=3e-3)
    assert riding[-1] == pytest.approx(t_slip, abs=3e-3)
    assert problem.exact.q(t_slip)[0] == pytest.approx(1.0, abs=1e-14)


# ---- wrong parameters


@pytest.mark.parametrize(
    ("name", "given"), [("coulomb_oscillator", {"mu": 0.0}), ("incline_3d", {"k": 0.9}), ("belt", {"speed": -1.0})]
)
def test_parameters_without_an_exact_solution_are_refused(name, given):
    with pytest.raises(ModelError, match=name):
        getattr(problems, name)(**given)
