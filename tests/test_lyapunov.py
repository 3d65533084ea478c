"""Lyapunov exponents: closed forms, lost directions, the check of their sum."""

from __future__ import annotations

import math

import numpy as np
import pytest

import saltus as sl
from saltus import sweep
from stability_models import belt, oscillator


@pytest.mark.parametrize(("w", "chaotic"), [(2.6, False), (2.8, True)])
def test_the_sum_per_impact_of_an_undamped_oscillator_is_two_ln_e(w, chaotic):
    found = sweep.lyapunov(oscillator()[1], -0.5, 0.0, impacts=150, transient=100.0, parameters={"w": w})
    assert found.impacts == 150
    assert abs(found.sum_per_impact - 2.0 * math.log(0.8)) < 1e-10
    assert (found.exponents[0] > 0.05) == chaotic
    assert abs(found.sum_error) < 1e-12


def test_exponents_of_a_stable_orbit_are_the_logarithms_of_its_multipliers():
    p, system = oscillator()
    period = 2.0 * math.pi / 2.65
    values = {"w": 2.65}
    near = sl.solve(system, (0.0, 100.0 * period), -0.5, 0.0, tol=1e-9, parameters=values)
    orbit = sweep.periodic_orbit(system, period=lambda: 2.0 * np.pi / p.w, start=near)
    start = {"q0": orbit.q, "v0": orbit.v, "t0": orbit.t}
    found = sweep.lyapunov(system, **start, span=60.0 * period, parameters=values)
    # means over a finite time miss by what the first directions were off
    assert np.allclose(found.exponents, np.log(np.abs(orbit.multipliers)) / period, atol=5e-2)
    assert np.sum(found.exponents) == pytest.approx(np.sum(np.log(np.abs(orbit.multipliers))) / period, abs=1e-9)


def test_linear_damping_is_the_sum_of_the_exponents():
    system = sl.System(M=2.0, f=lambda t, q, v: [-3.0 * q[0] - 0.5 * v[0] + np.cos(t)])
    found = sweep.lyapunov(system, 0.3, 0.0, span=40.0)
    assert np.sum(found.exponents) == pytest.approx(-0.25, abs=1e-10)
    assert np.all(np.isnan(found.per_impact))


def test_sticking_loses_a_direction_and_says_when():
    found = sweep.lyapunov(belt(), [2.0, 0.0], [0.0, 0.0], span=20.0)
    assert found.exponents[1] == -math.inf
    assert abs(found.exponents[0]) < 0.2
    assert [(one.kind, one.names, one.directions) for one in found.lost] == [("stick", ("belt",), 1)]
    assert found.lost[0].t == pytest.approx(math.pi + math.pi / 6.0, abs=1e-9)
    assert found.consistent


def test_an_impact_that_sticks_loses_a_direction():
    """It stops the slip, whatever that was; a rod flies on, so that the other directions stay."""
    floor = sl.Contact(lambda q: q[1] - 0.1, e=0.6, mu=0.5, slip=lambda t, q, v: [v[0] + 0.1 * v[2]], name="floor")
    disc = sl.System(M=[1.0, 1.0, 0.005], f=[0.0, -10.0, 0.0], contacts=[floor])
    found = sweep.lyapunov(disc, [0.0, 0.5, 0.0], [0.5, 0.0, 0.0], span=0.6)
    assert found.impacts == 1
    assert [(one.kind, one.directions) for one in found.lost] == [("impact", 1)]
    assert np.isneginf(found.exponents).tolist() == [False] * 5 + [True]
    assert found.consistent


def _lying() -> tuple[sl.System, list[float], float]:
    floor = sl.Contact(lambda q: q[1] - 0.1 * q[0], name="floor")
    return sl.System(M=1.0, f=lambda t, q, v: [-q[0] - v[0], -10.0], contacts=[floor]), [1.0, 0.1], -1.0 / 1.01


def _hanging() -> tuple[sl.System, list[float], float]:
    rod = sl.Joint(lambda q: q[0] ** 2 + q[1] ** 2 - 1.0, name="rod")
    return sl.System(M=1.0, f=lambda t, q, v: [-0.6 * v[0], -10.0 - 0.6 * v[1]], joints=[rod]), [0.6, -0.8], -0.6


@pytest.mark.parametrize("model", [_lying, _hanging])
def test_long_means_are_those_of_the_motion_and_not_of_what_is_held(model):
    """Gaps never come back by themselves: beside a damped motion their rounding would be all that is left."""
    system, q0, total = model()
    found = sweep.lyapunov(system, q0, [0.0, 0.0], span=300.0)
    assert np.allclose(found.exponents, 0.5 * total, atol=5e-3)
    assert np.sum(found.exponents) == pytest.approx(total, abs=1e-8)


