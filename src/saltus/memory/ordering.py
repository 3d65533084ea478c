"""The order of unknowns in a profile matrix: reverse Cuthill-McKee, and the connected components of a pattern.

E. Cuthill, J. McKee, Reducing the bandwidth of sparse symmetric matrices, 1969; reversed by A. George, 1971. Ties are
broken by the number of the unknown, so that every machine gives the same order.
"""

from __future__ import annotations

import numpy as np


def neighbours_of(pattern: np.ndarray) -> list[np.ndarray]:
    """Return for every unknown those that a symmetric boolean pattern joins it with."""
    return [np.flatnonzero(row) for row in pattern]


def reverse_cuthill_mckee(neighbours: list[np.ndarray]) -> np.ndarray:
    """Return the unknowns in an order that keeps joined ones close: breadth first, from few neighbours to many."""
    degree = np.array([len(joined) for joined in neighbours])
    order: list[int] = []
    seen = np.zeros(len(neighbours), dtype=bool)
    for seed in np.argsort(degree, kind="stable"):
        if seen[seed]:
            continue
        seen[seed] = True
        at = len(order)
        order.append(int(seed))
        while at < len(order):
            fresh = neighbours[order[at]]
            fresh = fresh[~seen[fresh]]
            seen[fresh] = True
            order.extend(fresh[np.argsort(degree[fresh], kind="stable")].tolist())
            at += 1
    return np.array(order[::-1], dtype=np.int64)


def components_of(neighbours: list[np.ndarray]) -> np.ndarray:
    """Return the number of the connected component of every unknown, counted as they are met."""
    label = np.full(len(neighbours), -1, dtype=np.int64)
    count = 0
    for seed in range(len(neighbours)):
        if label[seed] < 0:
            label[seed] = count
            todo = [seed]
            while todo:
                joined = neighbours[todo.pop()]
                fresh = joined[label[joined] < 0]
                label[fresh] = count
                todo.extend(fresh.tolist())
            count += 1
    return label
