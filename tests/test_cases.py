"""Runs of Siconos (Acary, Perignon) reproduced: the same scheme on the same model gives the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems

STEADY = 1e-12  # deviation [m, m/s, N s] that rounding explains over thousands of steps


def deviation(ours: np.ndarray, theirs: np.ndarray) -> float:
    assert ours.shape == theirs.shape
    return float(np.max(np.abs(ours - theirs)))


# ---- bouncing ball


def ball(scheme: sl.MoreauJean) -> sl.Solution:
    problem = problems.zeno_ball(gravity=9.81, e=0.9, q0=1.0, t_end=10.0)
    return sl.solve(problem, scheme=scheme, h=0.005)


def test_the_bouncing_ball_agrees_in_every_row(reference_run):
    theirs, ours = reference_run("bouncing_ball/BouncingBallTS.ref"), ball(sl.MoreauJean())
    assert len(ours.t) == 2001
    assert deviation(ours.t, theirs[:, 0]) <= STEADY
    assert deviation(ours.q[:, 0], theirs[:, 1]) <= STEADY
    assert deviation(ours.v[:, 0], theirs[:, 2]) <= STEADY
    assert deviation(ours.impulse[:, 0], theirs[1:, 3]) <= STEADY


def test_the_projected_ball_agrees_until_the_reference_leaves_a_penetration(reference_run):
    theirs = reference_run("bouncing_ball/BouncingBallTS-MoreauJeanDirectProjectionOSI.ref")
    ours = ball(sl.MoreauJean(projection=True))
    # the reference projects only what its index set holds, we project every penetration
    left = int(np.argmax(theirs[:, 1] < -1e-8))
    assert left > 400  # after three impacts
    assert deviation(ours.q[:left, 0], theirs[:left, 1]) <= STEADY
    assert deviation(ours.v[:left, 0], theirs[:left, 2]) <= STEADY
    assert deviation(ours.v[left], theirs[left, 2:3]) <= STEADY
    assert np.min(ours.q) >= -1e-12 and np.max(ours.end_violation) <= 1e-12


def test_the_linear_galerkin_ball_agrees_in_every_row(reference_run):
    theirs = reference_run("bouncing_ball/BouncingBallTS-D1MinusLinearOSI.ref")
    # theirs decides at every stage, and restitution acts on the left limit: after the accumulation it chatters for ever
    scheme = sl.TDGMinus(1, activation="stage", projection=False, closed_tolerance=1e-8, impact="left")
    ours = sl.solve(problems.zeno_ball(gravity=9.81, e=0.9, q0=1.0, t_end=10.0), scheme=scheme, h=5e-4)
    assert len(ours.t) == 20001
    assert deviation(ours.q[:, 0], theirs[:, 1]) <= 1e-11
    assert deviation(ours.v[:, 0], theirs[:, 2]) <= 1e-11
    impulse = np.zeros(len(ours.t))
    impacts = ours.events[ours.events["kind"] == "impact"]
    impulse[np.searchsorted(ours.t, impacts["t"])] = impacts["impulse"][:, 0]
    assert deviation(impulse, theirs[:, 3]) <= 1e-11
    # and the force at the last stage of every interval
    assert deviation(ours.force_at(ours.t[1:], "-")[:, 0], theirs[1:, 5]) <= 1e-11


# ---- column of beads


def test_the_bead_column_agrees_in_every_row(reference_run):
    theirs = reference_run("column_of_beads/ColumnOfBeadsTS.ref")
    ours = sl.solve(problems.bead_column(), scheme=sl.MoreauJean(), h=5e-4)
    assert ours.q.shape == (4001, 10)
    assert deviation(ours.q, theirs[:, 1:21:2]) <= STEADY
    assert deviation(ours.v, theirs[:, 2:22:2]) <= STEADY


# ---- elastic bar


@pytest.fixture(scope="module")
def bar() -> sl.Solution:
    t_span = (1e-8, 1e-8 + 748 * 2e-6)
    return sl.solve(problems.impacting_bar(), t_span, scheme=sl.MoreauJean(gamma=0.0, closed_tolerance=0.0), h=2e-6)


def test_the_elastic_bar_agrees_at_both_ends_and_in_the_middle(reference_run, bar):
    theirs = reference_run("impacting_bar/ImpactingBar.ref")
    assert deviation(bar.t, theirs[:, 0]) <= 1e-17
    for node, column in ((0, 1), (99, 7), (50, 9)):
        assert deviation(bar.q[:, node], theirs[:, column]) <= 1e-17
        assert deviation(bar.v[:, node], theirs[:, column + 1]) <= 1e-11
    assert deviation(bar.impulse[:, 0], theirs[1:, 4]) <= 1e-13


def test_the_elastic_bar_agrees_in_its_energies(reference_run, bar):
    theirs = reference_run("impacting_bar/ImpactingBar.ref")
    assert deviation(2.0 * bar.energy.kinetic, theirs[:, 6]) <= 1e-12
    stiffness = np.asarray(bar.system.K)
    assert deviation(np.einsum("ki,ij,kj->k", bar.q, stiffness, bar.q), theirs[:, 5]) <= 1e-11


def test_the_elastic_bar_stays_on_the_wall_for_two_passages_of_the_wave(bar):
    h, passages = 2e-6, 2.0 / np.sqrt(210e9 / 7800.0)
    touching = bar.t[1:][bar.impulse[:, 0] > 0.0]
    assert np.all(np.diff(touching) < 1.5 * h)  # one uninterrupted contact
    lasting = touching[-1] - touching[0] + h
    # the front is smeared over an element: 1/100 of the length, 1/100 of a passage
    assert abs(lasting - passages) <= passages / 100.0
    impact, release = bar.events
    assert (impact["kind"], release["kind"]) == ("impact", "release")
    assert abs(impact["t"] - 5e-4) <= 3.0 * h


# ---- slider-crank: sensitive, so only the first crank revolution


def slider_crank(**settings) -> sl.Solution:
    settings = {"gamma": 0.0, "at": "end", "projection": True, "closed_tolerance": 1e-6} | settings
    return sl.solve(problems.slider_crank(t_end=0.02), scheme=sl.MoreauJean(**settings), h=1e-4)


CRANK_ROWS = 201  # t <= 0.02
DIRECT = "slider_crank/SliderCrankMoreauJeanDirectProjectionOSI.ref"
COMBINED = "slider_crank/SliderCrankMoreauJeanCombinedProjectionOSI.ref"


@pytest.fixture(scope="module")
def crank() -> sl.Solution:
    return slider_crank()


def test_the_slider_crank_flies_as_the_reference_before_its_first_impact(reference_run, crank):
    theirs = reference_run(DIRECT)
    # their Newton loop stops at a residual of 1e-6 with |M| about 2e-3 kg m^2: 5e-4 rad/s per step
    flight = slice(0, 28)
    assert deviation(crank.q[flight, 0] / (2.0 * np.pi), theirs[flight, 1]) <= 2e-6
    assert deviation(crank.q[flight, 1:], theirs[flight, 2:4]) <= 1.2e-5
    assert deviation(crank.v[flight], theirs[flight, 4:7]) <= 1.1e-2


def test_the_slider_crank_hits_its_guides_in_the_same_steps(reference_run, crank):
    theirs = reference_run(DIRECT)[1:CRANK_ROWS, 21:25]
    ours = crank.impulse[:, ::2]
    np.testing.assert_array_equal(ours > 0.0, theirs > 0.0)
    impacts = np.flatnonzero(theirs.sum(axis=1))[:3]
    np.testing.assert_array_equal(impacts + 1, [29, 64, 90])
    np.testing.assert_allclose(ours[impacts, :2], theirs[impacts, :2], rtol=0.005)


def test_the_slider_crank_keeps_the_speed_of_the_reference(reference_run, crank):
    theirs = reference_run(DIRECT)[:CRANK_ROWS, 4]
    assert np.max(np.abs(crank.v[:, 0] / theirs - 1.0)) <= 1e-3


def test_the_slider_crank_follows_the_combined_projection_within_a_percent(reference_run, crank):
    theirs = reference_run(COMBINED)[:CRANK_ROWS]
    assert np.max(np.abs(crank.v[:, 0] / theirs[:, 4] - 1.0)) <= 0.01
    # their index set looks ahead: the first impact comes one step earlier, as strong as ours
    first, ours = np.flatnonzero(theirs[:, 21])[0], np.flatnonzero(crank.impulse[:, 0])[0] + 1
    assert ours - first == 1
    np.testing.assert_allclose(crank.impulse[ours - 1, :3:2], theirs[first, 21:23], rtol=0.05)


def test_the_projection_leaves_no_penetration(crank):
    assert np.min(crank.gaps()) >= -1e-10
    assert np.max(crank.end_violation) <= 1e-10


def test_the_other_place_of_evaluation_gives_the_same_impacts_at_order_one(reference_run, crank):
    theirs = reference_run(DIRECT)[1:CRANK_ROWS, 21:25]
    ours = slider_crank(at="theta")
    impacts = np.flatnonzero(theirs.sum(axis=1))[:3]
    strong = np.flatnonzero(ours.impulse[:, ::2].sum(axis=1) > 5e-3)[:3]
    assert np.all(np.abs(strong - impacts) <= 3)
    np.testing.assert_allclose(ours.impulse[strong, :3:2], theirs[impacts, :2], rtol=0.25)
    assert np.max(np.abs(ours.v[:, 0] / crank.v[:, 0] - 1.0)) <= 0.02


# ---- event-driven: the reference writes two rows at each impact, before and after


FOLDER = "bouncing_ball_event_driven"
AGREED = 1e-8  # [s, m, m/s]


def strikes(table: np.ndarray, velocity: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return time, velocity before and velocity after the impacts of a reference run."""
    first = np.flatnonzero(
        (np.diff(table[:, 0]) == 0.0) & (np.diff(np.sign(table[:, velocity])) != 0.0) & (table[1:, velocity] != 0.0)
    )
    return table[first, 0], table[first, velocity], table[first + 1, velocity]


