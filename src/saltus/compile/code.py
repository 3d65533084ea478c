"""Where machine code of units comes from.

    unit of the package      the object file that was built for this processor (library.py)
    unit of a generated text the compiler of models (direct.py)
    a user's own unit        numba (jit/, the extra saltus[jit])

The environment variable SALTUS_KERNELS=none runs everything interpreted.
"""

from __future__ import annotations

import os
import threading

_making = threading.RLock()
_interpreting: bool | None = None


def interpreting() -> bool:
    """Return whether kernels run as plain Python: because the user wants it, or because there is no machine code."""
    global _interpreting
    if _interpreting is None:
        if os.environ.get("SALTUS_KERNELS") == "none":
            _interpreting = True
        else:
            from saltus.compile import library

            with _making:
                _interpreting = library.kernels() is None
    return _interpreting


def _compiler(unit):
    """Return what compiles a unit of a user."""
    try:
        from saltus.compile.jit import user_units
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{unit!r} is a kernel of your own, which numba compiles: pip install saltus[jit], or run interpreted with "
            "SALTUS_KERNELS=none"
        ) from error
    return user_units


def provide(unit, version: int) -> int:
    """Return the address of one version of a unit and keep it there."""
    with _making:
        if version not in unit.addresses:
            if unit.own:
                from saltus.compile import library

                unit.addresses[version] = library.address(unit, version)
            else:
                _compiler(unit).make(unit, version)
        return unit.addresses[version]
