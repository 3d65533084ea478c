"""Views and small functions of kernels, as plain Python; compiled, each is an instruction or two (compile/jit/).

Compiled, a vector is an address and a length: nothing counts references, wraps negative indices or checks bounds.
"""

from __future__ import annotations


def vec(work, offset, n):
    """Return work[offset:offset + n] as a view, for generated models; kernels take fields, head, tail and row_of."""
    return work[offset : offset + n]


def mat(work, offset, rows, columns):
    """Return a (rows, columns) view of a vector."""
    return work[offset : offset + rows * columns].reshape((rows, columns))


def head(vector, n):
    """Return the first n numbers of a vector."""
    return _inside(vector, 0, n)


def tail(vector, begin):
    """Return the numbers of a vector from `begin` on."""
    return _inside(vector, begin, vector.shape[0] - begin)


def row_of(table, k, width):
    """Return row k of a table whose rows have `width` numbers and lie behind each other."""
    return _inside(table, k * width, width)


def _inside(vector, begin, n):
    """Return a part of a vector; interpreted, it must be inside."""
    if begin < 0 or n < 0 or begin + n > vector.shape[0]:
        raise IndexError(f"numbers {begin} to {begin + n} of a vector of {vector.shape[0]} numbers")
    return vector[begin : begin + n]


def room_at(rooms, k):
    """Return one of several rooms (compile/workspace.py)."""
    return rooms[k]


def as_array(vector):
    """Return a vector as an ordinary array, for a user's compiled function."""
    return vector


def handle(record):
    """Return the address of a record for the calls that this function makes; interpreted, the record itself.

    A model has eleven functions and three arrays; passed by value through every call they would cost more than the
    mechanics. A handle is valid while the function that made it runs.
    """
    return record


# the builtins max, min and int would be compiled as functions at every call site, 25 ms each


def larger(a, b):
    """Return the larger of two floats."""
    return b if b > a else a


def smaller(a, b):
    """Return the smaller of two floats."""
    return b if b < a else a


def whole(x):
    """Return a float without its fraction as an integer."""
    return int(x)
