"""saltus compile: fill the disk cache, so that first runs start at once."""

from __future__ import annotations

import dataclasses
import time
from typing import Annotated

from cyclopts import Parameter

from saltus.cli.names import find_problem, problem_functions
from saltus.compile import cache
from saltus.schemes import MoreauJean
from saltus.solve import solve

STEPS = 1000  # of a run of default length; only two of them are made


def compile_command(
    *problems: Annotated[str, Parameter(name="PROBLEM", help="Names of problems, or FILE.py:NAME; all by default.")],
) -> int:
    """Compile all that problems need with the default scheme, ahead of their first run.

    What is compiled stays in a cache on disk, also for other parameters of the same problem; runs start at once then.
    """
    sources = [find_problem(name) for name in problems or problem_functions()]
    folder = cache.root()
    if folder is None:
        print("saltus: no folder for compiled code can be written: set SALTUS_CACHE to one")
        return 1
    began, before = time.perf_counter(), _units()
    width = max(len(source.short) for source in sources)
    for source in sources:
        start, units = time.perf_counter(), _units()
        problem = source.build({})
        first, last = problem.t_span
        h = (last - first) / STEPS
        short = dataclasses.replace(problem, t_span=(first, first + 2.0 * h), exact=None)
        _ = solve(short, scheme=MoreauJean(), h=h, progress=False).energy  # the ledger has a kernel of its own
        print(f"{source.short:<{width}}  {_units() - units:3d} units compiled  {time.perf_counter() - start:5.1f} s")
    print(f"{_units() - before} units compiled in {time.perf_counter() - began:.1f} s; they lie in {folder}")
    return 0


def _units() -> int:
    """Return how many compiled units the disk holds."""
    folder = cache.root()
    return 0 if folder is None else sum(1 for _ in folder.glob("*/*.nbi"))
