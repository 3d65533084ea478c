"""Marks: hashable fingerprints of a function and of everything that it reads; equal marks mean equal behaviour.

A mark looks through functions into the globals, closures and defaults that they use, and from there into modules,
classes, objects and containers. Two marks of one function, taken at different times, tell whether anything that it can
read has changed in between.
"""

from __future__ import annotations

import abc
import builtins
import collections
import dis
import functools
import hashlib
import itertools
import operator
import sys
import types
import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from saltus.compile.trace_call import global_names
from saltus.parameters import Parameter, Parameters

COPIED_BYTES = 100_000  # of an array that is kept as it is; larger ones are kept as a digest
MOST_DEPTH = 60  # objects inside of objects
ABSENT = "<absent>"

# as tuples, because looking through a union takes longer
PLAIN_VALUES = (bool, int, float, complex, str, bytes, np.generic)
# of them those that are nothing but their value: a class made of float may have attributes and methods
PLAIN_KINDS = frozenset({bool, int, float, complex, str, bytes, *np.sctypeDict.values()}) - {np.void, np.object_}
CONSTANT = (np.ufunc, types.GetSetDescriptorType, types.MemberDescriptorType, np.dtype,
            types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
            range, slice, types.EllipsisType, types.NotImplementedType)  # fmt: skip
# modules, functions and classes of these are what they are; anything else may be somebody's own and may be changed
MARKED_LIBRARIES = frozenset({"numpy", "scipy", "numba", "llvmlite", "pandas", "xarray", "matplotlib", "sympy",
"h5py", "rich",
                       "saltus", "pytest", "_pytest", "pluggy"}) | sys.stdlib_module_names - {"__main__"}  # fmt: skip
# what is not in this process, or in no variable of a function: files, the environment, names that are made of text
ELSEWHERE = frozenset({"os", "sys", "io", "pathlib", "importlib", "builtins", "inspect", "gc", "json", "csv", "pickle",
                     "shelve", "sqlite3", "configparser", "tomllib", "zipfile", "gzip", "mmap", "glob", "shutil",
                     "tempfile", "fileinput", "linecache", "socket", "subprocess", "locale", "urllib"})  # fmt: skip
READERS = frozenset({"loadtxt", "genfromtxt", "fromfile", "memmap", "fromregex", "read_text", "read_bytes", "read_csv",
                     "__dict__", "__globals__", "__import__", "import_module"})  # fmt: skip
BUILTIN_READERS = frozenset({"open", "input", "eval", "exec", "globals", "vars", "__import__"})
# attributes by names that stand in texts: objects and classes are looked at as a whole, but of modules only names
READ_BY_NAME = frozenset({"getattr", "__getattribute__", "attrgetter", "methodcaller"})
# attributes of a class that say nothing about what it does
SILENT = frozenset({"__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__slots__",
                    "__firstlineno__", "__static_attributes__", "__match_args__", "__abstractmethods__", "_abc_impl",
                    "__dataclass_fields__", "__dataclass_params__", "__orig_bases__", "__parameters__"})  # fmt: skip


class Unmarked(Exception):
    """A value that may change without being noticed."""


def mark_of(value: Any) -> Any:
    """Return the mark of a value, functions with all that they read.

    Raises Unmarked for what cannot be looked through: then nobody knows whether a function still does what it did.
    """
    if value is None or type(value) in PLAIN_KINDS:  # most fields of a system
        return _plain(value)
    return _Look().mark(value, (), 0)


def changed(before: Any, after: Any) -> str:
    """Return the name of what differs between two marks of one function, as deep inside as it has a name."""
    if not (isinstance(before, tuple) and isinstance(after, tuple)):
        return ""
    for one, other in itertools.zip_longest(before, after):
        if one == other:
            continue
        inner = changed(one, other)
        if isinstance(other, _Named):
            return f"{other.name}{inner}" if inner[:1] == "[" else f"{other.name}.{inner}" if inner else other.name
        return inner
    return ""


