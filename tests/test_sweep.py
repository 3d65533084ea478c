"""Sweeps: diagrams, maps, Monte Carlo; who makes the runs, and a program that is killed, change no bit."""

from __future__ import annotations

import json
import math
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import saltus as sl
from saltus import sweep
from saltus.cli import main
from saltus.ensemble.worker import receive, send
from saltus.status import Status
from saltus.sweep.distributions import shares

p = sl.Parameters(w=2.6, e=0.8)
OSCILLATOR = sl.System(
    M=1.0, f=lambda t, q, v: [-q[0] + np.cos(p.w * t)], contacts=[sl.Contact(lambda q: -q[0], e=p.e, name="stop")]
)
DOUBLING = 2.65334772786  # where the orbit of one impact per period doubles its period, e = 0.8 (closed form)


def scattered(store=None, runs=60, executor=None, **options):
    given = {"e": sweep.Uniform(0.3, 0.9), "t_span": (0.0, 15.0), "measures": sweep.ImpactStatistics(), **options}
    return sweep.monte_carlo(
        OSCILLATOR, -0.5, [sweep.Normal(0.0, 0.5)], runs=runs, executor=executor, store=store, **given
    )


def content(folder):
    """Everything that lies in a store."""
    return {file.name: file.read_bytes() for file in sorted(pathlib.Path(folder).iterdir())}


# ---- diagrams


@pytest.fixture(scope="module")
def diagram():
    return sweep.bifurcation(
        OSCILLATOR, -0.5, 0.0, w=np.linspace(2.59, 2.71, 13), direction="both", transient=300, keep=16,
        section=sweep.Strobe(lambda: 2.0 * np.pi / p.w), measures=sweep.Period(),
    )  # fmt: skip


def test_the_period_doubles_where_the_closed_form_says(diagram):
    w = diagram.dataset["w"].values
    expected = np.where(w < DOUBLING, 1, 2)
    near = np.abs(w - DOUBLING) < 0.008  # there the motion settles slowly
    for way in (0, 1):
        assert np.array_equal(diagram.periods()[way][~near], expected[~near])
    assert np.array_equal(diagram.periods(), diagram["period"].values)


def test_a_run_of_a_diagram_begins_where_the_one_before_ended(diagram):
    ends, starts = diagram._reduced.ends, diagram._reduced.starts
    for k in range(1, 13):
        assert np.array_equal(starts[k], ends[k - 1, 1:])
        assert np.array_equal(starts[13 + k], ends[13 + k - 1, 1:])
    assert np.array_equal(starts[[0, 13]], [[-0.5, 0.0]] * 2)
    down = diagram.dataset.sel(direction="down")["q_end"].values[:, 0]
    assert np.array_equal(down[::-1], ends[13:, 1])
    alone = diagram.solve(17)
    assert np.array_equal(alone.q[-1], ends[17, 1:2])


def test_a_chain_with_changing_rows_has_the_bits_of_solve():
    a = sl.Parameters(drive=1.0)
    pendulum = sl.System(
        M=1.0, f=lambda t, q, v: [-np.sin(q[0]) - 0.1 * v[0] + a.drive * np.cos(2.0 * t)],
        contacts=[sl.Contact(lambda q: np.sin(q[0] + 0.5), e=0.7, name="wall")],
    )  # fmt: skip
    result = sweep.bifurcation(
        pendulum, 0.3, 0.0, drive=[0.6, 0.9, 1.2], section=sweep.Impacts("wall", period=np.pi), transient=3, keep=4
    )
    for k in range(3):
        alone = result.solve(k)
        assert result._reduced.ends[k, 1:].tobytes() == np.concatenate([alone.q[-1], alone.v[-1]]).tobytes()
    assert np.all(result._reduced.starts[1:] == result._reduced.ends[:-1, 1:])


