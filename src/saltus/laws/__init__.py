"""Contact laws: one per file, each a set with its projection and the exact solution of one block.

A law is a relation between the velocities u and the impulses P of one block of rows, a normal one and those of its
frictions: |P_f| <= mu P_N for every friction f, a group of one or two rows. Its file says

KIND, NAME   number and name, for contact problems
ROWS, AXES   how many rows it has, and how they are called
FRICTIONS    rows of each friction: () without, (1,) in the plane, (2,) in space, (1, 1) and (2, 2) sliding and rolling
NUMBERS      names of its friction numbers, of which the first is mu
units        what a unit of P is in each row, from these numbers by arithmetic alone (they may be parameters of a run);
             a file without it takes the rows as they are. In these units all frictions have the same bound mu P_N, and
             powers are the same
KERNEL       kind of the law that it is in these units: its own, or that of another file
project      P onto the set of admissible ones
solve        P of a block u = D P + b; D is as wide as there are rows, at least 3, and P has LOCAL_ROOM floats

and it is a line in `LAWS`; one with kernels of its own has a branch in the frictional bundle and in `ends`. There are
two bundles, because a run compiles what it uses: one for rows without friction, one for all laws.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from saltus.compile.seam import larger, unit
from saltus.compile.types import CONE, LOCAL, A, F, I
from saltus.errors import ModelError
from saltus.laws import (
    bilateral,
    coulomb_elliptic,
    coulomb_planar,
    coulomb_rolling,
    coulomb_spatial,
    rolling_spatial,
    unilateral,
)
from saltus.laws.bilateral import project as project_bilateral
from saltus.laws.bilateral import solve as solve_bilateral
from saltus.laws.coulomb_planar import project as project_planar
from saltus.laws.coulomb_planar import solve as solve_planar
from saltus.laws.coulomb_rolling import project as project_rolling
from saltus.laws.coulomb_rolling import solve as solve_rolling
from saltus.laws.coulomb_spatial import project as project_spatial
from saltus.laws.coulomb_spatial import solve as solve_spatial
from saltus.laws.rolling_spatial import project as project_rolling_spatial
from saltus.laws.rolling_spatial import solve as solve_rolling_spatial
from saltus.laws.unilateral import project as project_unilateral
from saltus.laws.unilateral import solve as solve_unilateral
from saltus.memory.layout import Layout

# by kind
LAWS = (bilateral, unilateral, coulomb_planar, coulomb_spatial, coulomb_elliptic, coulomb_rolling, rolling_spatial)
LAW_NAMES = tuple(law.NAME for law in LAWS)
ROWS_OF = tuple(law.ROWS for law in LAWS)
KERNELS = tuple(law.KERNEL for law in LAWS)
MOST_ROWS = 6  # of a block, for which kernels make room
LOCAL_ROOM = MOST_ROWS + rolling_spatial.SCRATCH  # floats that the solution P of one block takes, rows first
BILATERAL, UNILATERAL = bilateral.KIND, unilateral.KIND
COULOMB_PLANAR, COULOMB_SPATIAL = coulomb_planar.KIND, coulomb_spatial.KIND
COULOMB_ELLIPTIC, COULOMB_ROLLING = coulomb_elliptic.KIND, coulomb_rolling.KIND
ROLLING_SPATIAL = rolling_spatial.KIND


def units_of(kind: int, numbers: tuple[float, ...]) -> np.ndarray:
    """Return what a unit of P is in each row of a law with these friction numbers; refuse impossible ones."""
    law = LAWS[kind]
    if not hasattr(law, "units"):
        return np.ones(law.ROWS)
    if not all(number > 0.0 for number in numbers):
        said = ", ".join(f"{name} = {number}" for name, number in zip(law.NUMBERS, numbers, strict=True))
        raise ModelError(f"{said}: {law.NAME} needs positive friction numbers; leave the row without friction out")
    return np.array(law.units(*numbers))


def friction_rows(layout: Layout) -> int:
    """Return the most rows that a friction of a system has: 0 without any, 1 in the plane, 2 where it can turn."""
    kinds = layout[layout.kind : layout.kind + layout.nc]
    return max((rows for kind in kinds for rows in LAWS[kind].FRICTIONS), default=0)


def law_of_contact(slips: int, rolls: int, numbers: int) -> int | None:
    """Return the kind of a contact with so many rows of slip and of rolling and so many numbers mu, None without one.

    A slip without mu has one that is zero.
    """
    for law in LAWS[UNILATERAL:]:
        sliding, rolling = sum(law.FRICTIONS[:1]), sum(law.FRICTIONS[1:])
        if (sliding, rolling, len(law.NUMBERS) - len(law.FRICTIONS[1:])) == (slips, rolls, numbers if slips else 0):
            return law.KIND
    return None


@unit(I(I, I, I), inline="always")
def ends(kind, row, rows):
    """Return whether a row of a block, from 1 on, is the last one of its friction."""
    return row + 1 == rows or kind == COULOMB_ROLLING or (kind == ROLLING_SPATIAL and row == 2)


@unit(F(I, I, I, A), small=True)
def sliding(kind, first, rows, u):
    """Return the sum of the lengths of u over all frictions of a block: De Saxce's law adds mu times it to u_N."""
    total, square = 0.0, 0.0
    for r in range(1, rows):
        square += u[first + r] * u[first + r]
        if ends(kind, r, rows):
            total += sqrt(square)
            square = 0.0
    return total


