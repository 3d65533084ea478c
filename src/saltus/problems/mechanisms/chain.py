"""A chain of n bars that falls from a straight line: the model by which costs are compared over n."""

from __future__ import annotations

from saltus.errors import ModelError
from saltus.mechanics import Planar
from saltus.problem import Problem


def chain(
    *,
    n: int = 5,
    length: float = 0.1,
    mass: float = 0.1,
    angle: float = 0.0,
    clearance: float = 0.0,
    radius: float = 2e-3,
    e: float = 0.2,
    mu: float = 0.1,
    gravity: float = 9.81,
    t_end: float = 0.5,
) -> Problem:
    """Homogeneous bars in a row, the first pinned to the ground, at rest along a line; q = (x, y, angle) of each.

    n bars [-], length [m] and mass [kg] of each, angle of the line [rad]. Pins are ideal, or journals: clearance [m],
    radius [m], e and mu [-]. gravity [m/s^2], t_end [s].
    """
    if n < 1:
        raise ModelError(f"chain needs n >= 1 links, not {n}")
    w = Planar(gravity, name="chain")
    friction = mu if clearance > 0.0 else None
    last = w.ground.at(0.0, 0.0)
    for k in range(n):
        bar = w.bar(length, mass=mass, inertia=mass * length**2 / 12.0, angle=angle, name=f"link {k + 1}")
        w.revolute(last, bar.start, clearance=clearance, radius=radius, e=e, mu=friction, name=f"pin {k + 1}")
        last = bar.end
    return w.problem((0.0, t_end))
