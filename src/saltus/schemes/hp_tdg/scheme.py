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
from saltus.flight.dense import acceleration, interpolate, reaction
from saltus.memory.layout import Layout
from saltus.schemes.plan import SchemePlan, checked_scale, chosen_solver, flight_plan
from saltus.schemes.traits import FLYING, FLYING_ON_GRID, Traits
from saltus.tables.tableau import NODE_FAMILIES, tableau

HIGHEST_DEGREE = 16


CHOOSING = dataclasses.replace(FLYING, first_share=0.05)  # polynomials make the first interval a long one


@dataclasses.dataclass(frozen=True)
class HpTDG:
    """Intervals of any degree that end at events, with an error below the tolerance.

    Parameters
    ----------
    tol
        Tolerance: errors of q, v and i in the mean over time stay below tol times (1 + their size); see `scale`.
    nodes
        "lobatto" or "clenshaw-curtis".
    degree
        Fixed degree, 1 to 16, for equal steps h that are cut at events; None chooses degree and length.
    max_degree
        Highest degree that is chosen.
    closed_tolerance
        Gap [m] up to which contacts are closed together; None takes a millionth of tol, 1e-14 at least, times the
        scale of q.
    rest_tolerance
        Speed [m/s] below which an approach is no impact and a slip none; None takes what changes velocities,
        positions over the span and impulses by a tenth of tol at most. Rounding of the motion counts as rest always.
    zeno_speed
        Bounces slower than this [m/s] are followed to their accumulation with frozen coefficients; None follows
        those whose height, velocities and impulses, over the span, are a small share of tol. 0 never does.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    projection_tolerance
        Largest gap [m] of held contacts and joints, relative to 1 m plus the largest coordinate.
    scale
        What `tol` is a share of, in units of q: a number, or one per coordinate. The velocity scale is then the scale
        over the span [1/s of it], the impulse scale the impulse that changes some velocity by that much. None takes 1
        for coordinates, velocities and impulses alike, whatever their units.
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
    scale: float | tuple[float, ...] | None = None

    def __post_init__(self):
        if isinstance(self.tol, bool) or not isinstance(self.tol, numbers.Real) or not 1e-14 <= float(self.tol) < 1.0:
            raise SettingError(f"tol of HpTDG is {self.tol!r}: it must be a number between 1e-14 and 1, like 1e-8")
        if self.nodes not in NODE_FAMILIES:
            raise SettingError(
                f"nodes of HpTDG is {self.nodes!r}: it must be one of {', '.join(map(repr, NODE_FAMILIES))}"
            )
        for field in ("degree", "max_degree"):
            value = getattr(self, field)
            if field == "degree" and value is None:
                continue
            if (
                isinstance(value, bool)
                or not isinstance(value, numbers.Integral)
                or not 1 <= int(value) <= HIGHEST_DEGREE
            ):
                raise SettingError(f"{field} of HpTDG is {value!r}: it must be a whole number, 1 to {HIGHEST_DEGREE}")
        for field in ("closed_tolerance", "rest_tolerance", "zeno_speed"):
            value = getattr(self, field)
            number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if value is not None and (not number or not 0.0 <= float(value) < np.inf):
                raise SettingError(f"{field} of HpTDG is {value!r}: it must be None, zero or more")
        if not isinstance(self.projection_tolerance, numbers.Real) or not 0.0 < self.projection_tolerance < np.inf:
            raise SettingError(f"projection_tolerance of HpTDG is {self.projection_tolerance!r}: it must be positive")
        if self.solver is not None and (isinstance(self.solver, type) or not hasattr(self.solver, "room")):
            raise SettingError(f"solver of HpTDG is {self.solver!r}, not a contact solver: give one such as NSGS()")

        object.__setattr__(self, "scale", checked_scale(self.scale))

    @property
    def name(self) -> str:
        return "hp-TDG" if self.degree is None else f"snapped D{self.degree}-"

    @property
    def promised(self) -> float | None:
        """The tolerance that the whole run keeps; None for steps of one degree, which promise nothing."""
        return self.tol if self.degree is None else None

    @property
    def traits(self) -> Traits:
        return CHOOSING if self.degree is None else FLYING_ON_GRID

    def with_tolerance(self, rtol, atol) -> HpTDG:
        """Return the same scheme with another tolerance, the smaller of both."""
        given = [value for value in (rtol, atol) if value is not None]
        if any(not isinstance(value, float) and np.ndim(value) != 0 for value in given):
            raise SettingError("HpTDG has one tolerance for everything: give tol, a number")
        return _with_tolerance(self, float(min(given))) if given else self

    def with_scale(self, scale) -> HpTDG:
        """Return the same scheme with another scale."""
        return dataclasses.replace(self, scale=checked_scale(scale))

    def control(self) -> Proposed | Grid:
        """Return the control that goes with the scheme."""
        return Proposed() if self.traits.adaptive else Grid()

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        from saltus.flight.promise import Promise
        from saltus.schemes.hp_tdg.flight import galerkin_flight

        contact_solver = chosen_solver(self.solver, layout)
        made = galerkin_flight(
            layout, contact_solver, tol=self.tol, nodes=self.nodes, degree=self.degree, top=self.max_degree,
            zeno=self.zeno_speed, projection_tolerance=self.projection_tolerance,
        )  # fmt: skip
        promise = Promise(
            self.tol, self.closed_tolerance, self.rest_tolerance, (1e-6, 1e-14), lasting=True, scale=self.scale
        )
        return flight_plan(self, layout, contact_solver, made, promise)

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

    def acceleration(self, s, h, block, side):
        """Return v_dot inside of steps, the piece of the step that it belongs to, and the duration of the piece."""
        return acceleration(self._tableaux(), s, h, block, side)


@functools.lru_cache(maxsize=256)
def _with_tolerance(scheme: HpTDG, tol: float) -> HpTDG:
    """Return the scheme with another tolerance; remembered, because a short run takes little longer than the checks."""
    return dataclasses.replace(scheme, tol=tol)
