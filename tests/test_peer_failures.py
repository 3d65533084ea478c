"""What other programs are known to get wrong on these problems is right here."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems


def impacts(sol: sl.Solution) -> np.ndarray:
    return sol.events[sol.events["kind"] == "impact"]


@pytest.mark.parametrize("tol", [1e-3, 1e-4, 1e-6])
def test_loose_tolerances_do_not_step_over_an_impact(tol):
    # a Runge-Kutta code that looks for signs at the ends of its steps misses one at rtol 1e-4
    problem = problems.impact_oscillator()
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=tol)
    assert len(impacts(sol)) == len(problem.exact.jumps) == 4
    assert np.max(np.abs(impacts(sol)["t"] - problem.exact.jumps)) <= 300.0 * tol
    assert np.min(sol(np.linspace(0.0, 20.0, 5001)).q) >= -0.5 - 10.0 * tol


@pytest.mark.parametrize("h", [None, 4.0])
def test_a_first_step_over_several_impacts_finds_all_of_them(h):
    problem = problems.zeno_ball(e=0.9, t_end=20.0)
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-8, h=h)
    early = problem.exact.jumps[:10]
    np.testing.assert_allclose(impacts(sol)["t"][:10], early, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("e", [0.5, 0.9, 0.98])
def test_the_ball_never_falls_through_the_floor(e):
    # restarted integrators with events lose it after 8 to 25 bounces
    problem = problems.zeno_ball(e=e, gravity=9.81, t_end=60.0)
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-8)
    assert sol.success
    assert np.min(sol.q) >= -1e-10
    assert np.min(sol(np.linspace(0.0, 60.0, 20_001)).q) >= -1e-8
    assert sol.q[-1, 0] == pytest.approx(0.0, abs=1e-12) and sol.v[-1, 0] == 0.0


def test_an_accumulation_costs_a_bounded_number_of_force_evaluations():
    # without a cut by hand the others stall at t = 3
    sol = sl.solve(problems.zeno_ball(), scheme=sl.EventDriven(), tol=1e-8)
    assert sol.t[-1] == 4.0
    assert sol.work["f"] <= 800
    rest = sol.events[sol.events["kind"] == "zeno"]
    assert len(rest) == 1 and abs(rest["t"][0] - 3.0) <= 1e-8


@pytest.mark.parametrize("e", [0.3, 0.7, 0.9])
def test_a_run_that_ends_on_the_accumulation_itself_ends(e):
    # the event of the root finder and the end of the span fall together: one of the others crashes there
    end = (1.0 + e) / (1.0 - e)
    problem = problems.zeno_ball(e=e, t_end=end)
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-8)
    assert sol.success and sol.t[-1] == end
    assert abs(sol.q[-1, 0]) <= 1e-8 and abs(sol.v[-1, 0]) <= 1e-4


def test_the_ball_runs_where_a_multistep_code_with_events_crashes():
    problem = problems.zeno_ball()
    sol = sl.solve(problem, scheme=sl.EventDriven(rtol=1e-10, atol=1e-12))
    assert sol.success
    times = np.linspace(0.0, 4.0, 401)
    away = np.min(np.abs(times[:, None] - problem.exact.jumps), axis=1) > 1e-9
    assert np.max(np.abs(sol(times[away]).q - problem.exact.q(times[away]))) <= 1e-9


def test_a_plastic_impact_is_one_impact_and_then_rest():
    # no chattering on the floor
    sol = sl.solve(problems.zeno_ball(e=0.0), scheme=sl.EventDriven(), tol=1e-8)
    assert list(sol.events["kind"][:1]) == ["impact"] and len(impacts(sol)) == 1
    assert not np.isin(sol.events["kind"], ["zeno", "release"]).any()
    assert abs(impacts(sol)["t"][0] - 1.0) <= 1e-10
    after = sol.t >= impacts(sol)["t"][0]
    assert np.all(sol.v[after] == 0.0)
    np.testing.assert_allclose(sol.force_at(2.5), [2.0], rtol=1e-13)


def test_the_restitution_of_every_impact_is_the_one_that_was_asked_for():
    # asked for 0.5 and 1.0, one of the others gives 0.54 and 1.04
    for e in (0.5, 1.0):
        sol = sl.solve(problems.zeno_ball(e=e), scheme=sl.EventDriven(), tol=1e-8)
        found = impacts(sol)
        np.testing.assert_allclose(-found["u_plus"][:, 0] / found["u_minus"][:, 0], e, rtol=1e-12)


def test_elastic_impacts_gain_no_energy():
    problem = problems.zeno_ball(e=1.0, t_end=400.0)
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-10, save="events")
    assert len(impacts(sol)) == len(problem.exact.jumps) == 200
    height = sol.v[:, 0] ** 2 / 4.0 + sol.q[:, 0]
    assert np.max(np.abs(height - 1.0)) <= 1e-8
    np.testing.assert_allclose(impacts(sol)["t"], problem.exact.jumps, rtol=0.0, atol=1e-7)


def test_a_function_of_the_gap_in_plain_python_does_not_crash():
    # a nonlinear gap written in Python ends one of the others with a segmentation fault
    def gap(q):
        return float(np.hypot(q[0], q[1])) - 1.0

    ball = sl.System(1.0, [0.0, -9.81], contacts=[sl.Contact(gap, e=0.5, name="sphere")])
    with pytest.warns(sl.SlowFunctionWarning):
        sol = sl.solve(ball, (0.0, 0.6), [0.0, 2.0], [0.0, 0.0], scheme=sl.EventDriven(), tol=1e-8)
    assert abs(impacts(sol)["t"][0] - np.sqrt(2.0 / 9.81)) <= 1e-7


def test_a_force_that_is_not_a_number_ends_in_a_sentence_that_names_the_place():
    # for others it ends the interpreter; q reaches zero, where the root ends, at t = 0.4769 s
    floor = sl.Contact(lambda q: q[0] + 1.0, name="floor")
    system = sl.System(1.0, lambda q: [-9.81 * np.sqrt(q[0])], contacts=[floor])
    with pytest.raises(sl.RunError, match=r"t = 0\.4768"):
        sl.solve(system, (0.0, 2.0), 1.0, 0.0, scheme=sl.EventDriven(), tol=1e-8)
