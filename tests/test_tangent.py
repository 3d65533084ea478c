"""The derivative of a run by its start: against differences of runs, and what it says where there is none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import saltus as sl
from saltus.build.tangent import DifferencedModel, derivatives_of
from saltus.ensemble.tangent import along
from saltus.problems.simplest_walker import heelstrike
from stability_models import belt, by_differences, end_of

sin, cos = np.sin, np.cos


def duffing() -> sl.System:
    wall = sl.Contact(lambda t, q: 0.05 * sin(2.6 * t + 1.0) - q[0], e=0.7, name="wall")
    force = lambda t, q, v: [-q[0] - 0.3 * q[0] ** 3 - 0.1 * v[0] + cos(2.6 * t)]  # noqa: E731
    return sl.System(M=1.0, f=force, contacts=[wall])


def full_mass() -> sl.System:
    def M(q):
        return [[2 + cos(q[1]), 0.3 + 0.2 * q[0]], [0.3 + 0.2 * q[0], 1 + 0.3 * sin(q[0]) ** 2]]

    def f(t, q, v):
        return [-2 * q[0] - q[1] - 0.1 * v[0] + cos(2 * t), -3 * q[1] - q[0] - 0.2 * sin(q[1])]

    moving = sl.Contact(lambda t, q: 0.3 - q[0] + 0.05 * cos(t), e=0.7, name="moving")
    curved = sl.Contact(lambda q: 0.5 + q[1] + 0.2 * q[0] ** 2, e=0.6, name="curved")
    return sl.System(M=M, f=f, contacts=[moving, curved])


def rod(mu: float, e: float, e_t: float = 0.0) -> sl.System:
    def M(q):
        return [[1, 0, 0.3 * cos(q[2])], [0, 1, -0.3 * sin(q[2])], [0.3 * cos(q[2]), -0.3 * sin(q[2]), 0.5]]

    def f(t, q, v):
        return [0.3 * v[2] ** 2 * sin(q[2]), -9.81 + 0.3 * v[2] ** 2 * cos(q[2]), -q[2]]

    slip = lambda t, q, v: [v[0] + 0.4 * cos(q[2]) * v[2] - 0.1]  # noqa: E731
    tip = sl.Contact(lambda q: q[1] - 0.4 * cos(q[2]) + 0.4, slip=slip, mu=mu, e=e, e_t=e_t, name="tip")
    return sl.System(M=M, f=f, contacts=[tip])


def landing() -> sl.System:
    floor = sl.Contact(lambda q: q[1] + 0.3 * cos(q[0]), e=0.0, name="floor")
    return sl.System(M=[1, 2], f=lambda t, q, v: [-q[0] + 0.3 * cos(t), -9 + 12 * sin(2.5 * t)], contacts=[floor])


def pressed() -> sl.System:
    """A mass that is pressed against a wall is struck by another one."""
    between = sl.Contact(lambda q: q[1] - q[0] + 1.0, e=0.5, name="between")
    wall = sl.Contact(lambda q: 1.0 - q[1], e=0.3, name="wall")
    return sl.System(M=[1, 2], f=lambda t, q, v: [1 - q[0], 3 - 0.5 * q[1]], contacts=[between, wall])


def in_space() -> sl.System:
    slip = lambda t, q, v: [v[0] + 0.1, v[1]]  # noqa: E731
    floor = sl.Contact(lambda q: q[2] + 0.1 * q[0] ** 2, slip=slip, mu=0.3, e=0.5, name="floor")
    M = [[1, 0.2, 0], [0.2, 1.5, 0], [0, 0, 1]]
    return sl.System(M=M, f=lambda t, q, v: [-q[0], -0.5 * q[1], -9.81], contacts=[floor])


def branches() -> sl.System:
    """A force that jumps and one with a kink."""

    def f(t, q, v):
        return [-q[0] - np.where(q[0] - 0.1 * t > 0.2, 0.7, -0.2) - np.maximum(q[0] - 0.4, 0) + cos(1.3 * t)]

    return sl.System(M=1.0, f=f)


def long_conditions() -> sl.System:
    """Two branches whose conditions are too long for a name of their own."""

    def f(t, q, v):
        x = q[0] + 0.21 * sin(1.7 * t) - 0.13 * cos(3.4 * t) + 0.02 * sin(3 * t)
        y = q[0] - 0.25 + 0.3 * v[0] ** 2 - 0.11 * cos(3.57 * t) - 0.02 * sin(4 * t)
        return [-q[0] - np.where(x > 0, 1.0, 0.2) - np.where(y > 0, 2.0, -0.5) * (1 + 0.1 * q[0]) + 2 * cos(t)]

    return sl.System(M=1.0, f=f)


def cells() -> sl.System:
    """Forces that jump where whole numbers are passed."""

    def f(t, q, v):
        return [-q[0] - 0.3 * np.floor(3 * q[0]) - 0.1 * np.mod(q[0] + 0.2 * t, 0.7) - 0.1 * np.floor(2 * t)]

    return sl.System(M=1.0, f=f)


def random_model(seed: int) -> tuple[sl.System, np.ndarray]:
    """A model of random structure: full M(q), nonlinear forces, curved and moving gaps, some with friction."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 3
    A, S = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    M0, K, C = A @ A.T + n * np.eye(n), S @ S.T + 2 * np.eye(n), 0.1 * rng.normal(size=(n, n))
    push, bend, turn, pace = rng.normal(size=n), 0.2 * rng.normal(size=n), 0.3 * rng.normal(size=n), rng.uniform(1, 3)

    def M(q):
        s = sum(bend[i] * sin(q[i]) for i in range(n))
        return [[M0[i, j] + turn[i] * turn[j] * (1 + s) ** 2 for j in range(n)] for i in range(n)]

    def f(t, q, v):
        pulled = [sum(K[i, j] * q[j] + C[i, j] * v[j] for j in range(n)) for i in range(n)]
        return [3 * push[i] * cos(pace * t) - pulled[i] - 0.2 * q[i] ** 3 + 0.1 * v[i] * v[i - 1] for i in range(n)]

    def contact(k):
        d, s, curve, beat = rng.normal(size=n), rng.normal(size=n), 0.3 * rng.normal(), 0.05 * rng.normal()
        d, away = d / np.linalg.norm(d), rng.uniform(0.25, 0.35)
        gap = lambda t, q: away + sum(d[i] * q[i] for i in range(n)) + curve * q[0] ** 2 + beat * sin(2 * t)  # noqa: E731
        slip = lambda t, q, v: [sum(s[i] * v[i] for i in range(n)) * (1 + 0.1 * q[0]) - 0.1]  # noqa: E731
        friction = {"slip": slip, "mu": rng.uniform(0.05, 0.3)} if seed % 2 else {}
        return sl.Contact(gap, e=rng.uniform(0.3, 0.9), name=f"contact {k}", **friction)

    system = sl.System(M=M, f=f, contacts=[contact(k) for k in range(3)])
    return system, np.concatenate([0.05 * rng.normal(size=n), 0.3 * rng.normal(size=n)])


