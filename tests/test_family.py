"""Families of bodies, forces, joints and contacts: what they mean, and what is refused at the door."""

import pickle

import numpy as np
import pytest

import saltus as sl
from family_models import chain, chain_by_hand, discs, discs_by_hand, link_mass, pair_gap, pin, weight
from saltus.family import straight

PARAMETERS = sl.Parameters(g=9.81, e=0.5)


def end(system, q0, v0, T=0.1, **options):
    options = {"scheme": sl.MoreauJean(), "h": 1e-3} | options
    sol = sl.solve(system, (0.0, T), q0, v0, **options)
    return np.concatenate([sol.q[-1], sol.v[-1]])


def test_a_chain_of_families_is_the_chain_written_by_hand():
    system, q0, v0 = chain(4)
    assert np.allclose(end(system, q0, v0), end(chain_by_hand(4), q0, v0), rtol=0.0, atol=1e-12)


def test_discs_of_families_are_the_discs_written_by_hand():
    system, q0, v0 = discs(4)
    assert np.allclose(end(system, q0, v0, 0.2), end(discs_by_hand(system), q0, v0, 0.2), rtol=0.0, atol=1e-11)


def test_contacts_and_joints_have_one_entry_per_row_and_the_names_of_the_rows():
    system, _, _ = discs(3)
    assert system.contact_names == ("floor.0", "floor.1", "floor.2", "pair.0", "pair.1")
    assert len(system.contact_parts) == 2
    assert chain(2)[0].joint_names == ("pin.0", "pin.1")
    assert system.laws()[:, 1].tolist() == [0.3] * 5


def test_replacing_a_field_keeps_the_families():
    import dataclasses

    system, q0, v0 = discs(3)
    other = dataclasses.replace(system, name="three discs")
    assert other.contact_parts == system.contact_parts
    assert np.array_equal(end(system, q0, v0), end(other, q0, v0))


def test_a_pickled_system_has_its_families():
    wall = sl.ContactFamily("pair", pair_gap, [[0, 1]], p=[[0.01, 0.01]])
    links = sl.BodyFamily("link", 3, 3, link_mass, weight, p=[[1.0, 1.0, 9.81]] * 2)
    system = sl.System(bodies=[links], contacts=[wall], joints=[sl.JointFamily("pin", pin, [[0, -1]], p=[[0.0] * 4])])
    again = pickle.loads(pickle.dumps(system))  # noqa: S301, our own
    assert again.contact_names == system.contact_names
    assert again.contacts[0].gap(0.0, np.arange(6.0)) == system.contacts[0].gap(0.0, np.arange(6.0))


def test_parameters_in_rows_and_laws_are_those_of_the_run():
    system, q0, v0 = chain(2, gravity=PARAMETERS.g)
    moon = end(system, q0, v0, parameters={"g": 1.62})
    other, _, _ = chain(2, gravity=1.62)
    assert np.allclose(moon, end(other, q0, v0), rtol=0.0, atol=1e-13)
    falling, q0, v0 = discs(2, e=PARAMETERS.e)
    assert falling.laws({"g": 1.0, "e": 0.25})[0, 0] == 0.25


def test_forces_between_bodies_and_of_the_whole_state_add_up():
    def spring(t, q, v, p):
        pull = [p[0] * (q[1][i] - q[0][i]) for i in range(3)]
        return pull, [-x for x in pull]

    springs = sl.ForceFamily("spring", spring, [[0, 1], [-1, 0]], p=[[3.0], [5.0]])
    bodies = sl.BodyFamily("mass", 3, 3, lambda q, p: np.eye(3) * p[0], p=[[1.0], [2.0]])
    system = sl.System(bodies=[bodies], forces=[springs], f=lambda t, q, v: -0.1 * v, C=0.2)
    stiffness = np.kron([[3.0 + 5.0, -3.0], [-3.0, 3.0]], np.eye(3))
    by_hand = sl.System(M=[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], f=lambda t, q, v: -0.1 * v, K=stiffness, C=0.2)
    q0, v0 = np.arange(6.0), np.ones(6)
    assert np.allclose(end(system, q0, v0), end(by_hand, q0, v0), rtol=1e-12, atol=0.0)


