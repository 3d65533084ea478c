"""Built kernels on disk: a static library (ar) per level of processors, and a manifest that says what they belong to.

    manifest.json     hashes of sources, symbols, size and SHA-256 of every library
    x86-64-v3.a       objects, one per module; `nm` and `objdump` read it
    x86-64-v3-texts.a objects of generated texts, one per text (texts.py)

Nothing is believed that does not have the size and the hash that the manifest names.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import tempfile
from collections.abc import Callable

from saltus.compile.sources import hash_of

Reader = Callable[[pathlib.Path], bytes]
ARCHIVE_FORMAT = 2
MANIFEST = "manifest.json"
_MAGIC = b"!<arch>\n"


class Damaged(Exception):
    """A file is not what its manifest says."""


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What a folder of kernels holds.

    Attributes
    ----------
    sources
        Hash of every source file that the kernels were made from, by its path inside of the package.
    symbols
        All symbols of kernels that the libraries define.
    texts
        How the symbols of the compiled texts begin (texts.py).
    libraries
        Size and SHA-256 of every library, by the name of its level.
    """

    sources: dict[str, str]
    symbols: list[str]
    texts: list[str]
    libraries: dict[str, dict]

    def write(self, folder: pathlib.Path) -> None:
        text = json.dumps({"format": ARCHIVE_FORMAT, **dataclasses.asdict(self)}, indent=0, sort_keys=True)
        replace(folder / MANIFEST, text.encode())

    @classmethod
    def read(cls, folder: pathlib.Path, content_of: Reader = pathlib.Path.read_bytes) -> Manifest:
        """Read a manifest; raises Damaged where there is none that makes sense."""
        try:
            given = json.loads(content_of(folder / MANIFEST))
            if given.pop("format") != ARCHIVE_FORMAT:
                raise Damaged(f"{folder / MANIFEST} has another format")
            made = cls(**given)
            sound = (
                all(_is_inside(name) and isinstance(found, str) for name, found in made.sources.items())
                and all(isinstance(symbol, str) for symbol in (*made.symbols, *made.texts))
                and all(isinstance(one["sha256"], str) and one["size"] >= 0 for one in made.libraries.values())
            )
        except OSError as error:
            raise Damaged(f"{folder / MANIFEST} cannot be read: {error.strerror}") from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise Damaged(f"{folder / MANIFEST} is damaged") from error
        if not sound:
            raise Damaged(f"{folder / MANIFEST} is damaged")
        return made

    def objects(self, folder: pathlib.Path, level: str, content_of: Reader = pathlib.Path.read_bytes) -> list[bytes]:
        """Return the objects of a library; raises Damaged where it is not the one that was built."""
        return list(self.members(folder, level, content_of).values())

    def members(
        self, folder: pathlib.Path, level: str, content_of: Reader = pathlib.Path.read_bytes
    ) -> dict[str, bytes]:
        """Return the same by their names."""
        path = folder / f"{level}.a"
        try:
            content = content_of(path)
        except OSError as error:
            raise Damaged(f"{path} cannot be read: {error.strerror}") from error
        said = self.libraries[level]
        if len(content) != said["size"] or hash_of(content) != said["sha256"]:
            raise Damaged(f"{path} is not the file that was built: its SHA-256 is another one")
        return unpack(content)


def _is_inside(name: str) -> bool:
    """Tell whether a path can be one of a source file inside of the package: others are not looked at."""
    path = pathlib.PurePosixPath(name)
    return name.isprintable() and not path.is_absolute() and ".." not in path.parts


def pack(members: dict[str, bytes]) -> bytes:
    """Return objects as a static library; the same objects give the same bytes."""
    names, content = b"", []
    for name, member in sorted(members.items()):
        head = f"/{len(names)}".ljust(16) + "0".ljust(12) + "0".ljust(6) + "0".ljust(6) + "644".ljust(8)
        content.append(
            head.encode() + str(len(member)).ljust(10).encode() + b"`\n" + member + b"\n" * (len(member) % 2)
        )
        names += name.encode() + b"/\n"
    names += b"\n" * (len(names) % 2)
    return _MAGIC + b"//".ljust(48) + str(len(names)).ljust(10).encode() + b"`\n" + names + b"".join(content)


def unpack(content: bytes) -> dict[str, bytes]:
    """Return the objects of a static library by name."""
    found, at, names = {}, len(_MAGIC), b""
    while at < len(content):
        name, size = content[at : at + 16].strip(), int(content[at + 48 : at + 58])
        part = content[at + 60 : at + 60 + size]
        if name == b"//":
            names = part
        else:
            first = int(name[1:])
            found[names[first : names.index(b"/\n", first)].decode()] = part
        at += 60 + size + size % 2
    return found


def replace(path: pathlib.Path, content: bytes) -> None:
    """Write a file so that others see the old or the new one, never a part."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
