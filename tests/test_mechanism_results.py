"""Bodies, joints and pictures of mechanisms, and the scene in files."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import saltus as sl
from saltus import mechanics as me
from saltus.io import scene as scene_files

GRAVITY = 9.81


def pendulum(clearance=0.0, t_end=0.4, scheme=None, **settings):
    """A rod on a pin, at rest to the side; with clearance its pin rests in the bearing first."""
    w = me.Planar(GRAVITY, name="pendulum")
    rod = w.bar(0.4, mass=2.0, name="rod")
    options = {"clearance": clearance, "radius": 5e-3, "e": 0.0, "mu": 0.0} if clearance else {}
    w.revolute(w.ground, rod.start, name="pin", **options)
    w.start(rod, angle=-np.pi / 2.0 + 0.3)
    return sl.solve(w, (0.0, t_end), scheme=scheme or sl.HpTDG(), **(settings or {"tol": 1e-9}))


def test_a_body_tells_its_pose_its_points_and_its_energies():
    sol = pendulum()
    rod = sol.body("rod")
    np.testing.assert_array_equal(rod.pose, sol.q)
    np.testing.assert_allclose(rod.point("start"), 0.0, atol=1e-10)
    np.testing.assert_allclose(rod.kinetic, sol.energy.kinetic, rtol=1e-12, atol=1e-14)
    total = rod.kinetic + rod.potential
    np.testing.assert_allclose(total, total[0], rtol=0.0, atol=1e-8)
    assert rod.pose_at(0.1).shape == (3,) and rod.point_at("end", [0.1, 0.2]).shape == (2, 2)
    assert rod.kinetic_at(0.1) == pytest.approx(sol.energy_at(0.1).kinetic, rel=1e-12)
    with pytest.raises(sl.SettingError, match="has no point 'tip': it has"):
        rod.point("tip")
    with pytest.raises(sl.ModelError, match="there is no body 'crank'"):
        sol.body("crank")


def exact_force(sol, t):
    """Force of the pin on the rod and its torque, by Newton's law from the accelerations of a pendulum."""
    inertia, half = 2.0 * 0.4**2 / 12.0, 0.2
    state = sol(t)
    angle, spin = state.q[2], state.v[2]
    turning = -2.0 * GRAVITY * half * np.cos(angle) / (inertia + 2.0 * half**2)
    a = half * np.array(
        [-np.sin(angle) * turning - np.cos(angle) * spin**2, np.cos(angle) * turning - np.sin(angle) * spin**2]
    )
    return 2.0 * (a + np.array([0.0, GRAVITY]))


