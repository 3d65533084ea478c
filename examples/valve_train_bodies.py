"""A valve train turned fast: the rocker rattles in its bearing, the valve bounces on its seat, windings clash."""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl


def draw(solution: sl.Solution, path: str) -> None:
    """Draw the train at three times, the motion of the valve, and the orbit of the rocker in its bearing."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(14.0, 4.4), layout="constrained", width_ratios=(1.3, 1.0, 0.8))
    solution.strobe([0.0, 0.0095], axes=axes[0])
    axes[0].set_title("closed, and near the nose of the cam")
    t = np.linspace(0.0, solution.t[-1], 3000)
    axes[1].plot(1e3 * t, 1e3 * (solution.body("valve").pose_at(t)[:, 1] - 0.016))
    axes[1].set(xlabel="t [ms]", ylabel="way of the valve [mm]", title="the valve opens")
    orbit = 1e6 * solution.joint("bearing").eccentricity_at(t)
    axes[2].plot(*orbit.T, lw=0.6)
    axes[2].set(xlabel="x [um]", ylabel="y [um]", title="the rocker in its bearing", aspect="equal")
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    lifts = []
    for scheme, tol in ((sl.EventDriven(), 1e-5), (sl.HpTDG(), 1e-4)):
        solution = sl.solve(sl.problems.valve_train_bodies(), scheme=scheme, tol=tol)
        lifts.append(-(solution.body("valve").position[:, 1].min() - 0.016))
        print(f"{scheme.name}: valve opens by {1e3 * lifts[-1]:.4f} mm, {len(solution.events.of('impact'))} impacts")
    print(solution.events.summary())
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(solution, sys.argv[1])
    assert abs(lifts[0] - lifts[1]) < 2e-5  # through hundreds of impacts the trains differ; their lifts do not
    assert solution.events.summary()["spring.3"].impacts > 10  # windings clash
