"""A user's function with its name in messages: called once with numbers before anything is traced or compiled."""

from __future__ import annotations

import dataclasses
import functools
import os
import traceback
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from saltus.build.marks import PLAIN_VALUES
from saltus.compile.trace_call import global_names
from saltus.errors import FunctionError
from saltus.parameters import Parameter, Parameters, Values, given
from saltus.system import GAP_ARGUMENTS, arity

NEVER_CHANGING = (types.ModuleType, types.BuiltinFunctionType, type, np.ufunc)  # nothing of them is a parameter


@dataclasses.dataclass(frozen=True, eq=False)
class UserFunction:
    """A function of (q), (t, q) or (t, q, v), or of (q, v) when `rate`, that returns an array of known shape.

    Attributes
    ----------
    name
        What messages call it: "f", "gap of contact 'floor'".
    function
        The user's own.
    arity
        How many of (t, q, v) it takes.
    shape
        Shape of its result, found by the first call; () for a scalar.
    rate
        Whether its arguments are (q, v), as for q_dot.
    values
        Values of the parameters for which it is called.
    """

    name: str
    function: Callable
    arity: int
    shape: tuple[int, ...] = ()
    rate: bool = False
    values: Values | None = None

    @classmethod
    def probe(cls, function, name, t, q, v, shapes, *, least=1, most=3, rate=False, values=None) -> UserFunction:
        """Call the function once; its result must have one of `shapes` (None: any vector) and be finite."""
        allowed = tuple(range(least, most + 1))
        listed = [f"({', '.join(GAP_ARGUMENTS[k])})" for k in allowed]
        wanted = "(q, v)" if rate else " or ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
        if not callable(function):
            raise FunctionError(f"{name} must be a function of {wanted}, not {function!r}")
        count = arity(function, name, wanted, rate=rate)
        if (rate and count != 2) or (not rate and count not in allowed):
            raise FunctionError(f"{name} takes {count} arguments: it must take {wanted}")
        made = cls(name, function, count, (), rate, values)
        value = made(t, q, v)
        size = value.size
        if shapes is None:
            shape = (size,)
        else:
            fitting = [s for s in shapes if value.shape == s or (size == np.prod(s, dtype=int) and len(s) < 2)]
            if not fitting:
                wanted = " or ".join(str(s) for s in shapes)
                raise FunctionError(
                    f"{name} returned shape {value.shape}, expected {wanted} {at(t, q, v)} {made.where}"
                )
            shape = fitting[0]
        if not np.all(np.isfinite(value)):
            raise FunctionError(f"{name} returned {value} {at(t, q, v)}: it must be finite there {made.where}")
        again = made(t, q, v)
        if not np.array_equal(value, again):
            raise FunctionError(
                f"{name} gave {value} and then {again} {at(t, q, v)}: it must depend on its arguments alone "
                f"{made.where}"
            )
        return dataclasses.replace(made, shape=shape)

    @property
    def where(self) -> str:
        """Which function of which file this is, in brackets, for the end of a message."""
        return _where(self.function)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    def arguments(self, t, q, v) -> tuple:
        """Return the arguments that this function takes."""
        if self.rate:
            return (q, v)
        return (q,) if self.arity == 1 else (t, q) if self.arity == 2 else (t, q, v)

    def __call__(self, t, q, v) -> np.ndarray:
        """Call the user's function on copies and return an array; an exception names the function and the state."""
        if not self.values:
            return self._result(t, q, v)
        with given(self.values):
            return self._result(t, q, v)

    def _result(self, t, q, v) -> np.ndarray:
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        try:
            result = self.function(*self.arguments(float(t), q, v))
        except (Exception, SystemExit) as error:  # a program must not end where a function is only looked at
            raise FunctionError(
                f"{self.name} raised {type(error).__name__}: {error} {at(t, q, v)} {_line_of(error, self.function)}"
            ) from error
        if result is None:
            raise FunctionError(
                f"{self.name} returned None: does it lack a return statement? {at(t, q, v)} {self.where}"
            )
        try:
            made = np.array(result)
            if made.dtype.kind in "biufO":
                return made.astype(float)
        except (TypeError, ValueError, OverflowError) as error:
            raise FunctionError(
                f"{self.name} returned {result!r}, which is not an array of numbers {self.where}"
            ) from error
        if np.iscomplexobj(made):
            raise FunctionError(
                f"{self.name} returned complex numbers {result!r}: it must be real {at(t, q, v)} {self.where}"
            )
        raise FunctionError(f"{self.name} returned {result!r}, which is not an array of numbers {self.where}")

    def fill(self, t, q, v, out) -> None:
        """Call the function and write its result; a non-finite number is an error that names the state."""
        value = np.ravel(self(t, q, v))
        if value.shape != out.shape:
            raise FunctionError(
                f"{self.name} returned {value.size} numbers, expected {out.size} {at(t, q, v)} {self.where}"
            )
        if not np.all(np.isfinite(value)):
            raise FunctionError(f"{self.name} returned {value} {at(t, q, v)} {self.where}")
        out[:] = value


