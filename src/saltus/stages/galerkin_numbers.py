"""Numbers and vectors of the intervals of HpTDG: tables of every degree, what is kept from step to step."""

from __future__ import annotations

import functools

import numpy as np
from numpy.polynomial import legendre

from saltus.compile.seam import unit, vec, whole
from saltus.compile.types import A, I
from saltus.events.scan import SAMPLES
from saltus.layout import (
    NC,
    NV,
)
from saltus.stages import frame as frames
from saltus.stages.frame import PHASE_AT
from saltus.stages.hp_choice import (
    FIT_SIZE,
)
from saltus.stages.interval import (
    jacobians_work,
    stage_size,
)
from saltus.stages.tableau import packed, tableau

# the numbers of the phase: a table for flights that stand, highest degree, degree to begin with, whether degree and
# length are fixed; where its own vectors lie; per degree where D-, D+, samples, Legendre transform and lift begin; then
# the logs of kappa of every degree, for D- and D+
STANDING, TOP, BEGIN_WITH, FIXED, OWN_AT, DEGREES_AT, KAPPA_AT, STIFF_KAPPA_AT, HEAD = range(9)
MINUS, PLUS, SAMPLED, LEGENDRE, LIFT, PER_DEGREE = range(6)
RAISED = 2  # positions are of a degree higher by two than accelerations: so are the nodes of what is handed on
# its own vectors
NUMBERS, FIT, KNOWN_INDEX, SERIES, J_Q, J_V, STAGE, CHANGE, MATRIX, SCRATCH, JACOBIAN_WORK, LEVELS = range(12)
STAGE_J_Q, STAGE_J_V, BEFORE, OWN = range(12, 16)
# numbers that are kept from step to step: degree to take, contraction of the iteration, whether Jacobians are known,
# the polynomial of the last solved interval (begin, length, number of coefficients or 0), whether forces are stiff,
# sweeps per interval, the closing that is foreseen, degree and length of the interval now; fastest rate of the forces
# [1/s], how many intervals it was too fast for (negative: how long not to ask), progress per evaluation before, sweeps;
# closings that were foreseen in vain, for how many intervals nothing is foreseen; length (0: none) and family of the
# interval whose matrix is factored; error of the first guess of an interval, in units of the tolerance; length (or 0)
# and degree of a first look whose Jacobians wait to be used; whether the polynomial is that of a first look
(
    NEXT_DEGREE, CONTRACTION, J_KNOWN, SERIES_T, SERIES_H, SERIES_N, STIFF, SWEEPS_MEAN, FORESEEN, DEGREE_NOW, H_NOW,
    RATE, STIFF_COUNT, PACE, SWEEPS_NOW, FALSE_ALARMS, SKIP, FACTORED_H, FACTORED_FOR, GUESS, LOOKED_H,
    LOOKED_DEGREE, SERIES_ROUGH, NUMBER_COUNT,
) = range(24)  # fmt: skip
LARGEST_SYSTEM = 240  # unknowns that Newton's method solves for together; beyond, plain iteration on shorter intervals
LEARNING_SYSTEM = 96  # unknowns up to which a new matrix per sweep costs less than the sweeps that it saves


@functools.cache
def degree_numbers(nodes: str, top: int) -> tuple[list[list[np.ndarray]], np.ndarray, np.ndarray]:
    """Return per degree D-, D+, samples, Legendre transform, lift to raised nodes; and log(kappa) of both families.

    The lift: values, integrals and double integrals at the raised nodes of a polynomial given at its own.
    """
    made, kappa, stiff_kappa = [], np.ones(top + 1), np.ones(top + 1)
    for degree in range(1, top + RAISED + 1):
        minus = tableau(degree, "-", nodes)
        samples = minus.interpolation(np.arange(SAMPLES + 1) / SAMPLES)
        made.append([packed(minus), np.zeros(0), samples.ravel()])
        if degree > top:
            continue
        plus = tableau(degree, "+", nodes, stiff=True)
        vandermonde = legendre.legvander(2.0 * minus.c - 1.0, degree)
        values = vandermonde[:, degree]
        kappa[degree] = abs(minus.b @ values - minus.Av[-1] @ values)
        stiff_kappa[degree] = abs(plus.Av[0] @ values)
        raised = tableau(degree + RAISED, "-", nodes).c
        lift = np.concatenate([minus.interpolation(raised), *minus.integrals(raised)])
        made[-1][1] = packed(plus)
        made[-1] += [np.linalg.inv(vandermonde).ravel(), lift.ravel()]
    return made, np.log(np.maximum(kappa, 1e-300)), np.log(np.maximum(stiff_kappa, 1e-300))


