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


def provide(unit, version: int) -> int:
    """Return the address of one version of a unit and keep it there."""
    with _making:
        if version not in unit.addresses:
            if unit.own:
                from saltus.compile import library

                unit.addresses[version] = library.address(unit, version)
            else:
                from saltus.compile.jit import user_units

                user_units.make(unit, version)
        return unit.addresses[version]