def event_driven(problem: sl.Problem) -> tuple[sl.Solution, np.ndarray]:
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-12)
    return sol, sol.events[sol.events["kind"] == "impact"]


def test_the_event_driven_ball_agrees_in_impacts_and_in_every_row(reference_run):
    theirs = reference_run(f"{FOLDER}/BouncingBallED.ref")
    ours, impacts = event_driven(problems.zeno_ball(gravity=9.81, e=0.9, t_end=8.5))
    times, _, after = strikes(theirs, 2)
    assert len(times) >= 40
    assert deviation(impacts["t"][: len(times)], times) <= AGREED
    assert deviation(impacts["u_plus"][: len(times), 0], after) <= AGREED
    flying = np.min(np.abs(theirs[:, 0, None] - times), axis=1) > AGREED
    states = ours(theirs[flying, 0])
    assert deviation(states.q[:, 0], theirs[flying, 1]) <= AGREED
    assert deviation(states.v[:, 0], theirs[flying, 2]) <= AGREED


def test_the_event_driven_ball_rests_with_its_weight_on_the_floor(reference_run):
    theirs = reference_run(f"{FOLDER}/BouncingBallED-withRestingContact.ref")
    ours, impacts = event_driven(problems.zeno_ball(gravity=9.81, e=0.0, t_end=8.5))
    assert len(impacts) == 1 and abs(impacts["t"][0] - np.sqrt(2.0 / 9.81)) <= 1e-12
    states, force = ours(theirs[:, 0]), ours.force_at(theirs[:, 0])
    resting = theirs[:, 0] > impacts["t"][0] + AGREED
    assert deviation(states.q[:, 0], theirs[:, 1]) <= AGREED
    assert deviation(states.v[resting, 0], theirs[resting, 2]) <= AGREED
    assert np.max(np.abs(states.q[resting])) <= 1e-10
    np.testing.assert_allclose(force[resting, 0], 9.81, rtol=1e-12)
    assert deviation(force[resting, 0], theirs[resting, 4]) <= AGREED


