"""Sums over the stages of an interval, four of them at a time: loops over small tables in vector instructions.

Kernels are compiled without a vectoriser. A table that is stored by columns (entry k of column j at j rows + k) makes
the sums of neighbouring rows side by side, each of them term by term from its first one on: every number has the bits
that a plain loop over its row gives, and no product is fused with a sum. Compiled: jit/columns.py.
"""

from __future__ import annotations


def combine_columns(columns, rows, first, values, stride, out, step):
    """Write out[k step] = first + sum_j columns[j rows + k] values[j stride] for all rows k; values lie apart from out.

    The number of columns is that of whole ones in `columns`.
    """
    for k in range(rows):
        total = first
        for j in range(columns.shape[0] // rows):
            total += columns[j * rows + k] * values[j * stride]
        out[k * step] = total
    return 0


def combine_scaled(columns, rows, scale, first, values, stride, out, step):
    """Write out[k step] = first + sum_j (scale columns[j rows + k]) values[j stride] for all rows k."""
    for k in range(rows):
        total = first
        for j in range(columns.shape[0] // rows):
            total += scale * columns[j * rows + k] * values[j * stride]
        out[k * step] = total
    return 0


def lagrange_columns(c, factors, places, columns):
    """Write the Lagrange polynomials of the nodes c at many places, a column per node.

    factors: see `node_factors` of tables/polynomial.py; nothing is divided by place - c, which may vanish.
    """
    n, rows = c.shape[0], places.shape[0]
    for k in range(rows):
        product = 1.0
        for j in range(n):
            columns[j * rows + k] = factors[j] * product
            product *= places[k] - c[j]
        product = 1.0
        for j in range(n - 1, -1, -1):
            columns[j * rows + k] *= product
            product *= places[k] - c[j]
    return 0


def legendre_columns(places, terms, columns):
    """Write the first Legendre polynomials at many places, a column per polynomial."""
    rows = places.shape[0]
    for k in range(rows):
        columns[k] = 1.0
        if terms > 1:
            columns[rows + k] = places[k]
        for j in range(1, terms - 1):
            last, before = columns[j * rows + k], columns[(j - 1) * rows + k]
            columns[(j + 1) * rows + k] = ((2.0 * j + 1.0) * places[k] * last - j * before) / (j + 1.0)
    return 0


def matrix_entries(velocity, product, h, j_v, j_q, out, step):
    """Write out[k step] = -h (velocity[k] j_v + h product[k] j_q) + 0.0 for as many k as `velocity` has numbers."""
    for k in range(velocity.shape[0]):
        out[k * step] = -h * (velocity[k] * j_v + h * product[k] * j_q) + 0.0
    return 0


def subtract_multiple(x, factor, y):
    """Subtract factor x from y, as many numbers as y has."""
    for k in range(y.shape[0]):
        y[k] -= factor * x[k]
    return 0
