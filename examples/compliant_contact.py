"""A floor that gives way: a one-sided spring and damper as an ordinary force, against the rigid law of impact."""

from __future__ import annotations

import numpy as np

import saltus as sl

MASS, GRAVITY, HEIGHT = 1.0, 9.81, 1.0  # [kg], [m/s^2], height of the drop [m]
STIFFNESS = 1e6  # [N/m]: the ball presses the floor in by 4 mm, for 3 ms
OMEGA = np.sqrt(STIFFNESS / MASS)


def push(y, v, damping: float):
    """Return the force of the floor [N] at a damping ratio: it pushes where the ball presses, and never pulls."""
    return np.where(y < 0.0, np.maximum(-STIFFNESS * y - 2.0 * damping * MASS * OMEGA * v, 0.0), 0.0)


def soft(damping: float, h: float = 2e-5) -> sl.Solution:
    """Drop the ball onto the floor; there is no `Contact`, and no velocity jumps."""
    system = sl.System(M=MASS, f=lambda t, q, v: [push(q[0], v[0], damping) - MASS * GRAVITY])
    return sl.solve(system, (0.0, 0.8), HEIGHT, 0.0, scheme=sl.TDGPlus(2, stiff=True), h=h)


def rigid(e: float, h: float = 2e-5) -> sl.Solution:
    """Drop it onto a rigid floor."""
    floor = sl.Contact(gap=lambda q: q[0], e=e, name="floor")
    system = sl.System(M=MASS, f=-MASS * GRAVITY, contacts=[floor])
    return sl.solve(system, (0.0, 0.8), HEIGHT, 0.0, scheme=sl.TDGMinus(2), h=h)


def strike(solution: sl.Solution, damping: float) -> tuple[float, float]:
    """Return how long the ball stays on the floor [s] and the largest force [N]."""
    state = solution(np.linspace(0.45, 0.46, 100_001))
    force = push(state.q[:, 0], state.v[:, 0], damping)
    return float(np.ptp(state.t[force > 0.0])), float(force.max())


def exact() -> tuple[float, float]:
    """Return the same without damping: half a period of the spring and a little more, because the ball is heavy."""
    speed, sag = np.sqrt(2.0 * GRAVITY * HEIGHT), GRAVITY / OMEGA**2  # of the strike [m/s], of the ball at rest [m]
    stroke = np.hypot(sag, speed / OMEGA)
    return (np.pi + 2.0 * np.arctan(sag * OMEGA / speed)) / OMEGA, STIFFNESS * (sag + stroke)


def restitution(damping: float) -> float:
    """Return the e that damper and spring make together: exp(-2 zeta/sqrt(1 - zeta^2) acos(zeta))."""
    return float(np.exp(-2.0 * damping / np.sqrt(1.0 - damping**2) * np.arccos(damping)))


if __name__ == "__main__":
    (time, force), wanted = strike(soft(0.0), 0.0), exact()
    print(f"on the floor for {1e3 * time:.4f} ms (exact {1e3 * wanted[0]:.4f}, pi sqrt(m/k) {1e3 * np.pi / OMEGA:.4f})")
    print(f"force at most    {force:.1f} N (exact {wanted[1]:.1f})")
    e = restitution(0.1)
    heights = [solution.q[solution.t > 0.47].max() for solution in (soft(0.1), rigid(e))]
    print(f"bounces to       {heights[0]:.4f} m, on a rigid floor with e = {e:.4f} to {heights[1]:.4f} m")
    assert abs(time / wanted[0] - 1.0) < 1e-4 and abs(force / wanted[1] - 1.0) < 1e-4
    assert abs(heights[0] - e**2 * HEIGHT) < 0.01
