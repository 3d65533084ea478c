"""Dense output of schemes with stages: many times at once, against the stored polynomials taken one by one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import saltus as sl
from counts import counted
from saltus.flight.dense import DENSE_HEADER
from saltus.tables.tableau import node_places

ROUNDING = 2e-13  # of polynomials of degree 12 that are summed in powers of time
TIMES = counted(400, 80)  # random times that are looked at
SPECIAL = counted(64, 24)  # times at nodes and events that are looked at, beside random ones


def problems() -> dict[str, sl.Problem]:
    return {
        "impacts": sl.problems.impact_oscillator(t_end=20.0),
        "an accumulation": sl.problems.zeno_ball(),
        "friction": sl.problems.sliding_block(),
    }


SCHEMES = {
    "intervals": (sl.HpTDG(), {"tol": 1e-8}, sl.HpTDG().nodes),
    "flights": (sl.EventDriven(), {"tol": 1e-8}, "lobatto"),
    "windows": (sl.AnyOrder(), {"h": 0.0137}, "lobatto"),
}


@pytest.fixture(scope="module", params=[(p, s) for p in problems() for s in SCHEMES], ids=" by ".join)
def run(request):
    """A run and the kind of nodes of its polynomials."""
    problem, scheme = request.param
    made, options, nodes = SCHEMES[scheme]
    return sl.solve(problems()[problem], scheme=made, progress=False, **options), nodes


def block_of(sol: sl.Solution, end: int) -> np.ndarray:
    begin, stop = sol._extra[end, 2], len(sol._dense) if end + 1 == len(sol.t) else sol._extra[end + 1, 2]
    return sol._dense[int(begin) : int(stop)]


def inside(sol: sl.Solution, nodes: str, t: float, side: str) -> dict[str, np.ndarray] | None:
    """Return q, v, force and its impulse inside of a step, by integrating the polynomials of one stored block.

    None where the time belongs to a node or the border of a piece, whose limits are stored.
    """
    end = int(np.searchsorted(sol.t, t, side="left"))
    block, h = block_of(sol, end), sol.t[end] - sol.t[end - 1]
    pieces, stages, nq, nv, nr, own_rate = block[: DENSE_HEADER - 1].astype(int)
    assert not own_rate
    c, s = node_places(stages - 1, nodes), (t - sol.t[end - 1]) / h
    width = 2 + nq + nv + stages * (nv + nr)
    body = block[DENSE_HEADER + nr : DENSE_HEADER + nr + pieces * width].reshape(pieces, width)
    if np.min(np.abs(np.concatenate([body[:, 0], body[:, 1]]) - s)) * h < 1e-9:
        return None
    which = int(np.sum(s > body[:-1, 1]))
    impulse = np.zeros(nr)
    for k, piece in enumerate(body[: which + 1]):
        begin, stop, q, v = piece[0], piece[1], piece[2 : 2 + nq], piece[2 + nq : 2 + nq + nv]
        a = piece[2 + nq + nv : 2 + nq + nv + stages * nv].reshape(stages, nv)
        r = piece[2 + nq + nv + stages * nv :].reshape(stages, nr)
        length, x = (stop - begin) * h, (s - begin) / (stop - begin) if k == which else 1.0
        made = {"q": np.empty(nq), "v": np.empty(nv), "force": np.empty(nr)}
        following = body[k + 1, 2 : 2 + nq] if k + 1 < pieces else sol.q[end]
        for i in range(nv):
            slope = Polynomial.fit(c, a[:, i], stages - 1, domain=[0.0, 1.0])
            velocity = v[i] + length * slope.integ(lbnd=0.0)
            position = q[i] + length * velocity.integ(lbnd=0.0)
            closing = x * x * (3.0 - 2.0 * x) * (following[i] - position(1.0))
            made["q"][i], made["v"][i] = position(x) + closing, velocity(x)
        for i in range(nr):
            force = Polynomial.fit(c, r[:, i], stages - 1, domain=[0.0, 1.0])
            made["force"][i], impulse[i] = force(x), impulse[i] + length * force.integ(lbnd=0.0)(x)
    return {**made, "impulse": impulse}


@pytest.mark.parametrize("side", ["+", "-"])
def test_many_times_at_once_follow_the_stored_polynomials(run, side):
    sol, nodes = run
    random = np.random.default_rng(3)
    times = random.uniform(sol.t[0], sol.t[-1], TIMES)
    state, force, impulse = sol(times, side=side), sol.force_at(times, side=side), sol.impulse_at(times, side=side)
    atoms = sol.events[np.isin(sol.events["kind"], ["impact", "zeno"])]
    size = {"q": np.abs(sol.q).max(), "v": np.abs(sol.v).max(), "impulse": np.abs(impulse).max() + 1.0}
    size["force"] = np.abs(force).max() + 1.0
    seen = 0
    for i, t in enumerate(times):
        expected = inside(sol, nodes, t, side)
        if expected is None:
            continue
        seen += 1
        start = sol.t[np.searchsorted(sol.t, t) - 1]
        begun = sol.impulse_at(start)
        struck = atoms[(atoms["t"] > start) & (atoms["t"] <= t)]["impulse"][:, : len(begun)].sum(axis=0)
        given = {"q": state.q[i], "v": state.v[i], "force": force[i], "impulse": impulse[i] - begun - struck}
        for name, value in given.items():
            np.testing.assert_allclose(value, expected[name], rtol=0.0, atol=ROUNDING * size[name], err_msg=name)
    assert seen > 0.75 * TIMES


@pytest.mark.parametrize("side", ["+", "-"])
def test_a_time_among_many_is_the_same_as_the_time_alone(run, side):
    sol, _ = run
    random = np.random.default_rng(4)
    special = np.concatenate([sol.t[:: max(1, len(sol.t) // SPECIAL)], sol.events["t"][:SPECIAL]])
    times = np.concatenate([random.uniform(sol.t[0], sol.t[-1], TIMES // 4), special])
    many = sol(times, side=side)
    for name, given in (
        ("q", many.q), ("v", many.v), ("force", sol.force_at(times, side)), ("impulse", sol.impulse_at(times, side)),
    ):  # fmt: skip
        alone = {
            "q": lambda t: sol(t, side).q,
            "v": lambda t: sol(t, side).v,
            "force": lambda t: sol.force_at(t, side),
            "impulse": lambda t: sol.impulse_at(t, side),
        }[name]
        one_by_one = np.array([alone(t) for t in times])
        np.testing.assert_allclose(given, one_by_one, rtol=0.0, atol=4e-16 * (1.0 + np.abs(given).max()), err_msg=name)


def test_the_beginning_of_a_motion_keeps_its_relative_precision():
    sol = sl.solve(sl.System(M=2.0, f=lambda t, q: [1.0 + t]), (0.0, 1.0), 0.0, 0.0, tol=1e-9)
    t = 10.0 ** np.arange(-9.0, 0.0)
    np.testing.assert_allclose(sol(t).v[:, 0], 0.5 * t + 0.25 * t**2, rtol=1e-12)
    np.testing.assert_allclose(sol(t).q[:, 0], 0.25 * t**2 + t**3 / 12.0, rtol=1e-12)


def test_a_state_is_known_beside_bounces_that_take_no_time():
    """An impact without restitution may leave a last digit of speed: its bounces end before the clock moves on."""
    period, rises, top, falls, bottom, height = 0.139, 0.000655, 0.0183, 0.0799, 0.135, 909.0

    def cycloid(x):
        return x - np.sin(2.0 * np.pi * x) / (2.0 * np.pi)

    def cam(t):
        x = np.mod(t, period)
        down = np.where(x < bottom, height * (1.0 - cycloid((x - falls) / (bottom - falls))), 0.0)
        up = np.where(x < top, height * cycloid((x - rises) / (top - rises)), np.where(x < falls, height, down))
        return np.where(x < rises, 0.0, up)

    follower = sl.System(M=1.0, f=-1.87e6, contacts=[sl.Contact(lambda t, q: q[0] - cam(t))])
    sol = sl.solve(follower, (0.0, 3.0 * period), 0.0, 0.0, tol=1e-7, progress=False)
    assert "zeno" in sol.events["kind"]
    nodes = sol.t[1:-1]
    beside = sol(np.concatenate([np.nextafter(nodes, 0.0), nodes - 3.0 * np.spacing(nodes)]))
    after = sol(np.concatenate([nodes, nodes]) + 1e-9)
    assert abs(beside.q - after.q).max() <= 1e-9 * abs(sol.v).max() + 1e-7 * height
    assert np.isfinite(beside.v).all()