@unit(F(I, I, I, A), small=True)
def hardest(kind, first, rows, P):
    """Return the largest length of P over all frictions of a block: mu P_N where one of them slips."""
    most, square = 0.0, 0.0
    for r in range(1, rows):
        square += P[first + r] * P[first + r]
        if ends(kind, r, rows):
            most = larger(most, sqrt(square))
            square = 0.0
    return most


@unit(LOCAL)
def frictionless_local(kind, mu, D, b, P):
    """Solve one block whose law is bilateral or unilateral, and return the status: for systems without friction.

    in      kind: law by its number; mu: not used; D, b: u = D P + b of this block
    out     P: the impulse that satisfies the law exactly
    """
    if kind == BILATERAL:
        return solve_bilateral(mu, D, b, P)
    return solve_unilateral(mu, D, b, P)


@unit(CONE)
def frictionless_cone(kind, mu, P):
    """Project the impulse of one block onto the set of its law, bilateral or unilateral; return 0.

    in/out  P: any number -> the nearest one that the law admits (P >= 0 of a contact, everything of a joint)
    """
    if kind == BILATERAL:
        return project_bilateral(mu, P)
    return project_unilateral(mu, P)


@unit(LOCAL)
def frictional_local(kind, mu, D, b, P):
    """Solve one block of any law, and return the status.

    in      kind: law by its number (KERNEL of its file); mu: in the units of the law; D, b: u = D P + b of this block,
            D as wide as the block has rows and at least 3
    out     P: impulses that satisfy the law exactly; behind its rows LOCAL_ROOM - rows floats to work in
    """
    if kind == COULOMB_SPATIAL:
        return solve_spatial(mu, D, b, P)
    if kind == COULOMB_PLANAR:
        return solve_planar(mu, D, b, P)
    if kind == COULOMB_ROLLING:
        return solve_rolling(mu, D, b, P)
    if kind == ROLLING_SPATIAL:
        return solve_rolling_spatial(mu, D, b, P)
    if kind == BILATERAL:
        return solve_bilateral(mu, D, b, P)
    return solve_unilateral(mu, D, b, P)


@unit(CONE)
def frictional_cone(kind, mu, P):
    """Project the impulses of one block onto the set of its law (|P_f| <= mu P_N for each friction); return 0.

    in/out  P: any impulses -> the nearest ones in the set, by Euclid's distance
    """
    if kind == COULOMB_SPATIAL:
        return project_spatial(mu, P)
    if kind == COULOMB_PLANAR:
        return project_planar(mu, P)
    if kind == COULOMB_ROLLING:
        return project_rolling(mu, P)
    if kind == ROLLING_SPATIAL:
        return project_rolling_spatial(mu, P)
    if kind == BILATERAL:
        return project_bilateral(mu, P)
    return project_unilateral(mu, P)
