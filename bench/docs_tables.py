"""The tables of measured numbers in docs, written by the functions that measure them.

`python bench/docs_tables.py` measures all of them and writes each between its two comments,
`python bench/docs_tables.py hp-errors hp-evaluations` some, `--check` says what would change and writes nothing.
`saltus reproduce NAME --into` writes those of published experiments in the same way.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import pathlib
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from contact_speed import FCLIB
from contract import evaluations, measured, reference_of
from scipy.optimize import minimize_scalar

import saltus as sl
from saltus import problems
from saltus.contact import ADMM, read_fclib
from saltus.study import error
from saltus.study.records import markdown_table
from saltus.tables.runge_kutta import table as tableau

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
BEGIN, END = "<!-- python bench/docs_tables.py {name} -->", "<!-- end of {name} -->"
NEAR = 0.05  # relative: numbers of another machine that count as the same
ROUNDING = 1e-13  # errors below it are noise

Cells = list[list[str]]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table, the page that holds it, and whether it takes a second at most."""

    page: pathlib.Path
    make: Callable[[], Cells]
    cheap: bool


TABLES: dict[str, Table] = {}


def table(page: str, *, cheap: bool = False) -> Callable[[Callable[[], Cells]], Callable[[], Cells]]:
    """Register a function that returns heads and rows, under its name with dashes."""

    def registered(make: Callable[[], Cells]) -> Callable[[], Cells]:
        TABLES[make.__name__.replace("_", "-")] = Table(DOCS / page, make, cheap)
        return make

    return registered


def order(sizes: Sequence[float], errors: Iterable) -> np.ndarray:
    """Return the fitted order of errors (sizes, ...) over numbers of steps."""
    return -np.polyfit(np.log(sizes), np.log(np.array(list(errors))), 1)[0]


def slope(tolerances: Sequence[float], errors: Iterable) -> np.ndarray:
    """Return the fitted slope of errors (tolerances, ...)."""
    return -order(tolerances, errors)


def steps_of(problem: sl.Problem, scheme, count: int) -> sl.Solution:
    """Return the run with `count` equal steps."""
    return sl.solve(problem, scheme=scheme, h=problem.t_span[1] / count, progress=False)


def comma(values: Iterable[float], digits: str = ".1f") -> str:
    """Return numbers with commas."""
    return ", ".join(f"{value:{digits}}" for value in values)


def extent(values: Sequence[float], digits: str) -> str:
    """Return the least and the largest of some numbers, one where they read the same."""
    return " to ".join(dict.fromkeys((f"{min(values):{digits}}", f"{max(values):{digits}}")))


def short(value: float, digits: int = 1) -> str:
    """Return a number with an exponent, as 1.3e-6."""
    return re.sub(r"e([+-])0*(\d+)", lambda found: f"e{found[1].strip('+')}{found[2]}", f"{value:.{digits}e}")


def rounded(count: int) -> str:
    """Return a count to two digits, its thousands apart."""
    return f"{int(float(f'{count:.1e}')):,}".replace(",", " ") if count >= 1000 else str(count)


# ---- any_order.md

BASES = (
    ("heun", "lobatto3c2"),
    ("kutta3", "radau3"),
    ("rk4", "lobatto3a", "lobatto3c"),
    ("rkf45", "dopri5", "radau5"),
    ("dop853",),
)
FINE, MIDDLE, COARSE = (331, 467, 661, 929, 1301, 1801), (83, 101, 131, 163, 211, 331), (41, 53, 67, 83, 103, 127)
STRIKING = {2: FINE, 3: MIDDLE, 4: MIDDLE, 5: MIDDLE, 8: COARSE}  # steps by order: impacts keep their order of events
HELD = {"dop853": (4, 5, 6, 7), "radau5": (6, 8, 11, 14)}
NARROW = 1e-7  # [s] around an impact where the velocity of a grid point is that of the other side


