"""Periodic orbits: multipliers against closed forms and differences, bifurcations, sections."""

from __future__ import annotations

import math

import numpy as np
import pytest

import saltus as sl
from saltus import sweep
from saltus.problems.simplest_walker import heelstrike
from stability_models import PERIOD_DOUBLING, by_differences, oscillator


@pytest.fixture(scope="module")
def orbit():
    p, system = oscillator()
    near = sl.solve(system, (0.0, 60.0 * 2.0 * math.pi / 2.6), -0.5, 0.0, tol=1e-9)
    return sweep.periodic_orbit(system, period=lambda: 2.0 * np.pi / p.w, start=near)


def test_an_orbit_returns_and_its_multipliers_have_the_product_of_one_impact(orbit):
    assert orbit.signature == (("impact", "stop"),)
    assert (orbit.impacts, orbit.rests) == (1, 0)
    assert orbit.stable
    assert orbit.residual < 1e-10
    assert np.prod(orbit.multipliers).real == pytest.approx(0.64, abs=1e-11)


def test_an_orbit_is_a_dataset_that_notebooks_show(orbit):
    data = orbit.dataset
    assert data["start"].sel(state="q0") == orbit.q[0] and data["start"].sel(state="v0") == orbit.v[0]
    np.testing.assert_array_equal(data["multipliers"], orbit.multipliers)
    assert data.attrs["period"] == orbit.period and data.attrs["w"] == orbit.parameters["w"]
    assert "multipliers" in orbit._repr_html_()


def test_the_period_doubling_of_the_oscillator_is_found_to_nine_digits(orbit):
    found = orbit.find("period doubling", w=(2.6, 2.7))
    assert abs(found.parameters["w"] - PERIOD_DOUBLING) < 1e-9
    assert abs(found.multipliers[0] + 1.0) < 1e-9


def test_the_period_doubling_of_the_ball_on_a_table_is_found_to_nine_digits():
    p = sl.Parameters(intensity=1.4)
    omega, gravity, e = 20.0, 9.81, 0.5
    table = sl.Contact(lambda t, q: q[0] - p.intensity * gravity / omega**2 * np.sin(omega * t), e=e, name="table")
    system = sl.System(M=1.0, f=-gravity, contacts=[table])
    period, phase = 2.0 * math.pi / omega, math.acos(math.pi * (1.0 - e) / ((1.0 + e) * 1.4))
    height = 1.4 * gravity / omega**2 * math.sin(phase) + gravity * period**2 / 8.0
    start = sweep.periodic_orbit(system, period=period, q0=height, v0=0.0, t0=phase / omega + 0.5 * period)
    found = start.find("period doubling", intensity=(1.4, 1.6))
    assert abs(found.parameters["intensity"] - math.hypot(math.pi / 3.0, 10.0 / 9.0)) < 1e-9


def test_the_derivative_of_an_orbit_is_that_of_orbits_beside_it():
    p, system = oscillator()
    near = sl.solve(system, (0.0, 60.0 * 2.0 * math.pi / 2.6), -0.5, 0.0, tol=1e-9)
    period = lambda: 2.0 * np.pi / p.w  # noqa: E731
    orbit = sweep.periodic_orbit(system, period=period, start=near)
    slope = orbit.derivative("w", "e")
    for k, (name, value) in enumerate((("w", 2.6), ("e", 0.8))):

        def at(x, name=name, value=value):
            start = {"q0": orbit.q, "v0": orbit.v, "t0": orbit.t}
            moved = sweep.periodic_orbit(system, period=period, **start, parameters={name: value + x[0]})
            return np.concatenate([moved.q, moved.v])

        assert np.allclose(slope[:, k], by_differences(at, 1, 1e-4)[:, 0], rtol=1e-6)


def test_the_simplest_walker_has_the_multipliers_of_its_return_map():
    walker = sl.problems.simplest_walker()
    found = sweep.periodic_orbit(walker, section=heelstrike())
    strike = heelstrike(terminal=True)

    def strides(x):
        theta, rate = found.q[0] + x[0], found.v[0] + x[1]
        start = [theta, 2.0 * theta], [rate, (1.0 - math.cos(2.0 * theta)) * rate]
        run = sl.solve(walker.system, (0.0, 6.0), *start, tol=1e-13, events=[strike])
        return np.array([run.q[-1, 0], run.v[-1, 0]])

    expected = np.sort_complex(np.linalg.eigvals(by_differences(strides, 2, 5e-5)))
    assert np.allclose(np.sort_complex(found.multipliers[:2]), expected, atol=1e-9)
    assert np.allclose(found.multipliers[2:], 0.0, atol=1e-9)
    assert found.period == pytest.approx(3.8824637529, abs=1e-9)  # Garcia et al. 1998, as in saltus.problems
    assert found.stable


