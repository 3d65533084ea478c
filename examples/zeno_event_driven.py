"""Infinitely many impacts in finite time: a ball and a bead in a bowl, integrated to a tolerance and through the end.

The bounces become slower and follow each other faster and faster; behind their accumulation the ball rests and the
bead slides. Run it: python examples/zeno_event_driven.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

BALL = sl.problems.zeno_ball()  # gravity 2 m/s^2, e = 1/2, from 1 m: rests from t = 3 s on
BOWL = sl.problems.bowl()  # curved wall: no bounce is like the one before


def run(problem: sl.Problem, tol: float) -> sl.Solution:
    """Integrate with steps of their own choice, to a tolerance."""
    return sl.solve(problem, scheme=sl.EventDriven(), tol=tol)


def rest_time(solution: sl.Solution) -> float:
    """Return when the accumulation ends [s]."""
    return float(solution.events["t"][solution.events["kind"] == "zeno"][0])


def errors(solution: sl.Solution) -> tuple[float, float, float]:
    """Return the errors of the time of rest [s], of the last position [m] and of the impulse [N s]."""
    exact, end = solution.exact, solution.t[-1]
    return (
        abs(
            rest_time(solution) - exact.jumps[-1]
        ),  # the last of the exact impacts that differs from the end by rounding
        float(np.max(np.abs(solution.q[-1] - exact.q(end)))),
        float(np.max(np.abs(solution.impulse_at(end) - exact.impulse(end)))),
    )


if __name__ == "__main__":
    print("             tol  impacts  located  steps  forces    t_rest [s]  error    q        impulse")
    for problem in (BALL, BOWL):
        for tol in (1e-4, 1e-6, 1e-8, 1e-10):
            sol = run(problem, tol)
            impacts = int(sol.events["count"].sum())
            rows = int(np.sum(sol.events["kind"] == "impact"))
            print(
                f"{problem.name:10s} {tol:.0e} {impacts:8d} {rows:8d} {sol.work['steps']:6d} {sol.work['f']:7d}"
                f"  {rest_time(sol):12.10f}" + "".join(f"  {error:.1e}" for error in errors(sol))
            )
            assert max(errors(sol)) < 20.0 * tol
