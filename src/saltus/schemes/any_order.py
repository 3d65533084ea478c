"""AnyOrder: schemes of any order through impacts by Mannshardt's principle (Mannshardt 1978; Acary, lecture 2010).

Smooth motion by a Runge-Kutta method of order p; an impact is located in an interval of length C h^(p+1), over which a
step of Moreau is made, and the rest of the step goes on in the same way (eqs. 76-82). Closed contacts and joints are
held at the stages on acceleration level, curvature included (eq. 79).
"""

from __future__ import annotations

import dataclasses
import numbers

import numpy as np

from saltus.control.adaptive import Adaptive
from saltus.control.grid import Grid
from saltus.errors import SettingError
from saltus.flight.dense import acceleration, interpolate, reaction, window_start
from saltus.flight.packed_methods import ALL_METHODS, packed_method
from saltus.flight.smooth_step import PACKED_TABLE, SMOOTH_STEP
from saltus.memory.layout import Layout
from saltus.schemes.plan import SchemePlan, runge_kutta_plan
from saltus.schemes.traits import FLYING, FLYING_ON_GRID, Traits
from saltus.tables.runge_kutta import table
from saltus.tables.tableau import tableau

TOLERANCE_SHARE = (
    0.1  # of the tolerance, for each step and window: errors of many add up, and estimates see little of a jump
)


@dataclasses.dataclass(frozen=True)
class AnyOrder:
    """Runge-Kutta steps with Moreau's step where an impact lies; of the order p of its base in the positions.

    With a step size h the steps keep their grid. With tolerances (or `solve(..., tol=...)`) bases that estimate their
    error choose their steps.

    Parameters
    ----------
    base
        Runge-Kutta method: explicit "heun" (order 2), "kutta3", "rk4", "rkf45" (5), "dopri5", "dop853" (8), or
        implicit "radau3", "radau5", "lobatto3a" (4), "lobatto3c" (4), "lobatto3c2" (2).
    C
        Length of the interval in which an impact is located, over h^(p+1) [s^-p]. It couples the steps of impacts to
        those of smooth motion.
    anticipation
        Whether steps end where the gap is forecast to close (gap, its rate and its acceleration now), so that impacts
        are approached from one side; without, the step is made in full and the closing located on its polynomial.
    rtol, atol
        Tolerance of the run, relative and absolute (in units of q and v), of which a step may err by a tenth; None
        keeps equal steps.
    closed_tolerance
        Gap [m] up to which contacts are closed together.
    rest_tolerance
        Speed [m/s] below which an approach is no impact.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    projection_tolerance
        Largest gap [m] of held contacts and joints, relative to 1 m plus the largest coordinate.
    newton_tolerance
        Relative change of the stage velocities at which the equations of implicit bases count as solved.
    """

    base: str = "dopri5"
    C: float = 1.0
    anticipation: bool = False
    rtol: float | None = dataclasses.field(default=None, kw_only=True)
    atol: float | None = dataclasses.field(default=None, kw_only=True)
    closed_tolerance: float = 1e-14
    rest_tolerance: float = 1e-12
    solver: object | None = None
    projection_tolerance: float = 1e-14
    newton_tolerance: float = 1e-14

    def __post_init__(self):
        if self.base not in ALL_METHODS:
            one = ", ".join(map(repr, ALL_METHODS))
            raise SettingError(f"base of AnyOrder is {self.base!r}: it must be one of {one}")
        for field in ("C", "projection_tolerance", "newton_tolerance"):
            value = getattr(self, field)
            if not isinstance(value, numbers.Real) or not 0.0 < float(value) < np.inf:
                raise SettingError(f"{field} of AnyOrder is {value!r}: it must be a positive number")
        for field in ("closed_tolerance", "rest_tolerance"):
            value = getattr(self, field)
            if not isinstance(value, numbers.Real) or not 0.0 <= float(value) < np.inf:
                raise SettingError(f"{field} of AnyOrder is {value!r}: it must be zero or a little more")
        if not isinstance(self.anticipation, bool | np.bool_):
            raise SettingError(f"anticipation of AnyOrder is {self.anticipation!r}: it must be True or False")
        if self.solver is not None and (isinstance(self.solver, type) or not hasattr(self.solver, "room")):
            raise SettingError(f"solver of AnyOrder is {self.solver!r}, not a contact solver: give one such as NSGS()")
        if (self.rtol is None) != (self.atol is None):
            known = {"rtol": self.rtol, "atol": self.atol}
            missing = next(name for name, value in known.items() if value is None)
            raise SettingError(f"{missing} of AnyOrder is missing: give both rtol and atol, or tol to solve()")
        for field in ("rtol", "atol"):
            value = getattr(self, field)
            if value is not None and (not isinstance(value, numbers.Real) or not 1e-15 <= float(value) < np.inf):
                raise SettingError(f"{field} of AnyOrder is {value!r}: it must be a number of 1e-15 or more")
        if self.traits.adaptive and not self._estimates:
            raise SettingError(
                f"base {self.base!r} of AnyOrder estimates no error, so that it cannot follow tolerances: take "
                f"'rkf45', 'dopri5', 'dop853' or 'radau5', or give h alone"
            )

    @property
    def name(self) -> str:
        return f"any order ({self.base})"

    @property
    def order(self) -> int:
        """Order of the base, and of the positions through impacts."""
        return table(self.base).order

    @property
    def traits(self) -> Traits:
        return FLYING_ON_GRID if self.rtol is None else FLYING

    @property
    def _estimates(self) -> bool:
        pair = packed_method(self.base)
        total = int(pair[PACKED_TABLE.stages])
        begin = PACKED_TABLE.head + total + total * total
        return self.base == "radau5" or bool(np.any(pair[begin : begin + total]))

    def with_tolerance(self, rtol, atol) -> AnyOrder:
        """Return the same scheme with other tolerances; None keeps one, or takes the other."""
        rtol = rtol if rtol is not None else self.rtol if self.rtol is not None else atol
        atol = atol if atol is not None else self.atol if self.atol is not None else rtol
        return dataclasses.replace(self, rtol=rtol, atol=atol)

    def control(self) -> Adaptive | Grid:
        """Return the control that goes with the scheme."""
        return Adaptive() if self.traits.adaptive else Grid()

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        # without tolerances nothing is scaled, but the drift of what is held has its bound
        rtol, atol = (1e-6, 1e-6)
        if self.rtol is not None and self.atol is not None:
            rtol, atol = TOLERANCE_SHARE * self.rtol, TOLERANCE_SHARE * self.atol
        window = (atol, 0.0) if self.traits.adaptive else (float(self.C), self.order + 1.0)
        return runge_kutta_plan(
            self, layout, self.base, estimates=self.traits.adaptive, zeno=0.0, rtol=rtol, atol=atol,
            newton_tolerance=self.newton_tolerance, window=window, anticipates=self.anticipation,
        )  # fmt: skip

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside of steps by the dense output of the base."""
        return interpolate([tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")], s, h, start, end, block, side)

    def window_start(self, block, t_end, h):
        """Return where the intervals of impacts begin that steps end with, see Solution.windows."""
        return window_start(block, t_end, h)

    def reaction(self, s, h, block, rows, side):
        """Return the contact forces and their integral inside of steps."""
        return reaction([tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")], s, h, block, rows, side)

    def acceleration(self, s, h, block, side):
        """Return v_dot inside of steps, the piece of the step that it belongs to, and the duration of the piece."""
        return acceleration([tableau(SMOOTH_STEP.nodes - 1, "-", "lobatto")], s, h, block, side)
