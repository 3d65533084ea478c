"""Contact laws: one per file, each a set with its projection and the exact solution of one block.

A law is a line in `LAWS` and a branch in the frictional bundle. There are two bundles, because a run compiles
what it uses: one for rows without friction, one for all laws.
"""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import CONE, LOCAL
from saltus.laws import bilateral, coulomb_planar, coulomb_spatial, unilateral
from saltus.laws.bilateral import project as project_bilateral
from saltus.laws.bilateral import solve as solve_bilateral
from saltus.laws.coulomb_planar import project as project_planar
from saltus.laws.coulomb_planar import solve as solve_planar
from saltus.laws.coulomb_spatial import project as project_spatial
from saltus.laws.coulomb_spatial import solve as solve_spatial
from saltus.laws.unilateral import project as project_unilateral
from saltus.laws.unilateral import solve as solve_unilateral

LAWS = (bilateral, unilateral, coulomb_planar, coulomb_spatial)  # by kind
NAMES = tuple(law.NAME for law in LAWS)
ROWS = tuple(law.ROWS for law in LAWS)
BILATERAL, UNILATERAL = bilateral.KIND, unilateral.KIND
COULOMB_PLANAR, COULOMB_SPATIAL = coulomb_planar.KIND, coulomb_spatial.KIND


@unit(LOCAL)
def frictionless_local(kind, mu, D, b, P):
    """Solve one block whose law is bilateral or unilateral."""
    if kind == BILATERAL:
        return solve_bilateral(mu, D, b, P)
    return solve_unilateral(mu, D, b, P)


@unit(CONE)
def frictionless_cone(kind, mu, P):
    """Project one block whose law is bilateral or unilateral."""
    if kind == BILATERAL:
        return project_bilateral(mu, P)
    return project_unilateral(mu, P)


@unit(LOCAL)
def frictional_local(kind, mu, D, b, P):
    """Solve one block of any law."""
    if kind == COULOMB_SPATIAL:
        return solve_spatial(mu, D, b, P)
    if kind == COULOMB_PLANAR:
        return solve_planar(mu, D, b, P)
    if kind == BILATERAL:
        return solve_bilateral(mu, D, b, P)
    return solve_unilateral(mu, D, b, P)


@unit(CONE)
def frictional_cone(kind, mu, P):
    """Project one block of any law."""
    if kind == COULOMB_SPATIAL:
        return project_spatial(mu, P)
    if kind == COULOMB_PLANAR:
        return project_planar(mu, P)
    if kind == BILATERAL:
        return project_bilateral(mu, P)
    return project_unilateral(mu, P)
