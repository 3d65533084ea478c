"""make long: every figure of truth at its full count, and the table of the last run in RESULTS.md.

`python run.py` runs all; `python run.py feet boxes --share 0.05 --results /tmp/some.md` some of them with a twentieth
of their models. A figure is a script that prints its rows, ends with a summary line and exits with 0 where everything
was kept.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from judge import Verdict, table

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "RESULTS.md"
# models per class
COUNTS = {"feet": 40, "boxes": 1000, "promise": 50, "resting": 26, "workshop": 20, "kinks": 300, "certificate": 100}
ALONE = ("slow_accumulations", "verified")  # figures with their own command line


def commit() -> str:
    """The commit that is measured, marked where files differ from it."""
    git = ["git", "-C", str(FOLDER)]

    def said(*command: str) -> str:
        return subprocess.run([*git, *command], capture_output=True, encoding="utf-8").stdout.strip()  # noqa: S603

    changed = said("status", "--porcelain", "--", "../../src")
    return (said("rev-parse", "--short", "HEAD") or "unknown") + (" with changes in src" if changed else "")


def ran(name: str, share: float, workers: int) -> tuple[list[Verdict], str, int, float]:
    """Run a figure; return its verdicts, its summary line, its exit code and the seconds it took."""
    begin = time.monotonic()
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "verdicts.jsonl"
        if name in COUNTS:
            count = max(1, round(share * COUNTS[name]))
            command += ["--count", str(count), "--store", str(store), "--workers", str(workers)]
        # figures share the problems of the contract, one folder up
        paths = os.pathsep.join([str(FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": paths}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment)  # noqa: S603
        assert process.stdout is not None
        last = ""
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
        code = process.wait()
        verdicts = []
        if store.exists():
            for line in store.read_text(encoding="utf-8").splitlines():
                fields = json.loads(line)
                fields.pop("figure")
                verdicts.append(Verdict(**fields))
    return verdicts, last, code, time.monotonic() - begin


def worst(verdicts: list[Verdict], rows: int) -> list[str]:
    """The worst rows, as a block of text."""
    missed = sorted((v for v in verdicts if v.faults), key=lambda v: -v.badness)[:rows]
    return ["```", *(str(v)[:220] for v in missed), "```"] if missed else []


def main() -> None:
    names = [*COUNTS, *(name for name in ALONE if (FOLDER / f"{name}.py").exists())]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="figure", help=", ".join(names))
    parser.add_argument("--share", type=float, default=1.0, help="of the full counts")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of the table")
    parser.add_argument("--rows", type=int, default=10, help="worst rows kept per figure")
    given = parser.parse_args()
    chosen = given.names or names
    lines = [
        "# Truth: the last run of `make long`",
        "",
        f"Commit {commit()}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC, Python "
        f"{platform.python_version()}, {given.share:g} of the full counts. Ratio = mean error / (tol (1 + max)) of q, "
        "v and the total impulse; at most 1 for HpTDG and 30 for the other schemes. How models are drawn and judged "
        "stands in the scripts of this folder.",
        "",
    ]
    met = True
    summaries, parts = [], []
    for name in chosen:
        print(f"== {name}", flush=True)
        verdicts, last, code, seconds = ran(name, given.share, given.workers)
        met = met and code == 0
        summaries.append(f"| {name} | {'met' if code == 0 else 'missed'} | {last} | {seconds / 60.0:.1f} min |")
        if verdicts:
            own = getattr(importlib.import_module(name), "more", table)  # a figure may have tables of its own
            parts += [f"## {name}", "", *own(verdicts), "", *worst(verdicts, given.rows), ""]
    lines += ["| figure | | summary | time |", "|---|---|---|---|", *summaries, "", *parts]
    given.results.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(f"written to {given.results}")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
