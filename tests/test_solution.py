"""What a run hands back: grid, limits, impulses, forces, thinning, breaks, interruption, energy, words."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
import time
from typing import ClassVar

import numpy as np
import pytest

import saltus as sl
from saltus.io import settings

ROUNDING = 1e-12
BINARY = 1.0 / 64.0  # a step that no sum can round


def bounce(**options) -> sl.Solution:
    """The ball of f = -2, e = 1/2, from rest at 1: impacts at 1, 2, 2.5, ..., at rest from t = 3."""
    settings = {"scheme": sl.MoreauJean(theta=0.5), "h": 0.01, **options}
    return sl.solve(sl.problems.zeno_ball(), **settings)


def fall(**options) -> sl.Solution:
    """A free fall with f = -2 from 1, v = 3; exact for theta = 1/2 at any step."""
    settings = {"t_span": (0.0, 2.0), "scheme": sl.MoreauJean(theta=0.5), "h": 0.01, **options}
    return sl.solve(sl.System(M=1.0, f=-2.0), q0=1.0, v0=3.0, **settings)


def sliding_box() -> sl.Problem:
    """A box that is thrown onto a rough floor: q = (height, distance)."""
    floor = sl.Contact(lambda q: q[0], e=0.5, mu=0.3, slip=lambda t, q, v: v[1], name="floor")
    return sl.Problem(sl.System(M=2.0, f=[-20.0, 0.0], contacts=[floor]), (0.0, 2.0), [0.5, 0.0], [0.0, 4.0])


# ---- shapes and protection


def test_arrays_have_one_row_per_kept_time_and_one_less_per_step():
    sol = sl.solve(sliding_box(), scheme=sl.MoreauJean(), h=0.01)
    assert sol.t.shape == (201,)
    assert sol.q.shape == sol.v.shape == sol.v_minus.shape == (201, 2)
    assert sol.impulse.shape == (200, 2)
    assert sol.joint_impulse.shape == (200, 0)
    assert sol.residual.shape == sol.violation.shape == (200,)
    assert sol.rows == (("floor", "N"), ("floor", "T"))
    assert sol.gaps().shape == (201, 1)
    np.testing.assert_array_equal(sol.gaps()[:, 0], sol.q[:, 0])


def test_the_first_row_is_the_start():
    sol = sl.solve(sliding_box(), scheme=sl.MoreauJean(), h=0.01)
    np.testing.assert_array_equal(sol.q[0], [0.5, 0.0])
    np.testing.assert_array_equal(sol.v[0], [0.0, 4.0])
    np.testing.assert_array_equal(sol.v_minus[0], [0.0, 4.0])


@pytest.mark.parametrize("save", ["steps", "events", 7, [0.5, 1.5, 4.0]])
def test_arrays_are_read_only_whatever_is_kept(save):
    sol = bounce(save=save)
    for field in dataclasses.fields(sol):
        value = getattr(sol, field.name)
        if isinstance(value, np.ndarray) and value.size:
            assert not value.flags.writeable, field.name
    with pytest.raises(ValueError, match="read-only"):
        sol.q[0] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        sol.t = np.zeros(3)


def test_a_run_without_contacts_has_empty_tables():
    sol = fall()
    assert sol.impulse.shape == (200, 0)
    assert len(sol.events) == 0
    assert sol.impulse_at(1.0).shape == (0,)
    assert sol.energy.dissipation.shape == (201, 0)


# ---- events


def test_the_event_table_names_time_contact_kind_velocities_impulse_count_and_energy():
    sol = bounce()
    assert sol.events.dtype.names == ("t", "contact", "kind", "u_minus", "u_plus", "impulse", "count", "energy")
    impacts = sol.events[sol.events["kind"] == "impact"]
    assert set(impacts["contact"]) == {"floor"}
    assert np.all(np.isin(impacts["t"], sol.t))
    np.testing.assert_allclose(impacts["u_plus"][:, 0], -0.5 * impacts["u_minus"][:, 0], rtol=ROUNDING)
    np.testing.assert_array_equal(impacts["u_minus"][:, 1:], 0.0)
    steps = np.searchsorted(sol.t, impacts["t"]) - 1
    np.testing.assert_array_equal(impacts["impulse"][:, 0], sol.impulse[steps, 0])


def test_a_lasting_contact_begins_with_closing_and_ends_with_release():
    # the floor sinks away faster than the body can fall from t = 1 on
    floor = sl.Contact(lambda t, q: q[0] + np.where(t > 1.0, 5.0 * (t - 1.0) ** 2, 0.0), name="floor")
    system = sl.System(M=1.0, f=-2.0, contacts=[floor])
    sol = sl.solve(system, (0.0, 2.0), 0.0, 0.0, scheme=sl.MoreauJean(), h=BINARY)
    lasting = sol.events[np.isin(sol.events["kind"], ["closing", "release"])]
    assert list(lasting["kind"]) == ["closing", "release"]
    assert lasting["t"][1] == pytest.approx(1.0, abs=2.5 * BINARY)


def test_sliding_ends_with_a_stick_event():
    sol = sl.solve(sliding_box(), scheme=sl.MoreauJean(), h=0.001)
    kinds = list(sol.events["kind"])
    assert kinds.index("slip") < kinds.index("stick")
    assert sol.v[-1, 1] == pytest.approx(0.0, abs=ROUNDING)


def test_events_of_a_long_contact_name_keep_the_whole_name():
    name = "left rear corner of the slider against the upper guide"
    system = sl.System(M=1.0, f=-2.0, contacts=[sl.Contact(lambda q: q[0], name=name)])
    sol = sl.solve(system, (0.0, 2.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.01)
    assert set(sol.events["contact"]) == {name}
    assert sol.force_at(1.9)[0] == pytest.approx(2.0)


# ---- dense output


def test_dense_output_at_the_nodes_is_the_table():
    sol = bounce()
    right, left = sol(sol.t), sol(sol.t, side="-")
    np.testing.assert_array_equal(right.q, sol.q)
    np.testing.assert_array_equal(right.v, sol.v)
    np.testing.assert_array_equal(left.q, sol.q)
    np.testing.assert_array_equal(left.v, sol.v_minus)


def test_one_sided_limits_at_an_impact_differ_by_the_impulse():
    sol = bounce()
    impacts = sol.events[sol.events["kind"] == "impact"]
    assert len(impacts) > 3
    left, right = sol(impacts["t"], side="-"), sol(impacts["t"], side="+")
    np.testing.assert_array_equal(left.q, right.q)
    np.testing.assert_allclose((right.v - left.v)[:, 0], impacts["impulse"][:, 0], rtol=0.0, atol=ROUNDING)
    assert np.all(left.v < 0.0)
    assert np.all(right.v > 0.0)
    np.testing.assert_allclose(sol(impacts["t"] - 1e-9, side="+").v, left.v, atol=1e-7)


def test_away_from_jumps_both_sides_agree():
    sol = fall()
    times = np.linspace(0.0, 2.0, 77)
    np.testing.assert_allclose(sol(times, side="-").v, sol(times, side="+").v, rtol=0.0, atol=ROUNDING)


def test_dense_output_of_a_free_fall_is_exact():
    sol = fall(h=0.3)
    times = np.random.default_rng(1).uniform(0.0, 2.0, 100)
    state = sol(times)
    np.testing.assert_allclose(state.q[:, 0], 1.0 + 3.0 * times - times**2, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(state.v[:, 0], 3.0 - 2.0 * times, rtol=0.0, atol=ROUNDING)


def test_a_scalar_time_gives_vectors_and_a_list_gives_rows():
    sol = sl.solve(sliding_box(), scheme=sl.MoreauJean(), h=0.01)
    assert sol(0.123).q.shape == sol(0.123).v.shape == (2,)
    assert sol([0.123, 0.2, 0.3]).q.shape == (3, 2)
    assert sol.impulse_at(0.123).shape == (2,)
    assert sol.impulse_at([0.1, 0.2]).shape == sol.force_at([0.1, 0.2]).shape == (2, 2)


def test_step_doubling_interpolates_each_of_its_halves():
    times = np.linspace(0.0, 4.0, 999)
    double = bounce(scheme=sl.StepDoubling(sl.MoreauJean(theta=0.5)), h=2.0 * BINARY)
    single = bounce(h=BINARY)
    np.testing.assert_allclose(double(times).q, single(times).q, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(double(times).v, single(times).v, rtol=0.0, atol=ROUNDING)


def test_an_impact_in_the_middle_of_a_doubled_step_has_both_limits():
    double = bounce(scheme=sl.StepDoubling(sl.MoreauJean(theta=0.5)), h=2.0 * BINARY)
    single = bounce(h=BINARY)
    impacts = single.events["t"][single.events["kind"] == "impact"]
    assert not np.all(np.isin(impacts, double.t))
    for side in ("-", "+"):
        np.testing.assert_allclose(double(impacts, side).v, single(impacts, side).v, rtol=0.0, atol=ROUNDING)


SCHEMES = (
    sl.MoreauJean(),
    sl.PaoliVelocity(),
    sl.GeneralizedAlpha(),
    sl.SchatzmanPaoli(),
    sl.StepDoubling(sl.MoreauJean()),
    sl.StepDoubling(sl.StepDoubling(sl.MoreauJean())),
)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_a_hundred_thousand_times_at_once_are_the_same_as_one_after_the_other(scheme):
    sol = bounce(scheme=scheme, h=4e-4)
    assert len(sol.t) == 10_001
    random = np.random.default_rng(2)
    times = random.uniform(0.0, 4.0, 100_000)
    times[::50] = random.choice(sol.t, 2000)
    some = random.choice(len(times), 300, replace=False)
    some[:100] = some[:100] // 50 * 50  # nodes
    for side in ("+", "-"):
        made = sol(times, side), sol.impulse_at(times, side), sol.force_at(times, side)
        for i in some:
            state = sol(times[i], side)
            assert state.q == made[0].q[i]
            assert state.v == made[0].v[i]
            assert sol.impulse_at(times[i], side) == made[1][i]
            assert sol.force_at(times[i], side) == made[2][i]


def test_times_may_come_in_any_order_and_none_is_an_answer_too():
    sol = bounce()
    times = np.linspace(0.0, 4.0, 501)
    mixed = np.random.default_rng(3).permutation(501)
    np.testing.assert_array_equal(sol(times[mixed]).v, sol(times).v[mixed])
    np.testing.assert_array_equal(sol.impulse_at(times[mixed]), sol.impulse_at(times)[mixed])
    assert sol([]).q.shape == sol.impulse_at([]).shape == sol.force_at([]).shape == (0, 1)


@pytest.mark.parametrize("ask", ["__call__", "impulse_at", "force_at", "joint_force_at"])
def test_a_table_of_times_an_unknown_side_and_a_time_outside_are_refused(ask):
    question = getattr(bounce(), ask)
    with pytest.raises(sl.SettingError, match=r"t has the shape \(2, 2\)"):
        question([[0.0, 1.0], [2.0, 3.0]])
    with pytest.raises(sl.SettingError, match="side is 'left'"):
        question(1.0, side="left")
    with pytest.raises(sl.SettingError, match=r"t = 4\.5 lies outside of the run, 0\.0 to 4\.0"):
        question([1.0, 4.5, 5.0])
    with pytest.raises(sl.SettingError, match="must be a time"):
        question("noon")


def test_positions_between_the_nodes_use_the_rate_of_the_coordinates_themselves():
    sol = sl.solve(sl.problems.spinning_top(t_end=0.05), scheme=sl.MoreauJean(), h=0.001)
    middles, h = sol.t[:-1] + 0.5 * np.diff(sol.t), np.diff(sol.t)[:, None]
    q_dot = np.array([sol.system.q_dot(q, v) for q, v in zip(sol.q[:-1], sol.v[:-1], strict=True)])
    # the parabola through both ends whose slope at the start is q_dot
    expected = 0.75 * sol.q[:-1] + 0.25 * sol.q[1:] + 0.25 * h * q_dot
    np.testing.assert_allclose(sol(middles).q, expected, rtol=0.0, atol=ROUNDING)


# ---- impulses and forces


def test_the_left_limit_of_the_accumulated_impulse_leaves_out_the_impacts_of_its_own_time():
    for scheme in (sl.MoreauJean(), sl.StepDoubling(sl.MoreauJean())):
        sol = bounce(scheme=scheme, h=2.0 * BINARY)
        impacts = sol.events[sol.events["kind"] == "impact"]
        jump = sol.impulse_at(impacts["t"], "+") - sol.impulse_at(impacts["t"], "-")
        np.testing.assert_allclose(jump[:, 0], impacts["impulse"][:, 0], rtol=0.0, atol=ROUNDING)
        quiet = np.setdiff1d(np.concatenate([sol.t, sol.t[1:] - 0.3 * BINARY]), impacts["t"])
        np.testing.assert_array_equal(sol.impulse_at(quiet, "+"), sol.impulse_at(quiet, "-"))


def test_the_side_of_a_node_chooses_the_step_whose_average_force_is_given():
    sol = bounce(h=2.0 * BINARY)
    average = sol._lasting[:, 0] / np.diff(sol.t)
    np.testing.assert_array_equal(sol.force_at(sol.t)[:, 0], np.append(average, average[-1]))
    np.testing.assert_array_equal(sol.force_at(sol.t, "-")[:, 0], np.append(average[0], average))


def test_impacts_of_two_contacts_in_one_step_are_added_and_kept_apart_from_the_force():
    # two balls that know nothing of each other; three times the mass takes three times the impulse
    floors = [sl.Contact(lambda q: q[0], e=0.5, name="one"), sl.Contact(lambda q: q[1], e=0.5, name="two")]
    system = sl.System(M=[1.0, 3.0], f=[-2.0, -6.0], contacts=floors)
    sol = sl.solve(system, (0.0, 4.0), [1.0, 1.0], [0.0, 0.0], scheme=sl.MoreauJean(theta=0.5), h=0.01)
    alone, times = bounce(), np.linspace(0.0, 4.0, 777)
    for side in ("+", "-"):
        expected = alone.impulse_at(times, side) * [1.0, 3.0]
        np.testing.assert_allclose(sol.impulse_at(times, side), expected, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(sol.force_at(times), alone.force_at(times) * [1.0, 3.0], rtol=0.0, atol=1e-9)
    thin = sl.solve(
        system, (0.0, 4.0), [1.0, 1.0], [0.0, 0.0], scheme=sl.MoreauJean(theta=0.5), h=0.01, t_eval=[0.5, 3.25, 4.0]
    )
    np.testing.assert_allclose(thin.impulse.sum(axis=0), sol.impulse.sum(axis=0), rtol=0.0, atol=1e-10)


def test_the_accumulated_impulse_at_the_nodes_is_the_sum_of_the_steps():
    sol = bounce()
    total = np.concatenate([[0.0], np.cumsum(sol.impulse[:, 0])])
    np.testing.assert_allclose(sol.impulse_at(sol.t)[:, 0], total, rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0])
def test_impulse_equals_velocity_plus_two_t_for_the_ball(theta):
    sol = bounce(scheme=sl.MoreauJean(theta=theta))
    np.testing.assert_allclose(sol.impulse_at(sol.t), sol.v + 2.0 * sol.t[:, None], rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize("scheme", [sl.MoreauJean(theta=0.5), sl.MoreauJean(theta=1.0)])
def test_impulse_equals_velocity_plus_two_t_between_the_nodes_too(scheme):
    sol = bounce(scheme=scheme)
    times = np.linspace(0.0, 4.0, 1237)
    difference = sol.impulse_at(times) - sol(times).v - 2.0 * times[:, None]
    np.testing.assert_allclose(difference, 0.0, atol=ROUNDING)


def test_an_impact_in_the_middle_of_a_doubled_step_counts_from_its_own_time_on():
    sol = bounce(scheme=sl.StepDoubling(sl.MoreauJean(theta=0.5)), h=2.0 * BINARY)
    times = np.linspace(0.0, 2.6, 1237)  # three impacts far apart
    difference = sol.impulse_at(times) - sol(times).v - 2.0 * times[:, None]
    np.testing.assert_allclose(difference, 0.0, atol=ROUNDING)


def test_the_force_of_a_resting_body_is_its_weight():
    sol = sl.solve(sl.problems.zeno_ball(mass=3.0, gravity=9.81, t_end=3.0), scheme=sl.MoreauJean(), h=0.005)
    assert sol.force_at(2.999)[0] == pytest.approx(3.0 * 9.81, rel=1e-10)
    assert sol.force_at(sol.t[-1])[0] == pytest.approx(3.0 * 9.81, rel=1e-10)
    assert sol.force_at(0.1)[0] == 0.0


def test_the_joint_of_a_hanging_pendulum_carries_its_weight():
    rod = sl.Joint(lambda q: np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0, name="rod")
    system = sl.System(M=2.0, f=[0.0, -2.0 * 9.81], joints=[rod])
    sol = sl.solve(system, (0.0, 1.0), [0.0, -1.0], [0.0, 0.0], scheme=sl.MoreauJean(), h=BINARY)
    np.testing.assert_allclose(sol.joint_impulse[:, 0], -2.0 * 9.81 * BINARY, rtol=1e-10)
    np.testing.assert_allclose(sol.joint_force_at([0.0, 0.3, 1.0]), [[-2.0 * 9.81]] * 3, rtol=1e-10)
    np.testing.assert_allclose(sol.q, [[0.0, -1.0]] * 65, rtol=0.0, atol=ROUNDING)


# ---- schemes that describe their forces inside of a step


@dataclasses.dataclass(frozen=True)
class Described(sl.MoreauJean):
    """Moreau-Jean with blocks of its forces: coefficients of powers of the time since the start of the step."""

    calls: ClassVar[list[int]] = []  # how many rows each call had
    name = "described"

    def reaction(self, s, h, block, rows, side):
        self.calls.append(len(s))
        powers = block.reshape(len(block), -1, rows)
        since, force, impulse = s * h, np.zeros((len(s), rows)), np.zeros((len(s), rows))
        for j in range(powers.shape[1]):
            force += powers[:, j] * since**j
            impulse += powers[:, j] * since ** (j + 1) / (j + 1)
        return force, impulse


def landing() -> sl.Solution:
    """A body that lands on a floor and stays, guided by a wall: floor 2 + 3 t from the impact on, guide 1 + t [N].

    The forces are linear in time, so that the impulses of the steps are exact; the blocks are linear or quadratic.
    """
    floor, guide = sl.Contact(lambda q: q[0], name="floor"), sl.Joint(lambda q: q[1], name="guide")
    system = sl.System(M=1.0, f=lambda t, q, v: np.array([-2.0 - 3.0 * t, -1.0 - t]), contacts=[floor], joints=[guide])
    sol = sl.solve(system, (0.0, 2.0), [1.5, 0.0], [0.0, 0.0], scheme=sl.MoreauJean(theta=0.5), h=BINARY)
    impact = sol.events["t"][0]
    extra, blocks = np.zeros((len(sol.t), 4)), []
    for k, t in enumerate(sol.t[:-1]):
        extra[k + 1, 2:] = sum(map(len, blocks)), 1.0
        lasting = [[2.0 + 3.0 * t, 1.0 + t], [3.0, 1.0]] if t >= impact else [[0.0, 1.0 + t], [0.0, 1.0]]
        blocks.append(np.ravel(lasting + [[0.0, 0.0]] * (k % 3 == 0)))
    return dataclasses.replace(sol, scheme=Described(theta=0.5), _dense=np.concatenate(blocks), _extra=extra)


def floor_impulse(t: np.ndarray) -> np.ndarray:
    """What the floor has given to a body that lies on it since its impact: all that the force took, M v = 0."""
    return 2.0 * t + 1.5 * t**2


def test_forces_and_impulses_inside_of_a_step_are_those_that_the_scheme_describes():
    sol = landing()
    impact = sol.events["t"][0]
    assert list(sol.events["kind"][:1]) == ["impact"]
    assert 0.9 < impact < 1.1
    times = np.random.default_rng(4).uniform(0.0, 2.0, 1000)
    closed = times >= impact
    force = np.where(closed, 2.0 + 3.0 * times, 0.0)
    np.testing.assert_allclose(sol.force_at(times)[:, 0], force, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(sol.joint_force_at(times)[:, 0], 1.0 + times, rtol=0.0, atol=ROUNDING)
    expected = np.where(closed, floor_impulse(times), 0.0)
    for side in ("+", "-"):
        np.testing.assert_allclose(sol.impulse_at(times, side)[:, 0], expected, rtol=0.0, atol=ROUNDING)
    assert sol.impulse_at(impact, "-")[0] == pytest.approx(0.0, abs=ROUNDING)
    assert sol.impulse_at(impact, "+")[0] == pytest.approx(floor_impulse(impact), abs=ROUNDING)
    assert sol.force_at(impact, "-")[0] == 0.0
    assert sol.force_at(impact, "+")[0] == pytest.approx(2.0 + 3.0 * impact, abs=ROUNDING)
    for name in ("impulse_at", "force_at", "joint_force_at"):
        assert getattr(sol, name)(1.234).shape == (1,)


def test_the_scheme_is_called_once_per_size_of_its_blocks():
    sol = landing()
    Described.calls.clear()
    sol.force_at(np.linspace(0.0, 2.0, 3001))
    assert len(Described.calls) == 2
    assert sum(Described.calls) == 3001


def test_many_times_are_handed_over_in_parts_that_need_little_memory(monkeypatch):
    sol, times = landing(), np.linspace(0.0, 2.0, 3001)
    whole = sol(times).q, sol.force_at(times), sol.impulse_at(times)
    monkeypatch.setattr("saltus.solution.BYTES_AT_ONCE", 1000)
    Described.calls.clear()
    parts = sol(times).q, sol.force_at(times), sol.impulse_at(times)
    assert max(Described.calls) <= 100
    for part, expected in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(part, expected)


class Telling(sl.MoreauJean):
    """Answers with the place that it was asked for."""

    name = "telling"

    def reaction(self, s, h, block, rows, side):
        made = np.repeat(s + 10.0 * (side == "+"), rows, axis=1)
        return made, 0.0 * made


def test_a_node_asks_the_step_of_its_side_and_the_last_one_its_own_right_limit():
    sol = dataclasses.replace(bounce(h=0.5), scheme=Telling())
    np.testing.assert_array_equal(sol.force_at(sol.t)[:, 0], [10.0] * 8 + [11.0])
    np.testing.assert_array_equal(sol.force_at(sol.t, "-")[:, 0], [0.0] + [1.0] * 8)
    np.testing.assert_array_equal(sol.force_at([0.125, 3.75], "-")[:, 0], [0.25, 0.5])


def test_a_node_before_a_step_that_was_not_kept_asks_the_step_before_for_its_right_limit():
    sol = landing()
    extra = sol._extra.copy()
    extra[[5, 6], 3] = 0.0
    thin = dataclasses.replace(sol, scheme=Telling(), _extra=extra)
    np.testing.assert_array_equal(thin.force_at(sol.t[[3, 4, 6]])[:, 0], [10.0, 11.0, 10.0])
    np.testing.assert_array_equal(thin.impulse_at(sol.t), sol.impulse_at(sol.t))
    for ask in (thin, thin.force_at, thin.impulse_at):
        with pytest.raises(sl.SettingError, match=r"kept no step around t = 0\.07.*save='steps'.*t_eval"):
            ask(4.7 * BINARY)
    with pytest.raises(sl.SettingError, match="kept no step"):
        thin.force_at(sol.t[5])


def test_requested_times_have_the_forces_and_impulses_that_the_scheme_describes():
    sol = landing()
    impact = sol.events["t"][0]
    times = np.array([0.0, 0.013, 0.6, impact, 1.3, 1.3001, 1.5, 1.987, 2.0])
    thin = sol.at_times(times)
    assert thin.force_at(impact, "-")[0] == 0.0
    assert thin.force_at(impact, "+")[0] == pytest.approx(2.0 + 3.0 * impact, abs=ROUNDING)
    np.testing.assert_array_equal(thin.impulse_at(times), sol.impulse_at(times))
    np.testing.assert_allclose(thin.joint_impulse[:, 0], np.diff(times + 0.5 * times**2), rtol=0.0, atol=ROUNDING)
    for side in ("+", "-"):
        np.testing.assert_array_equal(thin.force_at(times, side), sol.force_at(times, side))
        np.testing.assert_array_equal(thin.joint_force_at(times, side), sol.joint_force_at(times, side))
    assert thin.force_at(1.3001)[0] == pytest.approx(2.0 + 3.0 * 1.3001, abs=ROUNDING)
    with pytest.raises(sl.SettingError, match=r"kept no force at t = 0\.7"):
        thin.force_at([0.6, 0.7])
    assert not thin._forces.flags.writeable


class Rippling(sl.MoreauJean):
    """A force of 2 with a ripple of one period per step, which takes part in no sum."""

    name = "rippling"

    def reaction(self, s, h, block, rows, side):
        assert block.shape == (len(s), 0)
        phase = 2.0 * np.pi * np.repeat(s, rows, axis=1)
        return 2.0 + np.cos(phase), h * (2.0 * s + np.sin(phase) / (2.0 * np.pi))


def test_a_run_for_requested_times_asks_a_scheme_without_blocks_for_its_forces():
    problem, times = sl.problems.zeno_ball(q0=0.0), [0.1, 0.75, 1.3125, 2.0]
    full = sl.solve(problem, scheme=Rippling(), h=0.25)
    thin = sl.solve(problem, scheme=Rippling(), h=0.25, t_eval=times)
    place = np.mod(times, 0.25) / 0.25
    np.testing.assert_allclose(thin.force_at(times)[:, 0], 2.0 + np.cos(2.0 * np.pi * place), rtol=0.0, atol=ROUNDING)
    for side in ("+", "-"):
        np.testing.assert_allclose(thin.force_at(times, side), full.force_at(times, side), rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(thin.impulse_at(times), full.impulse_at(times), rtol=0.0, atol=ROUNDING)
    ripple = 2.0 * np.array(times) + 0.25 * np.sin(2.0 * np.pi * place) / (2.0 * np.pi)
    np.testing.assert_allclose(thin.impulse_at(times)[:, 0], ripple, rtol=0.0, atol=ROUNDING)


def test_a_saved_scheme_with_forces_answers_as_before(tmp_path, monkeypatch):
    sol, times = landing(), np.linspace(0.0, 2.0, 501)
    thin = sol.at_times(times[::100])
    sol.save(tmp_path / "run.h5")
    thin.save(tmp_path / "thin.h5")
    foreign = sl.load(tmp_path / "run.h5")
    np.testing.assert_array_equal(foreign.impulse_at(sol.t), sol.impulse_at(sol.t))
    for ask in (foreign.force_at, foreign.impulse_at, foreign.joint_force_at):
        with pytest.raises(sl.SettingError, match="'described' of the file is not part of saltus"):
            ask(1.234)
    foreign.save(tmp_path / "again.h5")
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "run.h5").read_bytes()

    module, names = settings.SETTING_FAMILIES["scheme"]
    monkeypatch.setattr(sl.schemes, "Described", Described, raising=False)
    monkeypatch.setitem(settings.SETTING_FAMILIES, "scheme", (module, (*names, "Described")))
    loaded, loaded_thin = sl.load(tmp_path / "run.h5"), sl.load(tmp_path / "thin.h5")
    for side in ("+", "-"):
        for name in ("impulse_at", "force_at", "joint_force_at"):
            assert getattr(loaded, name)(times, side).tobytes() == getattr(sol, name)(times, side).tobytes()
            assert getattr(loaded_thin, name)(thin.t, side).tobytes() == getattr(thin, name)(thin.t, side).tobytes()


# ---- the time grid


@pytest.mark.parametrize(("start", "end", "h"), [(0.0, 10.0, 0.1), (0.1, 7.3, 0.3), (-3.0, 4.0, 0.07)])
def test_the_grid_is_the_start_plus_k_times_h_exactly(start, end, h):
    sol = fall(t_span=(start, end), h=h)
    steps = round((end - start) / h)
    expected = start + np.arange(steps + 1) * ((end - start) / steps)
    expected[-1] = end
    np.testing.assert_array_equal(sol.t, expected)


def test_the_last_step_is_shorter_when_h_does_not_divide_the_span():
    sol = fall(t_span=(0.0, 1.0), h=0.3)
    np.testing.assert_array_equal(sol.t, [0.0, 0.3, 2 * 0.3, 3 * 0.3, 1.0])
    np.testing.assert_allclose(sol.q[:, 0], 1.0 + 3.0 * sol.t - sol.t**2, rtol=0.0, atol=ROUNDING)


def test_a_span_of_one_step_is_one_step():
    sol = fall(t_span=(0.0, 0.3), h=0.3)
    np.testing.assert_array_equal(sol.t, [0.0, 0.3])


def test_events_lie_on_the_grid_whatever_the_rounding():
    sol = bounce(h=0.007)
    assert len(sol.events)
    assert np.all(np.isin(sol.events["t"], sol.t))


# ---- what is kept


def test_every_kth_step_is_kept_with_the_impulses_of_those_between():
    full, thin = bounce(), bounce(save=7)
    kept = np.append(np.arange(0, 400, 7), 400)
    np.testing.assert_array_equal(thin.t, full.t[kept])
    np.testing.assert_array_equal(thin.q, full.q[kept])
    np.testing.assert_array_equal(thin.v, full.v[kept])
    np.testing.assert_array_equal(thin.v_minus, full.v_minus[kept])
    sums = np.add.reduceat(full.impulse, kept[:-1], axis=0)
    np.testing.assert_allclose(thin.impulse, sums, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(thin.residual, np.maximum.reduceat(full.residual, kept[:-1]), atol=1e-300)
    ends = np.maximum.reduceat(full.end_violation, kept[:-1])
    np.testing.assert_allclose(thin.end_violation, ends, atol=1e-300)
    # inside of steps that were not kept nothing is known of a scheme with fixed steps
    assert np.all(ends <= thin.violation) and np.all(thin.violation <= np.maximum.reduceat(full.violation, kept[:-1]))


@pytest.mark.parametrize("save", [7, "events", [0.0, 0.55, 1.234, 4.0]])
def test_thinning_changes_neither_the_events_nor_the_energy_nor_the_end(save):
    full, thin = bounce(), bounce(save=save)
    np.testing.assert_array_equal(thin.events, full.events)
    np.testing.assert_array_equal(thin.q[-1], full.q[-1])
    assert thin.work == full.work
    assert thin.impulse.sum() == pytest.approx(full.impulse.sum(), abs=ROUNDING)
    for name in ("kinetic", "work", "dissipation"):
        left, right = getattr(thin.energy, name)[-1], getattr(full.energy, name)[-1]
        np.testing.assert_allclose(left, right, rtol=0.0, atol=ROUNDING)


def test_events_alone_keep_start_end_and_the_steps_with_events():
    full, thin = bounce(), bounce(save="events")
    np.testing.assert_array_equal(thin.t, np.unique([0.0, *full.events["t"], 4.0]))
    np.testing.assert_array_equal(thin.q, full(thin.t).q)


TIMES = np.array([0.0, 0.004, 0.005, 0.5, 1.0, 1.01, 1.015, 2.5, 3.3333, 4.0])


@pytest.mark.parametrize("option", ["t_eval", "save"])
def test_requested_times_equal_the_dense_output_of_the_full_run(option):
    full, thin = bounce(), bounce(**{option: TIMES})
    np.testing.assert_array_equal(thin.t, TIMES)
    np.testing.assert_array_equal(thin.q, full(TIMES).q)
    np.testing.assert_array_equal(thin.v, full(TIMES).v)
    np.testing.assert_array_equal(thin.v_minus, full(TIMES, side="-").v)
    np.testing.assert_allclose(thin.impulse, np.diff(full.impulse_at(TIMES), axis=0), rtol=0.0, atol=ROUNDING)
    np.testing.assert_array_equal(thin(TIMES).v, thin.v)


def test_the_accumulated_impulse_counts_from_the_start_of_the_run_not_of_the_requested_times():
    full, thin = bounce(), bounce(t_eval=[2.2, 3.5, 4.0])
    expected = full.impulse_at([2.2, 3.5, 4.0])
    np.testing.assert_allclose(thin.impulse_at([2.2, 3.5, 4.0]), expected, rtol=0.0, atol=ROUNDING)


def test_joint_impulses_between_requested_times_belong_to_these_times():
    rod = sl.Joint(lambda q: np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0, name="rod")
    system = sl.System(M=1.0, f=[0.0, -8.0], joints=[rod])
    times = [0.0, 0.01, 0.02, 0.5]
    sol = sl.solve(system, (0.0, 0.5), [0.0, -1.0], [0.0, 0.0], scheme=sl.MoreauJean(), h=BINARY, t_eval=times)
    np.testing.assert_allclose(sol.joint_impulse[:, 0], -8.0 * np.diff(times), rtol=0.0, atol=1e-10)


def test_the_energy_balances_at_requested_times_between_the_steps():
    sol = fall(h=0.1, t_eval=[0.0, 0.013, 0.777, 1.05, 1.99])
    np.testing.assert_allclose(sol.energy.defect, 0.0, atol=ROUNDING)


def test_a_run_without_the_steps_says_how_to_get_a_time():
    with pytest.raises(sl.SettingError, match=r"kept no step around t = 0\.5.*save='steps'.*t_eval"):
        bounce(save=7)(0.5)


# ---- breaks


def jumping(**options) -> sl.Solution:
    """The force jumps from 0 to 1 at t = 1: v(2) = 1, q(2) = 1/2."""
    system = sl.System(M=1.0, f=lambda t, q: np.where(t < 1.0, 0.0, 1.0))
    return sl.solve(system, (0.0, 2.0), 0.0, 0.0, **{"scheme": sl.MoreauJean(theta=0.5), "h": 0.3, **options})


def test_a_force_that_jumps_at_a_break_is_integrated_exactly():
    sol = jumping(breaks=[1.0])
    assert 1.0 in sol.t
    assert sol.t[-1] == 2.0
    late = np.maximum(sol.t - 1.0, 0.0)
    np.testing.assert_allclose(sol.v[:, 0], late, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(sol.q[:, 0], late**2 / 2.0, rtol=0.0, atol=ROUNDING)


def test_both_sides_of_a_break_are_seen_by_the_trapezoidal_rule():
    sol = jumping(scheme=sl.MoreauJean(theta=0.5, at="end"), h=0.25, breaks=[1.0])
    np.testing.assert_allclose(sol.v[:, 0], np.maximum(sol.t - 1.0, 0.0), rtol=0.0, atol=ROUNDING)
    blind = jumping(scheme=sl.MoreauJean(theta=0.5, at="end"), h=0.25)
    assert blind.v[-1, 0] - 1.0 == pytest.approx(0.125)  # half a step too much


def test_without_the_break_the_error_is_of_first_order():
    sizes = 0.3 / 2.0 ** np.arange(8)
    errors = [abs(jumping(h=h).v[-1, 0] - 1.0) for h in sizes]
    assert errors[0] == pytest.approx(0.1)  # the step (0.9, 1.2] takes the force of its middle
    assert np.all(np.array(errors) <= 0.5 * sizes + ROUNDING)
    assert np.max(np.array(errors) / sizes) > 0.1


def test_several_breaks_leave_no_gap_and_no_double_time():
    sol = jumping(breaks=[0.35, 1.0, 1.001])
    assert np.all(np.diff(sol.t) > 0.0)
    assert {0.35, 1.0, 1.001, 2.0} <= set(sol.t)
    assert sol.v[-1, 0] == pytest.approx(1.0, abs=ROUNDING)


# ---- interruption


def interrupt_after(seconds: float) -> None:
    """Send SIGINT to this process; the runs that it meets would take hours."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()


