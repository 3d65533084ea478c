"""The settings that TDGMinus and TDGPlus share, their check, and the numbers that kernels make of them."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from saltus.errors import SettingError
from saltus.flight.dense import interpolate, interpolate_stages, reaction
from saltus.lasting.border import BY
from saltus.lasting.interval import INTERVAL_TUNED, STAGE_SETTINGS, interval_sizes
from saltus.laws import friction_rows
from saltus.memory.layout import F_FREE, Layout
from saltus.schemes.plan import check_numbers
from saltus.schemes.traits import Traits
from saltus.tables.tableau import NODE_FAMILIES, TABLEAU, WEIGHTINGS, Family, Tableau, packed, tableau

RESTITUTION_LAWS = {"rest": BY.rest, "previous": BY.previous, "left": BY.left}
TDG_CHOICES = {
    "nodes": NODE_FAMILIES,
    "impact": tuple(RESTITUTION_LAWS),
    "activation": ("interval", "stage"),
    "level": ("acceleration", "velocity"),
    "weighting": WEIGHTINGS,
    "between": ("accelerations", "velocities"),
}
# what the source says and the defaults do not
SOURCE = {"impact": "left", "activation": "stage", "projection": False, "split": False, "between": "velocities"}


PARAMETERS = """
    Parameters
    ----------
    degree
        Degree M of the velocity in an interval, 0 to 12, or a list of degrees, one for every interval of the run.
    nodes
        "clenshaw-curtis" (as in the source; order M + 1 for odd, M + 2 for even M >= 2) or "lobatto" (order 2 M).
    impact
        Newton's law at the end of an interval, 0 <= u_plus + e u: "left" with u = u_minus, "rest" the same but plastic
        where a body would be back within the interval, so that it comes to rest, "previous" with u at the
        beginning of the interval. Degree 0 takes "previous" for "rest".
    activation
        "interval": the index set is decided at the borders by the contact law on acceleration level and frozen
        between them. "stage": every stage decides for itself, g <= closed_tolerance and u_N <= rest_tolerance.
    projection
        Whether positions and velocities are put back onto joints and lasting contacts at the end of an interval.
    closed_tolerance
        Gap [m] up to which a contact is closed.
    solver
        Contact solver; None takes Direct for a single contact, Portfolio with friction, Lemke otherwise.
    split
        Whether an interval is split where a lasting contact lets go, or changes between sticking and slipping; without,
        these wait for the next border and cost the order. Only with activation="interval".
    level
        "acceleration": contacts and joints are held at the stages on acceleration level. "velocity": on velocity level.
    weighting
        "reduced" evaluates the weighting integrals at the nodes, as the source recommends; "exact" integrates those of
        velocities and positions, "galerkin" those of the accelerations too. "exact" equals "reduced" for Lobatto
        nodes and for degrees up to 2; for Clenshaw-Curtis nodes of higher degree it costs an order or more.
    between
        What is seen between the grid points: "accelerations" integrates the polynomial of the stage accelerations, one
        order better; "velocities" is v^h of the source, the polynomial of degree M through the stage velocities, with
        the jump that it has at a border even without an impact.
    rest_tolerance
        Normal and slip velocities [m/s] up to which a contact counts as resting, or as not slipping.
    projection_tolerance
        Largest gap [m] left by the projection, relative to 1 m plus the largest coordinate.
    newton_tolerance
        Relative change of the stage velocities at which the stage equations count as solved.
    max_iterations
        Most iterations per interval; a step that needs more fails.
    """


@dataclasses.dataclass(frozen=True)
class GalerkinSettings:
    """Settings of the time-discontinuous Galerkin schemes; their meaning is in PARAMETERS."""

    degree: int | Sequence[int] = 1
    nodes: Literal["clenshaw-curtis", "lobatto"] = "clenshaw-curtis"
    impact: Literal["rest", "previous", "left"] = "rest"
    activation: Literal["interval", "stage"] = "interval"
    projection: bool = True
    closed_tolerance: float = 1e-10
    solver: object | None = None
    split: bool = True
    level: Literal["acceleration", "velocity"] = "acceleration"
    weighting: Literal["reduced", "exact"] = "reduced"
    between: Literal["accelerations", "velocities"] = dataclasses.field(default="accelerations", kw_only=True)
    rest_tolerance: float = 1e-9
    projection_tolerance: float = 1e-14
    newton_tolerance: float = 1e-14
    max_iterations: int = 50

    family: ClassVar[Family]
    PARAMETERS: ClassVar[str] = PARAMETERS

    def __post_init__(self):
        kind = type(self).__name__
        single = isinstance(self.degree, numbers.Integral) and not isinstance(self.degree, bool)
        degrees: Any = [self.degree] if single else self.degree
        if isinstance(degrees, str | numbers.Number) or np.ndim(degrees) != 1 or len(degrees) == 0:
            raise SettingError(f"degree of {kind} is {self.degree!r}: it must be a whole number or a list of them")
        for k, degree in enumerate(degrees):
            whole = isinstance(degree, numbers.Integral) and not isinstance(degree, bool)
            if not whole or not 0 <= int(degree) <= TABLEAU.highest:
                which = "degree" if single else f"degree[{k}]"
                raise SettingError(
                    f"{which} of {kind} is {degree!r}: it must be a whole number, 0 to {TABLEAU.highest}"
                )
        object.__setattr__(self, "degree", int(degrees[0]) if single else tuple(int(degree) for degree in degrees))
        for field, choices in TDG_CHOICES.items():
            if getattr(self, field) not in choices:
                one = ", ".join(map(repr, choices))
                raise SettingError(f"{field} of {kind} is {getattr(self, field)!r}: it must be one of {one}")
        check_numbers(self)
        if self.level == "velocity" and self.weighting == "galerkin":
            raise SettingError(f"level='velocity' of {kind} needs weighting='reduced' or 'exact', not 'galerkin'")
        if self.between == "velocities" and {0, 1} <= set(map(int, degrees)):
            raise SettingError(
                f"between of {kind} is 'velocities', which cannot tell intervals of degree 0 from those of degree 1: "
                "leave one of them out of the list"
            )

    @classmethod
    def published(cls, degree: int | Sequence[int] = 1, **settings: Any):
        """Return the scheme of the source: stages decide about their forces, u_minus is restituted, nothing is added.

        That is impact="left", activation="stage", projection=False, split=False, between="velocities"; further
        settings change the rest.
        """
        return cls(degree, **{**SOURCE, **settings})

    @property
    def name(self) -> str:
        degree = self.degree if isinstance(self.degree, int) else "M"
        return f"D{degree}{self.family}" + (" (Lobatto)" if self.nodes == "lobatto" else "")

    @property
    def traits(self) -> Traits:
        # a list of degrees belongs to one grid; v^h jumps at borders where states do not
        return Traits(fixed_step=not isinstance(self.degree, int), own_limits=self.between == "velocities")

    def tableaux(self) -> list[Tableau]:
        """Return the coefficients, one for every degree in the list."""
        degrees = [self.degree] if isinstance(self.degree, int) else self.degree
        return [
            tableau(degree, self.family, self.nodes, self.weighting, bool(getattr(self, "stiff", False)))
            for degree in degrees
        ]

    def sizes(self, layout: Layout, contact_solver) -> tuple[np.ndarray, dict[str, int]]:
        """Return the numbers of the kernel and the sizes of its workspace."""
        made = self.tableaux()
        n = max(one.stages for one in made)
        # friction in space turns with the slip: an implicit force even where all others are given
        spatial = friction_rows(layout) > 1
        newton = (spatial or not int(layout.features) & F_FREE) and n * int(layout.nv) <= INTERVAL_TUNED.largest_newton
        numbers_ = STAGE_SETTINGS.filled(
            closed=self.closed_tolerance, rest=self.rest_tolerance, by_stage=self.activation == "stage",
            project=self.projection, law=RESTITUTION_LAWS[self.impact], tolerance=self.newton_tolerance,
            most=self.max_iterations,
            projected=self.projection_tolerance, split=self.split, level=self.level == "velocity", newton=newton,
            reach_at=0.0,  # closed is what was asked for
        )  # fmt: skip
        different = {id(one): packed(one) for one in made}
        begin, places = STAGE_SETTINGS.size + 1 + len(made), {}
        for key, values in different.items():
            places[key] = begin
            begin += len(values)
        head = [len(made), *(places[id(one)] for one in made)]
        settings = np.concatenate([numbers_, head, *different.values()])
        return settings, interval_sizes(layout, contact_solver, n, bool(newton))

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside of steps; q integrates v, see `between`."""
        if self.between == "velocities":
            return interpolate_stages(self.tableaux(), s, h, start, end, block, side)
        return interpolate(self.tableaux(), s, h, start, end, block, side)

    def reaction(self, s, h, block, rows, side):
        """Return the polynomial of the stage forces and its integral inside of steps."""
        return reaction(self.tableaux(), s, h, block, rows, side)
