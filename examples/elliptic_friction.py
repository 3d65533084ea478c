"""Sideways down a slope: friction in an ellipse, as under skis, turns a slide away from the way down.

The closed form: the direction s of a steady slide is that of `sin(slope) d - cos(slope) mu^2 s / |mu s|`, d downhill.
Run it: python examples/elliptic_friction.py, or with the name of a picture: ... elliptic_friction.py slide.png
"""

from __future__ import annotations

import sys

import numpy as np

import saltus as sl

GRAVITY, SLOPE, MU = 9.81, np.radians(30.0), (0.2, 0.5)  # [m/s^2], [rad], along and across the skis


def run(turn: float, t_end: float = 2.0) -> sl.Solution:
    """Slide from rest; q = (x downhill, y across, height), turn: angle of the skis to the way down [rad]."""
    c, s = np.cos(turn), np.sin(turn)
    snow = sl.Contact(
        lambda q: q[2], mu=MU, slip=lambda t, q, v: [c * v[0] + s * v[1], c * v[1] - s * v[0]], name="snow"
    )
    weight = [GRAVITY * np.sin(SLOPE), 0.0, -GRAVITY * np.cos(SLOPE)]
    skis = sl.System(M=1.0, f=weight, contacts=[snow], name="skis")
    return sl.solve(skis, (0.0, t_end), np.zeros(3), np.zeros(3), tol=1e-10)


def steady(turn: float) -> float:
    """Return the direction of the slide against the way down [rad], by bisection of the closed form."""

    def off(way: float) -> float:
        s = np.array([np.cos(way - turn), np.sin(way - turn)])  # in the axes of the skis
        mu, d = np.array(MU), np.array([np.cos(turn), -np.sin(turn)])
        pull = np.sin(SLOPE) * d - np.cos(SLOPE) * mu**2 * s / np.linalg.norm(mu * s)
        return float(s[0] * pull[1] - s[1] * pull[0])

    low, high = 0.0, turn  # between the way down and the skis
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if off(middle) > 0.0 else (low, middle)
    return low


def draw(path: str, runs: dict[float, sl.Solution]) -> None:
    """Draw the ways that were taken."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.0, 3.0), layout="constrained")
    for turn, solution in runs.items():
        (line,) = axes.plot(solution.q[:, 0], solution.q[:, 1], label=f"skis at {np.degrees(turn):.0f}°")
        x, y = solution.q[-1, :2]
        along = 0.4 * np.array([np.cos(turn), np.sin(turn)])
        axes.plot([x - along[0], x + along[0]], [y - along[1], y + along[1]], color=line.get_color(), linewidth=4.0)
    axes.set(xlabel="downhill [m]", ylabel="across [m]", title="Two seconds from rest", aspect="equal")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    slides = {angle: run(angle) for angle in np.radians([0.0, 20.0, 40.0, 60.0]).tolist()}
    for turn, solution in slides.items():
        way = np.arctan2(solution.q[-1, 1], solution.q[-1, 0])
        found, exact = np.degrees(way), np.degrees(steady(turn))
        print(f"skis at {np.degrees(turn):2.0f}°: slides at {found:9.6f}° (exact {exact:9.6f}°)")
        assert abs(way - steady(turn)) < 1e-9
    if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
        draw(sys.argv[1], slides)
