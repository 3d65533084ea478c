"""saltus version: what is installed."""

from __future__ import annotations

import importlib.metadata
import platform


def version_command() -> int:
    """Show the version of saltus and of what its results depend on."""
    parts = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "llvmlite")]
    print(f"saltus {importlib.metadata.version('saltus')} (Python {platform.python_version()}, {', '.join(parts)})")
    return 0
