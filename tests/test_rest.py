"""Rest is a state: bodies on rough feet that nothing moves stay there without events, in runs of any length."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl

GRAVITY = 9.81


def plank(push: float) -> sl.System:
    """A plank on two rough feet: four held rows, three velocities; friction can hold every push up to some .8 N."""
    return sl.System(
        M=[1.0, 1.0, 0.4],
        f=[push, -8.4776, -4.5075],
        contacts=[
            sl.Contact(
                lambda q: q[1] + 0.8 * q[2] - 0.2 * q[2] ** 2,
                mu=0.148,
                slip=lambda t, q, v: v[0] + 0.3 * v[2] + 0.1 * v[1],
            ),
            sl.Contact(
                lambda q: q[1] - 1.2 * q[2] - 0.25 * q[2] ** 2, mu=0.2625, slip=lambda t, q, v: v[0] - 0.2 * v[2]
            ),
        ],
    )


@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        (None, {"tol": 1e-6}),
        (sl.EventDriven(), {"tol": 1e-8}),
        (sl.AnyOrder(), {"h": 1e-2}),
        (sl.Splitting(), {"tol": 1e-4}),
        (sl.Splitting(), {"h": 1e-2}),
        (sl.TDGMinus(2), {"h": 1e-2}),
    ],
    ids=["HpTDG", "EventDriven", "AnyOrder", "adaptive Splitting", "Splitting", "D2-"],
)
def test_a_plank_that_friction_holds_stays_without_events(scheme, settings):
    for push in np.arange(0.30, 0.80, 0.04):
        sol = sl.solve(plank(push), (0.0, 0.1), np.zeros(3), np.zeros(3), scheme=scheme, **settings)
        assert len(sol.events) == 0 and np.abs(sol.q).max() < 1e-14


@pytest.mark.parametrize("seed", range(6))
def test_a_box_with_friction_comes_to_rest_on_two_corners(seed):
    rng = np.random.default_rng([seed, 6])
    mu, e, angle, spin, speed = (
        float(rng.uniform(*x)) for x in ((0.1, 0.8), (0.05, 0.7), (-0.4, 0.4), (-1, 1), (-1, 1))
    )
    half, height, mass, inertia = 0.5, 0.2, 1.3, 0.13

    def corner(sign):
        return sl.Contact(
            lambda q: q[1] - height * np.cos(q[2]) + sign * half * np.sin(q[2]), mu=mu, e=e,
            slip=lambda t, q, v: v[0] + (height * np.cos(q[2]) - sign * half * np.sin(q[2])) * v[2],
        )  # fmt: skip

    box = sl.System(M=[mass, mass, inertia], f=[0.0, -mass * GRAVITY, 0.0], contacts=[corner(-1.0), corner(1.0)])
    for tol in (1e-4, 1e-7, 1e-10):
        sol = sl.solve(box, (0.0, 3.0), [0.0, 0.6, angle], [speed, 0.0, spin], tol=tol)
        assert np.abs(sol.v[-1]).max() < 1e-12 and abs(sol.q[-1, 1] - height) < 1e-9 and abs(sol.q[-1, 2]) < 1e-9
        assert sol.force_at(3.0)[[0, 2]].sum() == pytest.approx(mass * GRAVITY)
        assert np.abs(sol.energy.defect).max() < max(1e-8, tol) * np.abs(sol.energy.work).max()


def test_what_is_reported_at_rest_does_not_depend_on_the_end_of_the_run():
    tails = []
    for t_end in (2.0, 3.0, 5.0):
        problem = sl.problems.tumbling_box()
        sol = sl.solve(problem, (0.0, t_end), tol=1e-6)
        assert np.abs(sol.v[-1]).max() < 1e-9
        resting = np.flatnonzero(np.linalg.norm(sol.v, axis=1) > 1e-9).max()  # the last node in motion
        after = sol.events["t"] > sol.t[resting + 1]
        assert not np.any(after), sol.events[after][:3]
        tails.append(sol.q[-1])
    assert np.abs(np.array(tails) - tails[0]).max() < 1e-6


def test_a_body_without_weight_on_three_feet_stays():
    body = sl.System(
        M=[1.0, 0.3], f=[0.0, 0.0], contacts=[sl.Contact(lambda q, x=x: q[0] + x * q[1]) for x in (-1, 1, 2)]
    )
    sol = sl.solve(body, (0.0, 10.0), np.zeros(2), np.zeros(2), tol=1e-8)
    assert np.all(sol.q == 0.0) and sol.work["steps"] < 20


def box_in_space(mu: float, e: float, halves, mass: float, inertia) -> sl.System:
    """A box whose eight corners may touch the floor; impacts by Poisson's law."""
    from saltus.problems._quaternion import cross, normalised, rate, rotate

    def f(t, q, v):
        turn = cross(v[3:6], [inertia[0] * v[3], inertia[1] * v[4], inertia[2] * v[5]])
        return [0.0, 0.0, -mass * GRAVITY, -turn[0], -turn[1], -turn[2]]

    def corner(signs):
        arm = [float(sign * half) for sign, half in zip(signs, halves, strict=True)]

        def slip(t, q, v):
            swing = rotate(q[3:7], cross(v[3:6], arm))
            return [v[0] + swing[0], v[1] + swing[1]]

        return sl.Contact(lambda q: q[2] + rotate(q[3:7], arm)[2], e=e, mu=mu, impact="poisson", slip=slip)

    return sl.System(
        M=np.diag([mass, mass, mass, *inertia]), f=f,
        contacts=[corner([a, b, c]) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)],
        q_dot=lambda q, v: [v[0], v[1], v[2], *rate(q[3:7], v[3:6])],
        retract=lambda q: [q[0], q[1], q[2], *normalised(q[3:7])],
    )  # fmt: skip


