"""The contract of a tolerance: L1 errors of q, v and impulse over tol * scale, on twelve problems and many tolerances.

scale of a quantity x = span * (1 + max |x|), |.| Euclidean over the columns, the largest over the run: the mean error
of x is at most tol (1 + max |x|), as for atol = rtol = tol. "plain" ratios are L1 error / tol.

`python contract.py --scheme event-driven --tol 1e-4,1e-8 --problem bowl,zeno_ball --rows`
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rows import Row

import saltus as sl
from saltus import problems
from saltus.cli.names import scheme_classes
from saltus.study.curve import Curve, curve
from saltus.study.norms import partition

TOLERANCES = tuple(10.0**-k for k in range(3, 12))
QUANTITIES = ("q", "v", "impulse")
FINEST = 1e-14  # tolerance of references without an exact solution
LOWEST = 1e-15  # closed_tolerance of references [m]: lower bounces are followed to their end with frozen rows
AGREE = 0.01  # of tol * scale: references that differ by more must leave no doubt about the verdict
PARTS = 4  # of a smooth piece, each with the points of Gauss: errors of high degree wind inside of a step
POINTS = 4
REPEATS = 3  # of the time


@dataclasses.dataclass(frozen=True)
class Case:
    """A problem of the list, the smallest tolerance at which it is judged, the zeno_speed [m/s] of its reference."""

    make: Callable[[], sl.Problem]
    least: float = 0.0
    zeno_speed: float = 2e-8


CASES = {
    "zeno_ball": Case(problems.zeno_ball),
    "impact_oscillator": Case(problems.impact_oscillator),
    "zeno_oscillator": Case(problems.zeno_oscillator),
    "driven_pendulum": Case(problems.driven_pendulum),
    "slider_crank": Case(functools.partial(problems.slider_crank, t_end=0.02), 1e-9),
    "bowl": Case(problems.bowl),
    "clattering_rod": Case(problems.clattering_rod),
    "coulomb_oscillator": Case(problems.coulomb_oscillator),
    "double_pendulum_wall": Case(problems.double_pendulum_wall),
    # bounces with accelerations of 1e4 m/s^2: slower ones drown in rounding
    "valve_train": Case(problems.valve_train, zeno_speed=1e-6),
    # one corner has come to rest at 0.4528 s; with two of them the friction along their edge is not unique
    "tumbling_box": Case(functools.partial(problems.tumbling_box, t_end=0.46)),
    # the journal has come to rest on the bearing at 0.0103 s
    "four_bar": Case(functools.partial(problems.four_bar, t_end=0.016)),
}


@dataclasses.dataclass(frozen=True)
class Result:
    """One run: L1 errors by quantity, scales, doubt of the reference, work; `message` where it failed."""

    problem: str
    tol: float
    errors: dict[str, float]
    scales: dict[str, float]
    doubts: dict[str, float]
    evaluations: int = 0
    steps: int = 0
    events: int = 0
    seconds: float = 0.0
    message: str = ""

    def _over(self, values: dict[str, float]) -> dict[str, float]:
        return {name: values[name] / (self.tol * self.scales[name]) for name in values}

    @property
    def ratios(self) -> dict[str, float]:
        """L1 error over tol * scale."""
        return self._over(self.errors)

    @property
    def ratio(self) -> float:
        return np.inf if self.message else max(self.ratios.values())

    @property
    def plain(self) -> float:
        """L1 error over tol."""
        return np.inf if self.message else max(self.errors.values()) / self.tol

    @property
    def doubt(self) -> float:
        """Difference of the references over tol * scale."""
        return max(self._over(self.doubts).values())

    @property
    def aside(self) -> bool:
        """Whether the references differ so much that either verdict could be theirs."""
        return self.doubt > AGREE and not self.message and abs(self.ratio - 1.0) <= self.doubt


def flagship():
    """Return the scheme that the benchmarks judge: HpTDG as soon as it is there."""
    return getattr(sl, "HpTDG", sl.EventDriven)


def factory_of(scheme) -> Callable[[float], object]:
    """Return tol -> scheme, for a class of schemes that choose their steps."""

    def made(tol: float):
        plain = scheme()
        return plain.with_tolerance(tol, tol) if hasattr(plain, "with_tolerance") else scheme(tol)

    return made


def evaluations(solution: sl.Solution) -> int:
    """Return the force evaluations; a Jacobian counts as one per velocity."""
    return solution.work["f"] + solution.v.shape[1] * solution.work["jac"]


def l1(grid: np.ndarray, found: Curve, wanted: Curve, parts: int = PARTS) -> tuple[float, float]:
    """Return int |found - wanted| dt and max |wanted| over the span of the grid."""
    marks = partition(grid, found, wanted)
    shares = np.arange(parts) / parts
    marks = np.append((marks[:-1, None] + np.diff(marks)[:, None] * shares).ravel(), marks[-1])
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    length = np.diff(marks)
    times = (marks[:-1, None] + length[:, None] * (points + 1.0) / 2.0).ravel()
    times = np.clip(times, grid[0], grid[-1])
    values = wanted.right(times)
    distance = np.linalg.norm(found.right(times) - values, axis=1)
    error = float((length[:, None] * weights / 2.0).ravel() @ distance)
    return error, float(np.max(np.linalg.norm(values, axis=1)))


@dataclasses.dataclass(frozen=True)
class Reference:
    """What runs of a problem are compared with, and by how much a second reference differs from it."""

    source: sl.Solution | sl.Exact
    doubts: dict[str, float]


def reference_of(problem: sl.Problem, zeno_speed: float | None = None, tol: float = FINEST) -> Reference:
    """Return the exact solution, or a fine run checked by one with another method and coarser settings of contacts.

    The difference is that of the coarser one: bounces that its closed_tolerance leaves out, by far the most of it, fall
    faster than that tolerance, so that it bounds what the finer reference lacks.
    """
    if problem.exact is not None:
        return Reference(problem.exact, dict.fromkeys(QUANTITIES, 0.0))
    speed = np.sqrt(tol) if zeno_speed is None else zeno_speed
    fine = sl.EventDriven(rtol=tol, atol=tol, zeno_speed=speed, closed_tolerance=LOWEST)
    first = sl.solve(problem, scheme=fine, progress=False)
    other = dataclasses.replace(fine, zeno_speed=2.0 * speed, method="dopri5", closed_tolerance=4.0 * LOWEST)
    second = sl.solve(problem, scheme=other, progress=False)
    return Reference(first, {name: l1(first.t, curve(second, name), curve(first, name))[0] for name in QUANTITIES})


def message_of(error: Exception) -> str:
    """Return the first line of an error; those that are not ours are crashes."""
    text = (str(error).splitlines() or [""])[0]
    return text if isinstance(error, sl.SaltusError) else f"crash, {type(error).__name__}: {text}"


def measured(name: str, problem: sl.Problem, scheme, tol: float, reference: Reference, repeats: int = 1) -> Result:
    """Run a scheme once and compare; a run that fails gives a Result with its message."""
    span = problem.t_span[1] - problem.t_span[0]
    seconds, errors, scales = np.inf, {}, {}
    try:
        for _ in range(repeats):
            began = time.perf_counter()
            solution = sl.solve(problem, scheme=scheme, progress=False)
            seconds = min(seconds, time.perf_counter() - began)
        for quantity in QUANTITIES:
            wanted = curve(reference.source, quantity)
            errors[quantity], largest = l1(solution.t, curve(solution, quantity), wanted)
            scales[quantity] = span * (1.0 + largest)
    except Exception as error:  # a study of failures stops at none of them
        nothing, ones = dict.fromkeys(QUANTITIES, np.inf), dict.fromkeys(QUANTITIES, span)
        return Result(name, tol, nothing, ones, reference.doubts, message=message_of(error))
    return Result(
        name, tol, errors, scales, reference.doubts, evaluations(solution), solution.work["steps"],
        len(solution.events), seconds,
    )  # fmt: skip


def contract(
    scheme_factory: Callable[[float], object],
    names: Iterable[str] = tuple(CASES),
    tols: Sequence[float] = TOLERANCES,
    *,
    repeats: int = REPEATS,
) -> list[Result]:
    """Return a Result per problem and tolerance; scheme_factory(tol) makes the scheme."""
    results = []
    for name in names:
        case = CASES[name]
        problem = case.make()
        reference = reference_of(problem, case.zeno_speed)
        chosen = [tol for tol in tols if tol >= 0.99 * case.least]
        if chosen:
            measured(name, problem, scheme_factory(chosen[0]), chosen[0], reference)  # compiles
        for tol in chosen:
            results.append(measured(name, problem, scheme_factory(tol), tol, reference, repeats))
    return results


def matrix(results: list[Result], title: str, text: Callable[[Result], str]) -> Table:
    """Return a table problem x tol."""
    tols = sorted({result.tol for result in results}, reverse=True)
    made = Table(title=title, title_justify="left", header_style="bold")
    made.add_column("problem")
    for tol in tols:
        made.add_column(f"{tol:.0e}", justify="right")
    found = {(result.problem, result.tol): result for result in results}
    for name in dict.fromkeys(result.problem for result in results):
        row = [text(found[name, tol]) if (name, tol) in found else "" for tol in tols]
        made.add_row(name, *row)
    return made


def show(results: list[Result], console: Console, *, rows: bool = False) -> None:
    """Print the tables, failures and what was set aside."""

    def coloured(result: Result) -> str:
        if result.message:
            return "[red]failed[/]"
        if result.aside:
            return f"[yellow]({result.ratio:.2g})[/]"
        return f"[{'green' if result.ratio <= 1.0 else 'red'}]{result.ratio:.2g}[/]"

    console.print(matrix(results, "L1 error / (tol * scale), largest of q, v, impulse; (aside)", coloured))
    console.print(matrix(results, "L1 error / tol", lambda r: f"{r.plain:.2g}"))
    console.print(matrix(results, "force evaluations f + nv jac", lambda r: f"{r.evaluations}"))
    console.print(matrix(results, "steps / events", lambda r: f"{r.steps}/{r.events}"))
    console.print(matrix(results, "milliseconds", lambda r: f"{1e3 * r.seconds:.1f}"))
    if rows:
        for r in results:
            parts = "  ".join(f"{name} {value:.2g}" for name, value in r.ratios.items())
            console.print(f"{r.problem:22s}{r.tol:.0e}  {parts}  doubt {r.doubt:.1g}")
    for r in results:
        if r.message:
            console.print(f"[red]{r.problem} at {r.tol:.0e} failed:[/] {r.message}")
    aside = [r for r in results if r.aside]
    for r in aside:
        console.print(f"[yellow]{r.problem} at {r.tol:.0e} set aside:[/] references differ by {r.doubt:.2g} tol scale")
    judged = [r for r in results if not r.aside]
    kept = sum(r.ratio <= 1.0 for r in judged)
    plain = sum(r.plain <= 1.0 for r in judged)
    console.print(f"kept: {kept} of {len(judged)} ({plain} with scale = 1); set aside: {len(aside)}")


def measure() -> list[Row]:
    """Return the worst ratio per problem over all tolerances."""
    results = contract(factory_of(flagship()), repeats=1)
    rows = []
    for name in CASES:
        mine = [r for r in results if r.problem == name and not r.aside]
        worst = max(mine, key=lambda r: r.ratio)
        note = worst.message or f"worst at tol = {worst.tol:.0e}, {len(mine)} tolerances, plain {worst.plain:.2g}"
        rows.append(Row(f"{name}, L1 error over tol scale", worst.ratio, "at most", 1.0, "", note))
    return rows


def chosen_scheme(parser: argparse.ArgumentParser) -> None:
    """Add the option --scheme, by its name of the command line."""
    parser.add_argument("--scheme", default=None, help="e.g. event-driven; HpTDG where it exists by default")


def scheme_named(name: str | None):
    """Return the class of a scheme."""
    if name is None:
        return flagship()
    classes = scheme_classes()
    if name not in classes:
        raise SystemExit(f"there is no scheme {name!r}: take one of {', '.join(classes)}")
    return classes[name]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen_scheme(parser)
    parser.add_argument("--tol", default=None, help="tolerances with commas; 1e-3 to 1e-11 by default")
    parser.add_argument("--problem", default=None, help=f"names with commas, of {', '.join(CASES)}")
    parser.add_argument("--rows", action="store_true", help="also the ratios of q, v and impulse one by one")
    given = parser.parse_args()
    tols = TOLERANCES if given.tol is None else [float(tol) for tol in given.tol.split(",")]
    names = CASES if given.problem is None else given.problem.replace("-", "_").split(",")
    console = Console(width=max(Console().width, 150))
    show(contract(factory_of(scheme_named(given.scheme)), names, tols), console, rows=given.rows)
