"""Assembly: from rough places to a start in which all joints close and all velocities agree.

Newton's method on the joints (as if none had clearance) and the given start, from the rough places: of all steps that
close them the shortest in the metric of the masses is taken. Then of all velocities that agree with the joints and the
given speeds the one of least kinetic energy of what was left open. Derivatives are exact: kernels are analytic
functions, so that a step of 1e-30 along the imaginary axis shows them without cancellation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from saltus.errors import ModelError
from saltus.mechanics.mechanism import StartRow
from saltus.mechanics.rows import JointRow

TINY = 1e-30  # step along the imaginary axis
JOINT_CLOSED = 1e-10  # of its size: how far open a joint may stay; what rounding leaves is 1e-15
DEPENDENT = 1e-9  # singular value of normalised rows below which they say the same
MOST_ASSEMBLY_STEPS = 200
LARGEST_TURN = 0.5  # rad, of a body in one step: rough guesses must not jump to another branch
NUDGE = 1e-3  # how far from a position its neighbours are looked at, in the metric of the step


@dataclasses.dataclass(frozen=True, eq=False)
class Assembly:
    """A start that agrees with all joints.

    Attributes
    ----------
    q, v
        Coordinates and velocities of all bodies.
    freedom
        How many velocities the constraints leave free; joints with clearance take none away.
    redundant
        Names of joints that say the same as others do: their forces are not unique, the motion is.
    singular
        Names of joints whose rows depend on each other in this position, though not in its neighbourhood (a dead
        centre): from here more than one motion may be possible.
    """

    q: np.ndarray
    v: np.ndarray
    freedom: int
    redundant: tuple[str, ...] = ()
    singular: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = [f"{self.freedom} degrees of freedom" if self.freedom != 1 else "1 degree of freedom"]
        if self.redundant:
            said.append(f"joints {_listed(self.redundant)} hold something twice: their forces are not unique")
        if self.singular:
            said.append(f"joints {_listed(self.singular)} are in a singular position: more than one motion may go on")
        return "; ".join(said)


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """Where bodies lie among the coordinates: first coordinate by number, the whole count, masses."""

    first: Mapping[Any, int]  # of a body, -1 for the ground
    size: Mapping[Any, int]
    nq: int
    weights: np.ndarray  # 1 / sqrt(mass) of every coordinate


def values_and_slopes(rows: Sequence[JointRow], frame: Frame, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all rows at a position, and their derivatives by all coordinates."""
    count = sum(row.size for row in rows)
    g, J = np.zeros(count), np.zeros((count, frame.nq))
    begin = np.cumsum([0, *(row.size for row in rows)])
    kinds: dict[Any, list[int]] = {}
    for k, row in enumerate(rows):
        kinds.setdefault((row.constraint, tuple(body.ground for body in row.bodies), len(row.p)), []).append(k)
    for (kernel, ground, _), members in kinds.items():
        first = rows[members[0]]
        p = np.array([[float(value) for value in rows[k].p] for k in members]).T
        places = np.array([begin[k] for k in members])
        slots, where = [], []
        for s, body in enumerate(first.bodies):
            size = 3 if ground[s] else frame.size[body]
            starts = np.array([frame.first[rows[k].bodies[s]] for k in members])
            index = starts[None, :] + np.arange(size)[:, None]
            slots.append(np.zeros((size, len(members))) if ground[s] else q[index])
            where.append(None if ground[s] else index)
        _put(g, places, kernel(t, tuple(slots), p))
        for s, index in enumerate(where):
            if index is None:
                continue
            for k in range(len(index)):
                moved = [slot.astype(complex) for slot in slots]
                moved[s][k] += TINY * 1j
                for r, value in enumerate(kernel(t, tuple(moved), p)):
                    J[places + r, index[k]] += np.imag(value) / TINY
    return g, J


def _put(g: np.ndarray, places: np.ndarray, values: Sequence[Any]) -> None:
    for r, value in enumerate(values):
        g[places + r] = value


