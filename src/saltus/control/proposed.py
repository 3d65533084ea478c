"""Proposed: steps as long as the scheme itself proposes; for schemes that choose step and degree together."""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.compile.seam import smaller, unit
from saltus.compile.types import DECIDE
from saltus.errors import SettingError


@dataclasses.dataclass(frozen=True)
class Proposed:
    """Accept a step when its scaled error estimate is at most 1; take the next one as the scheme proposes it.

    Parameters
    ----------
    h_max
        Longest step [s].
    """

    h_max: float = float("inf")

    name = "proposed"
    kernel_memory = 0

    def __post_init__(self):
        if not self.h_max > 0.0:
            raise SettingError(f"h_max of Proposed is {self.h_max}: it must be a positive time [s]")

    @property
    def kernel(self):
        return as_proposed

    def settings(self) -> np.ndarray:
        return np.array([self.h_max])


@unit(DECIDE)
def as_proposed(settings, header, t, h, memory, decision):
    """Accept steps whose error is at most 1; the next length is what the scheme proposes, at most the largest one.

    in      settings: h_max; header: error in units of the tolerance, next_h
    out     decision[0]: next length [s]; returns 0 to accept, 1 to reject. Nothing is kept between steps
    """
    decision[0] = smaller(header.next_h, settings[0])
    if header.error <= 1.0:
        return 0
    decision[0] = smaller(decision[0], 0.9 * h)  # a rejected step must become shorter
    return 1
