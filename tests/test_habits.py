"""Habits of the whole project, read from its sources: encodings are named, and no test asserts a wall clock."""

from __future__ import annotations

import ast
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = sorted(path for folder in ("src", "tests", "bench", "examples") for path in (ROOT / folder).rglob("*.py"))
CLOCKS = {"perf_counter", "monotonic", "process_time"}


def calls() -> list[tuple[str, ast.Call]]:
    """Return the calls of all files that may read or write text, with their places."""
    found = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in ("_text(", "open(", "text=", "newlines=")):
            continue  # most files read and write nothing, and parsing them all takes seconds
        tree = ast.parse(text)
        nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        found += [(f"{path.relative_to(ROOT)}:{node.lineno}", node) for node in nodes]
    return found


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def opens_text(call: ast.Call) -> bool:
    """Whether a call of open or fdopen opens text: a mode without b."""
    place = 0 if isinstance(call.func, ast.Attribute) and call.func.attr == "open" else 1
    modes = [word.value for word in call.keywords if word.arg == "mode"] + call.args[place : place + 1]
    mode = modes[0].value if modes and isinstance(modes[0], ast.Constant) else "r"
    return isinstance(mode, str) and "b" not in mode


def is_open(call: ast.Call) -> bool:
    """Whether this is the built-in open, os.fdopen, or open of a path; os.open and Pillow give no text."""
    of = getattr(call.func.value, "id", "") if isinstance(call.func, ast.Attribute) else ""
    return name_of(call.func) == "fdopen" or (
        name_of(call.func) == "open" and of not in ("os", "self", "image", "Image")
    )


def test_every_read_and_write_of_text_names_its_encoding():
    silent = []
    for place, call in calls():
        words, name = {word.arg for word in call.keywords}, name_of(call.func)
        if name in ("read_text", "write_text") and "encoding" not in words:
            silent.append(place)
        if is_open(call) and opens_text(call) and "encoding" not in words and "buffering" not in words:
            silent.append(place)
        if words & {"text", "universal_newlines"} and words & {"stdout", "capture_output", "stdin"}:
            silent.append(place)
    assert silent == []


def test_no_test_asserts_a_wall_clock():
    timed = []
    for path in sorted((ROOT / "tests").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert) and {getattr(part, "attr", "") for part in ast.walk(node)} & CLOCKS:
                timed.append(f"{path.name}:{node.lineno}")
    assert timed == []
