"""Adaptive: steps whose estimated error meets the tolerance, as long as that allows (PI control)."""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.compile.seam import larger, smaller, unit
from saltus.compile.types import DECIDE
from saltus.compile.workspace import Numbers
from saltus.errors import SettingError

SETTINGS = Numbers("safety proportional smallest largest h_max order")
MEMORY = Numbers("last rejected")  # error of the last accepted step (0: none); 1 where the last attempt was rejected


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
    kernel_memory = MEMORY.size

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
        return SETTINGS.filled(
            safety=self.safety, proportional=0.04, smallest=self.smallest, largest=self.largest, h_max=self.h_max,
            order=float(self.order or 0),
        )  # fmt: skip


@unit(DECIDE)
def adapt(settings, header, t, h, memory, decision):
    """Accept a step whose error is at most 1 and propose the next h from this error and the last one (PI control).

    h_new = h safety error^(3/4 beta - 1/order) error_last^beta with beta = settings.proportional, between the smallest
    and the largest factor (as in dopri5 of Hairer and Wanner); behind a rejected step it does not grow.

    in      header: error in units of the tolerance, h_used, degree (the order where settings give none)
    out     decision[0]: next length [s]; returns 0 to accept, 1 to reject
    kept    memory: last error, 1 behind a rejected step
    """
    settings, memory = SETTINGS(settings), MEMORY(memory)
    order = settings.order if settings.order > 0.0 else header.degree
    error = header.error
    if not error <= 1.0:
        shrink = settings.safety * error ** (-1.0 / order) if error < 1e100 else settings.smallest
        decision[0] = h * larger(settings.smallest, smaller(shrink, 0.9))
        memory.rejected = 1.0
        return 1
    if header.h_used < h:
        # an event cut the step: what it would have allowed stays unknown, the step was good
        decision[0] = smaller(h, settings.h_max)
        memory.rejected = 0.0
        return 0
    error = larger(error, 1e-10)
    growth = settings.safety * error ** (settings.proportional * 0.75 - 1.0 / order)
    if memory.last > 0.0:
        growth *= memory.last**settings.proportional
    growth = larger(settings.smallest, smaller(growth, settings.largest))
    if memory.rejected == 1.0:
        growth = smaller(growth, 1.0)
    memory.last, memory.rejected = error, 0.0
    decision[0] = smaller(h * growth, settings.h_max)
    return 0
