"""The machine code of the package: the built library that fits this processor and these sources, loaded once.

Looked for in the package (wheels bring it, a checkout builds it there), then in the cache. Where none fits it is built,
which needs numba (pip install saltus[jit]); without it kernels run interpreted, and a warning says so.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
import sys
from collections.abc import Callable, Iterator

from saltus.compile import cache, sources
from saltus.compile.archive import Damaged, Manifest
from saltus.compile.levels import BY_NAME, fitting

TEXTS = "-texts"  # behind the name of a level: the library of generated texts


class KernelsNotBuilt(RuntimeError):
    """Kernels could not be compiled, with what the compiler said."""


@dataclasses.dataclass(frozen=True)
class _Found:
    """A library that belongs to these sources, is undamaged and fits this processor."""

    folder: pathlib.Path
    manifest: Manifest
    level: str
    content_of: Callable[[pathlib.Path], bytes]
    objects: list[bytes]


@functools.cache
def _used() -> _Found | None:
    """Return the library of this process, which is built where none fits; None where that is not possible."""
    return _best() or (_best() if build_here() else None)


@functools.cache
def kernels():
    """Return the loaded library, None where there is none and none can be built."""
    return _loaded(_used())


def _loaded(found: _Found | None):
    if found is None:
        return None
    from saltus.compile.loader import Loaded

    return Loaded(found.objects)


def address(unit, version: int) -> int:
    """Return the address of a unit of the package."""
    symbol = unit.symbol(version)
    for loaded in (kernels, _newer):
        made = loaded()
        found = 0 if made is None else made.address(symbol)
        if found:
            return found
    raise KernelsNotBuilt(f"the built kernels have no {unit!r}: python -m saltus.compile.build")


@functools.cache
def _newer():
    """Return a library that knows modules which came after the first one was built."""
    return _loaded(_best()) if build_here() else None


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
    found = _best()
    return None if found is None else found.objects


def text(prefix: str) -> bytes | None:
    """Return the object of a text that was compiled with the package, by what its symbols begin with."""
    from saltus.compile import code

    if code.interpreting():  # which builds both libraries where they are missing or old
        return None
    used = _used()
    # most models are no texts of the package: the manifest says so before their library is read
    return None if used is None or prefix not in used.manifest.texts else _texts().get(prefix)


@functools.cache
def _texts() -> dict[str, bytes]:
    """Return the objects of all texts that were compiled beside the kernels of this process."""
    used = _used()
    if used is not None:
        with _warned():
            return used.manifest.members(used.folder, f"{used.level}{TEXTS}", used.content_of)
    return {}


def _best() -> _Found | None:
    places = (sources.PACKAGE / "kernels", pathlib.Path.read_bytes), (cache.known_entry(_key()), cache.content_of)
    for folder, content_of in places:
        with _warned():
            if folder is None or not (folder / "manifest.json").exists():
                continue
            manifest = Manifest.read(folder, content_of)
            if sources.source_hashes(manifest.sources) != manifest.sources:
                continue  # made from other sources
            for level in levels():
                if level in manifest.libraries:
                    return _Found(folder, manifest, level, content_of, manifest.objects(folder, level, content_of))
    return None


@contextlib.contextmanager
def _warned() -> Iterator[None]:
    """Go on without a file that is damaged or that others can write, with a warning."""
    try:
        yield
    except Damaged as damaged:
        cache.warn("saltus: %s; it is not used", damaged)
    except cache.Refused as refused:
        cache.warn("saltus: %s", refused)


def _key() -> str:
    """Return the name of the cache entry of this installation."""
    return sources.hash_of(str(sources.PACKAGE).encode())[:16]


def build_here() -> bool:
    """Build a library for this processor; returns whether that was possible, raises where kernels are at fault."""
    import subprocess

    from saltus.compile.build import NO_ROOM, can_build, estimate

    wanted = levels()
    if not wanted:
        cache.warn("saltus: no kernels are known for this processor; they run interpreted, hundreds of times slower")
        return False
    if not can_build():
        cache.warn(
            "saltus: no compiled kernels fit this processor and these sources, and numba is missing to build them: "
            "pip install saltus[jit]. They run interpreted, hundreds of times slower."
        )
        return False
    folder = _place()
    if folder is None:
        cache.warn("saltus: no folder can be written to build kernels in: set SALTUS_CACHE. They run interpreted.")
        return False
    try:
        todo = estimate(folder, wanted[0])
    except cache.Refused as refused:
        cache.warn("saltus: %s. Kernels run interpreted.", refused)
        return False
    what = f"{max(todo.translated, todo.compiled)} kernels for this machine, about {todo.seconds:.0f} s"
    cache.warn("saltus: building %s, kept in %s", what, folder)
    command = [sys.executable, "-m", "saltus.compile.build", "--to", str(folder), "--level", wanted[0]]
    # the current directory stays out of the path: what lies there is the user's
    paths = os.pathsep.join([str(sources.PACKAGE.parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
    shown = None if sys.stderr.isatty() else subprocess.PIPE  # a progress line where somebody looks
    made = subprocess.run(command, env=environment, stderr=shown, encoding="utf-8")  # noqa: S603  our own
    if made.returncode == NO_ROOM:
        cache.warn("%s They run interpreted, hundreds of times slower.", (made.stderr or "").strip())
        return False
    if made.returncode != 0:
        said = (made.stderr or "").strip()[-3000:]
        raise KernelsNotBuilt(f"kernels could not be built (SALTUS_KERNELS=none runs them interpreted). {said}")
    return True


def _place() -> pathlib.Path | None:
    """Return the folder to build in: inside of a checkout that can be written, else in the cache."""
    source = sources.PACKAGE.parent.parent / "pyproject.toml"
    if source.is_file() and sources.PACKAGE.parent.name == "src" and os.access(sources.PACKAGE, os.W_OK):
        return sources.PACKAGE / "kernels"
    return cache.entry(_key())
