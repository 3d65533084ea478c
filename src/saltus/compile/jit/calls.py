"""Calls in compiled code: by pointer, and of other units by their symbols.

A unit that is called is typed from its declared signatures and left as a symbol, so that every unit is built alone. A
call is one call; a function that failed (a user's function that raised) is left at once with its code.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils, errors
from numba.core.imputils import lower_constant
from numba.core.typeconv import Conversion
from numba.extending import lower_builtin, lower_cast, models, register_model, typeof_impl

from saltus.compile.unit import Unit


class PointerType(types.Callable):
    """The address of a function with a declared signature."""

    def __init__(self, name: str, signature):
        self.signature = signature
        super().__init__(f"Pointer({name})")

    @property
    def key(self):
        return self.name

    @property
    def mangling_args(self):
        return "Pointer", ()

    def get_call_type(self, context, args, kws):
        return _chosen(context, [self.signature], args, kws, self)

    def get_call_signatures(self):
        return [self.signature], False

    def get_impl_key(self, sig):
        return PointerType


class UnitType(types.Callable, types.Opaque):
    """A unit that is called by its name."""

    def __init__(self, unit: Unit):
        from saltus.compile.jit.translate import numba_signature

        self.unit = unit
        self.signatures = [numba_signature(signature) for signature in unit.unit_signatures]
        super().__init__(f"Unit({unit.symbol(0)})")

    @property
    def mangling_args(self):
        return "Unit", ()

    def get_call_type(self, context, args, kws):
        return _chosen(context, self.signatures, args, kws, self)

    def get_call_signatures(self):
        return self.signatures, False

    def get_impl_key(self, sig):
        return UnitType

    def version(self, signature) -> int:
        """Return which version has these argument types."""
        return [tuple(s.args) for s in self.signatures].index(tuple(signature.args))

    def can_convert_to(self, typingctx, other):
        if isinstance(other, PointerType) and any(
            tuple(s.args) == tuple(other.signature.args) for s in self.signatures
        ):
            return Conversion.safe
        return None


def _chosen(context, signatures, args, kws, function):
    """Return the first signature that takes these arguments, with the function in front of them."""
    if kws:
        raise errors.TypingError(f"{function} takes no keyword arguments")
    for signature in signatures:
        if len(args) == len(signature.args) and all(
            context.can_convert(types.unliteral(given), wanted) is not None
            for given, wanted in zip(args, signature.args, strict=True)
        ):
            return signature.replace(recvr=function)
    raise errors.TypingError(f"{function} does not take {args}")


@typeof_impl.register(Unit)
def _typeof_unit(unit, context):
    return UnitType(unit)


register_model(UnitType)(models.OpaqueModel)


@register_model(PointerType)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager, pointer):
        super().__init__(manager, pointer, ir.IntType(8).as_pointer())


@lower_constant(UnitType)
def _constant(context, builder, unit, value):
    return context.get_dummy_value()


def _call(context, builder, function, returns, kinds, args):
    status, result = context.call_conv.call_function(builder, function, returns, kinds, args)
    with cgutils.if_unlikely(builder, builder.icmp_unsigned("!=", status.code, status.code.type(0))):
        builder.ret(status.code)
    return result


@lower_builtin(PointerType, PointerType, types.VarArg(types.Any))
def _call_pointer(context, builder, sig, args):
    kinds = sig.args[1:]
    function = context.call_conv.get_function_type(sig.return_type, kinds).as_pointer()
    return _call(context, builder, builder.bitcast(args[0], function), sig.return_type, kinds, args[1:])


def _symbol(context, builder, unit: UnitType, version: int):
    signature = unit.signatures[version]
    kind = context.call_conv.get_function_type(signature.return_type, signature.args)
    return cgutils.get_or_insert_function(builder.module, kind, unit.unit.symbol(version))


@lower_builtin(UnitType, UnitType, types.VarArg(types.Any))
def _call_unit(context, builder, sig, args):
    unit, kinds = sig.args[0], sig.args[1:]
    version = [tuple(s.args) for s in unit.signatures].index(tuple(kinds))
    return _call(context, builder, _symbol(context, builder, unit, version), sig.return_type, kinds, args[1:])


@lower_cast(UnitType, PointerType)
def _address(context, builder, unit, pointer, value):
    version = unit.version(pointer.signature)
    return builder.bitcast(_symbol(context, builder, unit, version), ir.IntType(8).as_pointer())
