"""Units: kernels with declared signatures, called from Python through ctypes or interpreted.

A unit knows its source and its signatures. Where its machine code comes from (the object file of the package, the
compiler of generated models, numba) is asked when its address is first needed.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from saltus.compile import code
from saltus.compile.failure import raise_failure
from saltus.compile.kinds import Array, F, Handle, Kind, Named, Opaque, Pointer, Record, Signature

_C = {"d": ctypes.c_double, "q": ctypes.c_int64, "p": ctypes.c_void_p}
_FLOAT, _INTEGER = np.dtype(np.float64), np.dtype(np.int64)
_BYTE = ctypes.c_char
_others = itertools.count()


class Unit:
    """A kernel."""

    __name__: str
    __qualname__: str

    def __init__(self, function, signatures: tuple, *, small: bool, nogil: bool, allocates: bool):
        functools.update_wrapper(self, function)
        self.py_func = function
        self.unit_signatures = [getattr(s, "signature", s) for s in signatures]
        self.inlined, self.nogil, self.allocates = small, nogil, allocates
        self.addresses: dict[int, int] = {}  # by version
        self._calls: dict[int, tuple] = {}
        module = function.__module__ or ""
        # units of the package have the same symbol in every process; a user may use a name twice
        self.own = module.split(".")[0] == "saltus"
        suffix = "" if self.own else f"_{next(_others)}"
        self._stem = f"{module.replace('.', '_')}__{function.__name__}{suffix}"

    def __repr__(self) -> str:
        return f"<unit {self.__module__}.{self.__qualname__}>"

    def __reduce__(self):
        return self.__qualname__  # found by name in its module

    def symbol(self, version: int) -> str:
        """Return the name of one version in object files."""
        return f"{self._stem}_{version}"

    def version(self, signature: Signature | None) -> int:
        """Return the number of a declared signature, the first by default."""
        if signature is None:
            return 0
        for k, declared in enumerate(self.unit_signatures):
            if declared is signature:
                return k
        return self.unit_signatures.index(signature)

    def address(self, version: int = 0) -> int:
        """Return the address of the machine code; it is loaded or made on first use."""
        found = self.addresses.get(version)
        return code.provide(self, version) if found is None else found

    def address_of(self, signature: Signature | None = None) -> int:
        """Return the address of the version with a signature, the first one by default."""
        return self.address(self.version(signature))

    def __call__(self, *arguments):
        """Run the kernel: compiled on arrays and records of Python, or interpreted where nothing is compiled."""
        if code.interpreting():
            return self.py_func(*map(_plain, self.unit_signatures[0].arguments, arguments))
        version = 0 if len(self.unit_signatures) == 1 else self._fitting(arguments)
        made = self._calls.get(version) or self._prepare(version)
        function, kinds, result = made
        words: list = []
        keep = [_append(kind, value, words) for kind, value in zip(kinds, arguments, strict=True)]
        returned = result()
        status = function(ctypes.addressof(returned), None, *words)
        del keep
        if status != 0:
            raise_failure(status)
        return returned.value

    def bound(self, *arguments) -> Callable[..., int]:
        """Return the kernel with its first arguments fixed; the others, numbers, are given with every call.

        For loops that cross from Python often: records and arrays are taken apart once. They must stay where they are.
        """
        if code.interpreting():
            return lambda *others: self(*arguments, *others)
        version = 0 if len(self.unit_signatures) == 1 else self._fitting(arguments)
        function, kinds, result = self._calls.get(version) or self._prepare(version)
        words: list = []
        keep = [_append(kind, value, words) for kind, value in zip(kinds, arguments, strict=False)]
        returned = result()
        place = ctypes.addressof(returned)

        def call(*others) -> int:
            status = function(place, None, *words, *others)
            if status != 0:
                raise_failure(status)
            return returned.value

        call.keep = keep  # type: ignore[attr-defined]  what the words point to lives as long as the call
        return call

    def _prepare(self, version: int) -> tuple:
        signature = self.unit_signatures[version]
        prototype = ctypes.CFUNCTYPE if self.nogil else ctypes.PYFUNCTYPE
        words = (_C[leaf] for leaf in signature.leaves)
        function = prototype(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *words)(self.address(version))
        made = function, signature.arguments, _C[signature.returns.leaves]
        self._calls[version] = made
        return made

    def _fitting(self, arguments: tuple) -> int:
        """Return the version whose handles are those of the pinned records among the arguments."""
        for k, signature in enumerate(self.unit_signatures):
            pairs = zip(signature.arguments, arguments, strict=False)
            if all(value.kind is kind for kind, value in pairs if isinstance(value, Pinned)):
                return k
        raise TypeError(f"{self!r} has no version for these records")


class Pinned:
    """A record in memory of its own, passed by its address; what it refers to lives as long as this object."""

    __slots__ = ("address", "kind", "memory", "record")

    def __init__(self, kind: Handle, record: Any):
        words: list = []
        _append(kind.record, record, words)
        self.kind, self.record = kind, record
        self.memory = np.array(
            [word if type(word) is int and word >= 0 else _bits(word) for word in words], dtype=np.uint64
        )
        self.address = self.memory.ctypes.data

    def replaced(self, **arrays: np.ndarray) -> Pinned:
        """Return the same record with other arrays; only their words are made anew."""
        made = object.__new__(Pinned)
        made.kind, made.record = self.kind, self.record._replace(**arrays)
        made.memory = memory = self.memory.copy()
        kinds, places = _places_of(self.kind.record, tuple(arrays))
        words: list = []
        for kind, array in zip(kinds, arrays.values(), strict=True):
            words.append(_place(kind, array))
            words.extend(array.shape)
        memory[places] = words
        made.address = ctypes.addressof(_BYTE.from_buffer(memory))  # pyright: ignore[reportArgumentType]
        return made


@functools.lru_cache(maxsize=1024)
def _places_of(record: Record, names: tuple[str, ...]) -> tuple[list, np.ndarray]:
    """Return the kinds of some arrays of a record, and where all their words are."""
    members = [_places(record)[name] for name in names]
    places = [begin + k for kind, begin in members for k in range(1 + kind.ndim)]
    return [kind for kind, _ in members], np.array(places)


@functools.cache
def _places(record: Record) -> dict[str, tuple[Any, int]]:
    """Return the kind of every member of a record, and where its words begin."""
    made, begin = {}, 0
    for name, member in zip(record.type._fields, record.members, strict=True):  # pyright: ignore[reportAttributeAccessIssue]
        made[name] = member, begin
        begin += len(member.leaves)
    return made


def _plain(kind: Kind, value: Any) -> Any:
    """Return what an interpreted kernel takes: the record itself for the address of one."""
    if type(kind) is Record and type(value) is kind.type:
        return kind.type(*map(_plain, kind.members, value))
    return value.record if type(kind) is Handle and hasattr(value, "address") else value


def _bits(word: int | float) -> int:
    """Return what a word of a record is in memory."""
    if isinstance(word, float):
        return int(np.float64(word).view(np.uint64))
    return int(word) & 0xFFFFFFFFFFFFFFFF


def _append(kind: Kind, value: Any, words: list) -> Any:
    """Append the words of a value; what is returned must live as long as they are used."""
    sort = type(kind)
    if sort is Array or sort is Named:
        words.append(_place(kind, value))  # pyright: ignore[reportArgumentType]
        words.extend(value.shape)
        return value
    if sort is Record:
        return [_append(member, part, words) for member, part in zip(kind.members, value, strict=True)]  # pyright: ignore[reportAttributeAccessIssue]
    if type(kind) is Pointer:
        words.append(value.address_of(kind.signature))
        return None
    if type(kind) is Handle:
        pinned = (
            Pinned(kind, value) if isinstance(value, tuple) else value
        )  # a record; else a room or one that is pinned
        words.append(pinned.address)
        return pinned
    if type(kind) is Opaque:
        words.append(value.address)
        return value
    words.append(float(value) if kind is F else int(value))
    return None


def _place(kind: Array, value: Any) -> int:
    """Return where the numbers of an array lie; it must be one that kernels can read."""
    wanted = _FLOAT if kind.dtype is F else _INTEGER
    # most types are the same object, which is asked for four times faster than whether they are equal
    if not isinstance(value, np.ndarray) or (value.dtype is not wanted and value.dtype != wanted):
        raise TypeError(f"a kernel takes arrays of {kind.dtype.leaves}, not {type(value).__name__} {value!r:.60}")
    if value.ndim != kind.ndim:
        raise TypeError(f"a kernel takes arrays of {kind.ndim} dimensions, not of {value.ndim}")
    try:
        # five times faster than asking the array
        return ctypes.addressof(_BYTE.from_buffer(value))  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):  # empty, read-only or not contiguous
        if not value.flags.c_contiguous:
            raise TypeError(f"a kernel takes C-contiguous arrays, not one with strides {value.strides}") from None
        return value.ctypes.data
