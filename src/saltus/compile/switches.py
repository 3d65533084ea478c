"""Switching functions of a trace: where a comparison, a kink or a knot of a table changes the branch of a function.

`Switches.hold` rewrites expressions so that every branch is chosen by a mode that is kept among the parameters: the
sign of its switching function, or the number of the cell of a table or of a floor. A scheme that locates events sets
the modes where a piece of the motion begins and holds them until a switching function crosses zero: inside of a piece
all functions are smooth, also a little beyond its end. A mode that is FREE leaves the choice to the state.

|x|                 sign of x
max(a, b), a < b    sign of b - a
floor(x), x % y     the cell, a whole number; it is left where x - cell or cell + 1 - x crosses zero
tables              the interval between two knots
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np

from saltus.compile.derivative import differentiate
from saltus.compile.emit import emit, scopes_of
from saltus.compile.expression import LEAVES, Expr, reachable
from saltus.compile.graph import Graph, rebuild

FREE = math.inf  # a mode that leaves the choice to the state
BY_SIGN, BELOW, ABOVE = range(3)  # kinds of switching functions: a sign; the two ends of a cell
RELATIONS = frozenset({"lt", "le", "eq", "ne"})
DOMAIN_EDGES = {"sqrt": 0.0, "pow": 0.0, "log": 1e-300, "asin": -1.0, "acos": -1.0}  # edges of functions
LONGEST_NAME = 48  # characters of a switching function in its name
PASSED = 0.05  # of the tolerance: how much of itself, and of its slope, a table may change at its knots
SMOOTH = 1e-9  # of what a table does within a cell: jumps below are rounding


@dataclasses.dataclass(frozen=True, eq=False)
class Switch:
    """One switching function: its expression, the parameter that holds its mode, its kind."""

    value: Expr
    slot: int
    kind: int
    cell: Expr | None  # the cell in which the state is, of BELOW and ABOVE
    used_by: tuple[Expr, ...]
    name: str  # the function of the user and what vanishes, for messages


@dataclasses.dataclass(frozen=True)
class Table:
    """A table whose cell is held: where its cell is kept, and how rough its knots are.

    kinks: largest jump at a knot of its first derivative that jumps, over what would make it smooth: what the table
    would change, relative to its range, if the knots were rounded off (value), and the same for its first derivative.
    """

    slot: int
    value: float
    slope: float

    geometric: bool = False  # whether gaps, slips or joints depend on it, so that its slope moves bodies

    def passed(self, tol: float) -> bool:
        """Return whether the knots are too fine to matter for a run with a tolerance."""
        return max(self.value, self.slope if self.geometric else 0.0) <= PASSED * tol


class Switches:
    """All switching functions of one trace."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.tables: list[Table] = []
        self.holding: int | None = None  # parameter that is FREE where no modes are held
        self._signs: dict[int, tuple[int, int]] = {}  # index of a switching function -> slot of its mode, orientation
        self._cells: dict[object, int] = {}
        self._found: list[tuple[Expr, int, int, Expr | None]] = []
        self._users: dict[int, list[Expr]] = {}
        self._done: dict[int, Expr] = {}
        self._function = ""
        self._functions: dict[int, str] = {}  # by slot

    # ---- rewriting

    def hold(self, exprs: np.ndarray, function: str = "") -> np.ndarray:
        """Return the same expressions, of a function of the user, with all branches chosen by modes."""
        self._function = function
        flat = list(exprs.flat)
        scopes = scopes_of([("", x) for x in flat])
        for node in reachable(flat, known=self._done):
            args = [self._done.get(a.index, a) for a in node.args]
            ways = scopes.get(node.index, ())
            self._done[node.index] = self._held(node, args, all(way.depth > 0 for way in ways) and len(ways) > 0)
        made = np.empty(len(flat), dtype=object)
        made[:] = [self._done.get(x.index, x) for x in flat]
        return made.reshape(exprs.shape)

    def _held(self, node: Expr, args: list[Expr], guarded: bool = False) -> Expr:
        graph, op = self.graph, node.op
        if op in LEAVES or not node.mask:
            return node
        if op in RELATIONS:
            return self._relation(op, *args)
        if op == "abs":
            return graph.where(self._relation("le", graph.zero, args[0]), args[0], -args[0])
        if op == "max":
            return graph.where(self._relation("lt", *args), args[1], args[0])
        if op == "min":
            return graph.where(self._relation("lt", args[1], args[0]), args[1], args[0])
        if op == "sign":
            below = graph.where(self._relation("lt", args[0], graph.zero), graph.minus_one, args[0])
            return graph.where(self._relation("lt", graph.zero, args[0]), graph.one, below)
        if op == "copysign":
            size = self._held(graph.node("abs", (args[0],)), [args[0]]) if args[0].mask else graph.absolute(args[0])
            return graph.where(self._relation("le", graph.zero, args[1]), size, -size)
        if op == "floor":
            return self._floor(args[0])
        if op == "ceil":
            return -self._floor(-args[0])
        if op == "trunc":
            up = self._relation("le", graph.zero, args[0])
            return graph.where(up, self._floor(args[0]), -self._floor(-args[0]))
        if op == "mod":
            return self._remainder(*args)
        if op == "piecewise":
            return self._piecewise(node, args[0])
        if op in DOMAIN_EDGES and (guarded or any(below.op == "held" for below in reachable(args[:1]))):
            return rebuild(node, [self._inside(op, args[0]), *args[1:]])
        return rebuild(node, args)

    def _relation(self, op: str, a: Expr, b: Expr) -> Expr:
        """a < b and the like by the sign of b - a."""
        graph = self.graph
        s = graph.subtract(b, a)
        if not s.mask:
            return rebuild(graph.node(op, (a, b)), [a, b])
        slot, way = self._sign(s)
        made = graph.node("held", (a, b, graph.parameter(slot)), (op, way))
        self._users.setdefault(slot, []).append(made)
        return made

    def _sign(self, s: Expr) -> tuple[int, int]:
        """Return the slot of the sign of s, and -1 where that of -s is kept."""
        known = self._signs.get(s.index)
        if known is None:
            opposite = self.graph.negative(s)
            slot = self.graph.table([FREE])
            self._functions[slot] = self._function
            known = self._signs[s.index] = slot, 1
            self._signs[opposite.index] = slot, -1
            self._found.append((s, slot, BY_SIGN, None))
        return known

    def _unit_cell(self, x: Expr) -> int:
        """Return the slot of the whole number below x, behind it a number that only tables use."""
        known = self._cells.get(x.index)
        if known is None:
            known = self._cells[x.index] = self.graph.table([FREE, 0.0])
            self._functions[known] = self._function
            cell, now = self.graph.parameter(known), self.graph.node("floor", (x,))
            self._found.append((x - cell, known, BELOW, now))
            self._found.append((cell + self.graph.one - x, known, ABOVE, now))
        return known

    def _floor(self, x: Expr) -> Expr:
        if not x.mask:
            return self.graph.unary("floor", x)
        slot = self._unit_cell(x)
        made = self.graph.node("held_floor", (x, self.graph.parameter(slot)))
        self._users.setdefault(slot, []).append(made)
        return made

    def _remainder(self, a: Expr, b: Expr) -> Expr:
        slot = self._unit_cell(a / b)
        made = self.graph.node("held_mod", (a, b, self.graph.parameter(slot)))
        self._users.setdefault(slot, []).append(made)
        return made

    def _piecewise(self, node: Expr, x: Expr) -> Expr:
        graph = self.graph
        offset, n, order, derivative = node.payload
        if n == 1:
            return graph.piecewise(x, offset, n, order, derivative)
        key = ("table", x.index, offset)
        if key not in self._cells:
            slot = graph.table([FREE, 0.0])  # the cell; 1 where its knots are passed
            low, high = (graph.node("knot", (graph.parameter(slot),), (offset, n, end)) for end in (0, 1))
            self._cells[key], self._functions[slot] = slot, self._function
            # outside of a table its first and last polynomials go on
            now = graph.node("cell", (x,), (offset, n))
            self._found.append((x - low, slot, BELOW, now))
            self._found.append((high - x, slot, ABOVE, now))
            self.tables.append(Table(slot, *roughness(graph.constants[offset:], n, order)))
        slot = self._cells[key]
        made = graph.piecewise(x, offset, n, order, derivative, graph.parameter(slot))
        self._users.setdefault(slot, []).append(made)
        return made

    def _inside(self, op: str, x: Expr) -> Expr:
        """Keep the argument of a held branch inside of its domain: the branch reaches a little beyond its end."""
        graph = self.graph
        if self.holding is None:
            self.holding = graph.table([FREE])
        kept = graph.node("max", (x, graph.number(DOMAIN_EDGES[op])))
        if op in ("asin", "acos"):
            kept = graph.node("min", (kept, graph.one))
        return graph.where(graph.node("free", (graph.parameter(self.holding),)), x, kept)

    # ---- what was found

    def found(self, targets: Iterable[Expr]) -> list[Switch]:
        """Return the switching functions that the given (held) expressions depend on, in the order of their making."""
        needed = {node.index for node in reachable(targets)}
        made = []
        for value, slot, kind, cell in self._found:
            users = tuple(user for user in self._users.get(slot, ()) if user.index in needed)
            if users:
                made.append(Switch(value, slot, kind, cell, users, self._name(value, slot, kind)))
        return made

    def _name(self, value: Expr, slot: int, kind: int) -> str:
        """Return what a switch is called: its function, and what vanishes if that is short."""
        text = emit([("", value)]).strip()
        said = text.removeprefix("= ")
        for index in sorted({node.payload for node in reachable([value]) if node.op == "par"}, reverse=True):
            said = said.replace(f"par[{index}]", self.graph.spelled(index))
        short = kind == BY_SIGN and "\n" not in text and len(said) <= LONGEST_NAME
        return f"{self._functions[slot]}: {said if short else ('a kink', 'a knot', 'a knot')[kind]}"

    def tables_of(self, geometry: Iterable[Expr]) -> tuple[Table, ...]:
        """Return all tables; those that the given expressions depend on are geometric."""
        needed = {node.index for node in reachable(geometry)}
        return tuple(
            dataclasses.replace(table, geometric=any(user.index in needed for user in self._users[table.slot]))
            for table in self.tables
        )

    def guards(self, switches: Sequence[Switch], targets: Sequence[Expr]) -> list[Expr | None]:
        """Return for every switch the condition under which something depends on it, None for always."""
        named = [(f"out[{i}]", x) for i, x in enumerate(targets)]
        scopes = scopes_of(named)
        made: list[Expr | None] = []
        for switch in switches:
            needed: Expr | None = None
            for user in switch.used_by:
                here = self._guard(scopes.get(user.index))
                if here is None:
                    needed = None
                    break
                needed = here if needed is None else self.graph.logical_or(needed, here)
            made.append(needed)
        return made

    def _guard(self, ways) -> Expr | None:
        """Return the condition that one of the ways to need a node is taken, None where it is always needed."""
        graph, either = self.graph, self.graph.condition(False)
        for way in ways or ():
            guard = graph.condition(True)
            for condition, value in way.guards():
                guard = graph.logical_and(guard, condition if value else graph.logical_not(condition))
            either = graph.logical_or(either, guard)
        return None if either.op == "bool" else either

    def watched(self, switch: Switch, blur: Expr, guard: Expr | None) -> Expr:
        """Return what falls through zero where the branch of a switch ends, 1 where nothing depends on it.

        A sign ends a little behind its zero, beyond the noise: what rests on a surface does not leave it. The sign 0
        is that of a state that stays exactly on it.
        """
        graph, mode, value = self.graph, self.graph.parameter(switch.slot), switch.value
        inside = value + blur
        if switch.kind == BY_SIGN:
            on = blur - graph.absolute(value)
            inside = graph.where(graph.equal(mode, 0), on, mode * value + blur)
        unused = graph.node("free", (mode,))
        if guard is not None:
            unused = graph.logical_or(unused, graph.logical_not(guard))
        return graph.where(unused, 1.0, inside)

    def blur(self, switch: Switch, t: Expr, q: Sequence[Expr], v: Sequence[Expr], noise: int) -> Expr:
        """Return how far a switching function is uncertain, given the noise of t, q and v from slot `noise` on."""
        graph, total = self.graph, self.graph.zero
        for k, variable in enumerate((t, *q, *v)):
            if switch.value.mask & variable.mask:
                slope = differentiate(switch.value, variable)
                total = total + graph.absolute(slope) * graph.parameter(noise + k)
        return total


