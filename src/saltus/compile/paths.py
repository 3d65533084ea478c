"""Plain branches of Python: a function that asks `if` of its arguments runs once per outcome, and `where` joins them.

Every question (`if`, `while`, `and`, `or`, `not`, a chained comparison, `sorted`) reaches `Paths.decide`. The first
run answers yes wherever the answer is open; the next ones change the last answer that was not changed yet, until every
outcome has been seen. Questions whose answers follow from earlier ones on the same path are no decisions.
"""

from __future__ import annotations

import dataclasses
import linecache
import os
import sys
import types
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.compile.expression import Expr, Untraceable, reachable

if TYPE_CHECKING:
    from saltus.compile.graph import Graph

MAX_PATHS = 256  # outcomes of one function; ten independent branches one after the other would have 1024
MAX_DECISIONS = 256  # on one path; a `while` on the state asks for ever
MAX_ITERATES = (
    8  # questions of one line about what grew out of its last question: beyond, an iteration until it is good
)

# how a number can stand to another one, as bits: below, equal, above
LOWER, EQUAL, HIGHER = 1, 2, 4
ANYHOW = LOWER | EQUAL | HIGHER
HOLDS = {"lt": LOWER, "le": LOWER | EQUAL, "eq": EQUAL, "ne": LOWER | HIGHER}
OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAX_LINE = 60  # characters of a line of source in a message


@dataclasses.dataclass
class Decision:
    """One answer on a path, and where it was asked for."""

    condition: Expr
    outcome: bool
    place: str
    line: Any = None  # the instruction that asks
    iterates: int = 0  # how often it has asked about what grew out of what it asked about before

    def __str__(self) -> str:
        return f"{'yes' if self.outcome else 'no'} to {self.place}"


