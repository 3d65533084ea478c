"""Contact forces that are not unique: redundant feet act as the fewest that hold the body, and none of them pulls."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import linprog

import saltus as sl
from saltus.build.model import compile_model
from saltus.compile.seam import interpreted
from saltus.lasting.index_set import INDEX
from saltus.lasting.split import SPLIT_TUNED, admit
from saltus.lasting.workspace import SPLITTING
from saltus.memory.layout import sizes_of
from sliding_table import SlidingTable

GRAVITY = 9.81
SCHEMES = {"HpTDG": (None, 1.0), "EventDriven": (sl.EventDriven(), 30.0)}


def admissible(sol, mu: float = 0.0, *, share: float = 1e-9) -> bool:
    """Whether all contact forces push and stay in their cones at random times."""
    rows = 1 if mu == 0.0 else len(sol.force_at(sol.t[0])) // len(sol.system.contacts)
    t = np.random.default_rng(7).uniform(sol.t[0], sol.t[-1], 300)
    r = np.array([sol.force_at(time) for time in t]).reshape(len(t), -1, rows)
    scale = share * np.abs(r).max()
    return bool(np.all(r[..., 0] >= -scale) and np.all(np.linalg.norm(r[..., 1:], axis=2) <= mu * r[..., 0] + scale))


# ---- the split itself


def shares(n: int, rows: int, mu: float, wrench: np.ndarray, directions: np.ndarray):
    """Return forces of n contacts, their margin and the matrix of the equations that they satisfy."""
    slip = None if rows == 1 else (lambda t, q, v: v[0] if rows == 2 else [v[0], v[1]])
    system = sl.System(
        M=np.ones(3),
        f=np.zeros(3),
        contacts=[sl.Contact(lambda q: q[2], mu=mu if rows > 1 else 0.0, slip=slip) for _ in range(n)],
    )
    model = compile_model(system, 0.0, np.zeros(3), np.zeros(3)).units
    layout = model.layout
    x = np.linalg.pinv(directions) @ wrench
    N = null_space(directions).T
    index, involved = np.full(n, INDEX.stick if rows > 1 else INDEX.slip), np.zeros(n, dtype=np.int64)
    size = n * rows
    margin = interpreted(admit)(
        model, index, size, len(N), N.ravel().copy(), np.ones(size), x, 0.0, involved,
        SPLITTING.plan(sizes_of(layout)).allocate().record,
    )  # fmt: skip
    return x, margin, involved


@pytest.mark.parametrize("seed", range(30))
def test_a_split_is_found_exactly_where_linear_programming_finds_one(seed):
    rng = np.random.default_rng(seed)
    n, rows, mu = int(rng.integers(3, 7)), int(rng.integers(1, 3)), float(rng.uniform(0.2, 1.0))
    directions = rng.standard_normal((rows * n - int(rng.integers(1, n)), rows * n))
    forces = rng.standard_normal(rows * n)
    forces[::rows] = np.abs(forces[::rows]) * rng.uniform(-0.5, 1.0)
    x, margin, _ = shares(n, rows, mu, directions @ forces, directions)
    assert np.abs(directions @ (x - forces)).max() <= 1e-12 * np.abs(forces).max()
    # the largest m for which all normal forces may be lowered by m
    bounds, right = [], np.zeros(n if rows == 1 else 2 * n)
    for k in range(n):
        for sign in (0.0,) if rows == 1 else (-1.0, 1.0):
            row = np.zeros(rows * n + 1)
            row[rows * k], row[-1] = -1.0, 1.0
            if rows == 2:
                row[rows * k + 1] = sign / mu
            bounds.append(row)
    best = linprog(
        np.r_[np.zeros(rows * n), -1.0], A_ub=np.array(bounds), b_ub=right,
        A_eq=np.c_[directions, np.zeros(len(directions))], b_eq=directions @ forces, bounds=(-1e3, 1e3),
    )  # fmt: skip
    largest = -best.fun
    if largest > 1e-9:
        r = x.reshape(n, rows)
        assert 0.0 < margin <= largest * (1.0 + 1e-9)
        assert np.all(r[:, 0] > 0.0) and np.all(np.abs(r[:, 1:]) <= mu * r[:, :1])
    else:
        assert margin == pytest.approx(largest, rel=2e-3)


def test_the_split_is_the_shortest_one_where_that_is_far_from_its_bounds():
    directions = np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0]])
    x, margin, involved = shares(3, 1, 0.0, np.array([3.0, 0.2]), directions)
    assert x == pytest.approx([0.9, 1.0, 1.1], abs=3.0 * SPLIT_TUNED.barrier)
    assert margin == pytest.approx(x.min()) and list(involved) == [1, 1, 1]


@functools.cache
def rough_laws(n: int, mu: float):
    """Return what the split sees of a model of n contacts with friction in two directions."""
    contact = functools.partial(sl.Contact, lambda q: q[2], mu=mu, slip=lambda t, q, v: [v[0], v[1]])
    system = sl.System(M=np.ones(3), f=np.zeros(3), contacts=[contact() for _ in range(n)])
    return compile_model(system, 0.0, np.zeros(3), np.zeros(3)).units


@pytest.mark.parametrize("seed", range(40, 80))
def test_the_split_is_the_lowest_one_however_near_to_their_cones_forces_begin(seed):
    """Its gradient vanishes along all directions in which forces are free; some contacts slip, others stick."""
    rng = np.random.default_rng(seed)
    n, mu = int(rng.integers(3, 7)), [0.2, 0.5, 1.0][int(rng.integers(3))]
    rows = np.where(rng.random(n) < 0.4, 3, 1)
    rows[0] = rows[0] if (rows == 3).any() else 3
    size, first = int(rows.sum()), np.cumsum(rows) - rows
    directions = rng.standard_normal((size - int(rng.integers(1, n)), size))
    forces = 0.5 * rng.standard_normal(size)
    for at, count in zip(first, rows, strict=True):
        forces[at] = abs(forces[at]) + 10.0 ** rng.uniform(-3.0, 0.0)
        if count == 3:
            angle, inside = rng.uniform(0.0, 2.0 * np.pi), 1.0 - 10.0 ** -rng.uniform(0.0, 7.0)
            forces[at + 1 : at + 3] = mu * forces[at] * inside * np.array([np.cos(angle), np.sin(angle)])
    x, N = np.linalg.pinv(directions) @ directions @ forces, null_space(directions).T
    weight, model = 1.0 / (x @ x), rough_laws(n, mu)
    margin = interpreted(admit)(
        model, np.where(rows == 3, INDEX.stick, INDEX.slip), size, len(N), N.ravel().copy(), np.ones(size), x, 0.0,
        np.zeros(n, dtype=np.int64), SPLITTING.plan(sizes_of(model.layout)).allocate().record,
    )  # fmt: skip
    assert margin > 0.0
    gradient = N @ x * weight
    for at, count in zip(first, rows, strict=True):
        own, along = x[at : at + count], N[:, at : at + count]
        shape = np.r_[1.0, -np.ones(count - 1) / mu**2]
        inside = own @ (shape * own)
        gradient -= SPLIT_TUNED.barrier * (2.0 if count == 3 else 1.0) * along @ (shape * own) / inside
    assert np.abs(gradient).max() <= 1e-6 * weight * np.abs(x).max()


def test_forces_that_are_unique_are_left_alone():
    directions = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])  # the first force is known, the others share one
    x, _, involved = shares(3, 1, 0.0, np.array([-0.3, 2.0]), directions)
    assert x == pytest.approx([-0.3, 1.0, 1.0]) and list(involved) == [0, 1, 1]


# ---- runs


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("feet", [2, 3, 6])
def test_a_body_lifted_from_coincident_feet_leaves_them_when_the_load_is_zero(feet, name):
    scheme, allowed = SCHEMES[name]
    body = sl.System(
        M=1.0, f=lambda t, q, v: [-GRAVITY + 20.0 * t], contacts=[sl.Contact(lambda q: q[0]) for _ in range(feet)]
    )
    free = GRAVITY / 20.0
    for tol in (1e-4, 1e-7, 1e-10):
        sol = sl.solve(body, (0.0, 1.0), 0.0, 0.0, tol=tol, scheme=scheme)
        assert list(sol.events["kind"]) == ["release"] * feet
        assert np.abs(sol.events["t"] - free).max() <= 1e-6
        t = np.linspace(0.0, 1.0, 401)
        z = 20.0 * np.maximum(t - free, 0.0) ** 3 / 6.0
        assert np.abs(sol(t).q[:, 0] - z).max() <= allowed * tol * (1.0 + z.max())
        assert admissible(sol)


@pytest.mark.parametrize("name", SCHEMES)
def test_feet_with_friction_slip_together_when_the_pull_exceeds_all_of_them(name):
    scheme, allowed = SCHEMES[name]
    mu, feet, tol = 0.5, 3, 1e-7
    body = sl.System(
        M=[1.0, 1.0],
        f=lambda t, q, v: [10.0 * t, -GRAVITY],
        contacts=[sl.Contact(lambda q: q[1], mu=mu, slip=lambda t, q, v: v[0]) for _ in range(feet)],
    )
    sol = sl.solve(body, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], tol=tol, scheme=scheme)
    begins = mu * GRAVITY / 10.0
    assert list(sol.events["kind"]) == ["slip"] * feet and np.abs(sol.events["t"] - begins).max() <= 1e-6
    assert abs(sol.q[-1, 0] - 10.0 * (1.0 - begins) ** 3 / 6.0) <= allowed * tol
    assert admissible(sol, mu)


def beam(places, order=None):
    """A beam on feet at places along it, whose moment grows until it tips over the last one."""
    places = np.asarray(places)[slice(None) if order is None else order]
    return sl.System(
        M=[2.0, 0.5],
        f=lambda t, q, v: [-2.0 * GRAVITY, -30.0 * t],
        contacts=[sl.Contact(lambda q, x=x: q[0] + x * np.sin(q[1]), name=f"{x:g}") for x in places],
    )


def test_a_beam_on_three_feet_tips_as_on_the_two_outer_ones():
    start = (0.0, 1.0), [0.0, 0.0], [0.0, 0.0]
    exact = sl.solve(beam([-1.0, 1.0]), *start, tol=1e-12)
    for scheme, allowed in SCHEMES.values():
        sol = sl.solve(beam([-1.0, 0.0, 1.0]), *start, tol=1e-8, scheme=scheme)
        assert list(sol.events["contact"]) == ["-1", "0"] and list(sol.events["kind"]) == ["release"] * 2
        assert sol.events["t"] == pytest.approx(2.0 * GRAVITY / 30.0, abs=1e-6)
        assert np.abs(sol.q[-1] - exact.q[-1]).max() <= allowed * 1e-8
        assert admissible(sol)


LEGS = np.array([[-1.0, -0.6], [1.0, -0.6], [1.0, 0.6], [-1.0, 0.6]])


def table(order, wrench=lambda t: [0.0, 0.0, 0.0], height: float = 0.3):
    """A table on four legs, q = (x, y, yaw, z, roll, pitch), small tilts, pushed along x and y and turned."""
    legs, mu = LEGS[order], 0.3

    def leg(x, y):
        def slip(t, q, v):
            along, across = np.cos(q[2]) * x - np.sin(q[2]) * y, np.sin(q[2]) * x + np.cos(q[2]) * y
            return [v[0] - across * v[2] - height * v[5], v[1] + along * v[2] + height * v[4]]

        return sl.Contact(lambda q: q[3] + y * q[4] - x * q[5], mu=mu, slip=slip)

    return sl.System(
        M=[2.0, 2.0, 0.5, 2.0, 0.4, 0.4],
        f=lambda t, q, v: [*wrench(t), -2.0 * GRAVITY, 0.0, 0.0],
        contacts=[leg(x, y) for x, y in legs],
    )


def test_a_table_that_slides_and_yaws_does_not_depend_on_the_order_of_its_legs_and_is_marked():
    start = (0.0, 1.5), np.zeros(6), [2.0, 0.5, 3.0, 0.0, 0.0, 0.0]
    sols = [sl.solve(table(order), *start, tol=1e-6) for order in ([0, 1, 2, 3], [2, 0, 3, 1])]
    assert np.abs(sols[0].q[-1] - sols[1].q[-1]).max() <= 1e-7
    for sol in sols:
        assert sol.events["kind"][0] == "not unique" and np.abs(sol.v[-1]).max() <= 1e-12
        assert admissible(sol, 0.3)
        assert np.abs(sol.energy.defect).max() <= 1e-8 * sol.energy.kinetic[0]


def slips_of_legs(q, v):
    """Slip velocities of the legs of a table that stays level, (..., 4, 2)."""
    cos, sin = np.cos(q[..., 2, None]), np.sin(q[..., 2, None])
    along, across = cos * LEGS[:, 0] - sin * LEGS[:, 1], sin * LEGS[:, 0] + cos * LEGS[:, 1]
    return np.stack([v[..., 0, None] - across * v[..., 2, None], v[..., 1, None] + along * v[..., 2, None]], axis=-1)


@pytest.mark.parametrize("name", SCHEMES)
def test_legs_that_begin_to_slip_in_different_directions_move_as_friction_of_known_loads_lets_them(name):
    """Without height all legs carry the same, so that accelerations are those that make a convex function least."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import minimize

    scheme, allowed = SCHEMES[name]
    wrench, masses, bound, tol = np.array([5.0, 2.0, 5.0]), np.array([2.0, 2.0, 0.5]), 0.3 * 2.0 * GRAVITY / 4.0, 1e-7

    def power(a):
        speeds = np.linalg.norm(slips_of_legs(np.zeros(3), a), axis=-1)
        return 0.5 * a @ (masses * a) - wrench @ a + bound * speeds.sum()

    def motion(t, y):
        q, v = y[:3], y[3:]
        slip = slips_of_legs(q, v)
        force = -bound * slip / np.linalg.norm(slip, axis=-1, keepdims=True)
        arms = slips_of_legs(q, np.array([0.0, 0.0, 1.0]))
        return np.r_[v, (wrench + np.array([*force.sum(axis=0), (force * arms).sum()])) / masses]

    begins, ahead = minimize(power, wrench / masses, method="BFGS", options={"gtol": 1e-11}).x, 1e-7
    exact = solve_ivp(
        motion, (ahead, 0.8), np.r_[0.5 * ahead**2 * begins, ahead * begins], rtol=1e-11, atol=1e-14, method="DOP853"
    )
    sol = sl.solve(
        table([0, 1, 2, 3], lambda t: wrench, 0.0), (0.0, 0.8), np.zeros(6), np.zeros(6), tol=tol, scheme=scheme
    )
    assert np.abs(sol.q[-1, :3] - exact.y[:3, -1]).max() <= 2.0 * allowed * tol
    assert np.abs(sol.v[-1, :3] - exact.y[3:, -1]).max() <= 5.0 * allowed * tol


