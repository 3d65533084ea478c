"""ColouredNSGS: the solutions of other solvers, the same bits for any number of threads, colours without conflict."""

from __future__ import annotations

import _thread
import itertools
import threading

import numpy as np
import pytest
import scipy.sparse

import saltus as sl
from saltus.compile.lanes import dot_bodies, push_body
from saltus.compile.seam import exposed, interpreted
from saltus.contact import NSGS, ContactProblem, Portfolio
from saltus.contact.coloured import ColouredNSGS, step_spatial
from saltus.contact.colouring import schedule
from saltus.contact.packed import packed
from saltus.errors import ModelError, SettingError
from saltus.laws import COULOMB_SPATIAL, frictional_local
from saltus.status import Status

KINDS = ("coulomb_spatial", "coulomb_planar", "unilateral", "bilateral")
ROWS = {"coulomb_spatial": 3, "coulomb_planar": 2, "unilateral": 1, "bilateral": 1}


def world(seed, *, contacts=60, bodies=25, kinds=("coulomb_spatial",), mu=0.3, full=False, hub=0.0, nv=6):
    """Return a random problem between bodies of nv velocities, every fourth contact with something fixed.

    full: inertias are matrices; hub: part of the contacts that touch body 0
    """
    rng = np.random.default_rng(seed)
    chosen = [kinds[i] for i in rng.integers(0, len(kinds), contacts)]
    W = np.zeros((nv * bodies, sum(ROWS[kind] for kind in chosen)))
    column = 0
    for k, kind in enumerate(chosen):
        pair = rng.permutation(bodies)[: 1 if k % 4 == 0 else 2]
        if rng.uniform() < hub:
            pair[0] = 0
        for body in set(pair):
            W[nv * body : nv * body + nv, column : column + ROWS[kind]] = rng.standard_normal((nv, ROWS[kind]))
        column += ROWS[kind]
    M = np.diag(rng.uniform(0.5, 2.0, nv * bodies))
    if full:
        roots = rng.standard_normal((bodies, nv, nv))
        M = scipy.sparse.block_diag(roots @ roots.transpose(0, 2, 1) + np.eye(nv)).toarray()
    f = M @ rng.standard_normal(nv * bodies)
    return ContactProblem.from_global(M, W, f, mu=mu * rng.uniform(0.0, 1.0, contacts), kinds=chosen)


WORLDS = {
    "spatial": lambda: world(1),
    "inertia matrices": lambda: world(2, full=True),
    "all laws": lambda: world(3, kinds=KINDS),
    "planar bodies": lambda: world(4, kinds=KINDS[1:], nv=3),
    "without friction": lambda: world(5, kinds=("unilateral", "bilateral")),
    "a hub": lambda: world(6, contacts=300, bodies=200, hub=0.6),
    "large": lambda: world(7, contacts=400, bodies=300),
    "D": lambda: ContactProblem(world(8).D(), world(8).b, mu=0.3, dim=3),
    "sparse D": lambda: ContactProblem(scipy.sparse.csc_array(world(9, contacts=90, bodies=90).D()),
                                       world(9, contacts=90, bodies=90).b, mu=0.2, dim=3),
}  # fmt: skip


# ---- solutions


@pytest.mark.parametrize("name", WORLDS)
def test_velocities_are_those_of_other_solvers(name):
    problem = WORLDS[name]()
    result, other = ColouredNSGS(tol=1e-11).solve(problem), Portfolio(tol=1e-11).solve(problem)
    assert result.converged, result.message
    assert other.converged, other.message
    assert result.residual <= 1e-11
    assert result.residual == problem.residual(result.P)
    assert np.allclose(result.u, other.u, atol=1e-7 * np.abs(problem.b).max())


def test_one_contact_of_each_law_is_solved_as_its_law_says():
    for kind, P, u in (
        ("coulomb_spatial", [4.0, -0.8, 0.0], [0.0, 0.8, 0.0]),
        ("coulomb_planar", [4.0, -0.8], [0.0, 0.8]),
        ("unilateral", [4.0], [0.0]),
        ("bilateral", [4.0], [0.0]),
    ):
        n = len(P)
        free = np.array([-2.0, 1.2, 0.0])[:n]
        result = ColouredNSGS(tol=1e-13).solve(ContactProblem(0.5 * np.eye(n), free, mu=0.2, kinds=[kind]))
        assert result.converged
        assert result.P == pytest.approx(P, abs=1e-12)
        assert result.u == pytest.approx(u, abs=1e-12)


