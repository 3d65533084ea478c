"""Exceptions of Python functions that machine code called: kept until the march is back in Python.

Machine code knows no exceptions. A callback that fails keeps what was raised and returns a status that every caller
hands on; until somebody has raised it, no further callback of the same thread runs.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

FAILED = -1  # status of a unit that ended by a Python exception


class _Kept(threading.local):
    error: BaseException | None = None
    inside = False  # whether a function of the user runs, under a try that catches everything: Ctrl-C may end it


kept = _Kept()


def keep(error: BaseException) -> int:
    """Keep an exception and return the status that says so."""
    kept.error = error
    return FAILED


def is_pending() -> bool:
    """Return whether an exception waits to be raised in this thread."""
    return kept.error is not None


def raise_failure(status: int = FAILED) -> None:
    """Raise what was kept, or say which status a unit returned without a word."""
    error, kept.error = kept.error, None
    if error is None:
        raise RuntimeError(f"a compiled function of the model ended with status {status} and left no message")
    raise error


@contextlib.contextmanager
def failures_raised(*, called: bool = False) -> Iterator[None]:
    """Raise the exception of a callback where the code inside ends, however it ends; called: callbacks may run."""
    kept.error = None
    with interrupts_kept() if called else contextlib.nullcontext():
        try:
            yield
        except SystemError:  # numba was told that there is an exception, and found none
            if not is_pending():
                raise
    if is_pending():
        raise_failure()


@contextlib.contextmanager
def interrupts_kept() -> Iterator[None]:
    """Keep Ctrl-C like any other exception of a callback; it is raised where it comes only in functions of the user.

    It may come between two instructions of a callback, outside of all that could catch it, and ctypes would go on with
    a status that nobody has written. A handler of somebody else stays in charge.
    """
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    outer, kept.inside = kept.inside, False  # a function of the user may run a march of its own
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    try:
        yield
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)
        kept.inside = outer


def _interrupted(number, frame) -> None:
    """Keep the interruption, for functions that catch everything, and end a function that may run for ever."""
    keep(KeyboardInterrupt())
    if kept.inside:
        kept.inside = False  # once: what catches it may be interrupted again
        raise KeyboardInterrupt
