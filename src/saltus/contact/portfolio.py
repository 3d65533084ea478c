"""Portfolio: sweeps first, Newton's method where they stall, the curve of solutions where that fails too.

No single method solves all contact problems. Sweeps are cheap and solve most of them, but creep where contacts are
redundant; Newton's method jumps there, but needs a good start; the curve from a shifted D needs none, but takes the
time of many iterations. What counts is the residual, whoever reached it. These three take turns in one kernel, which
runs use as well. For single problems there are more: Lemke's method without friction, coloured sweeps for many rows,
ADMM where all else fails, and a diagnosis of what has no solution.

Members of the kernel: another one gets a number and a line in `MEMBERS`, a turn in `_member`, a branch in
`alternate`, its settings and its workspace among those of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import larger, smaller, unit, whole
from saltus.compile.types import SOLVE, I
from saltus.compile.workspace import Numbers, RoomPlan, Workspace, any_of
from saltus.contact.homotopy import SETTINGS as FOLLOWING
from saltus.contact.homotopy import WORK as CURVE_WORK
from saltus.contact.homotopy import Homotopy, follow
from saltus.contact.lemke import Lemke
from saltus.contact.nsgs import NSGS, sweep
from saltus.contact.nsgs import SETTINGS as SWEEPING
from saltus.contact.nsgs import WORK as NSGS_WORK
from saltus.contact.problem import ContactProblem, ContactResult, run
from saltus.contact.residual import residual
from saltus.contact.semismooth_newton import SETTINGS as ITERATING
from saltus.contact.semismooth_newton import WORK as NEWTON_WORK
from saltus.contact.semismooth_newton import SemismoothNewton, newton
from saltus.errors import SettingError
from saltus.laws import COULOMB_SPATIAL, UNILATERAL
from saltus.status import Status

MEMBERS = ("NSGS", "SemismoothNewton", "Homotopy")


class _Method(NamedTuple):
    """Methods of the portfolio."""

    sweeps: int = 0
    newton: int = 1
    curve: int = 2


METHOD = _Method()


# sweeps: of the first turn; max_sweeps: of all turns; the others are settings of the members
SETTINGS = Numbers("tol rounding sweeps max_sweeps relaxation max_iterations max_rows paths max_steps")
# sweeping, iterating, following: settings of the members, which begin anew in the same place (nsgs, newton, curve);
# best: impulses of all attempts; found.member: who ended the search
WORK = Workspace(
    "Portfolio", any_of(nsgs=NSGS_WORK, newton=NEWTON_WORK, curve=CURVE_WORK), sweeping=SWEEPING, iterating=ITERATING,
    following=FOLLOWING, best="n", found=Numbers("member"),
)  # fmt: skip


@unit(I(I), inline="always")
def _member(turn):
    """Return the member that has this turn: each of them once, then sweeps and Newton's method from new starts."""
    if turn < 3:
        return turn
    return METHOD.sweeps if turn % 2 == 1 else METHOD.newton


