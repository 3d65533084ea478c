"""Ways of writing a model that go wrong easily: each is right against an independent evaluation, or refused by name.

The reference calls the same function as plain Python in a Runge-Kutta method with short steps; it knows nothing of
saltus. Functions with jumps are met within a step, so both sides are good to about TOLERANCE; a branch that was taken
wrongly, a decorator that was dropped or a state that was kept is at least ten times farther away.
"""

from __future__ import annotations

import abc
import builtins
import collections
import contextlib
import copy
import dataclasses
import datetime
import enum
import functools
import itertools
import logging
import math
import operator
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import types
import typing
import warnings
import weakref

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, interp1d

import saltus as sl
from saltus.build.marks import Unmarked, mark_of

H, T = 1e-3, 1.0
TOLERANCE = 2e-3
Q0, V0 = np.array([0.4, -0.2]), np.array([0.5, 0.3])
G, TABLE, BUFFER = 2.0, {0.0: 1.0}, np.zeros(2)
config = types.ModuleType("clumsy_config")
config.k = 2.0
log = logging.getLogger("clumsy")
WAYS: list = []
REFUSED: list = []


def right(make):
    """A way that must give the motion that Python gives."""
    WAYS.append(pytest.param(make, id=make.__name__))
    return make


def refused(message: str):
    """A way that must end in an error with this message."""

    def keep(make):
        REFUSED.append(pytest.param(make, message, id=make.__name__))
        return make

    return keep


def python_motion(f, M=None) -> np.ndarray:
    """Return q and v at the end by the classical Runge-Kutta method, calling f as a user would."""

    def rate(t, y):
        force = np.ravel(np.asarray(f(t, y[:2].copy(), y[2:].copy()), dtype=float))
        return np.concatenate([y[2:], force if M is None else np.linalg.solve(M(y[:2].copy()), force)])

    y, n = np.concatenate([Q0, V0]), round(T / H)
    for k in range(n):
        t = k * H
        a = rate(t, y)
        b = rate(t + H / 2, y + H / 2 * a)
        c = rate(t + H / 2, y + H / 2 * b)
        d = rate(t + H, y + H * c)
        y = y + H / 6 * (a + 2 * b + 2 * c + d)
    return y


