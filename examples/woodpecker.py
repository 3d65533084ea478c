"""The woodpecker toy finds its limit cycle: it pecks, jams and slides down its pole, the same way every time."""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl


def pecks(solution: sl.Solution) -> np.ndarray:
    """Return the times at which the beak strikes the pole [s]."""
    events = solution.events
    return events["t"][(events["contact"] == "beak") & (events["kind"] == "impact")]


def draw(solution: sl.Solution, path: str) -> None:
    """Draw what the run did."""
    import matplotlib.pyplot as plt

    t = np.linspace(solution.t[-1] - 0.6, solution.t[-1], 4000)
    state = solution(t)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
    left.plot(t, 1e3 * state.q[:, 0], "C0")
    left.set(xlabel="t [s]", ylabel="height of the sleeve [mm]", title="it slides down in steps")
    right.plot(state.q[:, 2], state.v[:, 2], lw=0.8, label="bird")
    right.plot(state.q[:, 1], state.v[:, 1], lw=0.8, label="sleeve")
    right.set(xlabel="tilt [rad]", ylabel="rate [rad/s]", title="the limit cycle")
    right.legend()
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    cycles = []
    for scheme in (sl.HpTDG(), sl.EventDriven()):
        solution = sl.solve(sl.problems.woodpecker(t_end=6.0), scheme=scheme, tol=1e-8)
        strikes = pecks(solution)
        heights = np.array([solution(t).q[0] for t in strikes])
        cycles.append((np.diff(strikes)[-1], np.diff(heights)[-1]))
        print(f"{scheme.name}: period {cycles[-1][0]:.6f} s, {-1e3 * cycles[-1][1]:.4f} mm down in each")
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(solution, sys.argv[1])
    assert np.allclose(cycles[0], cycles[1], rtol=1e-4)
