"""Double pendulum against a wall and valve train: EventDriven beside scipy's DOP853, restarted by hand at events."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import saltus as sl
from saltus import problems
from saltus.errors import ModelError

TIGHT = {"method": "DOP853", "rtol": 2.3e-14, "atol": 1e-15, "dense_output": True}
STILL = 1e-5  # [m/s], slower launches end an accumulation; the state is then wrong by its square


class Restarts:
    """A motion in pieces: start, states of scipy, impulses so far, held contacts and their force."""

    def __init__(self):
        self.starts, self.runs, self.impulses, self.forces, self.impacts, self.releases = [], [], [], [], [], []

    def add(self, t, run, impulse, force):
        self.starts.append(t)
        self.runs.append(run)
        self.impulses.append(impulse.copy())
        self.forces.append(force)

    def state(self, t: float) -> np.ndarray:
        return self.runs[np.searchsorted(self.starts, t, side="right") - 1].sol(t)

    def impulse(self, t: float) -> np.ndarray:
        """Impulses of impacts and the integral of the held forces, by Gauss's rule over the steps of scipy."""
        total = self.impulses[np.searchsorted(self.starts, t, side="right") - 1].copy()
        points, weights = np.polynomial.legendre.leggauss(8)
        for run, force in zip(self.runs, self.forces, strict=True):
            marks = np.unique(np.minimum(run.t, t))
            for begin, end in itertools.pairwise(marks):
                times = begin + (end - begin) * (points + 1.0) / 2.0
                total += (
                    (end - begin) / 2.0 * sum(w * force(s, run.sol(s)) for w, s in zip(weights, times, strict=True))
                )
        return total


def landing(gap, start):
    """Return an event of a gap, over the time since its start: only the landing of a launched body is a root."""

    def event(t, y):
        return gap(t, y) / (t - start) if t > start else 1.0

    event.terminal, event.direction = True, -1.0
    return event


def falling(function):
    def event(t, y):
        return function(t, y)

    event.terminal, event.direction = True, -1.0
    return event


def double_pendulum(problem: sl.Problem, e: float) -> Restarts:
    """Follow the impacts of a pendulum that never comes to rest; one contact at a time."""
    system, t_end = problem.system, problem.t_span[1]
    gaps = [lambda t, y, c=c: c.gap(y[:2]) for c in system.contacts]

    def rhs(t, y):
        return np.concatenate([y[2:], np.linalg.solve(system.M(y[:2]), system.f(t, y[:2], y[2:]))])

    made, t, y, impulse = Restarts(), 0.0, np.concatenate([problem.q0, problem.v0]), np.zeros(2)
    while True:
        run = solve_ivp(rhs, (t, t_end), y, max_step=0.005, events=[landing(gap, t) for gap in gaps], **TIGHT)
        made.add(t, run, impulse, lambda t, y: np.zeros(2))
        if run.status != 1:
            return made
        t, y = run.t[-1], run.y[:, -1].copy()
        (number,) = (k for k in (0, 1) if len(run.t_events[k]))
        # normals by hand: the elbow moves by l1 cos q1, the tip by l1 cos q1 and l2 cos q2
        normal = -np.array([0.5 * np.cos(y[0]), 0.4 * np.cos(y[1]) if number == 1 else 0.0])
        moved = np.linalg.solve(system.M(y[:2]), normal)
        strength = -(1.0 + e) * (normal @ y[2:]) / (normal @ moved)
        y[2:] += strength * moved
        impulse[number] += strength
        made.impacts.append(t)


def valve_train(problem: sl.Problem, *, omega: float, lift=0.009, power=24, e=(0.3, 0.4)) -> Restarts:
    """Follow follower and valve, each free or held by cam or seat; the masses do not share an impact."""
    system, t_end, masses = problem.system, problem.t_span[1], np.asarray(problem.system.M)

    def cam(t):
        """Lift, speed, acceleration of the cam."""
        sine, cosine, rate = np.sin(omega * t / 2.0), np.cos(omega * t / 2.0), omega / 2.0
        return (
            lift * sine**power,
            lift * power * rate * sine ** (power - 1) * cosine,
            lift * power * rate**2 * sine ** (power - 2) * ((power - 1) * cosine**2 - sine**2),
        )

    def relative(t, y, contact):
        """Gap and its rate."""
        return (y[0] - cam(t)[0], y[3] - cam(t)[1]) if contact == 0 else (y[1], y[4])

    def push(t, y, contact):
        """Force that holds a contact closed."""
        wanted = cam(t)[2] if contact == 0 else 0.0
        return masses[contact] * wanted - system.f(t, y[:3], y[3:])[contact]

    made, t, y, impulse, held = Restarts(), 0.0, np.zeros(6), np.zeros(2), [True, True]
    while True:

        def rhs(t, y, held=tuple(held)):
            a = np.array(system.f(t, y[:3], y[3:])) / masses
            if held[0]:
                a[0] = cam(t)[2]
            if held[1]:
                a[1] = 0.0
            return np.concatenate([y[3:], a])

        def force(t, y, held=tuple(held)):
            return np.array([push(t, y, k) if held[k] else 0.0 for k in (0, 1)])

        events = [
            falling(lambda t, y, k=k: push(t, y, k)) if held[k] else landing(lambda t, y, k=k: relative(t, y, k)[0], t)
            for k in (0, 1)
        ]
        run = solve_ivp(rhs, (t, t_end), y, max_step=2e-5, events=events, **TIGHT)
        made.add(t, run, impulse, force)
        if run.status != 1:
            return made
        t, y = run.t[-1], run.y[:, -1].copy()
        for k in (0, 1):
            if held[k] and len(run.t_events[k]):
                held[k] = False
                made.releases.append(t)
            elif len(run.t_events[k]):
                rate = relative(t, y, k)[1]
                launch = -e[k] * rate
                held[k] = bool(launch < STILL and push(t, y, k) > 0.0)
                made.impacts.append(t)
                impulse[k] += masses[k] * ((0.0 if held[k] else launch) - rate)
                y[3 + k] += (0.0 if held[k] else launch) - rate
            if held[k]:  # exactly on the cam or seat
                y[k], y[3 + k] = cam(t)[:2] if k == 0 else (0.0, 0.0)


