"""A table on four legs whose load wanders to one side until it tips: forces that are not unique, shared admissibly.

`python table_on_legs.py table.png` draws the forces of the legs.
"""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl

MASS, INERTIA, GRAVITY = 3.0, (0.7, 0.9), 9.81  # [kg], about x and y [kg m^2], [m/s^2]
HALF_LENGTH, HALF_WIDTH, MOMENT = 1.0, 0.6, 40.0  # places of the legs [m], growth of the moment [N m/s]
LEGS = {
    "front left": (-HALF_LENGTH, -HALF_WIDTH),
    "front right": (HALF_LENGTH, -HALF_WIDTH),
    "back right": (HALF_LENGTH, HALF_WIDTH),
    "back left": (-HALF_LENGTH, HALF_WIDTH),
}


def run(tol: float = 1e-8) -> sl.Solution:
    """q = (height of the centre, roll, pitch), zero where the table stands."""

    def leg(x, y):
        return lambda q: q[0] + y * np.sin(q[1]) - x * np.sin(q[2]) * np.cos(q[1])

    system = sl.System(
        M=[MASS, *INERTIA],
        f=lambda t, q, v: [-MASS * GRAVITY, 0.0, -MOMENT * t],
        contacts=[sl.Contact(leg(*place), name=name) for name, place in LEGS.items()],
        name="table",
    )
    return sl.solve(system, (0.0, 1.0), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], tol=tol)


def tips() -> float:
    """Return when the moment beats the weight over the edge [s]."""
    return MASS * GRAVITY * HALF_LENGTH / MOMENT


if __name__ == "__main__":
    solution = run()
    for event in solution.events:
        print(f"{event['t']:.6f} s  {event['kind']} of {event['contact']}")
    t = np.linspace(0.0, 1.0, 400)
    forces = solution.force_at(t)
    print(f"least force of a leg {forces.min():.1e} N, tips at {tips():.6f} s")
    assert sorted(solution.events["contact"]) == ["back right", "front right"]
    assert np.abs(solution.events["t"] - tips()).max() < 1e-6
    assert forces.min() > -1e-6
    if len(sys.argv) > 1:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7.0, 4.0))
        for name, force, style in zip(LEGS, forces.T, ("-", "-", "--", "--"), strict=True):
            axes.plot(t, force, style, label=name)
        axes.axvline(tips(), color="0.6", lw=0.8)
        axes.set(xlabel="t [s]", ylabel="force of a leg [N]", title="A table that tips over its left legs")
        axes.legend()
        figure.savefig(sys.argv[1], dpi=130)
