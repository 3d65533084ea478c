"""The certificate of a run: residual, violation and admissibility hold between the nodes, not only at them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import saltus as sl

LIFT, DWELL, TURN = 0.02, 0.31, 2.0 * np.pi  # a cam of 20 mm that rests for 60 % of its turn
SPRING, WEIGHT = 200.3, 9.81
TIMES = 1000  # random ones per run
BEYOND = 1.5  # what the largest of random times may exceed the certificate by
ROUNDING = 1e-9  # of the evaluations here: v_dot is a difference


def cam(t):
    return LIFT * np.maximum((np.cos(TURN * t - 2.2) - DWELL) / (1.0 - DWELL), 0.0) ** 3


def follower(e: float = 0.2) -> sl.System:
    return sl.System(
        M=1.0, f=lambda t, q, v: [-WEIGHT - SPRING * (q[0] + 0.1)],
        contacts=[sl.Contact(lambda t, q: q[0] - cam(t), e=e)],
    )  # fmt: skip


def hill(width: float, place: float) -> sl.System:
    top = sl.Contact(lambda q: q[1] - 1.01 * np.exp(-(((q[0] - place) / width) ** 2)), e=0.5)
    return sl.System(M=1.0, f=[0.0, 0.0], contacts=[top])


# ---- an independent look at random times


@dataclass(frozen=True)
class Model:
    """A system with its equations written down once more: M v_dot = f + W r for rows in the order of the forces."""

    system: sl.System
    q0: list[float]
    v0: list[float]
    t_end: float
    mass: np.ndarray
    force: Callable  # t, q, v (n, .) -> (n, nv)
    rows: Callable  # t, q -> (n, rows, nv), joints behind contacts
    gaps: Callable  # t, q -> (n, contacts)
    joints: Callable  # t, q -> (n, joints)
    mu: float = 0.0


def rider(height: float, width: float, speed: float) -> Model:
    """A bead with weight on a road with a bump, pushed along and braked by the air."""

    def road(x):
        return height * np.exp(-(((x - 1.0) / width) ** 2))

    def slope(x):
        return -2.0 * (x - 1.0) / width**2 * road(x)

    return Model(
        sl.System(
            M=[1.0, 1.0], f=lambda t, q, v: [np.sin(3.0 * t) - 0.2 * v[0], -WEIGHT],
            contacts=[sl.Contact(lambda q: q[1] - height * np.exp(-(((q[0] - 1.0) / width) ** 2)), e=0.3)],
        ),
        [0.0, float(road(0.0))], [speed, float(slope(0.0)) * speed], 3.0, np.ones(2),
        lambda t, q, v: np.stack([np.sin(3.0 * t) - 0.2 * v[:, 0], np.full(len(t), -WEIGHT)], axis=1),
        lambda t, q: np.stack([-slope(q[:, 0]), np.ones(len(t))], axis=1)[:, None],
        lambda t, q: (q[:, 1] - road(q[:, 0]))[:, None],
        lambda t, q: np.zeros((len(t), 0)),
    )  # fmt: skip


def block(drive: float, pace: float, mu: float) -> Model:
    """A block on a rough floor that a spring and a drive move to and fro."""
    return Model(
        sl.System(
            M=[1.0, 1.0], f=lambda t, q, v: [drive * np.sin(pace * t) - 4.0 * q[0], -WEIGHT],
            contacts=[sl.Contact(lambda q: q[1], mu=mu, slip=lambda t, q, v: v[0])],
        ),
        [0.0, 0.0], [0.5, 0.0], 4.0, np.ones(2),
        lambda t, q, v: np.stack([drive * np.sin(pace * t) - 4.0 * q[:, 0], np.full(len(t), -WEIGHT)], axis=1),
        lambda t, q: np.broadcast_to(np.array([[0.0, 1.0], [1.0, 0.0]]), (len(t), 2, 2)),
        lambda t, q: q[:, 1:],
        lambda t, q: np.zeros((len(t), 0)),
        mu,
    )  # fmt: skip


def pendulum(speed: float, wall: float) -> Model:
    """A mass on a rod, whose length is a joint, that strikes a wall."""
    return Model(
        sl.System(
            M=[2.0, 2.0], f=lambda t, q, v: [0.3 * np.cos(2.0 * t), -2.0 * WEIGHT],
            contacts=[sl.Contact(lambda q: wall - q[0], e=0.6)],
            joints=[sl.Joint(lambda q: q[0] ** 2 + q[1] ** 2 - 1.0)],
        ),
        [0.0, -1.0], [speed, 0.0], 3.0, np.full(2, 2.0),
        lambda t, q, v: np.stack([0.3 * np.cos(2.0 * t), np.full(len(t), -2.0 * WEIGHT)], axis=1),
        lambda t, q: np.stack([np.broadcast_to([-1.0, 0.0], q.shape), 2.0 * q], axis=1),
        lambda t, q: (wall - q[:, 0])[:, None],
        lambda t, q: (np.sum(q**2, axis=1) - 1.0)[:, None],
    )  # fmt: skip


def driven(e: float) -> Model:
    return Model(
        follower(e), [float(cam(0.0))], [0.0], 3.0, np.ones(1),
        lambda t, q, v: -WEIGHT - SPRING * (q + 0.1),
        lambda t, q: np.ones((len(t), 1, 1)),
        lambda t, q: q - cam(t)[:, None],
        lambda t, q: np.zeros((len(t), 0)),
    )  # fmt: skip


DRAWS = np.random.default_rng(20260315).uniform(size=(6, 4))
MODELS = [
    *(rider(0.02 + 0.05 * a, 0.2 + 0.3 * b, 0.6 + c) for a, b, c, _ in DRAWS),
    *(block(1.0 + 6.0 * a, 1.0 + 3.0 * b, 0.1 + 0.3 * c) for a, b, c, _ in DRAWS),
    *(pendulum(1.0 + 2.0 * a, 0.2 + 0.5 * b) for a, b, _, _ in DRAWS),
    *(driven(0.8 * a) for a, _, _, _ in DRAWS[:2]),
]
SCHEMES = {
    "HpTDG 1e-3": {"tol": 1e-3},
    "HpTDG 1e-6": {"tol": 1e-6},
    "EventDriven 1e-4": {"scheme": sl.EventDriven(), "tol": 1e-4},
    "MoreauJean": {"scheme": sl.MoreauJean(), "h": 0.01},
    "D2-": {"scheme": sl.TDGMinus(2), "h": 0.02},
}


def largest(step: np.ndarray, values: np.ndarray, steps: int) -> np.ndarray:
    made = np.zeros(steps)
    np.maximum.at(made, step, values)
    return made


@pytest.mark.parametrize("name", SCHEMES)
def test_no_random_time_exceeds_the_certificate(name):
    for number, model in enumerate(MODELS):
        options = dict(SCHEMES[name])
        sol = sl.solve(model.system, (0.0, model.t_end), model.q0, model.v0, progress=False, **options)
        t = np.sort(np.random.default_rng(number).uniform(0.0, model.t_end, TIMES))
        step = np.searchsorted(sol.t, t) - 1
        h, steps = np.diff(sol.t), len(sol.t) - 1
        at, r = sol(t), np.concatenate([sol.force_at(t), sol.joint_force_at(t)], axis=1)

        # gaps and joints
        deep = np.max(np.concatenate([-model.gaps(t, at.q), np.abs(model.joints(t, at.q))], axis=1), axis=1)
        assert np.all(largest(step, deep, steps) <= BEYOND * sol.violation + ROUNDING)

        # contact laws; the largest force is one that the certificate has seen
        friction = np.abs(r[:, 1]) if model.mu else np.zeros(len(t))
        outside = np.maximum(-r[:, 0], friction - model.mu * r[:, 0]).clip(min=0.0) / max(np.abs(r).max(), 1e-300)
        assert np.all(largest(step, outside, steps) <= BEYOND * sol.admissibility * (1.0 + 1e-6) + ROUNDING)

        # equations of motion, where steps follow a tolerance and no accumulation of impacts is summed up
        if "tol" not in options:
            assert sol.residual.max() <= 1e-10
            continue
        apart = 1e-5 * h[step]
        inside = (t - apart > sol.t[step]) & (t + apart < sol.t[step + 1])
        zeno = sol.events["t"][sol.events["kind"] == "zeno"]
        inside &= ~np.isin(step, np.searchsorted(sol.t, zeno) - 1)
        slope = (sol(t + apart).v - sol(t - apart).v) / (2.0 * apart[:, None])
        pushed = model.force(t, at.q, at.v) + np.einsum("nrv,nr->nv", model.rows(t, at.q), r)
        missed = h[step, None] * np.abs(slope - pushed / model.mass) / (1.0 + np.abs(sol.v).max(axis=0))
        missed = np.where(inside, missed.max(axis=1), 0.0)
        assert np.all(largest(step, missed, steps) <= BEYOND * sol.residual + ROUNDING)
        assert sol.residual.max() > sol.contact_residual.max()


# ---- runs whose nodes are right and whose motion is not


def test_a_cam_that_turns_twice_per_step_is_inside_of_the_follower():
    system = sl.System(M=1.0, f=[-WEIGHT], contacts=[sl.Contact(lambda t, q: q[0] - cam(t), e=0.2)])
    sol = sl.solve(system, (0.0, 10.0), 0.0, 0.0, scheme=sl.MoreauJean(), h=2.0, progress=False)
    assert sol.end_violation.max() == 0.0
    assert 0.9 * LIFT <= sol.violation.max() <= LIFT


def test_a_hill_between_two_nodes_is_flown_through():
    sol = sl.solve(
        hill(0.1, 3.3333), (0.0, 10.0), [0.0, 0.5], [1.03, 0.0], scheme=sl.MoreauJean(), h=1.0, progress=False
    )
    assert sol.end_violation.max() == 0.0
    assert 0.4 <= sol.violation.max() <= 0.51


def test_a_step_that_holds_a_contact_beyond_its_release_lets_it_pull():
    system = sl.System(M=1.0, f=lambda t, q, v: [20.0 * t - WEIGHT], contacts=[sl.Contact(lambda q: q[0])])
    sol = sl.solve(system, (0.0, 0.8), 0.0, 0.0, scheme=sl.Splitting("rk4"), h=0.4, progress=False)
    pull = -sol.force_at(0.7999)[0]
    assert pull == pytest.approx(20.0 * 0.7999 - WEIGHT, rel=1e-3)
    assert sol.contact_residual.max() == 0.0 and sol.violation.max() < 1e-12
    assert sol.admissibility.max() == pytest.approx((20.0 * 0.8 - WEIGHT) / WEIGHT, rel=0.02)


# ---- schemes with a tolerance do not hand on what misses


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=lambda one: one.name)
def test_a_follower_stays_on_a_cam_with_dwell(scheme):
    sol = sl.solve(follower(), (0.0, 10.0), 0.0, 0.0, scheme=scheme, tol=1e-5, progress=False)
    t = np.linspace(0.0, 10.0, 20_001)
    assert np.max(cam(t) - sol(t).q[:, 0]) <= 3e-4
    assert sol(t).q.max() >= 0.9 * LIFT


@pytest.mark.parametrize("width, place", [(0.1, 3.3333), (0.01, 6.123)])
def test_a_hill_is_met_where_it_stands(width, place):
    sol = sl.solve(hill(width, place), (0.0, 10.0), [0.0, 0.5], [1.03, 0.0], tol=1e-7, progress=False)
    exact = (place - width * np.sqrt(np.log(1.01 / 0.5))) / 1.03
    assert sol.events["t"][0] == pytest.approx(exact, abs=1e-9)
    assert sol.violation.max() <= 1e-7


def test_what_is_found_inside_survives_thinning_and_files(tmp_path):
    whole = sl.solve(follower(), (0.0, 3.0), 0.0, 0.0, tol=1e-5, progress=False)
    thin = sl.solve(follower(), (0.0, 3.0), 0.0, 0.0, tol=1e-5, save=5, progress=False)
    asked = sl.solve(follower(), (0.0, 3.0), 0.0, 0.0, tol=1e-5, t_eval=np.linspace(0.0, 3.0, 61), progress=False)
    full = whole.violation.max()
    assert full > 100.0 * whole.end_violation.max()
    assert 0.5 * full <= thin.violation.max() <= full and 0.5 * full <= asked.violation.max() <= full
    assert 0.0 < thin.residual.max() <= whole.residual.max()  # fewer places are looked at where steps are not kept
    whole.save(tmp_path / "run.h5")
    again = sl.load(tmp_path / "run.h5")
    for name in ("residual", "contact_residual", "violation", "end_violation", "admissibility"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
