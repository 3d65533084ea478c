"""Records of a study as aligned text, Markdown, CSV and data frame."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Sequence
from typing import Any

from saltus.errors import MissingExtraError


def aligned(cells: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Return lines of equal columns with a rule below the first; the columns in `right` end at the same place."""
    widths = [max(len(row[c]) for row in cells) for c in range(len(cells[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if c in right else cell.ljust(width)
            for c, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def markdown_table(cells: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown has it, the first row of cells holding the heads."""
    heads, *rows = cells
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *rows))


def csv_text(fields: Sequence[str], rows: Sequence[dict[str, Any]], path: str | os.PathLike | None = None) -> str:
    """Return records as CSV text, floats to the last digit; write it if a path is given."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    if path is not None:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
    return text.getvalue()


def data_frame(fields: Sequence[str], rows: Sequence[dict[str, Any]]):
    """Return records as a pandas data frame."""
    try:
        import pandas as pd
    except ImportError as missing:
        raise MissingExtraError("data frames need pandas: pip install pandas, or use rows()") from missing
    return pd.DataFrame(list(rows), columns=list(fields))
