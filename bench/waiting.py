"""What a user waits for: import, a second process, the first run ever; as ratios of wall times to `import numba`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

from rows import Row

REPEATS, COLD_REPEATS = 5, 2
NUMBA = "import numba"
IMPORT = "import saltus"
BALL = """
import saltus as sl
ball = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(gap=lambda q: q[0], e=0.8, name="floor")])
sol = sl.solve(ball, t_span=(0.0, 3.0), q0=1.0, v0=0.0, scheme=sl.MoreauJean(theta=0.5), h=1e-3)
assert sol.success
"""


def seconds(program: str, cache: str | None = None) -> float:
    """Return the wall time of a whole Python process [s]."""
    environment = dict(os.environ)
    if cache is not None:
        environment["SALTUS_CACHE"] = cache
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, env=environment)  # noqa: S603
    return time.perf_counter() - began


def measure() -> list[Row]:
    """Return the ratios; the programs take turns, so that a busy machine slows all of them."""
    seconds(BALL)  # fills the cache and the page cache
    times: dict[str, list[float]] = {NUMBA: [], IMPORT: [], BALL: []}
    for _ in range(REPEATS):
        for program, spent in times.items():
            spent.append(seconds(program))
    cold = []
    for _ in range(COLD_REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(seconds(BALL, folder))
    unit = statistics.median(times[NUMBA])
    results = (
        ("import", statistics.median(times[IMPORT]), 1.5),
        ("second process with a ball", statistics.median(times[BALL]), 4.0),
        ("first run ever", min(cold), 20.0),
    )
    note = f"import numba {unit:.2f} s"
    return [
        Row(f"{what}, over import numba", spent / unit, "at most", target, note=f"{spent:.2f} s; {note}")
        for what, spent, target in results
    ]
