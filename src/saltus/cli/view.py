"""saltus view: look at a saved run."""

from __future__ import annotations

import os
from typing import Annotated

from cyclopts import Parameter

from saltus.errors import SettingError
from saltus.io.format import check_place

SUFFIXES = (".html", ".mp4", ".gif", ".glb")


def view_command(
    file: Annotated[str | None, Parameter(name="RUN", help="What saltus run --save FILE wrote.")] = None,
    /,
    *,
    out: Annotated[
        str | None, Parameter(metavar="FILE", help="Where it goes: .html, .mp4, .gif or .glb. [default: RUN.html]")
    ] = None,
) -> int:
    """Write a page that plays a saved run: open it in any browser, it needs no network.

    $ saltus run slider-crank-bodies --save run.h5
    $ saltus view run.h5
    $ saltus view run.h5 --out run.mp4

    Films need Chromium, or matplotlib and imageio-ffmpeg (pip install saltus[film]).
    """
    if file is None:
        raise SettingError("RUN is missing: name what saltus run --save FILE wrote")
    place = out or f"{os.path.splitext(file)[0]}.html"
    check_view(place)
    from saltus.io.results import load

    print(f"  {'written':<12} {load(file).view().save(place)}")
    return 0


def check_view(place: str | None) -> None:
    """Refuse a file that no view can be written to, before anything is computed."""
    if place is None:
        return
    if os.path.splitext(place)[1].lower() not in SUFFIXES:
        raise SettingError(f"a view cannot be written to {place!r}: it must end in {', '.join(SUFFIXES)}")
    check_place(place)