class Paths:
    """All runs of one function: what is decided on the present path and what follows from it.

    around: the paths of the function that calls this one, whose answers hold here too.
    """

    def __init__(self, graph: Graph, around: Paths | None = None):
        self._graph, self._around = graph, around
        self._decisions: list[Decision] = []
        self._asked = 0
        self._pairs: dict[tuple[int, int], int] = {}  # indices of two nodes, the smaller first -> how they can stand
        self._levels: dict[int, list[tuple[float, int]]] = {}  # index of a node -> numbers and how it stands to them
        self._kept: dict[bytes, list[int]] = {}  # values -> their places among the constants, made by all paths
        self._used: set[int] = set()  # places that this path has used
        self._next: dict[bytes, int] = {}  # values -> how many of their places this path has used for sure
        self._refusal: Untraceable | None = None

    # ---- runs
    def within(self, call: Callable[[], Any]) -> Any:
        """Return the joined result of a function without side effects that this path calls.

        Ten contacts with one branch each then have ten choices, not a thousand paths. Where it cannot be joined by
        itself (it returns a word, or a whole number that may count something) its branches are those of this path.
        """
        inner = self._graph.paths = Paths(self._graph, self)
        try:
            return inner.run(call, None)
        except Untraceable:
            self._graph.paths = self
            return call()
        finally:
            self._graph.paths = self

    def run(self, first: Callable[[], Any], again: Callable[[], Any] | None) -> Any:
        """Return the joined result of all paths.

        Parameters
        ----------
        first
            Calls the function, every time with what earlier calls may have left behind.
        again
            Calls the function as if nobody had called it before; where both differ, the function keeps a memory.
            None if the function is known to have none.
        """
        waiting: list[Any] = []  # results of yes, whose decisions are being answered by no
        count = 1
        while True:
            result = self._follow(first)
            if count > 1 and again is not None and not _same(result, self._follow(again)):
                raise Untraceable(
                    "the function keeps a memory between its calls, which its branches change; "
                    "it must depend on its arguments alone"
                )
            while self._decisions and not self._decisions[-1].outcome:
                decision = self._decisions.pop()
                yes = waiting.pop()
                if self._around is not None and isinstance(yes, int) and isinstance(result, int):
                    raise Untraceable("a choice of whole numbers may stand for anything")
                result = _join(self._graph, decision, yes, result)
            if not self._decisions:
                return result
            waiting.append(result)
            self._decisions[-1] = dataclasses.replace(self._decisions[-1], outcome=False)
            count += 1
            if count > MAX_PATHS:
                raise Untraceable(
                    f"its branches on the state have more than {MAX_PATHS} outcomes; "
                    "use np.where, np.minimum, np.maximum or np.clip for some of them"
                )

    def _follow(self, call: Callable[[], Any]) -> Any:
        """The result of the present path; decisions beyond those that are known are added."""
        self._asked, self._refusal = 0, None
        self._pairs, self._levels = {}, {}
        if self._around is not None:
            self._pairs = dict(self._around._pairs)
            self._levels = {node: list(levels) for node, levels in self._around._levels.items()}
        self._used, self._next = set(), {}
        try:
            result = call()
        except Untraceable:
            raise
        except (Exception, SystemExit) as error:
            if not self._decisions:
                raise
            raise Untraceable(f"{type(error).__name__} while tracing: {error}, after {self._told()}") from error
        if self._refusal is not None:  # a `try` of the user's may have caught it
            raise self._refusal
        if self._asked < len(self._decisions):
            raise Untraceable("the function branches otherwise at every call; it must depend on its arguments alone")
        return _copied(result) if self._decisions else result

    def _told(self) -> str:
        return " and ".join(str(decision) for decision in self._decisions[-3:])

    # ---- answers
    def decide(self, condition: Expr) -> bool:
        """Return the answer on this path."""
        op = condition.op
        if op == "bool":
            return condition.payload
        if op == "not":
            return not self.decide(condition.args[0])
        if op == "and":
            return self.decide(condition.args[0]) and self.decide(condition.args[1])
        if op == "or":
            return self.decide(condition.args[0]) or self.decide(condition.args[1])
        left, right = condition.args
        possible = self._possible(left, right)
        wanted = HOLDS[op]
        if not possible & wanted:
            return False
        if not possible & ~wanted:
            return True
        outcome = self._decided(condition)
        self._learn(left, right, possible & (wanted if outcome else ~wanted))
        return outcome

    def _decided(self, condition: Expr) -> bool:
        if self._asked == len(self._decisions):
            if self._asked == MAX_DECISIONS:
                self._refusal = Untraceable(
                    f"the function branches on the state more than {MAX_DECISIONS} times in one call, like a loop "
                    f"that ends when the state says so, at last in {_place(_frame())}"
                )
                raise self._refusal
            self._decisions.append(self._new(condition))
        decision = self._decisions[self._asked]
        self._asked += 1
        if decision.condition is not condition:
            self._refusal = Untraceable(
                "the function branches otherwise at every call; it must depend on its arguments alone"
            )
            raise self._refusal
        return decision.outcome

    def _new(self, condition: Expr) -> Decision:
        frame = _frame()
        line = frame.f_code, frame.f_lasti
        before = next((decision for decision in reversed(self._decisions) if decision.line == line), None)
        iterates = before.iterates + 1 if before is not None and _grew(before.condition, condition) else 0
        made = Decision(condition, True, _place(frame), line, iterates)
        if iterates > MAX_ITERATES:
            self._refusal = Untraceable(
                f"the function iterates until the state is good enough: {made.place} asks again and again about what "
                "it has made of the last answer; a fixed number of steps without a question can be traced"
            )
            raise self._refusal
        return made

    # ---- what follows from earlier answers
    def _possible(self, left: Expr, right: Expr) -> int:
        """How left can still stand to right."""
        if left.index > right.index:
            return _mirrored(self._possible(right, left))
        possible = self._pairs.get((left.index, right.index), ANYHOW)
        for node, number, turn in ((left, self._number(right), False), (right, self._number(left), True)):
            if number is not None:
                for level, stands in self._levels.get(node.index, ()):
                    implied = _implied(stands, level, number)
                    possible &= _mirrored(implied) if turn else implied
        return possible

    def _learn(self, left: Expr, right: Expr, stands: int) -> None:
        if left.index > right.index:
            left, right, stands = right, left, _mirrored(stands)
        self._pairs[left.index, right.index] = stands
        for node, number, bits in ((left, self._number(right), stands), (right, self._number(left), _mirrored(stands))):
            if number is not None:
                self._levels.setdefault(node.index, []).append((number, bits))

    def _number(self, node: Expr) -> float | None:
        if node.op == "num":
            return node.payload
        if node.op != "par" or self._graph.is_named(node.payload):
            return None
        return self._graph.constants[node.payload]

    # ---- constants
    def place_of(self, values: tuple[float, ...], make: Callable[[], int]) -> int:
        """Where these constants stand: all paths share the ones that they make alike."""
        key = array("d", values).tobytes()
        places, at = self._kept.setdefault(key, []), self._next.get(key, 0)
        while at < len(places) and places[at] in self._used:
            at += 1
        if at == len(places):
            around = self._around
            places.append(make() if around is None else around.place_of(values, make))
        self._next[key] = at + 1
        self._used.add(places[at])
        return places[at]

    def uses(self, place: int) -> None:
        """Note a constant that is known without asking: the next one of the same value is another one."""
        self._used.add(place)
        if self._around is not None:
            self._around.uses(place)


