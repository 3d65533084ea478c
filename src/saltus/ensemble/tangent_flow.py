"""The variational equations over smooth pieces of a run: collocation at Gauss points along its dense output.

z_dot = A(t) z is solved in pieces short enough that A is resolved by its values at the nodes, which their Legendre
coefficients tell: the error of the matrix follows the tolerance of the run, not the length of its steps.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from saltus.ensemble.tangent_motion import Motion, Phase

GAUSS_NODES = 8


class _Flows(NamedTuple):
    """Tuned numbers of this file."""

    longest: float = 2.5  # of h |A| in one piece, where collocation with eight nodes is exact to rounding
    resolved: float = 1e-9  # of h times the last coefficients of A; what collocation makes of it is nearly its square
    differenced: float = 1e-7  # the same where A comes from differences: shorter pieces have the same rounding
    deepest: int = 14  # halvings of one piece
    shortest: float = 1e-13  # of its time: a shorter piece is not halved
    at_once: int = 4_000_000  # floats of one array
    direct: int = 64  # unknowns of all stages that are solved for at once
    most_sweeps: int = 80  # where they are not
    turned: float = 1e-13  # what the growth of a volume changes by where it is integrated in twice as many parts


FLOWS = _Flows()


class Table(NamedTuple):
    """Gauss nodes and weights on [0, 1], the collocation matrix, and values at nodes -> Legendre coefficients."""

    c: np.ndarray
    b: np.ndarray
    A: np.ndarray
    coefficients: np.ndarray


@functools.cache
def gauss() -> Table:
    """Return the collocation at Gauss nodes, made in a Legendre basis (monomials would lose eight digits)."""
    legendre = np.polynomial.legendre
    x, weight = legendre.leggauss(GAUSS_NODES)
    basis = legendre.legvander(x, GAUSS_NODES - 1)
    unit = np.eye(GAUSS_NODES)
    integrals = np.array([legendre.legval(x, legendre.legint(unit[k], lbnd=-1)) for k in range(GAUSS_NODES)]).T / 2.0
    coefficients = np.linalg.inv(basis)
    return Table((x + 1.0) / 2.0, weight / 2.0, integrals @ coefficients, coefficients)


class Within(NamedTuple):
    """Gauss weights of equal parts of [0, 1]; what leads to their nodes from the start and the stages, and from A."""

    b: np.ndarray
    of_stages: np.ndarray
    of_nodes: np.ndarray


@functools.cache
def within(parts: int) -> Within:
    """Return the quadrature in so many parts, along the polynomials that the collocation has found."""
    legendre, table = np.polynomial.legendre, gauss()
    x = ((np.arange(parts)[:, None] + table.c) / parts).ravel()
    ends = legendre.legvander(2.0 * np.r_[0.0, table.c] - 1.0, GAUSS_NODES)
    return Within(
        np.tile(table.b, parts) / parts, legendre.legvander(2.0 * x - 1.0, GAUSS_NODES) @ np.linalg.inv(ends),
        legendre.legvander(2.0 * x - 1.0, GAUSS_NODES - 1) @ table.coefficients,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Flow:
    """Transition over one smooth piece.

    Attributes
    ----------
    t, end
        Its ends [s].
    phase
        What is closed in it.
    matrix
        z(end) = matrix z(t) (size, size).
    trace
        Integral of the trace of A over the coordinates and velocities.
    A, stages
        A at the Gauss nodes, and the matrices from t to them, both of coordinates and velocities alone.
    resolved
        Whether A is resolved.
    q, v
        Where it starts.
    """

    t: float
    end: float
    phase: Phase
    matrix: np.ndarray
    trace: float
    A: np.ndarray
    stages: np.ndarray
    resolved: bool
    q: np.ndarray
    v: np.ndarray

    def growth(self, Q: np.ndarray) -> float:
        """Return how the logarithm of the volume of the columns Q grows, from the trace of A on their span.

        It is an integral of its own: what the matrix does to the columns is not used but for their directions.
        """
        if Q.shape[1] == Q.shape[0]:
            return self.trace
        columns, found = np.concatenate([Q[None], self.stages @ Q]), np.inf
        # columns that turn into each other make their plane turn much faster than A changes
        for parts in 2 ** np.arange(FLOWS.deepest):
            table = within(int(parts))
            spans = np.linalg.qr(np.tensordot(table.of_stages, columns, 1))[0]
            A = np.tensordot(table.of_nodes, self.A, 1)
            before, found = found, (self.end - self.t) * float(np.einsum("s,sij,sik,skj->", table.b, spans, A, spans))
            if abs(found - before) <= FLOWS.turned * (1.0 + abs(found)):
                break
        return found


States = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def flows(
    motion: Motion, states: States, pieces: Sequence[tuple[float, float, Phase]], longest: float = FLOWS.longest
) -> list[list[Flow]]:
    """Return the transitions over smooth pieces, each as one or more parts in order of time.

    states: q and v at times, by rows; longest: most of h |A| in one part.
    """
    made: list[list[Flow]] = [[] for _ in pieces]
    phases: dict[Phase, list[tuple[int, float, float]]] = {}
    for k, (t, end, phase) in enumerate(pieces):
        phases.setdefault(phase, []).append((k, t, end))
    most = max(1, FLOWS.at_once // (GAUSS_NODES * motion.place.size) ** 2)
    for phase, todo in phases.items():
        for depth in range(FLOWS.deepest + 1):
            again: list[tuple[int, float, float]] = []
            for first in range(0, len(todo), most):
                part = todo[first : first + most]
                found = _collocated(motion, states, phase, part, longest, last=depth == FLOWS.deepest)
                for (k, t, end), flow in zip(part, found, strict=True):
                    if flow is not None:
                        made[k].append(flow)
                    else:
                        middle = t + 0.5 * (end - t)
                        again += [(k, t, middle), (k, middle, end)]
            todo = again
            if not todo:
                break
    for parts in made:
        parts.sort(key=lambda flow: flow.t)
    return made


def _collocated(
    motion: Motion, states: States, phase: Phase, pieces: list[tuple[int, float, float]], longest: float, *, last: bool
) -> list[Flow | None]:
    """Return the transitions over pieces, None where one is too long; last: make the best of these."""
    table, place = gauss(), motion.place
    n, size = place.moving, place.size
    start = np.array([piece[1] for piece in pieces])
    h = np.array([piece[2] for piece in pieces]) - start
    t = (start[:, None] + h[:, None] * table.c).ravel()
    q, v = states(t)
    whole = motion.jacobian(t, q, v, phase, motion.balance(t, q, v, phase)).reshape(
        len(pieces), GAUSS_NODES, size, size
    )
    fine = _is_fine(whole, h, motion, longest)
    chosen = np.arange(len(pieces)) if last else np.flatnonzero(fine | (h <= FLOWS.shortest * np.abs(start)))
    made: list[Flow | None] = [None] * len(pieces)
    if not len(chosen):
        return made
    q, v = states(start[chosen])
    pieces, whole, h = [pieces[k] for k in chosen], whole[chosen], h[chosen]
    A = whole[:, :, :n, :n]
    # stages K_i = A_i (I + h sum a_ij K_j) + B_i, columns of coordinates, velocities and parameters
    columns = np.r_[0:n, place.p]
    K = _stages(A, whole[:, :, :n][:, :, :, columns], h)
    start_columns = np.eye(n, len(columns))
    stages = start_columns + h[:, None, None, None] * np.einsum("ij,kjab->kiab", table.A, K)
    matrix = np.broadcast_to(np.eye(size), (len(pieces), size, size)).copy()
    matrix[:, :n, columns] = start_columns + h[:, None, None] * np.einsum("i,kiab->kab", table.b, K)
    if motion.ni:
        # impulses feed nothing back: what is left of them is a quadrature
        grown = whole[:, :, place.i, :n] @ stages
        grown[:, :, :, n:] += whole[:, :, place.i, place.p]
        matrix[:, place.i, columns] = h[:, None, None] * np.einsum("i,kiab->kab", table.b, grown)
    trace = h * np.einsum("i,kiaa->k", table.b, A)
    for k, (at, piece) in enumerate(zip(chosen, pieces, strict=True)):
        made[at] = Flow(
            piece[1], piece[2], phase, matrix[k], float(trace[k]), A[k], stages[k, :, :, :n], bool(fine[at]), q[k], v[k]
        )
    return made


def _stages(A: np.ndarray, right: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return K_i = h A_i sum_j a_ij K_j + right_i of many pieces (N, nodes, n, columns)."""
    pieces, n, table = len(h), A.shape[-1], gauss()
    if GAUSS_NODES * n <= FLOWS.direct:
        system = -h[:, None, None, None, None] * np.einsum("ij,kiab->kiajb", table.A, A)
        system = system.reshape(pieces, GAUSS_NODES * n, GAUSS_NODES * n)
        system[:, np.arange(GAUSS_NODES * n), np.arange(GAUSS_NODES * n)] += 1.0
        return np.linalg.solve(system, right.reshape(pieces, GAUSS_NODES * n, -1)).reshape(right.shape)
    # one after the other: pieces are so short that this converges like a geometric series of 0.4
    hA, K = h[:, None, None, None] * A, right
    for _ in range(FLOWS.most_sweeps):
        new = hA @ np.einsum("ij,kjab->kiab", table.A, K) + right
        change = np.max(np.abs(new - K))
        K = new
        if not change > 1e-16 * np.max(np.abs(K)):
            break
    return K


