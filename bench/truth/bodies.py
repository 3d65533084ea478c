"""Bodies on feet: a system, its start, and the matrix that sums contact impulses to those on the body.

Forces on single feet need not be unique, their sum is: `total` maps the rows of `sol.impulse_at` to the generalised
impulse. Coordinates are of the centre of mass, zero where the body stands; `height` is that of the centre above the
floor. "planar" and "spatial" bodies turn by small angles (their gaps are linear), "turning" and "quaternion" ones by
any angle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from signals import ZERO, Signal

import saltus as sl
from saltus.problems._quaternion import cross, normalised, rate, rotate

KINDS = ("point", "spatial point", "planar", "turning", "spatial", "quaternion")


@dataclasses.dataclass(frozen=True)
class Body:
    """What stands on feet.

    kind: one of KINDS; places [m]: of the feet beside the centre, x in the plane and (x, y) in space; height [m];
    mass [kg], inertia [kg m^2] (one, or three in space); mus [-] of the feet; forces [N, N m]: one Signal per velocity
    beside weight; plate [m]: height of the floor; belt [m]: how far it moved along x (and y).
    """

    kind: str
    places: np.ndarray
    mass: float
    mus: tuple[float, ...]
    height: float = 0.0
    inertia: tuple[float, ...] = (1.0,)
    gravity: float = 9.81
    forces: tuple[Signal, ...] = ()
    plate: Signal = ZERO
    belt: tuple[Signal, ...] = ()
    e: float = 0.0
    order: tuple[int, ...] | None = None  # of the contacts in the system

    @property
    def spatial(self) -> bool:
        return self.kind in ("spatial point", "spatial", "quaternion")

    @property
    def nv(self) -> int:
        return {"point": 2, "spatial point": 3, "planar": 3, "turning": 3, "spatial": 6, "quaternion": 6}[self.kind]

    @property
    def up(self) -> int:
        """Number of the vertical velocity."""
        return 2 if self.spatial else 1

    @property
    def masses(self) -> np.ndarray:
        turning = self.inertia if self.nv > self.up + 1 else ()
        return np.array([self.mass] * (self.up + 1) + list(turning))


def directions(body: Body, k: int) -> np.ndarray:
    """Columns N, T or N, T1, T2 of foot k where the body is not turned: (nv, rows)."""
    h = body.height
    if body.kind == "point":
        columns = [[0.0, 1.0], [1.0, 0.0]]
    elif body.kind == "spatial point":
        columns = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    elif not body.spatial:
        columns = [[0.0, 1.0, float(body.places[k])], [1.0, 0.0, h]]
    else:
        x, y = map(float, body.places[k])
        columns = [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, -h, -y], [0, 1, 0, h, 0, x]]
    return np.array(columns, dtype=float)[: None if body.mus[k] > 0.0 else 1].T


def foot(body: Body, k: int, name: str) -> sl.Contact:
    """The contact of foot k."""
    plate, h, mu = body.plate, body.height, body.mus[k]
    moves = [signal.derivative() for signal in body.belt] or [ZERO, ZERO]
    W = directions(dataclasses.replace(body, mus=(1.0,) * len(body.mus)), k).T.tolist()

    def along(row, v):
        made = 0.0
        for factor, one in zip(row, v, strict=True):
            if factor != 0.0:
                made = made + factor * one
        return made

    if body.kind == "turning":
        x = float(body.places[k])

        def gap(t, q):
            return q[1] + x * np.sin(q[2]) + h * (1.0 - np.cos(q[2])) - plate(t)

        def slip(t, q, v):
            return v[0] + (h * np.cos(q[2]) - x * np.sin(q[2])) * v[2] - moves[0](t)

    elif body.kind == "quaternion":
        arm = [*map(float, body.places[k]), -h]

        def gap(t, q):
            return q[2] + rotate(q[3:7], arm)[2] + h - plate(t)

        def slip(t, q, v):
            swing = rotate(q[3:7], cross(v[3:6], arm))
            return [v[0] + swing[0] - moves[0](t), v[1] + swing[1] - moves[1](t)]

    else:

        def gap(t, q):
            return along(W[0], [q[i] for i in range(body.nv)]) - plate(t)

        def slip(t, q, v):
            made = [along(row, [v[i] for i in range(body.nv)]) - moves[j](t) for j, row in enumerate(W[1:])]
            return made if body.spatial else made[0]

    if mu == 0.0:
        return sl.Contact(gap, e=body.e, name=name)
    return sl.Contact(gap, e=body.e, mu=mu, slip=slip, name=name)


def system_of(body: Body) -> tuple[sl.System, np.ndarray]:
    """Return the system, and the matrix `total` (nv, rows)."""
    weight, up, nv = body.mass * body.gravity, body.up, body.nv
    forces = list(body.forces) + [ZERO] * (nv - len(body.forces))
    order = body.order or tuple(range(len(body.mus)))
    contacts = [foot(body, k, f"foot {k}") for k in order]
    total = np.concatenate([directions(body, k) for k in order], axis=1)

    def f(t, q, v):
        made = [forces[i](t) for i in range(nv)]
        made[up] = made[up] - weight
        return made

    if body.kind != "quaternion":
        return sl.System(M=body.masses.tolist(), f=f, contacts=contacts, name=body.kind), total
    inertia = list(map(float, body.inertia))

    def gyroscopic(t, q, v):
        made = f(t, q, v)
        turn = cross(v[3:6], [inertia[0] * v[3], inertia[1] * v[4], inertia[2] * v[5]])
        return [*made[:3], made[3] - turn[0], made[4] - turn[1], made[5] - turn[2]]

    def q_dot(q, v):
        return [v[0], v[1], v[2], *rate(q[3:7], v[3:6])]

    def retract(q):
        return [q[0], q[1], q[2], *normalised(q[3:7])]

    system = sl.System(
        M=np.diag(body.masses), f=gyroscopic, contacts=contacts, q_dot=q_dot, retract=retract, name=body.kind
    )
    return system, total


def translated(body: Body, along: np.ndarray) -> Callable:
    """Return what makes (q, v, total impulse) of a body of those of a block that moves in direction `along`."""
    nv, up = body.nv, body.up

    def made(q, v, i):
        shape = np.zeros((nv, 2))
        shape[: len(along), 0], shape[up, 1] = along, 1.0
        places = q @ shape.T
        if body.kind == "quaternion":
            identity = np.zeros((len(q), 4))
            identity[:, 0] = 1.0
            places = np.concatenate([places[:, :3], identity], axis=1)
        return places, v @ shape.T, i @ shape.T

    return made
