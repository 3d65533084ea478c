"""A bead is dropped into a bowl, strikes it once and slides to and fro: extrapolation against the scheme alone."""

from __future__ import annotations

import numpy as np

import saltus as sl

BOWL = sl.problems.bowl(e=0.0, t_end=8.0)  # radius, mass and gravity are 1
ALONE = sl.PaoliVelocity()
SLIDE = sl.problems.circle_slide(mu=0.2)  # the same bowl with friction, without the fall


def run(problem: sl.Problem, scheme, steps: int) -> sl.Solution:
    """Integrate to the end of the problem in so many steps."""
    return sl.solve(problem, scheme=scheme, h=problem.t_span[1] / steps)


def error(solution: sl.Solution) -> float:
    """Return the mean error of the position [m] at the nodes."""
    return float(np.mean(np.abs(solution.q - solution.exact.q(solution.t))))


def order(columns: int, steps: int = 20) -> float:
    """Return the order of the slide between a grid and one of half its step size."""
    scheme = sl.Extrapolated(ALONE, columns)
    return float(np.log2(error(run(SLIDE, scheme, steps)) / error(run(SLIDE, scheme, 2 * steps))))


if __name__ == "__main__":
    print("steps       alone  2 columns  3 columns   force evaluations")
    for steps in (200, 400, 800):
        runs = [run(BOWL, scheme, steps) for scheme in (ALONE, sl.Extrapolated(ALONE), sl.Extrapolated(ALONE, 3))]
        errors, work = "".join(f"{error(s):11.1e}" for s in runs), ", ".join(str(s.work["f"]) for s in runs)
        print(f"{steps:5d} {errors}   {work}")
    found = [order(columns) for columns in (2, 3, 4)]
    print("orders of the slide " + ", ".join(f"{x:.2f}" for x in found))
    np.testing.assert_allclose(found, [2, 3, 4], atol=0.15)
