"""Convergence: errors over step sizes with their fitted orders, as text, CSV, data frame and picture."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np

from saltus.errors import SettingError

from .records import aligned, csv_text, data_frame

TABLE_FIELDS = ("scheme", "quantity", "norm", "level", "grid", "h", "error")


@dataclasses.dataclass(frozen=True, eq=False)
class Convergence:
    """The result of `convergence`.

    Attributes
    ----------
    problem
        Name of the problem.
    schemes
        Label and settings of every scheme.
    h
        Step sizes (levels, grids) [s].
    errors
        {(label, quantity, norm): errors (levels, grids)}.
    """

    problem: str
    schemes: dict[str, Any]
    h: np.ndarray
    errors: dict[tuple[str, str, str], np.ndarray]

    def mean(self, scheme, quantity: str, norm: str = "L1") -> np.ndarray:
        """Return the errors averaged over the grids of each level (levels,)."""
        return self.errors[self._key(scheme, quantity, norm)].mean(axis=1)

    def order(self, scheme, quantity: str, norm: str = "L1") -> float:
        """Return the order: the least-squares slope of log(mean error) over log(mean h) of all levels."""
        return self._fit(scheme, quantity, norm)[0]

    def constant(self, scheme, quantity: str, norm: str = "L1") -> float:
        """Return C of the fit error = C h^order."""
        return float(np.exp(self._fit(scheme, quantity, norm)[1]))

    def _fit(self, scheme, quantity: str, norm: str) -> tuple[float, float]:
        mean = self.mean(scheme, quantity, norm)
        if np.any(mean <= 0.0):
            return float("nan"), float("nan")  # an exact result has no order
        slope, offset = np.polyfit(np.log(self.h.mean(axis=1)), np.log(mean), 1)
        return float(slope), float(offset)

    def _key(self, scheme, quantity: str, norm: str) -> tuple[str, str, str]:
        label = next((name for name, made in self.schemes.items() if made == scheme), scheme)
        if (label, quantity, norm) not in self.errors:
            known = "; ".join(", ".join(key) for key in self.errors)
            raise SettingError(f"no errors of {label}, {quantity}, {norm} in this study: it has {known}")
        return label, quantity, norm

    # ---- as text and tables

    def __str__(self) -> str:
        heads = ["scheme", "quantity", "norm", *(f"h = {h:.2e}" for h in self.h.mean(axis=1)), "order"]
        rows = [heads]
        for key in self.errors:
            rows.append([*key, *(f"{mean:.2e}" for mean in self.mean(*key)), f"{self.order(*key):.2f}"])
        levels, grids = self.h.shape
        return "\n".join([f"{self.problem}: mean of {grids} grids on each of {levels} levels", *aligned(rows)])

    __repr__ = __str__

    def rows(self) -> list[dict[str, Any]]:
        """Return one record per run, quantity and norm."""
        return [
            {"scheme": label, "quantity": quantity, "norm": norm, "level": level, "grid": grid,
             "h": float(self.h[level, grid]), "error": float(made[level, grid])}
            for (label, quantity, norm), made in self.errors.items()
            for level, grid in np.ndindex(made.shape)
        ]  # fmt: skip

    def to_csv(self, path: str | os.PathLike | None = None) -> str:
        """Return all errors as CSV text, one line per run, quantity and norm; write it if a path is given."""
        return csv_text(TABLE_FIELDS, self.rows(), path)

    def to_pandas(self):
        """Return all errors as a pandas data frame, one row per run, quantity and norm."""
        return data_frame(TABLE_FIELDS, self.rows())

    # ---- as a picture

    def plot(self, *, path: str | os.PathLike | None = None):
        """Draw errors over h, doubly logarithmic, one panel per quantity and norm; returns the matplotlib figure.

        Dots are single runs, circles means of a level, lines the fitted orders; path writes .png, .pdf or .svg.
        """
        from .picture import plot_convergence

        return plot_convergence(self, path=path)
