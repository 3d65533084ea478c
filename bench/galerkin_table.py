"""Work out the Galerkin tables of Lobatto nodes and write src/saltus/tables/galerkin.npy.

To be run where a table changes, not where numpy does: the file is there so that bits stay. `--check` compares the file
with what this machine works out, in units of the last place of each table.
"""

from __future__ import annotations

import sys

import numpy as np

from saltus.schemes.hp_tdg.numbers import degree_numbers
from saltus.tables import stored
from saltus.tables.tableau import tableau


def worked_out() -> stored.Store:
    """Return all tables, none of them read from the file."""
    kept, stored.stored = stored.stored, lambda: stored.EMPTY
    tableau.cache_clear()
    degree_numbers.cache_clear()
    try:
        made, kappa, stiff_kappa = degree_numbers("lobatto", stored.TOP)
    finally:
        stored.stored = kept
        tableau.cache_clear()
        degree_numbers.cache_clear()
    nothing = [np.zeros(0)] * len(stored.Arrays._fields)
    degrees = {k: stored.Arrays(*[*arrays, *nothing][: len(nothing)]) for k, arrays in enumerate(made, start=1)}
    return stored.Store(degrees, kappa, stiff_kappa)


def difference(one: stored.Store, other: stored.Store) -> float:
    """Return the largest difference of two tables, relative to the largest number of each."""
    pairs = [(one.kappa, other.kappa), (one.stiff_kappa, other.stiff_kappa)]
    for degree, arrays in one.degrees.items():
        pairs += zip(arrays, other.degrees[degree], strict=True)
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs if a.size)


if __name__ == "__main__":
    made = worked_out()
    if "--check" in sys.argv[1:]:
        print(f"largest relative difference: {difference(stored.stored(), made):.1e}")
    else:
        stored.write(made)
        print(f"written {stored.PATH}, {stored.PATH.stat().st_size} bytes")
