"""What is asked of a finished run: gaps, energies, samples, spectra, events and contacts by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import saltus as sl
from saltus.results.events import EventTable

GRAVITY = 9.81
SCHEMES = [(sl.HpTDG(), {"tol": 1e-9}), (sl.EventDriven(), {"tol": 1e-9}), (sl.MoreauJean(), {"h": 1e-3})]
BY_NAME = {"ids": ["HpTDG", "EventDriven", "MoreauJean"]}


def height(q):
    return q[0]


def slip(t, q, v):
    return v[1]


def thrown(e=0.8, mu=0.3) -> sl.System:
    """A point that bounces on a rough floor."""
    floor = sl.Contact(height, e=e, mu=mu, slip=slip, name="floor")
    return sl.System(
        M=[1.0, 1.0], f=[-GRAVITY, 0.0], contacts=[floor], coordinates=("height", "x"), units=("m", "m"), name="ball"
    )


def throw(scheme, settings, t_end=3.0, **law):
    return sl.solve(thrown(**law), (0.0, t_end), [1.0, 0.0], [0.0, 2.0], scheme=scheme, **settings)


def spring(stiffness, q0, t_end, **settings):
    system = sl.System(M=1.0, f=lambda q: [-stiffness * q[0]], coordinates=["x"], units=["m"])
    return sl.solve(system, (0.0, t_end), q0, 0.0, scheme=sl.HpTDG(), tol=1e-10, **settings)


def hopping(periods: int) -> sl.Solution:
    """A ball that loses nothing: period 1 s, jumps of GRAVITY m/s."""
    system = sl.System(M=1.0, f=-GRAVITY, contacts=[sl.Contact(height, e=1.0, name="floor")], coordinates=["z"])
    return sl.solve(system, (0.0, float(periods)), GRAVITY / 8.0, 0.0, scheme=sl.HpTDG(), tol=1e-10)


# ---- at any time


@pytest.mark.parametrize(("scheme", "settings"), SCHEMES, **BY_NAME)
def test_gaps_and_energies_at_any_time_are_those_of_the_state_there(scheme, settings):
    sol = throw(scheme, settings)
    t = np.random.default_rng(1).uniform(0.0, 3.0, 200)
    np.testing.assert_array_equal(sol.gap_at(t)[:, 0], sol(t).q[:, 0])
    assert sol.gap_at(0.1).shape == (1,)
    for side in ("+", "-"):
        made = sol.energy_at(t, side)
        np.testing.assert_allclose(made.kinetic, 0.5 * (sol(t, side).v ** 2).sum(axis=1), rtol=1e-14)
        np.testing.assert_allclose(made.work, -GRAVITY * (sol(t).q[:, 0] - 1.0), rtol=0.0, atol=1e-12)
        balance = made.kinetic - sol.energy.kinetic[0] - made.work + made.dissipation.sum(axis=1) - made.defect
        np.testing.assert_allclose(balance, 0.0, atol=1e-13)
    at_nodes = sol.energy_at(sol.t)
    np.testing.assert_allclose(at_nodes.work, sol.energy.work, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(at_nodes.dissipation, sol.energy.dissipation, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize(("scheme", "settings"), SCHEMES, **BY_NAME)
def test_the_loss_of_an_impact_belongs_to_its_time(scheme, settings):
    sol = throw(scheme, settings)
    first = sol.events[0]
    before, behind = sol.energy_at(first["t"], "-"), sol.energy_at(first["t"])
    assert before.dissipation[0] == pytest.approx(0.0, abs=1e-12)
    assert behind.dissipation[0] - before.dissipation[0] == pytest.approx(-first["energy"], rel=1e-12)
    if not isinstance(scheme, sl.MoreauJean):  # whose step of an impact has forces as well
        assert behind.kinetic - before.kinetic == pytest.approx(first["energy"], rel=1e-12)


def test_what_friction_takes_between_nodes_adds_up_to_the_ledger():
    slide = sl.solve(thrown(mu=0.2), (0.0, 0.6), [0.0, 0.0], [0.0, 2.0], scheme=sl.HpTDG(), tol=1e-9)
    made = slide.energy_at(np.linspace(0.0, 0.6, 50)).dissipation[:, 0]
    assert made[0] == 0.0 and np.all(np.diff(made) > 0.0)
    assert made[-1] == pytest.approx(slide.energy.dissipation[-1, 0], rel=1e-12)


# ---- samples and spectra


def test_samples_lose_no_impulse_between_them():
    sol = throw(*SCHEMES[0])
    made = sol.sample(0.37)
    np.testing.assert_allclose(made.t, 0.37 * np.arange(9), rtol=1e-15)
    np.testing.assert_array_equal(made["height"], sol(made.t).q[:, 0])
    np.testing.assert_array_equal(made["x_dot"], sol(made.t).v[:, 1])
    np.testing.assert_allclose(made["floor N"].sum() * 0.37, sol.impulse_at(made.t[-1])[0], rtol=1e-12)
    frame = made.to_pandas()
    assert list(frame.columns) == ["height", "x", "height_dot", "x_dot", "floor N", "floor T"]
    assert frame.attrs["units"]["height_dot"] == "m/s" and frame.index.name == "t"


@pytest.mark.parametrize("window", ["hann", "flattop", "none"])
def test_a_sine_has_its_amplitude_and_its_phase_in_the_spectrum(window):
    sol = spring((2.0 * np.pi * 5.0) ** 2, 0.3, 4.0)
    made = sol.spectrum("x", window=window)
    line = np.argmin(abs(made.f - 5.0))
    assert made.amplitude[line] == pytest.approx(0.3, rel=1e-8) and made.f[line] == pytest.approx(5.0)
    assert made.phase[line] == pytest.approx(0.0, abs=1e-7)
    assert made.units == "m" and sol.spectrum("x_dot").units == "m/s"
    speed = sol.spectrum("x_dot", window=window).amplitude[line]
    assert speed == pytest.approx(0.3 * 2.0 * np.pi * 5.0, rel=1e-8)
    assert made.peaks(1)[0][0] == pytest.approx(5.0)


def test_a_flat_top_shows_the_height_of_a_line_between_two_frequencies():
    sol = spring((2.0 * np.pi * 5.1234) ** 2, 1.0, 4.0)
    assert sol.spectrum(0, window="flattop").peaks(1)[0][1] == pytest.approx(1.0, rel=2e-3)


def test_jumps_of_a_velocity_fold_nothing_back():
    # a sawtooth with a jump J every second has lines of J / (pi k)
    made = hopping(20).spectrum("z_dot", dt=1.0 / 32.0)
    assert made.jumps == 20
    for k in (1, 2, 3, 10, 15):
        line = np.argmin(abs(made.f - k))
        assert made.amplitude[line] == pytest.approx(GRAVITY / (np.pi * k), rel=1e-8)


def test_a_train_of_impacts_has_lines_of_twice_the_mean_force():
    made = hopping(20).spectrum("floor", dt=1.0 / 32.0)
    assert made.units == "N" and made.amplitude[0] == pytest.approx(GRAVITY, rel=1e-7)
    for k in (1, 2, 7, 15):
        assert made.amplitude[np.argmin(abs(made.f - k))] == pytest.approx(2.0 * GRAVITY, rel=1e-6)


def test_a_lasting_force_of_steps_has_its_lines_too():
    # a weight on a table that shakes gently: the force is m (g + a sin)
    table = sl.Contact(lambda t, q: q[0] - 0.001 * np.sin(2.0 * np.pi * 5.0 * t), name="table")
    system = sl.System(M=2.0, f=-2.0 * GRAVITY, contacts=[table])
    start = 0.001 * 2.0 * np.pi * 5.0
    for scheme, settings, close in ((sl.HpTDG(), {"tol": 1e-10}, 1e-6), (sl.MoreauJean(), {"h": 1e-3}, 2e-3)):
        sol = sl.solve(system, (0.0, 4.0), 0.0, start, scheme=scheme, **settings)
        made = sol.spectrum("table")
        line = np.argmin(abs(made.f - 5.0))
        assert made.amplitude[line] == pytest.approx(2.0 * 0.001 * (2.0 * np.pi * 5.0) ** 2, rel=close)
        assert sol.contact("table").share == pytest.approx(1.0, abs=2e-3)  # time stepping finds its contact first


def test_a_spectrum_says_what_it_cannot_do():
    sol = throw(*SCHEMES[0])
    for arguments, words in (
        ({"x": "y"}, "there is no column 'y'"),
        ({"x": 7}, "there is no coordinate 7"),
        ({"x": "x", "dt": 0.0}, "dt is 0.0"),
        ({"x": "x", "dt": 5.0}, "longer than the 3 s"),
        ({"x": "x", "dt": 1.0}, "at least 4"),
        ({"x": "x", "dt": 1e-12}, "samples"),
        ({"x": "x", "window": "tukey"}, "window is 'tukey'"),
        ({"x": "x", "span": (1.0, 9.0)}, "a part of the run"),
    ):
        with pytest.raises(sl.SettingError, match=words):
            sol.spectrum(**arguments)


def test_a_spectrum_is_drawn_with_its_units(tmp_path):
    figure = hopping(8).spectrum("z_dot").plot(path=tmp_path / "spectrum.png")
    assert "Hz" in figure.axes[0].get_xlabel() and (tmp_path / "spectrum.png").stat().st_size > 5000


# ---- events


def test_events_stay_a_table_and_answer_by_name():
    sol = throw(*SCHEMES[0])
    assert isinstance(sol.events, EventTable) and type(sol.events["t"]) is np.ndarray
    assert isinstance(sol.events[sol.events["kind"] == "impact"], EventTable)
    np.testing.assert_array_equal(sol.events.of("floor"), sol.events)
    np.testing.assert_array_equal(sol.events.of("impact", "floor")["t"], sol.events["t"])
    assert len(sol.events.of("release")) == 0
    with pytest.raises(sl.SettingError, match="no events are called 'wall'"):
        sol.events.of("wall")
    with pytest.raises(ValueError, match="read-only"):
        sol.events["t"][0] = 0.0


def test_the_summary_counts_impacts_and_what_they_took():
    sol = throw(*SCHEMES[1])
    floor = sol.events.summary()["floor"]
    rows = sol.events[sol.events["kind"] == "impact"]
    assert floor.impacts == len(rows) and floor.kinds["impact"] == len(rows)
    assert floor.fastest == pytest.approx(np.sqrt(2.0 * GRAVITY))
    assert floor.loss == pytest.approx(sol.energy.dissipation[-1, 0])
    assert str(sol.events.summary()).splitlines()[0].startswith("contact  impacts")


def test_the_summary_counts_an_accumulation_and_a_contact_without_events():
    system = sl.System(
        M=1.0, f=-2.0, contacts=[sl.Contact(height, e=0.5, name="floor"), sl.Contact(lambda q: 5.0 - q[0])]
    )
    sol = sl.solve(system, (0.0, 4.0), 1.0, 0.0, scheme=sl.EventDriven(), tol=1e-8)
    made = sol.events.summary()
    assert made["floor"].impacts == sol.events["count"][np.isin(sol.events["kind"], ("impact", "zeno"))].sum() > 20
    assert made["contact 1"].impacts == 0 and np.isnan(made["contact 1"].first)


def test_events_of_the_user_have_names_as_well():
    top = sl.Event(lambda t, q, v: v[0], direction=-1, name="top")
    sol = sl.solve(thrown(), (0.0, 3.0), [1.0, 0.0], [0.5, 2.0], scheme=sl.EventDriven(), tol=1e-8, events=[top])
    assert len(sol.events.of("top")) > 3 and set(sol.events.of("top")["kind"]) == {"event"}


def test_events_become_a_data_frame_with_units():
    frame = throw(*SCHEMES[0]).events.to_pandas()
    assert (
        list(frame.columns[:4]) == ["t", "contact", "kind", "u_minus_N"] and frame.attrs["units"]["impulse_N"] == "N s"
    )
    assert frame.groupby("contact").size()["floor"] == len(frame)


def test_events_travel_in_pickles_and_files(tmp_path):
    sol = throw(*SCHEMES[2])
    sol.save(tmp_path / "run.h5")
    alone = pickle.loads(pickle.dumps(sol.events))  # noqa: S301
    whole = pickle.loads(pickle.dumps(sol))  # noqa: S301
    for events in (whole.events, sl.load(tmp_path / "run.h5").events, alone):
        np.testing.assert_array_equal(events, sol.events)
        assert isinstance(events, EventTable) and len(events.of("floor", "impact")) == len(sol.events.of("impact"))
        assert len(events.of("floor")) and len(events.copy().of("floor"))


# ---- contacts


def test_a_contact_tells_gap_force_impulse_slip_and_energy():
    sol = sl.solve(thrown(e=0.0, mu=0.2), (0.0, 1.5), [0.5, 0.0], [0.0, 2.0], scheme=sl.HpTDG(), tol=1e-9)
    floor, lands = sol.contact("floor"), np.sqrt(2.0 * 0.5 / GRAVITY)
    rests = lands + 2.0 / (0.2 * GRAVITY) - lands  # the impact takes mu g t of the slip
    assert floor.axes == ("N", "T")
    np.testing.assert_array_equal(floor.gap, sol.q[:, 0])
    np.testing.assert_allclose(floor.velocity, sol.v, rtol=0.0, atol=1e-15)
    assert floor.velocity_at(lands, "-")[0] == pytest.approx(-GRAVITY * lands)
    assert floor.force_at(0.5 * (lands + rests))[1] == pytest.approx(-0.2 * GRAVITY, rel=1e-6)
    assert floor.impulse.sum(axis=0) == pytest.approx(sol.impulse_at(1.5))
    assert floor.dissipation[-1] == pytest.approx(0.5 * 4.0 + 0.5 * GRAVITY, rel=1e-9)
    assert floor.share == pytest.approx((1.5 - lands) / 1.5, rel=1e-8)
    assert floor.slip[-1] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(sl.SettingError, match="there is no contact 'wall': there are 'floor'"):
        sol.contact("wall")


@pytest.mark.parametrize("save", ["steps", "events"])
def test_the_share_of_time_is_known_where_events_are_kept(save):
    sol = sl.solve(
        thrown(e=0.0, mu=0.2), (0.0, 1.5), [0.5, 0.0], [0.0, 2.0], scheme=sl.EventDriven(), tol=1e-9, save=save
    )
    assert sol.contact("floor").share == pytest.approx(1.0 - np.sqrt(1.0 / GRAVITY) / 1.5, rel=1e-8)


def test_the_share_of_time_is_refused_where_few_times_are_kept():
    floor = sl.Contact(lambda t, q: q[0] + np.where(t > 1.0, 6.0 * (t - 1.0) ** 2, 0.0), name="floor")
    system = sl.System(M=1.0, f=-2.0, contacts=[floor])
    sol = sl.solve(system, (0.0, 2.0), 0.0, 0.0, scheme=sl.EventDriven(), tol=1e-8, t_eval=[0.0, 0.7, 2.0])
    with pytest.raises(sl.SettingError, match="kept too few times"):
        _ = sol.contact("floor").share


# ---- loaded runs


def test_a_loaded_run_answers_at_its_times_and_between_them(tmp_path):
    sol = throw(*SCHEMES[2])
    sol.save(tmp_path / "run.h5")
    again = sl.load(tmp_path / "run.h5")
    np.testing.assert_array_equal(again.gap_at(sol.t), sol.gap_at(sol.t))
    np.testing.assert_allclose(again.energy_at(sol.t).work, sol.energy_at(sol.t).work, rtol=0.0, atol=1e-13)
    np.testing.assert_array_equal(again.spectrum("height").amplitude, sol.spectrum("height").amplitude)
    np.testing.assert_array_equal(again.sample(0.1)["floor N"], sol.sample(0.1)["floor N"])
    assert again.contact("floor").share == sol.contact("floor").share
    t = np.random.default_rng(3).uniform(sol.t[0], sol.t[-1], 300)
    error_gap, error_energy = again._model.table.error
    assert error_gap < 1e-8 and error_energy < 1e-7
    np.testing.assert_allclose(again.gap_at(t), sol.gap_at(t), rtol=0.0, atol=2.0 * error_gap + 1e-15)
    jumps = sol.events["t"][sol.events["kind"] == "impact"]
    for times, side in ((t, "+"), (jumps, "+"), (jumps, "-")):
        for name in ("kinetic", "work", "dissipation", "defect"):
            mine, true = (getattr(one.energy_at(times, side), name) for one in (again, sol))
            np.testing.assert_allclose(mine, true, rtol=0.0, atol=2.0 * error_energy + 1e-13)
    with pytest.raises(sl.SettingError, match="velocities of contacts"):
        _ = again.contact("floor").slip


def test_a_loaded_run_of_few_times_answers_at_these_alone(tmp_path):
    system = sl.System(M=1.0, f=-2.0, contacts=[sl.Contact(lambda q: q[0], e=0.5, name="floor")])
    sl.solve(system, (0.0, 2.0), 1.0, 0.0, tol=1e-8, t_eval=[0.0, 0.7, 2.0]).save(tmp_path / "run.h5")
    again = sl.load(tmp_path / "run.h5")
    assert again.gap_at(0.7).shape == (1,)
    for ask in (again.gap_at, again.energy_at):
        with pytest.raises(sl.SettingError, match=r"at its kept times alone, not at t = 0\.12345"):
            ask(0.12345)


# ---- names and units


def test_names_and_units_reach_files_tables_and_pictures(tmp_path):
    sol = throw(*SCHEMES[2])
    sol.save(tmp_path / "run.h5")
    again = sl.load(tmp_path / "run.h5")
    assert again.system.coordinates == ("height", "x") and again.system.units == ("m", "m")
    for one in (sol, again):
        table = one.to_xarray()
        assert list(table.coordinate.values) == ["height", "x"] and list(table.velocity_units.values) == ["m/s"] * 2
        np.testing.assert_array_equal(table.q.sel(coordinate="x"), sol.q[:, 1])
    axes = sol.plot().axes
    assert axes[0].get_ylabel() == "position q [m]" and axes[1].get_ylabel() == "velocity v [m/s]"
    assert [text.get_text() for text in axes[1].get_legend().get_texts()] == ["height_dot", "x_dot"]


def test_without_names_columns_are_numbered():
    sol = sl.solve(sl.problems.zeno_ball(), scheme=sl.EventDriven(), tol=1e-8)
    assert list(sol.sample(0.5).to_pandas().columns) == ["q[0]", "v[0]", "floor N"]
    assert sol.spectrum("v[0]").units == "" and list(sol.to_xarray().coordinate.values) == ["q[0]"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"coordinates": "xy"}, "coordinates must be a list of texts"),
        ({"coordinates": ("x", "x")}, "names must differ"),
        ({"coordinates": ("x", "x_dot")}, "names must differ"),
        ({"coordinates": ("x", "")}, "names must differ"),
        ({"coordinates": ("x", 2)}, "coordinates must be a list of texts"),
        ({"coordinates": ("x", "y"), "units": ("m",)}, "2 coordinates and 1 units"),
        ({"units": 3.0}, "units must be a list of texts"),
    ],
)
def test_names_that_mean_nothing_are_refused(names, words):
    with pytest.raises(sl.ModelError, match=words):
        sl.System(M=1.0, f=[0.0, 0.0], **names)


def test_names_must_fit_the_start():
    system = sl.System(M=1.0, f=[0.0, 0.0], coordinates=("x", "y"))
    with pytest.raises(sl.ModelError, match="coordinates of the system are 2, but q0 has 3 entries"):
        sl.solve(system, (0.0, 1.0), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])


def test_messages_call_velocities_by_their_names():
    block = sl.System(M=1.0, f=lambda t, q, v: [-5.0 * np.sign(v[0])], coordinates=["x"])
    with pytest.raises(sl.ChatteringError, match="x_dot"):
        sl.solve(block, (0.0, 1.0), 0.0, 1.0)
