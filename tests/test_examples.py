"""The examples: each runs and gives the number it promises."""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path

import numpy as np
import pytest

import saltus as sl

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str):
    """Import an example by its path: examples are no package."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "demo"))
def test_example_runs_as_a_script_and_its_own_assertion_holds(name, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out


def test_the_ball_loses_the_energy_that_restitution_takes():
    solution = runpy.run_path(str(EXAMPLES / "ball.py"))["sol"]
    impacts = solution.events["t"]
    heights = solution(0.5 * (impacts[:-1] + impacts[1:])).q[:, 0]  # half way between two impacts
    np.testing.assert_allclose(heights, 0.8 ** (2.0 * np.arange(1.0, len(impacts))), rtol=1e-12)


def test_the_block_slips_when_the_spring_beats_friction():
    belt = load("friction_belt")
    solution = belt.run(h=1e-3)
    t_slip, x_max = belt.exact()
    slips = solution.events[solution.events["kind"] == "slip"]["t"]
    assert slips[0] == pytest.approx(t_slip, abs=2e-3)
    assert solution.q[:, 0].max() == pytest.approx(x_max, abs=1e-4)
    riding = solution.t < t_slip - 2e-3
    np.testing.assert_allclose(solution.v[riding, 0], belt.BELT, rtol=1e-12)


def test_the_first_strike_of_the_slider_is_where_scipy_finds_it():
    example = load("slider_crank")
    h = 1e-5
    solution = example.run(h=h, t_end=0.004)
    assert 0.0 <= solution.events["t"][0] - example.first_strike() < 2.0 * h


def test_projection_holds_the_pins_of_the_linkage():
    example = load("four_bar")
    solution = example.run(h=5e-5, t_end=0.05)
    assert max(example.pins_apart(q) for q in solution.q[::20]) < 1e-11
    assert solution.end_violation.max() < 1e-11


def test_angular_momentum_in_flight_is_kept_with_the_square_of_h():
    example = load("quaternion_box")
    coarse, fine = (example.spin_drift(example.run(h=h, t_end=0.29)) for h in (2e-3, 5e-4))
    assert coarse / fine == pytest.approx(16.0, rel=0.2)


def test_the_bead_in_the_bowl_has_the_orders_of_the_degrees_and_obeys_coulomb():
    example = load("bead_in_bowl")
    assert [example.order(degree) for degree in (1, 2, 4)] == pytest.approx([2.0, 4.0, 6.0], abs=0.15)
    solution = example.run(4, 16)
    assert max(example.errors(solution)) < 1e-11
    t = np.linspace(0.0, 1.0, 41)
    N, T = solution.force_at(t).T
    q, v = example.BOWL.exact.q(t), example.BOWL.exact.v(t)
    np.testing.assert_allclose(N, np.sum(v * v, axis=1) - q[:, 1], rtol=1e-7)
    np.testing.assert_allclose(T, -example.MU * N, rtol=1e-12)


def test_the_soft_floor_strikes_as_a_half_oscillation_does_and_bounces_as_the_rigid_one():
    example = load("compliant_contact")
    found, wanted = example.strike(example.soft(0.0), 0.0), example.exact()
    assert found == pytest.approx(wanted, rel=1e-4)
    assert found[0] == pytest.approx(np.pi / example.OMEGA, rel=2e-3)  # gravity makes it a little longer
    e = example.restitution(0.1)
    heights = [solution.q[solution.t > 0.47].max() for solution in (example.soft(0.1), example.rigid(e))]
    assert heights == pytest.approx([e**2, e**2], rel=5e-3)


def test_each_column_of_an_extrapolation_adds_an_order_and_impacts_do_not_spoil_it():
    example = load("extrapolated")
    assert [example.order(columns) for columns in (2, 3, 4)] == pytest.approx([2.0, 3.0, 4.0], abs=0.15)
    alone, made = (example.run(example.BOWL, scheme, 400) for scheme in (example.ALONE, sl.Extrapolated(example.ALONE)))
    assert example.error(made) < 0.5 * example.error(alone)


def test_ball_and_bead_come_to_rest_at_the_exact_time_up_to_the_tolerance():
    example = load("zeno_event_driven")
    assert example.rest_time(example.run(example.BALL, 1e-4)) == pytest.approx(3.0, abs=1e-12)
    for tol in (1e-4, 1e-7, 1e-10):
        solution = example.run(example.BOWL, tol)
        assert max(example.errors(solution)) < 20.0 * tol
        assert solution.events["count"].sum() >= len(example.BOWL.exact.jumps)


def test_a_tolerance_is_kept_with_few_evaluations():
    example = load("hp_tdg")
    most = {"zeno_ball": (60, 60, 60), "impact_oscillator": (130, 200, 320), "driven_pendulum": (400, 850, 1450)}
    for problem in example.PROBLEMS:
        for tol, limit in zip(example.TOLERANCES, most[problem.name], strict=True):
            solution = sl.solve(problem, tol=tol)
            assert example.mean_error(solution) < tol
            assert example.evaluations(solution) <= limit


def test_the_dribbled_ball_is_pushed_and_lost_as_it_should_be():
    example = load("dribbled_ball")
    solution = example.run(1e-10)
    pushes, t_lost, height = example.exact()
    assert solution.status is sl.Status.TERMINATED
    assert solution.success
    assert np.sum(solution.events["contact"] == "hand") == pushes == 4
    assert solution.t[-1] == pytest.approx(t_lost, abs=1e-9)
    assert solution.q[-1, 0] == pytest.approx(height, abs=1e-9)
    t = solution.events["t"][solution.events["contact"] == "hand"]
    np.testing.assert_allclose(solution(t).v, -example.PUSH * solution(t, side="-").v, rtol=1e-12)
    np.testing.assert_allclose(solution(t).q, example.HAND, rtol=1e-12)


def test_the_demo_verifies_its_runs_and_writes_pictures_and_a_page(tmp_path, capsys, monkeypatch):
    demo = load("demo")
    short = {
        "valve train": (sl.problems.valve_train_bodies(t_end=2e-3), 1e-4),
        "breaker": (sl.problems.circuit_breaker(t_end=1e-3), 1e-4),
    }
    monkeypatch.setattr(demo, "FLAGSHIPS", demo.FLAGSHIPS | short)
    demo.main(tmp_path)
    out = capsys.readouterr().out
    for name in (
        "ball.png",
        "oscillator.png",
        "valve_train.png",
        "valve_train_energy.png",
        "breaker.png",
        "breaker.html",
    ):
        assert (tmp_path / name).stat().st_size > 10_000
        assert str(tmp_path / name) in out


def test_the_demo_keeps_the_promise_of_its_tolerance():
    demo = load("demo")
    sol, line = demo.measured("ball", *demo.FLAGSHIPS["ball"])
    assert sol.success and float(line[demo.COLUMNS.index("error / promise")]) < 1.0


def test_splitting_keeps_the_order_of_its_base_only_between_impacts():
    example = load("splitting")
    smooth, through = example.orders("rkf45")
    assert smooth > 4.75
    assert 0.75 < through < 1.25


def test_located_impacts_leave_every_base_its_order():
    example = load("any_order")
    for base, order, largest in (("kutta3", 3, 2e-4), ("rk4", 4, 2e-6), ("dopri5", 5, 2e-8)):
        assert example.order(sl.AnyOrder(base)) > order - 0.25
        assert example.error(sl.AnyOrder(base), 331) < largest
