"""The end of `run` and `resume`: files, summary and exit code, for whole, failed and interrupted runs alike."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from saltus.cli.summary import summary
from saltus.errors import RunError
from saltus.io import results
from saltus.solution import Solution
from saltus.status import Status

DONE, RUN_FAILED, INTERRUPTED = 0, 1, 130  # 130: what shells expect after Ctrl-C


def finish(
    compute: Callable[[], Solution], save: str | None, plot: str | None, source: str, view: str | None = None
) -> int:
    """Compute, write what there is, and return the exit code; a failed run keeps its traceback in `__context__`.

    source: how to build the problem again, to be kept with the solution.
    """
    began = time.perf_counter()
    failure = None
    try:
        solution = compute()
    except RunError as error:
        if error.solution is None:
            raise
        failure, solution = error, error.solution
    print(summary(solution, time.perf_counter() - began))
    if save is not None:
        results.save(solution, save, source)
        print(f"  {'written':<12} {save}")
    if plot is not None:
        solution.plot(path=plot)
        print(f"  {'written':<12} {plot}")
    if view is not None:
        solution.view(view)
        print(f"  {'written':<12} {view}")
    if failure is not None:
        raise failure
    if solution.status is Status.INTERRUPTED:
        print(f"saltus: interrupted at t = {solution.t[-1]:g} s", file=sys.stderr)
        return INTERRUPTED
    return DONE
