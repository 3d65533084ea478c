"""Coefficients of the Galerkin families D- and D+ against exact rational arithmetic and their own identities."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from saltus.errors import SettingError
from saltus.tables.tableau import TABLEAU, node_places, tableau

F = Fraction
FAMILIES = ("-", "+")
NODES = ("clenshaw-curtis", "lobatto")
DEGREES = range(1, TABLEAU.highest + 1)
ROUNDING = 4e-16


# ---- polynomials in rational arithmetic, coefficients from the constant upwards


def lagrange(nodes: list[Fraction], k: int) -> list[Fraction]:
    made = [F(1)]
    for j, node in enumerate(nodes):
        if j != k:
            scale = 1 / (nodes[k] - node)
            shifted, kept = [F(0), *made], [*made, F(0)]
            made = [scale * (up - node * same) for up, same in zip(shifted, kept, strict=True)]
    return made


def value(p: list[Fraction], x: Fraction) -> Fraction:
    total = F(0)
    for coefficient in reversed(p):
        total = total * x + coefficient
    return total


def integral(p: list[Fraction], x: Fraction) -> Fraction:
    return value([F(0), *(c / (i + 1) for i, c in enumerate(p))], x)


def slope(p: list[Fraction]) -> list[Fraction]:
    return [i * c for i, c in enumerate(p)][1:]


def product(p: list[Fraction], r: list[Fraction]) -> list[Fraction]:
    made = [F(0)] * (len(p) + len(r) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(r):
            made[i + j] += x * y
    return made


def rational(nodes: list[Fraction], family: str):
    """Return b, Aq, Av and P of nodes as the source defines them, weighting integrals evaluated at the nodes."""
    M = len(nodes) - 1
    full = [lagrange(nodes, k) for k in range(M + 1)]
    b = [integral(p, F(1)) for p in full]
    Aq = [[integral(p, c) for p in full] for c in nodes]
    if family == "-":
        reduced = [lagrange(nodes[:M], k) for k in range(M)]
        Av = [[*(integral(p, c) for p in reduced), F(0)] for c in nodes]
        return b, Aq, Av, [F(0)] * (M + 1)
    reduced = [lagrange(nodes[1:], k) for k in range(M)]
    Av = [[b[0], *(integral(p, c) - b[0] * value(p, F(0)) for p in reduced)] for c in nodes]
    return b, Aq, Av, [row[M] / b[M] for row in Av]


@cache
def weighting_matrix(degree: int, nodes: str) -> np.ndarray:
    """K[l, k] = int l_l l_k', exactly for the nodes as rounded."""
    places = [F(c) for c in node_places(degree, nodes).tolist()]
    basis = [lagrange(places, k) for k in range(degree + 1)]
    slopes = [slope(p) for p in basis]
    return np.array([[float(integral(product(p, r), F(1))) for r in slopes] for p in basis])


def floats(numbers) -> np.ndarray:
    return np.array(numbers, dtype=float)


def close(made, wanted, tolerance=ROUNDING) -> None:
    np.testing.assert_allclose(made, floats(wanted), rtol=0.0, atol=tolerance)


# ---- the printed tableaux

PLACES = {1: [F(0), F(1)], 2: [F(0), F(1, 2), F(1)], 3: [F(0), F(1, 4), F(3, 4), F(1)]}
WEIGHTS = {
    1: [F(1, 2)] * 2,
    2: [F(1, 6), F(2, 3), F(1, 6)],
    3: [F(1, 18), F(4, 9), F(4, 9), F(1, 18)],
    4: [F(1, 30), F(4, 15), F(2, 5), F(4, 15), F(1, 30)],
}
SHARES = {1: [-1, 1], 2: [1, F(-1, 2), 1], 3: [-1, 1, -1, 1], 4: [1, F(-7, 8), 1, F(-7, 8), 1]}
PRINTED = {
    ("-", 1): [[0, 0], [1, 0]],
    ("+", 1): [[F(1, 2), F(-1, 2)], [F(1, 2), F(1, 2)]],
    ("-", 2): [[0, 0, 0], [F(1, 4), F(1, 4), 0], [0, 1, 0]],  # Lobatto III
    ("+", 2): [  # Lobatto IIIC
        [F(1, 6), F(-1, 3), F(1, 6)],
        [F(1, 6), F(5, 12), F(-1, 12)],
        [F(1, 6), F(2, 3), F(1, 6)],
    ],
    ("-", 3): [
        [0, 0, 0, 0],
        [F(1, 9), F(7, 48), F(-1, 144), 0],
        [0, F(9, 16), F(3, 16), 0],
        [F(1, 9), F(1, 3), F(5, 9), 0],
    ],
    ("+", 3): [
        [F(1, 18), F(-1, 9), F(1, 9), F(-1, 18)],
        [F(1, 18), F(37, 144), F(-17, 144), F(1, 18)],
        [F(1, 18), F(65, 144), F(43, 144), F(-1, 18)],
        WEIGHTS[3],
    ],
}


