"""Source files of the package and their hashes: whether built kernels belong to them."""

from __future__ import annotations

import hashlib
import pathlib

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


def hash_of(content: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def source_hashes(names) -> dict[str, str]:
    """Return the hash of source files, named by their paths inside of the package; "" for one that is missing."""
    found = {}
    for name in names:
        try:
            found[name] = hash_of((PACKAGE / name).read_bytes())
        except OSError:
            found[name] = ""
    return found
