"""Comparison: the compiled units of a model against the user's own functions, at the start and beside it.

A tracer sees what a function does with its arguments, not what it asks about them otherwise (their type, the text that
they make), and compiled code is not Python. So once per model every function is called with numbers and held against
its unit: at the start, at states beside it and, after the first run, at states of this run. The same calls, made
forwards and backwards, tell whether a function remembers what it was called with before.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import threading
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from saltus.build.marks import Unmarked, changed, mark_of
from saltus.build.user_function import UserFunction, at
from saltus.compile.effects import is_free_of_effects
from saltus.compile.native import runnable
from saltus.errors import FunctionError

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel


class _Compare(NamedTuple):
    """Tuned numbers of this file."""

    # relative to the largest values of a function: what rounding may do in another order of operations
    same: float = 1e-8
    shift: float = 1e-10  # relative: a state so close that only rounding and jumps tell it from the first one
    condition: float = 100.0  # how many times the effect of such a shift two values may differ
    small: float = 1e-12  # relative to the largest value of all: an entry that only rounding makes
    nothing: float = 1e-13  # relative to t, q, v and tables: what is rounding where all values of a function are 0
    symmetric: float = 1e-10  # relative asymmetry of M up to which it is rounding
    most_states: int = 12  # of a run that are looked at
    more_states: int = 100  # of every run where a function was compiled from its source, which is not Python everywhere
    # that are remembered; functions inside of functions that tell them apart
    most_structures: int = 10_000
    most_nested: int = 4


COMPARE = _Compare()

DISTANCES = (1e-3, 0.1, 1.0)  # of the states beside the start, relative to its size or 1
UNIT_SIZES = {  # of what units write
    "mass": ("profile_size",), "force": ("nv",), "gap": ("nc", "nj"), "kinematics": ("nw", "nr"), "rate": ("nq",),
    "switch": ("ne",),
}  # fmt: skip


class State(NamedTuple):
    """Where functions are called: t [s], q, v."""

    t: float
    q: np.ndarray
    v: np.ndarray


class _Part(NamedTuple):
    """Where the values of one function stand: number of the unit, and how to cut them out of what it writes."""

    which: str
    cut: Callable[[np.ndarray, State], np.ndarray]


@dataclasses.dataclass
class Comparison:
    """What a model is held against.

    Attributes
    ----------
    K, C
        Matrices of the linear forces, which the unit of the force subtracts; None where there are none.
    done
        What was looked at for models of this structure, in this process: "start", "run".
    bodies
        Velocities of the body that a function of a family of bodies belongs to, by the name of the function.
    """

    K: np.ndarray | None = None
    C: np.ndarray | None = None
    done: set[str] = dataclasses.field(default_factory=set)
    bodies: dict[str, slice] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls, text: str, functions: dict[str, UserFunction], K: np.ndarray | None, C: np.ndarray | None,
        bodies: dict[str, slice] | None = None,
    ) -> Comparison:  # fmt: skip
        """Return what a model is held against whose units have this source and were made of these functions."""
        source = hashlib.sha256(text.encode()).digest()
        key = source, *((name, _made_of(function.function)) for name, function in functions.items())
        with _looking:
            if len(_known) >= COMPARE.most_structures:
                _known.clear()
            return cls(K, C, _known.setdefault(key, set()), bodies or {})

    def at_start(self, model: CompiledModel) -> None:
        """Raise FunctionError where a function and its unit differ at the start or beside it, or where it remembers."""
        if "start" in self.done:
            return
        start = State(*model.start)
        for function in model.functions.values():
            _check_unchanged(function, start)
        states = [start, *(_moved(start, distance, k) for k, distance in enumerate(DISTANCES))]
        self._compare(model, states, False)
        self.done.add("start")

    def looked_along(self, model: CompiledModel) -> bool:
        """Return whether runs of this model need not be looked at any more."""
        return "run" in self.done and not model.opaque_names

    def along(self, model: CompiledModel, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Do the same at some states of a finished run."""
        if self.looked_along(model):
            return
        most = COMPARE.more_states if model.opaque_names else COMPARE.most_states
        # np.unique would import numpy.ma, a tenth of a first result
        places = sorted(set(np.linspace(0, len(t) - 1, most).round().astype(int).tolist()))
        self._compare(model, [State(float(t[k]), q[k].copy(), v[k].copy()) for k in places], True)
        self.done.add("run")

    def _compare(self, model: CompiledModel, states: list[State], visited: bool) -> None:
        """Compare at some states; visited: a run came by there, so that functions must have values."""
        with np.errstate(all="ignore"):
            _check_unshared(list(model.functions.values()), states)
            values = {name: _values(function, states) for name, function in model.functions.items()}
            if "M" in values:
                _check_symmetric(model.functions["M"], states, values["M"])
            parts = _parts(model)
            for which in sorted({part.which for part in parts.values()}):
                names = [name for name in parts if parts[name].which == which]
                for k, state in enumerate(states):
                    here = [values[name][k] for name in names]
                    failing = [value for value in here if isinstance(value, FunctionError)]
                    if failing and not (visited and all(map(_counts, failing))):
                        continue  # arguments that Python has no value for
                    written = _written(model, which, state)
                    if written is None:
                        continue  # a function that is called as Python failed there, or where a difference led it
                    for name in names:
                        unit, value = parts[name].cut(written, state), values[name][k]
                        if isinstance(value, FunctionError):
                            _check_failing(value, unit)
                        else:
                            self._check(model, name, parts[name], state, unit, value, values[name])

    def _check(self, model, name: str, part: _Part, state: State, unit, value, values) -> None:
        """Raise FunctionError where a unit and a value of its function differ; values: those at all states."""
        allowed = COMPARE.same * _sizes(
            [self._expected(name, one, state) for one in values if isinstance(one, np.ndarray)]
        )
        if not np.any(allowed > 0.0):  # a force that begins later: where a table is 0, rounding of its ramps is not
            known = np.concatenate([[state.t], state.q, state.v, model.units.par])
            known = np.abs(known[np.abs(known) < 1e100])  # no branches that are free
            allowed = allowed + COMPARE.nothing * known.max(initial=0.0)
        if not _far(unit, self._expected(name, value, state), allowed) or not self._certain(
            model, name, part, state, allowed
        ):
            return
        shown = [np.array2string(np.asarray(x), precision=9, threshold=12) for x in (value, unit)]
        with_linear = " (with K and C)" if name == "f" and (self.K is not None or self.C is not None) else ""
        how = "compiled from its source" if name in model.opaque_names else "traced"
        raise FunctionError(
            f"{name} returns {shown[0]} {at(*state)}, but what was made of it gives {shown[1]}{with_linear}: it is "
            f"{how}, which does not see what it asks about its arguments otherwise than by arithmetic and comparisons "
            "(their type, text, identity or attributes, exceptions); write it with those alone "
            f"{model.functions[name].where}"
        )

    def _expected(self, name: str, value: np.ndarray, state: State) -> np.ndarray:
        """What the unit should give: for the force without the linear ones, for others the value itself."""
        if name != "f" and not name.startswith("force on body"):
            return value
        made, own = np.ravel(value).copy(), self.bodies.get(name, slice(None))
        if self.K is not None:
            made -= (self.K @ state.q)[own]
        if self.C is not None:
            made -= (self.C @ state.v)[own]
        return made

    def _certain(self, model, name: str, part: _Part, state: State, allowed: np.ndarray) -> bool:
        """Whether a difference is also there at states close by: at a jump, rounding decides on which side one is."""
        function, found = model.functions[name], 0
        here = self._expected(name, function(*state), state)
        near = [
            _moved(state, distance, k)
            for k, distance in enumerate((COMPARE.shift, -COMPARE.shift, COMPARE.shift, -COMPARE.shift))
        ]
        for other in near:
            own, written = _value(function, other), _written(model, part.which, other)
            if isinstance(own, np.ndarray) and written is not None:
                own = self._expected(name, own, other)
                sensitive = COMPARE.condition * np.abs(np.ravel(own) - np.ravel(here))
                found += _far(part.cut(written, other), own, allowed + sensitive)
        return found > len(near) // 2


