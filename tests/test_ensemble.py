"""Many runs in one compiled loop: every run is the one that `solve` makes, reduced to what its tables say."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems, sweep
from saltus.ensemble import engine as engines
from saltus.ensemble.loop import LOOP_TUNED
from saltus.flight.promise import start_of
from saltus.status import Status

p = sl.Parameters(w=2.6, e=0.8, gap=0.0)


def osc_force(t, q, v):
    return [-q[0] + np.cos(p.w * t)]


OSCILLATOR = sl.System(
    M=1.0, f=osc_force, contacts=[sl.Contact(lambda q: p.gap - q[0], e=p.e, name="stop")], name="oscillator"
)
RANGES = {"w": sweep.Uniform(1.5, 6.0), "e": sweep.Uniform(0.1, 0.95)}
STARTS = [sweep.Uniform(-1.0, 0.0)], [sweep.Uniform(-1.0, 1.0)]


def scattered(runs=12, **options):
    """Runs that differ in everything."""
    given = {"t_span": (0.0, lambda: 10.0 * np.pi / p.w), "seed": 5, **options}
    return sweep.monte_carlo(OSCILLATOR, *STARTS, runs=runs, **RANGES, **given)


def assert_same_end(result, k, **options):
    """Assert that run k ends as `solve` ends it, to the last bit."""
    alone = result.solve(k, **options)
    reduced = result._reduced
    assert reduced.ends[k].tobytes() == np.concatenate([[alone.t[-1]], alone.q[-1], alone.v[-1]]).tobytes()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scheme": sl.EventDriven()},
        {"scheme": sl.HpTDG(), "tol": 1e-9, "options": {"max_step": 0.3}},
        {"scheme": sl.MoreauJean(), "h": 1e-2},
        {"scheme": sl.StepDoubling(sl.MoreauJean()), "h": 2e-2},
        {"scheme": sl.MoreauJean(), "tol": 1e-3},
        {"scheme": sl.TDGMinus(), "h": 3e-2},
    ],
    ids=["hp-TDG", "event-driven", "shortened", "Moreau-Jean", "doubled", "variable order", "TDG-"],
)
def test_every_run_has_the_bits_of_solve(options):
    result = scattered(**options)
    assert len(result.failed) == 0
    for k in range(len(result)):
        assert_same_end(result, k)


@pytest.mark.parametrize("options", [{}, {"scheme": sl.EventDriven()}, {"scheme": sl.MoreauJean(), "h": 1e-2}])
def test_breaks_end_steps_of_every_run_as_they_do_in_solve(options):
    given = {"t_span": (0.0, 4.0), **options}
    result = scattered(options={"breaks": [0.5, 2.0 / 3.0, 3.1]}, **given)
    whole = scattered(**given)
    assert len(result.failed) == 0
    for k in range(len(result)):
        assert_same_end(result, k)
        assert set(np.array([0.5, 2.0 / 3.0, 3.1])) <= set(result.solve(k).t)
    assert result._reduced.ends.tobytes() != whole._reduced.ends.tobytes()


def test_breaks_outside_of_a_span_or_beside_a_strobe_are_refused():
    with pytest.raises(sl.SettingError, match="inside of all spans: run"):
        scattered(options={"breaks": [9.0]})
    with pytest.raises(sl.SettingError, match="leave breaks out"):
        sweep.grid(OSCILLATOR, -0.5, 0.0, w=[2.6], section=sweep.Strobe(2.0), options={"breaks": [3.0]})


@pytest.mark.parametrize(
    "options", [{}, {"scheme": sl.EventDriven()}, {"scheme": sl.MoreauJean(), "h": 1e-3}], ids=["hp", "events", "mj"]
)
def test_runs_under_poissons_law_have_the_bits_of_solve(options):
    ends = [
        sl.Contact(
            lambda q, s=s: q[1] + s * np.sin(q[2]), e=p.e, mu=0.3, slip=lambda t, q, v, s=s: v[0] - s * q[2] * v[2],
            name=f"end {s}", impact="poisson",
        )
        for s in (-0.5, 0.5)
    ]  # fmt: skip
    rod = sl.System(M=np.diag([1.0, 1.0, 0.1]), f=[0.0, -9.81, 0.0], contacts=ends)
    start = {"q0": [0.0, sweep.Uniform(0.4, 0.7), 0.3], "v0": [1.0, 0.0, 0.2]}
    result = sweep.monte_carlo(rod, **start, e=sweep.Uniform(0.2, 0.8), runs=8, t_span=(0.0, 0.8), **options)
    assert len(result.failed) == 0
    for k in range(len(result)):
        assert_same_end(result, k)


def test_runs_of_a_scheme_that_remembers_steps_have_the_bits_of_solve():
    result = sweep.grid(
        OSCILLATOR, -0.5, 0.0, w=[2.1, 2.6], e=[0.3, 0.9], t_span=(0.0, 2.0), scheme=sl.SchatzmanPaoli(), h=2e-3
    )
    for k in range(4):
        assert_same_end(result, k)


def test_masses_and_rows_that_differ_from_start_to_start_have_the_bits_of_solve():
    m = sl.Parameters(mass=1.0, length=1.0)
    pendulum = sl.System(
        M=lambda q: [[m.mass * m.length**2]],
        f=lambda t, q, v: [-m.mass * 9.81 * m.length * np.sin(q[0])],
        contacts=[sl.Contact(lambda q: m.length * np.sin(q[0]) + 0.2, e=0.7, name="wall")],
    )
    result = sweep.monte_carlo(
        pendulum, [sweep.Uniform(0.2, 1.0)], [0.0], mass=sweep.Uniform(0.5, 20.0), length=sweep.Uniform(0.3, 2.0),
        runs=8, t_span=(0.0, 3.0),
    )  # fmt: skip
    for k in range(8):
        assert_same_end(result, k)


def test_a_model_that_a_function_makes_has_the_bits_of_solve():
    result = sweep.monte_carlo(
        problems.circuit_breaker, clearance=sweep.Uniform(4e-5, 6e-5), runs=2, t_span=(0.0, 3e-4), seed=1
    )
    assert_same_end(result, 0)
    drawn = result.dataset["clearance"].values
    alone = sl.solve(problems.circuit_breaker(clearance=drawn[1]), (0.0, 3e-4))
    assert alone.q[-1].tobytes() == result.dataset["q_end"].values[1].tobytes()


def test_a_run_does_not_hang_on_the_chunk_before():
    def made(height):
        floor = sl.Contact(lambda q: q[0], e=0.6)
        return sl.Problem(sl.System(M=2.0, f=-19.62, K=3.0, contacts=[floor]), (0.0, 1.0), height, 0.0)

    # the control looks at the span, which is that of run 0 in run 2, and another one in between
    end = lambda height: np.where(height > 1.5, 40.0, 1.0)  # noqa: E731
    options = {"t_span": (0.0, end), "scheme": sl.MoreauJean(), "tol": 1e-2}
    result = sweep.monte_carlo(made, height=[1.0, 2.0, 1.0], runs=3, chunk=1, **options)
    for k in range(3):
        assert_same_end(result, k)


def test_a_strobe_is_solve_with_breaks():
    result = sweep.grid(
        OSCILLATOR, -0.5, 0.0, w=[2.2, 2.6, 2.9], section=sweep.Strobe(lambda: 2.0 * np.pi / p.w), transient=3, keep=5
    )
    for k in range(3):
        period = 2.0 * np.pi / result.dataset["w"].values[k]
        times = [period * (3 + j) for j in range(1, 6)]
        alone = sl.solve(
            OSCILLATOR, (0.0, period * 8), -0.5, 0.0, breaks=times[:-1], parameters={"w": 2.0 * np.pi / period}
        )
        places = np.searchsorted(alone.t, times)
        assert np.array_equal(result.dataset["t"].values[k], alone.t[places])
        assert np.array_equal(result.dataset["q"].values[k], alone.q[places])
        assert np.array_equal(result.dataset["v"].values[k], alone.v[places])


def test_counted_steps_meet_every_strobe():
    result = sweep.grid(
        OSCILLATOR, -0.5, 0.0, w=[2.2, 2.9], section=sweep.Strobe(lambda w: 2.0 * np.pi / w), transient=2, keep=4,
        scheme=sl.MoreauJean(), h=1e-2,
    )  # fmt: skip
    for k in range(2):
        assert_same_end(result, k)
        assert np.allclose(np.diff(result.dataset["t"].values[k]), 2.0 * np.pi / result.dataset["w"].values[k])


def test_the_next_number_is_one_addition_away():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-10, 10, 2000) * 10.0 ** rng.integers(-300, 300, 2000), [0.0, 1.0, -1.0, 2.0**60]])
    step = LOOP_TUNED.half * np.abs(x) + LOOP_TUNED.tiny
    assert np.array_equal(x + step, np.nextafter(x, np.inf))
    assert np.array_equal(x - step, np.nextafter(x, -np.inf))


@pytest.mark.parametrize("scheme", [None, sl.MoreauJean()], ids=["hp-TDG", "Moreau-Jean"])
def test_how_often_the_loop_returns_changes_no_bit(monkeypatch, scheme):
    options = {"scheme": scheme, "h": None if scheme is None else 2e-2, "measures": [sweep.ImpactStatistics("stop")]}
    before = scattered(**options)._reduced
    monkeypatch.setattr(engines, "ENGINES", engines.ENGINES._replace(chunk_seconds=0.0, first_budget=1))
    after = scattered(**options)._reduced
    for name in ("status", "counts", "worst", "ends", "out"):
        assert getattr(before, name).tobytes() == getattr(after, name).tobytes()


def test_the_buffers_of_a_run_do_not_grow_with_its_impacts():
    lanes = []
    make = engines.Engine.lane

    def kept(self):
        lanes.append(make(self))
        return lanes[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines.Engine, "lane", kept)
        for periods in (5, 2000):
            made = sweep.grid(
                OSCILLATOR, -0.5, 0.0, w=[2.6], t_span=(0.0, periods * 2.0 * np.pi / 2.6),
                measures=[sweep.ImpactStatistics(), sweep.Impacts("stop", most=4), sweep.Worst()],
            )  # fmt: skip
    assert made["impacts"].values[0] > 1900
    assert lanes[0].bytes == lanes[1].bytes
    assert_same_end(made, 0)


# ---- how runs end


def test_a_start_inside_of_a_contact_is_a_status_and_the_others_are_made():
    result = sweep.monte_carlo(
        OSCILLATOR, [[-0.5], [0.3], [-0.2]], [0.0], gap=[0.0, 0.0, 0.1], runs=3, t_span=(0.0, 5.0)
    )
    assert result.failed.tolist() == [1]
    assert result.status.tolist() == [0, Status.START_REFUSED, 0]
    assert "violates" in result.why(1)
    with pytest.raises(sl.ModelError, match="q0 violates contact 'stop'"):
        result.solve(1)
    assert_same_end(result, 2)


def test_a_run_with_too_many_steps_ends_with_that_status():
    result = scattered(options={"max_steps": 9})
    spent = result.status == Status.STEPS_SPENT
    assert spent.any()
    assert np.all(result._reduced.counts[spent, :2].sum(axis=1) == 9)
    with pytest.raises(sl.LimitError):
        result.solve(int(result.failed[0]))


def test_a_terminal_event_ends_a_run_well():
    turn = sl.Event(lambda t, q, v: q[0] + 0.4, terminal=True, name="far")
    result = sweep.grid(
        OSCILLATOR, -0.5, 0.0, w=[2.2, 2.6], t_span=(0.0, 20.0), options={"events": turn},
        measures=sweep.FirstPassage("far"),
    )  # fmt: skip
    assert np.all(result.status == Status.TERMINATED) and len(result.failed) == 0
    assert np.array_equal(result["far_passage"], result["t_end"])
    assert_same_end(result, 1)


def untraced(t, q, v):
    """A force that is called as Python, and fails for the largest parameter when the mass comes near."""
    if float(p.w) > 2.5 and float(q[0]) < 0.9:
        raise ValueError("too fast")
    return [-float(q[0]) * float(p.w) ** 2]


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_a_function_that_fails_in_one_run_ends_that_run_only():
    system = sl.System(M=1.0, f=untraced)
    options = {"t_span": (0.0, 0.5), "scheme": sl.MoreauJean(), "h": 1e-2}
    result = sweep.grid(system, 1.0, 0.0, w=[2.0, 2.6, 2.4], **options)
    assert result.status.tolist() == [0, Status.MODEL_FAILED, 0]
    with pytest.raises(sl.RunError, match="too fast"):
        result.solve(1)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_functions_that_are_called_as_python_see_the_parameters_of_their_run():
    system = sl.System(M=1.0, f=untraced)
    result = sweep.grid(system, 1.0, 0.0, w=[1.0, 2.4], t_span=(0.0, 0.5), scheme=sl.MoreauJean(), h=1e-2)
    assert np.allclose(result["q_end"][:, 0], np.cos(0.5 * np.array([1.0, 2.4])), atol=1e-3)
    for k in range(2):
        assert_same_end(result, k)


# ---- reducers


@pytest.fixture(scope="module")
def measured():
    """Runs with everything that is measured, and the same ones alone."""
    own = sweep.Reduce(
        lambda t, q, v, event, m: [m[0] + event.impulse[0], np.where(event.t > m[1], event.t, m[1]), m[2] + p.w],
        [0.0, -1.0, 0.0], at="stop", name="own",
    )  # fmt: skip
    lowest = sweep.Reduce(lambda t, q, v, m: np.where(q[0] < m, q[0], m), 10.0, name="lowest")
    everything = [
        sweep.ImpactStatistics("stop"), sweep.FirstPassage("stop"), sweep.Worst(), sweep.Impacts("stop", most=5),
        sweep.Extremes(0), own, lowest,
    ]  # fmt: skip
    result = scattered(8, measures=everything)
    return result, [result.solve(k) for k in range(8)]


def struck(solution):
    return solution.events[np.isin(solution.events["kind"], ("impact", "zeno"))]


def test_statistics_are_those_of_the_table_of_events(measured):
    result, alone = measured
    for k, solution in enumerate(alone):
        events = struck(solution)
        assert result["stop_impacts"][k] == events["count"].sum()
        assert result["stop_impulse_max"][k] == events["impulse"][:, 0].max(initial=0.0)
        assert np.isclose(result["stop_impulse_sum"][k], events["impulse"][:, 0].sum(), rtol=1e-13)
        assert result["stop_speed_max"][k] == np.abs(events["u_minus"][:, 0]).max(initial=0.0)
        assert result["stop_t_last"][k] == events["t"][-1]
        assert result["stop_passage"][k] == result["stop_t_first"][k] == events["t"][0]


def test_the_section_of_impacts_holds_the_last_ones_with_their_states(measured):
    result, alone = measured
    for k, solution in enumerate(alone):
        events = struck(solution)[-5:]
        times = result["impact_t"].values[k][: len(events)]
        assert np.array_equal(times, events["t"])
        assert np.array_equal(result["impact_u_minus"].values[k][: len(events)], events["u_minus"][:, 0])
        ends = np.isin(times, solution.t)
        places = np.searchsorted(solution.t, times[ends])
        assert np.array_equal(result["impact_q"].values[k][: len(events)][ends], solution.q[places])
        assert result["impact_count"][k] == len(struck(solution))


def test_own_reducers_see_events_states_and_parameters(measured):
    result, alone = measured
    for k, solution in enumerate(alone):
        events = struck(solution)
        total, last, turns = result["own"].values[k]
        assert np.isclose(total, events["impulse"][:, 0].sum(), rtol=1e-13)
        assert last == events["t"][-1]
        assert np.isclose(turns, len(events) * float(result.dataset["w"][k]), rtol=1e-13)
        assert result["lowest"][k] == solution.q[1:, 0].min()


def test_worst_values_are_those_that_the_run_saw(measured):
    result, alone = measured
    for k, solution in enumerate(alone):
        assert 0.0 < result["residual"][k] <= solution.residual.max()
        assert result["violation"][k] <= max(solution.violation.max(), 1e-12)
        scale = solution.energy.kinetic.max()
        assert np.isclose(result["defect"][k], solution.energy.defect[-1], rtol=0.0, atol=1e-12 * scale)


def test_extremes_of_a_free_oscillation_are_its_amplitude():
    a = sl.Parameters(stiffness=1.0)
    free = sl.System(M=1.0, f=lambda t, q, v: [-a.stiffness * q[0]])
    result = sweep.grid(free, 0.3, 0.7, stiffness=[0.5, 1.0, 3.0], t_span=(0.0, 20.0), measures=sweep.Extremes(0))
    amplitude = np.hypot(0.3, 0.7 / np.sqrt(result.dataset["stiffness"].values))
    assert np.allclose(result["q0_max"], amplitude, atol=1e-6)
    assert np.allclose(result["q0_min"], -amplitude, atol=1e-6)
    assert_same_end(result, 2)


def test_an_event_with_the_name_of_one_that_a_measure_needs_is_refused():
    """Silently taken for it, the largest value was that of some end of a step."""
    free = sl.System(M=1.0, f=lambda t, q, v: [-q[0]], coordinates=("x",))
    options = {"t_span": (0.0, 20.0), "runs": 3}
    other = sl.Event(lambda q: q[0] - 5.0, name="turn of q[0]")
    with pytest.raises(sl.SettingError, match=r"'turn of q\[0\]'.*name it otherwise"):
        sweep.monte_carlo(
            free, [sweep.Uniform(0.1, 0.2)], 0.7, measures=sweep.Extremes(0), options={"events": other}, **options
        )
    both = sweep.monte_carlo(
        free, [sweep.Uniform(0.1, 0.2)], 0.7, measures=[sweep.Extremes(0), sweep.Extremes("x")], **options
    )
    assert np.array_equal(both["q0_max"], both["x_max"])


def test_a_reducer_that_cannot_be_traced_is_refused():
    with pytest.raises(sl.ModelError, match="'own' cannot be traced"):
        scattered(measures=sweep.Reduce(lambda t, q, v, m: float(str(q[0])), 0.0, name="own"))


# ---- rows


def test_the_settings_of_many_spans_are_those_of_each():
    from saltus.build.model import compile_model

    rng = np.random.default_rng(1)
    for problem in (problems.chain(), problems.circuit_breaker(), problems.rolling_sphere()):
        model = compile_model(problem.system, 0.0, problem.q0.copy(), problem.v0.copy())
        for scheme in (sl.EventDriven(), sl.HpTDG(tol=1e-9, scale=0.3)):
            try:
                plan = scheme.plan(model.layout)
            except sl.SettingError:  # a law that this scheme does not do
                continue
            ends = rng.uniform(0.01, 500.0, 5)
            start = start_of(model, 0.0, problem.q0, plan.promise.scale)
            places, values = plan.promise.numbers(plan.settings, model.layout, np.zeros(5), ends, start)
            for end, row in zip(ends, values, strict=True):
                alone = plan.promise.fill(plan.settings, model, (0.0, end), problem.q0)
                assert alone[places].tobytes() == row.tobytes()


def test_an_impossible_law_names_its_run():
    with pytest.raises(sl.ModelError, match="run 2: e of contact 'stop' is"):
        sweep.grid(OSCILLATOR, -0.5, 0.0, e=[0.2, 0.9, 1.2], t_span=(0.0, 1.0))


def test_models_of_another_structure_are_refused():
    def made(mass):
        contacts = [sl.Contact(lambda q: q[0])] if mass > 1.5 else []
        return sl.Problem(sl.System(M=mass, f=-9.81 * mass, contacts=contacts), (0.0, 1.0), 1.0, 0.0)

    with pytest.raises(sl.SettingError, match="run 1 is not built as that of run 0"):
        sweep.grid(made, mass=[1.2, 1.8])


def test_problems_with_spans_of_their_own_are_refused():
    def made(height):
        system = sl.System(M=2.0, f=-9.81, contacts=[sl.Contact(lambda q: q[0])])
        return sl.Problem(system, (0.0, height), height, 0.0)

    with pytest.raises(sl.SettingError, match="the problem of run 1 goes from 0 to 3 s"):
        sweep.grid(made, height=[2.0, 3.0])
    result = sweep.grid(made, height=[2.0, 3.0], t_span=(0.0, lambda height: height))
    assert result["t_end"].values.tolist() == [2.0, 3.0]
