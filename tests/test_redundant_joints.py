"""Joints that hold what others hold already: they cost nothing, and those that contradict each other are named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import saltus as sl

GRAVITY = 9.81


@dataclass(frozen=True)
class Mechanism:
    M: list
    f: list
    q0: list
    joints: list  # as many as are needed
    redundant: list


def distance(P, Q, length, form=lambda square, length: square - length**2) -> sl.Joint:
    """Joint that keeps two points, functions of q, at a distance."""

    def constraint(q):
        (x, y), (X, Y) = P(q), Q(q)
        return form((x - X) ** 2 + (y - Y) ** 2, length)

    return sl.Joint(constraint)


def mass(number):
    return lambda q: (q[2 * number], q[2 * number + 1])


def fixed(x, y):
    return lambda q: (x, y)


def pulled(*masses):
    """Mass matrix and weight of point masses."""
    return [m for m in masses for _ in range(2)], [part for m in masses for part in (0.0, -m * GRAVITY)]


def double_pendulum() -> Mechanism:
    a, b = 1.1, 0.7
    x, y = a * np.sin(0.6), -a * np.cos(0.6)
    rods = [distance(mass(0), fixed(0.0, 0.0), a), distance(mass(1), mass(0), b)]
    again = [
        distance(mass(0), fixed(0.0, 0.0), a, lambda square, length: np.sqrt(square) - length),
        distance(mass(1), mass(0), b, lambda square, length: 3.0 * (square / length - length)),
    ]
    return Mechanism(*pulled(1.3, 0.8), [x, y, x + b * np.sin(0.48), y - b * np.cos(0.48)], rods, again)


def swing() -> Mechanism:
    """A beam on parallel cranks: two of them hold it, three more do the same."""
    length, m = 0.8, 2.0

    def crank(place):
        def end(q):
            return q[0] + place * np.cos(q[2]), q[1] + place * np.sin(q[2])

        return distance(end, fixed(place, 0.0), length)

    q0 = [length * np.sin(0.5), -length * np.cos(0.5), 0.0]
    cranks = [crank(place) for place in (-1.0, 1.0, 0.3, -0.2, 0.7)]
    return Mechanism([m, m, 0.7], [3.0, -m * GRAVITY, 0.0], q0, cranks[:2], cranks[2:])


def braced_square() -> Mechanism:
    """Four masses with a bar between any two: one bar too many."""
    place = np.array([[0.0, -0.5], [0.6, -0.5], [0.6, -1.2], [0.0, -1.2]])

    def bar(i, j):
        return distance(mass(i), mass(j), float(np.linalg.norm(place[i] - place[j])))

    bars = [distance(mass(0), fixed(0.3, 0.0), float(np.hypot(0.3, 0.5)))]
    bars += [bar(i, j) for i, j in ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2))]
    return Mechanism(*pulled(1.0, 0.5, 0.7, 2.0), place.ravel().tolist(), bars, [bar(1, 3)])


@pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
@pytest.mark.parametrize("make", [double_pendulum, swing, braced_square])
def test_redundant_joints_neither_cost_steps_nor_change_the_motion(make, scheme, tol):
    one, ends, steps = make(), [], []
    for joints in (one.joints, [*one.joints, *one.redundant]):
        system = sl.System(M=one.M, f=one.f, joints=joints)
        sol = sl.solve(system, (0.0, 4.0), one.q0, [0.0] * len(one.q0), scheme=scheme, tol=tol, progress=False)
        ends.append(sol.q[-1])
        steps.append(sol.work["steps"] + sol.work["rejected"])
    assert steps[1] <= 1.2 * steps[0]
    np.testing.assert_allclose(ends[1], ends[0], rtol=0.0, atol=tol)


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
def test_a_joint_that_is_written_with_a_root_costs_no_steps(scheme):
    """The same pendulum by its distance and by the square of it."""
    steps = []
    for form in (lambda square, length: np.sqrt(square) - length, lambda square, length: square - length**2):
        joint = distance(mass(0), fixed(0.0, 0.0), 1.1, form)
        system = sl.System(M=1.3, f=[0.0, -GRAVITY], joints=[joint])
        sol = sl.solve(system, (0.0, 0.5), [1.1, 0.0], [0.0, 0.0], scheme=scheme, tol=1e-4, progress=False)
        steps.append(sol.work["steps"] + sol.work["rejected"])
    assert steps[0] <= 1.5 * steps[1] + 1


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
def test_redundant_joints_on_which_no_force_acts_do_not_contradict_each_other_by_rounding(scheme):
    """Three gears that turn freely; the ratio of the last two is written as a product, whose terms cancel."""
    c, d = -1.2158, -1.6927
    ratios = [
        sl.Joint(lambda q: q[1] - c * q[0]),
        sl.Joint(lambda q: q[2] - d * q[0]),
        sl.Joint(lambda q: (q[2] * c - q[1] * d) * (1.5 + np.sin(q[2]))),
    ]
    gears = sl.System(M=[0.3, 0.5, 0.7], f=[0.0, 0.0, 0.0], joints=ratios)
    sol = sl.solve(gears, (0.0, 1.0), [0.0] * 3, [1.0, c, d], scheme=scheme, tol=1e-7, progress=False)
    np.testing.assert_allclose(sol.q[-1], [1.0, c, d], rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
@pytest.mark.parametrize("power", [2, 3])
def test_joints_that_part_during_the_run_are_named(scheme, power):
    parting = [
        sl.Joint(lambda q: q[0] - 1.0, name="wall"),
        sl.Joint(lambda t, q: q[0] - 1.0 - 1e-3 * t**power, name="drive"),
    ]
    system = sl.System(M=np.eye(2), f=[0.0, -GRAVITY], joints=parting)
    with pytest.raises(sl.RunError, match=r"joints contradict each other.*wall.*drive"):
        sl.solve(system, (0.0, 1.0), [1.0, 1.0], [0.0, 0.0], scheme=scheme, tol=1e-7, progress=False)
