"""Thresholds that follow from the promise: slow, low, heavy and long motions, other units, `scale`."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import saltus as sl
from saltus.errors import SettingError

NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
OVER = 1e-10  # of the first impact: bounces that slow are over


@dataclasses.dataclass(frozen=True)
class Bounce:
    """One contact with a linear gap W q under constant forces: the gap bounces like a ball, the rest follows from it.

    With m = 1 / (W M^-1 W) and p = -W M^-1 f the impulse is i = m (u - u_0 + p t), and M (v - v_0) = f t + W i.
    """

    mass: tuple[float, ...]
    force: tuple[float, ...]
    W: tuple[float, ...]
    e: float
    q: tuple[float, ...]
    v: tuple[float, ...]

    def system(self) -> sl.System:
        row = self.W
        gap = sl.Contact(lambda q: sum(x * q[i] for i, x in enumerate(row)), e=self.e)
        return sl.System(M=np.diag(self.mass), f=np.array(self.force), contacts=[gap])

    def impacts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return times and speeds after the impacts until nobody sees them, the last with speed 0."""
        W, p = np.array(self.W), self.pressed
        g, u = W @ self.q, W @ self.v
        times, speeds = [(u + np.sqrt(u * u + 2.0 * p * g)) / p], [self.e * np.sqrt(u * u + 2.0 * p * g)]
        while speeds[-1] > OVER * speeds[0]:
            times.append(times[-1] + 2.0 * speeds[-1] / p)
            speeds.append(self.e * speeds[-1])
        return np.array(times), np.array([*speeds[:-1], 0.0])

    @property
    def pressed(self) -> float:
        return -float(np.array(self.W) @ (np.array(self.force) / np.array(self.mass)))

    def __call__(self, t: np.ndarray):
        """Return q, v and the impulse."""
        M, W, f = np.array(self.mass), np.array(self.W), np.array(self.force)
        q_0, v_0, p, m = np.array(self.q), np.array(self.v), self.pressed, 1.0 / float(np.sum(W * W / M))
        times, speeds = self.impacts()
        k = np.searchsorted(times, t, side="right") - 1
        s = t - np.where(k < 0, 0.0, times[k])
        u = np.where(k < 0, W @ v_0, speeds[k])
        rests = k == len(times) - 1
        gap = np.where(rests, 0.0, np.where(k < 0, W @ q_0, 0.0) + u * s - 0.5 * p * s * s)
        rate = np.where(rests, 0.0, u - p * s)
        i = m * (rate - W @ v_0 + p * t)
        if len(W) == 1:
            return gap[:, None] / W, rate[:, None] / W, i[:, None]
        sums = m * (gap - W @ q_0 - W @ v_0 * t + 0.5 * p * t * t)
        v = v_0 + (f * t[:, None] + W * i[:, None]) / M
        q = q_0 + v_0 * t[:, None] + (0.5 * f * t[:, None] ** 2 + W * sums[:, None]) / M
        return q, v, i[:, None]


def ratios(exact: Bounce, tol: float, *, longer: float = 1.2, scheme=None) -> dict[str, float]:
    """Return the mean errors of q, v and i over tol (1 + size)."""
    times, _ = exact.impacts()
    end = float(times[-1]) * longer
    sol = sl.solve(exact.system(), (0.0, end), exact.q, exact.v, scheme=scheme, tol=tol)
    borders = np.unique(np.concatenate([times, sol.t, np.linspace(0.0, end, 100)]))
    h = np.diff(borders)
    t, w = (borders[:-1, None] + 0.5 * h[:, None] * (NODES + 1.0)).ravel(), (0.5 * h[:, None] * WEIGHTS).ravel() / end
    state, made = sol(t), {}
    found = state.q, state.v, np.asarray(sol.impulse_at(t)).reshape(len(t), -1)
    for name, value, x in zip("qvi", found, exact(t), strict=True):
        error = np.linalg.norm(value - x, axis=1)
        made[name] = float(w @ error) / (tol * (1.0 + np.linalg.norm(x, axis=1).max()))
    return made


def ball(gravity: float, e: float, height: float, mass: float = 1.5) -> Bounce:
    return Bounce((mass,), (-mass * gravity,), (1.0,), e, (height,), (0.0,))


LEVER = Bounce((2.0, 3e-3), (-2.0 * 9.81, 0.0), (1.0, 0.05), 0.6, (0.02, 0.1), (0.0, -0.2))
SLOW = {
    "asteroid lander": ball(8.6e-5, 0.6, 0.01),
    "drop of a tenth of a millimetre": ball(9.81, 0.8, 1e-4),
    "kilometres and milliseconds": ball(9.81e-9, 0.8, 1e-3),
    "kilometres and hours": ball(9.81e-3 * 3600.0**2, 0.8, 1e-7, mass=1.5e-3),
    "micrometres and microseconds": ball(9.81e-6, 0.8, 100.0, mass=1.5e9),
    "heavy ball": ball(9.81, 0.7, 0.01, mass=1e6),
    "centrifuge": ball(1e6, 0.5, 1e-6),
    "lever": LEVER,
    "lever in millimetres and milliseconds": Bounce(
        (2e3, 3e3), (-2e3 * 9.81e-3, 0.0), (1.0, 50.0), 0.6, (20.0, 0.1), (0.0, -0.2e-3)
    ),
}


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
def test_slow_accumulations_keep_the_promise(name, tol):
    found = ratios(SLOW[name], tol)
    assert max(found.values()) <= 1.0, found


