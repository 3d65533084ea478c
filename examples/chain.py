"""A chain of twenty bars falls from a straight line: joints to rounding, energy to the tolerance."""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl

LENGTH, LINKS = 0.05, 20


def energy(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return kinetic and potential energy of the bars [J]."""
    q, v = q.reshape(len(q), -1, 3), v.reshape(len(v), -1, 3)
    turning = 0.5 * 0.1 * LENGTH**2 / 12.0 * v[:, :, 2] ** 2
    return (0.05 * (v[:, :, 0] ** 2 + v[:, :, 1] ** 2) + turning + 0.1 * 9.81 * q[:, :, 1]).sum(axis=1)


def draw(solution: sl.Solution, path: str) -> None:
    """Draw what the run did."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.0, 5.2), layout="constrained")
    for k, t in enumerate(np.linspace(0.0, solution.t[-1], 10)):
        q = solution(t).q.reshape(-1, 3)
        tips = q[:, :2] + 0.5 * LENGTH * np.column_stack([np.cos(q[:, 2]), np.sin(q[:, 2])])
        tips = np.vstack([[0.0, 0.0], tips])
        axes.plot(tips[:, 0], tips[:, 1], ".-", color=plt.get_cmap("viridis")(k / 9.0), ms=3.0, label=f"{t:.2f} s")
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title=f"a chain of {LINKS} bars")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    problem = sl.problems.chain(n=LINKS, length=LENGTH, t_end=0.6)
    solution = sl.solve(problem, tol=1e-7)
    print(solution)
    drift = float(np.ptp(energy(solution.q, solution.v)))
    apart = max(float(np.max(np.abs(joint.constraint(0.0, solution.q[-1])))) for joint in problem.system.joints)
    print(f"energy within {drift:.1e} J, pins within {apart:.1e} m")
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(solution, sys.argv[1])
    assert drift < 1e-4 and apart < 1e-10
