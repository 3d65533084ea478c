"""Units that allocate, a user's function among them: compiled by numba as a whole, with its run time."""

from __future__ import annotations

from numba import njit

from saltus.compile.jit.translate import numba_signature
from saltus.compile.unit import Unit

_kept: list = []  # machine code stays where it is


def address(unit: Unit, version: int) -> int:
    """Return the address of a unit in numba's own machine code; its convention is that of kinds.py."""
    signature = numba_signature(unit.unit_signatures[version])
    options = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    dispatcher = njit(**options)(unit.py_func)
    dispatcher.compile(signature)
    made = dispatcher.overloads[tuple(signature.args)]
    _kept.append(dispatcher)
    return made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
