"""saltus events: the events of a saved run as a table or as CSV."""

from __future__ import annotations

import csv
import sys
from typing import Annotated

from cyclopts import Parameter

from saltus.cli.info import RUN_FILE, loaded

COLUMNS = (
    "t", "contact", "kind", "u_minus_N", "u_minus_T1", "u_minus_T2", "u_plus_N", "u_plus_T1", "u_plus_T2",
    "impulse_N", "impulse_T1", "impulse_T2", "count", "energy",
)  # fmt: skip


def events_command(
    run: Annotated[str | None, RUN_FILE] = None,
    /,
    *,
    kind: Annotated[
        str | None, Parameter(metavar="NAME", help="impact, closing, release, stick, slip, zeno, ...")
    ] = None,
    contact: Annotated[
        str | None, Parameter(metavar="NAME", help="A contact, a joint with clearance, or an event of yours.")
    ] = None,
    csv: Annotated[bool, Parameter(negative="", help="All columns with all digits, commas between them.")] = False,
    out: Annotated[str | None, Parameter(metavar="FILE", help="Write into a file instead of the terminal.")] = None,
) -> int:
    """List the events of a saved run.

    $ saltus events run.h5
    $ saltus events run.h5 --kind impact --contact floor
    $ saltus events run.h5 --csv --out events.csv

    Velocities are relative ones, normal and tangential, before (u_minus) and after (u_plus) [m/s]; impulses in N s;
    count is the number of impacts that a row stands for, energy what its impulses brought [J].
    """
    from saltus.cli.settings import check_files

    check_files(out)
    table = loaded(run).events.of(*(name for name in (kind, contact) if name is not None))
    if out is None:
        _write(table, csv, sys.stdout)
        return 0
    with open(out, "w", encoding="utf-8", newline="") as file:
        _write(table, csv, file)
    print(f"  {'written':<12} {out}")
    return 0


def _write(table, as_csv: bool, file) -> None:
    if as_csv:
        made = csv.writer(file, lineterminator="\n")
        made.writerow(COLUMNS)
        for row in table:
            numbers = [float(x) for name in ("u_minus", "u_plus", "impulse") for x in row[name]]
            made.writerow(
                [
                    repr(float(row["t"])),
                    row["contact"],
                    row["kind"],
                    *map(repr, numbers),
                    int(row["count"]),
                    repr(float(row["energy"])),
                ]
            )
        return
    head = ("t [s]", "contact", "kind", "u_minus N [m/s]", "u_plus N [m/s]", "impulse N [N s]", "count")
    rows = [
        (
            f"{row['t']:.12g}", str(row["contact"]), str(row["kind"]), f"{row['u_minus'][0]:+.6g}",
            f"{row['u_plus'][0]:+.6g}", f"{row['impulse'][0]:.6g}", str(int(row["count"])),
        )
        for row in table
    ]  # fmt: skip
    widths = [max(len(line[k]) for line in [head, *rows]) for k in range(len(head))]
    for line in [head, *rows]:
        cells = [
            text.ljust(width) if k in (1, 2) else text.rjust(width)
            for k, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip(), file=file)
