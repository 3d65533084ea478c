"""Kinds as numba's types."""

from __future__ import annotations

import functools

from numba import types

from saltus.compile import kinds
from saltus.compile.jit.arrays import Thin
from saltus.compile.jit.calls import PointerType
from saltus.compile.jit.handles import HandleType
from saltus.compile.jit.workspaces import ROOM, NamedVector

_SCALARS = {kinds.F: types.float64, kinds.I: types.int64}


@functools.cache
def numba_type(kind: kinds.Kind):
    """Return the numba type of a kind."""
    if isinstance(kind, kinds.Scalar):
        return _SCALARS[kind]
    if isinstance(kind, kinds.Opaque):
        return ROOM
    if isinstance(kind, kinds.Named):
        return NamedVector(_SCALARS[kind.dtype], kind.names)
    if isinstance(kind, kinds.Array):
        return Thin(_SCALARS[kind.dtype], kind.ndim)
    if isinstance(kind, kinds.Pointer):
        return PointerType(kind.name, numba_signature(kind.signature))
    if isinstance(kind, kinds.Handle):
        return HandleType(numba_type(kind.record))
    if isinstance(kind, kinds.Record):
        members = [numba_type(member) for member in kind.members]
        if len(set(members)) == 1:  # what numba itself makes of equal members
            return types.NamedUniTuple(members[0], len(members), kind.type)
        return types.NamedTuple(members, kind.type)
    raise TypeError(f"{kind!r} is no kind of a kernel")


@functools.cache
def numba_signature(signature: kinds.Signature):
    """Return a signature in numba's types."""
    return numba_type(signature.returns)(*map(numba_type, signature.arguments))
