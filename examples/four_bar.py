"""Four-bar linkage with three ideal pins and one worn pin: joints, projection and a contact with friction."""

from __future__ import annotations

import numpy as np

import saltus as sl


def run(h: float = 2e-5, t_end: float = 0.2) -> sl.Solution:
    """Drive the crank by a constant torque; `projection` holds the pins together to rounding."""
    return sl.solve(sl.problems.four_bar(t_end=t_end), scheme=sl.MoreauJean(projection=True), h=h)


def pins_apart(q: np.ndarray) -> float:
    """Return the largest distance between the halves of an ideal pin [m]."""
    problem = sl.problems.four_bar()
    return max(float(np.hypot(*joint.constraint(q))) for joint in problem.system.joints)


if __name__ == "__main__":
    solution = run()
    apart = max(pins_apart(q) for q in solution.q[::50])
    print(solution)
    print(f"ideal pins: at most {apart:.1e} m apart")
    print(f"worn pin: journal outside of its bearing by at most {solution.violation.max():.1e} m")
    print(f"energy defect {abs(solution.energy.defect).max():.1e} J of {solution.energy.kinetic.max():.3f} J")
    assert apart < 1e-11