@unit(SOLVE)
def alternate(contacts, local, cone, settings, P, u, info, room):
    """Let the members take turns until one of them succeeds or the sweeps are spent.

    contacts / laws: local, cone / SETTINGS / room: WORK
    in/out  P: start -> impulses, the best of all attempts
    out     u: velocities; info: residual, sweeps and iterations together; found.member of the room
    """
    n, nb, settings, work = P.shape[0], contacts.mu.shape[0], SETTINGS(settings), WORK(room)
    sweeping, iterating, following, best = work.sweeping, work.iterating, work.following, work.best
    for i in range(n):
        best[i] = 0.0
    left, steps, least, draw, turn = settings.max_sweeps, 0.0, math.inf, 1, 0
    small = n <= whole(settings.max_rows)
    sweeping.tol, iterating.tol, following.tol = settings.tol, settings.tol, settings.tol
    sweeping.rounding, iterating.rounding, following.rounding = settings.rounding, settings.rounding, settings.rounding
    sweeping.max_sweeps = larger(settings.sweeps, 3.0 * n) if small else left
    sweeping.relaxation = settings.relaxation
    iterating.max_iterations, iterating.paths = settings.max_iterations, settings.paths
    iterating.max_rows, following.max_rows = settings.max_rows, settings.max_rows
    following.max_steps = settings.max_steps
    while left > 0.0 and (small or turn == 0):
        member, info[0] = _member(turn), math.inf
        if member == METHOD.sweeps:
            sweeping.max_sweeps = smaller(sweeping.max_sweeps, left)
            left -= sweeping.max_sweeps
            status = sweep(contacts, local, cone, sweeping, P, u, info, work.nsgs)
        elif member == METHOD.newton:
            status = newton(contacts, local, cone, iterating, P, u, info, work.newton)
            iterating.paths = 0.0  # the paths do not depend on the start: once is enough
        else:
            status = follow(contacts, local, cone, following, P, u, info, work.curve)
        steps += info[1]
        for i in range(n if info[0] < least else 0):
            best[i] = P[i]
        least, turn = smaller(least, info[0]), turn + 1
        # proven: by a ray of the path, or by the exact solution of a single block
        if status == 0 or (status == Status.CONTACT_UNSOLVABLE and (nb == 1 or member == METHOD.newton)):
            info[1], work.found.member = steps, float(member)
            return status
        if turn > 2 and member != METHOD.sweeps:
            # a new start near the best so far, and sweeps that take more time, averaged every other turn
            sweeping.max_sweeps *= 2.0
            sweeping.relaxation = settings.relaxation * (0.5 if turn % 4 == 3 else 1.0)
            for i in range(n):
                draw = (1103515245 * draw + 12345) % 2147483648
                P[i] = best[i] * (draw / 1073741824.0)
        for i in range(n):
            P[i] = P[i] if abs(P[i]) < math.inf else 0.0
    for i in range(n):
        P[i] = best[i]
    info[0], info[1] = residual(contacts, cone, P, u, work.nsgs.judging), steps
    return Status.CONTACT_STALLED if least < math.inf else Status.NONFINITE