def test_a_table_that_is_pushed_and_turned_ever_harder_slips_against_its_friction_in_any_order_of_its_legs():
    sols = [
        sl.solve(table(order, lambda t: [6.0 * t, -3.0 * t, 5.0 * t]), (0.0, 1.2), np.zeros(6), np.zeros(6), tol=1e-6)
        for order in ([0, 1, 2, 3], [2, 0, 3, 1])
    ]
    assert np.abs(sols[0].q[-1] - sols[1].q[-1]).max() <= 1e-7 and np.abs(sols[0].v[-1, :3]).min() > 0.01
    for sol in sols:
        assert admissible(sol, 0.3, share=1e-6)
        assert np.abs(sol.energy.defect).max() <= 1e-8 * sol.energy.kinetic[-1]
    sol = sols[0]
    assert "not unique" in sol.events["kind"] and set(sol.events["kind"]) <= {"slip", "not unique"}
    begin = sol.events["t"][-1]
    t = np.random.default_rng(5).uniform(begin + 1e-3, 1.2, 200)
    slip, r = slips_of_legs(sol(t).q, sol(t).v), np.asarray(sol.force_at(t)).reshape(200, 4, 3)
    slip -= 0.3 * np.stack([sol(t).v[:, 5], -sol(t).v[:, 4]], axis=-1)[:, None]
    lost = -(r[..., 1:] * slip).sum(axis=-1)
    assert np.abs(lost - 0.3 * r[..., 0] * np.linalg.norm(slip, axis=-1)).max() <= 1e-4 * lost.max()


