"""Schatzman-Paoli on a pendulum that swings against a wall: gaps on position level, and why theta = 0.

With e = 0 no gap becomes negative. The second difference belongs to the start of a step: theta = 0 is centred.
Run it: python examples/schatzman_paoli.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl


def pendulum(e: float) -> sl.System:
    """Return a pendulum with a wall at -0.4 rad."""
    wall = sl.Contact(lambda q: q[0] + 0.4, e=e, name="wall")
    return sl.System(M=1.0, f=lambda q: [-np.sin(q[0])], contacts=[wall])


if __name__ == "__main__":
    hard = sl.solve(pendulum(0.0), (0.0, 20.0), 1.0, 0.0, scheme=sl.SchatzmanPaoli(), h=0.01)
    print(f"e = 0: least gap {np.min(hard.q + 0.4):.1e} rad")
    assert np.min(hard.q + 0.4) > -1e-12
    fine = sl.solve(pendulum(0.8), (0.0, 20.0), 1.0, 0.0, tol=1e-10)
    grids = [2000 + 37 * k for k in range(8)]  # errors scatter with the place of the impact in its step
    mean = {}
    for theta in (0.0, 0.5):
        scheme = sl.SchatzmanPaoli(theta)
        runs = [sl.solve(pendulum(0.8), (0.0, 20.0), 1.0, 0.0, scheme=scheme, h=20.0 / n) for n in grids]
        mean[theta] = float(np.mean([np.abs(run.q - fine(run.t).q).mean() for run in runs]))
        print(f"theta = {theta:g}: mean error {mean[theta]:.1e} rad")
    assert mean[0.0] < mean[0.5]
