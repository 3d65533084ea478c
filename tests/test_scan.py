"""Scanning dense output: gaps and event functions that are fast functions of a slow motion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import saltus as sl
from saltus.build.model import compile_model
from saltus.compile.seam import interpreted
from saltus.flight import scan
from saltus.flight.scan import first_closing, first_switch
from saltus.lasting.index_set import INDEX
from saltus.tables.polynomial import NONE
from saltus.tables.tableau import lagrange, node_places

N = 13
C = node_places(N - 1, "lobatto")
WEIGHTS = scan.with_factors(lagrange(C, np.linspace(0.0, 1.0, scan.SCAN.samples + 1)), C)
H = 1.7  # [s]
SLACK = 1e-12  # [m]


# a particle at (x, y) above two wavy walls; what differs from wall to wall are further coordinates, which do not move
def low_wall(q):
    return q[1] - q[4] * np.sin(q[2] * q[0] + q[3]) - 0.2 * q[4] * np.sin(1.7 * q[2] * q[0] + 0.4)


def high_wall(q):
    return q[1] + 0.1 - q[4] * np.cos(0.6 * q[2] * q[0])


def wave(q):
    return np.sin(q[2] * q[0] + q[3]) + 0.4 * np.sin(0.77 * q[2] * q[0]) - q[1]


SYSTEM = sl.System(np.ones(5), np.zeros(5), contacts=[sl.Contact(low_wall), sl.Contact(high_wall)])
EVENTS = (sl.Event(wave, direction=-1), sl.Event(wave, direction=1))


@pytest.fixture(scope="module")
def model():
    return compile_model(SYSTEM, 0.0, np.ones(5), np.zeros(5), EVENTS).units


class Motion:
    """x and y as polynomials of the place, of degrees up to 12, with wave number, phase and amplitude of the walls."""

    def __init__(self, rng: np.random.Generator, fastest: float, height: float):
        degree = rng.integers(1, N)
        self.x = np.polynomial.Chebyshev(rng.normal(size=degree + 1) * 0.6 ** np.arange(degree + 1), domain=[0.0, 1.0])
        self.y = np.polynomial.Chebyshev(0.05 * rng.normal(size=3), domain=[0.0, 1.0]) + height
        self.constants = [10.0 ** rng.uniform(0.0, math.log10(fastest)), rng.uniform(0.0, 6.0), rng.uniform(0.3, 1.0)]

    def q(self, s):
        return [self.x(s), self.y(s), *self.constants]

    def nodes(self):
        Q, V = np.zeros((N, 5)), np.zeros((N, 5))
        Q[:, 0], Q[:, 1], Q[:, 2:] = self.x(C), self.y(C), self.constants
        V[:, 0], V[:, 1] = self.x.deriv()(C) / H, self.y.deriv()(C) / H
        return Q.ravel(), V.ravel()


def scanned(model, motion, index=(INDEX.open, INDEX.open), slack=SLACK):
    found, work = np.zeros(4, dtype=np.int64), np.zeros(scan.scan_work(model.layout, N))
    place = first_closing(model, C, WEIGHTS, 0.3, H, *motion.nodes(), np.array(index), slack, found, work)
    return place, int(found[0])


def switched(model, motion, fired=(0.0, 0.0), limit=1.0):
    found, work = np.zeros(4, dtype=np.int64), np.zeros(scan.scan_work(model.layout, N))
    place = first_switch(model, C, WEIGHTS, 0.3, H, *motion.nodes(), np.array(fired), limit, found, work)
    return place, int(found[0])


DENSE = np.linspace(0.0, 1.0, 100_001)


def first_below(function, depth: float) -> float:
    """Return the first place of dense samples at which a function is below -depth, or NONE."""
    low = np.flatnonzero(function(DENSE) < -depth)
    return DENSE[low[0]] if len(low) else NONE


def assert_falls_through_zero(function, place: float, within: float = 1e-12):
    """Check that a function changes its sign near a place, or within rounding of its values."""
    rounding = 1e-12
    assert function(place - within) >= -rounding and function(place + within) <= rounding


@pytest.mark.parametrize("height", [0.5, 0.75, 1.0])
def test_no_closing_of_a_fast_gap_is_missed(model, height):
    rng = np.random.default_rng(7)
    closings = 0
    for _ in range(150):
        motion = Motion(rng, 1000.0, height)
        gaps = [lambda s: low_wall(motion.q(s)), lambda s: high_wall(motion.q(s))]  # noqa: B023
        if min(g(0.0) for g in gaps) <= 0.0:
            continue
        place, which = scanned(model, motion)
        dense = [first_below(g, SLACK) for g in gaps]
        assert place <= min(dense)
        if place == NONE:
            continue
        closings += 1
        assert_falls_through_zero(gaps[which], place, scan.SCAN.located)
        i = math.floor(min(dense) * 1e5 + 0.5)
        if dense[which] == min(dense) < NONE and gaps[which](DENSE[i - 1]) > 0.0 and place >= DENSE[i - 1]:
            exact = brentq(gaps[which], DENSE[i - 1], DENSE[i], xtol=1e-15)
            slope = abs(gaps[which](exact + 1e-7) - gaps[which](exact - 1e-7)) / 2e-7
            assert abs(place - exact) <= scan.SCAN.located + 1e-12 / slope
    assert closings > 15


def test_held_contacts_do_not_matter_for_the_others(model):
    rng = np.random.default_rng(8)
    for _ in range(40):
        motion = Motion(rng, 300.0, 1.0)
        g = lambda s: high_wall(motion.q(s))  # noqa: B023, E731
        if g(0.0) <= 0.0:
            continue
        place, which = scanned(model, motion, index=(INDEX.slip, INDEX.open))
        assert place <= first_below(g, SLACK)
        if place < NONE:
            assert which == 1
            assert_falls_through_zero(g, place)
        assert scanned(model, motion, index=(INDEX.slip, INDEX.slip))[0] == NONE


def test_a_fast_gap_that_begins_at_zero_is_followed_to_its_next_closing(model):
    # uniform motion; it leaves a crest: the wall falls away from it and comes back one wave later
    class Uniform(Motion):
        def __init__(self, k, rise):
            self.x = np.polynomial.Chebyshev([0.5, 0.5], domain=[0.0, 1.0])
            self.y = np.polynomial.Polynomial([0.0, rise])
            self.constants = [k, 0.3, 0.5]
            self.y = self.y - low_wall(self.q(0.0))

    for k in (3.0, 40.0, 500.0, 3000.0):
        for rise in (-0.05, 0.0, 0.3):
            motion = Uniform(k, rise * k)
            g = lambda s: low_wall(motion.q(s))  # noqa: B023, E731
            steps = DENSE * min(1.0, 20.0 / k)
            values = g(steps)
            if values[1] <= 0.0:
                continue
            low = np.flatnonzero(values < -1e-11)
            place, _ = scanned(model, motion, index=(INDEX.open, INDEX.slip), slack=1e-11)
            if len(low):
                exact = brentq(g, steps[low[0] - 1], steps[low[0]], xtol=1e-16)
                assert abs(place - exact) <= 1e-12


def test_no_crossing_of_a_fast_event_function_is_missed(model):
    rng = np.random.default_rng(9)
    crossings = 0
    for height in (0.0, 1.0, 1.35) * 60:
        motion = Motion(rng, 1000.0, height)
        f = lambda s: wave(motion.q(s))  # noqa: B023, E731
        values = f(DENSE)
        change = np.flatnonzero(values[:-1] * values[1:] < 0.0)
        limit = rng.choice([1.0, rng.uniform(0.2, 1.0)])
        place, which = switched(model, motion, limit=limit)
        assert place <= limit or place == NONE
        if len(change) and DENSE[change[0] + 1] <= limit:
            assert place <= DENSE[change[0] + 1]
        if place < NONE:
            crossings += 1
            sign = 1.0 if which == 0 else -1.0
            assert_falls_through_zero(lambda s: sign * f(s), place)  # noqa: B023
            if len(change) and place >= DENSE[change[0]]:
                exact = brentq(f, DENSE[change[0]], DENSE[change[0] + 1], xtol=1e-15)
                slope = abs(f(exact + 1e-7) - f(exact - 1e-7)) / 2e-7
                assert abs(place - exact) <= scan.SCAN.located + 1e-12 / slope
    assert crossings > 80


def test_every_zero_of_a_fast_event_function_is_found_one_after_the_other(model):
    # each scan begins where the last one ended, as a run does; samples may fall together with the waves or not
    rng = np.random.default_rng(10)
    for k in (30.0, 300.0, 32.0 * math.pi, 320.0 * math.pi):
        motion = Motion(rng, 10.0, 0.0)
        motion.constants = [k, 0.3, 0.5]
        motion.y = np.polynomial.Polynomial([0.2])
        begin, fired, count = 0.0, [0.0, 0.0], 0
        while begin < 1.0:
            motion.x = np.polynomial.Polynomial([begin, 1.0 - begin])
            place, which = switched(model, motion, fired)
            if place == NONE:
                break
            begin += place * (1.0 - begin)
            fired = [1.0, 1.0]
            assert which == count % 2 if wave([0.0, 0.2, k, 0.3]) > 0.0 else which != count % 2
            count += 1
        places = np.linspace(0.0, 1.0, 1_000_001)
        values = wave([places, 0.2, k, 0.3])
        assert count == np.count_nonzero(values[:-1] * values[1:] < 0.0)


def test_waves_that_fall_together_with_the_samples_are_seen(model):
    # every sample sees the same height and no rate
    for waves in (scan.SCAN.samples, 2 * scan.SCAN.samples, 5 * scan.SCAN.samples):
        motion = Motion(np.random.default_rng(1), 10.0, 0.0)
        motion.x = np.polynomial.Polynomial([0.0, 1.0])
        motion.y = np.polynomial.Polynomial([0.1])
        motion.constants = [2.0 * math.pi * waves / 0.6, 0.0, -0.5]
        place, _ = scanned(model, motion, index=(INDEX.slip, INDEX.open))
        assert abs(place - math.acos(-0.4) / (2.0 * math.pi * waves)) <= 1e-12


def test_a_smooth_scan_takes_few_evaluations():
    flat = sl.System(1.0, 0.0, contacts=[sl.Contact(lambda t, q: q[0] - 0.1 * np.sin(t), name="table")])
    plain = compile_model(flat, 0.0, np.ones(1), np.zeros(1)).interpreted()
    calls = []

    def counted(t, q, par, g):
        calls.append(t)
        return plain.gap(t, q, par, g)

    counting = plain._replace(gap=counted)
    found, work = np.zeros(4, dtype=np.int64), np.zeros(scan.scan_work(plain.layout, N))
    for launch in (0.5, 2.0, 9.0):  # flights that leave the table and do not come back within the step
        motion = np.polynomial.Polynomial([0.0, launch, -0.25 * launch])
        Q, V = motion(C), motion.deriv()(C)
        calls.clear()
        place = interpreted(first_closing)(
            counting, C, WEIGHTS, 0.0, 1.0, Q, V, np.array([INDEX.open]), SLACK, found, work
        )
        assert place == NONE
        assert len(calls) <= scan.SCAN.samples + 3
