"""Forced oscillator against a stop (Shaw, Holmes 1983): periodic impacts, period doubling and chaos."""

from __future__ import annotations

from math import acos, cos, floor, inf, pi, sin

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._hops import Flight, Opening, hops
from ._pieces import Motion, Piece, Pieces
from ._sketches import oscillator

STILL = 1e-13  # [m/s]: slower launches end an accumulation; the state is then wrong by its square


def forced_impact_oscillator(
    *,
    amplitude: float = 1.0,
    omega: float = 2.6,
    phase: float = 0.0,
    wall: float = 0.0,
    e: float = 0.8,
    q0: float = -0.5,
    v0: float = 0.0,
    t_end: float = 20.0,
) -> Problem:
    """q'' + q = amplitude cos(omega t + phase), q <= wall; unit mass and stiffness.

    amplitude [m/s^2] >= 0, omega [rad/s] > 0 but not 1 (resonance), phase [rad], wall [m], e [-], q0 [m] <= wall, v0
    [m/s], t_end [s]. With e = 0.8 and wall = 0 the orbit of one impact per forcing period doubles its period at omega =
    2.65334772786, that of one impact in two periods at 4.64183675437; beyond it may be chaotic: choose t_end short.
    Flights are exact and impacts found to the last digit, at first use.
    """
    if amplitude < 0.0 or omega <= 0.0 or omega == 1.0:
        raise ModelError(
            f"forced_impact_oscillator needs amplitude >= 0 and omega > 0 away from resonance: amplitude = "
            f"{amplitude}, omega = {omega}; choose omega != 1"
        )
    if q0 > wall:
        raise ModelError(
            f"forced_impact_oscillator starts inside the wall: q0 = {q0} > wall = {wall}; choose q0 <= wall"
        )
    response = amplitude / (1.0 - omega**2)

    def flight(t, gap, rate):
        """gap'' + gap = wall - amplitude cos(omega t + phase): a forced and a free part."""
        start = omega * t + phase
        even = gap - wall + response * cos(start)
        odd = rate - response * omega * sin(start)

        def relative(tau):
            half = omega * tau / 2.0
            # all differences from the start, without cancellation
            forced = 2.0 * response * np.sin(start + half) * np.sin(half)
            value = gap + forced - 2.0 * even * np.sin(tau / 2.0) ** 2 + odd * np.sin(tau)
            return value, response * omega * np.sin(start + 2.0 * half) - even * np.sin(tau) + odd * np.cos(tau)

        return Flight(relative, np.hypot(even, odd) + abs(response) * omega**2 + 1e-300)

    def opening(t):
        """Spring and drive pull a resting mass off where amplitude cos(omega t + phase) < wall.

        Off the wall it swings: only for half a natural period does an opening pull surely keep it away.
        """
        if amplitude <= abs(wall):
            return Opening(t, t + pi) if wall > 0.0 else Opening(inf, inf)
        begin = acos(wall / amplitude)
        turns = 2.0 * pi * (floor((omega * t + phase - (2.0 * pi - begin)) / (2.0 * pi)) + 1)
        opens = max(t, (begin + turns - phase) / omega)
        return Opening(opens, min((2.0 * pi - begin + turns - phase) / omega, opens + pi))

    def pieces():
        impulse = 0.0
        for hop in hops(flight, opening, wall - q0, -v0, e, STILL, t_end):
            impulse += hop.rate - hop.rate_minus if hop.jump else 0.0
            if hop.flight is None:
                motion = resting(hop.start, impulse)
                if np.isfinite(opening(hop.start).begin):
                    impulse = float(motion(np.array([opening(hop.start).begin - hop.start])).impulse[0, 0])
            else:
                motion = flying(hop.flight, impulse)
            yield Piece(hop.start, motion, hop.jump)

    def flying(path, impulse):
        def motion(tau):
            gap, rate = path.gap(tau)
            return Motion((wall - gap)[..., None], -rate[..., None], np.full((*tau.shape, 1), impulse))

        return motion

    def resting(t, impulse):
        def motion(tau):
            half = omega * tau / 2.0
            pressed = 2.0 * amplitude / omega * np.cos(omega * t + phase + half) * np.sin(half) - wall * tau
            still = np.zeros((*tau.shape, 1))
            return Motion(wall + still, still, (impulse + pressed)[..., None])

        return motion

    stop = Contact(lambda q: wall - q[0], e=e, name="stop")
    system = System(
        M=1.0,
        f=lambda t, q: [-q[0] + amplitude * np.cos(omega * t + phase)],
        contacts=[stop],
        name="forced_impact_oscillator",
        scene=oscillator("stop", wall, side=-1.0),
    )
    exact = Pieces(pieces).exact()
    return Problem(system, (0.0, t_end), [q0], [v0], exact=exact, name="forced_impact_oscillator")
