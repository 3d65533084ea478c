"""Bounds of traced expressions over boxes: no value outside, and none wasted where the range is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PPoly

from saltus.compile.interval import bounds, enclose
from saltus.compile.seam import interpreted as interpreted_unit
from saltus.compile.tape import tape_of
from saltus.compile.trace import Trace, Untraceable, interpreted

KNOTS = np.array([-1.5, -0.25, 0.5, 1.75])
SPLINE = CubicSpline(KNOTS, [0.5, 2.0, -1.0, 0.25])
ROUNDING = 1e-14  # what the outward rounding of a few operations adds, relative
STEPS = PPoly(np.array([[1.5, -2.5, 0.5], [0.0, 1.5, 2.5]]), KNOTS)


def record(function, n=3):
    trace = Trace()
    x = trace.variables("x", n)
    return trace, x, np.ravel(trace.as_array(trace.call(function, x)))


def range_of(function, low, high, **options):
    """Bounds of the first result of a function of three numbers, or of one number given as floats."""
    low, high = np.atleast_1d(low), np.atleast_1d(high)
    trace, x, made = record(function, len(low))
    return bounds(tape_of(made, x, **options), trace.constants, low, high)[0]


# function, box, exact range
EXACT = {
    "sum": (lambda x: x[0] + x[1], [-1, 2], [3, 5], (1, 8)),
    "difference": (lambda x: x[0] - x[1], [-1, 2], [3, 5], (-6, 1)),
    "product": (lambda x: x[0] * x[1], [-1, -2], [3, 5], (-6, 15)),
    "quotient": (lambda x: x[0] / x[1], [-1, 2], [3, 4], (-0.5, 1.5)),
    "quotient that ends in zero": (lambda x: x[0] / x[1], [1, 0], [3, 4], (0.25, math.inf)),
    "negative over what ends in zero": (lambda x: x[0] / x[1], [-3, 0], [-1, 4], (-math.inf, -0.25)),
    "quotient by what begins in zero": (lambda x: x[0] / x[1], [1, -4], [3, 0], (-math.inf, -0.25)),
    "quotient by what holds zero": (lambda x: x[0] / x[1], [1, -4], [3, 1], (-math.inf, math.inf)),
    "square": (lambda x: x[0] * x[0], -1, 3, (0, 9)),
    "cube": (lambda x: x[0] ** 3, -1, 3, (-1, 27)),
    "fifth power": (lambda x: x[0] ** 5, -2, 1, (-32, 1)),
    "sixth power": (lambda x: x[0] ** 6, -2, 1, (0, 64)),
    "square of a sine": (lambda x: np.sin(x[0]) ** 2, -0.5, 3.0, (0, 1)),
    "absolute value": (lambda x: abs(x[0]), -2, 1, (0, 2)),
    "absolute value of negatives": (lambda x: abs(x[0]), -2, -1, (1, 2)),
    "minimum": (lambda x: np.minimum(x[0], x[1]), [-1, 0], [3, 2], (-1, 2)),
    "maximum": (lambda x: np.maximum(x[0], x[1]), [-1, 0], [3, 2], (0, 3)),
    "sine over its maximum": (lambda x: np.sin(x[0]), 1.0, 2.0, (math.sin(1.0), 1.0)),
    "sine far away": (lambda x: np.sin(x[0]), 1000.0, 1000.1, (math.sin(1000.0), math.sin(1000.1))),
    "cosine over its minimum": (lambda x: np.cos(x[0]), -4.0, -2.5, (-1.0, math.cos(4.0))),
    "sine of a whole turn": (lambda x: np.sin(x[0]), 0.3, 7.0, (-1, 1)),
    "tangent": (lambda x: np.tan(x[0]), -1.0, 1.5, (math.tan(-1.0), math.tan(1.5))),
    "tangent over a pole": (lambda x: np.tan(x[0]), 1.0, 2.0, (-math.inf, math.inf)),
    "exponential": (lambda x: np.exp(x[0]), -1, 2, (math.exp(-1), math.exp(2))),
    "hyperbolic cosine": (lambda x: np.cosh(x[0]), -1, 2, (1, math.cosh(2))),
    "root": (lambda x: np.sqrt(x[0]), -1, 4, (0, 2)),
    "logarithm from zero": (lambda x: np.log(x[0]), 0, 1, (-math.inf, 0)),
    "arc cosine": (lambda x: np.arccos(x[0]), -0.5, 0.5, (math.acos(0.5), math.acos(-0.5))),
    "real power": (lambda x: x[0] ** 1.5, 1, 4, (1, 8)),
    "negative real power": (lambda x: x[0] ** -1.5, 1, 4, (0.125, 1)),
    "power of two": (lambda x: 2.0 ** x[0], -1, 3, (0.5, 8)),
    "angle": (lambda x: np.arctan2(x[0], x[1]), [1, -1], [2, 1], (math.pi / 4, 3 * math.pi / 4)),
    "angle over its jump": (lambda x: np.arctan2(x[0], x[1]), [-1, -2], [1, -1], (-math.pi, math.pi)),
    "length": (lambda x: np.hypot(x[0], x[1]), [-3, 3], [1, 4], (3, 5)),
    "sign": (lambda x: np.sign(x[0]), -2, 0, (-1, 0)),
    "floor": (lambda x: np.floor(x[0]), -1.5, 2.5, (-2, 2)),
    "remainder in one turn": (lambda x: x[0] % 2.0, 4.5, 5.5, (0.5, 1.5)),
    "remainder over a turn": (lambda x: x[0] % 2.0, 3.5, 5.5, (0, 2)),
    "remainder by a negative": (lambda x: x[0] % -2.0, 4.5, 5.5, (-1.5, -0.5)),
    "decided choice": (lambda x: np.where(x[0] > 1.0, x[0], -5.0), 1.5, 2, (1.5, 2)),
    "decided otherwise": (lambda x: np.where((x[0] > 1.0) & (x[1] > 1.0), x[0], -5.0), [1.5, 0], [2, 1], (-5, -5)),
    "open choice": (lambda x: np.where(x[0] > 1.0, 2.5, -5.0), 0, 2, (-5, 2.5)),
    "window that sleeps": (lambda x: 5.0 if 1.0 < x[0] < 1.2 else 0.0, 0.0, 1.0, (0, 0)),
    "window in the box": (lambda x: 5.0 if 1.0 < x[0] < 1.2 else 0.0, 0.0, 2.0, (0, 5)),
    "table of lines": (lambda x: np.interp(x[0], [0, 1, 2], [0.0, 4.0, 1.0]), 0.5, 1.5, (2, 4)),
    "table outside": (lambda x: np.interp(x[0], [0, 1, 2], [0.0, 4.0, 1.0]), -3, -1, (0, 0)),
    "steps": (lambda x: STEPS(x[0]), -0.25, 0.25, (0.25, 1.5)),
}


@pytest.mark.parametrize("name", EXACT)
def test_the_range_of_one_operation_is_exact_up_to_rounding(name):
    function, low, high, wanted = EXACT[name]
    low, high = range_of(function, low, high)
    for found, exact in ((low, wanted[0]), (high, wanted[1])):
        assert found == exact or abs(found - exact) <= ROUNDING * (1.0 + abs(exact))
    assert low <= wanted[0] and high >= wanted[1]


def test_bounds_are_never_not_a_number():
    low, high = range_of(lambda x: (x[0] / x[1]) * x[1] - x[1] / x[0] + np.sin(x[0] / x[1]), [-1, -1], [1, 1])
    assert (low, high) == (-math.inf, math.inf)
    low, high = range_of(lambda x: np.exp(np.exp(x[0])), 7.0, 8.0)
    assert 1.79e308 < low < math.inf and high == math.inf
    low, high = range_of(lambda x: np.sqrt(x[0]) + np.log(x[0]), -2.0, -1.0)  # no value anywhere
    assert (low, high) == (-math.inf, math.inf)


def test_the_mean_value_form_is_sharp_on_small_boxes_and_not_used_over_jumps():
    def cancelling(x):
        return x[0] * x[0] - 2.0 * x[0] * x[1] + x[1] * x[1]

    width = 1e-4
    box = [1.0, 1.0 + 3e-3], [1.0 + width, 1.0 + 3e-3 + width]
    plain, sharp = range_of(cancelling, *box), range_of(cancelling, *box, slopes=True)
    assert np.ptp(plain) > 7 * width and np.ptp(sharp) < 0.02 * width
    assert sharp[0] <= (3e-3 - width) ** 2 and sharp[1] >= (3e-3 + width) ** 2
    assert tuple(range_of(lambda x: np.sign(x[0]) + 1e-9 * x[0], -0.1, 0.3, slopes=True)) == pytest.approx((-1, 1))
    low, high = range_of(lambda x: abs(x[0]) - x[0], -0.1, 0.3, slopes=True)
    assert low <= 0.0 and high >= 0.2


def jumps(function, low, high):
    trace, x, made = record(function, 1)
    tape, box = tape_of(made, x), (np.array([low]), np.array([high]))
    return interpreted_unit(enclose)(
        tape.code, tape.numbers, np.array([*trace.constants, 0.0]), *box, np.zeros(tape.work), np.zeros(2)
    )


def test_what_may_jump_inside_of_a_box_is_said():
    for function in (SPLINE, abs, lambda x: np.interp(x, KNOTS, [0.5, 2.0, -1.0, 0.25]), lambda x: np.maximum(x, 0.4)):
        assert jumps(lambda x, f=function: f(x[0]), -1.0, 1.0) == 0
    for function in (
        STEPS,
        np.sign,
        np.floor,
        lambda x: x % 0.3,
        lambda x: np.where(x > 0.25, x, 0.0),
        lambda x: 1 / x,
    ):
        assert jumps(lambda x, f=function: f(x[0]), -1.0, 1.0) > 0
        assert jumps(lambda x, f=function: f(x[0]), 0.31, 0.32) == 0


def test_a_variable_that_the_tape_does_not_know_is_refused():
    _, x, made = record(lambda x: x[0] + x[2])
    with pytest.raises(Untraceable, match=r"depends on x\[2\]"):
        tape_of(made, x[:2])


# ---- random expressions
ONE = ["-{a}", "abs({a})", "np.sin({a})", "np.cos({a})", "np.sin(3 * {a})", "np.exp({a})", "np.sqrt({a})",
       "np.log({a})", "np.tanh({a})", "np.arctan({a})", "np.arcsin({a})", "np.arccosh({a})", "np.sign({a})",
       "np.floor({a})", "np.trunc({a})", "np.ceil({a})", "{a}**2", "{a}**3", "{a}**4", "{a}**1.5", "{a}**-2",
       "SPLINE({a})", "STEPS({a})", "SPLINE({a}, 1)", "{a} % 0.75", "np.cosh({a})", "np.tan({a})", "np.expm1({a})",
       "np.log1p({a})", "special.erf({a})", "np.interp({a}, KNOTS, [1.0, -1.0, 0.5, 2.0])", "1.5 * {a}",
       "{a} + 0.5", "2.5 / {a}", "{a} // 0.5"]  # fmt: skip
TWO = ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "np.minimum({a}, {b})", "np.maximum({a}, {b})",
       "np.arctan2({a}, {b})", "np.hypot({a}, {b})", "np.where({a} > {b}, {a}, {b} * {b})", "np.copysign({a}, {b})",
       "np.where(({a} < 0.5) | ({b} <= {a}), {b}, 1.5)", "abs({a}) ** {b}", "{a} % {b}",
       "np.fmod({a}, {b})"]  # fmt: skip


def expression(rng, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return f"x[{rng.integers(3)}]"
    if rng.random() < 0.5:
        return "(" + rng.choice(ONE).format(a=expression(rng, depth - 1)) + ")"
    return "(" + rng.choice(TWO).format(a=expression(rng, depth - 1), b=expression(rng, depth - 1)) + ")"


def box_of(rng):
    """A box of random size, with corners on borders of tables and whole numbers now and then."""
    middle = np.where(rng.random(3) < 0.3, rng.choice([-1.5, -0.25, 0.0, 0.5, 1.0, 1.75], 3), rng.normal(size=3))
    width = 10.0 ** rng.uniform(-6, 0.7) * rng.random(3)
    share = rng.choice([0.0, 0.5, 1.0], 3)
    return middle - share * width, middle + (1.0 - share) * width


@pytest.mark.parametrize("slopes", [False, True])
@pytest.mark.parametrize("block", range(2))
def test_no_value_of_a_random_expression_lies_outside_of_its_bounds(block, slopes):
    from scipy import special

    looked = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, block, slopes])
        text = expression(rng, 4)
        names = {"np": np, "SPLINE": SPLINE, "STEPS": STEPS, "KNOTS": KNOTS, "special": special}
        function = eval(f"lambda x: {text}", names)  # noqa: S307  our own text
        trace, x, made = record(function)
        tape, run, par = tape_of(made, x, slopes=slopes), interpreted(made, ["x"]), np.array(trace.constants)
        for _ in range(6):
            low, high = box_of(rng)
            least, most = bounds(tape, par, low, high)[0]
            assert least <= most, text
            points = low + rng.random((70, 3)) * (high - low)
            points[:8] = np.where(np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, 8).T, low, high)
            for point in np.clip(points, low, high):
                try:
                    with np.errstate(all="ignore"):
                        value = run(point.tolist(), par.tolist() or [0.0])[0]
                except (ValueError, ZeroDivisionError, OverflowError, TypeError):
                    continue  # no value there
                if value == value:
                    looked += 1
                    assert least <= value <= most, f"{text} = {value!r} at {point.tolist()}, not in {least!r} {most!r}"
    assert looked > 10_000


def test_compiled_bounds_are_those_of_the_interpreted_units():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        text = "[" + ", ".join(expression(rng, 3).replace("special.erf", "np.sin") for _ in range(3)) + "]"
        function = eval(f"lambda x: {text}", {"np": np, "SPLINE": SPLINE, "STEPS": STEPS, "KNOTS": KNOTS})  # noqa: S307
        trace, x, made = record(function)
        tape, (low, high) = tape_of(made, x, slopes=True), box_of(rng)
        one, other = (bounds(tape, trace.constants, low, high, compiled=c) for c in (True, False))
        np.testing.assert_allclose(one, other, rtol=ROUNDING, atol=1e-300)
