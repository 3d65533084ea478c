"""Speed of a step of small models: forced impact oscillator and ball, one core, CPU time, least of many.

`python bench/step_speed.py` prints microseconds per impact of the located schemes, in the march alone, over the exact
solution written by hand (flights in closed form, impacts by Newton's method, compiled by numba) in the same process;
and nanoseconds per step of Moreau-Jean, one run at a time and in lanes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import cos, pi, sin

import numba
import numpy as np

import saltus as sl
from saltus.build.model import compile_model
from saltus.ensemble.moreau_jean_lanes import moreau_jean_lanes
from saltus.run import run

OMEGA, E = 2.6, 0.8
PERIOD = 2.0 * pi / OMEGA
PERIODS, SECONDS = 100, 1.5
RUNS, STEPS, LONG = 512, 2000, 22_000  # in lanes; steps of a short and of a long run


class _March:
    """Stands in for the march, and adds up the time that is spent in it."""

    def __init__(self, march):
        self.march, self.spent = march, 0

    def __call__(self, *arguments):
        began = time.thread_time_ns()
        status = self.march(*arguments)
        self.spent += time.thread_time_ns() - began
        return status

    def __getattr__(self, name):
        return getattr(self.march, name)


@numba.njit(cache=False, error_model="numpy")
def by_hand(q, v, t, end, omega, e):
    """Return the last launch and how many impacts there were: x'' + x = cos(omega t), x <= 0, one flight at a time.

    Right where flights are long; where bounces accumulate it never ends. That is what makes it fast.
    """
    response, count = 1.0 / (1.0 - omega * omega), 0
    while True:
        a, b = q - response * cos(omega * t), v + response * omega * sin(omega * t)
        # steps of a fifth of a period until it comes back
        low, tau = 1e-3, 0.2 * PERIOD
        while a * cos(tau) + b * sin(tau) + response * cos(omega * (t + tau)) < 0.0:
            low, tau = tau, tau + 0.2 * PERIOD
            if t + tau > end:
                return v, count
        high = tau
        for _ in range(60):
            s, c, s_f, c_f = sin(tau), cos(tau), sin(omega * (t + tau)), cos(omega * (t + tau))
            x, u = a * c + b * s + response * c_f, -a * s + b * c - response * omega * s_f
            if x > 0.0:
                high = tau
            else:
                low = tau
            new = tau - x / u
            new = new if low < new < high else 0.5 * (low + high)
            if abs(new - tau) < 1e-15 * (t + tau):
                break
            tau = new
        t, q, v, count = t + tau, 0.0, -e * u, count + 1


def least(work: Callable, seconds: float = SECONDS) -> float:
    """Return the shortest CPU time of a call [ns]."""
    best, until = np.inf, time.process_time() + seconds
    while time.process_time() < until:
        began = time.process_time_ns()
        work()
        best = min(best, time.process_time_ns() - began)
    return best


def located() -> None:
    """Print microseconds per impact."""
    _, count = by_hand(-0.5, 0.0, 0.0, PERIODS * PERIOD, OMEGA, E)
    limit = least(lambda: by_hand(-0.5, 0.0, 0.0, PERIODS * PERIOD, OMEGA, E)) / count
    print(f"{'written by hand, exact flights':<40} {1e-3 * limit:8.2f} us per impact, {count} impacts")
    timed = run.march = _March(run.march)
    for periods in (PERIODS, 5):
        problem = sl.problems.forced_impact_oscillator(omega=OMEGA, e=E, t_end=periods * PERIOD)
        for name, scheme in (
            ("HpTDG 1e-6", sl.HpTDG(tol=1e-6)), ("HpTDG 1e-8", sl.HpTDG(tol=1e-8)),
            ("EventDriven 1e-6", sl.EventDriven(rtol=1e-6, atol=1e-6)),
        ):  # fmt: skip
            impacts = int(np.count_nonzero(sl.solve(problem, scheme=scheme).events["kind"] == "impact"))
            best, until = np.inf, time.process_time() + SECONDS
            while time.process_time() < until:
                timed.spent = 0
                sl.solve(problem, scheme=scheme, progress=False, save="events")
                best = min(best, timed.spent)
            each = best / impacts
            print(f"{name + f', {periods} periods':<40} {1e-3 * each:8.2f} us per impact, {each / limit:6.1f} times")


def marched(timed: _March, problem, steps: int, h: float) -> float:
    """Return the shortest time that a run of some steps spends in the march [ns]."""
    best, until = np.inf, time.process_time() + SECONDS
    while time.process_time() < until:
        timed.spent = 0
        sl.solve(problem, t_span=(0.0, steps * h), scheme=sl.MoreauJean(), h=h, progress=False, save="events")
        best = min(best, timed.spent)
    return best


def stepping() -> None:
    """Print nanoseconds per step of Moreau-Jean: the difference of a long and a short run, which Python enters alike.

    In a sweep nothing enters from Python. The ball flies, but for one bounce; at rest every step has a contact.
    """
    timed = run.march = _March(run.march)
    cases = (
        ("ball", sl.problems.zeno_ball(), 5e-5), ("ball at rest", sl.problems.zeno_ball(q0=0.0, e=0.0), 1e-3),
        ("oscillator", sl.problems.forced_impact_oscillator(), 1e-3),
    )  # fmt: skip
    for name, problem, h in cases:
        short, long = (marched(timed, problem, steps, h) for steps in (STEPS, LONG))
        each = (long - short) / (LONG - STEPS)
        print(f"{f'MoreauJean, {name}, one run':<40} {each:8.1f} ns per step")
        entries = (short - STEPS * each) * 1e-3
        print(f"{f'  and entering the march, {STEPS} steps':<40} {entries:8.1f} us of Python per run")
        if name == "ball at rest":
            continue
        model = compile_model(problem.system, 0.0, problem.q0, problem.v0, (), None)
        rng = np.random.default_rng(0)
        q0, v0 = problem.q0 + problem.q0 * rng.random((RUNS, 1)), problem.v0 + 0.1 * rng.random((RUNS, 1))
        for sine in ("library", "own") if name == "oscillator" else ("library",):
            spent = least(lambda: moreau_jean_lanes(model, q0, v0, 0.0, 1e-3, STEPS, sine=sine))  # noqa: B023
            what = f"MoreauJean, {name}, in lanes" + (f", sine={sine!r}" if name == "oscillator" else "")
            print(f"{what:<48} {spent / STEPS / RUNS:6.2f} ns per step and run")


if __name__ == "__main__":
    located()
    stepping()
