"""Exact motion of a linear oscillator above a wall: cosine arcs between impacts, then rest."""

from __future__ import annotations

from math import atan2, sqrt

import numpy as np

from saltus.problem import Exact

from ._bounces import bounces


def oscillator_exact(
    *,
    mass: float,
    stiffness: float,
    centre: float,
    wall: float,
    e: float,
    q0: float,
    v0: float,
    t_end: float,
) -> Exact:
    """Solution of mass q'' = -stiffness (q - centre), q >= wall, Newton restitution e.

    An arc that leaves the wall at speed s is A cos(omega tau - phi) with phi = atan2(s/omega, wall -
    centre) and returns after 2 phi/omega with the same speed, wherever the wall lies.
    """
    omega = sqrt(stiffness / mass)
    offset = wall - centre
    # A^2 - offset^2 without cancellation
    excess = (v0 / omega) ** 2 + (q0 - wall) * (q0 - centre + offset)

    def duration(speed: float) -> float:
        return 2.0 * atan2(speed / omega, offset) / omega

    if excess <= 0.0 and offset < 0.0:
        impacts = bounces(np.inf, 0.0, e, duration, t_end)
    else:
        swing = atan2(v0 / omega, q0 - centre) + atan2(sqrt(excess), offset)
        impacts = bounces(max(swing, 0.0) / omega, omega * sqrt(excess), e, duration, t_end)
    starts = impacts.starts()
    launch_q = np.concatenate(([q0 - centre], np.full(impacts.times.size, offset)))
    launch_v = np.concatenate(([v0], e * impacts.speeds))
    impulse_k = mass * impacts.impulse_per_mass(e)

    def position(t):
        k = impacts.flight(t)
        angle = omega * (t - starts[k])
        arc = centre + launch_q[k] * np.cos(angle) + launch_v[k] / omega * np.sin(angle)
        return np.where(t >= impacts.rest, wall, arc)[..., None]

    def velocity(t):
        k = impacts.flight(t)
        angle = omega * (t - starts[k])
        arc = launch_v[k] * np.cos(angle) - launch_q[k] * omega * np.sin(angle)
        return np.where(t >= impacts.rest, 0.0, arc)[..., None]

    def impulse(t):
        # after the accumulation the wall carries the spring force
        held = stiffness * offset * np.maximum(t - impacts.rest, 0.0) if np.isfinite(impacts.rest) else 0.0
        return (impulse_k[impacts.flight(t)] + held)[..., None]

    return Exact(position, velocity, impulse, jumps=impacts.times)
