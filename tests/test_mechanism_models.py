"""Mechanisms as a user writes them, against minimal coordinates by hand, integrated by scipy, or closed forms."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import saltus as sl
from saltus import mechanics as me

LOCATED = pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
GRAVITY = 9.81


def one_coordinate(inertia, potential, step=1e-5):
    """The motion of one coordinate x with T = inertia(x) x'^2 / 2: x'' from differences of order four."""

    def slope(function, x):
        return (8.0 * (function(x + step) - function(x - step)) - (function(x + 2 * step) - function(x - 2 * step))) / (
            12.0 * step
        )

    def right(t, y):
        x, speed = y
        return speed, -(0.5 * slope(inertia, x) * speed**2 + slope(potential, x)) / inertia(x)

    return right


def bounced(right, y, T, bound, sign, e, tolerance=1e-11):
    """Integrate until T with sign (x - bound) >= 0 and restitution e; return the end and the times of the impacts."""

    def gap(t, y):
        return sign * (y[0] - bound)

    gap.terminal, gap.direction = True, -1  # type: ignore[attr-defined]
    t, times = 0.0, []
    while t < T:
        run = solve_ivp(right, (t, T), y, events=gap, rtol=tolerance, atol=0.01 * tolerance, method="DOP853")
        t, y = run.t[-1], run.y[:, -1].copy()
        if run.status == 1:
            times.append(t)
            y[0], y[1] = bound, -e * y[1]
    return y, times


@LOCATED
def test_a_scissor_lift_falls_as_its_one_coordinate_says(scheme):
    L, m, plate, k, rest = 0.8, 1.5, 4.0, 300.0, 0.3
    w = me.Planar(gravity=GRAVITY)
    one, two = w.bar(L, mass=m, angle=0.9, name="one"), w.bar(L, mass=m, angle=math.pi - 0.9, name="two")
    top = w.body(mass=plate, inertia=0.3, at=(0.0, L * math.sin(0.9)), name="top")
    w.revolute(w.ground, one.start, name="foot")
    w.slot(w.ground, two.start, axis="x", name="rail")
    w.revolute(one.centre, two.centre, name="cross")
    w.revolute(top, two.end, name="left")
    w.slot(top, one.end, axis="x", name="right")
    w.spring(w.ground, two.start, k=k, length=rest)
    w.start(one, angle=0.9, speed=0.0)
    assert w.assemble().freedom == 1

    def inertia(a):
        return 2.0 * m * L**2 / 3.0 + plate * (L * math.cos(a)) ** 2

    def potential(a):
        return (m + plate) * GRAVITY * L * math.sin(a) + 0.5 * k * (L * math.cos(a) - rest) ** 2

    run = sl.solve(w, (0.0, 0.5), scheme=scheme, tol=1e-9)
    exact = solve_ivp(
        one_coordinate(inertia, potential), (0.0, 0.5), [0.9, 0.0], rtol=1e-11, atol=1e-13, method="DOP853"
    )
    angle, speed = exact.y[:, -1]
    assert abs(angle - 0.9) > 0.1
    assert sol_angle(run, "one") == pytest.approx(angle, abs=1e-7)
    assert run.body("top").velocity[-1][1] == pytest.approx(L * math.cos(angle) * speed, abs=1e-6)
    assert abs(run.body("top").pose[-1][2]) < 1e-9  # it stays level


def times_of(events, kind):
    return [float(event["t"]) for event in events if event["kind"] == kind]


def sol_angle(run, name):
    return run.body(name).pose[-1][2]


