"""Static questions of any system: equilibrium under its loads, linearisation and eigenmodes with closed contacts held.

Equilibrium: f(t, q, 0) + G^T lambda + W^T r = 0 with closed joints and 0 <= r, gap >= 0, r gap = 0, without friction.
It is found along the creeping motion M q' = forces, in implicit steps that grow as long as Newton's method solves them:
so it is the rest that the start would creep to. Rows come from the compiled model, stiffness and damping from
differences of fourth order of all forces.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from saltus.build.model import compile_model
from saltus.compile.native import runnable
from saltus.errors import ModelError, SettingError
from saltus.problem import Problem
from saltus.system import System


class _Statics(NamedTuple):
    """Tuned numbers of this file."""

    most_steps: int = 400
    at_rest: float = 1e-9  # of the forces that act: what may be left of them
    closed: float = 1e-9  # gap up to which a contact counts as closed [m]
    longest: float = 0.05  # m or rad, of any coordinate in one correction of a creeping step
    most_corrections: int = 10
    settled: float = 1e-12  # of the coordinates: last correction of a creeping step
    touches: float = 1e-13  # penetration that a correction may foresee [m]
    held: float = 1e-9  # singular value of normalised rows below which they hold nothing more


STATICS = _Statics()


@dataclasses.dataclass(frozen=True, eq=False)
class Equilibrium:
    """A position of rest.

    Attributes
    ----------
    q
        Coordinates.
    v
        Zeros, one per velocity: with q a start of a run.
    contacts
        Normal forces of the closed contacts by name [N].
    joints
        Multipliers of the joints by name [N, N m]; one of several solutions where joints are redundant.
    residual
        What is left of the forces, relative to those that act.
    stable
        Whether a small push is answered by forces that bring it back, with the closed contacts held.
    """

    q: np.ndarray
    v: np.ndarray
    contacts: dict[str, float]
    joints: dict[str, np.ndarray]
    residual: float
    stable: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Modes:
    """Eigenmodes about a position, the closed contacts and joints held: q = q_0 + Re(shape exp(rate t)).

    Attributes
    ----------
    rates
        Complex rates [1/s], one of each pair, slowest first; a positive real part grows.
    frequencies
        |imaginary part| / 2 pi [Hz].
    damping
        Ratio to critical damping [-], 1 for what does not swing.
    shapes
        One column per mode, complex, its largest entry 1.
    held
        Names of the contacts that are held.
    """

    rates: np.ndarray
    frequencies: np.ndarray
    damping: np.ndarray
    shapes: np.ndarray
    held: tuple[str, ...]


class Look:
    """A compiled system, looked at with numbers."""

    def __init__(self, system: System, t: float, q: np.ndarray, parameters: Any = None):
        self.system, self.t = system, float(t)
        self.model = compile_model(system, t, q, np.zeros_like(q), (), parameters)
        self.units, self.layout = self.model.units, self.model.layout
        layout = self.layout
        self.nq, self.nv = int(layout.nq), int(layout.nv)
        self.nc, self.nj, self.nr = int(layout.nc), int(layout.nj), int(layout.nr)
        if self.nq != self.nv or not system.rate_is_velocity:
            raise ModelError("static questions need coordinates whose rates are the velocities, not quaternions")

    def force(self, q: np.ndarray, v: np.ndarray | None = None) -> np.ndarray:
        out = np.empty(self.nv)
        runnable(self.units.force)(self.t, q, np.zeros(self.nv) if v is None else v, self.units.par, out)
        return out

    def gaps(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gaps and constraints."""
        out = np.empty(self.nc + self.nj)
        runnable(self.units.gap)(self.t, q, self.units.par, out)
        return out[: self.nc], out[self.nc :]

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Return all rows: those of the contacts, then those of the joints."""
        W, w = np.empty(int(self.layout.nw)), np.empty(self.nr)
        runnable(self.units.kinematics)(self.t, q, self.units.par, W, w)
        made, layout = np.zeros((self.nr, self.nv)), self.layout
        for r in range(self.nr):
            begin, end = layout[layout.W_ptr + r], layout[layout.W_ptr + r + 1]
            made[r, layout[layout.W_col + begin : layout.W_col + end]] = W[begin:end]
        return made

    def normal(self, contact: int) -> int:
        """Return the row of the gap of a contact."""
        return int(self.layout[self.layout.contact_row + contact])

    def tangents(self, contact: int) -> list[int]:
        """Return the tangential rows of a contact."""
        end = self.normal(contact + 1) if contact + 1 < self.nc else self.nr - self.nj
        return list(range(self.normal(contact) + 1, end))

    def mass(self, q: np.ndarray) -> np.ndarray:
        M = np.empty(int(self.layout.profile_size))
        runnable(self.units.mass)(self.t, q, self.units.par, M)
        return self.model.profile.unpack(M)

    def stiffness(self, q: np.ndarray, reactions: np.ndarray) -> np.ndarray:
        """Return -d(force + rows^T reactions)/dq."""
        return -_slopes(lambda x: self.force(x) + self.rows(x).T @ reactions, q)

    def damping(self, q: np.ndarray) -> np.ndarray:
        """Return -d(force)/dv."""
        return -_slopes(lambda v: self.force(q, v), np.zeros(self.nv))


def _slopes(function: Any, x: np.ndarray) -> np.ndarray:
    """Return the derivatives of a vector by differences of fourth order."""
    columns = []
    for i in range(len(x)):
        h = 1e-7 * max(1.0, abs(x[i]))  # [m, rad]: far below any clearance, far above rounding
        parts = []
        for k in (1.0, 2.0):
            up, down = x.copy(), x.copy()
            up[i] += k * h
            down[i] -= k * h
            parts.append(function(up) - function(down))
        columns.append((8.0 * parts[0] - parts[1]) / (12.0 * h))
    return np.column_stack(columns)


def equilibrium(
    problem: Problem, *, t: float | None = None, parameters: Any = None, max_steps: int = STATICS.most_steps
) -> Equilibrium:
    """Return the rest that the start of a problem creeps to, contacts without friction.

    Parameters
    ----------
    problem
        Its q0 is where the search begins; v0 counts for nothing.
    t
        Time at which forces are taken [s]; None: the start of the time span.
    parameters
        Values of the parameters by name, as for `solve`.
    max_steps
        Most steps of the search.

    Raises
    ------
    ModelError
        When no rest is found: nothing holds the motion, or its forces depend on friction.
    """
    look = Look(problem.system, problem.t_span[0] if t is None else t, problem.q0.copy(), parameters)
    q, reactions, left = _mended(look, problem.q0.copy()), np.zeros(look.nr), 1.0
    creep = _first_creep(look, q)
    for _ in range(max_steps):
        made = _creep(look, q, creep, reactions)
        if made is None:
            creep *= 4.0
            continue
        q, reactions, corrections = made
        left = _left(look, q, reactions)
        if left < STATICS.at_rest:
            return _found(look, q, reactions, left)
        creep *= 0.25 if corrections <= 4 else 0.5 if corrections <= 6 else 1.0
    raise ModelError(
        f"no equilibrium of {problem.system.name!r} was found: {left:.1e} of its forces are left after {max_steps} "
        "steps; does something hold it without friction?"
    )


def _first_creep(look: Look, q: np.ndarray) -> float:
    """Return how stiff M is to be taken at first [1/s^2]: no coordinate moves by more than its share."""
    wanted = np.abs(np.linalg.solve(look.mass(q), look.force(q)))
    return max(1.0, 10.0 * float(np.max(wanted, initial=0.0)))


def _creep(
    look: Look, q_k: np.ndarray, creep: float, reactions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int] | None:
    """Return where a step of the creeping motion ends, its reactions and how many corrections that took.

    The step is implicit, creep M (q - q_k) = f(q) + rows(q)^T reactions, so that contacts hold where it ends, and short
    steps are always possible: None where this one is too long for Newton's method.
    """
    q, M, before = q_k.copy(), look.mass(q_k), np.inf
    for correction in range(1, STATICS.most_corrections + 1):
        gaps, errors = look.gaps(q)
        H = look.stiffness(q, reactions) + creep * M
        made = _correction(look, H, look.force(q) - creep * M @ (q - q_k), look.rows(q), gaps, errors, reactions)
        if made is None:
            return None
        step, reactions = made
        size = float(np.max(np.abs(step), initial=0.0))
        if not size <= STATICS.longest or (correction > 3 and size > 0.7 * before):
            return None
        q, before = q + step, size
        if size < STATICS.settled * max(1.0, float(np.max(np.abs(q), initial=0.0))):
            return q, reactions, correction
    return None


def _correction(
    look: Look,
    H: np.ndarray,
    force: np.ndarray,
    rows: np.ndarray,
    gaps: np.ndarray,
    errors: np.ndarray,
    before: np.ndarray,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the step H step = force + rows^T reactions under the linearised gaps, found by its active set.

    Unknowns and rows are scaled to one size: masses, stiffnesses and gradients differ by many powers of ten, and what
    is redundant shows only then. None where the active set comes to no end.
    """
    joints = list(range(look.nr - look.nj, look.nr))
    normals = np.array([look.normal(c) for c in range(look.nc)], dtype=int)
    scale = 1.0 / np.sqrt(np.abs(np.diag(H)) + 1e-300)
    H, force, rows = H * np.outer(scale, scale), force * scale, rows * scale
    size = np.linalg.norm(rows, axis=1)
    size[size == 0.0] = 1.0
    rows = rows / size[:, None]
    ahead, errors = gaps / size[normals], errors / size[joints]
    active = {c for c in range(look.nc) if gaps[c] <= STATICS.closed or before[normals[c]] > 0.0}
    for turn in range(20 + 4 * look.nc):
        closed = sorted(active)
        held = [*normals[closed], *joints]
        A, b = rows[held], -np.concatenate([ahead[closed], errors])
        matrix = np.block([[H, -A.T], [A, np.zeros((len(held), len(held)))]])
        made = np.linalg.lstsq(matrix, np.concatenate([force, b]), rcond=1e-13)[0]
        step, values = made[: look.nv], made[look.nv :]
        left = (ahead + rows[normals] @ step) * size[normals]
        wrong = {c for k, c in enumerate(closed) if values[k] < 0.0}
        wrong |= {c for c in range(look.nc) if c not in active and left[c] < -STATICS.touches}
        if not wrong:
            reactions = np.zeros(look.nr)
            reactions[held] = values / size[held]
            return step * scale, reactions
        active ^= wrong if turn < 10 else {min(wrong)}  # all at once, then one by one, which cannot cycle
    return None


