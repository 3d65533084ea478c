"""What holds for every run, whatever its numbers: balances, inequalities, symmetries."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import saltus as sl
from saltus import problems
from saltus.system import arity

ROUNDING = 1e-12
# systems differ in numbers, never in structure: nothing compiles again
bounded = settings(max_examples=30, deadline=None, derandomize=True, database=None)


def lists(low: float, high: float, size: int):
    return st.lists(st.floats(low, high), min_size=size, max_size=size)


# ---- the laws, evaluated from the user's own functions


class Rows:
    """W and w of contacts and joints at (t, q) by complex steps: exact, and independent of the library."""

    TINY = 1e-30

    def __init__(self, system: sl.System, t: float, q: np.ndarray, nv: int):
        self.system, self.t, self.q, self.nv = system, t, q, nv
        basis = np.eye(nv)
        self.directions = [basis[i] if system.q_dot is None else np.array(system.q_dot(q, basis[i])) for i in range(nv)]

    def of(self, function) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and constants of the rate of a function of (q) or (t, q)."""
        timed = arity(function, "function") == 2

        def imaginary(t, q):
            return np.atleast_1d(np.array(function(t, q) if timed else function(q))).imag / self.TINY

        W = np.array([imaginary(self.t, self.q + 1j * self.TINY * d) for d in self.directions]).T
        w = imaginary(self.t + 1j * self.TINY, self.q + 0j) if timed else np.zeros(len(W))
        return W, w

    def contact(self, contact: sl.Contact) -> tuple[np.ndarray, np.ndarray]:
        W, w = self.of(contact.gap)
        if contact.slip is None:
            return W, w
        basis, zero = np.eye(self.nv), np.zeros(self.nv)
        w_T = np.atleast_1d(contact.slip(self.t, self.q, zero))
        W_T = np.array([np.atleast_1d(contact.slip(self.t, self.q, v)) - w_T for v in basis]).T
        return np.vstack([W, W_T]), np.concatenate([w, w_T])


def value(quantity, t, q, v) -> np.ndarray:
    if callable(quantity):
        arguments = {1: (q,), 2: (t, q), 3: (t, q, v)}[arity(quantity, "function")]
        quantity = quantity(*arguments)
    return np.array(quantity, dtype=float)


def mass_matrix(system: sl.System, t, q, nv) -> np.ndarray:
    M = value(system.M, t, q, None)
    return np.eye(nv) * M if M.ndim == 0 else np.diag(M) if M.ndim == 1 else M


def total_force(system: sl.System, t, q, v) -> np.ndarray:
    f = np.broadcast_to(value(system.f, t, q, v), v.shape).copy()
    for matrix, x in ((system.K, q), (system.C, v)):
        if matrix is not None:
            f -= np.asarray(matrix) @ x
    return f


def middle_position(system: sl.System, q, v_theta, h) -> np.ndarray:
    if system.q_dot is None:
        return q + 0.5 * h * v_theta
    middle = q
    for _ in range(60):
        middle = q + 0.5 * h * np.array(system.q_dot(middle, v_theta))
    return middle


LAWS, BALANCE = 1e-9, 1e-10  # relative errors of velocities and of momentum that iterations may leave
UNDECIDED = 1e-12  # [m] forecasts that rounding may call open or closed


