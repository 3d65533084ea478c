"""Functions of the user that machine code calls as plain Python, through one callback of ctypes.

The functions stand in a table; a model keeps their numbers among its parameters, so that its machine code knows no
function and serves every model of the same structure.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable

import numpy as np

from saltus.compile import failure
from saltus.compile.native import prototype

_table: dict[int, Callable] = {}
_numbers = itertools.count()


def register(function: Callable) -> int:
    """Keep function(t, q, v, out) and return its number."""
    number = next(_numbers)
    _table[number] = function
    return number


def release(number: int) -> None:
    """Forget a function whose model is gone."""
    _table.pop(number, None)


def opaque(t, q, v, par, out):
    """The unit as plain Python: call the function whose number is par[0]."""
    _table[int(par[0])](t, q, v, out)
    return 0


@functools.cache
def _entry():
    return prototype("FORCE")(_called)


def address() -> int:
    """Return the address of the same unit for machine code."""
    return ctypes.cast(_entry(), ctypes.c_void_p).value or 0


def _called(ret, exc, t, q, nq, v, nv, par, n, out, size) -> int:
    """Call a function for machine code; an exception waits until Python is back (failure.py)."""
    try:
        if not failure.is_pending():
            try:
                failure.kept.inside = True
                opaque(t, _array(q, nq), _array(v, nv), _array(par, n), _array(out, size))
            finally:
                failure.kept.inside = False
    except BaseException as error:  # nothing may pass through machine code
        failure.keep(error)
    return failure.FAILED if failure.is_pending() else 0


@functools.lru_cache(maxsize=256)  # kernels hand over the same few places all the time
def _array(address: int, size: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_double * size).from_address(address)) if size else np.empty(0)
