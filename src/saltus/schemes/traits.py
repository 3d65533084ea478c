"""What the rest of saltus may know about a scheme beside its step, and what a scheme can do beyond one.

A scheme without `traits` is an ordinary one-step method: steps of any length, one after the other, as long as h says.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Traits:
    """In what a scheme differs from an ordinary one-step method.

    Attributes
    ----------
    adaptive
        It chooses its steps to a tolerance; `solve` then needs no h and takes `control()`.
    locates_events
        Its steps end where something happens: impacts, releases, switches of the model, events of the user.
    repeats_steps
        What a step reports is valid only if the control accepts it.
    fixed_step
        The step size must stay, because its memory or its settings belong to the steps of one grid.
    filters
        Its steps hang on several steps before them, so that errors are no series in h and cannot be extrapolated.
    symmetric
        The error of smooth motion is a series in h^2.
    contact_inside
        Contact velocities belong to directions inside of the step, not to those at its end.
    first_share
        Share of the span that an adaptive scheme tries first.
    own_limits
        The limits at grid points are those of its dense output, not those of the stored states.
    controlled_impacts
        Impacts of a run up to which errors of its steps stay within its promise; `sol.message` says where there are
        more.
    velocity_level
        It asks for gaps and velocities of contacts and joints, never for their accelerations: the unit `curvature` of
        a model need not be compiled for it.
    """

    adaptive: bool = False
    locates_events: bool = False
    repeats_steps: bool = False
    fixed_step: bool = False
    filters: bool = False
    symmetric: bool = False
    contact_inside: bool = False
    first_share: float = 0.01
    own_limits: bool = False
    controlled_impacts: float = float("inf")
    velocity_level: bool = False


ORDINARY = Traits()
# Schemes that fly from event to event, with a tolerance and with equal steps that may end early.
FLYING = Traits(adaptive=True, locates_events=True, repeats_steps=True)
FLYING_ON_GRID = Traits(locates_events=True, repeats_steps=True)


def traits_of(scheme: Any) -> Traits:
    """Return the traits of a scheme; what is none, such as a class without brackets, has those of an ordinary one."""
    found = getattr(scheme, "traits", ORDINARY)
    return found if isinstance(found, Traits) else ORDINARY


@runtime_checkable
class Windowed(Protocol):
    """A scheme with intervals of their own for impacts, see Solution.windows."""

    def window_start(self, block: Any, t_end: Any, h: Any) -> Any:
        """Return where the intervals begin that steps end with, the ends of the steps where there are none."""
        ...


@runtime_checkable
class Tolerant(Protocol):
    """A scheme that estimates its error."""

    def with_tolerance(self, rtol, atol) -> Any:
        """Return the same scheme with other tolerances; None keeps one."""
        ...


@runtime_checkable
class Scaled(Protocol):
    """A scheme whose tolerance is relative to a scale of the coordinates."""

    def with_scale(self, scale) -> Any:
        """Return the same scheme with another scale, in units of q."""
        ...


@runtime_checkable
class Controlled(Protocol):
    """A scheme that brings its control along."""

    def control(self) -> Any:
        """Return the control that goes with the scheme and its tolerances."""
        ...


@runtime_checkable
class Forced(Protocol):
    """A scheme that knows contact forces inside of its steps; see `SchemeLike`."""

    def reaction(self, s: np.ndarray, h: np.ndarray, block: np.ndarray, rows: int, side: str) -> tuple:
        """Return the forces at s [N] and their integrals since the start of the step [N s]."""
        ...


@runtime_checkable
class Accelerated(Protocol):
    """A scheme that knows accelerations inside of its steps."""

    def acceleration(self, s: np.ndarray, h: np.ndarray, block: np.ndarray, side: str) -> tuple:
        """Return v_dot inside of steps, the piece of the step that it belongs to, and the duration of the piece [s]."""
        ...


# asked in every solve: isinstance of a protocol takes ten times as long before Python 3.12


def estimates_error(scheme: Any) -> TypeGuard[Tolerant]:
    """Return whether a scheme is `Tolerant`."""
    return callable(getattr(scheme, "with_tolerance", None))


def has_scale(scheme: Any) -> TypeGuard[Scaled]:
    """Return whether a scheme is `Scaled`."""
    return callable(getattr(scheme, "with_scale", None))


def brings_control(scheme: Any) -> TypeGuard[Controlled]:
    """Return whether a scheme is `Controlled`."""
    return callable(getattr(scheme, "control", None))
