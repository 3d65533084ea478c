"""The plan of TDGMinus and TDGPlus: their step with its sizes."""

from __future__ import annotations

import numpy as np

from saltus.lasting.interval import solve_interval
from saltus.lasting.settle import settle
from saltus.memory.layout import NC, NR
from saltus.schemes.plan import SchemePlan, chosen_solver, reaction_plan
from saltus.schemes.tdg.settings import GalerkinSettings
from saltus.schemes.tdg.step import DENSE_HEADER, EVENTS, MEMORY, MOST_PIECES, WORK, galerkin, piece_size


def galerkin_plan(scheme: GalerkinSettings, layout: np.ndarray) -> SchemePlan:
    """Return the plan of a time-discontinuous Galerkin scheme."""
    contact_solver = chosen_solver(scheme.solver, layout)
    settings, sizes = scheme.sizes(layout, contact_solver)
    # whatever activates contacts: an interval whose equations stall is made of shorter pieces too
    pieces = MOST_PIECES if scheme.split and layout[NC] else 1
    return SchemePlan(
        scheme=scheme,  # type: ignore[arg-type]  # the subclasses have `plan`
        step=galerkin,
        settings=settings,
        inner=reaction_plan(
            layout, contact_solver, drift=False, interval=solve_interval, settle=settle, name=type(scheme).__name__
        ),
        memory=MEMORY.plan(sizes),
        work=WORK.plan(sizes),
        dense=DENSE_HEADER + pieces * piece_size(layout, sizes["largest"]) + 2 * int(layout[NR]),
        events=(EVENTS * int(layout[NC]) + 1) * pieces,
    )