def test_the_sum_is_right_where_two_of_three_directions_turn_fast():
    """One of the blocks sticks from 1.2 s on; what is left turns and stretches much faster than the force changes."""
    rails = [
        sl.Contact(lambda q, k=k: q[2 * k + 1], mu=mu, slip=lambda t, q, v, k=k: [v[2 * k]], name=name)
        for k, (mu, name) in enumerate([(0.24, "one"), (0.25, "two")])
    ]
    blocks = sl.System(
        M=[1.0, 1.0, 2.0, 2.0],
        f=lambda t, q, v: [
            -10.0 * q[0] + 0.36 * (q[2] - q[0]) + 3.2 * np.cos(4.0 * t), -9.81,
            -0.36 * (q[2] - q[0]) + 2.0 * np.sin(2.2 * t), -19.62,
        ],
        contacts=rails,
    )  # fmt: skip
    found = sweep.lyapunov(blocks, [0.1, 0.0, -0.1, 0.0], np.zeros(4), span=10.0, transient=1.0)
    assert abs(found.sum_error) < 1e-8
    assert [one.kind for one in found.lost] == ["stick"]


@pytest.mark.parametrize("tol", [1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("intensity", [1.1, 1.3, 2.0])
def test_an_accumulation_loses_both_directions_of_a_ball(intensity, tol):
    found = sweep.lyapunov(sl.problems.vibrating_table(intensity=intensity), span=0.4, tol=tol)
    assert np.all(found.exponents == -math.inf)
    assert [one.kind for one in found.lost] == ["zeno"]
    assert sum(one.directions for one in found.lost) == 2


def test_fewer_exponents_are_the_first_ones_and_check_their_sum_too():
    contacts = [sl.Contact(lambda q: 0.3 - q[0], e=0.7), sl.Contact(lambda q: 0.5 + q[1] + 0.2 * q[0] ** 2, e=0.6)]
    system = sl.System(
        M=[[2.0, 0.3], [0.3, 1.0]],
        f=lambda t, q, v: [-2 * q[0] - q[1] - 0.1 * v[0] + np.cos(2 * t), -3 * q[1] - q[0] - 0.2 * np.sin(q[1])],
        contacts=contacts,
    )
    every = sweep.lyapunov(system, [-0.2, 0.1], [0.3, 0.0], span=30.0)
    first = sweep.lyapunov(system, [-0.2, 0.1], [0.3, 0.0], span=30.0, exponents=2)
    assert np.allclose(first.exponents, every.exponents[:2], atol=1e-6)
    assert abs(first.sum_error) < 1e-8
    assert abs(every.sum_error) < 1e-8


def test_a_wrong_matrix_is_found_by_the_sum(monkeypatch):
    from saltus.ensemble import tangent_flow

    right = tangent_flow.gauss()
    monkeypatch.setattr(tangent_flow, "gauss", lambda: right._replace(A=right.A * (1.0 + 1e-5)))
    system = sl.System(M=1.0, f=lambda t, q, v: [-(1.0 + 0.5 * np.cos(t)) * q[0]])
    with pytest.warns(UserWarning, match="add up"):
        found = sweep.lyapunov(system, 0.3, 0.0, span=10.0)
    assert not found.consistent


def test_joints_leave_two_exponents_of_a_pendulum():
    hinge = sl.Joint(lambda q: [q[0] ** 2 + q[1] ** 2 - 1.0])
    system = sl.System(M=1.0, f=lambda t, q, v: [-0.1 * v[0], -9.81 - 0.1 * v[1]], joints=[hinge])
    found = sweep.lyapunov(system, [math.sin(0.5), -math.cos(0.5)], [0.0, 0.0], span=20.0)
    assert len(found.exponents) == 2
    assert abs(found.sum_error) < 1e-8
    assert np.sum(found.exponents) == pytest.approx(-0.1, abs=0.02)


def test_history_and_dataset_hold_the_exponents():
    found = sweep.lyapunov(oscillator()[1], -0.5, 0.0, span=30.0)
    data = found.to_xarray()
    assert np.array_equal(data["exponents"].values, found.exponents)
    assert np.allclose(data["history"].values[-1], found.exponents)
    assert float(data["t"][-1]) == pytest.approx(30.0)


def test_impacts_that_never_come_end_the_search():
    free = lambda t, q, v: [-q[0]]  # noqa: E731
    far = sl.Contact(lambda q: q[0] + 3.0, name="far")
    with pytest.raises(sl.errors.SettingError, match="no contact"):
        sweep.lyapunov(sl.System(M=1.0, f=free), 1.0, 0.0, impacts=5)
    with pytest.raises(sl.errors.SettingError, match="only 0 came"):
        sweep.lyapunov(sl.System(M=1.0, f=free, contacts=[far]), 1.0, 0.0, impacts=5)


ENDING = sl.Event(lambda t, q, v: v[0], terminal=True, name="end")


@pytest.mark.parametrize(
    ("options", "said"),
    [({}, "either span"), ({"span": 1.0, "impacts": 3}, "either span"), ({"span": -1.0}, "positive"),
     ({"span": 1.0, "exponents": 3}, "1 to 2"), ({"span": 1.0, "exponents": 1.5}, "exponents is 1.5"),
     ({"span": "long"}, "span is 'long'"), ({"span": 1.0, "transient": math.inf}, "transient is inf"),
     ({"impacts": 2.5}, "impacts is 2.5"), ({"span": 9.0, "events": ENDING}, "event 'end' ends the motion"),
     ({"span": 1.0, "transient": 9.0, "events": ENDING}, "event 'end' ends the motion")],
)  # fmt: skip
def test_wrong_arguments_are_named(options, said):
    with pytest.raises(sl.errors.SettingError, match=said):
        sweep.lyapunov(oscillator()[1], -0.5, 0.0, **options)
