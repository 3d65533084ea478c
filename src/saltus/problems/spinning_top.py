"""Heavy symmetric top about a fixed point (Lagrange 1788), quaternion orientation: nq = 4, nv = 3."""

from __future__ import annotations

from math import cos, sin

import numpy as np

from saltus.problem import Exact, Problem
from saltus.system import System

from ._quaternion import cross, normalised, rate
from ._reference import SmoothReference
from ._sketches import spinning_top as sketch

TOP_REFERENCE_STEP = 0.1  # [rad] turned by the initial spin in one step of the reference


def spinning_top(
    *,
    mass: float = 0.5,
    gravity: float = 9.81,
    distance: float = 0.08,
    transverse: float = 4e-3,
    axial: float = 1e-3,
    tilt: float = 0.5,
    spin: float = 60.0,
    nutation: float = 0.0,
    t_end: float = 1.0,
) -> Problem:
    """q = unit quaternion (w, x, y, z), v = body angular velocity; q' = q (0, v)/2, axis of symmetry z.

    mass [kg], gravity [m/s^2], distance of the centre of mass from the fixed point [m], transverse and
    axial moments of inertia about the fixed point [kg m^2], tilt of the axis [rad], spin about it and
    nutation about the body x axis at the start [rad/s], t_end [s]. Energy, vertical and axial angular
    momentum are conserved; reference: DOP853, computed at first use.
    """
    inertia = [transverse, transverse, axial]
    moment = mass * gravity * distance

    def torque(q, v):
        w, x, y, z = q[0], q[1], q[2], q[3]
        turn = cross(v, [inertia[0] * v[0], inertia[1] * v[1], inertia[2] * v[2]])
        # weight at the body z axis: e_z x (-R^T e_vertical)
        lever = [2.0 * (y * z + w * x), -2.0 * (x * z - w * y)]
        return [moment * lever[0] - turn[0], moment * lever[1] - turn[1], -turn[2]]

    q0 = np.array([cos(tilt / 2.0), sin(tilt / 2.0), 0.0, 0.0])
    v0 = np.array([nutation, 0.0, spin])
    M = np.diag(inertia)
    scale = np.hypot(np.linalg.norm(v0), np.sqrt(moment / transverse))
    reference = SmoothReference(lambda q: M, torque, q0, v0, t_end, TOP_REFERENCE_STEP / scale, q_dot=rate)
    system = System(
        M=M, f=lambda t, q, v: torque(q, v), q_dot=rate, retract=normalised, name="spinning_top", scene=sketch(distance)
    )
    exact = Exact(reference.q, reference.v)
    return Problem(system, (0.0, t_end), q0, v0, exact=exact, name="spinning_top")
