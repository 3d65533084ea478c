"""A puck that a turntable carries off: a slip in space that begins slowly while its partner moves on."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import saltus as sl

MU, GRAVITY, SPRING, SPIN_UP, START, END = 0.25, 9.81, 0.8, 2.0, np.array([0.9, 0.1]), 1.6


def puck() -> sl.Problem:
    """Return a puck of 1 kg on a spring, at rest on a table whose spin grows with time."""
    contact = sl.Contact(
        gap=lambda q: q[2], mu=MU, name="table",
        slip=lambda t, q, v: [v[0] + SPIN_UP * t * q[1], v[1] - SPIN_UP * t * q[0]],
    )  # fmt: skip
    system = sl.System(M=np.eye(3), f=lambda t, q, v: [-SPRING * q[0], -SPRING * q[1], -GRAVITY], contacts=[contact])
    return sl.Problem(system, (0.0, END), [*START, 0.0], np.zeros(3))


def carried(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return place, velocity and friction of the puck while it sticks: it turns by the angle SPIN_UP t^2 / 2."""
    angle, spin = 0.5 * SPIN_UP * t * t, SPIN_UP * t
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    q = turn @ START
    across = np.array([-q[1], q[0]])
    return q, spin * across, SPIN_UP * across - spin * spin * q + SPRING * q


@functools.cache
def reference() -> tuple[float, np.ndarray]:
    """Return when the puck begins to slip, by the closed form, and q and v at the end, by scipy."""
    begins = brentq(lambda t: np.linalg.norm(carried(t)[2]) - MU * GRAVITY, 0.1, END, xtol=1e-15)
    q, v, friction = carried(begins)

    def rates(t, y):
        slip = np.array([y[2] + SPIN_UP * t * y[1], y[3] - SPIN_UP * t * y[0]])
        return [*y[2:], *(-SPRING * y[:2] - MU * GRAVITY * slip / np.linalg.norm(slip))]

    # against the friction that holds no longer; what 1e-8 m/s of slip changes is far below the tolerances here
    start = [*q, *(v - 1e-8 * friction / np.linalg.norm(friction))]
    made = solve_ivp(rates, (begins, END), start, method="DOP853", rtol=1e-9, atol=1e-11)
    return begins, made.y[:, -1]


@pytest.mark.parametrize("tol", [1e-5, 1e-6])
def test_a_puck_that_a_turntable_carries_off_keeps_the_promise(tol):
    begins, end = reference()
    sol = sl.solve(puck(), tol=tol)
    assert [event["kind"] for event in sol.events] == ["slip"]
    assert sol.events["t"][0] == pytest.approx(begins, abs=np.sqrt(tol))
    reached = np.concatenate([sol.q[-1, :2], sol.v[-1, :2]])
    assert np.linalg.norm(reached - end) <= tol * (1.0 + np.linalg.norm(end))


def test_a_slip_that_its_partner_turns_is_foreseen():
    # forecasts that took the table for standing made three intervals of four in vain: 18845 evaluations of the force
    assert sl.solve(puck(), tol=1e-8).work["f"] < 6000
