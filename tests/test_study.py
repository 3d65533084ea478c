"""Studies: norms, filled-in graphs, orders of convergence and local errors against exact results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saltus as sl
from saltus import problems, study
from saltus.errors import SettingError
from saltus.study.curve import curve

ROUNDING = 1e-12


def free_fall(t_end: float = 2.0) -> sl.Problem:
    """A ball too high to reach the floor: Moreau-Jean with theta = 1/2 is exact."""
    return problems.zeno_ball(q0=1e3, t_end=t_end)


# ---- values between the grid points


@pytest.mark.parametrize("problem", [problems.zeno_ball(), problems.sliding_block(), problems.spinning_top(t_end=0.05)])
@pytest.mark.parametrize("side", ["+", "-"])
def test_a_curve_is_what_the_solution_says_one_time_after_the_other(problem, side):
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=problem.t_span[1] / 97.3)
    inside = np.sort(np.random.default_rng(3).uniform(*problem.t_span, 200))
    t = np.sort(np.concatenate([inside, sol.t]))
    for quantity in ("q", "v"):
        made = curve(sol, quantity)
        values = made.right(t) if side == "+" else made.left(t)
        np.testing.assert_allclose(values, getattr(sol(t, side=side), quantity), atol=1e-14)
    if sol.rows and side == "+":
        np.testing.assert_allclose(curve(sol, "impulse").right(t), sol.impulse_at(t), atol=1e-13)


def test_a_curve_of_an_adaptive_scheme_is_evaluated_too():
    problem = problems.impact_oscillator(t_end=3.0)
    sol = sl.solve(problem, scheme=sl.StepDoubling(sl.MoreauJean(theta=1.0)), h=0.01)
    t = np.linspace(0.0, 3.0, 50)
    np.testing.assert_array_equal(curve(sol, "v").right(t), sol(t).v)
    assert study.error(sol, quantity="q") < 0.1


# ---- norms


@pytest.mark.parametrize("where", ["dense", "grid"])
def test_an_exact_run_has_no_error_in_any_norm(where):
    sol = sl.solve(free_fall(), scheme=sl.MoreauJean(), h=0.123)
    for quantity in ("q", "v", "impulse"):
        assert max(study.errors(sol, quantity=quantity, where=where).values()) <= ROUNDING * 1e3


def test_norms_of_a_shifted_velocity_are_those_of_the_shift():
    problem = free_fall()
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=0.123)
    moved = sl.Exact(problem.exact.q, lambda t: problem.exact.v(t) + 3.0)
    made = study.errors(sol, moved, "v")
    assert made == pytest.approx({"L1": 6.0, "L2": 3.0 * np.sqrt(2.0), "Linf": 3.0}, abs=1e-11)


def test_a_jump_inside_of_a_step_is_integrated_exactly():
    problem = free_fall(t_end=1.0)
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=0.5)
    jump = 0.3125
    late = sl.Exact(problem.exact.q, lambda t: problem.exact.v(t) + (np.asarray(t) >= jump)[..., None], jumps=[jump])
    made = study.errors(sol, late, "v")
    assert made == pytest.approx({"L1": 1.0 - jump, "L2": np.sqrt(1.0 - jump), "Linf": 1.0}, abs=1e-12)


def test_grid_norms_are_the_sums_of_the_lecture():
    problem = problems.zeno_ball()
    h = 0.0371
    sol = sl.solve(problem, (0.0, 100 * h), scheme=sl.MoreauJean(), h=h)
    distance = np.abs(sol.v - problem.exact.v(sol.t))[:, 0]
    made = study.errors(sol, quantity="v", where="grid")
    assert made["L1"] == pytest.approx(h * distance.sum(), rel=1e-12)
    assert made["L2"] == pytest.approx(np.sqrt(h * (distance**2).sum()), rel=1e-12)
    assert made["Linf"] == distance.max()


def test_a_fine_run_serves_as_reference():
    problem = problems.impact_oscillator(t_end=5.0)
    coarse, fine = (sl.solve(problem, scheme=sl.MoreauJean(), h=h) for h in (0.0123, 1.7e-5))
    against_fine, against_exact = (study.error(coarse, other, "v") for other in (fine, problem.exact))
    assert against_fine == pytest.approx(against_exact, rel=0.02)
    assert study.error(fine, fine, "v") == 0.0
    with pytest.raises(SettingError, match="must cover"):
        study.error(coarse, sl.solve(problem, (0.0, 4.0), scheme=sl.MoreauJean(), h=0.01), "v")


def test_norms_of_a_hundred_thousand_steps():
    sol = sl.solve(problems.zeno_ball(), scheme=sl.MoreauJean(), h=4e-5)
    assert study.error(sol, quantity="v") < 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantity": "x"}, "quantity is 'x'"),
        ({"norms": ["L3"]}, "norm is 'L3'"),
        ({"where": "here"}, "where is 'here'"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    sol = sl.solve(free_fall(), scheme=sl.MoreauJean(), h=0.5)
    with pytest.raises(SettingError, match=message):
        study.errors(sol, **options)


# ---- filled-in graphs


def brute_force(t, x, s, y, parts: int = 60) -> tuple[float, float]:
    """Return the distance from points on all edges to all edges, and how far it can lie below the true one."""

    def points(t, x):
        share = np.linspace(0.0, 1.0, parts + 1)
        return np.concatenate([np.column_stack([t, x])] + [
            np.column_stack([t[k] + share * (t[k + 1] - t[k]), x[k] + share * (x[k + 1] - x[k])])
            for k in range(len(t) - 1)
        ])  # fmt: skip

    def excess(first, second):
        # along an edge the distance is convex: golden section on all pairs at once
        p = points(*first)[:, None, :]
        edges = np.column_stack(second)
        a, b = (edges, edges) if len(edges) == 1 else (edges[:-1], edges[1:])
        low, high = np.zeros((len(p), len(a))), np.ones((len(p), len(a)))

        def at(share):
            return np.abs(a + share[..., None] * (b - a) - p).max(axis=-1)

        for _ in range(60):
            third = (high - low) / 3.0
            left = at(low + third) <= at(high - third)
            low, high = np.where(left, low, low + third), np.where(left, high - third, high)
        return np.minimum(at(low), np.minimum(at(np.zeros_like(low)), at(np.ones_like(low)))).min(axis=1).max()

    spacing = max(np.abs(np.diff(part)).max(initial=0.0) for part in (t, x, s, y)) / parts / 2.0
    return max(excess((t, x), (s, y)), excess((s, y), (t, x))), spacing


coarse = st.integers(-8, 8).map(lambda n: n / 4.0)
number = st.one_of(coarse, st.floats(-2.0, 2.0, allow_subnormal=False).map(lambda x: round(x, 6)))
polyline = st.lists(st.tuples(number, number), min_size=1, max_size=7).map(
    lambda points: tuple(np.array(part) for part in zip(*sorted(points, key=lambda p: p[0]), strict=True))
)


@settings(max_examples=150, deadline=None)
@given(polyline, polyline)
def test_hausdorff_distance_equals_brute_force(first, second):
    made = study.hausdorff_polylines(*first, *second)
    brute, spacing = brute_force(*first, *second)
    assert brute - 1e-9 <= made <= brute + spacing + 1e-9


@settings(max_examples=50, deadline=None)
@given(polyline, polyline)
def test_hausdorff_distance_is_symmetric_and_zero_only_to_itself(first, second):
    there, back = study.hausdorff_polylines(*first, *second), study.hausdorff_polylines(*second, *first)
    assert there == pytest.approx(back, rel=1e-10, abs=1e-12)  # the distance is found to ten digits
    assert study.hausdorff_polylines(*first, *first) == 0.0


def test_a_jump_at_another_time_is_as_far_away_as_the_times():
    t, x = [0.0, 1.0, 1.0, 3.0], [0.0, 0.0, 5.0, 5.0]
    s, y = [0.0, 1.125, 1.125, 3.0], [0.0, 0.0, 5.0, 5.0]
    assert study.hausdorff_polylines(t, x, s, y) == pytest.approx(0.125, abs=1e-13)


def test_a_peak_over_the_middle_of_an_edge_is_seen():
    flat = [0.0, 1.0], [0.0, 0.0]
    assert study.hausdorff_polylines(*flat, [0.0, 0.5, 1.0], [0.0, 1.0, 0.0]) == pytest.approx(1.0, abs=1e-12)
    spike = [0.0, 0.5, 0.5, 0.5, 1.0], [0.0, 0.0, 1.0, 0.0, 0.0]
    assert study.hausdorff_polylines(*flat, *spike) == pytest.approx(1.0, abs=1e-12)


def test_the_middle_of_an_edge_can_be_the_farthest_point():
    # corners touch the walls of the valley; the middle of the lid is 2 from both of them, the floor is 5 below
    lid = [0.0, 4.0], [0.0, 0.0]
    valley = [0.0, 0.0, 4.0, 4.0], [0.0, -5.0, -5.0, 0.0]
    up = study.hausdorff_polylines(*lid, *valley)
    assert up == pytest.approx(5.0, abs=1e-9)
    # with the floor also in the first graph only the way from the lid to the walls is left
    both = [0.0, 0.0, 4.0, 4.0, 4.0], [0.0, -5.0, -5.0, 0.0, 0.0]
    closed = [0.0, 0.0, 0.0, 4.0, 4.0, 4.0], [0.0, -5.0, 0.0, 0.0, -5.0, 0.0]
    assert study.hausdorff_polylines(*closed, *both) == pytest.approx(2.0, abs=1e-9)


def test_a_million_points_are_compared():
    t = np.linspace(0.0, 10.0, 1_000_000)
    x, y = -np.mod(7.0 * t, 1.3), -np.mod(7.0 * (t + 1e-3 * np.sin(t)), 1.3)
    study.hausdorff_polylines([0.0], [0.0], [0.0], [0.0])  # compiles
    made = study.hausdorff_polylines(t, x, t, y)
    assert 1e-3 <= made <= 7e-3


def test_filled_in_graph_of_a_run_contains_its_jumps():
    problem = problems.zeno_ball()
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=0.01377)
    assert study.error(sol, quantity="v", norm="Linf") > 2.9
    assert study.hausdorff(sol, quantity="v") < 4 * 0.01377
    assert study.hausdorff(sol, sol, "v") == 0.0
    # a velocity that counts little leaves the shift in time
    assert study.hausdorff(sol, quantity="v", scale=1e6) < 1e-5


def test_a_polyline_with_decreasing_times_is_refused():
    with pytest.raises(SettingError, match="decrease after entry 0"):
        study.hausdorff_polylines([1.0, 0.0], [0.0, 0.0], [0.0], [0.0])


# ---- orders of convergence

ALL_NORMS = ("L1", "L2", "Linf", "hausdorff")


@pytest.fixture(scope="module", params=["zeno_ball", "impact_oscillator"])
def table(request) -> study.Convergence:
    problem = getattr(problems, request.param)()
    h = problem.t_span[1] / 250.0
    return study.convergence(problem, sl.MoreauJean(theta=0.5), h=h, levels=6, grids=8, norms=ALL_NORMS)


def test_moreau_jean_is_of_order_one_in_l1_through_impacts(table):
    for quantity in ("q", "v"):
        assert 0.75 <= table.order("MoreauJean()", quantity, "L1") <= 1.25


def test_the_velocity_converges_with_the_square_root_of_h_in_l2(table):
    assert 0.35 <= table.order(sl.MoreauJean(theta=0.5), "v", "L2") <= 0.75


def test_the_velocity_does_not_converge_in_the_maximum_norm(table):
    mean = table.mean("MoreauJean()", "v", "Linf")
    assert mean[-1] > 0.5 * mean[0]
    assert abs(table.order("MoreauJean()", "v", "Linf")) < 0.2


def test_the_filled_in_graph_of_the_velocity_converges_with_h(table):
    assert 0.7 <= table.order("MoreauJean()", "v", "hausdorff") <= 1.3


def test_smooth_motion_shows_order_two():
    problem = problems.impact_oscillator(wall=-2.0, t_end=5.0)
    schemes = {"trapezoid": sl.MoreauJean(), "implicit": sl.MoreauJean(theta=1.0)}
    made = study.convergence(problem, schemes, h=0.02, quantities=("q", "v"))
    assert made.order("trapezoid", "q") == pytest.approx(2.0, abs=0.1)
    assert made.order("implicit", "v") == pytest.approx(1.0, abs=0.1)
    assert made.constant("implicit", "v") > 0.0


def test_grids_of_a_level_have_irrational_ratios():
    problem = free_fall()
    made = study.convergence(problem, sl.MoreauJean(), h=0.1, levels=2, grids=6, quantities=("q",))
    assert made.h.shape == (2, 6)
    assert len(np.unique(made.h)) == 12
    ratio = made.h[0] / made.h[1]
    assert np.all(np.abs(ratio - np.round(ratio * 8) / 8) > 1e-4)
    assert np.all((made.h[0] > 0.08) & (made.h[0] < 0.125))


def test_a_table_writes_text_and_csv(table, tmp_path):
    text = str(table)
    assert "order" in text
    assert len(text.splitlines()) == 3 + len(table.errors)
    lines = table.to_csv(tmp_path / "table.csv").splitlines()
    assert len(lines) == 1 + len(table.errors) * table.h.size
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == table.to_csv()


def test_a_table_draws_a_panel_per_quantity_and_norm(tmp_path):
    pytest.importorskip("matplotlib")
    problem = problems.zeno_ball()
    made = study.convergence(problem, sl.MoreauJean(), h=0.016, levels=2, grids=2, norms=ALL_NORMS)
    figure = made.plot(path=tmp_path / "table.png")
    assert len(figure.axes) == 3 * len(ALL_NORMS)
    assert (tmp_path / "table.png").stat().st_size > 10_000


def test_a_table_says_what_it_has():
    made = study.convergence(free_fall(), sl.MoreauJean(), h=0.1, levels=2, grids=1, quantities=("q",))
    with pytest.raises(SettingError, match="no errors of MoreauJean\\(\\), v, L1"):
        made.order("MoreauJean()", "v")
    with pytest.raises(SettingError, match="called the same"):
        study.convergence(free_fall(), [sl.MoreauJean(), sl.MoreauJean()], h=0.1)


# ---- local errors, lecture eqs. (66), (67), (72)


def ball_before(h, sigma, v_k, f, e) -> sl.Problem:
    """The ball at the start of a step in which it hits the floor after sigma h."""
    q_k = -sigma * h * v_k - f * (sigma * h) ** 2 / 2.0
    return problems.zeno_ball(gravity=-f, e=e, q0=q_k, v0=v_k, t_end=2.0 * h)


@pytest.mark.parametrize("forecast", [True, False])
@pytest.mark.parametrize("theta", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize(("sigma", "e"), [(0.1, 0.5), (0.4, 0.9), (0.7, 0.5), (0.95, 0.3), (0.6, 1.0)])
def test_local_errors_of_the_ball_are_those_of_the_lecture(sigma, e, theta, forecast):
    h, v_k, f = 0.03, -2.0, -2.0
    # gamma = 1 looks ahead over the whole step and sees this impact, gamma = 0 sees only penetration
    scheme = sl.MoreauJean(theta=theta, gamma=1.0 if forecast else 0.0)
    made = study.local_error(ball_before(h, sigma, v_k, f, e), scheme, t=0.0, h=h)
    known = study.ball_local_error(h=h, sigma=sigma, v_k=v_k, f=f, e=e, theta=theta, forecast=forecast)
    assert (made.impulse[0] > 0.0) == forecast
    np.testing.assert_allclose(made.e_v, known.e_v, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(made.e_q, known.e_q, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(made.impulse, known.impulse, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize(("forecast", "order"), [(True, 1.0), (False, 0.0)])
def test_a_wrong_forecast_costs_the_local_order_of_the_velocity(forecast, order):
    sizes = 0.04 * 2.0 ** -np.arange(6)
    scheme = sl.MoreauJean(gamma=1.0 if forecast else 0.0)
    made = [study.local_error(ball_before(h, 0.3, -2.0, -2.0, 0.5), scheme, t=0.0, h=h) for h in sizes]
    e_v, e_q = (np.array([abs(getattr(x, name)[0]) for x in made]) for name in ("e_v", "e_q"))
    assert np.polyfit(np.log(sizes), np.log(e_v), 1)[0] == pytest.approx(order, abs=0.05)
    assert np.polyfit(np.log(sizes), np.log(e_q), 1)[0] == pytest.approx(1.0, abs=0.05)


def test_a_second_impact_within_the_step_is_refused():
    with pytest.raises(SettingError, match="back to the floor"):
        study.ball_local_error(h=1.0, sigma=0.5, v_k=-0.1, f=-2.0, e=0.1, theta=0.5, forecast=True)


def test_step_sizes_of_all_runs_are_taken_as_they_are():
    sizes = 2.0 / np.array([[101.5, 113.25], [203.5, 227.25]])
    made = study.convergence(problems.zeno_ball(t_end=2.0), sl.MoreauJean(), h=sizes, progress=False)
    np.testing.assert_array_equal(made.h, sizes)
    with pytest.raises(SettingError, match="an order needs two positive sizes"):
        study.convergence(problems.zeno_ball(), sl.MoreauJean(), h=sizes[:1], progress=False)
    with pytest.raises(SettingError, match="an order needs two positive sizes"):
        study.convergence(problems.zeno_ball(), sl.MoreauJean(), h=-sizes, progress=False)
