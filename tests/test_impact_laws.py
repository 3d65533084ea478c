"""Friction in impacts: Newton's and Poisson's law against closed forms, tangential restitution, gains of energy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saltus as sl
from counts import counted
from saltus import problems
from saltus.cli.summary import summary
from saltus.compile.seam import interpreted
from saltus.compile.types import Contacts
from saltus.errors import ModelError, SettingError
from saltus.reaction import expansion
from saltus.reaction.impacts import poisson as poisson_law

MASS, RADIUS, INERTIA = 1.3, 0.2, 0.03  # [kg], [m], [kg m^2]
SCHEMES = {
    "MoreauJean": (sl.MoreauJean(), 1e-3),
    "EventDriven": (sl.EventDriven(), None),
    "HpTDG": (sl.HpTDG(), None),
    "AnyOrder": (sl.AnyOrder("rk4"), 1e-3),
    "Splitting": (sl.Splitting("rk4"), 1e-3),
    "TDGMinus": (sl.TDGMinus(1), 1e-3),
    "TDGPlus": (sl.TDGPlus(1), 1e-3),
    "HalfExplicitTDG": (sl.HalfExplicitTDG(), 1e-3),
}
EVERY = list(SCHEMES)
STRIKING = EVERY[:-1]  # in a half-explicit step what is closed at the start is a lasting contact, no impact


# ---- independent impact laws: enumeration of the modes of one planar contact


def coulomb(D, b, mu):
    """Return P of one planar contact with u = D P + b, by trying stick and both slips."""
    if b[0] >= 0.0:
        return np.zeros(2)
    stick = np.linalg.solve(D, -b)
    if abs(stick[1]) <= mu * stick[0]:
        return stick
    for sign in (1.0, -1.0):
        P_N = -b[0] / (D[0, 0] - mu * sign * D[0, 1])
        P = np.array([P_N, -mu * sign * P_N])
        if P_N > 0.0 and sign * (D @ P + b)[1] >= 0.0:
            return P
    raise AssertionError("no mode fits")


def newton(D, u, e, mu, e_t=0.0):
    return coulomb(D, u + np.array([e, e_t]) * u, mu)


def poisson(D, u, e, mu):
    compression = coulomb(D, u, mu)
    u_c = D @ compression + u
    floor = e * compression[0]
    push = np.array([floor, np.clip(-(u_c[1] + D[1, 0] * floor) / D[1, 1], -mu * floor, mu * floor)])
    if (D @ push + u_c)[0] < 0.0:
        push = coulomb(D, u_c, mu)
    lost, gain = -compression @ (u + u_c) / 2, push @ (2 * u_c + D @ push) / 2
    assert gain <= lost  # else the expansion is scaled, which these cases do not need
    return compression + push


def strike(scheme, *, speed, theta=None, e, mu, e_t=0.0, impact="newton", gravity=0.0, t_end=0.04):
    """Let a ball, or the lower end of a rod at an angle, hit the floor with speed = (x, y, spin); return the run.

    One system for both: the contact lies at arm = (right, down) of the centre, and does not turn with the body.
    """
    right, down = (0.0, RADIUS) if theta is None else (0.5 * np.cos(theta), 0.5 * np.sin(theta))
    floor = sl.Contact(
        lambda q: q[1] - down + right * q[2],
        e=e,
        mu=mu,
        slip=lambda t, q, v: v[0] + down * v[2],
        e_t=e_t,
        impact=impact,
        name="floor",
    )
    system = sl.System(M=[MASS, MASS, INERTIA], f=[0.0, -MASS * gravity, 0.0], contacts=[floor])
    fall = -(speed[1] + right * speed[2])
    method, h = SCHEMES[scheme]
    return sl.solve(system, (0.0, t_end), [0.0, down + 0.0105 * fall, 0.0], speed, scheme=method, h=h)


def delassus(theta=None):
    right, down = (0.0, RADIUS) if theta is None else (0.5 * np.cos(theta), 0.5 * np.sin(theta))
    W = np.array([[0.0, 1.0], [1.0, 0.0], [right, down]])
    return W, W.T @ (W / np.array([MASS, MASS, INERTIA])[:, None])


# ---- one impact, all laws


@pytest.mark.parametrize("scheme", EVERY)
@pytest.mark.parametrize(
    ("law", "given"),
    [
        ("newton", {"speed": (1.0, -2.0, 0.0), "e": 0.6, "mu": 0.05}),  # slips
        ("newton", {"speed": (1.0, -2.0, 0.0), "e": 0.6, "mu": 0.9}),  # sticks
        ("newton", {"speed": (1.0, -2.0, 0.0), "e": 0.6, "mu": 0.9, "e_t": 0.7}),  # slip turns around
        ("newton", {"speed": (1.0, -2.0, 0.0), "e": 0.6, "mu": 0.1, "e_t": 0.7}),  # as far as friction can
        ("newton", {"speed": (1.0, -2.0, 0.4), "e": 0.4, "mu": 0.5, "theta": 0.5}),
        ("poisson", {"speed": (1.0, -2.0, 0.0), "e": 0.6, "mu": 0.05}),
        ("poisson", {"speed": (1.0, -2.0, 0.0), "e": 0.6, "mu": 0.9}),
        ("poisson", {"speed": (1.0, -2.0, 0.4), "e": 0.4, "mu": 0.5, "theta": 0.5}),
        ("poisson", {"speed": (-1.0, -2.0, 0.4), "e": 0.9, "mu": 0.5, "theta": 0.9}),
    ],
)
def test_an_oblique_impact_ends_with_the_closed_form(law, given, scheme):
    sol = strike(scheme, impact=law, **given)
    W, D = delassus(given.get("theta"))
    u = W.T @ np.array(given["speed"])
    if law == "newton":
        P = newton(D, u, given["e"], given["mu"], given.get("e_t", 0.0))
    else:
        P = poisson(D, u, given["e"], given["mu"])
    assert sol.impulse.sum(axis=0) == pytest.approx(P, abs=1e-12)
    momentum = np.array([MASS, MASS, INERTIA]) * (sol.v[-1] - sol.v[0])
    assert momentum == pytest.approx(W @ P, abs=1e-12)
    (impact,) = sol.events[sol.events["kind"] == "impact"]
    assert impact["u_plus"][:2] == pytest.approx(u + D @ P, abs=1e-12)
    assert impact["energy"] == pytest.approx(P @ (2 * u + D @ P) / 2, abs=1e-12)
    assert np.all(sol.residual <= 1e-10)


@pytest.mark.parametrize("scheme", EVERY)
def test_without_friction_poisson_and_newton_are_the_same_law(scheme):
    runs = [strike(scheme, speed=(0.3, -1.0, 0.1), e=0.7, mu=0.0, impact=law) for law in ("newton", "poisson")]
    assert runs[0].v[-1] == pytest.approx(runs[1].v[-1], abs=1e-15)


@pytest.mark.parametrize("scheme", ["EventDriven", "HpTDG"])
def test_the_accumulation_of_a_bouncing_ball_is_the_same_by_poisson(scheme):
    exact = problems.zeno_ball()
    ball = sl.System(M=1.0, f=-2.0, contacts=[sl.Contact(lambda q: q[0], e=0.5, impact="poisson", name="floor")])
    sol = sl.solve(ball, (0.0, 4.0), 1.0, 0.0, scheme=SCHEMES[scheme][0])
    last = sol.events[sol.events["kind"] == "zeno"][0]
    assert last["t"] == pytest.approx(3.0, abs=1e-9)
    for t in (0.7, 1.4, 2.2, 2.9):
        assert sol(t).q == pytest.approx(exact.exact.q(t), abs=1e-6)


def struck_in_space(angle, law):
    """Return the velocity behind an impact in space, computed in axes that are turned about the normal."""
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    floor = sl.Contact(
        lambda q: q[2],
        e=0.6,
        mu=0.3,
        slip=lambda t, q, v: [v[0] + 0.3 * c * v[2], v[1] + 0.3 * s * v[2]],
        e_t=0.5 if law == "newton" else 0.0,
        impact=law,
    )
    system = sl.System(M=R @ np.diag([1.0, 2.0, 3.0]) @ R.T, f=[0.0, 0.0, 0.0], contacts=[floor])
    start = R @ np.array([1.0, 0.4, -1.0])
    sol = sl.solve(system, (0.0, 0.04), [0.0, 0.0, 0.01], start, scheme=sl.MoreauJean(), h=1e-3)
    return R.T @ sol.v[-1]


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_an_impact_is_the_same_in_turned_axes(law):
    turned = [struck_in_space(angle, law) for angle in (0.1, 0.7, 2.9)]
    assert turned[0] == pytest.approx(turned[1], abs=1e-12)
    assert turned[0] == pytest.approx(turned[2], abs=1e-12)
    assert abs(turned[0][2]) > 0.1 and abs(turned[0][0] - 1.0) > 0.01


# ---- tangential restitution


def test_a_superball_turns_its_spin_around_and_back():
    sol = strike("EventDriven", speed=(1.0, -2.0, 0.0), e=1.0, mu=10.0, e_t=1.0, gravity=10.0, t_end=0.5)
    hits = sol.events[sol.events["kind"] == "impact"]
    assert len(hits) == 2
    after = [sol(t).v for t in hits["t"]]
    _, D = delassus()
    turn = -2.0 / D[1, 1]
    assert after[0][[0, 2]] == pytest.approx([1.0 + turn / MASS, RADIUS * turn / INERTIA], abs=1e-12)
    assert after[1][[0, 2]] == pytest.approx([1.0, 0.0], abs=1e-12)
    assert hits["energy"] == pytest.approx(0.0, abs=1e-12)
    assert not np.any(sol.events["kind"] == "gain")


@pytest.mark.parametrize("scheme", ["MoreauJean", "EventDriven"])
def test_tangential_restitution_leaves_sliding_and_resting_bodies_alone(scheme):
    method, h = SCHEMES[scheme]
    ends = []
    for e_t in (0.0, 0.8):
        floor = sl.Contact(lambda q: q[1], e=0.3, mu=0.3, slip=lambda t, q, v: v[0], e_t=e_t)
        block = sl.System(M=2.0, f=[0.5, -20.0], contacts=[floor])
        sol = sl.solve(block, (0.0, 0.5), [0.0, 0.0], [1.0, 0.0], scheme=method, h=h)
        ends.append(sol.q[-1])
    assert np.array_equal(*ends)


def test_a_body_at_rest_is_not_thrown_up_by_poissons_law():
    floor = sl.Contact(lambda q: q[1], e=0.9, mu=0.3, slip=lambda t, q, v: v[0], impact="poisson")
    block = sl.System(M=2.0, f=[0.5, -20.0], contacts=[floor])
    sol = sl.solve(block, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], scheme=sl.MoreauJean(), h=1e-2)
    assert np.max(np.abs(sol.q)) < 1e-15


# ---- gains of energy


@pytest.mark.parametrize("scheme", STRIKING)
def test_newtons_law_gains_energy_in_kanes_pendulum_and_says_so(scheme):
    method, h = SCHEMES[scheme]
    problem = problems.kane_pendulum(gravity=0.0)
    sol = sl.solve(problem, scheme=method, h=None if h is None else 1e-4)
    q, v = np.array(problem.q0), np.array(problem.v0)
    W = np.array([[np.sin(q[0]), np.cos(q[0])], [np.sin(q[1]), np.cos(q[1])]])
    M = np.array([[4 / 3, np.cos(q[0] - q[1]) / 2], [np.cos(q[0] - q[1]) / 2, 1 / 3]])
    D, u = W.T @ np.linalg.solve(M, W), W.T @ v
    P = newton(D, u, 0.5, 0.5)
    gained = P @ (2 * u + D @ P) / 2
    assert gained == pytest.approx(
        0.5 * (v + np.linalg.solve(M, W @ P)) @ M @ (v + np.linalg.solve(M, W @ P)) - 0.5 * v @ M @ v
    )
    assert gained > 0.5 * (0.5 * v @ M @ v)
    (gain,) = sol.events[sol.events["kind"] == "gain"]
    assert gain["contact"] == "tip" and gain["t"] <= 1e-4
    assert gain["energy"] == pytest.approx(gained, rel=1e-3)
    assert sol.success and "1 impact has gained energy, up to 0.0136 J (contact 'tip'" in sol.message
    assert "1 impact gained energy, up to 0.0136 J at contact tip" in summary(sol, 1.0)


@pytest.mark.parametrize("scheme", STRIKING)
def test_poissons_law_loses_energy_in_kanes_pendulum(scheme):
    method, h = SCHEMES[scheme]
    problem = problems.kane_pendulum(gravity=0.0, law="poisson")
    sol = sl.solve(problem, scheme=method, h=None if h is None else 1e-4)
    q, v = np.array(problem.q0), np.array(problem.v0)
    W = np.array([[np.sin(q[0]), np.cos(q[0])], [np.sin(q[1]), np.cos(q[1])]])
    M = np.array([[4 / 3, np.cos(q[0] - q[1]) / 2], [np.cos(q[0] - q[1]) / 2, 1 / 3]])
    D, u = W.T @ np.linalg.solve(M, W), W.T @ v
    P = poisson(D, u, 0.5, 0.5)
    (impact,) = sol.events[sol.events["kind"] == "impact"]
    assert impact["energy"] == pytest.approx(P @ (2 * u + D @ P) / 2, rel=1e-3) and impact["energy"] < 0.0
    assert not np.any(sol.events["kind"] == "gain")
    assert sol.message == "The run reached the end of its time span."


@pytest.mark.parametrize(
    "problem",
    [
        problems.zeno_ball(e=0.5),
        problems.zeno_ball(e=1.0, t_end=9.0),
        problems.newtons_cradle(),
        problems.clattering_rod(),
        problems.rocking_block(),
        problems.impact_oscillator(),
    ],
    ids=lambda problem: problem.name,
)
def test_impacts_that_gain_nothing_raise_no_alarm(problem):
    span = problem.t_span[1] - problem.t_span[0]
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=span / 997)
    assert not np.any(sol.events["kind"] == "gain")


def test_a_paddle_that_drives_a_ball_is_no_gain():
    paddle = sl.Contact(lambda t, q: q[0] - 0.1 * np.sin(9.0 * t), e=0.9, name="paddle")
    ball = sl.System(M=1.0, f=-9.81, contacts=[paddle])
    sol = sl.solve(ball, (0.0, 3.0), 0.3, 0.0, scheme=sl.EventDriven())
    kinetic = sol.energy.kinetic
    assert np.any(np.diff(kinetic) > 0.1)
    assert not np.any(sol.events["kind"] == "gain")


def random_impact(seed, dim, mu, e):
    """Return one step of a rigid body in the plane or in space that strikes with three points together."""
    rng = np.random.default_rng(seed)
    nv = 3 if dim == 2 else 6
    M = np.diag([1.0] * dim + list(rng.uniform(0.05, 0.5, nv - dim)))
    arms, v0 = rng.uniform(-1.0, 1.0, (3, dim)), rng.normal(size=nv)
    rows = np.zeros((3, dim, nv))
    for k in range(3):
        axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
        rows[k, :, :dim] = axes
        rows[k, :, dim:] = (
            (arms[k, 0] * axes[:, 1] - arms[k, 1] * axes[:, 0])[:, None] if dim == 2 else np.cross(arms[k], axes)
        )
        rows[k, 0] *= -np.sign(rows[k, 0] @ v0)  # all of them approach

    def contact(k):
        N, T = rows[k, 0], rows[k, 1:]
        slip = (lambda t, q, v: T @ v) if dim == 3 else (lambda t, q, v: T[0] @ v)
        return sl.Contact(lambda q: N @ q, e=e[k], mu=mu[k], slip=slip, impact="poisson")

    system = sl.System(M=M, f=np.zeros(nv), contacts=[contact(k) for k in range(3)])
    sol = sl.solve(system, (0.0, 1e-3), np.zeros(nv), v0, scheme=sl.MoreauJean(), h=1e-3)
    return M, rows.reshape(-1, nv).T, v0, sol


@pytest.mark.parametrize("dim", [2, 3])
@settings(max_examples=counted(100, 30), deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1),
    mu=st.lists(st.floats(0.01, 1.5), min_size=3, max_size=3),
    e=st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3),
)
def test_poissons_law_never_gains_energy(dim, seed, mu, e):
    M, W, v0, sol = random_impact(seed, dim, mu, e)
    v = sol.v[-1]
    before, after = v0 @ M @ v0 / 2, v @ M @ v / 2
    assert after <= before * (1.0 + 1e-9)
    P = sol.impulse[0]
    assert M @ (v - v0) == pytest.approx(W @ P, abs=1e-9 * (1.0 + np.abs(P).max()))
    P, u = P.reshape(3, dim), (W.T @ v).reshape(3, dim)
    scale = np.abs(W.T @ v0).max()
    assert np.all(u[:, 0] >= -1e-7 * scale)
    assert np.all(P[:, 0] >= 0.0)
    assert np.all(np.linalg.norm(P[:, 1:], axis=1) <= np.array(mu) * P[:, 0] * (1.0 + 1e-9) + 1e-12)
    assert not np.any(sol.events["kind"] == "gain")
    assert sol.residual.max() <= 1e-7


@pytest.mark.parametrize(("dim", "seed"), [(2, 50), (2, 84), (2, 116), (3, 92)])
def test_an_expansion_that_would_gain_energy_gives_back_just_what_was_lost(dim, seed):
    """With unequal e and friction the expansion alone may gain: there the scaled one ends with the energy before."""
    M, _, v0, sol = random_impact(seed, dim, [1.0, 1.0, 1.0], [1.0, 0.0, 0.0])
    v = sol.v[-1]
    assert v @ M @ v == pytest.approx(v0 @ M @ v0, rel=1e-12)


def test_poissons_law_keeps_joints():
    """A ball on a rail x + y = 0 (joint) strikes the floor: the same as the ball with one degree of freedom."""
    ends = []
    for joints in (True, False):
        if joints:
            floor = sl.Contact(lambda q: q[1], e=0.6, mu=0.4, slip=lambda t, q, v: v[0], impact="poisson")
            rail = sl.Joint(lambda q: q[0] + q[1])
            system = sl.System(M=2.0, f=[0.0, 0.0], contacts=[floor], joints=[rail])
            start = [-0.01, 0.01], [1.0, -1.0]
        else:
            floor = sl.Contact(lambda q: q[0], e=0.6, mu=0.4, slip=lambda t, q, v: -v[0], impact="poisson")
            system = sl.System(M=4.0, f=0.0, contacts=[floor])
            start = 0.01, -1.0
        sol = sl.solve(system, (0.0, 0.03), *start, scheme=sl.MoreauJean(), h=1e-3)
        ends.append((sol.v[-1][-1], sol.impulse.sum(axis=0)))
        if joints:
            assert sol.v[-1].sum() == pytest.approx(0.0, abs=1e-14)
    assert ends[0][0] == pytest.approx(ends[1][0], abs=1e-12)
    assert ends[0][1] == pytest.approx(ends[1][1], abs=1e-12)


# ---- the law itself


def test_the_law_of_the_expansion_is_solved_block_by_block():
    project, solve = interpreted(poisson_law.project), interpreted(poisson_law.solve)
    rng = np.random.default_rng(3)
    worst = 0.0
    for rows, _ in itertools.product((1, 2, 3), range(150)):
        A = rng.normal(size=(rows, rows + 2))
        D, b, mu, floor = A @ A.T, 2.0 * rng.normal(size=rows), rng.uniform(0.0, 1.5), abs(rng.normal())
        flat, padded, P = np.zeros(9), np.zeros(3), np.zeros(3)
        flat.reshape(3, 3)[:rows, :rows], padded[:rows] = D, b
        assert solve(rows, mu, floor, flat, padded, P) == 0
        P = P[:rows]
        u = D @ P + b
        assert P[0] >= floor and np.linalg.norm(P[1:]) <= mu * P[0] * (1.0 + 1e-12)
        pulled = np.zeros(3)
        pulled[:rows] = P - u
        pulled[0] -= mu * np.linalg.norm(u[1:])
        project(rows, mu, floor, pulled)
        worst = max(worst, np.abs(P - pulled[:rows]).max() / np.linalg.norm(b))
    assert worst < 1e-10


@pytest.mark.parametrize("seed", [9, 27, 31, 59])
def test_an_expansion_that_sweeps_would_solve_slowly_is_solved_at_once(seed):
    """Corners of a box in space: the law is checked as it is written, and sweeps alone come to the same velocities."""
    rng = np.random.default_rng(seed)
    halves, mu, corners = rng.uniform(0.1, 0.5, 3), rng.uniform(0.5, 1.0), int(rng.integers(2, 5))
    inverse = np.r_[1.0, 1.0, 1.0, 3.0 / (np.square(halves).sum() - np.square(halves))]
    W = []
    for signs in list(itertools.product((-1.0, 1.0), repeat=2))[:corners]:
        arm = halves * [*signs, -1.0]
        W += [np.r_[axis, np.cross(arm, axis)] for axis in np.eye(3)[[2, 0, 1]]]
    W, n = np.array(W), 3 * corners
    b, floor = W @ rng.normal(size=6), np.abs(rng.normal(size=corners)) * 0.3 * (rng.random(corners) < 0.7)
    columns, rows = np.tile(np.arange(6), n), np.array([[6 * i, 6 * i + 6] * 2 for i in range(n)]).ravel()
    blocks = np.array([[2, 3 * k, 3] for k in range(corners)]).ravel()
    contacts = Contacts(
        6, blocks, rows, columns, W.ravel(), columns, (W * inverse).ravel(), b, np.full(corners, mu)
    )  # fmt: skip
    expand, ends = interpreted(expansion.expand), []
    for few in (n, 0):  # without room Newton's method does nothing
        work = expansion.EXPANDING.plan({"few": few, "nr": n, "nc": corners, "nv": 6}).allocate().record
        P, u, info = np.zeros(n), np.zeros(n), np.zeros(2)
        P[::3] = floor
        assert expand(contacts, floor, P, u, info, work) == 0
        ends.append((u, info[1]))
        assert np.abs(W @ (inverse * (W.T @ P)) + b - u).max() <= 1e-13 * np.abs(b).max()
        normal, size = P[::3], np.abs(b).max()
        friction, slip = P.reshape(-1, 3)[:, 1:], u.reshape(-1, 3)[:, 1:]
        assert np.all(normal >= floor) and np.all(u[::3] >= -1e-11 * size)
        assert np.abs((normal - floor) * u[::3]).max() <= 1e-11 * size**2
        assert np.all(np.linalg.norm(friction, axis=1) <= mu * normal * (1.0 + 1e-12))
        lost = -(friction * slip).sum(axis=1)
        assert np.abs(lost - mu * normal * np.linalg.norm(slip, axis=1)).max() <= 1e-11 * size**2
    assert ends[0][1] <= expansion.EXPANSION.first_sweeps < ends[1][1]
    assert np.abs(ends[0][0] - ends[1][0]).max() <= 1e-9 * np.abs(b).max()


# ---- what is refused


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"e_t": 1.5}, "e_t of contact 'floor' is 1.5: a tangential restitution lies between 0 and 1"),
        ({"e_t": -0.5}, "between 0 and 1"),
        ({"e_t": "much"}, "must be a finite number"),
        ({"e_t": 0.5, "slip": None, "mu": 0.0}, "it has no slip"),
        ({"impact": "stronge"}, "it must be 'newton' or 'poisson'"),
        ({"impact": "poisson", "e_t": 0.5}, "take e_t=0"),
    ],
)
def test_bad_impact_laws_are_refused(given, says):
    usual = {"e": 0.5, "mu": 0.3, "slip": lambda t, q, v: v[0], "name": "floor"}
    with pytest.raises(ModelError, match=says):
        sl.Contact(lambda q: q[1], **{**usual, **given})


def test_two_laws_of_impacts_in_one_system_are_refused():
    walls = [sl.Contact(lambda q: q[0], name="left"), sl.Contact(lambda q: 1.0 - q[0], impact="poisson", name="right")]
    with pytest.raises(ModelError, match=r"contact 'left' has impact='newton', contact 'right' another law"):
        sl.System(M=1.0, f=0.0, contacts=walls)


@pytest.mark.parametrize("scheme", [sl.PaoliVelocity(), sl.SchatzmanPaoli(), sl.GeneralizedAlpha()])
@pytest.mark.parametrize("given", [{"impact": "poisson"}, {"e_t": 0.5, "mu": 0.3, "slip": lambda t, q, v: v[0]}])
def test_schemes_that_cannot_do_a_law_say_so(scheme, given):
    ball = sl.System(M=1.0, f=[0.0, -9.81], contacts=[sl.Contact(lambda q: q[1], e=0.5, **given)])
    with pytest.raises(SettingError, match="cannot do"):
        sl.solve(ball, (0.0, 1.0), [0.0, 1.0], [0.0, 0.0], scheme=scheme, h=1e-2)
