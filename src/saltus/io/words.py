"""What a file says in JSON, taken only where it is of the kind that is expected; ValueError names what is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")
LARGEST_WHOLE = 2**53  # beyond, floats do not count one by one
LARGEST_WORD = 2**63 - 1  # of a count
REQUIRED: Any = object()


def taken(given: Mapping[str, Any], name: str, kind: Callable[[Any], Value], default: Any = REQUIRED) -> Value:
    """Return a word of an object, checked by its kind; `default` where it is missing."""
    if name not in given:
        if default is REQUIRED:
            raise ValueError(f"{name!r} is missing")
        return default
    try:
        return kind(given[name])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.100} is no text")
    return value


def shown(value: Any) -> str:
    """A text that people read: what a terminal would obey, and halves of characters, are spelled out."""
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text(value))


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.100} is neither true nor false")
    return value


def count(value: Any) -> int:
    """A whole number from 0 on."""
    if whole(value) < 0:
        raise ValueError(f"{value!r:.100} is no count")
    return value


def whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_WORD:
        raise ValueError(f"{value!r:.100} is no whole number")
    return value


def number(value: Any) -> float:
    """Any number; infinities and nan are some."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r:.100} is no number")
    return float(value)


def finite(value: Any) -> float:
    if not math.isfinite(number(value)):
        raise ValueError(f"{value!r:.100} is not finite")
    return float(value)


def positive(value: Any) -> float:
    if not finite(value) > 0.0:
        raise ValueError(f"{value!r:.100} is not positive")
    return float(value)


def share(value: Any) -> float:
    """A number from 0 to 1."""
    if not 0.0 <= number(value) <= 1.0:
        raise ValueError(f"{value!r:.100} does not lie between 0 and 1")
    return float(value)


def not_negative(value: Any) -> float:
    if not number(value) >= 0.0:
        raise ValueError(f"{value!r:.100} is negative, or no number")
    return float(value)


def numbers(value: Any) -> float | np.ndarray:
    """A finite number, or lists of them inside of each other that make an array."""
    if not isinstance(value, list):
        return finite(value)
    try:
        made = np.array(value)
    except ValueError:
        made = np.array(None)  # rows of different lengths
    if made.dtype.kind not in "fi" or made.ndim > 8 or not np.isfinite(made).all():
        raise ValueError(f"{value!r:.100} is no array of finite numbers")
    return made.astype(float)


def obj(value: Any) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise ValueError(f"{value!r:.100} is no object")
    return value


def anything(value: Any) -> Any:
    return value


def maybe(kind: Callable[[Any], Value]) -> Callable[[Any], Value | None]:
    """Return the kind that may also be null."""
    return lambda value: None if value is None else kind(value)


def many(kind: Callable[[Any], Value]) -> Callable[[Any], list[Value]]:
    """Return the kind of lists of a kind."""

    def check(value: Any) -> list[Value]:
        if not isinstance(value, list):
            raise ValueError(f"{value!r:.100} is no list")
        return [kind(item) for item in value]

    return check


def row(*kinds: Callable[[Any], Any]) -> Callable[[Any], tuple]:
    """Return the kind of lists whose values have these kinds."""

    def check(value: Any) -> tuple:
        if not isinstance(value, list) or len(value) != len(kinds):
            raise ValueError(f"{value!r:.100} does not have {len(kinds)} values")
        return tuple(kind(item) for kind, item in zip(kinds, value, strict=True))

    return check


def table(kind: Callable[[Any], Value]) -> Callable[[Any], dict[str, Value]]:
    """Return the kind of objects whose values have a kind."""
    return lambda value: {key: kind(item) for key, item in obj(value).items()}


def distinct(value: Any) -> tuple[str, ...]:
    """Texts, each of them once."""
    names = many(text)(value)
    if len(set(names)) < len(names):
        raise ValueError(f"{value!r:.100} gives a name twice")
    return tuple(names)
