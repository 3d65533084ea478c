"""Rehearsal: one step made again as plain Python, where somebody may listen to the contact problems that it solves.

A failed step is made again to see which function or contact fails (explain.py), a stored one to see its problems
(met_problems.py). Contact solvers stay compiled: interpreted sweeps take minutes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.compile.seam import interpreted
from saltus.compile.types import State
from saltus.contact.problem import compiled
from saltus.schemes.plan import SchemePlan

if TYPE_CHECKING:
    from saltus.build.model import AbsentModel, CompiledModel

Listener = Callable[..., None]


class Rehearsal:
    """Buffers for steps of a scheme that are made as plain Python, with the user's functions called directly."""

    def __init__(self, model: CompiledModel | AbsentModel, plan: SchemePlan):
        self.model, self.plan, self.scheme = model, plan, plan.interpreted()
        self.settings = self.scheme.settings.copy()  # some schemes learn
        self.work = plan.work.allocate()

    def step(self, t: float, h: float, state: State) -> tuple[int, State, Any]:
        """Make one step; return its status, the state behind it and the header of its record."""
        layout = self.model.layout
        new, record = self.plan.state(layout).record, self.plan.record(layout).record
        with np.errstate(all="ignore"):
            status = self.scheme.step(
                self.model.interpreted(), self.scheme.inner, self.settings, t, h, state, new, record, self.work
            )
        return int(status), new, record.header


def listening(
    plan: SchemePlan, solved: Listener, joined: Listener | None = None, reacting: Listener | None = None
) -> SchemePlan:
    """Return a plan whose rehearsal tells of its contact problems.

    solved(contacts, P, status) is called behind every contact problem; joined(W_joint, v, target, room, status) behind
    every elimination of joints, with the velocity before it; reacting(active) before the problems of one reaction on
    velocity level, and reacting(None) behind them.
    """
    if isinstance(plan.inner, SchemePlan):
        return dataclasses.replace(plan, inner=listening(plan.inner, solved, joined, reacting))
    inner = plan.inner
    kernel, eliminate = compiled(inner.solver), interpreted(inner.solver.joints)
    plain_react = interpreted(inner.react)

    def solve(contacts, local, cone, settings, P, u, info, room):
        status = kernel(contacts, local, cone, settings, P, u, info, room)
        solved(contacts, P, status)
        return status

    def joints(model, lu, W, W_joint, target, n, v, P, room):
        v_before = v.copy()
        status = eliminate(model, lu, W, W_joint, target, n, v, P, room)
        if joined is not None:
            joined(W_joint, v_before, target, room, status)
        return status

    def react(model, solver, lu, directions, target, active, *others):
        if reacting is not None:
            reacting(active)
        try:
            return plain_react(model, solver, lu, directions, target, active, *others)
        finally:
            if reacting is not None:
                reacting(None)

    return dataclasses.replace(
        plan, inner=inner._replace(solver=inner.solver._replace(solve=solve, joints=joints), react=react)
    )
