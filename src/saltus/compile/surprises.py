"""What a function does that would mean something else to tracers, or compiled, than it means to Python.

An exception that Python raises (math.sqrt of a negative number, a key that is missing) is a NaN, or another exception,
for tracers and in compiled code. A function that catches exceptions can therefore only be called as Python. So can one
that asks for the identity of a truth: a tracer is never `True`, and numpy's True is not either. A variable
that is read before it is set raises in Python too; compiled code finds a zero there.
"""

from __future__ import annotations

import dis
import functools
import itertools
import types
from typing import Any

ENDING = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "RETURN_", "RAISE_VARARGS", "RERAISE")  # nothing follows
MATCHING = frozenset({"CHECK_EXC_MATCH", "CHECK_EG_MATCH"})  # `except Something:`


@functools.cache
def only_python(code: types.CodeType) -> str:
    """Return why a function, or one inside of it, means something in Python alone; empty if it does not.

    Exceptions, classes (`case float():`) and identity (`is True`) cannot be asked of tracers; numba has part of them.
    """
    steps = list(dis.get_instructions(code))
    names = [step.opname for step in steps]
    bare = any(pair == ("PUSH_EXC_INFO", "POP_TOP") for pair in itertools.pairwise(names))  # `except:`
    if bare or not MATCHING.isdisjoint(names) or "suppress" in code.co_names:
        return "catches exceptions, which numbers raise and tracers do not"
    if "MATCH_CLASS" in names:
        return "asks for a class by `match`"
    if any(after.opname == "IS_OP" and one.argval in (True, False) for one, after in itertools.pairwise(steps)):
        return "asks whether something `is` True or False"
    inner = (only_python(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return next(filter(None, inner), "")


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


@functools.cache
def unset(code: types.CodeType) -> tuple[str, ...]:
    """Return the local variables of a function that may be read before they are set, in a function without `except`."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "CACHE"]
    place = {step.offset: k for k, step in enumerate(steps)}
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    known: list[frozenset[str] | None] = [None] * len(steps)  # what is set for sure before each step
    todo = [(0, frozenset(code.co_varnames[:count]))]
    found: dict[str, None] = {}
    while todo:
        k, given = todo.pop()
        before = known[k]
        if before is not None and before <= given:
            continue
        known[k] = given = given if before is None else before & given
        step, names = steps[k], frozenset[str]()
        about: Any = step.argval  # a name or two of them,
        jump: Any = step.argval  # or the offset to which it goes
        if step.opname.endswith(("_FAST", "_FAST_CHECK", "_FAST_AND_CLEAR")):
            names = frozenset(about if isinstance(about, tuple) else (about,))
        if step.opname in ("LOAD_FAST", "LOAD_FAST_CHECK"):
            found |= dict.fromkeys(sorted(names - given - set(code.co_cellvars)))
        elif step.opname.startswith("STORE_FAST"):
            given = given | names
        elif step.opname in ("DELETE_FAST", "LOAD_FAST_AND_CLEAR"):
            given = given - names
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            todo.append((place[jump], given))
        if not step.opname.startswith(ENDING) and k + 1 < len(steps):
            todo.append((k + 1, given))
    return tuple(found)
