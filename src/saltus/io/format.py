"""The file format: HDF5 that netCDF-4 readers understand, one checksum over every byte, replaced as a whole.

A file is made in memory and written by plain writes: a full disk is then an error of ours, not a broken HDF5 library.
It is read by a reader of our own (hdf5.py), because files come from anywhere: nothing that a file says is believed
before it is checked, and no other file is ever opened.

Two numbers say how a file is laid out. Readers refuse another `LIMITS.format`. Within one, layouts only grow: a reader
passes
over variables and words that it does not know, and has a default for every one that came after minor version 0.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import hashlib
import importlib
import io
import itertools
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from saltus.errors import DamagedFileError, FileError, FileFormatError, SettingError
from saltus.io.hdf5 import SIGNATURE, Image, Unreadable


class _Limits(NamedTuple):
    """Tuned numbers of this file."""

    format: int = 1  # counts layouts that older versions cannot read
    # counts additions that older versions pass over: names they do not know, and defaults where names are missing
    minor: int = 3
    largest_file: int = 4 << 30  # bytes of a file that is read without being told that it may be larger
    # what is built from a file may take so many times its bytes, and so many bytes in any case
    growth: int = 8
    small: int = 64 << 20
    packed: int = 1032  # bytes that a byte on disk can stand for, by deflate: a file that claims more is hollow
    # of JSON: bytes, values, brackets inside of each other
    longest_text: int = 16 << 20
    most_values: int = 1_000_000
    deepest: int = 60
    longest_number: int = 30  # digits of a whole number: 64 bits need 20


LIMITS = _Limits()

MARK, BLANK = b"saltus-sha256:", b"0" * 64  # the checksum is that of the file with zeros in its own place
ABOUT_DATASET = "about/json"
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."  # the words that netCDF-4 prescribes

STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)  # of JSON
_numbers = itertools.count()


@dataclasses.dataclass(frozen=True)
class Variable:
    """An array with the names of its dimensions, as netCDF has them, and its unit."""

    values: np.ndarray
    dims: tuple[str, ...]
    units: str = ""


@dataclasses.dataclass(frozen=True)
class Content:
    """What a file holds: arrays by name, a JSON object about them, the minor version of their layout.

    room: bytes that may be built from it.
    """

    arrays: dict[str, np.ndarray]
    about: dict[str, Any]
    minor: int
    room: int = LIMITS.small


def write(path: str | os.PathLike, kind: str, variables: Mapping[str, Variable], about: dict[str, Any]) -> None:
    """Write a file of a kind ("results", "checkpoint"); under its name there is always a whole file, old or new."""
    image = _image(kind, variables, about)
    at = image.index(MARK) + len(MARK)
    pieces = (memoryview(image)[:at], _checksum(image, at).encode(), memoryview(image)[at + len(BLANK) :])
    replace(path, pieces)


def read(path: str | os.PathLike, kind: str, max_bytes: float | None = None) -> Content:
    """Read a file of a kind; every byte of it is checked before it is interpreted.

    max_bytes: size of the largest file that is read, and of what is built from it; None: 4 GB.
    """
    image = regular_bytes(path, max_bytes)
    _verify(path, image)
    try:
        return _content(path, kind, Image(image), max_bytes)
    except Unreadable as error:
        raise FileFormatError(f"{path} is not laid out as a file of saltus: {error}") from error


def room_for(size: int, max_bytes: float | None) -> int:
    """Return how many bytes may be built from a file of a size."""
    return max(LIMITS.growth * size, LIMITS.small) if max_bytes is None else int(max_bytes)


def regular_bytes(path: str | os.PathLike, max_bytes: float | None) -> bytes:
    """Return the bytes of a file; pipes, devices and folders are refused before they are opened.

    No more than it has now: it may grow while it is read, or be one of /proc that says nothing of its size.
    """
    with io.BufferedReader(open_regular(path, max_bytes)) as file:
        try:
            return file.read(os.fstat(file.fileno()).st_size) or b""
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror}") from error


def open_regular(path: str | os.PathLike, max_bytes: float | None) -> io.FileIO:
    """Open a file that is one, and not larger than allowed."""
    most = LIMITS.largest_file if max_bytes is None else max_bytes
    if isinstance(most, bool) or not isinstance(most, int | float) or not 0 < most < float("inf"):
        raise SettingError(f"max_bytes is {max_bytes!r}: it must be a positive number of bytes, like 8e9")
    try:
        _check_regular(path, os.stat(path), most)
        # without waiting, because another file may have taken its place meanwhile
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            _check_regular(path, os.fstat(handle), most)
        except BaseException:
            os.close(handle)
            raise
        return io.FileIO(handle)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise FileError(f"{path!r} is no name of a file: {error}") from error


def _check_regular(path, found: os.stat_result, most: float) -> None:
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe, device or socket"
        raise FileFormatError(f"{path} is {what}, not a file: give the name of a file")
    blocks = getattr(found, "st_blocks", None)
    if found.st_size > most:
        raise FileFormatError(f"{path} has {found.st_size} bytes, more than {most:.0f}: allow it by max_bytes=")
    if blocks is not None and found.st_size > LIMITS.small and found.st_size > LIMITS.packed * 512 * blocks:
        raise FileFormatError(f"{path} claims {found.st_size} bytes, but almost none of them are stored: it is hollow")


def _content(path, kind: str, file: Image, max_bytes: float | None) -> Content:
    made = file.attribute("saltus_format")
    if made != f"{kind} {LIMITS.format}":
        found, _, number = str(made).rpartition(" ")
        remedy = ""
        if found == kind and number.isdecimal() and int(number) > LIMITS.format:
            made_by = file.attribute("saltus_version")
            remedy = f": it was written by saltus {made_by}, read it with that version or a later one"
        raise FileFormatError(
            f"{path} is a file of saltus with {made!r}, but {kind!r} (format {LIMITS.format}) is wanted{remedy}"
        )
    try:
        most = LIMITS.longest_text if max_bytes is None else int(max_bytes)
        about = parsed(file.text(ABOUT_DATASET, most), LIMITS.most_values if max_bytes is None else most)
    except ValueError as error:
        raise FileFormatError(f"{path} does not say what it holds: {error}") from error
    names = about.get("variables")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise FileFormatError(f"{path} does not list its variables, each once, by name")
    tables = {name: file.table(name) for name in names}
    claimed = sum(table.size for table in tables.values())
    if claimed > len(file.image):
        raise FileFormatError(f"{path} claims {claimed} bytes of numbers, more than it holds")
    minor = file.attribute("saltus_format_minor")
    arrays = {name: file.numbers(table) for name, table in tables.items()}
    return Content(arrays, about, minor if isinstance(minor, int) else 0, room_for(len(file.image), max_bytes))


def parsed(text: bytes, most: int = LIMITS.most_values) -> dict[str, Any]:
    """Return a JSON object; ValueError where it is none, or too large, too deep, or says something twice."""
    marks = np.frombuffer(STRINGS.sub(b"", text), dtype=np.uint8)
    opening, closing = (np.isin(marks, np.frombuffer(signs, dtype=np.uint8)) for signs in (b"[{", b"]}"))
    if max(int(opening.sum()) + int(np.sum(marks == ord(","))), int(closing.sum())) > most:
        raise ValueError(f"its text has more than {most} values")
    depth = np.cumsum(np.where(opening[opening | closing], 1, -1))
    if np.max(depth, initial=0) > LIMITS.deepest:
        raise ValueError(f"its text has brackets more than {LIMITS.deepest} deep")
    made = json.loads(text.decode("utf-8"), object_pairs_hook=_once, parse_int=_whole)
    if not isinstance(made, dict):
        raise ValueError("its text is no JSON object")
    return made


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("its text gives a name twice")
    return made


def _whole(digits: str) -> int:
    if len(digits) > LIMITS.longest_number:
        raise ValueError(f"its text has a number of {len(digits)} digits")
    return int(digits)


def version() -> str:
    """Return the version of saltus."""
    return importlib.import_module("saltus").__version__  # not at the top: the package imports this module


def check_place(path: str | os.PathLike) -> None:
    """Raise when no file can be written under a name, before anything is computed."""
    if os.path.isdir(path):
        raise FileError(f"{path} is a folder: give the name of a file")
    part = _part(os.path.realpath(path))
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        os.unlink(part)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}; choose a folder that you can write to") from error


def clear_parts(path: str | os.PathLike) -> None:
    """Remove what a killed process left behind while it was writing a file."""
    for part in glob.glob(f"{glob.escape(os.path.realpath(path))}.*.part"):
        with contextlib.suppress(OSError):
            os.unlink(part)


# ---- the image of a file


def _image(kind: str, variables: Mapping[str, Variable], about: dict[str, Any]) -> bytes:
    import h5py  # here, because most programs save nothing

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file.attrs["checksum"] = np.bytes_(MARK + BLANK)
        file.attrs["saltus_format"], file.attrs["saltus_version"] = f"{kind} {LIMITS.format}", version()
        file.attrs["saltus_format_minor"] = LIMITS.minor
        made = {name: file.create_dataset(name, data=variable.values) for name, variable in variables.items()}
        scales = {}
        for name, variable in variables.items():
            if variable.units:
                made[name].attrs["units"] = variable.units
            for axis, dim in enumerate(variable.dims):
                if dim not in scales:
                    scales[dim] = _scale(file, dim, variable.values.shape[axis], made.get(dim))
                if dim != name:
                    made[name].dims[axis].attach_scale(scales[dim])
        text = json.dumps({**about, "version": version(), "variables": list(variables)})
        file.create_dataset(ABOUT_DATASET, data=text, dtype=h5py.string_dtype())
    image = buffer.getvalue()
    if image.count(MARK) != 1:
        raise FileError(f"a name or message contains {MARK.decode()!r}, which marks the checksum: choose another one")
    return image


def _scale(file, dim: str, size: int, variable):
    """Return the dimension of a name: the variable of that name, or a place holder without numbers."""
    if variable is None:
        variable = file.create_dataset(dim, shape=(size,), dtype=">f4")
        dim = f"{NO_VARIABLE}{size:10d}"
    variable.make_scale(dim)
    return variable


def _checksum(image: bytes, at: int) -> str:
    digest = hashlib.sha256(memoryview(image)[:at])
    digest.update(BLANK)
    digest.update(memoryview(image)[at + len(BLANK) :])
    return digest.hexdigest()


def _verify(path, image: bytes) -> None:
    at = image.find(MARK) + len(MARK)
    if not image.startswith(SIGNATURE) or at < len(MARK):
        raise FileFormatError(f"{path} is not a file of saltus, or it is damaged: its signature is missing")
    if image[at : at + len(BLANK)] != _checksum(image, at).encode():
        raise DamagedFileError(f"{path} is damaged: its checksum does not fit its {len(image)} bytes; use a copy")


# ---- writing


def _part(path: str) -> str:
    return f"{path}.{os.getpid()}-{next(_numbers)}.part"


def replace(path: str | os.PathLike, pieces: Iterable[bytes | memoryview]) -> None:
    """Write the pieces beside a file, make sure that they are on disk, and put them in its place."""
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        what = "a folder" if os.path.isdir(path) else "a pipe, device or socket"
        raise FileError(f"{path} is {what}, not a file: give the name of a file")
    part = _part(path)
    try:
        with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb", buffering=0) as file:
            for piece in pieces:
                rest = memoryview(piece)
                while len(rest):
                    rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        os.replace(part, path)
        _sync_folder(os.path.dirname(path))
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}; what was there before is unchanged") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)


def _sync_folder(folder: str) -> None:
    """Make the new name last through a power failure, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
