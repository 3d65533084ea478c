"""Runge-Kutta methods as kernels see them: the steps of smooth motion of all schemes that are built on a table.

Explicit methods end with a stage at the end of the step (c = 1, row of A = b): its state is the result, and its
acceleration is that of the first stage of the next step. Methods without a dense output of their own take the cubic
through both ends with its slopes there. Implicit methods integrate the polynomial through the stage accelerations;
all of them are stiffly accurate, so that their last stage is the result too.
"""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np

from saltus.errors import SettingError
from saltus.flight.smooth_step import SMOOTH_STEP, packed_pair
from saltus.tables.runge_kutta import RungeKutta, rational, table
from saltus.tables.tableau import Tableau, lagrange, lagrange_integrals, node_places, packed

EXPLICIT_METHODS = ("heun", "kutta3", "rk4", "rkf45", "dopri5", "dop853")
IMPLICIT_METHODS = ("radau3", "radau5", "lobatto3a", "lobatto3c", "lobatto3c2")
ALL_METHODS = (*EXPLICIT_METHODS, *IMPLICIT_METHODS)
OWN_FORM = ("dopri5", "dop853", "radau5")  # those that `packed_pair` knows


@functools.cache
def packed_method(name: str) -> np.ndarray:
    """Return a method in the form of `packed_pair`; without an error estimate its weights are zero.

    Numbers: all stages, those of the step, order of the error estimate (the order of the method if there is none). Then
    per stage: node; matrix A; two error estimates; for every node of the polynomial the weights of the dense output
    and of its slope.
    """
    if name not in ALL_METHODS:
        raise SettingError(f"{name!r} is no Runge-Kutta method: it must be one of {', '.join(map(repr, ALL_METHODS))}")
    if name in OWN_FORM:
        return packed_pair(name)
    return _implicit(table(name)) if name in IMPLICIT_METHODS else _explicit(name)


def _explicit(name: str) -> np.ndarray:
    """Return an explicit method whose table keeps the stage at its end apart; exact numbers are rounded once."""
    exact = rational(name)
    stages = len(exact.b)
    total = stages + 1
    c = np.append(exact.c, exact.c_extra)
    A = np.zeros((total, total), dtype=object)
    A[:stages, :stages] = exact.A
    A[stages] = exact.A_extra[0]
    errors = np.zeros((2, total), dtype=object)
    estimated = name == "rkf45"
    if estimated:
        errors[0, :stages] = exact.error[0]
    weights, slopes = np.zeros((SMOOTH_STEP.nodes, total)), np.zeros((SMOOTH_STEP.nodes, total))
    for j, place in enumerate(node_places(SMOOTH_STEP.nodes - 1, "lobatto")):
        s = Fraction(float(place))
        for k, row in enumerate(exact.dense):
            weights[j, k] = float(sum(x * s ** (i + 1) for i, x in enumerate(row)))
            slopes[j, k] = float(sum((i + 1) * x * s**i for i, x in enumerate(row)))
    order = exact.error_order[0] + 1 if estimated else exact.order
    parts = [[total, total, order], c, A.ravel(), errors.ravel(), weights.ravel(), slopes.ravel()]
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


def _implicit(method: RungeKutta) -> np.ndarray:
    """Return an implicit method; its dense output integrates the polynomial through the stages."""
    total, places = len(method.c), node_places(SMOOTH_STEP.nodes - 1, "lobatto")
    weights, slopes = lagrange_integrals(method.c, places), lagrange(method.c, places)
    head = [total, total, method.order]
    return np.concatenate([head, method.c, method.A.ravel(), np.zeros(2 * total), weights.ravel(), slopes.ravel()])


@functools.cache
def packed_implicit(name: str) -> np.ndarray:
    """Return an implicit method as `solve_interval` sees it; stages that are the state itself are no unknowns."""
    if name not in IMPLICIT_METHODS:
        raise SettingError(
            f"{name!r} is no implicit method: it must be one of {', '.join(map(repr, IMPLICIT_METHODS))}"
        )
    method = table(name)
    stages = len(method.c)
    known = not np.any(method.A[0])
    family = "-" if known else "+"
    unknown = (1 if known else 0, stages)
    return packed(Tableau(stages - 1, family, method.c, method.b, method.A, method.A, np.zeros(stages), unknown))
