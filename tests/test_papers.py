"""What the papers say and only they ask for: their settings, their orders, their dense output, their step sizes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import saltus as sl
from plain import galerkin, richardson
from plain.model import SPEED, START, Model
from saltus import problems
from saltus.control import Richardson
from saltus.errors import SettingError
from test_plain import BOUNCING, STEPS, H, agree, problem

# ---- Algorithm 1.4


def end_errors(scheme, grids) -> list[float]:
    """Return errors of q and v at the end of a driven double pendulum, whose mass depends on q."""
    pendulum = problems.forced_double_pendulum(t_end=2.0)
    exact = sl.solve(pendulum, tol=1e-12)
    runs = [sl.solve(pendulum, scheme=scheme, h=2.0 / n) for n in grids]
    return [float(max(abs(run.q[-1] - exact.q[-1]).max(), abs(run.v[-1] - exact.v[-1]).max())) for run in runs]


@pytest.mark.parametrize("at, low, high", [("both", 1.9, 2.1), ("theta", 1.9, 2.1), ("end", 0.9, 1.3)])
def test_algorithm_1_4_is_of_order_two_where_both_forces_have_their_own_mass(at, low, high):
    grids = (50, 100, 200, 400)
    errors = end_errors(sl.MoreauJean(theta=0.5, at=at), grids)
    assert low < -np.polyfit(np.log(grids), np.log(errors), 1)[0] < high


def test_the_ledger_of_algorithm_1_4_is_of_order_two():
    pendulum = problems.forced_double_pendulum(t_end=2.0)
    runs = [sl.solve(pendulum, scheme=sl.MoreauJean(at="both"), h=2.0 / n) for n in (100, 400)]
    defects = [abs(run.energy.defect[-1]) for run in runs]
    assert defects[1] < defects[0] / 12.0


def test_algorithm_1_4_with_theta_one_is_degree_zero_of_d_plus_on_curved_walls():
    made = problem(Model())
    mine = sl.solve(made, scheme=sl.MoreauJean(theta=1.0, gamma=1.0, at="both", newton_tolerance=1e-14), h=H)
    theirs = sl.solve(made, scheme=sl.TDGPlus(0), h=H)
    first = np.flatnonzero(mine.impulse[:, 0])[0] + 1  # later on forecasts decide about other steps
    assert first > 20
    np.testing.assert_allclose(mine.v[: first + 1], theirs.v[: first + 1], rtol=0.0, atol=1e-11)


# ---- restitution by one W


@pytest.mark.parametrize(
    "scheme",
    [sl.TDGPlus(0), sl.TDGMinus(0), sl.TDGPlus(1, impact="previous"), sl.TDGPlus(2, impact="previous")],
    ids=["D0+", "D0-", "D1+", "D2+"],
)
def test_velocities_before_and_after_an_impact_belong_to_the_w_of_its_position(scheme):
    model = Model(rough=False, e=BOUNCING)
    sol = sl.solve(problem(model), scheme=dataclasses.replace(scheme, projection=False), h=0.02)
    struck = 0
    for k in range(len(sol.t) - 1):
        W = model.W(sol.q[k + 1])[::2]
        for c in np.flatnonzero(sol.impulse[k] > 0.0):
            before, after = W[c] @ sol.v[k], W[c] @ sol.v[k + 1]
            assert abs(after + model.e[c] * min(before, 0.0)) <= 1e-13 * (1.0 + abs(before))
            struck += 1
    assert struck >= 5


# ---- the schemes as published


@pytest.mark.parametrize("scheme", [sl.TDGMinus, sl.TDGPlus], ids=["minus", "plus"])
def test_the_published_scheme_is_that_of_the_paper(scheme):
    model, made = Model(e=BOUNCING), scheme.published(2)
    assert (made.activation, made.impact, made.projection, made.split) == ("stage", "left", False, False)
    agree(model, made, galerkin.run(model, 0.0, START, SPEED, H, STEPS, 2, scheme.family))
    assert scheme.published(2, impact="previous").impact == "previous"


@pytest.mark.parametrize("family", ["-", "+"])
def test_the_published_velocity_is_the_polynomial_through_the_stages(family):
    scheme = (sl.TDGMinus if family == "-" else sl.TDGPlus).published(2)
    sol = sl.solve(problem(Model(e=BOUNCING)), scheme=scheme, h=H)
    for k in (3, int(np.flatnonzero(sol.impulse[:, 0])[0])):  # without and with an impact
        times = sol.t[k] + H * np.array([0.0, 0.25, 0.5, 0.75, 1.0])
        inside, ends = sol(times[1:-1]), (sol(times[0], "+"), sol(times[-1], "-"))
        v = np.vstack([ends[0].v, inside.v, ends[1].v])
        # of degree 2: five values have no fourth difference; q is the integral, of degree 3
        assert abs(v[0] - 4.0 * v[1] + 6.0 * v[2] - 4.0 * v[3] + v[4]).max() < 1e-13
        q = np.vstack([ends[0].q, inside.q, ends[1].q])
        np.testing.assert_allclose(q[4] - q[0], H / 6.0 * (v[0] + 4.0 * v[2] + v[4]), rtol=0.0, atol=1e-15)
        np.testing.assert_allclose([q[0], q[4]], sol.q[k : k + 2], rtol=0.0, atol=1e-15)
        smooth = v[0] if family == "-" else v[4]  # where the interval begins, or ends, with the state itself
        np.testing.assert_allclose(smooth, sol.v[k if family == "-" else k + 1], rtol=0.0, atol=1e-14)


def test_degrees_that_the_published_velocity_cannot_tell_apart_are_refused():
    with pytest.raises(SettingError, match="degree 0 from those of degree 1"):
        sl.TDGMinus.published([0, 1])


def test_paolis_velocity_is_constant_in_a_step_where_asked_for():
    scheme, ball = sl.PaoliVelocity(between="constant"), problems.zeno_ball()
    sol, usual = sl.solve(ball, scheme=scheme, h=0.01), sl.solve(ball, scheme=sl.PaoliVelocity(), h=0.01)
    k = int(np.flatnonzero(sol.impulse[:, 0])[0])
    for time, side in ((sol.t[k] + 0.004, "+"), (sol.t[k], "+"), (sol.t[k + 1], "-")):
        assert sol(time, side).v == sol.v[k]
    assert sol(sol.t[k + 1]).v == sol.v[k + 1]
    np.testing.assert_array_equal(sol.q, usual.q)
    assert usual(sol.t[k + 1], "-").v != sol.v[k]
    with pytest.raises(SettingError, match="between of PaoliVelocity is 'cubic'"):
        sl.PaoliVelocity(between="cubic")


def test_schatzman_paoli_is_centred_by_default():
    pendulum = sl.System(M=1.0, f=lambda q: [-np.sin(q[0])])
    fine = sl.solve(pendulum, (0.0, 10.0), 1.5, 0.0, tol=1e-11)
    centred, middle = (
        abs(sl.solve(pendulum, (0.0, 10.0), 1.5, 0.0, scheme=scheme, h=0.01).q[-1] - fine.q[-1])
        for scheme in (sl.SchatzmanPaoli(), sl.SchatzmanPaoli(0.5))
    )
    assert sl.SchatzmanPaoli().theta == 0.0
    assert centred < 0.6 * middle


# ---- the rule of Moreau-Jean for loaded contacts


def test_a_loaded_contact_stays_closed_where_rounding_opens_its_gap():
    # far down a slope a gap is the difference of large numbers: its rounding is ten times closed_tolerance
    down = np.array([np.cos(0.3), -np.sin(0.3)])
    slope = sl.Contact(lambda q: np.sin(0.3) * q[0] + np.cos(0.3) * q[1], e=0.5, name="slope")
    block = sl.System(M=1.0, f=[0.0, -9.81], contacts=[slope])
    sol = sl.solve(block, (0.0, 5.0), 1e5 * down, 10.0 * down, scheme=sl.MoreauJean(), h=1e-2)
    gaps = np.sin(0.3) * sol.q[:, 0] + np.cos(0.3) * sol.q[:, 1]
    assert np.any(gaps > 2e-12)  # the forecast alone would let go there
    assert np.abs(gaps).max() < 1e-10
    assert np.all(sol.impulse[:, 0] > 0.0)
    assert not np.any(sol.events["kind"] == "release")
    np.testing.assert_allclose(sol.impulse.sum(), 5.0 * 9.81 * np.cos(0.3), rtol=1e-9)


# ---- (54) to (59)


@pytest.mark.parametrize("violation", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_richardson_without_smoothing_takes_the_steps_of_the_lecture(order, violation):
    ball = problems.zeno_ball(t_end=2.5)
    control = Richardson(order=order, horizon="step", impacts=False, violation=violation, smoothed=False)
    sol = sl.solve(ball, scheme=sl.MoreauJean(theta=1.0), tol=1e-3, h=0.01, control=control)
    times, q, rejected = richardson.run(order, violation, 1e-3, 0.01, 2.5)
    assert sol.work["rejected"] == rejected
    np.testing.assert_allclose(sol.t, times, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(sol.q[:, 0], q, rtol=0.0, atol=1e-11)


# ---- (76), and what AnyOrder achieves


@pytest.mark.parametrize("base, steps", [("heun", 401), ("rk4", 101)])
def test_the_windows_of_impacts_are_as_long_as_the_order_asks_for(base, steps):
    oscillator = problems.impact_oscillator(t_end=8.0)
    scheme, h = sl.AnyOrder(base, C=2.0), 8.0 / steps
    sol = sl.solve(oscillator, scheme=scheme, h=h)
    assert sol.windows.shape == (2, 2)
    np.testing.assert_allclose(np.diff(sol.windows)[:, 0], 2.0 * h ** (scheme.order + 1), rtol=1e-9)
    for begin, end in sol.windows:
        assert sol(begin).q[0] > -0.5 > sol(begin).q[0] + (end - begin) * sol(begin).v[0]  # it closes inside
    assert sl.solve(oscillator, scheme=sl.EventDriven(), tol=1e-6).windows.shape == (0, 2)


@pytest.mark.parametrize("base", ["dopri5", "dop853"])
@pytest.mark.parametrize("name", ["zeno_ball", "impact_oscillator", "coulomb_oscillator"])
def test_any_order_errs_by_less_than_its_tolerance_in_the_mean(base, name):
    made = getattr(problems, name)()
    span = made.t_span[1] - made.t_span[0]
    for tol in (1e-4, 1e-8):
        sol = sl.solve(made, scheme=sl.AnyOrder(base), tol=tol)
        assert sl.study.error(sol, quantity="q") <= 0.6 * tol * span
        assert sl.study.error(sol, quantity="v") <= 0.6 * tol * span


def test_any_order_finds_a_jump_of_the_force():
    wall = sl.Contact(lambda q: q[0] + 0.5, e=0.8, name="wall")
    system = sl.System(M=1.0, f=lambda t, q: [np.where(t < 0.737, -1.0, 2.0) - q[0]], contacts=[wall])
    fine = sl.solve(system, (0.0, 6.0), 1.0, 0.0, tol=1e-12)
    times = np.linspace(0.0, 6.0, 301)
    for tol in (1e-4, 1e-7):
        sol = sl.solve(system, (0.0, 6.0), 1.0, 0.0, scheme=sl.AnyOrder(), tol=tol)
        assert np.mean(abs(sol(times).q - fine(times).q)) < 0.3 * tol


# ---- (45)


def graph(random, n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    t = np.sort(random.random(n))
    t[n // 3] = t[n // 3 + 1]  # a jump
    return t, 0.3 * random.normal(size=(n, columns))


def test_graphs_of_one_column_have_the_same_distance_in_space():
    random = np.random.default_rng(5)
    for _ in range(20):
        (t, x), (s, y) = graph(random, 15, 1), graph(random, 12, 1)
        flat = sl.study.hausdorff_polylines(t, x[:, 0], s, y[:, 0])
        assert abs(sl.study.hausdorff_in_space(t, x, s, y) - flat) <= 1e-9 * flat


@pytest.mark.parametrize("columns", [2, 3])
def test_the_distance_in_space_is_that_of_many_points(columns):
    random, share = np.random.default_rng(columns), np.linspace(0.0, 1.0, 41)[:-1]

    def points(t, x):
        many = (t[:-1, None] + np.diff(t)[:, None] * share).ravel()
        return many, (x[:-1, None] + np.diff(x, axis=0)[:, None] * share[:, None]).reshape(-1, columns)

    for _ in range(4):
        (t, x), (s, y) = graph(random, 12, columns), graph(random, 9, columns)
        (t_n, x_n), (s_n, y_n) = points(t, x), points(s, y)
        apart = np.maximum(abs(t_n[:, None] - s_n), np.linalg.norm(x_n[:, None] - y_n, axis=2))
        sampled = max(apart.min(axis=1).max(), apart.min(axis=0).max())
        assert abs(sl.study.hausdorff_in_space(t, x, s, y) - sampled) < 0.02


def test_all_columns_together_are_no_nearer_than_each_alone():
    made = problem(Model())
    coarse, fine = (sl.solve(made, scheme=sl.MoreauJean(), h=h) for h in (0.01, 0.001))
    alone = sl.study.hausdorff(coarse, fine, "v")
    together = sl.study.hausdorff(coarse, fine, "v", together=True)
    assert alone <= together <= 1.5 * alone
    assert sl.study.hausdorff(coarse, fine, "v", columns=[0], together=True) == pytest.approx(
        sl.study.hausdorff(coarse, fine, "v", columns=[0]), rel=1e-9
    )
