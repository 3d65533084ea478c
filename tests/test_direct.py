"""Models straight to machine code: the bits of the interpreted text, for everything that the emitter writes."""

from __future__ import annotations

import ast
import ctypes
import functools
import gc
import math
import random
import re
import weakref

import numpy as np
import pytest

import saltus as sl
from counts import counted
from saltus import problems
from saltus.build.model import UNITS, compile_model
from saltus.compile import direct, loops, lower, seam, types
from saltus.compile.emit import HELPERS, IMPORTS, emit
from saltus.compile.expression import CONDITIONS, UNARY
from saltus.compile.graph import Graph
from saltus.compile.machine import library_address
from saltus.compile.native import NativeUnit, prototype
from saltus.compile.switches import FREE

SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    math.inf,
    -math.inf,
    math.nan,
    1e300,
    -1e300,
    5e-324,
    -3e-310,
    2.0**53,
    1e19,
)


# ---- what the interpreted text means where Python raises: IEEE 754, by numpy's floats and the C library itself


class _Unraising(ast.NodeTransformer):
    """Literal floats become numpy's, whose division by zero gives inf or NaN."""

    def visit_Constant(self, node):
        if not isinstance(node.value, float):
            return node
        return ast.Call(ast.Name("float64", ast.Load()), [node], [])


def _c_function(name: str, count: int):
    function = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * count)(library_address(name))
    return lambda *values: np.float64(function(*values))


def _rounded(function):
    return lambda x: np.float64(function(x)) + np.float64(0.0)


def dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  nothing is secret


TWO = {"atan2", "copysign", "pow", "fmod"}
MEANING = {
    **{name: _c_function(name, 2 if name in TWO else 1) for name in sorted(lower.LIBRARY | {"sqrt", "copysign"})},
    # whole numbers have no negative zero
    **{name: _rounded(getattr(np, name)) for name in ("floor", "ceil", "trunc")},
    "float": np.float64, "float64": np.float64, "inf": np.float64(math.inf), "nan": np.float64(math.nan),
    "unit": lambda *_, **__: lambda function: function, "vec": lambda work, offset, n: work[offset : offset + n],
    "F": lambda *_: None, "I": lambda *_: None, "A": None, **dict.fromkeys(lower.UNIT_KINDS),
}  # fmt: skip


def meaning_of(text: str) -> dict:
    """Return the functions of a text as IEEE 754 and the C library mean them."""
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not isinstance(node, ast.ImportFrom)]
    names = dict(MEANING, call_at=call_meant)
    exec(compile(ast.fix_missing_locations(_Unraising().visit(tree)), "<meaning>", "exec"), names)  # noqa: S102
    return names


@functools.cache
def meaning_of_loops(text: str) -> dict:
    return meaning_of(text)


def call_meant(address: float, *arguments) -> int:
    """Call the loop of a family at an address as IEEE 754 means it."""
    text, name = loops._texts[int(address)]
    return meaning_of_loops(text)[name](*arguments)


def plain_functions(text: str) -> dict:
    """Return the functions of a text as Python itself runs them."""
    body = re.sub(r"^from saltus.*\n", "", text, flags=re.MULTILINE)
    names = {key: MEANING[key] for key in ("unit", "vec", "F", "I", "A", *lower.UNIT_KINDS)}
    names["call_at"] = loops.call_at
    exec(body, names)  # noqa: S102
    return names


def assert_same_bits(found: np.ndarray, expected: np.ndarray, said: str) -> None:
    """All NaN count as one: IEEE 754 leaves their sign and payload open."""
    nan = np.isnan(expected)
    same = np.where(nan, np.isnan(found), found.view(np.int64) == expected.view(np.int64))
    assert same.all(), f"{said}: {found[~same][:4]} instead of {expected[~same][:4]}"


# ---- random expressions

PAR = 60  # numbers, then two tables, then modes
TABLES = ((PAR, 3, 3), (PAR + 20, 1, 2))  # offset, intervals, order
MODES = PAR + 40
RELATIONS = ("lt", "le", "eq", "ne")


