"""Mass on a spring with dry friction (Coulomb 1785): every half swing loses 2 mu N / k, then it sticks."""

from __future__ import annotations

from math import atan2, pi, sqrt

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import block_on_floor


def coulomb_oscillator(
    *,
    mass: float = 1.0,
    stiffness: float = 1.0,
    gravity: float = 1.0,
    mu: float = 0.15,
    e: float = 0.0,
    q0: float = 1.37,
    v0: float = 0.0,
    t_end: float = 18.0,
) -> Problem:
    """q = (x, height): mass x'' = -stiffness x - mu mass gravity sgn(x'); at rest where the spring is too weak.

    mass [kg] > 0, stiffness [N/m] > 0, gravity [m/s^2] > 0 presses onto the table, mu [-] > 0, e [-] (unused: no
    impact), q0 [m], v0 [m/s], t_end [s]. With the defaults it stops at t = 5 pi and x = 0.13. No velocity jumps.
    """
    if min(mass, stiffness, gravity, mu) <= 0.0:
        raise ModelError(
            f"coulomb_oscillator needs mass, stiffness, gravity and mu > 0: mass = {mass}, stiffness = {stiffness}, "
            f"gravity = {gravity}, mu = {mu}; without friction take impact_oscillator"
        )
    omega, grip = sqrt(stiffness / mass), mu * mass * gravity
    band = grip / stiffness  # it sticks where |x| <= band
    begins, centres, xs, vs, friction = _half_swings(q0, v0, omega, band, t_end)
    passed = np.concatenate(([0.0], np.cumsum(-grip * friction[:-1] * np.diff(begins))))

    def phase(t):
        t = np.asarray(t, float)
        k = np.maximum(np.searchsorted(begins, t, side="right") - 1, 0)
        return k, t - begins[k]

    def position(t):
        k, tau = phase(t)
        swing = centres[k] + (xs[k] - centres[k]) * np.cos(omega * tau) + vs[k] / omega * np.sin(omega * tau)
        x = np.where(friction[k] == 0.0, xs[k], swing)
        return np.stack([x, np.zeros_like(x)], axis=-1)

    def velocity(t):
        k, tau = phase(t)
        swing = vs[k] * np.cos(omega * tau) - (xs[k] - centres[k]) * omega * np.sin(omega * tau)
        v = np.where(friction[k] == 0.0, 0.0, swing)
        return np.stack([v, np.zeros_like(v)], axis=-1)

    def impulse(t):
        k, tau = phase(t)
        held = np.where(friction[k] == 0.0, stiffness * xs[k], -grip * friction[k])
        return np.stack([mass * gravity * np.asarray(t, float), passed[k] + held * tau], axis=-1)

    table = Contact(lambda q: q[1], e=e, mu=mu, slip=lambda t, q, v: v[0], name="table")
    system = System(
        M=mass,
        f=lambda q: [-stiffness * q[0], -mass * gravity],
        contacts=[table],
        name="coulomb_oscillator",
        scene=block_on_floor("table", spring=-2.0),
    )
    exact = Exact(position, velocity, impulse)
    return Problem(system, (0.0, t_end), [q0, 0.0], [v0, 0.0], exact=exact, name="coulomb_oscillator")


def _half_swings(x: float, v: float, omega: float, band: float, t_end: float):
    """Return begin, centre, x, v and direction of every half swing; direction 0 is the rest."""
    t, rows = 0.0, []
    while t <= t_end:
        direction = np.sign(v) if v != 0.0 else -np.sign(x) * float(abs(x) > band)
        centre = -direction * band
        rows.append((t, centre, x, v, direction))
        if direction == 0.0:
            break
        # v(tau) = v cos - (x - centre) omega sin vanishes first at this angle
        angle = atan2(v, omega * (x - centre)) % pi if v != 0.0 else pi
        reach = sqrt((x - centre) ** 2 + (v / omega) ** 2)
        t, x, v = t + angle / omega, centre + direction * reach, 0.0
    return np.array(rows, float).T