def check_steps(sol: sl.Solution, h: float) -> int:
    """Check momentum, Newton's and Coulomb's law in each step of a theta = 1/2 run; count what pushes."""
    system, nv, seen = sol.system, sol.v.shape[1], 0
    for k in range(len(sol.t) - 1):
        q, v, v_new = sol.q[k], sol.v[k], sol.v[k + 1]
        v_theta, t = 0.5 * (v + v_new), sol.t[k] + 0.5 * h
        at = middle_position(system, q, v_theta, h)
        rows, start = Rows(system, t, at, nv), Rows(system, sol.t[k], q, nv)
        M = mass_matrix(system, t, at, nv)
        free = h * total_force(system, t, at, v_theta)
        push, r = np.zeros(nv), 0
        speed = max(np.max(np.abs(x)) for x in (v, v_new, np.linalg.solve(M, free)))
        for contact in system.contacts:
            W, w = rows.contact(contact)
            P = sol.impulse[k, r : r + len(W)]
            r += len(W)
            push += W.T @ P
            u, u_new = W @ v + w, W @ v_new + w
            scale = np.max(np.abs(W)) * speed + np.max(np.abs(w))
            bounce = u_new[0] + contact.e * u[0]
            assert P[0] >= 0.0
            W_start, w_start = start.contact(contact)
            forecast = gap_of(contact, sol.t[k], q) + 0.5 * h * (W_start[0] @ v + w_start[0])
            if forecast > UNDECIDED:
                assert np.all(P == 0.0)
            if forecast < -UNDECIDED:
                assert bounce >= -LAWS * scale
            if P[0] > 0.0:
                seen += 1
                assert abs(bounce) <= LAWS * scale
            if len(W) > 1:
                P_T, u_T = P[1:], u_new[1:]
                assert np.linalg.norm(P_T) <= contact.mu * P[0] * (1.0 + ROUNDING)
                slip = np.linalg.norm(u_T)
                off = np.linalg.norm(slip * P_T + contact.mu * P[0] * u_T)
                assert off <= 2.0 * LAWS * scale * contact.mu * P[0]
        r = 0
        for joint in system.joints:
            W, w = rows.of(joint.constraint)
            push += W.T @ sol.joint_impulse[k, r : r + len(W)]
            r += len(W)
        scale = np.abs(M) @ (np.abs(v) + np.abs(v_new)) + np.abs(free) + np.abs(push)
        defect = M @ (v_new - v) - free - push
        assert np.all(np.abs(defect) <= BALANCE * np.max(scale)), f"step {k}: {defect}"
    return seen


def gap_of(contact: sl.Contact, t: float, q: np.ndarray) -> float:
    return float(value(contact.gap, t, q, None))


# ---- momentum and laws on the problem library

# problem, number of steps
RUNS = {
    "bead_column": (problems.bead_column(n=5), 500),
    "impact_oscillator": (problems.impact_oscillator(), 377),
    "zeno_ball": (problems.zeno_ball(), 353),
    "driven_pendulum": (problems.driven_pendulum(), 377),
    "impacting_bar": (problems.impacting_bar(n=10), 375),
    "newtons_cradle": (problems.newtons_cradle(n=5, e=0.7), 79),
    "rolling_sphere": (problems.rolling_sphere(), 100),
    "sliding_block": (problems.sliding_block(v0=-2.0), 143),
    "slider_crank": (problems.slider_crank(t_end=0.04), 200),
    "rod_pendulum": (problems.rod_pendulum(), 100),
    "double_pendulum": (problems.double_pendulum(), 150),
    "spinning_top": (problems.spinning_top(), 200),
    "four_bar": (problems.four_bar(t_end=0.1), 200),
    "tumbling_box": (problems.tumbling_box(), 200),
}


@pytest.fixture(scope="module")
def run():
    """Return a function that solves a problem of RUNS once."""
    made: dict[str, sl.Solution] = {}

    def solved(name: str) -> sl.Solution:
        if name not in made:
            problem, steps = RUNS[name]
            made[name] = sl.solve(problem, scheme=sl.MoreauJean(), h=problem.t_span[1] / steps)
        return made[name]

    return solved


@pytest.mark.parametrize("name", RUNS)
def test_every_step_balances_momentum_and_obeys_the_contact_laws(run, name):
    problem, steps = RUNS[name]
    sol = run(name)
    assert len(sol.t) == steps + 1
    seen = check_steps(sol, problem.t_span[1] / steps)
    assert (seen > 0) == bool(sol.system.contacts)


@pytest.mark.parametrize("name", RUNS)
def test_every_step_carries_a_certificate(run, name):
    sol = run(name)
    assert sol.residual.shape == (len(sol.t) - 1,)
    assert np.max(sol.residual) <= 1e-10


FRICTIONAL = [name for name, (problem, _) in RUNS.items() if any(c.mu > 0.0 for c in problem.system.contacts)]


