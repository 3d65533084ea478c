"""Mechanisms in the plane: bodies and joints against hand-written models, every joint with every option, bad input."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import saltus as sl
from saltus import mechanics as me
from saltus.errors import ModelError, SettingError


def energy(w: me.Planar, solution) -> np.ndarray:
    """Kinetic and potential energy of the bodies [J], springs left out."""
    total = np.zeros(len(solution.t))
    for k, body in enumerate(w.bodies):
        q, v = solution.q[:, 3 * k : 3 * k + 3], solution.v[:, 3 * k : 3 * k + 3]
        total += 0.5 * body.mass * (v[:, 0] ** 2 + v[:, 1] ** 2) + 0.5 * body.inertia * v[:, 2] ** 2
        total -= body.mass * (w.gravity[0] * q[:, 0] + w.gravity[1] * q[:, 1])
    return total


def joint_error(problem, solution, every: int = 1) -> float:
    """Largest |constraint| of any joint at the steps of a solution."""
    return max(
        float(np.max(np.abs(joint.constraint(t, q))))
        for joint in problem.system.joints
        for t, q in zip(solution.t[::every], solution.q[::every], strict=True)
    )


def pendulum(**options) -> me.Planar:
    w = me.Planar(gravity=9.81)
    bar = w.bar(1.0, mass=2.0, name="bar")
    w.revolute(w.ground, bar.start, name="pin", **options)
    w.start(bar, angle=0.0)
    return w


def double_pendulum() -> me.Planar:
    w = me.Planar(gravity=9.81)
    upper, lower = w.bar(1.0, mass=1.0, name="upper"), w.bar(1.0, mass=1.0, name="lower")
    w.revolute(w.ground, upper.start)
    w.revolute(upper.end, lower.start)
    w.start(upper, angle=0.0)
    w.start(lower, angle=0.5)
    return w


# ---- agreement with models written by hand


@pytest.mark.parametrize(("scheme", "tol"), [(sl.HpTDG(), 1e-9), (sl.EventDriven(), 1e-9)])
def test_slider_crank_in_bodies_is_the_one_in_minimal_coordinates_up_to_the_first_tie(scheme, tol):
    span = (0.0, 0.039)  # one revolution; at 0.0398 s the slider meets its guide flat
    minimal = sl.solve(sl.problems.slider_crank(), span, scheme=scheme, tol=tol)
    bodies = sl.solve(sl.problems.slider_crank_bodies(), span, scheme=scheme, tol=tol)
    impacts = [solution.events["t"][solution.events["kind"] == "impact"] for solution in (minimal, bodies)]
    np.testing.assert_allclose(impacts[0], impacts[1], atol=1e-10)
    bound = 1e-9 if scheme.name == "HpTDG" else 1e-8
    for t in np.linspace(0.0, 0.039, 14):
        np.testing.assert_allclose(bodies(t).q[[2, 5, 8]], minimal(t).q, atol=bound)


def test_the_ties_of_the_slider_crank_are_reported():
    solution = sl.solve(sl.problems.slider_crank_bodies(), (0.0, 0.045), tol=1e-7)
    ties = solution.events["t"][solution.events["kind"] == "tie"]
    assert np.min(np.abs(ties - 0.0398)) < 2e-4  # where the slider lands flat and runs part
    assert "the outcome depends on their order" in solution.message


@pytest.mark.parametrize(
    ("scheme", "options", "t_end"),
    [(sl.MoreauJean(projection=True), {"h": 2e-5}, 0.2), (sl.HpTDG(), {"tol": 1e-8}, 0.1)],
)
def test_four_bar_in_bodies_is_the_one_written_by_hand(scheme, options, t_end):
    hand, made = sl.problems.four_bar(), sl.problems.four_bar_bodies()
    np.testing.assert_allclose(made.q0, hand.q0, atol=1e-14)
    np.testing.assert_allclose(made.v0, hand.v0, atol=1e-12)
    by_hand = sl.solve(hand, (0.0, t_end), scheme=scheme, **options)
    in_bodies = sl.solve(made, (0.0, t_end), scheme=scheme, **options)
    np.testing.assert_allclose(in_bodies.q[-1], by_hand.q[-1], atol=1e-12)
    # from the same start not even rounding differs
    same = sl.solve(dataclasses.replace(made, q0=hand.q0, v0=hand.v0), (0.0, t_end), scheme=scheme, **options)
    np.testing.assert_allclose(same.q[-1], by_hand.q[-1], atol=1e-14)


def test_a_double_pendulum_keeps_its_energy_and_its_joints():
    w = double_pendulum()
    solution = sl.solve(w, (0.0, 20.0), tol=1e-9)  # 100 s: 1.5e-11 J and 1.3e-13 m
    total = energy(w, solution)
    assert np.max(np.abs(total - total[0])) < 1e-9
    assert joint_error(w.problem((0.0, 20.0)), solution, 20) < 1e-12


def test_a_closed_loop_keeps_its_energy_and_its_joints():
    w = me.Planar(gravity=9.81)
    a, b, c = (
        w.bar(0.05, mass=0.1),
        w.bar(0.12, mass=0.25, angle=0.5),
        w.bar(0.1, mass=0.2, angle=1.5),
    )
    w.revolute(w.ground, a.start)
    w.revolute(a.end, b.start)
    w.revolute(w.ground.at(0.14, 0.0), c.start)
    w.revolute(b.end, c.end)
    w.start(a, angle=0.6, speed=20.0)
    solution = sl.solve(w, (0.0, 5.0), tol=1e-9)  # 100 s: 4.2e-13 J and 3.4e-13 m
    total = energy(w, solution)
    assert np.max(np.abs(total - total[0])) < 1e-9
    assert joint_error(w.problem((0.0, 5.0)), solution, 20) < 1e-12


# ---- every joint with every option: it runs, or it is refused in a sentence


def two(name_a: str = "a", name_b: str = "b", **place) -> tuple[me.Planar, me.Body, me.Body]:
    """A carrier that swings in the ground and a part on it."""
    w = me.Planar(gravity=9.81)
    a = w.bar(0.4, mass=1.0, name=name_a)
    b = w.body(mass=0.2, inertia=1e-4, name=name_b)
    w.revolute(w.ground, a.start, name="root")
    w.start(a, angle=-0.7)
    return w, a, b


def revolute(**options):
    w, a, b = two()
    b.point("hole", 0.03, 0.0)
    w.revolute(a.end, b.hole, name="it", **options)
    w.start(b, angle=0.3)
    return w


def prismatic(**options):
    w, a, b = two()
    w.prismatic(a.centre, b, axis="x", length=0.04, height=0.02, name="it", **options)
    w.start(b, velocity=(0.1, None))
    return w


def slot(**options):
    w, a, b = two()
    b.point("pin", 0.02, 0.01)
    w.slot(a.centre, b.pin, axis="x", name="it", **options)
    w.start(b, angle=0.2)
    return w


def distance(**options):
    w, a, b = two()
    w.distance(a.end, b, length=0.1, name="it", **options)
    w.start(b, angle=0.0)
    return w


def fixed(**options):
    w, a, b = two()
    w.fixed(a.end, b, name="it", **options)
    return w


def coupling(**options):
    w, a, b = two()
    w.revolute(w.ground.at(0.3, 0.0), b, name="second")
    w.coupling(a, b, ratio=2.0, name="it", **options)
    return w


def drive(**options):
    w, a, b = two()
    w.revolute(a.end, b, name="second")
    w.drive(w["root"], speed=5.0, name="it", **options)
    w.start(b, angle=0.0)
    return w


PLAY = {"clearance": 1e-3, "e": 0.3}
PIN = {**PLAY, "radius": 4e-3, "mu": 0.2}
RUNS = [
    ("revolute ideal", revolute, {}, 0),
    ("revolute clearance", revolute, PLAY, 1),
    ("revolute stop", revolute, {"stops": (0.9, 1.2), "stop_e": 0.5}, 2),
    ("revolute friction", revolute, PIN, 1),
    ("prismatic ideal", prismatic, {}, 0),
    ("prismatic clearance", prismatic, PLAY, 4),
    ("prismatic stop", prismatic, {"stops": (None, 0.05), "stop_e": 0.5}, 1),
    ("prismatic friction", prismatic, {**PLAY, "mu": 0.2}, 4),
    ("slot ideal", slot, {}, 0),
    ("slot clearance", slot, PLAY, 2),
    ("slot stop", slot, {"stops": (None, 0.02)}, 1),
    ("slot friction", slot, PIN, 2),
    ("distance ideal", distance, {}, 0),
    ("distance clearance", distance, PLAY, 2),
    ("fixed ideal", fixed, {}, 0),
    ("coupling ideal", coupling, {}, 0),
    ("drive ideal", drive, {}, 0),
]
REFUSED = [
    (revolute, {"mu": 0.1}, "is ideal, so mu = 0.1 has no contact to rub in"),
    (prismatic, {"mu": 0.1}, "is ideal, so mu = 0.1 has no contact to rub in"),
    (slot, {"mu": 0.1}, "is ideal, so mu = 0.1 has no contact to rub in"),
    (distance, {"stops": (0.0, 1.0)}, "a distance joint has no stops"),
    (distance, {**PLAY, "mu": 0.1}, "a distance joint has no mu"),
    (fixed, {"clearance": 1e-3}, "a fixed joint has no clearance"),
    (fixed, {"stops": (0.0, 1.0)}, "a fixed joint has no stops"),
    (fixed, {"mu": 0.1}, "a fixed joint has no mu"),
    (coupling, {"clearance": 1e-3}, r"a coupling joint has no clearance.*take gear\(..., backlash=...\)"),
    (coupling, {"stops": (0.0, 1.0)}, "a coupling joint has no stops"),
    (coupling, {"mu": 0.1}, "a coupling joint has no mu"),
    (drive, {"clearance": 1e-3}, "a drive joint has no clearance"),
    (drive, {"stops": (0.0, 1.0)}, "a drive joint has no stops"),
    (drive, {"mu": 0.1}, "a drive joint has no mu"),
]


@pytest.mark.parametrize(("name", "make", "options", "contacts"), RUNS, ids=[run[0] for run in RUNS])
def test_every_joint_runs_with_every_option_that_it_has(name, make, options, contacts):
    w = make(**options)
    problem = w.problem((0.0, 0.3))
    assert len(problem.system.contacts) == contacts
    solution = sl.solve(problem, scheme=sl.EventDriven(), tol=1e-7)
    assert joint_error(problem, solution) < 1e-10
    for contact in problem.system.contacts:
        assert min(contact.gap(t, q) for t, q in zip(solution.t, solution.q, strict=True)) > -1e-9
    if contacts:
        assert len(solution.events)  # what it has is met
    total = energy(w, solution)
    if name == "drive ideal":
        speeds = solution.v[:, 2]
        np.testing.assert_allclose(speeds, 5.0, rtol=1e-12)
    elif contacts == 0:
        np.testing.assert_allclose(total, total[0], atol=1e-6)
    else:
        assert np.max(np.diff(total)) < 1e-6  # contacts take energy away


@pytest.mark.parametrize(("make", "options", "words"), REFUSED)
def test_what_a_joint_does_not_have_is_refused_with_a_remedy(make, options, words):
    with pytest.raises(ModelError, match=words):
        make(**options)


def test_a_worn_joint_has_the_name_of_the_ideal_one():
    for options, rows, contacts in (({}, (("it", 2),), ()), (PIN, (), ("it",))):
        joint = revolute(**options).scene.joint("it")
        assert (joint.kind, joint.rows, joint.contacts) == ("revolute", rows, contacts)


# ---- bad input


def nothing(w, a, b):
    pass


BAD = [
    (lambda w, a, b: w.revolute(a.start, a.end), "is between 'a' and itself"),
    (lambda w, a, b: w.bar(1.0, mass=0.0), "mass of body .* is 0 kg: it must be positive"),
    (lambda w, a, b: w.bar(1.0, mass=-1.0), "mass of body .* must be positive"),
    (lambda w, a, b: w.body(mass=1.0), "has no inertia: give inertia="),
    (lambda w, a, b: w.body(mass=1.0, inertia=0.0), "inertia of body .* must be positive"),
    (lambda w, a, b: w.bar(1.0), "has no mass: give mass="),
    (lambda w, a, b: w.bar(-1.0, mass=1.0), "length of a bar is -1.0"),
    (lambda w, a, b: w.bar(1.0, mass=1.0, name="a"), "two things are called 'a'"),
    (lambda w, a, b: w["c"], "no body or joint 'c': there are 'a', 'b'"),
    (lambda w, a, b: a.tip, "has no point 'tip': it has centre, start, end"),
    (lambda w, a, b: a.point("end", 0.0, 0.0), "has two points 'end'"),
    (
        lambda w, a, b: w.revolute(a.end, b.start, clearance=-1e-4),
        "must be 0 .ideal. or positive",
    ),
    (lambda w, a, b: w.revolute(a.end, b.start, clearance=1e-9), "which no scheme can tell from 0"),
    (lambda w, a, b: w.revolute(a.end, b.start, clearance=1e-4, mu=0.1), "give the radius="),
    (lambda w, a, b: w.revolute(a.end, b.start, stops=(1.0, 0.0)), "the least must lie below the largest"),
    (lambda w, a, b: w.guide(b, clearance=1e-3), "give the length= and height= of its block"),
    (lambda w, a, b: w.guide(b, axis="z"), "axis of joint .* is 'z'"),
    (lambda w, a, b: w.revolute(a.end, "b"), "needs a body or a point of one"),
    (lambda w, a, b: w.start(w.ground, angle=0.0), "the ground does not move"),
    (lambda w, a, b: w.start(a), "says nothing"),
    (lambda w, a, b: w.drive(a), "needs either speed= or angle="),
    (lambda w, a, b: w.motor(a, speed=3.0), "give gain= .* and limit="),
    (lambda w, a, b: w.spring(a.end, b.end, k=-1.0, length=0.1), "k of spring .* must be positive"),
    (lambda w, a, b: w.revolute(a.end, me.Planar().bar(1.0, mass=1.0).end), "is no body of this mechanism"),
    (lambda w, a, b: w.material("steel", "steel", e=0.5) or w.material("steel", "steel"), "has a law already"),
]


@pytest.mark.parametrize(("act", "words"), BAD)
def test_bad_input_is_refused_in_a_sentence(act, words):
    w = me.Planar()
    a, b = w.bar(1.0, mass=1.0, name="a"), w.bar(1.0, mass=1.0, name="b")
    with pytest.raises((ModelError, AttributeError), match=words):
        act(w, a, b)


def test_a_mechanism_that_cannot_close_says_which_joint_stays_open():
    w = me.Planar()
    a, b = w.bar(0.1, mass=1.0, name="a"), w.bar(0.1, mass=1.0, name="b")
    w.revolute(w.ground, a.start, name="first")
    w.revolute(a.end, b.start, name="second")
    w.revolute(w.ground.at(0.5, 0.0), b.end, name="third")
    w.start(a, angle=0.0)
    with pytest.raises(ModelError, match=r"cannot be assembled: .* stays open by .*give rough places"):
        w.problem((0.0, 1.0))


def test_speeds_that_contradict_each_other_are_refused():
    w = pendulum()
    w.start(w.bodies[0].end, velocity=(None, 3.0))
    w.start(w.bodies[0], speed=1.0)
    with pytest.raises(ModelError, match="speeds of the start contradict"):
        w.problem((0.0, 1.0))


def test_a_body_that_hangs_on_nothing_is_named():
    w = pendulum()
    w.bar(1.0, mass=1.0, name="lost")
    with pytest.raises(ModelError, match="'lost' hangs on nothing"):
        w.problem((0.0, 1.0))


def test_a_mechanism_without_a_start_is_refused():
    w = me.Planar()
    bar = w.bar(1.0, mass=1.0, name="bar")
    w.revolute(w.ground, bar.start)
    with pytest.raises(ModelError, match="nothing says where 'bar' starts"):
        w.problem((0.0, 1.0))
    with pytest.raises(SettingError, match="t_span is missing"):
        sl.solve(w)


# ---- assembly


def test_redundant_joints_are_named_and_the_run_goes_through():
    w = me.Planar()
    bars = [w.bar(0.2, mass=0.5, name=f"bar {k}", angle=1.0) for k in range(3)]
    table = w.bar(1.0, mass=1.0, name="table", at=(0.6, 0.17))
    for k, bar in enumerate(bars):
        w.revolute(w.ground.at(0.5 * k, 0.0), bar.start, name=f"foot {k}")
        w.revolute(table.at(0.5 * (k - 1), 0.0), bar.end, name=f"head {k}")
    w.start(bars[0], angle=1.0, speed=-1.0)
    made = w.assemble()
    assert made.freedom == 1 and not made.singular
    assert {"head 0", "head 1", "head 2"} <= set(made.redundant)
    assert "hold something twice" in str(made)
    solution = sl.solve(w, (0.0, 0.2), tol=1e-7)
    total = energy(w, solution)
    np.testing.assert_allclose(total, total[0], atol=1e-6)


def test_a_dead_centre_is_reported_as_singular():
    w = me.Planar(gravity=0.0)
    a, b, c = (w.bar(0.1, mass=1.0, name=name) for name in "abc")
    w.revolute(w.ground, a.start)
    w.revolute(a.end, b.start)
    w.revolute(b.end, c.start)
    w.revolute(w.ground.at(0.1, 0.0), c.end)
    w.start(a, angle=0.0)  # a parallelogram whose bars all lie on one line
    w.start(b, angle=math.pi)
    w.start(c, angle=0.0)
    made = w.assemble()
    assert made.singular and made.freedom == 1
    assert "singular position" in str(made)


def test_rough_places_choose_the_branch():
    for angle, above in ((1.0, True), (-1.0, False)):
        w = me.Planar()
        a, b = w.bar(0.1, mass=1.0, angle=angle), w.bar(0.1, mass=1.0, angle=-angle)
        w.revolute(w.ground, a.start)
        w.revolute(a.end, b.start)
        w.slot(w.ground, b.end, axis="x")
        w.start(b.end, at=(0.15, None))
        q = w.assemble().q
        assert bool(q[1] > 0.0) is above
        assert q[0] == pytest.approx(0.0375, abs=1e-12)


# ---- drives, forces, parameters


def test_a_driven_crank_follows_its_ramp():
    w = me.Planar(gravity=0.0)
    crank = w.bar(0.2, mass=1.0)
    w.revolute(w.ground, crank.start)
    w.drive(crank, speed=me.ramp(0.0, 10.0, 0.5), name="drive")
    w.start(crank, angle=0.3)
    solution = sl.solve(w, (0.0, 1.0), tol=1e-8)
    assert solution(0.25).v[2] == pytest.approx(5.0, abs=1e-6)
    assert solution.q[-1, 2] == pytest.approx(0.3 + 2.5 + 5.0, abs=1e-8)


def test_a_prescribed_angle_and_way_are_kept():
    w = me.Planar(gravity=9.81)
    crank, block = w.bar(0.2, mass=1.0), w.body(mass=1.0, inertia=1e-3)
    w.revolute(w.ground, crank.start)
    way = w.guide(block, axis="y")
    w.drive(crank, angle=lambda t: 0.3 * np.sin(4.0 * t))
    w.drive(way, way=lambda t: 0.1 * np.cos(3.0 * t))
    solution = sl.solve(w, (0.0, 1.0), tol=1e-8)
    np.testing.assert_allclose(solution.q[:, 2], 0.3 * np.sin(4.0 * solution.t), atol=1e-10)
    np.testing.assert_allclose(solution.q[:, 4], 0.1 * np.cos(3.0 * solution.t), atol=1e-10)


def test_a_motor_speeds_up_to_its_speed():
    w = me.Planar(gravity=0.0)
    wheel = w.body(mass=1.0, inertia=0.1, name="wheel")
    w.revolute(w.ground, wheel)
    w.motor(wheel, speed=20.0, gain=0.5, limit=2.0)
    w.start(wheel, angle=0.0)
    solution = sl.solve(w, (0.0, 2.0), tol=1e-8)
    # at the limit until the speed lacks 4 rad/s, then exponentially with gain / inertia
    reached = 16.0 / 20.0
    assert solution(reached).v[2] == pytest.approx(16.0, abs=1e-5)
    assert solution.v[-1, 2] == pytest.approx(20.0 - 4.0 * math.exp(-5.0 * (2.0 - reached)), abs=1e-5)


def test_springs_swing_with_their_frequencies():
    w = me.Planar(gravity=0.0)
    block = w.body(mass=2.0, inertia=0.01, at=(0.5, 0.0))
    w.guide(block, axis="x")
    w.spring(w.ground, block, k=200.0, length=0.4)
    solution = sl.solve(w, (0.0, 1.0), tol=1e-9)
    np.testing.assert_allclose(solution.q[:, 0], 0.4 + 0.1 * np.cos(10.0 * solution.t), atol=1e-8)


def test_forces_between_bodies_obey_action_and_reaction():
    w = me.Planar(gravity=0.0)
    a = w.bar(0.3, mass=1.0, at=(0.0, 0.0), angle=0.3)
    b = w.bar(0.2, mass=0.5, at=(0.4, 0.1), angle=-0.5)
    w.spring(a.end, b.start, k=100.0, length=0.1, c=0.5)
    w.spring(a.start, b.end, k=30.0, length=0.0)
    w.bushing(a.at(0.05, 0.02), b.at(0.0, 0.01), k=(50.0, 20.0), k_turn=0.4, c=(0.3, 0.2), c_turn=0.01, angle=-0.1)
    w.torsion_spring(a, b, k=0.3, angle=0.2, c=0.02)
    w.damper(a, b, c=0.7)
    w.start(a, velocity=(0.2, -0.1), speed=2.0)
    solution = sl.solve(w, (0.0, 0.5), tol=1e-9)
    masses = np.array([body.mass for body in w.bodies])
    inertias = np.array([body.inertia for body in w.bodies])
    q, v = solution.q.reshape(-1, 2, 3), solution.v.reshape(-1, 2, 3)
    momentum = np.einsum("b,tbk->tk", masses, v[:, :, :2])
    spin = np.einsum("b,tb->t", inertias, v[:, :, 2]) + np.einsum(
        "b,tb->t", masses, q[:, :, 0] * v[:, :, 1] - q[:, :, 1] * v[:, :, 0]
    )
    np.testing.assert_allclose(momentum, momentum[:1].repeat(len(momentum), 0), atol=1e-9)
    np.testing.assert_allclose(spin, spin[0], atol=1e-9)


def test_a_coil_spring_of_masses_is_a_spring_when_it_moves_slowly():
    w = me.Planar(gravity=0.0)
    block = w.body(mass=1.0, inertia=0.01, at=(0.12, 0.0), name="block")
    w.guide(block, axis="x")
    coils = w.coil_spring(w.ground, block, k=400.0, length=0.1, mass=1e-3, masses=4, axis="x", name="coil")
    assert [coil.name for coil in coils] == [f"coil {k}" for k in (1, 2, 3, 4)]
    solution = sl.solve(w, (0.0, 0.3), tol=1e-7)
    expected = 0.1 + 0.02 * np.cos(20.0 * solution.t)
    np.testing.assert_allclose(solution.q[:, 0], expected, atol=2e-5)


def test_coils_clash_when_the_spring_is_solid():
    w = me.Planar(gravity=0.0)
    block = w.body(mass=0.1, inertia=0.01, at=(0.1, 0.0), name="block")
    w.guide(block, axis="x")
    w.coil_spring(w.ground, block, k=100.0, length=0.1, mass=0.02, masses=3, axis="x", solid=0.06, e=0.3, name="coil")
    w.start(block, velocity=(-3.0, None))
    problem = w.problem((0.0, 0.03))
    solution = sl.solve(problem, tol=1e-6)
    struck = {str(event["contact"]) for event in solution.events if event["kind"] == "impact"}
    assert struck and struck <= {"coil.1", "coil.2", "coil.3", "coil.4"}
    assert solution.q[:, 0].min() > 0.06 - 1e-9


def test_a_user_function_of_body_states_is_a_force():
    w = me.Planar(gravity=0.0)
    a, b = (w.body(mass=1.0, inertia=0.1, at=(x, 0.0)) for x in (0.0, 1.0))

    def pull(t, q, v):
        f = 3.0 * (q[1][0] - q[0][0] - 0.5)
        return [f, 0.0, 0.0], [-f, 0.0, 0.0]

    w.force(pull, a, b, name="pull")
    w.load(a.centre, lambda t: (0.0, 2.0 * np.sin(t)))
    solution = sl.solve(w, (0.0, 1.0), tol=1e-9)
    half = 0.25 + 0.25 * np.cos(math.sqrt(6.0) * solution.t)
    np.testing.assert_allclose(solution.q[:, 3] - solution.q[:, 0], 2.0 * half, atol=1e-8)
    np.testing.assert_allclose(solution.v[:, 1], 2.0 * (1.0 - np.cos(solution.t)), atol=1e-8)


def test_materials_give_contacts_their_numbers():
    w = me.Planar()
    w.ground.material = "brass"
    bar = w.bar(0.3, mass=1.0, material="steel", name="bar")
    w.material("steel", "brass", e=0.3, mu=0.15)
    w.revolute(w.ground, bar.start, clearance=1e-4, radius=2e-3, name="pin")
    w.start(bar, angle=0.0)
    assert w.system().laws().tolist() == [[0.3, 0.15, 0.0]]


def test_a_clearance_that_is_a_parameter_follows_the_run():
    p = sl.Parameters(play=1e-3)
    w = pendulum(clearance=p.play, e=0.2)
    problem = w.problem((0.0, 0.1))
    for play in (1e-3, 4e-3):
        solution = sl.solve(problem, tol=1e-6, parameters={"play": play})
        x, y, angle = solution.q.T
        away = np.hypot(x - 0.5 * np.cos(angle), y - 0.5 * np.sin(angle))
        assert away.max() == pytest.approx(play, rel=1e-4)


def test_a_speed_that_is_a_parameter_is_assembled_for_its_run():
    p = sl.Parameters(speed=5.0, first=2.0)
    w = me.Planar(gravity=0.0)
    crank, arm = w.bar(0.2, mass=1.0), w.bar(0.1, mass=0.1)
    w.revolute(w.ground, crank.start)
    w.revolute(crank.end, arm.start)
    w.drive(crank, speed=p.speed)
    w.start(crank, angle=0.0)
    w.start(arm, angle=0.0, speed=p.first)
    solution = sl.solve(w, (0.0, 0.2), tol=1e-8, parameters={"speed": 8.0, "first": 3.0})
    np.testing.assert_allclose(solution.v[:, 2], 8.0, atol=1e-9)
    assert solution.v[0, 5] == pytest.approx(3.0)


def test_time_stepping_of_a_mechanism_projects():
    w = pendulum()
    solution = sl.solve(w, (0.0, 0.5), scheme=sl.MoreauJean(), h=1e-3)
    assert joint_error(w.problem((0.0, 0.5)), solution) < 1e-11
    as_given = sl.solve(w.problem((0.0, 0.5)), scheme=sl.MoreauJean(), h=1e-3)
    assert joint_error(w.problem((0.0, 0.5)), as_given) > 1e-9


# ---- the circuit breaker


def test_the_worn_breaker_closes_at_the_same_time_in_three_schemes():
    problem = sl.problems.circuit_breaker()
    stepping = sl.MoreauJean(projection=True, solver=sl.contact.Portfolio(tol=1e-10))  # as for a mechanism
    assert len(problem.q0) == 18 and len(problem.system.contacts) == 11 and not problem.system.joints
    closing = []
    for scheme, options in (
        (sl.HpTDG(), {"tol": 1e-4}),
        (sl.EventDriven(), {"tol": 1e-4}),
        (stepping, {"h": 1e-6}),
    ):
        solution = sl.solve(problem, scheme=scheme, save="events", **options)
        struck = solution.events[(solution.events["contact"] == "contact") & (solution.events["kind"] == "impact")]
        closing.append(float(struck["t"][0]))
        assert solution.violation.max() < 0.05 * 5e-5
    np.testing.assert_allclose(closing, closing[0], rtol=5e-3)


def test_the_woodpecker_has_a_limit_cycle_of_four_digits():
    cycles = []
    for scheme in (sl.HpTDG(), sl.EventDriven()):
        solution = sl.solve(sl.problems.woodpecker(t_end=3.0), scheme=scheme, tol=1e-8)
        pecks = solution.events[(solution.events["contact"] == "beak") & (solution.events["kind"] == "impact")]["t"]
        heights = np.array([solution(t).q[0] for t in pecks])
        cycles.append((np.diff(pecks)[-1], np.diff(heights)[-1]))
    np.testing.assert_allclose(cycles[0], cycles[1], rtol=1e-5)
    np.testing.assert_allclose(cycles[0], (0.14597, -0.01944), rtol=1e-3)


def test_a_run_of_a_mechanism_goes_on_from_its_checkpoint(tmp_path):
    p = sl.Parameters(speed=5.0)
    w = me.Planar(gravity=9.81)
    crank, arm = w.bar(0.2, mass=1.0), w.bar(0.1, mass=0.1)
    w.revolute(w.ground, crank.start)
    w.revolute(crank.end, arm.start)
    w.drive(crank, speed=p.speed)
    w.start(crank, angle=0.0)
    w.start(arm, angle=0.0)
    path = tmp_path / "run.h5"
    whole = sl.solve(w, (0.0, 0.1), tol=1e-8, parameters={"speed": 8.0}, checkpoint=path)
    again = sl.resume(path, w)
    np.testing.assert_array_equal(again.q[-1], whole.q[-1])


def test_points_of_a_shape_are_where_they_were_drawn():
    w = me.Planar(gravity=0.0)
    corner = w.body(me.Polygon([(0.0, 0.0), (0.3, 0.0), (0.0, 0.3)]), mass=1.0, at=(1.0, 2.0), angle=0.5, name="corner")
    q = w.assemble().q
    c, s = math.cos(0.5), math.sin(0.5)
    np.testing.assert_allclose(q[:2], (1.0 + 0.1 * (c - s), 2.0 + 0.1 * (s + c)), atol=1e-12)  # centre of mass
    tip = corner.at(0.3, 0.0)
    np.testing.assert_allclose((q[0] + c * tip.x - s * tip.y, q[1] + s * tip.x + c * tip.y), (1 + 0.3 * c, 2 + 0.3 * s))
    assert corner.inertia == pytest.approx(1.0 * 0.3**2 / 9.0, rel=1e-12)


def test_every_joint_has_every_option_or_a_sentence_that_refuses_it():
    joints = {"revolute", "prismatic", "slot", "distance", "fixed", "coupling", "drive"}
    cells = {tuple(name.split()) for name, *_ in RUNS}
    words = {"clearance": "clearance", "stops": "stop", "mu": "friction"}
    for make, options, _ in REFUSED:
        cells |= {(make.__name__, words[key]) for key in options if key in words}
    assert cells >= {(joint, option) for joint in joints for option in ("ideal", "clearance", "stop", "friction")}