CASES = {
    "moving wall": (duffing(), 7.0, [-0.5, 0.2]),
    "full M(q), curved gap": (full_mass(), 9.0, [-0.2, 0.1, 0.3, 0.0]),
    "impacts that slide": (rod(0.2, 0.6), 1.2, [0, 0.5, 0.3, 1.5, 0, 0.4]),
    "impacts that stick": (rod(1.5, 0.6), 1.2, [0, 0.5, 0.3, 0.5, 0, 0.4]),
    "tangential restitution": (rod(0.8, 0.6, 0.5), 1.2, [0, 0.5, 0.3, 0.5, 0, 0.4]),
    "plastic landing": (landing(), 4.0, [0.3, 0.5, 0.2, 0.0]),
    "struck through a held contact": (pressed(), 4.0, [-1.0, 1.0, 2.5, 0.0]),
    "stick and slip": (belt(), 7.0, [2.0, 0.0, 0.0, 0.0]),
    "impact in space": (in_space(), 0.5, [1, 0.5, 0.2, 1.2, -0.8, 0]),
    "branches of the force": (branches(), 9.0, [0.0, 0.3]),
    "branches with one name": (long_conditions(), 9.0, [0.3, 0.5]),
    "cells of the force": (cells(), 5.3, [0.31, 0.5]),
    **{f"random {seed}": (random_model(seed)[0], 3.0, random_model(seed)[1]) for seed in (1, 2, 3, 4, 5, 6)},
}


@pytest.mark.parametrize("case", CASES)
def test_the_derivative_of_a_run_is_that_of_differences(case):
    system, t_end, start = CASES[case]
    start = np.array(start, dtype=float)
    nq = len(start) // 2
    tangent = along(sl.solve(system, (0.0, t_end), start[:nq], start[nq:], tol=1e-12))
    E = tangent.basis
    differences = by_differences(lambda x: end_of(system, t_end, start + E @ x), E.shape[1], 5e-5)
    assert not tangent.corners
    assert np.max(np.abs(tangent.matrix() @ E - differences)) < 1e-8 * (1.0 + np.max(np.abs(differences)))