def away_from_impacts(problem: sl.Problem, scheme, count: int) -> tuple[float, float]:
    """Return the L1 errors of q and v over the points of the grid that are not at an impact."""
    sol, h, exact = steps_of(problem, scheme, count), problem.t_span[1] / count, problem.exact
    if exact is None:
        raise SystemExit(f"{problem.name} has no exact solution")
    times = np.arange(1, count + 1) * h
    places = np.minimum(np.searchsorted(sol.t, times - 1e-12), len(sol.t) - 1)
    away = np.all(np.abs(times[:, None] - np.atleast_1d(exact.jumps)) > NARROW, axis=1)
    q, v = np.abs(sol.q[places] - exact.q(times)), np.abs(sol.v[places] - exact.v(times))
    return h * q[away].sum(), h * v[away].sum()


@table("any_order.md")
def any_order_bases() -> Cells:
    """Orders of AnyOrder, the less of q and v, and the error of v on the ball."""
    cells = [["base", "p", "oscillator with a wall", "lasting contact, friction", "stick and slip"]]
    cells[0].append("ball, 193 steps: error of v")
    for group in BASES:
        p = tableau(group[0]).order
        found: list[list[float]] = [[], [], []]
        for base in group:
            cases = (
                (problems.impact_oscillator(), STRIKING[p]),
                (problems.circle_slide(mu=0.1), HELD.get(base, (16, 20, 24, 32, 40, 48))),
                (problems.coulomb_oscillator(), (30, 35, 41, 47, 53, 67) if p == 8 else MIDDLE),
            )
            for column, (problem, sizes) in zip(found, cases, strict=True):
                made = [away_from_impacts(problem, sl.AnyOrder(base), count) for count in sizes]
                column.append(float(order(sizes, made).min()))
        ball = max(away_from_impacts(problems.zeno_ball(), sl.AnyOrder(base), 193)[1] for base in group)
        cells.append([", ".join(group), str(p), *map(comma, found), f"{short(ball, 0)} m"])
    return cells


@table("any_order.md")
def any_order_tolerances() -> Cells:
    """Mean errors of AnyOrder in units of the tolerance, least and largest over four tolerances."""
    names = ("zeno_ball", "impact_oscillator", "zeno_oscillator", "driven_pendulum", "coulomb_oscillator")
    cells = [["", *(f"`{name}`" for name in names)]]
    for base in ("dopri5", "dop853"):
        row = [base]
        for name in names:
            problem, found = getattr(problems, name)(), []
            for tol in (1e-4, 1e-6, 1e-8, 1e-10):
                sol = sl.solve(problem, scheme=sl.AnyOrder(base), tol=tol, progress=False)
                span = sol.t[-1] - sol.t[0]
                found.append(max(error(sol, quantity=x) for x in "qv") / (span * tol))
            row.append(extent(found, ".2g"))
        cells.append(row)
    return cells


# ---- contact.md

HARD = {
    "Box_Stacks-i0122-82-5": "Box_Stacks-i0122",
    "BoxesStack-48": "BoxesStack-48",
    "LMGC_100_PR_PerioBox-i00361-60-03000": "LMGC PerioBox",
    "LMGC_GFC3D-i00501-4-00000": "LMGC_GFC3D-i00501",
    "Capsules-i125-1213": "Capsules-i125",
}


@table("contact.md")
def admm_iterations() -> Cells:
    """Iterations of ADMM on problems of FCLib."""
    if not FCLIB.is_dir():
        raise SystemExit(f"{FCLIB} is missing: SALTUS_FCLIB names the folder of the FCLib problems")
    cells = [["problem (rows)", "iterations to 1e-10"]]
    for file, name in HARD.items():
        problem = read_fclib(FCLIB / f"{file}.hdf5")
        result = ADMM(tol=1e-10).solve(problem)
        cells.append([f"{name} ({result.P.size})", str(result.iterations) if result.converged else "stalled"])
    return cells


# ---- control.md


