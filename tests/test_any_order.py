"""AnyOrder: orders through impacts, accumulations, lasting contact, friction, joints; grids, tolerances, events."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems, study
from saltus.control import Adaptive, Grid
from saltus.errors import SettingError
from saltus.flight.packed_methods import ALL_METHODS
from saltus.run import run as running
from saltus.tables.runge_kutta import table

# grids that do not fit together, in the range where the order shows: large enough that impacts keep their order of
# events, small enough that round-off is far
FINE, MIDDLE, COARSE = (331, 467, 661, 929, 1301, 1801), (83, 101, 131, 163, 211, 331), (41, 53, 67, 83, 103, 127)
GRIDS = {2: FINE, 3: MIDDLE, 4: MIDDLE, 5: MIDDLE, 8: COARSE}
SOME = ["heun", "kutta3", "rk4", "dopri5", "dop853", "radau5", "lobatto3c"]


def run(problem: sl.Problem, scheme: sl.AnyOrder, steps: int, **options) -> sl.Solution:
    return sl.solve(problem, scheme=scheme, h=problem.t_span[1] / steps, **options)


def on_grid(sol: sl.Solution, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the grid points behind the start and their places in the solution."""
    times = np.arange(1, steps + 1) * (sol.t[-1] / steps)
    places = np.minimum(np.searchsorted(sol.t, times - 1e-12), len(sol.t) - 1)
    np.testing.assert_allclose(sol.t[places], times, rtol=1e-14)
    return times, places


def errors(problem: sl.Problem, scheme: sl.AnyOrder, steps: int) -> tuple[float, float]:
    """Return the L1 errors of q and v over the grid points that are not at an impact."""
    sol = run(problem, scheme, steps)
    times, places = on_grid(sol, steps)
    away = np.ones(steps, dtype=bool)
    for jump in np.atleast_1d(problem.exact.jumps):
        away &= np.abs(times - jump) > 1e-7
    h = problem.t_span[1] / steps
    q, v = np.abs(sol.q[places] - problem.exact.q(times)), np.abs(sol.v[places] - problem.exact.v(times))
    return h * q[away].sum(), h * v[away].sum()


def orders(problem: sl.Problem, scheme: sl.AnyOrder, grids: tuple[int, ...]) -> np.ndarray:
    made = [errors(problem, scheme, steps) for steps in grids]
    return -np.polyfit(np.log(grids), np.log(made), 1)[0]


# ---- impacts


@pytest.mark.parametrize("base", ALL_METHODS)
def test_positions_through_impacts_have_the_order_of_the_base(base):
    order = table(base).order
    assert sl.AnyOrder(base).order == order
    fitted = orders(problems.impact_oscillator(), sl.AnyOrder(base), GRIDS[order])
    assert np.all(fitted > order - 0.25)  # velocities too, away from the impacts


@pytest.mark.parametrize("base", SOME)
def test_forecast_closings_have_the_same_order(base):
    order = table(base).order
    fitted = orders(problems.impact_oscillator(), sl.AnyOrder(base, anticipation=True), GRIDS[order])
    assert np.all(fitted > order - 0.25)


@pytest.mark.parametrize("anticipation", [False, True])
@pytest.mark.parametrize("base", ALL_METHODS)
def test_a_ball_passes_infinitely_many_impacts_with_small_error(base, anticipation):
    wanted = {2: 1e-4, 3: 1e-6, 4: 3e-8, 5: 1e-9, 8: 1e-13}[table(base).order]
    q, v = errors(problems.zeno_ball(), sl.AnyOrder(base, anticipation=anticipation), 193)
    assert v < wanted
    assert q < wanted


@pytest.mark.parametrize("base", ["kutta3", "rk4", "dopri5", "radau5"])
def test_accumulating_impacts_keep_one_order_more_than_that_of_the_base(base):
    # the flight of a ball is exact for every method: what is left is the interval of the impacts, h^(p+1)
    fitted = orders(problems.zeno_ball(), sl.AnyOrder(base), (47, 59, 71, 97, 131, 193))
    assert np.all(fitted > table(base).order + 0.75)


