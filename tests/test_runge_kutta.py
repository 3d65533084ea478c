"""Runge-Kutta tables: order conditions of all rooted trees, exact where the numbers are exact, and scipy's tables."""

import functools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import DOP853, RK45

from saltus.errors import SettingError
from saltus.tables.runge_kutta import names, rational, table

EXPLICIT = ("heun", "kutta3", "rk4", "rkf45", "dopri5", "dop853")
IMPLICIT = ("radau3", "radau5", "lobatto3a", "lobatto3c", "lobatto3c2")
COLLOCATION = ("radau3", "radau5", "lobatto3a")

DIGITS = 1e-27  # the decimals of dop853 are typed with 28 to 30 significant digits, the largest of them is 530
ROUND_OFF = 1e-13
POINTS = (Fraction(1, 7), Fraction(2, 5), Fraction(1, 2), Fraction(5, 6), Fraction(1))


# A rooted tree is the sorted tuple of the trees that hang on its root.


@functools.cache
def trees(vertices):
    return tuple(forests(vertices - 1, vertices - 1))


def forests(vertices, largest):
    """Yield the multisets of trees with so many vertices in all; no tree has more than `largest`."""
    if vertices == 0:
        yield ()
        return
    for size in range(min(vertices, largest), 0, -1):
        for count in range(vertices // size, 0, -1):
            for rest in forests(vertices - count * size, size - 1):
                for chosen in multisets(trees(size), count):
                    yield tuple(sorted(chosen + rest))


def multisets(items, count):
    if count == 0:
        yield ()
        return
    for i, item in enumerate(items):
        for rest in multisets(items[i:], count - 1):
            yield (item, *rest)


def vertices(tree):
    return 1 + sum(vertices(branch) for branch in tree)


def density(tree):
    return vertices(tree) * math.prod(density(branch) for branch in tree)


def symmetry(tree):
    return math.prod(math.factorial(n) * symmetry(branch) ** n for branch, n in Counter(tree).items())


def all_stages(method):
    """Return A with the stages of the dense output."""
    n = method.stages + len(method.c_extra)
    A = np.zeros((n, n), dtype=method.A.dtype)
    A[: method.stages, : method.stages] = method.A
    A[method.stages :] = method.A_extra
    return A


class Conditions:
    """Residuals of the order conditions of weights for a matrix A; the stage weights of each tree are kept."""

    def __init__(self, A):
        self.A = A
        self.one = np.ones(len(A), dtype=int).astype(A.dtype)
        self.known = {}

    def stage_weights(self, tree):
        if tree not in self.known:
            self.known[tree] = math.prod((self.A @ self.stage_weights(branch) for branch in tree), start=self.one)
        return self.known[tree]

    def residual(self, weights, order, s=1):
        """Return the largest residual over the trees of one order."""
        residuals = [
            abs(weights @ self.stage_weights(tree)[: len(weights)] - s**order / Fraction(density(tree)))
            for tree in trees(order)
        ]
        return max(residuals)


@functools.cache
def conditions(name, exact=True):
    return Conditions(all_stages(rational(name) if exact and name in EXPLICIT else table(name)))


def method(name):
    return rational(name) if name in EXPLICIT else table(name)


def dense_weights(method, s):
    return method.dense @ np.array([s ** (j + 1) for j in range(method.dense.shape[1])])


def tolerance(name):
    if name == "dop853":
        return DIGITS
    return 0 if name in EXPLICIT else 1e-15


# the conditions themselves


def test_there_are_as_many_rooted_trees_as_cayley_counted():
    assert [len(set(trees(n))) for n in range(1, 10)] == [1, 1, 2, 4, 9, 20, 48, 115, 286]
    assert [len(trees(n)) for n in range(1, 10)] == [1, 1, 2, 4, 9, 20, 48, 115, 286]


@pytest.mark.parametrize("order", range(1, 9))
def test_the_labellings_of_all_trees_of_one_order_number_the_factorial(order):
    # n! / (gamma sigma) monotonic labellings per tree, (n - 1)! in all
    count = sum(Fraction(math.factorial(order), density(tree) * symmetry(tree)) for tree in trees(order))
    assert count == math.factorial(order - 1)


def test_the_list_of_names_is_complete():
    assert set(names()) == {*EXPLICIT, *IMPLICIT}
    assert [table(name).order for name in EXPLICIT] == [2, 3, 4, 5, 5, 8]
    assert [table(name).order for name in IMPLICIT] == [3, 5, 4, 4, 2]
    assert [table(name).stages for name in names()] == [2, 3, 4, 6, 7, 13, 2, 3, 3, 3, 2]


# order of the step and of its estimates


@pytest.mark.parametrize("name", names())
def test_the_weights_meet_all_order_conditions_up_to_their_order(name):
    for order in range(1, table(name).order + 1):
        assert conditions(name).residual(method(name).b, order) <= tolerance(name)


@pytest.mark.parametrize("name", EXPLICIT)
def test_the_embedded_weights_meet_all_order_conditions_up_to_their_order(name):
    exact = method(name)
    assert len(exact.b_hat) == len(exact.error_order)
    for weights, claimed in zip(exact.b_hat, exact.error_order, strict=True):
        for order in range(1, claimed + 1):
            assert conditions(name).residual(weights, order) <= tolerance(name)


@pytest.mark.parametrize("name", names())
def test_rounding_to_doubles_keeps_the_order_conditions(name):
    rounded = table(name)
    for order in range(1, rounded.order + 1):
        assert conditions(name, exact=False).residual(rounded.b, order) <= ROUND_OFF
    for weights, claimed in zip(rounded.b_hat, rounded.error_order, strict=True):
        assert max(conditions(name, exact=False).residual(weights, n) for n in range(1, claimed + 1)) <= ROUND_OFF


@pytest.mark.parametrize("name", names())
def test_no_order_is_higher_than_claimed(name):
    rounded = table(name)
    assert conditions(name, exact=False).residual(rounded.b, rounded.order + 1) > 1e-6
    for weights, claimed in zip(rounded.b_hat, rounded.error_order, strict=True):
        assert conditions(name, exact=False).residual(weights, claimed + 1) > 1e-4


@pytest.mark.parametrize("name", names())
def test_the_rows_of_A_sum_to_the_nodes(name):
    exact = method(name)
    rows = all_stages(exact).sum(axis=1)
    assert np.max(np.abs(rows - np.append(exact.c, exact.c_extra))) <= tolerance(name)


# dense output


@pytest.mark.parametrize("name", names())
def test_the_dense_output_meets_the_order_conditions_at_every_s(name):
    exact = method(name)
    for s in POINTS:
        s = s if name in EXPLICIT else float(s)
        for order in range(1, exact.dense_order + 1):
            assert conditions(name).residual(dense_weights(exact, s), order, s) <= tolerance(name)


@pytest.mark.parametrize("name", names())
def test_the_order_of_the_dense_output_is_no_higher_than_claimed(name):
    rounded = table(name)
    worst = [
        conditions(name, exact=False).residual(dense_weights(rounded, float(s)), rounded.dense_order + 1, float(s))
        for s in POINTS[:-1]
    ]
    assert max(worst) > 1e-6
    assert rounded.dense_order == {"heun": 2, "rkf45": 4, "dopri5": 4, "dop853": 7}.get(name, min(3, rounded.stages))


@pytest.mark.parametrize("name", names())
def test_the_dense_output_ends_at_the_new_value(name):
    exact = method(name)
    ends = dense_weights(exact, 1)
    assert np.max(np.abs(ends[: exact.stages] - exact.b)) <= tolerance(name) * (name in IMPLICIT)
    assert not np.any(ends[exact.stages :])


@pytest.mark.parametrize("name", EXPLICIT)
def test_the_dense_output_has_the_slopes_of_both_ends(name):
    exact = method(name)
    powers = np.arange(1, exact.dense.shape[1] + 1)
    first, last = exact.dense[:, 0], exact.dense @ powers
    end = np.append(exact.b, [0] * len(exact.c_extra))
    row = next(i for i, weights in enumerate(all_stages(exact)) if all(weights == end))
    unit = np.eye(len(end), dtype=int)
    assert all(first == unit[0]) and all(last == unit[row])


@pytest.mark.parametrize("name", COLLOCATION)
def test_the_dense_output_of_a_collocation_method_runs_through_its_stages(name):
    rounded = table(name)
    for c, row in zip(rounded.c, rounded.A, strict=True):
        np.testing.assert_allclose(dense_weights(rounded, c), row, rtol=0, atol=tolerance(name))


def nested_value(method, f, s):
    F = method.nested @ f
    value = F[-1]
    for k in reversed(range(len(F) - 1)):
        value = F[k] + (s if k % 2 else 1 - s) * value
    return s * value


@pytest.mark.parametrize("name", EXPLICIT)
def test_the_nested_form_is_the_same_polynomial_with_less_round_off(name):
    exact, rounded = method(name), table(name)
    f = np.cos(0.3 * np.append(rounded.c, rounded.c_extra))
    f_exact = np.array([Fraction(x) for x in f])
    for s in POINTS:
        expected = dense_weights(exact, s) @ f_exact
        assert nested_value(exact, f_exact, s) == expected
        assert abs(nested_value(rounded, f, float(s)) - float(expected)) <= 4e-15
        assert abs(dense_weights(rounded, float(s)) @ f - float(expected)) <= (4e-13 if name == "dop853" else 4e-15)


# implicit tables


@pytest.mark.parametrize(
    ("name", "B", "C", "D"),
    [("radau3", 3, 2, 1), ("radau5", 5, 3, 2), ("lobatto3a", 4, 3, 1), ("lobatto3c", 4, 2, 2), ("lobatto3c2", 2, 1, 1)],
)
def test_the_simplifying_conditions_hold_as_far_as_they_should(name, B, C, D):
    c, A, b = table(name).c, table(name).A, table(name).b

    def residuals(k):
        return (
            abs(b @ c ** (k - 1) - 1 / k),
            np.max(np.abs(A @ c ** (k - 1) - c**k / k)),
            np.max(np.abs((b * c ** (k - 1)) @ A - b * (1 - c**k) / k)),
        )

    for which, highest in enumerate((B, C, D)):
        assert max(residuals(k)[which] for k in range(1, highest + 1)) <= 4e-16
        assert residuals(highest + 1)[which] > 1e-3


def test_the_computed_tables_are_those_of_the_books():
    root = math.sqrt(6)
    radau5 = [
        [(88 - 7 * root) / 360, (296 - 169 * root) / 1800, (-2 + 3 * root) / 225],
        [(296 + 169 * root) / 1800, (88 + 7 * root) / 360, (-2 - 3 * root) / 225],
        [(16 - root) / 36, (16 + root) / 36, 1 / 9],
    ]
    books = {
        "radau3": ([1 / 3, 1], [[5 / 12, -1 / 12], [3 / 4, 1 / 4]]),
        "radau5": ([(4 - root) / 10, (4 + root) / 10, 1], radau5),
        "lobatto3a": ([0, 1 / 2, 1], [[0, 0, 0], [5 / 24, 1 / 3, -1 / 24], [1 / 6, 2 / 3, 1 / 6]]),
        "lobatto3c": ([0, 1 / 2, 1], [[1 / 6, -1 / 3, 1 / 6], [1 / 6, 5 / 12, -1 / 12], [1 / 6, 2 / 3, 1 / 6]]),
        "lobatto3c2": ([0, 1], [[1 / 2, -1 / 2], [1 / 2, 1 / 2]]),
    }
    for name, (c, A) in books.items():
        np.testing.assert_allclose(table(name).c, c, rtol=0, atol=2e-16)
        np.testing.assert_allclose(table(name).A, A, rtol=0, atol=2e-16)


def test_radau5_has_the_real_eigenvalue_in_closed_form():
    eigenvalues = 1 / np.linalg.eigvals(table("radau5").A)
    real = eigenvalues[np.argmin(np.abs(eigenvalues.imag))].real
    assert real == pytest.approx(3 + 3 ** (2 / 3) - 3 ** (1 / 3), abs=1e-13)  # Hairer, Wanner II, section IV.8


def stability(name, z):
    A, b = table(name).A, table(name).b
    one = np.ones(len(b))
    return 1 + z * b @ np.linalg.solve(np.eye(len(b)) - z * A, one)


@pytest.mark.parametrize(("name", "at_infinity"), [(n, float(n == "lobatto3a")) for n in IMPLICIT])
def test_the_implicit_tables_are_A_stable(name, at_infinity):
    assert abs(stability(name, -1e9) - at_infinity) < 1e-7
    assert max(abs(stability(name, 1j * y)) for y in np.logspace(-3, 4, 200)) <= 1 + 1e-14
    # the poles 1 / eigenvalue lie in the right half plane
    assert min(x.real for x in np.linalg.eigvals(table(name).A) if abs(x) > 1e-14) > 0.05


@pytest.mark.parametrize("name", ["radau3", "radau5", "lobatto3c", "lobatto3c2"])
def test_stiff_components_are_wiped_out_in_one_step(name):
    A, b = table(name).A, table(name).b
    assert abs(1 - b @ np.linalg.solve(A, np.ones(len(b)))) < 1e-14


# against scipy


def test_dopri5_is_the_table_of_scipy():
    ours = table("dopri5")
    np.testing.assert_array_equal(ours.c[:6], RK45.C)
    np.testing.assert_array_equal(ours.A[:6, :5], RK45.A)
    np.testing.assert_array_equal(ours.b[:6], RK45.B)
    np.testing.assert_allclose(ours.error[0], -RK45.E, rtol=1e-14)  # scipy's estimate is y_hat - y_new
    np.testing.assert_allclose(ours.dense, RK45.P, rtol=1e-14)


def test_dop853_is_the_table_of_scipy():
    ours = table("dop853")
    np.testing.assert_allclose(ours.c[:12], DOP853.C, rtol=2e-16)
    np.testing.assert_allclose(ours.A[:12, :12], DOP853.A, rtol=2e-16)
    np.testing.assert_array_equal(ours.A[12, :12], DOP853.B)
    np.testing.assert_allclose(ours.c_extra, DOP853.C_EXTRA, rtol=2e-16)
    np.testing.assert_array_equal(ours.A_extra, DOP853.A_EXTRA)
    np.testing.assert_allclose(ours.error[0], DOP853.E5, rtol=0, atol=4e-16)
    np.testing.assert_allclose(ours.error[1], DOP853.E3, rtol=0, atol=4e-16)


def test_the_dense_output_of_dop853_is_the_one_of_scipy():
    solver = DOP853(lambda t, y: np.array([y[1], -math.sin(y[0]) - 0.1 * y[1] * t]), 0.2, [1.0, 0.5], 9, first_step=0.4)
    y = solver.y.copy()
    solver.step()
    theirs, h = solver.dense_output(), solver.step_size
    for s in np.linspace(0, 1, 11):
        f = solver.K_extended
        np.testing.assert_allclose(y + h * nested_value(table("dop853"), f, s), theirs(0.2 + s * h), rtol=0, atol=2e-15)
        ours = y + h * dense_weights(table("dop853"), s) @ f
        np.testing.assert_allclose(ours, theirs(0.2 + s * h), rtol=0, atol=4e-13)


# properties and messages


@pytest.mark.parametrize("name", names())
def test_arrays_are_ready_for_kernels_and_cannot_be_changed(name):
    rounded = table(name)
    assert table(name) is rounded
    arrays = [array for array in vars(rounded).values() if isinstance(array, np.ndarray)]
    assert len(arrays) == 8
    for array in arrays:
        assert array.dtype == np.float64 and array.flags.c_contiguous and not array.flags.writeable


def test_properties_tell_explicit_and_stiffly_accurate_tables_apart():
    assert {name for name in names() if table(name).explicit} == set(EXPLICIT)
    assert {name for name in names() if table(name).stiffly_accurate} == {"dopri5", "dop853", *IMPLICIT}
    for name in EXPLICIT:
        assert rational(name).explicit == table(name).explicit
        assert rational(name).stiffly_accurate == table(name).stiffly_accurate


@pytest.mark.parametrize("name", EXPLICIT)
def test_the_products_of_A_step_a_second_order_equation(name):
    ours, h = table(name), 0.3
    y = np.array([1.0, -0.4])
    f = np.zeros((ours.stages, 2))
    a = np.zeros(ours.stages)
    for i in range(ours.stages):
        q, v = y + h * ours.A[i] @ f
        f[i] = v, -math.sin(q)
        a[i] = -math.sin(y[0] + ours.c[i] * h * y[1] + h**2 * ours.A2[i] @ a)
    q_new = y[0] + h * y[1] + h**2 * (ours.b @ ours.A) @ a
    np.testing.assert_allclose([q_new, y[1] + h * ours.b @ a], y + h * ours.b @ f, rtol=0, atol=1e-14)


def test_an_unknown_name_is_answered_with_the_nearest_and_all_known_ones():
    with pytest.raises(SettingError, match="'dorpi5': did you mean 'dopri5'"):
        table("dorpi5")
    with pytest.raises(SettingError, match="did you mean 'rk4'"):
        table("RK4")
    with pytest.raises(SettingError) as message:
        table("xyz")
    assert "did you mean" not in str(message.value) and all(name in str(message.value) for name in names())
    with pytest.raises(SettingError, match="no exact Runge-Kutta table is called 'radau5'"):
        rational("radau5")