def test_sticking_and_a_plastic_landing_lose_directions_to_rounding():
    for case, left in (("stick and slip", 1), ("plastic landing", 2)):
        system, t_end, start = CASES[case]
        nq = len(start) // 2
        tangent = along(sl.solve(system, (0.0, t_end), start[:nq], start[nq:], tol=1e-10))
        singular = np.linalg.svd(tangent.matrix() @ tangent.basis, compute_uv=False)
        assert np.sum(singular > 1e-12) == left


def test_a_joint_and_a_wall_have_the_derivative_of_the_angle():
    hinge = sl.Joint(lambda q: [q[0] ** 2 + q[1] ** 2 - 1.0])
    wall = sl.Contact(lambda q: q[0] + 0.2, e=0.8, name="wall")
    system = sl.System(M=1.0, f=lambda t, q, v: [0.5 * cos(2 * t), -9.81], joints=[hinge], contacts=[wall])

    def lifted(x):
        angle, rate = 0.5 + x[0], x[1]
        return np.array([sin(angle), -cos(angle), rate * cos(angle), rate * sin(angle)])

    start = lifted(np.zeros(2))
    tangent = along(sl.solve(system, (0.0, 3.0), start[:2], start[2:], tol=1e-12))
    ways = np.array([[cos(0.5), 0], [sin(0.5), 0], [0, cos(0.5)], [0, sin(0.5)]])
    differences = by_differences(lambda x: end_of(system, 3.0, lifted(x)), 2)
    assert tangent.basis.shape == (4, 2)
    assert np.max(np.abs(tangent.matrix() @ ways - differences)) < 1e-9


def test_quaternions_are_varied_inside_of_the_rotations():
    top = sl.problems.spinning_top()
    run = lambda q, v: sl.solve(top.system, (0.0, 0.3), q, v, tol=1e-12)  # noqa: E731
    tangent = along(run(top.q0, top.v0))
    E, nq = tangent.basis, len(top.q0)

    def end(x):
        z = np.concatenate([top.q0, top.v0]) + E @ x
        made = run(z[:nq] / np.linalg.norm(z[:nq]), z[nq:])
        return np.concatenate([made.q[-1], made.v[-1]])

    differences = by_differences(end, E.shape[1])
    assert E.shape == (7, 6)
    assert np.max(np.abs(tangent.matrix() @ E - differences)) < 1e-8 * np.max(np.abs(differences))


def test_resets_of_the_user_are_differentiated():
    event = sl.Event(
        lambda t, q, v: q[0] - 0.2 - 0.1 * sin(t) + 0.05 * v[1],
        direction=1,
        reset=lambda t, q, v: ([q[0] - 0.3 * q[1], q[1] + 0.1 * v[0]], [0.1 * t - 0.7 * v[0], 0.9 * v[1]]),
        name="kick",
    )
    system = sl.System(M=1.0, f=lambda t, q, v: [-q[0] - 0.2 * q[1] + 0.5 * cos(2 * t), -2 * q[1] - 0.1 * q[0] ** 2])
    start = np.array([0.0, 0.3, 0.5, 0.0])
    run = sl.solve(system, (0.0, 8.0), start[:2], start[2:], tol=1e-12, events=[event])
    differences = by_differences(lambda x: end_of(system, 8.0, start + x, events=[event]), 4)
    assert len(run.events) == 3
    assert np.max(np.abs(along(run).matrix() - differences)) < 1e-9


def test_an_accumulation_leaves_nothing_of_a_variation_of_one_degree_of_freedom():
    table = sl.problems.vibrating_table(intensity=1.3, t_end=0.7)
    tangent = along(sl.solve(table, tol=1e-10))
    assert np.max(np.abs(tangent.matrix())) < 1e-12


@pytest.mark.parametrize("tol", [1e-8, 1e-12])
def test_an_accumulation_with_friction_is_right_wherever_bounces_are_followed_together(tol):
    system, start = rod(0.2, 0.3), np.array([0, 0.1, 0.3, 1.5, 0, 0.4])
    run = sl.solve(system, (0.0, 0.6), start[:3], start[3:], tol=tol)
    E = along(run).basis
    assert "zeno" in run.events["kind"]
    differences = by_differences(lambda x: end_of(system, 0.6, start + E @ x), E.shape[1])
    assert np.max(np.abs(along(run).matrix() @ E - differences)) < 2e-9