def _mended(look: Look, q: np.ndarray) -> np.ndarray:
    """Return the position nearest to q, in the metric of the masses, in which joints close and no contact sinks in."""
    for _ in range(4):
        gaps, errors = look.gaps(q)
        sunk = [c for c in range(look.nc) if gaps[c] < 0.0]
        rows = [*(look.normal(c) for c in sunk), *range(look.nr - look.nj, look.nr)]
        if not rows or max(float(np.max(-gaps[sunk], initial=0.0)), float(np.max(np.abs(errors), initial=0.0))) < 1e-14:
            break
        A, scale = look.rows(q)[rows], 1.0 / np.sqrt(np.diag(look.mass(q)))
        q = q - scale * np.linalg.lstsq(A * scale, np.concatenate([gaps[sunk], errors]), rcond=1e-12)[0]
    return q


def _left(look: Look, q: np.ndarray, reactions: np.ndarray) -> float:
    """Return what is left of the forces, relative to those that act, both as accelerations."""
    scale = 1.0 / np.sqrt(np.diag(look.mass(q)))
    force, held = look.force(q), look.rows(q).T * reactions
    single = np.linalg.norm(scale[:, None] * held, axis=0)
    acting = max(float(np.linalg.norm(scale * force)), float(np.max(single, initial=0.0)))
    return float(np.linalg.norm(scale * (force + held.sum(axis=1)))) / acting if acting > 0.0 else 0.0