@pytest.mark.parametrize(("seed", "tol"), [(6, 1e-10), (3, 1e-7), (14, 1e-10)])
def test_a_box_in_space_comes_to_rest_without_thousands_of_events(seed, tol):
    """Bounces lower than gaps are known, and slips about to stop, ended such runs at 1e-10 or never."""
    from saltus.problems._quaternion import normalised

    rng = np.random.default_rng([seed, 2])
    mu, e, halves = float(rng.uniform(0.1, 0.8)), float(rng.uniform(0.05, 0.6)), rng.uniform(0.1, 0.4, 3)
    box = box_in_space(mu, e, halves, 1.0, (np.square(halves).sum() - np.square(halves)) / 3.0)
    start = np.array([0.0, 0.0, 0.0, *normalised(rng.normal(size=4))])
    start[2] = 0.1 - min(float(contact.gap(start)) for contact in box.contacts)
    sol = sl.solve(box, (0.0, 12.0), start, [0.4, -0.3, 0.0, *rng.uniform(-3.0, 3.0, 3)], tol=tol, max_steps=20_000)
    assert np.abs(sol.v[-1]).max() < 1e-12
    assert len(sol.events) < 6000
    moved = np.abs(sol.energy.work).max()
    assert np.abs(sol.energy.defect).max() <= 1e-8 * moved


def test_a_box_whose_corners_land_together_ever_lower_does_not_begin_to_turn():
    """Rounding of gaps let the corners of a low bounce land in turn; one of the slips that this made never ended."""
    box = box_in_space(
        0.9532985355423391, 0.7124466425444793, [0.13541683788945033, 0.35623425116673707, 0.16815836507991005],
        1.9467302130237687, [0.09726518299703914, 0.030330782650353837, 0.08637009609199543],
    )  # fmt: skip
    q0 = [
        0.0,
        0.0,
        0.562055158281136,
        0.05776388553702836,
        -0.5937707939254292,
        -0.3789196431411792,
        0.7074740149649256,
    ]
    v0 = [-0.6176740968596655, 0.3841235054654464, 0.0, -2.4300023000581543, -2.238537972342635, 1.4043121200845698]
    sol = sl.solve(box, (0.0, 20.0), q0, v0, tol=1e-10)
    assert np.abs(sol.v[-1]).max() < 1e-12


