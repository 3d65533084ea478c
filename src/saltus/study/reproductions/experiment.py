"""Experiment and Reproduction: published convergence studies, measured orders beside the expected ones."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from saltus.errors import SettingError
from saltus.problem import Exact, Problem
from saltus.study.convergence import convergence
from saltus.study.curve import QUANTITIES
from saltus.study.records import markdown_table
from saltus.study.table import Convergence

EXACT = math.inf  # order of a quantity without error, measured or expected


class _Experiment(NamedTuple):
    """Tuned numbers of this file."""

    # L1 error relative to the span and the largest value, below which nothing but rounding is left
    rounding: float = 1e-14
    fewest_levels: int = 2  # above rounding that make an order
    samples: int = 1001  # of an exact solution, for its largest value


EXPERIMENT = _Experiment()

EXPERIMENT_NORMS = {"dense": "L1 over the dense output", "grid": "L1 over the grid"}


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One problem with schemes and step sizes.

    Parameters
    ----------
    title
        What it is, in a few words.
    problem
        With an exact solution of q, v and impulse.
    h
        Mean step sizes of the levels [s].
    grids
        Runs per level.
    where
        Where L1 is taken: over the "dense" output or the "grid".
    expected
        Function of label and quantity that returns the order theory promises; EXACT for no error at all.
    """

    title: str
    problem: Problem
    h: Sequence[float]
    grids: int
    where: Literal["dense", "grid"]
    expected: Callable[[str, str], float]

    def run(self, schemes: Mapping[str, Any], progress: bool | None = None) -> Convergence:
        """Return the errors of all schemes."""
        return convergence(
            self.problem, schemes, h=self.h, grids=self.grids, where=self.where, norms=("L1",), progress=progress
        )

    def floor(self, quantity: str) -> float:
        """Return the error up to which a quantity counts as exact."""
        exact = self.problem.exact
        if not isinstance(exact, Exact):
            raise SettingError(f"{self.title} has no exact solution to compare with: give its problem one")
        start, end = self.problem.t_span
        largest = np.abs(getattr(exact, quantity)(np.linspace(start, end, EXPERIMENT.samples))).max()
        return EXPERIMENT.rounding * (end - start) * max(1.0, float(largest))


