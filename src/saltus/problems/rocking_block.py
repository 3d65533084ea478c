"""Rocking block (Housner 1963): w_plus = (1 - 3/2 sin(alpha)^2) w_minus when it changes corners; Zeno."""

from __future__ import annotations

from math import asinh, atan, atan2, cos, hypot, sin, sqrt

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._bounces import bounces
from ._sketches import rocking_block as sketch


def rocking_block(
    *,
    mass: float = 1.0,
    half_width: float = 0.1,
    half_height: float = 0.4,
    gravity: float = 9.81,
    theta0: float = 0.1,
    linear: bool = False,
    t_end: float = 3.0,
) -> Problem:
    """q = |tilt|: q'' = -p^2 sin(alpha - q), q >= 0, from rest; the tilt changes its sign at every impact.

    mass [kg], half_width, half_height [m], gravity [m/s^2] > 0, theta0 [rad] in [0, alpha), linear: q'' = -p^2
    (alpha - q), as in the slender-block formulas, t_end [s].
    alpha = atan(half_width/half_height), p^2 = 3 gravity/(4 R), R half the diagonal, inertia about a corner 4 mass
    R^2/3, restitution 1 - 3/2 sin(alpha)^2; the impulse is that of a moment [N m s]. Exact: elliptic functions, or with
    linear=True alpha - q = (alpha - theta0) cosh(p t) up to the first impact at acosh(1/(1 - theta0/alpha))/p.
    """
    if min(mass, half_width, half_height, gravity) <= 0.0:
        raise ModelError(
            f"rocking_block needs mass, half_width, half_height, gravity > 0: mass = {mass}, half_width = "
            f"{half_width}, half_height = {half_height}, gravity = {gravity}; change the sign"
        )
    half_diagonal, alpha = hypot(half_width, half_height), atan2(half_width, half_height)
    p = sqrt(0.75 * gravity / half_diagonal)
    e = 1.0 - 1.5 * sin(alpha) ** 2
    if not 0.0 <= theta0 < alpha:
        raise ModelError(
            f"rocking_block falls over or starts below zero: theta0 = {theta0}; choose 0 <= theta0 < {alpha}"
        )
    if e < 0.0:
        raise ModelError(f"rocking_block is too flat to rock (1 - 3/2 sin(alpha)^2 = {e:.3g}); choose a higher block")
    inertia = 4.0 / 3.0 * mass * half_diagonal**2
    rocking = (_Linear if linear else _Pendulum)(alpha, p)
    speed, depth = rocking.speed(theta0), rocking.depth_at(theta0)

    def duration(w: float) -> float:
        return rocking.duration(w, rocking.depth(w))

    impacts = bounces(rocking.duration(speed, depth) / 2.0, speed, e, duration, t_end)
    launch = np.concatenate(([speed], e * impacts.speeds))
    depths = np.array([depth, *(rocking.depth(w) for w in launch[1:])])
    # middle of every flight, where it turns back; the first one starts there
    middles = impacts.starts() + np.array([0.0, *(duration(w) / 2.0 for w in launch[1:])])
    passed = inertia * impacts.impulse_per_mass(e)
    rest = impacts.rest

    def state(t):
        t = np.asarray(t, float)
        k = impacts.flight(t)
        q, v = rocking.motion(depths[k], t - middles[k])
        return np.where(t >= rest, 0.0, q)[..., None], np.where(t >= rest, 0.0, v)[..., None]

    def impulse(t):
        held = rocking.moment * inertia * np.maximum(t - rest, 0.0) if np.isfinite(rest) else 0.0
        return (passed[impacts.flight(t)] + held)[..., None]

    def f(q):
        lever = alpha - q[0]
        return [-inertia * p**2 * (lever if linear else np.sin(lever))]

    floor = Contact(lambda q: q[0], e=e, name="floor")
    system = System(M=inertia, f=f, contacts=[floor], name="rocking_block", scene=sketch(half_width, half_height))
    exact = Exact(lambda t: state(t)[0], lambda t: state(t)[1], impulse, jumps=impacts.times)
    return Problem(system, (0.0, t_end), [theta0], [0.0], exact=exact, name="rocking_block")


class _Linear:
    """q'' = -p^2 (alpha - q); a flight by its launch speed w and its depth (alpha - q)^2, s [s] from the middle.

    The depth is that of the middle. It follows from w, but at a first tilt near alpha only with few digits.
    """

    def __init__(self, alpha: float, p: float) -> None:
        self.alpha, self.p, self.moment = alpha, p, p**2 * alpha

    def speed(self, q: float) -> float:
        """Speed at q = 0 after a start at rest."""
        return self.p * sqrt(q * (2.0 * self.alpha - q))

    def depth_at(self, q: float) -> float:
        return (self.alpha - q) ** 2

    def depth(self, w: float) -> float:
        return self.alpha**2 - (w / self.p) ** 2

    def duration(self, w: float, depth: float) -> float:
        return 2.0 * asinh(w / (self.p * sqrt(depth))) / self.p

    def motion(self, depth, s):
        distance = np.sqrt(depth)
        return self.alpha - distance * np.cosh(self.p * s), -self.p * distance * np.sinh(self.p * s)


class _Pendulum:
    """q'' = -p^2 sin(alpha - q), an upside-down pendulum: cos((alpha - q)/2) = k cd(p s, k), depth = 1 - k^2."""

    def __init__(self, alpha: float, p: float) -> None:
        self.alpha, self.p, self.moment = alpha, p, p**2 * sin(alpha)

    def speed(self, q: float) -> float:
        return 2.0 * self.p * sqrt(sin(self.alpha - q / 2.0) * sin(q / 2.0))

    def depth_at(self, q: float) -> float:
        return sin((self.alpha - q) / 2.0) ** 2

    def depth(self, w: float) -> float:
        return sin(self.alpha / 2.0) ** 2 - (w / (2.0 * self.p)) ** 2

    def duration(self, w: float, depth: float) -> float:
        from scipy.special import ellipkinc  # here, because scipy takes as long to import as all of saltus

        swing = atan(w / (2.0 * self.p * cos(self.alpha / 2.0) * sqrt(depth)))
        return 2.0 * float(ellipkinc(swing, 1.0 - depth)) / self.p

    def motion(self, depth, s):
        from scipy.special import ellipj

        sn, cn, dn, _ = ellipj(self.p * s, 1.0 - depth)
        # half the angle from the upright by its sine and cosine: arccos alone loses half the digits near zero
        distance = 2.0 * np.arctan2(np.sqrt(depth), np.sqrt(1.0 - depth) * cn)
        return self.alpha - distance, -2.0 * self.p * np.sqrt(depth * (1.0 - depth)) * sn / dn
