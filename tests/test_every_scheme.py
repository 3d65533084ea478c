"""What holds for every scheme: orders through impacts, momentum, energy, determinism, files."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems
from saltus.schemes.traits import traits_of

FIXED = [
    sl.MoreauJean(),
    sl.PaoliVelocity(),
    sl.GeneralizedAlpha(),
    sl.SchatzmanPaoli(),
    sl.StepDoubling(sl.MoreauJean()),
    sl.Extrapolated(sl.MoreauJean()),
    sl.TDGMinus(1),
    sl.TDGMinus(3, "lobatto"),
    sl.TDGPlus(2),
    sl.HalfExplicitTDG(),
    sl.Splitting(),
    sl.Splitting("radau5", contact_forces=False),
]
LOCATED = [
    sl.AnyOrder("rk4"),
    sl.AnyOrder("radau3"),
    sl.HpTDG(degree=2),
]  # a grid too, but impacts are located between its points
EVERY = [*FIXED, *LOCATED, sl.EventDriven(), sl.HpTDG()]


def run(problem: sl.Problem, scheme, steps: int = 400) -> sl.Solution:
    """Run with so many steps, or with a tolerance for schemes that choose their own."""
    if traits_of(scheme).adaptive:
        return sl.solve(problem, scheme=scheme, tol=1e-9)
    return sl.solve(problem, scheme=scheme, h=problem.t_span[1] / steps)


def named(scheme) -> str:
    return scheme.name


@pytest.mark.parametrize("scheme", FIXED, ids=named)
def test_impacts_are_passed_with_order_one(scheme):
    problem, sizes = problems.impact_oscillator(t_end=8.0), (401, 1607, 6421)
    errors = []
    for size in sizes:
        grids = [size + 17 * k for k in range(6)]
        runs = [run(problem, scheme, n) for n in grids]
        errors.append(np.mean([np.mean(np.abs(sol.q - problem.exact.q(sol.t))) for sol in runs]))
    order = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert 0.7 <= order <= 1.3


@pytest.mark.parametrize("scheme", LOCATED, ids=named)
def test_located_impacts_are_passed_with_the_order_of_the_base(scheme):
    problem, grids = problems.impact_oscillator(t_end=8.0), [size + 17 * k for size in (83, 211) for k in range(6)]
    runs = [run(problem, scheme, n) for n in grids]
    errors = [np.mean(np.abs(sol.q - problem.exact.q(sol.t))) for sol in runs]
    order = scheme.degree + 2 if isinstance(scheme, sl.HpTDG) else scheme.order
    assert -np.polyfit(np.log(grids), np.log(errors), 1)[0] >= order - 0.25


@pytest.mark.parametrize("scheme", EVERY, ids=named)
def test_momentum_is_what_forces_and_contacts_give(scheme):
    sol = run(problems.zeno_ball(), scheme)
    gained = sol.v[:, 0] - sol.v[0, 0]
    given = -2.0 * sol.t + np.concatenate([[0.0], np.cumsum(sol.impulse[:, 0])])
    np.testing.assert_allclose(gained, given, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("scheme", EVERY, ids=named)
def test_impacts_without_forces_never_gain_energy_and_only_push(scheme):
    sol = run(problems.two_walls(), scheme)
    assert np.any(sol.events["kind"] == "impact")
    kinetic = sol.energy.kinetic
    before = kinetic[:-1]
    if isinstance(scheme, sl.SchatzmanPaoli):  # two positions make a velocity: an impact may take two steps
        before = np.maximum(before, np.concatenate([kinetic[:1], kinetic[:-2]]))
    assert np.all(kinetic[1:] <= before + 1e-12)
    assert np.all(sol.impulse >= 0.0)


@pytest.mark.parametrize("scheme", EVERY, ids=named)
def test_the_energy_ledger_closes_where_forces_depend_on_the_state(scheme):
    """What is wrong in a ledger is of the size of the energies themselves; errors of the integration are below."""
    sol = run(problems.impact_oscillator(t_end=8.0), scheme, 1600)
    assert np.max(np.abs(sol.energy.defect)) <= 1e-6 * np.max(sol.energy.kinetic)


@pytest.mark.parametrize("scheme", EVERY, ids=named)
def test_a_run_repeats_itself_bit_by_bit(scheme):
    first, second = (run(problems.impact_oscillator(t_end=8.0), scheme) for _ in range(2))
    np.testing.assert_array_equal(first.t, second.t)
    np.testing.assert_array_equal(first.v, second.v)
    np.testing.assert_array_equal(first.events, second.events)


@pytest.mark.parametrize("scheme", EVERY, ids=named)
def test_a_stored_run_answers_as_the_run_itself(scheme, tmp_path):
    sol = run(problems.zeno_ball(), scheme)
    sol.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    times = np.linspace(0.0, 4.0, 173)
    for side in ("+", "-"):
        np.testing.assert_array_equal(sol(times, side=side).q, loaded(times, side=side).q)
        np.testing.assert_array_equal(sol(times, side=side).v, loaded(times, side=side).v)
        np.testing.assert_array_equal(sol.impulse_at(times, side=side), loaded.impulse_at(times, side=side))


def test_every_scheme_of_the_library_is_in_the_list():
    assert {type(scheme).__name__ for scheme in EVERY} == set(sl.schemes.__all__)
