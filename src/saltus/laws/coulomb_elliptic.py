"""Anisotropic Coulomb friction in space, rows (N, T1, T2). Set: (P_1 / mu_1)^2 + (P_2 / mu_2)^2 <= P_N^2.

Law (maximal dissipation: of all admissible P_T the one that takes most power): Signorini's between u_N and P_N, and
either u_T = 0 with P in the set, or

    P_i = -mu_i^2 u_i P_N / sqrt(mu_1^2 u_1^2 + mu_2^2 u_2^2)

so that friction is not opposite to the slip unless that follows an axis. The axes of the ellipse are those of `slip`:
one that is turned has a slip that is.

In the units of the law, u_i mu_i / mu and P_i mu / mu_i with mu = mu_1, power is the same and the set is the circular
cone |P_T| <= mu P_N; the most power over it is taken by P_T = -mu P_N u_T / |u_T|, which in the units of the user is
the formula above. So the kernels are those of coulomb_spatial, and there is nothing else to write down.
"""

from __future__ import annotations

from saltus.laws import coulomb_spatial
from saltus.laws.coulomb_spatial import project, solve

__all__ = ["project", "solve"]

KIND, ROWS, NAME = 4, 3, "coulomb_elliptic"
KERNEL, AXES, FRICTIONS, NUMBERS = coulomb_spatial.KIND, coulomb_spatial.AXES, (2,), ("mu_1", "mu_2")


def units(mu_1: float, mu_2: float) -> tuple[float, ...]:
    """Return what a unit of each row of impulses is [N s]."""
    return 1.0, 1.0, mu_2 / mu_1
