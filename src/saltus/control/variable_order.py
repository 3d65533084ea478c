"""VariableOrder: the order of every step is guessed, the estimate adapted (Acary, Lecture 2, "variable order")."""

from __future__ import annotations

import dataclasses
import numbers
from inspect import cleandoc

import numpy as np

from saltus.control.doubling import DOUBLING, DoublingControl
from saltus.errors import SettingError


@dataclasses.dataclass(frozen=True)
class VariableOrder(DoublingControl):
    """Judge steps with impacts as of order 0, and smooth ones by the order that their estimates show.

    The order of smooth steps follows from how the difference between h and h/2 changes with h; it is guessed again
    whenever the step changes by more than a quarter. Nothing has to be known about the scheme.

    Parameters
    ----------
    highest
        Largest order to believe in.
    """

    highest: int = 8

    name = "variable order"

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.highest, bool) or not isinstance(self.highest, numbers.Integral) or not self.highest >= 1:
            raise SettingError(f"highest of VariableOrder is {self.highest!r}: it must be a whole number from 1 on")

    def settings(self) -> np.ndarray:
        return self._settings(DOUBLING.guess, self.highest)


# cleaned before they are joined: from Python 3.13 on the compiler takes away the indentation of docstrings
VariableOrder.__doc__ = f"{cleandoc(VariableOrder.__doc__ or '')}\n{cleandoc(DoublingControl.PARAMETERS)}"
