"""The machine code of the package: the built library that fits this processor and these sources, loaded once.

Looked for in the package (wheels bring it, a checkout builds it there), then in the cache. Where none fits it is built,
which needs numba (pip install saltus[jit]); without it kernels run interpreted, and a warning says so.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import pathlib
import subprocess
import sys

from saltus.compile import cache, digest
from saltus.compile.archive import Damaged, Manifest
from saltus.compile.levels import BY_NAME, fitting

SECONDS_PER_UNIT = 0.25  # of one core, to compile a unit: measured over all units of the package
log = logging.getLogger("saltus")


@functools.cache
def kernels():
    """Return the loaded library, None where there is none and none can be built."""
    from saltus.compile.loader import Loaded

    found = find()
    if found is None and _build():
        found = find()
    return None if found is None else Loaded(found)


def address(unit, version: int) -> int:
    """Return the address of a unit of the package."""
    loaded = kernels()
    found = 0 if loaded is None else loaded.address(unit.symbol(version))
    if not found:
        raise RuntimeError(f"the built kernels have no {unit!r}: python -m saltus.compile.build")
    return found


def levels() -> list[str]:
    """Return the names of the levels to look for, best first; SALTUS_KERNELS names one of them."""
    from saltus.compile.loader import processor

    possible = [level.name for level in fitting(*processor())]
    named = os.environ.get("SALTUS_KERNELS")
    if not named:
        return possible
    if named not in BY_NAME:
        raise ValueError(f"SALTUS_KERNELS is {named!r}: it must be none or one of {', '.join(BY_NAME)}")
    if named not in possible:
        raise ValueError(f"SALTUS_KERNELS is {named!r}, which this processor cannot run; it has {', '.join(possible)}")
    return [named]


def find() -> list[bytes] | None:
    """Return the objects of the best library that belongs to these sources and is undamaged."""
    wanted = levels()
    for folder in (digest.PACKAGE / "kernels", cache.known_entry(_key())):
        try:
            if folder is None or not (folder / "manifest.json").exists():
                continue
            manifest = Manifest.read(folder)
            if digest.source_hashes(manifest.sources) != manifest.sources:
                continue  # made from other sources
            for level in wanted:
                if level in manifest.libraries:
                    return manifest.objects(folder, level)
        except Damaged as damaged:
            log.warning("saltus: %s; it is not used", damaged)
    return None


def _key() -> str:
    """Return the name of the cache entry of this installation."""
    return digest.hash_of(str(digest.PACKAGE).encode())[:16]


def _build() -> bool:
    """Build a library for this processor; returns whether that was possible."""
    wanted = levels()
    if not wanted:
        log.warning("saltus: no kernels are known for this processor; they run interpreted, hundreds of times slower")
        return False
    if importlib.util.find_spec("numba") is None:
        log.warning(
            "saltus: no compiled kernels fit this processor and these sources, and numba is missing to build them: "
            "pip install saltus[jit]. They run interpreted, hundreds of times slower."
        )
        return False
    folder = _place()
    if folder is None:
        log.warning("saltus: no folder can be written to build kernels in: set SALTUS_CACHE. They run interpreted.")
        return False
    from saltus.compile.build import cores, units_to_build

    count = units_to_build(folder)
    seconds = 3 + count * SECONDS_PER_UNIT / cores()
    log.warning("saltus: building %d kernels for this machine, about %.0f s, kept in %s", count, seconds, folder)
    command = [sys.executable, "-m", "saltus.compile.build", "--to", str(folder), "--level", wanted[0]]
    # the current directory stays out of the path: what lies there is the user's
    paths = os.pathsep.join([str(digest.PACKAGE.parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
    made = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8")  # noqa: S603  our own
    if made.returncode != 0:
        log.warning("saltus: kernels could not be built, they run interpreted:\n%s", made.stderr.strip()[-2000:])
    return made.returncode == 0


def _place() -> pathlib.Path | None:
    """Return the folder to build in: inside of a checkout that can be written, else in the cache."""
    source = digest.PACKAGE.parent.parent / "pyproject.toml"
    if source.is_file() and digest.PACKAGE.parent.name == "src" and os.access(digest.PACKAGE, os.W_OK):
        return digest.PACKAGE / "kernels"
    return cache.entry(_key())