def test_the_order_of_the_contacts_does_not_matter_to_the_velocities():
    rng, (M, W, f, w) = np.random.default_rng(1), world(10, contacts=80, bodies=60).given
    mu = rng.uniform(0.0, 0.5, 80)
    first = ColouredNSGS(tol=1e-11).solve(ContactProblem.from_global(M, W, f, w, mu=mu, dim=3))
    order = rng.permutation(80)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    second = ColouredNSGS(tol=1e-11).solve(ContactProblem.from_global(M, W[:, rows], f, w, mu=mu[order], dim=3))
    assert first.converged
    assert second.converged
    assert np.allclose(first.u[rows], second.u, atol=1e-8)


def test_a_warm_start_from_the_solution_needs_one_or_two_sweeps():
    problem = WORLDS["large"]()
    first = ColouredNSGS(tol=1e-9).solve(problem)
    again = ColouredNSGS(tol=1e-8).solve(problem, first.P)
    assert first.iterations > 10
    assert again.converged
    assert again.iterations <= 2
    assert np.allclose(again.P, first.P, atol=1e-6)


def test_impulses_lie_in_their_cones_even_if_the_sweeps_are_cut_short():
    problem = WORLDS["large"]()
    result = ColouredNSGS(max_sweeps=3).solve(problem, np.random.default_rng(0).standard_normal(problem.n))
    P = result.P.reshape(-1, 3)
    assert not result.converged
    assert np.all(P[:, 0] >= 0.0)
    assert np.all(np.hypot(P[:, 1], P[:, 2]) <= problem.mu * P[:, 0] * (1.0 + 4e-16))


def test_extrapolation_saves_sweeps_and_none_of_it_gives_plain_sweeps():
    # a column of blocks: the weight travels down one contact per sweep
    n = 40
    W = np.zeros((n, n))
    W[np.arange(n), np.arange(n)], W[np.arange(n - 1), np.arange(1, n)] = 1.0, -1.0
    problem = ContactProblem.from_global(np.eye(n), W, -np.ones(n))
    plain, ahead = (ColouredNSGS(tol=1e-10, momentum=m).solve(problem) for m in (0.0, 1.0))
    assert plain.converged
    assert ahead.converged
    assert ahead.iterations < plain.iterations / 3
    assert ahead.P == pytest.approx(np.arange(n, 0, -1.0), rel=1e-6)  # each contact carries what is above it


def test_every_contact_of_a_hundred_columns_carries_the_blocks_above_it():
    # the example of the documentation
    height, columns = 20, 100
    column = scipy.sparse.eye_array(height) - scipy.sparse.eye_array(height, k=1)
    W = scipy.sparse.block_diag([column] * columns, format="csc")
    M = scipy.sparse.eye_array(height * columns)
    result = ColouredNSGS(tol=1e-10).solve(ContactProblem.from_global(M, W, -np.ones(height * columns)))
    assert result.converged
    assert result.P[0] == pytest.approx(20.0, abs=1e-6)
    assert np.allclose(result.P.reshape(columns, height), np.arange(height, 0, -1.0), atol=1e-6)


# ---- threads


@pytest.mark.parametrize("name", ["all laws", "a hub", "large", "sparse D", "planar bodies"])
def test_results_have_the_same_bits_for_any_number_of_threads(name):
    problem = WORLDS[name]()
    one, *others = (ColouredNSGS(threads=threads, max_sweeps=60).solve(problem) for threads in (1, 2, 3))
    for other in others:
        assert other.P.tobytes() == one.P.tobytes()
        assert other.u.tobytes() == one.u.tobytes()
        assert (other.iterations, other.residual) == (one.iterations, one.residual)


def test_solutions_at_the_same_time_in_several_threads_do_not_disturb_each_other():
    problems = [WORLDS["large"](), WORLDS["a hub"]()]
    alone = [ColouredNSGS(threads=1).solve(problem).P for problem in problems]
    found: list = [None] * 4

    def work(k):
        found[k] = ColouredNSGS(threads=2).solve(problems[k % 2]).P

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert all(np.array_equal(found[k], alone[k % 2]) for k in range(4))


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_the_sweeps_and_leaves_no_thread_behind(threads):
    problem = unsolvable()
    ColouredNSGS(threads=threads, max_sweeps=1).solve(problem)
    before = threading.active_count()
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):  # the sweeps alone would take for ever
        ColouredNSGS(threads=threads, max_sweeps=10**12, rounding=0.0, tol=1e-15).solve(problem)
    timer.join()
    assert threading.active_count() == before


