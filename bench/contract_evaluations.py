"""Force evaluations against scipy's DOP853 with exact restarts at equal achieved error, and against fixed steps.

The achieved error is the largest of the L1 errors of q, v and impulse over scale (see contract.py). scipy integrates
q, v and the impulses of closed contacts (index-1 reduced), restarts at every impact and release, and takes launches
slower than a multiple of sqrt(rtol) as the end of their bounces, which costs an error of about rtol. Its tolerances
rtol = atol and two such multiples are swept; between the best of these runs the evaluations are interpolated. They
contain those of its dense output, because that is what is compared; "bare" leaves them out.

`python contract_evaluations.py --scheme event-driven --tol 1e-4,1e-8,1e-11 --problem bowl`
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools

import numpy as np
from contract import (
    CASES,
    QUANTITIES,
    Reference,
    chosen_scheme,
    curve,
    evaluations,
    factory_of,
    flagship,
    l1,
    measured,
    reference_of,
    scheme_named,
)
from rich.console import Console
from rich.table import Table
from rows import Row
from scipy.integrate import solve_ivp

import saltus as sl
from saltus.build.model import compile_model
from saltus.compile.seam import interpreted
from saltus.study.curve import Curve

FRICTIONLESS = (
    "zeno_ball",
    "impact_oscillator",
    "zeno_oscillator",
    "driven_pendulum",
    "bowl",
    "clattering_rod",
    "double_pendulum_wall",
    "valve_train",
)
TOLERANCES = (1e-4, 1e-8, 1e-11)
SWEEP = tuple(10.0**-k for k in np.arange(3.0, 13.6, 0.5))
STILL = (1.0, 0.1)  # of sqrt(rtol) [m/s]
MOST_RESTARTS = 500
DENSE = 3  # evaluations of the dense output of a step, beside those of DOP853 itself
FLOORS = {"impact_oscillator": 3.0, "zeno_oscillator": 2.0}  # others: 1, and 1.8 at 1e-11
FIXED = {"Moreau-Jean": sl.MoreauJean(), "D1-": sl.TDGMinus(1)}
FIXED_TARGET = 1e-6
FIXED_STEPS = (1009, 1511, 2503, 4001, 8009)


class Mechanics:
    """M, f, gaps, directions of a frictionless system as arrays; counts the force evaluations."""

    def __init__(self, problem: sl.Problem) -> None:
        self.model = compile_model(problem.system, problem.t_span[0], problem.q0.copy(), problem.v0.copy())
        self.layout, self.par = self.model.layout, self.model.units.par
        self.nv, self.nc = int(self.layout.nv), int(self.layout.nc)
        self.e = np.array([float(contact.e) for contact in problem.system.contacts])
        units = ("mass", "force", "gap", "kinematics", "curvature")
        self.unit = {name: interpreted(getattr(self.model.units, name)) for name in units}
        self.forces, self.last = 0, ((), (np.zeros(0), np.zeros(0)))
        start, columns = self.layout.W_ptr, self.layout.W_col
        ends = [int(self.layout[start + r]) for r in range(self.nc + 1)]
        self.entries = [
            (slice(a, b), self.layout[columns + a : columns + b].astype(int)) for a, b in itertools.pairwise(ends)
        ]
        self._M, self._W = np.empty(int(self.layout.profile_size)), np.empty(int(self.layout.nw))

    def gaps(self, t, q) -> np.ndarray:
        out = np.empty(self.nc)
        self.unit["gap"](t, q, self.par, out)
        return out

    def mass(self, t, q) -> np.ndarray:
        self.unit["mass"](t, q, self.par, self._M)
        return self.model.profile.unpack(self._M)

    def rows(self, t, q) -> tuple[np.ndarray, np.ndarray]:
        """Return W^T and w, so that the gaps open at W^T v + w."""
        w, made = np.empty(self.nc), np.zeros((self.nc, self.nv))
        self.unit["kinematics"](t, q, self.par, self._W, w)
        for row, (part, columns) in zip(made, self.entries, strict=True):
            row[columns] = self._W[part]
        return made, w

    def accelerations(self, t, q, v, held: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return a and the forces of all contacts, those of the held ones so that their gaps stay closed."""
        key = (t, q.tobytes(), v.tobytes(), *held)
        if key == self.last[0]:  # the end of a step, which its events look at again
            return self.last[1]
        self.last = key, self._accelerations(t, q, v, held)
        return self.last[1]

    def _accelerations(self, t, q, v, held: list[int]) -> tuple[np.ndarray, np.ndarray]:
        self.forces += 1
        f, forces = np.empty(self.nv), np.zeros(self.nc)
        self.unit["force"](t, q, v, self.par, f)
        M = self.mass(t, q)
        if held:
            WT = self.rows(t, q)[0][held]
            free, moved = np.linalg.solve(M, f), np.linalg.solve(M, WT.T)
            forces[held] = np.linalg.solve(WT @ moved, -(WT @ free + self.curvature(t, q, v)[held]))
            return free + moved @ forces[held], forces
        return np.linalg.solve(M, f), forces

    def curvature(self, t, q, v) -> np.ndarray:
        out = np.empty(self.nc)
        self.unit["curvature"](t, q, v, self.par, out)
        return out

    def impact(self, t, q, v, closed: list[int], e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return v and impulses after Newton's law of the closed contacts, by trying which of them push."""
        WT, w = self.rows(t, q)
        moved = np.linalg.solve(self.mass(t, q), WT.T)
        u = WT @ v + w
        P = complementary((WT @ moved)[np.ix_(closed, closed)], ((1.0 + e) * u)[closed])
        impulses = np.zeros(self.nc)
        impulses[closed] = P
        return v + moved @ impulses, impulses

    def holding(self, t, q, v, closed: list[int]) -> list[int]:
        """Return those of the closed contacts without velocity that push."""
        self.forces += 1
        f = np.empty(self.nv)
        self.unit["force"](t, q, v, self.par, f)
        WT, _ = self.rows(t, q)
        M = self.mass(t, q)
        moved = np.linalg.solve(M, WT.T)
        b = WT @ np.linalg.solve(M, f) + self.curvature(t, q, v)
        P = complementary((WT @ moved)[np.ix_(closed, closed)], b[closed])
        return [c for c, force in zip(closed, P, strict=True) if force > 0.0]


def complementary(D: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return P >= 0 with D P + b >= 0 and complementary to it, by enumeration, most pushing first."""
    n, best, least = len(b), np.zeros(len(b)), np.inf
    for count in range(n, -1, -1):
        for pushing in map(list, itertools.combinations(range(n), count)):
            P = np.zeros(n)
            if pushing:
                P[pushing] = np.linalg.solve(D[np.ix_(pushing, pushing)], -b[pushing])
            wrong = max(0.0, -P.min(initial=0.0), -(D @ P + b).min(initial=0.0))
            if wrong < least:
                best, least = P, wrong
            if wrong == 0.0:
                return P
    return best


@dataclasses.dataclass(frozen=True)
class Restarted:
    """A motion by scipy in pieces, with its force evaluations, and those without dense output."""

    starts: np.ndarray
    runs: list
    evaluations: int
    bare: int
    nq: int
    nv: int
    ended: int  # launches that were too slow

    def at(self, t: np.ndarray) -> np.ndarray:
        owner = np.maximum(np.searchsorted(self.starts, t, side="right") - 1, 0)
        made = np.empty((len(t), self.runs[0].y.shape[0]))
        for k in np.unique(owner):
            mine = owner == k
            made[mine] = self.runs[k].sol(np.minimum(t[mine], self.runs[k].t[-1])).T
        return made

    @property
    def grid(self) -> np.ndarray:
        return np.unique(np.concatenate([run.t for run in self.runs]))

    def curve(self, quantity: str) -> Curve:
        columns = {
            "q": slice(0, self.nq),
            "v": slice(self.nq, self.nq + self.nv),
            "impulse": slice(self.nq + self.nv, None),
        }[quantity]
        return Curve(self.grid, lambda t: self.at(t)[:, columns], lambda t: self.at(t)[:, columns])


def restarted(problem: sl.Problem, rtol: float, still: float) -> Restarted | None:
    """Run scipy from event to event; None where that does not come to an end."""
    mechanics = Mechanics(problem)
    nq, nv, nc = len(problem.q0), mechanics.nv, mechanics.nc
    t, t_end = problem.t_span
    q, v, impulse = problem.q0.copy(), problem.v0.copy(), np.zeros(nc)
    starts, runs, spared, ended = [], [], 0, 0
    gaps = mechanics.gaps(t, q)
    closed = [c for c in range(nc) if gaps[c] <= rtol]
    held = mechanics.holding(t, q, v, closed) if closed else []
    launched = {c: gaps[c] for c in closed}  # gaps count from these: where they begin is no event
    while t < t_end:
        if len(starts) > MOST_RESTARTS:
            return None
        run = smooth(mechanics, t, t_end, np.concatenate([q, v, impulse]), held, launched, rtol)
        if not run.success:
            return None
        starts.append(t)
        runs.append(run)
        spared += DENSE * (len(run.t) - 1 - (run.status == 1))  # an event needs the dense output of its step
        if run.status != 1:
            break
        t, y = run.t[-1], run.y[:, -1].copy()
        q, v, impulse = y[:nq], y[nq : nq + nv], y[nq + nv :]
        struck = [c for c in range(nc) if len(run.t_events[c])]
        closed = sorted({*held, *struck})
        released = [c for c in struck if c in held]
        v, impulse, held = strike(mechanics, t, q, v, impulse, closed, held, released, still)
        ended += len(set(held) & set(struck))
        gaps = mechanics.gaps(t, q)
        launched = {c: gaps[c] for c in closed}
    return Restarted(np.array(starts), runs, mechanics.forces, mechanics.forces - spared, nq, nv, ended)


def smooth(mechanics: Mechanics, t_0: float, t_end: float, y: np.ndarray, held, launched, rtol: float):
    """Integrate until a gap closes or a held contact would pull."""
    nv, nc = mechanics.nv, mechanics.nc
    nq = len(y) - nv - nc

    def rhs(t, y):
        q, v = y[:nq], y[nq : nq + nv]
        a, forces = mechanics.accelerations(t, q, v, held)
        return np.concatenate([v, a, forces])

    def watch(c: int):
        if c in held:

            def event(t, y):
                return mechanics.accelerations(t, y[:nq], y[nq : nq + nv], held)[1][c]

        elif c in launched:

            def event(t, y):
                # over the time: positive at a launch, so that only the landing is a root
                return (mechanics.gaps(t, y[:nq])[c] - launched[c]) / (t - t_0) if t > t_0 else 1.0

        else:

            def event(t, y):
                return mechanics.gaps(t, y[:nq])[c]

        event.terminal, event.direction = True, -1.0
        return event

    return solve_ivp(
        rhs, (t_0, t_end), y, method="DOP853", rtol=rtol, atol=rtol, dense_output=True,
        events=[watch(c) for c in range(nc)],
    )  # fmt: skip


def strike(mechanics: Mechanics, t, q, v, impulse, closed, held, released, still):
    """Apply the impact law and the law of forces at an event; slow launches end."""
    WT, w = mechanics.rows(t, q)
    u = WT @ v + w
    e = mechanics.e.copy()
    fast = [c for c in closed if u[c] < 0.0 and c not in held]
    if fast:
        for _ in range(mechanics.nc + 1):
            v_new, P = mechanics.impact(t, q, v, closed, e)
            slow = [c for c in closed if P[c] > 0.0 and e[c] > 0.0 and (WT @ v_new + w)[c] < still]
            if not slow:
                break
            e[slow] = 0.0
        v, impulse = v_new, impulse + P
    u = WT @ v + w
    resting = [c for c in closed if c not in released and (u[c] <= 1e-12 or (c in held and u[c] < still))]
    return v, impulse, mechanics.holding(t, q, v, resting) if resting else []


def jumps_only(source: sl.Solution | sl.Exact, quantity: str) -> Curve:
    """Return a curve of a reference that is parted at its events alone: the other side's steps are shorter."""
    whole = curve(source, quantity)
    return whole if isinstance(source, sl.Exact) else Curve(np.unique(source.events["t"]), whole.right, whole.left)


def achieved(made: Restarted, reference: Reference, scales: dict[str, float]) -> float:
    """Return the largest scaled L1 error."""
    return max(l1(made.grid, made.curve(x), jumps_only(reference.source, x))[0] / scales[x] for x in QUANTITIES)


@dataclasses.dataclass(frozen=True)
class Front:
    """The best runs of a sweep: errors that fall and evaluations that grow."""

    errors: np.ndarray
    costs: np.ndarray

    def at(self, error: float) -> tuple[float, str]:
        """Return the evaluations for an error and "<" or ">" where it lies outside of what was reached."""
        if error >= self.errors[0]:
            return float(self.costs[0]), "<"
        if error < self.errors[-1]:
            return float(self.costs[-1]), ">"
        return float(np.exp(np.interp(-np.log(error), -np.log(self.errors), np.log(self.costs)))), ""


def front(points: list[tuple[float, float]]) -> Front:
    """Return the points (error, cost) that no other beats in both."""
    kept: list[tuple[float, float]] = []
    for error, cost in sorted(points, key=lambda point: (point[1], point[0])):
        if not kept or error < kept[-1][0]:
            kept.append((error, cost))
    return Front(*np.array(kept).T)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One problem at one tolerance: the error and cost of the scheme, the costs of scipy at that error."""

    problem: str
    tol: float
    error: float
    own: int
    scipy: float
    bare: float
    outside: str  # "<" or ">" where scipy did not come to that error
    message: str = ""

    @property
    def ratio(self) -> float:
        return self.scipy / self.own if self.own else 0.0

    @property
    def floor(self) -> float:
        return FLOORS.get(self.problem, 1.8 if self.tol < 1e-10 else 1.0)


def sweep(problem: sl.Problem, reference: Reference, scales: dict[str, float], rtols=SWEEP) -> tuple[Front, Front]:
    """Return the fronts of scipy, with and without its dense output."""
    points, bare = [], []
    for rtol in rtols:
        for factor in STILL:
            made = restarted(problem, rtol, factor * np.sqrt(rtol))
            if made is not None:
                error = achieved(made, reference, scales)
                points.append((error, made.evaluations))
                bare.append((error, made.bare))
                if made.ended == 0:  # no bounces to end, so that the other factors give the same
                    break
    return front(points), front(bare)


def compare(factory, names=FRICTIONLESS, tols=TOLERANCES) -> list[Comparison]:
    """Compare a scheme with scipy on the frictionless problems."""
    found = []
    for name in names:
        problem = CASES[name].make()
        reference = reference_of(problem, CASES[name].zeno_speed)
        results = [measured(name, problem, factory(tol), tol, reference) for tol in tols]
        good = [r for r in results if not r.message]
        if good:
            with_dense, without = sweep(problem, reference, good[0].scales)
        for r in results:
            if r.message:
                found.append(Comparison(name, r.tol, np.inf, 0, np.nan, np.nan, "", r.message))
                continue
            error = r.ratio * r.tol
            cost, outside = with_dense.at(error)
            found.append(Comparison(name, r.tol, error, r.evaluations, cost, without.at(error)[0], outside))
    return found


@dataclasses.dataclass(frozen=True)
class Fixed:
    """What a scheme of order one with fixed steps would need for FIXED_TARGET, beside the adaptive one."""

    problem: str
    scheme: str
    constant: float  # error times steps
    order: float  # measured
    needed: float  # evaluations, extrapolated
    own: int


def against_fixed(factory, names=FRICTIONLESS) -> list[Fixed]:
    """Extrapolate the evaluations of Moreau-Jean and D1- to an error of FIXED_TARGET from measured constants."""
    found = []
    for name in names:
        problem = CASES[name].make()
        reference = reference_of(problem, CASES[name].zeno_speed)
        span = problem.t_span[1] - problem.t_span[0]
        # the first of the tolerances that reaches the target
        tried = (measured(name, problem, factory(tol), tol, reference) for tol in (1e-5, 1e-6, 1e-7, 1e-8))
        own = next((r for r in tried if not r.message and r.ratio * r.tol <= FIXED_TARGET), None)
        if own is None:
            continue
        for title, scheme in FIXED.items():
            errors, per_step = [], 0.0
            for steps in FIXED_STEPS:
                solution = sl.solve(problem, scheme=scheme, h=span / steps, progress=False)
                per_step = evaluations(solution) / steps
                errors.append(
                    max(
                        l1(solution.t, curve(solution, x), jumps_only(reference.source, x), 1)[0] / own.scales[x]
                        for x in QUANTITIES
                    )
                )
            order = -np.polyfit(np.log(FIXED_STEPS), np.log(errors), 1)[0]
            constant = float(np.exp(np.mean(np.log(np.array(errors) * FIXED_STEPS))))
            needed = per_step * constant / FIXED_TARGET
            found.append(Fixed(name, title, constant, float(order), needed, own.evaluations))
    return found


def show(found: list[Comparison], fixed: list[Fixed], console: Console) -> None:
    """Print both tables."""
    table = Table(title="evaluations at equal achieved error", title_justify="left", header_style="bold")
    for column in ("problem", "tol", "error/scale", "scheme", "scipy", "ratio", "floor", "scipy bare", "ratio bare"):
        table.add_column(column, justify="left" if column == "problem" else "right")
    for c in found:
        if c.message:
            table.add_row(c.problem, f"{c.tol:.0e}", "failed", "", "", "", "", "", c.message[:60])
            continue
        colour = "green" if c.ratio >= c.floor else "red"
        table.add_row(
            c.problem, f"{c.tol:.0e}", f"{c.error:.1e}", f"{c.own}", f"{c.outside}{c.scipy:.0f}",
            f"[{colour}]{c.outside}{c.ratio:.2f}[/]", f"{c.floor:g}", f"{c.bare:.0f}", f"{c.bare / c.own:.2f}",
        )  # fmt: skip
    console.print(table)
    title = f"fixed steps: evaluations to an error of {FIXED_TARGET:.0e} scale, extrapolated with order one"
    table = Table(title=title, title_justify="left", header_style="bold")
    for column in ("problem", "scheme", "error * steps", "order measured", "needed", "adaptive", "ratio"):
        table.add_column(column, justify="left" if column in ("problem", "scheme") else "right")
    for f in fixed:
        table.add_row(
            f.problem, f.scheme, f"{f.constant:.3g}", f"{f.order:.2f}", f"{f.needed:.2g}", f"{f.own}",
            f"{f.needed / f.own:.2g}",
        )  # fmt: skip
    if fixed:
        console.print(table)


def measure() -> list[Row]:
    """Return the least ratios over their floors, and the least gain over fixed steps."""
    factory = factory_of(flagship())
    rows = []
    for c in compare(factory):
        note = c.message or f"{c.own} against {c.outside}{c.scipy:.0f} evaluations at an error of {c.error:.1e} scale"
        rows.append(
            Row(f"{c.problem} at {c.tol:.0e}, scipy DOP853 over scheme", c.ratio, "at least", c.floor, "x", note)
        )
    for f in against_fixed(factory):
        note = f"{f.needed:.2g} evaluations extrapolated, order {f.order:.2f}, against {f.own}"
        what = f"{f.problem}, {f.scheme} over scheme at 1e-6"
        rows.append(Row(what, f.needed / f.own, "at least", 1e4, "x", note))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen_scheme(parser)
    parser.add_argument("--tol", default=None, help="tolerances with commas; 1e-4,1e-8,1e-11 by default")
    parser.add_argument("--problem", default=None, help=f"names with commas, of {', '.join(FRICTIONLESS)}")
    parser.add_argument("--no-fixed", action="store_true", help="without the schemes with fixed steps")
    given = parser.parse_args()
    tols = TOLERANCES if given.tol is None else [float(tol) for tol in given.tol.split(",")]
    names = FRICTIONLESS if given.problem is None else given.problem.replace("-", "_").split(",")
    factory = factory_of(scheme_named(given.scheme))
    fixed = [] if given.no_fixed else against_fixed(factory, names)
    show(compare(factory, names, tols), fixed, Console(width=max(Console().width, 130)))
