"""Units of a model as machine code that no numba made: what Python and kernels see of them.

Kernels take their addresses; Python may call them as well, on arrays of floats. `py_func` is the same unit as plain
Python, made from the same text when somebody asks for it.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from saltus.compile.direct import compile_text
from saltus.compile.failure import raise_failure
from saltus.compile.lower import UNIT_KINDS
from saltus.compile.machine import Code
from saltus.compile.modules import module_from
from saltus.compile.seam import interpreted
from saltus.compile.texts import BuiltText

_FLOAT, _BYTE = np.dtype(np.float64), ctypes.c_char
C_TYPES = {"F": (ctypes.c_double,), "I": (ctypes.c_int64,), "A": (ctypes.c_void_p, ctypes.c_int64)}


@functools.cache
def prototype(unit_type: str) -> Any:
    """Return the ctypes type of a unit: int32 f(ret*, exc*, words...)."""
    words = [word for kind in UNIT_KINDS[unit_type] for word in C_TYPES[kind]]
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *words)


def address_of(array: np.ndarray) -> int:
    """Return where the numbers of an array are; five times faster than array.ctypes where it can be written to."""
    if array.size and array.flags.writeable:
        return ctypes.addressof(_BYTE.from_buffer(array))  # pyright: ignore[reportArgumentType]
    return array.ctypes.data


class NativeUnit:
    """One unit of a generated module."""

    def __init__(self, code: Code | BuiltText, text: str, name: str):
        self.code, self.text, self.name = code, text, name  # the code lives as long as its units
        self.address = code[name]

    def __repr__(self) -> str:
        return f"<unit {self.name} of a model>"

    def address_of(self, signature: Any) -> int:
        """Return the address; there is one version."""
        return self.address

    @property
    def py_func(self) -> Any:
        """The unit as plain Python."""
        made = getattr(module_from(self.text, "model"), self.name)
        return getattr(made, "py_func", made)

    @functools.cached_property
    def _call(self) -> Any:
        return prototype(self.name.upper())(self.address)

    @functools.cached_property
    def _kinds(self) -> str:
        return UNIT_KINDS[self.name.upper()]

    def __call__(self, *arguments: Any) -> int:
        """Call the machine code; vectors are contiguous arrays of floats, written in place."""
        words: list[Any] = []
        for argument, kind in zip(arguments, self._kinds, strict=True):
            if kind == "A":
                if argument.dtype is not _FLOAT and argument.dtype != _FLOAT:
                    raise TypeError(f"{self.name} takes contiguous arrays of floats, not {argument!r}")
                try:  # five times faster than asking the array
                    words.append(ctypes.addressof(_BYTE.from_buffer(argument)))
                except (TypeError, ValueError):  # empty, read-only or not contiguous
                    if not argument.flags.c_contiguous:
                        raise TypeError(f"{self.name} takes contiguous arrays of floats, not {argument!r}") from None
                    words.append(argument.ctypes.data)
                words.append(argument.size)
            else:
                words.append(argument)
        result, failure = ctypes.c_int64(0), ctypes.c_void_p()
        status = self._call(ctypes.addressof(result), ctypes.addressof(failure), *words)
        if status:
            raise_failure(status)
        return result.value


def runnable(unit: Any) -> Any:
    """Return a unit as Python can call it: machine code where it has an entry, else plain Python."""
    return unit if isinstance(unit, NativeUnit) else interpreted(unit)


NO_UNITS = '''"""Units of a model that has no such functions."""

from saltus.compile.seam import unit
from saltus.compile.types import CURVATURE, RESET, SURFACE, SWITCH


@unit(CURVATURE)
def curvature(t, q, v, par, out):
    # left out for schemes that never ask; whoever does must not go on with what stands there
    large = 1e200
    for i in range(out.shape[0]):
        out[i] = large * large - large * large
    return 0


@unit(SWITCH)
def switch(t, q, v, par, out):
    return 0


@unit(SURFACE)
def surface(t, q, v, par, out):
    return 0


@unit(RESET)
def reset(number, t, q, v, par):
    return 0
'''


@functools.cache
def absent_unit(name: str) -> NativeUnit:
    """Return the unit of a model that has nothing to evaluate there, or does without it."""
    return NativeUnit(compile_text(NO_UNITS), NO_UNITS, name)
