"""What a function does that would mean something else to tracers, or compiled, than it means to Python.

An exception that Python raises (math.sqrt of a negative number, a key that is missing) is a NaN, or another exception,
for tracers and in compiled code. A function that catches exceptions can therefore only be called as Python.
"""

from __future__ import annotations

import dis
import functools
import itertools
import types

MATCHING = frozenset({"CHECK_EXC_MATCH", "CHECK_EG_MATCH"})  # `except Something:`


@functools.cache
def catches(code: types.CodeType) -> bool:
    """Return whether a function, or one that is defined inside of it, catches exceptions."""
    names = [instruction.opname for instruction in dis.get_instructions(code)]
    bare = any(pair == ("PUSH_EXC_INFO", "POP_TOP") for pair in itertools.pairwise(names))  # `except:`
    if bare or not MATCHING.isdisjoint(names) or "suppress" in code.co_names:
        return True
    return any(catches(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))


def same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Return whether two functions do the same, wherever their sources stand."""
    if (one.co_code, one.co_names, one.co_varnames) != (other.co_code, other.co_names, other.co_varnames):
        return False
    if (one.co_freevars, one.co_cellvars) != (other.co_freevars, other.co_cellvars):
        return False
    if len(one.co_consts) != len(other.co_consts):
        return False
    return all(_same_constant(a, b) for a, b in zip(one.co_consts, other.co_consts, strict=True))


def _same_constant(one, other) -> bool:
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        return same_code(one, other)
    return repr(one) == repr(other)  # 0.0 equals -0.0 and False, and NaN equals nothing
