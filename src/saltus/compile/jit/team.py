"""The shared integers of compile/team.py as atomic instructions."""

from __future__ import annotations

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from saltus.compile.team import add_shared, give_way, read_shared


@type_callable(add_shared)
def _type_add(context):
    return lambda shared, place, value: types.int64


@type_callable(read_shared)
def _type_read(context):
    return lambda shared, place: types.int64


@type_callable(give_way)
def _type_give_way(context):
    return lambda patiently: types.int64


def _address(context, builder, thin, value, place):
    return builder.gep(cgutils.create_struct_proxy(thin)(context, builder, value=value).data, [place])


@lower_builtin(add_shared, types.Any, types.Integer, types.Integer)
def _lower_add(context, builder, sig, args):
    return builder.atomic_rmw("add", _address(context, builder, sig.args[0], *args[:2]), args[2], "seq_cst")


@lower_builtin(read_shared, types.Any, types.Integer)
def _lower_read(context, builder, sig, args):
    return builder.load_atomic(_address(context, builder, sig.args[0], *args), "acquire", 8)


@lower_builtin(give_way, types.Integer)
def _lower_give_way(context, builder, sig, args):
    int32 = ir.IntType(32)
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(int32, ()), "saltus_give_way")
    with builder.if_then(builder.icmp_signed("!=", args[0], args[0].type(0))):
        builder.call(function, ())
    if binding.get_default_triple().startswith("x86"):
        pause = ir.FunctionType(ir.VoidType(), ())
        builder.call(cgutils.get_or_insert_function(builder.module, pause, "llvm.x86.sse2.pause"), ())
    return ir.IntType(64)(0)