def parameters(rng: random.Random) -> np.ndarray:
    par = np.array([rng.choice((rng.uniform(-3.0, 3.0), rng.choice(SPECIAL))) for _ in range(MODES + 12)])
    for offset, n, order in TABLES:
        par[offset : offset + n + 1] = np.cumsum([rng.uniform(0.1, 1.0) for _ in range(n + 1)]) - 1.5
        par[offset + n + 1 : offset + n + 1 + n * (order + 1)] = [
            rng.uniform(-2.0, 2.0) for _ in range(n * (order + 1))
        ]
    par[MODES : MODES + 4] = [rng.choice((FREE, 1.0, -1.0, 0.0)) for _ in range(4)]
    par[MODES + 4 : MODES + 8] = [rng.choice((FREE, float(rng.randint(-3, 3)))) for _ in range(4)]
    par[MODES + 8 : MODES + 12] = [rng.choice((FREE, float(rng.randint(0, 2)))) for _ in range(4)]
    par[MODES + 10 : MODES + 12] = [rng.choice((FREE, 0.0)) for _ in range(2)]  # cells of the table with one interval
    return par


def random_expressions(rng: random.Random, size: int) -> list:
    """Return numbers made of random operations, every one of the emitter among them sooner or later."""
    graph = Graph()
    numbers = [graph.variable(name) for name in ("t", "q[0]", "q[1]", "q[2]", "v[0]", "v[1]")]
    numbers += [graph.parameter(rng.randrange(PAR)) for _ in range(6)]
    numbers += [graph.number(x) for x in (0.0, 1.0, -1.0, 2.0, -0.5, 1e300)]
    truths = [graph.less(numbers[1], numbers[2])]

    def number():
        return rng.choice(numbers[-12:]) if rng.random() < 0.7 else rng.choice(numbers)

    def mode(first: int):
        return graph.parameter(MODES + first + rng.randrange(4))

    for _ in range(size):
        op = rng.choice((*OPERATIONS, "add", "mul", "sub", "div", "where", "where"))
        if op in UNARY.values() or op in ("neg", "abs", "sign"):
            made = graph.node(op, (number(),))
        elif op == "copysign":  # the sign of a NaN is nobody's promise
            b = number()
            b = graph.node("where", (graph.node("eq", (b, b)), b, graph.one))
            made = graph.node(op, (number(), b))
        elif op in ("add", "sub", "mul", "div", "mod", "pow", "min", "max", "hypot", "atan2", *RELATIONS):
            made = graph.node(op, (number(), number()))
        elif op in ("and", "or"):
            made = graph.node(op, (rng.choice(truths), rng.choice(truths)))
        elif op == "not":
            made = graph.node(op, (rng.choice(truths),))
        elif op == "bool":
            made = graph.node(op, (), rng.random() < 0.5)
        elif op == "where":
            made = graph.node(op, (rng.choice(truths), number(), number()))
        elif op == "held":
            made = graph.node(op, (number(), number(), mode(0)), (rng.choice(RELATIONS), rng.choice((1, -1))))
        elif op == "free":
            made = graph.node(op, (mode(0),))
        elif op == "held_floor":
            made = graph.node(op, (number(), mode(4)))
        elif op == "held_mod":
            made = graph.node(op, (number(), number(), mode(4)))
        else:
            which = rng.randrange(2)
            offset, n, order = TABLES[which]
            cell = graph.parameter(MODES + 8 + 2 * which + rng.randrange(2))
            if op == "cell":
                made = graph.node(op, (number(),), (offset, n))
            elif op == "knot":
                made = graph.node(op, (cell,), (offset, n, rng.randrange(2)))
            else:
                args = (number(),) if rng.random() < 0.5 else (number(), cell)
                made = graph.node("piecewise", args, (offset, n, order, rng.randrange(order + 1)))
        (truths if made.op in CONDITIONS else numbers).append(made)
    numbers.append(graph.node("where", (truths[-1], numbers[-1], numbers[-2])))
    return numbers[-6:]


