"""Functions that cannot be traced: their source is compiled where numba is installed, else they are called as Python.

Either way the result is a unit (t, q, v, par, out) like any other; derivatives come from differences.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable

import numpy as np

from saltus.compile import callback


@dataclasses.dataclass(frozen=True)
class Opaque:
    """A unit made from an untraceable function.

    Attributes
    ----------
    module
        Name of the module that holds it, as `opaque`.
    values
        Its parameters.
    address
        Where its machine code is.
    interpreted
        Whether it is called as Python.
    reason
        Why it is, empty otherwise.
    """

    module: str
    values: np.ndarray
    address: int
    interpreted: bool
    reason: str

    def release(self) -> None:
        """Forget the function of a model that is gone."""
        if self.interpreted:
            callback.release(int(self.values[0]))


def has_numba() -> bool:
    """Return whether sources can be compiled."""
    return importlib.util.find_spec("numba") is not None


def make_opaque(function: Callable, arity: int, plain: Callable) -> Opaque:
    """Compile a function's source; when that fails, make a unit that calls `plain(t, q, v, out)` in Python."""
    if not has_numba():
        reason = "numba is not installed: pip install saltus[jit]"
    else:
        from saltus.compile.opaque_source import Uncompilable, compile_source  # here, because numba loads slowly

        try:
            made = compile_source(function, arity)
            return Opaque(made.module, made.values, made.address, False, "")
        except Uncompilable as error:
            reason = str(error).splitlines()[0]
    number = callback.register(plain)
    return Opaque(callback.__name__, np.array([float(number)]), callback.address(), True, reason)
