"""A tolerance is a promise: degree and length of every interval are chosen so that the error stays below it.

A ball that comes to rest, a mass on a spring at a wall and a pendulum, integrated by the scheme that `solve` takes
where none is named. Run it: python examples/hp_tdg.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

PROBLEMS = (sl.problems.zeno_ball(), sl.problems.impact_oscillator(), sl.problems.driven_pendulum())
TOLERANCES = (1e-4, 1e-8, 1e-12)


def mean_error(sol: sl.Solution) -> float:
    """Return the mean error over time of q, v and impulse, the largest of them, each over 1 + its size."""
    exact, times = sol.exact, np.linspace(sol.t[0], sol.t[-1], 2001)
    found = []
    for name in ("q", "v", "impulse"):
        size = np.max(np.linalg.norm(getattr(exact, name)(times), axis=1))
        found.append(sl.study.error(sol, quantity=name) / ((sol.t[-1] - sol.t[0]) * (1.0 + size)))
    return max(found)


def evaluations(sol: sl.Solution) -> int:
    """Return the force evaluations; a Jacobian counts as one per velocity."""
    return sol.work["f"] + sol.v.shape[1] * sol.work["jac"]


if __name__ == "__main__":
    print("                     tol    error  forces  intervals  degrees  Runge-Kutta: error  forces")
    for problem in PROBLEMS:
        for tol in TOLERANCES:
            sol, other = sl.solve(problem, tol=tol), sl.solve(problem, scheme=sl.EventDriven(), tol=tol)
            degrees = f"{int(sol.step_degree.min())}-{int(sol.step_degree.max())}"
            print(
                f"{problem.name:18s} {tol:.0e}  {mean_error(sol):.1e} {evaluations(sol):7d} {sol.work['steps']:10d}"
                f" {degrees:>8s} {mean_error(other):19.1e} {evaluations(other):7d}"
            )
            assert mean_error(sol) < tol
