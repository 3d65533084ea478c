"""The command line: what it prints, writes and returns."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time

import pytest

import saltus as sl
from saltus.cli.describe import parameter_texts
from saltus.cli.names import kebab, problem_functions, scheme_classes, solver_classes
from saltus.cli.options import options_of
from saltus.cli.values import REAL_NUMBER, WHOLE_NUMBER, reader_of, vector

MODEL = '''
import saltus as sl

ran = open({trace!r}, "a").write("once ")

def ball(height=1.0, *, h: float = 0.25, bounce: bool = True, bias: tuple[float, float] = (0.0, 0.0)):
    """A ball of mine.

    Parameters
    ----------
    height : where it starts [m]
    """
    floor = sl.Contact(lambda q: q[0], e=0.5 if bounce else 0.0, name="floor")
    system = sl.System(M=1.0, f=-2.0, contacts=[floor])
    return sl.Problem(system, (0.0, 1.0), height + h + bias[0], bias[1], name="mine")

problem = ball()
system = problem.system

def number():
    return 3

def failing(t_end: float = 1.0):
    force = lambda t, q, v: [float("nan") if t > 0.5 else -2.0 + 0.0 * int(t)]
    return sl.Problem(sl.System(M=1.0, f=force), (0.0, t_end), 1.0, 0.0, name="failing")
'''


@pytest.fixture
def model(tmp_path):
    """A user's file; `trace` beside it says how often it was executed."""
    file = tmp_path / "my_model.py"
    file.write_text(MODEL.format(trace=str(tmp_path / "trace")), encoding="utf-8")
    return file


# ---- run


def test_run_reports_events_state_errors_certificate_and_energy(call):
    code, out, err = call("run zeno-ball --scheme moreau-jean --h 1e-2")
    assert (code, err) == (0, "")
    assert "zeno_ball by Moreau-Jean: t = 0 to 4 s in 400 steps" in out
    for word in ("impact", "q at the end", "errors", "certificate", "energy"):
        assert word in out


def test_without_a_step_size_the_run_keeps_a_tolerance(call):
    code, out, _ = call("run zeno-ball --tol 1e-8")
    assert code == 0 and "by hp-TDG" in out
    code, out, _ = call("run zeno-ball --scheme moreau-jean --tol 1e-3")
    assert code == 0 and "StepDoubling of Moreau-Jean" in out


def test_run_gives_the_numbers_of_solve(call):
    code, out, _ = call(
        "run zeno_ball --scheme moreau-jean --h=1e-2 --e 0.8 --t_end 2 --theta 1 --at end --projection active --v0 -1"
    )
    problem = sl.problems.zeno_ball(e=0.8, t_end=2.0, v0=-1.0)
    sol = sl.solve(problem, scheme=sl.MoreauJean(theta=1.0, at="end", projection="active"), h=1e-2)
    assert code == 0
    assert f"{sol.q[-1, 0]:.6g}" in out
    assert f"{sol.v[-1, 0]:.6g}" in out


def test_vectors_are_given_with_commas(call):
    code, out, _ = call("run double-pendulum --scheme moreau-jean --h 1e-2 --q0 -1,0.25 --t-end 0.5")
    sol = sl.solve(sl.problems.double_pendulum(q0=(-1.0, 0.25), t_end=0.5), scheme=sl.MoreauJean(), h=1e-2)
    assert code == 0
    assert f"[{sol.q[-1, 0]:.6g}, {sol.q[-1, 1]:.6g}]" in out


def test_a_solver_has_parameters_of_its_own(call):
    assert call("run zeno-ball --scheme moreau-jean --h 1e-2 --solver nsgs --solver-max-sweeps 7 --t-end 0.5")[0] == 0
    code, _, err = call("run zeno-ball --scheme moreau-jean --h 1e-2 --solver nsgs --solver-max-sweeps 0")
    assert code == 2
    assert "max_sweeps = 0" in err


def test_a_scheme_is_made_of_another_one_with_a_colon(call):
    code, out, _ = call("run zeno-ball --h 1e-2 --scheme step-doubling:moreau-jean --theta 1 --rtol 1e-3 --t-end 0.5")
    assert code == 0
    assert "StepDoubling of Moreau-Jean" in out


