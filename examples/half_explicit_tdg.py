"""Half-explicit D1-: a block on a slope that sticks, without an index set; order two while a bead slides.

Run it: python examples/half_explicit_tdg.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

BOWL = sl.problems.circle_slide(mu=0.2)


def sticking() -> float:
    """Return how far a block creeps in a second on a slope that is too flat to slide [m]."""
    down, up = np.array([np.cos(0.2), -np.sin(0.2)]), np.array([np.sin(0.2), np.cos(0.2)])
    slope = sl.Contact(lambda q: up @ q, mu=0.3, slip=lambda t, q, v: [down @ v], name="slope")
    block = sl.System(M=1.0, f=[0.0, -9.81], contacts=[slope])
    sol = sl.solve(block, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], scheme=sl.HalfExplicitTDG(), h=0.01)
    return float(np.abs(sol.q).max())


if __name__ == "__main__":
    print(f"creep on the slope: {sticking():.0e} m")
    assert sticking() < 1e-12
    grids = (32, 64, 128)
    runs = [sl.solve(BOWL, scheme=sl.HalfExplicitTDG(), h=1.0 / n) for n in grids]
    errors = [np.abs(run.q[-1] - BOWL.exact.q(1.0)).max() for run in runs]
    order = float(-np.polyfit(np.log(grids), np.log(errors), 1)[0])
    print(f"bead in a bowl with friction: order {order:.2f}")
    assert abs(order - 2.0) < 0.2
