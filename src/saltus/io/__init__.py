"""Files: results and checkpoints in HDF5, datasets of xarray."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saltus.io.results import load

__all__ = ["load"]


def __getattr__(name: str):
    """Import what reads results when it is first asked for."""
    if name == "load":
        from saltus.io.results import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
