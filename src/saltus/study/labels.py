"""Labels of schemes in tables and pictures: the class with the settings that differ from their defaults."""

from __future__ import annotations

import dataclasses


def label_of(scheme) -> str:
    """Return the class with the settings that differ from their defaults, e.g. MoreauJean(theta=1.0)."""
    if not dataclasses.is_dataclass(scheme) or isinstance(scheme, type):
        return str(getattr(scheme, "name", scheme))
    shown = [
        f"{field.name}={_value(getattr(scheme, field.name))}"
        for field in dataclasses.fields(scheme)
        if field.init and getattr(scheme, field.name) != field.default
    ]
    return f"{type(scheme).__name__}({', '.join(shown)})"


def _value(value) -> str:
    return label_of(value) if dataclasses.is_dataclass(value) else repr(value)
