"""Bouncing ball, rest phase (Schindler, Acary 2014, Problem 4.3): q = 0 under the load -10 t^2."""

from __future__ import annotations

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import ball

LOADS = {  # load over time and its integral
    "quadratic": (lambda t: t**2, lambda t: t**3 / 3.0),
    "exponential": (lambda t: np.exp(2.0 * t), lambda t: np.expm1(2.0 * t) / 2.0),
}


def rest_phase(
    *,
    mass: float = 1.0,
    strength: float = 10.0,
    load: str = "quadratic",
    e: float = 0.5,
    t_end: float = 1.0,
) -> Problem:
    """Ball at rest on the floor under a growing load; only the impulse i(t) moves.

    load = "quadratic" (the paper): f = -mass strength t^2, i = mass strength t^3/3; integrated exactly by
    degree >= 2.
    load = "exponential": f = -mass strength exp(2 t), i = mass strength (exp(2 t) - 1)/2; shows every order.
    mass [kg], strength [m/s^4] or [m/s^2] >= 0, e [-], t_end [s].
    """
    if strength < 0.0:
        raise ModelError(f"rest_phase needs a load that presses: strength = {strength}; choose strength >= 0")
    if load not in LOADS:
        raise ModelError(f"rest_phase knows no load {load!r}; choose 'quadratic' or 'exponential'")
    shape, integral = LOADS[load]

    def zero(t):
        return np.zeros_like(t, dtype=float)[..., None]

    def impulse(t):
        return (mass * strength * integral(np.asarray(t, float)))[..., None]

    system = System(
        M=mass,
        f=lambda t, q: [-mass * strength * shape(t)],
        contacts=[Contact(lambda q: q[0], e=e, name="floor")],
        name="rest_phase",
        scene=ball(),
    )
    return Problem(system, (0.0, t_end), [0.0], [0.0], exact=Exact(zero, zero, impulse), name="rest_phase")
