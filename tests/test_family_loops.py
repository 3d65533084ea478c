"""Families as loops over rows: the same bits as the system written out, and a start that does not know their number."""

import os
import subprocess
import sys

import numpy as np
import pytest

import saltus as sl
from family_models import LENGTH, chain, discs, link_mass, pin, point, weight
from saltus.build.families import FamilyBuilder
from saltus.build.model import compile_model
from saltus.compile import direct
from saltus.family import straight

SCHEMES = {
    "MoreauJean": {"scheme": sl.MoreauJean(), "h": 1e-3},
    "HpTDG": {"scheme": sl.HpTDG(), "tol": 1e-6},
    "EventDriven": {"scheme": sl.EventDriven(), "tol": 1e-6},
}


def built(system, q0, v0, events=()):
    """The model by loops: it raises where families would be written out."""
    return FamilyBuilder(system, 0.0, np.asarray(q0, float), np.asarray(v0, float), events, {}).build()


def agrees(system, q0, v0, T=0.15, scheme="MoreauJean", tolerance=1e-13, **options):
    built(system, q0, v0)
    ends, runs = [], []
    for one in (system, straight(system)):
        run = sl.solve(one, (0.0, T), q0, v0, **(SCHEMES[scheme] | options))
        runs.append(run)
        ends.append(np.concatenate([run.q[-1], run.v[-1]]))
    assert len(runs[0].events) == len(runs[1].events)
    scale = np.max(np.abs(ends[1]))
    assert np.max(np.abs(ends[0] - ends[1])) <= tolerance * scale
    return runs[0]


def corner(t, q, p):
    """Corner of a link over the floor: p = (x, y, height)."""
    return point(q[0], p[0], p[1])[1] - p[2]


def corner_slip(t, q, v, p):
    c, s = np.cos(q[0][2]), np.sin(q[0][2])
    return v[0][0] - (p[0] * s + p[1] * c) * v[0][2]


