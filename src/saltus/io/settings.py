"""Settings of schemes, contact solvers and controls as JSON, and back.

A file can name the classes that are listed here and nothing else: frozen dataclasses, which keep numbers and words and
do nothing when they are made but check them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from saltus import contact, control, schemes
from saltus.errors import SettingError
from saltus.io.words import LARGEST_WHOLE

SETTING_FAMILIES = {
    "scheme": (schemes, tuple(schemes.__all__)),  # that list holds schemes alone, so that files may name all of it
    "solver": (
        contact,
        (
            "ADMM", "ColouredNSGS", "ConicFixedPoint", "Direct", "Homotopy", "Lemke", "NSGS", "Portfolio",
            "SemismoothNewton",
        ),
    ),
    "control": (control, ("Adaptive", "Fixed", "Grid", "Proposed", "Richardson", "VariableOrder")),
}  # fmt: skip
LONGEST_LIST = 100_000  # values of one setting


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


def listed(values: Mapping[str, float | np.ndarray]) -> dict[str, Any]:
    """Return values of parameters as JSON values: numbers, and lists of them."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def rebuild(description: Any, family: str) -> Any:
    """Return what `describe` described, a member of a family: "scheme", "solver" or "control".

    Raises
    ------
    SettingError
        When the class is not part of the family, or does not take these settings.
    """
    name = description.get("class", description.get("repr")) if isinstance(description, dict) else description
    module, names = SETTING_FAMILIES[family]
    if not isinstance(name, str) or name not in names:
        raise SettingError(f"{str(name)[:100]} is not part of saltus: give the object itself")
    try:
        kind = getattr(module, name)
    except ImportError as error:
        raise SettingError(f"{name} cannot be made: {error}") from error
    given = description.get("settings") if isinstance(description, dict) else None
    if not _is_frozen(kind) or not isinstance(given, dict):
        raise SettingError(f"the settings of {name} are missing: give the object itself")
    known = {field.name: str(field.type) for field in dataclasses.fields(kind) if field.init}
    values = {key: _setting(value, key) for key, value in given.items()}
    unfit = [key for key, value in values.items() if key not in known or not _fits(value, known[key])]
    if unfit:
        raise SettingError(f"{name} has no such setting {unfit[0][:100]!r} in this version: give the object itself")
    try:
        return kind(**values)
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise SettingError(
            f"{name} does not take the settings of the file ({error}): give the object itself"
        ) from error


def _setting(value: Any, key: str) -> Any:
    """Return the value of a setting; a scheme in a scheme, or a contact solver, is made again."""
    if isinstance(value, dict):
        return rebuild(value, key if key in SETTING_FAMILIES else "solver")
    if isinstance(value, list):
        if len(value) > LONGEST_LIST:
            raise SettingError(f"{key} has {len(value)} values: give the object itself")
        return tuple(_setting(item, key) for item in value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and (math.isnan(value) or (isinstance(value, int) and abs(value) > LARGEST_WHOLE)):
        raise SettingError(f"{key} is {value}: give the object itself")
    return value


def _fits(value: Any, annotation: str) -> bool:
    """Whether a value is of the kind that the annotation of a setting names."""
    if value is None:
        return "None" in annotation
    if isinstance(value, bool):
        return "bool" in annotation
    if isinstance(value, int | float):
        return "float" in annotation or "int" in annotation
    if isinstance(value, str):
        return "str" in annotation or "Literal" in annotation
    if isinstance(value, tuple):
        return "Sequence" in annotation or "tuple" in annotation
    return True  # a scheme or a solver, made here


def _is_frozen(kind: Any) -> bool:
    """Whether this is a class of frozen settings."""
    return isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
