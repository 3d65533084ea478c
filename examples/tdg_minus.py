"""D-: order by degree while a bead slides in its bowl, and the scheme as published beside the default one.

The source decides about contact forces at every stage. On a curved wall that loses the contact; index sets that stay
over an interval, and a projection at its end, keep it and the order.
Run it: python examples/tdg_minus.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

BOWL = sl.problems.circle_slide()  # inside of a circle, without friction


def error(scheme, steps: int) -> float:
    """Return the error of the last position [m]."""
    sol = sl.solve(BOWL, scheme=scheme, h=BOWL.t_span[1] / steps)
    return float(np.abs(sol.q[-1] - BOWL.exact.q(sol.t[-1])).max())


if __name__ == "__main__":
    for degree, expected in ((1, 2.0), (2, 4.0), (3, 4.0)):
        errors = [error(sl.TDGMinus(degree), steps) for steps in (16, 32, 64)]
        order = float(-np.polyfit(np.log([16, 32, 64]), np.log(errors), 1)[0])
        print(f"degree {degree}: order {order:.2f}, as published {error(sl.TDGMinus.published(degree), 64):.0e} m")
        assert abs(order - expected) < 0.6
