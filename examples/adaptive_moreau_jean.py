"""Adaptive Moreau-Jean: a ball through infinitely many impacts, with steps that follow a tolerance.

Comparing one step with two halves is not enough: both place an impact at the same wrong time, and the tolerance means
nothing. Halving the steps at impacts helps, and costs little. Run it: python examples/adaptive_moreau_jean.py
"""

from __future__ import annotations

import saltus as sl
from saltus.control import Richardson

BALL = sl.problems.zeno_ball()  # gravity 2 m/s^2, e = 1/2, from 1 m: rests from t = 3 s on
PLAIN = Richardson(order=1, horizon="step", impacts=False)  # as for smooth equations


def run(tol: float, control=None) -> sl.Solution:
    """Integrate with steps that follow the tolerance; None takes the default control."""
    return sl.solve(BALL, scheme=sl.MoreauJean(theta=0.5), tol=tol, control=control)


def velocity_error(solution: sl.Solution) -> float:
    """Return the error of the velocity, integrated over time [m]."""
    return sl.study.error(solution, quantity="v", norm="L1")


if __name__ == "__main__":
    print("control     tol     error of v  forces  steps  rejected  shortest  longest")
    for name, control in (("plain", PLAIN), ("default", None)):
        for tol in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
            sol = run(tol, control)
            h = sol.t[1:] - sol.t[:-1]
            print(
                f"{name:10s}  {tol:.0e}   {velocity_error(sol):.1e} {sol.work['f']:9d} {sol.work['steps']:6d}"
                f" {sol.work['rejected']:9d}   {h.min():.1e}  {h.max():.1e}"
            )
    assert velocity_error(run(1e-6, PLAIN)) > 0.05
    assert velocity_error(run(1e-6)) < 30.0 * 1e-6 * BALL.t_span[1]
