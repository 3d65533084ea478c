"""Slider-crank with a worn guide and a worn pin, in bodies and joints: one page of model, and what it shows."""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl
from saltus import mechanics as me

GUIDE, PIN = 1e-3, 2e-4  # play to each side [m]


def mechanism() -> me.Planar:
    """The mechanism of Flores, Leine and Glocker (2010) with homogeneous parts, its slider pin worn too."""
    w = me.Planar(gravity=9.81)
    crank = w.bar(0.153, mass=0.038, name="crank")
    rod = w.bar(0.306, mass=0.038, name="rod")
    block = w.body(me.Box(0.1, 0.05), mass=0.076, name="block")
    w.revolute(w.ground, crank.start)
    w.revolute(crank.end, rod.start)
    w.revolute(rod.end, block.centre, clearance=PIN, radius=5e-3, e=0.4, mu=0.1, name="pin")
    w.guide(block, axis="x", clearance=GUIDE, e=0.4, mu=0.01, name="guide")
    w.start(crank, angle=0.0, speed=150.0)
    return w


def draw(solution: sl.Solution, path: str) -> None:
    """Draw the tilt of the block and the orbit of the pin in its bearing."""
    import matplotlib.pyplot as plt

    t = np.linspace(0.0, solution.t[-1], 4000)
    q = solution(t).q
    x, y = (q[:, 6 + k] - q[:, 3 + k] - 0.153 * (np.cos, np.sin)[k](q[:, 5]) for k in (0, 1))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
    left.plot(1e3 * t, 1e3 * q[:, 7], label="height of its centre [mm]")
    left.plot(1e3 * t, 1e3 * q[:, 8], label="tilt [mrad]")
    left.set(xlabel="t [ms]", title="the block in its guide")
    left.legend()
    right.plot(1e3 * x, 1e3 * y, lw=0.7)
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    right.plot(1e3 * PIN * np.cos(turn), 1e3 * PIN * np.sin(turn), "k--", lw=1.0)
    right.set(xlabel="x [mm]", ylabel="y [mm]", aspect="equal", title="the pin in its bearing, clearance dashed")
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    w = mechanism()
    print(f"assembled: {w.assemble()}")
    solution = sl.solve(w, (0.0, 0.05), tol=1e-6)
    print(solution)
    impacts = solution.events[solution.events["kind"] == "impact"]
    struck, counts = np.unique(impacts["contact"], return_counts=True)
    print("impacts:", ", ".join(f"{name} {count}" for name, count in zip(struck, counts, strict=True)))
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(solution, sys.argv[1])
    assert solution.violation.max() < 1e-9
