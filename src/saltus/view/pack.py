"""Pack: a JSON head and arrays in one gzip stream as base64 text, which a page of HTML can hold.

Layout of the stream: length of the head (4 bytes, little endian), the head, the arrays one after the other. The bytes
of an array are sorted by their place in a number (all lowest bytes first): gzip finds more in them so.
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from typing import Any

import numpy as np

KINDS = {"f8": np.dtype("<f8"), "f4": np.dtype("<f4"), "i4": np.dtype("<i4"), "u4": np.dtype("<u4")}


class Pack:
    """Arrays by name, to be written behind a head."""

    def __init__(self) -> None:
        self._blocks: list[tuple[str, str, tuple[int, ...], bytes]] = []

    def add(self, name: str, values: Any, kind: str) -> None:
        """Add an array of 64 or 32 bit floats (f8, f4) or whole numbers (i4, u4)."""
        array = np.ascontiguousarray(values, dtype=KINDS[kind])
        size = KINDS[kind].itemsize
        sorted_bytes = np.ascontiguousarray(array.reshape(-1).view(np.uint8).reshape(-1, size).T)
        self._blocks.append((name, kind, array.shape, sorted_bytes.tobytes()))

    def text(self, head: dict[str, Any]) -> str:
        """Return head and arrays as base64 of gzip; the same content gives the same text."""
        listed = [[name, kind, list(shape)] for name, kind, shape, _ in self._blocks]
        said = json.dumps({**head, "blocks": listed}, separators=(",", ":"), allow_nan=False).encode()
        stream = b"".join([struct.pack("<I", len(said)), said, *(block for *_, block in self._blocks)])
        return base64.b64encode(gzip.compress(stream, 9, mtime=0)).decode("ascii")


def unpacked(text: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return head and arrays of a packed text: what the page does, for tests."""
    stream = gzip.decompress(base64.b64decode(text))
    length = struct.unpack("<I", stream[:4])[0]
    head, at, made = json.loads(stream[4 : 4 + length]), 4 + length, {}
    for name, kind, shape in head["blocks"]:
        size, count = KINDS[kind].itemsize, int(np.prod(shape, dtype=int))
        block = np.frombuffer(stream, np.uint8, size * count, at).reshape(size, count)
        made[name] = np.ascontiguousarray(block.T).reshape(-1).view(KINDS[kind]).reshape(shape)
        at += size * count
    return head, made