def test_a_scheme_that_chooses_its_steps_needs_no_step_size(call, tmp_path):
    code, out, err = call(f"run zeno-ball --scheme event-driven --tol 1e-8 --save {tmp_path}/run.h5")
    assert (code, err) == (0, "")
    sol, stored = sl.solve(sl.problems.zeno_ball(), scheme=sl.EventDriven(), tol=1e-8), sl.load(tmp_path / "run.h5")
    assert f"zeno_ball by event-driven: t = 0 to 4 s in {sol.work['steps']} steps" in out
    assert "1 zeno" in out
    assert (stored.t == sol.t).all()
    assert (stored.q == sol.q).all()


def test_h_is_the_first_step_of_a_scheme_that_chooses_its_steps(call, tmp_path):
    assert call(f"run zeno-ball --scheme event-driven --h 1e-3 --save {tmp_path}/run.h5")[0] == 0
    assert sl.load(tmp_path / "run.h5").t[1] == pytest.approx(1e-3, rel=1e-12)


def test_a_single_tolerance_counts_before_tol(call, tmp_path):
    line = "run impact-oscillator --scheme event-driven --tol 1e-4 --atol 1e-9 --t-end 1"
    assert call(f"{line} --save {tmp_path}/run.h5")[0] == 0
    problem = sl.problems.impact_oscillator(t_end=1.0)
    sol = sl.solve(problem, scheme=sl.EventDriven(), rtol=1e-4, atol=1e-9)
    assert (sl.load(tmp_path / "run.h5").t == sol.t).all()


def test_tol_is_the_tolerance_of_step_doubling_too(call, tmp_path):
    line = "run zeno-ball --h 1e-2 --scheme step-doubling:moreau-jean --theta 1 --tol 1e-3 --t-end 0.5"
    assert call(f"{line} --save {tmp_path}/run.h5")[0] == 0
    scheme = sl.StepDoubling(sl.MoreauJean(theta=1.0), rtol=1e-3, atol=1e-3)
    sol = sl.solve(sl.problems.zeno_ball(t_end=0.5), scheme=scheme, h=1e-2)
    assert (sl.load(tmp_path / "run.h5").step_error == sol.step_error).all()


def test_run_writes_the_solution_and_a_picture(call, tmp_path):
    code, out, _ = call(
        f"run zeno-ball --scheme moreau-jean --h 1e-2 --save {tmp_path}/run.h5 --plot {tmp_path}/run.svg"
    )
    assert code == 0
    assert out.count("written") == 2
    assert len(sl.load(tmp_path / "run.h5").t) == 401
    assert (tmp_path / "run.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_keep_thins_what_is_saved(call, tmp_path):
    assert call(f"run zeno-ball --scheme moreau-jean --h 1e-2 --keep 100 --save {tmp_path}/run.h5")[0] == 0
    assert len(sl.load(tmp_path / "run.h5").t) == 5


@pytest.mark.parametrize("name", problem_functions())
def test_every_parameter_of_the_library_is_an_option_with_a_description(name):
    function = problem_functions()[name]
    options = {option.field: option for option in options_of(function)}
    assert list(options) == list(inspect.signature(function).parameters)
    assert all(option.text and option.default is not None for option in options.values())


@pytest.mark.parametrize("kind", [*scheme_classes().values(), *solver_classes().values()], ids=lambda c: c.__name__)
def test_every_setting_of_schemes_and_solvers_is_an_option_with_a_description(kind):
    options = {option.field: option for option in options_of(kind, leave_out=("scheme",))}
    assert set(options) == set(inspect.signature(kind).parameters) - {"scheme"}
    assert all(option.text for option in options.values())


@pytest.mark.parametrize("kind", [sl.control.Richardson, sl.control.VariableOrder])
def test_every_setting_of_a_control_is_described_on_every_python(kind):
    names = list(inspect.signature(kind).parameters)
    assert set(names) <= set(parameter_texts(kind, names))


def test_no_parameter_of_the_library_needs_a_prefix():
    own = {"scheme", "h", "tol", "breaks", "keep", "plot", "save", "checkpoint", "progress"}
    schemes = {option.field for kind in scheme_classes().values() for option in options_of(kind, ("scheme",))}
    for function in problem_functions().values():
        assert not (own | schemes) & set(inspect.signature(function).parameters)


# ---- the user's own file


def test_a_function_of_a_file_gets_its_parameters_as_options(call, model):
    code, out, _ = call(
        f"run {model}:ball --scheme moreau-jean --h 1e-2 --height 2 --problem-h 0.5 --no-bounce --bias 0,1 --t-end 0.25"
    )
    assert code == 0
    assert "mine by Moreau-Jean: t = 0 to 0.25 s in 25 steps" in out
    assert f"{2.5 + 0.25 - 0.25**2:.6g}" in out  # free flight, exact for theta = 1/2
    assert (model.parent / "trace").read_text(encoding="utf-8") == "once "


def test_help_of_a_file_shows_its_own_words(call, model):
    code, out, _ = call(f"run {model}:ball --help")
    assert code == 0
    assert "A ball of mine." in out
    assert "where it starts [m]" in out
    assert "--problem-h" in out


def test_a_problem_of_a_file_runs_and_may_end_earlier(call, model):
    code, out, _ = call(f"run --t-end 0.5 --scheme moreau-jean --h 1e-2 {model}:problem")
    assert code == 0
    assert "t = 0 to 0.5 s in 50 steps" in out


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("bald", "did you mean ball?"),
        ("system", "wrap it as Problem"),
        ("number", "must return a Problem"),
    ],
)
def test_a_wrong_thing_in_a_file_is_named(call, model, what, says):
    code, _, err = call(f"run {model}:{what} --scheme moreau-jean --h 1e-2")
    assert code == 2
    assert says in err