@pytest.mark.parametrize("name", ["asteroid lander", "kilometres and hours", "lever"])
def test_event_driven_steps_follow_slow_accumulations_as_well(name):
    found = ratios(SLOW[name], 1e-7, scheme=sl.EventDriven())
    assert max(found.values()) <= 30.0, found


def test_an_hour_of_rest_behind_the_bounces_does_not_drift():
    found = ratios(ball(9.81, 0.8, 1e-3), 1e-10, longer=3e4)
    assert max(found.values()) <= 1.0, found


def test_a_very_slow_approach_bounces_where_it_would_go_far():
    free = sl.System(M=1.0, f=0.0, contacts=[sl.Contact(lambda q: q[0], e=0.5)])
    u, end, tol = 1e-7, 1e4, 1e-6
    sol = sl.solve(free, (0.0, end), u * end / 4.0, -u, tol=tol)
    assert sol.events["kind"].tolist() == ["impact"]
    np.testing.assert_allclose(sol.q[-1, 0], 0.5 * u * 0.75 * end, rtol=0.0, atol=tol)


def test_bounces_under_a_drive_that_is_faster_than_they_are_keep_the_promise():
    def force(t, q, v):
        return [-9.81 * (1.0 + 0.8 * np.sin(2000.0 * t))]

    driven = sl.System(M=1.0, f=force, contacts=[sl.Contact(lambda q: q[0], e=0.3)])
    reference = sl.solve(driven, (0.0, 0.15), 0.01, 0.0, scheme=sl.HpTDG(zeno_speed=1e-7), tol=1e-11)
    t = (np.arange(4000) + 0.5) * 0.15 / 4000
    for tol in (1e-4, 1e-6):
        sol = sl.solve(driven, (0.0, 0.15), 0.01, 0.0, tol=tol)
        for value, x in ((sol(t).v, reference(t).v), (sol.impulse_at(t), reference.impulse_at(t))):
            assert np.mean(np.abs(np.ravel(value) - np.ravel(x))) <= tol * (1.0 + np.max(np.abs(x)))


# ---- units

UNITS = {"mm ms g": (1e-3, 1e-3, 1e-3), "km h t": (1e3, 3600.0, 1e3), "um us ug": (1e-6, 1e-6, 1e-9)}


def in_units(model: Bounce, length: float, time: float, mass: float) -> tuple[Bounce, np.ndarray]:
    """Return a model, whose second coordinate is an angle, in other units, and the units of its coordinates."""
    sizes = np.array([length, 1.0])[: len(model.q)]
    inertia = np.array([mass, mass * length**2])[: len(model.q)]
    made = Bounce(
        tuple(np.array(model.mass) / inertia), tuple(np.array(model.force) / (inertia * sizes / time**2)),
        tuple(np.array(model.W) * sizes / length), model.e, tuple(np.array(model.q) / sizes),
        tuple(np.array(model.v) * time / sizes),
    )  # fmt: skip
    return made, sizes


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
@pytest.mark.parametrize(("model", "scale"), [(ball(9.81, 0.8, 1e-4), (1e-3,)), (LEVER, (0.1, 0.5))])
def test_with_a_scale_the_run_is_the_same_in_all_units(units, scheme, model, scale):
    length, time, mass = UNITS[units]
    end = 1.2 * float(model.impacts()[0][-1])
    expected = sl.solve(model.system(), (0.0, end), model.q, model.v, scheme=scheme, tol=1e-6, scale=scale)
    other, sizes = in_units(model, length, time, mass)
    sol = sl.solve(
        other.system(), (0.0, end / time), other.q, other.v, scheme=scheme, tol=1e-6, scale=np.array(scale) / sizes
    )
    assert sol.work["steps"] == expected.work["steps"]
    assert sol.events["kind"].tolist() == expected.events["kind"].tolist()
    np.testing.assert_allclose(sol.events["t"] * time, expected.events["t"], rtol=1e-9)
    np.testing.assert_allclose(sol.q[-1] * sizes, expected.q[-1], rtol=1e-9, atol=1e-12)


def test_a_small_scale_asks_for_more_of_a_small_motion():
    def spring(t, q, v):
        return [-4.0 * q[0] - 1e6 * q[0] ** 3]  # the cubic term is as large as the other at q = 2e-3

    oscillator = sl.System(M=1.0, f=spring)
    reference = sl.solve(oscillator, (0.0, 10.0), 1e-3, 0.0, tol=1e-12, scale=1e-3)
    t = np.linspace(0.0, 10.0, 500)
    for tol in (1e-4, 1e-6):
        sol = sl.solve(oscillator, (0.0, 10.0), 1e-3, 0.0, tol=tol, scale=1e-3)
        assert np.mean(np.abs(sol(t).q - reference(t).q)) <= tol * 2e-3


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan, "1 mm", [], [1.0, -1.0], True])
def test_a_scale_that_is_no_size_is_refused(scale):
    with pytest.raises(SettingError, match="scale is"):
        sl.solve(LEVER.system(), (0.0, 1.0), LEVER.q, LEVER.v, scale=scale)


