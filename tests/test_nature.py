"""Classes of traced functions: what may be trusted with few values, and how fast its sines turn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from saltus.compile.nature import NOT_POLYNOMIAL, Kind, nature_of, phase_rate
from saltus.compile.trace import Trace, interpreted

TABLE = CubicSpline([0.0, 0.5, 2.5], [0.0, 1.5, 0.5])


def traced(function):
    trace = Trace()
    t, q, v = trace.variable("t"), trace.variables("q", 2), trace.variables("v", 2)
    return trace, (t, q, v), trace.as_array(trace.call(function, t, q, v))


# function -> kind and dependence on t, as it stands and with its choices held
FREE = {
    "nothing": (lambda t, q, v: [9.81, 0.0], Kind.CONSTANT, False),
    "parameters": (lambda t, q, v: np.sin(np.array([2.5, 1.5])) ** 2.5, Kind.CONSTANT, False),
    "spring": (lambda t, q, v: -2.5 * q - 0.1 * v + 3.0, Kind.LINEAR, False),
    "spring over a number": (lambda t, q, v: (q[0] - v[1]) / 2.5, Kind.LINEAR, False),
    "ramp": (lambda t, q, v: 2.5 * t, Kind.TAME, True),
    "drive": (lambda t, q, v: 2.5 * np.cos(3.5 * t + 0.1) - q, Kind.TAME, True),
    "pendulum": (lambda t, q, v: -np.sin(q[0] - q[1]) * v[1] ** 2, Kind.TAME, False),
    "duffing": (lambda t, q, v: q[0] ** 3 + q[1] ** 8, Kind.TAME, False),
    "degree 9": (lambda t, q, v: q[0] ** 4 * v[1] ** 5, Kind.WILD, False),
    "sine of a speed": (lambda t, q, v: np.sin(v[0]), Kind.WILD, False),
    "chirp": (lambda t, q, v: np.sin(2.5 * t * t), Kind.WILD, True),
    "sine of a sine": (lambda t, q, v: np.sin(np.sin(t)), Kind.WILD, True),
    "bump": (lambda t, q, v: np.exp(-(((t - 1.0) / 0.01) ** 2)), Kind.WILD, True),
    "gravity": (lambda t, q, v: -q / np.linalg.norm(q) ** 3, Kind.WILD, False),
    "smooth friction": (lambda t, q, v: np.tanh(v / 1e-3), Kind.WILD, False),
    "root": (lambda t, q, v: q[0] ** 0.5, Kind.ROOTED, False),
    "distance": (lambda t, q, v: np.hypot(q[0] - 1.5, np.cos(q[1])) - 2.5, Kind.ROOTED, False),
    "root of a root": (lambda t, q, v: np.sqrt(1.5 + np.sqrt(q[0] ** 2 + 0.5)), Kind.ROOTED, False),
    "root of time": (lambda t, q, v: np.sqrt((t - 1.5) ** 2 + 1e-6), Kind.WILD, True),
    "sine of a distance": (lambda t, q, v: np.sin(np.hypot(q[0], q[1])), Kind.WILD, False),
    "direction": (lambda t, q, v: q / np.hypot(q[0], q[1]), Kind.WILD, False),
}
CHOICES = {
    "one-sided spring": (lambda t, q, v: np.minimum(q, 0.0) * 3.5, Kind.LINEAR, False),
    "window": (lambda t, q, v: 5.0 if 1.0 < t < 1.2 else 0.0, Kind.CONSTANT, False),
    "window of a drive": (lambda t, q, v: np.sin(t) if t > 1.2 else 0.0, Kind.TAME, True),
    "dry friction": (lambda t, q, v: -np.sign(v) - abs(q), Kind.LINEAR, False),
    "square wave": (lambda t, q, v: np.sign(np.sin(9.5 * t)), Kind.CONSTANT, False),
    "rectified": (lambda t, q, v: abs(np.cos(9.5 * t)), Kind.TAME, True),
    "saw": (lambda t, q, v: (t % 0.5) + np.floor(q[0]), Kind.TAME, True),
    "sine of a saw": (lambda t, q, v: np.sin(4.5 * (t % 0.5)), Kind.TAME, True),
    "table of a coordinate": (lambda t, q, v: TABLE(q[0]), Kind.TAME, False),
    "line of a coordinate": (lambda t, q, v: np.interp(q[0], [0.0, 1.5], [1.0, 2.5]), Kind.LINEAR, False),
    "table of a square": (lambda t, q, v: TABLE(q[0] ** 3), Kind.WILD, False),
    "wild branch": (lambda t, q, v: np.where(t > 1.0, np.exp(q[0]), 0.0), Kind.WILD, False),
    "condition of a bump": (lambda t, q, v: np.where(np.exp(t) > 2.5, q[0], 0.0), Kind.LINEAR, False),
}


@pytest.mark.parametrize("name", FREE)
def test_functions_without_choices_have_their_class_held_or_not(name):
    function, kind, depends_on_t = FREE[name]
    _, variables, made = traced(function)
    for held in (False, True):
        nature = nature_of(made, *variables, held=held)
        assert (nature.kind, nature.depends_on_t) == (kind, depends_on_t)


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_wild_until_they_are_held(name):
    function, kind, depends_on_t = CHOICES[name]
    _, variables, made = traced(function)
    assert nature_of(made, *variables).kind is Kind.WILD
    nature = nature_of(made, *variables, held=True)
    assert (nature.kind, nature.depends_on_t) == (kind, depends_on_t)


def test_several_functions_are_as_wild_as_the_worst_of_them():
    _, variables, made = traced(lambda t, q, v: [2.5, q[0], q[0] * np.sin(t) * v[1], 1.5 * t])
    assert nature_of(made[:1], *variables) == (Kind.CONSTANT, False, 0)
    assert nature_of(made[:2], *variables) == (Kind.LINEAR, False, 1)
    assert nature_of(made, *variables) == (Kind.TAME, True, 3)
    assert nature_of([*made, made[0].graph.exp(made[1])], *variables) == (Kind.WILD, True, NOT_POLYNOMIAL)


def test_the_phase_rate_is_that_of_the_fastest_sine_along_the_motion():
    trace, (t, q, v), made = traced(
        lambda t, q, v: [np.sin(2.5 * t) * q[0], np.cos(3.5 * q[0] - 1.5 * q[1] + 0.5 * t), np.sin(0.7) * v[0]]
    )
    rate = interpreted([phase_rate(made, t, q, v)], ["t", "q", "v"])
    par = np.array(trace.constants)
    for at in ([0.1, 0.2], [4.0, -3.0], [-2.0, 1.0]):
        wanted = max(2.5, abs(3.5 * at[0] - 1.5 * at[1] + 0.5))
        assert rate(0.3, np.array([0.4, 0.5]), np.array(at), par)[0] == pytest.approx(wanted, rel=1e-14)


def test_no_phase_rate_without_sines_and_none_of_a_chirp():
    _, (t, q, v), made = traced(lambda t, q, v: [q[0] * t, np.sin(t * t), np.sin(v[0])])
    assert phase_rate(made[:1], t, q, v) is made[0].graph.zero
    assert phase_rate(made[1:2], t, q, v) is None
    assert phase_rate(made[2:], t, q, v) is None


def test_held_phases_turn_as_in_their_branch():
    trace, (t, q, v), made = traced(lambda t, q, v: np.sin(np.where(q[0] > 0, 2.5 * t, 7.5 * t)))
    assert phase_rate([made[()]], t, q, v) is None
    rate = interpreted([phase_rate([made[()]], t, q, v, held=True)], ["t", "q", "v"])
    values = [rate(0.0, np.array([x, 0.0]), np.zeros(2), np.array(trace.constants))[0] for x in (1.0, -1.0)]
    assert values == [2.5, 7.5]
