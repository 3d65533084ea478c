"""saltus plot: a figure of a saved run."""

from __future__ import annotations

import os
from typing import Annotated, Any

from cyclopts import Parameter

from saltus.cli.info import RUN_FILE, loaded
from saltus.errors import SettingError

# what each figure takes of the options x, y, contact, period
PICTURES = {
    "run": (),
    "steps": (),
    "phase": ("x", "y"),
    "gantt": (),
    "energy": (),
    "impact-map": ("contact",),
    "section": ("x", "y", "period", "event"),
    "spectrum": ("x",),
    "friction-cone": ("contact",),
    "strobe": (),
}
OVER_TIME = ("run", "gantt", "energy")
WIDTH_WORDS = {"one": "one column", "two": "two columns"}


def plot_command(
    run: Annotated[str | None, RUN_FILE] = None,
    /,
    *,
    kind: Annotated[str, Parameter(metavar="NAME", help=f"One of {', '.join(PICTURES)}.")] = "run",
    out: Annotated[
        str | None, Parameter(metavar="FILE", help="Where it goes: .pdf, .svg or .png. [default: RUN-KIND.pdf]")
    ] = None,
    time: Annotated[str, Parameter(metavar="time|event", help="event: equal room between impacts.")] = "time",
    width: Annotated[
        str | None, Parameter(metavar="one|two|MM", help="Width: one column (85 mm), two (174 mm), millimetres.")
    ] = None,
    panels: Annotated[str | None, Parameter(metavar="NAME", help="Of the kind run: by quantity, unit or body.")] = None,
    x: Annotated[
        str | None, Parameter(help="Coordinate or velocity of phase, section, spectrum.", allow_leading_hyphen=True)
    ] = None,
    y: Annotated[str | None, Parameter(help="What stands over x; its velocity by default.")] = None,
    contact: Annotated[str | None, Parameter(help="Contact of impact-map and friction-cone.")] = None,
    period: Annotated[float | None, Parameter(help="Look once per period [s], of section.")] = None,
    event: Annotated[str | None, Parameter(help="Look at events of this name, of section.")] = None,
) -> int:
    """Draw a saved run as a figure.

    $ saltus run slider-crank-bodies --save run.h5
    $ saltus plot run.h5 --kind gantt --time event --out gantt.pdf
    $ saltus plot run.h5 --kind phase --x slider.y --width one
    $ saltus plot run.h5 --kind energy
    """
    from saltus.cli.names import suggestion
    from saltus.cli.settings import check_picture

    if kind not in PICTURES:
        raise SettingError(f"--kind is {kind!r}{suggestion(kind, PICTURES)} (kinds: {', '.join(PICTURES)})")
    given = {"x": x, "y": y, "contact": contact, "period": period, "event": event}
    given = {name: value for name, value in given.items() if value is not None}
    strange = [name for name in given if name not in PICTURES[kind]]
    if strange:
        raise SettingError(f"--{strange[0]} means nothing to --kind {kind}")
    if time != "time" and kind not in OVER_TIME:
        raise SettingError(f"--time means nothing to --kind {kind}: time is no axis of it")
    options: dict[str, Any] = {"width": _width(width)} if width is not None else {}
    options |= {"time": time} if kind in OVER_TIME else {}
    if panels is not None:
        if kind != "run":
            raise SettingError(f"--panels means nothing to --kind {kind}")
        options["panels"] = panels
    solution = loaded(run)
    place = out or f"{os.path.splitext(str(run))[0]}-{kind}.pdf"
    check_picture(place)
    _draw(solution, kind, given, options, place)
    print(f"  {'written':<12} {place}")
    return 0


def _width(text: str) -> str | float:
    if text in WIDTH_WORDS:
        return WIDTH_WORDS[text]
    try:
        return float(text)
    except ValueError as error:
        raise SettingError(f"--width is {text!r}: it must be one, two or millimetres") from error


def _draw(solution, kind: str, given: dict[str, Any], options: dict[str, Any], place: str) -> None:
    from saltus import plot

    if kind == "run":
        plot.plot_solution(solution, path=place, **options)
    elif kind == "steps":
        if options:
            raise SettingError("--width means nothing to --kind steps")
        plot.plot_steps(solution, path=place)
    elif kind == "spectrum":
        plot.spectrum(solution, _column(given.get("x", "0")), path=place, **options)
    else:
        for name in ("x", "y"):
            if name in given:
                given[name] = _column(given[name])
        getattr(plot, kind.replace("-", "_"))(solution, **given, path=place, **options)


def _column(text: str) -> str | int:
    """Return a column by number where a number was typed."""
    return int(text) if text.lstrip("-").isdecimal() else text