@pytest.mark.parametrize("base", ["rk4", "dopri5", "dop853"])
def test_the_accumulation_of_an_oscillator_keeps_the_order(base):
    grids = COARSE if base == "dop853" else MIDDLE
    assert np.all(orders(problems.zeno_oscillator(), sl.AnyOrder(base), grids) > table(base).order - 0.25)


def test_a_wider_interval_of_the_impact_costs_accuracy_in_its_proportion():
    problem = problems.zeno_ball()
    narrow, wide = (np.array(errors(problem, sl.AnyOrder("rk4", C=C), 97)) for C in (1.0, 100.0))
    np.testing.assert_allclose(wide / narrow, 100.0, rtol=0.3)


def test_the_slider_of_the_crank_rattles_as_an_event_driven_run_says():
    problem = problems.slider_crank(t_end=0.02)
    reference = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-12)
    made = [study.error(run(problem, sl.AnyOrder("rk4"), n), reference, "q") for n in (100, 200, 400)]
    assert made[-1] < 1e-8
    assert made[-1] < 0.02 * made[0]


# ---- lasting contact, friction, joints


@pytest.mark.parametrize("base", SOME)
def test_lasting_contact_with_friction_has_the_order_of_the_base(base):
    grids = {"dop853": (4, 5, 6, 7), "radau5": (6, 8, 11, 14)}.get(base, (16, 20, 24, 32, 40, 48))
    assert np.all(orders(problems.circle_slide(mu=0.1), sl.AnyOrder(base), grids) > table(base).order - 0.25)


@pytest.mark.parametrize("base", SOME)
def test_a_release_is_located_with_the_order_of_the_base(base):
    grids = (6, 7, 8, 10, 12, 14) if base == "dop853" else (20, 30, 40, 60, 80, 110)
    assert np.all(orders(problems.slide_off(), sl.AnyOrder(base), grids) > table(base).order - 0.25)


@pytest.mark.parametrize("base", SOME)
def test_stick_and_slip_keep_the_order_of_the_base(base):
    grids = (30, 35, 41, 47, 53, 67) if base == "dop853" else MIDDLE
    assert np.all(orders(problems.coulomb_oscillator(), sl.AnyOrder(base), grids) > table(base).order - 0.25)


@pytest.mark.parametrize("base", ["kutta3", "rk4", "dopri5", "dop853", "radau5"])
def test_a_bead_hops_and_slides_in_its_bowl_with_the_order_of_the_base(base):
    fitted = orders(problems.bowl(), sl.AnyOrder(base), COARSE if base == "dop853" else (83, 101, 131, 163, 211, 331))
    assert np.all(fitted > table(base).order - 0.25)


@pytest.mark.parametrize("base", ["rk4", "dopri5"])
def test_a_slip_in_space_stops_with_the_order_of_the_base(base):
    problem, grids = problems.incline_3d(), (50, 70, 100, 140, 200, 280)
    runs = [run(problem, sl.AnyOrder(base), n) for n in grids]
    end = problem.t_span[1]
    made = [np.abs(sol.q[-1] - problem.exact.q(end)).max() for sol in runs]
    assert -np.polyfit(np.log(grids), np.log(made), 1)[0] > table(base).order - 0.25
    assert all(np.all(sol.v[-1] == 0.0) for sol in runs)


@pytest.mark.parametrize("base", SOME)
def test_joints_are_held_with_the_order_of_the_base(base):
    grids = (12, 14, 16, 18, 20, 24) if base == "dop853" else (64, 80, 96, 128, 160, 192)
    problem = problems.rod_pendulum()
    assert np.all(orders(problem, sl.AnyOrder(base), grids) > table(base).order - 0.25)
    assert run(problem, sl.AnyOrder(base), grids[0]).end_violation.max() < 1e-13


