"""Mass on a spring, carried by a moving belt: slips, rides along until the spring wins, then swings."""

from __future__ import annotations

from math import asin, inf, sqrt

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import block_on_floor


def belt(
    *,
    mass: float = 1.0,
    stiffness: float = 1.0,
    gravity: float = 10.0,
    mu: float = 0.1,
    e: float = 0.0,
    speed: float = 0.5,
    t_end: float = 8.0,
) -> Problem:
    """q = (x, height), slip x' - speed, from rest at x = 0: mass x'' = -stiffness x + friction, |friction| <= mu N.

    mass [kg], stiffness [N/m], gravity [m/s^2], mu [-], speed [m/s] of the belt, all > 0, e [-] (unused: no impact),
    t_end [s]. It sticks only if mu gravity > speed sqrt(stiffness/mass). No velocity jumps.
    """
    if min(mass, stiffness, gravity, mu, speed) <= 0.0:
        raise ModelError(
            f"belt needs mass, stiffness, gravity, mu and speed > 0: mass = {mass}, stiffness = {stiffness}, "
            f"gravity = {gravity}, mu = {mu}, speed = {speed}; change the sign"
        )
    omega, grip = sqrt(stiffness / mass), mu * mass * gravity
    reach = grip / stiffness  # where the spring balances full friction
    sticks = reach * omega > speed
    t_stick = asin(speed / (reach * omega)) / omega if sticks else inf
    x_stick = reach - sqrt(reach**2 - (speed / omega) ** 2) if sticks else reach
    t_slip = t_stick + (reach - x_stick) / speed

    def parts(t):
        """Times spent in the three phases."""
        t = np.asarray(t, float)
        ride = np.clip(t - t_stick, 0.0, t_slip - t_stick) if sticks else np.zeros_like(t)
        return np.minimum(t, t_stick), ride, np.maximum(t - t_slip, 0.0) if sticks else np.zeros_like(t)

    def position(t):
        first, ride, last = parts(t)
        x = reach * (1.0 - np.cos(omega * first)) + speed * ride + speed / omega * np.sin(omega * last)
        return np.stack([x, np.zeros_like(x)], axis=-1)

    def velocity(t):
        first, _, last = parts(t)
        v = np.where(first < t_stick, reach * omega * np.sin(omega * first), speed * np.cos(omega * last))
        return np.stack([v, np.zeros_like(v)], axis=-1)

    def impulse(t):
        first, ride, last = parts(t)
        tangential = grip * (first + last) + stiffness * (x_stick * ride + speed * ride**2 / 2.0)
        return np.stack([mass * gravity * np.asarray(t, float), tangential], axis=-1)

    contact = Contact(lambda q: q[1], e=e, mu=mu, slip=lambda t, q, v: v[0] - speed, name="belt")
    system = System(
        M=mass,
        f=lambda q: [-stiffness * q[0], -mass * gravity],
        contacts=[contact],
        name="belt",
        scene=block_on_floor("belt", spring=-2.0),
    )
    exact = Exact(position, velocity, impulse)
    return Problem(system, (0.0, t_end), np.zeros(2), np.zeros(2), exact=exact, name="belt")
