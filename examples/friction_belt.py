"""Stick and slip: a block on a running belt, held by a spring; exact until the end of the first slip."""

from __future__ import annotations

import numpy as np

import saltus as sl

MASS, STIFFNESS, GRAVITY = 1.0, 100.0, 9.81  # [kg], [N/m], [m/s^2]
MU, BELT = 0.4, 0.5  # [-], belt speed [m/s]


def run(h: float = 1e-4) -> sl.Solution:
    """Start on the belt at its speed, spring relaxed: q = (x along the belt, y normal to it)."""
    belt = sl.Contact(gap=lambda q: q[1], mu=MU, slip=lambda t, q, v: v[0] - BELT, name="belt")
    system = sl.System(M=MASS, f=lambda q: [-STIFFNESS * q[0], -MASS * GRAVITY], contacts=[belt], name="belt")
    return sl.solve(system, (0.0, 0.6), [0.0, 0.0], [BELT, 0.0], scheme=sl.MoreauJean(), h=h)


def exact() -> tuple[float, float]:
    """Return when the block slips [s] and how far the spring is stretched then at most [m].

    It rides until the spring pulls as much as friction can hold; from there on it swings about that place.
    """
    held = MU * MASS * GRAVITY / STIFFNESS
    return held / BELT, held + BELT / np.sqrt(STIFFNESS / MASS)


if __name__ == "__main__":
    solution = run()
    t_slip, x_max = exact()
    slip = solution.events[solution.events["kind"] == "slip"]["t"][0]
    print(f"slips at  {slip:.4f} s (exact {t_slip:.4f})")
    print(f"stretched {solution.q[:, 0].max():.5f} m at most (exact {x_max:.5f})")
    assert abs(slip - t_slip) < 2e-4
    assert abs(solution.q[:, 0].max() - x_max) < 1e-4