@pytest.mark.parametrize("name", FRICTIONAL)
def test_friction_stays_in_its_cone(run, name):
    sol = run(name)
    for contact_name, contact in zip(sol.system.contact_names, sol.system.contacts, strict=True):
        columns = [r for r, (owner, _) in enumerate(sol.rows) if owner == contact_name]
        P = sol.impulse[:, columns]
        assert np.all(P[:, 0] >= 0.0)
        assert np.all(np.linalg.norm(P[:, 1:], axis=1) <= contact.mu * P[:, 0] * (1.0 + ROUNDING))


# ---- energy of frictionless impacts

N = 4


def beads(masses, e: float, *, stiffness: float = 0.0, gravity: float = 0.0, width: float = 3.0) -> sl.System:
    """Points on a line between two walls, neighbours in contact when they meet, tied by springs."""
    ties = np.diff(np.eye(N), axis=0)
    return sl.System(
        M=np.asarray(masses, float),
        f=-gravity * np.asarray(masses, float),
        contacts=[
            sl.Contact(lambda q: q[0], e=e, name="left"),
            *[sl.Contact(lambda q, i=i: q[i + 1] - q[i], e=e, name=f"{i}-{i + 1}") for i in range(N - 1)],
            sl.Contact(lambda q: width - q[N - 1], e=e, name="right"),
        ],
        # a spring rate below rounding keeps the structure of the model where none is wanted
        K=max(stiffness, 1e-300) * ties.T @ ties,
    )


def spread(shares) -> np.ndarray:
    """Return positions between the walls in order."""
    cuts = np.cumsum([0.1 + share for share in shares])
    return 3.0 * cuts[:N] / cuts[N]


def mechanical_energy(sol: sl.Solution, gravity: float = 0.0) -> np.ndarray:
    M, K = np.asarray(sol.system.M), np.asarray(sol.system.K)
    kinetic = 0.5 * (sol.v**2) @ M
    return kinetic + 0.5 * np.einsum("ki,ij,kj->k", sol.q, K, sol.q) + gravity * sol.q @ M


MASSES, SPEEDS, SHARES = lists(0.1, 10.0, N), lists(-3.0, 3.0, N), lists(0.0, 1.0, N + 1)
conserving = pytest.mark.parametrize("scheme", [sl.MoreauJean(), sl.GeneralizedAlpha(1.0)], ids=lambda s: s.name)
damping = pytest.mark.parametrize("scheme", [sl.MoreauJean(), sl.GeneralizedAlpha(0.3)], ids=lambda s: s.name)


@damping
@bounded
@given(MASSES, SPEEDS, SHARES, st.floats(0.0, 1.0), st.floats(0.01, 0.1))
def test_impacts_with_one_restitution_never_gain_energy(scheme, masses, speeds, shares, e, h):
    sol = sl.solve(beads(masses, e), (0.0, 5.0), spread(shares), speeds, scheme=scheme, h=h)
    kinetic = sol.energy.kinetic
    assert np.all(np.diff(kinetic) <= ROUNDING * kinetic[0])
    assert np.all(np.diff(sol.energy.dissipation.sum(axis=1)) >= -ROUNDING * kinetic[0])


@conserving
@bounded
@given(MASSES, SPEEDS, SHARES, st.floats(0.0, 20.0), st.floats(0.0, 10.0), st.floats(0.01, 0.1))
def test_elastic_impacts_and_linear_forces_keep_energy(scheme, masses, speeds, shares, stiffness, gravity, h):
    system = beads(masses, 1.0, stiffness=stiffness, gravity=gravity)
    sol = sl.solve(system, (0.0, 5.0), spread(shares), speeds, scheme=scheme, h=h)
    energy = mechanical_energy(sol, gravity)
    scale = np.max(sol.energy.kinetic) + np.max(np.abs(energy))
    assert np.max(np.abs(energy - energy[0])) <= 1e-11 * max(scale, 1e-300)


