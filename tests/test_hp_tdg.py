"""HpTDG: errors below the tolerance, few evaluations, degrees that fit the motion, orders that survive impacts."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import operator
import os
import pathlib
import re
import signal
import threading

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import saltus as sl
from saltus import problems
from saltus.run import run as running
from saltus.study import error

TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11)
QUANTITIES = ("q", "v", "impulse")


def solve(problem: sl.Problem, tol: float = 1e-10, **options) -> sl.Solution:
    """Run with the scheme that `solve` takes where none is named."""
    return sl.solve(problem, tol=tol, **options)


def rows(sol: sl.Solution, *kinds: str) -> np.ndarray:
    return sol.events[np.isin(sol.events["kind"], kinds)]


def evaluations(sol: sl.Solution) -> int:
    """Return the force evaluations; a Jacobian counts as one per velocity."""
    return sol.work["f"] + sol.v.shape[1] * sol.work["jac"]


def ratios(sol: sl.Solution, tol: float, reference: sl.Solution | None = None) -> dict[str, float]:
    """Return L1 error / (tol * span * (1 + max |x|)) of q, v and the impulse."""
    wanted = sol if reference is None else reference
    times = np.linspace(sol.t[0], sol.t[-1], 2001)
    sizes = {"q": wanted(times).q, "v": wanted(times).v, "impulse": wanted.impulse_at(times)}
    scale = {name: 1.0 + np.max(np.linalg.norm(x, axis=1), initial=0.0) for name, x in sizes.items()}
    span = sol.t[-1] - sol.t[0]
    known = [name for name in QUANTITIES if reference is not None or getattr(sol.exact, name) is not None]
    return {name: error(sol, reference, name) / (tol * span * scale[name]) for name in known}


def test_it_is_the_scheme_where_none_is_named():
    assert type(solve(problems.zeno_ball(), 1e-4).scheme) is sl.HpTDG
    assert sl.solve(problems.zeno_ball()).scheme == sl.HpTDG()


# ---- the tolerance is a promise

EXACT = (
    "zeno_ball", "impact_oscillator", "zeno_oscillator", "driven_pendulum", "coulomb_oscillator", "bowl",
    "clattering_rod", "vibrating_table", "rocking_block", "belt", "incline_3d", "slide_off", "rod_pendulum",
    "spinning_top",
)  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_errors_stay_below_the_tolerance(name):
    problem = getattr(problems, name)()
    for tol in TOLERANCES:
        found = ratios(solve(problem, tol), tol)
        assert max(found.values()) <= 1.0, (tol, found)


@dataclasses.dataclass(frozen=True)
class Compared:
    """A problem without an exact solution, the smallest tolerance it is judged at, zeno_speed of the reference."""

    make: functools.partial
    least: float = 1e-11
    zeno_speed: float = 2e-8


COMPARED = {
    "double pendulum at a wall": Compared(functools.partial(problems.double_pendulum_wall)),
    "slider-crank": Compared(functools.partial(problems.slider_crank, t_end=0.02), 1e-9),
    "four-bar to its first rest": Compared(functools.partial(problems.four_bar, t_end=0.016)),
    "box to the first rest of a corner": Compared(functools.partial(problems.tumbling_box, t_end=0.46)),
    "valve train": Compared(functools.partial(problems.valve_train), zeno_speed=1e-6),
}


@pytest.mark.parametrize("name", COMPARED)
def test_errors_stay_below_the_tolerance_against_runge_kutta_steps(name):
    case = COMPARED[name]
    problem = case.make()
    reference = sl.solve(problem, scheme=sl.EventDriven(closed_tolerance=1e-16, zeno_speed=case.zeno_speed), tol=1e-13)
    for tol in TOLERANCES:
        if tol >= 0.99 * case.least:
            found = ratios(solve(problem, tol), tol, reference)
            assert max(found.values()) <= 1.0, (tol, found)


def test_random_oscillators_keep_the_tolerance_and_miss_no_impact():
    rng = np.random.default_rng(7)  # e from 0.6 on: below it the impacts soon graze, where no error is bounded
    for _ in range(15):
        tol = 10.0 ** rng.uniform(-11.0, -3.0)
        problem = problems.impact_oscillator(
            stiffness=10.0 ** rng.uniform(-1.0, 2.0), e=rng.uniform(0.6, 0.95), q0=rng.uniform(1.5, 3.0), t_end=10.0
        )
        sol = solve(problem, tol)
        assert max(ratios(sol, tol).values()) <= 1.0
        assert len(rows(sol, "impact")) == np.sum(problem.exact.jumps <= 10.0)


def test_random_forced_oscillators_keep_the_tolerance():
    rng = np.random.default_rng(8)
    for _ in range(15):
        tol = 10.0 ** rng.uniform(-10.0, -3.0)
        problem = problems.forced_impact_oscillator(
            amplitude=rng.uniform(0.5, 2.0), omega=rng.uniform(2.0, 6.0), phase=rng.uniform(0.0, 6.0),
            wall=rng.uniform(-0.5, 0.5), e=rng.uniform(0.3, 0.9), q0=-1.5, t_end=9.0,
        )  # fmt: skip
        assert max(ratios(solve(problem, tol), tol).values()) <= 1.0


@pytest.mark.parametrize("length", [1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9])
def test_a_ball_of_any_size_comes_to_rest_at_the_exact_time(length):
    problem = problems.zeno_ball(gravity=9.81, e=0.8, q0=length)
    rest = np.sqrt(2.0 * length / 9.81) * (1.0 + 0.8) / (1.0 - 0.8)
    for tol in (1e-4, 1e-8):
        sol = solve(problem, tol, t_span=(0.0, 1.3 * rest))
        (end,) = rows(sol, "zeno")
        assert abs(end["t"] - rest) <= tol * rest
        assert np.max(np.abs(sol.energy.defect)) <= 1e-12 * 9.81 * length


# ---- what it costs


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("zeno_ball", (60, 60, 60)),
        ("impact_oscillator", (130, 200, 320)),
        ("zeno_oscillator", (200, 420, 1000)),
        ("driven_pendulum", (400, 850, 1450)),
    ],
)
def test_forces_are_evaluated_no_more_than_this(name, most):
    problem = getattr(problems, name)()
    found = [evaluations(solve(problem, tol)) for tol in (1e-4, 1e-8, 1e-12)]
    assert all(count <= limit for count, limit in zip(found, most, strict=True)), found


def test_the_ball_flies_with_degree_one_and_an_interval_per_flight():
    sol = solve(problems.zeno_ball(), 1e-8)
    assert np.all(sol.step_degree[1:] == 1)  # the first one has to find out
    assert sol.work["steps"] <= len(sol.events) + 2


def test_smooth_motion_takes_high_degrees_for_small_tolerances():
    problem = problems.double_pendulum()
    coarse, fine = (solve(problem, tol) for tol in (1e-3, 1e-10))
    assert np.median(fine.step_degree) >= max(11, np.median(coarse.step_degree) + 4)
    assert fine.work["steps"] <= 2 * coarse.work["steps"]


def test_no_interval_has_a_higher_degree_than_allowed():
    for top in (1, 2, 5, 16):
        sol = sl.solve(problems.impact_oscillator(), scheme=sl.HpTDG(max_degree=top), tol=1e-5)
        assert 1 <= sol.step_degree.min() and sol.step_degree.max() <= top
        assert max(ratios(sol, 1e-5).values()) <= 1.0


# ---- fixed degree: the order survives impacts

GRIDS = {1: (397, 523, 691, 907, 1201, 1601), 2: (97, 131, 173, 227, 307, 401), 4: (37, 47, 61, 79, 107, 139)}


@pytest.mark.parametrize(("degree", "least"), [(1, 1.75), (2, 3.9), (3, 3.9), (4, 5.8), (5, 5.8)])
def test_a_fixed_degree_keeps_its_order_through_impacts(degree, least):
    problem, scheme = problems.impact_oscillator(), sl.HpTDG(degree=degree, nodes="clenshaw-curtis")
    grids = GRIDS[degree - degree % 2 if degree > 1 else 1]
    runs = [sl.solve(problem, scheme=scheme, h=problem.t_span[1] / n) for n in grids]
    for name in ("q", "v"):
        found = [error(sol, quantity=name) for sol in runs]
        assert -np.polyfit(np.log(grids), np.log(found), 1)[0] >= least, name
    assert all(np.all(sol.step_degree == degree) for sol in runs)


def test_a_fixed_degree_keeps_the_grid_and_adds_the_events():
    sol = sl.solve(problems.impact_oscillator(), scheme=sl.HpTDG(degree=3), h=0.25)
    assert np.all(np.isin(sol.events["t"], sol.t))
    between = sol.t[~np.isin(sol.t, sol.events["t"])]
    np.testing.assert_allclose(between, np.linspace(0.0, 20.0, 81), rtol=0.0, atol=1e-12)


# ---- events at their times


def test_accumulations_end_at_the_exact_time():
    for tol in (1e-4, 1e-8, 1e-12):
        (end,) = rows(solve(problems.zeno_ball(), tol), "zeno")
        assert abs(end["t"] - 3.0) <= 1e-12
        (end,) = rows(solve(problems.zeno_oscillator(), tol), "zeno")
        assert abs(end["t"] - 5.7551934661115062) <= max(tol, 1e-11)


def test_impacts_happen_at_their_exact_times_and_both_limits_are_known():
    problem = problems.impact_oscillator()
    for tol in (1e-5, 1e-8, 1e-11):
        sol = solve(problem, tol)
        times = rows(sol, "impact")["t"]
        np.testing.assert_allclose(times, problem.exact.jumps[: len(times)], rtol=0.0, atol=10.0 * tol)
        before, after = sol(times, side="-").v[:, 0], sol(times).v[:, 0]
        e = -after / before
        np.testing.assert_allclose(e, e[0], rtol=1e-12)
        assert np.all(np.abs(sol(times).q[:, 0] - sol(times, side="-").q[:, 0]) <= 1e-14)


def test_slip_stick_and_release_happen_at_their_exact_times():
    sol = solve(problems.coulomb_oscillator(), 1e-10)
    np.testing.assert_allclose(sol.events["t"], np.pi * np.arange(1.0, 6.0), rtol=0.0, atol=1e-8)
    assert sol.events["kind"][-1] == "stick"
    block = sl.System(
        M=[1.0, 1.0], f=lambda t, q, v: [t, -9.81],
        contacts=[sl.Contact(lambda q: q[1], mu=0.3, slip=lambda t, q, v: v[0])],
    )  # fmt: skip
    sol = sl.solve(block, (0.0, 5.0), [0.0, 0.0], [0.0, 0.0], tol=1e-9)
    (slip,) = sol.events
    assert slip["kind"] == "slip" and abs(slip["t"] - 0.3 * 9.81) <= 1e-9
    gone = 5.0 - 0.3 * 9.81
    assert abs(sol.q[-1, 0] - gone**3 / 6.0) <= 1e-8


def test_the_certificate_holds():
    for name in ("bowl", "coulomb_oscillator", "rocking_block", "clattering_rod"):
        for tol in (1e-4, 1e-8):
            sol = solve(getattr(problems, name)(), tol)
            assert sol.contact_residual.max() <= 1e-12
            # an end is moved onto the impact without a new interval where the square of the shift is below 1e-4 tol,
            # and what is held drifts by as little as the velocities are exact
            assert sol.end_violation.max() <= 1e-3 * tol
            # between the nodes
            assert sol.residual.max() <= tol and sol.violation.max() <= 1e-2 * tol
            assert sol.admissibility.max() <= 1e-12
            assert np.all(sol.step_error[:-1] <= 1.0)


LEDGERS = (
    "zeno_ball", "bowl", "coulomb_oscillator", "zeno_oscillator", "slide_off", "clattering_rod", "double_pendulum",
    "spinning_top",
)  # fmt: skip


@pytest.mark.parametrize("name", LEDGERS)
def test_the_ledger_of_energy_closes_to_the_tolerance(name):
    for tol in (1e-5, 1e-8, 1e-11):
        sol = solve(getattr(problems, name)(), tol)
        assert np.max(np.abs(sol.energy.defect)) <= tol * (1.0 + np.max(sol.energy.kinetic)), tol


@pytest.mark.parametrize("name", ["impact_oscillator", "bowl", "coulomb_oscillator", "driven_pendulum", "spinning_top"])
def test_between_nodes_it_is_as_good_as_the_tolerance(name):
    problem = getattr(problems, name)()
    times = np.linspace(*problem.t_span, 4001)
    for tol in (1e-4, 1e-7, 1e-10):
        sol = solve(problem, tol)
        size = 1.0 + np.max(np.abs(sol.q))
        assert np.max(np.abs(sol(times).q - problem.exact.q(times))) <= tol * size


def test_forces_of_lasting_contact_are_known_between_nodes():
    problem = problems.circle_slide()
    t = np.linspace(0.0, problem.t_span[1], 301)[1:-1]
    sol = solve(problem, 1e-10)
    np.testing.assert_allclose(sol.impulse_at(t), problem.exact.impulse(t), rtol=0.0, atol=1e-9)


# ---- starts, walls, spans

FLOOR = sl.Contact(lambda q: q[0], e=0.8, name="floor")
BALL = sl.System(M=1.0, f=-9.81, contacts=[FLOOR])


def test_a_ball_that_rests_at_the_start_stays_there():
    sol = sl.solve(BALL, (0.0, 1e6), 0.0, 0.0, tol=1e-8)
    assert np.all(sol.q == 0.0) and np.all(sol.v == 0.0) and sol.work["steps"] < 5
    np.testing.assert_allclose(sol.impulse_at(1e6), [9.81e6], rtol=1e-12)


def test_a_ball_thrown_up_from_the_floor_comes_back():
    sol = sl.solve(BALL, (0.0, 0.7), 0.0, 3.0, tol=1e-10)
    assert sol.events["t"][0] == pytest.approx(2.0 * 3.0 / 9.81, abs=1e-12)


def test_the_origin_of_time_and_the_first_step_do_not_matter():
    def run(start, **options):
        return sl.solve(BALL, (start, start + 3.0), 1.0, 0.0, tol=1e-8, **options).events["t"] - start

    wanted = run(0.0)
    for start in (-7.0, 1e3):
        np.testing.assert_allclose(run(start), wanted, rtol=0.0, atol=1e-11)
    for h in (1e-9, 1e-3, 3.0):
        np.testing.assert_allclose(run(0.0, h=h), wanted, rtol=0.0, atol=1e-11)


def test_elastic_bounces_never_end_and_keep_their_height():
    fall = np.sqrt(2.0 / 9.81)
    elastic = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(lambda q: q[0], e=1.0)])
    sol = sl.solve(elastic, (0.0, 400.0 * fall), 1.0, 0.0, tol=1e-8)
    np.testing.assert_allclose(sol.events["t"], fall * np.arange(1.0, 400.0, 2.0), rtol=1e-11)
    assert sol.q[-1, 0] == pytest.approx(1.0, abs=1e-9)


def test_a_plastic_impact_ends_in_rest():
    plastic = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(lambda q: q[0], e=0.0)])
    sol = sl.solve(plastic, (0.0, 2.0), 1.0, 0.0, tol=1e-8)
    (impact,) = rows(sol, "impact")
    assert impact["t"] == pytest.approx(np.sqrt(2.0 / 9.81), abs=1e-13)
    assert np.all(sol.v[sol.t >= impact["t"]] == 0.0)


def test_walls_that_move_strike_carry_and_leave():
    wall = sl.System(M=1.0, f=0.0, contacts=[sl.Contact(lambda t, q: q[0] - t, e=0.5)])
    sol = sl.solve(wall, (0.0, 3.0), 1.0, 0.0, tol=1e-8)
    (impact,) = sol.events
    assert impact["t"] == pytest.approx(1.0, abs=1e-13) and sol.v[-1, 0] == pytest.approx(1.5, abs=1e-13)
    drops = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(lambda t, q: q[0] + 20.0 * t**2, e=0.5)])
    sol = sl.solve(drops, (0.0, 1.0), 0.0, 0.0, tol=1e-8)  # the contact opens at once
    assert sol.q[-1, 0] == pytest.approx(-0.5 * 9.81, abs=1e-12) and np.all(sol.impulse == 0.0)
    lift = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(lambda t, q: q[0] - 0.5 * np.sin(3.0 * t), e=0.5)])
    sol = sl.solve(lift, (0.0, 4.0), 0.0, 1.5, tol=1e-9)  # slow enough to be followed
    times = np.linspace(0.0, 4.0, 101)
    np.testing.assert_allclose(sol(times).q[:, 0], 0.5 * np.sin(3.0 * times), rtol=0.0, atol=1e-8)


def test_a_wavy_wall_is_not_passed_by_a_long_interval():
    def gap(q):
        return q[1] - 0.5 * np.sin(10.0 * q[0]) - 0.1 * np.sin(17.0 * q[0] + 0.4)

    body = sl.System(M=[1.0, 1.0], f=[0.0, 0.0], contacts=[sl.Contact(gap, e=0.5)])
    sol = sl.solve(body, (0.0, 10.0), [0.0, 0.55], [1.0, 0.0], tol=1e-8)
    first = np.linspace(0.0, 1.0, 1_000_001)
    wanted = first[np.argmax(gap([first, 0.55]) < 0.0)]
    assert sol.events["t"][0] == pytest.approx(wanted, abs=2e-6)
    assert gap(sol(np.linspace(0.0, 10.0, 10001)).q.T).min() >= -1e-8


def test_an_event_that_oscillates_fast_is_found_every_time():
    free = sl.System(M=1.0, f=0.0)
    sol = sl.solve(free, (0.0, 10.0), 0.0, 1.0, tol=1e-8, events=[sl.Event(lambda q: np.sin(100.0 * q[0] + 0.3))])
    wanted = (np.pi * np.arange(1.0, 319.0) - 0.3) / 100.0
    np.testing.assert_allclose(sol.events["t"], wanted, rtol=0.0, atol=1e-9)


def test_a_wall_that_is_just_not_reached_gives_no_impact():
    for beyond in (1e-9, 1e-6):
        sol = solve(problems.impact_oscillator(wall=-1.0 - beyond, t_end=7.0), 1e-9)
        assert len(sol.events) == 0 and sol.q[-1, 0] == pytest.approx(np.cos(7.0), abs=1e-9)
    sol = solve(problems.impact_oscillator(wall=-1.0 + 1e-6, t_end=7.0), 1e-9)
    assert sol.events["t"][0] == pytest.approx(np.arccos(-1.0 + 1e-6), abs=1e-7)


# ---- joints, bodies, friction


def test_joints_and_quaternions_are_kept():
    sol = solve(problems.rod_pendulum(), 1e-8)
    assert sol.end_violation.max() <= 1e-13 and sol.violation.max() <= 1e-3 * 1e-8
    box = solve(problems.tumbling_box(t_end=0.46), 1e-8)
    np.testing.assert_allclose(np.linalg.norm(box.q[:, 3:], axis=1), 1.0, rtol=1e-13)
    assert np.max(np.abs(box.energy.defect)) <= 1e-7


def test_the_sphere_rolls_at_the_exact_time():
    problem = problems.rolling_sphere()
    sol = solve(problem, 1e-9)
    assert max(ratios(sol, 1e-9).values()) <= 1.0
    assert sol.events["kind"].tolist() == ["stick"]


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_the_box_comes_to_rest_on_its_face(tol):
    sol = solve(problems.tumbling_box(), tol)
    assert np.max(np.abs(sol.v[-1])) <= 1e-10
    assert sol.work["steps"] <= 1000
    assert np.max(np.abs(sol.energy.defect)) <= 10.0 * tol


@pytest.mark.parametrize("e", [0.0, 0.3, 0.9])
def test_a_pile_comes_to_rest_under_its_own_weight(e):
    floor = sl.Contact(lambda q: q[0], e=e, name="floor")

    def above(i):
        return sl.Contact(lambda q: q[i] - q[i - 1] - 0.5, e=e, name=f"mass {i}")

    pile = sl.System(M=[1.0] * 4, f=[-9.81] * 4, contacts=[floor, above(1), above(2), above(3)])
    sol = sl.solve(pile, (0.0, 20.0), [0.2, 1.2, 2.2, 3.2], [0.0] * 4, tol=1e-7)
    np.testing.assert_allclose(sol.q[-1], [0.0, 0.5, 1.0, 1.5], rtol=0.0, atol=1e-7)
    assert np.max(np.abs(sol.v[-1])) <= 1e-20
    np.testing.assert_allclose(sol.force_at(19.0), 9.81 * np.array([4.0, 3.0, 2.0, 1.0]), rtol=1e-9)
    assert sol.impulse_at(20.0)[0] == pytest.approx(4.0 * 9.81 * 20.0, rel=1e-7)  # nothing is left in motion


def test_the_rod_of_painleve_gives_its_event():
    kinds = solve(problems.painleve_rod(), 1e-8).events["kind"].tolist()
    assert kinds[:2] == ["painleve", "impact"]


@pytest.mark.parametrize("mu", [0.0, 0.3, 1e4])
@pytest.mark.parametrize("v0", [0.0, 2.0, -2.0])
def test_a_block_stops_where_its_friction_says(mu, v0):
    block = sl.System(
        M=[2.0, 2.0], f=[0.0, -2.0 * 9.81],
        contacts=[sl.Contact(lambda q: q[1], mu=mu, slip=lambda t, q, v: v[0], name="floor")],
    )  # fmt: skip
    sol = sl.solve(block, (0.0, 2.0), [0.0, 0.0], [v0, 0.0], tol=1e-8)
    slides = min(2.0, abs(v0) / (mu * 9.81)) if mu > 0.0 else 2.0
    way = np.sign(v0) * (abs(v0) * slides - 0.5 * mu * 9.81 * slides**2)
    assert sol.q[-1, 0] == pytest.approx(way, abs=1e-12)
    if mu > 0.0:
        assert sol.v[-1, 0] == 0.0


# ---- events of users, breaks, checkpoints, interrupts


def test_events_of_users_reset_and_end_a_run():
    racket = sl.Event(lambda q: q[0] - 0.5, direction=+1, reset=lambda t, q, v: (q, [2.0 * v[0]]), name="racket")
    ceiling = sl.Event(lambda q: q[0] - 3.0, terminal=True, name="ceiling")
    sol = sl.solve(BALL, (0.0, 9.0), 1.0, 0.0, tol=1e-9, events=[racket, ceiling])
    assert sol.status is sl.Status.TERMINATED and abs(sol.q[-1, 0] - 3.0) <= 1e-12
    up = sol.events[sol.events["contact"] == "racket"][0]["t"]
    assert sol(up).v[0] == pytest.approx(2.0 * sol(up, side="-").v[0], rel=1e-13)
    launched = 0.8 * np.sqrt(2.0 * 9.81)  # behind the first impact
    fall, rise = np.sqrt(2.0 / 9.81), (launched - np.sqrt(launched**2 - 9.81)) / 9.81
    assert up == pytest.approx(fall + rise, abs=1e-11)


def test_a_force_that_jumps_at_a_break_is_integrated_on_both_sides():
    def force(t, q, v):
        return [np.where(t < 1.0, 1.0, -2.0)]

    sol = sl.solve(sl.System(M=1.0, f=force), (0.0, 3.0), 0.0, 0.0, tol=1e-10, breaks=[1.0])
    assert 1.0 in sol.t and sol.work["rejected"] == 0
    assert sol.q[-1, 0] == pytest.approx(0.5 + 2.0 - 4.0, abs=1e-12)


class Cut:
    """The compiled march, interrupted every few steps."""

    def __init__(self, march):
        self.march, self.runs = march, True

    def __getattr__(self, name):
        return getattr(self.march, name)

    def __call__(self, *arguments):
        self.runs = not self.runs
        if self.runs:
            raise KeyboardInterrupt
        return self.march(*arguments[:-1], 2)


@pytest.mark.parametrize("name", ["zeno_oscillator", "coulomb_oscillator"])
def test_a_run_in_pieces_is_the_run_at_once(name, tmp_path, monkeypatch):
    problem, path = getattr(problems, name)(), tmp_path / "run.h5"
    wanted = solve(problem, 1e-8)
    with monkeypatch.context() as patch:
        patch.setattr(running, "march", Cut(running.march))
        sol, parts = solve(problem, 1e-8, checkpoint=path), 1
        while sol.status is sl.Status.INTERRUPTED:
            sol, parts = sl.resume(path, problem), parts + 1
    assert parts > 2
    for field in ("t", "q", "v", "impulse", "step_degree", "events"):
        np.testing.assert_array_equal(getattr(sol, field), getattr(wanted, field))
    times = np.linspace(*problem.t_span, 101)
    np.testing.assert_array_equal(sol(times).v, wanted(times).v)


def test_ctrl_c_returns_what_is_there():
    elastic = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(lambda q: q[0], e=1.0)])
    sl.solve(elastic, (0.0, 1.0), 1.0, 0.0)  # compiles
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    sol = sl.solve(elastic, (0.0, 1e8), 1.0, 0.0, save=1000)
    assert sol.status is sl.Status.INTERRUPTED and 0.0 < sol.t[-1] < 1e8


# ---- nothing fails without a word


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": 0.0}, r"tol of HpTDG is 0\.0: it must be a number between 1e-14 and 1"),
        ({"tol": 1.0}, r"tol of HpTDG is 1\.0"),
        ({"tol": np.nan}, r"tol of HpTDG is nan"),
        ({"tol": "fine"}, r"tol of HpTDG is 'fine'"),
        ({"degree": 0}, r"degree of HpTDG is 0: it must be a whole number, 1 to 16"),
        ({"degree": 2.5}, r"degree of HpTDG is 2\.5"),
        ({"max_degree": 17}, r"max_degree of HpTDG is 17"),
        ({"nodes": "gauss"}, r"nodes of HpTDG is 'gauss': it must be one of 'clenshaw-curtis', 'lobatto'"),
        ({"zeno_speed": -1.0}, r"zeno_speed of HpTDG is -1\.0: it must be None, zero or more"),
        ({"closed_tolerance": np.nan}, r"closed_tolerance of HpTDG is nan"),
        ({"projection_tolerance": 0.0}, r"projection_tolerance of HpTDG is 0\.0: it must be positive"),
        ({"solver": sl.Lemke}, r"solver of HpTDG is .*Lemke'>, not a contact solver"),
    ],
)
def test_a_wrong_setting_is_refused_by_name_and_value(settings, message):
    with pytest.raises(sl.SettingError, match=message):
        sl.HpTDG(**settings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtol": [1e-3, 1e-4]}, r"HpTDG has one tolerance for everything: give tol, a number"),
        ({"tol": 1e-15}, r"tol of HpTDG is 1e-15"),
        ({"control": sl.control.Fixed(), "h": 0.1}, r"may have to repeat a step, which Fixed\(\) does not do"),
        ({"control": sl.control.Richardson()}, r"estimates its error itself"),
        ({"scheme": sl.HpTDG(degree=3)}, r"h is missing: snapped D3- needs a step size"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(sl.SettingError, match=message):
        sl.solve(problems.impact_oscillator(), **options)


def test_a_run_that_fails_says_why_and_keeps_what_it_has():
    squeezed = sl.System(
        M=1.0, f=-1.0, contacts=[sl.Contact(lambda q: q[0]), sl.Contact(lambda t, q: 1.0 - 0.4 * t - q[0])]
    )
    with pytest.raises(sl.RunError, match=r"contact problem .* no solution") as caught:
        sl.solve(squeezed, (0.0, 3.0), 0.5, 0.0, tol=1e-8)
    assert caught.value.solution.t[-1] >= 1.0 and caught.value.solution.q[-1, 0] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(sl.RunError, match=r"step size fell below its floor"):
        sl.solve(sl.System(M=1.0, f=lambda q: q**3), (0.0, 20.0), 1.0, 1.0, tol=1e-8)  # infinite at t = 1.3 s
    with pytest.raises(sl.RunError, match=r"f returned \[nan\] at t = "):
        sl.solve(sl.System(M=1.0, f=lambda q: -9.81 * np.sqrt(q)), (0.0, 2.0), 1.0, 0.0, tol=1e-8)


def test_a_force_that_exists_only_on_this_side_of_the_wall_is_enough():
    def force(q):
        return -9.81 * np.sqrt(q)

    above = sl.System(M=1.0, f=force, contacts=[sl.Contact(lambda q: q[0] - 0.1, e=0.5)])
    sol = sl.solve(above, (0.0, 2.0), 1.0, 0.0, tol=1e-8)
    fast = rows(sol, "impact")[0]["u_minus"][0]  # v^2/2 = 9.81 (2/3) (1 - q^1.5)
    assert fast == pytest.approx(-np.sqrt(2.0 * 9.81 * (2.0 / 3.0) * (1.0 - 0.1**1.5)), rel=1e-8)


@pytest.mark.parametrize("count", [2, 80, 100, 130])
def test_intervals_do_not_shrink_without_end_in_large_systems(count):
    # one block rests, the others swing slowly: one sweep solves an interval, however many they are
    stiffness = 1e-4 * np.linspace(0.9, 1.1, count)
    weight = np.where(np.arange(count) == 0, 0.1, 0.0)
    floor = sl.Contact(lambda q: q[0], name="floor")
    blocks = sl.System(M=np.ones(count), f=lambda t, q, v: -stiffness * np.sin(q) - weight, contacts=[floor])
    q0 = np.where(np.arange(count) == 0, 0.0, 0.1)
    sol = sl.solve(blocks, (0.0, 30.0), q0, np.zeros(count), tol=1e-3, progress=False)
    assert sol.work["steps"] <= 20
    exact = 0.1 * np.cos(np.sqrt(stiffness[1:]) * 30.0)  # small angles: sin q is q but for 2e-4 of it
    np.testing.assert_allclose(sol.q[-1, 1:], exact, rtol=0.0, atol=1e-3)


def test_sweeps_behind_an_impact_are_not_judged_by_those_before_it():
    # van der Pol's force changes its Jacobian with every strike; the Jacobian of before leads to the solution slowly
    def force(t, q, v):
        return [5.6 * (1.0 - q[0] ** 2) * v[0] - 16.0 * q[0]]

    contacts = [sl.Contact(lambda q: q[0] + 0.48, e=0.79), sl.Contact(lambda q: 0.816 - q[0], e=0.79)]
    low, high = (lambda t, y: y[0] + 0.48), (lambda t, y: 0.816 - y[0])
    for wall in (low, high):
        wall.terminal, wall.direction = True, -1
    t, y, times, states = 0.0, np.array([0.1, 1.9]), [], []
    while t < 3.0:
        part = solve_ivp(
            lambda t, y: [y[1], force(t, y[:1], y[1:])[0]], (t, 3.0), y, method="DOP853", rtol=1e-12, atol=1e-12,
            events=[low, high], dense_output=True,
        )  # fmt: skip
        inside = np.linspace(t, part.t[-1], 200)[1:-1]
        times.append(inside)
        states.append(part.sol(inside))
        t, y = part.t[-1], part.y[:, -1] * [1.0, -0.79]
    times, states = np.concatenate(times), np.concatenate(states, axis=1)
    for tol in (1e-3, 1e-4, 1e-5):
        sol = sl.solve(sl.System(M=1.0, f=force, contacts=contacts), (0.0, 3.0), 0.1, 1.9, tol=tol)
        error = np.abs(sol(times).v[:, 0] - states[1])
        # a few of the times lie between the two places of an impact, where velocities differ by its jump
        assert np.quantile(error, 0.9) <= tol * (1.0 + np.abs(states[1]).max())


def test_the_table_of_tuned_numbers_is_that_of_the_code():
    page = (pathlib.Path(__file__).parent.parent / "docs" / "hp_tdg.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Za-z_.]+)` \| (\S+) \| (\w+) \|", page, flags=re.MULTILINE)
    assert len(rows) >= 30
    for name, value, file in rows:
        module = importlib.import_module(f"saltus.schemes.hp_tdg.{file}")
        assert operator.attrgetter(name)(module) == float(value), f"{name} of {file}.py"


@pytest.mark.parametrize("end", [50.0, 200.0, 400.0, 950.0])
@pytest.mark.parametrize("tol", [1e-8, 1e-6])
def test_a_first_interval_that_finds_no_motion_teaches_nothing(end, tol):
    """The first one is long and leads far into the cubic force, whose Jacobian there must not outlive it."""
    stop = sl.Contact(lambda q: q[0] + 0.788, e=0.57, name="stop")
    duffing = sl.System(
        M=1.3, f=lambda t, q, v: [q[0] - q[0] ** 3 - 0.1 * v[0] + 0.6 * np.cos(0.6615188111459367 * t)], contacts=[stop]
    )
    run = sl.solve(duffing, (0.0, end), 0.1, 0.2, tol=tol)
    assert run.t[-1] == end
    short = sl.solve(duffing, (0.0, 3.0), 0.1, 0.2, tol=1e-10)
    assert abs(run(3.0).q[0] - short.q[-1, 0]) < 30.0 * tol