def test_a_tumbling_box_ends_at_rest_on_a_face():
    sol = run(problems.tumbling_box(), sl.AnyOrder("rk4"), 400)
    assert np.abs(sol.v[-1]).max() < 1e-9
    assert sol.violation.max() < 1e-9
    np.testing.assert_allclose(np.linalg.norm(sol.q[:, 3:], axis=1), 1.0, rtol=1e-13)


# ---- grid, records


@pytest.mark.parametrize("anticipation", [False, True])
def test_grid_points_are_met_and_impacts_lie_between_them(anticipation):
    problem, steps = problems.impact_oscillator(), 83
    sol = run(problem, sl.AnyOrder("rk4", anticipation=anticipation), steps)
    _, places = on_grid(sol, steps)
    assert sol.t[-1] == problem.t_span[1]
    extra = np.setdiff1d(sol.t[1:], sol.t[places])
    impacts = sol.events["t"][sol.events["kind"] == "impact"]
    assert len(impacts) == np.sum(problem.exact.jumps < problem.t_span[1])
    assert np.all(np.isin(extra, impacts)) or anticipation  # forecasts end steps before their impact
    assert np.all(np.isin(impacts, sol.t))
    np.testing.assert_allclose(sol(impacts).v, -problem.system.contacts[0].e * sol(impacts, side="-").v, rtol=1e-2)


def test_impacts_lie_within_their_interval_of_the_exact_ones():
    problem = problems.zeno_ball()
    for steps in (97, 193):
        sol = run(problem, sl.AnyOrder("rk4"), steps)
        impacts = sol.events["t"][sol.events["kind"] == "impact"][:5]
        window = (4.0 / steps) ** 5
        # the first is half an interval late; later ones inherit what the ones before did to the speed
        assert np.abs(impacts[0] - problem.exact.jumps[0]) <= 0.6 * window
        assert np.all(np.abs(impacts - problem.exact.jumps[:5]) < 10.0 * window)


@pytest.mark.parametrize("steps", [97, 400])
def test_the_energy_ledger_and_the_impulses_close(steps):
    sol = run(problems.zeno_ball(), sl.AnyOrder("rk4"), steps)
    gained = sol.v[:, 0] - sol.v[0, 0]
    given = -2.0 * sol.t + np.concatenate([[0.0], np.cumsum(sol.impulse[:, 0])])
    np.testing.assert_allclose(gained, given, rtol=0.0, atol=1e-12)
    assert np.abs(sol.energy.defect).max() < 1e-6


class Cut:
    """The march in pieces of a few steps, interrupted after every second one."""

    def __init__(self, march):
        self.march, self.calls = march, 0

    def __getattr__(self, name):
        return getattr(self.march, name)

    def __call__(self, *arguments):
        self.calls += 1
        if self.calls % 3 == 0:
            raise KeyboardInterrupt
        return self.march(*arguments[:-1], 5)


@pytest.mark.parametrize("options", [{"h": 8.0 / 97}, {"tol": 1e-7}], ids=["grid", "tolerance"])
def test_a_run_in_pieces_is_the_run_at_once(options, tmp_path, monkeypatch):
    problem, scheme = problems.zeno_oscillator(), sl.AnyOrder("dopri5")
    expected = sl.solve(problem, scheme=scheme, **options)
    with monkeypatch.context() as patch:
        patch.setattr(running, "march", Cut(running.march))
        sol, parts = sl.solve(problem, scheme=scheme, checkpoint=tmp_path / "run.h5", **options), 1
        while sol.status is sl.Status.INTERRUPTED:
            sol, parts = sl.resume(tmp_path / "run.h5", problem), parts + 1
    assert parts > 2
    for name in ("t", "q", "v", "impulse", "events"):
        np.testing.assert_array_equal(getattr(sol, name), getattr(expected, name))


