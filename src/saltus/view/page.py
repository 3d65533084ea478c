"""Page: one HTML file with our own style and script, which needs no network; the data is in it."""

from __future__ import annotations

import html
from importlib import resources

SCRIPTS = ("unpack", "motion", "clock", "plane", "space", "contacts", "plots", "timeline", "list", "page")


def page(title: str, data: str) -> str:
    """Return the page of packed data."""
    folder = resources.files("saltus.view") / "page"
    parts = {
        "title": html.escape(title),
        "style": (folder / "page.css").read_text(encoding="utf-8"),
        "script": "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS),
        "data": data,
    }
    made = (folder / "page.html").read_text(encoding="utf-8")
    for name, text in parts.items():  # the data last: nothing in it is a place to fill
        made = made.replace("{{" + name + "}}", text, 1)
    return made
