"""Functions of a model as straight-line code over sixteen runs: the text of one run, with vectors for numbers.

Every operation is the one of compile/lower.py, in the same order, on numbers side by side: a run in a lane has the bits
of a run alone. What the text decides by a branch, both sides are computed and one is selected. Functions of the C
library are called once per lane, unless sines are asked for that are vectors themselves (lanes_sine.py).
"""

from __future__ import annotations

import ast
import operator
import struct
from collections.abc import Callable, Sequence
from typing import Any

from saltus.compile.lower import CHOICES, COMPARISONS, INTRINSICS, LIBRARY, ROUNDED
from saltus.compile.parsing import parsed
from saltus.ensemble.lanes_sine import cosine, sine
from saltus.errors import SettingError

LANES = 16  # a power of two; more than a vector register holds, so that one half works while the other waits
REALS, TRUTHS = f"<{LANES} x double>", f"<{LANES} x i1>"
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
WHOLE_ARITHMETIC = {**ARITHMETIC, ast.FloorDiv: operator.floordiv}


class NoLanes(SettingError):
    """What a function, or a model, does cannot be done in lanes; the message says what, and what to do instead."""


class Lane:
    """A number of every lane, or a truth; arithmetic with it writes code."""

    __slots__ = ("code", "is_truth", "text")

    def __init__(self, code: Code, text: str, *, is_truth: bool = False):
        self.code, self.text, self.is_truth = code, text, is_truth

    def _with(self, instruction: str, other: Lane | float, *, swapped: bool = False) -> Lane:
        a, b = self.text, self.code.lane(other).text
        return self.code.new(f"{instruction} {REALS} {b}, {a}" if swapped else f"{instruction} {REALS} {a}, {b}")

    def __add__(self, other):
        return self._with("fadd", other)

    def __radd__(self, other):
        return self._with("fadd", other, swapped=True)

    def __sub__(self, other):
        return self._with("fsub", other)

    def __rsub__(self, other):
        return self._with("fsub", other, swapped=True)

    def __mul__(self, other):
        return self._with("fmul", other)

    def __rmul__(self, other):
        return self._with("fmul", other, swapped=True)

    def __truediv__(self, other):
        return self._with("fdiv", other)

    def __rtruediv__(self, other):
        return self._with("fdiv", other, swapped=True)

    def __neg__(self):
        return self.code.new(f"fneg {REALS} {self.text}")

    def compared(self, how: str, other: Lane | float) -> Lane:
        """Return the truth of a comparison, by its name in LLVM."""
        made = self.code.new(f"fcmp {how} {REALS} {self.text}, {self.code.lane(other).text}")
        return Lane(self.code, made.text, is_truth=True)

    def __lt__(self, other):
        return self.compared("olt", other)

    def __le__(self, other):
        return self.compared("ole", other)

    def __gt__(self, other):
        return self.compared("ogt", other)

    def __ge__(self, other):
        return self.compared("oge", other)

    def _joined(self, instruction: str, other: Lane) -> Lane:
        made = self.code.new(f"{instruction} {TRUTHS} {self.text}, {other.text}")
        return Lane(self.code, made.text, is_truth=True)

    def __and__(self, other):
        return self._joined("and", other)

    def __or__(self, other):
        return self._joined("or", other)

    def __invert__(self):
        ones = ", ".join(["i1 true"] * LANES)
        made = self.code.new(f"xor {TRUTHS} {self.text}, <{ones}>")
        return Lane(self.code, made.text, is_truth=True)


class Code:
    """Lines of one function, written from top to bottom, and what it calls."""

    def __init__(self, *, own_sine: bool):
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}  # symbol -> declaration
        self.library: set[str] = set()
        self.own_sine, self.count = own_sine, 0
        self.farthest: list[Lane] = []  # arguments of sines of our own

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}\n")

    def new(self, instruction: str) -> Lane:
        self.count += 1
        self.line(f"%x{self.count} = {instruction}")
        return Lane(self, f"%x{self.count}")

    def lane(self, value: Lane | float) -> Lane:
        """Return a number in all lanes."""
        if isinstance(value, Lane):
            return value
        bits = f"double 0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"
        return Lane(self, f"<{', '.join([bits] * LANES)}>")

    def spread(self, scalar: str) -> Lane:
        """Return a scalar of the function in all lanes."""
        first = self.new(f"insertelement {REALS} poison, double {scalar}, i32 0")
        return self.new(f"shufflevector {REALS} {first.text}, {REALS} poison, <{LANES} x i32> zeroinitializer")

    def select(self, condition: Lane, a: Lane | float, b: Lane | float) -> Lane:
        kind = TRUTHS if isinstance(a, Lane) and a.is_truth else REALS
        a, b = self.lane(a), self.lane(b)
        made = self.new(f"select {TRUTHS} {condition.text}, {kind} {a.text}, {kind} {b.text}")
        return Lane(self, made.text, is_truth=kind == TRUTHS)

    def read(self, vector: str, at: int) -> Lane:
        """Return entry `at` of a table in memory, whose lanes lie side by side."""
        place = self.new(f"getelementptr {REALS}, ptr {vector}, i64 {at}")
        return self.new(f"load {REALS}, ptr {place.text}, align 8")

    def write(self, value: Lane, vector: str, at: int) -> None:
        place = self.new(f"getelementptr {REALS}, ptr {vector}, i64 {at}")
        self.line(f"store {REALS} {value.text}, ptr {place.text}, align 8")

    def intrinsic(self, name: str, *numbers: Lane) -> Lane:
        symbol = f"{name.removesuffix('.f64')}.v{LANES}f64"
        self.declared[symbol] = f"declare {REALS} @{symbol}({', '.join([REALS] * len(numbers))})\n"
        return self.new(f"call {REALS} @{symbol}({', '.join(f'{REALS} {x.text}' for x in numbers)})")

    def fabs(self, x: Lane) -> Lane:
        return self.intrinsic("llvm.fabs.f64", x)

    def function(self, name: str, numbers: Sequence[Lane]) -> Lane:
        """Return a function of the C library: a call for every lane, or our own vector."""
        if self.own_sine and name in ("sin", "cos"):
            self.farthest.append(numbers[0])
            return (sine if name == "sin" else cosine)(self, numbers[0])
        symbol = f"libm.{name}"
        self.library.add(symbol)
        self.declared[symbol] = f"declare double @{symbol}({', '.join(['double'] * len(numbers))}) #0\n"
        made = "poison"
        for k in range(LANES):
            one = [self.new(f"extractelement {REALS} {number.text}, i32 {k}").text for number in numbers]
            value = self.new(f"call double @{symbol}({', '.join(f'double {x}' for x in one)}) #0")
            made = self.new(f"insertelement {REALS} {made}, double {value.text}, i32 {k}").text
        return Lane(self, made)


