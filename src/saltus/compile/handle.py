"""Handles: a record of kernels passed by its address.

A model has eight functions and three arrays, thirty words; passed by value through every call they cost more than the
mechanics, in time and in compilation. `handle(record)` puts a named tuple on the stack of the caller and gives its
address; members are read from there, a member that is itself a record as a handle again. It is valid while the
function that made it runs. Interpreted, a handle is the named tuple itself.

To hand a record over from Python takes numba 3 us per function. A `Pinned` record was handed over once and lies in
memory of its own; Python passes its address, which costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import (
    NativeValue,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

MOST_WORDS = 512  # of a pinned record


class Handle(types.Type):
    """The address of a record of a named tuple type; `label` names it in symbols."""

    def __init__(self, record: types.BaseNamedTuple, label: str):
        self.record, self.label = record, label
        super().__init__(f"Handle({label})")

    @property
    def key(self):
        return self.label, self.record

    @property
    def mangling_args(self):
        return self.label, ()

    def member(self, name: str):
        """Return the place and the type of a member; records inside of a record are handles."""
        place = self.record.fields.index(name)
        kind = self.record.types[place]
        if isinstance(kind, types.BaseNamedTuple):
            return place, HANDLES[kind]
        return place, kind


HANDLES: dict[types.Type, Handle] = {}


def handle_type(record: types.BaseNamedTuple, label: str) -> Handle:
    """Return the handle type of a named tuple type, registered under its label."""
    if record not in HANDLES:
        HANDLES[record] = Handle(record, label)
    return HANDLES[record]


@register_model(Handle)
class _HandleModel(models.PrimitiveModel):
    def __init__(self, manager, handle):
        super().__init__(manager, handle, manager.lookup(handle.record).get_value_type().as_pointer())


@infer_getattr
class _TypeMember(AttributeTemplate):
    key = Handle

    def generic_resolve(self, handle, name):
        return handle.member(name)[1] if name in handle.record.fields else None


@lower_getattr_generic(Handle)
def _lower_member(context, builder, handle, value, name):
    place, kind = handle.member(name)
    index = ir.IntType(32)
    address = builder.gep(value, [index(0), index(place)], inbounds=True)
    return address if isinstance(kind, Handle) else builder.load(address)


def handle(record):
    """Return the address of a record for the calls that this function makes."""
    return record


@type_callable(handle)
def _type_handle(context):
    return lambda record: HANDLES[record]


@lower_builtin(handle, types.BaseNamedTuple)
def _lower_handle(context, builder, sig, args):
    return cgutils.alloca_once_value(builder, args[0])


# ---- records that stay


class Pinned:
    """A record in memory of its own, for entries that take its handle; the record lives as long as this object."""

    __slots__ = ("address", "kind", "memory", "record")

    def __init__(self, kind: Handle, record: Any, place):
        """Let the unit `place` (record, memory -> bytes) write a record down."""
        self.kind, self.record, self.memory = kind, record, np.zeros(MOST_WORDS)
        self.address = self.memory.ctypes.data
        size = place(record, self.memory)
        if size > self.memory.nbytes:
            raise RuntimeError(f"a record of type {kind} needs {size} bytes: enlarge MOST_WORDS")


typeof_impl.register(Pinned)(lambda value, context: value.kind)


@unbox(Handle)
def _unbox_handle(kind, pinned, c):
    number = c.pyapi.object_getattr_string(pinned, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(address, c.context.get_value_type(kind)))


def write(record, memory):
    """Write a record to the front of memory, if it fits, and return its size [bytes]."""
    return 0


@type_callable(write)
def _type_write(context):
    return lambda record, memory: types.int64


@lower_builtin(write, types.BaseNamedTuple, types.Any)
def _lower_write(context, builder, sig, args):
    value, memory = args
    size = context.get_abi_sizeof(value.type)
    if size <= 8 * MOST_WORDS:
        data = cgutils.create_struct_proxy(sig.args[1])(context, builder, value=memory).data
        builder.store(value, builder.bitcast(data, value.type.as_pointer()), align=8)
    return context.get_constant(types.int64, size)
