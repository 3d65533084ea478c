"""What a user waits for: import, the README ball, larger models; CPU time over that of `import numpy`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from rows import Row

REPEATS = 5
NUMPY = "import numpy"
IMPORT = "import saltus"
BALL = """
import saltus as sl
ball = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(gap=lambda q: q[0], e=0.8, name="floor")])
sol = sl.solve(ball, t_span=(0.0, 3.0), q0=1.0, v0=0.0, tol=1e-8)
for event in sol.events[:3]:
    before, after = event["u_minus"][0], event["u_plus"][0]
    print(f"t = {event['t']:.10f} s  {event['contact']}  {event['kind']}  {before:+.3f} -> {after:+.3f} m/s")
print(f"largest contact residual {sol.residual.max():.0e}, energy defect {abs(sol.energy.defect).max():.0e} J")
import sys
assert "numba" not in sys.modules
"""
CRANK = """
import sys
import saltus as sl
assert sl.solve(sl.problems.slider_crank(), t_span=(0.0, 0.02), scheme=sl.HpTDG(tol=1e-6)).success
assert "numba" not in sys.modules
"""
BOX = CRANK.replace("slider_crank", "tumbling_box")
PROGRAMS = {IMPORT: ("import", 2.0), BALL: ("README ball, whole process", 3.0), CRANK: ("slider crank, HpTDG", 5.0),
            BOX: ("tumbling box, HpTDG", 5.0)}  # fmt: skip


def seconds(program: str, python: str = sys.executable, **environment: str) -> float:
    """Return the CPU time of a whole Python process [s]."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = os.times()
    subprocess.run(  # noqa: S603  our own programs
        [python, "-c", program], check=True, capture_output=True, env={**inherited, **environment}
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def ratios(python: str = sys.executable, **environment: str) -> dict[str, tuple[float, float]]:
    """Return ratio and seconds of every program; they take turns, so that a busy machine slows all of them."""
    times: dict[str, list[float]] = {program: [] for program in (NUMPY, *PROGRAMS)}
    for _ in range(REPEATS):
        for program, spent in times.items():
            spent.append(seconds(program, python, **environment))
    unit = statistics.median(times[NUMPY])
    return {program: (statistics.median(times[program]) / unit, statistics.median(times[program])) for program in times}


def measure() -> list[Row]:
    """Return the ratios."""
    for program in PROGRAMS:
        seconds(program)  # builds what is missing, fills the page cache
    found = ratios()
    note = f"import numpy {found[NUMPY][1]:.2f} s"
    return [
        Row(
            f"{what}, over import numpy",
            found[program][0],
            "at most",
            target,
            note=f"{found[program][1]:.2f} s; {note}",
        )
        for program, (what, target) in PROGRAMS.items()
    ]
