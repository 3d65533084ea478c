"""saltus convergence: errors over step sizes, with their orders."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from saltus.cli import settings
from saltus.cli.names import scheme_classes
from saltus.cli.options import Option, command, family, option_value
from saltus.cli.run import PROBLEM
from saltus.cli.values import FILE, REAL_NUMBER, WHOLE_NUMBER, WORD_READER, Reader
from saltus.errors import SettingError
from saltus.problem import Problem
from saltus.schemes.traits import traits_of
from saltus.solve import solve

STUDIED_SCHEME = "moreau-jean"  # one with a step size
QUANTITIES = ("q", "v", "impulse")
NORM_CHOICES = ("L1", "L2", "Linf", "hausdorff")
CONVERGENCE_DOC = """Measure how the errors of schemes shrink with the step size.

$ saltus convergence zeno-ball --h-max 0.02
$ saltus convergence zeno-ball --h-max 0.02 --scheme moreau-jean,paoli-velocity

On every level the step size is halved. The errors of several runs with slightly different steps are averaged, because an error depends on where in its step an impact falls; the order is the slope over all levels. Parameters of schemes go to every scheme that has them.
"""  # noqa: E501  the terminal decides where lines end


def _words(known: tuple[str, ...], text: str) -> tuple[str, ...]:
    words = tuple(text.split(","))
    if any(word not in known for word in words):
        raise ValueError(f"one or more of {', '.join(known)}, with commas between them")
    return words


def written_words(known: tuple[str, ...]) -> Reader:
    """Return the reader of some words of a list, with commas between them."""
    return Reader("NAMES", functools.partial(_words, known))


def own_options() -> list[Option]:
    """Return the options of the command itself."""
    schemes = ", ".join(scheme_classes())
    return [
        Option("scheme", WORD_READER, f"One or more schemes with commas between them: {schemes}.", STUDIED_SCHEME),
        Option("h_max", REAL_NUMBER, "Largest step size [s]. Required."),
        Option("levels", WHOLE_NUMBER, "How often the step size is halved, plus one; 4 or more.", "5"),
        Option("grids", WHOLE_NUMBER, "Runs per level; 6 or more give orders one can trust.", "6"),
        Option("quantities", written_words(QUANTITIES), "Any of q, v, impulse.", "all"),
        Option("norms", written_words(NORM_CHOICES), f"Any of {', '.join(NORM_CHOICES)}.", "L1"),
        Option("reference_h", REAL_NUMBER, "Compare with a run of the first scheme at this step size [s] instead of "
               "the exact solution."),
        Option("plot", FILE, "Draw the errors over the step size into .png, .pdf or .svg."),
        Option("csv", FILE, "Write all errors, one line per run, quantity and norm."),
    ]  # fmt: skip


def convergence_command(tokens: list[str]) -> Callable:
    """Return the command with the options of the problem and schemes that the tokens name."""
    source = settings.find_source(tokens)
    names = (option_value(tokens, "--scheme") or STUDIED_SCHEME).split(",")
    own = family("study", "Options", own_options())
    schemes = settings.scheme_families(tokens, names, [own])
    problem = settings.problem_family(source, [own, *schemes])

    def action(word: str | None, given: dict[str, dict[str, Any]]) -> int:
        if source is None or word is None:
            raise SettingError("PROBLEM is missing: name one of saltus list problems, or FILE.py:NAME")
        made = settings.build_problem(source, problem, given["problem"])
        methods = [settings.build_scheme(name, given["scheme"], given.get("solver", {})) for name in names]
        return convergence(made, methods, given["study"])

    return command(action, CONVERGENCE_DOC, [own, problem, *schemes], PROBLEM)


def convergence(problem: Problem, schemes: list, given: dict[str, Any]) -> int:
    """Check files, run the study, print and write its table."""
    from saltus import study  # here, because it is needed by this command only

    for scheme in schemes:
        if traits_of(scheme).adaptive:
            raise SettingError(
                f"{scheme.name} chooses its own steps, so that there is no order in h: take saltus work-precision"
            )
    h = settings.step_size(given.get("h_max"), problem, "--h-max", 100)
    settings.check_files(given.get("csv"))
    settings.check_picture(given.get("plot"))
    reference = None
    if "reference_h" in given:
        reference = solve(problem, scheme=schemes[0], h=given["reference_h"])
    elif problem.exact is None:
        raise SettingError(
            f"{problem.name or 'the problem'} has no exact solution: give --reference-h, a step size much smaller than "
            f"the smallest of the study"
        )
    chosen = {name: given[name] for name in ("levels", "grids", "quantities", "norms") if name in given}
    if reference is None and problem.exact is not None and problem.exact.impulse is None:
        chosen.setdefault("quantities", ("q", "v"))
    table = study.convergence(problem, schemes, h=h, reference=reference, **chosen)
    print(table)
    if "csv" in given:
        table.to_csv(given["csv"])
        print(f"written {given['csv']}")
    if "plot" in given:
        table.plot(path=given["plot"])
        print(f"written {given['plot']}")
    return 0