def _mirrored(stands: int) -> int:
    return stands & EQUAL | (HIGHER if stands & LOWER else 0) | (LOWER if stands & HIGHER else 0)


def _implied(stands: int, level: float, number: float) -> int:
    """How something can stand to `number` that stands to `level` as given."""
    if level == number:
        return stands
    if level < number:
        return ANYHOW if stands & HIGHER else LOWER
    return ANYHOW if stands & LOWER or not level > number else HIGHER


def _grew(before: Expr, now: Expr) -> bool:
    """Whether a condition is about something that was computed from what another one was about."""
    old, new = ({node.index for node in reachable(condition.args) if node.args} for condition in (before, now))
    return len(new) > len(old) > 0 and 2 * len(old & new) >= len(old)


def _frame() -> types.FrameType:
    """The frame of the user's function that asks."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN_FOLDER):
        frame = frame.f_back
    return frame


def _place(frame: types.FrameType) -> str:
    """The line of the user's source that asks."""
    name, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(name, line).strip()
    text = text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}..."
    return f"`{text}` ({os.path.basename(name)}:{line})" if text else f"the question in {name}:{line}"


# ---- results
def _copied(result: Any) -> Any:
    """The same in memory of its own: the next path may fill the same list again."""
    if isinstance(result, np.ndarray):
        return result.copy()
    if isinstance(result, (list, tuple)):
        return [_copied(item) for item in result]
    return result


def _flat(result: Any) -> list[Any]:
    if isinstance(result, np.ndarray):
        return [item for item in result.flat]
    return [x for item in result for x in _flat(item)] if isinstance(result, list) else [result]


def _same(one: Any, other: Any) -> bool:
    pairs = _flat(one), _flat(other)
    if len(pairs[0]) != len(pairs[1]):
        return False
    for a, b in zip(*pairs, strict=True):
        if a is not b and (isinstance(a, Expr) or isinstance(b, Expr) or repr(a) != repr(b)):
            return False
    return True


def _join(graph: Graph, decision: Decision, yes: Any, no: Any) -> Any:
    """The result whose entries are `where(condition, yes, no)`."""
    if isinstance(yes, list) and isinstance(no, list) and len(yes) == len(no):
        return [_join(graph, decision, a, b) for a, b in zip(yes, no, strict=True)]
    if isinstance(yes, (list, np.ndarray)) or isinstance(no, (list, np.ndarray)):
        return _joined_arrays(graph, decision, yes, no)
    for value in (yes, no):
        if value is None or not isinstance(value, (Expr, int, float, np.number, np.bool_)):
            raise Untraceable(
                f"the function returns {value!r}, no number, after one of the answers to {decision.place}"
            )
    return yes if yes is no else _chosen(graph, decision.condition, graph.real(yes), graph.real(no))


def _joined_arrays(graph: Graph, decision: Decision, yes: Any, no: Any) -> np.ndarray:
    try:
        a, b = (np.array(value, dtype=object) for value in (yes, no))
    except ValueError as error:
        raise Untraceable(f"the function returns rows of different lengths: {error}") from error
    if a.shape != b.shape and a.size == b.size and all(max(x.shape, default=1) == x.size for x in (a, b)):
        a, b = a.ravel(), b.ravel()  # a row and a column, or a number with and without brackets
    if a.shape != b.shape:
        raise Untraceable(f"the function returns shape {a.shape} after yes and {b.shape} after no to {decision.place}")
    made = np.empty(a.shape, dtype=object)
    for i in np.ndindex(a.shape):
        made[i] = _join(graph, decision, a[i], b[i])
    return made


def _chosen(graph: Graph, condition: Expr, yes: Expr, no: Expr) -> Expr:
    """where(condition, yes, no); two questions that lead to the same value become one with `and` or `or`.

    Only so a value that both branches hold is computed nowhere else.
    """
    if yes is not no and no.op == "where" and no.args[1] is yes:
        return graph.where(graph.logical_or(condition, no.args[0]), yes, no.args[2])
    if yes is not no and yes.op == "where" and yes.args[2] is no:
        return graph.where(graph.logical_and(condition, yes.args[0]), yes.args[1], no)
    return graph.where(condition, yes, no)
