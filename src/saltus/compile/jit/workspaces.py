"""Workspaces in compiled code: rooms are addresses, named places of a vector are loads and stores."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_constant
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AttributeTemplate, infer_getattr, signature
from numba.extending import (
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
)

from saltus.compile.jit.arrays import Thin, ThinModel
from saltus.compile.jit.handles import RoomType
from saltus.compile.views import room_at
from saltus.compile.workspace import Numbers, Workspace

ROOM = RoomType()


@type_callable(room_at)
def _type_room_at(context):
    return lambda rooms, k: ROOM


@lower_builtin(room_at, Thin, types.Integer)
def _lower_room_at(context, builder, sig, args):
    addresses = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).data
    return builder.inttoptr(builder.load(builder.gep(addresses, [args[1]])), ir.IntType(8).as_pointer())


class NamedVector(Thin):
    """A vector whose places have names."""

    def __init__(self, dtype, names: tuple[str, ...]):
        super().__init__(dtype, 1)
        self.names = names
        self.name = f"Named({dtype}: {' '.join(names)})"

    @property
    def key(self):
        return self.dtype, self.names

    def can_convert_to(self, typingctx, other):
        same = type(other) is Thin and other.ndim == 1 and other.dtype == self.dtype
        return Conversion.safe if same else None


register_model(NamedVector)(ThinModel)


@lower_cast(NamedVector, Thin)
def _lower_plain(context, builder, named, thin, value):
    return _same(context, builder, named, thin, value)


def _same(context, builder, given, wanted, value):
    """Return the same address and length as another type of vector."""
    source = cgutils.create_struct_proxy(given)(context, builder, value=value)
    made = cgutils.create_struct_proxy(wanted)(context, builder)
    made.data, made.n0 = source.data, source.n0
    return made._getvalue()


@infer_getattr
class _TypePlace(AttributeTemplate):
    key = NamedVector

    def generic_resolve(self, vector, name):
        return vector.dtype if name in vector.names else None


def _address(context, builder, vector, value, name):
    struct = cgutils.create_struct_proxy(vector)(context, builder, value=value)
    return builder.gep(struct.data, [ir.IntType(64)(vector.names.index(name))], inbounds=True)


@lower_getattr_generic(NamedVector)
def _lower_read(context, builder, vector, value, name):
    return builder.load(_address(context, builder, vector, value, name))


@lower_setattr_generic(NamedVector)
def _lower_write(context, builder, sig, args, name):
    builder.store(args[1], _address(context, builder, sig.args[0], args[0], name))


# ---- what is called: WORKSPACE(room), NUMBERS(vector)


class WorkspaceType(types.Callable, types.Opaque):
    """A workspace by its name, which says what a room is."""

    def __init__(self, workspace: Workspace):
        self.workspace = workspace
        super().__init__(f"Workspace({workspace.kind.name})")

    def get_call_type(self, context, args, kws):
        from saltus.compile.jit.translate import numba_type

        (given,) = args
        return signature(numba_type(self.workspace.kind), given, recvr=self) if given == ROOM else None

    def get_call_signatures(self):
        return [], False

    def get_impl_key(self, sig):
        return WorkspaceType


class NumbersType(types.Callable, types.Opaque):
    """Names for the places of a vector."""

    def __init__(self, numbers: Numbers):
        self.numbers = numbers
        super().__init__(f"Numbers({numbers.kind.name})")

    def get_call_type(self, context, args, kws):
        from saltus.compile.jit.translate import numba_type

        (given,) = args
        kind = numba_type(self.numbers.kind)
        fits = isinstance(given, Thin) and given.ndim == 1 and given.dtype == kind.dtype
        return signature(kind, given, recvr=self) if fits else None

    def get_call_signatures(self):
        return [], False

    def get_impl_key(self, sig):
        return NumbersType


register_model(WorkspaceType)(models.OpaqueModel)
register_model(NumbersType)(models.OpaqueModel)


@typeof_impl.register(Workspace)
def _typeof_workspace(workspace, context):
    return WorkspaceType(workspace)


@typeof_impl.register(Numbers)
def _typeof_numbers(numbers, context):
    return NumbersType(numbers)


@lower_constant(WorkspaceType)
@lower_constant(NumbersType)
def _constant(context, builder, kind, value):
    return context.get_dummy_value()


@lower_builtin(WorkspaceType, WorkspaceType, types.Any)
def _lower_workspace(context, builder, sig, args):
    return builder.bitcast(args[1], context.get_value_type(sig.return_type))


@lower_builtin(NumbersType, NumbersType, types.Any)
def _lower_numbers(context, builder, sig, args):
    return _same(context, builder, sig.args[1], sig.return_type, args[1])
