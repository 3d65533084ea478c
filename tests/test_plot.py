"""Pictures: what is drawn is what the solution holds, whatever its size; nothing global is touched."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import saltus as sl
from saltus.errors import MissingExtraError, SettingError
from saltus.plot import PLOT, plot_solution

POSITIONS, VELOCITIES, GAPS, IMPULSES = range(4)


@pytest.fixture(scope="module")
def ball():
    return sl.solve(sl.problems.zeno_ball(), scheme=sl.MoreauJean(), h=1e-2)


@pytest.fixture(scope="module")
def block():
    return sl.solve(sl.problems.sliding_block(), scheme=sl.MoreauJean(), h=1e-2)


def curves(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []


def test_every_panel_is_labelled_with_its_unit(ball):
    figure = ball.plot()
    assert isinstance(figure, Figure)
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert [label.split("[")[1] for label in labels] == ["m, rad]", "m/s, rad/s]", "m]", "N s]"]
    assert figure.axes[-1].get_xlabel() == "time t [s]"


def test_the_curves_are_the_numbers_of_the_solution(ball):
    figure = plot_solution(ball)
    np.testing.assert_array_equal(curves(figure.axes[POSITIONS])["$q$"].get_ydata(), ball.q[:, 0])
    np.testing.assert_allclose(curves(figure.axes[GAPS])["floor"].get_ydata(), ball.q[:, 0], atol=1e-15)
    total = np.r_[0.0, np.cumsum(ball.impulse[:, 0])]
    np.testing.assert_allclose(curves(figure.axes[IMPULSES])["floor N"].get_ydata(), total, rtol=1e-13)


def test_every_jump_is_a_vertical_line_from_the_left_to_the_right_limit(ball):
    axes = plot_solution(ball).axes[VELOCITIES]
    (collection,) = [c for c in axes.collections if isinstance(c, LineCollection)]
    drawn = np.array(collection.get_segments())
    jumps = np.flatnonzero(ball.v[:, 0] != ball.v_minus[:, 0])
    assert len(jumps) > 3
    np.testing.assert_array_equal(drawn[:, 0], np.column_stack([ball.t[jumps], ball.v_minus[jumps, 0]]))
    np.testing.assert_array_equal(drawn[:, 1], np.column_stack([ball.t[jumps], ball.v[jumps, 0]]))


def test_the_curve_of_the_velocity_does_not_bridge_a_jump(ball):
    line = curves(plot_solution(ball).axes[VELOCITIES])["$v$"]
    y = line.get_ydata()
    largest = np.max(np.abs(ball.v - ball.v_minus))
    assert np.nanmax(np.abs(np.diff(y))) < 0.1 * largest
    assert np.count_nonzero(np.isnan(y)) == np.count_nonzero(ball.v != ball.v_minus)


def test_the_exact_solution_is_dashed_and_thin_where_it_is_known(ball):
    for axes in (plot_solution(ball).axes[i] for i in (POSITIONS, VELOCITIES, IMPULSES)):
        exact = curves(axes)["exact"]
        assert exact.is_dashed()
        assert exact.get_linewidth() < 1.0
    system = ball.system
    alone = sl.solve(system, (0.0, 0.1), 1.0, 0.0, scheme=sl.MoreauJean(), h=1e-2)
    assert "exact" not in curves(plot_solution(alone).axes[POSITIONS])


def test_exact_velocities_show_both_limits_of_each_jump(ball):
    y = curves(plot_solution(ball).axes[VELOCITIES])["exact"].get_ydata()
    assert np.nanmin(y) == pytest.approx(-2.0, abs=1e-12)
    assert np.nanmax(y) == pytest.approx(1.0, abs=1e-12)
    assert np.nanmax(np.abs(np.diff(y))) < 0.01  # no bridge of height 3 at the first impact


def test_contacts_and_rows_are_named(block):
    figure = plot_solution(block)
    assert legend(figure.axes[GAPS]) == ["incline"]
    assert legend(figure.axes[IMPULSES]) == ["incline N", "incline T", "exact"]
    assert legend(figure.axes[POSITIONS])[:2] == ["$q_{0}$", "$q_{1}$"]


def test_coordinates_choose_and_name_the_columns(block):
    named = plot_solution(block, coordinates={0: "downhill"})
    assert legend(named.axes[POSITIONS]) == ["downhill", "exact"]
    assert legend(named.axes[VELOCITIES]) == ["downhill", "exact"]
    second = plot_solution(block, coordinates=[1])
    np.testing.assert_array_equal(curves(second.axes[POSITIONS])["$q_{1}$"].get_ydata(), block.q[:, 1])


def test_peaks_survive_the_thinning_of_a_long_run():
    long = sl.solve(sl.problems.impact_oscillator(), scheme=sl.MoreauJean(), h=1e-4)
    figure = plot_solution(long)
    q = curves(figure.axes[POSITIONS])["$q$"].get_ydata()
    v = curves(figure.axes[VELOCITIES])["$v$"].get_ydata()
    assert len(long.t) > 100_000
    assert len(q) <= PLOT.most_points + 2 and len(v) <= PLOT.most_points + 100
    assert (q.min(), q.max()) == (long.q.min(), long.q.max())
    assert (np.nanmin(v), np.nanmax(v)) == (long.v_minus.min(), long.v.max())
    assert curves(figure.axes[GAPS])["wall"].get_ydata().min() == pytest.approx(long.q.min() + 0.5, abs=1e-12)


def test_a_run_that_kept_only_events_is_drawn_as_points():
    thin = sl.solve(sl.problems.zeno_ball(), scheme=sl.MoreauJean(), h=1e-2, save="events")
    line = curves(plot_solution(thin).axes[POSITIONS])["$q$"]
    assert line.get_linestyle() == "None"
    assert line.get_marker() == "."


def test_ten_coordinates_have_ten_colours_and_a_legend():
    column = sl.solve(sl.problems.bead_column(), scheme=sl.MoreauJean(), h=1e-2)
    axes = plot_solution(column).axes[POSITIONS]
    colours = {str(line.get_color()) for line in curves(axes).values()}
    assert len(colours) == column.q.shape[1] == len(legend(axes)) == 10


def test_quaternions_with_more_coordinates_than_velocities_are_drawn():
    top = sl.solve(sl.problems.spinning_top(), (0.0, 0.01), scheme=sl.MoreauJean(), h=1e-3)
    figure = plot_solution(top)
    assert len(figure.axes) == (4 if top.system.contacts else 2)
    for axes, array in zip(figure.axes, (top.q, top.v), strict=False):
        assert len(curves(axes)) - ("exact" in curves(axes)) == array.shape[1]


def test_a_run_that_stopped_at_once_is_drawn_and_says_so():
    broken = sl.System(M=1.0, f=lambda t, q, v: [1.0 / (0.05 - t)], contacts=[sl.Contact(lambda q: q[0])])
    with pytest.raises(sl.RunError) as raised:
        sl.solve(broken, (0.0, 0.1), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.1)
    assert "stopped at t = 0 s" in plot_solution(raised.value.solution).axes[0].get_title(loc="left")


def test_given_axes_are_used_and_none_skips_one(ball):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot_solution(ball, axes=[left, None, None, right]) is figure
    assert "$q$" in curves(left)
    assert "floor N" in curves(right)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_path_writes_a_file(ball, tmp_path, ending):
    path = tmp_path / f"ball.{ending}"
    ball.plot(path=path)
    assert path.stat().st_size > 1000


def test_a_notebook_shows_the_figure(ball):
    assert ball.plot()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coordinates": [3]}, "columns of q run from 0 to 0"),
        ({"coordinates": []}, "coordinates is empty"),
        ({"axes": []}, "give one to four"),
        ({"axes": [None]}, "give one to four"),
    ],
)
def test_wrong_options_say_what_is_right(ball, options, message):
    with pytest.raises(SettingError, match=message):
        plot_solution(ball, **options)


def test_a_single_axes_must_be_in_a_list(ball):
    with pytest.raises(SettingError, match="give a list"):
        plot_solution(ball, axes=Figure().subplots())


def test_a_missing_matplotlib_names_the_extra(ball, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "saltus.plot")
    with pytest.raises(MissingExtraError, match=r"pip install saltus\[plot\]"):
        ball.plot()


def test_plotting_leaves_pyplot_alone():
    program = "import sys, saltus.plot; print('matplotlib.pyplot' in sys.modules)"
    command = [sys.executable, "-c", program]
    made = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)  # noqa: S603 - our own program
    assert made.stdout.strip() == "False"


def test_a_run_of_few_long_steps_is_drawn_with_its_motion_between_them():
    solution = sl.solve(sl.problems.zeno_ball(), scheme=sl.EventDriven(), tol=1e-8)
    positions = solution.plot().axes[0].lines[0]
    t, q = positions.get_xdata(), positions.get_ydata()
    assert len(t) > 10 * len(solution.t)
    np.testing.assert_allclose(q, solution.exact.q(np.asarray(t))[:, 0], atol=1e-7)


def test_the_history_of_steps_is_drawn_with_its_rejections(tmp_path):
    sol = sl.solve(sl.problems.driven_pendulum(), tol=1e-8)
    assert sol.step_rejections.sum() == sol.work["rejected"] > 0
    assert np.all(sol.step_error <= 1.0)
    figure = sol.plot_steps(path=tmp_path / "steps.png")
    assert [axes.get_ylabel() for axes in figure.axes] == ["step size h [s]", "error / tolerance", "degree, order"]
    assert (tmp_path / "steps.png").stat().st_size > 10_000
    heights = figure.axes[0].patches[0].get_data().values
    np.testing.assert_array_equal(heights, np.diff(sol.t))
    fixed = sl.solve(sl.problems.zeno_ball(), scheme=sl.MoreauJean(), h=0.01)
    assert len(fixed.plot_steps().axes) == 1 and not fixed.step_rejections.any()
