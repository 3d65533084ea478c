"""Exact derivatives of traced expressions, forward and reverse, and substitution.

At kinks: d|x| = sign(x) dx, min and max take the first argument on a tie, steps (sign, floor, comparisons)
have derivative zero, tables the right-hand one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from saltus.compile.expression import CONDITIONS, Expr, Untraceable, reachable
from saltus.compile.graph import Graph, rebuild

STEPS = frozenset({"sign", "floor", "ceil", "trunc", "held_floor", "knot", "cell"}) | CONDITIONS
MAX_SPLITS = 8  # nested choices into which one slope is moved


def depends_on(expr: Expr, variables: Expr | Iterable[Expr]) -> bool:
    """Whether the simplified expression contains one of the variables."""
    variables = (variables,) if isinstance(variables, Expr) else variables
    return any(expr.mask & variable.mask for variable in variables)


def differentiate(expr: Expr, variable: Expr) -> Expr:
    """d expr / d variable, remembered per variable."""
    memo = expr.graph.derivatives.setdefault(variable.index, {})
    return _forward(expr, {variable: expr.graph.one}, memo)


def directional(expr: Expr, seeds: Mapping[Expr, Any]) -> Expr:
    """sum_i d expr / d x_i * seeds[x_i] in one forward pass, remembered per set of seeds."""
    graph = expr.graph
    lifted = {variable: graph.real(seed) for variable, seed in seeds.items()}
    key = tuple(sorted((variable.index, seed.index) for variable, seed in lifted.items()))
    return _forward(expr, lifted, graph.derivatives.setdefault(key, {}))


def gradient(expr: Expr, variables: Sequence[Expr] | np.ndarray) -> np.ndarray:
    """All derivatives of one expression in one reverse pass."""
    graph = expr.graph
    mask = 0
    for variable in variables:
        mask |= variable.mask
    adjoints: dict[int, Expr] = {expr.index: graph.one}
    for node in reversed(reachable([expr], mask)):
        adjoint = adjoints.get(node.index, graph.zero)
        if adjoint is graph.zero or node.op in STEPS:
            continue
        for k, a in enumerate(node.args):
            if a.mask & mask and a.op not in CONDITIONS:
                # the rules are linear in the tangents: a single one gives adjoint * d node / d a
                tangents = [graph.zero] * len(node.args)
                tangents[k] = adjoint
                adjoints[a.index] = graph.add(adjoints.get(a.index, graph.zero), _tangent(node, tangents))
    result = np.empty(len(variables), dtype=object)
    result[:] = [adjoints.get(variable.index, graph.zero) for variable in variables]
    return result


def jacobian(exprs: Sequence[Expr] | np.ndarray, variables: Sequence[Expr] | np.ndarray) -> np.ndarray:
    """Derivatives of many expressions: shape of exprs + (number of variables,)."""
    array = np.asarray(exprs, dtype=object)
    result = np.empty((array.size, len(variables)), dtype=object)
    for i, expr in enumerate(array.flat):
        for j, variable in enumerate(variables):
            result[i, j] = differentiate(expr, variable) if expr.mask & variable.mask else expr.graph.zero
    return result.reshape(*array.shape, len(variables))


def substitute(expr: Expr, values: Mapping[Expr, Any]) -> Expr:
    """The expression with variables replaced by expressions or numbers."""
    graph = expr.graph
    done = {variable.index: graph.real(value) for variable, value in values.items()}
    mask = 0
    for variable in values:
        mask |= variable.mask
    for node in reachable([expr], mask, known=done):
        done[node.index] = rebuild(node, [done.get(a.index, a) for a in node.args])
    return done.get(expr.index, expr)


def _forward(expr: Expr, seeds: Mapping[Expr, Expr], memo: dict[int, Expr]) -> Expr:
    zero = expr.graph.zero
    mask = 0
    for variable, seed in seeds.items():
        memo[variable.index] = seed
        mask |= variable.mask
    if not expr.mask & mask:
        return zero
    for node in reachable([expr], mask, known=memo):
        if node.op in STEPS:
            memo[node.index] = zero
            continue
        tangents = [memo.get(a.index, zero) for a in node.args]
        memo[node.index] = zero if all(d is zero for d in tangents) else _tangent(node, tangents)
    return memo[expr.index]


def _tangent(node: Expr, tangents: list[Expr], splits: int = MAX_SPLITS) -> Expr:
    """Tangent of a node from the tangents of its arguments, linear in these."""
    op, args, graph = node.op, node.args, node.graph
    if op == "add":
        return graph.add(*tangents)
    if op == "sub":
        return graph.subtract(*tangents)
    if op == "neg":
        return -tangents[0]
    if op == "where":
        return graph.where(args[0], tangents[1], tangents[2])
    split = _split(tangents, graph) if splits else None
    if split is not None:
        condition, *branches = split
        moves = [any(d is not graph.zero for d in branch) for branch in branches]
        a, b = (_tangent(node, d, splits - 1) if m else graph.zero for d, m in zip(branches, moves, strict=True))
        return graph.where(condition, a, b)
    if op == "mul":
        return tangents[0] * args[1] + args[0] * tangents[1]
    if op == "div":
        return (tangents[0] - node * tangents[1]) / args[1]
    if op == "piecewise":
        offset, n, order, derivative = node.payload
        return graph.piecewise(args[0], offset, n, order, derivative + 1, *args[1:]) * tangents[0]
    if op == "held_mod":
        cell = graph.node("held_floor", (args[0] / args[1], args[2]))
        return tangents[0] - cell * tangents[1]
    if len(args) == 1:
        return _slope(node, args[0], graph) * tangents[0]
    a, b = args
    d_a, d_b = tangents
    if op == "min":
        return graph.where(a <= b, d_a, d_b)
    if op == "max":
        return graph.where(a >= b, d_a, d_b)
    if op == "pow":
        # log(a) only where the exponent moves: a fixed exponent allows a <= 0
        moving = graph.zero if d_b is graph.zero else node * graph.unary("log", a) * d_b
        return moving if d_a is graph.zero else b * graph.power(a, b - graph.one) * d_a + moving
    if op == "atan2":
        return (b * d_a - a * d_b) / (a * a + b * b)
    if op == "hypot":
        return (a * d_a + b * d_b) / node
    if op == "copysign":
        return graph.sign(a) * graph.copysign(1.0, b) * d_a
    if op == "mod":
        return d_a - graph.unary("floor", a / b) * d_b
    raise Untraceable(f"the derivative of {op} is not known")


def _split(tangents: list[Expr], graph: Graph) -> tuple[Expr, list[Expr], list[Expr]] | None:
    """A single tangent that vanishes in one branch is followed inside the other branch only: the slope may be
    infinite where it vanishes (square root of max(x, 0))."""
    moving = [k for k, d in enumerate(tangents) if d is not graph.zero]
    if len(moving) != 1 or tangents[moving[0]].op != "where":
        return None
    condition, a, b = tangents[moving[0]].args
    if a is not graph.zero and b is not graph.zero:
        return None
    if_true, if_false = list(tangents), list(tangents)
    if_true[moving[0]], if_false[moving[0]] = a, b
    return condition, if_true, if_false


def _slope(node: Expr, a: Expr, graph: Graph) -> Expr:
    """Derivative of a function of one argument at a; node = function(a)."""
    return _SLOPES[node.op](node, a, graph.one, graph)


def _bell(a: Expr, factor: float, graph: Graph) -> Expr:
    return graph.number(factor * 2.0 / math.sqrt(math.pi)) * graph.unary("exp", -(a * a))


_SLOPES = {
    "sin": lambda y, a, one, graph: graph.unary("cos", a),
    "cos": lambda y, a, one, graph: -graph.unary("sin", a),
    "tan": lambda y, a, one, graph: one + y * y,
    "asin": lambda y, a, one, graph: one / graph.unary("sqrt", one - a * a),
    "acos": lambda y, a, one, graph: -(one / graph.unary("sqrt", one - a * a)),
    "atan": lambda y, a, one, graph: one / (one + a * a),
    "sinh": lambda y, a, one, graph: graph.unary("cosh", a),
    "cosh": lambda y, a, one, graph: graph.unary("sinh", a),
    "tanh": lambda y, a, one, graph: one - y * y,
    "asinh": lambda y, a, one, graph: one / graph.unary("sqrt", a * a + one),
    "acosh": lambda y, a, one, graph: one / (graph.unary("sqrt", a - one) * graph.unary("sqrt", a + one)),
    "atanh": lambda y, a, one, graph: one / (one - a * a),
    "exp": lambda y, a, one, graph: y,
    "expm1": lambda y, a, one, graph: graph.unary("exp", a),
    "log": lambda y, a, one, graph: one / a,
    "log10": lambda y, a, one, graph: graph.number(1.0 / math.log(10.0)) / a,
    "log2": lambda y, a, one, graph: graph.number(1.0 / math.log(2.0)) / a,
    "log1p": lambda y, a, one, graph: one / (one + a),
    "sqrt": lambda y, a, one, graph: graph.number(0.5) / y,
    "erf": lambda y, a, one, graph: _bell(a, 1.0, graph),
    "erfc": lambda y, a, one, graph: _bell(a, -1.0, graph),
    "abs": lambda y, a, one, graph: graph.sign(a),
}