def test_an_error_in_a_file_is_given_with_its_line(call, tmp_path):
    (tmp_path / "broken.py").write_text("x = 1\ny = x / 0\n", encoding="utf-8")
    code, _, err = call(f"run {tmp_path}/broken.py:problem --scheme moreau-jean --h 1e-2")
    assert code == 2
    assert err == "saltus: broken.py failed in line 2: ZeroDivisionError: division by zero\n"


def test_a_failed_run_writes_what_is_there(call, model, tmp_path):
    with pytest.warns(sl.SlowFunctionWarning):
        code, out, err = call(f"run {model}:failing --scheme moreau-jean --h 1e-2 --save {tmp_path}/part.h5")
    assert code == 1
    assert err.count("\n") == 1
    assert "written" in out
    assert 0.4 < sl.load(tmp_path / "part.h5").t[-1] < 0.6


# ---- checkpoints


def test_resume_of_a_failing_model_fails_at_the_same_place(call, model, tmp_path):
    line = (
        f"run {model}:failing --scheme moreau-jean "
        f"--h 1e-2 --t-end 0.8 --checkpoint {tmp_path}/run.ckpt --checkpoint-every 1e-3"
    )
    with pytest.warns(sl.SlowFunctionWarning):
        assert call(line)[0] == 1
    with pytest.warns(sl.SlowFunctionWarning):
        code, out, _ = call(f"resume {tmp_path}/run.ckpt --save {tmp_path}/run.h5")
    assert code == 1
    assert "failing by Moreau-Jean: t = 0 to 0.5" in out
    assert 0.4 < sl.load(tmp_path / "run.h5").t[-1] < 0.6


def test_resume_of_a_finished_run_gives_it_again(call, tmp_path):
    line = (
        f"run double-pendulum --q0 0.5,0.25 --t-end 0.5 --scheme moreau-jean --h 1e-2 --checkpoint {tmp_path}/run.ckpt"
    )
    assert call(f"{line} --save {tmp_path}/a.h5")[0] == 0
    assert call(f"resume {tmp_path}/run.ckpt --save {tmp_path}/b.h5 --plot {tmp_path}/b.png")[0] == 0
    a, b = sl.load(tmp_path / "a.h5"), sl.load(tmp_path / "b.h5")
    assert (a.q == b.q).all()
    assert (a.v == b.v).all()