def compare(sol: sl.Solution, made: Restarts, nq: int, times: np.ndarray, bound: float) -> None:
    """Compare q, v and impulses relative to their largest values, away from the jumps."""
    apart = np.min(np.abs(times[:, None] - np.array(made.impacts)), axis=1) > 1e-6 * sol.t[-1]
    times = times[apart]
    assert len(times) > 100
    states, found = np.array([made.state(t) for t in times]), sol(times)
    assert np.max(np.abs(found.q - states[:, :nq])) <= bound * np.max(np.abs(found.q))
    assert np.max(np.abs(found.v - states[:, nq:])) <= bound * np.max(np.abs(found.v))
    last = made.impulse(sol.t[-1])
    np.testing.assert_allclose(sol.impulse_at(sol.t[-1]), last, rtol=0.0, atol=bound * np.max(last))


def test_the_double_pendulum_against_a_wall_agrees_with_restarted_dop853():
    problem = problems.double_pendulum_wall()
    made = double_pendulum(problem, 0.8)
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-12)
    assert list(sol.events["kind"]) == ["impact"] * 25
    assert np.count_nonzero(sol.events["contact"] == "tip") == 7
    np.testing.assert_allclose(sol.events["t"], made.impacts, rtol=0.0, atol=1e-10)
    compare(sol, made, 2, np.linspace(0.0, 6.0, 400), 3e-10)
    assert np.min(sol.gaps()) >= -1e-12


def test_the_elbow_comes_to_rest_while_the_tip_goes_on_bouncing():
    sol = sl.solve(problems.double_pendulum_wall(t_end=8.0), scheme=sl.EventDriven(), tol=1e-11)
    (end,) = sol.events[sol.events["kind"] == "zeno"]
    assert end["contact"] == "elbow" and 6.0 < end["t"] < 7.0
    late = sol.events[sol.events["t"] > end["t"]]
    assert np.count_nonzero((late["contact"] == "tip") & (late["kind"] == "impact")) >= 3
    resting = sol.t > end["t"]
    assert np.max(np.abs(sol.gaps()[resting, 0])) <= 1e-12  # elbow
    # without gain or loss but by impacts and the damping of the pivots
    assert np.max(np.abs(sol.energy.defect)) <= 1e-8


def test_the_time_stepping_of_order_one_tends_to_the_same_double_pendulum():
    problem = problems.double_pendulum_wall(t_end=3.0)
    fine = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-12)
    steps = np.array([1251, 2503, 10007, 40009])
    errors = []
    for n in steps:
        sol = sl.solve(problem, scheme=sl.HalfExplicitTDG(), h=3.0 / n)
        errors.append(sl.study.error(sol, fine, "q", where="grid"))
    assert errors[-1] <= 2e-3  # every impact is late by a part of h = 7e-5 s, at about 3 rad/s
    order = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert 0.75 <= order <= 1.25


def test_the_valve_train_agrees_with_restarted_dop853():
    problem = problems.valve_train()
    made = valve_train(problem, omega=100.0 * np.pi)
    sol = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-12)
    kinds = sol.events["kind"]
    releases = sol.events["t"][kinds == "release"]
    assert np.count_nonzero(kinds == "zeno") == 6
    np.testing.assert_allclose(releases, made.releases, rtol=0.0, atol=1e-10)
    fast = sol.events[(kinds == "impact") & (sol.events["u_minus"][:, 0] < -0.1)]
    distance = np.min(np.abs(fast["t"][:, None] - np.array(made.impacts)), axis=1)
    assert len(fast) >= 20 and np.max(distance) <= 1e-11
    compare(sol, made, 3, np.linspace(0.0, 0.04, 400), 3e-9)


def test_the_follower_stays_on_the_cam_of_a_slow_engine_and_leaves_it_at_speed():
    slow = sl.solve(problems.valve_train(engine_speed=2500.0, t_end=0.096), scheme=sl.EventDriven(), tol=1e-10)
    on_cam = slow.events[slow.events["contact"] == "cam"]
    assert np.all(np.abs(on_cam["impulse"]) <= 1e-12)  # only the valve lands, on its seat
    assert np.count_nonzero(slow.events["kind"] == "zeno") == 2
    assert np.max(np.abs(slow.gaps()[:, 0])) <= 1e-12
    fast = sl.solve(problems.valve_train(), scheme=sl.EventDriven(), tol=1e-10)
    assert np.max(fast.gaps()[:, 0]) > 2e-4
    assert np.min(fast.gaps()) >= -1e-12


def test_the_valve_train_keeps_its_balance_of_energy():
    sol = sl.solve(problems.valve_train(), scheme=sl.EventDriven(), tol=1e-11)
    assert np.max(np.abs(sol.energy.defect)) <= 1e-7 * np.max(sol.energy.kinetic)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (problems.double_pendulum_wall, {"m2": 0.0}),
        (problems.double_pendulum_wall, {"wall": -0.7}),
        (problems.valve_train, {"coil_mass": 0.0}),
        (problems.valve_train, {"sharpness": 0}),
    ],
)
def test_impossible_parameters_are_refused(make, given):
    with pytest.raises(ModelError, match=next(iter(given)).split("_")[0]):
        make(**given)
