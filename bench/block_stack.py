"""A stack of 20 blocks at rest over 10 000 steps of Moreau-Jean: drift, residual and time per step."""

from __future__ import annotations

import time

import numpy as np
from rows import Row

import saltus as sl
from saltus import problems

STEPS = 10_000
# theta, h [s], mu
RUNS = ((0.5, 1e-3, 0.5), (1.0, 1e-3, 0.5), (0.5, 1e-3, 0.1), (0.5, 1e-2, 0.5))


def at_rest(theta: float, h: float, mu: float) -> tuple[sl.Solution, float]:
    """Run the stack and return the solution and the wall time per step [s], compilation not counted."""
    scheme = sl.MoreauJean(theta=theta)
    sl.solve(problems.block_stack(mu=mu, t_end=10 * h), scheme=scheme, h=h, progress=False)
    problem = problems.block_stack(mu=mu, t_end=STEPS * h)
    began = time.perf_counter()
    solution = sl.solve(problem, scheme=scheme, h=h, progress=False)
    return solution, (time.perf_counter() - began) / STEPS


def measure() -> list[Row]:
    """Return drift per step, largest residual of all steps and time per step of every run."""
    rows = []
    for theta, h, mu in RUNS:
        solution, seconds = at_rest(theta, h, mu)
        drift = float(np.abs(np.diff(solution.q, axis=0)).max())
        total = float(np.abs(solution.q - solution.q[0]).max())
        sweeps = solution.work["contact_sweeps"] / solution.work["steps"]
        what = f"20 blocks, theta = {theta:g}, h = {h:g} s, mu = {mu:g}"
        rows.append(Row(f"{what}: drift per step", drift, "at most", 1e-10, "", f"{total:.1e} in {STEPS} steps"))
        note = f"reported in {int(np.isfinite(solution.residual).sum())} of {STEPS} steps, {sweeps:.1f} sweeps each"
        rows.append(Row(f"{what}: residual", float(solution.residual.max()), "at most", 1e-8, "", note))
        rows.append(Row(f"{what}: time per step", 1e3 * seconds, "at most", 1.0, "ms"))
    return rows
