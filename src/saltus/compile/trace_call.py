"""Calling a user's function with tracers: a copy of it runs with stand-ins for all it refers to.

Nothing of the user's is changed: modules, helper functions, objects and tables found in globals, closures,
defaults and attributes are replaced by stand-ins inside the copy only.
"""

from __future__ import annotations

import builtins
import datetime
import dis
import functools
import math
import sys
import types
from typing import Any

import numpy as np

from saltus.compile.effects import is_free_of_effects
from saltus.compile.expression import UNARY, Expr, Unrepeatable, Untraceable, graph_of, has_tracer
from saltus.compile.graph import Graph
from saltus.compile.surprises import only_python
from saltus.compile.trace_array import (
    ConstantArray,
    TracerArray,
    apply_function,
    apply_ufunc,
    as_numbers,
    as_operand,
    full_name,
    handled,
    tracer_array,
)
from saltus.compile.trace_table import Sparse, as_spline
from saltus.parameters import Parameter, Parameters

LIBRARIES = frozenset({"numpy", "scipy"})
UNREPEATABLE = frozenset({"numpy.random", "random", "secrets", "time", "uuid"})  # a trace would freeze one value
HARMLESS = frozenset({"default_rng", "RandomState", "Random", "sleep"})  # of these: generators may repeat themselves
CLOCKS = frozenset({"now", "today", "utcnow"})  # of dates
GLOBAL_LOOKUPS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL"})
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: the class was made by a class statement
_ATOMS = frozenset({int, float, bool, str, bytes, complex, type(None), np.float64, np.int64, np.bool_, Expr,
                    TracerArray, slice, range, type(...)})  # fmt: skip
_PLAIN_NUMBERS = frozenset({int, float, np.float64, Expr})


