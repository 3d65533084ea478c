"""Unilateral law (Signorini 1933, on velocities Moreau 1988). Set: P >= 0; law: 0 <= u, P >= 0, u P = 0.

Restitution is part of b: with Newton's law u = u_plus + e u_minus.
"""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import A, F, I
from saltus.status import Status

KIND, ROWS, NAME = 1, 1, "unilateral"
KERNEL, AXES, FRICTIONS, NUMBERS = KIND, ("N",), (), ()


@unit(I(F, A), inline="always")
def project(mu, P):
    """Project P onto P >= 0."""
    P[0] = max(P[0], 0.0)
    return 0


@unit(I(F, A, A, A), inline="always")
def solve(mu, D, b, P):
    """Find P >= 0 with u = D P + b >= 0 and u P = 0."""
    P[0] = 0.0
    if b[0] >= 0.0:
        return 0
    if not D[0] > 0.0:
        return Status.CONTACT_UNSOLVABLE
    P[0] = -b[0] / D[0]
    return 0
