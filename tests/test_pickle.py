"""Systems, problems and solutions travel to other processes, before and after a run."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import saltus as sl

# functions of a module are pickled by their names, so that another process finds them


def height(q):
    return q[0]


def slip(t, q, v):
    return v[1]


def spring(t, q, v):
    return [-20.0, -3.0 * q[1]]


def turning(q, v):
    return [v[0], (1.0 + 0.1 * q[0]) * v[1]]


def branching(t, q, v):
    return [-20.0, -3.0 * q[1] if float(q[1]) > 0.0 else 0.0]


def low(t, q, v):
    return q[0] - 0.2


def plain_ball() -> sl.System:
    """A system of numbers, whose model is remembered once it is compiled."""
    return sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(height, e=0.8, name="floor")])


def thrown(**options) -> sl.Problem:
    floor = sl.Contact(height, e=0.5, mu=0.3, slip=slip, name="floor")
    system = sl.System(M=2.0, contacts=[floor], **{"f": spring, **options})
    return sl.Problem(system, (0.0, 2.0), [0.5, 0.0], [0.0, 4.0], name="thrown")


def answers(sol: sl.Solution) -> dict[str, np.ndarray]:
    """Return what a solution says at and between its times, in all the ways in which it can be asked."""
    t = np.linspace(sol.t[0], sol.t[-1], 501)
    figure = sol.plot()
    return {
        "t": sol.t, "q": sol(t).q, "v": sol(t, side="-").v, "v_minus": sol.v_minus, "impulse": sol.impulse_at(t),
        "force": sol.force_at(t), "events": sol.events, "kinetic": sol.energy.kinetic, "defect": sol.energy.defect,
        "gaps": sol.gaps(), "axes": np.array(len(figure.axes)),
    }  # fmt: skip


def solved(problem: sl.Problem) -> sl.Solution:
    return sl.solve(problem, tol=1e-8, progress=False)


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def returned(thing):
    """Return what comes out of the pickle of a thing."""
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - the bytes are our own


def other_process(function, argument):
    """Return what a function gives in a process that starts from nothing."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, (argument,))


# ---- in the same process


def test_a_system_is_the_same_pickle_before_and_after_a_run():
    system = plain_ball()
    before = pickle.dumps(system)
    sl.solve(system, (0.0, 1.0), 1.0, 0.0, tol=1e-6)
    assert pickle.dumps(system) == before
    assert "_compiled" not in vars(returned(system))


def test_a_copy_of_a_solved_system_runs_on_its_own():
    system = plain_ball()
    first = sl.solve(system, (0.0, 1.0), 1.0, 0.0, tol=1e-6)
    second = sl.solve(copy.deepcopy(system), (0.0, 1.0), 1.0, 0.0, tol=1e-6)
    np.testing.assert_array_equal(first.q, second.q)


def test_a_problem_keeps_its_start_protected():
    problem = returned(thrown())
    with pytest.raises(ValueError, match="read-only"):
        problem.q0[0] = 1.0


OPTIONS = {
    "numbers": {"f": [-20.0, 0.0]},
    "functions": {},
    "its own q_dot": {"q_dot": turning},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_solution_that_was_pickled_says_the_same(options):
    sol = solved(thrown(**options))
    expected = answers(sol)
    again = returned(sol)
    same(answers(again), expected)
    assert repr(again) == repr(sol)
    with pytest.raises(ValueError, match="read-only"):
        again.q[0] = 1.0
    # also a pickle of what came out of one
    same(answers(returned(again)), expected)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_a_solution_of_functions_that_cannot_be_traced_says_the_same():
    sol = solved(thrown(f=branching))
    same(answers(returned(sol)), answers(sol))


def test_what_was_derived_is_no_part_of_the_pickle():
    sol = solved(thrown())
    before = len(pickle.dumps(sol))
    answers(sol)
    assert len(pickle.dumps(sol)) == before


def test_a_pickled_solution_remakes_its_contact_problems():
    sol = sl.solve(thrown(), scheme=sl.MoreauJean(), h=0.01)
    step = int(np.flatnonzero(np.any(sol.impulse != 0.0, axis=1))[0])
    again = returned(sol)
    np.testing.assert_array_equal(again.contact_problem(step).b, sol.contact_problem(step).b)


def test_a_run_with_events_and_a_failed_run_can_be_pickled():
    sol = sl.solve(thrown(), tol=1e-8, events=[sl.Event(low, terminal=True, name="low")])
    again = returned(sol)
    assert again.status is sl.Status.TERMINATED
    assert again.event_names == ("low",)
    error = sl.RunError("stopped", sol)
    back = returned(error)
    assert str(back) == "stopped"
    same(answers(back.solution), answers(sol))


def test_a_loaded_solution_can_be_pickled(tmp_path):
    sol = solved(thrown())
    sol.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    again = returned(loaded)
    t = np.linspace(0.0, 2.0, 99)
    np.testing.assert_array_equal(again(t).q, sol(t).q)


def test_functions_without_a_name_are_refused_alike_before_and_after_a_run():
    system = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(lambda q: q[0], e=0.8)])
    errors = []
    for _ in range(2):
        with pytest.raises((pickle.PicklingError, AttributeError)) as caught:
            pickle.dumps(system)
        errors.append(str(caught.value))
        sol = sl.solve(system, (0.0, 1.0), 1.0, 0.0, tol=1e-6)
    assert errors[0] == errors[1]
    assert "lambda" in errors[0]
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(sol)


# ---- in another process


def test_another_process_solves_what_was_solved_here():
    problem = thrown()
    expected = answers(solved(problem))
    sol = other_process(solved, problem)  # the problem goes there solved, the solution comes back
    same(answers(sol), expected)


def test_another_process_answers_for_a_solution_of_this_one():
    sol = sl.solve(plain_ball(), (0.0, 2.0), 1.0, 0.0, tol=1e-8)
    same(other_process(answers, sol), answers(sol))