def own_sizes(layout, top: int) -> list[int]:
    """Return the sizes of the vectors of the phase."""
    nv, nc, n = int(layout[NV]), int(layout[NC]), top + 1
    return [
        NUMBER_COUNT, FIT_SIZE, nc, n * nv, nv * nv, nv * nv, stage_size(layout, n), n * nv,
        min(n * nv, LARGEST_SYSTEM) ** 2, nv,
        jacobians_work(layout), n,
        # Jacobians of the stages, those of a first look behind them
        *((2 * n * nv * nv, 2 * n * nv * nv, 3 * n * nv) if nv <= LEARNING_SYSTEM else (0, 0, 0)),
    ]  # fmt: skip


def galerkin_numbers(layout, nodes: str, top: int, begin_with: int, fixed: bool, begin: int) -> np.ndarray:
    """Return the numbers of the phase, which begin at a place of the settings."""
    return _numbers(tuple(own_sizes(layout, top)), nodes, top, begin_with, fixed, begin)


@functools.lru_cache(maxsize=64)
def _numbers(sizes: tuple[int, ...], nodes: str, top: int, begin_with: int, fixed: bool, begin: int) -> np.ndarray:
    made, kappa, stiff_kappa = degree_numbers(nodes, top)
    where = np.cumsum([0, *sizes]).astype(float)
    own_at = begin + HEAD
    degrees_at = own_at + len(where)
    kappa_at = degrees_at + PER_DEGREE * (top + RAISED + 1)
    at = kappa_at + 2 * (top + 1)
    places, parts = np.zeros((top + RAISED + 1, PER_DEGREE)), []
    for degree, arrays in enumerate(made, start=1):
        for k, array in enumerate(arrays):
            places[degree, k] = at
            at += len(array)
            parts.append(array)
    head = [places[1, MINUS], top, begin_with, fixed, own_at, degrees_at, kappa_at, kappa_at + top + 1]
    return np.concatenate([head, where, places.ravel(), kappa, stiff_kappa, *parts])


@unit(A(A, A, I), small=True)
def own(settings, frame, name):
    """Return a vector of the phase."""
    at = whole(settings[whole(settings[PHASE_AT]) + OWN_AT]) + name
    begin = whole(settings[whole(settings[frames.PLACES_AT]) + frames.PHASE])
    return vec(frame, begin + whole(settings[at]), whole(settings[at + 1] - settings[at]))


@unit(I(A, I, I), small=True)
def numbers_of(settings, degree, kind):
    """Return where the numbers of a degree begin."""
    return whole(settings[whole(settings[whole(settings[PHASE_AT]) + DEGREES_AT]) + PER_DEGREE * degree + kind])


@unit(A(A, I, I), small=True)
def table_of(settings, degree, stiff):
    """Return the table of a degree."""
    at = numbers_of(settings, degree, PLUS if stiff == 1 else MINUS)
    return vec(settings, at, settings.shape[0] - at)


@unit(A(A, I), small=True)
def kappa_of(settings, stiff):
    """Return log(kappa) of all degrees of a family."""
    at = whole(settings[PHASE_AT])
    return vec(
        settings, whole(settings[at + (STIFF_KAPPA_AT if stiff == 1 else KAPPA_AT)]), whole(settings[at + TOP]) + 1
    )
