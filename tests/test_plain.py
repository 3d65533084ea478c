"""Every scheme against a plain numpy version of its source (tests/plain), step by step over 200 steps."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from plain import (
    event_driven,
    galerkin,
    generalized_alpha,
    half_explicit,
    moreau_jean,
    paoli,
    schatzman_paoli,
    splitting,
    step_doubling,
)
from plain.model import SPEED, START, Model, Sliding

AGREE = 1e-11  # in every row: rounding of 200 steps and what the Newton iterations of the library leave
STEPS, H = 200, 0.01


def problem(model: Model) -> sl.Problem:
    """Return the model as the library sees it; W and its derivatives are derived."""
    contacts = [
        sl.Contact(
            lambda q, c=c: model.g(q)[c],
            e=model.e[c],
            mu=model.mu[c],
            slip=(lambda t, q, v, c=c: [model.slip(q, v)[c]]) if model.mu[c] > 0.0 else None,
            name=name,
        )
        for c, name in enumerate(("floor", "wall"))
    ]
    return sl.Problem(sl.System(M=model.M, f=model.f, contacts=contacts), (0.0, STEPS * H), model.start, model.speed)


def agree(model: Model, scheme, rows: np.ndarray) -> None:
    """Compare a run with the rows of a plain one; impacts must have struck both contacts."""
    sol = sl.solve(problem(model), scheme=scheme, h=H)
    assert len(np.unique(sol.events["contact"][sol.events["kind"] == "impact"])) == 2
    difference = np.abs(np.column_stack([sol.t, sol.q, sol.v]) - rows)
    assert difference.max() <= AGREE, f"parted in row {np.argmax(difference.max(axis=1) > AGREE)}"


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("at", ["theta", "end", "both"])
def test_moreau_jean_is_that_of_its_sources(theta, at):
    model = Model()
    rows = moreau_jean.run(model, 0.0, START, SPEED, H, STEPS, theta=theta, at=at)
    agree(model, sl.MoreauJean(theta=theta, at=at, newton_tolerance=1e-14), rows)


def test_paolis_scheme_is_that_of_its_source():
    model = Model()
    agree(model, sl.PaoliVelocity(newton_tolerance=1e-14), paoli.run(model, 0.0, START, SPEED, H, STEPS))


def test_paolis_projection_is_his_scheme_with_one_restitution():
    model = Model(rough=False)
    model.e = np.array([0.5, 0.5])
    rows = paoli.run_of_the_source(model, 0.0, START, SPEED, H, STEPS)
    agree(model, sl.PaoliVelocity(newton_tolerance=1e-14), rows)


@pytest.mark.parametrize("theta", [0.0, 0.5])
@pytest.mark.parametrize("lagging", [False, True])
def test_schatzman_paoli_is_that_of_the_lecture(theta, lagging):
    model = Model(rough=False)
    rows = schatzman_paoli.run(model, 0.0, START, SPEED, H, STEPS, theta=theta, lagging=lagging)
    agree(model, sl.SchatzmanPaoli(theta, lagging_velocity=lagging, newton_tolerance=1e-16), rows)


SOURCE = {"activation": "stage", "projection": False, "split": False}


# bounces that go on: a body that comes to rest inside of a curved wall has stages without a lawful force
BOUNCING = (0.9, 0.8)


@pytest.mark.parametrize(
    "degree, impact", [*((degree, "left") for degree in range(5)), *((degree, "previous") for degree in range(3))]
)
@pytest.mark.parametrize("scheme", [sl.TDGMinus, sl.TDGPlus], ids=["minus", "plus"])
def test_time_discontinuous_galerkin_is_that_of_the_source(scheme, degree, impact):
    model = Model(e=BOUNCING)
    rows = galerkin.run(model, 0.0, START, SPEED, H, STEPS, degree, scheme.family, impact)
    agree(model, scheme(degree, impact=impact, **SOURCE), rows)


@pytest.mark.parametrize("degree", [1, 2], ids=str)
@pytest.mark.parametrize("scheme", [sl.TDGMinus, sl.TDGPlus], ids=["minus", "plus"])
def test_contact_forces_at_the_stages_are_those_of_the_source(scheme, degree):
    model = Sliding()
    rows = galerkin.run(model, 0.0, model.start, model.speed, H, STEPS, degree, scheme.family)
    agree(model, scheme(degree, impact="left", **SOURCE), rows)
    assert np.abs(rows[:, 2]).max() <= AGREE
    assert rows[:, 3].min() < -1.0


@pytest.mark.parametrize("scheme", [sl.TDGMinus, sl.TDGPlus], ids=["minus", "plus"])
def test_lists_of_degrees_give_every_interval_its_own(scheme):
    model, degrees = Model(e=BOUNCING), [(0, 3, 1, 4, 2)[k % 5] for k in range(STEPS)]
    rows = galerkin.run(model, 0.0, START, SPEED, H, STEPS, degrees, scheme.family)
    agree(model, scheme(degrees, impact="left", **SOURCE), rows)


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_generalized_alpha_is_its_equations(rho):
    model = Model()
    rows = generalized_alpha.run(model, 0.0, START, SPEED, H, STEPS, rho=rho)
    agree(model, sl.GeneralizedAlpha(rho, newton_tolerance=1e-14), rows)


def test_the_half_explicit_scheme_is_its_equations():
    model = Model()
    rows = half_explicit.run(model, 0.0, START, SPEED, H, STEPS)
    agree(model, sl.HalfExplicitTDG(impact="left", projection=False), rows)


def test_splitting_without_contact_forces_is_that_of_the_lecture():
    model = Model()
    rows = splitting.run(model, 0.0, START, SPEED, H, STEPS)
    agree(model, sl.Splitting(contact_forces=False, impact="left", projection=False), rows)


@pytest.fixture(scope="module")
def located() -> dict[str, tuple[Model, np.ndarray]]:
    """Return runs with located events: bounces on both curved contacts, and a slide on the floor against the wall."""
    times = 2.0 * H * np.arange(STEPS // 2 + 1)
    models = {"bouncing": Model(e=BOUNCING), "sliding": Sliding()}
    return {name: (model, event_driven.run(model, model.start, model.speed, times)) for name, model in models.items()}


@pytest.mark.parametrize("name", ["bouncing", "sliding"])
@pytest.mark.parametrize(
    "scheme",
    [sl.EventDriven(), sl.EventDriven(method="radau5"), sl.HpTDG(), sl.AnyOrder("dop853"), sl.Splitting("dop853")],
    ids=["event-driven", "radau5", "hp", "any order", "splitting"],
)
def test_located_events_are_those_of_the_lecture(scheme, name, located):
    model, rows = located[name]
    sol = sl.solve(problem(model), scheme=scheme, tol=1e-13)
    assert len(np.unique(sol.events["contact"][sol.events["kind"] == "impact"])) == 2
    there = sol(rows[:, 0])
    assert np.abs(np.column_stack([there.q, there.v]) - rows[:, 1:]).max() <= AGREE


def test_step_doubling_is_that_of_the_lecture():
    model = Model()
    rows, errors = step_doubling.run(model, 0.0, START, SPEED, H, STEPS)
    scheme = sl.StepDoubling(sl.MoreauJean(newton_tolerance=1e-14), 1, rtol=1e-4, atol=1e-4)
    agree(model, scheme, rows)
    sol = sl.solve(problem(model), scheme=scheme, h=H)
    np.testing.assert_allclose(sol.step_error, errors, rtol=0.0, atol=1e-6)