def _found(look: Look, q: np.ndarray, reactions: np.ndarray, left: float) -> Equilibrium:
    """Return the record of an equilibrium."""
    names, joint_names = look.system.contact_names, look.system.joint_names
    contacts = {
        names[c]: float(reactions[look.normal(c)]) for c in range(look.nc) if look.gaps(q)[0][c] <= STATICS.closed
    }
    joints, begin = {}, look.nr - look.nj
    for name, joint in zip(joint_names, look.system.joints, strict=True):
        size = np.size(_constraint(joint, look.t, q))
        joints[name], begin = reactions[begin : begin + size].copy(), begin + size
    basis = _free(look, q, [look.normal(look.system.contact_names.index(name)) for name in contacts])
    K = basis.T @ look.stiffness(q, reactions) @ basis
    M = basis.T @ look.mass(q) @ basis
    rates = np.linalg.eigvals(np.linalg.solve(M, K)).real if basis.shape[1] else np.zeros(0)
    largest = float(np.max(np.abs(rates), initial=0.0))
    return Equilibrium(q, np.zeros(look.nv), contacts, joints, left, bool(np.all(rates > -1e-7 * largest)))


def _constraint(joint: Any, t: float, q: np.ndarray) -> Any:
    from saltus.system import arity

    return joint.constraint(t, q) if arity(joint.constraint, "a constraint") == 2 else joint.constraint(q)


