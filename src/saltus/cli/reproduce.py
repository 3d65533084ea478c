"""saltus reproduce: published experiments run anew, measured orders and slopes beside the expected ones."""

from __future__ import annotations

import inspect
import pathlib
import sys
from collections.abc import Callable
from typing import Any

from cyclopts import Parameter

from saltus.cli import settings
from saltus.cli.convergence import written_words
from saltus.cli.names import suggestion
from saltus.cli.options import Option, command, family
from saltus.cli.report import DONE, INTERRUPTED
from saltus.cli.values import FILE, WHOLE_TEXT, YES_NO, Reader
from saltus.errors import SettingError

REPRODUCTION_FAMILIES = ("orders", "violation", "variable-order", "implicit", "half-explicit", "splitting")
TAKES = {"figures-5-7": "half a minute", "lecture": "a minute", "lecture-orders": "half a minute"}
REPRODUCTION_NAME = Parameter(
    name="NAME", help="What to reproduce: figures-5-7, lecture, lecture-orders, paoli or delassus."
)
TABLE_BEGIN, TABLE_END = "<!-- saltus reproduce {name} -->", "<!-- end of {name} -->"  # around its tables in a document
REPRODUCE_DOC = """Run published experiments anew and print measured orders beside the expected ones.

$ saltus reproduce figures-5-7 --out figures.png
$ saltus reproduce figures-5-7 --quick --degrees 1,2
$ saltus reproduce lecture --out lecture.png --csv lecture.csv
$ saltus reproduce lecture-orders --out orders.png
$ saltus reproduce paoli --into docs/papers.md

figures-5-7: bouncing ball in free flight, at rest, and with impacts that accumulate (Schindler, Acary 2014), by D-, D+ and Moreau-Jean with theta = 1. Errors are averaged over runs with slightly different steps; an error that is nothing but rounding is called exact.

lecture: errors against work for the bouncing ball and a linear oscillator (Acary, Lecture 2, Aussois 2010): Moreau-Jean with steps by Richardson's estimates of order 0, 1 and 2, with the violation of the constraint and with variable order, schemes of any order by implicit and half-explicit methods, splitting with constant and adaptive steps.

lecture-orders: its first half, orders of Moreau-Jean, Schatzman-Paoli and splitting in L1, L2, Linf and as filled-in graphs.

paoli: his ball against its closed form, and corners of two constraints that his conditions allow or not (Lyon 2008).

delassus: why a contact must not be dropped because its bilateral force is negative.
"""  # noqa: E501  the terminal decides where lines end


def _degrees(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(WHOLE_TEXT.fullmatch(part) for part in parts):
        raise ValueError("whole numbers with commas and no spaces between them, such as 1,2,3")
    return tuple(int(part) for part in parts)


def own_options() -> list[Option]:
    """Return the options of the command."""
    return [
        Option("out", FILE, "Draw the errors over the step size or the work into .png, .pdf or .svg."),
        Option("csv", FILE, "Write the table; of lecture all runs, one line per run and quantity."),
        Option("into", FILE, "Write the tables into a Markdown file, between its comments that name the reproduction."),
        Option("quick", YES_NO, "Fewer and larger step sizes: seconds instead of a minute.", "false"),
        Option("degrees", Reader("M,M,...", _degrees), "figures-5-7: degrees of D- and D+, 1 to 12.", "1,2,3,4,5,6"),
        Option(
            "families",
            written_words(REPRODUCTION_FAMILIES),
            f"lecture: any of {', '.join(REPRODUCTION_FAMILIES)}.",
            "all",
        ),
    ]


def reproduce_command() -> Callable:
    """Return the command."""
    own = family("reproduction", "Options", own_options())
    return command(lambda word, given: reproduce(word, given["reproduction"]), REPRODUCE_DOC, [own], REPRODUCTION_NAME)


def reproduce(word: str | None, given: dict[str, Any]) -> int:
    """Check name and file, run, print the table, write and draw it."""
    from saltus.study.records import csv_text  # here, because they are needed by this command only
    from saltus.study.reproductions import REPRODUCTIONS

    if word is None:
        raise SettingError(f"NAME is missing: write saltus reproduce {' or '.join(REPRODUCTIONS)}")
    names = {_plain(name): name for name in REPRODUCTIONS}
    if _plain(word) not in names:
        near, known = suggestion(word, REPRODUCTIONS), ", ".join(REPRODUCTIONS)
        raise SettingError(f"no reproduction is called {word!r}{near} (reproductions: {known})")
    name = names[_plain(word)]
    run = REPRODUCTIONS[name]
    chosen = {field: value for field, value in given.items() if field not in ("out", "csv", "into")}
    for field in chosen:
        if field not in inspect.signature(run).parameters:
            raise SettingError(f"{name} has no --{field}: leave it out")
    settings.check_files(given.get("csv"))
    settings.check_picture(given.get("out"))
    if "into" in given:
        _between(given["into"], name)
    if sys.stderr.isatty() and "quick" not in chosen and name in TAKES:
        print(f"saltus: {name} takes about {TAKES[name]}, and more where kernels are compiled first", file=sys.stderr)
    made = run(**chosen)
    print(made)
    if "csv" in given:
        rows = made.rows()
        csv_text(list(rows[0]) if rows else [], rows, given["csv"])
        print(f"written {given['csv']}")
    if "into" in given:
        write_into(given["into"], name, made)
        print(f"written {given['into']}")
    if "out" in given:
        made.plot(path=given["out"])
        print(f"written {given['out']}")
    return INTERRUPTED if getattr(made, "interrupted", False) else DONE


def write_into(path: str, name: str, made: Any) -> None:
    """Replace the tables of a reproduction in a Markdown file."""
    if not hasattr(made, "markdown"):
        raise SettingError(f"{name} has no tables for documents: leave --into out")
    before, after = _between(path, name)
    pathlib.Path(path).write_text(f"{before}\n\n{made.markdown()}\n\n{after}", encoding="utf-8")


def _between(path: str, name: str) -> tuple[str, str]:
    """Return what a document has before and behind the tables of a reproduction, its comments included."""
    begin, end = TABLE_BEGIN.format(name=name), TABLE_END.format(name=name)
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error}; --into needs a file with {begin} and {end}") from error
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SettingError(f"{path} has no place for the tables: put {begin} and {end} where they belong")
    return before + begin, end + after


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
