"""A block pulled out of a stack: friction holds it, takes along what lies on it, or lets it go.

With m blocks above the pulled one and a force F, friction below can hold mu (m + 1) mass gravity; what lies above comes
along up to the acceleration mu gravity.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np

import saltus as sl

BLOCKS, PULLED, MU = 5, 1, 0.3  # the second block from below
MASS, GRAVITY, WIDTH, HEIGHT = 1.0, 9.81, 0.3, 0.1  # [kg], [m/s^2], [m], [m]
FORCES = (10.0, 20.0, 60.0)  # [N]
ABOVE = BLOCKS - PULLED - 1


def pull(force: float, t_end: float = 0.08, h: float = 1e-3) -> sl.Solution:
    """Pull at the centre of the block, along the ground."""
    stack = sl.problems.block_stack(n=BLOCKS, width=WIDTH, height=HEIGHT, mass=MASS, gravity=GRAVITY, mu=MU)
    f = np.array(stack.system.f)
    f[3 * PULLED] += force
    system = dataclasses.replace(stack.system, f=f)
    return sl.solve(system, (0.0, t_end), stack.q0, stack.v0, scheme=sl.MoreauJean(), h=h)


def exact_speeds(force: float, t: float) -> np.ndarray:
    """Return the exact speeds of the blocks along the ground [m/s]."""
    friction, speeds = MU * MASS * GRAVITY, np.zeros(BLOCKS)
    together = max((force - (ABOVE + 1) * friction) / ((ABOVE + 1) * MASS), 0.0)
    alone = (force - (2 * ABOVE + 1) * friction) / MASS
    carried = MU * GRAVITY
    speeds[PULLED] = t * (together if together <= carried else alone)
    speeds[PULLED + 1 :] = t * min(together, carried)
    return speeds


def draw(solutions: list[sl.Solution], path: Path) -> None:
    """Draw the stacks at the end, each beside its force."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    figure, axes = plt.subplots(1, len(solutions), figsize=(9.0, 3.2), sharey=True, layout="constrained")
    for axis, force, solution in zip(axes, FORCES, solutions, strict=True):
        for k, (x, y, phi) in enumerate(solution.q[-1].reshape(BLOCKS, 3)):
            c, s = np.cos(phi), np.sin(phi)
            corner = x - c * WIDTH / 2 + s * HEIGHT / 2, y - s * WIDTH / 2 - c * HEIGHT / 2
            colour = "tab:orange" if k == PULLED else "0.75"
            axis.add_patch(Rectangle(corner, WIDTH, HEIGHT, angle=np.degrees(phi), facecolor=colour, edgecolor="0.3"))
        x, y = solution.q[-1].reshape(BLOCKS, 3)[PULLED, :2]
        axis.annotate("", (x + WIDTH / 2 + 0.09, y), (x + WIDTH / 2, y), arrowprops={"arrowstyle": "->"})
        axis.axvline(0.0, color="0.6", linewidth=0.8, linestyle=":")
        axis.axhline(0.0, color="0.2", linewidth=1.0)
        axis.set(xlim=(-0.22, 0.40), ylim=(-0.02, BLOCKS * HEIGHT + 0.03), aspect="equal", xlabel="x [m]")
        axis.set_title(f"F = {force:g} N, t = {solution.t[-1]:g} s", fontsize=10)
    axes[0].set_ylabel("y [m]")
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    solutions = [pull(force) for force in FORCES]
    for force, solution in zip(FORCES, solutions, strict=True):
        speeds = solution.v[-1].reshape(BLOCKS, 3)[:, 0]
        exact = exact_speeds(force, solution.t[-1])
        print(f"F = {force:4.0f} N: speeds {np.round(speeds, 4)} m/s, error {np.abs(speeds - exact).max():.1e}")
        print(f"  largest contact residual {solution.residual.max():.1e}")
        assert np.abs(speeds - exact).max() < 1e-9
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(solutions, Path(sys.argv[1]))
        print(f"picture in {sys.argv[1]}")