def _free(look: Look, q: np.ndarray, held: list[int]) -> np.ndarray:
    """Return a basis of the velocities that the joints and the held rows leave free."""
    rows = look.rows(q)[[*held, *range(look.nr - look.nj, look.nr)]]
    if not len(rows):
        return np.eye(look.nv)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    _, values, vt = np.linalg.svd(rows / np.where(lengths > 0.0, lengths, 1.0))
    return vt[int(np.sum(values > STATICS.held)) :].T


def modes(
    problem: Problem, at: Any = None, *, t: float | None = None, stick: bool = True, parameters: Any = None
) -> Modes:
    """Return the eigenmodes about a position of rest.

    Parameters
    ----------
    problem
        The system; its q0 is the position where `at` is left out.
    at
        An `Equilibrium`, or coordinates of one.
    t
        Time at which forces are taken [s]; None: the start of the time span.
    stick
        Whether closed contacts with friction also hold their tangential rows.
    parameters
        Values of the parameters by name, as for `solve`.
    """
    q = np.array(problem.q0 if at is None else getattr(at, "q", at), dtype=float)
    if q.shape != problem.q0.shape:
        raise SettingError(f"at has {q.size} coordinates, but the problem has {problem.q0.size}")
    look = Look(problem.system, problem.t_span[0] if t is None else t, q, parameters)
    gaps = look.gaps(q)[0]
    closed = [c for c in range(look.nc) if gaps[c] <= STATICS.closed]
    held = [look.normal(c) for c in closed] + [r for c in closed if stick for r in look.tangents(c)]
    reactions = _reactions(look, q, held)
    basis = _free(look, q, held)
    M, K, C = (basis.T @ matrix @ basis for matrix in (look.mass(q), look.stiffness(q, reactions), look.damping(q)))
    rates, shapes = _eigen(M, K, C)
    shapes = basis @ shapes
    shapes = shapes / shapes[np.argmax(np.abs(shapes), axis=0), np.arange(shapes.shape[1])] if shapes.size else shapes
    size = np.abs(rates)
    damping = np.where(size > 0.0, -np.real(rates) / np.where(size > 0.0, size, 1.0), 0.0)
    names = tuple(problem.system.contact_names[c] for c in closed)
    return Modes(rates, np.abs(np.imag(rates)) / (2.0 * np.pi), damping, shapes, names)


def _reactions(look: Look, q: np.ndarray, held: list[int]) -> np.ndarray:
    """Return the reactions of the held rows and joints that balance the forces best."""
    made, rows = np.zeros(look.nr), [*held, *range(look.nr - look.nj, look.nr)]
    if rows:
        scale = 1.0 / np.sqrt(np.diag(look.mass(q)))
        A = look.rows(q)[rows].T * scale[:, None]
        made[rows] = np.linalg.lstsq(A, -scale * look.force(q), rcond=1e-12)[0]
    return made


def _eigen(M: np.ndarray, K: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rates and shapes of M x'' + C x' + K x = 0, one of each complex pair, slowest first."""
    n = len(M)
    if n == 0:
        return np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex)
    if np.max(np.abs(C)) <= 1e-12 * np.sqrt(np.max(np.abs(M)) * max(np.max(np.abs(K)), 1e-300)):
        squares, shapes = np.linalg.eig(np.linalg.solve(M, K))
        rates = 1j * np.sqrt(squares.astype(complex))
        rates = np.where(np.real(rates) < 0.0, -rates, rates)  # of a pair that grows and falls, the one that grows
        order = np.argsort(np.abs(rates))
        return rates[order], shapes[:, order].astype(complex)
    first = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    rates, shapes = np.linalg.eig(first)
    chosen = [k for k in np.argsort(np.abs(rates)) if np.imag(rates[k]) >= 0.0]
    return rates[chosen], shapes[:n, chosen]
