"""Files: results and checkpoints in HDF5, datasets of xarray."""

from saltus.io.results import load

__all__ = ["load"]