def test_the_event_driven_ball_may_start_with_an_impact(reference_run):
    theirs = reference_run(f"{FOLDER}/BouncingBallED-initialImpact.ref")
    ours, impacts = event_driven(problems.zeno_ball(gravity=9.81, e=0.9, q0=0.0, v0=-1.0, t_end=theirs[-1, 0]))
    first = impacts[0]
    assert 0.0 <= first["t"] <= 1e-14
    np.testing.assert_allclose([first["u_plus"][0], first["impulse"][0]], [0.9, 1.9], rtol=1e-13)
    times, _, after = strikes(theirs, 2)
    early = times < 1.8  # before the accumulation at 1.835 s
    assert np.count_nonzero(early) >= 30
    assert deviation(impacts["t"][: np.count_nonzero(early)], times[early]) <= AGREED
    assert deviation(impacts["u_plus"][: np.count_nonzero(early), 0], after[early]) <= AGREED
    rest = ours.events[ours.events["kind"] == "zeno"]
    assert len(rest) == 1 and abs(rest["t"][0] - 2.0 * 0.9 / (9.81 * 0.1)) <= 1e-10
    late = theirs[theirs[:, 0] > 1.84, 0]
    assert np.max(np.abs(ours(late).q)) <= 1e-10
    np.testing.assert_allclose(ours.force_at(late)[:, 0], 9.81, rtol=1e-12)


