"""Newton's law of impacts: u_N+ = -e u_N- where the contact pushes, nothing of the tangential velocity comes back."""

from __future__ import annotations

from typing import Any

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, F, I

NAME, WORDS = "newton", "Newton's law of impacts (impact='newton')"


def reacting() -> Any:
    """Return the unit that solves an impact: one contact problem with restitution in its target."""
    from saltus.reaction.react import react

    return react


@unit(F(MODEL, I), inline="always")
def returned(model, contact):
    """Return what part of its approach is in the target of a contact."""
    return model.e[contact]
