"""Galerkin tables of Lobatto nodes that were worked out once: nobody waits for them, and bits are the same everywhere.

Nodes, integrals and inverses come from LAPACK, whose last bits depend on its version and on the processor. galerkin.npy
holds them for all degrees that a scheme may ask for; `python bench/galerkin_table.py` writes it anew.
"""

from __future__ import annotations

import functools
import pathlib
from typing import NamedTuple

import numpy as np

PATH = pathlib.Path(__file__).with_name("galerkin.npy")
TOP = 16  # highest degree with all of its arrays
RAISED = 2  # positions are of a degree higher by two than accelerations: so are the nodes of what is handed on
SAMPLES = 16  # parts of an interval between which polynomials are sampled
FILE_HEAD = (TOP, RAISED, SAMPLES)


class Arrays(NamedTuple):
    """What belongs to a degree; above TOP only D- and its samples.

    minus, plus: packed tableaus of D- and of stiff D+; samples: values between the nodes; transform: to coefficients of
    Legendre polynomials; lift: values, integrals and double integrals at the nodes of a degree higher by RAISED.
    """

    minus: np.ndarray
    plus: np.ndarray
    samples: np.ndarray
    transform: np.ndarray
    lift: np.ndarray


class Store(NamedTuple):
    """{degree: arrays}, and log(kappa) of D- and D+ by degree from 0 on."""

    degrees: dict[int, Arrays]
    kappa: np.ndarray
    stiff_kappa: np.ndarray


EMPTY = Store({}, np.zeros(0), np.zeros(0))


@functools.cache
def stored() -> Store:
    """Return what the file holds; nothing where it is absent or of another make, and all is worked out."""
    try:
        numbers = np.load(PATH, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return EMPTY
    count, fields = TOP + RAISED, len(Arrays._fields)
    begin = len(FILE_HEAD) + count * fields
    if numbers.ndim != 1 or len(numbers) < begin or tuple(numbers[: len(FILE_HEAD)]) != FILE_HEAD:
        return EMPTY
    lengths = [int(length) for length in numbers[len(FILE_HEAD) : begin]]
    if len(numbers) != begin + sum(lengths) + 2 * (TOP + 1):
        return EMPTY
    numbers.setflags(write=False)
    ends = begin + np.cumsum(lengths)
    parts = [numbers[end - length : end] for end, length in zip(ends.tolist(), lengths, strict=True)]
    degrees = {k + 1: Arrays(*parts[k * fields : (k + 1) * fields]) for k in range(count)}
    return Store(degrees, numbers[-2 * (TOP + 1) : -(TOP + 1)], numbers[-(TOP + 1) :])


def write(made: Store) -> None:
    """Write the file."""
    arrays = [array for one in made.degrees.values() for array in one]
    lengths = [float(len(array)) for array in arrays]
    np.save(PATH, np.concatenate([FILE_HEAD, lengths, *arrays, made.kappa, made.stiff_kappa]))
