"""Motion with a fixed set of closed contacts, and its derivative: the smooth pieces of the variational equations.

While no contact closes, opens, sticks or starts to slip, a system moves by

    M a = f + W^T r,   r = G x,   W_h a + zeta_h = 0

with the rows h that are held (normals of closed contacts, friction that sticks, joints), their forces x, and friction
that slides, r_T = -mu r_N u_T / |u_T|, in G. All of it is differentiated at once, for many states of a run.

A variation is a column z = (dq, dv, di, dp): of coordinates, velocities, impulses of the contact rows and parameters,
the last two only where they are asked for.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from saltus.build.tangent import States, derivatives_of, parameter_places
from saltus.errors import SettingError
from saltus.laws import LAWS
from saltus.parameters import Parameter

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel

REDUNDANT_ROWS = 1e-10  # smallest over largest singular value of W_h M^-1 W^T G below which rows are redundant


class Sliding(NamedTuple):
    """Friction that slides: its contact, the normal row, its rows, and the sign of the slip where it has one row."""

    contact: int
    normal: int
    rows: tuple[int, ...]
    sign: float


class Phase(NamedTuple):
    """What is closed: rows that are held, and friction that slides."""

    held: tuple[int, ...]
    sliding: tuple[Sliding, ...] = ()


class Place(NamedTuple):
    """Where the parts of a variation lie."""

    q: slice
    v: slice
    i: slice
    p: slice
    size: int

    @property
    def moving(self) -> int:
        """Number of coordinates and velocities."""
        return self.v.stop


@dataclasses.dataclass(frozen=True)
class Friction:
    """Rows of one friction of a contact."""

    contact: int
    normal: int
    rows: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Balance:
    """Accelerations and forces in N states of one phase.

    Attributes
    ----------
    states
        The model in these states.
    a, x, r
        Accelerations, forces of the held rows, forces of all rows.
    G
        r = G x (N, rows, held rows).
    way
        Directions of sliding friction, (N, rows of the friction) each.
    speed
        Its speeds, (N,) each.
    """

    states: States
    a: np.ndarray
    x: np.ndarray
    r: np.ndarray
    G: np.ndarray
    way: tuple[np.ndarray, ...]
    speed: tuple[np.ndarray, ...]

    def rate(self, impulses: int, parameters: int) -> np.ndarray:
        """Return the time derivative of (q, v, i, p) (N, size)."""
        n = len(self.a)
        return np.concatenate([self.states.q_dot, self.a, self.r[:, :impulses], np.zeros((n, parameters))], axis=1)


class Motion:
    """The linearised motion of one model.

    Parameters
    ----------
    model
        The compiled model of a run, with its parameters.
    parameters
        Names of parameters by which to differentiate; an array counts with all its numbers.
    impulses
        Whether impulses of contacts are part of a variation.
    """

    def __init__(self, model: CompiledModel, parameters: Sequence[str] = (), *, impulses: bool = False):
        self.model, self.derivatives = model, derivatives_of(model)
        sizes = self.sizes = self.derivatives.sizes
        places = parameter_places(model.par_layout)
        for name in parameters:
            if name not in places:
                known = ", ".join(places) or "none"
                raise SettingError(f"there is no parameter {name!r}: the system has {known}")
        self.labels = tuple(
            name if places[name].ndim == 0 else f"{name}[{k}]" for name in parameters for k in range(places[name].size)
        )
        chosen = [np.ravel(places[name]) for name in parameters]
        self.chosen = np.concatenate(chosen) if chosen else np.zeros(0, dtype=int)
        layout = model.layout
        starts = [int(x) for x in layout[layout.contact_row : layout.contact_row + layout.nc + 1]]
        self.nc, self.contact_rows = int(layout.nc), starts[-1]
        self.joints = tuple(range(self.contact_rows, sizes.nr))
        self.normals = tuple(starts[:-1])
        self.frictions: tuple[Friction, ...] = tuple(
            Friction(c, row, rows) for c, row in enumerate(self.normals) for rows in _groups(model.kinds[c], row)
        )
        ni = self.contact_rows if impulses else 0
        ends = np.cumsum([0, sizes.nq, sizes.nv, ni, len(self.chosen)])
        self.place = Place(*(slice(int(a), int(b)) for a, b in itertools.pairwise(ends)), int(ends[-1]))
        self.ni = ni
        self.e, self.mu, self.e_t = (np.asarray(getattr(model.units, name)) for name in ("e", "mu", "e_t"))
        self.law_ways = {name: self._law_ways(name, places) for name in ("e", "mu", "e_t")}
        self.unit_ways = self.ways(np.eye(self.place.size))

    def _law_ways(self, name: str, places: dict[str, np.ndarray]) -> np.ndarray:
        """Return d(e, mu or e_t)/dp of every contact (contacts, chosen parameters)."""
        made = np.zeros((self.nc, len(self.chosen)))
        for c, contact in enumerate(self.model.system.contacts):
            given: Any = getattr(contact, name)
            if isinstance(given, Parameter) and given.name in places:
                made[c] = self.chosen == int(given.of(places))
        return made

    def ways(self, columns: np.ndarray, dt: np.ndarray | float = 0.0) -> np.ndarray:
        """Return columns of variations, each with a shift dt of time, as directions of the model's derivatives."""
        sizes, place = self.sizes, self.place
        made = np.zeros((columns.shape[1], 1 + sizes.nq + sizes.nv + sizes.np))
        made[:, 0] = dt
        made[:, 1 : 1 + place.moving] = columns[: place.moving].T
        made[:, 1 + place.moving + self.chosen] = columns[place.p].T
        return made

    def gap_of(self, row: int) -> int | None:
        """Return the number of the gap of a row, None for friction."""
        if row in self.normals:
            return self.normals.index(row)
        return None if row < self.contact_rows else self.nc + row - self.contact_rows

    # ---- the motion

    def balance(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, phase: Phase) -> Balance:
        """Return accelerations and forces in N states."""
        states, n = self.derivatives.states(t, q, v), len(t)
        held = list(phase.held)
        G = np.zeros((n, self.sizes.nr, len(held)))
        G[:, held, np.arange(len(held))] = 1.0
        ways, speeds = [], []
        for one in phase.sliding:
            rows, column = list(one.rows), held.index(one.normal)
            u = np.einsum("nij,nj->ni", states.W[:, rows], v) + states.w[:, rows]
            speed = np.linalg.norm(u, axis=1)
            way = np.full((n, 1), one.sign) if len(rows) == 1 else u / np.maximum(speed, 1e-300)[:, None]
            G[:, rows, column] = -self.mu[one.contact] * way
            ways.append(way)
            speeds.append(speed)
        free = np.linalg.solve(states.M, states.f[:, :, None])[:, :, 0]
        if not held:
            return Balance(states, free, np.zeros((n, 0)), np.zeros((n, self.sizes.nr)), G, (), ())
        W = states.W[:, held]
        X = np.linalg.solve(states.M, np.swapaxes(states.W, 1, 2) @ G)
        wanted = -(states.zeta[:, held] + np.einsum("nij,nj->ni", W, free))
        x = solved(W @ X, wanted[:, :, None])[:, :, 0]
        a = free + np.einsum("nij,nj->ni", X, x)
        return Balance(states, a, x, np.einsum("nij,nj->ni", G, x), G, tuple(ways), tuple(speeds))

    def jacobian(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, phase: Phase, at: Balance) -> np.ndarray:
        """Return the matrix A of z_dot = A z in N states (N, size, size)."""
        return self.varied_rate(t, q, v, phase, at, self.unit_ways)

    def varied_rate(self, t, q, v, phase: Phase, at: Balance, ways: np.ndarray) -> np.ndarray:
        """Return how (q_dot, a, r, 0) changes along directions (N, size, directions)."""
        place, states, held = self.place, at.states, list(phase.held)
        along = self.derivatives.tangents(t, q, v, at.a, at.r, ways)
        made = np.zeros((len(t), place.size, len(ways)))
        made[:, place.q] = np.swapaxes(along.q_dot, 1, 2)
        push = np.swapaxes(along.f - along.inertia, 1, 2)  # (N, nv, directions)
        dr = np.zeros((len(t), self.sizes.nr, len(ways)))
        dp = ways[:, 1 + place.moving :][:, self.chosen].T
        for one, way, speed in zip(phase.sliding, at.way, at.speed, strict=True):
            rows, normal = list(one.rows), at.r[:, one.normal, None, None]
            dmu = self.law_ways["mu"][one.contact] @ dp
            turned = -normal * way[:, :, None] * dmu[None, None, :]
            if len(rows) > 1:
                du = np.swapaxes(along.u[:, :, rows], 1, 2)
                across = du - way[:, :, None] * np.einsum("ni,nij->nj", way, du)[:, None, :]
                turned = turned - self.mu[one.contact] * normal * across / np.maximum(speed, 1e-300)[:, None, None]
            dr[:, rows] += turned
        push = push + np.swapaxes(states.W, 1, 2) @ dr
        da = np.linalg.solve(states.M, push)
        if held:
            W = states.W[:, held]
            X = np.linalg.solve(states.M, np.swapaxes(states.W, 1, 2) @ at.G)
            dx = solved(W @ X, -np.swapaxes(along.rate[:, :, held], 1, 2) - W @ da)
            da = da + X @ dx
            dr = dr + at.G @ dx
        made[:, place.v] = da
        made[:, place.i] = dr[:, : self.ni]
        return made

    def constraints(self, t: float, q: np.ndarray, v: np.ndarray, phase: Phase) -> np.ndarray:
        """Return the rows (dg, du) that vanish for variations inside of a phase (rows, size)."""
        held = list(phase.held)
        zero = np.zeros((1, self.sizes.nv)), np.zeros((1, self.sizes.nr))
        along = self.derivatives.tangents(np.array([t]), q[None], v[None], *zero, self.unit_ways)
        gaps = [gap for gap in map(self.gap_of, held) if gap is not None]
        return np.concatenate([along.g[0][:, gaps].T, along.u[0][:, held].T])

    def basis(self, t: float, q: np.ndarray, v: np.ndarray, phase: Phase) -> np.ndarray:
        """Return an orthonormal basis of all (dq, dv) that a phase allows (moving, dimension)."""
        nq, nv, moving = self.sizes.nq, self.sizes.nv, self.place.moving
        ways = np.zeros((nv, self.unit_ways.shape[1]))
        ways[:, 1 + nq : 1 + moving] = np.eye(nv)
        zero = np.zeros((1, nv)), np.zeros((1, self.sizes.nr))
        B = self.derivatives.tangents(np.array([t]), q[None], v[None], *zero, ways).q_dot[0].T
        allowed = np.zeros((moving, 2 * nv))
        allowed[:nq, :nv], allowed[nq:, nv:] = B, np.eye(nv)
        rows = self.constraints(t, q, v, phase)[:, :moving] @ allowed
        return np.linalg.qr(allowed @ null_space(rows))[0]


def _groups(kind: int, row: int) -> list[tuple[int, ...]]:
    """Return the rows of each friction of a contact whose normal row is given."""
    made, at = [], row + 1
    for count in LAWS[kind].FRICTIONS:
        made.append(tuple(range(at, at + count)))
        at += count
    return made


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve N systems; where rows are redundant, the shortest solution, which moves the system like any other."""
    s = np.linalg.svd(matrix, compute_uv=False)
    if matrix.shape[-1] == 0 or np.all(s[:, -1] > REDUNDANT_ROWS * s[:, 0]):
        return np.linalg.solve(matrix, right)
    return np.linalg.pinv(matrix, rcond=REDUNDANT_ROWS) @ right


def null_space(rows: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of all x with rows @ x = 0."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, s, right = np.linalg.svd(rows)
    rank = int(np.sum(s > 1e-10 * max(s[0], 1e-300)))
    return right[rank:].T
