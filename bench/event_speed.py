"""EventDriven and HpTDG on the impact oscillator against scipy's DOP853 with restarts and Siconos' event-driven run."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import numpy as np
from ball_against_siconos import SICONOS_PYTHON
from rows import Row
from scipy.integrate import solve_ivp

import saltus as sl
from saltus import problems

T_END = 100.0  # 18 impacts
ASKED = 20_000  # times at which dense output is asked for
SIDE_SCRIPT = Path(__file__).with_name("siconos_events.py")


def scipy_run(rtol: float) -> np.ndarray:
    """Return the end state of flights by solve_ivp, restarted by hand at every event."""
    t, y = 0.0, np.array([1.0, 0.0])

    def hit(t, y):
        return y[0] + 0.5

    hit.terminal, hit.direction = True, -1
    while t < T_END:
        made = solve_ivp(
            lambda t, y: [y[1], -y[0]], (t, T_END), y, method="DOP853", rtol=rtol, atol=rtol, events=hit,
            dense_output=True,
        )  # fmt: skip
        t, y = made.t[-1], made.y[:, -1].copy()
        if made.status != 1:
            break
        y = np.array([-0.5 + 1e-16, -0.8 * y[1]])
    return y


def best(function, repeats: int) -> float:
    """Return the shortest wall time of a function [s]."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def measure() -> list[Row]:
    """Return the ratios of run times at about equal errors, all of this run."""
    problem = problems.impact_oscillator(t_end=T_END)
    end = np.concatenate([problem.exact.q(T_END), problem.exact.v(T_END)])

    def ours():
        return sl.solve(problem, scheme=sl.EventDriven(), tol=1e-11, progress=False)

    error = np.max(np.abs(np.concatenate([ours().q[-1], ours().v[-1]]) - end))
    theirs = np.max(np.abs(scipy_run(1e-11) - end))
    mine, scipy_time = best(ours, 20), best(lambda: scipy_run(1e-11), 10)
    note = f"{1e3 * mine:.1f} ms with error {error:.0e} against {1e3 * scipy_time:.0f} ms with {theirs:.0e}"
    rows = [Row("oscillator, scipy DOP853 + events over EventDriven", scipy_time / mine, "at least", 20.0, note=note)]

    def flagship():
        return sl.solve(problem, scheme=sl.HpTDG(), tol=1e-6, progress=False)

    error = np.max(np.abs(np.concatenate([flagship().q[-1], flagship().v[-1]]) - end))
    fast = best(flagship, 100)
    note = f"{1e3 * fast:.2f} ms with error {error:.0e} against {1e3 * scipy_time:.0f} ms with {theirs:.0e}"
    rows.append(Row("oscillator, scipy DOP853 + events over HpTDG", scipy_time / fast, "at least", 100.0, note=note))
    sol, times = flagship(), np.random.default_rng(0).uniform(0.0, T_END, ASKED)
    rows.append(
        Row(f"oscillator, sol(t) of HpTDG at {ASKED} times", best(lambda: sol(times), 10), "at most", 0.1, unit="s")
    )
    what = "oscillator, Siconos event-driven over EventDriven"
    command = [SICONOS_PYTHON, str(SIDE_SCRIPT), str(T_END), "1.0"]
    try:
        runs = [subprocess.run(command, check=True, capture_output=True, encoding="utf-8") for _ in range(3)]  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return [*rows, Row(what, None, "at least", 1.0, note=f"no siconos in {SICONOS_PYTHON}")]
    found = [json.loads(run.stdout.splitlines()[-1]) for run in runs]
    siconos = min(run["seconds"] for run in found)
    note = f"{found[0]['impacts']} impacts in {1e3 * siconos:.1f} ms, its loop alone"
    return [*rows, Row(what, siconos / mine, "at least", 1.0, note=note)]
