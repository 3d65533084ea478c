"""Work against precision: errors and counts are those of solve, slopes those of the schemes, failures stay."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import math
from types import SimpleNamespace

import numpy as np
import pytest

import saltus as sl
from saltus import problems, study
from saltus.cli import main
from saltus.errors import RunError, SettingError
from saltus.run import progress
from saltus.status import Status

# many sizes with irrational ratios: the place of an impact in its step is any
SIZES = np.geomspace(0.02, 1e-3, 16)


@pytest.fixture(scope="module", params=["zeno_ball", "impact_oscillator"])
def made(request) -> study.WorkPrecision:
    runs = {"events": sl.EventDriven(), "steps": sl.MoreauJean()}
    return study.work_precision(getattr(problems, request.param)(), runs, tols=np.logspace(-2, -8, 7), h=SIZES)


def small(**changes) -> study.WorkPrecision:
    """A study of a few short runs."""
    given = {"tols": (1e-4, 1e-6), "h": (0.1, 0.05)} | changes
    return study.work_precision(problems.zeno_ball(t_end=1.5), [sl.EventDriven(), sl.MoreauJean()], **given)


@pytest.fixture
def replaced(monkeypatch):
    """Put a function before solve: it gets the arguments and a function that really solves."""

    def put(before, where=study.work_precision):
        @functools.wraps(sl.solve)
        def solve(*given, **arguments):
            return before(arguments, lambda *span: sl.solve(*given, *span, **arguments))

        monkeypatch.setitem(where.__globals__, "solve", solve)

    return put


# ---- numbers


def test_errors_fall_with_the_step_size_and_with_the_work(made):
    for quantity in ("q", "v", "impulse"):
        assert made.slope("steps", quantity) == pytest.approx(1.0, abs=0.2)
        assert made.slope("steps", quantity, against="evaluations") == pytest.approx(-1.0, abs=0.2)


def test_errors_fall_with_the_tolerance(made):
    for quantity in ("q", "v", "impulse"):
        assert 0.7 <= made.slope("events", quantity) <= 1.7
        assert made.error("events", quantity)[-1] < 1e-4 * made.error("events", quantity)[0]


def test_evaluations_and_errors_are_those_of_the_run(made):
    problem = getattr(problems, made.problem)()
    runs = [
        ("events", 2, sl.solve(problem, scheme=sl.EventDriven(), tol=1e-4)),
        ("steps", 7, sl.solve(problem, scheme=sl.MoreauJean(), h=SIZES[7])),
    ]
    for label, k, sol in runs:
        point = made.of(label)[k]
        assert point.work == sol.work
        assert made.evaluations(label)[k] == sol.work["f"] + sol.work["jac"] * len(problem.v0)
        for quantity in ("q", "v", "impulse"):
            assert made.error(label, quantity)[k] == study.error(sol, quantity=quantity)


def test_a_jacobian_counts_as_many_evaluations_as_there_are_velocities():
    work = {"f": 10, "jac": 3, "steps": 5, "rejected": 0}
    point = study.WorkPoint("run", "h", 0.1, {}, work, 4, 0.1, 1.0, "")
    assert point.evaluations == 22
    assert math.isnan(study.WorkPoint("run", "h", 0.1, {}, {}, 4, 0.1, 1.0, "no step").evaluations)


def test_slopes_are_those_of_powers_and_leave_out_failures_and_zeros():
    sizes, errors = (0.4, 0.2, 0.1, 0.05, 0.025), (3.2e-2, 4e-3, 5e-4, math.nan, 0.0)  # h^3 / 2
    points = tuple(
        study.WorkPoint("run", "h", h, {("q", "L1"): e}, {"f": round(8 / h), "jac": 0}, 1, 2.0 / h**2, 1.0, "")
        for h, e in zip(sizes, errors, strict=True)
    )
    table = study.WorkPrecision("invented", {"run": {}}, points, (("q", "L1"),), "nothing", "dense", 1, 1, False)
    assert table.slope("run", "q") == pytest.approx(3.0)
    assert table.slope("run", "q", against="evaluations") == pytest.approx(-3.0)
    assert table.slope("run", "q", against="seconds") == pytest.approx(-1.5)


def test_seconds_are_the_fastest_of_all_but_the_warm_up(replaced, monkeypatch):
    now, sizes, costs = [0.0], [], iter([60.0, 3.0, 2.0, 4.0, 8.0, 9.0, 7.0])

    def before(arguments, really):
        sizes.append(arguments["h"])
        now[0] += next(costs)
        return really()

    replaced(before)
    monkeypatch.setitem(study.work_precision.__globals__, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    table = study.work_precision(problems.zeno_ball(t_end=1.5), sl.MoreauJean(), h=(0.05, 0.1), repeat=3)
    assert sizes == [0.1, *[0.05] * 3, *[0.1] * 3]
    assert table.seconds("MoreauJean()").tolist() == [2.0, 7.0]


def test_the_sizes_of_one_h_lie_below_it_with_irrational_ratios():
    table = small(h=0.2, levels=4)
    sizes = table.setting("MoreauJean()")
    assert np.all((sizes <= 0.2 / 2.0 ** np.arange(4)) & (sizes > 0.7 * 0.2 / 2.0 ** np.arange(4)))
    ratio = sizes[0] / sizes[1:]
    assert np.all(np.abs(ratio - np.round(ratio * 8) / 8) > 1e-4)


def test_a_scheme_that_cannot_change_its_step_takes_sizes_that_divide_the_span():
    table = study.work_precision(problems.zeno_ball(), sl.SchatzmanPaoli(), h=0.03, levels=3)
    steps = 4.0 / table.setting("SchatzmanPaoli()")
    assert np.allclose(steps, np.round(steps), rtol=0, atol=1e-9)
    assert not table.failures


# ---- what is run


def test_arguments_of_solve_and_own_settings_count():
    runs = {
        "own": {"scheme": sl.EventDriven(), "tol": [1e-5, 1e-7], "h": 1e-3},
        "relative": {"scheme": sl.EventDriven(), "rtol": 1e-9},
        "one": {"scheme": sl.MoreauJean(), "h": 0.1},
    }
    problem = problems.zeno_ball(t_end=1.5)
    table = study.work_precision(problem, runs, tols=(1e-3,))
    assert table.setting("own").tolist() == [1e-5, 1e-7]
    assert table.setting("one").tolist() == [0.1]
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-7, h=1e-3)
    assert table.of("own")[1].work == sol.work
    sol = sl.solve(problem, scheme=sl.EventDriven(), rtol=1e-9, atol=1e-3)
    assert table.error("relative", "q")[0] == study.error(sol, quantity="q")


def test_a_run_is_found_by_its_scheme():
    table = small()
    assert table.error(sl.MoreauJean(), "q").tolist() == table.error("MoreauJean()", "q").tolist()
    with pytest.raises(SettingError, match="no run is called MoreauJean"):
        table.error(sl.MoreauJean(theta=1.0), "q")


def test_without_an_exact_solution_the_reference_is_event_driven_at_a_hundredth():
    ball = problems.zeno_ball(t_end=1.5)
    blind = sl.Problem(ball.system, ball.t_span, ball.q0, ball.v0, name="blind")
    table = study.work_precision(blind, sl.MoreauJean(), h=(0.1, 0.05), tols=(1e-4,))
    assert "EventDriven() with tol = 1e-06" in str(table)
    assert table.error("MoreauJean()", "v") == pytest.approx(small().error("MoreauJean()", "v"), rel=1e-4)
    fine = sl.solve(ball, scheme=sl.EventDriven(), tol=1e-10)
    again = study.work_precision(blind, sl.MoreauJean(), h=(0.1, 0.05), reference=fine)
    assert again.error("MoreauJean()", "v") == pytest.approx(table.error("MoreauJean()", "v"), rel=1e-4)
    assert "a run of event-driven" in str(again)


def test_impulses_are_left_out_where_the_reference_has_none():
    ball = problems.zeno_ball(t_end=1.5)
    assert ball.exact is not None
    exact = sl.Exact(ball.exact.q, ball.exact.v, None, jumps=ball.exact.jumps)
    assert {x for x, _ in small(reference=exact).measured} == {"q", "v"}
    with pytest.raises(SettingError, match="no impulse"):
        small(reference=exact, quantities=("impulse",))


# ---- failures and interruption


def test_a_run_that_fails_leaves_the_others_alone():
    # explicit steps grow beyond all bounds where h is larger than two over the angular frequency
    problem = problems.impact_oscillator(stiffness=1e6)
    table = study.work_precision(problem, sl.MoreauJean(theta=0.0), h=(0.1, 1e-4))
    with pytest.raises(RunError) as failure:
        sl.solve(problem, scheme=sl.MoreauJean(theta=0.0), h=0.1)
    (point,) = table.failures
    assert point.value == 0.1
    assert point.message == " ".join(str(failure.value).split())
    assert failure.value.solution is not None
    assert point.work == failure.value.solution.work
    assert np.isfinite(table.error("MoreauJean(theta=0.0)", "q")).tolist() == [False, True]


@pytest.fixture
def broken(replaced) -> study.WorkPrecision:
    """A study in which one step size fails half way."""

    def before(arguments, really):
        if arguments.get("h") == 0.05:
            raise RunError("The contact solver did not\nreach its tolerance.", really((0.0, 0.75)))
        return really()

    replaced(before)
    return small(h=(0.1, 0.05, 0.025))


def test_a_failed_run_stays_with_its_message(broken, tmp_path):
    assert [point.value for point in broken.failures] == [0.05]
    assert np.isnan(broken.error("MoreauJean()", "q")).tolist() == [False, True, False]
    assert broken.evaluations("MoreauJean()")[1] == 15
    assert np.isfinite(broken.slope("MoreauJean()", "q"))
    said = "failed at t = 0.75 s: MoreauJean(), h = 0.05: The contact solver did not reach its tolerance."
    assert said in str(broken).splitlines()
    row = next(row for row in broken.rows() if row["value"] == 0.05)
    assert row["message"] == "The contact solver did not reach its tolerance."
    pytest.importorskip("matplotlib")
    figure = broken.plot(path=tmp_path / "broken.png", against="evaluations")
    for axes in figure.axes:
        crosses = [line for line in axes.lines if line.get_marker() == "x" and len(line.get_xdata())]
        assert [list(line.get_xdata()) for line in crosses] == [[15.0]]
    assert any("failed" in text.get_text() for text in figure.legends[0].get_texts())


def test_a_run_that_cannot_even_begin_stays_too(replaced, tmp_path):
    def before(arguments, really):
        if "h" in arguments:
            raise RunError("A state became infinite.")
        return really()

    replaced(before)
    table = small()
    assert np.isnan(table.evaluations("MoreauJean()")).all()
    assert "failed at t = 0 s: MoreauJean(), h = 0.1: A state became infinite." in str(table)
    assert math.isnan(table.slope("MoreauJean()", "q"))
    pytest.importorskip("matplotlib")
    table.plot(path=tmp_path / "all.svg", against="evaluations")


def test_a_reference_that_fails_is_an_error(replaced):
    def before(arguments, really):
        if "tol" in arguments:
            raise RunError("The step size fell below its floor.")
        return really()

    replaced(before)
    ball = problems.zeno_ball(t_end=1.5)
    blind = sl.Problem(ball.system, ball.t_span, ball.q0, ball.v0)
    with pytest.raises(RunError, match=r"the reference, a run of EventDriven.*Give a reference"):
        study.work_precision(blind, sl.MoreauJean(), h=0.1)


@pytest.mark.parametrize("inside", [True, False], ids=["within a run", "between runs"])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interruption_returns_what_is_there(replaced, inside, after, tmp_path):
    count = iter(range(100))

    def before(arguments, really):
        if next(count) != after:
            return really()
        if inside:  # what solve makes of Ctrl-C while it marches
            return dataclasses.replace(really(), status=Status.INTERRUPTED)
        raise KeyboardInterrupt

    replaced(before)
    table = small()
    assert table.interrupted
    assert len(table.points) == max(0, after - 2)  # two warm-up runs come first
    assert f"interrupted after {len(table.points)} runs" in str(table)
    assert len(table.to_csv().splitlines()) == 1 + len(table.rows())
    if after == 0 and inside:
        pytest.importorskip("matplotlib")
        assert table.plot(path=tmp_path / "nothing.png").axes == []


def test_an_interrupted_convergence_study_does_not_go_on(replaced):
    replaced(lambda arguments, really: dataclasses.replace(really(), status=Status.INTERRUPTED), study.convergence)
    with pytest.raises(KeyboardInterrupt):
        study.convergence(problems.zeno_ball(t_end=1.5), sl.MoreauJean(), h=0.1)


# ---- text, files, pictures


def test_csv_holds_every_number(tmp_path):
    table = small(norms=("L1", "Linf"))
    text = table.to_csv(tmp_path / "work.csv")
    assert (tmp_path / "work.csv").read_text(encoding="utf-8") == text
    read = list(csv.DictReader(io.StringIO(text)))
    assert len(read) == 4 * 3 * 2
    for got, row in zip(read, table.rows(), strict=True):
        assert {key: type(row[key])(value) for key, value in got.items()} == row


def test_a_data_frame_has_the_same_rows():
    pd = pytest.importorskip("pandas")
    table = small()
    assert table.to_pandas().equals(pd.DataFrame(table.rows()))


def test_the_text_says_what_was_measured(made):
    text = str(made)
    assert f"{made.problem}: error against work" in text
    assert "against the exact solution" in text
    assert "calls of f plus nv = 1 times Jacobians" in text
    assert text.count("tol 1.00e-") == 7
    assert len({len(line) for line in text.splitlines()[1:3]}) == 1


def test_a_picture_has_a_panel_per_quantity_and_kind_of_work(made, tmp_path):
    pytest.importorskip("matplotlib")
    figure = made.plot(path=tmp_path / "work.png")
    assert len(figure.axes) == 6
    assert (tmp_path / "work.png").stat().st_size > 10_000
    assert all(axes.get_xscale() == axes.get_yscale() == "log" for axes in figure.axes)
    assert {axes.get_xlabel() for axes in figure.axes} == {
        "force evaluations f + nv · Jacobians [-]",
        "computing time [s]",
    }
    wanted = zip(made.evaluations("events"), made.error("events", "q"), strict=True)
    assert sorted(map(tuple, figure.axes[0].lines[0].get_xydata())) == sorted(wanted)


# ---- progress


def test_a_study_says_which_run_is_under_way(monkeypatch):
    said = []
    monkeypatch.setattr(progress.Bar, "move", lambda self, share, text: said.append((share, text)))
    small(progress=True)
    assert [text for share, text in said if text.startswith("run")] == [f"run {k} of 6" for k in range(1, 7)]
    said.clear()
    study.convergence(problems.zeno_ball(t_end=1.5), sl.MoreauJean(), h=0.1, levels=2, grids=1, progress=True)
    assert [text for _, text in said] == ["run 1 of 2", "run 2 of 2"]
    assert said[0][0] == 0.0
    assert 0.25 < said[1][0] < 0.42  # the second has half the step size


def test_a_run_says_how_far_it_will_go(monkeypatch):
    said = []
    monkeypatch.setattr(progress.Bar, "move", lambda self, share, text: said.append((share, text)))
    progress.Progress((1.0, 5.0), True).show(2.0)
    assert said == [(0.25, "t to 5 s")]


# ---- bad input


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tols": ()}, "tols is .*positive numbers"),
        ({"tols": (1e-3, -1.0)}, "tols is .*positive numbers"),
        ({"tols": "fine"}, "tols is 'fine'"),
        ({"h": 0.0}, "h is 0.0"),
        ({"h": None}, r"MoreauJean\(\) needs step sizes"),
        ({"h": 0.1, "levels": 0}, "levels is 0"),
        ({"h": 3.0, "levels": 1}, "larger than the span"),
        ({"repeat": 0}, "repeat is 0"),
        ({"norms": ("L7",)}, "norm is 'L7'"),
        ({"quantities": ("w",)}, "quantity is 'w'"),
        ({"where": "here"}, "where is 'here'"),
        ({"reference": 1.0}, "reference is 1.0"),
    ],
)
def test_wrong_settings_are_refused(changes, says):
    with pytest.raises(SettingError, match=says):
        small(**changes)


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([], "runs is empty"),
        ([sl.MoreauJean(), sl.MoreauJean()], "called the same"),
        ({"a": {"schema": sl.MoreauJean()}}, "did you mean scheme"),
        ({"a": {"scheme": sl.MoreauJean(), "t_span": (0.0, 1.0)}}, "belongs to the study"),
        ({"a": {"scheme": sl.EventDriven(), "rtol": 1e-3, "atol": 1e-3}}, "both rtol and atol"),
        ({"a": {"scheme": sl.EventDriven(), "tol": -1.0}}, "tol of a is -1.0"),
        ({"a": "moreau-jean"}, "it must be a scheme such as"),
        ([sl.MoreauJean], "with brackets"),
    ],
)
def test_wrong_runs_are_refused(runs, says):
    with pytest.raises(SettingError, match=says):
        study.work_precision(problems.zeno_ball(t_end=1.5), runs, h=0.1)


def test_a_reference_has_to_cover_the_span():
    short = sl.solve(problems.zeno_ball(t_end=1.0), scheme=sl.MoreauJean(), h=0.1)
    with pytest.raises(SettingError, match="the reference must cover it"):
        small(reference=short)
    with pytest.raises(SettingError, match="takes a Problem first"):
        study.work_precision(problems.zeno_ball().system, sl.MoreauJean(), h=0.1)  # pyright: ignore


def test_a_table_says_what_it_has():
    table = small(quantities=("q",))
    with pytest.raises(SettingError, match="no errors of v, L1"):
        table.error("MoreauJean()", "v")
    with pytest.raises(SettingError, match="against is 'time'"):
        table.slope("MoreauJean()", "q", against="time")  # pyright: ignore
    with pytest.raises(SettingError, match="against is 'time'"):
        table.plot(against="time")  # pyright: ignore


# ---- command line


@pytest.fixture
def call(capsys):
    """Run a command line; returns exit code, output and errors."""

    def run(line: str):
        code = main(line.split())
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_the_command_prints_and_writes_the_table(call, tmp_path):
    code, out, err = call(
        "work-precision zeno-ball --scheme event-driven,moreau-jean --tols 1e-4,1e-6 --h-max 0.1 --levels 3 --theta 1 "
        f"--t-end 1.5 --quantities q,v --repeat 2 --csv {tmp_path}/wp.csv --plot {tmp_path}/wp.png --against seconds"
    )
    assert (code, err) == (0, "")
    assert "MoreauJean(theta=1.0)" in out
    assert "the fastest of 2 calls" in out
    rows = list(csv.DictReader((tmp_path / "wp.csv").open(encoding="utf-8")))
    assert len(rows) == (2 + 3) * 2
    sol = sl.solve(problems.zeno_ball(t_end=1.5), scheme=sl.EventDriven(), tol=1e-6)
    found = next(row for row in rows if row["value"] == "1e-06")
    assert float(found["error"]) == study.error(sol, quantity="q")
    assert int(found["f"]) == sol.work["f"]
    assert (tmp_path / "wp.png").stat().st_size > 1000


def test_schemes_that_choose_their_steps_need_no_step_size(call):
    code, out, _ = call("work-precision zeno-ball --scheme event-driven --rtol 1e-9 --tols 1e-3 --t-end 1.5")
    assert code == 0
    assert "EventDriven(), rtol=1e-09" in out


def test_an_interrupted_command_prints_what_is_there(call, replaced):
    def before(arguments, really):
        raise KeyboardInterrupt

    replaced(before)
    code, out, err = call("work-precision zeno-ball --scheme event-driven")
    assert code == 130
    assert "interrupted after 0 runs" in out
    assert err == "saltus: interrupted after 0 runs\n"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("work-precision", "PROBLEM is missing"),
        ("work-precision zeno-bal --h-max 0.1", "did you mean zeno-ball?"),
        ("work-precision zeno-ball --scheme moreau-jan --h-max 0.1", "did you mean moreau-jean?"),
        ("work-precision zeno-ball", "--h-max is missing: --h-max 0.04 makes 100 steps"),
        ("work-precision zeno-ball --h-max 0.1 --tols 1e-4;1e-6", "--tols is '1e-4;1e-6': it must be numbers"),
        ("work-precision zeno-ball --h-max 0.1 --tols 0", "must be positive numbers"),
        ("work-precision zeno-ball --h-max 0.1 --tol 1e-4", "did you mean --tols?"),
        ("work-precision zeno-ball --h-max 0.1 --levels 0", "levels is 0"),
        ("work-precision zeno-ball --h-max 0.1 --norms L7", "one or more of L1, L2"),
        ("work-precision zeno-ball --h-max 0.1 --against time", "must be evaluations or seconds or both"),
        ("work-precision zeno-ball --h-max 0.1 --plot wp.docx", "use .png, .pdf or .svg"),
        ("work-precision zeno-ball --h-max 0.1 --csv /no/such/folder/wp.csv", "cannot be written"),
        ("work-precision zeno-ball --scheme event-driven --reference-h 1e-3", "needs a scheme with fixed steps"),
        ("work-precison zeno-ball", "did you mean work-precision?"),
        ("convergence zeno-ball --scheme event-driven --h-max 0.01", "take saltus work-precision"),
        ("list reproduction", "take one of problems, schemes, solvers, controls, reproductions"),
    ],
)
def test_a_wrong_word_gives_one_clear_line_and_code_two(call, line, says):
    code, _, err = call(line)
    assert code == 2
    assert says in err
    assert err.startswith("saltus: ")
    assert err.count("\n") == 1


def test_the_help_has_examples_and_options(call):
    code, out, _ = call("work-precision --help")
    assert code == 0
    assert "$ saltus work-precision zeno-ball" in out
    for option in ("--tols", "--h-max", "--levels", "--repeat", "--csv", "--plot", "--against"):
        assert option in out
    assert "work-precision" in call("--help")[1]


def test_reproductions_are_listed(call):
    code, out, _ = call("list reproductions")
    assert code == 0
    assert out.startswith("figures-5-7 ")
    assert "reproductions:" in call("list")[1]
