"""Laws of impacts: one per file, and one line in `IMPACTS`.

An impact is a contact problem of all closed contacts, whose target holds what the law gives back. A file says

NAME, WORDS     what it is called, and how messages call it
reacting        the unit of type REACT that solves an impact
returned        the part of an approach that is in the target of its contact
strike          what else a contact that is struck writes to the target (not Newton's law)
room            the plan of what `reacting` works with beside the contact problem (only if it needs any)

and has its branches in the three units below, by which schemes meet the laws.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, A, F, I
from saltus.compile.workspace import Workspace
from saltus.memory.layout import Layout, sizes_of
from saltus.reaction.impacts import newton, poisson, tangential
from saltus.reaction.impacts.newton import returned as returned_by_newton
from saltus.reaction.impacts.poisson import strike as strike_by_poisson
from saltus.reaction.impacts.tangential import strike as strike_tangentially

IMPACT_FILES = (newton, tangential, poisson)  # by number


class _ImpactLaw(NamedTuple):
    """Laws of impacts by number."""

    newton: int = 0
    tangential: int = 1
    poisson: int = 2


IMPACT_LAW = _ImpactLaw()

NOTHING = Workspace("Nothing").plan({})


def impact_law(impact: str, tangential: bool) -> int:
    """Return the number of a law of impacts; tangential: whether some contact has e_t."""
    return IMPACT_LAW.poisson if impact == "poisson" else IMPACT_LAW.tangential if tangential else IMPACT_LAW.newton


def law_of(layout: Layout) -> ModuleType:
    """Return the law of impacts of a system."""
    return IMPACT_FILES[int(layout.impact_law)]


def reacting_sizes(layout: Layout, contact_solver) -> dict:
    """Return the sizes of a workspace in which contacts react, and those of the system."""
    sizes, law = sizes_of(layout), law_of(layout)
    room = law.room(sizes) if hasattr(law, "room") else NOTHING
    solver = contact_solver.room(sizes["nr"], sizes["nc"], sizes["nv"])
    return {**sizes, "solver": solver, "impact": room}


@unit(F(MODEL, I), small=True)
def returned(model, contact):
    """Return what part of an approach is in the target of its contact."""
    if model.layout.impact_law == IMPACT_LAW.poisson:
        return 0.0
    return returned_by_newton(model, contact)


@unit(I(MODEL, I, F, I, A, A), small=True)
def strike(model, contact, speed, struck, u, target):
    """Write what a law wants to know of an impact beside the part of the approach that is returned.

    in      speed: normal velocity that is restituted; struck: 1 where the contact is hit; u: row velocities before
    in/out  target
    """
    law = model.layout.impact_law
    if law == IMPACT_LAW.poisson:
        return strike_by_poisson(model, contact, speed, u, target)
    if law == IMPACT_LAW.tangential and struck == 1:
        return strike_tangentially(model, contact, 1.0, u, target)
    return 0


@unit(I(MODEL, I, F, I, A, A), small=True)
def restitute(model, contact, speed, struck, u, target):
    """Add restitution to the target of a contact; the one place where e and e_t enter an impact.

    in      speed: normal velocity that is restituted, 0 where nothing is; struck: 1 where the contact is hit, which
            lasting contacts are not; u: row velocities before the impact
    in/out  target: constants of the rows plus what the law returns; with Poisson's law the velocities that the impact
            begins with stand behind them, nr further
    """
    if model.layout.impact_law != IMPACT_LAW.poisson:
        target[model.layout[model.layout.contact_row + contact]] += returned_by_newton(model, contact) * speed
    return strike(model, contact, speed, struck, u, target)


@unit(I(MODEL, I, I, A, A), small=True)
def without_tangential(model, contact, struck, u, target):
    """Take tangential restitution off the target again: reports compare velocities without it."""
    if model.layout.impact_law == IMPACT_LAW.tangential and struck == 1:
        return strike_tangentially(model, contact, -1.0, u, target)
    return 0


@unit(I(MODEL), small=True)
def asks_who_is_struck(model):
    """Return whether the law treats contacts that are struck unlike those that last."""
    return 1 if model.layout.impact_law == IMPACT_LAW.tangential else 0