def test_the_force_of_an_ideal_pin_is_that_of_newtons_law():
    sol = pendulum()
    pin = sol.joint("pin")
    for t in (0.0, 0.13, 0.4):
        np.testing.assert_allclose(pin.force_at(t), exact_force(sol, t), rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(pin.torque, 0.0, atol=1e-6)
    assert pin.share == 1.0 and np.abs(pin.eccentricity).max() < 1e-9
    assert pin.force.shape == (len(sol.t), 2) and "ideal" in repr(pin)


def test_a_worn_pin_answers_the_same_questions():
    clearance = 1e-4
    sol = pendulum(clearance, tol=1e-7)
    pin = sol.joint("pin")
    rests = sol.t > 0.1
    reach = np.hypot(*pin.eccentricity[rests].T)
    assert reach.max() == pytest.approx(clearance, rel=1e-3)
    t, h = np.linspace(0.15, 0.39, 20), 1e-7
    # Newton's law: a smooth journal swings in its bearing, so that its force is not that of the ideal pin
    rate = (sol.body("rod").velocity_at(t + h) - sol.body("rod").velocity_at(t - h))[:, :2] / (2.0 * h)
    np.testing.assert_allclose(pin.force_at(t), 2.0 * rate + [0.0, 2.0 * GRAVITY], rtol=0.0, atol=1e-2)
    # the force presses where the journal is: a smooth journal transmits no torque about its own middle
    np.testing.assert_allclose(pin.torque_at(t), 0.0, atol=1e-9)
    assert (
        0.8 < pin.share < 1.0
        and len(pin.events)
        and [one.name for one in pin.contacts] == list(sol.system.contact_names)
    )


def test_forces_of_joints_balance_every_body():
    w = me.Planar(GRAVITY, name="four bar")
    crank, coupler, rocker = (
        w.bar(length, mass=m, name=name)
        for length, m, name in ((0.05, 0.1, "crank"), (0.12, 0.25, "coupler"), (0.1, 0.2, "rocker"))
    )
    w.revolute(w.ground, crank.start, name="A")
    w.revolute(crank.end, coupler.start, name="B")
    w.revolute(coupler.end, rocker.end, name="C")
    w.revolute(w.ground.at(0.14, 0.0), rocker.start, name="D")
    w.start(crank, angle=0.6, speed=20.0)
    sol = sl.solve(w, (0.0, 0.05), tol=1e-9)
    t, h = 0.03, 1e-5
    first, second = sol.body("coupler").velocity_at(t + h), sol.body("coupler").velocity_at(t - h)
    acceleration = (first - second)[:2] / (2.0 * h)

    def fixed(joint):  # of a joint in the frame of its first body, turned back
        turn = sol.body({"B": "crank", "C": "coupler"}[joint]).pose_at(t)[2]
        c, s = np.cos(turn), np.sin(turn)
        x, y = sol.joint(joint).force_at(t)
        return np.array([c * x - s * y, s * x + c * y])

    np.testing.assert_allclose(
        fixed("B") - fixed("C") + [0.0, -0.25 * GRAVITY], 0.25 * acceleration, rtol=1e-5, atol=1e-4
    )


def test_runs_without_a_scene_say_so():
    sol = sl.solve(sl.problems.zeno_ball(), scheme=sl.EventDriven(), tol=1e-6)
    for ask in (lambda: sol.body("ball"), lambda: sol.joint("pin"), sol.strobe):
        with pytest.raises(sl.SettingError, match="knows no bodies and joints"):
            ask()


def test_a_strobe_draws_bodies_joints_and_planes(tmp_path):
    w = me.Planar(GRAVITY)
    box = w.body(me.Box(0.2, 0.1), mass=1.0, at=(0.0, 0.5), name="box")
    w.start(box, velocity=(1.0, 0.0), speed=4.0)
    w.contact(box, me.Plane(), e=0.4, mu=0.3, name="floor")
    w.spring(w.ground.at(-0.5, 0.5), box, k=5.0, length=0.4)
    sol = sl.solve(w, (0.0, 0.6), tol=1e-6)
    figure = sol.strobe([0.0, 0.2, 0.6], path=tmp_path / "strobe.png")
    assert (tmp_path / "strobe.png").stat().st_size > 5000
    (axes,) = figure.axes
    assert axes.get_xlabel() == "x [m]" and axes.get_ylim()[0] < 0.05
    with pytest.raises(sl.SettingError, match="give a time"):
        sol.strobe("now")


# ---- files


def saved(tmp_path):
    sol = pendulum(1e-4, 0.2, tol=1e-6)
    sol.save(tmp_path / "run.h5")
    return sol, sl.load(tmp_path / "run.h5")


def test_the_scene_comes_back_from_a_file(tmp_path):
    sol, again = saved(tmp_path)
    assert again.system.scene == sol.system.scene
    np.testing.assert_array_equal(again.body("rod").pose, sol.body("rod").pose)
    np.testing.assert_array_equal(again.joint("pin").eccentricity, sol.joint("pin").eccentricity)
    assert again.joint("pin").share == sol.joint("pin").share
    assert len(again.events.of("pin")) == len(sol.events.of("pin"))
    assert again.strobe([0.0, 0.1]).axes
    with pytest.raises(sl.SettingError, match="no model to tell forces of joints"):
        _ = again.joint("pin").force
    again.save(tmp_path / "again.h5")
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "run.h5").read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "chain",
        "circuit_breaker",
        "four_bar_bodies",
        "gear_rattle",
        "slider_crank_bodies",
        "valve_train_bodies",
    ],
)
def test_runs_of_all_mechanisms_come_back_from_a_file(name, tmp_path):
    problem = getattr(sl.problems, name)()
    sol = sl.solve(problem, (problem.t_span[0], problem.t_span[0] + 1e-4), scheme=sl.MoreauJean(), h=2e-5)
    sol.save(tmp_path / "run.h5")
    again = sl.load(tmp_path / "run.h5")
    assert again.system.scene == sol.system.scene and again.system.scene.pairs == problem.system.scene.pairs
    body = sol.system.scene.bodies[1].name
    np.testing.assert_array_equal(again.body(body).pose, sol.body(body).pose)


