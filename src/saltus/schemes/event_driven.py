"""EventDriven: smooth phases of high order between located events, index sets, accumulations (Acary, lecture 2010).

One step integrates the motion under its index set (free flight, or contacts and joints held as an index-1 system) and
ends at its end or at the first event: an impact, a release, a change between sticking and slipping, an event of the
user. There the laws decide: the impact law over all closed contacts, then the law on acceleration level, which gives
the next index set. For a single contact these are the cases 1.1 to 2.2.3 of the lecture.
"""

from __future__ import annotations

import dataclasses
import numbers

import numpy as np

from saltus.control.adaptive import Adaptive
from saltus.errors import SettingError
from saltus.flight.dense import acceleration, interpolate, reaction
from saltus.flight.smooth_step import SMOOTH_STEP
from saltus.laws import friction_rows
from saltus.memory.layout import Layout
from saltus.schemes.plan import SchemePlan, checked_scale, runge_kutta_plan
from saltus.schemes.traits import FLYING
from saltus.tables.tableau import tableau

EVENT_METHODS = ("dop853", "dopri5", "radau5")


@dataclasses.dataclass(frozen=True)
class EventDriven:
    """Event-driven integration with error control, for any number of contacts, joints, friction and user events.

    The tolerance holds for a step, not for a run: mean errors of q, v and impulses stay below some 30 times tol (1 +
    their size), up to some hundred impacts. Over more they add up, with the square of the number of impacts where no
    energy is lost: thousands of tolerances after 1000 impacts, `sol.message` says how many they may be. `HpTDG` keeps
    them below tol.
    Where something rubs, kinetic energy and work agree to a tenth of rtol of the energy that was moved.

    Parameters
    ----------
    rtol, atol
        Tolerance of a step, relative to the coordinates and velocities and absolute (in their units). Impulses of
        contacts that are held count by the velocity that they would give.
    method
        Runge-Kutta method of the smooth phases: "dop853" (order 8) or "dopri5" (order 5), explicit, or "radau5" (order
        5), implicit, for stiff forces. None takes "radau5" where a contact rubs in two directions, because friction
        turns a slow slip faster than explicit steps can follow, and "dop853" elsewhere.
    closed_tolerance
        Gap [m] up to which contacts are closed together; None takes a thousandth of atol, 1e-13 at least, times
        the scale of q.
    rest_tolerance
        Speed [m/s] below which an approach is no impact and a slip none; None takes what changes velocities,
        positions over the span and impulses by a tenth of atol at most. Rounding of the motion counts as rest always.
    zeno_speed
        Bounces slower than this [m/s] are followed to their accumulation with frozen coefficients; None follows
        those whose height, velocities and impulses, over the span, are a small share of atol. 0 never does.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    projection_tolerance
        Largest gap [m] of held contacts and joints, relative to 1 m plus the largest coordinate.
    scale
        What `atol` is a share of, in units of q: a number, or one per coordinate. The velocity scale is then the scale
        over the span [1/s of it], the impulse scale the impulse that changes some velocity by that much. None takes 1
        for coordinates, velocities and impulses alike, whatever their units.
    """

    rtol: float = 1e-8
    atol: float = 1e-8
    method: str | None = None
    closed_tolerance: float | None = None
    rest_tolerance: float | None = None
    zeno_speed: float | None = None
    solver: object | None = None
    projection_tolerance: float = 1e-14
    scale: float | tuple[float, ...] | None = None

    name = "event-driven"
    traits = dataclasses.replace(FLYING, controlled_impacts=100)

    def __post_init__(self):
        for field in ("rtol", "atol"):
            value = getattr(self, field)
            if not isinstance(value, numbers.Real) or not 0.0 < float(value) < np.inf:
                raise SettingError(f"{field} of EventDriven is {value!r}: it must be a positive number")
        if self.rtol < 1e-15:
            raise SettingError(f"rtol of EventDriven is {self.rtol}: below rounding, take 1e-14 or more")
        if self.method is not None and self.method not in EVENT_METHODS:
            one = ", ".join(map(repr, EVENT_METHODS))
            raise SettingError(f"method of EventDriven is {self.method!r}: it must be one of {one}")
        for field in ("closed_tolerance", "rest_tolerance", "zeno_speed"):
            value = getattr(self, field)
            if value is not None and (not isinstance(value, numbers.Real) or not 0.0 <= float(value) < np.inf):
                raise SettingError(f"{field} of EventDriven is {value!r}: it must be None, zero or more")
        if not isinstance(self.projection_tolerance, numbers.Real) or not self.projection_tolerance > 0.0:
            raise SettingError(
                f"projection_tolerance of EventDriven is {self.projection_tolerance!r}: it must be positive"
            )
        if self.solver is not None and (isinstance(self.solver, type) or not hasattr(self.solver, "room")):
            raise SettingError(
                f"solver of EventDriven is {self.solver!r}, not a contact solver: give one such as NSGS()"
            )

        object.__setattr__(self, "scale", checked_scale(self.scale))

    def with_scale(self, scale) -> EventDriven:
        """Return the same scheme with another scale."""
        return dataclasses.replace(self, scale=checked_scale(scale))

    def with_tolerance(self, rtol, atol) -> EventDriven:
        """Return the same scheme with other tolerances; None keeps one."""
        given = {"rtol": rtol, "atol": atol}
        return dataclasses.replace(self, **{name: value for name, value in given.items() if value is not None})

    def control(self) -> Adaptive:
        """Return the control that goes with the scheme."""
        return Adaptive()

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        method = self.method or ("radau5" if friction_rows(layout) > 1 else "dop853")
        return runge_kutta_plan(
            self, layout, method, estimates=True, zeno=self.zeno_speed, rtol=self.rtol, atol=self.atol,
            newton_tolerance=max(1e-3 * self.rtol, 1e-14), scale=self.scale,
        )  # fmt: skip

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside of steps by the dense output of the pair."""
        return interpolate([tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")], s, h, start, end, block, side)

    def reaction(self, s, h, block, rows, side):
        """Return the contact forces and their integral inside of steps."""
        return reaction([tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")], s, h, block, rows, side)

    def acceleration(self, s, h, block, side):
        """Return v_dot inside of steps, the piece of the step that it belongs to, and the duration of the piece."""
        return acceleration([tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")], s, h, block, side)
