"""Block on an incline with Coulomb friction (Coulomb 1785): slides, stops, and sticks iff tan(beta) <= mu."""

from __future__ import annotations

from math import cos, inf, sin

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import block_on_floor


def sliding_block(
    *,
    mass: float = 1.0,
    gravity: float = 9.81,
    beta: float = 0.3,
    mu: float = 0.5,
    e: float = 0.0,
    v0: float = 1.0,
    t_end: float = 1.0,
) -> Problem:
    """q = (x downhill, y normal): x'' = gravity (sin(beta) - mu cos(beta) sgn(x')) until it stops.

    mass [kg], gravity [m/s^2], beta [rad] in (-pi/2, pi/2), mu [-], e [-] (unused: no impact), v0 (downhill
    if positive, uphill if negative) [m/s], t_end [s]. No velocity jumps; the acceleration jumps where the
    block stops.
    """
    if cos(beta) <= 0.0:
        raise ModelError(f"sliding_block needs an incline, not an overhang: beta = {beta}; choose |beta| < pi/2")
    pull, grip = gravity * sin(beta), gravity * mu * cos(beta)
    a_first = pull - grip * np.sign(v0)
    t_stop = -v0 / a_first if v0 * a_first < 0.0 else (0.0 if v0 == 0.0 else inf)
    # from a stop it sticks as long as friction can carry the pull, else it slides with the pull
    a_second = np.sign(pull) * max(abs(pull) - grip, 0.0)

    def position(t):
        before, after = np.minimum(t, t_stop), np.maximum(t - t_stop, 0.0)
        x = v0 * before + a_first * before**2 / 2.0 + a_second * after**2 / 2.0
        return np.stack([x, np.zeros_like(x)], axis=-1)

    def velocity(t):
        t = np.asarray(t, float)
        vx = np.where(t < t_stop, v0 + a_first * t, a_second * np.maximum(t - t_stop, 0.0))
        return np.stack([vx, np.zeros_like(vx)], axis=-1)

    def impulse(t):
        t = np.asarray(t, float)
        return np.stack([mass * gravity * cos(beta) * t, mass * (velocity(t)[..., 0] - v0 - pull * t)], axis=-1)

    system = System(
        M=mass,
        f=[mass * pull, -mass * gravity * cos(beta)],
        contacts=[Contact(lambda q: q[1], e=e, mu=mu, slip=lambda t, q, v: v[0], name="incline")],
        name="sliding_block",
        scene=block_on_floor("incline"),
    )
    exact = Exact(position, velocity, impulse)
    return Problem(system, (0.0, t_end), [0.0, 0.0], [v0, 0.0], exact=exact, name="sliding_block")