def test_the_event_driven_ball_between_floor_and_ceiling_agrees(reference_run):
    theirs = reference_run(f"{FOLDER}/BouncingBallED-TwoContacts.ref")
    room = [sl.Contact(lambda q: q[0], e=0.8, name="floor"), sl.Contact(lambda q: 1.5 - q[0], e=0.8, name="ceiling")]
    ours, impacts = event_driven(sl.Problem(sl.System(1.0, -10.0, contacts=room), (0.0, 10.0), 1.0, 10.0))
    times, _, after = strikes(theirs, 2)
    count = np.count_nonzero(times < ours.events["t"][ours.events["kind"] == "zeno"][0] - 1e-3)
    assert count >= 30 and set(impacts["contact"]) == {"floor", "ceiling"}
    speed = np.where(impacts["contact"] == "floor", 1.0, -1.0) * impacts["u_plus"][:, 0]
    assert deviation(impacts["t"][:count], times[:count]) <= AGREED
    assert deviation(speed[:count], after[:count]) <= AGREED
    assert np.max(np.abs(ours(theirs[-1, 0]).q)) <= 1e-10
    np.testing.assert_allclose(ours.force_at(9.99), [10.0, 0.0], rtol=1e-12)


def test_the_event_driven_stiff_oscillator_agrees(reference_run):
    theirs = reference_run(f"{FOLDER}/LinearOscillatorED.ref")
    floor = sl.Contact(lambda q: q[0], e=0.9, name="floor")
    # mass 1e-3 kg, spring 100 N/m, weight: omega = 316 rad/s
    system = sl.System(1e-3, lambda q: [-100.0 * q[0] - 9.81e-3, -100.0 * q[1]], contacts=[floor])
    problem = sl.Problem(system, (0.0, theirs[-1, 0]), [1.0, 1e-3], [0.0, 0.0])
    _, impacts = event_driven(problem)
    times, before, after = strikes(theirs, 2)
    fast = np.abs(after) > 1.0
    count = np.count_nonzero(fast)
    assert count >= 20 and np.all(fast[:count])
    assert deviation(impacts["t"][:count], times[fast]) <= AGREED
    # velocities in units of the first one, 316 m/s
    assert deviation(impacts["u_plus"][:count, 0] / before[0], after[fast] / before[0]) <= AGREED