@damping
@bounded
@given(MASSES, SPEEDS, SHARES, st.floats(0.0, 1.0), st.floats(0.0, 20.0), st.floats(0.0, 10.0))
def test_the_energy_ledger_closes_for_linear_systems(scheme, masses, speeds, shares, e, stiffness, gravity):
    system = beads(masses, e, stiffness=stiffness, gravity=gravity)
    sol = sl.solve(system, (0.0, 5.0), spread(shares), speeds, scheme=scheme, h=0.03)
    scale = np.max(sol.energy.kinetic) + np.max(np.abs(sol.energy.work))
    assert np.max(np.abs(sol.energy.defect)) <= 1e-11 * max(scale, 1e-300)


def test_a_million_elastic_impacts_keep_the_energy():
    wall = [
        sl.Contact(lambda q: q[0] + 1.0, e=1.0, name="left"),
        sl.Contact(lambda q: 1.0 - q[0], e=1.0, name="right"),
    ]
    system = sl.System(M=0.7, f=-0.3, contacts=wall, K=1.3)

    def energy(q, v):
        return 0.35 * v**2 + 0.65 * q**2 + 0.3 * q

    q, v, impacts, started = 0.1, 9.0, 0, energy(0.1, 9.0)
    while impacts < 1_000_000:
        # continued in pieces: a table of a million events is not wanted
        keeping = {"save": "events", "start_tolerance": 1.0}
        sol = sl.solve(system, (0.0, 30_000.0), q, v, scheme=sl.MoreauJean(theta=0.5), h=0.1, **keeping)
        impacts += int(np.sum(sol.events["kind"] == "impact"))
        assert np.max(np.abs(energy(sol.q, sol.v) / started - 1.0)) <= 1e-9
        q, v = sol.q[-1], sol.v[-1]


@damping
@bounded
@given(MASSES, SPEEDS, SHARES, st.floats(0.0, 1.0))
def test_each_single_impact_loses_what_newtons_law_says(scheme, masses, speeds, shares, e):
    sol = sl.solve(beads(masses, e), (0.0, 3.0), spread(shares), speeds, scheme=scheme, h=0.01)
    lost = np.diff(sol.energy.dissipation, axis=0)
    inverse = 1.0 / np.array(masses)
    contact_inverse = [inverse[0], *(a + b for a, b in pairwise(inverse)), inverse[-1]]
    names = sol.system.contact_names
    scale = sol.energy.kinetic[0]
    for event in sol.events[sol.events["kind"] == "impact"]:
        if np.count_nonzero(sol.events["t"] == event["t"]) > 1:
            continue  # simultaneous impacts share their losses
        k, c = int(np.argmin(np.abs(sol.t - event["t"]))), names.index(event["contact"])
        if np.count_nonzero(sol.impulse[k - 1]) > 1:
            continue
        u_minus, u_plus, P = event["u_minus"][0], event["u_plus"][0], event["impulse"][0]
        m = 1.0 / contact_inverse[c]
        assert u_plus == pytest.approx(-e * u_minus, rel=1e-9, abs=1e-13)
        assert pytest.approx((1.0 + e) * m * -u_minus, rel=1e-9) == P
        expected = 0.5 * (1.0 - e**2) * m * u_minus**2
        assert lost[k - 1, c] == pytest.approx(expected, rel=1e-9, abs=ROUNDING * scale)
        drop = sol.energy.kinetic[k - 1] - sol.energy.kinetic[k]
        assert drop == pytest.approx(expected, rel=1e-6, abs=1e-11 * scale)


@damping
@bounded
@given(MASSES, SPEEDS, SHARES, st.floats(0.0, 1.0))
def test_impacts_between_beads_keep_momentum(scheme, masses, speeds, shares, e):
    sol = sl.solve(beads(masses, e, width=3.0), (0.0, 3.0), spread(shares), speeds, scheme=scheme, h=0.02)
    momentum = sol.v @ np.array(masses)
    walls = np.cumsum(sol.impulse[:, 0] - sol.impulse[:, -1])
    scale = np.max(np.abs(sol.v)) * sum(masses)
    assert np.max(np.abs(momentum[1:] - momentum[0] - walls)) <= ROUNDING * scale


# ---- friction


