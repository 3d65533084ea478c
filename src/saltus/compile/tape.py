"""Expressions as a tape: one instruction of whole numbers per node, for kernels that run any model without compiling.

A tape is read by the units of interval.py. Head, then the nodes of the results, then for every slope among them the
value that it belongs to and its variable, then the instructions in topological order; an instruction is the operation,
then up to five operands (nodes, or places in `par` and `numbers`).
"""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Iterable, Sequence
from keyword import iskeyword
from typing import NamedTuple

import numpy as np

from saltus.compile.derivative import differentiate
from saltus.compile.expression import Expr, Untraceable, reachable


class _Head(NamedTuple):
    """Places in the head of a tape, and how many they are."""

    nodes: int = 0
    value_nodes: int = 1
    values: int = 2
    results: int = 3
    variables: int = 4
    size: int = 5


TAPE_HEAD = _Head()
WIDTH = 6  # numbers of one instruction
MEETING = 1e-13  # how far apart two cells of a table may end, relative to their terms, if they are to meet

OPERATIONS = (
    "variable par number add sub mul div neg power abs min max where lt le eq ne and or not sign floor ceil trunc "
    "mod copysign hypot atan2 pow piecewise table sin cos tan cosh acos erfc asin atan sinh tanh asinh acosh atanh "
    "exp expm1 log log10 log2 log1p sqrt erf"
).split()
# their numbers, by name: OP.add, OP.and_
OP = namedtuple("Operation", [f"{name}_" if iskeyword(name) else name for name in OPERATIONS])(*range(len(OPERATIONS)))


class Tape(NamedTuple):
    """Expressions for kernels.

    Attributes
    ----------
    code
        Head, results and instructions.
    numbers
        Numbers that stand in the expressions themselves; those of `par` are given with every call.
    work
        How many floats the kernels need to run it.
    """

    code: np.ndarray
    numbers: np.ndarray
    work: int


def tape_of(exprs: Iterable[Expr] | np.ndarray, variables: Sequence[Expr], *, slopes: bool = False) -> Tape:
    """Return the tape of some expressions of the variables, which low and high hold in this order.

    Parameters
    ----------
    slopes
        Whether their derivatives follow, for the mean-value form: those by the variables that they depend on.
    """
    roots = list(exprs.flat) if isinstance(exprs, np.ndarray) else list(exprs)
    values = reachable(roots)
    sloped = [
        (k, i)
        for k, expr in enumerate(roots if slopes else ())
        for i, variable in enumerate(variables)
        if expr.mask & variable.mask
    ]
    results = roots + [differentiate(roots[k], variables[i]) for k, i in sloped]
    # nodes of the values first: a look at one point needs these alone
    known = {node.index for node in values}
    nodes = values + reachable(results, known=known)
    place = {node.index: k for k, node in enumerate(nodes)}
    order = {variable.index: k for k, variable in enumerate(variables)}
    powers: dict[int, tuple[Expr, int]] = {}
    numbers: list[float] = []
    code = np.zeros((len(nodes), WIDTH), dtype=np.int64)
    scratch = 0
    for row, node in zip(code, nodes, strict=True):
        name, operands = node.op, [place[a.index] for a in node.args]
        if name == "var":
            if node.index not in order:
                raise Untraceable(f"the expression depends on {node.payload}, which is no variable of the tape")
            name, operands = "variable", [order[node.index]]
        elif name == "par":
            operands = [node.payload]
        elif name in ("num", "bool"):
            name, operands = "number", [len(numbers)]
            numbers.append(float(node.payload))
        elif name == "mul":
            name, operands = _as_power(node, operands, powers, place)
        elif name == "piecewise":
            name = "table" if _is_continuous(node) else name
            operands += node.payload
            scratch = max(scratch, node.payload[2] + 1)
        if name not in OPERATIONS:
            raise Untraceable(f"{name} has no interval arithmetic")
        row[: 1 + len(operands)] = [OPERATIONS.index(name), *operands]
    head = np.zeros(TAPE_HEAD.size, dtype=np.int64)
    head[[TAPE_HEAD.nodes, TAPE_HEAD.value_nodes, TAPE_HEAD.values]] = len(nodes), len(values), len(roots)
    head[[TAPE_HEAD.results, TAPE_HEAD.variables]] = len(results), len(order)
    found = [place[expr.index] for expr in results]
    whole = np.concatenate([head, np.array(found, dtype=np.int64), np.array(sloped, np.int64).ravel(), code.ravel()])
    # bounds of all nodes, bounds of the results, the middle of the box, polynomials of one cell of a table
    work = 2 * len(nodes) + 2 * len(results) + len(order) + scratch
    return Tape(whole, np.array(numbers or [0.0]), work)


def _is_continuous(node: Expr) -> bool:
    """Whether the cells of a table meet at its knots up to rounding."""
    offset, n, order, derivative = node.payload
    constants = node.graph.constants
    knots = np.array(constants[offset : offset + n + 1])
    rows = np.array(constants[offset + n + 1 : offset + n + 1 + n * (order + 1)]).reshape(n, order + 1)
    for (left, right), before, after in zip(itertools.pairwise(knots), rows, rows[1:], strict=False):
        polynomial, other = (np.polynomial.Polynomial(row[::-1]).deriv(derivative) for row in (before, after))
        size = np.polynomial.Polynomial(np.abs(polynomial.coef))(right - left)
        if abs(polynomial(right - left) - other(0.0)) > MEETING * size:
            return False
    return True


def _as_power(node: Expr, operands: list[int], powers: dict[int, tuple[Expr, int]], place: dict[int, int]):
    """A product of powers of the same node is a power of it, whose range is known exactly."""
    (base, n), (other, m) = (powers.get(a.index, (a, 1)) for a in node.args)
    if base is not other:
        return "mul", operands
    powers[node.index] = base, n + m
    return "power", [place[base.index], n + m]
