"""Accidents at their full count: damaged files, killed runs, Ctrl-C, threads; the table of the last run: ACCIDENTS.md.

`python bench/hostile/accidents.py` damages 600 results and 400 checkpoints (one byte changed, or cut off), kills a run
20 times and goes on from its checkpoint, interrupts a run, and makes 104 runs in 8 threads.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable

import numpy as np

import saltus as sl

TABLE = pathlib.Path(__file__).with_name("ACCIDENTS.md")
RESULTS, CHECKPOINTS, KILLS, THREADS, RUNS = 600, 400, 20, 8, 104
LONG = {"scheme": sl.MoreauJean(), "h": 1e-6, "save": 100, "progress": False}


def damaged(folder: pathlib.Path, count: int, read: Callable, whole: bytes) -> int:
    """Return how many damaged files were refused by a typed error."""
    path, random, refused = folder / "damaged.h5", np.random.default_rng(5), 0
    for k in range(count):
        place = int(random.integers(len(whole)))
        flipped = bytes([whole[place] ^ int(random.integers(1, 256))])
        path.write_bytes(whole[:place] if k % 4 == 3 else whole[:place] + flipped + whole[place + 1 :])
        try:
            read(path)
        except (sl.DamagedFileError, sl.FileFormatError):
            refused += 1
    return refused


def files(folder: pathlib.Path) -> list[tuple[str, int, int]]:
    problem, path = sl.problems.zeno_ball(), folder / "good.h5"
    made = sl.solve(problem, scheme=sl.MoreauJean(), h=0.02, checkpoint=path, progress=False)
    checkpoint = path.read_bytes()
    made.save(path)
    return [
        ("results damaged, refused", RESULTS, damaged(folder, RESULTS, sl.load, path.read_bytes())),
        (
            "checkpoints damaged, refused",
            CHECKPOINTS,
            damaged(folder, CHECKPOINTS, lambda file: sl.resume(file, problem), checkpoint),
        ),
    ]


def bits(run: sl.Solution) -> str:
    made = hashlib.sha256()
    for part in (run.t, run.q, run.v):
        made.update(np.ascontiguousarray(part).tobytes())
    return made.hexdigest()


def kills(folder: pathlib.Path) -> list[tuple[str, int, int]]:
    """Kill a run again and again; what its checkpoints lead to must be what an undisturbed run gives."""
    problem, path, done = sl.problems.zeno_ball(t_end=40.0), folder / "checkpoint.h5", folder / "resumed.h5"
    began = time.perf_counter()
    whole, random, killed = sl.solve(problem, **LONG), np.random.default_rng(4), 0
    longest = (time.perf_counter() - began) / KILLS  # whatever machine this is, the run is still going on at the last
    for k in range(KILLS + 1):
        child = os.fork()
        if child == 0:
            if path.exists():
                run = sl.resume(path, problem, checkpoint_every=0.005, progress=False)
            else:
                run = sl.solve(problem, **LONG, checkpoint=path, checkpoint_every=0.005)
            run.save(done)
            os._exit(0)
        if k < KILLS:
            time.sleep(random.uniform(0.0, longest))
            os.kill(child, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    same = bits(sl.load(done)) == bits(whole)
    return [("kills of a run", KILLS, killed), ("resumed to the same bits", 1, int(same))]


def interruption() -> list[tuple[str, int, int]]:
    """Interrupt a run that would take hours."""
    problem = sl.problems.zeno_ball(t_end=1e4)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    run = sl.solve(problem, scheme=sl.MoreauJean(), h=1e-6, save="events", progress=False)
    timer.cancel()
    return [("Ctrl-C gives what there is", 1, int(run.status.name == "INTERRUPTED" and len(run.t) > 1))]


def one_run(number: int) -> str:
    k = 2.0 + number % 13
    floor = sl.Contact(gap=lambda q: q[0], e=0.7, name="floor")
    system = sl.System(M=1.0, f=lambda t, q, v: -k * q - 9.81, contacts=[floor])
    return bits(sl.solve(system, (0.0, 2.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=1e-3, progress=False))


def threads() -> list[tuple[str, int, int]]:
    alone = [one_run(number) for number in range(RUNS)]
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(one_run, range(RUNS)))
    same = sum(a == b for a, b in zip(alone, together, strict=True))
    return [(f"runs in {THREADS} threads with the bits of one", RUNS, same)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=pathlib.Path, default=TABLE)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        rows = [*files(folder), *kills(folder), *interruption(), *threads()]
    head = [
        "# Accidents",
        "",
        "Made by `python bench/hostile/accidents.py`.",
        "",
        "| accident | of | kept |",
        "|---|---|---|",
    ]
    table = "\n".join([*head, *(f"| {what} | {count} | {kept} |" for what, count, kept in rows), ""])
    print(table)
    given.table.write_text(table, encoding="utf-8")
    return 0 if all(count == kept for _, count, kept in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
