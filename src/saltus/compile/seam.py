"""Units: kernels compiled one by one, cached on disk, linked by function pointers.

`@unit(signature)` declares a kernel in the numba subset of Python and compiles nothing; `ready` loads or compiles
it; `interpreted` returns the same kernel as plain Python (debugging, replay of a failing step). Inside kernels, `vec`,
`ivec` and `mat` make views (thin.py).
"""

from __future__ import annotations

import contextlib
import functools
import threading
import types as python_types

from numba import config, njit
from numba.core.caching import NullCache

from saltus.compile import pointers  # noqa: F401  addresses are looked up once from here on
from saltus.compile.cache import UnitCache
from saltus.compile.handle import handle
from saltus.compile.pipeline import LeanCompiler, lean_code
from saltus.compile.thin import as_array, ivec, larger, mat, smaller, vec, whole

__all__ = [
    "as_array",
    "exposed",
    "handle",
    "interpreted",
    "ivec",
    "larger",
    "mat",
    "ready",
    "smaller",
    "unit",
    "vec",
    "whole",
]


_compiling = threading.RLock()


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
        A pointer type when the unit is passed to others, a plain signature when it is only called by name.
    entry
        Whether Python calls the compiled unit; wrappers that nobody calls would cost compile time.
    allocates
        Whether it may allocate (slow paths only); the others do without the runtime of reference counts.
    inline
        "always" puts the source into its callers, for a few lines.
    small
        Whether the machine code goes into the callers, for a loop or two.
    nogil
        Whether other Python threads may run meanwhile.
    """
    pointer = any(hasattr(signature, "signature") for signature in signatures)

    def declare(function):
        dispatcher = njit(
            error_model="numpy",
            nogil=nogil,
            inline=inline,
            forceinline=small,
            _nrt=allocates,
            no_cpython_wrapper=not entry,
            no_cfunc_wrapper=not (entry or pointer),
            **({} if allocates else {"pipeline_class": LeanCompiler}),
        )(function)
        if not config.DISABLE_JIT:
            dispatcher._cache = UnitCache(function, _prepare_callees)
        dispatcher.inlined, dispatcher.allocates, dispatcher.made = inline != "never", allocates, {}
        dispatcher.unit_signatures = [getattr(s, "signature", s) for s in signatures]
        return dispatcher

    return declare


@functools.cache
def exposed(dispatcher):
    """Return a unit that Python can call, compiled for this process only (for tests and experiments)."""
    if config.DISABLE_JIT:
        return dispatcher
    made = unit(*dispatcher.unit_signatures, entry=True)(dispatcher.py_func)
    made._cache = NullCache()  # the disk holds the unit without an entry under the same name
    return ready(made)


def ready(dispatcher, signature=None):
    """Load or compile one version of a unit (the declared one by default) and return the unit."""
    if config.DISABLE_JIT:
        return dispatcher
    signature = getattr(signature, "signature", signature) or dispatcher.unit_signatures[0]
    if id(signature) in dispatcher.made:
        return dispatcher
    with _compiling:
        if tuple(signature.args) not in dispatcher.overloads:
            dispatcher._can_compile = True
            with contextlib.nullcontext() if dispatcher.allocates else lean_code():
                dispatcher.compile(signature)
        dispatcher.disable_compile()
        dispatcher.made[id(signature)] = signature  # kept: while it lives, nothing else has its id
    return dispatcher


def _prepare_callees(function) -> None:
    """Compile the units that a unit calls, in their declared version only; literal arguments would make others."""
    for name in function.__code__.co_names:
        callee = function.__globals__.get(name)
        if hasattr(callee, "unit_signatures") and not callee.inlined:
            for signature in callee.unit_signatures:
                ready(callee, signature)


def on_disk(dispatcher, signature) -> bool:
    """Return whether a version of a unit need not be compiled (or cannot be kept, so that asking is moot)."""
    signature = getattr(signature, "signature", signature)
    if config.DISABLE_JIT or id(signature) in dispatcher.made or tuple(signature.args) in dispatcher.overloads:
        return True
    return dispatcher._cache.exists()


def source_size(dispatcher) -> int:
    """Return a measure of the time that a unit takes to compile, its callees included."""
    todo, seen = [dispatcher.py_func], set()
    while todo:
        function = todo.pop()
        if function not in seen:
            seen.add(function)
            for name in function.__code__.co_names:
                callee = function.__globals__.get(name)
                if hasattr(callee, "unit_signatures"):
                    todo.append(callee.py_func)
    return sum(len(function.__code__.co_code) for function in seen)


def is_interpreted() -> bool:
    """Return whether nothing is compiled in this process."""
    return bool(config.DISABLE_JIT)


def interpreted(dispatcher):
    """Return the unit as plain Python, every unit that it calls included."""
    if config.DISABLE_JIT or not hasattr(dispatcher, "py_func"):
        return dispatcher
    return _plain(dispatcher.py_func, {})


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
        if hasattr(value, "unit_signatures") and hasattr(value, "py_func"):
            names[name] = _plain(value.py_func, done)
        elif hasattr(value, "py_func"):
            names[name] = value.py_func
    return plain
