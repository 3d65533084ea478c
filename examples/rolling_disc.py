"""A disc that is thrown slides, rolls and comes to rest: sliding and rolling friction of one normal force.

The closed form: it slides until v = r w, then rolls with v' = -2 mu_r g / (3 r).
Run it: python examples/rolling_disc.py, or with the name of a picture: ... rolling_disc.py disc.png
"""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl

GRAVITY, RADIUS, MU, MU_R = 9.81, 0.5, 0.4, 0.02  # [m/s^2], [m], [-], lever arm of rolling friction [m]


def run(h: float = 1e-3, v0: float = 1.0, t_end: float = 3.0) -> sl.Solution:
    """Throw it without spin; q = (x, height of the centre, angle)."""
    floor = sl.Contact(
        lambda q: q[1] - RADIUS, mu=MU, slip=lambda t, q, v: v[0] - RADIUS * v[2], mu_r=MU_R,
        roll=lambda t, q, v: v[2], name="floor",
    )  # fmt: skip
    disc = sl.System(M=[1.0, 1.0, 0.5 * RADIUS**2], f=[0.0, -GRAVITY, 0.0], contacts=[floor], name="disc")
    return sl.solve(disc, (0.0, t_end), [0.0, RADIUS, 0.0], [v0, 0.0, 0.0], scheme=sl.MoreauJean(), h=h)


def exact(v0: float = 1.0) -> tuple[float, float]:
    """Return when it begins to roll [s] and where it rests [m]."""
    t_rolls = v0 / (GRAVITY * (3.0 * MU - 2.0 * MU_R / RADIUS))
    v_rolls = v0 - MU * GRAVITY * t_rolls
    return t_rolls, 0.5 * (v0 + v_rolls) * t_rolls + 3.0 * v_rolls**2 * RADIUS / (4.0 * MU_R * GRAVITY)


def draw(path: str, solution: sl.Solution) -> None:
    """Draw the velocities of the centre and of the rim against it."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
    axes.plot(solution.t, solution.v[:, 0], label="centre v")
    axes.plot(solution.t, RADIUS * solution.v[:, 2], "--", label="rim r w")
    axes.axvline(exact()[0], color="0.6", linewidth=0.8)
    axes.set(xlabel="t [s]", ylabel="velocity [m/s]", title="Slides, rolls, rests")
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    solution = run()
    t_rolls, x_rests = exact()
    slip = solution.v[:, 0] - RADIUS * solution.v[:, 2]
    found = solution.t[np.argmax(np.abs(slip) < 1e-9)]
    print(f"rolls from {found:.4f} s on (exact {t_rolls:.4f})")
    print(f"rests at {solution.q[-1, 0]:.6f} m (exact {x_rests:.6f})")
    assert abs(found - t_rolls) < 2e-3
    assert abs(solution.q[-1, 0] - x_rests) < 2e-6
    assert np.abs(solution.v[-1]).max() < 1e-12
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(sys.argv[1], solution)