OPERATIONS = (
    *UNARY.values(), "neg", "abs", "sign", "add", "sub", "mul", "div", "mod", "pow", "min", "max", "copysign", "hypot",
    "atan2", *RELATIONS, "and", "or", "not", "bool", "where", "held", "free", "held_floor", "held_mod", "cell", "knot",
    "piecewise",
)  # fmt: skip


def module_of(bodies: list[str]) -> str:
    text = IMPORTS + "from saltus.compile.seam import unit\nfrom saltus.compile.types import A, F, FORCE, I\n"
    for source, signature in HELPERS.values():
        text += f"\n\n@unit({signature})\n{source}"
    for k, body in enumerate(bodies):
        text += f"\n\n@unit(FORCE)\ndef f{k}(t, q, v, par, out):\n{body}    return 0\n"
    return text


def state(rng: random.Random) -> list[float]:
    special = rng.choice((0.0, 0.2, 0.6))
    return [rng.choice(SPECIAL) if rng.random() < special else rng.uniform(-2.0, 2.0) for _ in range(6)]


def call_force(address: int, t: float, q, v, par, out) -> None:
    words = [word for array in (q, v, par, out) for word in (array.ctypes.data, array.size)]
    result, failure = ctypes.c_int64(7), ctypes.c_void_p()
    assert prototype("FORCE")(address)(ctypes.byref(result), ctypes.byref(failure), t, *words) == 0
    assert result.value == 0


def test_the_fuzz_knows_every_operation_that_the_emitter_writes():
    seen = set()
    for seed in range(60):
        for expr in random_expressions(dice(seed), 80):
            seen.update(node.op for node in expr.graph._nodes.values())
    assert seen >= set(OPERATIONS)


@pytest.mark.parametrize("seed", range(counted(16, 6)))
def test_random_expressions_have_the_bits_of_the_interpreted_text(seed):
    rng = dice(1000 + seed)
    sizes = [rng.choice((4, 12, 40, 120)) for _ in range(20)]
    bodies = [emit([(f"out[{i}]", expr) for i, expr in enumerate(random_expressions(rng, size))]) for size in sizes]
    text = module_of(bodies)
    code, meant, plain = direct.compile_text(text), meaning_of(text), plain_functions(text)
    compared = 0
    for k in range(len(bodies)):
        for _ in range(15):
            t, *rest = state(rng)
            q, v, par = np.array(rest[:3]), np.array(rest[3:]), parameters(rng)
            found, expected = np.full(6, 7.0), np.full(6, 7.0)
            call_force(code[f"f{k}"], t, q, v, par, found)
            said = f"f{k} at t = {t}, q = {q.tolist()}, v = {v.tolist()}"
            with np.errstate(all="ignore"):
                meant[f"f{k}"](np.float64(t), q, v, par, expected)
            assert_same_bits(found, expected, said)
            try:  # as replays do: on Python's own floats
                plain[f"f{k}"](t, q.tolist(), v.tolist(), par.tolist(), expected)
            except (ArithmeticError, ValueError):
                continue
            compared += 1
            assert_same_bits(found, expected, f"interpreted {said}")
    assert compared > 10


@pytest.mark.parametrize("name", [*sorted(lower.LIBRARY | {"sqrt"}), "floor", "ceil", "trunc", "sign", "abs"])
def test_functions_of_one_operation_have_their_bits_at_special_values(name):
    graph = Graph()
    x, y = graph.variable("q[0]"), graph.variable("q[1]")
    expr = graph.node(name, (x, y) if name in TWO else (x,))
    text = module_of([emit([("out[0]", expr)])])
    code, meant = direct.compile_text(text), meaning_of(text)
    for a in SPECIAL:
        for b in SPECIAL if name in TWO else (1.0,):
            q, found, expected = np.array([a, b]), np.zeros(1), np.zeros(1)
            call_force(code["f0"], 0.0, q, q, q, found)
            with np.errstate(all="ignore"):
                meant["f0"](0.0, q, q, q, expected)
            assert_same_bits(found, expected, f"{name}({a}, {b})")


