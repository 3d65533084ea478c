"""A process that makes runs for another one: engines and rows come in as bytes, what is left of the runs goes out.

`python -m saltus.ensemble.worker` reads frames from its standard input and writes frames to its standard output; a
frame is its length, eight bytes, and its content. First comes the blueprint of an engine, answered by a frame of eight
bytes when it is ready, then rows, each answered by frames of eight bytes that say how many runs are done, and at last
the result.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from typing import IO

from saltus.ensemble.blueprint import digest_of, engine_of, packed_reduced, rows_from
from saltus.ensemble.engine import Engine
from saltus.ensemble.lane import Lane


class _Mine(threading.local):
    """Engine and lane that this thread used last."""

    digest: str = ""
    engine: Engine
    lane: Lane


_mine = _Mine()


def made_runs(blueprint: bytes, rows: bytes) -> bytes:
    """Make runs; for schedulers that call functions on other machines."""
    digest = digest_of(blueprint)
    if _mine.digest != digest:
        _mine.engine = engine_of(blueprint)
        _mine.lane = _mine.engine.lane()
        _mine.digest = digest
    return packed_reduced(_mine.engine.make_runs(_mine.lane, rows_from(rows)))


def send(file: IO[bytes], content: bytes) -> None:
    """Write one frame."""
    file.write(len(content).to_bytes(8, "little"))
    file.write(content)
    file.flush()


def receive(file: IO[bytes]) -> bytes | None:
    """Read one frame; None where the other side is gone."""
    length = file.read(8)
    if len(length) < 8:
        return None
    size = int.from_bytes(length, "little")
    content = file.read(size)
    return content if len(content) == size else None


def main() -> None:
    """Serve one parent until it closes the pipe."""
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what somebody prints must not look like a frame
    blueprint = receive(incoming)
    if blueprint is None:
        return
    engine = engine_of(blueprint)
    lane = engine.lane()
    _tell(outgoing, 0)
    while (rows := receive(incoming)) is not None:
        told = functools.partial(_tell, outgoing)
        send(outgoing, packed_reduced(engine.make_runs(lane, rows_from(rows), told)))


def _tell(outgoing: IO[bytes], done: int) -> None:
    send(outgoing, done.to_bytes(8, "little"))


if __name__ == "__main__":
    main()