@LOCATED
def test_a_toggle_clamp_goes_over_its_dead_point_and_stays_there(scheme):
    L, m, slide, k, over = 0.1, 0.2, 0.5, 4000.0, -0.06
    w = me.Planar(gravity=0.0)
    near, far = w.bar(L, mass=m, angle=0.5, name="near"), w.bar(L, mass=m, angle=-0.5, name="far")
    jaw = w.body(mass=slide, inertia=1e-3, at=(2.0 * L * math.cos(0.5), 0.0), name="jaw")
    w.revolute(w.ground, near.start, name="pivot", stops=(over, None), stop_e=0.05)
    w.revolute(near.end, far.start, name="knee")
    w.revolute(far.end, jaw, name="wrist")
    w.guide(jaw, axis="x", name="rail")
    w.spring(w.ground.at(2.5 * L, 0.0), jaw, k=k, length=0.06, name="work")
    w.start(near, angle=0.5, speed=-25.0)

    def inertia(a):
        c, s = math.cos(a), math.sin(a)
        return m * L**2 / 3.0 + m * L**2 * ((1.5 * s) ** 2 + (0.5 * c) ** 2 + 1.0 / 12.0) + slide * (2.0 * L * s) ** 2

    def potential(a):
        return 0.5 * k * (2.5 * L - 2.0 * L * math.cos(a) - 0.06) ** 2

    right = one_coordinate(inertia, potential)
    T = 0.022
    (angle, _), times = bounced(right, np.array([0.5, -25.0]), T, over, 1.0, 0.05)
    run = sl.solve(w, (0.0, T), scheme=scheme, tol=1e-9)
    hits = times_of(run.events.of("pivot.lower"), "impact")
    assert len(times) == 1
    np.testing.assert_allclose(hits, times, atol=1e-8)
    assert sol_angle(run, "near") == pytest.approx(angle, abs=1e-7)
    late = sl.solve(w, (0.0, 0.2), scheme=scheme, tol=1e-7)
    # over the dead point the spring closes it for good
    assert sol_angle(late, "near") == pytest.approx(over, abs=1e-7) and np.max(np.abs(late.v[-1])) < 1e-7


CRANK, ROD, ROCKER, GROUND = 0.05, 0.14, 0.1, 0.15
DENSITY, TORSION, STOP = 3.0, 2.0, 2.0  # kg/m, N m/rad, rad


@functools.cache
def rocker_by_hand(theta, speed, T):
    """Angle and speed of the crank at T, and the times at which the rocker meets its stop (e = 1/2)."""

    def places(theta):
        turn, psi = closed_loop(theta)
        joint = CRANK * np.array([math.cos(theta), math.sin(theta)])
        middle = joint + 0.5 * ROD * np.array([math.cos(turn), math.sin(turn)])
        return np.array([0.5 * joint[1], *middle, turn, 0.5 * ROCKER * math.sin(psi), psi])

    def inertia(theta, h=1e-4):
        far, near = places(theta + 2 * h) - places(theta - 2 * h), places(theta + h) - places(theta - h)
        _, x, y, turn, _, psi = (8.0 * near - far) / (12.0 * h)
        rod = ROD * (x**2 + y**2) + ROD**3 / 12.0 * turn**2
        return DENSITY * (CRANK**3 / 3.0 + rod + ROCKER**3 / 3.0 * psi**2)

    def potential(theta):
        first, _, middle, _, last, psi = places(theta)
        weight = DENSITY * GRAVITY * (CRANK * first + ROD * middle + ROCKER * last)
        return weight + 0.5 * TORSION * (psi - 1.6) ** 2

    at_stop = brentq(lambda x: closed_loop(x)[1] - STOP, theta, 2.8)
    return bounced(one_coordinate(inertia, potential, 1e-3), np.array([theta, speed]), T, at_stop, -1.0, 0.5, 1e-9)


