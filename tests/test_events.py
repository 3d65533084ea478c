"""Units of flight/, lasting/, tables/: polynomials, scanning, index sets, accumulations, as plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import saltus as sl
from saltus.build.model import compile_model
from saltus.compile.seam import interpreted
from saltus.compile.types import COUNTERS
from saltus.contact.direct import Direct
from saltus.flight import scan, zeno
from saltus.lasting import index_set
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import interval_sizes
from saltus.lasting.workspace import ACTING, LASTING
from saltus.schemes.plan import reaction_plan
from saltus.tables import polynomial
from saltus.tables.polynomial import NONE
from saltus.tables.tableau import lagrange, node_places

N = 8
C = node_places(N - 1, "lobatto")
SAMPLE_WEIGHTS = scan.with_factors(lagrange(C, np.linspace(0.0, 1.0, scan.SCAN.samples + 1)), C)


class Counting:
    """A record of which only the counters are written."""

    def __init__(self):
        self.counters = COUNTERS(np.zeros(COUNTERS.size, dtype=np.int64))


# ---- polynomials


def test_lagrange_weights_reproduce_polynomials_up_to_their_degree():
    rng = np.random.default_rng(1)
    weights = np.empty(N)
    for s in (*rng.uniform(-0.1, 1.1, 5), 0.0, C[3], 1.0):
        interpreted(polynomial.lagrange_weights)(C, s, weights)
        for degree in range(N):
            assert abs(weights @ C**degree - s**degree) <= 1e-13
        np.testing.assert_allclose(weights, lagrange(C, np.array([s]))[0], rtol=0.0, atol=1e-13)


def test_combine_adds_the_blocks_of_all_nodes():
    rng = np.random.default_rng(2)
    weights, values, out = rng.normal(size=N), rng.normal(size=(N, 3)), np.empty(3)
    interpreted(polynomial.combine)(weights, values.ravel(), out)
    np.testing.assert_allclose(out, weights @ values, rtol=1e-14)


# ---- scanning: a particle that moves as a given polynomial above the gap q[0]

HEIGHT = sl.System(1.0, 0.0, contacts=[sl.Contact(lambda q: q[0], name="floor")])
CROSSINGS = (
    sl.Event(lambda q: q[0], direction=-1, name="falling"),
    sl.Event(lambda t, q, v: v[0], direction=1, name="lowest"),
    sl.Event(lambda t, q: q[0] - 0.25, name="quarter"),
)


@pytest.fixture(scope="module")
def model():
    return compile_model(HEIGHT, 0.0, np.ones(1), np.zeros(1), CROSSINGS).interpreted()


def closing(model, motion: np.polynomial.Polynomial, slack: float = 0.0, index: int = INDEX.open) -> float:
    """Return the place at which a step of 1 s closes the gap."""
    found, work = np.zeros(4, dtype=np.int64), np.zeros(scan.scan_work(model.layout, N))
    return interpreted(scan.first_closing)(
        model, C, SAMPLE_WEIGHTS, 0.0, 1.0, motion(C), motion.deriv()(C), np.array([index]), slack, found, work
    )


def switch(model, motion, fired=(0.0, 0.0, 0.0), limit: float = 1.0) -> tuple[float, str]:
    found, work = np.zeros(4, dtype=np.int64), np.zeros(scan.scan_work(model.layout, N))
    place = interpreted(scan.first_switch)(
        model, C, SAMPLE_WEIGHTS, 0.0, 1.0, motion(C), motion.deriv()(C), np.array(fired), limit, found, work
    )
    return place, CROSSINGS[found[0]].name


def polynomial_with(roots, factor=1.0) -> np.polynomial.Polynomial:
    return factor * np.polynomial.Polynomial.fromroots(roots)


@pytest.mark.parametrize("roots", [[0.3, 2.0], [1e-9, 3.0], [0.731, 0.9], [0.5, 0.5 + 1e-3], [0.999999, 5.0]])
def test_the_first_closing_is_the_first_root(model, roots):
    assert abs(closing(model, polynomial_with(roots)) - min(roots)) <= 1e-13


def test_a_dip_between_two_samples_is_found(model):
    # below zero for 2e-7 of the step, far from any sample; rounding of 1e-16 over the slope of 2e-7 moves the root
    middle = (5.0 + 0.37) / scan.SCAN.samples
    assert abs(closing(model, polynomial_with([middle - 1e-7, middle + 1e-7])) - (middle - 1e-7)) <= 5e-10


def test_a_gap_that_only_comes_near_is_no_closing(model):
    middle = (5.0 + 0.37) / scan.SCAN.samples
    motion = polynomial_with([middle, middle]) + 1e-13
    assert closing(model, motion) == NONE
    assert closing(model, polynomial_with([-0.1, -0.2])) == NONE


def test_a_gap_that_begins_at_zero_and_opens_is_followed_to_its_next_closing(model):
    for landing in (0.6, 1e-3, 1e-6):
        motion = polynomial_with([0.0, landing], -1.0)
        assert abs(closing(model, motion) - landing) <= 1e-12 * landing + 1e-15
    assert closing(model, polynomial_with([0.0, 0.4])) == 0.0  # it never opens


def test_held_contacts_are_not_watched(model):
    motion = polynomial_with([0.3, 2.0])
    assert closing(model, motion, index=INDEX.slip) == closing(model, motion, index=INDEX.stick) == NONE


def test_a_depth_within_the_slack_is_not_yet_a_closing(model):
    middle = (5.0 + 0.37) / scan.SCAN.samples
    motion = polynomial_with([middle, middle]) - 1e-12
    assert closing(model, motion, slack=1e-11) == NONE
    assert closing(model, motion, slack=1e-13) < 1.0


def test_user_events_are_found_in_order_and_direction(model):
    # (s - 0.2)(s - 0.6): falls through 0.25 never, through 0 at 0.2; lowest at 0.4; rises through 0 at 0.6
    motion = polynomial_with([0.2, 0.6])
    place, name = switch(model, motion)
    assert name == "falling" and abs(place - 0.2) <= 1e-13
    place, name = switch(model, polynomial_with([0.2, 0.6]) + 0.1)
    assert name == "lowest" and abs(place - 0.4) <= 1e-13
    place, name = switch(model, np.polynomial.Polynomial([0.0, 1.0]))
    assert name == "quarter" and abs(place - 0.25) <= 1e-13
    assert switch(model, motion, limit=0.1)[0] == NONE


def test_an_event_that_has_just_happened_does_not_happen_again(model):
    # the step begins where the gap has just fallen through zero, up to rounding on its old side
    motion = np.polynomial.Polynomial([1e-17, -1.0, 3.0])
    place, name = switch(model, motion, fired=(1.0, 0.0, 0.0))
    assert name == "lowest" and abs(place - 1.0 / 6.0) <= 1e-12


# ---- index sets


def decided(system: sl.System, q, v, candidates=None, rolling: float = 1e-9):
    """Return index, accelerations and forces of a state, every contact a candidate."""
    q, v = np.array(q, float), np.array(v, float)
    compiled = compile_model(system, 0.0, q, v)
    layout, solver = compiled.layout, sl.NSGS(tol=1e-14, max_sweeps=100_000)
    plan = reaction_plan(layout, solver, drift=False)
    plain = type(plan.solver)(*(interpreted(unit) for unit in plan.solver[:5]), plan.solver.settings)
    reaction = plan._replace(solver=plain, react=interpreted(plan.react), drift=interpreted(plan.drift))
    nc = len(system.contacts)
    index, info = np.zeros(nc, dtype=np.int64), np.zeros(2)
    sizes = interval_sizes(layout, solver)
    work, acting = LASTING.plan(sizes).allocate().record, ACTING.plan(sizes).allocate().record
    candidate = np.ones(nc, dtype=np.int64) if candidates is None else np.array(candidates)
    status = interpreted(index_set.decide)(
        compiled.interpreted(), reaction, 0.0, q, v, candidate, rolling, index, acting, info, work,
        Counting(),
    )  # fmt: skip
    assert status == 0
    return index, acting.a, acting.r


def lcp_by_enumeration(D: np.ndarray, b: np.ndarray) -> np.ndarray:
    found = []
    for mask in itertools.product([False, True], repeat=len(b)):
        held = np.flatnonzero(mask)
        r = np.zeros(len(b))
        r[held] = np.linalg.solve(D[np.ix_(held, held)], -b[held])
        if np.all(r >= 0.0) and np.all(D @ r + b >= -1e-12):
            found.append(r)
    (r,) = found
    return r


@pytest.mark.parametrize("seed", range(5))
def test_the_index_set_of_coupled_contacts_solves_the_complementarity_problem(seed):
    rng = np.random.default_rng(seed)
    normals, force = rng.normal(size=(3, 4)), rng.normal(size=4)
    normals[2] = -0.8 * normals[0] + 0.3 * normals[2]  # an acute wedge
    contacts = [
        sl.Contact(lambda q, row=row: row[0] * q[0] + row[1] * q[1] + row[2] * q[2] + row[3] * q[3], name=f"c{k}")
        for k, row in enumerate(normals.tolist())
    ]
    index, a, r = decided(sl.System(1.0, force, contacts=contacts), np.zeros(4), np.zeros(4))
    expected = lcp_by_enumeration(normals @ normals.T, normals @ force)
    np.testing.assert_allclose(r, expected, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(a, force + normals.T @ expected, rtol=0.0, atol=1e-11)
    np.testing.assert_array_equal(index == INDEX.slip, expected > 0.0)  # without friction what is held slips


@pytest.mark.parametrize(
    ("pull", "speed", "state", "friction"),
    [
        (2.0, 0.0, INDEX.stick, -2.0),
        (4.0, 0.0, INDEX.slip, -3.0),
        (-4.0, 0.0, INDEX.slip, 3.0),
        (2.0, 1.0, INDEX.slip, -3.0),
    ],
)
def test_friction_sticks_inside_of_its_cone_and_opposes_the_slip(pull, speed, state, friction):
    table = sl.Contact(lambda q: q[1], mu=0.3, slip=lambda t, q, v: v[0], name="table")
    index, a, r = decided(sl.System(1.0, [pull, -10.0], contacts=[table]), [0.0, 0.0], [speed, 0.0])
    assert index[0] == state
    np.testing.assert_allclose(r, [10.0, friction], rtol=1e-12)
    np.testing.assert_allclose(a, [pull + friction, 0.0], rtol=0.0, atol=1e-12)


def test_a_pull_opens_a_closed_contact_and_who_is_no_candidate_stays_open():
    floor = [sl.Contact(lambda q: q[0], name="floor")]
    assert decided(sl.System(1.0, 1.0, contacts=floor), [0.0], [0.0])[0][0] == INDEX.open
    index, a, r = decided(sl.System(1.0, -1.0, contacts=floor), [0.0], [0.0], candidates=[0])
    assert index[0] == INDEX.open and a[0] == -1.0 and r[0] == 0.0


# ---- accumulations


def accumulated(e: float, a: float, slope: float, speed: float, eps: float = 1e-3):
    """Follow the bounces of a particle of unit mass on a floor from a launch speed; return what is known then."""
    system = sl.System(1.0, a, contacts=[sl.Contact(lambda q: q[0], e=e, name="floor")])
    compiled = compile_model(system, 0.0, np.zeros(1), np.zeros(1))
    layout, solver = compiled.layout, Direct()
    plan = reaction_plan(layout, solver, drift=False)
    plain = type(plan.solver)(*(interpreted(unit) for unit in plan.solver[:5]), plan.solver.settings)
    reaction = plan._replace(solver=plain, react=interpreted(plan.react), drift=interpreted(plan.drift))
    sizes = interval_sizes(layout, solver)
    bouncing, room = zeno.BOUNCING.plan(sizes).allocate().record, LASTING.plan(sizes).allocate().record
    room.lu[:], room.W[:] = 1.0, 1.0  # w and zeta are zero
    bouncing.member[:], bouncing.v[:], bouncing.u_0[:] = 1, speed, speed
    bouncing.a[:], bouncing.slope[:], bouncing.rate_0[:], bouncing.jerk_0[:] = a, slope, a, slope
    bouncing.limits.eps, bouncing.limits.end_speed, bouncing.limits.longest = eps, 1e-15, 10.0
    status = interpreted(zeno.accumulate)(
        compiled.interpreted(), reaction, np.array([INDEX.open]), np.zeros(1), bouncing, room, Counting()
    )  # fmt: skip
    return status, bouncing.v, bouncing.moved, bouncing.P, bouncing.summary


@pytest.mark.parametrize("e", [0.2, 0.5, 0.9])
def test_an_accumulation_is_the_sum_of_the_geometric_series(e):
    status, v, moved, P, summary = accumulated(e, -2.0, 0.0, 1e-4)
    assert status == zeno.BOUNCE.closed
    # flights of 2 s/g with s falling by e; what is left of the series when s has fallen to 1e-15
    duration, left = 1e-4 / (1.0 - e), 1e-15 / (1.0 - e)
    assert abs(summary.duration - duration) <= left
    assert abs(v[0]) <= 1e-15 and abs(moved[0]) <= 1e-17
    # the impulses stop the launch and carry the weight
    assert abs(P[0] - (2.0 * duration - 1e-4)) <= 2.0 * left
    assert summary.count >= np.floor(np.log(1e-15 / 1e-4) / np.log(e))


def test_bounces_that_keep_their_height_are_no_accumulation():
    assert accumulated(0.5, 1.0, 0.0, 1e-4)[0] == zeno.BOUNCE.not_closed  # pulled off
    assert accumulated(0.999, -1e-9, 0.0, 1e-4)[0] == zeno.BOUNCE.not_closed  # too slow for the time that is left


def test_a_growing_force_shortens_the_accumulation_to_first_order():
    # x'' = -(1 + k t): to first order in k the flights are shorter by the mean force of each
    plain, pressed = accumulated(0.5, -1.0, 0.0, 1e-3)[4], accumulated(0.5, -1.0, -1.0, 1e-3)[4]
    assert 0.0 < plain.duration - pressed.duration < 1e-2 * plain.duration
