"""EventDriven on 10 000 random oscillators: impacts missed, errors over the tolerance, force evaluations."""

from __future__ import annotations

import itertools
import sys

import numpy as np
from rich.console import Console
from rich.progress import track
from rows import Row

import saltus as sl
from saltus import problems

EXAMPLES = 10_000
TOLERANCES = (1e-4, 1e-8)
GRAZING = 10.0  # tolerances: a start that near has other impacts, or without the wall the impact would go that deep


def oscillator(rng: np.random.Generator):
    """Draw an oscillator with a wall anywhere; return it as a function of the change of its start.

    And the acceleration off the wall [m/s^2] as a function of time.
    """
    stiffness, wall, e = rng.uniform(0.3, 4.0), rng.uniform(-0.9, 0.4), rng.uniform(0.31, 0.97)
    q0, v0 = rng.uniform(0.5, 2.0), rng.uniform(-2.0, 2.0)

    def make(dq: float, dv: float) -> sl.Problem:
        return problems.impact_oscillator(stiffness=stiffness, wall=wall, e=e, q0=q0 + dq, v0=v0 + dv, t_end=17.0)

    return make, lambda t: -stiffness * wall + 0.0 * t


def walls(rng: np.random.Generator):
    """Draw a particle between two walls."""
    width, e1, e2 = rng.uniform(0.1, 3.0), rng.uniform(0.3, 0.97), rng.uniform(0.3, 0.97)
    q0, v0 = width * rng.uniform(0.1, 0.9), rng.uniform(0.2, 9.0)

    def make(dq: float, dv: float) -> sl.Problem:
        return problems.two_walls(width=width, e1=e1, e2=e2, q0=q0 + dq, v0=v0 + dv, t_end=6.3)

    return make, lambda t: 0.0 * t


def forced(rng: np.random.Generator):
    """Draw a forced oscillator against a stop, also one that comes to rest on it and is pulled off."""
    amplitude, omega, phase = rng.uniform(0.2, 2.0), rng.uniform(1.3, 5.0), rng.uniform(0.1, 6.0)
    wall, e = amplitude * rng.uniform(-0.7, 0.7), rng.uniform(0.3, 0.95)
    q0 = wall - rng.uniform(0.05, 1.0)

    def make(dq: float, dv: float) -> sl.Problem:
        return problems.forced_impact_oscillator(
            amplitude=amplitude, omega=omega, phase=phase, wall=wall, e=e, q0=q0 + dq, v0=0.03 + dv, t_end=9.1
        )

    return make, lambda t: wall - amplitude * np.cos(omega * t + phase)


KINDS = {"oscillators": oscillator, "particles between walls": walls, "forced oscillators": forced}


def clear_impacts(problem: sl.Problem, opening, tol: float) -> tuple[np.ndarray, bool]:
    """Return the exact impacts before the first slow or grazing one, and whether these are all."""
    jumps = np.asarray(problem.exact.jumps)
    deep = np.sqrt(np.maximum(2.0 * GRAZING * tol * opening(jumps), 0.0))
    slow = np.flatnonzero(np.abs(problem.exact.v(jumps)[:, 0]) <= np.maximum(deep, GRAZING * tol))
    return (jumps[: slow[0]], False) if len(slow) else (jumps, True)


def missed(make, opening, tol: float) -> tuple[int, float, int] | None:
    """Return the impacts that differ, the largest error of their times over tol, force calls; None where it grazes."""
    problem = make(0.0, 0.0)
    exact, complete = clear_impacts(problem, opening, tol)
    for dq, dv in itertools.product((-GRAZING * tol, GRAZING * tol), repeat=2):
        if len(clear_impacts(make(dq, dv), opening, tol)[0]) != len(exact):
            return None
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=tol, progress=False)
    found = sol.events["t"][sol.events["kind"] == "impact"]
    ends = sol.events["t"][sol.events["kind"] == "zeno"]
    if len(ends):  # an accumulation is one row: the impacts before it must agree, up to the first slow one
        before = np.count_nonzero(found < ends[0])
        found, exact = found[:before], exact[:before]
    if not complete:
        found = found[: len(exact)]
    if len(found) != len(exact):
        return abs(len(found) - len(exact)), np.inf, sol.work["f"]
    return 0, float(np.max(np.abs(found - exact), initial=0.0)) / tol, sol.work["f"]


def study(examples: int) -> list[Row]:
    """Run the random study; every example has its own seed, so that a failure can be repeated alone."""
    rows = []
    console = Console(file=sys.stderr)
    for kind, draw in KINDS.items():
        wrong, failed, grazing, errors, calls = [], [], 0, [], 0
        count = examples // len(KINDS)
        for seed in track(range(count), description=kind, console=console):
            make, opening = draw(np.random.default_rng([seed, *kind.encode()]))
            tol = TOLERANCES[seed % len(TOLERANCES)]
            try:
                result = missed(make, opening, tol)
            except sl.SaltusError as error:
                failed.append((seed, tol, str(error).splitlines()[0]))
                continue
            if result is None:
                grazing += 1
                continue
            if result[0]:
                wrong.append((seed, tol, result[0]))
            errors.append(result[1])
            calls += result[2]
        for line in (*wrong, *failed):
            console.print(kind, *line)
        compared = count - grazing
        middle, high = np.quantile(errors, [0.5, 0.99])
        rows.append(
            Row(
                f"runs of {kind} with impacts missed", len(wrong) + len(failed), "at most", 0, "",
                f"of {compared}, {grazing} grazing left out, {len(failed)} ended in an error; error of the times "
                f"{middle:.2g} tol (median), {high:.2g} tol (99 %); {calls / max(compared, 1):.0f} force calls a run",
            )
        )  # fmt: skip
    return rows


def measure() -> list[Row]:
    return study(EXAMPLES)


if __name__ == "__main__":
    for row in study(int(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES):
        print(f"{row.verdict:8s}{row.what}: {row.measured:g} ({row.note})")
