"""Laws with several friction numbers in runs: elliptic friction and rolling, against closed forms, by all schemes."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import saltus as sl
from saltus.contact import ADMM, NSGS, ColouredNSGS, ContactProblem, Lemke, minimum_norm, write_fclib

GRAVITY = 9.81
MU = (0.2, 0.5)
LOCATED = [sl.HpTDG(), sl.EventDriven()]
STEPPING = [
    sl.MoreauJean(), sl.GeneralizedAlpha(), sl.PaoliVelocity(), sl.TDGMinus(), sl.TDGPlus(), sl.HalfExplicitTDG(),
    sl.AnyOrder(), sl.Splitting(), sl.Extrapolated(sl.MoreauJean()),
]  # fmt: skip
ROLLING = [sl.MoreauJean(), sl.GeneralizedAlpha(), sl.StepDoubling(sl.MoreauJean())]


def given(scheme, h=1e-3):
    return {"scheme": scheme} if scheme in LOCATED else {"scheme": scheme, "h": h}


def named(scheme):
    return type(scheme).__name__


# ---- elliptic friction


def block(mu=MU, *, slope=0.0, downhill=0.0, turn=0.0, e=0.0):
    """Return a block of 1 kg on a plane, q = (x, y, height); downhill: direction of the slope; turn: of the ellipse."""
    c, s = np.cos(turn), np.sin(turn)
    pull = GRAVITY * np.sin(slope)
    weight = [pull * np.cos(downhill), pull * np.sin(downhill), -GRAVITY * np.cos(slope)]
    plane = sl.Contact(
        lambda q: q[2], e=e, mu=mu, slip=lambda t, q, v: [c * v[0] + s * v[1], c * v[1] - s * v[0]], name="plane"
    )
    return sl.System(M=[1.0, 1.0, 1.0], f=weight, contacts=[plane])


def steady_slide(mu, slope, angle):
    """Return direction and acceleration of a slide from rest: a s = g (sin(slope) d - cos(slope) mu^2 s / |mu s|)."""
    d, mu = np.array([np.cos(angle), np.sin(angle)]), np.array(mu)

    def missing(way):
        s = np.array([np.cos(way), np.sin(way)])
        left = np.sin(slope) * d - np.cos(slope) * mu**2 * s / np.linalg.norm(mu * s)
        return s[0] * left[1] - s[1] * left[0], GRAVITY * (s @ left)

    for a, b in itertools.pairwise(np.linspace(angle - 1.5, angle + 1.5, 3001)):
        if missing(a)[0] * missing(b)[0] <= 0.0 and missing(a)[1] > 0.0:
            for _ in range(80):
                middle = 0.5 * (a + b)
                a, b = (a, middle) if missing(a)[0] * missing(middle)[0] <= 0.0 else (middle, b)
            return a, missing(a)[1]
    raise AssertionError("the block rests")


@pytest.mark.parametrize("scheme", LOCATED + STEPPING, ids=named)
@pytest.mark.parametrize("turn", [0.0, 0.7, 2.5])
def test_a_block_slides_down_in_the_direction_of_the_closed_form(scheme, turn):
    slope, angle = np.pi / 6.0, np.radians(40.0)
    direction, acceleration = steady_slide(MU, slope, angle)
    assert (np.degrees(direction), acceleration) == pytest.approx((15.978464, 2.471298), abs=1e-6)  # by hand
    system = block(slope=slope, downhill=angle + turn, turn=turn)
    sol = sl.solve(system, (0.0, 1.0), np.zeros(3), np.zeros(3), **given(scheme, 1e-2))
    x, y = sol.q[-1, :2]
    assert np.arctan2(y, x) - turn == pytest.approx(direction - (2.0 * np.pi if direction + turn > np.pi else 0.0))
    first_order = named(scheme) == "PaoliVelocity"  # places of the end of the step with the velocity of its start
    assert np.hypot(x, y) == pytest.approx(0.5 * acceleration, rel=2e-2 if first_order else 1e-9)


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.MoreauJean()], ids=named)
@pytest.mark.parametrize("angle", [0.0, 0.4, 1.2, np.pi / 2.0])
def test_a_block_starts_to_slide_at_the_slope_of_the_ellipse(scheme, angle):
    limit = np.arctan(1.0 / np.hypot(np.cos(angle) / MU[0], np.sin(angle) / MU[1]))
    for share, slides in ((0.999, False), (1.001, True)):
        system = block(slope=share * limit, downhill=angle)
        sol = sl.solve(system, (0.0, 1.0), np.zeros(3), np.zeros(3), **given(scheme))
        assert (np.hypot(*sol.q[-1, :2]) > 1e-6) == slides
    # it begins along d_i / mu_i^2
    assert np.arctan2(sol.q[-1, 1], sol.q[-1, 0]) == pytest.approx(
        np.arctan2(np.sin(angle) / MU[1] ** 2, np.cos(angle) / MU[0] ** 2), abs=2e-3
    )


@pytest.mark.parametrize("scheme", LOCATED + STEPPING[:3], ids=named)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_along_an_axis_a_block_stops_as_its_own_mu_says(scheme, axis, way):
    v0 = np.zeros(3)
    v0[axis] = 2.0 * way
    sol = sl.solve(block(), (0.0, 1.5), np.zeros(3), v0, **given(scheme))
    duration = min(2.0 / (MU[axis] * GRAVITY), 1.5)
    reached = 2.0 * duration - 0.5 * MU[axis] * GRAVITY * duration**2
    accurate = scheme in LOCATED
    assert way * sol.q[-1, axis] == pytest.approx(reached, abs=1e-8 if accurate else 3e-3)
    assert abs(sol.q[-1, 1 - axis]) < 1e-12


def slowing(mu, v0, t):
    """Return x, y of a block that slides on a floor, by scipy from the law as it is written."""

    def rate(_, y):
        v = y[2:]
        return [*v, *(-GRAVITY * np.array(mu) ** 2 * v / np.linalg.norm(np.array(mu) * v))]

    return solve_ivp(rate, (0.0, t), [0.0, 0.0, *v0], rtol=1e-12, atol=1e-13, method="DOP853").y[:2, -1]


@pytest.mark.parametrize("scheme", [*LOCATED, sl.MoreauJean(), sl.TDGMinus()], ids=named)
def test_a_curved_slide_follows_the_law_as_an_ode(scheme):
    v0 = np.array([2.0, 1.0])
    sol = sl.solve(block(), (0.0, 0.35), np.zeros(3), [*v0, 0.0], **given(scheme))
    exact = slowing(MU, v0, 0.35)
    if named(scheme) == "MoreauJean":  # of first order: friction acts with the slip at the end of the step
        finer = sl.solve(block(), (0.0, 0.35), np.zeros(3), [*v0, 0.0], scheme=scheme, h=5e-4)
        assert np.abs(sol.q[-1, :2] - exact).max() < 2e-4
        assert np.abs(2.0 * finer.q[-1, :2] - sol.q[-1, :2] - exact).max() < 2e-6
    else:
        assert sol.q[-1, :2] == pytest.approx(exact, abs=1e-7 if scheme in LOCATED else 1e-6)
    v = sol(np.linspace(0.0, 0.35, 20)).v[:, :2]
    assert np.ptp(np.arctan2(v[:, 1], v[:, 0])) > 0.3  # it turns


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.MoreauJean()], ids=named)
def test_what_a_solution_says_of_elliptic_friction_is_in_newtons(scheme):
    v0 = np.array([2.0, 1.0])
    sol = sl.solve(block(), (0.0, 0.3), np.zeros(3), [*v0, 0.0], **given(scheme))
    momentum = sol.v[-1] - sol.v[0] + [0.0, 0.0, GRAVITY * 0.3]
    assert sol.impulse.sum(axis=0) == pytest.approx([momentum[2], momentum[0], momentum[1]], abs=1e-8)
    assert sol.impulse_at(0.3) == pytest.approx([momentum[2], momentum[0], momentum[1]], abs=1e-8)
    v = sol(0.15).v[:2]
    friction = -GRAVITY * np.array(MU) ** 2 * v / np.linalg.norm(np.array(MU) * v)
    assert sol.force_at(0.15) == pytest.approx([GRAVITY, *friction], rel=1e-6 if scheme in LOCATED else 1e-2)
    assert sol.energy.defect[-1] == pytest.approx(0.0, abs=1e-9)
    assert sol.admissibility.max() < 1e-7 and sol.residual.max() < 1e-6


def test_an_impact_on_a_rough_floor_is_reported_in_newton_seconds():
    sol = sl.solve(block(e=0.5), (0.0, 0.6), [0.0, 0.0, 1.0], [0.3, 4.0, 0.0], tol=1e-9)
    hit = sol.events[sol.events["kind"] == "impact"][0]
    speed = np.sqrt(2.0 * GRAVITY)
    assert hit["u_minus"] == pytest.approx([-speed, 0.3, 4.0], abs=1e-7)
    P_N = 1.5 * speed
    assert hit["impulse"][0] == pytest.approx(P_N, abs=1e-7)
    assert hit["u_plus"] - hit["u_minus"] == pytest.approx(hit["impulse"], abs=1e-9)  # of 1 kg
    u = hit["u_plus"][1:]
    expected = -(np.array(MU) ** 2) * u * P_N / np.linalg.norm(np.array(MU) * u)
    assert hit["impulse"][1:] == pytest.approx(expected, abs=1e-7)


def test_the_numbers_of_an_ellipse_may_be_parameters():
    p = sl.Parameters(along=0.2, across=0.3)
    system = block((p.along, p.across), slope=np.pi / 6.0, downhill=np.radians(40.0))
    for across in (0.3, 0.5):
        sol = sl.solve(system, (0.0, 1.0), np.zeros(3), np.zeros(3), parameters={"across": across})
        direction, _ = steady_slide((0.2, across), np.pi / 6.0, np.radians(40.0))
        assert np.arctan2(sol.q[-1, 1], sol.q[-1, 0]) == pytest.approx(direction, abs=1e-9)
        assert sol.force_at(0.5)[2] == pytest.approx(
            -GRAVITY * np.cos(np.pi / 6.0) * across**2 * np.sin(direction)
            / np.hypot(0.2 * np.cos(direction), across * np.sin(direction)),
            rel=1e-9,
        )  # fmt: skip
    with pytest.raises(sl.ModelError, match="both coefficients of an ellipse must be positive"):
        sl.solve(system, (0.0, 1.0), np.zeros(3), np.zeros(3), parameters={"across": 0.0})


def test_an_ellipse_that_is_a_circle_is_coulombs_law():
    args = (0.0, 0.4), [0.0, 0.0, 0.0], [1.0, 0.6, 0.0]
    circle, ellipse = (sl.solve(block(mu), *args, tol=1e-10) for mu in (0.3, (0.3, 0.3)))
    assert ellipse.q[-1] == pytest.approx(circle.q[-1], abs=1e-9)
    assert ellipse.impulse_at(0.3) == pytest.approx(circle.impulse_at(0.3), abs=1e-8)


def test_a_file_keeps_forces_in_newtons(tmp_path):
    sol = sl.solve(block(), (0.0, 0.3), np.zeros(3), [2.0, 1.0, 0.0])
    sol.save(tmp_path / "slide.h5")
    loaded = sl.load(tmp_path / "slide.h5")
    assert np.array_equal(loaded.impulse, sol.impulse)
    assert loaded.force_at(0.1) == pytest.approx(sol.force_at(0.1), rel=1e-14)


# ---- rolling friction in the plane

RADIUS, MU_R = 0.5, 0.02


def disc(*, mu=0.4, mu_r=MU_R, slope=0.0, e=0.0):
    """Return a disc of 1 kg on a plane, q = (x, height of the centre, angle); mu_r [m]."""
    floor = sl.Contact(
        lambda q: q[1] - RADIUS, e=e, mu=mu, mu_r=mu_r, slip=lambda t, q, v: v[0] - RADIUS * v[2],
        roll=lambda t, q, v: v[2], name="floor",
    )  # fmt: skip
    weight = [GRAVITY * np.sin(slope), -GRAVITY * np.cos(slope), 0.0]
    return sl.System(M=[1.0, 1.0, 0.5 * RADIUS**2], f=weight, contacts=[floor])


def run(system, t, v0, scheme=None, h=1e-3):
    return sl.solve(system, (0.0, t), [0.0, RADIUS, 0.0], v0, scheme=scheme or sl.MoreauJean(), h=h)


@pytest.mark.parametrize("scheme", ROLLING, ids=named)
@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_a_rolling_disc_stops_at_the_distance_of_the_closed_form(scheme, way):
    distance = 3.0 * RADIUS / (4.0 * MU_R * GRAVITY)  # v0 = 1 m/s
    assert distance == pytest.approx(1.911315, abs=1e-6)
    sol = run(disc(), 4.5, [way, 0.0, way / RADIUS], scheme)
    assert way * sol.q[-1, 0] == pytest.approx(distance, abs=2e-6)
    assert np.abs(sol.v[-1]).max() < 1e-12
    assert sol.q[:, 0] == pytest.approx(RADIUS * sol.q[:, 2], abs=1e-9)  # it never slides
    assert sol.energy.defect[-1] == pytest.approx(0.0, abs=1e-9)


def test_the_stopping_distance_is_of_first_order_at_least():
    distance = 3.0 * RADIUS / (4.0 * MU_R * GRAVITY)
    errors = [abs(run(disc(), 4.5, [1.0, 0.0, 2.0], h=h).q[-1, 0] - distance) for h in (0.037, 0.0173, 0.0079, 0.0041)]
    assert max(errors) < 3e-4 and errors[-1] < 5e-6


@pytest.mark.parametrize("scheme", ROLLING, ids=named)
def test_below_the_rolling_limit_a_disc_rests_on_a_slope(scheme):
    limit = np.arctan(MU_R / RADIUS)
    rests, rolls = (run(disc(slope=share * limit), 3.0, np.zeros(3), scheme) for share in (0.999, 1.001))
    assert np.abs(rests.q - rests.q[0]).max() < 1e-14
    assert rolls.q[-1, 0] > 1e-5


def test_a_disc_accelerates_down_a_slope_less_what_rolling_takes():
    slope = np.arctan(0.2)
    sol = run(disc(slope=slope), 1.0, np.zeros(3))
    acceleration = GRAVITY * (np.sin(slope) - np.cos(slope) * MU_R / RADIUS) / 1.5
    assert sol.q[-1, 0] == pytest.approx(0.5 * acceleration, rel=1e-9)


def test_a_disc_that_is_thrown_slides_then_rolls_then_rests():
    sol = run(disc(), 3.0, [1.0, 0.0, 0.0])
    t_rolls = 1.0 / (GRAVITY * (3.0 * 0.4 - 2.0 * MU_R / RADIUS))
    v_rolls = 1.0 - 0.4 * GRAVITY * t_rolls
    end = 0.5 * (1.0 + v_rolls) * t_rolls + 3.0 * v_rolls**2 * RADIUS / (4.0 * MU_R * GRAVITY)
    assert end == pytest.approx(0.864642, abs=1e-6)
    assert sol.q[-1, 0] == pytest.approx(end, abs=2e-6)


def test_with_little_friction_a_disc_slides_without_turning():
    sol = run(disc(mu=0.03), 1.0, [1.0, 0.0, 0.0])  # mu r < mu_r
    assert sol.v[-1] == pytest.approx([1.0 - 0.03 * GRAVITY, 0.0, 0.0], abs=1e-10)


def test_moments_of_rolling_are_reported_in_newton_metre_seconds():
    sol = run(disc(), 1.0, [1.0, 0.0, 2.0])
    assert sol.rows == (("floor", "N"), ("floor", "T"), ("floor", "R"))
    assert sol.impulse[100] == pytest.approx(
        np.array([GRAVITY, -MU_R * GRAVITY / (1.5 * RADIUS), -MU_R * GRAVITY]) * 1e-3, rel=1e-9
    )
    assert sol.force_at(0.5)[2] == pytest.approx(-MU_R * GRAVITY, rel=1e-9)


def test_a_disc_that_lands_feels_rolling_friction_in_the_impact():
    sol = sl.solve(
        disc(e=0.5, mu_r=0.1), (0.0, 0.6), [0.0, RADIUS + 1.0, 0.0], [0.0, 0.0, 30.0], scheme=sl.MoreauJean(), h=1e-4
    )
    hit = sol.events[sol.events["kind"] == "impact"][0]
    P_N, P_T, P_R = hit["impulse"]
    assert P_N == pytest.approx(1.5 * np.sqrt(2.0 * GRAVITY), abs=2e-3)
    assert P_T == pytest.approx(0.4 * P_N, rel=1e-9)  # it spins forwards: friction pushes ahead
    assert P_R == pytest.approx(-0.1 * P_N, rel=1e-9)
    turned = hit["u_plus"][2] - hit["u_minus"][2]
    assert turned == pytest.approx((P_R - RADIUS * P_T) / (0.5 * RADIUS**2), rel=1e-9)


@pytest.mark.parametrize("scheme", [*LOCATED, *STEPPING[3:], sl.SchatzmanPaoli()], ids=named)
def test_schemes_that_do_not_know_rolling_refuse_it_by_name(scheme):
    with pytest.raises(sl.SettingError, match=rf"^{named(scheme)} cannot do .*use MoreauJean"):
        sl.solve(disc(), (0.0, 1.0), [0.0, RADIUS, 0.0], [1.0, 0.0, 2.0], **given(scheme))


def test_the_default_scheme_says_what_to_take_for_rolling():
    with pytest.raises(sl.SettingError, match=r"HpTDG cannot do coulomb_rolling .*MoreauJean"):
        sl.solve(disc(), (0.0, 1.0), [0.0, RADIUS, 0.0], [1.0, 0.0, 2.0])


# ---- what is no law


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ({"mu": (0.2, 0.5, 0.1)}, "a pair"),
        ({"mu": ()}, "a pair"),
        ({"mu": (0.2, 0.0)}, "both coefficients of an ellipse must be positive"),
        ({"mu": (0.2, 0.5), "slip": None}, "no slip"),
        ({"mu": (0.2, float("nan"))}, "finite number"),
        ({"mu": 0.2, "mu_r": 0.1}, "no roll"),
        ({"mu": 0.2, "roll": lambda t, q, v: v[2]}, "positive mu_r"),
        ({"mu": 0.0, "mu_r": 0.1, "roll": lambda t, q, v: v[2]}, "positive mu"),
        ({"mu": (0.2, 0.3), "mu_r": 0.1, "roll": lambda t, q, v: v[2]}, "one positive mu"),
        ({"mu": 0.2, "mu_r": 0.1, "roll": lambda t, q, v: v[2], "impact": "poisson"}, "only Newton's law"),
        ({"mu": 0.2, "mu_r": 0.1, "roll": lambda t, q, v: v[2], "e_t": 0.5}, "only Newton's law"),
    ],
)
def test_numbers_that_make_no_law_of_friction_are_refused(law, words):
    law = {"slip": lambda t, q, v: [v[0], v[2]], **law}
    with pytest.raises(sl.ModelError, match=words):
        sl.Contact(lambda q: q[1], **law)


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ({"mu": (0.2, 0.5), "slip": lambda t, q, v: v[0]}, "1 rows of slip, 0 of rolling and 2 numbers mu"),
        ({"mu": 0.2, "mu_r": 0.1, "slip": lambda t, q, v: v[:2], "roll": lambda t, q, v: v[2]}, "which is no law"),
        ({"mu": 0.2, "mu_r": 0.1, "slip": lambda t, q, v: v[:2], "roll": lambda t, q, v: v[1:]}, "rolls in space"),
    ],
)
def test_rows_that_make_no_law_of_friction_are_refused(law, words):
    system = sl.System(M=np.ones(3), f=np.zeros(3), contacts=[sl.Contact(lambda q: q[1], **law)])
    with pytest.raises(sl.ModelError, match=words):
        sl.solve(system, (0.0, 1.0), np.zeros(3), np.zeros(3), scheme=sl.MoreauJean(), h=0.1)


# ---- contact problems


def rolling_problem(n=3):
    rng = np.random.default_rng(8)
    W = rng.standard_normal((4 * n, 3 * n))
    return ContactProblem.from_global(np.eye(4 * n), W, rng.standard_normal(4 * n), mu=[(0.3, 0.1)] * n, kinds=[5] * n)


@pytest.mark.parametrize("solver", [ADMM(), ColouredNSGS(), Lemke()], ids=named)
def test_solvers_that_do_not_know_a_law_refuse_it_by_name(solver):
    with pytest.raises(sl.SettingError, match=rf"{solver.name} solves .* but contact 0 is coulomb_rolling"):
        solver.solve(rolling_problem())


def test_what_knows_circular_cones_only_refuses_other_laws(tmp_path):
    problem = rolling_problem()
    result = NSGS().solve(problem)
    assert result.converged
    with pytest.raises(sl.SettingError, match="minimum_norm knows no coulomb_rolling"):
        minimum_norm(problem, result)
    with pytest.raises(sl.ModelError, match="an FCLib file cannot hold"):
        write_fclib(problem, tmp_path / "rolling.hdf5")


def test_a_larger_crowd_of_rolling_discs_is_solved_as_by_each_solver():
    problem = rolling_problem(12)
    found = [solver.solve(problem) for solver in (NSGS(), sl.contact.SemismoothNewton(), sl.contact.Portfolio())]
    assert all(result.converged and problem.residual(result.P) <= 1e-11 for result in found)
    for result in found[1:]:
        assert result.u == pytest.approx(found[0].u, abs=1e-9)


def test_a_cart_on_two_wheels_is_slowed_by_its_whole_weight_however_the_wheels_share_it():
    """m v' (1 + 2 J / (m r^2)) = -mu_r m g / r: the wheels never slide, and the front one carries more."""
    mass, inertia, radius, height, base, mu_r = 3.0, 0.02, 0.1, 0.3, 0.4, 0.005

    def wheel(k, x):
        return sl.Contact(
            lambda q: q[1] + x * q[2], mu=0.6, slip=lambda t, q, v: v[0] + height * v[2] - radius * v[3 + k], mu_r=mu_r,
            roll=lambda t, q, v: v[3 + k], name=f"wheel {k}",
        )  # fmt: skip

    system = sl.System(
        M=[mass, mass, 0.2, inertia, inertia], f=[0.0, -mass * GRAVITY, 0.0, 0.0, 0.0],
        contacts=[wheel(0, -0.5 * base), wheel(1, 0.5 * base)],
    )  # fmt: skip
    v0, slows = 1.5, mu_r * GRAVITY / (radius * (1.0 + 2.0 * inertia / (mass * radius**2)))
    sol = sl.solve(
        system, (0.0, 1.2 * v0 / slows), np.zeros(5), [v0, 0.0, 0.0, v0 / radius, v0 / radius], scheme=sl.MoreauJean(),
        h=1e-3,
    )  # fmt: skip
    assert sol.q[-1, 0] == pytest.approx(v0**2 / (2.0 * slows), abs=1e-5)
    assert np.abs(sol.v[-1]).max() < 1e-10
    middle = sol.impulse[len(sol.t) // 4].reshape(2, 3)
    assert middle[:, 0].sum() == pytest.approx(mass * GRAVITY * 1e-3, rel=1e-9)
    assert middle[:, 2] == pytest.approx(-mu_r * middle[:, 0], rel=1e-9)
    share = middle[1, 0] - middle[0, 0]
    assert 0.5 * base * share == pytest.approx(-height * middle[:, 1].sum(), rel=1e-9)  # moments about the centre


def test_a_disc_on_a_belt_that_starts_is_taken_along_only_where_rolling_friction_holds_it():
    """Belt acceleration a: below mu_r g / r the disc does not turn and gets a, above it rolls back on the belt."""
    for pull, held in ((0.3, True), (0.6, False)):  # mu_r g / r = 0.3924 m/s^2
        belt = sl.Contact(
            lambda q: q[1] - RADIUS, mu=0.4, slip=lambda t, q, v, pull=pull: v[0] - RADIUS * v[2] - pull * t, mu_r=MU_R,
            roll=lambda t, q, v: v[2], name="belt",
        )  # fmt: skip
        system = sl.System(M=[1.0, 1.0, 0.5 * RADIUS**2], f=[0.0, -GRAVITY, 0.0], contacts=[belt])
        sol = sl.solve(system, (0.0, 1.0), [0.0, RADIUS, 0.0], np.zeros(3), scheme=sl.MoreauJean(), h=1e-3)
        # rolling: T = m x'', J w' = -r T + mu_r N, x'' - r w' = a
        expected = pull if held else (pull + 2.0 * MU_R * GRAVITY / RADIUS) / 3.0
        assert sol.v[-1, 0] == pytest.approx(expected, rel=1e-3)  # the belt as it is half a step before
        assert (abs(sol.v[-1, 2]) < 1e-9) == held


def test_contact_problems_of_a_run_are_in_the_units_of_the_user():
    slide = sl.solve(block(), (0.0, 0.1), np.zeros(3), [2.0, 1.0, 0.0], scheme=sl.MoreauJean(), h=1e-2)
    roll = run(disc(), 0.1, [1.0, 0.0, 2.0], h=1e-2)
    masses = (
        np.eye(3),
        np.array([[1.0, 0.0, 0.0], [0.0, 3.0, -4.0], [0.0, -4.0, 8.0]]),
    )  # D of the disc: 1 / m + r^2 / J
    for sol, name, D in zip((slide, roll), ("coulomb_elliptic", "coulomb_rolling"), masses, strict=True):
        problem = sol.contact_problem(4)
        assert name in repr(problem)
        assert problem.D() == pytest.approx(D, abs=1e-12)
        assert NSGS().solve(problem).P == pytest.approx(sol.impulse[4], abs=1e-12)


def test_a_file_keeps_both_numbers_of_an_ellipse_and_that_of_rolling(tmp_path):
    rough = functools.partial(sl.Contact, lambda q: q[2], e=0.5)
    contacts = [
        rough(name="plain", mu=0.3, slip=lambda t, q, v: [v[0], v[1]]),
        rough(name="ellipse", mu=(0.2, 0.4), slip=lambda t, q, v: [v[0], v[1]]),
    ]
    system = sl.System(M=np.ones(3), f=np.array([0.0, 0.0, -9.81]), contacts=contacts)
    sol = sl.solve(system, (0.0, 0.1), [0.0, 0.0, 1.0], [1.0, 0.5, 0.0], scheme=sl.MoreauJean(), h=0.01)
    sol.save(tmp_path / "first.h5")
    once = sl.load(tmp_path / "first.h5")
    once.save(tmp_path / "second.h5")
    for loaded in (once, sl.load(tmp_path / "second.h5")):
        assert [contact.mu for contact in loaded.system.contacts] == [0.3, (0.2, 0.4)]
        assert [contact.mu_r for contact in loaded.system.contacts] == [None, None]


@pytest.mark.parametrize("belt", [0.0, 0.1])
@pytest.mark.parametrize("start", [([0.3, 0.0], [0.0, 0.0]), ([0.3, 0.0], [0.1, 0.0]), ([0.0, 0.05], [0.0, 0.0])])
def test_a_slip_without_friction_turns_as_if_nobody_watched_it(belt, start):
    def end(**friction):
        floor = sl.Contact(lambda q: q[1], e=0.3, name="floor", **friction)
        system = sl.System(M=[0.5, 0.5], f=lambda t, q, v: [-3.0 * q[0] + 0.2 * np.cos(t), -5.0], contacts=[floor])
        solution = sl.solve(system, (0.0, 8.0), *start, tol=1e-9)
        return np.concatenate([solution.q[-1], solution.v[-1]])

    watched = end(mu=0.0, slip=lambda t, q, v: [v[0] - belt])
    assert np.allclose(watched, end(), rtol=0.0, atol=1e-9)


def test_a_slip_whose_gradient_vanishes_at_the_start_is_a_slip():
    """Dominoes that stand side by side: the tip of one slides along the next one only once they lean."""

    def run(first):
        gaps = [lambda q, i=i: 0.4 * np.sin(q[i + 1] - q[i]) + 0.15 * np.cos(q[i + 1]) for i in range(2)]
        slips = [lambda t, q, v, i=i: 0.4 * v[i] * np.sin(q[i + 1] - q[i]) for i in range(2)]
        tips = [sl.Contact(g, mu=0.3, slip=s) for g, s in zip(gaps, slips, strict=True)]
        dominoes = sl.System(M=[0.05] * 3, f=lambda t, q, v: 2.0 * np.sin(q), contacts=tips)
        return sl.solve(dominoes, (0.0, 0.5), [first, 0.0, 0.0], [1.0, 0.0, 0.0], tol=1e-9)

    sol = run(0.0)
    assert sol.contact("contact 1").dissipation.sum() > 0.0 and sol.v[-1, 2] > 1.0
    assert np.allclose(sol.q[-1], run(1e-9).q[-1], rtol=0.0, atol=1e-7)