def test_a_section_without_reset_finds_the_limit_cycle_of_van_der_pol():
    system = sl.System(M=1.0, f=lambda t, q, v: [(1.0 - q[0] ** 2) * v[0] - q[0]])
    section = sl.Event(lambda t, q, v: v[0], direction=-1, name="top")
    found = sweep.periodic_orbit(system, section=section, q0=1.9, v0=0.0)
    assert found.period == pytest.approx(6.6632868593231, abs=1e-9)  # by DOP853 of scipy at 2e-14
    # Liouville: the multiplier that is not that of the motion itself is the exponential of the divergence
    t = np.linspace(0.0, found.period, 200_001)
    run = sl.solve(system, (0.0, found.period), found.q, found.v, tol=1e-12)
    divergence = np.trapezoid(1.0 - run(t).q[:, 0] ** 2, t)
    assert found.multipliers[0].real == pytest.approx(math.exp(divergence), rel=1e-7)
    assert abs(found.multipliers[1]) < 1e-9


def test_an_orbit_that_rests_has_multipliers_of_zero():
    table = sl.problems.vibrating_table(intensity=1.3)
    period = 2.0 * math.pi / 20.0
    near = sl.solve(table.system, (0.0, 4.4 * period), table.q0, table.v0, tol=1e-10)
    found = sweep.periodic_orbit(table, period=period, start=near, tol=1e-10)
    assert found.rests == 1
    assert np.allclose(found.multipliers, 0.0, atol=1e-12)


def test_a_start_without_an_orbit_is_said_to_have_none():
    system = oscillator()[1]
    with pytest.raises(sweep.OrbitError, match=r"no periodic orbit|multiplier"):
        sweep.periodic_orbit(system, period=0.3, q0=-0.5, v0=0.0, max_iterations=3)


def test_an_orbit_that_starts_at_rest_goes_with_its_table():
    p = sl.Parameters(A=0.02, w=25.0, lift=0.1)
    table = sl.Contact(lambda t, q: q[0] - p.lift - p.A * np.sin(p.w * t), e=0.3, name="table")
    ball = sl.System(M=1.0, f=lambda t, q, v: [-9.81], contacts=[table])
    near = sl.solve(ball, (0.0, 10.0632), 0.3, 0.0, tol=1e-9)
    orbit = sweep.periodic_orbit(ball, period=lambda: 2.0 * np.pi / p.w, start=near)
    assert orbit.basis.shape[1] == 0 and orbit.rests == 1
    phase = 25.0 * orbit.t
    assert np.allclose(orbit.derivative("A")[:, 0], [np.sin(phase), 25.0 * np.cos(phase)], atol=1e-9)
    moved = orbit.at(A=0.021, lift=0.2)
    assert moved.q[0] == pytest.approx(0.2 + 0.021 * np.sin(phase), abs=1e-9)


def test_a_state_that_returns_once_is_no_orbit():
    system = sl.System(M=1.0, f=lambda t, q, v: [-q[0] + np.cos(2.6 * t)])
    with pytest.raises(sweep.OrbitError, match="not after another period"):
        sweep.periodic_orbit(system, period=2.0, q0=-0.5, v0=0.0)


def test_wrong_arguments_are_named():
    system, ending = oscillator()[1], sl.Event(lambda t, q, v: v[0], terminal=True)
    for options, said in [
        ({"period": "long"}, "period is 'long'"), ({"section": "top"}, "section is 'top'"),
        ({"period": 1.0, "start": "run"}, "start is 'run'"), ({"period": 1.0, "events": ending}, "ends the motion"),
        ({"period": 1.0, "scheme": sl.MoreauJean()}, "does not locate events"),
    ]:  # fmt: skip
        with pytest.raises(sl.errors.SettingError, match=said):
            sweep.periodic_orbit(system, **{"q0": -0.5, "v0": 0.0, **options})


def test_an_orbit_is_followed_from_a_start_late_in_a_run():
    p, system = oscillator()
    near = sl.solve(system, (0.0, 150.0), -0.5, 0.0, tol=1e-9)  # a time at which 150 w moves by a turn
    orbit = sweep.periodic_orbit(system, period=lambda: 2.0 * np.pi / p.w, start=near)
    moved = orbit.at(w=2.7)
    assert moved.residual < 1e-10
    assert np.prod(moved.multipliers).real == pytest.approx(0.64, abs=1e-10)


def test_a_bound_without_a_loss_is_named(orbit):
    with pytest.raises(sl.errors.SettingError, match=r"no period doubling between w = 2\.6 and 2\.61"):
        orbit.find("period doubling", w=(2.6, 2.61))
    with pytest.raises(sl.errors.SettingError, match="loss is 'doubling'"):
        orbit.find("doubling", w=(2.6, 2.7))
    with pytest.raises(sl.errors.SettingError, match="no parameter 'x'"):
        orbit.find("period doubling", x=(2.6, 2.7))
