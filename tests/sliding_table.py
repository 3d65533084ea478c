"""The table of tests/test_not_unique.py that begins to slip, by linear programs and scipy: nothing of saltus is used.

It sticks until no forces are left that hold it: the last of them lie on their cones and say in which directions its
legs begin to slip. While all legs slip, loads are the split that lasting/split.py documents: the shortest ones with a
logarithmic barrier.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import null_space
from scipy.optimize import brentq, linprog

BARRIER = 1e-3


class SlidingTable:
    """q = (x, y, z, roll, pitch, yaw), small angles; masses, legs (x, y), height of its centre, mu, force(t)."""

    def __init__(self, masses, legs, height, mu, force):
        self.masses, self.mu, self.force = np.array(masses), mu, force
        self.normal = np.array([[0.0, 0.0, 1.0, y, -x, 0.0] for x, y in legs])
        self.first = np.array([[1.0, 0.0, 0.0, 0.0, -height, -y] for _, y in legs])
        self.second = np.array([[0.0, 1.0, 0.0, height, 0.0, x] for x, _ in legs])

    def margin(self, t):
        """Return by how much all loads can be lowered while friction holds the table at rest [N], and the forces."""
        n = len(self.normal)
        rows = np.stack([self.normal, self.first, self.second], axis=1).reshape(3 * n, 6)
        cuts = [(k, angle) for k in range(n) for angle in np.linspace(0.0, 2.0 * np.pi, 9)[:-1]]
        while True:
            A = np.zeros((len(cuts), 3 * n + 1))
            for i, (k, angle) in enumerate(cuts):
                A[i, [3 * k, 3 * k + 1, 3 * k + 2]] = -self.mu, np.cos(angle), np.sin(angle)
                A[i, -1] = self.mu
            holds = np.c_[rows.T, np.zeros(6)]
            made = linprog(
                np.r_[np.zeros(3 * n), -1.0], A, np.zeros(len(A)), holds, -self.force(t), bounds=(None, None)
            )
            forces, spare = made.x[:-1].reshape(n, 3), made.x[-1]
            outside = np.hypot(forces[:, 1], forces[:, 2]) - self.mu * (forces[:, 0] - spare)
            if outside.max() <= 1e-6:
                return spare, forces
            cuts += [(k, np.arctan2(forces[k, 2], forces[k, 1])) for k in np.flatnonzero(outside > 1e-7)]

    def acceleration(self, t, v):
        """Return the acceleration while all legs slip."""
        u = np.stack([self.first @ v, self.second @ v], axis=1)
        way = u / np.linalg.norm(u, axis=1)[:, None]
        push = self.normal - self.mu * (way[:, :1] * self.first + way[:, 1:] * self.second)
        free = self.force(t) / self.masses
        D = self.normal / self.masses @ push.T
        scale = 1.0 / np.sqrt(np.diag(D))
        N = scale * np.linalg.lstsq(scale[:, None] * D * scale, -scale * (self.normal @ free), rcond=1e-10)[0]
        load, Z = np.linalg.norm(N), null_space((push / self.masses)[:, 2:5].T)
        for _ in range(60):
            slope, bend = N / load**2 - BARRIER / N, 1.0 / load**2 + BARRIER / N**2
            step = -Z @ np.linalg.solve(Z.T @ (bend[:, None] * Z), Z.T @ slope)
            N = N + min(1.0, 0.9 / max(1e-300, np.max(-step / N))) * step
            if np.abs(step).max() <= 1e-12 * load:
                break
        return free + push.T @ N / self.masses

    def velocity(self, begin, end):
        """Return the velocity at the end of a span that begins at rest, held; and when the table begins to slip."""
        start = brentq(lambda t: self.margin(t)[0], begin, end, xtol=1e-9)
        forces = self.margin(start)[1]
        rubs = np.linalg.norm(forces[:, 1:], axis=1)
        way = -forces[:, 1:] / np.where(rubs > 1e-2, rubs, np.inf)[:, None]  # a leg without load has no direction
        turned = way[:, :1] * self.second - way[:, 1:] * self.first  # no leg moves across its own direction
        moves = np.zeros(6)
        moves[[0, 1, 5]] = np.linalg.svd(turned[:, [0, 1, 5]])[2][-1]
        moves *= np.sign(np.sum(way[:, 0] * (self.first @ moves) + way[:, 1] * (self.second @ moves)))
        made = solve_ivp(self.acceleration, (start, end), 1e-6 * moves, method="LSODA", rtol=1e-7, atol=1e-9)
        return made.y[:, -1], start
