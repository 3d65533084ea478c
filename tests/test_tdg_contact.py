"""Time-discontinuous Galerkin with contacts: orders on lasting contacts and joints, rest, impacts, balances."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import problems

FAMILIES = [sl.TDGMinus, sl.TDGPlus]
CLENSHAW_CURTIS = {1: 2, 2: 4, 3: 4, 4: 6, 5: 6}  # order by degree
LOBATTO = {3: 6, 4: 8}  # up to degree 2 the nodes are the same


def errors(problem: sl.Problem, scheme, n: int, t_end: float | None = None, force=None) -> np.ndarray:
    """Return the largest errors of q, v, and where known impulse and force, over four nodes that all grids share.

    Of the two stages at a node only one is the state itself: the first one of D-, the last one of D+.
    """
    end = problem.t_span[1] if t_end is None else t_end
    sol = sl.solve(problem, (0.0, end), scheme=scheme, h=end / n)
    nodes = np.arange(1, 5) * (len(sol.t) - 1) // 4
    t, exact = sol.t[nodes], problem.exact
    made = [sol.q[nodes] - exact.q(t), sol.v[nodes] - exact.v(t)]
    if exact.impulse is not None:
        made.append(sol.impulse_at(t) - exact.impulse(t))
    if force is not None:
        forces, wanted = sol.force_at if sol.rows else sol.joint_force_at, force(exact.q(t), exact.v(t))
        inside = forces(t, "+" if isinstance(scheme, sl.TDGMinus) else "-") - wanted
        made.append(np.concatenate([inside.ravel(), forces(t[-1]) - wanted[-1]]))
    return np.array([np.max(np.abs(error)) for error in made])


def slopes(table: np.ndarray, sizes) -> np.ndarray:
    """Return the orders between neighbouring grids, one row per pair."""
    return np.log(table[:-1] / table[1:]) / np.log(np.array(sizes[1:]) / np.array(sizes[:-1]))[:, None]


def orders(problem, scheme, sizes, **options) -> np.ndarray:
    """Return the orders of the two finest pairs, one row per pair, one column per quantity."""
    return slopes(np.array([errors(problem, scheme, n, **options) for n in sizes]), sizes)[-2:]


def kept(found: np.ndarray, order: float) -> bool:
    """Tell whether the finest pair, and both on average, show an order; single pairs scatter with cancellations."""
    return bool(np.all(found[-1] >= order - 0.3) and np.all(found.mean(axis=0) >= order - 0.3))


# ---- lasting contact on a curve


def pressing(mu: float):
    """Return the force of a circle of radius 1 on a mass of 1 under gravity 1, slipping forward."""

    def force(q, v):
        normal = np.sum(v * v, axis=-1) - q[..., 1]
        return np.stack([normal, -mu * normal], axis=-1) if mu > 0.0 else normal[..., None]

    return force


CIRCLES = {mu: problems.circle_slide(mu=mu, w0=1.2, t_end=1.5) for mu in (0.0, 0.2)}
STEPS = {1: (64, 128, 256), 2: (32, 64, 128), 3: (32, 64, 128), 4: (16, 32, 64), 5: (8, 16, 32)}


@pytest.mark.parametrize("mu", CIRCLES)
@pytest.mark.parametrize("projection", [True, False], ids=["projected", "free"])
@pytest.mark.parametrize("degree", CLENSHAW_CURTIS)
@pytest.mark.parametrize("family", FAMILIES)
def test_sliding_on_a_circle_keeps_the_order_in_motion_impulse_and_force(family, degree, projection, mu):
    scheme = family(degree, projection=projection)
    found = orders(CIRCLES[mu], scheme, STEPS[degree], force=pressing(mu))
    assert kept(found, CLENSHAW_CURTIS[degree])


@pytest.mark.parametrize("mu", CIRCLES)
@pytest.mark.parametrize("degree", LOBATTO)
@pytest.mark.parametrize("family", FAMILIES)
def test_lobatto_nodes_keep_twice_the_degree_on_a_circle(family, degree, mu):
    sizes = {3: (8, 16, 32), 4: (8, 12, 16)}[degree]
    found = orders(CIRCLES[mu], family(degree, "lobatto"), sizes, force=pressing(mu))
    assert kept(found, LOBATTO[degree])


@pytest.mark.parametrize("degree", CLENSHAW_CURTIS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_joint_keeps_the_order_in_motion_and_force(family, degree):
    def rod(q, v):
        return -(np.sum(v * v, axis=-1) - 9.81 * q[..., 1])[..., None]

    sizes = [2 * n for n in STEPS[degree]]
    found = orders(problems.rod_pendulum(), family(degree), sizes, force=rod)
    assert kept(found, CLENSHAW_CURTIS[degree])


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_hundred_thousand_steps_leave_no_drift(family, degree):
    for problem in (problems.circle_slide(t_end=2000.0), problems.rod_pendulum(t_end=1000.0)):
        sol = sl.solve(problem, scheme=family(degree), h=problem.t_span[1] / 1e5, save=1000)
        radial = np.sum(sol.q * sol.v, axis=1) / np.max(np.linalg.norm(sol.v, axis=1))
        assert np.max(sol.violation) <= 1e-13  # of every step, not only of the kept ones
        assert np.max(np.abs(np.hypot(*sol.q.T) - 1.0)) <= 1e-13
        assert np.max(np.abs(radial)) <= 1e-13


def test_without_projection_the_drift_is_the_one_of_an_independent_prototype():
    problem = problems.circle_slide(phi0=1.0, w0=0.5, t_end=2.0)

    def drift(degree, n):
        sol = sl.solve(problem, scheme=sl.TDGMinus(degree, projection=False), h=2.0 / n)
        radial = np.sum(sol.q * sol.v, axis=1)
        return np.max(np.abs(np.hypot(*sol.q.T) - 1.0)), np.max(np.abs(radial))

    np.testing.assert_allclose(drift(1, 64), [1.8e-4, 4.2e-4], rtol=0.03)
    np.testing.assert_allclose(drift(3, 32)[0], 3.7e-8, rtol=0.03)
    assert np.log2(drift(2, 64)[0] / drift(2, 128)[0]) >= 3.85


# ---- release


@pytest.mark.parametrize("degree", CLENSHAW_CURTIS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_release_inside_of_an_interval_keeps_the_order(family, degree):
    sizes = {1: (64, 128, 256), 2: (32, 64, 128), 3: (32, 64, 128), 4: (8, 16, 32), 5: (8, 16, 32)}[degree]
    problem = problems.slide_off()
    found = orders(problem, family(degree), sizes)
    assert kept(found, CLENSHAW_CURTIS[degree])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_release_is_an_event_at_its_own_time_and_no_force_is_left(family):
    problem = problems.slide_off()
    sol = sl.solve(problem, scheme=family(4), h=problem.t_span[1] / 64)
    (release,) = sol.events
    assert release["kind"] == "release"
    assert abs(release["t"] - 1.7646318866960504) <= 1e-10
    after = np.linspace(release["t"] + 1e-9, sol.t[-1], 20)
    np.testing.assert_array_equal(sol.force_at(after), 0.0)
    before = sol.t[sol.t < release["t"] - 1e-9]
    assert np.all(sol.force_at(before) > 0.0)
    assert np.all(sol.gaps()[sol.t > release["t"]] > 0.0)


# ---- friction


@pytest.mark.parametrize("degree", CLENSHAW_CURTIS)
@pytest.mark.parametrize("family", FAMILIES)
def test_slip_reversals_keep_the_order(family, degree):
    sizes = {1: (512, 1024, 2048), 2: (128, 256, 512), 3: (128, 256, 512), 4: (64, 128, 256), 5: (32, 64, 128)}[degree]
    found = orders(problems.coulomb_oscillator(), family(degree), sizes, t_end=14.0)
    assert kept(found, CLENSHAW_CURTIS[degree])


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_mass_on_a_spring_sticks_where_it_must(family, degree):
    problem = problems.coulomb_oscillator()
    sol = sl.solve(problem, scheme=family(degree), h=18.0 / 512)
    accuracy = {1: 1e-6, 2: 1e-10, 3: 1e-9, 4: 1e-12}[degree]
    (stick,) = sol.events  # it slips before, forward or back
    assert stick["kind"] == "stick"
    assert abs(stick["t"] - 5.0 * np.pi) <= (1e-3 if degree == 1 else 1e-7)
    assert abs(sol.q[-1, 0] - 0.13) <= accuracy
    rest = sol.t > 5.0 * np.pi + 18.0 / 512
    np.testing.assert_array_equal(sol.v[rest], 0.0)
    np.testing.assert_allclose(sol.force_at(sol.t[rest])[:, 1], sol.q[-1, 0], rtol=1e-13)  # the spring


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_slip_that_turns_in_space_keeps_the_order(family, degree):
    sizes = {1: (64, 128, 256), 2: (16, 32, 64), 3: (16, 32, 64), 4: (4, 8, 16)}[degree]
    found = orders(problems.incline_3d(), family(degree), sizes, t_end=0.25)
    assert kept(found, CLENSHAW_CURTIS[degree])


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_block_on_the_incline_stops_where_it_must_with_the_order_of_the_slip(family, degree):
    problem, sizes = problems.incline_3d(), np.array([14, 20, 28, 40] if degree == 4 else [67, 101, 151, 227])
    runs = [sl.solve(problem, scheme=family(degree), h=1.5 / n) for n in sizes]
    for sol in runs:
        np.testing.assert_array_equal(sol.v[-1], 0.0)
        np.testing.assert_allclose(sol.impulse_at(1.5), problem.exact.impulse(1.5), rtol=0.0, atol=1e-12)
    lost = [np.max(np.abs(sol.q[-1] - problem.exact.q(1.5))) for sol in runs]
    # the place of the stop in its interval scatters the errors: a fit over all grids
    assert -np.polyfit(np.log(sizes), np.log(lost), 1)[0] >= CLENSHAW_CURTIS[degree] - 0.3


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_block_stops_wherever_in_an_interval_that_happens(family, degree):
    problem = problems.incline_3d()
    for n in range(24, 48):
        sol = sl.solve(problem, scheme=family(degree), h=1.5 / n)
        assert np.all(sol.v[-1] == 0.0)
        assert np.max(np.abs(sol.q[-1] - problem.exact.q(1.5))) <= 0.01


# ---- the ball: accumulation of impacts and rest


def ball(e: float, h: float, steps: int, scheme) -> sl.Solution:
    """Drop a ball from 1 m under gravity 2 m/s^2; whole steps only."""
    return sl.solve(problems.zeno_ball(e=e, t_end=h * steps), scheme=scheme, h=h)


@pytest.mark.parametrize(("family", "degrees"), [(sl.TDGMinus, (1, 2, 3)), (sl.TDGPlus, (1, 3))])
def test_impacts_on_a_fixed_grid_are_of_order_one_whatever_the_degree(family, degrees):
    for degree in degrees:
        study = sl.study.convergence(
            problems.zeno_ball(), family(degree), h=0.008, levels=4, grids=6, quantities=("q", "v"), where="grid",
            progress=False,
        )  # fmt: skip
        for quantity in ("q", "v"):
            assert 0.75 <= study.order(family(degree), quantity, "L1") <= 1.25


@pytest.mark.parametrize("impact", ["rest", "previous", "left"])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_impulse_of_the_ball_is_its_change_of_momentum_at_any_time(family, degree, impact):
    sol = ball(0.5, 0.0117, 340, family(degree, impact=impact))
    times = np.random.default_rng(4).uniform(0.0, sol.t[-1], 300)
    for t in (times, sol.t[1:]):
        for side in ("+", "-"):
            momentum = sol(t, side).v[:, 0] + 2.0 * t
            np.testing.assert_allclose(sol.impulse_at(t, side)[:, 0], momentum, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sol.impulse[:, 0], np.diff(sol.v[:, 0]) + 2.0 * np.diff(sol.t), rtol=0.0, atol=1e-13)


@pytest.mark.parametrize(("e", "at_rest"), [(0.5, 3.1), (0.9, 19.5), (0.0, 1.1)])
@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_ball_comes_to_rest_and_stays(family, degree, e, at_rest):
    sol = ball(e, 0.0117, int(at_rest / 0.0117) + 100, family(degree))
    after = sol.t > at_rest
    np.testing.assert_array_equal(sol.q[after], 0.0)
    np.testing.assert_array_equal(sol.v[after], 0.0)
    np.testing.assert_allclose(sol.force_at(sol.t[after]), 2.0, rtol=1e-15)
    assert np.all(sol.events["t"] <= at_rest)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_left_velocity_chatters_for_ever_and_the_previous_one_settles(family, degree):
    h, e = 0.0117, 0.5
    chatter = ball(e, h, 340, family(degree, impact="left"))
    # falling by h g from v to v - h g and back: v = e (h g - v), so v = h g e / (1 + e)
    np.testing.assert_allclose(chatter.v[-20:], 2.0 * h * e / (1.0 + e), rtol=1e-6)
    np.testing.assert_allclose(np.diff(chatter.q[-20:, 0]), -(h**2) / 3.0, rtol=1e-6)
    settled = ball(e, h, 340, family(degree, impact="previous"))
    np.testing.assert_array_equal(settled.q[-20:], 0.0)
    np.testing.assert_array_equal(settled.v[-20:], 0.0)


# ---- dense output


@pytest.mark.parametrize("degree", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_velocities_have_both_limits_at_an_impact(family, degree):
    sol = sl.solve(problems.impact_oscillator(), scheme=family(degree), h=0.0231)
    impacts = sol.events[sol.events["kind"] == "impact"]
    assert len(impacts) == 4
    for impact in impacts:
        t, small = impact["t"], 1e-9
        before, after = sol(t, "-").v[0], sol(t).v[0]
        np.testing.assert_allclose([before, after], [impact["u_minus"][0], impact["u_plus"][0]], rtol=1e-14)
        np.testing.assert_allclose(after, -0.8 * before, rtol=1e-13)
        np.testing.assert_allclose([sol(t - small).v[0], sol(t + small).v[0]], [before, after], rtol=0.0, atol=1e-8)
        jump = sol.impulse_at(t) - sol.impulse_at(t, "-")
        np.testing.assert_allclose(jump, impact["impulse"][0], rtol=1e-12)


@pytest.mark.parametrize("degree", CLENSHAW_CURTIS)
@pytest.mark.parametrize("family", FAMILIES)
def test_impulses_and_forces_of_a_rest_are_known_between_the_nodes(family, degree):
    rest = problems.rest_phase(load="exponential")
    times = np.linspace(0.0, 1.0, 997)[1:-1] * (1.0 - 1e-4)
    sizes = {1: (32, 64, 128), 2: (16, 32, 64), 3: (16, 32, 64), 4: (8, 16, 32), 5: (4, 8, 16)}[degree]
    table = []
    for n in sizes:
        sol = sl.solve(rest, scheme=family(degree), h=1.0 / n)
        np.testing.assert_array_equal(sol.q, 0.0)
        table.append(
            [
                np.max(np.abs(sol.impulse_at(sol.t) - rest.exact.impulse(sol.t))),
                np.max(np.abs(sol.impulse_at(times) - rest.exact.impulse(times))),
                np.max(np.abs(sol.force_at(times)[:, 0] - 10.0 * np.exp(2.0 * times))),
            ]
        )
    at_nodes, between, force = slopes(np.array(table), sizes).min(axis=0)
    assert at_nodes >= CLENSHAW_CURTIS[degree] - 0.15
    assert between >= degree + 1 - 0.15
    assert force >= degree + 1 - 0.2


def test_a_load_that_grows_with_the_square_of_time_is_exact_from_degree_two_on():
    rest = problems.rest_phase()

    def lost(scheme, n):
        return abs(sl.solve(rest, scheme=scheme, h=1.0 / n).impulse_at(1.0)[0] - 10.0 / 3.0)

    for family in FAMILIES:
        # figures of an independent prototype
        np.testing.assert_allclose([lost(family(1), 8), lost(family(1), 16)], [2.6e-2, 6.5e-3], rtol=0.01)
        assert max(lost(family(degree), 8) for degree in (2, 3, 4)) <= 2e-15


# ---- balances


@pytest.mark.parametrize("problem", [CIRCLES[0.2], problems.coulomb_oscillator()], ids=lambda p: p.name)
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_energy_ledger_closes_with_the_order(family, degree, problem):
    coarse = {1: 32, 2: 16, 3: 16, 4: 8}[degree] * (8 if problem.name == "coulomb_oscillator" else 1)
    sizes = (coarse, 2 * coarse, 4 * coarse)
    runs = [sl.solve(problem, scheme=family(degree), h=problem.t_span[1] / n) for n in sizes]
    defect = np.array([[np.max(np.abs(sol.energy.defect))] for sol in runs])
    assert np.all(slopes(defect, sizes) >= CLENSHAW_CURTIS[degree] - 0.3)
    friction = runs[-1].energy.dissipation[-1].sum()
    assert friction > 0.01  # it is no ledger of zeros


def box(e: float = 0.4, mu: float = 0.3) -> tuple[sl.System, np.ndarray]:
    """A flat box on two feet for small angles, q = (x, y, angle): W is constant."""
    half, height, inertia = 1.0, 0.5, 0.4

    def foot(side: float) -> sl.Contact:
        gap = lambda q: q[1] + side * half * q[2]  # noqa: E731
        slip = lambda t, q, v: v[0] + height * v[2]  # noqa: E731
        return sl.Contact(gap, e=e, mu=mu, slip=slip, name="left" if side < 0.0 else "right")

    system = sl.System(M=np.diag([1.0, 1.0, inertia]), f=[0.0, -9.81, 0.0], contacts=[foot(-1.0), foot(1.0)])
    W = np.array([[0.0, 1.0, -half], [1.0, 0.0, height], [0.0, 1.0, half], [1.0, 0.0, height]])
    return system, W


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_box_balances_momentum_in_every_step_until_it_rests(family, degree):
    system, W = box()
    sol = sl.solve(system, (0.0, 3.0), [0.0, 0.3, 0.1], [2.0, 0.0, 0.5], scheme=family(degree), h=0.005)
    given = sol.impulse @ W + np.outer(np.diff(sol.t), [0.0, -9.81, 0.0])
    np.testing.assert_allclose(np.diff(sol.v, axis=0) * [1.0, 1.0, 0.4], given, rtol=0.0, atol=1e-12)
    normal, friction = sol.impulse[:, ::2], sol.impulse[:, 1::2]
    assert np.all(normal >= -1e-12)
    assert np.all(np.abs(friction) <= 0.3 * normal + 1e-12)
    np.testing.assert_allclose(sol.v[-1], 0.0, rtol=0.0, atol=1e-12)
    assert np.min(sol.gaps()) >= -0.02  # between impacts on a fixed grid it may penetrate by one step
    np.testing.assert_allclose(sol.gaps()[-1], 0.0, rtol=0.0, atol=1e-12)


# ---- larger systems


@pytest.fixture(scope="module")
def tumbling() -> sl.Solution:
    return sl.solve(problems.tumbling_box(), scheme=sl.MoreauJean(), h=1e-4)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_tumbling_box_runs_to_its_end_beside_moreau_jean(tumbling, family, degree):
    sol = sl.solve(problems.tumbling_box(), scheme=family(degree), h=1e-3)
    times = np.linspace(0.0, 1.0, 401)
    distance = np.abs(sol(times).q - tumbling(times).q)
    flight = times < tumbling.events["t"][0] - 2e-3
    assert np.max(distance[flight]) <= (5e-6 if degree == 1 else 1e-7)
    # a few per cent of its size on average: Moreau-Jean itself moves by that much from h = 1e-3 to 1e-4
    assert np.max(distance[:, :3].mean(axis=0)) <= 0.01
    np.testing.assert_allclose(np.linalg.norm(sol.q[:, 3:], axis=1), 1.0, rtol=1e-13)
    assert np.max(sol.violation) <= 5e-3


@pytest.fixture(scope="module")
def linkage() -> sl.Solution:
    return sl.solve(problems.four_bar(t_end=0.05), scheme=sl.MoreauJean(), h=2e-6, t_eval=np.linspace(0.0, 0.05, 201))


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_four_bar_linkage_approaches_moreau_jean(linkage, family, degree):
    problem, times = problems.four_bar(t_end=0.05), linkage.t
    first = linkage.events["t"][0]
    means = []
    for h in (1e-4, 2e-5):
        sol = sl.solve(problem, scheme=family(degree), h=h)
        distance = np.abs(sol(times).q - linkage.q)
        if degree >= 2:  # what is left is the error of the other scheme
            assert np.max(distance[times < first - h]) <= 1e-10
        else:
            assert np.max(distance[times < first - h]) <= 2e-7 * (h / 1e-4) ** 2
        means.append(distance.mean())
        assert np.max(sol.violation) <= 1e-5  # of the clearance: impacts are found a step late
    assert means[0] <= 1e-5 and means[1] <= 0.6 * means[0]
