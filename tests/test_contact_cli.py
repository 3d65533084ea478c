"""saltus contact: problems of files are solved, problems of runs are written."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from external import fclib_file
from saltus.cli import main
from saltus.contact import ContactProblem, Portfolio, read_fclib, write_fclib
from saltus.io.fclib import read_impulses

MODEL = '''
import saltus as sl

def squeezed(speed: float = 0.25):
    """A body between walls that close."""
    walls = [
        sl.Contact(lambda t, q: q[0] + 1.0 - speed * t, name="left"),
        sl.Contact(lambda t, q: 1.0 - speed * t - q[0], name="right"),
    ]
    return sl.Problem(sl.System(M=1.0, f=0.0, contacts=walls), (0.0, 3.0), 0.0, 0.0, name="squeezed")
'''


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "my_model.py"
    file.write_text(MODEL, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    """A run with friction that saltus run saved."""
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    assert main(f"run incline-3d --scheme moreau-jean --h 1e-2 --gravity 9 --save {path}".split()) == 0
    return path


def block(names=None):
    """Return the problem of a block that is pushed into the floor and along it."""
    return ContactProblem(np.eye(3), [-1.0, 0.1, 0.0], mu=0.5, dim=3, names=names)


# ---- solve


def test_a_file_is_solved_and_described(call, tmp_path):
    write_fclib(block(), tmp_path / "p.hdf5", guesses=[[0.0, 0.0, 0.0]])
    code, out, err = call(f"contact solve {tmp_path}/p.hdf5")
    assert (code, err) == (0, "")
    assert "p.hdf5: 1 contact, 3 rows in local form (1 coulomb_spatial, mu 0.5)" in out
    # u + mu |u_T| e_N = (-0.95, 0.1, 0), over |b|
    assert f"guess 1 with residual {np.hypot(0.95, 0.1) / np.hypot(1.0, 0.1):.1e}" in out
    for word in ("solver", "Portfolio", "residual", "computed independently", "iterations"):
        assert word in out


def test_a_solved_problem_is_stored_with_its_solution(call, tmp_path):
    write_fclib(block(), tmp_path / "p.hdf5")
    code, out, _ = call(f"contact solve {tmp_path}/p.hdf5 --solver nsgs --save {tmp_path}/out.hdf5")
    assert code == 0 and "written" in out
    problem = read_fclib(tmp_path / "out.hdf5")
    stored = read_impulses(tmp_path / "out.hdf5", problem)
    # it sticks: the impulse takes all of b
    assert list(stored) == ["solution"]
    assert stored["solution"] == pytest.approx([1.0, -0.1, 0.0], abs=1e-12)


@pytest.mark.parametrize("name", ["Box_Stacks-i0122-82-5", "LMGC_100_PR_PerioBox-i00361-60-03000"])
def test_external_files_are_solved(call, name):
    path = fclib_file(f"{name}.hdf5")
    code, out, err = call(f"contact solve {path} --tol 1e-8")
    assert (code, err) == (0, "")
    assert "below 1e-08" in out


def test_what_is_not_solved_says_so_and_is_stored_as_a_guess(call, tmp_path):
    walls = ContactProblem.from_global(np.eye(1), [[1.0, -1.0]], [0.0], [-1.0, -1.0], names=["left", "right"])
    write_fclib(walls, tmp_path / "p.hdf5")
    code, out, err = call(f"contact solve {tmp_path}/p.hdf5 --save {tmp_path}/out.hdf5")
    assert code == 1
    assert "2 contacts, 2 rows in global form (2 unilateral)" in out
    assert "not below 1e-08" in out
    assert err.startswith("saltus: ") and "no solution" in err
    assert list(read_impulses(tmp_path / "out.hdf5", walls)) == ["guess 1"]


def test_few_iterations_fail_where_many_succeed(call, tmp_path):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(12, 30))
    write_fclib(ContactProblem(W.T @ W, W.T @ rng.normal(size=12), mu=0.4, dim=3), tmp_path / "p.hdf5")
    assert call(f"contact solve {tmp_path}/p.hdf5")[0] == 0
    code, out, err = call(f"contact solve {tmp_path}/p.hdf5 --solver nsgs --solver-max-sweeps 1")
    assert code == 1
    assert "1 in " in out and "did not reach" in err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("contact solve", "FILE is missing"),
        ("contact solve {0}/missing.hdf5", "there is no file"),
        ("contact solve {0}/text.hdf5", "is not an HDF5 file"),
        ("contact solve {0}/p.hdf5 --solver nsg", "did you mean nsgs?"),
        ("contact solve {0}/p.hdf5 --solver lemke", "Lemke solves bilateral, unilateral contacts"),
        ("contact solve {0}/p.hdf5 --tol 2", "--tol is 2"),
        ("contact solve {0}/p.hdf5 --tol small", "--tol is 'small': it must be a number"),
        ("contact solve {0}/p.hdf5 --solver nsgs --solver-max-sweeps 0", "max_sweeps = 0"),
        ("contact solve {0}/p.hdf5 --save {0}/missing/out.hdf5", "cannot be written"),
        ("contact solve {0}/p.hdf5 --sovler nsgs", "contact solve has no option --sovler here: did you mean --solver?"),
        ("contact slove", "no command is called 'slove': did you mean solve?"),
        ("contact dump", "RUN is missing"),
        ("contact dump {0}/p.hdf5 --step 1", "is not a file of saltus"),
    ],
)
def test_what_is_typed_wrongly_is_named(call, tmp_path, line, words):
    write_fclib(block(), tmp_path / "p.hdf5")
    (tmp_path / "text.hdf5").write_text("text", encoding="utf-8")
    code, _, err = call(line.format(tmp_path))
    assert code == 2
    assert words in err and err.count("\n") == 1


def test_help_lists_the_commands_and_their_options(call):
    for words in ("contact", "contact --help"):
        code, out, _ = call(words)
        assert code == 0 and "solve" in out and "dump" in out
    assert "--solver-max-sweeps" in call("contact solve --help --solver nsgs")[1]
    assert "--time" in call("contact dump --help")[1]


# ---- dump


def test_the_problem_of_a_step_is_written_with_the_parameters_of_the_run(call, run_file, tmp_path):
    code, out, err = call(f"contact dump {run_file} --step 20 --out {tmp_path}/p.hdf5")
    assert (code, err) == (0, "")
    assert "incline_3d by Moreau-Jean: step 20 from t = 0.2 to 0.21 s solved 1 contact problem" in out
    assert "contacts     incline" in out
    problem = read_fclib(tmp_path / "p.hdf5")
    sol = sl.load(run_file)
    assert problem.names == ("incline",)
    # sliding down and across, the normal impulse is that of the weight in 0.01 s
    P = read_impulses(tmp_path / "p.hdf5", problem)["solution"]
    assert P == pytest.approx(sol.impulse[20], abs=1e-12)
    assert P[0] == pytest.approx(9.0 * np.cos(0.3) * 1e-2, rel=1e-12)
    assert Portfolio().solve(problem).P == pytest.approx(P, abs=1e-12)


def test_a_step_is_named_by_its_time_or_from_the_end(call, run_file, tmp_path):
    assert "step 20 from" in call(f"contact dump {run_file} --time 0.205 --out {tmp_path}/p.hdf5")[1]
    code, out, _ = call(f"contact dump {run_file} --step -1")
    assert code == 0 and "step 149 from" in out
    assert (run_file.parent / "run-step149.hdf5").exists()


def test_a_run_of_a_file_and_one_saved_from_python_are_dumped(call, model, tmp_path):
    python = tmp_path / "python.h5"
    code, _, err = call(f"run {model}:squeezed --scheme moreau-jean --h 0.1 --speed 0.5 --save {tmp_path}/run.h5")
    assert code == 1 and "no solution" in err
    sl.load(tmp_path / "run.h5").save(python)
    # the walls meet at t = 2: without a step the one that failed is taken
    code, out, _ = call(f"contact dump {tmp_path}/run.h5 --out {tmp_path}/p.hdf5")
    assert code == 0 and "which failed" in out and "left, right" in out
    problem = read_fclib(tmp_path / "p.hdf5")
    assert problem.names == ("left", "right")
    assert problem.b == pytest.approx([-0.5, -0.5], abs=1e-14)
    assert problem.D() == pytest.approx(np.array([[1.0, -1.0], [-1.0, 1.0]]), abs=1e-14)
    code, _, err = call(f"contact solve {tmp_path}/p.hdf5")
    assert code == 1 and "no solution" in err
    code, _, err = call(f"contact dump {python}")
    assert code == 2 and "does not say which problem it belongs to" in err and "--model" in err
    code, _, err = call(f"contact dump {python} --model {model}:squeezed")
    assert code == 2 and "does not fail" in err  # walls of another speed are still apart
    model.write_text(MODEL.replace("speed: float = 0.25", "speed: float = 0.5"), encoding="utf-8")
    assert call(f"contact dump {python} --model {model}:squeezed --out {tmp_path}/q.hdf5")[0] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "--step is missing: the run has steps 0 to 149"),
        ("--step 150", "the run has steps 0 to 149"),
        ("--step x", "must be a whole number"),
        ("--step 1 --time 1", "give one of them"),
        ("--time 9", "the run goes from 0 to 1.5 s"),
        ("--step 1 --problem 1", "problems 0 to 0"),
        ("--step 1 --model zeno-ball", "give the problem of the run"),
        ("--step 1 --model incline-3d", "it ends elsewhere"),
        ("--step 1 --out {0}", "--out is the run itself"),
    ],
)
def test_steps_that_cannot_be_dumped_are_refused(call, run_file, options, words):
    code, _, err = call(f"contact dump {run_file} {options.format(run_file)}")
    assert code == 2
    assert words in err and err.count("\n") == 1


def test_a_thinned_run_has_no_steps_to_make_again(call, tmp_path):
    assert call(f"run incline-3d --scheme moreau-jean --h 1e-2 --keep 10 --save {tmp_path}/thin.h5")[0] == 0
    code, _, err = call(f"contact dump {tmp_path}/thin.h5 --step 3")
    assert code == 2 and "without --keep" in err
