"""An elastic bar meets a wall: the contact force with and without numerical damping.

The wave through the bar holds the force at 300 N for 0.67 s. Modes that are too fast for h ring on in Moreau-Jean;
generalized-alpha takes them out, rho_inf says how fast.
Run it: python examples/generalized_alpha.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

COUNT, H = 20, 0.005  # elements, step [s]; density 1 kg/m, EA = 900 N, length 10 m, speed 10 m/s


def ringing(scheme) -> float:
    """Return the relative error of the force while the wave is under way, root of the mean square."""
    ties = np.diff(np.eye(COUNT + 1), axis=0)
    means = 0.5 * np.abs(ties)
    M = 10.0 / COUNT * (means.T @ means + ties.T @ ties / 12.0)
    wall = sl.Contact(lambda q: q[0], name="wall")
    bar = sl.System(M=M, f=np.zeros(COUNT + 1), K=900.0 * COUNT / 10.0 * ties.T @ ties, contacts=[wall])
    start, speed = np.full(COUNT + 1, 5.0), np.full(COUNT + 1, -10.0)
    sol = sl.solve(bar, (0.0, 1.5), start, speed, scheme=scheme, h=H)
    force = sol.impulse[(sol.t[1:] > 0.55) & (sol.t[1:] < 1.1), 0] / H
    return float(np.sqrt(np.mean((force / 300.0 - 1.0) ** 2)))


if __name__ == "__main__":
    found = {rho: ringing(sl.GeneralizedAlpha(rho)) for rho in (0.0, 0.5, 1.0)}
    for rho, error in found.items():
        print(f"rho_inf = {rho:g}: error of the force {error:.3f}")
    print(f"Moreau-Jean: {ringing(sl.MoreauJean()):.3f}")
    assert found[0.0] < 0.01 < found[0.5] < found[1.0]
