"""Smooth motion by a Runge-Kutta method of high order, impacts at the end of the step: what order is left?

All of it while a bead slides along its wall, and one through impacts, because an impact is noticed up to a step late.
Run it: python examples/splitting.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

SLIDE = sl.problems.circle_slide(mu=0.1)  # a bead with friction that stays on its wall
BOUNCE = sl.problems.impact_oscillator(t_end=8.0)  # a mass on a spring that hits a wall


def error(problem: sl.Problem, scheme: sl.Splitting, steps: int) -> float:
    """Return the mean error of the position over the grid [m]."""
    sol = sl.solve(problem, scheme=scheme, h=problem.t_span[1] / steps)
    return float(np.mean(np.abs(sol.q - problem.exact.q(sol.t))))


def orders(base: str) -> tuple[float, float]:
    """Return the order in lasting contact and the one through impacts, averaged over grids that do not fit together."""
    scheme = sl.Splitting(base)
    few, many = np.array([16, 24, 32, 48]), np.array([401, 1607, 6421])
    smooth = [error(SLIDE, scheme, n) for n in few]
    through = [np.mean([error(BOUNCE, scheme, n + 17 * k) for k in range(6)]) for n in many]
    return tuple(float(-np.polyfit(np.log(n), np.log(e), 1)[0]) for n, e in ((few, smooth), (many, through)))


if __name__ == "__main__":
    print("base       sliding  through impacts")
    for base in ("heun", "kutta3", "rk4", "rkf45", "lobatto3c"):
        smooth, through = orders(base)
        print(f"{base:10s} {smooth:6.2f} {through:9.2f}")
        assert 0.75 < through < 1.25
