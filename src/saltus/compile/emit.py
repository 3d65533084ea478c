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
    inf, log, log10, log1p, log2, nan, pow, sin, sinh, sqrt, tan, tanh, trunc,
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
MAX_GUARDS = 64  # nested choices that guard one temporary
MAX_LEVELS = 8  # of `and` and `or` inside of each other that are taken apart
MAX_ALTERNATIVES = 32  # ways to need one temporary that are told apart

_INFIX = {"add": ("+", 2), "sub": ("-", 2), "mul": ("*", 3), "div": ("/", 3), "mod": ("%", 3), "lt": ("<", 1),
          "le": ("<=", 1), "eq": ("==", 1), "ne": ("!=", 1)}  # fmt: skip
_ATOM, _NEGATED = 5, 4
# raise in Python outside their domain, where compiled code gives NaN or inf
_RISKY = frozenset({"div", "mod", "pow", "sqrt", "log", "log10", "log2", "log1p", "asin", "acos", "acosh",
                    "atanh", "exp", "expm1", "sinh", "cosh", "floor", "ceil", "trunc", "held_floor",
                    "held_mod"})  # fmt: skip


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

HYPOT_SOURCE = '''def hypot(x, y):
    """sqrt(x^2 + y^2), corrected to about half a unit in the last place (Borges, ACM TOMS 1014, 2020, without fma).

    math.hypot and the C library round differently from each other, and from one version to the next.
    """
    a = abs(x)
    b = abs(y)
    if b > a:
        a = abs(y)
        b = abs(x)
    if a == inf or b == inf:
        return inf
    if b <= a * 5.551115123125783e-17:
        return a + b
    scale = 1.0
    if a > 3.351951982485649e153:
        scale = 4.149515568880993e180
    elif b < 1e-140:
        scale = 2.409919865102884e-181
    a = a / scale
    b = b / scale
    h = sqrt(a * a + b * b)
    if h <= 2.0 * b:
        d = h - b
        error = a * (2.0 * d - a) + (d - 2.0 * (a - b)) * d
    else:
        d = h - a
        error = 2.0 * d * (a - 2.0 * b) + (4.0 * d - b) * b + d * d
    return (h - error / (2.0 * h)) * scale
'''

HELPERS = {  # functions that the text may call: source and signature
    "hypot": (HYPOT_SOURCE, "F(F, F)"),
    "piecewise": (PIECEWISE_SOURCE, "F(F, A, F, I, I, I, I)"),
    "cell": (CELL_SOURCE, "F(F, A, I, I)"),
    "knot": (KNOT_SOURCE, "F(F, A, I, I, I)"),
}
IS_FREE = "> 1e300"  # of a mode (switches.py): the state itself chooses the branch


def emit(targets: Sequence[tuple[str, Expr]], indent: int = 4) -> str:
    """Lines that assign each target once, e.g. [("out[0]", expr)]; no target may also be a variable."""
    nodes = reachable(expr for _, expr in targets)
    uses = _count_uses(nodes, targets)
    # without choices everything is computed, and nothing is guarded
    scopes = _Scopes(nodes, targets) if any(node.op in _SECOND_IF for node in nodes) else None
    risky = _risky_nodes(nodes) if scopes else set()
    if scopes is None:
        orders, done = [], set()
        for _, expr in targets:
            orders.append(reachable([expr], known=done))
            done.update(node.index for node in orders[-1])
    else:
        orders = _ordered(targets, scopes, risky)
    writer = _Writer(" " * indent, uses, scopes, risky, nodes)
    for (target, expr), order in zip(targets, orders, strict=True):
        for node in order:
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
    """One way to need a value: the branches of all choices around a use of it."""

    __slots__ = ("_inner", "depth", "guard", "parent", "place")

    def __init__(self, parent: _Scope | None = None, guard: tuple[Expr, bool] | None = None):
        self.parent, self.guard = parent, guard
        self.depth = parent.depth + 1 if parent else 0
        # by which scopes are ordered: number and value of every condition, the outermost first
        self.place: tuple[tuple[int, bool], ...] = (*parent.place, (guard[0].index, guard[1])) if parent else ()
        self._inner: dict[tuple[int, bool], _Scope] = {}

    def branch(self, condition: Expr, value: bool) -> _Scope:
        key = (condition.index, value)
        found = self._inner.get(key)
        if found is None:
            is_known = self.depth >= MAX_GUARDS or any(a is condition and b is value for a, b in self.guards())
            found = self._inner[key] = self if is_known else _Scope(self, (condition, value))
        return found

    def guards(self) -> list[tuple[Expr, bool]]:
        """(condition, value it must have), the outermost first."""
        found, scope = [], self
        while scope.parent is not None:
            found.append(scope.guard)
            scope = scope.parent
        return found[::-1]


