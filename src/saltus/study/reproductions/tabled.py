"""Tabled: a reproduction whose result is a few tables, printed, written into documents, and drawn."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

from saltus.study.records import aligned, markdown_table


@dataclasses.dataclass(frozen=True, eq=False)
class Tabled:
    """Published experiments that have been run.

    Attributes
    ----------
    title
        What they are and where they come from.
    tables
        {heading: cells}, the first row of cells holding the heads of the columns.
    results
        What was measured, by name: numbers, or the records of `convergence`.
    """

    title: str
    tables: dict[str, list[list[str]]]
    results: dict[Any, Any]
    draw: Callable[[Tabled], Any] = dataclasses.field(repr=False)

    def __str__(self) -> str:
        parts = ["\n".join([heading, *aligned(cells)]) for heading, cells in self.tables.items()]
        return "\n\n".join([self.title, *parts])

    __repr__ = __str__

    def markdown(self) -> str:
        """Return the tables as documents hold them."""
        return "\n\n".join(f"{heading}:\n\n{markdown_table(cells)}" for heading, cells in self.tables.items())

    def rows(self) -> list[dict[str, str]]:
        """Return one record per row of all tables."""
        names = list(dict.fromkeys(head for heads, *_ in self.tables.values() for head in heads))
        return [
            {"table": heading, **dict.fromkeys(names, ""), **dict(zip(heads, row, strict=True))}
            for heading, (heads, *rows) in self.tables.items()
            for row in rows
        ]

    def plot(self, *, path: str | os.PathLike | None = None):
        """Draw the picture; returns the matplotlib figure. path writes .png, .pdf or .svg."""
        figure = self.draw(self)
        if path is not None:
            figure.savefig(path, dpi=110)
        return figure
