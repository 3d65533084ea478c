"""Prepared files and bytes that were changed, at their full count; the table of the last run in RESULTS.md.

`python bench/hostile/files.py` reads all files of tests/hostile.py and 1500 of each family with one byte changed and
the checksum made right again: typed error or a result, never a bare exception, never the end of the process. Limits of
one file: 300 MB, 5 s.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = pathlib.Path(__file__).with_name("RESULTS.md")
FAMILIES = ("results", "checkpoints", "fclib")
FLIPS, PIECE = 1500, 250  # one process per piece, so that a process that ends does not hide the rest
MOST_MEMORY, MOST_SECONDS = 300.0, 5.0


def read_piece(family: str, flips: int, seed: int) -> tuple[list[dict], str]:
    """Return what became of the files of a family, and the file that ended the process, if one did."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "tests" / "hostile.py"), family, folder, str(flips), str(seed)]
        made = subprocess.run(command, capture_output=True, encoding="utf-8")  # noqa: S603
    said = [json.loads(line) for line in made.stdout.splitlines() if line.startswith("{")]
    ended = "" if made.returncode == 0 else f"{said[-1]['name'] if said else 'the start'}: {made.stderr[-500:]}"
    return [line for line in said if "outcome" in line], ended


def row(family: str, flips: int) -> tuple[str, bool]:
    """Return the line of the table of a family, and whether everything was kept."""
    lines, ended = [], []
    for seed in range(0, flips, PIECE):
        more, end = read_piece(family, min(PIECE, flips - seed), seed)
        lines += [line for line in more if "flip" in line["name"] or seed == 0]
        ended += [end] if end else []
    changed = [line for line in lines if "flip" in line["name"]]
    prepared = [line for line in lines if "flip" not in line["name"]]
    taken = [
        line["name"] for line in prepared
        if not line["name"].startswith("may load") and line["outcome"] not in ("refused", "typed")
    ]  # fmt: skip
    escaped = [line["name"] for line in lines if line["outcome"] in ("escaped", "written")]
    slow, large = max(line["seconds"] for line in lines), max(line["MB"] for line in lines)
    refused = sum(line["outcome"] != "used" for line in changed)
    kept = not (ended or escaped or taken) and slow < MOST_SECONDS and large < MOST_MEMORY
    for wrong in (*ended, *escaped, *taken):
        print(f"  {family}: {wrong}")
    said = (
        f"| {family} | {len(prepared)} | {len(changed)} | {refused} | {len(escaped) + len(taken)} | {len(ended)} | "
        f"{slow:.2f} s | {large:.0f} MB |"
    )
    return said, kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=FLIPS)
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    given = parser.parse_args()
    head = [
        "# Hostile files",
        "",
        "Made by `python bench/hostile/files.py`. Changed: one byte, with the checksum made right again.",
        "",
        "| files | prepared | changed | of these refused | not refused, bare | ended the process | slowest | memory |",
        "|---|---|---|---|---|---|---|---|",
    ]
    made = [row(family, given.flips) for family in FAMILIES]
    table = "\n".join([*head, *(line for line, _ in made), ""])
    print(table)
    given.results.write_text(table, encoding="utf-8")
    return 0 if all(kept for _, kept in made) else 1


if __name__ == "__main__":
    sys.exit(main())