def test_a_particle_in_a_narrow_wedge_stays_while_it_can_and_says_that_it_need_not():
    angle, mu = 0.15, 0.6

    def wall(side):
        normal = np.array([side * np.cos(angle), np.sin(angle)])
        return sl.Contact(
            lambda q: normal[0] * q[0] + normal[1] * q[1], mu=mu,
            slip=lambda t, q, v: -normal[1] * v[0] + normal[0] * v[1],
        )  # fmt: skip

    for pull, kinds in ((-2.0, []), (3.0, ["not unique"])):
        wedge = sl.System(M=[1.0, 1.0], f=[0.0, pull], contacts=[wall(1.0), wall(-1.0)])
        sol = sl.solve(wedge, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], tol=1e-8)
        assert list(sol.events["kind"]) == kinds and np.abs(sol.q).max() <= 1e-14
        assert ("not unique from t = 0 s" in sol.message) == bool(kinds)
        assert admissible(sol, mu)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("rails", [2, 4])
def test_a_bead_that_only_the_pressure_between_its_rails_can_hold_says_that_it_need_not_stay(name, rails):
    """With 20 t N against 0.3 * 9.81 N of friction: `stays` was all that a run said, as if nothing else could be."""
    scheme, _ = SCHEMES[name]

    def bead(pull):
        contacts = [
            sl.Contact(lambda q, side=(-1.0) ** k: side * q[1], mu=0.3, slip=lambda t, q, v: v[0]) for k in range(rails)
        ]
        return sl.System(M=1.0, f=lambda t, q, v: [pull(t), -GRAVITY], contacts=contacts)

    def told(pull):
        sol = sl.solve(bead(pull), (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], tol=1e-8, scheme=scheme)
        assert np.abs(sol.q).max() <= 1e-14 and set(sol.events["kind"]) <= {"not unique"}
        assert ("not unique" in sol.message) == bool(len(sol.events))
        return list(sol.events["t"])

    bound = 0.3 * GRAVITY
    assert told(lambda t: 0.0 * t + 2.0 * bound) == [0.0]
    assert told(lambda t: 0.9 * bound * np.sin(9.0 * t)) == []  # friction under the weight alone holds it
    (begins,) = told(lambda t: 20.0 * t)
    assert bound / 20.0 <= begins <= bound / 20.0 + 0.1


