"""Particle that slides off the top of a circle: release where cos(theta) = 2 cos(theta0)/3, then free flight."""

from __future__ import annotations

from math import acos, cos, pi, sqrt

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._circle import admissible, on_circle, pressing, slide
from ._pieces import Motion, Piece, Pieces
from ._sketches import bead_on_circle


def slide_off(
    *,
    mass: float = 1.0,
    radius: float = 1.0,
    gravity: float = 1.0,
    e: float = 0.0,
    theta0: float = 0.3,
    w0: float = 0.0,
    t_end: float = 2.1646318866960504,
) -> Problem:
    """q = (x, y), gap = |q| - radius; it leaves where cos(theta) = (w0^2 radius/gravity + 2 cos(theta0))/3.

    mass [kg], radius [m], gravity [m/s^2] > 0, e [-] (unused: no impact), theta0 [rad] >= 0 from the top, w0 [rad/s] >=
    0, t_end [s], by default 0.4 s after the release. No velocity jumps. The reference is a pendulum in theta by DOP853
    up to the release (computed at first use) and a parabola after it.
    """
    # pressing() belongs to a circle around the particle: below it the force has the other sign
    if min(mass, radius, gravity) <= 0.0 or not pressing(radius, gravity, pi - theta0, w0) < 0.0:
        raise ModelError(
            f"slide_off needs mass, radius, gravity > 0 and a start that presses: mass = {mass}, radius = {radius}, "
            f"gravity = {gravity}, theta0 = {theta0}, w0 = {w0}; choose a smaller theta0 or w0"
        )
    if theta0 < 0.0 or w0 < 0.0 or theta0 == w0 == 0.0:
        raise ModelError(f"slide_off runs down one side: theta0 = {theta0}, w0 = {w0}; choose both >= 0, one > 0")
    release = acos((w0**2 * radius / gravity + 2.0 * cos(theta0)) / 3.0)

    def pieces():
        def leaves(t, y):
            return y[0] - (pi - release)

        leaves.terminal = True
        run = slide(radius, gravity, pi - theta0, -w0, t_end, side=-1.0, event=leaves)

        def sliding(tau):
            phi, w, normal = run.sol(tau)
            return Motion(*on_circle(radius, phi, w), mass * normal[..., None])

        yield Piece(0.0, sliding, False)
        if run.status != 1:
            return
        q, v = on_circle(radius, pi - release, -sqrt(gravity / radius * cos(release)))
        total = mass * run.y[2, -1]

        def flying(tau):
            tau = tau[..., None]
            fall = np.array([0.0, -gravity])
            return Motion(q + v * tau + fall * tau**2 / 2.0, v + fall * tau, np.full(tau.shape, total))

        yield Piece(run.t[-1], flying, False)

    circle = Contact(lambda q: np.hypot(q[0], q[1]) - radius, e=e, name="circle")
    system = System(
        M=mass,
        f=[0.0, -mass * gravity],
        contacts=[circle],
        name="slide_off",
        scene=bead_on_circle(radius, inside=False),
    )
    q0, v0 = on_circle(radius, pi - theta0, -w0)
    q0 = admissible(q0, radius, side=-1.0)
    return Problem(system, (0.0, t_end), q0, v0, exact=Pieces(pieces).exact(), name="slide_off")
