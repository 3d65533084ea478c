"""Tracing of model functions: values, derivatives and parameters against direct evaluation."""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.linalg import norm as imported_norm
from scipy import signal, sparse, special
from scipy.interpolate import (
    Akima1DInterpolator,
    CubicSpline,
    InterpolatedUnivariateSpline,
    PchipInterpolator,
    interp1d,
    make_interp_spline,
)

from saltus.compile.trace import (
    HELPERS,
    IMPORTS,
    Trace,
    Untraceable,
    depends_on,
    differentiate,
    directional,
    emit,
    gradient,
    interpreted,
    jacobian,
    operation_count,
    substitute,
)
from saltus.errors import FunctionError

Q = np.array([0.3, -0.7, 1.1, 0.45])
ROUNDING = {"rtol": 1e-13, "atol": 1e-14}


def record(function, n=4):
    """The trace, its variables q and the traced result of function(q)."""
    trace = Trace()
    q = trace.variables("q", n)
    return trace, q, trace.as_array(trace.call(function, q))


def evaluate(trace, exprs, q):
    return interpreted(exprs, ["q"])(np.asarray(q, dtype=float), np.array(trace.constants))


def text_of(exprs):
    return emit([(f"out[{i}]", expr) for i, expr in enumerate(np.ravel(exprs))])


def filled(q):
    A = np.zeros((2, 3))
    A[0, 0] = q[0]
    A[1] = q[:3] * 2.5
    A[:, 2] += q[3]
    return A


def filled_empty(q):
    A = np.empty(2)
    A[0], A[1] = q[0], 1.5
    return A


def filled_identity(q):
    M = np.eye(2)
    M[0, 1] = M[1, 0] = math.cos(q[0] - q[1])
    return M


def rotation(q):
    R = np.array([[np.cos(q[0]), -np.sin(q[0])], [np.sin(q[0]), np.cos(q[0])]])
    return R.T @ R @ q[:2] + R.dot([1.0, q[3]])


def looped(q):
    total = 0.0
    for i in range(len(q)):
        for x in q:
            total += (i + 1) * x * x
    return total


