"""Mechanics with known answers: impacts, rolling, sliding, resting, driven contacts and joints."""

from __future__ import annotations

from math import atan, cos, hypot, sin

import numpy as np
import pytest

import saltus as sl
from saltus import problems

GRAVITY = 9.81
# touching bodies lie apart by roundings: without a tolerance these decide which contact is closed
TOUCHING = sl.MoreauJean(closed_tolerance=1e-12)


def kinds(sol: sl.Solution) -> list[str]:
    return sol.events["kind"].tolist()


# ---- Newton's cradle

CRADLES = [
    (3, 1.0, [-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]),
    (3, 0.5, [0.0, 0.5, 0.5]),
    (3, 0.0, [1.0 / 3.0] * 3),
    (5, 1.0, [-0.6, 0.4, 0.4, 0.4, 0.4]),
    (5, 0.0, [0.2] * 5),
]


@pytest.mark.parametrize(("n", "e", "expected"), CRADLES)
def test_touching_beads_share_one_simultaneous_impact(n, e, expected):
    sol = sl.solve(problems.newtons_cradle(n=n, e=e), scheme=TOUCHING, h=0.0131)
    np.testing.assert_allclose(sol.v[-1], expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize(("n", "e", "expected"), CRADLES)
def test_a_simultaneous_impact_has_the_old_velocities_as_left_limit(n, e, expected):
    sol = sl.solve(problems.newtons_cradle(n=n, e=e), scheme=TOUCHING, h=0.0131)
    struck = int(np.flatnonzero(sol.impulse.any(axis=1))[0]) + 1
    # no forces: just before the impact the velocities are those of the node before
    np.testing.assert_allclose(sol.v_minus[struck], sol.v[struck - 1], rtol=0.0, atol=1e-14)
    first = sol.events[sol.events["t"] == sol.t[struck]]
    assert first["kind"].tolist() == ["impact"] * (n - 1)


def test_separated_beads_hand_the_motion_over_one_by_one():
    sol = sl.solve(problems.newtons_cradle(n=5, e=1.0, gap=0.05), scheme=sl.MoreauJean(), h=0.0031)
    np.testing.assert_allclose(sol.v[-1], [0.0, 0.0, 0.0, 0.0, 1.0], rtol=0.0, atol=1e-14)
    assert kinds(sol) == ["impact"] * 4
    assert sol.events["contact"].tolist() == [f"beads {i}-{i + 1}" for i in range(4)]


def test_a_light_ball_on_a_heavy_one_leaves_three_times_as_fast():
    heavy, light = 3.0, 1e-3
    floor = sl.Contact(lambda q: q[0], e=1.0, name="floor")
    balls = sl.Contact(lambda q: q[1] - q[0], e=1.0, name="balls")
    system = sl.System(M=[heavy, light], f=[0.0, 0.0], contacts=[floor, balls])
    sol = sl.solve(system, (0.0, 3.0), [1.0, 1.5], [-1.0, -1.0], scheme=sl.MoreauJean(), h=0.0131)
    total = heavy + light
    expected = [(heavy - 3.0 * light) / total, (3.0 * heavy - light) / total]
    np.testing.assert_allclose(sol.v[-1], expected, rtol=1e-13)
    assert sol.events["contact"].tolist() == ["floor", "balls"]


# ---- rolling and sliding


@pytest.mark.parametrize(("shape", "share"), [("sphere", 5 / 7), ("disc", 2 / 3), ("hoop", 1 / 2)])
def test_a_sliding_body_ends_up_rolling_with_its_share_of_the_speed(shape, share):
    h, problem = 0.00731, problems.rolling_sphere(shape=shape, v0=1.0, mu=0.2, radius=0.1)
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=h)
    t_roll = (1.0 - share) / (0.2 * GRAVITY)
    np.testing.assert_allclose(sol.v[-1], [share, 0.0, -share / 0.1], rtol=1e-13, atol=1e-13)
    (stick,) = sol.events[sol.events["kind"] == "stick"]
    assert t_roll <= stick["t"] <= t_roll + h
    sliding = sol.t <= t_roll
    np.testing.assert_allclose(sol.v[sliding], problem.exact.v(sol.t[sliding]), rtol=0.0, atol=1e-12)
    # in the step that ends the sliding the friction is averaged: the lost way is of second order
    assert np.max(np.abs(sol.q[:, 0] - problem.exact.q(sol.t)[:, 0])) <= 0.2 * GRAVITY * h**2


