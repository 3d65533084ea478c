"""A bead slides in a round bowl with friction: degrees of D- against the exact motion, and the contact force."""

from __future__ import annotations

import numpy as np

import saltus as sl

MU = 0.2
BOWL = sl.problems.circle_slide(mu=MU)  # radius, mass and gravity are 1
T_END = BOWL.t_span[1]


def run(degree: int, steps: int) -> sl.Solution:
    """Slide down for 1 s without leaving the bowl and without turning round."""
    return sl.solve(BOWL, scheme=sl.TDGMinus(degree), h=T_END / steps)


def errors(solution: sl.Solution) -> list[float]:
    """Return the largest errors at the end: position [m], velocity [m/s], contact impulse [N s], contact force [N]."""
    q, v = BOWL.exact.q(T_END), BOWL.exact.v(T_END)
    normal = v @ v - q[1]  # what turns the bead and what carries it: m |v|^2/R + m gravity cos(phi)
    pairs = [
        (solution.q[-1], q),
        (solution.v[-1], v),
        (solution.impulse_at(T_END), BOWL.exact.impulse(T_END)),
        (solution.force_at(T_END), [normal, -MU * normal]),  # rows N, T
    ]
    return [float(np.max(np.abs(made - wanted))) for made, wanted in pairs]


def order(degree: int, steps: int = 8) -> float:
    """Return the order of the velocity between a grid and one of half its step size."""
    return float(np.log2(errors(run(degree, steps))[1] / errors(run(degree, 2 * steps))[1]))


if __name__ == "__main__":
    print("degree  steps   position  velocity   impulse     force")
    for degree in (1, 2, 4):
        for steps in (8, 16, 32):
            row = "".join(f"{error:10.1e}" for error in errors(run(degree, steps)))
            print(f"{degree:6d} {steps:6d} {row}")
    found = [order(degree) for degree in (1, 2, 4)]
    print("orders " + ", ".join(f"{x:.2f}" for x in found))
    N, T = run(4, 8).force_at(0.5)
    print(f"at 0.5 s the bowl pushes with {N:.6f} N and brakes with {-T:.6f} N")
    np.testing.assert_allclose(found, [2, 4, 6], atol=0.15)
