"""Figures: what is drawn has the extreme values of the run, the right artists, and no corners of long steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import saltus as sl
from saltus import plot
from saltus.errors import SettingError
from saltus.plot.curve import BOUND
from saltus.plot.event_time import Clock, knots
from saltus.plot.section import section_times


@pytest.fixture(scope="module")
def ball():
    """Impacts at 1, 2, 2.5, ... with half of the speed each; accumulation at 3, rest until 4."""
    return sl.solve(sl.problems.zeno_ball(), tol=1e-8)


@pytest.fixture(scope="module")
def oscillator():
    return sl.solve(sl.problems.forced_impact_oscillator(), tol=1e-6)


@pytest.fixture(scope="module")
def belt():
    return sl.solve(sl.problems.belt(), tol=1e-8)


@pytest.fixture(scope="module")
def crank():
    return sl.solve(sl.problems.slider_crank_bodies(), t_span=(0.0, 0.05), tol=1e-5)


def named(axes):
    return {line.get_label(): line for line in axes.get_lines()}


# ---- curves


def test_straight_lines_stay_within_the_bound_of_dense_output_of_long_steps(oscillator):
    assert len(oscillator.t) < 20  # over 8 impacts: steps are long, and of high degree
    axes = oscillator.plot().axes
    t = np.random.default_rng(1).uniform(*oscillator.t[[0, -1]], 5000)
    for place, true in ((axes[0], oscillator(t).q[:, 0]), (axes[1], oscillator(t).v[:, 0])):
        line = place.lines[0]
        x, y = line.get_xdata(), line.get_ydata()
        height = np.nanmax(y) - np.nanmin(y)
        miss = np.zeros(len(t))
        ends = np.flatnonzero(np.isnan(x))
        for begin, end in itertools.pairwise([-1, *ends, len(x)]):
            part = slice(begin + 1, end)
            inside = (t >= x[part][0]) & (t <= x[part][-1])
            miss[inside] = np.abs(np.interp(t[inside], x[part], y[part]) - true[inside])
        assert miss.max() < 2.0 * BOUND * height
        assert len(x) < 3000  # and no more points than that takes


def test_a_phase_portrait_of_a_free_oscillation_is_a_circle_however_long_the_steps_are():
    system = sl.System(M=1.0, f=lambda t, q, v: [-q[0]])
    sol = sl.solve(system, (0.0, 200.0), 1.0, 0.0, tol=1e-9)
    (line, *_) = plot.phase(sol).lines
    x, y = line.get_xdata(), line.get_ydata()
    middle = np.hypot(0.5 * (x[1:] + x[:-1]), 0.5 * (y[1:] + y[:-1]))  # of each straight line
    assert np.max(np.abs(middle - 1.0)) < 4.0 * BOUND
    assert len(sol.t) < 400


def test_a_time_stepping_is_drawn_from_node_to_node():
    sol = sl.solve(sl.problems.zeno_ball(), scheme=sl.MoreauJean(), h=0.01)
    assert len(named(sol.plot().axes[0])["$q$"].get_xdata()) == len(sol.t)


# ---- event time


def test_event_time_gives_every_interval_between_impacts_the_same_room(ball):
    clock = Clock(ball, "event")
    impacts = ball.events["t"][ball.events["kind"] == "impact"]
    np.testing.assert_allclose(clock(impacts), np.arange(1, len(impacts) + 1))
    assert clock(0.5 * (impacts[3] + impacts[4])) == pytest.approx(4.5)
    assert len(knots(ball)) == len(impacts) + 3  # start, accumulation, end


def test_a_velocity_in_event_time_jumps_at_whole_numbers(ball):
    velocities = ball.plot(time="event").axes[1]
    (jumps,) = [c for c in velocities.collections if isinstance(c, LineCollection)]
    places = np.array(jumps.get_segments())[:, 0, 0]
    np.testing.assert_allclose(places, np.round(places), atol=1e-9)
    assert ball.plot(time="event").axes[3].get_xlabel() == "event time: impacts so far"


# ---- phase, section, impact map


def test_a_phase_portrait_shows_every_jump_from_left_to_right(ball):
    axes = plot.phase(ball)
    (jumps,) = axes.collections
    ends = np.array(jumps.get_segments())
    np.testing.assert_allclose(ends[0], [[0.0, -2.0], [0.0, 1.0]], atol=1e-9)
    assert len(ends) == np.count_nonzero(np.abs(ball.v - ball.v_minus) > 1e-8)
    curve = axes.lines[0]
    assert np.nanmax(curve.get_xdata()) == 1.0 and np.nanmin(curve.get_ydata()) == pytest.approx(-2.0, abs=1e-9)
    assert np.count_nonzero(np.isnan(curve.get_xdata())) == len(ends)


def test_a_part_of_a_phase_portrait_has_the_ends_of_its_span(ball):
    curve = plot.phase(ball, span=(1.5, 2.25)).lines[0]
    assert curve.get_xdata()[0] == pytest.approx(0.25) and curve.get_xdata()[-1] == pytest.approx(0.0625)


def test_an_impact_map_of_a_bouncing_ball_lies_on_a_line_of_slope_e(ball):
    points = named(plot.impact_map(ball))["impacts"]
    np.testing.assert_allclose(points.get_ydata(), 0.5 * points.get_xdata(), rtol=1e-6)
    assert points.get_xdata().max() == pytest.approx(2.0)


def test_a_cobweb_leads_from_point_to_diagonal_to_point(ball):
    lines = named(plot.impact_map(ball))
    x, y = lines["cobweb"].get_xdata(), lines["cobweb"].get_ydata()
    np.testing.assert_array_equal(x[::2], y[::2])  # on the diagonal
    np.testing.assert_array_equal(x[1::2], lines["impacts"].get_xdata())
    assert "cobweb" not in named(plot.impact_map(ball, cobweb=False))


def test_intervals_between_impacts_halve(ball):
    points = named(plot.impact_map(ball, "floor", "interval"))["impacts"]
    np.testing.assert_allclose(points.get_ydata(), 0.5 * points.get_xdata(), rtol=1e-6)


def test_a_section_finds_crossings_at_their_times():
    system = sl.System(M=1.0, f=lambda t, q, v: [-q[0]])
    sol = sl.solve(system, (0.0, 20.0), 1.0, 0.0, tol=1e-10)
    up = section_times(sol, None, 0.0, None, ("q[0]", 0.0), "up", None)
    np.testing.assert_allclose(up, np.pi * np.array([1.5, 3.5, 5.5]), atol=1e-8)
    both = section_times(sol, None, 0.0, None, ("q[0]", 0.5), "both", None)
    assert len(both) == 7
    (points,) = plot.section(sol, period=2.0 * np.pi).lines
    np.testing.assert_allclose(points.get_xdata(), 1.0, atol=1e-8)
    assert len(points.get_xdata()) == 4


def test_a_jump_across_a_value_is_a_crossing(ball):
    found = section_times(ball, None, 0.0, None, ("v[0]", 0.0), "up", (0.5, 2.2))
    np.testing.assert_allclose(found, [1.0, 2.0], atol=1e-8)


def test_a_section_at_impacts_has_both_sides(ball):
    for side, first in (("-", -2.0), ("+", 1.0)):
        (points,) = plot.section(ball, event="impact", side=side).lines
        assert points.get_ydata()[0] == pytest.approx(first, abs=1e-7)


# ---- contacts and energies


def test_a_coordinate_that_is_the_same_at_every_impact_is_not_drawn_as_its_roundings(oscillator):
    low, high = plot.section(oscillator, event="impact").get_xlim()
    assert low < 0.0 < high and high - low > 1e-3


def test_a_gantt_has_a_stem_for_every_impact_and_a_bar_where_a_force_lasts(ball):
    axes = plot.gantt(ball)
    artists = {c.get_label(): c for c in axes.collections}
    stems = np.array(artists["_floor impacts"].get_segments())
    assert len(stems) == np.count_nonzero(np.isin(ball.events["kind"], ("impact", "zeno")))
    heights = stems[:, 1, 1] - stems[:, 0, 1]
    np.testing.assert_allclose(heights[1] / heights[0], np.sqrt(0.5), rtol=1e-6)  # impulses halve
    (bar,) = artists["_floor closed"].get_paths()
    np.testing.assert_allclose(bar.get_extents().intervalx, [3.0, 4.0], atol=1e-6)


def test_an_accumulation_of_impacts_is_no_bar_in_event_time(crank):
    axes = plot.gantt(crank, time="event")
    assert not [c.get_label() for c in axes.collections if "sticks" in c.get_label()]  # its slider always slides
    assert [c for c in axes.collections if "slides" in c.get_label()]


def test_bars_tell_sticking_from_sliding(belt):
    axes = plot.gantt(belt)
    stuck = {c.get_label(): c for c in axes.collections}["_belt sticks"]
    (bar,) = stuck.get_paths()
    begin, end = (belt.events["t"][belt.events["kind"] == kind][0] for kind in ("stick", "slip"))
    np.testing.assert_allclose(bar.get_extents().intervalx, [begin, end])


def test_friction_stays_in_its_cone_and_slides_on_it(belt):
    lines = named(plot.friction_cone(belt))
    normal, friction = lines["force"].get_data()
    mu = lines["cone"].get_ydata()[0] / lines["cone"].get_xdata()[0]
    assert mu == pytest.approx(belt.system.contacts[0].mu)
    ratio = np.abs(friction[normal > 0.0]) / (mu * normal[normal > 0.0])
    assert ratio.max() == pytest.approx(1.0) and ratio.min() < 0.5  # it slides, and sticks in between


def test_forces_in_space_lie_in_a_circle_of_radius_mu():
    sol = sl.solve(sl.problems.incline_3d(), tol=1e-6)
    lines = named(plot.friction_cone(sol))
    radius = np.hypot(*lines["cone"].get_data())
    drawn = np.hypot(*lines["force"].get_data())
    np.testing.assert_allclose(radius, sol.system.contacts[0].mu)
    assert np.nanmax(drawn) == pytest.approx(sol.system.contacts[0].mu)


def test_the_energy_budget_reaches_up_to_what_the_forces_brought(ball):
    budget, defect = plot.energy(ball)
    line = named(budget)["at the start + work"]
    areas = {area.get_label(): area for area in budget.collections}
    assert list(areas) == ["kinetic", "floor"]
    top = areas["floor"].get_paths()[0].get_extents().intervaly[1]
    assert top == pytest.approx(np.max(line.get_ydata())) == pytest.approx(2.0)
    assert np.max(areas["kinetic"].get_paths()[0].vertices[:, 1]) == pytest.approx(2.0)
    drawn, known = defect.lines[0].get_ydata(), np.abs(ball.energy.defect)  # a defect of 0 has no logarithm
    assert np.max(drawn, initial=0.0, where=np.isfinite(drawn)) == np.max(known)


def test_a_loss_of_an_impact_is_vertical_in_the_energy_budget(ball):
    (budget,) = plot.energy(ball, axes=Figure().subplots())
    (kinetic, *_) = budget.collections
    x, y = kinetic.get_paths()[0].vertices.T
    at = y[np.isclose(x, 1.0, atol=1e-12)]
    assert at.max() == pytest.approx(2.0) and np.isclose(at, 0.5).any()


def test_what_contacts_took_of_a_wheel_that_turns_can_be_seen(crank):
    budget, _ = plot.energy(crank)
    low, high = budget.get_ylim()
    assert crank.energy.dissipation[-1].sum() > 0.2 * (high - low)
    assert low < crank.energy.kinetic.min()


def test_a_spectrum_names_its_largest_peaks(oscillator):
    axes = plot.spectrum(oscillator, "v[0]")
    made = oscillator.spectrum("v[0]")
    named = sorted(float(one) for text in axes.texts for one in text.get_text().removesuffix(" Hz").split(", "))
    assert named == sorted(float(f"{f:.4g}") for f, _ in made.peaks(3))
    places = sorted(text.xy[0] for text in axes.texts)  # apart, or nobody could read them
    assert np.all(np.diff(places) >= 0.15 * made.f[-1])
    assert np.max(axes.lines[0].get_ydata()) == np.max(made.amplitude[1:])


# ---- panels and legends of sol.plot()


def test_panels_by_unit_hold_one_unit_each(crank):
    labels = [axes.get_ylabel() for axes in crank.plot().axes]
    assert labels == [
        "position q [m]", "position q [rad]", "velocity v [m/s]", "velocity v [rad/s]", "gap g [m]", "impulse i [N s]",
    ]  # fmt: skip
    assert len(crank.plot(panels="quantity").axes) == 4


def test_panels_by_body_hold_the_coordinates_of_that_body(crank):
    figure = crank.plot(panels="body")
    panels = [axes for axes in figure.axes if axes.get_ylabel().startswith("rod")]
    assert [axes.get_ylabel() for axes in panels] == ["rod [m]", "rod [rad]", "rod [m/s]", "rod [rad/s]"]
    assert [line.get_label() for line in panels[0].lines] == ["x", "y"]
    y = panels[0].lines[0].get_ydata()
    assert np.max(y) >= np.max(crank.q[:, 3]) and np.min(y) == pytest.approx(np.min(crank.q[:, 3]), abs=1e-3)


@pytest.mark.parametrize("count", [14, 60, 100])
def test_legends_name_every_curve(count):
    stiffness = np.arange(1.0, count + 1.0)
    system = sl.System(M=np.ones(count), f=lambda t, q, v: [-k * x for k, x in zip(stiffness, q, strict=True)])
    sol = sl.solve(system, (0.0, 0.1), np.ones(count), np.zeros(count), scheme=sl.MoreauJean(), h=0.02)
    axes = sol.plot().axes[0]
    if count <= plot.PLOT.most_entries:
        assert [text.get_text() for text in axes.get_legend().get_texts()] == [f"$q_{{{j}}}$" for j in range(count)]
    else:  # a bar of colours, one for each curve
        bar = next(one for one in sol.plot().axes if one.get_label() == "<colorbar>")
        assert bar.get_ylim() == (-0.5, count - 0.5)


# ---- what all figures share

FIGURES = {
    "phase": lambda sol, **options: plot.phase(sol, **options),
    "gantt": lambda sol, **options: plot.gantt(sol, **options),
    "energy": lambda sol, **options: plot.energy(sol, **options)[0],
    "impact_map": lambda sol, **options: plot.impact_map(sol, **options),
    "section": lambda sol, **options: plot.section(sol, event="impact", **options),
    "spectrum": lambda sol, **options: plot.spectrum(sol, "v[0]", **options),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_draws_into_given_axes_and_returns_them(ball, figure):
    axes = Figure().subplots()
    assert FIGURES[figure](ball, axes=axes) is axes
    assert isinstance(axes, Axes) and (axes.lines or axes.collections)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_has_the_width_of_a_column_and_is_a_vector_pdf(ball, figure, tmp_path):
    made = FIGURES[figure](ball, width="one column", path=tmp_path / "figure.pdf").figure
    assert made.get_figwidth() * 25.4 == pytest.approx(85.0)
    written = (tmp_path / "figure.pdf").read_bytes()
    assert written.startswith(b"%PDF") and b"/Subtype /Image" not in written


def test_a_width_of_two_columns_is_174_mm(ball):
    assert plot.gantt(ball, width="two columns").figure.get_figwidth() * 25.4 == pytest.approx(174.0)
    with pytest.raises(SettingError, match="'one column'"):
        plot.gantt(ball, width="half")


def test_figures_of_a_loaded_run_are_those_of_the_run(ball, tmp_path):
    ball.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    for live, stored in ((plot.phase(ball), plot.phase(loaded)), (plot.gantt(ball), plot.gantt(loaded))):
        assert len(live.lines) == len(stored.lines) and len(live.collections) == len(stored.collections)
    np.testing.assert_array_equal(plot.phase(ball).lines[0].get_ydata(), plot.phase(loaded).lines[0].get_ydata())
    assert len(plot.energy(loaded)) == 2


def test_a_strobe_has_equal_scales_and_takes_axes(crank):
    axes = Figure().subplots()
    assert plot.strobe(crank, [0.0, 0.02], axes=axes) is axes
    assert axes.get_aspect() == 1.0
    slider = next(line for line in axes.lines if line.get_label() == "slider")
    assert len(slider.get_xdata()) == 5  # four corners, where its contacts are


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sol: plot.section(sol), "one of period=, event= and crossing="),
        (lambda sol: plot.impact_map(sol, quantity="height"), "quantity is 'height'"),
        (lambda sol: plot.impact_map(sol, quantity="phase"), "give period"),
        (lambda sol: plot.phase(sol, "floor N"), "contact force"),
        (lambda sol: plot.friction_cone(sol, "floor"), "no friction"),
        (lambda sol: plot.gantt(sol, contacts=["roof"]), "no contact 'roof'"),
        (lambda sol: plot.gantt(sol, time="events"), "'time' or 'event'"),
        (lambda sol: sol.plot(panels="colour"), "'quantity', 'unit' or 'body'"),
        (lambda sol: sol.plot(panels="body"), "knows no bodies"),
        (lambda sol: plot.phase(sol, axes=[1]), "one matplotlib Axes"),
    ],
)
def test_wrong_options_say_what_is_right(ball, call, message):
    with pytest.raises(SettingError, match=message):
        call(ball)