@pytest.mark.parametrize(("family", "degree"), PRINTED)
def test_low_degrees_are_the_exact_rationals(family, degree):
    made = tableau(degree, family)
    b, Aq, Av, P = rational(PLACES[degree], family)
    assert b == WEIGHTS[degree] and Av == PRINTED[family, degree]
    assert family == "-" or P == SHARES[degree]
    close(made.c, PLACES[degree])
    close(made.b, b)
    close(made.Aq, Aq)
    close(made.Av, Av)
    close(made.P, P, ROUNDING / WEIGHTS[degree][-1])  # P is Av divided by the last weight


@pytest.mark.parametrize("family", FAMILIES)
def test_the_weights_of_degree_four_are_rational_though_its_nodes_are_not(family):
    close(tableau(4, family).b, WEIGHTS[4])
    if family == "+":
        close(tableau(4, family).P, SHARES[4], ROUNDING / WEIGHTS[4][-1])


def test_the_lobatto_nodes_of_degree_three_and_four_are_those_of_the_tables():
    close(node_places(3, "lobatto"), [0.0, 0.5 - np.sqrt(0.05), 0.5 + np.sqrt(0.05), 1.0])
    close(node_places(4, "lobatto"), [0.0, 0.5 - np.sqrt(21.0) / 14.0, 0.5, 0.5 + np.sqrt(21.0) / 14.0, 1.0])
    close(tableau(3, "-", "lobatto").b, [1 / 12, 5 / 12, 5 / 12, 1 / 12])


# ---- properties of every degree


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("degree", DEGREES)
def test_the_weights_integrate_as_far_as_their_nodes_allow(degree, nodes):
    made = tableau(degree, "-", nodes)
    # symmetric nodes give even degrees one more
    highest = 2 * degree - 1 if nodes == "lobatto" else degree + 1 - degree % 2
    powers = np.arange(highest + 1)
    close(made.b @ made.c[:, None] ** powers, 1.0 / (powers + 1.0), 1e-15)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("degree", DEGREES)
def test_the_velocity_of_D_minus_ends_with_the_quadrature_of_the_accelerations(degree, nodes):
    made = tableau(degree, "-", nodes)
    places = [F(c) for c in made.c.tolist()]
    d = [float(value(lagrange(places[:-1], k), F(1))) for k in range(degree)]
    end = made.Av[-1].copy()
    end += made.b[-1] * (np.eye(degree + 1)[-1] - [*d, 0.0])
    close(end, made.b, 1e-13)
    assert not np.any(made.P) and not np.any(made.Av[:, -1]) and not np.any(made.Av[0])
    assert made.implicit == (1, degree)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("degree", DEGREES)
def test_with_exact_weighting_it_ends_there_too(degree, nodes):
    made = tableau(degree, "-", nodes, "exact")
    K, b = weighting_matrix(degree, nodes), np.diag(made.b)
    close(K[:-1] @ made.Av, b[:-1], 1e-13)  # (54) for all tests but the last
    close(made.Av[-1] + b[-1] - K[-1] @ made.Av, made.b, 1e-13)  # its last gives the jump
    made = tableau(degree, "+", nodes, "exact")
    K = weighting_matrix(degree, nodes) + np.outer(np.eye(degree + 1)[0], np.eye(degree + 1)[0])
    close(K @ made.Av, b, 1e-13)
    close(K @ made.P, np.eye(degree + 1)[-1], 1e-13)


