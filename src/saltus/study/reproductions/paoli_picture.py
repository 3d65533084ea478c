"""The picture of paoli: the ball with its staircase of velocities, and paths into a right and an obtuse corner."""

from __future__ import annotations

import math

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from saltus import problems
from saltus.plot import COLOURS, SolutionFigure
from saltus.schemes import PaoliVelocity
from saltus.solve import solve

from .paoli import ANGLES, PAOLI_STEPS, SHIFTS, corner
from .tabled import Tabled

COARSE_STEP = math.sqrt(2.0) / 10.0  # [s]: the late impact of the ball can be seen
MAGNIFIED = 30.0  # shifts of the start in the picture, over those of the table


def draw(made: Tabled) -> Figure:
    """Draw the ball, then both corners with e = 0.5."""
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 8.5}):
        figure = SolutionFigure(figsize=(13.0, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        ball, right, obtuse = figure.subplots(1, 3)
        _ball(ball)
        for axes, angle in ((right, "right"), (obtuse, "obtuse")):
            _corner(axes, angle)
    return figure


def _ball(axes: Axes) -> None:
    problem = problems.paoli_ball(e=0.5, t_end=14 * COARSE_STEP)
    run = solve(problem, scheme=PaoliVelocity(between="constant"), h=COARSE_STEP)
    times = np.linspace(0.0, run.t[-1], 801)
    exact = problem.exact.q(times)[:, 0]  # pyright: ignore[reportOptionalMemberAccess]  # the problem has one
    axes.plot(times, exact, color="#bbbbbb", linewidth=3.0, label="q, exact [m]")
    axes.plot(times, run(times).q[:, 0], color=COLOURS[0], linewidth=1.0, label=f"q, h = {COARSE_STEP:.2f} s [m]")
    axes.plot(times, run(times).v[:, 0], color=COLOURS[1], linewidth=1.0, label="v, constant in a step [m/s]")
    axes.set_xlabel("t [s]")
    axes.set_ylabel("q [m], v [m/s]")
    axes.set_title("his ball, e = 0.5: the impact is met a step late", fontsize=9.0)
    axes.legend(frameon=False, fontsize=7.5, loc="upper right")


def _corner(axes: Axes, angle: str) -> None:
    turn = math.radians(ANGLES[angle])
    along = np.array([math.cos(turn), -math.sin(turn)]) * (-1.0 if math.cos(turn) < -1e-9 else 1.0)
    along = along if along[1] > 0.0 else -along
    axes.plot([0.0, 1.1], [0.0, 0.0], color="#444444", linewidth=2.0)
    axes.plot([0.0, 1.1 * along[0]], [0.0, 1.1 * along[1]], color="#444444", linewidth=2.0)
    for k, shift in enumerate(SHIFTS):
        run = solve(corner(angle, 0.5, MAGNIFIED * shift), scheme=PaoliVelocity(), h=PAOLI_STEPS[1])
        label = f"start moved by {1e3 * MAGNIFIED * shift:+g} mm" if shift else "straight into the corner"
        axes.plot(run.q[:, 0], run.q[:, 1], color=COLOURS[k], linewidth=1.2, label=label)
        axes.plot(*run.q[0], color=COLOURS[k], marker="o", markersize=4.0, linestyle="")
        axes.plot(*run.q[-1], color=COLOURS[k], marker="s", markersize=4.0, linestyle="", markerfacecolor="white")
    axes.plot([], [], color="#777777", marker="o", markersize=4.0, linestyle="", label="start")
    axes.plot([], [], color="#777777", marker="s", markersize=4.0, linestyle="", markerfacecolor="white", label="end")
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    kept = "kept: ends are neighbours" if angle == "right" else "violated: they are not"
    axes.set_title(f"kinetic angle of {ANGLES[angle]:g}°, e = 0.5, (H'5) {kept}", fontsize=9.0)
    axes.set_ylim(-0.05, 1.12)
    axes.legend(frameon=False, fontsize=7.5, loc="upper right" if angle == "right" else "upper left")
