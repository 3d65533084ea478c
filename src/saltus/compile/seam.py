"""Units: kernels compiled one by one, cached on disk, linked by function pointers.

`@unit(signature)` declares a kernel in the numba subset of Python and compiles nothing; `ready` loads or compiles
it; `interpreted` returns the same kernel as plain Python (debugging, replay of a failing step). Inside kernels,
`vec`, `ivec` and `mat` make views without reference counts, which keeps a call through a pointer at 5 ns.
"""

from __future__ import annotations

import types as python_types

from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from saltus.compile.cache import UnitCache


def unit(*signatures, **options):
    """Declare a kernel with explicit signatures; nothing is compiled before `ready`."""

    def declare(function):
        dispatcher = njit(**{"error_model": "numpy", "nogil": True, **options})(function)
        if not config.DISABLE_JIT:
            dispatcher._cache = UnitCache(function)
        dispatcher.unit_signatures = [getattr(s, "signature", s) for s in signatures]
        return dispatcher

    return declare


def ready(dispatcher, signature=None):
    """Load or compile one version of a unit (the declared one by default) and return the unit."""
    if config.DISABLE_JIT:
        return dispatcher
    signature = getattr(signature, "signature", signature) or dispatcher.unit_signatures[0]
    if tuple(signature.args) not in dispatcher.overloads:
        dispatcher._can_compile = True
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


def interpreted(dispatcher):
    """Return the unit as plain Python, every unit that it calls included."""
    if config.DISABLE_JIT or not hasattr(dispatcher, "py_func"):
        return dispatcher
    return _plain(dispatcher.py_func, {})


def _plain(function, done):
    if function in done:
        return done[function]
    names = dict(function.__globals__)
    plain = python_types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    done[function] = plain
    for name in function.__code__.co_names:
        value = names.get(name)
        if hasattr(value, "unit_signatures") and hasattr(value, "py_func"):
            names[name] = _plain(value.py_func, done)
        elif hasattr(value, "py_func"):
            names[name] = value.py_func
    return plain


# ---- views without reference count; the plain functions are their interpreted meaning


def vec(work, offset, n):
    """Return work[offset:offset + n] as a view."""
    return work[offset : offset + n]


def ivec(work, offset, n):
    """Return the same for integer arrays (kept apart so that each reads as what it is)."""
    return work[offset : offset + n]


def mat(work, offset, rows, columns):
    """Return a (rows, columns) view of a flat array."""
    return work[offset : offset + rows * columns].reshape((rows, columns))


def bare(array):
    """Return the array itself as a view without reference count."""
    return array


def _view(context, builder, array_type, data, shape):
    struct = cgutils.create_struct_proxy(array_type)(context, builder)
    itemsize = shape[-1].type(8)
    count, strides = shape[-1], [itemsize]
    for extent in shape[-2::-1]:
        strides.insert(0, builder.mul(count, itemsize))
        count = builder.mul(count, extent)
    struct.meminfo = cgutils.get_null_value(struct.meminfo.type)  # no owner: nothing is counted
    struct.parent = cgutils.get_null_value(struct.parent.type)
    struct.data, struct.nitems, struct.itemsize = data, count, itemsize
    struct.shape = cgutils.pack_array(builder, shape)
    struct.strides = cgutils.pack_array(builder, strides)
    return struct._getvalue()


@intrinsic
def _vec(typing_context, work, offset, n):
    def generate(context, builder, signature, arguments):
        source = cgutils.create_struct_proxy(work)(context, builder, value=arguments[0])
        return _view(context, builder, work, builder.gep(source.data, [arguments[1]]), [arguments[2]])

    return work(work, types.int64, types.int64), generate


@intrinsic
def _mat(typing_context, work, offset, rows, columns):
    matrix = types.Array(work.dtype, 2, "C")

    def generate(context, builder, signature, arguments):
        source = cgutils.create_struct_proxy(work)(context, builder, value=arguments[0])
        data = builder.gep(source.data, [arguments[1]])
        return _view(context, builder, matrix, data, [arguments[2], arguments[3]])

    return matrix(work, types.int64, types.int64, types.int64), generate


@intrinsic
def _bare(typing_context, array):
    def generate(context, builder, signature, arguments):
        source = cgutils.create_struct_proxy(array)(context, builder, value=arguments[0])
        return _view(context, builder, array, source.data, cgutils.unpack_tuple(builder, source.shape))

    return array(array), generate


@overload(vec)
def _overload_vec(work, offset, n):
    return lambda work, offset, n: _vec(work, offset, n)


@overload(ivec)
def _overload_ivec(work, offset, n):
    return lambda work, offset, n: _vec(work, offset, n)


@overload(mat)
def _overload_mat(work, offset, rows, columns):
    return lambda work, offset, rows, columns: _mat(work, offset, rows, columns)


@overload(bare)
def _overload_bare(array):
    return lambda array: _bare(array)
