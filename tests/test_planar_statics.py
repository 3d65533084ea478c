"""Static questions of mechanisms, and systems written by their energies."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import saltus as sl
from saltus import mechanics as me
from saltus.errors import ModelError


def hanging(**pin) -> me.Planar:
    w = me.Planar(gravity=9.81)
    upper, lower = w.bar(1.0, mass=1.0, name="upper"), w.bar(1.0, mass=1.0, name="lower")
    w.revolute(w.ground, upper.start, name="top", **pin)
    w.revolute(upper.end, lower.start, name="middle")
    w.start(upper, angle=-0.3)
    w.start(lower, angle=0.5)
    return w


def exact_frequencies() -> np.ndarray:
    """Of two uniform rods of 1 m and 1 kg that hang on each other [Hz]."""
    M, K = np.array([[4.0 / 3.0, 0.5], [0.5, 1.0 / 3.0]]), 9.81 * np.diag([1.5, 0.5])
    return np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)))) / (2.0 * np.pi)


def test_a_double_pendulum_comes_to_rest_hanging_and_swings_with_its_frequencies():
    w = hanging()
    rest = w.equilibrium()
    np.testing.assert_allclose(rest.q[[2, 5]], -math.pi / 2.0, atol=1e-9)
    np.testing.assert_allclose(rest.joints["top"], (0.0, 2.0 * 9.81), atol=1e-8)
    assert rest.stable
    np.testing.assert_allclose(w.modes(rest).frequencies, exact_frequencies(), rtol=1e-7)
    upright = rest.q.copy()
    upright[:] = (0.0, 0.5, math.pi / 2.0, 0.0, 1.5, math.pi / 2.0)
    rates = w.modes(upright).rates  # what falls grows
    np.testing.assert_allclose(np.sort(rates.real), 2.0 * np.pi * exact_frequencies(), rtol=1e-7)
    assert not np.any(rates.imag)


def test_damping_of_a_mode_is_that_of_its_damper():
    w = me.Planar(gravity=0.0)
    block = w.body(mass=2.0, inertia=0.1, at=(0.5, 0.0))
    w.guide(block, axis="x")
    w.spring(w.ground, block, k=200.0, length=0.4, c=4.0)
    modes = w.modes()
    np.testing.assert_allclose(modes.damping, [4.0 / (2.0 * math.sqrt(200.0 * 2.0))], rtol=1e-7)
    np.testing.assert_allclose(np.abs(modes.rates), [10.0], rtol=1e-7)


def test_a_preloaded_spring_presses_its_block_against_the_stop():
    w = me.Planar(gravity=0.0)
    block = w.body(mass=0.5, inertia=0.1, at=(0.25, 0.0), name="block")
    w.guide(block, axis="x", stops=(None, 0.3), name="guide")
    w.spring(w.ground, block, k=1000.0, length=0.35)
    rest = w.equilibrium()
    assert rest.q[0] == pytest.approx(0.3, abs=1e-9)
    assert rest.contacts == {"guide.upper": pytest.approx(50.0, rel=1e-7)}
    solution = sl.solve(w.problem((0.0, 0.1), start=rest), tol=1e-8)
    np.testing.assert_allclose(solution.q[:, 0], 0.3, atol=1e-9)
    assert w.modes(rest).rates.size == 0  # the stop holds the only way


def test_a_worn_pin_hangs_in_its_bearing():
    rest = hanging(clearance=1e-3).equilibrium()
    assert rest.contacts == {"top": pytest.approx(2.0 * 9.81, rel=1e-7)}
    assert rest.q[1] == pytest.approx(-0.501, abs=1e-8)


def test_the_closed_breaker_rests_on_its_contact():
    problem = sl.problems.circuit_breaker()
    solution = sl.solve(problem, tol=1e-4, save="events")
    closed = dataclasses.replace(problem, q0=solution.q[-1], v0=0.0 * solution.v[-1])
    rest = me.equilibrium(closed)
    assert rest.contacts["contact"] > 1.0 and rest.contacts["edge of the latch"] > 1.0
    np.testing.assert_allclose(rest.q, solution.q[-1], atol=2e-2)
    assert rest.stable


def test_what_nothing_holds_has_no_equilibrium():
    w = me.Planar(gravity=9.81)
    w.body(mass=1.0, inertia=0.1, at=(0.0, 0.0))
    with pytest.raises(ModelError, match="no equilibrium of 'planar' was found"):
        w.equilibrium(max_steps=30)


# ---- energies


def double_pendulum(p=None) -> sl.System:
    """Two uniform rods of 1 m and 1 kg by their energies, gravity a parameter."""
    p = p or sl.Parameters(gravity=9.81)

    def T(q, v):
        upper = v[0] ** 2 / 3.0
        x, y = -np.sin(q[0]) * v[0] - 0.5 * np.sin(q[1]) * v[1], np.cos(q[0]) * v[0] + 0.5 * np.cos(q[1]) * v[1]
        return 0.5 * upper + 0.5 * (x**2 + y**2) + v[1] ** 2 / 24.0

    def V(q):
        return p.gravity * (1.5 * np.sin(q[0]) + 0.5 * np.sin(q[1]))

    return me.Lagrangian(T, V, n=2, name="double pendulum")


def test_energies_give_the_motion_of_the_bodies():
    by_energy = sl.solve(double_pendulum(), (0.0, 2.0), [-0.3, 0.5], [0.0, 0.0], tol=1e-11)
    in_bodies = sl.solve(hanging(), (0.0, 2.0), tol=1e-11)
    np.testing.assert_allclose(by_energy.q[-1], in_bodies.q[-1][[2, 5]], atol=1e-10)


def test_parameters_of_energies_follow_the_run():
    system = double_pendulum()
    light = sl.solve(system, (0.0, 1.0), [-0.3, 0.5], [0.0, 0.0], tol=1e-9, parameters={"gravity": 1.62})
    other = double_pendulum(sl.Parameters(gravity=1.62))
    np.testing.assert_allclose(
        light.q[-1], sl.solve(other, (0.0, 1.0), [-0.3, 0.5], [0.0, 0.0], tol=1e-9).q[-1], atol=1e-12
    )


def test_energies_of_a_moving_frame_and_forces_are_complete():
    # a bead on a hoop of radius R that turns at a speed that grows: T depends on time
    R, m = 0.5, 0.2

    def T(t, q, v):
        return 0.5 * m * R**2 * (v[0] ** 2 + (3.0 + t) ** 2 * np.sin(q[0]) ** 2)

    system = me.Lagrangian(T, lambda q: -m * 9.81 * R * np.cos(q[0]), lambda t, q, v: [-0.01 * v[0]], n=1)

    def f(t, q, v):
        return [m * R**2 * (3.0 + t) ** 2 * np.sin(q[0]) * np.cos(q[0]) - m * 9.81 * R * np.sin(q[0]) - 0.01 * v[0]]

    by_hand = sl.System(M=m * R**2, f=f)
    ends = [sl.solve(one, (0.0, 1.0), [0.4], [0.0], tol=1e-10).q[-1] for one in (system, by_hand)]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-11)


@pytest.mark.parametrize(
    ("T", "V", "n", "words"),
    [
        (lambda q, v: v[0] ** 4, None, 1, "not of second degree in v"),
        (lambda q, v: v * v, None, 2, "returned 2 numbers: an energy is one number"),
        (lambda q: 1.0, None, 1, r"T takes 1 arguments: it must take \(q, v\) or \(t, q, v\)"),
        (lambda q, v: v[0] ** 2, 3.0, 1, "V must be a function"),
        (lambda q, v: v[0] ** 2, None, 0, "number of coordinates, at least 1"),
    ],
)
def test_energies_that_make_no_system_are_refused(T, V, n, words):
    with pytest.raises(ModelError, match=words):
        me.Lagrangian(T, V, n=n)


def test_the_rest_of_a_worn_breaker_does_not_depend_on_the_rounding_of_its_start():
    problem = sl.problems.circuit_breaker()
    chance = np.random.default_rng(3)
    found = [
        me.equilibrium(dataclasses.replace(problem, q0=problem.q0 + size * chance.standard_normal(problem.q0.size)))
        for size in (0.0, 1e-12)
    ]
    assert found[0].residual < 1e-9
    for name, force in found[0].contacts.items():
        assert found[1].contacts[name] == pytest.approx(force, rel=1e-7)