class Function:
    """One function of a generated text, run on lanes: its loops are unrolled."""

    def __init__(self, text: str, name: str):
        found = [node for node in parsed(text).body if isinstance(node, ast.FunctionDef) and node.name == name]
        self.node, self.names = found[0], {}

    def __call__(self, code: Code, *arguments: Any) -> None:
        """Write the code of a call: numbers are lanes, vectors lists of lanes, which may be written to."""
        self.code = code
        self.names = dict(zip((argument.arg for argument in self.node.args.args), arguments, strict=True))
        self.body(self.node.body)

    def body(self, statements: list[ast.stmt]) -> None:
        for node in statements:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.store(target, self.value(node.value))
            elif isinstance(node, ast.AugAssign):
                self.store(node.target, self.value(ast.BinOp(_read(node.target), node.op, node.value)))
            elif isinstance(node, ast.For) and isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call):
                for k in range(*(self.value(argument) for argument in node.iter.args)):
                    self.names[node.target.id] = k
                    self.body(node.body)
            elif not (isinstance(node, ast.Return) or (isinstance(node, ast.Expr) and _is_text(node.value))):
                raise _unknown(node)

    def store(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple):
            for part, one in zip(target.elts, value, strict=True):
                self.store(part, one)
        elif isinstance(target, ast.Subscript):
            self.value(target.value)[self.value(target.slice)] = self.code.lane(value)
        else:
            raise _unknown(target)

    def value(self, node: ast.expr) -> Any:
        known = self._VALUES.get(type(node))
        if known is None:
            raise _unknown(node)
        return known(self, node)

    def constant(self, node: ast.Constant) -> Any:
        return node.value

    def name(self, node: ast.Name) -> Any:
        if node.id in ("inf", "nan"):
            return float(node.id)
        if node.id not in self.names:
            raise _unknown(node)
        return self.names[node.id]

    def tuple(self, node: ast.Tuple) -> Any:
        return [self.value(part) for part in node.elts]

    def subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self.value(node.slice)]

    def binary(self, node: ast.BinOp) -> Any:
        a, b, how = self.value(node.left), self.value(node.right), type(node.op)
        if isinstance(a, int) and isinstance(b, int) and how in WHOLE_ARITHMETIC:
            return WHOLE_ARITHMETIC[how](a, b)
        if how not in ARITHMETIC:
            raise _unknown(node)
        return ARITHMETIC[how](self.code.lane(a), b)

    def unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return ~value
        return -value

    def compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            raise _unknown(node)
        a, b = self.value(node.left), self.value(node.comparators[0])
        return self.code.lane(a).compared(COMPARISONS[type(node.ops[0])][0], b)

    def conditional(self, node: ast.IfExp) -> Any:
        return self.code.select(self.value(node.test), self.value(node.body), self.value(node.orelse))

    def logical(self, node: ast.BoolOp) -> Any:
        made = self.value(node.values[0])
        for part in node.values[1:]:
            other = self.value(part)
            made = made & other if isinstance(node.op, ast.And) else made | other
        return made

    def call(self, node: ast.Call) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        arguments = [self.value(argument) for argument in node.args]
        if name == "vec":
            vector, begin, length = arguments
            return _Part(vector, begin, length)
        numbers = [self.code.lane(argument) for argument in arguments] if name not in ("int", "whole") else []
        if name in INTRINSICS:
            return self.code.intrinsic(INTRINSICS[name], *numbers)
        if name in ROUNDED:
            return self.code.intrinsic(ROUNDED[name], *numbers) + 0.0
        if name in CHOICES:
            a, b = numbers
            return self.code.select(b.compared(CHOICES[name], a), b, a)
        if name in LIBRARY:
            return self.code.function(name, numbers)
        raise _unknown(node)

    _VALUES: dict[type, Callable] = {  # noqa: RUF012
        ast.Constant: constant, ast.Name: name, ast.Tuple: tuple, ast.Subscript: subscript, ast.BinOp: binary,
        ast.UnaryOp: unary, ast.Compare: compare, ast.IfExp: conditional, ast.BoolOp: logical, ast.Call: call,
    }  # fmt: skip


class _Part:
    """Some consecutive entries of a vector."""

    def __init__(self, vector: Any, begin: int, length: int):
        self.vector, self.begin, self.length = vector, begin, length

    def __getitem__(self, k: int) -> Any:
        return self.vector[self.begin + k]

    def __setitem__(self, k: int, value: Any) -> None:
        self.vector[self.begin + k] = value


def _read(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _unknown(node: ast.AST) -> NoLanes:
    return NoLanes(f"a function of the model does `{ast.unparse(node)[:80]}`, which lanes cannot: use MoreauJean()")
