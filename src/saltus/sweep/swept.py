"""Values that a sweep goes through."""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus.errors import SettingError


def real(given: Any) -> np.ndarray | None:
    """Return real numbers, None where they are something else."""
    try:
        return None if np.iscomplexobj(given) else np.array(given, dtype=float)
    except (TypeError, ValueError):
        return None


def values_of(name: str, given: Any) -> np.ndarray:
    """Return the values of a swept number."""
    made = real(given)
    if made is None:
        raise SettingError(f"{name} is {given!r:.80}: give the values that it goes through")
    if made.ndim != 1 or made.size == 0:
        raise SettingError(f"{name} has shape {made.shape}: give a list of values, like np.linspace(2, 4, 300)")
    if not np.all(np.isfinite(made)):
        raise SettingError(f"{name}[{int(np.argmin(np.isfinite(made)))}] is not finite")
    return made