def _root(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _is_foreign(module: str | None) -> bool:
    return _root(module) in LIBRARIES or _root(module) in sys.stdlib_module_names


def _is_unrepeatable(module: str | None) -> bool:
    return module in UNREPEATABLE or (module or "").startswith("numpy.random.")


class StandIns:
    """Makes and remembers the stand-ins of one trace."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self._known: dict[int, tuple[Any, Any]] = {}  # id -> (original, kept alive; stand-in)
        self._classes: dict[type, type] = {}
        self._builtins = dict(vars(builtins))
        self._builtins["min"] = functools.partial(_extremum, min, "least")
        self._builtins["max"] = functools.partial(_extremum, max, "largest")
        self._builtins["isinstance"] = _is_instance
        self._builtins["type"] = _type
        self._builtins["id"] = _identity
        self._builtins["__import__"] = lambda *args, **options: self.wrap(__import__(*args, **options))

    def wrap(self, value: Any) -> Any:
        """The stand-in of a value, or the value itself when it needs none."""
        if type(value) in _ATOMS:
            return value
        if isinstance(value, types.MethodType):
            return types.MethodType(self.wrap(value.__func__), self.wrap(value.__self__))
        found = self._known.get(id(value))
        return self._keep(value, self._make(value)) if found is None else found[1]

    def forget(self) -> None:
        """Let go of everything that belongs to the user; nothing can be wrapped any more."""
        self._known.clear()
        self._classes.clear()
        self._builtins.clear()

    def _keep(self, value: Any, stand_in: Any) -> Any:
        self._known[id(value)] = (value, stand_in)
        self._known[id(stand_in)] = (stand_in, stand_in)
        return stand_in

    def _make(self, value: Any) -> Any:
        kind: Any = type(value)
        module = getattr(value, "__module__", None) if callable(value) else kind.__module__
        if isinstance(value, types.ModuleType):
            return _Module(self, value)
        if kind is Parameters:
            return _TracedParameters(self.graph, value)
        if kind is Parameter:
            return _traced_parameter(self.graph, value)
        if isinstance(value, types.FunctionType) and not _is_foreign(module):
            return self._function(value)
        if isinstance(value, np.ufunc):
            return _Ufunc(value)
        if isinstance(value, np.ndarray) and value.dtype == object:
            made = np.empty(value.shape, dtype=object).view(TracerArray)
            made.flat = [self.wrap(item) for item in value.flat]
            return made
        if isinstance(value, np.ndarray):
            return _constant(value) if kind is np.ndarray and value.dtype.kind == "f" else value
        if kind is types.BuiltinFunctionType and value in _math_handlers():
            return functools.partial(_math_call, value)
        if kind is types.BuiltinFunctionType and _is_unrepeatable(module or type(value.__self__).__module__):
            return _Unrepeatable(value.__name__)
        if kind.__module__.startswith("numba") and hasattr(value, "py_func"):
            return self.wrap(value.py_func)
        if kind is functools.partial:
            options = {key: self.wrap(item) for key, item in value.keywords.items()}
            return functools.partial(self.wrap(value.func), *map(self.wrap, value.args), **options)
        if kind.__name__ == "_lru_cache_wrapper":
            return self.wrap(value.__wrapped__)
        if value is datetime.datetime or value is datetime.date:
            return _Dates(value)
        if isinstance(value, type):
            # splines may be made inside the function; other classes stay what they are
            return self._outside(value) if value.__module__.startswith("scipy.interpolate") else value
        if kind.__module__.startswith("scipy.interpolate"):
            return as_spline(self.graph, value) or (self._outside(value) if callable(value) else value)
        if kind.__module__.startswith("scipy.sparse"):
            return Sparse(value)
        if _is_unrepeatable(module):
            return _Unrepeatable(str(kind.__name__))
        if callable(value) and _root(module) in LIBRARIES:
            return self._outside(value)
        return self._container(value)

    # ---- functions
    def _function(self, function: types.FunctionType) -> types.FunctionType:
        code = function.__code__
        reason = only_python(code)
        if reason:
            return _refusing(f"{function.__name__} {reason}")
        namespace: dict[str, Any] = {"__builtins__": self._builtins, "__name__": function.__module__}
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        made = types.FunctionType(code, namespace, function.__name__, None, cells or None)
        self._keep(function, made)  # before its references are followed: functions may call each other
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        if function.__defaults__:
            made.__defaults__ = tuple(map(self.wrap, function.__defaults__))
        if function.__kwdefaults__:
            made.__kwdefaults__ = {key: self.wrap(item) for key, item in function.__kwdefaults__.items()}
        for name in global_names(code):
            if name in function.__globals__:
                namespace[name] = self.wrap(function.__globals__[name])
        for old, new in zip(function.__closure__ or (), cells, strict=True):
            try:
                new.cell_contents = self.wrap(old.cell_contents)
            except ValueError:
                pass  # an empty cell stays empty
        return self._joining(made) if is_free_of_effects(function) else made

    def _joining(self, made: types.FunctionType) -> Any:
        """The function, whose branches are joined where it returns when it is called with scalars."""

        @functools.wraps(made)
        def call(*args, **options):
            paths = self.graph.paths
            if (
                paths is None
                or options
                or not all(type(value) in _PLAIN_NUMBERS for value in args)
                or not has_tracer(args)
            ):
                return made(*args, **options)
            return paths.within(lambda: made(*args))

        return call

    def _outside(self, function: Any) -> Any:
        """A library function: numbers go through, expressions only where their meaning is known."""

        def call(*args, **options):
            if isinstance(function, type) or not handled(function):
                if has_tracer(args) or has_tracer(options):
                    raise Untraceable(f"{full_name(function)} cannot be traced")
                return self.wrap(tracer_array(function(*as_numbers(args), **as_numbers(options))))
            return apply_function(function, args, options)

        return call

    # ---- objects
    def _container(self, value: Any) -> Any:
        kind: Any = type(value)
        if isinstance(value, (list, tuple)):
            items = [self.wrap(item) for item in value]
            if kind is not list and all(new is old for new, old in zip(items, value, strict=True)):
                return value  # a list is copied: what the function stores there stays out of the user's
            return kind._make(items) if hasattr(kind, "_make") else kind(items)
        if isinstance(value, dict):
            items = {key: self.wrap(item) for key, item in value.items()}
            return value if kind is not dict and all(items[key] is value[key] for key in value) else items
        if kind is types.SimpleNamespace:
            return types.SimpleNamespace(**{key: self.wrap(item) for key, item in vars(value).items()})
        if kind.__flags__ & _HEAP_TYPE and not _is_foreign(kind.__module__):
            return self._object(value)
        return value

    def _object(self, value: Any) -> Any:
        """A shallow copy whose attributes are stand-ins: what the function stores in self stays there."""
        try:
            made = object.__new__(self._class(type(value)))
        except Exception:  # an enumeration, a class with its own memory layout or rules of inheritance
            return value
        for base in type(value).__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                    object.__setattr__(made, name, getattr(value, name))
        if hasattr(value, "__dict__"):
            made.__dict__.update(value.__dict__)
        return made

    def _class(self, original: type) -> type:
        if original not in self._classes:
            wrap = self.wrap

            def __getattribute__(self, name):
                value = super(made, self).__getattribute__(name)
                return value if name.startswith("__") else wrap(value)

            def __call__(self, *args, **options):
                return wrap(original.__call__)(self, *args, **options)

            namespace: dict[str, Any] = {
                "__getattribute__": __getattribute__,
                "__module__": original.__module__,
            }
            if any("__call__" in vars(base) for base in original.__mro__):
                namespace["__call__"] = __call__
            made = self._classes[original] = type(original)(original.__name__, (original,), namespace)
        return self._classes[original]


@functools.lru_cache(maxsize=1024)
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """Global names used by a function and by the functions defined inside it, in their order; attributes are none."""
    names = dict.fromkeys(one.argval for one in dis.get_instructions(code) if one.opname in GLOBAL_LOOKUPS)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(global_names(constant))
    return tuple(names)


class _Module:
    """A module whose attributes are stand-ins."""

    def __init__(self, stand_ins: StandIns, module: types.ModuleType):
        self._stand_ins, self._module = stand_ins, module

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_module"]
        if _is_unrepeatable(module.__name__):
            raise _unrepeatable(f"{module.__name__}.{name}")
        value = self.__dict__[name] = self.__dict__["_stand_ins"].wrap(getattr(module, name))
        return value


class _TracedParameters:
    """Parameters of the user, of which each is a variable."""

    def __init__(self, graph: Graph, parameters: Parameters):
        graph.declare(parameters)
        self._graph, self._parameters = graph, parameters

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._parameters:
            return getattr(self._parameters, name)  # which says what there is
        return _traced_parameter(self._graph, Parameter(self._parameters, name))

    def __getitem__(self, name: str) -> Any:
        raise Untraceable(
            f"the function reads the first value of parameter {name!r}, not that of the run: write .{name}"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            setattr(self._parameters, name, value)  # refused
        object.__setattr__(self, name, value)


def _constant(value: np.ndarray) -> ConstantArray:
    made = value.view(ConstantArray)
    made.setflags(write=False)  # it shares the memory of the user's
    return made


def _traced_parameter(graph: Graph, parameter: Parameter) -> Any:
    value = parameter.of({parameter.name: graph.named_value(parameter.parameters, parameter.name)})
    return value if isinstance(value, Expr) else tracer_array(value)


class _Unrepeatable:
    """A random generator or clock: used inside a traced function, it would be frozen at one value."""

    def __init__(self, name: str):
        self._name = name

    def __call__(self, *args, **options):
        raise _unrepeatable(self._name)

    def __getattr__(self, name: str) -> Any:
        raise _unrepeatable(f"{self._name}.{name}")


class _Dates:
    """The class of dates, whose clock must not be read."""

    def __init__(self, kind: type):
        self._kind = kind

    def __call__(self, *args, **options):
        return self._kind(*args, **options)

    def __getattr__(self, name: str) -> Any:
        if name in CLOCKS:
            raise _unrepeatable(f"{self._kind.__name__}.{name}")
        return getattr(self._kind, name)


def _unrepeatable(name: str) -> Untraceable:
    """The refusal of a clock or of random numbers."""
    if name.rpartition(".")[2] in HARMLESS:
        return Untraceable(f"{name} cannot be traced")
    return Unrepeatable(f"{name} gives another value at every call")


def _refusing(reason: str) -> Any:
    """A function that cannot be traced, as soon as it is called."""

    def call(*args, **options):
        raise Untraceable(reason)

    return call


class _Ufunc:
    """A ufunc that also accepts lists of expressions; its float results can be filled with expressions."""

    def __init__(self, ufunc: np.ufunc):
        self._ufunc = ufunc

    def __call__(self, *args, **options):
        args = [as_operand(value) for value in args]
        if has_tracer(args):
            return apply_ufunc(self._ufunc, "__call__", *args, **options)
        return tracer_array(self._ufunc(*args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)


# ---- math and builtins
@functools.cache
def _math_handlers() -> dict[Any, Any]:
    names = {numpy_name: name for numpy_name, name in UNARY.items() if hasattr(math, name)} | {
        "arctan2": "atan2", "fmod": "fmod", "copysign": "copysign", "power": "pow", "fabs": "fabs",
        "degrees": "degrees", "radians": "radians", "cbrt": "cbrt", "exp2": "exp2",
    }  # fmt: skip
    handlers: dict[Any, Any] = {
        getattr(math, name): _by_graph(key) for key, name in names.items() if hasattr(math, name)
    }
    handlers[math.log] = lambda x, *base: np.log(x) / np.log(*base) if base else np.log(x)
    handlers[math.hypot] = lambda *parts: np.sqrt(sum(x * x for x in parts))
    handlers[math.dist] = lambda a, b: np.sqrt(sum((x - y) * (x - y) for x, y in zip(a, b, strict=True)))
    handlers[math.fsum] = sum
    handlers[math.prod] = lambda items, *, start=1: functools.reduce(lambda a, b: a * b, items, start)
    return handlers


def _by_graph(name: str):
    return lambda *values: getattr(graph_of(*values), name)(*values)


def _math_call(function: Any, *args, **options):
    args = [value.item() if isinstance(value, np.ndarray) and value.size == 1 else value for value in args]
    if not has_tracer(args):
        return function(*args, **options)
    made = _math_handlers()[function](*args, **options)
    if type(made) is Expr:
        made.graph.of_python.add(made.index)
    return made


def _is_instance(value: Any, kinds: Any) -> bool:
    """isinstance, for which a traced number is a float, of Python or of numpy: where these differ nobody knows."""
    kinds = _real_kinds(kinds)
    if type(value) is not Expr:
        return isinstance(value, kinds)
    if isinstance(1.0, kinds) != isinstance(np.float64(1.0), kinds):
        raise Untraceable("the function asks whether a number of the state is one of Python or of numpy")
    return isinstance(1.0, kinds)


def _real_kinds(kinds: Any) -> Any:
    if isinstance(kinds, tuple):
        return tuple(_real_kinds(kind) for kind in kinds)
    return type if kinds is _type else kinds._kind if isinstance(kinds, _Dates) else kinds


def _type(*args, **options) -> Any:
    if len(args) == 1 and type(args[0]) is Expr:
        raise Untraceable("the function asks for the type of a number of the state")
    if len(args) == 1 and type(args[0]) in (TracerArray, ConstantArray):
        return np.ndarray
    return type(*args, **options)


def _identity(value: Any) -> int:
    if has_tracer(value):
        raise Untraceable("the function asks for the id of the state")
    return id(value)


def _extremum(choose: Any, name: str, *args, **options):
    items = list(args) if len(args) > 1 else list(*args)
    if not has_tracer(items):
        return choose(items, **options)
    if options:
        return choose(items, **options)  # compares and asks, which paths.py answers

    def better(a, b):
        graph = graph_of(a, b)
        return choose(a, b) if graph is None else getattr(graph, name)(a, b)

    return functools.reduce(better, items)