def test_straight_leaves_a_system_without_families_alone():
    system = sl.System(M=1.0, f=0.0)
    assert straight(system) is system


BODY = {"name": "b", "nq": 2, "nv": 2, "mass": lambda q, p: (p[0], p[0]), "p": [[1.0]]}


def one_body(**changes):
    return sl.BodyFamily(**(BODY | changes))


def contact(**changes):
    given = {"name": "c", "gap": lambda t, q, p: q[0][0], "bodies": [[0]]} | changes
    return sl.ContactFamily(**given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: one_body(name=""), "name of a body family must be text"),
        (lambda: one_body(nq=0), "nq of body family 'b' is 0"),
        (lambda: one_body(nv=2.5), "nv of body family 'b' is 2.5"),
        (lambda: one_body(nq=3), "has nq = 3 and nv = 2: they must agree"),
        (lambda: one_body(mass=1.0), r"mass of body family 'b' must be a function of \(q, p\)"),
        (lambda: one_body(force=lambda q: 0.0), r"takes 1 arguments: it must take \(t, q, v, p\)"),
        (lambda: one_body(p=[[1.0], [1.0, 2.0]]), "1 numbers in row 0 and 2 in row 1"),
        (lambda: one_body(p=[[np.nan]]), r"p\[0, 0\] of body family 'b' is nan"),
        (lambda: one_body(p=[["heavy"]]), r"p\[0, 0\] of body family 'b' is 'heavy'"),
        (lambda: one_body(p=None), "has neither p nor names"),
        (lambda: one_body(p=[]), "has no rows"),
        (lambda: one_body(names=["x", "y"]), "p of body family 'b' has 1 rows, but there are 2"),
        (lambda: one_body(p=[[1.0]] * 2, names=["x", "x"]), "two rows called 'x'"),
        (lambda: one_body(ground=[0.0]), "ground of body family 'b'"),
        (lambda: contact(bodies=[[0.5]]), "must be a table of whole numbers"),
        (lambda: contact(bodies=[[0], [0, 1]]), "must be a table of whole numbers"),
        (lambda: contact(e=[0.1, 0.2]), "e of contact family 'c' has 2 numbers for 1 rows"),
        (lambda: contact(e=np.inf), "e of contact family 'c' is inf"),
        (lambda: contact(impact="elastic"), "impact of contact family 'c' is 'elastic'"),
        (lambda: contact(p=[[1.0], [2.0]]), "has 2 rows, but there are 1"),
        (lambda: sl.System(bodies=[one_body()], contacts=[contact(bodies=[[1]])]), "is 1: bodies are numbered"),
        (lambda: sl.System(bodies=[one_body()], contacts=[contact(bodies=[[-2]])]), "is -2: bodies are numbered"),
        (lambda: sl.System(bodies=[one_body()], contacts=[contact(bodies=[[-1]])]), "names the ground alone"),
        (lambda: sl.System(bodies=[one_body()], contacts=[contact(e=1.5)]), "e of contact 'c' is 1.5"),
        (lambda: sl.System(bodies=[one_body()], contacts=[contact(mu=0.5)]), "but it has no slip"),
        (lambda: sl.System(bodies=[one_body()], contacts=[contact(), contact()]), "are called 'c'"),
        (lambda: sl.System(bodies=[one_body(), one_body()]), "two bodies or body families are called 'b'"),
        (lambda: sl.System(M=1.0, bodies=[one_body()]), "M is given beside bodies"),
        (lambda: sl.System(M=1.0, f=0.0, contacts=[contact()]), "contact family 'c' needs bodies"),
        (lambda: sl.System(bodies=[one_body()], joints=[contact()]), "joints must be a list of Joint"),
        (lambda: sl.System(bodies=[7]), "bodies must be a list of BodyFamily, but it contains 7"),
        (lambda: sl.System(f=0.0), "M of the system is missing"),
    ],
)
def test_what_is_no_family_is_refused_in_one_sentence(make, words):
    with pytest.raises(sl.ModelError, match=words):
        make()


def test_a_start_that_does_not_fit_the_bodies_is_refused():
    system = sl.System(bodies=[one_body()])
    with pytest.raises(sl.ModelError, match="q0 has 3 entries, but the 1 bodies have 2 together"):
        end(system, np.zeros(3), np.zeros(3))
