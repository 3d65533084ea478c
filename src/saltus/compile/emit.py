"""Expressions -> straight-line Python source that numba compiles and Python runs.

Shared subexpressions become temporaries x0, x1, ...; the others stand inline. The text depends on the
structure alone: floats are read from `par`, so that new values of parameters give the same text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from saltus.compile.expression import CONDITIONS, LEAVES, Expr, reachable

IMPORTS = """from math import (
    acos, acosh, asin, asinh, atan, atan2, atanh, ceil, copysign, cos, cosh, erf, erfc, exp, expm1, floor,
    hypot, inf, log, log10, log1p, log2, nan, pow, sin, sinh, sqrt, tan, tanh, trunc,
)
"""

PIECEWISE_SOURCE = '''def piecewise(x, par, cell, offset, n, order, derivative):
    """A piecewise polynomial: n + 1 knots, then for each interval order + 1 coefficients, highest first.

    cell: the interval to take, infinite for the one that holds x.
    """
    low = 0
    high = n - 1
    if cell < 1e300:
        low = high = int(cell)
    while low < high:
        middle = (low + high + 1) // 2
        if x >= par[offset + middle]:
            low = middle
        else:
            high = middle - 1
    s = x - par[offset + low]
    first = offset + n + 1 + low * (order + 1)
    value = 0.0
    for j in range(order + 1 - derivative):
        factor = 1.0
        for k in range(derivative):
            factor *= order - j - k
        value = value * s + factor * par[first + j]
    return value
'''

MAX_DEPTH = 20  # nesting of one line; Python's parser and numba recurse over it
MAX_SIZE = 100  # operations of one line
MAX_GUARDS = 8  # nested choices that guard one temporary

_INFIX = {"add": ("+", 2), "sub": ("-", 2), "mul": ("*", 3), "div": ("/", 3), "mod": ("%", 3), "lt": ("<", 1),
          "le": ("<=", 1), "eq": ("==", 1), "ne": ("!=", 1)}  # fmt: skip
_ATOM, _NEGATED = 5, 4
# raise in Python outside their domain, where compiled code gives NaN or inf
_RISKY = frozenset({"div", "mod", "pow", "sqrt", "log", "log10", "log2", "log1p", "asin", "acos", "acosh",
                    "atanh", "exp", "expm1", "sinh", "cosh", "floor", "ceil", "trunc", "held_floor", "held_mod"})  # fmt: skip


CELL_SOURCE = '''def cell(x, par, offset, n):
    """The interval of a table that holds x."""
    low = 0
    high = n - 1
    while low < high:
        middle = (low + high + 1) // 2
        if x >= par[offset + middle]:
            low = middle
        else:
            high = middle - 1
    return float(low)
'''

KNOT_SOURCE = '''def knot(cell, par, offset, n, end):
    """The knot below (end 0) or above (end 1) an interval of a table; it has none before its first and last knots."""
    if not cell < 1e300:
        return 0.0
    if (end == 0 and cell < 0.5) or (end == 1 and cell > n - 1.5):
        return -1e30 if end == 0 else 1e30
    return par[offset + int(cell) + end]
'''

HELPERS = {  # functions of tables that the text may call: source and signature
    "piecewise": (PIECEWISE_SOURCE, "F(F, A, F, I, I, I, I)"),
    "cell": (CELL_SOURCE, "F(F, A, I, I)"),
    "knot": (KNOT_SOURCE, "F(F, A, I, I, I)"),
}
IS_FREE = "> 1e300"  # of a mode (switches.py): the state itself chooses the branch


def emit(targets: Sequence[tuple[str, Expr]], indent: int = 4) -> str:
    """Lines that assign each target once, e.g. [("out[0]", expr)]; no target may also be a variable."""
    nodes = reachable(expr for _, expr in targets)
    uses = _count_uses(nodes, targets)
    scopes = scopes_of(targets)
    writer = _Writer(" " * indent, uses, scopes, _asked_conditions(nodes, uses, scopes))
    done: set[int] = set()
    for target, expr in targets:
        for node in _guards_first(expr, scopes, done) if scopes else reachable([expr], known=done):
            done.add(node.index)
            writer.visit(node)
        writer.lines.append(f"{writer.indent}{target} = {writer.text[expr.index]}")
    return "".join(f"{line}\n" for line in writer.lines)


def interpreted(exprs: Any, arguments: Sequence[str]) -> Callable[..., np.ndarray]:
    """An ordinary Python function (*arguments, par) -> array of the values of the expressions."""
    array = np.asarray(exprs, dtype=object)
    body = emit([(f"out[{i}]", expr) for i, expr in enumerate(array.flat)])
    namespace: dict[str, Any] = {}
    head = f"def run({', '.join([*arguments, 'par', 'out'])}):\n"
    exec(f"{IMPORTS}{''.join(source for source, _ in HELPERS.values())}{head}{body}    return out\n", namespace)  # noqa: S102, our own text
    return lambda *values: namespace["run"](*values, np.full(array.size, math.nan)).reshape(array.shape)


def _count_uses(nodes: list[Expr], targets: Sequence[tuple[str, Expr]]) -> dict[int, int]:
    uses = dict.fromkeys((node.index for node in nodes), 0)
    for node in nodes:
        for a in node.args:
            # the text of sign names its argument three times, so that one counts as shared
            uses[a.index] += 2 if node.op == "sign" else 1
    for _, expr in targets:
        uses[expr.index] += 1
    return uses


class _Scope:
    """Conditions under which a node is needed: the branches of all choices around its uses."""

    __slots__ = ("_inner", "depth", "guard", "parent")

    def __init__(self, parent: _Scope | None = None, guard: tuple[Expr, bool] | None = None):
        self.parent, self.guard = parent, guard
        self.depth = parent.depth + 1 if parent else 0
        self._inner: dict[tuple[int, bool], _Scope] = {}

    def branch(self, condition: Expr, value: bool) -> _Scope:
        if self.depth >= MAX_GUARDS:
            return self
        key = (condition.index, value)
        if key not in self._inner:
            self._inner[key] = _Scope(self, (condition, value))
        return self._inner[key]

    def guards(self) -> list[tuple[Expr, bool]]:
        """(condition, value it must have), the outermost first."""
        found, scope = [], self
        while scope.parent is not None:
            found.append(scope.guard)
            scope = scope.parent
        return found[::-1]


def scopes_of(targets: Sequence[tuple[str, Expr]]) -> dict[int, _Scope]:
    """For each node the innermost scope that holds all its uses; empty without choices."""
    nodes = reachable(expr for _, expr in targets)
    if not any(node.op == "where" for node in nodes):
        return {}
    root = _Scope()
    scopes = {expr.index: root for _, expr in targets}
    for node in reversed(nodes):
        scope = scopes[node.index]
        for k, a in enumerate(node.args):
            inner = scope.branch(node.args[0], k == 1) if node.op == "where" and k else scope
            scopes[a.index] = _common(scopes.get(a.index, inner), inner)
    return scopes


def _common(left: _Scope, right: _Scope) -> _Scope:
    """The innermost scope around both; all have the same root."""
    while left is not right:
        if left.depth >= right.depth and left.parent:
            left = left.parent
        elif right.parent:
            right = right.parent
    return left


def _asked_conditions(nodes: list[Expr], uses: dict[int, int], scopes: dict[int, _Scope]) -> set[int]:
    """Conditions that shared risky values ask for: these get names."""
    asked: set[int] = set()
    risky: set[int] = set()
    for node in nodes if scopes else ():
        if node.op in _RISKY or any(a.index in risky for a in node.args):
            risky.add(node.index)
            if uses[node.index] > 1 and node.op not in LEAVES:
                asked.update(condition.index for condition, _ in scopes[node.index].guards())
    return asked


def _guards_first(root: Expr, scopes: dict[int, _Scope], done: set[int]) -> list[Expr]:
    """Nodes below the root after their arguments and after the conditions that guard them.

    A condition never depends on what it guards: a value it used would be needed outside the branch.
    """
    order: list[Expr] = []
    entered: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node.index not in done and node.index not in entered:
            entered.add(node.index)
            stack.append((node, True))
            needed = (*(condition for condition, _ in scopes[node.index].guards()), *node.args)
            stack.extend((a, False) for a in reversed(needed))
    return order


class _Writer:
    """Builds the text of each node once its arguments have theirs."""

    def __init__(self, indent: str, uses: dict[int, int], scopes: dict[int, _Scope], asked: set[int]):
        self.indent, self.uses, self.scopes, self.asked = indent, uses, scopes, asked
        self.lines: list[str] = []
        self.text: dict[int, str] = {}
        self._strength: dict[int, int] = {}  # binding strength of the text's outermost operator
        self._depth: dict[int, int] = {}
        self._size: dict[int, int] = {}
        self._risky: dict[int, bool] = {}
        self._temporaries = 0

    def visit(self, node: Expr) -> None:
        index = node.index
        text, strength = self._text(node)
        depth = 1 + max((self._depth[a.index] for a in node.args), default=0)
        size = 1 + sum(self._size[a.index] for a in node.args)
        risky = node.op in _RISKY or any(self._risky[a.index] for a in node.args)
        is_shared = self.uses[index] > 1 or index in self.asked
        if node.op not in LEAVES and (is_shared or depth > MAX_DEPTH or size > MAX_SIZE):
            if risky and self.scopes:
                text = self._guarded(text, node)
            name = f"x{self._temporaries}"
            self._temporaries += 1
            self.lines.append(f"{self.indent}{name} = {text}")
            text, strength, depth, size, risky = name, _ATOM, 1, 1, False
        self.text[index], self._strength[index] = text, strength
        self._depth[index], self._size[index], self._risky[index] = depth, size, risky

    def _guarded(self, text: str, node: Expr) -> str:
        """Values of one branch are not computed in the other one, where they may not exist."""
        conditions = [
            self._operand(condition, _ATOM) if value else f"not {self._operand(condition, _ATOM)}"
            for condition, value in self.scopes[node.index].guards()
        ]
        other = "False" if node.op in CONDITIONS else "0.0"
        return f"({text}) if {' and '.join(conditions)} else {other}" if conditions else text

    def _operand(self, node: Expr, strength: int) -> str:
        text = self.text[node.index]
        return f"({text})" if self._strength[node.index] < strength else text

    def _text(self, node: Expr) -> tuple[str, int]:
        op, args = node.op, node.args
        if op == "var":
            return node.payload, _ATOM
        if op == "par":
            return f"par[{node.payload}]", _ATOM
        if op == "num":
            return repr(node.payload), _ATOM if node.payload >= 0.0 else _NEGATED - 1
        if op == "bool":
            return str(node.payload), _ATOM
        if op in _INFIX:
            sign, strength = _INFIX[op]
            left = self._operand(args[0], strength + (strength == 1))
            return f"{left} {sign} {self._operand(args[1], strength + 1)}", strength
        if op == "neg":
            return f"-{self._operand(args[0], _NEGATED)}", 2
        if op == "where":
            condition, a, b = (self.text[x.index] for x in args)
            return f"({a} if {condition} else {b})", _ATOM
        if op in ("and", "or"):
            return f"({self._operand(args[0], 1)} {op} {self._operand(args[1], 1)})", _ATOM
        if op == "not":
            return f"(not {self._operand(args[0], _ATOM)})", _ATOM
        if op == "sign":
            x = self.text[args[0].index]
            return f"(1.0 if {x} > 0.0 else (-1.0 if {x} < 0.0 else {x}))", _ATOM
        if op in ("floor", "ceil", "trunc"):
            return f"float({op}({self.text[args[0].index]}))", _ATOM
        if op == "piecewise":
            cell = self.text[args[1].index] if len(args) > 1 else "inf"
            return f"piecewise({self.text[args[0].index]}, par, {cell}, {', '.join(map(str, node.payload))})", _ATOM
        if op in ("knot", "cell"):
            return f"{op}({self.text[args[0].index]}, par, {', '.join(map(str, node.payload))})", _ATOM
        if op in ("held", "free", "held_floor", "held_mod"):
            return self._held_text(node), _ATOM
        return f"{op}({', '.join(self.text[x.index] for x in args)})", _ATOM

    def _held_text(self, node: Expr) -> str:
        """A branch that is chosen by a mode, or by the state where that is free."""
        op, args = node.op, node.args
        mode = self.text[args[-1].index]
        if op == "free":
            return f"({mode} {IS_FREE})"
        x = self.text[args[0].index]
        if op == "held_floor":
            return f"(float(floor({x})) if {mode} {IS_FREE} else {mode})"
        y = self._operand(args[1], 4)
        if op == "held_mod":
            return f"({self._operand(args[0], 4)} % {y} if {mode} {IS_FREE} else {self._operand(args[0], 4)} - {y} * {mode})"
        relation, way = node.payload
        sign, mirrored = {"lt": ("<", ">"), "le": ("<=", ">="), "eq": ("==", "=="), "ne": ("!=", "!=")}[relation]
        by_mode = f"{mode} {mirrored if way > 0 else sign} 0.0"
        return f"({self._operand(args[0], 2)} {sign} {self._operand(args[1], 2)} if {mode} {IS_FREE} else {by_mode})"