@functools.cache
def crank() -> tuple[sl.Problem, sl.Solution]:
    """Return the slider-crank over 0.02 s and what its runs are compared with."""
    problem = problems.slider_crank(t_end=0.02)
    return problem, sl.solve(problem, scheme=sl.EventDriven(), tol=1e-12, progress=False)


def struck() -> dict[str, tuple[sl.Problem, sl.Solution | None]]:
    """Return the problems of adaptive steps, each with its reference."""
    exact = {
        "ball": problems.zeno_ball(),
        "oscillator": problems.impact_oscillator(),
        "accumulating oscillator": problems.zeno_oscillator(),
    }
    return {name: (problem, None) for name, problem in exact.items()} | {"slider-crank, 0.02 s": crank()}


def followed(problem: sl.Problem, reference, scheme, tolerances) -> tuple[np.ndarray, list[int]]:
    """Return the slopes of the L1 errors of q and v over the tolerances, and the evaluations of the force."""
    runs = [sl.solve(problem, scheme=scheme, tol=float(tol), progress=False) for tol in tolerances]
    return slope(tolerances, [[error(run, reference, x) for x in "qv"] for run in runs]), [r.work["f"] for r in runs]


@table("control.md")
def adaptive_moreau_jean() -> Cells:
    """Slopes of the error over the tolerance, and forces at the smallest one."""
    cells = [["", *(f"{name}: q, v" for name in struck())]]
    for theta, name, least in ((0.5, "1/2", -6.0), (1.0, "1", -4.0)):
        tolerances = np.logspace(-2.0, least, int(1 - 2 * (least + 2)))
        found = [followed(*pair, sl.MoreauJean(theta=theta), tolerances) for pair in struck().values()]
        cells.append([f"theta = {name}, tol 1e-2 to 1e{least:.0f}", *(comma(slopes, ".2f") for slopes, _ in found)])
        cells.append([f"forces at 1e{least:.0f}", *(rounded(counts[-1]) for _, counts in found)])
    return cells


# ---- hp_tdg.md

EXACT = {
    "zeno_ball": "accumulation",
    "impact_oscillator": "4 impacts",
    "zeno_oscillator": "accumulation",
    "driven_pendulum": "4 impacts",
    "bowl": "accumulation on a curved wall",
    "coulomb_oscillator": "stick and slip",
}


@table("hp_tdg.md", cheap=True)
def hp_errors() -> Cells:
    """Mean errors of HpTDG over 1 + size, the largest of q, v and i."""
    tolerances = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
    cells = [["tol", *(short(tol, 0) for tol in tolerances)]]
    for name, what in EXACT.items():
        problem = getattr(problems, name)()
        results = [measured(name, problem, sl.HpTDG(tol), tol, reference_of(problem)) for tol in tolerances]
        shares = [r.ratio * r.tol for r in results]
        cells.append([f"`{name}`, {what}", *(short(share) for share in shares)])
    return cells


@table("hp_tdg.md", cheap=True)
def hp_evaluations() -> Cells:
    """Evaluations of the force by HpTDG, and by EventDriven in brackets."""
    tolerances = (1e-4, 1e-8, 1e-12)
    cells = [["tol", "1e-4", "1e-8", "1e-12"]]
    for name in EXACT:
        problem, row = getattr(problems, name)(), [f"`{name}`"]
        for tol in tolerances:
            ours, theirs = (
                evaluations(sl.solve(problem, scheme=scheme, tol=tol, progress=False))
                for scheme in (sl.HpTDG(tol), sl.EventDriven())
            )
            row.append(f"{ours} ({theirs})")
        cells.append(row)
    return cells


DEGREES = {1: (397, 523, 691, 907, 1201, 1601), 2: (97, 131, 173, 227, 307, 401), 4: (37, 47, 61, 79, 107, 139)}
LARGE = {3: (59, 73, 89, 107, 131, 163), 4: (31, 37, 43, 53, 61, 73), 5: (23, 29, 31, 37, 41, 47)}  # Lobatto