KNOTS = np.array([-1.0, -0.2, 0.4, 1.3])
VALUES = np.array([0.5, 2.0, -1.0, 0.25])
FUNCTIONS = {
    "arithmetic": lambda q: [
        q[0] + 2 * q[1] - q[2] / 3.5,
        -q[0] * q[1],
        +q[2],
        abs(q[1]),
        q[0] % 0.25,
        q[1] // 0.2,
    ],
    "reflected": lambda q: [1.5 - q[0], 2 / q[0], 2.5 ** q[1], 2 ** q[1], 1.25 % q[0], 4 // q[0]],
    "powers": lambda q: [
        q[0] ** 2,
        q[1] ** 3,
        q[0] ** -1,
        q[0] ** 0.5,
        q[0] ** 1.5,
        q[1] ** 2.0,
        q[0] ** q[2],
    ],
    "high powers": lambda q: [q[1] ** 7, q[1] ** 70, q[1] ** 0, q[1] ** 1, np.power(q[0], 2), q[:2] ** 2],
    "trigonometry": lambda q: [
        np.sin(q),
        np.cos(q),
        np.tan(q),
        np.sinh(q),
        np.cosh(q),
        np.tanh(q),
        np.arctan(q),
    ],
    "inverse": lambda q: [
        np.arcsin(q[0]),
        np.arccos(q[1]),
        np.arcsinh(q[2]),
        np.arccosh(q[2]),
        np.arctanh(q[0]),
    ],
    "exponential": lambda q: [np.exp(q), np.expm1(q), np.exp2(q), np.log(q**2), np.log1p(q), np.log10(q * q)],
    "roots": lambda q: [np.sqrt(q * q), np.cbrt(q), np.square(q), np.reciprocal(q), np.log2(q * q)],
    "steps": lambda q: [np.sign(q), np.floor(q), np.ceil(q), np.trunc(q), np.heaviside(q, 0.5), np.abs(q)],
    "angles": lambda q: [np.arctan2(q[0], q[1]), np.hypot(q[0], q[1]), np.radians(q[0]), np.rad2deg(q[0])],
    "remainders": lambda q: [
        np.mod(q[1], 0.3),
        np.fmod(q[1], 0.3),
        np.remainder(q[2], 0.35),
        np.copysign(q[0], q[1]),
    ],
    "choices": lambda q: [
        np.minimum(q, 0.2),
        np.maximum(q, q[::-1]),
        np.clip(q, -0.5, 0.5),
        q.clip(0.0, 0.4),
    ],
    "one-sided clip": lambda q: [np.clip(q, 0.1, None), np.clip(q[0], None, 0.1) + np.zeros(4)],
    "where": lambda q: np.where(q > 0.4, q * q, -q),
    "where of both": lambda q: np.where((q[0] > 0) & ~(q[1] > 0) | (q[2] == 1.0), np.log(q[0]), 0.5),
    "logical": lambda q: np.where(np.logical_or(np.logical_not(q > 0), np.logical_and(q < 0.4, q != 0.3)), 1.5, q),
    "conditions as numbers": lambda q: (q > 0) * 2.5 + (q[0] <= q[1]) * q,
    "select": lambda q: np.select([q < 0, q < 0.4], [-q, 2.5 * q], 0.25),
    "array": lambda q: np.array([q[0], 2.5, [q[1]][0]]),
    "array of rows": lambda q: np.array([[q[0], 0], [1.5, q[1]]], dtype=float),
    "asarray": lambda q: np.asarray(q, dtype=np.float64) * np.asarray([1.5, 2.5, 3.5, 4.5]),
    "filled zeros": filled,
    "filled empty": filled_empty,
    "filled identity": filled_identity,
    "filled like": lambda q: [np.zeros_like(q) + q, np.ones_like(q) * q, np.full_like(q, 2.5) - q],
    "full": lambda q: np.full((2, 2), q[0]) + np.ones((2, 2)) + np.full(2, 1.5),
    "concatenate": lambda q: np.concatenate([q[:2], [1.5], np.zeros(2), q[2:]]),
    "stacks": lambda q: np.vstack([np.hstack([q, 2.5]), np.hstack([1.5, q])]) + np.stack([q[:1], q[1:2]]),
    "scalars": lambda q: [
        np.hstack([q[0], 2.5]),
        np.atleast_1d(q[1]),
        np.sum(q[0]),
        np.ndim(q[0]) * q[0],
        np.r_[q, q[0]],
    ],
    "columns": lambda q: np.column_stack([q, q * q]),
    "block": lambda q: np.block([[np.eye(2), q[:2, None]], [q[None, 2:], np.ones((1, 1))]]),
    "shapes": lambda q: q.reshape(2, 2).T.ravel() + np.transpose(q.reshape(2, 2)).flatten() + np.roll(q, 1),
    "copy": lambda q: q.copy() + np.copy(q) + q.astype(float),
    "sums": lambda q: [
        np.sum(q),
        q.sum(),
        np.prod(q),
        q.prod(),
        np.mean(q),
        q.mean(),
        sum(q),
        np.sum(q[1:] ** 2),
    ],
    "sums by axis": lambda q: np.sum(q.reshape(2, 2), axis=0) + q.reshape(2, 2).sum(axis=1),
    "whole sum of a matrix": lambda q: np.sum(np.outer(q, q)) + np.outer(q, q).max(),
    "cumulative": lambda q: [np.cumsum(q), q.cumsum(), np.cumprod(q)],
    "extrema": lambda q: [
        np.max(q),
        np.min(q),
        q.max(),
        q.min(),
        max(q[0], q[1], 0.35),
        min(q),
        min(0.1, q[0]),
    ],
    "extrema by axis": lambda q: np.max(q.reshape(2, 2), axis=1) - np.min(q.reshape(2, 2), axis=0),
    "products": lambda q: [
        np.dot(q, q),
        q @ q,
        np.inner(q, q),
        np.vdot(q, q),
        q.dot(q),
        np.dot([q[0], 1.5], [q[1], 2]),
    ],
    "matrix products": lambda q: np.arange(12.0).reshape(3, 4) @ q + q[:3] @ np.outer(q[:3], q[:3]),
    "cross": lambda q: np.cross(q[:3], [1.5, q[3], 2.5]),
    "outer": lambda q: np.outer(q, q) + np.kron(q[:2], q[:2])[:, None] + np.multiply.outer(q, q),
    "diagonals": lambda q: np.diag(q) + np.diag(q[:3], 1) + np.trace(np.diag(q)) * np.eye(4),
    "triangles": lambda q: np.tril(np.outer(q, q)) - np.triu(np.outer(q, q), 1),
    "einsum": lambda q: np.einsum("i,j,ij->i", q, q, np.arange(16.0).reshape(4, 4)),
    "norms": lambda q: [
        np.linalg.norm(q),
        np.linalg.norm(q, 1),
        np.linalg.norm(q, np.inf),
        imported_norm(q[:2]),
    ],
    "norms by axis": lambda q: np.linalg.norm(q.reshape(2, 2), axis=1) + np.linalg.norm(np.outer(q, q)),
    "det": lambda q: np.linalg.det(np.outer(q, q) + np.diag([1.5, 2.5, 3.5, 4.5])),
    "inv": lambda q: np.linalg.inv(np.outer(q[:3], q[:3]) + np.eye(3)),
    "solve": lambda q: np.linalg.solve(np.outer(q, q) + np.eye(4) * 1.5, q),
    "solve many": lambda q: np.linalg.solve(np.outer(q[:2], q[:2]) + np.eye(2), np.outer(q[:2], q)),
    "constant solve": lambda q: np.linalg.solve(np.diag([1.5, 2.5, 3.5, 4.5]) + np.ones((4, 4)), q),
    "rotation": rotation,
    "loops": looped,
    "differences": lambda q: np.diff(q) + np.flip(q)[:3] + np.polyval([1.5, 2.5, 3.5], q[:3]),
    "interp": lambda q: np.interp(q, KNOTS, VALUES),
    "interp outside": lambda q: [
        np.interp(3 * q[2], KNOTS, VALUES, right=7.5),
        np.interp(3 * q[1], KNOTS, VALUES),
    ],
    "interp left": lambda q: np.interp(3 * q, KNOTS, VALUES, left=-2.5, right=q[0]),
    "interp with a period": lambda q: np.interp(2.3 * q, KNOTS, VALUES, period=1.7),
    "piecewise": lambda q: [
        np.piecewise(q, [q < 0.0, q > 0.4], [lambda x: -x, lambda x: x * x, 2.5]),
        np.piecewise(q, [q < 0.4, q < 0.0], [1.5, lambda x: x**3]),
        np.piecewise(q, q > 0.4, [1.5, lambda x: 2.5 * x]),
        np.piecewise(q[0], [q[0] < 0.0, q[0] >= 0.0], [0.0, lambda x: x]),
    ],
    "sinc": lambda q: [np.sinc(q), np.sinc(q[0] - q[0]), np.sinc(0.25), np.fix(q * 3), math.fmod(q[1], 0.3)],
    "any and all": lambda q: np.where(np.any(q > 1.0) & ~np.all(q > 0.0) | (q > 2.0).any(), q, (q > -1.0).all()),
    "spline that ends": lambda q: [
        CubicSpline(KNOTS, VALUES, extrapolate=False)(q[:2] / 2),
        CUBIC(9 * q, extrapolate="periodic"),
        PchipInterpolator(KNOTS, VALUES, extrapolate=True)(9 * q),
    ],
    "waves of scipy": lambda q: [
        signal.square(9 * q),
        signal.square(9 * q, 0.3),
        signal.sawtooth(9 * q),
        signal.sawtooth(9 * q[0], 0.4),
    ],
    "divmod": lambda q: [*divmod(q[1], 0.3), *divmod(1.75, q[0])],
    "lines of scipy": lambda q: [
        interp1d(KNOTS, VALUES)(q),
        interp1d(KNOTS, VALUES, fill_value="extrapolate")(3 * q),
        interp1d(KNOTS, VALUES, bounds_error=False, fill_value=(-2.5, 3.5))(3 * q),
        InterpolatedUnivariateSpline(KNOTS, VALUES)(2 * q),
    ],
    "cubic spline": lambda q: [CUBIC(q), CUBIC(2 * q), CUBIC(q, 1), CUBIC.derivative()(q)],
    "periodic spline": lambda q: PERIODIC(3 * q),
    "pchip": lambda q: [PchipInterpolator(KNOTS, VALUES)(q[0]), Akima1DInterpolator(KNOTS, VALUES)(q[1])],
    "vector spline": lambda q: VECTOR(q[0]) + VECTOR(q[:2])[1],
    "b-spline": lambda q: B_SPLINE(q),
    "math": lambda q: [math.sin(q[0]), math.sqrt(q[0]), math.atan2(q[0], q[1]), math.hypot(q[0], q[1], q[2])],
    "more math": lambda q: [
        math.pow(q[0], 2),
        math.fabs(q[1]),
        math.exp(q[0]),
        math.log(q[0], 10),
        math.pi * q[0],
    ],
    "math of arrays": lambda q: [
        math.dist(q[:2], q[2:]),
        math.prod(q),
        math.fsum(q),
        math.floor(q[1]),
        math.erf(q[0]),
    ],
    "lists": lambda q: [np.sin([q[0], 1.5]), np.maximum([q[0], q[1]], 0.1)],
    "numbers alone": lambda q: np.sin(np.linspace(0.5, 1.5, 4)) * q + np.linalg.norm(np.array([3.5, 4.5])),
    "special functions": lambda q: special.erf(q) + special.erfc(q[0]),
    "in place": lambda q: functools.reduce(lambda a, b: a.__iadd__(b), [q, 1.5, q * 2.5], np.zeros(4)),
}
CUBIC, PERIODIC = CubicSpline(KNOTS, VALUES), CubicSpline(KNOTS, [1.0, 2.0, 0.5, 1.0], bc_type="periodic")
VECTOR = CubicSpline(KNOTS, np.column_stack([VALUES, VALUES**2]))
B_SPLINE = make_interp_spline(KNOTS, VALUES, k=3)


def flat(value):
    return np.concatenate([np.ravel(np.asarray(item, dtype=float)) for item in value]) if type(value) is list else value


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_traced_functions_give_the_values_of_the_direct_call(name):
    trace = Trace()
    result = trace.call(FUNCTIONS[name], trace.variables("q", 4))
    parts = result if type(result) is list else [result]
    exprs = np.concatenate([trace.as_array(part).ravel() for part in parts])
    for q in (Q, np.array([0.36, 0.56, -0.88, -0.24])):
        direct = np.ravel(flat(FUNCTIONS[name](q.copy())))
        defined = np.isfinite(direct)  # where numpy answers NaN, math raises
        traced = np.array([evaluate(trace, expr, q) for expr in exprs[defined]])
        np.testing.assert_allclose(traced, direct[defined], **ROUNDING)


def test_arrays_built_from_lists_hold_expressions_and_numbers_only():
    trace = Trace()
    q = trace.variables("q", 2)
    for function in (np.diag, np.concatenate, np.column_stack, np.reshape):
        arguments = {np.diag: lambda q: ([q[0], 1.5],), np.reshape: lambda q: ([q[0], 1.5], (2, 1))}
        rows = arguments.get(function, lambda q: ([[q[0], 1.5], [2, q[1]]],))
        result = trace.call(lambda q, f=function, rows=rows: f(*rows(q)), q)
        assert not any(isinstance(item, np.ndarray) for item in result.flat)


def test_shapes_are_those_of_the_direct_call():
    for name in ("filled zeros", "outer", "vector spline", "columns", "interp"):
        assert record(FUNCTIONS[name])[2].shape == np.shape(FUNCTIONS[name](Q))


# ---- derivatives
SMOOTH = [name for name in FUNCTIONS if name not in ("steps", "logical")]  # Q lies on their jumps


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivatives_agree_with_central_differences(name):
    trace = Trace()
    q = trace.variables("q", 4)
    result = trace.call(FUNCTIONS[name], q)
    exprs = np.concatenate([trace.as_array(part).ravel() for part in (result if type(result) is list else [result])])
    h = 1e-6
    for at in (Q, np.array([0.31, 0.52, 1.2, 0.83])):
        plus, minus = (
            np.stack([np.ravel(flat(FUNCTIONS[name](at + s * h * row))) for row in np.eye(4)], axis=1) for s in (1, -1)
        )
        numeric = (plus - minus) / (2 * h)
        defined = np.isfinite(numeric).all(axis=1)
        exact = evaluate(trace, jacobian(exprs[defined], q), at)
        np.testing.assert_allclose(exact, numeric[defined], rtol=2e-7, atol=2e-7)


LEAF = st.sampled_from(["q[0]", "q[1]", "q[2]", "1.75", "2", "0.5"])
EXPRESSION = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda x: f"({x[0]} {x[1]} {x[2]})"),
        st.tuples(inner, inner).map(lambda x: f"({x[0]} / (2.5 + {x[1]}**2))"),
        st.tuples(st.sampled_from(["sin", "cos", "tanh", "arctan"]), inner).map(lambda x: f"np.{x[0]}({x[1]})"),
        inner.map(lambda x: f"np.sqrt(1.5 + {x}**2)"),
        inner.map(lambda x: f"np.exp(-{x}**2)"),
        st.tuples(inner, inner).map(lambda x: f"np.arctan2({x[0]}, 3.5 + np.cos({x[1]}))"),
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(EXPRESSION)
def test_random_expressions_have_exact_values_and_all_kinds_of_derivatives_agree(text):
    function = eval(f"lambda q: {text} + 0.0 * q[0]", {"np": np})  # noqa: S307, our own text
    trace, q, expr = record(function, 3)
    expr = expr.item()
    at, direction, h = Q[:3], np.array([0.7, -0.2, 0.4]), 1e-6
    assert evaluate(trace, expr, at) == pytest.approx(float(function(at)), rel=1e-12, abs=1e-12)
    forward = evaluate(trace, jacobian([expr], q)[0], at)
    reverse = evaluate(trace, gradient(expr, q), at)
    scale = 1.0 + np.abs(forward).max()
    np.testing.assert_allclose(reverse, forward, rtol=1e-11, atol=1e-12 * scale)
    along = trace.as_array(directional(expr, dict(zip(q, direction, strict=True))))
    assert evaluate(trace, along, at) == pytest.approx(forward @ direction, rel=1e-11, abs=1e-12 * scale)
    numeric = (function(at + h * direction) - function(at - h * direction)) / (2 * h)
    assert forward @ direction == pytest.approx(numeric, rel=1e-5, abs=1e-5 * scale)


