"""Bodies whose gaps are linear in q under forces that are signals of time: any redundant contacts, without bounce.

Without friction the acceleration is the one nearest to the free one, in the metric of the mass, among those that open
no closed contact inwards: unique, whatever the forces of single contacts are. It stays a fixed projection of the
forces as long as *some* nonnegative forces of the held contacts hold them; the facet of their cone through which the
demand leaves it is a linear function of the signals, so that the time is a root of a signal. `held` rows are kept at
zero velocity all the time (feet that stick). Impacts are the same problem for velocities.
"""

from __future__ import annotations

import numpy as np
from reference import CLOSEST, Reference, Unfit, alike, first_crossing
from scipy.optimize import brentq, nnls
from signals import Path, Signal, combined

LOOKS = 1200  # places at which the demand is compared with the cone
OUTSIDE = 1e-10  # of the forces: distance from the cone that counts as outside
TOUCHING = 1e-11  # gap [m] and speed [m/s] of contacts that close together
OPENS = 1e-10  # of the accelerations: what is held opens by less
PHASES = 60
CHANGE, REACH = 1e-8, 300.0


def nearest(W: np.ndarray, held: np.ndarray, demand: np.ndarray) -> tuple[np.ndarray, float]:
    """Nonnegative factors of W (and free ones of `held`) nearest to a demand, and the distance left."""
    A = np.concatenate([W, held, -held], axis=1)
    if A.shape[1] == 0:
        return np.zeros(0), float(np.linalg.norm(demand))
    factors, rest = nnls(A, demand, maxiter=1000)
    return factors, float(rest)