def test_sections_at_impacts_and_events_leave_the_transient_out():
    options = {"w": [2.5, 2.9], "transient": 5, "keep": 6}
    period = lambda w: 2.0 * np.pi / w  # noqa: E731
    impacts = sweep.bifurcation(OSCILLATOR, -0.5, 0.0, section=sweep.Impacts("stop", period=period), **options)
    begin = 5.0 * 2.0 * np.pi / impacts.dataset["w"].values
    assert np.all(np.nanmin(impacts["impact_t"].values[0], axis=1) >= begin)
    assert np.nanmax(impacts["impact_u_minus"].values) < 0.0
    crossing = sl.Event(lambda t, q, v: q[0] + 0.4, direction=1, name="half")
    events = sweep.bifurcation(
        OSCILLATOR, -0.5, 0.0, section=sweep.Events("half", period=period), options={"events": crossing}, **options
    )
    seen = events["event_q"].values[0, :, :, 0]
    assert np.nanmax(np.abs(seen + 0.4)) < 1e-9


def test_a_section_that_holds_a_coordinate_has_the_period_of_the_strobe():
    period = lambda w: 2.0 * np.pi / w  # noqa: E731
    crossing = sl.Event(lambda t, q, v: q[0] + 0.2, direction=-1, name="cross")
    options = {"w": [2.6, 2.7, 2.8], "transient": 200, "keep": 26}  # periods one and two, and chaos
    for section in (
        sweep.Strobe(period), sweep.Impacts("stop", most=26, period=period), sweep.Events("cross", 26, period=period),
    ):  # fmt: skip
        diagram = sweep.bifurcation(
            OSCILLATOR, -0.5, 0.0, section=section, measures=sweep.Worst("residual"), options={"events": crossing},
            **options,
        )  # fmt: skip
        assert diagram.periods()[0].tolist() == [1, 2, 0], section


def test_plots_show_what_was_swept(diagram):
    pytest.importorskip("matplotlib").use("Agg")
    axes = diagram.plot("v0")
    assert axes.get_xlabel() == "w" and len(axes.lines[0].get_xdata()) == 13 * 16
    chart = sweep.grid(OSCILLATOR, -0.5, 0.0, w=[2.2, 2.6], e=[0.3, 0.6, 0.9], t_span=(0.0, 5.0),
                       measures=sweep.ImpactStatistics())  # fmt: skip
    drawn = chart.plot("impacts").collections[0]
    assert drawn.get_array().shape == (3, 2)
    cloud = scattered(runs=10).plot("e", "impulse_max")
    assert cloud.get_xlabel() == "e" and len(cloud.lines[0].get_xdata()) == 10
    with pytest.raises(sl.SettingError, match="no measure 'impulses'"):
        chart.plot("impulses")


# ---- Monte Carlo


def test_what_a_run_draws_hangs_on_seed_name_and_number_alone():
    many, few = scattered(runs=20, seed=4), scattered(runs=7, seed=4)
    for name in ("e", "v0_0"):
        assert np.array_equal(many.dataset[name][:7], few.dataset[name])
    assert np.array_equal(many["q_end"][:7], few["q_end"])
    assert not np.any(shares(4, "e", 7) == shares(5, "e", 7))
    assert not np.any(shares(4, "e", 7) == shares(4, "w", 7))


@pytest.mark.parametrize(
    ("distribution", "mean", "deviation"),
    [
        (sweep.Uniform(1.0, 4.0), 2.5, 3.0 / np.sqrt(12.0)),
        (sweep.Normal(2.0, 0.3), 2.0, 0.3),
        (sweep.LogNormal(1.5, 0.2), 1.5 * np.exp(0.02), 1.5 * np.exp(0.02) * np.sqrt(np.exp(0.04) - 1.0)),
        (sweep.Triangular(0.0, 1.0, 3.0), 4.0 / 3.0, np.sqrt((0 + 1 + 9 - 0 - 0 - 3) / 18.0)),
        (sweep.Choice(1.0, 2.0), 1.5, 0.5),
    ],
)
def test_distributions_have_their_mean_and_deviation(distribution, mean, deviation):
    drawn = distribution.quantile(shares(1, "x", 200_000))
    assert abs(drawn.mean() - mean) < 5.0 * deviation / np.sqrt(200_000)
    assert abs(drawn.std() - deviation) < 0.01 * deviation