@pytest.mark.parametrize("weighting", ["reduced", "exact"])
@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("degree", DEGREES)
def test_the_impulse_of_D_plus_moves_its_end_but_not_its_positions(degree, nodes, weighting):
    made = tableau(degree, "+", nodes, weighting)
    np.testing.assert_array_equal(made.Av[-1], made.b)
    close(made.P[-1], 1.0, 1e-13)
    close(made.b @ made.P, 0.0, 1e-13)
    close(made.P[0], (-1.0) ** degree, 1e-13)
    assert made.implicit == (0, degree + 1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("degree", DEGREES)
def test_both_weightings_agree_where_the_quadrature_is_exact(degree, family):
    reduced, exact = (tableau(degree, family, "lobatto", weighting) for weighting in ("reduced", "exact"))
    close(exact.Av, reduced.Av, 1e-13)
    close(exact.P, reduced.P, 1e-13)
    reduced, exact = (tableau(degree, family, "clenshaw-curtis", weighting) for weighting in ("reduced", "exact"))
    np.testing.assert_array_equal(exact.b, reduced.b)
    if degree <= 2:
        close(exact.Av, reduced.Av, 1e-14)
    else:
        assert np.max(np.abs(exact.Av - reduced.Av)) > 1e-4


@pytest.mark.parametrize("weighting", ["reduced", "exact"])
@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("degree", DEGREES)
def test_stages_are_exact_for_a_constant_acceleration(degree, family, nodes, weighting):
    made = tableau(degree, family, nodes, weighting)
    close(made.Av.sum(axis=1), made.c, 1e-13)
    close(made.Aq.sum(axis=1), made.c, 1e-14)
    close(made.Aq @ made.c, made.c**2 / 2.0, 1e-14)
    np.testing.assert_array_equal(made.Aq[-1], made.b)


def test_the_stiff_variant_takes_the_velocity_matrix_for_the_positions():
    made, plain = tableau(3, "+", stiff=True), tableau(3, "+")
    np.testing.assert_array_equal(made.Aq, plain.Av)
    np.testing.assert_array_equal(made.Av, plain.Av)


# ---- degree 0


def test_degree_zero_is_moreau_jean():
    explicit, implicit = tableau(0, "-"), tableau(0, "+")
    # v_1 = v_0 + h a_0 + p, q_1 = q_0 + h v_0
    np.testing.assert_array_equal(explicit.b, [1.0, 0.0])
    np.testing.assert_array_equal(explicit.Aq[-1], [1.0, 0.0])
    assert explicit.implicit[0] == explicit.implicit[1] and not np.any(explicit.P)
    # v_1 = v_0 + h a_1 + p, q_1 = q_0 + h v_1: the position feels the impulse
    np.testing.assert_array_equal(implicit.b, [0.0, 1.0])
    np.testing.assert_array_equal(implicit.Aq[-1], [0.0, 1.0])
    np.testing.assert_array_equal(implicit.Av[-1], [0.0, 1.0])
    assert implicit.P[-1] == 1.0


# ---- what the step and the dense output make of them


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 6, 12])
def test_polynomials_of_the_stages_are_continued_and_integrated_exactly(degree, nodes):
    made, s = tableau(degree, "-", nodes), np.linspace(0.0, 1.0, 23)
    for power in range(made.stages):
        stages = made.c**power
        close(made.interpolation(s) @ stages, s**power, 1e-13)
        once, twice = made.integrals(s)
        close(once @ stages, s ** (power + 1) / (power + 1), 1e-14)
        close(twice @ stages, s ** (power + 2) / (power + 1) / (power + 2), 1e-14)
        if power <= 4:
            close(made.predictor @ stages, (1.0 + made.c) ** power - 1.0, 1e-11)


def test_unknown_nodes_are_refused_with_the_known_ones():
    with pytest.raises(SettingError, match=r"nodes is 'gauss': it must be one of 'clenshaw-curtis', 'lobatto'"):
        node_places(3, "gauss")
