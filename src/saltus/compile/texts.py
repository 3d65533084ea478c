"""Generated texts that are compiled with the package: what models are made of that hold nothing but built-in kinds.

A text is known by its digest. Its machine code lies in a library beside that of the kernels, under symbols that begin
with that digest; whoever compiles a text looks there first (direct.py). A text that is not there is compiled when it is
needed, so a kind that was changed since the last build runs all the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from saltus.compile.lower import LIBRARY, NotLowered, lower
from saltus.compile.sources import hash_of

PUBLIC = re.compile(r"^@unit\([A-Z]+\)\ndef (\w+)\(", re.MULTILINE)


def prefix_of(text: str) -> str:
    """Return how the symbols of a text begin."""
    return f"text.{hash_of(text.encode())[:32]}"


def assembly_of(text: str) -> str:
    """Return the IR of a text under its symbols; it may call nothing but the C library."""
    lowered = lower(text)
    if lowered.outside:
        raise NotLowered(f"a text of the package calls {', '.join(lowered.outside)}, which belong to a model")
    return lowered.text.replace("@unit.", f"@{prefix_of(text)}.")


class BuiltText(Mapping[str, int]):
    """Addresses of the units of a text by name; the library that holds them lives as long as the process."""

    def __init__(self, addresses: dict[str, int]):
        self._addresses = addresses

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._addresses)

    def __len__(self) -> int:
        return len(self._addresses)


@functools.cache
def _loaded(prefix: str):
    from saltus.compile import library
    from saltus.compile.loader import Loaded

    content = library.text(prefix)
    return None if content is None else Loaded([content], _library_symbols())


@functools.cache
def _library_symbols() -> dict[str, int]:
    """Return the addresses of the C library that texts call."""
    from saltus.compile.machine import library_address

    return {f"libm.{name}": library_address(name) for name in sorted(LIBRARY)}


def built(text: str) -> BuiltText | None:
    """Return the machine code of a text where it was compiled with the package."""
    prefix = prefix_of(text)
    loaded = _loaded(prefix)
    if loaded is None:
        return None
    return BuiltText({name: loaded.address(f"{prefix}.{name}") for name in PUBLIC.findall(text)})


def object_of(text: str, cpu: str) -> bytes:
    """Return the object of a text for a processor."""
    from saltus.compile.jit import back
    from saltus.compile.machine import object_code

    return object_code(assembly_of(text), back.machine(cpu))
