"""The picture of delassus: gaps of both ends by the naive rule and by the contact law, over lifts and over time."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from saltus.plot import COLOURS, SolutionFigure
from saltus.schemes import EventDriven
from saltus.solve import solve

from .delassus import ROD, contact_law, dropped, lifted_rod
from .tabled import Tabled

LIFTS = np.linspace(0.0, 4.0, 161)  # over the weight


def draw(made: Tabled) -> Figure:
    """Draw the force of end 1 over the lift, and the gap of end 1 over time."""
    W, M = np.array([[1.0, -ROD.half], [1.0, ROD.half]]), np.diag([ROD.mass, ROD.mass * ROD.half**2 / 3.0])
    D = W @ np.linalg.solve(M, W.T)
    loads = [
        W @ np.linalg.solve(M, [ROD.mass * ROD.gravity * (x - 1.0), ROD.mass * ROD.gravity * x * ROD.place])
        for x in LIFTS
    ]
    rules = {
        "both held": lambda b: np.linalg.solve(D, -b),
        "negative ones dropped": lambda b: dropped(D, b),
        "contact law": lambda b: contact_law(D, b),
    }
    with mpl.rc_context({"axes.spines.top": False, "axes.spines.right": False, "font.size": 8.5}):
        figure = SolutionFigure(figsize=(10.5, 4.0), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        for k, (name, rule) in enumerate(rules.items()):
            forces = np.array([rule(b) for b in loads])
            left.plot(LIFTS, forces[:, 0], color=COLOURS[k], linewidth=3.0 - k, label=name)
        left.axhline(0.0, color="#bbbbbb", linewidth=0.8)
        weights, lowest = ROD.lift / (ROD.mass * ROD.gravity), np.linalg.solve(D, -loads[-1])[0]
        left.axvline(weights, color="#bbbbbb", linewidth=0.8, linestyle="--")
        grey = {"color": "#777777", "fontsize": 7.5}
        left.annotate("drawn right", (weights, lowest), (4.0, 0.0), textcoords="offset points", **grey)
        left.set_xlabel("lift over weight [-]")
        left.set_ylabel("force on end 1 at the start [N]")
        left.set_title("three rules for a rod on two ends, lifted beside its middle", fontsize=9.0)
        left.legend(frameon=False, fontsize=7.5)
        run = solve(lifted_rod(), scheme=EventDriven(), tol=1e-9)
        times = np.linspace(0.0, ROD.t_end, 201)
        q = run(times).q
        load = W @ np.linalg.solve(M, [ROD.lift - ROD.mass * ROD.gravity, ROD.lift * ROD.place])
        start = 0.5 * (D @ made.results["naive"] + load)
        right.plot(times, 1e3 * start[0] * times**2, color=COLOURS[1], label="negative ones dropped")
        right.plot(
            times, 1e3 * (q[:, 0] - ROD.half * np.sin(q[:, 1])), color=COLOURS[2], label="contact law, event-driven"
        )
        right.set_xlabel("t [s]")
        right.set_ylabel("gap of end 1 [mm]")
        right.set_title(
            f"lift of {ROD.lift / (ROD.mass * ROD.gravity):g} weights: below 0 the end sinks into the floor",
            fontsize=9.0,
        )
        right.legend(frameon=False, fontsize=7.5)
    return figure
