"""What goes into a compiled function of the user and what comes out of it.

copied(vector) is an array of its own; store(result, out) writes a scalar, tuple, list or array into a vector.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from saltus.compile.seam import as_array


def copied(vector):
    """Return a vector as an array that the user's function may change."""
    return np.array(vector)


@overload(copied)
def _copied(vector):
    return lambda vector: as_array(vector).copy()


def store(result, out):
    """Write the numbers of `result` into `out`; NaN marks a result of the wrong size."""
    flat = np.ravel(np.asarray(result, dtype=float))
    out[:] = flat if flat.shape == out.shape else np.nan


@overload(store)
def _store(result, out):
    if isinstance(result, types.Number | types.Boolean):

        def one(result, out):
            out[0] = result

        return one
    if isinstance(result, types.Array):

        def many(result, out):
            k = 0
            for value in result.flat:
                if k < out.shape[0]:
                    out[k] = value
                k += 1
            if k != out.shape[0]:
                out[0] = np.nan

        return many
    if isinstance(result, types.BaseTuple | types.List | types.ListType):

        def sequence(result, out):
            k = 0
            for value in result:
                if k < out.shape[0]:
                    out[k] = value
                k += 1
            if k != out.shape[0]:
                out[0] = np.nan

        return sequence
    return None
