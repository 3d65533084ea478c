"""Simplest walking model (Garcia, Chatterjee, Ruina, Coleman 1998): two massless legs that fall down a slope."""

from __future__ import annotations

import numpy as np

from saltus.errors import ModelError
from saltus.event import Event
from saltus.problem import Problem
from saltus.system import System

from ._sketches import walker


def simplest_walker(
    *, slope: float = 0.009, theta0: float = 0.2003109005443, w0: float = -0.1998324730050, t_end: float = 4.0
) -> Problem:
    """q = (theta, phi): angle of the stance leg from the normal of the slope, angle between the legs; unit leg and g.

    theta'' = sin(theta - slope), phi'' = theta'' + theta'^2 sin(phi) - cos(theta - slope) sin(phi), from just after a
    heelstrike: phi = 2 theta0, phi' = (1 - cos(2 theta0)) w0. The heelstrikes are `heelstrike()`, to be passed as
    events; without them the walker takes a single step and falls.

    slope [rad], theta0 [rad] > 0, w0 [sqrt(g/l) rad/s] < 0, t_end [sqrt(l/g) s]. The defaults start on the long
    periodic gait of slope = 0.009, whose step takes 3.8824637529; it is stable for slope < 0.0150884.
    """
    if not theta0 > 0.0 or not w0 < 0.0:
        raise ModelError(
            f"simplest_walker walks to the left: theta0 = {theta0} must be positive and w0 = {w0} negative"
        )

    def f(t, q, v):
        lean = np.sin(q[0] - slope)
        return [lean, lean + (v[0] ** 2 - np.cos(q[0] - slope)) * np.sin(q[1])]

    system = System(M=1.0, f=f, name="simplest_walker", scene=walker())
    start = [theta0, 2.0 * theta0], [w0, (1.0 - np.cos(2.0 * theta0)) * w0]
    return Problem(system, (0.0, t_end), *start, name="simplest_walker")


def heelstrike(*, terminal: bool = False) -> Event:
    """Return the event of the swing foot that meets the slope in front, with the exchange of the legs as reset.

    The foot is at the height of the slope where phi = 2 theta. In the middle of a step it scuffs through the ground
    there with phi - 2 theta falling, which stiff legs cannot avoid and the model ignores; the strike has it rising.
    """

    def exchange(t, q, v):
        turn = np.cos(2.0 * q[0])
        return [-q[0], -2.0 * q[0]], [turn * v[0], turn * (1.0 - turn) * v[0]]

    return Event(lambda q: q[1] - 2.0 * q[0], direction=1, terminal=terminal, reset=exchange, name="heelstrike")
