"""Fixed: every step counts and all have the same length."""

from __future__ import annotations

import dataclasses

import numpy as np

from saltus.compile.seam import unit
from saltus.compile.types import DECIDE


@dataclasses.dataclass(frozen=True)
class Fixed:
    """Accept every step and keep h."""

    name, steps = "fixed", "counted"
    kernel_memory = 0

    @property
    def kernel(self):
        return keep

    def settings(self) -> np.ndarray:
        return np.zeros(1)


@unit(DECIDE)
def keep(settings, header, t, h, memory, decision):
    """Accept every step and keep its length: decision[0] = h, returns 0; nothing is kept between steps."""
    decision[0] = h
    return 0
