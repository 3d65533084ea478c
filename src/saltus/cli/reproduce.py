"""saltus reproduce: published experiments run anew, measured orders beside the expected ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from cyclopts import Parameter

from saltus.cli import settings
from saltus.cli.names import suggestion
from saltus.cli.options import Option, command, family
from saltus.cli.values import FILE, SWITCH, WHOLE, Reader
from saltus.errors import SettingError

NAME = Parameter(name="NAME", help="What to reproduce: figures-5-7.")
DOC = """Run published experiments anew and print measured orders beside the expected ones.

$ saltus reproduce figures-5-7 --out figures.png
$ saltus reproduce figures-5-7 --quick --degrees 1,2

figures-5-7: bouncing ball in free flight, at rest, and with impacts that accumulate (Schindler, Acary 2014), by D-, D+ and Moreau-Jean with theta = 1. Errors are averaged over runs with slightly different steps; an error that is nothing but rounding is called exact.
"""  # noqa: E501  the terminal decides where lines end


def _degrees(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(WHOLE.fullmatch(part) for part in parts):
        raise ValueError("whole numbers with commas and no spaces between them, such as 1,2,3")
    return tuple(int(part) for part in parts)


def own_options() -> list[Option]:
    """Return the options of the command."""
    return [
        Option("out", FILE, "Draw the errors over the step size into .png, .pdf or .svg."),
        Option("quick", SWITCH, "Fewer and larger step sizes: seconds instead of half a minute.", "false"),
        Option("degrees", Reader("M,M,...", _degrees), "Degrees of D- and D+, 1 to 12.", "1,2,3,4,5,6"),
    ]


def reproduce_command() -> Callable:
    """Return the command."""
    own = family("reproduction", "Options", own_options())
    return command(lambda word, given: reproduce(word, given["reproduction"]), DOC, [own], NAME)


def reproduce(word: str | None, given: dict[str, Any]) -> int:
    """Check name and file, run, print the table and draw it."""
    from saltus.study.reproductions import REPRODUCTIONS  # here, because it is needed by this command only

    if word is None:
        raise SettingError(f"NAME is missing: write saltus reproduce {' or '.join(REPRODUCTIONS)}")
    names = {_plain(name): name for name in REPRODUCTIONS}
    if _plain(word) not in names:
        near, known = suggestion(word, REPRODUCTIONS), ", ".join(REPRODUCTIONS)
        raise SettingError(f"no reproduction is called {word!r}{near} (reproductions: {known})")
    name = names[_plain(word)]
    run = REPRODUCTIONS[name]
    chosen = {field: value for field, value in given.items() if field != "out"}
    for field in chosen:
        if field not in inspect.signature(run).parameters:
            raise SettingError(f"{name} has no --{field}: leave it out")
    settings.check_picture(given.get("out"))
    made = run(**chosen)
    print(made)
    if "out" in given:
        made.plot(path=given["out"])
        print(f"written {given['out']}")
    return 0


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
