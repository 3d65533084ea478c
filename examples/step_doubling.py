"""Step doubling: Richardson's estimate in smooth motion, and through an impact, of which it knows the size only.

Run it: python examples/step_doubling.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

if __name__ == "__main__":
    oscillator = sl.problems.impact_oscillator(t_end=2.0)  # smooth until the wall, at 2.09 s
    scheme = sl.StepDoubling(sl.MoreauJean(theta=1.0), 1, rtol=0.0, atol=1.0)
    sol = sl.solve(oscillator, scheme=scheme, h=0.01)
    true = np.abs(sol.q[1:, 0] - oscillator.exact.q(sol.t[1:])[:, 0])[-1]
    print(f"sum of the estimates {sol.step_error.sum():.1e} m, error at the end {true:.1e} m")
    assert 0.5 < sol.step_error.sum() / true < 2.0
    ball, seen = sl.problems.zeno_ball(t_end=1.5), []  # its flight is exact with theta = 1/2
    for steps in range(100, 140):
        sol = sl.solve(ball, scheme=sl.StepDoubling(sl.MoreauJean(), 1, rtol=0.0, atol=1.0), h=1.5 / steps)
        error = np.abs(sol.q - ball.exact.q(sol.t)).max()
        seen.append(float(sol.step_error.max() / error))
    print(f"through an impact the estimate is between {min(seen):.2f} and {max(seen):.2f} of the error, by its place")
    assert 0.3 < min(seen) and max(seen) < 6.0