class _Named(tuple):
    """A mark with the name under which it is read; the name is the first part, so that it takes part."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self[0]


def _plain(value: Any) -> Any:
    if value is None:
        return None
    # 0.0 equals -0.0 and False, and NaN equals nothing
    return type(value), value if value and value == value else repr(value)


class _Look:
    """One look at everything behind a value; what is met again is named by its number, so that cycles end."""

    def __init__(self):
        self._met: dict[int, tuple[int, Any]] = {}  # id -> (number, the value, kept alive)
        self._left = 20_000  # values to look at: beyond, looking would take longer than compiling
        self._by_name = self._module_met = False  # attributes are read by name; a module of the user was met

    def mark(self, value: Any, names: Iterable[str], depth: int) -> Any:
        """Return the mark of a value; names: attributes of modules that the function above may read."""
        if value is None or type(value) in PLAIN_KINDS:
            return _plain(value)
        self._left -= 1
        if depth > MOST_DEPTH or self._left < 0:
            raise Unmarked
        if isinstance(value, CONSTANT):
            return value if not isinstance(value, (range, slice)) else (type(value), repr(value))
        if isinstance(value, types.ModuleType):
            return self._module(value, names, depth)
        if isinstance(value, BUILT_IN_METHODS):
            return self._method(value, names, depth)
        known = self._met.get(id(value))
        if known is not None:
            return "met", known[0]
        self._met[id(value)] = len(self._met), value
        return self._inside(value, names, depth + 1)

    def _inside(self, value: Any, names: Iterable[str], depth: int) -> Any:
        kind = type(value)
        if kind is types.FunctionType:
            return self._function(value, depth)
        if isinstance(value, Parameters):
            return value.mark
        if isinstance(value, Parameter):
            return value.label, value.parameters.mark
        if isinstance(value, PLAIN_VALUES):
            return _content(value), *self._kind(value, kind, depth)
        if isinstance(value, (tuple, list)):
            inside = tuple([self.mark(one, names, depth) for one in value])
            return inside, *self._kind(value, kind, depth)
        if isinstance(value, dict):
            inside = tuple([self._item(key, one, names, depth) for key, one in value.items()])
            otherwise = value.default_factory if isinstance(value, collections.defaultdict) else None
            return inside, self.mark(otherwise, names, depth), *self._kind(value, kind, depth)
        if isinstance(value, np.ndarray):
            return *self._array(value, depth), *self._kind(value, kind, depth)
        if isinstance(value, types.CodeType):
            return value
        if isinstance(value, types.MethodType):
            return "method", self.mark(value.__func__, names, depth), self.mark(value.__self__, names, depth)
        if isinstance(value, (staticmethod, classmethod)):
            return kind, self.mark(value.__func__, names, depth)
        if isinstance(value, property):
            return kind, tuple(self.mark(one, names, depth) for one in (value.fget, value.fset))
        if kind is functools.cached_property:  # what it found stands among the attributes of the object
            return kind, self.mark(value.func, names, depth)
        if isinstance(value, (set, frozenset)):
            if not all(type(one) in PLAIN_KINDS for one in value):
                raise Unmarked
            return frozenset(value), *self._kind(value, kind, depth)
        if isinstance(value, type):
            return self._class(value, depth)
        if isinstance(value, weakref.ReferenceType):
            return kind, self.mark(value(), names, depth)
        if kind is functools.partial:
            inside = value.func, value.args, value.keywords, value.__dict__
            return kind, *(self.mark(one, names, depth) for one in inside)
        if kind.__name__ == "_lru_cache_wrapper":
            return self._cache(value, names, depth)
        inner = _wrapped(value)
        if inner is not None:
            return kind, self.mark(inner, names, depth)
        if kind in (operator.attrgetter, operator.methodcaller):
            self._read_by_name()
        if callable(value) and _is_library(getattr(value, "__module__", None)) and not hasattr(value, "__dict__"):
            return value
        if type(value).__module__.split(".")[0] == "numpy" and callable(value) and hasattr(value, "__name__"):
            return value  # a function of numpy that is not one of Python
        if all(_is_library(base.__module__) for base in kind.__mro__):
            return self._reduced(value, depth)
        return self._object(value, depth)

    def _item(self, key: Any, value: Any, names: Iterable[str], depth: int) -> _Named:
        label = f"[{key!r}]" if isinstance(key, PLAIN_VALUES) else "[...]"
        return _Named((label, self.mark(key, names, depth), self.mark(value, names, depth)))

    # ---- functions
    def _function(self, function: types.FunctionType, depth: int) -> Any:
        # one that was made by exec says that it is of builtins or of nothing, where there are none of Python
        made_here = function.__module__ in (None, "builtins")
        if not made_here and _is_library(function.__module__) and not function.__closure__:
            return function
        code, known = function.__code__, function.__globals__
        names, own, used = names_in(code), global_names(code), use_of(code)  # w of p.w is no name of its own
        if not READERS.isdisjoint(names) or any(name not in known for name in used.builtin_readers):
            raise Unmarked
        if not READ_BY_NAME.isdisjoint(names):
            if not READERS.isdisjoint(used.texts):
                raise Unmarked
            self._read_by_name()
        made: list[Any] = [
            _Named((name, self.mark(known[name], names, depth)))
            for name in names
            if name in own and known.get(name, known) is not known
        ]
        made += [
            _Named((name, self.mark(vars(builtins)[name], names, depth)))
            for name in names
            if name in vars(builtins) and name not in known and not isinstance(vars(builtins)[name], OF_PYTHON)
        ]
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                made.append(_Named((name, self.mark(cell.cell_contents, names, depth))))
            except ValueError:  # an empty cell
                made.append(_Named((name, ABSENT)))
        if used.loads:  # np.load and its like, but not p.load
            cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
            for name in used.loads:
                cell = cells.get(name)
                if isinstance(known.get(name) if cell is None else _inside_of(cell), types.ModuleType):
                    raise Unmarked
        for name in used.imports:
            made.append(_Named((name, self.mark(sys.modules.get(name), names, depth))))
        for part in (function.__defaults__, function.__kwdefaults__, function.__dict__):
            if part:
                made.append(self.mark(part, names, depth))
        return code, *made

    def _method(self, value: Any, names: Iterable[str], depth: int) -> Any:
        """A function that is not one of Python, or such a method together with its object: table.get."""
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            return value
        return value.__name__, self.mark(owner, names, depth + 1)

    def _cache(self, value: Any, names: Iterable[str], depth: int) -> Any:
        """A function with a cache of functools: it goes on with what it found first, until it forgets."""
        info = value.cache_info()
        if info.currsize == info.maxsize:  # every call may push another one out
            raise Unmarked
        return info.misses, self.mark(value.__wrapped__, names, depth), self.mark(vars(value), names, depth)

    # ---- modules, classes, objects
    def _read_by_name(self) -> None:
        self._by_name = True
        if self._module_met:
            raise Unmarked

    def _module(self, module: types.ModuleType, names: Iterable[str], depth: int) -> Any:
        if module.__name__.partition(".")[0] in ELSEWHERE:
            raise Unmarked
        if _is_library(module.__name__):
            return module
        self._module_met = True
        if self._by_name or type(module) is not types.ModuleType:  # one that computes its attributes
            raise Unmarked
        known = vars(module)
        names = (*names, "__getattr__")  # asked for what is not there
        # a module is not met once: another function reads other names of it
        inside = [_Named((name, self._attribute(known[name], names, depth))) for name in names if name in known]
        return module, tuple(inside)

    def _attribute(self, value: Any, names: Iterable[str], depth: int) -> Any:
        return self.mark(value, names, depth + 1)

    def _class(self, kind: type, depth: int) -> Any:
        # whoever calls register() of an abstract class decides what its instances are
        made: list[Any] = [kind, abc.get_cache_token()] if isinstance(kind, abc.ABCMeta) else [kind]
        if _is_library(kind.__module__):
            return tuple(made)
        if not _is_library(type(kind).__module__):
            made.append(self.mark(type(kind), (), depth))  # attributes may stand there too
        for base in kind.__mro__:
            if not _is_library(base.__module__):
                inside = [
                    _Named((name, self.mark(value, (), depth)))
                    for name, value in vars(base).items()
                    if name not in SILENT
                ]
                made.append(tuple(inside))
        return tuple(made)

    def _object(self, value: Any, depth: int) -> Any:
        """An object of somebody's own class: its attributes and those of its class."""
        foreign = [base for base in type(value).__mro__ if _is_library(base.__module__)]
        if any(base.__module__ not in ("builtins", "abc", "typing", "enum") for base in foreign):
            hidden = self._reduced(value, depth)  # what a library keeps in it
        else:
            hidden = None
        return self.mark(type(value), (), depth), self._own(value, type(value), depth), hidden

    def _kind(self, value: Any, kind: type, depth: int) -> tuple:
        """What a container or a number has beside its content: the class, and attributes that are its own."""
        if kind.__module__ == "builtins" or (isinstance(value, np.ndarray) and _is_library(kind.__module__)):
            return (kind,)
        return self.mark(kind, (), depth), self._own(value, kind, depth)

    def _own(self, value: Any, kind: type, depth: int) -> Any:
        """The attributes of an object, nothing for those of Python's own types."""
        if kind.__module__ == "builtins":
            return ()
        made = []
        for base in kind.__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__"):
                    name = f"_{base.__name__.lstrip('_')}{name}" if name[:2] == "__" != name[-2:] else name
                    made.append(_Named((name, self.mark(getattr(value, name, ABSENT), (), depth))))
        own = getattr(value, "__dict__", None)
        for name, one in own.items() if isinstance(own, dict) else ():
            made.append(_Named((name, self.mark(one, (), depth))))
        return tuple(made)

    def _array(self, value: np.ndarray, depth: int) -> Any:
        if value.dtype.hasobject:
            return value.shape, self.mark(value.ravel().tolist(), (), depth)
        if value.nbytes <= COPIED_BYTES:
            content = value.tobytes()
        else:
            content = hashlib.blake2b(np.ascontiguousarray(value).data.cast("B")).digest()
        return value.shape, value.dtype.str, content

    def _reduced(self, value: Any, depth: int) -> Any:
        """An object of a library by what a copy of it would be made of."""
        if isinstance(value, itertools.count):
            return "count", repr(value)
        if hasattr(value, "getEffectiveLevel"):  # a logger is pickled by its name
            return type(value), value.name, value.getEffectiveLevel(), value.disabled, value.manager.disable
        if hasattr(value, "__next__"):  # an iterator does not say where it is
            raise Unmarked
        try:
            parts = value.__reduce_ex__(4)
        except Exception as error:  # it cannot be copied: a lock, a file, a generator
            raise Unmarked from error
        if isinstance(parts, str):
            return type(value), parts
        constructor, *rest = parts
        rest = [tuple(part) if hasattr(part, "__next__") else part for part in rest]
        return type(value), getattr(constructor, "__qualname__", ""), self.mark(rest, (), depth)


