"""Polynomials through values at nodes: what every scanner of dense output evaluates."""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import A, F, I

NONE = 2.0  # a place beyond the interval: nothing happens in it


@unit(I(A, F, A))
def lagrange_weights(c, s, weights):
    """Write the values of the Lagrange polynomials of the nodes c at s."""
    node_factors(c, weights)
    return spread(c, s, weights)


@unit(I(A, A))
def node_factors(c, factors):
    """Write for every node the inverse of the product of its distances from all others."""
    n = c.shape[0]
    for k in range(n):
        factors[k] = 1.0
    for j in range(n):  # node by node: the products of all others do not wait for each other
        node = c[j]
        for k in range(j):
            factors[k] *= c[k] - node
        for k in range(j + 1, n):
            factors[k] *= c[k] - node
    for k in range(n):
        factors[k] = 1.0 / factors[k]
    return 0


@unit(I(A, F, A))
def spread(c, s, weights):
    """Turn the factors of the nodes into the Lagrange polynomials at s, without dividing by s - c, which may vanish."""
    n, product = c.shape[0], 1.0
    for k in range(n):
        weights[k] *= product
        product *= s - c[k]
    product = 1.0
    for k in range(n - 1, -1, -1):
        weights[k] *= product
        product *= s - c[k]
    return 0


@unit(I(A, A, A), small=True)
def combine(weights, values, out):
    """Write the combination of node values, one block of out's size per node."""
    m = out.shape[0]
    for i in range(m):
        total = 0.0
        for k in range(weights.shape[0]):
            total += weights[k] * values[k * m + i]
        out[i] = total
    return 0