class Tipping:
    """Masses (nv,), forces as signals with weight (nv), W (nv, n) of the contacts, held rows (nv, k)."""

    def __init__(self, masses: np.ndarray, forces: list[Signal], W: np.ndarray, held: np.ndarray | None = None):
        self.masses, self.forces, self.W = np.asarray(masses, float), list(forces), np.asarray(W, float)
        self.held = np.zeros((len(masses), 0)) if held is None else np.asarray(held, float)
        self.root = np.sqrt(self.masses)

    def force(self, t: float) -> np.ndarray:
        return np.array([float(signal.at(t)) for signal in self.forces])

    def acceleration(self, t: float, closed: list[int]) -> np.ndarray:
        """The acceleration that the law of closed contacts gives."""
        scaled = self.force(t) / self.root
        W, held = self.W[:, closed] / self.root[:, None], self.held / self.root[:, None]
        factors, _ = nearest(W, held, -scaled)
        return (scaled + np.concatenate([W, held, -held], axis=1) @ factors) / self.root

    def after_impact(self, v: np.ndarray, closed: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Velocity behind an impact without bounce, and its impulse on the body."""
        W, held = self.W[:, closed] / self.root[:, None], self.held / self.root[:, None]
        factors, _ = nearest(W, held, -v * self.root)
        impulse = self.root * (np.concatenate([W, held, -held], axis=1) @ factors)
        return v + impulse / self.masses, impulse

    def projection(self, kept: list[int]) -> np.ndarray:
        """Matrix of forces to accelerations with the kept contacts and held rows fixed."""
        rows = np.concatenate([self.W[:, kept], self.held], axis=1) / self.root[:, None]
        left = np.eye(len(self.root)) - (rows @ np.linalg.pinv(rows) if rows.shape[1] else 0.0)
        return left / self.root[:, None] / self.root[None, :]

    def leaves(self, kept: list[int], demand: list[Signal], start: float, end: float, span: float) -> float | None:
        """Return when the demand on the kept contacts leaves the cone of what they can give."""
        W = self.W[:, kept]
        t = np.linspace(start, end, LOOKS)
        t = np.concatenate([[min(start + CLOSEST * span, end)], t[t > start + CLOSEST * span]])
        values = np.stack([signal.at(t) for signal in demand], axis=-1)
        size = max(float(np.abs(values).max()), 1e-300)

        def outside(value: np.ndarray) -> float:
            return nearest(W, self.held, value)[1] - OUTSIDE * size

        if outside(values[0]) > 0.0:
            raise Unfit(f"the phase at t = {start} ends at once")
        for j in range(1, len(t)):
            if outside(values[j]) <= 0.0:
                continue
            low, high = t[j - 1], t[j]
            for _ in range(60):
                middle = (low + high) / 2.0
                value = np.array([float(signal.at(middle)) for signal in demand])
                low, high = (low, middle) if outside(value) > 0.0 else (middle, high)
                if high - low < CLOSEST**2 * span:
                    break
            # a little behind the crossing the residual is the normal of the facet: its root is exact
            behind = high + CLOSEST * span
            value = np.array([float(signal.at(behind)) for signal in demand])
            factors, _ = nearest(W, self.held, value)
            normal = value - np.concatenate([W, self.held, -self.held], axis=1) @ factors
            crossing = combined(normal / np.linalg.norm(normal), demand)
            before = low - CLOSEST * span
            if not float(crossing.at(before)) < 0.0 < float(crossing.at(behind)):
                raise Unfit(f"the demand grazes the cone at t = {low}")
            return float(brentq(lambda s, f=crossing: float(f.at(s)), before, behind, xtol=1e-300, rtol=1e-15))
        return None

    def motion(self, span: float) -> Reference:
        """The motion from rest at q = 0, with all gaps that start at zero closed."""
        made = Reference()
        nv, n = self.W.shape
        q, v, t = np.zeros(nv), np.zeros(nv), 0.0
        closed = list(range(n))
        drive = [signal.integral() for signal in self.forces]
        self.impulses: list[np.ndarray] = []  # of impacts
        while t < span:
            a = self.acceleration(min(t + 0.5 * CLOSEST * span, span), closed)
            rates = self.W.T @ a
            kept = [
                c for c in closed if rates[c] < OPENS * max(float(np.abs(a).max()), float(np.abs(rates).max()), 1e-3)
            ]
            P = self.projection(kept)
            accelerations = [combined(row, self.forces) for row in P]
            demand = [m * a_k - f_k for m, a_k, f_k in zip(self.masses, accelerations, self.forces, strict=True)]
            paths = [Path(t, q[k], v[k], accelerations[k]) for k in range(nv)]
            release = self.leaves(kept, demand, t, span, span) if kept or self.held.shape[1] else None
            others = [c for c in range(n) if c not in kept]

            def gap(s, c, paths=paths):
                return sum(self.W[k, c] * paths[k].place(s) for k in range(nv) if self.W[k, c] != 0.0)

            strike = first_crossing([lambda s, c=c: gap(s, c) for c in others], t, release or span, span)
            end = strike[0] if strike else (release or span)

            def piece(s, paths=paths):
                velocity = np.stack([path.velocity(s) for path in paths], axis=-1)
                place = np.stack([path.place(s) for path in paths], axis=-1)
                given = np.stack([signal.at(s) for signal in drive], axis=-1)
                return place, velocity, self.masses * velocity - given

            made.add(t, end, piece, ",".join(map(str, kept)))
            if end >= span:
                break
            if len(made.pieces) > PHASES:
                raise Unfit(f"more than {PHASES} phases")
            t = end
            q, v = (part[0].copy() for part in piece(np.array([t]))[:2])
            closed = kept
            if strike:
                closed = kept + [c for c in others if abs(float(self.W[:, c] @ q)) < TOUCHING]
                v, impulse = self.after_impact(v, closed)
                self.impulses.append(impulse)
                closed = [c for c in closed if float(self.W[:, c] @ v) < TOUCHING]
        return made


def steady_motion(body: Tipping, span: float) -> Reference:
    """Return the motion, or raise Unfit where it depends too much on its data."""
    made = body.motion(span)
    impulses = body.impulses
    other = Tipping(body.masses, [f * (1.0 + CHANGE * (k + 1)) for k, f in enumerate(body.forces)], body.W, body.held)
    alike(made, other.motion(span), len(body.forces) * CHANGE, REACH)
    body.impulses = impulses
    return made