def floor_of(n, **options):
    rows = [[0.5 * LENGTH, 0.0, -0.15]] * n
    return sl.ContactFamily("floor", corner, np.arange(n), slip=corner_slip, p=rows, e=0.3, mu=0.2, **options)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_chain_has_the_bits_of_the_chain_written_out(scheme):
    agrees(*chain(4), scheme=scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_discs_with_friction_have_the_bits_of_the_discs_written_out(scheme):
    assert len(agrees(*discs(4), scheme=scheme).events) > 4


@pytest.mark.parametrize("scheme", SCHEMES)
def test_lists_and_families_stand_side_by_side(scheme):
    wall = sl.Contact(lambda q: 0.32 - q[6], e=0.5, name="wall")
    far = sl.Contact(lambda t, q: 0.4 + 0.01 * t - q[7], name="ceiling")
    system, q0, v0 = chain(
        3,
        contacts=[wall, floor_of(3), far],
        f=lambda t, q, v: [0.01 * np.sin(t), *([0.0] * 7), -1e-4 * v[8]],
        C=1e-3,
    )
    agrees(system, q0, v0, 0.25, scheme, tolerance=1e-11)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_ground_that_moves_is_seen(scheme):
    def driven(t, q, p):
        a, b = point(q[0], p[0], p[1]), point(q[1], p[2], p[3])
        return a[0] - b[0] + p[4] * (1.0 - np.cos(p[5] * t)), a[1] - b[1]

    links = sl.BodyFamily("link", 3, 3, link_mass, weight, p=[[0.1, 8e-5, 9.81]] * 2)
    joints = [
        sl.JointFamily("drive", driven, [[-1, 0]], p=[[0.0, 0.0, -0.05, 0.0, 0.02, 12.0]]),
        sl.JointFamily("pin", pin, [[0, 1]], p=[[0.05, 0.0, -0.05, 0.0]]),
    ]
    q0 = [0.05, 0.0, 0.0, 0.15, 0.0, 0.0]
    agrees(sl.System(bodies=[links], joints=joints), q0, np.zeros(6), 0.2, scheme, tolerance=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_kinks_of_every_row_are_held_and_located(scheme):
    def bilinear(t, q, v, p):
        stretch = q[1][0] - q[0][0] - p[2]
        pull = p[0] * stretch + p[1] * max(stretch, 0.0) + 0.3 * np.sign(v[1][0] - v[0][0])
        return (pull,), (-pull,)

    masses = sl.BodyFamily("mass", 1, 1, lambda q, p: (p[0],), p=[[1.0], [2.0], [1.5]])
    springs = sl.ForceFamily("spring", bilinear, [[-1, 0], [0, 1], [1, 2]], p=[[50.0, 200.0, 0.1]] * 3)
    system = sl.System(bodies=[masses], forces=[springs])
    agrees(system, [0.1, 0.3, 0.25], [0.2, -0.1, 0.4], 1.0, scheme, tolerance=1e-11)


def test_switching_functions_are_named_by_their_rows():
    springs = sl.ForceFamily("spring", lambda t, q, v, p: ((-p[0] * abs(q[0][0] - p[1]),),), [[0], [1]],
                             p=[[1.0, 0.1], [2.0, 0.2]])  # fmt: skip
    masses = sl.BodyFamily("mass", 1, 1, lambda q, p: (1.0,), names=["a", "b"])
    model = built(sl.System(bodies=[masses], forces=[springs]), [0.5, 0.7], [0.0, 0.0])
    assert [name.split(":")[0] for name in model.switch_names] == [
        "force of force 'spring.0'",
        "force of force 'spring.1'",
    ]
    assert "q[0][0]" in model.switch_names[0]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_parameters_in_rows_closures_and_laws_follow_the_run(scheme):
    P = sl.Parameters(g=9.81, k=[3.0, 5.0], e=0.4)
    links = sl.BodyFamily("ball", 1, 1, lambda q, p: (1.0,), lambda t, q, v, p: (-p[0] - P.k[1] * q[0],), p=[[P.g]] * 2)
    springs = sl.ForceFamily("spring", lambda t, q, v, p: ((-p[0] * q[0][0],),), [[0], [1]], p=[[P.k[0]], [2.0]])
    floor = sl.ContactFamily("floor", lambda t, q, p: q[0][0] - p[0], [[0], [1]], p=[[-0.5], [-0.4]], e=[P.e, 0.1])
    system = sl.System(bodies=[links], forces=[springs], contacts=[floor])
    q0, v0 = [0.2, 0.3], [0.0, 0.0]
    first = agrees(system, q0, v0, 1.0, scheme, tolerance=1e-12)
    changes = {"g": 3.7, "k": [1.0, 0.5], "e": 0.9}
    other = agrees(system, q0, v0, 1.0, scheme, tolerance=1e-12, parameters=changes)
    assert np.max(np.abs(first.q[-1] - other.q[-1])) > 1e-3
    again = sl.solve(system, (0.0, 1.0), q0, v0, **SCHEMES[scheme])
    assert np.array_equal(again.q[-1], first.q[-1])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_bodies_with_a_rate_of_their_own_are_retracted(scheme):
    """A disc whose direction is a unit vector (c, s) instead of an angle."""

    def rate(q, v, p):
        return v[0], v[1], -q[3] * v[2], q[2] * v[2]

    def retract(q, p):
        size = np.sqrt(q[2] * q[2] + q[3] * q[3])
        return q[0], q[1], q[2] / size, q[3] / size

    def gap(t, q, p):
        return q[0][1] + p[0] * q[0][3] - p[1]

    def slip(t, q, v, p):
        return v[0][0] - p[0] * q[0][3] * v[0][2]

    rods = sl.BodyFamily(
        "rod", 4, 3, lambda q, p: ((p[0], 0.0, 0.0), (0.0, p[0], 0.0), (0.0, 0.0, p[1])),
        lambda t, q, v, p: (0.0, -p[0] * 9.81, 0.0), rate, retract, p=[[1.0, 0.01]] * 2,
    )  # fmt: skip
    ends = [sl.ContactFamily(name, gap, [[0], [1]], slip=slip, p=[[x, -0.1]] * 2, e=0.5, mu=0.1)
            for name, x in (("left", -0.1), ("right", 0.1))]  # fmt: skip
    q0 = [0.0, 0.1, 1.0, 0.0, 1.0, 0.2, np.cos(0.3), np.sin(0.3)]
    system = sl.System(bodies=[rods], contacts=ends)
    agrees(system, q0, [0.1, 0.0, 3.0, 0.0, -0.5, 1.0], 0.3, scheme, tolerance=1e-11)


def test_events_of_the_user_beside_families():
    system, q0, v0 = chain(3)
    event = sl.Event(lambda t, q, v: q[7] + 0.05, terminal=True, name="low")
    runs = [sl.solve(one, (0.0, 1.0), q0, v0, scheme=sl.EventDriven(), tol=1e-6, events=[event])
            for one in (system, straight(system))]  # fmt: skip
    assert runs[0].t[-1] == pytest.approx(runs[1].t[-1], rel=1e-13)
    assert runs[0].t[-1] < 1.0


def test_a_function_that_cannot_be_traced_is_written_out_and_says_so():
    def wild(t, q, v, p):
        return ([float(np.asarray(q[0], dtype=float)[0]) * -p[0]],)

    masses = sl.BodyFamily("mass", 1, 1, lambda q, p: (1.0,), p=[[1.0]])
    system = sl.System(bodies=[masses], forces=[sl.ForceFamily("spring", wild, [[0]], p=[[4.0]])])
    with pytest.warns(sl.SlowFunctionWarning):
        run = sl.solve(system, (0.0, 0.5), [1.0], [0.0], scheme=sl.MoreauJean(), h=1e-3)
    assert run.q[-1, 0] == pytest.approx(np.cos(1.0), abs=1e-3)


def test_text_does_not_depend_on_the_number_of_rows():
    one, other = built(*discs(4)), built(*discs(30, columns=6))
    assert one.module == other.module
    assert built(*chain(3)).module == built(*chain(20)).module


def test_what_is_wrong_with_one_row_names_it():
    def heavy(q, p):
        return (p[0],)

    masses = sl.BodyFamily("mass", 1, 1, heavy, p=[[1.0]] * 5 + [[-1.0]] + [[1.0]] * 5)
    with pytest.raises(sl.ModelError, match=r"the mass of body 'mass.5' is -1"):
        built(sl.System(bodies=[masses]), np.zeros(11), np.zeros(11))
    masses = sl.BodyFamily("mass", 1, 1, heavy, p=[[1.0]] * 11)
    walls = sl.ContactFamily("wall", lambda t, q, p: np.sqrt(p[0] + q[0][0]), np.arange(11),
                             p=[[1.0]] * 7 + [[-1.0]] + [[1.0]] * 3)  # fmt: skip
    with pytest.raises(sl.FunctionError, match=r"gap of contact 'wall.7' is nan"):
        built(sl.System(bodies=[masses], contacts=[walls]), np.zeros(11), np.zeros(11))
    flat = sl.ContactFamily("wall", lambda t, q, p: p[0] + 0.0 * t, [[0]], p=[[1.0]])
    with pytest.raises(sl.ModelError, match=r"gap of contact 'wall' does not depend on q"):
        built(sl.System(bodies=[masses], contacts=[flat]), np.zeros(11), np.zeros(11))
    twice = sl.ContactFamily("wall", lambda t, q, p: q[0][0] - q[1][0] + 1.0, [[0, 1], [2, 2]])
    with pytest.raises(sl.ModelError, match=r"contact 'wall.1' names body 2 twice"):
        built(sl.System(bodies=[masses], contacts=[twice]), np.zeros(11), np.zeros(11))


def test_a_function_that_asks_for_the_type_of_its_arguments_is_found_out():
    def odd(t, q, p):
        return q[0][0] + (1.0 if type(q) is tuple and isinstance(q[0], np.ndarray) and q[0].dtype == float else 2.0)

    masses = sl.BodyFamily("mass", 1, 1, lambda q, p: (1.0,), p=[[1.0]])
    wall = sl.ContactFamily("wall", odd, [[0]])
    with pytest.raises(sl.FunctionError, match="gap of contact 'wall'"):
        sl.solve(sl.System(bodies=[masses], contacts=[wall]), (0.0, 0.1), [1.0], [0.0], scheme=sl.MoreauJean(), h=1e-2)


def cams():
    knots = np.linspace(0.0, 1.0, 9)
    lift = 0.1 * np.sin(6.0 * knots)

    def gap(t, q, p):
        return q[0][0] - np.interp((t * p[0] + p[1]) % 1.0, knots, lift)

    balls = sl.BodyFamily("ball", 1, 1, lambda q, p: (p[0],), lambda t, q, v, p: (-9.81 * p[0],), p=[[1.0]] * 2)
    contacts = sl.ContactFamily("cam", gap, [[0], [1]], p=[[1.0, 0.0], [1.3, 0.4]], e=0.1)
    return sl.System(bodies=[balls], contacts=[contacts]), [0.3, 0.25], [0.0, 0.0]


def pendulums():
    def mass(q, p):
        c = np.cos(q[0] - q[1]) * p[1]
        return (p[0] + 1.0, c), (c, 1.0)

    def force(t, q, v, p):
        s = np.sin(q[0] - q[1]) * p[1]
        return -np.sin(q[0]) - v[1] ** 2 * s, -np.sin(q[1]) + v[0] ** 2 * s

    both = sl.BodyFamily("pendulum", 2, 2, mass, force, p=[[1.0, 0.5], [1.5, 0.7]])
    stops = sl.ContactFamily("stop", lambda t, q, p: p[0] - q[0][1], [[0], [1]], p=[[0.6], [0.8]], e=0.7)
    return sl.System(bodies=[both], contacts=[stops], K=0.1), [0.5, 0.5, 0.3, 0.2], [0.1, 0.0, 0.4, 1.0]


def branching():
    def force(t, q, v, p):
        if p[0] > 0.5:
            return ((-5.0 * q[0][0],),)
        return ((-q[0][0] * p[1] ** 3,),)

    masses = sl.BodyFamily("mass", 1, 1, lambda q, p: (p[0],), p=[[1.0], [2.0]])
    forces = sl.ForceFamily("force", force, [[0], [1]], p=[[1.0, 2.0], [0.0, 2.0]])
    return sl.System(bodies=[masses], forces=[forces]), [0.3, 0.2], [0.5, -0.3]


def balls_of_poisson(**law):
    balls = sl.BodyFamily("ball", 2, 2, lambda q, p: (1.0, 1.0), lambda t, q, v, p: (0.0, -9.81), p=[[1.0]] * 2)
    floor = sl.ContactFamily("floor", lambda t, q, p: q[0][1] - p[0], [[0], [1]], slip=lambda t, q, v, p: v[0][0],
                             p=[[0.0], [-0.2]], e=0.7, mu=0.3, **law)  # fmt: skip
    return sl.System(bodies=[balls], contacts=[floor]), [0.0, 0.3, 0.0, 0.4], [1.0, 0.0, 2.0, 0.0]


def of_two_kinds():
    small = sl.BodyFamily("small", 1, 1, lambda q, p: (p[0],), p=[[1.0]] * 2)
    large = sl.BodyFamily("large", 2, 2, lambda q, p: ((2.0, 0.1), (0.1, 1.0)), lambda t, q, v, p: (-1.0, 0.0),
                          p=[[1.0]] * 2)  # fmt: skip
    rows = [[0, 2], [2, 0], [1, 3], [3, -1]]
    pairs = sl.ContactFamily("pair", lambda t, q, p: q[1][0] - q[0][0] + p[0], rows, p=[[0.5]] * 4, e=0.5)
    return sl.System(bodies=[small, large], contacts=[pairs]), [0, 0.1, 0.2, 0.3, 0.4, 0.5], [1, -1, 2, -2, 0.5, 0.3]


@pytest.mark.parametrize("scheme", ["MoreauJean", "EventDriven"])
@pytest.mark.parametrize(
    "make",
    [pendulums, branching, lambda: balls_of_poisson(impact="poisson"), lambda: balls_of_poisson(e_t=[0.2, 0.5]),
     of_two_kinds],
    ids=["masses of the state", "a choice by the row", "poisson", "tangential restitution", "two kinds of bodies"],
)  # fmt: skip
def test_what_a_family_may_be_agrees_with_the_system_written_out(make, scheme):
    agrees(*make(), 0.6, scheme, tolerance=1e-13)


def test_tables_of_every_row_have_their_own_cells():
    agrees(*cams(), 0.6, "MoreauJean")
    agrees(*cams(), 0.4, "EventDriven")


def test_a_row_that_fails_during_a_run_is_named():
    def hollow(t, q, p):
        return np.sqrt(p[0] - t) + q[0][0]

    masses = sl.BodyFamily("mass", 1, 1, lambda q, p: (1.0,), p=[[1.0]] * 9)
    walls = sl.ContactFamily("wall", hollow, np.arange(9), p=[[5.0]] * 5 + [[0.055]] + [[5.0]] * 3)
    with pytest.raises((sl.RunError, sl.FunctionError), match=r"wall\.5"):
        sl.solve(sl.System(bodies=[masses], contacts=[walls]), (0.0, 0.2), np.ones(9), np.zeros(9),
                 scheme=sl.MoreauJean(), h=1e-2)  # fmt: skip


def test_gaps_that_may_do_anything_are_proven_as_those_written_out(monkeypatch):
    system, q0, v0 = discs(4)
    model = built(system, q0, v0)
    other = compile_model(straight(system), 0.0, q0, v0)
    assert int(model.layout.tape_size) == int(other.layout.tape_size) > 0
    sizes = []
    for rows in (3, 6):  # a tape knows which coordinates a gap depends on: it grows as the contacts do
        many, q0, v0 = discs(10 * rows, columns=10)
        sizes.append(int(built(many, q0, v0).layout.tape_size) / len(many.contacts))
    assert sizes[1] < 1.1 * sizes[0]
    monkeypatch.setattr("saltus.build.families.MOST_SLOPES", 100)
    assert int(built(many, q0, v0).layout.tape_size) == 0  # so many are sampled


def test_a_thin_collision_between_two_looks_is_found():
    """A fast small disc passes a slot of another one: what both roads find is the same."""
    balls = sl.BodyFamily("ball", 2, 2, lambda q, p: (p[0], p[0]), p=[[1.0], [1.0]])

    def apart(t, q, p):
        x, y = q[1][0] - q[0][0], q[1][1] - q[0][1]
        return np.sqrt(x * x + y * y) - p[0]

    pair = sl.ContactFamily("pair", apart, [[0, 1]], p=[[2e-3]], e=1.0)
    system = sl.System(bodies=[balls], contacts=[pair])
    q0, v0 = [-1.0, 1.9e-3, 0.0, 0.0], [10.0, 0.0, 0.0, 0.0]
    for scheme in ("HpTDG", "EventDriven"):
        run = agrees(system, q0, v0, 0.3, scheme, tolerance=1e-10)
        assert np.sum(run.events["kind"] == "impact") == 1


PLAIN = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
import saltus as sl
from family_models import chain
system, q0, v0 = chain(2)
run = sl.solve(system, (0.0, 0.02), q0, v0, scheme=sl.MoreauJean(), h=1e-3)
print(run.q[-1].tobytes().hex())
"""


def test_interpreted_loops_give_the_bits_of_compiled_ones():
    tests = os.path.dirname(__file__)
    said = []
    for change in ({}, {"SALTUS_KERNELS": "none"}):
        environment = os.environ | change
        done = subprocess.run(  # noqa: S603, our own text
            [sys.executable, "-c", PLAIN.format(tests=tests)],
            capture_output=True,
            encoding="utf-8",
            env=environment,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.strip())
    assert said[0] == said[1]


def test_a_scheme_on_velocity_level_compiles_no_curvature_and_another_one_gets_it(monkeypatch):
    compiled = []
    real = direct._compiled
    monkeypatch.setattr(direct, "_compiled", lambda text, given: compiled.append(text) or real(text, given))

    def own_gap(t, q, p):  # nobody else has compiled this kind
        return np.sqrt((q[0][0] - 7.25) ** 2 + (q[0][1] + 1.75) ** 2) - p[0]

    def made():
        body = sl.BodyFamily("own", 3, 3, link_mass, weight, p=[[0.3, 0.02, 9.81]])
        return sl.System(bodies=[body], contacts=[sl.ContactFamily("well", own_gap, [[0]], p=[[1.0]], e=0.5)])

    system, q0, v0 = made(), np.array([7.25, 0.25, 0.0]), np.zeros(3)
    sl.solve(system, (0.0, 0.5), q0, v0, scheme=sl.MoreauJean(), h=1e-3)
    assert any("def gap" in text for text in compiled)
    assert not any("def curvature" in text and "LOOP" in text for text in compiled)
    units, out = system._compiled[1].units, np.zeros(1)
    units.curvature(0.0, q0.copy(), v0.copy(), units.par, out)
    assert np.isnan(out[0])  # whoever asks all the same learns that it is not there
    one, other = (sl.solve(s, (0.0, 0.5), q0, v0, tol=1e-8) for s in (system, made()))
    assert any("def curvature" in text and "LOOP" in text for text in compiled)
    assert np.array_equal(one.q[-1], other.q[-1])
    assert len(one.events)
