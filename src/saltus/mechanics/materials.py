"""Materials: the numbers of a contact (e, e_t, mu) belong to a pair of materials."""

from __future__ import annotations

import dataclasses
from typing import Any

from saltus.errors import ModelError

Number = Any  # a float or a Parameter


@dataclasses.dataclass(frozen=True, kw_only=True)
class Law:
    """Numbers of a contact: restitution e, tangential restitution e_t, friction mu [-]."""

    e: Number = 0.0
    e_t: Number = 0.0
    mu: Number = 0.0


class Materials:
    """A table of laws by pairs of materials, in either order."""

    def __init__(self):
        self._laws: dict[frozenset[str], Law] = {}

    def pair(self, one: str, other: str, law: Law) -> None:
        """Give the pair a law; a second one for the same pair is refused."""
        for name in (one, other):
            if not isinstance(name, str) or not name:
                raise ModelError(f"a material must be called by a word, like 'steel', not {name!r}")
        key = frozenset((one, other))
        if key in self._laws:
            raise ModelError(f"the pair {one!r}, {other!r} has a law already: give each pair once")
        self._laws[key] = law

    @property
    def names(self) -> set[str]:
        """Every material that is part of a pair."""
        return {name for key in self._laws for name in key}

    def law(self, one: str | None, other: str | None, who: str, **given: Number) -> Law:
        """Return the law between two materials, in which numbers that are `given` (not None) win."""
        chosen = {name: value for name, value in given.items() if value is not None}
        if one is None or other is None:
            return Law(**chosen)
        found = self._laws.get(frozenset((one, other)))
        if found is None:
            if {"e", "mu"} <= set(chosen):
                return Law(**chosen)
            raise ModelError(
                f"{who} is between {one!r} and {other!r}, a pair without a law: give w.material({one!r}, {other!r}, "
                "e=..., mu=...), or e and mu to it"
            )
        return dataclasses.replace(found, **chosen)
