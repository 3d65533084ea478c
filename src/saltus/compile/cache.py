"""The one folder that saltus may write: kernels built on this machine, where the package itself cannot hold them.

It lies inside of what the user names (SALTUS_CACHE), else of the cache folder of the system. Code is executed from
there, so the folder and every entry must belong to this user and be writable by nobody else; what is not so is refused
with a sentence and never repaired. Files are judged once more after they were opened: a folder may be exchanged in
between. Links are not followed, and only entries of our own making are ever removed.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import stat
import sys
import time

FOLDER_NAME = "saltus-kernels"
CACHE_ENTRY = re.compile(r"built-[0-9a-f]{16}")
PART_NAME = re.compile(r"[0-9a-f]{64}(-\d+\.bc|\.o)")
OURS = re.compile(rf"manifest\.json|\.lock|[a-z0-9_-]+\.a|\.new-\w+|index\.json|{PART_NAME.pattern}")
DAYS = 60.0  # an entry that nobody used for so long is removed


def warn(message: str, *values) -> None:
    """Say something to the user, by the logger of the package."""
    import logging  # here, because it is seldom needed

    logging.getLogger("saltus").warning(message, *values)


class Refused(Exception):
    """A folder that must not be used, with the reason."""


def root() -> pathlib.Path | None:
    """Return the folder, made on first use; None where there is none that only this user can write."""
    unusable: list[str] = []
    for parent in _choices():
        try:
            return opened(parent / FOLDER_NAME)
        except Refused as refused:
            warn("saltus: %s", refused)
        except OSError as error:
            unusable.append(f"{parent} ({error.strerror})")
    if unusable:
        warn("saltus: no cache folder can be written: %s; set SALTUS_CACHE to one of your own", ", ".join(unusable))
    return None


def _choices() -> list[pathlib.Path]:
    """Return the folders to look at; the one that the user names is the only one where there is one."""
    named = os.environ.get("SALTUS_CACHE")
    if named:
        return [_expanded(named)]
    found = []
    if os.environ.get("XDG_CACHE_HOME"):
        found.append(_expanded(os.environ["XDG_CACHE_HOME"]))
    with contextlib.suppress(RuntimeError):  # nobody's home
        home = pathlib.Path.home()
        if sys.platform == "darwin":
            found.append(home / "Library" / "Caches")
        elif sys.platform == "win32":
            found.append(pathlib.Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")))
        else:
            found.append(home / ".cache")
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else "user"
    found.append(pathlib.Path(tempfile.gettempdir()) / f"saltus-{user}")
    return found


def _expanded(named: str) -> pathlib.Path:
    """Return the absolute path of a folder that was named; `~` stays where nobody knows whose home it is."""
    with contextlib.suppress(RuntimeError):
        return pathlib.Path(named).expanduser().absolute()
    return pathlib.Path(named).absolute()


def opened(path: pathlib.Path) -> pathlib.Path:
    """Make a folder where it is missing and return it; raises Refused where others could change what lies in it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _check_parent(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    checked(path, folder=True)
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(f"{path} cannot be written")
    return path


def checked(path: pathlib.Path, *, folder: bool) -> pathlib.Path:
    """Return a path that belongs to this user alone; raises Refused otherwise."""
    _judge(path, path.lstat(), folder=folder)
    return path


def content_of(path: pathlib.Path) -> bytes:
    """Return what is in a file that belongs to this user alone; what is judged is the file that was opened."""
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))  # a pipe must not stop us
    with os.fdopen(os.open(path, os.O_RDONLY | sum(flags)), "rb") as file:
        _judge(path, os.fstat(file.fileno()), folder=False)
        return file.read()


def is_entry(folder: pathlib.Path) -> bool:
    """Tell whether a folder is one of the cache, not of a checkout, which is as good as its sources."""
    return folder.parent.name == FOLDER_NAME and CACHE_ENTRY.fullmatch(folder.name) is not None


def _check_parent(parent: pathlib.Path) -> None:
    """Refuse to have a folder where others can put another one in its place."""
    info = parent.stat()
    if hasattr(os, "getuid"):
        if info.st_uid not in (0, os.geteuid()):
            raise Refused(
                f"{parent} belongs to user {info.st_uid}, not to you: set SALTUS_CACHE to a folder of your own"
            )
        if info.st_mode & stat.S_IWOTH and not info.st_mode & stat.S_ISVTX:
            mode = stat.S_IMODE(info.st_mode)
            raise Refused(f"{parent} can be written by all (mode {mode:04o}): chmod o-w {parent}, or set SALTUS_CACHE")


def _judge(path: pathlib.Path, info: os.stat_result, *, folder: bool) -> None:
    """Raise Refused for what does not belong to this user alone."""
    if stat.S_ISLNK(info.st_mode):
        raise Refused(f"{path} is a link, which is not followed: remove it, or set SALTUS_CACHE to another folder")
    if not (stat.S_ISDIR(info.st_mode) if folder else stat.S_ISREG(info.st_mode)):
        raise Refused(f"{path} is no {'folder' if folder else 'file'}: remove it, or set SALTUS_CACHE")
    if hasattr(os, "getuid"):
        if info.st_uid != os.geteuid():
            raise Refused(f"{path} belongs to user {info.st_uid}, not to you: set SALTUS_CACHE to a folder of your own")
        if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            mode = stat.S_IMODE(info.st_mode)
            raise Refused(f"{path} can be written by others (mode {mode:04o}): chmod go-w {path}, or set SALTUS_CACHE")


def entry(key: str) -> pathlib.Path | None:
    """Return the folder of one entry, made on first use; None where there is none."""
    base = root()
    if base is None:
        return None
    try:
        path = opened(base / f"built-{key}")
        os.utime(path)  # in use
        prune(base, keep=path)
        return path
    except Refused as refused:
        warn("saltus: %s", refused)
    except OSError as error:
        warn("saltus: %s cannot be written (%s); set SALTUS_CACHE to another folder", base, error.strerror)
    return None


def known_entry(key: str) -> pathlib.Path | None:
    """Return the folder of an entry if it is there, without making anything."""
    for parent in _choices():
        base, path = parent / FOLDER_NAME, parent / FOLDER_NAME / f"built-{key}"
        try:
            checked(base, folder=True)
            _check_parent(parent)
            checked(path, folder=True)
            for inside in path.iterdir():
                if inside.name == "manifest.json" or inside.name.endswith(".a"):
                    checked(inside, folder=False)
            return path
        except Refused as refused:
            warn("saltus: %s", refused)
        except OSError:
            continue
    return None


def prune(base: pathlib.Path, keep: pathlib.Path) -> None:
    """Remove entries that nobody used for a while: those with a name of ours, and of them only files of ours."""
    for old in base.iterdir():
        with contextlib.suppress(OSError, Refused):  # another process may be pruning too
            if CACHE_ENTRY.fullmatch(old.name) and old != keep:
                checked(old, folder=True)
                if time.time() - old.stat().st_mtime > DAYS * 86400.0:
                    _remove(old / "parts")
                    _remove(old)


def _remove(folder: pathlib.Path) -> None:
    """Remove our files of a folder, then the folder if nothing else is left in it."""
    try:
        checked(folder, folder=True)
    except (OSError, Refused):
        return
    for file in folder.iterdir():
        if OURS.fullmatch(file.name) and not file.is_symlink() and file.is_file():
            file.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()