@LOCATED
def test_a_crank_rocker_with_a_spring_bounces_off_the_stop_of_its_rocker(scheme):
    theta, T = 1.2, 0.05
    w = me.Planar(gravity=GRAVITY)
    crank, rod, rocker = (
        w.bar(length, mass=DENSITY * length, name=name)
        for length, name in ((CRANK, "crank"), (ROD, "rod"), (ROCKER, "rocker"))
    )
    w.revolute(w.ground, crank.start, name="left")
    w.revolute(crank.end, rod.start, name="knee")
    w.revolute(rod.end, rocker.end, name="elbow")
    w.revolute(w.ground.at(GROUND, 0.0), rocker.start, name="right", stops=(None, STOP), stop_e=0.5)
    w.torsion_spring(w.ground, rocker, k=TORSION, angle=1.6)
    w.start(crank, angle=theta, speed=40.0)
    for bar, angle in zip((rod, rocker), closed_loop(theta), strict=True):
        w.start(bar, angle=angle)
    (angle, speed), times = rocker_by_hand(theta, 40.0, T)
    run = sl.solve(w, (0.0, T), scheme=scheme, tol=1e-9)
    hits = times_of(run.events.of("right.upper"), "impact")
    assert times and len(hits) == len(times)
    np.testing.assert_allclose(hits, times, atol=2e-7)
    assert run.body("crank").pose[-1][2] == pytest.approx(angle, abs=2e-6)
    assert run.body("crank").velocity[-1][2] == pytest.approx(speed, rel=1e-5, abs=1e-4)


def closed_loop(theta):
    """Angles of rod and rocker of the linkage whose elbow is above."""
    x, y = CRANK * math.cos(theta) - GROUND, CRANK * math.sin(theta)
    far = math.hypot(x, y)
    psi = math.atan2(y, x) - math.acos((far**2 + ROCKER**2 - ROD**2) / (2.0 * far * ROCKER))
    return math.atan2(ROCKER * math.sin(psi) - y, ROCKER * math.cos(psi) - x), psi


@LOCATED
def test_a_planet_takes_up_its_play_and_rolls_around_the_sun(scheme):
    sun, planet, module, backlash, torque = 30, 20, 2e-3, 2e-4, 0.4
    d = module * (sun + planet) / 2.0
    m, inertia, arm_inertia = 0.2, 5e-5, 2e-4
    w = me.Planar(gravity=0.0)
    arm = w.body(mass=0.1, inertia=arm_inertia, at=(0.0, 0.0), name="arm")
    wheel = w.body(mass=m, inertia=inertia, at=(d, 0.0), name="planet")
    w.revolute(w.ground, arm, name="shaft")
    w.revolute(arm.at(d, 0.0), wheel, name="pin")
    w.gear(w.ground, wheel, teeth=(sun, planet), module=module, backlash=backlash, e=0.0, name="mesh")
    w.motor(arm, torque=torque)
    w.start(arm, angle=0.0, speed=0.0)
    w.start(wheel, angle=0.0, speed=0.0)
    # play: arm and planet are apart, the planet does not turn; the flanks meet when R angle = half the backlash
    base = module * math.cos(math.radians(20.0)) / 2.0
    alone = torque / (arm_inertia + m * d**2)
    angle = backlash / 2.0 / (base * (sun + planet))
    t_hit = math.sqrt(2.0 * angle / alone)
    ratio = 1.0 + sun / planet
    whole = arm_inertia + m * d**2 + inertia * ratio**2
    speed = alone * t_hit * (arm_inertia + m * d**2) / whole
    T = 0.1
    left = T - t_hit
    arm_end = angle + speed * left + 0.5 * torque / whole * left**2
    run = sl.solve(w, (0.0, T), scheme=scheme, tol=1e-9)
    hits = times_of(run.events, "impact")
    assert hits[0] == pytest.approx(t_hit, abs=1e-9) and len(hits) == 1
    assert run.body("arm").pose[-1][2] == pytest.approx(arm_end, abs=1e-7)
    assert run.body("planet").pose[-1][2] == pytest.approx(ratio * (arm_end - angle), abs=1e-6)


