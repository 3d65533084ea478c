"""Units: kernels that are declared once and run compiled or interpreted.

`@unit(signature)` declares a kernel in a subset of Python and compiles nothing; `ready` loads its machine code;
`interpreted` returns the same kernel as plain Python (debugging, rehearsal of a step). Inside kernels, `head`,
`tail` and `row_of` make views of vectors (views.py).
"""

from __future__ import annotations

import types as python_types

from saltus.compile import code
from saltus.compile.unit import Unit
from saltus.compile.views import as_array, handle, head, larger, mat, room_at, row_of, smaller, tail, whole

__all__ = [
    "as_array",
    "exposed",
    "handle",
    "head",
    "interpreted",
    "is_interpreted",
    "larger",
    "mat",
    "ready",
    "ready_all",
    "room_at",
    "row_of",
    "smaller",
    "tail",
    "unit",
    "whole",
]


def unit(
    *signatures,
    entry: bool = False,
    allocates: bool = False,
    inline: str = "never",
    small: bool = False,
    nogil: bool = True,
):
    """Declare a kernel with explicit signatures; nothing is compiled before `ready`.

    Parameters
    ----------
    signatures
        A pointer kind when the unit is passed to others, a plain signature when it is only called by name.
    entry
        Whether Python calls it.
    allocates
        Whether it may allocate: a user's function that numba compiles as a whole.
    inline, small
        "always", or True: the machine code goes into the callers, for a loop or two.
    nogil
        Whether other Python threads may run meanwhile.
    """
    del entry  # says who calls; every unit can be called

    def declare(function) -> Unit:
        return Unit(function, signatures, small=small or inline == "always", nogil=nogil, allocates=allocates)

    return declare


def ready(one, signature=None):
    """Load or make one version of a unit (the first declared one by default) and return the unit."""
    if isinstance(one, Unit) and not code.interpreting():
        one.address(one.version(getattr(signature, "signature", signature)))
    return one


def ready_all(wanted) -> None:
    """Load or make units given as (unit, signature)."""
    for one, signature in wanted:
        ready(one, signature)


exposed = ready  # every unit can be called from Python


def is_interpreted() -> bool:
    """Return whether nothing is compiled in this process."""
    return code.interpreting()


def interpreted(one):
    """Return the unit as plain Python, every unit that it calls included."""
    return _plain(one.py_func, {}) if hasattr(one, "py_func") else one


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
        if isinstance(value, Unit):
            names[name] = _plain(value.py_func, done)
        elif value is not None and hasattr(value, "py_func"):
            names[name] = value.py_func
    return plain
