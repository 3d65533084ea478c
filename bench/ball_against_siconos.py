"""Speed: the bouncing ball against Siconos from Python, and the slider-crank with friction (CPU time)."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
from rows import Row

import saltus as sl

SICONOS_PYTHON = os.environ.get("SALTUS_SICONOS_PYTHON", "/usr/bin/python3")  # an interpreter that has siconos
SIDE_SCRIPT = Path(__file__).with_name("siconos_ball.py")
STEPS, SICONOS_STEPS, CALLBACK_STEPS = 1_000_000, 50_000, 20_000
REPEATS = 3
SAME = 1e-11  # largest difference of the two codes on a short run [m, m/s]


def python_ball() -> sl.Problem:
    """The ball with force and gap as plain Python functions of the state."""
    floor = sl.Contact(gap=lambda q: q[0], e=0.5, name="floor")
    system = sl.System(M=1.0, f=lambda t, q, v: [-2.0], contacts=[floor])
    return sl.Problem(system, (0.0, 4.0), 1.0, 0.0)


def seconds_per_step(problem: sl.Problem, steps: int) -> float:
    """Return the CPU time of a whole solve() with default recording, per step [s]."""
    h = (problem.t_span[1] - problem.t_span[0]) / steps
    began = time.process_time()
    solution = sl.solve(problem, scheme=sl.MoreauJean(theta=0.5), h=h, progress=False)
    spent = time.process_time() - began
    assert solution.work["steps"] == steps
    return spent / steps


def siconos(kind: str, steps: int, *, keep: bool = False) -> dict:
    """Run the side script; its own process and interpreter, without our environment."""
    command = [SICONOS_PYTHON, str(SIDE_SCRIPT), kind, str(steps), "keep" if keep else "time"]
    made = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env={"PATH": "/usr/bin:/bin"})  # noqa: S603
    return json.loads(made.stdout.splitlines()[-1])


def siconos_is_there() -> bool:
    """Whether the interpreter exists and can import siconos."""
    try:
        command = [SICONOS_PYTHON, "-c", "import siconos.kernel"]
        return subprocess.run(command, capture_output=True, env={"PATH": "/usr/bin:/bin"}).returncode == 0  # noqa: S603
    except OSError:
        return False


def assert_the_same_motion() -> None:
    """Both codes must compute the same ball before their speeds mean anything."""
    steps = 1999  # no impact on the grid
    solution = sl.solve(python_ball(), scheme=sl.MoreauJean(theta=0.5), h=4.0 / steps)
    mine = np.column_stack([solution.q[1:, 0], solution.v[1:, 0]])
    for kind in ("plain", "callback"):
        theirs = np.array(siconos(kind, steps, keep=True)["states"])[:steps]
        difference = np.abs(mine[: len(theirs)] - theirs).max()
        assert difference < SAME, f"saltus and Siconos ({kind}) differ by {difference:.1e}"


def measure() -> list[Row]:
    """Return the ratios of speed, best of three, the codes taking turns."""
    ball, crank = python_ball(), sl.problems.slider_crank()
    seconds_per_step(ball, 1000)
    seconds_per_step(crank, 1000)
    there = siconos_is_there()
    if there:
        assert_the_same_motion()
    mine, plain, callback, friction = [], [], [], []
    for _ in range(REPEATS):
        mine.append(seconds_per_step(ball, STEPS))
        friction.append(seconds_per_step(crank, 100_000))
        if there:
            plain.append(siconos("plain", SICONOS_STEPS)["seconds"] / SICONOS_STEPS)
            callback.append(siconos("callback", CALLBACK_STEPS)["seconds"] / CALLBACK_STEPS)
    us = 1e6
    own = f"{us * min(mine):.3f} us per step"
    missing = f"no siconos in {SICONOS_PYTHON} (Debian: apt install python3-siconos, or set SALTUS_SICONOS_PYTHON)"
    rows = []
    for what, target, times in (("its own force", 20.0, plain), ("a Python force", 150.0, callback)):
        ratio = min(times) / min(mine) if there else None
        note = f"{own}, Siconos {us * min(times):.1f} us" if there else f"{own}; {missing}"
        rows.append(Row(f"ball, speed over Siconos with {what}", ratio, "at least", target, note=note))
    crank_us = us * min(friction)
    rows.append(Row("slider-crank with friction", crank_us, "at most", 2.0, "us per step", "3 dof, 4 contacts"))
    return rows
