"""Values on the command line: strict readers from text, chosen by type annotation or default."""

from __future__ import annotations

import math
import re
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

WHOLE_TEXT = re.compile(r"[+-]?\d+")
DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


class Reader(NamedTuple):
    """How a value is read; `read` raises ValueError with what the value must be."""

    shown: str  # stands for the value in the help; empty for a switch, which takes none
    read: Callable[[str], Any]


def _number(text: str) -> float:
    if not DECIMAL.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError("a number such as 0.5 or 1e-3")
    return float(text)


def _whole(text: str) -> int:
    if not WHOLE_TEXT.fullmatch(text):
        raise ValueError("a whole number such as 10")
    return int(text)


def _whole_or_number(text: str) -> float:
    return int(text) if WHOLE_TEXT.fullmatch(text) else _number(text)


REAL_NUMBER = Reader("NUMBER", _number)
WHOLE_NUMBER = Reader("COUNT", _whole)
EITHER_NUMBER = Reader("NUMBER", _whole_or_number)
TEXT = Reader("TEXT", str)
FILE = Reader("FILE", str)
WORD_READER = Reader("NAME", str)
YES_NO = Reader("", bool)


def vector(count: int | None = None, entry: Reader = REAL_NUMBER) -> Reader:
    """Read numbers with commas between them, exactly `count` where that is given."""
    shown = ",".join(["X"] * count) if count else "X,Y,..."

    def read(text: str) -> tuple:
        parts = text.split(",")
        if count is not None and len(parts) != count:
            raise ValueError(f"{count} numbers with commas and no spaces between them, {shown}")
        try:
            return tuple(entry.read(part.strip()) for part in parts)
        except ValueError as error:
            raise ValueError("numbers with commas and no spaces between them, such as 1,0.5") from error

    return Reader(shown, read)


def _one_or_many(many: Reader | None) -> Reader | None:
    """Read a number, or several where there are commas."""
    if many is None or "," not in many.shown:
        return many
    return Reader(f"X or {many.shown}", lambda text: (many if "," in text else REAL_NUMBER).read(text))


def choice(words: dict[str, Any]) -> Reader:
    """Read one of a few words."""

    def read(text: str) -> Any:
        if text not in words:
            raise ValueError(" or ".join(words))
        return words[text]

    return Reader("|".join(words), read)


def reader_of(hint: Any, default: Any) -> Reader | None:
    """Return the reader for a parameter of this annotation (None: unknown) and default; None if text cannot say it."""
    words = _words(hint)
    if words:
        return choice(words)
    kinds = [kind for kind in _parts(hint) if kind is not type(None)]
    if len(kinds) == 1:
        hint = kinds[0]
    plain = {float: REAL_NUMBER, int: WHOLE_NUMBER, bool: YES_NO, str: TEXT}
    if isinstance(hint, type) and hint in plain:
        return plain[hint]
    if set(kinds) == {int, float}:
        return EITHER_NUMBER
    if len(kinds) == 2 and int in kinds and typing.get_args(kinds[1]) == (int,):
        whole = vector(entry=WHOLE_NUMBER)
        return Reader("COUNT or N,N,...", lambda text: whole.read(text) if "," in text else _whole(text))
    if len(kinds) > 1 and float in kinds:
        return _one_or_many(reader_of(next(kind for kind in kinds if kind is not float), None))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and arguments and all(kind in (int, float) for kind in arguments):
        return vector(len(arguments), WHOLE_NUMBER if set(arguments) == {int} else REAL_NUMBER)
    if origin in (tuple, list, Sequence, np.ndarray) or hint in (tuple, list, np.ndarray):
        return vector()
    return _reader_like(default) if hint in (None, Any) else None


def _reader_like(default: Any) -> Reader | None:
    """Return the reader of a parameter without annotation."""
    if isinstance(default, bool):
        return YES_NO
    if default is None or isinstance(default, int | float):
        return EITHER_NUMBER  # m=1 means a mass more often than a count
    if isinstance(default, str):
        return TEXT
    return vector() if isinstance(default, tuple | list | np.ndarray) else None


def _parts(hint: Any) -> list:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [part for member in typing.get_args(hint) for part in _parts(member)]
    return [hint]


def _words(hint: Any) -> dict[str, Any]:
    """Return the words of Literal[...], with true and false where the annotation allows them."""
    found: dict[str, Any] = {}
    for part in _parts(hint):
        if part is bool:
            found |= {"true": True, "false": False}
        elif typing.get_origin(part) is Literal:
            found |= {str(word): word for word in typing.get_args(part)}
    return found if any(not isinstance(word, bool) for word in found.values()) else {}


def written(value: Any) -> str:
    """Return a value as it would be typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list | np.ndarray):
        return ",".join(written(entry) for entry in value)
    return str(value)
