"""Whether a user's function, called with scalars, changes nothing but its own local variables.

Seen from its bytecode and from what it refers to; what is not surely free of effects counts as having some.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

import numpy as np

from saltus.parameters import Parameter, Parameters

MOST_CALLS_DEEP = 8  # functions that call each other
STORING = ("STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE", "STORE_GLOBAL", "STORE_DEREF", "STORE_NAME", "DELETE_", "YIELD",
           "IMPORT", "SEND", "GET_AWAITABLE", "SETUP_WITH", "BEFORE_WITH", "MAKE_FUNCTION", "MAKE_CELL")  # fmt: skip
# of an array: what changes it in place
CHANGING = frozenset({"sort", "fill", "put", "resize", "partition", "itemset", "setfield", "setflags", "byteswap"})


def is_free_of_effects(function: types.FunctionType, depth: int = 0) -> bool:
    """Return whether a call with scalars leaves no trace anywhere."""
    code = function.__code__
    if depth > MOST_CALLS_DEEP or not _stores_nothing(code) or CHANGING & set(code.co_names):
        return False
    if function.__defaults__ or function.__kwdefaults__:
        return False
    used = [function.__globals__[name] for name in code.co_names if name in function.__globals__]
    try:
        used += [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # an empty cell
        return False
    return all(_is_harmless(value, depth) for value in used)


def _is_harmless(value: Any, depth: int) -> bool:
    """Whether a value can be used without being changed."""
    if isinstance(value, (bool, int, float, complex, str, type(None), np.number, np.bool_, Parameters, Parameter)):
        return True
    if isinstance(value, types.ModuleType):
        return value.__name__ in ("numpy", "math")
    if isinstance(value, types.FunctionType):
        return (value.__module__ or "").startswith("numpy") or is_free_of_effects(value, depth + 1)
    if isinstance(value, tuple):
        return all(_is_harmless(item, depth) for item in value)
    return isinstance(value, np.ufunc) or (isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math")


@functools.cache
def _stores_nothing(code: types.CodeType) -> bool:
    names = [instruction.opname for instruction in dis.get_instructions(code)]
    return not any(name.startswith(STORING) for name in names)
