"""Ball on a vibrating table (Holmes 1982): impacts, accumulations, rests on the table and releases from it."""

from __future__ import annotations

from math import asin, cos, floor, inf, pi, sin

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._hops import Flight, Opening, hops
from ._pieces import Motion, Piece, Pieces
from ._sketches import ball_on_table

STILL = 1e-13  # of gravity/omega: slower launches end an accumulation; the state is then wrong by its square


def vibrating_table(
    *,
    mass: float = 1.0,
    gravity: float = 9.81,
    omega: float = 20.0,
    intensity: float = 1.3,
    phase: float = 0.0,
    e: float = 0.5,
    q0: float = 0.1,
    v0: float = 0.0,
    t_end: float = 2.0,
) -> Problem:
    """Table at A sin(omega t + phase), A = intensity gravity/omega^2, gap = q - table; i = mass (v - v0 + gravity t).

    mass [kg], gravity [m/s^2], omega [rad/s] > 0, intensity [-] >= 0 (A omega^2/gravity), phase [rad], e [-], q0 [m]
    above or on the table, v0 [m/s], t_end [s]. One bounce per n periods of the table exists for intensity > n pi
    (1 - e)/(1 + e); where it is unstable the motion may be chaotic: choose t_end short. Flights are exact and impacts
    found to the last digit, at first use.
    """
    if min(mass, gravity, omega) <= 0.0 or intensity < 0.0:
        raise ModelError(
            f"vibrating_table needs mass, gravity, omega > 0 and intensity >= 0: mass = {mass}, gravity = {gravity}, "
            f"omega = {omega}, intensity = {intensity}; change the sign"
        )
    amplitude = intensity * gravity / omega**2
    if q0 < amplitude * np.sin(phase):
        table = amplitude * np.sin(phase)
        raise ModelError(f"vibrating_table starts below the table: q0 = {q0} < {table:.6g}; choose a larger q0")

    def flight(t, gap, rate):
        start = omega * t + phase
        launch = rate + amplitude * omega * cos(start)

        def relative(tau):
            half = omega * tau / 2.0
            # sin(start + 2 half) - sin(start) without cancellation
            lift = 2.0 * amplitude * np.cos(start + half) * np.sin(half)
            value = gap + launch * tau - gravity * tau**2 / 2.0 - lift
            return value, launch - gravity * tau - amplitude * omega * np.cos(start + 2.0 * half)

        return Flight(relative, gravity * (1.0 + intensity))

    def opening(t):
        """The table falls away from a resting ball where intensity sin(omega t + phase) > 1."""
        if intensity <= 1.0:
            return Opening(inf, inf)
        begin = asin(1.0 / intensity)
        turns = 2.0 * pi * (floor((omega * t + phase - (pi - begin)) / (2.0 * pi)) + 1)
        return Opening(max(t, (begin + turns - phase) / omega), (pi - begin + turns - phase) / omega)

    def pieces():
        speed = amplitude * omega
        found = hops(
            flight, opening, q0 - amplitude * sin(phase), v0 - speed * cos(phase), e, STILL * gravity / omega, t_end
        )
        for hop in found:
            start, path = hop.start, hop.flight

            def motion(tau, start=start, path=path):
                t = start + tau
                gap, rate = path.gap(tau) if path else (0.0, 0.0)
                q, v = gap + amplitude * np.sin(omega * t + phase), rate + speed * np.cos(omega * t + phase)
                return Motion(q[..., None], v[..., None], mass * (v - v0 + gravity * t)[..., None])

            yield Piece(start, motion, hop.jump)

    table = Contact(lambda t, q: q[0] - amplitude * np.sin(omega * t + phase), e=e, name="table")
    system = System(
        M=mass,
        f=-mass * gravity,
        contacts=[table],
        name="vibrating_table",
        scene=ball_on_table(amplitude, omega, phase),
    )
    return Problem(system, (0.0, t_end), [q0], [v0], exact=Pieces(pieces).exact(), name="vibrating_table")
