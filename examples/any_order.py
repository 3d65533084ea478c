"""Impacts located in an interval of length h^(p+1): any order p through impacts, on equal steps.

A mass on a spring hits a wall. Where a time stepping is left with order one, a Runge-Kutta method keeps its own, if one
step of Moreau is made over the short interval that holds the impact.
Run it: python examples/any_order.py
"""

from __future__ import annotations

import numpy as np

import saltus as sl

BOUNCE = sl.problems.impact_oscillator()
GRIDS = (83, 101, 131, 163, 211, 331)  # steps over 20 s that do not fit together


def error(scheme, steps: int) -> float:
    """Return the mean error of the position over the nodes [m]."""
    sol = sl.solve(BOUNCE, scheme=scheme, h=BOUNCE.t_span[1] / steps)
    return float(np.mean(np.abs(sol.q - BOUNCE.exact.q(sol.t))))


def order(scheme) -> float:
    """Return the order of the position, fitted over the grids."""
    return float(-np.polyfit(np.log(GRIDS), np.log([error(scheme, n) for n in GRIDS]), 1)[0])


if __name__ == "__main__":
    print("scheme                  order p  fitted  error, 331 steps")
    for base in ("kutta3", "rk4", "dopri5", "radau5"):
        scheme = sl.AnyOrder(base)
        fitted = order(scheme)
        print(f"{scheme.name:23s} {scheme.order:5d} {fitted:9.2f} {error(scheme, 331):14.1e}")
        assert fitted > scheme.order - 0.25
    alone = sl.MoreauJean()
    print(f"{alone.name:23s} {1:5d} {'':9s} {error(alone, 331):14.1e}")
