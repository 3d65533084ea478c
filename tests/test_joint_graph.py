"""Joints eliminated along their graph, against the dense elimination with pivots."""

import dataclasses

import numpy as np
import pytest

import saltus as sl
from family_models import LENGTH, chain, link_mass, pin, point, weight
from saltus.build.families import FamilyBuilder
from saltus.build.model import compile_model
from saltus.compile.types import LAYOUTS
from saltus.family import straight
from saltus.problems import four_bar, rod_pendulum
from saltus.reaction.joint_graph import joint_pattern
from test_redundant_joints import double_pendulum, swing


def with_graph(system, t, q0, v0):
    """Let the joints of a system that is no family be eliminated along their graph as well."""
    model = compile_model(system, t, np.asarray(q0, float), np.asarray(v0, float))
    layout, profile = model.layout, model.profile
    nr, nj = int(layout.nr), int(layout.nj)
    touched = []
    for r in range(nr - nj, nr):
        begin, end = (int(layout[layout.W_ptr + k]) for k in (r, r + 1))
        columns = layout[layout.W_col + begin : layout.W_col + end]
        touched.append(tuple(set(profile.component[profile.position()[columns]].tolist())))
    tables = joint_pattern(touched)
    made = LAYOUTS(np.concatenate([layout, *tables]))
    starts = len(layout) + np.cumsum([0, *(len(table) for table in tables)])
    made.joint_order, made.joint_ptr, made.joint_col = starts[:3]
    made.nl = len(tables[2])
    changed = dataclasses.replace(model, units=model.units._replace(layout=made))
    object.__setattr__(system, "_compiled", (system._compiled[0], changed))
    return system


def end(system, q0, v0, T, **options):
    run = sl.solve(system, (0.0, T), q0, v0, **({"scheme": sl.MoreauJean(), "h": 1e-3} | options))
    return np.concatenate([run.q[-1], run.v[-1], run.impulse[-1] if run.impulse.size else []])


def dense_and_along_graph(make, q0, v0, T, tolerance=1e-10, **options):
    one = end(make(), q0, v0, T, **options)
    other = end(with_graph(make(), 0.0, q0, v0), q0, v0, T, **options)
    assert np.max(np.abs(one - other)) <= tolerance * np.max(np.abs(one))


@pytest.mark.parametrize("make", [four_bar, rod_pendulum])
@pytest.mark.parametrize("projection", [True, False])
def test_problems_with_joints_do_not_depend_on_the_elimination(make, projection):
    problem = make()
    T = 0.2 * (problem.t_span[1] - problem.t_span[0])

    def system():
        return dataclasses.replace(problem.system)

    dense_and_along_graph(
        system, problem.q0, problem.v0, T, h=T / 300, scheme=sl.MoreauJean(projection=projection), tolerance=1e-9
    )


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
@pytest.mark.parametrize("make", [four_bar, rod_pendulum])
def test_schemes_that_locate_events_do_not_depend_on_the_elimination(make, scheme):
    problem = make()
    T = 0.2 * (problem.t_span[1] - problem.t_span[0])
    systems = [dataclasses.replace(problem.system) for _ in range(2)]
    with_graph(systems[1], 0.0, problem.q0, problem.v0)
    one, other = (sl.solve(s, (0.0, T), problem.q0, problem.v0, scheme=scheme, tol=1e-7) for s in systems)
    assert np.max(np.abs(one.q[-1] - other.q[-1])) <= 1e-10
    assert np.max(np.abs(one.v[-1] - other.v[-1])) <= 1e-9 * np.max(np.abs(one.v))


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
@pytest.mark.parametrize("extra", [0, 1, 3])
def test_forces_of_held_and_redundant_joints_are_those_of_a_full_matrix(extra, scheme):
    def held(made):
        contact = sl.Contact(lambda q: q[1] - LENGTH + 0.02 + 0.1 * q[0], name="slope", e=0.0)
        return dataclasses.replace(made, contacts=[contact])

    system, q0, v0 = four_links(extra)
    runs = [sl.solve(held(s), (0.0, 0.4), q0, v0, scheme=scheme, tol=1e-8) for s in (system, straight(system))]
    one, other = runs
    assert len(one.events) and one.contact("slope").share > 0.05  # the slope is touched, and held for a while
    assert np.max(np.abs(one.q[-1] - other.q[-1])) <= 1e-7
    times = np.linspace(0.01, 0.39, 7)
    forces = [np.hstack([run.force_at(times), run.joint_force_at(times)]) for run in runs]
    assert np.max(np.abs(forces[0] - forces[1])) <= 1e-5 * np.max(np.abs(forces[1]))


@pytest.mark.parametrize("mechanism", [double_pendulum, swing])
@pytest.mark.parametrize("redundant", [False, True])
def test_redundant_rows_change_nothing_along_the_graph(mechanism, redundant):
    given = mechanism()
    joints = [*given.joints, *(given.redundant if redundant else [])]
    dense_and_along_graph(
        lambda: sl.System(M=given.M, f=given.f, joints=joints), given.q0, np.zeros(len(given.q0)), 0.3, tolerance=1e-9
    )


