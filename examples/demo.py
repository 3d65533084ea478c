"""make demo: three simulations with Moreau-Jean, their errors in a table, their pictures in demo_output/."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from rich.text import Text

import saltus as sl

SCHEME = sl.MoreauJean(theta=0.5)
# not commensurate with the times of impact: on decimal grids the ball's impacts would flatter the scheme
STEP_SIZES = tuple(1e-2 / np.sqrt(2.0) / 2.0**k for k in range(6))
CRANK_STEP_SIZES = (8e-5, 4e-5, 2e-5, 1e-5)
ONE_REVOLUTION = 0.0688  # of the crank [s]
BLUE, RED, GREY = "#0072B2", "#D55E00", "#B8B8B8"


def l1_error(solution: sl.Solution, reference: np.ndarray, quantity: str) -> float:
    """Return the integral over time of |q - q_reference|_1, by the trapezoidal rule on the kept times."""
    return float(np.trapezoid(np.abs(getattr(solution, quantity) - reference).sum(axis=1), solution.t))


def fitted_order(step_sizes: Sequence[float], errors: Sequence[float]) -> float:
    """Return the slope of log error over log h, all levels together: through impacts single pairs scatter."""
    return float(np.polyfit(np.log(step_sizes), np.log(errors), 1)[0])


def against_exact(problem: sl.Problem, step_sizes: Sequence[float] = STEP_SIZES) -> list[tuple[float, float, float]]:
    """Return (h, error of q, error of v) for each step size."""
    rows = []
    for h in step_sizes:
        solution = sl.solve(problem, scheme=SCHEME, h=h)
        errors = (l1_error(solution, getattr(problem.exact, name)(solution.t), name) for name in "qv")
        rows.append((h, *errors))
    return rows


def against_itself(problem: sl.Problem, step_sizes: Sequence[float] = CRANK_STEP_SIZES) -> list[tuple[float, ...]]:
    """Return (h, distances of q and v to the run with h/8, largest contact residual and energy defect)."""
    rows = []
    for h in step_sizes:
        solution = sl.solve(problem, scheme=SCHEME, h=h)
        fine = sl.solve(problem, scheme=SCHEME, h=h / 8.0, save=8)
        distances = (l1_error(solution, getattr(fine, name), name) for name in "qv")
        rows.append((h, *distances, solution.residual.max(), np.abs(solution.energy.defect).max()))
    return rows


def error_table(title: str, columns: Sequence[str], rows: list[tuple[float, ...]], fitted: int) -> Table:
    """Return a table with the fitted order under its first `fitted` columns of errors."""
    table = Table(title=title, title_justify="left", min_width=len(title), header_style="bold")
    for name in columns:
        table.add_column(Text(name), justify="right")  # as text: [s] is a unit, not markup
    for row in rows:
        table.add_row(*(f"{value:.2e}" for value in row))
    table.add_section()
    h = [row[0] for row in rows]
    orders = [f"{fitted_order(h, [row[i] for row in rows]):.2f}" for i in range(1, 1 + fitted)]
    table.add_row("order", *orders, *[""] * (len(columns) - 1 - fitted))
    return table


def draw_slider_crank(solution: sl.Solution, path: Path, clearance: float = 1e-3) -> None:
    """Draw the mechanism at some instants and the way of its slider across the clearance, impacts as dots."""
    l1, l2, half_length, half_height = 0.153, 0.306, 0.05, 0.025
    figure = Figure(figsize=(9.0, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    top, bottom = figure.subplots(2, 1, height_ratios=(1.15, 1.0))

    # ---- the mechanism, one revolution in eight pictures, the last one dark
    last = int(np.searchsorted(solution.q[:, 0], 2.0 * np.pi * 0.9))
    instants = np.searchsorted(solution.q[:, 0], np.linspace(0.1, 0.9, 8) * 2.0 * np.pi)
    for k in np.minimum(instants, last):
        shade = "#333333" if k == instants[-1] else GREY
        crank, rod, _ = solution.q[k]
        pin = l1 * np.array([np.cos(crank), np.sin(crank)])
        slider = pin + l2 * np.array([np.cos(rod), np.sin(rod)])
        top.plot(
            [0.0, pin[0], slider[0]],
            [0.0, pin[1], slider[1]],
            "-o",
            color=shade,
            linewidth=1.6,
            markersize=4.0,
        )
        box = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * [half_length, half_height] + slider
        top.plot(*box.T, color=shade, linewidth=1.4)
    for side in (-1.0, 1.0):
        top.plot([0.1, 0.54], [side * (half_height + clearance)] * 2, color="black", linewidth=1.2)
    top.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", xlim=(-0.18, 0.56))
    top.set_title("slider-crank: eight instants of the first revolution", loc="left", fontsize=10.0)

    # ---- across the clearance
    y = l1 * np.sin(solution.q[:, 0]) + l2 * np.sin(solution.q[:, 1])
    millimetres = 1e3
    bottom.axhspan(clearance * millimetres, 1.55, color="#E9E9E9")
    bottom.axhspan(-1.55, -clearance * millimetres, color="#E9E9E9")
    milliseconds = 1e3 * solution.t
    bottom.plot(milliseconds, millimetres * y, color="#333333", linewidth=1.1)
    impacts = solution.events[solution.events["kind"] == "impact"]
    at = np.searchsorted(solution.t, impacts["t"]).clip(max=len(y) - 1)
    for guide, side, colour in (("upper", 1.0, BLUE), ("lower", -1.0, RED)):
        hit = np.char.startswith(impacts["contact"], guide)
        strength = impacts["impulse"][hit, 0]
        where = milliseconds[at[hit]], millimetres * y[at[hit]]
        bottom.scatter(*where, s=2200.0 * strength, color=colour, alpha=0.6, linewidth=0.0, zorder=3)
        bottom.text(milliseconds[-1], side * 1.38, f"{guide} guide ", color=colour, ha="right", va="center")
    bottom.set(xlabel="time t [ms]", ylabel="slider across the guide [mm]", ylim=(-1.55, 1.55))
    bottom.set_xlim(milliseconds[0], milliseconds[-1])
    title = f"motion in the clearance: {len(impacts)} impacts, the area of a dot is its impulse"
    bottom.set_title(title, loc="left", fontsize=10.0)
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def main(output: Path) -> None:
    """Simulate, print the errors, draw."""
    console = Console()
    output.mkdir(parents=True, exist_ok=True)
    ball, oscillator = sl.problems.zeno_ball(), sl.problems.impact_oscillator()
    crank = sl.problems.slider_crank(t_end=ONE_REVOLUTION)
    columns = ("h [s]", "L1 error of q [m s]", "L1 error of v [m]")
    for title, problem in (
        ("Bouncing ball with accumulation of impacts", ball),
        ("Impact oscillator", oscillator),
    ):
        rows = against_exact(problem)
        console.print(error_table(f"{title}, against the exact solution", columns, rows, fitted=2), "")
    columns = ("h [s]", "q [rad s]", "v [rad]", "contact residual", "energy defect [J]")
    title = "Slider-crank with clearance, one revolution: L1 distance to its own run with h/8"
    console.print(error_table(title, columns, against_itself(crank), fitted=2), "")

    sl.solve(ball, scheme=SCHEME, h=1e-3).plot(path=output / "ball.png")
    sl.solve(oscillator, scheme=SCHEME, h=1e-3).plot(path=output / "oscillator.png")
    draw_slider_crank(sl.solve(sl.problems.slider_crank(), scheme=SCHEME, h=1e-5), output / "slider_crank.png")
    for name in ("ball.png", "oscillator.png", "slider_crank.png"):
        console.print(f"picture: {output / name}", soft_wrap=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder of the pictures")
    main(parser.parse_args().output)