class _Scopes:
    """For each node the scopes of all its uses, as a set in which none lies inside of another."""

    def __init__(self, nodes: list[Expr], targets: Sequence[tuple[str, Expr]]):
        self._unions: dict[tuple[frozenset, frozenset], frozenset] = {}
        self._branches: dict[tuple[frozenset, int, bool], frozenset] = {}
        self._always = frozenset({_Scope()})
        self.of = {expr.index: self._always for _, expr in targets}
        for node in reversed(nodes):
            around = self.of[node.index]
            for k, a in enumerate(node.args):
                inner = around
                if k and node.op in _SECOND_IF:  # `and` and `or` ask for their second argument only if they must
                    inner = self._branch(around, node.args[0], _SECOND_IF[node.op] if k == 1 else False)
                known = self.of.get(a.index)
                self.of[a.index] = inner if known is None or known is inner else self._union(known, inner)

    def _branch(self, around: frozenset, condition: Expr, value: bool, levels: int = MAX_LEVELS) -> frozenset:
        """The scopes where the condition has a value; compound ones are taken apart, so that equal scopes meet."""
        key = (around, condition.index, value)
        found = self._branches.get(key)
        if found is None:
            if condition.op == "not":
                found = self._branch(around, condition.args[0], not value, levels)
            elif condition.op in ("and", "or") and levels:
                first, second = condition.args
                decides = condition.op == "or"  # the value of the first argument that leaves the second one unasked
                asked = self._branch(around, first, not decides, levels - 1)
                found = self._branch(asked, second, value, levels - 1)
                if value is decides:
                    found = self._union(self._branch(around, first, decides, levels - 1), found)
            else:
                found = _outermost({scope.branch(condition, value) for scope in around})
            self._branches[key] = found
        return found

    def _union(self, left: frozenset, right: frozenset) -> frozenset:
        if (left, right) not in self._unions:
            self._unions[left, right] = _outermost(left | right)
        return self._unions[left, right]

    def widen(self, indices: list[int]) -> None:
        """Guard these nodes by what is around all their uses, or not at all if it was so before."""
        several = [index for index in indices if len(self.of[index]) > 1]
        for index in several or indices:
            self.of[index] = frozenset({_around(self.of[index])}) if several else self._always

    def conditions(self, node: Expr) -> list[Expr]:
        """Conditions that say whether a node is needed, the outermost first."""
        ordered = sorted(self.of[node.index], key=lambda scope: scope.place)
        return [condition for scope in ordered for condition, _ in scope.guards()]


_SECOND_IF = {"where": True, "and": True, "or": False}  # value of the first argument that needs the second one


def scopes_of(targets: Sequence[tuple[str, Expr]]) -> dict[int, frozenset]:
    """For each node the ways to need it; empty without choices."""
    nodes = reachable(expr for _, expr in targets)
    return _Scopes(nodes, targets).of if any(node.op in _SECOND_IF for node in nodes) else {}


def _outermost(scopes: set[_Scope] | frozenset[_Scope]) -> frozenset[_Scope]:
    """Without scopes inside of others; both branches of a choice are what is around it."""
    found = set(scopes)
    while True:
        inside = {scope for scope in found if _has_ancestor(scope, found)}
        found -= inside
        joined = {s.parent for s in found if s.parent and s.parent.branch(s.guard[0], not s.guard[1]) in found}
        if not joined:
            break
        found |= joined
    while len(found) > MAX_ALTERNATIVES:
        deepest = max(found, key=lambda scope: (scope.depth, scope.place))
        found = {scope for scope in found if scope is not deepest} | {deepest.parent}
        found -= {scope for scope in found if _has_ancestor(scope, found)}
    return frozenset(found)


def _around(scopes: frozenset[_Scope]) -> _Scope:
    """The innermost scope around all of them."""
    found = min(scopes, key=lambda scope: scope.depth)
    while not all(scope is found or _has_ancestor(scope, {found}) for scope in scopes):
        found = found.parent
    return found


