"""Generated modules: source text named by its hash, run once per process."""

from __future__ import annotations

import hashlib
import linecache
import sys
import threading
import types

_making = threading.RLock()


def module_name(text: str, prefix: str) -> str:
    """Return the name of the module of a generated source text, which holds its digest."""
    return f"saltus_{prefix}_{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def module_from(text: str, prefix: str) -> types.ModuleType:
    """Return the module of a generated source text; the same text gives the same module."""
    name = module_name(text, prefix)
    with _making:
        if name not in sys.modules:
            module = types.ModuleType(name)
            module.__file__ = f"<{name}>"
            linecache.cache[module.__file__] = len(text), None, text.splitlines(keepends=True), module.__file__
            # the text comes from our own emitter, never from a user's file
            exec(compile(text, module.__file__, "exec"), module.__dict__)  # noqa: S102
            sys.modules[name] = module
        return sys.modules[name]
