"""A store: a folder of chunks, each written once under another name and renamed; what is there is done.

    ensemble.json                     what it belongs to: digest of model, settings and rows, CPU level, C library
    chunk-000000000-000001000.npz     what is left of runs 0 to 999

After kill -9, the same call finds the chunks that are there and makes the others. A store of something else is refused.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import platform
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from saltus.compile import code, library
from saltus.ensemble.blueprint import packed_reduced, reduced_from
from saltus.ensemble.engine import Reduced
from saltus.errors import FileError, FileFormatError, SettingError
from saltus.io.format import clear_parts, replace, version
from saltus.sweep.job import Chunk

CHUNK_NAME = re.compile(r"chunk-(\d{9})-(\d{9})\.npz")
DIFFERENCE_WORDS = {
    "model": "the model, its settings or what is measured", "rows": "parameters or starts of the runs",
    "runs": "the number of runs", "cpu": "the level of the processor", "libm": "the C library",
    "version": "the version of saltus", "format": "the format",
}  # fmt: skip


def machine() -> dict[str, str]:
    """Return what bits depend on beside model and settings: the level of the processor and the C library."""
    level = "none" if code.interpreting() else library.levels()[0]
    return {"cpu": level, "libm": "-".join(platform.libc_ver()) or platform.platform()}


class Store:
    """A folder of chunks.

    Parameters
    ----------
    folder
        Made where it is missing.
    about
        What the store belongs to; must be the same as what is in the folder already.
    chunk
        Runs of one chunk; that of the folder where there is one.
    """

    def __init__(self, folder: str | os.PathLike, about: dict[str, Any], chunk: int):
        if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
            raise SettingError(f"store is {folder!r}: give the name of a folder")
        self.folder = pathlib.Path(folder)
        about = {"format": 1, "version": version(), **machine(), **about}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"store {folder} cannot be made: {error.strerror}") from error
        place = self.folder / "ensemble.json"
        if place.exists():
            known = self._known(place)
            other = [key for key in DIFFERENCE_WORDS if known.get(key) != about.get(key)]
            if other:
                said = ", ".join(DIFFERENCE_WORDS[key] for key in other)
                raise SettingError(
                    f"store {folder} belongs to another sweep: it differs in {said}; take another folder"
                )
            self.chunk = int(known["chunk"])
        else:
            if any(not found.name.endswith(".part") for found in self.folder.iterdir()):
                raise SettingError(f"store {folder} is a folder with other files in it: give one of its own")
            self.chunk = chunk
            replace(place, [json.dumps({**about, "chunk": chunk}, indent=1).encode()])

    def _known(self, place: pathlib.Path) -> dict[str, Any]:
        try:
            known = json.loads(place.read_bytes())
            if isinstance(known, dict) and isinstance(known["chunk"], int) and known["chunk"] > 0:
                return known
        except (OSError, ValueError, KeyError):
            pass
        raise FileFormatError(f"{place} does not say what the store holds: take another folder")

    def path(self, chunk: Chunk) -> pathlib.Path:
        """Return where a chunk lies."""
        return self.folder / f"chunk-{chunk[0]:09d}-{chunk[1]:09d}.npz"

    def put(self, chunk: Chunk, made: Reduced) -> None:
        """Write a chunk: it is there as a whole, or not at all."""
        replace(self.path(chunk), [packed_reduced(made)])
        clear_parts(self.path(chunk))  # of programs that were killed while they wrote it

    def get(self, chunk: Chunk) -> Reduced | None:
        """Return a chunk; None where it is not there or cannot be read, so that it is made again."""
        path = self.path(chunk)
        if not path.exists():
            return None
        try:
            made = reduced_from(path.read_bytes())
        except Exception:  # a damaged zip raises what it likes
            return None
        return made if len(made) == chunk[1] - chunk[0] else None

    def missing(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks that are not there."""
        return [chunk for chunk in chunks if not self.path(chunk).exists()]


def chunks_of(runs: int, size: int) -> list[Chunk]:
    """Return all chunks of some runs."""
    ends = np.append(np.arange(0, runs, size), runs).tolist()
    return list(itertools.pairwise(ends))