def kept(degree: int, nodes: str, sizes: Sequence[int], where: str, quantity: str) -> float:
    """Return the order of a fixed degree of HpTDG through impacts."""
    problem, scheme = problems.impact_oscillator(), sl.HpTDG(degree=degree, nodes=nodes)
    runs = [steps_of(problem, scheme, count) for count in sizes]
    if where == "dense":
        return float(order(sizes, [error(run, quantity=quantity) for run in runs]))
    return float(order(sizes, [np.mean(np.abs(run.q - problem.exact.q(run.t))) for run in runs]))  # type: ignore[union-attr]


@table("hp_tdg.md")
def hp_degrees() -> Cells:
    """Orders of fixed degrees of HpTDG through four impacts."""
    degrees = (1, 2, 3, 4, 5)
    cells = [["degree", *map(str, degrees)], ["Clenshaw-Curtis nodes"], ["Lobatto nodes, grid points of q"]]
    cells.append(["Lobatto nodes, v between grid points"])
    for degree in degrees:
        sizes = DEGREES[degree - degree % 2 if degree > 1 else 1]
        both = [kept(degree, "clenshaw-curtis", sizes, "dense", x) for x in "qv"]
        cells[1].append(f"{min(both):.1f}")
        sizes = LARGE.get(degree, sizes)
        cells[2].append(f"{kept(degree, 'lobatto', sizes, 'grid', 'q'):.1f}")
        cells[3].append(f"{kept(degree, 'lobatto', sizes, 'dense', 'v'):.1f}")
    return cells


# ---- outlook.md

LATE = (401, 601, 907, 1361, 2039, 3061)  # steps of schemes of order one, each with five more beside it
BESIDE = (0, 7, 19, 31, 43, 61)


@table("outlook.md")
def outlook_orders() -> Cells:
    """Orders of q in L1 through the four impacts of the oscillator."""
    problem = problems.impact_oscillator()
    late = [*(sl.TDGMinus(degree) for degree in range(1, 7)), sl.MoreauJean(), sl.Splitting()]
    found = []
    for scheme in late:
        runs = ([steps_of(problem, scheme, count + more) for more in BESIDE] for count in LATE)
        found.append(float(order(LATE, [np.mean([error(run, quantity="q") for run in level]) for level in runs])))
    bases = ("heun", "kutta3", "rk4", "dopri5", "dop853")
    any_order = []
    for base in bases:
        sizes = STRIKING[tableau(base).order]
        any_order.append(order(sizes, [away_from_impacts(problem, sl.AnyOrder(base), count) for count in sizes])[0])
    return [
        ["oscillator with a wall, 4 impacts", "order of q in L1"],
        ["D1- to D6-, Moreau-Jean, splitting", extent(found, ".1f")],
        [f"`AnyOrder`: {', '.join(bases)}", comma(any_order)],
        ["`HpTDG(degree=2)`", f"{kept(2, 'lobatto', DEGREES[2], 'dense', 'q'):.1f}"],
    ]


# ---- schemes.md

GROWS = 1e-12  # of an amplitude per step: more is no rounding
CLOSE = {"xatol": 1e-9}
VISIBLE = 1e-6  # the same beyond the limit of a step: rounding moves a double root by its square root
OSCILLATORS = sl.System(M=np.eye(2), f=lambda q: [-q[0], -q[1]])
DAMPED = sl.System(M=1.0, f=lambda t, q, v: [-v[0]])


def step_matrix(scheme, h: float) -> np.ndarray:
    """Return what a step makes of q and v of an undamped oscillation of 1 rad/s."""
    sol = sl.solve(OSCILLATORS, (0.0, h), [1.0, 0.0], [0.0, 1.0], scheme=scheme, h=h, progress=False)
    return np.array([sol.q[-1], sol.v[-1]])


