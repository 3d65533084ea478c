"""A reader of HDF5 that knows the small part of it which files of saltus consist of, and nothing else.

Files come from anywhere. The library HDF5 follows links into other files, reads storage outside of the file, unpacks
what is small on disk into what no memory holds, and has crashed on broken structures. This reader has no such roads:
groups of the oldest kind, numbers of eight bytes that lie in one piece, texts. Everything else is `Unreadable`. Every
place is checked against the size of the file before it is looked at, and every walk has an end.

Names of the format (File Format Specification, version 2.0) stand beside the numbers.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import NamedTuple

import numpy as np

SIGNATURE = b"\x89HDF\r\n\x1a\n"


class _Bounds(NamedTuple):
    """Tuned numbers of this file."""

    nowhere: int = 2**64 - 1  # the address of what was never stored
    shared: int = 0x02  # flag of a message that lies elsewhere
    contiguous: int = 1  # storage class
    width: int = 8  # bytes of every number
    most_rank: int = 3  # axes of a table
    # of an object header
    most_messages: int = 1024
    most_blocks: int = 64
    # of the tree of a group
    most_nodes: int = 4096
    most_levels: int = 8
    most_names: int = 16384
    most_texts: int = 1 << 16  # of a heap: its numbers have two bytes
    longest_name: int = 255


BOUNDS = _Bounds()


class _Message(NamedTuple):
    """Types of messages of an object header."""

    # messages of an object header
    dataspace: int = 0x01
    datatype: int = 0x03
    external_files: int = 0x07
    layout: int = 0x08
    filters: int = 0x0B
    attribute: int = 0x0C
    continuation: int = 0x10
    symbol_table: int = 0x11


MESSAGE = _Message()


class _Class(NamedTuple):
    """Classes of data types."""

    fixed_point: int = 0
    floating_point: int = 1
    string: int = 3
    variable_length: int = 9


CLASS = _Class()


class _Shape(NamedTuple):
    """Classes of dataspaces."""

    scalar: int = 0
    simple: int = 1


SHAPE = _Shape()

# the properties of a number: first bit and number of bits; of an IEEE double also place and size of exponent and
# mantissa, and the bias
INTEGER_BITS, DOUBLE_BITS = struct.pack("<HH", 0, 64), struct.pack("<HHBBBBI", 0, 64, 52, 11, 0, 52, 1023)


class Unreadable(ValueError):
    """The file is broken, or has something that saltus never writes."""


@dataclasses.dataclass(frozen=True)
class Table:
    """Numbers in one piece: their type, their shape and where they begin."""

    dtype: np.dtype
    shape: tuple[int, ...]
    at: int

    @property
    def size(self) -> int:
        """The bytes of the table."""
        return BOUNDS.width * _product(self.shape)


class Image:
    """A whole file in memory."""

    def __init__(self, image: bytes):
        self.image = image
        if self._at(0, 8) != SIGNATURE:
            raise Unreadable("the signature of HDF5 is missing")
        versions, widths, base = self._at(8, 5), self._at(13, 2), self._whole(24)
        if versions != bytes(5) or widths != bytes([8, 8]) or base != 0:
            raise Unreadable("its superblock is of a kind that saltus does not write")
        self._groups: dict[int, dict[str, int]] = {}
        self._heaps: dict[int, dict[int, tuple[int, int]]] = {}
        self.root = self._whole(64)

    # ---- what callers ask for

    def has(self, name: str) -> bool:
        """Whether there is an object of that name, groups separated by /."""
        try:
            self._find(name)
        except KeyError:
            return False
        return True

    def table(self, name: str) -> Table:
        """Return where the numbers of a dataset lie; nothing of them is read."""
        kind, shape, at, size = self._dataset(name)
        dtype = _number(kind)
        if dtype is None:
            raise Unreadable(f"{name!r} does not hold numbers of eight bytes")
        if BOUNDS.width * _product(shape) != size or (size and at + size > len(self.image)):
            raise Unreadable(f"{name!r} claims {_product(shape)} numbers, more than lie in the file")
        return Table(dtype, shape, at if size else 0)

    def numbers(self, table: Table) -> np.ndarray:
        """Return the numbers of a table, in the byte order of this machine."""
        flat = np.frombuffer(self.image, dtype=table.dtype, count=_product(table.shape), offset=table.at)
        return flat.astype(table.dtype.newbyteorder("=")).reshape(table.shape)

    def text(self, name: str, most: int) -> bytes:
        """Return a dataset that is one text, which may have so many bytes."""
        kind, shape, at, size = self._dataset(name)
        if shape != () or size != 16 or not _is_text(kind):
            raise Unreadable(f"{name!r} is not one text")
        return self._heap_text(self._at(at, 16), most)

    def texts(self, name: str, most: int) -> list[bytes]:
        """Return a dataset that is a list of texts, which may have so many bytes together."""
        kind, shape, at, size = self._dataset(name)
        if len(shape) != 1 or size != 16 * shape[0] or not _is_text(kind):
            raise Unreadable(f"{name!r} is no list of texts")
        references, made = self._at(at if size else 0, size), []
        for k in range(shape[0]):
            made.append(self._heap_text(references[16 * k : 16 * k + 16], most))
            most -= len(made[-1])
        return made

    def attribute(self, name: str) -> str | int | None:
        """Return an attribute of the root, a text or a whole number; None where there is none of that name."""
        for kind, body in self._messages(self.root):
            if kind == MESSAGE.attribute:
                found, datatype, shape, value = self._attribute(body)
                if found != name:
                    continue
                if shape == () and len(value) >= 16 and _is_text(datatype):
                    return self._heap_text(value[:16], BOUNDS.longest_name).decode("utf-8", "replace")
                dtype = _number(datatype)
                if shape == () and len(value) >= BOUNDS.width and dtype is not None and dtype.kind == "i":
                    return int(np.frombuffer(value[: BOUNDS.width], dtype=dtype)[0])
                raise Unreadable(f"the attribute {name!r} is neither a text nor a whole number")
        return None

    # ---- bytes

    def _at(self, at: int, size: int) -> bytes:
        if at < 0 or size < 0 or at + size > len(self.image):
            raise Unreadable(f"it refers to {size} bytes at {at}, outside of the file")
        return self.image[at : at + size]

    def _whole(self, at: int, size: int = 8) -> int:
        return int.from_bytes(self._at(at, size), "little")

    # ---- groups

    def _find(self, name: str) -> int:
        """Return where the header of an object lies; KeyError where there is none."""
        at = self.root
        for part in name.split("/"):
            at = self._members(at)[part]
        return at

    def _members(self, at: int) -> dict[str, int]:
        """Return the headers of the members of a group by name."""
        known = self._groups.get(at)
        if known is None:
            tables = [body for kind, body in self._messages(at) if kind == MESSAGE.symbol_table]
            if len(tables) != 1 or len(tables[0]) < 16:
                raise Unreadable("what should be a group is none")
            tree, heap = struct.unpack_from("<QQ", tables[0])
            known = self._groups[at] = self._listed(tree, heap)
        return known

    def _listed(self, tree: int, heap: int) -> dict[str, int]:
        if self._at(heap, 5) != b"HEAP\0":
            raise Unreadable("the names of a group are missing")
        size, names_at = self._whole(heap + 8), self._whole(heap + 24)
        names, found, todo, seen = self._at(names_at, size), {}, [(tree, BOUNDS.most_levels)], 0
        while todo:
            at, above = todo.pop()
            seen += 1
            if self._at(at, 4) == b"SNOD":
                for k in range(self._whole(at + 6, 2)):
                    name_at, header, cache = struct.unpack("<QQI", self._at(at + 8 + 40 * k, 20))
                    end = names.find(b"\0", name_at, name_at + BOUNDS.longest_name + 1)
                    if end < 0:
                        raise Unreadable("a name of a group does not end")
                    name = names[name_at:end].decode("utf-8", "replace")
                    if cache > 1 or header == BOUNDS.nowhere:
                        raise Unreadable(f"{name!r} is a link, which saltus does not write")
                    if name in found or len(found) >= BOUNDS.most_names:
                        raise Unreadable(f"{name!r} stands twice in its group, or the group has too many names")
                    found[name] = header
                continue
            if self._at(at, 5) != b"TREE\0":
                raise Unreadable("the tree of a group is broken")
            level, count = self._whole(at + 5, 1), self._whole(at + 6, 2)
            if level >= above:
                raise Unreadable("the tree of a group turns back on itself")
            if seen + len(todo) + count > BOUNDS.most_nodes:
                raise Unreadable("the tree of a group does not end")
            todo += [(self._whole(at + 32 + 16 * k), level) for k in range(count)]
        return found

    # ---- object headers

    def _messages(self, at: int) -> list[tuple[int, bytes]]:
        """Return kind and body of the messages of an object."""
        if self._whole(at, 1) != 1:
            raise Unreadable("an object header is of a kind that saltus does not write")
        made, blocks, done = [], [(at + 16, self._whole(at + 8, 4))], 0
        while blocks:
            begin, length = blocks.pop(0)
            done += 1
            block, place = self._at(begin, length), 0
            while place + 8 <= length:
                kind, size, flags = struct.unpack_from("<HHB", block, place)
                body = block[place + 8 : place + 8 + size]
                place += 8 + size
                if len(body) < size or len(made) >= BOUNDS.most_messages:
                    raise Unreadable("an object header is broken")
                if kind == MESSAGE.continuation and size >= 16:
                    if done + len(blocks) >= BOUNDS.most_blocks:
                        raise Unreadable("an object header does not end")
                    blocks.append(struct.unpack_from("<QQ", body))
                elif kind == MESSAGE.continuation or (
                    flags & BOUNDS.shared and kind in (MESSAGE.dataspace, MESSAGE.datatype, MESSAGE.layout)
                ):
                    raise Unreadable("a part of an object header lies elsewhere, which saltus does not write")
                else:
                    made.append((kind, body))
        return made

    def _dataset(self, name: str) -> tuple[bytes, tuple[int, ...], int, int]:
        """Return the type, the shape, the place and the bytes of a dataset."""
        try:
            messages = self._messages(self._find(name))
        except KeyError:
            raise Unreadable(f"{name!r} is missing") from None
        parts = {kind: body for kind, body in messages if kind in (MESSAGE.dataspace, MESSAGE.datatype, MESSAGE.layout)}
        if MESSAGE.external_files in dict(messages):
            raise Unreadable(f"{name!r} is stored outside of the file")
        if MESSAGE.filters in dict(messages):
            raise Unreadable(f"{name!r} is packed, which saltus does not do")
        if len(parts) < 3:
            raise Unreadable(f"{name!r} is no dataset")
        layout = parts[MESSAGE.layout]
        if len(layout) < 18 or layout[0] != 3 or layout[1] != BOUNDS.contiguous:
            raise Unreadable(f"{name!r} does not lie in one piece of the file")
        at, size = struct.unpack_from("<QQ", layout, 2)
        return parts[MESSAGE.datatype], _shape(parts[MESSAGE.dataspace]), at, size

    def _attribute(self, body: bytes) -> tuple[str, bytes, tuple[int, ...], bytes]:
        """Return name, type, shape and value of an attribute."""
        if len(body) < 9 or body[0] not in (1, 2, 3) or (body[0] > 1 and body[1]):
            raise Unreadable("an attribute is of a kind that saltus does not write")
        sizes = struct.unpack_from("<HHH", body, 2)
        padded = body[0] == 1
        at, parts = 9 if body[0] == 3 else 8, []
        for size in sizes:
            parts.append(body[at : at + size])
            at += -(-size // 8) * 8 if padded else size
        name = parts[0].split(b"\0")[0].decode("utf-8", "replace")
        return name, parts[1], _shape(parts[2]) if parts[2] else (), body[at:]

    # ---- texts

    def _heap_text(self, reference: bytes, most: int) -> bytes:
        """Return a text of the global heap: reference to length, collection and number of the object."""
        length, at, number = struct.unpack("<IQI", reference)
        if length > most:
            raise Unreadable(f"a text has {length} bytes, more than {most}")
        if length == 0:
            return b""
        place, size = self._heap(at).get(number, (0, -1))
        if length > size:
            raise Unreadable("a text is missing, or shorter than it claims to be")
        return self._at(place, length)

    def _heap(self, at: int) -> dict[int, tuple[int, int]]:
        """Return places and sizes of the objects of a collection, by their numbers."""
        known = self._heaps.get(at)
        if known is not None:
            return known
        if self._at(at, 5) != b"GCOL\x01":
            raise Unreadable("a collection of texts is missing")
        known, end, place = {}, at + self._whole(at + 8), at + 16
        for _ in range(BOUNDS.most_texts):
            if place + 16 > end or self._whole(place, 2) == 0:
                break
            size = self._whole(place + 8)
            known[self._whole(place, 2)] = place + 16, size
            place += 16 + -(-size // 8) * 8
        self._heaps[at] = known
        return known


def _product(shape: tuple[int, ...]) -> int:
    made = 1
    for size in shape:
        made *= size
    return made


def _shape(body: bytes) -> tuple[int, ...]:
    """Return the shape of a dataspace."""
    if len(body) < 4 or body[0] not in (1, 2) or body[1] > BOUNDS.most_rank:
        raise Unreadable("a shape is of a kind that saltus does not write")
    rank, at = body[1], 8 if body[0] == 1 else 4
    if body[0] == 2 and body[3] != (SHAPE.simple if rank else SHAPE.scalar):
        raise Unreadable("a shape is of a kind that saltus does not write")
    if len(body) < at + 8 * rank:
        raise Unreadable("a shape is broken")
    return struct.unpack_from(f"<{rank}Q", body, at)


def _number(kind: bytes) -> np.dtype | None:
    """Return the type of whole numbers or doubles of eight bytes, None for everything else."""
    if len(kind) < 12 or kind[0] >> 4 not in (1, 3) or struct.unpack_from("<I", kind, 4)[0] != BOUNDS.width:
        return None
    order = ">" if kind[1] & 1 else "<"
    if kind[0] & 15 == CLASS.fixed_point and kind[1] & ~1 == 8 and kind[8:12] == INTEGER_BITS:
        return np.dtype(f"{order}i8")
    double = kind[1] & ~1 == 0x20 and kind[2] == 63 and kind[8:20] == DOUBLE_BITS
    return np.dtype(f"{order}f8") if kind[0] & 15 == CLASS.floating_point and double else None


def _is_text(kind: bytes) -> bool:
    """Whether a type is that of texts of any length."""
    return len(kind) >= 8 and kind[0] & 15 == CLASS.variable_length and kind[1] & 15 == 1
