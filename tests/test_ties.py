"""Ties: contacts that strike together, or closer than a run can resolve, whose order decides what comes of it."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems

GRAVITY, HALF, THICK = 9.81, 0.5, 0.2  # [m/s^2]; half of the width and height of a box [m]
LANDING = np.sqrt(2.0 / GRAVITY)  # after a fall from 1 m [s]
SCHEMES = {"HpTDG": sl.HpTDG(), "EventDriven": sl.EventDriven()}
schemes = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)


def dropped_box(inertia, *, e=0.5, mu=0.0, slide=0.0, tilt=0.0) -> sl.Problem:
    """A box of 1 kg that falls from 1 m onto two corners; they do not feel each other where its inertia is m HALF^2."""

    def corner(side, name):
        def gap(q):
            return q[1] + side * HALF * np.sin(q[2]) - THICK * np.cos(q[2])

        def slip(t, q, v):
            return v[0] - v[2] * (side * HALF * np.sin(q[2]) - THICK * np.cos(q[2]))

        return sl.Contact(gap, e=e, mu=mu, slip=slip if mu > 0.0 else None, name=name)

    system = sl.System(
        M=[1.0, 1.0, inertia], f=[0.0, -GRAVITY, 0.0], contacts=[corner(-1.0, "left"), corner(1.0, "right")]
    )
    return sl.Problem(system, (0.0, 0.6), [0.0, 1.0 + THICK, tilt], [slide, 0.0, 0.0])


def ties(sol: sl.Solution) -> np.ndarray:
    return sol.events[sol.events["kind"] == "tie"]


@schemes
def test_corners_of_a_box_that_lands_flat_are_tied(scheme):
    sol = sl.solve(dropped_box(0.3), scheme=scheme, tol=1e-6, progress=False)
    assert list(ties(sol)["contact"]) == ["left", "right"]
    np.testing.assert_allclose(ties(sol)["t"], LANDING, rtol=1e-9)
    np.testing.assert_allclose(ties(sol)["u_minus"][:, 0], -GRAVITY * LANDING, rtol=1e-9)
    assert not ties(sol)["impulse"].any()
    assert "1 tie: contacts struck closer together than the run can resolve" in sol.message
    assert "between 'left' and 'right'" in sol.message
    # one impact of both corners: the box bounces without turning
    np.testing.assert_allclose(sol.v[-1, 1], 0.5 * GRAVITY * LANDING - GRAVITY * (0.6 - LANDING), rtol=1e-8)
    assert abs(sol.v[-1, 2]) <= 1e-9


@schemes
def test_corners_that_do_not_feel_each_other_are_not_tied(scheme):
    sol = sl.solve(dropped_box(HALF**2), scheme=scheme, tol=1e-6, progress=False)
    assert len(ties(sol)) == 0
    assert "tie" not in sol.message


def test_friction_ties_corners_that_do_not_feel_each_other_otherwise():
    sol = sl.solve(dropped_box(HALF**2, mu=0.3, slide=1.0), tol=1e-6, progress=False)
    assert sorted(ties(sol)["contact"]) == ["left", "right"]


@pytest.mark.parametrize(("inertia", "tied"), [(0.1, 0), (0.4, 2)])
def test_a_flat_landing_without_restitution_is_tied_only_where_the_second_corner_lifts_the_first(inertia, tied):
    # J < m HALF^2: the strike of one corner drives the other one down, and both end at rest in any order
    sol = sl.solve(dropped_box(inertia, e=0.0), tol=1e-6, progress=False)
    assert len(ties(sol)) == tied


@pytest.mark.parametrize(("tilt", "tied"), [(1e-8, 2), (1e-3, 0)])
def test_corners_are_tied_as_long_as_the_run_cannot_tell_which_one_is_lower(tilt, tied):
    sol = sl.solve(dropped_box(0.3, tilt=tilt), tol=1e-6, progress=False)
    assert len(ties(sol)) == tied
    impacts = sol.events[sol.events["kind"] == "impact"]
    assert list(impacts["contact"]) == ["left", "right"]
    assert impacts["t"][0] < impacts["t"][1]


@schemes
def test_separate_balls_that_land_together_are_not_tied(scheme):
    balls = sl.System(
        M=[1.0, 2.0], f=[-GRAVITY, -2.0 * GRAVITY],
        contacts=[sl.Contact(lambda q, k=k: q[k], e=0.5, name=f"ball {k}") for k in range(2)],
    )  # fmt: skip
    sol = sl.solve(balls, (0.0, 1.0), [1.0, 1.0], [0.0, 0.0], scheme=scheme, tol=1e-6, progress=False)
    assert np.sum(sol.events["kind"] == "impact") == 4
    assert len(ties(sol)) == 0


@pytest.mark.parametrize(("angle", "tied"), [(90.0, 0), (60.0, 2), (120.0, 2)])
def test_a_bead_that_flies_into_a_corner_is_tied_unless_the_walls_are_square(angle, tied):
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    bead = sl.System(
        M=[1.0, 1.0], f=[0.0, 0.0],
        contacts=[
            sl.Contact(lambda q: q[1], e=0.5, name="floor"),
            sl.Contact(lambda q: s * q[0] - c * q[1], e=0.5, name="wall"),
        ],
    )  # fmt: skip
    way = np.array([np.cos(np.radians(angle / 2.0)), np.sin(np.radians(angle / 2.0))])
    sol = sl.solve(bead, (0.0, 1.5), way, -way, tol=1e-6, progress=False)
    assert len(ties(sol)) == tied


def piston_in_guides() -> tuple[sl.System, list, list]:
    """The slider-crank of the library in maximal coordinates: crank, rod and piston, each (x, y, angle)."""
    l_1, l_2, a, b, clearance, e, mu = 0.153, 0.306, 0.05, 0.025, 0.001, 0.4, 0.01

    def point(q, body, x, y):
        c, s = np.cos(q[3 * body + 2]), np.sin(q[3 * body + 2])
        return q[3 * body] + c * x - s * y, q[3 * body + 1] + s * x + c * y

    def pin(body, x, other, X):
        def constraint(q):
            (x_1, y_1), (x_2, y_2) = point(q, body, x, 0.0), (0.0, 0.0) if other is None else point(q, other, X, 0.0)
            return [x_1 - x_2, y_1 - y_2]

        return sl.Joint(constraint)

    def corner(x, y, name):
        side = 1.0 if y > 0.0 else -1.0

        def gap(q):
            return b + clearance - side * point(q, 2, x, y)[1]

        def slip(t, q, v):
            c, s = np.cos(q[8]), np.sin(q[8])
            return v[6] - v[8] * (s * x + c * y)

        return sl.Contact(gap, e=e, mu=mu, slip=slip, name=name)

    masses = [(0.038, 7.4e-5), (0.038, 5.9e-4), (0.076, 2.7e-6)]
    system = sl.System(
        M=[x for m, J in masses for x in (m, m, J)],
        f=[x for m, _ in masses for x in (0.0, -9.81 * m, 0.0)],
        joints=[pin(0, -l_1 / 2.0, None, 0.0), pin(0, l_1 / 2.0, 1, -l_2 / 2.0), pin(1, l_2 / 2.0, 2, 0.0)],
        contacts=[
            corner(-a, b, "upper rear"), corner(a, b, "upper front"),
            corner(-a, -b, "lower rear"), corner(a, -b, "lower front"),
        ],
    )  # fmt: skip
    q0 = [l_1 / 2.0, 0.0, 0.0, l_1 + l_2 / 2.0, 0.0, 0.0, l_1 + l_2, 0.0, 0.0]
    v0 = [0.0, 75.0 * l_1, 150.0, 0.0, 150.0 * l_1 - 75.0 * l_2 / 2.0, -75.0, 0.0, 0.0, 0.0]
    return system, q0, v0


@schemes
@pytest.mark.parametrize("tol", [1e-4, 1e-7])
def test_the_flat_landing_of_a_piston_is_tied_in_all_coordinates(tol, scheme):
    options = {"scheme": scheme, "tol": tol, "progress": False}
    system, q0, v0 = piston_in_guides()
    for sol in (
        sl.solve(problems.slider_crank(t_end=0.042), **options),
        sl.solve(system, (0.0, 0.042), q0, v0, **options),
    ):
        near = ties(sol)[np.abs(ties(sol)["t"] - 0.039807315) <= 1e-6]
        assert list(near["contact"]) == ["upper rear", "upper front"]
        np.testing.assert_allclose(near["u_minus"][:, 0], -0.913576, rtol=1e-4)


@pytest.mark.parametrize("tol", [1e-6, 1e-8, 1e-9, 3e-10, 1e-10, 3e-11, 1e-11])
def test_contacts_that_come_back_together_at_different_speeds_are_one_impact(tol):
    """A beam that has tipped over its outer foot comes back onto two others at once, at .5 and 15 m/s.

    Rounding parts them by some 1e-15 m; whichever came first decided how the beam tips over next. The end is that of
    the closed form of bench/truth/cone.py, pieces of sines and powers of time.
    """
    places = (0.2815954716208755, -0.745119695068178, 0.3149822296730389)
    feet = [sl.Contact(lambda q, x=x: q[0] + x * q[1]) for x in places]
    beam = sl.System(
        M=[0.7481550716418116, 0.28963825975887403],
        f=lambda t, q, v: [-14.997936967332677, -10.837796248621462 * np.sin(4.361656612044922 * t)],
        contacts=feet,
    )
    sol = sl.solve(beam, (0.0, 1.3613832594814128), [0.0, 0.0], [0.0, 0.0], tol=tol)
    np.testing.assert_allclose(sol.q[-1], [0.12706605, 0.17053106], rtol=0, atol=1e-8 + 10.0 * tol)
    assert "1 tie" in sol.message


PARCELS = {  # feet, mass, inertia, mu, e, speed of the belt, first speed and height
    "three feet": ((-0.132038294, 0.125061933, -0.026125385), 1.16865608, 0.044498044, 0.76473448, 0.73194142,
                   0.55532612, -0.23476984, 0.13589571),
    "two feet": ((-0.34883794, 0.28376253), 6.96236905, 0.65130744, 0.27831287, 0.46908436, -1.02626574, 0.68644192,
                 0.06021131),
    "smooth belt": ((-0.315608813, 0.109744474, -0.076239336), 11.69769445, 0.40079309, 0.12447307, 0.42632026,
                    1.17275207, 0.11167031, 0.2508561),
}  # fmt: skip


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
@pytest.mark.parametrize("name", PARCELS)
def test_a_parcel_dropped_flat_on_a_belt_lands_flat_every_time(name, scheme):
    """What a contact solver leaves of a turn made the feet land in turn next time, and the parcel tumble."""
    feet, mass, inertia, mu, e, belt, u, height = PARCELS[name]

    def foot(at):
        return sl.Contact(
            lambda q: q[1] + at * np.sin(q[2]), e=e, mu=mu, impact="poisson",
            slip=lambda t, q, v: v[0] - at * np.sin(q[2]) * v[2] - belt,
        )  # fmt: skip

    parcel = sl.System(M=[mass, mass, inertia], f=[0.0, -mass * 9.81, 0.0], contacts=[foot(at) for at in feet])
    sol = sl.solve(parcel, (0.0, 3.0), [0.0, height, 0.0], [u, 0.0, 0.0], scheme=scheme, tol=1e-10)
    # a particle: every landing drags it by as much as friction can, then it slides, then it goes with the belt
    t, x, hit, up = 0.0, 0.0, float(np.sqrt(2.0 * 9.81 * height)), 0.0
    flight = hit / 9.81
    while hit > 1e-14:
        t, x = t + flight, x + u * flight
        u += float(np.clip(belt - u, -mu * (1.0 + e) * hit, mu * (1.0 + e) * hit))
        up = e * hit
        flight, hit = 2.0 * up / 9.81, up
    slides = abs(belt - u) / (mu * 9.81)
    x += 0.5 * (u + belt) * slides + belt * (3.0 - t - slides)
    assert abs(sol.q[-1, 0] - x) < 3e-9
    assert np.abs(sol.q[:, 2]).max() < 1e-10
