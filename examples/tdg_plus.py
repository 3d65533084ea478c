"""D+: a stiff damper needs no small steps, and the velocity jumps where an interval begins.

Run it: python examples/tdg_plus.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

DAMPER = sl.System(M=1.0, f=lambda t, q, v: [-1e4 * (v[0] - np.cos(t))])  # follows cos(t) within 0.1 ms


if __name__ == "__main__":
    sol = sl.solve(DAMPER, (0.0, 2.0), 0.0, 1.0, scheme=sl.TDGPlus(2), h=0.1)  # h times the rate: 1000
    error = float(np.abs(sol.v[:, 0] - np.cos(sol.t)).max())
    print(f"D2+ with h = 0.1 s: largest error of v {error:.1e} m/s")
    assert error < 1e-3
    ball = sl.problems.zeno_ball()
    sol = sl.solve(ball, scheme=sl.TDGPlus.published(1), h=4.0 / 301)
    k = int(np.flatnonzero(sol.impulse[:, 0])[0])  # the interval of the first impact
    start, end = sol(sol.t[k], "+").v[0], sol(sol.t[k + 1], "-").v[0]
    print(f"its v^h goes from {start:.3f} to {end:.3f} m/s in the interval whose impact stops {sol.v[k, 0]:.3f} m/s")
    assert end > 0.0 > start  # the impulse of the end is felt from the beginning on, with the other sign
