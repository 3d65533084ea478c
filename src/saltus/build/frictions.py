"""Which law a contact has, and its tangential velocities in the units of that law (saltus/laws)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from saltus.errors import ModelError
from saltus.laws import LAW_NAMES, LAWS, ROLLING_SPATIAL, law_of_contact, units_of
from saltus.parameters import Values
from saltus.system import Contact, run_number


def kind_of(contact: Contact, slips: int, rolls: int, who: str) -> int:
    """Return the law, as a number, of a contact with so many rows of slip and of rolling."""
    numbers = len(contact.frictions) - (1 if contact.roll is not None else 0)
    found = law_of_contact(slips, rolls, numbers)
    if found == ROLLING_SPATIAL:
        raise ModelError(
            f"{who} rolls in space: rolling friction of two rows is solved in contact problems (ContactProblem), not "
            "yet in runs, which have it in the plane: a slip and a roll of one row each"
        )
    if found is None:
        raise ModelError(
            f"{who} has {slips} rows of slip, {rolls} of rolling and {numbers} numbers mu, which is no law: a pair mu "
            f"needs a slip of two rows, rolling a slip of one row; the laws are {', '.join(LAW_NAMES[1:])}"
        )
    return found


def has_units(kind: int) -> bool:
    """Tell whether a law has units of its own."""
    return hasattr(LAWS[kind], "units")


def friction_numbers(contact: Contact, values: Values | None) -> tuple[float, ...]:
    """Return mu, or the numbers of its law where that has several, in a run with these parameters."""
    return tuple(run_number(one, values) for one in contact.frictions)


def row_units(contact: Contact, kind: int, values: Values | None) -> np.ndarray:
    """Return what a unit of the impulses is in each row [N s or N m s], in a run with these parameters."""
    return units_of(kind, friction_numbers(contact, values))


def in_units(contact: Contact, kind: int) -> Callable:
    """Return a function of the tangential velocities of a contact, slip before rolling, in the units of its law."""
    slip, roll, numbers, factors = contact.slip, contact.roll, contact.frictions, LAWS[kind].units

    def scaled(t, q, v):
        rows = np.ravel(slip(t, q, v))  # type: ignore[misc]  # a law with units has a slip
        if roll is not None:
            rows = np.concatenate((rows, np.ravel(roll(t, q, v))))
        return [factor * row for factor, row in zip(factors(*numbers)[1:], rows, strict=True)]

    scaled.__wrapped__ = slip  # type: ignore[attr-defined]  # messages name the user's own
    return scaled
