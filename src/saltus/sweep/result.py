"""Results of sweeps: an xarray.Dataset with what every run left, pictures, failed runs, and any run once more."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.ensemble.engine import Reduced
from saltus.errors import SettingError
from saltus.status import Status
from saltus.sweep.asked import Prepared

if TYPE_CHECKING:
    import xarray

    from saltus.solution import Solution

ENDED_WELL = (Status.OK, Status.TERMINATED)


class Sweep:
    """Many runs.

    Attributes
    ----------
    dataset
        Everything as an xarray.Dataset (pip install saltus[xarray]): swept values are coordinates.
    failed
        Numbers of the runs that did not end well.
    """

    kind = "sweep"

    def __init__(
        self, prepared: Prepared, reduced: Reduced, dims: tuple[str, ...], shape: tuple[int, ...],
        coords: Mapping[str, tuple[tuple[str, ...], np.ndarray]],
    ):  # fmt: skip
        self._prepared, self._reduced = prepared, reduced
        self._dims, self._shape, self._coords = dims, shape, coords

    @functools.cached_property
    def dataset(self) -> xarray.Dataset:
        """All results by name."""
        try:
            import xarray
        except ModuleNotFoundError as error:
            raise SettingError("a sweep as a Dataset needs xarray: pip install saltus[xarray]") from error
        columns = self._prepared.columns(self._reduced)
        made = {
            name: xarray.Variable((*self._dims, *dims), self._shaped(values), {"units": unit} if unit else None)
            for name, (dims, values, unit) in columns.items()
        }
        model = self._prepared.job.model
        attrs = {"kind": self.kind, "scheme": self._prepared.job.engine.scheme.name}
        if model.system.name:
            attrs["model"] = model.system.name
        return xarray.Dataset(made, dict(self._coords), attrs)

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(*self._shape, *values.shape[1:])

    def __getitem__(self, name: str) -> Any:
        return self.dataset[name]

    def __len__(self) -> int:
        return len(self._reduced)

    @property
    def status(self) -> np.ndarray:
        """How the runs ended: numbers of `Status`, in the order of the runs."""
        return self._reduced.status

    @functools.cached_property
    def failed(self) -> np.ndarray:
        return np.flatnonzero(~np.isin(self._reduced.status, [int(one) for one in ENDED_WELL]))

    def why(self, k: int) -> str:
        """Return how run k ended, in words."""
        self._check(k)
        return Status(int(self._reduced.status[k])).sentence

    def solve(self, k: int, **options: Any) -> Solution:
        """Make run k alone, with all of its tables; options: as for `solve`, in place of those of the sweep."""
        self._check(k)
        return self._prepared.solve(k, self._reduced.starts[k], **options)

    def _check(self, k: int) -> None:
        if not 0 <= k < len(self):
            raise SettingError(f"run {k} does not exist: there are runs 0 to {len(self) - 1}")

    def to_xarray(self) -> xarray.Dataset:
        """Return the dataset."""
        return self.dataset

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if len(self.failed) else ""
        return f"<{self.kind} of {len(self)} runs{failed}>"

    def _repr_html_(self) -> str:
        return self.dataset._repr_html_()