def test_nothing_closes_when_a_box_has_been_at_rest_for_seconds():
    """Its fourth corner was as near as the gaps of the other three were wrong, and rounding closed it later."""
    box = box_in_space(
        0.5906053288249662, 0.4416133005987414, [0.48331142588542003, 0.23600993030671347, 0.48819480434794776],
        0.2718595562534854, [0.028923485405530896, 0.04103667732587692, 0.024084352799288486],
    )  # fmt: skip
    q0 = [
        0.0,
        0.0,
        1.1656318699910475,
        0.36327075229775885,
        -0.31217173174467056,
        -0.7723333068362521,
        -0.4172342670202599,
    ]
    v0 = [0.5470477879076978, 0.5106245502298938, 0.0, -1.1285115416885638, 0.31981725198506084, 3.626001671968595]
    sol = sl.solve(box, (0.0, 20.0), q0, v0, tol=1e-10)
    moving = np.flatnonzero(np.abs(sol.v).max(axis=1) > 1e-9)
    assert sol.events["t"].max() <= sol.t[moving[-1] + 1]


def test_a_corner_that_sticks_gives_no_energy_back():
    """The work of its force on errors of velocities was booked as what it dissipates, of either sign."""
    half, height = 0.1, 0.5

    def corner(sign):
        return sl.Contact(
            lambda q: q[1] - height * np.cos(q[2]) + sign * half * np.sin(q[2]), mu=0.9,
            slip=lambda t, q, v: v[0] + (height * np.cos(q[2]) - sign * half * np.sin(q[2])) * v[2],
        )  # fmt: skip

    box = sl.System(M=[1.0, 1.0, 0.08], f=[0.0, -GRAVITY, 0.0], contacts=[corner(1.0), corner(-1.0)])
    q0 = [0.0, height * np.cos(0.3) + half * np.sin(0.3), 0.3]  # falls over the corner on which it stands
    sol = sl.solve(box, (0.0, 0.3), q0, [0.0, 0.0, 0.0], tol=1e-4)
    assert np.all(sol.energy.dissipation == 0.0)
    assert np.abs(sol.energy.defect).max() <= 1e-4 * np.abs(sol.energy.kinetic).max()


def test_the_ledger_of_a_box_that_rocks_closes_whatever_the_end_of_a_flight_was_moved_by():
    """The last moment before an impact, by which a flight is moved onto it, has friction work as well."""
    half, height, mu, e = 0.3, 0.15, 0.7, 0.6

    def corner(sign):
        return sl.Contact(
            lambda q: q[1] - height * np.cos(q[2]) + sign * half * np.sin(q[2]), mu=mu, e=e,
            slip=lambda t, q, v: v[0] + (height * np.cos(q[2]) - sign * half * np.sin(q[2])) * v[2],
        )  # fmt: skip

    box = sl.System(M=[1.0, 1.0, 0.05], f=[0.0, -GRAVITY, 0.0], contacts=[corner(1.0), corner(-1.0)])
    sol = sl.solve(box, (0.0, 6.0), [0.0, 0.5, 0.35], [1.0, 0.0, 0.5], tol=1e-6)
    assert np.abs(sol.energy.defect).max() <= 1e-9 * np.abs(sol.energy.work).max()


@pytest.mark.parametrize("scheme", [None, sl.EventDriven()], ids=["HpTDG", "EventDriven"])
def test_a_tumbling_box_whose_corner_begins_to_slip_under_a_turning_force_comes_to_rest_flat(scheme):
    """Where it begins to slip the force turns faster than it grows, and masses differ in their directions."""
    box = sl.problems.tumbling_box(
        t_end=2.5, half_sizes=(0.08505845, 0.03841469, 0.07777559), e=0.26435321, mu=0.20736309,
        orientation=(-1.00744545, -1.12625297, -0.60900792, 1.66594907), velocity=(0.03341941, 0.08196459, 0.0),
        spin=(2.64426662, -0.29337086, -4.54301169),
    )  # fmt: skip
    sol = sl.solve(box, scheme=scheme, tol=1e-10)
    assert np.abs(sol.v[-1]).max() < 1e-9