def test_a_scale_needs_one_number_per_coordinate():
    with pytest.raises(SettingError, match="scale has 3 numbers, but the system has 2 coordinates"):
        sl.solve(LEVER.system(), (0.0, 1.0), LEVER.q, LEVER.v, scale=[1.0, 1.0, 1.0])


def test_schemes_that_promise_nothing_refuse_a_scale():
    with pytest.raises(SettingError, match="promises no error, so scale means nothing to it"):
        sl.solve(LEVER.system(), (0.0, 1.0), LEVER.q, LEVER.v, scheme=sl.MoreauJean(), h=1e-3, scale=1.0)


# ---- long runs

W, DEPTH, SPEED = 2.3, 0.5, 3.1
PERIOD = 2.0 * np.arctan2(SPEED / W, -DEPTH) / W


def long_run(impacts: int, tol: float, scheme=None) -> tuple[float, sl.Solution]:
    """Return the error over the promise of an oscillator that strikes a wall without loss, and its solution."""
    wall = sl.Contact(lambda q: q[0] + DEPTH, e=1.0)
    oscillator = sl.System(M=1.0, f=lambda t, q, v: [-W * W * q[0]], contacts=[wall])
    span = (0.0, float(PERIOD * (impacts - 0.5)))
    sol = sl.solve(oscillator, span, -DEPTH, SPEED, tol=tol, scheme=scheme or sl.HpTDG())
    t = np.sort(np.random.default_rng(0).uniform(0.0, sol.t[-1], 2000))
    x = t - np.floor(t / PERIOD) * PERIOD
    v = DEPTH * W * np.sin(W * x) + SPEED * np.cos(W * x)
    return float(np.mean(np.abs(sol(t).v[:, 0] - v))) / (tol * (1.0 + SPEED)), sol


@pytest.mark.parametrize("tol", [1e-4, 1e-7])
def test_ten_thousand_impacts_without_loss_keep_the_promise(tol):
    ratio, sol = long_run(10_000, tol)
    assert ratio <= 1.0
    assert sol.message == "The run reached the end of its time span."


def test_what_rounding_adds_over_very_many_impacts_is_said():
    ratio, sol = long_run(10_000, 1e-10)
    assert sol.success and "Rounding over 9999 impacts may have added up to" in sol.message
    assert ratio <= float(sol.message.split("up to ")[1].split(" times")[0])


@pytest.mark.parametrize("impacts", [102, 1000])
@pytest.mark.parametrize(("method", "tol"), [(None, 1e-7), (None, 1e-10), ("dopri5", 1e-7), ("radau5", 1e-4)])
def test_event_driven_says_what_its_errors_may_have_added_up_to(method, tol, impacts):
    # the sentence was there, but only with the words "far more than the tolerance": 56 times, or 90 000?
    ratio, sol = long_run(impacts, tol, sl.EventDriven(method=method))
    assert f"over {impacts - 1} impacts errors may have added up to" in sol.message
    if "as much as the motion itself" in sol.message:
        assert ratio * tol > 0.03
    else:
        said = float(sol.message.split("added up to ")[1].split(" times")[0])
        assert ratio <= said <= 100.0 * ratio


def test_event_driven_says_little_where_restitution_forgets():
    system = sl.System(
        M=1.0,
        f=lambda t, q, v: [-4.0 * q[0] + 2.0 * np.cos(3.0 * t) - 0.1 * v[0]],
        contacts=[sl.Contact(lambda q: q[0] + 0.2, e=0.8)],
    )
    sol = sl.solve(system, (0.0, 400.0), 0.0, 1.0, tol=1e-7, scheme=sl.EventDriven())
    assert float(sol.message.split("added up to ")[1].split(" times")[0]) <= 30.0


def test_event_driven_says_what_rounded_places_of_impacts_add_up_to():
    # a ball without loss: polynomials, so that steps have no error and the ledger no defect, but places are rounded
    speed, g = 4.4, 9.81
    ball = sl.System(M=1.0, f=lambda t, q, v: [-g], contacts=[sl.Contact(lambda q: q[0], e=1.0)])
    period = 2.0 * speed / g
    sol = sl.solve(ball, (0.0, 1999.5 * period), 0.0, speed, tol=1e-10, scheme=sl.EventDriven())
    t = np.sort(np.random.default_rng(0).uniform(0.0, sol.t[-1], 2000))
    error = np.mean(np.abs(sol(t).v[:, 0] - (speed - g * (t % period))))
    ratio = error / (1e-10 * (1.0 + speed))
    assert ratio <= float(sol.message.split("added up to ")[1].split(" times")[0]) <= 1000.0 * ratio
