"""Four-bar linkage in bodies, one pin worn: the motion of the model written by hand, and the orbit of its journal."""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl


def orbit(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the way from the bearing (rocker) to the journal (coupler) [m]."""
    x = q[:, 3] + 0.06 * np.cos(q[:, 5]) - q[:, 6] - 0.05 * np.cos(q[:, 8])
    y = q[:, 4] + 0.06 * np.sin(q[:, 5]) - q[:, 7] - 0.05 * np.sin(q[:, 8])
    return x, y


def draw(solution: sl.Solution, path: str) -> None:
    """Draw what the run did."""
    import matplotlib.pyplot as plt

    t = np.linspace(0.0, solution.t[-1], 4000)
    q = solution(t).q
    x, y = orbit(q)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
    for k in np.linspace(0, len(t) - 1, 9).astype(int):
        for bar, length, colour in ((0, 0.05, "C0"), (1, 0.12, "C1"), (2, 0.10, "C2")):
            cx, cy, angle = q[k, 3 * bar : 3 * bar + 3]
            along = 0.5 * length * np.array([-1.0, 1.0])
            left.plot(
                cx + along * np.cos(angle), cy + along * np.sin(angle), colour, lw=2.0, alpha=0.3 + 0.08 * k / 500
            )
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="crank, coupler, rocker")
    right.plot(1e3 * x, 1e3 * y, lw=0.7)
    turn = np.linspace(0.0, 2.0 * np.pi, 200)
    right.plot(0.2 * np.cos(turn), 0.2 * np.sin(turn), "k--", lw=1.0)
    right.set(aspect="equal", xlabel="x [mm]", ylabel="y [mm]", title="journal in its bearing, clearance dashed")
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    by_hand = sl.solve(sl.problems.four_bar(), (0.0, 0.2), tol=1e-8)
    solution = sl.solve(sl.problems.four_bar_bodies(), (0.0, 0.2), tol=1e-8)
    print(solution)
    apart = float(np.max(np.abs(solution.q[-1] - by_hand.q[-1])))
    print(f"after 0.2 s the model in bodies and the one written by hand differ by {apart:.1e}")
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(solution, sys.argv[1])
    assert apart < 1e-10
