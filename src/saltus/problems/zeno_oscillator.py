"""Oscillator pressed against a wall (parameters our own): Zeno with a flight ratio that only tends to e."""

from __future__ import annotations

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._oscillator import oscillator_exact
from ._sketches import oscillator


def zeno_oscillator(
    *,
    mass: float = 1.0,
    stiffness: float = 1.0,
    preload: float = 0.5,
    e: float = 0.5,
    q0: float = 1.0,
    v0: float = 0.0,
    t_end: float = 8.0,
) -> Problem:
    """mass q'' = -stiffness (q + preload), q >= 0: accumulation, then rest with r = stiffness preload.

    mass [kg], stiffness [N/m], preload (compression of the spring at the wall) [m], e [-], q0 [m] >= 0, v0
    [m/s], t_end [s].
    """
    if q0 < 0.0:
        raise ModelError(f"zeno_oscillator starts inside the wall: q0 = {q0} < 0; choose q0 >= 0")
    system = System(
        M=mass,
        f=lambda q: [-stiffness * (q[0] + preload)],
        contacts=[Contact(lambda q: q[0], e=e, name="wall")],
        name="zeno_oscillator",
        scene=oscillator("wall", 0.0, side=1.0),
    )
    exact = oscillator_exact(mass=mass, stiffness=stiffness, centre=-preload, wall=0.0, e=e, q0=q0, v0=v0, t_end=t_end)
    return Problem(system, (0.0, t_end), [q0], [v0], exact=exact, name="zeno_oscillator")
