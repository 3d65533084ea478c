"""Homotopy: the curve of solutions for a shifted D, followed through its turns until the shift is gone.

The problem u = D P + b + shift (P + push) has one solution where the shift is large, and where b = W^T v_free its
solutions stay bounded while the shift decreases:

    shift |P|^2 <= -b . P <= const,   hence   shift |P| = O(sqrt(shift)).

So the curve of solutions that begins at the large shift ends at a solution of the problem itself. On its way it may
turn back to larger shifts (Coulomb friction has several solutions there) and it has corners wherever a contact
begins to stick, slip or open. It is followed by its arc length, in the direction in which the determinant of the
equations keeps its sign (Allgower and Georg 1990); without friction this is Lemke's path. The small vector `push` is
irregular: it separates corners that would coincide in problems with symmetries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import head, larger, mat, smaller, unit, whole
from saltus.compile.types import CONE, CONTACTS, SOLVE, A, F, I
from saltus.compile.workspace import Numbers, RoomPlan, Workspace, any_of
from saltus.contact.nsgs import confirmed
from saltus.contact.problem import ContactProblem, ContactResult, run
from saltus.contact.residual import JUDGING, residual
from saltus.contact.semismooth_newton import BLOCK, ITERATING, eliminate, equations, iterate, judged, scaled
from saltus.errors import SettingError
from saltus.status import Status


class _Homotopy(NamedTuple):
    """Tuned numbers of this file."""

    # shifts of the scaled D between which solutions are looked for
    first_polish: float = 1e-2
    last_shift: float = 1e-12
    # shifts of the proximal steps, each from the curve
    polishing: float = 1e-4
    last_polishing: float = 5e-9
    # last correction that confirms a point of the curve; more where rounding errors are amplified
    on_curve: float = 1e-7
    # lengths of steps along the curve: change of log(shift) and relative of P
    step: float = 0.5
    shortest: float = 1e-7
    longest: float = 3.0
    curves: int = 3  # that are followed, with another push each
    corrections: int = 6  # iterations that bring a step back to the curve


HOMOTOPY = _Homotopy()


SETTINGS = Numbers("tol max_steps max_rows rounding")
# start, best: scaled impulses that `_polish` begins with, the best given ones
POLISH = Workspace("Polishing", best="few", start="few", iterating=ITERATING)
# few: rows, as long as they are not too many; best: impulses; unit_of, b, D: see `scaled`; push: of this curve; P_s,
# center: of `_polish`; z = (P, log(shift)), tangent t, z_0 and old before the step; x: correction; turned: tangent
# behind a corner; J: of the bordered equations, which are not in use while a point is polished
WORK = Workspace(
    "Homotopy", any_of(J="(few + 1) * (few + 1)", polishing=POLISH), judging=JUDGING, best="few", unit_of="few",
    b="few", push="few", P_s="few", center="few", z="few + 1", z_0="few + 1", t="few + 1", old="few + 1",
    x="few + 1", turned="few + 1", block=BLOCK, D="few * few",
)  # fmt: skip


@unit(I(CONTACTS, I, A, A, F, I, WORK.kind))
def _bordered(contacts, n, z, row, unit_P, tangent, work):
    """Write the correction towards the curve, or its tangent, to work.x; return the sign of the determinant.

    in      n: number of rows; z: P, log(shift); row: direction that the correction is perpendicular to; unit_P: length
            of P that counts as much as 1 of log(shift)
    """
    b, push, x, D, J = head(work.b, n), head(work.push, n), work.x, mat(work.D, 0, n, n), mat(work.J, 0, n + 1, n + 1)
    equations(contacts, b, D, push, math.exp(z[n]), 0.0, head(z, n), head(x, n), J, work.block)
    for j in range(n):
        J[n, j] = row[j] / (unit_P * unit_P)
        x[j] = 0.0 if tangent == 1 else x[j]
    J[n, n], x[n] = row[n], 1.0 if tangent == 1 else 0.0
    return eliminate(J, head(x, n + 1))


@unit(F(I, F), inline="always")
def _blur(n, log_shift):
    """Return the relative size of rounding errors of P on the curve: a small shift amplifies them."""
    return 2e-16 * math.sqrt(n) * math.exp(-log_shift)


@unit(I(CONTACTS, I, A, A, A, F, I, WORK.kind))
def _turn(contacts, n, z, old, t, unit_P, orientation, work):
    """Write the tangent t at z, of length 1, in the direction of the orientation; return the determinant's sign."""
    total, x = 0.0, work.x
    sign = _bordered(contacts, n, z, old, unit_P, 1, work)
    for i in range(n):
        total += x[i] * x[i]
    total = math.sqrt(total / (unit_P * unit_P) + x[n] * x[n])
    total = -total if orientation * sign < 0 else total
    for i in range(n + 1):
        t[i] = x[i] / total if total != 0.0 else 0.0
    return sign


