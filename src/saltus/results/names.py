"""Coordinates, velocities and forces of a run by name, with their units."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from saltus.errors import SettingError

if TYPE_CHECKING:
    from saltus.solution import Solution

FORCE_UNITS = {"R": "N m"}  # of the rows of a contact; all others are forces
MOST_NAMED = 12  # names that a message lists


@dataclasses.dataclass(frozen=True)
class Quantity:
    """One column of a run: kind ("q", "v" or "r", a contact force), its number, its name and its unit."""

    kind: Literal["q", "v", "r"]
    column: int
    name: str
    units: str


def coordinate_names(system: Any, nq: int) -> tuple[str, ...]:
    """Return the names of the coordinates: those of the system, or q[0], q[1], ..."""
    return system.coordinates or tuple(f"q[{j}]" for j in range(nq))


def coordinate_units(system: Any, nq: int) -> tuple[str, ...]:
    """Return the units of the coordinates; empty texts where nobody gave them."""
    return system.units or ("",) * nq


def velocity_names(system: Any, nq: int, nv: int) -> tuple[str, ...]:
    """Return the names of the velocities: x_dot for a coordinate x; v[0], v[1], ... where they are no rates of them."""
    if not system.coordinates or not system.rate_is_velocity:
        return tuple(f"v[{j}]" for j in range(nv))
    return tuple(f"{name}_dot" for name in system.coordinates)


def velocity_units(system: Any, nq: int, nv: int) -> tuple[str, ...]:
    """Return the units of the velocities; empty texts where nobody gave units of the coordinates."""
    if not system.units or not system.rate_is_velocity:
        return ("",) * nv
    return tuple(f"{unit}/s" if unit else "" for unit in system.units)


def columns_of(solution: Solution) -> tuple[Quantity, ...]:
    """Return every column of a run that has a name."""
    system, nq, nv = solution.system, solution.q.shape[1], solution.v.shape[1]
    places = zip(coordinate_names(system, nq), coordinate_units(system, nq), strict=True)
    speeds = zip(velocity_names(system, nq, nv), velocity_units(system, nq, nv), strict=True)
    return (
        *(Quantity("q", j, name, units) for j, (name, units) in enumerate(places)),
        *(Quantity("v", j, name, units) for j, (name, units) in enumerate(speeds)),
        *(
            Quantity("r", j, f"{name} {axis}", FORCE_UNITS.get(axis, "N"))
            for j, (name, axis) in enumerate(solution.rows)
        ),
    )


def column_of(solution: Solution, x: Any) -> Quantity:
    """Return the column that a name means, or a number among the coordinates.

    A coordinate x, its velocity x_dot, a row of a contact ("floor N", "floor T"), a contact for its normal force; q[0]
    and v[0] always work.
    """
    known = columns_of(solution)
    if isinstance(x, int | np.integer) and not isinstance(x, bool):
        nq = solution.q.shape[1]
        if not -nq <= x < nq:
            raise SettingError(f"there is no coordinate {x}: they are numbered from 0 to {nq - 1}")
        return known[x % nq]
    for one in known:
        if x in (one.name, f"{one.kind}[{one.column}]") and not (one.kind == "r" and x != one.name):
            return one
    if x in solution.system.contact_names:
        return next(one for one in known if one.name == f"{x} N")
    listed = ", ".join(repr(one.name) for one in known[:MOST_NAMED]) + (", ..." if len(known) > MOST_NAMED else "")
    raise SettingError(f"there is no column {x!r}: a coordinate, its velocity or a contact row is one of {listed}")
