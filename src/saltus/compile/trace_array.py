"""Arrays of tracers: what numpy functions do when their arguments hold expressions.

A `TracerArray` holds expressions and plain numbers side by side; a number becomes a parameter slot only when
it meets an expression. Functions of numpy arrive through __array_ufunc__ and __array_function__.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from saltus.compile import trace_linalg as linalg
from saltus.compile.expression import UNARY, Expr, Untraceable, graph_of, has_tracer

# work on arrays of objects as they are: only rearrange, or only use + - * /
NATIVE = """concatenate concat stack hstack vstack column_stack dstack block append insert delete reshape
ravel transpose moveaxis swapaxes rollaxis roll flip fliplr flipud rot90 tile repeat squeeze expand_dims
broadcast_to atleast_1d atleast_2d atleast_3d split array_split hsplit vsplit diag diagflat diagonal tril
triu take copy sum prod cumsum cumprod mean trace outer inner vdot tensordot kron cross einsum diff polyval
convolve ndim shape size ascontiguousarray matrix_transpose permute_dims""".split()
COUNTING = frozenset({"sum", "prod", "cumsum", "cumprod", "mean", "trace"})  # what they sum up are numbers


class TracerArray(np.ndarray):
    """Array of objects: expressions and plain numbers."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return apply_ufunc(ufunc, method, *inputs, **options)

    def __array_function__(self, function, types, args, options):
        return apply_function(function, args, options)

    def astype(self, dtype, *args, **options):
        if not has_tracer(self):
            return tracer_array(as_numbers(self).astype(dtype, *args, **options))
        _check_dtype(dtype)
        return self.copy()

    def dot(self, other):
        return _matmul(self, other)

    def clip(self, min=None, max=None):
        return _clip(self, min, max)


class ConstantArray(np.ndarray):
    """A float array of the user: its copies may be filled with expressions, itself stays as it is."""

    def copy(self, order: Any = "C"):
        return tracer_array(np.array(self, order=order))

    def astype(self, dtype, *args, **options):
        return tracer_array(np.asarray(self).astype(dtype, *args, **options))