def test_a_run_with_steps_of_its_own_choice_goes_on_from_its_checkpoint(call, tmp_path):
    line = f"run zeno-ball --scheme event-driven --tol 1e-6 --checkpoint {tmp_path}/run.ckpt"
    assert call(f"{line} --save {tmp_path}/a.h5")[0] == 0
    assert call(f"resume {tmp_path}/run.ckpt --save {tmp_path}/b.h5")[0] == 0
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_a_refused_run_leaves_the_checkpoint_of_another_one_alone(call, tmp_path):
    file = tmp_path / "run.ckpt"
    assert call(f"run zeno-ball --t-end 1 --scheme moreau-jean --h 1e-2 --checkpoint {file}")[0] == 0
    assert call(f"run belt --scheme moreau-jean --h 100 --checkpoint {file}")[0] == 2
    code, out, _ = call(f"resume {file}")
    assert code == 0
    assert "zeno_ball" in out
    assert call(f"run belt --scheme moreau-jean --h 100 --checkpoint {tmp_path}/new.ckpt")[0] == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.ckpt", "run.ckpt.json"]


def test_resume_says_which_model_file_it_executes(call, model, tmp_path):
    assert call(f"run {model}:ball --scheme moreau-jean --h 1e-2 --checkpoint {tmp_path}/run.ckpt")[0] == 0
    code, _, err = call(f"resume {tmp_path}/run.ckpt")
    assert (code, err.splitlines()[0]) == (0, f"saltus: executing the model file {model}")
    assert "executes the model file" in " ".join(call("resume --help")[1].split())


@pytest.mark.parametrize("note", ["[" * 100_000, '{"problem": 1}', '{"problem": "x", "problem": "y"}', "\0"])
def test_a_prepared_specification_is_refused(call, note, tmp_path):
    assert call(f"run zeno-ball --scheme moreau-jean --h 1e-2 --checkpoint {tmp_path}/run.ckpt")[0] == 0
    (tmp_path / "run.ckpt.json").write_text(note, encoding="utf-8")
    code, _, err = call(f"resume {tmp_path}/run.ckpt")
    assert code != 0
    assert "does not say which problem it belongs to" in err


def test_resume_without_its_specification_says_what_to_do(call, tmp_path):
    assert call(f"run zeno-ball --t-end 1 --scheme moreau-jean --h 1e-2 --checkpoint {tmp_path}/run.ckpt")[0] == 0
    (tmp_path / "run.ckpt.json").unlink()
    code, _, err = call(f"resume {tmp_path}/run.ckpt")
    assert code == 2
    assert "use saltus.resume(path, problem)" in err


