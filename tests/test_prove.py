"""Proofs between samples: needles on a road are met, and what stays below the motion is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import saltus as sl

PLACE, SPEED, HEIGHT = 6.123, 1.03, 0.5


def needle(width: float, top: float) -> sl.System:
    """A particle in free flight at HEIGHT towards a needle of Gaussian shape."""
    gap = sl.Contact(lambda q: q[1] - top * np.exp(-(((q[0] - PLACE) / width) ** 2)), e=0.5)
    return sl.System(M=1.0, f=[0.0, 0.0], contacts=[gap])


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
def test_a_needle_is_met_however_thin_it_is(width):
    for scheme in (sl.HpTDG(), sl.EventDriven()):
        sol = sl.solve(
            needle(width, 1.01), (0.0, 10.0), [0.0, HEIGHT], [SPEED, 0.0], scheme=scheme, tol=1e-8, progress=False
        )
        side = width * math.sqrt(math.log(1.01 / HEIGHT))
        assert sol.events["t"][0] == pytest.approx((PLACE - side) / SPEED, abs=1e-9)


def test_a_needle_that_stays_below_is_passed():
    sol = sl.solve(needle(1e-4, 0.499), (0.0, 10.0), [0.0, HEIGHT], [SPEED, 0.0], tol=1e-8, progress=False)
    assert len(sol.events) == 0
    assert sol.q[-1] == pytest.approx([10.0 * SPEED, HEIGHT], abs=1e-12)


def test_a_needle_in_time_is_met():
    """A wall that jumps forward for a tenth of a millisecond, once in ten seconds."""
    wall = sl.Contact(lambda t, q: q[0] - 2.0 * np.exp(-(((t - 3.3) / 1e-4) ** 2)), e=0.0)
    sol = sl.solve(sl.System(M=1.0, f=[0.0], contacts=[wall]), (0.0, 10.0), 1.0, 0.0, tol=1e-6, progress=False)
    assert sol.events["t"][0] == pytest.approx(3.3 - 1e-4 * math.sqrt(math.log(2.0)), abs=1e-9)
