"""saltus diagnose: whether a motion depends continuously on its data at a position (Paoli's conditions)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cyclopts import Parameter

from saltus.cli import settings
from saltus.cli.options import Option, command, family
from saltus.cli.report import DONE
from saltus.cli.values import REAL_NUMBER, vector
from saltus.errors import SettingError

PROBLEM = Parameter(
    name="PROBLEM", help="A problem of the library (saltus list problems), or FILE.py:NAME for your own."
)
DIAGNOSE_DOC = """Say whether the motion depends continuously on its data at a position.

$ saltus diagnose newtons-cradle
$ saltus diagnose clattering-rod --at 0,0
$ saltus diagnose my_model.py:wedge --at 0,0 --time 0.5

Paoli's conditions on the contacts that are closed there: independent gradients (H'4), and kinetic angles that are right, or obtuse where no contact of the pair restitutes (H'5). Where they fail, neighbouring starts may lead far apart, and no scheme can be expected to converge to one motion.
"""  # noqa: E501  the terminal decides where lines end


def own_options() -> list[Option]:
    """Return the options of the command itself."""
    return [
        Option("at", vector(), "Position to look at, one number per coordinate; the start of the problem by default."),
        Option("time", REAL_NUMBER, "Time [s] for contacts that move; the start of the problem by default."),
        Option("closed_tolerance", REAL_NUMBER, "Gap [m] up to which a contact counts as closed.", "1e-8"),
    ]


def diagnose_command(tokens: list[str]) -> Callable:
    """Return the command with the options of the problem that the tokens name."""
    source = settings.find_source(tokens)
    own = family("diagnose", "Options", own_options())
    problem = settings.problem_family(source, [own])

    def action(word: str | None, given: dict[str, dict[str, Any]]) -> int:
        if source is None or word is None:
            raise SettingError("PROBLEM is missing: name one of saltus list problems, or FILE.py:NAME")
        made, own_given = settings.build_problem(source, problem, given["problem"]), given["diagnose"]
        tolerance = own_given.get("closed_tolerance", 1e-8)
        print(made.diagnose(own_given.get("at"), t=own_given.get("time"), closed_tolerance=tolerance))
        return DONE

    return command(action, DIAGNOSE_DOC, [own, problem], PROBLEM)
