"""saltus contact: solve a contact problem of a file, and write one that a run met."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from cyclopts import Parameter

from saltus.cli import settings
from saltus.cli.commands import CONTACT_COMMANDS
from saltus.cli.names import find_problem, pick, solver_classes
from saltus.cli.options import Family, Option, command, family, option_value, options_of
from saltus.cli.report import DONE
from saltus.cli.values import FILE, REAL_NUMBER, WHOLE_NUMBER, WORD_READER
from saltus.compile.seam import ready
from saltus.contact import ContactProblem, ContactResult
from saltus.contact.problem import GlobalForm, check_support
from saltus.contact.residual import residual
from saltus.errors import RunError, SettingError
from saltus.io.fclib import read_fclib, read_impulses, write_fclib
from saltus.io.format import version
from saltus.io.results import load, source_of
from saltus.laws import BILATERAL, LAW_NAMES, UNILATERAL
from saltus.problem import Problem
from saltus.run.met_problems import MetProblem, check_met, chosen, met_problems
from saltus.solution import Solution
from saltus.status import Status

USAGE = {"solve": "FILE [OPTIONS]", "dump": "RUN --step N [OPTIONS]"}
CONTACT_HELP = """Solve contact problems of FCLib files, and store those that a run met.

$ saltus contact solve Capsules-i125-1213.hdf5
$ saltus contact dump run.h5 --step 500
"""
DEFAULT_SOLVER, TOL = "portfolio", 1e-8
MOST_NAMES = 8  # of contacts that are named in one line

SOLVE_DOC = """Solve the contact problem of an FCLib file and say how well.

$ saltus contact solve Capsules-i125-1213.hdf5
$ saltus contact solve BoxesStack-48.hdf5 --solver nsgs --solver-max-sweeps 1000 --tol 1e-6
$ saltus contact solve BoxesStack-48.hdf5 --save solved.hdf5

The residual is computed independently of the solver; a problem that is not solved to --tol ends with exit code 1.
"""
DUMP = """Write the contact problem of one step of a run as an FCLib file.

$ saltus run incline-3d --scheme moreau-jean --h 1e-3 --save run.h5
$ saltus contact dump run.h5 --step 500 --out problem.hdf5
$ saltus contact dump run.h5 --time 0.25