def four_links(extra=0, **options):
    """A closed loop: a platform on two parallel cranks, and `extra` more of them, which are redundant."""
    n = 3 + extra
    links = sl.BodyFamily("link", 3, 3, link_mass, weight, p=[[0.1, 8e-5, 9.81]] * n)
    half, up = 0.5 * LENGTH, 0.5 * np.pi
    places = [0.0, 0.3, *np.linspace(0.1, 0.2, extra)]
    q0 = [0.15, LENGTH, 0.0]
    grounds, tops = [], []
    for x in places:
        q0 += [x, half, up]
        grounds.append([x, 0.0, -half, 0.0])
        tops.append([x - 0.15, 0.0, half, 0.0])
    cranks = np.arange(1, n)
    joints = [
        sl.JointFamily("foot", pin, [[-1, k] for k in cranks], p=grounds),
        sl.JointFamily("top", pin, [[0, k] for k in cranks], p=tops),
    ]
    v0 = [-0.2, 0.0, 0.0]
    for _ in places:
        v0 += [-0.1, 0.0, 0.2 / LENGTH]
    return sl.System(bodies=[links], joints=joints, **options), np.array(q0), np.array(v0)


@pytest.mark.parametrize("extra", [0, 1, 3])
def test_closed_loops_agree_with_the_system_written_out(extra):
    system, q0, v0 = four_links(extra)
    FamilyBuilder(system, 0.0, q0, v0, (), {}).build()
    one, other = (end(s, q0, v0, 0.3) for s in (system, straight(system)))
    assert np.max(np.abs(one - other)) <= 1e-9 * np.max(np.abs(other))


def test_redundant_families_move_like_those_that_are_not():
    (few, q0, v0), (many, q1, v1) = four_links(0), four_links(2)
    a, b = end(few, q0, v0, 0.05, h=1e-4), end(many, q1, v1, 0.05, h=1e-4)
    assert np.isfinite(b).all()
    assert b[2] == pytest.approx(0.0, abs=1e-8)  # the platform stays level
    assert a[2] == pytest.approx(0.0, abs=1e-8)


def test_joints_that_contradict_each_other_are_refused_as_ever():
    def moving(t, q, p):
        return (q[0][0] - p[0] * t,)

    body = sl.BodyFamily("body", 3, 3, link_mass, p=[[1.0, 1.0, 0.0]])
    joints = [sl.JointFamily(f"drive {k}", moving, [[0]], p=[[float(k)]]) for k in (1, 2)]
    with pytest.raises(sl.ModelError, match="contradict each other"):
        end(sl.System(bodies=[body], joints=joints), np.zeros(3), np.array([1.0, 0.0, 0.0]), 0.1)


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_contacts_of_a_long_chain_push_through_its_joints(mu):
    def gap(t, q, p):
        return point(q[0], p[0], 0.0)[1] + p[1]

    def slip(t, q, v, p):
        return v[0][0] - p[0] * np.sin(q[0][2]) * v[0][2]

    n = 8
    floor = sl.ContactFamily("floor", gap, np.arange(n), slip=slip, p=[[0.05, 0.03]] * n, e=0.2, mu=mu)
    system, q0, v0 = chain(n, contacts=[floor])
    # links that lie flat share their friction as they like: it is the motion that is determined
    one, other = (end(s, q0, v0, 0.15)[: 6 * n] for s in (system, straight(system)))
    assert np.max(np.abs(one - other)) <= 1e-9 * np.max(np.abs(other))


def test_a_chain_has_few_entries_and_a_tree_no_fill():
    sizes = [len(joint_pattern([(k, k + 1) for k in range(n)])[2]) for n in (50, 100)]
    assert sizes == [49, 99]
    star = [(0, k) for k in range(1, 9)]  # all on one body: they all meet
    assert len(joint_pattern(star)[2]) == 8 * 7 // 2
    tree = [(k, (k - 1) // 2) for k in range(1, 64)]
    assert len(joint_pattern(tree)[2]) <= 2 * len(tree)


def test_factors_solve_what_numpy_solves():
    """The joint impulses of a random tree with loops hold it as a dense solution of the same equations does."""
    rng = np.random.default_rng(5)
    n = 12
    bodies = sl.BodyFamily("b", 3, 3, link_mass, weight, p=1.0 + rng.random((n, 3)))
    q0 = rng.standard_normal(3 * n)
    rows, pairs = [], [[-1, 0], *([int(rng.integers(0, k)), k] for k in range(1, n)), [3, n - 1]]
    for a, b in pairs:
        x = rng.standard_normal(2)
        here = point(q0[3 * b : 3 * b + 3], *x)
        pose = np.zeros(3) if a < 0 else q0[3 * a : 3 * a + 3]
        c, s = np.cos(pose[2]), np.sin(pose[2])
        d = np.array(here) - pose[:2]
        rows.append([c * d[0] + s * d[1], -s * d[0] + c * d[1], *x])
    system = sl.System(bodies=[bodies], joints=[sl.JointFamily("pin", pin, pairs, p=rows)])
    one, other = (end(s, q0, np.zeros(3 * n), 0.02, h=1e-3) for s in (system, straight(system)))
    assert np.max(np.abs(one - other)) <= 1e-10 * np.max(np.abs(other))