def eccentric_follower(scheme, tol, T):
    R, r, ecc, speed = 0.03, 0.01, 0.006, 140.0
    m, k, preload = 0.15, 400.0, 0.02
    w = me.Planar(gravity=GRAVITY)
    cam = w.body(me.Cam(lambda angle: ecc * np.cos(angle), R), mass=0.3, inertia=1e-4, at=(0.0, 0.0), name="cam")
    follower = w.body(me.Circle(r), mass=m, at=(0.0, math.hypot(R + r, 0.0)), name="follower")
    w.revolute(w.ground, cam.at(0.0, 0.0), name="shaft")
    w.drive("shaft", speed=speed)
    w.guide(follower, axis="y", name="guide")
    w.spring(w.ground.at(0.0, 0.3), follower, k=k, length=0.3 - R - r + preload, name="spring")
    w.contact(follower, cam, e=0.3, name="roller")
    w.start(cam, angle=0.0)
    w.start(follower, at=(None, math.sqrt((R + r) ** 2 - ecc**2)), velocity=(None, ecc * speed))
    return w, sl.solve(w, (0.0, T), scheme=scheme, tol=tol), (R, r, ecc, speed, m, k, preload)


@LOCATED
def test_a_roller_leaves_its_cam_where_the_spring_is_too_weak_and_comes_back(scheme):
    T = 0.06
    _, run, (R, r, ecc, speed, m, k, preload) = eccentric_follower(scheme, 1e-9, T)

    def lift(t):
        """Height of the roller on the cam, its speed and acceleration."""
        x, y = ecc * np.cos(speed * t), ecc * np.sin(speed * t)
        root = np.sqrt((R + r) ** 2 - x**2)
        height = y + root
        x1, y1 = -speed * y, speed * x
        first = y1 - x * x1 / root
        second = -(speed**2) * y - (x1**2 + x * -(speed**2) * x) / root - (x * x1) ** 2 / root**3
        return height, first, second

    def pull(y):
        return -GRAVITY + k / m * ((0.3 - y) - (0.3 - R - r + preload))

    def pressed(t):
        height, _, second = lift(t)
        return second - pull(height)

    leaves = brentq(pressed, 0.0, 0.01)
    y, t, impacts = np.array(lift(leaves)[:2]), leaves, []

    def flight(t, y):
        return y[1], pull(y[0])

    def gap(t, y):
        return y[0] - lift(t)[0] if t > leaves + 1e-4 else 1.0

    gap.terminal, gap.direction = True, -1  # type: ignore[attr-defined]
    for _ in range(2):
        flown = solve_ivp(flight, (t, T), y, events=gap, rtol=1e-11, atol=1e-14, max_step=2e-3, method="DOP853")
        t, y = flown.t[-1], flown.y[:, -1].copy()
        if flown.status != 1:
            break
        impacts.append(t)
        y[1] = lift(t)[1] - 0.3 * (y[1] - lift(t)[1])
        leaves = t
    hits = times_of(run.events.of("roller"), "impact")
    released = times_of(run.events.of("roller"), "release")
    assert released[0] == pytest.approx(brentq(pressed, 0.0, 0.01), abs=1e-7)
    assert len(impacts) == 2
    np.testing.assert_allclose(hits[:2], impacts, atol=1e-7)


def test_a_geneva_wheel_is_turned_by_the_pin_in_its_slot():
    a, d, speed, inertia = 0.04, 0.06, 5.0, 3e-4
    w = me.Planar(gravity=0.0)
    driver = w.body(mass=0.1, inertia=1e-4, at=(0.0, 0.0), name="driver")
    star = w.body(mass=0.2, inertia=inertia, at=(d, 0.0), name="star")
    w.revolute(w.ground, driver, name="input")
    w.revolute(w.ground.at(d, 0.0), star, name="output")
    w.slot(star, driver.at(a, 0.0), axis="x", name="slot")
    w.drive("input", speed=speed)
    theta0 = -0.6

    def turned(theta):
        return math.atan2(a * math.sin(theta), a * math.cos(theta) - d)

    w.start(driver, angle=theta0)
    w.start(star, angle=turned(theta0))
    run = sl.solve(w, (0.0, 0.24), tol=1e-9)
    for t in np.linspace(0.01, 0.23, 9):
        theta = theta0 + speed * t
        wanted = turned(theta)
        found = run.body("star").pose_at(t)[2]
        assert math.remainder(found - wanted, 2.0 * math.pi) == pytest.approx(0.0, abs=1e-9)
    # the wall of the slot turns the star: force times arm = inertia times acceleration
    k = len(run.t) // 2
    force, near = np.linalg.norm(run.joint("slot").force[k]), run.t[k]
    assert force == pytest.approx(wall_force(turned, inertia, a, d, theta0 + speed * near, speed), rel=1e-6)


