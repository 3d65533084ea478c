"""Sensitivities against central differences of runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import saltus as sl
from saltus import sweep
from stability_models import by_differences

sin, cos = np.sin, np.cos


def oscillator():
    p = sl.Parameters(w=2.6, e=0.8, k=1.0, wall=0.0)
    stop = sl.Contact(lambda q: p.wall - q[0], e=p.e, name="stop")
    force = lambda t, q, v: [-p.k * q[0] - 0.3 * q[0] ** 3 + cos(p.w * t)]  # noqa: E731
    wanted = [
        sweep.EndState(), sweep.ImpactTime("stop", 1), sweep.ImpactTime("stop", 3), sweep.Impulse("stop"),
        sweep.Extreme(0, "smallest"), sweep.Extreme(0, "largest"),
    ]  # fmt: skip
    return sl.System(M=1.0, f=force, contacts=[stop]), (0.0, 7.0), [-0.5], [0.0], wanted, dict(p.items())


def rod():
    p = sl.Parameters(mu=0.2, e=0.6, length=0.4, gravity=9.81, belt=0.1, e_t=0.3, m=1.0)

    def M(q):
        return [[p.m, 0, 0.3 * cos(q[2])], [0, p.m, -0.3 * sin(q[2])], [0.3 * cos(q[2]), -0.3 * sin(q[2]), 0.5]]

    def f(t, q, v):
        return [0.3 * v[2] ** 2 * sin(q[2]), 0.3 * v[2] ** 2 * cos(q[2]) - p.m * p.gravity, -q[2]]

    slip = lambda t, q, v: [v[0] + p.length * cos(q[2]) * v[2] - p.belt]  # noqa: E731
    gap = lambda q: q[1] - p.length * cos(q[2]) + 0.4  # noqa: E731
    tip = sl.Contact(gap, slip=slip, mu=p.mu, e=p.e, e_t=p.e_t, name="tip")
    wanted = [
        sweep.EndState(), sweep.ImpactTime("tip", 2), sweep.Impulse("tip"), sweep.Impulse("tip", "T"),
        sweep.Extreme(1, "smallest"),
    ]  # fmt: skip
    system = sl.System(M=M, f=f, contacts=[tip])
    return system, (0.0, 0.8), [0.0, 0.5, 0.3], [1.5, 0.0, 0.4], wanted, dict(p.items())


def sticking_rod():
    system, span, q0, _, wanted, values = rod()
    return system, span, q0, [0.5, 0.0, 0.4], wanted, {**values, "mu": 1.2}


def belt():
    p = sl.Parameters(belt=0.5, mu=0.1, k=1.0)
    contact = sl.Contact(lambda q: q[1], slip=lambda t, q, v: [v[0] - p.belt], mu=p.mu, e=0.0, name="belt")
    system = sl.System(M=1.0, f=lambda t, q, v: [-p.k * q[0], -10.0], contacts=[contact])
    wanted = [sweep.EndState(), sweep.Impulse("belt"), sweep.Impulse("belt", "T"), sweep.Extreme(0, "smallest")]
    return system, (0.0, 7.0), [2.0, 0.0], [0.0, 0.0], wanted, dict(p.items())


def wrapped():
    """A rotor that is wound back where an event resets it; nothing else has the parameters of the event."""
    p = sl.Parameters(reach=1.0, kept=0.9)
    system = sl.System(M=lambda q: [1 + 0.3 * q[0] ** 2], f=lambda t, q, v: [1.0 - 0.1 * v[0] + 0.3 * sin(t)])
    back = sl.Event(
        lambda t, q, v: q[0] - p.reach, direction=1, reset=lambda t, q, v: ([q[0] - 2.0 * p.reach], [p.kept * v[0]])
    )
    wanted = [sweep.EndState(), sweep.Extreme(0, "smallest"), sweep.Extreme(0, "largest")]
    return system, (0.0, 6.0), [0.0], [0.5], wanted, dict(p.items()), [back]


def called_as_python():
    p = sl.Parameters(pull=9.0, damping=0.9)
    force = lambda t, q, v: [-math.sin(float(q[0])) * p.pull - p.damping * float(v[0])]  # noqa: E731
    system = sl.System(M=1.0, f=force, contacts=[sl.Contact(lambda q: q[0] + 0.2, e=0.6, name="wall")])
    return system, (0.0, 0.3), [0.3], [-2.5], [sweep.EndState(), sweep.ImpactTime("wall", 1)], dict(p.items())


@pytest.mark.filterwarnings("ignore::saltus.errors.SlowFunctionWarning")
@pytest.mark.parametrize("case", [oscillator, rod, sticking_rod, belt, wrapped, called_as_python])
def test_sensitivities_are_those_of_central_differences(case):
    system, span, q0, v0, wanted, values, *events = case()
    names, events = list(values), events[0] if events else []
    found = sweep.sensitivity(system, span, q0, v0, of=wanted, by=names, parameters=values, tol=1e-12, events=events)

    def measured(x):
        moved = {name: value + dx for (name, value), dx in zip(values.items(), x, strict=True)}
        made = sweep.sensitivity(system, span, q0, v0, of=wanted, parameters=moved, tol=1e-13, events=events)
        return np.array([one.value for one in made.quantities])

    differences = by_differences(measured, len(names), 2e-5)
    slopes = np.array([[one.by[name] for name in names] for one in found.quantities])
    assert not found.corners
    assert np.max(np.abs(slopes - differences) / (1.0 + np.abs(differences))) < 1e-7


def test_the_time_of_an_impact_depends_on_the_start_as_a_falling_ball_says():
    p = sl.Parameters(gravity=10.0)
    ball = sl.System(M=1.0, f=lambda t, q, v: [-p.gravity], contacts=[sl.Contact(lambda q: q[0], e=0.5, name="floor")])
    found = sweep.sensitivity(ball, (0.0, 0.6), 1.0, 0.0, of=sweep.ImpactTime("floor"), by="gravity")
    one = found["time of impact 1 of floor"]
    assert one.value == pytest.approx(np.sqrt(0.2), abs=1e-12)
    assert one.by["gravity"] == pytest.approx(-np.sqrt(0.2) / 20.0, abs=1e-10)  # t = sqrt(2 q0 / gravity)
    assert np.allclose(one.by_start, [np.sqrt(0.2) / 2.0, 0.1], atol=1e-10)


def test_entries_of_an_array_are_told_apart():
    p = sl.Parameters(k=[1.0, 2.0])
    system = sl.System(M=1.0, f=lambda t, q, v: [-p.k[0] * q[0], -p.k[1] * q[1]])
    found = sweep.sensitivity(system, (0.0, 1.0), [1.0, 1.0], [0.0, 0.0], of=sweep.EndState(), by=["k"])
    # cos(sqrt(k) t)
    assert found["q0 at the end"].by["k[0]"] == pytest.approx(-np.sin(1.0) / 2.0, abs=1e-9)
    assert found["q0 at the end"].by["k[1]"] == 0.0
    data = found.to_xarray()
    assert float(data["by_parameter"].sel(quantity="q1 at the end", parameter="k[1]")) == pytest.approx(
        -np.sin(np.sqrt(2.0)) / (2.0 * np.sqrt(2.0)), abs=1e-9
    )


@pytest.mark.parametrize(
    ("of", "by", "said"),
    [(sweep.ImpactTime("stop", 99), ["w"], "no number 99"), (sweep.Impulse("wall"), ["w"], "no row N"),
     (sweep.EndState(), ["x"], "no parameter 'x'"), (sweep.Extreme(3), ["w"], "coordinate"),
     ([], ["w"], "of is empty"), (sweep.EndState, ["w"], "of has"), ("end", ["w"], "of has"),
     (sweep.Extreme("x"), ["w"], "coordinate"), (sweep.EndState(), None, "by is None")],
)  # fmt: skip
def test_wrong_quantities_are_named(of, by, said):
    system, span, q0, v0, _, _ = oscillator()
    with pytest.raises(sl.errors.SettingError, match=said):
        sweep.sensitivity(system, span, q0, v0, of=of, by=by)


@pytest.mark.filterwarnings("ignore::saltus.errors.SlowFunctionWarning")
def test_a_parameter_of_no_influence_takes_no_time_by_differences():
    p = sl.Parameters(reach=5.0)
    force = lambda t, q, v: [1.0 - 0.1 * v[0] + 0.3 * math.sin(float(t)) - float(q[0]) ** 3]  # noqa: E731
    far = sl.Contact(lambda q: p.reach - q[0], e=0.5, name="far")
    system = sl.System(M=lambda q: [1 + 0.3 * q[0] ** 2], f=force, contacts=[far])
    found = sweep.sensitivity(system, (0.0, 3.0), [0.0], [0.5], of=sweep.EndState(), by="reach")
    assert all(one.by["reach"] == 0.0 for one in found.quantities)
