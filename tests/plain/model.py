"""A point on a curved floor beside a round wall: two degrees of freedom, M(q), f(t, q, v), Coulomb friction.

All derivatives are written by hand, so that those of the library are compared as well.
"""

from __future__ import annotations

import numpy as np

START, SPEED = np.array([0.1, 0.9]), np.array([1.2, 0.0])
FLOOR, CENTRE, RADIUS = 0.4, np.array([2.2, 0.5]), 1.5


class Model:
    """The functions of the model; e: restitution of floor and wall, rough=False leaves friction out."""

    start, speed = START, SPEED

    def __init__(self, rough: bool = True, e: tuple[float, float] = (0.5, 0.3)):
        self.e = np.array(e)
        self.mu = np.array([0.3, 0.2]) if rough else np.zeros(2)

    @staticmethod
    def M(q):
        x, y = q
        return np.array([[1.4 + 0.3 * np.cos(y), 0.2 * np.sin(x)], [0.2 * np.sin(x), 1.0 + 0.2 * x * x]])

    @staticmethod
    def f(t, q, v):
        x, y = q
        return np.array(
            [
                9.0 * np.cos(2.9 * t) - 1.5 * x - 0.1 * v[0] * np.sqrt(1.0 + v[0] ** 2),
                -9.81 - 0.2 * v[1] + 0.3 * np.sin(x) * v[0] + 0.2 * y * y,
            ]
        )

    @staticmethod
    def g(q):
        x, y = q
        return np.array([y - FLOOR * x * x, (x - CENTRE[0]) ** 2 + (y - CENTRE[1]) ** 2 - RADIUS**2])

    @staticmethod
    def slip(q, v):
        """Return the tangential velocities of floor and wall."""
        x, y = q
        return np.array([v[0] + 2.0 * FLOOR * x * v[1], (CENTRE[1] - y) * v[0] + (x - CENTRE[0]) * v[1]])

    @staticmethod
    def W(q):
        """Return the rows of all velocities u = W v: floor N, T, wall N, T."""
        x, y = q
        return np.array(
            [
                [-2.0 * FLOOR * x, 1.0],
                [1.0, 2.0 * FLOOR * x],
                [2.0 * (x - CENTRE[0]), 2.0 * (y - CENTRE[1])],
                [CENTRE[1] - y, x - CENTRE[0]],
            ]
        )

    @staticmethod
    def zeta(q, v):
        """Return what curvature adds to the accelerations of the rows, (dW/dt) v."""
        return np.array([-2.0 * FLOOR * v[0] ** 2, 2.0 * FLOOR * v[0] * v[1], 2.0 * (v @ v), 0.0])


class Sliding(Model):
    """The same point on an even floor, on which it rests and slides: to the wall, and away from it again."""

    start, speed = np.array([-0.2, 0.0]), np.array([2.6, 0.0])

    def __init__(self):
        self.e, self.mu = np.array([0.0, 0.3]), np.array([0.1, 0.2])

    @staticmethod
    def f(t, q, v):
        return Model.f(t, q, v) - np.array([9.0 * np.cos(2.9 * t) + 2.0, 0.0])

    @staticmethod
    def g(q):
        return np.array([q[1], Model.g(q)[1]])

    @staticmethod
    def slip(q, v):
        return np.array([v[0], Model.slip(q, v)[1]])

    @staticmethod
    def W(q):
        return np.array([[0.0, 1.0], [1.0, 0.0], *Model.W(q)[2:]])

    @staticmethod
    def zeta(q, v):
        return np.array([0.0, 0.0, *Model.zeta(q, v)[2:]])
