"""Plain branches of Python in traced functions: values, borders and refusals against the direct call."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest

import saltus as sl
from saltus.build.model import compile_model
from saltus.compile import paths
from saltus.compile.effects import is_free_of_effects
from saltus.compile.trace import Trace, Untraceable, differentiate, emit, interpreted, operation_count


def record(function, n=3):
    """The trace, its variables t, q and the traced result of function(t, q)."""
    trace = Trace()
    t, q = trace.variable("t"), trace.variables("q", n)
    return trace, (t, q), trace.as_array(trace.call(function, t, q))


def evaluate(trace, exprs, t, q):
    return interpreted(exprs, ["t", "q"])(float(t), np.asarray(q, dtype=float), np.array(trace.constants))


def window(t, q):
    if t > 1 and t < 1.2:
        return [5.0]
    return [0.0]


def chained(t, q):
    return q[0] ** 2 if 1.0 <= t <= 1.5 else -q[0]


def either(t, q):
    return [1.0 / q[0], q[1]] if q[0] > 0.5 or q[0] < -0.5 else [0.0, 2.5]


def negated(t, q):
    if not q[0] > 0.25:
        return math.sqrt(0.25 - q[0])
    return math.sqrt(q[0] - 0.25)


def ladder(t, q):
    if t < 0.5:
        f = 2.0 * t
    elif t < 1.0:
        f = 1.0
    elif t < 1.5:
        f = 3.0 - 2.0 * t
    else:
        f = 0.0
    return np.array([f, f * q[0], 0.0])


def early_and_nested(t, q):
    x = q[0] - 0.5
    if x <= 0:
        return (q, [0.0, 0.0, 0.0])
    if q[1] > 0:
        x = x / q[1]
        if q[2] > 0:
            return (q * x, [x, math.log(q[2]), 1])
    return (2 * q, [x, 0, q[1]])


def number_as_truth(t, q):
    return 1.0 / q[0] if q[0] else 0.75


def chosen_by_python(t, q):
    middle = sorted([q[0], q[1], q[2]])[1]
    return [min(q, key=lambda x: x * x), max(q[0], q[1]), middle, q[2] if q[2] in (0.5, t) else 0]


def searched(t, q):
    knots, values = [0.0, 0.25, 0.5, 1.25, 2.0], [1.5, -0.5, 3.5, 2.25]
    for i in range(len(values)):
        if knots[i] <= t < knots[i + 1]:
            return values[i] * (t - knots[i])
    return 0.0


def windows_in_a_row(t, q):
    f = 0.0
    for start in (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0):
        if start < t < start + 0.1:
            f += 2.5
    return f


def limited_again_and_again(t, q):
    f = 0.0
    for x in (q[0], q[1], q[2], t, q[0] * q[1]):
        f += x * x
        if f > 1.25:
            f = 1.25
    return f


def looped_over_contacts(t, q):
    f = np.zeros(3)
    for i, x in enumerate(q):
        if x < 0.25:
            f[i] -= 3.5 * (x - 0.25)
    return f


STIFFNESS = 3.5


def bumper(x, place):
    if x < place:
        return -STIFFNESS * (x - place)
    return 0


def side(x):
    return 1 if x > 0.25 else 0


def word(x):
    return "left" if x < 0.5 else "right"


def called_with_branches(t, q):
    return sum(bumper(x * t, 0.25 * k) for k, x in enumerate([*q, *q, *q, *q])) + STIFFNESS * [2.5, t][side(q[0])]


def called_with_words(t, q):
    return q[0] / q[1] if word(q[1]) == "right" and q[1] > 0.5 else {"left": 1.5, "right": 2.5}[word(q[2])]


def of_arrays(t, q):
    if np.any(q > 0.75) or (q < -0.75).all():
        return q
    return -q if np.all(q > 0.0) and (q > 0.25).any() else 0 * q


class Gate:
    def __init__(self, times):
        self.times = np.array(times)

    def open(self, t):
        return self.times[0] <= t <= self.times[1]

    def __call__(self, t, q):
        return 2.5 * t if self.open(t) else q[0]


FUNCTIONS = {
    f.__name__: f
    for f in (
        window, chained, either, negated, ladder, early_and_nested, number_as_truth, chosen_by_python, searched,
        called_with_branches, called_with_words, windows_in_a_row, limited_again_and_again, looped_over_contacts,
        of_arrays,
    )
} | {"object": Gate([0.5, 1.25])}  # fmt: skip
BORDERS = [0.0, -0.0, 0.25, 0.5, -0.5, 0.75, 1.0, 1.2, 1.25, 1.5, 2.0, -0.75, 0.4, 0.2 + 0.1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_joined_branches_give_the_bits_of_the_direct_call(name):
    function = FUNCTIONS[name]
    trace, _, made = record(function)
    run, par = interpreted(made, ["t", "q"]), np.array(trace.constants)
    rng = np.random.default_rng(4)
    for _ in range(400):
        t, *q = np.where(rng.random(4) < 0.4, rng.choice(BORDERS, 4), rng.uniform(-1.0, 2.2, 4))
        wanted = np.array(function(float(t), np.array(q)), dtype=float)
        np.testing.assert_array_equal(run(float(t), np.array(q), par), wanted, err_msg=f"t = {t}, q = {q}")


def test_a_window_of_time_is_one_choice_of_two_comparisons():
    trace, _, made = record(window)
    assert emit([("out", made[0])]) == "    out = (par[1] if (1.0 < t and t < par[0]) else 0.0)\n"
    assert trace.constants == [1.2, 5.0]


def test_answers_that_follow_from_others_are_no_branches():
    def contradictory(t, q):
        if t < 0.5:
            return 1.0 if t <= 0.5 and not t >= 0.5 and t != 0.5 and 0.5 > t and t < 0.75 else math.sqrt("never")
        if t > 1.5 and (t < 1.0 or t == 1.25):
            raise ValueError("no time is both")
        return 2.0 if q[0] < q[1] and q[1] <= q[0] else 3.0

    trace, _, made = record(contradictory)
    assert [evaluate(trace, made, t, [1, 2, 3])[()] for t in (0.25, 0.5, 1.25, 1.75)] == [1.0, 3.0, 3.0, 3.0]


def test_ten_windows_have_as_many_outcomes_as_there_are_pieces_of_time(monkeypatch):
    runs = []
    follow = paths.Paths._follow
    monkeypatch.setattr(paths.Paths, "_follow", lambda *args: runs.append(1) or follow(*args))
    record(windows_in_a_row)
    assert len(runs) == 2 * 21 - 1  # each outcome twice, except for the first one


def test_branches_of_called_functions_are_choices_of_their_own():
    _, _, made = record(lambda t, q: sum(bumper(x - 0.1 * k, t) for k in range(12) for x in q))
    assert operation_count([made[()]]) < 12 * 3 * 8


def test_functions_that_leave_traces_are_not_run_on_their_own():
    seen, table = [], np.array([1.5, 2.5])

    def remembers(x):
        seen.append(x)
        return x

    def fills(x):
        table[0] = 2.5
        return x

    def has_default(x, memory=[]):  # noqa: B006  what is to be noticed
        return x

    assert is_free_of_effects(bumper) and is_free_of_effects(side) and is_free_of_effects(lambda x: bumper(x, 0.5))
    for function in (remembers, fills, has_default, Latch.__call__, lambda x: remembers(x)):
        assert not is_free_of_effects(function)


def test_derivatives_are_those_of_the_branch():
    trace, (t, q), made = record(lambda t, q: q[0] ** 2 * t if q[0] > 0.5 else 1.0 / (q[0] - 0.5))
    slopes = [differentiate(made[()], x) for x in (t, q[0])]
    np.testing.assert_allclose(evaluate(trace, slopes, 2.0, [0.75, 0, 0]), [0.5625, 3.0], rtol=1e-15)
    np.testing.assert_allclose(evaluate(trace, slopes, 2.0, [0.25, 0, 0]), [0.0, -16.0], rtol=1e-15)


# ---- random programs with branches: the bits of the user's own function, also where a branch may not be computed
def program(rng: random.Random, depth: int = 0) -> list[str]:
    """Lines of a function body that assigns to x, y, z and returns on some of its branches."""
    lines = []
    for _ in range(rng.randint(1, 3)):
        a, b, c = (rng.choice(["x", "y", "z", "t", "q[0]", "q[1]", "0.5", "k"]) for _ in range(3))
        kind = rng.random()
        if kind < 0.45 or depth > 2:
            form = rng.choice(
                ["{a} + {b} * {c}", "{a} - {b}", "{a} * {b}", "1.5 / ({a} - {b}) if {a} > {b} else {c}", "abs({a})",
                 "math.sqrt({a}) if {a} >= 0 else {b}", "({a} / {b} if {b} else {c})", "min({a}, {b})"]
            )  # fmt: skip
            lines.append(f"{rng.choice('xyz')} = {form.format(a=a, b=b, c=c)}")
            continue
        form = rng.choice(["{a} > {b}", "{a} < {b} <= {c}", "{a} and {b} >= {c}", "not {a} != {b}",
                           "{a} > {b} or {c} < 0", "{b} != 0 and {a} / {b} > {c}"])  # fmt: skip
        lines.append(f"if {form.format(a=a, b=b, c=c)}:")
        inner = program(rng, depth + 1) + ([f"return [{a}, x, {c}]"] if rng.random() < 0.3 else [])
        lines += [f"    {line}" for line in inner]
        if rng.random() < 0.5:
            lines += ["else:"] + [f"    {line}" for line in program(rng, depth + 1)]
    return lines


def function_of(seed: int):
    lines = program(random.Random(seed))  # noqa: S311  any numbers will do
    text = "def f(t, q):\n    k = 0.25 + 0.5\n    x, y, z = t, q[0], q[1] * k\n"
    text += "".join(f"    {line}\n" for line in [*lines, "return [x, y, z]"])
    names = {"math": math}
    exec(text, names)  # noqa: S102  our own text
    return names["f"], text


@pytest.mark.parametrize("block", range(2))
def test_random_programs_with_branches_give_the_bits_of_python(block):
    traced = 0
    for seed in range(50 * block, 50 * block + 50):
        function, text = function_of(seed)
        try:
            trace, _, made = record(function, 2)
        except Untraceable as error:
            assert "outcomes" in str(error) or "OverflowError" in str(error), text
            continue
        traced += 1
        run, par = interpreted(made, ["t", "q"]), np.array(trace.constants)
        rng = np.random.default_rng(seed)
        for _ in range(40):
            values = np.where(rng.random(3) < 0.5, rng.choice([0.0, 0.5, 0.75, -0.5, 1.0], 3), rng.normal(size=3))
            t, q = float(values[0]), values[1:]
            wanted = np.array(function(t, [float(x) for x in q]), dtype=float)
            np.testing.assert_array_equal(run(t, q, par), wanted, err_msg=f"{text} at t = {t}, q = {q}")
    assert traced >= 40


# ---- refusals
def endless(t, q):
    x = q[0]
    while x > 0.5:
        x = x * 0.5
    return x


def halved(t, q):
    x = q[0] + 0.5
    while x > 0.5:
        x = x * 0.5
    return x


def newton(t, q):
    x = q[0]
    for _ in range(50):
        step = (math.cos(x) - x * q[1]) / (math.sin(x) + q[1])
        x = x + step
        if abs(step) < 1e-12:
            break
    return x


def counted(t, q):
    steps = 0
    while steps * 0.25 < q[0]:
        steps += 1
    return steps


def many(t, q):
    return sum(1.0 if math.sin(k * t) > 0 else 2.5 for k in range(1, 10))


def raising(t, q):
    if q[0] > 100.0:
        raise ValueError("it went around")
    return q[0]


def other_shapes(t, q):
    return [1.0, 2.0] if t > 1 else [1.0, 2.0, 3.0]


def forgotten(t, q):
    if t > 1:
        return 1.0


def hidden(t, q):
    try:
        return endless(t, q)
    except Exception:
        return 0.0


def remembering():
    memory = [0.0]

    def latch(t, q):
        if t > 1:
            memory[0] = 5.0
        return memory[0]

    return latch


class Latch:
    closed = False

    def __call__(self, t, q):
        if t > 1:
            self.closed = True
        return 5.0 if self.closed else 0.0


REFUSED = {
    "`while x > 0.5:` .* asks again and again": endless,
    "iterates until the state is good enough: `while x > 0.5:`": halved,
    r"iterates until the state is good enough: `if abs\(step\) < 1e-12:`": newton,
    f"more than {paths.MAX_DECISIONS} times in one call.*`while steps \\* 0.25 < q": counted,
    f"more than {paths.MAX_PATHS} outcomes; use np.where": many,
    r"ValueError while tracing: it went around, after yes to `if q\[0\] > 100.0:`": raising,
    r"shape \(2,\) after yes and \(3,\) after no to `return \[1.0, 2.0\] if t > 1": other_shapes,
    "returns None, no number, after one of the answers to `if t > 1:`": forgotten,
    "hidden catches exceptions": hidden,
    "keeps a memory": remembering(),
    "memory between its calls": Latch(),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_joined_is_refused_with_the_line_that_asks(message):
    with pytest.raises(Untraceable, match=message):
        record(REFUSED[message])


def test_what_a_refused_function_would_have_stored_stays_out_of_its_objects():
    latch = Latch()
    with pytest.raises(Untraceable):
        record(latch)
    assert not latch.closed and "closed" not in vars(latch)


def test_a_model_with_plain_branches_is_traced_without_a_warning():
    system = sl.System(
        M=1.0,
        f=lambda t, q, v: window(t, q) if t < 3.0 else [-q[0]],
        contacts=[sl.Contact(lambda q: q[0] + 1.0 if q[0] < 0.5 else 1.5 * q[0] + 0.75, name="wall")],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", sl.SlowFunctionWarning)
        model = compile_model(system, 0.0, np.zeros(1), np.zeros(1))
    units, out = model.interpreted(), np.empty(1)
    for t, wanted in ((0.5, 0.0), (1.0, 0.0), (1.1, 5.0), (1.2, 0.0), (3.5, -0.25)):
        assert units.force(t, np.array([0.25]), np.zeros(1), model.units.par, out) == 0
        assert out[0] == wanted