def test_a_normal_distribution_that_is_cut_off_stays_inside():
    drawn = sweep.Normal(0.0, 1.0, low=-0.5, high=2.0).quantile(shares(2, "x", 10_000))
    assert drawn.min() >= -0.5 and drawn.max() <= 2.0 and abs(np.mean(drawn < 0.0) - 0.287) < 0.02


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: scattered(runs=0), "runs is 0"),
        (lambda: scattered(seed=-1), "seed is -1"),
        (lambda: scattered(e=0.5), "give a distribution"),
        (lambda: scattered(nothing=sweep.Uniform(0, 1)), "'nothing', which the system does not have"),
        (lambda: scattered(executor=sweep.Threads), "executor is"),
        (lambda: scattered(measures=sweep.ImpactStatistics("wall")), "no contact 'wall'"),
        (lambda: scattered(options={"h_max": 1.0}), "no option 'h_max'"),
        (lambda: sweep.Threads(0), "at least 1"),
        (lambda: sweep.Normal(0.0, -1.0), "deviation must be positive"),
        (lambda: sweep.bifurcation(OSCILLATOR, 0.0, 0.0, section=sweep.Impacts("stop"), w=[2.0]), "with a period"),
        (lambda: sweep.grid(OSCILLATOR, -0.5, 0.0, t_span=(0, 1)), "one to 3 parameters"),
        (lambda: sweep.grid(OSCILLATOR, [-0.5, 1.0], 0.0, e=[0.5], t_span=(0, 1)), "q0"),
        (lambda: sweep.grid(OSCILLATOR, lambda e: -e, 0.0, e=[0.5], t_span=(0, 1)), "q0 is <function"),
        (lambda: sweep.grid(OSCILLATOR, -0.5, 0.0, e=[0.5]), "t_span is missing"),
        (lambda: scattered(t_span=10.0), "t_span is 10.0"),
        (lambda: scattered(t_span=(0.0, 1.0, 2.0)), "t_span has 3 entries"),
        (lambda: scattered(section=sweep.Strobe(1.0), keep=2), "t_span ends at 15.0"),
        (lambda: scattered(transient=-1.0), "transient is -1.0"),
        (lambda: scattered(transient=math.nan), "transient is nan"),
        (lambda: scattered(transient=15.0), "nothing is measured"),
        (lambda: scattered(measures=[sweep.Impacts("stop"), sweep.Impacts()]), "two measures .* 'impact_count'"),
        (lambda: scattered(measures=sweep.Reduce(lambda t, q, v, m: m, name="e")), "called 'e'"),
        (lambda: scattered(measures=sweep.Reduce(lambda t, q, v, m: m, [])), "memory of Reduce"),
        (lambda: scattered(measures=sweep.Reduce(lambda t, q, v, m: m, at="strobe")), "looks at a strobe"),
        (lambda: scattered(measures=sweep.Period()), "needs sections"),
        (lambda: scattered(measures=sweep.Extremes(0.5)), "coordinate of Extremes is 0.5"),
        (lambda: sweep.Impacts("stop", most=0), "most of Impacts is 0"),
        (lambda: sweep.Period(most=0), "most of Period is 0"),
        (lambda: sweep.grid(OSCILLATOR, -0.5, 0.0, e=np.array([1j]), t_span=(0, 1)), "e is array"),
        (lambda: scattered(e="normal"), "give a distribution"),
        (lambda: scattered(store=5), "store is 5"),
        (lambda: scattered().why(99), "run 99 does not exist"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(sl.SaltusError, match=message):
        wrong()


def test_sections_with_different_room_stand_in_one_dataset():
    diagram = sweep.bifurcation(
        OSCILLATOR, -0.5, 0.0, w=[2.6], transient=3, keep=4, section=sweep.Strobe(2.0),
        measures=sweep.Impacts("stop", most=2),
    )  # fmt: skip
    assert diagram["q"].shape == (1, 1, 4, 1)
    assert np.all(np.isfinite(diagram["impact_t"].values[0, 0, :2])) and np.all(np.isnan(diagram["impact_t"][0, 0, 2:]))


def test_distributions_may_stand_in_an_array():
    drawn, given = [sweep.Uniform(-0.6, -0.4)], {"runs": 3, "t_span": (0.0, 1.0)}
    listed, array = (sweep.monte_carlo(OSCILLATOR, q0, 0.0, **given) for q0 in (drawn, np.array(drawn)))
    assert np.array_equal(listed["q_end"], array["q_end"])


def test_a_function_that_fails_for_some_values_names_the_run():
    def made(k):
        root = math.sqrt(3.0 - k)
        return sl.Problem(sl.System(M=1.0, f=lambda t, q, v: [-root * q[0]]), (0.0, 1.0), [1.0], [0.0])

    with pytest.raises(ValueError, match="math domain") as failed:
        sweep.grid(made, k=[2.5, 4.0], t_span=(0.0, 1.0))
    assert failed.value.__notes__ == ["in run 1, with k = 4.0"]


def test_a_parameter_of_several_numbers_takes_a_row_per_run():
    a = sl.Parameters(k=[1.0, 2.0])
    system = sl.System(M=[1.0, 1.0], f=lambda t, q, v: [-a.k[0] * q[0], -a.k[1] * q[1]])
    rows = np.array([[1.0, 2.0], [4.0, 9.0]])
    made = sweep.monte_carlo(system, [1.0, 1.0], [0.0, 0.0], t_span=(0.0, 1.0), runs=2, k=rows, tol=1e-9)
    assert np.allclose(made["q_end"], np.cos(np.sqrt(rows)), atol=1e-8)


def test_extremes_are_refused_where_a_reset_moves_coordinates():
    back = sl.Event(lambda t, q, v: q[0], reset=lambda t, q, v: (q - 1.0, v), name="back")
    with pytest.raises(sl.errors.SettingError, match="no state before a reset, and event 'back'"):
        scattered(measures=sweep.Extremes(0), options={"events": back})


# ---- executors and stores


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """What one thread stores."""
    folder = tmp_path_factory.mktemp("serial") / "store"
    scattered(folder)
    return content(folder)


def test_threads_processes_and_dask_store_the_same_bytes(serial, tmp_path):
    distributed = pytest.importorskip("distributed")
    scattered(tmp_path / "threads", executor=sweep.Threads(2))
    scattered(tmp_path / "processes", executor=sweep.Processes(1))
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        scattered(tmp_path / "dask", executor=sweep.Dask(client))
    for name in ("threads", "processes", "dask"):
        assert content(tmp_path / name) == serial


def test_a_store_with_missing_and_damaged_chunks_is_completed(serial, tmp_path):
    for k, (name, data) in enumerate(serial.items()):
        if name == "ensemble.json" or k % 3:
            (tmp_path / name).write_bytes(data)
    chunks = sorted(tmp_path.glob("chunk*"))
    chunks[0].write_bytes(chunks[0].read_bytes()[:100])
    (tmp_path / f"{chunks[0].name}.99-0.part").write_bytes(b"half")
    scattered(tmp_path)
    assert content(tmp_path) == serial


def test_a_program_that_is_killed_goes_on_where_it_was(serial, tmp_path):
    program = textwrap.dedent(f"""
        import os, signal, sys
        sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
        from test_sweep import scattered
        from saltus.sweep.store import Store
        put = Store.put
        def last(self, chunk, made):
            put(self, chunk, made)
            if chunk[0] >= 30:
                os.kill(os.getpid(), signal.SIGKILL)
        Store.put = last
        scattered({str(tmp_path / "store")!r})
    """)
    made = subprocess.run([sys.executable, "-c", program])  # noqa: S603
    assert made.returncode == -9
    assert 20 < len(content(tmp_path / "store")) < len(serial)
    scattered(tmp_path / "store")
    assert content(tmp_path / "store") == serial


def test_a_store_of_another_function_is_refused_that_begins_alike(tmp_path):
    def squared(k):
        return sl.Problem(sl.System(M=1.0, f=lambda t, q, v: [-2.0 * k**2 * q[0]]), (0.0, 5.0), [1.0], [0.0])

    def straight(k):
        return sl.Problem(sl.System(M=1.0, f=lambda t, q, v: [-2.0 * k * q[0]]), (0.0, 5.0), [1.0], [0.0])

    options = {"k": [1.0, 1.5, 2.0], "t_span": (0.0, 5.0), "store": tmp_path / "store"}
    made = sweep.grid(straight, **options)
    with pytest.raises(sl.errors.SettingError, match="belongs to another sweep"):
        sweep.grid(squared, **options)
    assert np.array_equal(sweep.grid(straight, **options)["q_end"], made["q_end"])


def test_a_store_of_something_else_is_refused(serial, tmp_path):
    for name, data in serial.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(sl.SettingError, match="parameters or starts of the runs"):
        scattered(tmp_path, seed=9)
    with pytest.raises(sl.SettingError, match="differs in the model"):
        scattered(tmp_path, tol=1e-8)
    about = json.loads(serial["ensemble.json"])
    other_machine = json.dumps({**about, "cpu": "another", "libm": "another"})
    (tmp_path / "ensemble.json").write_text(other_machine, encoding="utf-8")
    with pytest.raises(sl.SettingError, match="the level of the processor, the C library"):
        scattered(tmp_path)
    other = tmp_path / "folder"
    other.mkdir()
    (other / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(sl.SettingError, match="other files"):
        scattered(other)


POISON = """
import os, sys, time
from saltus.ensemble import worker
from saltus.ensemble.engine import Engine
make = Engine.make_runs
def poisoned(self, lane, rows, tick=None):
    if (rows.starts[:, 0] == -0.75).any():
        {deed}
    return make(self, lane, rows, tick)
Engine.make_runs = poisoned
worker.main()
"""


@pytest.mark.parametrize(
    ("deed", "patience", "status"),
    [("os.abort()", None, Status.CRASHED), ("tick(len(rows) - 1); time.sleep(1000.0)", 1.0, Status.ENDLESS)],
    ids=["crash", "endless"],
)
def test_a_poisoned_run_is_named_and_the_others_are_made(deed, patience, status):
    q0 = np.full((3, 1), -0.5)
    q0[2] = -0.75
    command = (sys.executable, "-c", POISON.format(deed=deed))
    options = {"e": sweep.Uniform(0.3, 0.9), "runs": 3, "t_span": (0.0, 5.0), "chunk": 3}
    result = sweep.monte_carlo(OSCILLATOR, q0, 0.0, executor=sweep.Processes(1, patience, command), **options)
    alone = sweep.monte_carlo(OSCILLATOR, q0, 0.0, **options)
    assert result.failed.tolist() == [2] and result.status[2] == status
    others = np.arange(3) != 2
    assert np.array_equal(result["q_end"].values[others], alone["q_end"].values[others])
    assert result.solve(2).success


def test_a_worker_that_cannot_start_is_an_error_and_no_poisoned_run():
    with pytest.raises(sl.RunError, match="cannot make runs"):
        scattered(executor=sweep.Processes(1, command=(sys.executable, "-c", "pass")))


def test_an_interruption_ends_all_threads(monkeypatch):
    def interrupted(self, share, text):
        raise KeyboardInterrupt

    monkeypatch.setattr("saltus.run.progress.Bar.move", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scattered(runs=200, executor=sweep.Threads(2))


def test_functions_that_cannot_be_traced_stay_in_their_process():
    def force(t, q, v):
        return [-float(q[0])]

    system = sl.System(M=1.0, f=force, contacts=[sl.Contact(lambda q: -q[0], e=p.e)])
    options = {"e": [0.5, 0.6], "t_span": (0.0, 0.5), "scheme": sl.MoreauJean(), "h": 1e-2}
    with pytest.warns(sl.SlowFunctionWarning), pytest.raises(sl.SettingError, match="f cannot be traced"):
        sweep.grid(system, -0.5, 0.0, executor=sweep.Processes(1), **options)
    with pytest.warns(sl.SlowFunctionWarning):
        made = sweep.grid(system, -0.5, 0.0, executor=sweep.Threads(2), **options)
    assert len(made.failed) == 0


def test_frames_that_are_cut_off_are_none(tmp_path):
    with open(tmp_path / "pipe", "wb") as file:
        send(file, b"hello")
        file.write((100).to_bytes(8, "little") + b"short")
    with open(tmp_path / "pipe", "rb") as file:
        assert receive(file) == b"hello"
        assert receive(file) is None


# ---- the command line, and what is imported


def test_the_command_line_makes_diagrams_maps_and_monte_carlo(tmp_path, capsys):
    oscillator = ["sweep", "forced-impact-oscillator"]
    diagram = ["--omega", "2.5:2.9:4", "--forcing", "omega", "--transient", "5", "--keep", "4"]
    assert main([*oscillator, *diagram, "--plot", str(tmp_path / "d.png")]) == 0
    assert "bifurcation: 4 runs, 0 failed" in capsys.readouterr().out
    assert (tmp_path / "d.png").stat().st_size > 1000
    chart = ["--omega", "2.2:2.6:2", "--e", "0.5:0.9:3", "--t-end", "5", "--measures", "impacts:stop,worst"]
    assert main([*oscillator, *chart, "--save", str(tmp_path / "map.nc")]) == 0
    assert "stop_impulse_max [N s]" in capsys.readouterr().out
    assert (tmp_path / "map.nc").exists()
    cloud = ["--e", "normal(0.6, 0.05)", "--runs", "6", "--t-end", "5", "--store", str(tmp_path / "store")]
    assert main([*oscillator, *cloud]) == 0
    first = capsys.readouterr().out
    assert main([*oscillator, *cloud, "--executor", "threads:2"]) == 0
    assert capsys.readouterr().out == first and "monte carlo: 6 runs, 0 failed" in first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--omega", "2.5"], "nothing is swept"),
        (["--omega", "2.5:3"], "a range such as"),
        (["--omega", "2:3:0"], "a range of at least one value"),
        (["--omega", "normal(1)"], "normal takes mean, deviation"),
        (["--omega", "2:3:4", "--e", "uniform(0.1, 0.2)"], "do not go together"),
        (["--omega", "2:3:4", "--measures", "impact"], "did you mean impacts"),
        (["--omega", "2:3:4", "--executor", "cluster"], "threads:2"),
        (["--omega", "2:3:4", "--forcing", "phase"], "has no value"),
        (["--omega", "2:3:0"], "at least one value"),
        (["--omega", "2:3:4", "--forcing", "omega", "--t-end", "5"], "do not go together"),
        (["--omega", "2:3:4", "--forcing", "omega", "--transient", "1.5"], "whole number of periods"),
        (["--omega", "2:3:4", "--direction", "both"], "--direction belongs to a diagram"),
        (["--omega", "2:3:4", "--keep", "5"], "--keep needs the period"),
        (["--omega", "2:3:4", "--runs", "5"], "--runs belongs to a Monte Carlo study"),
    ],
)
def test_what_is_typed_wrongly_is_named(words, message, capsys):
    assert main(["sweep", "forced-impact-oscillator", *words]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("options", [{}, {"scheme": sl.MoreauJean(), "h": 1e-3}], ids=["HpTDG", "MoreauJean"])
def test_a_function_may_return_a_mechanism(options):
    def pendulum(length=1.0):
        w = sl.mechanics.Planar(gravity=9.81)
        bar = w.bar(length, mass=1.0)
        w.revolute(w.ground, bar.start)
        w.start(bar, angle=0.3, speed=0.0)
        return w

    lengths = [0.5, 1.0, 2.0]
    made = sweep.grid(pendulum, length=lengths, t_span=(0.0, 1.0), measures=sweep.Worst("violation"), options=options)
    for k, length in enumerate(lengths):
        alone = sl.solve(pendulum(length), (0.0, 1.0), **options)  # MoreauJean with its projection, as for mechanisms
        np.testing.assert_array_equal(made["q_end"][k], alone.q[-1])


def test_importing_sweeps_brings_no_heavy_packages():
    program = (
        "import sys, saltus.sweep; print([m for m in ('xarray', 'dask', 'numba', 'matplotlib') if m in sys.modules])"
    )
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)  # noqa: S603
    assert made.stdout.strip() == "[]"
