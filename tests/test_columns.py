"""Sums over tables that are stored by columns: the bits of plain loops, whatever the sizes."""

from __future__ import annotations

import numpy as np
import pytest

from extras import needs_jit
from saltus.compile import columns
from saltus.compile.seam import unit
from saltus.compile.types import A, F, I

pytestmark = needs_jit  # the kernels that call them are those of this file

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 33)


@unit(I(A, I, F, A, I, A, I))
def combined(table, rows, first, values, stride, out, step):
    return columns.combine_columns(table, rows, first, values, stride, out, step)


@unit(I(A, I, F, F, A, I, A, I))
def scaled(table, rows, scale, first, values, stride, out, step):
    return columns.combine_scaled(table, rows, scale, first, values, stride, out, step)


@unit(I(A, A, A, A))
def lagrange(c, factors, places, out):
    return columns.lagrange_columns(c, factors, places, out)


@unit(I(A, I, A))
def legendre(places, terms, out):
    return columns.legendre_columns(places, terms, out)


@unit(I(A, A, F, F, F, A, I))
def entries(velocity, product, h, j_v, j_q, out, step):
    return columns.matrix_entries(velocity, product, h, j_v, j_q, out, step)


@unit(I(A, F, A))
def subtracted(x, factor, y):
    return columns.subtract_multiple(x, factor, y)


def same_bits(compiled, plain, *arguments, size):
    """Both write the same numbers into the vector that comes last, or before its step, and nothing behind it."""
    ours, theirs = np.full(size + 8, 7.0), np.full(size + 8, 7.0)
    compiled(*(ours[:size] if argument is OUT else argument for argument in arguments))
    plain(*(theirs[:size] if argument is OUT else argument for argument in arguments))
    np.testing.assert_array_equal(ours, theirs)


OUT = object()


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("terms", [1, 3, 15])
@pytest.mark.parametrize(("stride", "step"), [(1, 1), (3, 2)])
def test_sums_of_columns_have_the_bits_of_sums_of_rows(rows, terms, stride, step):
    rng = np.random.default_rng([rows, terms, stride])
    table, values = rng.standard_normal(rows * terms), rng.standard_normal(terms * stride)
    same_bits(combined, columns.combine_columns, table, rows, 0.3, values, stride, OUT, step, size=rows * step)
    same_bits(scaled, columns.combine_scaled, table, rows, 0.7, -0.1, values, stride, OUT, step, size=rows * step)


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("n", [1, 2, 9, 17])
def test_polynomials_at_many_places_have_the_bits_of_those_at_one(rows, n):
    rng = np.random.default_rng([rows, n])
    c, factors, places = rng.random(n), rng.standard_normal(n), rng.random(rows)
    same_bits(lagrange, columns.lagrange_columns, c, factors, places, OUT, size=n * rows)
    same_bits(legendre, columns.legendre_columns, places, n, OUT, size=n * rows)


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("step", [1, 3])
def test_entries_of_an_iteration_matrix_have_the_bits_of_a_plain_loop(rows, step):
    rng = np.random.default_rng(rows)
    velocity, product = rng.standard_normal(rows), rng.standard_normal(rows)
    same_bits(entries, columns.matrix_entries, velocity, product, 0.1, 0.0, -1.3, OUT, step, size=rows * step)
    same_bits(
        entries, columns.matrix_entries, 0.0 * velocity, -0.0 * product, 0.1, 0.0, 1.0, OUT, step, size=rows * step
    )


@pytest.mark.parametrize("size", [0, *SIZES])
def test_a_row_minus_a_multiple_of_another_has_the_bits_of_a_plain_loop(size):
    x = np.random.default_rng(size).standard_normal(size)
    same_bits(subtracted, columns.subtract_multiple, x, 0.3, OUT, size=size)
