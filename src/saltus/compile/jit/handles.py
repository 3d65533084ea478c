"""Handles in compiled code: the address of a record, whose members are read from there."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import lower_builtin, lower_cast, lower_getattr_generic, models, register_model, type_callable

from saltus.compile.views import handle


class RoomType(types.Type):
    """The address of a workspace, whatever it is."""

    def __init__(self):
        super().__init__("Room")


@register_model(RoomType)
class _RoomModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


class HandleType(types.Type):
    """The address of a record of a named tuple type."""

    def __init__(self, record: types.BaseNamedTuple):
        self.record = record
        super().__init__(f"Handle({record})")

    @property
    def key(self):
        return self.record

    @property
    def mangling_args(self):
        return "Handle", ()

    def can_convert_to(self, typingctx, other):
        return Conversion.safe if isinstance(other, RoomType) else None  # a room is the address of some workspace

    def member(self, name: str):
        """Return the place and the type of a member; records inside of a record are handles."""
        place = self.record.fields.index(name)
        kind = self.record.types[place]
        return place, HandleType(kind) if isinstance(kind, types.BaseNamedTuple) else kind


@register_model(HandleType)
class _HandleModel(models.PrimitiveModel):
    def __init__(self, manager, handle):
        super().__init__(manager, handle, manager.lookup(handle.record).get_value_type().as_pointer())


@infer_getattr
class _TypeMember(AttributeTemplate):
    key = HandleType

    def generic_resolve(self, handle, name):
        return handle.member(name)[1] if name in handle.record.fields else None


@lower_getattr_generic(HandleType)
def _lower_member(context, builder, handle, value, name):
    place, kind = handle.member(name)
    index = ir.IntType(32)
    address = builder.gep(value, [index(0), index(place)], inbounds=True)
    return address if isinstance(kind, HandleType) else builder.load(address)


@lower_cast(HandleType, RoomType)
def _lower_room(context, builder, handle, room, value):
    return builder.bitcast(value, ir.IntType(8).as_pointer())


@type_callable(handle)
def _type_handle(context):
    return lambda record: HandleType(record)


@lower_builtin(handle, types.BaseNamedTuple)
def _lower_handle(context, builder, sig, args):
    return cgutils.alloca_once_value(builder, args[0])
