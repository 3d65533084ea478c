"""HpTDG: time-discontinuous Galerkin intervals D- that choose their degree and length and end at events.

Intervals are solved as in TDGMinus and end at impacts, releases and changes between sticking and slipping, where they
are made again so that the gap closes at their end; so the order survives impacts. The jump of the velocity at the end
of an interval estimates its error, the decay of the stage polynomial chooses the next degree and length.
"""

from __future__ import annotations

import dataclasses
import functools
import numbers
from typing import Literal

import numpy as np

from saltus.control.grid import Grid
from saltus.control.proposed import Proposed
from saltus.errors import SettingError
from saltus.schemes.plan import SchemePlan, chosen_solver, flight_plan
from saltus.stages.dense import interpolate, reaction
from saltus.stages.tableau import NODES, tableau

HIGHEST = 16


@dataclasses.dataclass(frozen=True)
class HpTDG:
    """Intervals of any degree that end at events, with an error below the tolerance.

    Parameters
    ----------
    tol
        Tolerance: errors of q, v and i in the mean over time stay below tol times (1 + their size).
    nodes
        "lobatto" or "clenshaw-curtis".
    degree
        Fixed degree, 1 to 16, for equal steps h that are cut at events; None chooses degree and length.
    max_degree
        Highest degree that is chosen.
    closed_tolerance
        Gap [m] up to which contacts are closed together; None takes a millionth of tol, 2e-15 at least.
    rest_tolerance
        Speed [m/s] below which an approach is no impact; None takes tol, 1e-12 at least.
    zeno_speed
        Bounces slower than this [m/s] are followed to their accumulation with frozen coefficients; None takes
        sqrt(tol)/2. 0 never does.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    projection_tolerance
        Largest gap [m] of held contacts and joints, relative to 1 m plus the largest coordinate.
    """

    tol: float = 1e-6
    nodes: Literal["lobatto", "clenshaw-curtis"] = "lobatto"
    degree: int | None = None
    max_degree: int = 14
    closed_tolerance: float | None = None
    rest_tolerance: float | None = None
    zeno_speed: float | None = None
    solver: object | None = None
    projection_tolerance: float = 1e-14

    locates_events = True
    repeats_steps = True  # what its steps report is valid only if the control accepts it
    first_share = 0.05  # of the span: the first interval to try

    def __post_init__(self):
        if isinstance(self.tol, bool) or not isinstance(self.tol, numbers.Real) or not 1e-14 <= float(self.tol) < 1.0:
            raise SettingError(f"tol of HpTDG is {self.tol!r}: it must be a number between 1e-14 and 1, like 1e-8")
        if self.nodes not in NODES:
            raise SettingError(f"nodes of HpTDG is {self.nodes!r}: it must be one of {', '.join(map(repr, NODES))}")
        for field in ("degree", "max_degree"):
            value = getattr(self, field)
            if field == "degree" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 1 <= int(value) <= HIGHEST:
                raise SettingError(f"{field} of HpTDG is {value!r}: it must be a whole number, 1 to {HIGHEST}")
        for field in ("closed_tolerance", "rest_tolerance", "zeno_speed"):
            value = getattr(self, field)
            number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if value is not None and (not number or not 0.0 <= float(value) < np.inf):
                raise SettingError(f"{field} of HpTDG is {value!r}: it must be None, zero or more")
        if not isinstance(self.projection_tolerance, numbers.Real) or not 0.0 < self.projection_tolerance < np.inf:
            raise SettingError(f"projection_tolerance of HpTDG is {self.projection_tolerance!r}: it must be positive")
        if self.solver is not None and (isinstance(self.solver, type) or not hasattr(self.solver, "work_size")):
            raise SettingError(f"solver of HpTDG is {self.solver!r}, not a contact solver: give one such as NSGS()")

    @property
    def name(self) -> str:
        return "hp-TDG" if self.degree is None else f"snapped D{self.degree}-"

    @property
    def adaptive(self) -> bool:
        """Whether the scheme chooses its steps."""
        return self.degree is None

    def with_tolerance(self, rtol, atol) -> HpTDG:
        """Return the same scheme with another tolerance, the smaller of both."""
        given = [value for value in (rtol, atol) if value is not None]
        if any(not isinstance(value, float) and np.ndim(value) != 0 for value in given):
            raise SettingError("HpTDG has one tolerance for everything: give tol, a number")
        return _with_tolerance(self, float(min(given))) if given else self

    def control(self) -> Proposed | Grid:
        """Return the control that goes with the scheme."""
        return Proposed() if self.adaptive else Grid()

    def plan(self, layout: np.ndarray) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        from saltus.stages.galerkin_flight import galerkin_flight

        contact_solver = chosen_solver(self.solver, layout)
        made = galerkin_flight(
            layout, contact_solver, tol=self.tol, nodes=self.nodes, degree=self.degree, top=self.max_degree,
            closed=max(1e-6 * self.tol, 2e-15) if self.closed_tolerance is None else self.closed_tolerance,
            rest=max(self.tol, 1e-12) if self.rest_tolerance is None else self.rest_tolerance,
            zeno=0.5 * float(np.sqrt(self.tol)) if self.zeno_speed is None else self.zeno_speed,
            projection_tolerance=self.projection_tolerance,
        )  # fmt: skip
        return flight_plan(self, layout, contact_solver, made)

    def _tableaux(self) -> list:
        # flights hand on polynomials of a degree higher by two, and of degree one where they stand
        degrees = range(3, self.max_degree + 3) if self.degree is None else [self.degree + 2]
        return [tableau(degree, "-", self.nodes) for degree in (1, *degrees)]

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside of intervals: v integrates the polynomial of the accelerations, q integrates v."""
        return interpolate(self._tableaux(), s, h, start, end, block, side)

    def reaction(self, s, h, block, rows, side):
        """Return the polynomial of the stage forces and its integral inside of intervals."""
        return reaction(self._tableaux(), s, h, block, rows, side)


@functools.lru_cache(maxsize=256)
def _with_tolerance(scheme: HpTDG, tol: float) -> HpTDG:
    """Return the scheme with another tolerance; remembered, because a short run takes little longer than the checks."""
    return dataclasses.replace(scheme, tol=tol)