def sledge(mu, *, spatial: bool, stiffness: float, weights) -> sl.System:
    """Three bodies tied by springs, each pressed on the floor with its own friction; W is constant."""
    d = 3 if spatial else 2
    ties = np.diff(np.eye(3), axis=0)

    def floor(i: int) -> sl.Contact:
        slip = (lambda t, q, v: v[d * i : d * i + 2]) if spatial else (lambda t, q, v: v[d * i])
        return sl.Contact(lambda q: q[d * i + d - 1], e=0.3, mu=mu[i], slip=slip, name=f"foot {i}")

    K = stiffness * np.kron(ties.T @ ties + 0.1 * np.eye(3), np.eye(d))
    f = np.kron(-np.asarray(weights, float), np.eye(d)[-1])
    return sl.System(M=np.repeat([1.0, 2.0, 0.5], d), f=f, contacts=[floor(i) for i in range(3)], K=K)


@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
@bounded
@given(st.data())
def test_friction_does_no_positive_work_and_stays_in_its_cone(spatial, data):
    d = 3 if spatial else 2
    mu, weights = data.draw(lists(0.05, 1.0, 3)), data.draw(lists(1.0, 30.0, 3))
    system = sledge(mu, spatial=spatial, stiffness=data.draw(st.floats(1.0, 50.0)), weights=weights)
    q0, v0 = np.array(data.draw(lists(0.0, 0.3, 3 * d))), np.array(data.draw(lists(-2.0, 2.0, 3 * d)))
    sol = sl.solve(system, (0.0, 2.0), q0, v0, scheme=sl.MoreauJean(), h=0.01)
    P = sol.impulse.reshape(len(sol.t) - 1, 3, d)
    u_T = sol.v[1:].reshape(-1, 3, d)[:, :, : d - 1]
    P_N, P_T = P[:, :, 0], P[:, :, 1:]
    assert np.all(np.linalg.norm(P_T, axis=2) <= np.array(mu) * P_N * (1.0 + ROUNDING))
    power = np.sum(P_T * u_T, axis=2)
    size = np.max(P_N) * np.max(np.abs(sol.v))
    assert np.max(power) <= ROUNDING * size
    assert np.max(sol.residual) <= 1e-10


@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
def test_coupled_friction_balances_momentum_and_obeys_the_laws(spatial):
    d = 3 if spatial else 2
    system = sledge([0.3, 0.1, 0.7], spatial=spatial, stiffness=20.0, weights=[10.0, 20.0, 5.0])
    random = np.random.default_rng(7)
    q0, v0 = random.uniform(0.0, 0.1, 3 * d), random.uniform(-2.0, 2.0, 3 * d)
    sol = sl.solve(system, (0.0, 1.0), q0, v0, scheme=sl.MoreauJean(), h=0.01)
    assert check_steps(sol, 0.01) > 100


# ---- order of contacts


# every order is a structure of its own and compiles: a few suffice
@bounded
@given(st.sampled_from([(4, 3, 2, 1, 0), (2, 0, 4, 1, 3)]), MASSES, SPEEDS, SHARES, st.floats(0.0, 1.0))
def test_the_order_of_contacts_does_not_matter(order, masses, speeds, shares, e):
    system = beads(masses, e, stiffness=1.0, gravity=1.0)
    shuffled = sl.System(system.M, system.f, [system.contacts[i] for i in order], K=system.K)
    start = {"t_span": (0.0, 0.5), "q0": spread(shares), "v0": speeds}
    one, two = (sl.solve(s, **start, scheme=sl.MoreauJean(), h=0.01) for s in (system, shuffled))
    np.testing.assert_allclose(two.v, one.v, rtol=0.0, atol=1e-10 * max(np.abs(one.v).max(), 1.0))
    np.testing.assert_allclose(two.impulse, one.impulse[:, list(order)], rtol=0.0, atol=1e-9 * max(masses))


