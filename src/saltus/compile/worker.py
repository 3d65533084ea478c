"""A second process for the first compilation: half of the kernels are compiled there, into the same disk cache.

numba compiles under one lock, so threads do not help. `python -m saltus.compile.worker module:unit:version ...`
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

from saltus.compile import seam


def ready_all(wanted: list[tuple]) -> None:
    """Load or compile units given as (unit, signature); on a cold cache about half of them in a second process."""
    missing = [(unit, signature) for unit, signature in wanted if not seam.on_disk(unit, signature)]
    helper = _start(_half(missing)) if len(missing) > 1 and (os.cpu_count() or 1) > 1 else None
    if helper is not None:
        elsewhere = _half(missing)
        for unit, signature in missing:
            if (unit, signature) not in elsewhere:
                seam.ready(unit, signature)
        helper.wait()
    for unit, signature in wanted:
        seam.ready(unit, signature)  # what the helper could not do is done here


def _half(missing: list[tuple]) -> list[tuple]:
    """Return the units for the second process: all but the largest ones, up to half of the source."""
    by_size = sorted(missing, key=lambda pair: -seam.source_size(pair[0]))
    total, mine = sum(seam.source_size(unit) for unit, _ in missing), 0
    chosen = []
    for unit, signature in by_size:
        if mine == 0 or (2 * mine < total and mine + seam.source_size(unit) <= 0.6 * total):
            mine += seam.source_size(unit)
        else:
            chosen.append((unit, signature))
    return chosen


def _start(units: list[tuple]) -> subprocess.Popen | None:
    names = []
    for unit, signature in units:
        function = unit.py_func
        if not function.__module__.startswith("saltus."):
            return None  # a user's own kernel: only this process can import it
        version = [list(s.args) for s in unit.unit_signatures].index(list(signature.args))
        names.append(f"{function.__module__}:{function.__name__}:{version}")
    try:
        return subprocess.Popen(  # noqa: S603  our own interpreter and our own names
            [sys.executable, "-m", "saltus.compile.worker", *names],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # the current directory stays out of the path: what lies there is the user's
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONSAFEPATH": "1"},
        )
    except OSError:
        return None


def main() -> None:
    """Compile the units named on the command line."""
    for name in sys.argv[1:]:
        module, unit, version = name.split(":")
        dispatcher = getattr(importlib.import_module(module), unit)
        seam.ready(dispatcher, dispatcher.unit_signatures[int(version)])


if __name__ == "__main__":
    main()
