"""The kinds of values that kernels exchange, and what each of them is as machine words.

A kernel has one C convention: `int32 f(ret*, exc*, words...)`. A float is a double, an integer an int64, a vector the
address of its numbers and their count, a matrix an address and two counts, a function its address, a handle the address
of a record, a record the words of its members one after the other. The result goes to `ret`; what is returned is 0, or
the code of a failure that every caller hands on. Nothing here knows a compiler.
"""

from __future__ import annotations

import functools
import hashlib

FLOAT, INTEGER, ADDRESS = "d", "q", "p"  # the letters of ctypes and struct


class Kind:
    """What a value is. `leaves` has one letter per machine word, `name` is the same in every process."""

    def __init__(self, name: str, leaves: str):
        self.name, self.leaves = name, leaves

    def __call__(self, *arguments: Kind) -> Signature:
        """Return the signature of a function that returns this kind: I(F, A) takes a float and a vector."""
        return Signature(self, arguments)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Kind) and self.name == other.name)

    def __hash__(self) -> int:
        return hash(self.name)


class Scalar(Kind):
    """A number."""


class Array(Kind):
    """Contiguous numbers of one kind, in one or two dimensions."""

    def __init__(self, name: str, dtype: Scalar, ndim: int):
        # counts are never negative: as addresses they are the same words, and ctypes passes them twice as fast
        super().__init__(name, ADDRESS * (1 + ndim))
        self.dtype, self.ndim = dtype, ndim


class Named(Array):
    """A vector whose places have names: kernels read and write `settings.theta` for settings[0]."""

    def __init__(self, dtype: Scalar, names: tuple[str, ...]):
        super().__init__(f"{dtype.name}[{' '.join(names)}]", dtype, 1)
        self.names = names


class Opaque(Kind):
    """The address of a workspace; only who made it knows what lies there (compile/workspace.py)."""


class Signature:
    """What a function takes and returns."""

    def __init__(self, returns: Kind, arguments: tuple[Kind, ...]):
        self.returns, self.arguments = returns, arguments

    @functools.cached_property
    def name(self) -> str:
        return f"{self.returns}({', '.join(kind.name for kind in self.arguments)})"

    @property
    def leaves(self) -> str:
        """The words of all arguments."""
        return "".join(kind.leaves for kind in self.arguments)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Signature) and self.name == other.name)

    def __hash__(self) -> int:
        return hash(self.name)


class Pointer(Kind):
    """The address of a function."""

    def __init__(self, signature: Signature):
        super().__init__(f"*{signature.name}", ADDRESS)
        self.signature = signature


class Record(Kind):
    """A named tuple whose members have these kinds."""

    def __init__(self, members: list[Kind], named_tuple: type):
        names = named_tuple._fields  # pyright: ignore[reportAttributeAccessIssue]
        inside = ", ".join(f"{name}: {kind.name}" for name, kind in zip(names, members, strict=True))
        super().__init__(f"{named_tuple.__name__}({inside})", "".join(kind.leaves for kind in members))
        self.members, self.type = tuple(members), named_tuple


class Handle(Kind):
    """The address of a record; kernels read its members from there."""

    def __init__(self, record: Record):
        # a hash, because records name functions that take handles of records that name functions ...
        inside = hashlib.sha256(record.name.encode()).hexdigest()[:12]
        super().__init__(f"&{record.type.__name__}:{inside}", ADDRESS)
        self.record = record


F, I = Scalar("F", FLOAT), Scalar("I", INTEGER)  # noqa: E741  the short names of the two scalar kinds
A, J, B = Array("A", F, 1), Array("J", I, 1), Array("B", F, 2)  # vector, vector of integers, matrix
ROOM = Opaque("room", ADDRESS)