def close(
    rows: Sequence[JointRow], starts: Sequence[StartRow], frame: Frame, t: float, q: np.ndarray, lengths: float
) -> np.ndarray:
    """Return the position nearest to q in which all rows are zero and the start has its values.

    lengths: the size of the mechanism [m], which errors are measured by.
    """
    q = q.copy()
    names = _names(rows) + [f"start of {row.where.body.name}" for row in starts if row.value is not None]
    turns = _turns(frame)
    best, nearest = np.inf, q
    for _ in range(MOST_ASSEMBLY_STEPS):
        g, J = _with_starts(rows, starts, frame, t, q)
        size = float(np.max(np.abs(g), initial=0.0))
        if size <= JOINT_CLOSED * lengths and size >= 0.5 * best:  # rounding is all that is left
            return nearest
        if size < best:
            best, nearest = size, q.copy()
        if size <= np.finfo(float).eps * float(np.max(np.abs(q), initial=0.0)):
            return q
        step = frame.weights * _shortest(J * frame.weights, -g)
        turn = float(np.max(np.abs(step[turns]), initial=0.0))
        q += step * min(1.0, LARGEST_TURN / turn if turn > 0.0 else 1.0)
        if not np.all(np.isfinite(q)):
            break
    worst = int(np.argmax(np.abs(g)))
    raise ModelError(
        f"the mechanism cannot be assembled: {names[worst]!r} stays open by {abs(g[worst]):.3g} m (or rad); check "
        "lengths and points, or give rough places nearer to the start: at=(x, y), angle=..."
    )


