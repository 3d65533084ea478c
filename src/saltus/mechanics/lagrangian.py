"""Lagrangian: a system from its energies, T(q, v) and V(q), with derivatives by the tracer.

M = d2T/dv2 and f = Q + dT/dq - dV/dq - (d2T/dv dq) v - d2T/dv dt: the equations of Lagrange. The energies are recorded
once, their derivatives written out as plain Python functions, and those are what the System is made of.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from saltus.compile.trace import HELPERS, IMPORTS, Expr, Trace, Untraceable, depends_on, differentiate, emit, substitute
from saltus.errors import ModelError
from saltus.parameters import Parameters
from saltus.system import System


def Lagrangian(
    T: Callable,
    V: Callable | None = None,
    Q: Callable | None = None,
    *,
    n: int,
    contacts: Sequence[Any] = (),
    joints: Sequence[Any] = (),
    name: str | None = None,
) -> System:
    """Return the System of a kinetic energy T, a potential energy V and generalized forces Q.

    Parameters
    ----------
    T
        T(q, v) or T(t, q, v): kinetic energy [J], of second degree in v.
    V
        V(q) or V(t, q): potential energy [J].
    Q
        Q(t, q, v), or Q(q) or Q(t, q): further generalized forces [N, N m], n of them.
    n
        Number of coordinates.
    contacts, joints, name
        As for `System`.

    Raises
    ------
    ModelError
        When an energy cannot be traced, is no single number, or T is not of second degree in v.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ModelError(f"n is {n!r}: it must be the number of coordinates, at least 1")
    trace = Trace()
    state = trace.variable("t"), trace.variables("q", n), trace.variables("v", n)
    kinetic = _energy(trace, T, "T", {2: "qv", 3: "tqv"}, state)
    potential = trace.zero if V is None else _energy(trace, V, "V", {1: "q", 2: "tq"}, state)
    mass, force = _mass(kinetic, state[2]), _force(kinetic, potential, *state)
    M = _written(trace, mass, ("t", "q"))
    inner = _written(trace, force, ("t", "q", "v"))
    if Q is None:
        return System(M=M, f=inner, contacts=contacts, joints=joints, name=name)
    given, taken = Q, _count(Q, "Q", {1: "q", 2: "tq", 3: "tqv"})

    def f(t, q, v):
        own = inner(t, q, v)
        more = given(q) if taken == 1 else given(t, q) if taken == 2 else given(t, q, v)
        return [own[i] + more[i] for i in range(n)]

    return System(M=M, f=f, contacts=contacts, joints=joints, name=name)


def _count(function: Callable, name: str, letters: dict[int, str]) -> int:
    """Return how many arguments a function takes, one of those that are known."""
    known = " or ".join(f"({', '.join(word)})" for word in letters.values())
    if not callable(function):
        raise ModelError(f"{name} must be a function of {known}, not {function!r}")
    empty = inspect.Parameter.empty
    count = sum(p.default is empty for p in inspect.signature(function).parameters.values())
    if count not in letters:
        raise ModelError(f"{name} takes {count} arguments: it must take {known}")
    return count


def _energy(trace: Trace, function: Callable, name: str, letters: dict[int, str], state: tuple) -> Expr:
    """Return an energy as an expression of t, q and v."""
    taken = letters[_count(function, name, letters)]
    given = dict(zip("tqv", state, strict=True))
    try:
        made = trace.as_array(trace.call(function, *(given[letter] for letter in taken)))
    except Untraceable as error:
        raise ModelError(f"{name} cannot be traced, which its derivatives need: {error}") from error
    if made.size != 1:
        raise ModelError(f"{name} returned {made.size} numbers: an energy is one number [J]")
    return made.reshape(-1)[0]


def _mass(T: Expr, v: np.ndarray) -> np.ndarray:
    """Return d2T/dv2, which must not depend on v."""
    n = len(v)
    made = np.empty((n, n), dtype=object)
    at_rest = {one: T.graph.zero for one in v}
    for i in range(n):
        momentum = differentiate(T, v[i])
        for j in range(i, n):
            second = differentiate(momentum, v[j])
            if any(not _is_zero(differentiate(second, one)) for one in v if depends_on(second, one)):
                raise ModelError(
                    f"T is not of second degree in v: its second derivative by v[{i}] and v[{j}] depends on v"
                )
            made[i, j] = made[j, i] = substitute(second, at_rest)
    return made


def _is_zero(expr: Expr) -> bool:
    """Return whether an expression is zero, by its form or by its values at a few places."""
    graph: Any = expr.graph
    if expr is graph.zero:
        return True
    names = [one.payload for one in graph._variables]
    run = _written(graph, np.array([expr], dtype=object), ("t", "q", "v"))
    n = sum(name.startswith("q[") for name in names)
    rng = np.random.default_rng(7)
    places = ((rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.0, n), rng.uniform(-1.0, 1.0, n)) for _ in range(3))
    return all(abs(float(run(*place)[0])) < 1e-10 for place in places)


def _force(T: Expr, V: Expr, t: Expr, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return dT/dq - dV/dq - (d2T/dv dq) v - d2T/dv dt."""
    made = np.empty(len(q), dtype=object)
    for i in range(len(q)):
        momentum = differentiate(T, v[i])
        value = differentiate(T, q[i]) - differentiate(V, q[i]) - differentiate(momentum, t)
        for j in range(len(q)):
            value = value - differentiate(momentum, q[j]) * v[j]
        made[i] = value
    return made


def _written(graph: Any, exprs: np.ndarray, arguments: tuple[str, ...]) -> Callable:
    """Return a plain Python function of the arguments that computes expressions and returns them as lists.

    Numbers of the expressions stand in a list, in which parameters of the user are read anew with every call.
    """
    values = {name: value for name, (_, value) in graph.named.items()}
    lines = [f"def run({', '.join(arguments)}):", "    par = list(numbers)", f"    out = [0.0] * {exprs.size}"]
    for name, (offset, value) in graph.named.items():
        places = [""] if isinstance(value, float) else [str(list(map(int, k))) for k in np.ndindex(value.shape)]
        flat = [f"p.{name}{place}" for place in places]
        lines += [f"    par[{offset + k}] = {text}" for k, text in enumerate(flat)]
    body = emit([(f"out[{i}]", expr) for i, expr in enumerate(exprs.flat)])
    rows = [f"out[{i}:{i + len(exprs)}]" for i in range(0, exprs.size, len(exprs))]
    text = "\n".join(lines) + f"\n{body}    return {'out' if exprs.ndim == 1 else '[' + ', '.join(rows) + ']'}\n"
    inside: dict[str, Any] = {"numbers": tuple(graph.constants), "p": Parameters(**values) if values else None}
    exec(f"{IMPORTS}{''.join(source for source, _ in HELPERS.values())}{text}", inside)  # noqa: S102, our own text
    return inside["run"]