def test_a_constant_base_or_exponent_is_no_reason_for_another_function():
    """LLVM would make exp2 of pow(2, x) and a product of pow(x, 2): other roundings than Python's pow."""
    graph = Graph()
    x = graph.variable("q[0]")
    exprs = [graph.node("pow", (graph.number(2.0), x)), graph.node("pow", (x, graph.number(2.0))),
             graph.node("pow", (x, graph.number(0.5))), graph.node("pow", (graph.number(10.0), x))]  # fmt: skip
    code = direct.compile_text(module_of([emit([(f"out[{i}]", expr) for i, expr in enumerate(exprs)])]))
    rng, out = dice(3), np.zeros(4)
    for _ in range(2000):
        a = rng.uniform(0.0, 30.0)
        call_force(code["f0"], 0.0, np.array([a]), out, out, out)
        expected = np.array([math.pow(2.0, a), math.pow(a, 2.0), math.pow(a, 0.5), math.pow(10.0, a)])
        assert_same_bits(out, expected, f"x = {a}")


def test_hypot_is_within_one_unit_in_the_last_place():
    functions = plain_functions(module_of([]))
    rng = dice(5)
    for _ in range(2000):
        x = rng.uniform(0.5, 1.0) * 2.0 ** rng.choice((0, 1000, -900, rng.randint(-1000, 1000)))
        y = x * rng.uniform(-1.0, 1.0) * 2.0 ** rng.choice((0, -5, -27, -60))
        found, exact = functions["hypot"](y, x), math.hypot(x, y)  # Python's own is exact to half a unit
        assert abs(found - exact) <= math.ulp(exact)
    assert functions["hypot"](math.nan, -math.inf) == math.inf
    assert functions["hypot"](3.0 * 2.0**900, 4.0 * 2.0**900) == 5.0 * 2.0**900
    assert math.isnan(functions["hypot"](math.nan, 1.0))


# ---- models


def wavy(q):
    return abs(q[0]) + np.floor(3.0 * q[1]) + q[0] % 0.7 + np.sign(q[1]) + max(q[0], q[1] ** 2)


def knotted() -> sl.System:
    from scipy.interpolate import CubicSpline, interp1d

    spline = CubicSpline(np.linspace(-2.0, 2.0, 7), np.sin(np.linspace(-2.0, 2.0, 7)))
    line = interp1d([-1.0, 0.0, 2.0], [0.5, -0.25, 1.0], fill_value="extrapolate")
    return sl.System(M=[1.0, 2.0], f=lambda t, q, v: [spline(q[0]) - v[0], line(q[1]) + wavy(q) * np.hypot(v[0], t)])


EVENTS = (
    sl.Event(lambda q: q[0] - 0.3, reset=lambda t, q, v: (q, -v), name="turn"),
    sl.Event(lambda t, q, v: np.sin(3.0 * t) - v[1], name="look"),
    sl.Event(lambda q: q[1] + 2.0, reset=lambda t, q, v: (abs(q) % 1.5, np.where(v > 0.0, v, t * v)), name="jump"),
)
MODELS = {name: lambda name=name: (getattr(problems, name)(), ()) for name in problems.__all__}
MODELS["tables, kinks and events"] = lambda: (sl.Problem(knotted(), (0.0, 1.0), [0.1, 0.2], [0.3, -0.4]), EVENTS)


def compiled(name: str):
    problem, events = MODELS[name]()
    return compile_model(problem.system, problem.t_span[0], problem.q0, problem.v0, events), problem


def sizes_of(model) -> dict[str, int]:
    """Return room for whatever a unit writes."""
    nq, nv = len(model.start[1]), len(model.start[2])
    most = int(model.layout.max()) + model.layout.size + nq * nv + nv * nv + 64
    return {"q": nq, "v": nv, "W": most, "w": most, "out": most, "out_q": most, "out_v": most}


def arguments_of(unit: str, model, t: float, q: np.ndarray, v: np.ndarray, number: int) -> list:
    from saltus.build.model import SIGNATURES

    sizes, given = sizes_of(model), {"t": t, "number": number}
    made = []
    for name in SIGNATURES[unit].split(", "):
        if name in given:
            made.append(given[name])
        elif name in ("q", "v", "par"):
            made.append({"q": q, "v": v, "par": model.units.par}[name].copy())
        else:
            made.append(np.full(sizes[name], 7.0))
    return made