def tracer_array(value: Any) -> Any:
    """Float and object arrays as TracerArray, so that they can be filled; everything else unchanged."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fO":
        return value.astype(object).view(TracerArray) if value.dtype.kind == "f" else value.view(TracerArray)
    if isinstance(value, (list, tuple)) and any(isinstance(item, np.ndarray) for item in value):
        return type(value)(tracer_array(item) for item in value) if type(value) in (list, tuple) else value
    return value


def plain(value: Any) -> Any:
    """The same with ordinary arrays instead of TracerArray, through lists and tuples."""
    if isinstance(value, TracerArray):
        return value.view(np.ndarray)
    if type(value) in (list, tuple):
        return type(value)(plain(item) for item in value)
    return value


def boxed(value: Any) -> Any:
    """The same for a function of numpy itself: a bare expression would send it back to the protocol."""
    if type(value) is Expr:
        return np.array(value, dtype=object)
    return type(value)(boxed(item) for item in value) if type(value) in (list, tuple) else plain(value)


def as_numbers(value: Any) -> Any:
    """The same with float arrays instead of TracerArrays that hold numbers only."""
    if isinstance(value, TracerArray):
        kinds = {type(item) for item in value.flat}
        return np.array(value.tolist(), dtype=int if kinds and kinds <= {int} else float)
    if isinstance(value, ConstantArray):
        return value.view(np.ndarray)
    if type(value) in (list, tuple):
        return type(value)(as_numbers(item) for item in value)
    if type(value) is dict:
        return {key: as_numbers(item) for key, item in value.items()}
    return value


def full_name(function: Any) -> str:
    name = getattr(function, "__name__", None) or type(function).__name__
    module = getattr(function, "__module__", None) or ("numpy" if hasattr(np, name) else None)
    return f"{module}.{name}" if module else name


def _check_dtype(dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype) not in (np.dtype(float), np.dtype(object)):
        raise Untraceable(f"the state is converted to {np.dtype(dtype)}, only float can be traced")


# ---- functions of scalars, one by one
def _scalar(ufunc: np.ufunc, name: str):
    """The function on expressions and numbers; numbers alone give a number."""

    def apply(*values):
        graph = graph_of(*values)
        if graph is None:
            return ufunc(*[v.item() if isinstance(v, np.ndarray) else v for v in values])
        return getattr(graph, name)(*values)

    return apply


_IDENTITY = {"either": 0, "times": 1, "logical_and": True, "logical_or": False}
_RENAMED = {"add": "either", "multiply": "times", "true_divide": "divide", "mod": "remainder",
            "bitwise_and": "logical_and", "bitwise_or": "logical_or", "invert": "logical_not",
            "float_power": "power"}  # fmt: skip
_ELEMENTWISE = (*UNARY, *_RENAMED, *_RENAMED.values(), *(
    "add subtract multiply negative positive conjugate absolute fabs sign heaviside square reciprocal cbrt "
    "exp2 radians degrees deg2rad rad2deg minimum maximum fmin fmax floor_divide arctan2 hypot fmod copysign "
    "less less_equal greater greater_equal equal not_equal"
).split())  # fmt: skip


def _elementwise(ufunc: np.ufunc, name: str) -> tuple:
    scalar = _scalar(ufunc, name)
    options = {"identity": _IDENTITY[name]} if name in _IDENTITY else {}
    return scalar, np.frompyfunc(scalar, ufunc.nin, 1, **options)


@functools.cache
def _table() -> dict[Any, tuple]:
    ufuncs = {getattr(np, name): _RENAMED.get(name, name) for name in _ELEMENTWISE if hasattr(np, name)}
    return {ufunc: _elementwise(ufunc, name) for ufunc, name in ufuncs.items()}


def _lookup(ufunc: np.ufunc) -> tuple | None:
    found = _table().get(ufunc)
    if found is None and ufunc.__name__ in ("erf", "erfc"):  # scipy.special, which is not imported here
        found = _table()[ufunc] = _elementwise(ufunc, ufunc.__name__)
    return found


def apply_ufunc(ufunc: Any, method: str, *inputs, out=None, **options):
    """What a numpy ufunc (or its reduce, accumulate, outer) does to expressions."""
    if not has_tracer(inputs):
        result = tracer_array(getattr(ufunc, method)(*as_numbers(inputs), **options))
    elif ufunc is np.matmul and method == "__call__":
        result = _matmul(*inputs)
    else:
        found = _lookup(ufunc)
        if found is None:
            raise Untraceable(f"{full_name(ufunc)} cannot be traced")
        if options.pop("where", True) is not True:
            raise Untraceable(f"{full_name(ufunc)}(where=...) cannot be traced; use np.where")
        dtype = options.pop("dtype", None)
        if ufunc not in (np.logical_and, np.logical_or, np.logical_not):  # these make conditions, whatever they are of
            _check_dtype(dtype)
        scalar, vector = found
        result = _run(scalar, vector, method, [plain(value) for value in inputs], options)
    if out is None:
        return result
    target = out[0] if isinstance(out, tuple) else out
    if target.dtype != object:
        raise Untraceable("a result of the state is stored into a float array made outside; copy it first")
    target[...] = plain(result)
    return target


def _run(scalar, vector, method: str, inputs: list, options: dict):
    if method == "__call__":
        if not any(isinstance(value, (np.ndarray, list, tuple)) for value in inputs):
            return scalar(*inputs)
        return tracer_array(vector(*map(boxed, inputs)))
    if method == "reduce" and options.get("axis", 0) is None and vector.identity is None:
        inputs[0], options = np.ravel(inputs[0]), {}
    if method not in ("reduce", "accumulate", "outer"):
        raise Untraceable(f"the ufunc method {method} cannot be traced")
    if method != "outer" and type(vector.identity) is int:
        inputs[0] = counted(inputs[0])
    return tracer_array(getattr(vector, method)(*map(boxed, inputs), **options))


# ---- functions of arrays
def apply_function(function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """What a numpy function does to arguments that may hold expressions."""
    if function is np.empty and np.dtype(options.get("dtype", float)).kind == "f":
        return _full(args[0] if args else options["shape"], math.nan)  # not what the memory happened to hold
    if not has_tracer(args) and not has_tracer(options):
        return tracer_array(function(*as_numbers(args), **as_numbers(options)))
    handler = _handler(function)
    if handler is None:
        raise Untraceable(f"{full_name(function)} cannot be traced")
    return handler(*args, **options)


def handled(function: Any) -> bool:
    return _handler(function) is not None


def _handler(function: Any) -> Any:
    found = _handlers().get(function)
    if found is None and (getattr(function, "__module__", None) or "").startswith("scipy.signal"):
        found = {"square": _square_wave, "sawtooth": _sawtooth}.get(function.__name__)  # scipy is not imported here
    return found


@functools.cache
def _handlers() -> dict[Any, Any]:
    native = [getattr(np, name) for name in NATIVE if hasattr(np, name)]
    handlers: dict[Any, Any] = {function: _native(function) for function in native}
    for name in ("array", "asarray", "asanyarray"):
        handlers[getattr(np, name)] = _array
    for name, fill in (("zeros_like", 0.0), ("ones_like", 1.0), ("empty_like", math.nan)):
        handlers[getattr(np, name)] = functools.partial(_full_like, fill)
    for function, meaning in (
        (np.linalg.norm, linalg.norm), (np.linalg.solve, linalg.solve), (np.linalg.inv, linalg.inverse),
        (np.linalg.det, linalg.determinant), (np.interp, linalg.interp), (np.dot, linalg.matmul),
    ):  # fmt: skip
        handlers[function] = _own(meaning)
    for function, meaning in ((np.linalg.cross, np.cross), (np.linalg.outer, np.outer)):
        handlers[function] = _native(meaning)
    for name, ufunc in (("any", np.logical_or), ("all", np.logical_and)):
        handlers[getattr(np, name)] = functools.partial(_extremum, ufunc)
    for name, ufunc in (("max", np.maximum), ("amax", np.maximum), ("min", np.minimum), ("amin", np.minimum)):
        handlers[getattr(np, name)] = functools.partial(_extremum, ufunc)
    return handlers | {
        np.empty: np.empty, np.where: _where, np.select: _select, np.clip: _clip, np.piecewise: _piecewise,
        np.sinc: _sinc, np.fix: lambda value: np.trunc(as_operand(value)),
        np.full: lambda shape, value, dtype=None: _full(shape, value),
        np.full_like: lambda array, value, **options: _full_like(value, array, **options),
        np.isscalar: lambda value: type(value) is Expr, np.real: lambda value: value,
    }  # fmt: skip


def _own(function: Any):
    """A function of trace_linalg, which knows expressions."""
    return lambda *args, **options: tracer_array(function(*plain(args), **options))


def _native(function: Any):
    """A function of numpy, which must not see a bare expression."""

    def call(*args, **options):
        _check_dtype(options.pop("dtype", None))
        if options.get("out") is not None:
            raise Untraceable(f"{full_name(function)}(out=...) cannot be traced")
        if function.__name__ in COUNTING:
            args = counted(args)
        result = function(*boxed(args), **{key: boxed(item) for key, item in options.items()})
        return tracer_array(_unboxed(result))

    return call


def counted(value: Any) -> Any:
    """Truths as 0 and 1: numpy counts them in sums and products along an axis."""
    if type(value) is Expr:
        return value.graph.real(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([counted(item) for item in value.flat], dtype=object).reshape(value.shape)
    if type(value) in (list, tuple):
        made = [counted(item) for item in value]
        return made if type(value) is list else tuple(made)
    return value


def _unboxed(value: Any) -> Any:
    """The same with the expressions out of the boxes that a function of numpy has only moved around."""
    if type(value) in (list, tuple):
        return type(value)(_unboxed(item) for item in value)
    if isinstance(value, np.ndarray) and any(isinstance(item, np.ndarray) for item in value.flat):
        return np.frompyfunc(lambda item: item.item() if isinstance(item, np.ndarray) else item, 1, 1)(value)
    return value


_matmul = _own(linalg.matmul)


def _array(value, dtype=None, *, copy=True, ndmin: int = 0, **ignored):
    _check_dtype(dtype)
    made = np.array(plain(value), dtype=object, ndmin=ndmin)
    if any(isinstance(item, (list, tuple)) for item in made.flat):
        raise Untraceable("an array is built from rows of different lengths")
    return made.view(TracerArray)


def _full(shape, value) -> TracerArray:
    made = np.empty(shape, dtype=object).view(TracerArray)
    made[...] = plain(value)
    return made


def _full_like(value, array, dtype=None, *, shape=None, **ignored) -> Any:
    if dtype is not None and np.dtype(dtype).kind not in "fO":
        return np.full(np.shape(plain(array)) if shape is None else shape, value, dtype=dtype)
    return _full(np.shape(plain(array)) if shape is None else shape, value)


_CHOOSE = np.frompyfunc(lambda c, a, b: (graph_of(c, a, b) or _Numbers).where(c, a, b), 3, 1)


class _Numbers:
    """np.where on plain numbers, in the place of a graph."""

    @staticmethod
    def where(condition, a, b):
        return a if condition else b


def _where(condition, *choices):
    if len(choices) != 2:
        raise Untraceable("np.where(condition) needs the state as a number; use np.where(condition, a, b)")
    return tracer_array(_CHOOSE(boxed(condition), *map(boxed, choices)))


def _select(conditions, choices, default=0):
    result = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = _where(condition, choice, result)
    return result


def _piecewise(x, conditions, functions, *args, **options):
    """np.piecewise: later conditions win; one function more than conditions is for the rest."""
    if not isinstance(conditions, (list, tuple)) or (np.ndim(plain(x)) and not np.ndim(plain(conditions[0]))):
        conditions = [conditions]
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise Untraceable(f"np.piecewise with {len(conditions)} conditions and {len(functions)} functions")

    def value(function):
        if not callable(function):
            return function
        made = function(x, *args, **options)
        # numpy gives it the entries for which the condition holds: each entry must go its own way
        for k, entry in enumerate(np.ravel(plain(x)) if np.ndim(plain(x)) else ()):
            alone = np.ravel(plain(function(tracer_array(np.array([entry], dtype=object)), *args, **options)))
            if not same_entries(alone, np.ravel(np.broadcast_to(plain(made), np.shape(plain(x))))[k : k + 1]):
                raise Untraceable("np.piecewise with a function that mixes the entries of its argument")
        return made

    result = value(functions[-1]) if len(functions) > len(conditions) else 0.0
    for condition, function in zip(conditions, functions, strict=False):
        result = _where(condition, value(function), result)
    return result


def same_entries(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays hold the same expressions and numbers."""
    return one.size == other.size and all(
        a is b or (type(a) is not Expr and type(b) is not Expr and a == b) for a, b in zip(one, other, strict=True)
    )


