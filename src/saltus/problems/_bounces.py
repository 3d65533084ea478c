"""Impact times of a point that returns to the wall with the speed it left with (conservative flights)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Bounces:
    """Impacts with Newton's law: times [s], approach speeds [m/s], and where the accumulation ends [s]."""

    times: NDArray[np.float64]
    speeds: NDArray[np.float64]
    rest: float

    def starts(self) -> NDArray[np.float64]:
        """Start of every flight; the first one begins at t = 0."""
        return np.concatenate(([0.0], self.times))

    def flight(self, t: NDArray[np.float64]) -> NDArray[np.intp]:
        """Index of the flight that contains t, right-continuous at impacts."""
        return np.maximum(np.searchsorted(self.starts(), t, side="right") - 1, 0)

    def impulse_per_mass(self, e: float) -> NDArray[np.float64]:
        """Accumulated jumps of the velocity at the start of every flight; plastic where the rest begins."""
        jumps = (1.0 + e) * self.speeds
        if np.isfinite(self.rest) and jumps.size:
            jumps[-1] = self.speeds[-1]
        return np.concatenate(([0.0], np.cumsum(jumps)))


def bounces(first: float, speed: float, e: float, duration: Callable[[float], float], t_end: float) -> Bounces:
    """Impacts up to t_end; a flight shorter than the spacing of the floats at t ends a Zeno sequence.

    first: time of the first impact [s]; speed: its approach speed [m/s]; duration: flight time [s] of a
    launch speed, conservative, so that the point returns as fast as it left.
    """
    times: list[float] = []
    speeds: list[float] = []
    rest = first if speed == 0.0 and duration(0.0) == 0.0 else np.inf
    # extended precision: the sum of many flights must stay exact to the last digit of t
    t = np.longdouble(first)
    while speed > 0.0 and t <= t_end:
        times.append(float(t))
        speeds.append(speed)
        speed *= e
        t_new = t + np.longdouble(duration(speed))
        if float(t_new) == float(t):
            rest = float(t)
            break
        t = t_new
    return Bounces(np.array(times), np.array(speeds), rest)