# ---- what is typed wrongly


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("run zeno-bal --scheme moreau-jean --h 1", "did you mean zeno-ball?"),
        ("run zeno-ball --h 1 --scheme moreaujeans", "did you mean moreau-jean?"),
        ("run zeno-ball --scheme moreau-jean --h 1 --gama 1", "did you mean --gamma?"),
        ("run zeno-ball --h 1 --scheme paoli-velocity --theta 1", "belongs to --scheme moreau-jean"),
        ("run bead-column --scheme moreau-jean --h 1e-3 --solver lemk", "did you mean lemke?"),
        ("run zeno-ball --scheme moreau-jean", "--h is missing: --h 0.004 makes 1000 steps"),
        ("run zeno-ball --scheme schatzman-paoli --tol 1e-8", "--h is missing"),
        (
            "run zeno-ball --scheme moreau-jean --h 1e-2 --tol 1e-8",
            "Moreau-Jean estimates no error, so tol means nothing to it",
        ),
        ("run zeno-ball --scheme event-driven --tol 0", "tol is 0.0: a tolerance must be a positive number"),
        ("run zeno-ball --scheme event-driven --tol tight", "--tol is 'tight': it must be a number"),
        ("run zeno-ball --scheme event-driven --method euler", "it must be one of 'dop853', 'dopri5'"),
        ("run zeno-ball --h", "--h needs a value"),
        ("run zeno-ball --scheme moreau-jean --h 1_0", "must be a number"),
        ("run zeno-ball --h nan", "must be a number"),
        ("run zeno-ball --h -1e-3", "must be a positive number"),
        ("run zeno-ball --scheme moreau-jean --h 1e-2 --e 2", "restitution lies between 0 and 1"),
        ("run zeno-ball --scheme moreau-jean --h 1e-2 --at middle", "--at is 'middle': it must be theta or end"),
        ("run bead-column --scheme moreau-jean --h 1e-2 --n 2.5", "must be a whole number"),
        ("run double-pendulum --scheme moreau-jean --h 1e-2 --q0 1", "must be 2 numbers with commas"),
        ("run zeno-ball --scheme moreau-jean --h 1e-2 --keep 0", "must be steps, events, or a number"),
        ("run zeno-ball belt --scheme moreau-jean --h 1e-2", "does not know what to do with 'belt'"),
        ("run zeno-ball --h 1e-2 --scheme step-doubling", "write --scheme step-doubling:moreau-jean"),
        ("run zeno-ball --scheme moreau-jean --h 1e-2 --plot run.docx", "use .png, .pdf or .svg"),
        ("run zeno-ball --scheme moreau-jean --h 1e-2 --save /no/such/folder/run.h5", "cannot be written"),
        ("run zeno-ball --scheme moreau-jean --h 1e-2 --checkpoint-every 5", "needs --checkpoint FILE"),
        ("run model.py --scheme moreau-jean --h 1e-2", "write model.py:NAME"),
        ("run nowhere.py:problem --scheme moreau-jean --h 1e-2", "there is no file"),
        ("run", "PROBLEM is missing"),
        ("rum zeno-ball", "did you mean run?"),
        ("list problem", "take one of problems, schemes, solvers"),
        ("convergence zeno-ball", "--h-max is missing: --h-max 0.04 makes 100 steps"),
        ("convergence bead-column --h-max 0.01", "give --reference-h"),
        ("convergence zeno-ball --scheme event-driven --h-max 0.01", "event-driven chooses its own steps"),
        ("convergence zeno-ball --h-max 0.1 --norms L7", "one or more of L1, L2"),
        ("resume nothing.ckpt", "there is no checkpoint nothing.ckpt"),
    ],
)
def test_a_wrong_word_gives_one_clear_line_and_code_two(call, line, says):
    code, _, err = call(line)
    assert code == 2
    assert says in err
    assert err.startswith("saltus: ")
    assert err.count("\n") == 1


def test_debug_shows_the_traceback(call):
    code, _, err = call("run zeno-ball --debug --scheme moreau-jean --h 1e-2 --e 2")
    assert code == 2
    assert "Traceback" in err


# ---- help and lists


def test_help_names_all_commands(call):
    for line in ("--help", ""):
        code, out, _ = call(line)
        assert code == 0
        for name in ("run", "convergence", "list", "compile", "resume", "version", "--debug"):
            assert name in out


