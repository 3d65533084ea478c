"""Workspaces: memory of kernels, declared once as records with named fields.

    SETTINGS = Numbers("theta gamma closed_tolerance")            places of a vector by name: settings.theta
    STEP = Workspace("MoreauJean", M="size", u="nr", active=integers("nc"), react=REACT)

A field is a vector with a symbolic size, a vector with named places, another workspace, a room of somebody else, or
several such rooms of one kind (`room_at(work.columns, j)` is one of them).
Fields that are never in use together share their bytes where `any_of` says so. `plan` of a workspace takes the sizes
and says where everything lies; `allocate` of the plan makes a room: one block of floats, one of integers, and the
addresses of all fields. Kernels that are reached through a pointer take the room and say what it is,
`work = STEP(room)`; from there on they read `work.u[i]`, `work.react.X`.

Interpreted, a field is an array of exactly its size: an index outside of it is an error, a negative one as well.
"""

from __future__ import annotations

import ast
import ctypes
import functools
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from saltus.compile.kinds import ROOM, A, F, Handle, I, J, Kind, Named, Record
from saltus.compile.parsing import parsed_expression

__all__ = ["Numbers", "Room", "RoomPlan", "Workspace", "any_of", "integers", "room", "rooms"]

LITERAL, FLOATS, OF_INTEGERS, OF_WORDS = range(4)  # what is added to a word when a room is made: nothing or an address
WORD = 8  # bytes of a float, an integer, an address
_BYTE = ctypes.c_char


class Vector(np.ndarray):
    """An array without negative indices: in machine code they would lie in front of it."""

    def __getitem__(self, key):
        if key.__class__ is int and key < 0:
            raise IndexError(f"index {key} of a vector of {len(self)} numbers")
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        if key.__class__ is int and key < 0:
            raise IndexError(f"index {key} of a vector of {len(self)} numbers")
        super().__setitem__(key, value)


class Numbers:
    """A vector whose places have names.

    Parameters
    ----------
    names
        The names, separated by blanks.
    integer
        Whether they are integers.
    """

    def __init__(self, names: str, *, integer: bool = False):
        self.names = tuple(names.split())
        taken = [name for name in self.names if hasattr(Vector, name)]
        if taken or len(set(self.names)) < len(self.names):
            raise ValueError(f"{', '.join(taken) or names}: an array has this attribute already, or it comes twice")
        self.kind = Named(I if integer else F, self.names)
        self.size = len(self.names)

    def __repr__(self) -> str:
        return f"Numbers {self.kind.name}"

    def __call__(self, vector) -> Any:
        """Return a vector with these names; kernels see the same numbers."""
        return np.asarray(vector).view(self._array)

    def filled(self, **values: float) -> np.ndarray:
        """Return these numbers as an array; every name must be given."""
        if set(values) != set(self.names):
            raise TypeError(f"numbers {sorted(set(values) ^ set(self.names))} are unknown or missing")
        return np.array([values[name] for name in self.names], dtype=float if self.kind.dtype is F else np.int64)

    @functools.cached_property
    def _array(self) -> type:
        places = {name: _place(k) for k, name in enumerate(self.names)}
        return type("NamedVector", (Vector,), places)


def _place(k: int) -> property:
    def read(vector, item=np.ndarray.__getitem__):  # without a look at the sign of the place, which is known
        return item(vector, k)

    def write(vector, value, put=np.ndarray.__setitem__):
        put(vector, k, value)

    return property(read, write)


class _Field:
    """A vector of a symbolic size."""

    def __init__(self, size: str, kind: Kind):
        self.size, self.kind = size, kind


class _Guest:
    """A room of somebody else inside of a workspace; its plan is given with the sizes, under this name."""

    def __init__(self, name: str, count: str | None = None):
        self.name, self.count, self.kind = name, count, ROOM if count is None else J


class _Alternatives:
    def __init__(self, fields: dict[str, Any]):
        self.fields = fields


def integers(size: str) -> _Field:
    """Return a field of integers."""
    return _Field(size, J)


def room(name: str) -> _Guest:
    """Return a field that is a room whose plan is given with the sizes, for workspaces of parts that can be chosen."""
    return _Guest(name)


def rooms(name: str, count: str) -> _Guest:
    """Return a field of several such rooms."""
    return _Guest(name, count)