def wall_force(turned, inertia, a, d, theta, speed, h=1e-3):
    """Force of the wall on the pin, from the second difference of the angle of the star, of order four."""
    far, near = (turned(theta + k * h) + turned(theta - k * h) for k in (2, 1))
    second = (16.0 * near - far - 30.0 * turned(theta)) / (12.0 * h**2) * speed**2
    return inertia * abs(second) / math.hypot(a * math.cos(theta) - d, a * math.sin(theta))


def involute(angle):
    return math.tan(angle) - angle


def turned_until_touch(ring, wheel, module, backlash, distance):
    """Angle by which a wheel can turn inside of a ring until a flank touches, searched along the drawn flanks."""
    alpha = math.radians(20.0)
    base_ring, base = (0.5 * module * z * math.cos(alpha) for z in (ring, wheel))
    tooth = 0.5 * math.pi / wheel + involute(alpha)  # half a tooth at the base circle
    space = 0.5 * math.pi / ring + involute(alpha) + 0.5 * backlash / base_ring
    radii = np.linspace(1.001 * base, 0.5 * module * (wheel + 2.0), 4000)
    at = np.arccos(base / radii)
    flank = tooth - (np.tan(at) - at)  # the upper flank, in the frame of the wheel

    def room(turn):
        x, y = distance + radii * np.cos(flank + turn), radii * np.sin(flank + turn)
        far = np.hypot(x, y)
        seen = far > 1.001 * base_ring
        steep = np.arccos(base_ring / far[seen])
        return float(np.min(space - (np.tan(steep) - steep) - np.arctan2(y, x)[seen]))

    return brentq(room, -0.2, 0.2, xtol=1e-14)


@pytest.mark.parametrize("moved", [-2e-4, 0.0, 3e-4])
def test_the_play_in_a_ring_is_that_of_its_drawn_flanks_wherever_the_axis_is(moved):
    ring, wheel, module, backlash = 60, 24, 2e-3, 4e-4
    w = me.Planar(gravity=0.0)
    outer = w.body(mass=1.0, inertia=1e-2, at=(0.0, 0.0), name="ring")
    inner = w.body(mass=0.2, inertia=1e-4, at=(0.5 * module * (ring - wheel), 0.0), name="wheel")
    w.gear(outer, inner, teeth=(ring, wheel), module=module, backlash=backlash, mu=0.1, internal=True, name="mesh")
    problem = w.problem((0.0, 1.0))
    gaps = dict(zip(problem.system.contact_names, problem.system.contacts, strict=True))
    q = problem.q0.copy()
    q[3] += moved
    base = 0.5 * module * wheel * math.cos(math.radians(20.0))
    free = turned_until_touch(ring, wheel, module, backlash, q[3])
    assert gaps["mesh.drive"].gap(0.0, q) / base == pytest.approx(free, abs=2e-7)
    assert gaps["mesh.coast"].gap(0.0, q) == pytest.approx(gaps["mesh.drive"].gap(0.0, q), abs=1e-15)
    assert (free > 0.5 * backlash / base) == (moved < 0.0) or moved == 0.0  # an axis that moves away closes the play
    for contact in gaps.values():  # what slips is across to the normal
        steps = 1e-6 * np.eye(6)[:2]
        normal = [(contact.gap(0.0, q + step) - contact.gap(0.0, q - step)) / 2e-6 for step in steps]
        across = [float(np.ravel(contact.slip(0.0, q, step))[0]) / 1e-6 for step in steps]
        np.testing.assert_allclose(np.hypot(*normal), 1.0, atol=1e-7)
        np.testing.assert_allclose(across, (normal[1], -normal[0]), atol=1e-7)