def _wrapped(value: Any) -> Any:
    """Return the function inside of an object that calls it: one of numba, np.vectorize."""
    if type(value).__module__.startswith("numba.") and hasattr(value, "py_func"):
        return value.py_func
    return value.pyfunc if type(value) is np.vectorize else None


@functools.lru_cache(maxsize=4096)
def _is_library(module: str | None) -> bool:
    return (module or "builtins").partition(".")[0] in MARKED_LIBRARIES


BUILT_IN_METHODS = (types.BuiltinFunctionType, types.MethodWrapperType)


OF_PYTHON = (types.BuiltinFunctionType, type)


def _content(value: Any) -> Any:
    """Return what a number or a text is, without what its class adds; rows of tables can be changed in place."""
    if isinstance(value, np.void):
        if value.dtype.hasobject:
            raise Unmarked
        return str(value.dtype), value.tobytes()
    plain: Any = next(kind for kind in PLAIN_VALUES if isinstance(value, kind))
    return plain.__repr__(value)


def _inside_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


class _Use(NamedTuple):
    """What a function does with names: modules it imports, builtins that read elsewhere, x of `x.load`, its texts."""

    imports: frozenset[str]
    builtin_readers: frozenset[str]
    loads: frozenset[str]
    texts: frozenset[str]


