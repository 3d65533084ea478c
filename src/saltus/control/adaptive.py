"""Adaptive: steps whose estimated error meets the tolerance, as long as that allows (PI control)."""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.compile.seam import larger, smaller, unit
from saltus.compile.types import DECIDE
from saltus.errors import SettingError

SAFETY, PROPORTIONAL, SMALLEST, LARGEST, MOST, ORDER = range(6)


@dataclasses.dataclass(frozen=True)
class Adaptive:
    """Accept a step when its scaled error estimate is at most 1; choose the next one from this error and the last.

    Parameters
    ----------
    safety
        Share of the step that the estimate allows.
    smallest, largest
        Least and greatest ratio of a step to the one before.
    h_max
        Longest step [s].
    order
        Order of the error estimate; None takes what the scheme reports as its degree.
    """

    safety: float = 0.9
    smallest: float = 0.2
    largest: float = 6.0
    h_max: float = float("inf")
    order: int | None = None

    name = "adaptive"
    kernel_memory = 2

    def __post_init__(self):
        if not 0.0 < self.safety < 1.0:
            raise SettingError(f"safety of Adaptive is {self.safety}: it must lie between 0 and 1")
        if not 0.0 < self.smallest < 1.0 < self.largest:
            raise SettingError(
                f"smallest and largest of Adaptive are {self.smallest}, {self.largest}: they must enclose 1"
            )
        if not self.h_max > 0.0:
            raise SettingError(f"h_max of Adaptive is {self.h_max}: it must be a positive time [s]")

    @property
    def kernel(self):
        return adapt

    def settings(self) -> np.ndarray:
        return np.array([self.safety, 0.04, self.smallest, self.largest, self.h_max, float(self.order or 0)])


@unit(DECIDE)
def adapt(settings, header, t, h, memory, decision):
    """memory: error of the last accepted step (0: none), whether the last attempt was rejected."""
    order = settings[ORDER] if settings[ORDER] > 0.0 else header.degree
    error = header.error
    if not error <= 1.0:
        shrink = settings[SAFETY] * error ** (-1.0 / order) if error < 1e100 else settings[SMALLEST]
        decision[0] = h * larger(settings[SMALLEST], smaller(shrink, 0.9))
        memory[1] = 1.0
        return 1
    if header.h_used < h:
        # an event cut the step: what it would have allowed stays unknown, the step was good
        decision[0] = smaller(h, settings[MOST])
        memory[1] = 0.0
        return 0
    error = larger(error, 1e-10)
    growth = settings[SAFETY] * error ** (settings[PROPORTIONAL] * 0.75 - 1.0 / order)
    if memory[0] > 0.0:
        growth *= memory[0] ** settings[PROPORTIONAL]
    growth = larger(settings[SMALLEST], smaller(growth, settings[LARGEST]))
    if memory[1] == 1.0:
        growth = smaller(growth, 1.0)
    memory[0], memory[1] = error, 0.0
    decision[0] = smaller(h * growth, settings[MOST])
    return 0
