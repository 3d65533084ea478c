"""Diagnosis of contact problems: proofs that there is no solution, and the names of those to blame."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from external import fclib_file, lcp
from saltus import problems
from saltus.build.model import compile_model
from saltus.contact import ContactProblem
from saltus.contact.diagnosis import diagnose, errors
from saltus.contact.lemke import nearest_basis
from saltus.run.explain import explain, jamming, recorded_problem
from saltus.status import Status


def between_walls(speed: float = 0.3) -> ContactProblem:
    """A body between two walls that approach each other, on a floor and a ramp that have no part in it."""
    W = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.5, 1.0]]).T
    names = ["left", "right", "floor", "ramp"]
    return ContactProblem.from_global(np.diag([2.0, 2.0]), W, [0.1, -0.2], [-speed, -speed, 0.0, 0.4], names=names)


# ---- proofs


def test_walls_that_close_on_a_body_are_named_and_the_floor_is_not():
    problem = between_walls()
    found = diagnose(problem)
    assert (found.verdict, found.contacts, found.irreducible) == ("closing walls", ("left", "right"), True)
    y = found.certificate  # y . u = y . (W^T v + w) is negative whatever v is
    assert np.all(y >= 0.0)
    np.testing.assert_allclose(problem.D().T @ y, 0.0, atol=1e-14)
    assert y @ problem.b < 0.0
    assert "'left' and 'right'" in found.message and "spring" in found.message


def test_walls_that_open_are_no_problem():
    found = diagnose(between_walls(speed=-0.3))
    assert found.verdict == "solvable" and found.contacts == ()
    assert between_walls(speed=-0.3).residual(found.certificate) < 1e-9


def test_joints_that_contradict_each_other_are_told_from_redundant_ones():
    W = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]).T
    mass, kinds = np.diag([1.0, 3.0, 2.0]), ["bilateral"] * 5
    for w_c, expected in ((0.1, ("a", "b", "c")), (0.0, ())):  # d and e are redundant, but agree
        problem = ContactProblem.from_global(
            mass, W, [0.0, 0.0, 0.3], [0.0, 0.0, w_c, 0.1, 0.2], kinds=kinds, names="abcde"
        )
        found = diagnose(problem)
        assert found.verdict == ("contradictory joints" if expected else "solvable")
        assert found.contacts == expected
        if expected:
            y = found.certificate
            np.testing.assert_allclose(W[:, :3] @ y[:3], 0.0, atol=1e-14)
            assert abs(y @ problem.b) > 0.01


def test_a_joint_against_a_wall_is_found_with_both_names():
    W = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]).T  # rail, wall N T, floor N T
    problem = ContactProblem.from_global(
        np.eye(2), W, [0.0, -0.1], [0.0, -0.2, 0.0, 0.0, 0.0], mu=0.5,
        kinds=["bilateral", "coulomb_planar", "coulomb_planar"], names=["rail", "wall", "floor"],
    )  # fmt: skip
    found = diagnose(problem)
    assert (found.verdict, found.contacts) == ("closing walls", ("rail", "wall"))


@pytest.mark.parametrize("mu", [1.0, 3.0])
def test_the_paradoxical_rod_jams_where_painleve_says(mu):
    theta = np.linspace(0.05, np.pi - 0.05, 41)
    for angle in theta:
        push = 1.0 + 3.0 * np.cos(angle) ** 2 - 3.0 * mu * np.sin(angle) * np.cos(angle)
        found = diagnose(ContactProblem([[push]], [-1.0], names=["end"]))
        assert found.verdict == ("solvable" if push > 0.0 else "jammed")
        assert found.contacts == (() if push > 0.0 else ("end",))


def test_verdicts_agree_with_the_enumeration_of_all_bases():
    rng = np.random.default_rng(5)
    count, branched = {"solvable": 0, "jammed": 0, "closing walls": 0}, 0
    for _ in range(60):
        problem = ContactProblem(rng.integers(-2, 3, size=(3, 3)).astype(float), rng.integers(-3, 3, size=3) + 0.5)
        found = diagnose(problem)
        count[found.verdict] += 1
        assert (found.verdict == "solvable") == (problem.residual(nearest_basis(problem, 1e-9)) <= 1e-9)
        assert found.proven == (found.verdict != "solvable")
        if found.proven and found.certificate.size:
            y, D = found.certificate, problem.D()
            assert np.all(y >= 0.0) and y @ problem.b < 0.0
            assert np.all(D.T @ y <= 1e-9)  # no P >= 0 can make y . u as large as zero
        branched += found.proven and not found.certificate.size
    assert min(count.values()) > 0 and branched > 0


def cases_of_one_contact(D, b, mu) -> bool:
    """Whether one planar block is open, sticks or slips somewhere: the definition, case by case."""
    if b[0] >= 0.0:
        return True
    stick = np.linalg.solve(D, -b)
    if stick[0] >= 0.0 and abs(stick[1]) <= mu * stick[0]:
        return True
    for sign in (1.0, -1.0):
        edge = np.array([1.0, -mu * sign])
        P_N = -b[0] / (D @ edge)[0]
        if P_N >= 0.0 and sign * (D @ edge * P_N + b)[1] >= 0.0:
            return True
    return False


def test_verdicts_on_one_contact_with_friction_agree_with_the_cases_of_its_law():
    rng = np.random.default_rng(8)
    verdicts = []
    for _ in range(60):
        D, b, mu = rng.normal(size=(2, 2)), np.array([-1.0, rng.normal()]), 1.5
        found = diagnose(ContactProblem(D, b, dim=2, mu=mu))
        verdicts.append(found.verdict)
        assert (found.verdict == "solvable") == cases_of_one_contact(D, b, mu)
        assert found.verdict == "solvable" or found.proven
    assert {"solvable", "jammed"} <= set(verdicts)


def test_contact_problems_of_bodies_are_never_called_unsolvable():
    rng = np.random.default_rng(2)
    for dim in (1, 2, 3):
        W = rng.normal(size=(6, 4 * dim)) * 10.0 ** rng.integers(-3, 4, size=4).repeat(dim)
        problem = ContactProblem(W.T @ W, W.T @ rng.normal(size=6), dim=dim, mu=0.7 if dim > 1 else None)
        assert diagnose(problem).verdict in ("solvable", "unknown")


def test_the_unsolvable_problem_of_pang_is_proven_to_be_so():
    verdicts = {}
    for path in sorted(fclib_file("lcp").glob("*.npz")):
        if path.stem != "tobenna":  # nobody solves that one by pivoting
            verdicts[path.stem] = diagnose(lcp(path.stem)).verdict
    unsolvable = [name for name, verdict in verdicts.items() if verdict != "solvable"]
    assert unsolvable == ["Pang_isolated_sol_perturbed"]
    assert verdicts["Pang_isolated_sol_perturbed"] == "jammed"


def test_an_undecided_problem_names_the_blocks_with_the_largest_errors():
    rng = np.random.default_rng(3)
    W = rng.normal(size=(8, 15))
    problem = ContactProblem(W.T @ W, W.T @ rng.normal(size=8), dim=3, mu=0.5, names=list("abcde"))
    P = rng.normal(size=15)
    made = errors(problem, P)
    assert np.linalg.norm(made) == pytest.approx(problem.residual(P), rel=1e-12)
    found = diagnose(problem, P, search=False)
    best = min(P, np.zeros(15), key=problem.residual)  # doing nothing may be better
    assert found.verdict == "unknown" and not found.proven
    assert found.contacts[0] == problem.names[int(np.argmax(errors(problem, best)))]


def test_a_tolerance_that_is_no_tolerance_is_refused():
    with pytest.raises(sl.SettingError, match="tol = 0"):
        diagnose(between_walls(), tol=0.0)


# ---- runs


def walls(t_end: float = 3.0) -> sl.Problem:
    contacts = [
        sl.Contact(lambda t, q: q[0] + 0.5 - 0.3 * t, name="left wall"),
        sl.Contact(lambda t, q: 0.5 - 0.3 * t - q[0], name="right wall"),
        sl.Contact(lambda q: q[1], name="floor"),
    ]
    system = sl.System(M=[1.0, 1.0], f=[0.0, -9.81], contacts=contacts)
    return sl.Problem(system, (0.0, t_end), [0.0, 0.0], [0.0, 0.0])


def rails(amplitude: float = 0.1) -> sl.Problem:
    joints = [
        sl.Joint(lambda q: q[0], name="rail x"),
        sl.Joint(lambda q: q[1], name="rail y"),
        sl.Joint(lambda q: q[2], name="rail z"),
        sl.Joint(lambda t, q: q[0] + q[1] - amplitude * t**2, name="drive"),
    ]
    system = sl.System(M=[1.0, 2.0, 3.0], f=[0.0, 0.0, 0.0], joints=joints)
    return sl.Problem(system, (0.0, 1.0), np.zeros(3), np.zeros(3))


def test_a_run_between_closing_walls_ends_when_they_meet_and_names_them():
    with pytest.raises(sl.RunError, match="'left wall' and 'right wall' close on each other") as caught:
        sl.solve(walls(), scheme=sl.MoreauJean(), h=1e-2)
    solution = caught.value.solution
    assert solution.status in (Status.CONTACT_UNSOLVABLE, Status.CONTACT_STALLED)
    assert not solution.success
    assert solution.t[-1] == pytest.approx(0.5 / 0.3, abs=1e-2)  # what was done until then is kept
    assert "floor" not in str(caught.value)


def test_a_run_with_contradictory_joints_names_those_in_the_contradiction():
    with pytest.raises(sl.RunError, match="'rail x', 'rail y' and 'drive' contradict each other") as caught:
        sl.solve(rails(), scheme=sl.MoreauJean(), h=1e-2)
    assert caught.value.solution.status is Status.JOINTS_CONTRADICT
    assert "rail z" not in str(caught.value)


def start_of(problem: sl.Problem, scheme):
    """Return model, plan and the state of the start."""
    model = compile_model(problem.system, 0.0, problem.q0, problem.v0)
    plan = scheme.plan(model.layout)
    state = plan.state(model.layout).record
    state.q[:], state.v[:] = problem.q0, problem.v0
    return model, plan, state


@pytest.mark.parametrize(("theta0", "speed", "jams"), [(1.1, 1.0, True), (1.1, -1.0, False), (0.4, 1.0, False)])
def test_a_jam_names_the_sliding_contact_that_its_force_drives_into_the_floor(theta0, speed, jams):
    model, plan, state = start_of(problems.painleve_rod(theta0=theta0, speed=speed, mu=2.0), sl.MoreauJean())
    assert jamming(model, 0.0, state) == (("end",) if jams else ())
    message, cause = explain(model, plan, Status.JAMMED, None, 0.0, 1e-3, state)
    assert "Painleve" in message and message.endswith("; contacts: end") and cause is None


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=lambda s: s.name)
def test_a_rod_that_slides_into_a_jam_says_whose_force_grows_beyond_all_bounds(scheme):
    rod = problems.painleve_rod(mu=1.9188541003220423, e=0.3, theta0=0.4601929761864457, speed=9.6769, spin=2.90632)
    with pytest.raises(sl.RunError, match="force at 'end' grows beyond all bounds while it slides") as failed:
        sl.solve(rod, scheme=scheme)
    sol = failed.value.solution
    assert 0.06 < sol.t[-1] < 0.07 and sol.force_at(sol.t[-1])[0] > 1e5 * 9.81
    assert abs(sol.gap_at(sol.t[-1])).max() <= 1e-9


@pytest.mark.parametrize("scheme", [sl.MoreauJean(), sl.StepDoubling(sl.MoreauJean())], ids=lambda s: s.name)
def test_the_contact_problem_of_a_step_is_recorded_with_its_names(scheme):
    problem = problems.block_stack(n=2, slope=0.1)
    (model, plan, state), h = start_of(problem, scheme), 1e-2
    found = recorded_problem(model, plan, 0.0, h, state)
    assert found is not None
    assert found.names == model.system.contact_names
    size = h if scheme.name == "Moreau-Jean" else h / 2.0  # the last one that a doubled step solves
    P = size * problem.exact.impulse(1.0)
    assert found.residual(P) < 1e-9
    np.testing.assert_allclose(found.D(), found.D().T, atol=1e-14)


def test_a_step_without_contacts_has_no_contact_problem():
    model, plan, state = start_of(problems.zeno_ball(q0=1.0), sl.MoreauJean())
    assert recorded_problem(model, plan, 0.0, 1e-3, state) is None
