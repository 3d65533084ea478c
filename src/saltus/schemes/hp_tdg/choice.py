"""Degree and length of the next interval, from how fast the stage polynomial of this one decays.

The Legendre coefficients s_k of the stage accelerations, in units of the tolerance, fall like B r^k. On an interval x
times as long they are B x (r x)^k, so that the error estimate of degree m is kappa_m B r^(m + 1) x^(m + 2), kappa_m
being what the estimator makes of the last polynomial (arguments `kappa` are its logs). Of all degrees the one is taken
that costs the fewest force evaluations per unit of time.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

from saltus.compile.seam import larger, smaller, unit
from saltus.compile.types import A, F, I


class _Fit(NamedTuple):
    """Places of a fit."""

    # what is kept of a fit: length of its interval, log of B, log of r, whether there is one (2: nothing but a
    # constant)
    h: int = 0
    level: int = 1
    rate: int = 2
    known: int = 3
    size: int = 4


FIT = _Fit()


class _Choice(NamedTuple):
    """Tuned numbers of this file."""

    noise: float = 1e-13  # of the largest coefficient: what is smaller is rounding
    tiny: float = 1e-4  # of the tolerance: coefficients that do not matter
    likely: float = -1.5  # log r where nothing is known
    # bounds of log r: nothing is known outside of them
    slowest: float = -0.05
    fastest: float = -9.0
    aim: float = -1.7  # log of the error estimate that intervals aim at
    largest_rate: float = -0.5  # log of r x: beyond, a fit says nothing
    longest: float = 7.0  # log of the longest interval over the last one
    least_shift: float = -2.0  # by accident an estimate may be small
    least: int = 3  # degree of motion that is not uniformly accelerated: lower ones show no decay to go by
    reluctance: float = 0.95  # another degree must be cheaper than this


CHOICE = _Choice()


@unit(I(A))
def expect_anything(fit):
    """Write the fit of a motion that is quiet now and may not stay so: what is next must be looked at."""
    fit[FIT.rate], fit[FIT.level], fit[FIT.known] = CHOICE.likely, log(CHOICE.tiny) - CHOICE.likely, 1.0
    return 0


@unit(I(A, I, A, F))
def fit_decay(levels, degree, fit, h):
    """Fit the decay of the coefficients 0 ... degree, by pairs, because odd or even ones may vanish."""

    top = 0.0
    for k in range(degree + 1):
        top = larger(top, levels[k])
    fit[FIT.h], fit[FIT.known] = h, 1.0
    floor = CHOICE.noise * top
    last, noise = 0, True
    for k in range(1, degree + 1):
        noise = noise and not levels[k] > floor
        if levels[k] > larger(floor, CHOICE.tiny):
            last = k
    if noise or not top > 0.0:
        fit[FIT.known] = 2.0
        return 0
    if last == 0:  # what is there is far below the tolerance, so that its decay says nothing
        return expect_anything(fit)
    rate = CHOICE.slowest
    if last >= 3:
        upper, lower = levels[last] + levels[last - 1], levels[last - 2] + levels[last - 3]
        rate = 0.5 * log(larger(upper, 1e-300) / larger(lower, 1e-300))
        level = log(upper) - log(1.0 + exp(-rate))
    elif last == 2:
        rate = 0.5 * log(larger(levels[2] + levels[1], 1e-300) / larger(levels[0] + levels[1], 1e-300))
        level = log(larger(levels[2], 0.1 * levels[1]))
    else:
        rate = log(larger(levels[1], 1e-300) / larger(levels[0], 1e-300))
        level = log(levels[1])
    rate = larger(smaller(rate, CHOICE.slowest), CHOICE.fastest)
    fit[FIT.rate], fit[FIT.level] = rate, level - rate * last
    return 0


@unit(F(A, A, F, I))
def expected_error(fit, kappa, h, degree):
    """Return the log of the error estimate that a degree would have on an interval of length h."""

    x = log(h / fit[FIT.h])
    return kappa[degree] + fit[FIT.level] + (degree + 1) * fit[FIT.rate] + (degree + 2) * x


@unit(I(A, A, F, I, F, I))
def calibrate(fit, kappa, h, degree, error, fresh):
    """Shift the level of a fit so that it gives the estimate that was found; one that is not fresh slowly downwards."""
    if fit[FIT.known] != 1.0:
        return 0
    shift = log(larger(error, 1e-30)) - expected_error(fit, kappa, h, degree)
    if fresh == 1:
        fit[FIT.level] += larger(shift, CHOICE.least_shift)
    elif shift > 0.0:
        fit[FIT.level] += shift
    elif shift < -1.0:
        fit[FIT.level] += 0.25 * shift
    return 0


@unit(F(A, A, F, I))
def longest_step(fit, kappa, aim, degree):
    """Return the longest interval on which a degree keeps its error estimate below exp(aim)."""

    if fit[FIT.known] == 2.0:
        return fit[FIT.h] * exp(CHOICE.longest)
    x = (aim - kappa[degree] - fit[FIT.level] - (degree + 1) * fit[FIT.rate]) / (degree + 2)
    x = smaller(x, CHOICE.largest_rate - fit[FIT.rate])
    return fit[FIT.h] * exp(smaller(x, CHOICE.longest))


@unit(I(A, A, I, I, F, F))
def best_degree(fit, kappa, degree, top, sweeps, extra):
    """Return the degree with the fewest evaluations per unit of time; `extra` ones come with every interval."""
    if fit[FIT.known] == 2.0:
        return 1
    best, cheapest = degree, 1e300
    for m in range(CHOICE.least if top > CHOICE.least else top, top + 1):
        if m > degree + 3:
            break
        cost = (1.0 + extra + sweeps * (m - 1)) / longest_step(fit, kappa, CHOICE.aim, m)
        if m == degree:
            cost *= CHOICE.reluctance
        if cost < cheapest:
            best, cheapest = m, cost
    return best


@unit(I(A, A, F, I, F, I))
def first_degree(fit, kappa, x, end, aim, otherwise):
    """Return the lowest degree from 2 to end - 1 whose error estimate, on exp(x) lengths, is below exp(aim)."""
    for m in range(2, end):
        if kappa[m] + fit[FIT.level] + (m + 1) * fit[FIT.rate] + (m + 2) * x <= aim:
            return m
    return otherwise


@unit(I(A, A, F, I, F))
def rough_degree(fit, kappa, h, degree, aim):
    """Return the lowest degree whose error estimate on an interval of length h is below exp(aim), 0 for none worth it.

    It is for a first look at the motion, so it must be far cheaper than the degree of the interval.
    """
    if fit[FIT.known] != 1.0:
        return 0
    return first_degree(fit, kappa, log(h / fit[FIT.h]), degree - CHOICE.least + 1, aim, 0)


@unit(I(A, A, I, F))
def quicken(fit, levels, degree, h):
    """Shorten the length of a fit so that it gives the last two coefficients that were found on an interval.

    Motion that is x times as fast has coefficients x (r x)^k, whatever r is.
    """
    x = h / fit[FIT.h]
    expected = exp(fit[FIT.level] + degree * fit[FIT.rate]) * x ** (degree + 1) * (1.0 + exp(-fit[FIT.rate]) / x)
    found = levels[degree] + levels[degree - 1]
    fit[FIT.h] /= larger(found / expected, 1.0) ** (1.0 / (degree + 1))  # slower motion is no reason to trust it
    return 0


@unit(F(A, F))
def motion_level(fit, h):
    """Return the log of the size of the accelerations on an interval of length h, in units of the tolerance."""
    return fit[FIT.level] + log(h / fit[FIT.h])


@unit(I(A, A, F, I))
def least_degree(fit, kappa, h, degree):
    """Return the lowest degree up to `degree` that suffices on an interval of length h."""

    if fit[FIT.known] == 2.0:
        return 1
    x = log(h / fit[FIT.h])
    if x + fit[FIT.rate] > CHOICE.largest_rate:
        return degree
    return first_degree(fit, kappa, x, degree, CHOICE.aim, degree)


@unit(I(A, A, F, I))
def sufficient_degree(levels, kappa, stretch, degree):
    """Return the lowest degree that suffices on an interval `stretch` times as long as one that was solved.

    Its coefficients are known; they need not fall as evenly as a fit has it.
    """
    rest, least = 0.0, degree
    for k in range(degree, 2, -1):
        rest = larger(rest * stretch, levels[k])
        if exp(kappa[k - 1]) * rest * stretch ** (k + 1) > exp(CHOICE.aim):
            return least
        least = k - 1
    return least