def agree(
    rows: Sequence[JointRow], starts: Sequence[StartRow], frame: Frame, t: float, q: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Return the velocity nearest to v (in kinetic energy) that agrees with all rows and the given speeds."""
    _, J = values_and_slopes(rows, frame, t, q)
    wanted = -_rates(rows, frame, t, q)
    lines, rates, names = [J], [wanted], _names(rows)
    for row in starts:
        if row.rate is not None:
            lines.append(_start_line(row, frame, q)[None, :])
            rates.append(np.array([float(row.rate)]))
            names.append(f"start of {row.where.body.name}")
    A, b = np.vstack(lines), np.concatenate(rates)
    if not len(b):
        return v
    b = b - A @ v
    if not np.any(b):
        return v
    step = frame.weights * _shortest(A * frame.weights, b)
    step += frame.weights * _shortest(A * frame.weights, b - A @ step)  # what rounding left
    left = np.abs(A @ step - b)
    allowed = 1e-9 * max(
        1.0, float(np.max(np.abs(rates[0]), initial=0.0)), float(np.max(np.abs(v + step), initial=0.0))
    )
    if np.max(left) > allowed:
        worst = names[int(np.argmax(left))]
        raise ModelError(
            f"the speeds of the start contradict each other: {worst!r} would move at {np.max(left):.3g} m/s (or "
            "rad/s); give fewer speeds, or other ones"
        )
    return v + step


def look(rows: Sequence[JointRow], frame: Frame, t: float, q: np.ndarray, v: np.ndarray, lengths: float) -> Assembly:
    """Return the assembly of a position and velocity with what its constraints say about it."""
    count = sum(row.size for row in rows)
    if count == 0:
        return Assembly(q, v, frame.nq)
    rank, names, along = _dependent(rows, frame, t, q)
    if not names:
        return Assembly(q, v, frame.nq - rank)
    # a neighbour on the same joints: where it has a larger rank, the position is singular and not the mechanism
    nearby = 0
    for k in range(min(3, along.shape[1])):
        try:
            moved = close(rows, (), frame, t, q + NUDGE * lengths * frame.weights * along[:, k], lengths)
        except ModelError:
            continue
        nearby = max(nearby, _dependent(rows, frame, t, moved)[0])
    if nearby > rank:
        return Assembly(q, v, frame.nq - nearby, singular=names)
    return Assembly(q, v, frame.nq - rank, redundant=names)


def _dependent(
    rows: Sequence[JointRow], frame: Frame, t: float, q: np.ndarray
) -> tuple[int, tuple[str, ...], np.ndarray]:
    """Return the rank of the rows, the joints that depend on each other, and directions in which all may move."""
    _, J = values_and_slopes(rows, frame, t, q)
    A = J * frame.weights
    lengths = np.linalg.norm(A, axis=1, keepdims=True)
    A = A / np.where(lengths > 0.0, lengths, 1.0)
    gram = A @ A.T
    try:  # rows that are clearly independent need no singular values
        if np.min(np.diag(np.linalg.cholesky(gram))) > 1e-3:
            return len(A), (), np.zeros((frame.nq, 0))
    except np.linalg.LinAlgError:
        pass
    u, s, vt = np.linalg.svd(A)
    rank = int(np.sum(s > DEPENDENT))
    names = _names(rows)
    parts = np.max(np.abs(u[:, rank:]), axis=1, initial=0.0)
    depending = tuple(dict.fromkeys(name for name, part in zip(names, parts, strict=True) if part > 1e-6))
    return rank, depending, vt[rank:].T


def resolved(rows: Sequence[Any], frame: Frame, t: float, q: np.ndarray) -> list[Any]:
    """Return rows with the numbers that the start decides."""
    made = []
    for row in rows:
        p = list(row.p)
        if row.since is not None:
            p[row.since] = t
        if row.late is not None:
            place, number = row.late
            p[place] = float(number(t, _slots(row, frame, q)))
        made.append(dataclasses.replace(row, p=tuple(p)) if row.late or row.since else row)
    return made


def _slots(row: Any, frame: Frame, q: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(
        np.zeros(3) if body.ground else q[frame.first[body] : frame.first[body] + frame.size[body]]
        for body in row.bodies
    )


def _rates(rows: Sequence[JointRow], frame: Frame, t: float, q: np.ndarray) -> np.ndarray:
    """Return the rates of all rows at rest: those of drives."""
    made = []
    for row in rows:
        p = [float(value) for value in row.p]
        if row.moving is not None:
            made.append(-rate_of(row.moving, t))
        elif row.since is not None:
            made += [np.imag(value) / TINY for value in row.constraint(t + TINY * 1j, _slots(row, frame, q), p)]
        else:
            made += [0.0] * row.size
    return np.array(made)


def rate_of(function: Any, t: float) -> float:
    """Return the derivative of a function of time, by the tracer where that can follow it, else by differences."""
    from saltus.compile.trace import Trace, Untraceable, differentiate, interpreted  # here: only drives need it

    try:
        trace = Trace()
        time = trace.variable("t")
        made = trace.as_array(trace.call(function, time), ())
        slope = differentiate(made.item(), time)
        return float(interpreted([slope], ["t"])(t, np.array(trace.constants, dtype=float))[0])
    except Untraceable:
        h = 1e-5 * max(1.0, abs(t))
        near, far = (function(t + d) - function(t - d) for d in (h, 2.0 * h))
        return (8.0 * near - far) / (12.0 * h)


def _with_starts(
    rows: Sequence[JointRow], starts: Sequence[StartRow], frame: Frame, t: float, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    g, J = values_and_slopes(rows, frame, t, q)
    given = [row for row in starts if row.value is not None]
    if not given:
        return g, J
    errors = [_start_value(row, frame, q) - float(row.value) for row in given]
    return np.concatenate([g, errors]), np.vstack([J, *(_start_line(row, frame, q)[None, :] for row in given)])


def _start_value(row: StartRow, frame: Frame, q: np.ndarray) -> float:
    first = frame.first[row.where.body]
    x, y, angle = q[first : first + 3]
    c, s = np.cos(angle), np.sin(angle)
    return float((x + c * row.where.x - s * row.where.y, y + s * row.where.x + c * row.where.y, angle)[row.axis])


def _start_line(row: StartRow, frame: Frame, q: np.ndarray) -> np.ndarray:
    line, first = np.zeros(frame.nq), frame.first[row.where.body]
    c, s = np.cos(q[first + 2]), np.sin(q[first + 2])
    line[first + row.axis] = 1.0
    if row.axis < 2:
        line[first + 2] = (-s * row.where.x - c * row.where.y, c * row.where.x - s * row.where.y)[row.axis]
    return line


def _shortest(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the shortest solution of A x = b, of least squares where there is none."""
    if len(A) > 60:  # many rows: their Gram matrix is far smaller work, where it is safe
        gram = A @ A.T
        scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
        try:
            L = np.linalg.cholesky(gram * scale[:, None] * scale)
            if np.min(np.diag(L)) > 1e-5:
                y = np.linalg.solve(L.T, np.linalg.solve(L, scale * b))
                return A.T @ (scale * y)
        except np.linalg.LinAlgError:
            pass
    return np.linalg.lstsq(A, b, rcond=1e-12)[0]


def _turns(frame: Frame) -> np.ndarray:
    return np.array([first + 2 for body, first in frame.first.items() if frame.size.get(body) == 3], dtype=int)


def _names(rows: Sequence[JointRow]) -> list[str]:
    return [row.name for row in rows for _ in range(row.size)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
