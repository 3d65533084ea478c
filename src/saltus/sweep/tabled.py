"""Results that are an xarray.Dataset as well: under one name, and in notebooks."""

from __future__ import annotations

import html
from types import ModuleType
from typing import TYPE_CHECKING

from saltus.errors import MissingExtraError

if TYPE_CHECKING:
    import xarray


def xarray_module() -> ModuleType:
    """Return xarray, or say how to get it."""
    try:
        import xarray
    except ImportError as missing:
        raise MissingExtraError("a Dataset needs xarray: pip install saltus[xarray]") from missing
    return xarray


class Tabled:
    """What a class gets that has `to_xarray`."""

    def to_xarray(self) -> xarray.Dataset:
        """Return everything as a Dataset."""
        raise NotImplementedError

    @property
    def dataset(self) -> xarray.Dataset:
        """Everything as an xarray.Dataset (pip install saltus[xarray])."""
        return self.to_xarray()

    def _repr_html_(self) -> str:
        try:
            return self.dataset._repr_html_()
        except MissingExtraError:
            return f"<pre>{html.escape(repr(self))}</pre>"
