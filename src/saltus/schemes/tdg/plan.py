"""The plan of TDGMinus and TDGPlus: their step with its sizes."""

from __future__ import annotations

from saltus.lasting.interval import solve_interval
from saltus.lasting.settle import settle
from saltus.memory.layout import Layout
from saltus.reaction.dense_block import block_size
from saltus.schemes.plan import SchemePlan, chosen_solver, reaction_plan
from saltus.schemes.tdg.settings import GalerkinSettings
from saltus.schemes.tdg.step import MEMORY, TDG_STEP, WORK, galerkin


def galerkin_plan(scheme: GalerkinSettings, layout: Layout) -> SchemePlan:
    """Return the plan of a time-discontinuous Galerkin scheme."""
    contact_solver = chosen_solver(scheme.solver, layout)
    settings, sizes = scheme.sizes(layout, contact_solver)
    # whatever activates contacts: an interval whose equations stall is made of shorter pieces too
    pieces = TDG_STEP.most_pieces if scheme.split and layout.nc else 1
    return SchemePlan(
        scheme=scheme,  # type: ignore[arg-type]  # the subclasses have `plan`
        step=galerkin,
        settings=settings,
        inner=reaction_plan(
            layout, contact_solver, drift=False, interval=solve_interval, settle=settle, name=type(scheme).__name__
        ),
        memory=MEMORY.plan(sizes),
        work=WORK.plan(sizes),
        dense=block_size(layout, pieces, sizes["largest"]),
        events=(TDG_STEP.events * int(layout.nc) + 1) * pieces,
    )
