"""Settings of schemes, contact solvers and controls as JSON, and back; classes are looked up in their families."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from saltus import contact, control, schemes
from saltus.errors import SettingError


def describe(thing: Any) -> Any:
    """Return a frozen dataclass of settings as JSON values; what JSON cannot say becomes its repr."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        values = {f.name: describe(getattr(thing, f.name)) for f in dataclasses.fields(thing) if f.init}
        return {"class": type(thing).__name__, "settings": values}
    if isinstance(thing, np.generic | np.ndarray):
        return thing.tolist()
    if isinstance(thing, list | tuple):
        return [describe(item) for item in thing]
    return thing if thing is None or isinstance(thing, bool | int | float | str) else {"repr": repr(thing)}


def rebuild(description: Any) -> Any:
    """Return what `describe` described; a class that is not part of saltus raises SettingError."""
    if isinstance(description, list):
        return tuple(rebuild(item) for item in description)
    if not isinstance(description, dict):
        return description
    name = str(description.get("class", description.get("repr")))
    families = [family for family in (schemes, contact, control) if name in family.__all__]
    if not families:
        raise SettingError(f"{name} is not part of saltus: give the object itself")
    values = {key: rebuild(value) for key, value in description["settings"].items()}
    return getattr(families[0], name)(**values)
