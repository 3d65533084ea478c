"""Generated modules: source text named by its hash, written beside the cached kernels and imported from there."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
import threading
import types

from saltus.compile import cache

_GENERATOR = __file__
_making = threading.RLock()


def module_name(text: str, prefix: str) -> str:
    """Return the name of the module of a generated source text, which holds its digest."""
    return f"saltus_{prefix}_{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def module_from(text: str, prefix: str) -> types.ModuleType:
    """Return the module of a generated source text; the same text gives the same module."""
    with _making:
        return _module_from(text, prefix)


def _module_from(text: str, prefix: str) -> types.ModuleType:
    name = module_name(text, prefix)
    if name in sys.modules:
        return sys.modules[name]
    folder = cache.directory(cache.source_digest(_GENERATOR))
    module = _from_file(text, name, folder) if folder is not None else None
    if module is None:
        module = types.ModuleType(name)
        module.__file__ = f"<{name}>"
        # the text comes from our own emitter, never from a user's file
        exec(compile(text, module.__file__, "exec"), module.__dict__)  # noqa: S102
    sys.modules[name] = module
    return module


def _from_file(text: str, name: str, folder) -> types.ModuleType | None:
    path = folder / f"{name}.py"
    try:
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            handle, temporary = tempfile.mkstemp(dir=folder, suffix=".py")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, path)
    except OSError:
        return None
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