HOSTILE = [
    (lambda s: s["bodies"].clear(), "no ground"),
    (lambda s: s["bodies"][1].update(first=2), "coordinates that are not there"),
    (lambda s: s["bodies"][1].update(first=-3), "coordinates that are not there"),
    (lambda s: s["bodies"][1].update(first=2**70), "no whole number"),
    (lambda s: s["bodies"][1].update(size=2), "coordinates that are not there"),
    (lambda s: s["bodies"][1].update(size=1), "runs on no line"),
    (lambda s: s["bodies"][1].update(number=7), "not in their order"),
    (lambda s: s["bodies"][1].update(mass=float("nan")), "not finite"),
    (lambda s: s["bodies"][1].update(points={"a": [0.0]}), "2 values"),
    (lambda s: s["bodies"][1].update(outlines=[{"kind": "polygon", "points": [[0.0, 0.0]]}]), "polygon"),
    (lambda s: s["bodies"][1].update(outlines=[{"kind": "__import__", "points": []}]), "__import__"),
    (lambda s: s["bodies"][1].update(outlines=[{"kind": "circle", "points": [[0, 0]], "radius": -1}]), "negative"),
    (lambda s: s["joints"][0].update(bodies=[-1, 5]), "not there"),
    (lambda s: s["joints"][0].update(bodies=[0]), "not there"),
    (lambda s: s["joints"][0].update(contacts=["ghost"]), "contacts that are not there"),
    (lambda s: s["joints"][0].update(rows=[["ghost", 2]]), "joints that are not there"),
    (lambda s: s["joints"][0].update(anchors=[[0, 0], "x"]), "2 values"),
    (lambda s: s.update(forces=[{"name": "f", "kind": "spring", "bodies": [0, 0], "anchors": [[0, 0]]}]), "1 points"),
    (lambda s: s.update(dimension=3), "3 dimensions"),
    (lambda s: s.update(joints=3), "no list"),
]


@pytest.mark.parametrize(("change", "words"), HOSTILE)
def test_a_scene_that_does_not_fit_is_refused(change, words):
    sol = pendulum(1e-4, 0.01, tol=1e-4)
    given = json.loads(json.dumps(scene_files.described(sol.system.scene)))
    names = sol.system.contact_names, sol.system.joint_names
    assert scene_files.scene_of(copy.deepcopy(given), 3, *names) == sol.system.scene
    change(given)
    with pytest.raises(ValueError, match=words):
        scene_files.scene_of(given, 3, *names)


def test_a_file_with_a_wrong_scene_is_no_file_of_saltus(tmp_path, monkeypatch):
    sol = pendulum(1e-4, 0.01, tol=1e-4)
    wrong = scene_files.described(sol.system.scene)
    wrong["bodies"][1]["first"] = 99
    monkeypatch.setattr("saltus.io.results.described_scene", lambda scene: wrong)
    sol.save(tmp_path / "wrong.h5")
    with pytest.raises(sl.FileFormatError, match="coordinates that are not there"):
        sl.load(tmp_path / "wrong.h5")
