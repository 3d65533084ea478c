"""A loose gear rattles in its backlash: which flank strikes how hard, and the spectrum of the noise."""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl


def draw(solution: sl.Solution, path: str) -> None:
    """Draw the gears, the play between their flanks and the spectrum of the wheel's speed."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13.0, 4.0), layout="constrained")
    solution.strobe([solution.t[-1]], axes=axes[0])
    t = np.linspace(0.3, 0.5, 4000)
    for name, column in zip(solution.system.contact_names, solution.gap_at(t).T, strict=True):
        axes[1].plot(t, 1e6 * column, label=name)
    axes[1].set(xlabel="t [s]", ylabel="play of the flanks [um]", title="the teeth cross their backlash")
    axes[1].legend(loc="upper right")
    solution.spectrum("wheel.angle_dot", span=(0.1, 0.5), dt=5e-4).plot(axes=axes[2])
    axes[2].set_title("spectrum of the wheel")
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    solution = sl.solve(sl.problems.gear_rattle(), tol=1e-6)
    print(solution.events.summary())
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(solution, sys.argv[1])
    drive, coast = (solution.events.summary()[f"mesh.{flank}"] for flank in ("drive", "coast"))
    assert drive.impacts > 20 and coast.impacts > 20  # both flanks strike: it rattles
    f, _ = solution.spectrum("wheel.angle_dot", span=(0.1, 0.5)).peaks(1)[0]
    assert abs(f - 30.0) < 3.0
