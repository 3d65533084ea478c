"""Accumulations of impacts that are slow, low, heavy or in odd units: errors over the promise, against exact bounces.

Motion under constant forces with gaps that are linear in q is quadratic between impacts, so that every impact is known
to rounding; bounces are followed until they are 1e-10 of the first. For q, v and the impulse the mean error over time,
divided by tol (1 + largest size), must be 1 at most for HpTDG. The same models are written in other units with `scale`,
where the runs must be the same.

`python slow_accumulations.py --scheme event-driven --tol 1e-4,1e-7`
"""

from __future__ import annotations

import argparse
import dataclasses

import numpy as np
from rich.console import Console
from rich.table import Table

import saltus as sl

TOLERANCES = (1e-4, 1e-7, 1e-10)
OVER = 1e-10  # of the first impact: bounces that slow are over
MOST_IMPACTS = 5000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
PIECES = 200  # of the span: no piece of the quadrature is longer


@dataclasses.dataclass(frozen=True)
class Bounces:
    """Bodies with a diagonal mass, constant forces and linear gaps W q, released at rest or with a velocity.

    Attributes
    ----------
    mass, force, W
        Diagonal of M, forces, rows of the gaps.
    e
        Restitution of all contacts.
    q, v
        The start.
    span
        How long the run is, over the time at which all bounces are over.
    """

    name: str
    mass: tuple[float, ...]
    force: tuple[float, ...]
    W: tuple[tuple[float, ...], ...]
    e: float
    q: tuple[float, ...]
    v: tuple[float, ...]
    span: float = 1.2

    def in_units(self, name: str, length: float, time: float, mass: float, angles: tuple[int, ...] = ()) -> Bounces:
        """Return the same model with other units, given in those of this one; angles keep theirs."""
        n = len(self.q)
        sizes = np.array([1.0 if i in angles else length for i in range(n)])
        inertia = np.array([mass * length**2 if i in angles else mass for i in range(n)])
        rows = np.array(self.W) * sizes / length
        force = np.array(self.force) / (inertia * sizes / time**2)
        return dataclasses.replace(
            self, name=f"{self.name} [{name}]", mass=tuple(np.array(self.mass) / inertia), force=tuple(force),
            W=tuple(map(tuple, rows)), q=tuple(np.array(self.q) / sizes), v=tuple(np.array(self.v) * time / sizes),
        )  # fmt: skip

    def system(self) -> sl.System:
        """Return the system for saltus."""
        contacts = [
            sl.Contact(lambda q, row=row: sum(x * q[i] for i, x in enumerate(row) if x != 0.0), e=self.e)
            for row in self.W
        ]
        return sl.System(M=np.diag(self.mass), f=np.array(self.force), contacts=contacts)


class Exact:
    """The motion, piece by piece: q and v at the beginning, acceleration and forces, impulses so far."""

    def __init__(self, case: Bounces):
        self.case, self.pieces = case, []
        M, W, e = np.array(case.mass), np.array(case.W), case.e
        f, q, v = np.array(case.force), np.array(case.q), np.array(case.v)
        D = (W / M) @ W.T
        held = np.zeros(len(W), dtype=bool)
        t, i, first = 0.0, np.zeros(len(W)), 0.0
        for _ in range(MOST_IMPACTS):
            a, r = f / M, np.zeros(len(W))
            if held.any():
                r[held] = np.linalg.solve(D[np.ix_(held, held)], -(W[held] @ a))
                held &= r > 0.0
                r[:] = 0.0
                if held.any():
                    r[held] = np.linalg.solve(D[np.ix_(held, held)], -(W[held] @ a))
                a = a + W.T @ r / M
            self.pieces.append((t, q, v, a, i, r))
            if held.all():
                break
            times = [np.inf if held[k] else self._lands(W[k] @ q, W[k] @ v, W[k] @ a) for k in range(len(W))]
            k = int(np.argmin(times))
            h = times[k]
            if not np.isfinite(h):
                break
            t, q, v, i = t + h, q + h * (v + 0.5 * h * a), v + h * a, i + h * r
            u = W[k] @ v
            first = max(first, -u)
            q = q - W[k] / M / D[k, k] * (W[k] @ q)
            acts = held.copy()
            acts[k] = True
            wanted = np.where(np.arange(len(W)) == k, -(1.0 + e) * u, 0.0)
            while True:
                P = np.zeros(len(W))
                P[acts] = np.linalg.solve(D[np.ix_(acts, acts)], wanted[acts])
                if np.all(P[acts] > 0.0):
                    break
                acts &= P > 0.0
                acts[k] = True
            held &= acts
            v, i = v + W.T @ P / M, i + P
            if -e * u < OVER * first:
                held[k] = True
                v = v - W[k] / M / D[k, k] * (W[k] @ v)
        else:
            raise RuntimeError(f"{case.name}: more than {MOST_IMPACTS} impacts")
        self.over = self.pieces[-1][0]
        self.impacts = len(self.pieces) - 1
        self.begins = np.array([piece[0] for piece in self.pieces])

    @staticmethod
    def _lands(g: float, u: float, a: float) -> float:
        """Return when g + u t + a t^2 / 2 becomes zero, coming from above."""
        under = u * u - 2.0 * a * max(g, 0.0)
        if under < 0.0 or (a >= 0.0 and u >= 0.0):
            return np.inf
        root = np.sqrt(under)
        return 2.0 * max(g, 0.0) / (root - u) if u < 0.0 else (u + root) / -a

    def __call__(self, t: np.ndarray):
        """Return q, v and impulses at times."""
        which = np.clip(np.searchsorted(self.begins, t, side="right") - 1, 0, None)
        q0, v0, a, i0, r = (np.array([piece[j] for piece in self.pieces])[which] for j in range(1, 6))
        s = (t - self.begins[which])[:, None]
        return q0 + s * (v0 + 0.5 * s * a), v0 + s * a, i0 + s * r