_known: dict[tuple, set[str]] = {}  # what was looked at, by source of the units and code of the functions
_looking = threading.Lock()


def _made_of(function: Callable, depth: int = 0) -> object:
    """Return what is the same for all functions that one definition makes, whatever values they use."""
    while isinstance(function, functools.partial):
        function = function.func
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if not isinstance(code, types.CodeType):  # an object may have an answer to every question
        return type(function)
    if depth == COMPARE.most_nested or not cells:
        return code
    inside = [cell.cell_contents for cell in cells if cell != types.CellType()]
    return code, *(_made_of(one, depth + 1) for one in inside if callable(one))


# ---- states


def _moved(state: State, distance: float, k: int) -> State:
    """A state beside another one; every coordinate goes its own way, the same one in every process."""
    t = state.t + abs(distance) * (0.37 + 0.11 * k) * max(1.0, abs(state.t))
    q, v = (
        x + distance * np.sin(1.7 * np.arange(1, len(x) + 1) * (k + 1) + shift) * np.maximum(1.0, np.abs(x))
        for x, shift in ((state.q, 0.4), (state.v, 0.9))
    )
    return State(t, q, v)


# ---- the user's functions


def _check_unchanged(function: UserFunction, start: State) -> None:
    """Refuse a function that changes what it reads: the same call once more must leave everything as it was."""
    try:
        function(*start)
        before = mark_of(function.function)
        function(*start)
        after = mark_of(function.function)
    except Unmarked:
        return  # then only its values tell
    if before != after:
        name = changed(before, after) or "what it reads"
        raise FunctionError(
            f"{function.name} changes {name} with every call: a function must depend on its arguments alone, and "
            f"nobody knows how often it is called; make what it remembers a coordinate, or keep it out {function.where}"
        )