def test_help_of_a_problem_lists_its_parameters_with_units_and_defaults(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = call("run --help zeno-ball --scheme schatzman-paoli")
    assert code == 0
    assert "--gravity NUMBER  [m/s^2] > 0 [default: 2]" in out
    assert "coefficient of restitution [-] in [0, 1] [default: 0.5]" in out
    assert "--lagging-velocity" in out
    assert "--gamma" not in out


def test_help_has_letters_only(call):
    # rich turns a letter between two colons into a picture: A:B:N was one
    out = call("sweep forced-impact-oscillator --help")[1]
    assert "--omega VALUES" in out
    assert not [sign for sign in out if ord(sign) > 0x2600]


def test_examples_are_part_of_the_help(call):
    for command in ("run", "convergence"):
        assert f"$ saltus {command} zeno-ball" in call(f"{command} --help")[1]


def test_list_has_a_line_for_everything(call):
    code, out, _ = call("list")
    assert code == 0
    names = [*sl.problems.__all__, "MoreauJean", "StepDoubling", "NSGS", "SemismoothNewton"]
    lines = [line.split()[0].partition(":")[0] for line in out.splitlines() if line.startswith("  ")]
    assert {kebab(name) for name in names} <= set(lines)
    assert all(len(line.split()) > 3 for line in out.splitlines() if line.startswith("  "))
    assert "\nmoreau-jean " in "\n" + call("list schemes")[1]


def test_version_names_the_package(call):
    assert call("version")[1].startswith(f"saltus {sl.__version__} (Python 3.")


def test_compile_has_nothing_to_do_where_the_kernels_fit(call):
    code, out, _ = call("compile")
    assert code == 0
    assert "nothing to do" in out


# ---- convergence


def test_convergence_prints_orders_and_writes_them(call, tmp_path):
    code, out, _ = call(
        f"convergence free-flight --h-max 0.1 --levels 3 --grids 2 --scheme moreau-jean,paoli-velocity --theta 1 "
        f"--csv {tmp_path}/orders.csv --plot {tmp_path}/orders.png --quantities q"
    )
    assert code == 0
    assert "MoreauJean(theta=1.0)" in out
    assert "PaoliVelocity()" in out
    assert len((tmp_path / "orders.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * 3 * 2
    assert (tmp_path / "orders.png").stat().st_size > 1000


def test_convergence_without_exact_solution_takes_a_reference_run(call):
    code, out, _ = call(
        "convergence bead-column --n 2 --h-max 0.05 --reference-h 1e-3 --levels 2 --grids 1 --t-end 0.5"
    )
    assert code == 0
    assert "bead_column" in out


# ---- values and descriptions


@pytest.mark.parametrize("text", ["", "1,5", "0x10", "1_000", "inf", "nan", "1e400", " 1", "--1"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="number"):
        REAL_NUMBER.read(text)


def test_numbers_are_read_exactly():
    assert REAL_NUMBER.read("-1.5e-3") == -1.5e-3
    assert WHOLE_NUMBER.read("-7") == -7
    assert vector(2).read("1,-2.5") == (1.0, -2.5)
    with pytest.raises(ValueError, match="whole"):
        WHOLE_NUMBER.read("1.0")


def test_readers_follow_annotations_and_defaults():
    assert reader_of(None, 1).read("2.5") == 2.5
    assert reader_of(None, 1).read("2") == 2
    assert reader_of(tuple[float, float], None).shown == "X,X"
    assert reader_of(bool | None, None).shown == ""
    assert reader_of(type, None) is None


def test_descriptions_are_found_in_running_text():
    def linkage(*, l1, l2, e, mu, spin, turn):
        """A linkage.

        l1, l2 lengths of the bars [m], e, mu of all
        pins [-], spin about x and turn about y [rad/s]. Nothing else.
        """

    found = parameter_texts(linkage, inspect.signature(linkage).parameters)
    assert found["l1"] == found["l2"] == "lengths of the bars [m]"
    assert found["e"] == found["mu"] == "of all pins [-]"
    assert (found["spin"], found["turn"]) == ("about x [rad/s]", "about y [rad/s]")


# ---- a process of its own


def test_python_m_saltus_works_without_a_terminal():
    done = subprocess.run([sys.executable, "-m", "saltus", "list", "solvers"], capture_output=True, encoding="utf-8")
    assert done.returncode == 0
    assert "\nnsgs " in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals of Windows differ")
def test_ctrl_c_saves_what_there_is_and_returns_130(call, tmp_path):
    assert call("run zeno-ball --scheme moreau-jean --h 1e-2")[0] == 0
    line = (
        f"run zeno-ball --scheme moreau-jean "
        f"--h 1e-6 --t-end 1000 --keep 100000 --save {tmp_path}/part.h5 --checkpoint {tmp_path}/run"
    )
    process = subprocess.Popen(  # noqa: S603  our own interpreter and our own words
        [sys.executable, "-m", "saltus", *line.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        while not (tmp_path / "run").is_file() and process.poll() is None:  # written when the march begins
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted at t =" in err
    assert "written" in out
    assert 0.0 < sl.load(tmp_path / "part.h5").t[-1] < 1000.0


# ---- degrees, controls, diagnosis


def test_a_list_of_degrees_is_typed_with_commas(call):
    code, out, err = call("run free-flight --h 0.25 --scheme tdg-minus --degree 1,4,4,2")
    assert (code, err) == (0, "") and "by DM-" in out
    code, _, err = call("run free-flight --h 0.25 --scheme tdg-minus --degree 1,x")
    assert code == 2 and "--degree is '1,x'" in err


def test_a_control_and_its_settings_are_options(call):
    line = "run zeno-ball --scheme moreau-jean --tol 1e-3 --control richardson --control-order 1 --control-horizon step"
    few = call(f"{line} --no-control-impacts")
    many = call(line)
    assert few[0] == many[0] == 0 and few[1].splitlines()[0] != many[1].splitlines()[0]
    code, _, err = call("run zeno-ball --tol 1e-3 --scheme moreau-jean --control richard")
    assert code == 2 and "did you mean richardson?" in err
    assert "variable-order" in call("list controls")[1]


def test_a_corner_is_diagnosed_on_the_command_line(call):
    code, out, err = call("diagnose clattering-rod --at 0,0")
    assert (code, err) == (0, "")
    assert "kinetic angle 120 degrees" in out and "may not depend continuously" in out
    assert "Closed contacts at t = 0: none." in call("diagnose clattering-rod")[1]
    code, _, err = call("diagnose clattering-rod --at 0")
    assert code == 2 and "q has 1 entries" in err
    code, _, err = call("diagnose")
    assert code == 2 and "PROBLEM is missing" in err


# ---- saved runs


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    place = tmp_path_factory.mktemp("saved") / "run.h5"
    sl.solve(sl.problems.zeno_ball(), tol=1e-8).save(place)
    return place


def test_info_says_what_a_saved_run_is(call, saved):
    code, out, _ = call(f"info {saved}")
    assert code == 0
    assert out.startswith("zeno_ball by hp-TDG: t = 0 to 4 s in 18 steps, 19 times kept")
    for word in ("ended", "events", "certificate", "energy", "work", "settings", "tol = 1e-08", "fastest [m/s]"):
        assert word in out


def test_events_are_filtered_by_kind_and_contact(call, saved):
    code, out, _ = call(f"events {saved} --kind impact --contact floor")
    assert code == 0 and len(out.splitlines()) == 16 and "zeno" not in out
    assert call(f"events {saved} --kind bounce")[0] == 2


def test_events_as_csv_are_the_numbers_of_the_table(call, saved, tmp_path):
    assert call(f"events {saved} --csv --kind impact --out {tmp_path}/events.csv")[0] == 0
    head, *rows = (tmp_path / "events.csv").read_text(encoding="utf-8").splitlines()
    table = sl.load(saved).events.of("impact")
    column = dict(zip(head.split(","), zip(*(row.split(",") for row in rows), strict=True), strict=True))
    assert [float(t) for t in column["t"]] == table["t"].tolist()
    assert [float(u) for u in column["u_minus_N"]] == table["u_minus"][:, 0].tolist()


@pytest.mark.parametrize("kind", ["run", "steps", "phase", "gantt", "energy", "impact-map", "spectrum"])
def test_plot_draws_a_saved_run(call, saved, tmp_path, kind):
    code, out, _ = call(f"plot {saved} --kind {kind} --out {tmp_path}/picture.pdf")
    assert code == 0 and "written" in out
    assert (tmp_path / "picture.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--kind gant", "did you mean gantt?"),
        ("--kind phase --time event", "time is no axis of it"),
        ("--kind gantt --x 0", "--x means nothing to --kind gantt"),
        ("--kind gantt --width half", "--width is 'half'"),
        ("--kind gantt --out picture.doc", "no ending of a picture"),
    ],
)
def test_a_wrong_figure_gives_one_clear_line(call, saved, line, message):
    code, _, err = call(f"plot {saved} {line}")
    assert code == 2 and message in err and len(err.splitlines()) == 1


def test_the_help_has_the_first_line_of_every_command_without_importing_them():
    from saltus.cli.commands import COMMANDS

    for name, known in COMMANDS.items():
        assert inspect.getdoc(known.action([])).splitlines()[0] == known.line, name


def test_help_imports_no_numerics():
    program = (
        "import sys; from saltus.cli import main; main(['--help']); print('numpy' in sys.modules, file=sys.stderr)"
    )
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)  # noqa: S603
    assert made.stderr.strip() == "False" and "events" in made.stdout


def test_a_step_size_without_a_scheme_means_the_same_as_in_solve(call):
    code, out, _ = call("run zeno-ball --h 1e-2")
    sol = sl.solve(sl.problems.zeno_ball(), h=1e-2)
    assert code == 0 and f"by {sol.scheme.name}: t = 0 to 4 s in {sol.work['steps']} steps" in out