@dataclasses.dataclass(frozen=True, eq=False)
class Reproduction:
    """Experiments that have been run.

    Attributes
    ----------
    title
        Where they were published.
    experiments
        {name: Experiment}.
    tables
        {name: Convergence}, errors of all runs.
    """

    title: str
    experiments: dict[str, Experiment]
    tables: dict[str, Convergence]
    draw: Callable[[Reproduction], Any] = dataclasses.field(repr=False)

    @property
    def orders(self) -> dict[tuple[str, str, str], float]:
        """{(experiment, scheme, quantity): fitted order}; inf for an exact result, nan where rounding leaves none."""
        return {
            (name, label, quantity): self.fit(name, label, quantity)[0]
            for name, table in self.tables.items()
            for quantity in QUANTITIES
            for label in table.schemes
        }

    def fit(self, experiment: str, scheme: str, quantity: str) -> tuple[float, float]:
        """Return order and constant of error = C h^order, fitted to the levels above rounding."""
        table, floor = self._table(experiment), self.experiments[experiment].floor(quantity)
        mean, h = table.mean(scheme, quantity), table.h.mean(axis=1)
        if np.all(mean <= floor):
            return EXACT, 0.0
        # from the first level at rounding on the errors say nothing
        count = int(np.argmax(mean <= floor)) if np.any(mean <= floor) else len(mean)
        if count < EXPERIMENT.fewest_levels:
            return math.nan, math.nan
        slope, offset = np.polyfit(np.log(h[:count]), np.log(mean[:count]), 1)
        return float(slope), float(np.exp(offset))

    def rows(self) -> list[dict[str, Any]]:
        """Return one record per experiment, quantity and scheme: fitted order, finest error, expected order."""
        return [
            {"experiment": name, "scheme": label, "quantity": quantity, "order": order,
             "error": float(self.tables[name].mean(label, quantity)[-1]),
             "expected": self._expected(name, label, quantity)}
            for (name, label, quantity), order in self.orders.items()
        ]  # fmt: skip

    def __str__(self) -> str:
        heads = ["experiment", "schemes", "quantity", "order", "finest error", "expected"]
        cells = [heads, *(row for name in self.tables for x in QUANTITIES for row in self._lines(name, x))]
        widths = [max(len(row[c]) for row in cells) for c in range(len(heads))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join([self.title, *self._about(), "", *lines])

    def _lines(self, experiment: str, quantity: str) -> list[list[str]]:
        """Return the cells of a quantity, one row for all schemes that read the same."""
        schemes = list(self.tables[experiment].schemes)
        alike: dict[tuple[str, str, str], list[str]] = {}
        largest: dict[tuple[str, str, str], float] = {}
        for label in schemes:
            order = self.fit(experiment, label, quantity)[0]
            error = float(self.tables[experiment].mean(label, quantity)[-1])
            # the digits of rounding tell nothing apart
            digits = "" if order == EXACT else f"{error:.1e}"
            key = _order(order), digits, _order(self._expected(experiment, label, quantity), 0)
            alike.setdefault(key, []).append(label)
            largest[key] = max(largest.get(key, 0.0), error)
        return [
            [experiment, _listed(labels, schemes), quantity, key[0], f"{largest[key]:.1e}", key[2]]
            for key, labels in alike.items()
        ]

    def _expected(self, experiment: str, scheme: str, quantity: str) -> float:
        return float(self.experiments[experiment].expected(scheme, quantity))

    __repr__ = __str__

    def markdown(self) -> str:
        """Return the measured orders as documents hold them: a column per scheme, or for those that read the same."""
        columns: dict[str, list[str]] = {}
        for label in next(iter(self.tables.values())).schemes:
            columns[label] = [_order(self.fit(name, label, x)[0]) for name in self.tables for x in QUANTITIES]
        alike: dict[tuple[str, ...], list[str]] = {}
        for label, column in columns.items():
            alike.setdefault(tuple(column), []).append(label)
        cells = [["experiment", "quantity", *(", ".join(labels) for labels in alike.values())]]
        for k, (name, quantity) in enumerate((name, x) for name in self.tables for x in QUANTITIES):
            orders = [column[k] for column in alike]
            if set(orders) != {"exact"}:
                cells.append([f"{name} ({self.experiments[name].title})", quantity, *orders])
        return markdown_table(cells)

    def plot(self, *, path: str | os.PathLike | None = None):
        """Draw the errors over h as the source does; returns the matplotlib figure. path writes .png, .pdf or .svg."""
        figure = self.draw(self)
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure

    def _about(self) -> list[str]:
        width = max(map(len, self.tables))
        lines = []
        for name, table in self.tables.items():
            h, made = table.h.mean(axis=1), self.experiments[name]
            sizes = f"h = {h[0]:.2g} to {h[-1]:.2g} s, {len(h)} levels x {made.grids} grids"
            lines.append(f"  {name:<{width}}  {made.title}; {EXPERIMENT_NORMS[made.where]}, {sizes}")
        return lines

    def _table(self, experiment: str) -> Convergence:
        if experiment not in self.tables:
            raise SettingError(f"no experiment is called {experiment!r}: there are {', '.join(self.tables)}")
        return self.tables[experiment]


def reproduce(
    title: str,
    experiments: dict[str, Experiment],
    schemes: Mapping[str, Any],
    draw: Callable[[Reproduction], Any],
    progress: bool | None = None,
) -> Reproduction:
    """Run all experiments with all schemes; draw makes the picture of the result."""
    tables = {name: made.run(schemes, progress) for name, made in experiments.items()}
    return Reproduction(title, experiments, tables, draw)


def _listed(labels: list[str], known: list[str]) -> str:
    """Return the names of schemes, the first and the last of many in a row."""
    if labels == known and len(known) > 1:
        return f"all {len(known)} schemes"
    first = known.index(labels[0])
    in_a_row = labels == known[first : first + len(labels)]
    return f"{labels[0]} to {labels[-1]}" if in_a_row and len(labels) > 2 else ", ".join(labels)


def _order(value: float, digits: int = 2) -> str:
    if math.isnan(value):
        return "-"
    return "exact" if math.isinf(value) else f"{value:.{digits}f}"