def growth(scheme, h: float) -> float:
    """Return by how much the oscillation grows in a step."""
    step = step_matrix(scheme, h)
    determinant, half = np.linalg.det(step), np.trace(step) / 2.0
    if half**2 < determinant:  # a pair: its product is known better than its roots
        return float(np.sqrt(determinant) - 1.0)
    return float(abs(half) + np.sqrt(half**2 - determinant) - 1.0)


def damping(scheme, h: float) -> float:
    """Return by how much a velocity with v' = -v grows in a step."""
    sol = sl.solve(DAMPED, (0.0, h), 0.0, 1.0, scheme=scheme, h=h, progress=False)
    return float(abs(sol.v[-1, 0]) - 1.0)


def limit(grows: Callable[[float], bool], low: float, high: float) -> float:
    """Return the place between two at which something begins to grow."""
    for _ in range(24):
        middle = (low + high) / 2.0
        low, high = (low, middle) if grows(middle) else (middle, high)
    return low


def longest(scheme) -> str:
    """Return the largest h omega, or the growth at h omega = 1.

    Where half of the trace comes near 1 the roots of the step may leave the circle over a very short way: its largest
    values are searched, not only sampled.
    """
    slow = growth(scheme, 1.0)
    if slow > GROWS:
        return f"grows by {short(slow, 0)}"
    places = np.arange(0.02, 7.0, 0.02)
    halves = np.array([abs(np.trace(step_matrix(scheme, float(h)))) / 2.0 for h in places])
    for k, h in enumerate(places):
        if k and k + 1 < len(places) and halves[k] >= max(halves[k - 1], halves[k + 1]):
            a, b = float(places[k - 1]), float(places[k + 1])
            h = minimize_scalar(
                lambda x: -abs(np.trace(step_matrix(scheme, x))),
                bounds=(a, b),
                method="bounded",
                options={"xatol": 1e-9},
            ).x
        if growth(scheme, float(h)) > VISIBLE:
            return f"{limit(lambda x: growth(scheme, x) > VISIBLE, float(places[k - 1]), float(h)):.2f}"
    return f"> {places[-1]:.0f}"


def fastest(degree: int, nodes: str) -> str:
    """Return the largest h c of D-."""
    scheme = sl.TDGMinus(degree, nodes)  # pyright: ignore[reportArgumentType]
    first = next(float(h) for h in np.arange(0.1, 60.0, 0.1) if damping(scheme, float(h)) > VISIBLE)
    return f"{limit(lambda h: damping(scheme, h) > VISIBLE, first - 0.1, first):.1f}"


@table("schemes.md")
def galerkin_stability() -> Cells:
    """Orders and limits of the step of D- and D+ by degree."""
    degrees = range(1, 7)
    curtis, lobatto = "clenshaw-curtis", "lobatto"
    both = []
    for degree in degrees:
        pair = {longest(scheme(degree, lobatto)) for scheme in (sl.TDGMinus, sl.TDGPlus)}
        both.append(" and ".join(sorted(pair)))
    return [
        ["degree", *map(str, degrees)],
        ["order, Clenshaw-Curtis", *(str(degree + 2 - degree % 2) for degree in degrees)],
        ["order, Lobatto", *(str(2 * degree) for degree in degrees)],
        ["largest `h omega`, D- Clenshaw-Curtis", *(longest(sl.TDGMinus(degree, curtis)) for degree in degrees)],
        ["largest `h omega`, D+ Clenshaw-Curtis", *(longest(sl.TDGPlus(degree, curtis)) for degree in degrees)],
        ["largest `h omega`, both with Lobatto", *both],
        ["largest `h c` of v' = -c v, D- Clenshaw-Curtis", *(fastest(degree, curtis) for degree in degrees)],
        ["the same, D- Lobatto", *(fastest(degree, lobatto) for degree in degrees)],
    ]


W, DEPTH, SPEED = 2.3, 0.5, 3.1  # rad/s, m, m/s
PERIOD = 2.0 * np.arctan2(SPEED / W, -DEPTH) / W
WRONG = 0.2  # of the speed: the phase is lost