# ---- colours


@pytest.mark.parametrize("name", WORLDS)
def test_contacts_of_one_colour_share_no_velocity(name):
    problem = WORLDS[name]()
    made = packed(problem)
    kernel = problem.kernel
    rows = kernel.rows.reshape(-1, 4)
    touched = []
    for k in range(problem.mu.size):
        first, nr = kernel.blocks[3 * k + 1 : 3 * k + 3]
        parts = [kernel.W_col[rows[i, 0] : rows[i, 1]] for i in range(first, first + nr)]
        touched.append(set(np.concatenate(parts).tolist()))
    assert sorted(made.schedule.order) == list(range(problem.mu.size))
    if "D" in name:  # contacts are neighbours where D couples them
        D, first = problem.D(), kernel.blocks[1::3]
        coupled = np.add.reduceat(np.add.reduceat(np.abs(D), first, axis=0), first, axis=1) > 0.0
    else:
        coupled = np.array([[bool(a & b) for b in touched] for a in touched])
    starts = made.schedule.starts
    for begin, end in itertools.pairwise(starts):
        members = made.schedule.order[begin:end]
        assert coupled[np.ix_(members, members)].sum() == end - begin  # each with itself


def test_a_hub_with_hundreds_of_contacts_costs_few_colours_and_the_rest_is_done_in_turn():
    n = 500
    start = 2 * np.arange(n + 1)
    columns = np.stack([np.zeros(n, dtype=np.int64), 1 + np.arange(n)], axis=1).ravel()  # all touch velocity 0
    made = schedule((start, columns), (start, columns), n + 1)
    assert made.starts.tolist() == [0]
    others = np.stack([1 + 2 * np.arange(n), 2 + 2 * np.arange(n)], axis=1).ravel()  # nothing is shared
    assert schedule((start, others), (start, others), 2 * n + 1).starts.tolist() == [0, n]


def test_contacts_that_only_read_the_same_velocity_may_have_the_same_colour():
    n = 100
    reads = np.arange(0, 2 * n + 1, 2), np.stack([np.zeros(n, dtype=np.int64), 1 + np.arange(n)], axis=1).ravel()
    writes = np.arange(n + 1), 1 + np.arange(n)
    assert schedule(reads, writes, n + 1).starts.tolist() == [0, n]


# ---- the local step


def test_the_quick_local_step_finds_what_the_law_finds():
    rng, local = np.random.default_rng(3), exposed(frictional_local)
    quick, buffer = exposed(step_spatial), np.zeros(8)
    for _ in range(300):
        root = rng.standard_normal((3, 3))
        D, b, mu = root @ root.T + 0.5 * np.eye(3), rng.standard_normal(3), rng.uniform(0.0, 0.4)
        expected, P = np.zeros(3), np.abs(rng.standard_normal(3)) * (rng.uniform() < 0.7)
        assert local(COULOMB_SPATIAL, mu, D.ravel(), b, expected) == Status.OK
        problem = ContactProblem(D, b, mu=mu, dim=3)
        made = packed(problem)
        at = made.header[1]
        for _ in range(3):  # from anywhere, then from the solution
            u = D @ P + b
            assert quick(frictional_local, made.stream[at:], mu, P, *u, buffer) == Status.OK
            assert np.allclose(P, expected, rtol=1e-9, atol=1e-12)


def test_vector_products_are_those_of_their_plain_spelling():
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal(50), rng.standard_normal(30)
    assert dot_bodies(rows, 3, y, 4, 20) == pytest.approx(rows[3:9] @ y[4:10] + rows[9:15] @ y[20:26])
    expected = y.copy()
    expected[7:13] += 2.0 * rows[1:7] - 3.0 * rows[13:19] + 0.5 * rows[25:31]
    push_body(rows, 1, 2.0, -3.0, 0.5, y, 7)
    assert y == pytest.approx(expected)


# ---- failure


