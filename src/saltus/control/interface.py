"""What a control is: a decision unit with its settings, and what `solve` may know about it."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeGuard, runtime_checkable

import numpy as np

Steps = Literal["counted", "equal", "chosen"]


class ControlLike(Protocol):
    """Settings of a decision: accept a finished step or not, and how long the next one is.

    `kernel` is a unit of type DECIDE, `kernel_memory` the floats that it keeps from step to step, `settings()` its
    numbers. `steps` says what becomes of h: "counted" (all steps are h and none is repeated, so that their number is
    known), "equal" (h, but a step may end early and its rest comes next), "chosen" (h is the first one to try; the
    default where a control says nothing).
    """

    @property
    def name(self) -> str: ...

    @property
    def kernel_memory(self) -> int: ...

    @property
    def kernel(self) -> Any: ...

    def settings(self) -> np.ndarray: ...


@runtime_checkable
class Comparing(Protocol):
    """A control that decides from one step h and two steps h/2."""

    first_share: float  # of the span: the first step to try where none is given

    def doubled(self, scheme) -> Any:
        """Return the scheme with the estimates that the control decides from."""
        ...

    def over(self, span: float) -> Any:
        """Return the control for a run over a span [s]."""
        ...


def steps_of(control: Any) -> Steps:
    """Return what becomes of h under a control."""
    return getattr(control, "steps", "chosen")


def compares(control: Any) -> TypeGuard[Comparing]:
    """Return whether a control is `Comparing`; asked in every solve, and isinstance of a protocol takes its time."""
    return callable(getattr(control, "doubled", None)) and hasattr(control, "first_share")
