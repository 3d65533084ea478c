"""Memory of many models: 200 structures in one process, traced ones and ones that are called as Python.

`python bench/hostile/structures.py` prints by how many MB the process grows from the tenth structure to the last one;
the limit is 50 MB. A number in place of 200 may follow.
"""

from __future__ import annotations

import gc
import pathlib
import sys
import warnings

import numpy as np

import saltus as sl

STRUCTURES = int(sys.argv[1]) if len(sys.argv) > 1 else 200
FIRST, MOST = 10, 50.0


def resident() -> float:
    """Return the memory that this process holds [MB]."""
    pages = pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096 / 2**20


def traced(number: int):
    """Return a force of another structure for every number."""

    def f(t, q, v):
        x = q
        for _ in range(number // 5 + 1):
            x = np.sin(x) + 0.1 * t
        return -x

    return f


def called(number: int):
    """Return a force that can only be called as Python, with 2 MB of its own."""
    large = np.full(250_000, float(number))

    def f(t, q, v):
        try:
            return -large[0] * q
        except ValueError:
            return q

    return f


def growth(make) -> float:
    """Return by how much the memory grows while models are made and run [MB]."""
    begin = 0.0
    for number in range(STRUCTURES):
        size = 1 + number % 5
        system = sl.System(M=1.0, f=make(number))
        sl.solve(system, (0.0, 0.1), np.ones(size), np.zeros(size), scheme=sl.MoreauJean(), h=1e-2, progress=False)
        if number == FIRST:
            gc.collect()
            begin = resident()
    gc.collect()
    return resident() - begin


def main() -> int:
    warnings.simplefilter("ignore", sl.SlowFunctionWarning)
    kept = True
    for make in (called, traced):
        grown = growth(make)
        kept = kept and grown < MOST
        print(f"{STRUCTURES} models, {make.__name__}: {grown:.1f} MB", flush=True)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