The step is made again from its stored start. Without --step and --time it is the step that failed.
"""


def contact_commands(tokens: list[str]) -> dict[str, Callable]:
    """Return the commands below `saltus contact`, given the words that follow it."""
    mine = {name: tokens[1:] if tokens[:1] == [name] else [] for name in CONTACT_COMMANDS}
    return {"solve": _solve_command(mine["solve"]), "dump": _dump_command()}


# ---- solve


def _solve_command(tokens: list[str]) -> Callable:
    """Return the command with the options of the solver that the tokens name."""
    known = solver_classes()
    name = pick(option_value(tokens, "--solver") or DEFAULT_SOLVER, known, "solver")
    own = family("contact", "Options", [
        Option("solver", WORD_READER, f"Contact solver: {', '.join(known)}.", DEFAULT_SOLVER),
        Option("tol", REAL_NUMBER, "Scaled residual that counts as solved.", f"{TOL:g}"),
        Option("save", FILE, "Write the problem with its solution as an FCLib file."),
    ])  # fmt: skip
    options = [
        dataclasses.replace(option, flag="--solver-" + option.field.replace("_", "-"))
        for option in options_of(known[name])
        if option.field != "tol"
    ]
    solver = Family("solver", f"Parameters of the solver {name}", tuple(options))

    def action(word: str | None, given: dict[str, dict[str, Any]]) -> int:
        _check_file(word, "FILE", "an FCLib file")
        return _solve(str(word), known[name], given["solver"], given["contact"])

    return command(action, SOLVE_DOC, [own, solver], Parameter(name="FILE", help="A contact problem in FCLib's HDF5."))


def _solve(path: str, kind: type, given: dict[str, Any], own: dict[str, Any]) -> int:
    tol = own.get("tol", TOL)
    if not 0.0 < tol < 1.0:
        raise SettingError(f"--tol is {tol:g}: a relative residual lies between 0 and 1")
    if any(field.name == "tol" for field in dataclasses.fields(kind)):
        given = {"tol": tol, **given}
    solver = kind(**given)
    settings.check_files(own.get("save"))
    problem = read_fclib(path)
    check_support(solver, problem.kinds)
    print(f"{os.path.basename(path)}: {_described(problem)}")
    for name, P in read_impulses(path, problem).items():
        _say("stored", f"{name} with residual {_size(problem.residual(P))}")
    for unit in (residual, solver.kernel, problem.local, problem.cone):
        ready(unit)  # so that the time is that of the solver
    began = time.perf_counter()
    result = solver.solve(problem)
    seconds = time.perf_counter() - began
    solved = result.converged and result.residual <= tol
    _say("solver", result.solver if result.solver.startswith(solver.name) else f"{solver.name}, by {result.solver}")
    _say("residual", f"{_size(result.residual)}, computed independently; {'below' if solved else 'not below'} {tol:g}")
    _say("iterations", f"{result.iterations:,} in {seconds:.2g} s")
    if result.unique is not None:
        _say("impulses", "unique" if result.unique else "not unique: others give the same velocities")
    if result.contacts:
        _say("to blame", _listed(result.contacts))
    if own.get("save") is not None:
        attempt: dict[str, Any] = {"solution": result} if solved else {"guesses": [result]}
        write_fclib(problem, own["save"], title=os.path.basename(path), description=_maker(result), **attempt)
        _say("written", own["save"])
    if not solved:
        raise RunError(result.message if not result.converged else f"{result.message[:-1]}, more than {tol:g}.")
    return DONE


def _described(problem: ContactProblem) -> str:
    """Say the size, the form and the laws of a problem."""
    kinds, friction = problem.kinds, problem.kinds > UNILATERAL
    contacts = int((kinds != BILATERAL).sum())
    counts = ", ".join(f"{int((kinds == kind).sum())} {LAW_NAMES[kind]}" for kind in np.unique(kinds))
    mu = problem.mu[friction]
    if mu.size:
        counts += f", mu {mu.min():g}" + (f" to {mu.max():g}" if mu.max() > mu.min() else "")
    form = "global" if isinstance(problem.given, GlobalForm) else "local"
    rows = f"{problem.n:,} row{'' if problem.n == 1 else 's'}"
    return f"{contacts} contact{'' if contacts == 1 else 's'}, {rows} in {form} form ({counts})"


def _maker(result: ContactResult) -> str:
    return f"saltus {version()}, {result.solver}: residual {result.residual:.3e} after {result.iterations} iterations"


# ---- dump


def _dump_command() -> Callable:
    own = family("contact", "Options", [
        Option("step", WHOLE_NUMBER, "Number of the step, from 0; negative from the end."),
        Option("time", REAL_NUMBER, "Time inside of the step, or its end [s]."),
        Option("problem", WHOLE_NUMBER, "Which problem of the step, from 0; by default the last of the largest."),
        Option("out", FILE, "File to write.", "RUN-stepN.hdf5"),
        Option("model", WORD_READER, "Problem of a run that was saved from Python: its name or FILE.py:NAME."),
        Option("h", REAL_NUMBER, "Size of a step that failed [s]; that of the step before by default."),
    ])  # fmt: skip

    def action(word: str | None, given: dict[str, dict[str, Any]]) -> int:
        _check_file(word, "RUN", "what saltus run --save wrote")
        return _dump(str(word), given["contact"])

    return command(action, DUMP, [own], Parameter(name="RUN", help="What saltus run --save RUN wrote."))


def _dump(path: str, given: dict[str, Any]) -> int:
    solution = load(path)
    step = _step(solution, given.get("step"), given.get("time"))
    out = given.get("out", f"{os.path.splitext(path)[0]}-step{step}.hdf5")
    settings.check_files(out)
    if os.path.realpath(out) == os.path.realpath(path):
        raise SettingError(f"--out is the run itself: name another file than {path}")
    met = met_problems(solution, step, _problem_of(path, given.get("model")), given.get("h"))
    check_met(solution, step, met)
    number = chosen(met, given.get("problem"))
    problem, P = met[number].problem, met[number].P
    failed = step == len(solution.t) - 1
    when = f"from t = {solution.t[step]:g}" + (" s, which failed," if failed else f" to {solution.t[step + 1]:g} s")
    many = f"{len(met)} contact problem{'' if len(met) == 1 else 's'}"
    print(f"{solution.name or 'system'} by {solution.scheme.name}: step {step} {when} solved {many}")
    for k, one in enumerate(met):
        _say(f"problem {k}", f"{_kind(one)}{' <- written' if k == number and len(met) > 1 else ''}")
    _say("contacts", _listed(problem.names))
    stored = "" if failed else f"; the run says {_size(float(solution.residual[step]))} for the whole step"
    _say("residual", f"{_size(problem.residual(P))} of the impulses found{stored}")
    solved = not failed or problem.residual(P) <= TOL
    attempt: dict[str, Any] = {"solution": P} if solved else {"guesses": [P]}
    about = f"step {step} {when} of {solution.name or 'a run'} by {solution.scheme!r}, saltus {version()}"
    write_fclib(problem, out, title=solution.name or "system", description=about, **attempt)
    _say("written", out)
    return DONE


def _step(solution: Solution, step: int | None, t: float | None) -> int:
    steps = len(solution.t) - 1
    if step is not None and t is not None:
        raise SettingError("--step and --time both name a step: give one of them")
    if step is not None:
        return step if step >= 0 or step < -steps else steps + step
    if t is not None:
        if not solution.t[0] <= t <= solution.t[-1]:
            raise SettingError(f"--time is {t:g}: the run goes from {solution.t[0]:g} to {solution.t[-1]:g} s")
        return max(int(np.searchsorted(solution.t, t, side="left")) - 1, 0)
    if solution.success or solution.status is Status.INTERRUPTED:
        raise SettingError(f"--step is missing: the run has steps 0 to {steps - 1}; --time T finds the step of a time")
    return steps


def _problem_of(path: str, model: str | None) -> Problem:
    """Return the problem of a saved run: as the file says, or as it was named."""
    if model is not None:
        return settings.specified(find_problem(model), {})
    source = source_of(path)
    if source is None:
        raise SettingError(
            f"{path} does not say which problem it belongs to, because saltus run did not write it: name it by --model "
            "NAME or FILE.py:NAME, or call contact_problem of the Solution in Python"
        )
    return settings.rebuilt(source)


def _kind(met: MetProblem) -> str:
    return _described(met.problem) + (", corrects positions" if met.positions else "")


# ---- words


def _check_file(path: str | None, name: str, what: str) -> None:
    if path is None:
        raise SettingError(f"{name} is missing: name {what}")
    if not pathlib.Path(path).is_file():
        raise SettingError(f"there is no file {path}")


def _size(value: float) -> str:
    return f"{value:.1e}" if value else "0"


def _listed(names: tuple[str, ...]) -> str:
    more = f", ... {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _say(name: str, text: str) -> None:
    print(f"  {name:<12} {text}")
