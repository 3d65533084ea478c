"""Linear impact oscillator (Acary, Lecture 2, Aussois 2010; parameters our own): separated impacts."""

from __future__ import annotations

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._oscillator import oscillator_exact
from ._sketches import oscillator


def impact_oscillator(
    *,
    mass: float = 1.0,
    stiffness: float = 1.0,
    wall: float = -0.5,
    e: float = 0.8,
    q0: float = 1.0,
    v0: float = 0.0,
    t_end: float = 20.0,
) -> Problem:
    """mass q'' = -stiffness q, q >= wall, Newton restitution e: four separated impacts with the defaults.

    mass [kg], stiffness [N/m], wall [m], e [-], q0 [m] >= wall, v0 [m/s], t_end [s].
    """
    if q0 < wall:
        raise ModelError(f"impact_oscillator starts inside the wall: q0 = {q0} < wall = {wall}; choose q0 >= wall")
    system = System(
        M=mass,
        f=lambda q: [-stiffness * q[0]],
        contacts=[Contact(lambda q: q[0] - wall, e=e, name="wall")],
        name="impact_oscillator",
        scene=oscillator("wall", wall, side=1.0),
    )
    exact = oscillator_exact(mass=mass, stiffness=stiffness, centre=0.0, wall=wall, e=e, q0=q0, v0=v0, t_end=t_end)
    return Problem(system, (0.0, t_end), [q0], [v0], exact=exact, name="impact_oscillator")