@unit(I(CONTACTS, I, A, A, F, F, WORK.kind))
def _correct(contacts, n, z, t, unit_P, reach, work):
    """Bring z back to the curve, perpendicular to t; return the number of corrections, -1 without success."""
    moved, x = 0.0, work.x
    for count in range(1, HOMOTOPY.corrections + 1):
        _bordered(contacts, n, z, t, unit_P, 0, work)
        change, close = 0.0, larger(smaller(HOMOTOPY.on_curve, 0.01 * reach), _blur(n, z[n]))
        for i in range(n + 1):
            z[i] -= x[i]
            change += x[i] * x[i] if i < n else x[i] * x[i] * unit_P * unit_P
        change = math.sqrt(change) / unit_P
        moved += change
        if not moved <= reach:
            return -1
        if change <= close:
            return count
    return -1


@unit(I(CONTACTS, I, F, F, I, WORK.kind))
def _over_corner(contacts, n, unit_P, over, orientation, work):
    """Leave z_0 for the piece of the curve behind the next corner; return corrections, -1 without success.

    in      over: length that leads over it; work: z_0, old: point close to the corner and tangent there
    out     work: z, t: point on the next piece and its tangent
    """
    z, z_0, t, old, turned, x = work.z, work.z_0, work.t, work.old, work.turned, work.x
    for attempt in range(14):
        # over the corner by the tangent alone, or along the curve of the old piece
        for i in range(n + 1):
            z[i] = z_0[i] + over * old[i]
        if attempt % 2 == 1:
            _bordered(contacts, n, z, old, unit_P, 0, work)
            for i in range(n + 1):
                z[i] -= x[i]
            over *= 3.0
        # away from it along the new one
        _turn(contacts, n, z, old, t, unit_P, orientation, work)
        for i in range(n + 1):
            z[i] += 2.0 * over * t[i]
            turned[i] = t[i]
        count = _correct(contacts, n, z, turned, unit_P, 100.0 * over, work)
        if count > 0 and _turn(contacts, n, z, turned, t, unit_P, orientation, work) == orientation:
            return count
    return -1


@unit(F(CONTACTS, CONE, F, F, A, A, WORK.kind))
def _polish(contacts, cone, tol, rounding, P_given, u, work):
    """Improve the P of z, scaled, by proximal steps until the residual is accepted or grows; the best goes to P_given.

    Every step solves u = D P + b + shift (P - center) around the P before, so that its limit is exact whatever the
    shift is. The residual is returned.
    """
    n, least = P_given.shape[0], math.inf
    judging, polishing = work.judging, work.polishing
    best, start, P, center = head(polishing.best, n), polishing.start, head(work.P_s, n), head(work.center, n)
    b, D = head(work.b, n), mat(work.D, 0, n, n)
    for i in range(n):
        start[i] = work.z[i]
    shift = HOMOTOPY.polishing
    while shift >= HOMOTOPY.last_polishing:
        before = math.inf
        for i in range(n):
            P[i] = start[i]
        for _ in range(6):
            for i in range(n):
                center[i] = -P[i]
            iterate(contacts, b, D, center, shift, 0.0, 1e-3 * tol, 15, P, polishing.iterating)
            found = judged(contacts, cone, work.unit_of, P, P_given, u, judging)
            if found < least:
                least = found
                for i in range(n):
                    best[i] = P_given[i]
            if confirmed(contacts, P_given, found, tol, rounding, judging.X_i) == 0.0 or not found < 0.5 * before:
                break
            before = found
        if confirmed(contacts, best, least, tol, rounding, judging.X_i) == 0.0:
            break
        shift *= 1e-2
    for i in range(n):
        P_given[i] = best[i] if least < math.inf else 0.0
    return least


@unit(F(CONTACTS, I, F, I, WORK.kind))
def _step(contacts, n, h, orientation, work):
    """Make a step along the curve of the length h, or a shorter one; return the next length, -1 where it ends."""
    z, z_0, t, old, size, along = work.z, work.z_0, work.t, work.old, 0.0, 0.0
    for i in range(n):
        size += z[i] * z[i]
        along += t[i] * t[i]
    unit_P = larger(math.sqrt(size), 1e-3)
    along = math.sqrt(along / (unit_P * unit_P) + t[n] * t[n])
    for i in range(n + 1):
        z_0[i], old[i] = z[i], t[i] / along
    shortest = larger(HOMOTOPY.shortest, 10.0 * _blur(n, z[n]))
    count, h = -1, larger(h, shortest)
    while count < 0 and h >= shortest:
        for i in range(n + 1):
            z[i] = z_0[i] + h * old[i]
        count = _correct(contacts, n, z, old, unit_P, h, work)
        if count > 0:
            sign = _turn(contacts, n, z, old, t, unit_P, orientation, work)
            # the curve would lead back: another branch, or a corner sharper than a right angle
            count = -1 if sign != orientation else count
        if count < 0:
            h *= 0.35 if h > 0.01 else 0.1
        else:
            h *= 2.0 if count <= 4 else 1.0
    h = larger(h, shortest)
    if count < 0:
        count = _over_corner(contacts, n, unit_P, 4.0 * shortest, orientation, work)
    return -1.0 if count < 0 else smaller(h, HOMOTOPY.longest)


