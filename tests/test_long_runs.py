"""Long runs: time is summed without rounding, weights are right to the last bit, impacts do not depend on the clock."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import saltus as sl
from saltus.tables.tableau import exact_integrals, node_places, tableau

OMEGA, WALL, V0 = 2.3, 0.5, 3.1
PERIOD = 2.0 * np.arctan2(V0 / OMEGA, -WALL) / OMEGA


def elastic() -> sl.System:
    """An oscillator that flies from its wall back to its wall, in PERIOD, again and again."""
    wall = sl.Contact(lambda q: q[0] + WALL, e=1.0, name="wall")
    return sl.System(M=1.0, f=lambda t, q, v: [-(OMEGA**2) * q[0]], contacts=[wall])


def bounces(n: int, t0: float = 0.0, **options) -> sl.Solution:
    return sl.solve(elastic(), (t0, t0 + PERIOD * (n - 0.5)), -WALL, V0, progress=False, **options)


def test_two_thousand_elastic_impacts_neither_gain_nor_lose():
    sol = bounces(2000, tol=1e-10)
    impacts = sol.events[sol.events["kind"] == "impact"]
    assert len(impacts) == 1999
    # a bias of a tenth of the last bit per impact would show: 2000 * 0.1 * 4.4e-16
    assert abs(impacts["u_plus"][-1, 0] - V0) < 1e-13
    late = impacts["t"] - PERIOD * np.arange(1, 2000)
    assert np.abs(late).max() < 2e-11


def test_the_promise_holds_over_two_thousand_elastic_impacts():
    sol, tol = bounces(2000, tol=1e-10), 1e-10
    t = np.random.default_rng(0).uniform(0.0, sol.t[-1], 5000)
    x = t - np.floor(t / PERIOD) * PERIOD
    v = WALL * OMEGA * np.sin(OMEGA * x) + V0 * np.cos(OMEGA * x)
    assert np.abs(sol(t).v[:, 0] - v).mean() < tol * (1.0 + V0)


@pytest.mark.parametrize("scheme", (sl.HpTDG(), sl.EventDriven()), ids=lambda scheme: scheme.name)
def test_impacts_are_as_exact_late_as_they_are_early(scheme):
    early, late = (bounces(60, t0, scheme=scheme, tol=1e-10) for t0 in (0.0, 1e6))
    assert len(early.events) == len(late.events) == 59
    np.testing.assert_allclose(late.events["u_plus"][:, 0], early.events["u_plus"][:, 0], rtol=0.0, atol=1e-10)
    assert late.violation.max() < 1e-12  # a rounding of the clock is 1e-10 s there
    # a step that ends where the impact is, by chance, is followed by one that the clock cannot show: three roundings
    np.testing.assert_allclose(late.events["t"] - 1e6, early.events["t"], rtol=0.0, atol=4.0 * np.spacing(1e6))


def test_steps_that_the_clock_cannot_show_are_summed():
    # 0.1 is no sum of binary fractions: plain addition of many of them drifts away from the product
    def force(q):
        return [-q[0]]

    sol = sl.solve(sl.System(M=1.0, f=force), (1e6, 1e6 + 2000.0), 1.0, 0.0, tol=1e-9)
    assert np.all(np.diff(sol.t) > 0.0)
    np.testing.assert_allclose(sol.q[-1, 0], np.cos(2000.0), rtol=0.0, atol=1e-6)


def test_a_resumed_run_has_the_same_clock(tmp_path):
    whole = bounces(300, tol=1e-9)
    with pytest.raises(sl.LimitError):
        bounces(300, tol=1e-9, max_steps=123, checkpoint=tmp_path / "run.h5")
    rest = sl.resume(tmp_path / "run.h5", elastic())
    np.testing.assert_array_equal(rest.t, whole.t)
    np.testing.assert_array_equal(rest.v, whole.v)
    np.testing.assert_array_equal(rest.events, whole.events)


# ---- weights


def rational_integrals(c: np.ndarray, s: float) -> list[Fraction]:
    """Return the integrals from 0 to s of the Lagrange polynomials of floating-point nodes, exactly."""
    nodes, made = [Fraction(x) for x in c], []
    for k, here in enumerate(nodes):
        coefficients = [Fraction(1)]
        for j, other in enumerate(nodes):
            if j != k:
                scale = 1 / (here - other)
                shifted = [Fraction(0), *coefficients]
                coefficients = [
                    scale * (a - other * b) for a, b in zip(shifted, [*coefficients, Fraction(0)], strict=True)
                ]
        made.append(sum(a * Fraction(s) ** (i + 1) / (i + 1) for i, a in enumerate(coefficients)))
    return made


@pytest.mark.parametrize("nodes", ["lobatto", "clenshaw-curtis"])
@pytest.mark.parametrize("degree", [1, 2, 5, 9, 14])
def test_weights_are_right_to_the_last_bit(degree, nodes):
    c = node_places(degree, nodes)
    made = exact_integrals(c, c)
    for i in range(degree + 1):
        exact = rational_integrals(c, float(c[i]))
        for k in range(degree + 1):
            # half a bit of the number, or what is left of a sum that cancels
            assert abs(Fraction(made[i, k]) - exact[k]) <= Fraction(0.51 * np.spacing(abs(made[i, k])) + 1e-30)


@pytest.mark.parametrize("degree", [3, 8, 14])
def test_tables_integrate_their_polynomials_without_bias(degree):
    made = tableau(degree, "-", "lobatto")
    for power in range(degree + 1):
        total = sum(Fraction(b) * Fraction(c) ** power for b, c in zip(made.b, made.c, strict=True))
        assert abs(total - Fraction(1, power + 1)) < 1e-16


def test_event_driven_says_that_it_does_not_control_a_run_of_many_impacts():
    many, few = (bounces(n, tol=1e-7, scheme=sl.EventDriven()).message for n in (150, 50))
    assert "over 149 impacts errors may have added up" in many and "added up" not in few
    assert "added up" not in bounces(150, tol=1e-7).message  # HpTDG controls them
