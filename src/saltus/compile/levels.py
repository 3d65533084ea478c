"""Levels of processors that machine code is built for."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Level:
    """What code may use: name of the file, name of the processor for LLVM, features that a processor must have."""

    name: str
    architecture: str
    cpu: str
    needs: frozenset[str]


_V2 = frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
LEVELS = (  # best first
    Level("x86-64-v3", "x86_64", "x86-64-v3", _V3),
    Level("x86-64-v2", "x86_64", "x86-64-v2", _V2),
    Level("x86-64", "x86_64", "x86-64", frozenset()),
    Level("aarch64", "aarch64", "generic", frozenset()),
    Level("arm64", "arm64", "apple-m1", frozenset()),
)
BY_NAME = {level.name: level for level in LEVELS}


def fitting(architecture: str, features: frozenset[str]) -> list[Level]:
    """Return the levels that a processor has, best first."""
    same = {"amd64": "x86_64"}.get(architecture.lower(), architecture.lower())
    return [level for level in LEVELS if level.architecture == same and level.needs <= features]
