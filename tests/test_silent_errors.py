"""Results that were wrong and said that they were right: models of users against motions that are known otherwise.

Each of them was drawn by bench/truth/kinks.py, or is the simplest model of what went wrong there.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

import saltus as sl

SCHEMES = [(sl.HpTDG(), 1.0), (sl.EventDriven(), 30.0)]  # and their promises, in tolerances


@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize(("scheme", "promise"), SCHEMES)
def test_impulses_of_a_heavy_body_that_hardly_moves_keep_their_promise(scheme, promise, tol):
    mass, fall, omega, e = 5e5, 2e-4, 3.0, 0.6  # it falls 0.1 mm with 5e5 kg: impulses of 100 N s

    def acceleration(t):
        return -fall * (1.0 + 0.9 * np.cos(omega * t))

    def velocity(t):
        return -fall * (t + 0.9 * np.sin(omega * t) / omega)

    def place(t):
        return -fall * (t**2 / 2.0 - 0.9 * np.cos(omega * t) / omega**2)

    body = sl.System(M=mass, f=lambda t, q, v: [mass * acceleration(t)], contacts=[sl.Contact(lambda q: q[0], e=e)])
    times, impulses, begin, height, speed = [], [], 0.0, 1e-4, 0.0
    while len(times) < 3:  # exact flights, one after another

        def gap(t, begin=begin, height=height, speed=speed):
            return height + (speed - velocity(begin)) * (t - begin) + place(t) - place(begin)

        late = begin + 1e-3
        while gap(late) > 0.0:
            late += 1e-3
        hit = brentq(gap, late - 1e-3, late, xtol=1e-15)
        arrival = speed + velocity(hit) - velocity(begin)
        times.append(hit)
        impulses.append(-(1.0 + e) * mass * arrival)
        begin, height, speed = hit, 0.0, -e * arrival
    end = times[-1] + 0.05
    sol = sl.solve(body, (0.0, end), 1e-4, 0.0, scheme=scheme, tol=tol)
    found = np.array([float(event["t"]) for event in sol.events])
    assert len(found) == 3
    # the total impulse is wrong by an impulse between the two times of an impact
    error = np.abs(found - times) @ np.array(impulses) / end
    error += float(np.abs(np.ravel(sol.impulse_at(end)) - sum(impulses))[0])
    assert error <= promise * tol * (1.0 + sum(impulses))


def test_a_bump_that_is_lower_than_a_gap_may_err_throws_off_what_rides_over_it():
    height, middle, width, speed, gravity, tol = 6e-5, 0.509, 9e-4, 1.13, 60.0, 1e-4
    bead = sl.System(
        M=[1.7, 1.7], f=[0.0, -1.7 * gravity],
        contacts=[sl.Contact(lambda q: q[1] - height * np.exp(-(((q[0] - middle) / width) ** 2)))],
    )  # fmt: skip

    def pressed(x):
        """Acceleration at which the road presses, and speed along x: energy is kept on the way up."""
        z = (x - middle) / width
        bump = height * np.exp(-z * z)
        along = np.sqrt((speed**2 - 2.0 * gravity * bump) / (1.0 + (2.0 * z / width * bump) ** 2))
        return gravity + along**2 * (4.0 * z * z - 2.0) / width**2 * bump, along

    left = brentq(lambda x: pressed(x)[0], middle - width, middle - 0.3 * width)  # it leaves near the top,
    kept = pressed(left)[1]  # and lands on the flat road: its speed along x stays
    sol = sl.solve(bead, (0.0, 0.54), [0.0, 0.0], [speed, 0.0], tol=tol)
    assert [str(event["kind"]) for event in sol.events] == ["release", "impact"]
    assert abs(sol.v[-1][0] - kept) < tol * (1.0 + speed)
    assert abs(speed - kept) > 5.0 * tol * (1.0 + speed)  # what a run that does not see the bump is wrong by


def bounces(corner: float, slope: float, end: float, e: float = 0.7, speed: float = 1e-3) -> float:
    """Height at `end` of a ball that bounces along x = t, on z = 0 up to the corner and z = slope (x - corner) behind.

    Gravity is 1e-5 and the wall has no friction; the ball starts upwards from z = 0.
    """
    gravity, t, z, v, x, u = 1e-5, 0.0, 0.0, speed, 0.0, 1.0
    while True:
        behind = x >= corner
        tilt = slope if behind else 0.0
        gap, rate = z - tilt * (x - corner), v - tilt * u
        flight = (rate + np.sqrt(rate**2 + 2.0 * gravity * max(gap, 0.0))) / gravity
        reach = np.inf if behind else (corner - x) / u
        h = min(flight, reach, end - t)
        t, x, z, v = t + h, x + u * h, z + v * h - gravity * h * h / 2.0, v - gravity * h
        if t >= end:
            return z
        if reach < flight:
            x = corner
            continue
        push = -(1.0 + e) * (v - tilt * u) / (1.0 + tilt**2)
        u, v = u - tilt * push, v + push


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()])
def test_bounces_that_reach_a_corner_are_not_replaced_by_their_accumulation(scheme):
    corner, slope, tol = 660.0, 1e-3, 1e-4  # bounces would end at t = 667, their last ones nobody sees
    road = sl.System(
        M=[1.0, 1.0], f=[0.0, -1e-5],
        contacts=[sl.Contact(lambda q: q[1] - slope * np.maximum(q[0] - corner, 0.0), e=0.7)],
    )  # fmt: skip
    sol = sl.solve(road, (0.0, 700.0), [0.0, 0.0], [1.0, 1e-3], scheme=scheme, tol=tol)
    assert np.abs(sol.t - corner).min() < 1e-6
    assert abs(sol.q[-1][1] - bounces(corner, slope, 700.0)) < tol


def test_an_event_inside_of_an_accumulation_happens():
    ball = sl.System(M=[1.0, 1.0], f=[0.0, -1e-5], contacts=[sl.Contact(lambda q: q[1], e=0.7)])
    passed = sl.Event(lambda q: q[0] - 660.0, name="passed")
    sol = sl.solve(ball, (0.0, 700.0), [0.0, 0.0], [1.0, 1e-3], tol=1e-4, events=[passed])
    happened = [float(event["t"]) for event in sol.events if event["kind"] == "event"]
    assert happened == pytest.approx([660.0], abs=1e-6)


def test_stages_are_solved_where_a_magnet_is_narrow():
    tol, mass, span, v0 = 1e-4, 1.5585887617453018e-4, 706.8133770137214, 0.02120997
    magnets = [
        (1.4491639272782224e-07, 3.011672552301682, 0.019990317276586216),
        (-2.1433921260280982e-08, 5.653023273037624, 0.09987542723485107),
        (2.4166801772246354e-08, 10.326848648611456, 0.10980206568772735),
    ]  # force, place, width

    def push(x):
        return sum(force / (1.0 + ((x - place) / width) ** 2) for force, place, width in magnets)

    def speed(x):  # by the work of the magnets
        work = sum(f * w * (np.arctan((x - place) / w) + np.arctan(place / w)) for f, place, w in magnets)
        return np.sqrt(v0**2 + 2.0 * work / mass)

    sol = sl.solve(sl.System(M=mass, f=lambda t, q, v: [push(q[0])]), (0.0, span), 0.0, v0, tol=tol)
    worst = 0.0
    for k in range(0, len(sol.t), 5):
        marks = [place + s * width for _, place, width in magnets for s in (-3.0, -1.0, 0.0, 1.0, 3.0)]
        x = float(sol.q[k][0])
        inside = [0.0, *(mark for mark in marks if mark < x), x]
        taken = sum(quad(lambda y: 1.0 / speed(y), a, b, epsabs=1e-12)[0] for a, b in itertools.pairwise(inside))
        worst = max(worst, abs(taken - sol.t[k]) * speed(x))  # by how much it is ahead or behind [m]
    assert worst < 0.5 * tol * (1.0 + float(sol.q.max()))


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()])
def test_slips_that_change_no_velocity_by_the_tolerance_add_up_over_a_long_span(scheme):
    mass, grip, most, period, begin, width, count, tol = 0.15, 7e-10, 1.2e-9, 1407.0, 350.0, 435.0, 20, 1e-4

    def push(t):
        s = np.mod(t, period)
        if begin < s < begin + width:
            return most * np.sin(np.pi * (s - begin) / width) ** 2
        return 0.0

    block = sl.System(
        M=[mass, mass], f=lambda t, q, v: [push(t), -grip / 0.5],
        contacts=[sl.Contact(lambda q: q[1], mu=0.5, slip=lambda t, q, v: v[0])],
    )  # fmt: skip
    sol = sl.solve(block, (0.0, count * period), [0.0, 0.0], [0.0, 0.0], scheme=scheme, tol=tol)

    # every push moves it from where it is as strong as friction to where the impulses of both are the same
    def impulse(s):
        acts = min(s, width)
        return most * (acts / 2.0 - width / (4.0 * np.pi) * np.sin(2.0 * np.pi * acts / width)) - grip * s

    starts = width / np.pi * np.arcsin(np.sqrt(grip / most))
    stops = brentq(lambda s: impulse(s) - impulse(starts), width / 2.0, 2.0 * width)
    far = quad(lambda s: impulse(s) - impulse(starts), starts, stops, epsabs=1e-14)[0] / mass
    assert count * far > 10.0 * tol
    assert abs(sol.q[-1][0] - count * far) < tol


def test_event_driven_switches_where_the_step_does_and_not_its_dense_output():
    mass, k, f1, f2, x1 = (
        0.9287024918836744,
        6.488226814496572,
        3.0950534871507136,
        -1.4198652254911728,
        0.0716709381698,
    )
    q0, v0, span, tol = 0.07917365, -0.00013173, 1.459868960053502, 1e-10
    omega = np.sqrt(k / mass)
    t, q, v = 0.0, q0, v0
    while True:  # exact: an oscillator around f / k on either side of x1
        f = f1 if q < x1 or (q == x1 and v < 0.0) else f2

        def place(s, q=q, v=v, f=f):
            return f / k + (q - f / k) * np.cos(omega * s) + v / omega * np.sin(omega * s)

        grid = np.linspace(1e-6, span - t, 4000)
        side = np.sign(place(grid) - x1)
        turn = np.flatnonzero(side[1:] != side[:-1])
        s = brentq(lambda s: place(s) - x1, grid[turn[0]], grid[turn[0] + 1], xtol=1e-16) if len(turn) else span - t
        v = -(q - f / k) * omega * np.sin(omega * s) + v * np.cos(omega * s)
        t, q = t + s, x1 if len(turn) else place(s)
        if not len(turn):
            break
    system = sl.System(M=mass, f=lambda t, q, v: [np.where(q[0] < x1, f1, f2) - k * q[0]])
    sol = sl.solve(system, (0.0, span), q0, v0, scheme=sl.EventDriven(), tol=tol)
    assert abs(sol.v[-1][0] - v) < 30.0 * tol


def test_an_impact_just_before_a_corner_of_a_moving_wall_is_not_taken_for_one_behind_it():
    x = [508.66882521936265, 933.3086963127316, 1031.994000035953, 1473.0560536581734]
    y = [0.0, 778.3638565433364, 778.3638565433364, 0.0]
    weight, spring, damper = 157.38950400338857, 0.007586354028603198, 0.4112128492398011
    follower = sl.System(
        M=4405.98960502108, f=lambda t, q, v: [-weight - spring * q[0] - damper * v[0]],
        contacts=[sl.Contact(lambda t, q: q[0] - np.interp(np.mod(t, 1914.3858997281777), x, y), e=0.5619926066256491)],
    )  # fmt: skip
    sol = sl.solve(follower, (0.0, 4090.466082119921), 0.0, 0.0, scheme=sl.EventDriven(), tol=1e-4)
    # from x[1] on it is thrown up by the wall that stops; with a damper this is the closed form of its fall
    m, rate = 4405.98960502108, (y[1] - y[0]) / (x[1] - x[0])
    decay, omega = damper / (2.0 * m), np.sqrt(spring / m - (damper / (2.0 * m)) ** 2)
    rest = -weight / spring

    def height(t):
        s, a = t - x[1], y[1] - rest
        return rest + np.exp(-decay * s) * (a * np.cos(omega * s) + (rate + decay * a) / omega * np.sin(omega * s))

    strikes = brentq(lambda t: height(t) - y[1], x[1] + 1.0, x[2])
    assert x[2] - 0.1 < strikes < x[2] - 0.01
    assert any(event["kind"] == "impact" and abs(event["t"] - strikes) < 1e-4 for event in sol.events)


def test_event_driven_begins_carefully_where_a_force_sets_in_on_what_rests():
    m1, m2, k1, k2 = 1.208510727442693, 1.217257395389716, 174.3714256123551, 176.31885107970677
    begin, push, span, tol = 0.28392101629660177, -0.004894743, 1.6952135219456825, 1e-10

    def drive(t):
        if t > begin:
            return push
        return 0.0

    chain = sl.System(
        M=[m1, m2],
        f=lambda t, q, v: [-k1 * q[0] - k2 * (q[0] - q[1]), k2 * (q[0] - q[1]) + drive(t)],
    )
    sol = sl.solve(chain, (0.0, span), [0.0, 0.0], [0.0, 0.0], scheme=sl.EventDriven(), tol=tol)
    A = np.zeros((5, 5))
    A[0, 2] = A[1, 3] = 1.0
    A[2, :2] = np.array([-k1 - k2, k2]) / m1
    A[3, :2] = np.array([k2, -k2]) / m2
    A[3, 4] = push / m2
    for t in sol.t[sol.t > begin]:
        exact = expm(A * (t - begin))[:4, 4]
        assert np.abs(sol(t).v - exact[2:]).max() < 10.0 * tol


def test_a_clock_that_began_long_ago_switches_in_time():
    """Time has 1.5e-11 s per digit at t = 1e5 s: a branch may end some digits late, not some dozens."""
    begin, period = 1e5, 0.1875
    sol = sl.solve(
        sl.System(M=1.0, f=lambda t, q, v: [40.0 * (np.floor((t - begin) / period) % 2.0)]),
        (begin, begin + 3.0), 0.0, 0.0, tol=1e-10,
    )  # fmt: skip
    late = sol.switches["t"] - begin - period * np.round((sol.switches["t"] - begin) / period)
    assert len(late) >= 15
    assert np.abs(late).max() < 6e-11


def test_a_controller_that_leaves_its_saturation_is_seen_by_dense_output_of_lower_order():
    """Linear in every branch, so that nothing was looked at: the kink was found .05 s late on the dense output."""
    kp, ki, kd, limit, jump, amplitude, end = 22.042, 11.932, 1.4514, 6.4429, 0.67490, 0.95710, 3.0543

    def force(t, q, v):  # a PID controller with anti-windup; v[1] is its integral
        error = amplitude * np.heaviside(t - jump, 1.0) - q[0]
        wanted = kp * error + ki * v[1] - kd * v[0]
        given = np.clip(wanted, -limit, limit)
        return np.array([given, error + 2.0 * (given - wanted)])

    system = sl.System(M=1.0, f=force)
    sol = sl.solve(system, (0.0, end), [0.0, 0.0], [0.0, 0.0], tol=1e-4, scheme=sl.EventDriven())
    # at rest before the jump; saturated, then linear: each a linear system with constants, by its matrix exponential
    moves, ends = [[0, 0, 1, 0, 0], [0, 0, 0, 1, 0]], [[0, 0, 0, 0, 0]]
    winds_down = [2 * kp - 1, 0, 2 * kd, -2 * ki, amplitude * (1 - 2 * kp) + 2 * limit]
    saturated = np.array([*moves, [0, 0, 0, 0, limit], winds_down, *ends])
    linear = np.array([*moves, [-kp, 0, -kd, ki, kp * amplitude], [-1, 0, 0, 0, amplitude], *ends])
    start = np.array([0.0, 0.0, 0.0, 0.0, 1.0])

    def wanted(x):
        return kp * (amplitude - x[0]) + ki * x[3] - kd * x[2] - limit

    leaves = brentq(lambda s: wanted(expm(saturated * s) @ start), 1e-3, 0.5, xtol=1e-15)
    behind = expm(saturated * leaves) @ start
    times = np.linspace(jump, end, 400)
    exact = [expm(saturated * s) @ start if s < leaves else expm(linear * (s - leaves)) @ behind for s in times - jump]
    wanted_v = np.array(exact)[:, 2:4]
    assert np.abs([wanted(x) for x in exact if wanted(x) < 0.0]).max() < 2.0 * limit  # it does not saturate again below
    mean = np.mean(np.linalg.norm(sol(times).v - wanted_v, axis=1))
    assert mean <= 30.0 * 1e-4 * (1.0 + np.linalg.norm(wanted_v, axis=1).max())


@pytest.mark.parametrize(("scheme", "promise"), SCHEMES, ids=["hp", "event-driven"])
def test_a_knot_at_the_beginning_of_a_long_flight_is_located_by_a_short_one(scheme, promise):
    """Inside of a cell the motion grows without bound: polynomials of all of it do not say where the cell ends."""
    turn, onset, c = 0.82789, 2.7197, 0.065693
    x, y = [0.0, 0.21204, 0.33708, 0.43345, turn], [0.13296, 0.31169, 0.096539, -0.11053, 0.13296]

    def force(t, q, v):
        torque = np.interp(q[0] % turn, x, y)
        return [torque if v[0] < onset else torque - c * (v[0] - onset)]

    mass, q0, v0, end = 0.11005, 0.41308, 3.5085, 5.5427
    times = np.linspace(0.0, end, 500)
    # kinks only: short steps of a plain method meet them well enough for this tolerance
    made = solve_ivp(
        lambda t, s: [s[1], force(t, s[:1], s[1:])[0] / mass], (0.0, end), [q0, v0], method="DOP853", rtol=1e-10,
        atol=1e-12, max_step=5e-3, t_eval=times,
    )  # fmt: skip
    sol = sl.solve(sl.System(M=mass, f=force), (0.0, end), q0, v0, scheme=scheme, tol=1e-4)
    state = sol(times)
    for found, exact in ((state.q[:, 0], made.y[0]), (state.v[:, 0], made.y[1])):
        assert np.mean(np.abs(found - exact)) <= promise * 1e-4 * (1.0 + np.abs(exact).max())


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["hp", "event-driven"])
def test_bounces_that_are_ended_at_once_end_with_their_friction(scheme):
    """A plank tips onto its stop and bounces under two blocks that slide down on it: friction is mu N all the time.

    One block parts from the plank whenever it strikes and lands again, which no frozen accumulation follows; the last
    bounces, lower than gaps are known, used to be stopped by normal impulses alone.
    """
    mu, g = 0.15, 9.81
    contacts = [sl.Contact(lambda q: 0.3 + q[0], e=0.3, name="stop")]
    for i in (1, 3):
        contacts.append(
            sl.Contact(
                lambda q, i=i: q[i + 1] * np.cos(q[0]) - q[i] * np.sin(q[0]),
                mu=mu,
                slip=lambda t, q, v, i=i: v[i] * np.cos(q[0]) + v[i + 1] * np.sin(q[0]),
                name=f"block {i}",
            )
        )
    plank = sl.System(M=[0.5, 1.0, 1.0, 1.0, 1.0], f=[0.0, 0.0, -g, 0.0, -g], contacts=contacts)
    c, s = np.cos(-0.25), np.sin(-0.25)
    sol = sl.solve(plank, (0.0, 0.5), [-0.25, c, s, -0.3 * c, -0.3 * s], np.zeros(5), scheme=scheme, tol=1e-10)
    for impulse in (sol.impulse_at(0.5)[1:3], sol.impulse_at(0.5)[3:5]):
        assert abs(impulse[1] + mu * impulse[0]) < 1e-11  # both slide to the right
    assert abs(sol.energy.defect).max() < 1e-10


@pytest.mark.parametrize(("scheme", "tol"), [(sl.HpTDG(), 1e-7), (sl.HpTDG(), 1e-10), (sl.EventDriven(), 1e-9)])
@pytest.mark.parametrize(
    ("m", "m_block", "x", "stop", "e"),
    [(0.6, 1.4, 0.56, 1.0, 0.5), (0.7, 1.9, 0.37, 1.0, 0.4), (1.1, 1.6, 0.45, 1.1, 0.2), (1.4, 1.9, 0.51, 1.2, 0.2)],
)
def test_a_block_on_a_trapdoor_that_falls_on_its_stop_comes_to_rest_with_it(scheme, tol, m, m_block, x, stop, e):
    """The door strikes the stop and the block in turn, infinitely often, all within a rounding of time.

    Behind every landing the block leaves the door, faster than rounding can tell: it must not be thrown up with it. In
    the end the door rests on its stop, and the block slides on it, slower by mu times what stopped it.
    """
    mu, g = 0.3, 9.81
    contacts = [
        sl.Contact(lambda q: stop + q[0], e=e, name="stop"),
        sl.Contact(
            lambda q: q[2] * np.cos(q[0]) - q[1] * np.sin(q[0]),
            mu=mu,
            slip=lambda t, q, v: v[1] * np.cos(q[0]) + v[2] * np.sin(q[0]),
            name="block",
        ),
    ]
    door = sl.System(
        M=[m / 3.0, m_block, m_block],
        f=lambda t, q, v: [-0.5 * m * g * np.cos(q[0]), 0.0, -m_block * g],
        contacts=contacts,
    )
    sol = sl.solve(door, (0.0, 1.0), [0.0, x, 0.0], np.zeros(3), scheme=scheme, tol=tol)
    end = sol.events[(sol.events["kind"] == "zeno") & (sol.events["contact"] == "block")]["t"][0]
    before, after = sol(end - 1e-8), sol(end + 1e-8)
    angle = before.q[0]
    normal = np.cos(angle) * before.v[2] - np.sin(angle) * before.v[1]
    slip = np.cos(angle) * before.v[1] + np.sin(angle) * before.v[2]
    assert normal < -0.5  # the block comes down with the door
    assert abs(after.v[0]) < 1e-6
    assert abs(np.cos(stop) * after.v[1] - np.sin(stop) * after.v[2] - (slip + mu * normal)) < 1e-6


GROWING = {  # from nothing on: the force, and its integral
    "t": (lambda t: t, lambda t: t**2 / 2.0),
    "t^2": (lambda t: t**2, lambda t: t**3 / 3.0),
    "1 - cos": (lambda t: 1.0 - np.cos(2.14 * t), lambda t: t - np.sin(2.14 * t) / 2.14),
}


@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize(("scheme", "promise"), SCHEMES)
@pytest.mark.parametrize("pull", [0.1, 0.29, 0.3, 0.31, 2.0])
@pytest.mark.parametrize("name", GROWING)
def test_a_block_that_is_pressed_and_pulled_from_nothing_on_has_friction_from_the_start(
    name, pull, scheme, promise, tol
):
    """At t = 0 contact and friction carry nothing, at the tip of the cone: the law does not say what comes of them."""
    mu, (force, integral) = 0.3, GROWING[name]
    floor = sl.Contact(lambda q: q[1], mu=mu, slip=lambda t, q, v: v[0], name="floor")
    block = sl.System(M=[1.0, 2.0], f=lambda t, q, v: [pull * force(t), -force(t)], contacts=[floor])
    sol = sl.solve(block, (0.0, 2.0), [0.0, 0.0], [0.0, 0.0], scheme=scheme, tol=tol)
    t = np.linspace(0.0, 2.0, 1001)
    exact = max(pull - mu, 0.0) * integral(t)
    assert np.mean(np.abs(sol(t).v[:, 0] - exact)) < promise * tol * (1.0 + exact.max())
