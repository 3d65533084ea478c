"""Units: kernels compiled one by one, cached on disk, linked by function pointers.

`@unit(signature)` declares a kernel in the numba subset of Python and compiles nothing; `ready` loads or compiles
it; `interpreted` returns the same kernel as plain Python (debugging, replay of a failing step). Inside kernels, `vec`,
`ivec` and `mat` make views (thin.py).
"""

from __future__ import annotations

import contextlib
import types as python_types

from numba import config, njit

from saltus.compile.cache import UnitCache
from saltus.compile.thin import as_array, ivec, mat, vec

__all__ = ["as_array", "interpreted", "ivec", "mat", "ready", "unit", "vec"]


def unit(*signatures, allocates: bool = False, inline: str = "never"):
    """Declare a kernel with explicit signatures; nothing is compiled before `ready`. Only slow paths allocate."""

    def declare(function):
        # no runtime of reference counts: a kernel allocates nothing
        dispatcher = njit(error_model="numpy", nogil=True, _nrt=allocates, inline=inline)(function)
        if not config.DISABLE_JIT:
            dispatcher._cache = UnitCache(function, _prepare_callees)
        dispatcher.inlined = inline != "never"
        dispatcher.unit_signatures = [getattr(s, "signature", s) for s in signatures]
        return dispatcher

    return declare


def ready(dispatcher, signature=None):
    """Load or compile one version of a unit (the declared one by default) and return the unit."""
    if config.DISABLE_JIT:
        return dispatcher
    signature = getattr(signature, "signature", signature) or dispatcher.unit_signatures[0]
    if tuple(signature.args) not in dispatcher.overloads:
        dispatcher._can_compile = True
        with _lean_optimisation():
            dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


def _prepare_callees(function) -> None:
    """Compile the units that a unit calls, in their declared version only; literal arguments would make others."""
    for name in function.__code__.co_names:
        callee = function.__globals__.get(name)
        if hasattr(callee, "unit_signatures") and not callee.inlined:
            for signature in callee.unit_signatures:
                ready(callee, signature)


@contextlib.contextmanager
def _lean_optimisation():
    """Compile at level 2 without vectorised loops: most loops of a kernel run over one to six entries."""
    kept = config.LOOP_VECTORIZE, config.OPT
    config.LOOP_VECTORIZE, config.OPT = 0, type(config.OPT)(2)
    try:
        yield
    finally:
        config.LOOP_VECTORIZE, config.OPT = kept


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