def assert_units_agree(model, one, other, rng: random.Random, said: str, special: bool) -> None:
    nq, nv = len(model.start[1]), len(model.start[2])
    for unit in UNITS:
        for k in counted(range(12), (0, 4, 8, 9)):
            near = rng.choice((1e-3, 1.0))
            q = model.start[1] + near * np.array([rng.gauss(0.0, 1.0) for _ in range(nq)])
            v = model.start[2] + near * np.array([rng.gauss(0.0, 1.0) for _ in range(nv)])
            t = model.start[0] + near * rng.random()
            if special and k > 6:
                for x in (q, v):
                    x[rng.randrange(len(x))] = rng.choice(SPECIAL)
            both = []
            for function in (getattr(one, unit), getattr(other, unit)):
                given = arguments_of(unit, model, t, q, v, number=k % 3)
                with np.errstate(all="ignore"):
                    function(*given)
                both.append([part for part in given if isinstance(part, np.ndarray)])
            for found, expected in zip(*both, strict=True):
                assert_same_bits(found, expected, f"{unit} of {said} at t = {t}, q = {q}, v = {v}")


class _Meant:
    """The units of a model as IEEE 754 and the C library mean their text."""

    def __init__(self, model):
        for name in UNITS:
            setattr(self, name, meaning_of(getattr(model.units, name).text)[name])


@pytest.mark.parametrize("name", MODELS)
def test_all_units_of_a_model_have_the_bits_of_the_interpreted_text(name):
    model, _ = compiled(name)
    assert all(isinstance(getattr(model.units, unit), NativeUnit) for unit in UNITS)
    assert_units_agree(model, model.units, _Meant(model), dice(7), name, special=True)
    plain = compile_model(model.system, *model.start, model.events).units
    interpreted = type(plain)(*(seam.interpreted(getattr(plain, unit)) for unit in UNITS), *plain[len(UNITS) :])
    t, q, v = model.start
    for unit in UNITS:
        both = []
        for units in (plain, interpreted):
            given = arguments_of(unit, model, t, q, v, number=0)
            getattr(units, unit)(*given)
            both.append([part for part in given if isinstance(part, np.ndarray)])
        for found, expected in zip(*both, strict=True):
            assert_same_bits(found, expected, f"{unit} of {name} at its start")


# ---- what the compiler promises


def test_the_kinds_of_units_are_those_that_kernels_expect():
    for name, expected in lower.UNIT_KINDS.items():
        signature = getattr(types, name).signature
        assert "".join(kind.name for kind in signature.arguments) == expected, name


def test_the_same_text_is_compiled_once_and_its_memory_is_released():
    bodies = [f"    out[0] = q[0] * {k}.5\n" for k in range(direct.KEPT + 2)]
    first = direct.compile_text(module_of(bodies[:1]))
    assert direct.compile_text(module_of(bodies[:1])) is first
    gone = weakref.ref(first)
    del first
    for body in bodies[1:]:
        direct.compile_text(module_of([body]))
    gc.collect()
    assert gone() is None, "code that nobody uses and that is not among the last ones is dropped"


def test_what_the_emitter_never_writes_is_refused_with_its_text():
    with pytest.raises(lower.NotLowered, match=r"`q\[0\] \*\* 2`"):
        direct.compile_text(module_of(["    out[0] = q[0] ** 2\n"]))
    with pytest.raises(lower.NotLowered, match="gamma"):
        direct.compile_text(module_of(["    out[0] = gamma(q[0])\n"]))
    with pytest.raises(lower.NotLowered, match="condition"):
        direct.compile_text(module_of(["    out[0] = 1.0 if q[0] else 2.0\n"]))


def test_a_missing_address_is_named():
    text = "from elsewhere import opaque as opaque0\n" + module_of(["    opaque0(t, q, v, par, out)\n"])
    with pytest.raises(ValueError, match="opaque0"):
        direct.compile_text(text)