def test_two_gaps_that_close_at_once_are_a_corner_unless_they_do_not_feel_each_other():
    def two(coupled: float) -> sl.Solution:
        walls = [sl.Contact(lambda q: q[0], e=0.5, name="a"), sl.Contact(lambda q: q[1], e=0.5, name="b")]
        M = [[1.0, coupled], [coupled, 1.0]]
        return sl.solve(sl.System(M=M, f=[0.0, 0.0], contacts=walls), (0.0, 2.0), [1.0, 1.0], [-1.0, -1.0], tol=1e-9)

    apart = along(two(0.0))
    assert not apart.corners
    single = sl.System(M=1.0, f=0.0, contacts=[sl.Contact(lambda q: q[0], e=0.5)])
    ball = along(sl.solve(single, (0.0, 2.0), 1.0, -1.0, tol=1e-9)).matrix()
    expected = np.kron(ball, np.eye(2))
    assert np.allclose(apart.matrix(), expected, atol=1e-12)
    corners = along(two(0.5)).corners
    assert corners
    assert corners[0].kind in ("impact", "tie")


def test_a_contact_that_touches_without_a_force_is_a_corner():
    cradle = along(sl.solve(sl.problems.newtons_cradle(), tol=1e-9))
    assert [corner.kind for corner in cradle.corners] == ["impact"]
    assert "closed without a force" in cradle.corners[0].reason


def test_an_impact_by_poissons_law_that_sticks_is_refused():
    plain, tip = rod(1.5, 0.6), rod(1.5, 0.6).contacts[0]
    contact = sl.Contact(tip.gap, slip=tip.slip, mu=1.5, e=0.6, impact="poisson", name="tip")
    system = sl.System(M=plain.M, f=plain.f, contacts=[contact])
    run = sl.solve(system, (0.0, 0.5), [0, 0.5, 0.3], [0.5, 0, 0.4], tol=1e-9)
    with pytest.raises(sl.errors.SettingError, match="Poisson"):
        along(run)


def test_schemes_that_locate_no_events_are_refused():
    run = sl.solve(duffing(), (0.0, 1.0), -0.5, 0.2, scheme=sl.MoreauJean(), h=1e-2)
    with pytest.raises(sl.errors.SettingError, match="locate"):
        along(run)


def test_derivatives_from_the_trace_are_those_of_differences():
    p = sl.Parameters(k=2.0, c=[0.1, 0.2])
    slip = lambda t, q, v: [v[0] * q[1] - p.c[1] * t]  # noqa: E731
    system = sl.System(
        M=lambda q: [[2 + cos(q[0]), 0.3 * q[1]], [0.3 * q[1], 1.0]],
        f=lambda t, q, v: [-p.k * q[0] - p.c[0] * v[0] + cos(t), -3 * q[1] - 0.2 * sin(q[1])],
        K=[[1.0, 0.0], [0.0, 2.0]],
        contacts=[sl.Contact(lambda t, q: 0.5 + q[1] + p.k * q[0] ** 2 + sin(t), slip=slip, mu=0.2, name="c")],
    )
    model = sl.solve(system, (0.0, 0.1), [0.2, 0.1], [0.3, 0.0], tol=1e-8)._model
    traced, differences = derivatives_of(model), DifferencedModel(model)
    rng = np.random.default_rng(0)
    t, q, v, a, r = (rng.normal(size=size) for size in (5, (5, 2), (5, 2), (5, 2), (5, 2)))
    ways = rng.normal(size=(4, 1 + 2 + 2 + 3))
    assert traced.exact
    for one, other in zip(traced.states(t, q, v), differences.states(t, q, v), strict=True):
        assert np.array_equal(one, other)
    for one, other in zip(traced.tangents(t, q, v, a, r, ways), differences.tangents(t, q, v, a, r, ways), strict=True):
        assert np.allclose(one, other, rtol=0.0, atol=1e-10 * (1.0 + np.max(np.abs(one))))


def test_a_function_that_cannot_be_traced_has_derivatives_by_differences():
    def opaque(t, q, v):
        return np.array([-float(q[0]) - 0.3 * float(q[0]) ** 3])

    def run(force):
        system = sl.System(M=1.0, f=force, contacts=[sl.Contact(lambda q: 0.1 - q[0], e=0.7)])
        return along(sl.solve(system, (0.0, 1.5), -0.3, 0.5, tol=1e-10))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.errors.SlowFunctionWarning)
        tangent = run(opaque)
    traced = run(lambda t, q, v: [-q[0] - 0.3 * q[0] ** 3])
    assert not tangent.motion.derivatives.exact
    assert len(tangent.solution.events) == 1
    assert np.max(np.abs(tangent.matrix() - traced.matrix())) < 1e-8


def test_the_simplest_walker_steps_like_its_differences():
    walker = sl.problems.simplest_walker()
    run = sl.solve(walker, tol=1e-12, events=[heelstrike()])
    jump = along(run).pieces[-2]
    assert jump.kind == "event"
    assert np.linalg.matrix_rank(jump.landed, tol=1e-9) == 2
