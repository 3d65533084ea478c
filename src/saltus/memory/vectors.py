"""Copying, clearing and measuring vectors; sizes are those of the vector that is written or read."""

from __future__ import annotations

from saltus.compile.seam import larger, unit
from saltus.compile.types import A, F, I, J


@unit(I(A, A), small=True)
def copy(source, target):
    """Write the first numbers of source to target, as many as it has."""
    n = target.shape[0]
    if n == 1:  # else the compiler calls a function for it
        target[0] = source[0]
    elif n == 2:
        target[0], target[1] = source[0], source[1]
    else:
        for i in range(n):
            target[i] = source[i]
    return 0


@unit(I(A, A), small=True)
def add(source, target):
    """Add the first numbers of source to target, as many as it has."""
    for i in range(target.shape[0]):
        target[i] += source[i]
    return 0


@unit(I(A), small=True)
def clear(target):
    """Write zeros."""
    n = target.shape[0]
    if n == 1:  # else the compiler calls a function for it
        target[0] = 0.0
    else:
        for i in range(n):
            target[i] = 0.0
    return 0


@unit(I(J, J), small=True)
def copy_marks(source, target):
    """Write the first integers of source to target, as many as it has."""
    for i in range(target.shape[0]):
        target[i] = source[i]
    return 0


@unit(I(J), small=True)
def clear_marks(target):
    """Write zeros."""
    n = target.shape[0]
    if n == 1:  # else the compiler calls a function for it
        target[0] = 0
    else:
        for i in range(n):
            target[i] = 0
    return 0


@unit(F(A), small=True)
def largest(values):
    """Return the largest size of some numbers."""
    size = 0.0
    for i in range(values.shape[0]):
        size = larger(size, abs(values[i]))
    return size