def _has_ancestor(scope: _Scope, found: set[_Scope]) -> bool:
    while scope.parent is not None:
        scope = scope.parent
        if scope in found:
            return True
    return False


def _risky_nodes(nodes: list[Expr]) -> set[int]:
    """Nodes that may not be computed everywhere, or that contain such a node."""
    risky: set[int] = set()
    for node in nodes:
        if node.op in _RISKY or any(a.index in risky for a in node.args):
            risky.add(node.index)
    return risky


def _ordered(targets: Sequence[tuple[str, Expr]], scopes: _Scopes, risky: set[int]) -> list[list[Expr]]:
    """For each target the nodes that are new below it, after their arguments and the conditions that guard them.

    One branch may need a value for a condition that guards the same value in another branch. No order of lines does
    justice to both: such values are guarded by less, until there is an order.
    """
    while True:
        done: set[int] = set()
        orders = []
        for _, expr in targets:
            order = _guards_first(expr, scopes, risky, done)
            if order is None:
                break
            done.update(node.index for node in order)
            orders.append(order)
        else:
            return orders


def _guards_first(root: Expr, scopes: _Scopes, risky: set[int], done: set[int]) -> list[Expr] | None:
    """The nodes below one target; None if some wait for each other, whose scopes are wider from now on."""
    order: list[Expr] = []
    finished: set[int] = set()
    under_way: dict[int, None] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
            finished.add(node.index)
            del under_way[node.index]
        elif node.index in under_way:
            chain = list(under_way)
            scopes.widen(chain[chain.index(node.index) :])
            return None
        elif node.index not in done and node.index not in finished:
            under_way[node.index] = None
            stack.append((node, True))
            needed = (*(scopes.conditions(node) if node.index in risky else ()), *node.args)
            stack.extend((a, False) for a in reversed(needed))
    return order


class _Writer:
    """Builds the text of each node once its arguments have theirs."""

    def __init__(self, indent: str, uses: dict[int, int], scopes: _Scopes | None, risky: set[int], nodes: list[Expr]):
        self.indent, self.uses, self.scopes = indent, uses, scopes
        self.asked: set[int] = set()  # conditions that shared risky values ask for: these get names
        for node in nodes if scopes else ():
            if node.index in risky and uses[node.index] > 1 and node.op not in LEAVES:
                self.asked.update(condition.index for condition in scopes.conditions(node))
        self._guard_text: dict[_Scope, str] = {}
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
            text, strength, depth, size, risky = self._named(text), _ATOM, 1, 1, False
        self.text[index], self._strength[index] = text, strength
        self._depth[index], self._size[index], self._risky[index] = depth, size, risky

    def _guarded(self, text: str, node: Expr) -> str:
        """Values of one branch are not computed in the other one, where they may not exist."""
        ordered = sorted(self.scopes.of[node.index], key=lambda scope: scope.place)
        guards = [self._guard(scope) for scope in ordered]
        other = "False" if node.op in CONDITIONS else "0.0"
        return f"({text}) if {' or '.join(guards)} else {other}" if all(guards) else text

    def _guard(self, scope: _Scope) -> str:
        """The text that says whether a scope is entered; nested choices get a name for each level."""
        chain = []
        while scope.parent is not None and scope not in self._guard_text:
            chain.append(scope)
            scope = scope.parent
        text = self._guard_text.get(scope, "")
        for scope in reversed(chain):
            condition, value = scope.guard
            here = self._operand(condition, _ATOM) if value else f"not {self._operand(condition, _ATOM)}"
            text = self._named(f"{text} and {here}") if text else here
            self._guard_text[scope] = text
        return text

    def _named(self, text: str) -> str:
        name = f"x{self._temporaries}"
        self._temporaries += 1
        self.lines.append(f"{self.indent}{name} = {text}")
        return name

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
            x = self._operand(args[0], 4)
            return f"({x} % {y} if {mode} {IS_FREE} else {x} - {y} * {mode})"
        relation, way = node.payload
        sign, mirrored = {"lt": ("<", ">"), "le": ("<=", ">="), "eq": ("==", "=="), "ne": ("!=", "!=")}[relation]
        by_mode = f"{mode} {mirrored if way > 0 else sign} 0.0"
        return f"({self._operand(args[0], 2)} {sign} {self._operand(args[1], 2)} if {mode} {IS_FREE} else {by_mode})"
