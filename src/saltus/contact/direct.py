"""Direct: the exact solution of a problem with one contact, by the local law alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from saltus.compile.seam import unit
from saltus.compile.types import SOLVE
from saltus.compile.workspace import RoomPlan, Workspace
from saltus.contact.problem import ContactProblem, ContactResult, run
from saltus.errors import SettingError
from saltus.laws import LOCAL_ROOM, MOST_ROWS
from saltus.status import Status

WORK = Workspace("Direct", y="nv", D=f"{MOST_ROWS * MOST_ROWS}", P=f"{LOCAL_ROOM}")


@unit(SOLVE)
def direct(contacts, local, cone, settings, P, u, info, room):
    """Solve the only block; info: residual (left to the caller's certificate), 1."""
    rows, n = contacts.rows, contacts.b.shape[0]
    width, work = n if n > 3 else 3, WORK(room)
    y, D = work.y, work.D
    if contacts.mu.shape[0] != 1:
        return Status.CONTACT_UNSOLVABLE
    for c in range(n):
        for k in range(contacts.nv):
            y[k] = 0.0
        for k in range(rows[4 * c + 2], rows[4 * c + 3]):
            y[contacts.X_col[k]] = contacts.X[k]
        for r in range(n):
            total = 0.0
            for k in range(rows[4 * r], rows[4 * r + 1]):
                total += contacts.W[k] * y[contacts.W_col[k]]
            D[width * r + c] = total
    info[0], info[1] = 0.0, 1.0
    status = local(contacts.blocks[0], contacts.mu[0], D, contacts.b, work.P)
    for r in range(n):
        P[r] = work.P[r]
    return status


@dataclass(frozen=True)
class Direct:
    """Exact solution for systems with a single contact, frictional or not."""

    @property
    def name(self) -> str:
        return "Direct"

    @property
    def kernel(self):
        return direct

    def settings(self) -> np.ndarray:
        return np.zeros(1)

    def room(self, n: int, nb: int, nv: int) -> RoomPlan:
        return WORK.plan({"nv": nv})

    most_contacts = 1

    def supports(self, kind: int) -> bool:
        return True

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem of one block."""
        if len(problem.mu) != 1:
            raise SettingError(f"Direct solves one contact, not {len(problem.mu)}: use NSGS() or Lemke()")
        return run(self, problem, P0)
