"""Splitting: packed Runge-Kutta methods, orders, impacts at frozen positions, records."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems
from saltus.control import Adaptive
from saltus.errors import SettingError
from saltus.stages.packed_methods import EXPLICIT, IMPLICIT, METHODS, packed_implicit, packed_method
from saltus.stages.runge_kutta import table
from saltus.stages.smooth_step import ERROR_ORDER, HEAD, NODES, STAGES, STEP_STAGES, packed_pair
from saltus.stages.tableau import END, FIRST, VECTORS, node_places, place

ROUND_OFF = 2e-14
PLACES = node_places(NODES - 1, "lobatto")


def unpacked(name):
    """Return c, A, error weights, weights and slopes of the dense output."""
    packed = packed_method(name)
    n = int(packed[STAGES])
    sizes = [n, n * n, 2 * n, NODES * n, NODES * n]
    assert len(packed) == HEAD + sum(sizes)
    c, A, errors, weights, slopes = np.split(packed[HEAD:], np.cumsum(sizes)[:-1])
    return c, A.reshape(n, n), errors.reshape(2, n), weights.reshape(NODES, n), slopes.reshape(NODES, n)


# ---- methods as kernels see them


@pytest.mark.parametrize("name", METHODS)
def test_the_dense_output_of_a_packed_method_ends_in_its_weights(name):
    c, A, _, weights, slopes = unpacked(name)
    b = np.zeros(len(c))
    b[: table(name).stages] = table(name).b
    assert np.abs(weights[-1] - b).max() < ROUND_OFF * max(1.0, np.abs(b).max())
    assert np.abs(weights[0]).max() == 0.0
    assert np.abs(weights.sum(axis=1) - PLACES).max() < 20 * ROUND_OFF
    assert np.abs(slopes.sum(axis=1) - 1.0).max() < 100 * ROUND_OFF
    assert np.abs(A.sum(axis=1) - c).max() < ROUND_OFF


@pytest.mark.parametrize("name", METHODS)
def test_the_last_stage_of_a_step_is_its_result(name):
    c, A, *_ = unpacked(name)
    last = int(packed_method(name)[STEP_STAGES]) - 1
    stages = table(name).stages
    assert c[last] == 1.0
    assert np.array_equal(A[last, :stages], table(name).b)
    assert np.all(A[last, stages:] == 0.0)


@pytest.mark.parametrize("name", METHODS)
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


@pytest.mark.parametrize("name", METHODS)
def test_error_weights_are_those_of_the_embedded_method(name):
    _, _, errors, *_ = unpacked(name)
    order = packed_method(name)[ERROR_ORDER]
    if name not in ("rkf45", "dopri5", "dop853"):
        assert np.all(errors == 0.0)
        assert order == (4 if name == "radau5" else table(name).order)
        return
    known = table(name)
    assert np.array_equal(errors[: len(known.error), : known.stages], known.error)
    assert np.abs(errors.sum(axis=1)).max() < ROUND_OFF
    assert order == known.error_order[0] + 1


@pytest.mark.parametrize("name", ["dopri5", "dop853", "radau5"])
def test_methods_of_event_driven_are_packed_as_there(name):
    assert np.array_equal(packed_method(name), packed_pair(name))


@pytest.mark.parametrize("name", IMPLICIT)
def test_implicit_methods_are_packed_for_the_stage_equations(name):
    packed, known = packed_implicit(name), table(name)
    n = known.stages
    assert packed[1] == n
    assert packed[END] == n
    assert packed[FIRST] == (1 if name == "lobatto3a" else 0)
    c, b, share = packed[VECTORS : VECTORS + 3 * n].reshape(3, n)
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
    assert set(METHODS) == set(EXPLICIT) | set(IMPLICIT)


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


@pytest.mark.parametrize("base", METHODS)
def test_smooth_motion_has_the_order_of_the_base(base):
    sizes = (24, 32, 40, 56) if base == "dop853" else (96, 128, 176, 256)
    fitted = orders(sizes, errors(problems.double_pendulum(t_end=2.0), sl.Splitting(base), sizes))
    assert np.all(fitted > table(base).order - 0.25)


@pytest.mark.parametrize("base", METHODS)
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
    assert sl.solve(problem, scheme=sl.Splitting(base), h=0.02).violation.max() < 1e-13


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


# ---- record, tolerances, settings


@pytest.mark.parametrize("contact_forces", [True, False])
def test_velocity_and_impulse_agree_on_both_sides_of_every_node(contact_forces):
    sol = sl.solve(problems.zeno_ball(), scheme=sl.Splitting(contact_forces=contact_forces), h=4.0 / 401)
    np.testing.assert_allclose(sol.v_minus[:, 0] + 2.0 * sol.t, sol.impulse_at(sol.t, side="-")[:, 0], atol=1e-12)
    np.testing.assert_allclose(sol.v[:, 0] + 2.0 * sol.t, sol.impulse_at(sol.t)[:, 0], atol=1e-12)
    assert np.abs(sol.energy.defect).max() < 1e-13


@pytest.mark.parametrize("base", ["rkf45", "dopri5", "dop853"])
def test_an_adaptive_control_meets_the_tolerance_in_smooth_motion(base):
    problem, steps = problems.double_pendulum(t_end=2.0), []
    for tol in (1e-5, 1e-7, 1e-9):
        sol = sl.solve(problem, scheme=sl.Splitting(base), h=1e-3, tol=tol, control=Adaptive())
        assert np.abs(sol.q[-1] - problem.exact.q(2.0)).max() < 30.0 * tol
        assert sol.step_error.max() <= 1.0
        steps.append(len(sol.t))
    assert steps[0] < steps[1] < steps[2]


def test_an_adaptive_control_runs_through_impacts():
    problem = problems.impact_oscillator(t_end=8.0)
    sol = sl.solve(problem, scheme=sl.Splitting(), h=1e-3, tol=1e-6, control=Adaptive(h_max=0.01, order=5))
    assert np.mean(np.abs(sol.q - problem.exact.q(sol.t))) < 0.05


def test_step_doubling_wraps_a_base_without_estimate():
    sol = sl.solve(problems.zeno_ball(), scheme=sl.StepDoubling(sl.Splitting("rk4")), h=0.01)
    assert sol.q[-1, 0] == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "rk45"}, "base of Splitting is 'rk45'"),
        ({"impact": "previous"}, "impact of Splitting is 'previous'"),
        ({"contact_forces": 1}, "contact_forces of Splitting is 1"),
        ({"rtol": 0.0}, "rtol of Splitting is 0.0"),
        ({"atol": True}, "atol of Splitting is True"),
        ({"projection": 2}, "projection of Splitting is 2"),
        ({"closed_tolerance": -1.0}, "closed_tolerance of Splitting is -1.0"),
        ({"solver": sl.Lemke}, "with brackets"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(SettingError, match=message):
        sl.Splitting(**settings)


def test_a_tolerance_for_a_base_without_estimate_is_refused():
    with pytest.raises(SettingError, match="rk4 estimates no error"):
        sl.solve(problems.zeno_ball(), scheme=sl.Splitting("rk4"), h=0.01, tol=1e-6)
