"""Memory of long runs: with save="events" it does not grow with the number of steps."""

from __future__ import annotations

import subprocess
import sys

from rows import Row

SHORT, LONG = 1_000_000, 10_000_000
PROGRAM = """
import resource
import sys
import saltus as sl
steps = int(sys.argv[1])
problem = sl.problems.impact_oscillator()
sol = sl.solve(problem, scheme=sl.MoreauJean(), h=problem.t_span[1] / steps, save="events")
assert sol.work["steps"] == steps and len(sol.t) < 100
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(steps: int) -> float:
    """Return the largest resident memory of a process that makes so many steps [MB]."""
    command = [sys.executable, "-c", PROGRAM, str(steps)]
    made = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")  # noqa: S603
    per_megabyte = 1024.0**2 if sys.platform == "darwin" else 1024.0
    return int(made.stdout.split()[-1]) / per_megabyte


def measure() -> list[Row]:
    """Return the ratio of memory of 1e7 steps to that of 1e6 steps."""
    what = "memory of 1e7 steps over 1e6 steps"
    if sys.platform == "win32":
        return [Row(what, None, "at most", 1.05, note="needs the resource module, which Windows lacks")]
    peak(1000)  # compiles, so that the compiler's memory is in neither run
    short, long = peak(SHORT), peak(LONG)
    return [Row(what, long / short, "at most", 1.05, note=f'{short:.0f} MB, {long:.0f} MB, save="events"')]