def test_a_wedge_that_is_pulled_out_ever_harder_says_from_when_on_it_could_come():
    normals = [np.array([side * np.cos(0.15), np.sin(0.15)]) for side in (1.0, -1.0)]
    contacts = [
        sl.Contact(
            lambda q, n=n: n[0] * q[0] + n[1] * q[1], mu=0.6, slip=lambda t, q, v, n=n: n[0] * v[1] - n[1] * v[0]
        )
        for n in normals
    ]
    wedge = sl.System(M=1.0, f=lambda t, q, v: [0.0, -2.0 + 5.0 * t], contacts=contacts)
    sol = sl.solve(wedge, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], tol=1e-8)
    assert list(sol.events["kind"]) == ["not unique"] and 0.4 - 1e-12 <= sol.events["t"][0] <= 0.5
    assert np.abs(sol.q).max() <= 1e-14


GRIPS = {
    "bead between rails": [np.array([0.0, 1.0]), np.array([0.0, -1.0])],
    "wedge": [np.array([np.cos(0.15), np.sin(0.15)]), np.array([-np.cos(0.15), np.sin(0.15)])],
}


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("normals", GRIPS.values(), ids=GRIPS)
@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
def test_what_is_gripped_and_pulled_to_and_fro_stays_with_forces_that_the_laws_admit(name, normals, tol):
    """Where nothing pulls all forces vanish and go on in another split: no step came through that corner."""
    contacts = [
        sl.Contact(
            lambda q, n=n: n[0] * q[0] + n[1] * q[1], mu=0.6, slip=lambda t, q, v, n=n: n[0] * v[1] - n[1] * v[0]
        )
        for n in normals
    ]
    along = np.array([1.0, 0.0]) if normals[0][0] == 0.0 else np.array([0.0, 1.0])
    gripped = sl.System(M=1.0, f=lambda t, q, v: along * (4.0 * np.sin(9.0 * t + 1.7) + 0.06), contacts=contacts)
    scheme = sl.HpTDG(tol=tol) if name == "HpTDG" else sl.EventDriven(rtol=tol, atol=tol)
    sol = sl.solve(gripped, (0.0, 2.0), [0.0, 0.0], [0.0, 0.0], scheme=scheme)
    assert np.abs(sol.q).max() <= 1e-13 and set(sol.events["kind"]) == {"not unique"}
    assert len(sol.t) <= 200
    forces = np.array([sol.force_at(t) for t in np.random.default_rng(4).uniform(0.0, 2.0, 1000)]).reshape(1000, 2, 2)
    assert np.max(np.abs(forces[:, :, 1]) - 0.6 * forces[:, :, 0]) <= 1e-7 * np.abs(forces).max()


