"""Coefficients of the time-discontinuous Galerkin families D- and D+ of any degree (Schindler, Acary 2014, section 3).

All integrals of Lagrange polynomials are taken by Gauss-Legendre quadrature, exactly and without monomials.
With stage accelerations a_k, positions q_k and the impulse p at the end of the interval:

    v_l = v_0 + h sum_k Av[l, k] a_k + P[l] M^-1 W p,    q_l = q_0 + h sum_k Aq[l, k] v_k,    q_1 = q_M
    v_1 = v_0 + h sum_k b[k] a_k + M^-1 W p              in both families
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.polynomial import legendre

from saltus.errors import SettingError
from saltus.tables import stored

Family = Literal["-", "+"]
NODE_FAMILIES = ("clenshaw-curtis", "lobatto")
WEIGHTINGS = ("reduced", "exact", "galerkin")


class _Tableau(NamedTuple):
    """Tuned numbers of this file."""

    highest: int = 12
    bits: int = 110  # behind the point, of the integers that tables are checked with
    extrapolated: int = 4  # highest degree that the predictor carries over into the next interval


TABLEAU = _Tableau()


@dataclasses.dataclass(frozen=True, eq=False)
class Tableau:
    """The coefficients of one degree.

    Attributes
    ----------
    degree, family
        Degree M of the velocity in an interval; "-" jumps at the end of the interval, "+" at its beginning.
    c, b
        Nodes in [0, 1] and quadrature weights.
    Aq, Av
        Position and velocity matrices of the stages.
    P
        Share of the impulse in every stage velocity (zero in the family "-").
    implicit
        First and last + 1 of the stages that depend on themselves.
    numbers
        The same as kernels see it, where that is stored.
    """

    degree: int
    family: Family
    c: np.ndarray
    b: np.ndarray
    Aq: np.ndarray
    Av: np.ndarray
    P: np.ndarray
    implicit: tuple[int, int]
    numbers: np.ndarray | None = None

    @property
    def stages(self) -> int:
        return len(self.c)

    @property
    def predictor(self) -> np.ndarray:
        """Accelerations at the nodes of the next interval minus that at its beginning, from those of this one."""
        top = min(self.stages - 1, TABLEAU.extrapolated)
        coefficients = np.linalg.inv(legendre.legvander(2.0 * self.c - 1.0, self.stages - 1))[: top + 1]
        ahead = legendre.legvander(1.0 + 2.0 * self.c, top) - legendre.legvander(np.ones(self.stages), top)
        return ahead @ coefficients

    def interpolation(self, s: np.ndarray) -> np.ndarray:
        """Values at s of the polynomial through values at the nodes, shape (len(s), stages)."""
        return lagrange(self.c, s)

    def integrals(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Integral and double integral from 0 to s of that polynomial, each (len(s), stages)."""
        once = lagrange_integrals(self.c, s)
        x, weights = _gauss(self.stages // 2 + 2)
        s = np.asarray(s, float)
        # int_0^s int_0^x l = int_0^s (s - x) l(x) dx
        points = s[:, None] * x
        values = lagrange(self.c, points.ravel()).reshape(len(s), len(x), self.stages)
        twice = np.einsum("ij,ijk->ik", (s[:, None] - points) * weights * s[:, None], values)
        return once, twice


@functools.cache
def tableau(
    degree: int, family: Family, nodes: str = "clenshaw-curtis", weighting: str = "reduced", stiff: bool = False
) -> Tableau:
    """Return the coefficients; `stiff` takes the velocity matrix for the positions too."""
    if degree == 0:
        return _constant(family)
    if nodes == "lobatto" and weighting == "reduced" and stiff == (family == "+"):
        known = stored.stored().degrees.get(degree)
        if known is not None and len(numbers := known.minus if family == "-" else known.plus):
            return _unpacked(numbers, family)
    c = node_places(degree, nodes)
    Aq = exact_integrals(c, c)
    b = Aq[-1].copy()
    if weighting == "reduced":
        Av, P = _reduced_weighting(c, b, family)
    else:
        Av, P = _exact_weighting(c, b, family, forces=weighting == "galerkin")
    if family == "-":
        implicit = (1, degree + 1 if weighting == "galerkin" else degree)
    else:
        Av[-1] = b  # equal by the identity of the end velocity, here to the last bit
        implicit = (0, degree + 1)
    return Tableau(degree, family, c, b, Av.copy() if stiff else Aq, Av, P, implicit)


def _constant(family: Family) -> Tableau:
    """Return degree 0, Moreau-Jean with theta = 0 ("-") or 1 ("+"), with the other end of the interval as a stage."""
    c = np.array([0.0, 1.0])
    if family == "-":
        b = np.array([1.0, 0.0])
        A = np.array([[0.0, 0.0], [1.0, 0.0]])
        return Tableau(0, family, c, b, A, A, np.zeros(2), (1, 1))
    b = np.array([0.0, 1.0])
    Aq, Av = np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    return Tableau(0, family, c, b, Aq, Av, np.ones(2), (1, 2))


def _reduced_weighting(c: np.ndarray, b: np.ndarray, family: Family) -> tuple[np.ndarray, np.ndarray]:
    """Return Av and P with the weighting integrals evaluated at the nodes (the paper's 3.2.4)."""
    M = len(c) - 1
    Av, P = np.zeros((M + 1, M + 1)), np.zeros(M + 1)
    if family == "-":
        Av[:, :M] = exact_integrals(c[:M], c)
        return Av, P
    inner = exact_integrals(c[1:], c)
    start = lagrange(c[1:], np.zeros(1))[0]
    Av[:, 0] = b[0]
    Av[:, 1:] = inner - b[0] * start
    return Av, Av[:, M] / Av[M, M]  # Av[M, M] is b[M] up to rounding, and P[M] is 1


def _exact_weighting(c: np.ndarray, b: np.ndarray, family: Family, *, forces: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return Av and P with the matrix K[l, k] = int l_l l_k' of (54) and (55) integrated exactly.

    The accelerations are weighted by the quadrature, or, with `forces`, by int l_l l_k as well.
    """
    M = len(c) - 1
    x, weights = _gauss(M + 1)
    values = lagrange(c, x)
    K = values.T @ (weights[:, None] * lagrange_slopes(c, x))
    right = values.T @ (weights[:, None] * values) if forces else np.diag(b)
    if family == "-":
        Av = np.zeros((M + 1, M + 1))
        Av[1:] = np.linalg.solve(K[:M, 1:], right[:M])
        return Av, np.zeros(M + 1)
    K[0, 0] += 1.0
    return np.linalg.solve(K, right), np.linalg.solve(K, np.eye(M + 1)[M])


def node_places(degree: int, nodes: str) -> np.ndarray:
    """Return the nodes c_0 = 0 ... c_M = 1, degree >= 1."""
    if nodes == "clenshaw-curtis":
        return np.sin(0.5 * np.pi * np.arange(degree + 1) / degree) ** 2
    if nodes != "lobatto":
        raise SettingError(f"nodes is {nodes!r}: it must be one of {', '.join(map(repr, NODE_FAMILIES))}")
    known = stored.stored().degrees.get(degree)
    if known is not None:
        return known.minus[TAB.vectors : TAB.vectors + degree + 1].copy()
    series = np.zeros(degree + 1)
    series[-1] = 1.0
    slope = legendre.legder(series)
    inner = np.sort(legendre.legroots(slope).real)
    for _ in range(3):  # the eigenvalues that legroots takes are good to 1e-14 only
        inner = inner - legendre.legval(inner, slope) / legendre.legval(inner, legendre.legder(slope))
    inner = 0.5 * (inner - inner[::-1])
    return np.concatenate([[0.0], 0.5 * (1.0 + inner), [1.0]])


def lagrange(c: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the Lagrange polynomials of nodes c at s, shape (len(s), len(c))."""
    difference = np.asarray(s, float)[:, None, None] - c  # (s, 1, j)
    ratio = difference / np.where(np.eye(len(c), dtype=bool), 1.0, c[:, None] - c)  # (s, k, j)
    return np.prod(np.where(np.eye(len(c), dtype=bool), 1.0, ratio), axis=2)


def lagrange_slopes(c: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the derivatives of the Lagrange polynomials at s."""
    # l_k' has degree M - 1: its values at the nodes, interpolated
    weights = 1.0 / np.prod(np.where(np.eye(len(c), dtype=bool), 1.0, c[:, None] - c), axis=1)
    slopes = weights[None, :] / weights[:, None] / np.where(np.eye(len(c), dtype=bool), 1.0, c[:, None] - c)
    np.fill_diagonal(slopes, 0.0)
    np.fill_diagonal(slopes, -slopes.sum(axis=1))
    return lagrange(c, s) @ slopes


def lagrange_integrals(c: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the integrals of the Lagrange polynomials from 0 to s, shape (len(s), len(c))."""
    x, weights = _gauss(len(c) // 2 + 1)
    s = np.asarray(s, float)
    values = lagrange(c, (s[:, None] * x).ravel()).reshape(len(s), len(x), len(c))
    return s[:, None] * np.einsum("j,ijk->ik", weights, values)


def exact_integrals(c: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the integrals of the Lagrange polynomials from 0 to s to the last bit.

    A run repeats the errors of its weights in every flight: where flights are alike they have one sign and add up. One
    correction, with residuals in integers: the weights are right if they integrate Legendre polynomials exactly.
    """
    return _exact_integrals(c.tobytes(), s.tobytes()).copy()


@functools.lru_cache(maxsize=256)
def _exact_integrals(nodes: bytes, ends: bytes) -> np.ndarray:
    """Return the same, worked out once: both families of a degree need them."""
    c, s = np.frombuffer(nodes), np.frombuffer(ends)
    n, rough = len(c), lagrange_integrals(c, s)
    if n == 1:
        return rough
    at_nodes, at_ends = _legendre_integers(nodes, n), _legendre_integers(ends, n)
    ahead, behind, odd = at_ends[2:], at_ends[:-2], 2 * np.arange(1, n, dtype=object)[:, None] + 1
    twice = np.concatenate([at_ends[:1] + at_ends[1:2], (ahead - behind) // odd])
    left = twice.T // 2 - ((_integers(rough) @ at_nodes[:n].T) >> TABLEAU.bits)
    basis = legendre.legvander(2.0 * c - 1.0, n - 1)
    return rough + np.linalg.solve(basis.T, left.astype(float).T / 2.0**TABLEAU.bits).T


def _integers(values: np.ndarray) -> np.ndarray:
    """Return numbers in units of 2^-TABLEAU.bits."""
    shifted = (values * 2.0**TABLEAU.bits).ravel().tolist()  # exact: only the exponents change
    return np.array([math.floor(value) for value in shifted], dtype=object).reshape(values.shape)


@functools.lru_cache(maxsize=256)
def _legendre_integers(places: bytes, top: int) -> np.ndarray:
    """Return the Legendre polynomials of [0, 1] up to a degree at places (top + 1, places), times 2^TABLEAU.bits."""
    x = 2 * _integers(np.frombuffer(places)) - (1 << TABLEAU.bits)
    made = [np.full(len(x), 1 << TABLEAU.bits, dtype=object), x]
    for j in range(1, top):
        made.append(((2 * j + 1) * ((x * made[j]) >> TABLEAU.bits) - j * made[j - 1]) // (j + 1))
    return np.array(made)


@functools.cache
def _gauss(n: int) -> tuple[np.ndarray, np.ndarray]:
    x, weights = legendre.leggauss(n)
    return 0.5 * (1.0 + x), 0.5 * weights


class _Tab(NamedTuple):
    """Places of the numbers of a table, and where its vectors begin."""

    # ---- the same numbers as kernels see them: four numbers, three vectors of the stages, then square matrices
    degree: int = 0
    stages: int = 1
    first: int = 2
    end: int = 3
    vectors: int = 4


TAB = _Tab()


class _StageVector(NamedTuple):
    """Vectors of a table, one number per stage."""

    node: int = 0
    weight: int = 1
    share: int = 2


STAGE_VECTOR = _StageVector()


class _StageMatrix(NamedTuple):
    """Square matrices of a table."""

    position: int = 0
    velocity: int = 1
    product: int = 2
    predictor: int = 3
    update: int = 4


STAGE_MATRIX = _StageMatrix()


def place(stages: int, matrix: int) -> int:
    """Return where a matrix begins in a packed tableau."""
    return TAB.vectors + 3 * stages + matrix * stages * stages


def packed(made: Tableau) -> np.ndarray:
    """Return a tableau as one vector.

    STAGE_MATRIX.product is Aq Av; STAGE_MATRIX.update turns errors of the constraint velocities at the stages into
    corrections of the
    stage forces.
    """
    if made.numbers is not None:
        return made.numbers
    n, (first, end) = made.stages, made.implicit
    matrices = [
        made.Aq,
        made.Av,
        made.Aq @ made.Av,
        made.predictor,
        _velocity_update(made),
    ]
    return np.concatenate([[made.degree, n, first, end], made.c, made.b, made.P, *(m.ravel() for m in matrices)])


def _unpacked(numbers: np.ndarray, family: Family) -> Tableau:
    """Return the tableau that was packed."""
    degree, n, first, end = (int(number) for number in numbers[: TAB.vectors])
    c, b, P = (numbers[TAB.vectors + k * n :][:n] for k in (STAGE_VECTOR.node, STAGE_VECTOR.weight, STAGE_VECTOR.share))
    Aq, Av = (numbers[place(n, k) :][: n * n].reshape(n, n) for k in (STAGE_MATRIX.position, STAGE_MATRIX.velocity))
    return Tableau(degree, family, c, b, Aq, Av, P, (first, end), numbers)


def _velocity_update(made: Tableau) -> np.ndarray:
    """Return the inverse of Av between forces and velocities; in D- a force acts on the velocities after it."""
    n, update = made.stages, np.zeros((made.stages, made.stages))
    if made.degree == 0:
        return update
    if made.family == "-":
        update[: n - 1, 1:] = np.linalg.inv(made.Av[1:, : n - 1])
        # the last force closes the velocity at the end of the interval
        return update
    return np.linalg.inv(made.Av)