@dataclass(frozen=True, kw_only=True)
class Portfolio:
    """NSGS, SemismoothNewton and Homotopy in turns: for all laws, as fast as NSGS where that converges quickly.

    Parameters
    ----------
    tol : scaled residual that confirms a solution [-]; 1e-14 to 1e-4.
    sweeps : sweeps before Newton's method is tried for the first time; three per row where that is more,
        because an iteration costs as much as many sweeps there.
    max_sweeps : sweeps of all turns after which the problem counts as stalled.
    max_rows : most rows for which other members than sweeps are tried in a run. `solve` gives larger problems to
        ColouredNSGS and, up to ten times as many rows, to ADMM.
    max_iterations : iterations of Newton's method from one start.
    max_steps : steps along one curve of solutions.
    rounding : relative size of residuals, measured against the terms of u, that counts as rounding error; as in NSGS.
    minimum_norm : whether `solve` looks for the shortest impulses where the contacts are redundant.
    """

    tol: float = 1e-12
    sweeps: int = 50
    max_sweeps: int = 20_000
    max_rows: int = 300
    max_iterations: int = 100
    max_steps: int = 1500
    rounding: float = 1e-14
    minimum_norm: bool = False

    def __post_init__(self):
        if not 1 <= self.sweeps <= self.max_sweeps:
            raise SettingError(
                f"Portfolio: sweeps = {self.sweeps} must lie between 1 and max_sweeps = {self.max_sweeps}"
            )
        self._members()  # checks the rest

    def _members(self) -> tuple[NSGS, SemismoothNewton, Homotopy]:
        shared = {"tol": self.tol, "rounding": self.rounding}
        return (
            NSGS(max_sweeps=self.sweeps, **shared),
            SemismoothNewton(max_iterations=self.max_iterations, max_rows=self.max_rows, paths=1, **shared),
            Homotopy(max_steps=self.max_steps, max_rows=self.max_rows, **shared),
        )

    @property
    def name(self) -> str:
        return "Portfolio"

    @property
    def kernel(self):
        return alternate

    def settings(self) -> np.ndarray:
        sweeps, newton, _ = self._members()
        return SETTINGS.filled(
            tol=self.tol, rounding=self.rounding, sweeps=float(self.sweeps), max_sweeps=float(self.max_sweeps),
            relaxation=sweeps.relaxation, max_iterations=float(self.max_iterations), max_rows=float(self.max_rows),
            paths=float(newton.paths), max_steps=float(self.max_steps),
        )  # fmt: skip

    def room(self, n: int, nb: int, nv: int) -> RoomPlan:
        """Return the plan of what the kernel works with."""
        return WORK.plan({"n": n, "few": min(n, self.max_rows), "nb": nb, "nv": nv})

    def supports(self, kind: int) -> bool:
        return True

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem, from the impulses P0 [N s] (zero by default).

        `solver` of the result names the member that succeeded. Where none did, a proof that there is no solution is
        looked for; `contacts` names those in the proof, or those that are served worst.
        """
        if np.any(problem.kinds > COULOMB_SPATIAL):  # laws that only the members of the kernel know
            return self._in_turns(problem, P0)
        result = self._solved(problem, P0)
        if not result.converged and not result.contacts and problem.n <= self.max_rows:
            return self._explained(problem, result)
        if self.minimum_norm and result.converged:
            from saltus.contact.redundancy import minimum_norm

            return minimum_norm(problem, result)
        return result

    def _solved(self, problem: ContactProblem, P0) -> ContactResult:
        if problem.n > self.max_rows:
            return self._large(problem, P0)
        if problem.n > 0 and P0 is None and np.all(problem.kinds <= UNILATERAL):
            pivoted = Lemke(tol=self.tol).solve(problem)
            if pivoted.converged or pivoted.status == Status.CONTACT_UNSOLVABLE:
                return replace(pivoted, solver=f"{self.name} ({pivoted.solver})")
            P0 = pivoted.P
        result = self._in_turns(problem, P0)
        if problem.n == 0 or result.converged or result.status == Status.CONTACT_UNSOLVABLE:
            return result
        return self._last(problem, result)

    def _in_turns(self, problem: ContactProblem, P0) -> ContactResult:
        """Run the kernel, as schemes do, and name the member that succeeded."""
        room = self.room(problem.n, problem.mu.size, problem.kernel.nv).allocate()
        result = run(self, problem, P0, room)
        if problem.n == 0 or not result.converged:
            return result
        member = MEMBERS[int(room.part("found")[0])]
        return replace(result, solver=f"{self.name} ({member})")

    def _large(self, problem: ContactProblem, P0) -> ContactResult:
        """Solve a problem with more than max_rows rows."""
        from saltus.contact.coloured import ColouredNSGS

        result = ColouredNSGS(tol=self.tol, max_sweeps=self.max_sweeps, rounding=self.rounding).solve(problem, P0)
        if result.converged:
            return replace(result, solver=f"{self.name} ({result.solver})")
        return result if problem.n > 10 * self.max_rows else self._last(problem, result)

    def _last(self, problem: ContactProblem, stalled: ContactResult) -> ContactResult:
        """Let ADMM try what the others did not solve; return the better one of both results."""
        from saltus.contact.admm import ADMM

        result = ADMM(tol=self.tol, max_rows=self.max_rows).solve(problem, stalled.P)
        if result.converged or result.status == Status.CONTACT_UNSOLVABLE:
            return replace(result, solver=f"{self.name} ({result.solver})")
        return stalled if stalled.residual <= result.residual else replace(result, solver=self.name)

    def _explained(self, problem: ContactProblem, result: ContactResult) -> ContactResult:
        """Return the result with what a diagnosis says: who is to blame, or after all a solution."""
        from saltus.contact.diagnosis import diagnose

        found = diagnose(problem, result.P, tol=self.tol, search=False)
        if found.verdict == "solvable":
            P, solver = found.certificate, f"{self.name} (branching)"
            u, certificate = problem.u(P), problem.residual(P)
            return replace(
                result, P=P, u=u, residual=certificate, converged=True, solver=solver, message=found.message,
                status=Status.OK,
            )  # fmt: skip
        status = Status.CONTACT_UNSOLVABLE if found.proven else result.status
        message = f"{result.message} {found.message}"
        return replace(result, contacts=found.contacts, status=status, message=message)