@functools.lru_cache(maxsize=1024)
def use_of(code: types.CodeType) -> _Use:
    """Return what the instructions of a function tell beyond its names, those of functions inside of it included."""
    imports, readers, loads, before = set(), set(), set(), ""
    for one in dis.get_instructions(code):
        if one.opname == "IMPORT_NAME":
            imports.add(one.argval)
        elif one.opname in ("LOAD_GLOBAL", "LOAD_NAME") and one.argval in BUILTIN_READERS:
            readers.add(one.argval)
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD") and one.argval == "load" and before:
            loads.add(before)
        before = one.argval if one.opname.startswith("LOAD_") and isinstance(one.argval, str) else ""
    texts = {constant for constant in code.co_consts if isinstance(constant, str)}
    own = _Use(*map(frozenset, (imports, readers, loads, texts)))
    inner = [use_of(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return _Use(*(frozenset().union(*parts) for parts in zip(own, *inner, strict=True)))


@functools.lru_cache(maxsize=1024)
def names_in(code: types.CodeType) -> tuple[str, ...]:
    """Return the names that a function may look up, those of functions inside of it included."""
    inner = (name for constant in code.co_consts if isinstance(constant, types.CodeType) for name in names_in(constant))
    return tuple(dict.fromkeys((*code.co_names, *inner)))