def any_of(**fields: Any) -> _Alternatives:
    """Return fields of which one is in use at a time, so that they lie in the same place."""
    return _Alternatives(fields)


class Workspace:
    """The fields of a record; see the head of the file."""

    def __init__(self, name: str, *alternatives: _Alternatives, **fields: Any):
        self.name = name
        self.groups = [{key: _field(value)} for key, value in fields.items()]
        self.groups += [{key: _field(value) for key, value in one.fields.items()} for one in alternatives]
        self.fields = {key: value for group in self.groups for key, value in group.items()}
        self.type = namedtuple(name, tuple(self.fields))
        kinds: list[Kind] = [
            field.record if isinstance(field, Workspace) else field.kind for field in self.fields.values()
        ]
        self.record = Record(kinds, self.type)
        self.kind = Handle(self.record)

    def __repr__(self) -> str:
        return f"Workspace {self.record.name}"

    def __call__(self, given) -> Any:
        """Return a room as this workspace; interpreted, the record of its arrays."""
        return given.record if isinstance(given, Room) else given

    def plan(self, sizes: Mapping[str, Any]) -> RoomPlan:
        """Return where everything lies for these sizes: numbers, and plans of rooms, by name."""
        return _planned(self, tuple(sizes.items()))


def _field(value: Any) -> Any:
    return _Field(value, A) if isinstance(value, str) else value