def ratios(case: Bounces, exact: Exact, tol: float, scheme, scale=None) -> tuple[dict[str, float], sl.Solution]:
    """Return the mean errors of q, v and i over the promise, and the solution."""
    end = exact.over * case.span
    sol = sl.solve(case.system(), (0.0, end), case.q, case.v, scheme=scheme, tol=tol, scale=scale, progress=False)
    borders = np.unique(np.concatenate([exact.begins, sol.t, np.linspace(0.0, end, PIECES)]))
    borders = borders[borders <= end]
    h = np.diff(borders)
    t = (borders[:-1, None] + 0.5 * h[:, None] * (NODES + 1.0)).ravel()
    w = (0.5 * h[:, None] * WEIGHTS).ravel() / end
    state, reference = sol(t), exact(t)
    found = {"q": state.q, "v": state.v, "i": np.asarray(sol.impulse_at(t)).reshape(len(t), -1)}
    made = {}
    for (name, value), x in zip(found.items(), reference, strict=True):
        error = np.linalg.norm(value - x, axis=1)
        made[name] = float(w @ error / tol / (1.0 + np.linalg.norm(x, axis=1).max()))
    return made, sol


def ball(name: str, gravity: float, e: float, height: float, mass: float = 1.5, span: float = 1.2) -> Bounces:
    """Return a ball that falls."""
    return Bounces(name, (mass,), (-mass * gravity,), ((1.0,),), e, (height,), (0.0,), span)


def cases() -> list[Bounces]:
    """Return the models."""
    drop = ball("drop 0.1 mm", 9.81, 0.8, 1e-4)
    # a bar that lands on a lever arm: position and angle
    lever = Bounces("lever", (2.0, 3e-3), (-2.0 * 9.81, 0.0), ((1.0, 0.05),), 0.6, (0.02, 0.1), (0.0, -0.2))
    # a plank on two feet: each impact turns it towards the other foot
    plank = Bounces(
        "slow plank", (4.0, 0.5), (-4.0 * 1e-3, 0.0), ((1.0, -0.4), (1.0, 0.4)), 0.5, (0.01, 0.0), (0.0, 0.005)
    )
    return [
        ball("Itokawa", 8.6e-5, 0.6, 0.01),
        ball("Bennu", 6e-5, 0.8, 1e-3),
        ball("Bennu, long", 6e-5, 0.8, 1e-3, span=40.0),
        drop,
        drop.in_units("mm ms g", 1e-3, 1e-3, 1e-3),
        drop.in_units("um us ug", 1e-6, 1e-6, 1e-9),
        drop.in_units("km ms t", 1e3, 1e-3, 1e3),
        drop.in_units("km h t", 1e3, 3600.0, 1e3),
        ball("km, ms", 9.81e-9, 0.8, 1e-3),
        ball("heavy", 9.81, 0.7, 0.01, mass=1e6),
        ball("light", 9.81, 0.7, 0.01, mass=1e-6),
        ball("bouncy", 9.81, 0.95, 1e-3),
        ball("centrifuge", 1e6, 0.5, 1e-6),
        ball("short in a long run", 9.81, 0.8, 1e-3, span=1e4),
        lever,
        lever.in_units("mm ms g", 1e-3, 1e-3, 1e-3, angles=(1,)),
        lever.in_units("km h t", 1e3, 3600.0, 1e3, angles=(1,)),
        plank,
        plank.in_units("mm ms g", 1e-3, 1e-3, 1e-3, angles=(1,)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scheme", choices=("hp-tdg", "event-driven"), default="hp-tdg")
    parser.add_argument("--tol", default=",".join(map(str, TOLERANCES)))
    parser.add_argument("--case", default="")
    given = parser.parse_args()
    table = Table("case", "tol", "q", "v", "i", "impacts", "steps", "f")
    worst = 0.0
    for case in cases():
        if given.case not in case.name:
            continue
        exact = Exact(case)
        for tol in map(float, given.tol.split(",")):
            scheme = sl.HpTDG() if given.scheme == "hp-tdg" else sl.EventDriven()
            made, sol = ratios(case, exact, tol, scheme)
            worst = max(worst, *made.values())
            counts = (str(exact.impacts), str(sol.work["steps"]), str(sol.work["f"]))
            table.add_row(case.name, f"{tol:.0e}", *(f"{x:.2g}" for x in made.values()), *counts)
    Console(width=120).print(table)
    print(f"largest error over the promise: {worst:.3g}")


if __name__ == "__main__":
    main()