def _square_wave(t, duty=0.5):
    """scipy.signal.square: +1 in the first part of a turn, then -1."""
    turned = np.remainder(as_operand(t), 2 * math.pi)
    return _where((duty < 0) | (duty > 1), math.nan, _where(turned < duty * 2 * math.pi, 1.0, -1.0))


def _sawtooth(t, width=1):
    """scipy.signal.sawtooth: from -1 up to +1 in the first part of a turn, then back."""
    turned = np.remainder(as_operand(t), 2 * math.pi)
    if has_tracer(width) or not 0 < width <= 1:
        raise Untraceable("scipy.signal.sawtooth: only a fixed width in (0, 1] can be traced")
    rising = turned / (math.pi * width) - 1
    if width == 1:
        return rising
    return _where(turned < width * 2 * math.pi, rising, (math.pi * (width + 1) - turned) / (math.pi * (1 - width)))


def _sinc(x):
    x = as_operand(x)
    y = math.pi * _where(x == 0.0, 1.0e-20, x)  # as numpy does
    return np.sin(y) / y


def _clip(value, a_min=None, a_max=None, *, min=None, max=None):
    low, high = a_min if min is None else min, a_max if max is None else max
    value = value if low is None else np.maximum(as_operand(value), as_operand(low))
    return value if high is None else np.minimum(as_operand(value), as_operand(high))


def as_operand(value: Any) -> Any:
    """Lists that hold expressions as arrays, so that numpy sees the tracers."""
    return _array(value) if isinstance(value, (list, tuple)) and has_tracer(value) else value


def _extremum(ufunc: np.ufunc, value, axis=None, *, keepdims=False):
    if axis is None and keepdims:
        raise Untraceable("np.max, np.min, np.any and np.all with keepdims and without axis cannot be traced")
    array = _array(value)
    return ufunc.reduce(array, axis=axis, keepdims=True) if keepdims else ufunc.reduce(array, axis=axis)
