"""The products of six of compile/lanes.py as vector instructions."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from saltus.compile.lanes import dot_bodies, foresee, fused, push_body

FOUR, TWO = ir.VectorType(ir.DoubleType(), 4), ir.VectorType(ir.DoubleType(), 2)


@type_callable(fused)
def _type_fused(context):
    return lambda a, b, c: types.float64


@type_callable(dot_bodies)
def _type_dot(context):
    return lambda row, at, y, a, b: types.float64


@type_callable(push_body)
def _type_push(context):
    return lambda rows, at, d_0, d_1, d_2, y, a: types.int64


@type_callable(foresee)
def _type_foresee(context):
    return lambda y, at: types.int64


def _fused(builder, a, b, c):
    return builder.fadd(builder.fmul(a, b), c)


def _pointer(context, builder, thin, value):
    return cgutils.create_struct_proxy(thin)(context, builder, value=value).data


def _place(builder, data, at, offset, kind):
    place = builder.gep(data, [builder.add(at, at.type(offset))])
    return builder.bitcast(place, kind.as_pointer())


def _load(builder, data, at, offset, kind):
    loaded = builder.load(_place(builder, data, at, offset, kind))
    loaded.align = 8
    return loaded


def _lane(builder, vector, lanes):
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), [ir.IntType(32)(lane) for lane in lanes])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _spread(builder, value, kind):
    place = ir.IntType(32)(0)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, place)
    return _lane(builder, first, [0] * kind.count)


@lower_builtin(fused, types.Float, types.Float, types.Float)
def _lower_fused(context, builder, sig, args):
    return _fused(builder, *args)


@lower_builtin(dot_bodies, types.Any, types.Integer, types.Any, types.Integer, types.Integer)
def _lower_dot(context, builder, sig, args):
    row, y = _pointer(context, builder, sig.args[0], args[0]), _pointer(context, builder, sig.args[2], args[2])
    at, a, b = args[1], args[3], args[4]
    four = builder.fmul(_load(builder, row, at, 0, FOUR), _load(builder, y, a, 0, FOUR))
    four = _fused(builder, _load(builder, row, at, 6, FOUR), _load(builder, y, b, 0, FOUR), four)
    two = builder.fmul(_load(builder, row, at, 4, TWO), _load(builder, y, a, 4, TWO))
    two = _fused(builder, _load(builder, row, at, 10, TWO), _load(builder, y, b, 4, TWO), two)
    two = builder.fadd(two, builder.fadd(_lane(builder, four, [0, 1]), _lane(builder, four, [2, 3])))
    index = ir.IntType(32)
    return builder.fadd(builder.extract_element(two, index(0)), builder.extract_element(two, index(1)))


@lower_builtin(push_body, types.Any, types.Integer, types.Float, types.Float, types.Float, types.Any, types.Integer)
def _lower_push(context, builder, sig, args):
    rows, y = _pointer(context, builder, sig.args[0], args[0]), _pointer(context, builder, sig.args[5], args[5])
    at, a = args[1], args[6]
    for offset, kind in ((0, FOUR), (4, TWO)):
        total = _load(builder, y, a, offset, kind)
        for r in (2, 1, 0):
            row = _load(builder, rows, at, 12 * r + offset, kind)
            total = _fused(builder, _spread(builder, args[2 + r], kind), row, total)
        builder.store(total, _place(builder, y, a, offset, kind)).align = 8
    return ir.IntType(64)(0)


@lower_builtin(foresee, types.Any, types.Integer)
def _lower_foresee(context, builder, sig, args):
    number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), (byte, number, number, number))
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    place = builder.gep(_pointer(context, builder, sig.args[0], args[0]), [args[1]])
    builder.call(function, (builder.bitcast(place, byte), number(1), number(3), number(1)))  # to write, keep, data
    return ir.IntType(64)(0)
