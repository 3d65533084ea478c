"""Sliding ball that begins to roll (Coriolis 1835): 5/7 v0 for a sphere, 2/3 for a disc, 1/2 for a hoop."""

from __future__ import annotations

from math import inf

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import rolling_ball

INERTIA = {"sphere": 2.0 / 5.0, "disc": 1.0 / 2.0, "hoop": 1.0}  # of mass radius^2


def rolling_sphere(
    *,
    shape: str = "sphere",
    mass: float = 1.0,
    radius: float = 0.1,
    gravity: float = 9.81,
    mu: float = 0.2,
    e: float = 0.0,
    v0: float = 1.0,
    spin: float = 0.0,
    t_end: float = 0.5,
) -> Problem:
    """q = (x, y, phi), y the height above the floor; the slip v_x + radius omega decays, then it rolls.

    shape "sphere", "disc" or "hoop", mass [kg], radius [m], gravity [m/s^2] > 0, mu [-], e [-] (unused: no
    impact), v0 [m/s], spin [rad/s] (counterclockwise), t_end [s].
    """
    if shape not in INERTIA:
        raise ModelError(f"rolling_sphere knows no shape {shape!r}; choose one of {sorted(INERTIA)}")
    inertia = INERTIA[shape] * mass * radius**2
    u0 = v0 + radius * spin
    a = -mu * gravity * np.sign(u0)
    alpha = mass * a * radius / inertia
    # the slip u0 + (a + radius alpha) t reaches zero
    t_roll = 0.0 if u0 == 0.0 else (-u0 / (a + radius * alpha) if mu > 0.0 else inf)

    def position(t):
        t = np.asarray(t, float)
        slid, rolled = np.minimum(t, t_roll), np.maximum(t - t_roll, 0.0)
        x = v0 * t + a * slid * (slid / 2.0 + rolled)
        phi = spin * t + alpha * slid * (slid / 2.0 + rolled)
        return np.stack([x, np.zeros_like(x), phi], axis=-1)

    def velocity(t):
        slid = np.minimum(t, t_roll)
        return np.stack([v0 + a * slid, np.zeros_like(slid), spin + alpha * slid], axis=-1)

    def impulse(t):
        return np.stack([mass * gravity * np.asarray(t, float), mass * a * np.minimum(t, t_roll)], axis=-1)

    floor = Contact(lambda q: q[1], e=e, mu=mu, slip=lambda t, q, v: v[0] + radius * v[2], name="floor")
    system = System(
        M=np.diag([mass, mass, inertia]),
        f=[0.0, -mass * gravity, 0.0],
        contacts=[floor],
        name="rolling_sphere",
        scene=rolling_ball(radius),
    )
    exact = Exact(position, velocity, impulse)
    return Problem(system, (0.0, t_end), np.zeros(3), [v0, 0.0, spin], exact=exact, name="rolling_sphere")
