"""Executors: who makes the runs of a sweep. Which one it is changes no bit of the result.

Serial      this thread
Threads     some threads of this process
Processes   some processes of this machine; a run that kills its process is named, the others are made
Dask        the workers of a dask.distributed cluster, by its address or client (pip install saltus[dask])
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from saltus.compile import sources
from saltus.ensemble.blueprint import packed_rows, reduced_from
from saltus.ensemble.worker import made_runs, receive, send
from saltus.errors import RunError, SettingError
from saltus.status import Status
from saltus.sweep.job import Chunk, Done, Job, Pieces, Tick

LOOK_SECONDS = 0.2  # between two looks for Ctrl-C and for runs that do not end
TICK = 8  # bytes of a frame that says how many runs are done
WORKER = (sys.executable, "-m", "saltus.ensemble.worker")


def cores() -> int:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _checked(count: int | None, who: str) -> int:
    if count is None:
        return cores()
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise SettingError(f"{who} takes a number of at least 1, not {count!r}")
    return count


@dataclasses.dataclass(frozen=True)
class Serial:
    """This thread."""

    def make(self, job: Job, chunks: Sequence[Chunk], done: Done, tick: Tick | None) -> None:
        """Make all chunks; tick: None where nobody looks at the progress."""
        lane = job.engine.lane()
        for first, last in chunks:
            before = 0

            def told(count: int) -> None:
                nonlocal before
                if tick is not None:
                    tick(count - before)
                before = count

            listens = None if tick is None else told
            done((first, last), job.engine.make_runs(lane, job.part(first, last), listens))


@dataclasses.dataclass(frozen=True)
class Threads:
    """Threads of this process; count: None takes as many as there are processors."""

    count: int | None = None

    def __post_init__(self):
        _checked(self.count, "Threads")

    def make(self, job: Job, chunks: Sequence[Chunk], done: Done, tick: Tick) -> None:
        """Make all chunks."""
        pieces, stop = Pieces(chunks, done), threading.Event()
        lock = threading.Lock()

        def work() -> None:
            lane = job.engine.lane()
            while not stop.is_set() and (taken := pieces.take()) is not None:
                piece, chunk = taken
                before = 0

                def told(count: int) -> None:
                    nonlocal before
                    if stop.is_set():
                        raise _Stopped
                    with lock:
                        tick(count - before)
                    before = count

                try:
                    made = job.engine.make_runs(lane, job.part(*piece), told)
                except _Stopped:
                    return
                pieces.give(piece, chunk, made)

        _together(work, min(_checked(self.count, "Threads"), len(chunks)), stop)


class _Stopped(BaseException):
    """The job was given up."""


def _together(work, count: int, stop: threading.Event) -> None:
    """Let some threads do the same; what one of them raises ends all."""
    with concurrent.futures.ThreadPoolExecutor(max(1, count)) as pool:
        waiting = {pool.submit(work) for _ in range(count)}
        try:
            while waiting:
                # a limit, because waiting without one does not see Ctrl-C
                ended, waiting = concurrent.futures.wait(
                    waiting, LOOK_SECONDS, return_when=concurrent.futures.FIRST_COMPLETED
                )
                for one in ended:
                    one.result()
        except BaseException:
            stop.set()
            raise


@dataclasses.dataclass(frozen=True)
class Processes:
    """Fresh processes of this machine, which are started again where one dies.

    Parameters
    ----------
    count
        None takes as many as there are processors.
    patience
        Time that one run may take [s], after which it counts as endless and its process is ended; None: any.
    command
        How a process is started that reads and writes as `saltus.ensemble.worker` does.
    """

    count: int | None = None
    patience: float | None = None
    command: Sequence[str] = WORKER

    def __post_init__(self):
        _checked(self.count, "Processes")
        if self.patience is not None and not self.patience > 0.0:
            raise SettingError(f"patience is {self.patience!r}: it must be a positive time [s]")

    def make(self, job: Job, chunks: Sequence[Chunk], done: Done, tick: Tick) -> None:
        """Make all chunks."""
        pieces, stop, lock = Pieces(chunks, done), threading.Event(), threading.Lock()
        blueprint = job.blueprint

        def told(count: int) -> None:
            if stop.is_set():
                raise _Stopped
            with lock:
                tick(count)

        def work() -> None:
            remote = _Remote(self.command, blueprint, self.patience, stop)
            try:
                while not stop.is_set():
                    taken = pieces.take()
                    if taken is None:
                        if not pieces.left:
                            return
                        time.sleep(0.01)  # somebody else may have to cut its piece
                        continue
                    piece, chunk = taken
                    content = remote.made(packed_rows(job.part(*piece)), told)
                    if content is not None:
                        pieces.give(piece, chunk, reduced_from(content))
                    elif remote.endless:
                        pieces.cut(job, piece, chunk, Status.ENDLESS, piece[0] + remote.reached)
                    elif not stop.is_set():
                        pieces.cut(job, piece, chunk, Status.CRASHED)
            except _Stopped:
                pass
            finally:
                remote.end()

        _together(work, min(_checked(self.count, "Processes"), len(chunks)), stop)


@dataclasses.dataclass(frozen=True)
class _Process:
    """A process and its two pipes."""

    popen: subprocess.Popen
    incoming: IO[bytes]
    outgoing: IO[bytes]


class _Remote:
    """One process that makes runs, started again when it is needed after its end."""

    def __init__(self, command: Sequence[str], blueprint: bytes, patience: float | None, stop: threading.Event):
        self.command, self.blueprint, self.patience, self.stop = command, blueprint, patience, stop
        self.process: _Process | None = None
        self.endless, self.reached, self.since = False, 0, 0.0

    def made(self, rows: bytes, told: Tick) -> bytes | None:
        """Return the result of some rows as bytes; None where the process died."""
        process = self._started()
        self.endless, self.reached, self.since = False, 0, time.monotonic()
        watched = threading.Event()
        watch = threading.Thread(target=self._watch, args=(process, watched), daemon=True)
        watch.start()
        try:
            if not self._send(process, rows):
                self.end()
                return None
            while (content := receive(process.outgoing)) is not None:
                if len(content) != TICK:
                    return content
                done = int.from_bytes(content, "little")
                if done > self.reached:
                    told(done - self.reached)
                    self.reached, self.since = done, time.monotonic()
                else:
                    told(0)
            self.end()  # it may still be dying: the next rows go to another one
            return None
        finally:
            watched.set()
            watch.join()

    def _started(self) -> _Process:
        if self.process is None:
            # the current directory stays out of the path: what lies there is the user's
            paths = os.pathsep.join([str(sources.PACKAGE.parent), *filter(None, sys.path)])
            environment = {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
            popen = subprocess.Popen(  # noqa: S603  the command is our own, or the user's
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
            if popen.stdin is None or popen.stdout is None:
                raise RunError("a process has no pipes", None)
            self.process = _Process(popen, popen.stdin, popen.stdout)
            if not self._send(self.process, self.blueprint) or receive(self.process.outgoing) is None:
                self.end()
                raise RunError(f"{' '.join(self.command)} ends before it is ready: it cannot make runs", None)
        return self.process

    def _send(self, process: _Process, content: bytes) -> bool:
        try:
            send(process.incoming, content)
        except OSError:
            return False
        return True

    def _watch(self, process: _Process, watched: threading.Event) -> None:
        """End a process whose run takes too long, or whose job was given up."""
        while not watched.wait(LOOK_SECONDS):
            late = self.patience is not None and time.monotonic() - self.since > self.patience
            self.endless = self.endless or late
            if late or self.stop.is_set():
                process.popen.kill()
                return

    def end(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.popen.kill()
            self.process.popen.wait()
            for pipe in (self.process.incoming, self.process.outgoing):
                with contextlib.suppress(OSError):
                    pipe.close()
            self.process = None


@dataclasses.dataclass(frozen=True)
class Dask:
    """Workers of a dask.distributed cluster.

    Parameters
    ----------
    cluster
        Address of its scheduler, such as "tcp://host:8786", or a dask.distributed.Client.
    """

    cluster: Any

    def make(self, job: Job, chunks: Sequence[Chunk], done: Done, tick: Tick) -> None:
        """Make all chunks."""
        try:
            from dask.distributed import Client, KilledWorker, as_completed
        except ModuleNotFoundError as error:
            raise SettingError("Dask() needs dask.distributed: pip install saltus[dask]") from error
        own = isinstance(self.cluster, str)
        client = Client(self.cluster, set_as_default=False) if own else self.cluster
        blueprint, pieces, waiting = job.blueprint, Pieces(chunks, done), {}

        def submit(watched) -> None:
            while (taken := pieces.take()) is not None:
                rows = packed_rows(job.part(*taken[0]))
                future = client.submit(made_runs, blueprint, rows, pure=False)
                waiting[future.key] = taken
                watched.add(future)

        try:
            watched = as_completed()
            submit(watched)
            for future in watched:
                piece, chunk = waiting.pop(future.key)
                try:
                    made = reduced_from(future.result())
                except KilledWorker:
                    pieces.cut(job, piece, chunk, Status.CRASHED)
                    submit(watched)
                    continue
                pieces.give(piece, chunk, made)
                tick(piece[1] - piece[0])
        finally:
            for key in waiting:
                client.cancel(key)
            if own:
                client.close()
