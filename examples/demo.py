"""make demo: four flagships with the default scheme, each verified by a second run; figures and a page that moves."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

import saltus as sl

# problem, tolerance: the default scheme keeps mean errors of q, v and impulses below it
FLAGSHIPS = {
    "ball": (sl.problems.zeno_ball(), 1e-8),
    "oscillator": (sl.problems.impact_oscillator(), 1e-8),
    "valve train": (sl.problems.valve_train_bodies(), 1e-4),
    "breaker": (sl.problems.circuit_breaker(), 1e-4),
}
COLUMNS = ("run", "tol", "steps", "impacts", "seconds", "agrees up to", "error / promise", "residual", "defect [J]")


def measured(name: str, problem: sl.Problem, tol: float) -> tuple[sl.Solution, tuple[str, ...]]:
    """Run a problem, verify it by a second run, and return it with its line of the table."""
    began = time.perf_counter()
    solution = sl.solve(problem, tol=tol)
    seconds = time.perf_counter() - began
    proof = solution.verify()
    until = proof.t[-1] if proof.parting is None else proof.parting.t
    line = (
        name,
        f"{tol:.0e}",
        f"{solution.work['steps']:,}",
        f"{int(solution.events['count'].sum()):,}",
        f"{seconds:.2f}",
        f"{until:.4g} of {solution.t[-1]:.4g} s",
        f"{max(proof.ratios.values()):.1e}",
        f"{np.max(solution.residual, initial=0.0):.0e}",
        f"{np.max(np.abs(solution.energy.defect)):.0e}",
    )
    return solution, line


def draw(runs: dict[str, sl.Solution], output: Path) -> list[Path]:
    """Draw what each run is known for, and write the breaker as a page that moves."""
    files: dict[str, Any] = {
        "ball.png": lambda path: runs["ball"].plot(time="event", path=path),
        "oscillator.png": lambda path: sl.plot.phase(runs["oscillator"], path=path),
        "valve_train.png": lambda path: sl.plot.gantt(runs["valve train"], path=path),
        "valve_train_energy.png": lambda path: sl.plot.energy(runs["valve train"], path=path),
        "breaker.png": lambda path: runs["breaker"].strobe(path=path),
        "breaker.html": lambda path: runs["breaker"].view(path),
    }
    for name, write in files.items():
        write(output / name)
    return [output / name for name in files]


def main(output: Path) -> None:
    """Run, verify, draw, and print what was measured."""
    console = Console(width=130)
    output.mkdir(parents=True, exist_ok=True)
    table = Table(title="The default scheme, each run verified by a second one", title_justify="left")
    for column in COLUMNS:
        table.add_column(Text(column), justify="left" if column == "run" else "right")  # as text: [J] is no markup
    runs = {}
    for name, (problem, tol) in FLAGSHIPS.items():
        runs[name], line = measured(name, problem, tol)
        table.add_row(*line)
    console.print(table)
    exact = sl.study.errors(runs["ball"], None, "v", ("L1",))["L1"]
    console.print(
        f"The ball against its exact solution: mean error of the velocity {exact / runs['ball'].t[-1]:.1e} m/s"
    )
    for path in draw(runs, output):
        console.print(f"written: {path}", soft_wrap=True)
    console.print("Open the page in a browser: space plays, full stop and comma step from event to event.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder of the pictures")
    main(parser.parse_args().output)