@pytest.mark.parametrize("spatial", [False, True], ids=["plane", "space"])
def test_the_order_of_frictional_contacts_does_not_matter(spatial):
    d = 3 if spatial else 2
    system = sledge([0.3, 0.1, 0.7], spatial=spatial, stiffness=20.0, weights=[10.0, 20.0, 5.0])
    turned = sl.System(system.M, system.f, system.contacts[::-1], K=system.K)
    random = np.random.default_rng(3)
    q0, v0 = random.uniform(0.0, 0.1, 3 * d), random.uniform(-2.0, 2.0, 3 * d)
    one, two = (sl.solve(s, (0.0, 1.0), q0, v0, scheme=sl.MoreauJean(), h=0.01) for s in (system, turned))
    np.testing.assert_allclose(two.v, one.v, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(two.q, one.q, rtol=0.0, atol=1e-8)


# ---- units


def scaled_column(L, T, m) -> sl.Problem:
    return problems.bead_column(
        n=4, mass=m, gravity=9.81 * L / T**2, radius=0.1 * L, height=1.0 * L, spacing=0.25 * L, t_end=T
    )


def scaled_block(L, T, m) -> sl.Problem:
    return problems.sliding_block(mass=m, gravity=9.81 * L / T**2, v0=1.0 * L / T, t_end=T)


def scaled_crank(L, T, m) -> sl.Problem:
    lengths = {"l1": 0.153 * L, "l2": 0.306 * L, "a": 0.05 * L, "b": 0.025 * L, "c": 0.001 * L}
    masses = {"m1": 0.038 * m, "m2": 0.038 * m, "m3": 0.076 * m}
    inertias = {"J1": 7.4e-5 * m * L**2, "J2": 5.9e-4 * m * L**2, "J3": 2.7e-6 * m * L**2}
    motion = {"gravity": 9.81 * L / T**2, "v0": (150.0 / T, -75.0 / T, 0.0), "t_end": 0.01 * T}
    return problems.slider_crank(**lengths, **masses, **inertias, **motion)


# problem of (length, time, mass), step [s], unit of q and of P in powers of (length, time, mass)
UNITS = {
    "bead_column": (scaled_column, 2.0**-9, (1, 0, 0), (1, -1, 1)),
    "sliding_block": (scaled_block, 2.0**-7, (1, 0, 0), (1, -1, 1)),
    "slider_crank": (scaled_crank, 1e-4, (0, 0, 0), (1, -1, 1)),
}


def runs_in_units(name, L, T, m) -> tuple[sl.Solution, sl.Solution, float, float]:
    build, h, q_unit, P_unit = UNITS[name]
    one = sl.solve(build(1.0, 1.0, 1.0), scheme=sl.MoreauJean(), h=h)
    two = sl.solve(build(L, T, m), scheme=sl.MoreauJean(), h=h * T)
    factor = np.array([L, T, m])
    return one, two, float(np.prod(factor ** np.array(q_unit))), float(np.prod(factor ** np.array(P_unit)))


@pytest.mark.parametrize("name", UNITS)
@bounded
@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-20, 20))
def test_binary_units_change_no_bit(name, length, time, mass):
    L, T, m = 2.0**length, 2.0**time, 2.0**mass
    one, two, q_unit, P_unit = runs_in_units(name, L, T, m)
    np.testing.assert_array_equal(two.t, one.t * T)
    np.testing.assert_array_equal(two.q, one.q * q_unit)
    np.testing.assert_array_equal(two.v, one.v * (q_unit / T))
    np.testing.assert_array_equal(two.impulse, one.impulse * P_unit)
    np.testing.assert_array_equal(two.events["kind"], one.events["kind"])


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize(("L", "T", "m"), [(1e3, 1.0, 1e3), (0.3048, 60.0, 0.4536), (1e-6, 1e-3, 1e-9)])
def test_units_do_not_matter(name, L, T, m):
    one, two, q_unit, P_unit = runs_in_units(name, L, T, m)
    for ours, theirs, unit in (
        (two.q, one.q, q_unit),
        (two.v, one.v, q_unit / T),
        (two.impulse, one.impulse, P_unit),
    ):
        scale = np.max(np.abs(theirs)) * unit
        np.testing.assert_allclose(ours, theirs * unit, rtol=0.0, atol=1e-9 * scale)