@pytest.mark.parametrize("margin", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("mu", [0.1, 0.5, 1.3])
def test_a_block_sticks_on_an_incline_below_the_angle_of_friction_and_slides_above(mu, margin):
    below, above = (atan(mu) * x for x in (1.0 - margin, 1.0 + margin))
    resting = sl.solve(problems.sliding_block(beta=below, mu=mu, v0=0.0), scheme=sl.MoreauJean(), h=0.01)
    assert np.max(np.abs(resting.v)) <= 1e-15 and np.max(np.abs(resting.q)) <= 1e-15
    sliding = sl.solve(problems.sliding_block(beta=above, mu=mu, v0=0.0), scheme=sl.MoreauJean(), h=0.01)
    # a small difference of large numbers
    pull = GRAVITY * (sin(above) - mu * cos(above))
    assert pull > 0.0
    np.testing.assert_allclose(sliding.v[:, 0], pull * sliding.t, rtol=0.0, atol=1e-12)
    assert "slip" in kinds(sliding) and "stick" in kinds(resting)


@pytest.mark.parametrize("v0", [1.0, -2.0])
def test_a_block_on_an_incline_decelerates_as_coulomb_says(v0):
    h, problem = 0.00713, problems.sliding_block(v0=v0)
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=h)
    np.testing.assert_allclose(sol.v, problem.exact.v(sol.t), rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(sol.impulse_at(sol.t), problem.exact.impulse(sol.t), rtol=0.0, atol=1e-12)
    # exact but for the step in which it stops
    assert np.max(np.abs(sol.q - problem.exact.q(sol.t))) <= GRAVITY * h**2 / 2.0


def spatial_incline(steepness: float, k: float) -> sl.System:
    """A point on a plane tilted along x with mu = k tan(steepness): 2D slip, third coordinate normal."""
    floor = sl.Contact(lambda q: q[2], mu=k * np.tan(steepness), slip=lambda t, q, v: [v[0], v[1]], name="incline")
    return sl.System(M=1.0, f=[GRAVITY * sin(steepness), 0.0, -GRAVITY * cos(steepness)], contacts=[floor])


def test_a_point_thrown_across_an_incline_stops_when_the_hodograph_says():
    steepness, k, speed, phi = 0.3, 2.0, 1.0, 1.2
    expected = speed * (k + cos(phi)) / (GRAVITY * sin(steepness) * (k**2 - 1.0))
    v0 = [speed * cos(phi), speed * sin(phi), 0.0]
    system = spatial_incline(steepness, k)
    for h in (4e-3, 2e-3, 1e-3, 5e-4):
        sol = sl.solve(system, (0.0, 0.5), np.zeros(3), v0, scheme=sl.MoreauJean(), h=h)
        (stop,) = sol.events[sol.events["kind"] == "stick"]["t"]
        assert abs(stop - expected) <= 2.0 * h
        assert np.max(np.abs(sol.v[-1])) <= 1e-15


def on_belt(belt) -> sl.System:
    contact = sl.Contact(lambda q: q[1], mu=0.3, slip=lambda t, q, v: v[0] - belt(t), name="belt")
    return sl.System(M=1.0, f=[0.0, -GRAVITY], contacts=[contact])


def test_a_belt_drags_a_block_up_to_its_own_speed():
    h, grip = 0.01, 0.3 * GRAVITY
    sol = sl.solve(on_belt(lambda t: 1.5), (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], scheme=sl.MoreauJean(), h=h)
    np.testing.assert_allclose(sol.v[:, 0], np.minimum(grip * sol.t, 1.5), rtol=0.0, atol=1e-13)
    (stick,) = sol.events[sol.events["kind"] == "stick"]
    assert 1.5 / grip <= stick["t"] <= 1.5 / grip + h
    # half of the work of the belt goes into the block, half into heat
    assert sol.energy.work[-1] == pytest.approx(1.5**2, rel=1e-12)
    assert sol.energy.dissipation[-1, 0] == pytest.approx(1.5**2 / 2.0, rel=1e-12)
    assert np.max(np.abs(sol.energy.defect)) <= 1e-13


@pytest.mark.parametrize(("at", "share"), [("theta", 0.5), ("end", 1.0)])
def test_a_block_follows_a_belt_that_swings_gently(at, share):
    h = 0.01
    sol = sl.solve(on_belt(np.sin), (0.0, 3.0), [0.0, 0.0], [0.0, 0.0], scheme=sl.MoreauJean(at=at), h=h)
    # the belt is felt where the scheme evaluates it
    np.testing.assert_allclose(sol.v[1:, 0], np.sin(sol.t[:-1] + share * h), rtol=0.0, atol=1e-13)


# ---- moving walls


def over_table(height, e: float = 0.7) -> sl.System:
    table = sl.Contact(lambda t, q: q[0] - height(t), e=e, name="table")
    return sl.System(M=2.0, f=-2.0 * GRAVITY, contacts=[table])


def test_a_ball_bounces_on_a_rising_table_as_on_a_floor():
    speed, start = 1.3, {"t_span": (0.0, 3.0), "scheme": sl.MoreauJean(), "h": 0.00713}
    rising = sl.solve(over_table(lambda t: speed * t), q0=1.0, v0=0.0, **start)
    floor = sl.solve(over_table(lambda t: 0.0 * t), q0=1.0, v0=-speed, **start)
    np.testing.assert_allclose(rising.q[:, 0] - speed * rising.t, floor.q[:, 0], rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(rising.v - speed, floor.v, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(rising.impulse, floor.impulse, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(rising.events["kind"], floor.events["kind"])
    np.testing.assert_allclose(rising.events["u_minus"], floor.events["u_minus"], rtol=0.0, atol=1e-13)
    assert np.max(np.abs(rising.energy.defect)) <= 1e-12


@pytest.mark.parametrize("at", ["theta", "end"])
def test_a_ball_rests_on_a_table_that_shakes_less_than_gravity(at):
    system = over_table(lambda t: 0.1 * np.sin(5.0 * t), e=0.5)
    for h in (0.01, 0.005, 0.0025):
        sol = sl.solve(system, (0.0, 3.0), 0.0, 0.5, scheme=sl.MoreauJean(at=at), h=h)
        assert np.max(np.abs(sol.v[:, 0] - 0.5 * np.cos(5.0 * sol.t))) <= 1.05 * GRAVITY * h
        assert np.max(np.abs(sol.q[:, 0] - 0.1 * np.sin(5.0 * sol.t))) <= 0.5 * h


@pytest.mark.parametrize("at", ["theta", "end"])
def test_the_ledger_counts_the_work_of_what_moves(at):
    scheme = sl.MoreauJean(at=at)
    belt = sl.solve(on_belt(np.sin), (0.0, 3.0), [0.0, 0.0], [0.0, 0.0], scheme=scheme, h=0.01)
    assert np.max(np.abs(belt.energy.defect)) <= 1e-13
    shaken = over_table(lambda t: 0.1 * np.sin(5.0 * t), e=0.5)
    sol = sl.solve(shaken, (0.0, 3.0), 0.3, 0.0, scheme=scheme, h=0.01)
    assert np.max(np.abs(sol.energy.defect)) <= 1e-12


# ---- joints


@pytest.mark.parametrize("projection", [False, True])
def test_a_prescribed_motion_is_followed_exactly(projection):
    drive = sl.Joint(lambda t, q: q[0] - 0.3 * np.sin(2.0 * t), name="drive")
    system, h = sl.System(M=2.0, f=[0.0], joints=[drive]), 0.01
    sol = sl.solve(system, (0.0, 3.0), 0.0, 0.6, scheme=sl.MoreauJean(projection=projection), h=h)
    np.testing.assert_allclose(sol.v[:, 0], 0.6 * np.cos(2.0 * sol.t), rtol=0.0, atol=1e-14)
    way = 1e-14 if projection else 0.3 * 2.0**2 * h**2 / 12.0  # the trapezoidal rule
    assert np.max(np.abs(sol.q[:, 0] - 0.3 * np.sin(2.0 * sol.t))) <= 1.01 * way
    np.testing.assert_allclose(sol.joint_impulse[:, 0], 2.0 * np.diff(sol.v[:, 0]), rtol=0.0, atol=1e-13)
    assert np.max(np.abs(sol.energy.defect)) <= 1e-13


def test_a_mass_on_a_spring_answers_a_prescribed_motion_with_order_two():
    drive = sl.Joint(lambda t, q: q[0] - 0.3 * np.sin(t), name="drive")
    system = sl.System(M=[2.0, 1.0], f=lambda q: [4.0 * (q[1] - q[0]), 4.0 * (q[0] - q[1])], joints=[drive])
    errors = []
    for h in (0.02, 0.01, 0.005):
        sol = sl.solve(system, (0.0, 3.0), [0.0, 0.0], [0.3, 0.4], scheme=sl.MoreauJean(), h=h)
        errors.append(np.max(np.abs(sol.q[:, 1] - 0.4 * np.sin(sol.t))))
    assert np.all(np.abs(np.log2(np.divide(errors[:-1], errors[1:])) - 2.0) <= 0.05)


def test_a_million_steps_leave_the_rod_as_long_as_it_was():
    problem = problems.rod_pendulum(t_end=20_000.0)
    sol = sl.solve(problem, scheme=sl.MoreauJean(projection=True), h=0.02, save=1000)
    assert sol.work["steps"] == 1_000_000
    assert np.max(sol.violation) <= 1e-10  # over all steps, kept or not
    assert np.max(np.abs(np.hypot(*sol.q.T) - 1.0)) <= 1e-10
    assert np.max(np.abs(np.sum(sol.q * sol.v, axis=1))) <= 1e-10


def test_the_rod_carries_weight_and_centrifugal_force():
    problem, h = problems.rod_pendulum(), 1e-3
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=h)
    middle = sol.t[:-1] + 0.5 * h
    q, v = problem.exact.q(middle), problem.exact.v(middle)
    tension = np.sum(v**2, axis=1) - GRAVITY * q[:, 1]
    np.testing.assert_allclose(-sol.joint_impulse[:, 0] / h, tension, rtol=0.0, atol=1e-4)


def test_a_linkage_with_a_loose_pin_keeps_its_joints():
    sol = sl.solve(problems.four_bar(), scheme=sl.MoreauJean(projection=True), h=1e-4)
    for q in sol.q[::20]:
        for joint in sol.system.joints:
            assert np.max(np.abs(joint.constraint(q))) <= 1e-10
    hit = sol.impulse[:, 0] > 0.0
    assert np.count_nonzero(hit) > 100
    assert np.min(sol.gaps()[1:][hit]) >= -1e-10
    assert np.max(sol.residual) <= 1e-10


# ---- at rest


def test_a_tumbling_box_comes_to_rest_and_stays():
    sol = sl.solve(problems.tumbling_box(t_end=2.0), scheme=TOUCHING, h=0.002)
    end, rest = sol.t > 1.9, sol.t > 1.5
    assert np.max(np.abs(sol.v[end])) <= 1e-9
    assert np.max(np.abs(sol.q[end] - sol.q[-1])) <= 1e-9
    potential = GRAVITY * sol.q[:, 2]
    total = sol.energy.kinetic + potential
    assert np.max(np.abs(total[rest] - total[-1])) <= 1e-9
    assert total[-1] == pytest.approx(GRAVITY * 0.03, abs=0.01)  # on its largest face
    normal = sol.impulse[:, ::3].sum(axis=1)[end[1:]]
    np.testing.assert_allclose(normal, GRAVITY * 0.002, rtol=1e-6)


FLAT = {"orientation": (1.0, 0.0, 0.0, 0.0), "spin": (0.0, 0.0, 0.0)}


@pytest.mark.parametrize("velocity", [(1.0, 0.0, 0.0), (1.0, 0.5, 0.0), (0.0, -1.0, 0.0)])
def test_a_flat_box_slides_on_its_four_corners_and_stops(velocity):
    problem = problems.tumbling_box(**FLAT, position=(0.0, 0.0, 0.03), velocity=velocity)
    sol = sl.solve(problem, scheme=TOUCHING, h=0.005)
    speed, direction = hypot(*velocity), np.array(velocity) / hypot(*velocity)
    expected = np.maximum(speed - 0.3 * GRAVITY * sol.t, 0.0)[:, None] * direction
    np.testing.assert_allclose(sol.v[:, :3], expected, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(sol.v[:, 3:], 0.0, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(sol.impulse[:, ::3].sum(axis=1), GRAVITY * 0.005, rtol=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.3])
def test_a_flat_box_lands_on_four_corners_and_stays_level(e):
    problem = problems.tumbling_box(**FLAT, position=(0.0, 0.0, 0.05), velocity=(0.0, 0.0, 0.0), e=e)
    sol = sl.solve(problem, scheme=TOUCHING, h=0.005)
    np.testing.assert_allclose(sol.v[-1], 0.0, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(sol.v[:, [0, 1, 3, 4, 5]], 0.0, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(sol.impulse[-1, ::3].sum(), GRAVITY * 0.005, rtol=1e-9)
    fallen = np.sqrt(2.0 * 0.02 / GRAVITY)
    assert 0.0 <= sol.events["t"][0] - fallen <= 1.5 * 0.005
    assert abs(sol.q[-1, 2] - 0.03) <= 0.005 * np.sqrt(2.0 * 0.02 * GRAVITY)


LEGS = [(-1.0, -0.5), (1.0, -0.5), (1.0, 0.5), (-1.0, 0.5)]


def four_legged_table(load: float, x: float, y: float) -> sl.System:
    """A rigid table, q = (height, roll, pitch) linearised, with a load at (x, y): one leg too many."""
    legs = [
        sl.Contact(lambda q, a=a, b=b: q[0] + b * q[1] - a * q[2], e=0.2, name=f"leg {i}")
        for i, (a, b) in enumerate(LEGS)
    ]
    return sl.System(M=[10.0, 3.0, 5.0], f=[-10.0 * GRAVITY - load, -load * y, load * x], contacts=legs)


@pytest.mark.parametrize("solver", [None, sl.Lemke(), sl.NSGS()], ids=["default", "lemke", "nsgs"])
@pytest.mark.parametrize("height", [0.0, 0.1])
def test_a_four_legged_table_carries_its_load_however_the_legs_share_it(solver, height):
    load, x, y, h = 20.0, 0.3, 0.2, 0.01
    scheme = sl.MoreauJean(solver=solver, closed_tolerance=1e-12)
    system = four_legged_table(load, x, y)
    sol = sl.solve(system, (0.0, 2.0), [height, 0.0, 0.0], [0.0, 0.0, 0.0], scheme=scheme, h=h)
    force = sol.impulse[-1] / h
    assert np.all(force >= 0.0)
    assert np.sum(force) == pytest.approx(10.0 * GRAVITY + load, rel=1e-9)
    assert np.dot(force, [b for _, b in LEGS]) == pytest.approx(load * y, rel=1e-8)
    assert np.dot(force, [a for a, _ in LEGS]) == pytest.approx(load * x, rel=1e-8)
    np.testing.assert_allclose(sol.v[-1], 0.0, rtol=0.0, atol=1e-12)
    if height == 0.0:
        np.testing.assert_allclose(sol.q, 0.0, rtol=0.0, atol=1e-12)


# ---- accumulation points, oscillators

# problem, bound of the L1 errors of (q, v, impulse) in units of h
CONVERGING = [
    (problems.zeno_ball(), (3.0, 25.0, 25.0)),
    (problems.impact_oscillator(), (60.0, 70.0, 80.0)),
    (problems.zeno_oscillator(), (6.0, 30.0, 30.0)),
    (problems.driven_pendulum(), (30.0, 40.0, 100.0)),
]


@pytest.mark.parametrize(("problem", "bounds"), CONVERGING, ids=[p.name for p, _ in CONVERGING])
def test_runs_converge_to_the_exact_solution(problem, bounds):
    span = problem.t_span[1]
    for h in (4.2853e-3, 1.0713e-3, 2.6783e-4):
        sol = sl.solve(problem, scheme=sl.MoreauJean(), h=h)
        pairs = [
            (sol.q, problem.exact.q(sol.t)),
            (sol.v, problem.exact.v(sol.t)),
            (sol.impulse_at(sol.t), problem.exact.impulse(sol.t)),
        ]
        for (ours, exact), bound in zip(pairs, bounds, strict=True):
            assert span * np.mean(np.abs(ours - exact)) <= bound * h


@pytest.mark.parametrize(
    ("problem", "force"),
    [(problems.zeno_ball(), 2.0), (problems.zeno_oscillator(), 0.5)],
    ids=["zeno_ball", "zeno_oscillator"],
)
def test_after_the_accumulation_the_body_rests_and_the_wall_carries_it(problem, force):
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=1.0713e-3)
    t_end = problem.t_span[1]
    assert np.max(np.abs(sol.v[sol.t > t_end - 0.5])) <= 1e-12
    np.testing.assert_allclose(sol.force_at(np.array([t_end - 0.4, t_end - 0.1]))[:, 0], force, rtol=1e-3)
    assert abs(sol.impulse_at(t_end) - problem.exact.impulse(t_end)) <= 0.01


def test_a_resting_ball_feels_its_load():
    problem = problems.rest_phase(load="exponential", strength=1.0)
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=0.01)
    np.testing.assert_array_equal(sol.q, 0.0)
    np.testing.assert_array_equal(sol.v, 0.0)
    # the midpoint rule, h^2/24 of the second derivative
    np.testing.assert_allclose(sol.impulse_at(sol.t), problem.exact.impulse(sol.t), rtol=0.01**2 / 6.0)


# ---- events


def test_the_event_table_of_a_ball_tells_its_impacts():
    h, e, mass = 0.00531, 0.9, 1.7
    problem = problems.zeno_ball(gravity=GRAVITY, e=e, mass=mass, t_end=5.0)
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=h)
    impacts, exact = sol.events, np.array(problem.exact.jumps)
    assert len(impacts) == len(exact)
    assert set(kinds(sol)) == {"impact"} and set(impacts["contact"].tolist()) == {"floor"}
    # the forecast looks half a step ahead and the impact is booked at the end of the step: 1/2 to 3/2 steps
    # late; each flight begins where the scheme put the impact before, so that the delays add up
    delay = (impacts["t"] - exact) / h
    assert 0.5 <= delay[0] <= 1.5
    assert np.all(np.abs(delay) <= 1.5 * np.arange(1, len(exact) + 1))
    u_minus, u_plus = impacts["u_minus"][:, 0], impacts["u_plus"][:, 0]
    expected = -np.sqrt(2.0 * GRAVITY) * e ** np.arange(len(exact))
    assert np.all(np.abs(u_minus - expected) <= 1.5 * GRAVITY * h * np.arange(1, len(exact) + 1))
    np.testing.assert_allclose(u_plus, -e * u_minus, rtol=1e-13)
    # the impulse of the step carries the weight, too
    np.testing.assert_allclose(impacts["impulse"][:, 0], mass * (u_plus - u_minus + GRAVITY * h), rtol=1e-12)
    np.testing.assert_array_equal(impacts["impulse"][:, 1:], 0.0)
    nodes = np.searchsorted(sol.t, impacts["t"])
    np.testing.assert_allclose(sol.t[nodes], impacts["t"], rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(sol.v[nodes, 0], u_plus)


def test_a_pressed_ball_closes_once_and_is_released_by_a_pull():
    floor = sl.Contact(lambda q: q[0], name="floor")
    system = sl.System(M=1.0, f=lambda t, q: [-1.0 + 2.0 * t], contacts=[floor])
    sol = sl.solve(system, (0.0, 1.0), 0.0, 0.0, scheme=sl.MoreauJean(), h=0.01)
    assert kinds(sol) == ["closing", "release"]
    assert abs(sol.events["t"][1] - 0.5) <= 0.02  # the force turns at 1/2 s
    lifted = sol.t > 0.51
    np.testing.assert_allclose(sol.v[lifted, 0], (sol.t[lifted] - 0.5) ** 2, rtol=0.0, atol=1e-3)


# ---- energy


def test_the_ledger_of_a_mass_matrix_depending_on_q_closes_to_second_order():
    defects = []
    for h in (0.02, 0.01, 0.005):
        sol = sl.solve(problems.double_pendulum(), scheme=sl.MoreauJean(), h=h)
        defects.append(np.max(np.abs(sol.energy.defect)))
    assert defects[0] <= 3e-3 * np.max(sol.energy.kinetic)
    assert np.all(np.log2(np.divide(defects[:-1], defects[1:])) >= 1.9)


def test_the_ledger_splits_the_loss_of_a_bouncing_ball():
    problem = problems.zeno_ball(gravity=GRAVITY, e=0.8, mass=2.0, t_end=10.0)
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=0.00531)
    # all that it fell from is lost in the end
    assert sol.energy.dissipation[-1, 0] == pytest.approx(2.0 * GRAVITY * (1.0 - sol.q[-1, 0]), rel=1e-9)
    assert np.max(np.abs(sol.energy.defect)) <= 1e-12
    np.testing.assert_allclose(sol.energy.work, 2.0 * GRAVITY * (1.0 - sol.q[:, 0]), rtol=0.0, atol=1e-11)
