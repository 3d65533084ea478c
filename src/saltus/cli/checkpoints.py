"""Checkpoints of runs from the command line: beside FILE lies FILE.json, which says how to build the problem again."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

from saltus.errors import SettingError
from saltus.io.format import regular_bytes

LONGEST_NOTE = 1 << 20  # bytes of what names a problem
EVERY = 60.0  # seconds of wall clock between checkpoints


def solve_options(path: str | None, every: float | None) -> dict[str, Any]:
    """Return what solve() must be told to write checkpoints."""
    if path is None and every is not None:
        raise SettingError("--checkpoint-every needs --checkpoint FILE")
    return {} if path is None else {"checkpoint": path, "checkpoint_every": EVERY if every is None else every}


@contextlib.contextmanager
def noted(path: str | None, note: str) -> Iterator[None]:
    """Write down the problem of a checkpoint; a run that ends before its first one leaves everything as it was."""
    if path is None:
        yield
        return
    beside, before = _beside(path), _state(path)
    old = beside.read_bytes() if beside.is_file() else None
    _write(beside, f"{note}\n".encode())
    try:
        yield
    finally:
        if _state(path) == before:
            beside.unlink() if old is None else _write(beside, old)


def _state(path: str) -> tuple[int, int] | None:
    """Return what changes when a file is replaced."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def note_of(path: str) -> str:
    """Return how to build the problem of a checkpoint that `saltus run` wrote."""
    if not pathlib.Path(path).is_file():
        raise SettingError(f"there is no checkpoint {path}")
    beside = _beside(path)
    if not beside.is_file():
        raise SettingError(f"{beside} is missing, which names its problem: use saltus.resume(path, problem) in Python")
    return regular_bytes(beside, LONGEST_NOTE).decode("utf-8", "replace").strip()


def _beside(path: str) -> pathlib.Path:
    return pathlib.Path(path + ".json")


def _write(path: pathlib.Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    try:
        handle, part = tempfile.mkstemp(dir=path.resolve().parent, prefix=path.name, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, path)
    except OSError as error:
        raise SettingError(f"{path} cannot be written: {error.strerror}") from error
