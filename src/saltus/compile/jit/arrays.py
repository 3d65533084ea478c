"""Vectors and matrices in compiled code: an address and lengths, with the views of compile/views.py.

numba's own array is a record of seven words with a reference count; a step that takes twenty of them spends more time
on passing arguments than on mechanics. A vector is two words, a matrix three.
"""

from __future__ import annotations

import operator

from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import lower_builtin, lower_getattr, models, register_model, type_callable

from saltus.compile.views import as_array, head, larger, mat, row_of, smaller, tail, vec, whole


class Thin(types.Type):
    """Common to vectors and matrices: contiguous numbers of one type."""

    def __init__(self, dtype, ndim: int):
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"{'Vector' if ndim == 1 else 'Matrix'}({dtype})")

    @property
    def key(self):
        return self.dtype, self.ndim

    @property
    def mangling_args(self):
        return type(self).__name__, (self.dtype, self.ndim)


class ThinModel(models.StructModel):
    """An address and lengths."""

    def __init__(self, manager, thin):
        lengths = [(f"n{k}", types.intp) for k in range(thin.ndim)]
        super().__init__(manager, thin, [("data", types.CPointer(thin.dtype)), *lengths])


register_model(Thin)(ThinModel)


VECTOR, INTEGERS, MATRIX = Thin(types.float64, 1), Thin(types.int64, 1), Thin(types.float64, 2)


# ---- indexing


@infer_global(operator.getitem)
class _TypeGet(AbstractTemplate):
    def generic(self, args, kws):
        if len(args) == 2 and isinstance(args[0], Thin) and _fits(args[0], args[1]):
            return signature(args[0].dtype, args[0], _index_type(args[0]))
        return None


@infer_global(operator.setitem)
class _TypeSet(AbstractTemplate):
    def generic(self, args, kws):
        if len(args) == 3 and isinstance(args[0], Thin) and _fits(args[0], args[1]):
            return signature(types.none, args[0], _index_type(args[0]), args[0].dtype)
        return None


def _fits(thin, index) -> bool:
    if thin.ndim == 1:
        return isinstance(index, types.Integer)
    return isinstance(index, types.BaseTuple) and len(index) == 2 and all(isinstance(i, types.Integer) for i in index)


def _index_type(thin):
    return types.intp if thin.ndim == 1 else types.UniTuple(types.intp, 2)


def _element(context, builder, thin, value, index):
    struct = cgutils.create_struct_proxy(thin)(context, builder, value=value)
    if thin.ndim == 2:
        row, column = cgutils.unpack_tuple(builder, index)
        index = builder.add(builder.mul(row, struct.n1), column)
    return builder.gep(struct.data, [index])


@lower_builtin(operator.getitem, Thin, types.Any)
def _get(context, builder, sig, args):
    return builder.load(_element(context, builder, sig.args[0], *args))


@lower_builtin(operator.setitem, Thin, types.Any, types.Any)
def _set(context, builder, sig, args):
    builder.store(args[2], _element(context, builder, sig.args[0], args[0], args[1]))
    return context.get_dummy_value()


@infer_getattr
class _TypeShape(AttributeTemplate):
    key = Thin

    def resolve_shape(self, thin):
        return types.UniTuple(types.intp, thin.ndim)


@lower_getattr(Thin, "shape")
def _shape(context, builder, thin, value):
    struct = cgutils.create_struct_proxy(thin)(context, builder, value=value)
    lengths = [getattr(struct, f"n{k}") for k in range(thin.ndim)]
    return context.make_tuple(builder, types.UniTuple(types.intp, thin.ndim), lengths)


# ---- views


@type_callable(vec)
def _type_vec(context):
    return lambda work, offset, n: Thin(work.dtype, 1)


@type_callable(head)
@type_callable(tail)
def _type_end(context):
    return lambda vector, n: Thin(vector.dtype, 1)


@type_callable(row_of)
def _type_row(context):
    return lambda table, k, width: Thin(table.dtype, 1)


@type_callable(mat)
def _type_mat(context):
    return lambda work, offset, rows, columns: MATRIX


@type_callable(as_array)
def _type_as_array(context):
    return lambda vector: types.Array(vector.dtype, vector.ndim, "C")


def _lower_view(context, builder, sig, args):
    source = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    made.data = builder.gep(source.data, [args[1]])
    for k, length in enumerate(args[2:]):
        setattr(made, f"n{k}", length)
    return made._getvalue()


lower_builtin(vec, Thin, types.Integer, types.Integer)(_lower_view)
lower_builtin(mat, Thin, types.Integer, types.Integer, types.Integer)(_lower_view)


@lower_builtin(head, Thin, types.Integer)
def _lower_head(context, builder, sig, args):
    return _part(context, builder, sig, args[0], args[1].type(0), args[1])


@lower_builtin(tail, Thin, types.Integer)
def _lower_tail(context, builder, sig, args):
    length = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).n0
    return _part(context, builder, sig, args[0], args[1], builder.sub(length, args[1]))


@lower_builtin(row_of, Thin, types.Integer, types.Integer)
def _lower_row(context, builder, sig, args):
    return _part(context, builder, sig, args[0], builder.mul(args[1], args[2]), args[2])


def _part(context, builder, sig, value, begin, length):
    source = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=value)
    made = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    made.data, made.n0 = builder.gep(source.data, [begin]), length
    return made._getvalue()


@lower_builtin(as_array, Thin)
def _lower_as_array(context, builder, sig, args):
    source = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    made = context.make_array(sig.return_type)(context, builder)
    size = context.get_constant(types.intp, 8)
    made.meminfo = cgutils.get_null_value(made.meminfo.type)  # no owner: the caller's array outlives the call
    made.parent = cgutils.get_null_value(made.parent.type)
    made.data, made.nitems, made.itemsize = source.data, source.n0, size
    made.shape = cgutils.pack_array(builder, [source.n0])
    made.strides = cgutils.pack_array(builder, [size])
    return made._getvalue()


# ---- scalars


@type_callable(larger)
@type_callable(smaller)
def _type_two(context):
    return lambda a, b: types.float64


@type_callable(whole)
def _type_whole(context):
    return lambda x: types.int64


def _lower_choice(comparison):
    def lower(context, builder, sig, args):
        a, b = (context.cast(builder, x, t, types.float64) for x, t in zip(args, sig.args, strict=True))
        return builder.select(builder.fcmp_ordered(comparison, b, a), b, a)

    return lower


lower_builtin(larger, types.Number, types.Number)(_lower_choice(">"))
lower_builtin(smaller, types.Number, types.Number)(_lower_choice("<"))


@lower_builtin(whole, types.Float)
def _lower_whole(context, builder, sig, args):
    return builder.fptosi(args[0], context.get_value_type(types.int64))
