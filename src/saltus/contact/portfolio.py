"""Portfolio: Gauss-Seidel sweeps first, Newton's method where they stall; the choice with friction.

No single method solves all contact problems. Sweeps are cheap and solve most of them, but creep where
contacts are redundant; Newton's method jumps there, but needs a start or a path. What counts is the residual,
whoever reached it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from saltus.compile.seam import larger, smaller, unit, vec, whole
from saltus.compile.types import SOLVE
from saltus.contact.nsgs import NSGS, sweep
from saltus.contact.problem import ContactProblem, ContactResult, run
from saltus.contact.residual import residual
from saltus.contact.semismooth_newton import SemismoothNewton, newton
from saltus.errors import SettingError
from saltus.status import Status

NONFINITE = int(Status.NONFINITE)
STALLED, UNSOLVABLE = int(Status.CONTACT_STALLED), int(Status.CONTACT_UNSOLVABLE)


@unit(SOLVE)
def alternate(contacts, local, cone, settings, P, u, info, work, iwork):
    """Alternate sweeps and Newton's method until one of them succeeds or the sweeps are spent.

    contacts / laws: local, cone / settings: 4 of NSGS, 5 of SemismoothNewton, max_sweeps
    in/out  P: start -> impulses, the best of all attempts
    out     u: velocities; info: residual, sweeps and iterations together
    """
    n, nb = P.shape[0], contacts.mu.shape[0]
    sweeping, iterating, best = vec(work, 0, 4), vec(work, 4, 5), vec(work, 9, n)
    rest = vec(work, 9 + n, work.shape[0] - 9 - n)
    for i in range(9):
        work[i] = settings[i]
    for i in range(n):
        best[i] = 0.0
    left, steps, least, draw, turn = settings[9], 0.0, math.inf, 1, 0
    small = n <= whole(iterating[2])
    sweeping[1] = larger(sweeping[1], 3.0 * n) if small else left
    while left > 0.0 and (small or turn == 0):
        swept, info[0] = turn % 2 == 0, math.inf
        if swept:
            sweeping[1] = smaller(sweeping[1], left)
            left -= sweeping[1]
            status = sweep(contacts, local, cone, sweeping, P, u, info, rest, iwork)
        else:
            status = newton(contacts, local, cone, iterating, P, u, info, rest, iwork)
            iterating[4] = 0.0  # the paths do not depend on the start: once is enough
        steps += info[1]
        for i in range(n if info[0] < least else 0):
            best[i] = P[i]
        least, turn = smaller(least, info[0]), turn + 1
        # proven: by a ray of the path, or by the exact solution of a single block
        if status == 0 or (status == UNSOLVABLE and (nb == 1 or not swept)):
            info[1] = steps
            return status
        if not swept:
            # a new start near the best so far, and sweeps that take more time, averaged every other turn
            sweeping[1] *= 2.0
            sweeping[2] = settings[2] * (0.5 if turn % 4 == 2 else 1.0)
            for i in range(n):
                draw = (1103515245 * draw + 12345) % 2147483648
                P[i] = best[i] * (draw / 1073741824.0)
        for i in range(n):
            P[i] = P[i] if abs(P[i]) < math.inf else 0.0
    for i in range(n):
        P[i] = best[i]
    info[0], info[1] = residual(contacts, cone, P, u, rest), steps
    return STALLED if least < math.inf else NONFINITE


@dataclass(frozen=True, kw_only=True)
class Portfolio:
    """NSGS and SemismoothNewton in turns: for all laws, as fast as NSGS where that converges quickly.

    Parameters
    ----------
    tol : scaled residual that confirms a solution [-]; 1e-14 to 1e-4.
    sweeps : sweeps before Newton's method is tried for the first time; three per row where that is more,
        because an iteration costs as much as many sweeps there.
    max_sweeps : sweeps of all turns after which the problem counts as stalled.
    max_rows : most rows for which Newton's method is tried; larger problems are swept only.
    max_iterations : iterations of Newton's method from one start.
    rounding : relative size of residuals, measured against P, that counts as rounding error; as in NSGS.
    """

    tol: float = 1e-12
    sweeps: int = 50
    max_sweeps: int = 20_000
    max_rows: int = 300
    max_iterations: int = 100
    rounding: float = 1e-14

    def __post_init__(self):
        if not 1 <= self.sweeps <= self.max_sweeps:
            raise SettingError(
                f"Portfolio: sweeps = {self.sweeps} must lie between 1 and max_sweeps = {self.max_sweeps}"
            )
        self._members()  # checks the rest

    def _members(self) -> tuple[NSGS, SemismoothNewton]:
        newtons = {"max_iterations": self.max_iterations, "max_rows": self.max_rows}
        return (
            NSGS(tol=self.tol, max_sweeps=self.sweeps, rounding=self.rounding),
            SemismoothNewton(tol=self.tol, rounding=self.rounding, **newtons),
        )

    @property
    def name(self) -> str:
        return "Portfolio"

    @property
    def kernel(self):
        return alternate

    def settings(self) -> np.ndarray:
        members = [member.settings() for member in self._members()]
        return np.concatenate([*members, [float(self.max_sweeps)]])

    def work_size(self, n: int, nb: int, nv: int) -> int:
        """Return the floats that the kernel needs: settings, the best impulses, the larger member."""
        return 9 + n + max(member.work_size(n, nb, nv) for member in self._members())

    def iwork_size(self, n: int, nb: int, nv: int) -> int:
        return max(member.iwork_size(n, nb, nv) for member in self._members())

    def supports(self, kind: int) -> bool:
        return True

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem, from the impulses P0 [N s] (zero by default)."""
        return run(self, problem, P0)