def motion(f, M=1.0) -> np.ndarray:
    """Return the same by saltus."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.SlowFunctionWarning)
        made = sl.solve(sl.System(M=M, f=f), (0.0, T), Q0, V0, scheme=sl.MoreauJean(), h=H, progress=False)
    return np.concatenate([made.q[-1], made.v[-1]])


# ---- branches, and what is asked of the arguments


@right
def plain_branch():
    def f(t, q, v):
        if q[0] > 0.6:
            return np.array([-3.0, 0.0])
        elif t < 0.2 or v[1] < 0:
            return np.array([1.0, q[1]])
        return np.array([0.5, 1.0])

    return f


@right
def early_return_of_a_list():
    def f(t, q, v):
        if not t < 0.5:
            return [0, 1]
        return -q

    return f


@right
def chained_comparison():
    return lambda t, q, v: np.array([-1.0 if 0.2 < t <= 0.7 < 1 else 2.0, 0.0])


@right
def and_or_not():
    return lambda t, q, v: np.array([(t > 0.3 and -1.0) or 2.0, float(not q[0] > 0.5)])


@right
def membership_in_a_list():
    return lambda t, q, v: np.array([1.0 if np.sign(t - 0.5) in [1.0] else -2.0, 0.0])


@right
def equality_of_floats():
    return lambda t, q, v: np.array([1.0 if t * 0 == 0 else -2.0, 0.0])


@right
def isinstance_of_time():
    return lambda t, q, v: np.array([-1.0 if isinstance(t, float) else 2.0, 0.0])


@right
def isinstance_of_a_coordinate():
    return lambda t, q, v: np.array([-1.0 if isinstance(q[0], (int, np.floating)) else 2.0, 0.0])


@right
def type_of_the_argument():
    return lambda t, q, v: np.array([-1.0 if type(q) is np.ndarray else 2.0, 1.0 if type(t) is float else 0.0])


@right
def dictionary_by_comparison():
    return lambda t, q, v: np.array([{True: -1.0, False: 2.0}[bool(t > 0.4)], 0.0])


@right
def dictionary_get_by_state():
    return lambda t, q, v: np.array([TABLE.get(v[0] * 0.0, -2.0), 0.0])


@right
def dictionary_made_inside():
    return lambda t, q, v: np.array([{0.0: 1.0}.get(float(q[0]) * 0.0, -2.0), 0.0])


@right
def set_of_states():
    return lambda t, q, v: np.array([1.0 if len({q[0], q[0], v[1]}) == 2 else -2.0, 0.0])


@right
def hash_of_a_number():
    return lambda t, q, v: np.array([-1.0 if hash(q[0] * 0.0) == hash(0.0) else 2.0, 0.0])


@right
def list_by_whole_number():
    return lambda t, q, v: np.array([[-1.0, 2.0, 0.5][int(3 * t) % 3], 0.0])


@right
def text_of_the_state():
    return lambda t, q, v: np.array([float(f"{q[0]:.12g}"), len(str(float(t) * 0))])


@right
def text_as_a_key():
    names = {"0.0": 1.0}
    return lambda t, q, v: np.array([names.get(str(float(v[0]) * 0), -2.0), 0.0])


@right
def hasattr_of_a_number():
    return lambda t, q, v: np.array([-1.0 if hasattr(q, "shape") else 2.0, 0.0])


# ---- rounding and numpy


@right
def whole_numbers_of_the_state():
    return lambda t, q, v: np.array([int(10 * q[0]) / 10, round(float(q[1]), 1)])


@right
def floors_and_divisions():
    return lambda t, q, v: np.array([math.floor(4 * t) / 2 - 4 * t // 1, divmod(5 * t, 2.0)[1]])


@right
def heaviside_piecewise_select():
    def f(t, q, v):
        a = np.piecewise(q, [q < 0.5, q >= 0.5], [lambda x: -x, 1.0])
        return a + np.heaviside(t - 0.5, 0.5) + np.select([v > 0.4, v > 0.1], [v, 2 * v], default=0.0)

    return f


@right
def where_divides_by_zero_in_the_other_branch():
    def f(t, q, v):
        with np.errstate(divide="ignore"):
            return np.where(t > 0.5, 0.1 / np.subtract(t, 0.25), -q)

    return f


@right
def builtins_over_arrays():
    def f(t, q, v):
        return [min(q) + max(v, key=abs), sum(x for x in q if x > 0) - sorted(v)[0] * any(q > 0.5) + all(v > -9)]

    return f


@right
def masks_and_argmax():
    return lambda t, q, v: np.array([len(q[q > 0.0]) * 1.0, [1.0, -1.0][np.argmax(q)]])


@right
def vectorized():
    return np.vectorize(lambda t, x: -1.0 if x < 0.5 else 2.0, excluded={0}) and (
        lambda t, q, v: np.vectorize(lambda x: -1.0 if x < 0.5 else 2.0)(q)
    )


@right
def single_precision():
    return lambda t, q, v: (-q).astype(np.float32) * np.float32(0.5)


@right
def matrices_and_columns():
    return lambda t, q, v: np.matrix(-q).T if False else (np.array([[0.0, 1.0], [-1.0, 0.0]]) @ q).reshape(2, 1)


@right
def tuple_of_mixed_numbers():
    return lambda t, q, v: (True, np.int64(2) - q[0])


@right
def splines_and_tables():
    spline, line = CubicSpline([0, 0.5, 1.0], [0.0, 1.0, 0.0]), interp1d([0, 0.3, 2], [1.0, -1.0, 3.0])
    return lambda t, q, v: np.array([spline(t), line(t)]) - np.interp(t, [0.2, 0.6], [0.0, 1.0])


@right
def pandas_series():
    pandas = pytest.importorskip("pandas")
    stiffness = pandas.Series({"x": 2.0, "y": 3.0})
    return lambda t, q, v: np.array([-stiffness["x"] * q[0], -stiffness.y * q[1]])


# ---- arguments and results that are shared or changed


@right
def argument_edited_in_place():
    def f(t, q, v):
        q[0] += 1.0
        v *= 2.0
        return -q - v

    return f


@right
def argument_edited_in_place_and_compiled():
    def f(t, q, v):
        n = int(2 * t)
        q[0] += n
        v[1] = 0.0
        return -q - v

    return f


@right
def argument_returned():
    return lambda t, q, v: q


@right
def buffer_shared_by_all_calls():
    def f(t, q, v):
        BUFFER[:] = -q
        BUFFER[0] -= 1.0
        return BUFFER

    return f


@right
def buffer_compiled():
    out = np.zeros(2)

    def f(t, q, v):
        out[0], out[1] = -q[0], int(3 * t)
        return out

    return f


@right
def memory_of_the_last_call_only():
    class Last:
        value = None

        def __call__(self, t, q, v):
            self.value = -q
            return self.value

    return Last()


@right
def cache_of_functools():
    @functools.lru_cache
    def stiffness(k):
        return 3.0 * k

    return lambda t, q, v: -stiffness(2) * q if t > 0.5 else q


@right
def memo_by_time():
    known = {}

    def f(t, q, v):
        if t not in known:
            known[t] = np.array([np.cos(3 * t), 1.0])
        return known[t]

    return f


# ---- functions that are not plain functions


@right
def decorated_with_branch():
    def twice(function):
        @functools.wraps(function)
        def inner(t, q, v):
            return 2 * function(t, q, v)

        return inner

    @twice
    def f(t, q, v):
        if int(2 * t) > 0:
            return np.array([1.0, 0.0])
        return np.array([-1.0, 0.5])

    return f


@right
def partial_with_keywords():
    def f(t, q, v, *, k, c=0.1):
        return -k * q - c * v

    return functools.partial(f, k=3.0)


@right
def bound_method():
    class Spring:
        k = 3.0

        def __init__(self):
            self.c = 0.2

        def force(self, t, q, v):
            return -self.k * q - self.c * v if t > 0.3 else q

    return Spring().force


@right
def callable_object_with_slots():
    class Spring:
        __slots__ = ("k",)

        def __init__(self, k):
            self.k = k

        def __call__(self, t, q, v):
            return -self.k * q

    return Spring(3.0)


@right
def property_and_dataclass():
    @dataclasses.dataclass
    class Oscillator:
        m: float = 2.0

        @property
        def stiffness(self):
            return self.m * 2.0

        def force(self, t, q, v):
            return -self.stiffness * q

    return Oscillator().force


@right
def compiled_by_numba():
    numba = pytest.importorskip("numba")

    @numba.njit
    def f(t, q, v):
        return -q if t > 0.5 else 2.0 * q

    return f


@right
def loop_variables_in_closures():
    springs = [lambda x: -k * x for k in (1.0, 2.0, 3.0)]  # noqa: B023  all of them see the last k
    return lambda t, q, v: np.array([spring(x) for spring, x in zip(springs, q, strict=False)])


@right
def default_argument_as_constant():
    def f(t, q, v, k=[2.0]):  # noqa: B006
        return -k[0] * q

    return f


@right
def recursion():
    def tower(x, n):
        return x if n == 0 else 0.5 * tower(x, n - 1) + 0.1

    return lambda t, q, v: np.array([tower(q[0], 5), -tower(q[1], 2)])


@right
def while_loop_on_the_state():
    def f(t, q, v):
        x = abs(q[0]) + 3.0
        while x > 1.0:
            x -= 0.75
        return np.array([x, 0.0])

    return f


@right
def newton_inside():
    def f(t, q, v):
        x = 1.0
        for _ in range(50):
            step = (x * x - 2.0 - q[0] ** 2) / (2.0 * x)
            x -= step
            if abs(step) < 1e-13:
                break
        return np.array([-x, 0.0])

    return f


@right
def generator_and_comprehension():
    def parts(q):
        yield -q[0]
        yield from (x * 2 for x in q[1:])

    return lambda t, q, v: list(parts(q))


@right
def exception_as_a_branch():
    def f(t, q, v):
        try:
            return np.array([-math.sqrt(float(q[0]) - 0.5), 0.0])
        except ValueError:
            return np.array([1.0, 0.0])

    return f


@right
def exception_swallowed():
    def f(t, q, v):
        x = 0.0
        with contextlib.suppress(ZeroDivisionError):
            x = 1.0 / (0.0 if t < 0.5 else 2.0)
        return np.array([x, 0.0])

    return f


@right
def bare_except():
    def f(t, q, v):
        try:
            return np.array([{}[t], 0.0])
        except:  # noqa: E722
            return np.array([-1.0, 1.0])

    return f


@right
def deep_copies_and_imports_inside():
    def f(t, q, v):
        import math as m

        other = copy.deepcopy(q)
        return np.array([-m.sin(other[0]), 0.0])

    return f


@right
def print_and_logging_inside():
    def f(t, q, v):
        log.debug("q = %s", q)
        print(end="")
        return -q

    return f


@right
def seeded_generator_inside():
    return lambda t, q, v: np.random.default_rng(3).normal(size=2)


@right
def assertion_that_holds():
    def f(t, q, v):
        assert q[0] < 1e6, "too far"
        return -q

    return f


@right
def exit_that_never_comes():
    def f(t, q, v):
        if q[0] < -1e6:
            sys.exit("it fell")
        return -q

    return f


@right
def nested_functions_and_nonlocal():
    def f(t, q, v):
        total = 0.0

        def add(x):
            nonlocal total
            total += x

        for x in q:
            add(x)
        return np.array([-total, 0.0])

    return f


@right
def operators_of_an_own_class():
    class Vector:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def __mul__(self, k):
            return Vector(self.x * k, self.y * k)

    def f(t, q, v):
        made = Vector(*q) * -2.0
        return [made.x, made.y]

    return f


@right
def complex_numbers_inside():
    def f(t, q, v):
        z = q[0] + 1j * q[1]
        z = -z * abs(z)
        return [z.real, z.imag]

    return f


@right
def buffer_of_whole_numbers():
    def f(t, q, v):
        out = np.zeros_like([0, 0])  # Python cuts off what stands behind the point
        out[:] = -9.0 * q
        return out

    return f


@right
def edit_through_a_view():
    def f(t, q, v):
        first = q[:1]
        first += 1.0
        return -q[::-1]

    return f


@right
def edit_after_the_result():
    def f(t, q, v):
        try:
            return -q
        finally:
            q[0] = 99.0

    return f


@right
def number_or_another():
    def f(t, q, v):
        return [-(q[0] or 1.0), -q[1] if v[0] else 0.0]

    return f


@right
def largest_by_a_key():
    def f(t, q, v):
        low, high = sorted(q)
        return [-max(q, key=abs), low - high]

    return f


@right
def assignment_by_a_mask():
    def f(t, q, v):
        out = -q.copy()
        out[q > 0.5] = -3.0
        return out

    return f


@right
def warning_as_a_branch():
    def f(t, q, v):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return -np.log(q + 0.1)
            except RuntimeWarning:
                return np.ones(2)

    return f


@right
def floating_point_error_as_a_branch():
    def f(t, q, v):
        with np.errstate(all="raise"):
            try:
                return -np.sqrt(q + 0.1)
            except FloatingPointError:
                return np.ones(2)

    return f


@right
def not_a_number_as_a_branch():
    def f(t, q, v):
        root = np.sqrt(q[0] - 0.6)
        return [1.0, 0.0] if np.isnan(root) else [-root, 0.0]

    return f


@right
def kind_by_pattern():
    def f(t, q, v):
        match t:
            case float():
                return np.array([-1.0, 0.0])
        return np.array([2.0, 0.0])

    return f


@right
def truth_by_pattern():
    def f(t, q, v):
        match t > 0.5:
            case True:
                return np.array([1.0, 0.0])
        return np.array([-1.0, 0.0])

    return f


@right
def truths_that_are_added():
    # those of numpy are joined, for a moment that no comparison at some states may see
    return lambda t, q, v: np.array([30.0 * ((q[0] > 0.62) + (q[0] < 0.66)), 0.0])


@right
def truths_of_arrays_that_are_added():
    return lambda t, q, v: np.array([3.0, 0.5]) * np.add(q > 0.45, v > 0.2) - np.sum([q[0] > 0.3, v[0] > 0.6, t > 0.4])


@right
def truths_that_are_multiplied_and_added():
    return lambda t, q, v: np.array([(q[0] > 0.45) * (v[0] > 0.2) + (q[0] > 0.5) + 0.0, np.dot(q > -1.0, v > 0.1)])


@right
def truths_of_python_that_are_added():
    return lambda t, q, v: np.array([(t > 0.2) + (t > 0.5), (math.sin(q[0]) > 0.0) + (math.cos(q[0]) > 0.0)])


@right
def truths_that_are_added_and_compiled():
    return lambda t, q, v: np.array([30.0 * ((q[0] > 0.62) + (q[0] < 0.66)) + int(t), 0.0])


@right
def truth_of_python_that_is_inverted():
    return lambda t, q, v: np.array([1.0 if ~(0.6 < t < 0.7) else -9.0, 1.0 if ~(q[0] > 0.5) else -1.0])


@right
def identity_of_a_truth():
    return lambda t, q, v: np.array([1.5 if (0.6 < t < 0.62) is True else 0.0, 0.0])


@right
def small_numbers_compiled():
    bytes_, singles = np.array([200, 100], dtype=np.uint8), np.array([0.1, 0.2], dtype=np.float32)
    return lambda t, q, v: 0.01 * (bytes_ + bytes_) + singles * t + int(t)


@right
def piecewise_by_functions_of_parts():
    return lambda t, q, v: np.piecewise(q, [q < 0.7, q >= 0.7], [lambda x: x - x.mean(), lambda x: 5.0 * len(x)])


@right
def norms_of_a_matrix():
    def f(t, q, v):
        matrix = np.array([[q[0], q[1]], [v[0], 2.0]])
        return [np.linalg.norm(matrix, 1, axis=(0, 1)), -np.linalg.norm(matrix, 2, axis=(0, 1))]

    return f


@right
def not_a_number_by_itself():
    def f(t, q, v):
        root = np.sqrt(q - 0.5)
        return np.where(root != root, -1.0, root)

    return f


@right
def numbers_beside_what_is_none():
    def f(t, q, v):
        root = np.sqrt(np.float64(0.5 - t))
        return [np.fmax(root, 0.25) + np.fmin(0.3, root), np.fmax(root, np.log(t - 0.25)) if t < 0.5 else 1.0]

    return f


@right
def domain_tried_twice():
    def f(t, q, v):
        for shift in (0.7, 0.0):
            try:
                return [-math.sqrt(q[0] - shift), 0.0]
            except ValueError:
                continue
        return [0.0, 0.0]

    return f


@right
def index_error_as_a_branch():
    def f(t, q, v):
        try:
            return [[-1.0, -2.0][int(4.0 * q[0])], 0.0]
        except IndexError:
            return [1.0, 0.0]

    return f


@right
def flag_that_is_put_back():
    flag = [0]

    def helper(q):
        return -3.0 * q if flag[0] else q

    def f(t, q, v):
        flag[0] = 1
        try:
            return helper(q)
        finally:
            flag[0] = 0

    return f


@right
def array_by_its_protocol():
    class Duck:
        def __init__(self, content):
            self.content = content

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.content, dtype=float)

    return lambda t, q, v: Duck([float(-x) for x in q])


@right
def attributes_made_by_name():
    class Store:
        numbers: typing.ClassVar = {"k": 2.0}

        def __getattr__(self, name):
            return Store.numbers[name]  # KeyError where others raise AttributeError

    store = Store()
    return lambda t, q, v: -store.k * q


@pytest.mark.parametrize("make", WAYS)
def test_the_motion_is_that_of_the_function_called_as_python(make):
    assert motion(make()) == pytest.approx(python_motion(make()), abs=TOLERANCE)


# ---- functions that must be refused


@refused(r"f changes calls\b.*counting.*test_clumsy_models.py:\d+")
def counting():
    calls = [0]

    def counting(t, q, v):
        calls[0] += 1
        return -q

    return counting


@refused(r"f changes history with every call")
def recording():
    history = []

    def f(t, q, v):
        history.append(float(t))
        return -q

    return f


@refused(r"f changes count with every call")
def nonlocal_counter():
    count = 0

    def f(t, q, v):
        nonlocal count
        count += 1
        return -q if count < 50 else q

    return f


@refused(r"f changes numbers with every call|f gave .* and then")
def iterator():
    numbers = itertools.count()
    return lambda t, q, v: -q + 0 * next(numbers)


@refused(r"f gave .* it must depend on its arguments alone|remembers earlier calls")
def controller_with_integral():
    class Controller:
        integral = 0.0

        def __call__(self, t, q, v):
            self.integral += 0.01 * q[0]
            return np.array([-self.integral, 0.0])

    return Controller()


@refused(r"remembers earlier calls, but it must depend on its arguments alone .*test_clumsy_models.py")
def relay_with_hysteresis():
    class Relay:
        on = False

        def __call__(self, t, q, v):
            if q[0] > 0.6:
                self.on = True
            elif q[0] < 0.5:
                self.on = False
            return np.array([-4.0 if self.on else 1.0, 0.0])

    return Relay()


@refused(r"remembers earlier calls|gave .* and then")
def difference_to_the_last_call():
    last = {"q": 0.4}

    def f(t, q, v):
        rate = q[0] - last["q"]
        last["q"] = float(q[0])
        return np.array([-rate, 0.0])

    return f


@refused(r"f gave .* and then .* it must depend on its arguments alone")
def random_force():
    return lambda t, q, v: np.random.normal(size=2)


@refused(r"random.* gives another value at every call")
def random_force_later():
    return lambda t, q, v: np.array([random.gauss(0, 1), 0.0]) if t > 0.5 else -q


@refused(r"rng|Generator|depend on its arguments alone")
def generator_from_outside():
    rng = np.random.default_rng(0)
    return lambda t, q, v: rng.normal(size=2) if t > 0.5 else -q


@refused(r"time.time gives another value at every call|and then")
def wall_clock():
    return lambda t, q, v: np.array([float(int(time.time())), 0.0])


@refused(r"datetime.now gives another value at every call|and then")
def calendar():
    return lambda t, q, v: np.array([float(datetime.datetime.now().hour), 0.0])


@refused(r"f returned complex numbers .* it must be real .*test_clumsy_models.py:\d+")
def complex_result():
    return lambda t, q, v: np.sqrt(q.astype(complex))


@refused(r"f returned None: does it lack a return statement\? at t = 0.*test_clumsy_models.py:\d+")
def no_result():
    def f(t, q, v):
        -q  # noqa: B018

    return f


@refused(r"f returned None|returns None")
def no_result_later():
    def f(t, q, v):
        if t < 0.5:
            return -q

    return f


@refused(r"f returned shape \(3,\), expected \(2,\) at t = 0.*test_clumsy_models.py:\d+")
def wrong_shape():
    return lambda t, q, v: np.zeros(3)


@refused(r"f returned 3 numbers, expected 2 at t = ")
def wrong_shape_later():
    return lambda t, q, v: np.zeros(2 if t < 0.5 else 3)


@refused(r"f returned '-9.81', which is not an array of numbers .*test_clumsy_models.py:\d+")
def text_result():
    return lambda t, q, v: "-9.81"


@refused(r"f returned \[10{400}, 0\], which is not an array of numbers .*test_clumsy_models.py:\d+")
def number_too_large():
    return lambda t, q, v: [10**400, 0]


@refused(r"f takes \*args|f takes 0 arguments")
def star_arguments():
    return lambda *arguments: -arguments[1]


@refused(r"f takes \(q, v\), but arguments are given by their place: 'q' would be the time")
def arguments_without_time():
    return lambda q, v: -2.0 * v


@refused(r"f takes \(t, v, q\), but .* 'v' would be the coordinates; write them as")
def arguments_in_another_order():
    return lambda t, v, q: -2.0 * q


@refused(r"f takes \(t\), but .* 't' would be the coordinates")
def time_alone():
    return lambda t: np.sin(t)


@refused(r"'v' of f has a default value, so that the velocities would never be given")
def velocity_by_default():
    def f(t, q, v=0.0):
        return -q - v

    return f


@refused(r"f takes 0 arguments")
def keyword_only_arguments():
    def f(*, t, q, v):
        return -q

    return f


@refused(
    r"f returned \[nan nan\]|f returned \[ *nan.* at t = 0\.\d+, q = \[.*\], v = \[.*\] .*test_clumsy_models.py:\d+"
)
def not_a_number_later():
    return lambda t, q, v: np.sqrt(0.5 - t) * q


@refused(r"f returned \[nan +0.* at t = 0\.6\d+.*test_clumsy_models.py:\d+")
def not_a_number_for_a_moment():
    return lambda t, q, v: np.array([np.maximum(0.0, np.sqrt((t - 0.6) * (t - 0.62))), 0.0])


@refused(r"f returned \[nan +0.* at t = 0\.6\d+.*test_clumsy_models.py:\d+")
def step_of_what_is_no_number():
    return lambda t, q, v: np.array([np.heaviside(np.log((t - 0.6) * (t - 0.62)), 0.5), 0.0])


@refused(r"f raised KeyError: .* at t = 0.5.* q = .*test_clumsy_models.py:\d+")
def exception_later():
    return lambda t, q, v: -q if t < 0.5 else {}["later"]


@refused(r"f raised UnboundLocalError.* at t = 0\.\d+.*test_clumsy_models.py:\d+")
def variable_that_is_not_set():
    def f(t, q, v):
        n = int(4 * t)
        if n < 3:
            force = -q
        return force

    return f


@refused(r"f raised UnboundLocalError.* at t = 0\.\d+.*test_clumsy_models.py:\d+")
def variable_that_is_not_set_for_a_moment():
    def f(t, q, v):
        n = int(1000 * t)
        if n != 501:
            force = -1.0
        return np.array([force, 0.0])

    return f


@refused(r"f raised ValueError: math domain error at t = 0\.\d+.*test_clumsy_models.py:\d+")
def domain_left_in_a_condition():
    return lambda t, q, v: -q if math.sqrt(0.5 - t) > 0.1 else q


@refused(r"f raised AssertionError: too late.* at t = 0\.\d+.*test_clumsy_models.py:\d+")
def assertion_that_fails():
    def f(t, q, v):
        assert t < 0.5, "too late"
        return -q

    return f


@refused(r"f raised SystemExit: it is late at t = 0\.\d+.*test_clumsy_models.py:\d+")
def exit_later():
    def f(t, q, v):
        if t > 0.5:
            sys.exit("it is late")
        return -q

    return f


@refused(r"f raised RecursionError.*test_clumsy_models.py:\d+")
def endless_recursion():
    def f(t, q, v):
        return f(t, q, v)

    return f


@refused(r"f returns \[.*\] at t = .*, but what was made of it gives \[.*\]: it is traced.*test_clumsy_models.py:\d+")
def kind_of_the_numbers():
    return lambda t, q, v: np.array([-1.0, 0.0]) if q.dtype == np.float64 else np.array([2.0, 0.0])


@refused(r"f returns .* but what was made of it gives .* it is traced")
def buffer_of_single_precision():
    def f(t, q, v):
        out = np.zeros(2, dtype=np.float32)
        out += -2.0 * q
        return out

    return f


@refused(r"f returns .* but what was made of it gives .*their type")
def dispatch_by_type():
    @functools.singledispatch
    def force(x):
        return -1.0

    force.register(float)(lambda x: -3.0 * x)
    return lambda t, q, v: [force(q[0]), 0.0]


@refused(r"f (gave .* and then|changes last)")
def default_argument_that_is_changed():
    def f(t, q, v, last=[0.0]):  # noqa: B006  clumsy on purpose
        force = [-q[0] + 0.1 * last[0], 0.0]
        last[0] = v[0]
        return force

    return f


@refused(r"f returned <generator object")
def generator_as_a_function():
    def f(t, q, v):
        yield -q[0]
        yield -q[1]

    return f


@refused(r"f returned <coroutine object")
def coroutine_as_a_function():
    async def f(t, q, v):
        return -q

    return f


@refused(r"f returned dict_values")
def values_of_a_dictionary():
    return lambda t, q, v: {"x": -q[0], "y": -q[1]}.values()


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_cannot_be_right_is_refused_by_name(make, message):
    with pytest.raises(sl.errors.SaltusError, match=f"(?s){message}"):
        motion(make())


# ---- the same for M, gap, slip, events


def masses():
    """M of two coordinates, written in ways that ask about q."""

    def typed(q):
        return np.eye(2) * (2.0 if isinstance(q, np.ndarray) else 1.0) + np.diag([q[0] ** 2, 0.0])

    def stored(q):
        BUFFER[:] = 1.0 + q**2
        return np.diag(BUFFER)

    def stepped(q):
        return np.diag([1.0 + int(q[0] > 0.6), 2.0])

    def caught(q):
        try:
            return np.diag([1.0 + math.sqrt(float(q[0]) - 0.6), 1.0])
        except ValueError:
            return np.eye(2)

    return {made.__name__: made for made in (typed, stored, stepped, caught)}


@pytest.mark.parametrize("name", masses())
def test_a_mass_is_that_of_the_function_called_as_python(name):
    def force(t, q, v):
        return np.array([1.0, -q[1]])

    # a mass that jumps keeps its velocity in both methods
    assert motion(force, masses()[name]) == pytest.approx(python_motion(force, masses()[name]), abs=TOLERANCE)


WRONG_MASSES = {
    r"M is not symmetric: M\[0, 1\] = .* but M\[1, 0\] = 0.0 at t = .*test_clumsy_models.py:\d+": lambda q: np.array(
        [[2.0, q[0] - Q0[0]], [0.0, 2.0]]
    ),
    r"M is not symmetric: M\[0, 1\] = .* at t = 0\.\d+, q = ": lambda q: np.array(
        [[2.0, max(q[0] - 0.7, 0.0) * (q[0] < 0.9) * (abs(q[1]) < 0.3)], [0.0, 2.0]]
    ),
    r"M returns \[.*, but what was made of it gives": lambda q: np.eye(2) * (1.0 if q.dtype == float else 2.0),
    r"M changes count with every call": (lambda count: lambda q: np.eye(2) + 0 * next(count))(itertools.count()),
    r"M returned \[.*nan.* at t = 0\.\d+.*test_clumsy_models.py:\d+": lambda q: np.diag([np.sqrt(0.8 - q[0]), 1.0]),
}


@pytest.mark.parametrize("message", WRONG_MASSES)
def test_a_wrong_mass_is_refused_by_name(message):
    with np.errstate(invalid="ignore"), pytest.raises(sl.errors.SaltusError, match=f"(?s){message}"):
        motion(lambda t, q, v: np.array([1.0, 0.0]), WRONG_MASSES[message])


def sharing():
    """Pairs of M and f of which one stores what the other one reads, by what they share."""

    class Arm:
        c = 1.0

        def M(self, q):
            self.c = np.cos(q[0])
            return np.eye(2)

        def f(self, t, q, v):
            return -self.c * q

    array, names = np.zeros(2), {"np": np, "last": 1.0}
    exec(  # noqa: S102
        "def M(q):\n    global last\n    last = q[0]\n    return np.eye(2)\n"
        "def f(t, q, v):\n    return np.array([-3.0 * last, 0.0])",
        names,
    )

    def stored(q):
        array[:] = np.cos(q)
        return np.eye(2)

    def later(q):
        if q[0] > 0.6:
            array[1] = 9.0
        return np.eye(2)

    arm = Arm()
    return {
        r"f reads c, which M changes: it gave .* compute it in both \(.*f, test_clumsy_models.py:\d+\)": (arm.M, arm.f),
        r"f reads array, which M changes": (stored, lambda t, q, v: -array * q),
        r"f reads last, which M changes": (names["M"], names["f"]),
        r"f (reads array, which M changes|returns .* but what was made of it gives)": (
            later,
            lambda t, q, v: np.array([1.0, array[1]]),
        ),
    }


@pytest.mark.parametrize("message", sharing())
def test_a_function_that_reads_what_another_one_stores_is_refused(message):
    M, f = sharing()[message]
    with pytest.raises(sl.errors.FunctionError, match=f"(?s){message}"):
        motion(f, M)


def test_a_trace_leaves_the_arrays_of_the_user_as_they_are():
    table = np.zeros(2)

    def f(t, q, v):
        if t > 5.0:
            table[0] = 7.0
        return table - q

    motion(f)
    assert table[0] == 0.0


def test_two_functions_may_use_the_same_room():
    def mass(q):
        BUFFER[:] = 1.0 + q**2
        return np.diag(BUFFER)

    def force(t, q, v):
        BUFFER[:] = -q
        return BUFFER.copy()

    assert motion(force, mass) == pytest.approx(python_motion(force, mass), abs=TOLERANCE)


def falling(gap=lambda q: q[0], slip=None, events=(), **options):
    """A body that falls from 1 m with 2 m/s sideways."""
    contact = sl.Contact(gap=gap, slip=slip, mu=0.5 if slip else 0.0, name="floor", **options)
    system = sl.System(M=1.0, f=np.array([-10.0, 0.0]), contacts=[contact])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.SlowFunctionWarning)
        return sl.solve(system, (0.0, 1.0), [1.0, 0.0], [0.0, 2.0], events=events, progress=False)


def caught_gap(q):
    try:
        return float(q[0]) - 0.2 if q[0] > -9 else [][0]
    except IndexError:
        return 0.0


GAPS = {
    "isinstance": lambda q: q[0] - (0.2 if isinstance(q, np.ndarray) else 0.5),
    "key": lambda q: q[0] - {0.0: 0.2}.get(float(q[1]) * 0.0, 0.5),
    "text": lambda q: float(f"{q[0]:.17g}") - 0.2,
    "caught": caught_gap,
    "edited": lambda q: q.__isub__(0.2)[0],
    "vector of one": lambda q: [[q[0] - 0.2]],
}


@pytest.mark.parametrize("name", GAPS)
def test_a_gap_closes_where_python_says_so(name):
    found = falling(GAPS[name]).events
    assert found["t"][0] == pytest.approx(math.sqrt(2 * 0.8 / 10), abs=1e-6)


SLIPS = {
    "isinstance": lambda t, q, v: v[1] * (1.0 if isinstance(t, float) else 3.0),
    "key": lambda t, q, v: v[1] * {0.0: 1.0}.get(t * 0.0, 3.0),
    "edited": lambda t, q, v: v.__imul__(1.0)[1:],
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_braked_as_python_says(name):
    made = falling(slip=SLIPS[name])
    # the impact takes mu times its impulse, then friction mu g
    fall = math.sqrt(0.2)
    assert made.v[-1, 1] == pytest.approx(max(0.0, 2.0 - 0.5 * 10 * fall - 0.5 * 10 * (1 - fall)), abs=1e-6)


EVENTS = {
    "isinstance": lambda t, q, v: q[0] - (0.55 if isinstance(t, float) else 0.7),
    "caught": lambda t, q, v: caught_gap(q) - 0.35,
    "text": lambda t, q, v: float(str(float(q[0]))) - 0.55,
}


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_where_python_says(name):
    seen = falling(events=[sl.Event(EVENTS[name], name="seen", terminal=True)])
    assert seen.t[-1] == pytest.approx(math.sqrt(2 * 0.45 / 10), abs=1e-6)


WRONG_PARTS = {
    r"gap of contact 'floor' returns .*, but what was made of it gives .*test_clumsy_models.py": lambda: falling(
        lambda q: q[0] - (0.2 if q.dtype == float else 0.5)
    ),
    r"gap of contact 'floor' changes seen with every call": (
        lambda seen: lambda: falling(lambda q: (seen.append(1), q[0])[1])
    )([]),
    r"slip of contact 'floor' returns .*, but what was made of it gives": lambda: falling(
        slip=lambda t, q, v: v[1] * (1.0 if v.dtype == float else 3.0)
    ),
    r"function of event 'seen' returns .*, but what was made of it gives": lambda: falling(
        events=[sl.Event(lambda t, q, v: q[0] - (0.5 if q.dtype == float else 0.7), name="seen")]
    ),
    r"reset of event 'seen' returns .*, but what was made of it gives": lambda: falling(
        events=[
            sl.Event(
                lambda t, q, v: q[0] - 0.5,
                name="seen",
                reset=lambda t, q, v: (q, v * (2.0 if v.dtype == float else 3.0)),
            )
        ]
    ),
}


@pytest.mark.parametrize("message", WRONG_PARTS)
def test_a_wrong_part_is_refused_by_name(message):
    with pytest.raises(sl.errors.SaltusError, match=f"(?s){message}"):
        WRONG_PARTS[message]()


# ---- what functions read may change between two runs of one system


def changes():
    """Pairs of a force and of what doubles it afterwards."""

    class Kind:
        k = 2.0

    class Part:
        __slots__ = ("k",)

    class Whole:
        def __init__(self):
            self.part = Part()
            self.part.k = 2.0

        @property
        def stiffness(self):
            return self.part.k

    whole, numbers, by_name, array, spline = (
        Whole(),
        [2.0],
        {"a": {"k": 2.0}},
        np.array([2.0]),
        CubicSpline([0, 1, 2], [2.0] * 3),
    )
    nested = types.ModuleType("nested")
    nested.config = config
    config.k = 2.0

    def with_attribute(t, q, v):
        return -with_attribute.k * q

    with_attribute.k = 2.0

    def helper(x):
        return -config.k * x

    def with_default(t, q, v, k=numbers):
        return -k[0] * q

    def twice_as_steep():
        spline.c[-1] = 4.0

    def global_number():
        global G
        G = 4.0

    return {
        "module": (lambda t, q, v: -config.k * q, lambda: setattr(config, "k", 4.0)),
        "module of a module": (lambda t, q, v: -nested.config.k * q, lambda: setattr(config, "k", 4.0)),
        "module behind a helper": (lambda t, q, v: np.array([helper(x) for x in q]), lambda: setattr(config, "k", 4.0)),
        "class": (lambda t, q, v: -Kind.k * q, lambda: setattr(Kind, "k", 4.0)),
        "class of an object": ((lambda o: lambda t, q, v: -o.k * q)(Kind()), lambda: setattr(Kind, "k", 4.0)),
        "object in an object": (lambda t, q, v: -whole.part.k * q, lambda: setattr(whole.part, "k", 4.0)),
        "property": (lambda t, q, v: -whole.stiffness * q, lambda: setattr(whole.part, "k", 4.0)),
        "list": (lambda t, q, v: -numbers[0] * q, lambda: numbers.__setitem__(0, 4.0)),
        "default": (with_default, lambda: numbers.__setitem__(0, 4.0)),
        "dictionary": (lambda t, q, v: -by_name["a"]["k"] * q, lambda: by_name["a"].update(k=4.0)),
        "array": (lambda t, q, v: -array[0] * q, lambda: array.__setitem__(0, 4.0)),
        "global": (lambda t, q, v: -G * q, global_number),
        "function attribute": (with_attribute, lambda: setattr(with_attribute, "k", 4.0)),
        "partial": (
            functools.partial(lambda o, t, q, v: -o["k"] * q, by_name["a"]),
            lambda: by_name["a"].update(k=4.0),
        ),
        "method": (
            types.MethodType(lambda self, t, q, v: -self.part.k * q, whole),
            lambda: setattr(whole.part, "k", 4.0),
        ),
        "spline": (lambda t, q, v: -spline(t) * q, twice_as_steep),
        **outside(),
        **beside(),
        **answering(),
        "branch that cannot be traced": (
            lambda t, q, v: -config.k * q * (1.0 if int(t) < 9 else 2.0),
            lambda: setattr(config, "k", 4.0),
        ),
    }


def outside():
    """The same for numbers that stand in no variable of the force: files, the environment, methods, other names."""

    class Meta(type):
        k = 2.0

    class WithMeta(metaclass=Meta):
        pass

    class Holder:
        k = 2.0

    table, numbers, holder, made = {"k": 2.0}, [2.0], Holder(), {}
    get, item, reference = table.get, numbers.__getitem__, weakref.ref(holder)
    holders.append(holder)
    folder = pathlib.Path(tempfile.mkdtemp())
    text, binary, saved = folder / "k.txt", folder / "k.bin", folder / "k.npy"
    other = types.ModuleType("clumsy_other")
    other.k = 2.0
    sys.modules["clumsy_other"] = other
    exec("def f(t, q, v):\n    import clumsy_other\n    return -clumsy_other.k * q", made)  # noqa: S102
    exec("k = 2.0\ndef g(t, q, v):\n    return -k * q", made)  # noqa: S102

    def write(k):
        os.environ["CLUMSY_K"] = str(k)
        text.write_text(str(k), encoding="utf-8")
        np.array([k]).tofile(binary)
        np.save(saved, k)

    def by_opening(t, q, v):
        with open(text, encoding="utf-8") as file:
            return -float(file.read()) * q

    write(2.0)
    return {
        "method of a dictionary": (lambda t, q, v: -get("k") * q, lambda: table.update(k=4.0)),
        "method of a list": (lambda t, q, v: -item(0) * q, lambda: numbers.__setitem__(0, 4.0)),
        "weak reference": (lambda t, q, v: -reference().k * q, lambda: setattr(holder, "k", 4.0)),
        "class of a class": (lambda t, q, v: -WithMeta.k * q, lambda: setattr(Meta, "k", 4.0)),
        "import inside": (made["f"], lambda: setattr(other, "k", 4.0)),
        "function made by exec": (made["g"], lambda: made.update(k=4.0)),
        "attribute by its name": (lambda t, q, v: -getattr(other, "k") * q, lambda: setattr(other, "k", 4.0)),  # noqa: B009
        "modules by name": (lambda t, q, v: -sys.modules["clumsy_other"].k * q, lambda: setattr(other, "k", 4.0)),
        "environment": (lambda t, q, v: -float(os.environ["CLUMSY_K"]) * q, lambda: write(4.0)),
        "environment after a while": (
            lambda t, q, v: -q * (2.0 if t < -1.0 else float(os.getenv("CLUMSY_K"))),
            lambda: write(4.0),
        ),
        "file that is opened": (by_opening, lambda: write(4.0)),
        "file by pathlib": (lambda t, q, v: -float(text.read_text(encoding="utf-8")) * q, lambda: write(4.0)),
        "file of text": (lambda t, q, v: -np.loadtxt(text) * q, lambda: write(4.0)),
        "file of bytes": (lambda t, q, v: -np.fromfile(binary)[0] * q, lambda: write(4.0)),
        "file of an array": (lambda t, q, v: -np.load(saved) * q, lambda: write(4.0)),
    }


def beside():
    """The same for what stands beside the value of a number or the content of a container: attributes, methods."""

    class Number(float):
        def stiff(self):
            return self * config.k

    class Marked(np.ndarray):
        def stiff(self):
            return config.k

    class Table(dict):
        k = 2.0

        def __missing__(self, key):
            return config.k

    class Rows(list):
        def stiff(self):
            return config.k

    class Choices(set):
        def stiff(self):
            return config.k

    class Material(typing.NamedTuple):
        share: float

        def stiff(self):
            return self.share * config.k

    class Level(enum.IntEnum):
        LOW = 1

        def stiff(self):
            return config.k

    number, marked, table, rows, level = Number(1.0), np.ones(1).view(Marked), Table(), Rows([1.0]), Level.LOW
    choices, material, by_default = Choices([1.0]), Material(1.0), collections.defaultdict(lambda: config.k)
    number.k = marked.k = 2.0
    records = np.array([(2.0,)], dtype=[("k", float)])
    row = records[0]

    def change_config():
        config.k = 4.0

    return {
        "attribute of a number": (lambda t, q, v: -number.k * q, lambda: setattr(number, "k", 4.0)),
        "method of a number": (lambda t, q, v: -number.stiff() * q, change_config),
        "attribute of an array": (lambda t, q, v: -marked.k * q, lambda: setattr(marked, "k", 4.0)),
        "method of an array": (lambda t, q, v: -marked.stiff() * q, change_config),
        "class of a dictionary": (lambda t, q, v: -table.k * q, lambda: setattr(Table, "k", 4.0)),
        "what a dictionary makes of a key": (lambda t, q, v: -table["absent"] * q, change_config),
        "default of a dictionary": (lambda t, q, v: -by_default.default_factory() * q, change_config),
        "method of a list's class": (lambda t, q, v: -rows.stiff() * q, change_config),
        "method of a set's class": (lambda t, q, v: -choices.stiff() * q, change_config),
        "method of a named tuple": (lambda t, q, v: -material.stiff() * q, change_config),
        "method of a member of an enumeration": (lambda t, q, v: -level.stiff() * q, change_config),
        "row of a table of records": (lambda t, q, v: -row["k"] * q, lambda: records["k"].__setitem__(0, 4.0)),
    }


def answering():
    """The same for what is computed when it is asked for, remembered until it is forgotten, or known to all."""
    store = {"k": 2.0}

    class Computed(types.ModuleType):
        @property
        def k(self):
            return store["k"]

    class Base(abc.ABC):  # noqa: B024  nothing is abstract in it but who belongs to it
        pass

    class Thing:
        pass

    class Lazy:
        @functools.cached_property
        def k(self):
            return store["k"]

    lazy, computed, by_name = types.ModuleType("clumsy_lazy"), Computed("clumsy_computed"), operator.attrgetter("k")
    lazy.__getattr__ = lambda name: store[name]
    partial, thing, once = functools.partial(abs), Thing(), Lazy()
    partial.k = 2.0
    builtins.clumsy_stiffness = 2.0
    logger = logging.getLogger("clumsy_toggle")
    logger.setLevel(logging.WARNING)

    @functools.cache
    def remembered():
        return store["k"]

    def asked(what, name):
        return getattr(what, name)

    def forget():
        store["k"] = 4.0
        remembered.cache_clear()
        once.__dict__.clear()

    def loud(t, q, v):
        return -(4.0 if logger.isEnabledFor(logging.DEBUG) else 2.0) * q

    return {
        "module that answers": (lambda t, q, v: -lazy.k * q, forget),
        "module with a property": (lambda t, q, v: -computed.k * q, forget),
        "attribute by a getter": (lambda t, q, v: -by_name(config) * q, lambda: setattr(config, "k", 4.0)),
        "attribute by a helper": (lambda t, q, v: -asked(config, "k") * q, lambda: setattr(config, "k", 4.0)),
        "attribute by a question": (
            lambda t, q, v: -config.__getattribute__("k") * q,
            lambda: setattr(config, "k", 4.0),
        ),
        "attribute of a partial": (lambda t, q, v: -partial.k * q, lambda: setattr(partial, "k", 4.0)),
        "name of builtins": (
            lambda t, q, v: -clumsy_stiffness * q,  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
            lambda: setattr(builtins, "clumsy_stiffness", 4.0),
        ),
        "cache that is cleared": (lambda t, q, v: -remembered() * q, forget),
        "cached property that is cleared": (lambda t, q, v: -once.k * q, forget),
        "level of a logger": (loud, lambda: logger.setLevel(logging.DEBUG)),
        "class that is registered": (
            lambda t, q, v: -(4.0 if isinstance(thing, Base) else 2.0) * q,
            lambda: Base.register(Thing),
        ),
    }


def test_marks_look_through_what_they_can():
    # what cannot be marked is traced anew in every run: right, but a hundred times slower
    free = {**beside(), **answering()}
    blind = {"module with a property", *(f"attribute by a {how}" for how in ("getter", "helper", "question"))}
    for name, (f, _) in free.items():
        if name in blind:
            with pytest.raises(Unmarked):
                mark_of(f)
        else:
            assert mark_of(f) == mark_of(f)
    holder = types.SimpleNamespace(k=2.0)
    assert mark_of(lambda t, q, v: -getattr(holder, "k") * q)  # noqa: B009


holders: list = []  # what only weak references would lose


@pytest.mark.parametrize("name", changes())
def test_what_changed_between_two_runs_of_a_system_counts(name):
    f, change = changes()[name]
    global G
    G = 2.0
    system = sl.System(M=1.0, f=f)

    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sl.SlowFunctionWarning)
            made = sl.solve(system, (0.0, T), Q0, V0, scheme=sl.MoreauJean(), h=H, progress=False)
        return np.concatenate([made.q[-1], made.v[-1]])

    for k in (2.0, 2.0, 4.0):
        if k == 4.0:
            change()
        assert run() == pytest.approx(python_motion(lambda t, q, v, k=k: -k * q), abs=TOLERANCE)


def test_a_module_that_changed_on_disk_counts_in_the_next_process(tmp_path):
    (tmp_path / "run.py").write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"  # PYTHONSAFEPATH leaves it out
        "import numpy as np, saltus as sl, warnings, constants\n"
        "warnings.simplefilter('ignore')\n"
        "def f(t, q, v):\n"
        "    if int(t) > 5:\n"
        "        return np.zeros(1)\n"
        "    return np.array([-constants.G - constants.more(q[0])])\n"
        "run = sl.solve(sl.System(M=1.0, f=f), (0.0, 1.0), 0.0, 0.0, scheme=sl.MoreauJean(), h=0.1, progress=False)\n"
        "print(float(run.v[-1, 0]))\n",
        encoding="utf-8",
    )
    for number in (1.0, 2.0):
        (tmp_path / "constants.py").write_text(f"G = {number}\ndef more(x):\n    return {number}\n", encoding="utf-8")
        command = [sys.executable, "-B", str(tmp_path / "run.py"), str(tmp_path)]
        said = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout  # noqa: S603
        assert float(said) == pytest.approx(-2.0 * number)


def test_a_file_that_changed_after_its_import_does_not_count(tmp_path, monkeypatch):
    file = tmp_path / "clumsy_edited.py"
    text = "import numpy as np\ndef f(t, q, v):\n    return np.array([-1.0 * int(2.5), 0.0])\n"
    file.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import clumsy_edited  # pyright: ignore[reportMissingImports]

    file.write_text("\n" + text.replace("-1.0", "-5.0"), encoding="utf-8")
    assert motion(clumsy_edited.f)[2] == pytest.approx(V0[0] - 2.0)


def test_rounding_of_a_table_is_no_difference_where_all_else_is_zero():
    """Behind its end the table is 0, and its last ramp ends at -1e-16: that was refused as another function."""
    times = [0.12840751195338063, 0.1752852030536267, 0.19608066392869014, 0.39722418865465015]
    heights = [0.0, 0.5517637912402641, 0.8187541611225184, 0.0]
    pushed = sl.System(M=2.7, f=lambda t, q, v: [95.94693076912465 * np.interp(t, times, heights)])
    sol = sl.solve(pushed, (0.0, 0.7), 0.0, 0.0, tol=1e-8)
    impulse = 95.94693076912465 * np.trapezoid(heights, times)
    assert sol.v[-1, 0] == pytest.approx(impulse / 2.7, rel=1e-8)
    late = sl.solve(pushed, (0.5, 0.9), 0.0, 0.1, tol=1e-8)  # where all values are 0
    assert late.q[-1, 0] == pytest.approx(0.04, rel=1e-9)


def test_the_table_has_at_least_sixty_ways():
    assert len(WAYS) + len(REFUSED) >= 60
