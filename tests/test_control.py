"""Step-size control: errors of adaptive runs follow the tolerance, through impacts and accumulations."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus.control import Fixed, Richardson, VariableOrder
from saltus.study import errors

problems = sl.problems
BALL, OSCILLATOR, ZENO = problems.zeno_ball(), problems.impact_oscillator(), problems.zeno_oscillator()
SLIDER = problems.slider_crank(t_end=0.02)
TOLERANCES = np.logspace(-2.0, -6.0, 9)
MJ = sl.MoreauJean()


def sweep(problem, scheme, tolerances, *, control=None, reference=None):
    """Return the L1 errors of q and v over the tolerances, and both in units of tol, span and magnitude."""
    found, shares = [], []
    for tol in tolerances:
        sol = sl.solve(problem, scheme=scheme, tol=tol, control=control)
        pair = np.array([errors(sol, reference, quantity, ("L1",))["L1"] for quantity in ("q", "v")])
        span = sol.t[-1] - sol.t[0]
        magnitude = np.array([max(1.0, np.abs(sol.q).max()), max(1.0, np.abs(sol.v).max())])
        found.append(pair)
        shares.append(pair / (tol * span * magnitude))
    return np.array(found), np.array(shares)


def slopes(tolerances, found):
    return np.polyfit(np.log(tolerances), np.log(found), 1)[0]


@pytest.mark.parametrize("problem", [BALL, OSCILLATOR, ZENO], ids=lambda p: p.name)
def test_errors_fall_with_the_tolerance_through_impacts(problem):
    found, shares = sweep(problem, MJ, TOLERANCES)
    assert np.all(slopes(TOLERANCES, found) >= 0.8)
    assert np.all(shares <= 30.0)


@pytest.mark.parametrize("problem", [BALL, OSCILLATOR, ZENO], ids=lambda p: p.name)
def test_errors_of_the_first_order_scheme_fall_with_the_tolerance_too(problem):
    tolerances = np.logspace(-2.0, -3.5, 6)  # its steps are as short as the tolerance
    found, shares = sweep(problem, sl.MoreauJean(theta=1.0), tolerances)
    assert np.all(slopes(tolerances, found) >= 0.8)
    assert np.all(shares <= 30.0)


def test_errors_of_the_slider_crank_fall_with_the_tolerance():
    reference = sl.solve(SLIDER, scheme=sl.EventDriven(), tol=1e-12)
    tolerances = np.logspace(-2.0, -5.5, 12)
    found, shares = sweep(SLIDER, MJ, tolerances, reference=reference)
    assert np.all(slopes(tolerances, found) >= 0.8)
    assert np.all(shares <= 30.0)


def test_differences_alone_ignore_the_tolerance_on_the_ball_and_halving_at_impacts_cures_it():
    tolerances = np.logspace(-2.0, -6.0, 5)
    plain = Richardson(order=1, horizon="step", impacts=False)
    stalled, _ = sweep(BALL, MJ, tolerances, control=plain)
    assert stalled.min(axis=0)[1] > 0.05  # m/s times s: no digit of the velocity is right at any tolerance
    cured, shares = sweep(BALL, MJ, tolerances, control=Richardson(order=1))
    assert np.all(slopes(tolerances, cured) >= 0.8)
    assert np.all(shares <= 30.0)


@pytest.mark.parametrize("control", [Richardson(1), Richardson(2)], ids=lambda c: f"order {c.order}")
def test_every_order_of_richardson_keeps_the_tolerance_over_a_horizon(control):
    tolerances = np.logspace(-2.0, -5.0, 7)
    found, shares = sweep(OSCILLATOR, MJ, tolerances, control=control)
    assert np.all(slopes(tolerances, found) >= 0.8)
    assert np.all(shares <= 30.0)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_violation_of_contacts_makes_the_lectures_control_converge(order):
    tolerances = np.logspace(-2.0, -6.0, 9)
    control = Richardson(order, horizon="step", impacts=False, violation=True)
    found, _ = sweep(BALL, MJ, tolerances, control=control)
    assert np.all(slopes(tolerances, found) >= 0.8)


@pytest.mark.parametrize(
    ("scheme", "most"),
    [(sl.PaoliVelocity(), -3.5), (sl.TDGMinus(2), -6.0)],
    ids=["Paoli", "D2-"],
)
def test_controls_work_with_other_schemes(scheme, most):
    tolerances = np.logspace(-2.0, most, 6)
    found, shares = sweep(BALL, scheme, tolerances)
    assert np.all(slopes(tolerances, found) >= 0.8)
    assert np.all(shares <= 30.0)


@pytest.mark.parametrize("control", [VariableOrder(), Richardson(2, norm="rms"), Richardson(2, norm="mean")])
def test_smooth_motion_is_as_accurate_as_asked_for(control):
    problem = problems.free_flight()
    sol = sl.solve(problem, scheme=MJ, tol=1e-5, control=control)
    assert np.max(np.abs(sol.q[-1] - problem.exact.q(sol.t[-1]))) < 3e-5 * max(1.0, np.abs(sol.q).max())


def test_the_guessed_order_spends_no_more_than_the_true_one():
    guessed = sl.solve(OSCILLATOR, scheme=MJ, tol=1e-5).work["f"]
    known = sl.solve(OSCILLATOR, scheme=MJ, tol=1e-5, control=Richardson(2)).work["f"]
    too_low = sl.solve(OSCILLATOR, scheme=MJ, tol=1e-5, control=Richardson(1)).work["f"]
    assert guessed < 1.2 * known < too_low


def test_work_stays_bounded_through_an_accumulation():
    counts = [sl.solve(BALL, scheme=MJ, tol=tol).work["f"] for tol in (1e-4, 1e-8)]
    assert counts[1] < 4 * counts[0]  # flight is exact: four digits more only cost halvings


def test_steps_are_as_long_after_an_impact_as_they_were_before():
    sol = sl.solve(OSCILLATOR, scheme=MJ, tol=1e-4)
    h, first = np.diff(sol.t), sol.events["t"][0]
    k = int(np.searchsorted(sol.t, first))  # the node at which the impact step ends
    assert h[k - 1] < 1e-3 * h[: k - 1].max()
    assert h[k] > 0.2 * np.median(h[: k // 2])


def test_accepted_steps_have_an_error_of_one_at_most():
    sol = sl.solve(OSCILLATOR, scheme=MJ, tol=1e-4)
    assert 0.5 < sol.step_error.max() <= 1.0
    assert sol.work["rejected"] > 0
    assert sol.work["f"] == 3 * (sol.work["steps"] + sol.work["rejected"])


def test_the_velocity_can_count_in_smooth_steps():
    with_v = sl.solve(OSCILLATOR, scheme=MJ, tol=1e-3, control=Richardson(2, velocities=True))
    fast = sl.solve(problems.impact_oscillator(), scheme=MJ, tol=1e-3, control=Richardson(2))
    assert with_v.success
    assert with_v.work["steps"] >= fast.work["steps"]


def test_a_horizon_of_a_step_spends_less_and_errs_more():
    per_step = sl.solve(OSCILLATOR, scheme=MJ, tol=1e-5, control=VariableOrder(horizon="step"))
    per_span = sl.solve(OSCILLATOR, scheme=MJ, tol=1e-5)
    short = sl.solve(OSCILLATOR, scheme=MJ, tol=1e-5, control=VariableOrder(horizon=2.0))
    works = [sol.work["f"] for sol in (per_step, short, per_span)]
    assert works == sorted(works)
    found = [errors(sol, None, "q", ("L1",))["L1"] for sol in (per_step, short, per_span)]
    assert found == sorted(found, reverse=True)


def test_friction_joint_coordinates_and_many_contacts_are_controlled_too():
    for problem in (problems.rolling_sphere(t_end=0.5), problems.bead_column(n=3, t_end=0.5)):
        sol = sl.solve(problem, scheme=MJ, tol=1e-3)
        assert sol.success
        assert sol.step_error.max() <= 1.0


def test_step_doubling_by_hand_gives_the_same_run():
    wrapped = sl.solve(BALL, scheme=sl.StepDoubling(MJ), tol=1e-4, control=VariableOrder())
    plain = sl.solve(BALL, scheme=MJ, tol=1e-4)
    np.testing.assert_array_equal(wrapped.t, plain.t)
    np.testing.assert_array_equal(wrapped.q, plain.q)
    # an order of the wrapper scales only its own estimate
    third = sl.solve(BALL, scheme=sl.StepDoubling(MJ, 2), tol=1e-4, control=VariableOrder())
    np.testing.assert_allclose(third.t, plain.t, rtol=1e-9)


def test_breaks_and_a_longest_step_are_kept():
    sol = sl.solve(BALL, scheme=MJ, tol=1e-3, breaks=[1.5], control=VariableOrder(h_max=0.05))
    assert np.any(sol.t == 1.5)
    assert np.diff(sol.t).max() <= 0.05 * (1.0 + 1e-8)


def test_a_controlled_run_goes_on_from_its_checkpoint(tmp_path):
    path = tmp_path / "run.h5"
    whole = sl.solve(BALL, scheme=MJ, tol=1e-4, checkpoint=path)
    again = sl.resume(path, BALL)
    np.testing.assert_array_equal(again.t, whole.t)
    np.testing.assert_array_equal(again.q, whole.q)


BAD = {
    "order": (lambda: Richardson(-1), r"order of Richardson is -1: it must be a whole number"),
    "order 1.5": (lambda: Richardson(1.5), r"order of Richardson is 1\.5"),
    "highest": (lambda: VariableOrder(0), r"highest of VariableOrder is 0"),
    "norm": (lambda: VariableOrder(norm="L1"), r"norm of VariableOrder is 'L1': it must be 'max', 'rms' or 'mean'"),
    "horizon": (lambda: Richardson(horizon=-1.0), r"horizon of Richardson is -1\.0: .*a positive time"),
    "horizon of order 0": (lambda: Richardson(0, horizon="span"), r"errors of order 0 cannot be spread.*order=1"),
    "safety": (lambda: Richardson(safety=1.5), r"safety of Richardson is 1\.5"),
    "ratios": (lambda: Richardson(smallest=2.0), r"smallest and largest of Richardson are 2\.0, 6\.0"),
    "h_max": (lambda: VariableOrder(h_max=0.0), r"h_max of VariableOrder is 0\.0"),
    "words": (lambda: VariableOrder(h_max="long"), r"h_max of VariableOrder is 'long': it must be a number"),
    "violation": (lambda: VariableOrder(violation=1e-3), r"violation of VariableOrder is 0\.001: .*True or False"),
    "norm of wrapper": (lambda: sl.StepDoubling(MJ, norm="L2"), r"norm of StepDoubling is 'L2'"),
    "velocity of wrapper": (lambda: sl.StepDoubling(MJ, velocities=1), r"velocities of StepDoubling is 1"),
    "event-driven wrapped": (lambda: sl.StepDoubling(sl.EventDriven()), r"EventDriven ends them where it likes"),
    "fixed step wrapped": (lambda: sl.StepDoubling(sl.SchatzmanPaoli()), r"SchatzmanPaoli cannot change its step"),
    "fixed step": (
        lambda: sl.solve(BALL, scheme=sl.SchatzmanPaoli(), h=0.01, control=Richardson()),
        r"SchatzmanPaoli cannot change its step",
    ),
    "fixed step, tol": (
        lambda: sl.solve(BALL, scheme=sl.SchatzmanPaoli(), h=0.01, tol=1e-4),
        r"Schatzman-Paoli estimates no error.*cannot change its step",
    ),
    "event-driven": (
        lambda: sl.solve(BALL, scheme=sl.EventDriven(), control=Richardson()),
        r"estimates its error itself.*leave control out",
    ),
    "h and tol": (lambda: sl.solve(BALL, scheme=MJ, h=0.01, tol=1e-4), r"Moreau-Jean estimates no error.*leave h out"),
    "fixed and tol": (
        lambda: sl.solve(BALL, scheme=MJ, h=0.01, tol=1e-4, control=Fixed()),
        r"Moreau-Jean estimates no error",
    ),
    "two norms": (
        lambda: sl.solve(BALL, scheme=sl.StepDoubling(MJ), tol=1e-4, control=Richardson(norm="rms")),
        r"norm of StepDoubling is 'max', but that of Richardson is 'rms'",
    ),
    "no tolerance": (lambda: sl.solve(BALL, scheme=MJ), r"h is missing"),
    "class": (lambda: sl.solve(BALL, scheme=MJ, tol=1e-4, control=Richardson), r"must be a control"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_control_is_refused_with_a_remedy(case):
    make, says = BAD[case]
    with pytest.raises(sl.SettingError, match=says):
        make()
