"""saltus run: integrate one problem with one scheme."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from cyclopts import Parameter

from saltus.cli import checkpoints, settings
from saltus.cli.describe import first_line, prose
from saltus.cli.names import Source, control_classes, scheme_classes
from saltus.cli.options import Option, command, family, option_value
from saltus.cli.report import finish
from saltus.cli.values import FILE, REAL_NUMBER, WORD_READER, YES_NO, Reader, choice, vector
from saltus.cli.view import check_view
from saltus.errors import SettingError
from saltus.problem import Problem
from saltus.schemes.traits import traits_of
from saltus.solve import solve

DEFAULT_SCHEME = "hp-tdg"  # that of solve(), also where a step size is given, which is then the first one to try
PROBLEM = Parameter(
    name="PROBLEM", help="A problem of the library (saltus list problems), or FILE.py:NAME for your own."
)
RUN_DOC = """Integrate a problem over its time span and say what happened.

$ saltus run zeno-ball
$ saltus run zeno-ball --tol 1e-8 --e 0.8 --t-end 6 --plot ball.png
$ saltus run slider-crank-bodies --view run.html
$ saltus run zeno-ball --scheme moreau-jean --h 1e-3
$ saltus run zeno-ball --scheme event-driven --tol 1e-8
$ saltus run zeno-ball --tol 1e-8 --verify
$ saltus run zeno-ball --scheme moreau-jean --tol 1e-4 --control richardson --control-order 1
$ saltus run my_model.py:problem --save run.h5

saltus run PROBLEM --help lists the parameters of a problem, with --scheme NAME those of another scheme. In your own FILE.py, NAME is a Problem or a function that returns one, whose parameters become options.
"""  # noqa: E501  the terminal decides where lines end


def keep(text: str) -> str | int:
    """Read what to keep: a word or a number of steps."""
    if text in ("steps", "events"):
        return text
    if not text.isdecimal() or int(text) < 1:
        raise ValueError("steps, events, or a number k to keep every k-th step")
    return int(text)


def own_options() -> list[Option]:
    """Return the options of the command itself."""
    schemes = ", ".join(scheme_classes())
    return [
        Option("scheme", WORD_READER, f"Time-stepping scheme: {schemes}.", DEFAULT_SCHEME),
        Option(
            "h",
            REAL_NUMBER,
            "Step size [s]; for schemes that choose their steps the first one to try. Else required.",
        ),
        Option("tol", REAL_NUMBER, "Tolerance of schemes that estimate their error; hp-tdg: 1e-6."),
        Option("control", WORD_READER, f"What chooses the steps of a tolerance: {', '.join(control_classes())}."),
        Option("breaks", vector(), "Times at which the force jumps [s]: steps end there."),
        Option("keep", Reader("steps|events|K", keep), "Keep all steps, those with events, or every K-th.", "steps"),
        Option("verify", YES_NO, "Run once more, with smaller tolerance and other steps, and compare.", "false"),
        Option("plot", FILE, "Draw positions, velocities, gaps and impulses into .png, .pdf or .svg."),
        Option("view", FILE, "Write a page that plays the run (.html), a film (.mp4, .gif) or .glb."),
        Option("save", FILE, "Write the whole solution, to be read by saltus.load()."),
        Option("checkpoint", FILE, "Write the state of the run now and then, for saltus resume."),
        Option("checkpoint_every", REAL_NUMBER, "Time between checkpoints [s of wall clock].", "60"),
        Option(
            "progress",
            choice({"auto": None, "always": True, "never": False}),
            "Show a bar when it takes more than a second; auto: on terminals.",
            "auto",
        ),
    ]


def run_command(tokens: list[str]) -> Callable:
    """Return the command with the options of the problem and scheme that the tokens name."""
    source = settings.find_source(tokens)
    scheme = option_value(tokens, "--scheme") or DEFAULT_SCHEME
    own = family("run", "Options", own_options())
    schemes = settings.scheme_families(tokens, [scheme], [own])
    controls = settings.control_families(tokens)
    problem = settings.problem_family(source, [own, *schemes, *controls])

    def action(word: str | None, given: dict[str, dict[str, Any]]) -> int:
        if source is None or word is None:
            raise SettingError("PROBLEM is missing: name one of saltus list problems, or FILE.py:NAME")
        made = settings.build_problem(source, problem, given["problem"])
        method = settings.build_scheme(scheme, given["scheme"], given.get("solver", {}))
        note = settings.specification(source, given["problem"])
        tolerances = {name: given["scheme"][name] for name in ("rtol", "atol") if name in given["scheme"]}
        control = settings.build_control(given["run"].get("control"), given.get("control", {}))
        return run(made, method, note, given["run"], tolerances, control)

    return command(action, document(RUN_DOC, source), [own, problem, *schemes, *controls], PROBLEM)


def document(doc: str, source: Source | None) -> str:
    """Return the help text, which is that of the problem when there is one."""
    if source is None:
        return doc
    if isinstance(source.found, Problem):
        return f"Run {source.short}."
    module = sys.modules.get(source.found.__module__)
    lead = first_line(module) if source.found.__module__.startswith("saltus.") else ""
    return "\n\n".join(part for part in (lead, prose(source.found)) if part)


def run(
    problem: Problem, scheme, note: str, given: dict[str, Any], tolerances: dict[str, float], control: Any = None
) -> int:
    """Check files, integrate and report; tolerances: rtol and atol where they were given, which count before tol."""
    h = given.get("h")
    tolerant = given.get("tol") is not None or bool(tolerances)
    follows = tolerant and h is None and not traits_of(scheme).fixed_step  # steps by the control of solve
    if not traits_of(scheme).adaptive and not follows:
        h = settings.step_size(h, problem, "--h", 1000)
    save, plot = given.get("save"), given.get("plot")
    settings.check_files(save, given.get("checkpoint"))
    settings.check_picture(plot)
    check_view(given.get("view"))
    options = checkpoints.solve_options(given.get("checkpoint"), given.get("checkpoint_every"))

    def compute():
        with checkpoints.noted(given.get("checkpoint"), note):
            return solve(
                problem,
                scheme=scheme,
                h=h,
                tol=given.get("tol"),
                control=control,
                **tolerances,
                breaks=given.get("breaks", ()),
                save=given.get("keep", "steps"),
                progress=given.get("progress"),
                verify=bool(given.get("verify")),
                **options,
            )

    return finish(compute, save, plot, note, given.get("view"))
