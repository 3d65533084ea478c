"""Splitting: packed Runge-Kutta methods, orders, impacts at frozen positions, tolerances, records."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import saltus as sl
from saltus import problems, study
from saltus.control import Adaptive, Fixed
from saltus.errors import SettingError
from saltus.flight.packed_methods import ALL_METHODS, EXPLICIT_METHODS, IMPLICIT_METHODS, packed_implicit, packed_method
from saltus.flight.smooth_step import PACKED_TABLE, SMOOTH_STEP, packed_pair
from saltus.tables.runge_kutta import table
from saltus.tables.tableau import TAB, node_places, place

ROUND_OFF = 2e-14
PLACES = node_places(SMOOTH_STEP.nodes - 1, "lobatto")


def unpacked(name):
    """Return c, A, error weights, weights and slopes of the dense output."""
    packed = packed_method(name)
    n = int(packed[PACKED_TABLE.stages])
    sizes = [n, n * n, 2 * n, SMOOTH_STEP.nodes * n, SMOOTH_STEP.nodes * n]
    assert len(packed) == PACKED_TABLE.head + sum(sizes)
    c, A, errors, weights, slopes = np.split(packed[PACKED_TABLE.head :], np.cumsum(sizes)[:-1])
    return (
        c,
        A.reshape(n, n),
        errors.reshape(2, n),
        weights.reshape(SMOOTH_STEP.nodes, n),
        slopes.reshape(SMOOTH_STEP.nodes, n),
    )


# ---- methods as kernels see them


@pytest.mark.parametrize("name", ALL_METHODS)
def test_the_dense_output_of_a_packed_method_ends_in_its_weights(name):
    c, A, _, weights, slopes = unpacked(name)
    b = np.zeros(len(c))
    b[: table(name).stages] = table(name).b
    assert np.abs(weights[-1] - b).max() < ROUND_OFF * max(1.0, np.abs(b).max())
    assert np.abs(weights[0]).max() == 0.0
    assert np.abs(weights.sum(axis=1) - PLACES).max() < 20 * ROUND_OFF
    assert np.abs(slopes.sum(axis=1) - 1.0).max() < 100 * ROUND_OFF
    assert np.abs(A.sum(axis=1) - c).max() < ROUND_OFF


@pytest.mark.parametrize("name", ALL_METHODS)
def test_the_last_stage_of_a_step_is_its_result(name):
    c, A, *_ = unpacked(name)
    last = int(packed_method(name)[PACKED_TABLE.step_stages]) - 1
    stages = table(name).stages
    assert c[last] == 1.0
    assert np.array_equal(A[last, :stages], table(name).b)
    assert np.all(A[last, stages:] == 0.0)


@pytest.mark.parametrize("name", ALL_METHODS)
def test_the_dense_output_integrates_polynomials_of_its_order(name):
    c, _, _, weights, slopes = unpacked(name)
    for power in range(1, table(name).dense_order):
        assert np.abs(weights @ c**power - PLACES ** (power + 1) / (power + 1)).max() < 1e-12
    for power in range(1, table(name).dense_order - 1):
        assert np.abs(slopes @ c**power - PLACES**power).max() < 1e-11


@pytest.mark.parametrize("name", ["heun", "kutta3", "rk4"])
def test_methods_without_dense_output_take_the_cubic_of_hermite(name):
    c, _, _, weights, slopes = unpacked(name)
    b = np.append(table(name).b, 0.0)
    s = PLACES[:, None]
    first, last = np.eye(len(c))[0], np.eye(len(c))[-1]
    cubic = s**2 * (3 - 2 * s) * b + s * (1 - s) ** 2 * first - s**2 * (1 - s) * last
    assert np.abs(weights - cubic).max() < ROUND_OFF
    assert np.abs(slopes[0] - first).max() == 0.0
    assert np.abs(slopes[-1] - last).max() < ROUND_OFF


@pytest.mark.parametrize("name", ALL_METHODS)
def test_error_weights_are_those_of_the_embedded_method(name):
    _, _, errors, *_ = unpacked(name)
    order = packed_method(name)[PACKED_TABLE.error_order]
    if name == "radau5":
        # with the weight of the start a quadrature that vanishes up to order 3, and not beyond
        c = table(name).c
        assert abs(errors[0].sum() + SMOOTH_STEP.radau_gamma) < 10.0 * ROUND_OFF
        assert all(abs(errors[0] @ c**power) < 10.0 * ROUND_OFF for power in (1, 2))
        assert abs(errors[0] @ c**3) > 1e-3
        assert np.all(errors[1] == 0.0)
        assert order == 4
        return
    if name not in ("rkf45", "dopri5", "dop853"):
        assert np.all(errors == 0.0)
        assert order == table(name).order
        return
    known = table(name)
    assert np.array_equal(errors[: len(known.error), : known.stages], known.error)
    assert np.abs(errors.sum(axis=1)).max() < ROUND_OFF
    assert order == known.error_order[0] + 1


@pytest.mark.parametrize("name", ["dopri5", "dop853", "radau5"])
def test_methods_of_event_driven_are_packed_as_there(name):
    assert np.array_equal(packed_method(name), packed_pair(name))


@pytest.mark.parametrize("name", IMPLICIT_METHODS)
def test_implicit_methods_are_packed_for_the_stage_equations(name):
    packed, known = packed_implicit(name), table(name)
    n = known.stages
    assert packed[1] == n
    assert packed[TAB.end] == n
    assert packed[TAB.first] == (1 if name == "lobatto3a" else 0)
    c, b, share = packed[TAB.vectors : TAB.vectors + 3 * n].reshape(3, n)
    assert np.array_equal(c, known.c)
    assert np.array_equal(b, known.b)
    assert np.all(share == 0.0)
    for matrix, wanted in ((0, known.A), (1, known.A), (2, known.A @ known.A)):
        at = place(n, matrix)
        assert np.array_equal(packed[at : at + n * n].reshape(n, n), wanted)


def test_an_unknown_method_is_named():
    with pytest.raises(SettingError, match="'rk5' is no Runge-Kutta method"):
        packed_method("rk5")
    with pytest.raises(SettingError, match="'rk4' is no implicit method"):
        packed_implicit("rk4")
    assert set(ALL_METHODS) == set(EXPLICIT_METHODS) | set(IMPLICIT_METHODS)


# ---- orders


def errors(problem, scheme, sizes, offsets=(0,)):
    """Return the L1 errors of q, v and impulse (sizes, 3) on the grid, averaged over grids that do not fit together."""
    exact, span, table = problem.exact, problem.t_span[1], []
    for size in sizes:
        rows = []
        for offset in offsets:
            sol = sl.solve(problem, scheme=scheme, h=span / (size + offset))
            pairs = [(sol.q, exact.q(sol.t)), (sol.v, exact.v(sol.t))]
            if exact.impulse is not None:
                pairs.append((sol.impulse_at(sol.t), exact.impulse(sol.t)))
            rows.append([np.mean(np.abs(a - b)) for a, b in pairs])
        table.append(np.mean(rows, axis=0))
    return np.array(table)


def orders(sizes, table):
    return -np.polyfit(np.log(sizes), np.log(table), 1)[0]


@pytest.mark.parametrize("contact_forces", [True, False])
@pytest.mark.parametrize("base", ["rkf45", "dop853"])
@pytest.mark.parametrize("name", ["impact_oscillator", "zeno_ball"])
def test_impacts_are_passed_with_order_one_whatever_the_base(name, base, contact_forces):
    problem = problems.impact_oscillator(t_end=8.0) if name == "impact_oscillator" else problems.zeno_ball()
    sizes, offsets = (401, 1607, 6421, 25601), (0, 17, 34, 51, 68, 85)
    fitted = orders(sizes, errors(problem, sl.Splitting(base, contact_forces=contact_forces), sizes, offsets))
    assert np.all(fitted[:2] > 0.75)
    assert np.all(fitted[:2] < 1.25)


@pytest.mark.parametrize("base", ALL_METHODS)
def test_smooth_motion_has_the_order_of_the_base(base):
    sizes = (24, 32, 40, 56) if base == "dop853" else (96, 128, 176, 256)
    fitted = orders(sizes, errors(problems.double_pendulum(t_end=2.0), sl.Splitting(base), sizes))
    assert np.all(fitted > table(base).order - 0.25)


@pytest.mark.parametrize("base", ALL_METHODS)
def test_lasting_contact_with_friction_has_the_order_of_the_base(base):
    sizes = {"dop853": (4, 5, 6, 7), "radau5": (6, 8, 11, 14)}.get(base, (16, 24, 32, 48))
    problem = problems.circle_slide(mu=0.1)
    fitted = orders(sizes, errors(problem, sl.Splitting(base), sizes))
    assert len(fitted) == 3
    assert np.all(fitted > table(base).order - 0.25)


@pytest.mark.parametrize("base", ["rk4", "rkf45", "radau5"])
def test_joints_are_held_with_the_order_of_the_base(base):
    problem, sizes = problems.rod_pendulum(), (64, 96, 128, 192)
    fitted = orders(sizes, errors(problem, sl.Splitting(base), sizes))
    assert np.all(fitted[:2] > table(base).order - 0.25)
    assert sl.solve(problem, scheme=sl.Splitting(base), h=0.02).end_violation.max() < 1e-13


@pytest.mark.parametrize(("base", "order"), [("rk4", 4), ("rkf45", 4), ("dop853", 7), ("radau5", 4)])
def test_motion_between_the_nodes_is_as_good_as_the_dense_output(base, order):
    problem, times = problems.rod_pendulum(), np.linspace(0.0, 2.0, 331)[1:-1]
    sizes = (12, 16, 20, 24) if base == "dop853" else (64, 96, 128, 192)
    rows = [sl.solve(problem, scheme=sl.Splitting(base), h=2.0 / n)(times) for n in sizes]
    worst = [[np.abs(x.q - problem.exact.q(times)).max(), np.abs(x.v - problem.exact.v(times)).max()] for x in rows]
    assert np.all(orders(sizes, worst) > order - 0.3)


def test_without_contact_forces_lasting_contact_is_of_order_one():
    problem, sizes = problems.circle_slide(mu=0.1), (40, 80, 160, 320)
    fitted = orders(sizes, errors(problem, sl.Splitting(contact_forces=False), sizes))
    assert np.all(fitted > 0.75)
    assert np.all(fitted < 1.25)


# ---- rest, accumulation, friction


@pytest.mark.parametrize("contact_forces", [True, False])
@pytest.mark.parametrize("e", [0.0, 0.5, 0.9])
def test_a_ball_comes_to_rest_on_the_floor(e, contact_forces):
    sol = sl.solve(problems.zeno_ball(e=e), (0.0, 30.0), scheme=sl.Splitting(contact_forces=contact_forces), h=0.004)
    resting = sol.t > 25.0
    assert np.abs(sol.q[resting]).max() < 1e-13
    assert np.abs(sol.v[resting]).max() < 1e-13
    np.testing.assert_allclose(sol.impulse[resting[1:], 0], 2.0 * np.diff(sol.t)[resting[1:]], rtol=1e-9)
    # the floor pushes all the time, not in blows
    middle = np.linspace(26.0, 29.0, 77)
    np.testing.assert_allclose(sol.force_at(middle)[:, 0], 2.0, rtol=1e-9)
    np.testing.assert_allclose(np.diff(sol.impulse_at(middle)[:, 0]), 2.0 * np.diff(middle), rtol=1e-8)


@pytest.mark.parametrize("contact_forces", [True, False])
def test_accumulating_impacts_of_the_oscillator_end_in_rest(contact_forces):
    problem = problems.zeno_oscillator()
    sol = sl.solve(problem, scheme=sl.Splitting(contact_forces=contact_forces), h=8.0 / 2003)
    assert abs(sol.q[-1, 0]) < 1e-13
    assert sol.v[-1, 0] == pytest.approx(0.0, abs=1e-13)
    assert len(sol.events) < 40
    assert np.mean(np.abs(sol.q - problem.exact.q(sol.t))) < 2e-3


def test_the_law_left_reflects_every_approach():
    sol = sl.solve(problems.zeno_ball(), scheme=sl.Splitting(impact="left"), h=0.01)
    impacts = sol.events[sol.events["kind"] == "impact"]
    np.testing.assert_allclose(impacts["u_plus"][:, 0], -0.5 * impacts["u_minus"][:, 0], rtol=1e-12)


@pytest.mark.parametrize("contact_forces", [True, False])
def test_a_slip_reverses_and_stops_where_it_should(contact_forces):
    problem = problems.coulomb_oscillator()
    sol = sl.solve(problem, scheme=sl.Splitting(contact_forces=contact_forces), h=18.0 / 8000)
    assert sol.q[-1, 0] == pytest.approx(problem.exact.q(18.0)[0], abs=2e-3)
    assert sol.v[-1, 0] == pytest.approx(0.0, abs=1e-13)
    assert np.abs(sol.energy.defect).max() < 1e-11
    assert np.all(sol.impulse[:, 0] >= 0.0)
    assert np.all(np.abs(sol.impulse[:, 1]) <= 0.15 * sol.impulse[:, 0] * (1.0 + 1e-9) + 1e-15)


def test_reversals_of_a_slip_cost_little():
    sizes, offsets = (801, 1607, 3209), (0, 17, 34, 51, 68, 85)
    table_ = errors(problems.coulomb_oscillator(), sl.Splitting(), sizes, offsets)
    assert np.all(orders(sizes, table_[:, :2]) > 1.4)
    assert np.all(table_[-1, :2] < 1e-5)


@pytest.mark.parametrize("contact_forces", [True, False])
def test_the_slider_of_the_crank_moves_as_moreau_and_jean_say(contact_forces):
    problem, apart = problems.slider_crank(t_end=0.02), []
    for h in (4e-5, 1e-5):
        sol = sl.solve(problem, scheme=sl.Splitting(contact_forces=contact_forces), h=h)
        other = sl.solve(problem, scheme=sl.MoreauJean(), h=h)
        apart.append(np.abs(sol.q - other.q).max())
    assert apart[1] < 0.4 * apart[0]  # both are of order one
    assert apart[1] < 1e-4
    assert sol.events["t"][0] == pytest.approx(other.events["t"][0], abs=2e-5)


@pytest.mark.parametrize("contact_forces", [True, False])
def test_a_tumbling_box_ends_at_rest_on_a_face(contact_forces):
    sol = sl.solve(problems.tumbling_box(), scheme=sl.Splitting(contact_forces=contact_forces), h=1e-3)
    assert np.abs(sol.v[-1]).max() < 1e-9
    assert sol.gaps().min(axis=1)[-1] > -1e-9
    np.testing.assert_allclose(np.linalg.norm(sol.q[:, 3:], axis=1), 1.0, rtol=1e-13)
    assert np.abs(sol.energy.defect).max() < 1e-4 * sol.energy.kinetic.max()


def test_painleve_is_left_to_the_impulse():
    sol = sl.solve(problems.painleve_rod(), scheme=sl.Splitting(), h=1e-3)
    kinds = sol.events["kind"].tolist()
    assert kinds.count("painleve") == 1
    assert kinds.count("impact") == 1


# ---- record


@pytest.mark.parametrize("contact_forces", [True, False])
def test_velocity_and_impulse_agree_on_both_sides_of_every_node(contact_forces):
    sol = sl.solve(problems.zeno_ball(), scheme=sl.Splitting(contact_forces=contact_forces), h=4.0 / 401)
    np.testing.assert_allclose(sol.v_minus[:, 0] + 2.0 * sol.t, sol.impulse_at(sol.t, side="-")[:, 0], atol=1e-12)
    np.testing.assert_allclose(sol.v[:, 0] + 2.0 * sol.t, sol.impulse_at(sol.t)[:, 0], atol=1e-12)
    assert np.abs(sol.energy.defect).max() < 1e-13


# ---- tolerances

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
STRUCK = {
    "zeno_ball": problems.zeno_ball(),
    "impact_oscillator": problems.impact_oscillator(),
    "zeno_oscillator": problems.zeno_oscillator(),
    "slider_crank": problems.slider_crank(t_end=0.02),
}


@functools.cache
def reference(name: str) -> sl.Solution | None:
    """Return what is known of a motion: None where it is exact."""
    return sl.solve(STRUCK[name], scheme=sl.EventDriven(), tol=1e-12) if STRUCK[name].exact is None else None


@functools.cache
def followed(name: str, scheme: sl.Splitting) -> tuple[np.ndarray, np.ndarray]:
    """Return the L1 errors of q and v over the dense output (tolerances, 2), and the evaluations of the force."""
    runs = [sl.solve(STRUCK[name], scheme=scheme, tol=tol) for tol in TOLERANCES]
    errors = [[study.error(run, reference(name), quantity) for quantity in "qv"] for run in runs]
    return np.array(errors), np.array([run.work["f"] for run in runs])


def slopes(table: np.ndarray) -> np.ndarray:
    return np.polyfit(np.log(TOLERANCES), np.log(table), 1)[0]


@pytest.mark.parametrize("base", ["rkf45", "dopri5", "dop853"])
@pytest.mark.parametrize("name", STRUCK)
def test_the_error_falls_with_the_tolerance_through_located_impacts(name, base):
    errors, _ = followed(name, sl.Splitting(base))
    assert np.all(slopes(errors) > 0.8)
    scale = STRUCK[name].t_span[1] * np.array([1.0, 150.0 if name == "slider_crank" else 2.0])
    assert np.all(errors <= 30.0 * np.array(TOLERANCES)[:, None] * scale)


@pytest.mark.parametrize("name", STRUCK)
def test_the_work_of_located_impacts_stays_bounded(name):
    _, evaluations = followed(name, sl.Splitting())
    assert np.all(evaluations < 1000)  # four decades, accumulations of impacts and lasting contact among them
    assert evaluations[-1] < 10 * evaluations[0]


def test_a_rocking_box_comes_to_rest_with_bounded_work():
    sol = sl.solve(problems.tumbling_box(), scheme=sl.Splitting(), tol=1e-6)
    assert sol.work["f"] < 10_000
    assert np.abs(sol.v[-1]).max() < 1e-9
    assert sol.violation.max() < 1e-6


@pytest.mark.parametrize("name", ["zeno_ball", "impact_oscillator", "zeno_oscillator"])
def test_impacts_met_by_penetration_follow_the_tolerance_too(name):
    errors, evaluations = followed(name, sl.Splitting(location="penetration"))
    assert np.all(slopes(errors) > 0.8)
    assert np.all(evaluations < 2000)
    assert np.all(evaluations > followed(name, sl.Splitting())[1])  # halving costs more than locating


@pytest.mark.parametrize("name", ["zeno_ball", "zeno_oscillator"])
def test_without_contact_forces_the_work_of_rest_explodes_with_the_root_of_the_tolerance(name):
    # every step at rest falls freely by h^2 a / 2, which must not be more than the tolerance
    tols, evaluations = (1e-6, 1e-7, 1e-8), []
    for tol in tols:
        evaluations.append(sl.solve(STRUCK[name], scheme=sl.Splitting(contact_forces=False), tol=tol).work["f"])
    assert np.polyfit(np.log(tols), np.log(evaluations), 1)[0] == pytest.approx(-0.5, abs=0.05)
    assert evaluations[0] > 10 * followed(name, sl.Splitting())[1][-1]


def test_a_step_with_penetration_is_no_deeper_than_the_tolerance():
    for tol in (1e-3, 1e-5):
        sol = sl.solve(STRUCK["impact_oscillator"], scheme=sl.Splitting(location="penetration"), tol=tol)
        impacts = np.isin(sol.t, sol.events["t"][sol.events["kind"] == "impact"])
        assert impacts.any()
        assert sol.gaps()[impacts].min() > -tol * (1.0 + np.abs(sol.q).max())
        assert np.all(sol.gaps()[impacts] <= 1e-10)  # never early


@pytest.mark.parametrize("base", ["rkf45", "dopri5", "dop853", "radau5"])
def test_tolerances_are_met_in_smooth_motion(base):
    problem, steps = problems.double_pendulum(t_end=2.0), []
    for tol in (1e-5, 1e-7, 1e-9):
        sol = sl.solve(problem, scheme=sl.Splitting(base), tol=tol)
        assert np.abs(sol.q[-1] - problem.exact.q(2.0)).max() < 3.0 * tol
        assert sol.step_error.max() <= 1.0
        steps.append(len(sol.t))
    assert steps[0] < steps[1] < steps[2]


@pytest.mark.parametrize("contact_forces", [True, False])
def test_a_force_that_jumps_at_a_break_is_seen_at_once(contact_forces):
    def force(t, q, v):
        return [np.where(t < 1.0, -q[0], 500.0 - 900.0 * q[0])]

    def exact(t):
        q, v, rest = np.cos(1.0), -np.sin(1.0), 500.0 / 900.0
        return rest + (q - rest) * np.cos(30.0 * (t - 1.0)) + v / 30.0 * np.sin(30.0 * (t - 1.0))

    scheme = sl.Splitting("dopri5", contact_forces=contact_forces)
    sol = sl.solve(sl.System(M=1.0, f=force), (0.0, 3.0), 1.0, 0.0, scheme=scheme, tol=1e-7, breaks=[1.0])
    assert sol.q[-1, 0] == pytest.approx(exact(3.0), abs=1e-6)
    after = sol.t[1:][sol.t[:-1] >= 1.0]
    assert after[0] - 1.0 > 1e-3  # the first step is refused, but not for what was before the break


def test_located_impacts_come_with_events_of_the_user():
    problem = STRUCK["impact_oscillator"]
    half = sl.Event(lambda t, q, v: q[0] - 0.5, name="half")
    sol = sl.solve(problem, scheme=sl.Splitting(), tol=1e-8, events=half)
    times = sol.events["t"][sol.events["kind"] == "event"]
    assert len(times) > 5
    np.testing.assert_allclose(problem.exact.q(times)[:, 0], 0.5, atol=1e-6)
    for scheme, options in ((sl.Splitting(), {"h": 0.01}), (sl.Splitting(location="penetration"), {"tol": 1e-6})):
        with pytest.raises(SettingError, match="does not locate events"):
            sl.solve(problem, scheme=scheme, events=half, **options)


def test_one_tolerance_brings_the_other_along():
    assert sl.Splitting().with_tolerance(1e-5, None) == sl.Splitting(rtol=1e-5, atol=1e-5)
    assert sl.Splitting(rtol=1e-3, atol=1e-4).with_tolerance(1e-5, None) == sl.Splitting(rtol=1e-5, atol=1e-4)
    assert sl.Splitting().with_tolerance(None, 1e-6).control() == Adaptive()
    assert sl.Splitting().control() == Fixed()


def test_without_tolerance_the_step_size_is_asked_for():
    with pytest.raises(SettingError, match="h is missing: splitting rkf45 needs a step size"):
        sl.solve(problems.zeno_ball(), scheme=sl.Splitting())


# ---- settings


def test_step_doubling_wraps_a_base_without_estimate():
    sol = sl.solve(problems.zeno_ball(), scheme=sl.StepDoubling(sl.Splitting("rk4")), h=0.01)
    assert sol.q[-1, 0] == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "rk45"}, "base of Splitting is 'rk45'"),
        ({"impact": "previous"}, "impact of Splitting is 'previous'"),
        ({"contact_forces": 1}, "contact_forces of Splitting is 1"),
        ({"rtol": 0.0, "atol": 1e-6}, "rtol of Splitting is 0.0"),
        ({"atol": True, "rtol": 1e-6}, "atol of Splitting is True"),
        ({"rtol": 1e-6}, "atol of Splitting is missing: give both"),
        ({"location": "gap"}, "location of Splitting is 'gap': it must be 'time' or 'penetration'"),
        ({"location": "time", "contact_forces": False}, "take contact_forces=True or location='penetration'"),
        ({"rtol": 1e-6, "atol": 1e-6, "impact": "left"}, "impact of Splitting is 'left', which .* location='penetrat"),
        ({"rtol": 1e-6, "atol": 1e-6, "projection": False}, "projection of Splitting is False, which"),
        ({"base": "radau5", "rtol": 1e-6, "atol": 1e-6, "location": "penetration"}, "radau5 estimates no error"),
        ({"projection": 2}, "projection of Splitting is 2"),
        ({"closed_tolerance": -1.0}, "closed_tolerance of Splitting is -1.0"),
        ({"solver": sl.Lemke}, "with brackets"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(SettingError, match=message):
        sl.Splitting(**settings)


def test_a_tolerance_for_a_base_without_estimate_is_refused():
    with pytest.raises(SettingError, match=r"rk4 estimates no error: take base = 'rkf45', .*StepDoubling"):
        sl.solve(problems.zeno_ball(), scheme=sl.Splitting("rk4"), h=0.01, tol=1e-6)


@pytest.mark.parametrize("wrapper", [sl.StepDoubling, sl.Extrapolated])
def test_a_scheme_that_chooses_its_steps_is_wrapped_by_none(wrapper):
    with pytest.raises(SettingError, match="Splitting"):
        wrapper(sl.Splitting(rtol=1e-6, atol=1e-6))
