"""What lies in `par`, the array of numbers that the units of a model read: named slots, parameters of the user first.

Structure and values are apart: two models of one structure have the same layout and the same machine code, whatever
their numbers are. Whoever keeps many of them (an ensemble, a family of bodies) needs one layout and a row of numbers
for each.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from saltus.parameters import Parameter

Kind = Literal["parameter", "constants", "array", "opaque", "scratch", "code"]


@dataclasses.dataclass(frozen=True)
class Slot:
    """Consecutive numbers of `par`.

    Attributes
    ----------
    name
        That of a parameter; others are numbered.
    kind
        "parameter": of the user, set by every run. "constants": floats that the functions contain, tables, and the
        modes of their branches. "array": matrices and vectors that were given as numbers. "opaque": numbers of a
        function that could not be traced. "scratch": room that units write to. "code": addresses, which belong to this
        process.
    offset, shape
        Where it begins, and how its numbers are arranged, row by row.
    """

    name: str
    kind: Kind
    offset: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclasses.dataclass(frozen=True)
class ParLayout:
    """All slots of `par`, in their order, without gaps."""

    slots: tuple[Slot, ...]
    references: tuple[tuple[int, Parameter], ...] = ()  # places that hold a parameter, or an entry of one, once more

    def __post_init__(self):
        end = 0
        for slot in self.slots:
            if slot.offset != end:
                raise ValueError(f"slot {slot.name!r} begins at {slot.offset}, but the one before it ends at {end}")
            end += slot.size

    def __iter__(self) -> Iterator[Slot]:
        return iter(self.slots)

    @property
    def size(self) -> int:
        return self.slots[-1].offset + self.slots[-1].size if self.slots else 0

    @functools.cached_property
    def parameters(self) -> dict[str, Slot]:
        """The slots of the user's parameters by name."""
        return {slot.name: slot for slot in self.slots if slot.kind == "parameter"}

    def read(self, par: np.ndarray) -> dict[str, float | np.ndarray]:
        """Return the values of the parameters."""
        made = {}
        for name, slot in self.parameters.items():
            numbers = par[slot.offset : slot.offset + slot.size].copy()
            made[name] = numbers.reshape(slot.shape) if slot.shape else float(numbers[0])
        return made

    def write(self, par: np.ndarray, values: Mapping[str, float | np.ndarray]) -> None:
        """Write values of parameters, whose shapes fit."""
        for name, value in values.items():
            slot = self.parameters[name]
            if slot.shape:
                par[slot.offset : slot.offset + slot.size] = np.ravel(value)
            else:
                par[slot.offset] = value
        for place, parameter in self.references:
            if parameter.name in values:
                par[place] = parameter.of(values)

    def lasting(self, par: np.ndarray) -> np.ndarray:
        """Return the numbers without addresses, which are others in the next process."""
        made = par.copy()
        for slot in self.slots:
            if slot.kind == "code":
                made[slot.offset : slot.offset + slot.size : 2] = 0.0
        return made
