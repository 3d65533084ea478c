"""What docstrings say about parameters: numpydoc sections, or running text such as `mass [kg], e [-] in [0, 1]`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

UNIT = re.compile(r"\[[^\]\d][^\]]*\]")


def first_line(thing: Any) -> str:
    """Return the first line of a docstring without its full stop."""
    lines = (inspect.getdoc(thing) or "").strip().splitlines()
    return lines[0].rstrip(".") if lines else ""


def prose(thing: Any) -> str:
    """Return a docstring without its section of parameters."""
    return re.split(r"\n\nParameters\n-+\n", inspect.getdoc(thing) or "")[0]


def parameter_texts(thing: Any, names: Iterable[str]) -> dict[str, str]:
    """Return what the docstring of a function or class says about each of its parameters; missing ones are left out."""
    text = inspect.getdoc(thing) or ""
    _, section, body = text.partition("\nParameters\n")
    return _numpydoc(body) if section else _running(text, list(names))


def _numpydoc(body: str) -> dict[str, str]:
    """Read `name : text` or `name, name` with indented lines below."""
    found: dict[str, str] = {}
    current: list[str] = []
    for line in body.splitlines()[1:]:
        if re.match(r"-{3,}$", line):
            break  # the next section
        if line and not line[0].isspace():
            head, _, rest = line.partition(" : ")
            current = head.split(", ")
            found |= dict.fromkeys(current, rest.strip())
        elif line.strip():
            for name in current:
                found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _running(text: str, names: list[str]) -> dict[str, str]:
    """Read a list in running text; `l1, l2 lengths [m]` speaks of both."""
    body = " ".join(text.partition("\n\n")[2].split())
    places: list[tuple[int, int, str]] = []
    for name in names:
        word = re.escape(name)
        # a name begins a clause, or stands before its unit
        match = re.search(rf"(?:^|[,.;] |\band ){word}(?=[ ,.:]|$)|(?<=\s){word}(?= \[)", body)
        if match:
            places.append((match.end() - len(name), match.end(), name))
    places.sort()
    found: dict[str, str] = {}
    said = ""
    for k in reversed(range(len(places))):
        _, end, name = places[k]
        stop = places[k + 1][0] if k + 1 < len(places) else len(body)
        piece = re.split(r"[.;] |\.$", body[end:stop])[0]
        joined = piece.rstrip().endswith(" and")
        words = re.sub(r"(,|\band)\s*$", "", piece.strip(" :")).strip(" ,:")
        if not words or words == "and":
            words = said
        elif joined and not UNIT.search(words) and UNIT.search(said):
            words = f"{words} {UNIT.search(said).group()}"  # pyright: ignore[reportOptionalMemberAccess]
        found[name] = said = words
    return found
