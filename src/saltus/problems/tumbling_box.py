"""Spinning box thrown on a floor (Euler 1758; parameters our own): eight corners with 3D Coulomb friction."""

from __future__ import annotations

from itertools import product

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Problem
from saltus.system import Contact, System

from ._quaternion import cross, normalised, rate, rotate
from ._sketches import tumbling_box as sketch


def tumbling_box(
    *,
    half_sizes: tuple[float, float, float] = (0.10, 0.06, 0.03),
    mass: float = 1.0,
    gravity: float = 9.81,
    e: float = 0.3,
    mu: float = 0.3,
    position: tuple[float, float, float] = (0.0, 0.0, 0.5),
    orientation: tuple[float, float, float, float] = (0.9, 0.3, -0.2, 0.1),
    velocity: tuple[float, float, float] = (0.5, 0.2, 0.0),
    spin: tuple[float, float, float] = (4.0, 7.0, -3.0),
    t_end: float = 1.0,
) -> Problem:
    """q = (x, y, z, quaternion w, x, y, z), v = (world velocity, body angular velocity); contacts with z = 0.

    half_sizes [m], mass [kg] (homogeneous), gravity [m/s^2], e, mu of all corners [-], position [m],
    orientation (normalised here), velocity [m/s], spin [rad/s], t_end [s]. No exact solution; in flight the
    energy, the horizontal momentum and the angular momentum about the centre stay constant.
    """
    squares = np.square(half_sizes)
    inertia = (mass / 3.0 * (squares.sum() - squares)).tolist()

    def f(t, q, v):
        omega = v[3:6]
        turn = cross(omega, [inertia[0] * omega[0], inertia[1] * omega[1], inertia[2] * omega[2]])
        return [0.0, 0.0, -mass * gravity, -turn[0], -turn[1], -turn[2]]

    def q_dot(q, v):
        return [v[0], v[1], v[2], *rate(q[3:7], v[3:6])]

    def retract(q):
        return [q[0], q[1], q[2], *normalised(q[3:7])]

    def corner(signs: tuple[int, ...]) -> Contact:
        arm = [sign * half for sign, half in zip(signs, half_sizes, strict=True)]

        def gap(q):
            return q[2] + rotate(q[3:7], arm)[2]

        def slip(t, q, v):
            swing = rotate(q[3:7], cross(v[3:6], arm))
            return [v[0] + swing[0], v[1] + swing[1]]

        name = "corner " + "".join("+" if sign > 0 else "-" for sign in signs)
        return Contact(gap, e=e, mu=mu, slip=slip, name=name)

    system = System(
        M=np.diag([mass, mass, mass, *inertia]),
        f=f,
        contacts=[corner(signs) for signs in product((-1, 1), repeat=3)],
        q_dot=q_dot,
        retract=retract,
        name="tumbling_box",
        scene=sketch(half_sizes),
    )
    q0 = np.array([*position, *normalised(orientation)])
    lowest = min(contact.gap(q0) for contact in system.contacts)
    if lowest < 0.0:
        raise ModelError(f"tumbling_box starts in the floor: lowest corner at {lowest:.3e} m; raise position[2]")
    return Problem(system, (0.0, t_end), q0, [*velocity, *spin], name="tumbling_box")