@unit(SOLVE)
def follow(contacts, local, cone, settings, P, u, info, room):
    """Follow the curve of solutions from a large shift to none; the start P is used for comparison only.

    contacts / laws: local, cone / SETTINGS / room: WORK
    in/out  P: start -> impulses, the best that was found
    out     u: velocities; info: residual, steps
    """
    n, settings, work = P.shape[0], SETTINGS(settings), WORK(room)
    judging, tol, rounding = work.judging, settings.tol, settings.rounding
    info[0], info[1] = residual(contacts, cone, P, u, judging), 0.0
    if n > whole(settings.max_rows):
        return Status.CONTACT_STALLED
    best, b, push, z, old, D = work.best, head(work.b, n), head(work.push, n), work.z, work.old, mat(work.D, 0, n, n)
    scaled(contacts, work.unit_of, b, D, judging.X_i)
    draw, friction = 1, 0.0
    for i in range(n):
        best[i] = P[i]
    for k in range(contacts.mu.shape[0]):
        friction = larger(friction, contacts.mu[k])
    for _ in range(HOMOTOPY.curves):
        for i in range(n):
            z[i], old[i] = 0.0, 0.0
            draw = (1103515245 * draw + 12345) % 2147483648
            push[i] = 0.2 * (draw / 1073741824.0 - 1.0) / math.sqrt(n)
        z[n], old[n] = math.log(10.0 * n * (1.0 + friction)), -1.0
        iterate(contacts, b, D, push, math.exp(z[n]), 0.0, 1e-11, 100, head(z, n), work.polishing.iterating)
        h, due = HOMOTOPY.step, math.log(HOMOTOPY.first_polish)
        orientation = _turn(contacts, n, z, old, work.t, 1.0, 0, work)
        for _ in range(whole(settings.max_steps)):
            info[1] += 1.0
            h = _step(contacts, n, h, orientation, work)
            if h < 0.0:
                break
            if z[n] < due:
                due = z[n] - math.log(10.0)
                found = _polish(contacts, cone, tol, rounding, P, u, work)
                if found < info[0]:
                    info[0] = found
                    for i in range(n):
                        best[i] = P[i]
                if confirmed(contacts, P, found, tol, rounding, judging.X_i) == 0.0:
                    info[0] = residual(contacts, cone, P, u, judging)
                    return 0
                if z[n] < math.log(HOMOTOPY.last_shift):
                    break
    for i in range(n):
        P[i] = best[i]
    info[0] = residual(contacts, cone, P, u, judging)
    return 0 if confirmed(contacts, P, info[0], tol, rounding, judging.X_i) == 0.0 else Status.CONTACT_STALLED


@dataclass(frozen=True, kw_only=True)
class Homotopy:
    """The curve of solutions for a shifted D, for all laws and few rows: slow, but it finds what others do not.

    For b = W^T v_free (no restitution, no moving walls) the curve ends at a solution, whatever the rank of D and
    however large mu.

    Parameters
    ----------
    tol : scaled residual that confirms a solution [-]; 1e-14 to 1e-4.
    max_steps : steps along one curve; three of them are tried, which differ in `push`.
    max_rows : most rows; larger problems are given back as stalled. Time grows with their third power.
    rounding : relative size of residuals, measured against the terms of u, that counts as rounding error; as in NSGS.
    """

    tol: float = 1e-12
    max_steps: int = 1500
    max_rows: int = 300
    rounding: float = 1e-14

    def __post_init__(self):
        if not 0.0 < self.tol < 1.0:
            raise SettingError(f"Homotopy: tol = {self.tol} must lie between 0 and 1; it is a relative residual")
        if not 0.0 <= self.rounding < 1e-6:
            raise SettingError(f"Homotopy: rounding = {self.rounding} must lie in [0, 1e-6)")
        for name in ("max_steps", "max_rows"):
            if not 1 <= getattr(self, name) < 2**31:
                raise SettingError(f"Homotopy: {name} = {getattr(self, name)} must be at least 1")

    @property
    def name(self) -> str:
        return "Homotopy"

    @property
    def kernel(self):
        return follow

    def settings(self) -> np.ndarray:
        return SETTINGS.filled(
            tol=self.tol, max_steps=float(self.max_steps), max_rows=float(self.max_rows), rounding=self.rounding
        )

    def room(self, n: int, nb: int, nv: int) -> RoomPlan:
        """Return the plan of what the kernel works with."""
        return WORK.plan({"few": min(n, self.max_rows), "nv": nv})

    def supports(self, kind: int) -> bool:
        return True

    def solve(self, problem: ContactProblem, P0=None) -> ContactResult:
        """Solve a contact problem; the start P0 is returned only if nothing better is found."""
        return run(self, problem, P0)