def test_a_planet_rolls_backwards_inside_of_its_ring():
    ring, planet, module, backlash, torque = 60, 20, 2e-3, 2e-4, 0.4
    d, m, inertia, arm_inertia, T = 0.5 * module * (ring - planet), 0.2, 5e-5, 2e-4, 0.1
    w = me.Planar(gravity=0.0)
    arm = w.body(mass=0.1, inertia=arm_inertia, at=(0.0, 0.0), name="arm")
    wheel = w.body(mass=m, inertia=inertia, at=(d, 0.0), name="planet")
    w.revolute(w.ground, arm, name="shaft")
    w.revolute(arm.at(d, 0.0), wheel, name="pin")
    w.gear(w.ground, wheel, teeth=(ring, planet), module=module, backlash=backlash, internal=True, name="mesh")
    w.motor("shaft", torque=torque)
    w.start(arm, angle=0.0, speed=0.0)
    w.start(wheel, angle=0.0, speed=0.0)
    base, ratio = 0.5 * module * math.cos(math.radians(20.0)), 1.0 - ring / planet
    alone, whole = (arm_inertia + m * d**2 + inertia * r**2 for r in (0.0, ratio))
    angle = 0.5 * backlash / (base * (ring - planet))  # of the arm when the flanks meet
    t_hit = math.sqrt(2.0 * angle * alone / torque)
    left = T - t_hit
    arm_end = angle + torque * t_hit / whole * left + 0.5 * torque / whole * left**2
    run = sl.solve(w, (0.0, T), tol=1e-9)
    assert times_of(run.events, "impact") == [pytest.approx(t_hit, abs=1e-9)]
    assert run.body("arm").pose[-1][2] == pytest.approx(arm_end, abs=1e-7)
    assert run.body("planet").pose[-1][2] == pytest.approx(ratio * (arm_end - angle), abs=1e-6)
    with pytest.raises(sl.ModelError, match="at least 8 teeth more"):
        w.gear(w.ground, wheel, teeth=(24, 20), module=module, backlash=backlash, internal=True, name="narrow")


@pytest.mark.parametrize("roller", [0.004, 0.015])
def test_a_cam_drawn_for_a_roller_moves_its_centre_by_the_lift(roller):
    base, law = 0.03, me.DwellLift(0.005, (0.5, 2.2), (3.0, 5.0))
    w = me.Planar(gravity=0.0)
    cam = w.body(me.Cam.for_roller(law, base, roller), mass=0.3, inertia=1e-4, at=(0.0, 0.0), name="cam")
    wheel = w.body(me.Circle(roller), mass=0.1, at=(0.0, base + roller), name="roller")
    w.contact(wheel, cam, name="touch")
    gap = w.problem((0.0, 1.0)).system.contacts[0].gap
    for phi in np.linspace(0.0, 2.0 * math.pi, 37):
        far = base + roller + float(law(phi))
        shift = np.zeros(3)
        place = cam.shapes[0].centroid() if hasattr(cam.shapes[0], "centroid") else (0.0, 0.0)
        turn = 0.5 * math.pi - phi  # the direction phi of the cam looks up
        c, s = math.cos(turn), math.sin(turn)
        shift[:] = c * place[0] - s * place[1], s * place[0] + c * place[1], turn
        assert gap(0.0, np.array([*shift, 0.0, far, 0.0])) == pytest.approx(0.0, abs=2e-9)


def test_a_pitch_curve_that_hollows_its_cam_is_refused():
    with pytest.raises(sl.ModelError, match=r"hollow|too steep"):
        me.Cam.for_roller(lambda angle: 0.01 * np.cos(3.0 * angle), 0.02, 0.02)