def test_a_slip_in_space_that_begins_from_rest_turns_with_its_force():
    """Against the equation of the slip, started by its expansion at the place where the force exceeds friction."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import brentq

    mu, tol = 0.4, 1e-6

    def force(t):
        return np.array([8.0 * t, 3.0 * np.sin(3.0 * t)])

    begins = brentq(lambda t: np.linalg.norm(force(t)) - mu * GRAVITY, 0.1, 1.0, xtol=1e-15)
    ahead, way = 1e-4, force(begins) / np.linalg.norm(force(begins))
    grows = (np.linalg.norm(force(begins + 1e-6)) - np.linalg.norm(force(begins - 1e-6))) / 2e-6
    exact = solve_ivp(
        lambda t, y: np.r_[y[2:], force(t) - mu * GRAVITY * y[2:] / np.linalg.norm(y[2:])], (begins + ahead, 1.2),
        np.r_[way * grows * ahead**3 / 6.0, way * grows * ahead**2 / 2.0], rtol=1e-11, atol=1e-14, method="DOP853",
    )  # fmt: skip
    for feet in (1, 4):
        block = sl.System(
            M=np.ones(3),
            f=lambda t, q, v: [8.0 * t, 3.0 * np.sin(3.0 * t), -GRAVITY],
            contacts=[sl.Contact(lambda q: q[2], mu=mu, slip=lambda t, q, v: [v[0], v[1]]) for _ in range(feet)],
        )
        sol = sl.solve(block, (0.0, 1.2), np.zeros(3), np.zeros(3), tol=tol)
        assert np.abs(sol.q[-1, :2] - exact.y[:2, -1]).max() <= 2.0 * tol
        assert np.abs(sol.v[-1, :2] - exact.y[2:, -1]).max() <= 5.0 * tol


MU, BEGINS, END = 0.5, 0.3, 0.6  # of a slip under a force that turns; times of its beginning and of the end [s]


def turning(t, turns: float) -> list:
    """A force that exceeds friction from BEGINS on, and turns meanwhile."""
    late = t - BEGINS
    size = MU * GRAVITY * (1.0 + 0.3 * late)
    return [size * np.cos(turns * late), size * np.sin(turns * late)]


@functools.cache
def turned_slip(coupling: float, turns: float):
    """The slip under it by a stiff integrator: friction turns the slow start, wherever it points, in no time."""
    from scipy.integrate import solve_ivp

    moves = np.linalg.inv([[1.0, coupling], [coupling, 1.0]])

    def rate(t, y):
        return np.r_[y[2:], moves @ (np.array(turning(t, turns)) - MU * GRAVITY * y[2:] / np.linalg.norm(y[2:]))]

    def jacobian(t, y):
        speed = np.linalg.norm(y[2:])
        way, made = y[2:] / speed, np.zeros((4, 4))
        made[:2, 2:], made[2:, 2:] = np.eye(2), -MU * GRAVITY / speed * moves @ (np.eye(2) - np.outer(way, way))
        return made

    start = np.array([0.0, 0.0, 1e-12, 0.0])
    return solve_ivp(
        rate, (BEGINS + 1e-7, END), start, method="Radau", jac=jacobian, rtol=1e-10, atol=1e-14, dense_output=True
    ).sol


@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("feet", [1, 2])
@pytest.mark.parametrize(("coupling", "turns"), [(0.0, 8.0), (0.8, -30.0)])
@pytest.mark.parametrize("name", SCHEMES)
def test_a_slip_begins_within_the_promise_where_its_force_turns_faster_than_it_grows(name, coupling, turns, feet, tol):
    """Masses with a coupling are not the same in all directions."""
    block = sl.System(
        M=[[1.0, coupling, 0.0], [coupling, 1.0, 0.0], [0.0, 0.0, 1.0]],
        f=lambda t, q, v: [*turning(t, turns), -GRAVITY],
        contacts=[sl.Contact(lambda q: q[2], mu=MU, slip=lambda t, q, v: [v[0], v[1]]) for _ in range(feet)],
    )
    scheme, bound = SCHEMES[name]
    sol = sl.solve(block, (0.0, END), np.zeros(3), np.zeros(3), scheme=scheme, tol=tol)
    t = np.linspace(BEGINS + 0.01, END, 200)
    missed = np.abs(np.c_[sol(t).q[:, :2], sol(t).v[:, :2]] - turned_slip(coupling, turns)(t).T).max(axis=1)
    assert missed.mean() <= bound * tol
    assert list(sol.events["kind"]) == ["slip"] * feet


# ---- borders at which rounding must not decide


@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
def test_a_table_that_slides_while_it_is_lifted_off_leaves_the_floor_when_its_weight_is_carried(tol):
    """Where the last admitted split is lost the forces before reactions vanish too, apart from the pull."""
    feet = ((0.9, 0.5), (-0.7, 0.6), (-0.8, -0.6), (0.6, -0.7))

    def foot(x, y):
        def slip(t, q, v):
            return [v[0] - y * v[5], v[1] + x * v[5]]

        return sl.Contact(lambda q: q[2] + y * q[3] - x * q[4], mu=0.8, slip=slip, name=f"foot {x} {y}")

    def f(t, q, v):
        return [3.0 + 40.0 * t, 2.0 + 25.0 * t, -2.0 * GRAVITY + 20.0 * t, 0.0, 0.0, 0.0]

    table = sl.System(M=[2.0, 2.0, 2.0, 0.4, 0.3, 0.5], f=f, contacts=[foot(*place) for place in feet])
    sol = sl.solve(table, (0.0, 1.5), np.zeros(6), np.zeros(6), tol=tol)
    released = sol.events[sol.events["kind"] == "release"]
    lifted = 2.0 * GRAVITY / 20.0
    assert len(released) == 4 and np.abs(released["t"] - lifted).max() <= 10.0 * tol
    late = 1.5 - lifted
    assert abs(sol.q[-1, 2] - 20.0 / 2.0 * late**3 / 6.0) <= 10.0 * tol


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_rough_slot_holds_with_forces_of_the_size_of_the_load(scheme):
    """Between two rough walls any squeeze is admitted: the shortest forces that hold are taken, not endless ones."""
    sides = [
        sl.Contact(lambda q, s=s: s * q[1], mu=mu, slip=lambda t, q, v: v[0]) for s, mu in ((1.0, 0.2), (-1.0, 0.4))
    ]
    body = sl.System(M=1.0, f=lambda t, q, v: [6.0 * np.cos(3.0 * t), -GRAVITY], contacts=sides)
    sol = sl.solve(body, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], scheme=SCHEMES[scheme][0], tol=1e-7)
    assert np.abs(sol.q).max() < 1e-12
    r = sol.force_at(np.linspace(0.0, 1.0, 101))
    assert np.abs(r).max() < 5.0 * GRAVITY
    np.testing.assert_allclose(r[:, 0] - r[:, 2], GRAVITY, rtol=1e-9)
    np.testing.assert_allclose(r[:, 1] + r[:, 3], -6.0 * np.cos(3.0 * np.linspace(0.0, 1.0, 101)), atol=1e-6)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("omega", [3.0, 8.0, 11.0])
def test_a_table_that_is_lifted_off_smoothly_leaves_all_of_its_feet_without_turning(omega, name):
    """Exact: v = int (lift - weight) dt behind the release. A foot that leaves slowly must not be pulled back."""
    from saltus.problems._quaternion import cross, normalised, rate, rotate

    inertia, tol = [0.3, 0.4, 0.5], 1e-6

    def f(t, q, v):
        turn = cross(v[3:6], [inertia[0] * v[3], inertia[1] * v[4], inertia[2] * v[5]])
        return [0.0, 0.0, GRAVITY * (-0.5 + 0.7 * np.sin(omega * t)), -turn[0], -turn[1], -turn[2]]

    def foot(x, y):
        def slip(t, q, v):
            swing = rotate(q[3:7], cross(v[3:6], [x, y, -0.4]))
            return [v[0] + swing[0], v[1] + swing[1]]

        return sl.Contact(lambda q: q[2] + 0.4 + rotate(q[3:7], [x, y, -0.4])[2], mu=0.9, slip=slip)

    table = sl.System(
        M=np.diag([1.0, 1.0, 1.0, *inertia]), f=f,
        contacts=[foot(*place) for place in ((0.9, 0.5), (-0.7, 0.6), (-0.8, -0.6), (0.6, -0.7))],
        q_dot=lambda q, v: [v[0], v[1], v[2], *rate(q[3:7], v[3:6])],
        retract=lambda q: [q[0], q[1], q[2], *normalised(q[3:7])],
    )  # fmt: skip
    released = np.arcsin(0.5 / 0.7) / omega
    scheme, bound = SCHEMES[name]
    q0 = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    sol = sl.solve(table, (0.0, np.pi / omega - released), q0, np.zeros(6), scheme=scheme, tol=tol)
    t = np.linspace(released, sol.t[-1], 50)
    rises = -0.5 * (t - released) - 0.7 / omega * (np.cos(omega * t) - np.cos(omega * released))
    assert np.abs(sol(t).v - np.outer(GRAVITY * rises, np.eye(6)[2])).max() <= bound * tol
    assert list(sol.events["kind"]) == ["release"] * 4


@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("name", SCHEMES)
def test_a_beam_on_six_rough_feet_that_swings_while_it_is_lifted_leaves_them_when_its_weight_is_carried(name, tol):
    """Forces behind the loss of the last admitted split obey no law: they must not spoil what is known before it."""
    mass, height = 7.18, 0.855
    feet = (0.997, 0.865, 1.004, -1.136, -0.151, -0.036)

    def lift(t):
        return 35.4 * t + 24.6 * np.sin(11.85 * t + 4.93)

    def f(t, q, v):
        return [31.7 * np.sin(9.35 * t + 1.88), lift(t) - mass * GRAVITY, 0.0]

    def foot(x):
        return sl.Contact(lambda q: q[1] + x * q[2], mu=0.643, slip=lambda t, q, v: v[0] + height * v[2])

    beam = sl.System(M=[mass, mass, 3.55], f=f, contacts=[foot(x) for x in feet])
    scheme, bound = SCHEMES[name]
    sol = sl.solve(beam, (1.3, 2.4), np.zeros(3), np.zeros(3), scheme=scheme, tol=tol)
    released = sol.events[sol.events["kind"] == "release"]["t"]
    assert len(released) % 6 == 0 and len(released) > 0
    assert np.abs(lift(released) - mass * GRAVITY).max() <= bound * tol * mass * GRAVITY
    assert np.abs(sol.q[:, 2]).max() <= bound * tol


@pytest.mark.parametrize(("mass", "mu", "omega", "start"), [(2.4, 0.53, 11.3, 2.76), (2.9, 0.2, 11.6, 4.97)])
def test_impulses_of_feet_that_slip_from_rest_on_a_shaking_plate_balance_the_momentum(mass, mu, omega, start):
    """Right behind the beginning of a slip its friction turns with the least error of its velocity."""
    tol, way = 1e-10, (-0.6, 0.8)
    reach = 1.5 * mu * GRAVITY / omega

    def slip(t, q, v):
        plate = reach * np.cos(omega * t + start)
        return [v[0] - way[0] * plate, v[1] - way[1] * plate]

    feet = [sl.Contact(lambda q: q[2], mu=mu, slip=slip) for _ in range(2)]
    block = sl.System(M=[mass] * 3, f=lambda t, q, v: [0.0, 0.0, -mass * GRAVITY], contacts=feet)
    v0 = np.array([*(reach * np.cos(start) * x for x in way), 0.0])
    sol = sl.solve(block, (0.0, 1.2), np.zeros(3), v0, tol=tol)
    pushed = np.asarray(sol.impulse_at(1.2)).reshape(2, 3).sum(axis=0)
    assert np.abs(pushed[1:] - mass * (sol.v[-1] - v0)[:2]).max() <= 0.5 * tol


def stopping_table(tol, share, order, nudge=0.0, seed=0):
    """Return the run of a table whose first foot stops; nudge: relative change of all its numbers, as of rounding."""
    rng, height, mu = np.random.default_rng(seed), 0.17, 0.81
    feet = ((-0.9, -0.672), (0.9, -0.672), (0.9, 0.672), (-0.9, 0.672), (-0.288, -0.215))
    given = np.array([9.48, 11.25 * share, 12.77, 1.765, 0.424, 1.03, 0.787])
    x_pull, y_pull, turn, mass, *inertia = (given * (1.0 + nudge * rng.uniform(-1.0, 1.0, 7))).tolist()

    def foot(x, y):
        def slip(t, q, v):
            return [v[0] - y * v[5] - height * v[4], v[1] + x * v[5] + height * v[3]]

        return sl.Contact(lambda q: q[2] + y * q[3] - x * q[4], mu=mu, slip=slip, name=f"foot {x} {y}")

    def f(t, q, v):
        pulls = [x_pull * np.sin(7.993 * t + 6.103), y_pull * np.sin(6.461 * t + 3.378)]
        return [*pulls, -mass * GRAVITY, 0.0, 0.0, turn * np.sin(7.448 * t + 2.078)]

    table = sl.System(M=[mass, mass, mass, *inertia], f=f, contacts=[foot(*feet[k]) for k in order])
    sol = sl.solve(table, (0.55, 0.8), np.zeros(6), np.zeros(6), tol=tol)
    stuck = sol.events[sol.events["kind"] == "stick"]
    assert list(stuck["contact"]) == ["foot -0.9 -0.672"]
    return np.r_[sol.q[-1], sol.v[-1]]


@pytest.mark.parametrize("share", [1.0, 1.03, 1.06])
def test_a_table_whose_one_foot_stops_while_it_turns_around_it_goes_on_within_the_promise(share):
    """What the others carry changes with the stop: to cut the last of a slip would push the table aside."""
    orders = {1e-10: [3, 0, 2, 4, 1], 1e-9: [4, 3, 2, 1, 0], 1e-8: [0, 2, 4, 1, 3]}
    exact = stopping_table(1e-12, share, [0, 1, 2, 3, 4])
    for tol, order in orders.items():
        assert np.abs(stopping_table(tol, share, order) - exact).max() <= tol


@pytest.mark.parametrize(("tol", "seed"), [(1e-9, 4), (1e-9, 13), (1e-10, 4), (1e-10, 13)])
def test_the_last_bits_of_a_table_do_not_decide_how_well_the_stop_of_a_foot_is_met(tol, seed):
    """Other bits, other flights before the stop: by polynomials that reach beyond it up to 5 tol were cut."""
    order = np.random.default_rng(1000 + seed).permutation(5).tolist()
    made = stopping_table(tol, 1.06, order, 1e-15, seed)
    assert np.abs(made - stopping_table(1e-12, 1.06, [0, 1, 2, 3, 4])).max() <= tol


@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("name", SCHEMES)
def test_a_ball_that_slides_with_a_spin_rolls_on_with_what_friction_left_it(name, tol):
    """The slip keeps its direction and ends after |u| / (7/2 mu g); what rolls on keeps any error of its stop."""
    mass, radius, mu = 1.3, 0.2, 0.3
    inertia = 0.4 * mass * radius**2

    def slip(t, q, v):
        return [v[0] - radius * v[4], v[1] + radius * v[3]]

    ball = sl.System(
        M=[mass, mass, mass, inertia, inertia],
        f=[0.0, 0.0, -mass * GRAVITY, 0.0, 0.0],
        contacts=[sl.Contact(lambda q: q[2], mu=mu, slip=slip)],
    )
    v0 = np.array([1.0, -0.4, 0.0, 3.0, 2.0])
    u = np.array(slip(0.0, None, v0))
    ends, way = np.linalg.norm(u) / (3.5 * mu * GRAVITY), u / np.linalg.norm(u)
    push = mu * mass * GRAVITY * ends * way
    spun = radius * push / inertia
    rolls = v0 + np.array([-push[0] / mass, -push[1] / mass, 0.0, -spun[1], spun[0]])
    scheme, bound = SCHEMES[name]
    sol = sl.solve(ball, (0.0, 1.0), np.zeros(5), v0, scheme=scheme, tol=tol)
    assert list(sol.events["kind"]) == ["stick"] and abs(sol.events["t"][0] - ends) <= bound * tol
    assert np.abs(sol.v[-1] - rolls).max() <= bound * tol


# ---- slow slips of a table on five legs


FIVE = np.array([[-0.37, -1.1], [0.37, -1.1], [0.37, 1.1], [-0.37, 1.1], [0.34, -1.0]])


def leg(x, y, height, mu):
    """A leg below (x, y) of a body whose centre is at a height, q = (x, y, z, roll, pitch, yaw), small angles."""

    def slip(t, q, v):
        return [v[0] - height * v[4] - y * v[5], v[1] + height * v[3] + x * v[5]]

    return sl.Contact(lambda q: q[2] + y * q[3] - x * q[4], mu=mu, slip=slip)


def driven_table(order=range(5), *, strength: float = 1.0):
    """A table on five legs that is pushed and turned to and fro, q = (x, y, z, roll, pitch, yaw), small angles."""
    mass, height = 6.8, 0.22

    def f(t, q, v):
        pushes = 53.4 * np.sin(11.64 * t + 2.39), 23.1 * np.sin(10.63 * t + 0.536)
        turns = 21.5 * np.sin(9.9 * t + 5.19)
        return [strength * pushes[0], strength * pushes[1], -mass * GRAVITY, 0.0, 0.0, strength * turns]

    return sl.System(M=[mass, mass, mass, 3.44, 1.02, 1.57], f=f, contacts=[leg(*FIVE[k], height, 0.7) for k in order])


@pytest.mark.parametrize("begin", [1.15, 1.175, 1.19])
def test_a_leg_that_begins_to_slip_slower_than_the_tolerance_goes_on_slipping_in_any_order_of_the_legs(begin):
    """It could stick as well, with other forces: an error of 0.06 m/s at tol 1e-4, in one order and not in another."""
    start = (begin, 1.3), np.zeros(6), np.zeros(6)

    def force(t):
        pushes = 53.4 * np.sin(11.64 * t + 2.39), 23.1 * np.sin(10.63 * t + 0.536)
        return np.array([*pushes, -6.8 * GRAVITY, 0.0, 0.0, 21.5 * np.sin(9.9 * t + 5.19)])

    exact, slips = SlidingTable([6.8, 6.8, 6.8, 3.44, 1.02, 1.57], FIVE, 0.22, 0.7, force).velocity(begin, 1.3)
    for order in ([0, 1, 2, 3, 4], [3, 4, 2, 1, 0]):
        sol = sl.solve(driven_table(order), *start, tol=1e-4)
        assert abs(sol.events["t"][0] - slips) <= 1e-4
        assert np.abs(sol.v[-1] - exact).max() <= 1e-4


@pytest.mark.parametrize("tol", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("begin", [1.2, 1.201, 1.2017])
def test_whether_a_leg_slips_or_sticks_does_not_follow_from_errors_that_the_tolerance_allows(begin, tol):
    """Its slip is known by its forces until it is faster than the tolerance; both motions obey the laws."""
    sol = sl.solve(driven_table(), (begin, begin + 0.1), np.zeros(6), np.zeros(6), tol=tol)
    assert set(sol.events["kind"]) == {"slip", "not unique"}
    exact = sl.solve(driven_table(), (begin, begin + 0.1), np.zeros(6), np.zeros(6), tol=1e-9)
    assert np.abs(sol.v[-1] - exact.v[-1]).max() <= tol


@pytest.mark.parametrize("span", [0.454, 0.9, 1.0])
def test_a_slip_that_friction_hardly_brakes_ends_where_it_should(span):
    """It stops at 0.024 m/s^2 while friction could push it aside at 7 m/s^2: any error of its direction counts."""
    started = sl.solve(driven_table(strength=0.85), (0.0, 0.5459), np.zeros(6), np.zeros(6), tol=1e-10)
    start = (0.5459, 0.5459 + span), started.q[-1], started.v[-1]
    ends = [
        sl.solve(driven_table(strength=0.85), *start, tol=tol, scheme=scheme).events
        for tol, scheme in ((1e-10, None), (1e-7, sl.EventDriven()), (1e-7, None))
    ]
    stops = [rows[rows["kind"] == "stick"][0] for rows in ends]
    assert {str(row["contact"]) for row in stops} == {"contact 1"}
    assert abs(stops[1]["t"] - stops[0]["t"]) <= 3e-6 and abs(stops[2]["t"] - stops[0]["t"]) <= 1e-6


@pytest.mark.parametrize(("strength", "tol"), [(0.78, 1e-4), (0.78, 1e-7), (0.85, 1e-4), (0.85, 1e-7)])
def test_the_ledger_of_slow_slips_that_stop_again_closes_to_a_share_of_the_tolerance(strength, tol):
    """Relative to what friction dissipates, although velocities are judged against 1 m/s."""
    start = (0.0, 1.0), np.zeros(6), np.zeros(6)
    energy = sl.solve(driven_table(strength=strength), *start, tol=tol, scheme=sl.EventDriven()).energy
    exact = sl.solve(driven_table(strength=strength), *start, tol=1e-9).energy
    rubbed = exact.dissipation[-1].sum()
    assert np.abs(energy.defect).max() <= 0.1 * tol * rubbed
    assert abs(energy.dissipation[-1].sum() - rubbed) <= 30.0 * tol * rubbed


@pytest.mark.parametrize("speed", [0.0, 0.3])
def test_what_is_cut_of_a_slip_on_a_belt_that_stops_is_dissipated_and_moved_by_the_belt(speed):
    """A puck in space is caught by a belt: friction takes 1/2 m u^2, whatever the speed of the belt is."""
    m, mu, slip = 2.0, 0.3, np.array([3e-3, 4e-3])
    puck = sl.System(
        M=m, f=[0.0, 0.0, -m * GRAVITY],
        contacts=[sl.Contact(lambda q: q[2], mu=mu, slip=lambda t, q, v: [v[0] - speed, v[1]])],
    )  # fmt: skip
    start = (0.0, 0.01), np.zeros(3), [slip[0] + speed, slip[1], 0.0]
    for scheme, _ in SCHEMES.values():
        energy = sl.solve(puck, *start, tol=1e-4, scheme=scheme).energy
        lost = 0.5 * m * slip @ slip
        assert energy.dissipation[-1].sum() == pytest.approx(lost, rel=1e-4)
        assert np.abs(energy.defect).max() <= 1e-4 * lost


# ---- a slip that passes zero unseen

SIX = np.array([
    [-0.53610877, -0.94209413], [0.53610877, -0.94209413], [0.53610877, 0.94209413], [-0.53610877, 0.94209413],
    [-0.31146805, -0.5473371], [0.06610322, -0.11616199],
])  # fmt: skip


def six_legs(order):
    """A table on six legs that is pushed and turned, q = (x, y, z, roll, pitch, yaw), small angles."""
    mass, height, mu = 4.090596757253243, 0.888092268048104, 0.22423063449597078

    def f(t, q, v):
        pushes = (
            5.927251165795174 * np.sin(4.117743466849944 * t + 2.5281127882617542),
            8.220653122128116 * np.sin(8.404441754348229 * t + 0.5179961579738696),
        )
        turns = 6.499476444254633 * np.sin(7.212477867428108 * t + 6.245585286885862)
        return [*pushes, -mass * GRAVITY, 0.0, 0.0, turns]

    inertia = [1.0569171322612414, 1.1225173497571446, 1.1876952881027727]
    return sl.System(M=[mass, mass, mass, *inertia], f=f, contacts=[leg(*SIX[k], height, mu) for k in order])


@pytest.mark.parametrize("name", SCHEMES)
def test_a_slip_that_passes_zero_unseen_has_stopped_in_any_order_of_the_legs(name):
    """It could slip on, turning around at 4e-12 m/s; where it can stick it does, at t = 0.78978 s."""
    scheme, start = SCHEMES[name][0], ((0.0, 0.7946859050639776), np.zeros(6), np.zeros(6))
    sols = [sl.solve(six_legs(order), *start, scheme=scheme, tol=1e-10) for order in (range(6), [1, 0, 3, 4, 2, 5])]
    for sol in sols:
        last = sol.events[sol.events["kind"] == "stick"][-1]
        assert abs(last["t"] - 0.78977823240) <= 1e-9
    assert np.abs(sols[0].q[-1] - sols[1].q[-1]).max() <= 1e-9


@pytest.mark.parametrize(
    ("angle", "phase"), [(0.1, 0.1 + 5.8 / 9.0), (0.1, 0.1 + 17.4 / 9.0), (0.1, 0.1 + 2.9 / 9.0), (1.1, 1.2)]
)
def test_feet_that_turn_back_together_turn_where_a_point_does(angle, phase):
    """Pulled to and fro along a line, a table goes back where it stops, however fast its slips turn there."""
    mass, mu, tol = 2.0, 0.24, 1e-10
    way = np.array([np.cos(angle), np.sin(angle)])

    def pull(t):
        return 12.0 * np.sin(7.0 * t + phase)

    table = sl.System(
        M=[mass, mass, mass, 0.3, 0.4, 0.5],
        f=lambda t, q, v: [pull(t) * way[0], pull(t) * way[1], -mass * GRAVITY, 0.0, 0.0, 0.0],
        contacts=[leg(*place, 0.0, mu) for place in FIVE],
    )
    point = sl.System(
        M=[mass, mass],
        f=lambda t, q, v: [pull(t), -mass * GRAVITY],
        contacts=[sl.Contact(lambda q: q[1], mu=mu, slip=lambda t, q, v: v[0])],
    )
    exact = sl.solve(point, (0.0, 2.0), np.zeros(2), np.zeros(2), tol=1e-11)
    sol = sl.solve(table, (0.0, 2.0), np.zeros(6), np.zeros(6), tol=tol)
    t = np.linspace(0.0, 2.0, 301)
    assert np.count_nonzero(exact.events["kind"] == "reversal") >= 3
    assert np.abs(sol(t).v[:, :2] - np.outer(exact(t).v[:, 0], way)).max() <= 0.5 * tol
    assert np.abs(sol(t).v[:, 5]).max() <= 0.5 * tol
