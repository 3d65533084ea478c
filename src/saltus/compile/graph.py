"""The graph of one trace: makes hash-consed nodes, simplifies them, and hands out parameter slots."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from saltus.compile.expression import CONDITIONS, LEAVES, UNARY, Expr, Untraceable, reachable
from saltus.compile.paths import Paths
from saltus.errors import ModelError
from saltus.parameters import Parameter, Parameters

_WITH_DOMAIN = frozenset({"sqrt", "log", "log10", "log2", "log1p", "asin", "acos", "acosh", "atanh", "pow", "mod"})
_FUNCTIONS = frozenset(UNARY.values())
_CHOICES = frozenset({"where", "min", "max"})  # the builtins return one of their arguments as it is
MAX_EXPANDED_POWER = 64  # x**n with a larger |n| stays a call of pow


class Named(NamedTuple):
    """Where a parameter of the user stands among the constants, and its first value."""

    offset: int
    value: float | np.ndarray


class Graph:
    """Owner of the nodes of one trace and of its parameter slots `constants`.

    limit: number of nodes after which tracing is refused (an unrolled loop would otherwise fill the memory).
    """

    def __init__(self, *, limit: int = 1_000_000):
        self.constants: list[float] = []
        self.limit = limit
        self._nodes: dict[tuple, Expr] = {}
        self._slots: dict[int, tuple[Any, Expr]] = {}  # id of the float -> (the float, kept alive; its slot)
        self._variables: list[Expr] = []
        self.spline_tables: dict[int, tuple[Any, list[int]]] = {}  # id of a spline -> (it, kept alive; its tables)
        self.paths: Paths | None = None  # who answers when a function asks `if` of an expression
        self.named: dict[str, Named] = {}  # parameters of the user by name
        self.derivatives: dict[Any, dict[int, Expr]] = {}  # memo of differentiate and directional
        self.of_python: set[int] = set()  # indices of what the module math returns
        self._with_domain: set[int] = set()  # of what contains functions that have no value everywhere
        self.zero, self.one, self.minus_one = self.number(0.0), self.number(1.0), self.number(-1.0)

    # ---- leaves
    def node(self, op: str, args: tuple[Expr, ...] = (), payload: Any = None) -> Expr:
        key = (op, payload, *[a.index for a in args])
        found = self._nodes.get(key)
        if found is not None:
            return found
        index = len(self._nodes)
        if index >= self.limit:
            raise Untraceable(f"the function makes more than {self.limit} operations, loops unrolled")
        mask = 0
        for a in args:
            mask |= a.mask
        made = self._nodes[key] = Expr(self, op, args, payload, index, mask)
        if op in _WITH_DOMAIN or any(a.index in self._with_domain for a in args):
            self._with_domain.add(index)
        return made

    def _may_be_nan(self, node: Expr) -> bool:
        """Whether a number contains functions that have no value everywhere."""
        return node.index in self._with_domain

    def variable(self, name: str) -> Expr:
        """The variable whose source text is `name`, e.g. "t" or "q[3]"."""
        made = self.node("var", (), name)
        if not made.mask:
            made.mask = 1 << len(self._variables)
            self._variables.append(made)
        return made

    def number(self, value: float) -> Expr:
        return self.node("num", (), float(value))

    def parameter(self, index: int) -> Expr:
        """The value in slot `index` of constants."""
        return self.node("par", (), index)

    def slot(self, value: float) -> Expr:
        """Parameter slot of a float; the same float object keeps its slot."""
        found = self._slots.get(id(value))
        if found is None:
            found = self._slots[id(value)] = (value, self.parameter(self.table((value,))))
        elif self.paths is not None:
            self.paths.uses(found[1].payload)
        return found[1]

    # ---- parameters of the user: variables of a run, of which no value is ever looked at
    def declare(self, parameters: Parameters) -> None:
        """Give slots to all parameters of an object; those that have one must have the same first value."""
        for name, value in parameters.items():
            known = self.named.get(name)
            if known is None:
                offset, array = len(self.constants), np.asarray(value)
                self.constants.extend(array.ravel().tolist())
                self.named[name] = Named(offset, value)
            elif np.shape(known.value) != np.shape(value) or not np.array_equal(known.value, value):
                raise ModelError(
                    f"two Parameters have {name!r}, once {known.value!r} and once {value!r}: give them different names"
                )

    def named_value(self, parameters: Parameters, name: str) -> Any:
        """The variable of a parameter, an array of variables where it is one."""
        if name not in self.named:
            self.declare(parameters)
        offset, value = self.named[name]
        if isinstance(value, float):
            return self.parameter(offset)
        made = np.empty(value.size, dtype=object)
        made[:] = [self.parameter(offset + k) for k in range(value.size)]
        return made.reshape(value.shape)

    def is_named(self, place: int) -> bool:
        """Whether a slot belongs to a parameter of the user."""
        return any(offset <= place < offset + np.size(value) for offset, value in self.named.values())

    def spelled(self, place: int) -> str:
        """What stands in a slot, for messages: the name of a parameter, else its number."""
        for name, (offset, value) in self.named.items():
            if offset <= place < offset + np.size(value):
                return name if isinstance(value, float) else f"{name}[{place - offset}]"
        return f"{self.constants[place]:.6g}"

    def table(self, values: Iterable[float]) -> int:
        """Put values into consecutive parameter slots; returns the first one."""
        numbers = tuple(float(value) for value in values)

        def append() -> int:
            self.constants.extend(numbers)
            return len(self.constants) - len(numbers)

        return append() if self.paths is None else self.paths.place_of(numbers, append)

    def lift(self, value: Any) -> Expr | None:
        """The node of a number, None if it is not a number."""
        kind = type(value)
        if kind is Expr:
            return value
        if kind is float or kind is np.float64:
            return self.number(value) if value in (0.0, 1.0, -1.0) else self.slot(value)
        if isinstance(value, (bool, np.bool_)):
            return self.node("bool", (), bool(value))
        if isinstance(value, (int, np.integer)):
            return self.number(float(value))
        if isinstance(value, np.ndarray):
            return self.lift(value.item()) if value.size == 1 else None
        if isinstance(value, Real):
            return self.lift(float(value))
        if isinstance(value, (complex, np.complexfloating)):
            raise Untraceable("the function uses complex numbers")
        if kind is Parameter:
            return self.lift(value.of({value.name: self.named_value(value.parameters, value.name)}))
        return None

    def real(self, value: Any) -> Expr:
        """The node of a number, with a condition counted as 1 or 0."""
        made = self.lifted(value)
        return self.node("where", (made, self.one, self.zero)) if made.op in CONDITIONS else made

    def condition(self, value: Any) -> Expr:
        made = self.lift(value)
        if made is None:
            raise Untraceable(f"a {type(value).__name__} stands where a condition is expected")
        return made if made.op in CONDITIONS else self.not_equal(made, self.zero)

    def decide(self, value: Expr) -> bool:
        """The truth of an expression on the present path of the function that asks."""
        if self.paths is None:
            raise Untraceable(
                "the truth of an expression is asked outside of a traced function; "
                "use np.where, np.minimum, np.maximum, & and |"
            )
        return self.paths.decide(self.condition(value))

    # ---- truths as numbers: numpy joins those that it adds by `or`, Python counts them
    def plus(self, a, b) -> Expr:
        """a + b of two scalars, as Python or numpy would have it."""
        a, b = self.lifted(a), self.lifted(b)
        if a.op not in CONDITIONS or b.op not in CONDITIONS:
            return self.add(a, b)
        if self._is_of_numpy(a) or self._is_of_numpy(b):
            return self.logical_or(a, b)
        raise Untraceable("the function adds truths, which Python counts and numpy does not; write 1.0 * (...) each")

    def times(self, a, b) -> Expr:
        """a * b of two scalars; of two truths it is one again."""
        a, b = self.lifted(a), self.lifted(b)
        return self.logical_and(a, b) if a.op in CONDITIONS and b.op in CONDITIONS else self.multiply(a, b)

    def invert(self, a) -> Expr:
        """~a of a scalar: of a truth of Python it is -1 or -2, which are both true."""
        if self._is_of_numpy(a):
            return self.logical_not(a)
        raise Untraceable("the function writes ~ before a truth that may be one of Python, where it is always true")

    def either(self, a, b) -> Expr:
        """a + b of two entries of arrays."""
        a, b = self.lifted(a), self.lifted(b)
        return self.logical_or(a, b) if a.op in CONDITIONS and b.op in CONDITIONS else self.add(a, b)

    def lifted(self, value: Any) -> Expr:
        made = self.lift(value)
        if made is None:
            raise Untraceable(f"a {type(value).__name__} stands where a number is expected")
        return made

    def _is_of_numpy(self, node: Expr) -> bool:
        """Whether a scalar is one of numpy for sure: made of entries of arrays, not by the module math."""
        sure: dict[int, bool] = {}
        for one in reachable([node]):
            inside = [sure[a.index] for a in one.args]
            if one.index in self.of_python:
                found = False
            elif one.op == "var":
                found = one.payload != "t"
            elif one.op in _CHOICES:
                found = all(inside[-2:])
            else:
                found = one.op in _FUNCTIONS or any(inside)
            sure[one.index] = found
        return sure[node.index]

    # ---- arithmetic
    def add(self, a, b) -> Expr:
        a, b = self.real(a), self.real(b)
        if a is self.zero:
            return b
        if b is self.zero:
            return a
        if a.op == "num" and b.op == "num":
            return self.number(a.payload + b.payload)
        if b.op == "neg":
            return self.subtract(a, b.args[0])
        if a.op == "neg":
            return self.subtract(b, a.args[0])
        if a is b:
            return self.multiply(self.number(2.0), a)
        return self.node("add", (a, b) if a.index < b.index else (b, a))

    def subtract(self, a, b) -> Expr:
        a, b = self.real(a), self.real(b)
        if b is self.zero:
            return a
        if a is self.zero:
            return self.negative(b)
        if a is b:
            return self.zero
        if a.op == "num" and b.op == "num":
            return self.number(a.payload - b.payload)
        if b.op == "neg":
            return self.add(a, b.args[0])
        if a.op == "neg":
            return self.negative(self.add(a.args[0], b))
        return self.node("sub", (a, b))

    def multiply(self, a, b) -> Expr:
        a, b = self.real(a), self.real(b)
        if a is self.zero or b is self.zero:
            return self.zero
        if a is self.one:
            return b
        if b is self.one:
            return a
        if a is self.minus_one:
            return self.negative(b)
        if b is self.minus_one:
            return self.negative(a)
        if a.op == "num" and b.op == "num":
            return self.number(a.payload * b.payload)
        if a.op == "neg":
            return self.negative(self.multiply(a.args[0], b))
        if b.op == "neg":
            return self.negative(self.multiply(a, b.args[0]))
        if b.op == "num":
            return self.node("mul", (b, a))
        return self.node("mul", (a, b) if a.op == "num" or a.index < b.index else (b, a))

    def divide(self, a, b) -> Expr:
        a, b = self.real(a), self.real(b)
        if b is self.one:
            return a
        if b is self.minus_one:
            return self.negative(a)
        if a is self.zero and b is not self.zero:
            return self.zero
        if a.op == "num" and b.op == "num" and b.payload:
            return self.number(a.payload / b.payload)
        if a.op == "neg":
            return self.negative(self.divide(a.args[0], b))
        if b.op == "neg":
            return self.negative(self.divide(a, b.args[0]))
        return self.node("div", (a, b))

    def negative(self, a) -> Expr:
        a = self.real(a)
        if a.op == "neg":
            return a.args[0]
        if a.op == "num":
            return self.number(0.0 - a.payload)
        if a.op == "sub":
            return self.subtract(a.args[1], a.args[0])
        return self.node("neg", (a,))

    def power(self, a, b) -> Expr:
        """a**b; whole exponents and 1/2 are literal, any other float exponent is a parameter."""
        a = self.real(a)
        if isinstance(b, np.ndarray) and b.size == 1:
            b = b.item()
        exponent = b.payload if type(b) is Expr and b.op == "num" else b
        if isinstance(exponent, (Real, np.bool_)):
            exponent = float(exponent)
            if exponent == 0.5:
                return self.unary("sqrt", a)
            if exponent.is_integer() and abs(exponent) <= MAX_EXPANDED_POWER:
                return self._integer_power(a, int(exponent))
            if exponent.is_integer():
                b = self.number(exponent)
        return self.node("pow", (a, self.real(b)))

    def _integer_power(self, a: Expr, n: int) -> Expr:
        if n < 0:
            return self.divide(self.one, self._integer_power(a, -n))
        result, square = self.one, a
        while n:
            if n & 1:
                result = self.multiply(result, square)
            n >>= 1
            if n:
                square = self.multiply(square, square)
        return result

    def square(self, a) -> Expr:
        return self.multiply(a, a)

    def reciprocal(self, a) -> Expr:
        return self.divide(self.one, a)

    def positive(self, a) -> Expr:
        return self.real(a)

    conjugate = positive

    def remainder(self, a, b) -> Expr:
        return self.node("mod", (self.real(a), self.real(b)))

    def floor_divide(self, a, b) -> Expr:
        return self.unary("floor", self.divide(a, b))

    def binary(self, op: str, a, b) -> Expr:
        return self.node(op, (self.real(a), self.real(b)))

    def arctan2(self, a, b) -> Expr:
        return self.binary("atan2", a, b)

    def hypot(self, a, b) -> Expr:
        return self.binary("hypot", a, b)

    def fmod(self, a, b) -> Expr:
        """Remainder with the sign of a; numba has no math.fmod."""
        return self.copysign(self.remainder(self.absolute(a), self.absolute(b)), a)

    def copysign(self, a, b) -> Expr:
        return self.binary("copysign", a, b)

    # ---- functions of one argument
    def unary(self, op: str, a) -> Expr:
        a = self.real(a)
        if a.op == "num" and hasattr(math, op):
            try:
                return self.number(getattr(math, op)(a.payload))
            except (ValueError, OverflowError):
                pass  # outside the domain: left to the run, where it becomes NaN or inf
        return self.node(op, (a,))

    def absolute(self, a) -> Expr:
        a = self.real(a)
        if a.op == "num":
            return self.number(abs(a.payload))
        if a.op == "neg":
            a = a.args[0]
        return a if a.op == "abs" else self.node("abs", (a,))

    fabs = absolute

    def sign(self, a) -> Expr:
        a = self.real(a)
        if a.op == "num":
            return self.number(np.sign(a.payload))
        return self.negative(self.node("sign", a.args)) if a.op == "neg" else self.node("sign", (a,))

    def heaviside(self, a, at_zero) -> Expr:
        above = self.where(self.equal(a, a), 1.0, a)  # of a NaN it is one
        return self.where(self.less(a, 0.0), 0.0, self.where(self.equal(a, 0.0), at_zero, above))

    def cbrt(self, a) -> Expr:
        return self.copysign(self.node("pow", (self.absolute(a), self.number(1 / 3))), a)

    def exp2(self, a) -> Expr:
        return self.node("pow", (self.number(2.0), self.real(a)))

    def radians(self, a) -> Expr:
        return self.multiply(self.number(math.pi / 180), a)

    def degrees(self, a) -> Expr:
        return self.multiply(self.number(180 / math.pi), a)

    deg2rad, rad2deg = radians, degrees

    # ---- choices: of a NaN and a number numpy's choose the NaN, fmin and fmax the number, min and max the first one
    def least(self, a, b) -> Expr:
        return self._choice("min", min, self.real(a), self.real(b))

    def largest(self, a, b) -> Expr:
        return self._choice("max", max, self.real(a), self.real(b))

    def minimum(self, a, b) -> Expr:
        return self._or_nan(self.least, self.real(a), self.real(b))

    def maximum(self, a, b) -> Expr:
        return self._or_nan(self.largest, self.real(a), self.real(b))

    def fmin(self, a, b) -> Expr:
        return self._or_number(self.least, self.real(a), self.real(b))

    def fmax(self, a, b) -> Expr:
        return self._or_number(self.largest, self.real(a), self.real(b))

    def _or_nan(self, choose, a: Expr, b: Expr) -> Expr:
        if not self._may_be_nan(b):
            return choose(a, b)
        return choose(b, a) if not self._may_be_nan(a) else self.where(self.equal(b, b), choose(a, b), b)

    def _or_number(self, choose, a: Expr, b: Expr) -> Expr:
        if not self._may_be_nan(a):
            return choose(a, b)
        return choose(b, a) if not self._may_be_nan(b) else self.where(self.equal(a, a), choose(a, b), b)

    def _choice(self, op: str, choose, a: Expr, b: Expr) -> Expr:
        if a is b:
            return a
        if a.op == "num" and b.op == "num":
            return self.number(choose(a.payload, b.payload))
        return self.node(op, (a, b))

    def clip(self, a, low=None, high=None) -> Expr:
        a = a if low is None else self.maximum(a, low)
        return a if high is None else self.minimum(a, high)

    def _compare(self, op: str, holds, a, b) -> Expr:
        a, b = self.real(a), self.real(b)
        if a.op == "num" and b.op == "num":
            return self.node("bool", (), holds(a.payload, b.payload))
        if a is b and (op == "lt" or not self._may_be_nan(a)):  # x != x asks whether x is a NaN
            return self.node("bool", (), op in ("le", "eq"))
        return self.node(op, (a, b))

    def less(self, a, b) -> Expr:
        return self._compare("lt", lambda x, y: x < y, a, b)

    def less_equal(self, a, b) -> Expr:
        return self._compare("le", lambda x, y: x <= y, a, b)

    def greater(self, a, b) -> Expr:
        return self.less(b, a)

    def greater_equal(self, a, b) -> Expr:
        return self.less_equal(b, a)

    def equal(self, a, b) -> Expr:
        return self._compare("eq", lambda x, y: x == y, a, b)

    def not_equal(self, a, b) -> Expr:
        return self._compare("ne", lambda x, y: x != y, a, b)

    def logical_and(self, a, b) -> Expr:
        a, b = self.condition(a), self.condition(b)
        if a.op == "bool":
            return b if a.payload else a
        if b.op == "bool":
            return a if b.payload else b
        return a if a is b else self.node("and", (a, b))

    def logical_or(self, a, b) -> Expr:
        return self.logical_not(self.logical_and(self.logical_not(a), self.logical_not(b)))

    def logical_not(self, a) -> Expr:
        a = self.condition(a)
        if a.op == "bool":
            return self.node("bool", (), not a.payload)
        if a.op == "not":
            return a.args[0]
        if a.op == "and" and all(x.op == "not" for x in a.args):
            return self.node("or", tuple(x.args[0] for x in a.args))
        return self.node("not", (a,))

    def where(self, condition, a, b) -> Expr:
        condition, a, b = self.condition(condition), self.real(a), self.real(b)
        if condition.op == "bool":
            return a if condition.payload else b
        if condition.op == "not":
            return self.where(condition.args[0], b, a)
        if a.op == "where" and a.args[0] is condition:
            a = a.args[1]
        if b.op == "where" and b.args[0] is condition:
            b = b.args[2]
        return a if a is b else self.node("where", (condition, a, b))

    def piecewise(self, a, offset: int, n: int, order: int, derivative: int = 0, cell: Expr | None = None) -> Expr:
        """Polynomial of `order` on each of n intervals; its knots and coefficients stand at `offset`.

        cell: the number of the interval, where it is held (switches.py).
        """
        if derivative > order:
            return self.zero
        args = (self.real(a),) if cell is None else (self.real(a), cell)
        return self.node("piecewise", args, (offset, n, order, derivative))

    def __getattr__(self, name: str) -> Callable[[Any], Expr]:
        """graph.sin(x), graph.arctan(x), ...: the functions of UNARY under their numpy names."""
        if name in UNARY:
            return lambda a: self.unary(UNARY[name], a)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def array_ufunc(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        raise Untraceable(f"numpy.{ufunc.__name__} needs a Trace")

    def array_function(self, function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        raise Untraceable(f"{function.__name__} needs a Trace")


def rebuild(node: Expr, args: Sequence[Expr]) -> Expr:
    """The same operation on other arguments, simplified again."""
    graph, op = node.graph, node.op
    if op in LEAVES:
        return node
    if op == "piecewise":
        return graph.piecewise(args[0], *node.payload, *args[1:])
    if node.payload is not None:
        return graph.node(op, tuple(args), node.payload)
    if op in _BUILDERS:
        return getattr(graph, _BUILDERS[op])(*args)
    return graph.unary(op, *args) if len(args) == 1 else graph.node(op, tuple(args))


_BUILDERS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "neg": "negative", "pow": "power",
    "abs": "absolute", "sign": "sign", "min": "least", "max": "largest", "where": "where", "lt": "less",
    "le": "less_equal", "eq": "equal", "ne": "not_equal", "and": "logical_and", "or": "logical_or",
    "not": "logical_not",
}  # fmt: skip