def roughness(constants: Sequence[float], n: int, order: int) -> tuple[float, float]:
    """Return what the knots of a table are worth: their largest kink over its range, and that of its slope.

    A table that is rounded off at its knots changes by about (jump of the d-th derivative) (width of a cell)^d over
    4^d d!, d being the first derivative that jumps: about as far are straight lines and cubic splines from what they
    interpolate.
    """
    knots = np.asarray(constants[: n + 1])
    c = np.asarray(constants[n + 1 : n + 1 + n * (order + 1)]).reshape(n, order + 1)[:, ::-1]
    width = np.diff(knots)
    powers = width[:, None] ** np.arange(order + 1)
    span = max(float(np.ptp((c * powers).sum(axis=1))), float(np.ptp(c[:, 0])), 1e-300)
    size = np.abs(c) * powers  # what every term does within its cell
    worst, slope = 0.0, 0.0
    steep = max(float(np.max(np.abs(np.diff(c[:, 0]) / width[:-1]), initial=0.0)), 1e-300)
    for d in range(order + 1):
        terms = np.zeros((n, order + 1 - d))
        for k in range(d, order + 1):
            terms[:, k - d] = c[:, k] * math.factorial(k) / math.factorial(k - d)
        ends = (terms * powers[:, : order + 1 - d]).sum(axis=1)
        near = np.minimum(width[:-1], width[1:])
        scaled = np.abs(terms[1:, 0] - ends[:-1]) * near**d / (4.0**d * math.factorial(d))
        rounding = SMOOTH * (size.sum(axis=1)[:-1] + size.sum(axis=1)[1:])
        jumps = np.where(scaled > rounding, scaled, 0.0)
        worst = max(worst, float(jumps.max(initial=0.0)))
        slope = max(slope, float((jumps / near).max(initial=0.0)) / steep)
    return worst / span, slope
