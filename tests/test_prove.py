"""Proofs between samples: needles on a road are met, and what stays below the motion is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import saltus as sl
from saltus.build.model import compile_model

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


# speed [m/s], span [s], direction and way [m] to a peg: the first eight were flown through by chance
FLIGHTS = [
    (300.0, 20.0, 2.896, 1220.77), (30.0, 20.0, 2.545, 353.116), (300.0, 20.0, 1.472, 944.8),
    (30.0, 200.0, 0.425, 4030.927), (30.0, 200.0, 3.287, 935.126), (300.0, 200.0, 4.351, 9719.674),
    (30.0, 200.0, 3.812, 985.501), (30.0, 20.0, 5.694, 176.79), (1.0, 200.0, 0.7, 151.3), (1.0, 20.0, 5.1, 3.21),
]  # fmt: skip


@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
def test_a_peg_far_away_is_met_where_it_is_larger_than_the_promise(scheme, tol):
    for speed, span, direction, way in FLIGHTS:
        allowed = (30.0 if isinstance(scheme, sl.EventDriven) else 1.0) * tol * (1.0 + max(way, speed))
        radius = 10.0 * allowed
        along = np.array([math.cos(direction), math.sin(direction)])
        x, y = (way + 2.0 * radius) * along + 0.6 * radius * np.array([-along[1], along[0]])
        peg = sl.Contact(lambda q, x=x, y=y, radius=radius: np.hypot(q[0] - x, q[1] - y) - radius)
        system = sl.System(M=1.0, f=[0.0, 0.0], contacts=[peg])
        sol = sl.solve(system, (0.0, span), [0.0, 0.0], speed * along, scheme=scheme, tol=tol, progress=False)
        assert len(sol.events), f"flown through at {speed} m/s after {way} m"
        assert sol.events["t"][0] * speed == pytest.approx(way + 1.2 * radius, abs=3.0 * allowed)


def test_a_needle_that_stays_below_is_passed():
    sol = sl.solve(needle(1e-4, 0.499), (0.0, 10.0), [0.0, HEIGHT], [SPEED, 0.0], tol=1e-8, progress=False)
    assert len(sol.events) == 0
    assert sol.q[-1] == pytest.approx([10.0 * SPEED, HEIGHT], abs=1e-12)


def test_a_needle_in_time_is_met():
    """A wall that jumps forward for a tenth of a millisecond, once in ten seconds."""
    wall = sl.Contact(lambda t, q: q[0] - 2.0 * np.exp(-(((t - 3.3) / 1e-4) ** 2)), e=0.0)
    sol = sl.solve(sl.System(M=1.0, f=[0.0], contacts=[wall]), (0.0, 10.0), 1.0, 0.0, tol=1e-6, progress=False)
    assert sol.events["t"][0] == pytest.approx(3.3 - 1e-4 * math.sqrt(math.log(2.0)), abs=1e-9)


def test_a_search_inside_of_a_gap_is_sampled_and_the_gap_beside_it_is_proven():
    def needle(q):
        return q[0] + 0.5 - 0.6 * np.exp(-(((q[1] - 0.37) / 1e-5) ** 2))

    def searched(q):
        psi = 0.3
        for _ in range(4):
            less, here, more = (np.sin(psi + d) * q[0] + np.cos(psi + d) * 2.0 for d in (-1e-3, 0.0, 1e-3))
            psi = psi - 0.5e-3 * (more - less) / (more - 2.0 * here + less)
        return np.sin(psi) * q[0] + np.cos(psi) * 2.0 - 1.0

    contacts = [sl.Contact(searched, name="search"), sl.Contact(needle, name="needle", e=0.0)]
    system = sl.System(M=[1.0, 1.0], f=[0.0, 0.0], contacts=contacts)
    model = compile_model(system, 0.0, np.zeros(2), np.array([0.0, 1.0]))
    assert 0 < int(model.layout.tape_size) < 600  # without the nodes of the search
    run = sl.solve(system, (0.0, 1.0), [0.0, 0.0], [0.0, 1.0], tol=1e-6)
    assert len(run.events.of("needle"))  # seen, although samples pass over it
