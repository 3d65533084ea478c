"""First time at which a gap closes, by steps that cannot pass a root."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt

from saltus.errors import RunError

MOST_SEARCH_STEPS = 100_000  # a graze needs many, an ordinary landing about ten


def landing(gap: Callable, bound: float, longest: float, start: float = 0.0) -> float:
    """Return the first time after `start` [s] with gap = 0, or inf when there is none up to `longest` [s].

    gap(tau) gives the gap [m] and its rate [m/s]; bound [m/s^2] > 0 is at least its largest acceleration. A step
    ends where even that acceleration, towards the wall, could not have closed the gap: no root is passed, and near a
    root this is as fast as Newton's method.
    """
    tau = start
    for _ in range(MOST_SEARCH_STEPS):
        if tau > longest:
            return inf
        distance, rate = gap(tau)
        distance = max(float(distance), 0.0)
        root = sqrt(rate * rate + 2.0 * bound * distance)
        # the same number in two forms, each without cancellation
        step = (rate + root) / bound if rate > 0.0 else (2.0 * distance / (root - rate) if root > 0.0 else 0.0)
        if tau + step == tau:
            return tau
        tau += step
    raise RunError(f"no landing was found in {MOST_SEARCH_STEPS} steps up to {tau:.6g} s; change the parameters")
