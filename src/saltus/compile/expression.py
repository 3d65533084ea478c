"""One scalar of a traced function: the node of an expression, with the operators Python and numpy use on it.

Arguments of a node always have a smaller index than the node itself, so sorting by index is a topological
order; every traversal is a loop, never a recursion.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from saltus.compile.graph import Graph

# numpy name -> name of the operation, which is the math function of the emitted source
UNARY = {
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh",
    "exp": "exp", "expm1": "expm1", "log": "log", "log10": "log10", "log2": "log2", "log1p": "log1p",
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "erf": "erf", "erfc": "erfc",
}  # fmt: skip
CONDITIONS = frozenset({"bool", "lt", "le", "eq", "ne", "and", "or", "not", "held", "free"})
LEAVES = frozenset({"var", "par", "num", "bool"})
MOST_OPERATIONS = 20_000  # straight-line code beyond this compiles for minutes: compile the source with its loops
METHODS = frozenset(UNARY) | {"square", "cbrt", "exp2", "radians", "degrees", "deg2rad", "rad2deg", "fabs",
                              "conjugate", "arctan2", "hypot", "fmod"}  # fmt: skip


class Untraceable(BaseException):
    """The function cannot be recorded with tracer values; the message says why and what to do.

    Not an Exception: nothing that a function calls may catch it and go on with half a record.
    """


class Unrepeatable(Untraceable):
    """The function reads a clock or random numbers, so that it does not depend on its arguments alone."""


class Expr:
    """One scalar node. `mask` has one bit per variable the value depends on."""

    __slots__ = ("args", "graph", "index", "mask", "op", "payload")

    def __init__(self, graph: Graph, op: str, args: tuple[Expr, ...], payload: Any, index: int, mask: int):
        self.graph, self.op, self.args = graph, op, args
        self.payload, self.index, self.mask = payload, index, mask

    def __repr__(self) -> str:
        if self.graph.paths is not None:
            raise Untraceable("the function makes text of the state: print, str, repr or an f-string")
        return f"<traced {self.op}>" if self.payload is None else f"<traced {self.op} {self.payload}>"

    def __format__(self, form: str) -> str:
        return repr(self)

    def __hash__(self) -> int:
        if self.graph.paths is not None:
            raise Untraceable("the function uses the state as a key: a dictionary, a set or hash()")
        return object.__hash__(self)

    def __bool__(self) -> bool:
        return self.graph.decide(self)

    def __float__(self) -> float:
        raise Untraceable(
            "the function turns the state into a float, which needs a number at trace time: float(), "
            "a foreign library, or storing into a float array made outside"
        )

    def __complex__(self) -> complex:
        raise Untraceable("the function uses complex numbers of the state")

    def __int__(self) -> int:
        raise Untraceable("the function turns the state into an integer; use np.floor or np.trunc")

    __index__ = __round__ = __int__

    def __iter__(self):
        raise Untraceable("the function iterates over a scalar of the state")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return self.graph.array_ufunc(ufunc, method, *inputs, **options)

    def __array_function__(self, function, types, args, options):
        return self.graph.array_function(function, args, options)

    # ---- arithmetic: a partner that is no number (an array) is left to answer itself
    def __neg__(self) -> Expr:
        return self.graph.negative(self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return self.graph.absolute(self)

    def __add__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.plus(self, other)

    def __radd__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.plus(other, self)

    def __sub__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.subtract(self, other)

    def __rsub__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.subtract(other, self)

    def __mul__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.times(self, other)

    def __rmul__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.times(other, self)

    def __truediv__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.divide(self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.divide(other, self)

    def __mod__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.remainder(self, other)

    def __rmod__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.remainder(other, self)

    def __floordiv__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.floor_divide(other, self)

    def __divmod__(self, other: Any) -> tuple[Expr, Expr]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Expr, Expr]:
        return other // self, other % self

    def __pow__(self, other: Any) -> Expr:  # unlifted: whole exponents and 1/2 stay literal
        return NotImplemented if isinstance(other, np.ndarray) else self.graph.power(self, other)

    def __rpow__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.power(other, self)

    # ---- conditions
    def __invert__(self) -> Expr:
        return self.graph.invert(self)

    def __and__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.logical_and(self, other)

    def __rand__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.logical_and(other, self)

    def __or__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.logical_or(self, other)

    def __ror__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.logical_or(other, self)

    def __lt__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.less(self, other)

    def __le__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.less_equal(self, other)

    def __gt__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.greater(self, other)

    def __ge__(self, other: Any) -> Expr:
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.greater_equal(self, other)

    def __eq__(self, other: Any) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.equal(self, other)

    def __ne__(self, other: Any) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        other = self.graph.lift(other)
        return NotImplemented if other is None else self.graph.not_equal(self, other)

    def __getattr__(self, name: str) -> Any:
        """The loops of numpy over object arrays call the method named like the function: x.sin()."""
        if name in METHODS:
            return functools.partial(getattr(self.graph, name), self)
        raise AttributeError(f"a traced number has no attribute {name!r}")


def reachable(roots: Iterable[Expr], mask: int = -1, known: Container[int] = ()) -> list[Expr]:
    """All nodes below the roots in topological order; below a node without a variable of `mask` nothing is
    visited, nor below one whose index is in `known`."""
    seen: dict[int, Expr] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.index in seen or node.index in known or (mask != -1 and not node.mask & mask):
            continue
        seen[node.index] = node
        stack.extend(node.args)
    return [seen[index] for index in sorted(seen)]


def operation_count(exprs: Iterable[Expr] | np.ndarray) -> int:
    """Number of distinct operations below the expressions, shared ones counted once."""
    roots = exprs.flat if isinstance(exprs, np.ndarray) else exprs
    return sum(node.op not in LEAVES for node in reachable(roots))


def has_tracer(value: Any) -> bool:
    kind = type(value)
    if kind is Expr:
        return True
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(has_tracer(item) for item in value.flat)
    if isinstance(value, (list, tuple)):
        return any(has_tracer(item) for item in value)
    if isinstance(value, dict):
        return any(has_tracer(item) for item in value.values())
    return False


def graph_of(*values: Any) -> Graph | None:
    for value in values:
        if type(value) is Expr:
            return value.graph
    return None
