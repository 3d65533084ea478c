"""Bilateral law: the row is held (joint, glued contact). Set: the whole line; law: u = 0, P free."""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import A, F, I
from saltus.status import Status

KIND, ROWS, NAME = 0, 1, "bilateral"
KERNEL, AXES, FRICTIONS, NUMBERS = KIND, ("N",), (), ()


@unit(I(F, A), inline="always")
def project(mu, P):
    """Project P onto the line: nothing to do."""
    return 0


@unit(I(F, A, A, A), inline="always")
def solve(mu, D, b, P):
    """Find P with D P + b = 0."""
    P[0] = 0.0
    if b[0] == 0.0:
        return 0
    if D[0] == 0.0:
        return Status.CONTACT_UNSOLVABLE
    P[0] = -b[0] / D[0]
    return 0