class RoomPlan:
    """Where the fields of a workspace lie, in units of a word.

    Attributes
    ----------
    floats, integers
        How many of them a room has.
    """

    def __init__(self, workspace: Workspace, sizes: Mapping[str, Any]):
        self.workspace = workspace
        self.floats = self.integers = 0
        self._words: list[int] = []
        self._bases: list[int] = []
        self._guests: list[list] = []  # place of the address, plan, first float, first integer
        self._tables: list[tuple[int, int, int]] = []  # place of the address of addresses, first guest, their number
        self.tree = self._lay(workspace, sizes)
        for place, first, count in self._tables:
            self._words[place] = len(self._words) * WORD
            for guest in self._guests[first : first + count]:
                guest[0] = len(self._words)
                self._put(0, OF_WORDS)
        for place, plan, at_float, at_integer in self._guests:
            begin = len(self._words)
            self._words[place] = begin * WORD
            shift = {LITERAL: 0, FLOATS: at_float * WORD, OF_INTEGERS: at_integer * WORD, OF_WORDS: begin * WORD}
            self._words += [int(word) + shift[int(base)] for word, base in zip(plan.words, plan.bases, strict=True)]
            self._bases += plan.bases.tolist()
        self.words = np.array(self._words, dtype=np.int64)
        self.bases = np.array(self._bases, dtype=np.int64)

    def _lay(self, workspace: Workspace, sizes: Mapping[str, Any]) -> list:
        """Give the fields their places and return them; fields of one group begin in the same one."""
        places = []
        for group in workspace.groups:
            begin, ends = (self.floats, self.integers), []
            for field in group.values():
                self.floats, self.integers = begin
                places.append(self._lay_field(field, sizes))
                ends.append((self.floats, self.integers))
            self.floats, self.integers = (max(end) for end in zip(*ends, strict=True))
        return places

    def _lay_field(self, field: Any, sizes: Mapping[str, Any]) -> Any:
        if isinstance(field, Workspace):
            return self._lay(field, sizes)
        begin = self.floats, self.integers
        if isinstance(field, _Guest):
            count = 1 if field.count is None else size_of(field.count, sizes)
            if field.count is not None:  # a vector of addresses, which stand behind all other words
                self._tables.append((len(self._words), len(self._guests), count))
                self._put(0, OF_WORDS)
                self._put(count, LITERAL)
            plan, places = sizes[field.name], []
            for _ in range(count):
                places.append((self.floats, self.integers))
                place = -1 if field.count is not None else len(self._words)
                self._guests.append([place, plan, self.floats, self.integers])
                self.floats += plan.floats
                self.integers += plan.integers
            if field.count is None:
                self._put(0, OF_WORDS)
            return plan, places
        count = field.size if isinstance(field, Numbers) else size_of(field.size, sizes)
        if field.kind.dtype is F:
            self._put(self.floats * WORD, FLOATS)
            self.floats += count
        else:
            self._put(self.integers * WORD, OF_INTEGERS)
            self.integers += count
        self._put(count, LITERAL)
        return begin, (self.floats, self.integers)

    def _put(self, word: int, base: int) -> None:
        self._words.append(word)
        self._bases.append(base)

    def place(self, name: str) -> range:
        """Return where the numbers of a field of floats stand among all floats of a room."""
        begin, end = self.tree[list(self.workspace.fields).index(name)]
        return range(begin[0], end[0])

    def allocate(self) -> Room:
        """Return a room of zeros."""
        return Room(self, np.zeros(self.floats), np.zeros(self.integers, dtype=np.int64))

    def addresses(self, floats: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Return the words of a room whose numbers lie there."""
        words = self.words.copy()
        begins = np.array((0, _address(floats), _address(whole), _address(words)))  # by what is added to a word
        words += begins.take(self.bases)
        return words


@functools.lru_cache(maxsize=128)
def _planned(workspace: Workspace, sizes: tuple[tuple[str, Any], ...]) -> RoomPlan:
    """Return a plan, the same one for the same sizes: making it takes longer than solving a small contact problem."""
    return RoomPlan(workspace, dict(sizes))


def _address(block: np.ndarray) -> int:
    """Return where numbers lie, 0 where there are none; ten times faster than block.ctypes."""
    return ctypes.addressof(_BYTE.from_buffer(block)) if block.size else 0  # pyright: ignore[reportArgumentType]


class Room:
    """Memory of a workspace; kernels take its address.

    Attributes
    ----------
    floats, integers
        All numbers, field by field; they are what a checkpoint keeps.
    """

    __slots__ = ("_begin", "_record", "_words", "floats", "integers", "plan")

    def __init__(self, plan: RoomPlan, floats: np.ndarray, whole: np.ndarray):
        self.plan, self.floats, self.integers = plan, floats, whole
        self._words = self._record = None

    @property
    def address(self) -> int:
        """Where compiled kernels find the addresses of the fields."""
        if self._words is None:
            self._words = self.plan.addresses(self.floats, self.integers)
            self._begin = _address(self._words)
        return self._begin

    def part(self, name: str) -> np.ndarray:
        """Return one vector, without making the whole record."""
        begin, end = self.plan.tree[list(self.plan.workspace.fields).index(name)]
        block = 0 if begin[1] == end[1] else 1
        return (self.floats, self.integers)[block][begin[block] : end[block]]

    def clear(self) -> None:
        """Forget everything."""
        self.floats[:] = 0.0
        self.integers[:] = 0

    @property
    def record(self) -> Any:
        """The fields as arrays, for interpreted kernels and for tests."""
        if self._record is None:
            self._record = self._fields(self.plan.workspace, self.plan.tree)
        return self._record

    def _fields(self, workspace: Workspace, places: list) -> Any:
        made = []
        for field, place in zip(workspace.fields.values(), places, strict=True):
            if isinstance(field, Workspace):
                made.append(self._fields(field, place))
            elif isinstance(field, _Guest):
                plan, begins = place
                inner = [self._inner(plan, *begin) for begin in begins]
                made.append(inner[0] if field.count is None else inner)
            else:
                block = 0 if field.kind.dtype is F else 1
                begin, end = place[0][block], place[1][block]
                view = (self.floats, self.integers)[block][begin:end]
                made.append(field(view) if isinstance(field, Numbers) else view.view(Vector))
        return workspace.type(*made)

    def _inner(self, plan: RoomPlan, at_float: int, at_integer: int) -> Room:
        whole = self.integers[at_integer : at_integer + plan.integers]
        return Room(plan, self.floats[at_float : at_float + plan.floats], whole)


def size_of(text: str, sizes: Mapping[str, Any]) -> int:
    """Return the value of a size such as "2*nv + nr"."""
    return _value(_parsed(text), sizes)


@functools.cache
def _parsed(text: str) -> ast.expr:
    return parsed_expression(text)


def _value(node: ast.expr, sizes: Mapping[str, Any]) -> int:
    if isinstance(node, ast.Constant):
        return int(node.value)  # pyright: ignore[reportArgumentType]
    if isinstance(node, ast.Name):
        return int(sizes[node.id])
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, sizes), _value(node.right, sizes)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "max":
        return max(_value(argument, sizes) for argument in node.args)
    raise ValueError(f"{ast.unparse(node)} is no size: it takes names, numbers, +, -, * and max(...)")
