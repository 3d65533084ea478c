"""Checkpoints of runs from the command line: beside FILE lies FILE.json, which says how to build the problem again."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any

from saltus.cli.settings import rebuilt
from saltus.errors import SettingError
from saltus.problem import Problem

EVERY = 60.0  # seconds of wall clock between checkpoints


def solve_options(path: str | None, every: float | None, note: str) -> dict[str, Any]:
    """Return what solve() must be told to write checkpoints, and write down the problem they belong to."""
    if path is None:
        if every is not None:
            raise SettingError("--checkpoint-every needs --checkpoint FILE")
        return {}
    _write(_beside(path), note)
    return {"checkpoint": path, "checkpoint_every": EVERY if every is None else every}


def problem_of(path: str) -> Problem:
    """Return the problem of a checkpoint that `saltus run` wrote."""
    if not pathlib.Path(path).is_file():
        raise SettingError(f"there is no checkpoint {path}")
    beside = _beside(path)
    if not beside.is_file():
        raise SettingError(f"{beside} is missing, which names its problem: use saltus.resume(path, problem) in Python")
    return rebuilt(beside.read_text(encoding="utf-8"))


def _beside(path: str) -> pathlib.Path:
    return pathlib.Path(path + ".json")


def _write(path: pathlib.Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        handle, part = tempfile.mkstemp(dir=path.resolve().parent, prefix=path.name, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(part, path)
    except OSError as error:
        raise SettingError(f"{path} cannot be written: {error.strerror}") from error
