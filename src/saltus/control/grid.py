"""Grid: equal steps for schemes that may end a step early; the rest of it comes next, so that grid points are met."""

from __future__ import annotations

import dataclasses
from math import floor

import numpy as np

from saltus.compile.seam import unit
from saltus.compile.types import DECIDE

ON_GRID = 1e-9  # of a step: how near to a grid point counts as there


@dataclasses.dataclass(frozen=True)
class Grid:
    """Accept every step that succeeds; after one that ended early go on to the next grid point."""

    name, steps = "grid", "equal"
    kernel_memory = 3

    @property
    def kernel(self):
        return to_grid

    def settings(self) -> np.ndarray:
        return np.zeros(1)


@unit(DECIDE)
def to_grid(settings, header, t, h, memory, decision):
    """Accept every step that could be solved; the next one goes to the next point of the grid t_0 + k h_0.

    in      header: error, 1 or less where the step counts; h_used, less than h where an event cut it
    out     decision[0]: next length [s]; returns 0 to accept, 1 to try again with half the length
    kept    memory: whether the grid is known, its first point, its step
    """
    if memory[0] == 0.0:
        memory[0], memory[1], memory[2] = 1.0, t, h
    if not header.error <= 1.0:  # equations that could not be solved: in smaller pieces
        decision[0] = 0.5 * h
        return 1
    reached = t + header.h_used
    passed = floor((reached - memory[1]) / memory[2] + ON_GRID)
    decision[0] = memory[1] + (passed + 1.0) * memory[2] - reached
    return 0