def _check_unshared(functions: list[UserFunction], states: list[State]) -> None:
    """Refuse a function that reads what another one stores: nobody knows when that one was called before it."""
    for writer in functions:
        marks, plain = [], writer.function
        if isinstance(plain, types.FunctionType) and is_free_of_effects(plain):
            continue
        try:
            for state in states:
                _value(writer, state)
                marks.append(mark_of(writer.function))
        except Unmarked:
            continue
        if all(mark == marks[0] for mark in marks):
            continue
        for reader in functions:
            values = []
            for state in states if reader is not writer else ():
                _value(writer, state)
                values.append(_value(reader, states[0]))
            if not all(_same(value, values[0]) for value in values):
                what = next(filter(None, (changed(marks[0], mark) for mark in marks)), "something")
                raise FunctionError(
                    f"{reader.name} reads {what}, which {writer.name} changes: it gave {values[0]} and, after "
                    f"{writer.name} was called with other arguments, {_other(values)}; nobody knows which function is "
                    f"called first, so compute it in both {reader.where}"
                )


def _other(values: list[np.ndarray | FunctionError]) -> np.ndarray | FunctionError:
    return next(value for value in values if not _same(value, values[0]))


def _values(function: UserFunction, states: list[State]) -> list[np.ndarray | FunctionError]:
    """Values of a function at states, or what is wrong there; called in both directions they must be the same."""
    forwards = [_value(function, state) for state in states]
    backwards = [_value(function, state) for state in reversed(states)][::-1]
    for state, one, other in zip(states, forwards, backwards, strict=True):
        if not _same(one, other):
            raise FunctionError(
                f"{function.name} gave {one} and, after calls with other arguments, {other} {at(*state)}: it remembers "
                f"earlier calls, but it must depend on its arguments alone {function.where}"
            )
    return forwards


def _same(one: np.ndarray | FunctionError, other: np.ndarray | FunctionError) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return isinstance(one, FunctionError) and isinstance(other, FunctionError)


def _value(function: UserFunction, state: State) -> np.ndarray | FunctionError:
    made = np.empty(function.size)
    try:
        function.fill(*state, made)
    except FunctionError as error:
        return error
    return made.reshape(function.shape)


def _check_symmetric(function: UserFunction, states: list[State], values: list[np.ndarray | FunctionError]) -> None:
    for state, value in zip(states, values, strict=True):
        if not isinstance(value, np.ndarray) or value.size == 1:
            continue
        far = np.abs(value - value.T)
        if np.max(far) > COMPARE.symmetric * np.max(np.abs(value)):
            i, j = (int(k) for k in np.unravel_index(np.argmax(far), far.shape))
            raise FunctionError(
                f"M is not symmetric: M[{i}, {j}] = {value[i, j]} but M[{j}, {i}] = {value[j, i]} {at(*state)}; "
                f"make it symmetric {function.where}"
            )


# ---- the units


def _written(model: CompiledModel, which: str, state: State) -> np.ndarray | None:
    """What a unit writes, None where it fails: kinematics W and then w, retract and reset the new q and then v."""
    name, _, number = which.partition(" ")
    t, q, v, par = state.t, state.q.copy(), state.v.copy(), model.units.par
    out = np.full(sum(int(getattr(model.layout, size)) for size in UNIT_SIZES.get(name, ())), np.nan)
    nw = int(model.layout.nw)
    arguments = {
        "mass": (t, q, par, out), "force": (t, q, v, par, out), "gap": (t, q, par, out), "rate": (q, v, par, out),
        "kinematics": (t, q, par, out[:nw], out[nw:]), "switch": (t, q, v, par, out), "retract": (q, par),
        "reset": (int(number or 0), t, q, v, par),
    }  # fmt: skip
    try:
        runnable(getattr(model.units, name))(*arguments[name])
    except Exception:  # whatever a compiled function raises: the run would raise it too
        return None
    return out if name in UNIT_SIZES else np.concatenate([q, v])


