"""Bouncing ball, free flight (Schindler, Acary 2014, Problem 4.2): q'' = -10 t^2, no impact."""

from __future__ import annotations

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import ball


def free_flight(
    *,
    mass: float = 1.0,
    strength: float = 10.0,
    q0: float = 1.0,
    v0: float = 0.0,
    e: float = 0.5,
    t_end: float = 1.0,
) -> Problem:
    """Free flight under the load -mass strength t^2: q = q0 + v0 t - strength t^4/12.

    mass [kg], strength [m/s^4] >= 0, q0 [m], v0 [m/s], e [-], t_end [s].
    """
    q_end = q0 + v0 * t_end - strength * t_end**4 / 12.0
    # concave in t, so the lowest point is an end point
    if strength < 0.0 or q_end < 0.0:
        raise ModelError(
            f"free_flight must stay above the floor: q({t_end}) = {q_end:.3e} with strength = {strength}; "
            "choose strength >= 0 and a smaller t_end"
        )

    system = System(
        M=mass,
        f=lambda t, q: [-mass * strength * t**2],
        contacts=[Contact(lambda q: q[0], e=e, name="floor")],
        name="free_flight",
        scene=ball(),
    )
    exact = Exact(
        lambda t: (q0 + v0 * np.asarray(t) - strength * np.asarray(t) ** 4 / 12.0)[..., None],
        lambda t: (v0 - strength * np.asarray(t) ** 3 / 3.0)[..., None],
        lambda t: np.zeros_like(t, dtype=float)[..., None],
    )
    return Problem(system, (0.0, t_end), [q0], [v0], exact=exact, name="free_flight")
