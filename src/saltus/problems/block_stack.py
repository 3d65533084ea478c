"""Stack of blocks on the ground (Coulomb 1785; parameters our own): two corners with friction per block, redundant."""

from __future__ import annotations

from math import cos, pi, sin, tan

import numpy as np

from saltus.errors import ModelError
from saltus.problem import Exact, Problem
from saltus.system import Contact, System

from ._sketches import blocks


def block_stack(
    *,
    n: int = 20,
    width: float = 0.2,
    height: float = 0.1,
    mass: float = 1.0,
    gravity: float = 9.81,
    slope: float = 0.0,
    mu: float = 0.5,
    e: float = 0.0,
    t_end: float = 1.0,
) -> Problem:
    """q = (x, y, phi) of the centres, lowest block first, x along the ground; flush on each other and at rest at first.

    n blocks, width, height [m], mass of one [kg] (homogeneous), gravity [m/s^2] > 0, slope of the ground [rad] (down
    along x), mu, e of all corners [-], t_end [s].
    Contacts: the lower corners of a block against the upper face of the one below, which is taken without end to the
    sides, in the frame of that block; the ground under the first.
    Exact where no corner lifts, n height s <= width with s = min(|tan(slope)|, mu): the stack stays if |tan(slope)| <=
    mu, else it slides as one with the acceleration gravity (|sin(slope)| - mu cos(slope)). The corners of a block that
    carries m blocks, itself included, share m mass gravity cos(slope) as (1 -+ m s height/width)/2. Of the friction
    only the sum of both is determined; `exact` gives each corner s times its normal force.
    """
    if n < 1 or int(n) != n:
        raise ModelError(f"block_stack has n = {n} blocks; choose a whole number of at least 1")
    if min(width, height, mass, gravity) <= 0.0 or not abs(slope) < pi / 2.0:
        raise ModelError(
            f"block_stack needs width, height, mass, gravity > 0 and |slope| < pi/2: width = {width}, height = "
            f"{height}, mass = {mass}, gravity = {gravity}, slope = {slope}; change them"
        )
    n, half_width, half_height = int(n), width / 2.0, height / 2.0

    def corner(block: int, side: float) -> Contact:
        at, below = 3 * block, 3 * block - 3

        def arm(turn):
            """From the centre of the block to its corner, across a face at the angle -turn to the block."""
            return side * half_width * np.sin(turn) - half_height * np.cos(turn)

        def gap_ground(q):
            return q[at + 1] + arm(q[at + 2])

        def slip_ground(t, q, v):
            return v[at] - arm(q[at + 2]) * v[at + 2]

        def apart(q):
            """From the centre of the block below to that of the block, across the face between them."""
            c, s = np.cos(q[below + 2]), np.sin(q[below + 2])
            return c * (q[at + 1] - q[below + 1]) - s * (q[at] - q[below])

        def gap(q):
            return apart(q) + arm(q[at + 2] - q[below + 2]) - half_height

        def slip(t, q, v):
            c, s, across = np.cos(q[below + 2]), np.sin(q[below + 2]), arm(q[at + 2] - q[below + 2])
            centres = c * (v[at] - v[below]) + s * (v[at + 1] - v[below + 1])
            return centres - across * v[at + 2] + (apart(q) + across) * v[below + 2]

        name = f"block {block + 1} {'left' if side < 0.0 else 'right'}"
        if block == 0:
            return Contact(gap_ground, e=e, mu=mu, slip=slip_ground if mu > 0.0 else None, name=name)
        return Contact(gap, e=e, mu=mu, slip=slip if mu > 0.0 else None, name=name)

    weight = mass * gravity
    system = System(
        M=np.tile([mass, mass, mass * (width**2 + height**2) / 12.0], n),
        f=np.tile([weight * sin(slope), -weight * cos(slope), 0.0], n),
        contacts=[corner(block, side) for block in range(n) for side in (-1.0, 1.0)],
        name="block_stack",
        scene=blocks(n, width, height),
    )
    q0 = np.zeros((n, 3))
    q0[:, 1] = half_height + height * np.arange(n)
    # the steepest slope whose pull friction holds; beyond it the rest accelerates all blocks alike
    held = min(abs(tan(slope)), mu) * (1.0 if slope >= 0.0 else -1.0)
    carried = weight * cos(slope) * np.arange(n, 0, -1)  # by the corners of a block
    lean = held * height / width * np.arange(n, 0, -1)  # down the slope
    forces = np.zeros((n, 2, 2 if mu > 0.0 else 1))
    forces[:, 0, 0], forces[:, 1, 0] = carried * (1.0 - lean) / 2.0, carried * (1.0 + lean) / 2.0
    forces[:, :, 1:] = -held * forces[:, :, :1]
    along = np.tile([gravity * cos(slope) * (tan(slope) - held), 0.0, 0.0], n)

    exact = Exact(
        lambda t: q0.ravel() + np.multiply.outer(np.square(t) / 2.0, along),
        lambda t: np.multiply.outer(np.asarray(t, float), along),
        lambda t: np.multiply.outer(np.asarray(t, float), forces.ravel()),
    )
    stands = np.max(np.abs(lean)) <= 1.0
    return Problem(
        system, (0.0, t_end), q0.ravel(), np.zeros(3 * n), exact=exact if stands else None, name="block_stack"
    )