def _counts(error: FunctionError) -> bool:
    """Whether it matters that a function fails where a run came by: an overflow may be the infinity that was meant."""
    return not isinstance(error.__cause__, ArithmeticError)


def _check_failing(error: FunctionError, unit: np.ndarray) -> None:
    """Raise the error of a function that has no value where what was compiled of it has one."""
    if np.all(np.isfinite(unit)):
        raise FunctionError(f"{error}; what was made of it gives {unit} there, and the run went on") from error


def _parts(model: CompiledModel) -> dict[str, _Part]:
    """Where the values of each function stand, by its name."""
    layout, functions, system = model.layout, model.functions, model.system
    nq, nv, nc = int(layout.nq), int(layout.nv), int(layout.nc)
    made = {
        "M": _Part("mass", lambda out, state: model.profile.unpack(out[: int(layout.profile_size)])),
        "f": _Part("force", lambda out, state: out[:nv]),
        "q_dot": _Part("rate", lambda out, state: out[:nq]),
        "retract": _Part("retract", lambda out, state: out[:nq]),
    }
    for k, name in enumerate(system.contact_names):
        if f"gap of contact {name!r}" not in functions:
            continue  # a row of a family that is not looked at
        made[f"gap of contact {name!r}"] = _piece("gap", k, 1)
        first, end = (int(layout[layout.contact_row + c]) for c in (k, k + 1))
        made[f"W of contact {name!r}"] = _Part("kinematics", _row_cut(model, first))
        made[f"slip of contact {name!r}"] = _Part("kinematics", _slip_cut(model, first + 1, end))
    if system.bodies:
        del made["f"]  # part of what acts on bodies
    place = nc
    for name, size in zip(system.joint_names, model.joint_sizes, strict=True):
        made[f"constraint of joint {name!r}"] = _piece("gap", place, size)
        place += size
    for name, own in model.comparison.bodies.items():
        made[name] = _body_part(model, name, own)
    for k, name in enumerate(model.event_names):
        made[f"function of event {name!r}"] = _piece("switch", k, 1)
        made[f"reset of event {name!r}"] = _piece(f"reset {k}", 0, nq + nv)
    return {name: part for name, part in made.items() if name in functions}


def _body_part(model: CompiledModel, name: str, own: slice) -> _Part:
    """Where mass or force of one body stands; a mass that is a diagonal is compared as one."""
    if name.startswith("force"):
        return _piece("force", own.start, own.stop - own.start)
    square = len(model.functions[name].shape) == 2

    def cut(out: np.ndarray, state: State) -> np.ndarray:
        block = model.profile.block(out, own)
        return block if square else np.diagonal(block)

    return _Part("mass", cut)


def _piece(which: str, begin: int, size: int) -> _Part:
    return _Part(which, lambda out, state: out[begin : begin + size])


def _row_cut(model: CompiledModel, row: int) -> Callable:
    layout = model.layout

    def cut(out: np.ndarray, state: State) -> np.ndarray:
        begin, end = (int(layout[layout.W_ptr + r]) for r in (row, row + 1))
        made = np.zeros(len(state.v))
        made[layout[layout.W_col + begin : layout.W_col + end]] = out[begin:end]
        return made

    return cut


def _slip_cut(model: CompiledModel, first: int, end: int) -> Callable:
    rows = [_row_cut(model, row) for row in range(first, end)]
    w = int(model.layout.nw)

    def cut(out: np.ndarray, state: State) -> np.ndarray:
        return np.array([row(out, state) @ state.v for row in rows]) + out[w + first : w + end]

    return cut


def _sizes(values: list[np.ndarray]) -> np.ndarray:
    """The largest size of each entry, and at least a share of the largest one of all."""
    sizes = np.max([np.abs(np.ravel(value)) for value in values], axis=0)
    return np.maximum(sizes, COMPARE.small * np.max(sizes))


def _far(one: np.ndarray, other: np.ndarray, allowed: np.ndarray) -> bool:
    return not bool(np.all(np.abs(np.ravel(one) - np.ravel(other)) <= allowed))
