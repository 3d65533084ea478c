"""Particle dropped into a circular bowl: impacts on a curved wall accumulate, then it slides (parameters our own)."""

from __future__ import annotations

from math import atan2, cos, isinf, sin, sqrt

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._circle import on_circle, slide
from ._landing import landing
from ._pieces import Motion, Piece, Pieces
from ._sketches import bead_on_circle

STILL = 1e-13  # of sqrt(gravity radius): slower launches end the accumulation; the state is then wrong by its square


def bowl(
    *,
    mass: float = 1.0,
    radius: float = 1.0,
    gravity: float = 1.0,
    e: float = 0.5,
    q0: tuple[float, float] = (0.3, 0.0),
    v0: tuple[float, float] = (0.0, 0.0),
    t_end: float = 8.0,
) -> Problem:
    """q = (x, y) from the centre, gap = radius - |q|: parabolas between impacts, after the last a pendulum.

    mass [kg], radius [m], gravity [m/s^2] > 0, e [-], q0 [m] inside, v0 [m/s], t_end [s]. It must not have the energy
    to rise above the centre: then nothing lifts it off once it slides. The reference is found at first use: exact
    parabolas with impacts to the last digit, closed by a plastic impact at launches below 1e-13 sqrt(gravity radius),
    and DOP853 for the pendulum; good to about 1e-13.
    """
    if min(mass, radius, gravity) <= 0.0 or not np.hypot(*q0) <= radius:
        raise ModelError(
            f"bowl needs mass, radius, gravity > 0 and q0 inside: mass = {mass}, radius = {radius}, gravity = "
            f"{gravity}, q0 = {q0}; choose |q0| <= radius"
        )
    if (v0[0] ** 2 + v0[1] ** 2) / 2.0 + gravity * q0[1] > 0.0:
        raise ModelError(f"bowl has the energy to leave its lower half: q0 = {q0}, v0 = {v0}; start lower or slower")

    def pieces():
        q, v = np.array(q0, float), np.array(v0, float)
        room = radius**2 - q @ q  # radius^2 - |q|^2, carried along: at impacts it is zero and not its rounding
        energy = v @ v / 2.0 + gravity * q[1]
        bound = 4.0 * (energy + gravity * radius) + 2.0 * gravity * radius
        opening = -2.0 * (q @ v)  # rate of room
        t, impulse, jump = 0.0, 0.0, False
        while True:
            if room <= 0.0 and opening <= 0.0:
                phi = atan2(q[0], -q[1])
                along, inward = np.array([cos(phi), sin(phi)]), np.array([-sin(phi), cos(phi)])
                rate_minus = opening / (2.0 * radius)
                rate, speed = -e * rate_minus, along @ v
                at_rest = rate < STILL * sqrt(gravity * radius)
                rate, jump = (0.0 if at_rest else rate), bool(rate_minus < 0.0)
                impulse += mass * (rate - rate_minus)
                if at_rest:
                    yield Piece(t, _slide(radius, gravity, mass, phi, speed / radius, impulse, t_end - t), jump)
                    return
                v, opening = speed * along + rate * inward, 2.0 * radius * rate
            flight = _Parabola(q, v, gravity, room, opening)
            yield Piece(t, flight.motion(impulse), jump)
            tau = landing(flight.room, bound, t_end - t)
            if isinf(tau):
                return
            opening = flight.room(tau)[1]
            state = flight.motion(0.0)(np.array([tau]))
            q, v, room, t = state.q[0], state.v[0], 0.0, t + tau
            q *= radius / np.hypot(*q)

    wall = Contact(lambda q: radius - np.hypot(q[0], q[1]), e=e, name="bowl")
    system = System(
        M=mass, f=[0.0, -mass * gravity], contacts=[wall], name="bowl", scene=bead_on_circle(radius, inside=True)
    )
    return Problem(system, (0.0, t_end), q0, v0, exact=Pieces(pieces).exact(), name="bowl")


def _slide(radius, gravity, mass, phi, w, impulse, duration):
    if duration <= 0.0:
        return lambda tau: Motion(*on_circle(radius, phi + 0.0 * tau, w), np.full((*tau.shape, 1), impulse))
    run = slide(radius, gravity, phi, w, duration)

    def motion(tau):
        angle, speed, normal = run.sol(tau)
        return Motion(*on_circle(radius, angle, speed), impulse + mass * normal[..., None])

    return motion


class _Parabola:
    """Flight from q, v; room = radius^2 - |q|^2 as a polynomial without cancellation near its start."""

    def __init__(self, q, v, gravity, room, opening) -> None:
        self.q, self.v, self.gravity, self.start, self.opening = q, v, gravity, room, opening

    def room(self, tau):
        bend, twist = self.v @ self.v - self.gravity * self.q[1], self.gravity * self.v[1]
        quarter = self.gravity**2 / 4.0
        value = self.start + tau * (self.opening - tau * (bend - tau * (twist - tau * quarter)))
        return value, self.opening - tau * (2.0 * bend - tau * (3.0 * twist - tau * 4.0 * quarter))

    def motion(self, impulse):
        fall = np.array([0.0, -self.gravity])

        def motion(tau):
            tau = tau[..., None]
            q = self.q + self.v * tau + fall * tau**2 / 2.0
            return Motion(q, self.v + fall * tau, np.full(tau.shape, impulse))

        return motion
