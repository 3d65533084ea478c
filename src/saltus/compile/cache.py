"""The disk cache of compiled kernels: one directory per digest of sources, so that stale code cannot be served.

numba stamps only the file of a function; a constant or helper changed in another file would be missed. Here the
directory name holds a hash of the unit's module and of every saltus module it imports, of numba, llvmlite and
Python. A damaged file is compiled again; an unwritable or foreign directory means compiling without a disk cache.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import logging
import os
import pathlib
import pickle  # numba's own cache format; read only from a directory that belongs to this user
import stat
import sys
import tempfile
import time

import llvmlite
import numba
from numba.core import caching, config

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
log = logging.getLogger("saltus")
_announced = False


def root() -> pathlib.Path | None:
    """Return the writable cache directory, or None when there is none that only this user can write."""
    choices = [os.environ.get("SALTUS_CACHE"), os.environ.get("XDG_CACHE_HOME"), "~/.cache"]
    candidates = [pathlib.Path(choices[0]).expanduser()] if choices[0] else []
    candidates += [pathlib.Path(c).expanduser() / "saltus" for c in choices[1:] if c]
    candidates.append(
        pathlib.Path(tempfile.gettempdir()) / f"saltus-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    )
    for path in candidates:
        if _usable(path):
            return path
    return None


def _usable(path: pathlib.Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        info = path.stat()
        if hasattr(os, "getuid") and info.st_uid != os.getuid():
            return False
        if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            path.chmod(0o700)  # the files are pickles: nobody else may write them
        return os.access(path, os.W_OK)
    except OSError:
        return False


@functools.cache
def directory(digest: str) -> pathlib.Path | None:
    """Return the cache directory of one digest, created on first use."""
    base = root()
    if base is None:
        return None
    path = base / digest
    if path.is_dir():
        with contextlib.suppress(OSError):
            os.utime(path)  # in use
        return path
    path.mkdir(exist_ok=True, mode=0o700)
    _prune(base)
    return path


def _prune(base: pathlib.Path, days: float = 60.0) -> None:
    """Drop directories that no process has used for a while."""
    now = time.time()
    for old in base.iterdir():
        try:
            if old.is_dir() and now - old.stat().st_mtime > days * 86400.0:
                for file in old.iterdir():
                    file.unlink()
                old.rmdir()
        except OSError:
            continue  # another process is pruning too


@functools.cache
def _imports(path: pathlib.Path) -> frozenset[pathlib.Path]:
    """Return the files of the saltus modules that one file imports as it is imported itself, not for type checkers.

    What functions import is left out: compiled code sees only what the module has.
    """
    found: set[pathlib.Path] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            continue
        if isinstance(node, ast.If) and getattr(node.test, "id", getattr(node.test, "attr", "")) == "TYPE_CHECKING":
            todo.extend(node.orelse)
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE.name:
            inside = [_module_file(f"{node.module}.{alias.name}") for alias in node.names]
            found.update(file or _module_file(node.module) for file in inside)
        elif isinstance(node, ast.Import):
            found.update(_module_file(alias.name) for alias in node.names if alias.name.split(".")[0] == PACKAGE.name)
        todo.extend(ast.iter_child_nodes(node))
    return frozenset(file for file in found if file is not None)


def _module_file(name: str) -> pathlib.Path | None:
    stem = PACKAGE.joinpath(*name.split(".")[1:])
    for file in (stem.with_suffix(".py"), stem / "__init__.py"):
        if file.is_file():
            return file
    return None


@functools.cache
def source_digest(file: str) -> str:
    """Return the hash of a module's source and of all saltus modules that it imports, directly or not."""
    todo, seen = [pathlib.Path(file).resolve()], set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo.extend(_imports(path))
    versions = (numba.__version__, llvmlite.__version__, sys.version)
    digest = hashlib.sha256(repr(versions).encode())
    named = {str(p.relative_to(PACKAGE) if p.is_relative_to(PACKAGE) else p.name): p for p in seen}
    for name in sorted(named):
        digest.update(name.encode() + b"\0" + named[name].read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def announce() -> None:
    """Say once per process that kernels are being compiled, because it takes seconds."""
    global _announced
    if not _announced:
        _announced = True
        where = root()
        kept = f"kept in {where} for the next run" if where else "no writable cache directory: set SALTUS_CACHE"
        log.warning("saltus: compiling kernels for first use, up to half a minute (%s)", kept)


class _Locator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    def __init__(self, function, path: pathlib.Path):
        self._py_file = function.__code__.co_filename
        self._lineno = function.__code__.co_firstlineno
        self._path = path

    def get_cache_path(self):
        return str(self._path)

    def ensure_cache_path(self):
        pass

    def get_source_stamp(self):
        return self._path.name  # the digest; a file's date says nothing

    def get_disambiguator(self):
        return str(self._lineno)


class _FunctionCache(caching.FunctionCache):
    def __init__(self, function, path: pathlib.Path):
        impl = type("Impl", (caching.CompileResultCacheImpl,), {"_locator_classes": [_only(path)]})
        self._impl_class = impl
        # a user's own NUMBA_CACHE_LOCATOR_CLASSES would override the locator
        kept, config.CACHE_LOCATOR_CLASSES = config.CACHE_LOCATOR_CLASSES, ""
        try:
            super().__init__(function)
        finally:
            config.CACHE_LOCATOR_CLASSES = kept


def _only(path: pathlib.Path):
    class Locator(_Locator):
        @classmethod
        def from_function(cls, function, py_file):
            return cls(function, path)

    return Locator


class UnitCache:
    """What numba asks for compiled code: opens the disk cache on first use, survives damage and full disks."""

    def __init__(self, function, on_miss):
        self._function = function
        self._on_miss = on_miss
        self._disk: _FunctionCache | None = None
        self._opened = False

    def _open(self) -> _FunctionCache | None:
        if not self._opened:
            self._opened = True
            file = self._function.__code__.co_filename
            path = directory(source_digest(file)) if os.path.isfile(file) else None
            if path is not None:
                self._disk = _FunctionCache(self._function, path)
        return self._disk

    def exists(self) -> bool:
        """Return whether the disk holds something for this unit; True as well when nothing can be kept."""
        disk = self._open()
        return disk is None or os.path.exists(disk._cache_file._index_path)

    @property
    def cache_path(self):
        disk = self._open()
        return None if disk is None else disk.cache_path

    def load_overload(self, signature, context):
        disk = self._open()
        try:
            loaded = None if disk is None else disk.load_overload(signature, context)
        except (OSError, EOFError, ValueError, TypeError, KeyError, AttributeError, ImportError, pickle.PickleError):
            loaded = None  # a damaged file is compiled again and overwritten
        except Exception as error:  # llvmlite reports damaged objects by RuntimeError subclasses of its own
            log.debug("cache entry of %s unreadable: %r", self._function.__qualname__, error)
            loaded = None
        if loaded is None:
            announce()
            self._on_miss(self._function)
        return loaded

    def save_overload(self, signature, result):
        disk = self._open()
        if disk is None:
            return
        for attempt in (1, 2):
            try:
                disk.save_overload(signature, result)
                return
            except OSError as error:
                log.warning("saltus: compiled kernel not kept on disk: %s", error)
                return
            except Exception as error:  # a damaged index, or code that an interruption left unfinished
                log.debug("kernel %s not kept (attempt %d): %r", self._function.__qualname__, attempt, error)
                with contextlib.suppress(OSError):
                    os.unlink(disk._cache_file._index_path)

    def enable(self):
        pass

    def disable(self):
        pass

    def flush(self):
        pass
