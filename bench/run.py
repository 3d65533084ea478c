"""make bench: every benchmark, its target and what this machine measured; `run.py waiting memory` chooses."""

from __future__ import annotations

import argparse
import importlib

from rich.console import Console
from rich.table import Table

BENCHMARKS = (
    "ball_against_siconos",
    "waiting",
    "model_compile",
    "memory",
    "tdg",
    "event_speed",
    "event_driven",
    "contact_speed",
    "contract",
    "contract_evaluations",
    "contract_random",
    "block_stack",
)
COLOURS = {"meets": "green", "misses": "red", "skipped": "yellow"}


def main(names: list[str]) -> None:
    """Run the chosen benchmarks and print one table."""
    console = Console(width=max(Console().width, 130))  # wide enough for the notes, also in a pipe
    table = Table(header_style="bold")
    for column, justify in (
        ("what", "left"),
        ("target", "right"),
        ("measured", "right"),
        ("", "left"),
        ("how", "left"),
    ):
        table.add_column(column, justify=justify, overflow="fold")
    for name in names:
        with console.status(f"running {name} ..."):
            rows = importlib.import_module(name).measure()
        for row in rows:
            measured = "-" if row.measured is None else f"{row.measured:.3g} {row.unit}"
            sign = ">=" if row.bound == "at least" else "<="
            verdict = f"[{COLOURS[row.verdict]}]{row.verdict}[/]"
            table.add_row(row.what, f"{sign} {row.target:g} {row.unit}", measured, verdict, row.note)
        table.add_section()
    console.print(table)
    console.print("Ratios were measured inside this one run; on a busy machine repeat it before believing a miss.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="name", help=", ".join(BENCHMARKS))
    main(parser.parse_args().names or list(BENCHMARKS))