def lossless(impacts: int, tol: float) -> str:
    """Return the mean error of v over tol (1 + size), EventDriven through impacts that lose nothing."""
    wall = sl.Contact(lambda q: q[0] + DEPTH, e=1.0)
    oscillator = sl.System(M=1.0, f=lambda t, q, v: [-W * W * q[0]], contacts=[wall])
    end = float(PERIOD * (impacts - 0.5))
    sol = sl.solve(oscillator, (0.0, end), -DEPTH, SPEED, scheme=sl.EventDriven(), tol=tol, progress=False)

    def since(t):
        return t - np.floor(t / PERIOD) * PERIOD

    exact = sl.Exact(
        lambda t: (SPEED / W * np.sin(W * since(t)) - DEPTH * np.cos(W * since(t)))[..., None],
        lambda t: (SPEED * np.cos(W * since(t)) + DEPTH * W * np.sin(W * since(t)))[..., None],
        jumps=PERIOD * np.arange(1, impacts),
    )
    share = error(sol, exact, "v") / (end * (1.0 + SPEED))
    return "wrong phase" if share > WRONG else short(share / tol, 0)


@table("schemes.md")
def event_driven_many_impacts() -> Cells:
    """Mean errors over tol (1 + size) through 1000 and 10 000 impacts without loss."""
    tolerances = (1e-4, 1e-7, 1e-10)
    return [
        ["oscillator against a wall, e = 1", "tol 1e-4", "1e-7", "1e-10"],
        ["1000 impacts, mean error over tol (1 + size)", *(lossless(1000, tol) for tol in tolerances)],
        ["10 000 impacts", *(lossless(10_000, tol) for tol in tolerances)],
    ]


@table("schemes.md", cheap=True)
def event_driven_errors() -> Cells:
    """Largest error of q over the span."""
    tolerances = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
    cases = {
        "impact_oscillator": "4 impacts",
        "bowl": "accumulation, then sliding",
        "coulomb_oscillator": "4 reversals, stop",
    }
    cells = [["tol", *(short(tol, 0) for tol in tolerances)]]
    for name, what in cases.items():
        runs = [sl.solve(getattr(problems, name)(), scheme=sl.EventDriven(), tol=tol) for tol in tolerances]
        found = [error(run, quantity="q", norm="Linf") for run in runs]
        cells.append([f"`{name}`, {what}", *(short(value) for value in found)])
    return cells


@table("schemes.md", cheap=True)
def event_driven_work() -> Cells:
    """Evaluations of the force and steps."""
    cells = [["tol", "1e-4", "1e-8", "1e-12"]]
    for name in ("zeno_ball", "impact_oscillator"):
        runs = [sl.solve(getattr(problems, name)(), scheme=sl.EventDriven(), tol=tol) for tol in (1e-4, 1e-8, 1e-12)]
        cells.append([f"`{name}`", *(f"{run.work['f']} in {run.work['steps']} steps" for run in runs)])
    return cells


# ---- splitting.md


def on_grid(problem: sl.Problem, scheme, sizes: Sequence[int], beside: Sequence[int] = (0,)) -> np.ndarray:
    """Return the fitted orders of q and v over the grid points, mean of neighbouring grids."""
    exact = problem.exact
    if exact is None:
        raise SystemExit(f"{problem.name} has no exact solution")
    rows = []
    for size in sizes:
        runs = [steps_of(problem, scheme, size + more) for more in beside]
        pairs = [[(run.q, exact.q(run.t)), (run.v, exact.v(run.t))] for run in runs]
        rows.append(np.mean([[np.mean(np.abs(a - b)) for a, b in pair] for pair in pairs], axis=0))
    return order(sizes, rows)


