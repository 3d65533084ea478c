"""saltus work-precision: errors against force evaluations and seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from saltus.cli import settings
from saltus.cli.convergence import NORM_CHOICES, QUANTITIES, written_words
from saltus.cli.names import scheme_classes
from saltus.cli.options import Option, command, family, option_value
from saltus.cli.report import DONE, INTERRUPTED
from saltus.cli.run import PROBLEM
from saltus.cli.values import FILE, REAL_NUMBER, WHOLE_NUMBER, WORD_READER, choice, vector
from saltus.errors import SettingError
from saltus.problem import Problem
from saltus.schemes.traits import traits_of
from saltus.solve import solve

DEFAULT_SCHEMES = "event-driven,moreau-jean"
WORK_PRECISION_DOC = """Measure which precision schemes reach for which work.

$ saltus work-precision zeno-ball --h-max 0.02
$ saltus work-precision zeno-ball --scheme event-driven,moreau-jean --tols 1e-4,1e-6,1e-8 --h-max 0.01 --plot wp.png

Schemes that choose their steps run with every tolerance, the others with step sizes that are halved from level to level, all a little below --h-max so that impacts fall anywhere in a step. Work is counted in force evaluations, a Jacobian as many as there are velocities, and in seconds without compiling. Runs that fail are shown as such. Parameters of schemes go to every scheme that has them; with --rtol or --atol the tolerances change the other one.
"""  # noqa: E501  the terminal decides where lines end


def own_options() -> list[Option]:
    """Return the options of the command itself."""
    schemes = ", ".join(scheme_classes())
    return [
        Option("scheme", WORD_READER, f"One or more schemes with commas between them: {schemes}.", DEFAULT_SCHEMES),
        Option("tols", vector(), "Tolerances of schemes that choose their steps.", "1e-2,1e-3,1e-4,1e-5,1e-6"),
        Option("h_max", REAL_NUMBER, "Largest step size [s]. Required for schemes with a fixed step."),
        Option("levels", WHOLE_NUMBER, "How often the step size is halved, plus one.", "5"),
        Option("quantities", written_words(QUANTITIES), "Any of q, v, impulse.", "all"),
        Option("norms", written_words(NORM_CHOICES), f"Any of {', '.join(NORM_CHOICES)}.", "L1"),
        Option("where", choice({"dense": "dense", "grid": "grid"}), "Measure between the steps, too, or at their ends.",
               "dense"),
        Option("reference_h", REAL_NUMBER, "Compare with a run of the first scheme with fixed steps at this step size "
               "[s]; by default with the exact solution, or with event-driven at a hundredth of the smallest "
               "tolerance."),
        Option("repeat", WHOLE_NUMBER, "Runs of which the fastest gives the seconds.", "1"),
        Option("against", choice({word: word for word in ("evaluations", "seconds", "both")}), "Work in the picture.",
               "both"),
        Option("plot", FILE, "Draw the errors over the work into .png, .pdf or .svg."),
        Option("csv", FILE, "Write all runs, one line per run, quantity and norm."),
    ]  # fmt: skip


def work_precision_command(tokens: list[str]) -> Callable:
    """Return the command with the options of the problem and schemes that the tokens name."""
    source = settings.find_source(tokens)
    names = (option_value(tokens, "--scheme") or DEFAULT_SCHEMES).split(",")
    own = family("study", "Options", own_options())
    schemes = settings.scheme_families(tokens, names, [own])
    problem = settings.problem_family(source, [own, *schemes])

    def action(word: str | None, given: dict[str, dict[str, Any]]) -> int:
        if source is None or word is None:
            raise SettingError("PROBLEM is missing: name one of saltus list problems, or FILE.py:NAME")
        made = settings.build_problem(source, problem, given["problem"])
        runs = [_run(name, given["scheme"], given.get("solver", {})) for name in names]
        return work_precision(made, runs, given["study"])

    return command(action, WORK_PRECISION_DOC, [own, problem, *schemes], PROBLEM)


def _run(name: str, fields: dict[str, Any], solver: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of solve; where tolerances are swept, one that was given has to count before them."""
    tolerances = {field: fields[field] for field in ("rtol", "atol") if field in fields}
    rest = {field: value for field, value in fields.items() if field not in tolerances}
    scheme = settings.build_scheme(name, rest, solver)
    if traits_of(scheme).adaptive:
        return {"scheme": scheme, **tolerances}
    return {"scheme": settings.build_scheme(name, fields, solver)}


def work_precision(problem: Problem, runs: list[dict[str, Any]], given: dict[str, Any]) -> int:
    """Check files, run the study, print and write its table."""
    from saltus import study  # here, because it is needed by this command only

    fixed = [run["scheme"] for run in runs if not traits_of(run["scheme"]).adaptive]
    h = given.get("h_max")
    if fixed:
        h = settings.step_size(h, problem, "--h-max", 100)
    settings.check_files(given.get("csv"))
    settings.check_picture(given.get("plot"))
    reference = None
    if "reference_h" in given:
        if not fixed:
            raise SettingError("--reference-h needs a scheme with fixed steps: leave it out or add one to --scheme")
        reference = solve(problem, scheme=fixed[0], h=given["reference_h"])
    named = ("tols", "levels", "quantities", "norms", "where", "repeat")
    chosen = {name: given[name] for name in named if name in given}
    made = study.work_precision(problem, runs, h=h, reference=reference, **chosen)
    print(made)
    if "csv" in given:
        made.to_csv(given["csv"])
        print(f"written {given['csv']}")
    if "plot" in given:
        made.plot(path=given["plot"], against=given.get("against", "both"))
        print(f"written {given['plot']}")
    if made.interrupted:
        print(f"saltus: interrupted after {len(made.points)} runs", file=sys.stderr)
        return INTERRUPTED
    return DONE