def _is_fine(whole: np.ndarray, h: np.ndarray, motion: Motion, longest: float) -> np.ndarray:
    """Return in which pieces A is resolved, whatever the units of coordinates and of time are."""
    place, table = motion.place, gauss()
    n, nq = place.moving, place.q.stop
    most = np.max(np.abs(whole), axis=1)
    up, down = most[:, nq:n, :nq].sum(axis=2).max(axis=1), most[:, :nq, nq:n].sum(axis=2).max(axis=1)
    # of velocities over coordinates; where nothing pulls back, any slow one
    pace = np.maximum(np.sqrt(up / np.maximum(down, 1e-300)), 0.1 / (h * np.maximum(down, 1e-300)))
    scale = np.ones((len(h), n))
    scale[:, nq:] = pace[:, None]
    scaled = h[:, None, None] * scale[:, None, :] / scale[:, :, None]
    size = np.max(np.sum(most[:, :n, :n] * scaled, axis=2), axis=1)
    tails = np.max(np.abs(np.einsum("ij,kjab->kiab", table.coefficients[-2:], whole)), axis=1)
    rough = np.max(np.sum(tails[:, :n, :n] * scaled, axis=2), axis=1)
    others = tails[:, : place.i.stop, n:], most[:, : place.i.stop, n:]
    driven = np.max(others[0] / np.maximum(np.max(others[1], axis=1, keepdims=True), 1e-300), axis=(1, 2), initial=0.0)
    resolved = FLOWS.resolved if motion.derivatives.exact else FLOWS.differenced
    return (size <= longest) & (rough <= resolved * (1.0 + size)) & (driven <= 10.0 * resolved)
