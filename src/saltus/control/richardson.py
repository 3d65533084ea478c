"""Richardson: one step h against two steps h/2, one order for all (Acary, Lecture 2, eqs. 54-59, 73)."""

from __future__ import annotations

import dataclasses
import numbers
from inspect import cleandoc

import numpy as np

from saltus.control.doubling import DoublingControl
from saltus.errors import SettingError


@dataclasses.dataclass(frozen=True)
class Richardson(DoublingControl):
    """Accept a step when its error is at most 1: |q_h - q_h/2| / (2^p - 1), or 2 |q_h - q_h/2| for order 0.

    The next step is h safety (1 / error)^(1 / (p + 1)) within its limits, smoothed by the error before (PI control);
    where smooth steps are judged over a horizon, the exponent is 1 / p.

    Parameters
    ----------
    order
        Order p of the scheme. With 0 the horizon is "step".
    """

    order: int = 1

    name = "Richardson"

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.order, bool) or not isinstance(self.order, numbers.Integral) or not 0 <= self.order <= 20:
            raise SettingError(f"order of Richardson is {self.order!r}: it must be a whole number from 0 to 20")
        if self.order == 0 and self.horizon not in (None, "step"):
            raise SettingError(
                f"horizon of Richardson is {self.horizon!r}, but errors of order 0 cannot be spread over a time: leave "
                "it out or take order=1"
            )

    def over(self, span: float) -> DoublingControl:
        """Return the control for a run over a span [s]."""
        return dataclasses.replace(self, horizon="step") if self.order == 0 else super().over(span)

    def settings(self) -> np.ndarray:
        return self._settings(self.order, self.order)


# cleaned before they are joined: from Python 3.13 on the compiler takes away the indentation of docstrings
Richardson.__doc__ = f"{cleandoc(Richardson.__doc__ or '')}\n{cleandoc(DoublingControl.PARAMETERS)}"
