"""Problem: a system with its start, and its exact solution where one is known."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import ModelError
from saltus.system import System

if TYPE_CHECKING:
    from saltus.build.continuity import Continuity


@dataclasses.dataclass(frozen=True, eq=False)
class Exact:
    """An exact (or reference) solution.

    Parameters
    ----------
    q, v
        Functions of time, vectorised: t of shape (n,) gives (n, nq) and (n, nv), a scalar t gives (nq,) and (nv,);
        v is the right limit.
    impulse
        The measure i(t) accumulated from the start, one column per contact row [N s].
    jumps
        Sorted times at which v jumps [s] (an accumulation is cut at rounding).
    """

    q: Callable
    v: Callable
    impulse: Callable | None = None
    jumps: Sequence[float] | np.ndarray = dataclasses.field(default=(), kw_only=True)


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """A system, its time span [s] and its start q0, v0, with an exact solution where one is known."""

    system: System
    t_span: tuple[float, float]
    q0: Any  # numbers in, a read-only vector afterwards
    v0: Any
    exact: Exact | None = dataclasses.field(default=None, kw_only=True)
    name: str | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        if not isinstance(self.system, System):
            raise ModelError(f"a problem needs a System first, not {self.system!r}")
        object.__setattr__(self, "t_span", check_span(self.t_span))
        object.__setattr__(self, "q0", vector(self.q0, "q0"))
        object.__setattr__(self, "v0", vector(self.v0, "v0"))
        for field in ("coordinates", "units"):
            listed = getattr(self.system, field)
            if listed is not None and len(listed) != self.q0.size:
                raise ModelError(
                    f"{field} of the system are {len(listed)}, but q0 has {self.q0.size} entries: give one for each"
                )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Protect the start again, because a pickle forgets that arrays are read-only."""
        self.__dict__.update(state)
        for start in (self.q0, self.v0):
            start.setflags(write=False)

    def diagnose(self, q: Any = None, *, t: float | None = None, closed_tolerance: float = 1e-8) -> Continuity:
        """Say whether the motion depends continuously on the data at q (Paoli's conditions on the closed contacts).

        q and t [s] default to the start; contacts with gaps up to closed_tolerance [m] count as closed.
        """
        # here, because it compiles the model, which a problem alone does not need
        from saltus.build.continuity import continuity

        place = self.q0 if q is None else vector(q, "q")
        if place.shape != self.q0.shape:
            raise ModelError(f"q has {place.size} entries, but the problem has {self.q0.size} coordinates")
        time = self.t_span[0] if t is None else float(t)
        return continuity(self.system, time, place.copy(), self.v0.copy(), closed_tolerance)


def check_span(t_span) -> tuple[float, float]:
    """Return (start, end) of a time span that runs forward."""
    try:
        start, end = (float(t) for t in t_span)
    except (TypeError, ValueError) as error:
        raise ModelError(f"t_span must be two times (start, end), not {t_span!r}") from error
    if not (math.isfinite(start) and math.isfinite(end)):
        raise ModelError(f"t_span = ({start}, {end}) is not finite")
    if not end > start:
        how = "is empty" if end == start else "runs backwards"
        raise ModelError(f"t_span = ({start}, {end}) {how}: the end must lie after the start")
    return start, end


def vector(value, name: str) -> np.ndarray:
    """Return a start value as a finite vector; a scalar is a vector of one."""
    if value is None:
        raise ModelError(f"{name} is missing: give the start value of every coordinate")
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be numbers, not {value!r}") from error
    if array.ndim == 0:
        array = array.reshape(1)
    if array.size == 0:
        raise ModelError(f"{name} is empty: give at least one number")
    if array.ndim != 1:
        raise ModelError(f"{name} must be a vector, but has shape {array.shape}")
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ModelError(f"{name}[{bad}] = {array[bad]} is not finite")
    array.setflags(write=False)
    return array
