"""WorkPrecision: errors, force evaluations and seconds of runs, as text, CSV, data frame and picture."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any, Literal

import numpy as np

from saltus.errors import SettingError

from .records import aligned, csv_text, data_frame

WORK_FIELDS = (
    "run", "setting", "value", "quantity", "norm", "error", "evaluations", "f", "jac", "steps", "rejected", "seconds",
    "t_end", "message",
)  # fmt: skip
MEASURED_AGAINST = ("setting", "evaluations", "seconds")


@dataclasses.dataclass(frozen=True)
class WorkPoint:
    """One run.

    Attributes
    ----------
    label
        Whose run it is.
    setting, value
        "tol" or "h", and its number [-] or [s].
    errors
        {(quantity, norm): error}; empty when the run failed.
    work
        Counts of the run, see `Solution.work`; empty when it failed before its first step.
    nv
        Number of velocities: a Jacobian counts as much as this many force evaluations.
    seconds
        Wall time of the fastest call of solve [s].
    t_end
        How far the run came [s].
    message
        Why it failed; empty when it did not.
    """

    label: str
    setting: str
    value: float
    errors: dict[tuple[str, str], float]
    work: dict[str, int]
    nv: int
    seconds: float
    t_end: float
    message: str

    @property
    def failed(self) -> bool:
        """Whether the run stopped before its end."""
        return bool(self.message)

    @property
    def evaluations(self) -> float:
        """Force evaluations plus nv times Jacobians; nan when they are not known."""
        return float(self.work["f"] + self.nv * self.work["jac"]) if self.work else math.nan

    def error(self, quantity: str, norm: str) -> float:
        """Return an error, nan when the run failed."""
        return self.errors.get((quantity, norm), math.nan)


@dataclasses.dataclass(frozen=True, eq=False)
class WorkPrecision:
    """The result of `work_precision`.

    Attributes
    ----------
    problem
        Name of the problem.
    runs
        {label: arguments of solve}, without the one that was swept.
    points
        All runs in the order in which they were made.
    measured
        Pairs (quantity, norm).
    reference, where, repeat
        What errors are measured against and where; of how many runs the seconds are the fastest.
    nv
        Number of velocities.
    interrupted
        Whether Ctrl-C ended the study early.
    """

    problem: str
    runs: dict[str, dict[str, Any]]
    points: tuple[WorkPoint, ...]
    measured: tuple[tuple[str, str], ...]
    reference: str
    where: str
    repeat: int
    nv: int
    interrupted: bool

    def of(self, run) -> list[WorkPoint]:
        """Return the points of a label, or of a scheme that only one label has."""
        label = run
        if not isinstance(run, str):
            having = [name for name, arguments in self.runs.items() if arguments.get("scheme") == run]
            label = having[0] if len(having) == 1 else run
        if label not in self.runs:
            raise SettingError(f"no run is called {label} in this study: it has {', '.join(self.runs)}")
        return [point for point in self.points if point.label == label]

    @property
    def failures(self) -> list[WorkPoint]:
        """The runs that failed."""
        return [point for point in self.points if point.failed]

    def setting(self, run) -> np.ndarray:
        """Return the tolerances [-] or step sizes [s] of a run (n,)."""
        return np.array([point.value for point in self.of(run)])

    def error(self, run, quantity: str, norm: str = "L1") -> np.ndarray:
        """Return errors (n,), nan where the run failed."""
        points = self.of(run)
        if (quantity, norm) not in self.measured:
            known = "; ".join(", ".join(pair) for pair in self.measured) or "none"
            raise SettingError(f"no errors of {quantity}, {norm} in this study: it has {known}")
        return np.array([point.error(quantity, norm) for point in points])

    def evaluations(self, run) -> np.ndarray:
        """Return force evaluations plus nv times Jacobians (n,), of failed runs up to there."""
        return np.array([point.evaluations for point in self.of(run)])

    def seconds(self, run) -> np.ndarray:
        """Return the wall time of the fastest call of solve (n,) [s]."""
        return np.array([point.seconds for point in self.of(run)])

    def slope(
        self, run, quantity: str, norm: str = "L1", *, against: Literal["setting", "evaluations", "seconds"] = "setting"
    ) -> float:
        """Return the least-squares slope of log(error) over log(tol or h), or over log(work).

        Failed runs and errors of zero are left out; nan when fewer than two points are left.
        """
        if against not in MEASURED_AGAINST:
            raise SettingError(f"against is {against!r}: it must be one of {', '.join(map(repr, MEASURED_AGAINST))}")
        error = self.error(run, quantity, norm)
        x = getattr(self, against)(run)
        good = np.isfinite(error) & (error > 0.0) & np.isfinite(x) & (x > 0.0)
        if len(np.unique(x[good])) < 2:
            return math.nan
        return float(np.polyfit(np.log(x[good]), np.log(error[good]), 1)[0])

    # ---- as text and tables

    def __str__(self) -> str:
        lines = [f"{self.problem}: error against work"]
        if self.points:
            lines += [*aligned(self._cells(), right=range(2, 6 + len(self.measured))), ""]
            lines += [*aligned(self._slopes(), right=range(2, 2 + len(self.measured))), ""]
        for point in self.failures:
            lines.append(f"failed at t = {point.t_end:g} s: {_name(point)}: {point.message}")
        if self.interrupted:
            lines.append(f"interrupted after {len(self.points)} runs")
        return "\n".join([*lines, *self._notes()])

    __repr__ = __str__

    def _cells(self) -> list[list[str]]:
        rows = [["run", "setting", "evaluations", "steps", "rejected", "seconds", *map(" ".join, self.measured)]]
        for k, point in enumerate(self.points):
            first = k == 0 or self.points[k - 1].label != point.label
            counts = [point.evaluations, *(point.work.get(name, math.nan) for name in ("steps", "rejected"))]
            errors = ["failed" if point.failed else f"{point.error(*pair):.2e}" for pair in self.measured]
            setting = f"{point.setting:<3} {point.value:.2e}"
            label = point.label if first else ""
            rows.append([label, setting, *map(_count, counts), f"{point.seconds:.4f}", *errors])
        return rows

    def _slopes(self) -> list[list[str]]:
        rows = [["slope of error", "over", *map(" ".join, self.measured)]]
        for label in self.runs:
            points = self.of(label)
            for against in ("setting", "evaluations") if points else ():
                over = points[0].setting if against == "setting" else against
                fits = [self.slope(label, *pair, against=against) for pair in self.measured]
                slopes = ["-" if math.isnan(fit) else f"{fit:.2f}" for fit in fits]
                rows.append([label if against == "setting" else "", over, *slopes])
        return rows

    def _notes(self) -> list[str]:
        dense = "dense output" if self.where == "dense" else "grid"
        fastest = "one call of solve" if self.repeat == 1 else f"the fastest of {self.repeat} calls of solve"
        notes = [f"errors over the {dense} against {self.reference}"] if self.reference else []
        return [
            *notes,
            f"evaluations: calls of f plus nv = {self.nv} times Jacobians",
            f"seconds: {fastest} after one that compiled",
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return one record per run, quantity and norm; a failed one has its message and nan as error."""
        return [
            {"run": point.label, "setting": point.setting, "value": point.value, "quantity": quantity, "norm": norm,
             "error": point.error(quantity, norm), "evaluations": point.evaluations,
             **{name: point.work.get(name, math.nan) for name in ("f", "jac", "steps", "rejected")},
             "seconds": point.seconds, "t_end": point.t_end, "message": point.message}
            for point in self.points
            for quantity, norm in self.measured
        ]  # fmt: skip

    def to_csv(self, path: str | os.PathLike | None = None) -> str:
        """Return all runs as CSV text, one line per run, quantity and norm; write it if a path is given."""
        return csv_text(WORK_FIELDS, self.rows(), path)

    def to_pandas(self):
        """Return all runs as a pandas data frame, one row per run, quantity and norm."""
        return data_frame(WORK_FIELDS, self.rows())

    # ---- as a picture

    def plot(
        self,
        *,
        against: Literal["evaluations", "seconds", "both"] = "both",
        path: str | os.PathLike | None = None,
    ):
        """Draw errors over work, doubly logarithmic; returns the matplotlib figure.

        One panel per quantity (columns) and norm (rows), against="both" with rows for evaluations and seconds. Crosses
        at the upper edge are failed runs and infinite errors, hollow triangles at the lower edge errors of zero. path
        writes .png, .pdf or .svg.
        """
        if against not in ("evaluations", "seconds", "both"):
            raise SettingError(f"against is {against!r}: it must be 'evaluations', 'seconds' or 'both'")
        from .work_picture import plot_work

        return plot_work(self, ("evaluations", "seconds") if against == "both" else (against,), path=path)


def _name(point: WorkPoint) -> str:
    return f"{point.label}, {point.setting} = {point.value:.3g}"


def _count(number: float) -> str:
    return "-" if math.isnan(number) else f"{int(number):,}"
