"""The kinds of values that kernels exchange, and what each of them is as machine words.

A kernel has one C convention: `int32 f(ret*, exc*, words...)`. A float is a double, an integer an int64, a vector the
address of its numbers and their count, a matrix an address and two counts, a function its address, a handle the address
of a record, a record the words of its members one after the other. Nothing here knows a compiler.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib

FLOAT, INTEGER, ADDRESS = "d", "q", "p"  # the letters of ctypes and struct


class Kind:
    """What a value is. `leaves` has one letter per machine word, `name` is the same in every process."""

    name: str
    leaves: str

    def __call__(self, *arguments: Kind) -> Signature:
        """Return the signature of a function that returns this kind: I(F, A) takes a float and a vector."""
        return Signature(self, arguments)

    def __repr__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Scalar(Kind):
    """A number."""

    name: str
    leaves: str


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Array(Kind):
    """Contiguous numbers of one kind, in one or two dimensions."""

    name: str
    dtype: Scalar
    ndim: int

    @property
    def leaves(self) -> str:
        return ADDRESS + INTEGER * self.ndim


@dataclasses.dataclass(frozen=True, repr=False)
class Signature:
    """What a function takes and returns."""

    returns: Kind
    arguments: tuple[Kind, ...]

    def __repr__(self) -> str:
        return f"{self.returns}({', '.join(map(repr, self.arguments))})"

    @property
    def leaves(self) -> str:
        """The words of all arguments."""
        return "".join(kind.leaves for kind in self.arguments)


@dataclasses.dataclass(frozen=True, repr=False)
class Pointer(Kind):
    """The address of a function."""

    signature: Signature
    leaves = ADDRESS

    @property
    def name(self) -> str:
        return f"*{self.signature!r}"


@dataclasses.dataclass(frozen=True, repr=False)
class Record(Kind):
    """A named tuple whose members have these kinds."""

    members: tuple[Kind, ...]
    type: type

    @property
    def name(self) -> str:
        return f"{self.type.__name__}{self.members!r}"

    @property
    def leaves(self) -> str:
        return "".join(kind.leaves for kind in self.members)


@dataclasses.dataclass(frozen=True, repr=False)
class Handle(Kind):
    """The address of a record; kernels read its members from there."""

    record: Record
    leaves = ADDRESS

    @functools.cached_property
    def name(self) -> str:
        # a hash, because records name functions that take handles of records ...
        inside = hashlib.sha256(self.record.name.encode()).hexdigest()[:12]
        return f"&{self.record.type.__name__}:{inside}"


F, I = Scalar("F", FLOAT), Scalar("I", INTEGER)  # noqa: E741  the short names of the two scalar kinds
A, J, B = Array("A", F, 1), Array("J", I, 1), Array("B", F, 2)  # vector, vector of integers, matrix
