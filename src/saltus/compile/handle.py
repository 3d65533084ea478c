"""Handles: a record of kernels passed by its address.

A model has eight functions and three arrays, thirty words; passed by value through every call they cost more than the
mechanics, in time and in compilation. `handle(record)` puts a named tuple on the stack of the caller and gives its
address; members are read from there, a member that is itself a record as a handle again. It is valid while the
function that made it runs. Interpreted, a handle is the named tuple itself.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import lower_builtin, lower_getattr_generic, models, register_model, type_callable


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
