"""The file format: HDF5 that netCDF-4 readers understand, one checksum over every byte, replaced as a whole.

A file is made in memory and written by plain writes: a full disk is then an error of ours, not a broken HDF5 library.

Two numbers say how a file is laid out. Readers refuse another `FORMAT`. Within one, layouts only grow: a reader passes
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
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from saltus.errors import DamagedFileError, FileError, FileFormatError

FORMAT = 1  # counts layouts that older versions cannot read
MINOR = (
    1  # counts additions that older versions pass over: names they do not know, and defaults where names are missing
)
SIGNATURE = b"\x89HDF\r\n\x1a\n"
MARK, BLANK = b"saltus-sha256:", b"0" * 64  # the checksum is that of the file with zeros in its own place
ABOUT = "about/json"
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."  # the words that netCDF-4 prescribes

_numbers = itertools.count()


@dataclasses.dataclass(frozen=True)
class Variable:
    """An array with the names of its dimensions, as netCDF has them, and its unit."""

    values: np.ndarray
    dims: tuple[str, ...]
    units: str = ""


@dataclasses.dataclass(frozen=True)
class Content:
    """What a file holds: arrays by name, a JSON object about them, and the minor version of their layout."""

    arrays: dict[str, np.ndarray]
    about: dict[str, Any]
    minor: int


def write(path: str | os.PathLike, kind: str, variables: Mapping[str, Variable], about: dict[str, Any]) -> None:
    """Write a file of a kind ("results", "checkpoint"); under its name there is always a whole file, old or new."""
    image = _image(kind, variables, about)
    at = image.index(MARK) + len(MARK)
    pieces = (memoryview(image)[:at], _checksum(image, at).encode(), memoryview(image)[at + len(BLANK) :])
    replace(path, pieces)


def read(path: str | os.PathLike, kind: str) -> Content:
    """Read a file of a kind; every byte of it is checked before it is interpreted."""
    try:
        with open(path, "rb") as file:
            image = file.read()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    _verify(path, image)
    import h5py

    try:
        with h5py.File(io.BytesIO(image), "r") as file:
            return _content(path, kind, file, len(image))
    except (KeyError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise FileFormatError(f"{path} is not laid out as a file of saltus: {error}") from error


def _content(path, kind: str, file: Any, size: int) -> Content:
    made = str(file.attrs["saltus_format"])
    if made != f"{kind} {FORMAT}":
        found, _, number = made.rpartition(" ")
        remedy = ""
        if found == kind and number.isdecimal() and int(number) > FORMAT:
            remedy = (
                f": it was written by saltus {file.attrs['saltus_version']}, read it with that version or a later one"
            )
        raise FileFormatError(
            f"{path} is a file of saltus with {made!r}, but {kind!r} (format {FORMAT}) is wanted{remedy}"
        )
    about = json.loads(file[ABOUT][()])
    arrays = {name: _array(path, file[name], size) for name in about["variables"]}
    return Content(arrays, about, int(file.attrs.get("saltus_format_minor", 0)))


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
        file.attrs["saltus_format"], file.attrs["saltus_version"] = f"{kind} {FORMAT}", version()
        file.attrs["saltus_format_minor"] = MINOR
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
        file.create_dataset(ABOUT, data=text, dtype=h5py.string_dtype())
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


def _array(path, dataset, size: int) -> np.ndarray:
    if dataset.size * dataset.dtype.itemsize > size:
        raise FileFormatError(f"{path} claims {dataset.size} numbers in {dataset.name!r}, more than it can hold")
    return dataset[()]


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