@pytest.mark.parametrize("save", [100_000, "events", [1.0, 1e6]])
def test_ctrl_c_returns_what_is_there(save):
    problem = sl.problems.zeno_ball(t_end=1e6)
    sl.solve(problem, t_span=(0.0, 1.0), scheme=sl.MoreauJean(), h=1e-3, save=100_000)  # compile first
    interrupt_after(0.4)
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=1e-3, save=save)
    assert sol.status is sl.Status.INTERRUPTED
    assert not sol.success
    assert "interrupted" in sol.message
    assert "interrupted" in repr(sol)
    assert 0.0 < sol.t[-1] < 1e6
    assert sol.work["steps"] > 0
    for array in (sol.t, sol.q, sol.v, sol.v_minus, sol.impulse):
        assert np.all(np.isfinite(array))
    assert np.all(np.diff(sol.t) > 0.0)
    np.testing.assert_allclose(sol.impulse_at(sol.t), sol.v + 2.0 * sol.t[:, None], rtol=1e-9, atol=1e-9)


def test_an_interrupted_run_ends_at_its_last_step():
    problem = sl.problems.zeno_ball(t_end=1e6)
    interrupt_after(0.3)
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=1e-3, save=100_000)
    assert sol.t[-1] == pytest.approx(sol.work["steps"] * 1e-3, rel=1e-12)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_ctrl_c_inside_of_a_python_function_returns_what_is_there():
    asked = []

    def f(t, q, v):
        if float(t) > 5.0 and not asked:  # later than the states beside the start that are looked at: it marches
            asked.append(t)
            interrupt_after(0.3)
        return -2.0

    system = sl.System(M=1.0, f=f)
    sol = sl.solve(system, (0.0, 1e4), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.01)
    assert sol.status is sl.Status.INTERRUPTED
    np.testing.assert_allclose(sol.v[:, 0], -2.0 * sol.t, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
@pytest.mark.parametrize("deaf", [False, True])
def test_ctrl_c_ends_a_function_that_would_run_for_ever(deaf):
    asleep, woken = [], []

    def f(t, q, v):
        if float(t) > 5.0:  # later than the states beside the start that are looked at
            try:
                asleep.append(t)
                interrupt_after(0.3)
                time.sleep(100.0)
            except BaseException as error:
                woken.append(type(error))
                if not deaf:
                    raise
        return -2.0

    system = sl.System(M=1.0, f=f)
    sol = sl.solve(system, (0.0, 6.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.01)
    assert sol.status is sl.Status.INTERRUPTED
    assert woken == [KeyboardInterrupt]
    assert len(asleep) == 1, "and not called again"
    np.testing.assert_allclose(sol.v[:, 0], -2.0 * sol.t, rtol=1e-9, atol=1e-9)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# ---- energy, words, counters


def test_the_energy_ledger_of_the_ball_closes():
    sol = bounce()
    energy = sol.energy
    assert energy.kinetic.shape == energy.work.shape == energy.defect.shape == (401,)
    assert energy.dissipation.shape == (401, 1)
    np.testing.assert_allclose(energy.kinetic, 0.5 * sol.v[:, 0] ** 2, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(energy.work, -2.0 * (sol.q[:, 0] - 1.0), rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(energy.defect, 0.0, atol=ROUNDING)
    impacts = sol.events[sol.events["kind"] == "impact"]
    steps = np.searchsorted(sol.t, impacts["t"]) - 1
    assert np.all(np.diff(energy.dissipation[:, 0])[steps] > 0.0)


def test_the_energy_ledger_splits_dissipation_by_contact_and_counts_friction():
    sol = sl.solve(sliding_box(), scheme=sl.MoreauJean(theta=0.5), h=0.001)
    potential = 20.0 * sol.q[:, 0]
    total = sol.energy.kinetic + potential
    np.testing.assert_allclose(total[0] - total, sol.energy.dissipation[:, 0], rtol=0.0, atol=1e-10)
    at_rest = total[0] - potential[-1]
    assert sol.energy.dissipation[-1, 0] == pytest.approx(at_rest, rel=1e-6)


def test_kinetic_energy_uses_the_mass_at_each_node():
    system = sl.System(M=lambda q: 2.0 + np.cos(q[0]), f=lambda t, q, v: 0.5 * np.sin(q[0]) * v[0] ** 2)
    sol = sl.solve(system, (0.0, 2.0), 0.0, 1.0, scheme=sl.MoreauJean(theta=0.5), h=0.01)
    M = 2.0 + np.cos(sol.q[:, 0])
    np.testing.assert_allclose(sol.energy.kinetic, 0.5 * M * sol.v[:, 0] ** 2, rtol=1e-12)


def test_the_representation_says_what_happened():
    text = repr(bounce())
    for part in ("zeno_ball", "Moreau-Jean", "t = 0 to 4", "400 steps", "impact", "reached the end"):
        assert part in text
    assert "no events" in repr(fall())
    assert len(text.splitlines()) == 1


def test_success_status_and_message_agree():
    sol = bounce()
    assert sol.success
    assert sol.status is sl.Status.OK
    assert sol.message == sl.Status.OK.sentence


def test_counters_count_forces_steps_and_jacobians():
    sol = fall()
    assert sol.work["steps"] == 200
    assert sol.work["f"] == 200
    assert sol.work["rejected"] == 0
    assert sol.work["contact_sweeps"] == 0

    def f(t, q, v):
        return -np.sin(q)

    counted = []  # by the profiler: a function that counts its own calls is refused

    def watch(frame, what, argument):
        if what == "call" and frame.f_code is f.__code__:
            counted.append(frame.f_locals["t"])

    sys.setprofile(watch)
    try:
        pendulum = sl.solve(sl.System(M=1.0, f=f), (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(theta=0.5), h=0.01)
    finally:
        sys.setprofile(None)
    assert pendulum.work["f"] >= 200  # an implicit step of a nonlinear force looks at least twice
    assert pendulum.work["jac"] >= 1
    assert 2 < len(counted) < 50  # compiled: the user's function itself is called for checks only
    ball = bounce()
    assert 0 < ball.work["contact_sweeps"] <= ball.work["steps"]


def test_the_solution_remembers_what_it_was_made_from():
    problem = sl.problems.zeno_ball()
    scheme = sl.MoreauJean(theta=1.0)
    sol = sl.solve(problem, scheme=scheme, h=0.1)
    assert sol.system is problem.system
    assert sol.scheme is scheme
    assert sol.exact is problem.exact
    assert sol.name == "zeno_ball"
