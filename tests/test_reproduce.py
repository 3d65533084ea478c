"""Published experiments run anew: their orders, what is exact, the table, the picture and the command."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import saltus as sl
from saltus.cli import main
from saltus.study.measure import ALL_NORMS
from saltus.study.reproductions import REPRODUCTIONS, Experiment, Lecture, Reproduction, lecture
from saltus.study.reproductions.figures_5_7 import clenshaw_curtis_order, experiments, exponential_flight
from saltus.study.reproductions.lecture import all_families, floor

DEGREES = (1, 2, 3)
LABELS = ["MJ", *(f"D{degree}{side}" for degree in DEGREES for side in "-+")]


@pytest.fixture(scope="module")
def made() -> Reproduction:
    return sl.study.figures_5_7(quick=True, degrees=DEGREES, progress=False)


@pytest.fixture(scope="module")
def shown() -> Lecture:
    return lecture(quick=True, progress=False)


@pytest.fixture
def call(capsys):
    """Run a command line; returns exit code, output and errors."""

    def run(line: str):
        code = main(line.split())
        out, err = capsys.readouterr()
        return code, out, err

    return run


# ---- what the source found


@pytest.mark.parametrize(
    "experiment, quantity", [("free flight", "q"), ("free flight", "v"), ("rest phase", "impulse")]
)
def test_degree_one_is_of_order_two_and_moreau_jean_of_order_one_without_impacts(made, experiment, quantity):
    assert made.orders[experiment, "MJ", quantity] == pytest.approx(1.0, abs=0.1)
    for label in ("D1-", "D1+"):
        assert made.orders[experiment, label, quantity] == pytest.approx(2.0, abs=0.1)


def test_free_flight_is_exact_from_degree_two_on_and_has_no_impulse(made):
    for label in LABELS:
        assert made.orders["free flight", label, "impulse"] == math.inf
        assert (made.orders["free flight", label, "v"] == math.inf) == (label not in ("MJ", "D1-", "D1+"))


def test_the_resting_ball_stays_where_it_is_and_its_impulse_is_exact_from_degree_two_on(made):
    for label in LABELS:
        assert made.orders["rest phase", label, "q"] == math.inf
        assert made.orders["rest phase", label, "v"] == math.inf
        assert (made.orders["rest phase", label, "impulse"] == math.inf) == (label not in ("MJ", "D1-", "D1+"))


def test_order_drops_to_one_through_impacts_whatever_the_degree(made):
    for quantity in ("q", "v", "impulse"):
        orders = [made.orders["combined", label, quantity] for label in LABELS]
        assert all(0.7 < order < 1.2 for order in orders), (quantity, orders)


def test_under_constant_load_all_degrees_see_the_same_impacts(made):
    table = made.tables["combined"]
    for label in LABELS[2:]:
        assert table.mean(label, "v") == pytest.approx(table.mean("D1-", "v"), rel=1e-9)


# ---- beyond the source


@pytest.mark.parametrize(
    "experiment, quantity", [("exponential flight", "q"), ("exponential flight", "v"), ("exponential rest", "impulse")]
)
def test_exponential_loads_show_the_order_of_every_degree(made, experiment, quantity):
    for label, order in {"D1": 2.0, "D2": 4.0, "D3": 4.0}.items():
        for side in "-+":
            assert made.orders[experiment, label + side, quantity] == pytest.approx(order, abs=0.15)


def test_the_expected_orders_are_those_of_clenshaw_curtis_quadrature():
    assert [clenshaw_curtis_order(f"D{degree}-") for degree in range(1, 7)] == [2, 4, 4, 6, 6, 8]


def test_the_exponential_flight_is_its_own_derivative_and_stays_above_the_floor():
    problem = exponential_flight()
    t, step = np.linspace(0.1, 3.9, 20), 1e-4
    exact = problem.exact
    for function, rate in ((exact.q, exact.v), (exact.v, lambda t: -0.01 * np.exp(2.0 * t)[:, None])):
        assert (function(t + step) - function(t - step)) / (2.0 * step) == pytest.approx(rate(t), rel=1e-7)
    assert exact.q(np.array([0.0, 4.0]))[:, 0].min() > 0.0


# ---- fits, table, picture


def invented(errors: list[float]) -> Reproduction:
    """One experiment whose errors are given."""
    h = 0.5 ** np.arange(len(errors))
    experiment = Experiment("invented", sl.problems.zeno_ball(), tuple(h), 1, "grid", lambda label, quantity: 8.0)
    found = {("MJ", quantity, "L1"): np.array(errors)[:, None] for quantity in ("q", "v", "impulse")}
    table = sl.study.Convergence("invented", {"MJ": None}, h[:, None], found)
    return Reproduction("invented", {"one": experiment}, {"one": table}, lambda made: None)


def test_levels_at_rounding_are_left_out_of_the_fit():
    clean = [1e-6 * 0.5 ** (8 * k) for k in range(3)]
    order, constant = invented([*clean, 1e-16, 3e-16]).fit("one", "MJ", "v")
    assert order == pytest.approx(8.0, abs=1e-9)
    assert constant == pytest.approx(1e-6, rel=1e-9)


def test_one_level_above_rounding_makes_no_order():
    made = invented([1e-6, 1e-17, 1e-17])
    assert math.isnan(made.orders["one", "MJ", "v"])
    assert "  -  " in str(made)


def test_an_error_of_rounding_is_called_exact():
    made = invented([0.0, 2e-16, 1e-16])
    assert made.orders["one", "MJ", "q"] == math.inf
    assert "exact" in str(made)


def test_an_unknown_experiment_is_named_with_those_there_are():
    with pytest.raises(sl.SettingError, match="no experiment is called 'two': there are one"):
        invented([1.0, 0.5]).fit("two", "MJ", "q")


def test_the_table_gathers_schemes_that_read_the_same(made):
    lines = [line.split() for line in str(made).splitlines()]
    assert ["free", "flight", "all", "7", "schemes", "impulse", "exact", "0.0e+00", "exact"] in lines
    assert len(made.rows()) == 5 * 3 * len(LABELS)
    assert set(made.rows()[0]) == {"experiment", "scheme", "quantity", "order", "error", "expected"}


def test_the_picture_has_a_panel_per_figure_and_quantity_with_units_and_orders(made, tmp_path):
    figure = made.plot(path=tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 10_000
    assert len(figure.axes) == 12
    assert all(axes.get_xlabel().endswith("[s]") and "[" in axes.get_title(loc="left") for axes in figure.axes)
    shown = " ".join(text.get_text() for text in figure.axes[0].get_legend().get_texts())
    assert f"{made.orders['free flight', 'MJ', 'q']:.2f}" in shown
    assert "exact" in shown


def test_every_experiment_of_the_full_run_has_enough_levels_and_grids():
    full, quick = experiments(), experiments(quick=True)
    assert full["combined"].grids >= 6
    assert all(len(experiment.h) >= 4 for experiment in (*full.values(), *quick.values()))
    assert all(len(full[name].h) > len(quick[name].h) for name in full)


@pytest.mark.parametrize("degrees", [(0,), (13,), (1.5,), (True,), ()])
def test_wrong_degrees_are_refused(degrees):
    with pytest.raises(sl.SettingError, match="degree"):
        sl.study.figures_5_7(degrees=degrees)


# ---- the lecture

ESTIMATES = ("order 0", "order 1", "order 2")
PROBLEMS = ("ball", "oscillator")


@pytest.mark.parametrize("family, labels", [("orders", ESTIMATES), ("variable-order", ("variable",))])
def test_differences_alone_ignore_the_tolerance_on_the_ball_with_theta_one_half(shown, family, labels):
    table = shown.tables[family, "ball"]
    for label in labels:
        assert table.error(f"{label}, θ = 1/2", "q").min() > 1e-2
        assert abs(shown.slope(family, "ball", f"{label}, θ = 1/2", "v")) < 0.2


def test_with_the_violation_the_ball_follows_the_tolerance(shown):
    for label in ESTIMATES:
        assert shown.slope("violation", "ball", f"{label}, θ = 1/2", "q") > 0.9
        assert shown.slope("violation", "ball", f"{label}, θ = 1/2", "v") > 0.8


@pytest.mark.parametrize("problem", PROBLEMS)
def test_located_impacts_make_the_error_fall_with_the_tolerance(shown, problem):
    for theta in ("1/2", "1"):
        for quantity in ("q", "v"):
            assert shown.slope("variable-order", problem, f"located, θ = {theta}", quantity) > 0.8


@pytest.mark.parametrize("family", ["orders", "violation"])
def test_theta_one_costs_as_much_work_as_precision_whatever_the_order_of_the_estimate(shown, family):
    for label in ESTIMATES:
        slope = shown.slope(family, "ball", f"{label}, θ = 1", "q", against="evaluations")
        assert slope == pytest.approx(-1.0, abs=0.15)


@pytest.mark.parametrize("family", ["implicit", "half-explicit"])
def test_any_order_reaches_the_order_of_its_base_and_one_more_where_flight_is_exact(shown, family):
    for base, order in all_families()[family].promised.items():
        for quantity in ("q", "v"):
            assert shown.slope(family, "oscillator", base, quantity) > order - 0.25
            assert shown.slope(family, "ball", base, quantity) == pytest.approx(order + 1.0, abs=0.1)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_splitting_is_of_order_one_and_follows_the_tolerance_where_impacts_are_located(shown, problem):
    for label in ("constant", "impulses only"):
        assert shown.slope("splitting", problem, label, "q") == pytest.approx(1.0, abs=0.25)  # errors scatter
    assert shown.slope("splitting", problem, "located in time", "q") > 0.8
    table = shown.tables["splitting", problem]
    assert table.error("located in time", "q")[-1] < 1e-2 * table.error("constant", "q")[-1]


def test_no_run_of_the_lecture_fails(shown):
    assert not any(table.failures for table in shown.tables.values())
    assert "failed" not in str(shown)


def test_slopes_of_the_lecture_end_where_rounding_begins(shown):
    table = shown.tables["half-explicit", "ball"]
    error, h = table.error("dop853", "q"), table.setting("dop853")
    above = error > floor("ball", "q")
    assert 3 <= np.count_nonzero(above) < len(error)
    fitted = np.polyfit(np.log(h[above]), np.log(error[above]), 1)[0]
    assert shown.slope("half-explicit", "ball", "dop853", "q") == pytest.approx(fitted, rel=1e-12)


def test_an_unknown_family_of_the_lecture_is_named_with_those_there_are(shown):
    with pytest.raises(sl.SettingError, match="families contains 'order': families are orders, violation"):
        lecture(families=["order"])
    with pytest.raises(sl.SettingError, match="no runs of orders, rod: there are orders, ball"):
        shown.slope("orders", "rod", "order 0, θ = 1", "q")


def test_the_picture_of_the_lecture_has_two_panels_and_slopes_for_each_family_and_problem(shown, tmp_path):
    families = {name: shown.families[name] for name in ("orders", "implicit")}
    tables = {key: table for key, table in shown.tables.items() if key[0] in families}
    figure = Lecture(families, tables).plot(path=tmp_path / "lecture.png")
    assert (tmp_path / "lecture.png").stat().st_size > 10_000
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == 2 * 2 * 2
    assert all(axes.get_xlabel() == "work [evaluations]" and "[m" in axes.get_title(loc="left") for axes in panels)
    texts = [text.get_text() for axes in figure.axes if axes.get_legend() for text in axes.get_legend().get_texts()]
    assert len(texts) == 2 * sum(len(family.runs) for family in families.values())
    slope = shown.slope("implicit", "oscillator", "radau5", "q")
    assert any(text.startswith("radau5") and f"{slope:.2f}" in text for text in texts)


def test_the_full_lecture_has_more_tolerances_and_finer_steps():
    full, quick = all_families(), all_families(quick=True)
    for name, family in full.items():
        for label, run in family.of("ball").items():
            few = quick[name].of("ball")[label]
            setting = "tol" if "tol" in run else "h"
            assert len(run[setting]) > len(few[setting])
            assert min(run[setting]) <= min(few[setting])


# ---- the command


def test_the_command_prints_the_table_and_draws_the_picture(call, tmp_path):
    code, out, err = call(f"reproduce Figures_5_7 --quick --degrees 1 --out {tmp_path}/figures.svg")
    assert (code, err) == (0, "")
    for word in ("free flight", "rest phase", "combined", "exponential rest", "expected", "written"):
        assert word in out
    assert (tmp_path / "figures.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_the_command_writes_every_run_of_the_lecture(call, tmp_path):
    code, out, err = call(f"reproduce lecture --quick --families implicit --csv {tmp_path}/runs.csv")
    assert (code, err) == (0, "")
    for word in ("radau3", "lobatto3c", "oscillator", "promised", "written"):
        assert word in out
    head, *lines = (tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith("family,problem,run,setting,value,quantity,norm,error,evaluations")
    assert len(lines) == 2 * 2 * sum(
        len(run["h"]["ball"]) for run in all_families(quick=True)["implicit"].runs.values()
    )


@pytest.mark.parametrize(
    "line, message",
    [
        ("reproduce", "NAME is missing: write saltus reproduce figures-5-7 or lecture or lecture-orders or paoli"),
        ("reproduce paoli --into /no/such/file.md", "/no/such/file.md cannot be read"),
        ("reproduce paoli --degrees 1", "paoli has no --degrees: leave it out"),
        ("reproduce figure-5-6", "no reproduction is called 'figure-5-6': did you mean figures-5-7?"),
        ("reproduce figures-5-7 --degrees 1,x", "--degrees is '1,x': it must be whole numbers"),
        ("reproduce figures-5-7 --degrees 0", "degrees contains 0: degrees are whole numbers, 1 to 12"),
        ("reproduce figures-5-7 --families implicit", "figures-5-7 has no --families: leave it out"),
        ("reproduce lecture --degrees 1", "lecture has no --degrees: leave it out"),
        ("reproduce lecture --csv /no/such/folder/runs.csv", "/no/such/folder"),
        ("reproduce figures-5-7 --degree 2", "did you mean --degrees?"),
        ("reproduce figures-5-7 --out errors.txz", "use .png, .pdf or .svg"),
        ("reproduce figures-5-7 --out /no/such/folder/errors.png", "/no/such/folder"),
    ],
)
def test_a_wrong_word_is_answered_in_one_line_before_anything_runs(call, line, message):
    code, out, err = call(line)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


# ---- tables: the lecture's first half, Paoli, Delassus


def test_the_orders_of_the_lecture_are_one_a_half_none_and_one():
    made = REPRODUCTIONS["lecture-orders"](quick=True, progress=False)
    for scheme in ("Moreau-Jean, θ = 1/2", "Schatzman-Paoli", "splitting, RKF45"):
        orders = {norm: made.results["oscillator", norm].order(scheme, "v", norm) for norm in ALL_NORMS}
        assert 0.8 < orders["L1"] < 1.2
        assert 0.35 < orders["L2"] < 0.7
        assert abs(orders["Linf"]) < 0.2
        assert 0.75 < orders["hausdorff"] < 1.25


def test_paolis_ball_is_its_closed_form_and_corners_are_as_continuous_as_diagnosed():
    made = REPRODUCTIONS["paoli"](quick=True)
    for (what, *rest), (first, second) in made.results.items():
        if what == "ball":
            e, h = rest
            assert first <= (1.0 + e) * h
            assert second <= 1e-12
        else:
            assert (first < 1e-9) == second  # spread of neighbouring starts; (H'4) and (H'5) hold


def test_forces_that_turned_negative_must_not_be_dropped_one_by_one():
    made = REPRODUCTIONS["delassus"]().results
    assert np.all(made["bilateral"] < 0.0)
    assert np.all(made["naive"] == 0.0)
    np.testing.assert_allclose(made["lawful"], [5.518125, 0.0], rtol=1e-12)
    for gaps in made["gaps"].values():
        assert abs(gaps[0]) < 1e-4 < gaps[1]


def test_tables_are_written_into_documents(call, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- saltus reproduce delassus -->\nold\n<!-- end of delassus -->\nafter\n", encoding="utf-8"
    )
    for _ in range(2):  # what stands there is replaced
        code, _, err = call(f"reproduce delassus --into {page}")
        assert (code, err) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert text.count("| contact law (LCP) | 5.518 |") == 1
    code, _, err = call(f"reproduce paoli --into {page}")
    assert code == 2 and "has no place for the tables" in err


def test_the_tables_of_the_docs_are_those_of_the_scripts():
    page = (Path(__file__).parent.parent / "docs" / "papers.md").read_text(encoding="utf-8")
    assert REPRODUCTIONS["delassus"]().markdown() in page
    heads = [
        line for line in page.splitlines() if line.startswith("| scheme | v, L1 | v, L2 | v, Linf | v, hausdorff |")
    ]
    assert len(heads) == 2
