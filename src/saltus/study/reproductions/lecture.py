"""Errors against work for adaptive, any-order and splitting schemes (Acary, Lecture 2, Aussois 2010, second half).

The lecture draws a ball and a linear oscillator with one contact; it prints the numbers of the ball only, and no theta.
The oscillator here is `impact_oscillator`, and Moreau-Jean runs with theta = 1/2 and theta = 1.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from saltus import problems
from saltus.control import Richardson, VariableOrder
from saltus.errors import SettingError
from saltus.problem import Exact
from saltus.run.progress import StudyProgress
from saltus.schemes import AnyOrder, MoreauJean, Splitting
from saltus.study.records import aligned, csv_text, data_frame, markdown_table
from saltus.study.work_precision import work_precision
from saltus.study.work_table import WORK_FIELDS, WorkPrecision

TITLE = "Precision and work of adaptive, any-order and splitting schemes (Acary, Lecture 2, 2010)"
LECTURE_QUANTITIES = ("q", "v")
PROBLEMS = {"ball": problems.zeno_ball, "oscillator": problems.impact_oscillator}
COMPARED_IMPLICIT = ("radau3", "radau5", "lobatto3a", "lobatto3c")
HALF_EXPLICIT = ("heun", "kutta3", "rk4", "dopri5", "dop853")
ORDERS = (0, 1, 2)  # of the estimates
HALVES = {"θ = 1/2": 0.5, "θ = 1": 1.0}

LECTURE_TOLERANCES = {"full": np.geomspace(1e-2, 1e-6, 17), "quick": np.geomspace(1e-2, 1e-6, 5)}
COARSE_TOLERANCES = {"full": np.geomspace(1e-2, 1e-4, 9), "quick": np.geomspace(1e-2, 1e-3, 3)}  # of schemes of order 1
# step sizes [s], largest and smallest; no impact of the ball lies on their grids
ANY_ORDER_STEPS = {
    "full": {"ball": (0.293, 1.23e-3), "oscillator": (0.367, 6.1e-3)},
    "quick": {"ball": (0.293, 6.1e-3), "oscillator": (0.367, 0.0307)},
}
SPLITTING_STEPS = {
    "full": {"ball": (0.0733, 9.2e-4), "oscillator": (0.367, 4.6e-3)},
    "quick": {"ball": (0.0733, 3.7e-3), "oscillator": (0.367, 0.0183)},
}
ANY_ORDER_COUNT = {"full": 13, "quick": 5}
SPLITTING_COUNT = {"full": 48, "quick": 24}  # many, because errors scatter


class _Lecture(NamedTuple):
    """Tuned numbers of this file."""

    grids: int = 4  # neighbouring step sizes of Splitting whose mean error makes one point of the fit
    decades: float = 8.0  # of errors that the steps of AnyOrder go through; more would end in rounding
    # L1 error relative to the span and the largest value, below which nothing but rounding is left
    rounding: float = 1e-14
    samples: int = 1001  # of an exact solution, for its largest value
    fewest: int = 3  # points above rounding that make a slope


LECTURE = _Lecture()


@dataclasses.dataclass(frozen=True)
class Family:
    """Runs that one row of the picture shows.

    Parameters
    ----------
    title
        What they are.
    runs
        {label: arguments of solve}, with the tolerances (tol) or {problem: step sizes [s]} (h) of each run.
    promised
        {label: slope of the error over tol or h that theory promises}; runs without a promise are missing.
    grids
        How many neighbouring step sizes make one point of the fit, by their mean error.
    """

    title: str
    runs: dict[str, dict[str, Any]]
    promised: dict[str, float]
    grids: int = 1

    def of(self, problem: str) -> dict[str, dict[str, Any]]:
        """Return the arguments of solve for a problem."""
        return {
            label: {name: value[problem] if name == "h" else value for name, value in run.items()}
            for label, run in self.runs.items()
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Lecture:
    """The result of `lecture`.

    Attributes
    ----------
    families
        {name: Family}.
    tables
        {(family, problem): WorkPrecision}, L1 errors of q and v over the dense output.
    interrupted
        Whether Ctrl-C ended it early.
    """

    families: dict[str, Family]
    tables: dict[tuple[str, str], WorkPrecision]
    interrupted: bool = False

    def slope(
        self,
        family: str,
        problem: str,
        run: str,
        quantity: str,
        *,
        against: Literal["setting", "evaluations"] = "setting",
    ) -> float:
        """Return the fitted slope of log(error) over log(tol or h), or over log(evaluations).

        Runs that failed are left out, and so are those from the first error on that is rounding; nan where fewer than
        three points are left.
        """
        if (family, problem) not in self.tables:
            known = "; ".join(map(", ".join, self.tables)) or "none"
            raise SettingError(f"no runs of {family}, {problem}: there are {known}")
        table = self.tables[family, problem]
        order = np.argsort(-table.setting(run), kind="stable")
        error, x = table.error(run, quantity)[order], getattr(table, against)(run)[order]
        rounded = error <= floor(problem, quantity)
        count = int(np.argmax(rounded)) if np.any(rounded) else len(error)
        good = np.isfinite(error[:count]) & np.isfinite(x[:count])
        error, x = error[:count][good], x[:count][good]
        grids = self.families[family].grids if table.of(run)[0].setting == "h" else 1
        whole = grids * (len(error) // grids)
        error, x = error[:whole].reshape(-1, grids).mean(axis=1), np.log(x[:whole]).reshape(-1, grids).mean(axis=1)
        if len(error) < LECTURE.fewest or len(np.unique(x)) < 2:
            return math.nan
        return float(np.polyfit(x, np.log(error), 1)[0])

    def rows(self) -> list[dict[str, Any]]:
        """Return one record per run and quantity."""
        return [
            {"family": family, "problem": problem, **row}
            for (family, problem), table in self.tables.items()
            for row in table.rows()
        ]

    def to_csv(self, path: str | os.PathLike | None = None) -> str:
        """Return all runs as CSV text, one line per run and quantity; write it if a path is given."""
        return csv_text(("family", "problem", *WORK_FIELDS), self.rows(), path)

    def to_pandas(self):
        """Return all runs as a pandas data frame, one row per run and quantity."""
        return data_frame(("family", "problem", *WORK_FIELDS), self.rows())

    def __str__(self) -> str:
        heads = ["family", "problem", "run", "over", "q", "v", "promised", "work: q", "v", "finest", "evaluations"]
        cells = [[*heads, "q [m s]", "v [m]"]]
        for (family, problem), table in self.tables.items():
            for k, label in enumerate(table.runs):
                if table.of(label):
                    cells.append([*((family, problem) if k == 0 else ("", "")), *self._cells(family, problem, label)])
        lines = [TITLE, *self._about(), "", *aligned(cells, right=range(4, len(cells[0])))]
        failed = [(key, point) for key, table in self.tables.items() for point in table.failures]
        for key, point in failed:
            lines.append(
                f"failed: {', '.join(key)}, {point.label}, {point.setting} = {point.value:.3g}: {point.message}"
            )
        if self.interrupted:
            lines.append(f"interrupted after {sum(len(table.points) for table in self.tables.values())} runs")
        return "\n".join(lines)

    __repr__ = __str__

    def _cells(self, family: str, problem: str, label: str) -> list[str]:
        table = self.tables[family, problem]
        finest = min(table.of(label), key=lambda point: point.value)
        slopes = {
            (against, quantity): self.slope(family, problem, label, quantity, against=against)
            for against in ("setting", "evaluations")
            for quantity in LECTURE_QUANTITIES
        }
        return [
            label,
            finest.setting,
            *(_number(slopes["setting", x]) for x in LECTURE_QUANTITIES),
            f"{self.families[family].promised[label]:g}" if label in self.families[family].promised else "-",
            *(_number(slopes["evaluations", x]) for x in LECTURE_QUANTITIES),
            f"{finest.value:.1e}",
            "-" if math.isnan(finest.evaluations) else f"{int(finest.evaluations):,}",
            *("failed" if finest.failed else f"{finest.error(x, 'L1'):.1e}" for x in LECTURE_QUANTITIES),
        ]

    def markdown(self) -> str:
        """Return the slopes of the error in q as documents hold them, over tol or h and over the work."""
        names = list(dict.fromkeys(problem for _, problem in self.tables))
        cells = [["family", "run", *names, *(f"{name}, work" for name in names)]]
        for family, chosen in self.families.items():
            there = [name for name in names if (family, name) in self.tables]
            for k, label in enumerate(chosen.runs):
                slopes = [
                    _number(self.slope(family, name, label, "q", against=against)) if name in there else ""
                    for against in ("setting", "evaluations")
                    for name in names
                ]
                cells.append([family if k == 0 else "", label, *slopes])
        return markdown_table(cells)

    def _about(self) -> list[str]:
        return [
            "  slopes of the L1 errors of q and v over tol or h, as measured and as promised, and over the work",
            "  work: force evaluations and Jacobians; finest: the smallest tol or h [s], its work and its errors",
        ]

    def plot(self, *, path: str | os.PathLike | None = None):
        """Draw the errors over the work, a row per family; returns the figure. path writes .png, .pdf or .svg."""
        from .lecture_picture import draw  # here, because it brings matplotlib

        figure = draw(self)
        if path is not None:
            figure.savefig(path, dpi=110)
        return figure


def lecture(*, families: Sequence[str] | None = None, quick: bool = False, progress: bool | None = None) -> Lecture:
    """Run ball and oscillator through tolerances and step sizes, by the controls and schemes of the lecture.

    Parameters
    ----------
    families
        Any of "orders", "violation", "variable-order", "implicit", "half-explicit", "splitting"; None takes all.
    quick
        Fewer tolerances and step sizes: some seconds instead of a minute.
    progress
        Show a progress bar; None shows one on a terminal when it takes more than a second.
    """
    known = all_families(quick)
    wanted = list(known) if families is None else [families] if isinstance(families, str) else list(families)
    for name in wanted:
        if name not in known:
            raise SettingError(f"families contains {name!r}: families are {', '.join(known)}")
    chosen = {name: known[name] for name in wanted}
    tables: dict[tuple[str, str], WorkPrecision] = {}
    made = {name: problem() for name, problem in PROBLEMS.items()}
    pairs = [(family, problem) for family in chosen for problem in made]
    with StudyProgress([len(chosen[family].runs) for family, _ in pairs], progress) as bar:
        for family, problem in pairs:
            bar.next_run()
            runs = chosen[family].of(problem)
            table = work_precision(made[problem], runs, quantities=LECTURE_QUANTITIES, progress=False)
            tables[family, problem] = table
            if table.interrupted:
                return Lecture(chosen, tables, interrupted=True)
    return Lecture(chosen, tables)


def all_families(quick: bool = False) -> dict[str, Family]:
    """Return all runs of the lecture."""
    speed = "quick" if quick else "full"
    return {
        "orders": Family(
            "Moreau-Jean, Richardson's estimate of order 0, 1, 2 (eqs. 54-59, 73)", _richardson(speed, False), {}
        ),
        "violation": Family(
            "Moreau-Jean, the same with the violation of the constraint (eqs. 74, 75)", _richardson(speed, True), {}
        ),
        "variable-order": _variable_order(speed),
        "implicit": _any_order("Any order, implicit Runge-Kutta methods (eqs. 76-82)", COMPARED_IMPLICIT, speed),
        "half-explicit": _any_order("Any order, half-explicit Runge-Kutta methods (eqs. 76-82)", HALF_EXPLICIT, speed),
        "splitting": _splitting(speed),
    }


def _richardson(speed: str, violation: bool) -> dict[str, dict[str, Any]]:
    """Differences alone and every step allowed to err by the tolerance, as in the lecture."""
    return {
        f"order {order}, {name}": {
            "scheme": MoreauJean(theta=theta),
            "control": Richardson(order=order, horizon="step", violation=violation, impacts=False),
            "tol": LECTURE_TOLERANCES[speed],
        }
        for name, theta in HALVES.items()
        for order in ORDERS
    }


def _variable_order(speed: str) -> Family:
    runs, promised = {}, {}
    for name, theta in HALVES.items():
        tols = LECTURE_TOLERANCES[speed] if theta == 0.5 else COARSE_TOLERANCES[speed]
        scheme, located = MoreauJean(theta=theta), f"located, {name}"
        plain = VariableOrder(horizon="step", impacts=False)
        runs[f"variable, {name}"] = {"scheme": scheme, "control": plain, "tol": LECTURE_TOLERANCES[speed]}
        runs[located] = {"scheme": scheme, "control": VariableOrder(), "tol": tols}
        promised[located] = 1.0
    return Family("Moreau-Jean, variable order; beyond the lecture: impacts located", runs, promised)


def _any_order(title: str, bases: Sequence[str], speed: str) -> Family:
    runs, promised = {}, {}
    for base in bases:
        scheme = AnyOrder(base)
        sizes = {
            problem: np.geomspace(
                largest, max(largest * 10.0 ** (-LECTURE.decades / scheme.order), smallest), ANY_ORDER_COUNT[speed]
            )
            for problem, (largest, smallest) in ANY_ORDER_STEPS[speed].items()
        }
        runs[base] = {"scheme": scheme, "h": sizes}
        promised[base] = float(scheme.order)
    return Family(title, runs, promised)


def _splitting(speed: str) -> Family:
    tols = LECTURE_TOLERANCES[speed]
    sizes = {
        problem: np.geomspace(*limits, SPLITTING_COUNT[speed]) for problem, limits in SPLITTING_STEPS[speed].items()
    }
    constant = {
        "constant": {"scheme": Splitting(), "h": sizes},
        "impulses only": {"scheme": Splitting(contact_forces=False), "h": sizes},
    }
    located = {"located in time": {"scheme": Splitting(location="time"), "tol": tols}}
    halved = {"halved by depth": {"scheme": Splitting(location="penetration"), "tol": tols}}
    return Family(
        "Splitting with rkf45, constant and adaptive steps (eqs. 86-89)",
        constant | halved | located,
        dict.fromkeys([*constant, *located], 1.0),
        LECTURE.grids,
    )


@functools.cache
def floor(problem: str, quantity: str) -> float:
    """Return the error up to which there is nothing but rounding."""
    made = PROBLEMS[problem]()
    exact = made.exact
    if not isinstance(exact, Exact):
        raise SettingError(f"{problem} has no exact solution to compare with")
    start, end = made.t_span
    largest = np.abs(getattr(exact, quantity)(np.linspace(start, end, LECTURE.samples))).max()
    return LECTURE.rounding * (end - start) * max(1.0, float(largest))


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
