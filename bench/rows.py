"""What a benchmark hands to the table of bench/run.py."""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Row:
    """One measured number beside its target; `measured` None means skipped, and `note` says why."""

    what: str
    measured: float | None
    bound: Literal["at least", "at most"]
    target: float
    unit: str = "x"
    note: str = ""

    @property
    def verdict(self) -> Literal["meets", "misses", "skipped"]:
        """Whether the number is on the right side of its target."""
        if self.measured is None:
            return "skipped"
        good = self.measured >= self.target if self.bound == "at least" else self.measured <= self.target
        return "meets" if good else "misses"