def test_derivatives_at_kinks_are_one_sided_and_finite():
    trace, q, exprs = record(lambda q: [abs(q[0]), np.maximum(q[0], 0.0) ** 0.5, np.sign(q[0]), np.floor(q[0])], 1)
    J = jacobian(exprs, q)[:, 0]
    np.testing.assert_array_equal(evaluate(trace, J, [-0.25]), [-1.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(evaluate(trace, J, [0.25]), [1.0, 1.0, 0.0, 0.0])


def test_second_derivatives_and_curvature_along_the_motion():
    trace = Trace()
    q, v = trace.variables("q", 2), trace.variables("v", 2)
    gap = trace.as_array(trace.call(lambda q: q[0] * np.sin(q[1]), q)).item()
    seeds = dict(zip(q, v, strict=True))
    curvature = directional(directional(gap, seeds), seeds)
    value = interpreted(curvature, ["q", "v"])(Q[:2], Q[2:], trace.constants)
    assert value == pytest.approx(2 * Q[2] * Q[3] * np.cos(Q[1]) - Q[0] * np.sin(Q[1]) * Q[3] ** 2, rel=1e-14)


def test_dependence_is_structural_and_substitution_simplifies():
    trace, q, f = record(lambda q: q[0] * q[1] + 0.0 * q[2] + (q[3] - q[3]) + np.sin(q[1]))
    f = f.item()
    assert depends_on(f, q[:1]) and depends_on(f, q[1]) and not depends_on(f, q[2:])
    assert differentiate(f, q[2]) is trace.zero
    assert substitute(f, {q[0]: 0}) is trace.unary("sin", q[1])
    assert substitute(f, {q[0]: q[2], q[1]: 0}) is trace.zero


# ---- parameters
def both_texts(make, *values):
    recorded = [record(make(value)) for value in values]
    return [text_of(exprs) for _, _, exprs in recorded], [trace.constants for trace, _, _ in recorded]


@dataclass(frozen=True)
class Spring:
    k: float

    def force(self, q):
        return self.helper(q[0]) * np.array([1.5, q[1]])

    def helper(self, x):
        return -self.k * math.sin(x)

    def __call__(self, q):
        return self.force(q)


class Slotted:
    __slots__ = ("k", "table")

    def __init__(self, k):
        self.k, self.table = k, CUBIC

    def force(self, q):
        return self.k * self.table(q[0])


def named(k):
    p = {"k": k, "table": CUBIC, "inner": SimpleNamespace(k=k)}
    return lambda q: p["k"] * q[0] + p["table"](q[1]) * p["inner"].k


def with_helper(k):
    def helper(x):
        return recursive(x, 3) * math.sqrt(k)

    def recursive(x, n):
        return x if n == 0 else np.cos(recursive(x, n - 1)) * k

    return lambda q: helper(q[0])


MAKERS = {
    "closure": lambda k: lambda q: [k * q[0], k + q[1]],
    "default": lambda k: lambda q, k=k: k * q[0],
    "numpy scalar": lambda k: functools.partial(lambda k, q: k * q[0] + q[1] * k, np.float64(k)),
    "array": lambda k: functools.partial(lambda K, q: K @ q[:2], np.array([[k, 0.0], [0.0, k * k]])),
    "method": lambda k: Spring(k).force,
    "callable object": Spring,
    "slots": lambda k: Slotted(k).force,
    "partial": lambda k: functools.partial(lambda k, q: k * q[0], k),
    "dictionary and namespace": named,
    "helper functions": with_helper,
    "computed inside": lambda k: lambda q: np.exp(k) * q[0] + q[0] ** (k + 0.25),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_new_parameter_value_gives_the_same_text_and_other_constants(name):
    (first, second), (old, new) = both_texts(MAKERS[name], 3.0, 7.5)
    assert first == second
    assert old != new and len(old) == len(new)


@pytest.mark.parametrize("name", MAKERS)
def test_parameters_give_the_values_of_the_direct_call(name):
    function = MAKERS[name](3.0)
    trace, _, exprs = record(function)
    np.testing.assert_allclose(evaluate(trace, exprs, Q), function(Q), **ROUNDING)


def test_the_same_float_object_keeps_its_slot_and_special_numbers_are_literal():
    k = float("2.5")
    trace, _, _ = record(lambda q: [k * q[0], q[1] / k, 1.0 * q[0], 0.0 + q[1], -1.0 * q[2], 2 * q[0], q[0] ** 0.5])
    assert trace.constants == [2.5]


def test_products_of_parameters_stay_expressions():
    a, b = float("2.5"), float("3.5")
    trace, _, expr = record(lambda q: np.prod(np.array([a, q[0]]) * np.array([b, 1.0])))
    assert "par[" in text_of(expr)
    trace = Trace()
    assert text_of([trace.lift(a) * trace.lift(b)]) == "    out[0] = par[0] * par[1]\n"


def test_integers_are_structure():
    (first, second), _ = both_texts(lambda n: lambda q: n * q[0], 3, 4)
    assert first != second


def test_globals_and_imports_inside_are_replaced_in_the_copy_only():
    def function(q):
        from math import sin

        import numpy as inner

        return inner.array([sin(q[0]), KNOTS[1] * q[1]])

    trace, _, exprs = record(function)
    np.testing.assert_allclose(evaluate(trace, exprs, Q), function(Q), **ROUNDING)
    assert function.__globals__["np"] is np and type(KNOTS) is np.ndarray


def test_copies_of_constant_arrays_can_be_filled_and_originals_stay():
    M0 = np.diag([1.5, 2.5])

    def M(q):
        M = M0.copy()
        M[0, 1] = M[1, 0] = q[0]
        return M

    trace, _, exprs = record(M)
    np.testing.assert_allclose(evaluate(trace, exprs, Q), M(Q), **ROUNDING)
    assert M0.dtype == float and M0[0, 1] == 0.0


def test_what_a_method_stores_stays_out_of_the_object():
    class Memory:
        last = 0.0

        def force(self, q):
            self.last = q[0]
            return self.last * 2.5

    memory = Memory()
    record(memory.force)
    assert memory.last == 0.0


def test_numba_functions_are_traced_through_their_source():
    dispatcher = type(
        "Dispatcher", (), {"__module__": "numba.core", "py_func": staticmethod(lambda x: np.sin(x) * 2.5)}
    )
    helper = dispatcher()
    trace, _, expr = record(lambda q: helper(q[0]))
    assert evaluate(trace, expr, Q) == pytest.approx(2.5 * np.sin(Q[0]), rel=1e-15)


# ---- structure of the text
def double_pendulum_mass(q, m1=1.5, m2=2.5, l1=0.7, l2=0.9):
    c = np.cos(q[0] - q[1])
    return np.array([[(m1 + m2) * l1**2, m2 * l1 * l2 * c], [m2 * l1 * l2 * c, m2 * l2**2]])


def test_mass_matrix_of_the_double_pendulum_and_its_derivatives():
    trace, q, M = record(double_pendulum_mass, 2)
    np.testing.assert_allclose(evaluate(trace, M, Q[:2]), double_pendulum_mass(Q[:2]), **ROUNDING)
    dM = jacobian(M, q)
    slope = -2.5 * 0.7 * 0.9 * np.sin(Q[0] - Q[1])
    np.testing.assert_allclose(evaluate(trace, dM, Q[:2])[0, 1], [slope, -slope], rtol=1e-13)
    assert dM[0, 0, 0] is trace.zero and not depends_on(M[0, 0], q)


def test_shared_subexpressions_are_computed_once():
    _, _, exprs = record(lambda q: [np.sin(q[0] * q[1]) + q[2], np.sin(q[1] * q[0]) * q[3]])
    text = text_of(exprs)
    assert text.count("sin(") == 1 and "x0 = sin(q[0] * q[1])" in text
    assert operation_count(exprs) == 4


def test_a_sparse_constant_matrix_emits_only_its_nonzeros():
    K = np.diag([2.5, 3.5, 4.5, 5.5]) + np.diag([-1.5, -1.0, -2.5], 1)
    for matrix in (K, sparse.csr_array(K), sparse.csc_matrix(K)):
        trace, _, exprs = record(lambda q, K=matrix: K @ q)
        assert text_of(exprs).count("*") == 6 and len(trace.constants) == 6  # -1.0 is a literal
        np.testing.assert_allclose(evaluate(trace, exprs, Q), K @ Q, **ROUNDING)


def test_guarded_branches_are_not_evaluated_outside_their_domain():
    def function(q):
        root = np.sqrt(q[0])
        return np.where(q[0] > 0, root * np.log(q[0]) + root, np.where(q[1] > 0, 1 / q[1] + np.sqrt(q[1]), 2.5))

    trace, q, f = record(function, 2)
    values = evaluate(trace, np.append(jacobian(f, q).ravel(), f), [-1.0, -1.0])
    np.testing.assert_array_equal(values, [0.0, 0.0, 2.5])
    for at in ([0.3, -1.0], [-1.0, 0.4]):
        with np.errstate(invalid="ignore"):
            assert evaluate(trace, f, at) == pytest.approx(float(function(np.array(at))), rel=1e-14)


def test_long_sums_and_deep_chains_stay_shallow_text():
    def chain(q):
        x = q[0]
        for _ in range(3000):
            x = np.sin(x) + q[1]
        return x

    trace, q, exprs = record(chain)
    text = text_of(jacobian(exprs, q))
    assert max(map(len, text.splitlines())) < 2000
    assert np.isfinite(evaluate(trace, jacobian(exprs, q), Q)).all()


def test_texts_do_not_depend_on_the_process():
    program = "import test_trace as t; print(t.text_of(t.record(t.rotation)[2]), end='')"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "1",
        "PYTHONPATH": os.pathsep.join([*sys.path, os.path.dirname(__file__)]),
    }
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", env=environment)  # noqa: S603
    assert run.stdout == text_of(record(rotation)[2]), run.stderr


def every_operation(q):
    x = np.abs(q[0]) / 2.5
    return [
        *[getattr(np, name)(x) for name in "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh".split()],
        *[getattr(np, name)(x) for name in "exp expm1 log log10 log2 log1p sqrt floor ceil trunc sign abs".split()],
        *[
            np.arccosh(1 + x),
            special.erf(x),
            special.erfc(x),
            -x,
            x**1.5,
            x % q[1],
            np.fmod(q[1], x),
            x / q[2],
        ],
        *[
            np.hypot(x, q[1]),
            np.arctan2(x, q[1]),
            np.copysign(x, q[1]),
            np.minimum(x, q[1]),
            np.maximum(x, q[2]),
        ],
        *[
            np.where((x > q[1]) & ~(x <= 0.25) | (x == q[2]), CUBIC(x), np.interp(x, KNOTS, VALUES)),
            q[0] != 0.0,
        ],
    ]


def test_compiled_text_gives_the_bits_of_the_interpreted_one():
    numba = pytest.importorskip("numba")
    trace, q, exprs = record(every_operation, 3)
    exprs = np.append(exprs, gradient(np.sum(exprs), q))
    body = text_of(exprs)
    namespace = {"njit": numba.njit(error_model="numpy")}
    helpers = "".join(f"@njit\n{HELPERS[name][0]}" for name in ("hypot", "piecewise"))
    exec(f"{IMPORTS}{helpers}@njit\ndef run(q, par, out):\n{body}", namespace)  # noqa: S102
    for at in (Q[:3], np.array([-0.4, 0.2, -0.3])):
        out = np.full(exprs.size, np.nan)
        namespace["run"](at, np.array(trace.constants), out)
        np.testing.assert_array_equal(out, evaluate(trace, exprs, at))


# ---- refusals
def halve(q):
    x = q[0]
    while x > 0.5:
        x = x / 2
    return x


def grow(q):
    x = q[0]
    for i in range(10_000):
        x = x * q[1] + i
    return x


GENERATOR = np.random.default_rng(1)
REFUSED = {
    "iterates until the state": halve,
    "into a float": lambda q: float(q[0]),
    "jv cannot be traced": lambda q: special.jv(0, q[0]),
    "numpy.unwrap": lambda q: np.unwrap(q),
    "quad cannot be traced": lambda q: __import__("scipy.integrate").integrate.quad(np.sin, 0.0, q[0]),
    "integer": lambda q: [1.0, 2.0][q[0]],
    "iterates": lambda q: list(q[0]),
    "another value at every call": lambda q: q[0] + np.random.normal(),
    "normal gives another value": lambda q: q[0] + GENERATOR.normal(),
    "complex": lambda q: q[0] * 1j,
    "np.where\\(condition, a, b\\)": lambda q: np.where(q > 0),
    "up to 4 x 4": lambda q: np.linalg.det(np.outer(np.ones(5), q[0] * np.ones(5))),
    "NameError": lambda q: undefined(q),  # noqa: F821
    "more than 5000 operations": grow,
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_traced_is_refused_with_a_sentence(message):
    trace = Trace(limit=5000)
    with pytest.raises(Untraceable, match=message):
        trace.call(REFUSED[message], trace.variables("q", 4))


def test_the_refusal_names_the_function_and_its_place():
    with pytest.raises(Untraceable, match=r"halve \(.*test_trace.py:\d+\)"):
        record(halve)


def test_results_are_normalised_to_the_expected_shape():
    trace = Trace()
    q = trace.variables("q", 2)
    assert trace.as_array(q[0], (1,)).shape == (1,)
    assert trace.as_array([[q[0]], [2.5]], (2,)).shape == (2,)
    assert trace.as_array([[q[0]]], ()).shape == ()
    with pytest.raises(FunctionError, match=r"returned shape \(2,\), expected \(3,\)"):
        trace.as_array(q, (3,))


# ---- large systems
def test_a_tridiagonal_stiffness_of_a_hundred_has_298_entries():
    K = np.diag(np.full(100, 2.5)) - np.diag(np.full(99, 1.5), 1) - np.diag(np.full(99, 1.5), -1)
    trace, q, exprs = record(lambda q: -K @ q, 100)
    text_of(exprs)
    entries = jacobian(exprs, q)
    assert sum(entry is not trace.zero for entry in entries.flat) == 298


def test_graphs_of_a_hundred_thousand_nodes_are_differentiated_and_emitted():
    def energy(q):
        return np.sum((q[1:] - q[:-1]) ** 2 * 2.5 + np.cos(q[1:]))

    _, q, expr = record(energy, 12_000)
    slopes = gradient(expr.item(), q)
    assert operation_count(slopes) > 50_000
    assert text_of(slopes).count("\n") > 12_000
