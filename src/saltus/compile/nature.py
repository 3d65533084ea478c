"""What can change in a traced function, and how sharply: the classes by which an integrator may trust few values.

CONSTANT   depends on nothing
LINEAR     affine in q and v, without t
TAME       polynomial in t, q, v and in sines and cosines of what is affine in t and q
ROOTED     the same with square roots of what does not depend on t, as distances have them; they bend, and stay bent
WILD       anything else: it may change between two looks however close they are
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from saltus.compile.derivative import differentiate
from saltus.compile.expression import CONDITIONS, Expr, reachable

MAX_DEGREE = 8  # of a tame polynomial; a sine counts as a factor
NOT_POLYNOMIAL = MAX_DEGREE + 1


class Kind(enum.IntEnum):
    """How an expression depends on its variables, the simplest first."""

    CONSTANT = 0
    LINEAR = 1
    TAME = 2
    ROOTED = 3
    WILD = 4


class Nature(NamedTuple):
    """The class of some expressions: the worst of them."""

    kind: Kind
    depends_on_t: bool
    degree: int  # of the polynomial, sines counted as factors; NOT_POLYNOMIAL if it is none


class _Growth(NamedTuple):
    """One node: which variables it depends on, as bits; its degree; whether sines or cosines, or roots, are in it."""

    mask: int
    degree: int
    waves: bool
    rooted: bool


_FIXED = _Growth(0, 0, False, False)
_ROOTS = frozenset({"sqrt", "hypot"})
_CHOICES = frozenset({"where", "min", "max"})
_STEPS = frozenset({"sign", "floor", "ceil", "trunc", "held_floor"}) | CONDITIONS


def nature_of(
    exprs: Iterable[Expr] | np.ndarray, t: Expr, q: Sequence[Expr], v: Sequence[Expr], *, held: bool = False
) -> Nature:
    """Return the class of the expressions as functions of t, q and v; other variables count as constants.

    Parameters
    ----------
    held
        Whether choices and steps (where, abs, min, max, sign, floor, remainders, cells of tables) stay in the branch
        where they are: then they count as their branches do, else as wild.
    """
    roots = _listed(exprs)
    growth = _growth(roots, _mask([t, *q, *v]), _mask([t]), _mask(v), held)
    mask, degree, waves, rooted = 0, 0, False, False
    for expr in roots:
        one = growth[expr.index]
        mask, degree, waves = mask | one.mask, max(degree, one.degree), waves or one.waves
        rooted = rooted or one.rooted
    depends_on_t = bool(mask & t.mask)
    if degree > MAX_DEGREE:
        kind = Kind.WILD
    elif not mask:
        kind = Kind.CONSTANT
    elif rooted:
        kind = Kind.ROOTED
    else:
        kind = Kind.TAME if degree > 1 or waves or depends_on_t else Kind.LINEAR
    return Nature(kind, depends_on_t, degree)


def phase_rate(
    exprs: Iterable[Expr] | np.ndarray, t: Expr, q: Sequence[Expr], q_dot: Sequence[Expr], *, held: bool = False
) -> Expr | None:
    """Return the largest |d phase / dt| [rad/s] of the sines and cosines in the expressions.

    It is an expression in whatever q_dot is made of; zero without sines, None if a phase is not affine in t and q.
    """
    roots = _listed(exprs)
    if not roots:
        raise ValueError("phase_rate needs at least one expression")
    graph = roots[0].graph
    variables = [t, *q]
    mask = _mask(variables)
    growth = _growth(roots, -1, _mask([t]), 0, held)
    rates: dict[int, Expr] = {}
    for node in _needed(roots, held):
        if node.op in ("sin", "cos") and growth[node.args[0].index].mask:
            phase = node.args[0]
            one = growth[phase.index]
            if one.degree > 1 or one.waves or one.mask & ~mask:
                return None
            rate = differentiate(phase, t)
            for variable, speed in zip(q, q_dot, strict=True):
                rate = graph.add(rate, graph.multiply(differentiate(phase, variable), speed))
            rate = graph.absolute(rate)
            rates[rate.index] = rate
    fastest = graph.zero
    for _, rate in sorted(rates.items()):
        fastest = rate if fastest is graph.zero else graph.maximum(fastest, rate)
    return fastest


def _listed(exprs: Iterable[Expr] | np.ndarray) -> list[Expr]:
    return list(exprs.flat) if isinstance(exprs, np.ndarray) else list(exprs)


def _mask(variables: Iterable[Expr]) -> int:
    mask = 0
    for variable in variables:
        mask |= variable.mask
    return mask


def _needed(roots: list[Expr], held: bool) -> list[Expr]:
    """Nodes that count, in topological order: not the conditions of held choices, nor what held steps step on."""
    if not held:
        return reachable(roots)
    seen: dict[int, Expr] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.index not in seen:
            seen[node.index] = node
            stack.extend(_moving_arguments(node))
    return [seen[index] for index in sorted(seen)]


def _moving_arguments(node: Expr) -> tuple[Expr, ...]:
    """Arguments through which a held node moves."""
    if node.op in _STEPS:
        return ()
    if node.op == "where":
        return node.args[1:]
    if node.op in ("held_mod", "piecewise"):  # behind them stands a cell
        return node.args[: 2 if node.op == "held_mod" else 1]
    return node.args[:1] if node.op == "copysign" else node.args


def _growth(roots: list[Expr], counted: int, time: int, speeds: int, held: bool) -> dict[int, _Growth]:
    """How each node grows with the variables in `counted`.

    time: what no root may depend on; speeds: what no phase may contain
    """
    growth: dict[int, _Growth] = {}
    for node in _needed(roots, held):
        if not node.mask & counted:
            growth[node.index] = _FIXED
        elif node.op == "var":
            growth[node.index] = _Growth(node.mask & counted, 1, False, False)
        else:
            arguments = _moving_arguments(node) if held else node.args
            parts = [growth[a.index] for a in arguments]
            mask = 0
            for part in parts:
                mask |= part.mask
            degree = _degree(node, parts, time, speeds, held) if mask else 0
            waves = node.op in ("sin", "cos") or any(part.waves for part in parts)
            rooted = node.op in _ROOTS or any(part.rooted for part in parts)
            growth[node.index] = _Growth(mask, min(degree, NOT_POLYNOMIAL), waves, rooted) if mask else _FIXED
    return growth


def _degree(node: Expr, parts: list[_Growth], time: int, speeds: int, held: bool) -> int:
    op = node.op
    degrees = [part.degree for part in parts]
    if op in ("add", "sub", "neg"):
        return max(degrees)
    if op == "mul":
        return sum(degrees)
    if op == "div" and not parts[1].mask:
        return degrees[0]
    if op in _ROOTS and not any(part.mask & time for part in parts):
        return max(2, *degrees)  # not affine: no phase of a sine
    if op in ("sin", "cos"):
        phase = parts[0]
        is_affine = phase.degree <= 1 and not phase.waves and not phase.mask & speeds
        return 1 if is_affine else NOT_POLYNOMIAL
    if held and (op in _CHOICES or op in ("abs", "copysign")):
        return max(degrees)
    if held and op in ("mod", "held_mod"):  # a - n b with a whole number n
        return max(degrees)
    if held and op == "piecewise":
        _, _, order, derivative = node.payload
        return degrees[0] * (order - derivative)
    return NOT_POLYNOMIAL