def unsolvable():
    """Return a body between two walls that close on it, and contacts that can be solved."""
    M, W, f, _ = world(11, contacts=40, bodies=20).given
    M, W, f = np.asarray(M), np.asarray(W), np.asarray(f)
    wall = np.zeros((W.shape[0], 2))
    wall[0] = 1.0, -1.0
    w = np.append(np.zeros(W.shape[1]), [-1.0, -1.0])
    kinds = ["coulomb_spatial"] * 40 + ["unilateral"] * 2
    return ContactProblem.from_global(M, np.concatenate([W, wall], axis=1), f, w, mu=0.2, kinds=kinds)


def test_what_is_not_solved_is_said_to_be_stalled_with_its_true_residual():
    problem = unsolvable()
    result = ColouredNSGS(max_sweeps=300).solve(problem)
    assert not result.converged
    assert result.status == Status.CONTACT_STALLED
    assert "did not reach its tolerance" in result.message
    assert result.residual == problem.residual(result.P)
    assert result.residual > 1e-3


def test_too_few_sweeps_are_not_called_a_solution():
    problem = WORLDS["large"]()
    result = ColouredNSGS(max_sweeps=4).solve(problem)
    assert not result.converged
    assert result.iterations == 4
    assert result.residual > 1e-8


def test_a_contact_without_mass_that_must_stop_is_not_solved():
    result = ColouredNSGS(max_sweeps=10).solve(ContactProblem([[0.0]], [-1.0]))
    assert not result.converged
    assert result.status == Status.CONTACT_UNSOLVABLE


def test_nothing_to_do_is_done_at_once():
    result = ColouredNSGS().solve(ContactProblem(np.zeros((0, 0)), []))
    assert result.converged
    free = ColouredNSGS().solve(ContactProblem(np.eye(3), [1.0, 2.0, 0.0], mu=0.5, dim=3))
    assert free.converged
    assert np.all(free.P == 0.0)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ColouredNSGS(tol=0.0), "tol = 0.0 must lie between 0 and 1"),
        (lambda: ColouredNSGS(max_sweeps=0), "max_sweeps = 0 must be at least 1"),
        (lambda: ColouredNSGS(threads=0), "threads = 0 must be 1 to 1024, or None"),
        (lambda: ColouredNSGS(relaxation=1.5), "relaxation = 1.5"),
        (lambda: ColouredNSGS(momentum=2.0), "momentum = 2.0"),
        (lambda: ColouredNSGS(rounding=-1.0), "rounding = -1.0"),
    ],
)
def test_wrong_settings_are_named_with_their_value(build, words):
    with pytest.raises(SettingError) as caught:
        build()
    assert words in str(caught.value)


def test_a_start_of_the_wrong_size_is_refused():
    problem = WORLDS["spatial"]()
    with pytest.raises(ModelError, match="P0 has shape"):
        ColouredNSGS().solve(problem, np.zeros(5))
    with pytest.raises(ModelError, match="not finite"):
        ColouredNSGS().solve(problem, np.full(problem.n, np.nan))


def test_a_scheme_refuses_it_and_says_what_to_take():
    with pytest.raises(SettingError, match="Portfolio"):
        sl.solve(sl.problems.slider_crank(), scheme=sl.MoreauJean(solver=ColouredNSGS()), h=1e-4)


def test_relaxed_and_interpreted_sweeps_reach_the_same_solution(monkeypatch):
    problem = world(12, contacts=6, bodies=4)
    expected = ColouredNSGS(tol=1e-10).solve(problem)
    relaxed = ColouredNSGS(tol=1e-10, relaxation=0.7).solve(problem)
    assert relaxed.converged
    assert np.allclose(relaxed.u, expected.u, atol=1e-8)
    monkeypatch.setattr("saltus.contact.coloured.ready", interpreted)
    plain = ColouredNSGS(tol=1e-10, threads=1).solve(problem)
    assert plain.converged
    assert np.allclose(plain.u, expected.u, atol=1e-8)


def test_a_sparse_D_is_solved_as_the_bodies_it_comes_from():
    problem = world(13, contacts=100, bodies=80)
    by_D = ContactProblem(scipy.sparse.csc_array(problem.D()), problem.b, mu=problem.mu, dim=3)
    first, second = ColouredNSGS(tol=1e-10).solve(problem), ColouredNSGS(tol=1e-10).solve(by_D)
    assert first.converged
    assert second.converged
    assert np.allclose(first.u, second.u, atol=1e-7)
    assert NSGS(tol=1e-8).solve(by_D, second.P).iterations <= 50