def test_events_of_the_user_are_found_on_the_grid_and_between():
    problem = problems.impact_oscillator()
    half = sl.Event(lambda t, q, v: q[0] - 0.5, name="half")
    plain, sol = run(problem, sl.AnyOrder(), 200), run(problem, sl.AnyOrder(), 200, events=half)
    times = sol.events["t"][sol.events["kind"] == "event"]
    assert len(times) > 5
    np.testing.assert_allclose(sol(times).q, 0.5, atol=1e-9)
    np.testing.assert_allclose(problem.exact.q(times)[:, 0], 0.5, atol=1e-5)
    _, places = on_grid(sol, 200)
    np.testing.assert_allclose(sol.q[places], plain.q[on_grid(plain, 200)[1]], atol=1e-5)


# ---- tolerances


@pytest.mark.parametrize("base", ["rkf45", "dopri5", "dop853", "radau5"])
def test_with_a_tolerance_the_error_falls_with_it(base):
    problem, tols = problems.impact_oscillator(), (1e-3, 1e-5, 1e-7, 1e-9)
    runs = [sl.solve(problem, scheme=sl.AnyOrder(base), tol=tol) for tol in tols]
    made = [[study.error(sol, quantity=quantity) for quantity in "qv"] for sol in runs]
    assert np.all(np.polyfit(np.log(tols), np.log(made), 1)[0] > 0.8)
    assert all(sol.step_error.max() <= 1.0 for sol in runs)
    steps = [sol.work["steps"] for sol in runs]
    assert steps == sorted(steps)


def test_the_scheme_brings_the_control_that_it_needs():
    assert sl.AnyOrder().control() == Grid()
    assert sl.AnyOrder(rtol=1e-6, atol=1e-6).control() == Adaptive()
    assert sl.AnyOrder().with_tolerance(None, 1e-7) == sl.AnyOrder(rtol=1e-7, atol=1e-7)
    with pytest.raises(SettingError, match=r"h is missing: any order \(dopri5\) needs a step size"):
        sl.solve(problems.zeno_ball(), scheme=sl.AnyOrder())


@pytest.mark.parametrize("base", ["heun", "kutta3", "rk4", "radau3", "lobatto3a", "lobatto3c", "lobatto3c2"])
def test_a_tolerance_for_a_base_without_estimate_is_refused(base):
    with pytest.raises(SettingError, match=f"base '{base}' of AnyOrder estimates no error.*'dopri5'"):
        sl.solve(problems.zeno_ball(), scheme=sl.AnyOrder(base), tol=1e-6)


# ---- settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "rk45"}, "base of AnyOrder is 'rk45': it must be one of 'heun'"),
        ({"C": 0.0}, "C of AnyOrder is 0.0: it must be a positive number"),
        ({"C": np.inf}, "C of AnyOrder is inf"),
        ({"newton_tolerance": -1.0}, "newton_tolerance of AnyOrder is -1.0"),
        ({"closed_tolerance": -1.0}, "closed_tolerance of AnyOrder is -1.0"),
        ({"rest_tolerance": "small"}, "rest_tolerance of AnyOrder is 'small'"),
        ({"anticipation": 1}, "anticipation of AnyOrder is 1: it must be True or False"),
        ({"solver": sl.Lemke}, r"give one such as NSGS\(\)"),
        ({"rtol": 1e-6}, "atol of AnyOrder is missing: give both"),
        ({"atol": 1e-6}, "rtol of AnyOrder is missing: give both"),
        ({"rtol": 1e-20, "atol": 1e-6}, "rtol of AnyOrder is 1e-20"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(SettingError, match=message):
        sl.AnyOrder(**settings)


@pytest.mark.parametrize("wrapper", [sl.StepDoubling, sl.Extrapolated])
def test_steps_that_end_early_are_wrapped_by_none(wrapper):
    with pytest.raises(SettingError, match="AnyOrder"):
        wrapper(sl.AnyOrder())