@table("splitting.md")
def splitting_orders() -> Cells:
    """Orders of the splitting in smooth motion, lasting contact and through impacts, the less of q and v."""
    pendulum, bead = problems.double_pendulum(t_end=2.0), problems.circle_slide(mu=0.1)
    oscillator, late = problems.impact_oscillator(t_end=8.0), (401, 1607, 6421, 25601)
    beside = (0, 17, 34, 51, 68, 85)
    cells = [["fitted order", "smooth motion", "lasting contact, friction", "impacts"]]
    for group in BASES:
        found: list[list[float]] = [[], [], []]
        for base in group:
            scheme = sl.Splitting(base)
            smooth = (24, 32, 40, 56) if base == "dop853" else (96, 128, 176, 256)
            found[0].append(float(on_grid(pendulum, scheme, smooth).min()))
            found[1].append(float(on_grid(bead, scheme, HELD.get(base, (16, 24, 32, 48))).min()))
            found[2].append(float(on_grid(oscillator, scheme, late, beside).min()))
        cells.append([", ".join(group), *map(comma, found)])
    plain = sl.Splitting(contact_forces=False)
    lasting, impacts = on_grid(bead, plain, (40, 80, 160, 320)), on_grid(oscillator, plain, late, beside)
    cells.append(["any, `contact_forces=False`", "as above", f"{lasting.min():.1f}", f"{impacts.min():.1f}"])
    return cells


@table("splitting.md")
def splitting_tolerances() -> Cells:
    """Slopes over the tolerance and evaluations of the force, impacts located or met by penetration."""
    tolerances = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    cells = [["", *struck()]]
    for name, location in (('"time"', "time"), ('"penetration"', "penetration")):
        found = [followed(*pair, sl.Splitting(location=location), tolerances) for pair in struck().values()]
        cells.append([f"{name}: slopes of q, v", *(comma(slopes) for slopes, _ in found)])
        counts = (", ".join(str(count) for count in counts[::2]) for _, counts in found)
        cells.append(["evaluations at 1e-2, 1e-4, 1e-6", *counts])
    plain = [
        [sl.solve(problem, scheme=sl.Splitting(contact_forces=False), tol=tol).work["f"] for tol in (1e-2, 1e-4, 1e-6)]
        for problem, _ in struck().values()
    ]
    cells.append(["the same, `contact_forces=False`", *(", ".join(map(str, counts)) for counts in plain)])
    return cells


# ---- writing and comparing


def held(name: str) -> tuple[str, str, str]:
    """Return what a page has before a table, the table, and what follows."""
    page, begin, end = TABLES[name].page, BEGIN.format(name=name), END.format(name=name)
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    text, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{page} has no place for {name}: put {begin} and {end} where it belongs")
    return before + begin, text.strip(), end + after


def same(old: str, new: str) -> bool:
    """Tell whether two tables say the same: words alike, numbers within some percent, errors of rounding aside."""
    number = r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w])"
    if re.sub(number, "#", old) != re.sub(number, "#", new):
        return False
    pairs = zip(re.findall(number, old), re.findall(number, new), strict=True)
    return all(
        a == b or abs(float(a) - float(b)) <= max(NEAR * max(abs(float(a)), abs(float(b))), ROUNDING) for a, b in pairs
    )


def main(arguments: list[str]) -> int:
    """Measure tables and write them into their pages; returns 1 where --check finds another one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(TABLES)}; all of them by default")
    parser.add_argument("--check", action="store_true", help="compare with the pages instead of writing them")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.names) - set(TABLES)):
        parser.error(f"there is no table {', '.join(unknown)}: tables are {', '.join(TABLES)}")
    changed = False
    for name in given.names or TABLES:
        began = time.process_time()
        text = markdown_table(TABLES[name].make())
        before, old, after = held(name)
        verdict = "unchanged" if old == text else "the same but for some digits" if same(old, text) else "changed"
        changed = changed or verdict == "changed"
        if not given.check:
            TABLES[name].page.write_text(f"{before}\n\n{text}\n\n{after}", encoding="utf-8")
        print(f"{name}: {verdict}, {time.process_time() - began:.1f} s of CPU", flush=True)
        if verdict != "unchanged":
            print(text, flush=True)
    return 1 if given.check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
