"""Shapes, their contacts, cams and gears: against brute force, against closed forms, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import saltus as sl
import shape_pairs as sp
from saltus import mechanics as me

# ---- mass


def test_area_centroid_and_polar_moment_are_those_of_a_fine_grid():
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, 1001), np.linspace(-1.0, 1.0, 1001))
    cell = 2e-3**2
    for name in ("circle", "box", "triangle", "bar"):
        shape = sp.SHAPES[name]
        p, u, radius = sp.segments(shape)
        if isinstance(shape, me.Polygon):
            inside = np.all(
                [e[0] * (y - a[1]) - e[1] * (x - a[0]) > 0.0 for a, e in zip(p, u - p, strict=True)], axis=0
            )
        else:
            (a,), (b,) = p, u
            foot = np.clip(((x - a[0]) * (b - a)[0] + (y - a[1]) * (b - a)[1]) / max((b - a) @ (b - a), 1e-300), 0, 1)
            inside = np.hypot(x - a[0] - foot * (b - a)[0], y - a[1] - foot * (b - a)[1]) < radius
        area = inside.sum() * cell
        centre = x[inside].mean(), y[inside].mean()
        polar = ((x[inside] - centre[0]) ** 2 + (y[inside] - centre[1]) ** 2).sum() * cell
        assert shape.area() == pytest.approx(area, rel=5e-3)
        assert shape.centroid() == pytest.approx(centre, abs=2e-3)
        assert shape.polar() == pytest.approx(polar, rel=1e-2)


def test_support_is_how_far_a_shape_reaches():
    for name in ("circle", "box", "bar", "triangle"):
        p, u, radius = sp.segments(sp.SHAPES[name])
        for angle in np.linspace(0.0, 6.0, 7):
            n = (np.cos(angle), np.sin(angle))
            assert sp.SHAPES[name].support(n) == pytest.approx(max((p @ n).max(), (u @ n).max()) + radius)
    assert me.Plane().support((0.0, 1.0)) == 0.0 and me.Plane().support((1.0, 0.0)) == np.inf


def test_a_bar_without_radius_is_a_line_with_mass():
    rod = me.Bar(0.6, mass=2.0)
    assert rod.polar() / rod.area() == pytest.approx(0.6**2 / 12.0)
    assert me.Bar(0.6, 1e-9).polar() / me.Bar(0.6, 1e-9).area() == pytest.approx(0.6**2 / 12.0, rel=1e-6)


# ---- pairs


@pytest.mark.parametrize("pair", sp.PAIRS, ids=sp.pair_id)
def test_the_smallest_row_is_the_distance_of_the_shapes(pair):
    poses = sp.random_poses(pair, np.random.default_rng(11), 25)
    w, centres = sp.two_bodies(pair)
    first, second = sp.SHAPES[pair[0]], sp.SHAPES[pair[1]]
    brute = sp.brute_gap(first, second, pair[2], poses[:, :3], poses[:, 3:], centres)
    np.testing.assert_allclose(sp.smallest(w, poses), brute, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("pair", sp.PAIRS, ids=sp.pair_id)
def test_rows_slide_at_one_point_that_lies_on_both_shapes(pair):
    # gradient and slip of a row tell the point at which it pushes and rubs
    w, centres = sp.two_bodies(pair, mu=0.3, e=0.5)
    poses = sp.random_poses(pair, np.random.default_rng(5), 8)
    basis = np.repeat(np.eye(6)[None], len(poses), axis=0).reshape(-1, 6)
    gaps, u = sp.compiled(w, np.repeat(poses, 6, axis=0), basis)
    rows = u.reshape(len(poses), 6, -1, 2).transpose(0, 2, 3, 1)
    h, nearest = 1e-6, gaps[::6].argmin(axis=1)
    shifted = np.concatenate([np.repeat(poses, 6, axis=0) + sign * h * basis for sign in (1.0, -1.0)])
    ahead, back = sp.compiled(w, shifted, np.tile(basis, (2, 1)))[0].reshape(2, len(poses), 6, -1)
    slopes = (ahead - back) / (2.0 * h)
    for pose, row, gap, slope, k in zip(poses, rows, gaps[::6], slopes, nearest, strict=True):
        normal, slip = row[k]
        np.testing.assert_allclose(normal, slope[:, k], rtol=0.0, atol=2e-8)
        first = 0 if w.contact_rows[k].bodies[0] is w.bodies[0] else 3
        for one, sign in ((first, 1.0), (3 - first, -1.0)):
            n, t = sign * normal[one : one + 2], sign * slip[one : one + 2]
            assert np.hypot(*n) == pytest.approx(1.0) and t == pytest.approx([n[1], -n[0]])
        # r x n and r x t of both bodies: one point of contact, on the surface of slot 0
        places = []
        for one, sign in ((first, 1.0), (3 - first, -1.0)):
            n, t = sign * normal[one : one + 2], sign * slip[one : one + 2]
            arm = np.linalg.solve([[n[1], -n[0]], [t[1], -t[0]]], [sign * normal[one + 2], sign * slip[one + 2]])
            places.append(pose[one : one + 2] + arm)
        n = normal[first : first + 2]
        assert abs((places[0] - places[1]) @ [n[1], -n[0]]) < 1e-7
        shape = sp.SHAPES[pair[0 if first == 0 else 1]]
        p, w_end, radius = (
            sp.moved(x, pose[None, first : first + 3], centres[first // 3])[0] if np.ndim(x) else x
            for x in sp.segments(shape)
        )
        onto = np.array(
            [
                sp.quickly_apart(places[0][None], places[0][None], a[None], b[None])[0]
                for a, b in zip(p, w_end, strict=True)
            ]
        )
        assert onto.min() == pytest.approx(radius, abs=1e-7)
        assert gap[k] > 0.0


@pytest.mark.parametrize("pair", [sp.PAIRS[i] for i in (1, 4, 8, 9)], ids=sp.pair_id)
def test_a_run_meets_the_collision_that_a_fine_scan_sees(pair):
    rng = np.random.default_rng(2)
    w, centres = sp.two_bodies(pair, e=0.5, mu=0.3)
    start, v = sp.flight(pair, rng)
    seen, system = sp.scanned(pair, start, v, centres, 1.5, 400), w.system()
    assert np.isfinite(seen)
    for scheme in (sl.EventDriven(), sl.HpTDG()):
        assert sp.struck(system, start, v, 1.5, scheme) == pytest.approx(seen, abs=1e-9)


def test_impacts_between_free_bodies_keep_momentum_and_lose_what_restitution_says():
    w, _ = sp.two_bodies(("box", "triangle", False), e=1.0)
    start, v = sp.flight(("box", "triangle", False), np.random.default_rng(0))
    sol = sl.solve(w.system(), (0.0, 1.5), start, v, scheme=sl.EventDriven(), tol=1e-9)
    assert len(sol.events.of("impact")) >= 1
    masses = np.array([w.bodies[0].mass, w.bodies[1].mass])
    for axis in (0, 1):
        np.testing.assert_allclose(
            sol.v[:, [axis, 3 + axis]] @ masses, v[[axis, 3 + axis]] @ masses, rtol=0.0, atol=1e-12
        )
    assert sol.energy.kinetic[-1] == pytest.approx(sol.energy.kinetic[0], rel=1e-10)


def test_a_box_that_falls_flat_rests_on_its_corners():
    w = me.Planar(gravity=9.81)
    box = w.body(me.Box(0.4, 0.2), mass=2.0, at=(0.0, 0.5), name="box")
    names = w.contact(box, me.Plane(), e=0.0, mu=0.5, name="floor")
    assert names == tuple(f"floor.corner{k}" for k in range(1, 5))
    sol = sl.solve(w, (0.0, 1.0), tol=1e-8)
    assert sol.q[-1] == pytest.approx([0.0, 0.1, 0.0], abs=1e-9)
    held = [sol.contact(name).force[-1, 0] for name in names[:2]]
    assert held == pytest.approx([9.81, 9.81], rel=1e-6)
    assert "tie" not in sol.message
    assert len(sol.events.of("floor")) == len(sol.events)  # the pair by its own name


def test_a_rolling_disc_does_not_slip():
    w = me.Planar(gravity=9.81)
    disc = w.body(me.Circle(0.1), mass=1.0, at=(0.0, 0.1), name="disc")
    w.start(disc, velocity=(1.0, 0.0), speed=-10.0)
    w.contact(disc, me.Plane(), mu=0.3, name="floor")
    sol = sl.solve(w, (0.0, 1.0), tol=1e-8)
    assert np.abs(sol.contact("floor").slip).max() < 1e-9 and sol.q[-1, 0] == pytest.approx(1.0)


def test_a_disc_rolls_around_the_corner_of_a_box():
    # off the edge it turns about the corner, then flies: no row lets it through, none holds it back
    w = me.Planar(gravity=9.81)
    disc = w.body(me.Circle(0.1), mass=1.0, at=(0.0, 0.1), name="disc")
    w.start(disc, velocity=(0.3, 0.0), speed=-3.0)
    w.contact(disc, me.Box(0.6, 0.4, at=(0.0, -0.2)), mu=0.8, name="table")
    sol = sl.solve(w, (0.0, 1.5), tol=1e-7)
    edge = 0.3 / 0.3
    assert sol(edge - 0.01).q[1] == pytest.approx(0.1, abs=1e-9) and sol.q[-1, 1] < -0.2
    assert sol.violation.max() < 1e-6


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: me.Polygon([(0, 0), (0, 1), (1, 0)]), "inside out"),
        (lambda: me.Polygon([(0, 0), (1, 0)]), "at least three"),
        (lambda: me.Polygon([(0, 0), (1, 0), (1, 0), (0, 1)]), "given twice"),
        (lambda: me.Polygon([(0, 0), (1, 0), (2, 0), (0, 1)]), "corner 2 of a polygon is a straight line"),
        (lambda: me.Polygon([(0, 0), (2, 0), (0.5, 0.5), (0, 2)]), "corner 3 of a polygon points inwards"),
        (lambda: me.Polygon([(math.cos(a), math.sin(a)) for a in (0, 2.513, 5.027, 1.257, 3.770)]), "crosses itself"),
        (lambda: me.Polygon([(0, 0), (1, 0), (0, np.nan)]), "finite"),
        (lambda: me.Circle(0.0), "radius of a circle is 0.0"),
        (lambda: me.Circle(1.0, at=3.0), "two numbers"),
        (lambda: me.Box(-1.0, 1.0), "width of a box is -1.0"),
        (lambda: me.Bar(1.0, -0.1), "not be negative"),
        (lambda: me.Cam(lambda angle: 0.01 * angle, 0.02), "period must be 2 pi"),
        (lambda: me.Cam(lambda angle: 0.01 * np.cos(5.0 * angle), 0.02), "hollow"),
        (lambda: me.Cam(([0.0, 1.0, 2.0, 3.0], [0.0, 0.1, 0.2, 0.0]), 0.02), "give one turn"),
        (lambda: me.Cam(([0.0, 2.0, 1.0, 2 * np.pi], [0.0, 0.1, 0.2, 0.0]), 0.02), "increase"),
        (lambda: me.Cam(3.0, 0.02), "give a function of the angle"),
        (lambda: me.DwellLift(0.01, (1.0, 2.0), (1.5, 3.0)), "follow each other"),
    ],
)
def test_shapes_that_are_none_are_refused_in_one_sentence(make, words):
    with pytest.raises(sl.ModelError, match=words):
        make()


def test_pairs_that_cannot_touch_are_refused_in_one_sentence():
    w = me.Planar()
    disc, bare = (
        w.body(me.Circle(0.1), mass=1.0, at=(0, 1), name="disc"),
        w.body(mass=1.0, inertia=1.0, at=(0, 0), name="bare"),
    )
    rod = w.body(me.Bar(1.0), mass=1.0, at=(0, 2), name="rod")
    for arguments, words in (
        ((disc, bare), "body 'bare' has no shape"),
        ((disc, disc), "between 'disc' and itself"),
        ((disc, rod), "a bar without radius"),
        ((disc, 3.0), "needs bodies with shapes"),
    ):
        with pytest.raises(sl.ModelError, match=words):
            w.contact(*arguments)
    with pytest.raises(sl.ModelError, match="a circle inside of a plane"):
        w.contact(disc, me.Plane(), inside=True)
    with pytest.raises(sl.ModelError, match="does not fit"):
        w.contact(disc, me.Circle(0.05), inside=True)


# ---- cams


def lift(angle):
    return 0.004 * (1.0 - np.cos(angle)) + 0.001 * np.sin(2.0 * angle)


def cam_and(follower, **where):
    w = me.Planar(gravity=0.0)
    cam = w.body(me.Cam(lift, 0.02), mass=0.3, at=(0.0, 0.0), name="cam")
    other = w.body(follower, mass=0.1, inertia=1e-4, at=(0.0, 0.1), name="follower")
    w.contact(cam, other, name="pair", mu=0.2, e=0.3, **where)
    return w, cam


def outline_of(cam, count):
    angles = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    p, slope = 0.02 + lift(angles), 0.004 * np.sin(angles) + 0.002 * np.cos(2.0 * angles)
    return (
        np.column_stack([p * np.cos(angles) - slope * np.sin(angles), p * np.sin(angles) + slope * np.cos(angles)])
        - cam
    )


def test_a_cam_meets_flat_and_roller_at_their_true_distance():
    rng = np.random.default_rng(4)
    for follower, radius in ((me.Plane(angle=np.pi), None), (me.Circle(0.01), 0.01)):
        w, cam = cam_and(follower)
        places = outline_of(np.array(cam.centre_of_mass), 200_001)
        poses = rng.uniform(-1.0, 1.0, (20, 6)) * [0.01, 0.01, 10.0, 0.02, 0.002, 0.3] + [0.0, 0.0, 0.0, 0.0, 0.05, 0.0]
        c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
        for pose, gap, ci, si in zip(poses, sp.smallest(w, poses), c, s, strict=True):
            x, y = pose[0] + ci * places[:, 0] - si * places[:, 1], pose[1] + si * places[:, 0] + ci * places[:, 1]
            if radius is None:
                n = np.array([np.sin(pose[5]), -np.cos(pose[5])])  # it looks down
                brute = np.min((x - pose[3]) * n[0] + (y - pose[4]) * n[1])
            else:
                brute = np.hypot(x - pose[3], y - pose[4]).min() - radius
            assert gap == pytest.approx(brute, abs=2e-11)


def test_a_flat_follower_rises_by_the_lift_and_rubs_with_the_speed_of_the_cam():
    w = me.Planar(gravity=(0.0, -200.0))
    cam = w.body(me.Cam(lift, 0.02), mass=1.0, inertia=1.0, name="cam")
    tappet = w.body(me.Plane(angle=np.pi), mass=0.1, inertia=1e-3, at=(0.0, 0.02 + lift(np.pi / 2.0)), name="tappet")
    w.revolute(w.ground, cam.axis, name="axis")
    w.drive(cam, speed=20.0, name="motor")
    w.start(cam, angle=0.0)
    w.prismatic(w.ground, tappet, axis="y", name="guide")
    w.contact(cam, tappet, name="pair")
    sol = sl.solve(w, (0.0, 0.5), tol=1e-9)
    t = np.linspace(0.05, 0.5, 50)
    column = 3 * 1 + 1
    np.testing.assert_allclose(sol(t).q[:, column], 0.02 + lift(np.pi / 2.0 - 20.0 * t), rtol=0.0, atol=1e-8)


def test_a_table_of_a_cam_is_a_smooth_lift():
    angles = np.linspace(0.0, 2.0 * np.pi, 181)
    drawn = me.Cam((angles, lift(angles)), 0.02)
    between = angles[:-1] + 0.01
    np.testing.assert_allclose(drawn.reach(between), 0.02 + lift(between), rtol=0.0, atol=1e-9)
    assert drawn.reach(np.array([-1.0])) == pytest.approx(0.02 + lift(-1.0), abs=1e-9)


def test_a_dwell_rests_rises_and_returns():
    law = me.DwellLift(0.01, (1.0, 2.0), (2.5, 4.0))
    assert [float(law(a)) for a in (0.5, 2.2, 5.0, 0.5 + 2.0 * np.pi)] == pytest.approx([0.0, 0.01, 0.0, 0.0])
    h = 1e-4
    for angle in (1.0, 2.0, 2.5, 4.0):  # three derivatives vanish at the ends
        assert abs(float(law(angle + h)) - float(law(angle - h))) < 1e-14


# ---- gears


def pair_of_gears(backlash=1e-4, **law):
    w = me.Planar(gravity=0.0)
    a, b = (w.body(mass=0.2, inertia=i, name=name) for name, i in (("pinion", 1e-4), ("wheel", 8e-4)))
    w.revolute(w.ground, a)
    w.revolute(w.ground.at(0.06, 0.0), b)
    w.gear(a, b, teeth=(20, 40), module=0.002, backlash=backlash, name="mesh", **law)
    return w, a, b


def test_gears_turn_by_the_ratio_of_their_teeth_within_their_backlash():
    w, a, b = pair_of_gears(e=0.0)
    w.start(a, angle=0.3, speed=10.0)
    w.start(b, angle=1.1)
    sol = sl.solve(w, (0.0, 2.0), tol=1e-8)
    ratio = 0.5
    base = 0.001 * np.cos(np.radians(20.0)) * np.array([20.0, 40.0])
    play = (sol.q[:, [2, 5]] - [0.3, 1.1]) @ base
    assert np.abs(play).max() == pytest.approx(5e-5, rel=1e-6)  # half the backlash
    assert sol.v[-1, 5] == pytest.approx(-ratio * sol.v[-1, 2])
    # what one gives the other takes, by the ratio: I_a dw_a = -(r_a / r_b) I_b dw_b
    assert 1e-4 * (sol.v[-1, 2] - 10.0) == pytest.approx(ratio * 8e-4 * sol.v[-1, 5], rel=1e-9)
    assert set(sol.events.of("mesh")["contact"]) <= {"mesh.drive", "mesh.coast"}


def test_gears_that_move_apart_gain_play_on_both_flanks():
    from saltus.mechanics import gear

    data = gear.gear_data((20, 40), 0.002, 1e-4, np.radians(20.0), "gear")
    flat = np.zeros(3)
    for side in (1.0, -1.0):
        p = data.p((0.0, 0.0), (0.0, 0.0), side)
        apart = [gear.flank(0.0, (flat, np.array([0.06 + da, 0.0, 0.0])), p) for da in (0.0, 1e-6)]
        assert apart[0] == pytest.approx(5e-5) and apart[1] - apart[0] == pytest.approx(
            np.sin(np.radians(20.0)) * 1e-6, rel=1e-4
        )


def test_teeth_roll_at_the_pitch_point_and_rub_beside_it():
    from saltus.mechanics import gear

    data = gear.gear_data((20, 40), 0.002, 1e-4, np.radians(20.0), "gear")
    p = data.p((0.0, 0.0), (0.0, 0.0), 1.0)
    v = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -0.5])
    slips = [
        float(gear.flank_slip(0.0, (np.array([0.0, 0.0, s / data.radii[0]]), np.array([0.06, 0.0, 0.0])), v, p))
        for s in data.pitch * np.linspace(0.02, 0.98, 25)
    ]
    # sliding speed = (omega_a - omega_b) times the distance from the pitch point, once around for every tooth
    np.testing.assert_allclose(slips, -1.5 * data.pitch * (np.linspace(0.02, 0.98, 25) - 0.5), atol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"teeth": (3, 40)}, "two whole numbers of at least 5"),
        ({"teeth": 20}, "two whole numbers"),
        ({"module": 0.0}, "module of gear 'mesh' is 0.0"),
        ({"backlash": 0.0}, "take coupling"),
        ({"backlash": 0.01}, "no teeth left"),
        ({"pressure_angle": 20.0}, "angle in rad"),
    ],
)
def test_gears_that_are_none_are_refused(wrong, words):
    w = me.Planar()
    a, b = (w.body(mass=0.2, inertia=1e-4, name=name) for name in "ab")
    with pytest.raises(sl.ModelError, match=words):
        w.gear(a, b, **({"teeth": (20, 40), "module": 0.002, "backlash": 1e-4, "name": "mesh"} | wrong))


# ---- problems


def test_the_valve_train_has_twelve_freedoms_and_fourteen_contacts():
    problem = sl.problems.valve_train_bodies()
    rows = sum(size for joint in problem.system.scene.joints for _, size in joint.rows)
    assert problem.q0.size - rows == 12 and len(problem.system.contacts) == 14
    sol = sl.solve(sl.problems.valve_train_bodies(t_end=0.01), scheme=sl.EventDriven(), tol=1e-5)
    assert sol.body("valve").position[:, 1].min() - 0.016 == pytest.approx(
        -5.15e-3, abs=2e-5
    )  # 5 mm of the cam, and an overshoot


def test_a_loose_gear_rattles_on_both_flanks_alike_by_two_schemes():
    runs = [
        sl.solve(sl.problems.gear_rattle(t_end=0.1), scheme=scheme, tol=tol)
        for scheme, tol in ((sl.EventDriven(), 1e-8), (sl.HpTDG(), 1e-6))
    ]
    times = [sol.events.of("impact")["t"] for sol in runs]
    assert len(times[0]) == len(times[1]) > 8
    np.testing.assert_allclose(times[0], times[1], rtol=0.0, atol=1e-5)
    assert runs[0].gap_at(runs[0].t).min() > -1e-9
