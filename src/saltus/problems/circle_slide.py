"""Particle that slides inside a circle and stays on it: persistent contact on a curved wall, friction optional."""

from __future__ import annotations

from math import copysign

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._circle import admissible, on_circle, pressing, slide
from ._pieces import Motion, Piece, Pieces
from ._sketches import bead_on_circle


def circle_slide(
    *,
    mass: float = 1.0,
    radius: float = 1.0,
    gravity: float = 1.0,
    mu: float = 0.0,
    e: float = 0.0,
    phi0: float = -1.2,
    w0: float = 0.6,
    t_end: float = 1.0,
) -> Problem:
    """q = (x, y) = radius (sin phi, -cos phi), gap = radius - |q|, normal force mass (radius phi'^2 + gravity cos phi).

    mass [kg], radius [m], gravity [m/s^2] > 0, mu [-], e [-] (unused: no impact), phi0 [rad] from the lowest point, w0
    [rad/s], t_end [s].
    The reference (a pendulum in phi by DOP853, computed at first use) covers motions that stay on the circle and, with
    friction, do not turn round; it says so where they do not. No velocity jumps.
    """
    if min(mass, radius, gravity) <= 0.0 or pressing(radius, gravity, phi0, w0) < 0.0:
        raise ModelError(
            f"circle_slide needs mass, radius, gravity > 0 and a start that presses: mass = {mass}, radius = {radius}, "
            f"gravity = {gravity}, phi0 = {phi0}, w0 = {w0}; choose |phi0| <= pi/2 or a larger w0"
        )
    if mu > 0.0 and w0 == 0.0:
        raise ModelError(f"circle_slide with friction must slip at the start: w0 = {w0}; choose w0 != 0")

    def pieces():
        def ends(t, y):
            force = pressing(radius, gravity, y[0], y[1])
            return min(force, copysign(1.0, w0) * y[1]) if mu > 0.0 else force

        ends.terminal, ends.direction = True, -1.0
        run = slide(radius, gravity, phi0, w0, t_end, mu=mu, event=ends)
        if run.status == 1:
            raise ModelError(
                f"circle_slide has no reference after t = {run.t[-1]:.6g}, where it leaves the circle or, with "
                f"friction, turns round; choose a smaller t_end than {t_end}"
            )

        def motion(tau):
            phi, w, normal = run.sol(tau)
            rows = [mass * normal, -mu * copysign(1.0, w0) * mass * normal] if mu > 0.0 else [mass * normal]
            return Motion(*on_circle(radius, phi, w), np.stack(rows, axis=-1))

        yield Piece(0.0, motion, False)

    def gap(q):
        return radius - np.hypot(q[0], q[1])

    def slip(t, q, v):
        return (q[0] * v[1] - q[1] * v[0]) / np.hypot(q[0], q[1])

    wall = Contact(gap, e=e, mu=mu, slip=slip if mu > 0.0 else None, name="circle")
    system = System(
        M=mass,
        f=[0.0, -mass * gravity],
        contacts=[wall],
        name="circle_slide",
        scene=bead_on_circle(radius, inside=True),
    )
    q0, v0 = on_circle(radius, phi0, w0)
    q0 = admissible(q0, radius, side=1.0)
    return Problem(system, (0.0, t_end), q0, v0, exact=Pieces(pieces).exact(), name="circle_slide")
