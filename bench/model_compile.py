"""What a new model costs in a running process: trace and compile [CPU s]; then another start or value [us of CPU].

Every model is compiled in a process of its own that has compiled another one before, so that libraries are loaded and
nothing of the model is known.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from rows import Row

import saltus as sl
from saltus.build.model import compile_model
from saltus.compile import direct
from saltus.run import run as running

REPEATS, RUNS = 3, 300
TARGETS = {"ball": 0.05, "slider_crank": 0.2, "tumbling_box": 0.4, "chain": 0.5, "pendulum": 3.0}  # CPU s
OVERHEAD = 300.0  # us of a solve beyond its march


def chain(n: int = 50) -> sl.Problem:
    """n masses in a row, held by springs with a cubic part."""

    def force(t, q, v):
        stretch = np.diff(np.concatenate([[0.0], q]))
        tension = 100.0 * stretch + 30.0 * stretch**3
        return np.append(-tension[:-1] + tension[1:], -tension[-1]) - 0.1 * v

    wall = sl.Contact(lambda q: 0.2 - q[n - 1], e=0.5, name="wall")
    return sl.Problem(sl.System(M=1.0, f=force, contacts=[wall]), (0.0, 1.0), np.zeros(n), np.ones(n))


def pendulum(n: int = 32) -> sl.Problem:
    """n equal links in a plane with a full mass matrix; absolute angles from the vertical."""
    below = np.array([[n - max(i, j) for j in range(n)] for i in range(n)], dtype=float)  # masses beyond both joints

    def mass(q):
        return below * np.cos(q[:, None] - q[None, :])

    def force(t, q, v):
        return -(below * np.sin(q[:, None] - q[None, :])) @ v**2 - 9.81 * np.diag(below) * np.sin(q)

    return sl.Problem(sl.System(M=mass, f=force), (0.0, 1.0), np.full(n, 0.3), np.zeros(n))


def ball() -> sl.Problem:
    """The ball of the README."""
    floor = sl.Contact(gap=lambda q: q[0], e=0.8, name="floor")
    return sl.Problem(sl.System(M=1.0, f=-9.81, contacts=[floor]), (0.0, 3.0), 1.0, 0.0)


MODELS: dict[str, Callable[[], sl.Problem]] = {
    "ball": ball,
    "slider_crank": sl.problems.slider_crank,
    "tumbling_box": sl.problems.tumbling_box,
    "chain": chain,
    "pendulum": pendulum,
}


def compile_seconds(name: str) -> tuple[float, float]:
    """Return the CPU time of a new model, and how much of it is its text -> machine code [s]."""
    # the mass of the bar is neither diagonal nor full, which brings scipy.sparse: 0.15 s of the first such model
    for warm in (sl.problems.driven_pendulum(), sl.problems.impacting_bar()):
        compile_model(warm.system, 0.0, warm.q0, warm.v0)
    problem, inside = MODELS[name](), [0.0]
    compiled = direct._compiled

    def timed(*arguments):
        began = time.process_time()
        made = compiled(*arguments)
        inside[0] += time.process_time() - began
        return made

    direct._compiled = timed
    began = time.process_time()
    compile_model(problem.system, problem.t_span[0], problem.q0, problem.v0)
    spent = time.process_time() - began
    direct._compiled = compiled
    return spent, inside[0]


def in_a_new_process(name: str) -> tuple[float, float]:
    done = subprocess.run(  # noqa: S603  our own file
        [sys.executable, __file__, name], check=True, capture_output=True, encoding="utf-8"
    )
    spent, inside = (float(word) for word in done.stdout.split())
    return spent, inside


def overheads() -> dict[str, float]:
    """Return what `solve` of a ball costs beside its march [us of CPU]: again, with another start or value."""
    p = sl.Parameters(gravity=9.81, e=0.8)
    floor = sl.Contact(lambda q: q[0], e=p.e, name="floor")
    system = sl.System(M=1.0, f=lambda q: [-p.gravity], contacts=[floor])
    schemes = ((sl.MoreauJean(), {"h": 0.1}), (sl.HpTDG(), {}))
    for scheme, step in schemes:  # loads its kernels
        sl.solve(system, (0.0, 0.1), 1.0, 0.0, scheme=scheme, **step)
    march, inside = running.march, [0.0]

    def timed(*arguments):
        began = time.process_time()
        status = march(*arguments)
        inside[0] += time.process_time() - began
        return status

    running.march = timed
    found = {}
    try:
        for scheme, step in schemes:
            ways = {
                "the same again": lambda k: (1.0, {}),
                "another start": lambda k: (1.0 + 1e-3 * k, {}),
                "another value": lambda k: (1.0, {"gravity": 9.0 + 1e-3 * k, "e": k % 11 / 10}),
            }
            for what, chosen in ways.items():
                each = []
                for k in range(-20, RUNS):
                    q0, values = chosen(k)
                    inside[0], began = 0.0, time.process_time()
                    sl.solve(system, (0.0, 0.1), q0, 0.0, scheme=scheme, parameters=values, **step)
                    each.append(time.process_time() - began - inside[0])
                found[f"{what}, {scheme.name}"] = 1e6 * statistics.median(each[20:])
    finally:
        running.march = march
    return found


def measure() -> list[Row]:
    """Return one row per model and per way to solve again."""
    rows = []
    for name, target in TARGETS.items():
        spent, inside = min(in_a_new_process(name) for _ in range(REPEATS))
        note = f"trace and emit {spent - inside:.3f} s, text to machine code {inside:.3f} s"
        rows.append(Row(f"new model: {name}", spent, "at most", target, "s", note))
    for what, spent in overheads().items():
        rows.append(Row(f"solve beyond its march: {what}", spent, "at most", OVERHEAD, "us", "a ball, median"))
    return rows


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(*compile_seconds(sys.argv[1]))
    else:
        for row in measure():
            print(
                f"{row.what:55s} {row.measured:10.4g} {row.unit}  {row.bound} {row.target:g}  {row.verdict}  {row.note}"
            )