def at(t, q, v) -> str:
    """Return where a function was called, for messages."""
    q, v = (np.array2string(np.asarray(x), precision=6, threshold=12) for x in (q, v))
    return f"at t = {float(t):.9g}, q = {q}, v = {v}"


def _where(function: Callable) -> str:
    """Return the name of a function and the line where it begins, in brackets."""
    function = _written(function)
    name = getattr(function, "__qualname__", None) or type(function).__name__
    code = getattr(function, "__code__", None)
    return f"({name})" if code is None else f"({name}, {os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def _written(function: Callable) -> Callable:
    """Return what the user has written, without what it is wrapped in."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif _has(function, "__wrapped__"):  # a decorator, a cache
            function = function.__wrapped__
        elif _has(function, "py_func"):  # compiled by numba
            function = function.py_func
        elif not _has(function, "__code__") and hasattr(type(function).__call__, "__code__"):
            function = type(function).__call__
        else:
            return function


def _has(value: Any, name: str) -> bool:
    """Tell whether an object has an attribute, also where its own __getattr__ raises what it likes."""
    try:
        return hasattr(value, name)
    except Exception:
        return False


def _line_of(error: BaseException, function: Callable) -> str:
    """Return the line of the user's that raised: the last one in the file of the function, else where that begins."""
    code = getattr(_written(function), "__code__", None)
    frames = (
        [] if code is None else [f for f in traceback.extract_tb(error.__traceback__) if f.filename == code.co_filename]
    )
    if not frames:
        return _where(function)
    return f"({frames[-1].name}, {os.path.basename(frames[-1].filename)}:{frames[-1].lineno})"


def parameters_in(*values: Any) -> list[Parameters]:
    """Return the Parameters that functions and numbers refer to, as far as one can see, in the order of sight."""
    found: dict[int, Parameters] = {}
    seen: set[int] = set()
    todo = [(value, 0) for value in reversed(values)]
    while todo:
        value, depth = todo.pop()
        if value is None or isinstance(value, PLAIN_VALUES) or depth > 6 or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Parameter):
            value = value.parameters
        if isinstance(value, Parameters):
            found[id(value)] = value
        else:
            todo += [(one, depth + 1) for one in reversed(_parts(value))]
    return list(found.values())


def _parts(value: Any) -> list[Any]:
    """Return what a function, a container or an object of the user refers to."""
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, types.FunctionType):
        known = value.__globals__
        cells = []
        for cell in value.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:
                continue  # an empty cell
        names = [known[name] for name in global_names(value.__code__) if name in known]
        return [*cells, *names, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, np.ndarray):
        return list(value.flat) if value.dtype == object else []
    if isinstance(value, NEVER_CHANGING) or type(value).__module__.split(".")[0] in ("numpy", "scipy"):
        return []
    if _has(value, "py_func"):  # compiled by numba
        return [value.py_func]
    own = getattr(value, "__dict__", None)
    return list(own.values()) if isinstance(own, dict) else []
