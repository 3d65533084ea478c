"""Impacts with friction: Newton's law gains energy in Kane's pendulum, Poisson's does not; a superball turns around."""

from __future__ import annotations

import saltus as sl

MASS, RADIUS = 0.05, 0.02  # [kg], [m]
INERTIA = 0.4 * MASS * RADIUS**2  # of a solid ball [kg m^2]


def strike(impact: str) -> sl.Solution:
    """Let the tip of a double pendulum strike a rough floor."""
    return sl.solve(sl.problems.kane_pendulum(law=impact), scheme=sl.MoreauJean(), h=1e-5)


def superball(speed: float = 1.0) -> sl.Solution:
    """Throw a superball forwards without spin, so that it bounces twice: q = (x, y, angle)."""
    floor = sl.Contact(
        lambda q: q[1] - RADIUS, e=1.0, mu=5.0, slip=lambda t, q, v: v[0] + RADIUS * v[2], e_t=1.0, name="floor"
    )
    ball = sl.System(M=[MASS, MASS, INERTIA], f=[0.0, -9.81 * MASS, 0.0], contacts=[floor], name="superball")
    return sl.solve(ball, (0.0, 0.8), [0.0, RADIUS + 0.2, 0.0], [speed, 0.0, 0.0], scheme=sl.MoreauJean(), h=1e-4)


if __name__ == "__main__":
    newton, poisson = strike("newton"), strike("poisson")
    gain = newton.events[newton.events["kind"] == "gain"][0]
    lost = poisson.events[0]["energy"]
    print(f"Newton  {1e3 * gain['energy']:+.2f} mJ; {newton.message}")
    print(f"Poisson {1e3 * lost:+.2f} mJ")
    assert abs(gain["energy"] - 13.62e-3) < 2e-5 and abs(lost + 10.55e-3) < 2e-5
    bounces = superball()
    hits = bounces.events[bounces.events["kind"] == "impact"]
    speeds = [1.0, *(float(bounces(t).v[0]) for t in hits["t"])]
    print("superball forwards:", ", ".join(f"{speed:+.4f} m/s" for speed in speeds))
    assert len(hits) == 2 and abs(speeds[1] - 3 / 7) < 1e-9 and abs(speeds[2] - 1.0) < 1e-9
